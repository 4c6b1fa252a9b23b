/**
 * Simulated models behind a real HTTP server, so that they are reached as any other model is.
 * @module
 */

import { z } from "zod";
import type { CallSet } from "../tasks/questions/question_set.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { type JsonValue, parseJson } from "../base/json.ts";
import { parseSimulatedModel } from "./names.ts";
import { SIMULATED_MODELS } from "../models/simulated_name.ts";
import { readChosen } from "./reading.ts";
import { readResponsesRequest, toResponse } from "./responses.ts";
import { truthsOf } from "./truth.ts";
import { type ChatAnswer, type ChatRequest, chatRequestSchema, type WireFault } from "./wire.ts";

/** Options of {@linkcode startSimulatedServer}. */
export interface SimulatedServerOptions {
  /** The port; default 0, any free one. */
  readonly port?: number;
  /** The interface; default `127.0.0.1`. */
  readonly hostname?: string;
  /** Milliseconds before each reply of a model; default 0. */
  readonly latency?: number;
  /** Call sets of which `sim:truth` knows the true calls; default none. */
  readonly sets?: readonly CallSet[];
  /** Sees every well-formed request as the model reads it, before it is answered. */
  readonly onRequest?: (body: ChatRequest) => void;
}

/** A running server. It does not keep a process alive, unless `finished` is read. */
export interface SimulatedServer extends AsyncDisposable {
  /** The base URL for OpenAI clients; it ends in `/v1`. */
  readonly url: string;
  /** How many requests for replies came in, refused ones included. */
  readonly requests: number;
  /** Settles when the server has closed. Once it is read, the server keeps the process alive. */
  readonly finished: Promise<void>;
  /** Takes no new requests, answers those under way without further latency, and ends. */
  close(): Promise<void>;
}

const BODY_LIMIT = 64 * 2 ** 20;

/**
 * Starts a server that answers `POST /v1/chat/completions` and `POST /v1/responses` for every simulated
 * model, and `GET /v1/models`. Errors have OpenAI's format: 400 for a malformed body, 404 for an unknown
 * model or path, 405 for another method, 413 for a body above 64 MiB. It never logs.
 *
 * Responses hold what a model reasoned as an item, unless its effort is `none`. That it had goes back with
 * what it led to: without it the next request is refused.
 *
 * @throws {RangeError} If `latency` is no number of milliseconds.
 * @throws {Deno.errors.AddrInUse} If the port is taken.
 *
 * @example Usage
 * ```ts
 * import { startSimulatedServer } from "./server.ts";
 * import { assertEquals } from "@std/assert";
 *
 * await using server = startSimulatedServer();
 * const response = await fetch(`${server.url}/chat/completions`, {
 *   method: "POST",
 *   body: JSON.stringify({
 *     model: "sim:planner",
 *     messages: [{ role: "user", content: "The value of variable a, please.\nVariable a = 4" }],
 *   }),
 * });
 * const answer = await response.json();
 * assertEquals(answer.choices[0].message.content, "a = 4");
 * ```
 */
export function startSimulatedServer(options: SimulatedServerOptions = {}): SimulatedServer {
  const { port = 0, hostname = "127.0.0.1", latency = 0, sets = [], onRequest } = options;
  if (!(latency >= 0 && latency < 2 ** 31)) {
    throw new RangeError(
      `Cannot start the server as latency must be milliseconds from 0: it is ${latency}`,
    );
  }
  const truths = truthsOf(sets);
  const closing = new AbortController();
  let requests = 0;

  const complete = async (request: Request, read: Reader) => {
    requests++;
    const text = await readBody(request);
    if (text === undefined) return refuse(413, `The body must not exceed ${BODY_LIMIT} bytes`);
    const body = parseJson(text);
    if (body === undefined) return refuse(400, "The body must be JSON");
    const asked = read(body);
    if ("message" in asked) return refuse(asked.status ?? 400, asked.message, asked);
    const { chat, write } = asked;
    const chosen = readChosen(chat.tool_choice);
    if (chosen !== undefined && !chat.tools?.some((tool) => tool.function.name === chosen)) {
      return refuse(400, `There is no tool ${chosen} to choose`, { param: "tool_choice" });
    }
    onRequest?.(chat);
    try {
      const answer = parseSimulatedModel(chat.model, truths).reply(chat);
      await pause(latency, closing.signal);
      return Response.json(write(answer));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return refuse(404, error.message, { param: "model", code: "model_not_found" });
    }
  };

  const server = Deno.serve({
    port,
    hostname,
    onListen: () => {},
    onError: (error) => refuse(500, reasonOf(error), { type: "server_error" }),
  }, (request) => {
    const route = new URL(request.url).pathname;
    const read = READERS.get(route);
    if (read !== undefined) {
      return request.method === "POST" ? complete(request, read) : refuseMethod(request, "POST");
    }
    if (route === "/v1/models") {
      return request.method === "GET" ? listModels() : refuseMethod(request, "GET");
    }
    return refuse(404, `There is no ${request.method} ${route}`);
  });
  server.unref();

  const close = async () => {
    closing.abort();
    await server.shutdown();
  };
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${host}:${server.addr.port}/v1`,
    get requests() {
      return requests;
    },
    get finished() {
      server.ref();
      return server.finished;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Reads a body: what the model is asked, and how its answer is written. */
type Reader = (body: JsonValue) => Asked | WireFault;

interface Asked {
  readonly chat: ChatRequest;
  readonly write: (answer: ChatAnswer) => unknown;
}

const READERS: ReadonlyMap<string, Reader> = new Map([
  ["/v1/chat/completions", readChat],
  ["/v1/responses", readResponses],
]);

function readChat(body: JsonValue): Asked | WireFault {
  const parsed = chatRequestSchema.safeParse(body);
  // The body as it was sent, not zod's copy: that has its keys in another order.
  if (parsed.success) return { chat: body as unknown as ChatRequest, write: (answer) => answer };
  const path = z.core.toDotPath(parsed.error.issues[0]?.path ?? []);
  return { message: z.prettifyError(parsed.error), param: path || null };
}

function readResponses(body: JsonValue): Asked | WireFault {
  const asked = readResponsesRequest(body);
  if ("message" in asked) return asked;
  return { chat: asked.chat, write: (answer) => toResponse(answer, asked) };
}

function listModels(): Response {
  const data = SIMULATED_MODELS.map((id) => ({
    id,
    object: "model",
    created: 0,
    owned_by: "toolgate",
  }));
  return Response.json({ object: "list", data });
}

function refuseMethod(request: Request, allow: string): Response {
  return refuse(405, `The method must be ${allow}: it is ${request.method}`, {}, { allow });
}

/** An error in OpenAI's format. */
function refuse(
  status: number,
  message: string,
  details: { type?: string; param?: string | null; code?: string } = {},
  headers: Record<string, string> = {},
): Response {
  const { type = "invalid_request_error", param = null, code = null } = details;
  return Response.json({ error: { message, type, param, code } }, { status, headers });
}

/** The text of a body, or `undefined` if it is too long; it is not read further than the limit. */
async function readBody(request: Request): Promise<string | undefined> {
  if (Number(request.headers.get("content-length")) > BODY_LIMIT) return undefined;
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > BODY_LIMIT) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Waits, but not longer than until `signal`; the wait does not keep the process alive. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds === 0 || signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  const timer = setTimeout(stop, milliseconds);
  Deno.unrefTimer(timer);
  signal.addEventListener("abort", stop);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
}
