/**
 * Perturbations of tool returns (Butterfly, section 4.3 and appendix A.3.3). Texts are rewritten token by
 * token: whitespace, long numbers, duplicate keys and the order of keys are kept.
 * @module
 */

import defer * as jsonc from "jsonc-parser";
import { type JsonValue, pointerPart } from "../base/json.ts";
import { type Change, type Perturbed, perturbed, type ReturnMethod, unchanged } from "./methods.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/**
 * Applies a method to a tool's return, given as text. Nothing is random.
 *
 * | method | change |
 * | --- | --- |
 * | `FK` | each distinct key becomes `Object_1`, `Object_2`, ..., in the order of first occurrence |
 * | `AP` | `ID_` before texts and numbers, also in a list, under keys with the whole word `id`: not `video` |
 * | `CK`, `UK` | keys in camelCase or snake_case; if two would become equal, the later gets a number |
 * | `CF` | the last character is replaced by `...` |
 *
 * Text that is not JSON is changed by `CF` alone. Paths of changes point into the original text; a pointer to
 * a key that occurs twice in an object means each of its values.
 */
export function perturbReturn(method: ReturnMethod, text: string): Perturbed<string> {
  if (method === "CF") return breakOff(text);
  const tokens = tokensOf(text);
  if (tokens === undefined) return unchanged(text);
  const rewrite = REWRITES[method](tokens);
  const changes: Change[] = [];
  let value = "";
  let from = 0;
  for (const token of tokens) {
    const result = rewrite(token);
    if (result === undefined) continue;
    changes.push(result.change);
    value += text.slice(from, token.start) + result.text;
    from = token.end;
  }
  return perturbed(text, value + text.slice(from), changes);
}

/** The paper's formula: s[0:-1] followed by "..."; trailing whitespace is not part of the document. */
function breakOff(text: string): Perturbed<string> {
  const end = text.trimEnd().length;
  if (end === 0) return unchanged(text);
  const last = text.slice(0, end).match(/[\uD800-\uDBFF][\uDC00-\uDFFF]$|[^]$/)![0];
  const start = end - last.length;
  return perturbed(text, `${text.slice(0, start)}...${text.slice(end)}`, [
    { kind: "text", start, end, before: last, after: "..." },
  ]);
}

/** A key or a scalar of a JSON text, with its position. */
interface JsonToken {
  readonly kind: "key" | "scalar";
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The key, or the nearest key above a scalar, ignoring lists in between. */
  readonly key: string | undefined;
  /** The keys of the object that a key belongs to, in order; empty for a scalar. */
  readonly keys: readonly string[];
  /** The path of the scalar, or of the object that the key belongs to. */
  readonly path: string;
}

/** The keys and scalars of a JSON text, in order; `undefined` if it is not JSON, or nests too deep to be read. */
function tokensOf(text: string): JsonToken[] | undefined {
  const tokens: JsonToken[] = [];
  const open: string[][] = [];
  const pointer = (path: readonly (string | number)[]) =>
    path.map((part) => `/${pointerPart(String(part))}`).join("");
  const at = (start: number, length: number) => {
    const end = start + length;
    return { start, end, text: text.slice(start, end) };
  };
  try {
    JSON.parse(text);
    jsonc.visit(text, {
      onObjectBegin: () => void open.push([]),
      onObjectEnd: () => void open.pop(),
      onObjectProperty(key, start, length, _line, _column, path) {
        const keys = open.at(-1)!;
        keys.push(key);
        tokens.push({ ...at(start, length), kind: "key", key, keys, path: pointer(path()) });
      },
      onLiteralValue(_value, start, length, _line, _column, path) {
        const key = path().findLast((part) => typeof part === "string");
        tokens.push({ ...at(start, length), kind: "scalar", key, keys: [], path: pointer(path()) });
      },
    });
  } catch {
    return undefined;
  }
  return tokens;
}

/** Returns the new text of a token and the change to report; `undefined` if it stays. */
type Rewrite = (token: JsonToken) => { readonly text: string; readonly change: Change } | undefined;

const REWRITES: Readonly<
  Record<Exclude<ReturnMethod, "CF">, (tokens: readonly JsonToken[]) => Rewrite>
> = {
  FK: () => {
    const numbers = new Map<string, number>();
    return renaming(({ key }) => {
      const number = numbers.get(key!) ?? numbers.size + 1;
      numbers.set(key!, number);
      return `Object_${number}`;
    });
  },
  AP: () => ({ kind, text, key, path }) => {
    if (kind !== "scalar" || key === undefined || !wordsOf(key).includes("id")) return undefined;
    if (text === "true" || text === "false" || text === "null") return undefined;
    const before = JSON.parse(text) as JsonValue;
    // A number is copied as text: parsed, it might lose digits.
    const after = `ID_${typeof before === "string" ? before : text}`;
    return { text: JSON.stringify(after), change: { kind: "value", path, before, after } };
  },
  CK: () => renaming(convention(CAMEL_CASE)),
  UK: () => renaming(convention(SNAKE_CASE)),
};

function renaming(nameOf: (token: JsonToken) => string): Rewrite {
  return (token) => {
    const { kind, key, path } = token;
    if (kind !== "key") return undefined;
    const after = nameOf(token);
    if (after === key) return undefined;
    return {
      text: JSON.stringify(after),
      change: { kind: "key", path, before: key!, after },
    };
  };
}

/** A naming convention of keys. */
interface Style {
  readonly follows: (key: string) => boolean;
  readonly convert: (key: string) => string;
  readonly numbered: (name: string, number: number) => string;
}

const CAMEL_CASE: Style = {
  follows: (key) => /^[_$]*(?![\p{Lu}\p{Lt}])[\p{L}\p{N}\p{M}]*$/u.test(key),
  convert: inCamelCase,
  numbered: (name, number) => `${name}${number}`,
};

const SNAKE_CASE: Style = {
  follows: (key) => key === key.toLowerCase() && /^\$*[\p{L}\p{N}\p{M}_]*$/u.test(key),
  convert: inSnakeCase,
  numbered: (name, number) => `${name}_${number}`,
};

/**
 * Names keys by a convention, separately for each object. A key that already follows it keeps its name; one
 * that would equal an earlier name gets the first number that makes it unique.
 */
function convention(style: Style): (token: JsonToken) => string {
  const names = new Map<readonly string[], Map<string, string>>();
  return ({ key, keys }) => getOrInsertComputed(names, keys, () => namesOf(keys, style)).get(key!)!;
}

function namesOf(
  keys: readonly string[],
  { follows, convert, numbered }: Style,
): Map<string, string> {
  const names = new Map(keys.filter(follows).map((key) => [key, key]));
  const taken = new Set(names.keys());
  const numbers = new Map<string, number>();
  for (const key of keys) {
    if (names.has(key)) continue;
    const name = convert(key);
    let free = name;
    let number = numbers.get(name) ?? 1;
    while (taken.has(free)) free = numbered(name, ++number);
    numbers.set(name, number);
    names.set(key, free);
    taken.add(free);
  }
  return names;
}

/** The words of a key, in lower case, split at capitals and at anything but letters and digits. */
function wordsOf(key: string): string[] {
  return key
    .replaceAll(/([\p{Ll}\p{Lo}\p{Lm}\p{N}\p{M}])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "");
}

/** The characters before the words of a key, such as the underscore of `_id`. */
function prefixOf(key: string): string {
  return /^[_$]*/.exec(key)![0];
}

function inCamelCase(key: string): string {
  const [first = "", ...others] = wordsOf(key);
  if (first === "") return key;
  return prefixOf(key) + first +
    others.map((word) => {
      const [letter = "", ...rest] = word;
      const capital = letter.toUpperCase();
      // A few letters, such as the German sharp s, have a capital of two characters.
      return (capital.length === letter.length ? capital : letter) + rest.join("");
    }).join("");
}

function inSnakeCase(key: string): string {
  const words = wordsOf(key);
  return words.length === 0 ? key : prefixOf(key) + words.join("_");
}
