import { assert, assertEquals, assertLess, assertNotEquals } from "@std/assert";
import { fork, forkSeed, freshSeed, hash64, type Stream } from "../../lib/base/random.ts";

function draw({ prng }: Stream, count: number): number[] {
  return Array.from({ length: count }, () => prng());
}

Deno.test("hash64() gives the same values for ever", () => {
  const golden: [string, bigint][] = [
    ["", 7013545481660001726n],
    ["a", 5897673844184789007n],
    ["toolgate", 5351521948177842551n],
    ["7\u0000core\u0000names", 13858033536687668364n],
    ["日本 🜁", 1061184777251065370n],
  ];
  for (const [text, hash] of golden) assertEquals(hash64(text), hash, JSON.stringify(text));
});

Deno.test("hash64() has 64 bits, each of which is set about half of the time", () => {
  const count = 4_000;
  const set = new Array<number>(64).fill(0);
  for (let index = 0; index < count; index++) {
    const hash = hash64(`text ${index}`);
    assert(hash >= 0n && hash < 2n ** 64n);
    for (let bit = 0; bit < 64; bit++) set[bit]! += Number((hash >> BigInt(bit)) & 1n);
  }
  // Five standard errors.
  for (const [bit, ones] of set.entries()) {
    assertLess(Math.abs(ones - count / 2), 5 * Math.sqrt(count / 4), `bit ${bit}`);
  }
});

Deno.test("hash64() tells lengths and orders apart", () => {
  const texts = ["", "\u0000", "\u0000\u0000", "ab", "ba", "a", "aa", "aaa", "ａ", "🜁", "a\u0000b"];
  assertEquals(new Set(texts.map(hash64)).size, texts.length);
});

Deno.test("fork() gives the same numbers for ever", () => {
  assertEquals(draw(fork(7, "core", "names"), 3), [
    0.4302067125681788,
    0.10640405118465424,
    0.44414812326431274,
  ]);
});

Deno.test("fork() is not moved by what another stream draws", () => {
  const alone = draw(fork(1, "core"), 10);
  const core = fork(1, "core");
  const other = fork(1, "connected");
  const mixed = Array.from({ length: 10 }, () => {
    draw(other, 3);
    return core.prng();
  });
  assertEquals(mixed, alone);
});

Deno.test("fork() separates words: joining them differently gives other streams", () => {
  const streams = [
    fork(1, "ab", "c"),
    fork(1, "a", "bc"),
    fork(1, "abc"),
    fork(11, "abc"),
    fork(1, "c", "ab"),
    fork(1, "ab", "c", ""),
  ];
  assertEquals(new Set(streams.map((stream) => stream.prng())).size, streams.length);
});

Deno.test("fork() gives streams that have nothing to do with each other", () => {
  // The correlation of neighbouring seeds and purposes, over 4,000 draws, within five errors.
  const count = 4_000;
  const pairs: [Stream, Stream][] = [
    [fork(1, "a"), fork(2, "a")],
    [fork(1, "a"), fork(1, "b")],
    [fork(0), fork(1)],
    [fork(1, "core", "names"), fork(1, "core", "values")],
  ];
  for (const [one, other] of pairs) {
    let sum = 0;
    for (let index = 0; index < count; index++) sum += (one.prng() - 0.5) * (other.prng() - 0.5);
    assertLess(Math.abs(12 * sum / count), 5 / Math.sqrt(count));
  }
});

Deno.test("fork() gives first numbers that are spread evenly over consecutive seeds", () => {
  const tenths = new Array<number>(10).fill(0);
  for (let seed = 0; seed < 10_000; seed++) tenths[Math.floor(10 * fork(seed, "first").prng())]!++;
  for (const count of tenths) assertLess(Math.abs(count - 1_000), 150);
});

Deno.test("forkSeed() is a whole number of 48 bits, the same for ever", () => {
  for (let index = 0; index < 1_000; index++) {
    const seed = forkSeed(index, "cell");
    assert(Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 48);
  }
  assertEquals(forkSeed(1, "cell", 0), 203475192689446);
  assertNotEquals(forkSeed(1, "cell", 0), forkSeed(1, "cell", 1));
});

Deno.test("freshSeed() is a whole number of 48 bits, another one each time", () => {
  const seeds = Array.from({ length: 1_000 }, freshSeed);
  assert(seeds.every((seed) => Number.isSafeInteger(seed) && seed >= 0 && seed < 2 ** 48));
  assertEquals(new Set(seeds).size, seeds.length);
  // Both halves are used: some seed is above 2^47.
  assert(seeds.some((seed) => seed >= 2 ** 47));
});
