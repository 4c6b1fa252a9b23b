/**
 * Dimensions of tool use (Pipeline, "Benchmarking Tool Use"): how well a model selects tools, fills in
 * their arguments, uses their results, chains them, and copes when they fail, each from 0 to 1.
 *
 * | dimension | mean over | of |
 * | --- | --- | --- |
 * | `tool_selection` | trials | the F1 score of the set of functions called against the set needed: 1 exactly when both are the same |
 * | `argument_correctness` | trials with calls | the share of calls to existing functions whose arguments are right |
 * | `result_interpretation` | trials in which all results that the answer needs were returned | whether the answer is right: solved, and grounded |
 * | `multi_step_planning` | trials on tasks of depth 1 or more, and on cases of two right calls or more | whether the task was solved |
 * | `error_recovery` | functions in trials that a fault made fail | whether the fault ended in the right way: recovered or, where permission is denied for good, given up |
 *
 * The first four are over unperturbed trials on generated tasks, and on cases whose right calls are known
 * (`trial_dimensions.ts` defines them in full); the last one is over trials whose perturbations are all
 * faults (`recovery.ts`), without `slow` ones, from which there is nothing to recover. Trials that do not
 * count, as the infrastructure failed or the perturbation found nothing to change, are left out.
 *
 * The independent unit is the graph, or the trial of a case, as in every statistic. A trial without a fault
 * and one with it, on the same graph, are one unit. Trials of one case are independent draws, so that
 * intervals are about these cases and not about others.
 *
 * The overall score is the unweighted mean of the dimensions that have data.
 * @module
 */

import {
  estimateMean,
  type JointMean,
  jointMean,
  type MeanEstimate,
  type UnitSum,
} from "../../statistics/clustered_mean.ts";
import { byGraph, byVariant, isCounted, type Variant, variantOf } from "../../gate/variant.ts";
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

/** The scores of a model with a strategy. */
export interface DimensionMetrics {
  /** The model and the strategy, unperturbed. */
  readonly subject: Variant;
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  /** All dimensions, in order; the mean of one without data is `null`. */
  readonly dimensions: readonly DimensionEstimate[];
  /** The unweighted mean of the dimensions that have data, with its 95% interval. */
  readonly overall: JointMean;
  /** The dimensions without data, which the overall score leaves out. */
  readonly missing: readonly Dimension[];
}

/**
 * Measures the five dimensions of each model and strategy that has data in any.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { measureDimensions } from "@toolgate/toolgate/reports";
 * import { runTrial } from "@toolgate/toolgate/trials";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trial = await runTrial(task, scripted("shrug", () => ({ text: "I cannot tell." })));
 * const [metrics] = measureDimensions([trial]);
 * assertEquals(metrics!.dimensions[0]!.mean, 0);
 * assertEquals(metrics!.missing, [
 *   "argument_correctness",
 *   "result_interpretation",
 *   "error_recovery",
 * ]);
 * ```
 */
export function measureDimensions(
  trials: readonly (Trial | TrialSummary)[],
): DimensionMetrics[] {
  const measured = trials.map(asSummary).filter((trial) =>
    isCounted(trial) && DIMENSIONS.some((dimension) => VALUES[dimension](trial).length > 0)
  );
  const groups = byVariant(
    measured,
    (trial) => ({ ...variantOf(trial), perturbation: "none" }),
  );
  return groups.map(({ subject, items }) => {
    const units = byGraph(items);
    const parts = DIMENSIONS.map((dimension) => units.map((unit) => unitSum(unit, dimension)));
    const dimensions = DIMENSIONS.map((dimension, index) => ({
      dimension,
      ...estimateMean(parts[index]!),
    }));
    return {
      subject,
      simulated: items.some(({ model }) => model.simulated),
      dimensions,
      overall: jointMean(parts),
      missing: dimensions.flatMap(({ dimension, mean }) => mean === null ? [dimension] : []),
    };
  });
}

/** Returns the sum of one unit's trials in a dimension. */
function unitSum(trials: readonly TrialSummary[], dimension: Dimension): UnitSum {
  const values = trials.flatMap(VALUES[dimension]);
  return { sum: sum(values, (value) => value), count: values.length };
}

/** The values, from 0 to 1, that a trial has in each dimension: none, one, or one for each fault. */
const VALUES: Readonly<Record<Dimension, (trial: TrialSummary) => readonly number[]>> = {
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

function valuesOf(value: number | undefined): readonly number[] {
  return value === undefined ? [] : [value];
}
