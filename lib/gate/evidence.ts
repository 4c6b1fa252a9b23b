/**
 * Evidence: what graphs show of a success rate or of a difference, and bounds of the true one.
 * @module
 */

import type { CompletePolicy } from "./policy.ts";
import { type Sample, stakesOf } from "./sequential.ts";
import { bettingLowerBound } from "../statistics/betting_bound.ts";
import { type Bounds, clopperPearson, mcNemar, tango } from "../statistics/proportions.ts";
import type { ScoredTrial } from "./variant.ts";

/** The independent unit: one graph with all trials of one model on it. */
export interface Unit {
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials that ended, and not as `invalid`. */
  readonly valid: number;
  /** Planned trials: valid, invalid and missing ones. */
  readonly trials: number;
}

/** The independent unit of a comparison: one graph on which two models worked. */
export interface Pair {
  /** The trials of the model that is to be used. */
  readonly candidate: Unit;
  /** The trials of the model that it is compared with. */
  readonly baseline: Unit;
}

/** How bounds were found: exactly; by the score; by bets on graphs, whenever one stops; at each look. */
export type Method = "clopper-pearson" | "tango" | "betting" | "sequential";

/** The numbers under a verdict on a success rate. The bounds are of the true rate. */
export interface RateEvidence extends Bounds {
  /** What the numbers are of. */
  readonly of: "rate";
  /** Graphs that the verdict rests on. */
  readonly graphs: number;
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials that are no `invalid` ones. */
  readonly valid: number;
  /** Trials on these graphs that are invalid or missing. */
  readonly unknown: number;
  /** The share of valid trials that were solved. */
  readonly rate: number;
  /** How the bounds were found. */
  readonly method: Method;
}

/** What graphs show of a difference: the candidate's success rate less the baseline's. */
export interface PairedDifference {
  /** The candidate's success rate on the graphs with a valid trial of both; each counts the same. */
  readonly candidate: number;
  /** The baseline's. */
  readonly baseline: number;
  /** The candidate's less the baseline's. */
  readonly difference: number;
  /** Graphs that the candidate solved more often. */
  readonly gained: number;
  /** Graphs that the baseline solved more often. */
  readonly lost: number;
  /**
   * Exact two-sided p-values of "there is no difference at all"; `null` where graphs were repeated.
   * They do not decide: they know of no margin.
   */
  readonly mcNemar: { readonly exact: number; readonly midP: number } | null;
}

/** The numbers under a verdict on a difference. The bounds are of the true difference. */
export interface DifferenceEvidence extends Bounds, PairedDifference {
  /** What the numbers are of. */
  readonly of: "difference";
  /** Graphs that the verdict rests on. */
  readonly graphs: number;
  /** Trials of both that are no `invalid` ones. */
  readonly valid: number;
  /** Trials of both on these graphs that are invalid or missing. */
  readonly unknown: number;
  /** How the bounds were found. */
  readonly method: Method;
}

/** The numbers under a verdict. */
export type Evidence = RateEvidence | DifferenceEvidence;

/** What the two gates do not share. */
export interface Measure<T> {
  /** The smallest value of a unit; the largest is 1. */
  readonly least: 0 | -1;
  sample(unit: T): Sample;
  /** The trials of a unit: all that were to be run, valid ones, and those of one model. */
  trials(unit: T): { planned: number; valid: number; each: number };
  /** Whether each model has one trial on the graph. */
  single(unit: T): boolean;
  /** Bounds for graphs that are run once, as if there were `copies` times as many of the same. */
  exact(samples: readonly Sample[], confidence: number, copies: number): Bounds;
  readonly exactly: Method;
  describe(units: readonly T[], bounds: Bounds, method: Method): Evidence;
}

/** Success rates: graphs of one model. */
export const RATES: Measure<Unit> = {
  least: 0,
  sample: unitSample,
  trials: ({ trials, valid }) => ({ planned: trials, valid, each: trials }),
  single: ({ trials }) => trials === 1,
  exact(samples, confidence, copies) {
    const grown = Math.round(copies * samples.length);
    const bound = (valueOf: (sample: Sample) => number) =>
      clopperPearson(Math.round(copies * sum(samples, valueOf)), grown, confidence);
    return { lower: bound(({ worst }) => worst).lower, upper: bound(({ best }) => best).upper };
  },
  exactly: "clopper-pearson",
  describe(units, bounds, method) {
    const solved = sum(units, (unit) => unit.solved);
    const valid = sum(units, (unit) => unit.valid);
    const unknown = sum(units, ({ trials }) => trials) - valid;
    const rate = solved / valid;
    return { of: "rate", graphs: units.length, solved, valid, unknown, rate, ...bounds, method };
  },
};

/** Differences of success rates: graphs of two models. */
export const DIFFERENCES: Measure<Pair> = {
  least: -1,
  sample: pairSample,
  trials: ({ candidate, baseline }) => ({
    planned: candidate.trials + baseline.trials,
    valid: candidate.valid + baseline.valid,
    each: candidate.trials,
  }),
  single: ({ candidate, baseline }) => candidate.trials === 1 && baseline.trials === 1,
  exact(samples, confidence, copies) {
    const grown = Math.round(copies * samples.length);
    const bound = (valueOf: (sample: Sample) => number) => {
      const count = (value: number) =>
        Math.round(copies * samples.filter((sample) => valueOf(sample) === value).length);
      const gained = count(1);
      // Two halves may have been rounded up to one pair too many.
      return tango(gained, Math.min(count(-1), grown - gained), grown, confidence);
    };
    return { lower: bound(({ worst }) => worst).lower, upper: bound(({ best }) => best).upper };
  },
  exactly: "tango",
  describe(pairs, bounds, method) {
    const trials = pairs.map(DIFFERENCES.trials);
    const valid = sum(trials, (pair) => pair.valid);
    return {
      of: "difference",
      graphs: pairs.length,
      ...pairedDifference(pairs),
      valid,
      unknown: sum(trials, (pair) => pair.planned) - valid,
      ...bounds,
      method,
    };
  },
};

/** What pairs show, each graph counting the same; not numbers where none has a valid trial of both. */
export function pairedDifference(pairs: readonly Pair[]): PairedDifference {
  const seen = pairs.filter(({ candidate, baseline }) => candidate.valid > 0 && baseline.valid > 0);
  const differences = seen.map(differenceOf);
  const gained = differences.filter((difference) => difference > 0).length;
  const lost = differences.filter((difference) => difference < 0).length;
  const mean = (valueOf: (pair: Pair) => number) => sum(seen, valueOf) / seen.length;
  return {
    candidate: mean(({ candidate }) => share(candidate)),
    baseline: mean(({ baseline }) => share(baseline)),
    difference: mean(differenceOf),
    gained,
    lost,
    mcNemar: pairs.every(DIFFERENCES.single) ? mcNemar(gained, lost) : null,
  };
}

/** The share of a graph's valid trials that the candidate solved, less that of the baseline. */
export function differenceOf({ candidate, baseline }: Pair): number {
  return share(candidate) - share(baseline);
}

function share({ solved, valid }: Unit): number {
  return solved / valid;
}

/** The share of a graph's trials that is solved, if what is unknown were all failed, or all solved. */
export function unitSample({ solved, valid, trials }: Unit): Sample {
  return { worst: solved / trials, best: (solved + trials - valid) / trials };
}

/** The difference of those shares, candidate less baseline, at its worst and at its best. */
export function pairSample({ candidate, baseline }: Pair): Sample {
  const [own, other] = [unitSample(candidate), unitSample(baseline)];
  return { worst: own.worst - other.best, best: own.best - other.worst };
}

/** Bounds of a gate of fixed size, as if there were `copies` times as many units of the same. */
export function bound<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  stopped: boolean,
  copies = 1,
): { bounds: Bounds; method: Method } {
  const samples = units.map(measure.sample);
  const { confidence } = policy;
  if (!stopped && units.every(measure.single)) {
    return { bounds: measure.exact(samples, confidence, copies), method: measure.exactly };
  }
  const { least } = measure;
  const range = 1 - least;
  const stakes = stakesOf(policy);
  // Values are brought to 0..1, and stakes to shares of the largest one, which could lose everything.
  const lowest = (values: readonly number[], stake: number) =>
    bettingLowerBound(values, confidence, {
      copies,
      ...(stake > 0 ? { stake: (mean) => Math.min(0.98, range * stake * mean) } : {}),
    });
  const worst = samples.map((sample) => (sample.worst - least) / range);
  const best = samples.map((sample) => (1 - sample.best) / range);
  return {
    bounds: {
      lower: least + range * lowest(worst, stakes.pass),
      upper: 1 - range * lowest(best, -stakes.fail),
    },
    method: "betting",
  };
}

/**
 * Bounds of the share that units show, one-sided at the policy's confidence; with `anytime` they hold
 * whenever one stops.
 */
export function rateBounds(
  units: readonly Unit[],
  policy: CompletePolicy,
  anytime: boolean,
): Bounds {
  return bound(units, RATES, policy, anytime).bounds;
}

/** The difference that pairs show, each graph counting the same, and bounds as {@linkcode rateBounds}. */
export function differenceBounds(
  pairs: readonly Pair[],
  policy: CompletePolicy,
  anytime: boolean,
): Bounds & { readonly difference: number } {
  const { bounds } = bound(pairs, DIFFERENCES, policy, anytime);
  return { ...bounds, difference: pairedDifference(pairs).difference };
}

/** What was seen of what is judged; not a number where no graph has a valid trial of both. */
export function rateOf(evidence: Evidence): number {
  return evidence.of === "rate" ? evidence.rate : evidence.difference;
}

/** The sum of a number of each item. */
export function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

/**
 * How the trials of one graph went, of which so many were planned; `counts` tells which count as solved.
 */
export function unitOf<T extends Pick<ScoredTrial, "outcome" | "solved">>(
  trials: readonly T[],
  planned: number = trials.length,
  counts: (trial: T) => boolean = ({ solved }) => solved,
): Unit {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  return { solved: valid.filter(counts).length, valid: valid.length, trials: planned };
}
