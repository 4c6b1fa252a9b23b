/**
 * Self-supervised filtering: inserts calls into texts, and keeps those whose results make the text that follows
 * easier to predict (Toolformer: Schick et al. 2023, section 2, "Filtering API Calls"; Pipeline, "Toolformer
 * approach").
 * @module
 */

import { type JsonObject, jsonText } from "../../base/json.ts";
import { z } from "zod";
import { cannot } from "../../base/errors.ts";
import { parseWith } from "../../base/input.ts";
import type { Insertion } from "./insertions.ts";
import type { Tool } from "../../tools/tool.ts";
import { createToolExecutor } from "../execution/executor.ts";
import type { ToolExecutorOptions } from "../execution/options.ts";

/**
 * The criteria for keeping a call. `L0` is the loss of the text that follows its place, without the call; `L+`
 * that with the call and its result before it; `L-` the lesser of `L0` and the loss with the call but no result.
 *
 * - `perplexity`: `exp(L+) < ratio * exp(L0)` (Pipeline, "Toolformer approach": ratio 0.95).
 * - `difference`: `L- - L+ >= threshold`, and `L+ < L-` (Toolformer, section 2: threshold 1).
 *
 * The perplexity is that of the text that follows, not of the whole text: the tokens before the place are the
 * same with and without a call, and those of the call itself are no part of the text. Only `difference`
 * rejects a call whose arguments alone reveal what follows.
 */
export const FILTER_CRITERIA = ["perplexity", "difference"] as const;

/** A criterion for keeping a call. */
export type FilterCriterion = typeof FILTER_CRITERIA[number];

/** The longest result to insert into a text, in UTF-16 code units. */
const MAX_RESULT_LENGTH = 1000;

/** Options of {@linkcode filterInsertions}. */
export interface FilterOptions {
  /** The tools to call. */
  readonly tools: readonly Tool[];
  /** Computes the probabilities of texts. */
  readonly scorer: Scorer;
  /** The criterion for keeping a call. Default: `perplexity`. */
  readonly criterion?: FilterCriterion;
  /** For `perplexity`: above 0, at most 1. Default: 0.95. */
  readonly ratio?: number;
  /** For `difference`, in nats per token: 0 or more. Default: 1. */
  readonly threshold?: number;
  /** Options for the execution of calls, such as timeouts and retries. */
  readonly execution?: ToolExecutorOptions;
  /** Aborts the work. */
  readonly signal?: AbortSignal;
}

/** The losses of the text after an insertion, in nats per token. */
export interface InsertionLosses {
  /** Without the call. */
  readonly plain: number;
  /** With the call but no result. */
  readonly call: number;
  /** With the call and its result. */
  readonly result: number;
}

/** A call that is kept. */
export interface KeptInsertion extends Insertion {
  /** The result of the tool. */
  readonly result: string;
  /** The text with call and result inserted. */
  readonly text: string;
  /** The losses of the text that follows. */
  readonly losses: InsertionLosses;
}

/**
 * Why a call is dropped.
 *
 * - `failed`: the tool refused it, or returned an error.
 * - `too_long`: its result has more than 1,000 UTF-16 code units.
 * - `nothing_follows`: no token with a probability follows its place.
 * - `no_help`: the result does not lower the loss as much as the criterion requires.
 */
export type DropReason = "failed" | "too_long" | "nothing_follows" | "no_help";

/** A call that is dropped. */
export interface DroppedInsertion extends Insertion {
  /** The reason. */
  readonly reason: DropReason;
  /** The reason in words. */
  readonly message: string;
  /** The losses of the text that follows, if they were computed. */
  readonly losses?: InsertionLosses;
}

/** The result of {@linkcode filterInsertions}. */
export interface FilteredInsertions {
  /** The calls that help, in order. */
  readonly kept: readonly KeptInsertion[];
  /** The other calls, in order. */
  readonly dropped: readonly DroppedInsertion[];
}

/**
 * Keeps the calls whose results lower the perplexity of the text that follows below 0.95 times what it is without
 * them, or by another criterion of {@linkcode FILTER_CRITERIA}. Each call is checked and carried out, and the
 * scorer rates the plain text, the text with the call, and with the call and its result.
 *
 * The loss is the mean of the negative log-probabilities of the tokens from the place on, in nats per token. A first token, which has no probability in the plain text, counts in none of the three.
 *
 * @throws {InputError} If an option is out of range, or a position is outside the text.
 * @throws {InfrastructureError} If the scorer fails.
 *
 * @example Usage
 * ```ts
 * import { completionsScorer, filterInsertions } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * // A model to which a word is likelier once it has been said, behind an endpoint that echoes.
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
 *   const tokens: string[] = (await request.json()).prompt.match(/\s*\w+|\s*\W/g);
 *   const token_logprobs = tokens.map((token, place) => {
 *     if (place === 0) return null;
 *     const isKnown = tokens.slice(0, place).some((one) => one.trim() === token.trim());
 *     return Math.log(isKnown ? 0.2 : 0.01);
 *   });
 *   return Response.json({ choices: [{ logprobs: { tokens, token_logprobs } }] });
 * });
 * const scorer = completionsScorer({
 *   model: "repeating",
 *   baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
 *   apiKey: "any",
 * });
 *
 * const capital = {
 *   name: "capital",
 *   description: "Tells the capital of a country",
 *   parameters: { type: "object", properties: { of: { type: "string" } }, required: ["of"] },
 *   execute: async ({ of }: Record<string, unknown>) =>
 *     await (of === "Norway" ? "Oslo" : "Stockholm"),
 * };
 * const text = "They met in Oslo";
 * const candidates = ["Norway", "Sweden"].map((of) => ({
 *   position: text.indexOf("Oslo"),
 *   tool: "capital",
 *   arguments: { of },
 * }));
 * const { kept, dropped } = await filterInsertions(text, candidates, { tools: [capital], scorer });
 * assertEquals(kept.map(({ text }) => text), [
 *   'They met in [capital({"of":"Norway"}) -> Oslo] Oslo',
 * ]);
 * assertEquals(dropped.map(({ arguments: { of }, reason }) => [of, reason]), [["Sweden", "no_help"]]);
 * await server.shutdown();
 * ```
 */
export async function filterInsertions(
  text: string,
  candidates: readonly Insertion[],
  options: FilterOptions,
): Promise<FilteredInsertions> {
  const criterion = criterionIn(options);
  const { tools, scorer, signal } = options;
  const outside = candidates.find(({ position }) =>
    !(Number.isSafeInteger(position) && position >= 0 && position <= text.length)
  );
  if (outside !== undefined) {
    throw cannot(
      "put a call into a text",
      `its position must be from 0 to ${text.length}`,
      `it is ${outside.position}`,
    );
  }
  const executor = createToolExecutor(tools, options.execution);
  const kept: KeptInsertion[] = [];
  const dropped: DroppedInsertion[] = [];
  let plain: readonly ScoredToken[] | undefined;
  for (const candidate of candidates) {
    const { position, tool: name, arguments: given } = candidate;
    const drop = (reason: DropReason, message: string, losses?: InsertionLosses) =>
      dropped.push({ ...candidate, reason, message, losses });
    const execution = await executor.execute({ name, arguments: given }, { signal });
    signal?.throwIfAborted();
    if (!execution.ok) {
      drop("failed", execution.error.message);
      continue;
    }
    const { content: result } = execution;
    if (result.length > MAX_RESULT_LENGTH) {
      drop(
        "too_long",
        `the result has ${result.length} characters: ${MAX_RESULT_LENGTH} are allowed`,
      );
      continue;
    }
    plain ??= await scorer.score(text, { signal });
    // How much of the following text has no probability in the plain text.
    const uncounted = plain.flatMap(({ end, logProbability }) =>
      logProbability === null ? [end - position] : []
    );
    const from = Math.max(0, ...uncounted);
    const lossWith = async (callText: string) => {
      const { text: whole, follows } = insertInto(text, position, callText);
      return lossFrom(await scorer.score(whole, { signal }), follows + from);
    };
    const before = lossFrom(plain, position);
    const call = before === undefined ? undefined : await lossWith(writeInsertion(candidate));
    const written = writeInsertion(candidate, result);
    const after = call === undefined ? undefined : await lossWith(written);
    if (before === undefined || call === undefined || after === undefined) {
      drop("nothing_follows", "no token with a probability follows the place");
      continue;
    }
    const losses = { plain: before, call, result: after };
    const rival = criterion.rivalOf(before, call);
    if (!criterion.isHelpful(after, rival)) {
      const [own, other] = [after, rival].map((loss) => loss.toFixed(3));
      drop(
        "no_help",
        `the loss of the rest is ${own} with the result, and ${other} without`,
        losses,
      );
      continue;
    }
    kept.push({
      ...candidate,
      result,
      text: insertInto(text, position, written).text,
      losses,
    });
  }
  return { kept, dropped };
}

/**
 * Writes a call for insertion into a text: `[name(arguments) -> result]`, the arguments as JSON.
 */
export function writeInsertion(
  { tool, arguments: given }: { readonly tool: string; readonly arguments: JsonObject },
  result?: string,
): string {
  const call = `${tool}(${jsonText(given)})`;
  return result === undefined ? `[${call}]` : `[${call} -> ${result}]`;
}

/** Returns the loss that a result must beat by the chosen criterion, and the check whether it does. */
function criterionIn({ criterion = "perplexity", ratio = 0.95, threshold = 1 }: FilterOptions) {
  parseWith(CRITERION, { criterion, ratio, threshold }, "the options of filterInsertions()");
  const checks: Readonly<Record<FilterCriterion, (loss: number, rival: number) => boolean>> = {
    perplexity: (loss, rival) => Math.exp(loss - rival) < ratio,
    difference: (loss, rival) => loss < rival && rival - loss >= threshold,
  };
  return {
    isHelpful: checks[criterion],
    rivalOf: (plain: number, call: number) =>
      criterion === "perplexity" ? plain : Math.min(plain, call),
  };
}

const CRITERION = z.object({
  criterion: z.enum(FILTER_CRITERIA),
  ratio: z.number().gt(0).max(1),
  threshold: z.number().min(0),
});

/**
 * Inserts a call into a text; `follows` is the offset of the text after it. Words stay separate, and the
 * following text has a space before it exactly if it had one before.
 */
function insertInto(
  text: string,
  position: number,
  callText: string,
): { readonly text: string; readonly follows: number } {
  // A result may contain a lone surrogate, which no server accepts.
  const call = callText.toWellFormed();
  const [before, after] = [text.slice(0, position), text.slice(position)];
  const isApart = before === "" || /\s$/.test(before);
  const opening = isApart ? `${before}${call} ` : `${before}${/^\s/.test(after) ? " " : ""}${call}`;
  return { text: opening + after, follows: opening.length };
}

/** A token of a text, with its probability given the text before it. */
export interface ScoredToken {
  /** Its start in the text, in UTF-16 code units; for a part of a character, that of the character. */
  readonly start: number;
  /** Its end; for a part of a character, that of the character. */
  readonly end: number;
  /** The natural logarithm of its probability; `null` for the first token. */
  readonly logProbability: number | null;
}

/** Computes the probabilities of texts. */
export interface Scorer {
  /**
   * Returns the tokens of a text in order; together they cover all of it.
   *
   * @throws {InfrastructureError} If there is no usable reply.
   */
  score(text: string, options?: { readonly signal?: AbortSignal }): Promise<readonly ScoredToken[]>;
}

/**
 * Returns the loss of the text from an offset on: the mean of the tokens' negative log-probabilities, in nats per
 * token (Toolformer, section 2). A token that straddles the offset counts; the first of the text, without a
 * probability, does not. Returns `undefined` if no token counts.
 */
export function lossFrom(tokens: readonly ScoredToken[], offset: number): number | undefined {
  const counted = tokens.flatMap(({ end, logProbability }) =>
    end <= offset || logProbability === null ? [] : [logProbability]
  );
  if (counted.length === 0) return undefined;
  return counted.reduce((sum, one) => sum - one, 0) / counted.length;
}
