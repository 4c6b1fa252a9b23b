import { assert, assertEquals, assertGreater, assertLess, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { canaryForecast } from "../../lib/runs/canary_forecast.ts";
import { clopperPearson } from "../../lib/statistics/proportions.ts";
import { ROOT } from "../support/child.ts";
import { toolgates } from "../support/command_line.ts";

const DESIGN = { rate: 0.9, reference: 1_000, trials: [50, 20, 200] };

Deno.test("canaryForecast() tells what is bet against, and by a seed in how many nights a drop is found", () => {
  const forecast = canaryForecast(DESIGN, 1);
  const { lower } = clopperPearson(900, 1_000, 0.95);
  assertEquals(forecast.reference, { trials: 1_000, rate: 0.9, lower });
  assertEquals([forecast.nullRate, forecast.threshold], [lower - 0.01, 7_300]);
  assertEquals(forecast.dropped, 0.85);
  assertEquals(Math.round(forecast.singleBet.trials), 3911);
  assertEquals(Math.round(forecast.singleBet.ofKnownRate!), 727);
  assertEquals(forecast.delays.map(({ trials }) => trials), [50, 20, 200]);
  for (const { median, most } of forecast.delays) assert(most! > median! && median! > 1);
  // References that show less than the true rate find it late: a tenth takes several times as long as half.
  for (const { median, most } of forecast.delays) assertGreater(most!, 3 * median!);
  const [planned, small, large] = forecast.delays.map(({ median }) => median!);
  assert(small! > planned! && planned! > large!);
  // Half of the drops are found within about 2,800 trials.
  assert(50 <= planned! && planned! <= 62, `${planned}`);
  assertEquals(canaryForecast(DESIGN, 1), forecast);
  assert(JSON.stringify(canaryForecast(DESIGN, 2)) !== JSON.stringify(forecast));
});

Deno.test("canaryForecast() tells how often there are false alarms: within the bound, and more often at the lowest rate that is no drift", () => {
  const { unchanged, atNullRate, bound } = canaryForecast(DESIGN).falseAlarms;
  assertEquals(bound, 0.05);
  assertLess(unchanged, 0.005);
  assertGreater(atNullRate, 0.01);
  assertLess(atNullRate, bound);
  // Of any of ten models, each with a threshold ten times as high.
  const family = canaryForecast({ ...DESIGN, trials: [50], models: 10 });
  assertEquals(family.threshold, 73_000);
  assertGreater(family.falseAlarms.atNullRate, 0.005);
  assertLess(family.falseAlarms.atNullRate, bound);
});

Deno.test("canaryForecast() finds a drop sooner after a larger reference, with less tolerance, and if it is larger", () => {
  const median = (design: object) =>
    canaryForecast({ ...DESIGN, trials: [50], ...design }).delays[0]!.median!;
  const base = median({});
  assertLess(median({ reference: 10_000 }), base);
  assertLess(median({ tolerance: 0 }), base);
  assertLess(median({ drop: 0.1 }), base);
  assertGreater(median({ models: 10 }), base);
});

Deno.test("canaryForecast() tells that a drop may take too long to wait for", () => {
  const [slow] = canaryForecast({ ...DESIGN, reference: 260, trials: [5] }).delays;
  assertEquals(slow, { trials: 5, median: null, most: null });
});

Deno.test("canaryForecast() refuses a reference that is too small for the drop, and a drop to nothing", () => {
  assertThrows(
    () => canaryForecast({ ...DESIGN, reference: 100 }),
    RangeError,
    "with so few trials: it takes at least about 230",
  );
  assertThrows(() => canaryForecast({ ...DESIGN, rate: 0.05 }), RangeError, "take a smaller drop");
  assertThrows(() => canaryForecast({ ...DESIGN, tolerance: 0.1 }), InputError, "tolerance");
});

Deno.test("toolgate plan --canary gives the figures of docs/gates.md", async () => {
  const text = Deno.readTextFileSync(`${ROOT}/docs/gates.md`).split("## Drift")[1]!.split(
    "\n## ",
  )[0]!;
  const rows = [...text.matchAll(/^\| +(\d+) \| +(\d+), (\d+) \| +(\d+), (\d+) \|$/gm)]
    .map((row) => row.slice(1).map(Number));
  const [few, many] = (await toolgates(["1000", "10000"].map((size) => [
    ...["plan", "--canary", "--trials", "20", "--json", "--reference-trials", size],
  ]))).map(({ stdout }) => JSON.parse(stdout));
  assertEquals(
    rows,
    [20, 50, 100, 200].map((trials, place) => [
      trials,
      ...[few, many].flatMap(({ delays }) => [delays[place].median, delays[place].most]),
    ]),
  );
});
