/**
 * Replacing: names calls to make in place of those that failed, by the category of their error (Pipeline, "Robust
 * Tool Execution"). Strategies (`retry`, `alternative`) and tool executors do it here.
 * @module
 */

import { type AttemptRules, Attempts, TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { callSignature } from "../../calls/behaviour.ts";
import { MAX_ALTERNATIVES, REMEDIES } from "../../tools/error_category.ts";
import type { FailedCall, PreparedCall, Replacement } from "../../tools/tool.ts";
import type { Failing, LoopOptions, Replacer } from "../agent/loop.ts";
import { limitText, type Strategy, type Texts } from "./_stages.ts";
import { printable } from "../../base/json.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { isLimited } from "../agent/session.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

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
  return (failing) => {
    // Calls of one reply wait at the same time.
    const since = clock.now();
    const again: CallNamer = async ({ original, call, retryAfter, injected }) => {
      const own = getOrInsertComputed(attempts, original, () => new Attempts(rules, draw));
      const step = own.next(injected ? {} : { retryAfter }, injected ? Infinity : left());
      if ("giveUp" in step) return undefined;
      const wait = injected ? 0 : since + step.wait - clock.now();
      if (wait > 0) await clock.pause(wait, signal);
      // Another object, as a call is carried out once, and its tool may have changed the arguments.
      return { ...call };
    };
    return replacer("retry", "retry", again)(failing);
  };
}

/**
 * Returns a replacer that calls other functions. The last parameter of `name` says why a call is not made: it was
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
    const tried = getOrInsertComputed(made, failed.original, () => new Set());
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

/**
 * A call that found nothing, or whose function does not exist, goes back to the model with the error (stage
 * `alternative`), and the call of another function that it makes takes its place. Without one, with arguments that
 * do not conform, or if it was made before, the error stands.
 */
export const alternative: Strategy<Texts<"alternative">> = (options, next, { prompts }) => {
  const { session } = options;
  const own = alternating(async ({ call, message }, { messages, environment }, faultOf) => {
    const { name } = call;
    const quoted = limitText(call.arguments);
    const words = { name: limitText(name), arguments: quoted, errors: limitText(message) };
    const reply = await session.ask({
      stage: "alternative",
      aside: true,
      messages: [
        ...messages,
        // As text: calls of a conversation must be answered by results, and there are none yet.
        { role: "assistant", content: `${words.name}(${quoted})`, calls: [] },
        { role: "user", content: fillPrompt(prompts.other, words) },
      ],
      tools: environment.tools,
    });
    if (isLimited(reply)) return undefined;
    const other = reply.calls.find((one) =>
      environment.tools.some((tool) => tool.name === one.name) && one.name !== name
    );
    const fault = other === undefined
      ? "no other function was called"
      : faultOf(other) ?? environment.refuse(other)?.error;
    const what = `in place of ${printable(name, 100)}`;
    session.record({
      kind: "stage",
      stage: "alternative",
      ...fault === undefined
        ? { message: `${printable(other!.name, 100)} is called ${what}` }
        : { message: `nothing is called ${what}: ${printable(fault, 500)}`, unusable: true },
    });
    return fault === undefined ? other : undefined;
  });
  return next(replacing(options, own));
};
