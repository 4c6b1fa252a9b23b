/**
 * A scorer that uses an OpenAI-compatible completions endpoint, which echoes a prompt with the
 * log-probabilities of its tokens.
 * @module
 */

import { z } from "zod";
import { endpointOf, type EndpointOptions, requestsTo } from "../../models/http/endpoint.ts";
import { cannot } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { InfrastructureError } from "../../models/model.ts";
import { type Asked, type Attempt, retrying, type RetryPolicy } from "../../models/http/retry.ts";
import type { ScoredToken, Scorer } from "./scorer.ts";
import { alignTokens } from "./_token_alignment.ts";
import { parseShape } from "../../models/openai/reading.ts";
import type { ReplySource } from "../../models/openai/wire_format.ts";

/** Options of {@linkcode completionsScorer}. */
export interface CompletionsOptions extends EndpointOptions, RetryPolicy {
  /** The name of the scorer. Default: `model`. */
  name?: string;
  /** Further fields of the request body, which override the default ones. */
  body?: JsonObject;
}

/**
 * Makes a scorer that sends `POST /completions` with `echo` and `logprobs`, and asks for one further token, as
 * not every server accepts zero. The reply must have OpenAI's format: `choices[0].logprobs` with `tokens` and
 * `token_logprobs` for all tokens of the prompt. vLLM and the server of llama-cpp-python (with `logits_all`)
 * reply this way. llama.cpp's own server and OpenAI's current models do not score prompts, which is an error.
 *
 * Its `score` throws an {@linkcode InfrastructureError} for every fault of network, server or reply, after
 * retries where these may help, and an {@linkcode InputError} for a text with a lone surrogate, which cannot
 * be sent.
 *
 * @throws {InputError} If `baseURL` is not an http or https address, if the key for OpenAI's own servers is
 * missing, or if an option is invalid.
 *
 * @example Usage
 * ```ts
 * import { completionsScorer } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * // To this model, each character is one of sixteen.
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
 *   const tokens = [...(await request.json()).prompt, "!"];
 *   const token_logprobs = tokens.map((_, place) => place === 0 ? null : -Math.log(16));
 *   return Response.json({ choices: [{ text: tokens.join(""), logprobs: { tokens, token_logprobs } }] });
 * });
 *
 * const scorer = completionsScorer({
 *   model: "characters",
 *   baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
 *   apiKey: "any",
 * });
 * assertEquals(await scorer.score("ab"), [
 *   { start: 0, end: 1, logProbability: null },
 *   { start: 1, end: 2, logProbability: -Math.log(16) },
 * ]);
 * await server.shutdown();
 * ```
 */
export function completionsScorer(options: CompletionsOptions): Scorer {
  const { model, name = model } = options;
  if (options.body?.["stream"]) {
    throw cannot(`ask ${model}`, "replies are read whole", "body.stream is set");
  }
  const endpoint = endpointOf(options);
  const { who, hide, quote } = endpoint;
  const { post, isAlive } = requestsTo(endpoint);
  const unusable = (state: string) =>
    new InfrastructureError(
      `Cannot use the reply of ${who} as it must echo the prompt with the log-probability of each of its ` +
        `tokens: ${quote(state)}`,
      { retryable: true },
    );
  const attempt: Attempt<Asked & { readonly text: string }, ScoredText> = async (
    { text },
    signal,
  ) => {
    const body = {
      model,
      prompt: text,
      max_tokens: 1,
      echo: true,
      logprobs: 1,
      temperature: 0,
      ...options.body,
    };
    const answer = await post("/completions", body, signal);
    return { tokens: readTokens(answer, text, { who, hide, unusable, tools: [] }) };
  };
  const ask = retrying(attempt, options, { who, isAlive });
  return {
    name,
    async score(text, { signal } = {}) {
      if (!text.isWellFormed()) {
        throw cannot(
          `score a text with ${model}`,
          "it must be well-formed Unicode",
          "it has a lone surrogate",
        );
      }
      if (text === "") return [];
      const { tokens } = await ask({ text, signal });
      return tokens;
    },
  };
}

interface ScoredText {
  readonly tokens: readonly ScoredToken[];
}

const REPLY = z.looseObject({
  choices: z.array(z.looseObject({
    logprobs: z.looseObject({
      tokens: z.array(z.string()),
      token_logprobs: z.array(z.number().nullable()),
    }),
  })).min(1, "Invalid input: expected at least one"),
  usage: z.looseObject({ completion_tokens: z.number().nullish() }).nullish(),
});

function readTokens(
  answer: unknown,
  text: string,
  answerer: ReplySource,
): readonly ScoredToken[] {
  const { unusable } = answerer;
  const { choices: [choice], usage } = parseShape(REPLY, answer, answerer);
  const { tokens, token_logprobs: values } = choice!.logprobs;
  if (tokens.length !== values.length) {
    throw unusable(`there are ${tokens.length} tokens and ${values.length} log-probabilities`);
  }
  // After the prompt come the tokens that the model generated: one, unless it ended at once.
  for (const further of new Set([usage?.completion_tokens ?? 1, 1, 0])) {
    const promptTokens = tokens.slice(0, Math.max(0, tokens.length - further));
    const stretches = alignTokens(text, promptTokens);
    if (stretches === undefined) continue;
    return stretches.map(({ start, end }, place): ScoredToken => {
      const logProbability = values[place]!;
      if (logProbability === null && start > 0) {
        throw unusable(`token ${place + 1} has no log-probability`);
      }
      // A probability of 1 may be rounded to slightly more.
      if (logProbability !== null && logProbability > 1e-3) {
        throw unusable(`token ${place + 1} has the log-probability ${logProbability}`);
      }
      return { start, end, logProbability: logProbability && Math.min(0, logProbability) };
    });
  }
  const start = JSON.stringify(tokens.slice(0, 10).join(""));
  throw unusable(`its ${tokens.length} tokens do not make up the prompt, and begin with ${start}`);
}
