/**
 * Stability: similarity of the outputs of repeated runs on one input (CallNavi, section 5.3).
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** Code points of an output that are compared, at most: the time grows with the square. */
const MAX_LENGTH = 20_000;

/**
 * Returns how clearly one output wins if every run votes: (F1 - F2) / (N - F2), where N is the number of
 * outputs, and F1 and F2 count the most and the second most frequent one; F2 is 0 if all are the same. From
 * 0, a tie, to 1; `null` without outputs. Texts are the same if all characters are: see
 * {@linkcode normalizeOutput}.
 *
 * @see CallNavi, section 5.3 and appendix D.
 */
export function electionStability(outputs: readonly string[]): number | null {
  if (outputs.length === 0) return null;
  const counts = new Map<string, number>();
  for (const output of outputs) counts.set(output, (counts.get(output) ?? 0) + 1);
  const [first = 0, second = 0] = [...counts.values()].sort((one, other) => other - one);
  return (first - second) / (outputs.length - second);
}

/**
 * Returns the similarity of the later outputs to the first: the mean of 1 - distance / length, where the
 * distance is Levenshtein's and the length that of the longer text, both in code points. From 0 to 1; two
 * empty texts are the same. `null` with fewer than two outputs. Texts are cut to 20,000 code points.
 *
 * @see CallNavi, section 5.3.
 */
export function levenshteinStability(outputs: readonly string[]): number | null {
  const [first, ...later] = outputs.map(comparedPart);
  if (first === undefined || later.length === 0) return null;
  const known = new Map<string, number>();
  let sum = 0;
  for (const text of later) {
    sum += getOrInsertComputed(known, text, () => similarity(first, text));
  }
  return sum / later.length;
}

/** Returns the part of a text that is compared. No code point has more than two units. */
function comparedPart(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return [...text.slice(0, 2 * MAX_LENGTH)].slice(0, MAX_LENGTH).join("");
}

function similarity(one: string, other: string): number {
  if (one === other) return 1;
  const longest = Math.max([...one].length, [...other].length);
  return 1 - levenshteinDistance(one, other) / longest;
}

/** Quotes, square brackets, line breaks, spaces, backticks and backslashes. */
const IGNORED_CHARACTERS = /["'[\]\n `\\]/g;

/**
 * Returns a text without quotes, square brackets, line breaks, spaces, backticks and backslashes, in lower
 * case. The paper removes "unnecessary spaces, newlines, and formatting inconsistencies"; these are the
 * characters that its authors' code removes from lists of names. All others stay, including tabs and braces.
 *
 * @see CallNavi, section 5.3.
 */
export function normalizeOutput(text: string): string {
  return text.replaceAll(IGNORED_CHARACTERS, "").toLowerCase();
}
