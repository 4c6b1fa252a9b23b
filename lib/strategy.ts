/**
 * Strategies: ways to let a model work on the same task, which a gate can compare.
 * @module
 */

import type { Ending, LoopOptions, runLoop } from "./agent.ts";

/**
 * Runs the one loop on `options`. A strategy changes what goes into the loop, such as messages, tools
 * or the texts that go back, and what comes out of it; it is no second loop.
 */
export type Strategy = (options: LoopOptions, loop: typeof runLoop) => Promise<Ending>;

/** The loop as it is. */
export const baseline: Strategy = (options, loop) => loop(options);
