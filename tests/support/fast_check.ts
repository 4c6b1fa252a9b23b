/**
 * `fast-check` as these tests use it: with one seed, and a number of runs that one variable multiplies.
 *
 * Every property draws from the same seed, so that tests pass or fail alike each time they run. A run of the tests
 * checks a fifth of the inputs that a property names; `TOOLGATE_FUZZ_RUNS=1` checks all of them, and
 * `TOOLGATE_FUZZ_RUNS=10` ten times as many. `TOOLGATE_FUZZ_SEED=fresh` draws a new seed: `deno task soak` does both.
 * A failed property prints its seed and path: `TOOLGATE_FUZZ_SEED=NUMBER` repeats it, and `TOOLGATE_FUZZ_PATH`,
 * together with `--filter` for that test alone, starts at the input that failed.
 */

import * as fc from "fast-check";

export * from "fast-check";
// What this module exports, as `fc` in each file of tests.
export * as default from "./fast_check.ts";

/** The seed of all properties of a test file. */
export const SEED = seedFrom(Deno.env.get("TOOLGATE_FUZZ_SEED") ?? "1");

const PATH = Deno.env.get("TOOLGATE_FUZZ_PATH");

/** How many times as many inputs as usual each property is checked with. */
const TIMES = Number(Deno.env.get("TOOLGATE_FUZZ_RUNS") ?? 1);

/** Whether tests that count all cases count each of them, which takes long: as `deno task soak` does. */
export const IS_SOAK = TIMES >= 10;

function seedFrom(text: string): number {
  if (text === "fresh") return crypto.getRandomValues(new Int32Array(1))[0]!;
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new TypeError(`TOOLGATE_FUZZ_SEED must be a whole number or "fresh": it is "${text}"`);
}

fc.configureGlobal({ seed: SEED, ...(PATH === undefined ? {} : { path: PATH }) });

/** The number of runs of a property that usually has `runs`. */
export function runsOf(runs = 100): number {
  return Math.max(1, Math.round(runs * TIMES));
}

/** The share of a property's inputs that a run of the tests checks. */
const SHARE = Deno.env.has("TOOLGATE_FUZZ_RUNS") ? 1 : 0.2;

/** Checks a property with some of the inputs that it names. */
export const assert: typeof fc.assert = checkedWith(SHARE);

/** Checks a property with all inputs that it names: for those that count what they have come across. */
export const assertAll: typeof fc.assert = checkedWith(1);

function checkedWith(share: number): typeof fc.assert {
  return ((property, params) =>
    fc.assert(property as fc.IAsyncProperty<unknown>, {
      ...params as fc.Parameters<unknown>,
      numRuns: runsOf(share * (params?.numRuns ?? 100)),
    })) as typeof fc.assert;
}

const SURROGATES = 0x800;

/**
 * Any character, for `fc.string({ unit: fc.character() })`. The library's own `"binary"` is the same,
 * but takes a second before its first text.
 */
export function character(): fc.Arbitrary<string> {
  return fc.nat({ max: 0x10ffff - SURROGATES }).map(
    (place) => String.fromCodePoint(place < 0xd800 ? place : place + SURROGATES),
    (text) => {
      const point = typeof text === "string" ? text.codePointAt(0) : undefined;
      if (point === undefined || text !== String.fromCodePoint(point)) {
        throw new TypeError("no unit");
      }
      return point < 0xd800 ? point : point - SURROGATES;
    },
  );
}
