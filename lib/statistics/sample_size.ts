/**
 * The number of trials a gate needs, and the margin that a number of trials can detect.
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
import { clopperPearson, tangoStatistic } from "./proportions.ts";

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

/**
 * Returns the probability that Tango's lower bound, one-sided at `confidence`, of the difference of two
 * success rates reaches `-margin`: exactly, for `pairs` pairs of which exactly one trial is solved with
 * probability `discordance`, if the true difference is `difference`.
 *
 * @throws {RangeError} If pairs are not a whole number of at least 1, the margin is not from 0 to below 1,
 * the discordance not above 0 and at most 1, the difference not within the discordance, or the
 * confidence not between 0 and 1.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
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
 * Whether an outcome, as numbers of gained and lost pairs, belongs to an event. One gained pair more, or
 * one lost pair less, never takes an outcome out of it.
 */
type OutcomeRegion = (gained: number, lost: number) => boolean;

/** Whether Tango's lower bound reaches `-margin`. */
function reaches(pairs: number, margin: number, confidence: number): OutcomeRegion {
  const z = normalQuantile(confidence);
  return (gained, lost) => tangoStatistic(gained, lost, pairs, -margin) >= z;
}

/** Numbers of discordant pairs that are less probable than this are left out of sums. */
const NEGLIGIBLE = 1e-18;

/**
 * The probability of a region: a sum over the numbers of discordant pairs. The smallest number of gained
 * pairs and its tail are carried from each number to the next, where they move by at most one pair.
 */
function pairedChance(
  pairs: number,
  discordance: number,
  difference: number,
  isInside: OutcomeRegion,
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
 * Returns the smallest number of pairs with which Tango's test, one-sided at `confidence`, of a difference
 * of at most `-margin` keeps its error and has its power, if exactly one of the two models solves a pair
 * with probability `discordance`: a candidate that is worse by `margin` passes with probability at most
 * `1 - confidence`, and one that is as good with probability at least `power`. Both probabilities are
 * exact; a few pairs more may be too few again.
 *
 * Tango's test is approximate. With a large margin and discordance its error is a little larger than
 * nominal for any number of pairs: up to a tenth more is accepted.
 *
 * @throws {RangeError} If not 0 < margin < discordance <= 1, if confidence and power are not between 0
 * and 1 with a sum above 1, if more than 10,000,000 pairs are needed, or if the error is larger still for
 * all sizes up to four times the pairs, and 1,000 more, that any test needs.
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 */
export function pairedSampleSize(
  margin: number,
  discordance: number,
  options: SizingOptions = {},
): number {
  const { confidence, power, enough, error: nominal } = completeSizing(options);
  const error = SLACK * nominal;
  assertDiscordance(discordance);
  assertMargin(margin, "discordance", discordance);
  const chance = (pairs: number, difference: number) =>
    pairedChance(pairs, discordance, difference, reaches(pairs, margin, confidence));
  const meets = (pairs: number) => chance(pairs, 0) >= enough && chance(pairs, -margin) <= error;
  // The power of any test exceeds `weight` times its error by at most the excess for the outcomes that are
  // at least `weight` times as likely without a difference; and that excess only grows with the pairs.
  const [gain, loss] = [-Math.log1p(-margin / discordance), -Math.log1p(margin / discordance)];
  const logWeight = (normalQuantile(confidence) ** 2 - normalQuantile(power) ** 2) / 2;
  const weight = Math.exp(logWeight);
  const likelier: OutcomeRegion = (gained, lost) => gained * gain + lost * loss >= logWeight;
  const isPossible = (pairs: number) => {
    const ripple = RIPPLE / Math.sqrt(pairs * discordance);
    if (pairs > MANY_PAIRS && chance(pairs, 0) < enough - ripple) return false;
    const chanceOf = (difference: number) => pairedChance(pairs, discordance, difference, likelier);
    return weight * error + chanceOf(0) - weight * chanceOf(-margin) >= enough;
  };
  return firstSize(isPossible, meets);
}

/**
 * From this number of pairs on, sizes whose power is far too low are skipped: from one size to the next
 * power varies by less than `RIPPLE` over the root of the number of discordant pairs.
 */
const MANY_PAIRS = 20_000;
const RIPPLE = 0.1;

/** How much larger than nominal the error of an approximate test may be. */
const SLACK = 1.1;

/** The precision of margins. */
const RESOLUTION = 1e-9;

/**
 * Returns the smallest margin for which this number of pairs meets both errors, as defined by
 * {@linkcode pairedSampleSize}, to 1e-9; `null` if there is none below `discordance`.
 *
 * @throws {RangeError} If pairs are not a whole number of at least 1, the discordance is not above 0 and at
 * most 1, or if confidence and power are not between 0 and 1 with a sum above 1.
 */
export function pairedDetectableEffect(
  pairs: number,
  discordance: number,
  options: SizingOptions = {},
): number | null {
  const { confidence, enough, error: nominal } = completeSizing(options);
  const error = SLACK * nominal;
  assertSize(pairs);
  assertDiscordance(discordance);
  const chance = (margin: number, difference: number) =>
    pairedChance(pairs, discordance, difference, reaches(pairs, margin, confidence));
  const least = discordance * bisect((place) => chance(discordance * place, 0) >= enough);
  // More outcomes reach a larger margin, but each set of them becomes less probable. The error thus goes up
  // and down, but within an interval it is at least the probability, at its end, of the outcomes that reach
  // its start.
  const search = (low: number, high: number): number | null => {
    if (chance(low, -low) <= error) return low;
    if (high - low < RESOLUTION || chance(low, -high) > error) return null;
    const middle = (low + high) / 2;
    return search(low, middle) ?? search(middle, high);
  };
  return least < discordance ? search(least, discordance) : null;
}

/**
 * Returns the smallest fall of a success rate that the exact test of McNemar finds with probability `power`, if of
 * each pair exactly one trial is solved with probability `discordance` where nothing fell; `null` if it finds none.
 * The fall adds pairs to these of which only the baseline is solved.
 *
 * @param level The two-sided level of the test, such as 0.05.
 * @throws {RangeError} If pairs are not a whole number of at least 1, the discordance is not from 0 to 1, or the level or
 * the power is not between 0 and 1.
 */
export function detectableFall(
  pairs: number,
  discordance: number,
  { level, power }: { readonly level: number; readonly power: number },
): number | null {
  assertSize(pairs);
  assertShare("level", level);
  assertShare("power", power);
  if (discordance !== 0) assertDiscordance(discordance);
  if (discordance === 1) return null;
  const isMissed: OutcomeRegion = (gained, lost) =>
    lost <= gained || 2 * binomialUpperTail(lost, gained + lost, 0.5) > level;
  const isFound = (fall: number) =>
    fall > 0 && 1 - pairedChance(pairs, discordance + fall, -fall, isMissed) >= power;
  const most = 1 - discordance;
  return isFound(most) ? most * bisect((part) => isFound(most * part)) : null;
}

function assertDiscordance(discordance: number): void {
  if (discordance > 0 && discordance <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as discordance must be above 0 and at most 1: it is ${discordance}`,
  );
}
