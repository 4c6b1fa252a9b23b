/**
 * Value differences: where a value is not as it is expected, part by part.
 * @module
 */

import { InputError, reasonOf } from "../../base/errors.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { matchMembers } from "./match_members.ts";
import { isMatcher, type Matcher, matching, mayBeAbsent } from "../expected/oracle.ts";
import type { Position } from "../../tools/schema/position.ts";
import {
  hasFields,
  isObject,
  isPlain,
  isSame,
  itemsOf,
  OPAQUE,
  type Parts,
  partsOf,
  prototypeOf,
  textOf,
} from "./parts.ts";
import { ANY_ITEM, pathText, type ValuePath } from "./paths.ts";
import { differingTexts, valueText } from "./text.ts";

/** One place where a value is not as it is expected. */
export interface ValueDifference {
  /** Where, such as `arguments.filters.since`. */
  readonly path: string;
  /** What is expected, as text; `nothing` where the value should not be there. */
  readonly expected: string;
  /** What there is, as text; `nothing` where the value is missing. */
  readonly actual: string;
  /** Whether the value is not there, should not be there, or is another one. */
  readonly kind: "missing" | "unexpected" | "different";
  /** Why a matcher could not tell whether the value is right; left out where it could. */
  readonly error?: string;
}

/** Options of {@linkcode valueDifferences}. */
export interface ComparisonOptions {
  /** The name of the whole value, with which paths begin. */
  readonly name: string;
  /** Whether objects, maps and sets may hold more than is expected; default `false`. */
  readonly partial?: boolean;
  /** Parts whose value, or absence, is of no account. */
  readonly ignore?: readonly ValuePath[];
  /** What a JSON Schema says of the value: its defaults may be given or left out as well. */
  readonly position?: Position | undefined;
}

/** The text of no value. */
const NOTHING = "nothing";
/** Values with more parts that need a look have no end: getters may make new ones for ever. */
const MOST_COMPARED = 500_000;
/** So much of a path is told. */
const LONGEST_PATH = 300;
/** So much of what a matcher threw is told. */
const LONGEST_REASON = 300;

/**
 * Where a value is not as it is expected; empty when it is. Objects are compared by their own keys in any
 * order, numbers by value, lists item by item, maps by their keys, sets by their members in any order, and
 * dates, regular expressions and URLs by what they say. Instances of a class must be of the same class
 * (where `partial`, a plain object may stand for one), and are compared by what can be seen of them: their
 * properties and getters. Matchers are asked wherever they stand, and what they are made of is compared as
 * everything else is: all options count there, too. Values may go in circles and nest as deep as they like.
 *
 * @throws {InputError} If more than half a million parts are objects or differ, as where getters make new
 * objects for ever.
 *
 * @example Usage
 * ```ts
 * import { valueDifferences } from "./differences.ts";
 * import { closeTo } from "../expected/oracle.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const order = { items: [{ id: 7 }], total: 9.5 };
 * const expected = { items: [{ id: 8 }], total: closeTo(9, 1) };
 * assertEquals(valueDifferences(order, expected, { name: "order" }), [
 *   { path: "order.items[0].id", expected: "8", actual: "7", kind: "different" },
 * ]);
 * ```
 */
export function valueDifferences(
  actual: unknown,
  expected: unknown,
  options: ComparisonOptions,
): readonly ValueDifference[] {
  const { name, partial = false, ignore = [], position } = options;
  const ignored = ignore.map((path, number) => ({ number, path, taken: 0 }));
  return new Comparison(partial).run({ step: name, actual, expected, ignored, position });
}

/** What is left of a path to be ignored. */
interface Rest {
  /** Which of the paths it is. */
  readonly number: number;
  readonly path: ValuePath;
  /** How many of its steps were taken. */
  readonly taken: number;
}

/** A part of the values, with what it is a part of. */
interface Place {
  readonly step: unknown;
  readonly actual: unknown;
  readonly expected: unknown;
  readonly ignored: readonly Rest[];
  readonly position?: Position | undefined;
  readonly around?: Place;
  /** Set when one of them is not there, so that there is nothing to compare. */
  readonly kind?: "missing" | "unexpected";
  /** Why a matcher could not tell whether the value may be missing. */
  readonly error?: string | undefined;
}

/** Where a part stands; what does not count has no place. */
type Step = Pick<Place, "step" | "ignored" | "position" | "around">;

class Comparison {
  readonly #partial: boolean;
  readonly #outer: Comparison | undefined;
  readonly #found: ValueDifference[] = [];
  /** The values that were compared, with what was to be ignored in them. */
  readonly #compared = new Map<object, Map<object, Set<string>>>();
  /** Parts that wait, the next one last: values may nest deeper than the stack. */
  readonly #waiting: Place[] = [];
  /** How many parts were compared, other comparisons included. */
  readonly #count: { value: number };

  /** Begins one that need not look at what another one, of which it is a part, looks at. */
  constructor(partial: boolean, outer?: Comparison) {
    this.#partial = partial;
    this.#outer = outer;
    this.#count = outer === undefined ? { value: 0 } : outer.#count;
  }

  run(whole: Place): readonly ValueDifference[] {
    this.#waiting.push(whole);
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      if (next.kind === undefined) this.#compare(next);
      else this.#tell(next, next.kind, next.error);
    }
    return this.#found;
  }

  /** One by one: more than a hundred thousand do not fit into one call. */
  #wait(places: readonly Place[]): void {
    for (const place of places.toReversed()) this.#waiting.push(place);
  }

  #compare(place: Place): void {
    const { actual, expected } = place;
    if (++this.#count.value > MOST_COMPARED) refuse(place);
    if (isMatcher(expected)) return this.#ask(place, expected);
    if (isSame(actual, expected)) return;
    if (!isObject(actual) || !isObject(expected) || !this.#areAlike(actual, expected)) {
      return this.#tell(place, "different");
    }
    // What a schema says hangs on the place; arguments, which have one, do not go in circles.
    if (place.position === undefined && this.#isCompared(actual, expected, place.ignored)) return;
    const text = textOf(expected);
    const items = itemsOf(expected);
    if (text !== undefined) {
      if (text !== textOf(actual)) this.#tell(place, "different");
    } else if (items !== undefined) this.#compareItems(place, itemsOf(actual)!, items);
    else this.#compareParts(place, partsOf(actual), partsOf(expected));
  }

  /** Whether two objects are of one kind, so that their parts can be compared. */
  #areAlike(actual: object, expected: object): boolean {
    if (OPAQUE.some((kind) => expected instanceof kind)) return false;
    return prototypeOf(actual) === prototypeOf(expected) ||
      (this.#partial && isPlain(expected) && hasFields(actual));
  }

  /** Whether both were compared in the same way before: then everything has been told. */
  #isCompared(actual: object, expected: object, ignored: readonly Rest[]): boolean {
    const way = ignored.map(({ number, taken }) => `${number}:${taken}`).join();
    if (this.#hasCompared(actual, expected, way)) return true;
    const others = this.#compared.get(actual) ?? new Map<object, Set<string>>();
    this.#compared.set(actual, others.set(expected, (others.get(expected) ?? new Set()).add(way)));
    return false;
  }

  #hasCompared(actual: object, expected: object, way: string): boolean {
    if (this.#compared.get(actual)?.get(expected)?.has(way)) return true;
    return this.#outer !== undefined && this.#outer.#hasCompared(actual, expected, way);
  }

  #ask(place: Place, matcher: Matcher): void {
    const { held } = matcher;
    if (held?.items) return this.#compareInAnyOrder(place, held.values);
    try {
      const asked = held?.replace(held.values.map((one) => this.#asMatcher(place, one))) ?? matcher;
      if (!asked.matches(place.actual as JsonValue)) this.#tell(place, "different");
    } catch (error) {
      this.#tell(place, "different", printable(reasonOf(error), LONGEST_REASON));
    }
  }

  /** An expectation within a matcher, compared as it would be in the place of that. */
  #asMatcher(step: Step, expected: unknown): Matcher {
    return matching((given) => {
      const differences = this.#part(step, given, expected);
      if (isUndecided(differences)) throw new Error(differences[0]!.error);
      return differences.length === 0;
    }, "as expected");
  }

  #compareInAnyOrder(place: Place, expected: readonly unknown[]): void {
    const { actual } = place;
    if (!Array.isArray(actual)) return this.#tell(place, "different");
    const step = stepsFrom(place)(ANY_ITEM);
    if (step === undefined) return;
    if (actual.length !== expected.length) return this.#tell(place, "different");
    let undecided: string | undefined;
    const partners = matchMembers(expected, actual, (one, other) => {
      const differences = this.#part(step, actual[other], expected[one]);
      if (isUndecided(differences)) undecided ??= differences[0]!.error;
      return differences.length === 0;
    });
    if (partners.includes(null)) this.#tell(place, "different", undecided);
  }

  #compareItems(place: Place, actual: ArrayLike<unknown>, expected: ArrayLike<unknown>): void {
    const stepTo = stepsFrom(place);
    const inner: Place[] = [];
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

  #compareParts(place: Place, actual: Parts, expected: Parts): void {
    if (actual.isBlank && expected.isBlank) this.#tell(place, "different");
    const stepTo = stepsFrom(place);
    const inner: Place[] = [];
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

  /** What is missing, but for values of which the default is right. */
  #unlessDefault(step: Step, expected: unknown): readonly Place[] {
    const told = (step.position?.defaults ?? []).map((value) => this.#part(step, value, expected));
    if (told.some(({ length }) => length === 0)) return [];
    const error = told.find(isUndecided)?.[0]?.error;
    return [{ ...step, actual: undefined, expected, kind: "missing", error }];
  }

  /** The differences between members, which stand in no order. */
  #compareMembers(
    place: Place,
    actual: readonly unknown[],
    expected: readonly unknown[],
  ): readonly Place[] {
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

  /** The differences of a part, which are not told yet. */
  #part(step: Step, actual: unknown, expected: unknown): readonly ValueDifference[] {
    return new Comparison(this.#partial, this).run({ ...step, actual, expected });
  }

  #tell(place: Place, kind: ValueDifference["kind"], error?: string): void {
    const [expected, actual] = kind === "missing"
      ? [valueText(place.expected), NOTHING]
      : kind === "unexpected"
      ? [NOTHING, valueText(place.actual)]
      : differingTexts(place.expected, place.actual);
    const path = printable(pathText(stepsTo(place)), LONGEST_PATH);
    this.#found.push({ path, expected, actual, kind, ...(error === undefined ? {} : { error }) });
  }
}

/** Whether nothing is wrong but what a matcher could not tell. */
export function isUndecided(differences: readonly ValueDifference[]): boolean {
  return differences.length > 0 && differences.every(({ error }) => error !== undefined);
}

function refuse(place: Place): never {
  const path = printable(pathText(stepsTo(place)), LONGEST_PATH);
  throw new InputError(
    `Cannot compare values as they must not have more than ${MOST_COMPARED} parts that differ or ` +
      `are objects: ${path} is one too many`,
  );
}

/** The way to a place, the name of the whole value first. */
function stepsTo(place: Place): readonly unknown[] {
  const steps: unknown[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.around) steps.push(at.step);
  return steps.reverse();
}

/** Where the parts of what stands at a place stand themselves. */
function stepsFrom(around: Place): (step: unknown) => Step | undefined {
  const { ignored: rests, actual, position } = around;
  const within = position?.within(actual as JsonObject | JsonValue[]);
  return (step) => {
    const ignored = rests.flatMap((rest) => {
      const next = rest.path[rest.taken];
      return next === step || next === ANY_ITEM ? [{ ...rest, taken: rest.taken + 1 }] : [];
    });
    if (ignored.some(({ path, taken }) => taken === path.length)) return undefined;
    return { step, ignored, around, position: within?.(step as string | number) };
  };
}
