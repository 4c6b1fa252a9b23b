/**
 * Own turns: what an agent that plays its user says to its model by itself, in place of him.
 * @module
 */

import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import type { ModelReply } from "../../models/model.ts";
import type { AgentRequest } from "../../models/openai/agent_request.ts";

/** The messages of the user that an agent adds in its requests, each of which is a turn. */
export class OwnTurns {
  /** What is said in the name of the user already, such as the prompt, which frameworks repeat. */
  readonly #known: ReadonlySet<string>;
  /** The texts and ids of the answers so far, after which a user may speak. */
  readonly #answers = new Set<string>();
  /** How often a request had a message at most. */
  readonly #found = new Map<string, number>();

  /** Knows no answer yet. */
  constructor(known: readonly string[]) {
    this.#known = new Set(known.map((text) => text.trim()));
  }

  /** Takes a reply that makes no calls: what a user says next answers it. */
  answered({ text, written = text }: Pick<ModelReply, "text" | "written">, id: string): void {
    for (const one of [text.trim(), written.trim(), idKey(id)]) this.#answers.add(one);
  }

  /**
   * Returns the messages that no request had before: of role `user`, after an answer of the model. Examples, parts of
   * the conversation that are sent again, and what follows results are none.
   */
  find({ messages, previous }: Pick<AgentRequest, "messages" | "previous">): string[] {
    const counts = new Map<string, number>();
    let isAnswered = previous !== undefined && this.#answers.has(idKey(previous));
    let before = "";
    return messages.flatMap((message): string[] => {
      const { role, content } = message;
      const text = content.trim();
      if (role === "assistant" || role === "tool") {
        // One without a text may stand for any, which the server has stored.
        isAnswered = role === "assistant" && message.calls.length === 0 &&
          (text === "" ? this.#answers.size > 0 : this.#answers.has(text));
        before = "";
      }
      if (role !== "user" || !isAnswered) return [];
      const isNew = text !== "" && text !== before && !this.#known.has(text);
      before = text;
      if (!isNew) return [];
      // What the server keeps is not sent again, so that the same text may be another message.
      const key = JSON.stringify([previous ?? "", text]);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count <= (this.#found.get(key) ?? 0)) return [];
      this.#found.set(key, count);
      return [content.slice(0, MAX_KEPT_LENGTH)];
    });
  }
}

/** An id that is no text of a reply. */
function idKey(id: string): string {
  return `\0${id}`;
}
