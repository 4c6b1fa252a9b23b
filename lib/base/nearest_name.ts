/**
 * Nearest names: what a mistyped name probably means.
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** Characters of a name that are compared, at most. */
const MAX_LENGTH = 100;
/** Letters of names that others may be taken for, at least: shorter ones are too similar to each other. */
const MIN_LENGTH = 3;
const MIN_SURE_LENGTH = 6;
/** Names that a message lists, at most, and their characters. */
const MAX_LISTED = 16;
const MAX_LIST_LENGTH = 160;

/**
 * Returns the known name that a mistyped one probably means: with one letter wrong, or two in long names, or with
 * two letters swapped, else the only one that it begins. `undefined` if none is near.
 *
 * @param options `surely`: the name may well be right, so that only a typing error in a long one counts.
 */
export function nearestName(
  unknown: string,
  known: readonly string[],
  { surely = false }: { readonly surely?: boolean } = {},
): string | undefined {
  const least = surely ? MIN_SURE_LENGTH : MIN_LENGTH;
  const letters = lettersOf(unknown);
  const same = known.find((name) => lettersOf(name) === letters);
  if (same !== undefined) return same;
  const near = known.flatMap((name) => {
    const own = lettersOf(name);
    // Of four letters a first one that is wrong leaves too little: none is no misspelt gone.
    if (own.length < least || own.length < 5 && own[0] !== letters[0]) return [];
    const distance = distanceOf(own, letters);
    return distance <= (own.length > 6 ? 2 : 1) ? [{ name, distance }] : [];
  });
  const nearest = near.toSorted((one, other) => one.distance - other.distance)[0];
  if (nearest !== undefined) return nearest.name;
  const begun = surely || letters.length < least
    ? []
    : known.filter((name) => lettersOf(name).startsWith(letters));
  return begun.length === 1 ? begun[0] : undefined;
}

/** Asks whether the nearest name is meant, as `; did you mean names?`; empty if none is near. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const nearest = nearestName(unknown, known);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

/** Asks whether the nearest name is meant, or lists all, as `; there are one, two`; empty if these are too many. */
export function nearestOrAll(unknown: string, known: readonly string[]): string {
  const list = known.join(", ");
  const isShort = known.length > 0 && known.length <= MAX_LISTED && list.length <= MAX_LIST_LENGTH;
  return didYouMean(unknown, known) || (isShort ? `; there are ${list}` : "");
}

function lettersOf(name: string): string {
  return name.slice(0, MAX_LENGTH).toLowerCase().replace(/[^a-z0-9]/g, "");
}

/** The letters that differ; two that are swapped count as one. */
function distanceOf(one: string, other: string): number {
  const distance = levenshteinDistance(one, other);
  const place = [...one].findIndex((letter, at) => letter !== other[at]);
  const swapped = one.slice(0, place) + one.slice(place, place + 2).split("").reverse().join("") +
    one.slice(place + 2);
  return distance === 2 && swapped === other ? 1 : distance;
}
