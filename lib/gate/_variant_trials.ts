/**
 * The trials of variants, graph by graph, as comparisons need them.
 * @module
 */

import defer * as summaries from "../trials/summary.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import { type Pair, type Unit, unitOf } from "./evidence.ts";
import {
  byVariant,
  missesCall,
  needsCalls,
  type ScoredTrial,
  unitKey,
  type Variant,
  variantOf,
} from "./variant.ts";

/** A trial of which nothing but the outcome may be known. */
export type ComparedTrial =
  & ScoredTrial
  & Partial<Pick<TrialSummary, "id" | "missed" | "usage" | "calls">>;

/** The trials of a variant, with what is compared of each graph. */
export interface VariantTrials {
  readonly subject: Variant;
  readonly trials: readonly ComparedTrial[];
  readonly graphs: ReadonlyMap<string, readonly ComparedTrial[]>;
  readonly solved: ReadonlyMap<string, Unit>;
  readonly missed: ReadonlyMap<string, Unit>;
}

/** Groups trials by variant, and those of each by graph: once, as each is compared with many. */
export function variantsOf(trials: readonly ComparedTrial[]): VariantTrials[] {
  // Unchanged tasks show nothing about a perturbation, nor about a strategy under it. Those that it left without
  // an answer cannot be solved by any model.
  const compared = trials.filter((trial) =>
    trial.changed !== false && trial.unsolvable === undefined
  )
    // Of whole trials only events tell which calls were missed.
    .map((trial) => "events" in trial ? summaries.asSummary(trial as Trial) : trial);
  return byVariant(compared, variantOf).map(({ subject, items }) => ({
    ...{ subject, trials: items },
    graphs: groupGraphs(items),
    solved: unitsOf(items, ({ solved }) => solved),
    missed: unitsOf(items.filter(needsCalls), missesCall),
  }));
}

function groupGraphs<T extends ComparedTrial>(trials: readonly T[]): Map<string, T[]> {
  return Map.groupBy(trials, ({ task }) => unitKey(task));
}

/** Returns the tallies of graphs; `shows` decides which trials count as solved. */
export function unitsOf<T extends ComparedTrial>(
  trials: readonly T[],
  shows: (trial: T) => boolean,
): Map<string, Unit> {
  return new Map(
    [...groupGraphs(trials)].map(([key, own]) => [key, unitOf(own, own.length, shows)]),
  );
}

/** The trials of both variants on one graph. */
export interface SharedGraph {
  readonly key: string;
  readonly candidate: readonly ComparedTrial[];
  readonly baseline: readonly ComparedTrial[];
}

/** The graphs that both worked on, validly or not. */
export function sharedGraphs(own: VariantTrials, others: VariantTrials): SharedGraph[] {
  return [...own.graphs].flatMap(([key, candidate]) => {
    const baseline = others.graphs.get(key);
    return baseline === undefined ? [] : [{ key, candidate, baseline }];
  });
}

/** Returns the graphs with a valid trial of both. */
export function validPairs(
  own: ReadonlyMap<string, Unit>,
  others: ReadonlyMap<string, Unit>,
): Pair[] {
  return [...own].flatMap(([key, candidate]) => {
    const baseline = others.get(key);
    const isValid = candidate.valid > 0 && baseline !== undefined && baseline.valid > 0;
    return isValid ? [{ candidate, baseline }] : [];
  });
}
