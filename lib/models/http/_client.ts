/**
 * OpenAI's client for an endpoint, with less work a request: it would build the same address and headers each
 * time, set timers beside the deadline that retrying sets, and describe each answer for a log that is off.
 * @module
 */

import type OpenAI from "openai";
import type { APIError } from "openai";
import { boundedFetch } from "./_bounded_fetch.ts";

// Retrying limits every attempt; the client's own timeout is set to the longest timer.
const CLIENT_TIMEOUT = 2 ** 31 - 1;

/** A request as OpenAI's client builds it. */
type Built = Awaited<ReturnType<OpenAI["buildRequest"]>>;
type FinalRequestOptions = Parameters<OpenAI["buildRequest"]>[0];

/** Where requests are sent, and with what. */
interface Address {
  readonly url: URL;
  /** The key, if there is one. */
  readonly key: string | undefined;
  readonly headers: Headers;
  /** Sends requests in place of the runtime's. */
  readonly fetch?: typeof fetch | undefined;
}

/** OpenAI's client for an endpoint, and its library. */
export interface Client {
  readonly client: OpenAI;
  readonly library: typeof import("openai");
}

/**
 * What OpenAI's client sees of an answer that is no error: it would make a list of the headers and a copy of the
 * address for a log that is off, which takes as long as sending the request.
 */
class Answer {
  readonly response: Response;
  readonly ok = true;
  readonly url = "";
  readonly headers = new Map<string, string>();

  constructor(response: Response) {
    this.response = response;
  }

  get status(): number {
    return this.response.status;
  }

  get body(): Response["body"] {
    return this.response.body;
  }
}

/** Reads an answer as OpenAI's client does, which sets timers and listeners for that: JSON where it is marked as such. */
export async function contentOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return undefined;
  const [type = ""] = (response.headers.get("content-type") ?? "").toLowerCase().split(/\s*;/);
  return type.includes("application/json") || type.trim().endsWith("+json")
    ? JSON.parse(text)
    : text;
}

/** Posts a body, and returns the answer of the server. */
export async function posted(
  client: OpenAI,
  path: string,
  { body, signal }: { readonly body: object; readonly signal: AbortSignal },
): Promise<Response> {
  const answer: unknown = await client.post(path, { body, signal }).asResponse();
  return answer instanceof Answer ? answer.response : answer as Response;
}

/** Creates OpenAI's client for an endpoint; it never retries, and reads no environment. */
export async function clientOf(
  { url, key, headers, fetch: send = boundedFetch() }: Address,
): Promise<Client> {
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

    /** What the client has built for each path. */
    readonly #built = new Map<string, Built>();

    /** Builds the address and the headers once for each path: building them takes longer than sending them. */
    override async buildRequest(
      options: FinalRequestOptions,
      attempt: { retryCount?: number } = {},
    ): Promise<Built> {
      const { path, body, signal } = options;
      const known = this.#built.get(path);
      if (known === undefined || !body) {
        const built = await super.buildRequest(options, attempt);
        const { body: _, signal: __, ...req } = built.req;
        if (body) this.#built.set(path, { ...built, req: req as Built["req"] });
        return built;
      }
      const { url, timeout, req } = known;
      return { url, timeout, req: { ...req, body: JSON.stringify(body), signal: signal ?? null } };
    }

    /** Sends a request without a timer: retrying limits every attempt. */
    override async fetchWithTimeout(url: string, init: RequestInit = {}): Promise<Response> {
      const response = await send(url, init);
      return response.ok ? new Answer(response) as unknown as Response : response;
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
