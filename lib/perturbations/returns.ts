/**
 * Perturbations of what tools return (Butterfly, section 4.3 and appendix A.3.3). Texts are rewritten token
 * by token: whitespace, long numbers, keys that occur twice and their order stay as they are.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { type JsonValue, printable } from "../base/json.ts";
import { type Change, type Perturbed, perturbed, type ReturnMethod, unchanged } from "./methods.ts";

/**
 * What a tool returned, as text, under a method. Nothing in it is random.
 *
 * | method | change |
 * | --- | --- |
 * | `FK` | each distinct key becomes `Object_1`, `Object_2`, ..., in the order of first occurrence |
 * | `AP` | `ID_` before texts and numbers, also in a list, under keys with the whole word `id`: not `video` |
 * | `CK`, `UK` | keys in camelCase, in snake_case; of two that would be one the later gets a number |
 * | `CF` | the last character is cut off, and `...` put there |
 *
 * What is no JSON is changed by `CF` alone. Changes are told by where things were: a pointer to a key that
 * occurs twice in one object means each of the values under it.
 *
 * @throws {InputError} If there is no such method, or `text` is none.
 *
 * @example Usage
 * ```ts
 * import { perturbReturn } from "./returns.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = '{"user_id": 7, "video": "a.mp4"}';
 * assertEquals(perturbReturn("AP", text).value, '{"user_id": "ID_7", "video": "a.mp4"}');
 * assertEquals(perturbReturn("CK", text).value, '{"userId": 7, "video": "a.mp4"}');
 * assertEquals(perturbReturn("CF", text).value, '{"user_id": 7, "video": "a.mp4"...');
 * assertEquals(perturbReturn("UK", text).changed, false);
 * ```
 */
export function perturbReturn(method: ReturnMethod, text: string): Perturbed<string> {
  refuseOthers(method, text);
  if (method === "CF") return breakOff(text);
  const tokens = tokensOf(text);
  if (tokens === undefined) return unchanged(text);
  const rewrite = REWRITES[method](tokens);
  const changes: Change[] = [];
  let value = "";
  let from = 0;
  for (const token of tokens) {
    const change = rewrite(token);
    if (change === undefined) continue;
    changes.push(change.told);
    value += text.slice(from, token.start) + change.text;
    from = token.end;
  }
  return perturbed(text, value + text.slice(from), changes);
}

function refuseOthers(method: ReturnMethod, text: string): void {
  if (method !== "CF" && !Object.hasOwn(REWRITES, method)) {
    throw new InputError(
      `Cannot perturb a return as the method must be one of ${Object.keys(REWRITES).join(", ")}, ` +
        `CF: it is ${printable(String(method))}`,
    );
  }
  if (typeof text !== "string") {
    const kind = Array.isArray(text) ? "a list" : text === null ? "null" : `of type ${typeof text}`;
    throw new InputError(
      `Cannot perturb a return as it must be a text: it is ${kind}; JSON.stringify() makes one`,
    );
  }
}

/** The formula is s[0:-1] with "..." behind it; whitespace at the end is no part of the document. */
function breakOff(text: string): Perturbed<string> {
  const end = text.trimEnd().length;
  if (end === 0) return unchanged(text);
  const last = text.slice(0, end).match(/[\uD800-\uDBFF][\uDC00-\uDFFF]$|[^]$/)![0];
  const start = end - last.length;
  return perturbed(text, `${text.slice(0, start)}...${text.slice(end)}`, [
    { kind: "text", start, end, before: last, after: "..." },
  ]);
}

/** An object or a list around a token. */
interface Container {
  /** Its place, as a JSON pointer. */
  readonly path: string;
  /** The keys that it has, in order; `undefined` for a list. */
  readonly keys: string[] | undefined;
  /** The place of its next item, where it is a list. */
  next: number;
  /** The key that stands before its next value, where it is an object. */
  key: string | undefined;
}

/** A key or a scalar of a JSON text, and where it stands. */
interface Token {
  readonly kind: "key" | "scalar";
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The key, or the nearest key above a scalar, lists between them being passed over. */
  readonly key: string | undefined;
  /** What it stands in; `undefined` for a scalar that is all there is. */
  readonly container: Container | undefined;
  /** Where the scalar stands, or the object that the key belongs to. */
  readonly path: string;
}

/** The words and marks of a JSON text. Long texts within quotes are too much for one regular expression. */
function* wordsIn(text: string): Generator<{ start: number; end: number; word: string }> {
  const next = /[{}[\],:"]|[^{}[\],:"\s]+/g;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const start = found.index;
    if (found[0] === '"') next.lastIndex = endOfQuoted(text, start);
    yield { start, end: next.lastIndex, word: text.slice(start, next.lastIndex) };
  }
}

function endOfQuoted(text: string, start: number): number {
  let end = start + 1;
  while (text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}

/** The keys and scalars of a JSON text, in order; `undefined` where it is none. */
function tokensOf(text: string): Token[] | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const tokens: Token[] = [];
  const open: { readonly container: Container; readonly above: string | undefined }[] = [];
  for (const { start, end, word } of wordsIn(text)) {
    const inner = open.at(-1);
    const container = inner?.container;
    const expectsKey = container?.keys !== undefined && container.key === undefined;
    if (word === "{" || word === "[") {
      const [path, above] = placeOf(inner);
      const keys = word === "{" ? [] : undefined;
      open.push({ container: { path, keys, next: 0, key: undefined }, above });
    } else if (word === "}" || word === "]") {
      open.pop();
    } else if (word === ",") {
      container!.key = undefined;
    } else if (word !== ":") {
      const place = { start, end, text: word, container };
      if (expectsKey) {
        const key = JSON.parse(word) as string;
        container.keys!.push(key);
        container.key = key;
        tokens.push({ ...place, kind: "key", key, path: container.path });
      } else {
        const [path, key] = placeOf(inner);
        tokens.push({ ...place, kind: "scalar", key, path });
      }
    }
  }
  return tokens;
}

/** Where the next value of a container stands, and the nearest key above it. */
function placeOf(
  inner: { readonly container: Container; readonly above: string | undefined } | undefined,
): [path: string, key: string | undefined] {
  if (inner === undefined) return ["", undefined];
  const { container, above } = inner;
  if (container.keys === undefined) return [`${container.path}/${container.next++}`, above];
  return [`${container.path}/${pointerPart(container.key!)}`, container.key];
}

function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** What a token becomes, as text and as it is told; `undefined` where it stays. */
type Rewrite = (token: Token) => { readonly text: string; readonly told: Change } | undefined;

const REWRITES: Readonly<
  Record<Exclude<ReturnMethod, "CF">, (tokens: readonly Token[]) => Rewrite>
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
    // A number stays as it is written: as a number it might lose digits.
    const after = `ID_${typeof before === "string" ? before : text}`;
    return { text: JSON.stringify(after), told: { kind: "value", path, before, after } };
  },
  CK: () => renaming(convention(CAMEL_CASE)),
  UK: () => renaming(convention(SNAKE_CASE)),
};

function renaming(nameOf: (token: Token) => string): Rewrite {
  return (token) => {
    const { kind, key, path } = token;
    if (kind !== "key") return undefined;
    const after = nameOf(token);
    if (after === key) return undefined;
    return {
      text: JSON.stringify(after),
      told: { kind: "key", path, before: key!, after },
    };
  };
}

/** A way to write keys. */
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
 * Names by a convention, each object for itself. A key that already follows it keeps its name; of others
 * that would be the same as one before the name gets the first number that makes it a new one.
 */
function convention(style: Style): (token: Token) => string {
  const names = new Map<Container, Map<string, string>>();
  return ({ key, container }) => {
    const own = names.get(container!) ?? namesOf(container!.keys!, style);
    names.set(container!, own);
    return own.get(key!)!;
  };
}

function namesOf(
  keys: readonly string[],
  { follows, convert, numbered }: Style,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const numbers = new Map<string, number>();
  for (const key of keys) {
    if (!follows(key)) continue;
    names.set(key, key);
    taken.add(key);
  }
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

/** The words of a key, in lower case: parted by anything but letters and digits, and by capitals. */
function wordsOf(key: string): string[] {
  return key
    .replaceAll(/([\p{Ll}\p{Lo}\p{Lm}\p{N}\p{M}])(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "");
}

/** What stands before the words of a key, such as the underscore of `_id`. */
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
      // A few letters, such as the German sharp s, have two in place of a capital one.
      return (capital.length === letter.length ? capital : letter) + rest.join("");
    }).join("");
}

function inSnakeCase(key: string): string {
  const words = wordsOf(key);
  return words.length === 0 ? key : prefixOf(key) + words.join("_");
}
