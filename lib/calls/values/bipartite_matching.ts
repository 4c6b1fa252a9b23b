/**
 * Maximum bipartite matching: as many pairs as can be had at once.
 * @module
 */

/**
 * Pairs as many of one side as possible with one partner each of the other side, by augmenting paths
 * (Berge 1957; Kuhn 1955). Time grows by the number of vertices times that of edges.
 *
 * @param edges For each vertex of one side, the vertices of the other that it may be paired with, as
 * whole numbers from 0 on; those that come first are tried first, and none is asked for without need.
 * @returns The partner of each vertex; `null` where it has none. The same edges give the same pairs.
 *
 * @example Usage
 * ```ts
 * import { maximumMatching } from "./bipartite_matching.ts";
 * import { assertEquals } from "@std/assert";
 *
 * // Whoever takes the first that fits leaves the second vertex without a partner.
 * assertEquals(maximumMatching([[0, 1], [0]]), [1, 0]);
 * assertEquals(maximumMatching([[0], [0]]), [0, null]);
 * ```
 */
export function maximumMatching(
  edges: readonly Iterable<number>[],
): readonly (number | null)[] {
  const partners: (number | null)[] = edges.map(() => null);
  const owners = new Map<number, number>();
  edges.forEach((_, start) => {
    /** By each vertex of the other side that was reached, the one that it was reached from. */
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

/** Gives a vertex that was free to the one that reached it, whose own partner goes to the one before. */
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
