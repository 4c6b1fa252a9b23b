/**
 * The views of a report, in their order.
 * @module
 */

import type { Report } from "./report.ts";
import {
  breakdownFigure,
  dimensionFigure,
  distractorFigure,
  failureFigure,
  failureRateFigures,
  overviewFigure,
  strategyFigure,
  transferFigures,
} from "./figures/_figures.ts";
import { callSetTables } from "./tables/_question_sets.ts";
import { dimensionTables } from "./tables/_dimensions.ts";
import { distractorTable } from "./tables/_distractors.ts";
import { errorHandlingTables } from "./tables/_error_handling.ts";
import {
  behavioursTable,
  failuresTable,
  guessesTable,
  missedCallsTable,
  outcomesTable,
} from "./tables/_failures.ts";
import { formatTables } from "./tables/_formats.ts";
import { latencyTables } from "./tables/_latency.ts";
import { perturbationTables } from "./tables/_perturbations.ts";
import { probesTable } from "./tables/_probes.ts";
import { recoveryTables } from "./tables/_recovery.ts";
import { strategiesTable, workTable } from "./tables/_strategies.ts";
import { breakdownTable, cellsTable, overviewTable, repetitionsTable } from "./tables/_success.ts";
import { type Figure, SECTIONS, type Table, type View } from "./_view.ts";

/**
 * Returns all tables and figures of a report by section; a figure is followed by the table that has its numbers, which
 * has the same id, and may belong to a later section. `brief`, for narrow views, has tables with fewer columns and rows.
 */
export function viewsOf(report: Report, brief = false): View[] {
  const { subjects, comparisons, breakdowns, distractors = [] } = report;
  if (subjects.length === 0) return [];
  const views: readonly View[] = [
    ...overviewFigure(report),
    overviewTable(subjects),
    ...errorHandlingTables(report, brief),
    ...strategyFigure(report),
    ...strategiesTable(comparisons),
    ...workTable(subjects),
    ...probesTable(subjects),
    ...callSetTables(report, brief),
    ...dimensionFigure(report),
    ...dimensionTables(report, brief),
    ...recoveryTables(report),
    ...latencyTables(report),
    ...formatTables(report),
    ...breakdowns.flatMap((breakdown) => [
      ...breakdownFigure(breakdown, subjects),
      breakdownTable(breakdown, brief),
    ]),
    ...distractorFigure(report),
    ...distractorTable(distractors, brief),
    ...failureRateFigures(report),
    ...transferFigures(report),
    ...perturbationTables(report, brief),
    ...failureFigure(report),
    ...failuresTable(subjects, brief),
    ...missedCallsTable(report),
    ...guessesTable(subjects),
    outcomesTable(subjects),
    ...behavioursTable(subjects),
    ...repetitionsTable(subjects),
    ...subjects.map(cellsTable),
  ];
  const groups = [...Map.groupBy(views, ({ id }) => id).values()];
  return inSections(groups, ([first]) => first!).flat();
}

/** Returns items by section. */
function inSections<T>(items: readonly T[], viewOf: (item: T) => View): T[] {
  return SECTIONS.flatMap((section) => items.filter((item) => viewOf(item).section === section));
}

/** Whether a view is a figure. */
export function isFigure(view: View): view is Figure {
  return "spec" in view;
}

/** Returns the tables of a report by their own sections, for what shows no figures. */
export function tablesOf(...report: Parameters<typeof viewsOf>): Table[] {
  const tables = viewsOf(...report).filter((view): view is Table => !isFigure(view));
  return inSections(tables, (table) => table);
}
