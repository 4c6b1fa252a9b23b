/**
 * Text format adapter: lets any chat model call functions in a text format, whether or not it has native
 * tool calls.
 * @module
 */

import type { FormatReading, TextFormat } from "./format.ts";
import { TAGS, thinkingOf, WITHIN_THINKING } from "./_read_reply.ts";
import { type FormatId, formatOf } from "./registry.ts";
import { defined, isJsonObject, parseJson } from "../../base/json.ts";
import type { ModelEntry } from "../entry.ts";
import type { Model, ModelReply, ModelRequest } from "../model.ts";
import type { ToolCall } from "../../tools/tool.ts";
import { reasoningTexts } from "../openai/content.ts";
import { PARSES } from "../../calls/trace.ts";

/**
 * Wraps a model so that it calls functions in a text format: functions, calls and results are written into
 * the messages, and calls are read from its text. It never gets tools, so it needs no native tool calls; if
 * its server sends some anyway, they count too. A reply to a request without tools is not changed.
 *
 * The format's `stop` sequences are sent, unless the model has its own: `body: { stop: null }` in the options of
 * `openai()` leaves them out.
 *
 * @param options Whether a reply may or must call, if the request does not say. Default: `auto`.
 */
export function inTextFormat(
  model: Model,
  id: FormatId,
  options: Pick<ModelEntry, "toolChoice"> = {},
): Model {
  const format = formatOf(id);
  return {
    name: model.name,
    simulated: model.simulated,
    api: id,
    toolChoice: options.toolChoice,
    takes: model.takes,
    async reply({ toolChoice = options.toolChoice, ...request }: ModelRequest) {
      const { messages, tools } = request;
      const reply = await model.reply({
        ...request,
        messages: format.present(messages, tools, toolChoice),
        tools: [],
        ...(format.stop.length === 0 ? {} : { stop: format.stop }),
      });
      if (tools.length === 0 || toolChoice === "none") return reply;
      const read = readReply(format, reply, tools.map(({ name }) => name));
      const written = read.calls.map((call, index): ToolCall => ({
        id: `call_${index + 1}`,
        ...call,
      }));
      return withCalls(reply, { ...read, calls: written });
    },
  };
}

/**
 * Reads a reply; where it says and calls nothing, its server's parser may have taken a call for reasoning. A call in
 * reasoning that was cut off is a draft, as the model was not done.
 */
function readReply(
  format: TextFormat,
  { text, calls, carried, finish }: ModelReply,
  names: readonly string[],
): FormatReading {
  const read = format.read(text, names);
  if (finish === "length" || finish === "filter") {
    return read.repairs.includes(WITHIN_THINKING) ? { text: "", calls: [], repairs: [] } : read;
  }
  if (read.text.trim() !== "" || read.calls.length + calls.length > 0) return read;
  // Servers repeat one reasoning in several fields.
  const within = reasoningTexts(carried).map((one) =>
    format.read(`<think>\n${one.replace(TAGS, "\n")}`, names)
  );
  return within.find((one) => one.calls.length > 0) ?? read;
}

/** Returns the reply with the calls read from its text, and those that its server sent. */
function withCalls(
  reply: ModelReply,
  read: Pick<ModelReply, "text" | "calls" | "parsed" | "repairs">,
): ModelReply {
  const native = reply.calls.map((call, index): ToolCall => ({
    ...call,
    id: `call_${read.calls.length + index + 1}`,
  }));
  const { parsed: _, ...rest } = reply;
  const calls = [...read.calls, ...native];
  const repairs = native.length === 0 ? [] : ["calls came in the form of the server"];
  const odd = native.length === 0
    ? undefined
    : native.every((call) => isJsonObject(parseJson(call.arguments)))
    ? "repaired"
    : "unreadable";
  // Native calls are not in the requested format, so they are at best repaired.
  const parsed = PARSES.findLast((one) => one === odd || one === read.parsed);
  const isAsRead = (parsed ?? "strict") === "strict" && thinkingOf(reply.text).thought === "";
  return {
    ...rest,
    text: read.text,
    calls,
    // If it ran out of tokens, the reply may be incomplete.
    finish: calls.length > 0 && reply.finish !== "length" ? "calls" : reply.finish,
    repairs: [...reply.repairs, ...read.repairs, ...repairs],
    ...defined({ parsed }),
    ...(isAsRead || reply.text === "" ? {} : { written: reply.text }),
  };
}
