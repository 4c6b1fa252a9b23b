/**
 * Forecasts of what a plan costs, before anything is spent.
 * @module
 */

import { printable } from "../base/json.ts";
import { dollars } from "../base/numbers.ts";
import { modelName } from "../models/entry.ts";
import { costOf } from "../models/prices.ts";
import { faultsIn, lostCalls } from "../perturbations/ids.ts";
import { meanUsage, type Usage } from "../tools/message.ts";
import { offerNames } from "../tools/references/schema.ts";
import type { Fixture } from "../trials/executors/fixture.ts";
import { openTask } from "../trials/executors/tasks.ts";
import { stageEntries, strategyChoice, strategyName } from "../trials/strategies/entry.ts";
import { strategiesIn, type StrategyId } from "../trials/strategies/registry.ts";
import { forecast } from "./forecast.ts";
import type { Plan } from "./plan.ts";
import type { FaultId } from "../tools/fault.ts";

/** The tokens of a trial, and whether what is made for each trial, such as its tools, was left out of them. */
export type EstimatedUsage = Usage & { readonly unmade?: true };

/** Roughly estimates the mean token usage of a trial: see {@linkcode expectedUsage}. */
export function estimateUsage(plan: Plan): EstimatedUsage {
  const [first] = plan.resolved.models;
  const block = plan.trials.filter((trial) =>
    trial.block === 0 && trial.repetition === 1 && trial.model === modelName(first!)
  );
  const strategies = new Map(
    plan.resolved.strategies.map((entry) => [
      strategyName(entry),
      strategiesIn(strategyChoice(entry).strategy),
    ]),
  );
  let unmade: true | undefined;
  const usage = meanUsage(block.map(({ task, strategy, perturbation, variant }) => {
    const { references } = plan.resolved;
    using fixture = (plan.open ?? openTask)(task, {
      perturbation,
      references,
      variant,
    });
    unmade ??= fixture.unmade;
    const ids = strategies.get(strategy)!;
    return expectedUsage(taskSize(fixture, ids), {
      strategies: ids,
      faults: faultsIn(perturbation),
    });
  }));
  return { ...usage, unmade };
}

function taskSize(
  { prompt, tools, given, minimumCalls, present }: Fixture,
  strategies: readonly StrategyId[],
): TaskSize {
  const offered = strategies.includes("indirection") ? tools.map(offerNames) : tools;
  return {
    question: (prompt.length + JSON.stringify(offered).length) / CHARACTERS_A_TOKEN,
    // Calls that are written as text are one reply.
    calls: present !== undefined ? 0 : minimumCalls ?? USUAL_CALLS,
    given: given.size,
  };
}

/**
 * The estimated cost of the whole plan, one line per model; empty without prices. Stages by other models
 * are counted at the price of the trial's own.
 */
export function forecastCost(
  plan: Plan,
  usage: EstimatedUsage,
  gateForecast = forecast(plan),
): string[] {
  const share = gateForecast?.expectedShare ?? 1;
  const others = plan.resolved.strategies.flatMap((entry) => [...stageEntries(entry).values()]);
  const stages = others.length === 0 ? "" : "; stages by other models are counted at its price";
  const judged = plan.resolved.judge === undefined ? "" : "; its judge is not counted";
  const users = plan.userOf === undefined ? "" : "; simulated users are not counted";
  const unmade = usage.unmade
    ? "; what is made for each trial, such as its tools, is not counted"
    : "";
  return modelCosts(plan, usage).map(({ model, trials, usd }) => {
    const full = `${costText(usd)} for ${trials} trials`;
    return `${printable(model)}: ` +
      (share < 1
        ? `about ${costText(share * usd)} if it stops early, at most ${full}`
        : `about ${full}`) +
      stages + judged + users + unmade;
  });
}

/** What all trials of each model cost; empty without prices. */
export function modelCosts({ prices, trials, resolved }: Plan, usage: Usage) {
  if (prices === undefined) return [];
  const counts = new Map<string, number>();
  for (const { model } of trials) counts.set(model, (counts.get(model) ?? 0) + 1);
  return resolved.models.map(modelName).map((model) => {
    const count = counts.get(model) ?? 0;
    return { model, trials: count, usd: count * costOf(usage, model, prices) };
  });
}

function costText(usd: number): string {
  return usd >= 0.01 ? dollars(usd) : `$${usd.toPrecision(2)}`;
}

/** Approximate characters per token in prompts and tools of generated tasks. */
export const CHARACTERS_A_TOKEN = 3;

/** The assumed number of calls if it is unknown. */
export const USUAL_CALLS = 2;

/** Approximate tokens of a call and its result. */
const CALL_TOKENS = 40;

/** Approximate tokens of one restated variable and its value. */
const RESTATED_TOKENS = 8;

/** The size of a task. */
export interface TaskSize {
  /** Tokens of the prompt and of the tools. */
  readonly question: number;
  /** The number of calls it needs. */
  readonly calls: number;
  /** The number of values it gives. */
  readonly given: number;
}

/** The strategies and faults of a trial. */
export interface TrialSetting {
  readonly strategies: readonly StrategyId[];
  /** The faults of its calls. */
  readonly faults: readonly FaultId[];
}

/**
 * Roughly estimates the tokens of a trial: prompt and tools are read again at each step, and each step makes
 * one call in any format. Strategies add their requests and texts, faults add lost calls. Reasoning models
 * use more; past results give better estimates.
 */
export function expectedUsage(
  { question, calls: needed, given }: TaskSize,
  { strategies, faults }: TrialSetting,
): Usage {
  const calls = needed + lostCalls(needed, faults);
  const uses = (id: StrategyId) => strategies.includes(id);
  const list = CALL_TOKENS * needed;
  // `backward` asks for a list of calls until nothing is missing; each step reads it again.
  const rounds = uses("backward") ? Math.min(needed + 1, 10) : 0;
  const asides = rounds + Number(uses("plan_then_call")) + Number(uses("route_then_fill"));
  const listed = (rounds > 0 ? list : 0) + (uses("plan_then_call") ? list : 0);
  const restated = uses("restate")
    ? RESTATED_TOKENS * calls * (calls + 1) * (2 * calls + 1 + 3 * given) / 6
    : 0;
  return {
    inputTokens: (calls + 1 + asides) * question + (calls + 1) * listed +
      rounds * rounds * list / 2 +
      CALL_TOKENS * calls * (calls + 1) / 2 + restated,
    outputTokens: CALL_TOKENS * (calls + 1) / 2 + asides * list / 2,
  };
}
