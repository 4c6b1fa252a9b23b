/**
 * Dimensions table: the five dimensions of tool use.
 * @module
 */

import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type Dimension, type DimensionMetrics, DIMENSIONS } from "../metrics/dimensions.ts";
import type { Report } from "../report.ts";
import { boundsText, layOut, MODEL, NOTHING, type Table } from "./table.ts";

/** Returns the name of a dimension, or of the overall score, in reports. */
export function dimensionName(dimension: Dimension | "overall"): string {
  return dimension === "multi_step_planning"
    ? "multi-step planning"
    : dimension.replaceAll("_", " ");
}

/**
 * Whether to show the dimensions: only where faults were injected. Without faults they would repeat the
 * tables of success and failures.
 */
export function showsDimensions(dimensions: readonly DimensionMetrics[]): boolean {
  return dimensions.some(({ missing }) => !missing.includes("error_recovery"));
}

/**
 * Returns the table of the five dimensions and their mean, a row for each model. `brief`, for narrow views, has
 * a row for each dimension of each model.
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
    note: brief ? BRIEF_NOTE : DEFINITIONS,
    rows: brief ? tallRows(dimensions) : wideRows(dimensions),
  }];
}

const DEFINITIONS =
  "from 0 to 1, with 95% intervals over independent tasks; n: trials, or faults; tool selection: F1 of the " +
  "functions called against those needed, 1 exactly when they are the same; argument correctness: share of a " +
  "trial's calls to existing functions whose arguments are right; result interpretation: the answer is right " +
  "and follows from results, over trials in which all results that it needs were returned; multi-step " +
  "planning: solved, over tasks that need two calls or more; these four over unperturbed trials on generated " +
  "tasks, and on cases whose right calls are known; error recovery: share of faults, without slow ones, that " +
  "ended in the right way, see the recovery from faults; overall: the unweighted mean of those measured";

const BRIEF_NOTE =
  "from 0 to 1; n: trials, or faults; overall: the mean of those measured; HTML and Markdown reports " +
  "define them";

const NOT_MEASURED = "not measured";

function wideRows(dimensions: readonly DimensionMetrics[]): Table["rows"] {
  return layOut(dimensions, [
    MODEL,
    DIMENSIONS.map((dimension, index) => ({
      head: dimensionName(dimension),
      cell: ({ dimensions }) => {
        const own = dimensions[index]!;
        return own.mean === null ? NOT_MEASURED : `${estimateText(own)}, n ${own.count}`;
      },
    })),
    { head: "overall", cell: (one) => estimateText(one.overall) + countText(one) },
  ]);
}

function tallRows(all: readonly DimensionMetrics[]): Table["rows"] {
  const rows = all.flatMap(({ dimensions, overall, ...one }) => [
    ...dimensions.map(({ dimension, count, ...own }) => ({
      ...{ ...one, ...own, name: dimensionName(dimension) },
      count: own.mean === null ? NOTHING : count,
    })),
    { ...one, ...overall, name: `overall${countText(one)}`, count: "" },
  ]);
  return layOut(rows, [
    MODEL,
    { head: "dimension", cell: ({ name }) => name },
    { head: "score", cell: ({ mean }) => mean === null ? NOT_MEASURED : scoreText(mean) },
    { head: "95% interval", cell: ({ interval }) => boundsText(interval, scoreText) },
    { head: "n", cell: ({ count }) => count },
  ]);
}

function countText({ missing }: Pick<DimensionMetrics, "missing">): string {
  return missing.length === 0 ? "" : `, of ${DIMENSIONS.length - missing.length}`;
}

function estimateText({ mean, interval }: Pick<MeanEstimate, "mean" | "interval">): string {
  if (mean === null) return NOT_MEASURED;
  return scoreText(mean) + (interval === null ? "" : ` (${boundsText(interval, scoreText)})`);
}

/** Formats a score with two digits, or more where it would round to 0 or 1. */
export function scoreText(score: number): string {
  let decimals = 2;
  const rounded = () => Number(score.toFixed(decimals));
  while (decimals < 8 && ((rounded() === 1 && score < 1) || (rounded() === 0 && score > 0))) {
    decimals++;
  }
  return score.toFixed(decimals);
}
