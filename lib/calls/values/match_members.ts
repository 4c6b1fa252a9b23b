/**
 * Member matching: which members are which of the expected ones, where they stand in no order, with as
 * few comparisons as will do.
 * @module
 */

import { maximumMatching } from "./bipartite_matching.ts";
import { isObject, itemsOf, partsOf, textOf } from "./parts.ts";

/** So many parts of a member are read to guess which one it is, and so much of a text. */
const MOST_READ = 100;

/**
 * Finds partners for as many expected members as possible. Those that look alike, or stand in the same
 * place, are compared first: where all are equal, there are as many comparisons as members.
 *
 * @param fits Whether a member is an expected one, by their places in both lists, from 0; it is asked once
 * at most about a pair.
 * @returns The place of the partner of each expected member; `null` where it has none.
 *
 * @example Usage
 * ```ts
 * import { matchMembers } from "./match_members.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const expected = [{ id: 1 }, { id: 2 }, { id: 3 }];
 * const actual = [{ id: 2 }, { id: 3 }, { id: 4 }];
 * const partners = matchMembers(expected, actual, (one, other) =>
 *   expected[one]!.id === actual[other]!.id);
 * assertEquals(partners, [null, 0, 1]);
 * ```
 */
export function matchMembers(
  expected: readonly unknown[],
  actual: readonly unknown[],
  fits: (expected: number, actual: number) => boolean,
): readonly (number | null)[] {
  const likely = likelyPartners(expected, actual);
  return maximumMatching(
    expected.map((_, one) =>
      new Fitting(likely.get(one), actual.length, (other) => fits(one, other))
    ),
  );
}

/** The places that fit, found as far as they are asked for, and only once. */
class Fitting implements Iterable<number> {
  readonly #found: number[] = [];
  readonly #left: Iterator<number>;

  constructor(likely: number | undefined, count: number, fits: (place: number) => boolean) {
    this.#left = placesThatFit(likely, count, fits);
  }

  *[Symbol.iterator](): Generator<number> {
    for (let next = 0;; next++) {
      if (next === this.#found.length) {
        const { done, value } = this.#left.next();
        if (done) return;
        this.#found.push(value);
      }
      yield this.#found[next]!;
    }
  }
}

function* placesThatFit(
  likely: number | undefined,
  count: number,
  fits: (place: number) => boolean,
): Generator<number> {
  if (likely !== undefined && fits(likely)) yield likely;
  for (let place = 0; place < count; place++) {
    if (place !== likely && fits(place)) yield place;
  }
}

/** For expected members one that may well be theirs: of those that look alike, else by place. */
function likelyPartners(
  expected: readonly unknown[],
  actual: readonly unknown[],
): ReadonlyMap<number, number> {
  const alike = Map.groupBy([...actual.keys()].reverse(), (place) => outlineOf(actual[place]));
  const likely = new Map<number, number>();
  expected.forEach((member, place) => {
    const partner = alike.get(outlineOf(member))?.pop();
    if (partner !== undefined) likely.set(place, partner);
  });
  const taken = new Set(likely.values());
  const free = actual.keys().filter((place) => !taken.has(place));
  for (const place of expected.keys().filter((place) => !likely.has(place))) {
    const { done, value } = free.next();
    if (done) break;
    likely.set(place, value);
  }
  return likely;
}

/** A text that values share where they are equal, unless members within them stand in another order. */
function outlineOf(value: unknown): string {
  const texts: string[] = [];
  const waiting = [value];
  while (waiting.length > 0 && texts.length < MOST_READ) {
    const next = waiting.pop();
    const text = isObject(next) ? textOf(next) : String(next);
    const inner = text === undefined ? partsIn(next as object) : [];
    texts.push(`${typeof next} ${text?.slice(0, MOST_READ) ?? inner.length}`);
    for (const part of inner.slice(0, MOST_READ).reverse()) waiting.push(part);
  }
  return texts.join("\n");
}

/** The parts of an object; keys may stand in any order. */
function partsIn(value: object): readonly unknown[] {
  const items = itemsOf(value);
  if (items !== undefined) return [...items.slice(0, MOST_READ), items.length];
  const { named, members } = partsOf(value);
  const keys = [...named.keys()].sort((one, other) => String(one) < String(other) ? -1 : 1);
  return [...keys.flatMap((key) => [key, named.get(key)]), ...members];
}
