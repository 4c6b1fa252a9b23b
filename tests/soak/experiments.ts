// Experiments on simulated models whose errors depend on the context, whole: what they come to is what the tables of
// fixtures/README.md say.

import { assertEquals, assertGreater, assertLess } from "@std/assert";
import type { JsonValue } from "../../lib/base/json.ts";
import { PERTURBATION_METHODS } from "../../lib/perturbations/methods.ts";
import { percent } from "../../lib/base/numbers.ts";
import { boundsText } from "../../lib/reports/columns.ts";
import { mendingOf } from "../../lib/reports/metrics/_effort.ts";
import type { Report } from "../../lib/reports/report.ts";
import { tablesOf } from "../../lib/reports/_views.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { FAULTS } from "../../lib/tools/fault.ts";
import { tableOf } from "../support/documents.ts";
import { breakdownOf, experiment, ratesOf, reportOn, trialsOf } from "../support/experiments.ts";
import { having, recordsIn, tablesIn, textsOf } from "../support/reports.ts";

/**
 * As many graphs of each cell as tell what a model does that always does the same: all of them would tell it again.
 * Where chance decides, a table is of all graphs that the suite has.
 */
const FEW = 6;

Deno.test("distractors: success falls with depth, and with connected functions core by core (FuncBenchGen 4.3)", async () => {
  // One core size shows as much.
  const report = await experiment("distractors", { core: 10, graphs: 3 });
  assertEquals(report.trials.length, 270);
  const byDepth = [...ratesOf(breakdownOf(report, "depth-10")).values()];
  assertEquals(byDepth.length, 9);
  // Thirds of the curve, as each depth has few core graphs.
  const thirds = [0, 3, 6].map((at) => byDepth.slice(at, at + 3).reduce((sum, rate) => sum + rate));
  assertGreater(thirds[0]! - thirds[1]!, 0.45);
  assertGreater(thirds[0]! - thirds[2]!, 0.45);
  const byConnection = breakdownOf(report, "connection");
  const rates = ratesOf(byConnection);
  assertLess(rates.get("connected")!, rates.get("disconnected")! - 0.05);
  assertEquals([...rates.keys()], ["no extra", "connected", "half and half", "disconnected"]);
  assertEquals(byConnection.reduce((sum, one) => sum + Number(one["solved_of"]), 0), 270);
  // On the same core graphs connected functions are proved to harm this model, and others are not.
  const effects = recordsIn(report, "distractors").filter(({ irrelevant, against }) =>
    against === "no extra" && !/\d/.test(String(irrelevant))
  );
  assertEquals(effects.map(({ irrelevant }) => irrelevant), [
    "disconnected",
    "half and half",
    "connected",
  ]);
  const [disconnected, , connected] = effects.map((one) => Number(one["difference_upper"]));
  assertLess(connected!, 0);
  assertGreater(disconnected!, 0);
});

Deno.test("the main grid and distractors come to what the table of the fixtures says", async () => {
  const columns = await Promise.all(["main_grid", "distractors"].map(async (name) => {
    const report = await experiment(name);
    const solved = (id: string, value: JsonValue) => {
      const { solved: rate, solved_lower: lower, solved_upper: upper } = breakdownOf(report, id)
        .find((one) => one["value"] === value)!;
      return `${percent(Number(rate))} (${percent(Number(lower))} to ${percent(Number(upper))})`;
    };
    const effects = recordsIn(report, "distractors");
    const effect = (irrelevant: string) => {
      const [found] = having(effects, { irrelevant, against: "no extra" });
      if (found === undefined) return "-";
      const [difference, lower, upper] = ["", "_lower", "_upper"]
        .map((end) => (100 * Number(found[`difference${end}`])).toFixed(1));
      return `${difference} (${lower} to ${upper})`;
    };
    return [
      ...[solved("core", 10), ...[1, 6].map((depth) => solved("depth-10", depth))],
      ...[solved("connection", "no extra"), solved("connection", "connected")],
      ...[effect("connected"), effect("disconnected")],
    ];
  }));
  const [, , ...rows] = tableOf("What pairing costs");
  assertEquals(
    rows.map((row) => row.slice(1)),
    columns[0]!.map((one, place) => [one, columns[1]![place]!]),
  );
});

Deno.test("mitigation: a model that forgets is helped by values that are restated", async () => {
  const report = await experiment("mitigation", { graphs: 3 });
  for (const size of [5, 10]) {
    const breakdown = breakdownOf(report, `strategy-${size}`);
    assertEquals(breakdown.map(({ series }) => series), ["plain", "restate"]);
    const [baseline, restate] = breakdown;
    assertEquals(baseline!["solved_of"], restate!["solved_of"]);
    assertLess(Number(baseline!["solved"]), Number(restate!["solved"]) - 0.1);
  }
  const [{ graphs, success }] = report.comparisons as [Report["comparisons"][number]];
  // 52 cells of three graphs.
  assertEquals(graphs, 156);
  assertGreater(success!.interval!.lower, 0.4);
});

Deno.test("strategies: each helps against its own mistake, as the table of the fixtures says", async () => {
  const report = await experiment("strategies", {
    keep: ({ model, block }) => model !== "sim:planner" || block < FEW,
  });
  const points = breakdownOf(report, "strategy-5");
  const rows = [...Map.groupBy(points, ({ series }) => series)].map(([name, own]) => [
    name,
    ...own.map(({ solved }) => `${Math.round(100 * Number(solved))}%`),
  ]);
  const [head, , ...table] = tableOf("What strategies do");
  assertEquals(
    head!.slice(1),
    [...ratesOf(points).keys()].map((name) => String(name).replace(/^sim:| \(sim.*$/g, "")),
  );
  assertEquals<unknown>(table, rows);

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
  const [table] = tablesIn(await experiment("dimensions"), "dimensions");
  const rows = [...Map.groupBy(textsOf(table!).slice(1), ([, dimension]) => dimension)]
    .map(([dimension, models]) => [
      dimension,
      ...models.map(([, , score, interval]) => score + (interval === "-" ? "" : ` (${interval})`)),
    ]);
  assertEquals(tableOf("Scores of the five dimensions").slice(2), rows);
});

Deno.test("perturbations: each breaks what it should, as the table of the fixtures says", async () => {
  const report = await experiment("perturbations", {
    // Which sums a planner understands depends on the question.
    keep: ({ model, perturbation, block }) =>
      model === "sim:noisy" || perturbation === "CP" || block < FEW,
  });
  const percent = (rate: JsonValue | undefined) =>
    typeof rate === "number" ? `${Math.round(100 * rate)}%` : "-";
  const [effects, rates] = ["perturbations", "failure-rates"].map((id) => recordsIn(report, id));
  const planner = having(effects!, { model: "sim:planner" });
  const rows = planner.map(({ perturbation, task_accuracy, abstained }) => {
    const solvedBy = (model: string) =>
      percent(having(effects!, { model, perturbation: perturbation! })[0]!["task_accuracy"]);
    const rateOf = (model: string, failure: string) =>
      percent(having(rates!, { model, perturbation: perturbation!, failure })[0]!["rate"]);
    const [describing, typing] = ["sim:planner?reads=descriptions", "sim:planner?reads=types"];
    return [
      ...[perturbation, percent(task_accuracy), percent(abstained)],
      ...[solvedBy(describing!), rateOf(describing!, "task_deviation")],
      ...[solvedBy(typing!), rateOf(typing!, "specification_mismatch")],
      ...[solvedBy("sim:noisy"), rateOf("sim:noisy", "hallucination_name")],
    ];
  });
  assertEquals(tableOf("What perturbations do").slice(2), rows);
  assertEquals(rows.map(([id]) => id), ["none", ...PERTURBATION_METHODS]);

  const found = (perturbation: string, model = "sim:planner") =>
    report.comparisons.find(({ of, subject }) =>
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
  const abstainedUnder = (id: string) =>
    planner.find(({ perturbation }) => perturbation === id)!["abstained"];
  for (const id of ["RP_F", "RP_L"]) assertEquals(abstainedUnder(id), 1, id);
  assertEquals(abstainedUnder("none"), 0);
});

Deno.test("perturbed questions: texts and optional parameters fail, as the table of the fixtures says", async () => {
  const report = await experiment("perturbed_questions");
  const model = { model: "sim:truth errs" };
  const rates = having(recordsIn(report, "failure-rates"), model);
  const effects = having(recordsIn(report, "perturbations"), model);
  const shown = (share: JsonValue | undefined) => percent(Number(share));
  const rows = effects.map(({ perturbation, task_accuracy, accuracy_of_solved, ...effect }) => [
    ...[perturbation, shown(task_accuracy)],
    accuracy_of_solved === null ? "-" : shown(accuracy_of_solved),
    ...["hallucination_name", "redundant_information", "task_deviation"]
      .map((failure) => shown(having(rates, { perturbation: perturbation!, failure })[0]!["rate"])),
    ...["several_failures", "similar_texts"]
      .map((id) => effect[id] === null ? "-" : shown(effect[id])),
  ]);
  assertEquals(tableOf("What fails where texts are given").slice(2), rows);
  const tools = having(recordsIn(report, "parameter-failures"), { ...model, perturbation: "none" });
  assertEquals(new Set(tools.map(({ tool }) => tool)).size, 4);
});

Deno.test("faults: models recover as often as the table of the fixtures says", async () => {
  const report = await experiment("faults", {
    keep: ({ model, perturbation, block }) =>
      model === "sim:noisy gives up at times" || perturbation === "flaky" || block < FEW,
  });
  const percent = (share: number) => `${Math.round(100 * share)}%`;
  const byFault = Map.groupBy(recordsIn(report, "recovery"), ({ fault }) => String(fault));
  const rows = [...byFault].map(([fault, own]) => {
    // A planner, one that gives up, one that does at times, and one that makes results up.
    const { hallucinated, episodes } = own[3]!;
    return [
      fault,
      ...own.slice(0, 3).map(({ right }) => percent(Number(right))),
      percent(Number(hallucinated) / Number(episodes)),
    ];
  });
  assertEquals(tableOf("What faults do").slice(2), rows);
  // What helps where a function is gone is another table.
  assertEquals(rows.map(([id]) => id), FAULTS.filter((id) => id !== "gone"));
});

Deno.test("error handling: each strategy gains what its own remedy is for, as the table of the fixtures says (Pipeline, Tool Call Success Rate by Error Handling Strategy)", async () => {
  const ran = await trialsOf("error_handling");
  const report = reportOn(ran);
  const [table] = tablesOf(report).filter(({ id }) => id === "error-handling");
  const [head, ...rows] = textsOf(table);
  const mended = (strategy: string) => {
    const own = mendingOf(report.trials.filter((trial) => trial.strategy === strategy));
    return own.value === null ? "-" : `${percent(own.value)} (${boundsText(own.interval)})`;
  };
  const short = (cell: string) => cell.replace(/ of \d+/, "");
  assertEquals(
    tableOf("What error handling gains").slice(2),
    rows.map(([, strategy, ...cells]) => [
      strategy === "plain" ? "none" : strategy!,
      ...cells.slice(0, -1).map(short),
      ...[mended(strategy!), short(cells.at(-1)!)],
    ]),
  );
  assertEquals(head!.slice(2), ["no fault", "rate_limit", "timeout", "gone", "overall"]);
  const bounds = Map.groupBy(recordsIn(report, "error-handling"), (one) => one["strategy"]);
  const [none, retry, fix, all] = [...bounds.values()].map((own) =>
    new Map(
      own.map((one) => [one["fault"], [Number(one["solved_lower"]), Number(one["solved_upper"])]]),
    )
  );
  const isBetter = (one: typeof none, other: typeof none, fault: string) =>
    one!.get(fault)![0]! > other!.get(fault)![1]!;
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
