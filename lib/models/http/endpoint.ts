/**
 * Endpoints: where a model is asked, as whom, and what must not be said about it; and the faults
 * that asking there can have.
 * @module
 */

import type OpenAI from "openai";
import type { APIError } from "openai";
import { retryAfterOf } from "../../base/backoff.ts";
import { InputError, reasonOf } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { InfrastructureError } from "../model.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets, MARK, registerSecrets, requestSecrets } from "../../base/secrets.ts";

/** Where a model is asked, and as whom. */
export interface EndpointOptions {
  /** The model's name, as the server knows it. */
  model: string;
  /** The address up to and without `/chat/completions` or `/responses`; default `https://api.openai.com/v1`. */
  baseURL?: string;
  /**
   * The key; default the environment's `OPENAI_API_KEY`, if Deno may read that without asking.
   * Required for OpenAI's own servers only.
   */
  apiKey?: string;
  /**
   * Headers to send with every request. Values of eight characters and more are treated as secrets, but
   * for those of headers that hold none, such as `content-type` or `x-title`.
   */
  headers?: Record<string, string>;
}

/** The server of models that name none. */
export const OPENAI_URL = "https://api.openai.com/v1";

const KEY_VARIABLE = "OPENAI_API_KEY";
// Retrying bounds every attempt; the client's own clock, set to the longest timer, stays out of it.
const CLIENT_TIMEOUT = 2 ** 31 - 1;

/** The checked address of a model, with what it takes to speak about its faults. */
export interface Endpoint {
  /** The model, as the server knows it. */
  readonly model: string;
  /** The model and its host, as messages name them. */
  readonly who: string;
  /** Its address. */
  readonly url: URL;
  /** The key, if there is one. */
  readonly key: string | undefined;
  /** What is sent with every request. */
  readonly headers: Headers;
  /** What a server said, without secrets, on one line, cut. */
  readonly quote: (text: string) => string;
  /** A text as it was said, but for known secrets. */
  readonly hide: (text: string) => string;
}

/**
 * Checks an address and what goes with it. Its key, its headers and what its URL holds of secrets are
 * known as secrets from then on.
 *
 * @throws {InputError} If `baseURL` is no http or https address, if OpenAI's own servers are to be
 * asked without a key, or if a header cannot be sent.
 *
 * @example Usage
 * ```ts
 * import { endpointOf } from "./endpoint.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { who } = endpointOf({ model: "llama", baseURL: "http://127.0.0.1:8000/v1" });
 * assertEquals(who, "llama at 127.0.0.1:8000");
 * ```
 */
export function endpointOf(options: EndpointOptions): Endpoint {
  const { model, baseURL = OPENAI_URL } = options;
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Whatever stands before an @ may be a password, and behind a ? a key.
    const shown = printable(redact(baseURL.replace(/^.*@/s, `${MARK}@`).replace(/\?.*/s, "?")));
    throw new InputError(
      `Cannot ask ${model} as a base URL must start with http:// or https://: it is "${shown}"`,
    );
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    setHeader(headers, name, value, `the header "${printable(name)}"`);
  }
  const key = options.apiKey?.trim() || keyOfEnvironment();
  if (key !== undefined) setHeader(new Headers(), "authorization", `Bearer ${key}`, "the API key");
  if (key === undefined && isOpenAI(url) && !headers.has("authorization")) {
    throw new InputError(
      `Cannot ask ${model} as OpenAI requires a key: ${
        mayReadKey()
          ? `${KEY_VARIABLE} is not set; set it, or in code pass apiKey`
          : `${KEY_VARIABLE} may not be read; add --allow-env=${KEY_VARIABLE}, or in code pass apiKey`
      }`,
    );
  }
  registerSecrets([...requestSecrets(headers, url), ...(key === undefined ? [] : [key])]);
  // A page of HTML is not searched to its end for the 300 characters that are shown.
  const quote = (text: string) => printable(redact(text.slice(0, 20_000)), 300);
  const who = `${printable(model)} at ${url.host}`;
  return { model, who, url, key, headers, quote, hide: hideSecrets };
}

/** Sets a header; the runtime's own error is not passed on, as it may hold the value. */
function setHeader(headers: Headers, name: string, value: string, what: string) {
  try {
    headers.set(name, value);
  } catch {
    throw new InputError(`Cannot send ${what} as HTTP does not allow some of its characters`);
  }
}

function isOpenAI(url: URL): boolean {
  return url.hostname === "api.openai.com" || url.hostname.endsWith(".api.openai.com");
}

/** Whether the key may be read without a question at the terminal. */
function mayReadKey(): boolean {
  return Deno.permissions.querySync({ name: "env", variable: KEY_VARIABLE }).state === "granted";
}

function keyOfEnvironment(): string | undefined {
  return mayReadKey() ? Deno.env.get(KEY_VARIABLE)?.trim() || undefined : undefined;
}

/** Bytes of a reply beyond which it is not read: far more than any that a model makes. */
const MOST_BYTES = 16 * 2 ** 20;
const TOO_LONG = `a body must not exceed ${MOST_BYTES} bytes`;

/**
 * The runtime's `fetch` for one client, whose headers are the same each time. It gives up on bodies that
 * are too long: at once where they are announced as such, else as soon as too much has come, unpacked.
 */
function boundedFetch(): typeof fetch {
  // To copy headers takes the runtime as long as all else that it does for a request.
  let headers: Record<string, string> | undefined;
  return async (input, init) => {
    headers ??= Object.fromEntries(new Headers(init?.headers));
    return await withinLength(await fetch(input, { ...init, headers }));
  };
}

/** A response whose body is not too long. */
async function withinLength(response: Response): Promise<Response> {
  const { body, headers } = response;
  if (body === null) return response;
  const announced = headers.get("content-length");
  const bytes = Number(announced);
  if (bytes > MOST_BYTES) {
    await body.cancel();
    throw new RangeError(`${TOO_LONG}: ${bytes} bytes are announced`);
  }
  // The length of a packed body says little about how much it holds.
  if (announced !== null && !headers.has("content-encoding")) return response;
  return new Response(await readBounded(body), response);
}

/** All of a body that is not too long. */
async function readBounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop cancels the body.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new RangeError(`${TOO_LONG}: more than that came`);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(bytes);
  let end = 0;
  for (const chunk of chunks) {
    whole.set(chunk, end);
    end += chunk.length;
  }
  return whole;
}

/** OpenAI's client for an endpoint, and the library that it is of. */
interface Client {
  readonly client: OpenAI;
  readonly library: typeof import("openai");
}

/** Makes OpenAI's client for an endpoint; it never retries, and reads no environment. */
async function clientOf({ url, key, headers }: Endpoint): Promise<Client> {
  // Loading it takes a while, which whoever asks nobody need not wait for.
  const library = await import("openai");
  const { default: process } = await import("node:process");
  /** Also says what is wrong when a server puts that elsewhere than `error`. */
  class TellingClient extends library.OpenAI {
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
  // The client reads variables that no option can overrule (OPENAI_CUSTOM_HEADERS). While it is made
  // it sees none, so that none changes what is sent and no terminal is asked for permission.
  const environment = process.env;
  process.env = {};
  try {
    const client = new TellingClient({
      baseURL: url.href,
      apiKey: key ?? "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      // The client goes over them with each request, and over objects faster than over headers.
      defaultHeaders: Object.fromEntries(headers),
      fetch: boundedFetch(),
      // A redirection would carry headers to a host that nobody named.
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
 * Sends bodies to an endpoint, below its base URL, and gives what was answered as JSON, unchecked.
 *
 * What it gives back throws an {@linkcode InfrastructureError} for every fault of network or server.
 */
export function postTo(
  endpoint: Endpoint,
): (path: string, body: object, signal: AbortSignal) => Promise<unknown> {
  let connecting: Promise<Client> | undefined;
  return async (path, body, signal) => {
    const { client, library } = await (connecting ??= clientOf(endpoint));
    try {
      const { data, response } = await client.post<unknown>(path, { body, signal }).withResponse();
      // The client does not touch a body that is announced as empty, which would stay open.
      if (!response.bodyUsed) await response.body?.cancel();
      return data;
    } catch (error) {
      throw faultOf(error, endpoint, library);
    }
  };
}

/** Whatever was thrown, as a fault that says whether asking again may help. */
function faultOf(
  error: unknown,
  { who, url, quote }: Endpoint,
  { APIConnectionError, APIError }: Client["library"],
): InfrastructureError {
  const refused = causesOf(error).find((cause) => cause instanceof Deno.errors.NotCapable);
  if (refused !== undefined) {
    // After a redirection it may be another host than the one that was asked.
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
    const why = whyInVain(error);
    return new InfrastructureError(
      `${action}${why === undefined ? "" : ` as ${why}`}: ${quote(error.message)}`,
      {
        retryable: why === undefined && isRetryable(error.status, error.headers),
        rateLimited: error.status === 429 && why === undefined,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      },
    );
  }
  // The client lets pass what reading a body throws: a SyntaxError when it is no JSON, which quotes
  // the body too briefly for a key in it to be recognised, a TypeError when the connection breaks.
  if (error instanceof SyntaxError) {
    return new InfrastructureError(`${action}: the body is no JSON`, { retryable: true });
  }
  const retryable = error instanceof TypeError;
  return new InfrastructureError(`${action}: ${quote(reasonOf(error))}`, { retryable });
}

/** An error and its causes, the outermost first. */
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

/** Why the same request will be refused for ever, if that is known. */
function whyInVain(error: APIError): string | undefined {
  if (isContextLength(error)) return "the conversation exceeds its context length";
  if (isOutOfCredit(error)) return "its account is out of credit, which no waiting changes";
  return undefined;
}

/** What servers call a limit that does not pass by itself. */
const OUT_OF_CREDIT: readonly unknown[] = [
  "insufficient_quota",
  "insufficient_balance",
  "billing_hard_limit_reached",
  "billing_not_active",
  "account_deactivated",
];

/** By code and type alone: texts also speak of quota and billing where the next minute has more. */
function isOutOfCredit({ status, code, type }: APIError): boolean {
  return status === 429 && (OUT_OF_CREDIT.includes(code) || OUT_OF_CREDIT.includes(type));
}

function isContextLength({ status, code, message }: APIError): boolean {
  if (status !== 400 && status !== 413) return false;
  return code === "context_length_exceeded" ||
    /context.{0,12}(length|window|size)|prompt is too long/i.test(message);
}
