/**
 * Servers made by hand that speak OpenAI's wire formats, soundly and faultily, for tests of the code that
 * asks them.
 */

import { assertRejects } from "@std/assert";
import { exactJson, type JsonObject, type JsonValue } from "../../lib/base/json.ts";
import type { Message } from "../../lib/tools/message.ts";
import { InfrastructureError, type Model, type ModelRequest } from "../../lib/models/model.ts";
import { openai, type OpenAIOptions, type WireApi } from "../../lib/models/openai/openai.ts";
import type { ToolSchema } from "../../lib/tools/tool.ts";

export const KEY = "hunter22-hunter22";

export const ADD = {
  name: "add",
  description: "Adds",
  strict: true,
  parameters: {
    type: "object",
    properties: { left: { type: "integer" } },
    required: ["left"],
    additionalProperties: false,
  },
} satisfies ToolSchema;

export const CONVERSATION: readonly Message[] = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Add" },
  {
    role: "assistant",
    content: "",
    calls: [
      { id: "a", name: "add", arguments: '{"left":1}' },
      { id: "b", name: "add", arguments: "no JSON" },
    ],
  },
  { role: "tool", callId: "a", name: "add", content: '{"sum":1}' },
  { role: "tool", callId: "b", name: "add", content: "error" },
  { role: "assistant", content: "Once more", calls: [{ id: "c", name: "add", arguments: "{}" }] },
  { role: "tool", callId: "c", name: "add", content: "2" },
  { role: "assistant", content: "2", calls: [] },
  { role: "user", content: "Sure?" },
];

/** Options that are sent, each of them. */
export const EVERY_OPTION: Partial<OpenAIOptions> = {
  temperature: 0,
  topP: 0.5,
  maxCompletionTokens: 100,
  reasoningEffort: "low",
  parallelToolCalls: false,
  toolChoice: "required",
  headers: { "x-team": "gate" },
};

export function asked(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    context: { trial: "t", repetition: 1, request: 1 },
    ...more,
  };
}

export function completion(
  message: JsonObject = { content: "hello" },
  more: JsonObject = {},
): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "parrot-2",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ...more,
  };
}

export function call(more: JsonObject = {}, func: JsonObject = {}): JsonObject {
  return {
    id: "x",
    type: "function",
    function: { name: "add", arguments: "{}", ...func },
    ...more,
  };
}

/** A response with these items; without any it says hello. */
export function response(
  output: readonly JsonObject[] = [said("hello")],
  more: JsonObject = {},
): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "parrot-2",
    output: [...output],
    usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
    ...more,
  };
}

/** A message item. */
export function said(text: string, more: JsonObject = {}): JsonObject {
  return {
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
    ...more,
  };
}

/** A call as an item. */
export function callItem(more: JsonObject = {}): JsonObject {
  return {
    id: "fc_1",
    type: "function_call",
    status: "completed",
    call_id: "x",
    name: "add",
    arguments: "{}",
    ...more,
  };
}

/** A wire format, as its tests need it. */
export interface Wire {
  readonly api: WireApi;
  /** Where requests go. */
  readonly path: string;
  /** What a reply is called. */
  readonly replyName: string;
  /** A sound reply that says hello. */
  readonly hello: () => JsonObject;
  /** A sound reply that makes calls, of whose fields some are others. */
  readonly calling: (
    ...calls: {
      readonly id?: JsonValue;
      readonly arguments?: JsonValue;
      readonly name?: JsonValue;
    }[]
  ) => JsonObject;
}

/** Both of them. */
export const WIRES: readonly Wire[] = [
  {
    api: "chat",
    path: "/v1/chat/completions",
    replyName: "a chat completion",
    hello: () => completion(),
    calling: (...calls) =>
      completion({
        content: null,
        tool_calls: calls.map(({ id = "x", ...func }) => call({ id }, func)),
      }),
  },
  {
    api: "responses",
    path: "/v1/responses",
    replyName: "a response",
    hello: () => response(),
    calling: (...calls) =>
      response(calls.map(({ id = "x", ...others }) => callItem({ call_id: id, ...others }))),
  },
];

// Servers, sound and faulty.

export interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export interface Faulty extends AsyncDisposable {
  readonly received: Received[];
  readonly host: string;
  /** A model at this server, with quick retries. */
  model(options?: Partial<OpenAIOptions>): Model;
}

function faulty(
  { host, api = "chat" }: { readonly host: string; readonly api?: WireApi },
  received: Received[],
  close: () => Promise<void>,
): Faulty {
  return {
    host,
    received,
    model: (options = {}) =>
      openai({
        model: "parrot",
        api,
        baseURL: `http://${host}/v1`,
        apiKey: KEY,
        backoff: 1,
        ...options,
      }),
    [Symbol.asyncDispose]: close,
  };
}

/** Answers the n-th request with the n-th answer, and all further ones with the last. */
export function serving(...answers: (() => Response)[]): Faulty {
  return servingAs("chat", answers);
}

function servingAs(api: WireApi, answers: readonly (() => Response)[]): Faulty {
  const received: Received[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = exactJson(await request.text()) as JsonObject;
    received.push({ path: pathname + search, headers: request.headers, body });
    return answers[Math.min(received.length, answers.length) - 1]!();
  });
  const host = `127.0.0.1:${server.addr.port}`;
  return faulty({ host, api }, received, () => server.shutdown());
}

export function answering(body: unknown): () => Response {
  return () => Response.json(body);
}

export function status(
  code: number,
  body: unknown = {},
  headers: HeadersInit = {},
): () => Response {
  return () => Response.json(body, { status: code, headers });
}

/** A plan for the bytes of each connection in turn: text to send, `stall` to keep it open then. */
export interface Raw {
  readonly bytes: string;
  readonly stall?: boolean;
  /** Whether GET requests are answered nevertheless; others of them are left without any answer. */
  readonly alive?: boolean;
}

export function rawHead(length: number, type = "application/json"): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n` +
    "connection: close\r\n\r\n";
}

export function whole(text: string, type?: string): Raw {
  return { bytes: rawHead(new TextEncoder().encode(text).length, type) + text };
}

/** A server that breaks the protocol: the n-th connection gets the n-th plan, then the last one. */
export function breaking(...plans: Raw[]): Faulty {
  return breakingAs("chat", plans);
}

function breakingAs(api: WireApi, plans: readonly Raw[]): Faulty {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const received: Received[] = [];
  const open = new Set<Deno.TcpConn>();
  const over = Promise.withResolvers<void>();
  const connected = async (connection: Deno.TcpConn) => {
    open.add(connection);
    try {
      const request = await readRequest(connection);
      if (request !== undefined) received.push(request);
      const plan = plans[Math.max(0, Math.min(received.length, plans.length) - 1)]!;
      const { bytes, stall } = request !== undefined
        ? plan
        : plan.alive
        ? { bytes: rawHead(0).replace("200 OK", "404 Not Found"), stall: false }
        : { bytes: "", stall: true };
      await connection.write(new TextEncoder().encode(bytes));
      if (stall) await over.promise;
    } catch {
      // The client may leave at any time.
    } finally {
      open.delete(connection);
      try {
        connection.close();
      } catch {
        // It may be closed already.
      }
    }
  };
  const serve = async () => {
    const all: Promise<void>[] = [];
    for await (const connection of listener) all.push(connected(connection));
    await Promise.all(all);
  };
  const served = serve();
  return faulty({ host: `127.0.0.1:${listener.addr.port}`, api }, received, async () => {
    listener.close();
    over.resolve();
    await served;
  });
}

/** Servers whose models are asked in this format. */
export function serversOf(api: WireApi): {
  readonly serving: typeof serving;
  readonly breaking: typeof breaking;
} {
  return {
    serving: (...answers) => servingAs(api, answers),
    breaking: (...plans) => breakingAs(api, plans),
  };
}

/** Reads a request; `undefined` if it is a GET. */
async function readRequest(connection: Deno.TcpConn): Promise<Received | undefined> {
  let text = "";
  const buffer = new Uint8Array(65_536);
  while (true) {
    const [head = "", rest] = text.split("\r\n\r\n");
    if (rest !== undefined && head.startsWith("GET ")) return undefined;
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity);
    if (rest !== undefined && rest.length >= length) {
      return { path: head.split(" ")[1] ?? "", headers: new Headers(), body: JSON.parse(rest) };
    }
    const count = await connection.read(buffer);
    if (count === null) throw new Error("The request ended early");
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
}

export function refusedBy(
  server: Faulty,
  options: Partial<OpenAIOptions> = {},
): Promise<InfrastructureError> {
  return assertRejects(() => server.model(options).reply(asked()), InfrastructureError);
}
