/**
 * Training formats: how conversations with tools are written to train models on them (Pipeline, "Constructing
 * Tool Call Datasets").
 * @module
 */

import { canonicalJson, type JsonObject, parseJson } from "../../base/json.ts";
import { type Message, toOpenAIMessage } from "../../tools/message.ts";
import { type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { hermes as format } from "../../models/formats/hermes.ts";

/** A conversation for training: it ends with an answer, and each of its calls is followed by its result. */
export interface TrainingConversation {
  /** All messages. */
  readonly messages: readonly Message[];
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Whether one reply may contain several calls. */
  readonly parallel: boolean;
  /** The indexes of replies with a failed call, which are context but not training targets. Default: none. */
  readonly mistaken?: ReadonlySet<number>;
}

/** A format of training data. */
export interface TrainingFormat {
  /** Describes why a conversation cannot be written in it; `undefined` if it can. */
  refuse(conversation: TrainingConversation): string | undefined;
  /** Writes a conversation as the object of a line, with the same keys for each. */
  write(conversation: TrainingConversation): JsonObject;
}

/** The pattern of valid function names. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** The highest number of functions. */
const MAX_TOOLS = 128;

/**
 * OpenAI's format for chat models: each line has the messages and tools of a request, and the last message is
 * the assistant's. Contents are strings, as uploads require for results of tools. A reply with a failed call
 * has weight 0: it is context for later messages, not a training target.
 */
export const openaiChat: TrainingFormat = {
  refuse: ({ messages, tools }) => {
    if (tools.length > MAX_TOOLS) return `it offers more than ${MAX_TOOLS} functions`;
    const called = messages.flatMap((message) => message.role === "assistant" ? message.calls : []);
    return [...tools, ...called].every(({ name }) => NAME.test(name))
      ? undefined
      : "a function has a name that OpenAI does not accept";
  },
  write: ({ messages, tools, parallel, mistaken }) => ({
    messages: messages.map((message, place) => ({
      ...toOpenAIMessage(message),
      ...(mistaken?.has(place) ? { weight: 0 } : {}),
    })),
    tools: tools.map((tool) => ({ ...toOpenAITool(tool) }) as unknown as JsonObject),
    parallel_tool_calls: parallel,
  }),
};

/**
 * The Hermes format: the system message, with the functions in `<tools>`, from `system`; the question from
 * `human`; the model's texts, with its calls in `<tool_call>`, from `gpt`; the results of one reply in
 * `<tool_response>`, from `tool`. The texts are those that toolgate sends with the api `hermes`, so a model
 * trained on them will recognize them; tags within arguments are escaped, and a conversation in which the model
 * wrote such a tag elsewhere is refused: a training program would take the tag for a call.
 */
const hermesConversations: TrainingFormat = {
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
type ModelMessage = Extract<Message, { role: "assistant" }>;

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
function hasTag({ content, calls }: ModelMessage): boolean {
  return TAG.test(content) || calls.some(({ name }) => TAG.test(name) || TOKEN.test(name));
}

/** Whether parsing the text of a message gives its calls. */
function readsBack({ content, calls }: ModelMessage, names: readonly string[]): boolean {
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

const FORMATS = {
  "openai-chat": openaiChat,
  hermes: hermesConversations,
} as const satisfies Readonly<Record<string, TrainingFormat>>;

/** The id of a format. */
export type TrainingFormatId = keyof typeof FORMATS;

/** The ids of all formats. */
export const TRAINING_FORMATS = Object.keys(FORMATS) as TrainingFormatId[];

/**
 * Returns a format by its id.
 */
export function trainingFormat(id: TrainingFormatId): TrainingFormat {
  return FORMATS[id];
}
