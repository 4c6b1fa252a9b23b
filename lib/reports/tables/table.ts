/**
 * Tables of reports: their columns, how they write names and numbers, and how they are aligned.
 * @module
 */

import defer * as width from "string-width";
import type { Bounds } from "../../statistics/proportions.ts";
import { variantLabel } from "../../gate/variant.ts";
import type { VariantMetrics } from "../metrics/metrics.ts";
import { cutText, printable } from "../../base/json.ts";
import { percent } from "../../base/numbers.ts";
import type { Usage } from "../../tools/message.ts";

/** A table: the first row names the columns, the first cell of the others names the row. */
export interface Table {
  /** Unique within a report; a breakdown's table has the breakdown's id. */
  readonly id: string;
  /** The section of the page it belongs to; `figures` are tables that a figure also shows. */
  readonly section:
    | "success"
    | "figures"
    | "tool use"
    | "perturbations"
    | "call sets"
    | "failures"
    | "cells";
  readonly title: string;
  /** The table, figure or section of a paper that shows the same; omitted where none does. */
  readonly source?: string;
  /** The paper; omitted where it is FuncBenchGen. */
  readonly paper?: "Butterfly" | "CallNavi" | "Indirection" | "Pipeline";
  /** Explains the numbers; omitted where they need no explanation. */
  readonly note?: string;
  /** How many of the first columns name a row, and are aligned to the left. Default: 1. */
  readonly names?: number;
  /** Rows of text, as {@linkcode layOut} returns them. */
  readonly rows: readonly (readonly string[])[];
}

/** A column: its heading, and the text of its cell in each row. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string | number;
  /** A heading for this column and its neighbours, shown before that of the first. */
  readonly group?: string;
  /** When to show it; `filled`: where a cell is neither {@linkcode NOTHING} nor the number 0. Default: always. */
  readonly shown?: boolean | "filled";
}

/** The text of an empty cell. */
export const NOTHING = "-";

/** The text in place of a figure that no trial could have. */
export const NOT_APPLICABLE = "n/a";

/** The text in place of a figure that cannot be estimated. */
export const UNAVAILABLE = "not available";

/** Returns the cells of all rows below a row of headings; the first column names the rows. */
export function layOut<Row>(
  rows: readonly Row[],
  columns: readonly (Column<NoInfer<Row>> | readonly Column<NoInfer<Row>>[])[],
): string[][] {
  const filled = columns.flat().map((column) => ({ ...column, cells: rows.map(column.cell) }))
    .filter(({ shown = true, cells }) =>
      shown === "filled" ? cells.some((cell) => cell !== NOTHING && cell !== 0) : shown
    );
  const heads = filled.map(({ head, group }, index) =>
    group === undefined || filled[index - 1]?.group === group ? head : `${group}: ${head}`
  );
  return [heads, ...rows.map((_, index) => filled.map(({ cells }) => String(cells[index]!)))];
}

/** The column that names the model, strategy and perturbation of a row. */
export const MODEL: Column<Pick<VariantMetrics, "subject" | "simulated">> = {
  head: "model",
  cell: nameOf,
};

/** The columns that name the model and the strategy of a row, for rows without a perturbation. */
export const MODEL_AND_STRATEGY: readonly Column<Pick<VariantMetrics, "subject" | "simulated">>[] =
  [
    {
      head: "model",
      cell: ({ subject, simulated }) =>
        variantLabel({ ...subject, strategy: "baseline" }, simulated),
    },
    { head: "strategy", cell: ({ subject }) => subject.strategy },
  ];

/** Returns a column with a share, and one with its interval. */
export function rateColumns<Row>(
  head: string,
  rateOf: (row: Row) => { readonly rate: number | null; readonly interval: Bounds | null },
): [Column<Row>, Column<Row>] {
  return [
    { head, cell: (row) => shareText(rateOf(row).rate) },
    { head: "95% interval", cell: (row) => boundsText(rateOf(row).interval) },
  ];
}

/** Returns the name of a model, strategy and perturbation in reports. */
export function nameOf(
  { subject, simulated }: Pick<VariantMetrics, "subject" | "simulated">,
): string {
  return variantLabel(subject, simulated);
}

/** Formats a share in percent. */
export function shareText(share: number | null, missing = NOTHING): string {
  return share === null ? missing : percent(share);
}

/** Formats the interval of a share. */
export function boundsText(bounds: Bounds | null, show = percent): string {
  return bounds === null ? NOTHING : `${show(bounds.lower)} to ${show(bounds.upper)}`;
}

/** Formats a whole number with thousands separators. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Formats tokens, and marks estimated ones. */
export function tokensText(usage: Usage, of: "inputTokens" | "outputTokens"): string {
  return `${usage.estimated ? "~" : ""}${grouped(usage[of])}`;
}

/** Says behind tokens that they were estimated; empty if they were not. */
export function estimateNote({ estimated }: Usage): string {
  return estimated ? " (estimated, at least in part: a server reported none)" : "";
}

/** Returns the source of a table with the name of its paper. */
export function sourceText(source: string, paper = "FuncBenchGen"): string {
  return `as in ${paper}, ${source}`;
}

/** Returns rows as aligned columns: the first `names` to the left, the others to the right. */
export function alignedTable(rows: Table["rows"], names = 1): string {
  const cells = rows.map((row) =>
    row.map((text, column) => column < names ? nameText(text) : printable(text, 80))
  );
  const widths = cells[0]!.map((_, column) =>
    Math.max(...cells.map((row) => width.default(row[column]!)))
  );
  return cells.map((row) =>
    row.map((text, column) => {
      const space = " ".repeat(widths[column]! - width.default(text));
      return column < names ? text + space : space + text;
    }).join("  ").trimEnd()
  ).join("\n");
}

/** Longer names are shortened. */
const MAX_NAME_LENGTH = 100;

/** Shortens long names in the middle, as they may differ at either end. */
function nameText(text: string): string {
  const name = printable(text, Infinity);
  if (name.length <= MAX_NAME_LENGTH) return name;
  const half = MAX_NAME_LENGTH / 2;
  const end = name.slice(-half + 1);
  return `${cutText(name, half)}…${end.replace(/^\p{Cs}/u, "")}`;
}
