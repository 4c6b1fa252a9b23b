import { assert, assertAlmostEquals, assertEquals, assertLess, assertThrows } from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import {
  binomialProbability,
  bisectWhole,
  normalQuantile,
} from "../../lib/statistics/distributions.ts";
import {
  stratifiedDifference,
  stratifiedStatistic,
  type Stratum,
} from "../../lib/statistics/two_samples.ts";

Deno.test("stratifiedDifference() gives the published bounds of single tables", () => {
  // Newcombe, "Interval estimation for the difference between independent proportions", 1998, table II, Miettinen and
  // Nurminen's rows: two-sided with 95% confidence.
  const published: [Stratum["one"], Stratum["other"], number, number][] = [
    [[56, 70], [48, 80], 0.0528, 0.3382],
    [[9, 10], [3, 10], 0.1700, 0.8406],
    [[6, 7], [2, 7], 0.0342, 0.8534],
    [[5, 56], [0, 29], -0.0326, 0.1933],
    [[0, 10], [0, 20], -0.1658, 0.2844],
    [[0, 10], [0, 10], -0.2879, 0.2879],
    [[10, 10], [0, 20], 0.7156, 1],
    [[10, 10], [0, 10], 0.6636, 1],
  ];
  for (const [one, other, least, most] of published) {
    const { lower, upper } = stratifiedDifference([{ one, other }], 0.975);
    assertAlmostEquals(lower, least, 5.1e-5);
    assertAlmostEquals(upper, most, 5.1e-5);
  }
});

/** Strata at random: sizes of 1 to `most`, rates of 0 and 1 among them. */
function drawStrata(seed: number, count: number, most: number): Stratum[] {
  const { prng } = fork(seed, "strata", count, most);
  const sample = (): readonly [number, number] => {
    const trials = 1 + Math.floor(prng() * most);
    return [Math.min(trials, Math.max(0, Math.floor((prng() * 1.6 - 0.3) * trials))), trials];
  };
  return Array.from({ length: count }, () => ({ one: sample(), other: sample() }));
}

/** The statistic with the likelihood searched point by point, and sums written out. */
function naiveStatistic(strata: readonly Stratum[], difference: number): number {
  let [mean, likely, observed] = [0, 0, 0];
  for (const { one: [x, n], other: [y, m] } of strata) {
    mean += (x / n - y / m) / strata.length;
    const log = (count: number, rate: number) => count === 0 ? 0 : count * Math.log(rate);
    const logLikelihood = (q: number) =>
      log(x, q + difference) + log(n - x, 1 - q - difference) + log(y, q) + log(m - y, 1 - q);
    // It is concave: a ternary search finds its maximum.
    let [low, high] = [Math.max(0, -difference), Math.min(1, 1 - difference)];
    for (let step = 0; step < 200; step++) {
      const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
      if (logLikelihood(left) < logLikelihood(right)) low = left;
      else high = right;
    }
    const q = (low + high) / 2;
    const p = q + difference;
    likely += (p * (1 - p) / n + q * (1 - q) / m) * (n + m) / (n + m - 1);
    const pooled = (x + y) / (n + m);
    const whole = pooled * (1 - pooled) * (n + m) / (n + m - 1);
    observed += n === 1 ? whole : x / n * (1 - x / n) / (n - 1);
    observed += m === 1 ? whole : y / m * (1 - y / m) / (m - 1);
  }
  const variance = strata.length === 1 ? likely : Math.max(likely, observed);
  return (mean - difference) / Math.sqrt(variance / strata.length ** 2);
}

Deno.test("stratifiedStatistic() is what a search for the likeliest rates gives", () => {
  for (let seed = 1; seed <= 40; seed++) {
    for (const [count, most] of [[1, 30], [2, 5], [6, 50], [20, 200]] as const) {
      const strata = drawStrata(seed, count, most);
      for (const difference of [-0.7, -0.2, -0.05, 0.01, 0.3]) {
        const naive = naiveStatistic(strata, difference);
        const own = stratifiedStatistic(strata, difference);
        assertLess(Math.abs(own - naive), 1e-5 * Math.max(1, Math.abs(naive)));
      }
    }
  }
});

Deno.test("stratifiedDifference() bounds a difference at which the statistic is the quantile, and mirrors", () => {
  const z = normalQuantile(0.95);
  for (let seed = 1; seed <= 100; seed++) {
    const strata = drawStrata(seed, 1 + seed % 7, [1, 2, 5, 40][seed % 4]!);
    const { lower, difference, upper } = stratifiedDifference(strata, 0.95);
    assert(-1 <= lower && lower <= difference + 1e-12 && difference <= upper + 1e-12 && upper <= 1);
    if (lower > -1) assert(stratifiedStatistic(strata, Math.max(-1, lower - 1e-6)) >= z);
    if (lower > -1 && lower < difference) {
      assert(stratifiedStatistic(strata, lower + 1e-6) <= z);
    }
    const mirrored = stratifiedDifference(
      strata.map(({ one, other }) => ({ one: other, other: one })),
      0.95,
    );
    assertEquals([mirrored.lower, mirrored.upper], [-upper, -lower]);
    assertAlmostEquals(mirrored.difference, -difference, 1e-12);
    // Below what was observed a larger difference is never refuted where a smaller one is not.
    const statistics = Array.from({ length: 41 }, (_, place) => place / 20 - 1)
      .filter((at) => at <= difference)
      .map((at) => stratifiedStatistic(strata, at));
    assertEquals(statistics, statistics.toSorted((one, other) => other - one));
  }
});

Deno.test("stratifiedDifference() weighs strata the same, whatever their sizes", () => {
  const strata: Stratum[] = [{ one: [9, 10], other: [10, 20] }, { one: [0, 2], other: [200, 400] }];
  assertAlmostEquals(stratifiedDifference(strata, 0.95).difference, (0.4 - 0.5) / 2, 1e-12);
});

Deno.test("stratifiedDifference() refuses counts that are none, and no strata", () => {
  assertThrows(() => stratifiedDifference([], 0.95), RangeError, "there must be a stratum");
  for (const [one, other] of [[[1, 0], [1, 2]], [[1, 2], [3, 2]], [[0.5, 2], [1, 2]]] as const) {
    assertThrows(() => stratifiedDifference([{ one, other }], 0.95), RangeError, "whole numbers");
  }
  const strata: Stratum[] = [{ one: [1, 2], other: [1, 2] }];
  assertThrows(() => stratifiedDifference(strata, 1), RangeError, "confidence must be between");
  assertThrows(() => stratifiedStatistic(strata, 1.5), RangeError, "from -1 to 1: it is 1.5");
});

/** Draws a binomial count by the inverse of its distribution. */
function drawCount(trials: number, rate: number): (place: number) => number {
  let total = 0;
  const cumulative = Array.from(
    { length: trials },
    (_, count) => total += binomialProbability(count, trials, rate),
  );
  return (place) => {
    const count = cumulative.findIndex((below) => place < below);
    return count < 0 ? trials : count;
  };
}

/** The share of 10,000 decisions that pass a first sample which is worse by the margin. */
function passing(
  cells: readonly (readonly [own: number, other: number])[],
  [trials, others]: readonly [number, number],
  margin: number,
): number {
  const draws = cells.map(([own, other]) =>
    [drawCount(trials, own), drawCount(others, other)] as const
  );
  const { prng } = fork(1, "decisions", JSON.stringify(cells), trials, others);
  const z = normalQuantile(0.95);
  let passed = 0;
  for (let decision = 0; decision < 10_000; decision++) {
    const strata = draws.map(([own, other]): Stratum => ({
      one: [own(prng()), trials],
      other: [other(prng()), others],
    }));
    if (stratifiedStatistic(strata, -margin) >= z) passed++;
  }
  return passed / 10_000;
}

/** Cells of unequal difficulty whose mean is `rate`, and the same with a drop by `margin` on average. */
function cellsOf(rate: number, count: number, margin: number, isInOne: boolean) {
  const spread = count === 1 ? 0 : Math.min(rate - 0.1, 0.999 - rate, 0.3);
  const rates = Array.from(
    { length: count },
    (_, place) => rate + (count === 1 ? 0 : spread * (2 * place / (count - 1) - 1)),
  );
  let left = margin * count;
  return rates.toReversed().map((other) => {
    const drop = isInOne ? Math.min(left, other) : margin;
    left -= drop;
    return [other - drop, other] as const;
  });
}

Deno.test("stratifiedDifference() passes a drop by the margin in about 5% of decisions, wherever it is", () => {
  const error = 3 * Math.sqrt(0.05 * 0.95 / 10_000);
  for (const rate of [0.5, 0.8, 0.95, 0.99]) {
    for (const [cells, trials] of [[1, 200], [6, 20], [6, 100], [20, 5], [20, 50]] as const) {
      for (const isInOne of [false, true]) {
        const own = cellsOf(rate, cells, 0.05, isInOne);
        const equal = passing(own, [trials, trials], 0.05);
        assertLess(equal, 0.05 + error, `${rate} ${cells} ${trials} ${isInOne}: ${equal}`);
      }
    }
  }
});

Deno.test("stratifiedDifference() errs little more often with samples of unequal sizes", () => {
  const error = 3 * Math.sqrt(0.055 * 0.945 / 10_000);
  for (const rate of [0.5, 0.8, 0.9, 0.95]) {
    for (const [cells, trials] of [[6, 50], [20, 25]] as const) {
      for (const isInOne of [false, true]) {
        const own = cellsOf(rate, cells, 0.05, isInOne);
        for (const sizes of [[trials, 4 * trials], [4 * trials, trials]] as const) {
          const share = passing(own, sizes, 0.05);
          assertLess(share, 0.055 + error, `${rate} ${cells} ${sizes} ${isInOne}: ${share}`);
        }
      }
    }
  }
});

Deno.test("stratifiedDifference() of one stratum errs in both directions as often as docs/gates.md says", () => {
  const z = normalQuantile(0.95);
  const rates = [...Array.from({ length: 9 }, (_, place) => 0.5 + place / 20), 0.97, 0.98, 0.995];
  const probabilities = (trials: number, rate: number) =>
    Array.from({ length: trials + 1 }, (_, count) => binomialProbability(count, trials, rate));
  /** The largest probability that a first sample whose rate is lower by `margin` is proved not to be. */
  const worst = (trials: number, others: number, margin: number) => {
    const least = Array.from({ length: others + 1 }, (_, other) => {
      const passes = (own: number) =>
        stratifiedStatistic([{ one: [own, trials], other: [other, others] }], -margin) >= z;
      return bisectWhole(0, trials + 1, (own) => own > trials || passes(own));
    });
    return Math.max(...rates.map((rate) => {
      const own = probabilities(trials, rate - margin);
      const tails = own.map((_, count) => own.slice(count).reduce((sum, one) => sum + one, 0));
      return probabilities(others, rate)
        .reduce((sum, one, other) => sum + one * (tails[least[other]!] ?? 0), 0);
    }));
  };
  for (
    const [trials, others, passing, failing] of [
      [100, 100, 0.055, 0.064],
      [400, 100, 0.062, 0.052],
      [100, 400, 0.052, 0.085],
    ] as const
  ) {
    const [passes, fails] = [
      Math.max(worst(trials, others, 0.05), worst(trials, others, 0.02)),
      worst(others, trials, 0),
    ];
    assert(passing - 0.004 < passes && passes <= passing, `${trials} ${others}: ${passes}`);
    assert(failing - 0.003 < fails && fails <= failing, `${trials} ${others}: ${fails}`);
  }
});
