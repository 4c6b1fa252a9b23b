// The command that judges recorded conversations by tests of tools, as users run it: it starts `deno test`.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Report } from "../../lib/reports/report.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { deno, ROOT, start } from "../support/child.ts";
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

const GATED = `${TOOLS}
const test = toolSuite("support", { model: "gpt-5", tools, gate: { successRate: 0.5, margin: 0.4 } });
test("weather", { prompt: "Rome?", assert });
test("again", { prompt: "Rome, please?", assert });
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

/** Runs the command in this process, and collects what the tests write that it starts. */
async function command(...words: string[]) {
  const { Command } = Deno;
  const written: Promise<string>[] = [];
  Deno.Command = class extends Command {
    constructor(program: string | URL, options: Deno.CommandOptions) {
      const env = { ...keptVariables(), NO_COLOR: "1" };
      super(program, { ...options, clearEnv: true, env, stdout: "piped", stderr: "piped" });
    }
    override spawn(): Deno.ChildProcess {
      const child = super.spawn();
      written.push(...[child.stdout, child.stderr].map((one) => new Response(one).text()));
      return child;
    }
  };
  try {
    const ended = await toolgate(words);
    return { ...ended, all: [ended.all, ...await Promise.all(written)].join("\n") };
  } finally {
    Deno.Command = Command;
  }
}

/** Runs the tests of a text on traces, and reads their trials. */
async function score(place: Folder, tests: string, traces: readonly unknown[]) {
  const out = `${place.path}/out/`;
  const ended = await command(...written(place, tests, traces).words, "--out", out);
  let names: string[] = [];
  try {
    names = [...Deno.readDirSync(out)].map(({ name }) => `${out}${name}`);
  } catch {
    // Nothing was run.
  }
  const trials = names.flatMap(trialsIn);
  return { ...ended, trials, journals: names };
}

function trialsIn(journal: string): Trial[] {
  return Deno.readTextFileSync(journal).trim().split("\n").map((one) => JSON.parse(one))
    .filter(({ kind }) => kind === "trial");
}

Deno.test("score traces: results are ordinary trials, which report and gate read, and no run continues", async () => {
  using place = new Folder();
  const { code, all, trials, journals } = await score(place, ONE_TEST, [
    line(),
    { trace: line().messages, case: "weather", model: "sim:planner", simulated: true },
  ]);
  assertEquals(code, 0, all);
  assertEquals(
    trials.map((
      { outcome, replayed, model, calls },
    ) => [outcome, replayed, model.requested, model.simulated, calls]),
    [["solved", true, "gpt-5", false, 1], ["solved", true, "sim:planner", true, 1]],
  );
  assertEquals(new Set(trials.map(({ draw }) => draw)).size, 2);
  assertEquals(trials[0]!.transcript?.prompt.value, "Rome?");
  const json = `${place.path}/report.json`;
  assertEquals((await toolgate(["report", ...journals, "--json", json])).code, 0);
  const report = JSON.parse(Deno.readTextFileSync(json)) as Report;
  assertStringIncludes(JSON.stringify(report), '"simulated":true');
  const gate = await toolgate(["gate", ...journals, "--success-rate", "0.1", "--margin", "0.09"]);
  assertStringIncludes(gate.stdout, "PASS", gate.all);

  // It is neither judged in place of traces nor continued with a live model.
  const [journal] = journals;
  const kept = Deno.readTextFileSync(journal!);
  const run = (...flags: string[]) =>
    deno([
      ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
      ...[`${place.path}/tests.ts`, "--", `--out=${journal}`, "--resume", ...flags],
    ]);
  const file = place.write("traces.jsonl", JSON.stringify(line({ tool: "wipe" })));
  const anew = await run(`--traces=${file}`);
  assertEquals(anew.code, 1, anew.all);
  assertStringIncludes(anew.all, "Cannot use --traces with --resume");
  const live = await run();
  assertEquals(live.code, 1, live.all);
  assertStringIncludes(live.all, "it is of --traces; begin another journal");
  assertEquals(Deno.readTextFileSync(journal!), kept);
});

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
test("made", {
  state: () => ({ count: 0, [Symbol.dispose]: () => note("gone ") }),
  tools: (state) => { note("made "); return tools; },
  assert: (run) => { if (run.state.count !== 0) throw new Error("used"); },
});
`;
}

Deno.test("score traces: each kind of trace is a trial of its test as far as it was said, and one that is not right ends with 1", async (t) => {
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
  const ended = await score(place, testsOfKinds(log), [
    line({ prompt: "right" }),
    line({ prompt: "wrong", city: "Paris" }),
    line({ prompt: "wiped", tool: "wipe" }),
    { model: "gpt-5", messages: line({ prompt: "open" }).messages.slice(0, 3) },
    line({ prompt: "strange", tool: "look_up" }),
    ...["a", "b"].map((id) => line({ prompt: "ids", more: { id } })),
    ...["gpt-5", "other"].map((model) => line({ prompt: "models", more: { id: "c", model } })),
    // Of servers with few ids of responses, the time tells them apart.
    ...[1, 2].map(logged),
    { messages: line({ prompt: "program" }).messages, simulated: true },
    ...["a", "a", "b"].map((model) => line({ prompt: "uneven", more: { model } })),
    ...[open, open],
    { model: "gpt-5", prompt: "steps", steps },
    { ...turns, messages: [...turns.messages, { role: "user", content: "Thanks" }, answer] },
    { name: "chat", spanId: "s", traceId: "t", attributes: broken },
    line({ prompt: "made" }),
  ]);
  assertEquals(ended.code, 1, ended.all);
  const trialsOf = (test: string) => ended.trials.filter(({ suite }) => suite === test);
  const outcomesOf = (test: string) => trialsOf(test).map(({ outcome }) => outcome);
  const modelsOf = (test: string) => trialsOf(test).map(({ model }) => model.requested).sort();

  await t.step("a trial that is not right, and a call that must not happen", () => {
    const kinds = ["right", "wrong", "open"];
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
    () => {
      assertEquals(modelsOf("steps"), ["gpt-5"]);
      assertEquals(trialsOf("program").map(({ model }) => [model.requested, model.simulated]), [
        ...[["unnamed", true]],
      ]);
    },
  );
  await t.step("without a gate models need no equal numbers of traces", async () => {
    assertEquals(modelsOf("uneven"), ["a", "a", "b"]);
    const journal = ended.journals.find((path) => path.includes("/uneven."))!;
    const report = await toolgate(["report", journal]);
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
});

Deno.test("score traces: a trace of no test or of two ends with 2, a test without one with 3", async () => {
  using strange = new Folder();
  const { messages } = line();
  const system = { role: "system", content: "Be brief." };
  const steps = [{ content: [{ type: "text", text: "21" }], finishReason: "stop" }];
  const key = "sk-live-4f9a8b7c6d5e4f3a2b1c";
  const lost = await score(strange, ONE_TEST, [
    ...[line(), { messages: [system, ...messages] }, { steps }, line({ prompt: "Oslo?" })],
    ...[line({ prompt: `Is ${key} mine?` }), line({ more: { case: key } })],
  ]);
  assertEquals(lost.code, 2, lost.all);
  for (
    const part of [
      "5 traces of 6 not judged",
      'line 2: question "Rome?" is that of tool test weather, whose system text is another',
      "line 3: it has neither a question nor a case",
      'line 4: question "Oslo?" is of no test',
      'question "Is [redacted] mine?" is of no test',
    ]
  ) assertStringIncludes(lost.all, part);
  assert(!lost.all.includes(key), lost.all);

  // Nothing has been said of either: the model that they name is not asked in its place.
  const two = `${ONE_TEST}\ntoolTest("same", { model: "gpt-5", tools, prompt: "Rome?", assert });`;
  const both = ["weather", "same"].map((name) => line({ more: { case: name } }));
  const outcomes = { 2: ["invalid", "invalid"], 0: ["solved", "solved"], 3: ["invalid", "solved"] };
  for (const [code, traces] of [[2, [line()]], [0, both], [3, both.slice(0, 1)]] as const) {
    using place = new Folder();
    const ended = await score(place, two, traces);
    assertEquals([ended.code, ended.trials.map(({ outcome }) => outcome).sort()], [
      ...[code, outcomes[code]],
    ], ended.all);
    if (code === 2) assertStringIncludes(ended.trials[0]!.reason!, "has no trace of it");
  }
});

Deno.test("score traces: the gate of a suite decides, and over tests without traces it does not pass", async () => {
  const many = (prompt: string, city: string) =>
    Array.from({ length: 10 }, () => line({ prompt, city }));
  const cases: [number, unknown[]][] = [
    [0, [...many("Rome?", "Rome"), ...many("Rome, please?", "Rome")]],
    [1, [...many("Rome?", "Paris"), ...many("Rome, please?", "Paris")]],
    [3, many("Rome?", "Rome")],
  ];
  for (const [code, traces] of cases) {
    using place = new Folder();
    const ended = await score(place, GATED, traces);
    assertEquals(ended.code, code, ended.all);
    assertEquals(ended.trials.length, 20);
  }
});

Deno.test("score traces: what cannot be applied to what was said is refused", async () => {
  const options = [
    'perturbation: "RD"',
    'strategy: "restate"',
    "gate: { successRate: 0.9, sequential: true }",
    'variants: { a: { system: "x" } }',
  ];
  using place = new Folder();
  const tests = options.map((option, at) =>
    `toolSuite("${at}", { model: "gpt-5", tools, ${option} })("${at}", { prompt: "Rome?", assert });`
  );
  const ended = await score(place, TOOLS + tests.join("\n"), [line()]);
  assertEquals([ended.code, ended.trials], [2, []], ended.all);
  const refused = new Set(ended.all.match(/^.*InputError: Cannot score .*$/gm));
  assertEquals(refused.size, options.length, ended.all);
});

Deno.test("score traces: a journal's trials, judged anew, are what they were", async () => {
  using place = new Folder();
  const script = ONE_TEST.replace(
    'model: "gpt-5"',
    `trials: 2, model: scripted("script", [
      { text: "Let me see.", calls: [
        { name: "weather", arguments: { city: "Rome" } }, { name: "look_up", arguments: {} }, { name: "weather", arguments: "{ba" },
      ] },
      { calls: [{ name: "weather", arguments: {} }] },
      { text: "21 degrees.", usage: { inputTokens: 7, outputTokens: 3 } },
    ])`,
  ).replaceAll("execute: ran", 'returns: "21"');
  const code = place.write("live.ts", `// @ts-nocheck no types here\n${script}`);
  const journal = `${place.path}/live.jsonl`;
  const test = ["test", "-A", "--no-check", "--no-prompt", code, "--", `--out=${journal}`];
  await deno(test);
  const live = trialsIn(journal);
  using again = new Folder();
  const tests = again.write(
    "live.ts",
    `// @ts-nocheck no types here\n${script.replaceAll('returns: "21"', "execute: ran")}`,
  );
  const out = `${again.path}/again.jsonl`;
  const ended = await command("score", "traces", journal, "--with", tests, "--out", out);
  assertEquals(ended.code, 0, ended.all);
  const anew = trialsIn(out);
  const shape = (
    { outcome, solved, calls, failures, behaviours, usage, events, model, needed, oracle }: Trial,
  ) => ({
    ...{ outcome, solved, calls, failures, behaviours, usage, model, needed, oracle },
    events: events.map((event) => ({ ...event, durationMs: 0, parsed: undefined })),
  });
  assertEquals(anew.map(shape), live.map(shape));
});

Deno.test("score traces: a trace that is there twice is refused", async () => {
  using place = new Folder();
  const { messages, model } = line();
  const logged = {
    request: { model, messages: messages.slice(0, 3) },
    response: { id: "r", created: 1, choices: [{ message: messages[3], finish_reason: "stop" }] },
  };
  for (
    const traces of [
      [line({ more: { id: "a" } }), line({ more: { id: "a" } })],
      [line({ more: { id: 7 } }), line({ city: "Paris", more: { id: 7, case: "weather" } })],
      [logged, logged],
    ]
  ) {
    const ended = await score(place, ONE_TEST, traces);
    assertEquals([ended.code, ended.trials], [2, []], ended.all);
    assertStringIncludes(ended.stderr, "line 2 as each trace is a trial of its own");
  }
});

Deno.test("score traces: a trace of tests of two suites ends with 2, and both are named", async () => {
  using place = new Folder();
  const suite = (name: string) =>
    `toolSuite("${name}", { model: "gpt-5", tools })("weather", { prompt: "Rome?", assert });\n`;
  const ended = await score(place, TOOLS + suite("first") + suite("second"), [line(), line()]);
  assertEquals(ended.code, 2, ended.all);
  assertStringIncludes(ended.stderr, "2 traces of 2 judged twice");
  assertStringIncludes(ended.all, "is of tool test weather of first, tool test weather of second");
});

Deno.test("score traces: a missing permission is one line and ends with 2", async () => {
  using place = new Folder();
  const { words } = written(place, ONE_TEST, [line()]);
  for (const lacking of ["write", "run"]) {
    const given = ["read", "env", "write", "run"].filter((name) => name !== lacking);
    const ended = await deno([
      ...["run", "--no-check", "--no-prompt", ...given.map((name) => `--allow-${name}`)],
      ...[`${ROOT}/lib/cli/main.ts`, ...words],
    ]);
    assertEquals([ended.code, ended.stderr.trim().split("\n").length], [2, 1], ended.all);
    assertStringIncludes(ended.stderr, `--allow-${lacking}`);
  }
});

Deno.test("score traces: a signal ends the tests too, and leaves no folder", async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    using place = new Folder();
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const temporary = `${place.path}/temporary`;
    Deno.mkdirSync(temporary);
    const hanging = `${TOOLS}
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

Deno.test("score traces: bad input ends with 2 before anything is run", async () => {
  using place = new Folder();
  const tests = place.write("tests.ts", ONE_TEST);
  let count = 0;
  const bad = (text: string) => place.write(`${++count}_bad.jsonl`, text);
  for (
    const [words, message] of [
      [[], "traces takes one file: 0 are given"],
      [[bad("{}")], "traces needs --with TESTS"],
      [
        [bad(JSON.stringify(line({ more: { simulated: "true" } }))), "--with", tests],
        "at simulated: must be true or false",
      ],
      [[bad("{}"), "--with", tests], "bad.jsonl:\n  at the top: must be a trace of a known form"],
      [[bad('{"v":2,"kind":"trial"}\n'), "--with", tests], "it was written by a newer version"],
      [[`${place.path}/none.jsonl`, "--with", tests], "there is no such file or folder"],
      [[bad(JSON.stringify(line())), "--with", `${place.path}/none.ts`], "there is no such file"],
      [
        [bad(`${JSON.stringify(line())}\n{"a`), "--with", tests],
        "bad.jsonl, line 2 as it must be JSON",
      ],
    ] as const
  ) {
    const ended = await toolgate(["score", "traces", ...words]);
    assertEquals([ended.code, ended.stdout], [2, ""], ended.all);
    assertStringIncludes(ended.stderr, message);
  }
  const plain = await score(place, 'Deno.test("plain", () => {});\n', [line()]);
  assertEquals(plain.code, 2, plain.all);
  assertStringIncludes(plain.stderr, "--with names a file of tool tests");
});
