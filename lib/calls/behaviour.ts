/**
 * Behaviours: habits of a model that a trace shows mechanically (Indirection, sections on thinking
 * silently, inflexible choices, tool aversion and ignored results).
 * @module
 */

import { isTransient } from "../tools/fault.ts";
import { canonicalJson, parseJson } from "../base/json.ts";
import { type CallEvent, callsOf, type TraceEvent } from "./trace.ts";
import { type Behaviour, BEHAVIOURS } from "./failure_types.ts";

/** What a task says of its behaviours. */
export interface Expectations {
  /** The functions that must be called. */
  readonly needed: readonly string[];
  /** The value by which a call gives the answer; `undefined` if it gives none. */
  readonly answerOf: (call: CallEvent) => number | undefined;
  /** Whether an answer without a value counts as one. */
  readonly wordsCount: boolean;
  /** Whether calls are forced that cannot help. */
  readonly forced: boolean;
}

/** A text that is the same for calls that differ only in how they are written. */
export function writtenAlike(
  { function: name, arguments: own, resolved: written = own }: CallEvent,
): string {
  try {
    return canonicalJson([name, parseJson(written) ?? written]);
  } catch {
    // Thousands of brackets within each other exceed the stack.
    return canonicalJson([name, written]);
  }
}

/** The behaviours that the trace of one trial shows, in the order of {@linkcode BEHAVIOURS}. */
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
  const talking = events.filter((event) =>
    event.kind === "reply" && event.stage === undefined && event.calls > 0
  );
  const limited = events.some((event) =>
    event.kind === "over_limit" || event.kind === "stop" && event.reason !== "invalid"
  );
  // To make a call again that failed for the time being is no sign of running in circles.
  const meant = calls.filter(({ fault }) => fault === undefined || !isTransient(fault));
  const different = new Set(meant.map(writtenAlike)).size;
  const shown: Record<Behaviour, boolean> = {
    aversion: answered && needed.some((name) => !called.has(name)),
    ignored_result: value !== null && returned.length > 0 && !returned.includes(value),
    silent: talking.length > 0 &&
      talking.every((event) => event.kind === "reply" && event.text.trim() === ""),
    forced_loop: limited && calls.length > 0 && (forced || different < meant.length),
  };
  return BEHAVIOURS.filter((behaviour) => shown[behaviour]);
}
