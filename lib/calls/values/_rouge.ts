/**
 * Rouge-L: how alike two texts are.
 * @module
 */

import { l } from "js-rouge";

/** Characters of a text that are compared, at most. */
const MAX_COMPARED_LENGTH = 2_000;

/**
 * Returns the similarity of two texts, from 0 to 1: Rouge-L, the F1 score of the longest common subsequence of
 * their words, each text as one sentence (Lin 2004, section 3.1).
 *
 * Common scorers differ in details. Here both texts are converted to lower case, as by Lin's script and by
 * `rouge_score`; words are split as in the Penn Treebank, at white space, punctuation and contractions, and
 * punctuation marks are words; words are not stemmed. A text without spaces is one word. Texts are cut to
 * 2,000 characters; a text without words is similar only to itself.
 */
export function rougeL(given: string, expected: string): number {
  if (given === expected) return 1;
  const [one, other] = [
    given.slice(0, MAX_COMPARED_LENGTH),
    expected.slice(0, MAX_COMPARED_LENGTH),
  ];
  if (isBlank(one) || isBlank(other)) return 0;
  // Parameter values are not summaries, and the library limits the number of sentences.
  return l(one, other, { segmenter: (text) => [text], caseSensitive: false });
}

function isBlank(text: string): boolean {
  return !/[^\s\u0085]/.test(text);
}
