/**
 * Correlation of two measures of the same items.
 * @module
 */

import { studentTail } from "./distributions.ts";

/** A correlation. */
export interface Correlation {
  /** Pearson's coefficient, from -1 to 1. */
  readonly r: number;
  /** The probability of a correlation at least this strong, of either sign, if there is none. */
  readonly p: number;
  /** The number of pairs. */
  readonly n: number;
}

/**
 * Returns Pearson's correlation of two lists, pair by pair, and its two-sided p-value: that of
 * t = r sqrt((n - 2) / (1 - r^2)) under Student's distribution with n - 2 degrees of freedom, exact if both
 * measures are normal. Returns `null` for fewer than three pairs, or if all values of a list are the
 * same.
 */
export function pearson(xs: readonly number[], ys: readonly number[]): Correlation | null {
  const n = xs.length;
  if (n < 3) return null;
  const [x, y] = [standardized(xs), standardized(ys)];
  if (x === undefined || y === undefined) return null;
  const r = Math.max(-1, Math.min(1, x.reduce((sum, value, place) => sum + value * y[place]!, 0)));
  const t = Math.abs(r) * Math.sqrt((n - 2) / ((1 - r) * (1 + r)));
  return { r, p: Math.min(1, 2 * studentTail(t, n - 2)), n };
}

/** The deviations from the mean as a vector of length 1; `undefined` if all values are the same. */
function standardized(values: readonly number[]): number[] | undefined {
  if (values.every((value) => value === values[0])) return undefined;
  // The second pass removes the rounding error of the first mean.
  const deviations = centred(centred(scaled(values)));
  const length = Math.sqrt(deviations.reduce((sum, value) => sum + value * value, 0));
  return deviations.map((value) => value / length);
}

function centred(values: readonly number[]): number[] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return values.map((value) => value - mean);
}

/** Scales by a power of two, which is exact, so that the largest is near 1 and squares do not overflow. */
function scaled(values: readonly number[]): number[] {
  const most = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = 2 ** Math.floor(Math.log2(most));
  return values.map((value) => value / scale);
}
