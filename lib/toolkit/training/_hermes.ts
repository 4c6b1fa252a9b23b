/**
 * The format of the published data that taught the Hermes models to call functions: ShareGPT's
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
 * The Hermes format: the system message, with the functions in `<tools>`, from `system`; the question from
 * `human`; the model's texts, with its calls in `<tool_call>`, from `gpt`; the results of one reply in
 * `<tool_response>`, from `tool`. The texts are those that toolgate sends with the api `hermes`, so a model
 * trained on them will recognize them.
 */
export const hermesConversations: TrainingFormat = {
  id: "hermes",
  refuse: ({ messages, tools }) => {
    const names = tools.map(({ name }) => name);
    return messages.every((message) => message.role !== "assistant" || readsBack(message, names))
      ? undefined
      : "a text of the model contains what looks like a call";
  },
  write: (conversation) => ({ conversations: writeTurns(conversation) }),
};

/** Whether parsing the text of a message gives its calls. */
function readsBack(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  names: readonly string[],
): boolean {
  const text = calls.length === 0 ? content : format.writeCalls(content, calls);
  const readCalls = format.read(text, names).calls;
  return readCalls.length === calls.length &&
    calls.every(({ name, arguments: given }, place) =>
      readCalls[place]!.name === name &&
      canonicalJson(parseJson(readCalls[place]!.arguments)) === canonicalJson(parseJson(given))
    );
}

/** The speaker of a message, by its role. */
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
