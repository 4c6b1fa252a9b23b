/**
 * Forecasts of a drift canary: in how many nights it finds a drop, and how often it errs, simulated.
 * @module
 */

import {
  canaryBets,
  type CanaryPolicy,
  completeCanary,
  tooSmall,
  YEAR,
  YEARLY_ERROR,
} from "../gate/canary.ts";
import { fork } from "../base/random.ts";
import { binomialDraws } from "../statistics/distributions.ts";
import { driftDelay, type DriftStake, DriftSum } from "../statistics/drift.ts";
import { clopperPearson } from "../statistics/proportions.ts";

/** A canary that is planned. */
export interface CanaryDesign extends CanaryPolicy {
  /** The success rate in the reference, and the true one before the drop: above 0, at most 1. */
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
  /** Nights until half of the alarms; `null` if that takes more than five years. */
  readonly median: number | null;
  /** Nights until 90% of the alarms. */
  readonly most: number | null;
}

/** What to expect of a canary. */
export interface CanaryForecast {
  /** The rate in the reference, and its lower bound. */
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
   * The share of years with a false alarm of any of the models, if they are independent: at the rate of the reference,
   * at the lowest that is no drift, and the bound.
   */
  readonly falseAlarms: {
    readonly atReference: number;
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
 * Returns what to expect of a canary, simulated from a seed. A drop is simulated to begin on the first night, when no
 * bets stand yet, which makes it the hardest to find.
 *
 * @throws {InputError} If the policy is not usable.
 * @throws {RangeError} If the reference is too small to bet on the planned drop.
 */
export function canaryForecast(
  { rate, reference, trials, ...policy }: CanaryDesign,
  seed: number | string = 1,
): CanaryForecast {
  const complete = completeCanary(policy);
  const { lower } = clopperPearson(Math.round(rate * reference), reference, complete.confidence);
  const bets = canaryBets({ rate, lower }, complete);
  const { nullRate, threshold, stakes, needed } = bets;
  const dropped = rate - complete.drop;
  if (needed !== undefined || dropped <= 0) {
    throw new RangeError(tooSmall(rate, bets, complete));
  }
  const alarm = (purpose: string, each: number, truth: number, nights: number) =>
    nightsToAlarm({ nullRate, threshold, stakes, trials: each, truth, nights }, seed, purpose);
  const share = (truth: number) => {
    const next = alarm(`year at ${truth}`, trials[0]!, truth, YEAR);
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
      const next = alarm("drop", each, dropped, MAX_NIGHTS);
      const nights = Array.from({ length: DROPS }, next).sort((one, other) => one - other);
      const quantile = (share: number) => {
        const found = nights[Math.ceil(share * DROPS) - 1]!;
        return found === Infinity ? null : found;
      };
      return { trials: each, median: quantile(0.5), most: quantile(0.9) };
    }),
    falseAlarms: {
      atReference: share(rate),
      atNullRate: share(nullRate),
      bound: YEARLY_ERROR,
    },
  };
}

interface Simulation {
  readonly nullRate: number;
  readonly threshold: number;
  readonly stakes: readonly DriftStake[];
  /** Trials of one night, each with the same true rate. */
  readonly trials: number;
  readonly truth: number;
  /** Nights to simulate, at most. */
  readonly nights: number;
}

/** Returns a function that simulates nights until an alarm and counts them; `Infinity` if there is none. */
function nightsToAlarm(
  { nullRate, threshold, stakes, trials, truth, nights }: Simulation,
  seed: number | string,
  purpose: string,
): () => number {
  const { prng } = fork(seed, "canary", purpose, trials);
  const draw = binomialDraws(trials, truth);
  return () => {
    const watched = new DriftSum(nullRate, stakes);
    for (let night = 1; night <= nights; night++) {
      const solved = draw(prng);
      if (watched.add([[1, solved], [0, trials - solved]]) >= threshold) return night;
    }
    return Infinity;
  };
}
