/**
 * Changed cases: which cases of own tests one variant solves more or less often than another.
 * @module
 */

import type { Unit } from "./evidence.ts";
import { type Bounds, fisherExact, holm, newcombe } from "../statistics/proportions.ts";

/** The trials of two variants on one case. */
export interface ComparedCase {
  /** Its name. */
  readonly case: string;
  /** The trials of the one under test. */
  readonly candidate: Unit;
  /** Those of the one it is compared with. */
  readonly baseline: Unit;
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
