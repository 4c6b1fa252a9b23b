/**
 * Reports of trials made by hand, and what metrics and tables have of them.
 */

import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../lib/base/json.ts";
import type { Detail } from "../../lib/reports/columns.ts";
import type { Metric } from "../../lib/reports/_metric.ts";
import { METRICS } from "../../lib/reports/metrics/_registry.ts";
import { Report, type ReportOptions } from "../../lib/reports/report.ts";
import { cellText, headTexts } from "../../lib/reports/text_table.ts";
import type { Figure, Table } from "../../lib/reports/_view.ts";
import * as views from "../../lib/reports/_views.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { TrialSummary } from "../../lib/trials/summary.ts";

/** Trials that were made by hand. */
export type Trials = readonly (Trial | TrialSummary)[];
type Options = Partial<ReportOptions>;

/** A record of a metric. */
export type MetricRecord = Readonly<Record<string, JsonValue>>;

/** Returns the report of trials. */
export function reportOf(trials: Trials, options: Options = {}): Report {
  return new Report(trials, { suite: "s", ...options });
}

function metricOf(id: string): Metric {
  const metric = METRICS.find((one) => one.id === id);
  assert(metric !== undefined, `there is no metric ${id}`);
  return metric;
}

/** Returns the records of a metric of a report. */
export function recordsIn(report: Report, id: string): MetricRecord[] {
  return metricOf(id).records(report);
}

/** Returns the records of a metric of trials. */
export function recordsOf(id: string, trials: Trials, options: Options = {}): MetricRecord[] {
  return recordsIn(reportOf(trials, options), id);
}

/** Returns the records with these names. */
export function having(records: readonly MetricRecord[], names: MetricRecord): MetricRecord[] {
  return records.filter((one) =>
    Object.entries(names).every(([name, value]) => one[name] === value)
  );
}

/** Returns some figures of each record, whose names are given with spaces between them. */
export function valuesOf(records: readonly MetricRecord[], names: string): JsonValue[][] {
  return records.map((record) => names.split(" ").map((name) => record[name]!));
}

/** Returns the tables of a metric of a report. */
export function tablesIn(report: Report, id: string, detail: Detail = "page"): Table[] {
  const tables = metricOf(id).tables(report, detail);
  assertEquals(new Set(tables.map((one) => one.id)).size, tables.length, "ids must differ");
  return tables;
}

/** Returns the tables of a metric of trials. */
export function tablesOf(
  id: string,
  trials: Trials,
  options: Options = {},
  detail: Detail = "page",
): Table[] {
  return tablesIn(reportOf(trials, options), id, detail);
}

/** Returns a table of a report; `undefined` where it has none. */
export function tableOf(
  id: string,
  trials: Trials,
  options: Options = {},
  detail: Detail = "page",
): Table | undefined {
  return views.tablesOf(reportOf(trials, options), detail).find((table) => table.id === id);
}

/** Returns the texts of a table: its headings, then those of each row. */
export function textsOf(table: Table | undefined): string[][] {
  return table === undefined
    ? []
    : [headTexts(table), ...table.rows.map((row) => row.map(cellText))];
}

/** Returns the texts of the columns of a table without what stands behind them, by their headings. */
export function columnsOf(table: Table | undefined): Record<string, readonly string[]> {
  if (table === undefined) return {};
  return Object.fromEntries(
    headTexts(table).map((head, place) => [head, table.rows.map((row) => row[place]!.text)]),
  );
}

/** Returns a figure of a report; `undefined` where it has none. */
export function figureOf(id: string, trials: Trials, options: Options = {}): Figure | undefined {
  return views.figuresOf(reportOf(trials, options)).find((figure) => figure.id === id);
}
