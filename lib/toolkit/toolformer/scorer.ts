/**
 * Scorers: the probability of a text under a language model, token by token, and the loss computed from it.
 * @module
 */

import { cannot } from "../../base/errors.ts";

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
  /** The name of its model. */
  readonly name: string;
  /**
   * Returns the tokens of a text in order; together they cover all of it.
   *
   * @throws {InfrastructureError} If there is no usable reply.
   */
  score(text: string, options?: { readonly signal?: AbortSignal }): Promise<readonly ScoredToken[]>;
}

/**
 * The weights of the tokens after a place, the nearest first: all equal, decaying to zero at the sixth
 * (Toolformer, appendix A: 1, 0.8, 0.6, 0.4, 0.2), or a function of the token's index from 0.
 */
export type LossWeights = "uniform" | "decaying" | ((place: number) => number);

/** How well a model predicts a text. */
export interface Loss {
  /** The weighted mean of the tokens' negative log-probabilities, in nats per token. */
  readonly loss: number;
  /** The exponential of the loss. */
  readonly perplexity: number;
  /** The number of tokens with a weight above 0. */
  readonly tokens: number;
}

const WEIGHTS = {
  uniform: () => 1,
  decaying: (place: number) => Math.max(0, 1 - place / 5),
} as const;

/**
 * Returns the loss of the text from an offset on: with weights `w` and token probabilities `p`, the sum of
 * `w(t) * -ln p(t)` divided by the sum of `w(t)`, as in section 2 of Toolformer. A token that straddles the
 * offset counts; the first of the text, without a probability, does not. Returns `undefined` if no token counts.
 *
 * @throws {InputError} If a weight is not a finite number of at least 0.
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
      throw cannot(
        "weigh tokens",
        "weights must be numbers from 0 on",
        `that of token ${place - 1} is ${weight}`,
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
