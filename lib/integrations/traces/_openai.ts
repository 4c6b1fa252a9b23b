/**
 * Traces of OpenAI's APIs: the messages of chat completions, and the items of responses.
 * @module
 */

import { defined, isJsonObject, type JsonObject } from "../../base/json.ts";
import { contentText } from "../../models/openai/content.ts";
import { readUsage } from "../../models/openai/reading.ts";
import type { FinishReason } from "../../models/model.ts";
import type { Conversation, Item, Reply } from "./_conversation.ts";
import { type Part, textOf } from "./_part.ts";

/** Fields of a chat completion that may stand beside a reply, or around it. */
const FINISH: ReadonlyMap<unknown, FinishReason> = new Map<unknown, FinishReason>([
  ["length", "length"],
  ["max_output_tokens", "length"],
  ["content_filter", "filter"],
]);

/** Reads chat completions: a list of messages, the body of a request with them, or that and its response. */
export function readChat(part: Part): Conversation {
  const { request, response } = exchange(part);
  const list = Array.isArray(request.value) ? request : request.need("messages");
  const said = response?.need("choices").items().slice(0, 1).map((choice): Item => {
    const usage = response.get("usage")?.value as JsonObject | undefined;
    return {
      ...chatItem(choice.need("message")) as Reply,
      ...defined({
        usage: readUsage(usage?.["prompt_tokens"], usage?.["completion_tokens"]),
        served: response.textAt("model"),
        finish: FINISH.get(choice.textAt("finish_reason")),
      }),
    };
  }) ?? [];
  return {
    items: [...list.items().map(chatItem), ...said],
    ...defined({
      tools: request.first("tools", "functions"),
      model: request.textAt("model") ?? response?.textAt("model"),
    }),
  };
}

/** A request and its response, logged together; what is no such pair is the request. */
function exchange(part: Part): { readonly request: Part; readonly response?: Part } {
  const [request, response] = [part.get("request"), part.get("response")];
  if (request !== undefined && response !== undefined) return { request, response };
  return { request: part, ...(part.has("choices") ? { response: part } : {}) };
}

function chatItem(at: Part): Item {
  const role = at.need("role").text();
  const text = textIn(at.get("content")) || at.textAt("refusal") || "";
  switch (role) {
    case "system":
    case "developer":
      return { kind: "system", text, at };
    case "user":
      return { kind: "user", text, at };
    case "tool":
    case "function": {
      const id = at.textAt("tool_call_id");
      const isError = isErrorIn(at);
      return { kind: "result", text, at, ...defined({ id, isError }) };
    }
    case "assistant": {
      const calls = at.get("tool_calls")?.items().map(chatCall) ?? [];
      const legacy = calls.length === 0 ? at.get("function_call") : undefined;
      return {
        ...{ kind: "reply", text, at },
        calls: legacy === undefined ? calls : [{ ...calledIn(legacy) }],
        ...modelIn(at),
      };
    }
    default:
      return at.need("role").fail(
        "must be one of system, developer, user, assistant, tool and function",
      );
  }
}

function chatCall(at: Part): Reply["calls"][number] {
  const id = at.textAt("id");
  const custom = at.get("custom");
  return { ...defined({ id }), ...calledIn(custom ?? at.need("function")) };
}

/** The name and the arguments of a call, where the text that the model wrote is kept; else the JSON of the arguments. */
function calledIn(at: Part): { readonly name: string; readonly arguments: string } {
  const written = at.first("arguments", "input")?.value;
  return {
    name: at.textAt("name") ?? "",
    arguments: written === undefined ? "{}" : textOf(written),
  };
}

function isErrorIn(at: Part): true | undefined {
  return at.get("is_error")?.value === true || at.textAt("status") === "error" ? true : undefined;
}

function modelIn(at: Part): Pick<Reply, "served" | "usage"> {
  const usage = at.get("usage")?.value as JsonObject | undefined;
  const read = isJsonObject(usage)
    ? readUsage(usage["prompt_tokens"], usage["completion_tokens"]) ??
      readUsage(usage["input_tokens"], usage["output_tokens"])
    : undefined;
  return defined({ served: at.textAt("model"), usage: read });
}

/** The text of a content: a text, or a list of parts. */
function textIn(content: Part | undefined): string {
  if (content === undefined) return "";
  const { value } = content;
  if (typeof value !== "string" && !Array.isArray(value)) {
    content.fail("must be a text or a list of parts");
  }
  return Array.isArray(value) ? contentText(value.map(plainPart)) : value as string;
}

/** A part of what is sent is of type `input_text`, one of a reply of type `output_text` or `text`. */
function plainPart(part: unknown): unknown {
  return isJsonObject(part) && part["type"] === "input_text" ? { ...part, type: "text" } : part;
}

/**
 * Reads responses: a list of items, the body of a request with them as its `input`, that and its `response`, or a
 * response with its `input`.
 */
export function readResponses(part: Part): Conversation {
  const [asked, response] = [part.get("request") ?? part, part.get("response")];
  const answer = response ?? (part.has("output") ? part : undefined);
  const input = Array.isArray(asked.value) ? asked : asked.need("input");
  const instructions = asked.get("instructions");
  const said: Item[] = typeof input.value === "string"
    ? [{ kind: "user", text: input.value, at: input }]
    : input.items().flatMap(responseItem);
  const output = answer?.need("output").items().flatMap(responseItem) ?? [];
  const usage = answer?.get("usage")?.value as JsonObject | undefined;
  const finish = FINISH.get(answer?.get("incomplete_details")?.textAt("reason"));
  const last = output.findLastIndex(({ kind }) => kind === "reply");
  const told = defined({
    usage: readUsage(usage?.["input_tokens"], usage?.["output_tokens"]),
    served: answer?.textAt("model"),
    finish,
  });
  return {
    items: [
      ...(instructions === undefined
        ? []
        : [{ kind: "system" as const, text: instructions.text(), at: instructions }]),
      ...said,
      ...output.map((item, place) => place === last ? { ...item, ...told } as Item : item),
    ],
    ...defined({
      tools: asked.get("tools") ?? answer?.get("tools"),
      model: asked.textAt("model") ?? answer?.textAt("model"),
    }),
  };
}

/** The items that call tools of the provider's own, which are no tools of the user's. */
const OWN_CALL = /_call$/;

/** Items of one reply stand one after the other: each goes on with the one before it. */
function responseItem(at: Part): Item[] {
  const type = at.textAt("type") ?? "message";
  const reply = { kind: "reply", text: "", calls: [], continues: true, at } as const;
  if (type === "function_call") {
    const id = at.textAt("call_id");
    return [{ ...reply, calls: [{ ...defined({ id }), ...calledIn(at) }] }];
  }
  if (type === "function_call_output") {
    const output = at.need("output").value;
    const text = Array.isArray(output) ? textIn(at.need("output")) : textOf(output);
    const id = at.textAt("call_id");
    return [{ kind: "result", text, at, ...defined({ id, isError: isErrorIn(at) }) }];
  }
  if (type === "reasoning" || type === "item_reference" || type === "compaction") return [];
  if (OWN_CALL.test(type)) {
    return [{ ...reply, ownCalls: [{ function: type, arguments: textOf(at.value) }] }];
  }
  if (/_call_output$/.test(type)) return [];
  if (type !== "message") {
    return at.need("type").fail("must be the type of an item of a response");
  }
  const role = at.need("role").text();
  const text = textIn(at.get("content"));
  if (role === "assistant") return [{ ...reply, text }];
  if (role === "user") return [{ kind: "user", text, at }];
  if (role === "system" || role === "developer") return [{ kind: "system", text, at }];
  return at.need("role").fail("must be one of system, developer, user and assistant");
}
