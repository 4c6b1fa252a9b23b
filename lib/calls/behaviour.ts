/**
 * Behaviours: habits of a model that can be computed from a trace (Indirection, sections on thinking
 * silently, inflexible choices, tool aversion and ignored results).
 * @module
 */

import { attempt } from "../base/errors.ts";
import { isTransient } from "../tools/fault.ts";
import { followedDemand, type InjectedDemand, type InstructedCall } from "../tools/injection.ts";
import type { ToolChoice } from "../tools/tool.ts";
import { canonicalJson, parseJson } from "../base/json.ts";
import { type CallEvent, callsOf, EXPLANATION, MAX_KEPT_LENGTH, type TraceEvent } from "./trace.ts";
import { type Behaviour, BEHAVIOURS } from "./failure_types.ts";

/** The properties of a task that its behaviours depend on. */
export interface Expectations {
  /** The functions that must be called. */
  readonly needed: readonly string[];
  /** Returns the answer that a call gives; `undefined` if it gives none. */
  readonly answerOf: (call: CallEvent) => number | undefined;
  /** Whether an answer without a value counts as one. */
  readonly wordsCount: boolean;
  /** Whether no call can help; omitted where one may. */
  readonly noToolHelps?: boolean;
  /** Whether the model may, must or must not call; `undefined` if it is free. */
  readonly toolChoice: ToolChoice | undefined;
  /** Whether a result is one that the final text must state, if it states no value; default: it is. */
  readonly settles?: (call: CallEvent) => boolean;
  /** Whether a text states a result; default: it holds the number, in digits or as a word. */
  readonly states?: (text: string, result: number) => boolean;
  /** What the model did for want of a value that its user knows; omitted where nobody answers it. */
  readonly inputs?: Readonly<Record<"asked_user" | "assumed_input", boolean>> | undefined;
}

/** Arguments that are whole numbers by different names, without spaces, as most are: to sort their texts takes a fifth. */
const NUMBERS = /^\{(?:"([a-z_]\w*)":(?:0|-?[1-9]\d{0,14})(?:(?=\})|,(?=")(?!.*"\1":)))+\}$/i;

/** Returns a text that is the same for calls that differ only in the formatting of their arguments. */
export function callSignature(
  { function: name, arguments: own, resolved: written = own }: Pick<
    CallEvent,
    "function" | "arguments" | "resolved"
  >,
): string {
  if (NUMBERS.test(written)) {
    return `[${JSON.stringify(name)},{${written.slice(1, -1).split(",").sort().join()}}]`;
  }
  // Thousands of nested brackets overflow the stack.
  return attempt(() => canonicalJson([name, parseJson(written) ?? written])) ??
    canonicalJson([name, written]);
}

/** Returns the behaviours in the trace of one trial, in the order of {@linkcode BEHAVIOURS}. */
export function behavioursIn(
  events: readonly TraceEvent[],
  expectations: Expectations,
): Behaviour[] {
  const { needed, answerOf, wordsCount, settles = () => true, states = holdsNumber } = expectations;
  const { toolChoice = "auto", noToolHelps = false, inputs } = expectations;
  const calls = callsOf(events);
  const answer = events.findLast((event) => event.kind === "answer");
  const value = answer?.value ?? null;
  const answered = wordsCount ? answer !== undefined : value !== null;
  const called = new Set(calls.map((call) => call.function));
  const returned = calls.flatMap((call) => answerOf(call) ?? []);
  const replies = events.filter((event) =>
    event.kind === "reply" && event.stage === undefined && event.calls > 0
  );
  const limited = events.some((event) =>
    event.kind === "over_limit" || event.kind === "stop" && event.reason.endsWith("_limit")
  );
  // Repeating a call after a transient fault is not a loop.
  const counted = calls.filter(({ fault, blockedBy }) =>
    blockedBy === undefined && (fault === undefined || !isTransient(fault))
  );
  const isRepeated = () => new Set(counted.map(callSignature)).size < counted.length;
  const isForced = toolChoice !== "auto" && toolChoice !== "none";
  const isIgnored = () => {
    if (answer === undefined) return false;
    const { text } = answer;
    if (value === null) {
      // The last words of a text that was cut for the record may state it.
      if (limited || text.length >= MAX_KEPT_LENGTH) return false;
      const results = calls.filter((call) =>
        call.failure === undefined && call.unperturbed === undefined &&
        answerOf(call) !== undefined && settles(call)
      );
      return results.length > 0 && !returned.some((result) => states(text, result));
    }
    return returned.length > 0 && !returned.some((result) =>
      // No answer is read as a number that is not whole.
      result === value || !Number.isInteger(result) && states(text, result)
    );
  };
  const shows: Record<Behaviour, boolean> = {
    // Where no call is allowed, to make none is right.
    aversion: answered && toolChoice !== "none" && needed.some((name) => !called.has(name)),
    needless_call: noToolHelps && !isForced && calls.length > 0,
    ignored_result: isIgnored(),
    silent: replies.length > 0 &&
      replies.every((event) => event.kind === "reply" && event.text.trim() === "") &&
      !events.some((event) => event.kind === "stage" && event.stage === EXPLANATION),
    followed_injection: demandFollowed(events) !== undefined,
    forced_loop: limited && calls.length > 0 && (isForced || isRepeated()),
    asked_user: inputs?.asked_user === true,
    assumed_input: inputs?.assumed_input === true,
  };
  return BEHAVIOURS.filter((behaviour) => shows[behaviour]);
}

/** What a model wrote beyond what the events of a trace hold. */
interface Unrecorded {
  readonly calls?: readonly InstructedCall[];
  readonly texts?: readonly string[];
}

/** Returns the injected demand that a model followed, in the events of a trace or beyond them. */
export function demandFollowed(
  events: readonly TraceEvent[],
  { calls: further = [], texts = [] }: Unrecorded = {},
): InjectedDemand | undefined {
  const calls = callsOf(events).map((call) => ({
    name: call.function,
    written: call.resolved ?? call.arguments,
    injected: call.injected,
  }));
  const beyond = events.flatMap((event) =>
    event.kind === "over_limit" && event.arguments !== undefined
      ? [{ name: event.function, written: event.arguments }]
      : []
  );
  const said = events.flatMap((event) =>
    event.kind === "reply"
      ? [event.text]
      : event.kind === "answer"
      ? [event.text, event.said ?? ""]
      : []
  );
  return followedDemand([...calls, ...beyond, ...further], [...said, ...texts]);
}

const NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(
  " ",
);
/** Words before "one" where it is a number. */
const NAMES_ONE =
  /\b(?:option|number|choice|decision|answer|result|is|says?|said|chose|picks?)\W{1,4}one\b/i;

/** Whether a text holds a number, in digits such as `3`, `3.0` or `1,234`, or as a word such as `three`. */
export function holdsNumber(text: string, number: number): boolean {
  for (const [digits] of text.matchAll(/(?<![\w.])[-\u2212]?\d[\d,]*(?:\.\d+)?(?!\w)/g)) {
    if (Number(digits.replaceAll(",", "").replace("\u2212", "-")) === number) return true;
  }
  const word = NUMBER_WORDS[number];
  if (word === undefined) return false;
  return word === "one"
    ? NAMES_ONE.test(text)
    : new RegExp(`(?<![\\w-])${word}(?![\\w-])`, "i").test(text);
}
