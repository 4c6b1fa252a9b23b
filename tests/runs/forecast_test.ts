// Runs without counters of lines.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotMatch,
  assertThrows,
} from "@std/assert";
import { estimateUsage, forecastCost } from "../../lib/runs/cost_forecast.ts";
import {
  type Forecast,
  forecast,
  planWarnings,
  sequentialChances,
} from "../../lib/runs/forecast.ts";
import { InputError } from "../../lib/base/errors.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { pairedDetectableEffect, rateDetectableEffect } from "../../lib/statistics/sample_size.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { cityPlan } from "../support/call_sets.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

const RATE = { successRate: 0.8 };
const UPGRADE = { baseline: "a" };
/** Tools in which a perturbation finds something to change. */
const RICH = [tool({
  ...{ name: "a", description: "A", returns: 1 },
  parameters: {
    type: "object",
    properties: { x: { type: "number", description: "The number" } },
    required: ["x"],
  },
})];
const USAGE = { inputTokens: 2_000, outputTokens: 100 };

/** The plan of a gate, with two cells and two models. */
function planOf(gate: GatePolicy | undefined, traits: Partial<Suite> = {}) {
  return planSuite({
    name: "forecast",
    seed: 1,
    tasks: [{ core: [2, 3], depth: 1 }],
    models: ["a", "b"],
    ...(gate === undefined ? {} : { gate }),
    ...traits,
  });
}

function forecastOf(gate: GatePolicy, traits: Partial<Suite> = {}): Forecast {
  return forecast(planOf(gate, traits))!;
}

Deno.test("forecast() of a plan without a gate is none", () => {
  assertEquals(forecast(planOf(undefined)), undefined);
});

Deno.test("forecast() tells what so many graphs can tell apart", () => {
  const { graphs, detectable, lines, warnings } = forecastOf(RATE, { graphs: 378 });
  assertEquals([graphs, detectable, warnings], [756, rateDetectableEffect(756, 0.8), []]);
  assertEquals(lines, [
    "756 graphs of a model tell a success rate of 80.0% from one that is 5 points lower",
  ]);
  const none = forecastOf({ successRate: 0.1, margin: 0.01 }, { graphs: 1 });
  assertEquals(none.detectable, null);
  assertEquals(none.lines, ["2 graphs of a model tell a success rate of 10.0% from no lower one"]);
});

Deno.test("forecast() tells what so many graphs show of two models that are alike", () => {
  const { graphs, detectable, lines, warnings } = forecastOf(UPGRADE, { graphs: 438 });
  assertEquals([graphs, detectable, warnings], [876, pairedDetectableEffect(876, 0.2), []]);
  assertEquals(lines, [
    "876 graphs tell two models that are alike from a drop of 5 points, where one in 5 graphs is " +
    "solved by only one of them",
  ]);
  const few = forecastOf({ ...UPGRADE, discordance: 0.3 }, { graphs: 1 });
  assertEquals(few.lines, [
    "2 graphs are too few to tell two models that are alike from any drop, where one in 3.3 graphs " +
    "is solved by only one of them",
  ]);
});

Deno.test("forecast() warns of a gate that cannot pass, and says how many graphs would do", () => {
  const [warning, ...others] = forecastOf(RATE, { graphs: 5 }).warnings;
  assertEquals([warning, others], [
    "the gate cannot pass: not even if all 10 graphs were solved. It takes graphs: 378 (756 over " +
    "2 cells), or a larger margin, or sequential: true, which plans the size itself",
    [],
  ]);
  assertEquals(forecastOf(UPGRADE, { graphs: 5 }).warnings, [
    "the gate cannot pass: not even if both solved all 10 graphs. It takes graphs: 438 (875 over " +
    "2 cells), or a larger margin, or sequential: true, which plans the size itself",
  ]);
  // Eleven solved graphs are the first to prove 75%.
  const one = { tasks: [{ core: 2, depth: 1 }] };
  const cannot = (graphs: number) =>
    forecastOf(RATE, { ...one, graphs }).warnings[0]!.startsWith("the gate cannot pass");
  assertEquals([cannot(10), cannot(11)], [true, false]);
});

Deno.test("forecast() warns of a gate that a good model would seldom pass", () => {
  assertEquals(forecastOf(RATE, { graphs: 50 }).warnings, [
    "the gate is too small for its margin of 5 points: a model at exactly 80.0% would pass with " +
    "27.1%, fail with 3.4% and be undecided with 69.5%. It takes graphs: 378 (756 over 2 cells), " +
    "or a larger margin, or sequential: true, which plans the size itself",
  ]);
  assertEquals(forecastOf(UPGRADE, { graphs: 50 }).warnings, [
    "the gate is too small for its margin of 5 points: a model as good as the baseline would pass " +
    "with 28.9%. It takes graphs: 438 (875 over 2 cells), or a larger margin, or sequential: true, " +
    "which plans the size itself",
  ]);
});

Deno.test("forecast() has nothing to warn of where its own advice was taken", () => {
  const policies: GatePolicy[] = [
    RATE,
    { successRate: 0.95, margin: 0.02, confidence: 0.9 },
    { successRate: 0.6, margin: 0.2, power: 0.7 },
    { successRate: 1, margin: 0.1 },
    { ...UPGRADE, margin: 0.1 },
    { ...UPGRADE, margin: 0.08, discordance: 0.1, power: 0.8 },
  ];
  for (const policy of policies) {
    const [warning] = forecastOf(policy, { graphs: 2 }).warnings;
    const graphs = Number(/It takes graphs: (\d+)/.exec(warning!)![1]);
    assertEquals(forecastOf(policy, { graphs }).warnings, [], JSON.stringify(policy));
  }
});

Deno.test("forecast() does not take repetitions for further graphs", () => {
  const { graphs, detectable, lines, warnings } = forecastOf(RATE, { graphs: 20, repetitions: 3 });
  assertEquals([graphs, detectable, warnings], [40, rateDetectableEffect(40, 0.8), []]);
  assert(lines[0]!.endsWith(" lower, at least if their repetitions differ"), lines[0]);
  const few = forecastOf(RATE, { graphs: 2, repetitions: 3 });
  assert(few.warnings[0]!.startsWith("the gate cannot pass: not even if all 4 graphs"));
});

Deno.test("forecast() promises no number of graphs where none is certain to be enough", () => {
  for (const gate of [{ ...RATE, margin: 0 }, { ...UPGRADE, margin: 0 }]) {
    const [warning] = forecastOf(gate, { graphs: 50 }).warnings;
    assert(warning!.endsWith("With margin 0 no number of graphs is certain to be enough"), warning);
  }
  // More than ten million trials.
  for (const gate of [{ ...RATE, margin: 0.00001 }, { ...UPGRADE, margin: 0.00001 }]) {
    const [warning] = forecastOf(gate, { graphs: 3 }).warnings;
    assert(warning!.endsWith("certain to be enough: choose another margin"), warning);
  }
});

Deno.test("forecast() of a sequential gate tells its size, and what it will probably take", () => {
  for (const gate of [{ ...RATE, sequential: true }, { ...UPGRADE, sequential: true }]) {
    const plan = planOf(gate);
    const { fixedSize, largestSize } = plan.rule!;
    const { graphs, detectable, lines, warnings, expectedShare } = forecast(plan)!;
    assertEquals([graphs, detectable, warnings], [largestSize, 0.05, []]);
    const [, most, good, bad, fixed] =
      /^a sequential gate, of at most (\d+) graphs of a model: about (\d+) if it is (?:at 80.0%|as good as the baseline), (\d+) if it is (?:at 75.0%|5 points below it); a gate of fixed size takes (\d+)$/
        .exec(lines[0]!)!.map(Number);
    assertEquals([most, fixed], [largestSize, fixedSize]);
    // About half of the fixed size, as the design has measured.
    for (const expected of [good!, bad!]) {
      assertGreater(expected, 0.4 * fixedSize);
      assertLess(expected, 0.6 * fixedSize);
    }
    assertAlmostEquals(expectedShare!, Math.max(good!, bad!) / largestSize, 1e-3);
    assertEquals(forecast(plan)!.lines, lines, "a forecast is not drawn anew");
  }
});

Deno.test("sequentialChances() are those at the two hypotheses, and keep their errors", () => {
  for (const gate of [{ successRate: 0.9, power: 0.8 }, { ...UPGRADE, margin: 0.1 }]) {
    const policy = completePolicy({ ...gate, sequential: true } as GatePolicy);
    const rule = sequentialRule(policy, 1);
    const { good, bad } = sequentialChances(policy, rule, 500);
    const most = (error: number) => error + 3 * Math.sqrt(error * (1 - error) / 500);
    assertLess(good.fail, most(1 - policy.power));
    assertLess(bad.pass, most(0.05));
    assertGreater(good.pass, 0.7);
    assertGreater(bad.fail, 0.7);
    for (const { pass, fail, undecided, units } of [good, bad]) {
      assertAlmostEquals(pass + fail + undecided, 1, 1e-12);
      assertLess(units, rule.fixedSize);
    }
  }
});

Deno.test("sequentialChances() simulates fewer gates where each takes many graphs, which would take minutes", () => {
  const policy = completePolicy({ successRate: 0.8, margin: 0.01, sequential: true });
  const { good } = sequentialChances(policy, sequentialRule(policy, 1));
  assertAlmostEquals(good.pass * 113, Math.round(good.pass * 113), 1e-9);
  assertGreater(good.pass, 0.8);
});

Deno.test("estimateUsage() grows with the tasks, and does not depend on models and repetitions", () => {
  const usageOf = (core: number, traits: Partial<Suite> = {}) =>
    estimateUsage(planOf(undefined, { tasks: [{ core, depth: 1 }], ...traits }));
  const [small, large] = [usageOf(2), usageOf(12)];
  assertGreater(small.inputTokens, 100);
  assertGreater(large.inputTokens, 2 * small.inputTokens);
  assertGreater(large.outputTokens, small.outputTokens);
  assert(Number.isInteger(small.inputTokens) && Number.isInteger(small.outputTokens));
  assertEquals(usageOf(2, { repetitions: 3 }), small);
  assertEquals(usageOf(2, { models: [{ model: "m", name: "named" }] }), small);
  // Each call reads all of it again.
  const calls = usageOf(2, { tasks: [{ core: 2, depth: 1, disconnected: 10 }] });
  assertGreater(large.inputTokens, 4 * calls.inputTokens);
  // More functions to read take more, though the calls are the same.
  const cluttered = estimateUsage(
    planOf(undefined, { tasks: [{ core: 2, depth: 1, disconnected: 20 }] }),
  );
  assertGreater(cluttered.inputTokens, small.inputTokens);
  assertEquals(cluttered.outputTokens, small.outputTokens);
  // Calls that a fault hits are made again.
  const faulty = usageOf(2, { perturbations: ["timeout:4"] });
  assertGreater(faulty.inputTokens, small.inputTokens);
});

Deno.test("forecastCost() is a line a model, by its own price and its share of the trials", () => {
  const prices = { a: { input: 1, output: 10 }, named: { input: 0, output: 0.001 } };
  const models = ["a", { model: "b", name: "named" }];
  const plan = planOf(undefined, { graphs: 50, models, prices });
  assertEquals(forecastCost(plan, USAGE), [
    "a: about $0.30 for 100 trials",
    "named: about $0.000010 for 100 trials",
  ]);
});

Deno.test("forecastCost() of a sequential gate tells what it will probably take, and the most", () => {
  const prices = { a: { input: 1, output: 10 }, b: { input: 0, output: 0 } };
  const plan = planOf({ ...RATE, sequential: true }, { prices });
  const told = forecast(plan)!;
  const [line] = forecastCost(plan, USAGE, told);
  const { largestSize } = plan.rule!;
  const most = 0.003 * largestSize;
  const expected = told.expectedShare! * most;
  assertEquals(
    line,
    `a: about $${expected.toFixed(2)} if it stops early, at most $${most.toFixed(2)} for ` +
      `${largestSize} trials`,
  );
  assertEquals(forecastCost(plan, USAGE)[0], line);
});

Deno.test("planning calls no function that makes something for a trial, and tells that it is not counted", () => {
  const never = (): never => {
    throw new Error("a server would have been started");
  };
  const all = { name: "own", prompt: "Do it.", tools: RICH, assert() {} };
  for (
    const [own, unmade] of [
      [{ state: never }, undefined],
      [{ state: never, tools: never }, true],
      [{ state: never, prompt: never }, true],
    ] as const
  ) {
    const plan = planSuite({
      ...{ name: "own", seed: 1, tasks: [], models: ["a"], perturbations: ["RD"] },
      gate: { ...RATE, margin: 0.2, sequential: true },
      prices: { a: { input: 1, output: 1 } },
    }, {
      tasks: {
        cells: () => [{ case: "own" }],
        open: caseOpener(() => ({ ...all, ...own })),
      },
    });
    const usage = estimateUsage(plan);
    assertEquals(usage.unmade, unmade);
    assertGreater(usage.inputTokens, 0);
    const [line] = forecastCost(plan, usage);
    assertEquals(
      line!.includes("what is made for each trial, such as its tools, is not"),
      !!unmade,
    );
    assertEquals(planWarnings(plan).filter((one) => one.includes("nothing to change")), []);
  }
});

Deno.test("forecastCost() counts the trials of each model, which variants may share unequally", () => {
  const plan = planSuite({
    ...{ name: "own", seed: 1, tasks: [], models: ["a", "b"], graphs: 4 },
    prices: { a: { input: 1, output: 1 }, b: { input: 1, output: 1 } },
  }, {
    tasks: {
      cells: () => [{ case: "own" }],
      open: openTask,
      variants: { old: { models: ["a"] }, brief: { models: ["a"] }, large: { models: ["b"] } },
    },
  });
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  assertEquals(forecastCost(plan, usage), [
    "a: about $8.00 for 8 trials",
    "b: about $4.00 for 4 trials",
  ]);
});

Deno.test("forecastCost() names models in printable words", () => {
  const prices = { [HOSTILE]: { input: 1, output: 1 } };
  const lines = forecastCost(planOf(undefined, { models: [HOSTILE], prices }), USAGE);
  assertNotMatch(lines.join(""), STEERING);
});

Deno.test("forecastCost() is none without prices, and an error where one is missing", () => {
  assertEquals(forecastCost(planOf(undefined), USAGE), []);
  const plan = planOf(undefined, { prices: { a: { input: 1, output: 1 } } });
  assertThrows(() => forecastCost(plan, USAGE), InputError, "the cost of model b");
});

Deno.test("planWarnings() tells of models that must or may not call", () => {
  const warningsOf = (entry: ModelEntry, tasks: Suite["tasks"] = [{ core: 3, depth: 1 }]) =>
    planWarnings(planSuite({ name: "s", seed: 1, tasks, models: [entry] }));
  assertEquals(warningsOf({ model: "m" }), []);
  assertEquals(warningsOf({ model: "m", toolChoice: "auto" }), []);
  assertEquals(warningsOf({ model: "m", toolChoice: "none" }), [
    "no task can be solved by m, which may call nothing: toolChoice",
  ]);
  for (const toolChoice of ["required", { function: "f" }] as const) {
    assertEquals(warningsOf({ model: "m", name: "n", toolChoice }), [
      "no task can be solved by n, which must call in every reply: toolChoice",
    ]);
  }
  assertEquals(warningsOf({ model: "m", toolChoice: "required" }, [{ case: "all" }]), []);
});

Deno.test("planWarnings() tells of probes that no gate can pass", () => {
  const gate = { successRate: 0.9 };
  const warningsOf = (others: Partial<Suite>) =>
    planWarnings(
      planSuite({ name: "s", seed: 1, models: ["m"], tasks: [], graphs: 200, ...others }),
    )
      .filter((warning) => /solved/.test(warning));
  for (const tasks of [[{ case: "all" as const }], [{ case: "forced_choice" as const }]]) {
    assertEquals(warningsOf({ tasks, gate }), [
      "a gate asks for tasks to be solved, and forced_choice cannot be where calls are really forced",
    ]);
    assertEquals(warningsOf({ tasks }), []);
  }
  assertEquals(warningsOf({ tasks: [{ case: "oracle" }], gate }), []);
});

Deno.test("planWarnings() tells of simulated models that cannot know the tasks", () => {
  const warningsOf = (plan: Plan) =>
    planWarnings(plan).filter((warning) => warning.startsWith("sim:"));
  const simulated = { models: ["sim:planner", "sim:noisy?early=0.1", "sim:truth?value=0.1", "m"] };
  assertEquals(warningsOf(cityPlan({}, simulated)), [
    "sim:planner knows no question sets: take sim:truth",
    "sim:noisy?early=0.1 knows no question sets: take sim:truth",
  ]);
  const tasks = [{ core: 3, depth: 1 }, { case: "oracle" as const }];
  assertEquals(warningsOf(planSuite({ name: "s", seed: 1, tasks, ...simulated })), [
    "sim:truth?value=0.1 knows question sets alone: take sim:planner",
  ]);
});
