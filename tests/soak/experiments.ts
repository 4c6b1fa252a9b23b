// Experiments on simulated models whose errors depend on the context, whole: what they come to is what the tables of
// fixtures/README.md say.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import { PERTURBATION_METHODS } from "../../lib/perturbations/methods.ts";
import type { Report } from "../../lib/reports/report.ts";
import { dimensionTables } from "../../lib/reports/tables/_dimensions.ts";
import { errorHandlingTables } from "../../lib/reports/tables/_tool_use.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { FAULTS } from "../../lib/tools/fault.ts";
import { tableOf } from "../support/documents.ts";
import { breakdownOf, experiment, ratesOf, reportOn, trialsOf } from "../support/experiments.ts";

/**
 * As many graphs of each cell as tell what a model does that always does the same: all of them would tell it again.
 * Where chance decides, a table is of all graphs that the suite has.
 */
const FEW = 6;

Deno.test("the main grid: success falls with depth, and with connected functions core by core (FuncBenchGen 4.3)", async () => {
  // One core size shows as much.
  const report = await experiment("main_grid", { core: 10, graphs: 3 });
  assertEquals(report.trials, 270);
  const byDepth = [...ratesOf(breakdownOf(report, "depth-10")).values()];
  assertEquals(byDepth.length, 9);
  // Thirds of the curve, as each depth has few core graphs.
  const thirds = [0, 3, 6].map((at) => byDepth.slice(at, at + 3).reduce((sum, rate) => sum + rate));
  assertGreater(thirds[0]! - thirds[1]!, 0.45);
  assertGreater(thirds[0]! - thirds[2]!, 0.45);
  const byConnection = breakdownOf(report, "connection");
  const rates = ratesOf(byConnection);
  assertLess(rates.get("connected")!, rates.get("disconnected")! - 0.05);
  const counts = byConnection.series[0]!.tallies.map((tally) => tally!.valid);
  assertEquals(byConnection.values, ["no extra", "connected", "half and half", "disconnected"]);
  assertEquals(counts.reduce((sum, count) => sum + count), 270);
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
  const report = await experiment("mitigation", { graphs: 3 });
  for (const size of [5, 10]) {
    const breakdown = breakdownOf(report, `strategy-${size}`);
    assertEquals(breakdown.series.map(({ name }) => name), ["plain", "restate"]);
    const [baseline, restate] = breakdown.series.map(({ tallies }) => tallies[0]!);
    assertEquals(baseline!.valid, restate!.valid);
    assertLess(baseline!.rate!, restate!.rate! - 0.1);
  }
  const [{ graphs, cores, success }] = report.comparisons as [Report["comparisons"][number]];
  // 13 depths of three core graphs, each in four cells.
  assertEquals([graphs, cores], [39, true]);
  assertGreater(success!.interval!.lower, 0.4);
});

Deno.test("strategies: each helps against its own mistake, as the table of the fixtures says", async () => {
  const report = await experiment("strategies", {
    keep: ({ model, block }) => model !== "sim:planner" || block < FEW,
  });
  const { values, series } = breakdownOf(report, "strategy-5");
  const rows = series.map((
    { name, tallies },
  ) => [name, ...tallies.map((tally) => `${Math.round(100 * tally!.rate!)}%`)]);
  const table = tableOf("What strategies do");
  assertEquals(
    table[0]!.slice(1),
    values.map((name) => String(name).replace(/^sim:| \(sim.*$/g, "")),
  );
  assertEquals(tableOf("What strategies do").slice(2), rows);

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

Deno.test("perturbations: each breaks what it should, as the table of the fixtures says", async () => {
  const { brittleness, comparisons } = await experiment("perturbations", {
    // Which sums a planner understands depends on the question.
    keep: ({ model, perturbation, block }) =>
      model === "sim:noisy" || perturbation === "CP" || block < FEW,
  });
  const percent = (rate: number | null) => rate === null ? "-" : `${Math.round(100 * rate)}%`;
  const [planner, describing, typing, noisy] = brittleness;
  const rows = planner!.columns.map((column, place) => {
    const solvedBy = (one: typeof planner) => percent(one!.columns[place]!.solved.rate);
    const rateOf = (one: typeof planner, type: string) =>
      percent(one!.columns[place]!.failures.find((own) => own.type === type)!.rate);
    return [
      column.perturbation,
      ...[solvedBy(planner), percent(column.abstained.rate)],
      ...[solvedBy(describing), rateOf(describing, "task_deviation")],
      ...[solvedBy(typing), rateOf(typing, "specification_mismatch")],
      solvedBy(noisy),
    ];
  });
  assertEquals(tableOf("What perturbations do").slice(2), rows);
  assertEquals(rows.map(([id]) => id), ["none", ...PERTURBATION_METHODS]);

  const found = (perturbation: string, model = "sim:planner") =>
    comparisons.find(({ of, subject }) =>
      of === "perturbation" &&
      subject.model === model && subject.perturbation === perturbation
    )!.success!;
  for (const id of ["RD", "WD", "SD"]) {
    assertLess(found(id, "sim:planner?reads=descriptions").interval!.upper, -0.5, id);
  }
  assertLess(found("WT", "sim:planner?reads=types").interval!.upper, -0.5);
  for (const id of ["RD", "WD", "SD", "WT", "CO"]) {
    assertEquals([found(id).gained, found(id).lost], [0, 0]);
  }
  const columnOf = (id: string) =>
    planner!.columns.find(({ perturbation }) => perturbation === id)!;
  for (const id of ["RP_F", "RP_L"]) assertEquals(columnOf(id).abstained.rate, 1, id);
  assertEquals(columnOf("none").abstained.rate, 0);
});

Deno.test("faults: models recover as often as the table of the fixtures says", async () => {
  const { recovery } = await experiment("faults", {
    keep: ({ model, perturbation, block }) =>
      model === "sim:noisy gives up at times" || perturbation === "flaky" || block < FEW,
  });
  const percent = (share: number) => `${Math.round(100 * share)}%`;
  const [planner, meek, wavering, bold] = recovery;
  const rows = planner!.faults.map(({ fault, rate }, place) => {
    const { ends, episodes } = bold!.faults[place]!;
    return [
      fault,
      ...[rate!, meek!.faults[place]!.rate!, wavering!.faults[place]!.rate!].map(percent),
      percent(ends.hallucinated / episodes),
    ];
  });
  assertEquals(tableOf("What faults do").slice(2), rows);
  // What helps where a function is gone is another table.
  assertEquals(rows.map(([id]) => id), FAULTS.filter((id) => id !== "gone"));
});

Deno.test("error handling: each strategy gains what its own remedy is for, as the table of the fixtures says (Pipeline, Tool Call Success Rate by Error Handling Strategy)", async () => {
  const ran = await trialsOf("error_handling");
  const report = reportOn(ran);
  const [table] = errorHandlingTables(report);
  const [head, ...rows] = table!.rows;
  const short = (cell: string) => cell.replace(/, n \d+$/, "");
  assertEquals(
    tableOf("What error handling gains").slice(2),
    rows.map(([, strategy, ...cells]) => [
      strategy === "plain" ? "none" : strategy!,
      ...cells.map(short),
    ]),
  );
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
  const { plan: { trials, gate }, scores } = ran;
  const verdicts = reportVerdicts("error_handling", decideTrials(scores, trials, gate!), gate!);
  assertEquals([verdicts.exitCode, verdicts.verdicts.length], [0, 12]);
});
