/**
 * Tables of success: of all trials, in breakdowns and of repeated tasks; `_matrix.ts` has those by cell.
 * @module
 */

import { percent } from "../../base/numbers.ts";
import type { Breakdown, Series } from "../metrics/_breakdown.ts";
import type { Tally, VariantMetrics } from "../metrics/metrics.ts";
import {
  boundsText,
  type Column,
  layOut,
  MODEL,
  NOTHING,
  rateColumns,
  shareText,
  tableOf,
  tokensText,
  UNAVAILABLE,
} from "./table.ts";
import type { Table } from "../_view.ts";
import type { Report } from "../report.ts";
import { type ReportWords, reportWords } from "../_words.ts";

/** Returns the columns of a tally; those of calls where any of `tallies` has data. */
export function tallyColumns<Row>(
  tallyOf: (row: Row) => Tally,
  tallies: readonly Tally[],
  words: ReportWords,
): Column<Row>[] {
  const column = (
    head: string,
    cell: Column<Tally>["cell"],
    shown: Column<Tally>["shown"] = true,
  ): Column<Row> => ({ head, cell: (row) => cell(tallyOf(row)), shown });
  const isTest = words.cell === "test";
  const [rate, interval] = rateColumns(words.solved, tallyOf);
  return [
    column("trials", ({ trials }) => trials, !isTest),
    isTest ? column(words.solved, solvedOf) : rate,
    interval,
    ...callColumns(tallyOf, tallies, words),
    column("invalid", invalidTrials),
    column("unchanged", ({ unchanged }) => unchanged, "filled"),
    column(
      "a return changed",
      changedReturnsOf,
      tallies.some((one) => one.returnsChanged !== undefined),
    ),
    column("unsolvable", ({ unsolvable = 0 }) => unsolvable, "filled"),
  ];
}

/** Returns how many of the valid trials were solved; a dash without any. */
export function solvedOf({ solved, valid }: Pick<Tally, "solved" | "valid">): string {
  return valid === 0 ? NOTHING : `${solved} of ${valid}`;
}

/** Returns in how many trials a return was changed; a dash where no perturbation is of returns. */
export function changedReturnsOf({ returnsChanged, valid }: Tally): string {
  return returnsChanged === undefined ? NOTHING : `${returnsChanged} of ${valid}`;
}

/** Returns the columns of calls, where any of `tallies` has data. */
function callColumns<Row>(
  tallyOf: (row: Row) => Tally,
  tallies: readonly Tally[],
  { solved, cell }: ReportWords,
): Column<Row>[] {
  const column = (
    head: string,
    key: "callsSolved" | "callsFailed" | "minimumCalls",
    shown: boolean,
  ): Column<Row> => ({ head, cell: (row) => fixed(tallyOf(row)[key]), shown });
  const isCalling = hasCalls(tallies);
  return [
    column(`calls if ${solved}`, "callsSolved", isCalling),
    { ...column("if not", "callsFailed", isCalling), next: true },
    // A test may allow for more.
    column("fewest calls", "minimumCalls", hasFewest(tallies) && cell !== "test"),
  ];
}

/** Returns the number of trials that infrastructure spoiled. */
export function invalidTrials({ trials, valid, unchanged, unsolvable = 0 }: Tally): number {
  return trials - valid - unchanged - unsolvable;
}

/** Says what rates of success leave out, where they leave anything out. */
export function lessUnsolvable(tallies: readonly Tally[]): string {
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

/** Returns what success took, a row for each model, strategy and perturbation. */
export function effortTable(report: Pick<Report, "subjects" | "unit" | "callSets">): Table[] {
  const { subjects } = report;
  const totals = subjects.map(({ total }) => total);
  const isCalling = hasCalls(totals);
  const rows = layOut(subjects, [
    MODEL,
    // The matrix of a single variant has its calls.
    subjects.length === 1 ? [] : callColumns(({ total }) => total, totals, reportWords(report)),
    {
      head: "tokens read",
      cell: ({ usage }) => usage.inputTokens && tokensText(usage, "inputTokens"),
      shown: "filled",
    },
    {
      ...{ head: "written", next: true, shown: "filled" },
      cell: ({ usage }) => usage.outputTokens && tokensText(usage, "outputTokens"),
    },
    {
      head: "by judges",
      cell: ({ judging }) =>
        judging === undefined ? NOTHING : judging.inputTokens + judging.outputTokens,
      shown: "filled",
    },
  ]);
  const notes = [
    ...(isCalling && subjects.length > 1 ? ["calls: means"] : []),
    ...(rows[0]!.includes("fewest calls") ? ["fewest: the fewest that solve the tasks"] : []),
    ...(subjects.some(({ usage }) => usage.estimated)
      ? ["~: tokens estimated in part, as a server reported none"]
      : []),
    ...(subjects.some(({ agent }) => agent !== undefined && agent.unwatched > 0)
      ? ["tokens of trials that were not watched are known in part, if at all"]
      : []),
  ];
  return rows[0]!.length === 1 ? [] : [{
    id: "effort",
    section: "success",
    title: "Effort",
    ...(notes.length === 0 ? {} : { note: notes.join("; ") }),
    rows,
  }];
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
    source,
    note: (withCalls ? "" : `columns: ${axis}; `) +
      (brief
        ? "share solved, of n valid trials"
        : "share solved and 95% interval, of n valid trials"),
    rows: layOut(series, [
      { head: legend, cell: ({ name }) => name },
      ...values.flatMap((value, index): Column<Series>[] => [
        {
          ...(withCalls ? { head: "solved", group: `core ${value}` } : { head: String(value) }),
          cell: ({ tallies }) => solvedText(tallies[index]!, brief),
        },
        {
          ...{ head: "calls if solved", group: `core ${value}` },
          cell: ({ tallies }) => fixed(tallies[index]?.callsSolved),
          shown: withCalls,
        },
        {
          ...{ head: "if not", group: `core ${value}` },
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
  return tableOf(rows, {
    id: "repetitions",
    section: "failures",
    title: "Repeated tasks",
    note: "pass@k: at least one of k trials of a task is solved; pass^k: all of them are",
    columns: [
      MODEL,
      { head: "k", cell: ({ k }) => k },
      { head: "pass@k", cell: ({ passAtK }) => shareText(passAtK, UNAVAILABLE) },
      { head: "pass^k", cell: ({ passHatK }) => shareText(passHatK, UNAVAILABLE) },
      { head: "tasks", cell: ({ graphs }) => graphs },
      { head: "with fewer than k valid trials", cell: ({ unavailable }) => unavailable },
    ],
  });
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
