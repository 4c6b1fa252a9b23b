/**
 * The strategy that makes failed calls again (Pipeline, error handling and retry logic).
 * @module
 */

import { TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { replacing, retrying } from "./replacing.ts";
import type { Strategy } from "./_stage.ts";

/**
 * A call that a rate limit or a timeout kept from its result is made again without the model, at most three times,
 * after pauses as in a tool executor.
 */
export const retry: Strategy = retryBy(SYSTEM_CLOCK);

/** The strategy with a clock of its own. */
export function retryBy(clock: Clock): Strategy {
  return (options, next) => {
    const { session } = options;
    return next(replacing(
      options,
      retrying({
        rules: TOOL_ATTEMPTS,
        // Without jitter, so that pauses are the same each time.
        draw: () => 1,
        clock,
        left: () => session.left,
        signal: session.signal,
      }),
    ));
  };
}
