/**
 * Ignored parts: whether what is to be ignored of a value can be, and leaves anything to compare.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { isMatcher } from "../expected/oracle.ts";
import { isObject, itemsOf, partsOf, textOf } from "./parts.ts";
import { ANY_ITEM, type PathStep, pathText, type ValuePath } from "./paths.ts";

/** So much of a path is told. */
const LONGEST_PATH = 300;

/**
 * Checks that what is to be ignored can be. A matcher that is made of other expectations, such as
 * `anyOf()`, compares with them without it; one that is not, such as `matching()`, gets the whole value.
 *
 * @throws {InputError} If a path leads into matchers only that are made of no expectations, or to an item
 * by its index where items stand in any order.
 *
 * @example Usage
 * ```ts
 * import { checkIgnored } from "./ignored.ts";
 * import { inAnyOrder } from "../expected/oracle.ts";
 * import { parsePath } from "./paths.ts";
 * import { assertThrows } from "@std/assert";
 *
 * const expected = { items: inAnyOrder({ name: "pen" }, { name: "ink" }) };
 * checkIgnored(expected, [parsePath("items[*].id")]);
 * assertThrows(() => checkIgnored(expected, [parsePath("items[0].id")]));
 * ```
 */
export function checkIgnored(expected: unknown, paths: readonly ValuePath[]): void {
  const path = paths.find((path) => isLost(expected, path));
  if (path === undefined) return;
  throw new InputError(
    `Cannot ignore ${
      printable(pathText(path), LONGEST_PATH)
    } as a path must not end in a matcher: ` +
      "it leads into one that gets the whole value, or to one item of many in any order, which [*] " +
      "stands for",
  );
}

/** Whether a path leads into matchers that know of no parts, and nowhere else. */
function isLost(expected: unknown, path: ValuePath): boolean {
  let isStopped = false;
  let places = new Set([expected]);
  for (const [taken, step] of path.entries()) {
    const inner = new Set<unknown>();
    for (const place of places) {
      if (isMatcher(place)) {
        const { held } = place;
        if (held === undefined || (held.items && step !== ANY_ITEM)) isStopped = true;
        // What a matcher takes in place of the value is looked at in this same turn.
        else for (const value of held.values) (held.items ? inner : places).add(value);
      } else if (isObject(place)) {
        const parts = partsAt(place, step);
        if (parts.length === 0 || taken === path.length - 1) return false;
        for (const part of parts) inner.add(part);
      }
    }
    places = inner;
  }
  return isStopped;
}

/** What stands in an object where a step leads. */
function partsAt(value: object, step: PathStep): readonly unknown[] {
  const items = itemsOf(value);
  const { named, members } = items === undefined
    ? partsOf(value)
    : { named: new Map<unknown, unknown>(Array.from(items).entries()), members: [] };
  if (step === ANY_ITEM) return [...named.values(), ...members];
  return named.has(step) ? [named.get(step)] : [];
}

/**
 * Whether what is expected says no more than that there must be an object or a list.
 *
 * @param partial Whether there may be more than is expected.
 * @param ignored What is of no account.
 *
 * @example Usage
 * ```ts
 * import { expectsNothing } from "./ignored.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(expectsNothing({ a: 1 }, true, [["b"]]), false);
 * assertEquals(expectsNothing({ a: 1 }, true, [["a"]]), true);
 * assertEquals(expectsNothing({ a: 1 }, false, [["a"]]), false);
 * ```
 */
export function expectsNothing(
  expected: unknown,
  partial: boolean,
  ignored: readonly ValuePath[],
): boolean {
  const isIgnored = (step: unknown) =>
    ignored.some(([first, ...others]) =>
      (first === step || first === ANY_ITEM) && others.length === 0
    );
  const areIgnored = isIgnored(ANY_ITEM);
  if (isMatcher(expected)) {
    const { held } = expected;
    if (held?.items) return areIgnored;
    return held !== undefined && held.values.some((one) => expectsNothing(one, partial, ignored));
  }
  if (!isObject(expected) || textOf(expected) !== undefined) return false;
  if (itemsOf(expected) !== undefined) return areIgnored;
  const { named, members, isBlank } = partsOf(expected);
  if (isBlank || !(partial || areIgnored)) return false;
  return named.keys().every(isIgnored) && (members.length === 0 || areIgnored);
}
