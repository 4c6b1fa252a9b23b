/**
 * Recovery: how a model reacts to a tool that fails although it was called correctly (Pipeline, "Error
 * Handling and Retry Logic" and the key takeaway "Error recovery is undertrained").
 *
 * Each function that an injected fault hit is one episode of its trial, however often it failed. Its end is
 * the first of these that applies:
 *
 * | end | when |
 * | --- | --- |
 * | `recovered` | the function was called again and returned: in a later step, or in the same step with the same arguments; of one that is gone for good, another function returned the same variable |
 * | `hallucinated` | the missing result was made up: the trial was answered though the function had returned nothing since, or an argument of a later step took the place of the result with a value that nothing had returned |
 * | `repeated` | a call of the function was made again in a later step, with the same arguments, and none succeeded |
 * | `gave_up` | none of these |
 *
 * A trial of a generated task is answered if it states a value; a trial with the user's tools, if the answer
 * has text that does not admit failure. Admissions are recognized by English words: a model that admits
 * failure in another language seems to have made something up.
 *
 * A model that calls again with wrong arguments has recovered from the fault. On generated tasks the call's
 * own failure records the wrong arguments, so that no mistake counts twice.
 *
 * If permission is denied permanently, no call succeeds, and giving up is right. A slow call returns
 * normally and so recovers by itself. Functions that a generated task does not need make no episode, nor do
 * those that had returned the right value before: nothing is lost by not calling them again.
 * @module
 */

import { callSignature } from "./behaviour.ts";
import { type FaultKind, isLost } from "../tools/fault.ts";
import {
  type AnswerEvent,
  type CallEvent,
  callsOf,
  returnedBy,
  type TraceEvent,
  withheldBy,
} from "./trace.ts";

/** Every way in which an episode can end. */
export const RECOVERY_ENDS = ["recovered", "hallucinated", "repeated", "gave_up"] as const;

/** How an episode ended. */
export type RecoveryEnd = typeof RECOVERY_ENDS[number];

/** One episode: a function that failed in a trial, and how that ended. */
export interface Recovery {
  /** The fault of its first failure. */
  readonly fault: FaultKind;
  /** Name of the function. */
  readonly function: string;
  /** How it ended. */
  readonly end: RecoveryEnd;
  /** Number of calls of the function after the first failed one, up to the one that succeeded. */
  readonly attempts: number;
}

/** Returns the right end: if permission is denied permanently, there is nothing to recover. */
export function rightEndOf(fault: FaultKind): RecoveryEnd {
  return fault === "permission_denied" ? "gave_up" : "recovered";
}

/**
 * Returns the episodes of a trial, in the order in which their functions were first called.
 */
export function recoveryOf(events: readonly TraceEvent[]): Recovery[] {
  const calls = callsOf(events);
  if (calls.every(({ fault }) => fault === undefined)) return [];
  const invented = fabricationSteps(calls);
  const answer = events.findLast((event) => event.kind === "answer");
  return [...Map.groupBy(calls, (call) => call.function)].flatMap(([name, same]) => {
    const own = withOthers(same, calls);
    const lost = own.findIndex(({ fault }) => isLost({ fault }));
    const place = lost === -1 ? own.findIndex(({ fault }) => fault !== undefined) : lost;
    const first = own[place];
    if (first?.fault === undefined || !isNeeded(first, own.slice(0, place))) return [];
    // A slow call may itself succeed.
    const tries = own.slice(lost === -1 ? place : place + 1);
    const failed = new Set(own.filter((call) => call.fault !== undefined).map(callSignature));
    const through = tries.findIndex((call) =>
      call.function !== name || succeeds(call, first, failed)
    );
    const later = own.slice(place + 1);
    const end: RecoveryEnd = through !== -1
      ? "recovered"
      : isAnswered(answer, first) && later.every(({ returned }) => returned === undefined) ||
          withheldBy(first).some((variable) => (invented.get(variable) ?? 0) > first.step)
      ? "hallucinated"
      : isRepeated(first, later)
      ? "repeated"
      : "gave_up";
    const attempts = through === -1 ? later.length : through + (lost === -1 ? 0 : 1);
    return [{ fault: first.fault, function: name, end, attempts }];
  });
}

/**
 * Returns the calls of a function; if it is gone for good, together with those of other functions that returned
 * what it would have.
 */
function withOthers(same: readonly CallEvent[], calls: readonly CallEvent[]): readonly CallEvent[] {
  const [{ function: name }] = same as [CallEvent];
  const gone = same.find(({ fault }) => fault === "gone")?.withheld;
  if (gone === undefined) return same;
  // One variable is enough: what does the same returns all of them.
  const gives = (call: CallEvent) => returnedBy(call).some(({ variable }) => variable === gone);
  return calls.filter((call) => call.function === name || gives(call));
}

/** Returns whether the task still needs the function. Only functions of generated tasks have roles. */
function isNeeded({ role }: CallEvent, before: readonly CallEvent[]): boolean {
  if (role === undefined) return true;
  return role === "core" &&
    !before.some(({ returned, failure }) => returned !== undefined && failure === undefined);
}

/** Returns whether a call is a retry that succeeded; `failed` has the signatures of calls with a fault. */
function succeeds(call: CallEvent, first: CallEvent, failed: ReadonlySet<string>): boolean {
  if (isLost(call) || call.error !== undefined || call.agentDid !== undefined) return false;
  // Other calls of the same reply were written before anything had failed.
  const isTry = call.step > first.step || failed.has(callSignature(call));
  // Functions of generated tasks return a value for wrong arguments, too.
  return isTry &&
    (call.role === undefined ? call.failure === undefined : call.returned !== undefined);
}

/** Returns whether one of the `later` calls, in a later step, is the same as one before it. */
function isRepeated(first: CallEvent, later: readonly CallEvent[]): boolean {
  const before = new Set([callSignature(first)]);
  return later.some((call) => {
    const written = callSignature(call);
    const isSame = call.step > first.step && before.has(written);
    before.add(written);
    return isSame;
  });
}

/** Returns, by variable, the last step that used a value for it which nothing had returned. */
function fabricationSteps(calls: readonly CallEvent[]): ReadonlyMap<string, number> {
  const steps = new Map<string, number>();
  for (const { step, failure } of calls) {
    if (failure === undefined || !("arguments" in failure.detail)) continue;
    for (const { variable, origin } of failure.detail.arguments) {
      if (origin === "fabricated") steps.set(variable, Math.max(step, steps.get(variable) ?? 0));
    }
  }
  return steps;
}

/** Returns whether there is an answer that does not merely admit failure. */
function isAnswered(answer: AnswerEvent | undefined, { role }: CallEvent): boolean {
  if (answer === undefined) return false;
  if (role !== undefined) return answer.value !== null;
  return answer.text.trim() !== "" && !ADMITS_FAILURE.test(answer.text);
}

/** Words by which an answer admits that it has no result. */
const ADMITS_FAILURE = new RegExp(
  "\\b(?:" + [
    "can ?not|can['’]?t|could not|couldn['’]?t|unable|not able|impossible|not possible",
    "fail(?:s|ed|ing|ure)?|errors?|unavailable|timeout|tim(?:es|ed|ing) out|unreachable|unsuccessful",
    "denied|permission|forbidden|not (?:found|allowed|permitted|available)|rate limit(?:s|ed)?",
    "don['’]?t know|do not know|unknown|unfortunately|sorry|apologi[sz]e|try again|retry",
    "no (?:result|results|answer|data|information|response|access)|did(?: not|n['’]?t) (?:work|return|respond)",
  ].join("|") + ")\\b",
  "i",
);
