// Drift canaries, simulated: the tables of "Drift" in docs/gates_proofs.md.

import { assertAlmostEquals, assertEquals } from "@std/assert";
import type { Prng } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { driftStakes, DriftSum, driftThreshold } from "../../lib/statistics/drift.ts";
import { clopperPearson } from "../../lib/statistics/proportions.ts";
import { textOf } from "../support/documents.ts";
import { binomialDraw, noiseOf } from "../support/error_rates.ts";

const [DROPS, YEARS, YEAR] = [1_000, 2_000, 365];
const DESIGN = { rate: 0.9, drop: 0.05, tolerance: 0.01, models: 1, reference: 1_000, trials: 50 };

/** What to expect of a canary. Each simulation of drops, and of years without one, draws a reference of its own. */
function forecast(changes: Partial<typeof DESIGN>) {
  const { rate, drop, tolerance, models, reference, trials } = { ...DESIGN, ...changes };
  const threshold = driftThreshold(YEAR, 0.05, models);
  const known = new Map<number, ReturnType<typeof betsAfter>>();
  const betsAfter = (solved: number) => {
    const nullRate = clopperPearson(solved, reference, 0.95).lower - tolerance;
    return { nullRate, stakes: driftStakes(nullRate, solved / reference, drop) };
  };
  const drawn = (prng: Prng) => {
    const solved = binomialDraw(prng(), reference, rate);
    return known.getOrInsertComputed(solved, betsAfter);
  };
  /** Days until an alarm, `Infinity` without one, in ascending order. */
  const alarms = (purpose: string, count: number, most: number, truth: number, bets = drawn) => {
    const { prng } = fork(1, "canary", purpose, trials);
    return Array.from({ length: count }, () => {
      const { nullRate, stakes } = bets(prng);
      if (stakes.length === 0) return Infinity;
      const watched = new DriftSum(nullRate, stakes);
      for (let day = 1; day <= most; day++) {
        const solved = binomialDraw(prng(), trials, truth);
        if (watched.add([[1, solved], [0, trials - solved]]) >= threshold) return day;
      }
      return Infinity;
    }).sort((one, other) => one - other);
  };
  /** The share of years with a false alarm of any model. */
  const years = (truth: number, bets = drawn) => {
    const found = alarms(`year at ${truth}`, YEARS, YEAR, truth, bets).indexOf(Infinity);
    return 1 - (found < 0 ? 0 : 1 - found / YEARS) ** models;
  };
  const expected = betsAfter(rate * reference);
  return {
    /** Days until half of the drops are found, and 90%. */
    days() {
      const found = alarms("drop", DROPS, 5 * YEAR, rate - drop);
      return [0.5, 0.9].map((share) => found[share * DROPS - 1]!);
    },
    /** At a rate that never changed, and at the lowest that is no drift. */
    false: () => [years(rate), years(expected.nullRate, () => expected)],
    /** Mean trials of a bet that knew the lower rate, against the lowest one that is no drift. */
    delay() {
      const [dropped, { nullRate }] = [rate - drop, expected];
      const divergence = dropped * Math.log(dropped / nullRate) +
        (1 - dropped) * Math.log((1 - dropped) / (1 - nullRate));
      return Math.log(threshold) / divergence;
    },
  };
}

/** The rows of a table of the section, by their first cells. */
function rowsOf(head: string): Map<string, string[]> {
  const text = textOf("docs/gates_proofs.md").split("\n## Drift\n")[1]!.split("\n## ")[0]!;
  const rows = text.split("\n\n").find((part) => part.startsWith(`| ${head}`))!.trim().split("\n");
  return new Map(
    rows.slice(2).map((row) => {
      const [name, ...cells] = row.split("|").slice(1, -1).map((cell) => cell.trim());
      return [name!, cells];
    }),
  );
}

/** Days as the tables print them, from cells such as `55, 314`; other seeds give up to a quarter more or less. */
function assertDays(cell: string, days: readonly number[]): void {
  for (const [place, told] of cell.split(", ").entries()) {
    if (days[place] === Infinity) assertEquals(told, "over 1,825");
    else assertAlmostEquals(Number(told), days[place]!, days[place]! / 4, cell);
  }
}

Deno.test("a drop is found within the days that docs/gates_proofs.md says", () => {
  const rows = rowsOf("trials a day");
  assertEquals([...rows.keys()], ["20", "50", "100", "200"]);
  for (const [trials, cells] of rows) {
    for (const [place, reference] of [1_000, 10_000].entries()) {
      assertDays(cells[place]!, forecast({ reference, trials: Number(trials) }).days());
    }
  }
  const delays = [1_000, 10_000].map((reference) => forecast({ reference }).delay());
  assertEquals(delays.map((trials) => Number(trials.toPrecision(2))), [3_900, 1_600]);
});

Deno.test("other settings change days and false alarms as docs/gates_proofs.md says", () => {
  const changes: Record<string, Partial<typeof DESIGN>> = {
    "none": {},
    "a drop of 10 points, and `drop: 0.1`": { drop: 0.1 },
    "`tolerance: 0`": { tolerance: 0 },
    "10 `models`, one of which drops": { models: 10 },
    "from 80% to 75%": { rate: 0.8 },
    "a reference of 300 trials": { reference: 300 },
    "a reference of 10,000 trials": { reference: 10_000 },
  };
  const rows = rowsOf("change");
  assertEquals([...rows.keys()], Object.keys(changes));
  for (const [name, [days, ...shares]] of rows) {
    const made = forecast(changes[name]!);
    assertDays(days!, made.days());
    for (const [place, share] of made.false().entries()) {
      const error = noiseOf(share, YEARS) + 0.0005;
      assertAlmostEquals(parseFloat(shares[place]!) / 100, share, error, name);
    }
  }
});
