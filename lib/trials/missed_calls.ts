/**
 * Missed calls: the calls that a task needs and that were never made. Failures of calls cannot show them: a
 * model that makes no call has none.
 * @module
 */

import { isFault } from "../tools/fault.ts";
import { isRemoving } from "../perturbations/ids.ts";
import { callsOf, returnedBy } from "../calls/trace.ts";
import { isGenerated } from "../tasks/task_kind.ts";
import type { Trial } from "./trial.ts";

/** The calls that a trial needed, and those of them that were never made. */
export interface MissedCalls {
  /** Number of calls that the task needs. */
  readonly needed: number;
  /** Number of these for which no call was made. */
  readonly missed: number;
}

/**
 * Counts the needed calls of a trial that were never made; `undefined` if its right calls are not known.
 *
 * Needed are the core functions of a generated task, and the right calls of a case or of a question in mode
 * `tools`. Any call of the function stands for one of them, in any order: wrong arguments are a parameter
 * failure, and a fault of the tool is no omission. One that an agent of the user's own did not carry out stands for
 * none, as it did not happen. A call that a limit or anything else kept the model from
 * making is missed, too, or a model could hide its omissions behind limits. But no call is needed
 *
 * - if values were removed from the question (`RP_F`, `RP_L`), or documents lead to no answer
 *   or to a wrong one (`unsolvable`), as the right answer is to say so at once;
 * - after a call that was denied permission for good.
 */
export function missedCallsOf(trial: Trial): MissedCalls | undefined {
  const { task, perturbation, oracle, events, minimumCalls, needed } = trial;
  const calls = callsOf(events);
  if (oracle === undefined || calls.length < trial.calls) return undefined;
  const isRemoved = perturbation.split("+").some((part) => isRemoving(part) && !isFault(part));
  if (isRemoved || trial.unsolvable === "unlinked" || trial.unsolvable === "misleading") {
    return { needed: 0, missed: 0 };
  }
  if (minimumCalls === null) return undefined;
  const made = calls.filter(({ agentDid }) => agentDid === undefined);
  // A function that is gone and the one that took its place are one needed call.
  const had = new Set(calls.flatMap((call) => returnedBy(call).map(({ variable }) => variable)));
  const core = made.flatMap(({ role, fault, withheld, function: name }) =>
    role === "core" && !(fault === "gone" && had.has(withheld ?? "")) ? name : []
  );
  const missed = isGenerated(task)
    ? Math.max(0, minimumCalls - new Set(core).size)
    // Other tools may list each once, though it may be needed several times.
    : needed?.length === minimumCalls
    ? unmatched(needed, made.map((call) => call.function))
    : undefined;
  if (missed === undefined) return undefined;
  return calls.some(({ fault }) => fault === "permission_denied")
    ? { needed: minimumCalls - missed, missed: 0 }
    : { needed: minimumCalls, missed };
}

/** Returns how many of the needed names have no counterpart among those made. */
function unmatched(needed: readonly string[], made: readonly string[]): number {
  const left = new Map<string, number>();
  for (const name of made) left.set(name, (left.get(name) ?? 0) + 1);
  return needed.filter((name) => {
    const count = left.get(name) ?? 0;
    left.set(name, count - 1);
    return count <= 0;
  }).length;
}
