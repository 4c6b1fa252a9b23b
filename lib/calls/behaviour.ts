/**
 * Behaviours: habits of a model that can be computed from a trace (Indirection, sections on thinking
 * silently, inflexible choices, tool aversion and ignored results).
 * @module
 */

import { isTransient } from "../tools/fault.ts";
import { canonicalJson, parseJson } from "../base/json.ts";
import { type CallEvent, callsOf, type TraceEvent } from "./trace.ts";
import { type Behaviour, BEHAVIOURS } from "./failure_types.ts";

/** The properties of a task that its behaviours depend on. */
export interface Expectations {
  /** The functions that must be called. */
  readonly needed: readonly string[];
  /** Returns the answer that a call gives; `undefined` if it gives none. */
  readonly answerOf: (call: CallEvent) => number | undefined;
  /** Whether an answer without a value counts as one. */
  readonly wordsCount: boolean;
  /** Whether the task forces calls that cannot help. */
  readonly forced: boolean;
}

/** Returns a text that is the same for calls that differ only in the formatting of their arguments. */
export function callSignature(
  { function: name, arguments: own, resolved: written = own }: Pick<
    CallEvent,
    "function" | "arguments" | "resolved"
  >,
): string {
  try {
    return canonicalJson([name, parseJson(written) ?? written]);
  } catch {
    // Thousands of nested brackets overflow the stack.
    return canonicalJson([name, written]);
  }
}

/** Returns the behaviours in the trace of one trial, in the order of {@linkcode BEHAVIOURS}. */
export function behavioursIn(
  events: readonly TraceEvent[],
  { needed, answerOf, wordsCount, forced }: Expectations,
): Behaviour[] {
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
  const counted = calls.filter(({ fault }) => fault === undefined || !isTransient(fault));
  const isRepeated = () => new Set(counted.map(callSignature)).size < counted.length;
  const shows: Record<Behaviour, boolean> = {
    aversion: answered && needed.some((name) => !called.has(name)),
    ignored_result: value !== null && returned.length > 0 && !returned.includes(value),
    silent: replies.length > 0 &&
      replies.every((event) => event.kind === "reply" && event.text.trim() === ""),
    forced_loop: limited && calls.length > 0 && (forced || isRepeated()),
  };
  return BEHAVIOURS.filter((behaviour) => shows[behaviour]);
}
