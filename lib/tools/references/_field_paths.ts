/**
 * Field paths: how a reference leads into the value of its name, as in `@Order.customer.name`.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";

/** A value that has parts. */
export type Structure = JsonObject | JsonValue[];

/** The longest key in a path. */
const MAX_KEY_LENGTH = 200;
/** At most this many keys of an object are listed. */
const MAX_LISTED = 20;
/** Longer keys are not listed. */
const MAX_QUOTE_LENGTH = 100;

/** Cased letters, digits and underscores: text in other scripts may follow without a space. */
const LETTER = String.raw`\w\p{Lu}\p{Ll}`;
/** A dot and a word that may be a key, or one character longer than a key. */
const STEP = new RegExp(`\\.([${LETTER}][${LETTER}-]{0,${MAX_KEY_LENGTH}})`, "uy");
const KEY = new RegExp(`^[${LETTER}](?:[${LETTER}-]{0,${MAX_KEY_LENGTH}}[${LETTER}])?$`, "u");
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
/** An index in brackets. */
const BRACKETS = /\[(0|[1-9]\d{0,8})\]/y;

/** How paths may be written, in addition to `.key` and `.0`. */
export interface PathForm {
  /** Whether an index may be in brackets: `[0]`; default `false`. */
  readonly brackets?: boolean;
}

/** The result of following a path. */
export interface FollowedPath {
  /** The last value reached. */
  readonly value: JsonValue;
  /** Where its path ends in the text. */
  readonly end: number;
  /** The next key in the text, if the value is an object or a list without it. */
  readonly missing?: string;
}

/**
 * Follows the path in `text` at `from` while values have parts: after any other value the text is plain text.
 * If a word with hyphens is not a key, its part before a hyphen may be: `@Order.total-5` is the total
 * and "-5", unless there is a key `total-5`.
 */
export function followPath(
  text: string,
  from: number,
  value: JsonValue,
  form: PathForm = {},
): FollowedPath {
  let current = value;
  let end = from;
  while (typeof current === "object" && current !== null) {
    const step = stepAt(text, end, form);
    if (step === undefined) break;
    const { word, length } = step;
    const key = beginnings(word).find((key) => hasPart(current as Structure, key));
    if (key === undefined) return { value: current, end, missing: word };
    current = (current as JsonObject)[key]!;
    end += length - word.length + key.length;
  }
  return { value: current, end };
}

/** Returns where the longest possible path in `text` from `from` on ends, for any value. */
export function pathEnd(text: string, from: number, form: PathForm = {}): number {
  let end = from;
  for (let step = stepAt(text, end, form); step !== undefined; step = stepAt(text, end, form)) {
    end += step.length;
  }
  return end;
}

/** Describes the keys that may follow the dot, as a phrase that continues a name. */
export function describeParts(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return "is no object or list";
  if (Array.isArray(value)) {
    if (value.length === 0) return "is an empty list";
    return `is a list with items from 0 to ${value.length - 1}`;
  }
  const keys: string[] = [];
  let others = 0;
  for (const key of Object.keys(value)) {
    if (keys.length < MAX_LISTED && key.length <= MAX_QUOTE_LENGTH && KEY.test(key)) keys.push(key);
    else others++;
  }
  if (keys.length === 0) return "has no fields that can be named";
  return `has the fields ${keys.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
}

/** One step of a path. */
export interface FieldStep {
  /** The key or the index, as written. */
  readonly word: string;
  /** Its length in characters, with the dot or the brackets. */
  readonly length: number;
}

/** Returns the step at `from`: a dot and a word, which has hyphens only inside, or an index. */
export function stepAt(
  text: string,
  from: number,
  { brackets = false }: PathForm,
): FieldStep | undefined {
  if (brackets && text[from] === "[") {
    BRACKETS.lastIndex = from;
    const [whole, index] = BRACKETS.exec(text) ?? [];
    return whole === undefined ? undefined : { word: index!, length: whole.length };
  }
  STEP.lastIndex = from;
  const word = STEP.exec(text)?.[1]?.replace(/-+$/, "");
  return word === undefined ? undefined : { word, length: 1 + word.length };
}

/** Returns the word, and its parts before each hyphen, longest first. */
function beginnings(word: string): string[] {
  const found = [word];
  for (let at = word.lastIndexOf("-"); at > 0; at = word.lastIndexOf("-", at - 1)) {
    if (word[at - 1] !== "-") found.push(word.slice(0, at));
  }
  return found;
}

function hasPart(value: Structure, key: string): boolean {
  if (key.length > MAX_KEY_LENGTH) return false;
  // Arrays have own keys that are not items, such as `length`.
  return Array.isArray(value)
    ? INDEX.test(key) && Number(key) < value.length
    : Object.hasOwn(value, key);
}
