/**
 * Means of values from 0 to 1 in independent clusters ("units"), such as the replies of each graph: ratios
 * of sums, as units differ in their number of observations.
 * @module
 */

import { normalQuantile, studentQuantile, sum as sumOf } from "./distributions.ts";
import { assertConfidence, type Bounds, scoreBounds } from "./proportions.ts";

/** The values of one unit, summed. A unit with count 0 adds nothing. */
export interface UnitSum {
  /** The sum of its values, each from 0 to 1. */
  readonly sum: number;
  /** The number of values. */
  readonly count: number;
}

/** A mean of values from 0 to 1. */
export interface MeanEstimate {
  /** The mean of all values; `null` if there are none. */
  readonly mean: number | null;
  /** Its two-sided 95% interval; `null` if there is none. */
  readonly interval: Bounds | null;
  /** The number of values. */
  readonly count: number;
  /** The number of independent units with values. */
  readonly units: number;
}

/** Sums of equal values may differ by rounding errors of this size. */
const NO_SPREAD = 1e-9;

/**
 * Returns the mean of all values, and its two-sided interval.
 *
 * The standard error is that of a ratio of sums, by linearisation. The interval is Wilson's for the number
 * of independent trials that would have this standard error, with Student's t for one degree of freedom less
 * than there are units. It covers the true mean in 91% to 99% of simulations with 5 to 100 units, where
 * the mean plus or minus t standard errors, cut to [0, 1], covers it in 86% once the mean is near 1.
 * Units of one value that is 0 or 1 have Wilson's interval itself. Units that are all alike show no
 * spread but prove no more than that many trials would, so they have Wilson's interval for that number of
 * trials. Otherwise a single unit has no interval.
 *
 * @throws {RangeError} If the confidence is not between 0 and 1.
 * @see Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered
 * Surveys", 2015.
 */
export function estimateMean(units: readonly UnitSum[], confidence = 0.95): MeanEstimate {
  assertConfidence("bound a mean", confidence);
  const filled = units.filter(({ count }) => count > 0);
  const count = sumOf(filled, (unit) => unit.count);
  // Sums of shares may exceed the whole by a rounding error.
  const mean = count === 0 ? null : Math.min(1, sumOf(filled, ({ sum }) => sum) / count);
  return {
    mean,
    interval: mean === null ? null : meanBounds(filled, mean, confidence),
    count,
    units: filled.length,
  };
}

function meanBounds(units: readonly UnitSum[], mean: number, confidence: number): Bounds | null {
  const upTo = (1 + confidence) / 2;
  const normal = normalQuantile(upTo);
  const number = units.length;
  if (units.every(({ sum, count }) => count === 1 && (sum === 0 || sum === 1))) {
    return scoreBounds(mean, number, normal);
  }
  if (number < 2) return null;
  const squares = sumOf(influences(units, mean), (influence) => influence * influence);
  const error = Math.sqrt(number / (number - 1) * squares);
  if (error < NO_SPREAD) return scoreBounds(mean, number, normal);
  return scoreBounds(mean, mean * (1 - mean) / error ** 2, studentQuantile(upTo, number - 1));
}

/** The mean of several means. */
export type JointMean = Pick<MeanEstimate, "mean" | "interval">;

/**
 * Returns the equally weighted mean of several means over the same units. `parts` holds, for each mean, the
 * sums of the units, each unit always at the same index. Means without any value are left out.
 *
 * The interval combines the intervals of the means by the method of variance estimates recovery (MOVER): the
 * distance of each lower bound from its mean replaces a standard error below, and likewise above; the
 * correlation of two means is that of the units' influences on them. It is taken as 0 for a mean whose
 * units are all alike, and if it is negative, which with few units is mostly chance. The interval lies
 * within [0, 1], is as asymmetric as its parts, and does not vanish if all values are 1. It covers the
 * true mean in 91% to 98% of simulations with five means and 6 to 200 units.
 *
 * @throws {RangeError} If the confidence is not between 0 and 1.
 * @see Zou and Donner, "Construction of Confidence Limits about Effect Measures: A General Approach", 2008.
 */
export function jointMean(
  parts: readonly (readonly UnitSum[])[],
  confidence = 0.95,
): JointMean {
  assertConfidence("bound a mean", confidence);
  const means = parts.flatMap((units) => {
    const { mean, interval } = estimateMean(units, confidence);
    return mean === null ? [] : [{ mean, interval, moves: influences(units, mean) }];
  });
  if (means.length === 0) return { mean: null, interval: null };
  const mean = sumOf(means, (one) => one.mean) / means.length;
  if (means.some(({ interval }) => interval === null)) return { mean, interval: null };
  const distance = (side: (one: typeof means[number]) => number) => {
    const square = sumOf(
      means,
      (one) =>
        sumOf(
          means,
          (other) => correlationOfUnits(one.moves, other.moves) * side(one) * side(other),
        ),
    );
    return Math.sqrt(square) / means.length;
  };
  const below = distance((one) => one.mean - one.interval!.lower);
  const above = distance((one) => one.interval!.upper - one.mean);
  return {
    mean,
    interval: { lower: Math.max(0, mean - below), upper: Math.min(1, mean + above) },
  };
}

/** The correlation of the units' influences on two means, at least 0; 0 if one of the means has none. */
function correlationOfUnits(one: readonly number[], other: readonly number[]): number {
  if (one === other) return 1;
  const dot = (left: readonly number[], right: readonly number[]) =>
    left.reduce((sum, value, place) => sum + value * right[place]!, 0);
  const lengths = Math.sqrt(dot(one, one) * dot(other, other));
  return lengths < NO_SPREAD ** 2 ? 0 : Math.max(0, dot(one, other) / lengths);
}

/** The influence of each unit on the mean, to first order. */
function influences(units: readonly UnitSum[], mean: number): number[] {
  const all = sumOf(units, ({ count }) => count);
  return units.map(({ sum, count }) => (sum - mean * count) / all);
}
