/**
 * The tables of a report, as rows of text that each view writes.
 * @module
 */

import { defined } from "../../base/json.ts";
import { BEHAVIOURS, FAILURE_TYPES } from "../../calls/failure_types.ts";
import type { Breakdown, Series } from "../metrics/_breakdown.ts";
import type { FailureTally, Tally, VariantMetrics } from "../metrics/metrics.ts";
import { dollars, percent, sum } from "../../base/numbers.ts";
import type { Report } from "../report.ts";
import { newcombe, wilson } from "../../statistics/proportions.ts";
import { EXPRESSIONS } from "../../trials/executors/expressions.ts";
import { OUTCOMES } from "../../trials/trial.ts";
import { callSetTables } from "./_question_sets.ts";
import { dimensionTables } from "./_dimensions.ts";
import { distractorTable } from "./_distractors.ts";
import { errorHandlingTables } from "./_error_handling.ts";
import { formatTables } from "./_formats.ts";
import { latencyTables } from "./_latency.ts";
import { perturbationTables } from "./_perturbations.ts";
import { recoveryTables } from "./_recovery.ts";
import { signedPoints, strategiesTable, workTable } from "./_strategies.ts";
import {
  boundsText,
  type Column,
  layOut,
  MODEL,
  nameOf,
  NOTHING,
  rateColumns,
  shareText,
  type Table,
  tokensText,
  UNAVAILABLE,
} from "./table.ts";

/** Returns the columns of a tally; those of calls where any of `tallies` has data. */
function tallyColumns<Row>(
  tallyOf: (row: Row) => Tally,
  tallies: readonly Tally[],
): Column<Row>[] {
  const column = (
    head: string,
    cell: Column<Tally>["cell"],
    shown: Column<Tally>["shown"] = true,
  ): Column<Row> => ({ head, cell: (row) => cell(tallyOf(row)), shown });
  const isCalling = hasCalls(tallies);
  return [
    column("trials", ({ trials }) => trials),
    ...rateColumns("solved", tallyOf),
    column("calls if solved", ({ callsSolved }) => fixed(callsSolved), isCalling),
    column("if not", ({ callsFailed }) => fixed(callsFailed), isCalling),
    column("fewest calls", ({ minimumCalls }) => fixed(minimumCalls), hasFewest(tallies)),
    column(
      "invalid",
      ({ trials, valid, unchanged, unsolvable = 0 }) => trials - valid - unchanged - unsolvable,
    ),
    column("unchanged", ({ unchanged }) => unchanged, "filled"),
    column("unsolvable", ({ unsolvable = 0 }) => unsolvable, "filled"),
  ];
}

/** Says what rates of success leave out, where they leave anything out. */
function lessUnsolvable(tallies: readonly Tally[]): string {
  return tallies.some(({ unsolvable = 0 }) => unsolvable > 0) ? " less unsolvable ones" : "";
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

/** Returns all tables of a report, those that compare subjects first. */
export function tablesOf(report: Report): Table[] {
  const { subjects, comparisons, breakdowns } = report;
  if (subjects.length === 0) return [];
  return [
    overviewTable(subjects),
    ...errorHandlingTables(report),
    ...strategiesTable(comparisons),
    ...workTable(subjects),
    ...probesTable(subjects),
    ...callSetTables(report),
    ...dimensionTables(report),
    ...recoveryTables(report),
    ...latencyTables(report),
    ...formatTables(report),
    ...breakdowns.map((breakdown) => breakdownTable(breakdown)),
    ...distractorTable(report.distractors ?? []),
    ...perturbationTables(report),
    ...failuresTable(subjects),
    ...missedCallsTable(report),
    ...guessesTable(subjects),
    outcomesTable(subjects),
    ...behavioursTable(subjects),
    ...repetitionsTable(subjects),
    ...subjects.map(cellsTable),
  ];
}

/** Returns the success of all trials, a row for each model, strategy and perturbation. */
export function overviewTable(subjects: readonly VariantMetrics[]): Table {
  const totals = subjects.map(({ total }) => total);
  return {
    id: "overview",
    section: "success",
    title: "Success",
    note: `solved: share of valid trials${lessUnsolvable(totals)}, with its 95% interval` +
      (hasCalls(totals) ? "; calls: means" : "") +
      (hasCalls(totals) && hasFewest(totals) ? "; fewest: the fewest that solve the tasks" : "") +
      (subjects.some(({ usage }) => usage.estimated)
        ? "; ~: tokens estimated in part, as a server reported none"
        : ""),
    rows: layOut(subjects, [
      MODEL,
      tallyColumns(({ total }) => total, totals),
      { head: "tokens read", cell: ({ usage }) => tokensText(usage, "inputTokens") },
      { head: "written", cell: ({ usage }) => tokensText(usage, "outputTokens") },
      {
        head: "cost",
        cell: ({ cost }) => cost === null ? NOTHING : dollars(cost),
        shown: "filled",
      },
    ]),
  };
}

/**
 * Returns the table of a breakdown: one row a series; by core size with calls, as in the paper. `brief`, for
 * narrow views, leaves the intervals out.
 */
export function breakdownTable(breakdown: Breakdown, brief = false): Table {
  const { id, kind, title, source, axis, legend, values, series } = breakdown;
  const withCalls = kind === "core" || kind === "no-extra";
  return {
    id,
    section: withCalls ? "success" : "figures",
    title,
    ...defined({ source }),
    note: (withCalls ? "" : `columns: ${axis}; `) +
      (brief
        ? "share solved, of n valid trials"
        : "share solved and 95% interval, of n valid trials"),
    rows: layOut(series, [
      { head: legend, cell: ({ name }) => name },
      ...values.flatMap((value, index): Column<Series>[] => [
        {
          head: withCalls ? `core ${value}: solved` : String(value),
          cell: ({ tallies }) => solvedText(tallies[index]!, brief),
        },
        {
          head: "calls if solved",
          cell: ({ tallies }) => fixed(tallies[index]?.callsSolved),
          shown: withCalls,
        },
        {
          head: "if not",
          cell: ({ tallies }) => fixed(tallies[index]?.callsFailed),
          shown: withCalls,
        },
      ]),
    ]),
  };
}

/** Wrong calls of a model, of all kinds or of one. */
interface FailureRow {
  readonly name: string;
  readonly kind: string;
  /** Of all types. */
  readonly total: number;
  readonly roots: number;
  /** One for each type. */
  readonly counts: readonly number[];
}

/** Returns wrong calls by type, where there are any. `brief`, for many subjects, has one row for each. */
export function failuresTable(subjects: readonly VariantMetrics[], brief = false): Table[] {
  if (!hasFailures(subjects)) return [];
  const rows = subjects.flatMap(({ failures, ...one }): FailureRow[] => {
    const rowOf = (name: string, kind: string, count: (tally: FailureTally) => number) => {
      const roots = sum(failures, (own) => own.roots);
      return { name, kind, total: sum(failures, count), roots, counts: failures.map(count) };
    };
    const all = rowOf(nameOf(one), "all", ({ roots, cascades }) => roots + cascades);
    if (brief) return [all];
    return [
      all,
      rowOf("", "roots", ({ roots }) => roots),
      rowOf("", "cascades", ({ cascades }) => cascades),
    ];
  });
  return [{
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note:
      "wrong calls of valid trials; the wrong values of a cascade were all returned by earlier wrong " +
      "calls; all others are roots",
    rows: layOut(rows, [
      { head: "model", cell: ({ name }) => name },
      { head: "", cell: ({ kind }) => kind, shown: !brief },
      { head: "wrong calls", cell: ({ total }) => total },
      { head: "roots", cell: ({ roots }) => roots, shown: brief },
      FAILURE_TYPES.map((head, index) => ({
        head,
        cell: ({ total, counts }) =>
          total === 0 ? NOTHING : `${counts[index]} (${percent(counts[index]! / total)})`,
      })),
    ]),
  }];
}

/** Returns how often calls that tasks need were never made, where the right calls are known. */
export function missedCallsTable({ missedCalls }: Pick<Report, "missedCalls">): Table[] {
  if (missedCalls.length === 0) return [];
  return [{
    id: "missed-calls",
    section: "failures",
    title: "Missed calls",
    note:
      "trials: valid ones that need calls; with a missed call: those in which a call that the task needs " +
      "was never made, neither with right arguments nor with wrong ones; missed: such calls",
    rows: layOut(missedCalls, [
      MODEL,
      { head: "trials", cell: ({ of }) => of },
      rateColumns("with a missed call", (row) => row),
      { head: "needed calls", cell: ({ calls }) => calls.of },
      { head: "missed", cell: ({ calls }) => calls.count },
      { head: "share", cell: ({ calls }) => shareText(calls.rate) },
    ]),
  }];
}

/** Returns how often models guessed right, where any did, and that this is no failure. */
export function guessesTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ guesses, ...one }) =>
    guesses === undefined ? [] : [{ ...one, guesses }]
  );
  if (rows.length === 0) return [];
  return [{
    id: "guesses",
    section: "failures",
    title: "Right guesses",
    note:
      "calls whose values were all right although no earlier result had established one of them; such a " +
      "call is answered and is no failure here, while FuncBenchGen, section 4.6, counts any value used before " +
      "it is known as value_not_yet_known: add them to that type to compare with its Table 3",
    rows: layOut(rows, [
      MODEL,
      { head: "valid trials", cell: ({ total }) => total.valid },
      { head: "with a right guess", cell: ({ guesses }) => guesses.trials },
      rateColumns("share", ({ guesses }) => guesses),
      { head: "guessed calls", cell: ({ guesses }) => guesses.calls },
      { head: "of all calls", cell: ({ guesses, calls }) => percent(guesses.calls / calls) },
    ]),
  }];
}

/**
 * Says that no call was wrong. Where the right values are unknown, only that each had a known function and the
 * right form: it may still have returned an error.
 */
export function noFailures(unit: string): string {
  return unit === "question" || unit === "trial"
    ? "all calls fit the functions on offer"
    : "no call was wrong";
}

/** Whether any call was wrong. */
export function hasFailures(subjects: readonly VariantMetrics[]): boolean {
  return subjects.some(({ failures }) =>
    failures.some(({ roots, cascades }) => roots + cascades > 0)
  );
}

/** Returns the number of trials by outcome. */
export function outcomesTable(subjects: readonly VariantMetrics[]): Table {
  return {
    id: "outcomes",
    section: "failures",
    title: "How trials ended",
    rows: layOut(subjects, [
      MODEL,
      OUTCOMES.map((outcome) => ({
        head: outcome,
        cell: ({ outcomes }) => outcomes.find((own) => own.outcome === outcome)?.trials ?? 0,
        shown: "filled",
      })),
      { head: "unchanged", cell: ({ total }) => total.unchanged, shown: "filled" },
    ]),
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
    rows: layOut(subjects, [
      MODEL,
      names.map((head) => ({
        head,
        cell: ({ behaviours }) => Object.hasOwn(behaviours, head) ? behaviours[head]! : 0,
      })),
    ]),
  }];
}

/** Returns the results of probes, where there are any. */
export function probesTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ probes, ...one }) => probes.map((own) => ({ ...one, ...own })));
  if (rows.length === 0) return [];
  type Row = typeof rows[number];
  const share = (head: string, countOf: (row: Row) => number): Column<Row> => ({
    head,
    cell: (row) => {
      const { repetition, tally: { valid } } = row;
      if (valid === 0) return NOTHING;
      const count = countOf(row);
      // Repetitions of one question are not independent, as Wilson's interval needs.
      const interval = repetition === null ? ` (${boundsText(wilson(count, valid))})` : "";
      return percent(count / valid) + interval;
    },
  });
  return [
    {
      id: "probes",
      section: "success",
      title: "Behaviour towards tools",
      note:
        "share of valid trials, and 95% interval where none was repeated; solved: followed a calculator that " +
        "lies, gave the right sum, reported the oracle's decision, or counted letters although every reply had " +
        "to call a tool that cannot help",
      rows: layOut(rows, [
        MODEL,
        { head: "probe", cell: ({ probe }) => probe },
        { head: "trials", cell: ({ tally }) => tally.trials },
        share("solved", ({ tally }) => tally.solved),
        BEHAVIOURS.map((name) => share(name, ({ behaviours }) => behaviours[name] ?? 0)),
      ]),
    },
    ...conflictTable(subjects),
    ...expressionsTable(rows),
  ];
}

/** Behaviours that a conflict with the usual advice may bring out. */
const RESISTING = ["aversion", "ignored_result"] as const;

/** Returns what a conflict with the usual advice changes, for models that were asked with and without. */
function conflictTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ probes, ...one }) => {
    const [control, conflict] = ["oracle", "oracle_conflict"].map((name) =>
      probes.find(({ probe, tally }) => probe === name && tally.valid > 0)
    );
    if (control === undefined || conflict === undefined) return [];
    return RESISTING.map((behaviour) => ({ ...one, control, conflict, behaviour }));
  });
  if (rows.length === 0) return [];
  type Row = typeof rows[number];
  type Arm = Row["control"];
  const share = (head: string, armOf: (row: Row) => Arm): Column<Row> => ({
    head,
    cell: (row) => percent((armOf(row).behaviours[row.behaviour] ?? 0) / armOf(row).tally.valid),
  });
  const added = ({ control, conflict, behaviour }: Row) =>
    newcombe(
      [conflict.behaviours[behaviour] ?? 0, conflict.tally.valid],
      [control.behaviours[behaviour] ?? 0, control.tally.valid],
    );
  return [{
    id: "conflict",
    section: "success",
    title: "Oracle, against the usual advice",
    paper: "Indirection",
    source: "Alignment-based resistance",
    note:
      "share of valid trials of oracle, and of oracle_conflict, where the oracle decides against what people " +
      "are usually advised; difference: what the conflict adds, in percentage points, with Newcombe's 95% " +
      "interval where none was repeated",
    rows: layOut(rows, [
      MODEL,
      { head: "behaviour", cell: ({ behaviour }) => behaviour },
      {
        head: "trials",
        cell: ({ control, conflict }) => control.tally.trials + conflict.tally.trials,
      },
      share("oracle", ({ control }) => control),
      share("conflict", ({ conflict }) => conflict),
      { head: "difference", cell: (row) => signedPoints(added(row).difference) },
      {
        head: "95% interval",
        // Repetitions of one question are not independent, as the interval needs.
        cell: (row) => boundsText(row.repetition === null ? added(row) : null, signedPoints),
      },
    ]),
  }];
}

/** Returns how the long sums of `mental_arithmetic` were written, where any was asked for. */
function expressionsTable(
  rows: readonly (
    & Omit<VariantMetrics, "probes">
    & VariantMetrics["probes"][number]
  )[],
): Table[] {
  const asked = rows.flatMap(({ expressions, ...one }) =>
    expressions === undefined
      ? []
      : [{ ...one, expressions, all: sum(Object.values(expressions), Number) }]
  );
  if (asked.length === 0) return [];
  return [{
    id: "expressions",
    section: "success",
    title: "Expressions for a sum",
    paper: "Indirection",
    source: "Computational overconfidence",
    note:
      "calls of the calculator for a long sum in mental_arithmetic; invalid: no expression, such as " +
      "10+9+...+0; brute force: all terms written out; closed form: another one with the right value; other: " +
      "another value, such as a part of the sum",
    rows: layOut(asked, [
      MODEL,
      { head: "calls", cell: ({ all }) => all },
      EXPRESSIONS.map((kind) => ({
        head: kind.replaceAll("_", " "),
        cell: ({ expressions, all }: typeof asked[number]) =>
          all === 0 ? NOTHING : `${expressions[kind]} (${percent(expressions[kind] / all)})`,
      })),
    ]),
  }];
}

/** Returns how often all trials of a task, or at least one, solved it, where tasks were repeated. */
export function repetitionsTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ repetition, ...one }) =>
    repetition === null ? [] : [{ ...one, ...repetition }]
  );
  if (rows.length === 0) return [];
  return [{
    id: "repetitions",
    section: "failures",
    title: "Repeated tasks",
    note: "pass@k: at least one of k trials of a task is solved; pass^k: all of them are",
    rows: layOut(rows, [
      MODEL,
      { head: "k", cell: ({ k }) => k },
      { head: "pass@k", cell: ({ passAtK }) => shareText(passAtK, UNAVAILABLE) },
      { head: "pass^k", cell: ({ passHatK }) => shareText(passHatK, UNAVAILABLE) },
      { head: "tasks", cell: ({ graphs }) => graphs },
      { head: "with fewer than k valid trials", cell: ({ unavailable }) => unavailable },
    ]),
  }];
}

/** Returns the success of one subject by cell. */
export function cellsTable(one: VariantMetrics, place: number): Table {
  const { cells, total } = one;
  const leavesOut = lessUnsolvable([total]);
  const rows = [...cells, ...(cells.length > 1 ? [{ name: "all", tally: total }] : [])];
  return {
    id: `cells-${place + 1}`,
    section: "cells",
    title: `Success by cell: ${nameOf(one)}`,
    ...(leavesOut === "" ? {} : { note: `solved: share of valid trials${leavesOut}` }),
    rows: layOut(rows, [
      { head: "cell", cell: ({ name }) => name },
      tallyColumns(({ tally }) => tally, [total]),
    ]),
  };
}

function solvedText(tally: Tally | null, brief: boolean): string {
  if (tally === null || tally.rate === null) return NOTHING;
  const interval = brief ? "" : ` (${boundsText(tally.interval)})`;
  return `${percent(tally.rate)}${interval}, n ${tally.valid}`;
}

/** Formats a mean with one digit after the point; a dash where there is none. */
function fixed(value: number | null | undefined): string {
  return value === null || value === undefined ? NOTHING : value.toFixed(1);
}
