/**
 * Metrics: what trials come to, for each cell and over all.
 * @module
 */

import { FAILURE_TYPES, type FailureType } from "./failure.ts";
import { byGraph, bySubject, type Subject, subjectOf } from "./judge.ts";
import { canonicalJson, type JsonValue } from "./json.ts";
import { type Bounds, clusteredStandardError, normalQuantile, wilson } from "./statistics.ts";
import type { Trial } from "./trial.ts";

/** What a set of trials comes to. */
export interface Tally {
  /** Trials, invalid ones too. */
  readonly trials: number;
  /** Trials that are not invalid. */
  readonly valid: number;
  readonly solved: number;
  /** Solved share of the valid trials; `null` without any. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the rate: Wilson's, or from the clustered standard error when graphs
   * were repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
  /** Mean calls of solved trials; `null` without any. */
  readonly callsSolved: number | null;
  /** Mean calls of valid trials that were not solved; `null` without any. */
  readonly callsFailed: number | null;
  /** Mean of the fewest calls that solve the tasks; `null` where unknown. */
  readonly minimumCalls: number | null;
  /** Tokens read and written. */
  readonly tokens: number;
  /** Mean milliseconds of a valid trial; `null` without any. */
  readonly duration: number | null;
}

/** Failures of one type. */
export interface FailureTally {
  readonly type: FailureType;
  readonly roots: number;
  readonly cascades: number;
}

/** What the trials of one model, strategy and perturbation come to. */
export interface SubjectMetrics {
  readonly subject: Subject;
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  /** For each cell, in the order in which cells first occur. */
  readonly cells: readonly { readonly name: string; readonly tally: Tally }[];
  /** Over all cells. */
  readonly total: Tally;
  /** Failures by type, all types in order. */
  readonly failures: readonly FailureTally[];
  /** How many valid trials showed a behaviour, or were solved without the target's return. */
  readonly behaviours: Readonly<Record<string, number>>;
}

/** The metrics of `trials`, subject by subject. */
export function measure(trials: readonly Trial[]): SubjectMetrics[] {
  return bySubject(trials, subjectOf).map(({ subject, items }) => ({
    subject,
    simulated: items.some(({ model }) => model.simulated),
    cells: [...Map.groupBy(items, cellName)].map(([name, own]) => ({ name, tally: tally(own) })),
    total: tally(items),
    failures: FAILURE_TYPES.map((type) => {
      const own = items.filter(({ outcome }) => outcome !== "invalid")
        .flatMap(({ failures }) => failures.filter((failure) => failure.type === type));
      const roots = own.filter(({ root }) => root).length;
      return { type, roots, cascades: own.length - roots };
    }),
    behaviours: behaviourCounts(items),
  }));
}

/**
 * The tally of a set of trials.
 *
 * @example Usage
 * ```ts
 * import { tally } from "./metrics.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(tally([]).rate, null);
 * ```
 */
export function tally(trials: readonly Trial[]): Tally {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  const solved = valid.filter((trial) => trial.solved);
  const failed = valid.filter((trial) => !trial.solved);
  const minima = valid.flatMap(({ minimumCalls }) => minimumCalls ?? []);
  return {
    trials: trials.length,
    valid: valid.length,
    solved: solved.length,
    rate: valid.length === 0 ? null : solved.length / valid.length,
    interval: intervalOf(valid),
    callsSolved: mean(solved.map(({ calls }) => calls)),
    callsFailed: mean(failed.map(({ calls }) => calls)),
    minimumCalls: minima.length < valid.length ? null : mean(minima),
    tokens: trials.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0),
    duration: mean(valid.map(({ durationMs }) => durationMs)),
  };
}

function intervalOf(valid: readonly Trial[]): Bounds | null {
  if (valid.length === 0) return null;
  const graphs = byGraph(valid);
  const solved = valid.filter((trial) => trial.solved).length;
  if (graphs.length === valid.length) return wilson(solved, valid.length);
  const error = clusteredStandardError(
    graphs.map((graph) => graph.map((trial) => Number(trial.solved))),
  );
  if (error === null) return null;
  const rate = solved / valid.length;
  // Graphs that are all alike have no spread, and yet prove no more than so many trials would.
  if (rate === 0 || rate === 1) return wilson(rate * graphs.length, graphs.length);
  const half = normalQuantile(0.975) * error;
  return { lower: Math.max(0, rate - half), upper: Math.min(1, rate + half) };
}

/** The sizes of a trial's task, in words; other tasks go by their own names. */
export function cellName({ task }: Trial): string {
  const { seed: _, ...sizes } = task as unknown as Record<string, JsonValue>;
  return Object.entries(sizes)
    .map(([name, value]) => `${name} ${typeof value === "object" ? canonicalJson(value) : value}`)
    .join(", ");
}

function behaviourCounts(trials: readonly Trial[]): Record<string, number> {
  const counts: Record<string, number> = Object.create(null);
  for (const { behaviours, outcome, solved, grounded } of trials) {
    if (outcome === "invalid") continue;
    for (const behaviour of [...behaviours, ...(solved && !grounded ? ["ungrounded"] : [])]) {
      counts[behaviour] = (counts[behaviour] ?? 0) + 1;
    }
  }
  return counts;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
