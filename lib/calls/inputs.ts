/**
 * Inputs of a user: which values of the right calls he has yet to tell, whether the model asked for them, and whether it
 * made one up.
 * @module
 */

import { attempt } from "../base/errors.ts";
import { isJsonObject, jsonText, type JsonValue } from "../base/json.ts";
import type { ExpectedCall, ExpectedValue } from "../tools/expected_call.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { holdsNumber } from "./behaviour.ts";
import { leniencyOf, leniencyWithin } from "./expected/alignment.ts";
import { isJson, isMatcher, mayBeAbsent, meets } from "./expected/matchers.ts";
import { asks } from "./questions.ts";
import type { RecordedCall } from "./record.ts";
import { saidIn } from "./values/says.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** What was said and called in a conversation. */
export interface Dialogue {
  /** The right calls. */
  readonly right: readonly ExpectedCall[];
  /** What the model was shown before the user's first message. */
  readonly before: readonly string[];
  /** What the user knows, besides what he says. */
  readonly known: readonly string[];
  /** His messages, each with the calls that followed, and what the model then said to him. */
  readonly turns: readonly {
    readonly prompt: string;
    readonly calls: readonly RecordedCall[];
    readonly said: string;
  }[];
}

/** A longer text is not searched, but may state anything. */
const MAX_SEARCHED = 200_000;

/** A text or a number within a value. */
type Leaf = string | number | bigint;

/** A required argument of a right call. */
interface Input {
  readonly tool: string;
  readonly parameter: string;
  readonly expected: ExpectedValue;
  /** The leaves of each right value. */
  readonly choices: readonly (readonly Leaf[])[];
  /** Whether what its tool says of itself, with examples and defaults, states a value. */
  readonly isInSchema: States;
}

/** Whether a text states a value. */
type States = (leaf: Leaf) => boolean;

/**
 * Whether the model asked something while the user had yet to tell a value of a right call that was not made, and whether
 * a call has a made-up value in its place.
 *
 * A value counts if it is that of a required argument, and the user knows it: it is withheld until a text that the model
 * was shown states it. Choices of a fixed set, true, false and null can be worded in too many ways. Of a value with
 * digits its numbers are enough; words count by their first four letters, since many languages inflect the rest. Numbers
 * of one or two significant digits, dates and times, which may stand in words, are never said to be made up.
 */
export function inputSigns(
  { right, before, known, turns }: Dialogue,
  tools: readonly ToolSchema[],
): Readonly<Record<"asked_user" | "assumed_input", boolean>> {
  const inputs = right.flatMap((call) => inputsOf(call, tools));
  const knowledge = [...known, ...turns.map(({ prompt }) => prompt)].map(statedIn);
  const isKnown = (leaf: Leaf) => knowledge.some((states) => states(leaf));
  const his = new Set(inputs.flatMap(({ choices }) => choices.flat().filter(isKnown)));
  const unseen = new Set(inputs.flatMap(({ choices }) => choices.flat()));
  const seen: States[] = [];
  const show = (...texts: readonly string[]) => {
    const shown = texts.map(statedIn);
    seen.push(...shown);
    for (const leaf of unseen) if (shown.some((states) => states(leaf))) unseen.delete(leaf);
  };
  show(...before);
  // What nobody has told him comes from a tool, or is worked out.
  const isWithheld = ({ choices }: Input) =>
    choices.every((leaves) => leaves.some((leaf) => unseen.has(leaf))) &&
    choices.flat().some((leaf) => his.has(leaf) && unseen.has(leaf));
  const open = new Set(inputs);
  const signs = { asked_user: false, assumed_input: false };
  for (const { prompt, calls, said } of turns) {
    show(prompt);
    for (const step of Map.groupBy(calls, ({ step }) => step).values()) {
      for (const { tool, arguments: given, by } of step) {
        for (const input of open) {
          const value = isJsonObject(given) && given[input.parameter];
          if (input.tool !== tool || value === undefined || by !== undefined) continue;
          const isRight = attempt(() => meets(value, input.expected)) === true;
          signs.assumed_input ||= isWithheld(input) &&
            leavesOf(value).some((leaf) =>
              // A right one may be worked out, or said in other words; an id cannot.
              (!isRight || isId(leaf)) && !isWorded(leaf) &&
              ![input.isInSchema, ...seen].some((states) => states(leaf))
            );
          if (isRight) open.delete(input);
        }
      }
      show(...step.map(({ result }) => result));
    }
    signs.asked_user ||= asks(said) && [...open].some(isWithheld);
  }
  return signs;
}

function inputsOf(call: ExpectedCall, tools: readonly ToolSchema[]): Input[] {
  const tool = tools.find(({ name }) => name === call.tool);
  const { required, properties } = tool?.parameters ?? {};
  const isInSchema = statedIn(jsonText(tool) ?? "");
  return Object.entries(call.arguments ?? {}).flatMap(([parameter, expected]) => {
    const own = isJsonObject(properties) ? jsonText(properties[parameter]) : "";
    const values = isMatcher(expected) ? expected.values ?? [] : isJson(expected) ? [expected] : [];
    const isInput = Array.isArray(required) && required.includes(parameter) &&
      !mayBeAbsent(expected) && leniencyWithin(leniencyOf(call), parameter) !== undefined &&
      !/"(?:enum|const|\$ref)":/.test(own);
    if (!isInput) return [];
    const choices = values.map(leavesOf);
    return [{ tool: call.tool, parameter, expected, choices, isInSchema }];
  });
}

/** The texts and numbers of a value; of one with thousands of nested brackets none. */
function leavesOf(value: JsonValue): Leaf[] {
  if (typeof value === "boolean" || value === null || value === "") return [];
  if (typeof value !== "object") return [value];
  return attempt(() => Object.values(value).flatMap(leavesOf)) ?? [];
}

const DATE_OR_TIME = /^\d{4}-\d\d-\d\d|^\d{1,2}:\d\d/;
const NUMBERS = /[1-9]\d*|0(?!\d)/g;
const STARTS = /(?<!\p{L})\p{L}{1,4}/gu;

/** Whether a value is an id, of letters and digits. */
function isId(leaf: Leaf): boolean {
  return typeof leaf === "string" && /\p{L}/u.test(leaf) && /\d/.test(leaf);
}

/** Whether a text may well state a value in words. */
function isWorded(leaf: Leaf): boolean {
  const number = Number(leaf);
  return Number(number.toPrecision(2)) === number || DATE_OR_TIME.test(String(leaf));
}

/** Returns whether a text states a value, in any form that is likely; what is found in it is kept for other values. */
function statedIn(text: string): States {
  if (text.length > MAX_SEARCHED) return () => true;
  const isSaid = saidIn(text);
  const partsIn = (one: string, pattern: RegExp) => new Set(one.toLowerCase().match(pattern));
  const parts = new Map<RegExp, ReadonlySet<string>>();
  return (leaf) => {
    const written = String(leaf);
    if (isSaid(written)) return true;
    const pattern = /\d/.test(written) ? NUMBERS : STARTS;
    const wanted = partsIn(written, pattern);
    const stated = getOrInsertComputed(parts, pattern, () => partsIn(text, pattern));
    // In another form the month of a date is a word.
    if (DATE_OR_TIME.test(written)) return !wanted.isDisjointFrom(stated);
    return holdsNumber(text, Number(leaf)) || wanted.size > 0 && wanted.isSubsetOf(stated);
  };
}
