/**
 * Maximum bipartite matching: pairs as many vertices of two sides as possible.
 * @module
 */

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
