/**
 * Nearest names: what a mistyped name probably means.
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** Characters of a name that are compared, at most. */
const MAX_LENGTH = 100;

/**
 * Returns the known name that a mistyped one probably means; `undefined` if none is near. Short names only match
 * in other case or punctuation, as they are too similar to each other.
 */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const lettersOf = (name: string) =>
    name.slice(0, MAX_LENGTH).toLowerCase().replace(/[^a-z0-9]/g, "");
  const letters = lettersOf(unknown);
  return known.find((name) => lettersOf(name) === letters) ??
    known.filter((name) => name.length > 4)
      .find((name) => levenshteinDistance(lettersOf(name), letters) <= (name.length > 6 ? 2 : 1));
}

/** Asks whether the nearest name is meant, as `; did you mean names?`; empty if none is near. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const nearest = nearestName(unknown, known);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}
