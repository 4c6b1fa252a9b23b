/**
 * Streaming: the events in which OpenAI sends a chat completion or a response piece by piece.
 *
 * @see https://platform.openai.com/docs/api-reference/chat-streaming
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import type { ChatAnswer } from "./_wire.ts";

/** The data of an event: JSON, or what ends the stream of a chat completion. */
export type StreamEvent = JsonObject | typeof DONE;

const DONE = "[DONE]";

/** Sends events as a stream. */
export function eventStream(events: Iterable<StreamEvent>): Response {
  const encoder = new TextEncoder();
  const body = Iterator.from(events).map((event) => encoder.encode(eventText(event)));
  return new Response(ReadableStream.from(body), {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

/** Returns the text of an event; only events of responses have a type. */
function eventText(event: StreamEvent): string {
  if (event === DONE) return `data: ${DONE}\n\n`;
  const { type } = event;
  return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
}

/** Returns the chunks of a chat completion; the last one has the usage if that is asked for. */
export function* completionChunks(
  { id, created, model, choices: [choice], usage }: ChatAnswer,
  { include_usage: isCounted }: { readonly include_usage?: boolean | null },
): Generator<StreamEvent> {
  const chunk = (choices: JsonValue[], counted: JsonValue = null): JsonObject => ({
    ...{ id, object: "chat.completion.chunk", created, model, choices },
    ...(isCounted ? { usage: counted } : {}),
  });
  const changed = (delta: JsonObject, reason: string | null = null) =>
    chunk([{ index: choice.index, delta, logprobs: null, finish_reason: reason }]);
  const { role, content, refusal, tool_calls: calls = [] } = choice.message;
  yield changed({ role, content: "", refusal });
  for (const piece of piecesOf(content) ?? []) yield changed({ content: piece });
  for (const [index, { function: { name, arguments: written }, ...call }] of calls.entries()) {
    const pieces = piecesOf(written);
    const func = { name, arguments: pieces === undefined ? written : "" };
    yield changed({ tool_calls: [{ index, ...call, function: func }] });
    for (const piece of pieces ?? []) {
      yield changed({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  yield changed({}, choice.finish_reason);
  if (isCounted) yield chunk([], { ...usage });
  yield DONE;
}

/** Returns the events of a response. */
export function responseEvents(response: JsonObject): Iterable<JsonObject> {
  return Iterator.from(unnumbered(response)).map(({ type, ...event }, number) => ({
    type: `response.${type}`,
    sequence_number: number,
    ...event,
  }));
}

function* unnumbered(response: JsonObject): Generator<JsonObject> {
  const begun: JsonObject = { ...response, status: "in_progress", output: [], usage: null };
  yield { type: "created", response: begun };
  yield { type: "in_progress", response: begun };
  for (const [index, item] of objectsIn(response["output"]).entries()) {
    yield* itemEvents(item, index);
    yield { type: "output_item.done", output_index: index, item };
  }
  yield { type: "completed", response };
}

function* itemEvents(item: JsonObject, index: number): Generator<JsonObject> {
  const { type, name = null, content, arguments: written = null } = item;
  const place: JsonObject = { item_id: item["id"]!, output_index: index };
  const added = (more: JsonObject): JsonObject => ({
    type: "output_item.added",
    output_index: index,
    item: { ...item, ...more },
  });
  if (type === "message") {
    yield added({ status: "in_progress", content: [] });
    for (const [position, part] of objectsIn(content).entries()) {
      const within = { ...place, content_index: position };
      const { text = null } = part;
      yield { type: "content_part.added", ...within, part: { ...part, text: "" } };
      for (const delta of piecesOf(text) ?? []) {
        yield { type: "output_text.delta", ...within, delta, logprobs: [] };
      }
      yield { type: "output_text.done", ...within, text, logprobs: [] };
      yield { type: "content_part.done", ...within, part };
    }
  } else if (type === "function_call") {
    yield added({ status: "in_progress", arguments: "" });
    for (const delta of piecesOf(written) ?? []) {
      yield { type: "function_call_arguments.delta", ...place, delta };
    }
    yield { type: "function_call_arguments.done", ...place, name, arguments: written };
  } else {
    yield added({});
  }
}

function objectsIn(list: JsonValue | undefined): JsonObject[] {
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

/** Cuts a text into pieces of about three tokens; `undefined` for a value that is none, as broken calls have. */
function piecesOf(text: JsonValue): string[] | undefined {
  return typeof text === "string" ? text.match(/[^]{1,12}/gu) ?? [] : undefined;
}
