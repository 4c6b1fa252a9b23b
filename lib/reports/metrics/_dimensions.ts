/**
 * Dimensions of tool use (Pipeline, "Benchmarking Tool Use"): how well a model selects tools, fills in
 * their arguments, uses their results, chains them, and copes when they fail, each from 0 to 1.
 *
 * | dimension | mean over | of |
 * | --- | --- | --- |
 * | `tool_selection` | trials | whether the set of functions called is the set needed |
 * | `argument_correctness` | trials with calls | whether the first call has all arguments of a right call |
 * | `result_interpretation` | trials in which all results that the answer needs were returned | whether the answer is right: solved, and grounded |
 * | `multi_step_planning` | trials on tasks of depth 1 or more, and on cases of two right calls or more | whether the task was solved |
 * | `error_recovery` | functions in trials that a fault made fail | whether the fault ended in the right way: recovered or, where permission is denied for good, given up |
 *
 * These are the article's definitions, `article`, which tables and figures show. Beside them stand finer scores of
 * the first two and the mean with these: the F1 score of the two sets, and the share of all calls to existing functions
 * whose arguments are right.
 *
 * The first four are over unperturbed trials on generated tasks, and on cases whose right calls are known
 * (`dimensionsOf()` of `trials/summary.ts` defines them in full); the last one is over trials whose perturbations are all
 * faults (`recovery.ts`), without `slow` ones, from which there is nothing to recover. Trials that do not
 * count, as the infrastructure failed or the perturbation found nothing to change, are left out.
 *
 * The independent unit is the graph, or the trial of a case, as in every statistic. A trial without a fault
 * and one with it, on the same graph, are one unit. Trials of one case are independent draws, so that
 * intervals are about these cases and not about others.
 *
 * The overall score is the unweighted mean of the dimensions that have data: the article gives no formula.
 * @module
 */

import {
  estimateMean,
  type JointMean,
  jointMean,
  type MeanEstimate,
  type UnitSum,
} from "../../statistics/clustered_mean.ts";
import { byGraph, isCounted } from "../../gate/variant.ts";
import { measureEach, type Subject, unperturbed } from "./_subjects.ts";
import { sum } from "../../base/numbers.ts";
import { isFault } from "../../tools/fault.ts";
import { rightEndOf } from "../../calls/recovery.ts";
import type { Trial } from "../../trials/trial.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** The dimensions, in the order of the source. */
export const DIMENSIONS = [
  "tool_selection",
  "argument_correctness",
  "result_interpretation",
  "multi_step_planning",
  "error_recovery",
] as const;

/** One dimension of tool use. */
export type Dimension = typeof DIMENSIONS[number];

/** The score of a model in one dimension. */
export interface DimensionEstimate extends MeanEstimate {
  /** The dimension. */
  readonly dimension: Dimension;
}

/** Scores in the five dimensions. */
export interface DimensionScores {
  /** All dimensions, in order; the mean of one without data is `null`. */
  readonly dimensions: readonly DimensionEstimate[];
  /** The unweighted mean of the dimensions that have data, with its 95% interval. */
  readonly overall: JointMean;
  /** The dimensions without data, which the overall score leaves out. */
  readonly missing: readonly Dimension[];
}

/** The scores of a model with a strategy; its own have F1 scores and shares of right calls. */
export interface DimensionMetrics extends DimensionScores, Subject {
  /** The scores by the article's definitions of tool selection and argument correctness. */
  readonly article: DimensionScores;
}

/**
 * Measures the five dimensions of each model and strategy that has data in any.
 */
export function measureDimensions(
  trials: readonly (Trial | TrialSummary)[],
): DimensionMetrics[] {
  const measured = trials.map(asSummary).filter((trial) =>
    isCounted(trial) && DIMENSIONS.some((dimension) => VALUES[dimension](trial).length > 0)
  );
  return measureEach(measured, (items) => {
    const units = byGraph(items);
    return [{ ...scoresOf(units, VALUES), article: scoresOf(units, ARTICLE_VALUES) }];
  }, unperturbed);
}

function scoresOf(units: readonly (readonly TrialSummary[])[], valuesOf: Values): DimensionScores {
  const parts = DIMENSIONS.map((dimension) =>
    units.map((unit) => unitSum(unit, valuesOf[dimension]))
  );
  const dimensions = DIMENSIONS.map((dimension, index) => ({
    dimension,
    ...estimateMean(parts[index]!),
  }));
  return {
    dimensions,
    overall: jointMean(parts),
    missing: dimensions.flatMap(({ dimension, mean }) => mean === null ? [dimension] : []),
  };
}

/** Returns the sum of the values of one unit's trials. */
function unitSum(
  trials: readonly TrialSummary[],
  valuesOf: (trial: TrialSummary) => readonly number[],
): UnitSum {
  const values = trials.flatMap(valuesOf);
  return { sum: sum(values, (value) => value), count: values.length };
}

/** The values, from 0 to 1, that a trial has in each dimension: none, one, or one for each fault. */
type Values = Readonly<Record<Dimension, (trial: TrialSummary) => readonly number[]>>;

const VALUES: Values = {
  tool_selection: ({ dimensions }) => valuesOf(dimensions?.tool_selection),
  argument_correctness: ({ dimensions }) => valuesOf(dimensions?.argument_correctness),
  result_interpretation: ({ dimensions }) => valuesOf(dimensions?.result_interpretation),
  multi_step_planning: ({ dimensions }) => valuesOf(dimensions?.multi_step_planning),
  error_recovery: ({ perturbation, recoveries = [] }) =>
    // Other perturbations could make a model fail that handles the fault in the right way.
    perturbation.split("+").every(isFault)
      ? recoveries.filter(({ fault }) => fault !== "slow")
        .map(({ fault, end }) => Number(end === rightEndOf(fault)))
      : [],
};

const ARTICLE_VALUES: Values = {
  ...VALUES,
  tool_selection: ({ dimensions }) => valuesOf(dimensions?.exact_selection),
  argument_correctness: ({ dimensions }) => valuesOf(dimensions?.first_arguments),
};

function valuesOf(value: number | undefined): readonly number[] {
  return value === undefined ? [] : [value];
}
