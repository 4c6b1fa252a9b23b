/**
 * What tables of call sets share: columns, of which those that tell nothing are left out.
 * @module
 */

import type { CallSetMetrics } from "../metrics/question_sets.ts";
import { percent } from "../../base/numbers.ts";

/** A column: what it is called, and what a row has in it. */
export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => string;
  /** What this column and its neighbours tell, which stands before the first of them. */
  readonly group?: string;
}

/** Whatever no row has is nothing to show. */
export const NOTHING = "-";

/** Rows under their columns, the first of which names them; columns in which no row has anything are left out. */
export function laidOut<Row>(
  rows: readonly Row[],
  [first, ...columns]: readonly [Column<Row>, ...Column<Row>[]],
): string[][] {
  const told = columns.map((column) => ({ ...column, cells: rows.map(column.cell) }))
    .filter(({ cells }) => cells.some((cell) => cell !== NOTHING));
  const head = told.map(({ head, group }, place) =>
    group === undefined || told[place - 1]?.group === group ? head : `${group}: ${head}`
  );
  return [
    [first.head, ...head],
    ...rows.map((row, place) => [first.cell(row), ...told.map(({ cells }) => cells[place]!)]),
  ];
}

export function shareOf(share: number | null): string {
  return share === null ? NOTHING : percent(share);
}

/** A score from 0 to 1, as the paper writes them. */
export function scoreText(score: number | null): string {
  return score === null ? NOTHING : score.toFixed(3);
}

/** What is shown where there is no correlation. */
export const UNAVAILABLE = "not available";

/** Names the way of asking where there are several, in a column or, where there is one only, in the title. */
export function askedOf(callSets: readonly CallSetMetrics[]) {
  const several = callSets.length > 1;
  return {
    title: several ? "" : `: ${callSets[0]?.name}`,
    columns: several
      ? [{ head: "questions of", cell: ({ asked }: { asked: CallSetMetrics }) => asked.name }]
      : [],
  };
}
