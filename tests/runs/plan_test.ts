import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { comparisonHash, listTrials, planHash } from "../../lib/runs/resolved_suite.ts";
import { USUAL_PROBES } from "../../lib/tasks/task_kind.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { type ModelEntry, modelName } from "../../lib/models/entry.ts";
import type { StrategyEntry } from "../../lib/trials/strategies/entry.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { generatedFrom, seedOf } from "../support/generated.ts";
import { sizesOf, SMALL } from "../support/suites.ts";

Deno.test("planSuite() lists balanced blocks: one graph of every cell, for every model", () => {
  const { trials } = planSuite({ ...SMALL, repetitions: 2 });
  assertEquals(
    trials.map(({ block, task, model, repetition }) =>
      `${block} ${generatedFrom(task).core} ${model} ${repetition}`
    ),
    [0, 1, 2].flatMap((block) =>
      [3, 5].flatMap((core) =>
        ["a", "b"].flatMap((model) => [1, 2].map((run) => `${block} ${core} ${model} ${run}`))
      )
    ),
  );
  assertEquals(trials.map(({ index }) => index), trials.map((_, index) => index));
});

Deno.test("planSuite() has five graphs a cell, baseline, no perturbation, once, unless told otherwise", () => {
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
    strategies: ["plain"],
    perturbations: ["none"],
    repetitions: 1,
    limits: {},
    gate: undefined,
  });
});

Deno.test("planSuite() gives every trial an id of its own, which says all of it", () => {
  const { trials } = planSuite({
    ...SMALL,
    tasks: [{ core: [3, 5], depth: "all", connected: [0, 2], linking: ["types", "names"] }],
    repetitions: 2,
  });
  assertEquals(new Set(trials.map(({ id }) => id)).size, trials.length);
  for (const { id, index: _, block: __, ...key } of trials) assertEquals(parseTrialId(id), key);
});

Deno.test("planSuite() gives every graph a seed of its own", () => {
  const { trials } = planSuite({
    ...SMALL,
    graphs: 200,
    tasks: [{ core: [3, 5, 8], depth: 2, connected: [0, 1], linking: ["types", "names"] }],
    models: ["a"],
  });
  assertEquals(new Set(trials.map(({ task }) => seedOf(task))).size, trials.length);
  assert(trials.every(({ task }) => Number.isSafeInteger(seedOf(task)) && seedOf(task) >= 0));
});

Deno.test("planSuite() lets models and repetitions share graphs", () => {
  const { trials } = planSuite({ ...SMALL, repetitions: 2 });
  const seeds = (model: string, repetition: number) =>
    trials.filter((trial) => trial.model === model && trial.repetition === repetition)
      .map(({ task }) => seedOf(task));
  assertEquals(seeds("a", 1), seeds("b", 2));
});

Deno.test("planSuite() gives a cell the same graphs whatever else is in the suite", () => {
  const seedsOf = (suite: Suite) =>
    planSuite(suite).trials.filter(({ task, model }) =>
      generatedFrom(task).core === 5 && model === "b"
    )
      .map(({ task }) => seedOf(task));
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

/** Four cells of one core and four of another, whose blocks hold a core graph in all of its cells. */
const PAIRED: Suite = {
  name: "paired",
  seed: 1,
  graphs: 3,
  pair: "distractors",
  tasks: [{
    ...{ core: [3, 5], depth: 2 },
    ...{ irrelevant: [0, 10], connection: ["connected", "disconnected", "half"] },
  }],
  models: ["a", "b"],
};

Deno.test("planSuite() with pair gives all cells of a core its graphs, block by block (FuncBenchGen 4.3)", () => {
  const { trials, resolved } = planSuite(PAIRED);
  assertEquals(resolved.cells.length, 8);
  const own = trials.filter(({ model }) => model === "a");
  const seeds = Map.groupBy(
    own,
    ({ task, block }) => `${generatedFrom(task).core} in block ${block}`,
  );
  assertEquals([...seeds.keys()].length, 2 * 3);
  const used = [...seeds.values()].map((of) => {
    const [seed, ...others] = new Set(of.map(({ task }) => seedOf(task)));
    assertEquals([of.length, others], [4, []]);
    return seed;
  });
  assertEquals(new Set(used).size, used.length, "core graphs are independent of each other");
  // What has no irrelevant functions is what it was, also in a suite that pairs nothing.
  const { pair: _, ...unpaired } = PAIRED;
  const plain = ({ trials }: ReturnType<typeof planSuite>) =>
    trials.filter(({ task }) => {
      const { connected, disconnected } = generatedFrom(task);
      return connected + disconnected === 0;
    }).map(({ id }) => id);
  assertEquals(plain(planSuite(PAIRED)), plain(planSuite(unpaired)));
  assertEquals(listTrials(JSON.parse(JSON.stringify(resolved))), trials);
});

Deno.test("planSuite() with pair plans a sequential gate by core graphs", () => {
  const { graphs: _, ...suite } = PAIRED;
  const gate = { successRate: 0.7, margin: 0.1, sequential: true };
  const { rule, resolved, trials } = planSuite({ ...suite, gate });
  // 248 core graphs decide at a fixed size; 1.5 times as many, in whole blocks of two.
  assertEquals([rule!.fixedSize, rule!.blockSize, rule!.largestSize], [248, 2, 372]);
  assertEquals([resolved.graphs, trials.length], [186, 186 * 8 * 2]);
  const sharded = planSuite({ ...suite, gate }, { sharded: true });
  assertEquals([sharded.rule, sharded.resolved.graphs], [undefined, 124]);
});

Deno.test("planSuite() refuses a pair of nothing, and gates over cores of unequal weight", () => {
  const refusal = (more: Partial<Suite>) =>
    assertThrows(() => planSuite({ ...PAIRED, ...more }), InputError).message;
  assertEquals(
    refusal({ tasks: [{ core: [3, 5], depth: 2 }] }),
    'Cannot plan suite paired as pair "distractors" is for cells that differ only in their irrelevant ' +
      "functions: no two of them do; leave it out, or give several counts or connections",
  );
  const tasks = [{ core: 3, depth: 1, connected: [0, 2] }, { core: 5, depth: 1 }];
  assertEquals(
    refusal({ tasks, gate: { successRate: 0.5 } }),
    'Cannot plan suite paired as with pair "distractors" a gate needs each core in equally many cells: ' +
      '{"core":5,"depth":1} is in 1, {"core":3,"depth":1} in 2',
  );
  assertEquals(planSuite({ ...PAIRED, tasks }).trials.length, 3 * 3 * 2);
});

Deno.test("planSuite() makes the same plan from the same suite, and pins its seeds", () => {
  assertEquals(planSuite(SMALL), planSuite(structuredClone(SMALL)));
  assertEquals(
    planSuite({ ...SMALL, models: ["a"], graphs: 2 }).trials.map(({ task }) => seedOf(task)),
    [161203124124199, 122123892438017, 153149577547493, 47940628134256],
  );
});

Deno.test("planSuite() draws a fresh seed each time, which repeats the plan (FuncBenchGen 3.2)", () => {
  const fresh = planSuite({ ...SMALL, seed: "fresh" });
  const again = planSuite({ ...SMALL, seed: "fresh" });
  assertNotEquals(fresh.resolved.seed, again.resolved.seed);
  assertEquals(planSuite({ ...SMALL, seed: fresh.resolved.seed }), fresh);
});

Deno.test("planSuite() takes a cell that two grids have once", () => {
  const { resolved, trials } = planSuite({
    ...SMALL,
    tasks: [{ core: [3, 5], depth: 2 }, { core: 5, depth: [1, 2], linking: "types" }],
  });
  assertEquals(sizesOf(resolved.cells), ["3 2 0 0", "5 2 0 0", "5 1 0 0"]);
  assertEquals(trials.length, 3 * 3 * 2);
});

Deno.test("planSuite() counts the skipped crossings of all grids", () => {
  const tasks = [{ core: [2, 3], depth: [1, 2] }, { core: 3, depth: [2, 3, 4] }];
  assertEquals(planSuite({ ...SMALL, tasks }).skipped, 3);
});

Deno.test("planSuite() names the grid of which nothing is left", () => {
  const tasks = [{ core: 3, depth: 2 }, { core: 3, depth: 7 }];
  const error = assertThrows(() => planSuite({ ...SMALL, tasks }), InputError);
  assertStringIncludes(error.message, "Cannot plan suite small: at tasks[1]: ");
  assertStringIncludes(error.message, "core is 3, depth is 7");
});

Deno.test("planSuite() names its source in every fault, where it is told", () => {
  for (const wrong of [{ tasks: [{ core: 3, depth: 7 }] }, { models: ["a", "a"] }]) {
    const error = assertThrows(
      () => planSuite({ ...SMALL, ...wrong }, { source: "s.jsonc" }),
      InputError,
    );
    assertMatch(error.message, /^Cannot plan s\.jsonc[: ]/);
  }
});

Deno.test("planSuite() refuses two models of one name, unless they are given others", () => {
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

Deno.test("planSuite() refuses a strategy or a perturbation that is there twice", () => {
  // Their trials would have the same ids.
  for (
    const twice of [{ strategies: ["plain", "plain"] }, { perturbations: ["none", "none"] }]
  ) {
    assertThrows(() => planSuite({ ...SMALL, ...twice }), InputError, "twice");
  }
});

Deno.test("planSuite() tells strategies apart by their names, and keeps what is set of them", () => {
  const strategies = [
    "plain",
    "restate+repair",
    { strategy: "repair", attempts: 1 },
    { strategy: "repair", attempts: 5, name: "repair, and again" },
    { strategy: "plan_then_call", models: { plan: "c" }, name: "planned by c" },
  ];
  const { resolved, trials } = planSuite({ ...SMALL, strategies });
  assertEquals(resolved.strategies, strategies);
  const names = ["plain", "restate+repair", "repair", "repair, and again", "planned by c"];
  assertEquals([...new Set(trials.map(({ strategy }) => strategy))], names);
  assertEquals(trials.length, 3 * 2 * 2 * 5);
  for (const { id, index: _, block: __, ...key } of trials) assertEquals(parseTrialId(id), key);
  assertEquals([...new Set(trials.map(({ model }) => model))], ["a", "b"], "c is asked aside");
});

Deno.test("planSuite() refuses two strategies of one name, unless they are given others", () => {
  const one = { strategy: "repair", attempts: 1 };
  for (
    const strategies of [
      ["repair", one],
      [{ strategy: "repair" }, "repair"],
      ["repair", { strategy: "restate", name: "repair" }],
      [{ ...one, name: "n" }, { strategy: "backward", name: "n" }],
    ]
  ) {
    assertThrows(
      () => planSuite({ ...SMALL, strategies }, { source: "s.jsonc" }),
      InputError,
      "Cannot plan s.jsonc as strategies must have distinct names: ",
    );
  }
  planSuite({ ...SMALL, strategies: ["repair", { ...one, name: "repair once" }] });
});

Deno.test("planSuite() refuses one name for models that are asked in different ways", () => {
  const warm = { model: "a", temperature: 1 };
  const planning = (model: string | ModelEntry, name: string): StrategyEntry => ({
    strategy: "plan_then_call",
    models: { plan: model },
    name,
  });
  const message = "Cannot plan s.jsonc as a name must stand for one model: the options of a differ";
  for (const strategies of [[planning(warm, "p")], [planning("c", "p"), planning(warm, "q")]]) {
    assertThrows(
      () => planSuite({ ...SMALL, strategies }, { source: "s.jsonc" }),
      InputError,
      message,
    );
  }
  assertThrows(
    () =>
      planSuite({
        ...SMALL,
        strategies: [planning("c", "p"), planning({ model: "d", name: "c" }, "q")],
      }),
    InputError,
    "the options of c differ",
  );
  const fine = [
    planning("a", "p"),
    planning({ model: "b" }, "q"),
    planning({ ...warm, name: "w" }, "r"),
  ];
  assertEquals(planSuite({ ...SMALL, strategies: fine }).trials.length, 3 * 2 * 2 * 3);
});

Deno.test("planSuite() plans probes as it plans sizes, crossed with everything", () => {
  const suite: Suite = { ...SMALL, tasks: [{ case: "all" }, { core: 3, depth: 2 }] };
  const { trials, resolved } = planSuite(suite);
  const probes = USUAL_PROBES.map((probe) => ({ case: probe }));
  assertEquals(resolved.cells.slice(0, -1), probes);
  assertEquals(trials.length, 3 * 5 * 2);
  assertEquals(
    new Set(trials.map(({ task }) => seedOf(task))).size,
    3 * 5,
    "a seed for each graph",
  );
  for (const { id, index: _, block: __, ...key } of trials) assertEquals(parseTrialId(id), key);
  const { trials: alone } = planSuite({ ...suite, tasks: [{ case: "oracle" }] });
  const ids = new Set(trials.map(({ id }) => id));
  assert(alone.every(({ id }) => ids.has(id)), "a probe has its tasks whatever else there is");
  assertEquals(
    planSuite({ ...SMALL, models: ["a"], graphs: 1, tasks: [{ case: "all" }] }).trials
      .map(({ task }) => task),
    PINNED_PROBES,
  );
});

Deno.test("listTrials() lists the trials of the resolved suite alone", () => {
  const strategies = ["plain", { strategy: "repair", attempts: 1, name: "once" }];
  const tasks = [...SMALL.tasks, { case: "all" as const }];
  for (const suite of [SMALL, { ...SMALL, strategies, tasks }]) {
    const { resolved, trials } = planSuite(suite);
    assertEquals(listTrials(JSON.parse(JSON.stringify(resolved))), trials);
  }
});

/** The tasks of probes, which no release may move. */
const PINNED_PROBES: unknown = [
  { case: "lying_calculator", seed: 168542040794244 },
  { case: "mental_arithmetic", seed: 7938369541195 },
  { case: "oracle", seed: 94627955623903 },
  { case: "forced_choice", seed: 166751171557549 },
];

/** Every change to SMALL, and which hashes it moves. */
const CHANGES: [string, Partial<Suite>, plan: boolean, comparison: boolean][] = [
  ["nothing", {}, false, false],
  ["the gate", { gate: { successRate: 0.9 } }, false, false],
  ["the budget", { budget: { tokens: 9 } }, false, false],
  ["the prices", { prices: { a: { input: 1, output: 1 } } }, false, false],
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
  ["a strategy spelled out", { strategies: [{ strategy: "plain" }] }, false, false],
  [
    "an option of a strategy",
    { strategies: ["plain", { strategy: "repair", attempts: 1 }] },
    true,
    false,
  ],
  ["probes", { tasks: [...SMALL.tasks, { case: "oracle" }] }, true, true],
  ["the seed", { seed: 2 }, true, true],
  ["the graphs", { graphs: 4 }, true, true],
  ["the sizes", { tasks: [{ core: [3, 5], depth: 1 }] }, true, true],
  [
    "the pairing",
    {
      ...{ pair: "distractors", tasks: [{ core: [3, 5], depth: 2, connected: [0, 1] }] },
    },
    true,
    true,
  ],
  ["the order of cells", { tasks: [{ core: [5, 3], depth: 2 }] }, true, true],
  ["the repetitions", { repetitions: 2 }, true, true],
  ["the perturbations", { perturbations: ["RD"] }, true, true],
  ["the limits", { limits: { calls: 3 } }, true, true],
];

Deno.test("planHash() moves with all that decides the trials, comparisonHash() less with name, models and strategies", () => {
  const hashes = (suite: Suite) => [planHash, comparisonHash].map((hash) => hash(planSuite(suite)));
  const before = hashes(SMALL);
  for (const hash of before) assertMatch(hash, /^[0-9a-f]{64}$/);
  for (const [what, change, ...moves] of CHANGES) {
    const after = hashes({ ...SMALL, ...change });
    assertEquals(after.map((hash, place) => hash !== before[place]), moves, what);
  }
});

Deno.test("planHash() and comparisonHash() do not depend on the order of keys", () => {
  const one = planSuite({ ...SMALL, limits: { calls: 3, steps: 4 } });
  const other = planSuite({ ...SMALL, limits: { steps: 4, calls: 3 } });
  assertEquals(planHash(one), planHash(other));
  assertEquals(comparisonHash(one), comparisonHash(other));
});

Deno.test("planHash() moves with everything that is set of a strategy", () => {
  const entry: StrategyEntry = {
    strategy: "backward+repair",
    attempts: 1,
    rounds: 2,
    models: { infer: "c", repair: { model: "d", temperature: 0 } },
    prompts: { repair: { fix: "Mend {arguments}" } },
    name: "n",
  };
  const changes: Partial<StrategyEntry>[] = [
    { strategy: "repair+backward" },
    { attempts: 2 },
    { rounds: 3 },
    { models: { infer: "c" } },
    { models: { infer: "c", repair: { model: "d", temperature: 1 } } },
    { models: { infer: "c", call: { model: "d", temperature: 0 } } },
    { prompts: { repair: { fix: "Fix {arguments}" } } },
    { prompts: {} },
    { name: "m" },
  ];
  const hash = (one: StrategyEntry) => planHash(planSuite({ ...SMALL, strategies: [one] }));
  const hashes = [{}, ...changes].map((change) => hash({ ...entry, ...change }));
  assertEquals(new Set(hashes).size, changes.length + 1);
  const { strategy, ...others } = entry;
  assertEquals(hash({ ...others, strategy }), hashes[0], "but not with the order of its keys");
});
