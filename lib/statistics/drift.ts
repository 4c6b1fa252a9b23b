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
 */
export function driftStakes(nullRate: number, rate: number, drop: number): DriftStake[] {
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
  /** The sum of bets by stake. */
  readonly #sums: number[];
  /** The logarithms of what each stake gains: those of the first day, of the second, and so on. */
  readonly #gains: number[] = [];

  /** Starts without bets. */
  constructor(private readonly nullRate: number, private readonly stakes: readonly DriftStake[]) {
    this.#sums = stakes.map(() => 0);
  }

  /** The sum, each part by its weight; 0 before the first day. */
  get sum(): number {
    return this.stakes.reduce((sum, { weight }, place) => sum + weight * this.#sums[place]!, 0);
  }

  /** The number of days so far. */
  get days(): number {
    return this.#gains.length / this.stakes.length;
  }

  /**
   * The day, from 0, whose own bet is the largest now: since when the rate is most likely lower. 0 before the first
   * day.
   */
  get start(): number {
    const { length } = this.stakes;
    const capitals = this.stakes.map(({ weight }) => Math.log(weight));
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
   */
  add(values: readonly (readonly [value: number, count: number])[]): number {
    for (let place = 0; place < this.stakes.length; place++) {
      const { lambda } = this.stakes[place]!;
      let gain = 0;
      for (const [value, count] of values) {
        gain += count * Math.log1p(lambda * (this.nullRate - value));
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
 */
export function driftThreshold(days = 365, error = 0.05, models = 1): number {
  // Without the rounding error of the quotient.
  return Number((models * days / error).toPrecision(12));
}
