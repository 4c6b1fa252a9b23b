/**
 * Columns that several tables of call sets share.
 * @module
 */

import { defined } from "../../base/json.ts";
import { DIFFICULTIES } from "../../tasks/questions/question_set.ts";
import type { CallSetMetrics, CallSetRow, ScoreAverages } from "../metrics/question_sets.ts";
import { boundsText, type Column, shareText } from "./table.ts";

/** Returns a column with a share. */
export function shareColumn<Row>(
  head: string,
  of: (row: Row) => number | null,
  group?: string,
): Column<Row> {
  return { head, cell: (row) => shareText(of(row)), shown: "filled", ...defined({ group }) };
}

/** Returns the columns of a score by difficulty. */
export function groupOf<Row>(
  group: string,
  scoreOf: (row: Row) => ScoreAverages,
  brief: boolean,
): Column<Row>[] {
  return [
    ...DIFFICULTIES.map((head) => shareColumn(head, (row: Row) => scoreOf(row)[head], group)),
    {
      ...{ group, head: "all", shown: "filled" },
      cell: (row) => brief ? shareText(scoreOf(row).all) : shareWithInterval(scoreOf(row)),
    },
    {
      ...{ group, head: "95% interval", shown: brief && "filled" },
      cell: (row) => boundsText(scoreOf(row).interval),
    },
  ];
}

/** Formats the number of trials of each difficulty. */
export function countsText({ counts }: ScoreAverages): string {
  return DIFFICULTIES.map((difficulty) => counts[difficulty]).join("+");
}

/** Formats a share with its interval. */
export function shareWithInterval({ all, interval }: ScoreAverages): string {
  return shareText(all) + (interval === null ? "" : ` (${boundsText(interval)})`);
}

/** A row with its call set. */
export interface RowWithSet extends CallSetRow {
  readonly callSet: CallSetMetrics;
}

/** Returns the rows of all call sets. */
export function rowsWithSet(callSets: readonly CallSetMetrics[]): RowWithSet[] {
  return callSets.flatMap((callSet) => callSet.rows.map((row) => ({ ...row, callSet })));
}
