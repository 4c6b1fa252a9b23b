/**
 * Columns of call set tables, without those that are empty.
 * @module
 */

import type { CallSetMetrics } from "../metrics/question_sets.ts";
import { percent } from "../../base/numbers.ts";

/** A column: its heading, and the text of its cell in each row. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** A heading for this column and its neighbours, shown before that of the first. */
  readonly group?: string;
}

/** The text of an empty cell. */
export const NOTHING = "-";

/** Returns rows with a heading row; the first column names them, and other columns without data are left out. */
export function layOut<Row>(
  rows: readonly Row[],
  [first, ...columns]: readonly [Column<Row>, ...Column<Row>[]],
): string[][] {
  const filled = columns.map((column) => ({ ...column, cells: rows.map(column.cell) }))
    .filter(({ cells }) => cells.some((cell) => cell !== NOTHING));
  const head = filled.map(({ head, group }, index) =>
    group === undefined || filled[index - 1]?.group === group ? head : `${group}: ${head}`
  );
  return [
    [first.head, ...head],
    ...rows.map((row, index) => [first.cell(row), ...filled.map(({ cells }) => cells[index]!)]),
  ];
}

export function shareText(share: number | null): string {
  return share === null ? NOTHING : percent(share);
}

/** Formats a score from 0 to 1 as the paper does. */
export function scoreText(score: number | null): string {
  return score === null ? NOTHING : score.toFixed(3);
}

/** Text in place of a missing correlation. */
export const UNAVAILABLE = "not available";

/** Names call sets: several in a column, a single one in the title. */
export function callSetNames(callSets: readonly CallSetMetrics[]) {
  const several = callSets.length > 1;
  return {
    title: several ? "" : `: ${callSets[0]?.name}`,
    columns: several
      ? [{ head: "questions of", cell: ({ callSet }: { callSet: CallSetMetrics }) => callSet.name }]
      : [],
  };
}
