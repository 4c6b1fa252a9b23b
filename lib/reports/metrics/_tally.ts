/**
 * Tallies: counts, shares with their intervals, and means of a set of trials.
 * @module
 */

import { isDuration, mean, sum } from "../../base/numbers.ts";
import { byGraph, countsAsSuccess, isCounted } from "../../gate/variant.ts";
import { spentUsage } from "../../models/prices.ts";
import { estimateMean, type MeanEstimate } from "../../statistics/clustered_mean.ts";
import { clusteredInterval } from "../../statistics/pass_at_k.ts";
import { type Bounds, wilson } from "../../statistics/proportions.ts";
import type { Usage } from "../../tools/message.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { canCall } from "../cells.ts";
import { type Column, type Estimate, shareText } from "../columns.ts";
import type { ReportWords } from "../_words.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A count out of a total, with its share. */
export interface Share extends Estimate {
  /** Number of items counted. */
  readonly count: number;
  /** Total number of items. */
  readonly of: number;
}

/** A mean with its interval, and the number of items that it is of. */
export type Measured = Required<Omit<Estimate, "count">>;

/** Returns the share of `items` for which `shows` is true. */
export function shareOf<T extends Pick<TrialSummary, "task">>(
  items: readonly T[],
  shows: (item: T) => boolean,
): Required<Share> {
  return {
    ...countOf(items.filter(shows).length, items.length),
    interval: shareInterval(items, shows),
  };
}

/** Returns a share without an interval. */
export function countOf(count: number, of: number): Share {
  return { count, of, value: of === 0 ? null : count / of };
}

/** Returns the mean of what `countOf` counts of each trial, a ratio of sums over graphs, with its interval. */
export function ratioOf<T extends Pick<TrialSummary, "task">>(
  trials: readonly T[],
  countOf: (trial: T) => { readonly sum: number; readonly count: number },
): Measured {
  return estimateFrom(estimateMean(
    byGraph(trials).map((graph) => ({
      sum: sum(graph, (trial) => countOf(trial).sum),
      count: sum(graph, (trial) => countOf(trial).count),
    })),
  ));
}

/** Returns a mean as reports have it. */
export function estimateFrom(
  { mean, interval, count }: Pick<MeanEstimate, "mean" | "interval" | "count">,
): Measured {
  return { value: mean, interval, of: count };
}

/**
 * Returns the two-sided 95% interval of the share of `items` for which `shows` is true: Wilson's, or from the
 * clustered standard error where several are on one graph; `null` where there is none.
 */
export function shareInterval<T extends Pick<TrialSummary, "task">>(
  items: readonly T[],
  shows: (item: T) => boolean,
): Bounds | null {
  if (items.length === 0) return null;
  const graphs = byGraph(items);
  const count = items.filter(shows).length;
  if (graphs.length === items.length) return wilson(count, items.length);
  return meanInterval(graphs.map((graph) => graph.map((item) => Number(shows(item)))));
}

/** Returns the two-sided 95% interval of the mean of clustered shares; `null` where there is none. */
export function meanInterval(clusters: readonly (readonly number[])[]): Bounds | null {
  const interval = clusteredInterval(clusters);
  // Without spread between clusters it is empty: count each as one trial instead.
  if (interval === null || interval.upper - interval.lower > 1e-9) return interval;
  return wilson(Math.round(mean(clusters.flat())! * clusters.length), clusters.length);
}

/** Counts and means of a set of trials. */
export interface Tally {
  /** Number of trials, invalid ones included. */
  readonly trials: number;
  /** The solved ones of those that count as solved or not: not invalid, unchanged or unsolvable. */
  readonly success: Required<Share>;
  /** Number of trials that infrastructure spoiled. */
  readonly invalid: number;
  /** Number of trials in whose task the perturbation found nothing to change. */
  readonly unchanged: number;
  /** Number of valid trials in which a return was changed; omitted unless a perturbation is of returns. */
  readonly returnsChanged?: number | undefined;
  /** Number of trials on tasks that a perturbation left without an answer. */
  readonly unsolvable: number;
  /** Mean number of calls in solved trials that could make calls; `null` without any. */
  readonly callsSolved: number | null;
  /** Mean number of calls in valid unsolved trials that could make calls; `null` without any. */
  readonly callsFailed: number | null;
  /** Mean of the fewest calls that solve the tasks of `callsSolved`; `null` where unknown. */
  readonly fewestSolved: number | null;
  /** Input and output tokens, of replaced attempts too. */
  readonly tokens: number;
  /** Mean duration of a valid trial in milliseconds; `null` without any that is known. */
  readonly duration: number | null;
}

/** Those that were made: several tables are of the same trials. */
const TALLIES = new WeakMap<readonly TrialSummary[], Tally>();

/** Returns the tally of a set of trials. */
export function tally(trials: readonly TrialSummary[]): Tally {
  return getOrInsertComputed(TALLIES, trials, tallied);
}

function tallied(trials: readonly TrialSummary[]): Tally {
  const valid = trials.filter(countsAsSuccess);
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  const counted = trials.filter(isCounted).length;
  const calling = valid.filter(canCall);
  const perturbed = valid.flatMap(({ returns }) => returns ?? []);
  const [done = [], failed = []] = [true, false].map((isSolved) =>
    calling.filter(({ solved }) => solved === isSolved)
  );
  const minima = done.flatMap(({ minimumCalls }) => minimumCalls ?? []);
  return {
    trials: trials.length,
    success: shareOf(valid, ({ solved }) => solved),
    invalid: trials.length - counted - unchanged,
    unchanged,
    returnsChanged: perturbed.length === 0
      ? undefined
      : perturbed.filter(({ changed }) => changed.length > 0).length,
    unsolvable: counted - valid.length,
    callsSolved: mean(done.map(({ calls }) => calls)),
    callsFailed: mean(failed.map(({ calls }) => calls)),
    fewestSolved: minima.length < done.length ? null : mean(minima),
    tokens: sum(trials.map(spentUsage), (usage) => usage.inputTokens + usage.outputTokens),
    duration: mean(valid.map(({ durationMs }) => durationMs).filter(isDuration)),
  };
}

/** Says how many of the valid trials were solved, as a count or as a share; `undefined` without any. */
export function successText(
  { count, of, value }: Share,
  isCount: boolean,
): string | undefined {
  return of === 0 ? undefined : `${isCount ? count : shareText(value)} of ${of}`;
}

/** Whether any valid trial could make calls; true without valid trials. */
function hasCalls(tallies: readonly Tally[]): boolean {
  const valid = tallies.filter(({ success }) => success.of > 0);
  return valid.length === 0 ||
    valid.some(({ callsSolved, callsFailed }) => callsSolved !== null || callsFailed !== null);
}

/** What has a tally. */
export interface Tallied {
  readonly tally: Tally;
}

/** Returns the columns of tallies; `isBounded` is whether tables show the interval of what a row has solved. */
export function tallyColumns(
  rows: readonly Tallied[],
  words: ReportWords,
  isBounded?: (row: Tallied) => boolean,
): Column<Tallied>[] {
  const isTest = words.cell === "test";
  return [
    { id: "trials", unit: "count", value: ({ tally }) => tally.trials, shown: !isTest },
    {
      ...{ id: "solved", head: words.solved, unit: "share", value: ({ tally }) => tally.success },
      text: ({ tally: { success } }) => isTest ? successText(success, true) : undefined,
      ...(isBounded && { isBounded }),
    },
    ...callColumns(rows, words),
    ...ASIDE,
    RETURNS_CHANGED,
    { id: "tokens", unit: "count", value: ({ tally }) => tally.tokens, shown: false },
    { id: "duration", unit: "time", value: ({ tally }) => tally.duration, shown: false },
  ];
}

/** Returns the columns of calls, which tables show where any of `rows` has data. */
export function callColumns(
  rows: readonly Tallied[],
  { cell, solved }: ReportWords,
): Column<Tallied>[] {
  const tallies = rows.map(({ tally }) => tally);
  const isCalling = hasCalls(tallies);
  const hasFewest = tallies.some(({ fewestSolved }) => fewestSolved !== null);
  return [
    {
      ...{ id: "calls_solved", head: `calls if ${solved}`, unit: "mean", shown: isCalling },
      value: ({ tally }) => tally.callsSolved,
    },
    {
      ...{ id: "calls_unsolved", head: "if not", unit: "mean", next: true, shown: isCalling },
      value: ({ tally }) => tally.callsFailed,
    },
    {
      // Beside the calls of the same trials it shows those that were not needed. A test may allow for more.
      ...{ id: "fewest_solved", unit: "mean", shown: hasFewest && cell !== "test" },
      ...{ head: `fewest if ${solved}`, value: ({ tally }) => tally.fewestSolved },
    },
  ];
}

/** The note of tables with estimated tokens. */
export const ESTIMATED = "~: tokens estimated in part, as a server reported none";

/** Returns the columns of the tokens of what models or judges were asked, which mark estimated ones. */
export function tokenColumns<Row>(usageOf: (row: Row) => Usage | null): Column<Row>[] {
  return (["input", "output"] as const).map((kind) => ({
    ...{ id: `${kind}_tokens`, head: kind === "input" ? "tokens read" : "written" },
    ...{ unit: "count", shown: "filled" },
    value: (row) => {
      const usage = usageOf(row);
      return usage && { value: usage[`${kind}Tokens`], estimated: usage.estimated };
    },
  }));
}

/** The columns of trials that do not count. */
export const ASIDE: readonly Column<Tallied>[] = [
  { id: "invalid", unit: "count", value: ({ tally }) => tally.invalid, shown: "filled" },
  { id: "unchanged", unit: "count", value: ({ tally }) => tally.unchanged, shown: "filled" },
  { id: "unsolvable", unit: "count", value: ({ tally }) => tally.unsolvable, shown: "filled" },
];

/** The column of trials in which a return was changed. */
export const RETURNS_CHANGED: Column<Tallied> = {
  ...{ id: "returns_changed", head: "a return changed", unit: "count", shown: "filled" },
  about:
    "the perturbation changed what a function returned: a model that calls nothing reads no return",
  value: ({ tally }) => tally.returnsChanged,
  text: ({ tally: { returnsChanged, success } }) =>
    returnsChanged === undefined ? undefined : `${returnsChanged} of ${success.of}`,
};
