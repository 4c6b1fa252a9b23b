/**
 * Watches the models of a history for drift.
 * @module
 */

import { printable } from "../../base/json.ts";
import {
  type CanaryPolicy,
  type CanaryVerdict,
  completeCanary,
  watchForDrift,
} from "../../gate/canary.ts";
import { canaryLines } from "../../gate/canary_text.ts";
import { type Variant, variantName } from "../../gate/variant.ts";
import { type HistoryPart, lastRelease } from "./history.ts";
import { watchedIn } from "./_nights.ts";

/** The verdicts of a canary, as `canary --json` prints them. */
export interface CanaryReport {
  /** The version of this format. */
  readonly v: 1;
  readonly suite: string;
  /** The worst of the verdicts: an alarm, then an invalid one. */
  readonly verdict: CanaryVerdict["kind"];
  /** The exit code for it: 0 quiet, 1 alarm, 3 invalid. */
  readonly exitCode: 0 | 1 | 3;
  /** One for each model, strategy, perturbation and variant of the last release. */
  readonly watched: readonly WatchedModel[];
  /** What of the history was left out and why, one line each. */
  readonly leftOut: readonly string[];
}

/** The verdict on one served model. */
export interface WatchedModel extends Variant, CanaryVerdict {
  readonly simulated: boolean;
  /** The served model. */
  readonly served: string;
  /** The name of the release that its nights are compared with. */
  readonly release: string;
  /** The verdict as a paragraph. */
  readonly text: string;
  /** Its numbers, one per line. */
  readonly numbers: readonly string[];
}

const EXIT_CODES = { quiet: 0, alarm: 1, invalid: 3 } as const;

/**
 * Watches each variant of the last release. All of them are one family: false alarms come in at most 5% of years over
 * all of them.
 *
 * @throws {InputError} If there is no release, none of its tasks can be solved, the releases cannot be relied on, or the
 * policy is unusable.
 */
export function watchHistory(part: HistoryPart, policy: CanaryPolicy): CanaryReport {
  const release = lastRelease(part, `watch the suite ${printable(part.suite, 100)}`);
  const all = watchedIn(part, release, completeCanary(policy).coverage);
  const watched = all.map((one): WatchedModel => {
    const { subject, simulated, served, reference, stopped, nights, lacking = part.lacking } = one;
    const own = { ...policy, models: all.length, stopped };
    const seen = watchForDrift(reference, nights, own);
    // Another run of the same day must not hide it, and it says more than that a night has no trials.
    const verdict = lacking === undefined || seen.kind === "alarm"
      ? seen
      : { ...seen, kind: "invalid" as const, reason: `the last record cannot be used: ${lacking}` };
    const [text, ...numbers] = canaryLines(verdict, own);
    return {
      ...subject,
      ...{ simulated, served, release: release.name },
      ...verdict,
      text: text!,
      numbers: [`compared with release ${printable(release.name, 100)}`, ...numbers],
    };
  });
  const kinds = watched.map(({ kind }) => kind);
  const verdict = (["alarm", "invalid"] as const).find((kind) => kinds.includes(kind)) ?? "quiet";
  return {
    ...{ v: 1, suite: part.suite, verdict, exitCode: EXIT_CODES[verdict], watched },
    leftOut: [...part.leftOut, ...new Set(all.flatMap((one) => one.leftOut))],
  };
}

/** Says what a verdict is on. */
export function watchedName({ simulated, served, ...subject }: WatchedModel): string {
  const name = printable(variantName(subject), 200) + (simulated ? " (simulated)" : "");
  return `${name}, served as ${printable(served, 100)}`;
}
