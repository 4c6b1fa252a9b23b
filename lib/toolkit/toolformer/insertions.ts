/**
 * Insertions: calls that might stand in a text, where they might stand, and with which arguments (Pipeline,
 * "Training Data for Tool Use"; Toolformer, section 2, "Sampling API Calls").
 * @module
 */

import { isJsonObject, type JsonObject, parseJson, printable } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import type { Model } from "../../models/model.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import { describeTool, type ToolSchema } from "../../tools/tool.ts";

/** A place in a text where a call of a tool might help to say what follows. */
export interface CandidatePosition {
  /** The place, in UTF-16 code units from the start: what follows begins there. */
  readonly position: number;
  /** The name of the tool. */
  readonly tool: string;
}

/** A call that might stand in a text. */
export interface Insertion extends CandidatePosition {
  /** The arguments of the call. */
  readonly arguments: JsonObject;
}

/** Which sentences might take a call of a tool. */
export interface CandidateRule {
  /** The name of the tool. */
  readonly tool: string;
  /** Where in a sentence the sign stands that speaks for a call: behind it calls are tried; -1 without any. */
  search(sentence: string): number;
}

/**
 * The article's own rules: a calculator where a sentence with a number has an arithmetic sign or the word
 * "calculate", a search where one speaks of a population, a capital or a founding.
 */
export const CANDIDATE_RULES: readonly CandidateRule[] = [
  {
    tool: "calculator",
    search: (sentence) => /\d/.test(sentence) ? sentence.search(/[-+*\/=]|calculate/i) : -1,
  },
  { tool: "search", search: (sentence) => sentence.search(/population|capital|founded/i) },
];

/** What can be set of {@linkcode candidatePositions}. */
export interface CandidateOptions {
  /** How many places are tried in one sentence for one tool, the first ones; default 5, as in Toolformer. */
  readonly most?: number;
}

/**
 * Where calls might help, by rules: in each sentence that a rule marks, before the words behind the mark. A
 * sentence ends at `.`, `!`, `?` with a space behind it, or at a line break.
 *
 * @example Usage
 * ```ts
 * import { candidatePositions } from "./insertions.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "We have two bags. Together 17 + 25 = 42 apples.";
 * const places = candidatePositions(text);
 * assertEquals(places.map(({ position }) => text.slice(position)), [
 *   "25 = 42 apples.",
 *   "= 42 apples.",
 *   "42 apples.",
 *   "apples.",
 * ]);
 * ```
 */
export function candidatePositions(
  text: string,
  rules: readonly CandidateRule[] = CANDIDATE_RULES,
  { most = 5 }: CandidateOptions = {},
): CandidatePosition[] {
  return sentencesOf(text).flatMap(({ start, sentence }) =>
    rules.flatMap(({ tool, search }) => {
      const mark = search(sentence);
      if (!(mark >= 0)) return [];
      return wordsBehind(sentence, mark, most).map((place) => ({ position: start + place, tool }));
    })
  );
}

function sentencesOf(text: string): { readonly start: number; readonly sentence: string }[] {
  let start = 0;
  return text.split(/(?<=[.!?])(?=\s)|(?<=\n)/).map((sentence) => {
    const place = start;
    start += sentence.length;
    return { start: place, sentence };
  });
}

/** Where the first words begin that stand behind a place. */
function wordsBehind(sentence: string, from: number, most: number): number[] {
  const places: number[] = [];
  const words = /(?<=\s)\S/g;
  words.lastIndex = from + 1;
  while (places.length < most) {
    const word = words.exec(sentence);
    if (word === null) break;
    places.push(word.index);
  }
  return places;
}

/** What a model is asked, for one place and one tool. */
const PROPOSE =
  `In the text below, {mark} marks a place at which this function may be called. Its result is then known to whoever reads on from there:

{function}

Text:
{text}

If a call at this place would help to say what follows, answer with nothing but the arguments of that call, as one JSON object that conforms to this JSON Schema:
{schema}

The arguments must be what can be known at that place: not what follows. If no call would help, answer: null`;

/** What can be set of {@linkcode proposeInsertions}. */
export interface ProposeOptions {
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Where calls might help; default what {@linkcode candidatePositions} says. */
  readonly positions?: readonly CandidatePosition[];
  /**
   * What the model is asked, in place of the usual text: `{mark}`, `{function}`, `{text}` and `{schema}` are
   * filled in.
   */
  readonly prompt?: string;
  /** What this work is called towards the model; default `insertions`. */
  readonly trial?: string;
  /** Aborts it. */
  readonly signal?: AbortSignal;
}

/** What a model proposes. */
export interface ProposedInsertions {
  /** The calls. */
  readonly insertions: readonly Insertion[];
  /** The places without a call: where the model wants none, or what it said is no JSON object. */
  readonly left: readonly (CandidatePosition & { readonly reason: string })[];
  /** The tokens that it took. */
  readonly usage: Usage;
}

/**
 * Asks a model for the arguments of a call at each place, one after another. What it writes is read as a
 * tolerant reader of JSON does, and nothing of it is executed. Places for tools that are not on offer are left
 * out.
 *
 * @throws {InfrastructureError} If no reply could be had.
 *
 * @example Usage
 * ```ts
 * import { proposeInsertions } from "./insertions.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const calculator = {
 *   name: "calculator",
 *   description: "Calculates",
 *   parameters: { type: "object", properties: { expression: { type: "string" } } },
 * };
 * const text = "Together 17 + 25 = 42 apples.";
 * const model = scripted("careful", ({ messages }) => ({
 *   text: messages[0]!.content.includes("= <here> 42") ? "{'expression': '17 + 25'}" : "null",
 * }));
 * const { insertions, left } = await proposeInsertions(model, text, { tools: [calculator] });
 * assertEquals(insertions, [
 *   { position: text.indexOf("42"), tool: "calculator", arguments: { expression: "17 + 25" } },
 * ]);
 * assertEquals(left.length, 3);
 * ```
 */
export async function proposeInsertions(
  model: Model,
  text: string,
  options: ProposeOptions,
): Promise<ProposedInsertions> {
  const { tools, prompt = PROPOSE, trial = "insertions", signal } = options;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const positions = options.positions ?? candidatePositions(text);
  const mark = markFor(text);
  const usages: Usage[] = [];
  const insertions: Insertion[] = [];
  const left: (CandidatePosition & { readonly reason: string })[] = [];
  for (const { position, tool: name } of positions) {
    const tool = offered.get(name);
    if (tool === undefined) continue;
    const content = fillPrompt(prompt, {
      mark,
      function: `${name}: ${describeTool(tool)}`,
      text: `${text.slice(0, position)}${mark} ${text.slice(position)}`,
      schema: JSON.stringify(tool.parameters),
    });
    const reply = await model.reply({
      messages: [{ role: "user", content: content.toWellFormed() }],
      tools: [],
      context: { trial, repetition: 1, request: usages.length + 1 },
      ...(signal === undefined ? {} : { signal }),
    });
    usages.push(reply.usage);
    const given = argumentsIn(reply.text);
    if (given !== undefined) insertions.push({ position, tool: name, arguments: given });
    else {
      const isNone = parseJson(reply.text.trim()) === null;
      const said = printable(reply.text.trim(), 100);
      const reason = isNone
        ? "the model wants no call there"
        : `the reply holds no arguments: ${said}`;
      left.push({ position, tool: name, reason });
    }
  }
  return { insertions, left, usage: sumUsage(usages) };
}

/** A mark that the text does not have. */
function markFor(text: string): string {
  let mark = "<here>";
  for (let number = 2; text.includes(mark); number++) mark = `<here ${number}>`;
  return mark;
}

/** At so many brackets of a reply a JSON object may begin. */
const MOST_TRIES = 10;

/** The first JSON object of a reply. */
function argumentsIn(text: string): JsonObject | undefined {
  let from = -1;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    from = text.indexOf("{", from + 1);
    if (from === -1) return undefined;
    const value = readTolerantJson(text, from)?.value;
    if (isJsonObject(value)) return value;
  }
  return undefined;
}
