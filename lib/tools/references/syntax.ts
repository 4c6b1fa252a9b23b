/**
 * References: how a model writes names for values, as `@name`, or as `@name.field` for a part of a value
 * (Indirection, "Adding a Level of Indirection").
 * @module
 */

import { jsonText } from "../../base/json.ts";
import { followPath, pathEnd, type PathForm, stepAt } from "./_field_paths.ts";
import type { JsonValue } from "../../base/json.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Signs and a name, except in an address such as bob@example.com. Letters without case may come directly
 * before it: the languages written with them use no spaces there.
 */
const REFERENCE = /(?<![\w\p{Lu}\p{Ll}@])(@+)([A-Za-z_][A-Za-z0-9_]*)/gu;

/** The notation of references. */
export interface Notation extends PathForm {
  /** The sign before a name. */
  readonly sign: string;
  /** An example of a reference. */
  readonly example: string;
  /** Matches signs and the name after them, one group each. */
  readonly pattern: RegExp;
  /** Whether two signs escape one; default: of several signs one is dropped, and it is no reference. */
  readonly pairs?: boolean;
}

/** Names for values. Of several signs before a name one is dropped: `@@name` is the text `@name`. */
export const NAMES: Notation = { sign: "@", example: "@name", pattern: REFERENCE };

const WHOLE = /^@([A-Za-z_][A-Za-z0-9_]*)$/;
/** The longest name, without its "@". */
export const MAX_NAME_LENGTH = 64;
/** The longest text: names within names could double a text with every call. */
export const MAX_TEXT_LENGTH = 10_000_000;
/** Longer names are cut in messages. */
export const MAX_QUOTE_LENGTH = 100;

/** The rule for names, in messages. */
export const NAME_RULE =
  `a name has at most ${MAX_NAME_LENGTH} letters of English, digits and underscores, the first of them no digit`;

/** Whether `name`, without "@", is a valid name for a value. */
export function isSymbol(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && NAME.test(name);
}

/** Returns the name if `text` is only a reference without a path. */
export function wholeReference(text: string): string | undefined {
  return WHOLE.exec(text)?.[1];
}

/** A reference within a text. The value decides how much of the path belongs to it. */
export class Reference {
  /** The name, without its sign. */
  readonly name: string;

  readonly #text: string;
  readonly #start: number;
  readonly #form: PathForm;
  #end: number;

  /** Makes a reference to `name`, whose sign is in `text` at `start`. */
  constructor(text: string, start: number, name: string, form: PathForm = NAMES) {
    this.name = name;
    this.#text = text;
    this.#start = start;
    this.#form = form;
    this.#end = start + 1 + name.length;
  }

  /** Where it ends in the text. */
  get end(): number {
    return this.#end;
  }

  /** Whether the text is only this reference. */
  get isWhole(): boolean {
    return this.#start === 0 && this.#end === this.#text.length;
  }

  /** The name and path, without the sign. */
  get path(): string {
    return this.#text.slice(this.#start + 1, this.#end);
  }

  /** Follows the path into the value of the name as far as it leads. */
  follow(value: JsonValue): { readonly value: JsonValue; readonly missing?: string } {
    const result = followPath(this.#text, this.#end, value, this.#form);
    this.#end = result.end;
    return result;
  }

  /** Takes one more step, for any value. */
  step(): void {
    this.#end += stepAt(this.#text, this.#end, this.#form)?.length ?? 0;
  }

  /** The next key, if the text begins with the reference and its rest is a path. */
  get next(): string | undefined {
    const step = this.#start === 0 ? stepAt(this.#text, this.#end, this.#form) : undefined;
    if (step === undefined) return undefined;
    return pathEnd(this.#text, this.#end, this.#form) === this.#text.length ? step.word : undefined;
  }

  /** Takes the longest possible path, if the value is not known. */
  skipPath(): void {
    this.#end = pathEnd(this.#text, this.#end, this.#form);
  }
}

/**
 * Returns `text` with each reference replaced, or kept if `replacement` returns `undefined`. Escaped signs are
 * unescaped as the notation defines: by default `@@name` is the text `@name`.
 */
export function replaceReferences(
  text: string,
  replacement: (reference: Reference) => string | undefined,
  notation: Notation = NAMES,
): string {
  const { sign, pattern, pairs = false } = notation;
  const parts: string[] = [];
  let from = 0;
  for (const { 0: { length }, 1: signs, 2: name, index } of text.matchAll(pattern)) {
    const count = signs!.length;
    const escaped = pairs ? count % 2 === 0 : count > 1;
    const signCount = pairs ? Math.floor(count / 2) : count - 1;
    const reference = new Reference(text, index + count - 1, name!, notation);
    const replaced = escaped ? name! : replacement(reference);
    if (replaced === undefined) continue;
    parts.push(text.slice(from, index), sign.repeat(signCount), replaced);
    from = escaped ? index + length : reference.end;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** Returns all names in the strings of `value`; keys do not count. */
export function referencesIn(value: JsonValue, notation: Notation = NAMES): Set<string> {
  const names = new Set<string>();
  // Values may nest deeper than the stack goes.
  const waiting = [value];
  while (waiting.length > 0) {
    const one = waiting.pop()!;
    if (typeof one === "string") {
      replaceReferences(one, ({ name }) => (names.add(name), undefined), notation);
    } else if (typeof one === "object" && one !== null) {
      for (const inner of Object.values(one).reverse()) waiting.push(inner);
    }
  }
  return names;
}

/** Cached texts of objects and lists: they may be long and used often. */
const TEXTS = new WeakMap<object, string>();

/** The value of a reference. */
export class Binding {
  /** Binds a value. */
  constructor(readonly value: JsonValue) {}

  /** The value as inserted into a text. */
  get text(): string {
    const { value } = this;
    if (typeof value !== "object" || value === null) return String(value);
    return getOrInsertComputed(TEXTS, value, () => jsonText(value));
  }
}

/** A path to a part that does not exist. */
export interface MissingPart {
  /** The name and path of the value that lacks it, without the "@". */
  readonly path: string;
  /** The missing key. */
  readonly key: string;
  /** The value that lacks it. */
  readonly value: JsonValue;
}

/** Returns the value of a reference; `undefined` if its name has none. */
export function meaningOf(
  reference: Reference,
  bindings: ReadonlyMap<string, Binding>,
): Binding | MissingPart | undefined {
  const binding = bindings.get(reference.name);
  if (binding === undefined) return undefined;
  const { value, missing } = reference.follow(binding.value);
  if (missing !== undefined) {
    return { path: reference.path, key: missing, value };
  }
  return value === binding.value ? binding : new Binding(value);
}
