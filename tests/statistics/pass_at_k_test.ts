// Statistics of repeated graphs: pass@k, pass^k, and intervals by clusters.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreaterOrEqual,
  assertLessOrEqual,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  clusteredInterval,
  clusteredStandardError,
  passAtK,
  passHatK,
} from "../../lib/statistics/pass_at_k.ts";
import fc from "../support/fast_check.ts";
import { pairs } from "../support/generated.ts";

const confidences = fc.double({ min: 0.51, max: 0.999, noNaN: true });

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

Deno.test("passAtK() and passHatK() are certain where too few failed, or were solved", () => {
  assertEquals([passAtK(2, 5, 4), passHatK(2, 5, 4)], [1, 0]);
  assertEquals([passAtK(0, 5, 4), passHatK(5, 5, 4)], [0, 1]);
  assert(Object.is(passHatK(2, 5, 4), 0), "a zero with a sign");
});

Deno.test("passAtK() of one trial is the rate, of more trials it grows, and passHatK() shrinks", () => {
  fc.assert(
    fc.property(pairs(2_000), ([solved, , valid]) => {
      const rate = solved / valid;
      assertAlmostEquals(passAtK(solved, valid, 1)!, rate, 1e-12);
      assertAlmostEquals(passHatK(solved, valid, 1)!, rate, 1e-12);
      let [some, every] = [rate, rate];
      for (const k of [2, 3, Math.ceil(valid / 2), valid].sort((one, other) => one - other)) {
        if (k > valid) continue;
        // None of k is solved exactly when all of k fail.
        const next = passAtK(solved, valid, k)!;
        assertAlmostEquals(next, 1 - passHatK(valid - solved, valid, k)!, 1e-12);
        assertGreaterOrEqual(next, some - 1e-12);
        assertLessOrEqual(passHatK(solved, valid, k)!, every + 1e-12);
        [some, every] = [next, passHatK(solved, valid, k)!];
      }
    }),
    { numRuns: 200 },
  );
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

Deno.test("clusteredStandardError() of clusters of one is the usual standard error", () => {
  const values = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1];
  const error = clusteredStandardError(values.map((value) => [value]))!;
  assertAlmostEquals(error, Math.sqrt(0.7 * 0.3 / 9), 1e-12);
});

Deno.test("clusteredStandardError() does not shrink when every trial is copied", () => {
  const once = clusteredStandardError([[1], [0], [1], [1]])!;
  const copied = clusteredStandardError([[1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]])!;
  assertAlmostEquals(copied, once, 1e-12);
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

Deno.test("clusteredInterval() lies around the mean, as far as the standard error says", () => {
  const clusters = fc.array(fc.array(fc.integer({ min: 0, max: 4 }).map((part) => part / 4)));
  fc.assert(
    fc.property(clusters, confidences, (drawn, confidence) => {
      const bounds = clusteredInterval(drawn, confidence);
      assertEquals(bounds === null, clusteredStandardError(drawn) === null);
      if (bounds === null) return;
      const mean = drawn.flat().reduce((sum, value) => sum + value, 0) / drawn.flat().length;
      assertLessOrEqual(bounds.lower, mean + 1e-12);
      assertGreaterOrEqual(bounds.upper, mean - 1e-12);
      if (bounds.lower > 0 && bounds.upper < 1) {
        assertAlmostEquals(mean - bounds.lower, bounds.upper - mean, 1e-12);
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("clusteredInterval() is not available below two filled clusters", () => {
  for (const clusters of [[], [[1, 0, 1]], [[1, 0], []]]) {
    assertEquals(clusteredInterval(clusters), null);
  }
});
