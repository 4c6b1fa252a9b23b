/**
 * OpenAI's format for supervised fine-tuning of chat models: `messages`, `tools` and `parallel_tool_calls`.
 *
 * @see https://platform.openai.com/docs/api-reference/fine-tuning/chat-input
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import { toOpenAIMessage } from "../../tools/message.ts";
import { toOpenAITool } from "../../tools/tool.ts";
import type { TrainingFormat } from "./format.ts";

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
  id: "openai-chat",
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
