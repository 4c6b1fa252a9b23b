/**
 * Chat completions: the wire format that most servers support.
 *
 * @see https://platform.openai.com/docs/api-reference/chat
 * @module
 */

import { defined } from "../../base/json.ts";
import type OpenAI from "openai";
import { z } from "zod";
import type { Message } from "../../tools/message.ts";
import type { FinishReason, ModelReply } from "../model.ts";
import { type OpenAITool, type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { parseShape, readCalls, WIRE_ARGUMENTS, WIRE_TOKENS } from "./reading.ts";
import type { ReplySource, WireFormat, WireRequest } from "./wire_format.ts";

/** OpenAI's chat completions. */
export const CHAT: WireFormat = {
  path: "/chat/completions",
  replyName: "a chat completion",
  unknown: [],
  write,
  read,
};

function write(
  { request, options, choice }: WireRequest,
): OpenAI.ChatCompletionCreateParamsNonStreaming {
  const { model, temperature, topP, maxCompletionTokens, reasoningEffort, seed } = options;
  const { parallelToolCalls } = options;
  const { messages, tools } = request;
  return {
    model,
    messages: messages.map(writeMessage),
    ...(tools.length === 0 ? {} : { tools: writeTools(tools) }),
    // OpenAI refuses the field when there are no tools.
    ...(tools.length === 0 || parallelToolCalls === undefined
      ? {}
      : { parallel_tool_calls: parallelToolCalls }),
    ...(tools.length === 0 || choice === undefined ? {} : {
      tool_choice: typeof choice === "string"
        ? choice
        : { type: "function", function: { name: choice.function } },
    }),
    ...defined({
      temperature,
      top_p: topP,
      max_completion_tokens: maxCompletionTokens,
      reasoning_effort: reasoningEffort,
      seed,
    }),
  };
}

/** Cache: an agent loop sends the same tools with each request. */
const writtenTools = new WeakMap<readonly ToolSchema[], OpenAITool[]>();

function writeTools(tools: readonly ToolSchema[]): OpenAITool[] {
  return writtenTools.getOrInsertComputed(tools, () => tools.map(toOpenAITool));
}

function writeMessage(message: Message): OpenAI.ChatCompletionMessageParam {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  }
  if (message.role !== "assistant") return { role: message.role, content: message.content };
  const { role, content, calls } = message;
  if (calls.length === 0) return { role, content };
  return {
    role,
    content: content === "" ? null : content,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

const FINISH: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["tool_calls", "calls"],
  ["function_call", "calls"],
  ["length", "length"],
  ["content_filter", "filter"],
]);

const REPLY = z.looseObject({
  model: z.string().nullish(),
  choices: z.array(z.looseObject({
    finish_reason: z.string().nullish(),
    message: z.looseObject({
      content: z.string().nullish(),
      refusal: z.string().nullish(),
      tool_calls: z.array(z.looseObject({
        id: z.string().nullish(),
        type: z.string().nullish(),
        function: z.looseObject({ name: z.string(), arguments: WIRE_ARGUMENTS }),
      })).nullish(),
    }),
  })).min(1, "Invalid input: expected at least one"),
  usage: z.looseObject({
    prompt_tokens: WIRE_TOKENS,
    completion_tokens: WIRE_TOKENS,
  }).nullish(),
});

function read(answer: unknown, answerer: ReplySource): Omit<ModelReply, "duration"> {
  const { hide, unusable } = answerer;
  const reply = parseShape(REPLY, answer, answerer);
  const { choices: [choice], model, usage } = reply;
  if (choice === undefined) throw unusable("it has no choices");
  const error = reply["error"] ?? choice["error"];
  if ((error !== undefined && error !== null) || choice.finish_reason === "error") {
    throw unusable(`it is an error: ${JSON.stringify(error ?? "no more is said")}`);
  }
  const { content, refusal, tool_calls } = choice.message;
  const wireCalls = tool_calls ?? [];
  const finish = FINISH.get(choice.finish_reason ?? "") ?? "other";
  if (finish === "calls" && wireCalls.length === 0) {
    throw unusable("it announces calls, and has none");
  }
  return {
    text: hide(content || refusal || ""),
    ...readCalls(wireCalls.map(({ id, function: called }) => ({ ...called, id })), answerer),
    finish,
    usage: {
      inputTokens: usage?.prompt_tokens ?? 0,
      outputTokens: usage?.completion_tokens ?? 0,
    },
    served: hide(model ?? ""),
  };
}
