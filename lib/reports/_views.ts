/**
 * The views of a report, in their order, and its records for programs.
 * @module
 */

import type { JsonValue } from "../base/json.ts";
import type { Detail } from "./columns.ts";
import { METRICS } from "./metrics/_registry.ts";
import type { Report } from "./report.ts";
import { type Figure, SECTIONS, type Table, type View } from "./_view.ts";

/** Returns the tables of a report by section. */
export function tablesOf(report: Report, detail: Detail = "page"): Table[] {
  return inSections(METRICS.flatMap((metric) => metric.tables(report, detail)), (table) => table);
}

/** Returns the figures of a report by section. */
export function figuresOf(report: Report): Figure[] {
  return inSections(METRICS.flatMap((metric) => metric.figures(report)), (figure) => figure);
}

/** Returns the views of a page by section: a figure with the table that has its numbers, which has the same id. */
export function viewsOf(report: Report): View[][] {
  const groups = Map.groupBy<string, View>(
    [...figuresOf(report), ...tablesOf(report)],
    ({ id }) => id,
  );
  return inSections([...groups.values()], ([first]) => first!);
}

/** Returns the records of each metric that has any, by its name. */
export function recordsOf(report: Report): Map<string, Record<string, JsonValue>[]> {
  const all = METRICS.map(({ id, records }) => [id, records(report)] as const);
  return new Map(all.filter(([, records]) => records.length > 0));
}

/** Returns items by section. */
function inSections<T>(items: readonly T[], viewOf: (item: T) => View): T[] {
  return Object.keys(SECTIONS).flatMap((section) =>
    items.filter((item) => viewOf(item).section === section)
  );
}
