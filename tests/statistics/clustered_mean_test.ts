// Means of clustered values: by hand, by properties, and by simulating how often the interval covers.
// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import { estimateMean, jointMean, type UnitSum } from "../../lib/statistics/clustered_mean.ts";
import { studentQuantile } from "../../lib/statistics/distributions.ts";
import {
  clusteredInterval,
  clusteredStandardError,
  passAtK,
  passHatK,
} from "../../lib/statistics/pass_at_k.ts";
import { wilson } from "../../lib/statistics/proportions.ts";
import { drawsOf } from "../support/error_rates.ts";
import fc from "../support/fast_check.ts";

const unit = (sum: number, count: number): UnitSum => ({ sum, count });

/** A unit of up to five values, each from 0 to 1; eighths have no rounding. */
const UNIT = fc.array(fc.nat({ max: 8 }), { maxLength: 5 })
  .map((eighths) => unit(eighths.reduce((sum, own) => sum + own / 8, 0), eighths.length));
const UNITS = fc.array(UNIT, { maxLength: 12 });

Deno.test("estimateMean() of several values a unit agrees with a computation by hand", () => {
  const clusters = [[1, 1], [1, 0, 0], [1, 1, 1, 0], [0.5]];
  const { mean, interval, count, units } = estimateMean(
    clusters.map((own) => unit(own.reduce((sum, value) => sum + value, 0), own.length)),
  );
  assertEquals([mean, count, units], [0.65, 10, 4]);
  const error = clusteredStandardError(clusters)!;
  // (2 - 1.3)^2 + (1 - 1.95)^2 + (3 - 2.6)^2 + (0.5 - 0.65)^2 = 1.575
  assertAlmostEquals(error, Math.sqrt(4 / 3 * 1.575) / 10, 1e-12);
  const [t, n] = [studentQuantile(0.975, 3), 0.65 * 0.35 / error ** 2];
  const scale = 1 + t * t / n;
  const half = t * Math.sqrt(0.65 * 0.35 / n + t * t / (4 * n * n)) / scale;
  const center = (0.65 + t * t / (2 * n)) / scale;
  assertAlmostEquals(interval!.lower, center - half, 1e-12);
  assertAlmostEquals(interval!.upper, center + half, 1e-12);
});

Deno.test("estimateMean() of one value of 0 or 1 a unit has Wilson's interval, of single units too", () => {
  for (const [right, wrong] of [[3, 5], [0, 4], [4, 0], [1, 0]] as const) {
    const units = [...new Array(right).fill(unit(1, 1)), ...new Array(wrong).fill(unit(0, 1))];
    const { interval } = estimateMean(units);
    const expected = wilson(right, right + wrong);
    assertAlmostEquals(interval!.lower, expected.lower, 1e-12);
    assertAlmostEquals(interval!.upper, expected.upper, 1e-12);
  }
});

Deno.test("estimateMean() of units that are all alike claims no more than so many trials would", () => {
  assertEquals(estimateMean(new Array(10).fill(unit(3, 3))).interval, wilson(10, 10));
  const { lower, upper } = estimateMean(new Array(10).fill(unit(2, 4))).interval!;
  assertAlmostEquals(lower, wilson(5, 10).lower, 1e-12);
  assertAlmostEquals(upper, wilson(5, 10).upper, 1e-12);
});

Deno.test("estimateMean() is nothing without values, and has no interval for a single unit", () => {
  assertEquals(estimateMean([unit(0, 0)]), { mean: null, interval: null, count: 0, units: 0 });
  assertEquals(estimateMean([unit(2, 3)]).interval, null);
  assertEquals(estimateMean([unit(0.5, 1), unit(0, 0)]).interval, null);
  assertThrows(() => estimateMean([], 1), RangeError, "confidence");
});

Deno.test("estimateMean() stays within its bounds, whatever the units and their order", () => {
  fc.assert(
    fc.property(UNITS, fc.constantFrom(0.5, 0.8, 0.95, 0.99), (units, confidence) => {
      const { mean, interval, count } = estimateMean(units, confidence);
      assertEquals(mean === null, count === 0);
      const turned = estimateMean(units.toReversed(), confidence);
      assertEquals([turned.mean, turned.count], [mean, count]);
      if (mean === null || interval === null) return assertEquals(turned.interval, interval);
      assertAlmostEquals(turned.interval!.lower, interval.lower, 1e-9);
      assertAlmostEquals(turned.interval!.upper, interval.upper, 1e-9);
      assert(0 <= interval.lower && interval.lower <= mean + 1e-12);
      assert(mean - 1e-12 <= interval.upper && interval.upper <= 1);
      const wider = estimateMean(units, (1 + confidence) / 2).interval!;
      assert(wider.lower <= interval.lower && interval.upper <= wider.upper);
    }),
  );
});

Deno.test("jointMean() weighs means the same, and leaves out those without values", () => {
  const right = unit(1, 1);
  const parts = [[right, right, right], [unit(0, 1), unit(1, 4), unit(0, 5)], [unit(0, 0)]];
  assertAlmostEquals(jointMean(parts).mean!, (1 + 0.1) / 2, 1e-12);
  assertEquals(jointMean([[unit(0, 0)]]), { mean: null, interval: null });
  assertEquals(jointMean([]), { mean: null, interval: null });
  assertEquals(jointMean([[right, right], [unit(1, 2), unit(0, 0)]]), {
    mean: 0.75,
    interval: null,
  });
});

Deno.test("jointMean() of one mean is that mean, and of the same one twice is so too", () => {
  fc.assert(
    fc.property(UNITS, fc.integer({ min: 1, max: 4 }), (units, copies) => {
      const { mean, interval } = estimateMean(units);
      const spread = new Set(units.map(({ sum, count }) => sum / count).filter(Number.isFinite));
      fc.pre(spread.size > 1 || copies === 1);
      const joint = jointMean(new Array(copies).fill(units));
      if (mean === null || interval === null) {
        return assertEquals([joint.mean === null, joint.interval], [mean === null, null]);
      }
      assertAlmostEquals(joint.mean!, mean, 1e-12);
      assertAlmostEquals(joint.interval!.lower, interval.lower, 1e-9);
      assertAlmostEquals(joint.interval!.upper, interval.upper, 1e-9);
    }),
  );
});

Deno.test("jointMean() allows for what units do to two means at once, if that is the same", () => {
  const one = [unit(1, 1), unit(1, 1), unit(0, 1), unit(0, 1)];
  const other = one.toReversed();
  const width = (parts: UnitSum[][]) => {
    const { lower, upper } = jointMean(parts).interval!;
    return upper - lower;
  };
  const { lower, upper } = estimateMean(one).interval!;
  assertAlmostEquals(width([one, one]), upper - lower, 1e-12);
  // What one mean gains by a unit, the other loses: that may be luck, and narrows nothing.
  assertAlmostEquals(width([one, other]), (upper - lower) / Math.SQRT2, 1e-12);
});

Deno.test("jointMean() stays around its mean and within 0 and 1, whatever the means and their order", () => {
  const parts = fc.nat({ max: 8 }).chain((length) =>
    fc.array(fc.array(UNIT, { minLength: length, maxLength: length }), { maxLength: 5 })
  );
  fc.assert(
    fc.property(parts, (parts) => {
      const { mean, interval } = jointMean(parts);
      const turned = jointMean(parts.toReversed());
      if (mean === null) return assertEquals(turned.mean, null);
      assertAlmostEquals(turned.mean!, mean, 1e-12);
      assertEquals(turned.interval === null, interval === null);
      if (interval === null) return;
      assertAlmostEquals(turned.interval!.lower, interval.lower, 1e-6);
      assertAlmostEquals(turned.interval!.upper, interval.upper, 1e-6);
      assert(0 <= interval.lower && interval.lower <= mean);
      assert(mean <= interval.upper && interval.upper <= 1);
    }),
  );
});

/** How often intervals cover a rate of 0.9, of graphs whose own rates vary, and how wide they are. */
function simulate(graphs: number, runs: number): { mean: number; joint: number; width: number } {
  const { prng } = fork(7, "coverage", graphs);
  const draw = (rate: number, count: number): UnitSum => {
    let sum = 0;
    for (let value = 0; value < count; value++) sum += Number(prng() < rate);
    return { sum, count };
  };
  let [mean, joint, width] = [0, 0, 0];
  for (let run = 0; run < runs; run++) {
    const parts: UnitSum[][] = [[], [], []];
    for (let graph = 0; graph < graphs; graph++) {
      // Half of the graphs are easy, and what is hard in one way is hard in each.
      const rate = prng() < 0.5 ? 1 : 0.8;
      parts[0]!.push(draw(rate, 1 + Math.floor(6 * prng())));
      parts[1]!.push(draw(rate, 1));
      parts[2]!.push(draw(rate, graph % 3 === 0 ? 0 : 2));
    }
    const covers = (interval: { lower: number; upper: number }) =>
      Number(interval.lower <= 0.9 && 0.9 <= interval.upper);
    mean += covers(estimateMean(parts[0]!).interval!);
    const both = jointMean(parts).interval!;
    joint += covers(both);
    width += both.upper - both.lower;
  }
  return { mean: mean / runs, joint: joint / runs, width: width / runs };
}

Deno.test("intervals of clustered means cover the truth about as often as they say", () => {
  const widths = [8, 20, 60].map((graphs) => {
    const { mean, joint, width } = simulate(graphs, drawsOf(5_000));
    assert(mean > 0.915 && mean < 0.995, `${mean} of one mean over ${graphs} graphs`);
    assert(joint > 0.895 && joint < 0.985, `${joint} of three means over ${graphs} graphs`);
    return width;
  });
  assert(widths[0]! > widths[1]! && widths[1]! > widths[2]! && widths[2]! < 0.1, widths.join());
});

// Statistics of repeated graphs: pass@k, pass^k, and intervals by clusters.

Deno.test("passAtK() and passHatK() agree with exact fractions", () => {
  // Python's fractions and math.comb.
  const golden = [
    [3, 10, 2, 0.53333333333333333, 0.066666666666666667],
    [50, 200, 10, 0.94790637059595701, 4.5754203369316737e-7],
    [1, 100_000, 1_000, 0.01, 0],
    [70_000, 100_000, 3, 0.97300189000209968, 0.34299558993909905],
    [99_990, 100_000, 50_000, 1, 0.00097612310400324692],
    [10, 100_000, 50_000, 0.99902387689599675, 0],
  ] as const;
  for (const [solved, valid, k, some, every] of golden) {
    assertAlmostEquals(passAtK(solved, valid, k)!, some, 1e-12, `${solved} of ${valid}, ${k}`);
    assertAlmostEquals(passHatK(solved, valid, k)!, every, 1e-12, `${solved} of ${valid}, ${k}`);
  }
});

/** All ways to draw `k` of the items. */
function draws<T>(items: readonly T[], k: number): T[][] {
  if (k === 0) return [[]];
  return items.flatMap((item, index) =>
    draws(items.slice(index + 1), k - 1).map((rest) => [item, ...rest])
  );
}

Deno.test("passAtK() and passHatK() are shares of all draws", () => {
  for (let valid = 0; valid <= 7; valid++) {
    for (let solved = 0; solved <= valid; solved++) {
      const trials = Array.from({ length: valid }, (_, trial) => trial < solved);
      for (let k = 1; k <= 8; k++) {
        const all = draws(trials, k);
        const share = (holds: (draw: boolean[]) => boolean) =>
          all.length === 0 ? null : all.filter(holds).length / all.length;
        const [some, every] = [passAtK(solved, valid, k), passHatK(solved, valid, k)];
        assertEquals([some, every].map((chance) => chance === null), [k > valid, k > valid]);
        if (some === null || every === null) continue;
        assertAlmostEquals(some, share((draw) => draw.includes(true))!, 1e-14);
        assertAlmostEquals(every, share((draw) => !draw.includes(false))!, 1e-14);
      }
    }
  }
});

Deno.test("passAtK() and passHatK() refuse counts that are none, and name them", () => {
  for (
    const [solved, valid, k] of [
      [-1, 3, 1],
      [4, 3, 1],
      [1, 3, 0],
      [1, 3, 1.5],
      [1, NaN, 1],
      [0.5, 3, 1],
    ] as const
  ) {
    for (const chance of [passAtK, passHatK]) {
      const { message } = assertThrows(() => chance(solved, valid, k), RangeError);
      assertStringIncludes(message, `${solved} of ${valid} are solved, k is ${k}`);
    }
  }
});

Deno.test("clusteredStandardError() agrees with a computation by hand", () => {
  // The mean is 5/9. The excess sums of the clusters are 3 - 15/9 = 12/9, 0 - 15/9 = -15/9 and
  // 2 - 15/9 = 3/9; their squares sum to 378/81. sqrt(3/2 * 378/81) / 9 = sqrt(7) / 9.
  const even = [[1, 1, 1], [0, 0, 0], [1, 0, 1]];
  assertAlmostEquals(clusteredStandardError(even)!, Math.sqrt(7) / 9, 1e-12);
  // Unequal clusters: the mean is 3/5, the excess sums are 2 - 6/5 = 4/5 and 1 - 9/5 = -4/5.
  // sqrt(2 * 32/25) / 5 = 8/25.
  assertAlmostEquals(clusteredStandardError([[1, 1], [1, 0, 0]])!, 8 / 25, 1e-12);
});

Deno.test("clusteredStandardError() is not available below two clusters; empty ones do not count", () => {
  assertEquals(clusteredStandardError([]), null);
  assertEquals(clusteredStandardError([[1, 0, 1]]), null);
  assertEquals(clusteredStandardError([[1, 0], []]), null);
  assertEquals(
    clusteredStandardError([[1, 1], [], [1, 0, 0]]),
    clusteredStandardError([[1, 1], [1, 0, 0]]),
  );
});

Deno.test("clusteredInterval() agrees with a computation by hand", () => {
  // The mean is 3/5, the standard error 8/25 (see above), and Student's quantile of 0.6 with one degree
  // of freedom, which is Cauchy's, is tan(0.1 pi).
  const { lower, upper } = clusteredInterval([[1, 1], [1, 0, 0]], 0.2)!;
  assertAlmostEquals(lower, 0.6 - Math.tan(0.1 * Math.PI) * 0.32, 1e-12);
  assertAlmostEquals(upper, 0.6 + Math.tan(0.1 * Math.PI) * 0.32, 1e-12);
  // Four clusters with excess sums of +-1/2: the standard error is sqrt(4/3) / 8.
  const even = clusteredInterval([[1, 0], [1, 1], [0, 1], [1, 1]])!;
  assertAlmostEquals(even.lower, 0.75 - 3.182446305284263 * Math.sqrt(4 / 3) / 8, 1e-12);
});

Deno.test("clusteredInterval() is at 95% unless told otherwise, and stays within 0..1", () => {
  const clusters = [[1, 0, 0], [0, 0], [1, 1, 0, 0]];
  assertEquals(clusteredInterval(clusters), clusteredInterval(clusters, 0.95));
  assertEquals(clusteredInterval([[0], [1]], 0.99), { lower: 0, upper: 1 });
  assertEquals(clusteredInterval([[1], [1], [1]]), { lower: 1, upper: 1 });
});
