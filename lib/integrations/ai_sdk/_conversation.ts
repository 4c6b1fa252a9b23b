/**
 * Conversations with language models of the AI SDK: messages as they take them, and their replies.
 *
 * @see https://github.com/vercel/ai/tree/main/packages/provider/src/language-model
 * @module
 */

import { z } from "zod";
import {
  exactJson,
  hasBigint,
  isJsonObject,
  isObject,
  isWithin,
  type JsonObject,
  jsonText,
  LONG_DIGITS,
  nearestNumber,
  parseJson,
} from "../../base/json.ts";
import type { MediaPart } from "../../tools/media.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolCall } from "../../tools/tool.ts";
import { endingOf } from "../../models/http/error_meaning.ts";
import type { ModelRequest } from "../../models/model.ts";
import {
  assertEnded,
  MAX_LEVELS,
  parseShape,
  readCalls,
  readUsage,
  sendableCall,
  unreadableReply,
} from "../../models/openai/reading.ts";
import type { ReplySource, WireReply } from "../../models/openai/wire_format.ts";

type Assistant = Extract<Message, { role: "assistant" }>;

/** To whom messages are written. */
export interface Reader {
  /** The names under which items are carried that came from the same model; recordings name only models. */
  readonly whose: readonly string[];
  /** The version of its specification, such as `v4`. */
  readonly version: string;
}

/** Writes the messages of a request; consecutive results are one message, and their media follow as the user's. */
export function writePrompt({ messages, tools }: ModelRequest, reader: Reader): JsonObject[] {
  const prompt: JsonObject[] = [];
  let results: JsonObject[] = [];
  let media: JsonObject[] = [];
  for (const [place, message] of messages.entries()) {
    const { role, content } = message;
    if (message.role === "assistant") {
      const parts = writeReply(message, reader, (call) => sendableCall(call, tools));
      // Providers refuse a message without parts.
      if (parts.length > 0) prompt.push({ role, content: parts });
    } else if (message.role === "tool") {
      const { callId, name } = message;
      results.push({
        ...{ type: "tool-result", toolCallId: callId, output: { type: "text", value: content } },
        toolName: sendableCall({ name, arguments: "" }, tools).name,
      });
      const of = ` of the result of ${name}, call ${callId}`;
      media.push(...(message.media ?? []).flatMap((part) => writeMedia(part, reader, of)));
      if (messages[place + 1]?.role === "tool") continue;
      prompt.push({ role, content: results });
      if (media.length > 0) prompt.push({ role: "user", content: media });
      [results, media] = [[], []];
    } else if (role === "user") {
      const parts = (message.media ?? []).flatMap((part) => writeMedia(part, reader));
      prompt.push({ role, content: [{ type: "text", text: content }, ...parts] });
    } else prompt.push({ role, content });
  }
  return prompt;
}

/** Writes an image or audio behind a line that says which note it belongs to, and where that is. */
function writeMedia(
  { mimeType, note, url }: MediaPart,
  { version }: Reader,
  of = "",
): JsonObject[] {
  const data = url.slice(url.indexOf(",") + 1);
  return [
    { type: "text", text: `${note}${of}:` },
    { type: "file", mediaType: mimeType, data: version === "v3" ? data : { type: "data", data } },
  ];
}

/**
 * Writes a reply with what the same model wants back. That is left out where it led to calls of which none is left;
 * a text that has changed stands in the place of the first one.
 */
function writeReply(
  { content, calls, carried }: Assistant,
  { whose }: Reader,
  sendable: (call: ToolCall) => Omit<ToolCall, "id">,
): JsonObject[] {
  const isOwn = carried !== undefined && whose.includes(carried.by);
  const items = isOwn ? carried.items : [];
  const left = new Map(calls.map((call) => [call.id, call]));
  const made = items.filter(({ type }) => type === "function_call");
  const isLed = made.length === 0 || made.some(({ id }) => left.has(String(id)));
  const texts = items.filter(({ type }) => type === "message");
  const isSame = isLed && texts.map(({ text }) => text).join("") === content;
  const text = isSame || content === "" ? [] : [{ type: "text", text: content }];
  const writeCall = (call: ToolCall, item: JsonObject = {}): JsonObject => {
    const { name, arguments: written } = sendable(call);
    return {
      ...{ type: "tool-call", toolCallId: call.id, toolName: name, input: exactJson(written) },
      ...back(item),
    };
  };
  const parts = (isLed ? items : []).flatMap((item): JsonObject[] => {
    if (item["type"] === "reasoning") {
      return [{ type: "reasoning", text: item["text"] ?? "", ...back(item) }];
    }
    if (item["type"] === "message") {
      return isSame ? [{ type: "text", text: item["text"] ?? "", ...back(item) }] : text.splice(0);
    }
    const call = left.get(String(item["id"]));
    if (call === undefined) return [];
    left.delete(call.id);
    return [...text.splice(0), writeCall(call, item)];
  });
  return [...parts, ...text, ...[...left.values()].map((call) => writeCall(call))];
}

/** Returns what a part gives back of what came with it. */
function back({ providerMetadata }: JsonObject): JsonObject {
  return isJsonObject(providerMetadata) ? { providerOptions: providerMetadata } : {};
}

const PART = z.looseObject({ type: z.string() });
const TOKENS = z.union([z.number(), z.looseObject({ total: z.number().nullish() })]).nullish();
const RESULT = z.looseObject({
  content: z.array(PART, "Invalid input: expected parts"),
  finishReason: z.union([
    z.string(),
    z.looseObject({ unified: z.string(), raw: z.string().nullish() }),
  ]),
  usage: z.looseObject({ inputTokens: TOKENS, outputTokens: TOKENS }).nullish(),
  response: z.looseObject({ modelId: z.string().nullish(), body: z.unknown() }).nullish(),
});

/**
 * Reads the result of a request. Calls that the provider carries out itself are none of the task's.
 *
 * @throws {InfrastructureError} If it is unusable.
 */
export function readResult(result: unknown, source: ReplySource): WireReply {
  const { who, hide, unusable, tools } = source;
  const { content, finishReason, usage: tokens, response } = parseShape(RESULT, result, source);
  const { unified, raw } = typeof finishReason === "string"
    ? { unified: finishReason, raw: undefined }
    : finishReason;
  const isOwn = (part: z.infer<typeof PART>) =>
    part.type === "tool-call" && part["providerExecuted"] !== true;
  const own = content.filter(isOwn);
  const text = content.map((part) => part.type === "text" ? textOf(part) : "").join("");
  // What the SDK calls other is what it does not know.
  const ending = endingOf(unified === "other" ? undefined : unified, raw);
  const { finish = "other", unknown } = ending;
  const usage = readUsage(totalOf(tokens?.inputTokens), totalOf(tokens?.outputTokens));
  const { modelId, body } = response ?? {};
  // Gemini's package does not say which model answered, but its server does.
  const served = modelId ?? (isJsonObject(body) ? String(body["modelVersion"] ?? "") : "");
  // Some packages make one of an answer without any reply, too.
  const isNothing = content.length === 0 && unified === "other" && (raw ?? "") === "";
  if (isNothing) throw unusable("it is empty");
  const isUnreadable = own.length === 0 &&
    (ending.reply === "unreadable" || (finish === "calls" && tools.length > 0));
  if (isUnreadable) return unreadableReply(text, source, { text, usage, served });
  assertEnded(ending, source, raw ?? unified);
  const read = readCalls(
    own.map(({ toolCallId, toolName, input }) => ({
      id: typeof toolCallId === "string" ? toolCallId : null,
      name: typeof toolName === "string" ? toolName : null,
      arguments: typeof input === "string"
        ? unmarked(input)
        : isObject(input)
        ? exactJson(unmarked(jsonText(input)))
        : input,
    })),
    source,
  );
  const ids = new Map(own.map((part, index) => [part, read.calls[index]!.id]));
  const items = content.flatMap((part): object[] => {
    const { providerMetadata } = part;
    if (isOwn(part)) return [{ type: "function_call", id: ids.get(part), providerMetadata }];
    if (part.type !== "text" && part.type !== "reasoning") return [];
    const type = part.type === "text" ? "message" : part.type;
    // A signature is of the reasoning as it is.
    return [{
      type,
      text: type === "message" ? hide(textOf(part)) : textOf(part),
      providerMetadata,
    }];
  });
  // As recordings keep them: some providers set fields to nothing.
  const carried: JsonObject[] = JSON.parse(unmarked(JSON.stringify(items)));
  if (!isWithin(carried, { levels: MAX_LEVELS })) throw unusable("its fields nest too deep");
  const isPlain = carried.every((item) =>
    item["type"] !== "reasoning" && item["providerMetadata"] === undefined
  );
  return {
    ...{ text: hide(text), ...read, finish, usage, served: hide(served) },
    ...(unknown === undefined ? {} : { unknownFinish: hide(unknown) }),
    ...(isPlain ? {} : { carried: { by: who, items: carried } }),
  };
}

/** Marks integers on their way through a package, which would round them; no model can write it. */
const MARK = `${crypto.randomUUID()}:`;

/** Returns the body of an answer with texts in place of the integers in calls that a number would round. */
export function withMarks(body: string): string {
  const value = LONG_DIGITS.test(body) ? parseJson(body) : undefined;
  return hasBigint(value) ? JSON.stringify(marked(value)) : body;
}

function marked(value: unknown, isInput = false): unknown {
  // Packages want numbers elsewhere, such as times in nanoseconds.
  if (typeof value === "bigint") return isInput ? MARK + value : nearestNumber(value);
  if (Array.isArray(value)) return value.map((inner) => marked(inner, isInput));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map((
      [key, inner],
    ) => [key, marked(inner, isInput || INPUTS.includes(key))]),
  );
}

/** Where providers give the arguments of a call as an object. */
const INPUTS = ["input", "args", "arguments"];

function unmarked(text: string): string {
  return text.replace(MARKED, "$1");
}

const MARKED = new RegExp(`"?${MARK}(-?\\d+)"?`, "g");

function textOf({ text }: Readonly<Record<string, unknown>>): string {
  return typeof text === "string" ? text : "";
}

/** Returns a count of tokens: a number up to version 2, and later an object with the total. */
function totalOf(tokens: z.infer<typeof TOKENS>): unknown {
  return typeof tokens === "object" ? tokens?.total : tokens;
}
