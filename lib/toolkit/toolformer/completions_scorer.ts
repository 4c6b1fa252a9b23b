/**
 * A scorer that uses an OpenAI-compatible completions endpoint, which echoes a prompt with the
 * log-probabilities of its tokens.
 * @module
 */

import { z } from "zod";
import { parseJson } from "../../base/json.ts";
import { endpointOf, type EndpointOptions, requestsTo } from "../../models/http/endpoint.ts";
import { cannot } from "../../base/errors.ts";
import { InfrastructureError } from "../../models/model.ts";
import { type Asked, type Attempt, retrying, type RetryPolicy } from "../../models/http/retry.ts";
import type { ScoredToken, Scorer } from "./filter.ts";
import { parseShape } from "../../models/openai/reading.ts";
import type { ReplySource } from "../../models/openai/wire_format.ts";

/** Options of {@linkcode completionsScorer}. */
export type CompletionsOptions = EndpointOptions & RetryPolicy;

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
  const { model } = options;
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
    };
    const sent = await post("/completions", body, signal);
    const json = parseJson(sent);
    const answer = json !== undefined || sent === "" ? json : sent;
    return { tokens: readTokens(answer, text, { hide, unusable }) };
  };
  const ask = retrying(attempt, options, { who, isAlive });
  return {
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
  answerer: Pick<ReplySource, "hide" | "unusable">,
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

/** The place of a token in a text, in UTF-16 code units. */
export type TokenSpan = Pick<ScoredToken, "start" | "end">;

/**
 * Returns the place of each token in `text`; `undefined` if the tokens do not cover exactly the text. These
 * habits of servers are accepted:
 *
 * - opening tokens that are not part of the text, such as `<s>` or `<|begin_of_text|>`;
 * - `\u2581` for a space, a space before the first token, a token without the space before it;
 * - parts of a character, which are not valid text: `\ufffd`, an empty token, or `bytes:\xe2\x82`. Those next
 *   to each other get the place of the whole characters.
 *
 * Offsets given by servers are ignored: some count characters, some count opening tokens, and none counts
 * parts of characters.
 */
export function alignTokens(text: string, tokens: readonly string[]): TokenSpan[] | undefined {
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  /** Where parts of characters begin that have not ended yet, and the least length of the characters. */
  let gap: { readonly start: number; least: number } | undefined;
  const find = (form: string) => {
    if (gap === undefined) return text.startsWith(form, at) ? at : -1;
    const { start, least } = gap;
    const { length } = /^[^\0-\x7f]*/.exec(text.slice(start, start + MAX_GAP))![0];
    const place = text.slice(start, start + length + form.length).indexOf(form, least);
    return place < 0 ? -1 : start + place;
  };
  const end = (from: number, end: number) => {
    for (let place = ends.length; place < from; place++) ends.push(end);
  };
  for (const [place, given] of tokens.entries()) {
    const token = decoded(given);
    const pieces = gap === undefined && text.startsWith(token, at)
      ? [token]
      : token.split(/\ufffd+/);
    starts.push(gap?.start ?? at);
    for (const [number, piece] of pieces.entries()) {
      if (number > 0) (gap ??= { start: at, least: 1 }).least = 1;
      if (piece === "") continue;
      const spaced = piece.replaceAll("\u2581", " ");
      const forms = [piece, spaced, ` ${piece}`, ...(at === 0 ? [spaced.replace(/^ /, "")] : [])];
      const form = forms.find((form) => find(form) >= 0);
      const isOpening = at === 0 && place < MAX_OPENING && /^[<[][^]*[>\]]$/.test(piece);
      if (form === undefined && isOpening) continue;
      if (form === undefined) return undefined;
      const found = find(form);
      if (number === 0) starts[place] = found;
      end(place, found);
      at = found + form.length;
      gap = undefined;
    }
    if (token === "") gap ??= { start: at, least: 0 };
    if (gap === undefined) end(place + 1, at);
  }
  const isWhole = gap === undefined
    ? at === text.length
    : /^[^\0-\x7f]*$/.test(text.slice(gap.start)) && text.length - gap.start >= gap.least;
  if (!isWhole || tokens.length === 0) return undefined;
  end(tokens.length, text.length);
  return starts.map((start, place) => ({ start, end: ends[place]! }));
}

/** A token that is written as bytes, as text. */
function decoded(token: string): string {
  const bytes = /^bytes:((?:\\x[0-9a-f]{2})+)$/i.exec(token)?.[1]?.slice(2).split(/\\x/i);
  if (bytes === undefined) return token;
  return new TextDecoder().decode(Uint8Array.from(bytes, (pair) => parseInt(pair, 16)));
}

/** How many opening tokens a text may have. */
const MAX_OPENING = 3;
/** How long the characters are at most that stand in parts, one after another. */
const MAX_GAP = 64;
