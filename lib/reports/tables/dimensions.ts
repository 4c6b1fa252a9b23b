/**
 * The table of the five dimensions of tool use.
 * @module
 */

import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type Dimension, type DimensionMetrics, DIMENSIONS } from "../metrics/dimensions.ts";
import type { Report } from "../report.ts";
import { nameOf, type Table } from "./table.ts";

/** A dimension, or all of them, as reports call it. */
export function dimensionName(dimension: Dimension | "overall"): string {
  return dimension === "multi_step_planning"
    ? "multi-step planning"
    : dimension.replaceAll("_", " ");
}

/**
 * Whether the dimensions are told: where faults were put in the way of calls. Without these every report would
 * repeat, in other words, what its tables of success and failures say.
 */
export function showsDimensions(dimensions: readonly DimensionMetrics[]): boolean {
  return dimensions.some(({ missing }) => !missing.includes("error_recovery"));
}

/**
 * The five dimensions and their mean, a row for each model; where columns are dear, `brief` has a row for each
 * dimension of each model.
 */
export function dimensionTables(
  { dimensions }: Pick<Report, "dimensions">,
  brief = false,
): Table[] {
  if (!showsDimensions(dimensions)) return [];
  return [{
    id: "dimensions",
    section: "tool use",
    title: "Five dimensions of tool use",
    paper: "Pipeline",
    source: "Benchmarking Tool Use",
    note: brief ? BRIEFLY : DEFINITIONS,
    rows: brief ? tallRows(dimensions) : wideRows(dimensions),
  }];
}

const DEFINITIONS =
  "from 0 to 1, with 95% intervals over independent tasks; n: trials, or faults; tool selection: F1 of the " +
  "functions called beside those needed, 1 exactly when they are the same; argument correctness: share of a " +
  "trial's calls to functions that there are whose arguments are right; result interpretation: the answer is " +
  "right, and was really returned, of trials in which it was to be had; multi-step planning: solved, of tasks " +
  "that need two calls or more; these four of unperturbed trials on generated tasks, and on cases whose right " +
  "calls are known; error recovery: functions that failed and ended as is right, see the recovery from " +
  "faults, without slow ones; overall: the mean of those that were measured, each weighing the same";

const BRIEFLY =
  "from 0 to 1; n: trials, or faults; overall: the mean of those that were measured; a report as HTML or " +
  "Markdown says what they are";

const NOT_MEASURED = "not measured";

function wideRows(dimensions: readonly DimensionMetrics[]): string[][] {
  return [
    ["model", ...DIMENSIONS.map(dimensionName), "overall"],
    ...dimensions.map((one) => [
      nameOf(one),
      ...one.dimensions.map((own) =>
        own.mean === null ? NOT_MEASURED : `${estimateText(own)}, n ${own.count}`
      ),
      estimateText(one.overall) + lackText(one),
    ]),
  ];
}

function tallRows(dimensions: readonly DimensionMetrics[]): string[][] {
  return [
    ["model", "dimension", "score", "95% interval", "n"],
    ...dimensions.flatMap((one) => [
      ...one.dimensions.map((own) => [
        nameOf(one),
        dimensionName(own.dimension),
        ...(own.mean === null
          ? [NOT_MEASURED, "-", "-"]
          : [scoreText(own.mean), boundsText(own), String(own.count)]),
      ]),
      [
        nameOf(one),
        `overall${lackText(one)}`,
        one.overall.mean === null ? NOT_MEASURED : scoreText(one.overall.mean),
        boundsText(one.overall),
        "",
      ],
    ]),
  ];
}

function lackText({ missing }: DimensionMetrics): string {
  return missing.length === 0 ? "" : `, of ${DIMENSIONS.length - missing.length}`;
}

type Estimated = Pick<MeanEstimate, "mean" | "interval">;

function estimateText(estimate: Estimated): string {
  if (estimate.mean === null) return NOT_MEASURED;
  const bounds = estimate.interval === null ? "" : ` (${boundsText(estimate)})`;
  return scoreText(estimate.mean) + bounds;
}

function boundsText({ interval }: Estimated): string {
  return interval === null ? "-" : `${scoreText(interval.lower)} to ${scoreText(interval.upper)}`;
}

/** A score with two digits, or more where it would pass for nothing or for all. */
export function scoreText(score: number): string {
  let decimals = 2;
  const shown = () => Number(score.toFixed(decimals));
  while (decimals < 8 && ((shown() === 1 && score < 1) || (shown() === 0 && score > 0))) {
    decimals++;
  }
  return score.toFixed(decimals);
}
