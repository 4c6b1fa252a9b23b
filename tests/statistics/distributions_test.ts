import {
  assertAlmostEquals,
  assertEquals,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  binomialLowerTail,
  binomialProbability,
  binomialUpperTail,
  bisect,
  bisectWhole,
  normalCumulative,
  normalQuantile,
  studentQuantile,
  studentTail,
} from "../../lib/statistics/distributions.ts";

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

Deno.test("binomialProbability() agrees with exact rational arithmetic for every count up to 30", () => {
  for (const n of [1, 2, 5, 15, 16, 17, 30]) {
    for (const part of [1, 37, 50, 70, 99]) {
      for (let k = 0; k <= n; k++) {
        const exact = ratio(exactTerm(k, n, part, 100), 100n ** BigInt(n));
        assertRelative(binomialProbability(k, n, part / 100), exact, 1e-12, `${k}/${n} ${part}%`);
      }
    }
  }
});

Deno.test("binomialProbability() keeps its accuracy at 100,000 trials", () => {
  // Computed with 50 digits.
  assertRelative(binomialProbability(70_000, 100_000, 0.7), 0.002752954648397428, 1e-11);
  assertRelative(binomialProbability(70_500, 100_000, 0.7), 7.0553588345605843e-6, 1e-11);
  assertRelative(binomialProbability(50, 100_000, 0.001), 1.2082375507591488e-8, 1e-11);
});

Deno.test("binomialProbability() is certain at the rates 0 and 1", () => {
  assertEquals([0, 1, 5].map((k) => binomialProbability(k, 5, 0)), [1, 0, 0]);
  assertEquals([0, 4, 5].map((k) => binomialProbability(k, 5, 1)), [0, 0, 1]);
});

Deno.test("tails of the binomial distribution agree with exact rational sums for every count up to 40", () => {
  for (const n of [1, 2, 3, 10, 17, 25, 40]) {
    const counts = Array.from({ length: n + 1 }, (_, k) => k);
    for (const part of [1, 5, 30, 50, 70, 95, 99]) {
      for (const tail of [binomialLowerTail, binomialUpperTail]) {
        let sum = 0n;
        for (const k of tail === binomialLowerTail ? counts : counts.toReversed()) {
          sum += exactTerm(k, n, part, 100);
          const exact = ratio(sum, 100n ** BigInt(n));
          assertRelative(tail(k, n, part / 100), exact, 1e-11, `${k}/${n} ${part}%`);
        }
      }
    }
  }
});

Deno.test("tails of the binomial distribution are certain where nothing is left to chance", () => {
  for (const [k, n, rate] of [[0, 10, 0], [-1, 10, 0.5]] as const) {
    assertEquals(binomialUpperTail(k, n, rate), 1);
  }
  for (const [k, n, rate] of [[-1, 10, 0.5], [9, 10, 1]] as const) {
    assertEquals(binomialLowerTail(k, n, rate), 0);
  }
  for (const [k, n, rate] of [[11, 10, 0.5], [1, 10, 0]] as const) {
    assertEquals([binomialLowerTail(k, n, rate), binomialUpperTail(k, n, rate)], [1, 0]);
  }
  assertEquals([binomialUpperTail(10, 10, 1), binomialLowerTail(0, 0, 0.5)], [1, 1]);
});

Deno.test("binomialUpperTail() agrees with values computed with 50 digits", () => {
  assertRelative(binomialUpperTail(70_000, 100_000, 0.7), 0.50156000591726423, 1e-11);
  assertRelative(binomialUpperTail(70_500, 100_000, 0.7), 2.7829005410071818e-4, 1e-10);
  assertRelative(binomialUpperTail(50, 100_000, 0.001), 0.99999998837054888, 1e-12);
  assertRelative(binomialUpperTail(960, 1_000, 0.95), 0.080636573256691158, 1e-11);
});

Deno.test("binomialLowerTail() agrees with values computed with 50 digits", () => {
  // mpmath: sums of terms by loggamma, at the numbers that the rates are in binary.
  assertRelative(binomialLowerTail(69_500, 100_000, 0.7), 2.8879676519080337e-4, 1e-10);
  assertRelative(binomialLowerTail(70_000, 100_000, 0.7), 0.50119294873114542, 1e-11);
  assertRelative(binomialLowerTail(30, 100_000, 0.001), 1.9432671040696583e-16, 1e-10);
  assertRelative(binomialLowerTail(150, 100_000, 0.001), 0.99999878309496102, 1e-12);
  assertRelative(binomialLowerTail(940, 1_000, 0.95), 0.086732178384862005, 1e-11);
});

Deno.test("binomialProbability() is zero outside of what can be counted", () => {
  assertEquals([-1, 6].map((k) => binomialProbability(k, 5, 0.5)), [0, 0]);
  assertEquals([0, 1].map((k) => binomialProbability(k, 0, 0.5)), [1, 0]);
});

Deno.test("binomial chances refuse what is no count and what is no rate", () => {
  for (const chance of [binomialProbability, binomialLowerTail, binomialUpperTail]) {
    for (
      const [k, n] of [[0.5, 3], [1, 2.5], [NaN, 3], [1, NaN], [0, -1], [0, Infinity]] as const
    ) {
      const { message } = assertThrows(() => chance(k, n, 0.5), RangeError);
      assertStringIncludes(message, `there are ${k} of ${n}`);
    }
    for (const rate of [NaN, -0.1, 1.1]) {
      assertThrows(() => chance(1, 3, rate), RangeError, `it is ${rate}`);
    }
  }
});

Deno.test("normalCumulative() agrees with values computed with 50 digits, far out in the lower tail too", () => {
  // mpmath.ncdf with 50 digits, on both sides of -3, where one formula takes over from the other.
  const golden = [
    [-20, 2.7536241186062337e-89],
    [-8, 6.2209605742717841e-16],
    [-5.5, 1.8989562465887719e-8],
    [-3.0001, 0.0013494549132607172],
    [-3, 0.0013498980316300945],
    [-2.9999, 0.0013503412829549249],
    [-2, 0.022750131948179207],
    [0, 0.5],
    [1.959963984540054, 0.975],
    [6, 0.99999999901341235],
  ] as const;
  for (const [x, probability] of golden) {
    assertRelative(normalCumulative(x), probability, 1e-12, `${x}`);
  }
});

Deno.test("normalQuantile() agrees with values computed with 50 digits", () => {
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

Deno.test("normalQuantile() keeps its accuracy for tiny probabilities", () => {
  // mpmath.findroot on log(ncdf) with 50 digits.
  const golden = [
    [1e-300, -37.047096299361199],
    [1e-100, -21.273453560965324],
    [1e-20, -9.2623400897984076],
    [1e-12, -7.0344838253011319],
    [1e-6, -4.753424308822899],
    [0.0013, -3.011453758499784],
    [0.0014, -2.9888822673157905],
    [0.3, -0.52440051270804082],
  ] as const;
  for (const [probability, x] of golden) {
    assertAlmostEquals(normalQuantile(probability), x, 1e-12, `${probability}`);
  }
});

Deno.test("normalQuantile() is odd around 1/2, and refuses what is no probability between 0 and 1", () => {
  for (const probability of [0.5, 0.25, 0.125, 2 ** -20]) {
    assertAlmostEquals(normalQuantile(1 - probability), -normalQuantile(probability), 1e-13);
  }
  for (const probability of [0, 1, -0.5, 1.5, NaN]) {
    assertThrows(() => normalQuantile(probability), RangeError, `it is ${probability}`);
  }
});

Deno.test("bisect() finds where something begins, to the last digit", () => {
  for (const place of [1e-20, 0.1, 1 / 3, 0.5, 0.999]) {
    assertAlmostEquals(bisect((value) => value >= place), place, 1e-16);
  }
  assertEquals(bisect(() => false), 1);
  assertLessOrEqual(bisect(() => true), 1e-20);
});

Deno.test("bisectWhole() finds the first whole number of any range, or the one behind it", () => {
  for (let least = -3; least <= 3; least++) {
    for (let most = least - 1; most <= least + 9; most++) {
      for (let place = least; place <= most + 1; place++) {
        assertEquals(
          bisectWhole(least, most, (count) => {
            assertGreaterOrEqual(count, least);
            assertLessOrEqual(count, most);
            return count >= place;
          }),
          place,
        );
      }
    }
  }
});

Deno.test("studentQuantile() agrees with published tables and another library", () => {
  const known: [probability: number, degrees: number, t: number][] = [
    [0.975, 1, 12.706204736432095],
    [0.6, 2, 0.2886751345948128],
    [0.975, 3, 3.1824463052837078],
    [0.975, 4, 2.7764451051977934],
    [0.95, 5, 2.0150483733330233],
    [0.995, 9, 3.249835541592126],
    [0.975, 30, 2.0422724563012378],
    [0.95, 31, 1.6955187825458649],
    [0.975, 200, 1.9718962236339088],
    [0.995, 999, 2.5807596372676365],
  ];
  for (const [probability, degrees, t] of known) {
    assertAlmostEquals(studentQuantile(probability, degrees), t, 1e-9 * Math.max(1, t));
  }
});

Deno.test("studentQuantile() refuses what it cannot find", () => {
  for (
    const [probability, degrees] of [[0.4, 3], [1, 3], [NaN, 3], [0.9, 0], [0.9, 1.5]] as const
  ) {
    assertThrows(() => studentQuantile(probability, degrees), RangeError, "Cannot find a quantile");
  }
});

Deno.test("studentTail() keeps its relative accuracy far out", () => {
  // mpmath.betainc with 50 digits.
  const golden: [t: number, degrees: number, probability: number][] = [
    [1e-09, 1, 0.49999999968169011382],
    [0.5, 1, 0.35241638234956672582],
    [1e160, 1, 3.1830988618379066946e-161],
    [1.7, 3, 0.093845320776705044239],
    [1000, 4, 2.999980000104999496e-12],
    [2, 5, 0.050969739414929178123],
    [10, 15, 2.4984490714624722938e-8],
    [1e9, 15, 6.7037216182128978749e-128],
    [50, 30, 9.3577088296113562982e-31],
    [1.7, 100, 0.046119663501509630562],
    [3, 1000, 0.0013833545221190962321],
    [10, 100000, 7.816507650103639002e-24],
  ];
  for (const [t, degrees, probability] of golden) {
    assertRelative(studentTail(t, degrees), probability, 1e-11, `${t}, ${degrees}`);
  }
});

Deno.test("studentTail() undoes studentQuantile(), mirrors itself, and has its limits", () => {
  for (const degrees of [1, 2, 3, 8, 31, 200, 1_001]) {
    for (const probability of [0.5, 0.6, 0.8, 0.9, 0.975, 0.999]) {
      const t = studentQuantile(probability, degrees);
      assertAlmostEquals(studentTail(t, degrees), 1 - probability, 1e-13);
      assertAlmostEquals(studentTail(-t, degrees), probability, 1e-13);
    }
    assertEquals([-Infinity, 0, Infinity].map((t) => studentTail(t, degrees)), [1, 0.5, 0]);
  }
  assertAlmostEquals(studentTail(3, 1_000_000_000), 1 - normalCumulative(3), 1e-10);
});

Deno.test("studentTail() falls, also where one formula takes over from the other", () => {
  for (const degrees of [1, 2, 7, 50]) {
    let last = 1;
    for (let t = -3; t <= 5; t += 0.01) {
      const next = studentTail(t, degrees);
      assertLess(next, last);
      last = next;
    }
  }
});

Deno.test("studentTail() refuses what is no place and no degrees of freedom", () => {
  for (const [t, degrees] of [[NaN, 3], [1, 0], [1, 1.5], [1, -1], [1, NaN]] as const) {
    const { message } = assertThrows(() => studentTail(t, degrees), RangeError);
    assertStringIncludes(message, `they are ${t} and ${degrees}`);
  }
});
