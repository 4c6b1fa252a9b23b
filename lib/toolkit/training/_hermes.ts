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
 * trained on them will recognize them; tags within arguments are escaped, and a conversation in which the model
 * wrote such a tag elsewhere is refused: a training program would take the tag for a call.
 */
export const hermesConversations: TrainingFormat = {
  id: "hermes",
  refuse: ({ messages, tools }) => {
    const names = tools.map(({ name }) => name);
    const said = messages.filter((message) => message.role === "assistant");
    if (said.some(hasTag) || !said.every((message) => readsBack(message, names))) {
      return "a text of the model contains what looks like a call";
    }
    return messages.some(({ content }) => TOKEN.test(content))
      ? "a text contains a token that separates the turns of a chat"
      : undefined;
  },
  write: (conversation) => ({ conversations: writeTurns(conversation) }),
};

/**
 * A tag around calls, results or functions. Our reader ignores one that is only mentioned or thought of; those
 * who train on a line take every tag for a call.
 */
const TAG = /<\/?(?:tool_call|tool_response|tools)\b/i;

/** A token of chat templates, such as `<|im_end|>`, which tokenizers read in any text. */
const TOKEN = /<\|\w{1,40}\|>/;

/** The beginning of an opening tag, or of a token; closing tags are escaped wherever they are written. */
const MARKUP = /<(?=(?:tool_call|tool_response|tools)\b|\|)/gi;

/** A message of the model. */
type Said = Extract<Message, { role: "assistant" }>;

/** The message with the tags within its arguments escaped as JSON allows, so that only calls have tags. */
function withPlainArguments(message: Message): Message {
  if (message.role !== "assistant") return message;
  const calls = message.calls.map((call) => ({
    ...call,
    // In JSON this character is only within strings.
    arguments: call.arguments.replaceAll(MARKUP, "\\u003c"),
  }));
  return { ...message, calls };
}

/** Whether the model wrote a tag where it makes no call, or as the name of a function. */
function hasTag({ content, calls }: Said): boolean {
  return TAG.test(content) || calls.some(({ name }) => TAG.test(name) || TOKEN.test(name));
}

/** Whether parsing the text of a message gives its calls. */
function readsBack({ content, calls }: Said, names: readonly string[]): boolean {
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
  const texts = format.present(messages.map(withPlainArguments), tools);
  // The results of one reply become one text.
  const speakers = messages.flatMap(({ role }, place) =>
    role === "tool" && messages[place - 1]?.role === "tool" ? [] : [SPEAKERS[role]]
  );
  const opening = texts.length > speakers.length ? [SPEAKERS.system] : [];
  return [...opening, ...speakers].map((from, place) => ({ from, value: texts[place]!.content }));
}
