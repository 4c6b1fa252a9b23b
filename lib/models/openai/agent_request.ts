/**
 * Agent requests: what the client of an agent asks a model for, in either wire format.
 * @module
 */

import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
} from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolCall, ToolSchema } from "../../tools/tool.ts";
import { contentText } from "./content.ts";
import type { WireApi } from "./wire_format.ts";

/** A request for a reply, as the client of an agent wrote it. */
export interface AgentRequest {
  /** Its format. */
  readonly api: WireApi;
  /** Its body. */
  readonly body: JsonObject;
  /** The name of the model that it asks; empty if it names none. */
  readonly model: string;
  /** The conversation, as far as the request has it. */
  readonly messages: readonly Message[];
  /** The functions that it offers. */
  readonly tools: readonly ToolSchema[];
  /** The response that it goes on from; omitted where it has the whole conversation. */
  readonly previous?: string;
  /** The conversation as text, which that of a later request of the same conversation begins with. */
  readonly history: string;
  /** What it asks for besides, as text: instructions, functions and the form of the answer. */
  readonly terms: string;
}

const APIS: readonly (readonly [path: string, api: WireApi])[] = [
  ["/chat/completions", "chat"],
  ["/responses", "responses"],
];

/** Returns the format of requests to a path; `undefined` if it is not for replies. */
export function apiOfPath(path: string): WireApi | undefined {
  return APIS.find(([end]) => path.replace(/\/+$/, "").endsWith(end))?.[1];
}

/** Fields by which requests of the same conversation ask for something else. */
const TERMS = ["instructions", "tools", "functions", "tool_choice", "response_format", "text"];

/** Reads a request; `undefined` if it is none that a server could answer with a reply. */
export function readAgentRequest(api: WireApi, text: string): AgentRequest | undefined {
  const body = parseJson(text);
  if (!isJsonObject(body)) return undefined;
  const list = api === "chat" ? body["messages"] : body["input"];
  const items = typeof list === "string"
    ? [{ role: "user", content: list }]
    // A response needs no input where the server has the question.
    : Array.isArray(list)
    ? list.filter(isJsonObject)
    : [];
  const { model, instructions, previous_response_id: previous } = body;
  const system: Message[] = typeof instructions === "string"
    ? [{ role: "system", content: instructions }]
    : [];
  return {
    ...{ api, body, model: typeof model === "string" ? model : "" },
    messages: withNames(
      api === "chat" ? items.map(chatMessage) : [...system, ...responseMessages(items)],
    ),
    tools: toolsIn(body),
    previous: typeof previous === "string" ? previous : undefined,
    history: items.map((item) => jsonText(item)).join("\n"),
    terms: jsonText(TERMS.map((name) => body[name] ?? null)),
  };
}

/** Names the functions of results, which only the calls that they answer name. */
function withNames(messages: readonly Message[]): Message[] {
  const names = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === "assistant") {
      for (const { id, name } of message.calls) names.set(id, name);
    }
    if (message.role !== "tool" || message.name !== "") return message;
    return { ...message, name: names.get(message.callId) ?? "" };
  });
}

/** The functions in a request, in either form; tools of the server's own have no function. */
function toolsIn(body: JsonObject): ToolSchema[] {
  const { tools, functions } = body;
  const all = [tools, functions].flatMap((list) => Array.isArray(list) ? list : []);
  return all.flatMap((tool): ToolSchema[] => {
    if (!isJsonObject(tool)) return [];
    const said = [tool["function"], tool["custom"]].find(isJsonObject) ?? tool;
    const { name, description, parameters, strict } = said;
    if (typeof name !== "string") return [];
    return [{
      name,
      description: asText(description),
      parameters: isJsonObject(parameters) ? parameters : {},
      ...(strict === true ? { strict } : {}),
    }];
  });
}

function chatMessage(message: JsonObject): Message {
  const { role, content, tool_calls: calls, tool_call_id: id, name } = message;
  const text = contentText(content);
  if (role === "tool" || role === "function") {
    return { role: "tool", callId: asText(id), name: asText(name), content: text };
  }
  if (role !== "assistant") return { role: role === "user" ? "user" : "system", content: text };
  const made = Array.isArray(calls) ? calls.filter(isJsonObject) : [];
  return {
    role,
    content: text,
    calls: made.map((call): ToolCall => {
      const said = [call["function"], call["custom"]].find(isJsonObject) ?? {};
      return {
        id: asText(call["id"]),
        name: asText(said["name"]),
        arguments: asText(said["arguments"] ?? said["input"]),
      };
    }),
  };
}

/** The messages in a list of items; those of other kinds, such as reasoning, are no messages. */
function responseMessages(items: readonly JsonObject[]): Message[] {
  return items.flatMap((item): Message[] => {
    const { type = "message", call_id: callId, name, arguments: written, output } = item;
    if (type === "function_call") {
      const call = { id: asText(callId), name: asText(name), arguments: asText(written) };
      return [{ role: "assistant", content: "", calls: [call] }];
    }
    if (type === "function_call_output") {
      const content = typeof output === "string" ? output : jsonText(output ?? "");
      return [{ role: "tool", callId: asText(callId), name: "", content }];
    }
    // What the server has stored is sent by its id alone.
    if (type === "item_reference") return [{ role: "assistant", content: "", calls: [] }];
    if (type !== "message") return [];
    const { role } = item;
    const content = itemText(item["content"]);
    if (role === "assistant") return [{ role, content, calls: [] }];
    return [{ role: role === "user" ? "user" : "system", content }];
  });
}

/** The text of an item: what is sent has parts of type `input_text`. */
function itemText(content: JsonValue | undefined): string {
  if (!Array.isArray(content)) return asText(content);
  return content.map((part) => isJsonObject(part) ? asText(part["text"]) : "").join("");
}

function asText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
