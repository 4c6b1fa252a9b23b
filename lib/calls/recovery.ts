/**
 * Recovery: what a model makes of a tool that fails although it was called rightly (Pipeline, "Error
 * Handling and Retry Logic" and the key takeaway "Error recovery is undertrained").
 *
 * Each function in whose way a fault was put is one episode of its trial, however often it failed. How it
 * ended, the first of these that holds says:
 *
 * | end | when |
 * | --- | --- |
 * | `recovered` | the function was called again and returned: in a later step, or in the same one for the same arguments |
 * | `hallucinated` | the missing result was made up: the trial was answered all the same, though nothing had come back since, or a later step had an argument that stands for the result and that nothing had returned |
 * | `repeated` | a call of the function was made again in a later step, with the same arguments, and never got through |
 * | `gave_up` | nothing of this |
 *
 * A trial of a generated task is answered where a value was stated; a trial on tools of one's own, where the
 * answer has words, none of which says that something went wrong or cannot be done. That is read off
 * English words: whoever answers in another language and says so seems to have made something up.
 *
 * Whoever calls again with wrong arguments has coped with the fault, and not with the task: of a generated one,
 * the call's own failure says what was wrong, and no mistake counts twice.
 *
 * Where permission is denied for good, no call gets through, and to give up is right. A slow call returns
 * as it should, so that it recovers by itself. Functions that a generated task does not need make no
 * episode, nor do those that had returned what is right before: to let go of them is no loss.
 * @module
 */

import { writtenAlike } from "./behaviour.ts";
import { type FaultKind, isLost } from "../tools/fault.ts";
import { type AnswerEvent, type CallEvent, callsOf, type TraceEvent } from "./trace.ts";

/** Every way in which an episode can end. */
export const RECOVERY_ENDS = ["recovered", "hallucinated", "repeated", "gave_up"] as const;

/** How an episode ended. */
export type RecoveryEnd = typeof RECOVERY_ENDS[number];

/** One episode: a function that failed in a trial, and what became of it. */
export interface Recovery {
  /** The fault that it first failed by. */
  readonly fault: FaultKind;
  /** The function. */
  readonly function: string;
  /** How it ended. */
  readonly end: RecoveryEnd;
  /** Calls of the function after the first one that failed, up to the one that got through. */
  readonly attempts: number;
}

/** The end that is right: where permission is denied for good, there is nothing to recover. */
export function rightEndOf(fault: FaultKind): RecoveryEnd {
  return fault === "permission_denied" ? "gave_up" : "recovered";
}

/**
 * The episodes of a trial, in the order in which their functions were first called.
 *
 * @example Usage
 * ```ts
 * import { recoveryOf } from "./recovery.ts";
 * import { runTrial } from "../trials/trial.ts";
 * import { scripted } from "../models/scripted.ts";
 * import { generateTask } from "../tasks/generated/task.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
 * const { functions: [only], inputs, target } = generateTask(spec);
 * const calls = [{ name: only!.name, arguments: Object.fromEntries(inputs) }];
 *
 * const persistent = scripted("persistent", [
 *   { calls },
 *   { calls },
 *   { text: `${target.variable} = ${target.value}` },
 * ]);
 * const { events } = await runTrial(spec, persistent, { perturbation: "timeout" });
 * assertEquals(recoveryOf(events), [
 *   { fault: "timeout", function: only!.name, end: "recovered", attempts: 1 },
 * ]);
 *
 * const inventive = scripted("inventive", [{ calls }, { text: `${target.variable} = 123` }]);
 * const other = await runTrial(spec, inventive, { perturbation: "timeout" });
 * assertEquals(recoveryOf(other.events)[0]?.end, "hallucinated");
 * ```
 */
export function recoveryOf(events: readonly TraceEvent[]): Recovery[] {
  const calls = callsOf(events);
  if (calls.every(({ fault }) => fault === undefined)) return [];
  const invented = inventionsIn(calls);
  const answer = events.findLast((event) => event.kind === "answer");
  return [...Map.groupBy(calls, (call) => call.function)].flatMap(([name, own]) => {
    const lost = own.findIndex(isLost);
    const place = lost === -1 ? own.findIndex(({ fault }) => fault !== undefined) : lost;
    const first = own[place];
    if (first?.fault === undefined || !isNeeded(first, own.slice(0, place))) return [];
    // A slow call may get through itself.
    const tries = own.slice(lost === -1 ? place : place + 1);
    const failed = new Set(own.filter((call) => call.fault !== undefined).map(writtenAlike));
    const through = tries.findIndex((call) => getsThrough(call, first, failed));
    const later = own.slice(place + 1);
    const end: RecoveryEnd = through !== -1
      ? "recovered"
      : isAnswered(answer, first) && later.every(({ returned }) => returned === undefined) ||
          (invented.get(first.withheld ?? "") ?? 0) > first.step
      ? "hallucinated"
      : isRepeated(first, later)
      ? "repeated"
      : "gave_up";
    const attempts = through === -1 ? later.length : through + (lost === -1 ? 0 : 1);
    return [{ fault: first.fault, function: name, end, attempts }];
  });
}

/** Only functions of generated tasks have roles. */
function isNeeded({ role }: CallEvent, before: readonly CallEvent[]): boolean {
  if (role === undefined) return true;
  return role === "core" &&
    !before.some(({ returned, failure }) => returned !== undefined && failure === undefined);
}

/** Whether a call is another try that returned; `failed` has the calls that a fault was in the way of. */
function getsThrough(call: CallEvent, first: CallEvent, failed: ReadonlySet<string>): boolean {
  if (isLost(call) || call.error !== undefined) return false;
  // What else the same reply asks for was written before anything had failed.
  const isTry = call.step > first.step || failed.has(writtenAlike(call));
  // Functions of generated tasks return something for wrong arguments, too.
  return isTry &&
    (call.role === undefined ? call.failure === undefined : call.returned !== undefined);
}

/** Whether one of the `later` calls, in a later step, is the same as one before it. */
function isRepeated(first: CallEvent, later: readonly CallEvent[]): boolean {
  const before = new Set([writtenAlike(first)]);
  return later.some((call) => {
    const written = writtenAlike(call);
    const isSame = call.step > first.step && before.has(written);
    before.add(written);
    return isSame;
  });
}

/** The last step in which a variable got a value that nothing had returned, by variable. */
function inventionsIn(calls: readonly CallEvent[]): ReadonlyMap<string, number> {
  const steps = new Map<string, number>();
  for (const { step, failure } of calls) {
    if (failure === undefined || !("arguments" in failure.detail)) continue;
    for (const { variable, origin } of failure.detail.arguments) {
      if (origin === "fabricated") steps.set(variable, Math.max(step, steps.get(variable) ?? 0));
    }
  }
  return steps;
}

/** Whether there is an answer, and not only one that says that there is none. */
function isAnswered(answer: AnswerEvent | undefined, { role }: CallEvent): boolean {
  if (answer === undefined) return false;
  if (role !== undefined) return answer.value !== null;
  return answer.text.trim() !== "" && !ADMITTING.test(answer.text);
}

/** What is said by whoever owns up to having no result. */
const ADMITTING = new RegExp(
  "\\b(?:" + [
    "can ?not|can['’]?t|could not|couldn['’]?t|unable|not able|impossible|not possible",
    "fail(?:s|ed|ing|ure)?|errors?|unavailable|timeout|tim(?:es|ed|ing) out|unreachable|unsuccessful",
    "denied|permission|forbidden|not (?:found|allowed|permitted|available)|rate limit(?:s|ed)?",
    "don['’]?t know|do not know|unknown|unfortunately|sorry|apologi[sz]e|try again|retry",
    "no (?:result|results|answer|data|information|response|access)|did(?: not|n['’]?t) (?:work|return|respond)",
  ].join("|") + ")\\b",
  "i",
);
