import { assert, assertEquals, assertLess, assertNotEquals, assertThrows } from "@std/assert";
import {
  type Prng,
  randomBetween,
  randomIntegerBetween,
  randomSeeded,
  sample,
  shuffle,
} from "@std/random";
import fc from "../../support/fast_check.ts";

const MASK = 2n ** 64n - 1n;

/** PCG32 as its author writes it down, in plain arithmetic. */
function* reference(seed: bigint): Generator<number> {
  const multiplier = 6364136223846793005n;
  const output = (state: bigint) => {
    const word = (((state >> 18n) ^ state) >> 27n) & 0xffff_ffffn;
    const rotation = state >> 59n;
    return ((word >> rotation) | (word << (32n - rotation))) & 0xffff_ffffn;
  };
  let state = seed & MASK;
  const words: bigint[] = [];
  for (let word = 0; word < 4; word++) {
    state = (state * multiplier + 11634580027462260723n) & MASK;
    words.push(output(state));
  }
  const increment = (words[2]! | (words[3]! << 32n)) | 1n;
  state = (words[0]! | (words[1]! << 32n)) + increment;
  for (;;) {
    state = (state * multiplier + increment) & MASK;
    yield Number(output(state));
  }
}

function draw(prng: Prng, count: number): number[] {
  return Array.from({ length: count }, prng);
}

/** A generator that gives these numbers. */
function giving(...numbers: number[]): { prng: Prng } {
  return { prng: () => numbers.shift() ?? fail() };
}

function fail(): never {
  throw new Error("there was a draw too many");
}

Deno.test("randomSeeded() starts as the standard library's does", () => {
  assertEquals(draw(randomSeeded(1n), 3), [
    0.20176767697557807,
    0.4911644416861236,
    0.7924694607499987,
  ]);
  // Of the generator that it is taken from, the crate rand_pcg.
  assertEquals(draw(randomSeeded(0n), 10).map((number) => number * 2 ** 32), [
    ...[298703107, 4236525527, 336081875, 1056616254, 1060453275],
    ...[1616833669, 501767310, 2864049166, 56572352, 2362354238],
  ]);
});

Deno.test("randomSeeded() is PCG32 for every seed", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: MASK }), (seed) => {
      const expected = reference(seed);
      for (const number of draw(randomSeeded(seed), 50)) {
        assertEquals(number * 2 ** 32, expected.next().value);
      }
    }),
    { numRuns: 200, examples: [[0n], [1n], [MASK], [2n ** 63n], [2n ** 32n], [2n ** 32n - 1n]] },
  );
});

Deno.test("randomSeeded() takes the lowest 64 bits of a seed", () => {
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 130n), max: 2n ** 130n }), (seed) => {
    const wrapped = ((seed % 2n ** 64n) + 2n ** 64n) % 2n ** 64n;
    assertEquals(draw(randomSeeded(seed), 4), draw(randomSeeded(wrapped), 4));
  }));
  assertEquals(randomSeeded(-1n)(), randomSeeded(MASK)());
  assertEquals(randomSeeded(2n ** 64n)(), randomSeeded(0n)());
  assertNotEquals(randomSeeded(2n ** 32n)(), randomSeeded(0n)());
});

Deno.test("randomBetween() spans from the least, included, to the most, left out", () => {
  assertEquals(randomBetween(10, 20, giving(0)), 10);
  assertEquals(randomBetween(10, 20, giving(0.5)), 15);
  assertEquals(randomBetween(-3, -3, giving(0.9)), -3);
  const most = 1 - 2 ** -32;
  assertLess(randomBetween(10, 20, giving(most)), 20);
  fc.assert(fc.property(fc.integer(), fc.integer(), fc.bigInt(), (one, other, seed) => {
    const [min, max] = [Math.min(one, other), Math.max(one, other)];
    const value = randomBetween(min, max, { prng: randomSeeded(seed) });
    assert(value >= min && (value < max || min === max));
  }));
});

Deno.test("randomBetween() refuses bounds that are not finite, or the wrong way round", () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    assertThrows(() => randomBetween(bad, 1), RangeError, "min");
    assertThrows(() => randomBetween(1, bad), RangeError, "max");
  }
  assertThrows(() => randomBetween(2, 1), RangeError, "max must be");
});

Deno.test("randomBetween() and the others draw from Math.random when left to it", () => {
  for (let index = 0; index < 100; index++) {
    const value = randomBetween(1, 2);
    assert(value >= 1 && value < 2);
    assert([1, 2].includes(randomIntegerBetween(1, 2)));
    assert([1, 2].includes(sample([1, 2])!));
    assertEquals(shuffle([1, 2]).toSorted(), [1, 2]);
  }
});

Deno.test("randomIntegerBetween() includes both bounds, and rounds them inwards", () => {
  const most = 1 - 2 ** -32;
  assertEquals(randomIntegerBetween(1, 10, giving(0)), 1);
  assertEquals(randomIntegerBetween(1, 10, giving(most)), 10);
  assertEquals(randomIntegerBetween(1.2, 3.8, giving(0)), 2);
  assertEquals(randomIntegerBetween(1.2, 3.8, giving(most)), 3);
  assertEquals(randomIntegerBetween(-5, -5, giving(most)), -5);
  assertEquals(randomIntegerBetween(1, 10, { prng: randomSeeded(1n) }), 3);
});

Deno.test("randomIntegerBetween() refuses bounds that are not finite, or the wrong way round", () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    assertThrows(() => randomIntegerBetween(bad, 1), RangeError, "must be finite");
    assertThrows(() => randomIntegerBetween(1, bad), RangeError, "must be finite");
  }
  assertThrows(() => randomIntegerBetween(3, 1), RangeError);
});

Deno.test("sample() gives an item by one draw, and undefined for no items without any", () => {
  const most = 1 - 2 ** -32;
  assertEquals(sample(["a", "b", "c"], giving(0)), "a");
  assertEquals(sample(["a", "b", "c"], giving(0.34)), "b");
  assertEquals(sample(["a", "b", "c"], giving(most)), "c");
  assertEquals(sample([], giving()), undefined);
});

Deno.test("shuffle() copies and keeps every item", () => {
  fc.assert(fc.property(fc.array(fc.integer()), fc.bigInt(), (items, seed) => {
    const frozen = Object.freeze([...items]);
    const result = shuffle(frozen, { prng: randomSeeded(seed) });
    assert(result !== frozen);
    const rising = (one: number, other: number) => one - other;
    assertEquals(result.toSorted(rising), items.toSorted(rising));
    assertEquals(result, shuffle(items, { prng: randomSeeded(seed) }));
  }));
});

Deno.test("shuffle() is Fisher's and Yates's, from the last place down", () => {
  assertEquals(shuffle(["a", "b", "c", "d"], giving(0, 0, 0)), ["b", "c", "d", "a"]);
  const most = 1 - 2 ** -32;
  assertEquals(shuffle(["a", "b", "c", "d"], giving(most, most, most)), ["a", "b", "c", "d"]);
  assertEquals(shuffle(["a", "b", "c"], giving(0.34, 0)), ["c", "a", "b"]);
  assertEquals(shuffle([], giving()), []);
  assertEquals(shuffle(["a"], giving()), ["a"]);
});
