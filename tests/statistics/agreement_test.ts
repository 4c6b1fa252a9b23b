import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreaterOrEqual,
  assertThrows,
} from "@std/assert";
import { fork } from "../../lib/base/random.ts";
import { cohenKappa } from "../../lib/statistics/agreement.ts";

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
      for (let round = 0; round < 1_000; round++) {
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
      // Three standard errors of the simulation below 95%.
      assertGreaterOrEqual(
        covered / defined,
        0.93,
        `${items} items, ${[both, one, other, neither]}`,
      );
    }
  }
});

Deno.test("cohenKappa() is the same for exchanged raters and exchanged categories", () => {
  const [one, other, exchanged] = [[[31, 12], [4, 58]], [[31, 4], [12, 58]], [[58, 4], [12, 31]]]
    .map((table) => cohenKappa(table)!);
  for (const name of ["kappa", "standardError", "lower", "upper"] as const) {
    assertAlmostEquals(one![name], other![name], 1e-12);
    assertAlmostEquals(one![name], exchanged![name], 1e-12);
  }
});

Deno.test("cohenKappa() refuses what is no table of counts", () => {
  for (
    const table of [[], [[1]], [[1, 2]], [[1, 2], [3]], [[0, 0], [0, 0]], [[1, -1], [2, 3]], [[
      1,
      .5,
    ], [2, 3]]]
  ) {
    assertThrows(() => cohenKappa(table), RangeError, "square table");
  }
  for (const confidence of [0, 1, NaN]) {
    assertThrows(() => cohenKappa([[1, 2], [3, 4]], confidence), RangeError, "confidence");
  }
});
