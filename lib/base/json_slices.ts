/**
 * Parts of JSON as they are written: what an object or a list holds, and where a text ends.
 * @module
 */

/** What an object or a list holds. */
export interface JsonPart {
  /** The key; left out in a list. */
  readonly key?: string;
  /** The value as it is written. */
  readonly json: string;
}

/**
 * What an object or a list holds, as it is written: numbers keep their digits, which no double holds.
 *
 * @param json Strict JSON of an object or a list.
 *
 * @example Usage
 * ```ts
 * import { partsOf } from "./json_slices.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(partsOf('{"n": 12345678901234567890, "m": [1.0]}'), [
 *   { key: "n", json: "12345678901234567890" },
 *   { key: "m", json: "[1.0]" },
 * ]);
 * ```
 */
export function partsOf(json: string): JsonPart[] {
  const start = json.search(/\S/);
  const isObject = json[start] === "{";
  const parts: JsonPart[] = [];
  let level = 0;
  let begin = start + 1;
  let key: string | undefined;
  const close = (end: number) => {
    const part = json.slice(begin, end).trim();
    if (part !== "") parts.push({ ...(key === undefined ? {} : { key }), json: part });
    begin = end + 1;
    key = undefined;
  };
  for (let at = start; at < json.length; at++) {
    const sign = json[at]!;
    if (sign === '"') at = textEnd(json, at, json.length)! - 1;
    else if (sign === "{" || sign === "[") level++;
    else if (sign === "}" || sign === "]") level--;
    else if (level === 1 && sign === ",") close(at);
    else if (level === 1 && sign === ":" && isObject) {
      key = JSON.parse(json.slice(begin, at));
      begin = at + 1;
    }
    if (level === 0) {
      close(at);
      break;
    }
  }
  return parts;
}

/** Where the text of strict JSON that begins at this place ends, if it does so before `to`. */
export function textEnd(text: string, at: number, to: number): number | undefined {
  for (let next = at + 1; next < to; next++) {
    const sign = text[next]!;
    if (sign === '"') return next + 1;
    if (sign < " ") return undefined;
    if (sign !== "\\") continue;
    const end = stickyEnd(ESCAPE, text, next);
    if (end === undefined) return undefined;
    next = end - 1;
  }
  return undefined;
}

/** What stands for one sign in a text of strict JSON. */
export const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Where a match of a sticky pattern at this very place ends. */
export function stickyEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
