/**
 * Responses: OpenAI's later wire format, in which a reply is a list of items. The model's reasoning is one of
 * them, and is sent back with the next request in the same place.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 * @module
 */

import type OpenAI from "openai";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { FinishReason } from "../model.ts";
import { isWithin } from "../../base/json_depth.ts";
import { type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { carriedItems, itemsText, writeCall, writeText } from "./_items.ts";
import { isOfChat } from "./_fields.ts";
import { MAX_LEVELS, parseShape, readCalls, readUsage, WIRE_ID, type WireCall } from "./reading.ts";
import type {
  OpenAIOptions,
  ReplySource,
  WireFormat,
  WireReply,
  WireRequest,
} from "./wire_format.ts";

/** OpenAI's responses. */
export const RESPONSES: WireFormat = {
  path: "/responses",
  replyName: "a response",
  unknown: ["seed"],
  write,
  read,
};

type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "input"> & {
  // Items of all types are sent back as they came.
  readonly input: readonly JsonObject[];
};

function write({ request, options, choice, who }: WireRequest): Body {
  const { model, temperature, topP, maxCompletionTokens, parallelToolCalls } = options;
  const { messages, tools } = request;
  return {
    model,
    input: messages.flatMap((message) => writeMessage(message, [who, model])),
    ...(tools.length === 0 ? {} : { tools: tools.map(writeTool) }),
    ...(tools.length === 0 || parallelToolCalls === undefined
      ? {}
      : { parallel_tool_calls: parallelToolCalls }),
    ...(tools.length === 0 || choice === undefined ? {} : {
      tool_choice: typeof choice === "string"
        ? choice
        : { type: "function", name: choice.function },
    }),
    temperature,
    top_p: topP,
    max_output_tokens: maxCompletionTokens,
    ...writeReasoning(options),
  };
}

/** Requests the reasoning only with a reasoning effort: models that do not reason refuse the request. */
function writeReasoning({ reasoningEffort }: OpenAIOptions): Partial<Body> {
  if (reasoningEffort === undefined) return {};
  const reasoning = { effort: reasoningEffort };
  if (reasoningEffort === "none") return { reasoning };
  return { reasoning, store: false, include: ["reasoning.encrypted_content"] };
}

/** Writes a tool. Responses treat a tool as strict by default, chat completions do not. */
function writeTool(tool: ToolSchema): OpenAI.Responses.FunctionTool {
  const { name, description, strict = false, parameters } = toOpenAITool(tool).function;
  return { type: "function", name, description, strict, parameters };
}

/** Writes a message; items carried by one of `whose` are sent back as they came. Recordings name only models. */
function writeMessage(message: Message, whose: readonly string[]): JsonObject[] {
  const { role, content } = message;
  if (role === "tool") {
    return [{ type: "function_call_output", call_id: message.callId, output: content }];
  }
  if (role !== "assistant") return [{ role, content }];
  const { calls, carried } = message;
  const isOwn = carried !== undefined && whose.includes(carried.by) && !isOfChat(carried);
  if (isOwn) return carriedItems(message, carried);
  return [...writeText(content), ...calls.map(writeCall)];
}

const REPLY = z.looseObject({
  model: z.string().nullish(),
  status: z.string().nullish(),
  incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
  // Items are sent back as they came; object schemas would make copies.
  output: z.array(z.custom<JsonObject>(isJsonObject, "Invalid input: expected object")),
});

const MESSAGE = z.looseObject({
  content: z.union([
    z.string(),
    z.array(z.looseObject({
      type: z.string(),
      text: z.string().nullish(),
      refusal: z.string().nullish(),
    })),
  ], "Invalid input: expected string or array of texts").nullish(),
});

const CALL = z.looseObject({
  call_id: WIRE_ID,
  name: z.string().nullish(),
  arguments: z.unknown().optional(),
});

/** Why a reply is not complete. */
const INCOMPLETE: ReadonlyMap<string, FinishReason> = new Map([
  ["max_output_tokens", "length"],
  ["content_filter", "filter"],
]);

function read(answer: unknown, answerer: ReplySource): WireReply {
  const { who, hide, unusable } = answerer;
  const reply = parseShape(REPLY, answer, answerer);
  const { status, model, output } = reply;
  const { error, usage } = reply;
  if ((error !== undefined && error !== null) || status === "failed") {
    throw unusable(`it is an error: ${JSON.stringify(error ?? "no more is said")}`);
  }
  if (status === "queued" || status === "in_progress" || status === "cancelled") {
    throw unusable(`its status is ${status}`);
  }
  // They are sent back with the next request.
  if (!isWithin(output, { levels: MAX_LEVELS })) throw unusable("its items nest too deep");
  const wireCalls = output.flatMap((item, place): WireCall[] => {
    if (item["type"] === "message") parseShape(MESSAGE, item, answerer, ["output", place]);
    if (item["type"] !== "function_call") return [];
    const { call_id: id, ...call } = parseShape(CALL, item, answerer, ["output", place]);
    // The `id` of an item is another one.
    return [{ ...call, id }];
  });
  const found = readCalls(wireCalls, answerer);
  const ids = found.calls.map(({ id }) => id).values();
  const items = output.map((item) =>
    item["type"] === "function_call" ? { ...item, call_id: ids.next().value! } : item
  );
  const reason = reply.incomplete_details?.reason ?? "";
  return {
    text: hide(itemsText(items)),
    ...found,
    finish: status === "completed"
      ? found.calls.length > 0 ? "calls" : "stop"
      : INCOMPLETE.get(reason) ?? "other",
    usage: isJsonObject(usage)
      ? readUsage(usage["input_tokens"], usage["output_tokens"])
      : undefined,
    served: hide(model ?? ""),
    ...(items.length === 0 ? {} : { carried: { by: who, items } }),
  };
}
