/**
 * Missed calls: how often models leave out calls that their tasks need.
 * @module
 */

import { isCounted, missesCall, needsCalls } from "../../gate/variant.ts";
import { measureEach, type Subject } from "./_subjects.ts";
import { sum } from "../../base/numbers.ts";
import { countOf, type Share, shareOf } from "./_shares.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** Trials with a missed call, of those that need calls. */
export interface MissedCallRate extends Share {
  /** Missed calls, of all that these trials need. */
  readonly calls: Pick<Share, "count" | "of" | "rate">;
}

/** The missed calls of a model with a strategy, under one perturbation. */
export type MissedCallMetrics = MissedCallRate & Subject;

/**
 * Measures missed calls, for each model, strategy and perturbation whose right calls are known. Invalid and
 * unchanged trials do not count, nor do those that need no call.
 */
export function measureMissedCalls(trials: readonly TrialSummary[]): MissedCallMetrics[] {
  return measureEach(trials.map(asSummary), (items) => {
    const rate = missedCallRate(items.filter(isCounted));
    return rate.of === 0 ? [] : [rate];
  });
}

/** Returns how many trials miss calls, of those that need some. */
export function missedCallRate(trials: readonly TrialSummary[]): MissedCallRate {
  const needing = trials.filter(needsCalls);
  return {
    ...shareOf(needing, missesCall),
    calls: countOf(
      sum(needing, ({ missed }) => missed!.missed),
      sum(needing, ({ missed }) => missed!.needed),
    ),
  };
}
