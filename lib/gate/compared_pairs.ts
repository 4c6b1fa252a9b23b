/**
 * Compared pairs: all pairs of variants that differ in one thing, on the tasks of both.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { fork } from "../base/random.ts";
import type { Prices } from "../models/prices.ts";
import defer * as perturbations from "../perturbations/ids.ts";
import { holm, mcNemar } from "../statistics/proportions.ts";
import { signFlip } from "../statistics/sign_flip.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import {
  type ComparedTrial,
  type SharedGraph,
  sharedGraphs,
  validPairs,
  variantsOf,
  type VariantTrials,
} from "./_variant_trials.ts";
import { type ComparedCases, isLeftOut } from "./compared_cases.ts";
import { compare, type Comparison } from "./comparison.ts";
import {
  differenceOf,
  DIFFERENCES,
  type Pair,
  pairedDifference,
  type Unit,
  unitOf,
} from "./evidence.ts";
import { caseOf, type ScoredTrial, type Variant } from "./variant.ts";

/** What two compared variants may differ in: exactly one of these. */
const FIELDS = ["model", "strategy", "perturbation", "variant"] as const;

/** Two variants that differ in one thing, compared on the tasks of both. */
export interface ComparedPair extends Comparison {
  /** What they differ in. */
  readonly of: keyof Variant;
  /** The variant that the candidate is compared with. */
  readonly against: Variant;
  /** Set if that is the strategy `baseline`, the perturbation `none`, or the baseline of the gate. */
  readonly reference?: true;
  /** The test of "there is no difference"; `null` without a graph that has valid trials of both. */
  readonly test: PairTest | null;
  /** The tasks that the candidate solved more often, the largest change first: graphs, questions or own tests. */
  readonly gained: readonly ChangedTask[];
  /** Those that it solved less often. */
  readonly lost: readonly ChangedTask[];
}

/** A test of "there is no difference", which ignores the margin of a gate. */
export interface PairTest {
  /** Exact McNemar where each graph has one trial of both, else {@linkcode signFlip}. */
  readonly name: "mcnemar" | "sign-flip";
  /** The two-sided p-value. */
  readonly p: number;
  /** The same, adjusted by Holm for the number of pairs that are compared together. */
  readonly adjusted: number;
  /** The number of draws of a sign-flip test that estimate `p`; omitted where it is exact. */
  readonly sampled?: number;
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
}

/** Options of {@linkcode comparePairsAndAccepted}. */
export interface AcceptedPairOptions extends PairOptions {
  /** Accepted results to compare with as well. */
  readonly accepted?: readonly AcceptedResults[];
  /** Whether a trial is of a task that is another one in other trials, so that it is in no pair. */
  readonly isLeftOut?: (trial: TrialSummary) => boolean;
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
 * that worked on a common task, as {@linkcode compareStrategies} compares strategies with the baseline. The first of
 * two is what the other one is compared with, unless that is the strategy `baseline`, the perturbation `none` or the
 * baseline of a gate. Perturbations under which no task can be solved are in no pair. Pairs with those references
 * come first.
 *
 * @see {@linkcode signFlip} for the test where graphs were repeated, and Holm, "A Simple Sequentially Rejective
 * Multiple Test Procedure", 1979, for adjusted p-values: those up to 0.05 are significant together, with a chance of
 * at most 5% that one of them or more is wrong.
 *
 * @example Usage
 * ```ts
 * import { scripted } from "@toolgate/toolgate";
 * import { comparePairs } from "@toolgate/toolgate/gate";
 * import { runTrial } from "@toolgate/toolgate/trials";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const trial = await runTrial(task, scripted("shrug", () => ({ text: "I cannot tell." })));
 * const better = { ...trial, model: { ...trial.model, requested: "better" }, solved: true };
 * const [pair] = comparePairs([trial, better]);
 * assertEquals([pair!.of, pair!.against.model, pair!.subject.model], ["model", "shrug", "better"]);
 * assertEquals([pair!.gained.length, pair!.lost.length, pair!.test!.p], [1, 0, 1]);
 * ```
 */
export function comparePairs(
  trials: readonly TrialSummary[],
  options: PairOptions = {},
): ComparedPair[] {
  return comparePairsAndAccepted(trials, options);
}

/** Compares all pairs as {@linkcode comparePairs} does, and variants with accepted results. */
export function comparePairsAndAccepted(
  trials: readonly TrialSummary[],
  { prices = {}, references = [], order = [], accepted = [], isLeftOut: leavesOut = () => false }:
    AcceptedPairOptions,
): ComparedPair[] {
  const places = new Map(order.map((one, place) => [canonicalJson(one), place]));
  const placeOf = ({ subject }: VariantTrials) =>
    places.get(canonicalJson(subject)) ?? order.length;
  const variants = variantsOf(
    trials.filter((trial) => !leavesOut(trial) && !perturbations.isRemoving(trial.perturbation)),
  ).sort((one, other) => placeOf(one) - placeOf(other));
  const rankOf = ({ subject }: VariantTrials, of: typeof FIELDS[number]) =>
    references.some((one) => one[of] !== undefined && one[of] === subject[of])
      ? 2
      : of === "strategy" && subject.strategy === "baseline" ||
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
            const rank = Math.max(first, second);
            return comparePair(candidate, against, { of, prices, isReference: rank > 0 });
          })
        )
      )
  );
  const all = [...pairs, ...accepted.flatMap((results) => compareAccepted(variants, results))]
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
): ComparedPair[] {
  const there = variantsOf(trials.map(withoutId));
  const isSame = (one: Variant, other: Variant) => canonicalJson(one) === canonicalJson(other);
  return decisions.flatMap(({ subject, baseline }) => {
    const candidate = variants.find((one) => isSame(one.subject, subject));
    const found = baseline && there.find((one) => isSame(one.subject, baseline));
    if (candidate === undefined || found === undefined) return [];
    const own = variantsOf(candidate.trials.filter(({ task }) => !isLeftOut(task, cases)));
    const of = FIELDS.find((field) => found.subject[field] !== subject[field]) ?? "variant";
    const variant = [name, ...found.subject.variant ?? []].join(" ");
    const against = { ...found, subject: { ...found.subject, variant } };
    return own.flatMap((one) => comparePair(one, against, { of, prices: {}, isReference: true }));
  });
}

/** Leaves out the id of a trial, which is none of the report's. */
function withoutId({ id: _, ...trial }: ScoredTrial & { readonly id?: string }): ScoredTrial {
  return trial;
}

/** Compares two variants; nothing if they have no task in common. */
function comparePair(
  candidate: VariantTrials,
  against: VariantTrials,
  { of, prices, isReference }: {
    readonly of: ComparedPair["of"];
    readonly prices: Prices;
    readonly isReference: boolean;
  },
): ComparedPair[] {
  const shared = sharedGraphs(candidate, against);
  if (shared.length === 0) return [];
  const { subject, ...comparison } = compare(candidate, against, prices, shared);
  const changes = changedTasks(shared);
  return [{
    subject,
    of,
    against: against.subject,
    ...(isReference ? { reference: true as const } : {}),
    ...comparison,
    test: testOf(validPairs(candidate.solved, against.solved)),
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

/** Returns the tasks that one of two variants solved more often, the largest change first. */
function changedTasks(shared: readonly SharedGraph[]) {
  // Trials of a case are graphs of their own; who looks for what changed looks for the case.
  const byTask = Map.groupBy(shared, ({ key, candidate: [first] }) => caseOf(first!.task) ?? key);
  return [...byTask.values()].flatMap((graphs) => {
    const [own, others] = [
      graphs.flatMap(({ candidate }) => candidate),
      graphs.flatMap(({ baseline }) => baseline),
    ];
    const [candidate, baseline] = [unitOf(own), unitOf(others)];
    if (candidate.valid === 0 || baseline.valid === 0) return [];
    const change = differenceOf({ candidate, baseline });
    if (change === 0) return [];
    const ids = (trials: readonly ComparedTrial[]) => trials.flatMap(({ id }) => id ?? []);
    const counts = ({ solved, valid }: Unit) => ({ solved, valid });
    const changed: ChangedTask = {
      task: own[0]!.task,
      candidate: counts(candidate),
      baseline: counts(baseline),
      trials: [ids(own), ids(others)],
    };
    return [{ change, changed }];
  }).sort((one, other) => Math.abs(other.change) - Math.abs(one.change));
}
