// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreaterOrEqual,
  assertThrows,
} from "@std/assert";
import { drawsOf, noiseOf } from "../support/error_rates.ts";
import { fork } from "../../lib/base/random.ts";
import { cohenKappa } from "../../lib/statistics/agreement.ts";
import { pearson } from "../../lib/statistics/correlation.ts";
import fc from "../support/fast_check.ts";

Deno.test("cohenKappa() gives the numbers of published tables", () => {
  /** Table, kappa, standard error, and digits to which they are printed. */
  const table: [number[][], kappa: number, error: number, digits: number][] = [
    // ci.kappa of the R package statpsych, by Fleiss and Paik, "Statistical Methods for Rates and Proportions", 2003.
    [[[31, 12], [4, 58]], 0.6756757, 0.07344761, 7],
    // SexualFun (Agresti 1990, Table 2.10): Kappa of the R package vcd.
    [[[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]], 0.1293, 0.0686, 4],
  ];
  for (const [counts, kappa, error, digits] of table) {
    const found = cohenKappa(counts)!;
    assertAlmostEquals(found.kappa, kappa, 10 ** -digits);
    assertAlmostEquals(found.standardError, error, 10 ** -digits);
  }
  // The upper limit that statpsych prints; the lower one is here that of exact agreement, which reaches further.
  const { lower, upper } = cohenKappa([[31, 12], [4, 58]])!;
  assertAlmostEquals(upper, 0.8196303, 1e-7);
  assert(lower < 0.531721 && lower > 0.45);
  // Raters who disagree more than by chance.
  assertEquals(cohenKappa([[0, 5], [5, 0]])!.kappa, -1);
});

Deno.test("cohenKappa() is undefined where both raters use one category, and no other", () => {
  assertEquals(cohenKappa([[10, 0], [0, 0]]), null);
  assertEquals(cohenKappa([[0, 0, 0], [0, 0, 0], [0, 0, 7]]), null);
  // Either of them alone always uses one.
  for (const table of [[[6, 0], [4, 0]], [[6, 4], [0, 0]]]) {
    const constant = cohenKappa(table)!;
    assertEquals([constant.kappa, constant.standardError], [0, 0]);
  }
});

Deno.test("the interval of cohenKappa() holds at its confidence, however few the items", () => {
  const { prng: random } = fork(7, "kappa");
  const shares = [[.45, .05, .05, .45], [.7, .05, .05, .2], [.85, .03, .05, .07], [
    .48,
    .02,
    .02,
    .48,
  ]];
  for (const items of [10, 20, 50]) {
    for (const [both, one, other, neither] of shares as [number, number, number, number][]) {
      const observed = both + neither;
      const byChance = (both + one) * (both + other) + (other + neither) * (one + neither);
      const truth = (observed - byChance) / (1 - byChance);
      let [defined, covered] = [0, 0];
      const rounds = drawsOf(5_000);
      for (let round = 0; round < rounds; round++) {
        const counts = [0, 0, 0, 0];
        for (let item = 0; item < items; item++) {
          const place = random();
          counts[place < both ? 0 : place < both + one ? 1 : place < 1 - neither ? 2 : 3]!++;
        }
        const [a, b, c, d] = counts as [number, number, number, number];
        const found = cohenKappa([[a, b], [c, d]]);
        if (found === null) continue;
        defined++;
        if (found.lower <= truth && truth <= found.upper) covered++;
      }
      assertGreaterOrEqual(
        covered / defined,
        0.95 - noiseOf(0.05, rounds),
        `${items} items, ${[both, one, other, neither]}`,
      );
    }
  }
});

Deno.test("cohenKappa() refuses a confidence that is none", () => {
  for (const confidence of [0, 1, NaN]) {
    assertThrows(() => cohenKappa([[1, 2], [3, 4]], confidence), RangeError, "confidence");
  }
});

/** Table 4 of the CallNavi paper, all 17 rows in order: "All Avg." and "GPT Score". */
const EXACT = [
  ...[0.711, 0.710, 0.604, 0.245, 0.134, 0.181, 0.160, 0.015, 0.222],
  ...[0.182, 0.162, 0.229, 0.047, 0.042, 0.0, 0.124, 0.329],
];
const JUDGED = [
  ...[0.913, 0.908, 0.876, 0.583, 0.400, 0.476, 0.417, 0.082, 0.524],
  ...[0.488, 0.422, 0.554, 0.271, 0.353, 0.002, 0.254, 0.518],
];

Deno.test("pearson() of the paper's table is what the paper says, over all of its rows (CallNavi 6.4)", () => {
  const { r, p, n } = pearson(EXACT, JUDGED)!;
  assertEquals([r.toFixed(3), p.toExponential(2), n], ["0.934", "4.40e-8", 17]);
  // Without any one of the rows it is another p.
  for (const left of EXACT.keys()) {
    const others = pearson(EXACT.toSpliced(left, 1), JUDGED.toSpliced(left, 1))!;
    assert(others.p.toExponential(2) !== "4.40e-8");
  }
});

Deno.test("pearson() agrees with scipy", () => {
  const range = (length: number, of: (place: number) => number) =>
    Array.from({ length }, (_, place) => of(place));
  const known: [number[], number[], r: number, p: number][] = [
    [[1, 2, 3], [1, 2, 4], 0.9819805060619655, 0.12103771832367739],
    [[1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8, 0.10408803866182782],
    [
      [0.1, 0.2, 0.3, 0.4],
      [1e9 + 1, 1e9 + 3, 1e9 + 2, 1e9 + 5],
      0.8315218406203,
      0.1684781593797,
    ],
    [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1.5], -0.996078416265654, 2.3038073815037618e-5],
    [
      range(100, (x) => x),
      range(100, (x) => x + (x * 37) % 11),
      0.9939887596321537,
      5.800136353637439e-96,
    ],
  ];
  for (const [xs, ys, r, p] of known) {
    const found = pearson(xs, ys)!;
    assertAlmostEquals(found.r, r, 1e-12);
    assertAlmostEquals(found.p / p, 1, 1e-10);
    assertEquals(found.n, xs.length);
  }
});

Deno.test("pearson() is null where nothing can correlate", () => {
  const nothing: [number[], number[]][] = [
    [[], []],
    [[1, 2], [1, 2]],
    [[1, 2, 3], [0.1, 0.1, 0.1]],
    [[0.1, 0.1, 0.1], [1, 2, 3]],
  ];
  for (const [xs, ys] of nothing) assertEquals(pearson(xs, ys), null);
});

Deno.test("pearson() is 1 or -1, surely, along a line", () => {
  for (const slope of [2, -0.5]) {
    const xs = [3, 1, 4, 1.5, 9];
    const { r, p } = pearson(xs, xs.map((x) => slope * x + 7))!;
    assertAlmostEquals(r, Math.sign(slope), 1e-15);
    assert(p < 1e-15, `${p}`);
  }
  // The mean has more digits than there are.
  const far = [1, 2, 4, 10].map((x) => 2 ** 52 + x);
  assertAlmostEquals(pearson(far, [1, 2, 4, 10])!.r, 1, 1e-15);
});

const numbers = fc.array(
  fc.tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: -50, max: 50 })),
  {
    minLength: 3,
    maxLength: 20,
  },
);

Deno.test("pearson() stays the same when lists are swapped, shifted or scaled, and turns when one is", () => {
  fc.assert(fc.property(numbers, fc.constantFrom(1e-200, 0.25, 3, 1e200), (pairs, scale) => {
    const [xs, ys] = [pairs.map(([x]) => x), pairs.map(([, y]) => y)];
    const found = pearson(xs, ys);
    if (found === null) {
      assert(new Set(xs).size === 1 || new Set(ys).size === 1);
      return;
    }
    const { r, p } = found;
    assert(Math.abs(r) <= 1 && p >= 0 && p <= 1);
    const swapped = pearson(ys, xs)!;
    const scaled = pearson(xs.map((x) => x * scale), ys.map((y) => y + 1_000))!;
    const turned = pearson(xs.map((x) => -x), ys)!;
    for (const [other, sign] of [[swapped, 1], [scaled, 1], [turned, -1]] as const) {
      assertAlmostEquals(other.r, sign * r, 1e-12);
      assertAlmostEquals(other.p, p, 1e-6);
    }
  }));
});
