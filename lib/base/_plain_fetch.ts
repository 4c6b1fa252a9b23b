/**
 * Requests over plain HTTP, such as to servers on this machine: `node:http` takes half of what the runtime's `fetch`
 * takes. TLS and proxies are left to that, as `node:https` does not know which certificates Deno was told to trust.
 * @module
 */

import process from "node:process";
import type { Agent, AgentOptions } from "node:http";
import { isDirect } from "./proxy.ts";

/** The kept connections, as many as there were requests at the same time. */
let connections: Agent | undefined;

/** What a request has, in the form in which it is sent. */
export interface PlainRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal | null | undefined;
  /** Bytes of the unpacked answer, at most. */
  readonly limit: number;
}

/** Whether requests to an address can be sent without TLS, a proxy and a password. */
export function isPlain(url: URL): boolean {
  return url.protocol === "http:" && url.username + url.password === "" && isDirect(url);
}

/** A whole answer: of a `Response` it has what clients of models read. */
export class PlainAnswer implements Pick<Response, "body" | "ok" | "status" | "statusText"> {
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
export async function plainFetch(
  { host, hostname, port, pathname, search }: URL,
  { method, headers, body, signal, limit }: PlainRequest,
): Promise<PlainAnswer> {
  signal?.throwIfAborted();
  // Loaded with the first request, as it takes a while.
  const http = process.getBuiltinModule("node:http");
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
    if (Number(announced) > limit) {
      return fail(new RangeError(tooLong(limit, `${announced} bytes are announced`)));
    }
    const received = new Gathered(limit);
    response.on("data", (chunk: Uint8Array) => {
      if (!received.add(chunk)) fail(new RangeError(tooLong(limit)));
    });
    response.on("error", fail);
    response.on("end", () => {
      try {
        const text = new TextDecoder().decode(unpacked(received.bytes, packing, limit));
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

  constructor(readonly limit: number) {}

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Adds a chunk; returns whether there was room for it. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length;
    if (length > this.limit) return false;
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
export function tooLong(limit: number, why = "more than that came"): string {
  return `a body must not exceed ${limit} bytes: ${why}`;
}

/** Unpacks a body, though nobody asked for a packed one. */
function unpacked(
  bytes: Uint8Array,
  packing: string | undefined,
  limit: number,
): Uint8Array {
  const name = packing?.toLowerCase() ?? "";
  if (name === "" || name === "identity") return bytes;
  const zlib = process.getBuiltinModule("node:zlib");
  const unpack = new Map([
    ["br", zlib.brotliDecompressSync],
    ["deflate", zlib.inflateSync],
    ["gzip", zlib.gunzipSync],
  ]).get(name);
  if (unpack === undefined) {
    throw new TypeError(`it is packed as ${packing}, which nobody asked for`);
  }
  try {
    return unpack(bytes, { maxOutputLength: limit });
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(tooLong(limit)) : error;
  }
}
