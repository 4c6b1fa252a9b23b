/**
 * Matching: pairs as many of two sides as possible, and unordered members with the expected ones in few comparisons.
 * @module
 */

import { attempt } from "../../base/errors.ts";
import { canonicalJson } from "../../base/json.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/**
 * Pairs as many of one side as possible with one partner each of the other side, by augmenting paths
 * (Berge 1957; Kuhn 1955). Time grows with the number of vertices times the number of edges.
 *
 * @param edges For each vertex of one side, the vertices of the other that it may be paired with, as
 * whole numbers from 0; they are tried in order, and iterated only as far as needed.
 * @returns The partner of each vertex, or `null`. The same edges give the same pairs.
 */
export function maximumMatching(
  edges: readonly Iterable<number>[],
): readonly (number | null)[] {
  const partners: (number | null)[] = edges.map(() => null);
  const owners = new Map<number, number>();
  edges.forEach((_, start) => {
    /** For each vertex reached on the other side, the vertex that it was reached from. */
    const reachedFrom = new Map<number, number>();
    const waiting = [start];
    for (const vertex of waiting) {
      for (const other of edges[vertex]!) {
        if (reachedFrom.has(other)) continue;
        reachedFrom.set(other, vertex);
        const owner = owners.get(other);
        if (owner === undefined) return augment(other, reachedFrom, partners, owners);
        waiting.push(owner);
      }
    }
  });
  return partners;
}

/** Flips the augmenting path that ends in a free vertex: each owner takes the vertex it reached. */
function augment(
  free: number,
  reachedFrom: ReadonlyMap<number, number>,
  partners: (number | null)[],
  owners: Map<number, number>,
): void {
  let next: number | null = free;
  while (next !== null) {
    const owner: number = reachedFrom.get(next)!;
    const before: number | null = partners[owner]!;
    partners[owner] = next;
    owners.set(next, owner);
    next = before;
  }
}

/**
 * Finds partners for as many expected members as possible. Members that look alike, or have the same index,
 * are compared first: if all are equal, there are as many comparisons as members.
 *
 * @param fits Returns whether a member is as expected, by the indexes of both; called at most once for each
 * pair.
 * @returns The index of each expected member's partner, or `null`.
 */
export function matchMembers(
  expected: readonly unknown[],
  actual: readonly unknown[],
  fits: (expected: number, actual: number) => boolean,
): readonly (number | null)[] {
  const likely = likelyPartners(expected, actual);
  const known = new Map<number, boolean>();
  const isFit = (one: number, other: number) =>
    getOrInsertComputed(known, one * actual.length + other, () => fits(one, other));
  return maximumMatching(expected.map((_, one) => ({
    *[Symbol.iterator]() {
      const first = likely.get(one);
      if (first !== undefined && isFit(one, first)) yield first;
      yield* actual.keys().filter((other) => other !== first && isFit(one, other));
    },
  })));
}

/** Guesses a partner for each expected member: one that looks alike, else the next free one. */
function likelyPartners(
  expected: readonly unknown[],
  actual: readonly unknown[],
): ReadonlyMap<number, number> {
  const alike = Map.groupBy([...actual.keys()].reverse(), (place) => textOf(actual[place]));
  const likely = new Map<number, number>();
  expected.forEach((member, place) => {
    const partner = alike.get(textOf(member))?.pop();
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

/** Returns a text that is the same for equal values of JSON; others are compared in their order. */
function textOf(value: unknown): string | undefined {
  return attempt(() => canonicalJson(value));
}
