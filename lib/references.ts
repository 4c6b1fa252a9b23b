/**
 * References: names for values where a model writes them, as `@name`, or as `@name.field` for a part
 * of a value (Indirection, "Adding a Level of Indirection").
 * @module
 */

import { followPath, pathEnd, type Structure } from "./field_paths.ts";
import type { JsonValue } from "./json.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Signs and a name, but for those of an address such as bob@example.com. Letters without a case do
 * not count before it: the languages that are written in them need no space there.
 */
const REFERENCE = /(?<![\w\p{Lu}\p{Ll}@])(@+)([A-Za-z_][A-Za-z0-9_]*)/gu;
const WHOLE = /^@([A-Za-z_][A-Za-z0-9_]*)$/;
/** No name is longer, without its "@". */
export const LONGEST_NAME = 64;
/** Names in names could double a text with every call. */
export const LONGEST_TEXT = 10_000_000;
/** No more of a parameter's name, or of a name, is kept. */
export const LONGEST_TOLD = 100;

/** What a name may be, for those who gave another one. */
export const NAME_RULE =
  `a name has at most ${LONGEST_NAME} letters of English, digits and underscores, the first of them no digit`;

/** Whether `name`, which has no "@", can name a value. */
export function isSymbol(name: string): boolean {
  return name.length <= LONGEST_NAME && NAME.test(name);
}

/** The name that `text` is a reference to, if it is nothing but that: no path is behind it. */
export function wholeReference(text: string): string | undefined {
  return WHOLE.exec(text)?.[1];
}

/** A reference where it stands in a text. How much of a path belongs to it, the value decides. */
export class Reference {
  /** The name, without its "@". */
  readonly name: string;

  readonly #text: string;
  readonly #start: number;
  #end: number;

  /** A reference to `name`, whose "@" stands in `text` at `start`. */
  constructor(text: string, start: number, name: string) {
    this.name = name;
    this.#text = text;
    this.#start = start;
    this.#end = start + 1 + name.length;
  }

  /** Where it ends. */
  get end(): number {
    return this.#end;
  }

  /** Whether the text is nothing but this reference. */
  get isWhole(): boolean {
    return this.#start === 0 && this.#end === this.#text.length;
  }

  /** Name and path, without the "@". */
  get path(): string {
    return this.#text.slice(this.#start + 1, this.#end);
  }

  /** Goes on into the value of its name, as far as the path there leads. */
  follow(value: JsonValue): { readonly value: JsonValue; readonly missing?: string } {
    const followed = followPath(this.#text, this.#end, value);
    this.#end = followed.end;
    return followed;
  }

  /** Takes all for a path that looks like one, where the value is not known. */
  skipPath(): void {
    this.#end = pathEnd(this.#text, this.#end);
  }
}

/**
 * `text` with each reference replaced; where `replacement` gives `undefined` it stays. Of several signs
 * before a name one is dropped: so `@@name` is the text `@name`.
 */
export function replaceReferences(
  text: string,
  replacement: (reference: Reference) => string | undefined,
): string {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: { length }, 1: signs, 2: name, index } of text.matchAll(REFERENCE)) {
    const reference = new Reference(text, index, name!);
    const escaped = signs!.length > 1;
    const replaced = escaped ? text.slice(index + 1, index + length) : replacement(reference);
    if (replaced === undefined) continue;
    parts.push(text.slice(from, index), replaced);
    from = escaped ? index + length : reference.end;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** All names that stand in the texts of `value`; keys do not count. */
export function referencesIn(value: JsonValue): Set<string> {
  if (typeof value === "string") {
    const names = new Set<string>();
    replaceReferences(value, ({ name }) => (names.add(name), undefined));
    return names;
  }
  if (typeof value !== "object" || value === null) return new Set();
  return new Set(Object.values(value).flatMap((inner) => [...referencesIn(inner)]));
}

/** The texts of objects and lists: they may be long, and their names stand often. */
const TEXTS = new WeakMap<object, string>();

/** What a reference stands for. */
export class Binding {
  /** The value. */
  readonly value: JsonValue;

  /** Binds a value. */
  constructor(value: JsonValue) {
    this.value = value;
  }

  /** How it looks inside a text. */
  get text(): string {
    const { value } = this;
    if (typeof value !== "object" || value === null) return String(value);
    const known = TEXTS.get(value);
    if (known !== undefined) return known;
    const text = JSON.stringify(value);
    TEXTS.set(value, text);
    return text;
  }
}

/** What a path asks for, and is not there. */
export interface MissingPart {
  /** Name and path of what does not have it, without the "@". */
  readonly path: string;
  /** The key that it does not have. */
  readonly key: string;
  /** The object or list that is asked. */
  readonly value: Structure;
}

/** What a reference means: `undefined` when its name has no value. */
export function meaningOf(
  reference: Reference,
  bindings: ReadonlyMap<string, Binding>,
): Binding | MissingPart | undefined {
  const binding = bindings.get(reference.name);
  if (binding === undefined) return undefined;
  const { value, missing } = reference.follow(binding.value);
  if (missing !== undefined) {
    return { path: reference.path, key: missing, value: value as Structure };
  }
  return value === binding.value ? binding : new Binding(value);
}
