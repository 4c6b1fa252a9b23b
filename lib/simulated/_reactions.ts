/**
 * Reactions of simulated models to tools that fail, other than a retry.
 * @module
 */

import type { REACTIONS } from "../models/simulated_name.ts";
import { randomIntegerBetween } from "@std/random";
import { fork, forkSeed, type Stream } from "../base/random.ts";
import type { ReadConversation } from "./_reading.ts";

/**
 * A rate from 0 to 1 for each reaction to a tool that failed; the sum is at most 1. The reaction is drawn once
 * for each function that failed, no matter how often. A call that was refused because it does not conform to
 * its schema is not a failure of the tool.
 *
 * | reaction | the model |
 * | --- | --- |
 * | `giveup` | ends, and says that it cannot determine the value |
 * | `invent` | continues with an invented number, as if the function had returned it |
 *
 * Otherwise it tries again, as the planner does. If a call is required, it never gives up.
 */
export type ReactionRates = Readonly<Record<typeof REACTIONS[number], number>>;

/** The reaction of a model to a function that failed. */
export type Reaction = "retry" | typeof REACTIONS[number];

/** The rates and seeds that determine reactions. */
export interface ReactionDraws {
  /** The rates. Default: 0. */
  readonly rates: Partial<ReactionRates>;
  /** The seed of the model. */
  readonly seed: number;
  /** The `seed` of the request, which is the number of the repetition; 0 if it has none. */
  readonly repetition: number;
}

/**
 * Returns how `sim:noisy` reacts to a function that failed, in a conversation that begins with `prompt`.
 *
 * @param prompt The first user message.
 */
export function drawReaction(
  prompt: string,
  functionName: string,
  { rates: { giveup = 0, invent = 0 }, seed, repetition }: ReactionDraws,
): Reaction {
  const draw = streamOf(forkSeed(seed, repetition, prompt), functionName).prng();
  if (draw < giveup) return "giveup";
  return draw < giveup + invent ? "invent" : "retry";
}

function streamOf(question: number, functionName: string): Stream {
  return fork(question, "tool failed", functionName);
}

/** A conversation after reactions to failed tools. */
export interface ReactionResult {
  /** The conversation, with invented values as returns of failed functions. */
  readonly conversation: ReadConversation;
  /** Whether the model gives up. */
  readonly givesUp: boolean;
}

/** Reacts to the functions that failed and have not returned a value. */
export function react(conversation: ReadConversation, draws: ReactionDraws): ReactionResult {
  const { giveup = 0, invent = 0 } = draws.rates;
  if (giveup + invent === 0) return { conversation, givesUp: false };
  const { prompt, functions, mustCall } = conversation;
  const question = forkSeed(draws.seed, draws.repetition, prompt);
  const returned = new Set<string>();
  for (const { name, values } of conversation.calls) {
    if (values.size > 0) returned.add(name);
  }
  let givesUp = false;
  const calls = conversation.calls.map((call) => {
    const { name, refusal } = call;
    const hasFailed = refusal === "failed" || refusal === "denied" || refusal === "gone";
    const outputs = functions.get(name)?.outputs;
    if (!hasFailed || returned.has(name) || outputs === undefined) return call;
    const reaction = drawReaction(prompt, name, draws);
    givesUp ||= reaction === "giveup" && !mustCall;
    if (reaction !== "invent") return call;
    const stream = streamOf(question, name);
    // Its first number determines the reaction.
    stream.prng();
    const names = outputs.length === 0 ? [""] : outputs.map((output) => output.name);
    const values = names.map((name) => [name, randomIntegerBetween(100, 999, stream)] as const);
    return { ...call, values: new Map(values), refusal: undefined };
  });
  return { conversation: { ...conversation, calls }, givesUp };
}
