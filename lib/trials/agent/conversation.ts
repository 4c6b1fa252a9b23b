/**
 * Conversations: the loop once for each message of the user, in one environment.
 * @module
 */

import type { Loop, LoopOptions } from "./loop.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { Ending } from "./session.ts";
import { wrapEnvironment } from "../../tools/tool.ts";

/** What a conversation takes: the loop's options, and what the user says after each answer. */
export interface ConversationOptions extends Omit<LoopOptions, "heard" | "bound"> {
  /** Further messages of the user; default none. */
  readonly turns?: readonly string[];
}

/** What came of a conversation. */
export interface Conversation {
  /** The last answer, or the limit that was reached. */
  readonly ending: Ending;
  /**
   * All that was said, by what opened it, the user, the model and the tools. What a strategy tells the
   * model beside it is left out.
   */
  readonly messages: readonly Message[];
  /** What was given, and with `indirection` each name that a value got. */
  readonly given: ReadonlyMap<string, JsonValue>;
}

/** Runs the loop for the messages that open the conversation, and once more for each further turn. */
export async function converse(
  loop: Loop,
  { turns = [], ...options }: ConversationOptions,
): Promise<Conversation> {
  const { environment, session } = options;
  const messages = [...options.messages];
  const given = new Map(environment.given);
  const work = async () =>
    await loop({
      ...options,
      messages: [...messages],
      environment: turns.length === 0
        ? environment
        : wrapEnvironment(environment, { given: new Map(given) }),
      heard: (message) => messages.push(message),
      bound: (name, value) => given.set(name, value),
    });
  let ending = await work();
  for (const content of turns) {
    if (ending.kind !== "answer") break;
    messages.push({ role: "user", content });
    session.record({ kind: "turn", text: content });
    ending = await work();
  }
  return { ending, messages, given };
}
