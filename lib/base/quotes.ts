/**
 * Quotations: removes from a text what it has in common with others, as whoever wrote these may have chosen the words.
 * @module
 */

import { isObject, isShallowText, parseJson } from "./json.ts";

/** Characters that a quotation has in common with what it quotes, at least. */
const WINDOW = 12;
/** A shorter text is a word that others also have of their own. */
const SHORTEST = 6;
/** Characters of what is quoted that are looked for, at most. */
const MAX_QUOTED = 2_000_000;
/** Levels at which texts are found, at most. */
const MAX_LEVELS = 100;

/**
 * Returns texts without quotes and backslashes, on one line each, and without whatever they have in common with the
 * texts in a value. Takes time in proportion to both.
 */
export function withoutQuotes(texts: readonly string[], quoted: unknown): string[] {
  const plain = texts.map(plainText);
  const windows = new Map<string, boolean>();
  for (const text of plain) {
    for (let at = 0; at + WINDOW <= text.length; at++) {
      windows.set(text.slice(at, at + WINDOW), false);
    }
  }
  const short = new Set<string>();
  let left = MAX_QUOTED;
  for (const text of textsIn(quoted)) {
    const known = plainText(text).slice(0, left);
    left -= known.length;
    if (known.length >= SHORTEST && known.length < WINDOW) short.add(known);
    for (let at = 0; at + WINDOW <= known.length; at++) {
      const part = known.slice(at, at + WINDOW);
      if (windows.has(part)) windows.set(part, true);
    }
  }
  return plain.map((text) => {
    let kept = "";
    let quotedTo = -1;
    for (let at = 0; at < text.length; at++) {
      const isQuoted = windows.get(text.slice(at, at + WINDOW)) === true;
      if (isQuoted && at >= quotedTo) kept += " … ";
      if (isQuoted) quotedTo = at + WINDOW;
      else if (at >= quotedTo) kept += text[at];
    }
    for (const one of short) if (kept.includes(one)) kept = kept.replaceAll(one, " … ");
    return kept;
  });
}

/** Returns a text on one line, without quotes and backslashes, which each writer sets in another way. */
export function plainText(text: string): string {
  return text.replace(/\\+n|\s+/g, " ").replace(/["'`\\]/g, "");
}

/** Yields the texts within a value, also those within JSON in a text, but no keys, roles and types. */
export function* textsIn(value: unknown, levels: number = MAX_LEVELS): Generator<string> {
  if (typeof value === "string") {
    yield value;
    const isJson = /^\s*[{[]/.test(value) && isShallowText(value);
    const inner = isJson ? parseJson(value) : undefined;
    if (isObject(inner) && levels > 0) yield* textsIn(inner, levels - 1);
  } else if (isObject(value) && levels > 0) {
    for (const [key, inner] of Object.entries(value)) {
      if (key !== "role" && key !== "type") yield* textsIn(inner, levels - 1);
    }
  }
}
