/**
 * Replacing: names calls to make in place of those that failed, by the category of their error (Pipeline, "Robust
 * Tool Execution"). Strategies and tool executors do it here.
 * @module
 */

import { type AttemptRules, Attempts } from "../../base/attempts.ts";
import type { Clock } from "../../base/clock.ts";
import { callSignature } from "../../calls/behaviour.ts";
import { MAX_ALTERNATIVES, REMEDIES } from "../../tools/error_category.ts";
import type { FailedCall, PreparedCall, Replacement } from "../../tools/tool.ts";
import type { Failing, LoopOptions, Replacer } from "../agent/loop.ts";

/** The options with another replacer, beside those that they have. */
export function replacing(options: LoopOptions, own: Replacer): LoopOptions {
  const { replace } = options;
  return { ...options, replace: replace === undefined ? own : inTurn(replace, own) };
}

/** Joins replacers: each knows a remedy against errors of its own. */
export function inTurn(...replacers: readonly Replacer[]): Replacer {
  return async (failing) => {
    const replacements: (Replacement | undefined)[] = failing.failed.map(() => undefined);
    for (const replace of replacers) {
      for (const [place, one] of (await replace(failing)).entries()) replacements[place] ??= one;
    }
    return replacements;
  };
}

/** Names a call in place of one that failed; `undefined` if its error stands. */
export type CallNamer = (
  failed: FailedCall,
  failing: Failing,
) => Promise<PreparedCall | undefined>;

/** Returns a replacer of the calls against whose error a remedy helps. */
export function replacer(
  remedy: "retry" | "repair" | "replace",
  by: Replacement["by"],
  name: CallNamer,
): Replacer {
  return async (failing) => {
    const replacements: (Replacement | undefined)[] = [];
    for (const one of failing.failed) {
      const call = REMEDIES[one.category] === remedy ? await name(one, failing) : undefined;
      replacements.push(call && { call, by });
    }
    return replacements;
  };
}

/** How calls are made again. */
export interface RetryOptions {
  /** The limits of the attempts at one call. */
  readonly rules: AttemptRules;
  /** Returns random numbers from 0 to 1, for the jitter of pauses. */
  readonly draw: () => number;
  /** Measures pauses. */
  readonly clock: Clock;
  /** Returns the milliseconds that are left. */
  readonly left: () => number;
  /** Ends a pause. */
  readonly signal: AbortSignal | undefined;
}

/** Returns a replacer that makes calls again after a pause; after an injected fault there is nothing to wait for. */
export function retrying({ rules, draw, clock, left, signal }: RetryOptions): Replacer {
  const attempts = new WeakMap<PreparedCall, Attempts>();
  /** When calls failed: those of one reply wait at the same time. */
  const failedAt = new WeakMap<Failing, number>();
  return replacer("retry", "retry", async ({ original, call, retryAfter, injected }, failing) => {
    const since = failedAt.getOrInsertComputed(failing, () => clock.now());
    const own = attempts.getOrInsertComputed(original, () => new Attempts(rules, draw));
    const step = own.next(injected ? {} : { retryAfter }, injected ? Infinity : left());
    if ("giveUp" in step) return undefined;
    const wait = injected ? 0 : since + step.wait - clock.now();
    if (wait > 0) await clock.pause(wait, signal);
    // Another object, as a call is carried out once, and its tool may have changed the arguments.
    return { ...call };
  });
}

/**
 * Returns a replacer that calls other functions. `name` is told by its last parameter why a call is not made: it was
 * made before, or too many were.
 */
export function alternating(
  name: (
    failed: FailedCall,
    failing: Failing,
    faultOf: (other: PreparedCall) => string | undefined,
  ) => Promise<PreparedCall | undefined>,
): Replacer {
  const made = new WeakMap<PreparedCall, Set<string>>();
  return replacer("replace", "alternative", (failed, failing) => {
    const tried = made.getOrInsertComputed(failed.original, () => new Set());
    tried.add(signatureOf(failed.call));
    return name(
      failed,
      failing,
      (other) =>
        tried.has(signatureOf(other))
          ? "the same call was made before"
          : tried.size > MAX_ALTERNATIVES
          ? `${MAX_ALTERNATIVES} calls were made in its place`
          : undefined,
    );
  });
}

/** A key that is the same for calls of a function with equal arguments. */
export function signatureOf({ name, arguments: written }: PreparedCall): string {
  return callSignature({ function: name, arguments: written });
}
