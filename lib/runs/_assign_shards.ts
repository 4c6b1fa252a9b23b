/**
 * Sharding: assigns each trial of a plan to one of several machines.
 *
 * Trials are dealt in turn, most expensive first, so that each shard has its share of cheap and expensive ones, and of
 * those that are alike.
 * @module
 */

import {
  CHARACTERS_A_TOKEN,
  expectedUsage,
  type TaskSize,
  type TrialSetting,
  USUAL_CALLS,
} from "./cost_forecast.ts";
import { InputError } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { faultsIn } from "../perturbations/ids.ts";
import type { Plan } from "./plan.ts";
import { allChoices } from "./resolved_suite.ts";
import { isCase, isGenerated, isQuestion } from "../tasks/task_kind.ts";
import { strategiesIn } from "../trials/strategies/registry.ts";
import { type StrategyEntry, strategyId, strategyName } from "../trials/strategies/entry.ts";
import type { Cell } from "./suite.ts";
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
 * Trials are alike if they share model, strategy, perturbation and expected cost. The number of like trials,
 * and of those of each cell and repetition among them, differs by at most one between shards. The expected
 * cost of two shards differs by at most the most expensive trial.
 */
export function assignShards(
  { suite, resolved, trials }: Pick<Plan, "suite" | "resolved" | "trials">,
  of: number,
): Uint32Array {
  const shards = new Uint32Array(trials.length);
  if (of === 1) return shards.fill(1);
  // The first trials of many small plans must not all be in the first shard.
  const offset = parseInt(sha256(suite).slice(0, 8), 16) % of;
  const entries = new Map(
    allChoices(resolved).strategies.map((entry) => [strategyName(entry), entry]),
  );
  const costOf = ({ task, strategy, perturbation }: PlannedTrial) =>
    expectedCost(task, entries.get(strategy) ?? strategy, perturbation);
  const bySubject = [...Map.groupBy(trials, variantKey).values()];
  const dealt = bySubject.flatMap((own) => [...Map.groupBy(own, costOf)])
    .sort(([one], [other]) => other - one)
    // Cell by cell and repetition by repetition, so that each shard has its share of every one.
    .flatMap(([_, alike]) => [...Map.groupBy(alike, cellKey).values()].flat());
  for (const [turn, { index }] of dealt.entries()) shards[index] = (turn + offset) % of + 1;
  return shards;
}

/** A key of the cell and the repetition of a trial; those of a case are all alike. */
function cellKey({ task, repetition }: PlannedTrial): string {
  if (isCase(task)) return task.case;
  return canonicalJson([{ ...task, seed: undefined }, repetition]);
}

/** The expected cost of a trial in tokens, from the plan alone. */
export function expectedCost(
  cell: Cell,
  strategy: string | StrategyEntry,
  perturbation: string,
): number {
  return trialCost(cellSize(cell), trialSetting(strategy, perturbation));
}

function trialSetting(strategy: string | StrategyEntry, perturbation: string): TrialSetting {
  return {
    strategies: idsOrNone(() => strategiesIn(strategyId(strategy))),
    faults: idsOrNone(() => faultsIn(perturbation)),
  };
}

/** The approximate length of a prompt and of a function with its parameters, in generated tasks. */
const PROMPT_CHARACTERS = 250;
const FUNCTION_CHARACTERS = 350;

/** The assumed number of functions if it is unknown. */
const USUAL_FUNCTIONS = 10;

/** The approximate size of a cell's tasks. They are not made for this, as cases run the user's code. */
function cellSize(cell: Cell): TaskSize {
  if (isGenerated(cell)) {
    const { core, connected, disconnected } = cell;
    const functions = core + connected + disconnected;
    return { question: promptTokens(functions), calls: core, given: core / 2 };
  }
  // Calls that are only written as text are not made.
  const calls = isQuestion(cell) && cell.mode !== "tools" ? 0 : USUAL_CALLS;
  return { question: promptTokens(USUAL_FUNCTIONS), calls, given: 0 };
}

function promptTokens(functions: number): number {
  return (PROMPT_CHARACTERS + FUNCTION_CHARACTERS * functions) / CHARACTERS_A_TOKEN;
}

/** The cost as a whole number, since sums of these are exact in any order; journals may hold any sizes. */
function trialCost(size: TaskSize, setting: TrialSetting): number {
  const { inputTokens, outputTokens } = expectedUsage(size, setting);
  const cost = Math.round(inputTokens + outputTokens);
  return cost >= 1 ? Math.min(cost, MAX_COST) : 1;
}

/** Keeps the total cost of a plan within the integers that a double holds exactly. */
const MAX_COST = 1e9;

/** The ids; none if another version wrote them. */
function idsOrNone<T>(parse: () => T[]): T[] {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InputError) return [];
    throw error;
  }
}
