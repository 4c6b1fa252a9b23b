/**
 * The tables of a report, in their order.
 * @module
 */

import type { Report } from "../report.ts";
import { callSetTables } from "./_question_sets.ts";
import { dimensionTables } from "./_dimensions.ts";
import { distractorTable } from "./_distractors.ts";
import { errorHandlingTables } from "./_error_handling.ts";
import {
  behavioursTable,
  failuresTable,
  guessesTable,
  missedCallsTable,
  outcomesTable,
} from "./_failures.ts";
import { formatTables } from "./_formats.ts";
import { latencyTables } from "./_latency.ts";
import { perturbationTables } from "./_perturbations.ts";
import { probesTable } from "./_probes.ts";
import { recoveryTables } from "./_recovery.ts";
import { strategiesTable, workTable } from "./_strategies.ts";
import { overviewTable } from "./_headline.ts";
import { matrixTables, otherCellsTables } from "./_matrix.ts";
import { breakdownTable, effortTable, repetitionsTable } from "./_success.ts";
import type { Table } from "../_view.ts";

/** Returns all tables of a report, those that compare subjects first. */
export function tablesOf(report: Report): Table[] {
  const { subjects, comparisons, breakdowns } = report;
  if (subjects.length === 0) return [];
  return [
    overviewTable(report),
    ...matrixTables(report),
    effortTable(report),
    ...errorHandlingTables(report),
    ...strategiesTable(comparisons),
    ...workTable(subjects),
    ...probesTable(subjects),
    ...callSetTables(report),
    ...dimensionTables(report),
    ...recoveryTables(report),
    ...latencyTables(report),
    ...formatTables(report),
    ...breakdowns.map((breakdown) => breakdownTable(breakdown)),
    ...distractorTable(report.distractors ?? []),
    ...perturbationTables(report),
    ...failuresTable(subjects),
    ...missedCallsTable(report),
    ...guessesTable(subjects),
    outcomesTable(report),
    ...behavioursTable(report),
    ...repetitionsTable(subjects),
    ...otherCellsTables(report),
  ];
}
