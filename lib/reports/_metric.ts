/**
 * Metrics: the rows of a report's registry. A metric is measured from the trials of a report, and its columns say how:
 * its table, its figure, its part of the JSON report and its CSV file are made of them.
 * @module
 */

import type { JsonValue } from "../base/json.ts";
import {
  type Column,
  type Columns,
  type Detail,
  headOf,
  isShown,
  recordOf,
  tableOf,
} from "./columns.ts";
import type { Report } from "./report.ts";
import { type Caption, type Figure, type Table, titleOf } from "./_view.ts";

/** A part of a metric that may depend on what was measured. */
type Of<Row, Part> = Part | ((rows: readonly Row[], report: Report) => Part);

/** How a metric is shown. */
interface MetricView<Row> extends Pick<Table, "heat" | "line" | "section"> {
  /** Its name in JSON and CSV, and of its table. */
  readonly id: string;
  readonly title: Of<Row, string>;
  readonly paper?: Caption["paper"];
  readonly source?: Of<Row, string | undefined>;
  /** Explains what is counted. */
  readonly note?: Of<Row, string | undefined>;
  readonly columns: Of<Row, Columns<Row>>;
  /** Set where a page folds the table behind its title. */
  readonly folded?: Of<Row, boolean>;
  /** The rows that tables and figures show; JSON and CSV have all. Default: all. */
  readonly listed?: (rows: readonly Row[]) => readonly Row[];
  /** Rows with the same name have a table of that name. Default: one table. */
  readonly by?: (row: Row, report: Report) => string;
  /**
   * The heading below which the figures of a row stand: rows with the same names are one row of the table. Default:
   * each row is one of the table.
   */
  readonly across?: (row: Row) => string;
  /** Whether tables and figures show it; JSON and CSV have it in any case. Default: if there are rows. */
  readonly shown?: (rows: readonly Row[], report: Report) => boolean;
  /** The least that has its table. Default: all that follows a run. */
  readonly from?: Of<Row, Detail | undefined>;
  /** The tables, where columns and rows do not make them. */
  readonly tables?: (rows: readonly Row[], report: Report, detail: Detail) => Table[];
  readonly figures?: (rows: readonly Row[], report: Report) => Figure[];
}

/** A metric of a report. */
export interface Metric<Row = unknown> {
  readonly id: string;
  readonly tables: (report: Report, detail: Detail) => Table[];
  readonly figures: (report: Report) => Figure[];
  /** The figures of each row by name, for JSON and CSV. */
  readonly records: (report: Report) => Record<string, JsonValue>[];
  /** Measures it, once for each report. */
  readonly rows: (report: Report) => readonly Row[];
}

/** Makes a metric of what `measure` finds, without which nothing is shown, and how that is shown. */
export function metric<Row>(
  measure: (report: Report) => readonly Row[],
  own: MetricView<NoInfer<Row>>,
): Metric<Row> {
  const rows = (report: Report) => report.once(own, () => measure(report));
  const listed = (report: Report) => {
    const all = rows(report);
    const isSeen = all.length > 0 && (own.shown?.(all, report) ?? true);
    return isSeen ? own.listed?.(all) ?? all : [];
  };
  return {
    id: own.id,
    rows,
    records: (report) => {
      const columns = partOf(own.columns, rows(report), report);
      return rows(report).map((row) => recordOf(row, columns));
    },
    tables: (report, detail) => {
      const { from } = own;
      // What is never shown here need not be measured.
      if (typeof from === "string" && !isShown({ from }, detail)) return [];
      const seen = listed(report);
      if (seen.length === 0 || !isShown({ from: partOf(from, seen, report) }, detail)) {
        return [];
      }
      return own.tables?.(seen, report, detail) ?? tablesOf(own, seen, report, detail);
    },
    figures: (report) => {
      const seen = listed(report);
      return seen.length === 0 ? [] : own.figures?.(seen, report) ?? [];
    },
  };
}

function partOf<Row, Part>(part: Of<Row, Part>, rows: readonly Row[], report: Report): Part {
  return part instanceof Function ? part(rows, report) : part;
}

/** Returns a table of each group of rows. */
function tablesOf<Row>(
  own: MetricView<Row>,
  all: readonly Row[],
  report: Report,
  detail: Detail,
): Table[] {
  const { id, section, paper, heat, line, by } = own;
  const groups = by === undefined
    ? [["", all] as const]
    : [...Map.groupBy(all, (row) => by(row, report))];
  return groups.flatMap(([group, rows], place) => {
    const title = partOf(own.title, rows, report);
    const columns = partOf(own.columns, rows, report).flat();
    const caption = {
      ...{ section, paper, heat, line, folded: partOf(own.folded, rows, report) },
      id: by === undefined ? id : `${id}-${place + 1}`,
      ...(by === undefined ? { title } : titleOf(title, group)),
      source: partOf(own.source, rows, report),
      note: partOf(own.note, rows, report),
    };
    return own.across === undefined
      ? tableOf(rows, columns, caption, detail)
      : crossed(rows, columns, own.across, caption, detail);
  });
}

/** Returns a table with a row for each name, and the columns of each heading. */
export function crossed<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  across: (row: Row) => string,
  caption: Parameters<typeof tableOf>[2],
  detail: Detail,
): Table[] {
  const keys = columns.filter(({ unit }) => unit === "name");
  const measures = columns.filter(({ unit, shown }) => unit !== "name" && shown !== false);
  const lines = [
    ...Map.groupBy(rows, (row) => JSON.stringify(keys.map(({ value }) => value(row)))).values(),
  ].map((own) => ({ first: own[0]!, byHead: new Map(own.map((row) => [across(row), row])) }));
  type Line = typeof lines[number];
  return tableOf<Line>(
    lines,
    [
      keys.map((column) => ofLine(column, ({ first }: Line) => first)),
      [...new Set(rows.map(across))].flatMap((head) =>
        measures.map((column) => ({
          ...ofLine(column, ({ byHead }: Line) => byHead.get(head)),
          ...(measures.length > 1 ? { group: head, head: headOf(column) } : { head }),
        }))
      ),
    ],
    caption,
    detail,
  );
}

/** Returns a column of what has one of the rows that it is made for, or none. */
function ofLine<Row, Line>(
  { value, text, link, variant, isBounded, drawn, ...column }: Column<Row>,
  rowOf: (line: Line) => Row | undefined,
): Column<Line> {
  const at = <Found>(find: (row: Row) => Found) => (line: Line) => {
    const row = rowOf(line);
    return row === undefined ? undefined : find(row);
  };
  return {
    ...column,
    value: at(value),
    text: text && at(text),
    link: link && at(link),
    variant: variant && at(variant),
    isBounded: isBounded && ((line) => at(isBounded)(line) === true),
    drawn: drawn && at(drawn),
  };
}
