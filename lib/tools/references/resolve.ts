/**
 * Nested calls: calls of one reply whose arguments refer to what other calls of that reply return
 * (Pipeline, "Parallel and Nested Tool Calls").
 *
 * `$1.field` is a field of what the first call of the reply returns, and `$call_id.field` one of the call
 * with that id; `$1.items.0.name`, `$1.items[0].name` and `$1[0].name` are parts of it. Of a result that is
 * no object or list, any one field names the whole. A text that is nothing but a reference stands for the
 * value as it is; inside of a longer text a reference stands for its text, as in `Weather in $1.city`.
 * Without a field there is no reference: `$5` and `$5.00` are texts. Before what would be a reference, two
 * dollar signs write one: `$$1.city` is the text `$1.city`, and `$$$1.total` a price.
 * @module
 */

import { replaceTexts, substituteArguments, type Substituted } from "./substitute.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import { isWithin } from "../../base/json_depth.ts";
import {
  Binding,
  LONGEST_TEXT,
  LONGEST_TOLD,
  type MissingPart,
  type Notation,
  type Reference,
  replaceReferences,
} from "./syntax.ts";
import { Position } from "../schema/position.ts";

/** References to results: signs, the number or the id of a call, and behind it a field or an index. */
export const RESULTS: Notation = {
  sign: "$",
  example: "$call.field",
  pattern:
    /(?<!\$)(\$+)([A-Za-z0-9_][A-Za-z0-9_-]{0,199})(?=\.[_\p{Lu}\p{Ll}]|\[(?:0|[1-9]\d{0,8})\])/gu,
  pairs: true,
  brackets: true,
};

/** What nests deeper could overflow the stack of whoever goes through it. */
export const LEVELS = { levels: 500 };
/** Why references in such arguments mean nothing. */
export const TOO_DEEP =
  `References are looked for in arguments that nest at most ${LEVELS.levels} deep`;
/** So many names, and parameters, are told. */
const MOST_TOLD = 5;

/** Options of {@linkcode resolveReferences}. */
export interface ResolveOptions {
  /** The JSON Schema of the arguments; by default any value is taken as it is. */
  readonly parameters?: JsonObject;
  /** How many characters results may take; default 10,000,000. */
  readonly left?: number;
}

/**
 * The arguments that are meant, with what calls have returned in place of the references to it. What has
 * no result, or not the part that is asked for, stays as it was written, and is told.
 *
 * @param results What calls have returned, by the names that `planCalls` tells.
 *
 * @example Usage
 * ```ts
 * import { resolveReferences } from "./resolve.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const results = new Map([["1", { city: "Rome", days: [{ high: 31 }] }]]);
 * const written = { text: "Weather in $1.city", degrees: "$1.days.0.high", price: "$5" };
 * assertEquals(resolveReferences(written, results), {
 *   values: { text: "Weather in Rome", degrees: 31, price: "$5" },
 *   errors: [],
 *   faults: [],
 * });
 * assertEquals(
 *   resolveReferences({ zip: "$1.zip" }, results).errors,
 *   ["There is no $1.zip: $1 has the fields city, days"],
 * );
 * ```
 */
export function resolveReferences(
  written: JsonObject,
  results: ReadonlyMap<string, JsonValue>,
  { parameters = {}, left = LONGEST_TEXT }: ResolveOptions = {},
): Substituted {
  if (!isWithin(written, LEVELS)) {
    return { values: written, errors: [TOO_DEEP], faults: Object.keys(written) };
  }
  return substituteArguments(written, parameters, {
    ...{ notation: RESULTS, left },
    of: (reference) => meaningIn(reference, results),
    unknown: ({ names, parameters }) => [
      `${signed(names)} ${names.size === 1 ? "has" : "have"} no result, as in ${
        listed(parameters)
      }: what is referred to was refused or has failed`,
    ],
  });
}

/** Whether there may be references in a text of arguments; without any it needs no further look. */
export function mayRefer(text: string): boolean {
  return /\$|\\u0024/i.test(text);
}

/** Stands for a reference where it would fit: it is one itself. */
export const ANY_REFERENCE = "$1.field";

/**
 * Arguments as they can be checked before anything is called, {@linkcode ANY_REFERENCE} in place of all texts
 * that hold references: nobody knows what these will say. Where no text is expected a reference must stand
 * by itself; what holds more stays. `undefined` for arguments that mean just what they say.
 */
export function shapeOf(text: string, parameters: JsonObject): JsonObject | undefined {
  const written = mayRefer(text) ? parseJson(text) : undefined;
  if (!isJsonObject(written) || !isWithin(written, LEVELS)) return undefined;
  let found = false;
  const shape = replaceTexts(written, new Position(parameters), (text, position) => {
    let [refers, isWhole] = [false, false];
    const plain = replaceReferences(text, (reference) => {
      reference.skipPath();
      refers = true;
      isWhole ||= reference.isWhole;
      return undefined;
    }, RESULTS);
    if (position.lists(text)) return text;
    found ||= refers || plain !== text;
    if (!refers) return plain;
    return isWhole || position.takes !== "value" ? ANY_REFERENCE : text;
  });
  return found ? shape as JsonObject : undefined;
}

/** Names of calls as references have them, the first of several. */
export function signed(names: Iterable<string>): string {
  return listed([...names].map((name) => `$${name}`));
}

/** The first of several, in words. */
export function listed(words: Iterable<string>): string {
  const all = [...words];
  const first = all.slice(0, MOST_TOLD).map((word) => printable(word, LONGEST_TOLD)).join(", ");
  return all.length > MOST_TOLD ? `${first} and ${all.length - MOST_TOLD} more` : first;
}

/** What a reference means, by what calls have returned. */
function meaningIn(
  reference: Reference,
  results: ReadonlyMap<string, JsonValue>,
): Binding | MissingPart | undefined {
  const result = results.get(reference.name);
  if (result === undefined || !isReadable(result)) return undefined;
  // What has no parts has the name of its one field only from whoever wrote the reference.
  if (!isObject(result)) reference.step();
  const { value, missing } = reference.follow(result);
  const key = missing ?? (isObject(value) ? undefined : reference.next);
  return key === undefined ? new Binding(value) : { path: reference.path, key, value };
}

/** Results that are known not to nest too deep. */
const READABLE = new WeakSet<object>();

function isReadable(result: JsonValue): boolean {
  if (!isObject(result) || READABLE.has(result)) return true;
  if (!isWithin(result, LEVELS)) return false;
  READABLE.add(result);
  return true;
}

function isObject(value: JsonValue): value is JsonObject | JsonValue[] {
  return typeof value === "object" && value !== null;
}
