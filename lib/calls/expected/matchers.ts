/**
 * Matchers: expected values that more than one value can meet.
 * @module
 */

import { maximumMatching } from "../values/_matching.ts";
import { cannot } from "../../base/errors.ts";
import type { ExpectedValue, Held, Matcher } from "../../tools/expected_call.ts";
import { MATCHER } from "../../tools/tool.ts";
import { isSame } from "../values/parts.ts";
import { isJsonObject, jsonText, type JsonValue, printable } from "../../base/json.ts";

/** Characters of a matcher's description, at most. */
const MAX_DESCRIPTION_LENGTH = 200;

class PredicateMatcher implements Matcher {
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
    this.description = printable(description, MAX_DESCRIPTION_LENGTH);
    if (values.length > 0) this.values = values;
    if (optional) this.optional = true;
    if (held !== undefined) this.held = held;
  }

  matches(value: JsonValue): boolean {
    const answer: unknown = this.#matches(value);
    if (typeof answer === "boolean") return answer;
    // A promise would count as `true` even if it resolved to `false`.
    throw cannot(
      `match ${this.description}`,
      "its predicate must give true or false",
      `it gave ${answer instanceof Promise ? "a promise" : typeof answer}`,
    );
  }

  /** Journals keep the description of a matcher. */
  toJSON(): string {
    return this.description;
  }
}

/** Whether a value is a matcher. */
export function isMatcher(value: unknown): value is Matcher {
  return typeof value === "object" && value !== null && MATCHER in value;
}

/**
 * Matches any of several values, which may be matchers themselves.
 *
 * @throws {InputError} If there are none.
 *
 * @example Usage
 * ```ts
 * import { anyOf, assertState } from "@toolgate/toolgate";
 *
 * assertState({ city: "Paris" }, { city: anyOf("Paris", "Paris, France") });
 * ```
 */
export function anyOf(...values: readonly ExpectedValue[]): Matcher {
  if (values.length === 0) {
    throw cannot("match any of several values", "there must be at least one");
  }
  return new PredicateMatcher(
    (given) => values.some((value) => meets(given, value)),
    `any of ${values.map(describe).join(", ")}`,
    {
      values: values.flatMap(listableValues),
      optional: values.some(mayBeAbsent),
      held: { values, items: false, replace: (others) => anyOf(...others) },
    },
  );
}

/**
 * Matches any value: the parameter must be given, and its value is free.
 *
 * @example Usage
 * ```ts
 * import { anything, assertState } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * assertState({ city: "Paris", id: 731 }, { city: "Paris", id: anything() });
 * assertThrows(() => assertState({ city: "Paris" }, { city: "Paris", id: anything() }));
 * ```
 */
export function anything(): Matcher {
  return new PredicateMatcher(() => true, "anything");
}

/**
 * Matches every value for which `predicate` returns `true`.
 *
 * @param description Describes the values that match.
 *
 * @example Usage
 * ```ts
 * import { assertState, matching } from "@toolgate/toolgate";
 *
 * const even = matching((value) => Number(value) % 2 === 0, "an even number");
 * assertState({ guests: 4 }, { guests: even });
 * ```
 */
export function matching(
  predicate: (value: JsonValue) => boolean,
  description: string,
): Matcher {
  return new PredicateMatcher(predicate, description);
}

/**
 * Matches a number within a tolerance of a value, both bounds included; rounding errors are ignored.
 *
 * @param tolerance The largest difference, 0 or more.
 * @throws {InputError} If either is not a finite number, or the tolerance is negative.
 *
 * @example Usage
 * ```ts
 * import { assertState, closeTo } from "@toolgate/toolgate";
 *
 * assertState({ latitude: 48.8566 }, { latitude: closeTo(48.86, 0.01) });
 * ```
 */
export function closeTo(value: number, tolerance: number): Matcher {
  if (!Number.isFinite(value) || !Number.isFinite(tolerance) || tolerance < 0) {
    throw cannot(
      "match numbers close to a value",
      "both must be finite and the tolerance 0 or more",
      `the value is ${value}, the tolerance ${tolerance}`,
    );
  }
  return new PredicateMatcher(
    (given) =>
      (typeof given === "number" || typeof given === "bigint") &&
      Math.abs(Number(given) - value) <=
        tolerance + Number.EPSILON * Math.max(Math.abs(Number(given)), Math.abs(value)),
    `${value} give or take ${tolerance}`,
  );
}

/**
 * Matches a text that contains another one, or in which a regular expression matches somewhere. The
 * `lastIndex` of the expression does not matter.
 *
 * @throws {InputError} If the text or the regular expression is empty: every text would match.
 *
 * @example Usage
 * ```ts
 * import { assertState, matchingText } from "@toolgate/toolgate";
 *
 * const mail = { to: "ann@example.org", subject: "Your order 731" };
 * assertState(mail, { to: matchingText(/@example\.org$/), subject: matchingText("731") });
 * ```
 */
export function matchingText(pattern: string | RegExp): Matcher {
  if (pattern === "" || (pattern instanceof RegExp && pattern.source === "(?:)")) {
    throw cannot("match texts", "the pattern must not be empty", "every text would do");
  }
  if (typeof pattern === "string") {
    const description = `a text with ${JSON.stringify(pattern)}`;
    return new PredicateMatcher(
      (given) => typeof given === "string" && given.includes(pattern),
      description,
    );
  }
  if (!(pattern instanceof RegExp)) {
    throw cannot(
      "match texts",
      "the pattern must be a text or a regular expression",
      `it is ${pattern === null ? "null" : `of type ${typeof pattern}`}`,
    );
  }
  const own = new RegExp(pattern);
  return new PredicateMatcher(
    (given) => typeof given === "string" && given.search(own) >= 0,
    `a text that matches ${pattern}`,
  );
}

/**
 * Matches a list of exactly these items, in any order; each may be a matcher.
 *
 * @example Usage
 * ```ts
 * import { assertState, inAnyOrder } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * const guests = inAnyOrder("ann", "bob");
 * assertState({ guests: ["bob", "ann"] }, { guests });
 * assertThrows(() => assertState({ guests: ["bob", "ann", "bob"] }, { guests }));
 * ```
 */
export function inAnyOrder(...items: readonly ExpectedValue[]): Matcher {
  return new PredicateMatcher(
    (given) => {
      if (!Array.isArray(given) || given.length !== items.length) return false;
      const fitting = items.map((item) =>
        given.flatMap((value, index) => meets(value, item) ? [index] : [])
      );
      return !maximumMatching(fitting).includes(null);
    },
    `in any order [${items.map(describe).join(", ")}]`,
    { held: { values: items, items: true, replace: (others) => inAnyOrder(...others) } },
  );
}

/**
 * Matches no value: the argument, or the key of an object, must be omitted. Only of use where further
 * arguments are allowed, as otherwise everything that is not expected must be omitted anyway.
 *
 * @example Usage
 * ```ts
 * import { absent, assertState } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * assertState({}, { force: absent() });
 * assertThrows(() => assertState({ force: false }, { force: absent() }));
 * ```
 */
export function absent(): Matcher {
  return new PredicateMatcher(() => false, "left out", { optional: true });
}

/**
 * Matches a value that may be omitted; if it is given, it must be right.
 *
 * @example Usage
 * ```ts
 * import { assertState, optional } from "@toolgate/toolgate";
 * import { assertThrows } from "@std/assert";
 *
 * const expected = { city: "Paris", unit: optional("celsius") };
 * assertState({ city: "Paris" }, expected);
 * assertThrows(() => assertState({ city: "Paris", unit: "kelvin" }, expected));
 * ```
 */
export function optional(value: ExpectedValue): Matcher {
  return new PredicateMatcher((given) => meets(given, value), `${describe(value)} or left out`, {
    values: listableValues(value),
    optional: true,
    held: { values: [value], items: false, replace: ([other]) => optional(other!) },
  });
}

/** Returns whether the expected value may be omitted. */
export function mayBeAbsent(expected: unknown): boolean {
  return isMatcher(expected) && expected.optional === true;
}

function describe(value: ExpectedValue): string {
  return isMatcher(value) ? value.description : jsonText(value);
}

/** Returns the right values that can be listed. */
function listableValues(value: ExpectedValue): readonly JsonValue[] {
  return isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : [];
}

/** Returns whether a value contains no matcher. */
export function isJson(value: ExpectedValue): value is JsonValue {
  if (typeof value !== "object" || value === null) return true;
  return !isMatcher(value) && Object.values(value).every(isJson);
}

/**
 * Returns whether a value is right: equal as JSON, numbers by value and keys in any order, or accepted by
 * the matcher in its place.
 */
export function meets(given: JsonValue, expected: ExpectedValue): boolean {
  if (isMatcher(expected)) return expected.matches(given);
  if (typeof expected !== "object" || expected === null) return isSame(given, expected);
  if (isList(expected)) {
    return Array.isArray(given) && given.length === expected.length &&
      expected.every((item, index) => meets(given[index]!, item));
  }
  if (!isJsonObject(given)) return false;
  return Object.keys(given).every((key) => Object.hasOwn(expected, key)) &&
    Object.entries(expected).every(([key, value]) =>
      Object.hasOwn(given, key) ? meets(given[key]!, value) : mayBeAbsent(value)
    );
}

/** Returns whether the expected value is a list. */
export function isList(expected: ExpectedValue): expected is readonly ExpectedValue[] {
  return Array.isArray(expected);
}
