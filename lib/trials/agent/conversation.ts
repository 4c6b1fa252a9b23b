/**
 * Conversations: run the agent loop once per user message, in one environment.
 * @module
 */

import type { Loop, LoopOptions } from "./loop.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { Ending } from "./session.ts";
import { wrapEnvironment } from "../../tools/tool.ts";

/** Options of {@linkcode converse}: the loop's options and the user's further messages. */
export interface ConversationOptions extends Omit<LoopOptions, "heard" | "bound"> {
  /** The user's further messages, each sent after an answer; default none. */
  readonly turns?: readonly string[];
}

/** The result of a conversation. */
export interface Conversation {
  /** The last answer, or the limit that was reached. */
  readonly ending: Ending;
  /** All messages of the user, the model and the tools, without those that a strategy adds on the side. */
  readonly messages: readonly Message[];
  /** Milliseconds of each message of the user, the question first, as far as the conversation came. */
  readonly turnsMs: readonly number[];
  /** The given values by name, and with `indirection` every named result. */
  readonly given: ReadonlyMap<string, JsonValue>;
}

/**
 * Runs the loop for the opening messages, and once more for each further turn.
 */
export async function converse(
  loop: Loop,
  { turns = [], ...options }: ConversationOptions,
): Promise<Conversation> {
  const { environment, session } = options;
  const messages = [...options.messages];
  const given = new Map(environment.given);
  const turnsMs: number[] = [];
  const work = async () => {
    const before = session.elapsed;
    const ending = await loop({
      ...options,
      messages: [...messages],
      environment: turns.length === 0
        ? environment
        : wrapEnvironment(environment, { given: new Map(given) }),
      heard: (message) => messages.push(message),
      bound: (name, value) => given.set(name, value),
    });
    turnsMs.push(session.elapsed - before);
    return ending;
  };
  let ending = await work();
  for (const content of turns) {
    if (ending.kind !== "answer") break;
    messages.push({ role: "user", content });
    session.record({ kind: "turn", text: content });
    ending = await work();
  }
  return { ending, messages, turnsMs, given };
}
