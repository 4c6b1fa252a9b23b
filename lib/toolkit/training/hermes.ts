/**
 * The form of the published data that the Hermes models learned to call functions from: ShareGPT's
 * `conversations`, with calls and results as texts between tags.
 *
 * @see https://huggingface.co/datasets/NousResearch/hermes-function-calling-v1
 * @module
 */

import { hermes as format } from "../../models/formats/hermes.ts";
import { canonicalJson, type JsonObject, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { TrainingConversation, TrainingFormat } from "./format.ts";

/**
 * The Hermes form: whatever stands before the question, and the functions in `<tools>`, from `system`; the
 * question from `human`; what the model says, and its calls in `<tool_call>`, from `gpt`; the results of one
 * reply in `<tool_response>`, from `tool`. The texts are those by which toolgate asks a model with the api
 * `hermes`: who learns from them will know them again.
 *
 * @example Usage
 * ```ts
 * import { hermesConversations } from "./hermes.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { conversations } = hermesConversations.write({
 *   messages: [
 *     { role: "user", content: "Add 1." },
 *     { role: "assistant", content: "", calls: [{ id: "c1", name: "add", arguments: '{"a":1}' }] },
 *     { role: "tool", callId: "c1", name: "add", content: "1" },
 *     { role: "assistant", content: "It is 1.", calls: [] },
 *   ],
 *   tools: [{ name: "add", description: "Adds.", parameters: { type: "object" } }],
 *   parallel: true,
 * }) as { conversations: { from: string; value: string }[] };
 * assertEquals(conversations.map(({ from }) => from), ["system", "human", "gpt", "tool", "gpt"]);
 * assertEquals(
 *   conversations[2]?.value,
 *   '<tool_call>\n{"name": "add", "arguments": {"a":1}}\n</tool_call>',
 * );
 * ```
 */
export const hermesConversations: TrainingFormat = {
  id: "hermes",
  refuse: ({ messages, tools }) => {
    const names = tools.map(({ name }) => name);
    return messages.every((message) => message.role !== "assistant" || readsBack(message, names))
      ? undefined
      : "what the model said holds what looks like a call";
  },
  write: (conversation) => ({ conversations: writeTurns(conversation) }),
};

/** Whether the calls of a message are those that its text is read as. */
function readsBack(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  names: readonly string[],
): boolean {
  const written = calls.length === 0 ? content : format.writeCalls(content, calls);
  const read = format.read(written, names).calls;
  return read.length === calls.length &&
    calls.every(({ name, arguments: given }, place) =>
      read[place]!.name === name &&
      canonicalJson(parseJson(read[place]!.arguments)) === canonicalJson(parseJson(given))
    );
}

/** Who says what stands in the place of a message. */
const SPEAKERS = { system: "system", user: "human", assistant: "gpt", tool: "tool" } as const;

function writeTurns({ messages, tools }: TrainingConversation): JsonObject[] {
  const texts = format.present(messages, tools);
  // The results of one reply become one text.
  const speakers = messages.flatMap(({ role }, place) =>
    role === "tool" && messages[place - 1]?.role === "tool" ? [] : [SPEAKERS[role]]
  );
  const opening = texts.length > speakers.length ? [SPEAKERS.system] : [];
  return [...opening, ...speakers].map((from, place) => ({ from, value: texts[place]!.content }));
}
