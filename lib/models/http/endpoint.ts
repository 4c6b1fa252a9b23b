/**
 * Endpoints: the address, key and headers of a model, its HTTP client, and the errors of its requests, which
 * must not reveal secrets.
 * @module
 */

import type OpenAI from "openai";
import type { APIError } from "openai";
import { retryAfterOf } from "../../base/backoff.ts";
import { cannot, reasonOf } from "../../base/errors.ts";
import { defined, printable } from "../../base/json.ts";
import { InfrastructureError } from "../model.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets, MARK, registerSecrets, requestSecrets } from "../../base/secrets.ts";

/** Address, key and headers of a model. */
export interface EndpointOptions {
  /** The model's name on the server. */
  model: string;
  /** The address before `/chat/completions` or `/responses`. Default: `https://api.openai.com/v1`. */
  baseURL?: string;
  /**
   * The key. Default: the environment's `OPENAI_API_KEY`, if Deno may read that without asking.
   * Required only for OpenAI's own servers.
   */
  apiKey?: string;
  /**
   * Headers to send with every request. Values of eight characters and more are treated as secrets, except
   * those of headers that contain none, such as `content-type` or `x-title`.
   */
  headers?: Record<string, string>;
}

/** Default base URL. */
export const OPENAI_URL = "https://api.openai.com/v1";

const KEY_VARIABLE = "OPENAI_API_KEY";
// Retrying limits every attempt; the client's own timeout is set to the longest timer.
const CLIENT_TIMEOUT = 2 ** 31 - 1;

/** The checked address of a model, with helpers for its error messages. */
export interface Endpoint {
  /** The model's name on the server. */
  readonly model: string;
  /** The model and its host, for messages. */
  readonly who: string;
  /** Its address. */
  readonly url: URL;
  /** The key, if there is one. */
  readonly key: string | undefined;
  /** The headers sent with every request. */
  readonly headers: Headers;
  /** Returns a server's text without secrets, on one line, cut. */
  readonly quote: (text: string) => string;
  /** Returns a text without known secrets, otherwise unchanged. */
  readonly hide: (text: string) => string;
}

/**
 * Checks an address, key and headers. The key, the headers and the secrets in the URL are registered as
 * secrets.
 *
 * @throws {InputError} If `baseURL` is not an http or https address, if the key for OpenAI's own servers is
 * missing, or if a header cannot be sent.
 */
export function endpointOf(options: EndpointOptions): Endpoint {
  const { model, baseURL = OPENAI_URL } = options;
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // The part before an @ may be a password, and the part after a ? a key.
    const shown = printable(redact(baseURL.replace(/^.*@/s, `${MARK}@`).replace(/\?.*/s, "?")));
    throw cannot(
      `ask ${model}`,
      "a base URL must start with http:// or https://",
      `it is "${shown}"`,
    );
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    setHeader(headers, name, value, `the header "${printable(name)}"`);
  }
  const key = options.apiKey?.trim() || environmentKey();
  if (key !== undefined) setHeader(new Headers(), "authorization", `Bearer ${key}`, "the API key");
  if (key === undefined && isOpenAI(url) && !headers.has("authorization")) {
    throw cannot(
      `ask ${model}`,
      "OpenAI requires a key",
      mayReadKey()
        ? `${KEY_VARIABLE} is not set; set it, or in code pass apiKey`
        : `${KEY_VARIABLE} may not be read; add --allow-env=${KEY_VARIABLE}, or in code pass apiKey`,
    );
  }
  registerSecrets([...requestSecrets(headers, url), ...(key === undefined ? [] : [key])]);
  // Only 300 characters are shown: a long page of HTML need not be searched to its end.
  const quote = (text: string) => printable(redact(text.slice(0, 20_000)), 300);
  const who = `${printable(model)} at ${url.host}`;
  return { model, who, url, key, headers, quote, hide: hideSecrets };
}

/** Sets a header; the runtime's own error is not passed on, as it may contain the value. */
function setHeader(headers: Headers, name: string, value: string, what: string) {
  try {
    headers.set(name, value);
  } catch {
    throw cannot(`send ${what}`, "HTTP does not allow some of its characters");
  }
}

function isOpenAI(url: URL): boolean {
  return url.hostname === "api.openai.com" || url.hostname.endsWith(".api.openai.com");
}

/** Returns whether the key may be read without a permission prompt. */
function mayReadKey(): boolean {
  return Deno.permissions.querySync({ name: "env", variable: KEY_VARIABLE }).state === "granted";
}

function environmentKey(): string | undefined {
  return mayReadKey() ? Deno.env.get(KEY_VARIABLE)?.trim() || undefined : undefined;
}

/** Bytes of a reply, at most: far more than any model writes. */
const MAX_BYTES = 16 * 2 ** 20;
const TOO_LONG = `a body must not exceed ${MAX_BYTES} bytes`;

/**
 * The connections of all requests. Those of the runtime's own client do not outlive a test: its runner drops
 * them in between. It is created with this module, as a test that is checked for leaks would be blamed for
 * creating it later.
 */
const CONNECTIONS = Deno.createHttpClient({});

/**
 * Creates a `fetch` for one client, whose headers are the same each time. It rejects bodies that are too
 * long: at once if their length is announced, otherwise as soon as too many unpacked bytes have arrived.
 */
function boundedFetch(): typeof fetch {
  // Copying headers takes the runtime as long as the rest of a request.
  let headers: Record<string, string> | undefined;
  return async (input, init) => {
    headers ??= Object.fromEntries(new Headers(init?.headers));
    return await withinLength(await fetch(input, { ...init, headers, client: CONNECTIONS }));
  };
}

/** Returns a response whose body is not too long, or throws. */
async function withinLength(response: Response): Promise<Response> {
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
  return new Response(await readBounded(body), response);
}

/** Bytes of the buffer that a body is first read into. */
const FIRST_BYTES = 2 ** 14;

/**
 * Reads a whole body that is not too long, or throws. All of it goes into one buffer: a chunk that the
 * runtime allocates takes 64 KiB, however little of it was received.
 */
async function readBounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader({ mode: "byob" });
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

/** OpenAI's client for an endpoint, and its library. */
interface Client {
  readonly client: OpenAI;
  readonly library: typeof import("openai");
}

/** Creates OpenAI's client for an endpoint; it never retries, and reads no environment. */
async function clientOf({ url, key, headers }: Endpoint): Promise<Client> {
  // Loading it takes a while, so it is loaded with the first request.
  const library = await import("openai");
  const { default: process } = await import("node:process");
  /** Also shows an error that a server puts elsewhere than in `error`. */
  class DetailedClient extends library.OpenAI {
    protected override makeStatusError(
      status: number,
      error: object | undefined,
      message: string | undefined,
      headers: Headers,
    ): APIError {
      const text = message ?? (error === undefined ? undefined : JSON.stringify(error));
      return super.makeStatusError(status, error as object, text, headers);
    }
  }
  // The client reads variables that no option can override (OPENAI_CUSTOM_HEADERS). While it is created it
  // sees none, so that none changes requests and Deno does not ask for permission.
  const environment = process.env;
  process.env = {};
  try {
    const client = new DetailedClient({
      baseURL: url.href,
      apiKey: key ?? "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      // The client iterates them with each request, which is faster for objects than for headers.
      defaultHeaders: Object.fromEntries(headers),
      fetch: boundedFetch(),
      // A redirect would send the headers to a host that the user did not name.
      fetchOptions: { redirect: "error" },
      maxRetries: 0,
      timeout: CLIENT_TIMEOUT,
      logLevel: "off",
    });
    return { client, library };
  } finally {
    process.env = environment;
  }
}

/**
 * Returns a function that posts a body to a path below the endpoint's base URL and returns the answer as
 * JSON, unchecked. It throws an {@linkcode InfrastructureError} for every fault of network or server.
 */
export function postTo(
  endpoint: Endpoint,
): (path: string, body: object, signal: AbortSignal) => Promise<unknown> {
  let connecting: Promise<Client> | undefined;
  return async (path, body, signal) => {
    const { client, library } = await (connecting ??= clientOf(endpoint));
    try {
      const { data, response } = await client.post<unknown>(path, { body, signal }).withResponse();
      // The client does not read a body announced as empty, which would stay open.
      if (!response.bodyUsed) await response.body?.cancel();
      return data;
    } catch (error) {
      throw networkFault(error, endpoint, library);
    }
  };
}

/** Turns a thrown error into one that says whether a retry may help. */
function networkFault(
  error: unknown,
  { who, url, quote }: Endpoint,
  { APIConnectionError, APIError }: Client["library"],
): InfrastructureError {
  const refused = causesOf(error).find((cause) => cause instanceof Deno.errors.NotCapable);
  if (refused !== undefined) {
    // After a redirect it may be another host than the requested one.
    const named = /access to "([^"]+)"/.exec(refused.message)?.[1] ?? url.host;
    const host = named.startsWith(`${url.hostname}:`) ? url.host : named;
    return new InfrastructureError(
      `Cannot reach ${url.host} as Deno was not given the permission: add --allow-net=${
        quote(host)
      }`,
    );
  }
  const action = `Cannot get a reply of ${who}`;
  if (error instanceof APIConnectionError) {
    // The client's own message, "Connection error.", says nothing that its cause does not.
    const reason = causesOf(error.cause ?? error).map((cause) => cause.message).join(": ");
    return new InfrastructureError(`${action}: ${quote(reason)}`, { retryable: true });
  }
  if (error instanceof APIError && error.status !== undefined) {
    const retryAfter = retryAfterOf(error.headers);
    const why = permanentReason(error);
    return new InfrastructureError(
      `${action}${why === undefined ? "" : ` as ${why}`}: ${quote(error.message)}`,
      {
        retryable: why === undefined && isRetryable(error.status, error.headers),
        rateLimited: error.status === 429 && why === undefined,
        ...defined({ retryAfter }),
      },
    );
  }
  // The client passes on errors of reading a body: a SyntaxError if it is not JSON, which quotes the body
  // too briefly for a key in it to be recognized, and a TypeError if the connection breaks.
  if (error instanceof SyntaxError) {
    return new InfrastructureError(`${action}: the body is no JSON`, { retryable: true });
  }
  const retryable = error instanceof TypeError;
  return new InfrastructureError(`${action}: ${quote(reasonOf(error))}`, { retryable });
}

/** Returns an error and its causes, the outermost first. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 8; cause = cause.cause) {
    causes.push(cause);
  }
  return causes;
}

function isRetryable(status: number, headers: Headers | undefined): boolean {
  const wish = headers?.get("x-should-retry");
  if (wish === "true" || wish === "false") return wish === "true";
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Returns why every retry of the request will be refused, if that is known. */
function permanentReason(error: APIError): string | undefined {
  if (isContextLength(error)) return "the conversation exceeds its context length";
  if (isOutOfCredit(error)) return "its account is out of credit, which no waiting changes";
  return undefined;
}

/** Error codes of limits that waiting does not lift. */
const OUT_OF_CREDIT: readonly unknown[] = [
  "insufficient_quota",
  "insufficient_balance",
  "billing_hard_limit_reached",
  "billing_not_active",
  "account_deactivated",
];

/** Checks code and type only: messages also mention quota and billing for limits per minute. */
function isOutOfCredit({ status, code, type }: APIError): boolean {
  return status === 429 && (OUT_OF_CREDIT.includes(code) || OUT_OF_CREDIT.includes(type));
}

function isContextLength({ status, code, message }: APIError): boolean {
  if (status !== 400 && status !== 413) return false;
  return code === "context_length_exceeded" ||
    /context.{0,12}(length|window|size)|prompt is too long/i.test(message);
}
