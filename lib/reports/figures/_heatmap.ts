/**
 * Heatmaps of a report as SVG: shares by row and column, as colours and numbers.
 * @module
 */

import type { Brittleness } from "../metrics/brittleness.ts";
import { PARAMETER_FAILURE_TYPES } from "../../calls/failure_types.ts";
import { wholePercent } from "../tables/_perturbations.ts";
import { NOT_APPLICABLE } from "../tables/table.ts";
import { distinct, draw, inOrder } from "./_plotting.ts";

/** One cell of a heatmap that has data. */
interface Cell {
  readonly row: string;
  readonly column: string;
  readonly share: number;
  /** The label in it. */
  readonly text: string;
}

/** Shares by row and column; cells without data are left out. */
interface Heatmap {
  readonly rowTitle: string;
  readonly rows: readonly string[];
  readonly columnTitle: string;
  readonly columns: readonly string[];
  readonly cells: readonly Cell[];
  /** The share that has the full colour. */
  readonly top: number;
  /** Width of a cell, in pixels. */
  readonly step: number;
}

const TYPE_NAMES = PARAMETER_FAILURE_TYPES.map((type) => type.replaceAll("_", " "));

/** Draws which failures occur together: given that of the row, also that of the column (Butterfly, Fig. 4). */
export async function drawTransfer({ transfer }: Pick<Brittleness, "transfer">): Promise<string> {
  return await drawHeatmap({
    rowTitle: "given",
    rows: TYPE_NAMES,
    columnTitle: "then also",
    columns: TYPE_NAMES,
    cells: transfer.filter(({ of }) => of > 0).map(({ from, to, either, of }) => ({
      row: from.replaceAll("_", " "),
      column: to.replaceAll("_", " "),
      share: either / of,
      text: `${either} of ${of}`,
    })),
    top: 1,
    step: 112,
  });
}

/**
 * Draws failure rates by type and perturbation; `top` is the rate that has the full colour, see
 * {@linkcode highestRate}.
 */
export async function drawFailureRates(
  { columns }: Pick<Brittleness, "columns">,
  top: number,
): Promise<string> {
  const names = distinct(columns.map(({ perturbation }) => perturbation));
  return await drawHeatmap({
    rowTitle: "failure",
    rows: [...TYPE_NAMES, "any failure", "missed call"],
    columnTitle: "perturbation",
    columns: names,
    cells: columns.flatMap(({ failures, failed, missed }, place) =>
      [
        ...failures.map((own, index) => [TYPE_NAMES[index]!, own] as const),
        ["any failure", failed] as const,
        ["missed call", missed] as const,
      ].flatMap(([row, { rate, ...own }]) => {
        const impossible = "impossible" in own;
        return rate === null && !impossible ? [] : [{
          ...{ row, column: names[place]!, share: rate ?? 0 },
          text: rate === null ? NOT_APPLICABLE : wholePercent(rate),
        }];
      })
    ),
    top,
    step: Math.max(NARROW, ...names.flatMap(linesOf).map(({ length }) => LETTER * length)),
  });
}

/** Returns the highest failure rate, rounded up to a tenth, so that heatmaps of several models share a scale. */
export function highestRate(brittleness: readonly Pick<Brittleness, "columns">[]): number {
  const rates = brittleness.flatMap(({ columns }) =>
    columns.flatMap(({ failures, failed, missed }) =>
      [...failures, failed, missed].map(({ rate }) => rate ?? 0)
    )
  );
  return Math.max(0.1, Math.ceil(10 * Math.max(0, ...rates)) / 10);
}

/** Width of a cell with a percentage, in pixels. */
const NARROW = 50;
/** Width of a letter of a label at most, in pixels. */
const LETTER = 7;
/** A drawing with more columns than this takes the space of two. */
const MAX_COLUMNS = 5;

/** Whether the heatmap of failure rates is broad. */
export function hasBroadRates({ columns }: Pick<Brittleness, "columns">): boolean {
  return columns.length > MAX_COLUMNS;
}

/** Splits joined names and names of several words into lines; ids such as `RP_F` stay in one. */
const LABEL_LINES = "split(replace(replace(datum.label, regexp('[+]', 'g'), '+ '), " +
  "regexp('_([a-z])', 'g'), '_ $1'), ' ')";

function linesOf(name: string): string[] {
  return name.split(/(?<=\+)|(?<=_)(?=[a-z])| /);
}

/** Without a screen, text is estimated this many times as wide as it is on one. */
const TEXT_WIDTH_FACTOR = 1.8;

/** Opacity of the full colour: text in a cell stays readable on light and dark pages. */
const FULL_OPACITY = 0.7;

async function drawHeatmap(
  { rowTitle, rows, columnTitle, columns, cells, top, step }: Heatmap,
): Promise<string> {
  const plain = { labelPadding: 6, ticks: false, domain: false, grid: false, labelLimit: 0 };
  const axis = { ...plain, titlePadding: 10, titleColor: "var(--faint)" };
  return await draw({
    data: { values: cells },
    width: { step },
    height: { step: 34 },
    encoding: {
      x: {
        field: "column",
        ...inOrder(columns),
        title: columnTitle,
        axis: {
          ...axis,
          labelAngle: 0,
          labelFontSize: 11,
          labelLimit: TEXT_WIDTH_FACTOR * step,
          labelExpr: LABEL_LINES,
        },
      },
      y: { field: "row", ...inOrder(rows), title: rowTitle, axis },
    },
    layer: [
      {
        mark: { type: "rect", fill: "var(--heat)", stroke: "var(--line)", strokeWidth: 1 },
        encoding: {
          fillOpacity: {
            field: "share",
            type: "quantitative",
            scale: { domain: [0, top], range: [0, FULL_OPACITY], clamp: true },
            legend: null,
          },
        },
      },
      {
        mark: { type: "text", fontSize: 12, color: "var(--ink)", aria: false },
        encoding: { text: { field: "text", type: "nominal" } },
      },
    ],
  });
}
