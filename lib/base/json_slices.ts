/**
 * Slices of JSON text: the members of an object or a list, and where a string ends.
 * @module
 */

/** A member of an object or a list. */
export interface JsonPart {
  /** The key; omitted in a list. */
  readonly key?: string;
  /** The text of the value. */
  readonly json: string;
}

/**
 * Returns the members of an object or a list as text: numbers keep digits that a double would lose.
 *
 * @param json Strict JSON of an object or a list.
 */
export function jsonParts(json: string): JsonPart[] {
  const start = json.search(/\S/);
  const isObject = json[start] === "{";
  const parts: JsonPart[] = [];
  let level = 0;
  let begin = start + 1;
  let key: string | undefined;
  const close = (end: number) => {
    const part = json.slice(begin, end).trim();
    if (part !== "") parts.push({ key, json: part });
    begin = end + 1;
    key = undefined;
  };
  for (let at = start; at < json.length; at++) {
    const char = json[at]!;
    if (char === '"') at = textEnd(json, at, json.length)! - 1;
    else if (char === "{" || char === "[") level++;
    else if (char === "}" || char === "]") level--;
    else if (level === 1 && char === ",") close(at);
    else if (level === 1 && char === ":" && isObject) {
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

/** Returns where the strict JSON string that begins at `at` ends; `undefined` if not before `to`. */
export function textEnd(text: string, at: number, to: number): number | undefined {
  for (let next = at + 1; next < to; next++) {
    const char = text[next]!;
    if (char === '"') return next + 1;
    if (char < " ") return undefined;
    if (char !== "\\") continue;
    const end = stickyEnd(ESCAPE, text, next);
    if (end === undefined) return undefined;
    next = end - 1;
  }
  return undefined;
}

/** An escape sequence in a strict JSON string. */
export const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Returns where a match of a sticky pattern at exactly `at` ends. */
export function stickyEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
