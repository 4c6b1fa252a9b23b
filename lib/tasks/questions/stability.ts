/**
 * Stability: how alike the outputs of repeated runs on one input are (CallNavi, section 5.3).
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** Longer outputs are compared as far as this, in code points: the time grows with its square. */
const LONGEST = 20_000;

/**
 * How clearly one output wins when every run votes: (F1 - F2) / (N - F2), where N is the number of
 * outputs, and F1 and F2 count the most frequent one and the one behind it; F2 is 0 where all are the
 * same. From 0, a tie, to 1; `null` without outputs. Texts are the same when every character is: see
 * {@linkcode normalizeOutput}.
 *
 * @see CallNavi, section 5.3 and appendix D.
 *
 * @example Usage
 * ```ts
 * import { electionStability } from "./stability.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(electionStability(["a", "a", "a", "b", "c"]), 0.5);
 * assertEquals(electionStability(["a", "a", "b", "b", "c"]), 0);
 * ```
 */
export function electionStability(outputs: readonly string[]): number | null {
  if (outputs.length === 0) return null;
  const counts = new Map<string, number>();
  for (const output of outputs) counts.set(output, (counts.get(output) ?? 0) + 1);
  const [first = 0, second = 0] = [...counts.values()].sort((one, other) => other - one);
  return (first - second) / (outputs.length - second);
}

/**
 * How alike the later outputs are to the first: the mean of 1 - distance / length, where the distance is
 * Levenshtein's and the length that of the longer text, both in code points. From 0 to 1; two empty texts
 * are alike. `null` with fewer than two outputs. Texts are compared as far as 20,000 code points.
 *
 * @see CallNavi, section 5.3.
 *
 * @example Usage
 * ```ts
 * import { levenshteinStability } from "./stability.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(levenshteinStability(["abcd", "abcd", "abxd"]), 0.875);
 * assertEquals(levenshteinStability(["abcd"]), null);
 * ```
 */
export function levenshteinStability(outputs: readonly string[]): number | null {
  const [first, ...later] = outputs.map(compared);
  if (first === undefined || later.length === 0) return null;
  const known = new Map<string, number>();
  let sum = 0;
  for (const text of later) {
    const alike = known.get(text) ?? likeness(first, text);
    known.set(text, alike);
    sum += alike;
  }
  return sum / later.length;
}

/** The beginning of a text that is compared. No code point has more than two units. */
function compared(text: string): string {
  if (text.length <= LONGEST) return text;
  return [...text.slice(0, 2 * LONGEST)].slice(0, LONGEST).join("");
}

function likeness(one: string, other: string): number {
  if (one === other) return 1;
  const longest = Math.max(lengthOf(one), lengthOf(other));
  return 1 - levenshteinDistance(one, other) / longest;
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** What does not count: quotes, square brackets, line breaks, spaces, backticks and backslashes. */
const WASHED = /["'[\]\n `\\]/g;

/**
 * A text without quotes, square brackets, line breaks, spaces, backticks and backslashes, in lower case.
 * The paper asks for "unnecessary spaces, newlines, and formatting inconsistencies" to go; which
 * characters these are is what its authors' code removes from lists of names. All others stay, tabs and
 * braces too.
 *
 * @see CallNavi, section 5.3.
 *
 * @example Usage
 * ```ts
 * import { normalizeOutput } from "./stability.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(normalizeOutput("['getAccountBalance',\n 'payBill']"), "getaccountbalance,paybill");
 * ```
 */
export function normalizeOutput(text: string): string {
  return text.replaceAll(WASHED, "").toLowerCase();
}
