/**
 * Servers on loopback that speak the native formats of Anthropic and Gemini: with answers made by hand, or those of
 * simulated models. They want back what they sent with a reply: without its signature they refuse a reply that calls.
 */

import * as anthropic from "@ai-sdk/anthropic";
import * as google from "@ai-sdk/google";
import {
  exactJson,
  fieldOf,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../lib/base/json.ts";
import type { ImportPackage } from "../../lib/models/providers.ts";
import type { ProviderName } from "../../lib/models/providers.ts";
import { simulatedFetch } from "../../lib/simulated/server.ts";

/** Packages of providers: tests have an import map of their own. */
export const importPackage: ImportPackage = (name) =>
  Promise.resolve(name === "@ai-sdk/anthropic" ? { ...anthropic } : { ...google });

/** A call as a server sends it. */
export interface NativeCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments: string;
}

/** A native format. */
export interface Native {
  readonly provider: ProviderName;
  /** A reply with a text and calls. */
  reply(text: string, calls?: readonly NativeCall[], model?: string): JsonObject;
  /** A reply that ran out of tokens. */
  cut(text: string): JsonObject;
  /** A request as one of chat completions; a text if it is refused. */
  chat(body: JsonObject, path: string): JsonObject | string;
  /** An error as its servers send it. */
  error(message: string): JsonObject;
}

/** What comes with a reply that calls, and must come back with it. */
export const SIGNATURE = "c2lnbmVk";

const UNSIGNED = "a reply that calls comes back without its signature";
const some = (is: boolean, ...parts: JsonObject[]): JsonObject[] => is ? parts : [];
const listOf = (value: JsonValue | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];
const textIn = (parts: readonly JsonObject[]) => parts.map(({ text }) => text ?? "").join("");

function chatOf(messages: JsonObject[], more: JsonObject): JsonObject {
  return { messages, ...more };
}

function chatTool(name: JsonValue, description: JsonValue, parameters: JsonValue): JsonObject {
  return { type: "function", function: { name, description, parameters } };
}

function chatCalls(calls: readonly { id: JsonValue; name: JsonValue; input: JsonValue }[]) {
  return calls.map(({ id, name, input }) => ({
    ...{ id, type: "function", function: { name, arguments: JSON.stringify(input) } },
  }));
}

const named = (name: JsonValue | undefined) =>
  name === undefined ? {} : { tool_choice: { type: "function", function: { name } } };

/** The format of https://docs.anthropic.com/en/api/messages. */
const ANTHROPIC: Native = {
  provider: "anthropic",
  reply: (text, calls = [], model = "parrot-2") => ({
    ...{ id: "msg_1", type: "message", role: "assistant", model, stop_sequence: null },
    content: [
      ...some(calls.length > 0, {
        ...{ type: "thinking", thinking: "I must call", signature: SIGNATURE },
      }),
      ...some(text !== "", { type: "text", text }),
      ...calls.map(({ id, name, arguments: input }, place) => ({
        ...{ type: "tool_use", id: id ?? `toolu_${place + 1}`, name, input: exactJson(input) },
      })),
    ],
    stop_reason: calls.length === 0 ? "end_turn" : "tool_use",
    usage: { input_tokens: 11, output_tokens: 7 },
  }),
  cut: (text) => ({ ...ANTHROPIC.reply(text), stop_reason: "max_tokens" }),
  error: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  chat({ model, system, messages, tools, tool_choice: choice }) {
    const said = textIn(listOf(system));
    const all: JsonObject[] = said === "" ? [] : [{ role: "system", content: said }];
    for (const { role, content } of listOf(messages)) {
      const parts = listOf(content);
      const calls = parts.filter(({ type }) => type === "tool_use");
      const texts = textIn(parts.filter(({ type }) => type === "text"));
      if (role === "assistant") {
        const [first] = parts;
        if (calls.length > 0 && first?.["signature"] !== SIGNATURE) return UNSIGNED;
        const made = chatCalls(
          calls.map(({ id = "", name = "", input = {} }) => ({ id, name, input })),
        );
        all.push({ role, content: texts, ...(made.length === 0 ? {} : { tool_calls: made }) });
        continue;
      }
      for (const { type, tool_use_id: id = "", content = "" } of parts) {
        if (type !== "tool_result") continue;
        const text = typeof content === "string" ? content : textIn(listOf(content));
        all.push({ role: "tool", tool_call_id: id, content: text });
      }
      if (texts !== "") all.push({ role: "user", content: texts });
    }
    const kind = fieldOf(choice, "type");
    return chatOf(all, {
      model: model!,
      tools: listOf(tools).map(({ name = "", description = "", input_schema: schema = {} }) =>
        chatTool(name, description, schema)
      ),
      ...(kind === "tool" ? named(fieldOf(choice, "name")) : {}),
      ...(kind === "any" ? { tool_choice: "required" } : {}),
      ...(kind === "none" ? { tool_choice: "none" } : {}),
    });
  },
};

/** The format of https://ai.google.dev/api/generate-content. */
const GOOGLE: Native = {
  provider: "google",
  reply: (text, calls = [], model = "parrot-2") => ({
    modelVersion: model,
    candidates: [{
      index: 0,
      finishReason: "STOP",
      content: {
        role: "model",
        parts: [
          ...(text === "" ? [] : [{ text }]),
          ...calls.map(({ id, name, arguments: args }, place) => ({
            functionCall: { id: id ?? `call_${place + 1}`, name, args: exactJson(args) },
            // Of several calls the first one has it.
            ...(place === 0 ? { thoughtSignature: SIGNATURE } : {}),
          })),
        ],
      },
    }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  }),
  cut: (text) => ({
    ...GOOGLE.reply(text),
    candidates: [{ finishReason: "MAX_TOKENS", content: { role: "model", parts: [{ text }] } }],
  }),
  error: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  chat({ systemInstruction, contents, tools, toolConfig }, path) {
    const said = textIn(listOf(fieldOf(systemInstruction, "parts")));
    const all: JsonObject[] = said === "" ? [] : [{ role: "system", content: said }];
    for (const { role, parts: given } of listOf(contents)) {
      const parts = listOf(given);
      const calls = parts.filter((part) => part["functionCall"] !== undefined);
      if (calls.length > 0 && calls[0]!["thoughtSignature"] !== SIGNATURE) return UNSIGNED;
      const made = chatCalls(calls.map(({ functionCall: call }) => ({
        id: fieldOf(call, "id") ?? "",
        name: fieldOf(call, "name") ?? "",
        input: fieldOf(call, "args") ?? {},
      })));
      const texts = textIn(parts);
      for (const { functionResponse: result } of parts) {
        if (result === undefined) continue;
        const content = fieldOf(fieldOf(result, "response"), "content") ?? "";
        all.push({ role: "tool", tool_call_id: fieldOf(result, "id") ?? "", content });
      }
      if (role === "model") {
        all.push({
          ...{ role: "assistant", content: texts },
          ...(made.length === 0 ? {} : { tool_calls: made }),
        });
      } else if (texts !== "") all.push({ role: "user", content: texts });
    }
    const config = fieldOf(toolConfig, "functionCallingConfig");
    const allowed = fieldOf(config, "allowedFunctionNames");
    const mode = fieldOf(config, "mode");
    return chatOf(all, {
      model: decodeURIComponent(/models\/(.*):generateContent/.exec(path)?.[1] ?? ""),
      tools: listOf(tools).flatMap((tool) => listOf(tool["functionDeclarations"])).map((
        { name = "", description = "", parameters, parametersJsonSchema },
      ) => chatTool(name, description, parameters ?? parametersJsonSchema ?? {})),
      ...(mode === "NONE" ? { tool_choice: "none" } : {}),
      ...(mode === "ANY" && allowed === undefined ? { tool_choice: "required" } : {}),
      ...named(Array.isArray(allowed) ? allowed[0] : undefined),
    });
  },
};

/** All native formats. */
export const NATIVES: readonly Native[] = [ANTHROPIC, GOOGLE];

/** A server of simulated models in a native format. */
export interface NativeServer extends AsyncDisposable {
  readonly url: string;
  /** Bodies of the requests so far. */
  readonly received: readonly JsonObject[];
}

/** Starts one, whose models are those of simulated servers. */
export function simulatedNative(native: Native): NativeServer {
  const ask = simulatedFetch();
  const received: JsonObject[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body: JsonObject = await request.json();
    received.push(body);
    const { pathname, search } = new URL(request.url);
    const chat = native.chat(body, pathname + search);
    if (typeof chat === "string") return Response.json(native.error(chat), { status: 400 });
    const answer = await ask("http://in-process/v1/chat/completions", {
      method: "POST",
      // The number of the first repetition, as simulated models of this process get it.
      body: JSON.stringify({ ...chat, seed: 1 }),
    });
    const { choices, model, error } = await answer.json();
    if (choices === undefined) {
      return Response.json(native.error(error.message), { status: answer.status });
    }
    const { content, tool_calls: calls = [] } = choices[0].message;
    return Response.json(native.reply(
      content ?? "",
      calls.map((call: { id: string; function: NativeCall }) => ({
        ...call.function,
        id: call.id,
      })),
      model,
    ));
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
