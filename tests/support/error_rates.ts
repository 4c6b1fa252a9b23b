/**
 * Simulations of how often gates err. A run of the tests draws a tenth of the gates, `deno task soak` all of
 * them (`TOOLGATE_FUZZ_RUNS=10`); bounds follow from the number. Draws have seeds of their own, so that a
 * simulation ends alike each time.
 */

import fc from "./fast_check.ts";

/** How many gates are drawn of a simulation that has so many in all. */
export function drawsOf(all: number): number {
  return fc.runsOf(all / 10);
}

/** Three standard errors of a share among so many draws: what chance alone may add, but for one time in 700. */
export function noiseOf(share: number, draws: number): number {
  return 3 * Math.sqrt(share * (1 - share) / draws);
}
