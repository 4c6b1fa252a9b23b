/**
 * JSON values: their types, a canonical text for each, and text that is safe to print.
 * @module
 */

/** Any value that JSON can carry. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/** A JSON object. Keys may come from a model: read them with `Object.hasOwn`. */
export interface JsonObject {
  /** A value by its key. */
  [key: string]: JsonValue;
}

/** Whether `value` is an object, neither `null` nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object without its undefined properties: a property that may be undefined becomes optional. */
export type Defined<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** Returns `fields` without the undefined ones, as optional properties must be absent, not undefined. */
export function defined<T extends object>(fields: T): Defined<T> {
  const result: Partial<T> = {};
  for (const key of Object.keys(fields) as (keyof T)[]) {
    if (fields[key] !== undefined) result[key] = fields[key];
  }
  return result as unknown as Defined<T>;
}

/**
 * Returns the JSON text of `value` with the keys of every object sorted, so that equal values have equal
 * texts. Keys whose value is `undefined` are left out, as `JSON.stringify` does.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (!isJsonObject(inner)) return inner;
    return Object.fromEntries(
      Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)),
    );
  });
}

/**
 * Returns the parsed value of `text`, or `undefined` if it is not JSON (JSON itself has no `undefined`).
 */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Control characters (line breaks and tabs too), lone surrogates, and invisible characters that reorder
// or hide text.
const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/**
 * Returns `text` on one line, without characters that could control a terminal, cut to about `limit`
 * characters. All text from a model or a server passes through here before it is printed.
 */
export function printable(text: string, limit = 200): string {
  const result = text.slice(0, limit + 1).replace(UNPRINTABLE, (character) => {
    const short = SHORT_ESCAPES[character];
    if (short !== undefined) return short;
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
  if (result.length <= limit) return result;
  return result.slice(0, Math.max(0, limit - 1)).replace(/\p{Cs}$/u, "") + "…";
}

/** Like {@linkcode printable}, but keeps line breaks: for views of whole texts. */
export function printableLines(text: string, limit = 20_000): string {
  const cut = text.length > limit ? text.slice(0, limit).replace(/\p{Cs}$/u, "") + "…" : text;
  return cut.split(/\r?\n/).map((line) => printable(line, Infinity)).join("\n");
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
