import {
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { type Prng, randomIntegerBetween, shuffle } from "@std/random";
import fc from "fast-check";
import { fork } from "../lib/random.ts";
import {
  bettingLowerBound,
  binomialProbability,
  binomialUpperTail,
  clopperPearson,
  clusteredStandardError,
  normalCumulative,
  normalQuantile,
  wilson,
} from "../lib/statistics.ts";
import { test } from "./support/generated.ts";

/** Relative closeness, for numbers of any size. */
function assertRelative(actual: number, expected: number, tolerance: number, message = ""): void {
  assertLessOrEqual(Math.abs(actual - expected), tolerance * Math.abs(expected), message);
}

/** `numerator / denominator`, by whole numbers to 600 binary places. */
function ratio(numerator: bigint, denominator: bigint): number {
  return Number((numerator << 600n) / denominator) / 2 ** 600;
}

/** n over k, exactly. */
function choose(n: number, k: number): bigint {
  let result = 1n;
  for (let index = 1; index <= k; index++) {
    result = result * BigInt(n - k + index) / BigInt(index);
  }
  return result;
}

/** The chance of exactly `k` of `n` at a rate of `part / whole`, exactly, times `whole ** n`. */
function exactTerm(k: number, n: number, part: number, whole: number): bigint {
  return choose(n, k) * BigInt(part) ** BigInt(k) * BigInt(whole - part) ** BigInt(n - k);
}

/** The most misses that `draws` draws at a rate of `nominal` come to, but for one run in 700. */
function mostMisses(draws: number, nominal = 0.05): number {
  return nominal + 3 * Math.sqrt(nominal * (1 - nominal) / draws);
}

test("binomialProbability() agrees with exact rational arithmetic for every count up to 30", () => {
  for (const n of [1, 2, 5, 15, 16, 17, 30]) {
    for (const part of [1, 37, 50, 70, 99]) {
      for (let k = 0; k <= n; k++) {
        const exact = ratio(exactTerm(k, n, part, 100), 100n ** BigInt(n));
        assertRelative(binomialProbability(k, n, part / 100), exact, 1e-12, `${k}/${n} ${part}%`);
      }
    }
  }
});

test("binomialProbability() keeps its accuracy at 100,000 trials", () => {
  // Computed with 50 digits.
  assertRelative(binomialProbability(70_000, 100_000, 0.7), 0.002752954648397428, 1e-11);
  assertRelative(binomialProbability(70_500, 100_000, 0.7), 7.0553588345605843e-6, 1e-11);
  assertRelative(binomialProbability(50, 100_000, 0.001), 1.2082375507591488e-8, 1e-11);
});

test("binomialProbability() is certain at the rates 0 and 1", () => {
  assertEquals([0, 1, 5].map((k) => binomialProbability(k, 5, 0)), [1, 0, 0]);
  assertEquals([0, 4, 5].map((k) => binomialProbability(k, 5, 1)), [0, 0, 1]);
});

test("binomialProbability() sums to 1", () => {
  for (const [n, rate] of [[7, 0.3], [100, 0.9], [1_000, 0.05]] as const) {
    let sum = 0;
    for (let k = 0; k <= n; k++) sum += binomialProbability(k, n, rate);
    assertAlmostEquals(sum, 1, 1e-11);
  }
});

test("binomialUpperTail() agrees with exact rational sums for every count up to 40", () => {
  for (const n of [1, 2, 3, 10, 17, 25, 40]) {
    for (const part of [1, 5, 30, 50, 70, 95, 99]) {
      let sum = 0n;
      for (let k = n; k >= 0; k--) {
        sum += exactTerm(k, n, part, 100);
        const exact = ratio(sum, 100n ** BigInt(n));
        assertRelative(binomialUpperTail(k, n, part / 100), exact, 1e-11, `${k}/${n} ${part}%`);
      }
    }
  }
});

test("binomialUpperTail() agrees with values computed with 50 digits", () => {
  assertRelative(binomialUpperTail(70_000, 100_000, 0.7), 0.50156000591726423, 1e-11);
  assertRelative(binomialUpperTail(70_500, 100_000, 0.7), 2.7829005410071818e-4, 1e-10);
  assertRelative(binomialUpperTail(50, 100_000, 0.001), 0.99999998837054888, 1e-12);
  assertRelative(binomialUpperTail(960, 1_000, 0.95), 0.080636573256691158, 1e-11);
});

test("binomialUpperTail() is certain where nothing is left to chance", () => {
  assertEquals(binomialUpperTail(0, 10, 0), 1);
  assertEquals(binomialUpperTail(-1, 10, 0.5), 1);
  assertEquals(binomialUpperTail(11, 10, 0.5), 0);
  assertEquals(binomialUpperTail(1, 10, 0), 0);
  assertEquals(binomialUpperTail(10, 10, 1), 1);
});

test("clopperPearson() agrees with values computed with 50 digits", () => {
  const golden: [number, number, number, number, number][] = [
    [8, 10, 0.975, 0.443904537692358, 0.974789273673167],
    [0, 10, 0.975, 0, 0.308497107818761],
    [1, 1, 0.95, 0.05, 1],
    [3, 7, 0.95, 0.128756392804243, 0.774678415967552],
    [15, 20, 0.95, 0.544417595998251, 0.895919164089864],
    [47, 50, 0.95, 0.852162823635819, 0.983448140810769],
    [160, 200, 0.95, 0.747750467991785, 0.845449012333131],
    [1, 1_000, 0.975, 2.5317487491294e-5, 0.00555892427982667],
    [672, 960, 0.95, 0.674716892496385, 0.7243697700178],
    [9_000, 10_000, 0.99, 0.89281191347641, 0.906869767086595],
  ];
  for (const [successes, trials, confidence, lower, upper] of golden) {
    const bounds = clopperPearson(successes, trials, confidence);
    assertAlmostEquals(bounds.lower, lower, 1e-12, `${successes} of ${trials}`);
    assertAlmostEquals(bounds.upper, upper, 1e-12, `${successes} of ${trials}`);
  }
});

test("clopperPearson() has the closed forms of no success and of nothing but successes", () => {
  for (const trials of [1, 2, 10, 59, 1_000, 100_000]) {
    for (const confidence of [0.9, 0.95, 0.999]) {
      const none = clopperPearson(0, trials, confidence);
      const all = clopperPearson(trials, trials, confidence);
      const root = (1 - confidence) ** (1 / trials);
      assertEquals([none.lower, all.upper], [0, 1]);
      assertAlmostEquals(all.lower, root, 1e-12);
      assertRelative(none.upper, -Math.expm1(Math.log(1 - confidence) / trials), 1e-10);
    }
  }
});

test("clopperPearson() puts exactly the error into the tail at each bound, up to 100,000", () => {
  const stream = fork(1, "tails");
  for (const trials of [2, 3, 10, 100, 999, 10_000, 100_000]) {
    const counts = [1, Math.floor(trials / 2), trials - 1];
    for (let more = 0; more < 6; more++) counts.push(randomIntegerBetween(1, trials - 1, stream));
    for (const successes of counts) {
      for (const confidence of [0.9, 0.95, 0.99]) {
        const { lower, upper } = clopperPearson(successes, trials, confidence);
        const message = `${successes} of ${trials} at ${confidence}`;
        const above = binomialUpperTail(successes, trials, lower);
        const below = binomialUpperTail(trials - successes, trials, 1 - upper);
        assertRelative(above, 1 - confidence, 1e-9, message);
        assertRelative(below, 1 - confidence, 1e-9, message);
      }
    }
  }
});

test("clopperPearson() mirrors its bounds when successes and failures change places", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3_000 }).chain((n) => fc.tuple(fc.nat({ max: n }), fc.constant(n))),
      fc.double({ min: 0.51, max: 0.999, noNaN: true }),
      ([k, n], confidence) => {
        const one = clopperPearson(k, n, confidence);
        const other = clopperPearson(n - k, n, confidence);
        assertAlmostEquals(one.lower, 1 - other.upper, 1e-14);
        assertAlmostEquals(one.upper, 1 - other.lower, 1e-14);
      },
    ),
    { numRuns: 150, seed: 1 },
  );
});

test("clopperPearson() grows with successes, and contains the rate", () => {
  for (const n of [1, 2, 13, 60]) {
    let [lower, upper] = [-1, -1];
    for (let k = 0; k <= n; k++) {
      const bounds = clopperPearson(k, n, 0.95);
      assertGreater(bounds.lower, lower);
      assertGreater(bounds.upper, upper);
      assertLessOrEqual(bounds.lower, k / n);
      assertGreaterOrEqual(bounds.upper, k / n);
      ({ lower, upper } = bounds);
    }
  }
});

test("clopperPearson() narrows with trials and widens with confidence", () => {
  const width = (k: number, n: number, confidence: number) => {
    const { lower, upper } = clopperPearson(k, n, confidence);
    return upper - lower;
  };
  assertLess(width(70, 100, 0.95), width(7, 10, 0.95));
  assertLess(width(700, 1_000, 0.95), width(70, 100, 0.95));
  assertLess(width(7, 10, 0.9), width(7, 10, 0.95));
});

test("clopperPearson() misses the true rate at most as often as it says, exactly", () => {
  // No simulation: the chances of all counts whose bound misses are added up.
  for (const n of [5, 20, 100]) {
    const bounds = Array.from({ length: n + 1 }, (_, k) => clopperPearson(k, n, 0.95));
    for (let rate = 0.02; rate < 1; rate += 0.02) {
      let above = 0;
      let below = 0;
      for (const [k, { lower, upper }] of bounds.entries()) {
        if (lower > rate) above += binomialProbability(k, n, rate);
        if (upper < rate) below += binomialProbability(k, n, rate);
      }
      assertLessOrEqual(above, 0.05 + 1e-9);
      assertLessOrEqual(below, 0.05 + 1e-9);
    }
  }
});

test("clopperPearson() refuses counts that are none, and names them", () => {
  for (
    const [k, n] of [[-1, 3], [4, 3], [0, 0], [1.5, 3], [1, 3.5], [NaN, 3], [1, Infinity]] as const
  ) {
    const error = assertThrows(() => clopperPearson(k, n, 0.95), RangeError);
    assertStringIncludes(error.message, `there are ${k} of ${n}`);
    assertThrows(() => wilson(k, n), RangeError, "Cannot bound a rate");
  }
});

test("normalCumulative() agrees with values computed with 50 digits", () => {
  const golden = [
    [-4, 3.1671241833119921e-5],
    [-1, 0.15865525393145705],
    [0, 0.5],
    [0.5, 0.6914624612740131],
    [1.959963984540054, 0.975],
    [3, 0.99865010196836991],
    [6, 0.99999999901341235],
  ] as const;
  for (const [x, probability] of golden) {
    assertAlmostEquals(normalCumulative(x), probability, 1e-14, `${x}`);
  }
  assertEquals([normalCumulative(-9), normalCumulative(9)], [0, 1]);
});

test("normalQuantile() agrees with values computed with 50 digits", () => {
  const golden = [
    [0.5, 0],
    [0.8, 0.84162123357291421],
    [0.9, 1.2815515655446005],
    [0.95, 1.6448536269514727],
    [0.975, 1.9599639845400542],
    [0.99, 2.3263478740408411],
    [0.995, 2.5758293035489008],
    [0.999, 3.0902323061678135],
    [0.025, -1.9599639845400542],
    [0.0001, -3.7190164854556806],
  ] as const;
  for (const [probability, x] of golden) {
    assertAlmostEquals(normalQuantile(probability), x, 1e-11, `${probability}`);
  }
});

test("normalQuantile() undoes normalCumulative()", () => {
  for (let x = -4; x <= 4; x += 0.25) {
    assertAlmostEquals(normalQuantile(normalCumulative(x)), x, 1e-9);
  }
});

test("wilson() agrees with values computed with 50 digits", () => {
  const golden = [
    [8, 10, 0.95, 0.490162471536642, 0.943317848545625],
    [0, 10, 0.95, 0, 0.277532799862889],
    [10, 10, 0.95, 0.722467200137111, 1],
    [1, 2, 0.95, 0.0945312057342307, 0.905468794265769],
    [45, 60, 0.9, 0.648624241268694, 0.829802359434671],
    [672, 960, 0.99, 0.660636350414027, 0.736618084895788],
  ] as const;
  for (const [successes, trials, confidence, lower, upper] of golden) {
    const bounds = wilson(successes, trials, confidence);
    assertAlmostEquals(bounds.lower, lower, 1e-12, `${successes} of ${trials}`);
    assertAlmostEquals(bounds.upper, upper, 1e-12, `${successes} of ${trials}`);
  }
});

test("wilson() is at 95% unless told otherwise", () => {
  assertEquals(wilson(8, 10), wilson(8, 10, 0.95));
});

test("clusteredStandardError() agrees with a computation by hand", () => {
  // The mean is 5/9. The excess sums of the clusters are 3 - 15/9 = 12/9, 0 - 15/9 = -15/9 and
  // 2 - 15/9 = 3/9; their squares sum to 378/81. sqrt(3/2 * 378/81) / 9 = sqrt(7) / 9.
  const even = [[1, 1, 1], [0, 0, 0], [1, 0, 1]];
  assertAlmostEquals(clusteredStandardError(even)!, Math.sqrt(7) / 9, 1e-12);
  // Unequal clusters: the mean is 3/5, the excess sums are 2 - 6/5 = 4/5 and 1 - 9/5 = -4/5.
  // sqrt(2 * 32/25) / 5 = 8/25.
  assertAlmostEquals(clusteredStandardError([[1, 1], [1, 0, 0]])!, 8 / 25, 1e-12);
});

test("clusteredStandardError() of clusters of one is the usual standard error", () => {
  const values = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1];
  const error = clusteredStandardError(values.map((value) => [value]))!;
  assertAlmostEquals(error, Math.sqrt(0.7 * 0.3 / 9), 1e-12);
});

test("clusteredStandardError() does not shrink when every trial is copied", () => {
  const once = clusteredStandardError([[1], [0], [1], [1]])!;
  const copied = clusteredStandardError([[1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]])!;
  assertAlmostEquals(copied, once, 1e-12);
});

test("clusteredStandardError() is not available below two clusters; empty ones do not count", () => {
  assertEquals(clusteredStandardError([]), null);
  assertEquals(clusteredStandardError([[1, 0, 1]]), null);
  assertEquals(clusteredStandardError([[1, 0], []]), null);
  assertEquals(
    clusteredStandardError([[1, 1], [], [1, 0, 0]]),
    clusteredStandardError([[1, 1], [1, 0, 0]]),
  );
});

test("bettingLowerBound() agrees with an independent computation", () => {
  const repeat = (values: number[], times: number) => new Array(times).fill(values).flat();
  const cases = [
    [[...repeat([1], 18), 0, 0], 0.95, 0.6030899178509913],
    [repeat([0.5], 50), 0.95, 0.4533384237694056],
    [repeat([1, 0.5, 0], 10), 0.9, 0.3055916500497216],
  ] as const;
  for (const [values, confidence, bound] of cases) {
    assertAlmostEquals(bettingLowerBound(values, confidence), bound, 1e-9);
  }
});

test("bettingLowerBound() does not depend on the order of the values", () => {
  const stream = fork(2, "order");
  for (let draw = 0; draw < 30; draw++) {
    const values = Array.from({ length: 40 }, () => Math.round(stream.prng() * 4) / 4);
    const bound = bettingLowerBound(values, 0.95);
    assertAlmostEquals(bettingLowerBound(shuffle(values, stream), 0.95), bound, 1e-12);
    assertAlmostEquals(bettingLowerBound(values.toSorted(), 0.95), bound, 1e-12);
  }
});

test("bettingLowerBound() lies between 0 and the mean of the values", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 60 }),
      fc.double({ min: 0.5, max: 0.999, noNaN: true }),
      (values, confidence) => {
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        const bound = bettingLowerBound(values, confidence);
        assertGreaterOrEqual(bound, 0);
        assertLessOrEqual(bound, mean + 1e-12);
      },
    ),
    { numRuns: 200, seed: 1 },
  );
});

test("bettingLowerBound() says nothing without values, or when all are 0", () => {
  assertAlmostEquals(bettingLowerBound([], 0.95), 0, 1e-12);
  assertAlmostEquals(bettingLowerBound([0, 0, 0, 0], 0.95), 0, 1e-12);
});

test("bettingLowerBound() rises with each value and falls with confidence", () => {
  const base = [1, 1, 0.5, 1, 0, 1, 1, 0.75, 1, 1];
  const bound = bettingLowerBound(base, 0.95);
  for (const [index, value] of base.entries()) {
    if (value === 1) continue;
    assertGreater(bettingLowerBound(base.with(index, 1), 0.95), bound);
  }
  assertGreater(bettingLowerBound(base, 0.9), bound);
  assertLess(bettingLowerBound(base, 0.99), bound);
});

test("bettingLowerBound() comes near the mean when there are many values", () => {
  assertGreater(bettingLowerBound(new Array(2_000).fill(0.9), 0.95), 0.88);
  const half = Array.from({ length: 2_000 }, (_, index) => index % 2);
  assertGreater(bettingLowerBound(half, 0.95), 0.45);
});

/** How often the bound lies above the true mean; equal sets of values are bounded only once. */
function missRate(draws: number, mean: number, draw: () => number[]): number {
  const known = new Map<string, boolean>();
  let misses = 0;
  for (let count = 0; count < draws; count++) {
    const values = draw().sort((one, other) => one - other);
    const key = values.join();
    if (!known.has(key)) known.set(key, bettingLowerBound(values, 0.95) > mean);
    if (known.get(key)) misses++;
  }
  return misses / draws;
}

const DRAWS = 20_000;

/** Solved trials of `repetitions` at a rate. */
function repeat(prng: Prng, repetitions: number, rate: number): number {
  let solved = 0;
  for (let trial = 0; trial < repetitions; trial++) solved += prng() < rate ? 1 : 0;
  return solved;
}

for (const rate of [0.1, 0.5, 0.8, 0.95]) {
  test(`bettingLowerBound() covers the rate ${rate} of units that are run once`, () => {
    const { prng } = fork(3, "once", rate);
    for (const units of [10, 40, 120]) {
      const missed = missRate(
        DRAWS,
        rate,
        () => Array.from({ length: units }, () => prng() < rate ? 1 : 0),
      );
      assertLessOrEqual(missed, mostMisses(DRAWS));
    }
  });

  test(`bettingLowerBound() covers the rate ${rate} of repeated graphs, half of them all alike`, () => {
    const { prng } = fork(4, "repeated", rate);
    const missed = missRate(DRAWS, rate, () =>
      Array.from({ length: 24 }, () => {
        const alike = prng() < 0.5;
        return alike ? (prng() < rate ? 1 : 0) : repeat(prng, 3, rate) / 3;
      }));
    assertLessOrEqual(missed, mostMisses(DRAWS));
  });
}

test("bettingLowerBound() covers the mean of skewed values", () => {
  // Rarely large: mean 0.05 * 1 + 0.15 * 0.4 + 0.8 * 0.05 = 0.15; and the mirror image, 0.85.
  const { prng } = fork(5, "skewed");
  const rarely = () => {
    const place = prng();
    return place < 0.05 ? 1 : place < 0.2 ? 0.4 : 0.05;
  };
  for (const [mean, draw] of [[0.15, rarely], [0.85, () => 1 - rarely()]] as const) {
    const missed = missRate(DRAWS, mean, () => Array.from({ length: 20 }, draw));
    assertLessOrEqual(missed, mostMisses(DRAWS));
  }
});

test("bettingLowerBound() covers where repetitions taken as independent would not", () => {
  // The same draws, all graphs all alike, judged as if every repetition were a trial of its own.
  const { prng } = fork(6, "naive");
  const [rate, graphs, repetitions] = [0.7, 30, 5];
  const bounds = Array.from(
    { length: graphs + 1 },
    (_, solved) => clopperPearson(solved * repetitions, graphs * repetitions, 0.95).lower,
  );
  let naive = 0;
  const missed = missRate(DRAWS, rate, () => {
    const values = Array.from({ length: graphs }, () => prng() < rate ? 1 : 0);
    if (bounds[values.filter((value) => value === 1).length]! > rate) naive++;
    return values;
  });
  assertGreater(naive / DRAWS, 0.15);
  assertLessOrEqual(missed, mostMisses(DRAWS));
});
