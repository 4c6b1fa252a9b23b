// An option that is undefined is one that is left out, wherever there are options.

import { assertEquals, assertNotMatch } from "@std/assert";
import {
  assertBudget,
  assertCalled,
  assertCallScore,
  benchmark,
  grid,
  judge,
  openai,
  scripted,
  tool,
  toolTest,
} from "../../mod.ts";
import { canonicalJson, isObject } from "../../lib/base/json.ts";
import { parseWith } from "../../lib/base/input.ts";
import { completeCanary } from "../../lib/gate/canary.ts";
import { completePolicy, readPolicy } from "../../lib/gate/policy.ts";
import { mcpTools } from "../../lib/integrations/mcp.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { Connections } from "../../lib/models/connect.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { createToolExecutor } from "../../lib/toolkit/execution/executor.ts";
import { runTools } from "../../lib/toolkit/run_tools.ts";
import { logCalls } from "../../lib/trials/executors/call_log.ts";
import { CollectedTests } from "../support/collected.ts";
import fc from "../support/fast_check.ts";
import { asked, completion, response } from "../support/wire_servers.ts";

type Path = readonly PropertyKey[];

const SPEC = { core: 3, depth: 2, connected: 1, disconnected: 1, seed: 7 };
const ADD = {
  name: "add",
  description: "Adds",
  parameters: {
    type: "object",
    properties: { x: { type: "integer" }, y: { type: "integer" } },
    required: ["x", "y"],
  },
  execute: ({ x, y }: Record<string, unknown>) => Promise.resolve(`${Number(x) + Number(y)}`),
};
const ARGUMENTS = { x: 1, y: 2 };
const adder = scripted("adder", [
  { calls: [{ name: "add", arguments: ARGUMENTS }] },
  { text: "It is 3." },
]);
const POLICY = {
  confidence: 0.9,
  power: 0.8,
  coverage: 0.9,
  margin: 0.1,
  undecided: "pass",
  sequential: false,
  infrastructure: [{ status: 503, message: "busy" }],
  atMost: { missedCalls: 0.5, failures: { function_not_found: 0.5 }, usd: 1 },
};
const TEST = {
  model: adder,
  tools: [ADD],
  prompt: "What is 1 + 2?",
  system: "Add.",
  expected: [{ tool: "add", arguments: ARGUMENTS, ignore: ["x"], match: "partial" }],
  never: [{ tool: "add", arguments: { x: 2 } }],
  toolChoice: "auto",
  trials: 2,
  seed: 3,
  strategy: "plain",
  perturbation: "none",
  assert: () => {},
  limits: { calls: 3, tokens: 1_000, observation: 100 },
  references: false,
  transcripts: "none",
  concurrency: 1,
  retries: 0,
  budget: { tokens: 9_000 },
  prices: { adder: { input: 1, output: 1 } },
};
const RATE_GATE = { ...POLICY, successRate: 0.5, every: 0.2 };
const UPGRADE_GATE = {
  ...POLICY,
  baseline: { model: "old", strategy: "plain" },
  discordance: 0.3,
};
const GRID = {
  core: [3, 4],
  depth: 2,
  connected: 1,
  disconnected: [0, 1],
  linking: "types",
  cues: "none",
  surface: "plain",
  types: 5,
  inputs: [1, 2],
  names: "random",
  outputs: [1, 1],
  extraEdges: 0,
};
const MODEL = {
  model: "sim:planner",
  name: "p",
  api: "chat",
  temperature: 0.5,
  topP: 1,
  maxCompletionTokens: 1_000,
  seed: 3,
  parallelToolCalls: true,
  stream: true,
  toolChoice: "auto",
  body: { note: "x" },
};

/** What is done with options, and all options with values that can be used. */
const TABLE: Readonly<Record<string, [options: object, use: (options: never) => unknown]>> = {
  "a policy": [RATE_GATE, completePolicy],
  "a policy that is read": [RATE_GATE, (policy) => readPolicy(policy, "the policy")],
  "a policy of cases": [
    { ...POLICY, margin: undefined, every: 0.5 },
    (policy) => readPolicy(policy, "the policy"),
  ],
  "a policy of upgrades": [UPGRADE_GATE, (policy) => readPolicy(policy, "the policy")],
  "a canary policy": [
    { tolerance: 0.02, drop: 0.1, confidence: 0.9, coverage: 0.9, models: 2, stopped: true },
    completeCanary,
  ],
  "a suite": [
    {
      ...{ name: "s", seed: 1, graphs: 2, repetitions: 2, pair: "distractors", references: false },
      tasks: [GRID],
      models: [MODEL, "sim:noisy"],
      strategies: ["plain", { strategy: "repair", attempts: 3, models: {}, prompts: {} }],
      perturbations: ["none"],
      sampling: { temperature: 0.5, topP: 0.9 },
      limits: { calls: 9, steps: 9, seconds: 60, tokens: 9_000, parallel: 2, depth: 2 },
      gate: { ...RATE_GATE, every: undefined },
      budget: { tokens: 9_000, usd: 1 },
      prices: { p: { input: 1, output: 2 }, "sim:noisy": { input: 1, output: 2 } },
    },
    (suite) => planSuite(parseWith(SUITE, suite, "the suite")),
  ],
  "a grid": [GRID, grid],
  "a generated task": [
    { ...SPEC, types: 5, inputs: [1, 2], extraEdges: 0, linking: "types", surface: "plain" },
    generateTask,
  ],
  "a generated task of names": [
    { ...SPEC, outputs: [1, 1], names: "misleading", cues: "none" },
    generateTask,
  ],
  "a benchmark": [
    {
      model: [adder, MODEL],
      tasks: [{ core: 2, depth: 1, connected: undefined }],
      seed: 1,
      graphs: 1,
      strategies: ["plain"],
      perturbations: ["none"],
      limits: { calls: 1 },
      concurrency: 1,
      retries: 0,
      requestTimeout: 5,
      budget: { tokens: 9_000 },
      prices: { adder: { input: 1, output: 1 }, p: { input: 1, output: 2 } },
      gate: { ...RATE_GATE, every: undefined },
    },
    (options) => endsOf(() => benchmark("b", options)),
  ],
  "a tool test": [{ ...TEST, gate: RATE_GATE }, (options) => endsOf(() => toolTest("t", options))],
  "a variant of a tool test": [
    {
      ...{ model: "sim:planner", tools: [ADD], system: "Add!", toolChoice: "auto" },
      ...{ strategy: "plain", sampling: { temperature: 0, topP: 1 }, reasoningEffort: "low" },
    },
    (variant) =>
      endsOf(() =>
        toolTest(
          "t",
          {
            ...TEST,
            variants: { variant, one: { system: "-" }, other: { toolChoice: "none" } },
          } as never,
        )
      ),
  ],
  "a tool": [
    { ...ADD, examples: [ARGUMENTS], output: { type: "string" }, annotations: { title: "A" } },
    (options) => called(tool(options)),
  ],
  "a tool with a sequence": [
    { ...ADD, execute: undefined, returns: undefined, sequence: [1], strict: false },
    (options) => called(tool(options)),
  ],
  "a tool of a server": [
    {
      ...{ name: "add", title: "T", description: "D", inputSchema: ADD.parameters, sequence: [1] },
      outputSchema: { type: "object" },
    },
    (options) => called(tool(options)),
  ],
  "tools of a server": [
    { tools: ["add"], seconds: 5, unsafePatterns: false },
    async (options) => [...await mcpTools(CLIENT, options)],
  ],
  "tools of a document": [
    { operations: ["GET /pets"], seed: 3, seconds: 5, headers: undefined, unsafePatterns: false },
    async (options) => {
      const tools = await openApiTools(OPEN_API, options);
      return [tools, await tools[0]!.execute({})];
    },
  ],
  "openai()": [{ ...MODEL, retries: 0, requestTimeout: 5, backoff: 1, headers: { a: "b" } }, sent],
  "openai() by responses": [
    { model: "m", api: "responses", reasoningEffort: "low", maxCompletionTokens: 9, apiKey: "key" },
    sent,
  ],
  "a model's entry": [
    MODEL,
    (entry) => new Connections().model(entry).reply(asked()),
  ],
  "a judge": [
    { model: scripted("j", [{ text: "[[0.5]]" }]), prompt: "{predicted} {truth}" },
    (options) => judge(options).score("a", "b", { context: undefined, signal: undefined }),
  ],
  "a judge by name": [
    { model: "sim:truth", prompt: "{predicted} {truth}", retries: 0, backoff: 0 },
    (options) => judge(options).score("a", "b"),
  ],
  "likeness": [{ atLeast: 0.3 }, (options) => judge({ model: "sim:truth" }).like("a", options)],
  "a rubric": [
    { overall: 3, context: "c" },
    (options) => judge({ model: "sim:truth" }).rubric({ a: "b" }, options),
  ],
  "a log of calls": [
    { perturbation: { id: "WT", seed: 1 } },
    async (options) => {
      const run = logCalls([ADD], options);
      return [await run.recorded[0]!.execute(ARGUMENTS), run.tools];
    },
  ],
  "a scripted reply": [
    { text: "3", calls: [], finish: "length", usage: { inputTokens: 1, outputTokens: 1 } },
    (reply) => scripted("m", [reply]).reply(asked()),
  ],
  "an expected call": [
    { arguments: { x: 1 }, match: "partial", ignore: ["y"], defaults: "refused" },
    (expected) =>
      assertCalled(RECORD, { tool: "add", ...expected as object }, { times: undefined }),
  ],
  "a budget of a run": [
    { calls: 2, replies: 2, inputTokens: 2, outputTokens: 2, tokens: 2, seconds: 1 },
    (budget) => assertBudget({ ...RECORD, replies: 1, usage: USAGE, durationMs: 1 }, budget),
  ],
  "what a score must reach": [
    { precision: 0.5, recall: 0.5, f1: 0.5 },
    (thresholds) => assertCallScore(RECORD, ["add"], thresholds),
  ],
  "a strategy": [
    { strategy: "repair", attempts: 3, models: {}, prompts: {} },
    (strategy) => planSuite(parseWith(SUITE, { ...SUITE_OF_ONE, strategies: [strategy] }, "s")),
  ],
  "a run of tools": [
    {
      messages: [{ role: "user", content: "What is 1 + 2?" }],
      strategy: "repair",
      attempts: 1,
      limits: { calls: 2, seconds: 5, observation: 9 },
      references: false,
      given: {},
      models: {},
    },
    (options) => runTools(adder, [ADD], options),
  ],
  "careful execution": [
    {
      retries: 0,
      timeout: 5_000,
      timeLimit: 5_000,
      backoff: 1,
      longestPause: 9,
      seed: 1,
    },
    (options) =>
      createToolExecutor([ADD], options)
        .execute({ name: "add", arguments: JSON.stringify(ARGUMENTS) }),
  ],
};

const CLIENT = {
  listTools: () => Promise.resolve({ tools: [{ name: "add", inputSchema: ADD.parameters }] }),
  callTool: () => Promise.resolve({ content: [{ type: "text", text: "3" }] }),
  getInstructions: () => undefined,
};
const OPEN_API = {
  openapi: "3.1.0",
  info: { title: "t", version: "1" },
  paths: {
    "/pets": {
      get: {
        responses: {
          200: { content: { "application/json": { schema: { type: "integer" } } } },
        },
      },
    },
  },
};

/** A call of the tool, and no text in which there might be others. */
const CALL = { call: 1, step: 1, tool: "add", arguments: ARGUMENTS, written: "{}", result: "3" };
const USAGE = { inputTokens: 1, outputTokens: 1 };
const SUITE_OF_ONE = { name: "s", seed: 1, models: ["m"], tasks: [{ core: 2, depth: 1 }] };
const RECORD = { calls: [CALL], answer: "", tools: [ADD] };

/** A tool, and what it returns. */
async function called(made: ReturnType<typeof tool>) {
  return [made, await made.execute(ARGUMENTS)];
}

/** How the tests that are registered end, and what they print. */
async function endsOf(register: () => void) {
  const { tests } = await CollectedTests.of(register).run();
  return tests.map(({ name, ended, error }) => [name, ended, error.split("\n")[0]]);
}

/** What a model sends, and what it says of itself. */
async function sent(options: never) {
  const requests: unknown[] = [];
  const model = openai({
    ...options as { model: string },
    baseURL: "http://127.0.0.1:9/v1",
    fetch: async (input, init) => {
      const { url, headers, ...request } = new Request(input, init);
      requests.push(url, [...headers], JSON.parse(`${init?.body}`), request);
      const isChat = url.endsWith("/chat/completions");
      return await Promise.resolve(Response.json(isChat ? completion() : response()));
    },
  });
  const reply = await model.reply(asked()).catch((error) => error.message);
  return [model, requests, reply];
}

/** Options that hold values of the user's own, which have no undefined fields. */
const DATA = new Set(["parameters", "inputSchema", "arguments", "headers", "body", "prices"]);

/** The paths of all keys of options. */
function pathsIn(value: unknown, path: Path = []): Path[] {
  if (!isPlain(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(Array.isArray(value) ? [] : [[...path, key]]),
    ...(DATA.has(key) ? [] : pathsIn(inner, [...path, key])),
  ]);
}

function isPlain(value: unknown): value is object {
  return Array.isArray(value) ||
    isObject(value) && Object.getPrototypeOf(value) === Object.prototype && !("reply" in value);
}

/** A value whose keys at the paths are undefined, or absent. */
function without(value: unknown, paths: readonly Path[], isUndefined: boolean): unknown {
  if (Array.isArray(value)) {
    return value.map((item, index) => without(item, innerPaths(paths, `${index}`), isUndefined));
  }
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const own = innerPaths(paths, key);
      if (!own.some((path) => path.length === 0)) return [[key, without(inner, own, isUndefined)]];
      return isUndefined ? [[key, undefined]] : [];
    }),
  );
}

function innerPaths(paths: readonly Path[], key: PropertyKey): Path[] {
  return paths.filter(([first]) => first === key).map(([, ...rest]) => rest);
}

/** What comes of options: times apart. */
async function outcome(use: (options: never) => unknown, options: unknown): Promise<string> {
  try {
    return canonicalJson([await use(options as never)])
      .replace(/"(?:durationMs|duration|seconds|startedAt)":(?:[\d.]+|"[^"]*")/g, "");
  } catch {
    return "refused";
  }
}

for (const [name, [options, use]] of Object.entries(TABLE)) {
  Deno.test(`${name}: an option that is undefined is left out`, async () => {
    const paths = pathsIn(options);
    const all = await outcome(use, options);
    assertNotMatch(all, /^refused|Cannot /);
    const alike = async (chosen: Path[]) =>
      assertEquals(
        await outcome(use, without(options, chosen, true)),
        await outcome(use, without(options, chosen, false)),
      );
    await alike(paths);
    for (const path of paths) await alike([path]);
    await fc.assert(fc.asyncProperty(fc.subarray(paths), alike));
  });
}
