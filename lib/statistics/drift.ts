/**
 * Detection of a drop of a success rate that is watched day after day, for as long as one likes.
 *
 * On each day a bet is started against "the rate is at least `nullRate`", and is kept up on all later days. While
 * that is so, the expected sum of all bets grows by at most 1 a day, so that it reaches A within N days with
 * probability at most N / A.
 *
 * @see Shiryaev, "On Optimum Methods in Quickest Detection Problems", 1963; Roberts, "A Comparison of Some Control
 * Chart Procedures", 1966.
 * @see Shin, Ramdas and Rinaldo, "E-detectors: A Nonparametric Framework for Sequential Change Detection", 2022; New
 * England Journal of Statistics in Data Science, 2024.
 * @module
 */

import { logSum } from "./betting_bound.ts";

/** A part of each day's bet. */
export interface DriftStake {
  /** Its share of the bet, above 0; those of all parts add up to 1. */
  readonly weight: number;
  /** How much it bets on each value: it grows by `1 + lambda (nullRate - value)`. */
  readonly lambda: number;
}

/** The drops that bets are made for, as multiples of the planned one. */
const DROPS = [0.5, 1, 2, 4];
/** The planned one has half of the weight. */
const PLANNED = 1;

/** Sums are kept below it, as JSON has no infinite numbers: so far above any threshold it makes no difference. */
const MAX_SUM = 1e300;

/**
 * Returns the stakes for drops of half, once, twice and four times `drop` below `rate`. Each is the one that grows
 * fastest if the rate is that low; drops to 0 or below, or to `nullRate` or above, are left out. `drop` itself has half
 * of the weight, the others share the rest. Without any usable one there are none: `nullRate` is then too low.
 *
 * @param nullRate The lowest rate that is no drift, between 0 and 1.
 * @param rate The rate that is dropped from, 0..1.
 * @param drop The planned drop, above 0.
 * @throws {RangeError} If one of them is out of its range.
 */
export function driftStakes(nullRate: number, rate: number, drop: number): DriftStake[] {
  assertNullRate(nullRate);
  if (!(rate >= 0 && rate <= 1 && drop > 0)) {
    throw new RangeError(
      "Cannot watch a rate as it must be from 0 to 1 and its drop above 0: " +
        `they are ${rate} and ${drop}`,
    );
  }
  const usable = DROPS.map((times) => ({ times, alternative: rate - times * drop }))
    .filter(({ alternative }) => alternative > 0 && alternative < nullRate);
  const others = usable.filter(({ times }) => times !== PLANNED).length;
  const isShared = others > 0 && others < usable.length;
  return usable.map(({ times, alternative }) => ({
    weight: isShared ? 0.5 / (times === PLANNED ? 1 : others) : 1 / usable.length,
    lambda: (nullRate - alternative) / (nullRate * (1 - nullRate)),
  }));
}

/**
 * The sum of the bets that were started on each day so far, by the recursion of Shiryaev and Roberts: a day
 * multiplies the sum of earlier bets, and one more of 1, by what each of them gains on it.
 *
 * The values of a day must be independent of each other, with a mean of at least the null rate, whatever is known of
 * earlier days: they may have rates of their own, as long as those have such a mean. How many there are must not
 * depend on the values of that day.
 */
export class DriftSum {
  readonly #nullRate: number;
  readonly #stakes: readonly DriftStake[];
  /** The sum of bets by stake. */
  readonly #sums: number[];
  /** The logarithms of what each stake gains: those of the first day, of the second, and so on. */
  readonly #gains: number[] = [];

  /**
   * Starts without bets.
   *
   * @throws {RangeError} If the null rate is not between 0 and 1, there are no stakes, their weights do not add up to 1,
   * or one could lose everything or bets on a rise.
   */
  constructor(nullRate: number, stakes: readonly DriftStake[]) {
    assertNullRate(nullRate);
    const total = stakes.reduce((sum, { weight }) => sum + weight, 0);
    if (!(Math.abs(total - 1) < 1e-9 && stakes.every(({ weight }) => weight > 0))) {
      throw new RangeError(
        `Cannot watch a rate as weights must be above 0 and add up to 1: they add up to ${total}`,
      );
    }
    const largest = 1 / (1 - nullRate);
    const odd = stakes.find(({ lambda }) => !(lambda > 0 && lambda < largest));
    if (odd !== undefined) {
      throw new RangeError(
        `Cannot watch a rate as stakes must be above 0 and below ${largest}: one is ${odd.lambda}`,
      );
    }
    this.#nullRate = nullRate;
    this.#stakes = stakes;
    this.#sums = stakes.map(() => 0);
  }

  /** The sum, each part by its weight; 0 before the first day. */
  get sum(): number {
    return this.#stakes.reduce((sum, { weight }, place) => sum + weight * this.#sums[place]!, 0);
  }

  /** The number of days so far. */
  get days(): number {
    return this.#gains.length / this.#stakes.length;
  }

  /**
   * The day, from 0, whose own bet is the largest now: since when the rate is most likely lower. 0 before the first
   * day.
   */
  get start(): number {
    const { length } = this.#stakes;
    const capitals = this.#stakes.map(({ weight }) => Math.log(weight));
    let [start, largest] = [0, -Infinity];
    for (let day = this.days - 1; day >= 0; day--) {
      for (let place = 0; place < length; place++) {
        capitals[place]! += this.#gains[day * length + place]!;
      }
      const capital = logSum(capitals);
      if (capital > largest) [start, largest] = [day, capital];
    }
    return start;
  }

  /**
   * Adds a day and returns the sum.
   *
   * @param values Its values, each from 0 to 1, with how often it occurs.
   * @throws {RangeError} If a value or a count is out of its range.
   */
  add(values: readonly (readonly [value: number, count: number])[]): number {
    for (const [value, count] of values) {
      if (value >= 0 && value <= 1 && count >= 0 && count < Infinity) continue;
      throw new RangeError(
        "Cannot watch a rate as values must be from 0 to 1 and counts from 0: " +
          `one is ${value}, ${count} times`,
      );
    }
    for (let place = 0; place < this.#stakes.length; place++) {
      const { lambda } = this.#stakes[place]!;
      let gain = 0;
      for (const [value, count] of values) {
        gain += count * Math.log1p(lambda * (this.#nullRate - value));
      }
      this.#gains.push(gain);
      this.#sums[place] = Math.min(MAX_SUM, (this.#sums[place]! + 1) * Math.exp(gain));
    }
    return this.sum;
  }
}

/**
 * Returns the sum that raises an alarm: with it, a rate that never drops does so within `days` with probability at
 * most `error`, over all of the `models` that are watched together.
 *
 * @param days Default: 365, a year.
 * @param error Default: 0.05.
 * @param models Default: 1.
 * @throws {RangeError} If days or models are no whole numbers from 1 on, or the error is not between 0 and 1.
 */
export function driftThreshold(days = 365, error = 0.05, models = 1): number {
  for (const count of [days, models]) {
    if (Number.isSafeInteger(count) && count >= 1) continue;
    throw new RangeError(
      "Cannot set a threshold as days and models must be whole numbers from 1 on: " +
        `there are ${days} and ${models}`,
    );
  }
  if (!(error > 0 && error < 1)) {
    throw new RangeError(
      `Cannot set a threshold as its error must be between 0 and 1: it is ${error}`,
    );
  }
  // Without the rounding error of the quotient.
  return Number((models * days / error).toPrecision(12));
}

function assertNullRate(nullRate: number): void {
  if (nullRate > 0 && nullRate < 1) return;
  throw new RangeError(
    `Cannot watch a rate as its null rate must be between 0 and 1: it is ${nullRate}`,
  );
}
