/**
 * Comparisons of two variants on the same graphs; each strategy with the baseline of the same model.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { costOfAll, isUncounted, type Prices, spentUsage } from "../models/prices.ts";
import { clusteredInterval } from "../statistics/pass_at_k.ts";
import { type Bounds, tango } from "../statistics/proportions.ts";
import { isCase } from "../trials/executors/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import {
  type ComparedTrial,
  type SharedGraph,
  sharedGraphs,
  unitsOf,
  validPairs,
  variantsOf,
  type VariantTrials,
} from "./_variant_trials.ts";
import { type ChangedCases, changedCases } from "./changed_cases.ts";
import {
  differenceOf,
  DIFFERENCES,
  type Pair,
  type PairedDifference,
  pairedDifference,
  unitOf,
} from "./evidence.ts";
import { CORES, unitNames } from "./unit_names.ts";
import { caseOf, missesCall, needsCalls, type Variant } from "./variant.ts";

/**
 * The mean effort per solved task: everything spent, including on unsolved and invalid trials, divided by
 * the number of solved trials. Each is `null` if none was solved.
 */
export interface Effort {
  /** Tokens read and written; also `null` if the requests of an agent were not seen. */
  readonly tokens: number | null;
  /** Function calls, including refused ones. */
  readonly calls: number | null;
  /** US dollars; also `null` if they were not seen, or the price of a model that took part is unknown. */
  readonly usd: number | null;
}

/** A variant, the candidate, compared with another one, its baseline. */
export interface Comparison {
  /** The candidate. */
  readonly subject: Variant;
  /** Whether either model is a simulated one. */
  readonly simulated: boolean;
  /** Graphs with a valid trial of both; core graphs where tasks share these. */
  readonly graphs: number;
  /** Set if tasks share core graphs: `graphs` counts those. */
  readonly cores?: true;
  /** Graphs without a valid trial of one of them. */
  readonly leftOut: number;
  /** The difference in success on graphs with a valid trial of both; `null` if there are none. */
  readonly success: PairedSuccess | null;
  /**
   * The difference in trials with a needed call that was never made, on graphs that need calls in both; `null`
   * if there are none.
   */
  readonly missed: PairedSuccess | null;
  /**
   * The cases of own tests that changed, with 95% confidence; omitted unless there are several cases. Marks are for runs
   * of a fixed size.
   */
  readonly changed?: ChangedCases;
  /** The effort per solved task, on graphs that both ran on, validly or not; `null` for results in a baseline file. */
  readonly effort: {
    readonly candidate: Effort;
    readonly baseline: Effort;
    /** The candidate's less the baseline's; each is `null` if one of these is. */
    readonly extra: Effort;
  };
}

/** The success of the candidate, compared with that of the baseline. */
export interface PairedSuccess extends PairedDifference {
  /**
   * Two-sided 95% interval of the true difference: Tango's, or Student's over the differences of the graphs
   * if some were repeated; `null` if there is none.
   */
  readonly interval: Bounds | null;
}

/**
 * Compares each strategy with the baseline of the same model and perturbation, if there are trials of both,
 * graph by graph, so that the difficulty of a graph cancels out. Each interval is for one comparison
 * alone. Costs in dollars require the prices of all models that took part.
 *
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998. Counted exactly, its interval misses
 * the truth in at most 9% of runs of ten graphs and 8% of fifty, except for truths at the very edge: if all
 * graphs but one in fifty or fewer differ in the same direction, in up to 16%.
 * @see Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based
 * on paired data", Journal of Educational and Behavioral Statistics 37:479-488, 2012, for repeated graphs:
 * in simulations, theirs with Student's quantile misses in at most 6% of runs.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { compareStrategies } from "@toolgate/toolgate/gate";
 * import { runTrial } from "@toolgate/toolgate/trials";
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
  const variants = variantsOf(trials);
  const byName = new Map(variants.map((one) => [canonicalJson(one.subject), one]));
  return variants.flatMap((one) => {
    const baseline = byName.get(canonicalJson({ ...one.subject, strategy: "baseline" }));
    return baseline === undefined || baseline === one ? [] : [compare(one, baseline, prices)];
  });
}

/** Compares a variant with another one; `shared` are the graphs that both worked on. */
export function compare(
  own: VariantTrials,
  others: VariantTrials,
  prices: Prices,
  shared: readonly SharedGraph[] = sharedGraphs(own, others),
): Comparison {
  const candidate = meanEffort(shared.flatMap((graph) => graph.candidate), prices);
  const baseline = meanEffort(shared.flatMap((graph) => graph.baseline), prices);
  return {
    subject: own.subject,
    simulated: [own, others].some(({ trials }) => trials.some(({ model }) => model.simulated)),
    ...compareGraphs(own, others),
    ...(unitNames(own.trials.map(({ task }) => task)) === CORES ? { cores: true as const } : {}),
    ...changedIn(shared),
    effort: { candidate, baseline, extra: extraEffort(candidate, baseline) },
  };
}

/** The cases of own tests that changed, if there are several. */
function changedIn(shared: readonly SharedGraph[]): Pick<Comparison, "changed"> {
  const ofCases = shared.filter(({ candidate: [first] }) => isCase(first!.task));
  const cases = [...Map.groupBy(ofCases, ({ candidate: [first] }) => caseOf(first!.task)!)]
    .map(([name, graphs]) => ({
      case: name,
      candidate: unitOf(graphs.flatMap(({ candidate }) => candidate)),
      baseline: unitOf(graphs.flatMap(({ baseline }) => baseline)),
    }));
  return cases.length < 2 ? {} : { changed: changedCases(cases, 0.95, false) };
}

/** Compares the success of trials of one variant with that of others, graph by graph. */
export function compareSuccess(
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
): Pick<Comparison, "graphs" | "leftOut" | "success" | "missed"> {
  const unitsIn = (trials: readonly TrialSummary[]) => ({
    solved: unitsOf(trials, ({ solved }) => solved),
    missed: unitsOf(trials.filter(needsCalls), missesCall),
  });
  return compareGraphs(unitsIn(own), unitsIn(others));
}

function compareGraphs(
  own: Pick<VariantTrials, "solved" | "missed">,
  others: Pick<VariantTrials, "solved" | "missed">,
): ReturnType<typeof compareSuccess> {
  const pairs = validPairs(own.solved, others.solved);
  const all = new Set([...own.solved.keys(), ...others.solved.keys()]);
  return {
    graphs: pairs.length,
    leftOut: all.size - pairs.length,
    success: pairedSuccess(pairs),
    missed: pairedSuccess(validPairs(own.missed, others.missed)),
  };
}

/**
 * Compares the shares of trials that show something, graph by graph, as {@linkcode compareStrategies}
 * compares success; `null` without a graph that has valid trials of both.
 */
export function compareShares(
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
  shows: (trial: TrialSummary) => boolean,
): PairedSuccess | null {
  return pairedSuccess(validPairs(unitsOf(own, shows), unitsOf(others, shows)));
}

/** Tango's bounds are one-sided: two of them leave out 5% together. */
const EACH_SIDE = 0.975;

function pairedSuccess(pairs: readonly Pair[]): PairedSuccess | null {
  if (pairs.length === 0) return null;
  const difference = pairedDifference(pairs);
  const single = pairs.every(DIFFERENCES.single);
  const { gained, lost } = difference;
  return {
    ...difference,
    interval: single ? tango(gained, lost, pairs.length, EACH_SIDE) : studentInterval(pairs),
  };
}

/**
 * Student's interval of the mean of graph differences, which are in [-1, 1] instead of [0, 1]. One gained and
 * one lost graph are added, as in adjusted Wald intervals: otherwise few graphs that differ, or none, would
 * prove too much.
 */
function studentInterval(pairs: readonly Pair[]): Bounds | null {
  if (pairs.length < 2) return null;
  const differences = [...pairs.map(differenceOf), 1, -1];
  const interval = clusteredInterval(differences.map((difference) => [(1 + difference) / 2]));
  return interval &&
    { lower: 2 * interval.lower - 1, upper: 2 * interval.upper - 1 };
}

function meanEffort(trials: readonly ComparedTrial[], prices: Prices): Effort {
  const isKnown = trials.every((trial): trial is TrialSummary => trial.usage !== undefined);
  if (!isKnown) return { tokens: null, calls: null, usd: null };
  const solved = trials.filter((trial) => trial.solved).length;
  const each = (total: number | null) => total === null || solved === 0 ? null : total / solved;
  return {
    tokens: trials.some(isUncounted)
      ? null
      : each(sum(trials.map(spentUsage), (usage) => usage.inputTokens + usage.outputTokens)),
    calls: each(sum(trials, ({ calls }) => calls)),
    usd: each(costOfAll(trials, prices)),
  };
}

function extraEffort(candidate: Effort, baseline: Effort): Effort {
  const less = (one: number | null, other: number | null) =>
    one === null || other === null ? null : one - other;
  return {
    tokens: less(candidate.tokens, baseline.tokens),
    calls: less(candidate.calls, baseline.calls),
    usd: less(candidate.usd, baseline.usd),
  };
}
