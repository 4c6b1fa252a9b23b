/**
 * Cases: what a gate claims of each case of a suite of own tests, and which of them changed.
 *
 * Cases are fixed, and trials of a case are independent draws, so that each case has a rate of its own.
 * @module
 */

import { type Pair, rateBounds, sumUnits, type Unit } from "./evidence.ts";
import type { CompletePolicy } from "./policy.ts";
import { binomialUpperTail } from "../statistics/distributions.ts";
import {
  type Bounds,
  clopperPearson,
  fisherExact,
  holm,
  newcombe,
} from "../statistics/proportions.ts";

/** One case of a variant, with the trials of it. */
export interface CaseUnits {
  /** Its name. */
  readonly case: string;
  /** Its trials, each a unit. */
  readonly units: readonly Unit[];
}

/**
 * The check of one case against `every`. Invalid trials count as failed in the lower bound of its rate, at the gate's
 * confidence, and as solved in the upper one, adjusted for the number of cases (Holm).
 */
export interface CaseCheck extends Bounds, Pick<Unit, "solved" | "valid" | "trials"> {
  /** The name of the case. */
  readonly case: string;
  /** Whether its rate is proved to reach the floor, or to be below it. */
  readonly kind: "pass" | "fail" | "undecided";
}

/**
 * Checks that each case reaches a floor. All cases must be proved to, so that their lower bounds need no adjustment: a
 * suite with a case below the floor passes no more often than that case alone would (intersection-union test). One
 * case below it is enough to fail, so that upper bounds are adjusted.
 *
 * @param anytime Whether results could end the run early, so that bounds must hold at any time.
 * @see Berger, "Multiparameter Hypothesis Testing and Acceptance Sampling", 1982.
 * @see Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979.
 */
export function checkCases(
  cases: readonly CaseUnits[],
  floor: number,
  policy: CompletePolicy,
  anytime: boolean,
): CaseCheck[] {
  const boundsAt = (units: readonly Unit[], confidence: number) =>
    rateBounds(units, { ...policy, confidence }, anytime);
  const error = 1 - policy.confidence;
  const uppers = cases.map(({ units }) => boundsAt(units, 1 - error / cases.length).upper);
  const order = uppers.map((_, place) => place).sort((one, other) => uppers[one]! - uppers[other]!);
  // Each case that is proved to be below the floor leaves fewer to adjust for; the others cannot come before it.
  let [proved, largest] = [0, 0];
  for (const place of order) {
    const { upper } = boundsAt(cases[place]!.units, 1 - error / (cases.length - proved));
    largest = Math.max(largest, upper);
    uppers[place] = largest;
    if (largest < floor) proved++;
  }
  return cases.map(({ case: name, units }, place): CaseCheck => {
    const { lower } = boundsAt(units, policy.confidence);
    return {
      case: name,
      kind: uppers[place]! < floor ? "fail" : lower >= floor ? "pass" : "undecided",
      ...sumUnits(units),
      lower,
      upper: uppers[place]!,
    };
  });
}

/** Returns what the checks say together. */
export function casesKind(checks: readonly CaseCheck[]): CaseCheck["kind"] {
  if (checks.some(({ kind }) => kind === "fail")) return "fail";
  return checks.every(({ kind }) => kind === "pass") ? "pass" : "undecided";
}

/** Returns the fewest trials of a case that prove it to reach a floor if all of them are solved. */
export function fewestClean(floor: number, confidence: number): number {
  // As a product of chances it is floor^n; the bound itself decides, so that the two never disagree.
  let trials = Math.max(1, Math.floor(Math.log(1 - confidence) / Math.log(floor)) - 1);
  while (clopperPearson(trials, trials, confidence).lower < floor) trials++;
  return trials;
}

/** Returns how many failed trials a case may have and still be proved to reach a floor; -1 if it never is. */
export function mostFailed(trials: number, floor: number, confidence: number): number {
  // Failures are as rare as the floor is high: few steps.
  let failed = -1;
  while (binomialUpperTail(trials - failed - 1, trials, floor) <= 1 - confidence) failed++;
  return failed;
}

/** The trials of two variants on one case. */
export interface ComparedCase extends Pair {
  /** Its name. */
  readonly case: string;
}

/** A case that two variants solve differently often; bounds are of the difference, two-sided. */
export interface ChangedCase extends Bounds {
  /** The name of the case. */
  readonly case: string;
  /** The share of the candidate's valid trials that were solved. */
  readonly candidate: number;
  /** The baseline's. */
  readonly baseline: number;
  /** The candidate's less the baseline's. */
  readonly difference: number;
  /**
   * The p-value of "nothing has changed", adjusted for the number of cases; `null` if none holds: see
   * {@linkcode ChangedCases.unproved}.
   */
  readonly p: number | null;
  /** Whether the change is proved, together with all others that are. */
  readonly proved: boolean;
}

/** The cases on which two variants differ. */
export interface ChangedCases {
  /** The number of cases with a valid trial of both. */
  readonly cases: number;
  /** Those whose observed rates differ, by size of change. */
  readonly changed: readonly ChangedCase[];
  /**
   * Why no results can prove a change: too few trials of a case, or a run that its results could end.
   */
  readonly unproved?: "few" | "stopped";
  /** If there are too few, the trials of a case with which a case that changed completely is proved to have. */
  readonly needed?: number;
}

/**
 * Compares two variants case by case. Trials of a case are independent draws, also of two variants, so that Fisher's
 * exact test fits each case and Newcombe's interval shows the size of its change; Holm's adjustment makes all marks
 * true together with `confidence`. An invalid trial counts as solved or as failed, whichever speaks against a change.
 *
 * @param anytime Whether results could end the run early: then no change is proved, as the tests are for a fixed size.
 */
export function changedCases(
  cases: readonly ComparedCase[],
  confidence: number,
  anytime: boolean,
): ChangedCases {
  // Also of cases without a valid trial: which trials are valid may depend on how they went.
  const values = holm(cases.map(changeValue));
  const error = 1 - confidence;
  const compared = cases.flatMap(({ case: name, candidate, baseline }, place): ChangedCase[] =>
    candidate.valid === 0 || baseline.valid === 0 ? [] : [{
      case: name,
      candidate: candidate.solved / candidate.valid,
      baseline: baseline.solved / baseline.valid,
      ...newcombe(
        [candidate.solved, candidate.valid],
        [baseline.solved, baseline.valid],
        confidence,
      ),
      p: anytime ? null : values[place]!,
      proved: !anytime && values[place]! <= error,
    }]
  );
  const least = Math.min(...cases.map(leastValue));
  const isFew = compared.length > 0 && least * cases.length > error;
  return {
    cases: compared.length,
    changed: compared.filter(({ difference }) => difference !== 0)
      .sort((one, other) => Math.abs(other.difference) - Math.abs(one.difference)),
    ...(anytime
      ? { unproved: "stopped" as const }
      : isFew
      ? { unproved: "few" as const, needed: trialsToProve(cases.length, confidence) }
      : {}),
  };
}

/** The p-value of a case in which unknown trials ended as it speaks against a change. */
function changeValue({ candidate, baseline }: ComparedCase): number {
  const isWorse = candidate.solved * baseline.valid < baseline.solved * candidate.valid;
  const filled = ({ solved, valid, trials }: Unit, isSolved: boolean): [number, number] => [
    solved + (isSolved ? trials - valid : 0),
    trials,
  ];
  const [own, other] = [filled(candidate, isWorse), filled(baseline, !isWorse)];
  // What is unknown may turn the change around, which is then none.
  const isTurned = isWorse
    ? own[0] * other[1] >= other[0] * own[1]
    : own[0] * other[1] <= other[0] * own[1];
  return isTurned ? 1 : fisherExact(own, other);
}

/** The p-value of a case that changed completely. */
function leastValue({ candidate, baseline }: ComparedCase): number {
  return fisherExact([0, candidate.trials], [baseline.trials, baseline.trials]);
}

/** Returns how many trials a case needs, of each variant, for a complete change of one of `cases` to be proved. */
export function trialsToProve(cases: number, confidence: number): number {
  let trials = 1;
  while (cases * fisherExact([0, trials], [trials, trials]) > 1 - confidence) trials++;
  return trials;
}
