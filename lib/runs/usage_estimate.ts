/**
 * Expected usage: the tokens that a trial will probably take, before it is run.
 * @module
 */

import type { FaultId } from "../tools/fault.ts";
import type { Usage } from "../tools/message.ts";
import { lostCalls } from "../perturbations/ids.ts";
import type { StrategyId } from "../trials/strategies/registry.ts";

/** Characters of a token, about, in prompts and tools of generated tasks. */
export const CHARACTERS_A_TOKEN = 3;

/** Calls that a task takes of which nobody knows, about. */
export const USUAL_CALLS = 2;

/** Tokens that a call and its result take, about. */
const CALL_TOKENS = 40;

/** Tokens that one variable and its value take where they are restated, about. */
const RESTATED_TOKENS = 8;

/** How large a task is. */
export interface TaskSize {
  /** Tokens of the prompt and of the tools. */
  readonly question: number;
  /** The calls that it takes. */
  readonly calls: number;
  /** The values that it gives. */
  readonly given: number;
}

/** Who works on a task, and what is done to it. */
export interface TrialSetting {
  readonly strategies: readonly StrategyId[];
  /** What comes to the calls. */
  readonly faults: readonly FaultId[];
}

/**
 * The tokens that a trial takes, roughly: the prompt and the tools are read again at each step, and one
 * call is made a step, whatever it is written in; strategies add what they ask and tell, faults the calls
 * of which nothing comes. Models that think take more; past results tell better.
 */
export function expectedUsage(
  { question, calls: needed, given }: TaskSize,
  { strategies, faults }: TrialSetting,
): Usage {
  const calls = needed + lostCalls(needed, faults);
  const uses = (id: StrategyId) => strategies.includes(id);
  const list = CALL_TOKENS * needed;
  // A list of calls is asked for until nothing is missing, and read again at each step.
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
