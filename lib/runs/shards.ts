/**
 * Sharding: which part of a plan a machine runs.
 *
 * Trials that are alike are dealt out evenly, so that each shard has its share of them, whatever they
 * turn out to cost. What is left over goes where least is expected so far, by the tokens that trials
 * probably take: the costliest first, as in the rule of the longest processing time (Graham, 1969,
 * "Bounds on multiprocessing timing anomalies").
 * @module
 */

import { BinaryHeap } from "@std/data-structures/binary-heap";
import {
  CHARACTERS_A_TOKEN,
  expectedUsage,
  type TaskSize,
  type TrialSetting,
  USUAL_CALLS,
} from "./usage_estimate.ts";
import { InputError } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { faultsIn } from "../perturbations/ids.ts";
import { countTrials, type Plan, type ResolvedSuite } from "./plan.ts";
import { isGenerated, isQuestion } from "../trials/executors/task_kind.ts";
import { strategiesIn } from "../trials/strategies/registry.ts";
import { type StrategyEntry, strategyId } from "../trials/strategies/entry.ts";
import type { Cell } from "./suite.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/** Which part of a plan a machine runs. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

/** The most shards of a plan. */
export const MOST_SHARDS = 999_999;

/**
 * Reads a shard such as `2/5`.
 *
 * @throws {InputError} If it is none.
 */
export function parseShard(text: string): Shard {
  const [index, of] = (/^(\d+)\/(\d+)$/.exec(text)?.slice(1) ?? []).map(Number);
  if (
    index !== undefined && of !== undefined && index >= 1 && index <= of && of <= MOST_SHARDS
  ) return { index, of };
  throw new InputError(`Cannot use shard ${text} as it must be I/N with 1 <= I <= N, such as 2/5`);
}

/** A shard as people are told of it, who may never have heard of shards. */
export function shardText({ index, of }: Shard): string {
  return of === 1 ? "the whole run" : `shard ${index}/${of}`;
}

/** The trials of one shard, in plan order. */
export function shardOf(plan: Plan, { index, of }: Shard): readonly PlannedTrial[] {
  if (of === 1) return plan.trials;
  const shards = assignShards(plan, of);
  return plan.trials.filter((trial) => shards[trial.index] === index);
}

/**
 * The shard of each trial, from 1, in plan order. It rests on nothing but what the plan's hash covers,
 * so that every machine, and whoever reads a journal, comes to the same.
 *
 * Trials are alike that are of one model, strategy and perturbation and expected to cost the same. Of
 * those, and of each cell and repetition among them, the shards have equally many, or one more or less.
 * What is expected of two shards differs by no more than the costliest trial.
 */
export function assignShards(
  { suite, resolved }: Pick<Plan, "suite" | "resolved">,
  of: number,
): Uint32Array {
  const shards = new Uint32Array(countTrials(resolved));
  if (of === 1) return shards.fill(1);
  // Where tests have few trials each, the first ones of all must not be of the first shard.
  const offset = parseInt(sha256(suite).slice(0, 8), 16) % of;
  const heap = new BinaryHeap<Load>(
    (one: Load, other: Load) => one.cost - other.cost || one.turn - other.turn,
  );
  for (let turn = 0; turn < of; turn++) {
    heap.push({ shard: (turn + offset) % of + 1, turn, cost: 0 });
  }
  for (const { cost, trials } of alikeTrials(resolved)) {
    const next = Array.from({ length: Math.min(of, trials.length) }, () => heap.pop()!);
    for (const [place, index] of trials.entries()) {
      const load = next[place % next.length]!;
      shards[index] = load.shard;
      load.cost += cost;
    }
    for (const load of next) heap.push(load);
  }
  return shards;
}

/** What a shard has been given so far. */
interface Load {
  readonly shard: number;
  /** Its turn among those that have been given as much. */
  readonly turn: number;
  /** In tokens. */
  cost: number;
}

/** Trials that are dealt out together, by their places in the plan. */
interface AlikeTrials {
  /** What each of them is expected to cost, in tokens. */
  readonly cost: number;
  readonly trials: number[];
}

/** The trials of a plan, those together that are alike, the costliest first. */
function alikeTrials(resolved: ResolvedSuite): AlikeTrials[] {
  const { cells, models, strategies, perturbations } = resolved;
  const sizes = cells.map(sizeOf);
  const settings = strategies.flatMap((entry) =>
    perturbations.map((perturbation) => settingOf(entry, perturbation))
  );
  const all = models.flatMap((_, model) =>
    settings.flatMap((setting, place) => {
      const alike = new Map<number, AlikeTrials>();
      for (const [cell, size] of sizes.entries()) {
        const cost = costOf(size, setting);
        const { trials } = alike.getOrInsertComputed(cost, () => ({ cost, trials: [] }));
        addTrials(trials, resolved, (cell * models.length + model) * settings.length + place);
      }
      return [...alike.values()];
    })
  );
  return all.sort((one, other) => other.cost - one.cost);
}

/** Adds the trials of one place in each block: repetition by repetition, block by block. */
function addTrials(trials: number[], resolved: ResolvedSuite, place: number): void {
  const { graphs, repetitions } = resolved;
  const blockSize = countTrials(resolved) / graphs;
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (let block = 0; block < graphs; block++) {
      trials.push(block * blockSize + place * repetitions + repetition);
    }
  }
}

/** The tokens that a trial is expected to take, from what is planned alone. */
export function expectedCost(
  cell: Cell,
  strategy: string | StrategyEntry,
  perturbation: string,
): number {
  return costOf(sizeOf(cell), settingOf(strategy, perturbation));
}

function settingOf(strategy: string | StrategyEntry, perturbation: string): TrialSetting {
  return {
    strategies: known(() => strategiesIn(strategyId(strategy))),
    faults: known(() => faultsIn(perturbation)),
  };
}

/** Characters of a prompt, and of a function with its parameters, in generated tasks, about. */
const PROMPT_CHARACTERS = 250;
const FUNCTION_CHARACTERS = 350;

/** Functions that are offered where nobody knows, about. */
const USUAL_FUNCTIONS = 10;

/** How large tasks of a cell are, about: they are not made for this, as cases are made by the user's own code. */
function sizeOf(cell: Cell): TaskSize {
  if (isGenerated(cell)) {
    const { core, connected, disconnected } = cell;
    return { question: questionOf(core + connected + disconnected), calls: core, given: core / 2 };
  }
  // Where calls are written down there are none to make.
  const calls = isQuestion(cell) && cell.mode !== "tools" ? 0 : USUAL_CALLS;
  return { question: questionOf(USUAL_FUNCTIONS), calls, given: 0 };
}

function questionOf(functions: number): number {
  return (PROMPT_CHARACTERS + FUNCTION_CHARACTERS * functions) / CHARACTERS_A_TOKEN;
}

/** A whole number, as sums of these are the same in any order; journals may hold any numbers for sizes. */
function costOf(size: TaskSize, setting: TrialSetting): number {
  const { inputTokens, outputTokens } = expectedUsage(size, setting);
  const cost = Math.round(inputTokens + outputTokens);
  return cost >= 1 ? Math.min(cost, MOST_COST) : 1;
}

/** A plan's trials cost no more than a double counts exactly. */
const MOST_COST = 1e9;

/** What ids stand for; nothing where another version wrote them. */
function known<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof InputError) return [];
    throw error;
  }
}
