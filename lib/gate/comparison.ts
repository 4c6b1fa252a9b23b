/**
 * Comparisons on the same graphs: each strategy against the baseline of the same model, and each
 * perturbation against tasks as they are.
 * @module
 */

import {
  differenceOf,
  DIFFERENCES,
  type Pair,
  type PairedDifference,
  pairedDifference,
  sum,
  unitOf,
} from "./evidence.ts";
import { byGraph, byVariant, type Variant, variantOf } from "./variant.ts";
import { canonicalJson } from "../base/json.ts";
import { costOfAll, type Prices, spentUsage } from "../models/prices.ts";
import { clusteredInterval } from "../statistics/pass_at_k.ts";
import { type Bounds, tango } from "../statistics/proportions.ts";
import type { TrialSummary } from "../trials/summary.ts";

/**
 * What a solved task took on average: everything that was spent, on trials that were not solved or
 * are invalid too, by the trials that were solved. Each is `null` when none was.
 */
export interface Effort {
  /** Tokens read and written. */
  readonly tokens: number | null;
  /** Calls of functions, refused ones included. */
  readonly calls: number | null;
  /** US dollars; also `null` where the price of a model that took part is not known. */
  readonly usd: number | null;
}

/**
 * A strategy against the baseline of the same model and perturbation, or a perturbation against `none` of
 * the same model and strategy.
 */
export interface Comparison {
  /** What is compared. */
  readonly subject: Variant;
  /** Whether the model of either is a program that stands in for a model. */
  readonly simulated: boolean;
  /** Graphs with a valid trial of both. */
  readonly graphs: number;
  /** Graphs of either that have none of one of them. */
  readonly leftOut: number;
  /** How much more often tasks were solved, on graphs with a valid trial of both; `null` without any. */
  readonly success: PairedSuccess | null;
  /** What a solved task took, on graphs that both were run on, validly or not. */
  readonly effort: {
    readonly candidate: Effort;
    readonly baseline: Effort;
    /** The candidate's less the baseline's; each is `null` where one of these is. */
    readonly extra: Effort;
  };
}

/** What graphs show of a strategy or a perturbation, the candidate, against the baseline. */
export interface PairedSuccess extends PairedDifference {
  /**
   * Two-sided 95% interval of the true difference: Tango's, or Student's over the differences of the
   * graphs when some were repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
}

/**
 * Compares each strategy with the baseline of the same model and perturbation, where there are
 * trials of both, graph by graph: what makes a graph hard is hard for both, and drops out. Each
 * interval is for one comparison by itself. Costs in dollars are known where `prices` has all models
 * that took part.
 *
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998. Counted exactly, its interval misses
 * the truth in at most 9% of runs of ten graphs and 8% of fifty, but for truths at the very edge: where all
 * graphs but one in fifty or fewer differ the same way, in up to 16%.
 * @see Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based
 * on paired data", Journal of Educational and Behavioral Statistics 37:479-488, 2012, for repeated graphs:
 * simulated, theirs with Student's quantile misses in at most 6% of runs.
 *
 * @example Usage
 * ```ts
 * import { compareStrategies } from "./comparison.ts";
 * import { runTrial } from "../trials/trial.ts";
 * import { scripted } from "../models/scripted.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("shrug", () => ({ text: "I cannot tell." }));
 * const trial = await runTrial(task, model);
 * const [comparison] = compareStrategies([trial, { ...trial, strategy: "restate" }]);
 * assertEquals(comparison!.subject.strategy, "restate");
 * assertEquals([comparison!.graphs, comparison!.success!.difference], [1, 0]);
 * ```
 */
export function compareStrategies(
  trials: readonly TrialSummary[],
  prices: Prices = {},
): Comparison[] {
  return compareWith(trials, prices, { strategy: "baseline" });
}

/**
 * Compares each perturbation with `none` of the same model and strategy, where there are trials of both,
 * as {@linkcode compareStrategies} compares strategies with the baseline.
 *
 * @example Usage
 * ```ts
 * import { comparePerturbations } from "./comparison.ts";
 * import { runTrial } from "../trials/trial.ts";
 * import { scripted } from "../models/scripted.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("shrug", () => ({ text: "I cannot tell." }));
 * const trial = await runTrial(task, model);
 * const [comparison] = comparePerturbations([trial, { ...trial, perturbation: "RD" }]);
 * assertEquals(comparison!.subject.perturbation, "RD");
 * assertEquals([comparison!.graphs, comparison!.success!.difference], [1, 0]);
 * ```
 */
export function comparePerturbations(
  trials: readonly TrialSummary[],
  prices: Prices = {},
): Comparison[] {
  return compareWith(trials, prices, { perturbation: "none" });
}

/** Compares each subject with the one that has `usual` in place of its own, where it is another. */
function compareWith(
  trials: readonly TrialSummary[],
  prices: Prices,
  usual: Partial<Variant>,
): Comparison[] {
  // What was not changed says nothing of a perturbation, nor of a strategy under it.
  const changed = trials.filter((trial) => trial.changed !== false);
  const groups = new Map(
    byVariant(changed, variantOf).map((group) => [canonicalJson(group.subject), group]),
  );
  return [...groups.values()].flatMap(({ subject, items }) => {
    const others = groups.get(canonicalJson({ ...subject, ...usual }));
    const compared = others !== undefined && others.items !== items;
    return compared ? [compare(subject, items, others.items, prices)] : [];
  });
}

/** The trials of both on one graph. */
interface Shared<T> {
  readonly candidate: readonly T[];
  readonly baseline: readonly T[];
}

function graphsOf<T extends Pick<TrialSummary, "task">>(
  own: readonly T[],
  others: readonly T[],
): Shared<T>[] {
  const candidates = new Set(own);
  return byGraph([...own, ...others]).map((graph) => ({
    candidate: graph.filter((trial) => candidates.has(trial)),
    baseline: graph.filter((trial) => !candidates.has(trial)),
  }));
}

/** The graphs with a valid trial of both; `shows` tells which trials count. */
function pairsOf(
  graphs: readonly Shared<TrialSummary>[],
  shows: (trial: TrialSummary) => boolean,
): Pair[] {
  const unit = (trials: readonly TrialSummary[]) => unitOf(trials, trials.length, shows);
  return graphs
    .map(({ candidate, baseline }): Pair => ({
      candidate: unit(candidate),
      baseline: unit(baseline),
    }))
    .filter(({ candidate, baseline }) => candidate.valid > 0 && baseline.valid > 0);
}

function compare(
  subject: Variant,
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
  prices: Prices,
): Comparison {
  const graphs = graphsOf(own, others);
  const shared = graphs.filter(({ candidate, baseline }) =>
    candidate.length > 0 && baseline.length > 0
  );
  const pairs = pairsOf(shared, ({ solved }) => solved);
  const candidate = effortOf(shared.flatMap((graph) => graph.candidate), prices);
  const baseline = effortOf(shared.flatMap((graph) => graph.baseline), prices);
  return {
    subject,
    simulated: [...own, ...others].some(({ model }) => model.simulated),
    graphs: pairs.length,
    leftOut: graphs.length - pairs.length,
    success: successOf(pairs),
    effort: { candidate, baseline, extra: extraOf(candidate, baseline) },
  };
}

/**
 * How much more of `own` than of `others` show something, graph by graph, as {@linkcode compareStrategies}
 * compares success; `null` without a graph that has valid trials of both.
 */
export function compareShares(
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
  shows: (trial: TrialSummary) => boolean,
): PairedSuccess | null {
  return successOf(pairsOf(graphsOf(own, others), shows));
}

/** Tango's bounds have one side each: two of them leave out 5% together. */
const EACH_SIDE = 0.975;

function successOf(pairs: readonly Pair[]): PairedSuccess | null {
  if (pairs.length === 0) return null;
  const seen = pairedDifference(pairs);
  const single = pairs.every(DIFFERENCES.single);
  const { gained, lost } = seen;
  return {
    ...seen,
    interval: single ? tango(gained, lost, pairs.length, EACH_SIDE) : studentOf(pairs),
  };
}

/**
 * Student's interval of the mean of graph differences, which lie in [-1, 1] in place of [0, 1]. One graph
 * that is gained and one that is lost are added, as for adjusted Wald intervals: few graphs that differ, or
 * none, would else prove more than they can.
 */
function studentOf(pairs: readonly Pair[]): Bounds | null {
  if (pairs.length < 2) return null;
  const differences = [...pairs.map(differenceOf), 1, -1];
  const interval = clusteredInterval(differences.map((difference) => [(1 + difference) / 2]));
  return interval &&
    { lower: 2 * interval.lower - 1, upper: 2 * interval.upper - 1 };
}

function effortOf(trials: readonly TrialSummary[], prices: Prices): Effort {
  const solved = trials.filter((trial) => trial.solved).length;
  const each = (total: number | null) => total === null || solved === 0 ? null : total / solved;
  return {
    tokens: each(sum(trials.map(spentUsage), (usage) => usage.inputTokens + usage.outputTokens)),
    calls: each(sum(trials, ({ calls }) => calls)),
    usd: each(costOfAll(trials, prices)),
  };
}

function extraOf(candidate: Effort, baseline: Effort): Effort {
  const less = (one: number | null, other: number | null) =>
    one === null || other === null ? null : one - other;
  return {
    tokens: less(candidate.tokens, baseline.tokens),
    calls: less(candidate.calls, baseline.calls),
    usd: less(candidate.usd, baseline.usd),
  };
}
