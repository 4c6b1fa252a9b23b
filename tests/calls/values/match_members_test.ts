import { assert, assertEquals } from "@std/assert";
import { maximumMatching } from "../../../lib/calls/values/_bipartite_matching.ts";
import { matchMembers } from "../../../lib/calls/values/_match_members.ts";
import fc from "../../support/fast_check.ts";

/** Partners by what fits, and how many pairs were asked about, each once. */
function matched<T>(
  expected: readonly T[],
  actual: readonly T[],
  fits: (expected: T, actual: T) => boolean,
) {
  const asked = new Set<string>();
  const partners = matchMembers(expected, actual, (one, other) => {
    assert(!asked.has(`${one} ${other}`), `${one} ${other} was asked about twice`);
    asked.add(`${one} ${other}`);
    return fits(expected[one]!, actual[other]!);
  });
  return { partners, asked: asked.size };
}

const sameText = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

Deno.test("matchMembers() finds partners that whoever takes the first would miss", () => {
  const isIn = (expected: number[], actual: number[]) => expected.includes(actual[0]!);
  const table: [expected: number[][], actual: number[][], partners: (number | null)[]][] = [
    [[], [], []],
    [[[1]], [], [null]],
    [[], [[1]], []],
    [[[1], [2]], [[2], [1]], [1, 0]],
    [[[1, 2], [1]], [[1], [2]], [1, 0]],
    [[[1], [1]], [[1]], [0, null]],
    [[[9], [1]], [[1]], [null, 0]],
  ];
  for (const [expected, actual, partners] of table) {
    assertEquals(matched(expected, actual, isIn).partners, partners);
  }
});

Deno.test("matchMembers() finds as many as trying all pairs does, and asks about no pair twice", () => {
  // What looks alike does not always fit.
  const member = fc.record({ x: fc.nat({ max: 3 }), bits: fc.nat({ max: 15 }) });
  const members = fc.array(member, { maxLength: 7 });
  let short = 0;
  fc.assert(
    fc.property(members, members, (expected, actual) => {
      const fits = (one: { bits: number }, other: { x: number }) => (one.bits >> other.x) % 2 === 1;
      const { partners } = matched(expected, actual, fits as never);
      const edges = expected.map((one) =>
        actual.flatMap((other, place) => fits(one, other) ? [place] : [])
      );
      const found = partners.filter((place) => place !== null);
      assertEquals(new Set(found).size, found.length);
      partners.forEach((place, one) => assert(place === null || edges[one]!.includes(place)));
      assertEquals(found.length, maximumMatching(edges).filter((place) => place !== null).length);
      if (found.length < Math.min(expected.length, actual.length)) short++;
    }),
    { numRuns: 500 },
  );
  assert(short > 50, `${short} short`);
});

Deno.test("matchMembers() compares equal members once each, in whatever order they stand", () => {
  const count = 500;
  const numbers = Array.from({ length: count }, (_, index) => index);
  const shuffled = numbers.toSorted((one, other) => one * 7 % count - other * 7 % count);
  const kinds: ((index: number) => unknown)[] = [
    (index) => ({ id: index, in: { list: [index] } }),
    (index) => [index, "x"],
    (index) => new Date(index),
    (index) => new Map([[{ key: index }, index]]),
    (index) => new Map([[index, { index }]]),
    (index) => new Set([index]),
    (index) => new URL(`https://a.example/${index}`),
    (index) => new Uint16Array([index]),
    (index) => ({ [`k${index}`]: null }),
    (index) => ({ long: "x".repeat(50) + index }),
  ];
  for (const [kind, make] of kinds.entries()) {
    const keys = new Map(numbers.map((index) => [make(index), index]));
    const expected = [...keys.keys()];
    const actual = shuffled.map((index) => expected[index]!);
    const same = (one: unknown, other: unknown) => keys.get(one) === keys.get(other);
    assertEquals(matched(expected, actual, same), {
      partners: numbers.map((index) => shuffled.indexOf(index)),
      asked: count,
    }, `kind ${kind}`);
  }
  // The order of keys is of no account, nor is what is too far inside to be read.
  const swapped = shuffled.map((x) => ({ y: 0, x }));
  const sorted = (value: object) => Object.entries(value).toSorted().join();
  const sameKeys = (one: object, other: object) => sorted(one) === sorted(other);
  assertEquals(matched(numbers.map((x) => ({ x, y: 0 })), swapped, sameKeys).asked, count);
  const long = numbers.map((x) => [...Array(200).fill(0), x]);
  assertEquals(matched(long, structuredClone(long), sameText).asked, count);
});

Deno.test("matchMembers() finds out who is missing by few comparisons", () => {
  const numbers = Array.from({ length: 500 }, (_, x) => ({ x }));
  const { partners, asked } = matched([...numbers, { x: -1 }], numbers.toReversed(), sameText);
  assertEquals(partners.indexOf(null), 500);
  assertEquals(asked, 1_000);
});

Deno.test("matchMembers() comes to an end with circles, deep members and those of many parts", () => {
  const circle: unknown[] = [];
  circle.push(circle, { circle });
  let deep: unknown = 1;
  let shared: unknown = { end: 1 };
  for (let level = 0; level < 50_000; level++) deep = [deep];
  for (let level = 0; level < 60; level++) shared = { left: shared, right: shared };
  const members = [circle, deep, shared, Array(300_000).fill(0), Symbol("s"), () => 1];
  const { partners } = matched(members, members.toReversed(), Object.is);
  assertEquals(partners, [5, 4, 3, 2, 1, 0]);
});
