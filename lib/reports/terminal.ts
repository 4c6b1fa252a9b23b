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
import { callSetTables } from "./tables/_question_sets.ts";
import { dimensionTables } from "./tables/_dimensions.ts";
import { distractorTable } from "./tables/_distractors.ts";
import { errorHandlingTables } from "./tables/_error_handling.ts";
import { latencyTables } from "./tables/_latency.ts";
import { formatTables } from "./tables/_formats.ts";
import { perturbationTables } from "./tables/_perturbations.ts";
import { recoveryTables } from "./tables/_recovery.ts";
import { strategiesTable, workTable } from "./tables/_strategies.ts";
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
import {
  behavioursTable,
  failuresTable,
  guessesTable,
  missedCallsTable,
  noFailures,
  outcomesTable,
} from "./tables/_failures.ts";
import { probesTable } from "./tables/_probes.ts";
import { overviewTable, verdictLine } from "./tables/_headline.ts";
import { matrixTables, placesInMatrix } from "./tables/_matrix.ts";
import {
  breakdownTable,
  cellsTable,
  effortTable,
  hasCalls,
  repetitionsTable,
} from "./tables/_success.ts";
import { reportWords } from "./_words.ts";

/**
 * Returns the tables of all trials: success by cell, failures by type, behaviours, breakdowns, effects of
 * perturbations, scores of call sets, and last strategies against the baseline, with their extra cost
 * where `prices` has their models.
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
  return fit([report], width, ([data]) => [renderParts(data, width)]);
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
function fit<const Data extends readonly (Omit<Report, "suite" | "notes"> | GateReport)[]>(
  data: Data,
  width: number,
  render: (data: Data) => readonly string[],
): string {
  const models = data.flatMap((one) =>
    "subjects" in one ? one.subjects.map(({ subject }) => subject) : [...one.verdicts]
  ).map(({ model }) => model);
  const { legend, shorten } = shortNames(models, width);
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
    renderParts(data, width),
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
  const tables = fit([report], width, ([{ notes, gates, ...data }]) => [
    verdictLine({ gates }) ?? "",
    ...(data.subjects.length === 0 ? [] : [renderTable(overviewTable({ ...data, gates }), width)]),
    notes.map((note) => `* ${printable(note, 1000)}`).join("\n"),
    renderParts(data, width, matrixTables(data)),
    // Not behind each run, as times differ from one to the next.
    ...latencyTables(data).map((table) => renderTable(table, width)),
    failures.lines(false, undefined, true).join("\n"),
    ...gates.map(renderVerdicts),
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

/** Renders all tables; those of a report have `matrix`, and its headline before them. */
function renderParts(
  report: Omit<Report, "suite" | "notes" | "gates">,
  width: number,
  matrix?: readonly Table[],
): string {
  const { subjects, comparisons, breakdowns } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MAX_CELLS);
  const many = subjects.length > MAX_SUBJECTS;
  const shownMatrix = (matrix ?? []).flatMap((table) => shortMatrix(table, report));
  const inMatrix = matrix === undefined ? [] : placesInMatrix(report);
  // A matrix of several variants has no room for calls; one of a single variant has them.
  const hasEffort = many || inMatrix.length > 1;
  const shownBreakdowns = breakdowns.filter(({ kind, values }) =>
    // There is one of kind `sets` for each model, meant as a figure.
    needed && kind !== "sets" &&
    // A breakdown with a single column would repeat the overview.
    !(many && values.length === 1)
  );
  const tables = [
    // With many subjects it is among their tables.
    ...(many ? [] : errorHandlingTables(report, true)),
    ...(report.missedCalls.length > 1 ? missedCallsTable(report) : []),
    ...probesTable(subjects),
    ...shownBreakdowns.map((breakdown) => breakdownTable(breakdown, true)),
    ...distractorTable(report.distractors ?? [], true),
    ...callSetTables(report, true),
    ...formatTables(report),
    ...recoveryTables(report),
    ...dimensionTables(report, true),
    ...perturbationTables(report, true),
    ...workTable(subjects),
    // Last, next to the prompt: strategies are run for this comparison.
    ...strategiesTable(comparisons),
  ];
  return [
    ...shownMatrix.map((table) => renderTable(table, width)),
    ...(many && matrix === undefined ? [renderTable(overviewTable(report), width)] : []),
    ...(hasEffort ? [renderTable(effortTable(report), width)] : []),
    ...(many ? renderSubjects(report, width) : subjects.map((one, place) => {
      const isShown = inMatrix.includes(place) && (hasEffort || shownMatrix.length > 0);
      return renderSubject(one, { report, place, width, hasCells: !isShown });
    })),
    // A table of one row says less than a line.
    ...(report.missedCalls.length === 1 ? [missedCallsLine(report.missedCalls[0]!)] : []),
    ...tables.map((table, place) =>
      // What several models have is explained once.
      renderTable(
        tables.slice(0, place).some(({ note }) => note === table.note) ? noteless(table) : table,
        width,
      )
    ),
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

/** Returns the results of {@linkcode renderSubject} for all subjects, side by side. */
function renderSubjects(
  report: Omit<Report, "suite" | "notes" | "gates">,
  width: number,
): string[] {
  const { subjects, unit } = report;
  const failures = failuresTable(subjects, true);
  const render = (tables: readonly Table[]) => tables.map((table) => renderTable(table, width));
  return [
    ...render(errorHandlingTables(report, true)),
    ...(subjects.some((one) => cutShort(one).length > 0) ? render([outcomesTable(report)]) : []),
    ...render(repetitionsTable(subjects)),
    ...(failures.length > 0
      ? render(failures)
      : hasCalls(subjects.map(({ total }) => total))
      ? [noFailures(unit)]
      : []),
    ...render(guessesTable(subjects)),
    ...render(behavioursTable(report)),
  ];
}

function renderSubject(
  metrics: VariantMetrics,
  { report, place, width, hasCells }: {
    readonly report: Omit<Report, "suite" | "notes" | "gates">;
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
