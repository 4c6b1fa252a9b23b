/**
 * Content of spans: messages, functions and texts in the JSON of OpenTelemetry's conventions for generative AI,
 * without secrets and within bounds.
 * @module
 */

import { cutText, isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.ts";
import { redactRecordValue } from "../base/redact.ts";
import { MAX_KEPT_LENGTH, type OwnCall } from "../calls/trace.ts";
import type { ModelReply } from "../models/model.ts";
import type { Message } from "../tools/message.ts";
import type { ToolCall, ToolSchema } from "../tools/tool.ts";
import { bounded, shownOf } from "./transcript.ts";

/** Characters of the messages of one span, at most: of more only the last are sent. */
const MAX_MESSAGES_LENGTH = 1_000_000;

/** A message as the conventions have it. */
interface SpanMessage {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly finish_reason?: string;
}

/** Returns messages that a model is asked with. */
export function inputText(messages: readonly Message[], keys: Set<string>): string {
  return messagesText(messages.map(spanMessage), keys);
}

/** Returns a reply, with the calls of functions that are not the task's. */
export function outputText(
  { text, written = text, calls, ownCalls = [], reason }:
    & Pick<ModelReply, "text" | "written" | "calls">
    & { readonly ownCalls?: readonly OwnCall[]; readonly reason?: string | undefined },
  keys: Set<string>,
): string {
  const parts = [...textParts(written), ...calls.map(callPart), ...ownCalls.map(ownCallPart)];
  return messagesText([{ ...{ role: "assistant", parts }, finish_reason: reason }], keys);
}

/** Returns the functions that a model is offered. */
export function definitionsText(tools: readonly ToolSchema[], keys: Set<string>): string {
  const { tools: shown } = shownOf({ messages: [], tools });
  return jsonText(shown.map((tool) => ({ type: "function", ...tool })), keys);
}

/** Returns a text without secrets, cut as in a trace. */
export function cleanText(text: string, keys: Set<string>): string {
  return cutText(redactRecordValue(bounded(text), keys), MAX_KEPT_LENGTH);
}

function messagesText(messages: readonly SpanMessage[], keys: Set<string>): string {
  let left = MAX_MESSAGES_LENGTH;
  const texts = messages.map((message) => jsonText(message, keys));
  // Earlier spans of the trial have the first ones.
  const before = texts.findLastIndex((text) => (left -= text.length) < 0);
  return `[${texts.slice(before + 1).join(",")}]`;
}

function spanMessage(message: Message): SpanMessage {
  const { role, content } = message;
  if (role === "tool") {
    const part = { type: "tool_call_response", id: message.callId, response: bounded(content) };
    return { role, parts: [part] };
  }
  const calls = role === "assistant" ? message.calls : [];
  return { role, parts: [...textParts(content), ...calls.map(callPart)] };
}

function textParts(text: string): JsonObject[] {
  return text === "" ? [] : [{ type: "text", content: bounded(text) }];
}

function callPart({ id, name, arguments: written }: ToolCall): JsonObject {
  return {
    type: "tool_call",
    ...(id === "" ? {} : { id }),
    name: bounded(name),
    arguments: argumentsOf(written),
  };
}

/** A call that an agent carried out by itself: for the conventions its details are an object with a type. */
function ownCallPart({ function: name, arguments: written }: OwnCall): JsonObject {
  return {
    type: "server_tool_call",
    name: bounded(name),
    arguments: argumentsOf(written),
    server_tool_call: { type: "function" },
  };
}

/** Arguments as an object where that says all that was written, such as not where a name is there twice. */
function argumentsOf(written: string): JsonValue {
  // A longer text would be cut, and is then not JSON.
  const given = written.length > MAX_KEPT_LENGTH ? undefined : parseJson(written);
  return isJsonObject(given) && JSON.stringify(given) === written ? given : bounded(written);
}

/** Returns JSON without secrets, whose texts are cut as in a trace: half a key would not be recognised. */
function jsonText(value: object, keys: Set<string>): string {
  return JSON.stringify(
    redactRecordValue(value, keys),
    (_, inner: JsonValue) => typeof inner === "string" ? cutText(inner, MAX_KEPT_LENGTH) : inner,
  );
}
