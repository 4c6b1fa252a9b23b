/**
 * Oracles: the calls that would be right, and which of them the calls of a trial are meant to be
 * (Butterfly, sections 4 and 5.2).
 * @module
 */

import { InputError } from "./input.ts";
import { isJsonObject, type JsonValue, printable } from "./json.ts";

/** The mark of matchers: no JSON value can bear it. */
export const MATCHER: unique symbol = Symbol("matcher");

/** What a value may be, where more than one is right. */
export interface Matcher {
  /** The mark. */
  readonly [MATCHER]: true;
  /** In words. */
  readonly description: string;
  /** The values that are right, as far as they can be listed; left out where none can. */
  readonly values?: readonly JsonValue[];
  /** Whether a value is right. */
  matches(value: JsonValue): boolean;
}

/** A value that is right, or what it may be; matchers may stand in objects and lists, too. */
export type OracleValue =
  | JsonValue
  | Matcher
  | readonly OracleValue[]
  | { readonly [key: string]: OracleValue };

/** A call that is right. */
export interface OracleCall {
  /** The function. */
  readonly tool: string;
  /** Its arguments. */
  readonly arguments: Readonly<Record<string, OracleValue>>;
  /** Parameters that may be given or not, with any value that the schema takes. */
  readonly allowed?: readonly string[];
}

/** A person is shown so much of a matcher. */
const LONGEST_DESCRIPTION = 200;

class OwnMatcher implements Matcher {
  readonly [MATCHER] = true as const;
  readonly description: string;
  declare readonly values?: readonly JsonValue[];
  readonly #matches: (value: JsonValue) => boolean;

  constructor(
    matches: (value: JsonValue) => boolean,
    description: string,
    values: readonly JsonValue[] = [],
  ) {
    this.#matches = matches;
    this.description = printable(description, LONGEST_DESCRIPTION);
    if (values.length > 0) this.values = values;
  }

  matches(value: JsonValue): boolean {
    return this.#matches(value);
  }

  /** Records hold matchers in words. */
  toJSON(): string {
    return this.description;
  }
}

/** Whether a value is a matcher. */
export function isMatcher(value: unknown): value is Matcher {
  return typeof value === "object" && value !== null && MATCHER in value;
}

/**
 * Any of several values, which may be matchers themselves.
 *
 * @throws {InputError} If there are none.
 *
 * @example Usage
 * ```ts
 * import { anyOf, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * const city = anyOf("Paris", "Paris, France");
 * assert(meets({ city: "Paris" }, { city }));
 * assert(!meets({ city: "paris" }, { city }));
 * ```
 */
export function anyOf(...values: readonly OracleValue[]): Matcher {
  if (values.length === 0) {
    throw new InputError("Cannot match any of several values as there must be at least one");
  }
  return new OwnMatcher(
    (given) => values.some((value) => meets(given, value)),
    `any of ${values.map(inWords).join(", ")}`,
    values.flatMap((value) => isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : []),
  );
}

/** Any value at all: the parameter must be given, and that is all. */
export function anything(): Matcher {
  return new OwnMatcher(() => true, "anything");
}

/**
 * Every value of which `predicate` holds.
 *
 * @param description What that is, in words.
 *
 * @example Usage
 * ```ts
 * import { matching, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * const capital = matching((value) => String(value).startsWith("P"), "a city with P");
 * assert(meets("Paris", capital));
 * ```
 */
export function matching(
  predicate: (value: JsonValue) => boolean,
  description: string,
): Matcher {
  return new OwnMatcher(predicate, description);
}

function inWords(value: OracleValue): string {
  return isMatcher(value) ? value.description : JSON.stringify(value);
}

/** Whether there is no matcher in a value. */
function isJson(value: OracleValue): value is JsonValue {
  if (typeof value !== "object" || value === null) return true;
  return !isMatcher(value) && Object.values(value).every(isJson);
}

/**
 * Whether a value is right: equal as JSON, numbers by value and keys in any order, or what a matcher
 * in its place takes.
 */
export function meets(given: JsonValue, expected: OracleValue): boolean {
  if (isMatcher(expected)) return expected.matches(given);
  if (typeof expected !== "object" || expected === null) return given === expected;
  if (isList(expected)) {
    return Array.isArray(given) && given.length === expected.length &&
      expected.every((item, index) => meets(given[index]!, item));
  }
  if (!isJsonObject(given)) return false;
  const entries = Object.entries(expected);
  return entries.length === Object.keys(given).length &&
    entries.every(([key, value]) => Object.hasOwn(given, key) && meets(given[key]!, value));
}

/** Whether what is expected is a list. */
export function isList(expected: OracleValue): expected is readonly OracleValue[] {
  return Array.isArray(expected);
}

/** A call with its arguments parsed; `undefined` where they are of no use. */
export interface ParsedCall {
  /** The name that was called. */
  readonly tool: string;
  /** The arguments. */
  readonly arguments: JsonValue | undefined;
}

/**
 * Which of the oracle's calls each call is meant to be: its index, or `null` for a call to spare. Both
 * stay in order, and the names are the same. As many calls as can be have their counterpart (the longest
 * common subsequence of names); of the ways to do that, the one in which most arguments are right, at
 * the top level; and of these, the one in which the first call has the earliest counterpart, then the
 * second, and so on. Time and space grow by the product of both lengths.
 *
 * @example Usage
 * ```ts
 * import { alignCalls } from "./oracle.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const calls = ["locate", "search", "locate"].map((tool, x) => ({ tool, arguments: { x } }));
 * assertEquals(alignCalls(calls, [{ tool: "locate", arguments: { x: 2 } }]), [null, null, 0]);
 * ```
 */
export function alignCalls(
  calls: readonly ParsedCall[],
  oracle: readonly OracleCall[],
): readonly (number | null)[] {
  const width = oracle.length + 1;
  const expected = oracle.map((call) => Object.entries(call.arguments));
  // One more call outweighs all arguments.
  const weight = 1 + expected.flat().length;
  /** The best that can be made of the calls from one on, and the oracle's from one on. */
  const best = new Float64Array((calls.length + 1) * width);
  /** What it comes to when two calls belong together. */
  const together = new Float64Array(best.length).fill(NaN);
  for (let call = calls.length - 1; call >= 0; call--) {
    for (let other = oracle.length - 1; other >= 0; other--) {
      const here = call * width + other;
      if (calls[call]!.tool === oracle[other]!.tool) {
        together[here] = best[here + width + 1]! + weight +
          rightArguments(calls[call]!.arguments, expected[other]!);
      }
      best[here] = Math.max(best[here + 1]!, best[here + width]!, together[here]! || 0);
    }
  }
  let next = 0;
  return calls.map((_, call) => {
    const most = best[call * width + next]!;
    for (let other = next; other < oracle.length; other++) {
      if (together[call * width + other] !== most) continue;
      next = other + 1;
      return other;
    }
    return null;
  });
}

function rightArguments(
  given: JsonValue | undefined,
  expected: readonly (readonly [string, OracleValue])[],
): number {
  if (!isJsonObject(given)) return 0;
  const isRight = ([key, value]: readonly [string, OracleValue]) =>
    Object.hasOwn(given, key) && meets(given[key]!, value);
  return expected.filter(isRight).length;
}
