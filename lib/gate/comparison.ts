/**
 * Comparisons: all pairs of variants that differ in one thing, graph by graph on the tasks of both.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { fork } from "../base/random.ts";
import { costOfAll, isUncounted, type Prices, spentUsage } from "../models/prices.ts";
import defer * as perturbations from "../perturbations/ids.ts";
import { clusteredInterval } from "../statistics/pass_at_k.ts";
import { type Bounds, holm, mcNemar, tango } from "../statistics/proportions.ts";
import { type SignFlip, signFlip } from "../statistics/sign_flip.ts";
import defer * as summaries from "../trials/summary.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { type ChangedCases, changedCases, type ComparedCase } from "./decide.ts";
import { type ComparedCases, isLeftOut } from "./compared_cases.ts";
import {
  differenceOf,
  DIFFERENCES,
  type Pair,
  type PairedDifference,
  pairedDifference,
  type Unit,
  unitOf,
} from "./evidence.ts";
import { CORES, unitNames } from "./unit_names.ts";
import {
  byVariant,
  caseOf,
  missesCall,
  needsCalls,
  type ScoredTrial,
  type Simulated,
  simulatedIn,
  unitKey,
  type Variant,
  variantOf,
} from "./variant.ts";

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

/** Two variants that differ in one thing: the candidate, and what it is compared with, on the tasks of both. */
export interface ComparedPair {
  /** The candidate. */
  readonly subject: Variant;
  /** What is simulated in its trials, and in those of what it is compared with. */
  readonly simulated: Simulated;
  readonly againstSimulated: Simulated;
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
  /** What they differ in. */
  readonly of: keyof Variant;
  /** The variant that the candidate is compared with. */
  readonly against: Variant;
  /** Set if that is the strategy `plain`, the perturbation `none`, or the baseline of the gate. */
  readonly reference?: true;
  /** The test of "there is no difference"; `null` without a graph that has valid trials of both. */
  readonly test: PairTest | null;
  /** The tasks that the candidate solved more often, the largest change first: graphs, questions or own tests. */
  readonly gained: readonly ChangedTask[];
  /** Those that it solved less often. */
  readonly lost: readonly ChangedTask[];
}

/** The success of the candidate, compared with that of the baseline. */
export interface PairedSuccess extends PairedDifference {
  /**
   * Two-sided 95% interval of the true difference: Tango's, or Student's over the differences of the graphs
   * if some were repeated; `null` if there is none.
   */
  readonly interval: Bounds | null;
}

/** What two compared variants may differ in: exactly one of these. */
const FIELDS = ["model", "strategy", "perturbation", "variant"] as const;

/** A test of "there is no difference", of which a gate allows some. */
export interface PairTest extends SignFlip {
  /** Exact McNemar where each graph has one trial of both, else {@linkcode signFlip}. */
  readonly name: "mcnemar" | "sign-flip";
  /** The same, adjusted by Holm for the number of pairs that are compared together. */
  readonly adjusted: number;
}

/** A task that one of two variants solved more often. */
export interface ChangedTask {
  /** The task, as in the candidate's first trial of it. */
  readonly task: Trial["task"];
  /** The candidate's valid trials, and how many of them were solved. */
  readonly candidate: { readonly solved: number; readonly valid: number };
  /** Those of the variant that it is compared with. */
  readonly baseline: { readonly solved: number; readonly valid: number };
  /** The ids of all trials of both; none of results in a baseline file, nor of pairs from the 301st on. */
  readonly trials: readonly [candidate: readonly string[], baseline: readonly string[]];
}

/** Options of {@linkcode comparePairs}. */
export interface PairOptions {
  /** Prices of all models that took part, for costs. */
  readonly prices?: Prices | undefined;
  /** What the baselines of gates are, such as `{ model: "old" }`: these are never the candidate. */
  readonly references?: readonly Partial<Variant>[];
  /** The order of variants, such as those of an old run before those of a new one. Default: that of the trials. */
  readonly order?: readonly Variant[];
  /** Accepted results to compare with as well. */
  readonly accepted?: readonly AcceptedResults[];
  /** Whether a trial is of a task that is another one in other trials, so that it is in no pair. */
  readonly isLeftOut?: (trial: TrialSummary) => boolean;
  /** Whether results could end the run, so that no test of a fixed number of trials proves a change. Default: false. */
  readonly anytime?: boolean;
}

/** Accepted results, of which only outcomes are known, and what is compared with which of them. */
export interface AcceptedResults {
  /** Where they are from, such as the name of a file. */
  readonly name: string;
  /** Their trials. */
  readonly trials: readonly ScoredTrial[];
  /** The pairs to compare; further fields are ignored. */
  readonly decisions: readonly { readonly subject: Variant; readonly baseline?: Variant }[];
  /** The cases of own tests that are not compared. */
  readonly cases?: ComparedCases;
}

/**
 * Compares all pairs of variants that differ in exactly one of model, strategy, perturbation and own variant, and
 * that worked on a common task, graph by graph, so that the difficulty of a graph cancels out. The first of
 * two is what the other one is compared with, unless that is the strategy `plain`, the perturbation `none` or the
 * baseline of a gate. Perturbations under which no task can be solved are in no pair. Pairs with those references
 * come first.
 *
 * Intervals are Tango's, or Student's where graphs were repeated. Counted exactly, Tango's misses the truth in at most 9%
 * of runs of ten graphs and 8% of fifty, except for truths at the very edge: if all graphs but one in fifty or fewer
 * differ in the same direction, in up to 16%. Student's misses it in at most 6% of simulated runs.
 *
 * @see Tango, "Equivalence test and confidence interval for the difference in proportions for the
 * paired-sample design", Statistics in Medicine 17:891-908, 1998.
 * @see Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions based
 * on paired data", Journal of Educational and Behavioral Statistics 37:479-488, 2012.
 * @see {@linkcode signFlip} for the test where graphs were repeated, and Holm, "A Simple Sequentially Rejective
 * Multiple Test Procedure", 1979, for adjusted p-values: those up to 0.05 are significant together, with a chance of
 * at most 5% that one of them or more is wrong.
 */
export function comparePairs(
  trials: readonly TrialSummary[],
  options: PairOptions = {},
): ComparedPair[] {
  const { references = [], order = [], accepted = [], isLeftOut: leavesOut = () => false } =
    options;
  const places = new Map(order.map((one, place) => [canonicalJson(one), place]));
  const placeOf = ({ subject }: VariantTrials) =>
    places.get(canonicalJson(subject)) ?? order.length;
  const variants = variantsOf(
    trials.filter((trial) => !leavesOut(trial) && !perturbations.isRemoving(trial.perturbation)),
  ).sort((one, other) => placeOf(one) - placeOf(other));
  const rankOf = ({ subject }: VariantTrials, of: typeof FIELDS[number]) =>
    references.some((one) => one[of] !== undefined && one[of] === subject[of])
      ? 2
      : of === "strategy" && subject.strategy === "plain" ||
          of === "perturbation" && subject.perturbation === "none"
      ? 1
      : 0;
  const pairs = FIELDS.flatMap((of) =>
    [...Map.groupBy(variants, ({ subject }) => canonicalJson({ ...subject, [of]: null })).values()]
      .flatMap((alike) =>
        alike.flatMap((one, place) =>
          alike.slice(place + 1).flatMap((other) => {
            const [first, second] = [rankOf(one, of), rankOf(other, of)];
            const [candidate, against] = second > first ? [one, other] : [other, one];
            return comparePair(candidate, against, of, Math.max(first, second) > 0, options);
          })
        )
      )
  );
  const all = [
    ...pairs,
    ...accepted.flatMap((results) => compareAccepted(variants, results, options)),
  ]
    .sort((one, other) => Number(other.reference ?? false) - Number(one.reference ?? false));
  const tested = all.flatMap(({ test }) => test ?? []);
  const adjusted = holm(tested.map(({ p }) => p));
  return all.map((pair, place) => ({
    ...(place < MAX_LISTED ? pair : withoutIds(pair)),
    test: pair.test && { ...pair.test, adjusted: adjusted[tested.indexOf(pair.test)]! },
  }));
}

/** Pairs with ids of trials, at most: a thousand pairs would have millions. */
export const MAX_LISTED = 300;

function withoutIds({ gained, lost, ...pair }: ComparedPair): ComparedPair {
  const shorten = (tasks: readonly ChangedTask[]) =>
    tasks.map((one): ChangedTask => ({ ...one, trials: [[], []] }));
  return { ...pair, gained: shorten(gained), lost: shorten(lost) };
}

/** Compares variants with the results that were accepted of them, or of those before them. */
function compareAccepted(
  variants: readonly VariantTrials[],
  { name, trials, decisions, cases }: AcceptedResults,
  { anytime }: PairOptions,
): ComparedPair[] {
  // Their ids are none of the report's.
  const there = variantsOf(trials.map((trial) => ({ ...trial, id: undefined })));
  const isSame = (one: Variant, other: Variant) => canonicalJson(one) === canonicalJson(other);
  return decisions.flatMap(({ subject, baseline }) => {
    const candidate = variants.find((one) => isSame(one.subject, subject));
    const found = baseline && there.find((one) => isSame(one.subject, baseline));
    if (candidate === undefined || found === undefined) return [];
    const own = variantsOf(candidate.trials.filter(({ task }) => !isLeftOut(task, cases)));
    const of = FIELDS.find((field) => found.subject[field] !== subject[field]) ?? "variant";
    const variant = [name, found.subject.variant ?? []].flat().join(" ");
    const against = { ...found, subject: { ...found.subject, variant } };
    return own.flatMap((one) => comparePair(one, against, of, true, { anytime }));
  });
}

/** Compares two variants; nothing if they have no task in common. */
function comparePair(
  own: VariantTrials,
  others: VariantTrials,
  of: ComparedPair["of"],
  isReference: boolean,
  { prices = {}, anytime = false }: PairOptions,
): ComparedPair[] {
  const shared = sharedGraphs(own.graphs, others.graphs);
  if (shared.length === 0) return [];
  const candidate = meanEffort(shared.flatMap((graph) => graph.candidate.trials), prices);
  const baseline = meanEffort(shared.flatMap((graph) => graph.baseline.trials), prices);
  const tasks = tasksOf(shared);
  const cases = tasks.filter((task) => task.case !== undefined);
  const changes = changesOf(tasks);
  return [{
    subject: own.subject,
    of,
    against: others.subject,
    reference: isReference || undefined,
    simulated: simulatedIn(own.trials),
    againstSimulated: simulatedIn(others.trials),
    ...compareGraphs(own.graphs, others.graphs),
    cores: unitNames(own.trials.map(({ task }) => task)) === CORES || undefined,
    changed: cases.length < 2 ? undefined : changedCases(cases, 0.95, anytime),
    effort: { candidate, baseline, extra: extraEffort(candidate, baseline) },
    test: testOf(validPairs(shared, ({ solved }) => solved)),
    gained: changes.filter(({ change }) => change > 0).map(({ changed }) => changed),
    lost: changes.filter(({ change }) => change < 0).map(({ changed }) => changed),
  }];
}

/** The test of a pair, not yet adjusted. */
function testOf(pairs: readonly Pair[]): PairTest | null {
  if (pairs.length === 0) return null;
  if (pairs.every(DIFFERENCES.single)) {
    const { gained, lost } = pairedDifference(pairs);
    const { exact } = mcNemar(gained, lost);
    return { name: "mcnemar", p: exact, adjusted: exact };
  }
  const tally = ({ solved, valid }: Unit) => [solved, valid] as const;
  const { p, ...drawn } = signFlip(
    pairs.map(({ candidate, baseline }) => [tally(candidate), tally(baseline)]),
    fork("sign flips").prng,
  );
  return { name: "sign-flip", p, adjusted: p, ...drawn };
}

/** A task of both, with all trials of it: a graph, or a case, whose trials are graphs of their own. */
interface SharedTask extends ComparedCase {
  readonly trials: readonly [own: readonly ScoredTrial[], others: readonly ScoredTrial[]];
}

function tasksOf(shared: readonly SharedGraph[]): SharedTask[] {
  const byTask = Map.groupBy(
    shared,
    ({ key, candidate }) => caseOf(candidate.trials[0]!.task) ?? key,
  );
  return [...byTask.values()].map((graphs): SharedTask => {
    const own = graphs.flatMap(({ candidate }) => candidate.trials);
    const others = graphs.flatMap(({ baseline }) => baseline.trials);
    return {
      case: caseOf(own[0]!.task)!,
      candidate: unitOf(own),
      baseline: unitOf(others),
      trials: [own, others],
    };
  });
}

/** Returns the tasks that one of two variants solved more often, the largest change first. */
function changesOf(tasks: readonly SharedTask[]) {
  const counts = ({ solved, valid }: Unit) => ({ solved, valid });
  const ids = (trials: readonly ScoredTrial[]) => trials.flatMap(({ id }) => id ?? []);
  return tasks.filter(({ candidate, baseline }) => candidate.valid > 0 && baseline.valid > 0)
    .map(({ candidate, baseline, trials: [own, others] }) => ({
      change: differenceOf({ candidate, baseline }),
      changed: {
        task: own[0]!.task,
        candidate: counts(candidate),
        baseline: counts(baseline),
        trials: [ids(own), ids(others)],
      } satisfies ChangedTask,
    }))
    .filter(({ change }) => change !== 0)
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change));
}

/** What trials of two variants say of success, and of missed calls, graph by graph. */
export type SuccessCompared = Pick<ComparedPair, "graphs" | "leftOut" | "success" | "missed">;

/** Compares the success of trials of one variant with that of others, graph by graph. */
export function compareSuccess(
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
): SuccessCompared {
  return compareGraphs(graphsOf(own), graphsOf(others));
}

function compareGraphs(own: Graphs, others: Graphs): SuccessCompared {
  const shared = sharedGraphs(own, others);
  const pairs = validPairs(shared, ({ solved }) => solved);
  return {
    graphs: pairs.length,
    leftOut: own.size + others.size - shared.length - pairs.length,
    success: pairedSuccess(pairs),
    missed: pairedSuccess(validPairs(shared, ({ missed }) => missed)),
  };
}

/**
 * Compares the shares of trials that show something, graph by graph, as {@linkcode comparePairs} compares success; `null`
 * without a graph that has valid trials of both.
 */
export function compareShares(
  own: readonly TrialSummary[],
  others: readonly TrialSummary[],
  shows: (trial: TrialSummary) => boolean,
): PairedSuccess | null {
  const unitIn = ({ trials }: ComparedGraph) =>
    unitOf(trials as readonly TrialSummary[], trials.length, shows);
  return pairedSuccess(validPairs(sharedGraphs(graphsOf(own), graphsOf(others)), unitIn));
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

function meanEffort(trials: readonly ScoredTrial[], prices: Prices): Effort {
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
  const less = (of: keyof Effort) =>
    candidate[of] === null || baseline[of] === null ? null : candidate[of] - baseline[of];
  return { tokens: less("tokens"), calls: less("calls"), usd: less("usd") };
}

/** The trials of a variant, and its graphs with what is compared of each: once, as each is compared with many. */
interface VariantTrials {
  readonly subject: Variant;
  readonly trials: readonly ScoredTrial[];
  readonly graphs: Graphs;
}

type Graphs = ReadonlyMap<string, ComparedGraph>;

interface ComparedGraph {
  readonly trials: readonly ScoredTrial[];
  readonly solved: Unit;
  /** Of the trials that need calls, those in which one was never made. */
  readonly missed: Unit;
}

/** What both variants came to on one graph, by valid trials or not. */
interface SharedGraph extends Record<keyof Pair, ComparedGraph> {
  readonly key: string;
}

/** Groups trials by variant, and those of each by graph. */
function variantsOf(trials: readonly ScoredTrial[]): VariantTrials[] {
  // Unchanged tasks show nothing about a perturbation, nor about a strategy under it. Those that it left without
  // an answer cannot be solved by any model.
  const compared = trials.filter((trial) =>
    trial.changed !== false && trial.unsolvable === undefined
  )
    // Of whole trials only events tell which calls were missed.
    .map((trial) => "events" in trial ? summaries.asSummary(trial as Trial) : trial);
  return byVariant(compared, variantOf)
    .map(({ subject, items }) => ({ subject, trials: items, graphs: graphsOf(items) }));
}

function graphsOf(trials: readonly ScoredTrial[]): Graphs {
  return new Map(
    [...Map.groupBy(trials, ({ task }) => unitKey(task))].map(([key, own]) => {
      const needing = own.filter(needsCalls);
      const missed = unitOf(needing, needing.length, missesCall);
      return [key, { trials: own, solved: unitOf(own), missed }];
    }),
  );
}

function sharedGraphs(own: Graphs, others: Graphs): SharedGraph[] {
  return [...own].flatMap(([key, candidate]) => {
    const baseline = others.get(key);
    return baseline === undefined ? [] : [{ key, candidate, baseline }];
  });
}

/** Returns the graphs with a valid trial of both. */
function validPairs(
  shared: readonly SharedGraph[],
  unitIn: (graph: ComparedGraph) => Unit,
): Pair[] {
  return shared.map((graph) => ({
    candidate: unitIn(graph.candidate),
    baseline: unitIn(graph.baseline),
  })).filter(({ candidate, baseline }) => candidate.valid > 0 && baseline.valid > 0);
}
