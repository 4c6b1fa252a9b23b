/**
 * Field paths: how a reference goes on into the value of its name, as `@Order.customer.name` does.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";

/** A value that has parts. */
export type Structure = JsonObject | JsonValue[];

/** No longer key can stand in a path. */
const LONGEST_KEY = 200;
/** So many keys of an object are told. */
const MOST_TOLD = 20;
/** No more of a key is told. */
const LONGEST_TOLD = 100;

/** Letters that have a case, digits and underscores: a text of other scripts may go on without a space. */
const LETTER = String.raw`\w\p{Lu}\p{Ll}`;
/** A dot and a word that may be a key, or one character more than keys have. */
const STEP = new RegExp(`\\.([${LETTER}][${LETTER}-]{0,${LONGEST_KEY}})`, "uy");
const KEY = new RegExp(`^[${LETTER}](?:[${LETTER}-]{0,${LONGEST_KEY}}[${LETTER}])?$`, "u");
const INDEX = /^(?:0|[1-9]\d{0,8})$/;
/** An index in brackets. */
const BRACKETS = /\[(0|[1-9]\d{0,8})\]/y;

/** How paths may be written, beside `.key` and `.0`. */
export interface PathForm {
  /** Whether an index may stand in brackets: `[0]`; default `false`. */
  readonly brackets?: boolean;
}

/** Where a path leads. */
export interface Followed {
  /** The value that was reached. */
  readonly value: JsonValue;
  /** Where in the text its path ends. */
  readonly end: number;
  /** The key that stands there and that the value, an object or a list, does not have. */
  readonly missing?: string;
}

/**
 * Follows the path that stands in `text` at `from`, as far as there are values with parts: behind any
 * other value a text goes on. Where a word with hyphens is no key, what stands before one of them may
 * be: `@Order.total-5` is the total less five, unless there is a key `total-5`.
 *
 * @example Usage
 * ```ts
 * import { followPath } from "./field_paths.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const order = { total: 30, lines: [{ name: "pen" }] };
 * assertEquals(followPath("@Order.lines.0.name.", 6, order), { value: "pen", end: 19 });
 * assertEquals(followPath("@Order.total.5", 6, order), { value: 30, end: 12 });
 * assertEquals(followPath("@Order.sum", 6, order), { value: order, end: 6, missing: "sum" });
 * ```
 */
export function followPath(
  text: string,
  from: number,
  value: JsonValue,
  form: PathForm = {},
): Followed {
  let reached = value;
  let end = from;
  while (typeof reached === "object" && reached !== null) {
    const step = stepAt(text, end, form);
    if (step === undefined) break;
    const { word, length } = step;
    const key = beginningsOf(word).find((key) => hasPart(reached as Structure, key));
    if (key === undefined) return { value: reached, end, missing: word };
    reached = (reached as JsonObject)[key]!;
    end += length - word.length + key.length;
  }
  return { value: reached, end };
}

/** Where in `text` all ends that looks like a path from `from` on, whatever the value is. */
export function pathEnd(text: string, from: number, form: PathForm = {}): number {
  let end = from;
  for (let step = stepAt(text, end, form); step !== undefined; step = stepAt(text, end, form)) {
    end += step.length;
  }
  return end;
}

/** What can stand behind the dot, in words that go on from a name. */
export function partsInWords(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return "is no object or list";
  if (Array.isArray(value)) {
    if (value.length === 0) return "is an empty list";
    return `is a list with items from 0 to ${value.length - 1}`;
  }
  const told: string[] = [];
  let others = 0;
  for (const key of Object.keys(value)) {
    if (told.length < MOST_TOLD && key.length <= LONGEST_TOLD && KEY.test(key)) told.push(key);
    else others++;
  }
  if (told.length === 0) return "has no fields that can be named";
  return `has the fields ${told.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
}

/** One step of a path. */
export interface Step {
  /** The key or the index, as it is written. */
  readonly word: string;
  /** How many characters it takes, with its dot or its brackets. */
  readonly length: number;
}

/** The step at `from`: a word behind a dot, which has hyphens inside of it only, or an index. */
export function stepAt(
  text: string,
  from: number,
  { brackets = false }: PathForm,
): Step | undefined {
  if (brackets && text[from] === "[") {
    BRACKETS.lastIndex = from;
    const [whole, index] = BRACKETS.exec(text) ?? [];
    return whole === undefined ? undefined : { word: index!, length: whole.length };
  }
  STEP.lastIndex = from;
  const word = STEP.exec(text)?.[1]?.replace(/-+$/, "");
  return word === undefined ? undefined : { word, length: 1 + word.length };
}

/** The word, and what stands before each of its hyphens, the longest first. */
function beginningsOf(word: string): string[] {
  const beginnings = [word];
  for (let at = word.lastIndexOf("-"); at > 0; at = word.lastIndexOf("-", at - 1)) {
    if (word[at - 1] !== "-") beginnings.push(word.slice(0, at));
  }
  return beginnings;
}

function hasPart(value: Structure, key: string): boolean {
  if (key.length > LONGEST_KEY) return false;
  // Lists have keys of their own that are no items, such as `length`.
  return Array.isArray(value)
    ? INDEX.test(key) && Number(key) < value.length
    : Object.hasOwn(value, key);
}
