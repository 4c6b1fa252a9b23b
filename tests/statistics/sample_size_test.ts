// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { binomialProbability, normalQuantile } from "../../lib/statistics/distributions.ts";
import {
  detectableFall,
  pairedDetectableEffect,
  pairedGatePower,
  pairedSampleSize,
  rateDetectableEffect,
  rateGateChances,
  rateSampleSize,
  unpairedDetectableEffect,
  unpairedSampleSize,
} from "../../lib/statistics/sample_size.ts";
import { clopperPearson, mcNemar, tangoStatistic } from "../../lib/statistics/proportions.ts";
import fc from "../support/fast_check.ts";

/** The chances of all counts, by no more than the single chance. */
function countChances(trials: number, rate: number): number[] {
  return Array.from({ length: trials + 1 }, (_, count) => binomialProbability(count, trials, rate));
}

/** The chance of at least `count` successes. */
function reached(chances: readonly number[], count: number): number {
  return chances.slice(count).reduce((sum, chance) => sum + chance, 0);
}

const errors = fc.record({
  confidence: fc.constantFrom(0.7, 0.8, 0.9, 0.95, 0.99),
  power: fc.constantFrom(0.4, 0.5, 0.8, 0.9, 0.95),
});

Deno.test("rateSampleSize() agrees with a scan of all sizes in SciPy", () => {
  // scipy.stats.binom: every n from 1 on, every count at each n; up to 100,000 with isf for the count.
  const golden = [
    [0.7, 0.05, 0.95, 0.95, 960],
    [0.8, 0.05, 0.95, 0.95, 756],
    [1, 0.05, 0.95, 0.95, 59],
    [0.7, 0.1, 0.9, 0.8, 105],
    [0.3, 0.2, 0.95, 0.9, 33],
    [0.6, 0.3, 0.95, 0.5, 10],
    [1, 0.2, 0.99, 0.9, 21],
    [0.9, 0.03, 0.95, 0.95, 1_229],
    [0.7, 0.01, 0.99, 0.8, 21_314],
    [0.7, 0.005, 0.95, 0.95, 91_365],
  ] as const;
  for (const [rate, margin, confidence, power, size] of golden) {
    assertEquals(rateSampleSize(rate, margin, { confidence, power }), size, `${rate} ${margin}`);
  }
});

Deno.test("rateSampleSize() is the first size with a count that meets both errors", () => {
  const rates = fc.integer({ min: 4, max: 20 }).map((part) => part / 20);
  fc.assert(
    fc.property(
      rates,
      fc.double({ min: 0.15, max: 0.9, noNaN: true }),
      errors,
      (rate, share, options) => {
        const margin = rate * share;
        const meets = (trials: number) => {
          const [edge, good] = [countChances(trials, rate - margin), countChances(trials, rate)];
          return edge.some((_, count) =>
            reached(edge, count) <= 1 - options.confidence &&
            reached(good, count) >= options.power - 1e-12
          );
        };
        let size = 1;
        while (size < 150 && !meets(size)) size++;
        const found = rateSampleSize(rate, margin, options);
        if (size < 150) assertEquals(found, size);
        else assertGreaterOrEqual(found, 150);
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("rateDetectableEffect() takes what has exactly the power", () => {
  // At 1/2 every odd number of trials has a count that is reached with a chance of exactly 1/2.
  for (let trials = 1; trials < 200; trials += 2) {
    const margin = rateDetectableEffect(trials, 0.5, { power: 0.5 });
    const { lower } = clopperPearson((trials + 1) / 2, trials, 0.95);
    assertAlmostEquals(margin!, 0.5 - lower, 1e-14);
  }
});

Deno.test("rateDetectableEffect() agrees with SciPy", () => {
  // scipy.stats: the largest count with binom.sf(count - 1) >= power, and beta.ppf of it.
  const golden = [
    [960, 0.7, 0.95, 0.95, 0.04970178125667879],
    [100, 0.8, 0.95, 0.8, 0.10983361699732908],
    [59, 1, 0.95, 0.95, 0.04950760988822689],
    [30, 0.3, 0.9, 0.9, 0.19142254665666703],
    [4, 0.5, 0.95, 0.9, 0.4872585449014338],
    [100_000, 0.7, 0.95, 0.95, 0.004778198454175042],
  ] as const;
  for (const [trials, rate, confidence, power, margin] of golden) {
    assertAlmostEquals(rateDetectableEffect(trials, rate, { confidence, power })!, margin, 1e-12);
  }
  assertEquals(rateDetectableEffect(2, 0.7), null);
});

Deno.test("rateDetectableEffect() is the margin from which on a fixed size is enough", () => {
  const rates = fc.integer({ min: 1, max: 20 }).map((part) => part / 20);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), rates, errors, (trials, rate, options) => {
      const good = countChances(trials, rate);
      const meets = (margin: number) => {
        const edge = countChances(trials, rate - margin);
        return edge.some((_, count) =>
          reached(edge, count) <= 1 - options.confidence &&
          reached(good, count) >= options.power - 1e-12
        );
      };
      const margin = rateDetectableEffect(trials, rate, options);
      if (margin === null) return assert(!meets(rate * (1 - 1e-9)));
      assertGreater(margin, 0);
      assertLess(margin, rate);
      assert(meets(Math.min(rate, margin + 1e-9)));
      assert(!meets(margin - 1e-9));
    }),
    { numRuns: 150 },
  );
});

Deno.test("rateGateChances() agrees with SciPy", () => {
  // scipy.stats: beta.ppf for the bounds of every count, and sums of binom.pmf.
  const golden = [
    [960, 0.7, 0.7, 0.05, 0.95, 0.9502592592638863, 0.04974074073611405],
    [960, 0.65, 0.7, 0.05, 0.95, 0.04804427057091052, 0.9519557294290902],
    [100, 0.75, 0.8, 0.1, 0.9, 0.3710793309957173, 0.4465291761517517],
    [60, 0.99, 1, 0, 0.95, 0, 0.45284335760923894],
    [3, 0.5, 0.7, 0.05, 0.95, 0, 0.125],
    [100_000, 0.6475, 0.7, 0.05, 0.99, 3.3555433152809444e-5, 0.999966444566847],
    [100_000, 0.6985, 0.7, 0.001, 0.95, 0.023330386595367902, 0.27088892273997334],
  ] as const;
  for (const [trials, trueRate, rate, margin, confidence, pass, fail] of golden) {
    const chances = rateGateChances(trials, trueRate, { rate, margin, confidence });
    assertAlmostEquals(chances.pass, pass, 1e-11);
    assertAlmostEquals(chances.fail, fail, 1e-11);
    assertAlmostEquals(chances.undecided, 1 - pass - fail, 1e-11);
  }
});

Deno.test("rateGateChances() adds up what every count decides", () => {
  const parts = fc.integer({ min: 0, max: 40 }).map((part) => part / 40);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 120 }),
      parts,
      parts.filter((rate) => rate > 0),
      fc.constantFrom(0, 0.01, 0.1, 0.5),
      fc.constantFrom(0.3, 0.6, 0.9, 0.95),
      (trials, trueRate, rate, share, confidence) => {
        const margin = rate * share;
        const sums = { pass: 0, fail: 0, undecided: 0 };
        for (const [count, chance] of countChances(trials, trueRate).entries()) {
          const { lower, upper } = clopperPearson(count, trials, confidence);
          const passes = lower >= rate - margin;
          sums[passes ? "pass" : upper < rate ? "fail" : "undecided"] += chance;
        }
        const chances = rateGateChances(trials, trueRate, { rate, margin, confidence });
        for (const kind of ["pass", "fail", "undecided"] as const) {
          assertAlmostEquals(chances[kind], sums[kind], 1e-11, kind);
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("unpairedDetectableEffect() undoes unpairedSampleSize()", () => {
  const shares = fc.double({ min: 0.01, max: 0.99, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 100_000 }), shares, errors, (trials, rate, options) => {
      const margin = unpairedDetectableEffect(trials, rate, options);
      const z = normalQuantile(options.confidence) + normalQuantile(options.power);
      assertAlmostEquals(margin, z * Math.sqrt(2 * rate * (1 - rate) / trials), 1e-12);
      if (margin * 1.000001 >= 1) return;
      assertLessOrEqual(unpairedSampleSize(rate, margin * 1.000001, options), trials);
      assertGreater(unpairedSampleSize(rate, margin * 0.999999, options), trials);
    }),
    { numRuns: 200 },
  );
});

Deno.test("pairedGatePower() agrees with sums over all outcomes in SciPy", () => {
  // numpy and scipy.special: trinomial chances of every (gained, lost) within ten standard deviations
  // whose statistic, by Tango's formulas, reaches norm.ppf(confidence).
  const golden = [
    [875, 0.05, 0.2, 0, 0.95, 0.9504156570329826],
    [875, 0.05, 0.2, -0.05, 0.95, 0.04980623466800091],
    [10, 0.3, 0.5, 0.1, 0.9, 0.6886392524000003],
    [1, 0.9, 1, 0, 0.5, 0.5],
    [1, 0.1, 0.4, 0.4, 0.1, 1],
    [50, 0.1, 1, -0.1, 0.95, 0.04437936537098903],
    [30, 0.2, 0.3, -0.3, 0.95, 0.002113178148886509],
    [2_000, 0.02, 0.05, 0.01, 0.99, 0.9998450958493131],
    [100_000, 0.005, 0.2, -0.005, 0.95, 0.04999753123363763],
  ] as const;
  for (const [pairs, margin, discordance, difference, confidence, power] of golden) {
    const found = pairedGatePower(pairs, margin, discordance, difference, confidence);
    assertAlmostEquals(found, power, 1e-10, `${pairs} ${margin} ${difference}`);
  }
});

/** The chance that Tango's bound reaches `-margin`: over all outcomes, one after the other. */
function slowPower(
  pairs: number,
  margin: number,
  discordance: number,
  difference: number,
  confidence: number,
): number {
  const z = normalQuantile(confidence);
  const share = (discordance + difference) / (2 * discordance);
  let sum = 0;
  for (let gained = 0; gained <= pairs; gained++) {
    for (let lost = 0; gained + lost <= pairs; lost++) {
      if (tangoStatistic(gained, lost, pairs, -margin) < z) continue;
      sum += binomialProbability(gained + lost, pairs, discordance) *
        binomialProbability(gained, gained + lost, share);
    }
  }
  return sum;
}

Deno.test("pairedGatePower() adds up what every outcome decides", () => {
  const shares = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      shares.map((share) => share * 0.99),
      shares.map((share) => 0.01 + share * 0.99),
      shares,
      fc.constantFrom(0.1, 0.5, 0.9, 0.95, 0.99),
      (pairs, margin, discordance, share, confidence) => {
        const difference = discordance * (2 * share - 1);
        assertAlmostEquals(
          pairedGatePower(pairs, margin, discordance, difference, confidence),
          slowPower(pairs, margin, discordance, difference, confidence),
          1e-11,
        );
      },
    ),
    { numRuns: 200 },
  );
});

/** The largest chance with which a candidate at the edge of the margin may pass Tango's test. */
function allowed(confidence: number): number {
  return 1.1 * (1 - confidence);
}

Deno.test("pairedSampleSize() agrees with a scan of all sizes in SciPy", () => {
  // numpy and scipy.special: every n from 1 on, with both sums over all outcomes.
  const golden = [
    [0.05, 0.2, 0.95, 0.95, 875],
    [0.2, 0.3, 0.95, 0.95, 84],
    [0.2, 0.3, 0.9, 0.8, 35],
    [0.19, 0.2, 0.95, 0.95, 66],
    [0.1, 0.1000001, 0.95, 0.95, 125],
    [0.3, 1, 0.9, 0.9, 70],
    [0.15, 0.5, 0.99, 0.7, 179],
    [0.5, 0.9, 0.95, 0.95, 37],
    [0.6, 0.9, 0.99, 0.95, 718],
  ] as const;
  for (const [margin, discordance, confidence, power, size] of golden) {
    const found = pairedSampleSize(margin, discordance, { confidence, power });
    assertEquals(found, size, `${margin} of ${discordance}`);
  }
});

Deno.test("pairedSampleSize() is the first size that meets both errors", () => {
  const shares = fc.double({ min: 0.15, max: 0.95, noNaN: true });
  fc.assert(
    fc.property(shares, shares, errors, (discordance, share, options) => {
      const margin = discordance * share;
      const { confidence, power } = options;
      const meets = (pairs: number) =>
        slowPower(pairs, margin, discordance, 0, confidence) >= power - 1e-12 &&
        slowPower(pairs, margin, discordance, -margin, confidence) <= allowed(confidence);
      let size = 1;
      while (size < 40 && !meets(size)) size++;
      if (size < 40) assertEquals(pairedSampleSize(margin, discordance, options), size);
    }),
    { numRuns: 60 },
  );
});

Deno.test("pairedSampleSize() lets Tango's test err up to a tenth more than stated", () => {
  // numpy and scipy.special: at n = 861 the power is 0.950008 and the error 0.050271. At that size
  // and at all larger ones it errs with a chance of 0.0500 to 0.0504.
  assertEquals(pairedSampleSize(0.1, 0.8), 861);
  assertAlmostEquals(pairedGatePower(861, 0.1, 0.8, 0, 0.95), 0.9500084382581783, 1e-10);
  assertAlmostEquals(pairedGatePower(861, 0.1, 0.8, -0.1, 0.95), 0.05027110323029827, 1e-10);
  // And no more than that: 68 pairs have the power, but err with a chance of 0.1169 where it is 0.1.
  assertEquals(pairedSampleSize(0.3, 1, { confidence: 0.9, power: 0.9 }), 70);
  assertGreaterOrEqual(pairedGatePower(68, 0.3, 1, 0, 0.9), 0.9);
  assertAlmostEquals(pairedGatePower(68, 0.3, 1, -0.3, 0.9), 0.1169129768335131, 1e-10);
});

Deno.test("pairedSampleSize() says so where Tango's test errs even more than that", () => {
  // numpy and scipy.special: from n = 15 on the power is there, and up to n = 1,060 it errs with a
  // chance of 0.01149 at least.
  const { message } = assertThrows(
    () => pairedSampleSize(0.8, 0.95, { confidence: 0.99 }),
    RangeError,
  );
  assertStringIncludes(message, "of 15 to 1060 trials it errs more often than confidence allows");
  assertGreaterOrEqual(pairedGatePower(15, 0.8, 0.95, 0, 0.99), 0.95);
  for (let pairs = 15; pairs <= 1_060; pairs += 11) {
    assertGreater(pairedGatePower(pairs, 0.8, 0.95, -0.8, 0.99), 0.01148);
  }
});

Deno.test("pairedDetectableEffect() agrees with an enumeration of all margins that matter", () => {
  // scipy: between the margins at which an outcome begins to pass (brentq on the statistic), the error
  // falls steadily; the first of them, or of the zeros between them, at which both errors are met.
  const golden = [
    [60, 0.5, 0.95, 0.95, 0.29555716504467755],
    [100, 0.2, 0.95, 0.95, 0.15125666771109747],
    [25, 0.9, 0.95, 0.95, 0.5924010383991819],
    [40, 0.3, 0.9, 0.8, 0.1837902778260351],
    [200, 0.1, 0.95, 0.95, 0.07701359634114073],
    [50, 0.7, 0.99, 0.9, 0.6888152554995857],
    [100, 0.95, 0.99, 0.95, 0.37684227182418456],
  ] as const;
  for (const [pairs, discordance, confidence, power, margin] of golden) {
    const found = pairedDetectableEffect(pairs, discordance, { confidence, power });
    assertAlmostEquals(found!, margin, 1e-9, `${pairs} at ${discordance}`);
  }
  assertEquals(pairedDetectableEffect(30, 0.2), null);
});

Deno.test("pairedDetectableEffect() meets both errors, and no margin before it does", () => {
  const sizes = fc.integer({ min: 1, max: 60 });
  const shares = fc.double({ min: 0.1, max: 1, noNaN: true });
  fc.assert(
    fc.property(sizes, shares, errors, (pairs, discordance, options) => {
      const { confidence, power } = options;
      const meets = (margin: number) =>
        pairedGatePower(pairs, margin, discordance, 0, confidence) >= power - 1e-12 &&
        pairedGatePower(pairs, margin, discordance, -margin, confidence) <= allowed(confidence);
      const found = pairedDetectableEffect(pairs, discordance, options);
      if (found !== null) assert(meets(found));
      const end = found === null ? discordance : found - 1e-9;
      for (let step = 1; step < 50; step++) assert(!meets(end * step / 50), `${step}`);
    }),
    { numRuns: 60 },
  );
});

Deno.test("detectableFall() is the fall from which on McNemar's test has the power, counted over all outcomes", () => {
  const chance = (pairs: number, discordance: number, fall: number, level: number) => {
    let sum = 0;
    for (let changed = 0; changed <= pairs; changed++) {
      const weight = binomialProbability(changed, pairs, discordance + fall);
      for (let gained = 0; 2 * gained < changed; gained++) {
        const lost = changed - gained;
        if (mcNemar(gained, lost).exact > level) continue;
        const share = discordance / 2 / (discordance + fall);
        sum += weight * binomialProbability(gained, changed, share);
      }
    }
    return sum;
  };
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0, 0.05, 0.3, 0.7),
      fc.constantFrom(0.05, 0.01, 0.002),
      fc.constantFrom(0.5, 0.8, 0.95),
      (pairs, discordance, level, power) => {
        const fall = detectableFall(pairs, discordance, { level, power });
        const most = 1 - discordance;
        if (fall !== null) assertAlmostEquals(chance(pairs, discordance, fall, level), power, 1e-6);
        const end = fall === null ? most : fall - 1e-6;
        for (let step = 1; step <= 20; step++) {
          assertLess(chance(pairs, discordance, end * step / 20, level), power);
        }
      },
    ),
    { numRuns: 100 },
  );
  assertEquals(detectableFall(10, 1, { level: 0.05, power: 0.8 }), null);
  assertThrows(() => detectableFall(10, 2, { level: 0.05, power: 0.8 }), RangeError, "discordance");
});

Deno.test("sizing refuses shares that are none, and names them", () => {
  for (const value of [0, 1, -0.1, 1.1, NaN]) {
    for (const name of ["confidence", "power"]) {
      const options = { [name]: value };
      for (
        const plan of [
          () => rateSampleSize(0.7, 0.1, options),
          () => rateDetectableEffect(100, 0.7, options),
          () => unpairedSampleSize(0.7, 0.1, options),
          () => unpairedDetectableEffect(100, 0.7, options),
          () => pairedSampleSize(0.1, 0.2, options),
          () => pairedDetectableEffect(100, 0.2, options),
        ]
      ) {
        const { message } = assertThrows(plan, RangeError);
        assertStringIncludes(message, `${name} must be between 0 and 1: it is ${value}`);
      }
    }
    const gate = { rate: 0.7, margin: 0.1, confidence: value };
    assertThrows(() => rateGateChances(10, 0.7, gate), RangeError, `it is ${value}`);
    assertThrows(() => pairedGatePower(10, 0.1, 0.2, 0, value), RangeError, `it is ${value}`);
    assertThrows(() => unpairedSampleSize(value, 0.1), RangeError, `it is ${value}`);
    assertThrows(() => unpairedSampleSize(0.7, value), RangeError, `it is ${value}`);
  }
  const coin = { confidence: 0.6, power: 0.4 };
  assertThrows(() => rateSampleSize(0.7, 0.1, coin), RangeError, "must sum to more than 1");
});

Deno.test("sizing refuses sizes that are none, and names them", () => {
  for (const size of [0, -1, 1.5, NaN, Infinity]) {
    for (
      const plan of [
        () => rateDetectableEffect(size, 0.7),
        () => rateGateChances(size, 0.7, { rate: 0.7, margin: 0.1, confidence: 0.95 }),
        () => unpairedDetectableEffect(size, 0.7),
        () => pairedGatePower(size, 0.1, 0.2, 0, 0.95),
        () => pairedDetectableEffect(size, 0.2),
      ]
    ) assertThrows(plan, RangeError, `a whole number from 1 on: it is ${size}`);
  }
});

Deno.test("sizing refuses margins, rates and differences that do not go together", () => {
  for (
    const [rate, margin] of [
      [0.7, 0],
      [0.7, 0.7],
      [0.7, -0.1],
      [1.1, 0.1],
      [NaN, 0.1],
      [0.7, NaN],
    ] as const
  ) {
    const rule = (name: string) => `margin is ${margin}, ${name} is ${rate}`;
    assertThrows(() => rateSampleSize(rate, margin), RangeError, rule("rate"));
    if (rate <= 1) {
      assertThrows(() => pairedSampleSize(margin, rate), RangeError, rule("discordance"));
    }
    const gate = { rate, margin, confidence: 0.95 };
    if (margin !== 0) assertThrows(() => rateGateChances(9, 0.5, gate), RangeError, rule("rate"));
  }
  for (const rate of [0, -0.1, 1.1, NaN]) {
    const gate = { rate, margin: 0, confidence: 0.95 };
    assertThrows(() => rateDetectableEffect(10, rate), RangeError, `it is ${rate}`);
    assertThrows(() => rateGateChances(9, 0.5, gate), RangeError, `rate is ${rate}`);
    for (
      const plan of [
        () => pairedSampleSize(0.05, rate),
        () => pairedGatePower(10, 0.1, rate, 0, 0.95),
        () => pairedDetectableEffect(10, rate),
      ]
    ) assertThrows(plan, RangeError, `discordance must be above 0 and at most 1: it is ${rate}`);
  }
  const gate = { rate: 0.7, margin: 0.1, confidence: 0.95 };
  for (const rate of [-0.1, 1.1, NaN]) {
    assertThrows(() => rateGateChances(9, rate, gate), RangeError, `it is ${rate}`);
  }
  for (const difference of [0.21, -0.21, NaN]) {
    assertThrows(
      () => pairedGatePower(10, 0.1, 0.2, difference, 0.95),
      RangeError,
      `difference is ${difference}, discordance is 0.2`,
    );
  }
  assertThrows(() => pairedGatePower(10, -0.1, 0.2, 0, 0.95), RangeError, "it is -0.1");
});

Deno.test("sizing refuses what nobody could run", () => {
  for (const plan of [() => rateSampleSize(0.5, 1e-5), () => pairedSampleSize(1e-5, 0.2)]) {
    assertThrows(plan, RangeError, "at most 10000000 trials");
  }
});
