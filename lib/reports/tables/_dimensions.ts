/**
 * Dimensions table: the five dimensions of tool use.
 * @module
 */

import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import {
  type Dimension,
  type DimensionEstimate,
  type DimensionMetrics,
  DIMENSIONS,
  type DimensionScores,
} from "../metrics/dimensions.ts";
import type { Report } from "../report.ts";
import { boundsText, type Column, layOut, MODEL, NOTHING } from "./table.ts";
import type { Table } from "../_view.ts";

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
  "from 0 to 1, with 95% intervals over independent tasks; n: trials, or faults; tool selection: the functions " +
  "called are exactly those needed; argument correctness: the first call has all arguments of a right call, over " +
  "trials with calls; result interpretation: the answer is right and follows from results, over trials in which " +
  "all results that it needs were returned; multi-step planning: solved, over tasks that need two calls or more; " +
  "these four over unperturbed trials on generated tasks, and on cases whose right calls are known; error " +
  "recovery: share of faults, without slow ones, that ended in the right way, see the recovery from faults; " +
  "overall: the unweighted mean of those measured; selection F1: of the functions called against those needed; " +
  "calls with right arguments: their share of a trial's calls to existing functions; overall with these: the mean " +
  "with these two in place of tool selection and argument correctness";

const BRIEF_NOTE =
  "from 0 to 1; n: trials, or faults; overall: the mean of the five above it that were measured; overall with " +
  "these: with the two above it in place of tool selection and argument correctness; HTML and Markdown reports " +
  "define them";

const NOT_MEASURED = "not measured";

/** The two dimensions that have a finer score as well, and its name. */
const FINER = [["tool_selection", "selection F1"], [
  "argument_correctness",
  "calls with right arguments",
]] as const satisfies readonly (readonly [Dimension, string])[];

const OVERALL_WITH_FINER = "overall with these";

function wideRows(dimensions: readonly DimensionMetrics[]): Table["rows"] {
  const column = (
    head: string,
    dimension: Dimension,
    scores: (one: DimensionMetrics) => DimensionScores,
  ): Column<DimensionMetrics> => ({
    head,
    cell: (one) => {
      const own = estimateOf(scores(one), dimension);
      return own.mean === null ? NOT_MEASURED : `${estimateText(own)}, n ${own.count}`;
    },
  });
  return layOut(dimensions, [
    MODEL,
    DIMENSIONS.map((dimension) =>
      column(dimensionName(dimension), dimension, ({ article }) => article)
    ),
    { head: "overall", cell: ({ article }) => estimateText(article.overall) + countText(article) },
    FINER.map(([dimension, head]) => column(head, dimension, (one) => one)),
    { head: OVERALL_WITH_FINER, cell: (one) => estimateText(one.overall) + countText(one) },
  ]);
}

function tallRows(all: readonly DimensionMetrics[]): Table["rows"] {
  const rows = all.flatMap((one) => {
    const { article } = one;
    const row = (name: string, { count, ...own }: DimensionEstimate) => ({
      ...{ ...one, ...own, name },
      count: own.mean === null ? NOTHING : count,
    });
    const overall = (name: string, scores: DimensionScores) => ({
      ...{ ...one, ...scores.overall, name: `${name}${countText(scores)}`, count: "" },
    });
    return [
      ...article.dimensions.map((own) => row(dimensionName(own.dimension), own)),
      overall("overall", article),
      ...FINER.map(([dimension, name]) => row(name, estimateOf(one, dimension))),
      overall(OVERALL_WITH_FINER, one),
    ];
  });
  return layOut(rows, [
    MODEL,
    { head: "dimension", cell: ({ name }) => name },
    { head: "score", cell: ({ mean }) => mean === null ? NOT_MEASURED : scoreText(mean) },
    { head: "95% interval", cell: ({ interval }) => boundsText(interval, scoreText) },
    { head: "n", cell: ({ count }) => count },
  ]);
}

function estimateOf({ dimensions }: DimensionScores, dimension: Dimension): DimensionEstimate {
  return dimensions.find((own) => own.dimension === dimension)!;
}

function countText({ missing }: DimensionScores): string {
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
