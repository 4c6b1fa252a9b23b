/**
 * The number of trials a gate needs, and the margin that a number of trials can detect.
 * @module
 */

import {
  binomialLowerTail,
  binomialProbability,
  binomialUpperTail,
  bisectWhole,
  normalQuantile,
} from "./distributions.ts";
import { clopperPearson } from "./proportions.ts";

/** The errors that a gate is planned for. */
export interface SizingOptions {
  /** 1 less the probability that a model at the edge of the margin passes; default 0.95. */
  readonly confidence?: number;
  /** The probability that a model that is just good enough passes; default 0.95. */
  readonly power?: number;
}

/** The largest size to plan. */
const MAX_TRIALS = 10_000_000;

/**
 * Returns the smallest number of trials with which a gate of fixed size separates `rate` from
 * `rate - margin`: there is a count that a model at `rate - margin` reaches with probability at most
 * `1 - confidence`, and a model at `rate` with probability at least `power`. Both are exact. They go up
 * and down with the number of trials in a sawtooth: a few trials more may be too few again.
 *
 * @throws {RangeError} If not 0 < margin < rate <= 1, if confidence and power are not between 0 and 1
 * with a sum above 1, or if more than 10,000,000 trials are needed.
 * @see A'Hern, "Sample Size Tables for Exact Single-Stage Phase II Designs", 2001.
 */
export function rateSampleSize(rate: number, margin: number, options: SizingOptions = {}): number {
  const { error, enough } = completeSizing(options);
  assertMargin(margin, "rate", rate);
  const edge = rate - margin;
  const meets = (trials: number) =>
    binomialUpperTail(leastCount(trials, edge, error), trials, rate) >= enough;
  // The most powerful test is randomised at the count below, and more trials never make it worse.
  const isPossible = (trials: number) => {
    const count = leastCount(trials, edge, error);
    const left = error - binomialUpperTail(count, trials, edge);
    const lots = left / binomialProbability(count - 1, trials, edge);
    const drawn = lots * binomialProbability(count - 1, trials, rate);
    return drawn + binomialUpperTail(count, trials, rate) >= enough;
  };
  return firstSize(isPossible, meets);
}

/** The smallest count that is reached at `rate` with probability at most `error`. */
function leastCount(trials: number, rate: number, error: number): number {
  return bisectWhole(0, trials, (count) => binomialUpperTail(count, trials, rate) <= error);
}

/**
 * Returns the smallest size that meets the requirements. `isPossible` says whether any test could meet them;
 * it stays true for all larger sizes, so that smaller ones need not be tried.
 */
export function firstSize(
  isPossible: (size: number) => boolean,
  meets: (size: number) => boolean,
): number {
  let most = 1;
  while (most < MAX_TRIALS && !isPossible(most)) most = Math.min(2 * most, MAX_TRIALS);
  const first = bisectWhole(1, most, isPossible);
  if (first > MAX_TRIALS) {
    throw new RangeError(
      `Cannot plan a gate as it must need at most ${MAX_TRIALS} trials: ` +
        `margin, confidence and power ask for more`,
    );
  }
  const last = 4 * first + 1_000;
  for (let size = first; size <= last; size++) if (meets(size)) return size;
  throw new RangeError(
    `Cannot plan a gate as its test must keep its error: ` +
      `of ${first} to ${last} trials it errs more often than confidence allows`,
  );
}

/**
 * Returns the smallest margin for which a gate of this fixed size meets both errors; `null` if there is none
 * below `rate`.
 *
 * @throws {RangeError} If trials are not a whole number of at least 1, the rate is not above 0 and at most
 * 1, or confidence and power are not between 0 and 1 with a sum above 1.
 */
export function rateDetectableEffect(
  trials: number,
  rate: number,
  options: SizingOptions = {},
): number | null {
  const { confidence, enough } = completeSizing(options);
  assertSize(trials);
  if (!(rate > 0 && rate <= 1)) {
    throw new RangeError(
      `Cannot plan a gate as rate must be above 0 and at most 1: it is ${rate}`,
    );
  }
  // The largest count that a good model reaches with enough power, and the rate that it then proves.
  const count = bisectWhole(1, trials, (more) => binomialUpperTail(more, trials, rate) < enough) -
    1;
  return count === 0 ? null : rate - clopperPearson(count, trials, confidence).lower;
}

/** The rule of a gate of fixed size. */
export interface RateGate {
  /** The required success rate, above 0, at most 1. */
  readonly rate: number;
  /** How far below is still good enough: from 0 to below `rate`. */
  readonly margin: number;
  /** The confidence of each one-sided bound, between 0 and 1. */
  readonly confidence: number;
}

/** The probabilities of a gate's verdicts; they sum to 1. */
export interface GateChances {
  /** The lower bound reaches `rate - margin`. */
  readonly pass: number;
  /** It does not, and the upper bound is below `rate`. */
  readonly fail: number;
  /** Neither. */
  readonly undecided: number;
}

/**
 * Returns the probability of each verdict of a gate of fixed size for a model whose true success rate is
 * `trueRate`: exactly, with Clopper and Pearson's bounds.
 *
 * @throws {RangeError} If trials are not a whole number of at least 1, if not 0 <= margin < rate <= 1, if
 * the confidence is not between 0 and 1, or the true rate is not in 0..1.
 */
export function rateGateChances(trials: number, trueRate: number, gate: RateGate): GateChances {
  const { rate, margin, confidence } = gate;
  assertSize(trials);
  assertShare("confidence", confidence);
  if (margin !== 0 || !(rate > 0 && rate <= 1)) assertMargin(margin, "rate", rate);
  if (!(trueRate >= 0 && trueRate <= 1)) {
    throw new RangeError(
      `Cannot judge a gate as the true rate must be from 0 to 1: it is ${trueRate}`,
    );
  }
  const error = 1 - confidence;
  // A bound reaches a rate exactly when the probability of a result at least as extreme is small there.
  const passing = leastCount(trials, rate - margin, error);
  const open = bisectWhole(0, trials, (count) => binomialLowerTail(count, trials, rate) >= error);
  const pass = binomialUpperTail(passing, trials, trueRate);
  const fail = binomialLowerTail(Math.min(open, passing) - 1, trials, trueRate);
  return { pass, fail, undecided: Math.max(0, 1 - pass - fail) };
}

/**
 * Returns how many trials of each of two models show that one is at most `margin` worse than the other, if
 * both have the success rate `rate` and work on different tasks. It is the usual normal approximation,
 * (z of confidence + z of power)^2 2 rate (1 - rate) / margin^2, rounded up.
 *
 * @throws {RangeError} If not 0 < margin < 1 and 0 < rate < 1, or if confidence and power are not
 * between 0 and 1 with a sum above 1.
 * @see Blackwelder, "'Proving the Null Hypothesis' in Clinical Trials", 1982.
 * @see Chow, Shao, Wang and Lokhnygina, "Sample Size Calculations in Clinical Research", 2018,
 * section 4.2.
 */
export function unpairedSampleSize(
  rate: number,
  margin: number,
  options: SizingOptions = {},
): number {
  const spread = unpairedSpread(rate, options);
  assertShare("margin", margin);
  return Math.ceil((spread / margin) ** 2);
}

/**
 * Returns the margin that this number of trials of each of two models can detect, as defined by
 * {@linkcode unpairedSampleSize}. With few trials it may be larger than `rate`.
 *
 * @throws {RangeError} If trials are not a whole number of at least 1, the rate is not between 0 and 1, or
 * if confidence and power are not between 0 and 1 with a sum above 1.
 */
export function unpairedDetectableEffect(
  trials: number,
  rate: number,
  options: SizingOptions = {},
): number {
  assertSize(trials);
  return unpairedSpread(rate, options) / Math.sqrt(trials);
}

/** The margin that one trial of each model could detect. */
function unpairedSpread(rate: number, options: SizingOptions): number {
  const { confidence, power } = completeSizing(options);
  assertShare("rate", rate);
  return (normalQuantile(confidence) + normalQuantile(power)) * Math.sqrt(2 * rate * (1 - rate));
}

/**
 * Completes the options with their defaults, and checks them; adds the error that confidence allows, and the power less a
 * tolerance for rounding.
 */
export function completeSizing(options: SizingOptions) {
  const { confidence = 0.95, power = 0.95 } = options;
  assertShare("confidence", confidence);
  assertShare("power", power);
  if (confidence + power <= 1) {
    throw new RangeError(
      `Cannot plan a gate as confidence and power must sum to more than 1: ` +
        `confidence is ${confidence}, power is ${power}`,
    );
  }
  return { confidence, power, error: 1 - confidence, enough: power - 1e-12 };
}

/** @throws {RangeError} If it is not between 0 and 1. */
export function assertShare(name: string, value: number): void {
  if (value > 0 && value < 1) return;
  throw new RangeError(`Cannot plan a gate as ${name} must be between 0 and 1: it is ${value}`);
}

/** @throws {RangeError} If it is not a whole number of at least 1. */
export function assertSize(size: number): void {
  if (Number.isSafeInteger(size) && size >= 1) return;
  throw new RangeError(
    `Cannot plan a gate as its size must be a whole number from 1 on: it is ${size}`,
  );
}

/** @throws {RangeError} If not 0 < margin < limit <= 1. */
export function assertMargin(margin: number, name: string, limit: number): void {
  if (margin > 0 && margin < limit && limit <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as it needs 0 < margin < ${name} <= 1: ` +
      `margin is ${margin}, ${name} is ${limit}`,
  );
}
