/**
 * OpenAI models: models behind OpenAI's chat completions or responses, at OpenAI or at any compatible server.
 * @module
 */

import { endpointOf, ModelFault, requestsTo } from "../http/endpoint.ts";
import { z } from "zod";
import { checkOptions, must, parseWith } from "../../base/input.ts";
import type { FailedAttempt } from "../../calls/trace.ts";
import { defined, type JsonObject } from "../../base/json.ts";
import type { ToolChoice } from "../../tools/tool.ts";
import { MODEL, takenBy, TOOL_CHOICE } from "../entry.ts";
import {
  type ForwardedRequest,
  InfrastructureError,
  type Model,
  type ModelRequest,
} from "../model.ts";
import { type Attempt, retrying } from "../http/retry.ts";
import { apiOfPath } from "./agent_request.ts";
import { faultReply, FORMATS, readAnswer, unusableAt, withUsage } from "./watched_reply.ts";
import type { OpenAIOptions } from "./wire_format.ts";

export type { OpenAIOptions, WireApi } from "./wire_format.ts";

/**
 * Creates a model that is asked through OpenAI's chat completions or responses. What its server adds to a
 * reply and expects back, such as reasoning and signatures, is sent back to it, and to no other model or host.
 * A call that the server could not read is a reply with a call whose arguments are no JSON object.
 *
 * Its `reply` throws an {@linkcode InfrastructureError} for every fault of network, server, account or
 * reply, after retries where these may help. Its message contains at most about 300 characters of the
 * server's answer, and neither the key nor a header's value.
 *
 * @throws {InputError} If `baseURL` is not an http or https address, if the key for OpenAI's own servers is
 * missing, or if an option cannot be sent or is invalid for retries.
 *
 * @example Usage
 * ```ts
 * import { openai } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 *
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () =>
 *   Response.json({
 *     model: "parrot-2",
 *     choices: [{ finish_reason: "stop", message: { role: "assistant", content: "hello" } }],
 *   }));
 *
 * const parrot = openai({
 *   model: "parrot",
 *   baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
 *   apiKey: "any",
 * });
 * const { text, served } = await parrot.reply({
 *   messages: [{ role: "user", content: "Say hello" }],
 *   tools: [],
 *   context: { trial: "example", repetition: 1, request: 1 },
 * });
 * assertEquals([text, served], ["hello", "parrot-2"]);
 * await server.shutdown();
 * ```
 */
export function openai(options: OpenAIOptions): Model {
  checkOptions(GIVEN, options, "the options of openai()");
  const { model, name = model, simulated = false, api = "chat" } = options;
  const format = FORMATS[api];
  const endpoint = endpointOf(options);
  const { who, hide, quote } = endpoint;
  const unusable = unusableAt(endpoint, api);
  const { post, send, isAlive } = requestsTo(endpoint);
  const withheld = new Set<string>();
  // Who has replied takes its options: what a later refusal says of them is said of something else.
  let replied = false;
  /**
   * Posts a request; again without a field of an earlier reply that the server refuses. The server may have
   * drawn a reply before it refused, so that the refusal is reported as any other failed attempt.
   */
  const ask = async (
    { request, choice, signal, failed }: {
      readonly request: ModelRequest;
      readonly choice: ToolChoice | undefined;
      readonly signal: AbortSignal;
      readonly failed: FailedAttempt[];
    },
  ): Promise<unknown> => {
    const known = new Set(withheld);
    while (true) {
      const body = {
        ...format.write({ request, options, choice, who, withheld: known }),
        ...options.body,
        ...options.requestFields?.(request),
      };
      try {
        const answer = await post(format.path, body, signal);
        for (const field of known) withheld.add(field);
        replied = true;
        return answer;
      } catch (error) {
        const isRefusal = error instanceof InfrastructureError && !error.retryable &&
          !(error instanceof ModelFault);
        const refused = isRefusal ? format.refused?.(error.message, body) : undefined;
        if (refused === undefined || known.has(refused)) {
          throw isRefusal && !replied ? refusedOption(error, who, body) : error;
        }
        known.add(refused);
        const { status, message } = error as InfrastructureError;
        failed.push({ cause: "unclear", ...defined({ status }), message });
      }
    }
  };
  const attempt: Attempt = async (request, signal) => {
    const choice = parseWith(CHOICE, request.toolChoice, "toolChoice") ?? options.toolChoice;
    const source = {
      ...{ who, hide, unusable },
      tools: request.tools,
      isTaken: (id: string) =>
        request.messages.some((message) =>
          message.role === "assistant" && message.calls.some((call) => call.id === id)
        ),
    };
    const failed: FailedAttempt[] = [];
    const answered = async () => {
      try {
        return readAnswer(format, await ask({ request, choice, signal, failed }), source);
      } catch (error) {
        if (error instanceof ModelFault) return faultReply(error, source);
        // Serializing a part that nests too deep overflows the stack.
        throw error instanceof RangeError ? unusable("it nests too deep") : error;
      }
    };
    return {
      ...withUsage(request, await answered()),
      ...(failed.length === 0 ? {} : { failed }),
    };
  };
  /** Sends the request of an agent: what it leaves open is as the options say. */
  const forwarded: Attempt<ForwardedRequest, { readonly response: Response }> = async (
    { path, body, context },
    signal,
  ) => {
    const own = apiOfPath(path);
    const request = { messages: [], tools: [], context };
    // The agent decides whether the server keeps replies to go on from, and sends back what it does not keep.
    const { messages: _, input: __, store: ___, include: ____, ...usual } = own === undefined
      ? {} as JsonObject
      : FORMATS[own].write({ request, options, choice: undefined, who, withheld }) as JsonObject;
    const set = own === undefined ? {} : { ...options.body, ...options.requestFields?.(request) };
    return { response: await send(path, { ...usual, ...set, ...body }, signal) };
  };
  return {
    name,
    simulated,
    ...(api === "chat" ? {} : { api }),
    takes: takenBy(options),
    reply: retrying(attempt, options, { who, isAlive }),
    server: {
      ...{ who, hide, quote },
      model,
      baseURL: options.baseURL,
      // With a stand-in for `fetch` nothing is sent to the address.
      origin: options.fetch === undefined ? endpoint.url.origin : undefined,
      forward: retrying(forwarded, options, { who, isAlive }),
    },
  };
}

const CHOICE = TOOL_CHOICE.optional();
const TEXT = z.string().optional();
const unset = (why: string) => must(`be left out, as ${why}`, (value) => !value).optional();

/** What may come from an unchecked file. */
const GIVEN = z.looseObject({
  takes: MODEL.shape.takes,
  model: z.string().min(1),
  name: TEXT,
  baseURL: TEXT,
  apiKey: TEXT,
  api: z.enum(Object.keys(FORMATS)).optional(),
  toolChoice: CHOICE,
  body: z.looseObject({
    stream: unset("replies are read whole"),
    background: unset("replies are waited for"),
  }).optional(),
}).refine(({ api, seed }) => api !== "responses" || seed === undefined, {
  path: ["seed"],
  error: "responses take no seed: leave it out",
});

/** The fields of a request's body that options set, these options, and the flags that leave them out. */
const FIELDS: readonly (readonly [field: string, option: string, flag?: string])[] = [
  ["temperature", "temperature", "--temperature default"],
  ["top_p", "topP", "--top-p default"],
  ["seed", "seed"],
  ["reasoning_effort", "reasoningEffort"],
  ["max_completion_tokens", "maxCompletionTokens"],
  ["parallel_tool_calls", "parallelToolCalls"],
];

/** How servers say that they do not take a field, or its value. */
const REFUSAL =
  /unsupported|not (?:be )?(?:supported|permitted|allowed|expected|compatible)|(?:does not|doesn't|only) support|only the default|extra[ _](?:inputs|forbidden|fields)|unknown|unrecogni[sz]ed|unexpected|deprecated|cannot (?:both )?be|remove|must be|fixed at/i;

/**
 * An error of a function's schema, or of what a model wrote, may name a parameter that is called like a field.
 */
const OF_TOOLS =
  /\b(?:functions?|tools?|schema|properties|messages|arguments|json|pars(?:e|ed|er|ing)|decod(?:e|ed|er|ing)|token (?:at|in)|characters?|end of (?:data|input|file))\b|[{,]\s*\\?["']\w+\\?["']\s*:/i;

/**
 * Returns the error of a request that was refused for an option: no request with it can succeed, so that the run
 * ends with what to leave out. Returns the error as it is if it says anything else.
 */
function refusedOption(
  error: InfrastructureError,
  who: string,
  body: object,
): InfrastructureError {
  const { status, message, permanent, fault } = error;
  if ((status !== 400 && status !== 422) || permanent !== undefined) return error;
  if (!REFUSAL.test(message) || OF_TOOLS.test(message)) return error;
  const refused = FIELDS.filter(([field]) =>
    Reflect.get(body, field) !== undefined && new RegExp(`\\b${field}\\b`).test(message)
  );
  const [first] = refused;
  if (first === undefined) return error;
  const [, option, flag] = first;
  const advice = flag === undefined
    ? `leave ${option} out of its entry`
    : `leave it out with ${option}: null in its entry, or with ${flag}`;
  const names = refused.map(([, option]) => option).join(", ");
  const said = message.slice(message.indexOf(": ") + 2);
  return new InfrastructureError(
    `Cannot get a reply of ${who} as it refuses ${names}: ${advice}: ${said}`,
    { status, fault, permanent: "option", cause: error },
  );
}
