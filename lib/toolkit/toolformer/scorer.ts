/**
 * Scorers: the probability of a text under a language model, token by token, and the loss computed from it.
 * @module
 */

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
