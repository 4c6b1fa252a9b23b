/**
 * Requests over plain HTTP, such as to servers on this machine: `node:http` takes half of what the runtime's `fetch`
 * takes. TLS and proxies are left to that, as `node:https` does not know which certificates Deno was told to trust.
 * @module
 */

import process from "node:process";
import type { Agent } from "node:http";
import { concatBytes } from "./input.ts";
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
  return url.protocol === "http:" && url.username === "" && isDirect(url);
}

/** A whole answer: of a `Response` it has what clients of models read. */
export class PlainAnswer implements Pick<Response, "body" | "ok" | "status" | "statusText"> {
  readonly ok: boolean;
  readonly statusText = "";

  constructor(
    readonly status: number,
    readonly fields: Readonly<Record<string, string>>,
    readonly whole: string,
  ) {
    this.ok = status >= 200 && status < 300;
  }

  get body(): Response["body"] {
    return new Response(this.whole || null).body;
  }

  get headers(): Headers {
    return new Headers(this.fields);
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
export function plainFetch(
  { host, hostname, port, pathname, search }: URL,
  { method, headers, body, signal, limit }: PlainRequest,
): Promise<PlainAnswer> {
  // Loaded with the first request, as it takes a while.
  const http = process.getBuiltinModule("node:http");
  connections ??= new http.Agent({ keepAlive: true });
  const bytes = new TextEncoder().encode(body);
  const { promise, resolve, reject } = Promise.withResolvers<PlainAnswer>();
  const request = http.request({
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port,
    path: pathname + search,
    method,
    agent: connections,
    // A list is sent as it is; an object would be checked and copied each time.
    headers: Object.entries({
      ...headers,
      host,
      connection: "keep-alive",
      "content-length": `${bytes.length}`,
    }).flat(),
  });
  const fail = (error: unknown) => {
    reject(error);
    request.destroy();
  };
  const abort = () => fail(signal!.reason);
  signal?.addEventListener("abort", abort);
  // Deno would send it again over a new connection if a kept one closes, though the server may have begun to answer.
  request.on("socket", () => request.reusedSocket = false);
  request.on("error", fail);
  request.on("close", () => {
    signal?.removeEventListener("abort", abort);
    reject(new TypeError("the connection was closed before the answer was whole"));
  });
  request.on("response", (response) => {
    const { statusCode: status = 0, headers: fields } = response;
    const { "content-length": announced, "content-encoding": packing, location } = fields;
    if (status >= 300 && status < 400 && location !== undefined) {
      return fail(new TypeError("it redirects, and redirect mode is set to 'error'"));
    }
    if (Number(announced) > limit) {
      return fail(new RangeError(tooLong(limit, `${announced} bytes are announced`)));
    }
    const chunks: Uint8Array[] = [];
    let length = 0;
    response.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length > limit) fail(new RangeError(tooLong(limit)));
      else chunks.push(chunk);
    });
    response.on("error", fail);
    response.on("end", () => {
      try {
        const text = new TextDecoder().decode(unpacked(concatBytes(chunks), packing, limit));
        resolve(new PlainAnswer(status, fields as Record<string, string>, text));
      } catch (error) {
        fail(error);
      }
    });
  });
  request.end(bytes);
  return promise;
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
  if (packing === undefined || packing === "identity") return bytes;
  const zlib = process.getBuiltinModule("node:zlib");
  const unpack = {
    br: zlib.brotliDecompressSync,
    deflate: zlib.inflateSync,
    gzip: zlib.gunzipSync,
  }[packing.toLowerCase()];
  if (unpack === undefined) {
    throw new TypeError(`it is packed as ${packing}, which nobody asked for`);
  }
  try {
    return unpack(bytes, { maxOutputLength: limit });
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(tooLong(limit)) : error;
  }
}
