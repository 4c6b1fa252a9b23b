// The suite files of fixtures/suites, and the JSON schema by which editors check them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Ajv } from "ajv";
import { parse as parseJsonc } from "@std/jsonc";
import type { z } from "zod";
import { Connections } from "../../lib/models/connect.ts";
import { readJsonc } from "../../lib/base/input.ts";
import { planSuiteFile } from "../support/suites.ts";
import { estimateUsage, modelCosts } from "../../lib/runs/cost_forecast.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { isQuestion } from "../../lib/tasks/task_kind.ts";
import { Run } from "../../lib/runs/run.ts";
import { type SeededCell, SUITE, type Suite, SUITE_FILE } from "../../lib/runs/suite.ts";
import { modelName } from "../../lib/models/entry.ts";
import { countingServer, ROOT } from "../support/child.ts";
import { shellLines } from "../support/documents.ts";
import { EXPERIMENTS } from "../support/experiment_rows.ts";
import { generatedFrom } from "../support/generated.ts";
import { CALLNAVI, outsideTest } from "../support/outside_data.ts";
import { type Schema, SCHEMA_PATH } from "../support/suite_schema.ts";

const FOLDER = `${ROOT}/fixtures/suites`;
/** The suites that documents tell to run: tests/e2e/documents_commands_test.ts does. */
const OF_DOCUMENTS = shellLines("deno task toolgate run ").map((line) =>
  /suites\/(\w+)/.exec(line)?.[1]
);
const NAMES = [...Deno.readDirSync(FOLDER)]
  .flatMap(({ name }) => name.endsWith(".jsonc") ? [name.slice(0, -".jsonc".length)] : [])
  .sort();

function planOf(name: string, suite: Suite = read(name).suite): Plan {
  return planSuiteFile(suite, `${FOLDER}/${name}.jsonc`);
}

function read(name: string): { text: string; head: string; suite: Suite } {
  const path = `${FOLDER}/${name}.jsonc`;
  const text = Deno.readTextFileSync(path);
  const [head] = /^(\/\/.*\n)+/.exec(text) ?? [""];
  return { text, head, suite: readJsonc(path, SUITE) };
}

/** The ids of all trials of a suite file, in order. */
function idsOf(name: string): string[] {
  return planOf(name).trials.map(({ id }) => id).sort();
}

const SCHEMA: Schema = JSON.parse(Deno.readTextFileSync(SCHEMA_PATH));
// A format such as that of URLs is a note to editors, no rule.
const validate = new Ajv({ validateFormats: false }).compile(SCHEMA);

/** Every property of a schema, by its path. */
function propertiesOf(schema: unknown, path = ""): [path: string, property: Schema][] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const own = keyword === "properties" ? Object.entries<Schema>(value) : [];
    return [
      ...own.map(([name, part]): [string, Schema] => [`${path}/${name}`, part]),
      ...propertiesOf(value, `${path}/${keyword}`),
    ];
  });
}

Deno.test("schema.json describes every property in plain words", () => {
  const properties = propertiesOf(SCHEMA);
  for (const [path, { description }] of properties) {
    assertMatch(description ?? "", /^[^{}\n]+\.$/, path);
  }
  assert(properties.length > 60, `there are ${properties.length}`);
});

// Its data lie outside of the project.
if (CALLNAVI.path !== undefined) Deno.env.set(CALLNAVI.variable, CALLNAVI.path);

for (const name of NAMES) {
  const isOutside = name === "callnavi";
  const title = `suites/${name}.jsonc comes to what its comment says`;
  const test = isOutside
    ? (fn: () => void) => outsideTest(title, CALLNAVI, fn)
    : (fn: () => void) => Deno.test(title, fn);
  test(() => {
    const { head, suite } = read(name);
    assertEquals(suite.name, name);
    assertStringIncludes(head, `//   deno task toolgate run fixtures/suites/${name}.jsonc`);
    const [, cells, trials] = /([\d,]+) cells, ([\d,]+) trials a model[.:]/.exec(head) ?? [];
    const plan = planOf(name);
    assertEquals(plan.resolved.cells.length, Number(cells?.replace(",", "")));
    assertEquals(plan.trials.length / suite.models.length, Number(trials?.replace(",", "")));
    const readme = Deno.readTextFileSync(`${ROOT}/fixtures/README.md`);
    const row = readme.split("\n").find((line) => line.includes(`\`suites/${name}.jsonc\``));
    assertMatch(row ?? "", new RegExp(`\\| +${trials} +\\|$`), "the row of fixtures/README.md");
  });

  Deno.test(`suites/${name}.jsonc is right by its schema`, () => {
    const value = parseJsonc(read(name).text) as { $schema: string };
    assertEquals(`${FOLDER}/${value.$schema}`.replace("/./", "/"), SCHEMA_PATH);
    assert(validate(value), JSON.stringify(validate.errors));
  });

  // tests/soak/experiments.ts runs the one whose data lie outside.
  if (OF_DOCUMENTS.includes(name) || isOutside) continue;
  Deno.test(`suites/${name}.jsonc runs`, async () => {
    const { suite } = read(name);
    const { trials, resolved: { cells }, ...whole } = planOf(name);
    // Two at least of a suite that pairs cells must share their core.
    const first = suite.pair === undefined ? cells.slice(0, 1) : cells.slice(0, 2);
    const tasks = [...new Set([...first, cells[cells.length >> 1]!, cells.at(-1)!])];
    // Of a call set, which has no part that is a set of its own, the whole is small enough.
    const isSet = cells.some(isQuestion);
    const plan = isSet ? planOf(name) : planOf(name, {
      ...suite,
      graphs: 1,
      tasks: tasks as readonly SeededCell[],
    });
    // In place of OpenAI's, for the models that are not simulated.
    await using server = countingServer("sim:planner");
    const sets = whole.callSets ?? [];
    const connections = new Connections({ baseURL: server.url, sets });
    using run = new Run(plan, { connect: (entry) => connections.model(entry) });
    const finished = await run.all();
    const invalid = finished.filter(({ outcome }) => outcome === "invalid");
    assertEquals(invalid.map(({ reason }) => reason), []);
    const { models, strategies = [""], perturbations = [""] } = suite;
    const ways = models.length * strategies.length * perturbations.length;
    assertEquals(finished.length, isSet ? trials.length : tasks.length * ways);
    const planned = new Set(trials.map(({ id }) => id));
    assert(finished.every(({ id }) => planned.has(id)), "a small run has tasks of its own");
  });
}

Deno.test("suites/main_grid.jsonc has as many trials as the rates of the paper's Table 2 are of (FuncBenchGen 4, 4.1)", () => {
  const { trials } = planOf("main_grid");
  const byCore = Map.groupBy(trials, ({ task }) => generatedFrom(task).core);
  assertEquals([...byCore].map(([core, { length }]) => [core, length]), [
    [5, 200],
    [10, 450],
    [20, 500],
  ]);
  assertEquals(trials.length, 1150);
});

Deno.test("suites that are said to share tasks share them", () => {
  // Their simulated models differ: what is hard for one size shows nothing about another.
  const [main, none, forty, larger] = ["main_grid", "no_extra", "depth_40", "larger_sets"]
    .map((name) => idsOf(name).map((id) => id.replace(/ model=\S+/, "")));
  assertEquals(new Set(none).difference(new Set(main)).size, 0);
  assertEquals([...main!, ...forty!].sort(), larger!.sort());
  const paired = planOf("main_grid", { ...read("main_grid").suite, pair: "distractors" });
  assertEquals(planOf("distractors").trials.map(({ id }) => id), paired.trials.map(({ id }) => id));
});

Deno.test("suites/thinking_budget.jsonc has two models of distinct names (FuncBenchGen 4.5)", () => {
  const { models } = read("thinking_budget").suite;
  const names = models.map((entry) => typeof entry === "string" ? entry : modelName(entry));
  assertEquals(names, ["gpt-5 minimal", "gpt-5 medium"]);
});

/** A suite with every kind of value in it. */
const COMPLETE = {
  $schema: "./schema.json",
  name: "complete",
  seed: 1,
  graphs: 5,
  tasks: [
    {
      core: [3, 5],
      depth: "all",
      connected: 0,
      disconnected: [0, 2],
      linking: "types",
      types: 4,
      inputs: [1, 2],
      extraEdges: 0,
    },
    { core: 3, depth: [1, 2], irrelevant: [0, 4], connection: ["half"], linking: ["names"] },
    { case: "all" },
    { case: "oracle" },
    { case: ["lying_calculator", "forced_choice"] },
  ],
  models: ["sim:planner", {
    model: "m",
    api: "chat",
    baseURL: "http://127.0.0.1:8000/v1",
    apiKeyVariable: "MY_KEY",
    temperature: 0,
    topP: 1,
    maxCompletionTokens: 9,
    reasoningEffort: "low",
    seed: 1,
    parallelToolCalls: false,
    stream: false,
    toolChoice: { function: "f" },
    body: { one: [1, { two: null }] },
    name: "n",
  }],
  strategies: ["plain", "restate+repair", {
    strategy: "indirection+backward+repair",
    models: { infer: "sim:planner", repair: { model: "m", temperature: 0, name: "mender" } },
    prompts: { repair: { fix: "Mend {arguments}" } },
    attempts: 1,
    rounds: 2,
    dereference: true,
    name: "everything",
  }],
  perturbations: ["none"],
  repetitions: 2,
  limits: { calls: 1, steps: 2, seconds: 0.5, tokens: 4 },
  gate: {
    baseline: { file: "b.json", model: "m", strategy: "plain", perturbation: "none" },
    margin: 0.1,
    confidence: 0.9,
    power: 0.8,
    coverage: 0.7,
    undecided: "pass",
    sequential: false,
    discordance: 0.3,
    atMost: {
      failures: { incorrect_value: 0.1 },
      failureShifts: { value_not_yet_known: 0.1 },
      behaviours: { silent: 0.9, ungrounded: 0 },
      tokens: 100.5,
      usd: 0.5,
    },
  },
  budget: { tokens: 1000, usd: 0.5 },
  prices: { n: { input: 0, output: 10 } },
};

Deno.test("schema.json and SUITE_FILE take a suite with everything in it", () => {
  assert(validate(COMPLETE), JSON.stringify(validate.errors));
  SUITE_FILE.parse(COMPLETE);
});

/** Whether a fault breaks a rule that is a function. */
function isUnsayable(issue: z.core.$ZodIssue): boolean {
  if (issue.code === "invalid_union") {
    return issue.errors.some((issues) => issues.every(isUnsayable));
  }
  return issue.code === "custom" || (issue.code === "invalid_format" && issue.format === "url");
}

/** Every value that comes of putting `others` in place of each part of `value`, or of leaving it out. */
function* mutations(value: unknown, others: readonly unknown[]): Generator<unknown> {
  yield* others;
  if (Array.isArray(value)) {
    for (const [place, item] of value.entries()) {
      yield value.toSpliced(place, 1);
      for (const other of mutations(item, others)) yield value.with(place, other);
    }
    for (const other of others) yield [...value, other];
  } else if (typeof value === "object" && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      const { [name]: _, ...rest } = value as Record<string, unknown>;
      yield rest;
      for (const other of mutations(part, others)) yield { ...value, [name]: other };
    }
    yield { ...value, unknown: 1 };
  }
}

Deno.test("schema.json and SUITE_FILE agree on every suite with one part changed", () => {
  const others = [null, true, -1, 0, 1, 1.5, 2 ** 53, "", "all", "none", [], [1], ["none"], {}];
  let refused = 0;
  for (const suite of mutations(COMPLETE, others)) {
    const { error } = SUITE_FILE.safeParse(suite);
    const bySchema = validate(suite);
    if (!bySchema) refused++;
    if (bySchema === (error === undefined)) continue;
    const shown = `${JSON.stringify(suite)}\n${JSON.stringify(validate.errors)}\n${error}`;
    assert(bySchema, `schema.json refuses what SUITE_FILE takes: ${shown}`);
    assert(error!.issues.every(isUnsayable), `schema.json takes what SUITE_FILE refuses: ${shown}`);
  }
  assert(refused > 1000, `${refused} were refused`);
});

Deno.test("docs/experiments.md says how many trials and about how many dollars each suite takes", () => {
  const rows = EXPERIMENTS.filter(({ suite }) =>
    suite !== "callnavi" || CALLNAVI.path !== undefined
  );
  assert(rows.length > 25, `${rows.length}`);
  for (const [name, own] of Map.groupBy(rows, ({ suite }) => suite)) {
    const { suite } = read(name);
    const [first] = suite.models;
    const model = typeof first === "string" ? first : modelName(first!);
    const prices = { [model]: { input: 1.25, output: 10 } };
    const plan = planOf(name, { ...suite, models: [first!], prices });
    const costs = modelCosts(plan, estimateUsage(plan))
      .map(({ trials, usd }) => [trials, Math.round(usd)]);
    for (const { trials, usd } of own) assertEquals(costs, [[trials, usd]], name);
  }
});
