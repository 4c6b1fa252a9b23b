import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { InputError, parseWith } from "../lib/input.ts";
import {
  comparisonHash,
  listTrials,
  parseShard,
  planHash,
  planSuite,
  shardOf,
} from "../lib/plan.ts";
import { type Cell, grid, modelName, SUITE, type Suite } from "../lib/suite.ts";
import { parseTrialId } from "../lib/trial.ts";
import { test } from "./support/generated.ts";

const SMALL: Suite = {
  name: "small",
  seed: 1,
  graphs: 3,
  tasks: [{ core: [3, 5], depth: 2 }],
  models: ["a", "b"],
};

/** The sizes of cells in short: core, depth, connected, disconnected. */
function sizesOf(cells: readonly Cell[]): string[] {
  return cells.map(({ core, depth, connected, disconnected }) =>
    [core, depth, connected, disconnected].join(" ")
  );
}

test("grid() crosses all lists, in the order in which they are given", () => {
  const { cells, skipped } = grid({
    core: [3, 4],
    depth: [1, 2],
    connected: [0, 5],
    disconnected: [1],
  });
  assertEquals(sizesOf(cells), [
    "3 1 0 1",
    "3 1 5 1",
    "3 2 0 1",
    "3 2 5 1",
    "4 1 0 1",
    "4 1 5 1",
    "4 2 0 1",
    "4 2 5 1",
  ]);
  assertEquals(skipped, 0);
});

test("grid() takes single sizes, and none of irrelevant functions", () => {
  assertEquals(grid({ core: 3, depth: 2 }), {
    cells: [{ core: 3, depth: 2, connected: 0, disconnected: 0 }],
    skipped: 0,
  });
});

test("grid() skips and counts crossings that cannot be", () => {
  const { cells, skipped } = grid({ core: [1, 2, 5], depth: [0, 1, 4], connected: [0, 1] });
  assertEquals(sizesOf(cells), [
    "1 0 0 0",
    "1 0 1 0",
    "2 1 0 0",
    "2 1 1 0",
    "5 1 0 0",
    "5 1 1 0",
    "5 4 0 0",
    "5 4 1 0",
  ]);
  assertEquals(skipped, 3 * 3 * 2 - 8);
});

test('grid() takes depth "all" for every depth that a core can have', () => {
  const { cells, skipped } = grid({ core: [1, 2, 4], depth: "all" });
  assertEquals(sizesOf(cells), ["1 0 0 0", "2 1 0 0", "4 1 0 0", "4 2 0 0", "4 3 0 0"]);
  assertEquals(skipped, 0);
});

test("grid() pairs irrelevant counts with their kind, as the paper does", () => {
  const { cells } = grid({
    core: 3,
    depth: 2,
    irrelevant: [0, 5, 10],
    connection: ["connected", "disconnected", "half"],
  });
  assertEquals(sizesOf(cells), [
    "3 2 0 0",
    "3 2 5 0",
    "3 2 0 5",
    "3 2 3 2",
    "3 2 10 0",
    "3 2 0 10",
    "3 2 5 5",
  ]);
});

test("grid() crosses linkings, and names only the unusual", () => {
  const { cells } = grid({ core: 3, depth: 2, linking: ["types", "names"] });
  assertEquals(cells.map(({ linking }) => linking), [undefined, "names"]);
});

test("grid() hands on what is not crossed", () => {
  const { cells } = grid({ core: 3, depth: 2, types: 7, inputs: [2, 3], extraEdges: 0 });
  assertEquals(cells, [
    { core: 3, depth: 2, connected: 0, disconnected: 0, types: 7, inputs: [2, 3], extraEdges: 0 },
  ]);
});

test("grid() refuses sizes of which nothing is left, and names them", () => {
  for (const [core, depth] of [[3, 3], [[2, 3], [5, 9]], [4, 0], [1, 1]] as const) {
    const error = assertThrows(() => grid({ core, depth }), InputError);
    assertStringIncludes(error.message, "Cannot make a grid as core must be at least 1 and depth");
    assertStringIncludes(
      error.message,
      `core is ${JSON.stringify(core)}, depth is ${JSON.stringify(depth)}`,
    );
  }
});

test("planSuite() lists balanced blocks: one graph of every cell, for every model", () => {
  const { trials } = planSuite({ ...SMALL, repetitions: 2 });
  assertEquals(
    trials.map(({ block, task, model, repetition }) =>
      `${block} ${task.core} ${model} ${repetition}`
    ),
    [0, 1, 2].flatMap((block) =>
      [3, 5].flatMap((core) =>
        ["a", "b"].flatMap((model) => [1, 2].map((run) => `${block} ${core} ${model} ${run}`))
      )
    ),
  );
  assertEquals(trials.map(({ index }) => index), trials.map((_, index) => index));
});

test("planSuite() has five graphs a cell, baseline, no perturbation, once, unless told otherwise", () => {
  const { trials, resolved, gate } = planSuite({
    name: "usual",
    seed: 1,
    tasks: [{ core: 3, depth: 2 }],
    models: ["a"],
  });
  assertEquals(trials.length, 5);
  const { graphs, strategies, perturbations, repetitions, limits } = resolved;
  assertEquals({ graphs, strategies, perturbations, repetitions, limits, gate }, {
    graphs: 5,
    strategies: ["baseline"],
    perturbations: ["none"],
    repetitions: 1,
    limits: {},
    gate: undefined,
  });
});

test("planSuite() gives every trial an id of its own, which says all of it", () => {
  const { trials } = planSuite({
    ...SMALL,
    tasks: [{ core: [3, 5], depth: "all", connected: [0, 2], linking: ["types", "names"] }],
    repetitions: 2,
  });
  assertEquals(new Set(trials.map(({ id }) => id)).size, trials.length);
  for (const { id, index: _, block: __, ...key } of trials) assertEquals(parseTrialId(id), key);
});

test("planSuite() gives every graph a seed of its own", () => {
  const { trials } = planSuite({
    ...SMALL,
    graphs: 200,
    tasks: [{ core: [3, 5, 8], depth: 2, connected: [0, 1], linking: ["types", "names"] }],
    models: ["a"],
  });
  assertEquals(new Set(trials.map(({ task }) => task.seed)).size, trials.length);
  assert(trials.every(({ task }) => Number.isSafeInteger(task.seed) && task.seed >= 0));
});

test("planSuite() lets models and repetitions share graphs", () => {
  const { trials } = planSuite({ ...SMALL, repetitions: 2 });
  const seeds = (model: string, repetition: number) =>
    trials.filter((trial) => trial.model === model && trial.repetition === repetition)
      .map(({ task }) => task.seed);
  assertEquals(seeds("a", 1), seeds("b", 2));
});

test("planSuite() gives a cell the same graphs whatever else is in the suite", () => {
  const seedsOf = (suite: Suite) =>
    planSuite(suite).trials.filter(({ task, model }) => task.core === 5 && model === "b")
      .map(({ task }) => task.seed);
  const seeds = seedsOf(SMALL);
  assertEquals(seeds.length, 3);
  assertEquals(seedsOf({ ...SMALL, models: ["b"] }), seeds);
  assertEquals(seedsOf({ ...SMALL, name: "other", models: ["c", "b", "a"] }), seeds);
  assertEquals(
    seedsOf({ ...SMALL, tasks: [{ core: [9, 5, 3], depth: [2, 1] }] }).filter((seed) =>
      seeds.includes(seed)
    ),
    seeds,
  );
  assertEquals(seedsOf({ ...SMALL, graphs: 9 }).slice(0, 3), seeds);
  assertNotEquals(seedsOf({ ...SMALL, seed: 2 }), seeds);
});

test("planSuite() makes the same plan from the same suite, and pins its seeds", () => {
  assertEquals(planSuite(SMALL), planSuite(structuredClone(SMALL)));
  assertEquals(
    planSuite({ ...SMALL, models: ["a"], graphs: 2 }).trials.map(({ task }) => task.seed),
    [161203124124199, 122123892438017, 153149577547493, 47940628134256],
  );
});

test("planSuite() draws a fresh seed each time, which repeats the plan", () => {
  const fresh = planSuite({ ...SMALL, seed: "fresh" });
  const again = planSuite({ ...SMALL, seed: "fresh" });
  assertNotEquals(fresh.resolved.seed, again.resolved.seed);
  assertEquals(planSuite({ ...SMALL, seed: fresh.resolved.seed }), fresh);
});

test("planSuite() takes a cell that two grids have once", () => {
  const { resolved, trials } = planSuite({
    ...SMALL,
    tasks: [{ core: [3, 5], depth: 2 }, { core: 5, depth: [1, 2], linking: "types" }],
  });
  assertEquals(sizesOf(resolved.cells), ["3 2 0 0", "5 2 0 0", "5 1 0 0"]);
  assertEquals(trials.length, 3 * 3 * 2);
});

test("planSuite() counts the skipped crossings of all grids", () => {
  const tasks = [{ core: [2, 3], depth: [1, 2] }, { core: 3, depth: [2, 3, 4] }];
  assertEquals(planSuite({ ...SMALL, tasks }).skipped, 3);
});

test("planSuite() names the grid of which nothing is left", () => {
  const tasks = [{ core: 3, depth: 2 }, { core: 3, depth: 7 }];
  const error = assertThrows(() => planSuite({ ...SMALL, tasks }), InputError);
  assertStringIncludes(error.message, "Cannot plan suite small: at tasks[1]: ");
  assertStringIncludes(error.message, "core is 3, depth is 7");
});

test("planSuite() names its source in every fault, where it is told", () => {
  for (const wrong of [{ tasks: [{ core: 3, depth: 7 }] }, { models: ["a", "a"] }]) {
    const error = assertThrows(() => planSuite({ ...SMALL, ...wrong }, "s.jsonc"), InputError);
    assertMatch(error.message, /^Cannot plan s\.jsonc[: ]/);
  }
});

test("planSuite() refuses two models of one name, unless they are given others", () => {
  const one = { model: "a", temperature: 0 };
  assertThrows(
    () => planSuite({ ...SMALL, models: ["a", one] }),
    InputError,
    "models must have distinct names: a is there twice",
  );
  const { trials } = planSuite({ ...SMALL, models: ["a", { ...one, name: "a cold" }] });
  assertEquals([...new Set(trials.map(({ model }) => model))], ["a", "a cold"]);
  assertEquals(modelName({ model: "a", name: "a cold" }), "a cold");
});

test("planSuite() refuses a strategy or a perturbation that is there twice", () => {
  // Their trials would have the same ids.
  for (
    const twice of [{ strategies: ["baseline", "baseline"] }, { perturbations: ["none", "none"] }]
  ) {
    assertThrows(() => planSuite({ ...SMALL, ...twice }), InputError, "twice");
  }
});

test("listTrials() lists the trials of the resolved suite alone", () => {
  const { resolved, trials } = planSuite(SMALL);
  assertEquals(listTrials(JSON.parse(JSON.stringify(resolved))), trials);
});

/** Every change to SMALL, and which hashes it moves. */
const CHANGES: [string, Partial<Suite>, plan: boolean, comparison: boolean][] = [
  ["nothing", {}, false, false],
  ["the gate", { gate: { successRate: 0.9 } }, false, false],
  ["a default spelled out", { repetitions: 1, limits: {} }, false, false],
  [
    "a grid spelled otherwise",
    { tasks: [{ core: 3, depth: 2 }, { core: 5, depth: 2 }] },
    false,
    false,
  ],
  ["the name", { name: "other" }, true, false],
  ["a model", { models: ["a", "c"] }, true, false],
  ["an option of a model", { models: ["a", { model: "b", temperature: 0.5 }] }, true, false],
  ["the strategies", { strategies: ["restate"] }, true, false],
  ["the seed", { seed: 2 }, true, true],
  ["the graphs", { graphs: 4 }, true, true],
  ["the sizes", { tasks: [{ core: [3, 5], depth: 1 }] }, true, true],
  ["the order of cells", { tasks: [{ core: [5, 3], depth: 2 }] }, true, true],
  ["the repetitions", { repetitions: 2 }, true, true],
  ["the perturbations", { perturbations: ["RD"] }, true, true],
  ["the limits", { limits: { calls: 3 } }, true, true],
];

test("planHash() moves with everything that decides the trials, and with nothing else", () => {
  const before = planHash(planSuite(SMALL));
  assertMatch(before, /^[0-9a-f]{64}$/);
  for (const [what, change, moves] of CHANGES) {
    assertEquals(planHash(planSuite({ ...SMALL, ...change })) !== before, moves, what);
  }
});

test("comparisonHash() moves as planHash() does, but for name, models and strategies", () => {
  const before = comparisonHash(planSuite(SMALL));
  for (const [what, change, , moves] of CHANGES) {
    assertEquals(comparisonHash(planSuite({ ...SMALL, ...change })) !== before, moves, what);
  }
});

test("planHash() and comparisonHash() do not depend on the order of keys", () => {
  const one = planSuite({ ...SMALL, limits: { calls: 3, steps: 4 } });
  const other = planSuite({ ...SMALL, limits: { steps: 4, calls: 3 } });
  assertEquals(planHash(one), planHash(other));
  assertEquals(comparisonHash(one), comparisonHash(other));
});

test("SUITE accepts every field", () => {
  const suite = {
    $schema: "./suite.json",
    name: "all",
    seed: "fresh",
    graphs: 2,
    tasks: [
      {
        core: [3, 5],
        depth: "all",
        connected: 0,
        disconnected: [0, 4],
        linking: ["types", "names"],
      },
      { core: 3, depth: [1, 2], irrelevant: [0, 10], connection: "half" },
      {
        core: 3,
        depth: 1,
        types: 1,
        inputs: [1, 1],
        extraEdges: 0,
        connection: "half",
        irrelevant: 1,
      },
    ],
    models: ["sim:planner", {
      model: "m",
      api: "chat",
      baseURL: "http://127.0.0.1:8000/v1",
      apiKeyVariable: "MY_KEY",
      temperature: 0,
      topP: 1,
      maxCompletionTokens: 1,
      reasoningEffort: "low",
      seed: 1,
      parallelToolCalls: false,
      body: { a: [1, { b: null }] },
      name: "n",
    }],
    strategies: ["baseline"],
    perturbations: ["none"],
    repetitions: 1,
    limits: { calls: 1, steps: 1, seconds: 0.5, tokens: 1 },
    gate: { successRate: 0.9 },
  };
  assertEquals(parseWith(SUITE, suite, "it"), suite as unknown as Suite);
});

/** A suite with one thing wrong, the path that must be named, and words of the rule. */
const FAULTS: [Record<string, unknown>, path: string, rule: string][] = [
  [{ name: "" }, "name", ">=1 characters"],
  [{ name: "n".repeat(201) }, "name", "<=200 characters"],
  [{ name: undefined }, "name", "expected string"],
  [{ seed: -1 }, "seed", ""],
  [{ seed: 1.5 }, "seed", ""],
  [{ seed: "random" }, "seed", 'must be a whole number from 0 on, or "fresh"'],
  [{ seed: undefined }, "seed", 'must be a whole number from 0 on, or "fresh"'],
  [{ graphs: 0 }, "graphs", ">=1"],
  [{ graphs: 2.5 }, "graphs", "int"],
  [{ tasks: [] }, "tasks", "must not be empty"],
  [{ tasks: [{ core: 3 }] }, "tasks[0].depth", ""],
  [{ tasks: [{ depth: 3 }] }, "tasks[0].core", ""],
  [{ tasks: [{ core: 0, depth: 0 }] }, "tasks[0].core", ">=1"],
  [{ tasks: [{ core: [], depth: 0 }] }, "tasks[0].core", "must not be empty"],
  [{ tasks: [{ core: [3, 0], depth: 0 }] }, "tasks[0].core[1]", ">=1"],
  [{ tasks: [{ core: 3, depth: -1 }] }, "tasks[0].depth", ">=0"],
  [{ tasks: [{ core: 3, depth: [] }] }, "tasks[0].depth", "must not be empty"],
  [{ tasks: [{ core: 3, depth: 1, connected: -1 }] }, "tasks[0].connected", ">=0"],
  [{ tasks: [{ core: 3, depth: 1, disconnected: [-1] }] }, "tasks[0].disconnected[0]", ">=0"],
  [{ tasks: [{ core: 3, depth: 1, linking: "words" }] }, "tasks[0].linking", ""],
  [{ tasks: [{ core: 3, depth: 1, types: 0 }] }, "tasks[0].types", ">=1"],
  [{ tasks: [{ core: 3, depth: 1, inputs: [0, 1] }] }, "tasks[0].inputs[0]", ">=1"],
  [{ tasks: [{ core: 3, depth: 1, inputs: [1] }] }, "tasks[0].inputs", ""],
  [
    { tasks: [{ core: 3, depth: 1, inputs: [3, 2] }] },
    "tasks[0].inputs",
    "the fewest inputs must not be above the most",
  ],
  [{ tasks: [{ core: 3, depth: 1, extraEdges: -1 }] }, "tasks[0].extraEdges", ">=0"],
  [
    { tasks: [{ core: 3, depth: 1, irrelevant: 2 }] },
    "tasks[0].irrelevant",
    "irrelevant and connection go together",
  ],
  [
    { tasks: [{ core: 3, depth: 1, connection: "half" }] },
    "tasks[0].irrelevant",
    "irrelevant and connection go together",
  ],
  [
    { tasks: [{ core: 3, depth: 1, irrelevant: 2, connection: "half", connected: 1 }] },
    "tasks[0].irrelevant",
    "give either irrelevant or connected and disconnected",
  ],
  [{ tasks: [{ core: 3, depth: 1, kore: 3 }] }, "tasks[0]", '"kore"'],
  [{ models: [] }, "models", "must not be empty"],
  [{ models: [""] }, "models[0]", ">=1 characters"],
  [{ models: [{ model: "" }] }, "models[0].model", ">=1 characters"],
  [{ models: [{ model: "a", baseURL: "ftp://x" }] }, "models[0].baseURL", "http or https URL"],
  [{ models: [{ model: "a", apiKeyVariable: "MY-KEY" }] }, "models[0].apiKeyVariable", ""],
  [{ models: [{ model: "a", temperature: 2.1 }] }, "models[0].temperature", "<=2"],
  [{ models: [{ model: "a", topP: -0.1 }] }, "models[0].topP", ">=0"],
  [{ models: [{ model: "a", maxCompletionTokens: 0 }] }, "models[0].maxCompletionTokens", ">=1"],
  [{ models: [{ model: "a", apiKey: "sk-1" }] }, "models[0]", '"apiKey"'],
  [{ strategies: [] }, "strategies", "must not be empty"],
  [{ strategies: ["guess"] }, "strategies[0]", "baseline"],
  [{ perturbations: ["XX"] }, "perturbations[0]", "none"],
  [{ repetitions: 0 }, "repetitions", ">=1"],
  [{ limits: { calls: 0 } }, "limits.calls", ">=1"],
  [{ limits: { steps: 0 } }, "limits.steps", ">=1"],
  [{ limits: { seconds: 0 } }, "limits.seconds", ">0"],
  [{ limits: { tokens: 0.5 } }, "limits.tokens", "int"],
  [{ limits: { call: 1 } }, "limits", '"call"'],
  [{ gate: {} }, "gate.successRate", "expected number"],
  [{ gate: { successRate: 0.04 } }, "gate.margin", "must be below successRate"],
  [{ graph: 3 }, "the top", '"graph"'],
];

test("SUITE names the path and the rule of every fault", () => {
  for (const [change, path, rule] of FAULTS) {
    const wrong = JSON.stringify(change);
    const error = assertThrows(
      () => parseWith(SUITE, { ...SMALL, ...change }, "s.jsonc"),
      InputError,
    );
    assertStringIncludes(error.message, "Cannot use s.jsonc:\n", wrong);
    assertStringIncludes(error.message, `at ${path}: `, wrong);
    assertStringIncludes(error.message, rule, wrong);
  }
});

test("SUITE says what a value may be where it may be of several kinds", () => {
  const faults: [Record<string, unknown>, string][] = [
    [{ tasks: [{ core: "three", depth: 1 }] }, "number"],
    [{ tasks: [{ core: 3, depth: "most" }] }, '"all"'],
    [{ tasks: [{ core: 3, depth: 1, linking: "words" }] }, '"names"'],
    [{ models: [7] }, "string"],
    [{ models: ["a", { name: "b" }] }, "at models[1].model: "],
    [{ models: [{ model: "a", api: "smoke" }] }, "at models[0].api: "],
    [{ models: [{ model: "a", temperature: "2" }] }, "at models[0].temperature: "],
    [{ models: [{ model: "a", reasoningEffort: "huge" }] }, "at models[0].reasoningEffort: "],
    [{ tasks: [{ core: 2.5, depth: 1 }] }, "int"],
  ];
  const vague = faults.flatMap(([change, rule]) => {
    const error = assertThrows(() => parseWith(SUITE, { ...SMALL, ...change }, "it"), InputError);
    return error.message.includes(rule) ? [] : [`${JSON.stringify(change)}: ${error.message}`];
  });
  assertEquals(vague, []);
});

test("parseShard() reads I/N", () => {
  assertEquals(parseShard("2/5"), { index: 2, of: 5 });
  assertEquals(parseShard("1/1"), { index: 1, of: 1 });
});

test("parseShard() refuses what is no shard, and names it", () => {
  for (
    const text of ["", "2", "0/5", "6/5", "-1/5", "1/0", "1.5/2", "a/b", "1/2/3", " 1/2", "1/2\n"]
  ) {
    const error = assertThrows(() => parseShard(text), InputError);
    assertStringIncludes(error.message, `Cannot use shard ${text} as it must be I/N`);
  }
});

test("shardOf() splits a plan exactly: every trial is in one shard, in order", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 3 }),
      (of, graphs, repetitions) => {
        const plan = planSuite({ ...SMALL, graphs, repetitions });
        const shards = Array.from(
          { length: of },
          (_, place) => shardOf(plan, { index: place + 1, of }),
        );
        const all = shards.flat().toSorted((one, other) => one.index - other.index);
        assertEquals(all, [...plan.trials]);
        for (const shard of shards) {
          assert(
            shard.every((trial, place) => place === 0 || trial.index > shard[place - 1]!.index),
          );
        }
        const sizes = shards.map(({ length }) => length);
        assert(Math.max(...sizes) - Math.min(...sizes) <= 1, `${sizes}`);
      },
    ),
    { numRuns: 60, seed: 1 },
  );
});

test("shardOf() gives each shard its share of every cell and of every model", () => {
  const plan = planSuite({ ...SMALL, graphs: 10 });
  for (const parts of [2, 4, 5]) {
    for (let index = 1; index <= parts; index++) {
      const trials = shardOf(plan, { index, of: parts });
      for (const core of [3, 5]) {
        for (const model of SMALL.models) {
          const own = trials.filter((trial) => trial.task.core === core && trial.model === model);
          assert(
            own.length > 0,
            `shard ${index}/${parts} has no trial of core ${core} and model ${model}`,
          );
        }
      }
    }
  }
});

test("SUITE takes no secrets, as plans are kept in journals", () => {
  for (
    const entry of [
      { model: "m", baseURL: "https://user:hunter22@example.com/v1" },
      { model: "m", baseURL: "https://example.com/v1?api-key=hunter22" },
      { model: "m", body: { user_token: "hunter22" } },
      { model: "m", body: { apiKey: "hunter22" } },
    ]
  ) {
    const error = assertThrows(
      () => parseWith(SUITE, { ...SMALL, models: [entry] }, "it"),
      InputError,
      "plans are kept in journals",
    );
    assert(!error.message.includes("hunter22"), error.message);
  }
  parseWith(SUITE, { ...SMALL, models: [{ model: "m", body: { max_tokens: 9 } }] }, "it");
});
