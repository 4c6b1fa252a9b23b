/**
 * Calls of a service: sent once, ended in time, read up to a limit, and never led to another server.
 * @module
 */

import { inTime } from "../../base/deadline.ts";
import { networkReason } from "../../base/errors.ts";
import { type JsonObject, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { readBody } from "../../base/request_body.ts";
import { InfrastructureError } from "../../models/model.ts";
import { ToolError } from "../../tools/tool_error.ts";
import type { Operation } from "./_operation.ts";
import { type CallRequest, requestOf } from "./_request.ts";

/** The service that answers calls. */
export interface Service {
  readonly base: URL;
  /** Sent with every request; not shown to models. */
  readonly headers: Headers;
  /** Seconds that a call may take. */
  readonly seconds: number;
}

/** Bytes of a response, at most: more than models read. */
const MAX_BYTES = 2 ** 20;
/** Characters of a failed response that its error quotes. */
const MAX_QUOTED = 500;
/**
 * The connections of calls that change something, none of which is kept: the runtime would send such a call again,
 * unseen, where a kept one closes. It is created with this module, as a test that is checked for leaks would be
 * blamed for creating it later.
 */
const NOT_KEPT = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
/** Redirects that are followed, at most. */
const MAX_REDIRECTS = 5;

/** A response that is no success. `toToolError()` reads its fields. */
class ResponseError extends Error {
  override name = "ResponseError";

  constructor(readonly status: number, readonly headers: Headers, text: string) {
    const body = text.trim() === "" ? "" : `: ${printable(redact(text), MAX_QUOTED)}`;
    super(`HTTP ${status}${body}`);
  }
}

/**
 * Calls an operation and returns the text of the response; `undefined` if it has none.
 *
 * @throws {InfrastructureError} If the service cannot be reached.
 * @throws {ToolError} If the arguments cannot be sent, or the response does not come in time.
 * @throws {Error} If the response is no success, with `status` and `headers`, or is too long.
 */
export async function callService(
  operation: Operation,
  input: JsonObject,
  { base, headers, seconds }: Service,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const request = requestOf(operation, input, base, headers);
  return await inTime((stop) => respond(request, stop), {
    timeout: 1000 * seconds,
    outOfTime: () => new ToolError("timeout", `No response within ${seconds} seconds`),
    signal,
  });
}

async function respond(request: CallRequest, signal: AbortSignal): Promise<string | undefined> {
  const response = await send(request, signal);
  const text = await reached(request.url, () => readBody(response, MAX_BYTES));
  if (!response.ok) throw new ResponseError(response.status, response.headers, text ?? "");
  if (text !== undefined) return text === "" ? undefined : text;
  throw new Error(`The response must not exceed ${MAX_BYTES} bytes, and it is longer`);
}

/** Sends a request; redirects of a server to itself are followed where nothing is sent again but a question. */
async function send(request: CallRequest, signal: AbortSignal): Promise<Response> {
  let { url, method, body } = request;
  const headers = new Headers(request.headers);
  for (let redirects = 0;; redirects++) {
    const isQuestion = method === "GET" || method === "HEAD";
    const connection = isQuestion ? {} : { client: NOT_KEPT };
    const init = { method, headers, signal, redirect: "manual", body } as const;
    const response = await reached(url, () => fetch(url, { ...init, ...connection }));
    const location = response.headers.get("location");
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
    if (!isQuestion && response.status !== 303) return response;
    await response.body?.cancel();
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    // The headers may hold keys, and arguments may be secret too.
    const fault = next?.origin !== url.origin
      ? "to another one, which is not followed"
      : redirects >= MAX_REDIRECTS
      ? `more than ${MAX_REDIRECTS} times`
      : undefined;
    if (fault !== undefined || next === undefined) {
      throw new Error(`HTTP ${response.status}: the server redirects ${fault}`);
    }
    if (!isQuestion) {
      [method, body] = ["GET", undefined];
      headers.delete("content-type");
    }
    url = next;
  }
}

/**
 * Returns what comes of work with a server.
 *
 * @throws {InfrastructureError} If the server cannot be reached, which no model is to blame for.
 */
async function reached<T>({ host }: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new InfrastructureError(
      `No response from ${printable(host, 200)}: ${printable(redact(networkReason(error)), 300)}`,
      { retryable: true, cause: error },
    );
  }
}
