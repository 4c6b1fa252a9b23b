/**
 * Brittleness: what perturbations do to the calls of a model (Butterfly, section 6, Table 1 and Fig. 4),
 * and how often changes that should do nothing turn success into failure or the reverse.
 * @module
 */

import { compareShares, type PairedSuccess } from "../../gate/comparison.ts";
import {
  byGraph,
  byVariant,
  graphKey,
  isCounted,
  type Variant,
  variantOf,
} from "../../gate/variant.ts";
import { sum } from "../../gate/evidence.ts";
import {
  type FailureType,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../../calls/failure_types.ts";
import { shareInterval } from "./metrics.ts";
import type { ParameterScore } from "../../calls/parameter_views.ts";
import { PERTURBATION_METHODS } from "../../perturbations/methods.ts";
import { isCheck } from "../../perturbations/ids.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** So many of how many. */
export interface Share {
  /** Those that show something. */
  readonly count: number;
  /** All that could. */
  readonly of: number;
  /** The share of them; `null` without any. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the share: Wilson's, or from the clustered standard error where tasks were
   * repeated; `null` where there is none.
   */
  readonly interval: Bounds | null;
}

/** The trials of one model and strategy with one type of parameter failure. */
export interface ParameterFailureRate extends Share {
  /** One of the five types. */
  readonly type: ParameterFailureType;
  /** Trials for which it cannot be told, and which the share leaves out. */
  readonly undecided: number;
  /**
   * The share less that of the unperturbed trials, on the same tasks; `null` of these themselves, and where
   * no task has both.
   */
  readonly difference: PairedSuccess | null;
}

/** What one perturbation comes to. */
export interface BrittlenessColumn {
  /** The perturbation's id; `none` for none. */
  readonly perturbation: string;
  /** Trials that count: neither invalid nor unchanged. */
  readonly counted: number;
  /** Trials in whose task it found nothing to change. */
  readonly unchanged: number;
  /** Trials that infrastructure spoiled. */
  readonly invalid: number;
  /** Counted trials of which the right calls are known: what follows about parameters is of these. */
  readonly known: number;
  /** For each of the five types, in order, the share of trials with a failure of it. */
  readonly failures: readonly ParameterFailureRate[];
  /** Texts that deviate or mismatch, and those of them that are much like the right ones by Rouge-L. */
  readonly similarTexts: ParameterScore["texts"];
  /** Trials with a call that is none of the right ones, or one of them once more. */
  readonly routing: Share;
  /** Task accuracy: counted trials that were solved. */
  readonly solved: Share;
  /** Counted trials without an answer and without a value that was made up. */
  readonly abstained: Share;
  /** API-level success: calls of counted trials that were not refused. */
  readonly accepted: Pick<Share, "count" | "of" | "rate">;
}

/** Trials with failures of two types. */
export interface Transfer {
  /** The type that is given. */
  readonly from: ParameterFailureType;
  /** The type that is there as well. */
  readonly to: ParameterFailureType;
  /** Trials with `from`. */
  readonly of: number;
  /** Those with both in one call; of a type with itself, none. */
  readonly together: number;
  /** Those with `to` in a call after the first one with `from`. */
  readonly later: number;
  /** Those with either of these. */
  readonly either: number;
}

/** What a change that should do nothing did. */
export interface Flips {
  /** The check's id. */
  readonly perturbation: string;
  /** Pairs of a trial under the check and one without, on the same task and of the same repetition. */
  readonly pairs: number;
  /** Pairs of which only the trial under the check was solved. */
  readonly gained: number;
  /** Pairs of which only the other one was. */
  readonly lost: number;
  /** Pairs of which one was solved and the other was not. */
  readonly flipped: Share;
  /**
   * Pairs of repetitions of one of these tasks, without the check, of which one was solved and the other
   * was not: so much is chance. `null` where none was repeated.
   */
  readonly byChance: Pick<Share, "count" | "of" | "rate"> | null;
}

/** What perturbations do to a model with a strategy. */
export interface Brittleness {
  /** The model and the strategy, unperturbed. */
  readonly subject: Variant;
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  /** `none` where it was run, then the methods by source, then joined ones and checks as they come. */
  readonly columns: readonly BrittlenessColumn[];
  /**
   * For each pair of types, over all counted trials of which the right calls are known, perturbed or not:
   * rows of `from`, in each the types `to`.
   */
  readonly transfer: readonly Transfer[];
  /** For each check that was run, which has a column as well. */
  readonly flips: readonly Flips[];
}

/**
 * What perturbations do, for each model and strategy that has perturbed trials.
 *
 * @see Butterfly, section 5.2: the failure rate is the share of trials with a failure. It is here per type.
 *
 * @example Usage
 * ```ts
 * import { measureBrittleness } from "./brittleness.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { runTrial } from "../../trials/trial.ts";
 * import { scoreOf } from "../../trials/summary.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * const model = scripted("shrug", () => ({ text: "I cannot tell." }));
 * const plain = scoreOf(await runTrial(task, model));
 * const [brittleness] = measureBrittleness([plain, { ...plain, perturbation: "reorder" }]);
 * assertEquals(brittleness!.columns.map(({ perturbation }) => perturbation), ["none", "reorder"]);
 * assertEquals(brittleness!.flips[0]!.flipped.count, 0);
 * ```
 */
export function measureBrittleness(trials: readonly TrialSummary[]): Brittleness[] {
  const groups = byVariant(
    trials.map(asSummary),
    (trial) => ({ ...variantOf(trial), perturbation: "none" }),
  );
  return groups.flatMap(({ subject, items }) => {
    const byPerturbation = Map.groupBy(items, ({ perturbation }) => perturbation);
    const ids = [...byPerturbation.keys()];
    if (ids.every((id) => id === "none")) return [];
    const plain = (byPerturbation.get("none") ?? []).filter(isCounted);
    return [{
      subject,
      simulated: items.some(({ model }) => model.simulated),
      columns: inOrder(ids)
        .map((id) => columnOf(id, byPerturbation.get(id)!, plain)),
      transfer: transferOf(items.filter(isCounted)),
      flips: ids.filter(isCheck)
        .map((id) => flipsOf(id, byPerturbation.get(id)!.filter(isCounted), plain)),
    }];
  });
}

/** As in Table 1; what it does not have stands behind, as it comes. */
function inOrder(ids: readonly string[]): string[] {
  const known = ["none", ...PERTURBATION_METHODS].filter((id) => ids.includes(id));
  return [...known, ...ids.filter((id) => !known.includes(id))];
}

/** A trial of which the right calls are known. */
type KnownScore = TrialSummary & { readonly parameters: ParameterScore };

function isKnown(trial: TrialSummary): trial is KnownScore {
  return trial.parameters !== undefined;
}

/** Calls with such a failure are not carried out. */
const REFUSED: ReadonlySet<FailureType> = new Set(["function_not_found", "wrong_number_of_inputs"]);

function columnOf(
  perturbation: string,
  trials: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): BrittlenessColumn {
  const counted = trials.filter(isCounted);
  const known = counted.filter(isKnown);
  const others = perturbation === "none" ? [] : plain.filter(isKnown);
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  const calls = sum(counted, (trial) => trial.calls);
  const refused = sum(
    counted,
    ({ failures }) => failures.filter(({ type }) => REFUSED.has(type)).length,
  );
  return {
    perturbation,
    counted: counted.length,
    unchanged,
    invalid: trials.length - counted.length - unchanged,
    known: known.length,
    failures: PARAMETER_FAILURE_TYPES.map((type) => failureRate(type, known, others)),
    similarTexts: {
      compared: sum(known, ({ parameters }) => parameters.texts.compared),
      similar: sum(known, ({ parameters }) => parameters.texts.similar),
    },
    routing: shareOf(known, ({ parameters }) => parameters.routing > 0),
    solved: shareOf(counted, ({ solved }) => solved),
    abstained: shareOf(counted, ({ outcome }) => outcome === "abstained"),
    accepted: countOf(calls - refused, calls),
  };
}

function failureRate(
  type: ParameterFailureType,
  known: readonly KnownScore[],
  others: readonly KnownScore[],
): ParameterFailureRate {
  const shows = ({ parameters }: TrialSummary) => parameters?.calls.some(has(type)) ?? false;
  const isDecided = (trial: KnownScore) =>
    shows(trial) || !trial.parameters.undecided.includes(type);
  const decided = known.filter(isDecided);
  return {
    type,
    ...shareOf(decided, shows),
    undecided: known.length - decided.length,
    difference: compareShares(decided, others.filter(isDecided), shows),
  };
}

/** The types of one call. */
type CallTypes = ParameterScore["calls"][number];

const has = (type: ParameterFailureType) => (types: CallTypes): boolean => types.includes(type);

function transferOf(trials: readonly TrialSummary[]): Transfer[] {
  const known = trials.filter(isKnown).map(({ parameters }) => parameters.calls);
  return PARAMETER_FAILURE_TYPES.flatMap((from) => {
    const given = known.filter((calls) => calls.some(has(from)));
    return PARAMETER_FAILURE_TYPES.map((to): Transfer => {
      const together = (calls: readonly CallTypes[]) =>
        from !== to && calls.some((types) => has(from)(types) && has(to)(types));
      const later = (calls: readonly CallTypes[]) =>
        calls.slice(calls.findIndex(has(from)) + 1).some(has(to));
      return {
        from,
        to,
        of: given.length,
        together: given.filter(together).length,
        later: given.filter(later).length,
        either: given.filter((calls) => together(calls) || later(calls)).length,
      };
    });
  });
}

function flipsOf(
  perturbation: string,
  checked: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): Flips {
  const keyOf = ({ task, repetition }: TrialSummary) => `${repetition} ${graphKey(task)}`;
  const others = new Map(plain.map((trial) => [keyOf(trial), trial]));
  const pairs = checked.flatMap((trial) => {
    const other = others.get(keyOf(trial));
    return other === undefined
      ? []
      : [{ task: trial.task, now: trial.solved, before: other.solved }];
  });
  const tasks = new Set(pairs.map(({ task }) => graphKey(task)));
  return {
    perturbation,
    pairs: pairs.length,
    gained: pairs.filter(({ now, before }) => now && !before).length,
    lost: pairs.filter(({ now, before }) => before && !now).length,
    flipped: shareOf(pairs, ({ now, before }) => now !== before),
    byChance: chanceOf(plain.filter(({ task }) => tasks.has(graphKey(task)))),
  };
}

/** How often two repetitions of one task differ. */
function chanceOf(trials: readonly TrialSummary[]): Flips["byChance"] {
  const graphs = byGraph(trials).map((graph) => ({
    solved: graph.filter(({ solved }) => solved).length,
    trials: graph.length,
  }));
  const pairs = sum(graphs, (graph) => graph.trials * (graph.trials - 1) / 2);
  const differing = sum(graphs, (graph) => graph.solved * (graph.trials - graph.solved));
  return pairs === 0 ? null : countOf(differing, pairs);
}

function shareOf<T extends Pick<TrialSummary, "task">>(
  items: readonly T[],
  shows: (item: T) => boolean,
): Share {
  return {
    ...countOf(items.filter(shows).length, items.length),
    interval: shareInterval(items, shows),
  };
}

function countOf(count: number, of: number): Pick<Share, "count" | "of" | "rate"> {
  return { count, of, rate: of === 0 ? null : count / of };
}
