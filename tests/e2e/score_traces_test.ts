// The command that judges recorded conversations by tests of tools, as users run it: it starts `deno test`.

import programs from "node:child_process";
import { EventEmitter } from "node:events";
import { text } from "node:stream/consumers";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { benchmark } from "../../lib/testing/benchmark.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { deno, ROOT, start } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { keptVariables } from "../support/surroundings.ts";

const TOOLS = `
import { assertCalled, scripted, tool, toolSuite, toolTest } from "${ROOT}/mod.ts";
const ran = () => { throw new Error("a tool ran"); };
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = tool({ name: "weather", description: "w", parameters: city, execute: ran });
const wipe = tool({ name: "wipe", description: "w", parameters: { type: "object" }, execute: ran });
const tools = [weather, wipe];
const rome = { tool: "weather", arguments: { city: "Rome" } };
const assert = (run) => assertCalled(run, rome);
`;

const ONE_TEST = `${TOOLS}
toolTest("weather", { model: "gpt-5", tools, prompt: "Rome?", expected: [rome], never: ["wipe"], assert });
`;

interface Written {
  readonly city?: string;
  readonly prompt?: string;
  readonly tool?: string;
  readonly more?: object;
}

/** A line with a conversation of one call. */
function line({ city = "Rome", prompt = "Rome?", tool = "weather", more = {} }: Written = {}) {
  return {
    model: "gpt-5",
    messages: [
      { role: "user", content: prompt },
      {
        role: "assistant",
        tool_calls: [{
          ...{ id: "1", type: "function" },
          function: { name: tool, arguments: JSON.stringify({ city }) },
        }],
      },
      { role: "tool", tool_call_id: "1", content: "21" },
      { role: "assistant", content: "21 degrees." },
    ],
    ...more,
  };
}

/** Writes traces and tests, and gives the words of the command. */
function written(place: Folder, tests: string, traces: readonly unknown[]) {
  const file = place.write(
    "traces.jsonl",
    traces.map((one) => `${JSON.stringify(one)}\n`).join(""),
  );
  const code = place.write(
    "tests.ts",
    `// deno-lint-ignore-file\n// @ts-nocheck no types here\n${tests}`,
  );
  return { words: ["score", "traces", file, "--with", code] };
}

/** Runs the command in this process, which starts tests by `start`. */
async function withSpawn(start: unknown, words: readonly string[]) {
  const { spawn } = programs;
  programs.spawn = start as typeof spawn;
  try {
    return await toolgate(words);
  } finally {
    programs.spawn = spawn;
  }
}

/** Runs the tests of a text on traces, and reads their trials. */
async function score(place: Folder, tests: string, traces: readonly unknown[]) {
  const out = `${place.path}/out/`;
  const told: Promise<string>[] = [];
  const { spawn } = programs;
  const piped = (program: string, args: readonly string[], options: object) => {
    const env = { ...keptVariables(), NO_COLOR: "1" };
    const child = spawn(program, args, { ...options, env, stdio: ["ignore", "pipe", "pipe"] });
    told.push(...[child.stdout, child.stderr].map((one) => text(one!)));
    return child;
  };
  const { words } = written(place, tests, traces);
  const ended = await withSpawn(piped, [...words, "--out", out]);
  const journals = [...Deno.readDirSync(out)].map(({ name }) => `${out}${name}`);
  const trials = journals.flatMap(trialsIn);
  return { ...ended, all: [ended.all, ...await Promise.all(told)].join("\n"), trials, journals };
}

function trialsIn(journal: string): Trial[] {
  return Deno.readTextFileSync(journal).trim().split("\n").map((one) => JSON.parse(one))
    .filter(({ kind }) => kind === "trial");
}

/** A test of each kind of trace, each in a suite of its own, as the command takes all of them at once. */
function testsOfKinds(log: string): string {
  return `${TOOLS}
const test = (name, options) => toolSuite(name, { model: "gpt-5", tools })(name, { prompt: name, assert, ...options });
const strict = { expected: [rome], never: ["wipe"] };
for (const name of ["right", "wrong", "wiped", "open", "strange", "ids", "models", "times"]) test(name, strict);
for (const name of ["program", "uneven", "without result"]) test(name, {});
test("steps", { assert() {} });
test("turns", { turns: ["Thanks"], expected: [rome] });
const note = (text) => Deno.writeTextFileSync(${JSON.stringify(log)}, text, { append: true });
for (const name of ["passing", "lacking"]) {
  const gated = toolSuite(name, { model: "gpt-5", tools, gate: { successRate: 0.5, margin: 0.4 } });
  for (const city of ["Rome", "Oslo"]) gated(city, { prompt: name + " " + city, assert });
}
const cases = toolSuite("cases", { model: "gpt-5", tools });
for (const name of ["one", "other"]) cases(name, { prompt: "Either", assert });
test("made", {
  state: () => ({ count: 0, [Symbol.dispose]: () => note("gone ") }),
  tools: (state) => { note("made "); return tools; },
  assert: (run) => { if (run.state.count !== 0) throw new Error("used"); },
});
`;
}

Deno.test("score traces: each kind of trace is an ordinary trial of its test as far as it was said", async (t) => {
  using place = new Folder();
  const log = `${place.path}/log.txt`;
  const answer = line().messages[3];
  const { messages: called } = line({ prompt: "without result" });
  const open = { ...line(), messages: called.filter(({ role }) => role !== "tool") };
  const logged = (created: number) => {
    const { messages, model } = line({ prompt: "times" });
    const request = { model, messages: messages.slice(0, 3) };
    return {
      request,
      response: { id: "r", created, choices: [{ message: answer, finish_reason: "stop" }] },
    };
  };
  const broken = {
    ...{ "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5" },
    "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: "turns" }] }],
    "error.type": "timeout",
  };
  const turns = line({ prompt: "turns" });
  const steps = [{
    content: [{ type: "text", text: "21" }],
    finishReason: "stop",
    response: { modelId: "gpt-5-2025" },
  }];
  const many = (count: number, prompt: string, city = "Rome") =>
    Array.from({ length: count }, () => line({ prompt, city }));
  const ended = await score(place, testsOfKinds(log), [
    line({ prompt: "right" }),
    line({ prompt: "wrong", city: "Paris" }),
    line({ prompt: "wiped", tool: "wipe" }),
    { model: "gpt-5", messages: line({ prompt: "open" }).messages.slice(0, 3) },
    line({ prompt: "strange", tool: "look_up" }),
    ...["a", "b"].map((id) => line({ prompt: "ids", more: { id } })),
    ...["gpt-5", "other"].map((model) => line({ prompt: "models", more: { id: "c", model } })),
    // Of servers with few ids of responses, the time distinguishes them.
    ...[1, 2].map(logged),
    { messages: line({ prompt: "program" }).messages, simulated: true },
    ...["a", "a", "b"].map((model) => line({ prompt: "uneven", more: { model } })),
    ...[open, open],
    { model: "gpt-5", prompt: "steps", steps },
    { ...turns, messages: [...turns.messages, { role: "user", content: "Thanks" }, answer] },
    { name: "chat", spanId: "s", traceId: "t", attributes: broken },
    line({ prompt: "made" }),
    ...["one", "other"].map((name) => line({ prompt: "Either", more: { case: name } })),
    ...[...many(9, "passing Rome"), ...many(1, "passing Rome", "Paris")],
    ...[...many(10, "passing Oslo"), ...many(10, "lacking Rome")],
  ]);
  assertEquals(ended.code, 1, ended.all);
  const trialsOf = (test: string) => ended.trials.filter(({ suite }) => suite === test);
  const outcomesOf = (test: string) => trialsOf(test).map(({ outcome }) => outcome);
  const modelsOf = (test: string) => trialsOf(test).map(({ model }) => model.requested).sort();
  const journalOf = (test: string) => ended.journals.find((path) => path.includes(`/${test}.`))!;

  await t.step("a trial that is not right, and a call that must not happen", () => {
    const kinds = ["right", "wrong", "open"];
    assertEquals(trialsOf("right")[0]!.replayed, true);
    assertEquals(kinds.map(outcomesOf), [["solved"], ["wrong_answer"], ["agent_error"]], ended.all);
    const view = trialsOf("wrong")[0]!.events.find((event) => event.kind === "call")?.parameters;
    assertEquals(view?.failures.map(({ parameter, given }) => [parameter, given]), [[
      ...["/city", "Paris"],
    ]]);
    const { events } = trialsOf("wiped")[0]!;
    assert(events.some((event) => event.kind === "assertion" && event.never));
  });
  await t.step("a wrong call that had a result is told by what is wrong with it", () => {
    const told = 'look_up(city="Rome") -> refused: There is no function look_up';
    assertStringIncludes(ended.all, told);
  });
  await t.step("what tells traces apart is in their draws", () => {
    for (const test of ["ids", "models", "times"]) {
      assertEquals(outcomesOf(test), ["solved", "solved"], ended.all);
      assertEquals(new Set(trialsOf(test).map(({ draw }) => draw)).size, 2, test);
    }
  });
  await t.step(
    "the model beside steps is theirs, and a program without a name is one all the same",
    async () => {
      assertEquals(modelsOf("steps"), ["gpt-5"]);
      assertEquals(trialsOf("program").map(({ model }) => [model.requested, model.simulated]), [
        ...[["unnamed", true]],
      ]);
      const report = await toolgate(["report", journalOf("program")]);
      assertStringIncludes(report.stdout, "unnamed (simulated)", report.all);
    },
  );
  await t.step("without a gate models need no equal numbers of traces", async () => {
    assertEquals(modelsOf("uneven"), ["a", "a", "b"]);
    const report = await toolgate(["report", journalOf("uneven")]);
    assertEquals(report.code, 0, report.all);
  });
  await t.step("what is left out of traces is said beside their test, once", () => {
    const told = ended.all.split("\n").filter((one) => one.includes("without a result"));
    assertEquals(told.length, 1, ended.all);
    assertMatch(told[0]!, /tool test without result: 1 call without a result.*line 16, /);
  });
  await t.step(
    "a trial of several turns that broke off in the first is invalid, and others are judged",
    () => {
      assertEquals(outcomesOf("turns"), ["solved", "invalid"], ended.all);
    },
  );
  await t.step("state and tools are made, disposed of, and never used", () => {
    assertEquals([outcomesOf("made"), Deno.readTextFileSync(log)], [["solved"], "made gone "]);
  });
  await t.step("where tests ask alike, the case of a trace tells whose it is", () => {
    assertEquals(outcomesOf("cases"), ["solved", "solved"]);
  });
  await t.step("gates decide over journals, but not where a test has no trace", async () => {
    const gate = ["--success-rate", "0.1", "--margin", "0.09"];
    const passed = await toolgate(["gate", journalOf("right"), ...gate]);
    assertStringIncludes(passed.stdout, "PASS", passed.all);
    assertEquals(trialsOf("lacking").length, 20);
  });
  await t.step("the worst of suites is the exit code", async () => {
    const codes: [code: number, tests: string[], hasPassed: boolean][] = [
      [0, ["right"], true],
      [1, ["turns", "wrong"], false],
      [3, ["right", "turns"], false],
      [0, ["right", "passing"], true],
      [3, ["right", "lacking"], false],
      // Something else of the file has failed.
      [2, ["right"], false],
      // It has no tests of tools.
      [2, [], true],
    ];
    for (const [code, tests, hasPassed] of codes) {
      using folder = new Folder();
      const traces = tests.flatMap(trialsOf).filter(({ draw }) => draw !== undefined);
      const lines = Array.from({ length: traces.length || 1 }, (_, id) => line({ more: { id } }));
      const { words } = written(folder, "", lines);
      /** Has written the journals of these tests. */
      const done = () => {
        Deno.mkdirSync(folder.file("out"));
        for (const test of tests) {
          Deno.copyFileSync(journalOf(test), folder.file(`out/${test}.jsonl`));
        }
        const child = new EventEmitter();
        setTimeout(() => child.emit("exit", hasPassed ? 0 : 1));
        return child;
      };
      const judged = await withSpawn(done, [...words, "--out", `${folder.path}/out/`]);
      assertEquals(judged.code, code, `${tests}: ${judged.all}`);
      if (tests.length === 0) assertStringIncludes(judged.stderr, "names a file of tool tests");
    }
  });
  await t.step(
    "a journal is neither judged in place of traces nor continued by a model",
    async () => {
      const out = journalOf("right");
      const kept = Deno.readTextFileSync(out);
      const live = await CollectedTests.of(() =>
        benchmark("right", {
          model: "sim:planner",
          tasks: { core: 1, depth: 0 },
          seed: 1,
          graphs: 1,
        }), [
        `--out=${out}`,
        "--resume",
      ]).refusal();
      assertStringIncludes(live, "it is of --traces; begin another journal");
      const anew = await deno([
        ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
        place.write("one.ts", `// @ts-nocheck no types here\n${ONE_TEST}`),
        ...["--", `--out=${out}`, "--resume", `--traces=${place.path}/traces.jsonl`],
      ]);
      assertEquals(anew.code, 1, anew.all);
      assertStringIncludes(anew.all, "--traces cannot be used with --resume");
      assertEquals(Deno.readTextFileSync(out), kept);
    },
  );
});

Deno.test("score traces: a trace of no test or of two ends with 2, and what cannot be applied is refused", async () => {
  using place = new Folder();
  const { messages } = line();
  const system = { role: "system", content: "Be brief." };
  const steps = [{ content: [{ type: "text", text: "21" }], finishReason: "stop" }];
  const key = "sk-live-4f9a8b7c6d5e4f3a2b1c";
  const options = [
    'perturbation: "RD"',
    'strategy: "restate"',
    "gate: { successRate: 0.9, sequential: true }",
    'variants: { a: { system: "x" } }',
  ].map((option, at) =>
    `toolSuite("${at}", { model: "gpt-5", tools, ${option} })("${at}", { prompt: "Rome?", assert });`
  );
  // Nothing was said of either of two tests that ask alike: the model that they name is not asked in its place.
  const doubled = [["alike", "same"], ["alike", "equal"], ["first", "twice"], ["second", "twice"]]
    .map(([suite, name]) =>
      `suites.${suite}("${name}", { prompt: "${
        suite === "alike" ? "Alike?" : "Twice?"
      }", assert });`
    );
  const tests = [
    ONE_TEST,
    'const suite = (name) => toolSuite(name, { model: "gpt-5", tools });',
    'const suites = { alike: suite("alike"), first: suite("first"), second: suite("second") };',
    ...doubled,
    ...options,
  ];
  const { code, stderr, all, trials } = await score(place, tests.join("\n"), [
    ...[line(), line({ prompt: "Twice?" }), { messages: [system, ...messages] }, { steps }],
    ...[line({ prompt: `Is ${key} mine?` }), line({ prompt: "Alike?" })],
  ]);
  assertEquals(code, 2, all);
  assertStringIncludes(stderr, "4 traces of 6 not judged, 1 trace of 6 judged twice");
  for (
    const part of [
      "line 2: is of tool test twice of first, tool test twice of second",
      'line 3: question "Rome?" is that of tool test weather, whose system text is another',
      "line 4: it has neither a question nor a case",
      'question "Is [redacted] mine?" is of no test',
    ]
  ) assertStringIncludes(all, part);
  assert(!all.includes(key), all);
  const unsaid = trials.filter(({ suite }) => suite === "alike");
  assertEquals(unsaid.map(({ outcome }) => outcome), ["invalid", "invalid"]);
  assertStringIncludes(unsaid[0]!.reason!, "has no trace of it");
  assertEquals(trials.filter(({ suite }) => /^\d$/.test(suite!)), []);
  assertEquals(new Set(all.match(/^.*InputError: Cannot score .*$/gm)).size, options.length, all);
});

Deno.test("score traces: a missing permission is one line and ends with 2", async () => {
  using place = new Folder();
  const { words } = written(place, ONE_TEST, [line()]);
  const ended = await deno([
    ...["run", "--no-check", "--no-prompt", "--allow-read", "--allow-env", "--allow-write"],
    ...[`${ROOT}/lib/cli/main.ts`, ...words],
  ]);
  assertEquals([ended.code, ended.stderr.trim().split("\n").length], [2, 1], ended.all);
  assertStringIncludes(ended.stderr, "--allow-run");
});

Deno.test("score traces: a signal ends the tests too, and leaves no folder", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    using place = new Folder();
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const temporary = `${place.path}/temporary`;
    Deno.mkdirSync(temporary);
    const hanging = `
Deno.test("hangs", async () => {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: ${listener.addr.port} });
  await connection.read(new Uint8Array(1));
});`;
    const { words } = written(place, hanging, [line()]);
    const { process, finished } = start(Deno.execPath(), [
      ...["run", "-A", "--no-check", "--no-prompt", `${ROOT}/lib/cli/main.ts`, ...words],
    ], { env: { TMPDIR: temporary } });
    using connection = await listener.accept();
    process.kill(signal);
    const { code, all } = await finished;
    assertEquals(code, 3, all);
    assertEquals([...Deno.readDirSync(temporary)].map(({ name }) => name), []);
    // It ends with the process of the tests.
    assertEquals(await connection.read(new Uint8Array(1)).catch(() => null), null);
  }
});

Deno.test("score traces: a trace that is there twice is refused, and bad input ends with 2 before anything is run", async () => {
  using place = new Folder();
  const tests = place.write("tests.ts", ONE_TEST);
  let count = 0;
  const bad = (text: string) => place.write(`${++count}_bad.jsonl`, text);
  const { messages, model } = line();
  const logged = {
    request: { model, messages: messages.slice(0, 3) },
    response: { id: "r", created: 1, choices: [{ message: messages[3], finish_reason: "stop" }] },
  };
  const twice = [
    [line({ more: { id: "a" } }), line({ more: { id: "a" } })],
    [line({ more: { id: 7 } }), line({ city: "Paris", more: { id: 7, case: "weather" } })],
    [logged, logged],
  ].map((traces): [string[], string] => [
    [bad(traces.map((one) => JSON.stringify(one)).join("\n")), "--with", tests],
    "line 2 as each trace is a trial of its own",
  ]);
  const lines: [words: string[], message: string][] = [
    ...twice,
    [[], "it takes one file: none is given"],
    [[bad("{}")], "--with TESTS is needed"],
    [
      [bad(JSON.stringify(line({ more: { simulated: "true" } }))), "--with", tests],
      "at simulated: must be true or false",
    ],
    [[bad("{}"), "--with", tests], "bad.jsonl:\n  at the top: must be a trace of a known form"],
    [[bad('{"v":2,"kind":"trial"}\n'), "--with", tests], "it is of version 2 of the format"],
    [[`${place.path}/none.jsonl`, "--with", tests], "there is no such file or folder"],
    [[bad(JSON.stringify(line())), "--with", `${place.path}/none.ts`], "there is no such file"],
    [
      [bad(`${JSON.stringify(line())}\n{"a`), "--with", tests],
      "bad.jsonl, line 2 as it must be JSON",
    ],
  ];
  for (const [words, message] of lines) {
    const ended = await toolgate(["score", "traces", ...words]);
    assertEquals([ended.code, ended.stdout], [2, ""], ended.all);
    assertStringIncludes(ended.stderr, message);
  }
});

Deno.test("the recorded messages of a user are taken as they are, and no simulated one is asked", async () => {
  await using place = new Folder();
  const tests = `${TOOLS}
const user = { model: "customer", scenario: "He wants to know how warm it is in Rome.", facts: ["Rome"] };
const turns = ({ turns }) => { if (turns.map(({ prompt }) => prompt).join() !== "Hi!,Rome?") throw new Error(); };
toolTest("asks back", { model: "gpt-5", tools, user, assert: turns });
`;
  const { messages } = line();
  const before = [{ role: "user", content: "Hi!" }, { role: "assistant", content: "Where?" }];
  const traces = [[...before, ...messages], messages].map((messages) => ({
    messages,
    case: "asks back",
  }));
  const { trials, all } = await score(place, tests, traces);
  const ends = trials.map(({ outcome, user }) => [outcome, user]);
  assertEquals(ends, [["solved", undefined], ["wrong_answer", undefined]], all);
});
