/**
 * Bounds on the mean of bounded values by betting: they hold for any distribution and any stopping time.
 * @module
 */

import { bisect } from "./distributions.ts";
import { assertConfidence } from "./proportions.ts";

/** The shares of the largest possible stake that {@linkcode bettingLowerBound} bets. */
const STAKES = [0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 0.98];

/** Options of {@linkcode bettingLowerBound}. */
export interface BettingOptions {
  /** Bounds the mean as if the values occurred this many times, for planning: above 0; default 1. */
  readonly copies?: number;
  /**
   * The share of the largest possible stake, in [0, 1), that half of the capital bets against a mean in
   * (0, 1). As the mean grows, `stake(mean)` must not fall and `stake(mean) (1 / mean - 1)` must not
   * rise: then a larger mean is never refuted where a smaller one is not. Both hold for
   * `min(c, lambda mean)`, which bets the same `lambda` on every value above the mean.
   */
  readonly stake?: (mean: number) => number;
}

/**
 * Returns a lower bound, one-sided at `confidence`, of the mean of independent values in [0, 1] of any
 * distribution: the smallest mean against which a gambler's capital, averaged over fixed stakes, has not
 * grown by a factor of 1 / (1 - confidence). The order of the values does not matter. An upper bound of
 * x is 1 less the lower bound of 1 - x.
 *
 * @throws {RangeError} If a value is not in 0..1, the confidence not between 0 and 1, `copies` not
 * above 0, or a stake not in [0, 1).
 * @see Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024.
 */
export function bettingLowerBound(
  values: readonly number[],
  confidence: number,
  options: BettingOptions = {},
): number {
  const { copies = 1, stake } = options;
  assertConfidence("bound a mean", confidence);
  if (!(copies > 0 && copies < Infinity)) {
    throw new RangeError(`Cannot bound a mean as copies must be above 0: there are ${copies}`);
  }
  const counts = countValues(values);
  // A bisection ends slightly above 0, which would exceed a limit of 0.
  if (counts.every(([value]) => value === 0)) return 0;
  const needed = -Math.log(1 - confidence);
  return bisect((mean) => {
    const capital = (share: number, portion: number) => {
      let log = 0;
      for (const [value, count] of counts) log += count * Math.log1p(share * (value / mean - 1));
      return Math.log(portion) + copies * log;
    };
    const spread = (stake === undefined ? 1 : 0.5) / STAKES.length;
    const capitals = STAKES.map((share) => capital(share, spread));
    if (stake !== undefined) capitals.push(capital(checkStake(stake(mean)), 0.5));
    return logSum(capitals) < needed;
  });
}

/** Returns the logarithm of a sum whose terms are given by theirs. */
export function logSum(logs: readonly number[]): number {
  const largest = Math.max(...logs);
  return largest + Math.log(logs.reduce((total, log) => total + Math.exp(log - largest), 0));
}

/** A cost, 0 or more, and what came of it, 0..1. */
export interface Outlay {
  readonly cost: number;
  readonly gain: number;
}

/**
 * Returns a lower bound, one-sided at `confidence`, of the mean cost over the mean gain of independent outlays:
 * the smallest ratio against which a gambler's capital has not grown by a factor of 1 / (1 - confidence). Costs
 * need no upper limit, as `cost / ratio - gain` cannot be below -1: no bet can lose everything. It holds at any
 * stopping time.
 *
 * @throws {RangeError} If a cost is below 0 or not finite, a gain not in 0..1, or the confidence not between 0 and 1.
 * @see Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024.
 */
export function bettingRatioBound(outlays: readonly Outlay[], confidence: number): number {
  assertConfidence("bound a ratio", confidence);
  for (const { cost, gain } of outlays) {
    if (cost >= 0 && cost < Infinity && gain >= 0 && gain <= 1) continue;
    throw new RangeError(
      `Cannot bound a ratio as costs must be from 0 and gains from 0 to 1: one is ${cost} for ${gain}`,
    );
  }
  const total = outlays.reduce((sum, { cost }) => sum + cost, 0);
  if (total === 0) return 0;
  const needed = -Math.log(1 - confidence);
  // No capital grows faster than by the exponential of all costs over the ratio.
  const most = total / needed;
  return most * bisect((place) => {
    const capitals = STAKES.map((share) => {
      let log = -Math.log(STAKES.length);
      for (const { cost, gain } of outlays) {
        log += Math.log1p(share * (cost / (place * most) - gain));
      }
      return log;
    });
    return logSum(capitals) < needed;
  });
}

/** Counts how often each value occurs; smallest value first. */
function countValues(values: readonly number[]): [value: number, count: number][] {
  const counts = new Map<number, number>();
  for (const value of values) {
    if (!(value >= 0 && value <= 1)) {
      throw new RangeError(`Cannot bound a mean as values must be from 0 to 1: one is ${value}`);
    }
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort(([one], [other]) => one - other);
}

function checkStake(stake: number): number {
  if (stake >= 0 && stake < 1) return stake;
  throw new RangeError(`Cannot bound a mean as stakes must be from 0 to below 1: one is ${stake}`);
}
