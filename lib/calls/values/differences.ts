/**
 * Value differences: compares a value with the expected one, part by part.
 * @module
 */

import { cannot, reasonOf } from "../../base/errors.ts";
import { defined, isObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { matchMembers } from "./_matching.ts";
import { isMatcher, matching, mayBeAbsent } from "../expected/matchers.ts";
import type { Matcher } from "../../tools/expected_call.ts";
import type { Position } from "../../tools/schema/position.ts";
import {
  comparableText,
  hasFields,
  isPlain,
  isSame,
  itemsOf,
  OPAQUE,
  type Parts,
  prototypeOf,
  visibleParts,
} from "./parts.ts";
import { ANY_ITEM, pathText, type ValuePath } from "./paths.ts";
import { differingTexts, valueText } from "./text.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** One place where a value is not as expected. */
export interface ValueDifference {
  /** Path of the value, such as `arguments.filters.since`. */
  readonly path: string;
  /** The expected value as text; `nothing` if the value should be absent. */
  readonly expected: string;
  /** The actual value as text; `nothing` if the value is missing. */
  readonly actual: string;
  /** Whether the value is absent, should be absent, or is another one. */
  readonly kind: "missing" | "unexpected" | "different";
  /** Why a matcher could not decide whether the value is right; omitted if it could. */
  readonly error?: string;
  /** Why a matcher did not take the value, a line each; omitted if it does not say. */
  readonly reasons?: readonly string[];
}

/** Options of {@linkcode valueDifferences}. */
export interface ComparisonOptions {
  /** Name of the whole value, with which paths begin. */
  readonly name: string;
  /** Whether objects, maps and sets may contain more than expected. Default: `false`. */
  readonly partial?: boolean;
  /** Parts that may have any value or be absent. */
  readonly ignore?: readonly ValuePath[];
  /** JSON Schema of the value: its defaults may be given or omitted as well. */
  readonly position?: Position | undefined;
}

/** Text for an absent value. */
const NOTHING = "nothing";
/** Parts compared, at most: getters may create new objects for ever. */
const MAX_COMPARED = 500_000;
/** Characters of a path shown in a message, at most. */
export const MAX_PATH_LENGTH = 300;
/** Characters of a matcher's error shown in a message, at most. */
const MAX_REASON_LENGTH = 300;

/**
 * Returns the differences between a value and the expected one; empty if there are none. Objects are
 * compared by their own keys in any order, numbers by value, lists item by item, maps by their keys, sets by
 * their members in any order, and dates, regular expressions and URLs by their text. Instances must be of
 * the same class (with `partial`, a plain object matches any class) and are compared by their properties and
 * getters. Matchers may be anywhere in the expected value, and all options apply to the expectations within
 * them. Values may be circular and nest to any depth.
 *
 * @throws {InputError} If more than half a million parts are objects or differ, as when getters create new
 * objects for ever.
 */
export function valueDifferences(
  actual: unknown,
  expected: unknown,
  options: ComparisonOptions,
): readonly ValueDifference[] {
  const { name, partial = false, ignore = [], position } = options;
  const ignored = ignore.map((path, number) => ({ number, path, taken: 0 }));
  return new PairComparison(partial).run({ step: name, actual, expected, ignored, position });
}

/** An ignored path, and how far the comparison has followed it. */
interface IgnoredRest {
  /** Index of the path in the options. */
  readonly number: number;
  readonly path: ValuePath;
  /** Number of its steps already taken. */
  readonly taken: number;
}

/** A pair of parts to compare, linked to the pair that contains it. */
interface PairPlace {
  readonly step: unknown;
  readonly actual: unknown;
  readonly expected: unknown;
  readonly ignored: readonly IgnoredRest[];
  readonly position?: Position | undefined;
  readonly parent?: PairPlace;
  /** Set if one of them is absent, so that there is nothing to compare. */
  readonly kind?: "missing" | "unexpected";
  /** Why a matcher could not decide whether the value may be missing. */
  readonly error?: string | undefined;
}

/** The position of a part; ignored parts have none. */
type PairStep = Pick<PairPlace, "step" | "ignored" | "position" | "parent">;

class PairComparison {
  readonly #partial: boolean;
  readonly #outer: PairComparison | undefined;
  readonly #found: ValueDifference[] = [];
  /** The pairs of objects already compared, with the ignored paths that applied. */
  readonly #compared = new Map<object, Map<object, Set<string>>>();
  /** Parts to compare, the next one last: values may nest deeper than the call stack allows. */
  readonly #waiting: PairPlace[] = [];
  /** Number of parts compared, shared with outer and inner comparisons. */
  readonly #count: { value: number };

  /** Creates a comparison that skips pairs which `outer`, of which it is a part, has compared. */
  constructor(partial: boolean, outer?: PairComparison) {
    this.#partial = partial;
    this.#outer = outer;
    this.#count = outer === undefined ? { value: 0 } : outer.#count;
  }

  run(whole: PairPlace): readonly ValueDifference[] {
    this.#waiting.push(whole);
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      if (next.kind === undefined) this.#compare(next);
      else this.#report(next, next.kind, next.error);
    }
    return this.#found;
  }

  /** Pushes one by one: more than a hundred thousand arguments do not fit into one call. */
  #wait(places: readonly PairPlace[]): void {
    for (const place of places.toReversed()) this.#waiting.push(place);
  }

  #compare(place: PairPlace): void {
    const { actual, expected } = place;
    if (++this.#count.value > MAX_COMPARED) throwTooManyParts(place);
    if (isMatcher(expected)) return this.#applyMatcher(place, expected);
    if (isSame(actual, expected)) return;
    if (!isObject(actual) || !isObject(expected) || !this.#areAlike(actual, expected)) {
      return this.#report(place, "different");
    }
    // A schema's defaults depend on the place; arguments, which alone have a schema, are not circular.
    if (place.position === undefined && this.#isCompared(actual, expected, place.ignored)) return;
    const text = comparableText(expected);
    const items = itemsOf(expected);
    if (text !== undefined) {
      if (text !== comparableText(actual)) this.#report(place, "different");
    } else if (items !== undefined) this.#compareItems(place, itemsOf(actual)!, items);
    else this.#compareParts(place, visibleParts(actual), visibleParts(expected));
  }

  /** Returns whether two objects are of one class, so that their parts can be compared. */
  #areAlike(actual: object, expected: object): boolean {
    if (OPAQUE.some((kind) => expected instanceof kind)) return false;
    return prototypeOf(actual) === prototypeOf(expected) ||
      (this.#partial && isPlain(expected) && hasFields(actual));
  }

  /** Returns whether both were compared in the same way before: then their differences are known. */
  #isCompared(actual: object, expected: object, ignored: readonly IgnoredRest[]): boolean {
    const way = ignored.map(({ number, taken }) => `${number}:${taken}`).join();
    if (this.#hasCompared(actual, expected, way)) return true;
    getOrInsertComputed(
      getOrInsertComputed(
        this.#compared,
        actual,
        () => new Map(),
      ),
      expected,
      () => new Set(),
    ).add(way);
    return false;
  }

  #hasCompared(actual: object, expected: object, way: string): boolean {
    if (this.#compared.get(actual)?.get(expected)?.has(way)) return true;
    return this.#outer !== undefined && this.#outer.#hasCompared(actual, expected, way);
  }

  #applyMatcher(place: PairPlace, matcher: Matcher): void {
    const { held } = matcher;
    if (held?.items) return this.#compareInAnyOrder(place, held.values);
    try {
      const comparing = held?.replace(held.values.map((one) => this.#asMatcher(place, one))) ??
        matcher;
      const actual = place.actual as JsonValue;
      if (comparing.matches(actual)) return;
      this.#report(place, "different", undefined, matcher.explain?.(actual));
    } catch (error) {
      this.#report(place, "different", printable(reasonOf(error), MAX_REASON_LENGTH));
    }
  }

  /** Wraps an expectation within a matcher so that all options of this comparison apply to it. */
  #asMatcher(step: PairStep, expected: unknown): Matcher {
    return matching((given) => {
      const differences = this.#part(step, given, expected);
      if (isUndecided(differences)) throw new Error(differences[0]!.error);
      return differences.length === 0;
    }, "as expected");
  }

  #compareInAnyOrder(place: PairPlace, expected: readonly unknown[]): void {
    const { actual } = place;
    if (!Array.isArray(actual)) return this.#report(place, "different");
    const step = stepsFrom(place)(ANY_ITEM);
    if (step === undefined) return;
    if (actual.length !== expected.length) return this.#report(place, "different");
    let undecided: string | undefined;
    const partners = matchMembers(expected, actual, (one, other) => {
      const differences = this.#part(step, actual[other], expected[one]);
      if (isUndecided(differences)) undecided ??= differences[0]!.error;
      return differences.length === 0;
    });
    if (partners.includes(null)) this.#report(place, "different", undecided);
  }

  #compareItems(place: PairPlace, actual: ArrayLike<unknown>, expected: ArrayLike<unknown>): void {
    const stepTo = stepsFrom(place);
    const inner: PairPlace[] = [];
    for (let index = 0; index < Math.max(actual.length, expected.length); index++) {
      const pair = { actual: actual[index], expected: expected[index] };
      const isThere = index < actual.length;
      const isExpected = index < expected.length;
      if (isThere && isExpected && isSame(pair.actual, pair.expected)) continue;
      const step = stepTo(index);
      if (step === undefined) continue;
      if (isThere && isExpected) inner.push({ ...step, ...pair });
      else inner.push({ ...step, ...pair, kind: isThere ? "unexpected" : "missing" });
    }
    this.#wait(inner);
  }

  #compareParts(place: PairPlace, actual: Parts, expected: Parts): void {
    if (actual.isBlank && expected.isBlank) this.#report(place, "different");
    const stepTo = stepsFrom(place);
    const inner: PairPlace[] = [];
    for (const [key, value] of expected.named) {
      const pair = { actual: actual.named.get(key), expected: value };
      const isThere = actual.named.has(key);
      if (isThere ? isSame(pair.actual, value) : mayBeAbsent(value)) continue;
      const step = stepTo(key);
      if (step === undefined) continue;
      if (isThere) inner.push({ ...step, ...pair });
      else inner.push(...this.#unlessDefault(step, value));
    }
    if (!this.#partial) {
      for (const [key, value] of actual.named) {
        const step = expected.named.has(key) ? undefined : stepTo(key);
        if (step === undefined) continue;
        const isDefault = step.position?.defaults.some((own) =>
          this.#part(step, value, own).length === 0
        );
        if (isDefault) continue;
        inner.push({ ...step, actual: value, expected: undefined, kind: "unexpected" });
      }
    }
    this.#wait(inner.concat(this.#compareMembers(place, actual.members, expected.members)));
  }

  /** Returns the missing part, or nothing if the schema's default is right. */
  #unlessDefault(step: PairStep, expected: unknown): readonly PairPlace[] {
    const comparisons = (step.position?.defaults ?? []).map((value) =>
      this.#part(step, value, expected)
    );
    if (comparisons.some(({ length }) => length === 0)) return [];
    const error = comparisons.find(isUndecided)?.[0]?.error;
    return [{ ...step, actual: undefined, expected, kind: "missing", error }];
  }

  /** Returns the differences between members of sets, in any order. */
  #compareMembers(
    place: PairPlace,
    actual: readonly unknown[],
    expected: readonly unknown[],
  ): readonly PairPlace[] {
    if (actual.length + expected.length === 0) return [];
    const step = stepsFrom(place)(ANY_ITEM);
    if (step === undefined) return [];
    const others = new Set(actual);
    const wanted = expected.filter((member) => isObject(member) || !others.delete(member));
    const left = [...others];
    const partners = matchMembers(
      wanted,
      left,
      (one, other) => this.#part(step, left[other], wanted[one]).length === 0,
    );
    const found = new Set(partners);
    const missing = wanted.filter((_, index) => partners[index] === null);
    const unexpected = this.#partial ? [] : left.filter((_, index) => !found.has(index));
    return [
      ...missing.map((member) => ({ ...place, expected: member, kind: "missing" as const })),
      ...unexpected.map((member) => ({ ...place, actual: member, kind: "unexpected" as const })),
    ];
  }

  /** Returns the differences of a part without reporting them. */
  #part(step: PairStep, actual: unknown, expected: unknown): readonly ValueDifference[] {
    return new PairComparison(this.#partial, this).run({ ...step, actual, expected });
  }

  #report(
    place: PairPlace,
    kind: ValueDifference["kind"],
    error?: string,
    reasons: readonly string[] = [],
  ): void {
    const [expected, actual] = kind === "missing"
      ? [valueText(place.expected), NOTHING]
      : kind === "unexpected"
      ? [NOTHING, valueText(place.actual)]
      : differingTexts(place.expected, place.actual);
    const path = printable(pathText(stepsTo(place)), MAX_PATH_LENGTH);
    this.#found.push({
      ...{ path, expected, actual, kind },
      ...defined({ error }),
      ...(reasons.length === 0 ? {} : { reasons }),
    });
  }
}

/** Returns whether all differences are ones that a matcher could not decide. */
export function isUndecided(differences: readonly ValueDifference[]): boolean {
  return differences.length > 0 && differences.every(({ error }) => error !== undefined);
}

function throwTooManyParts(place: PairPlace): never {
  const path = printable(pathText(stepsTo(place)), MAX_PATH_LENGTH);
  throw cannot(
    "compare values",
    `they must not have more than ${MAX_COMPARED} parts that differ or are objects`,
    `${path} is one too many`,
  );
}

/** Returns the steps to a place, the name of the whole value first. */
function stepsTo(place: PairPlace): readonly unknown[] {
  const steps: unknown[] = [];
  for (let at: PairPlace | undefined = place; at !== undefined; at = at.parent) steps.push(at.step);
  return steps.reverse();
}

/** Returns a function that gives the position of a part of the value at a place. */
function stepsFrom(parent: PairPlace): (step: unknown) => PairStep | undefined {
  const { ignored: rests, actual, position } = parent;
  const within = position?.within(actual as JsonObject | JsonValue[]);
  return (step) => {
    const ignored = rests.flatMap((rest) => {
      const next = rest.path[rest.taken];
      return next === step || next === ANY_ITEM ? [{ ...rest, taken: rest.taken + 1 }] : [];
    });
    if (ignored.some(({ path, taken }) => taken === path.length)) return undefined;
    return { step, ignored, parent, position: within?.(step as string | number) };
  };
}
