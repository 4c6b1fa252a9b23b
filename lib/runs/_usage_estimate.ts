/**
 * Usage estimates: the approximate tokens of a trial, before it is run.
 * @module
 */

import type { FaultId } from "../tools/fault.ts";
import type { Usage } from "../tools/message.ts";
import { lostCalls } from "../perturbations/ids.ts";
import type { StrategyId } from "../trials/strategies/registry.ts";

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
