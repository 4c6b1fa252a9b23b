// Runs without counters of lines.

import { assert, assertAlmostEquals, assertEquals, assertLess, assertThrows } from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import {
  binomialProbability,
  bisectWhole,
  normalQuantile,
} from "../../lib/statistics/distributions.ts";
import { mcNemar } from "../../lib/statistics/proportions.ts";
import { signFlip, type Tally } from "../../lib/statistics/sign_flip.ts";
import {
  stratifiedDifference,
  stratifiedStatistic,
  type Stratum,
} from "../../lib/statistics/two_samples.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";
import fc from "../support/fast_check.ts";

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
  for (let seed = 1; seed <= 12; seed++) {
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
  for (let seed = 1; seed <= 40; seed++) {
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

/** How many decisions are drawn at each point. */
const DECISIONS = drawsOf(10_000);

/** The share of decisions that pass a first sample which is worse by the margin. */
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
  for (let decision = 0; decision < DECISIONS; decision++) {
    const strata = draws.map(([own, other]): Stratum => ({
      one: [own(prng()), trials],
      other: [other(prng()), others],
    }));
    if (stratifiedStatistic(strata, -margin) >= z) passed++;
  }
  return passed / DECISIONS;
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
  const error = noiseOf(0.05, DECISIONS);
  for (const rate of fc.IS_SOAK ? [0.5, 0.8, 0.95, 0.99] : [0.8, 0.99]) {
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
  const error = noiseOf(0.055, DECISIONS);
  for (const rate of fc.IS_SOAK ? [0.5, 0.8, 0.9, 0.95] : [0.5, 0.95]) {
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

Deno.test("stratifiedDifference() of one stratum errs in both directions as often as docs/gates_proofs.md says", () => {
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

type Graph = readonly [Tally, Tally];

const random = () => fork(1, "sign flips").prng;

function tally(most: number): fc.Arbitrary<Tally> {
  return fc.integer({ min: 1, max: most }).chain((trials) =>
    fc.nat(trials).map((successes): Tally => [successes, trials])
  );
}

const GRAPH: fc.Arbitrary<Graph> = fc.oneof(
  fc.tuple(tally(4), tally(4)),
  tally(4).chain(([one, trials]) =>
    fc.nat(trials).map((other): Graph => [[one, trials], [other, trials]])
  ),
);

/** Graphs of which both models had the same number of trials. */
const EVEN = GRAPH.map(([one, [successes]]): Graph => [one, [Math.min(successes, one[1]), one[1]]]);

function observedOf(graphs: readonly Graph[]): number {
  return graphs.reduce((sum, [one, other]) => sum + one[0] / one[1] - other[0] / other[1], 0);
}

/** The share of all sign vectors with a sum at least as far from 0. */
function allSigns(graphs: readonly Graph[]): number {
  const differences = graphs.map((graph) => observedOf([graph]));
  const observed = Math.abs(observedOf(graphs)) - 1e-9;
  let extreme = 0;
  for (let signs = 0; signs < 2 ** graphs.length; signs++) {
    const sum = differences.reduce((all, one, place) => all + (signs >> place & 1 ? -one : one), 0);
    if (Math.abs(sum) >= observed) extreme++;
  }
  return extreme / 2 ** graphs.length;
}

/** The same share of all ways to deal the trials of each graph, where both do not have as many. */
function allDeals(graphs: readonly Graph[]): number {
  let sums = [0];
  for (const [one, other] of graphs) {
    if (one[1] === other[1]) {
      const difference = observedOf([[one, other]]);
      sums = sums.flatMap((sum) => [sum - difference, sum + difference]);
    } else {
      const [size, of] = [one[1], one[1] + other[1]];
      const deals = Array.from(
        { length: 2 ** of },
        (_, deal) => [...deal.toString(2).padStart(of, "0")],
      )
        .filter((deal) => deal.filter((bit) => bit === "1").length === size);
      const solved = one[0] + other[0];
      const values = deals.map((deal) => {
        const own = deal.slice(0, solved).filter((bit) => bit === "1").length;
        return own / size - (solved - own) / (of - size);
      });
      sums = sums.flatMap((sum) => values.map((value) => sum + value));
    }
  }
  const observed = Math.abs(observedOf(graphs)) - 1e-9;
  return sums.filter((sum) => Math.abs(sum) >= observed).length / sums.length;
}

Deno.test("signFlip() of one trial a graph is McNemar's exact test", () => {
  fc.assert(fc.property(fc.nat(80), fc.nat(80), fc.nat(5), (gained, lost, same) => {
    const graphs = [[1, 0, gained], [0, 1, lost], [1, 1, same]].flatMap(([own, other, count]) =>
      new Array<Graph>(count!).fill([[own!, 1], [other!, 1]])
    );
    const { p, sampled } = signFlip(graphs, random());
    assertEquals(sampled, undefined);
    assertAlmostEquals(p / mcNemar(gained, lost).exact, 1, 1e-9);
  }));
});

Deno.test("signFlip() counts all sign vectors of graphs with as many trials of both, as brute force does", () => {
  fc.assert(fc.property(fc.array(EVEN, { maxLength: 9 }), (graphs) => {
    assertAlmostEquals(signFlip(graphs, random()).p, allSigns(graphs), 1e-12);
  }));
  // SciPy's permutation_test over signs of 1/2, 1/3, 1, -1/4, 1/2.
  const graphs: Graph[] = [
    [[2, 2], [1, 2]],
    [[2, 3], [1, 3]],
    [[1, 1], [0, 1]],
    [[1, 4], [2, 4]],
    [[1, 2], [0, 2]],
  ];
  assertEquals(signFlip(graphs, random()).p, 4 / 32);
});

Deno.test("signFlip() deals the trials of a graph anew where one model had more of them, as brute force does", () => {
  // Of the 3 trials one was solved, by whom the single one was: in a third of the deals.
  assertAlmostEquals(signFlip([[[1, 1], [0, 2]]], random()).p, 1 / 3, 1e-15);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(tally(3), tally(3)), { minLength: 1, maxLength: 4 }),
      (graphs) => assertAlmostEquals(signFlip(graphs, random()).p, allDeals(graphs), 1e-12),
    ),
    { numRuns: 50 },
  );
});

Deno.test("signFlip() is the same for both orders of two models, in any order of graphs, and with equal ones", () => {
  fc.assert(fc.property(
    fc.array(GRAPH, { maxLength: 20 }),
    (graphs) => {
      const { p } = signFlip(graphs, random());
      const same = (others: readonly Graph[]) =>
        assertAlmostEquals(signFlip(others, random()).p, p, 1e-12);
      same(graphs.map(([one, other]): Graph => [other, one]));
      same(graphs.toReversed());
      same([[[0, 2], [0, 3]], ...graphs, [[3, 3], [1, 1]], [[1, 2], [1, 2]]]);
    },
  ));
});

/** Results of as many graphs, on each of which both models have the same rate, or one a better one. */
function results(
  graphs: number,
  prng: () => number,
  trials: readonly (readonly [number, number])[],
  { better = 0, rate = () => prng() ** 2 } = {},
): Graph[] {
  const solved = (count: number, rate: number) =>
    Array.from({ length: count }, () => prng() < rate).filter(Boolean).length;
  return Array.from({ length: graphs }, (_, place) => {
    const [one, other] = trials[place % trials.length]!;
    const own = rate();
    return [[solved(one, Math.min(1, own + better)), one], [solved(other, own), other]];
  });
}

Deno.test("signFlip() draws where there are too many sums, near the exact value", () => {
  const { prng } = fork(7, "differences");
  for (const trials of [[[3, 3]], [[4, 4], [4, 3], [2, 4]], [[5, 1]]] as [number, number][][]) {
    const graphs = results(60, prng, trials, { better: 0.06 });
    const exact = signFlip(graphs, random());
    assertEquals(exact.sampled, undefined);
    const drawn = signFlip(graphs, random(), { exactly: 0 });
    assertEquals(drawn.sampled, 99_999);
    const error = Math.sqrt(exact.p * (1 - exact.p) / 99_999);
    assertAlmostEquals(drawn.p, exact.p, 4 * error + 1e-5);
  }
});

Deno.test("signFlip() draws where differences have no common denominator to add them up by", () => {
  const trials = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149];
  const graphs = trials.map((
    of,
    place,
  ): Graph => [[place % 3 === 0 ? 50 : 58, of], [place % 3 === 0 ? 53 : 53, of]]);
  const { p, sampled } = signFlip(graphs, random());
  assertEquals(sampled, 99_999);
  assertAlmostEquals(p, allSigns(graphs), 0.006);
  const one: Graph[] = trials.map((of): Graph => [[5, of], [0, of]]);
  assertAlmostEquals(
    signFlip(one, random()).p,
    2 / 1024,
    0.0006,
    "all of one sign, which is a tie",
  );
});

Deno.test("signFlip() is wrong in at most 5% of runs without a difference, however often each model ran", () => {
  const { prng } = fork(3, "null");
  const runs = drawsOf(4_000);
  const most = 0.05 + noiseOf(0.05, runs);
  // With signs flipped in the last two, a difference would be seen in up to 26% of runs.
  for (const trials of [[[2, 2]], [[2, 4], [4, 2]], [[5, 1]], [[1, 10]]] as [number, number][][]) {
    for (const rate of [() => prng() ** 2, () => 0.9, () => 0.05]) {
      for (const graphs of fc.IS_SOAK ? [10, 25] : [10]) {
        let wrong = 0;
        for (let run = 0; run < runs; run++) {
          if (signFlip(results(graphs, prng, trials, { rate }), prng).p <= 0.05) wrong++;
        }
        assertLess(wrong / runs, most, `${trials.join()} ${rate} ${graphs}`);
      }
    }
  }
});

Deno.test("signFlip() refuses what is no tally", () => {
  for (const wrong of [[0.5, 1], [2, 1], [0, 0], [-1, 2], [NaN, 1], [1, 1.5]] as Tally[]) {
    assertThrows(
      () => signFlip([[[1, 1], wrong]], random()),
      RangeError,
      "Cannot compare pairs as it needs whole numbers with 0 <= successes <= trials and trials >= 1: " +
        `there are ${wrong[0]} of ${wrong[1]}`,
    );
  }
});
