/**
 * Statistics of success rates: numbers in, numbers out.
 * @module
 */

/** A lower and an upper bound of a rate. */
export interface Bounds {
  /** The lower bound, from 0. */
  readonly lower: number;
  /** The upper bound, to 1. */
  readonly upper: number;
}

/**
 * The probability of exactly `successes` in `trials` independent trials of the given `rate`, by
 * Loader's saddle-point expansion, which keeps its relative accuracy for any number of trials.
 *
 * @see Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000.
 *
 * @example Usage
 * ```ts
 * import { binomialProbability } from "./statistics.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * assertAlmostEquals(binomialProbability(5, 10, 0.5), 252 / 1024, 1e-14);
 * ```
 */
export function binomialProbability(successes: number, trials: number, rate: number): number {
  if (rate <= 0) return successes === 0 ? 1 : 0;
  if (rate >= 1) return successes === trials ? 1 : 0;
  if (successes === 0) return Math.exp(trials * Math.log1p(-rate));
  if (successes === trials) return Math.exp(trials * Math.log(rate));
  const failures = trials - successes;
  const exponent = stirlingError(trials) - stirlingError(successes) - stirlingError(failures) -
    deviance(successes, trials * rate) - deviance(failures, trials * (1 - rate));
  return Math.exp(exponent) * Math.sqrt(trials / (2 * Math.PI * successes * failures));
}

/** log(n!) less Stirling's approximation of it. */
function stirlingError(n: number): number {
  if (n < 16) {
    let logFactorial = 0;
    for (let factor = 2; factor <= n; factor++) logFactorial += Math.log(factor);
    return logFactorial - (n + 0.5) * Math.log(n) + n - 0.5 * Math.log(2 * Math.PI);
  }
  const square = n * n;
  return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) /
      square) / n;
}

/** x log(x/mean) + mean - x, without cancellation where the two are close. */
function deviance(x: number, mean: number): number {
  const difference = x - mean;
  if (Math.abs(difference) >= 0.1 * (x + mean)) return x * Math.log(x / mean) - difference;
  const ratio = difference / (x + mean);
  let sum = difference * ratio;
  let term = 2 * x * ratio;
  for (let odd = 3;; odd += 2) {
    term *= ratio * ratio;
    const next = sum + term / odd;
    if (next === sum) return sum;
    sum = next;
  }
}

/**
 * The probability of at least `successes` in `trials` independent trials of the given `rate`.
 *
 * @example Usage
 * ```ts
 * import { binomialUpperTail } from "./statistics.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * assertAlmostEquals(binomialUpperTail(9, 10, 0.5), 11 / 1024, 1e-14);
 * ```
 */
export function binomialUpperTail(successes: number, trials: number, rate: number): number {
  if (successes <= 0) return 1;
  if (successes > trials || rate <= 0) return 0;
  if (rate >= 1) return 1;
  // Terms are summed away from the mode, where they only fall, until they no longer count.
  if (successes <= trials * rate) {
    return 1 - binomialUpperTail(trials - successes + 1, trials, 1 - rate);
  }
  let term = binomialProbability(successes, trials, rate);
  let sum = term;
  for (let count = successes; count < trials && term > sum * 1e-18; count++) {
    term *= (trials - count) / (count + 1) * rate / (1 - rate);
    sum += term;
  }
  return Math.min(1, sum);
}

/**
 * Clopper and Pearson's exact bounds, each one-sided at `confidence`: the rate lies above `lower`
 * with at least that confidence, and below `upper` with at least that confidence. A two-sided
 * interval at confidence c is the pair at (1 + c) / 2.
 *
 * @throws {RangeError} If the counts are no whole numbers with 0 <= successes <= trials, trials >= 1.
 * @see Clopper and Pearson, "The Use of Confidence or Fiducial Limits", 1934.
 *
 * @example Usage
 * ```ts
 * import { clopperPearson } from "./statistics.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * const { lower, upper } = clopperPearson(8, 10, 0.975);
 * assertAlmostEquals(lower, 0.44390453769, 1e-10);
 * assertAlmostEquals(upper, 0.97478927367, 1e-10);
 * ```
 */
export function clopperPearson(successes: number, trials: number, confidence: number): Bounds {
  assertCounts(successes, trials);
  if (!(confidence > 0 && confidence < 1)) {
    throw new RangeError(
      `Cannot bound a rate as confidence must be between 0 and 1: it is ${confidence}`,
    );
  }
  const error = 1 - confidence;
  const lowerOf = (count: number) =>
    count === 0 ? 0 : bisect((rate) => binomialUpperTail(count, trials, rate) >= error);
  return { lower: lowerOf(successes), upper: 1 - lowerOf(trials - successes) };
}

/** The place in [0, 1] from which on `holds` is true. */
function bisect(holds: (value: number) => boolean): number {
  let [below, above] = [0, 1];
  for (let halving = 0; halving < 100 && below < above; halving++) {
    const middle = (below + above) / 2;
    if (middle === below || middle === above) break;
    if (holds(middle)) above = middle;
    else below = middle;
  }
  return above;
}

function assertCounts(successes: number, trials: number): void {
  if (
    Number.isSafeInteger(trials) && trials >= 1 && Number.isSafeInteger(successes) &&
    successes >= 0 && successes <= trials
  ) return;
  throw new RangeError(
    `Cannot bound a rate as it needs whole numbers with 0 <= successes <= trials and trials >= 1: ` +
      `there are ${successes} of ${trials}`,
  );
}

/** The probability that a standard normal variable is at most `x`. @see Marsaglia, 2004. */
export function normalCumulative(x: number): number {
  if (!(x > -8)) return Number.isNaN(x) ? NaN : 0;
  if (x > 8) return 1;
  let sum = x;
  for (let term = x, odd = 3; sum !== sum + term; odd += 2) {
    term *= x * x / odd;
    sum += term;
  }
  return 0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
}

/** The x that a standard normal variable stays below with the given probability, within -8..8. */
export function normalQuantile(probability: number): number {
  return 16 * bisect((place) => normalCumulative(16 * place - 8) >= probability) - 8;
}

/**
 * Wilson's two-sided score interval of a rate: for display; gates use exact bounds.
 *
 * @throws {RangeError} As {@linkcode clopperPearson}.
 * @see Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
 *
 * @example Usage
 * ```ts
 * import { wilson } from "./statistics.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * const { lower, upper } = wilson(8, 10);
 * assertAlmostEquals(lower, 0.4901625, 1e-7);
 * assertAlmostEquals(upper, 0.9433178, 1e-7);
 * ```
 */
export function wilson(successes: number, trials: number, confidence = 0.95): Bounds {
  assertCounts(successes, trials);
  const z = normalQuantile((1 + confidence) / 2);
  const rate = successes / trials;
  const scale = 1 + z * z / trials;
  const center = (rate + z * z / (2 * trials)) / scale;
  const half = z * Math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale;
  return {
    lower: successes === 0 ? 0 : Math.max(0, center - half),
    upper: successes === trials ? 1 : Math.min(1, center + half),
  };
}

/**
 * The standard error of the mean of clustered values, with the factor G / (G - 1) for G clusters.
 * It is not available, `null`, for fewer than two clusters.
 *
 * @example Usage
 * ```ts
 * import { clusteredStandardError } from "./statistics.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * assertAlmostEquals(clusteredStandardError([[1, 1], [0, 0]])!, 0.5, 1e-12);
 * ```
 */
export function clusteredStandardError(clusters: readonly (readonly number[])[]): number | null {
  const filled = clusters.filter((cluster) => cluster.length > 0);
  if (filled.length < 2) return null;
  const count = filled.reduce((sum, cluster) => sum + cluster.length, 0);
  const mean = filled.flat().reduce((sum, value) => sum + value, 0) / count;
  const squares = filled.reduce((sum, cluster) => {
    const excess = cluster.reduce((inner, value) => inner + value - mean, 0);
    return sum + excess * excess;
  }, 0);
  return Math.sqrt(filled.length / (filled.length - 1) * squares) / count;
}

/** The shares of the largest possible stake that the bets of {@linkcode bettingLowerBound} put up. */
const STAKES = [0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85, 0.98];

/**
 * A lower bound, one-sided at `confidence`, of the mean of independent values in [0, 1], whatever
 * their distributions: the smallest mean against which no gambler, averaged over fixed stakes, has
 * multiplied the capital by 1 / (1 - confidence). The order of the values does not matter. An upper
 * bound of x is 1 less the lower bound of 1 - x. With `copies`, any number above zero, it is the bound
 * that so many times the values would give, for planning.
 *
 * @see Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024.
 *
 * @example Usage
 * ```ts
 * import { bettingLowerBound } from "./statistics.ts";
 * import { assert } from "@std/assert";
 *
 * const bound = bettingLowerBound(new Array(100).fill(0.9), 0.95);
 * assert(bound > 0.8 && bound < 0.9);
 * ```
 */
export function bettingLowerBound(
  values: readonly number[],
  confidence: number,
  copies = 1,
): number {
  const needed = Math.log(1 / (1 - confidence)) + Math.log(STAKES.length);
  return bisect((mean) => {
    if (mean <= 0) return false;
    const capitals = STAKES.map((stake) =>
      copies * values.reduce((log, value) => log + Math.log1p(stake * (value / mean - 1)), 0)
    );
    const largest = Math.max(...capitals);
    const sum = capitals.reduce((total, log) => total + Math.exp(log - largest), 0);
    return largest + Math.log(sum) < needed;
  });
}
