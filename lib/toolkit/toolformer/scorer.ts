/**
 * Scorers: how likely a text is to a language model, token by token, and the loss that comes of it.
 * @module
 */

import { InputError } from "../../base/errors.ts";

/** A token of a text, and how likely it was after all that stands before it. */
export interface ScoredToken {
  /** Where it begins in the text, in UTF-16 code units; of a part of a character, where that begins. */
  readonly start: number;
  /** Where it ends; of a part of a character, where that ends. */
  readonly end: number;
  /** The natural logarithm of its probability; `null` where nothing stands before it. */
  readonly logProbability: number | null;
}

/** Says how likely texts are. */
export interface Scorer {
  /** The name of the model that it asks. */
  readonly name: string;
  /**
   * The tokens of a text, in order; together they make up all of it.
   *
   * @throws {InfrastructureError} If no usable reply could be had.
   */
  score(text: string, options?: { readonly signal?: AbortSignal }): Promise<readonly ScoredToken[]>;
}

/**
 * How much the tokens behind a place count, the nearest first: all alike, less and less until the sixth
 * counts nothing (Toolformer, appendix A: 1, 0.8, 0.6, 0.4, 0.2), or as a function of the token's number from
 * 0 on says.
 */
export type LossWeights = "uniform" | "decaying" | ((place: number) => number);

/** How well a text was foreseen. */
export interface Loss {
  /** The weighted mean of the tokens' negative log-probabilities, in nats a token. */
  readonly loss: number;
  /** The exponential of the loss. */
  readonly perplexity: number;
  /** How many tokens count. */
  readonly tokens: number;
}

const WEIGHTS = {
  uniform: () => 1,
  decaying: (place: number) => Math.max(0, 1 - place / 5),
} as const;

/**
 * The loss of the text from an offset on: with weights `w` and the probabilities `p` of its tokens, the sum of
 * `w(t) * -ln p(t)` through the sum of `w(t)`, as in section 2 of Toolformer. A token that straddles the offset
 * belongs to the text behind it; one that nothing stands before belongs to none. `undefined` where no token
 * counts.
 *
 * @throws {InputError} If a weight is no number from 0 on.
 *
 * @example Usage
 * ```ts
 * import { lossFrom } from "./scorer.ts";
 * import { assertAlmostEquals } from "@std/assert";
 *
 * const tokens = [
 *   { start: 0, end: 2, logProbability: null },
 *   { start: 2, end: 5, logProbability: Math.log(0.5) },
 *   { start: 5, end: 6, logProbability: Math.log(0.125) },
 * ];
 * assertAlmostEquals(lossFrom(tokens, 2)!.perplexity, 4);
 * assertAlmostEquals(lossFrom(tokens, 5)!.loss, Math.log(8));
 * ```
 */
export function lossFrom(
  tokens: readonly ScoredToken[],
  offset: number,
  weights: LossWeights = "uniform",
): Loss | undefined {
  const weightOf = typeof weights === "function" ? weights : WEIGHTS[weights];
  let [sum, total, counted, place] = [0, 0, 0, 0];
  for (const { end, logProbability } of tokens) {
    if (end <= offset || logProbability === null) continue;
    const weight = weightOf(place++);
    if (!(weight >= 0 && weight < Infinity)) {
      throw new InputError(
        `Cannot weigh tokens as weights must be numbers from 0 on: that of token ${
          place - 1
        } is ${weight}`,
      );
    }
    if (weight === 0) continue;
    sum -= weight * logProbability;
    total += weight;
    counted++;
  }
  if (counted === 0) return undefined;
  const loss = sum / total;
  return { loss, perplexity: Math.exp(loss), tokens: counted };
}
