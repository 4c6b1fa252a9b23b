/**
 * How many trials a gate needs, and what a number of trials can tell.
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
  /** 1 less the chance with which a model at the edge of the margin may pass; default 0.95. */
  readonly confidence?: number;
  /** The chance with which a model that is just good enough is to pass; default 0.95. */
  readonly power?: number;
}

/** The largest size that is planned. */
const MOST_TRIALS = 10_000_000;

/**
 * The smallest number of trials with which a gate of fixed size holds `rate` and `rate - margin`
 * apart: there is a count that a model at `rate - margin` reaches with a chance of `1 - confidence` at
 * most, and a model at `rate` with a chance of `power` at least. Both chances are exact. They go up
 * and down with the number of trials like the teeth of a saw: a few trials more may be too few again.
 *
 * @throws {RangeError} If it is not 0 < margin < rate <= 1, if confidence and power are not between 0
 * and 1 with a sum above 1, or if more than 10,000,000 trials are needed.
 * @see A'Hern, "Sample Size Tables for Exact Single-Stage Phase II Designs", 2001.
 *
 * @example Usage
 * ```ts
 * import { rateSampleSize } from "./sample_size.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(rateSampleSize(0.7, 0.05), 960);
 * assertEquals(rateSampleSize(0.7, 0.1, { confidence: 0.9, power: 0.8 }), 105);
 * ```
 */
export function rateSampleSize(rate: number, margin: number, options: SizingOptions = {}): number {
  const { error, enough } = complete(options);
  assertMargin(margin, "rate", rate);
  const edge = rate - margin;
  const meets = (trials: number) =>
    binomialUpperTail(leastCount(trials, edge, error), trials, rate) >= enough;
  // The most powerful test of all draws lots at the count below, and more trials never harm it.
  const isPossible = (trials: number) => {
    const count = leastCount(trials, edge, error);
    const left = error - binomialUpperTail(count, trials, edge);
    const lots = left / binomialProbability(count - 1, trials, edge);
    const won = lots * binomialProbability(count - 1, trials, rate);
    return won + binomialUpperTail(count, trials, rate) >= enough;
  };
  return firstSize(isPossible, meets);
}

/** The smallest count that is reached at `rate` with a chance of `error` at most. */
function leastCount(trials: number, rate: number, error: number): number {
  return bisectWhole(0, trials, (count) => binomialUpperTail(count, trials, rate) <= error);
}

/**
 * The smallest size that meets what is asked for. Once it is possible for any test to meet it, it is
 * possible for all larger sizes, so that nothing before has to be looked at.
 */
export function firstSize(
  isPossible: (size: number) => boolean,
  meets: (size: number) => boolean,
): number {
  let most = 1;
  while (most < MOST_TRIALS && !isPossible(most)) most = Math.min(2 * most, MOST_TRIALS);
  const first = bisectWhole(1, most, isPossible);
  if (first > MOST_TRIALS) {
    throw new RangeError(
      `Cannot plan a gate as it must need at most ${MOST_TRIALS} trials: ` +
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
 * The smallest margin for which a gate of fixed size with so many trials meets both errors; `null` if
 * there is none below `rate`.
 *
 * @throws {RangeError} If trials are no whole number from 1, the rate is not above 0 and at most 1, or
 * confidence and power are not between 0 and 1 with a sum above 1.
 *
 * @example Usage
 * ```ts
 * import { rateDetectableEffect } from "./sample_size.ts";
 * import { assertAlmostEquals, assertEquals } from "@std/assert";
 *
 * assertAlmostEquals(rateDetectableEffect(960, 0.7)!, 0.0497018, 1e-7);
 * assertEquals(rateDetectableEffect(2, 0.7), null);
 * ```
 */
export function rateDetectableEffect(
  trials: number,
  rate: number,
  options: SizingOptions = {},
): number | null {
  const { confidence, enough } = complete(options);
  assertSize(trials);
  if (!(rate > 0 && rate <= 1)) {
    throw new RangeError(
      `Cannot plan a gate as rate must be above 0 and at most 1: it is ${rate}`,
    );
  }
  // The largest count that a good model reaches often enough, and the rate that it then proves.
  const count = bisectWhole(1, trials, (more) => binomialUpperTail(more, trials, rate) < enough) -
    1;
  return count === 0 ? null : rate - clopperPearson(count, trials, confidence).lower;
}

/** What a gate of fixed size asks for. */
export interface RateGate {
  /** The success rate that is wanted, above 0, at most 1. */
  readonly rate: number;
  /** How far below is still good enough: from 0 to below `rate`. */
  readonly margin: number;
  /** The confidence of each one-sided bound, between 0 and 1. */
  readonly confidence: number;
}

/** The chances of a gate's verdicts; they sum to 1. */
export interface GateChances {
  /** The lower bound reaches `rate - margin`. */
  readonly pass: number;
  /** It does not, and the upper bound is below `rate`. */
  readonly fail: number;
  /** Neither. */
  readonly undecided: number;
}

/**
 * How a gate of fixed size ends for a model whose true success rate is `trueRate`: exactly, with
 * Clopper and Pearson's bounds.
 *
 * @throws {RangeError} If trials are no whole number from 1, if it is not 0 <= margin < rate <= 1, if
 * the confidence is not between 0 and 1, or the true rate is not in 0..1.
 *
 * @example Usage
 * ```ts
 * import { rateGateChances } from "./sample_size.ts";
 * import { assert } from "@std/assert";
 *
 * const gate = { rate: 0.7, margin: 0.05, confidence: 0.95 };
 * assert(rateGateChances(960, 0.7, gate).pass >= 0.95);
 * assert(rateGateChances(960, 0.65, gate).pass <= 0.05);
 * assert(rateGateChances(960, 0.65, gate).fail >= 0.9);
 * ```
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
  // A bound reaches a rate exactly when the chance of what was seen, or more, is small at that rate.
  const passing = leastCount(trials, rate - margin, error);
  const open = bisectWhole(0, trials, (count) => binomialLowerTail(count, trials, rate) >= error);
  const pass = binomialUpperTail(passing, trials, trueRate);
  const fail = binomialLowerTail(Math.min(open, passing) - 1, trials, trueRate);
  return { pass, fail, undecided: Math.max(0, 1 - pass - fail) };
}

/**
 * How many trials of each of two models show that the one is at most `margin` worse than the other,
 * when both have the success rate `rate` and each works on tasks of its own. It is the usual normal
 * approximation, (z of confidence + z of power)^2 2 rate (1 - rate) / margin^2, rounded up.
 *
 * @throws {RangeError} If it is not 0 < margin < 1 and 0 < rate < 1, or if confidence and power are
 * not between 0 and 1 with a sum above 1.
 * @see Blackwelder, "'Proving the Null Hypothesis' in Clinical Trials", 1982.
 * @see Chow, Shao, Wang and Lokhnygina, "Sample Size Calculations in Clinical Research", 2018,
 * section 4.2.
 *
 * @example Usage
 * ```ts
 * import { unpairedSampleSize } from "./sample_size.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(unpairedSampleSize(0.7, 0.05), 1_819);
 * ```
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
 * The margin for which so many trials of each of two models are just enough, as
 * {@linkcode unpairedSampleSize} has it. It may be larger than `rate` where there are few.
 *
 * @throws {RangeError} If trials are no whole number from 1, the rate is not between 0 and 1, or if
 * confidence and power are not between 0 and 1 with a sum above 1.
 *
 * @example Usage
 * ```ts
 * import { unpairedDetectableEffect } from "./sample_size.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * assertAlmostEquals(unpairedDetectableEffect(1_819, 0.7), 0.05, 1e-4);
 * ```
 */
export function unpairedDetectableEffect(
  trials: number,
  rate: number,
  options: SizingOptions = {},
): number {
  assertSize(trials);
  return unpairedSpread(rate, options) / Math.sqrt(trials);
}

/** The margin that one trial of each model could show. */
function unpairedSpread(rate: number, options: SizingOptions): number {
  const { confidence, power } = complete(options);
  assertShare("rate", rate);
  return (normalQuantile(confidence) + normalQuantile(power)) * Math.sqrt(2 * rate * (1 - rate));
}

/** What a plan is made for. */
export interface Aims extends Required<SizingOptions> {
  /** The error that confidence allows. */
  readonly error: number;
  /** The power, less what rounding may take from a chance that is exactly as large. */
  readonly enough: number;
}

/** The options with their defaults, checked. */
export function complete(options: SizingOptions): Aims {
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

/** @throws {RangeError} If it is no whole number from 1 on. */
export function assertSize(size: number): void {
  if (Number.isSafeInteger(size) && size >= 1) return;
  throw new RangeError(
    `Cannot plan a gate as its size must be a whole number from 1 on: it is ${size}`,
  );
}

/** @throws {RangeError} If it is not 0 < margin < limit <= 1. */
export function assertMargin(margin: number, name: string, limit: number): void {
  if (margin > 0 && margin < limit && limit <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as it needs 0 < margin < ${name} <= 1: ` +
      `margin is ${margin}, ${name} is ${limit}`,
  );
}
