import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { USUAL_PROBES } from "../../lib/tasks/task_kind.ts";
import { type Grid, grid, SUITE, type Suite } from "../../lib/runs/suite.ts";
import { generatedFrom } from "../support/generated.ts";
import { sizesOf, SMALL } from "../support/suites.ts";

Deno.test("grid() crosses all lists, in the order in which they are given", () => {
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

Deno.test("grid() skips and counts crossings that cannot be", () => {
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

Deno.test('grid() takes depth "all" for every depth that a core can have', () => {
  const { cells, skipped } = grid({ core: [1, 2, 4], depth: "all" });
  assertEquals(sizesOf(cells), ["1 0 0 0", "2 1 0 0", "4 1 0 0", "4 2 0 0", "4 3 0 0"]);
  assertEquals(skipped, 0);
});

Deno.test("grid() pairs irrelevant counts with their kind, as the paper does (FuncBenchGen 4.1)", () => {
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

Deno.test("grid() crosses cues, and names only the unusual", () => {
  const { cells } = grid({
    core: 3,
    depth: 2,
    linking: ["types", "names"],
    cues: ["none", "names"],
  });
  assertEquals(cells.map((cell) => generatedFrom(cell).cues), [
    undefined,
    "names",
    undefined,
    "names",
  ]);
  assertEquals(grid({ core: 3, depth: 2, cues: "none" }), grid({ core: 3, depth: 2 }));
});

Deno.test("grid() crosses outputs and names with linkings, and names only the unusual", () => {
  const sizes = { core: 3, depth: 2 };
  const kinds = (more: Partial<Grid>) =>
    grid({ ...sizes, ...more }).cells.map((cell) => {
      const { linking, outputs, names } = generatedFrom(cell);
      return [linking, outputs?.join(".."), names].filter((one) => one !== undefined).join(" ");
    });
  assertEquals(kinds({ outputs: [1, 3] }), ["1..3"]);
  assertEquals(kinds({ outputs: [[1, 1], [2, 2]] }), ["", "2..2"]);
  assertEquals(kinds({ names: "misleading" }), ["misleading"]);
  assertEquals(kinds({ linking: ["types", "names"], names: ["random", "helpful"] }), [
    ...["", "helpful", "names", "names helpful"],
  ]);
  assertEquals(
    kinds({ outputs: [[1, 1], [1, 3]], names: ["helpful", "misleading"] }),
    ["helpful", "misleading", "1..3 helpful", "1..3 misleading"],
  );
  const many = Array.from({ length: 1001 }, (): [number, number] => [1, 1]);
  assertThrows(
    () => grid({ core: Array.from({ length: 1000 }, () => 3), depth: 2, outputs: many }),
    InputError,
    "1001000",
  );
});

Deno.test("grid() hands on what is not crossed", () => {
  const { cells } = grid({ core: 3, depth: 2, types: 7, inputs: [2, 3], extraEdges: 0 });
  assertEquals(cells, [
    { core: 3, depth: 2, connected: 0, disconnected: 0, types: 7, inputs: [2, 3], extraEdges: 0 },
  ]);
});

Deno.test("grid() has a cell for each probe, in the order that is given, each once", () => {
  assertEquals(grid({ case: "oracle" }), { cells: [{ case: "oracle" }], skipped: 0 });
  assertEquals(grid({ case: ["oracle", "forced_choice", "oracle"] }).cells, [
    { case: "oracle" },
    { case: "forced_choice" },
  ]);
  assertEquals(grid({ case: "all" }).cells, USUAL_PROBES.map((probe) => ({ case: probe })));
});

Deno.test("grid() refuses more crossings than any plan has trials, before it makes them", () => {
  const many = Array.from({ length: 1_001 }, (_, place) => place + 1);
  for (
    const [sizes, crossings] of [
      [{ core: many, depth: many }, 1_002_001],
      [{ core: new Array(300).fill(5_000), depth: "all" }, 300 * 4_999],
      [{ core: new Array(300_000).fill(5), depth: "all" }, 300_000 * 4],
      [{ core: 5, depth: [1, 2], connected: many, disconnected: many }, 2_004_002],
      [
        { core: 5, depth: 2, irrelevant: many, connection: new Array(1_000).fill("half") },
        1_001_000,
      ],
    ] as const
  ) {
    assertThrows(
      () => grid(sizes),
      InputError,
      `must have at most 1000000 crossings: they have ${crossings}`,
    );
  }
});

Deno.test("grid() refuses sizes of which nothing is left, and names them", () => {
  for (const [core, depth] of [[3, 3], [[2, 3], [5, 9]], [4, 0], [1, 1]] as const) {
    const error = assertThrows(() => grid({ core, depth }), InputError);
    assertStringIncludes(error.message, "Cannot make a grid as core must be at least 1 and depth");
    assertStringIncludes(
      error.message,
      `core is ${JSON.stringify(core)}, depth is ${JSON.stringify(depth)}`,
    );
  }
});

Deno.test("SUITE accepts every field", () => {
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
      { case: "all" },
      { case: "oracle" },
      { case: ["lying_calculator", "mental_arithmetic", "oracle", "forced_choice"] },
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
      stream: true,
      toolChoice: "auto",
      body: { a: [1, { b: null }] },
      name: "n",
    }],
    strategies: [
      "plain",
      "restate+repair",
      { strategy: "restate" },
      {
        strategy: "indirection+backward+repair",
        models: { infer: "a", call: "sim:planner", repair: { model: "b", temperature: 0 } },
        prompts: {
          backward: { missing: "What else?" },
          repair: { fix: "{name}: {errors} in {arguments}" },
        },
        attempts: 20,
        rounds: 100,
        dereference: false,
        name: "n",
      },
    ],
    perturbations: ["none"],
    repetitions: 1,
    limits: { calls: 1, steps: 1, seconds: 0.5, tokens: 1 },
    gate: { successRate: 0.9 },
    budget: { tokens: 1, usd: 0.01 },
    prices: { n: { input: 0, output: 10 } },
  };
  assertEquals(parseWith(SUITE, suite, "it"), suite as unknown as Suite);
  const gate = { baseline: { file: "b.json" }, sequential: true, atMost: { tokens: 1 } };
  assertEquals(parseWith(SUITE, { ...SMALL, gate }, "it").gate, gate);
});

/** A suite with one thing wrong, the path that must be named, and words of the rule. */
const FAULTS: [Record<string, unknown>, path: string, rule: string][] = [
  [{ name: "" }, "name", "must not be empty"],
  [{ name: "n".repeat(201) }, "name", "<=200 characters"],
  [{ seed: -1 }, "seed", ""],
  [{ seed: "random" }, "seed", 'must be a whole number from 0 on, or "fresh"'],
  [{ graphs: 0 }, "graphs", "must be at least 1"],
  [{ graphs: 2.5 }, "graphs", "int"],
  [{ tasks: [] }, "tasks", "must not be empty"],
  [{ tasks: [{ core: 3 }] }, "tasks[0].depth", ""],
  [{ tasks: [{ core: 0, depth: 0 }] }, "tasks[0].core", "must be at least 1"],
  [{ tasks: [{ core: [], depth: 0 }] }, "tasks[0].core", "must not be empty"],
  [{ tasks: [{ core: 3, depth: -1 }] }, "tasks[0].depth", "must be at least 0"],
  [{ tasks: [{ core: 3, depth: 1, connected: -1 }] }, "tasks[0].connected", "must be at least 0"],
  [
    { tasks: [{ core: 3, depth: 1, disconnected: [-1] }] },
    "tasks[0].disconnected[0]",
    "must be at least 0",
  ],
  [{ tasks: [{ core: 3, depth: 1, linking: "words" }] }, "tasks[0].linking", '"names"'],
  [{ tasks: [{ core: "three", depth: 1 }] }, "tasks[0].core", "number"],
  [{ tasks: [{ core: 2.5, depth: 1 }] }, "tasks[0].core", "int"],
  [{ tasks: [{ core: 3, depth: "most" }] }, "tasks[0].depth", '"all"'],
  [{ tasks: [{ core: 3, depth: 1, case: "all" }] }, "tasks[0]", 'Unrecognized key: "case"'],
  [{ models: [7] }, "models[0]", "string"],
  [{ models: ["a", { name: "b" }] }, "models[1].model", "it is missing"],
  [{ models: [{ model: "a", api: "smoke" }] }, "models[0].api", ""],
  [{ models: [{ model: "a", temperature: "2" }] }, "models[0].temperature", ""],
  [{ models: [{ model: "a", reasoningEffort: "huge" }] }, "models[0].reasoningEffort", ""],
  [{ tasks: [{ core: 3, depth: 1, cues: "types" }] }, "tasks[0].cues", ""],
  [
    { tasks: [{ core: 3, depth: 1, cues: "names", names: "helpful" }] },
    "tasks[0].cues",
    "go with random names",
  ],
  [{ tasks: [{ core: 3, depth: 1, types: 0 }] }, "tasks[0].types", "must be at least 1"],
  [{ tasks: [{ core: 3, depth: 1, inputs: [0, 1] }] }, "tasks[0].inputs[0]", "must be at least 1"],
  [
    { tasks: [{ core: 3, depth: 1, inputs: [3, 2] }] },
    "tasks[0].inputs",
    "the fewest inputs must not be above the most",
  ],
  [
    { tasks: [{ core: 3, depth: 1, outputs: 2 }] },
    "tasks[0].outputs",
    "must be [fewest, most], such as [1, 3]",
  ],
  [{ tasks: [{ depth: 1 }] }, "tasks[0].core", "it is missing"],
  [
    { tasks: [{ core: 3, depth: 1, outputs: [[1, 2], [3, 2]] }] },
    "tasks[0].outputs",
    "the fewest outputs must not be above the most",
  ],
  [{ tasks: [{ core: 3, depth: 1, names: "kind" }] }, "tasks[0].names", ""],
  [
    { tasks: [{ core: 3, depth: 1, names: ["helpful", "misleading"], linking: "names" }] },
    "tasks[0].names",
    "names cannot mislead",
  ],
  [{ tasks: [{ core: 3, depth: 1, extraEdges: -1 }] }, "tasks[0].extraEdges", "must be at least 0"],
  [
    { tasks: [{ core: 3, depth: 1, irrelevant: 2 }] },
    "tasks[0].connection",
    "it is missing: irrelevant needs it",
  ],
  [
    { tasks: [{ core: 3, depth: 1, connection: "half" }] },
    "tasks[0].irrelevant",
    "it is missing: connection needs it",
  ],
  [
    { tasks: [{ core: 3, depth: 1, irrelevant: 2, connection: "half", connected: 1 }] },
    "tasks[0].irrelevant",
    "give either irrelevant or connected and disconnected",
  ],
  [{ tasks: [{ core: 3, depth: 1, kore: 3 }] }, "tasks[0]", '"kore"'],
  [{ models: [] }, "models", "must not be empty"],
  [{ models: [""] }, "models[0]", "must not be empty"],
  [{ models: [{ model: "" }] }, "models[0].model", "must not be empty"],
  [{ models: [{ model: "a", baseURL: "ftp://x" }] }, "models[0].baseURL", "http or https URL"],
  [{ models: [{ model: "a", apiKeyVariable: "MY-KEY" }] }, "models[0].apiKeyVariable", ""],
  [{ models: [{ model: "a", temperature: 2.1 }] }, "models[0].temperature", "must be at most 2"],
  [{ models: [{ model: "a", topP: -0.1 }] }, "models[0].topP", "must be at least 0"],
  [
    { models: [{ model: "a", maxCompletionTokens: 0 }] },
    "models[0].maxCompletionTokens",
    "must be at least 1",
  ],
  [{ models: [{ model: "a", apiKey: "sk-1" }] }, "models[0]", '"apiKey"'],
  [{ strategies: [] }, "strategies", "must not be empty"],
  [{ strategies: ["guess"] }, "strategies[0]", "must be one of plain, restate, "],
  [{ strategies: [{ strategy: "guess" }] }, "strategies[0].strategy", "must be one of plain, "],
  [{ strategies: [{ strategy: "repair", atempts: 1 }] }, "strategies[0]", '"atempts"'],
  [
    { strategies: [{ strategy: "repair", attempts: 0 }] },
    "strategies[0].attempts",
    "must be at least 1: it is 0",
  ],
  [
    { strategies: [{ strategy: "repair", attempts: 21 }] },
    "strategies[0].attempts",
    "must be at most 20: it is 21",
  ],
  [
    { strategies: [{ strategy: "backward", rounds: 101 }] },
    "strategies[0].rounds",
    "must be at most 100: it is 101",
  ],
  [{ strategies: [{ strategy: "repair", name: "" }] }, "strategies[0].name", "must not be empty"],
  [
    { strategies: [{ strategy: "restate+plan_then_call", models: { route: "a" } }] },
    "strategies[0].models.route",
    "there is no such stage: there are plan, call",
  ],
  [
    { strategies: [{ strategy: "restate", models: { plan: "a" } }] },
    "strategies[0].models.plan",
    "restate asks no other model",
  ],
  [
    { strategies: [{ strategy: "repair", models: { repair: { model: "m", apiKey: "k" } } }] },
    "strategies[0].models.repair",
    '"apiKey"',
  ],
  [
    {
      strategies: [{ strategy: "repair", models: { repair: { model: "m", body: { key: "k" } } } }],
    },
    "strategies[0].models.repair.body",
    "must hold no secret",
  ],
  [
    { strategies: [{ strategy: "repair", prompts: { repair: { fix: "Mend it." } } }] },
    "strategies[0].prompts.repair.fix",
    "the text must hold {arguments}",
  ],
  [{ tasks: [{ case: "orakel" }] }, "tasks[0].case", "must be all, one of lying_calculator, "],
  [
    { tasks: [{ case: ["oracle", "orakel"] }] },
    "tasks[0].case",
    "needless_call, or a list of them",
  ],
  [{ tasks: [{ case: [] }] }, "tasks[0].case", "must not be empty"],
  [
    { tasks: [{ case: "all", core: 3 }] },
    "tasks[0]",
    "probes have no core: give either case or sizes",
  ],
  [{ tasks: [{ case: "all", seed: 3 }] }, "tasks[0]", "probes have no seed"],
  [
    { models: [{ model: "a", toolChoice: "must" }] },
    "models[0].toolChoice",
    "must be auto, none, required or",
  ],
  [{ perturbations: ["XX"] }, "perturbations[0]", "none"],
  [{ repetitions: 0 }, "repetitions", "must be at least 1"],
  [{ limits: { calls: 0 } }, "limits.calls", "must be at least 1"],
  [{ limits: { steps: 0 } }, "limits.steps", "must be at least 1"],
  [{ limits: { seconds: 0 } }, "limits.seconds", "must be above 0"],
  [{ limits: { tokens: 0.5 } }, "limits.tokens", "int"],
  [{ limits: { call: 1 } }, "limits", '"call"'],
  [{ gate: { baseline: {} } }, "gate.baseline", "must name a file, a model or a strategy"],
  [{ budget: { tokens: 0 } }, "budget.tokens", "must be at least 1"],
  [{ budget: { eur: 1 } }, "budget", '"eur"'],
  [{ prices: { a: { input: 1 } } }, "prices.a.output", "expected number"],
  [{ graph: 3 }, "the top", '"graph"'],
];

Deno.test("SUITE names the path and the rule of every fault", () => {
  for (const [change, path, rule] of FAULTS) {
    const wrong = JSON.stringify(change);
    const error = assertThrows(
      () => parseWith(SUITE, { ...SMALL, ...change }, "s.jsonc"),
      InputError,
    );
    assertStringIncludes(error.message, `Cannot use s.jsonc:\n  at ${path}: `, wrong);
    // Of the kind that a value is nearest to, and of no other.
    assertEquals(error.message.split("\n").length, 2, error.message);
    assert(!error.message.includes("or expected object"), error.message);
    assertStringIncludes(error.message, rule, wrong);
  }
});

Deno.test("SUITE takes no secrets, as plans are kept in journals", () => {
  for (
    const entry of [
      { model: "m", baseURL: "https://user:hunter22@example.com/v1" },
      { model: "m", baseURL: "https://example.com/v1?api-key=hunter22" },
      { model: "m", body: { user_token: "hunter22" } },
      { model: "m", body: { apiKey: "hunter22" } },
      { model: "m", body: { provider: [{ options: { api_key: "hunter22" } }] } },
    ]
  ) {
    const error = assertThrows(
      () => parseWith(SUITE, { ...SMALL, models: [entry] }, "it"),
      InputError,
      "plans are kept in journals",
    );
    assert(!error.message.includes("hunter22"), error.message);
  }
  const body = { max_tokens: 9, prompt_cache_key: "nightly", extra: [{ token_limit: 3 }] };
  parseWith(SUITE, { ...SMALL, models: [{ model: "m", body }] }, "it");
});
