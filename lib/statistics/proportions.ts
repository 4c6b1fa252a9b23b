/**
 * Statistics of success rates: exact bounds, score intervals and tests.
 * @module
 */

import { binomialProbability, binomialUpperTail, bisect, normalQuantile } from "./distributions.ts";

/** A lower and an upper bound: of a rate, within 0..1, or of a difference of two, within -1..1. */
export interface Bounds {
  /** The lower bound. */
  readonly lower: number;
  /** The upper bound. */
  readonly upper: number;
}

/**
 * Returns Clopper and Pearson's exact bounds. With one side, each bound holds at `confidence`: the rate
 * lies above `lower` with at least that confidence, and below `upper` with at least that confidence. With
 * two sides, it lies between them with at least that confidence.
 *
 * @throws {RangeError} If the counts are not whole numbers with 0 <= successes <= trials, trials >= 1, if
 * the confidence is not between 0 and 1, or if `sides` is not 1 or 2.
 * @see Clopper and Pearson, "The Use of Confidence or Fiducial Limits", 1934.
 */
export function clopperPearson(
  successes: number,
  trials: number,
  confidence: number,
  sides: 1 | 2 = 1,
): Bounds {
  assertCounts("bound a rate", successes, trials);
  assertConfidence("bound a rate", confidence);
  if (sides !== 1 && sides !== 2) {
    throw new RangeError(`Cannot bound a rate as there must be 1 or 2 sides: there are ${sides}`);
  }
  const error = (1 - confidence) / sides;
  const lowerOf = (count: number) =>
    count === 0 ? 0 : bisect((rate) => binomialUpperTail(count, trials, rate) >= error);
  return { lower: lowerOf(successes), upper: 1 - lowerOf(trials - successes) };
}

/** @throws {RangeError} If the counts are not whole numbers with 0 <= successes <= trials, trials >= 1. */
export function assertCounts(action: string, successes: number, trials: number): void {
  if (isCount(successes) && isCount(trials) && trials >= 1 && successes <= trials) return;
  throw new RangeError(
    `Cannot ${action} as it needs whole numbers with 0 <= successes <= trials and trials >= 1: ` +
      `there are ${successes} of ${trials}`,
  );
}

/** @throws {RangeError} If the confidence is not between 0 and 1. */
export function assertConfidence(action: string, confidence: number): void {
  if (confidence > 0 && confidence < 1) return;
  throw new RangeError(
    `Cannot ${action} as confidence must be between 0 and 1: it is ${confidence}`,
  );
}

/** Whether a number is a valid count. */
export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/**
 * Returns Wilson's two-sided score interval of a rate: for display; gates use exact bounds.
 *
 * @throws {RangeError} As {@linkcode clopperPearson}.
 * @see Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", 1927.
 */
export function wilson(successes: number, trials: number, confidence = 0.95): Bounds {
  assertCounts("bound a rate", successes, trials);
  assertConfidence("bound a rate", confidence);
  return scoreBounds(successes / trials, trials, normalQuantile((1 + confidence) / 2));
}

/**
 * Returns Wilson's bounds around the observed `rate` of `trials` independent trials, not necessarily a whole
 * number (an effective sample size); `quantile` is the number of standard errors they reach.
 */
export function scoreBounds(rate: number, trials: number, quantile: number): Bounds {
  const z = quantile;
  const scale = 1 + z * z / trials;
  const center = (rate + z * z / (2 * trials)) / scale;
  const half = z * Math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale;
  return {
    lower: rate === 0 ? 0 : Math.max(0, center - half),
    upper: rate === 1 ? 1 : Math.min(1, center + half),
  };
}

/**
 * Returns Newcombe's two-sided interval of the difference of two rates of independent trials, the first minus
 * the second, each given as successes and trials: the hybrid of their score intervals (his method 10).
 *
 * @throws {RangeError} As {@linkcode clopperPearson}.
 * @see Newcombe, "Interval Estimation for the Difference Between Independent Proportions", 1998.
 */
export function newcombe(
  one: readonly [successes: number, trials: number],
  other: readonly [successes: number, trials: number],
  confidence = 0.95,
): Bounds & { readonly difference: number } {
  const [first, second] = [one, other].map(([successes, trials]) => ({
    ...wilson(successes, trials, confidence),
    rate: successes / trials,
  })) as [Bounds & { rate: number }, Bounds & { rate: number }];
  const difference = first.rate - second.rate;
  return {
    difference,
    lower: difference - Math.hypot(first.rate - first.lower, second.upper - second.rate),
    upper: difference + Math.hypot(first.upper - first.rate, second.rate - second.lower),
  };
}

/** Probabilities that are equal but for rounding count as equal: as in R and SciPy. */
const TIES = 1 + 1e-7;

/**
 * Returns exact two-sided p-values of "neither of two models is better" from the pairs that only one of
 * them solved: `gained` by one, `lost` to the other. `exact` is conservative; `midP`, which counts the
 * observed split by half, has an error rate closer to the nominal one.
 *
 * @throws {RangeError} If the counts are not whole numbers from 0.
 * @see McNemar, "Note on the Sampling Error of the Difference Between Correlated Proportions or
 * Percentages", 1947.
 * @see Fagerland, Lydersen and Laake, "The McNemar Test for Binary Matched-Pairs Data: Mid-p and
 * Asymptotic Are Better than Exact Conditional", 2013.
 */
export function mcNemar(
  gained: number,
  lost: number,
): { readonly exact: number; readonly midP: number } {
  if (!isCount(gained) || !isCount(lost)) {
    throw new RangeError(
      `Cannot compare pairs as counts must be whole numbers from 0: ` +
        `${gained} are gained, ${lost} are lost`,
    );
  }
  const discordant = gained + lost;
  const point = binomialProbability(gained, discordant, 0.5);
  if (gained === lost) return { exact: 1, midP: 1 - point / 2 };
  const exact = Math.min(1, 2 * binomialUpperTail(Math.max(gained, lost), discordant, 0.5));
  return { exact, midP: exact - point };
}

/**
 * Returns Tango's score statistic of pairs of trials, `gained` of which only the candidate solved and `lost`
 * only the baseline: by how many standard errors the observed difference of success rates exceeds
 * `difference`, with the standard error estimated by maximum likelihood under that difference.
 *
 * @param difference The candidate's success rate less the baseline's, -1..1.
 * @returns The statistic; infinite if a single pair contradicts a difference of -1 or 1.
 * @throws {RangeError} If the counts are not whole numbers with gained + lost <= pairs, pairs >= 1, or
 * the difference is not in -1..1.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 */
export function tangoStatistic(
  gained: number,
  lost: number,
  pairs: number,
  difference: number,
): number {
  assertPairs(gained, lost, pairs);
  if (!(difference >= -1 && difference <= 1)) {
    throw new RangeError(
      `Cannot compare pairs as difference must be from -1 to 1: it is ${difference}`,
    );
  }
  // For a difference of at least 0 nothing below cancels; the other half is its mirror image.
  return difference < 0
    ? 0 - scoreAbove(lost, gained, pairs, -difference)
    : scoreAbove(gained, lost, pairs, difference);
}

function scoreAbove(gained: number, lost: number, pairs: number, difference: number): number {
  const excess = gained - lost - pairs * difference;
  if (excess === 0) return 0;
  // The maximum likelihood estimate a of the share of lost pairs solves 2 n a^2 + linear a - constant = 0.
  const linear = (2 * pairs - gained + lost) * difference - gained - lost;
  const constant = lost * difference * (1 - difference);
  const root = Math.sqrt(linear * linear + 8 * pairs * constant);
  const share = linear > 0 ? 2 * constant / (root + linear) : (root - linear) / (4 * pairs);
  return excess / Math.sqrt(pairs * (2 * share + difference * (1 - difference)));
}

function assertPairs(gained: number, lost: number, pairs: number): void {
  if (
    isCount(gained) && isCount(lost) && isCount(pairs) && pairs >= 1 && gained + lost <= pairs
  ) return;
  throw new RangeError(
    `Cannot compare pairs as it needs whole numbers with gained + lost <= pairs and pairs >= 1: ` +
      `${gained} are gained, ${lost} are lost of ${pairs}`,
  );
}

/**
 * Returns Tango's score bounds, each one-sided at `confidence`, of the difference of two success rates
 * measured on the same tasks: `lower` reaches x exactly when {@linkcode tangoStatistic} for x reaches the
 * normal quantile of the confidence.
 *
 * @throws {RangeError} As {@linkcode tangoStatistic}, or if the confidence is not between 0 and 1.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 */
export function tango(gained: number, lost: number, pairs: number, confidence: number): Bounds {
  assertPairs(gained, lost, pairs);
  assertConfidence("bound a difference", confidence);
  const z = normalQuantile(confidence);
  const lowerOf = (up: number, down: number) =>
    2 * bisect((place) => tangoStatistic(up, down, pairs, 2 * place - 1) < z) - 1;
  return { lower: lowerOf(gained, lost), upper: -lowerOf(lost, gained) };
}

/**
 * Returns Fisher's exact two-sided p-value of "two rates are the same" from independent trials, each given as
 * successes and trials: the probability, with all successes given, of counts no likelier than these.
 *
 * @throws {RangeError} As {@linkcode clopperPearson}.
 * @see Fisher, "The Logic of Inductive Inference", 1935.
 */
export function fisherExact(
  one: readonly [successes: number, trials: number],
  other: readonly [successes: number, trials: number],
): number {
  assertCounts("compare two rates", ...one);
  assertCounts("compare two rates", ...other);
  const [[own, trials], [others, otherTrials]] = [one, other];
  const solved = own + others;
  // Counts given their sum do not depend on the rate; this one keeps all terms accurate.
  const rate = solved / (trials + otherTrials);
  const chance = (count: number) =>
    binomialProbability(count, trials, rate) *
    binomialProbability(solved - count, otherTrials, rate);
  const most = TIES * chance(own);
  let [all, extreme] = [0, 0];
  for (let count = Math.max(0, solved - otherTrials); count <= Math.min(solved, trials); count++) {
    const one = chance(count);
    all += one;
    if (one <= most) extreme += one;
  }
  return Math.min(1, extreme / all);
}

/**
 * Returns p-values adjusted for their number: those at most `error` are proved together, with one wrong among
 * them at most that often.
 *
 * @see Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
 */
export function holm(values: readonly number[]): number[] {
  const order = values.map((_, place) => place).sort((one, other) => values[one]! - values[other]!);
  const adjusted = new Array<number>(values.length);
  let largest = 0;
  for (const [rank, place] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (values.length - rank) * values[place]!));
    adjusted[place] = largest;
  }
  return adjusted;
}
