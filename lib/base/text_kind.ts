/**
 * Kinds of messages: texts without what differs from one to the next, such as numbers and ids.
 * @module
 */

import { printable } from "./json.ts";

/** Numbers, also continued as in call_1_2. */
const NUMBERS = /\d+(?:_\d+)*/g;
/** The same, apart from the HTTP status of a failure. */
const OTHER_NUMBERS = /(?<!(?:^|: |HTTP |status )(?=[45]\d\d\b))(?<!\d)\d+(?:_\d+)*/gi;
/** Quoted texts; an apostrophe within a word quotes nothing. */
const QUOTED = /"[^"\n]{1,200}"|`[^`\n]{1,200}`|(?<![\p{L}\p{N}])'[^'\n]{1,200}'(?![\p{L}\p{N}])/gu;
/** Words that mix letters and digits, such as ids and hashes. */
const IDS = /(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])[\w-]{6,200}(?![\w-])/g;

/** Returns a text with `N` in place of its numbers, cut to `limit` characters and made printable. */
export function withoutNumbers(text: string, limit: number): string {
  return printable(text.slice(0, 2 * limit).replace(NUMBERS, "N"), limit);
}

/** Kinds that are named, at most. */
const MAX_KINDS = 3;
/** Characters of each, at most. */
const MAX_LENGTH = 300;

/**
 * Returns the three commonest kinds of texts, most frequent first: each as the text itself if all of its kind
 * are the same, else without its ids, its quoted texts and its numbers but an HTTP status; cut and printable.
 */
export function commonKinds(
  texts: readonly string[],
): { readonly text: string; readonly count: number }[] {
  const kinds = [...Map.groupBy(texts, kindOf)]
    .sort(([, one], [, other]) => other.length - one.length);
  return kinds.slice(0, MAX_KINDS).map(([kind, own]) => {
    const [first] = own;
    // What differs from one to the next says nothing.
    const isOne = own.every((one) => one === first);
    return { text: isOne ? printable(first!, MAX_LENGTH) : kind, count: own.length };
  });
}

function kindOf(text: string): string {
  const plain = text.slice(0, 4 * MAX_LENGTH).replace(QUOTED, '"..."').replace(IDS, "ID");
  return printable(plain.replace(OTHER_NUMBERS, "N"), MAX_LENGTH);
}
