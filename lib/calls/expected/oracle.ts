/**
 * Oracles: the calls that would be right, and which of them the calls of a trial are meant to be
 * (Butterfly, sections 4 and 5.2).
 * @module
 */

import { maximumMatching } from "../values/bipartite_matching.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";

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
  /** Whether the argument, or the key of an object, may be left out, too. */
  readonly optional?: true;
  /** What it compares values with, where it is made of other expectations. */
  readonly held?: Held;
  /** Whether a value is right. */
  matches(value: JsonValue): boolean;
}

/** What a matcher that is made of other expectations compares values with. */
export interface Held {
  /** The expectations. */
  readonly values: readonly OracleValue[];
  /** Whether they are what a list must have, in any order, and not what the value itself may be. */
  readonly items: boolean;
  /** The same matcher made of others in their place. */
  readonly replace: (values: readonly OracleValue[]) => Matcher;
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
  declare readonly optional?: true;
  declare readonly held?: Held;
  readonly #matches: (value: JsonValue) => boolean;

  constructor(
    matches: (value: JsonValue) => boolean,
    description: string,
    { values = [], optional = false, held }: {
      readonly values?: readonly JsonValue[];
      readonly optional?: boolean;
      readonly held?: Held;
    } = {},
  ) {
    this.#matches = matches;
    this.description = printable(description, LONGEST_DESCRIPTION);
    if (values.length > 0) this.values = values;
    if (optional) this.optional = true;
    if (held !== undefined) this.held = held;
  }

  matches(value: JsonValue): boolean {
    const answer: unknown = this.#matches(value);
    if (typeof answer === "boolean") return answer;
    // A promise would pass for `true`, whatever comes of it.
    throw new InputError(
      `Cannot match ${this.description} as its predicate must give true or false: it gave ` +
        `${answer instanceof Promise ? "a promise" : typeof answer}`,
    );
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
    {
      values: values.flatMap(listedIn),
      optional: values.some(mayBeAbsent),
      held: { values, items: false, replace: (others) => anyOf(...others) },
    },
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

/**
 * A number within a tolerance of a value, both bounds included; what rounding adds is of no account.
 *
 * @param tolerance How far off it may be, from 0 on.
 * @throws {InputError} If either is no finite number, or the tolerance is negative.
 *
 * @example Usage
 * ```ts
 * import { closeTo, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * assert(meets({ latitude: 48.8566 }, { latitude: closeTo(48.86, 0.01) }));
 * assert(!meets({ latitude: 48.8 }, { latitude: closeTo(48.86, 0.01) }));
 * assert(meets(1.1, closeTo(1, 0.1)));
 * ```
 */
export function closeTo(value: number, tolerance: number): Matcher {
  if (!Number.isFinite(value) || !Number.isFinite(tolerance) || tolerance < 0) {
    throw new InputError(
      "Cannot match numbers close to a value as both must be finite and the tolerance 0 or more: " +
        `the value is ${value}, the tolerance ${tolerance}`,
    );
  }
  return new OwnMatcher(
    (given) =>
      typeof given === "number" &&
      Math.abs(given - value) <=
        tolerance + Number.EPSILON * Math.max(Math.abs(given), Math.abs(value)),
    `${value} give or take ${tolerance}`,
  );
}

/**
 * A text that contains another one, or matches a regular expression somewhere; where that was used
 * before (its `lastIndex`) is of no account.
 *
 * @throws {InputError} If the text or the regular expression is empty: every text would match.
 *
 * @example Usage
 * ```ts
 * import { matchingText, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * const call = { to: "ann@example.org", subject: "Your order 731" };
 * assert(meets(call, { to: matchingText(/@example\.org$/), subject: matchingText("731") }));
 * assert(!meets(731, matchingText("731")));
 * ```
 */
export function matchingText(pattern: string | RegExp): Matcher {
  if (pattern === "" || (pattern instanceof RegExp && pattern.source === "(?:)")) {
    throw new InputError(
      "Cannot match texts as the pattern must not be empty: every text would do",
    );
  }
  if (typeof pattern === "string") {
    const description = `a text with ${JSON.stringify(pattern)}`;
    return new OwnMatcher(
      (given) => typeof given === "string" && given.includes(pattern),
      description,
    );
  }
  if (!(pattern instanceof RegExp)) {
    throw new InputError(
      `Cannot match texts as the pattern must be a text or a regular expression: it is ${
        pattern === null ? "null" : `of type ${typeof pattern}`
      }`,
    );
  }
  const own = new RegExp(pattern);
  return new OwnMatcher(
    (given) => typeof given === "string" && given.search(own) >= 0,
    `a text that matches ${pattern}`,
  );
}

/**
 * A list of these items, in any order, none left out and none beside them; each may be a matcher.
 *
 * @example Usage
 * ```ts
 * import { inAnyOrder, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * const guests = inAnyOrder("ann", "bob");
 * assert(meets({ guests: ["bob", "ann"] }, { guests }));
 * assert(!meets({ guests: ["bob", "ann", "bob"] }, { guests }));
 * ```
 */
export function inAnyOrder(...items: readonly OracleValue[]): Matcher {
  return new OwnMatcher(
    (given) => {
      if (!Array.isArray(given) || given.length !== items.length) return false;
      const fitting = items.map((item) =>
        given.flatMap((value, index) => meets(value, item) ? [index] : [])
      );
      return !maximumMatching(fitting).includes(null);
    },
    `in any order [${items.map(inWords).join(", ")}]`,
    { held: { values: items, items: true, replace: (others) => inAnyOrder(...others) } },
  );
}

/**
 * No value at all: the argument, or the key of an object, must be left out. What is not expected must be
 * left out anyway, but where further arguments are allowed.
 *
 * @example Usage
 * ```ts
 * import { absent, meets } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * assert(meets({}, { force: absent() }));
 * assert(!meets({ force: false }, { force: absent() }));
 * ```
 */
export function absent(): Matcher {
  return new OwnMatcher(() => false, "left out", { optional: true });
}

/**
 * A value that may be left out; where it is given it must be right.
 *
 * @example Usage
 * ```ts
 * import { meets, optional } from "./oracle.ts";
 * import { assert } from "@std/assert";
 *
 * const expected = { city: "Paris", unit: optional("celsius") };
 * assert(meets({ city: "Paris" }, expected));
 * assert(!meets({ city: "Paris", unit: "kelvin" }, expected));
 * ```
 */
export function optional(value: OracleValue): Matcher {
  return new OwnMatcher((given) => meets(given, value), `${inWords(value)} or left out`, {
    values: listedIn(value),
    optional: true,
    held: { values: [value], items: false, replace: ([other]) => optional(other!) },
  });
}

/** Whether what is expected takes it, too, that nothing is given. */
export function mayBeAbsent(expected: unknown): boolean {
  return isMatcher(expected) && expected.optional === true;
}

function inWords(value: OracleValue): string {
  return isMatcher(value) ? value.description : JSON.stringify(value);
}

/** The values that can be listed of what is expected. */
function listedIn(value: OracleValue): readonly JsonValue[] {
  return isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : [];
}

/** Whether there is no matcher in a value. */
export function isJson(value: OracleValue): value is JsonValue {
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
  return Object.keys(given).every((key) => Object.hasOwn(expected, key)) &&
    Object.entries(expected).every(([key, value]) => meetsAt(given, key, value));
}

function meetsAt(given: JsonObject, key: string, expected: OracleValue): boolean {
  return Object.hasOwn(given, key) ? meets(given[key]!, expected) : mayBeAbsent(expected);
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
  return expected.filter(([key, value]) => meetsAt(given, key, value)).length;
}
