/**
 * Responses: OpenAI's later wire format, in which a reply is a list of items. The model's reasoning is one of
 * them, and is sent back with the next request in the same place.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 * @module
 */

import type OpenAI from "openai";
import { z } from "zod";
import { isJsonObject, isWithin, type JsonObject } from "../../base/json.ts";
import { onceFor } from "../../base/once.ts";
import type { Carried, Message } from "../../tools/message.ts";
import { endingOf } from "../http/error_meaning.ts";
import { type ToolCall, type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { isOfChat } from "./_fields.ts";
import { contentText } from "./content.ts";
import {
  countedUsage,
  MAX_LEVELS,
  parseShape,
  readCalls,
  sendableCall,
  WIRE_ID,
  type WireCall,
  withoutRepeats,
} from "./reading.ts";
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
  write,
  read,
};

type ResponsesBody = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "input"> & {
  // Items of all types are sent back as they came.
  readonly input: readonly JsonObject[];
};

function write({ request, options, choice, who }: WireRequest): ResponsesBody {
  const { model, temperature, topP, maxCompletionTokens, parallelToolCalls } = options;
  const { messages, tools } = request;
  return {
    model,
    input: messages.flatMap((message) => writeMessage(message, [who, model])),
    ...(tools.length === 0 ? {} : {
      tools: tools.map(writeTool),
      parallel_tool_calls: parallelToolCalls,
      tool_choice: typeof choice === "object"
        ? { type: "function", name: choice.function }
        : choice,
    }),
    temperature,
    top_p: topP,
    max_output_tokens: maxCompletionTokens,
    ...writeReasoning(options),
  };
}

/** Requests the reasoning only with a reasoning effort: models that do not reason refuse the request. */
function writeReasoning({ reasoningEffort }: OpenAIOptions): Partial<ResponsesBody> {
  if (reasoningEffort === undefined) return {};
  const reasoning = { effort: reasoningEffort };
  if (reasoningEffort === "none") return { reasoning };
  return { reasoning, store: false, include: ["reasoning.encrypted_content"] };
}

/** Writes a tool. Responses treat a tool as strict by default, chat completions do not. */
const writeTool = onceFor((tool: ToolSchema): OpenAI.Responses.FunctionTool => {
  const { name, description, strict = false, parameters } = toOpenAITool(tool).function;
  return { type: "function", name, description, strict, parameters };
});

/** Writes a message; items carried by one of `whose` are sent back as they came. Recordings name only models. */
function writeMessage(message: Message, whose: readonly string[]): JsonObject[] {
  const { role, content } = message;
  if (role === "tool") {
    const { callId, media } = message;
    const images = media?.map(({ url }) => ({ type: "input_image", image_url: url }));
    const output = images ? [{ type: "input_text", text: content }, ...images] : content;
    return [{ type: "function_call_output", call_id: callId, output }];
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

function read(answer: unknown, answerer: ReplySource): WireReply {
  const { who, hide, unusable } = answerer;
  const reply = parseShape(REPLY, answer, answerer);
  const { status, model, usage } = reply;
  if (status === "failed") throw unusable("it is an error, of which no more is said");
  if (status === "queued" || status === "in_progress" || status === "cancelled") {
    throw unusable(`its status is ${status}`);
  }
  // They are sent back with the next request.
  if (!isWithin(reply.output, { levels: MAX_LEVELS })) throw unusable("its items nest too deep");
  const output = withoutRepeats(
    reply.output,
    ({ type, call_id, ...call }) =>
      type === "function_call" ? { ...call, id: call_id as WireCall["id"] } as WireCall : undefined,
  );
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
  const { finish = "other", unknown } = endingOf(reason);
  return {
    text: hide(itemsText(items)),
    ...found,
    finish: status === "completed" ? found.calls.length > 0 ? "calls" : "stop" : finish,
    ...(unknown === undefined ? {} : { unknownFinish: hide(unknown) }),
    usage: countedUsage(usage, ["input_tokens", "output_tokens"]),
    served: hide(model ?? ""),
    ...(items.length === 0 ? {} : { carried: { by: who, items } }),
  };
}

/** Returns the text of the messages among the items, or their refusals if there is no text. */
function itemsText(items: readonly JsonObject[]): string {
  const said = items.filter(({ type }) => type === "message");
  return contentText(said.flatMap(({ content }) => content ?? []));
}

/** Writes an assistant's text as items without a server's ids. */
function writeText(content: string): JsonObject[] {
  return content === "" ? [] : [{ role: "assistant", content }];
}

/** Writes a call as an item without a server's id. */
function writeCall(call: ToolCall): JsonObject {
  return { type: "function_call", call_id: call.id, ...sendableCall(call) };
}

/**
 * Returns the items of an earlier reply as they came, apart from later changes to the message: dropped calls
 * are omitted, and changed parts are written again. Servers refuse reasoning without the item that it led to,
 * so that is omitted, too.
 */
function carriedItems(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  { items }: Carried,
): JsonObject[] {
  const left = new Map(calls.map((call) => [call.id, call]));
  // A changed text goes before all other items, once.
  const said = content === itemsText(items);
  const back = said ? [] : writeText(content);
  let reasoned: JsonObject[] = [];
  let dropped = false;
  for (const item of items) {
    if (item["type"] === "reasoning") {
      if (dropped) reasoned = [];
      dropped = false;
      reasoned.push(item);
      continue;
    }
    const kept = carriedItem(item, left, said);
    dropped = kept === undefined;
    if (kept === undefined) continue;
    back.push(...reasoned, kept);
    reasoned = [];
  }
  return [...back, ...[...left.values()].map(writeCall)];
}

/** Returns the item to send back, if any, and removes its call from `left`. */
function carriedItem(
  item: JsonObject,
  left: Map<string, ToolCall>,
  said: boolean,
): JsonObject | undefined {
  if (item["type"] === "message") return said ? item : undefined;
  if (item["type"] !== "function_call") return item;
  const id = String(item["call_id"]);
  const call = left.get(id);
  if (call === undefined) return undefined;
  left.delete(id);
  const { name, arguments: written } = sendableCall(call);
  const asItCame = item["name"] === name && item["arguments"] === written;
  // An item's id refers to the server's version, which this no longer is.
  return asItCame ? item : writeCall(call);
}
