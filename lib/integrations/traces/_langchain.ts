/**
 * Traces of LangChain: lists of its messages, live or serialized in one of its two ways.
 * @module
 */

import { isJsonObject } from "../../base/json.ts";
import { readUsage } from "../../models/openai/reading.ts";
import { messagesIn, saidIn } from "./_content.ts";
import { type Conversation, finishOf, type Item, type Reply } from "./_conversation.ts";
import { calledIn } from "./_openai.ts";
import { type Part, textOf } from "./_part.ts";

/** The classes of messages by the names of their types. */
const TYPES: Readonly<Record<string, "system" | "user" | "reply" | "result">> = {
  system: "system",
  developer: "system",
  human: "user",
  user: "user",
  ai: "reply",
  assistant: "reply",
  tool: "result",
  function: "result",
};

/** Names of the reason why a model stopped, as providers have it. */
const REASONS = [
  ...["finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason", "status"],
] as const;

/** Whether a value is a message of LangChain in one of its forms. */
export function isLangChain(part: Part): boolean {
  return typeOf(part) !== undefined;
}

/** The type of a message and its fields; `undefined` if it is none. */
function typeOf(part: Part): { readonly type: string; readonly fields: Part } | undefined {
  const { value } = part;
  if (!isJsonObject(value)) return undefined;
  const live = [value["getType"], value["_getType"]].find((one): one is never =>
    typeof one === "function"
  ) as (() => unknown) | undefined;
  if (live !== undefined) return { type: String(live.call(value)), fields: part };
  const kwargs = part.get("kwargs");
  if (part.get("lc") !== undefined && kwargs !== undefined) {
    const name = textOf(part.need("id").items().at(-1)?.value ?? "");
    const type = /^(\w+?)Message(?:Chunk)?$/.exec(name)?.[1]?.toLowerCase() ?? name;
    return { type, fields: kwargs };
  }
  const [type, data] = [part.textAt("type"), part.get("data")];
  if (type !== undefined && data !== undefined) return { type, fields: data };
  // As Python writes a message by `model_dump()`.
  if (
    type !== undefined && Object.hasOwn(TYPES, type) && part.has("content") && !part.has("role")
  ) {
    return { type, fields: part };
  }
}

/** Reads a list of messages, or a state with one as its `messages`. */
export function readLangChain(part: Part): Conversation {
  const read = messagesIn(part, message);
  const served = read.items.find((item) => item.kind === "reply")?.served;
  return { ...read, model: read.model ?? served };
}

function message(at: Part): Item[] {
  const { type, fields } = typeOf(at) ?? at.fail("must be a message of LangChain");
  const kind = Object.hasOwn(TYPES, type) ? TYPES[type]! : undefined;
  const calls = kind === "reply" ? callsIn(fields) : [];
  const { text, lost, ownCalls } = saidIn(fields.get("content"), [
    // The field `tool_calls` has them as well.
    ...(calls.length > 0 ? ["call"] as const : []),
    ...(kind === "reply" ? ["own"] as const : []),
  ]);
  if (kind === "system" || kind === "user") return [{ kind, text, at: fields, lost }];
  if (kind === "result") {
    const isError = fields.textAt("status") === "error" ? true as const : undefined;
    const id = fields.textAt("tool_call_id");
    return [{ kind, text, at, id, isError, lost }];
  }
  if (kind === undefined) {
    return at.fail(
      "must be a system, human, AI or tool message of LangChain",
      `its type is ${type}`,
    );
  }
  const [usage, metadata] = [fields.get("usage_metadata"), fields.get("response_metadata")];
  return [{
    ...{ kind, text, at, calls, ownCalls },
    usage: readUsage(usage?.get("input_tokens")?.value, usage?.get("output_tokens")?.value),
    served: metadata?.textAt("model_name") ?? metadata?.textAt("model"),
    finish: finishOf(metadata?.first(...REASONS)?.value),
  }];
}

/**
 * The calls of a message. A message of a chat completion has them as they were written, in order, and an old one there
 * alone; else those that could be read stand apart from those that could not, and the order between them is not kept.
 */
function callsIn(fields: Part): Reply["calls"] {
  const read = fields.get("tool_calls")?.items() ?? [];
  const invalid = fields.get("invalid_tool_calls")?.items() ?? [];
  const kept = fields.get("additional_kwargs");
  const raw = kept?.get("tool_calls")?.items() ?? [];
  const count = read.length + invalid.length;
  if (raw.length > 0 && (count === 0 || count === raw.length)) {
    return raw.map((call) => ({ id: call.textAt("id"), ...calledIn(call.need("function")) }));
  }
  const legacy = kept?.get("function_call");
  if (count === 0 && legacy !== undefined) return [calledIn(legacy)];
  return [...read, ...invalid].map((call) => ({
    id: call.textAt("id"),
    name: call.need("name").text(),
    arguments: textOf(call.get("args")?.value ?? {}),
  }));
}
