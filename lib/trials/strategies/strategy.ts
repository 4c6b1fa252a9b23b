/**
 * Strategies: ways to let a model work on the same task, which a gate can compare.
 * @module
 */

import type { Loop, LoopOptions } from "../agent/loop.ts";
import type { Prompted, PROMPTS } from "../../models/prompts.ts";
import type { Ending } from "../agent/session.ts";

/** The texts of a strategy, by what they are for. */
export type Texts<Id extends Prompted = Prompted> = Readonly<
  Record<keyof typeof PROMPTS[Id] & string, string>
>;

/** What can be set of a strategy; each minds its own. */
export interface StrategySettings<Own = unknown> {
  /** Its texts. */
  readonly prompts: Own;
  /** How often a call goes back that does not conform to its schema (`repair`). */
  readonly attempts: number;
  /** How often it is asked for what is missing (`backward`). */
  readonly rounds: number;
  /** Whether values can be looked at (`indirection`). */
  readonly dereference: boolean;
}

/**
 * A way to work on a task. It changes what goes into the loop, such as messages, tools or the texts that
 * go back, asks beside it for what it needs, and changes what comes out; it is no second loop. `next` is
 * the loop, or the next strategy around it.
 */
export type Strategy<Own = unknown> = (
  options: LoopOptions,
  next: Loop,
  settings: StrategySettings<Own>,
) => Promise<Ending>;

/** The loop as it is. */
export const baseline: Strategy = (options, next) => next(options);
