/**
 * Own turns: what an agent that plays its user says to its model by itself, in place of him.
 * @module
 */

import { jsonText } from "../../base/json.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import type { ModelReply } from "../../models/model.ts";
import type { AgentRequest } from "../../models/openai/agent_request.ts";

/** The messages of the user that an agent adds in its requests, each of which is a turn. */
export class OwnTurns {
  readonly #prompt: string;
  /** The texts and ids of the answers so far, after which a user may speak. */
  readonly #answers = new Set<string>();
  /** How often a request had a message at most. */
  readonly #found = new Map<string, number>();

  /** Knows no answer yet. */
  constructor(prompt: string) {
    this.#prompt = prompt.trim();
  }

  /** Takes a reply that makes no calls: what a user says next answers it. */
  answered({ text, written = text }: Pick<ModelReply, "text" | "written">, id: string): void {
    for (const one of [text.trim(), written.trim(), `\0${id}`]) this.#answers.add(one);
  }

  /**
   * Returns the messages that no request had before: of role `user`, after an answer of the model. The prompt, examples,
   * a message twice, and what follows results are none.
   */
  find({ messages, previous }: Pick<AgentRequest, "messages" | "previous">): string[] {
    const counts = new Map<string, number>();
    let isAnswered = previous !== undefined && this.#answers.has(`\0${previous}`);
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
      if (role !== "user" || ["", before, this.#prompt].includes(text)) return [];
      before = text;
      // What the server keeps is not sent again, so that the same text may be another message.
      const key = jsonText([previous ?? "", text]);
      const count = counts.set(key, (counts.get(key) ?? 0) + 1).get(key)!;
      if (!isAnswered || count <= (this.#found.get(key) ?? 0)) return [];
      this.#found.set(key, count);
      return [content.slice(0, MAX_KEPT_LENGTH)];
    });
  }
}
