/**
 * The tables of a report, as rows of text that each view lays out.
 * @module
 */

import { BEHAVIOURS, FAILURE_TYPES } from "../../calls/failure_types.ts";
import type { Breakdown, Series } from "../metrics/_breakdown.ts";
import type { FailureTally, Tally, VariantMetrics } from "../metrics/metrics.ts";
import type { Report } from "../report.ts";
import { wilson } from "../../statistics/proportions.ts";
import { OUTCOMES } from "../../trials/trial.ts";
import { percent } from "../../base/numbers.ts";
import { callSetTables } from "./_question_sets.ts";
import { dimensionTables } from "./_dimensions.ts";
import { formatTables } from "./_formats.ts";
import { perturbationTables } from "./_perturbations.ts";
import { recoveryTables } from "./_recovery.ts";
import { strategiesTable, workTable } from "./_strategies.ts";
import { grouped, nameOf, type Table } from "./_table.ts";

/** The columns of a tally, which {@linkcode tallyColumns} fills; those without data are left out. */
const TALLY_COLUMNS = [
  "trials",
  "solved",
  "95% interval",
  "calls if solved",
  "if not",
  "fewest calls",
  "invalid",
  "unchanged",
] as const;

type TallyColumn = typeof TALLY_COLUMNS[number];

/** Returns the headings of the columns that have data in these tallies. */
function tallyHead(tallies: readonly Tally[]): TallyColumn[] {
  const isShown: Readonly<Partial<Record<TallyColumn, boolean>>> = {
    "calls if solved": hasCalls(tallies),
    "if not": hasCalls(tallies),
    "fewest calls": hasFewest(tallies),
    unchanged: hasUnchanged(tallies),
  };
  return TALLY_COLUMNS.filter((column) => isShown[column] ?? true);
}

/** Whether any valid trial could make calls; true without valid trials. */
export function hasCalls(tallies: readonly Tally[]): boolean {
  const valid = tallies.filter((tally) => tally.valid > 0);
  return valid.length === 0 ||
    valid.some(({ callsSolved, callsFailed }) => callsSolved !== null || callsFailed !== null);
}

function hasFewest(tallies: readonly Tally[]): boolean {
  const valid = tallies.filter((tally) => tally.valid > 0);
  return valid.length === 0 || valid.some(({ minimumCalls }) => minimumCalls !== null);
}

function hasUnchanged(tallies: readonly Tally[]): boolean {
  return tallies.some(({ unchanged }) => unchanged > 0);
}

/** Returns the cells of a tally in a table of `tallies`. */
function tallyColumns(tally: Tally, tallies: readonly Tally[]): string[] {
  const { trials, valid, unchanged, rate, callsSolved, callsFailed, minimumCalls } = tally;
  const texts: Readonly<Record<TallyColumn, string>> = {
    trials: String(trials),
    solved: rate === null ? "-" : percent(rate),
    "95% interval": intervalText(tally),
    "calls if solved": fixed(callsSolved),
    "if not": fixed(callsFailed),
    "fewest calls": fixed(minimumCalls),
    invalid: String(trials - valid - unchanged),
    unchanged: String(unchanged),
  };
  return tallyHead(tallies).map((column) => texts[column]);
}

/** Returns all tables of a report, those that compare subjects first. */
export function tablesOf(report: Report): Table[] {
  const { subjects, comparisons, breakdowns } = report;
  if (subjects.length === 0) return [];
  return [
    overviewTable(subjects),
    ...strategiesTable(comparisons),
    ...workTable(subjects),
    ...probesTable(subjects),
    ...callSetTables(report),
    ...dimensionTables(report),
    ...recoveryTables(report),
    ...formatTables(report),
    ...breakdowns.map((breakdown) => breakdownTable(breakdown)),
    ...perturbationTables(report),
    ...failuresTable(subjects),
    outcomesTable(subjects),
    ...behavioursTable(subjects),
    ...repetitionsTable(subjects),
    ...subjects.map(cellsTable),
  ];
}

/** Returns the success of all trials, a row for each model, strategy and perturbation. */
export function overviewTable(subjects: readonly VariantMetrics[]): Table {
  const hasPrices = subjects.some(({ cost }) => cost !== null);
  const totals = subjects.map(({ total }) => total);
  return {
    id: "overview",
    section: "success",
    title: "Success",
    note: "solved: share of valid trials, with its 95% interval" +
      (hasCalls(totals) ? "; calls: means" : "") +
      (hasCalls(totals) && hasFewest(totals) ? "; fewest: the fewest that solve the tasks" : ""),
    rows: [
      ["model", ...tallyHead(totals), "tokens read", "written", ...(hasPrices ? ["cost"] : [])],
      ...subjects.map((one) => [
        nameOf(one),
        ...tallyColumns(one.total, totals),
        grouped(one.usage.inputTokens),
        grouped(one.usage.outputTokens),
        ...(hasPrices ? [one.cost === null ? "-" : `$${one.cost.toFixed(2)}`] : []),
      ]),
    ],
  };
}

/**
 * Returns the table of a breakdown: one row a series; by core size with calls, as in the paper. `brief`, for
 * narrow views, leaves the intervals out.
 */
export function breakdownTable(breakdown: Breakdown, brief = false): Table {
  const { id, kind, title, source, axis, legend, values, series } = breakdown;
  const withCalls = kind === "core" || kind === "no-extra";
  const columns = withCalls
    ? values.flatMap((value) => [`core ${value}: solved`, "calls if solved", "if not"])
    : values.map(String);
  return {
    id,
    section: withCalls ? "success" : "figures",
    title,
    source,
    note: (withCalls ? "" : `columns: ${axis}; `) +
      (brief
        ? "share solved, of n valid trials"
        : "share solved and 95% interval, of n valid trials"),
    rows: [
      [legend, ...columns],
      ...series.map(({ name, tallies }: Series) => [
        name,
        ...tallies.flatMap((own) => [
          shareText(own, brief),
          ...(withCalls ? [fixed(own?.callsSolved), fixed(own?.callsFailed)] : []),
        ]),
      ]),
    ],
  };
}

/** Returns wrong calls by type, where there are any. `brief`, for many subjects, has one row for each. */
export function failuresTable(subjects: readonly VariantMetrics[], brief = false): Table[] {
  if (!hasFailures(subjects)) return [];
  return [{
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note:
      "wrong calls of valid trials; the wrong values of a cascade were all returned by earlier wrong " +
      "calls; all others are roots",
    rows: [
      ["model", ...(brief ? ["wrong calls", "roots"] : ["", "wrong calls"]), ...FAILURE_TYPES],
      ...subjects.flatMap((one) => {
        const [total, ...types] = wrongCalls(one, ({ roots, cascades }) => roots + cascades);
        const roots = wrongCalls(one, (tally) => tally.roots);
        if (brief) return [[nameOf(one), total, roots[0], ...types]];
        return [
          [nameOf(one), "all", total, ...types],
          ["", "roots", ...roots],
          ["", "cascades", ...wrongCalls(one, ({ cascades }) => cascades)],
        ];
      }),
    ],
  }];
}

/** Returns the number of wrong calls, then the number and share of each type. */
function wrongCalls(
  { failures }: VariantMetrics,
  count: (tally: FailureTally) => number,
): [total: string, ...types: string[]] {
  const counts = failures.map(count);
  const total = counts.reduce((sum, own) => sum + own, 0);
  const texts = counts.map((own) => total === 0 ? "-" : `${own} (${percent(own / total)})`);
  return [String(total), ...texts];
}

/** Says that no call was wrong, or refused where the right values are unknown. */
export function noFailures(unit: string): string {
  return `no call was ${unit === "question" || unit === "trial" ? "refused" : "wrong"}`;
}

/** Whether any call was wrong. */
export function hasFailures(subjects: readonly VariantMetrics[]): boolean {
  return subjects.some(({ failures }) =>
    failures.some(({ roots, cascades }) => roots + cascades > 0)
  );
}

function outcomesTable(subjects: readonly VariantMetrics[]): Table {
  const occurring = OUTCOMES.filter((outcome) =>
    subjects.some((one) => one.outcomes.some((own) => own.outcome === outcome && own.trials > 0))
  );
  const totals = subjects.map(({ total }) => total);
  const withUnchanged = hasUnchanged(totals);
  return {
    id: "outcomes",
    section: "failures",
    title: "How trials ended",
    rows: [
      ["model", ...occurring, ...(withUnchanged ? ["unchanged"] : [])],
      ...subjects.map((one) => [
        nameOf(one),
        ...one.outcomes.filter(({ outcome }) => occurring.includes(outcome))
          .map(({ trials }) => String(trials)),
        ...(withUnchanged ? [String(one.total.unchanged)] : []),
      ]),
    ],
  };
}

/** Returns the number of trials by behaviour, where any was seen. */
export function behavioursTable(subjects: readonly VariantMetrics[]): Table[] {
  const names = [...new Set(subjects.flatMap((one) => Object.keys(one.behaviours)))];
  if (names.length === 0) return [];
  return [{
    id: "behaviours",
    section: "failures",
    title: "Behaviours",
    note: "valid trials that showed them",
    rows: [
      ["model", ...names],
      ...subjects.map((one) => [
        nameOf(one),
        ...names.map((name) =>
          String(Object.hasOwn(one.behaviours, name) ? one.behaviours[name] : 0)
        ),
      ]),
    ],
  }];
}

/** Returns the results of probes, where there are any. */
export function probesTable(subjects: readonly VariantMetrics[]): Table[] {
  if (subjects.every(({ probes }) => probes.length === 0)) return [];
  const share = (count: number, valid: number, repeated: boolean) => {
    if (valid === 0) return "-";
    // Repetitions of one question are not independent, as Wilson's interval needs.
    if (repeated) return percent(count / valid);
    const { lower, upper } = wilson(count, valid);
    return `${percent(count / valid)} (${percent(lower)} to ${percent(upper)})`;
  };
  return [{
    id: "probes",
    section: "success",
    title: "Behaviour towards tools",
    note:
      "share of valid trials, and 95% interval where none was repeated; solved: followed a calculator that " +
      "lies, gave the right sum, reported the oracle's decision, or counted letters although every reply had " +
      "to call a tool that cannot help",
    rows: [
      ["model", "probe", "trials", "solved", ...BEHAVIOURS],
      ...subjects.flatMap((one) =>
        one.probes.map(({ probe, tally: { trials, valid, solved }, behaviours: counts }) => [
          nameOf(one),
          probe,
          String(trials),
          share(solved, valid, one.repetition !== null),
          ...BEHAVIOURS.map((name) => share(counts[name] ?? 0, valid, one.repetition !== null)),
        ])
      ),
    ],
  }];
}

/** Returns how often all trials of a task, or at least one, solved it, where tasks were repeated. */
export function repetitionsTable(subjects: readonly VariantMetrics[]): Table[] {
  const repeated = subjects.filter(({ repetition }) => repetition !== null);
  if (repeated.length === 0) return [];
  const share = (rate: number | null) => rate === null ? "not available" : percent(rate);
  return [{
    id: "repetitions",
    section: "failures",
    title: "Repeated tasks",
    note: "pass@k: at least one of k trials of a task is solved; pass^k: all of them are",
    rows: [
      ["model", "k", "pass@k", "pass^k", "tasks", "with fewer than k valid trials"],
      ...repeated.map((one) => {
        const { k, passAtK, passHatK, graphs, unavailable } = one.repetition!;
        return [
          nameOf(one),
          `${k}`,
          share(passAtK),
          share(passHatK),
          `${graphs}`,
          `${unavailable}`,
        ];
      }),
    ],
  }];
}

/** Returns the success of one subject by cell. */
export function cellsTable(one: VariantMetrics, place: number): Table {
  const { cells, total } = one;
  return {
    id: `cells-${place + 1}`,
    section: "cells",
    title: `Success by cell: ${nameOf(one)}`,
    rows: [
      ["cell", ...tallyHead([total])],
      ...cells.map(({ name, tally }) => [name, ...tallyColumns(tally, [total])]),
      ...(cells.length > 1 ? [["all", ...tallyColumns(total, [total])]] : []),
    ],
  };
}

function shareText(tally: Tally | null, brief: boolean): string {
  if (tally === null || tally.rate === null) return "-";
  const interval = brief ? "" : ` (${intervalText(tally)})`;
  return `${percent(tally.rate)}${interval}, n ${tally.valid}`;
}

function intervalText({ interval }: Tally): string {
  return interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`;
}

/** Formats a mean with one digit after the point; a dash where there is none. */
function fixed(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : value.toFixed(1);
}
