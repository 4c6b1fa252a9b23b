/**
 * Forecasts of a drift canary: in how many nights it finds a drop, and how often it errs, simulated.
 * @module
 */

import type { Prng } from "@std/random";
import {
  type CanaryBets,
  canaryBets,
  type CanaryPolicy,
  completeCanary,
  tooSmall,
  YEAR,
  YEARLY_ERROR,
} from "../gate/canary.ts";
import { fork } from "../base/random.ts";
import { binomialDraw } from "../statistics/distributions.ts";
import { driftDelay, DriftSum } from "../statistics/drift.ts";
import { clopperPearson } from "../statistics/proportions.ts";

/** A canary that is planned. */
export interface CanaryDesign extends Omit<CanaryPolicy, "stopped"> {
  /** The true success rate before the drop: above 0, at most 1. */
  readonly rate: number;
  /** Trials of the reference. */
  readonly reference: number;
  /** Trials of one night: the sizes to compare, the planned one first. */
  readonly trials: readonly number[];
}

/** In how many nights a drop is found, from the night of the drop on. */
export interface CanaryDelay {
  /** Trials of one night. */
  readonly trials: number;
  /** Nights until half of the drops are found; `null` if that takes more than five years. */
  readonly median: number | null;
  /** Nights until 90% of them are. */
  readonly most: number | null;
}

/** What to expect of a canary. */
export interface CanaryForecast {
  /** The rate in a reference that shows the true one, and its lower bound. */
  readonly reference: { readonly trials: number; readonly rate: number; readonly lower: number };
  /** The lowest rate that is no drift. */
  readonly nullRate: number;
  /** The sum that raises an alarm. */
  readonly threshold: number;
  /** The rate after the drop. */
  readonly dropped: number;
  /** Trials that a single bet that knew the lower rate would take in the mean. */
  readonly singleBet: {
    /** Against the lowest rate that is no drift. */
    readonly trials: number;
    /** Against the rate of the reference, as if it were known exactly; `null` if that is 1. */
    readonly ofKnownRate: number | null;
  };
  /** In how many nights it is found, by the trials of a night, the planned number first. */
  readonly delays: readonly CanaryDelay[];
  /**
   * The share of years with a false alarm of any of the models, if they are independent: at a rate that never changed
   * since a reference was drawn, at the lowest that is no drift where a reference shows the true rate, and the bound.
   */
  readonly falseAlarms: {
    readonly unchanged: number;
    readonly atNullRate: number;
    readonly bound: number;
  };
}

/** Simulated drops for each size, and years for each rate. */
const DROPS = 1_000;
const YEARS = 2_000;
/** Nights after which a drop that is not yet found counts as never found. */
const MAX_NIGHTS = 5 * YEAR;

/**
 * Returns what to expect of a canary, simulated from a seed. Each drop has a reference of its own, which is drawn as
 * well: one that shows less than the true rate proves less, and finds a drop late. A drop begins on the first night,
 * when no bets stand yet, which makes it the hardest to find.
 *
 * @throws {InputError} If the policy is not usable.
 * @throws {RangeError} If the reference is too small to bet on the planned drop.
 */
export function canaryForecast(
  { rate, reference, trials, ...policy }: CanaryDesign,
  seed: number | string = 1,
): CanaryForecast {
  const complete = completeCanary(policy);
  const lowerOf = (solved: number) => clopperPearson(solved, reference, complete.confidence).lower;
  const lower = lowerOf(Math.round(rate * reference));
  const bets = canaryBets({ rate, lower }, complete);
  const { nullRate, threshold, needed } = bets;
  const dropped = rate - complete.drop;
  if (needed !== undefined || dropped <= 0) {
    throw new RangeError(tooSmall(rate, bets, complete));
  }
  const alarm = (purpose: string, simulation: Simulation) =>
    nightsToAlarm(simulation, fork(seed, "canary", purpose, simulation.trials).prng);
  const known = new Map<number, CanaryBets>();
  const drawBets = (prng: Prng) => {
    const solved = binomialDraw(prng(), reference, rate);
    return known.getOrInsertComputed(
      solved,
      () => canaryBets({ rate: solved / reference, lower: lowerOf(solved) }, complete),
    );
  };
  const share = (truth: number, drawBets: Simulation["drawBets"]) => {
    const simulation = { drawBets, trials: trials[0]!, truth, nights: YEAR };
    const next = alarm(`year at ${truth}`, simulation);
    let count = 0;
    for (let year = 0; year < YEARS; year++) if (next() !== Infinity) count++;
    return 1 - (1 - count / YEARS) ** complete.models;
  };
  return {
    reference: { trials: reference, rate, lower },
    nullRate,
    threshold,
    dropped,
    singleBet: {
      trials: driftDelay(nullRate, dropped, threshold),
      ofKnownRate: rate < 1 ? driftDelay(rate, dropped, threshold) : null,
    },
    delays: trials.map((each): CanaryDelay => {
      const next = alarm("drop", { drawBets, trials: each, truth: dropped, nights: MAX_NIGHTS });
      const nights = Array.from({ length: DROPS }, next).sort((one, other) => one - other);
      const quantile = (share: number) => {
        const found = nights[Math.ceil(share * DROPS) - 1]!;
        return found === Infinity ? null : found;
      };
      return { trials: each, median: quantile(0.5), most: quantile(0.9) };
    }),
    falseAlarms: {
      unchanged: share(rate, drawBets),
      atNullRate: share(nullRate, () => bets),
      bound: YEARLY_ERROR,
    },
  };
}

interface Simulation {
  /** Returns what is bet in one simulation. */
  readonly drawBets: (prng: Prng) => CanaryBets;
  /** Trials of one night, each with the same true rate. */
  readonly trials: number;
  readonly truth: number;
  /** Nights to simulate, at most. */
  readonly nights: number;
}

/** Returns a function that simulates nights until an alarm and counts them; `Infinity` if there is none. */
function nightsToAlarm(
  { drawBets, trials, truth, nights }: Simulation,
  prng: Prng,
): () => number {
  return () => {
    const { nullRate, threshold, stakes } = drawBets(prng);
    if (stakes.length === 0) return Infinity;
    const watched = new DriftSum(nullRate, stakes);
    for (let night = 1; night <= nights; night++) {
      const solved = binomialDraw(prng(), trials, truth);
      if (watched.add([[1, solved], [0, trials - solved]]) >= threshold) return night;
    }
    return Infinity;
  };
}
