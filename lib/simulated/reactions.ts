/**
 * What a simulated model makes of tools that fail, beside trying again.
 * @module
 */

import type { REACTIONS } from "../models/simulated_name.ts";
import { randomIntegerBetween } from "@std/random";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import type { Conversation } from "./reading.ts";

/**
 * A rate, 0..1, for each way to react to a tool that failed, at most 1 together. An opportunity is a
 * function that failed, however often: what is done about it is drawn once. A call that was refused as it
 * does not conform to its schema is no failure of the tool.
 *
 * | reaction | the model |
 * | --- | --- |
 * | `giveup` | ends, and says that it cannot determine the value |
 * | `invent` | goes on with a number of its own, as if the function had returned it |
 *
 * With neither it tries again, as the planner does. Where it must call, it never gives up.
 */
export type ReactionRates = Readonly<Record<typeof REACTIONS[number], number>>;

/** What a model does about a function that failed. */
export type Reaction = "retry" | typeof REACTIONS[number];

/** What reactions are drawn from. */
export interface ReactionDraws {
  /** The rates; those that are left out are 0. */
  readonly rates: Partial<ReactionRates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 where there is none. */
  readonly repetition: number;
}

/**
 * What `sim:noisy` does about a function once it has failed, in a conversation that begins with `prompt`.
 *
 * @param prompt The first user message.
 *
 * @example Usage
 * ```ts
 * import { drawReaction } from "./reactions.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const draws = { seed: 7, repetition: 1 };
 * assertEquals(drawReaction("x?", "func_yep", { ...draws, rates: {} }), "retry");
 * assertEquals(drawReaction("x?", "func_yep", { ...draws, rates: { invent: 1 } }), "invent");
 * ```
 */
export function drawReaction(
  prompt: string,
  functionName: string,
  { rates: { giveup = 0, invent = 0 }, seed, repetition }: ReactionDraws,
): Reaction {
  const drawn = streamOf(forkSeed(seed, repetition, prompt), functionName).prng();
  if (drawn < giveup) return "giveup";
  return drawn < giveup + invent ? "invent" : "retry";
}

function streamOf(question: number, functionName: string): Stream {
  return fork(question, "tool failed", functionName);
}

/** A conversation as it is to a model that reacts to failed tools. */
export interface Reacted {
  /** The conversation, in which functions that failed have returned what was invented. */
  readonly conversation: Conversation;
  /** Whether the model gives up. */
  readonly givesUp: boolean;
}

/** Reacts to the functions that failed and have returned nothing since. */
export function react(conversation: Conversation, draws: ReactionDraws): Reacted {
  const { giveup = 0, invent = 0 } = draws.rates;
  if (giveup + invent === 0) return { conversation, givesUp: false };
  const { prompt, functions, mustCall } = conversation;
  const question = forkSeed(draws.seed, draws.repetition, prompt);
  const returned = new Set<string>();
  for (const { name, value } of conversation.calls) {
    if (value !== undefined) returned.add(name);
  }
  let givesUp = false;
  const calls = conversation.calls.map((call) => {
    const { name, refusal } = call;
    const hasFailed = refusal === "failed" || refusal === "denied";
    if (!hasFailed || returned.has(name) || !functions.has(name)) return call;
    const reaction = drawReaction(prompt, name, draws);
    givesUp ||= reaction === "giveup" && !mustCall;
    if (reaction !== "invent") return call;
    const stream = streamOf(question, name);
    // Its first number tells the reaction.
    stream.prng();
    return { ...call, value: randomIntegerBetween(100, 999, stream), refusal: undefined };
  });
  return { conversation: { ...conversation, calls }, givesUp };
}
