/**
 * CSV reports: tidy tables of trials, calls, cells and comparisons, for other programs.
 *
 * Files follow RFC 4180, but lines end with a line feed alone. Texts of models, tools and journals are hostile: a
 * spreadsheet must not run them, and no reader stumble over them.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 * @module
 */

import { assertBegins, Output } from "../base/output_file.ts";
import { canonicalJson } from "../base/json.ts";
import { callsOf } from "../calls/trace.ts";
import { costOfAll, type Prices } from "../models/prices.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { CALLS, type Cell, CELLS, type Columns, COMPARISONS, TRIALS } from "./_csv_columns.ts";
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

/** The files of a folder. */
const FILES = { trials: TRIALS, calls: CALLS, cells: CELLS, comparisons: COMPARISONS } as const;

function pathOf(folder: string, name: string): string {
  return `${folder.replace(/(?<=[^/\\])[/\\]+$/, "")}/${name}.csv`;
}

/** The names of the files that {@linkcode writeCsv} writes. */
export const CSV_FILES: readonly string[] = Object.keys(FILES).map((name) => `${name}.csv`);

/**
 * Checks that {@linkcode writeCsv} would overwrite nothing but files of its own, which have the same first columns.
 * Messages name the folder as `shown`.
 *
 * @throws {InputError} If another file is there.
 */
export function assertCsvFolder(folder: string, shown: string): void {
  for (const [name, columns] of Object.entries(FILES)) {
    assertBegins(pathOf(folder, name), "the report to", {
      kind: "another such report",
      start: `${Object.keys(columns).slice(0, 3).join(",")},`,
      shown: pathOf(shown, name),
    });
  }
}

/** What {@linkcode writeCsv} writes. */
export interface CsvOptions {
  /** The trials of the report, in its order. */
  readonly summaries: readonly TrialSummary[];
  /** The same trials with their events, in any order; they are read one by one and not kept. */
  readonly trials: Iterable<Trial>;
  readonly prices?: Prices;
}

/**
 * Writes `trials.csv`, `calls.csv`, `cells.csv` and `comparisons.csv` into a folder, which is created.
 *
 * @throws {InputError} If a file cannot be written.
 */
export function writeCsv(
  folder: string,
  report: Report,
  { summaries, trials, prices = {} }: CsvOptions,
): void {
  using outputs = new DisposableStack();
  const [calls, trialFile, cells, comparisons] = ["calls", "trials", "cells", "comparisons"]
    .map((name) => outputs.use(new Output(pathOf(folder, name), "the report to")));
  writeRows(
    calls!,
    CALLS,
    function* () {
      for (const { id, events } of trials) {
        for (const call of callsOf(events)) {
          yield { trial: id, call };
        }
      }
    }(),
  );
  writeRows(
    trialFile!,
    TRIALS,
    summaries.map((trial, place) => ({
      ...{ trial, number: place + 1, cost: costOfAll([trial], prices) },
    })),
  );
  writeRows(
    cells!,
    CELLS,
    report.subjects.flatMap(({ subject, simulated, cells }) =>
      cells.map((own) => ({ subject, simulated, ...own }))
    ),
  );
  writeRows(comparisons!, COMPARISONS, report.comparisons);
  for (const file of [calls, trialFile, cells, comparisons]) file!.finish();
}
