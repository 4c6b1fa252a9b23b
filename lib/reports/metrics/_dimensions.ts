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
 * These are the article's definitions. Beside them stand finer scores of the first two and the mean with these: the F1
 * score of the two sets, and the share of all calls to existing functions whose arguments are right.
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

import { sum } from "../../base/numbers.ts";
import { rightEndOf } from "../../calls/recovery.ts";
import { byGraph, isCounted } from "../../gate/variant.ts";
import { estimateMean, jointMean } from "../../statistics/clustered_mean.ts";
import { isFault } from "../../tools/fault.ts";
import type { TrialDimensions, TrialSummary } from "../../trials/summary.ts";
import { type Metric, metric } from "../_metric.ts";
import { subjectColumns, subjectsOf, unperturbed } from "../_subjects.ts";
import { estimateFrom } from "./_tally.ts";

/** A dimension, and the values from 0 to 1 that a trial has in it: none, one, or one for each fault. */
interface Dimension {
  readonly id: string;
  readonly name: string;
  readonly valuesOf: (trial: TrialSummary) => readonly number[];
}

function dimension(id: string, name: string, key: keyof TrialDimensions): Dimension {
  return {
    ...{ id, name },
    valuesOf: ({ dimensions: { [key]: value } = {} }) => value === undefined ? [] : [value],
  };
}

/** Those that have no finer score. */
const OTHERS: readonly Dimension[] = [
  dimension("result_interpretation", "result interpretation", "result_interpretation"),
  dimension("multi_step_planning", "multi-step planning", "multi_step_planning"),
  {
    id: "error_recovery",
    name: "error recovery",
    valuesOf: ({ perturbation, recoveries = [] }) =>
      // Other perturbations could make a model fail that handles the fault in the right way.
      perturbation.split("+").every(isFault)
        ? recoveries.filter(({ fault }) => fault !== "slow")
          .map(({ fault, end }) => Number(end === rightEndOf(fault)))
        : [],
  },
];

/** The dimensions as the article defines them, in its order. */
const ARTICLE: readonly Dimension[] = [
  dimension("tool_selection", "tool selection", "exact_selection"),
  dimension("argument_correctness", "argument correctness", "first_arguments"),
  ...OTHERS,
];

/** The finer scores of the first two. */
const FINER: readonly Dimension[] = [
  dimension("selection_f1", "selection F1", "tool_selection"),
  dimension("right_arguments", "calls with right arguments", "argument_correctness"),
];

/** The scores of one model and strategy, in the rows of its table. */
function scoresOf(units: readonly (readonly TrialSummary[])[]) {
  const sums = new Map([...ARTICLE, ...FINER].map((one) => [
    one,
    units.map((unit) => {
      const values = unit.flatMap(one.valuesOf);
      return { sum: sum(values, (value) => value), count: values.length };
    }),
  ]));
  const sumsOf = (one: Dimension) => sums.get(one)!;
  const scoreOf = (one: Dimension) => {
    const estimate = estimateMean(sumsOf(one));
    return { id: one.id, name: one.name, score: estimateFrom(estimate), units: estimate.units };
  };
  const overall = (id: string, name: string, all: readonly Dimension[]) => {
    const measured = all.map(sumsOf).filter((sums) => sums.some(({ count }) => count > 0));
    const score = estimateFrom({ ...jointMean(measured), count: measured.length });
    return { id, name, score, units: null };
  };
  return [
    ...ARTICLE.map(scoreOf),
    overall("overall", "overall", ARTICLE),
    ...FINER.map(scoreOf),
    overall("overall_finer", "overall with these", [...FINER, ...OTHERS]),
  ];
}

/** The dimensions of each model and strategy that has data in any. */
const DIMENSIONS = metric(({ trials }) => {
  const measured = trials.filter((trial) =>
    isCounted(trial) &&
    [...ARTICLE, ...FINER].some(({ valuesOf }) => valuesOf(trial).length > 0)
  );
  return subjectsOf(measured, unperturbed).flatMap(({ trials: own, ...one }) =>
    scoresOf(byGraph(own)).map((score) => ({ ...one, ...score }))
  );
}, {
  id: "dimensions",
  section: "tool use",
  title: "Five dimensions of tool use",
  paper: "Pipeline",
  source: "Benchmarking Tool Use",
  note:
    "n: trials, or faults; of a mean the dimensions that were measured; overall: the mean of those above it; overall " +
    "with these: with the two above it in place of the first two",
  // Without faults they would repeat the tables of success and failures.
  shown: (rows) => rows.some(({ id, score }) => id === "error_recovery" && score.value !== null),
  columns: (_, report) => [
    subjectColumns(report),
    { head: "dimension", unit: "name", value: ({ name }) => name },
    { id: "dimension", unit: "name", value: ({ id }) => id, shown: false },
    {
      ...{ id: "score", unit: "score", value: ({ score }) => score, drawn: () => ({}) },
      text: ({ score }) => score.value === null ? "not measured" : undefined,
    },
    { head: "n", unit: "count", value: ({ score }) => score.of },
    { id: "units", unit: "count", value: ({ units }) => units, shown: false },
  ],
});

/** The metrics of the dimensions of tool use. */
export const DIMENSIONS_OF_USE: readonly Metric[] = [DIMENSIONS];
