/**
 * Terminal reports: tables of trials, verdicts, and tables of a gate's error rates.
 * @module
 */

import { variantName } from "../gate/variant.ts";
import { type GateReport, verdictName } from "../gate/gate_report.ts";
import { printable } from "../base/json.ts";
import { countText, percent, sum } from "../base/numbers.ts";
import type { GuessTally, Repetition, VariantMetrics } from "./metrics/metrics.ts";
import type { MissedCallMetrics } from "./metrics/missed_calls.ts";
import type { Prices } from "../models/prices.ts";
import { FailedTrials } from "./failures.ts";
import { makeReport, type Report } from "./report.ts";
import type { Check } from "../gate/self_check.ts";
import type { Outcome } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { wrapText } from "../base/wrap.ts";
import { shortNames } from "./tables/_short_names.ts";
import { strategiesTable } from "./tables/_comparisons.ts";
import {
  alignedTable,
  boundsText,
  estimateNote,
  layOut,
  rateColumns,
  shareText,
  sourceText,
  UNAVAILABLE,
} from "./tables/table.ts";
import type { Table } from "./_view.ts";
import { hasFailures, noFailures } from "./tables/_failures.ts";
import { cellsTable, hasCalls } from "./tables/_success.ts";
import { overviewTable, verdictLine } from "./tables/_headline.ts";
import { placesInMatrix } from "./tables/_matrix.ts";
import { reportWords } from "./_words.ts";
import { tablesOf } from "./_views.ts";

/**
 * Returns the tables of all trials: of each model success by cell, failures by type and behaviours, then what compares
 * them, in the order of a report's sections.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { renderTables } from "@toolgate/toolgate/reports";
 * import { runTrial } from "@toolgate/toolgate/trials";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trial = await runTrial(task, scripted("shrug", () => ({ text: "I cannot tell." })));
 * assertStringIncludes(renderTables([trial]), "shrug");
 * ```
 */
export function renderTables(
  trials: readonly TrialSummary[],
  { prices, width = Infinity }: TablesOptions = {},
): string {
  const report = behindRun(makeReport(trials, { suite: "", prices }));
  return fit([report], width, ([data]) => [renderParts(data, width, { isReport: false })]);
}

/** Only reports have the costs of all trials, and times, which differ from one run to the next. */
function behindRun(report: Report): Report {
  const subjects = report.subjects.map((one) => ({
    ...one,
    cost: null,
    total: { ...one.total, duration: null },
  }));
  return { ...report, subjects };
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

/** Returns the tables of all trials, the verdicts of the gate, and then its comparison of strategies. */
export function renderGate(
  trials: readonly TrialSummary[],
  decision: GateReport,
  width = Infinity,
): string {
  const report = { ...behindRun(makeReport(trials, { suite: "" })), comparisons: [] };
  return fit([report, decision], width, ([data, decided]) => [
    renderParts(data, width, { isReport: false }),
    renderVerdicts(decided),
    ...strategiesTable(decided.comparisons).map((table) => renderTable(table, width)),
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
    ...(data.subjects.length === 0 ? [] : [renderTable(overviewTable(data), width)]),
    data.notes.map((note) => `* ${printable(note, 1000)}`).join("\n"),
    renderParts(data, width, { isReport: true }),
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
/** At most this many are shown then of the lowest rows of the matrix. */
const MAX_LOWEST = 12;
/** More subjects than this share tables, as they are too many to read one after another. */
const MAX_SUBJECTS = 6;

/** Tables of what {@linkcode renderSubject} says of each of few subjects. */
const OF_SUBJECTS = ["outcomes", "failures", "guesses", "behaviours", "repetitions"];
/** Sections that decide, which reports have before what is said of each subject. */
const DECIDING: readonly Table["section"][] = ["comparisons", "matrix"];

/**
 * Renders all tables but that of the headline, which reports have before their notes, around what is said of each of
 * few subjects. Behind a run neither the matrix is shown nor the time that tools took, which differs from run to run.
 */
function renderParts(
  report: Report,
  width: number,
  { isReport }: { readonly isReport: boolean },
): string {
  const { subjects, breakdowns, missedCalls } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MAX_CELLS);
  const many = subjects.length > MAX_SUBJECTS;
  const inMatrix = isReport ? placesInMatrix(report) : [];
  // A matrix of several variants has no room for calls; one of a single variant has them.
  const hasEffort = many || inMatrix.length > 1;
  const left = new Set([
    ...breakdowns.filter(({ kind, values }) =>
      // There is one of kind `sets` for each model, meant as a figure.
      !needed || kind === "sets" ||
      // A breakdown with a single column would repeat the overview.
      (many && values.length === 1)
    ).map(({ id }) => id),
    // A table of one row says less than a line.
    ...(missedCalls.length === 1 ? ["missed-calls"] : []),
    ...(many ? [] : OF_SUBJECTS),
    ...(many && !isReport ? [] : ["overview"]),
    ...(isReport ? [] : ["matrix", "latency"]),
    ...(hasEffort ? [] : ["effort"]),
    ...(subjects.some((one) => cutShort(one).length > 0) ? [] : ["outcomes"]),
  ]);
  const tables = tablesOf(report, true)
    .filter((table) => table.section !== "cells" && !left.has(table.id))
    .flatMap((table) => table.id === "matrix" ? shortMatrix(table, report) : [table]);
  const isMatrixShown = hasEffort || tables.some(({ id }) => id === "matrix");
  const render = (table: Table) => {
    const before = tables.slice(0, tables.indexOf(table));
    // What several models have is explained once.
    const isExplained = before.some(({ note }) => note === table.note);
    return renderTable(isExplained ? noteless(table) : table, width);
  };
  const isFirst = ({ section }: Table) => isReport && DECIDING.includes(section);
  return [
    ...tables.filter(isFirst).map(render),
    ...(many ? [] : subjects.map((one, place) => {
      const hasCells = !(inMatrix.includes(place) && isMatrixShown);
      return renderSubject(one, { report, place, width, hasCells });
    })),
    ...(many && !hasFailures(subjects) && hasCalls(subjects.map(({ total }) => total))
      ? [noFailures(report.unit)]
      : []),
    ...(missedCalls.length === 1 ? [missedCallsLine(missedCalls[0]!)] : []),
    ...tables.filter((table) => !isFirst(table)).map(render),
  ].join("\n\n");
}

/** Returns what a terminal shows of a long matrix: the lowest rows of tests; those of sizes stand in breakdowns. */
function shortMatrix(table: Table, report: Pick<Report, "unit" | "callSets">): Table[] {
  const { title, rows } = table;
  const cells = rows.length - 2;
  if (cells <= MAX_CELLS) return [table];
  if (reportWords(report).cell !== "test") return [];
  return [{
    ...table,
    title: `${title} (the lowest ${MAX_LOWEST} of ${cells})`,
    rows: [...rows.slice(0, MAX_LOWEST + 1), rows.at(-1)!],
  }];
}

function noteless({ note: _, ...table }: Table): Table {
  return table;
}

function renderTable(
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

function renderSubject(
  metrics: VariantMetrics,
  { report, place, width, hasCells }: {
    readonly report: Report;
    readonly place: number;
    readonly width: number;
    /** Whether to show its cells, which the matrix may have already. */
    readonly hasCells: boolean;
  },
): string {
  const { subject, simulated, cells, total, repetition, behaviours, usage, judging } = metrics;
  const words = reportWords(report);
  const { rows, note } = cellsTable(metrics, place, words);
  const shownRows = cells.length > MAX_CELLS ? [rows[0]!, rows.at(-1)!] : rows;
  const parts = [
    printable(variantName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    ...(hasCells
      ? [
        ...(note === undefined ? [] : [`(${note})`]),
        alignedTable(shownRows, 1, width),
        ...(shownRows === rows
          ? []
          : [`over ${cells.length} ${words.cell === "test" ? "tests" : "cells"}`]),
      ]
      : []),
    ...endingsLine(metrics),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    ...(hasCalls([total]) ? [renderFailures(metrics, report.unit)] : []),
  ];
  const counts = Object.entries(behaviours).filter(([name]) => !words.hidden.includes(name))
    .map(([name, count]) => `${name} ${count}`);
  const tokens = (one: typeof usage) =>
    `${one.inputTokens} tokens read, ${one.outputTokens} written${estimateNote(one)}`;
  const lines = [
    `spent: ${tokens(usage)}${judging === undefined ? "" : `; by judges: ${tokens(judging)}`}`,
    ...(metrics.guesses === undefined ? [] : [guessesLine(metrics.guesses)]),
    ...(counts.length === 0 ? [] : [`behaviours (trials): ${printable(counts.join(", "))}`]),
  ];
  return [...parts, lines.join("\n")].join("\n\n");
}

/** Outcomes that the table of success shows, or that are answers. */
const PLAIN_OUTCOMES: readonly Outcome[] = [
  "solved",
  "wrong_answer",
  "no_answer",
  "abstained",
  "invalid",
];

/** The outcomes that ended trials before an answer, with their trials, the commonest first. */
function cutShort({ outcomes }: VariantMetrics): VariantMetrics["outcomes"] {
  return outcomes
    .filter(({ outcome, trials }) => trials > 0 && !PLAIN_OUTCOMES.includes(outcome))
    .sort((one, other) => other.trials - one.trials);
}

function endingsLine(metrics: VariantMetrics): string[] {
  const endings = cutShort(metrics).map(({ outcome, trials }) => `${trials} ${outcome}`);
  return endings.length === 0 ? [] : [`ended without an answer: ${endings.join(", ")}`];
}

function guessesLine({ calls, trials, rate, interval }: GuessTally): string {
  return `right guesses, which are no failures: ${
    countText(calls, "call")
  } with a right value that no result had ` +
    `established, in ${countText(trials, "trial")} (${percent(rate)}, 95% interval ${
      boundsText(interval)
    })`;
}

function renderRepetition({ k, graphs, unavailable, ...rates }: Repetition): string {
  const show = (rate: number | null) => shareText(rate, UNAVAILABLE);
  const missing = unavailable === 0
    ? ""
    : `, not available for ${unavailable} with fewer than ${k} valid trials`;
  return `of ${k} trials of a task at least one solved (pass@${k}): ${show(rates.passAtK)}, ` +
    `all solved (pass^${k}): ${show(rates.passHatK)}; ${graphs} tasks${missing}`;
}

function renderFailures({ failures, calls }: VariantMetrics, unit: string): string {
  const count = sum(failures, ({ roots, cascades }) => roots + cascades);
  if (count === 0) return calls === 0 ? "no call was made" : noFailures(unit);
  const seen = failures.filter(({ roots, cascades }) => roots + cascades > 0);
  return alignedTable(layOut(seen, [
    { head: "failure type", cell: ({ type }) => type },
    { head: "calls", cell: ({ roots, cascades }) => roots + cascades },
    { head: "share", cell: ({ roots, cascades }) => percent((roots + cascades) / count) },
    { head: "roots", cell: ({ roots }) => roots },
    { head: "cascades", cell: ({ cascades }) => cascades },
  ]));
}

function missedCallsLine({ calls, of, rate, interval }: MissedCallMetrics): string {
  const which = `${countText(calls.of, "call")} that ${countText(of, "trial")} needed`;
  if (calls.count === 0) return `missed calls: none of the ${which}`;
  return `missed calls: ${calls.count} of the ${which}, in ${
    shareText(rate)
  } of these trials (95% interval ${boundsText(interval)})`;
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
