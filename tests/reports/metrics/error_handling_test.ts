import { assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { measureErrorHandling } from "../../../lib/reports/metrics/_error_handling.ts";
import { measureLatency } from "../../../lib/reports/metrics/_latency.ts";
import { mendingOf } from "../../../lib/reports/metrics/metrics.ts";
import { errorHandlingTables, latencyTables } from "../../../lib/reports/tables/_tool_use.ts";
import { workTable } from "../../../lib/reports/tables/_strategies.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import { renderMarkdown } from "../../../lib/reports/markdown.ts";
import { renderReport } from "../../../lib/reports/terminal.ts";
import { summarize, type TrialSummary } from "../../../lib/trials/summary.ts";
import type { RepairEvent } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";
import { callEvent, manyRecords, record, type TrialTraits } from "../../support/records.ts";

const summaries = (solved: number, trials: number, traits: TrialTraits) =>
  manyRecords(solved, trials, traits).map(summarize);

/** Wilson's interval as its paper has it. */
function wilsonBounds(solved: number, trials: number): [lower: number, upper: number] {
  const z = 1.959963984540054;
  const rate = solved / trials;
  const centre = rate + z * z / (2 * trials);
  const reach = z * Math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials));
  const whole = 1 + z * z / trials;
  return [(centre - reach) / whole, (centre + reach) / whole];
}

Deno.test("measureErrorHandling() has success by strategy and fault, and over all of them (Pipeline, Tool Call Success Rate by Error Handling Strategy)", () => {
  const counts = { plain: [18, 2], "repair+retry": [20, 15] } as const;
  const trials = Object.entries(counts).flatMap(([strategy, [plain, faulty]]) => [
    ...summaries(plain, 20, { strategy }),
    ...summaries(faulty, 20, { strategy, perturbation: "timeout" }),
    ...summaries(3, 20, { strategy, perturbation: "RD" }),
    ...summaries(1, 2, { strategy, perturbation: "timeout", outcome: "invalid" }),
  ]);
  const rows = measureErrorHandling(trials);
  assertEquals(rows.map(({ subject }) => [subject.strategy, subject.perturbation]), [
    ["plain", "none"],
    ["repair+retry", "none"],
  ]);
  for (const [place, [plain, faulty]] of Object.values(counts).entries()) {
    const { faults, overall } = rows[place]!;
    assertEquals(faults.map(({ perturbation }) => perturbation), ["none", "timeout"]);
    for (const [at, solved] of [plain, faulty].entries()) {
      const { of, rate, interval } = faults[at]!;
      assertEquals([of, rate], [20, solved / 20]);
      const [lower, upper] = wilsonBounds(solved, 20);
      assertAlmostEquals(interval!.lower, lower, 1e-9);
      assertAlmostEquals(interval!.upper, upper, 1e-9);
    }
    // Both are on the same graphs, which are the units of the interval.
    assertEquals([overall.of, overall.count], [40, plain + faulty]);
    const [lower, upper] = wilsonBounds(plain + faulty, 40);
    assertEquals(overall.interval!.upper - overall.interval!.lower === upper - lower, false);
  }
});

Deno.test("measureErrorHandling() is nothing without faults, or with one strategy that met them", () => {
  const none = { strategy: "retry" };
  assertEquals(measureErrorHandling(summaries(2, 4, { perturbation: "timeout" })), []);
  assertEquals(measureErrorHandling([...summaries(2, 4, {}), ...summaries(2, 4, none)]), []);
  const other = [...summaries(2, 4, { perturbation: "timeout+RD" })];
  assertEquals(
    measureErrorHandling([...other, ...summaries(2, 4, { ...none, perturbation: "timeout+RD" })]),
    [],
  );
});

/** The summary of a trial whose calls were sent back; true where they were mended. */
function sentBack(seed: number, ...mended: boolean[]): TrialSummary {
  const events = mended.map((isMended): RepairEvent => ({
    kind: "repair",
    function: "f",
    arguments: "{}",
    error: "x is missing",
    attempts: 2,
    ...(isMended ? { repaired: '{"x":1}' } : {}),
  }));
  return summarize(record({ seed, events, strategy: "repair" }));
}

Deno.test("mendingOf() is the share of the calls sent back that were mended, over tasks (Pipeline, Key Takeaways)", () => {
  assertEquals(mendingOf([summarize(record())]), null);
  const single = [true, true, true, false].map((isMended, place) => sentBack(place + 1, isMended));
  const { mean, interval, count } = mendingOf(single)!;
  assertEquals([mean, count], [0.75, 4]);
  const [lower, upper] = wilsonBounds(3, 4);
  assertAlmostEquals(interval!.lower, lower, 1e-9);
  assertAlmostEquals(interval!.upper, upper, 1e-9);
  // Calls of one task are not independent: the interval is wider than of as many tasks.
  const joined = mendingOf([
    ...[1, 2, 3].map((seed) => sentBack(seed, true, true, true, true)),
    ...[4, 5, 6].map((seed) => sentBack(seed, false, false, false, false)),
  ])!;
  assertEquals([joined.mean, joined.count, joined.units], [0.5, 24, 6]);
  const [low, high] = wilsonBounds(12, 24);
  assertEquals(joined.interval!.upper - joined.interval!.lower > high - low, true);
});

Deno.test("the tables have the shares with their intervals, and what was mended", () => {
  const trials = [
    ...summaries(2, 4, { perturbation: "timeout" }),
    ...[true, false].map((isMended, place) => ({
      ...sentBack(place + 1, isMended),
      perturbation: "timeout",
    })),
  ];
  const report = makeReport(trials, { suite: "s" });
  assertEquals(errorHandlingTables(report)[0]!.rows, [
    ["model", "strategy", "timeout", "arguments mended", "overall"],
    ["m", "plain", "50.0% (15.0% to 85.0%), n 4", "-", "50.0% (15.0% to 85.0%), n 4"],
    [
      ...["m", "repair"],
      "100.0% (34.2% to 100.0%), n 2",
      "50.0% (9.5% to 90.5%), n 2",
      "100.0% (34.2% to 100.0%), n 2",
    ],
  ]);
  // Such runs are for this table, so that it is directly behind the headline and the matrix.
  const titles = (text: string) =>
    text.match(/^(?:## )?(?:Success(?! by cell)|Work)\b.*$/gm)!.map((line) => line.split(" (")[0])
      .slice(0, 2);
  const title = "Success by error-handling strategy";
  assertEquals(titles(renderMarkdown(report)), ["## Success", `## ${title}`]);
  assertEquals(titles(renderReport(report)), ["Success", title]);
  const four = ["a", "b", "c", "d"].flatMap((requested) =>
    trials.map((trial) => ({ ...trial, model: { ...trial.model, requested } }))
  );
  const brief = renderReport(makeReport(four, { suite: "s" }));
  assertEquals(titles(brief), ["Success", title]);
  assertMatch(brief, /^model +strategy +timeout .*\na {6}plain +50.0%, n 4 /m);
  const [head, row] = workTable(report.subjects)[0]!.rows;
  assertEquals(row![head!.indexOf("share mended")], "50.0% (9.5% to 90.5%)");
});

/** A trial whose tools ran for so long. */
function timed(
  calls: readonly (readonly [tool: string, durationMs?: number])[],
  traits: TrialTraits = {},
) {
  const events = calls.map(([tool, durationMs], place) =>
    callEvent(place + 1, { function: tool, ...(durationMs === undefined ? {} : { durationMs }) })
  );
  return summarize(record({ events, ...traits }));
}

Deno.test("measureLatency() has median and 95th percentile of each tool's own time (Pipeline, Structured Output for Tool Invocation)", () => {
  const [one, two, ...others] = measureLatency([
    timed([["slow", 40], ["fast", 1], ["slow", 10], ["refused"]]),
    timed([["slow", 20]], { seed: 2 }),
    timed([["slow", 999]], { seed: 3, outcome: "invalid" }),
    timed([["refused"]], { seed: 4 }),
    timed([["slow", 7]], { strategy: "retry" }),
  ]);
  assertEquals(others, []);
  assertEquals(one!.tools, [
    { tool: "fast", calls: 1, median: 1, p95: 1, longest: 1 },
    { tool: "slow", calls: 3, median: 20, p95: 40, longest: 40 },
  ]);
  assertEquals([two!.subject.strategy, two!.tools[0]!.median], ["retry", 7]);
  const durations = fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 60 });
  fc.assert(fc.property(durations, (times) => {
    const [metrics] = measureLatency([timed(times.map((time) => ["t", time]))]);
    const { median, p95, longest } = metrics!.tools[0]!;
    for (const [value, share] of [[median, 0.5], [p95, 0.95], [longest, 1]] as const) {
      const within = (limit: number) => times.filter((time) => time <= limit).length / times.length;
      // The least of the times that this share does not exceed.
      assertEquals(times.includes(value) && within(value) >= share, true);
      assertEquals(within(value - 1) < share, true);
    }
  }));
});

Deno.test("the table of latencies has a row for each tool, and none for generated functions", () => {
  const report = makeReport([timed([["slow", 1234], ["slow", 2]])], { suite: "s" });
  assertEquals(latencyTables(report)[0]!.rows, [
    ["model", "tool", "calls", "median", "95th percentile", "longest"],
    ["m", "slow", "2", "2 ms", "1,234 ms", "1,234 ms"],
  ]);
  assertEquals(latencyTables(makeReport([timed([["func_a"]])], { suite: "s" })), []);
});

Deno.test("measureErrorHandling() leaves out trials that no model could solve, as all rates of success do", () => {
  const trials = ["plain", "retry"].flatMap((strategy) => [
    ...summaries(4, 4, { strategy }),
    ...summaries(0, 4, { strategy, perturbation: "permission_denied" })
      .map((trial) => ({ ...trial, unsolvable: "denied" as const })),
  ]);
  const [plain] = measureErrorHandling(trials);
  assertEquals(plain!.faults.map(({ of, rate }) => [of, rate]), [[4, 1], [0, null]]);
  assertEquals([plain!.overall.of, plain!.overall.rate], [4, 1]);
});
