/**
 * Terminal reports: tables of trials, and of a gate's error rates.
 * @module
 */

import { breakDown } from "./metrics/_breakdown.ts";
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
import { callSetTables } from "./tables/_question_sets.ts";
import { dimensionTables } from "./tables/_dimensions.ts";
import { formatTables } from "./tables/_formats.ts";
import { alignedTable } from "./text.ts";
import { perturbationTables } from "./tables/_perturbations.ts";
import { recoveryTables } from "./tables/_recovery.ts";
import { strategiesTable, workTable } from "./tables/_strategies.ts";
import { sourceText, type Table } from "./tables/_table.ts";
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
} from "./tables/_tables.ts";
import { renderVerdicts } from "./verdicts.ts";

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
  return renderParts({
    comparisons: compareStrategies(trials, prices),
    ...measureTables(trials),
  });
}

/** Returns the tables of all trials, the verdicts of the gate, and then its comparison of strategies. */
export function renderGate(trials: readonly TrialSummary[], decision: GateReport): string {
  return [
    renderParts({
      comparisons: [],
      ...measureTables(trials),
    }),
    renderVerdicts(decision),
    ...strategiesTable(decision.comparisons).map(renderTable),
  ].join("\n\n");
}

function measureTables(trials: readonly TrialSummary[]): Omit<TableData, "comparisons"> {
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

/** Returns a report with its notes, but without verdicts, which {@linkcode renderVerdicts} returns. */
export function renderReport({ suite, notes, ...data }: Report): string {
  const parts = [
    printable(suite, 300),
    ...(notes.length === 0 ? [] : [notes.map((note) => `* ${printable(note, 1000)}`).join("\n")]),
    renderParts(data),
  ];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** With more cells than this, breakdowns by size are shown in their place. */
const MOST_CELLS = 24;
/** More subjects than this share tables, as they are too many to read one after another. */
const MOST_SUBJECTS = 6;

type TableData = Pick<
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

function renderParts(report: TableData): string {
  const { subjects, comparisons, breakdowns } = report;
  const needed = subjects.length > 1 || subjects.some(({ cells }) => cells.length > MOST_CELLS);
  const many = subjects.length > MOST_SUBJECTS;
  const shownBreakdowns = breakdowns.filter(({ kind, values }) =>
    // There is one of kind `sets` for each model, meant as a figure.
    needed && kind !== "sets" &&
    // A breakdown with a single column would repeat the overview.
    !(many && values.length === 1)
  );
  return [
    ...(many
      ? renderSubjects(report)
      : subjects.map((one, place) => renderSubject(one, place, report.unit))),
    ...probesTable(subjects).map(renderTable),
    ...shownBreakdowns.map((breakdown) => renderTable(breakdownTable(breakdown, true))),
    ...callSetTables(report, true).map(renderTable),
    ...formatTables(report).map(renderTable),
    ...recoveryTables(report).map(renderTable),
    ...dimensionTables(report, true).map(renderTable),
    ...perturbationTables(report, true).map(renderTable),
    ...workTable(subjects).map(renderTable),
    // Last, next to the prompt: strategies are run for this comparison.
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

/** Returns the results of {@linkcode renderSubject} for all subjects, side by side. */
function renderSubjects({ subjects, unit }: TableData): string[] {
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
  const shownRows = cells.length > MOST_CELLS ? [rows[0]!, rows.at(-1)!] : rows;
  const parts = [
    printable(variantName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    alignedTable(shownRows),
    ...(shownRows === rows ? [] : [`over ${cells.length} cells`]),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    ...(hasCalls([total]) ? [renderFailures(metrics, unit)] : []),
    `spent: ${usage.inputTokens} tokens read, ${usage.outputTokens} written`,
  ];
  const counts = Object.entries(behaviours).map(([name, count]) => `${name} ${count}`);
  if (counts.length > 0) parts.push(`behaviours (trials): ${printable(counts.join(", "))}`);
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

/** Returns a table of the decisions of gates on simulations whose true rate is known. */
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
