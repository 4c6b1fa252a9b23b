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
  transferFigures,
} from "./figures/_figures.ts";
import { comparisonFigures } from "./figures/_comparisons.ts";
import { headlineFigures } from "./figures/_headline.ts";
import { callSetTables } from "./tables/_question_sets.ts";
import { dimensionTables } from "./tables/_dimensions.ts";
import { distractorTable } from "./tables/_distractors.ts";
import {
  behavioursTable,
  failuresTable,
  guessesTable,
  injectionsTable,
  missedCallsTable,
  outcomesTable,
} from "./tables/_failures.ts";
import { perturbationTables } from "./tables/_perturbations.ts";
import { probesTable } from "./tables/_probes.ts";
import { comparisonTables } from "./tables/_comparisons.ts";
import { workTable } from "./tables/_strategies.ts";
import { overviewTable } from "./tables/_headline.ts";
import {
  agentTables,
  errorHandlingTables,
  formatTables,
  latencyTables,
  recoveryTables,
} from "./tables/_tool_use.ts";
import { matrixTables } from "./tables/_matrix.ts";
import { breakdownTable, effortTable, repetitionsTable } from "./tables/_success.ts";
import { type Figure, SECTIONS, type Table, type View } from "./_view.ts";

/**
 * Returns all tables and figures of a report by section; a figure is followed by the table that has its numbers, which
 * has the same id, and may belong to a later section. `brief`, for terminals, has no figures, and tables with fewer columns and rows.
 */
export function viewsOf(report: Report, brief = false): View[] {
  const { subjects, breakdowns, distractors = [] } = report;
  if (subjects.length === 0) return [];
  const tables: readonly Table[] = [
    overviewTable(report),
    ...errorHandlingTables(report, brief),
    ...comparisonTables(report),
    ...matrixTables(report),
    ...effortTable(report),
    ...workTable(subjects),
    ...probesTable(subjects),
    ...callSetTables(report),
    ...dimensionTables(report),
    ...recoveryTables(report),
    ...latencyTables(report),
    ...formatTables(report),
    ...agentTables(report),
    ...breakdowns.map((breakdown) => breakdownTable(breakdown, brief)),
    ...distractorTable(distractors, brief),
    ...perturbationTables(report, brief),
    ...failuresTable(subjects, brief),
    ...missedCallsTable(report),
    ...guessesTable(subjects),
    outcomesTable(report),
    ...behavioursTable(report),
    ...injectionsTable(subjects),
    ...repetitionsTable(subjects),
  ];
  const figures: readonly Figure[] = brief ? [] : [
    ...headlineFigures(report),
    ...comparisonFigures(report),
    ...dimensionFigure(report),
    ...breakdowns.flatMap((breakdown) => breakdownFigure(breakdown, subjects)),
    ...distractorFigure(report),
    ...failureRateFigures(report),
    ...transferFigures(report),
    ...failureFigure(report),
  ];
  const groups = Map.groupBy<string, View>([...tables, ...figures], ({ id }) => id);
  return inSections(
    [...groups.values()].map((group) => [...group.filter(isFigure), ...group.filter(isTable)]),
    ([first]) => first!,
  ).flat();
}

/** Returns items by section. */
function inSections<T>(items: readonly T[], viewOf: (item: T) => View): T[] {
  return SECTIONS.flatMap((section) => items.filter((item) => viewOf(item).section === section));
}

/** Whether a view is a figure. */
export function isFigure(view: View): view is Figure {
  return "spec" in view;
}

/** Whether a view is a table. */
const isTable = (view: View): view is Table => !isFigure(view);

/** Returns the tables of a report by their own sections, for what shows no figures. */
export function tablesOf(...report: Parameters<typeof viewsOf>): Table[] {
  return inSections(viewsOf(...report).filter(isTable), (table) => table);
}
