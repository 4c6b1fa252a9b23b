/**
 * Endpoints: where a model is asked, as whom, and what must not be said about it; and the faults
 * that asking there can have.
 * @module
 */

import process from "node:process";
import OpenAI, { APIConnectionError, APIError } from "openai";
import { retryAfterOf } from "./backoff.ts";
import { InputError, reasonOf } from "./input.ts";
import { printable } from "./json.ts";
import { InfrastructureError } from "./model.ts";
import { hideSecrets, redact } from "./redact.ts";

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
  /** Headers to send with every request. Their values are treated as secrets. */
  headers?: Record<string, string>;
}

const OPENAI_URL = "https://api.openai.com/v1";
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
  /** A text as it was said, but for the endpoint's own secrets. */
  readonly hide: (text: string) => string;
}

/**
 * Checks an address and what goes with it.
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
    const shown = printable(redact(baseURL));
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
          ? `${KEY_VARIABLE} is not set; set it, or pass apiKey`
          : `${KEY_VARIABLE} may not be read; add --allow-env=${KEY_VARIABLE}, or pass apiKey`
      }`,
    );
  }
  const secrets = [
    ...(key === undefined ? [] : [key]),
    // Of "Bearer abc" a server may echo "abc" alone.
    ...[...headers.values()].flatMap((value) => [value, ...value.split(" ")]),
    ...url.searchParams.values(),
  ];
  // A page of HTML is not searched to its end for the 300 characters that are shown.
  const quote = (text: string) => printable(redact(text.slice(0, 20_000), secrets), 300);
  const hide = (text: string) => hideSecrets(text, secrets);
  return { model, who: `${printable(model)} at ${url.host}`, url, key, headers, quote, hide };
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

/** OpenAI's client, which also says what is wrong when a server puts that elsewhere than `error`. */
class OpenAIClient extends OpenAI {
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

/** OpenAI's client for an endpoint; it never retries, and reads no environment. */
function clientOf({ url, key, headers }: Endpoint): OpenAI {
  // The client reads variables that no option can overrule (OPENAI_CUSTOM_HEADERS). While it is made
  // it sees none, so that none changes what is sent and no terminal is asked for permission.
  const environment = process.env;
  process.env = {};
  try {
    return new OpenAIClient({
      baseURL: url.href,
      apiKey: key ?? "none",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      defaultHeaders: headers,
      // A redirection would carry headers to a host that nobody named.
      fetchOptions: { redirect: "error" },
      maxRetries: 0,
      timeout: CLIENT_TIMEOUT,
      logLevel: "off",
    });
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
  const client = clientOf(endpoint);
  return async (path, body, signal) => {
    try {
      const { data, response } = await client.post<unknown>(path, { body, signal }).withResponse();
      // The client does not touch a body that is announced as empty, which would stay open.
      if (!response.bodyUsed) await response.body?.cancel();
      return data;
    } catch (error) {
      throw faultOf(error, endpoint);
    }
  };
}

/** Whatever the client threw, as a fault that says whether asking again may help. */
function faultOf(error: unknown, endpoint: Endpoint): InfrastructureError {
  const { who, url, quote } = endpoint;
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
    const tooLong = isContextLength(error);
    return new InfrastructureError(
      tooLong
        ? `${action} as the conversation exceeds its context length: ${quote(error.message)}`
        : `${action}: ${quote(error.message)}`,
      {
        retryable: !tooLong && isRetryable(error.status, error.headers),
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

function isContextLength({ status, code, message }: APIError): boolean {
  if (status !== 400 && status !== 413) return false;
  return code === "context_length_exceeded" ||
    /context.{0,12}(length|window|size)|prompt is too long/i.test(message);
}
