/**
 * Nested calls: calls of one reply whose arguments refer to the results of other calls of that reply
 * (Pipeline, "Parallel and Nested Tool Calls").
 *
 * `$1.field` is a field of the result of the first call in the reply, and `$call_id.field` of the call with
 * that id; `$1.items.0.name`, `$1.items[0].name` and `$1[0].name` are parts of it. If a result is not an
 * object or a list, any single field names the whole. A string that is only a reference becomes the value
 * itself; inside a longer string a reference becomes the value's text, as in `Weather in $1.city`.
 * Without a field there is no reference: `$5` and `$5.00` are plain text. To write text that looks like a
 * reference, double the dollar sign: `$$1.city` is the text `$1.city`, and `$$$1.total` a price.
 * @module
 */

import {
  isJsonObject,
  isObject,
  isWithin,
  type JsonObject,
  type JsonValue,
  listText,
  parseJson,
  printable,
} from "../../base/json.ts";
import { replaceTexts, substituteArguments, type Substituted } from "./substitute.ts";
import {
  Binding,
  MAX_QUOTE_LENGTH,
  MAX_TEXT_LENGTH,
  type MissingPart,
  type Notation,
  type Reference,
  referencesIn,
  replaceReferences,
} from "./syntax.ts";
import { Position } from "../schema/position.ts";

/** References to results: dollar signs, the number or id of a call, and a field or an index. */
export const RESULTS: Notation = {
  sign: "$",
  example: "$call.field",
  pattern:
    /(?<!\$)(\$+)([A-Za-z0-9_][A-Za-z0-9_-]{0,199})(?=\.[_\p{Lu}\p{Ll}]|\[(?:0|[1-9]\d{0,8})\])/gu,
  pairs: true,
  brackets: true,
};

/** Deeper arguments could overflow the stack of recursive code. */
export const LEVELS = { levels: 500 };
/** The error for references in such arguments. */
export const TOO_DEEP =
  `References are looked for in arguments that nest at most ${LEVELS.levels} deep`;
/** At most this many names and parameters are listed. */
const MAX_LISTED = 5;

/** Options of {@linkcode resolveReferences}. */
export interface ResolveOptions {
  /** The JSON Schema of the arguments; default: any value is accepted. */
  readonly parameters?: JsonObject;
  /** How many characters of results may be inserted; default 10,000,000. */
  readonly left?: number;
}

/**
 * Returns the arguments with results in place of the references to them. A reference to a missing result, or to
 * a part that a result does not have, stays unchanged and is reported.
 *
 * @param results The results of calls, by the names that `planCalls` returns.
 */
export function resolveReferences(
  input: JsonObject,
  results: ReadonlyMap<string, JsonValue>,
  { parameters = {}, left = MAX_TEXT_LENGTH }: ResolveOptions = {},
): Substituted {
  if (!isWithin(input, LEVELS)) {
    return { values: input, errors: [TOO_DEEP], faults: Object.keys(input) };
  }
  return substituteArguments(input, parameters, {
    ...{ notation: RESULTS, left },
    of: (reference) => resultMeaning(reference, results),
    unknown: ({ names, parameters }) => [
      `${listReferences(names)} ${names.size === 1 ? "has" : "have"} no result, as in ${
        listWords(parameters)
      }: what is referred to was refused or has failed`,
    ],
  });
}

/** Whether a text of arguments may hold references. */
export function mayRefer(text: string): boolean {
  return /\$|\\u0024/i.test(text);
}

/** Whether a value holds a reference to a result. */
export function holdsReference(value: JsonValue): boolean {
  return referencesIn(value, RESULTS).size > 0;
}

/** Replaces a reference when arguments are checked: it has the form of one itself. */
export const ANY_REFERENCE = "$1.field";

/**
 * Returns arguments in a form that can be checked before any call runs, with {@linkcode ANY_REFERENCE} in place
 * of all strings that hold references, as their values are not known yet. Where no string is expected, only a
 * string that is a single reference is replaced. Returns `undefined` for arguments without references.
 */
export function checkableArguments(text: string, parameters: JsonObject): JsonObject | undefined {
  const input = mayRefer(text) ? parseJson(text) : undefined;
  if (!isJsonObject(input) || !isWithin(input, LEVELS)) return undefined;
  let found = false;
  const shape = replaceTexts(input, new Position(parameters), (text, position) => {
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

/** Lists names of calls as references, at most the first few. */
export function listReferences(names: Iterable<string>): string {
  return listWords([...names].map((name) => `$${name}`));
}

/** Lists the first few words. */
export function listWords(words: Iterable<string>): string {
  return listText(Array.from(words, (word) => printable(word, MAX_QUOTE_LENGTH)), MAX_LISTED);
}

/** Returns the value of a reference to a result. */
function resultMeaning(
  reference: Reference,
  results: ReadonlyMap<string, JsonValue>,
): Binding | MissingPart | undefined {
  const result = results.get(reference.name);
  if (result === undefined || !isReadable(result)) return undefined;
  // The one field of a value without parts may have any name.
  if (!isObject(result)) reference.step();
  const { value, missing } = reference.follow(result);
  const key = missing ?? (isObject(value) ? undefined : reference.next);
  return key === undefined ? new Binding(value) : { path: reference.path, key, value };
}

/** Results known not to nest too deep. */
const READABLE = new WeakSet<object>();

function isReadable(result: JsonValue): boolean {
  if (!isObject(result) || READABLE.has(result)) return true;
  if (!isWithin(result, LEVELS)) return false;
  READABLE.add(result);
  return true;
}
