// Sums of bets against a drop of a rate: simulations of years for each claim, each beside a wrong rule that breaks
// it, so that the test is seen to tell them apart.
// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
} from "@std/assert";
import type { Prng } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { driftStakes, DriftSum, driftThreshold } from "../../lib/statistics/drift.ts";
import { binomialDraw, drawsOf, noiseOf } from "../support/error_rates.ts";

const YEARS = drawsOf(10_000);
const DAYS = 365;
const ERROR = 0.05;
/** What chance alone may add. */
const NOISE = noiseOf(ERROR, YEARS);

const [RATE, NULL_RATE] = [0.9, 0.88];
const STAKES = driftStakes(NULL_RATE, RATE, 0.05);

/** Solved and failed trials of a day; `undefined` for a day without a sample. */
type Draw = (prng: Prng) => readonly [solved: number, failed: number] | undefined;

/** Draws how many of `trials` trials of one rate are solved. */
const binomialDraws = (trials: number, rate: number) => (prng: Prng) =>
  binomialDraw(prng(), trials, rate);

/** Draws days of `trials` trials of one rate. */
function sample(trials: number, rate: number): Draw {
  const draw = binomialDraws(trials, rate);
  return (prng) => {
    const solved = draw(prng);
    return [solved, trials - solved];
  };
}

/** The largest sum within one year. */
function largestSum(prng: Prng, draw: Draw): number {
  const watched = new DriftSum(NULL_RATE, STAKES);
  let largest = 0;
  for (let day = 0; day < DAYS; day++) {
    const drawn = draw(prng);
    if (drawn === undefined) continue;
    const [solved, failed] = drawn;
    largest = Math.max(largest, watched.add([[1, solved], [0, failed]]));
  }
  return largest;
}

/** The largest sums of simulated years. */
function years(purpose: string, draw: Draw): number[] {
  const { prng } = fork(1, "drift", purpose);
  return Array.from({ length: YEARS }, () => largestSum(prng, draw));
}

function shareAbove(sums: readonly number[], threshold: number): number {
  return sums.filter((sum) => sum >= threshold).length / sums.length;
}

Deno.test("DriftSum raises a false alarm in at most 5% of years at the lowest rate that is no drift, as a threshold of 365 does not", () => {
  for (const trials of [5, 50]) {
    const sums = years(`${trials} a day`, sample(trials, NULL_RATE));
    const error = shareAbove(sums, driftThreshold());
    assertLessOrEqual(error, ERROR + NOISE, `${trials}`);
    // It is not for want of betting.
    assertGreater(error, 0.005, `${trials}`);
    assertGreater(shareAbove(sums, DAYS), 2 * ERROR, `${trials}`);
  }
});

Deno.test("DriftSum raises a false alarm in at most 5% of years over cells of unequal difficulty, as it does not where the hard cell has more trials than the easy one", () => {
  const [easy, hard] = [0.98, 2 * NULL_RATE - 0.98].map((rate) => binomialDraws(25, rate)) as [
    (random: Prng) => number,
    (random: Prng) => number,
  ];
  const sums = years("unequal cells", (prng) => {
    const solved = easy(prng) + hard(prng);
    return [solved, 50 - solved];
  });
  assertLessOrEqual(shareAbove(sums, driftThreshold()), ERROR + NOISE);
  // The wrong way: not in whole blocks, so that the hard cell has more trials than the easy one.
  const [few, more] = [binomialDraws(20, 0.98), binomialDraws(30, 2 * NULL_RATE - 0.98)];
  const odd = years("unequal cells, half blocks", (prng) => {
    const solved = few(prng) + more(prng);
    return [solved, 50 - solved];
  });
  assertGreater(shareAbove(odd, driftThreshold()), 2 * ERROR);
});

Deno.test("DriftSum raises a false alarm in at most 5% of years with gaps and samples of varying sizes", () => {
  const draws = [10, 30, 100, 150].map((trials) => sample(trials, NULL_RATE));
  const sums = years("gaps", (prng) => {
    const place = prng();
    // A quarter of the days has no sample.
    return place < 0.25 ? undefined : draws[Math.floor(4 * prng())]!(prng);
  });
  assertLessOrEqual(shareAbove(sums, driftThreshold()), ERROR + NOISE);
});

Deno.test("DriftSum finds a drop from 90% to 85% within about what a single bet on it takes", () => {
  const { prng } = fork(1, "drift", "delay");
  const stakes = driftStakes(0.9, 0.9, 0.05);
  const threshold = driftThreshold();
  // A single bet on it takes the logarithm of the threshold over the divergence of the two rates.
  const delay = 727;
  for (const [trials, least, most] of [[1, 0.4, 0.5], [50, 0.9, 1.1], [200, 1.1, 1.4]] as const) {
    const draw = binomialDraws(trials, 0.85);
    let total = 0;
    for (let drop = 0; drop < 150; drop++) {
      const watched = new DriftSum(0.9, stakes);
      while (watched.sum < threshold) {
        const solved = draw(prng);
        watched.add([[1, solved], [0, trials - solved]]);
        total += trials;
      }
    }
    // Many short days start more bets; a long one is paid for as a whole.
    assertGreater(total / 150, least * delay, `${trials}`);
    assertLess(total / 150, most * delay, `${trials}`);
  }
});

/** All products, from each start day to now, without a recursion: as the definition has it. */
function byDefinition(days: readonly (readonly number[])[]) {
  const products = days.map((_, start) =>
    STAKES.reduce((sum, { weight, lambda }) => {
      let product = weight;
      for (const value of days.slice(start).flat()) product *= 1 + lambda * (NULL_RATE - value);
      return sum + product;
    }, 0)
  );
  return {
    sum: products.reduce((sum, product) => sum + product, 0),
    start: products.indexOf(Math.max(...products)),
  };
}

Deno.test("DriftSum is the sum of the products since each day, and starts where that product is largest", () => {
  const { prng } = fork(1, "drift", "definition");
  for (let run = 0; run < 15; run++) {
    const watched = new DriftSum(NULL_RATE, STAKES);
    const days: number[][] = [];
    const drop = Math.floor(30 * prng());
    for (let day = 0; day < 30; day++) {
      // Means of several trials as well as single ones; some days have none.
      const values = Array.from({ length: Math.floor(8 * prng()) }, () => {
        const trials = 1 + Math.floor(3 * prng());
        let solved = 0;
        for (let trial = 0; trial < trials; trial++) {
          if (prng() < (day < drop ? 0.9 : 0.6)) solved++;
        }
        return solved / trials;
      });
      days.push(values);
      const sum = watched.add(values.map((value) => [value, 1]));
      const naive = byDefinition(days);
      assertAlmostEquals(sum / naive.sum, 1, 1e-9);
      assertEquals(watched.sum, sum);
    }
    const { start } = byDefinition(days);
    // A day without values is as good a start as the next one.
    const later = days.findIndex((values, day) => day >= start && values.length > 0);
    if (later >= 0) assertEquals(watched.start, later);
    assertEquals(watched.days, 30);
  }
});

Deno.test("DriftSum takes a value as often as it occurs", () => {
  const [one, other] = [new DriftSum(NULL_RATE, STAKES), new DriftSum(NULL_RATE, STAKES)];
  one.add([[1, 2], [0, 1], [0.5, 2]]);
  other.add([[1, 1], [0.5, 1], [0, 1], [1, 1], [0.5, 1]]);
  assertAlmostEquals(one.sum, other.sum, 1e-12);
});

Deno.test("DriftSum stays finite however long a drop lasts, and still knows when it began", () => {
  const watched = new DriftSum(NULL_RATE, STAKES);
  for (let day = 0; day < 5; day++) watched.add([[1, 100]]);
  for (let day = 0; day < 1_000; day++) watched.add([[0, 1_000]]);
  assert(Number.isFinite(watched.sum));
  assertEquals(watched.start, 5);
  for (let day = 0; day < 10; day++) watched.add([[1, 100_000]]);
  assert(watched.sum >= 0 && watched.sum < 1);
});

Deno.test("driftStakes() leaves out drops that are none, and gives half of the weight to the planned one", () => {
  // 87.5% and 85% are below 88%, and so are 80% and 70%.
  const all = driftStakes(0.88, 0.9, 0.05);
  assertEquals(all.map(({ weight }) => weight), [0.5 / 3, 0.5, 0.5 / 3, 0.5 / 3]);
  // The planned drop is none.
  assertEquals(driftStakes(0.84, 0.9, 0.05).map(({ weight }) => weight), [0.5, 0.5]);
  // Nothing is left to share: rates of 0 and below are no alternatives.
  assertEquals(driftStakes(0.09, 0.1, 0.06).map(({ weight }) => weight), [0.5, 0.5]);
  assertEquals(driftStakes(0.055, 0.1, 0.06).map(({ weight }) => weight), [1]);
  assertEquals(driftStakes(0.5, 0.9, 0.05), []);
  // The stake grows fastest at the rate it is for: there it is Kelly's.
  for (const [place, rate] of [0.875, 0.85, 0.8, 0.7].entries()) {
    const growth = (lambda: number) =>
      rate * Math.log1p(lambda * (0.88 - 1)) + (1 - rate) * Math.log1p(lambda * 0.88);
    const { lambda } = all[place]!;
    assertGreater(growth(lambda), growth(0.99 * lambda));
    assertGreater(growth(lambda), growth(1.01 * lambda));
  }
});

Deno.test("driftThreshold() is a year's days over the error, for each model", () => {
  assertEquals(driftThreshold(), 7_300);
  assertEquals(driftThreshold(365, 0.05, 3), 21_900);
  assertEquals(driftThreshold(100, 0.1), 1_000);
});
