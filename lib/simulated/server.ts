/**
 * Simulated models behind OpenAI's API, so that they are used like any other model: called within the process,
 * or served over HTTP.
 * @module
 */

import { z } from "zod";
import { serve } from "#runtime";
import type { CallSet } from "../tasks/questions/question_set.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { type JsonValue, parseJson } from "../base/json.ts";
import { readBody } from "../base/request_body.ts";
import { parseSimulatedModel } from "./_names.ts";
import { readChosen } from "./_reading.ts";
import { readResponsesRequest, type StoredItems, storeItems, toResponse } from "./_responses.ts";
import { completionChunks, eventStream, responseEvents } from "./_streaming.ts";
import { truthsOf } from "./_truth.ts";
import {
  asWritten,
  type ChatAnswer,
  type ChatRequest,
  chatRequestSchema,
  type SimulatedModel,
  type WireFault,
} from "./_wire.ts";

/** Options of {@linkcode startSimulatedServer}. */
export interface SimulatedServerOptions {
  /** The port. Default: 0, any free one. */
  readonly port?: number;
  /** Call sets whose true calls `sim:truth` knows. Default: none. */
  readonly sets?: readonly CallSet[];
  /** Called with every well-formed request, as the model reads it, before the reply. */
  readonly onRequest?: (body: ChatRequest) => void;
}

/** A running server. It does not keep a process alive, unless `finished` is read. */
export interface SimulatedServer extends AsyncDisposable {
  /** The base URL for OpenAI clients; it ends in `/v1`. */
  readonly url: string;
  /** The number of requests for replies so far, including refused ones. */
  readonly requests: number;
  /** Settles when the server has closed. Once it is read, the server keeps the process alive. */
  readonly finished: Promise<void>;
  /** Stops accepting requests, answers pending ones, and closes. */
  close(): Promise<void>;
}

const BODY_LIMIT = 64 * 2 ** 20;

/**
 * Returns a `fetch` that simulated models answer within the process, whatever the host of the address. It needs
 * no permission and no proxy is in its way.
 */
export function simulatedFetch(sets?: readonly CallSet[]): typeof fetch {
  const answer = answering({ sets });
  return async (input, init = {}) => {
    const { body } = init;
    // Of what has a text already no request is made, which takes longer than answering it.
    const request = typeof body === "string"
      ? { url: String(input), method: init.method ?? "GET", body }
      : new Request(input, init);
    const signal = request instanceof Request ? request.signal : init.signal ?? undefined;
    const response = await answer(request);
    signal?.throwIfAborted();
    return response;
  };
}

/**
 * Starts a server that answers `POST /v1/chat/completions` and `POST /v1/responses` for every simulated
 * model. Errors have OpenAI's format: 400 for a malformed body, 404 for an unknown model or path, 413 for a body above
 * 64 MiB. It never logs. With `stream` an answer comes piece by piece, in the events that OpenAI sends.
 *
 * Responses contain a reasoning item, unless the effort is `none`. It must be sent back together with the items
 * that it led to: without it the next request is refused. An item may be sent back by its id alone, as an
 * `item_reference`, unless `store` was `false`.
 *
 * @throws If the port is taken.
 */
export async function startSimulatedServer(
  options: SimulatedServerOptions = {},
): Promise<SimulatedServer> {
  const { port = 0 } = options;
  let requests = 0;
  const answer = answering({ ...options, onAsked: () => requests++ });
  const server = await serve(async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      return decline(500, reasonOf(error), { type: "server_error" });
    }
  }, { hostname: "127.0.0.1", port });
  server.unref();

  const close = () => server.shutdown();
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
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

/** A request, whose body may have been read. */
type Asked = Request | { readonly url: string; readonly method: string; readonly body: string };

/** Answers one request. */
type Answering = (request: Asked) => Response | Promise<Response>;

/** Returns what answers requests; `onAsked` is called with each one for a reply, also one that is refused. */
function answering(
  { sets = [], onRequest, onAsked }:
    & Pick<SimulatedServerOptions, "sets" | "onRequest">
    & { readonly onAsked?: () => void },
): Answering {
  const truths = truthsOf(sets);
  const stored: StoredItems = new Map();
  /** The model that was asked last: most requests are for the same. */
  let model: SimulatedModel | undefined;
  const complete = async (request: Asked, read: BodyReader) => {
    onAsked?.();
    const text = request instanceof Request ? await readBody(request, BODY_LIMIT) : request.body;
    if (text === undefined) return decline(413, `The body must not exceed ${BODY_LIMIT} bytes`);
    const body = parseJson(text);
    if (body === undefined) return decline(400, "The body must be JSON");
    const parsed = read(body, stored);
    if ("message" in parsed) return decline(parsed.status ?? 400, parsed.message, parsed);
    const { write } = parsed;
    const chat = asWritten(parsed.chat);
    const chosen = readChosen(chat.tool_choice);
    if (chosen !== undefined && !chat.tools?.some((tool) => tool.function.name === chosen)) {
      return decline(400, `There is no tool ${chosen} to choose`, { param: "tool_choice" });
    }
    onRequest?.(chat);
    try {
      if (model?.name !== chat.model) model = parseSimulatedModel(chat.model, truths);
      return write(model.reply(chat));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      return decline(404, error.message, { param: "model", code: "model_not_found" });
    }
  };
  return (request) => {
    const route = new URL(request.url).pathname;
    const read = READERS.get(route);
    return read !== undefined && request.method === "POST"
      ? complete(request, read)
      : decline(404, `There is no ${request.method} ${route}`);
  };
}

/** Parses a body to the request for the model and a function that sends its answer. */
type BodyReader = (body: JsonValue, stored: StoredItems) => ParsedRequest | WireFault;

interface ParsedRequest {
  readonly chat: ChatRequest;
  readonly write: (answer: ChatAnswer) => Response;
}

const READERS: ReadonlyMap<string, BodyReader> = new Map([
  ["/v1/chat/completions", readChat],
  ["/v1/responses", readResponses],
]);

function readChat(body: JsonValue): ParsedRequest | WireFault {
  const parsed = chatRequestSchema.safeParse(body);
  if (!parsed.success) {
    const path = z.core.toDotPath(parsed.error.issues[0]?.path ?? []);
    return { message: z.prettifyError(parsed.error), param: path || null };
  }
  const { stream, stream_options: options } = parsed.data;
  if (options && !stream) {
    return { message: "stream_options require stream", param: "stream_options" };
  }
  return {
    // The original body, as zod's copy has its keys in another order.
    chat: body as unknown as ChatRequest,
    write: stream
      ? (answer) => eventStream(completionChunks(answer, options ?? {}))
      : (answer) => Response.json(answer),
  };
}

function readResponses(body: JsonValue, stored: StoredItems): ParsedRequest | WireFault {
  const parsed = readResponsesRequest(body, stored);
  if ("message" in parsed) return parsed;
  return {
    chat: parsed.chat,
    write: (answer) => {
      const response = toResponse(answer, parsed);
      if (parsed.stores) storeItems(response, stored);
      return parsed.streams ? eventStream(responseEvents(response)) : Response.json(response);
    },
  };
}

/** An error in OpenAI's format. */
function decline(
  status: number,
  message: string,
  details: { type?: string; param?: string | null; code?: string } = {},
): Response {
  const { type = "invalid_request_error", param = null, code = null } = details;
  return Response.json({ error: { message, type, param, code } }, { status });
}
