/**
 * Waves: which blocks of a plan each has, and whether the run goes on after one. A wave has whole blocks of the plan of
 * a sequential gate, one after the other. Machines that each see only a part of every block still stop as one machine
 * would, as the gate looks at all blocks so far after each wave.
 * @module
 */

import { type DecisionGraph, type FinishedTrials, trialNames } from "./decisions.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/** A part of the plan of a sequential gate: whole blocks, one after the other. */
export interface Wave {
  /** From 1. */
  readonly index: number;
  /** The number of waves. */
  readonly of: number;
}

/**
 * Returns the blocks of a wave: from `first` to before `end`. Waves differ by at most one block.
 *
 * @param blocks The number of blocks of the plan.
 */
export function blocksOfWave(
  { index, of }: Wave,
  blocks: number,
): { readonly first: number; readonly end: number } {
  const before = (waves: number) => Math.floor(waves * blocks / of);
  return { first: before(index - 1), end: before(index) };
}

/** How far the waves of a run have come. */
export interface WavesSoFar {
  /** The last wave that has begun. */
  readonly last: Wave;
  /** The number of blocks up to its end. */
  readonly blocks: number;
  /** Why no further wave can run anything, such as a spent budget; omitted while one can. */
  readonly spent?: string;
  /** Returns why a trial of these waves has no result, and whether its run has ended: else it can go on. */
  readonly whyMissing: (
    trial: PlannedTrial,
  ) => { readonly reason: string; readonly ended: boolean };
}

/** What follows for a decision from how far waves have come. */
export interface WaveEnd {
  /** The wave to run next, if it is not decided by now: all trials up to there are known. */
  readonly next?: Wave;
  /** Why the run ended before all planned trials. */
  readonly stopped?: string;
  /** Which part of the run is not whole, and how to complete it. */
  readonly lacking?: string;
}

/**
 * Returns what follows for a decision that needs `open` graphs: those of the first block of which a trial is missing.
 */
export function waveEnd(
  { last, blocks, spent, whyMissing }: WavesSoFar,
  open: readonly DecisionGraph[],
  planned: readonly PlannedTrial[],
  scores: FinishedTrials,
): WaveEnd {
  const block = open[0]!.block;
  if (block >= blocks) {
    return spent === undefined
      ? { next: { index: last.index + 1, of: last.of } }
      : { stopped: spent };
  }
  const needed = new Set(open.flatMap(trialNames));
  const missing = planned.filter((trial) =>
    trial.block === block && !scores.has(trial.id) &&
    scores.namesOf(trial).some((name) => needed.has(name))
  ).map(whyMissing);
  const cut = missing.find(({ ended }) => !ended);
  if (cut !== undefined) return { lacking: cut.reason };
  return missing.length === 0 ? {} : { stopped: missing[0]!.reason };
}
