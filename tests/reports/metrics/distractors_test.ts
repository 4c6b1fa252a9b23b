import { assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import { record } from "../../support/records.ts";
import { recordsOf, tableOf, textsOf } from "../../support/reports.ts";

/** Ends of the trials on one core graph: 1 solved, 0 not, null invalid; by connected and disconnected functions. */
type Core = Readonly<Record<string, 0 | 1 | null>>;

function trialsOn(cores: readonly Core[], model = "m"): TrialSummary[] {
  return cores.flatMap((core, seed) =>
    Object.entries(core).map(([cell, end]) => {
      const [connected, disconnected] = cell.split(" ").map(Number) as [number, number];
      return summarize(record({
        model,
        task: { core: 3, depth: 2, connected, disconnected, seed },
        outcome: end === null ? "invalid" : end === 1 ? "solved" : "wrong_answer",
      }));
    })
  );
}

/** The effects in trials, by what they compare. */
const effectsOf = (trials: readonly TrialSummary[]) =>
  new Map(
    recordsOf("distractors", trials).map((one) => [
      `${one["irrelevant"]} against ${one["against"]}`,
      one as Readonly<Record<string, number>>,
    ]),
  );

/** The 97.5% quantile of Student's t, by its degrees of freedom, from printed tables. */
const T_975: Readonly<Record<number, number>> = { 5: 2.570582, 6: 2.446912 };

/** Student's interval of differences, with one gained and one lost added (Bonett and Price). */
function studentOf(differences: readonly number[]): [number, number] {
  const all = [...differences, 1, -1];
  const n = all.length;
  const mean = all.reduce((sum, one) => sum + one) / n;
  const variance = all.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1);
  const half = T_975[n - 1]! * Math.sqrt(variance / n);
  return [mean - half, mean + half];
}

const CORES: readonly Core[] = [
  { "0 0": 1, "10 0": 0, "20 0": 0, "5 5": 1, "0 10": 1, "0 20": 1 },
  { "0 0": 1, "10 0": 1, "20 0": 0, "5 5": 1, "0 10": 1, "0 20": 1 },
  { "0 0": 0, "10 0": 0, "20 0": 0, "5 5": 0, "0 10": 1, "0 20": 0 },
  { "0 0": 1, "10 0": 1, "20 0": 1, "5 5": 0, "0 10": 1, "0 20": 1 },
  // Invalid without irrelevant functions: nothing to compare with.
  { "0 0": null, "10 0": 1, "20 0": 1, "5 5": 1, "0 10": 1, "0 20": 1 },
];

Deno.test("measureDistractors() compares kinds and numbers core by core (FuncBenchGen 4.3)", () => {
  const effects = effectsOf(trialsOn(CORES));
  assertEquals([...effects.keys()], [
    "disconnected against no extra",
    "half and half against no extra",
    "connected against no extra",
    "half and half against disconnected",
    "connected against disconnected",
    "connected against half and half",
    "10 of any kind against no extra",
    "20 of any kind against no extra",
    "10 connected against no extra",
    "20 connected against no extra",
    "10 half and half against no extra",
    "10 disconnected against no extra",
    "20 disconnected against no extra",
  ]);
  const check = (name: string, differences: readonly number[], leftOut: number) => {
    const own = effects.get(name)!;
    assertEquals([own["units"], own["units_left_out"]], [differences.length, leftOut], name);
    const mean = differences.reduce((sum, one) => sum + one) / differences.length;
    assertAlmostEquals(own["difference"]!, mean, 1e-12, name);
    assertEquals(own["units_gained"], differences.filter((one) => one > 0).length, name);
    assertEquals(own["units_lost"], differences.filter((one) => one < 0).length, name);
    return [own["difference_lower"]!, own["difference_upper"]!] as const;
  };
  // Both numbers of connected functions, as a mean, less none.
  const connected = [0 - 1, 0.5 - 1, 0 - 0, 1 - 1];
  const bounds = check("connected against no extra", connected, 1);
  const [lower, upper] = studentOf(connected);
  assertAlmostEquals(bounds[0], Math.max(-1, lower), 1e-6);
  assertAlmostEquals(bounds[1], Math.min(1, upper), 1e-6);
  // Half and half has 10 only, so that it is held against 10 of the others.
  check("connected against half and half", [0 - 1, 1 - 1, 0 - 0, 1 - 0, 1 - 1], 0);
  check("connected against disconnected", [0 - 1, 0.5 - 1, 0 - 0.5, 1 - 1, 1 - 1], 0);
  check("20 of any kind against no extra", [0.5 - 1, 0.5 - 1, 0 - 0, 1 - 1], 1);
  // One trial each: Tango's interval, of no gained and one lost pair of four, from the score equation by hand.
  const once = check("10 connected against no extra", [-1, 0, 0, 0], 1);
  for (const bound of once) {
    assertAlmostEquals(scoreOf(0, 1, 4, bound) ** 2, 1.959964 ** 2, 1e-4);
  }
});

/** Tango's score of a difference, with the constrained maximum found on a grid. */
function scoreOf(gained: number, lost: number, pairs: number, difference: number): number {
  const likelihood = (q: number) => {
    const p = q + difference;
    const log = (count: number, chance: number) => count === 0 ? 0 : count * Math.log(chance);
    return p < 0 || q < 0 || p + q > 1
      ? -Infinity
      : log(gained, p) + log(lost, q) + log(pairs - gained - lost, 1 - p - q);
  };
  // The likelihood has one maximum: thirds are thrown away.
  let [from, to] = [Math.max(0, -difference), (1 - difference) / 2];
  for (let round = 0; round < 200; round++) {
    const third = (to - from) / 3;
    if (likelihood(from + third) < likelihood(to - third)) from += third;
    else to -= third;
  }
  const best = (from + to) / 2;
  const variance = pairs * (2 * best + difference * (1 - difference));
  return (gained - lost - pairs * difference) / Math.sqrt(variance);
}

Deno.test("measureDistractors() takes the mildest cell where none is without irrelevant functions", () => {
  const effects = effectsOf(trialsOn([
    { "10 0": 0, "0 10": 1, "0 20": 1 },
    { "10 0": 1, "0 10": 1, "0 20": 0 },
  ]));
  assertEquals([...effects.keys()], [
    "connected against disconnected",
    "20 of any kind against 10 of any kind",
    "10 connected against 10 disconnected",
    "20 disconnected against 10 disconnected",
  ]);
  assertEquals(effects.get("connected against disconnected")!["difference"], -0.5);
});

Deno.test("measureDistractors() has nothing of graphs that cells do not share, nor of what no model could solve", () => {
  const apart = trialsOn([{ "0 0": 1 }, { "10 0": 0 }, { "0 10": 1 }]);
  assertEquals(recordsOf("distractors", apart), []);
  assertEquals(tableOf("distractors", apart), undefined);
  const lost = trialsOn(CORES).map((trial) => ({ ...trial, unsolvable: "unlinked" as const }));
  assertEquals(recordsOf("distractors", lost), []);
});

Deno.test("the table of distractors has a row for each comparison of each model", () => {
  const table = tableOf("distractors", [
    ...trialsOn(CORES),
    ...trialsOn(CORES.slice(0, 2), "n"),
  ])!;
  const texts = textsOf(table);
  assertEquals([texts[0]!.slice(0, 8), texts[3]!.slice(0, 8)], [
    [
      ...["model", "irrelevant functions", "against", "core graphs", "left out"],
      ...["before", "with them", "difference"],
    ],
    ["m", "connected", "no extra", "4", "1", "75.0%", "37.5%", "-37.5"],
  ]);
  assertEquals(texts.length, 1 + 2 * 13);
  assertStringIncludes(table.note!, "on the same core graphs");
});
