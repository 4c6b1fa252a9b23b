// Series of releases, simulated: what comparing with the anchor as well as with the last accepted release achieves.
// Runs without counters of lines.

import { assert, assertAlmostEquals, assertEquals, assertLess, assertThrows } from "@std/assert";
import {
  freshSampleSize,
  mostDiscordance,
  type SeriesDesign,
  simulateSeries,
} from "../../lib/gate/series.ts";
import { binomialDraw, binomialProbability } from "../../lib/statistics/distributions.ts";
import { pairedGatePower } from "../../lib/statistics/paired_sample_size.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";

const SERIES = drawsOf(10_000);
const error = (share: number) => noiseOf(share, SERIES);

/** Five releases, with the graphs that an upgrade gate needs by default. */
const DESIGN = { rate: 0.8, margin: 0.05, confidence: 0.95, rule: "anchor and last" } as const;
const SHARED = { ...DESIGN, graphs: 875, discordance: 0.2 };
const FRESH = { ...DESIGN, graphs: 1386 };
const slide = (step: number, releases = 5) =>
  Array.from({ length: releases }, (_, place) => step * (place + 1));
const level = (drop: number, releases = 5) => new Array<number>(releases).fill(drop);

Deno.test("simulateSeries() accepts the first release as often as the exact gate does", () => {
  for (const drop of [0, 0.015, 0.03, 0.05]) {
    const exact = pairedGatePower(875, 0.05, 0.2, -drop, 0.95);
    const { accepted: [first] } = simulateSeries({ ...SHARED, drops: [drop] }, SERIES);
    assertAlmostEquals(first!, exact, error(exact), `${drop}`);
  }
  // Where the rate leaves less room for loose graphs, a worse release also differs on more graphs.
  const exact = pairedGatePower(500, 0.05, 0.18, 0, 0.95);
  const tight: SeriesDesign = { ...SHARED, rate: 0.9, graphs: 500, discordance: 0.18, drops: [0] };
  assertAlmostEquals(simulateSeries(tight, SERIES).decisions, exact, error(exact));
});

Deno.test("simulateSeries() with the last accepted release alone lets a series slide below the margin", () => {
  // The fifth release is 7.5 points below the first, at a margin of 5 points.
  const drops = slide(0.015);
  const { accepted, all } = simulateSeries({ ...SHARED, drops, rule: "last" }, SERIES);
  // If each comparison had trials of its own, all five would pass in 24% of series. Neighbours share the trials of the
  // release between them: where these were lucky it passes more easily, and its successor less.
  const each = pairedGatePower(875, 0.05, 0.2, -0.015, 0.95);
  assertAlmostEquals(each ** 5, 0.24, 0.01);
  assertAlmostEquals(accepted[0]!, each, error(each));
  assertAlmostEquals(all, 0.18, error(0.18));
  assertAlmostEquals(accepted[4]!, 0.21, error(0.21));
  const own = simulateSeries({ ...FRESH, drops, rule: "last" }, SERIES);
  assertAlmostEquals(own.all, 0.087, error(0.087));
  assertAlmostEquals(own.accepted[4]!, 0.12, error(0.12));
});

Deno.test("simulateSeries() with the anchor as well stops the slide at the margin", () => {
  for (const design of [SHARED, FRESH]) {
    const { accepted, all } = simulateSeries({ ...design, drops: slide(0.015) }, SERIES);
    // The fourth is 6 points below, the fifth 7.5.
    for (const share of accepted.slice(3)) assertLess(share, 0.05 + error(0.05));
    assertLess(all, 0.005);
    // At the margin itself, however the releases before came there.
    const { accepted: [, , , , edge] } = simulateSeries({ ...design, drops: slide(0.01) }, SERIES);
    assertLess(edge!, 0.05 + error(0.05));
  }
});

Deno.test("simulateSeries() accepts a release that is the margin below the anchor in 5% of decisions", () => {
  for (const design of [SHARED, FRESH]) {
    const { accepted, decisions, any } = simulateSeries(
      { ...design, drops: level(0.05, 10) },
      SERIES,
    );
    for (const share of accepted) assertLess(share, 0.05 + error(0.05));
    assertAlmostEquals(decisions, 0.05, error(0.05));
    // They share the trials of the anchor, so that errors come together: in fewer series than 40%.
    assertLess(any, 1 - 0.95 ** 10 - 0.1);
    assert(any > 0.05 + error(0.05));
    const alone = simulateSeries({ ...design, drops: level(0.05, 10), rule: "last" }, SERIES);
    assert(alone.accepted[9]! > 0.15);
  }
});

Deno.test("simulateSeries() keeps to its seed, and draws the same series for either rule", () => {
  const design: SeriesDesign = { ...SHARED, drops: slide(0.015) };
  const [one, same, other] = [1, 1, 2].map((seed) => simulateSeries(design, 500, seed));
  assertEquals(one, same);
  assert(one!.decisions !== other!.decisions);
});

Deno.test("simulateSeries() lets firm graphs go where no loose ones are left", () => {
  // One release that fails everything is accepted in no series, and so is one far below.
  for (const drop of [0.3, 0.8]) {
    const { any } = simulateSeries({ ...SHARED, margin: 0.2, drops: [drop] }, SERIES);
    assertLess(any, 0.01);
  }
  // A release that is 25 points below solves 55%: it passes at a margin of 35 points, and the next, 45 below, does so
  // against it, but not against the first.
  const wide: SeriesDesign = { ...SHARED, margin: 0.35, drops: [0.25, 0.45] };
  const both = simulateSeries(wide, SERIES);
  assertEquals([both.accepted[0]! > 0.95, both.accepted[1]! < 0.05], [true, true]);
  const last = simulateSeries({ ...wide, rule: "last" }, SERIES);
  assert(last.accepted[1]! > 0.95);
  // At a high rate loose graphs have the same one: an anchor at 90% solves more than 86%.
  const high: SeriesDesign = {
    ...SHARED,
    rate: 0.9,
    discordance: 0.18,
    margin: 0.86,
    drops: [0.9],
  };
  assertEquals(simulateSeries(high, SERIES).any, 0);
});

Deno.test("simulateSeries() refuses designs that cannot be", () => {
  const wrong: [Partial<SeriesDesign>, string][] = [
    [{ rate: 1 }, "rate must be between 0 and 1"],
    [{ graphs: 0 }, "graphs must be a whole number from 1 on"],
    [{ drops: [] }, "there must be a release after the first"],
    [{ drops: [0.1, 0.05] }, "drops must not fall"],
    [{ drops: [0.9] }, "drops must not fall"],
    [{ discordance: 0.33 }, "discordance must be above 0 and at most 0.32"],
  ];
  for (const [change, words] of wrong) {
    const design = { ...SHARED, drops: [0], ...change };
    assertThrows(() => simulateSeries(design), RangeError, words);
  }
  assertEquals(mostDiscordance(0.5), 0.5);
});

Deno.test("freshSampleSize() has the power that it is asked for, and one graph fewer has not", () => {
  const options = { confidence: 0.95, power: 0.8 };
  for (const [rate, margin] of [[0.8, 0.05], [0.98, 0.05], [0.5, 0.1]] as const) {
    const graphs = freshSampleSize(rate, margin, options);
    const powerOf = (graphs: number) =>
      simulateSeries({ ...DESIGN, rate, margin, graphs, drops: [0] }, SERIES).decisions;
    assertLess(0.8 - error(0.8), powerOf(graphs));
    assertLess(powerOf(graphs - 1), 0.8 + error(0.8));
    assertLess(powerOf(Math.floor(0.9 * graphs)), 0.8);
  }
});

Deno.test("binomialDraw() cuts [0, 1) into the probabilities of all counts", () => {
  for (
    const [trials, rate] of [[0, 0.3], [1, 0.5], [7, 0.2], [12, 1], [9, 0], [40, 0.93]] as const
  ) {
    const places = 100_000;
    const counts = new Array<number>(trials + 1).fill(0);
    for (let place = 0; place < places; place++) {
      counts[binomialDraw((place + 0.5) / places, trials, rate)]!++;
    }
    for (const [count, seen] of counts.entries()) {
      assertAlmostEquals(seen / places, binomialProbability(count, trials, rate), 2 / places);
    }
  }
  assertEquals(binomialDraw(1 - Number.EPSILON / 2, 1000, 0.5) <= 1000, true);
});
