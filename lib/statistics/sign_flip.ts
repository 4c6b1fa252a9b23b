/**
 * The sign-flip test: whether differences on the same graphs could as well have had the other sign.
 * @module
 */

import { sum } from "./distributions.ts";
import { assertCounts } from "./proportions.ts";

/** Successes and trials of one of two models on a graph. */
export type Tally = readonly [successes: number, trials: number];

/** The result of {@linkcode signFlip}. */
export interface SignFlip {
  /** The two-sided p-value of "there is no difference"; never 0. */
  readonly p: number;
  /** The number of draws that estimate it; omitted where it is exact. */
  readonly sampled?: number;
}

/** The number of draws that estimate a p-value. */
const DRAWS = 99_999;

/**
 * Returns the p-value of "there is no difference" from the tallies of two models on each graph: the probability of a
 * sum of differences of their rates at least as far from 0. Where both have as many trials of a graph, its difference
 * may as well have the other sign. Elsewhere a flipped sign would not do, as the difference is not symmetric; there
 * the trials of the graph are dealt to both anew. With one trial of both on each graph it is McNemar's exact test.
 *
 * It is exact, by the distribution of sums on the lattice of a common denominator, where that is small enough. Else
 * `p` is (1 + b) / (1 + B) of B draws, b of which have such a sum: also a valid p-value.
 *
 * @param random Returns numbers from 0 to less than 1, for draws.
 * @param options.exactly The additions that an exact value may take; above that, it is drawn.
 * @throws {RangeError} If a tally is not of whole numbers with 0 <= successes <= trials and trials >= 1.
 * @see Fisher, "The Design of Experiments", 1935, section 21, for signs; Pitman, "Significance Tests Which May be
 * Applied to Samples from any Populations", 1937, for trials dealt anew.
 * @see Phipson and Smyth, "Permutation P-values Should Never Be Zero", Statistical Applications in Genetics and
 * Molecular Biology 9:39, 2010, for draws.
 */
export function signFlip(
  graphs: readonly (readonly [one: Tally, other: Tally])[],
  random: () => number,
  { exactly = 20_000_000 }: { readonly exactly?: number } = {},
): SignFlip {
  for (const tally of graphs.flat()) assertCounts("compare pairs", ...tally);
  const unit = commonDenominator(graphs);
  const changing = graphs.map(([one, other]) => chancesOf(one, other, unit ?? 1))
    .filter(({ points }) => points.length > 1);
  if (changing.length === 0) return { p: 1 };
  const observed = Math.abs(sum(changing, (graph) => graph.observed));
  const additions = sum(changing, ({ points }) => points.length) *
    sum(changing, ({ points }) => points.at(-1)![0] - points[0]![0]) / 2;
  return unit !== undefined && additions <= exactly
    ? { p: exactTail(changing, observed) }
    : { p: drawnTail(changing, observed, random), sampled: DRAWS };
}

/** Returns a unit in which all differences are whole numbers; `undefined` if that is too small to be of use. */
function commonDenominator(graphs: readonly (readonly Tally[])[]): number | undefined {
  const divisor = (one: number, other: number): number =>
    other === 0 ? one : divisor(other, one % other);
  let common = 1;
  for (const trials of new Set(graphs.flat().map(([, trials]) => trials))) {
    common *= trials / divisor(common, trials);
    if (common > 2 ** 30) return undefined;
  }
  return common;
}

/** The differences that a graph may have, from the lowest, each with its probability, and the one that it has. */
interface Chances {
  readonly points: readonly (readonly [difference: number, chance: number])[];
  readonly observed: number;
}

function chancesOf(
  [own, trials]: Tally,
  [others, otherTrials]: Tally,
  unit: number,
): Chances {
  const all = own + others;
  const difference = (count: number) => count * unit / trials - (all - count) * unit / otherTrials;
  const observed = difference(own);
  if (trials === otherTrials) {
    const size = Math.abs(observed);
    return { points: size === 0 ? [[0, 1]] : [[-size, 0.5], [size, 0.5]], observed };
  }
  // The hypergeometric distribution, in logarithms as its terms may be huge.
  const least = Math.max(0, all - otherTrials);
  const logs = [0];
  for (let count = least; count < Math.min(all, trials); count++) {
    const ratio = (trials - count) * (all - count) /
      ((count + 1) * (otherTrials - all + count + 1));
    logs.push(logs.at(-1)! + Math.log(ratio));
  }
  const largest = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - largest));
  const total = sum(weights, (weight) => weight);
  return {
    points: weights.map((weight, place) => [difference(least + place), weight / total]),
    observed,
  };
}

/** Returns the chance of a sum at least `observed` away from 0, of differences that are whole numbers. */
function exactTail(graphs: readonly Chances[], observed: number): number {
  const lowest = sum(graphs, ({ points }) => points[0]![0]);
  const highest = sum(graphs, ({ points }) => points.at(-1)![0]);
  const chances = new Float64Array(highest - lowest + 1);
  chances[0] = 1;
  let reached = 0;
  for (const { points } of graphs) {
    const [first] = points[0]!;
    for (let place = reached; place >= 0; place--) {
      const chance = chances[place]!;
      if (chance === 0) continue;
      chances[place] = 0;
      for (const [difference, share] of points) {
        chances[place + difference - first]! += chance * share;
      }
    }
    reached += points.at(-1)![0] - first;
  }
  const tail = chances.reduce(
    (total, chance, place) => Math.abs(lowest + place) >= observed ? total + chance : total,
    0,
  );
  // A chance of less than 2 ** -1074 is rounded to 0.
  return Math.max(Number.MIN_VALUE, Math.min(1, tail));
}

/** Estimates the same from draws. */
function drawnTail(
  graphs: readonly Chances[],
  observed: number,
  random: () => number,
): number {
  const [flipped, dealt] = [graphs.filter(isFlipped), graphs.filter((one) => !isFlipped(one))];
  // Of equal sizes only the number of those with a minus matters: 32 signs are drawn at a time.
  const sizes = [...Map.groupBy(flipped, ({ points }) => points[1]![0])]
    .map(([size, own]) => [size, own.length] as const);
  const all = sum(flipped, ({ points }) => points[1]![0]);
  // Differences that are no whole numbers may add up to the same but for a rounding error.
  const least = observed * (1 - 1e-12) - 1e-12;
  let extreme = 1;
  for (let drawn = 0; drawn < DRAWS; drawn++) {
    let total = all;
    for (const [size, count] of sizes) {
      for (let left = count; left > 0; left -= 32) {
        const signs = Math.floor(random() * 2 ** 32) >>> (left < 32 ? 32 - left : 0);
        total -= 2 * size * bitsIn(signs);
      }
    }
    for (const { points } of dealt) {
      let left = random();
      total += (points.find(([, share]) => (left -= share) < 0) ?? points.at(-1)!)[0];
    }
    if (Math.abs(total) >= least) extreme++;
  }
  return extreme / (1 + DRAWS);
}

/** Whether a graph has a difference or its opposite, each as likely. */
function isFlipped({ points: [one, other, ...more] }: Chances): boolean {
  return more.length === 0 && one![0] === -other![0] && one![1] === other![1];
}

/** Returns how many bits of a 32-bit number are set. */
function bitsIn(bits: number): number {
  let count = bits - ((bits >>> 1) & 0x55555555);
  count = (count & 0x33333333) + ((count >>> 2) & 0x33333333);
  return Math.imul((count + (count >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
