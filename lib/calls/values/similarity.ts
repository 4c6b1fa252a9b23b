/**
 * Similarity of texts.
 * @module
 */

import defer * as rouge from "js-rouge";

/** Longer texts are compared as far as this. */
const LONGEST = 2_000;

/**
 * How much of two texts is the same, in order, by the words of their longest common subsequence: the
 * F-score of Rouge-L, each text as one sentence (Lin 2004, section 3.1), from 0 to 1. Words are those of
 * the Penn Treebank: parted by white space, punctuation and contractions apart. Case counts, and so does
 * how characters are composed; texts that are written without spaces are one word. Texts are cut to 2,000
 * characters; those without a word are like none but themselves.
 *
 * @example Usage
 * ```ts
 * import { rougeL } from "./similarity.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(rougeL("the cat sat", "the cat"), 0.8);
 * assertEquals(rougeL("Paris", "paris"), 0);
 * ```
 */
export function rougeL(given: string, expected: string): number {
  if (given === expected) return 1;
  const [one, other] = [given.slice(0, LONGEST), expected.slice(0, LONGEST)];
  if (isBlank(one) || isBlank(other)) return 0;
  // The values of parameters are no summaries, and the library compares only so many sentences.
  return rouge.l(one, other, { segmenter: (text) => [text] });
}

function isBlank(text: string): boolean {
  return !/[^\s\u0085]/.test(text);
}
