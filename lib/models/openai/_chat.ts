/**
 * Chat completions: the wire format that most servers support.
 *
 * @see https://platform.openai.com/docs/api-reference/chat
 * @module
 */

import {
  defined,
  isJsonObject,
  isWithin,
  type JsonObject,
  type JsonValue,
} from "../../base/json.ts";
import type OpenAI from "openai";
import { z } from "zod";
import type { Message } from "../../tools/message.ts";
import type { MediaPart } from "../../tools/media.ts";
import { endingOf } from "../http/error_meaning.ts";
import { type ToolSchema, toOpenAITool } from "../../tools/tool.ts";
import { onceFor } from "../../base/once.ts";
import { contentText } from "./content.ts";
import { fieldsBack, isOfChat, itemOf, NULL_CONTENT } from "./_fields.ts";
import {
  assertEnded,
  countedUsage,
  MAX_LEVELS,
  parseShape,
  readCalls,
  sendableCall,
  unreadableReply,
  WIRE_ID,
  type WireCall,
  withoutRepeats,
} from "./reading.ts";
import type { ReplySource, WireFormat, WireReply, WireRequest } from "./wire_format.ts";

/** OpenAI's chat completions. */
export const CHAT: WireFormat = {
  path: "/chat/completions",
  replyName: "a chat completion",
  write,
  read,
};

type ChatBody = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, "messages"> & {
  // Servers have fields of their own.
  readonly messages: readonly JsonObject[];
};

function write({ request, options, choice, who, withheld }: WireRequest): ChatBody {
  const { model, temperature, topP, maxCompletionTokens, reasoningEffort, seed } = options;
  const { parallelToolCalls } = options;
  const { messages, tools } = request;
  return {
    model,
    messages: writeMessages(
      messages,
      (message) => writeMessage(message, [who, model], withheld, tools),
    ),
    // OpenAI refuses the others when there are no tools.
    ...(tools.length === 0 ? {} : {
      tools: tools.map(writeTool),
      parallel_tool_calls: parallelToolCalls,
      tool_choice: typeof choice === "object"
        ? { type: "function", function: { name: choice.function } }
        : choice,
    }),
    temperature,
    top_p: topP,
    max_completion_tokens: maxCompletionTokens,
    reasoning_effort: reasoningEffort,
    seed: seed === undefined ? undefined : request.seed ?? seed,
    ...(request.stop === undefined ? {} : { stop: [...request.stop] }),
  };
}

/** Tools as they are sent: each request of a conversation has the same ones. */
const writeTool = onceFor(toOpenAITool);

/** Writes messages. Servers take only text in results, so that images and audio follow in a message of the user. */
function writeMessages(
  messages: readonly Message[],
  written: (message: Message) => JsonObject,
): JsonObject[] {
  let parts: JsonObject[] = [];
  return messages.flatMap((message, place) => {
    if (message.role !== "tool") return [written(message)];
    const { name, callId, media = [] } = message;
    const of = ` of the result of ${name}, call ${callId}`;
    parts.push(...media.flatMap((part) => writeMedia(part, of)));
    if (parts.length === 0 || messages[place + 1]?.role === "tool") return [written(message)];
    const user = { role: "user", content: parts };
    parts = [];
    return [written(message), user];
  });
}

/** Writes an image or audio behind a line that says which note it belongs to, and where that is. */
function writeMedia({ mimeType, note, url }: MediaPart, of = ""): JsonObject[] {
  const line = { type: "text", text: `${note}${of}:` };
  if (mimeType.startsWith("image")) return [line, { type: "image_url", image_url: { url } }];
  const format = mimeType.endsWith("wav") ? "wav" : "mp3";
  return [line, { type: "input_audio", input_audio: { data: url.split(",")[1]!, format } }];
}

/** Writes a message; fields carried by one of `whose` go back. Recordings name only models. */
function writeMessage(
  message: Message,
  whose: readonly string[],
  withheld: ReadonlySet<string>,
  tools: readonly ToolSchema[],
): JsonObject {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  }
  if (message.role !== "assistant") {
    const { role, content, media = [] } = message;
    const parts = media.flatMap((part) => writeMedia(part));
    if (parts.length === 0) return { role, content };
    return { role, content: [{ type: "text", text: content }, ...parts] };
  }
  const { role, content, calls, carried } = message;
  const isOwn = carried !== undefined && whose.includes(carried.by) && isOfChat(carried);
  const back = isOwn ? fieldsBack(message, carried, withheld) : undefined;
  const said = back?.parts === undefined ? content : [...back.parts];
  if (calls.length === 0) return { role, content: said, ...back?.fields };
  return {
    role,
    content: said.length > 0 ? said : withheld.has(NULL_CONTENT) ? "" : null,
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: "function",
      function: { ...sendableCall(call, tools) },
      ...back?.calls.get(call.id),
    })),
    ...back?.fields,
  };
}

const MESSAGE = z.custom<JsonObject>(isJsonObject, "Invalid input: expected object");

const REPLY = z.looseObject({
  model: z.string().nullish(),
  // Messages are sent back in part; object schemas would make copies.
  choices: z.array(
    z.looseObject({ finish_reason: z.unknown().optional(), message: MESSAGE.nullish() }),
  )
    .min(1, "Invalid input: expected at least one"),
});

const SAID = z.looseObject({
  content: z.union(
    [z.string(), z.array(z.unknown())],
    "Invalid input: expected string or array of parts",
  ).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(z.looseObject({
    id: WIRE_ID,
    function: z.looseObject({ name: z.string().nullish(), arguments: z.unknown().optional() }),
  })).nullish(),
});

function read(answer: unknown, answerer: ReplySource): WireReply {
  const { who, hide, unusable, tools } = answerer;
  const reply = parseShape(REPLY, answer, answerer);
  const { choices: [choice], model } = reply;
  if (choice === undefined) throw unusable("it has no choices");
  // OpenRouter gives its own reason, and that of the model's server.
  const ending = endingOf(choice.finish_reason, choice["native_finish_reason"]);
  const { finish = "other", unknown } = ending;
  const isUnreadable = ending.reply === "unreadable";
  assertEnded(ending, answerer, choice.finish_reason);
  // Gateways send none where a filter left nothing, or a call could not be read.
  const message = choice.message ?? (ending.reply || finish === "length" ? {} : undefined);
  if (message === undefined) {
    throw unusable("at choices[0].message: Invalid input: expected object");
  }
  const given = { ...message, ...defined({ tool_calls: asFunctions(message["tool_calls"]) }) };
  const said = parseShape(SAID, given, answerer, ["choices", 0, "message"]);
  const text = contentText(said.content) || said.refusal || "";
  const sentCalls = (said.tool_calls ?? []).map((call): WireCall => ({
    ...call.function,
    id: call.id,
    isCustom: isJsonObject(call["custom"]),
    fields: call as JsonObject,
  }));
  const wireCalls = withoutRepeats(sentCalls, (call) => call);
  const allCalls = wireCalls.length === 0 ? legacyCall(message["function_call"]) : wireCalls;
  const usage = countedUsage(reply["usage"], ["prompt_tokens", "completion_tokens"]);
  const served = model ?? "";
  // What is announced to a model without functions is text, such as a call in a text format.
  const isAnnounced = finish === "calls" && (tools.length > 0 || text === "");
  const found = allCalls.length === 0 && (isAnnounced || isUnreadable)
    ? unreadableReply(generatedIn(choice) ?? text, answerer, { text, usage, served })
    : {
      text: hide(text),
      ...readCalls(allCalls, answerer),
      finish: finish === "calls" && allCalls.length === 0 ? "other" as const : finish,
      ...(unknown === undefined ? {} : { unknownFinish: hide(unknown) }),
      usage,
      served: hide(served),
    };
  const item = itemOf(message, allCalls, found.calls);
  if (item === undefined) return found;
  // It is sent back with the next request.
  if (!isWithin(item, { levels: MAX_LEVELS })) throw unusable("its fields nest too deep");
  return { ...found, carried: { by: who, items: [item] } };
}

/** Returns calls with custom ones, which have a text for their input, in the form of the others. */
function asFunctions(calls: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(calls)) return calls;
  return calls.map((call) => {
    const { custom } = isJsonObject(call) ? call : {} as JsonObject;
    if (!isJsonObject(call) || !isJsonObject(custom) || isJsonObject(call["function"])) return call;
    return { ...call, function: { name: custom["name"]!, arguments: custom["input"] ?? "" } };
  });
}

/** Reads the one call of OpenAI's first API for calls, which has no id; some servers send an empty one with each reply. */
function legacyCall(call: unknown): WireCall[] {
  if (!isJsonObject(call)) return [];
  const { name, arguments: given } = call;
  const isEmpty = !name && (!given || (isJsonObject(given) && Object.keys(given).length === 0));
  const called = typeof name === "string" ? name : "";
  return isEmpty ? [] : [{ id: null, isLegacy: true, name: called, arguments: given }];
}

/** Returns what the model wrote in place of a call, if the server says so. */
function generatedIn(choice: JsonObject | Readonly<Record<string, unknown>>): string | undefined {
  const said = choice["finish_message"] ?? choice["finishMessage"];
  return typeof said === "string" && said !== "" ? said : undefined;
}
