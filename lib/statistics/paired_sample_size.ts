/**
 * How many pairs an upgrade gate needs, and what a number of pairs can tell.
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
  complete,
  firstSize,
  type SizingOptions,
} from "./sample_size.ts";
import { tangoStatistic } from "./proportions.ts";

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
 * import { pairedGatePower } from "./paired_sample_size.ts";
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
 * import { pairedSampleSize } from "./paired_sample_size.ts";
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
 * import { pairedDetectableEffect } from "./paired_sample_size.ts";
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

function assertDiscordance(discordance: number): void {
  if (discordance > 0 && discordance <= 1) return;
  throw new RangeError(
    `Cannot plan a gate as discordance must be above 0 and at most 1: it is ${discordance}`,
  );
}
