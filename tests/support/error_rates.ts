/**
 * Simulations of how often gates err. A run of the tests draws a tenth of the gates, `deno task soak` all of
 * them (`TOOLGATE_FUZZ_RUNS=10`); bounds follow from the number. Draws have seeds of their own, so that a
 * simulation ends alike each time.
 */

import { binomialProbability } from "../../lib/statistics/distributions.ts";
import fc from "./fast_check.ts";

/** How many gates are drawn of a simulation of `all` gates. */
export function drawsOf(all: number): number {
  return fc.runsOf(all / 10);
}

/** Three standard errors of a share among `draws` draws: what chance alone may add, but for one time in 700. */
export function noiseOf(share: number, draws: number): number {
  return 3 * Math.sqrt(share * (1 - share) / draws);
}

/**
 * Returns the number of successes that a random `place`, even in [0, 1), stands for: places are cut into the
 * probabilities of counts, from the likeliest one outwards, so that few of them are computed.
 */
export function binomialDraw(place: number, trials: number, rate: number): number {
  const mode = Math.min(trials, Math.floor((trials + 1) * rate));
  const most = binomialProbability(mode, trials, rate);
  const odds = rate / (1 - rate);
  let [low, high, below, above] = [mode, mode, most, most];
  let left = place - most;
  while (left >= 0 && (below > NEGLIGIBLE || above > NEGLIGIBLE)) {
    above *= high < trials ? (trials - high) / (high + 1) * odds : 0;
    left -= above;
    high++;
    if (left < 0) return high;
    below *= low > 0 ? low / (trials - low + 1) / odds : 0;
    left -= below;
    low--;
    if (left < 0) return low;
  }
  // What is left is a rounding error.
  return mode;
}

/** Probabilities that are smaller than this are those of no count that is ever drawn. */
const NEGLIGIBLE = 1e-20;
