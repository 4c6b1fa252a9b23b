/**
 * Coverage: whether enough trials were valid at the first go.
 * @module
 */

import { countText } from "../base/numbers.ts";
import type { Evidence, LaterGoes } from "./evidence.ts";
import type { CompletePolicy } from "./policy.ts";

/** Trials of which some were valid at the first go. */
type Goes = LaterGoes & Pick<Evidence, "valid" | "unknown">;

/** The valid trials that were so at the first go. */
function firstGoes({ valid, replaced = 0, resampled = 0 }: Goes): number {
  return valid - replaced - resampled;
}

/** Whether enough trials were valid at the first go. */
export function isCovered(goes: Goes, { coverage }: Pick<CompletePolicy, "coverage">): boolean {
  // Tolerates rounding errors of the product.
  return firstGoes(goes) >= coverage * (goes.valid + goes.unknown) - 1e-9;
}

/** Says that too few trials were valid at the first go; `undefined` if enough were. */
export function lackOfCoverage(
  goes: Goes,
  policy: Pick<CompletePolicy, "coverage">,
): string | undefined {
  if (isCovered(goes, policy)) return undefined;
  const required = `the coverage of ${Number((100 * policy.coverage).toPrecision(12))}% requires`;
  const planned = goes.valid + goes.unknown;
  const later = laterGoesText(goes);
  return later === undefined
    ? `${goes.valid} of ${planned} planned trials are valid, fewer than ${required}`
    : `${firstGoes(goes)} of ${planned} planned trials were valid at the first go, fewer than ` +
      `${required}: ${later}`;
}

/** Says how many valid trials were not so at the first go; `undefined` if all were. */
export function laterGoesText({ replaced = 0, resampled = 0 }: LaterGoes): string | undefined {
  const counts = [
    replaced === 0 ? [] : `${countText(replaced, "trial")} run again in place of invalid ones`,
    resampled === 0
      ? []
      : `${
        countText(resampled, "trial")
      } with a reply asked for again after a failure of unclear cause`,
  ].flat();
  return counts.length === 0 ? undefined : counts.join(", ");
}
