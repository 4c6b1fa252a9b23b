/**
 * Recovery rates: how the faults of trials ended (Pipeline, "Benchmarking Tool Use", error recovery).
 * @module
 */

import { measureEach, type Subject, unperturbed } from "./_subjects.ts";
import { type FaultKind, FAULTS } from "../../tools/fault.ts";
import { mean } from "../../base/numbers.ts";
import { shareInterval } from "./metrics.ts";
import {
  type Recovery,
  RECOVERY_ENDS,
  type RecoveryEnd,
  rightEndOf,
} from "../../calls/recovery.ts";
import type { Bounds } from "../../statistics/proportions.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** How episodes ended. An episode is one function that failed in one trial. */
export interface RecoveryTally {
  /** Number of episodes. */
  readonly episodes: number;
  /** Number of episodes by how they ended. */
  readonly ends: Readonly<Record<RecoveryEnd, number>>;
  /** Number of episodes with the right end: recovered or, where permission was denied for good, gave up. */
  readonly right: number;
  /** The share of episodes with the right end; `null` without any episode. */
  readonly rate: number | null;
  /**
   * Two-sided 95% interval of the rate: Wilson's, or from the clustered standard error where a task has
   * several episodes; `null` where there is none.
   */
  readonly interval: Bounds | null;
  /** Mean number of calls of the function after the first failed one; `null` without any episode. */
  readonly attempts: number | null;
}

/** How faults of one kind ended under one perturbation. */
export interface FaultRecovery extends RecoveryTally {
  /** The kind. */
  readonly fault: FaultKind;
  /** The perturbation's id, such as `timeout:3`. */
  readonly perturbation: string;
  /** The right end. */
  readonly rightEnd: RecoveryEnd;
  /** Number of valid trials with this perturbation, those without an episode included. */
  readonly trials: number;
}

/** How faults ended for a model with a strategy. */
export interface RecoveryMetrics extends Subject {
  /** One for each kind, in the order of {@linkcode FAULTS}, and each perturbation with it. */
  readonly faults: readonly FaultRecovery[];
  /** Over all faults but `slow`, from which there is nothing to recover. */
  readonly total: RecoveryTally;
}

/** An episode, and the task on which it happened. */
interface Episode extends Recovery, Pick<TrialSummary, "task"> {}

/**
 * Measures how faults ended, for each model and strategy whose trials met any. Invalid trials do not count.
 */
export function measureRecovery(trials: readonly TrialSummary[]): RecoveryMetrics[] {
  const valid = trials.map(asSummary).filter(({ outcome }) => outcome !== "invalid");
  return measureEach(valid, (items) => {
    const faults = [...Map.groupBy(items, ({ perturbation }) => perturbation)]
      .flatMap(([perturbation, own]) => {
        const byFault = Map.groupBy(episodesOf(own), ({ fault }) => fault);
        return [...byFault].map(([fault, episodes]): FaultRecovery => ({
          fault,
          perturbation,
          rightEnd: rightEndOf(fault),
          trials: own.length,
          ...tallyOf(episodes),
        }));
      });
    if (faults.length === 0) return [];
    return [{
      faults: FAULTS.flatMap((kind) => faults.filter(({ fault }) => fault === kind)),
      total: tallyOf(episodesOf(items).filter(({ fault }) => fault !== "slow")),
    }];
  }, unperturbed);
}

function episodesOf(trials: readonly TrialSummary[]): Episode[] {
  return trials.flatMap(({ task, recoveries = [] }) => recoveries.map((one) => ({ ...one, task })));
}

function tallyOf(episodes: readonly Episode[]): RecoveryTally {
  const isRight = ({ fault, end }: Episode) => end === rightEndOf(fault);
  const of = episodes.length;
  const right = episodes.filter(isRight).length;
  const counts = RECOVERY_ENDS.map((end) =>
    [end, episodes.filter((episode) => episode.end === end).length] as const
  );
  return {
    episodes: of,
    ends: Object.fromEntries(counts) as Record<RecoveryEnd, number>,
    right,
    rate: of === 0 ? null : right / of,
    interval: shareInterval(episodes, isRight),
    attempts: mean(episodes.map(({ attempts }) => attempts)),
  };
}
