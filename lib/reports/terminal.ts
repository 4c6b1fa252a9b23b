/**
 * Terminal reports: tables of trials, verdicts, and tables of a gate's error rates.
 * @module
 */

import { variantName } from "../gate/variant.ts";
import { type GateReport, verdictName } from "../gate/gate_report.ts";
import { printable } from "../base/json.ts";
import { countText, percent, sum } from "../base/numbers.ts";
import type { GuessTally, Repetition, VariantMetrics } from "./metrics/metrics.ts";
import type { Prices } from "../models/prices.ts";
import { makeReport, type Report } from "./report.ts";
import type { Check } from "../gate/self_check.ts";
import type { Outcome } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
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
  type Table,
  UNAVAILABLE,
} from "./tables/table.ts";
import {
  behavioursTable,
  failuresTable,
  guessesTable,
  missedCallsTable,
  noFailures,
  outcomesTable,
} from "./tables/_failures.ts";
import { probesTable } from "./tables/_probes.ts";
import {
  breakdownTable,
  cellsTable,
  hasCalls,
  overviewTable,
  repetitionsTable,
} from "./tables/_success.ts";

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
export function renderTables(trials: readonly TrialSummary[], prices?: Prices): string {
  const { subjects, ...report } = makeReport(trials, { suite: "", prices });
  // Only reports have the costs of all trials.
  return renderParts({ ...report, subjects: subjects.map((one) => ({ ...one, cost: null })) });
}

/** Returns the tables of all trials, the verdicts of the gate, and then its comparison of strategies. */
export function renderGate(trials: readonly TrialSummary[], decision: GateReport): string {
  return [
    renderParts({ ...makeReport(trials, { suite: "" }), comparisons: [] }),
    renderVerdicts(decision),
    ...strategiesTable(decision.comparisons).map(renderTable),
  ].join("\n\n");
}

/** Returns a report with its notes, but without verdicts, which {@linkcode renderVerdicts} returns. */
export function renderReport({ suite, notes, ...data }: Report): string {
  const parts = [
    printable(suite, 300),
    ...(notes.length === 0 ? [] : [notes.map((note) => `* ${printable(note, 1000)}`).join("\n")]),
    renderParts(data),
    // Not behind each run, as times differ from one to the next.
    ...latencyTables(data).map(renderTable),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
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
/** More subjects than this share tables, as they are too many to read one after another. */
const MAX_SUBJECTS = 6;

function renderParts(report: Omit<Report, "suite" | "notes">): string {
  const { subjects, comparisons, breakdowns } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MAX_CELLS);
  const many = subjects.length > MAX_SUBJECTS;
  const shownBreakdowns = breakdowns.filter(({ kind, values }) =>
    // There is one of kind `sets` for each model, meant as a figure.
    needed && kind !== "sets" &&
    // A breakdown with a single column would repeat the overview.
    !(many && values.length === 1)
  );
  const tables = [
    // With many subjects it is among their tables.
    ...(many ? [] : errorHandlingTables(report, true)),
    ...missedCallsTable(report),
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
    ...(many
      ? renderSubjects(report)
      : subjects.map((one, place) => renderSubject(one, place, report.unit))),
    ...tables.map(renderTable),
  ].join("\n\n");
}

function renderTable({ title, source, paper, note, names, rows }: Table): string {
  const heading = `${title}${source === undefined ? "" : ` (${sourceText(source, paper)})`}`;
  return [
    printable(heading, 300),
    ...(note === undefined ? [] : [`(${note})`]),
    alignedTable(rows, names),
  ].join("\n");
}

/** Returns the results of {@linkcode renderSubject} for all subjects, side by side. */
function renderSubjects(report: Pick<Report, "subjects" | "unit" | "errorHandling">): string[] {
  const { subjects, unit } = report;
  const failures = failuresTable(subjects, true);
  return [
    renderTable(overviewTable(subjects)),
    ...errorHandlingTables(report, true).map(renderTable),
    ...(subjects.some((one) => cutShort(one).length > 0)
      ? [renderTable(outcomesTable(subjects))]
      : []),
    ...repetitionsTable(subjects).map(renderTable),
    ...(failures.length > 0
      ? failures.map(renderTable)
      : hasCalls(subjects.map(({ total }) => total))
      ? [noFailures(unit)]
      : []),
    ...guessesTable(subjects).map(renderTable),
    ...behavioursTable(subjects).map(renderTable),
  ];
}

function renderSubject(metrics: VariantMetrics, place: number, unit: string): string {
  const { subject, simulated, cells, total, repetition, behaviours, usage } = metrics;
  const { rows, note } = cellsTable(metrics, place);
  const shownRows = cells.length > MAX_CELLS ? [rows[0]!, rows.at(-1)!] : rows;
  const parts = [
    printable(variantName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    ...(note === undefined ? [] : [`(${note})`]),
    alignedTable(shownRows),
    ...(shownRows === rows ? [] : [`over ${cells.length} cells`]),
    ...endingsLine(metrics),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    ...(hasCalls([total]) ? [renderFailures(metrics, unit)] : []),
    `spent: ${usage.inputTokens} tokens read, ${usage.outputTokens} written${estimateNote(usage)}`,
  ];
  if (metrics.guesses !== undefined) parts.push(guessesLine(metrics.guesses));
  const counts = Object.entries(behaviours).map(([name, count]) => `${name} ${count}`);
  if (counts.length > 0) parts.push(`behaviours (trials): ${printable(counts.join(", "))}`);
  return parts.join("\n\n");
}

/** Outcomes that the table of success tells of, or that are answers. */
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
  return alignedTable(layOut(failures, [
    { head: "failure type", cell: ({ type }) => type },
    { head: "calls", cell: ({ roots, cascades }) => roots + cascades },
    { head: "share", cell: ({ roots, cascades }) => percent((roots + cascades) / count) },
    { head: "roots", cell: ({ roots }) => roots },
    { head: "cascades", cell: ({ cascades }) => cascades },
  ]));
}

const VERDICTS = ["pass", "fail", "undecided", "invalid"] as const;

/** Returns a table of the decisions of gates on simulations whose true rate is known. */
export function renderChecks(checks: readonly Check[]): string {
  return alignedTable(layOut(checks, [
    { head: "truth", cell: ({ truth }) => truth },
    { head: "error", cell: ({ error }) => error },
    { head: "allowed", cell: ({ allowed }) => percent(allowed) },
    rateColumns("seen", (check) => check),
    VERDICTS.map((kind) => ({ head: kind, cell: ({ gates }) => gates[kind] })),
  ]));
}
