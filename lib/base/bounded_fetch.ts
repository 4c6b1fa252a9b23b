/**
 * The `fetch` of clients of models: sends a request once, over connections that all share, and reads no body that
 * is too long.
 * @module
 */

import defer * as http from "node:http";
import { httpClient, isDirect } from "./proxy.ts";
import { readBody } from "./request_body.ts";
import { isTraced } from "./tracing.ts";
import { cutText, isShallowText } from "./json.ts";
import type { Agent, AgentOptions } from "node:http";
import defer * as zlib from "node:zlib";

/** Bytes of a reply, at most: far more than any model writes. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * The connections of all requests. Those of the runtime's own client do not outlive a test: its runner drops
 * them in between. It is created with this module, as a test that is checked for leaks would be blamed for
 * creating it later.
 */
const CONNECTIONS = httpClient();

/** What a request has. */
export interface BoundedInit extends RequestInit {
  /** Whether its answer is passed on as it comes, so that it may break off; others are read whole. */
  readonly isPassedOn?: boolean | undefined;
}

/**
 * Creates a `fetch` for one client, whose headers are the same each time. It rejects bodies that are too
 * long: at once if their length is announced, otherwise as soon as too many unpacked bytes have arrived.
 */
export function boundedFetch() {
  // Copying headers takes the runtime as long as the rest of a request.
  let headers: Record<string, string> | undefined;
  return async (input: RequestInfo | URL, init?: BoundedInit): Promise<Response> => {
    headers ??= Object.fromEntries(new Headers(init?.headers));
    const { body, method = "GET", signal, isPassedOn = false } = init ?? {};
    const target = targetOf(String(input instanceof Request ? input.url : input));
    const isStreamed = isPassedOn || typeof body === "string" && body.includes('"stream":true');
    let response: Response | PlainAnswer;
    if (typeof body === "string" && target.isPlain && !isStreamed && !isTraced() && isOwnFetch()) {
      response = await plainFetch(target.url, { method, headers, body, signal });
    } else {
      // The runtime would send a text again, unseen, if a kept connection closes while the model is writing. Without
      // the permission nothing is sent, and a stream would stay open.
      const once = typeof body === "string" && target.isPermitted ? new Blob([body]) : body;
      const options = { ...init, body: once, headers, client: CONNECTIONS };
      response = await withinLength(await fetch(input, options), isStreamed);
    }
    // No server of a model says that.
    if (response.status === 407) {
      await response.body?.cancel();
      throw new TypeError("proxy authentication required");
    }
    return (response.ok ? response : await shallowError(response)) as Response;
  };
}

/** Addresses to which requests may be sent: asking Deno takes a while, and is done until they may. */
const permitted = new Map<string, { readonly url: URL; readonly isPlain: boolean }>();

/** Returns where requests to an address go, whether they may, and whether they need no TLS, proxy and password. */
function targetOf(address: string) {
  const known = permitted.get(address);
  if (known !== undefined) return { ...known, isPermitted: true };
  const url = new URL(address);
  const { state } = Deno.permissions.querySync({ name: "net", host: url.host });
  const isPermitted = state === "granted";
  const isPlain = isPermitted && url.protocol === "http:" && url.username + url.password === "" &&
    isDirect(url);
  if (isPermitted) permitted.set(address, { url, isPlain });
  return { url, isPlain, isPermitted };
}

let seen: typeof fetch | undefined;
let isOwn = false;

/** Whether `fetch` is the runtime's: who has replaced it, as mocks do, awaits each request there. */
function isOwnFetch(): boolean {
  if (seen !== fetch) {
    seen = fetch;
    isOwn = /lazyFetch|\[native code\]/.test(Function.prototype.toString.call(fetch));
  }
  return isOwn;
}

/** Returns the response of an error, which OpenAI's client parses, cut where it nests without end. */
async function shallowError(response: Response | PlainAnswer): Promise<Response> {
  const text = await response.text();
  return new Response(
    (isShallowText(text) ? text : cutText(text, 1_000)) || null,
    response as Response,
  );
}

/** Returns a response whose body is not too long, or throws; one that was asked for in pieces is passed on as it comes. */
async function withinLength(response: Response, inPieces: boolean): Promise<Response> {
  const { body, headers } = response;
  if (body === null) return response;
  const announced = headers.get("content-length");
  const bytes = Number(announced);
  if (bytes > MAX_BYTES) {
    await body.cancel();
    throw new RangeError(tooLong(`${bytes} bytes are announced`));
  }
  // The length of a compressed body says little about its content.
  if (announced !== null && !headers.has("content-encoding")) return response;
  if (inPieces) return new Response(boundedBody(body), response);
  const text = await readBody(response, MAX_BYTES);
  if (text === undefined) throw new RangeError(tooLong());
  return new Response(text, response);
}

/** Returns a body that breaks off as soon as it is too long, or `signal` aborts; `onChunk` hears of each chunk. */
export function boundedBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal?: AbortSignal,
  onChunk = () => {},
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return body.pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_BYTES) throw new RangeError(tooLong());
        onChunk();
        controller.enqueue(chunk);
      },
    }),
    { signal },
  );
}

// Requests over plain HTTP, such as to servers on this machine: `node:http` takes half of what the runtime's `fetch`
// takes. TLS and proxies are left to that, as `node:https` does not know which certificates Deno was told to trust, and
// so are requests that are traced.

/** The kept connections, as many as there were requests at the same time. */
let connections: Agent | undefined;

/** A whole answer: of a `Response` it has what clients of models read. */
class PlainAnswer implements Pick<Response, "body" | "ok" | "status" | "statusText"> {
  readonly ok: boolean;
  readonly statusText = "";
  /** Clients list them, which takes those of the runtime as long as sending the request. */
  readonly headers: ReadonlyMap<string, string>;

  constructor(
    readonly status: number,
    fields: Readonly<Record<string, unknown>>,
    readonly whole: string,
  ) {
    this.ok = status >= 200 && status < 300;
    this.headers = new Map(Object.entries(fields).map(([name, value]) => [name, String(value)]));
  }

  get body(): Response["body"] {
    return new Response(this.whole || null).body;
  }

  text(): Promise<string> {
    return Promise.resolve(this.whole);
  }
}

/**
 * Sends a request once, and returns the whole answer.
 *
 * @throws {TypeError} If no whole answer comes.
 * @throws {RangeError} If it is too long.
 */
async function plainFetch(
  { host, hostname, port, pathname, search }: URL,
  { method, headers, body, signal }: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly signal: AbortSignal | null | undefined;
  },
): Promise<PlainAnswer> {
  signal?.throwIfAborted();
  // Where a proxy is in the way the runtime asks it, whatever Node's own variables say.
  connections ??= new http.Agent({ keepAlive: true, proxyEnv: {} } as AgentOptions);
  const bytes = new TextEncoder().encode(body);
  const { "transfer-encoding": _, ...own } = headers;
  const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
  const request = http.request({
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port,
    path: pathname + search,
    method,
    agent: connections,
    maxHeaderSize: MAX_HEADER,
    // A list is sent as it is; an object would be checked and copied each time.
    headers: Object.entries({
      connection: "keep-alive",
      ...own,
      host,
      "content-length": `${bytes.length}`,
    }).flat(),
  });
  const fail = (error: unknown) => {
    reject(isReset(error) ? new TypeError(CLOSED) : error);
    request.destroy();
  };
  const abort = () => fail(signal!.reason);
  signal?.addEventListener("abort", abort);
  // Deno would send it again over a new connection if a kept one closes, though the server may have begun to answer.
  request.on("socket", () => request.reusedSocket = false);
  request.on("error", fail);
  request.on("close", () => {
    signal?.removeEventListener("abort", abort);
    reject(new TypeError(CLOSED));
  });
  request.on("response", (response) => {
    const { statusCode: status = 0, headers: fields } = response;
    const { "content-length": announced, "content-encoding": packing } = fields;
    if (REDIRECTS.includes(status)) {
      return fail(new TypeError("it redirects, and redirect mode is set to 'error'"));
    }
    if (Number(announced) > MAX_BYTES) {
      return fail(new RangeError(tooLong(`${announced} bytes are announced`)));
    }
    const received = new Gathered();
    response.on("data", (chunk: Uint8Array) => {
      if (!received.add(chunk)) fail(new RangeError(tooLong()));
    });
    response.on("error", fail);
    response.on("end", () => {
      try {
        const text = new TextDecoder().decode(unpacked(received.bytes, packing));
        resolve(new PlainAnswer(status, fields, text));
      } catch (error) {
        fail(error);
      }
    });
  });
  request.end(bytes);
  return await promise;
}

/** Bytes of the headers of an answer, at most. */
const MAX_HEADER = 2 ** 18;
const REDIRECTS = [301, 302, 303, 307, 308];
const CLOSED = "the connection was closed before the answer was whole";

function isReset(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET";
}

/** Chunks in one buffer: each by itself takes a hundred bytes, however small it is. */
class Gathered {
  #buffer = new Uint8Array(2 ** 14);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Adds a chunk; returns whether there was room for it. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > MAX_BYTES) return false;
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#buffer.length));
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
    return true;
  }
}

/** Says that a body is too long. */
function tooLong(why = "more than that came"): string {
  return `a body must not exceed ${MAX_BYTES} bytes: ${why}`;
}

/** Unpacks a body, though nobody asked for a packed one. */
function unpacked(
  bytes: Uint8Array,
  packing: string | undefined,
): Uint8Array {
  const name = packing?.toLowerCase() ?? "";
  if (name === "" || name === "identity") return bytes;
  const unpack = new Map([
    ["br", zlib.brotliDecompressSync],
    ["deflate", zlib.inflateSync],
    ["gzip", zlib.gunzipSync],
  ]).get(name);
  if (unpack === undefined) {
    throw new TypeError(`it is packed as ${packing}, which nobody asked for`);
  }
  try {
    return unpack(bytes, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(tooLong()) : error;
  }
}
