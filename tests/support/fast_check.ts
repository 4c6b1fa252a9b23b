/**
 * `fast-check` with one seed for every property, so that tests pass or fail alike each time they run.
 *
 * `TOOLGATE_FUZZ_SEED=fresh` draws a new seed, as `deno task soak` does. A failed property prints its
 * seed and path: `TOOLGATE_FUZZ_SEED=NUMBER` repeats it, and `TOOLGATE_FUZZ_PATH`, together with
 * `--filter` for that test alone, starts at the input that failed.
 */

import fc from "fast-check";

/** The seed of all properties of a test file. */
export const SEED = seedFrom(Deno.env.get("TOOLGATE_FUZZ_SEED") ?? "1");

const PATH = Deno.env.get("TOOLGATE_FUZZ_PATH");

function seedFrom(text: string): number {
  if (text === "fresh") return crypto.getRandomValues(new Int32Array(1))[0]!;
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new TypeError(`TOOLGATE_FUZZ_SEED must be a whole number or "fresh": it is "${text}"`);
}

fc.configureGlobal({ seed: SEED, ...(PATH === undefined ? {} : { path: PATH }) });

export default fc;
