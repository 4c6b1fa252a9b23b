import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { listTrials, type ResolvedSuite } from "../../lib/runs/resolved_suite.ts";
import { assignShards, expectedCost, shardOf } from "../../lib/runs/_assign_shards.ts";
import { parseShard } from "../../lib/runs/shard_text.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import fc from "../support/fast_check.ts";
import { SMALL } from "../support/suites.ts";

const STRATEGIES = ["plain", "restate", "backward", "plan_then_call", "repair+restate"];
const PERTURBATIONS = ["none", "RD", "timeout:3", "flaky:0.5"];

/** Plans of all sizes, with as many shards as one may think of. */
const PLANS = fc.record({
  name: fc.string({ minLength: 1, maxLength: 5, unit: "grapheme-ascii" }),
  seed: fc.nat(1000),
  graphs: fc.integer({ min: 1, max: 7 }),
  repetitions: fc.integer({ min: 1, max: 3 }),
  tasks: fc.uniqueArray(
    fc.record({ core: fc.integer({ min: 1, max: 20 }), disconnected: fc.nat(10) }),
    { minLength: 1, maxLength: 5, selector: ({ core, disconnected }) => `${core} ${disconnected}` },
  ).map((sizes) => sizes.map((size) => ({ ...size, depth: size.core === 1 ? 0 : 1 }))),
  models: fc.integer({ min: 1, max: 3 }).map((count) => ["a", "b", "c"].slice(0, count)),
  strategies: fc.subarray(STRATEGIES, { minLength: 1 }),
  perturbations: fc.subarray(PERTURBATIONS, { minLength: 1 }),
}).map((suite) => planSuite(suite));

const SHARDS = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5000 }));

/** How many trials each shard has of those that `keyOf` gives one key. */
function countsBy(
  { trials }: Plan,
  shards: Uint32Array,
  of: number,
  keyOf: (trial: PlannedTrial) => string,
): Map<string, number[]> {
  const counts = new Map<string, number[]>();
  for (const trial of trials) {
    const own = counts.getOrInsertComputed(keyOf(trial), () => new Array(of).fill(0));
    own[shards[trial.index]! - 1]!++;
  }
  return counts;
}

/** What each trial is expected to cost. */
function costsOf({ trials, resolved }: Plan): number[] {
  const { cells, strategies, perturbations, models, repetitions } = resolved;
  return trials.map(({ index }) => {
    const perturbation = Math.floor(index / repetitions);
    const strategy = Math.floor(perturbation / perturbations.length);
    const cell = Math.floor(strategy / strategies.length / models.length);
    return expectedCost(
      cells[cell % cells.length]!,
      strategies[strategy % strategies.length]!,
      perturbations[perturbation % perturbations.length]!,
    );
  });
}

/** What is left of a trial when the graph is taken out: all of those are alike. */
function placeOf({ task, model, strategy, perturbation, repetition }: PlannedTrial): string {
  return JSON.stringify([{ ...task, seed: 0 }, model, strategy, perturbation, repetition]);
}

function spreadOf(counts: readonly number[]): number {
  return counts.reduce((most, count) => Math.max(most, count)) -
    counts.reduce((least, count) => Math.min(least, count));
}

Deno.test("parseShard() reads I/N", () => {
  assertEquals(parseShard("2/5"), { index: 2, of: 5 });
  assertEquals(parseShard("1/1"), { index: 1, of: 1 });
});

Deno.test("parseShard() refuses what is no shard, and names it", () => {
  for (
    const text of [
      ...["", "2", "0/5", "6/5", "-1/5", "1/0", "1.5/2", "a/b", "1/2/3", " 1/2", "1/2\n"],
      "1/1000000",
    ]
  ) {
    const error = assertThrows(() => parseShard(text), InputError);
    assertStringIncludes(
      error.message,
      `Cannot use shard ${text.replace("\n", "\\n")} as it must be I/N`,
    );
  }
});

Deno.test("parseShard() has `auto` of the machine that one system names, and nothing of doubtful ones", () => {
  const slurm = (...[ID, MIN, COUNT, STEP]: number[]) =>
    Object.fromEntries(
      Object.entries({ ID, MIN, COUNT, STEP }).map((
        [name, one],
      ) => [`SLURM_ARRAY_TASK_${name}`, one]),
    );
  const auto = (text: string, variables: object) => {
    for (const [name, value] of Object.entries(variables)) Deno.env.set(name, `${value}`);
    try {
      const { index, of } = parseShard(text);
      return `${index}/${of}`;
    } catch (error) {
      return (error as InputError).message.replace(`Cannot use shard ${text} as `, "");
    } finally {
      for (const name of Object.keys(variables)) Deno.env.delete(name);
    }
  };
  const one = "one variable must have the index of this machine:";
  const rule = "index and count must be those of one shard of N:";
  const table: readonly [text: string, variables: object, found: string][] = [
    ["auto", { CI_NODE_INDEX: 1, CI_NODE_TOTAL: 3 }, "1/3"],
    ["auto", slurm(2, 0, 3, 1), "3/3"],
    ["auto", slurm(7, 3, 3, 2), "3/3"],
    ["auto", { AWS_BATCH_JOB_ARRAY_INDEX: 0, AWS_BATCH_JOB_ARRAY_SIZE: 2 }, "1/2"],
    ["auto/2", { AWS_BATCH_JOB_ARRAY_INDEX: 1 }, "2/2"],
    ["auto/4", { JOB_COMPLETION_INDEX: 3 }, "4/4"],
    ["auto/3", { TOOLGATE_SHARD_INDEX: 1, TOOLGATE_SHARD_TOTAL: 3 }, "2/3"],
    ["auto", { JOB_COMPLETION_INDEX: 3 }, `${rule} JOB_COMPLETION_INDEX is 3`],
    ["auto/3", { JOB_COMPLETION_INDEX: 3 }, `${rule} JOB_COMPLETION_INDEX is 3`],
    ["auto", { CI_NODE_INDEX: "1 2" }, `${rule} CI_NODE_INDEX is 1 2, CI_NODE_TOTAL is not set`],
    // An array that leaves numbers out, and one task of three that is submitted again.
    ["auto", slurm(4, 1, 3, 1), `${rule} SLURM_ARRAY_TASK_ID is 4, `],
    ["auto/3", slurm(2, 2, 1, 1), `${rule} SLURM_ARRAY_TASK_ID is 2, `],
    [
      "auto",
      { CI_NODE_INDEX: 1, ...slurm(1, 1, 3, 1) },
      `${one} CI_NODE_INDEX and SLURM_ARRAY_TASK_ID are`,
    ],
    ["auto", {}, `${one} none of CI_NODE_INDEX, SLURM_ARRAY_TASK_ID, `],
  ];
  for (const [text, variables, found] of table) {
    assertEquals(auto(text, variables).slice(0, found.length), found);
  }
});

Deno.test("shardOf() splits a plan exactly: every trial is in one shard, in order", () => {
  fc.assert(
    fc.property(PLANS, fc.integer({ min: 1, max: 12 }), (plan, of) => {
      const shards = Array.from(
        { length: of },
        (_, place) => shardOf(plan, { index: place + 1, of }),
      );
      const all = shards.flat().toSorted((one, other) => one.index - other.index);
      assertEquals(all.map(({ index }) => index), plan.trials.map(({ index }) => index));
      for (const shard of shards) {
        assert(shard.every((trial, place) => place === 0 || trial.index > shard[place - 1]!.index));
      }
    }),
    { numRuns: 60 },
  );
});

/** Suites of tests, of which some have settings of their own. */
const TEST_PLANS = fc.array(
  fc.record({
    graphs: fc.integer({ min: 1, max: 9 }),
    models: fc.subarray([{ model: "a" }, { model: "b" }], { minLength: 1 }),
    strategies: fc.subarray(["plain", "retry"], { minLength: 1 }),
  }, { requiredKeys: [] }),
  { minLength: 1, maxLength: 6 },
).map((tests) => {
  const own = Object.fromEntries(tests.map((settings, place) => [`test ${place}`, settings]));
  const suite = { name: "s", seed: 1, graphs: 3, tasks: [], models: ["a"] };
  const cells = () => tests.map((_, place) => ({ case: `test ${place}` }));
  return planSuite(suite, { tasks: { cells, open: openTask, tests: own } });
});

Deno.test("shards of tests with settings of their own have each trial once, and each test's within one", () => {
  fc.assert(
    fc.property(TEST_PLANS, fc.integer({ min: 1, max: 9 }), (plan, of) => {
      const shards = assignShards(plan, of);
      assertEquals(shards.length, plan.trials.length);
      assert(shards.every((shard) => shard >= 1 && shard <= of));
      const testOf = (trial: PlannedTrial) => placeOf({ ...trial, repetition: 0 });
      for (const [test, counts] of countsBy(plan, shards, of, testOf)) {
        assert(spreadOf(counts) <= 1, `${test}: ${counts}`);
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("assignShards() gives each shard its share of all trials that are alike, within one", () => {
  fc.assert(
    fc.property(PLANS, SHARDS, (plan, of) => {
      const shards = assignShards(plan, of);
      assertEquals(shards.length, plan.trials.length);
      assert(shards.every((shard) => shard >= 1 && shard <= of));
      for (const [place, counts] of countsBy(plan, shards, of, placeOf)) {
        assert(spreadOf(counts) <= 1, `${place}: ${counts}`);
      }
      // Repetitions of a cell are alike, too.
      const cellOf = (trial: PlannedTrial) => placeOf({ ...trial, repetition: 0 });
      for (const [cell, counts] of countsBy(plan, shards, of, cellOf)) {
        assert(spreadOf(counts) <= 1, `${cell}: ${counts}`);
      }
    }),
    { numRuns: 20 },
  );
});

Deno.test("assignShards() gives no shard more than another by more than the costliest trial", () => {
  fc.assert(
    fc.property(PLANS, SHARDS, (plan, of) => {
      const shards = assignShards(plan, of);
      const costs = costsOf(plan);
      const loads = new Array<number>(of).fill(0);
      for (const [index, shard] of shards.entries()) loads[shard - 1]! += costs[index]!;
      assert(spreadOf(loads) <= costs.reduce((most, cost) => Math.max(most, cost)), `${loads}`);
    }),
    { numRuns: 60 },
  );
});

Deno.test("assignShards() comes to the same from the plan line of a journal, whatever else it holds", () => {
  fc.assert(
    fc.property(PLANS, SHARDS, (plan, of) => {
      const line = planLine({
        ...plan,
        prices: { a: { input: 1, output: 2 } },
        baseURL: "http://127.0.0.1:1/v1",
      }, { index: 1, of });
      const { suite, resolved } = JSON.parse(JSON.stringify(line));
      const read = { suite, resolved, trials: listTrials(resolved) };
      assertEquals(assignShards(read, of), assignShards(plan, of));
    }),
    { numRuns: 30 },
  );
});

Deno.test("assignShards() shares out models where each task is there once", () => {
  const plan = planSuite({
    ...SMALL,
    graphs: 1,
    tasks: [{ core: 5, depth: [1, 2, 3, 4] }],
    models: ["a", "b"],
  });
  const shards = assignShards(plan, 2);
  // Of each cell both models are next to each other in the plan.
  const ofModel = (model: number) => [...shards].filter((_, index) => index % 2 === model).sort();
  assertEquals([ofModel(0), ofModel(1)], [[1, 1, 2, 2], [1, 1, 2, 2]]);
});

Deno.test("assignShards() expects more of strategies that ask more, and of faults", () => {
  for (
    const [cheap, costly] of [
      [{}, { strategies: ["plan_then_call"] }],
      [{}, { strategies: ["backward"] }],
      [{}, { strategies: ["restate"] }],
      [{}, { perturbations: ["timeout:3"] }],
      [{ perturbations: ["flaky:0.1"] }, { perturbations: ["flaky:0.6"] }],
    ]
  ) {
    const [one, other] = [cheap, costly].map((traits) =>
      costsOf(planSuite({ ...SMALL, ...traits }))[0]!
    );
    assert(one! < other!, `${JSON.stringify(costly)} costs no more: ${one}, ${other}`);
  }
});

Deno.test("expectedCost() of questions is less where calls are only written down", () => {
  const question = { set: "s", question: "q", difficulty: "easy" } as const;
  const [tools, parameters, routing] = (["tools", "parameters", "routing"] as const).map((mode) =>
    expectedCost({ ...question, mode }, "plain", "none")
  );
  assert(parameters! < tools!, `${parameters} is not below ${tools}`);
  assertEquals(routing, parameters);
});

Deno.test("expectedCost() is a whole number that can be added up, whatever a journal holds", () => {
  for (const core of [1e300, Infinity, NaN, -5, "3", null, {}]) {
    const cell = { core, depth: 1, connected: 0, disconnected: 0 } as never;
    const cost = expectedCost(cell, "backward+restate", "flaky:0.9");
    assert(Number.isInteger(cost) && cost >= 1 && cost <= 1e9, `${core}: ${cost}`);
  }
});

Deno.test("assignShards() begins with another shard for another suite", () => {
  const first = new Set(
    ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) =>
      assignShards(planSuite({ ...SMALL, name }), 4)[0]!
    ),
  );
  assert(first.size > 1, "the first test of each file is of the same shard");
});

Deno.test("assignShards() takes plans of another version as they are", () => {
  const resolved = (traits: object) =>
    ({ ...planSuite(SMALL).resolved, ...traits }) as unknown as ResolvedSuite;
  for (
    const odd of [
      { strategies: ["wishful"] },
      { perturbations: ["gone:3"] },
    ]
  ) {
    const plan = { suite: "odd", resolved: resolved(odd), trials: listTrials(resolved(odd)) };
    const counts = [1, 2].map((shard) =>
      assignShards(plan, 2).filter((one) => one === shard).length
    );
    assert(spreadOf(counts) <= 2, `${JSON.stringify(odd)}: ${counts}`);
  }
});

Deno.test("assignShards() of very many trials and as many shards ends", () => {
  const { suite, resolved } = planSuite({ ...SMALL, models: ["a"] });
  const many = { ...resolved, graphs: 25_000 };
  const large = { suite, resolved: many, trials: listTrials(many) };
  for (const count of [2, 49_999]) {
    const counts = new Uint32Array(count);
    for (const shard of assignShards(large, count)) counts[shard - 1]!++;
    assertEquals(counts.indexOf(0), -1);
  }
});
