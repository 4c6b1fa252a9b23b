// The paper's experiments on simulated models whose errors depend on the context: the curves that
// reports show must have the shapes that these models are made to give.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { planSuiteFile } from "../support/suites.ts";
import { readJsonc } from "../../lib/base/input.ts";
import { modelName } from "../../lib/models/entry.ts";
import type { Breakdown } from "../../lib/reports/metrics/_breakdown.ts";
import { makeReport, type Report } from "../../lib/reports/report.ts";
import { dimensionTables } from "../../lib/reports/tables/_dimensions.ts";
import { errorHandlingTables } from "../../lib/reports/tables/_tool_use.ts";
import { Run } from "../../lib/runs/run.ts";
import { truthsOf } from "../../lib/simulated/truth.ts";
import { type Grid, SUITE } from "../../lib/runs/suite.ts";
import { ROOT } from "../support/child.ts";
import { tableOf } from "../support/documents.ts";
import { inProcess } from "../support/in_process.ts";

/** Runs a suite of the project and reports on it; a server between the models and their trials adds only time. */
async function experiment(name: string, core?: number): Promise<Report> {
  const path = `${ROOT}/fixtures/suites/${name}.jsonc`;
  const suite = readJsonc(path, SUITE);
  const [first] = suite.tasks as readonly [Grid];
  const tasks = core === undefined ? suite.tasks : [{ ...first, core }];
  const plan = planSuiteFile({ ...suite, tasks }, path);
  const truths = truthsOf(plan.callSets ?? []);
  using run = new Run(plan, {
    connect: (entry) => ({
      ...inProcess(entry.model, undefined, truths),
      name: modelName(entry),
    }),
  });
  const { resolved: { models, seed } } = plan;
  return makeReport(await run.scores(), { suite: name, seed, models, planned: plan.trials.length });
}

function breakdownOf({ breakdowns }: Report, id: string): Breakdown {
  const found = breakdowns.find((breakdown) => breakdown.id === id);
  assert(found !== undefined, `there is no breakdown ${id}`);
  return found;
}

/** The rates of the one series of a breakdown, by its values. */
function ratesOf(breakdown: Breakdown, series = 0): Map<number | string, number> {
  return new Map(
    breakdown.values.map((
      value,
      place,
    ) => [value, breakdown.series[series]!.tallies[place]!.rate!]),
  );
}

Deno.test("the main grid: success falls with depth, and with connected functions core by core (FuncBenchGen 4.3)", async () => {
  // One core size tells as much.
  const report = await experiment("main_grid", 10);
  assertEquals(report.trials, 450);
  const byDepth = [...ratesOf(breakdownOf(report, "depth-10")).values()];
  assertEquals(byDepth.length, 9);
  // Thirds of the curve, as each depth has five core graphs only.
  const thirds = [0, 3, 6].map((at) => byDepth.slice(at, at + 3).reduce((sum, rate) => sum + rate));
  assertGreater(thirds[0]! - thirds[1]!, 0.45);
  assertGreater(thirds[0]! - thirds[2]!, 0.45);
  const byConnection = breakdownOf(report, "connection");
  const rates = ratesOf(byConnection);
  assertLess(rates.get("connected")!, rates.get("disconnected")! - 0.05);
  const counts = byConnection.series[0]!.tallies.map((tally) => tally!.valid);
  assertEquals(byConnection.values, ["no extra", "connected", "half and half", "disconnected"]);
  assertEquals(counts.reduce((sum, count) => sum + count), 450);
  // On the same core graphs connected functions are proved to harm this model, and others are not.
  const effects = report.distractors!.filter(({ irrelevant: { number }, against }) =>
    number === null && against.kind === "no extra"
  );
  assertEquals(effects.map(({ irrelevant }) => irrelevant.kind), [
    "disconnected",
    "half and half",
    "connected",
  ]);
  const [disconnected, , connected] = effects.map(({ success }) => success!);
  assertLess(connected!.interval!.upper, 0);
  assertGreater(disconnected!.interval!.upper, 0);
});

Deno.test("mitigation: a model that forgets is helped by values that are restated", async () => {
  const report = await experiment("mitigation");
  for (const size of [5, 10]) {
    const breakdown = breakdownOf(report, `strategy-${size}`);
    assertEquals(breakdown.series.map(({ name }) => name), ["baseline", "restate"]);
    const [baseline, restate] = breakdown.series.map(({ tallies }) => tallies[0]!);
    assertEquals(baseline!.valid, restate!.valid);
    assertLess(baseline!.rate!, restate!.rate! - 0.1);
  }
  const [{ graphs, cores, success }] = report.comparisons as [Report["comparisons"][number]];
  // 13 depths of five core graphs, each in four cells.
  assertEquals([graphs, cores], [65, true]);
  assertGreater(success!.interval!.lower, 0.4);
});

Deno.test("strategies: each helps against its own mistake, as the table of the fixtures says", async () => {
  const report = await experiment("strategies");
  const { values, series } = breakdownOf(report, "strategy-5");
  const rows = series.map((
    { name, tallies },
  ) => [name, ...tallies.map((tally) => `${Math.round(100 * tally!.rate!)}%`)]);
  const table = tableOf("What strategies do");
  assertEquals(
    table[0]!.slice(1),
    values.map((name) => String(name).replace(/^sim:| \(sim.*$/g, "")),
  );
  assertEquals(table.slice(2), rows);

  const found = (model: string, strategy: string) =>
    report.comparisons.find(({ subject }) =>
      subject.model === model && subject.strategy === strategy
    )!;
  for (
    const [model, strategy] of [
      ["sim:noisy mistakes variables", "restate"],
      ["sim:noisy copies badly", "indirection"],
      ["sim:noisy drops arguments", "repair"],
    ]
  ) {
    const { interval, mcNemar } = found(model!, strategy!).success!;
    assertGreater(interval!.lower, 0.1, `${model} with ${strategy}`);
    assertLess(mcNemar!.exact, 0.001, `${model} with ${strategy}`);
  }
  const perfect = report.comparisons.filter(({ subject }) => subject.model === "sim:planner");
  assertEquals(perfect.map(({ success }) => success!.candidate), perfect.map(() => 1));
});

Deno.test("call_set_strategies: functions that another model picked help, as the table of the fixtures says (CallNavi 7.1)", async () => {
  const { callSets } = await experiment("call_set_strategies");
  const rowsOf = (wanted: string) =>
    callSets.find(({ mode }) => mode === wanted)!.rows
      .filter(({ subject }) => subject.model === "sim:truth takes wrong functions");
  const [routing, calls] = [rowsOf("routing"), rowsOf("parameters")];
  const share = (rate: number | null) => `${Math.round(100 * rate!)}%`;
  assertEquals(
    tableOf("What helps with questions").slice(2),
    routing.map(({ subject, scores }, place) => [
      subject.strategy,
      share(scores.routing.all),
      share(calls[place]!.scores.exact.all),
    ]),
  );
  const exact = new Map(calls.map(({ subject, scores }) => [subject.strategy, scores.exact.all!]));
  assertGreater(exact.get("routed by another")!, exact.get("baseline")! + 0.2);
});

Deno.test("dimensions: models score as the table of the fixtures says", async () => {
  const [table] = dimensionTables(await experiment("dimensions"));
  const scores = Map.groupBy(table!.rows.slice(1), ([, dimension]) => dimension!.split(",")[0]!);
  const rows = [...scores].map(([dimension, models]) => [
    dimension,
    ...models.map(([, name, score, interval]) =>
      score + (interval === "-" ? "" : ` (${interval})`) + name!.slice(dimension.length)
    ),
  ]);
  assertEquals(tableOf("Scores of the five dimensions").slice(2), rows);
});

Deno.test("error handling: each strategy gains what its own remedy is for, as the table of the fixtures says (Pipeline, Tool Call Success Rate by Error Handling Strategy)", async () => {
  const report = await experiment("error_handling");
  const [table] = errorHandlingTables(report);
  const [head, ...rows] = table!.rows;
  const short = (cell: string) => cell.replace(/, n \d+$/, "");
  assertEquals(tableOf("What error handling gains").slice(2), [
    ...rows.map(([, strategy, ...cells]) => [
      strategy === "baseline" ? "none" : strategy!,
      ...cells.map(short),
    ]),
  ]);
  assertEquals(head!.slice(2), [
    ...["no fault", "rate_limit", "timeout", "gone", "arguments mended", "overall"],
  ]);
  const [none, retry, fix, all] = report.errorHandling.map(({ faults }) =>
    new Map(faults.map((own) => [own.perturbation, own.interval!]))
  );
  const isBetter = (one: typeof none, other: typeof none, fault: string) =>
    one!.get(fault)!.lower > other!.get(fault)!.upper;
  assertEquals(
    [
      isBetter(retry, none, "timeout"),
      isBetter(fix, retry, "timeout"),
      isBetter(fix, none, "none"),
      isBetter(all, fix, "gone"),
    ],
    [true, true, true, true],
  );
});
