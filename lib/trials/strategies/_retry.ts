/**
 * The strategy that makes failed calls again (Pipeline, error handling and retry logic).
 * @module
 */

import { type AttemptRules, Attempts, TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { REMEDIES } from "../../tools/error_category.ts";
import type { FailedCall, PreparedCall, Replacement } from "../../tools/tool.ts";
import { replacing } from "./_replacing.ts";
import type { Strategy } from "./_stage.ts";

/**
 * A call that a rate limit or a timeout kept from its result is made again without the model, at most three times,
 * after pauses as in a tool executor. After an injected fault there is nothing to wait for.
 */
export const retry: Strategy = retryBy(SYSTEM_CLOCK);

/** The strategy with a clock of its own. */
export function retryBy(clock: Clock, rules: AttemptRules = TOOL_ATTEMPTS): Strategy {
  return (options, next) => {
    const attempts = new WeakMap<PreparedCall, Attempts>();
    const { session } = options;
    /** Returns the wait before the next attempt; `undefined` if there is none. */
    const waitFor = ({ original, category, retryAfter, injected }: FailedCall) => {
      if (REMEDIES[category] !== "retry") return undefined;
      // Without jitter, so that pauses are the same each time.
      const own = attempts.get(original) ?? new Attempts(rules, () => 1);
      attempts.set(original, own);
      const step = own.next(injected ? {} : { retryAfter }, injected ? Infinity : session.left);
      return "giveUp" in step ? undefined : injected ? 0 : step.wait;
    };
    return next(replacing(options, async ({ failed }) => {
      const waits = failed.map(waitFor);
      const longest = Math.max(0, ...waits.map((wait) => wait ?? 0));
      if (longest > 0) await clock.pause(longest, session.signal);
      return failed.map(({ call }, place): Replacement | undefined =>
        // Another object, as a call is carried out once.
        waits[place] === undefined ? undefined : { call: { ...call }, by: "retry" }
      );
    }));
  };
}
