/**
 * CSV reports: tidy tables of trials, calls and metrics, for other programs.
 *
 * Files follow RFC 4180, but lines end with a line feed alone. Texts of models, tools and journals are hostile: a
 * spreadsheet must not run them, and no reader stumble over them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @module
 */

import { assertBegins, Output } from "../base/output_file.ts";
import { canonicalJson, type JsonValue } from "../base/json.ts";
import { callsOf } from "../calls/trace.ts";
import { costOfAll } from "../models/prices.ts";
import type { Trial } from "../trials/trial.ts";
import { CALLS, type Cell, type Columns, TRIALS } from "./_csv_columns.ts";
import { METRICS } from "./metrics/_registry.ts";
import type { Report } from "./report.ts";

/** Returns a line of CSV. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(",")}\n`;
}

/** What a spreadsheet may run, behind blanks and quotes too; full-width signs are read like the others. */
const FORMULA = /^[\s"']*[=+\-@＝＋－＠]|^['"]*[\t\r\n]/;

/** Where a program that splits lines at semicolons, tabs or line breaks, whatever quotes say, may find another one. */
const INNER_FORMULA = /(?<=[;\t\r\n])(?=(?:[^\S\t\r\n]|["'])*[=+\-@＝＋－＠])/g;

/** What steers a terminal or turns the order of letters; many readers take NUL for the end of a file. */
// deno-lint-ignore no-control-regex
const UNSEEN = /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

function cellText(cell: Cell): string {
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  if (cell === undefined || cell === null || typeof cell === "boolean") return String(cell ?? "");
  // Half a character has no form in UTF-8.
  const text = (typeof cell === "string" ? cell : canonicalJson(cell)).toWellFormed()
    .replace(UNSEEN, "\ufffd");
  const begin = FORMULA.test(text) && !NUMBER.test(text) ? "'" : "";
  const shielded = begin + text.replace(INNER_FORMULA, "'");
  return /[",\r\n]/.test(shielded) ? `"${shielded.replaceAll('"', '""')}"` : shielded;
}

/** Writes rows one by one. */
function writeRows<Row>(output: Output, columns: Columns<Row>, rows: Iterable<Row>): void {
  let lines = csvLine(Object.keys(columns));
  for (const row of rows) {
    lines += csvLine(Object.values(columns).map((cell) => cell(row)));
    if (lines.length < 100_000) continue;
    output.write(lines);
    lines = "";
  }
  output.write(lines);
}

/** The files of trials and calls. */
const FILES = { trials: TRIALS, calls: CALLS } as const;

function pathOf(folder: string, name: string): string {
  return `${folder.replace(/(?<=[^/\\])[/\\]+$/, "")}/${name}.csv`;
}

/** Returns the records of each metric of a report that has any, by the name of its file. */
function recordsOf(report: Report): [name: string, records: Record<string, JsonValue>[]][] {
  return METRICS.map((
    { id, records },
  ): [string, Record<string, JsonValue>[]] => [id, records(report)]).filter(([, records]) =>
    records.length > 0
  );
}

/**
 * Checks that {@linkcode writeCsv} would overwrite nothing but files of its own, which have the same first columns.
 * Messages name the folder as `shown`.
 *
 * @throws {InputError} If another file is there.
 */
export function assertCsvFolder(folder: string, report: Report, shown: string): void {
  const heads = [
    ...Object.entries(FILES).map(([name, columns]) => [name, Object.keys(columns)] as const),
    // Other reports have other columns behind the first ones.
    ...recordsOf(report).map(([name, [first]]) => [name, Object.keys(first!).slice(0, 2)] as const),
  ];
  for (const [name, head] of heads) {
    assertBegins(pathOf(folder, name), "the report to", {
      kind: "another such report",
      start: head.join(","),
      shown: pathOf(shown, name),
    });
  }
}

/** What {@linkcode writeCsv} writes. */
export interface CsvOptions {
  /** The trials of the report with their events, in any order; they are read one by one and not kept. */
  readonly trials: Iterable<Trial>;
}

/**
 * Writes `trials.csv`, `calls.csv` and a file for each metric of the report into a folder, which is created. Returns how
 * many files there are.
 *
 * @throws {InputError} If a file cannot be written.
 */
export function writeCsv(folder: string, report: Report, { trials }: CsvOptions): number {
  const { options: { prices = {} } } = report;
  const write = <Row>(name: string, columns: Columns<Row>, rows: Iterable<Row>) => {
    using output = new Output(pathOf(folder, name), "the report to");
    writeRows(output, columns, rows);
    output.finish();
  };
  write(
    "calls",
    CALLS,
    function* () {
      for (const { id, events } of trials) {
        for (const call of callsOf(events)) yield { trial: id, call };
      }
    }(),
  );
  write(
    "trials",
    TRIALS,
    report.trials.map((trial, place) => ({
      ...{ trial, number: place + 1, cost: costOfAll([trial], prices) },
    })),
  );
  const metrics = recordsOf(report);
  for (const [name, records] of metrics) {
    // A figure that one row has and another lacks is a column of both.
    const names = new Set(records.flatMap((record) => Object.keys(record)));
    const columns = Object.fromEntries(
      [...names].map((key) => [key, (row: Record<string, JsonValue>) => row[key]]),
    );
    write(name, columns, records);
  }
  return metrics.length + Object.keys(FILES).length;
}
