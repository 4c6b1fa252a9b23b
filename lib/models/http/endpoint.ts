/**
 * Endpoints: the address, key and headers of a model, requests to it, and their errors, which must not reveal
 * secrets.
 * @module
 */

import { isGranted } from "#runtime";
import type { APIError, OpenAI } from "openai";
import { retryAfterOf } from "../../base/attempts.ts";
import { environmentVariable } from "../../base/environment.ts";
import { cannot, causesOf, errorCode, reasonOf } from "../../base/errors.ts";
import { isObject, jsonText, parseJson, printable } from "../../base/json.ts";
import { onceFor } from "../../base/once.ts";
import { InfrastructureError, type InfrastructureErrorOptions, type Permanent } from "../model.ts";
import { delayIn, errorMeaning, errorSaid, errorWithin, type Said } from "./error_meaning.ts";
import type { Effect } from "./_server_words.ts";
import type { FailedAttempt } from "../../calls/trace.ts";
import type { AskedServer } from "./retry.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets, MARK, registerSecrets, requestSecrets } from "../../base/secrets.ts";
import { proxyOf } from "../../base/proxy.ts";
import { boundedFetch } from "../../base/bounded_fetch.ts";

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
  /**
   * Sends the requests. Default: the runtime's `fetch`, over kept connections, for answers of at most 16 MiB. A simulated model is asked by it without OpenAI's client.
   */
  fetch?: typeof fetch;
}

/** Default base URL. */
export const OPENAI_URL = "https://api.openai.com/v1";

const KEY_VARIABLE = "OPENAI_API_KEY";

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
  /** Sends requests in place of the runtime's. */
  readonly fetch: typeof fetch | undefined;
  /** Whether that is a program of this process, so that nothing is sent. */
  readonly isWithin?: boolean;
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
export function endpointOf(
  options: EndpointOptions & { readonly simulated?: boolean },
): Endpoint {
  const { model, baseURL = OPENAI_URL, fetch: send, simulated = false } = options;
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
  const [, end] = /(\/chat\/completions|\/responses)\/*$/.exec(url.pathname) ?? [];
  if (end !== undefined) {
    throw cannot(`ask ${model}`, `a base URL must end before ${end}`, `leave that out`);
  }
  const headers = new Headers();
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    setHeader(headers, name, value, `the header "${printable(name)}"`);
  }
  const key = options.apiKey?.trim() || environmentVariable(KEY_VARIABLE)?.trim() ||
    undefined;
  if (key !== undefined) {
    const from = options.apiKey?.trim() ? "" : ` of ${KEY_VARIABLE}`;
    setHeader(new Headers(), "authorization", `Bearer ${key}`, `the API key${from} to ${model}`);
  }
  if (key === undefined && isOpenAI(url) && !headers.has("authorization")) {
    throw cannot(
      `ask ${model}`,
      "OpenAI requires a key",
      isGranted({ name: "env", variable: KEY_VARIABLE })
        ? `${KEY_VARIABLE} is not set; set it, or in code pass apiKey`
        : `${KEY_VARIABLE} may not be read; add --allow-env=${KEY_VARIABLE}, or in code pass apiKey`,
    );
  }
  registerSecrets([...requestSecrets(headers, url), ...(key === undefined ? [] : [key])]);
  // Only 300 characters are shown: a long page of HTML need not be searched to its end.
  const quote = (text: string) => printable(redact(text.slice(0, 20_000)), 300);
  const who = `${printable(model)} at ${url.host}`;
  const isWithin = simulated && send !== undefined;
  return { model, who, url, key, headers, fetch: send, isWithin, quote, hide: hideSecrets };
}

/** Sets a header; the runtime's own error is not passed on, as it may contain the value. */
function setHeader(headers: Headers, name: string, value: string, what: string) {
  try {
    headers.set(name, value);
  } catch {
    throw cannot(
      `send ${what}`,
      "HTTP does not allow some of its characters",
      "look for line breaks, and for letters that are not ASCII",
    );
  }
}

/** Whether an address is one of OpenAI's own servers. */
export function isOpenAI(url: URL): boolean {
  return url.hostname === "api.openai.com" || url.hostname.endsWith(".api.openai.com");
}

/** When hosts last answered a request, in the milliseconds of `performance.now()`. */
const lastAnswered = new Map<string, number>();

/** Milliseconds that a small request may take to show that a server is alive: as many as the other, within. */
const PROBE = { least: 1_000, most: 5_000 };

/** Requests to an endpoint. */
export interface Requests {
  /**
   * Posts a body to a path below the endpoint's base URL and returns the text of the answer, whatever it is marked as.
   *
   * @throws {InfrastructureError} For every fault of network or server; a {@linkcode ModelFault} if the
   * model answered nevertheless.
   */
  post(path: string, body: object, signal: AbortSignal): Promise<string>;
  /**
   * Posts a body likewise, and returns the answer unread: one that is streamed has only begun.
   *
   * @throws {InfrastructureError} As `post` does, and if the answer cannot be read.
   */
  send(path: string, body: object, signal: AbortSignal): Promise<Response>;
  /** Whether the server has answered any request since a time, or answers a small one now. */
  readonly isAlive: AskedServer["isAlive"];
}

/** Returns the requests to an endpoint; its client is created with the first one. */
export function requestsTo(endpoint: Endpoint): Requests {
  const { host } = endpoint.url;
  let connecting: Promise<Client> | undefined;
  const connect = () => connecting ??= clientOf(endpoint);
  let hasAnswered = false;
  const answered = () => lastAnswered.set(host, performance.now());
  const asked = async <T>(
    path: string,
    options: { readonly body: object; readonly signal: AbortSignal; readonly stream?: true },
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> => {
    if (endpoint.isWithin) return await read(await askWithin(endpoint, path, options));
    const { client, library } = await connect();
    try {
      const data = await read(await client.post(path, options).asResponse());
      hasAnswered = true;
      answered();
      return data;
    } catch (error) {
      if (isAnswer(error, library)) answered();
      throw networkFault(error, { ...endpoint, told: options.body, hasAnswered }, library);
    }
  };
  return {
    post: (path, body, signal) => asked(path, { body, signal }, (response) => response.text()),
    send: (path, body, signal) =>
      asked(path, { body, signal, stream: true }, (response) => response),
    async isAlive(since, signal) {
      if (endpoint.isWithin || (lastAnswered.get(host) ?? -Infinity) >= since) return true;
      const { client, library } = await connect();
      const waited = performance.now() - since;
      const timeout = AbortSignal.timeout(Math.min(PROBE.most, Math.max(PROBE.least, waited)));
      try {
        await client.get("/models", {
          signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        }).asResponse().then((response) => response.body?.cancel());
        return true;
      } catch (error) {
        signal?.throwIfAborted();
        return isAnswer(error, library);
      }
    },
  };
}

/** Asks a program of this process: loading a client would take longer than many of its replies. */
async function askWithin(
  endpoint: Endpoint,
  path: string,
  { body, signal }: { readonly body: object; readonly signal: AbortSignal },
): Promise<Response> {
  const { url, fetch: ask } = endpoint;
  const address = url.href.replace(/\/+$/, "") + path;
  const response = await ask!(address, { method: "POST", body: bodyText(body), signal });
  if (response.ok) return response;
  throw faultOfAnswer(response, await response.text(), { ...endpoint, told: body });
}

/**
 * Whether an error is the answer of a server: most refuse what they do not know, which shows that they are
 * alive. A gateway answers for a server that does not.
 */
function isAnswer(error: unknown, { APIError }: Client["library"]): boolean {
  return error instanceof APIError && error.status !== undefined &&
    !(error.status >= 502 && error.status !== 529);
}

/**
 * The error of a request that the model did answer, though the server sent an error: its calls could not be
 * read, or a content filter stopped it. Who needs a reply makes one of it; for all others there is none.
 */
export class ModelFault extends InfrastructureError {
  /** Creates the error. */
  constructor(
    message: string,
    /** What became of the reply. */
    readonly reply: NonNullable<Effect["reply"]>,
    /** What the model wrote, as far as the server says. */
    readonly generated: string,
  ) {
    super(message, { fault: "unclear" });
  }
}

/** The error of a request that a server refused, with what it said. */
export class RefusedError extends InfrastructureError {
  // Whoever prints the error must not see the secrets in it.
  readonly #said: Said;

  /** Creates the error. */
  constructor(message: string, said: Said, options: InfrastructureErrorOptions) {
    super(message, options);
    this.#said = said;
  }

  /** What the server said. */
  get said(): Said {
    return this.#said;
  }
}

/** What errors say of the server that was asked. */
interface Server extends Pick<Endpoint, "who" | "quote"> {
  /** Its address; omitted where others have asked. */
  readonly url?: URL;
  /** What the request contained, which the server may quote. */
  readonly told?: unknown;
  /** Whether it has answered any request. */
  readonly hasAnswered?: boolean;
}

/**
 * Returns the error that the answer of a server is, for requests that other clients sent.
 *
 * @param text The body, or the beginning of it.
 */
export function faultOfAnswer(
  { status, headers }: Response,
  text: string,
  asked: Server,
): InfrastructureError {
  return faultOf(errorSaid(parseJson(text) ?? text, status), asked, headers);
}

/** Returns the error that an answer of status 200 is; `undefined` if it is none. */
export function faultWithin(answer: unknown, asked: Server): InfrastructureError | undefined {
  const said = errorWithin(answer);
  return said && faultOf(said, asked);
}

/** Returns the error of what a server said. */
function faultOf(
  said: Said,
  { who, quote, url, told, hasAnswered }: Server,
  headers?: Headers,
): InfrastructureError {
  const { status, text, body, hasBegun } = said;
  const meaning = errorMeaning(said, { told, hasAnswered });
  const { means, reply, generated = "", why, permanent, fault = "unclear" } = meaning;
  const [action, what] = headers === undefined
    ? [`Cannot use the answer of ${who}`, "it is an error: "]
    : [`Cannot get a reply of ${who}`, ""];
  // Some begin with their status.
  const line = text.trim().replace(new RegExp(`^${status} `), "");
  const shown = quote(what + [status, line].filter(Boolean).join(" "));
  if (reply !== undefined) return new ModelFault(`${action}: ${shown}`, reply, generated);
  const advice = permanent !== "address" || url === undefined
    ? why
    : /\/v\d+\w*\/?$/.test(url.pathname)
    ? `${why}: check ${quote(url.href)}`
    : `${why}: most end with /v1, which is missing from ${quote(url.href)}`;
  return new RefusedError(
    `${action}${advice === undefined ? "" : ` as ${advice}`}: ${shown}`,
    said,
    {
      ...{ status, permanent },
      // Of a reply that had begun the model has had a part.
      fault: hasBegun ? "unclear" : fault,
      retryable: why === undefined && isRetryable(status, fault, headers),
      rateLimited: means === "rate limit",
      retryAfter: retryAfterOf(headers) ?? delayIn(body),
    },
  );
}

/** Returns the error of a request to which no answer came, from what the one that sent it has thrown. */
export function faultOfFetch(
  error: unknown,
  { who, url, quote }: Pick<Endpoint, "who" | "quote" | "url">,
): InfrastructureError {
  const causes = causesOf(error);
  const denied = causes.find((cause) => errorCode(cause) === "NotCapable");
  if (denied !== undefined) {
    // After a redirect it may be another host than the requested one.
    const named = /access to "([^"]+)"/.exec(denied.message)?.[1] ?? url.host;
    const host = named.startsWith(`${url.hostname}:`) ? url.host : named;
    return new InfrastructureError(
      `Cannot reach ${url.host} as Deno was not given the permission: add --allow-net=${
        quote(host)
      }`,
      { permanent: "permission" },
    );
  }
  const reason = causes.map((cause) => cause.message).join(": ") || reasonOf(error);
  const unheard = unheardReason(reason, url);
  return new InfrastructureError(
    `Cannot get a reply of ${who}${unheard === undefined ? "" : ` as ${unheard.why}`}: ${
      quote(reason)
    }`,
    { retryable: true, permanent: unheard?.permanent },
  );
}

/** Turns a thrown error into one that says whose fault it is, and whether a retry may help. */
function networkFault(
  error: unknown,
  asked: Server & Pick<Endpoint, "url">,
  { APIConnectionError, APIError }: Client["library"],
): InfrastructureError {
  // The client's own message, "Connection error.", says nothing that its cause does not.
  if (error instanceof APIConnectionError) return faultOfFetch(error.cause ?? error, asked);
  if (error instanceof APIError && error.status !== undefined) {
    return faultOf(errorSaid(error.error, error.status), asked, error.headers);
  }
  // The client passes on errors of reading a body: a TypeError if the connection breaks.
  const retryable = error instanceof TypeError;
  return new InfrastructureError(
    `Cannot get a reply of ${asked.who}: ${asked.quote(reasonOf(error))}`,
    {
      ...{ retryable, fault: retryable ? "infrastructure" : "unclear" },
    },
  );
}

/** Faults of a proxy, which alone connects to a server and looks up its address. */
const PROXY_FAULT =
  /connection refused|ECONNREFUSED|dns error|timed out|proxy|unsuccessful tunnel/i;

/** Returns why no connection came about, if that is not likely to change. */
function unheardReason(
  reason: string,
  url: URL,
): { readonly why: string; readonly permanent: Permanent } | undefined {
  const { host, protocol } = url;
  const proxy = proxyOf(url);
  if (proxy !== undefined && PROXY_FAULT.test(reason)) {
    return {
      why:
        `the proxy ${proxy} cannot be reached or refuses: check it, or add ${url.hostname} to NO_PROXY`,
      permanent: "refused",
    };
  }
  if (/connection refused|ECONNREFUSED/i.test(reason)) {
    return {
      why: `nothing listens at ${host}: start the server, or check the address`,
      permanent: "refused",
    };
  }
  if (/failed to lookup address|dns error|ENOTFOUND/i.test(reason)) {
    return { why: `there is no host ${host}: check the address`, permanent: "address" };
  }
  if (/redirect mode is set to/i.test(reason)) {
    return {
      why: `${host} redirects, and questions and keys go nowhere else: give the address of the API`,
      permanent: "address",
    };
  }
  if (protocol === "https:" && /InvalidContentType|corrupt message|wrong version/i.test(reason)) {
    return { why: `${host} does not speak TLS: is it http:// there?`, permanent: "address" };
  }
  return undefined;
}

function isRetryable(
  status: number | undefined,
  fault: FailedAttempt["cause"],
  headers: Headers | undefined,
): boolean {
  const wish = headers?.get("x-should-retry");
  if (wish === "true" || wish === "false") return wish === "true";
  // An error with status 200 may be about anything.
  return fault === "infrastructure" || status === undefined || [408, 409, 424].includes(status) ||
    status >= 500;
}

// Retrying limits every attempt; the client's own timeout is set to the longest timer.
const CLIENT_TIMEOUT = 2 ** 31 - 1;

/** A request as OpenAI's client builds it. */
type Built = Awaited<ReturnType<OpenAI["buildRequest"]>>;
type FinalRequestOptions = Parameters<OpenAI["buildRequest"]>[0];

/** OpenAI's client for an endpoint, and its library. */
interface Client {
  readonly client: OpenAI;
  readonly library: typeof import("openai");
}

/** The JSON of tools, which each request of a conversation has: it takes several times as long as the rest. */
const toolText = onceFor((tool: object) => jsonText(tool));

/** Returns the JSON of a body. */
function bodyText(body: object): string {
  const { tools, ...others }: { readonly tools?: unknown } = body;
  if (!Array.isArray(tools) || !tools.every(isObject)) return jsonText(body);
  // Beside it there may be nothing, in the request of an agent.
  const head = jsonText({ ...others, tools: [] }).slice(0, -2);
  return `${head}${tools.map(toolText).join(",")}]}`;
}

/** Creates OpenAI's client for an endpoint; it never retries, and reads no environment. */
async function clientOf(
  { url, key, headers, fetch: send = boundedFetch() }: Endpoint,
): Promise<Client> {
  // Loading it takes a while, so it is loaded with the first request.
  const library = await import("openai");
  const { default: process } = await import("node:process");
  /** Keeps the whole body of an error, as servers put what they say elsewhere than in `error`. */
  class DetailedClient extends library.OpenAI {
    protected override makeStatusError(
      status: number,
      body: object | undefined,
      text: string | undefined,
      headers: Headers,
    ): APIError {
      return super.makeStatusError(status, { error: body ?? text ?? "" }, text, headers);
    }

    /** What the client has built for each path. */
    readonly #built = new Map<string, Built>();

    /** Builds the address and the headers once for each path: building them takes longer than sending them. */
    override async buildRequest(
      options: FinalRequestOptions,
      attempt: { retryCount?: number } = {},
    ): Promise<Built> {
      const { path, body, signal, stream: isPassedOn } = options;
      if (!body) return await super.buildRequest(options, attempt);
      let known = this.#built.get(path);
      if (known === undefined) {
        // The library writes no bigints.
        known = await super.buildRequest({ ...options, body: {}, signal: null }, attempt);
        this.#built.set(path, known);
      }
      const { url, timeout, req } = known;
      return {
        url,
        timeout,
        req: { ...req, ...{ body: bodyText(body), signal: signal ?? null, isPassedOn } },
      };
    }

    /** Sends a request without a timer: retrying limits every attempt. */
    override fetchWithTimeout(url: string, init: RequestInit = {}): Promise<Response> {
      return send(url, init);
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
      fetch: send,
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
