/**
 * OpenAI models: models behind OpenAI's chat completions or responses, at OpenAI or at any compatible server.
 * @module
 */

import { endpointOf, ModelFault, RefusedError, requestsTo } from "../http/endpoint.ts";
import { z } from "zod";
import { checkOptions, must, parseWith } from "../../base/input.ts";
import type { FailedAttempt } from "../../calls/trace.ts";
import { defined, type JsonObject } from "../../base/json.ts";
import { MODEL, takenBy, TOOL_CHOICE } from "../entry.ts";
import type { ForwardedRequest, Model } from "../model.ts";
import { type Attempt, retrying } from "../http/retry.ts";
import { wholeBody } from "./_event_stream.ts";
import { refusedPart, STREAM_OPTIONS, WHOLE_REPLY } from "./_fields.ts";
import { apiOfPath } from "./agent_request.ts";
import { refusedOption } from "./refused_option.ts";
import { faultReply, FORMATS, readAnswer, sourceOf, withUsage } from "./watched_reply.ts";
import type { OpenAIOptions, WireReply } from "./wire_format.ts";

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
  const { post, send, isAlive } = requestsTo(endpoint);
  const withheld = new Set<string>();
  // Who has replied takes its options: what a later refusal says of them is said of something else.
  let replied = false;
  const attempt: Attempt = async (request, signal) => {
    const { messages, tools } = request;
    const choice = parseWith(CHOICE, request.toolChoice, "toolChoice") ?? options.toolChoice;
    const source = {
      ...sourceOf({ api, messages, tools }, endpoint),
      url: endpoint.url,
      isTaken: (id: string) =>
        messages.some((message) =>
          message.role === "assistant" && message.calls.some((call) => call.id === id)
        ),
    };
    const failed: FailedAttempt[] = [];
    /**
     * Posts the request; again without what the server refuses of it. The server may have drawn a reply before it
     * refused, so that the refusal is reported as any other failed attempt.
     */
    const ask = async (): Promise<WireReply> => {
      const known = new Set(withheld);
      while (true) {
        const isStreamed = options.stream || known.has(WHOLE_REPLY);
        // Responses tell their usage in any case.
        const hasUsage = api !== "chat" || known.has(STREAM_OPTIONS);
        const body = {
          ...format.write({ request, options, choice, who, withheld: known }) as JsonObject,
          ...(isStreamed ? { stream: true } : {}),
          ...(!isStreamed || hasUsage ? {} : { [STREAM_OPTIONS]: { include_usage: true } }),
          ...options.body,
          ...options.requestFields?.(request),
        };
        try {
          const answer = wholeBody(api, await post(format.path, body, signal));
          const reply = readAnswer(format, answer, source);
          for (const field of known) withheld.add(field);
          replied = true;
          return reply;
        } catch (error) {
          // llama.cpp refuses by an error of its own.
          const isRefusal = error instanceof RefusedError &&
            (!error.retryable || error.status === 500);
          if (!isRefusal) throw error;
          const { status, message } = error;
          const refused = refusedPart(message, body);
          // Who has replied whole can; what a later error says of streams may be a model's words.
          const isVain = refused === undefined || known.has(refused) ||
            refused === WHOLE_REPLY && replied;
          if (isVain) throw replied ? error : refusedOption(error, who, body);
          known.add(refused);
          failed.push({ cause: "unclear", ...defined({ status }), message });
        }
      }
    };
    const read = await ask().catch((error) => {
      if (error instanceof ModelFault) return faultReply(error, source);
      // Serializing a part that nests too deep overflows the stack.
      throw error instanceof RangeError ? source.unusable("it nests too deep") : error;
    });
    return { ...withUsage(request, read), ...(failed.length === 0 ? {} : { failed }) };
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
    toolChoice: options.toolChoice,
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
  stream: MODEL.shape.stream,
  model: z.string().min(1),
  name: TEXT,
  baseURL: TEXT,
  apiKey: TEXT,
  api: z.enum(Object.keys(FORMATS)).optional(),
  toolChoice: CHOICE,
  body: z.looseObject({
    stream: unset("stream is an option of its own"),
    background: unset("replies are waited for"),
  }).optional(),
}).refine(({ api, seed }) => api !== "responses" || seed === undefined, {
  path: ["seed"],
  error: "responses take no seed: leave it out",
});
