/**
 * Origins: the runs in which replies were drawn, and what of these runs is gone.
 * @module
 */

import { z } from "zod";
import { countText } from "../../base/numbers.ts";

/** The schema of runs that recorded replies: when each began, in UTC, and eight random digits. */
export const RUNS = z.array(z.string().regex(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/, "must name a run"));

/** The schema of an origin, in recordings and in journals. */
export const ORIGIN = z.strictObject({
  // The runs in which the replies of a trial were drawn.
  runs: RUNS,
  // The runs of replies that manifests list for it, and that it does not have.
  lost: RUNS,
});

/** Where the replies of a trial come from that is recorded or replayed. */
export type Origin = z.infer<typeof ORIGIN>;

/** A trial; one that was neither recorded nor replayed has no origin. */
interface Drawn {
  readonly origin?: Origin | undefined;
}

/** Returns the runs in which the replies of trials were drawn, each once. */
export function runsOf(trials: readonly Drawn[]): string[] {
  return [...new Set(trials.flatMap(({ origin }) => origin?.runs ?? []))];
}

/**
 * Says that replies may have been chosen: some of a run are kept, and others are gone, as if failures were deleted and
 * drawn again. `undefined` if nothing hints at it, as where all replies of a run were drawn anew.
 */
export function chosenText(trials: readonly Drawn[]): string | undefined {
  const kept = new Set(runsOf(trials));
  const chosen = trials.filter(({ origin }) => origin?.lost.some((run) => kept.has(run))).length;
  if (chosen === 0) return undefined;
  return `replies may have been chosen: ${chosen} of ${countText(trials.length, "trial")} do not ` +
    "have those that a manifest lists; record all anew with --record=FOLDER";
}
