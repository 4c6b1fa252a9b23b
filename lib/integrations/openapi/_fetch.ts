/**
 * Calls of a service: sent once, ended in time, read up to a limit, and never led to another server.
 * @module
 */

import { inTime } from "../../base/deadline.ts";
import { reasonOf } from "../../base/errors.ts";
import { defined, type JsonObject, printable } from "../../base/json.ts";
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
    ...defined({ signal }),
  });
}

async function respond(request: CallRequest, signal: AbortSignal): Promise<string | undefined> {
  const response = await send(request, signal);
  const { status } = response;
  const text = await readText(response);
  if (!response.ok) throw new ResponseError(status, response.headers, text ?? "");
  if (text !== undefined) return text === "" ? undefined : text;
  throw new Error(`The response must not exceed ${MAX_BYTES} bytes, and it is longer`);
}

async function readText(response: Response): Promise<string | undefined> {
  try {
    const text = await readBody(response, MAX_BYTES);
    if (text === undefined) await response.body?.cancel();
    return text;
  } catch (error) {
    throw unreachable(response.url, error);
  }
}

/** Sends a request; redirects of a server to itself are followed where nothing is sent again but a question. */
async function send(request: CallRequest, signal: AbortSignal): Promise<Response> {
  let { url, method, body } = request;
  const headers = new Headers(request.headers);
  for (let redirects = 0;; redirects++) {
    const response = await sendOnce(url, { method, headers, signal, ...defined({ body }) });
    const location = response.headers.get("location");
    if (location === null || ![301, 302, 303, 307, 308].includes(response.status)) return response;
    if (!isQuestion(method) && response.status !== 303) return response;
    await response.body?.cancel();
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    // The headers may hold keys, and arguments may be secret too.
    if (next?.origin !== url.origin) {
      throw new Error(
        `HTTP ${response.status}: the server redirects to another one, which is not followed`,
      );
    }
    if (redirects >= MAX_REDIRECTS) {
      throw new Error(
        `HTTP ${response.status}: the server redirects more than ${MAX_REDIRECTS} times`,
      );
    }
    if (!isQuestion(method)) {
      [method, body] = ["GET", undefined];
      headers.delete("content-type");
    }
    url = next;
  }
}

/** Whether a request changes nothing. */
function isQuestion(method: string | undefined): boolean {
  return method === "GET" || method === "HEAD";
}

async function sendOnce(url: URL, init: RequestInit): Promise<Response> {
  try {
    const client = isQuestion(init.method) ? {} : { client: NOT_KEPT };
    return await fetch(url, { ...init, ...client, redirect: "manual" });
  } catch (error) {
    init.signal?.throwIfAborted();
    throw unreachable(url.href, error);
  }
}

/** The error of a service that cannot be reached: nothing that a model did. */
function unreachable(address: string, error: unknown): InfrastructureError {
  const host = URL.canParse(address) ? new URL(address).host : "the service";
  return new InfrastructureError(
    `No response from ${printable(host, 200)}: ${printable(redact(reasonOf(error)), 300)}`,
    { retryable: true, cause: error },
  );
}
