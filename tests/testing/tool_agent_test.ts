// Tool tests of agents as users run them: files with tests, in child processes, whose agents ask a server.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, endedIn, folder, readLines, ROOT, shell } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { refusalsOf } from "../support/refusals.ts";

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

/** Runs a test file in its folder. */
function run(file: string, own: readonly string[] = []) {
  return deno([
    ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, file],
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], { cwd: place.path, env: { KEY: "k" } });
}

/** A server whose model adds by the tool and then says the sum, agents that ask it, and one that asks nobody. */
const PRELUDE = `// @ts-nocheck: a user may write no types.
import { assertAnswer, assertCalled, benchmark, tool, toolSuite, toolTest } from "file://${ROOT}/mod.ts";
import { plainLoop } from "file://${ROOT}/tests/support/agents/plain_loop.ts";
import { assertEquals } from "@std/assert";

const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const { messages, tools } = await request.json();
  const last = messages.at(-1);
  const name = /subtract/.test(last.content) ? "subtract" : "add";
  const message = last.role === "tool"
    ? { content: "It is " + last.content + "." }
    : { content: "Let me see.", tool_calls: [
      { id: "c" + messages.length, type: "function", function: { name, arguments: '{"x":1,"y":2}' } },
    ] };
  return Response.json({ model: "m-1", choices: [{ index: 0, message: { role: "assistant", ...message } }], usage });
});
server.unref();
const model = { model: "m", baseURL: "http://127.0.0.1:" + server.addr.port + "/v1", apiKeyVariable: "KEY" };
const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: { type: "object", properties: { x: { type: "number" }, y: { type: "number" } } },
  execute: ({ x, y }) => x + y,
});
const agent = plainLoop({ api: "chat", streamed: false });
const alone = async ({ tools }) => "It is " + await tools[0].execute({ x: 1, y: 2 }) + ".";
const right = { tools: [add], prompt: "What is 1 + 2?", assert: (run) => assertAnswer(run, "3") };
const program = { command: ["python3", "${ROOT}/fixtures/agents/agent.py"] };
`;

function write(name: string, body: string): string {
  place.write(name, `${PRELUDE}${body}`);
  return name;
}

const ALL_OF_RUN = `
const shape = ({ calls, messages, texts, usage, replies, turns, answer }) => ({
  calls: calls.map(({ tool, arguments: given, result, step }) => [tool, given, result, step]),
  messages: messages.map(({ role, content, calls = [] }) => [role, content, calls.length]),
  turns: turns.map(({ prompt, answer, texts, calls, replies, usage }) =>
    [prompt, answer, texts.length, calls.length, replies, usage.inputTokens]),
  ...{ texts, usage, replies, answer },
});
const both = { ...right, model, system: "Be brief.", turns: ["And again?"] };
const call = (step) => ["add", { x: 1, y: 2 }, "3", step];
const turn = (prompt) => [["user", prompt, 0], ["assistant", "Let me see.", 1], ["tool", "3", 0], ["assistant", "It is 3.", 0]];
const seen = {
  calls: [call(1), call(3)],
  messages: [["system", "Be brief.", 0], ...turn("What is 1 + 2?"), ...turn("And again?")],
  turns: ["What is 1 + 2?", "And again?"].map((prompt) => [prompt, "It is 3.", 2, 1, 2, 14]),
  texts: ["Let me see.", "It is 3.", "Let me see.", "It is 3."],
  ...{ usage: { inputTokens: 28, outputTokens: 8 }, replies: 4, answer: "It is 3." },
};
for (const [name, agent] of Object.entries({ watched: agentOf(true), spaced: agentOf(false), program })) {
  toolTest(name, { ...both, agent, assert: (run) => assertEquals(shape(run), seen) });
}
function agentOf(isPlain) {
  return isPlain ? agent : async (...given) => (await agent(...given)) + "\\n";
}
toolTest("another answer", { ...both, turns: [], agent: async (...given) => (await agent(...given)) + " Bye!",
  assert: (run) => assertEquals(run.texts, ["Let me see.", "It is 3.", "It is 3. Bye!"]) });
const none = { inputTokens: 0, outputTokens: 0 };
toolTest("unwatched", { ...both, agent: alone, assert: (run) => assertEquals(shape(run), {
  calls: [call(1), call(2)],
  messages: [["system", "Be brief.", 0], ["user", "What is 1 + 2?", 0], ["assistant", "It is 3.", 0],
    ["user", "And again?", 0], ["assistant", "It is 3.", 0]],
  turns: ["What is 1 + 2?", "And again?"].map((prompt) => [prompt, "It is 3.", 1, 1, 0, 0]),
  texts: ["It is 3.", "It is 3."],
  ...{ usage: none, replies: 0, answer: "It is 3." },
}) });
`;

Deno.test("toolTest({ agent }) gives assert what its model said, as far as that was seen", async () => {
  const finished = await run(write("run_test.ts", ALL_OF_RUN));
  assertEquals(endedIn(finished), [
    ["watched", "ok"],
    ["spaced", "FAILED"],
    ["program", "ok"],
    ["another answer", "ok"],
    ["unwatched", "ok"],
  ], finished.all);
  // What it adds to the model's last text is no text of its own.
  assertMatch(finished.all, /- +answer: "It is 3\.\\n"/);
});

Deno.test("toolTest()s of a file with one agent make one suite, and those of another one make others", async () => {
  const body = `
toolTest("first", { ...right, model, agent });
toolTest("second", { ...right, model, agent });
toolTest("other", { ...right, model, agent: alone });
toolTest("none", { ...right, model });
`;
  const finished = await run(write("agents_test.ts", body), ["--out=agents/"]);
  assertEquals(finished.code, 0, finished.all);
  const journals = [...Deno.readDirSync(place.file("agents"))].map(({ name }) => name).sort();
  const suites = journals.map((name) => readLines(place.file(`agents/${name}`)));
  assertEquals(
    suites.map(([plan, ...trials]) => [plan.suite, trials.map(({ agent }) => agent ?? "none")]),
    [["agents", ["watched", "watched"]], ["none", ["none"]], ["other", ["unwatched"]]],
  );
  const programs = await run(
    write(
      "programs_test.ts",
      `
toolTest("first", { ...right, model, agent: program });
toolTest("second", { ...right, model, agent: { ...program } });
`,
    ),
    ["--out=programs.jsonl"],
  );
  assertEquals(programs.code, 0, programs.all);
  const [plan, ...trials] = readLines(place.file("programs.jsonl"));
  assertEquals([trials.length, plan.resolved.agent.command.length], [2, 2]);
});

Deno.test("toolSuite({ agent }) gates an agent, whose journal the command line reads, and whose trials run again", async () => {
  const file = write(
    "gated_test.ts",
    `
const gate = { successRate: 0.8, margin: 0.3, atMost: { failures: { function_not_found: 0.5 } } };
const test = toolSuite("sums", { model, tools: [add], agent, trials: 20, gate });
test("adds", right);
test("subtracts", { prompt: "Please subtract 2 from 1.", assert: (run) => assertCalled(run, "add") });
`,
  );
  const finished = await run(file, ["--out=gated.jsonl"]);
  assertEquals(endedIn(finished).at(-1), ["sums > gate", "FAILED"], finished.all);
  assertStringIncludes(finished.all, "function_not_found");
  const journal = place.file("gated.jsonl");
  const gated = await toolgate(["gate", journal]);
  assertEquals(gated.code, 1, gated.all);
  const [, line] = /^.*(deno test -A gated_test\.ts .*)$/m.exec(finished.all) ?? [];
  const again = await shell(
    `KEY=k ${line!.replace("-A", `-A --no-check --config=${ROOT}/deno.json`)}`,
    {
      cwd: place.path,
    },
  );
  assertEquals(again.code, 1, again.all);
  assertMatch(again.all, /subtracts > trial \d+ \.\.\. FAILED/);
  const shown = await toolgate(["report", journal]);
  assertEquals(shown.code, 0, shown.all);
});

Deno.test("variants have agents of their own, and a gate compares the new one with the old", async () => {
  const file = write(
    "variants_test.ts",
    `
const worse = async (task, options) => {
  await agent(task, options);
  return "I cannot tell.";
};
const old = { agent };
const gate = { baseline: { variant: "old" }, margin: 0.1 };
toolTest("sums", { ...right, model, trials: 12, gate, variants: { old, new: { agent: worse } } });
const variants = { loop: { system: "Be brief." }, program: { agent: program } };
toolTest("kinds", { ...right, model, variants });
`,
  );
  const finished = await run(file, ["--out=variants/"]);
  const ended = new Map(endedIn(finished));
  assertEquals(ended.get("sums > gate"), "FAILED", finished.all);
  const [plan, ...trials] = readLines(place.file("variants/kinds.jsonl"));
  assertEquals(
    trials.map(({ variant, agent, outcome }) => [variant, agent, outcome]),
    [["loop", undefined, "solved"], ["program", "watched", "solved"]],
    finished.all,
  );
  assertEquals(plan.resolved.variants.program.agent, {
    command: ["python3", `${ROOT}/fixtures/agents/agent.py`],
  });
  const solved = readLines(place.file("variants/sums.jsonl")).slice(1)
    .map(({ variant, outcome }) => `${variant} ${outcome}`);
  assertEquals([...new Set(solved)].sort(), ["new wrong_answer", "old solved"]);
  const gated = await toolgate(["gate", place.file("variants/sums.jsonl")]);
  assertEquals(gated.code, 1, gated.all);
  assertStringIncludes(gated.all, "new: m: FAIL");
});

Deno.test("a run of tool tests ends if its agent is not there or has no key, and keeps nothing", async () => {
  const file = write(
    "missing_test.ts",
    `toolTest("sums", { ...right, model, trials: 5, agent: { command: ["no-such-agent"] } });`,
  );
  const finished = await run(file, ["--out=missing.jsonl"]);
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(finished.all, "there is no program no-such-agent");
  assertEquals(finished.all.split("there is no program no-such-agent").length, 2, finished.all);
  assert(!place.names().includes("missing.jsonl"));
  const keyless = write(
    "keyless_test.ts",
    `const unknown = { model: "m", apiKeyVariable: "NO_SUCH_KEY" };
toolTest("asks", { ...right, model: unknown, trials: 5, agent, gate: { successRate: 0.5 } });
toolTest("asks nobody", { ...right, model: unknown, trials: 2, agent: alone });
`,
  );
  const asked = await run(keyless, ["--out=keyless/"]);
  assertMatch(asked.all, /INVALID: .*NO_SUCH_KEY/);
  assertEquals(
    [...Deno.readDirSync(place.file("keyless"))].map(({ name }) => name),
    ["keyless_test.jsonl"],
    asked.all,
  );
});

Deno.test("tool tests and suites refuse what cannot be with an agent, where it stands", async (context) => {
  const table: [call: string, message: RegExp][] = [
    [
      'toolTest("t", { ...right, model, agent: 5 })',
      /Cannot use tool test t as agent must be a function or a program such as .*: it is 5/,
    ],
    [
      'toolTest("t", { ...right, model, agent: { comand: [] } })',
      /Cannot use tool test t:\n +at agent/,
    ],
    [
      'toolTest("t", { ...right, agent })',
      /Cannot use tool test t as it must have a model, whose name results have: /,
    ],
    [
      'toolTest("t", { ...right, model, agent, strategy: "restate" })',
      /Cannot run tool test t as an agent of your own has no loop .*: the strategy is restate/,
    ],
    [
      'toolTest("t", { ...right, model, agent, recordings: { mode: "auto", folder: "r" } })',
      /Cannot replay tool test t as replies to an agent are not recorded: leave out its recordings or its agent/,
    ],
    [
      'toolSuite("s", { model, agent })("t", { ...right, strategy: ["baseline", "repair"] })',
      /Cannot run tool test t as an agent of your own has no loop .*: the strategy is repair/,
    ],
    [
      'toolSuite("s", { model })("t", { ...right, agent })',
      /agent must be the same in all tests of a suite: give it to toolSuite\("s", \.\.\.\)/,
    ],
    [
      'toolTest("t", { ...right, model, variants: { a: { agent: 5 } } })',
      /Cannot use variants\.a of tool test t as agent must be a function/,
    ],
    [
      'toolTest("t", { ...right, model, variants: { a: { agent: { command: [] } } } })',
      /variants\.a of tool test t:\n +at command: must name a program/,
    ],
    [
      'toolTest("t", { ...right, model, variants: { a: { agent, strategy: "repair" } } })',
      /Cannot run variants\.a of tool test t as an agent of your own has no loop/,
    ],
    [
      'toolTest("t", { ...right, model, agent, variants: { a: { agent }, b: { agent: alone } } })',
      /agent is set in every variant, so that the one beside variants would never be used/,
    ],
    [
      'toolTest("t", { ...right, model, variants: { a: { agent }, b: { agent: alone } }, recordings: { mode: "auto", folder: "r" } })',
      /replies to an agent are not recorded/,
    ],
    [
      'benchmark("b", { model, tasks: { core: 2, depth: 1 }, seed: 1, agent: { command: "echo" } })',
      /Cannot use benchmark b:\n +at agent\.command: /,
    ],
  ];
  const told = await refusalsOf(
    table.map(([call]) => call),
    ["--allow-read", "--allow-env"],
    PRELUDE,
  );
  for (const [at, [call, message]] of table.entries()) {
    await context.step(call, () => assertMatch(told[at]!, message));
  }
});

Deno.test("benchmark({ agent }) works on every kind of task within a budget, and its journal is derived again", async () => {
  const file = write(
    "every_task.ts",
    `import { grid } from "file://${ROOT}/mod.ts";
const common = { model: "sim:noisy?hallucinate=0.3&averse=0.3&seed=3", agent, seed: 1 };
benchmark("all", {
  ...common,
  tasks: [...[grid({ core: 3, depth: 2 })].flat(), { case: "oracle" }, { case: "forced_function" }],
  graphs: 4,
  gate: { successRate: 0.1, margin: 0.05 },
});
benchmark("questions", {
  ...common,
  model: "sim:truth?value=0.2",
  tasks: [{ set: "${ROOT}/fixtures/call_sets/city" }],
  gate: { successRate: 0.1, margin: 0.05 },
});
benchmark("poor", { ...common, agent: program, tasks: { core: 3, depth: 2 }, perturbations: ["timeout"], graphs: 20, budget: { tokens: 5_000 }, gate: { successRate: 0.5, margin: 0.1 } });
`,
  );
  const finished = await run(file, ["--out=tasks/"]);
  const names = [...Deno.readDirSync(place.file("tasks"))].map(({ name }) => name).sort();
  assertEquals(names, ["all.jsonl", "poor.jsonl", "questions.jsonl"], finished.all);
  const verdicts: string[] = [];
  for (const name of names) {
    const journal = place.file(`tasks/${name}`);
    const [, ...trials] = readLines(journal);
    assert(trials.length > 4 && trials.length < 20, finished.all);
    for (const { agent, outcome } of trials) {
      assertEquals([agent, outcome === "invalid"], ["watched", false], finished.all);
    }
    const gated = await toolgate(["gate", journal]);
    const verdict = /^[^\n]*: (PASS|PARTIAL|UNDECIDED)/m.exec(gated.all)?.[1];
    verdicts.push(`${name} ${verdict}`);
  }
  assertEquals(
    verdicts,
    ["all.jsonl PASS", "poor.jsonl UNDECIDED", "questions.jsonl PASS"],
    finished.all,
  );
  assertStringIncludes(finished.all, "not run: the budget of 5000 tokens was reached");
});
