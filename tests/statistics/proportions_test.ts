// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLessOrEqual,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { randomIntegerBetween } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import {
  binomialLowerTail,
  binomialProbability,
  binomialUpperTail,
} from "../../lib/statistics/distributions.ts";
import { bettingLowerBound, bettingRatioBound } from "../../lib/statistics/betting_bound.ts";
import { clusteredInterval } from "../../lib/statistics/pass_at_k.ts";
import {
  clopperPearson,
  fisherExact,
  holm,
  mcNemar,
  tango,
  tangoStatistic,
  wilson,
} from "../../lib/statistics/proportions.ts";
import { endsOf } from "../support/exact_gates.ts";
import fc from "../support/fast_check.ts";
import { pairs } from "../support/generated.ts";

/** Relative closeness, for numbers of any size. */
function assertRelative(actual: number, expected: number, tolerance: number, message = ""): void {
  assertLessOrEqual(Math.abs(actual - expected), tolerance * Math.abs(expected), message);
}

Deno.test("clopperPearson() agrees with values computed with 50 digits", () => {
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

Deno.test("clopperPearson() puts exactly the error into the tail at each bound, up to 100,000", () => {
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

Deno.test("clopperPearson() refuses counts that are none, and names them", () => {
  for (
    const [k, n] of [[-1, 3], [4, 3], [0, 0], [1.5, 3], [1, 3.5], [NaN, 3], [1, Infinity]] as const
  ) {
    const error = assertThrows(() => clopperPearson(k, n, 0.95), RangeError);
    assertStringIncludes(error.message, `there are ${k} of ${n}`);
    assertThrows(() => wilson(k, n), RangeError, "Cannot bound a rate");
  }
});

Deno.test("clopperPearson() with two sides shares the error between them", () => {
  // mpmath: the tails, as sums with 50 digits, put to (1 - confidence) / 2 by bisection.
  const golden = [
    [8, 10, 0.95, 0.443904537692358, 0.974789273673167],
    [672, 960, 0.95, 0.669908987964379, 0.728858444729362],
    [70_000, 100_000, 0.95, 0.697148971318926, 0.702839424599435],
    [3, 100_000, 0.99, 3.37866196638501e-6, 1.09770396410652e-4],
  ] as const;
  for (const [successes, trials, confidence, lower, upper] of golden) {
    const bounds = clopperPearson(successes, trials, confidence, 2);
    assertAlmostEquals(bounds.lower, lower, 1e-12, `${successes} of ${trials}`);
    assertAlmostEquals(bounds.upper, upper, 1e-12, `${successes} of ${trials}`);
  }
});

Deno.test("clopperPearson() has one side unless told otherwise, and no other number of them", () => {
  assertEquals(clopperPearson(8, 10, 0.95), clopperPearson(8, 10, 0.95, 1));
  for (const sides of [0, 3, NaN]) {
    assertThrows(
      () => clopperPearson(8, 10, 0.95, sides as 1 | 2),
      RangeError,
      `there are ${sides}`,
    );
  }
});

/** What is no confidence. */
const NO_SHARES = [0, 1, -0.5, 1.5, NaN];

Deno.test("bounds refuse what is no confidence, and name it", () => {
  for (const confidence of NO_SHARES) {
    for (
      const bound of [
        () => clopperPearson(8, 10, confidence),
        () => wilson(8, 10, confidence),
        () => tango(1, 1, 10, confidence),
        () => clusteredInterval([[1], [0]], confidence),
        () => bettingLowerBound([1], confidence),
      ]
    ) {
      const { message } = assertThrows(bound, RangeError);
      assertStringIncludes(message, `confidence must be between 0 and 1: it is ${confidence}`);
    }
  }
});

Deno.test("wilson() agrees with values computed with 50 digits", () => {
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

Deno.test("wilson() is at 95% unless told otherwise", () => {
  assertEquals(wilson(8, 10), wilson(8, 10, 0.95));
});

Deno.test("mcNemar() agrees with published values", () => {
  // Fagerland, Lydersen and Laake, "Statistical Analysis of Contingency Tables", 2017, chapter 8:
  // airway hyper-responsiveness (Bentur et al., 2009), and complete response (Cavo et al., 2012).
  assertAlmostEquals(mcNemar(1, 7).exact, 0.0703125, 1e-12);
  assertAlmostEquals(mcNemar(1, 7).midP, 0.0390625, 1e-12);
  assertAlmostEquals(mcNemar(6, 16).exact, 0.052479, 5e-7);
  assertAlmostEquals(mcNemar(6, 16).midP, 0.03469, 5e-7);
});

Deno.test("mcNemar() is the exact test of a rate of 1/2, either way round", () => {
  fc.assert(
    fc.property(fc.nat({ max: 2_000 }), fc.nat({ max: 2_000 }), (gained, lost) => {
      const found = mcNemar(gained, lost);
      assertEquals(mcNemar(lost, gained).exact, found.exact);
      assertAlmostEquals(mcNemar(lost, gained).midP, found.midP, 1e-14);
      assertLessOrEqual(found.midP, found.exact);
      if (gained + lost === 0) return;
      const beyond = Math.max(gained, lost);
      const more = binomialUpperTail(beyond + 1, gained + lost, 0.5);
      const less = binomialLowerTail(gained + lost - beyond - 1, gained + lost, 0.5);
      const point = binomialProbability(gained, gained + lost, 0.5);
      // The splits further out, and half of those as far out.
      const halves = gained === lost ? point / 2 : point;
      assertAlmostEquals(found.midP, more + less + halves, 1e-11);
    }),
    { numRuns: 200 },
  );
});

Deno.test("mcNemar() of no pairs says that nothing was found", () => {
  assertEquals(mcNemar(0, 0), { exact: 1, midP: 0.5 });
});

Deno.test("mcNemar() refuses counts that are none, and names them", () => {
  for (const [gained, lost] of [[-1, 3], [3, -1], [0.5, 2], [2, NaN]] as const) {
    const { message } = assertThrows(() => mcNemar(gained, lost), RangeError);
    assertStringIncludes(message, `${gained} are gained, ${lost} are lost`);
  }
});

Deno.test("tangoStatistic() agrees with values computed with 50 digits", () => {
  // mpmath: Tango's formulas. SciPy's minimize_scalar over the constrained likelihood gives the same
  // standard errors, to 2e-7, for 3,000 random tables of up to 300 pairs.
  const golden = [
    [0, 1, 44, -0.1, 1.7085642859406606],
    [10, 2, 100, 0.05, 0.92709853085041975],
    // Without a difference, it is McNemar's statistic.
    [10, 2, 100, 0, (10 - 2) / Math.sqrt(10 + 2)],
    [87, 88, 875, -0.05, 3.1777287740821193],
    [10_000, 10_100, 100_000, -0.005, 2.821000229470746],
    [0, 0, 50, 0.02, -1.0101525445522108],
    [50, 0, 50, 0.9, 1.6222142113076252],
    [3, 5, 8, -0.3, 0.1482498633322202],
  ] as const;
  for (const [gained, lost, all, difference, z] of golden) {
    assertRelative(tangoStatistic(gained, lost, all, difference), z, 1e-12, `${gained} ${lost}`);
  }
});

Deno.test("tangoStatistic() has its limits at both ends, and where nothing is discordant", () => {
  assertEquals(tangoStatistic(0, 0, 10, 0), 0);
  assertEquals(tangoStatistic(10, 0, 10, 1), 0);
  assertEquals(tangoStatistic(0, 10, 10, -1), 0);
  assertEquals(tangoStatistic(9, 0, 10, 1), -Infinity);
  assertEquals(tangoStatistic(0, 9, 10, -1), Infinity);
  assertEquals(tangoStatistic(3, 3, 10, 0), 0);
});

Deno.test("tango() agrees with values computed with 50 digits", () => {
  // mpmath: Tango's formulas, put to the normal quantile by bisection.
  const golden = [
    [0, 1, 44, 0.95, -0.0956624263991717, 0.036516938418064],
    [10, 2, 100, 0.95, 0.0260212676022816, 0.14369885026685],
    [87, 88, 875, 0.95, -0.0261282873232734, 0.0238357417291942],
    [0, 0, 50, 0.95, -0.0513331857862702, 0.0513331857862702],
    [50, 0, 50, 0.95, 0.89733362842746, 1],
    [1, 0, 1, 0.95, -0.460268102431892, 1],
    [10_000, 10_100, 100_000, 0.95, -0.00333209724754774, 0.00133204382508418],
    [3, 1, 100_000, 0.99, -4.47164323023302e-5, 9.65378962991322e-5],
  ] as const;
  for (const [gained, lost, all, confidence, lower, upper] of golden) {
    const bounds = tango(gained, lost, all, confidence);
    assertAlmostEquals(bounds.lower, lower, 1e-12, `${gained} ${lost} of ${all}`);
    assertAlmostEquals(bounds.upper, upper, 1e-12, `${gained} ${lost} of ${all}`);
  }
});

Deno.test("tango() agrees with published intervals", () => {
  // Tango 1998 and Liu et al. 2002: soft lenses, 90% with two sides. Fagerland, Lydersen and Laake,
  // "Statistical Analysis of Contingency Tables", 2017, chapter 8, 95% with two sides: Bentur et al.
  // 2009 and Cavo et al. 2012.
  const published = [
    [0, 1, 44, 0.95, -0.096, 0.037, 5e-4],
    [1, 7, 21, 0.975, -0.517, -0.026, 5e-4],
    [6, 16, 161, 0.975, -0.124, -0.0054, 5e-5],
  ] as const;
  for (const [gained, lost, all, confidence, lower, upper, rounding] of published) {
    const bounds = tango(gained, lost, all, confidence);
    assertAlmostEquals(bounds.lower, lower, rounding);
    assertAlmostEquals(bounds.upper, upper, rounding);
  }
});

Deno.test("tango() reaches a difference exactly when the statistic reaches the quantile", () => {
  const differences = fc.double({ min: -1, max: 1, noNaN: true });
  // The quantile of 0.95, to the last digit that is known of it.
  const z = 1.6448536269514727;
  fc.assert(
    fc.property(pairs(3_000), differences, ([gained, lost, all], difference) => {
      const { lower, upper } = tango(gained, lost, all, 0.95);
      for (const near of [difference, lower - 1e-9, lower + 1e-9]) {
        if (Math.abs(near) > 1 || Math.abs(near - lower) < 1e-10) continue;
        assertEquals(tangoStatistic(gained, lost, all, near) >= z, lower >= near);
      }
      for (const near of [difference, upper - 1e-9, upper + 1e-9]) {
        if (Math.abs(near) > 1 || Math.abs(near - upper) < 1e-10) continue;
        assertEquals(tangoStatistic(gained, lost, all, near) <= -z, upper <= near);
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("tango() and tangoStatistic() refuse counts that are none, and name them", () => {
  for (
    const [gained, lost, all] of [
      ...[[-1, 0, 3], [0, -1, 3], [2, 2, 3], [0, 0, 0]] as const,
      ...[[0.5, 0, 3], [1, NaN, 3], [1, 1, 3.5]] as const,
    ]
  ) {
    for (const call of [tango, tangoStatistic]) {
      const { message } = assertThrows(() => call(gained, lost, all, 0.5), RangeError);
      assertStringIncludes(message, `${gained} are gained, ${lost} are lost of ${all}`);
    }
  }
  for (const difference of [NaN, -1.1, 1.1]) {
    assertThrows(() => tangoStatistic(1, 1, 3, difference), RangeError, `it is ${difference}`);
  }
});

Deno.test("bettingLowerBound() agrees with an independent computation", () => {
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

Deno.test("bettingLowerBound() says nothing without values, or when all are 0", () => {
  assertAlmostEquals(bettingLowerBound([], 0.95), 0, 1e-12);
  assertAlmostEquals(bettingLowerBound([0, 0, 0, 0], 0.95), 0, 1e-12);
});

/** How often a bound of values that are drawn so lies above the mean, exactly. */
function missRate(
  mean: number,
  kinds: readonly number[],
  chances: readonly number[],
  count: number,
  boundOf = (values: readonly number[]) => bettingLowerBound(values, 0.95),
): number {
  const world = { kinds, cells: 1, chances: () => chances };
  const misses = (values: readonly number[]) => boundOf(values) > mean ? "pass" : "undecided";
  return endsOf(world, { most: count }, misses).pass;
}

for (const rate of [0.1, 0.5, 0.8, 0.95]) {
  Deno.test(`bettingLowerBound() covers the rate ${rate} of units that are run once`, () => {
    for (const units of [10, 40, 120]) {
      assertLessOrEqual(missRate(rate, [0, 1], [1 - rate, rate], units), 0.05);
    }
  });

  Deno.test(`bettingLowerBound() covers the rate ${rate} of repeated graphs, half of them all alike`, () => {
    const chances = [0, 1, 2, 3].map((solved) => {
      const alike = solved === 0 ? 1 - rate : solved === 3 ? rate : 0;
      const alone = [1, 3, 3, 1][solved]! * rate ** solved * (1 - rate) ** (3 - solved);
      return alike / 2 + alone / 2;
    });
    assertLessOrEqual(missRate(rate, [0, 1 / 3, 2 / 3, 1], chances, 12), 0.05);
  });
}

Deno.test("bettingLowerBound() covers the mean of skewed values", () => {
  // Rarely large: mean 0.05 * 1 + 0.15 * 0.4 + 0.8 * 0.05 = 0.15; and the mirror image, 0.85.
  assertLessOrEqual(missRate(0.15, [0.05, 0.4, 1], [0.8, 0.15, 0.05], 20), 0.05);
  assertLessOrEqual(missRate(0.85, [0, 0.6, 0.95], [0.05, 0.15, 0.8], 20), 0.05);
});

Deno.test("bettingLowerBound() covers where repetitions taken as independent would not", () => {
  // Graphs all alike, and every repetition judged as if it were a trial of its own.
  const [rate, graphs, repetitions] = [0.7, 30, 5];
  const naively = (values: readonly number[]) => {
    const solved = values.filter((value) => value === 1).length;
    return clopperPearson(solved * repetitions, graphs * repetitions, 0.95).lower;
  };
  const chances = [1 - rate, rate];
  assertGreater(missRate(rate, [0, 1], chances, graphs, naively), 0.15);
  assertLessOrEqual(missRate(rate, [0, 1], chances, graphs), 0.05);
});

Deno.test("bettingLowerBound() with a stake or copies agrees with an independent computation", () => {
  // mpmath: the capitals multiplied out with 40 digits, and bisection.
  const solved = [...new Array(18).fill(1), 0, 0];
  const mixed = new Array(10).fill([1, 0.5, 0]).flat();
  const cases = [
    [solved, 0.95, { stake: () => 0.4 }, 0.608573477199662],
    [solved, 0.95, { stake: (mean: number) => Math.min(0.98, 0.5 * mean) }, 0.591230386738349],
    [mixed, 0.9, { copies: 2.5, stake: (mean: number) => 0.3 * mean }, 0.372884468839947],
    [mixed, 0.9, { copies: 2.5 }, 0.373328188006923],
  ] as const;
  for (const [values, confidence, options, bound] of cases) {
    assertAlmostEquals(bettingLowerBound(values, confidence, options), bound, 1e-9);
  }
});

Deno.test("bettingLowerBound() with a stake of 0 has half of the capital left to bet", () => {
  // Half rests, so that the other half must reach 2 / (1 - confidence) - 1, here 39 and not 20.
  const values = [1, 1, 1, 0.5, 1, 1, 0, 1, 1, 1, 1, 1];
  const resting = bettingLowerBound(values, 0.95, { stake: () => 0 });
  assertAlmostEquals(resting, bettingLowerBound(values, 1 - 1 / 39), 1e-12);
});

Deno.test("bettingLowerBound() covers the rate with a stake that suits it", () => {
  for (const [rate, lambda] of [[0.65, 0.22], [0.9, 0.5]] as const) {
    const stake = (mean: number) => Math.min(0.98, lambda * mean);
    const boundOf = (values: readonly number[]) => bettingLowerBound(values, 0.95, { stake });
    assertLessOrEqual(missRate(rate, [0, 1], [1 - rate, rate], 60, boundOf), 0.05);
  }
});

Deno.test("bettingLowerBound() refuses values, copies and stakes that are none, and names them", () => {
  for (const value of [NaN, -0.1, 1.1]) {
    assertThrows(() => bettingLowerBound([0.5, value], 0.95), RangeError, `one is ${value}`);
  }
  for (const copies of [0, -1, NaN, Infinity]) {
    assertThrows(
      () => bettingLowerBound([0.5], 0.95, { copies }),
      RangeError,
      `there are ${copies}`,
    );
  }
  for (const stake of [-0.1, 1, NaN]) {
    assertThrows(
      () => bettingLowerBound([0.5], 0.95, { stake: () => stake }),
      RangeError,
      `one is ${stake}`,
    );
  }
});

Deno.test("fisherExact() agrees with R's fisher.test()", () => {
  // fisher.test(rbind(c(3, 1), c(1, 3))), rbind(c(8, 2), c(1, 5)), and of a table with all successes on one side.
  assertAlmostEquals(fisherExact([3, 4], [1, 4]), 34 / 70, 1e-12);
  assertAlmostEquals(fisherExact([8, 10], [1, 6]), 0.03496503496503495, 1e-12);
  assertAlmostEquals(fisherExact([0, 5], [5, 5]), 2 / 252, 1e-14);
  assertEquals(fisherExact([0, 5], [0, 9]), 1);
  assertEquals(fisherExact([5, 5], [9, 9]), 1);
});

Deno.test("fisherExact() is the sum of the tables that are no likelier, counted one by one", () => {
  const choose = (n: number, k: number): number => k <= 0 ? 1 : choose(n - 1, k - 1) * n / k;
  const counts = fc.tuple(fc.nat(12), fc.nat(12)).map(([one, other]) =>
    [Math.min(one, other), Math.max(one, other, 1)] as const
  );
  fc.assert(fc.property(counts, counts, ([own, trials], [others, otherTrials]) => {
    const solved = own + others;
    const weight = (count: number) =>
      count > trials || count < 0 || solved - count > otherTrials || count > solved
        ? 0
        : Math.round(choose(trials, count)) * Math.round(choose(otherTrials, solved - count));
    const weights = Array.from({ length: solved + 1 }, (_, count) => weight(count));
    const all = weights.reduce((sum, one) => sum + one, 0);
    const extreme = weights.filter((one) => one <= weight(own)).reduce((sum, one) => sum + one, 0);
    assertAlmostEquals(fisherExact([own, trials], [others, otherTrials]), extreme / all, 1e-9);
  }));
});

Deno.test("holm() agrees with R's p.adjust()", () => {
  const adjusted = holm([0.01, 0.04, 0.03, 0.005]);
  for (const [place, value] of [0.03, 0.06, 0.06, 0.02].entries()) {
    assertAlmostEquals(adjusted[place]!, value, 1e-15);
  }
  assertEquals(holm([]), []);
  assertEquals(holm([0.7, 0.8]), [1, 1]);
});

Deno.test("bettingRatioBound() lies below the observed ratio, and falls with what is gained", () => {
  const outlay = fc.record({
    cost: fc.double({ min: 0, max: 1e6, noNaN: true }),
    gain: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(fc.property(fc.array(outlay, { maxLength: 40 }), outlay, (outlays, more) => {
    const bound = bettingRatioBound(outlays, 0.95);
    const [cost, gain] = [sumOf(outlays, "cost"), sumOf(outlays, "gain")];
    assert(bound >= 0 && bound * gain <= cost * (1 + 1e-9));
    const better = bettingRatioBound([...outlays, { cost: 0, gain: more.gain }], 0.95);
    assert(better <= bound * (1 + 1e-9));
    const dearer = bettingRatioBound([...outlays, { cost: more.cost, gain: 0 }], 0.95);
    assert(dearer >= bound * (1 - 1e-9));
    assert(bettingRatioBound(outlays, 0.99) <= bound * (1 + 1e-9));
  }));
  const sure = bettingRatioBound(new Array(5_000).fill({ cost: 3, gain: 0.5 }), 0.95);
  assert(sure > 5.8 && sure <= 6, `${sure}`);
  for (const wrong of [{ cost: -1, gain: 0 }, { cost: Infinity, gain: 0 }, { cost: 1, gain: 2 }]) {
    assertThrows(() => bettingRatioBound([wrong], 0.95), RangeError, "Cannot bound a ratio");
  }
});

function sumOf<K extends string>(items: readonly Readonly<Record<K, number>>[], field: K): number {
  return items.reduce((sum, item) => sum + item[field], 0);
}
