// How models are spoken to, as users say it: --api on the command line, and entries of benchmarks and tests.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { APIS } from "../../lib/models/formats/registry.ts";
import { countingServer, deno, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

const SUITE = {
  name: "small",
  seed: 1,
  graphs: 2,
  tasks: [{ core: 3, depth: 2 }],
  models: ["sim:planner"],
};

const ALL = APIS.flatMap((api) => ["--api", api]);

Deno.test("toolgate run --api speaks to all models in that way, the suite's too", async () => {
  await using temporary = await folder();
  const models = [
    "sim:planner",
    { model: "sim:planner", api: "hermes" },
    { model: "sim:planner", api: "xml", name: "mine" },
  ];
  const suite = temporary.write("suite.jsonc", JSON.stringify({ ...SUITE, models }));
  const out = temporary.file("out.jsonl");
  const finished = await toolgate(["run", suite, "--api", "react", "--out", out]);
  assertEquals(finished.code, 0, finished.all);
  const [plan, ...trials] = readLines(out);
  // The first two are one and the same now.
  assertEquals(plan.resolved.models, [
    { model: "sim:planner", api: "react" },
    { model: "sim:planner", api: "react", name: "mine" },
  ]);
  assertEquals(trials.length, 4);
  assertEquals(
    new Set(trials.map(({ model }) => model.requested)),
    new Set(["sim:planner (react)", "mine"]),
  );
  for (const { model, solved } of trials) assertEquals([model.api, solved], ["react", true]);

  const usual = temporary.file("usual.jsonl");
  const chat = await toolgate(["run", suite, "--api", "chat", "--out", usual]);
  assertEquals(chat.code, 0, chat.all);
  const [usualPlan, ...usualTrials] = readLines(usual);
  assertEquals(usualPlan.resolved.models, [
    { model: "sim:planner" },
    { model: "sim:planner", name: "mine" },
  ]);
  assert(usualTrials.every(({ model }) => !("api" in model)));
});

Deno.test("toolgate run --api crosses several ways with the models, and runs a trial of each again", async () => {
  await using temporary = await folder();
  const price = { input: 1, output: 1 };
  const named = { model: "sim:planner", name: "mine", temperature: 0 };
  const suite = temporary.write(
    "suite.jsonc",
    JSON.stringify({
      ...SUITE,
      graphs: 1,
      models: [named],
      prices: { "sim:planner": price, mine: price },
    }),
  );
  const out = temporary.file("out.jsonl");
  const models = ["--model", "sim:planner", "--model", "mine"];
  const finished = await toolgate(["run", suite, ...models, ...ALL, "--out", out]);
  assertEquals(finished.code, 0, finished.all);
  const [, ...trials] = readLines(out);
  const names = trials.map(({ model }) => model.requested).sort();
  assertEquals(
    names,
    [
      ...["mine (chat)", "mine (hermes)", "mine (react)", "mine (responses)", "mine (xml)"],
      ...["sim:planner", "sim:planner (hermes)", "sim:planner (react)"],
      ...["sim:planner (responses)", "sim:planner (xml)"],
    ],
  );
  assert(trials.every(({ solved }) => solved));
  for (const api of ["xml", "responses"]) {
    const { id } = trials.find(({ model }) => model.requested === `sim:planner (${api})`)!;
    const again = await toolgate(["run", out, "--only", id]);
    assertEquals(again.code, 0, again.all);
    assertStringIncludes(again.stdout, `sim:planner (${api}) (simulated): solved`);
  }
});

Deno.test("toolgate run --api goes with thinking budgets and prices", async () => {
  await using temporary = await folder();
  await using server = countingServer("sim:planner");
  const prices = { m: { input: 1, output: 1 } };
  const suite = temporary.write(
    "suite.jsonc",
    JSON.stringify({ ...SUITE, graphs: 1, models: ["m"], prices }),
  );
  const out = temporary.file("out.jsonl");
  const efforts = ["--reasoning-effort", "low", "--reasoning-effort", "high"];
  const finished = await toolgate([
    ...["run", suite, "--base-url", server.url, "--out", out, "--max-usd", "1"],
    ...["--api", "chat", "--api", "hermes", ...efforts],
  ]);
  assertEquals(finished.code, 0, finished.all);
  const [plan, ...trials] = readLines(out);
  const names = ["m high", "m low", "m (hermes) high", "m (hermes) low"].sort();
  assertEquals(trials.map(({ model }) => model.requested).sort(), names);
  for (const name of names) assertEquals(plan.prices[name], prices.m);
});

Deno.test("benchmark() and toolTest() take entries with an api", async () => {
  await using temporary = await folder();
  const mod = JSON.stringify(`${ROOT}/mod.ts`);
  const file = temporary.write(
    "apis.ts",
    `import { assertAnswer, assertCalled, benchmark, toolTest } from ${mod};
benchmark("bench", {
  model: [
    ${APIS.map((api) => `{ model: "sim:planner", api: "${api}" }`).join(",\n    ")},
  ],
  tasks: { core: 3, depth: 2 },
  seed: 1,
  graphs: 2,
});
const tool = {
  name: "func_xyz",
  description: "Processes variable efgh (type_a with subtype_b) to produce variable abcd (type_c with subtype_d)",
  parameters: {
    type: "object",
    properties: { efgh: { type: "integer" } },
    required: ["efgh"],
    additionalProperties: false,
  },
  execute: async () => await '{"abcd": 7}',
};
for (const api of ${JSON.stringify(APIS)} as const) {
  toolTest("test " + api, {
    model: { model: "sim:planner", api },
    tools: [tool],
    prompt: "The value of variable abcd, please.\\nVariable efgh = 4",
    assert(run) {
      assertCalled(run, { tool: "func_xyz", arguments: { efgh: 4 } });
      assertAnswer(run, /abcd = 7/);
    },
  });
}
`,
  );
  const finished = await deno(["test", "--no-check", "-A", "--config", `${ROOT}/deno.json`, file]);
  assertEquals(finished.code, 0, finished.all);
  assertStringIncludes(finished.stdout, "15 passed");
});
