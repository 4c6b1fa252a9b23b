import { assert, assertEquals, assertLessOrEqual, assertRejects, assertThrows } from "@std/assert";
import { sample, shuffle } from "@std/random";
import { LookAhead, type LookAheadOptions } from "../../lib/runs/prefetch.ts";
import { fork } from "../../lib/base/random.ts";
import fc from "../support/fast_check.ts";

/** Lets everything that is ready to go on do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

/** Work that ends when the test says so: a piece's result is ten times its number. */
class Bench {
  readonly ahead: LookAhead<number>;
  /** The pieces that have started, in order. */
  readonly started: number[] = [];
  /** The most that ever ran at the same time. */
  most = 0;
  readonly #open = new Map<number, PromiseWithResolvers<number>>();

  constructor(count: number, options: LookAheadOptions = {}) {
    this.ahead = new LookAhead(count, (index) => {
      this.started.push(index);
      const piece = Promise.withResolvers<number>();
      this.#open.set(index, piece);
      this.most = Math.max(this.most, this.#open.size);
      return piece.promise;
    }, options);
  }

  /** The pieces that are running, in order of their numbers. */
  get running(): number[] {
    return [...this.#open.keys()].toSorted((one, other) => one - other);
  }

  async finish(...pieces: number[]): Promise<void> {
    for (const index of pieces) {
      this.#open.get(index)!.resolve(10 * index);
      this.#open.delete(index);
    }
    await settle();
  }

  async fail(index: number): Promise<void> {
    this.#open.get(index)!.reject(new Error(`piece ${index}`));
    this.#open.delete(index);
    await settle();
  }

  /** Finishes whatever runs until nothing does. */
  async finishAll(): Promise<void> {
    while (this.#open.size > 0) await this.finish(...this.running);
  }
}

function byNumber(one: number, other: number): number {
  return one - other;
}

/** Numbers from `first` on, up to before `end`. */
function range(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}

Deno.test("LookAhead.get() opens a window of four times the concurrency at once", async () => {
  const bench = new Bench(100, { concurrency: 3 });
  void bench.ahead.get(0);
  assertEquals(bench.running, [0, 1, 2]);
  // A slow first piece does not idle the others, up to the end of the window.
  for (let index = 1; index < 12; index++) await bench.finish(index);
  assertEquals(bench.running, [0]);
  assertEquals(bench.started, range(0, 12));
  void bench.ahead.get(1);
  assertEquals(bench.running, [0, 12]);
});

Deno.test("LookAhead.get() runs eight at a time unless told otherwise", () => {
  const bench = new Bench(100);
  void bench.ahead.get(0);
  assertEquals(bench.running, range(0, 8));
});

Deno.test("LookAhead.get() puts a piece that is asked for before those that are not", async () => {
  const bench = new Bench(100, { concurrency: 2 });
  void bench.ahead.get(0);
  void bench.ahead.get(50);
  await bench.finish(0);
  assertEquals(bench.running, [1, 50]);
});

Deno.test("LookAhead.get() with slowStart starts no other piece than a single one that is wanted", async () => {
  for (const only of [0, 7, 99]) {
    const bench = new Bench(100, { concurrency: 8, slowStart: true });
    const wanted = bench.ahead.get(only);
    await bench.finishAll();
    assertEquals(await wanted, 10 * only);
    assertEquals(bench.started, [only]);
  }
});

Deno.test("LookAhead.get() with slowStart uses all places from the second result on, and then doubles the window", async () => {
  const bench = new Bench(100, { concurrency: 8, slowStart: true });
  const reached: number[] = [];
  for (let index = 0; index < 6; index++) {
    void bench.ahead.get(index);
    if (index === 1) assertEquals(bench.running, range(1, 1 + 8));
    await bench.finishAll();
    reached.push(bench.ahead.started);
  }
  // Windows of 1, 8, 16, 32 and no more, each from the piece that was asked for.
  assertEquals(reached, [1, 1 + 8, 2 + 16, 3 + 32, 4 + 32, 5 + 32]);
});

Deno.test("LookAhead.get() with slowStart starts over at a gap", async () => {
  const bench = new Bench(100, { concurrency: 4, slowStart: true });
  for (let index = 0; index < 4; index++) void bench.ahead.get(index);
  await bench.finishAll();
  const before = bench.ahead.started;
  void bench.ahead.get(50);
  await bench.finishAll();
  assertEquals(bench.started.slice(before), [50]);
  void bench.ahead.get(51);
  await bench.finishAll();
  assertEquals(bench.started.slice(before), range(50, 55));
});

Deno.test("LookAhead.get() with slowStart wastes nothing when every other piece is wanted", async () => {
  const bench = new Bench(100, { concurrency: 8, slowStart: true });
  for (let index = 0; index < 100; index += 2) {
    void bench.ahead.get(index);
    await bench.finishAll();
  }
  assertEquals(bench.ahead.started, 50);
});

Deno.test("LookAhead.get() with slowStart opens fully at a backward jump, for good", async () => {
  const bench = new Bench(100, { concurrency: 2, slowStart: true });
  void bench.ahead.get(60);
  await bench.finishAll();
  assertEquals(bench.started, [60]);
  void bench.ahead.get(10);
  await bench.finishAll();
  assertEquals(bench.started, [60, ...range(10, 18)]);
  void bench.ahead.get(40);
  await bench.finishAll();
  // What was passed by is looked at again, up to the end of the window.
  assertEquals(bench.started.toSorted((one, other) => one - other), [...range(10, 48), 60]);
});

Deno.test("LookAhead.get() takes work that throws at once for work that fails, and goes on", async () => {
  const ahead = new LookAhead(5, (index) => {
    if (index % 2 === 1) throw new Error(`at once ${index}`);
    return Promise.resolve(index);
  }, { concurrency: 1 });
  assertEquals(await ahead.get(0), 0);
  await assertRejects(() => ahead.get(1), Error, "at once 1");
  assertEquals(await ahead.get(4), 4);
});

Deno.test("LookAhead.all() after some pieces were asked for runs the others, and none again", async () => {
  for (const asked of [[0], [7], [29], [5, 6, 20, 3], range(0, 30)]) {
    for (
      const [slowStart, inOrder] of [[false, false], [true, false], [false, true], [true, true]]
    ) {
      const bench = new Bench(30, { concurrency: 4, slowStart: slowStart!, inOrder: inOrder! });
      for (const index of asked) void bench.ahead.get(index);
      await bench.finishAll();
      const all = bench.ahead.all();
      await settle();
      await bench.finishAll();
      assertEquals(await all, range(0, 30).map((index) => 10 * index));
      assertEquals(bench.started.toSorted((one, other) => one - other), range(0, 30));
    }
  }
});

Deno.test("LookAhead.all() with slowStart runs at full speed", () => {
  const bench = new Bench(30, { concurrency: 4, slowStart: true });
  void bench.ahead.all();
  assertEquals(bench.running, [0, 1, 2, 3]);
});

Deno.test("LookAhead.all() fails with the first failure in order", async () => {
  const bench = new Bench(6, { concurrency: 6 });
  const all = bench.ahead.all();
  const failed = assertRejects(() => all, Error, "piece 2");
  await bench.fail(4);
  await bench.fail(2);
  await bench.finish(0, 1, 3, 5);
  await failed;
});

Deno.test("LookAhead.forget() lets go of a result; it is never worked out again", async () => {
  const bench = new Bench(10, { concurrency: 2 });
  void bench.ahead.get(0);
  await bench.finishAll();
  const { started } = bench.ahead;
  bench.ahead.forget(0);
  bench.ahead.forget(0);
  assertEquals(bench.ahead.started, started);
  assertThrows(() => bench.ahead.get(0), Error, "Cannot get the result of 0 as it was forgotten");
  void bench.ahead.get(9);
  void bench.ahead.get(1);
  await bench.finishAll();
  assertEquals(bench.started.filter((index) => index === 0).length, 1);
});

Deno.test("LookAhead.forget() of a piece that waits for its turn does not stop the others", async () => {
  // A rejection that nobody handles fails the test.
  const bench = new Bench(3, { concurrency: 1 });
  void bench.ahead.get(0);
  void bench.ahead.get(1);
  const wanted = bench.ahead.get(2);
  bench.ahead.forget(1);
  await bench.finish(0);
  await new Promise((resolve) => setTimeout(resolve, 0));
  await bench.finishAll();
  assertEquals(bench.started.includes(2), true);
  assertEquals(await wanted, 20);
});

Deno.test("LookAhead.get() keeps its promises whatever the order of requests", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 6 }),
      fc.boolean(),
      fc.boolean(),
      fc.nat(),
      async (count, concurrency, slowStart, inOrder, seed) => {
        const stream = fork(seed, "orders");
        const bench = new Bench(count, { concurrency, slowStart, inOrder });
        const wanted = new Map<number, Promise<number>>();
        const failing = new Set<number>();
        for (const index of shuffle(range(0, count), stream)) {
          if (stream.prng() < 0.3) continue;
          wanted.set(index, bench.ahead.get(index));
          assertLessOrEqual(bench.running.length, concurrency);
          while (bench.running.length > 0 && stream.prng() < 0.6) {
            const { running } = bench;
            const piece = sample(running, stream)!;
            if (stream.prng() < 0.2) {
              failing.add(piece);
              await bench.fail(piece);
            } else {
              await bench.finish(piece);
            }
          }
        }
        await bench.finishAll();
        for (const [index, promise] of wanted) {
          const result = await promise.catch((error) => (error as Error).message);
          assertEquals(result, failing.has(index) ? `piece ${index}` : 10 * index);
        }
        assertEquals(new Set(bench.started).size, bench.started.length);
        assert(bench.started.every((index) => index >= 0 && index < count));
        assertLessOrEqual(bench.most, concurrency);
        if (inOrder && !slowStart) assertEquals(bench.started, bench.started.toSorted(byNumber));
      },
    ),
    { numRuns: 400 },
  );
});

Deno.test("LookAhead.get() with inOrder starts what comes before, whatever is asked for", async () => {
  const bench = new Bench(100, { concurrency: 3, inOrder: true });
  const wanted = bench.ahead.get(50);
  assertEquals(bench.running, [0, 1, 2]);
  await bench.finish(1);
  assertEquals(bench.started, [0, 1, 2, 3]);
  await bench.finishAll();
  assertEquals(await wanted, 500);
  // The window reaches from the furthest piece that was asked for.
  assertEquals(bench.started, range(0, 62));
});

Deno.test("LookAhead.get() with inOrder starts a filtered piece alone, until requests are shuffled", async () => {
  const bench = new Bench(100, { concurrency: 2, slowStart: true, inOrder: true });
  void bench.ahead.get(60);
  await bench.finishAll();
  assertEquals(bench.started, [60]);
  // A request before it can only come from a shuffle: from now on the order of the pieces holds.
  const wanted = bench.ahead.get(10);
  assertEquals(bench.running, [0, 1]);
  await bench.finishAll();
  assertEquals(await wanted, 100);
  assertEquals(bench.started, [60, ...range(0, 60), ...range(61, 68)]);
  void bench.ahead.get(90);
  await bench.finishAll();
  assertEquals(bench.started, [60, ...range(0, 60), ...range(61, 98)]);
});

Deno.test("LookAhead.all() with inOrder runs what was passed by, in order", async () => {
  // A filter has chosen some pieces and, at last, anyone who wants all of them.
  const bench = new Bench(12, { concurrency: 2, slowStart: true, inOrder: true });
  for (const index of [3, 7]) void bench.ahead.get(index);
  await bench.finishAll();
  const before = bench.started.length;
  const all = bench.ahead.all();
  while (bench.running.length > 0) await bench.finishAll();
  assertEquals(await all, range(0, 12).map((index) => 10 * index));
  assertEquals(bench.started.slice(before), bench.started.slice(before).toSorted(byNumber));
});
