/**
 * Tables of success: of all trials, in breakdowns, of repeated tasks and by cell.
 * @module
 */

import { defined } from "../../base/json.ts";
import { dollars, percent } from "../../base/numbers.ts";
import type { Breakdown, Series } from "../metrics/_breakdown.ts";
import type { Tally, VariantMetrics } from "../metrics/metrics.ts";
import {
  boundsText,
  type Column,
  layOut,
  MODEL,
  nameOf,
  NOTHING,
  rateColumns,
  shareText,
  tokensText,
  UNAVAILABLE,
} from "./table.ts";
import type { Table } from "../_view.ts";

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
    { ...column("if not", ({ callsFailed }) => fixed(callsFailed), isCalling), next: true },
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
      { head: "written", next: true, cell: ({ usage }) => tokensText(usage, "outputTokens") },
      {
        head: "by judges",
        cell: ({ judging }) =>
          judging === undefined ? NOTHING : String(judging.inputTokens + judging.outputTokens),
        shown: "filled",
      },
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
          ...{ head: "calls if solved", next: true },
          cell: ({ tallies }) => fixed(tallies[index]?.callsSolved),
          shown: withCalls,
        },
        {
          ...{ head: "if not", next: true },
          cell: ({ tallies }) => fixed(tallies[index]?.callsFailed),
          shown: withCalls,
        },
      ]),
    ]),
  };
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
