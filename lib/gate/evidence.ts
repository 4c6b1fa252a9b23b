/**
 * Evidence: observed success rates or differences on graphs, and bounds of the true ones.
 * @module
 */

import { countText, sum } from "../base/numbers.ts";
import type { CompletePolicy } from "./policy.ts";
import { type Sample, stakesOf } from "./sequential.ts";
import { bettingLowerBound } from "../statistics/betting_bound.ts";
import { type Bounds, clopperPearson, mcNemar, tango } from "../statistics/proportions.ts";
import type { Attempt, ScoredTrial } from "./variant.ts";

/** Valid trials that were not valid at the first go. */
export interface LaterAttempts {
  /** Trials that were run again in place of invalid ones; omitted without any. */
  readonly replaced?: number;
  /**
   * Other trials with a reply that was asked for again after a failure of unclear cause; omitted without any.
   */
  readonly resampled?: number;
}

/** The independent unit: one graph with all trials of one model on it. */
export interface Unit extends LaterAttempts {
  /** Valid trials that were solved. */
  readonly solved: number;
  /** Trials whose outcome is not `invalid`. */
  readonly valid: number;
  /** Planned trials: valid, invalid and missing. */
  readonly trials: number;
}

/** The independent unit of a comparison: one graph on which two models worked. */
export interface Pair {
  /** The trials of the model under test. */
  readonly candidate: Unit;
  /** The trials of the model it is compared with. */
  readonly baseline: Unit;
}

/** The method of the bounds: exact; scores; betting, valid at any stop; or valid at each look. */
export type Method =
  | "clopper-pearson"
  | "tango"
  | "miettinen-nurminen"
  | "betting"
  | "sequential";

/** The numbers under any verdict. The bounds are of the true rate or difference. */
export interface EvidenceCounts extends Bounds, LaterAttempts {
  /** Graphs on which the verdict is based; those of the candidate if the baseline ran on different ones. */
  readonly graphs: number;
  /** Trials whose outcome is not `invalid`, of both models in a comparison. */
  readonly valid: number;
  /** Trials on these graphs that are invalid or missing, likewise. */
  readonly unknown: number;
  /** The method of the bounds. */
  readonly method: Method;
}

/** The numbers under a verdict on a success rate. */
export interface RateEvidence extends EvidenceCounts {
  /** The kind of quantity. */
  readonly of: "rate";
  /** Valid trials that were solved. */
  readonly solved: number;
  /** The share of valid trials that were solved. */
  readonly rate: number;
}

/** The observed difference: the candidate's success rate less the baseline's. */
export interface PairedDifference {
  /** The candidate's success rate on graphs with a valid trial of both, each graph weighing the same. */
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
   * Exact two-sided p-values of "there is no difference at all"; `null` if graphs were repeated. They do not
   * affect the decision, which allows some difference.
   */
  readonly mcNemar: { readonly exact: number; readonly midP: number } | null;
}

/** The numbers under a verdict on a difference. */
export interface DifferenceEvidence extends EvidenceCounts, PairedDifference {
  /** The kind of quantity. */
  readonly of: "difference";
}

/** The numbers under a verdict on a difference between different graphs of the same cells. */
export interface FreshEvidence
  extends EvidenceCounts, Pick<PairedDifference, "candidate" | "baseline" | "difference"> {
  /** The kind of quantity. */
  readonly of: "difference";
  /** Marks it as not a difference on the same graphs. Rates are means over cells, which weigh the same. */
  readonly fresh: true;
  /** Graphs of the baseline. */
  readonly baselineGraphs: number;
  /** The cells of both. */
  readonly cells: number;
}

/** The numbers under a verdict. */
export type Evidence = RateEvidence | DifferenceEvidence | FreshEvidence;

/** The parts in which the kinds of gates differ. */
export interface Measure<T> {
  /** The trials of a unit: all planned ones, valid ones, and planned ones of one model. */
  trials(unit: T): { planned: number; valid: number; each: number };
  /** The results of each model on the graph. */
  parts(unit: T): readonly Unit[];
  /** Whether each model has one trial on the graph. */
  single(unit: T): boolean;
  /** Bounds for graphs that ran once, as if the results occurred `copies` times. */
  exact(units: readonly T[], confidence: number, copies: number): Bounds;
  readonly exactly: Method;
  /** Bounds for all others, by bets. */
  bets(units: readonly T[], policy: CompletePolicy, copies: number): Bounds;
  describe(units: readonly T[], bounds: Bounds, method: Method): Evidence;
}

/** A measure whose units have one value each, so that a sequential gate can bet on them. */
export interface UnitMeasure<T> extends Measure<T> {
  /** The smallest value of a unit; the largest is 1. */
  readonly least: 0 | -1;
  sample(unit: T): Sample;
}

/**
 * Returns exact bounds for units of one trial of each model, as if their values occurred `copies` times.
 *
 * @param interval The bounds for the counts of values.
 */
function exactBounds(
  samples: readonly Sample[],
  copies: number,
  interval: (count: (value: number) => number, size: number) => Bounds,
): Bounds {
  const bound = (end: keyof Sample) =>
    interval(
      (value) => Math.round(copies * samples.filter((sample) => sample[end] === value).length),
      Math.round(copies * samples.length),
    );
  return { lower: bound("worst").lower, upper: bound("best").upper };
}

/** Success rates: graphs of one model. */
export const RATES: UnitMeasure<Unit> = {
  least: 0,
  sample: unitSample,
  trials: ({ trials, valid }) => ({ planned: trials, valid, each: trials }),
  parts: (unit) => [unit],
  single: ({ trials }) => trials === 1,
  exact: (units, confidence, copies) =>
    exactBounds(
      units.map(unitSample),
      copies,
      (count, size) => clopperPearson(count(1), size, confidence),
    ),
  exactly: "clopper-pearson",
  bets: (units, policy, copies) => bets(units, RATES, policy, copies),
  describe(units, bounds, method) {
    const solved = sum(units, (unit) => unit.solved);
    const counts = countsOf(units, RATES, bounds, method);
    return { of: "rate", solved, rate: solved / counts.valid, ...counts };
  },
};

/** Differences of success rates: graphs of two models. */
export const DIFFERENCES: UnitMeasure<Pair> = {
  least: -1,
  sample: pairSample,
  trials: ({ candidate, baseline }) => ({
    planned: candidate.trials + baseline.trials,
    valid: candidate.valid + baseline.valid,
    each: candidate.trials,
  }),
  parts: ({ candidate, baseline }) => [candidate, baseline],
  single: ({ candidate, baseline }) => candidate.trials === 1 && baseline.trials === 1,
  exact: (pairs, confidence, copies) =>
    exactBounds(pairs.map(pairSample), copies, (count, size) => {
      const gained = count(1);
      // Rounding may give one pair too many.
      return tango(gained, Math.min(count(-1), size - gained), size, confidence);
    }),
  exactly: "tango",
  bets: (pairs, policy, copies) => bets(pairs, DIFFERENCES, policy, copies),
  describe: (pairs, bounds, method) => ({
    of: "difference",
    ...pairedDifference(pairs),
    ...countsOf(pairs, DIFFERENCES, bounds, method),
  }),
};

function countsOf<T>(
  units: readonly T[],
  measure: Measure<T>,
  bounds: Bounds,
  method: Method,
): EvidenceCounts {
  const trials = units.map(measure.trials);
  const valid = sum(trials, (unit) => unit.valid);
  const unknown = sum(trials, ({ planned }) => planned) - valid;
  const later = laterAttempts(units.flatMap(measure.parts));
  return { graphs: units.length, valid, unknown, ...bounds, method, ...later };
}

/** Takes units together. */
export function sumUnits(units: readonly Unit[]): Unit {
  const total = (valueOf: (unit: Unit) => number) => sum(units, valueOf);
  return {
    solved: total(({ solved }) => solved),
    valid: total(({ valid }) => valid),
    trials: total(({ trials }) => trials),
  };
}

/** Sums up the valid trials that were not valid at the first go. */
export function laterAttempts(units: readonly LaterAttempts[]): LaterAttempts {
  return {
    replaced: sum(units, ({ replaced = 0 }) => replaced) || undefined,
    resampled: sum(units, ({ resampled = 0 }) => resampled) || undefined,
  };
}

/** Compares pairs, each graph weighing the same; rates are NaN if none has a valid trial of both. */
export function pairedDifference(pairs: readonly Pair[]): PairedDifference {
  const valid = pairs.filter(({ candidate, baseline }) =>
    candidate.valid > 0 && baseline.valid > 0
  );
  const differences = valid.map(differenceOf);
  const gained = differences.filter((difference) => difference > 0).length;
  const lost = differences.filter((difference) => difference < 0).length;
  const mean = (valueOf: (pair: Pair) => number) => sum(valid, valueOf) / valid.length;
  return {
    candidate: mean(({ candidate }) => share(candidate)),
    baseline: mean(({ baseline }) => share(baseline)),
    difference: mean(differenceOf),
    gained,
    lost,
    mcNemar: pairs.every(DIFFERENCES.single) ? mcNemar(gained, lost) : null,
  };
}

/** Returns the share of a graph's valid trials that the candidate solved, less that of the baseline. */
export function differenceOf({ candidate, baseline }: Pair): number {
  return share(candidate) - share(baseline);
}

function share({ solved, valid }: Unit): number {
  return solved / valid;
}

/** Returns the share of solved trials of a graph if all unknown ones failed, and if all were solved. */
export function unitSample({ solved, valid, trials }: Unit): Sample {
  return { worst: solved / trials, best: (solved + trials - valid) / trials };
}

/** Returns the difference of those shares, candidate less baseline, in the worst and the best case. */
export function pairSample({ candidate, baseline }: Pair): Sample {
  const [own, other] = [unitSample(candidate), unitSample(baseline)];
  return { worst: own.worst - other.best, best: own.best - other.worst };
}

/** Returns the bounds of a gate of fixed size, as if the results occurred `copies` times. */
export function bound<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  stopped: boolean,
  copies = 1,
): { bounds: Bounds; method: Method } {
  if (!stopped && units.every(measure.single)) {
    return { bounds: measure.exact(units, policy.confidence, copies), method: measure.exactly };
  }
  return { bounds: measure.bets(units, policy, copies), method: "betting" };
}

/** Bounds by bets on the value of each unit. */
function bets<T>(
  units: readonly T[],
  { least, sample: sampleOf }: UnitMeasure<T>,
  policy: CompletePolicy,
  copies: number,
): Bounds {
  const samples = units.map(sampleOf);
  const { confidence } = policy;
  const range = 1 - least;
  const stakes = stakesOf(policy);
  // Values are scaled to 0..1, and stakes to shares of the largest one, which could lose everything.
  const lowest = (values: readonly number[], stake: number) =>
    bettingLowerBound(values, confidence, {
      copies,
      ...(stake > 0 ? { stake: (mean) => Math.min(0.98, range * stake * mean) } : {}),
    });
  const worst = samples.map((sample) => (sample.worst - least) / range);
  const best = samples.map((sample) => (1 - sample.best) / range);
  return {
    lower: least + range * lowest(worst, stakes.pass),
    upper: 1 - range * lowest(best, -stakes.fail),
  };
}

/**
 * Returns bounds of the share that units show, one-sided at the policy's confidence; with `anytime` they hold
 * at any stopping time.
 */
export function rateBounds(
  units: readonly Unit[],
  policy: CompletePolicy,
  anytime: boolean,
): Bounds {
  return bound(units, RATES, policy, anytime).bounds;
}

/** Returns what units show, with bounds as {@linkcode rateBounds}. */
export function evidenceOf<T>(
  units: readonly T[],
  measure: Measure<T>,
  policy: CompletePolicy,
  anytime: boolean,
): Evidence {
  const { bounds, method } = bound(units, measure, policy, anytime);
  return measure.describe(units, bounds, method);
}

/** Returns the observed rate or difference; NaN if no graph has a valid trial of both. */
export function rateOf(evidence: Evidence): number {
  return evidence.of === "rate" ? evidence.rate : evidence.difference;
}

/**
 * Counts the trials of one graph, given the number planned; `counts` decides which count as solved, and `go` says
 * how each came to be.
 */
export function unitOf<T extends Pick<ScoredTrial, "outcome" | "solved">>(
  trials: readonly T[],
  planned: number = trials.length,
  counts: (trial: T) => boolean = ({ solved }) => solved,
  attempt: (trial: T) => Attempt = () => "first",
): Unit {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  const came = (how: Attempt) =>
    valid.filter((trial) => attempt(trial) === how).length || undefined;
  return {
    solved: valid.filter(counts).length,
    valid: valid.length,
    trials: planned,
    replaced: came("replaced"),
    resampled: came("resampled"),
  };
}

/** Trials of which some were valid at the first go. */
type CountedAttempts = LaterAttempts & Pick<Evidence, "valid" | "unknown">;

/** The valid trials that were so at the first go. */
function firstAttempts({ valid, replaced = 0, resampled = 0 }: CountedAttempts): number {
  return valid - replaced - resampled;
}

/** Whether enough trials were valid at the first go. */
export function isCovered(
  attempts: CountedAttempts,
  { coverage }: Pick<CompletePolicy, "coverage">,
): boolean {
  // Tolerates rounding errors of the product.
  return firstAttempts(attempts) >= coverage * (attempts.valid + attempts.unknown) - 1e-9;
}

/** Says that too few trials were valid at the first go; `undefined` if enough were. */
export function lackOfCoverage(
  attempts: CountedAttempts,
  policy: Pick<CompletePolicy, "coverage">,
): string | undefined {
  if (isCovered(attempts, policy)) return undefined;
  const required = `the coverage of ${Number((100 * policy.coverage).toPrecision(12))}% requires`;
  const planned = attempts.valid + attempts.unknown;
  const later = laterAttemptsText(attempts);
  return later === undefined
    ? `${attempts.valid} of ${planned} planned trials are valid, fewer than ${required}`
    : `${
      firstAttempts(attempts)
    } of ${planned} planned trials were valid at the first go, fewer than ` +
      `${required}: ${later}`;
}

/** Says how many valid trials were not so at the first go; `undefined` if all were. */
export function laterAttemptsText(
  { replaced = 0, resampled = 0 }: LaterAttempts,
): string | undefined {
  const counts = [
    replaced === 0 ? [] : `${countText(replaced, "trial")} run again in place of invalid ones`,
    resampled === 0
      ? []
      : `${
        countText(resampled, "trial")
      } with a reply asked for again after a failure of unclear cause`,
  ].flat();
  return counts.length === 0 ? undefined : counts.join(", ");
}
