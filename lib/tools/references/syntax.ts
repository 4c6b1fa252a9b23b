/**
 * References: names for values where a model writes them, as `@name`, or as `@name.field` for a part
 * of a value (Indirection, "Adding a Level of Indirection").
 * @module
 */

import { followPath, pathEnd, type PathForm, stepAt } from "./field_paths.ts";
import type { JsonValue } from "../../base/json.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/**
 * Signs and a name, but for those of an address such as bob@example.com. Letters without a case do
 * not count before it: the languages that are written in them need no space there.
 */
const REFERENCE = /(?<![\w\p{Lu}\p{Ll}@])(@+)([A-Za-z_][A-Za-z0-9_]*)/gu;

/** How references are written. */
export interface Notation extends PathForm {
  /** What stands before a name. */
  readonly sign: string;
  /** What one looks like. */
  readonly example: string;
  /** Finds signs and the name behind them, one group each. */
  readonly pattern: RegExp;
  /** Whether each two signs write one; default one of several is dropped, and no reference is there. */
  readonly pairs?: boolean;
}

/** Names for values. Of several signs before a name one is dropped: so `@@name` is the text `@name`. */
export const NAMES: Notation = { sign: "@", example: "@name", pattern: REFERENCE };

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
  /** The name, without its sign. */
  readonly name: string;

  readonly #text: string;
  readonly #start: number;
  readonly #form: PathForm;
  #end: number;

  /** A reference to `name`, whose sign stands in `text` at `start`. */
  constructor(text: string, start: number, name: string, form: PathForm = NAMES) {
    this.name = name;
    this.#text = text;
    this.#start = start;
    this.#form = form;
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

  /** Name and path, without the sign. */
  get path(): string {
    return this.#text.slice(this.#start + 1, this.#end);
  }

  /** Goes on into the value of its name, as far as the path there leads. */
  follow(value: JsonValue): { readonly value: JsonValue; readonly missing?: string } {
    const followed = followPath(this.#text, this.#end, value, this.#form);
    this.#end = followed.end;
    return followed;
  }

  /** Takes one more step, whatever stands there. */
  step(): void {
    this.#end += stepAt(this.#text, this.#end, this.#form)?.length ?? 0;
  }

  /** The next step, where all that is left of the text is a path, and nothing stands before it. */
  get next(): string | undefined {
    const step = this.#start === 0 ? stepAt(this.#text, this.#end, this.#form) : undefined;
    if (step === undefined) return undefined;
    return pathEnd(this.#text, this.#end, this.#form) === this.#text.length ? step.word : undefined;
  }

  /** Takes all for a path that looks like one, where the value is not known. */
  skipPath(): void {
    this.#end = pathEnd(this.#text, this.#end, this.#form);
  }
}

/**
 * `text` with each reference replaced; where `replacement` gives `undefined` it stays. How signs before a
 * name are written that are text, the notation says: by default `@@name` is the text `@name`.
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
    const kept = pairs ? Math.floor(count / 2) : count - 1;
    const reference = new Reference(text, index + count - 1, name!, notation);
    const replaced = escaped ? name! : replacement(reference);
    if (replaced === undefined) continue;
    parts.push(text.slice(from, index), sign.repeat(kept), replaced);
    from = escaped ? index + length : reference.end;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** All names that stand in the texts of `value`; keys do not count. */
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
  /** What is asked. */
  readonly value: JsonValue;
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
    return { path: reference.path, key: missing, value };
  }
  return value === binding.value ? binding : new Binding(value);
}
