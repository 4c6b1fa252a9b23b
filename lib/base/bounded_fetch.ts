/**
 * The `fetch` of clients of models: sends a request once, over connections that all share, and reads no body that
 * is too long.
 * @module
 */

import { httpClient } from "./proxy.ts";
import { cutText, isShallowText } from "./json.ts";

/** Bytes of a reply, at most: far more than any model writes. */
const MAX_BYTES = 16 * 2 ** 20;
const TOO_LONG = `a body must not exceed ${MAX_BYTES} bytes`;

/**
 * The connections of all requests. Those of the runtime's own client do not outlive a test: its runner drops
 * them in between. It is created with this module, as a test that is checked for leaks would be blamed for
 * creating it later.
 */
const CONNECTIONS = httpClient();

/**
 * Creates a `fetch` for one client, whose headers are the same each time. It rejects bodies that are too
 * long: at once if their length is announced, otherwise as soon as too many unpacked bytes have arrived.
 */
export function boundedFetch(): typeof fetch {
  // Copying headers takes the runtime as long as the rest of a request.
  let headers: Record<string, string> | undefined;
  return async (input, init) => {
    headers ??= Object.fromEntries(new Headers(init?.headers));
    const body = sentOnce(input, init?.body);
    const response = await fetch(input, { ...init, body, headers, client: CONNECTIONS });
    // No server of a model says that.
    if (response.status === 407) {
      await response.body?.cancel();
      throw new TypeError("proxy authentication required");
    }
    const isStreamed = typeof init?.body === "string" && init.body.includes('"stream":true');
    const answer = await withinLength(response, isStreamed);
    return answer.ok || answer.body === null ? answer : await shallowError(answer);
  };
}

/** Returns the response of an error, which OpenAI's client parses, cut where it nests without end. */
async function shallowError(response: Response): Promise<Response> {
  const text = await response.text();
  return new Response(isShallowText(text) ? text : cutText(text, 1_000), response);
}

/**
 * Returns a body that the runtime cannot send again: it would do so with a text, unseen, if a kept connection
 * closes while the model is writing. Without the permission nothing is sent, and a stream would stay open.
 */
function sentOnce(
  input: string | URL | Request,
  body: BodyInit | null | undefined,
): BodyInit | null | undefined {
  if (typeof body !== "string") return body;
  return isPermitted(String(input instanceof Request ? input.url : input))
    ? new Blob([body])
    : body;
}

/** Addresses to which requests may be sent. */
const permitted = new Set<string>();

/** Whether a request may be sent to an address; asking Deno takes a while, and is done until it may. */
function isPermitted(address: string): boolean {
  if (permitted.has(address)) return true;
  const { state } = Deno.permissions.querySync({ name: "net", host: new URL(address).host });
  if (state === "granted") permitted.add(address);
  return state === "granted";
}

/** Returns a response whose body is not too long, or throws; one that was asked for in pieces is passed on as it comes. */
async function withinLength(response: Response, inPieces: boolean): Promise<Response> {
  const { body, headers } = response;
  if (body === null) return response;
  const announced = headers.get("content-length");
  const bytes = Number(announced);
  if (bytes > MAX_BYTES) {
    await body.cancel();
    throw new RangeError(`${TOO_LONG}: ${bytes} bytes are announced`);
  }
  // The length of a compressed body says little about its content.
  if (announced !== null && !headers.has("content-encoding")) return response;
  if (inPieces) return new Response(boundedBody(body), response);
  return new Response(await readBounded(body), response);
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
        if (bytes > MAX_BYTES) throw new RangeError(`${TOO_LONG}: more than that came`);
        onChunk();
        controller.enqueue(chunk);
      },
    }),
    { signal },
  );
}

/** Bytes of the buffer that a body is first read into. */
const FIRST_BYTES = 2 ** 14;

/**
 * Reads a whole body that is not too long, or throws. All of it goes into one buffer: a chunk that the
 * runtime allocates takes 64 KiB, however little of it was received.
 */
async function readBounded(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = byteReader(body);
  // A body made by a program, as a stand-in for `fetch` makes one, has its chunks already.
  if (reader === undefined) return await new Response(boundedBody(body)).bytes();
  let buffer = new Uint8Array(FIRST_BYTES);
  let bytes = 0;
  while (true) {
    const { done, value } = await reader.read(buffer.subarray(bytes));
    // Reading takes the buffer away, and gives it back with what it read.
    if (value !== undefined) buffer = new Uint8Array(value.buffer);
    if (done) return buffer.subarray(0, bytes);
    bytes += value.length;
    if (bytes > MAX_BYTES) {
      await reader.cancel();
      throw new RangeError(`${TOO_LONG}: more than that came`);
    }
    if (bytes < buffer.length) continue;
    const larger = new Uint8Array(2 * buffer.length);
    larger.set(buffer);
    buffer = larger;
  }
}

/** Returns a reader that fills the caller's buffers; `undefined` if a stream has none. */
function byteReader(body: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
