// Tool tests of agents as users run them: files with tests, in child processes, whose agents ask a server.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { deno, endedIn, type Finished, folder, readLines, ROOT, shell } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { PYTHON3 } from "../support/python.ts";

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

/** All files: one process runs them. */
const FILES: string[] = [];
/** The parts of one of them, as each loads all of the library. */
const OTHERS: string[] = [];
let ran: Promise<Finished> | undefined;

function runAll(): Promise<Finished> {
  return ran ??= deno([
    ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...[...FILES, "--", "--out=out/"],
  ], { cwd: place.path, env: { KEY: "k" } });
}

/** How the tests of a file ended. */
async function endedOf(file: string): Promise<[name: string, ended: string][]> {
  const { stdout } = await runAll();
  const [, own = ""] = stdout.split(new RegExp(`^running \\d+ tests? from ./${file}$`, "m"));
  return endedIn({ stdout: own.split(/^running |^ ERRORS $/m)[0]! });
}

/** The journal of a suite, and its path; `undefined` where it kept nothing. */
function journalOf(suite: string) {
  return [...Deno.readDirSync(place.file("out"))].map(({ name }) => place.file(`out/${name}`))
    .map((path) => ({ path, lines: readLines(path) }))
    .find(({ lines: [plan] }) => plan.suite === suite);
}

/** A server whose model adds by the tool and then says the sum, agents that ask it, and one that asks nobody. */
const PRELUDE = `// @ts-nocheck: a user may write no types.
import { assertAnswer, assertCalled, benchmark, grid, tool, toolSuite, toolTest } from "file://${ROOT}/mod.ts";
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
const program = { command: ["${PYTHON3}", "${ROOT}/fixtures/agents/agent.py"] };
`;

function write(name: string, body: string): void {
  place.write(name, `${PRELUDE}${body}`);
  FILES.push(name);
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

write("run_test.ts", ALL_OF_RUN);

Deno.test("toolTest({ agent }) gives assert what its model said, as far as that was seen", async () => {
  const finished = await runAll();
  assertEquals(await endedOf("run_test.ts"), [
    ["watched", "ok"],
    ["spaced", "FAILED"],
    ["program", "ok"],
    ["another answer", "ok"],
    ["unwatched", "ok"],
  ], finished.all);
  // What it adds to the model's last text is no text of its own.
  assertMatch(finished.all, /- +answer: "It is 3\.\\n"/);
});

write(
  "agents_test.ts",
  `
toolTest("first", { ...right, model, agent });
toolTest("second", { ...right, model, agent });
toolTest("other", { ...right, model, agent: alone });
toolTest("none", { ...right, model });
`,
);
write(
  "programs_test.ts",
  `
toolTest("first", { ...right, model, agent: program });
toolTest("second", { ...right, model, agent: { ...program } });
`,
);

Deno.test("toolTest()s of a file with one agent make one suite, and those of another one make others", async () => {
  const { all } = await runAll();
  for (
    const [suite, agents] of [
      ["agents", ["watched", "watched"]],
      ["other", ["unwatched"]],
      ["none", [undefined]],
      ["programs", ["watched", "watched"]],
    ] as const
  ) {
    const [, ...trials] = journalOf(suite)!.lines;
    assertEquals(
      trials.map(({ agent, solved }) => [agent, solved]),
      agents.map((one) => [one, true]),
      all,
    );
  }
  assertEquals(journalOf("programs")!.lines[0].resolved.agent.command.length, 2);
});

OTHERS.push(
  `
{
const gate = { successRate: 0.8, margin: 0.3, atMost: { failures: { function_not_found: 0.5 } } };
const test = toolSuite("gated sums", { model, tools: [add], agent, trials: 20, gate });
test("adds", right);
test("subtracts", { prompt: "Please subtract 2 from 1.", assert: (run) => assertCalled(run, "add") });
}
`,
);

Deno.test("toolSuite({ agent }) gates an agent, whose journal the command line reads, and whose trials run again", async () => {
  const finished = await runAll();
  assertEquals((await endedOf("others_test.ts")).filter(([name]) => name === "gated sums > gate"), [
    ["gated sums > gate", "FAILED"],
  ]);
  assertStringIncludes(finished.all, "function_not_found");
  const journal = journalOf("gated sums")!.path;
  const gated = await toolgate(["gate", journal]);
  assertEquals(gated.code, 1, gated.all);
  const [, line] =
    /^.*(deno test -A --no-check others_test\.ts -- --only='case=subtracts .*)$/m.exec(
      finished.all,
    ) ?? [];
  const again = await shell(
    `KEY=k ${line!.replace("-A", `-A --config=${ROOT}/deno.json`)}`,
    {
      cwd: place.path,
    },
  );
  assertEquals(again.code, 1, again.all);
  assertMatch(again.all, /subtracts > trial \d+ \.\.\. FAILED/);
  const shown = await toolgate(["report", journal]);
  assertEquals(shown.code, 0, shown.all);
});

OTHERS.push(
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

Deno.test("variants have agents of their own, and a gate compares the new one with the old", async () => {
  const finished = await runAll();
  const ended = new Map(await endedOf("others_test.ts"));
  assertEquals(ended.get("sums > gate"), "FAILED", finished.all);
  const [plan, ...trials] = journalOf("kinds")!.lines;
  assertEquals(
    trials.map(({ variant, agent, outcome }) => [variant, agent, outcome]),
    [["loop", undefined, "solved"], ["program", "watched", "solved"]],
    finished.all,
  );
  assertEquals(plan.resolved.variants.program.agent, {
    command: [PYTHON3, `${ROOT}/fixtures/agents/agent.py`],
  });
  const solved = journalOf("sums")!.lines.slice(1)
    .map(({ variant, outcome }) => `${variant} ${outcome}`);
  assertEquals([...new Set(solved)].sort(), ["new wrong_answer", "old solved"]);
  const gated = await toolgate(["gate", journalOf("sums")!.path]);
  assertEquals(gated.code, 1, gated.all);
  assertStringIncludes(gated.all, "new: m: FAIL");
});

write(
  "missing_test.ts",
  `toolTest("sums", { ...right, model, trials: 5, agent: { command: ["no-such-agent"] } });`,
);
write(
  "keyless_test.ts",
  `const unknown = { model: "m", apiKeyVariable: "NO_SUCH_KEY" };
toolTest("asks", { ...right, model: unknown, trials: 5, agent, gate: { successRate: 0.5 } });
toolTest("asks nobody", { ...right, model: unknown, trials: 2, agent: alone });
`,
);

Deno.test("a run of tool tests ends if its agent is not there or has no key, and keeps nothing", async () => {
  const { all } = await runAll();
  assertEquals(all.split("there is no program no-such-agent").length, 2, all);
  assertEquals(journalOf("missing"), undefined, all);
  assertMatch(all, /INVALID: .*NO_SUCH_KEY/);
  assertEquals(journalOf("asks"), undefined, all);
  assertEquals(journalOf("keyless")!.lines.length, 3, all);
});

OTHERS.push(
  `
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
write("others_test.ts", OTHERS.join(""));

Deno.test("benchmark({ agent }) works on every kind of task within a budget, and its journal is derived again", async () => {
  const finished = await runAll();
  const verdicts: string[] = [];
  for (const name of ["all", "poor", "questions"]) {
    const { path: journal, lines: [, ...trials] } = journalOf(name)!;
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
    ["all PASS", "poor UNDECIDED", "questions PASS"],
    finished.all,
  );
  assertStringIncludes(finished.all, "not run: the budget of 5000 tokens was reached");
});

Deno.test("agents of all frameworks pass 40 trials each, whatever their packages load in the first one", async () => {
  const agents = "tests/support/agents/each_framework.ts";
  const lock = `--lock=${ROOT}/tests/deno.lock`;
  const { stdout, all } = await deno(["test", "-A", "--no-check", lock, agents], { cwd: ROOT });
  assertEquals(stdout.match(/^ {2}solved: 40 of 40 valid trials/gm)?.length, 4, all);
});
