/**
 * Sharding: assigns each trial of a plan to one of several machines.
 *
 * Trials are dealt in turn, those that are alike one after another, so that each shard has its share of these.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { hash64 } from "../base/random.ts";
import type { Plan } from "./plan.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { variantKey } from "../gate/variant.ts";
import { blocksOfWave, type Wave } from "../gate/waves.ts";
import type { Shard } from "./shard_text.ts";

/** The trials of one shard, in plan order: of a wave, those in its blocks. */
export function shardOf(
  plan: Plan,
  { index, of }: Shard,
  wave?: Wave,
): readonly PlannedTrial[] {
  if (of === 1 && wave === undefined) return plan.trials;
  const shards = assignShards(plan, of);
  const { first, end } = wave === undefined
    ? { first: 0, end: Infinity }
    : blocksOfWave(wave, plan.resolved.graphs);
  return plan.trials.filter((trial) =>
    shards[trial.index] === index && trial.block >= first && trial.block < end
  );
}

/**
 * The shard of each trial, from 1, in plan order. It depends only on what the plan's hash covers, so that all
 * machines and readers of journals agree.
 *
 * The number of trials of each model, strategy, perturbation and variant, and of each cell and repetition among them,
 * differs by at most one between shards.
 */
export function assignShards(
  { suite, trials }: Pick<Plan, "suite" | "trials">,
  of: number,
): Uint32Array {
  const shards = new Uint32Array(trials.length);
  if (of === 1) return shards.fill(1);
  // The first trials of many small plans must not all be in the first shard.
  const offset = parseInt(sha256(suite).slice(0, 8), 16) % of;
  const dealt = [...Map.groupBy(trials, variantKey)].flatMap(([variant, own]) =>
    // The order of cells has no meaning: in that of the plan one shard might have the costly ones of every variant.
    Array.from(Map.groupBy(own, cellKey), ([cell, alike]) => ({
      place: hash64(`${variant} ${cell}`),
      alike: alike.toSorted((one, other) => one.repetition - other.repetition),
    })).sort((one, other) => one.place < other.place ? -1 : 1).flatMap(({ alike }) => alike)
  );
  for (const [turn, { index }] of dealt.entries()) shards[index] = (turn + offset) % of + 1;
  return shards;
}

/** A key of the cell of a trial; the trials of a case are all alike. */
function cellKey({ task }: PlannedTrial): string {
  return isCase(task) ? task.case : canonicalJson({ ...task, seed: undefined });
}
