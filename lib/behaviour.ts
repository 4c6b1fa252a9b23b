/**
 * Behaviours: habits of a model that a trace shows mechanically (Indirection, sections on aversion
 * and ignored results).
 * @module
 */

import { canonicalJson, parseJson } from "./json.ts";
import type { Task } from "./task.ts";
import { type CallEvent, callsOf, type TraceEvent } from "./trace.ts";

/** Every behaviour. */
export const BEHAVIOURS = ["aversion", "ignored_result", "silent", "forced_loop"] as const;

/**
 * - `aversion`: it answered with a value although it had never called a function that the task needs.
 * - `ignored_result`: its answer is none of the values that the target function returned to it.
 * - `silent`: it made calls and never wrote a word beside them.
 * - `forced_loop`: it ran into a limit while repeating calls that it had made before.
 */
export type Behaviour = typeof BEHAVIOURS[number];

/** A text that is the same for calls that differ only in how they are written. */
function writtenAlike({ function: name, arguments: written }: CallEvent): string {
  try {
    return canonicalJson([name, parseJson(written) ?? written]);
  } catch {
    // Thousands of brackets within each other exceed the stack.
    return canonicalJson([name, written]);
  }
}

/** The behaviours that the trace of one trial shows, in the order of {@linkcode BEHAVIOURS}. */
export function behavioursOf(task: Task, events: readonly TraceEvent[]): Behaviour[] {
  const calls = callsOf(events);
  const answer = events.findLast((event) => event.kind === "answer")?.value ?? null;
  const called = new Set(calls.map((call) => call.function));
  const returned = calls.flatMap((call) =>
    call.returned?.variable === task.target.variable ? [call.returned.value] : []
  );
  const talking = events.filter((event) => event.kind === "reply" && event.calls > 0);
  const limited = events.some((event) =>
    event.kind === "over_limit" || event.kind === "stop" && event.reason !== "invalid"
  );
  const different = new Set(calls.map(writtenAlike)).size;
  const shown: Record<Behaviour, boolean> = {
    aversion: answer !== null &&
      task.functions.some(({ role, name }) => role === "core" && !called.has(name)),
    ignored_result: answer !== null && returned.length > 0 && !returned.includes(answer),
    silent: talking.length > 0 &&
      talking.every((event) => event.kind === "reply" && event.text.trim() === ""),
    forced_loop: limited && different < calls.length,
  };
  return BEHAVIOURS.filter((behaviour) => shown[behaviour]);
}
