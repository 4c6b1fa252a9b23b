/**
 * Scorers behind an OpenAI-compatible completions endpoint that echoes a prompt with the log-probabilities of
 * its tokens.
 * @module
 */

import { z } from "zod";
import { endpointOf, type EndpointOptions, postTo } from "../../models/http/endpoint.ts";
import { InputError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { InfrastructureError } from "../../models/model.ts";
import { type Asked, type Attempt, retrying, type RetryPolicy } from "../../models/http/retry.ts";
import type { ScoredToken, Scorer } from "./scorer.ts";
import { alignTokens } from "./token_alignment.ts";
import { parseShape } from "../../models/openai/reading.ts";
import type { ReplySource } from "../../models/openai/wire_format.ts";

/** Which model to ask, where, and how. */
export interface CompletionsOptions extends EndpointOptions, RetryPolicy {
  /** The name under which the scorer is known; default `model`. */
  name?: string;
  /** Further fields of the request body; they win over those that are usual. */
  body?: JsonObject;
}

/**
 * A scorer that asks `POST /completions` with `echo` and `logprobs`, and for one token more than the prompt
 * has, as not every server takes none. What comes back must be OpenAI's form: `choices[0].logprobs` with
 * `tokens` and `token_logprobs`, for all tokens of the prompt. vLLM and the server of llama-cpp-python (with
 * `logits_all`) answer so. llama.cpp's own server and OpenAI's present models tell nothing of a prompt: that is
 * an error, not a loss of nothing.
 *
 * Its `score` throws an {@linkcode InfrastructureError} for every fault of network, server or reply, after
 * retries where these may help, and an {@linkcode InputError} for a text with half a character, which no server
 * can be sent.
 *
 * @throws {InputError} If `baseURL` is no http or https address, if OpenAI's own servers are to be asked
 * without a key, or if an option cannot be sent or cannot be retried by.
 *
 * @example Usage
 * ```ts
 * import { completionsScorer } from "./completions_scorer.ts";
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
    throw new InputError(`Cannot ask ${model} as replies are read whole: body.stream is set`);
  }
  const endpoint = endpointOf(options);
  const { who, hide, quote } = endpoint;
  const post = postTo(endpoint);
  const unusable = (state: string) =>
    new InfrastructureError(
      `Cannot use the reply of ${who} as it must echo the prompt with the log-probability of each of its ` +
        `tokens: ${quote(state)}`,
      { retryable: true },
    );
  const attempt: Attempt<Asked & { readonly text: string }, Scored> = async (
    { text },
    signal,
  ) => {
    const body = {
      ...{ model, prompt: text, max_tokens: 1, echo: true, logprobs: 1, temperature: 0 },
      ...options.body,
    };
    const answer = await post("/completions", body, signal);
    return { tokens: readTokens(answer, text, { who, hide, unusable }) };
  };
  const ask = retrying(attempt, options);
  return {
    name,
    async score(text, { signal } = {}) {
      if (!text.isWellFormed()) {
        throw new InputError(
          `Cannot ask ${model} how likely a text is as it must be whole characters: ` +
            "there is half of one",
        );
      }
      if (text === "") return [];
      const { tokens } = await ask({ text, ...(signal === undefined ? {} : { signal }) });
      return tokens;
    },
  };
}

interface Scored {
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
  // What the model went on with stands behind the prompt: one token, unless it ended there.
  for (const further of new Set([usage?.completion_tokens ?? 1, 1, 0])) {
    const own = tokens.slice(0, Math.max(0, tokens.length - further));
    const stretches = alignTokens(text, own);
    if (stretches === undefined) continue;
    return stretches.map(({ start, end }, place): ScoredToken => {
      const logProbability = values[place]!;
      if (logProbability === null && start > 0) {
        throw unusable(`token ${place + 1} has no log-probability`);
      }
      // A probability of 1 may come out a little above it.
      if (logProbability !== null && logProbability > 1e-3) {
        throw unusable(`token ${place + 1} has the log-probability ${logProbability}`);
      }
      return { start, end, logProbability: logProbability && Math.min(0, logProbability) };
    });
  }
  const told = JSON.stringify(tokens.slice(0, 10).join(""));
  throw unusable(`its ${tokens.length} tokens do not make up the prompt, and begin with ${told}`);
}
