/**
 * The tables of a report, as rows of text that every view lays out in its own way.
 * @module
 */

import type { Breakdown, Series } from "../breakdown.ts";
import { labelOf } from "../contest.ts";
import { FAILURE_TYPES } from "../failure.ts";
import type { SubjectMetrics, Tally } from "../metrics.ts";
import type { Report } from "../report.ts";
import { OUTCOMES } from "../trial.ts";
import { percent } from "../verdict.ts";

/** A table: the first row names the columns, the first cell of the others names the row. */
export interface Table {
  /** Tells tables of a report apart; a breakdown's table has the breakdown's id. */
  readonly id: string;
  /** Where it belongs: cells are many, and figures show what stands in theirs. */
  readonly section: "success" | "figures" | "failures" | "cells";
  readonly title: string;
  /** Where FuncBenchGen shows the same; left out where it does not. */
  readonly source?: string;
  /** What a reader should know about its numbers; left out where nothing. */
  readonly note?: string;
  readonly rows: readonly (readonly string[])[];
}

/** The columns of a tally, which {@linkcode tallyColumns} fills. */
export const TALLY_COLUMNS = [
  "trials",
  "solved",
  "95% interval",
  "calls if solved",
  "if not",
  "fewest calls",
  "invalid",
] as const;

/** A tally as the text of its columns. */
export function tallyColumns(tally: Tally): string[] {
  const { trials, valid, rate, callsSolved, callsFailed, minimumCalls } = tally;
  return [
    String(trials),
    rate === null ? "-" : percent(rate),
    intervalText(tally),
    fixed(callsSolved),
    fixed(callsFailed),
    fixed(minimumCalls),
    String(trials - valid),
  ];
}

/** All tables of a report, those that compare first. */
export function tablesOf(report: Report): Table[] {
  const { subjects, breakdowns } = report;
  if (subjects.length === 0) return [];
  return [
    overview(subjects),
    ...breakdowns.map((breakdown) => breakdownTable(breakdown)),
    failures(subjects),
    outcomes(subjects),
    ...behaviours(subjects),
    ...repetitions(subjects),
    ...subjects.map(cellsTable),
  ];
}

function overview(subjects: readonly SubjectMetrics[]): Table {
  const priced = subjects.some(({ cost }) => cost !== null);
  return {
    id: "overview",
    section: "success",
    title: "Success",
    rows: [
      ["model", ...TALLY_COLUMNS, "tokens read", "written", ...(priced ? ["cost"] : [])],
      ...subjects.map((one) => [
        nameOf(one),
        ...tallyColumns(one.total),
        grouped(one.usage.inputTokens),
        grouped(one.usage.outputTokens),
        ...(priced ? [one.cost === null ? "-" : `$${one.cost.toFixed(2)}`] : []),
      ]),
    ],
  };
}

/**
 * The table of a breakdown: one row a series; by core size with calls, as the paper has them. Where
 * columns are dear, `brief` leaves the intervals out.
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
    note: (withCalls ? "" : `along the row: ${axis}; `) +
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

function failures(subjects: readonly SubjectMetrics[]): Table {
  return {
    id: "failures",
    section: "failures",
    title: "Failure types",
    source: "Table 3",
    note: "wrong calls of valid trials; a cascade has none but values that an earlier wrong call " +
      "returned, a root is any other",
    rows: [
      ["model", "", "wrong calls", ...FAILURE_TYPES],
      ...subjects.flatMap((one) => {
        const line = (what: string, count: (tally: typeof one.failures[number]) => number) => {
          const counts = one.failures.map(count);
          const total = counts.reduce((sum, own) => sum + own, 0);
          return [
            what,
            String(total),
            ...counts.map((own) => total === 0 ? "-" : `${own} (${percent(own / total)})`),
          ];
        };
        return [
          [nameOf(one), ...line("all", ({ roots, cascades }) => roots + cascades)],
          ["", ...line("roots", ({ roots }) => roots)],
          ["", ...line("cascades", ({ cascades }) => cascades)],
        ];
      }),
    ],
  };
}

function outcomes(subjects: readonly SubjectMetrics[]): Table {
  const shown = OUTCOMES.filter((outcome) =>
    subjects.some((one) => one.outcomes.some((own) => own.outcome === outcome && own.trials > 0))
  );
  return {
    id: "outcomes",
    section: "failures",
    title: "How trials ended",
    rows: [
      ["model", ...shown],
      ...subjects.map((one) => [
        nameOf(one),
        ...one.outcomes.filter(({ outcome }) => shown.includes(outcome))
          .map(({ trials }) => String(trials)),
      ]),
    ],
  };
}

function behaviours(subjects: readonly SubjectMetrics[]): Table[] {
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

function repetitions(subjects: readonly SubjectMetrics[]): Table[] {
  const repeated = subjects.filter(({ repetition }) => repetition !== null);
  if (repeated.length === 0) return [];
  const share = (rate: number | null) => rate === null ? "not available" : percent(rate);
  return [{
    id: "repetitions",
    section: "failures",
    title: "Repeated graphs",
    note: "pass@k: at least one of k trials of a graph is solved; pass^k: all of them are",
    rows: [
      ["model", "k", "pass@k", "pass^k", "graphs", "with fewer than k valid trials"],
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

/** Each setting of the sizes for itself. */
export function cellsTable(one: SubjectMetrics, place: number): Table {
  const { cells, total } = one;
  return {
    id: `cells-${place + 1}`,
    section: "cells",
    title: `Success by cell: ${nameOf(one)}`,
    rows: [
      ["cell", ...TALLY_COLUMNS],
      ...cells.map(({ name, tally }) => [name, ...tallyColumns(tally)]),
      ...(cells.length > 1 ? [["all", ...tallyColumns(total)]] : []),
    ],
  };
}

/** A model, strategy and perturbation as reports call it. */
export function nameOf({ subject, simulated }: SubjectMetrics): string {
  return labelOf(subject, simulated);
}

function shareText(tally: Tally | null, brief: boolean): string {
  if (tally === null || tally.rate === null) return "-";
  const interval = brief ? "" : ` (${intervalText(tally)})`;
  return `${percent(tally.rate)}${interval}, n ${tally.valid}`;
}

function intervalText({ interval }: Tally): string {
  return interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`;
}

/** A mean with one digit after the point; a dash where there is none. */
function fixed(value: number | null | undefined): string {
  return value === null || value === undefined ? "-" : value.toFixed(1);
}

/** A whole number with its thousands apart. */
function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
