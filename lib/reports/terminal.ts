/**
 * Terminal reports: tables of trials, verdicts, and tables of a gate's error rates.
 * @module
 */

import type { ComparedPair } from "../gate/comparison.ts";
import { type GateReport, verdictName } from "../gate/gate_report.ts";
import { printable } from "../base/json.ts";
import { percent, sum } from "../base/numbers.ts";
import type { Prices } from "../models/prices.ts";
import { FailedTrials } from "./failures.ts";
import { makeReport, type Report } from "./report.ts";
import type { Check } from "../gate/self_check.ts";
import type { Outcome } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { wrapText } from "../base/wrap.ts";
import { shortNames } from "./tables/_short_names.ts";
import { comparisonTables } from "./tables/_comparisons.ts";
import { alignedTable, layOut, rateColumns, sourceText } from "./tables/table.ts";
import { SECTIONS, type Table } from "./_view.ts";
import { hasFailures, noFailures, unseenNote } from "./tables/_failures.ts";
import { hasCalls } from "./tables/_success.ts";
import { headlineText, overviewTable, verdictLine } from "./tables/_headline.ts";
import { reportWords } from "./_words.ts";
import { tablesOf } from "./_views.ts";

/**
 * Returns the tables of all trials: of each model success by cell, failures by type and behaviours, then what compares
 * them, in the order of a report's sections.
 */
export function renderTables(
  trials: readonly TrialSummary[],
  { prices, width = Infinity }: TablesOptions = {},
): string {
  const report = behindRun(makeReport(trials, { suite: "", prices }));
  return fit([report], width, ([data]) => runParts(data, width));
}

/** Reports alone have the costs of all trials, times, which differ from run to run, and why cells were not solved. */
function behindRun(report: Report): Report {
  const { matrix } = report;
  const subjects = report.subjects.map((one) => ({
    ...one,
    cost: null,
    total: { ...one.total, duration: null },
  }));
  const cells = matrix.cells.map((one) => ({ ...one, why: "" }));
  const variants = matrix.variants.map((one) => ({ ...one, why: "" }));
  return { ...report, subjects, latency: [], matrix: { ...matrix, cells, variants } };
}

/** The matrix of a single variant has all that its headline has. */
function runParts(report: Report, width: number): string[] {
  const { subjects } = report;
  const [first = "", ...others] = [
    ...(subjects.length > 1 ? [renderTable(overviewTable(report), width)] : []),
    renderParts(report, width),
  ];
  const isSimulated = subjects.some(({ simulated }) => simulated);
  return [(isSimulated ? "(simulated: a program, no language model)\n" : "") + first, ...others];
}

/** Options of {@linkcode renderTables}. */
export interface TablesOptions {
  /** Prices of models, for the costs of strategies. */
  readonly prices?: Prices | undefined;
  /**
   * Columns of the terminal. No line is longer: long names of models are shortened, which the first lines explain,
   * and tables go on below one another. Default: unlimited.
   */
  readonly width?: number;
}

/** Returns what is rendered of reports and decisions with short names, below what these stand for. */
function fit<const Data extends readonly (Report | GateReport)[]>(
  data: Data,
  width: number,
  render: (data: Data) => readonly string[],
): string {
  const models = data.flatMap((one) =>
    "subjects" in one ? one.subjects.map(({ subject }) => subject) : [...one.verdicts]
  ).map(({ model }) => model);
  const { forms, shorten } = shortNames(models, width);
  const legend = [...forms].map(([name, form]) => `${form} stands for ${printable(name, 1_000)}`);
  return wrapText(
    [legend.join("\n"), ...render(shorten(data))].filter((part) => part !== "").join("\n\n"),
    width,
  );
}

/** Whether a pair is a strategy and the baseline. */
const isOfStrategies = ({ of, reference }: ComparedPair) => of === "strategy" && reference === true;

/** Returns the tables of all trials, the verdicts of the gate, and then how strategies compare with the baseline. */
export function renderGate(
  trials: readonly TrialSummary[],
  decision: GateReport,
  width = Infinity,
): string {
  const report = behindRun(makeReport(trials, { suite: "" }));
  return fit([report, decision], width, ([data, decided]) => [
    ...runParts({ ...data, comparisons: [] }, width),
    renderVerdicts(decided),
    ...comparisonTables({ ...data, comparisons: data.comparisons.filter(isOfStrategies) })
      .map((table) => renderTable(table, width)),
  ]);
}

/** Returns a report: its headline, its notes, its tables, the failures that are given, and the verdicts of its gates. */
export function renderReport(
  report: Report,
  width = Infinity,
  failures: FailedTrials = new FailedTrials(),
): string {
  const tables = fit([report], width, ([data]) => [
    verdictLine(data) ?? "",
    headlineText(data) ?? "",
    ...(data.subjects.length === 0 ? [] : [renderTable(overviewTable(data), width)]),
    data.notes.map((note) => `* ${printable(note, 1000)}`).join("\n"),
    renderParts(data, width),
    failures.lines(false, undefined, true).join("\n"),
    ...data.gates.map(renderVerdicts),
  ]);
  const title = wrapText(printable(report.suite, 300), width);
  return tables === "" ? title : `${title}\n\n${tables}`;
}

/** Returns one paragraph a subject: its verdict, then its numbers. */
export function renderVerdicts({ verdicts, text }: GateReport): string {
  if (text !== undefined) return text;
  return verdicts.map((one) =>
    [`${verdictName(one)}: ${one.text}`, ...one.numbers.map((line) => `  ${line}`)].join("\n")
  ).join("\n\n");
}

/** With more cells than this, breakdowns by size are shown in their place. */
const MAX_CELLS = 24;
/** At most this many are shown then of the lowest rows of tests. */
const MAX_LOWEST = 12;

/** Outcomes that the table of success shows, or that are answers. */
const PLAIN_OUTCOMES: readonly Outcome[] = [
  "solved",
  "wrong_answer",
  "no_answer",
  "abstained",
  "invalid",
];

/** Tables that are a line where there is a single model. */
const LINES: readonly string[] = [
  "effort",
  "outcomes",
  "missed-calls",
  "behaviours",
  "injections",
  "repetitions",
];

/** Renders all tables but that of the headline, which reports have before their notes. */
function renderParts(report: Report, width: number): string {
  const { subjects, breakdowns } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MAX_CELLS);
  const cutShort = subjects.some(({ outcomes }) =>
    outcomes.some(({ outcome, trials }) => trials > 0 && !PLAIN_OUTCOMES.includes(outcome))
  );
  const left = new Set([
    ...breakdowns.filter(({ kind, values }) =>
      // There is one of kind `sets` for each model, meant as a figure; a single column would repeat the overview.
      !needed || kind === "sets" || values.length === 1
    ).map(({ id }) => id),
    "overview",
    ...(cutShort ? [] : ["outcomes"]),
  ]);
  const tables = tablesOf(report, true)
    .filter(({ id }) => !left.has(id))
    .flatMap((table) =>
      ["matrix", "cells"].includes(table.id) ? shortMatrix(table, report) : [table]
    );
  const rendered = tables.map((table, place) => {
    if (isLine(table)) return lineOf(table) + (isLine(tables[place + 1]) ? "\n" : "\n\n");
    // What several models have is explained once, and what nearly every run has only of several.
    const isExplained = subjects.length === 1 && table.id === "failures" ||
      tables.slice(0, place).some(({ note }) => note === table.note);
    return `${renderTable(isExplained ? noteless(table) : table, width)}\n\n`;
  });
  const matrix = SECTIONS.indexOf("matrix");
  const decisive = tables.filter(({ section }) => SECTIONS.indexOf(section) <= matrix).length;
  return rendered.toSpliced(decisive, 0, ...plainCalls(report)).join("").trimEnd();

  function isLine(table: Table | undefined): boolean {
    return subjects.length === 1 && table !== undefined && LINES.includes(table.id);
  }
}

/** Returns a table with one row as a line. */
function lineOf({ id, title, note, rows: [heads, row] }: Table): string {
  const cells = heads!.slice(1).map((head, place) => `${head} ${row![place + 1]}`);
  // Other heads explain themselves.
  const estimated = id === "effort" && note !== undefined ? ` (${note})` : "";
  return printable(`${title}: ${cells.join(", ")}${estimated}`, 1_000);
}

/** Says in place of a table that no call was wrong, with an empty line below. */
function plainCalls(report: Report): string[] {
  const { subjects } = report;
  if (subjects.length === 0 || hasFailures(subjects)) return [];
  if (!hasCalls(subjects.map(({ total }) => total))) return [];
  const isIdle = sum(subjects, ({ calls }) => calls) === 0;
  return [`${isIdle ? `no call was made${unseenNote(subjects)}` : noFailures(report)}\n\n`];
}

/** Returns what a terminal shows of a long matrix: the lowest rows of tests, and the sum of a single variant. */
function shortMatrix(table: Table, report: Report): Table[] {
  const { id, title, rows } = table;
  const cells = rows.length - 2;
  if (cells <= MAX_CELLS) return [table];
  const isTests = reportWords(report).cell === "test";
  if (!isTests && (id !== "matrix" || report.matrix.variants.length > 1)) return [];
  const lowest = isTests ? MAX_LOWEST : 0;
  return [{
    ...(isTests ? table : noteless(table)),
    title: `${title} (${isTests ? `the lowest ${lowest} of ${cells}` : `all ${cells}`})`,
    rows: [...rows.slice(0, lowest + 1), rows.at(-1)!],
  }];
}

function noteless({ note: _, ...table }: Table): Table {
  return table;
}

/** Returns a table as text: its title, its note, and aligned columns. */
export function renderTable(
  { title, source, paper, note, names, rows }: Table,
  width: number,
): string {
  const heading = `${title}${source === undefined ? "" : ` (${sourceText(source, paper)})`}`;
  return [
    printable(heading, 300),
    ...(note === undefined ? [] : [`(${note})`]),
    alignedTable(rows, names, width),
  ].join("\n");
}

const VERDICTS = ["pass", "fail", "undecided", "invalid"] as const;

/** Returns a table of the decisions of gates on simulations whose true rate is known. */
export function renderChecks(checks: readonly Check[], width = Infinity): string {
  return alignedTable(
    layOut(checks, [
      { head: "truth", cell: ({ truth }) => truth },
      { head: "error", cell: ({ error }) => error },
      { head: "allowed", cell: ({ allowed }) => percent(allowed) },
      rateColumns("seen", (check) => check),
      VERDICTS.map((kind) => ({ head: kind, cell: ({ gates }) => gates[kind] })),
    ]),
    1,
    width,
  );
}
