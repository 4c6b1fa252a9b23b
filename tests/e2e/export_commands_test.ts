// The command that exports training data, as users run it: on journals of real runs of simulated models.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hermes } from "../../lib/models/formats/hermes.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { CITY, CITY_PATH } from "../support/call_sets.ts";
import { type Folder, folder, readLines } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { checkHermesLine, checkOpenAILine, type OpenAILine } from "../support/training_lines.ts";

const SUITE = {
  name: "to-learn-from",
  seed: 5,
  graphs: 3,
  tasks: [{ core: 4, depth: 2, connected: 1 }, { case: "oracle" }],
  models: ["sim:planner", "sim:noisy?hallucinate=0.3&arity=0.3&seed=1"],
  strategies: ["plain", "restate", "indirection", "plan_then_call"],
};

/** Runs a suite, and gives its journal. */
async function run(place: Folder, suite: object, name = "out.jsonl"): Promise<string> {
  const path = place.write(`${name}.suite.jsonc`, JSON.stringify(suite));
  const out = place.file(name);
  const { code, all } = await toolgate(["run", path, "--out", out]);
  assertEquals(code, 0, all);
  return out;
}

function linesIn(stdout: string): unknown[] {
  return stdout.trimEnd().split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** The texts that come back when the calls of a line are made once more, in the task that it names. */
async function again({ messages, metadata }: OpenAILine): Promise<string[]> {
  using fixture = openTask(JSON.parse(metadata["task"]!), {
    perturbation: metadata["perturbation"]!,
    callLimit: Infinity,
  });
  const results: string[] = [];
  for (const message of messages) {
    if (message.role !== "assistant" || message.tool_calls === undefined) continue;
    const calls = message.tool_calls.map(({ id, function: call }) => ({ id, ...call }));
    results.push(...(await fixture.execute(calls)).map(({ content }) => content));
  }
  return results;
}

Deno.test("toolgate export writes lines that OpenAI's fine-tuning documents, whose calls come out again (Pipeline, Constructing Tool Call Datasets)", async () => {
  await using place = await folder();
  const journal = await run(place, {
    ...SUITE,
    tasks: SUITE.tasks.slice(0, 1),
    perturbations: ["none", "timeout", "FK"],
  });
  const { code, stdout, stderr, all } = await toolgate([
    ...["export", journal, "--format", "openai-chat", "--only", "solved"],
  ]);
  assertEquals(code, 0, all);
  const lines = linesIn(stdout).map((line) => checkOpenAILine(line));
  assert(lines.length > 20, all);
  assertStringIncludes(stderr, `Wrote ${lines.length} conversations of 72 trials\n`);
  for (const line of lines) {
    const { metadata, messages } = line;
    assertEquals([metadata["outcome"], metadata["grounded"], metadata["simulated"]], [
      ...["solved", "true", "true"],
    ]);
    // What strategies write in place of results, a bare task does not.
    if (metadata["strategy"] === "restate" || metadata["strategy"] === "indirection") continue;
    const results = messages.flatMap((one) => one.role === "tool" ? [one.content] : []);
    assertEquals(await again(line), results, metadata["trial"]);
  }
  const recovered = lines.filter(({ metadata }) => metadata["recovery"] !== undefined);
  assertStringIncludes(stderr, `${recovered.length} marked as recovered from errors`);
  assert(
    recovered.some(({ metadata }) => metadata["recovery"]!.split(",").includes("timeout")),
    all,
  );
  // Each conversation is there once.
  const said = lines.map(({ messages, tools }) => JSON.stringify([messages, tools]));
  assertEquals(new Set(said).size, said.length);
});

Deno.test("toolgate export writes the form of Hermes's own data, with the same conversations", async () => {
  await using place = await folder();
  const journal = await run(place, SUITE);
  const [openai, ours] = await Promise.all(
    ["openai-chat", "hermes"].map((format) => toolgate(["export", journal, "--format", format])),
  );
  assertEquals([openai!.code, ours!.code], [0, 0], ours!.all);
  const lines = linesIn(ours!.stdout).map(checkHermesLine);
  const others = linesIn(openai!.stdout).map((line) => checkOpenAILine(line));
  const byTrial = new Map(others.map((line) => [line.metadata["trial"]!, line]));
  const shared = lines.filter(({ metadata }) => byTrial.has(metadata["trial"]!));
  assert(shared.length > 15, ours!.all);
  for (const { conversations, metadata } of shared) {
    const { messages, tools } = byTrial.get(metadata["trial"]!)!;
    const names = tools.map((tool) => tool.function.name);
    const calls = messages.flatMap((one) => one.role === "assistant" ? one.tool_calls ?? [] : []);
    const read = conversations.flatMap(({ from, value }) =>
      from === "gpt" ? hermes.read(value, names).calls : []
    );
    assertEquals(
      read.map((call) => [call.name, JSON.parse(call.arguments)]),
      calls.map(({ function: call }) => [call.name, JSON.parse(call.arguments)]),
    );
  }
});

Deno.test("toolgate export writes what text formats and native calls said alike", async () => {
  await using place = await folder();
  const models = ["chat", "react", "xml", "hermes"].map((api) => ({ model: "sim:planner", api }));
  const journal = await run(place, { ...SUITE, graphs: 1, strategies: ["plain"], models });
  const { stdout, all } = await toolgate(["export", journal, "--format", "openai-chat"]);
  const lines = linesIn(stdout).map((line) => checkOpenAILine(line));
  assert(lines.some(({ metadata }) => metadata["api"] === "react"), all);
  for (const { messages, metadata } of lines) {
    assert(!JSON.stringify(messages).includes("tool_call>"), metadata["trial"]);
  }
});

Deno.test("toolgate export takes questions of call sets that are named, and says what it leaves out", async () => {
  await using place = await folder();
  const tasks = [{ set: CITY_PATH, mode: "tools" }, { set: CITY_PATH, mode: "parameters" }];
  const journal = await run(place, { name: "city", seed: 1, tasks, models: ["sim:truth"] });
  const asked = CITY.questions.length;
  const bare = await toolgate(["export", journal, "--format", "openai-chat"]);
  assertEquals(bare.code, 0, bare.all);
  assertEquals(bare.stdout, "");
  assertStringIncludes(
    bare.stderr,
    `Wrote 0 conversations of ${2 * asked} trials\n  ${2 * asked} left out:\n` +
      `    ${2 * asked}: its call set is not available: name it with --set`,
  );
  const named = await toolgate(["export", journal, "--format", "openai-chat", "--set", CITY_PATH]);
  const lines = linesIn(named.stdout).map((line) => checkOpenAILine(line));
  assert(lines.length > 0, named.all);
  for (const { metadata } of lines) assertEquals(JSON.parse(metadata["task"]!).mode, "tools");
  assertStringIncludes(
    named.stderr,
    `${asked}: its model was offered no functions`,
  );
});

Deno.test("toolgate export writes to files that are new", async () => {
  await using place = await folder();
  const journal = await run(place, { ...SUITE, graphs: 1, strategies: ["plain"] });
  const out = place.file("deep/train.jsonl");
  const { code, stdout, stderr, all } = await toolgate([
    ...["export", journal, "--format", "openai-chat", "--out", out],
  ]);
  assertEquals([code, stdout], [0, ""], all);
  assertStringIncludes(stderr, ` to ${out}\n`);
  const whole = linesIn((await toolgate(["export", journal, "--format", "openai-chat"])).stdout);
  assertEquals(readLines(out), whole);

  const before = [out, journal].map((file) => Deno.readTextFileSync(file));
  for (const taken of [out, journal, place.path]) {
    const refused = await toolgate(["export", journal, "--format", "hermes", "--out", taken]);
    assertEquals([refused.code, refused.stdout], [2, ""]);
    assertEquals(
      refused.stderr,
      `Cannot write to ${taken} as there must be no such file yet: remove it, or name another one\n`,
    );
  }
  assertEquals([out, journal].map((file) => Deno.readTextFileSync(file)), before);
});

Deno.test("toolgate export leaves nothing half written behind", async () => {
  await using place = await folder();
  const journal = await run(place, { ...SUITE, graphs: 1, strategies: ["plain"] });
  const broken = place.write("broken.jsonl", '{"v":1,"kind":"trial"}\n');
  const before = place.names();
  const refused = await toolgate([
    ...["export", journal, broken, "--format", "openai-chat", "--out", place.file("train.jsonl")],
  ]);
  assertEquals(refused.code, 2, refused.all);
  assertStringIncludes(refused.stderr, `${broken}, line 1`);
  assertEquals(place.names(), before);
});

Deno.test("toolgate export is not led astray by journals that hold anything", async () => {
  await using place = await folder();
  const journal = await run(place, { ...SUITE, graphs: 1, strategies: ["plain"] });
  const [plan, trial] = readLines(journal);
  const hostile = place.write(
    "hostile.jsonl",
    linesOf([
      plan,
      { ...trial, id: "a", suite: "\u001b[31m" },
      { ...trial, id: "b", task: { case: "__proto__", seed: 1 } },
      { ...trial, id: "c", strategy: "constructor" },
      { ...trial, id: "d", perturbation: "toString" },
      { ...trial, id: "e", events: [{ kind: "reply" }] },
      { ...trial, id: "f", task: { ...trial.task, core: "9".repeat(99) } },
      { ...trial, id: "g", model: { ...trial.model, requested: "__proto__" } },
    ]) + '{"v":1,"kind":"tri',
  );
  const { code, stdout, stderr, all } = await toolgate(["export", hostile, "--format", "hermes"]);
  assertEquals(code, 0, all);
  assertEquals(linesIn(stdout).map((line) => checkHermesLine(line).metadata["trial"]), ["a"]);
  assertEquals(stderr.includes("\u001b"), false);
  assertStringIncludes(stderr, "Dropped a torn last line");
  assertStringIncludes(stderr, "1 left out as duplicates");
  assertStringIncludes(stderr, "1: its strategy is unknown");
});
