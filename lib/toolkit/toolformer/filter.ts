/**
 * Self-supervision: calls are put into texts, and kept where their results make it easier to foresee how the
 * texts go on (Toolformer: Schick et al. 2023, section 2, "Filtering API Calls"; Pipeline, "Toolformer
 * approach").
 * @module
 */

import { InputError } from "../../base/errors.ts";
import type { Insertion } from "./insertions.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Loss, lossFrom, type LossWeights, type ScoredToken, type Scorer } from "./scorer.ts";
import type { Tool } from "../../tools/tool.ts";
import { createToolExecutor } from "../execution/executor.ts";
import type { ToolExecutorOptions } from "../execution/options.ts";

/**
 * When a call is kept. `L+` is the loss of what follows with the call and its result before it; `L-` the
 * lesser of the losses with nothing, and with the call but no result.
 *
 * - `loss`: `L+ <= ratio * L-`.
 * - `perplexity`: `exp(L+) <= ratio * exp(L-)`, which is `L- - L+ >= -ln(ratio)` (Pipeline: ratio 0.95).
 * - `difference`: `L- - L+ >= threshold` (Toolformer: threshold 1).
 *
 * With each of them, `L+` must be below `L-`.
 */
export const FILTER_CRITERIA = ["loss", "perplexity", "difference"] as const;

/** When a call is kept. */
export type FilterCriterion = typeof FILTER_CRITERIA[number];

/** What can be set of {@linkcode filterInsertions}. */
export interface FilterOptions {
  /** The tools that are called. */
  readonly tools: readonly Tool[];
  /** Says how likely texts are. */
  readonly scorer: Scorer;
  /** When a call is kept; default `loss`. */
  readonly criterion?: FilterCriterion;
  /** For `loss` and `perplexity`: above 0, at most 1; default 0.95. */
  readonly ratio?: number;
  /** For `difference`, in nats a token: 0 or more; default 1. */
  readonly threshold?: number;
  /** How much the tokens that follow count; default `uniform`, in Toolformer `decaying`. */
  readonly weights?: LossWeights;
  /**
   * Where call and result stand when the loss is taken: `inline` at their place in the text, or `before` all of
   * it, as in Toolformer, whose model has never seen a call in the middle of a text; default `inline`.
   */
  readonly placement?: "inline" | "before";
  /** Writes a call, with its result where there is one; default {@linkcode writeInsertion}. */
  readonly write?: (insertion: Insertion, result?: string) => string;
  /** Results that are longer are not put into a text, in UTF-16 code units; default 1000. */
  readonly longestResult?: number;
  /** How calls are carried out: timeouts, retries and the like. */
  readonly execution?: ToolExecutorOptions;
  /** Aborts it. */
  readonly signal?: AbortSignal;
}

/** The losses of what follows an insertion, in nats a token. */
export interface InsertionLosses {
  /** With nothing put in. */
  readonly plain: Loss;
  /** With the call, and no result. */
  readonly call: Loss;
  /** With the call and its result. */
  readonly result: Loss;
}

/** A call that helps. */
export interface KeptInsertion extends Insertion {
  /** What the tool returned. */
  readonly result: string;
  /** The text with call and result at their place. */
  readonly text: string;
  /** The losses of what follows. */
  readonly losses: InsertionLosses;
  /** The share of the loss that the result takes away: `1 - L+ / L-`. */
  readonly reduction: number;
  /** The share of the perplexity that it takes away: `1 - exp(L+) / exp(L-)`. */
  readonly perplexityReduction: number;
}

/**
 * Why a call is not kept.
 *
 * - `failed`: the tool refused it, or gave an error.
 * - `too_long`: its result is longer than is put into a text.
 * - `nothing_follows`: no token that counts stands behind its place.
 * - `no_help`: the result does not lower the loss as much as is asked for.
 */
export type DropReason = "failed" | "too_long" | "nothing_follows" | "no_help";

/** A call that is not kept. */
export interface DroppedInsertion extends Insertion {
  /** Why. */
  readonly reason: DropReason;
  /** Why, in words. */
  readonly message: string;
  /** The losses of what follows, where they were taken. */
  readonly losses?: InsertionLosses;
}

/** What came of calls that might stand in a text. */
export interface FilteredInsertions {
  /** Those that help, in their order. */
  readonly kept: readonly KeptInsertion[];
  /** The others, in their order. */
  readonly dropped: readonly DroppedInsertion[];
}

/**
 * Keeps the calls whose results lower the loss of the text that follows: each is checked and carried out, and
 * the scorer is asked for the text as it is, with the call, and with the call and its result. That the call
 * alone is a rival keeps arguments from passing that give away what follows.
 *
 * The loss is the weighted mean of the negative log-probabilities of the tokens from the place on: see
 * {@linkcode lossFrom}. A token that the plain text cannot have a probability for, as nothing stands before it,
 * counts in none of the three.
 *
 * @throws {InputError} If an option is out of its range, or a place is none of the text.
 * @throws {InfrastructureError} If the scorer could not be asked.
 *
 * @example Usage
 * ```ts
 * import { completionsScorer } from "./completions_scorer.ts";
 * import { filterInsertions } from "./filter.ts";
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
  const helps = rule(options);
  const { tools, scorer, weights, write = writeInsertion, longestResult = 1000, signal } = options;
  const outside = candidates.find(({ position }) =>
    !(Number.isSafeInteger(position) && position >= 0 && position <= text.length)
  );
  if (outside !== undefined) {
    throw new InputError(
      `Cannot put a call into a text as its position must be from 0 to ${text.length}: it is ${outside.position}`,
    );
  }
  const asking = signal === undefined ? {} : { signal };
  const executor = createToolExecutor(tools, options.execution);
  const kept: KeptInsertion[] = [];
  const dropped: DroppedInsertion[] = [];
  let plain: readonly ScoredToken[] | undefined;
  for (const candidate of candidates) {
    const { position, tool: name, arguments: given } = candidate;
    const drop = (reason: DropReason, message: string, losses?: InsertionLosses) =>
      dropped.push({
        ...candidate,
        reason,
        message,
        ...(losses === undefined ? {} : { losses }),
      });
    const done = await executor.execute({ name, arguments: given }, asking);
    signal?.throwIfAborted();
    if (!done.ok) {
      drop("failed", done.error.message);
      continue;
    }
    const { content: result } = done;
    if (result.length > longestResult) {
      drop("too_long", `the result has ${result.length} characters: ${longestResult} are allowed`);
      continue;
    }
    plain ??= await scorer.score(text, asking);
    const from = firstCounted(plain, position);
    const lossWith = async (written: string) => {
      const put = place(text, position, written, options.placement);
      return lossFrom(await scorer.score(put.text, asking), put.follows + from, weights);
    };
    const before = lossFrom(plain, position, weights);
    const call = before && await lossWith(write(candidate));
    const after = call && await lossWith(write(candidate, result));
    if (before === undefined || call === undefined || after === undefined) {
      drop("nothing_follows", "no token that counts stands behind the place");
      continue;
    }
    const losses = { plain: before, call, result: after };
    const rival = Math.min(before.loss, call.loss);
    if (!helps(after.loss, rival)) {
      drop("no_help", toldLosses(after.loss, rival), losses);
      continue;
    }
    kept.push({
      ...candidate,
      result,
      text: place(text, position, write(candidate, result), "inline").text,
      losses,
      reduction: 1 - after.loss / rival,
      perplexityReduction: 1 - Math.exp(after.loss - rival),
    });
  }
  return { kept, dropped };
}

/**
 * A call as it stands in a text: `[name(arguments) -> result]`, the arguments as JSON.
 *
 * @example Usage
 * ```ts
 * import { writeInsertion } from "./filter.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const insertion = { position: 0, tool: "add", arguments: { a: 1 } };
 * assertEquals(writeInsertion(insertion), '[add({"a":1})]');
 * assertEquals(writeInsertion(insertion, "1"), '[add({"a":1}) -> 1]');
 * ```
 */
export function writeInsertion(
  { tool, arguments: given }: { readonly tool: string; readonly arguments: JsonObject },
  result?: string,
): string {
  const call = `${tool}(${JSON.stringify(given)})`;
  return result === undefined ? `[${call}]` : `[${call} -> ${result}]`;
}

/** Whether a loss is so much below another one, by the rule that is set. */
function rule(
  { criterion = "loss", ratio = 0.95, threshold = 1 }: FilterOptions,
): (loss: number, rival: number) => boolean {
  if (!FILTER_CRITERIA.includes(criterion)) {
    throw new InputError(
      `Cannot filter calls as the criterion must be ${
        FILTER_CRITERIA.join(", ")
      }: it is ${criterion}`,
    );
  }
  if (!(ratio > 0 && ratio <= 1)) {
    throw new InputError(
      `Cannot filter calls as ratio must be above 0 and at most 1: it is ${ratio}`,
    );
  }
  if (!(threshold >= 0)) {
    throw new InputError(`Cannot filter calls as threshold must be 0 or more: it is ${threshold}`);
  }
  const least = criterion === "difference" ? threshold : -Math.log(ratio);
  return (loss, rival) =>
    loss < rival && (criterion === "loss" ? loss <= ratio * rival : rival - loss >= least);
}

/** How much of what follows has no probability in the plain text, in UTF-16 code units. */
function firstCounted(tokens: readonly ScoredToken[], position: number): number {
  const ends = tokens.flatMap(({ end, logProbability }) => logProbability === null ? [end] : []);
  return Math.max(0, ...ends.map((end) => end - position));
}

/**
 * A text with something put in, and where what follows it begins. Words stay apart, and what follows begins
 * behind the same sign as before: a space, or none.
 */
function place(
  text: string,
  position: number,
  written: string,
  placement: FilterOptions["placement"] = "inline",
): { readonly text: string; readonly follows: number } {
  // What a tool returned may hold half a character, which nobody can be asked about.
  const call = written.toWellFormed();
  if (placement === "before") {
    const opening = `${call} `;
    return { text: opening + text, follows: opening.length + position };
  }
  const [before, after] = [text.slice(0, position), text.slice(position)];
  const isApart = before === "" || /\s$/.test(before);
  const opening = isApart ? `${before}${call} ` : `${before}${/^\s/.test(after) ? " " : ""}${call}`;
  return { text: opening + after, follows: opening.length };
}

function toldLosses(loss: number, rival: number): string {
  const [own, other] = [loss, rival].map((one) => one.toFixed(3));
  return `the loss of what follows is ${own} with the result, and ${other} without`;
}
