/**
 * The `fetch` of clients of models: sends a request once, over connections that all share, and reads no body that
 * is too long.
 * @module
 */

import { isGranted } from "#runtime";
import { httpClient } from "./proxy.ts";
import { readBody } from "./request_body.ts";
import { cutText, isShallowText } from "./json.ts";

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
    const { body, isPassedOn = false } = init ?? {};
    const address = String(input instanceof Request ? input.url : input);
    const isStreamed = isPassedOn || typeof body === "string" && body.includes('"stream":true');
    // The runtime would send a text again, unseen, if a kept connection closes while the model is writing. Without
    // the permission nothing is sent, and a stream would stay open.
    const once = typeof body === "string" && isPermitted(address) ? new Blob([body]) : body;
    const options = { ...init, body: once, headers, ...CONNECTIONS };
    const response = await withinLength(await fetch(input, options), isStreamed);
    // No server of a model says that.
    if (response.status === 407) {
      await response.body?.cancel();
      throw new TypeError("proxy authentication required");
    }
    return response.ok ? response : await shallowError(response);
  };
}

/** Addresses to which requests may be sent: asking Deno takes a while, and is done until they may. */
const permitted = new Set<string>();

function isPermitted(address: string): boolean {
  if (permitted.has(address)) return true;
  if (!isGranted({ name: "net", host: new URL(address).host })) return false;
  permitted.add(address);
  return true;
}

/** Returns the response of an error, which OpenAI's client parses, cut where it nests without end. */
async function shallowError(response: Response): Promise<Response> {
  const text = await response.text();
  return new Response(
    (isShallowText(text) ? text : cutText(text, 1_000)) || null,
    response,
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

/** Says that a body is too long. */
function tooLong(why = "more than that came"): string {
  return `a body must not exceed ${MAX_BYTES} bytes: ${why}`;
}
