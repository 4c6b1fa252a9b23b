/**
 * The number of pairs an upgrade gate needs, and the margin that a number of pairs can detect.
 * @module
 */

import {
  binomialProbability,
  binomialUpperTail,
  bisect,
  bisectWhole,
  normalQuantile,
} from "./distributions.ts";
import {
  assertMargin,
  assertShare,
  assertSize,
  completeSizing,
  firstSize,
  type SizingOptions,
} from "./sample_size.ts";
import { tangoStatistic } from "./proportions.ts";

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
