import { assert, assertEquals } from "@std/assert";
import { maximumMatching } from "../../../lib/calls/values/_bipartite_matching.ts";
import fc from "../../support/fast_check.ts";

Deno.test("maximumMatching() finds partners that whoever takes the first would miss", () => {
  const table: [edges: number[][], partners: (number | null)[]][] = [
    [[], []],
    [[[]], [null]],
    [[[0]], [0]],
    [[[0], [0]], [0, null]],
    [[[0, 1], [0]], [1, 0]],
    // A chain: each gives way to the next.
    [[[0, 1], [0, 2], [1, 3], [0]], [1, 2, 3, 0]],
    [[[7, 3], [3], [], [7]], [7, 3, null, null]],
  ];
  for (const [edges, partners] of table) assertEquals(maximumMatching(edges), partners);
});

/** The most pairs that can be had, by trying all. */
function mostPairs(edges: readonly (readonly number[])[], taken: readonly number[] = []): number {
  const [first, ...others] = edges;
  if (first === undefined) return 0;
  const free = first.filter((other) => !taken.includes(other));
  return Math.max(
    mostPairs(others, taken),
    ...free.map((other) => 1 + mostPairs(others, [...taken, other])),
  );
}

Deno.test("maximumMatching() finds as many pairs as trying all does, each along an edge of its own", () => {
  const edges = fc.array(fc.uniqueArray(fc.nat({ max: 5 })), { maxLength: 6 });
  let full = 0;
  fc.assert(
    fc.property(edges, (edges) => {
      const partners = maximumMatching(edges);
      const pairs = partners.filter((partner) => partner !== null);
      assertEquals(new Set(pairs).size, pairs.length);
      partners.forEach((other, one) => assert(other === null || edges[one]!.includes(other)));
      assertEquals(pairs.length, mostPairs(edges));
      if (pairs.length === edges.length) full++;
    }),
    { numRuns: 500 },
  );
  assert(full > 50 && full < 450, `${full} full`);
});

Deno.test("maximumMatching() pairs hundreds with hundreds, and follows chains through all of them", () => {
  const count = 600;
  const all = Array.from({ length: count }, (_, index) => index);
  assertEquals(new Set(maximumMatching(all.map(() => all))).size, count);
  // Only the last one's coming shifts all others by one.
  const chain = [...all.map((index) => [index, index + 1]), [0]];
  assertEquals(maximumMatching(chain), [...all.map((index) => index + 1), 0]);
});
