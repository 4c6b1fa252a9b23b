/**
 * Trial keys: tell whether trials are another run than those of a baseline.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { canonicalJson, printable } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** A key that distinguishes the runs of one trial, by when it began; empty where other tools do not say. */
export function attemptKey({ id, startedAt }: TrialSummary): string {
  return startedAt === "" ? "" : sha256(canonicalJson([id, startedAt])).slice(0, KEY_LENGTH);
}

/** A key that distinguishes the replies of a trial from any others, however often they are replayed; empty if unknown. */
export function drawKey({ draw }: TrialSummary): string {
  return draw === undefined ? "" : sha256(canonicalJson(["draw", draw])).slice(0, KEY_LENGTH);
}

/** Characters of a key: two trials of one place in a plan share one by chance in 2 ** 64 cases. */
const KEY_LENGTH = 16;

export function trialKeys(trials: readonly TrialSummary[]): Set<string> {
  return new Set(trials.flatMap((one) => [attemptKey(one), drawKey(one)]).filter(Boolean));
}

/** Whether trials are those that a baseline was made of, by its keys; never where they do not say when they began. */
export function isBaselineRun(keys: ReadonlySet<string>, trials: readonly TrialSummary[]): boolean {
  const dated = trials.filter(({ startedAt }) => startedAt !== "");
  return dated.length > 0 && dated.every((trial) => keys.has(attemptKey(trial)));
}

/**
 * Refuses to compare trials with themselves or their replays: any gate would pass over these, and be nearer to
 * it for each one.
 *
 * @throws {InputError} If one of them or more are the baseline's own.
 */
export function assertOtherRun(
  { file, keys }: { readonly file: string; readonly keys: ReadonlySet<string> },
  trials: readonly TrialSummary[],
): void {
  // Journals of other tools may lack start times, without which two runs look the same.
  const dated = trials.filter(({ startedAt }) => startedAt !== "");
  const shared = dated.filter((trial) => keys.has(attemptKey(trial)));
  const drawn = trials.filter((trial) => keys.has(drawKey(trial)));
  if (drawn.length > shared.length) {
    throw cannot(
      `compare with ${file}`,
      "the candidate must be another run",
      `${drawn.length} of its ${trials.length} trials have recorded replies of the baseline, such as ${
        printable(drawn[0]!.id, 300)
      }; ask its model anew with --record`,
    );
  }
  if (shared.length === 0) return;
  throw cannot(
    `compare with ${file}`,
    "the candidate must be another run",
    shared.length === dated.length
      ? "these are the trials of the baseline itself"
      : `${shared.length} of its ${trials.length} trials are the baseline's own, such as ${
        printable(shared[0]!.id, 300)
      }`,
  );
}
