/**
 * Brittleness: effects of perturbations on the calls of a model (Butterfly, section 6, Table 1 and Fig. 4),
 * and how often changes that should have no effect turn success into failure or the reverse.
 * @module
 */

import { compareShares, type PairedSuccess } from "../../gate/comparison.ts";
import {
  byGraph,
  countsAsSuccess,
  graphKey,
  isCounted,
  missesCall,
  needsCalls,
} from "../../gate/variant.ts";
import { sum } from "../../base/numbers.ts";
import {
  FAILURES,
  PARAMETER_FAILURE_TYPES,
  type ParameterFailureType,
} from "../../calls/failure_types.ts";
import { type MissedCallRate, missedCallRate } from "./_missed_calls.ts";
import { measureEach, type Subject, unperturbed } from "./_subjects.ts";
import { countOf, type Share, shareOf } from "./_shares.ts";
import type { ParameterScore } from "../../calls/parameter_views.ts";
import { PERTURBATION_METHODS } from "../../perturbations/methods.ts";
import { isCheck } from "../../perturbations/ids.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";
import type { Outcome } from "../../trials/trial.ts";

/** The trials of one model and strategy under one perturbation that fail in some way. */
export interface FailureRate extends Share {
  /** Number of trials for which it is unknown; the share leaves them out. */
  readonly undecided: number;
  /**
   * The share minus that of the unperturbed trials on the same tasks; `null` for the unperturbed trials, and
   * where no task has both.
   */
  readonly difference: PairedSuccess | null;
}

/** The trials of one model and strategy with one type of parameter failure. */
export interface ParameterFailureRate extends FailureRate {
  /** One of the five types. */
  readonly type: ParameterFailureType;
  /**
   * Set if no call in any of these trials could show it, by the schemas of the tools; rate, interval and
   * difference are then `null`.
   */
  readonly impossible?: true;
}

/** Metrics of one perturbation. */
export interface BrittlenessColumn {
  /** The perturbation's id; `none` for unperturbed trials. */
  readonly perturbation: string;
  /** Number of trials that count: neither invalid nor unchanged. */
  readonly counted: number;
  /** Number of trials in whose task it found nothing to change. */
  readonly unchanged: number;
  /** Number of trials in which the infrastructure failed. */
  readonly invalid: number;
  /** Number of counted trials whose right calls are known: metrics of parameters are over these. */
  readonly known: number;
  /** For each of the five types, in order, the share of trials with a failure of it. */
  readonly failures: readonly ParameterFailureRate[];
  /** Trials with any of the five failures: those without one pass (Butterfly, Eq. 1). */
  readonly failed: FailureRate;
  /** Trials with a missed call, of those that need calls. */
  readonly missed: FailureRate & MissedCallRate;
  /** Trials with any of the five failures or a missed call, of those that tell of both. */
  readonly failedOrMissed: FailureRate;
  /** Texts that deviate or mismatch, and those of them that are similar to the right ones by Rouge-L. */
  readonly similarTexts: ParameterScore["texts"];
  /** Trials with a call that is not one of the right calls, or repeats one of them. */
  readonly routing: Share;
  /** Number of counted trials on tasks that it left without an answer; omitted without any. */
  readonly unsolvable?: number;
  /** Task accuracy: counted trials that were solved, of those that could be. */
  readonly solved: Share;
  /**
   * Trials without an answer and without an invented value: of the unsolvable ones, if any, but for those that
   * documents mislead, as no model can see that; else of all counted.
   */
  readonly abstained: Share;
  /** API-level success: calls of counted trials that were not refused. */
  readonly accepted: Pick<Share, "count" | "of" | "rate">;
}

/** Trials with failures of two types. */
export interface Transfer {
  /** The type that is given. */
  readonly from: ParameterFailureType;
  /** The type that occurs as well. */
  readonly to: ParameterFailureType;
  /** Number of trials with `from`. */
  readonly of: number;
  /** Number of trials with both in one call; 0 for a type with itself. */
  readonly together: number;
  /** Number of trials with `to` in a call after the first one with `from`. */
  readonly later: number;
  /** Number of trials that `together` or `later` counts. */
  readonly either: number;
}

/** Effects of a change that should have none. */
export interface Flips {
  /** The check's id. */
  readonly perturbation: string;
  /** Number of pairs of a trial with the check and one without, on the same task and repetition. */
  readonly pairs: number;
  /** Number of pairs in which only the trial with the check was solved. */
  readonly gained: number;
  /** Number of pairs in which only the trial without the check was solved. */
  readonly lost: number;
  /** Pairs in which exactly one trial was solved. */
  readonly flipped: Share;
  /**
   * Pairs of repetitions of one of these tasks without the check, in which exactly one was solved: the
   * share of flips to expect by chance. `null` where no task was repeated.
   */
  readonly byChance: Pick<Share, "count" | "of" | "rate"> | null;
}

/**
 * The trials in which a perturbation changed the input and nothing else (Butterfly, A.2): the same calls in the
 * same steps, and the same end, as in the unperturbed trial on the same task and repetition.
 */
export interface Ineffective extends Share {
  /** The perturbation's id. */
  readonly perturbation: string;
  /** Number of these trials that were solved. */
  readonly solved: number;
  /** The ids of these trials, at most 100. */
  readonly trials: readonly string[];
}

/** Effects of perturbations on a model with a strategy. */
export interface Brittleness extends Subject {
  /** `none` where it was run, then the methods by source, then joined ones and checks as they first occur. */
  readonly columns: readonly BrittlenessColumn[];
  /**
   * One for each pair of types, over all counted trials whose right calls are known, perturbed or not:
   * ordered by `from`, then by `to`.
   */
  readonly transfer: readonly Transfer[];
  /** One for each perturbation that is no check and has trials on the same tasks unperturbed. */
  readonly ineffective: readonly Ineffective[];
  /** One for each check that was run; checks have columns as well. */
  readonly flips: readonly Flips[];
}

/**
 * Measures effects of perturbations, for each model and strategy that has perturbed trials.
 *
 * @see Butterfly, section 5.2: the failure rate is the share of trials with a failure, over all types and per
 * type. Missed calls are none of its five types, and have a rate of their own.
 */
export function measureBrittleness(trials: readonly TrialSummary[]): Brittleness[] {
  return measureEach(trials.map(asSummary), (items) => {
    const byPerturbation = Map.groupBy(items, ({ perturbation }) => perturbation);
    const ids = [...byPerturbation.keys()];
    if (ids.every((id) => id === "none")) return [];
    const plain = (byPerturbation.get("none") ?? []).filter(isCounted);
    return [{
      columns: inOrder(ids)
        .map((id) => columnOf(id, byPerturbation.get(id)!, plain)),
      transfer: transferOf(items.filter(isCounted)),
      ineffective: inOrder(ids).filter((id) => id !== "none" && !isCheck(id))
        .flatMap((id) => ineffectiveOf(id, byPerturbation.get(id)!.filter(isCounted), plain)),
      flips: ids.filter(isCheck)
        .map((id) => flipsOf(id, byPerturbation.get(id)!.filter(isCounted), plain)),
    }];
  }, unperturbed);
}

/** Orders ids as in Table 1; others follow as they first occur. */
function inOrder(ids: readonly string[]): string[] {
  const ordered = ["none", ...PERTURBATION_METHODS].filter((id) => ids.includes(id));
  return [...ordered, ...ids.filter((id) => !ordered.includes(id))];
}

/** A trial whose right calls are known. */
type KnownSummary = TrialSummary & { readonly parameters: ParameterScore };

function isKnown(trial: TrialSummary): trial is KnownSummary {
  return trial.parameters !== undefined;
}

function columnOf(
  perturbation: string,
  trials: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): BrittlenessColumn {
  const counted = trials.filter(isCounted);
  // What misleading documents made a model do says nothing about it.
  const known = counted.filter(isKnown).filter((trial) => trial.unsolvable !== "misleading");
  const unsolvable = counted.filter((trial) => trial.unsolvable !== undefined);
  const plainKnown = perturbation === "none" ? [] : plain.filter(isKnown);
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  const calls = sum(counted, (trial) => trial.calls);
  const refused = sum(
    counted,
    ({ failures }) => failures.filter(({ type }) => FAILURES[type].isRefused).length,
  );
  return {
    perturbation,
    counted: counted.length,
    unchanged,
    invalid: trials.length - counted.length - unchanged,
    known: known.length,
    failures: PARAMETER_FAILURE_TYPES.map((type) => typeRate(type, known, plainKnown)),
    failed: failureRate(known, plainKnown, FAILED),
    missed: {
      ...failureRate(known.filter(mayMiss), plainKnown.filter(mayMiss), MISSED),
      calls: missedCallRate(known).calls,
    },
    failedOrMissed: failureRate(
      known.filter(MISSED.isDecided),
      plainKnown.filter(MISSED.isDecided),
      FAILED_OR_MISSED,
    ),
    similarTexts: {
      compared: sum(known, ({ parameters }) => parameters.texts.compared),
      similar: sum(known, ({ parameters }) => parameters.texts.similar),
    },
    routing: shareOf(known, ({ parameters }) => parameters.routing > 0),
    ...(unsolvable.length === 0 ? {} : { unsolvable: unsolvable.length }),
    solved: shareOf(counted.filter(countsAsSuccess), ({ solved }) => solved),
    abstained: shareOf(
      unsolvable.length === 0
        ? counted
        : unsolvable.filter((trial) => trial.unsolvable !== "misleading"),
      ({ outcome }) => outcome === "abstained",
    ),
    accepted: countOf(calls - refused, calls),
  };
}

/** A way in which a trial can fail. */
interface Way {
  /** Whether a trial fails in this way. */
  readonly shows: (trial: KnownSummary) => boolean;
  /** Whether it is known that a trial that does not show it does not have it. */
  readonly isDecided: (trial: KnownSummary) => boolean;
}

const FAILED: Way = {
  shows: ({ parameters }) => parameters.calls.length > 0,
  isDecided: ({ parameters }) => parameters.undecided.length === 0,
};
const MISSED: Way = { shows: missesCall, isDecided: ({ missed }) => missed !== undefined };
const FAILED_OR_MISSED: Way = {
  shows: (trial) => FAILED.shows(trial) || MISSED.shows(trial),
  isDecided: FAILED.isDecided,
};

/** Whether a trial needs calls, or that is not known. */
function mayMiss(trial: KnownSummary): boolean {
  return trial.missed === undefined || needsCalls(trial);
}

function typeRate(
  type: ParameterFailureType,
  known: readonly KnownSummary[],
  plain: readonly KnownSummary[],
): ParameterFailureRate {
  const rate = failureRate(known, plain, {
    shows: ({ parameters }) => parameters.calls.some(has(type)),
    isDecided: ({ parameters }) => !parameters.undecided.includes(type),
  });
  const impossible = known.length > 0 && rate.count === 0 &&
    known.every((trial) => trial.impossible?.includes(type));
  return impossible
    ? { type, ...rate, rate: null, interval: null, difference: null, impossible }
    : { type, ...rate };
}

function failureRate(
  known: readonly KnownSummary[],
  plain: readonly KnownSummary[],
  { shows, isDecided }: Way,
): FailureRate {
  const isKnown = (trial: KnownSummary) => shows(trial) || isDecided(trial);
  const decided = known.filter(isKnown);
  return {
    ...shareOf(decided, shows),
    undecided: known.length - decided.length,
    difference: compareShares(
      decided,
      plain.filter(isKnown),
      (trial) => shows(trial as KnownSummary),
    ),
  };
}

/** The failure types of one call. */
type CallTypes = ParameterScore["calls"][number];

const has = (type: ParameterFailureType) => (types: CallTypes): boolean => types.includes(type);

function transferOf(trials: readonly TrialSummary[]): Transfer[] {
  const trialCalls = trials.filter(isKnown).map(({ parameters }) => parameters.calls);
  return PARAMETER_FAILURE_TYPES.flatMap((from) => {
    const withFrom = trialCalls.filter((calls) => calls.some(has(from)));
    return PARAMETER_FAILURE_TYPES.map((to): Transfer => {
      const together = (calls: readonly CallTypes[]) =>
        from !== to && calls.some((types) => has(from)(types) && has(to)(types));
      const later = (calls: readonly CallTypes[]) =>
        calls.slice(calls.findIndex(has(from)) + 1).some(has(to));
      return {
        from,
        to,
        of: withFrom.length,
        together: withFrom.filter(together).length,
        later: withFrom.filter(later).length,
        either: withFrom.filter((calls) => together(calls) || later(calls)).length,
      };
    });
  });
}

/** Ids of trials that are listed of one perturbation, at most. */
const MAX_LISTED = 100;

function ineffectiveOf(
  perturbation: string,
  perturbed: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): Ineffective[] {
  const pairs = pairsOf(perturbed, plain).filter(({ now, before }) =>
    now.actions !== undefined && before.actions !== undefined
  );
  if (pairs.length === 0) return [];
  const isSame = ({ now, before }: TrialPair) =>
    now.actions === before.actions && now.solved === before.solved &&
    (now.outcome === before.outcome || GAVE_NONE.has(now.outcome) && GAVE_NONE.has(before.outcome));
  const same = pairs.filter(isSame).map(({ now }) => now);
  return [{
    perturbation,
    ...shareOf(pairs, isSame),
    solved: same.filter(({ solved }) => solved).length,
    trials: same.slice(0, MAX_LISTED).map(({ id }) => id),
  }];
}

/** Outcomes without an answer. To give none is `abstained` where that is right. */
const GAVE_NONE: ReadonlySet<Outcome> = new Set(["no_answer", "abstained"]);

/** A perturbed trial, and the unperturbed one on the same task and repetition. */
interface TrialPair {
  readonly task: TrialSummary["task"];
  readonly now: TrialSummary;
  readonly before: TrialSummary;
}

function pairsOf(
  perturbed: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): TrialPair[] {
  const keyOf = ({ task, repetition }: TrialSummary) => `${repetition} ${graphKey(task)}`;
  const plainByKey = new Map(plain.map((trial) => [keyOf(trial), trial]));
  return perturbed.flatMap((now) => {
    const before = plainByKey.get(keyOf(now));
    return before === undefined ? [] : [{ task: now.task, now, before }];
  });
}

function flipsOf(
  perturbation: string,
  checked: readonly TrialSummary[],
  plain: readonly TrialSummary[],
): Flips {
  const pairs = pairsOf(checked, plain);
  const tasks = new Set(pairs.map(({ task }) => graphKey(task)));
  return {
    perturbation,
    pairs: pairs.length,
    gained: pairs.filter(({ now, before }) => now.solved && !before.solved).length,
    lost: pairs.filter(({ now, before }) => before.solved && !now.solved).length,
    flipped: shareOf(pairs, ({ now, before }) => now.solved !== before.solved),
    byChance: chanceOf(plain.filter(({ task }) => tasks.has(graphKey(task)))),
  };
}

/** Returns how often two repetitions of one task differ. */
function chanceOf(trials: readonly TrialSummary[]): Flips["byChance"] {
  const graphs = byGraph(trials).map((graph) => ({
    solved: graph.filter(({ solved }) => solved).length,
    trials: graph.length,
  }));
  const pairs = sum(graphs, (graph) => graph.trials * (graph.trials - 1) / 2);
  const differing = sum(graphs, (graph) => graph.solved * (graph.trials - graph.solved));
  return pairs === 0 ? null : countOf(differing, pairs);
}
