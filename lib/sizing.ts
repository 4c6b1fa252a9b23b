/**
 * How many trials a gate needs, and what a number of trials can tell.
 * @module
 */

import {
  binomialLowerTail,
  binomialProbability,
  binomialUpperTail,
  bisect,
  bisectWhole,
  normalQuantile,
} from "./distributions.ts";
import { clopperPearson, tangoStatistic } from "./statistics.ts";

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
 * import { rateSampleSize } from "./sizing.ts";
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
function firstSize(
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
 * import { rateDetectableEffect } from "./sizing.ts";
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
 * import { rateGateChances } from "./sizing.ts";
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
 * import { unpairedSampleSize } from "./sizing.ts";
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
 * import { unpairedDetectableEffect } from "./sizing.ts";
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

/**
 * The chance that Tango's lower bound, one-sided at `confidence`, of the difference of two success
 * rates reaches `-margin`: exactly, for so many pairs of which only one is solved with probability
 * `discordance`, when the true difference is `difference`.
 *
 * @throws {RangeError} If pairs are no whole number from 1, the margin is not from 0 to below 1, the
 * discordance not above 0 and at most 1, the difference not within the discordance, or the confidence
 * not between 0 and 1.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 *
 * @example Usage
 * ```ts
 * import { pairedGatePower } from "./sizing.ts";
 * import { assert } from "@std/assert";
 *
 * assert(pairedGatePower(875, 0.05, 0.2, 0, 0.95) >= 0.95);
 * assert(pairedGatePower(875, 0.05, 0.2, -0.05, 0.95) <= 0.05);
 * ```
 */
export function pairedGatePower(
  pairs: number,
  margin: number,
  discordance: number,
  difference: number,
  confidence: number,
): number {
  assertSize(pairs);
  assertShare("confidence", confidence);
  if (margin !== 0) assertShare("margin", margin);
  assertDiscordance(discordance);
  if (!(Math.abs(difference) <= discordance)) {
    throw new RangeError(
      `Cannot plan a gate as the difference must lie within the discordance: ` +
        `difference is ${difference}, discordance is ${discordance}`,
    );
  }
  return pairedChance(pairs, discordance, difference, reaches(pairs, margin, confidence));
}

/**
 * Whether so many gained and lost pairs are among the outcomes whose chance is asked for. One gained
 * pair more, or one lost pair less, never takes an outcome out.
 */
type Region = (gained: number, lost: number) => boolean;

/** Whether Tango's lower bound reaches `-margin`. */
function reaches(pairs: number, margin: number, confidence: number): Region {
  const z = normalQuantile(confidence);
  return (gained, lost) => tangoStatistic(gained, lost, pairs, -margin) >= z;
}

/** Numbers of discordant pairs that are less likely than this are left out of sums. */
const NEGLIGIBLE = 1e-18;

/**
 * The chance of a region: a sum over the numbers of discordant pairs. The smallest number of gained
 * pairs and its tail are carried from each number to the next, where they move by one pair at most.
 */
function pairedChance(
  pairs: number,
  discordance: number,
  difference: number,
  isInside: Region,
): number {
  const rate = (discordance + difference) / (2 * discordance);
  const weightOf = (count: number) => binomialProbability(count, pairs, discordance);
  const middle = Math.floor(pairs * discordance);
  let count = bisectWhole(0, middle, (fewer) => weightOf(fewer) >= NEGLIGIBLE);
  let gained = bisectWhole(0, count, (up) => isInside(up, count - up));
  let tail = binomialUpperTail(gained, count, rate);
  let sum = 0;
  for (;;) {
    const weight = weightOf(count);
    sum += weight * tail;
    if (count === pairs || (count > middle && weight < NEGLIGIBLE)) return Math.min(1, sum);
    tail += rate * binomialProbability(gained - 1, count, rate);
    count++;
    if (!isInside(gained, count - gained)) {
      tail -= binomialProbability(gained, count, rate);
      gained++;
    }
  }
}

/**
 * The smallest number of pairs with which Tango's test, one-sided at `confidence`, of a difference of
 * at most `-margin` keeps its error and has its power, when only one of the two models solves a pair
 * with probability `discordance`: a candidate that is worse by `margin` passes with a chance of
 * `1 - confidence` at most, and one that is as good with a chance of `power` at least. Both chances are
 * exact; a few pairs more may be too few again.
 *
 * Tango's test is an approximate one. Where margin and discordance are large it errs a little more
 * often than it says, whatever the number of pairs: a tenth more is let pass.
 *
 * @throws {RangeError} If it is not 0 < margin < discordance <= 1, if confidence and power are not
 * between 0 and 1 with a sum above 1, if more than 10,000,000 pairs are needed, or if the test errs even
 * more often than that up to four times the pairs, and 1,000 more, that any test needs.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 *
 * @example Usage
 * ```ts
 * import { pairedSampleSize } from "./sizing.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(pairedSampleSize(0.05, 0.2), 875);
 * ```
 */
export function pairedSampleSize(
  margin: number,
  discordance: number,
  options: SizingOptions = {},
): number {
  const { confidence, power, enough, error: stated } = complete(options);
  const error = SLACK * stated;
  assertDiscordance(discordance);
  assertMargin(margin, "discordance", discordance);
  const chance = (pairs: number, difference: number) =>
    pairedChance(pairs, discordance, difference, reaches(pairs, margin, confidence));
  const meets = (pairs: number) => chance(pairs, 0) >= enough && chance(pairs, -margin) <= error;
  // No test's power exceeds its error, `weight` times, by more than that of the pairs which are at
  // least `weight` times as likely without a difference; and that excess only grows with their number.
  const [gain, loss] = [-Math.log1p(-margin / discordance), -Math.log1p(margin / discordance)];
  const logWeight = (normalQuantile(confidence) ** 2 - normalQuantile(power) ** 2) / 2;
  const weight = Math.exp(logWeight);
  const likelier: Region = (gained, lost) => gained * gain + lost * loss >= logWeight;
  const isPossible = (pairs: number) => {
    const ripple = RIPPLE / Math.sqrt(pairs * discordance);
    if (pairs > MANY_PAIRS && chance(pairs, 0) < enough - ripple) return false;
    const chanceOf = (difference: number) => pairedChance(pairs, discordance, difference, likelier);
    return weight * error + chanceOf(0) - weight * chanceOf(-margin) >= enough;
  };
  return firstSize(isPossible, meets);
}

/**
 * From so many pairs on, sizes that lack power by far are not looked at one by one: from one to the next
 * it goes up and down by less than so much over the root of the discordant pairs.
 */
const MANY_PAIRS = 20_000;
const RIPPLE = 0.1;

/** How much larger than stated the error of an approximate test may be. */
const SLACK = 1.1;

/** Margins are found to this much. */
const RESOLUTION = 1e-9;

/**
 * The smallest margin for which so many pairs meet both errors, as {@linkcode pairedSampleSize} has
 * them, to 1e-9; `null` if there is none below `discordance`.
 *
 * @throws {RangeError} If pairs are no whole number from 1, the discordance is not above 0 and at most
 * 1, or if confidence and power are not between 0 and 1 with a sum above 1.
 *
 * @example Usage
 * ```ts
 * import { pairedDetectableEffect } from "./sizing.ts";
 * import { assertAlmostEquals, assertEquals } from "@std/assert";
 *
 * assertAlmostEquals(pairedDetectableEffect(875, 0.2)!, 0.05, 1e-3);
 * assertEquals(pairedDetectableEffect(3, 0.2), null);
 * ```
 */
export function pairedDetectableEffect(
  pairs: number,
  discordance: number,
  options: SizingOptions = {},
): number | null {
  const { confidence, enough, error: stated } = complete(options);
  const error = SLACK * stated;
  assertSize(pairs);
  assertDiscordance(discordance);
  const chance = (margin: number, difference: number) =>
    pairedChance(pairs, discordance, difference, reaches(pairs, margin, confidence));
  const least = discordance * bisect((place) => chance(discordance * place, 0) >= enough);
  // A larger margin is reached by more outcomes, of which each set is less likely. The error thus goes
  // up and down, but within an interval it cannot fall below the chance, at its end, of what reaches
  // its start.
  const search = (low: number, high: number): number | null => {
    if (chance(low, -low) <= error) return low;
    if (high - low < RESOLUTION || chance(low, -high) > error) return null;
    const middle = (low + high) / 2;
    return search(low, middle) ?? search(middle, high);
  };
  return least < discordance ? search(least, discordance) : null;
}

/** What a plan is made for. */
interface Aims extends Required<SizingOptions> {
  /** The error that confidence allows. */
  readonly error: number;
  /** The power, less what rounding may take from a chance that is exactly as large. */
  readonly enough: number;
}

function complete(options: SizingOptions): Aims {
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

function assertShare(name: string, value: number): void {
  if (value > 0 && value < 1) return;
  throw new RangeError(`Cannot plan a gate as ${name} must be between 0 and 1: it is ${value}`);
}

function assertSize(size: number): void {
  if (Number.isSafeInteger(size) && size >= 1) return;
  throw new RangeError(
    `Cannot plan a gate as its size must be a whole number from 1 on: it is ${size}`,
  );
}

function assertDiscordance(discordance: number): void {
  if (discordance > 0 && discordance <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as discordance must be above 0 and at most 1: it is ${discordance}`,
  );
}

function assertMargin(margin: number, name: string, limit: number): void {
  if (margin > 0 && margin < limit && limit <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as it needs 0 < margin < ${name} <= 1: ` +
      `margin is ${margin}, ${name} is ${limit}`,
  );
}
