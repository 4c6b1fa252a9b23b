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
 * Returns the place of each token in `text`: of all alignments of the tokens in order, the one that reads most
 * of them literally; `undefined` if the tokens do not cover exactly the text. These habits of servers are
 * accepted:
 *
 * - opening tokens that are not part of the text, such as `<s>` or `<|begin_of_text|>`;
 * - `\u2581` for a space, a space before the first token, a token without the space before it;
 * - parts of a character, which are not valid text: `\ufffd`, an empty token, or `bytes:\xe2\x82`.
 *
 * Offsets given by servers are ignored: some count characters, some count opening tokens, and none counts
 * parts of characters. Takes time linear in the tokens and the text.
 */
export function alignTokens(text: string, tokens: readonly string[]): TokenSpan[] | undefined {
  const bytes = bytesOf(text);
  // For each token, by the offset where it may end, the best way to get there.
  const steps: ReadonlyMap<number, TokenWay>[] = [];
  let ways: ReadonlyMap<number, TokenWay> = new Map([[0, { start: 0, cost: 0 }]]);
  const cache = new Map<string, TokenReading[]>();
  for (const [number, token] of tokens.entries()) {
    const readings = cache.getOrInsertComputed(token, readingsOf);
    const next = new Map<number, TokenWay>();
    for (const [start, { cost: before }] of ways) {
      const opening = start === 0 && number < MAX_OPENING ? openingOf(token) : [];
      for (const { pieces, cost: readingCost } of [...readings, ...opening]) {
        const cost = before + readingCost;
        for (const end of endsOf(pieces, bytes, start)) {
          if (cost < (next.get(end)?.cost ?? Infinity)) next.set(end, { start, cost });
        }
      }
    }
    if (next.size === 0 || next.size > MAX_WAYS) return undefined;
    steps.push(next);
    ways = next;
  }
  const stretches: TokenSpan[] = [];
  let end = bytes.length;
  const offsets = offsetsOf(bytes);
  for (const step of steps.reverse()) {
    const way = step.get(end);
    if (way === undefined) return undefined;
    const { start } = way;
    // A part of a character gets the place of the whole character.
    stretches.push({ start: offsets.before[start]!, end: offsets.after[end]! });
    end = start;
  }
  return end === 0 && tokens.length > 0 ? stretches.reverse() : undefined;
}

/** Literal bytes, a character each, or a range of lengths for bytes of non-ASCII characters. */
type Piece = string | { readonly least: number; readonly most: number };

/** One way to read a token. */
interface TokenReading {
  readonly pieces: readonly Piece[];
  /** How far it departs from the literal token. */
  readonly cost: number;
}

/** One way to reach an offset. */
interface TokenWay {
  /** The offset where the last token begins. */
  readonly start: number;
  /** The total cost of the readings up to there. */
  readonly cost: number;
}

/** How many opening tokens a text may have. */
const MAX_OPENING = 3;
/** The limit on ways followed at once: with more, the tokens cannot be aligned reliably. */
const MAX_WAYS = 1024;

/** The bytes of a text, a character each. */
function bytesOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}

/** The ways to read a token. */
function readingsOf(token: string): TokenReading[] {
  if (token === "") return [{ pieces: [], cost: 0 }, { pieces: [{ least: 1, most: 4 }], cost: 1 }];
  const literal = token.includes("\ufffd") ? splitParts(token) : [bytesOf(token)];
  const bytes = /^bytes:((?:\\x[0-9a-f]{2})+)$/i.exec(token)?.[1]?.slice(2).split(/\\x/i);
  return [
    { pieces: literal, cost: 0 },
    ...(bytes === undefined
      ? []
      : [{ pieces: [String.fromCharCode(...bytes.map((pair) => parseInt(pair, 16)))], cost: 0 }]),
    ...(token.includes("\u2581")
      ? [{ pieces: [bytesOf(token.replaceAll("\u2581", " "))], cost: 0 }]
      : []),
    { pieces: [bytesOf(" "), ...literal], cost: 1 },
    { pieces: [{ least: 1, most: 4 }, ...literal], cost: 2 },
  ];
}

/** Further ways to read a token at the start of the text. */
function openingOf(token: string): TokenReading[] {
  return [
    ...(/^[ \u2581]/.test(token) ? [{ pieces: [bytesOf(token.slice(1))], cost: 1 }] : []),
    ...(/^[<[][^]*[>\]]$/.test(token) ? [{ pieces: [], cost: 1 }] : []),
  ];
}

/** A token as pieces, with a range of lengths for each part of a character in it. */
function splitParts(token: string): Piece[] {
  return token.split("\ufffd").flatMap((text, place): Piece[] => [
    ...(place === 0 ? [] : [{ least: 1, most: 3 }]),
    ...(text === "" ? [] : [bytesOf(text)]),
  ]);
}

/** The offsets where a reading that begins at `start` may end. */
function endsOf(pieces: readonly Piece[], bytes: string, start: number): Iterable<number> {
  let places = new Set([start]);
  for (const piece of pieces) {
    const next = new Set<number>();
    for (const place of places) {
      if (typeof piece === "string") {
        if (bytes.startsWith(piece, place)) next.add(place + piece.length);
        continue;
      }
      for (let length = 0; length <= piece.most; length++) {
        if (length >= piece.least) next.add(place + length);
        if (!(bytes.charCodeAt(place + length) >= 0x80)) break;
      }
    }
    if (next.size > MAX_WAYS) return [];
    places = next;
  }
  return places;
}

/** The offset of each byte in the text, in UTF-16 code units, rounded down and up to whole characters. */
function offsetsOf(bytes: string): { before: Uint32Array; after: Uint32Array } {
  const before = new Uint32Array(bytes.length + 1);
  const after = new Uint32Array(bytes.length + 1);
  let [offset, width] = [0, 0];
  for (let place = 0; place < bytes.length; place++) {
    const byte = bytes.charCodeAt(place);
    if ((byte & 0xc0) !== 0x80) {
      offset += width;
      width = byte >= 0xf0 ? 2 : 1;
      before[place] = after[place] = offset;
    } else {
      before[place] = offset;
      after[place] = offset + width;
    }
  }
  before[bytes.length] = after[bytes.length] = offset + width;
  return { before, after };
}
