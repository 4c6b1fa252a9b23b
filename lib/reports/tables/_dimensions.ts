/**
 * Dimensions table: the five dimensions of tool use.
 * @module
 */

import {
  type Dimension,
  type DimensionEstimate,
  type DimensionMetrics,
  DIMENSIONS,
  type DimensionScores,
} from "../metrics/_dimensions.ts";
import type { Report } from "../report.ts";
import { boundsText, MODEL, NOTHING, tableOf } from "./table.ts";
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

/** Returns the table of the five dimensions and their mean, a row for each of them and each model. */
export function dimensionTables({ dimensions }: Pick<Report, "dimensions">): Table[] {
  if (!showsDimensions(dimensions)) return [];
  const rows = dimensions.flatMap((one) => {
    const row = (name: string, { mean, interval, count }: DimensionEstimate) => ({
      ...one,
      ...{ name, mean, interval, count: mean === null ? NOTHING : count },
    });
    const overall = (name: string, { missing, overall }: DimensionScores) => ({
      ...{ ...one, ...overall, count: "" },
      name: name +
        (missing.length === 0 ? "" : `, of ${DIMENSIONS.length - missing.length}`),
    });
    return [
      ...one.article.dimensions.map((own) => row(dimensionName(own.dimension), own)),
      overall("overall", one.article),
      ...FINER.map(([dimension, name]) =>
        row(name, one.dimensions.find((own) => own.dimension === dimension)!)
      ),
      overall("overall with these", one),
    ];
  });
  return tableOf(rows, {
    id: "dimensions",
    section: "tool use",
    title: "Five dimensions of tool use",
    paper: "Pipeline",
    source: "Benchmarking Tool Use",
    note:
      "n: trials, or faults; overall: the mean of those above it that were measured; overall with these: with " +
      "the two above it in place of the first two",
    columns: [
      MODEL,
      { head: "dimension", cell: ({ name }) => name },
      { head: "score", cell: ({ mean }) => mean === null ? "not measured" : scoreText(mean) },
      { head: "95% interval", cell: ({ interval }) => boundsText(interval, scoreText) },
      { head: "n", cell: ({ count }) => count },
    ],
  });
}

/** The two dimensions that have a finer score as well, and its name. */
const FINER: readonly (readonly [Dimension, string])[] = [
  ["tool_selection", "selection F1"],
  ["argument_correctness", "calls with right arguments"],
];

/** Formats a score with two digits, or more where it would round to 0 or 1. */
export function scoreText(score: number): string {
  let decimals = 2;
  const rounded = () => Number(score.toFixed(decimals));
  while (decimals < 8 && ((rounded() === 1 && score < 1) || (rounded() === 0 && score > 0))) {
    decimals++;
  }
  return score.toFixed(decimals);
}
