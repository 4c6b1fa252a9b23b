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

/**
 * Returns the kind of a message: without its ids, its quoted texts and its numbers but an HTTP status, cut to
 * `limit` characters and made printable.
 */
export function textKind(text: string, limit: number): string {
  const plain = text.slice(0, 4 * limit).replace(QUOTED, '"..."').replace(IDS, "ID");
  return printable(plain.replace(OTHER_NUMBERS, "N"), limit);
}
