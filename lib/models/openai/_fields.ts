/**
 * Message fields: what servers add to the messages of chat completions and expect back with the next request.
 *
 * | field | whose |
 * | --- | --- |
 * | `reasoning_content` | DeepSeek, Kimi, GLM, Qwen: without it they refuse a message with calls |
 * | `reasoning`, `reasoning_details` | OpenRouter; Groq, Cerebras and vLLM have only the first |
 * | `extra_content` of message or call | Gemini: the thought signature, without which it refuses a call |
 * | `thinking_blocks`, `thought_signature`, `provider_specific_fields` of a call | gateways such as LiteLLM |
 * | parts of `content` that are no text | Mistral: its thinking |
 *
 * A field goes back under the name it came under: servers refuse those of others.
 *
 * @see https://api-docs.deepseek.com/guides/thinking_mode
 * @see https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 * @see https://docs.mistral.ai/capabilities/reasoning/
 * @module
 */

import { isJsonObject, isObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { contentText, textPart } from "./content.ts";
import type { Carried, Message } from "../../tools/message.ts";
import type { ToolCall } from "../../tools/tool.ts";
import type { WireCall } from "./reading.ts";

/** Type of the one item that a chat completion carries; no item of a response has it. */
const TYPE = "chat.message";

const MESSAGE_FIELDS = [
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking_blocks",
  "extra_content",
  "thought_signature",
];

const CALL_FIELDS = ["extra_content", "thought_signature", "provider_specific_fields"];

/** Returns the fields of these that an object has; empty lists and objects say nothing. */
function fieldsOf(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name): [string, JsonValue][] => {
      const value = from[name];
      const isThere = typeof value === "string" ||
        (isObject(value) && Object.keys(value).length > 0);
      return isThere ? [[name, value]] : [];
    }),
  );
}

/**
 * Returns the item with what a message is to be sent back with; `undefined` if there is nothing.
 *
 * @param wireCalls Its calls as they came.
 * @param calls The same calls as they were read: some may have got other ids.
 */
export function itemOf(
  message: JsonObject,
  wireCalls: readonly WireCall[],
  calls: readonly ToolCall[],
): JsonObject | undefined {
  const fields = fieldsOf(message, MESSAGE_FIELDS);
  const { content } = message;
  if (Array.isArray(content) && content.some((part) => textPart(part) === undefined)) {
    fields["content"] = content;
  }
  const callFields = calls.map(({ id }, index) => ({
    id,
    ...fieldsOf(wireCalls[index]?.fields ?? {}, CALL_FIELDS),
  }));
  const isEmpty = Object.keys(fields).length === 0 &&
    callFields.every((call) => Object.keys(call).length === 1);
  if (isEmpty) return undefined;
  const ids = new Map(wireCalls.map(({ id }, index) => [id, calls[index]!.id]));
  const details = fields["reasoning_details"];
  if (Array.isArray(details)) {
    // Some of them belong to a call, by its id.
    fields["reasoning_details"] = details.map((detail) =>
      isJsonObject(detail) && typeof detail["id"] === "string"
        ? { ...detail, id: ids.get(detail["id"]) ?? detail["id"] }
        : detail
    );
  }
  return { type: TYPE, ...fields, ...(calls.length === 0 ? {} : { tool_calls: callFields }) };
}

/** Whether items were carried by a chat completion. */
export function isOfChat({ items }: Carried): boolean {
  return items[0]?.["type"] === TYPE;
}

/** What goes back with a message. */
export interface FieldsBack {
  /** Fields of the message. */
  readonly fields: JsonObject;
  /** Its content, if it is more than a text. */
  readonly parts: readonly JsonValue[] | undefined;
  /** Fields of its calls, by id. */
  readonly calls: ReadonlyMap<string, JsonObject>;
}

/**
 * Returns what goes back with a message, which may have changed since it came: nothing of dropped calls goes
 * back, nor what led to calls of which none is left. A changed call keeps its fields, as servers refuse it
 * without them.
 *
 * @param withheld Fields that the server has refused.
 */
export function fieldsBack(
  { content, calls }: Extract<Message, { role: "assistant" }>,
  { items: [item = {}] }: Carried,
  withheld: ReadonlySet<string>,
): FieldsBack {
  const sendable = (names: readonly string[]) => names.filter((name) => !withheld.has(name));
  const left = new Set(calls.map(({ id }) => id));
  const all = Array.isArray(item["tool_calls"]) ? item["tool_calls"].filter(isJsonObject) : [];
  const isLed = all.length === 0 || all.some(({ id }) => left.has(String(id)));
  const gone = new Set(all.map(({ id }) => String(id)).filter((id) => !left.has(id)));
  const { reasoning_details: details, ...fields } = isLed
    ? fieldsOf(item, sendable(MESSAGE_FIELDS))
    : {};
  if (Array.isArray(details)) {
    fields["reasoning_details"] = details.filter((detail) =>
      !isJsonObject(detail) || !gone.has(String(detail["id"]))
    );
  }
  return {
    fields,
    parts: isLed ? partsBack(item["content"], content) : undefined,
    calls: new Map(all.map((call) => [String(call["id"]), fieldsOf(call, sendable(CALL_FIELDS))])),
  };
}

/** Returns the parts of a content; if its text has changed since, with the new one. */
function partsBack(
  parts: JsonValue | undefined,
  text: string,
): readonly JsonValue[] | undefined {
  if (!Array.isArray(parts)) return undefined;
  if (contentText(parts) === text) return parts;
  const others = parts.filter((part) => textPart(part) === undefined);
  return text === "" ? others : [...others, { type: "text", text }];
}

/** How servers say that they do not take a field; that one is missing they say in other words. */
const REFUSAL =
  /unsupported|not (?:supported|permitted|allowed|expected)|extra[ _](?:inputs|forbidden|fields)|unknown|unrecogni[sz]ed|unexpected|cannot find field|remove/i;

/** The refusal of `null` for the content of a message with calls; "" is sent in its place. */
export const NULL_CONTENT = "a content of null";

/** The refusal of replies that are not streamed. */
export const WHOLE_REPLY = "a whole reply";

/** The field that asks a stream for its usage. */
export const STREAM_OPTIONS = "stream_options";

/** How servers say that they take no `null`, above all for a content. */
const NO_NULL =
  /\bcontent\b.{0,80}\b(?:str|string|array|list|null|nil|none|required|missing|empty|blank)\b|\b(?:string|missing|required|null|nil|none)(?:_\w+)?\b.{0,80}\bcontent\b|\b(?:null|nil|none(?:type)?)\b.{0,40}\b(?:not|invalid|expected|no)\b|\bnot\b.{0,20}\b(?:null|nil|none(?:type)?)\b/i;

/** How servers say that they answer in streams alone. */
const STREAM_ONLY =
  /\bonly\b.{0,30}\bstream(?:ing)?\b|\bnon[- _]?stream(?:ing)?\b|\bstream(?:ing)?\b.{0,30}(?:\b(?:must|required|only|enabled?)\b|[= ]true\b)|\b(?:requires?|enable|use|set)\b.{0,25}\bstream(?:ing)?\b/i;

/** Returns what of a request its server refuses by this message, if it can be sent without. */
export function refusedPart(message: string, body: JsonObject): string | undefined {
  const { messages = [], stream, stream_options: options } = body;
  if (stream !== true && STREAM_ONLY.test(message)) return WHOLE_REPLY;
  const all = Array.isArray(messages) ? messages.filter(isJsonObject) : [];
  if (all.some(({ content }) => content === null) && NO_NULL.test(message)) return NULL_CONTENT;
  if (!REFUSAL.test(message)) return undefined;
  if (options !== undefined && message.includes(STREAM_OPTIONS)) return STREAM_OPTIONS;
  const sent = all.flatMap((one) => [one, ...[one["tool_calls"] ?? []].flat()]);
  return [...MESSAGE_FIELDS, ...CALL_FIELDS].find((name) =>
    new RegExp(`\\b${name}\\b`).test(message) &&
    sent.some((one) => isJsonObject(one) && Object.hasOwn(one, name))
  );
}
