/**
 * Ignored parts: checks that paths to ignore can apply to an expected value and leave something to compare.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { isObject, printable } from "../../base/json.ts";
import { isMatcher } from "../expected/matchers.ts";
import { comparableText, itemsOf, visibleParts } from "./parts.ts";
import { ANY_ITEM, type PathStep, pathText, type ValuePath } from "./paths.ts";

/** Characters of a path shown in a message, at most. */
const MAX_PATH_LENGTH = 300;

/**
 * Checks that paths can be ignored. A matcher that consists of other expectations, such as `anyOf()`, can
 * ignore parts of them; one that does not, such as `matching()`, always gets the whole value.
 *
 * @throws {InputError} If a path leads only into matchers without expectations, or to an item by its index
 * in a list in any order.
 */
export function checkIgnored(expected: unknown, paths: readonly ValuePath[]): void {
  const path = paths.find((path) => leadsIntoOpaqueMatcher(expected, path));
  if (path === undefined) return;
  throw cannot(
    `ignore ${printable(pathText(path), MAX_PATH_LENGTH)}`,
    "a path must not end in a matcher",
    "it leads into one that gets the whole value, or to one item of a list in any order, where only [*] can be used",
  );
}

/** Returns whether a path leads into matchers that cannot ignore parts, and nowhere else. */
function leadsIntoOpaqueMatcher(expected: unknown, path: ValuePath): boolean {
  let isStopped = false;
  let places = new Set([expected]);
  for (const [taken, step] of path.entries()) {
    const inner = new Set<unknown>();
    for (const place of places) {
      if (isMatcher(place)) {
        const { held } = place;
        if (held === undefined || (held.items && step !== ANY_ITEM)) isStopped = true;
        // Alternatives for the value itself are visited in this same loop over `places`.
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

/** Returns the parts of an object that a step leads to. */
function partsAt(value: object, step: PathStep): readonly unknown[] {
  const items = itemsOf(value);
  const { named, members } = items === undefined
    ? visibleParts(value)
    : { named: new Map<unknown, unknown>(Array.from(items).entries()), members: [] };
  if (step === ANY_ITEM) return [...named.values(), ...members];
  return named.has(step) ? [named.get(step)] : [];
}

/**
 * Returns whether an expected value requires nothing but an object or a list.
 *
 * @param partial Whether there may be more than expected.
 * @param ignored Paths to ignore.
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
  if (!isObject(expected) || comparableText(expected) !== undefined) return false;
  if (itemsOf(expected) !== undefined) return areIgnored;
  const { named, members, isBlank } = visibleParts(expected);
  if (isBlank || !(partial || areIgnored)) return false;
  return named.keys().every(isIgnored) && (members.length === 0 || areIgnored);
}
