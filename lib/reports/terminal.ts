/**
 * Reports for the terminal: tables of trials, and of a gate's own errors.
 * @module
 */

import { breakDown } from "./metrics/breakdown.ts";
import { measureBrittleness } from "./metrics/brittleness.ts";
import { measureCallSets } from "./metrics/question_sets.ts";
import { comparePerturbations, compareStrategies } from "../gate/comparison.ts";
import { variantName } from "../gate/variant.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { measureDimensions } from "./metrics/dimensions.ts";
import { measureFormats } from "./metrics/formats.ts";
import { printable } from "../base/json.ts";
import { measure, type Repetition, type VariantMetrics } from "./metrics/metrics.ts";
import type { Prices } from "../models/prices.ts";
import { measureRecovery } from "./metrics/recovery.ts";
import type { Report } from "./report.ts";
import type { Check } from "../gate/self_check.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { unitNames } from "../gate/unit_names.ts";
import { percent } from "../base/numbers.ts";
import { callSetTables } from "./tables/question_sets.ts";
import { dimensionTables } from "./tables/dimensions.ts";
import { formatTables } from "./tables/formats.ts";
import { alignedTable } from "./text.ts";
import { perturbationTables } from "./tables/perturbations.ts";
import { recoveryTables } from "./tables/recovery.ts";
import { strategiesTable, workTable } from "./tables/strategies.ts";
import { sourceText, type Table } from "./tables/table.ts";
import {
  behavioursTable,
  breakdownTable,
  cellsTable,
  failuresTable,
  hasCalls,
  noFailures,
  overviewTable,
  probesTable,
  repetitionsTable,
} from "./tables/tables.ts";
import { renderVerdicts } from "./verdicts.ts";

/**
 * The tables of all trials: success by cell, failures by type, behaviours, breakdowns, what perturbations
 * did, what answers to questions of call sets are worth, and last of all strategies against the baseline. What they cost beyond it is told where `prices` has their models.
 */
export function renderTables(trials: readonly TrialSummary[], prices?: Prices): string {
  return renderParts({
    comparisons: compareStrategies(trials, prices),
    ...toldOf(trials),
  });
}

/** What a gate is about: the tables of all trials, the verdicts, and strategies beneath them. */
export function renderGate(trials: readonly TrialSummary[], decision: GateReport): string {
  return [
    renderParts({
      comparisons: [],
      ...toldOf(trials),
    }),
    renderVerdicts(decision),
    ...strategiesTable(decision.comparisons).map(renderTable),
  ].join("\n\n");
}

function toldOf(trials: readonly TrialSummary[]): Omit<Told, "comparisons"> {
  return {
    unit: unitNames(trials.map(({ task }) => task)).one,
    subjects: measure(trials),
    breakdowns: breakDown(trials),
    perturbations: comparePerturbations(trials),
    brittleness: measureBrittleness(trials),
    callSets: measureCallSets(trials),
    formats: measureFormats(trials),
    recovery: measureRecovery(trials),
    dimensions: measureDimensions(trials),
  };
}

/** A report with its notes; verdicts stand beneath, by themselves. */
export function renderReport({ suite, notes, ...told }: Report): string {
  const parts = [
    printable(suite, 300),
    ...(notes.length === 0 ? [] : [notes.map((note) => `* ${printable(note, 1000)}`).join("\n")]),
    renderParts(told),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** With more cells than this, their sums along the sizes are told in their place. */
const MOST_CELLS = 24;
/** More subjects than this are told side by side: nobody reads so many one after another. */
const MOST_SUBJECTS = 6;

type Told = Pick<
  Report,
  | "unit"
  | "subjects"
  | "comparisons"
  | "breakdowns"
  | "perturbations"
  | "brittleness"
  | "callSets"
  | "formats"
  | "recovery"
  | "dimensions"
>;

function renderParts(report: Told): string {
  const { subjects, comparisons, breakdowns } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MOST_CELLS);
  const many = subjects.length > MOST_SUBJECTS;
  const told = breakdowns.filter(({ kind, values }) =>
    // One for each model: those are to be looked at rather than read.
    needed && kind !== "sets" &&
    // What has a single column would repeat the table of all of them.
    !(many && values.length === 1)
  );
  return [
    ...(many
      ? renderSubjects(report)
      : subjects.map((one, place) => renderSubject(one, place, report.unit))),
    ...probesTable(subjects).map(renderTable),
    ...told.map((breakdown) => renderTable(breakdownTable(breakdown, true))),
    ...callSetTables(report, true).map(renderTable),
    ...formatTables(report).map(renderTable),
    ...recoveryTables(report).map(renderTable),
    ...dimensionTables(report, true).map(renderTable),
    ...perturbationTables(report, true).map(renderTable),
    ...workTable(subjects).map(renderTable),
    // What several strategies were run for: nobody should have to look for it.
    ...strategiesTable(comparisons).map(renderTable),
  ].join("\n\n");
}

function renderTable({ title, source, paper, note, rows }: Table): string {
  const heading = `${title}${source === undefined ? "" : ` (${sourceText(source, paper)})`}`;
  return [
    printable(heading, 300),
    ...(note === undefined ? [] : [`(${note})`]),
    alignedTable(rows),
  ].join("\n");
}

/** What {@linkcode renderSubject} tells of each, side by side. */
function renderSubjects({ subjects, unit }: Told): string[] {
  const failures = failuresTable(subjects, true);
  return [
    renderTable(overviewTable(subjects)),
    ...repetitionsTable(subjects).map(renderTable),
    ...(failures.length > 0
      ? failures.map(renderTable)
      : hasCalls(subjects.map(({ total }) => total))
      ? [noFailures(unit)]
      : []),
    ...behavioursTable(subjects).map(renderTable),
  ];
}

function renderSubject(metrics: VariantMetrics, place: number, unit: string): string {
  const { subject, simulated, cells, total, repetition, behaviours, usage } = metrics;
  const { rows } = cellsTable(metrics, place);
  const shown = cells.length > MOST_CELLS ? [rows[0]!, rows.at(-1)!] : rows;
  const parts = [
    printable(variantName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    alignedTable(shown),
    ...(shown === rows ? [] : [`over ${cells.length} cells`]),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    ...(hasCalls([total]) ? [renderFailures(metrics, unit)] : []),
    `spent: ${usage.inputTokens} tokens read, ${usage.outputTokens} written`,
  ];
  const seen = Object.entries(behaviours).map(([name, count]) => `${name} ${count}`);
  if (seen.length > 0) parts.push(`behaviours (trials): ${printable(seen.join(", "))}`);
  return parts.join("\n\n");
}

function renderRepetition({ k, graphs, unavailable, ...rates }: Repetition): string {
  const show = (rate: number | null) => rate === null ? "not available" : percent(rate);
  const missing = unavailable === 0
    ? ""
    : `, not available for ${unavailable} with fewer than ${k} valid trials`;
  return `of ${k} trials of a task at least one solved (pass@${k}): ${show(rates.passAtK)}, ` +
    `all solved (pass^${k}): ${show(rates.passHatK)}; ${graphs} tasks${missing}`;
}

function renderFailures({ failures, calls }: VariantMetrics, unit: string): string {
  const count = failures.reduce((sum, { roots, cascades }) => sum + roots + cascades, 0);
  if (count === 0) return calls === 0 ? "no call was made" : noFailures(unit);
  return alignedTable([
    ["failure type", "calls", "share", "roots", "cascades"],
    ...failures.map(({ type, roots, cascades }) => [
      type,
      String(roots + cascades),
      percent((roots + cascades) / count),
      String(roots),
      String(cascades),
    ]),
  ]);
}

/** How gates decided where the truth was known, as a table. */
export function renderChecks(checks: readonly Check[]): string {
  return alignedTable([
    ["truth", "error", "allowed", "seen", "95% interval", "pass", "fail", "undecided", "invalid"],
    ...checks.map(({ truth, error, allowed, rate, interval, gates }) => [
      truth,
      error,
      percent(allowed),
      percent(rate),
      `${percent(interval.lower)} to ${percent(interval.upper)}`,
      ...[gates.pass, gates.fail, gates.undecided, gates.invalid].map(String),
    ]),
  ]);
}
