// The command that judges recorded conversations by tests of tools, as users run it: it starts `deno test`.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Report } from "../../lib/reports/report.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { deno, ROOT, start } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";

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

/** Runs the command in a process, whose output has that of the tests it starts: in this one it would be this one's. */
function command(...words: string[]) {
  return deno(["run", "-A", "--no-check", "--no-prompt", `${ROOT}/lib/cli/main.ts`, ...words]);
}

/** Runs the tests of a text on traces. */
function run(place: Folder, tests: string, traces: readonly unknown[]) {
  return command(...written(place, tests, traces).words);
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
  const trials = names.flatMap((name) =>
    Deno.readTextFileSync(name).trim().split("\n").map((one) => JSON.parse(one))
  ).filter(({ kind }) => kind === "trial") as Trial[];
  return { ...ended, trials, journals: names };
}

Deno.test("score traces: results are ordinary trials, which report, gate and export read", async () => {
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
});

Deno.test("score traces: a trial that is not right, and a call that must not happen, end with 1", async () => {
  using place = new Folder();
  const paris = await score(place, ONE_TEST, [line(), line({ city: "Paris" })]);
  assertEquals(paris.code, 1, paris.all);
  assertEquals(paris.trials.map(({ outcome }) => outcome), ["solved", "wrong_answer"]);
  const view = paris.trials[1]!.events.find((event) => event.kind === "call")?.parameters;
  assertEquals(view?.failures.map(({ parameter, given }) => [parameter, given]), [[
    "/city",
    "Paris",
  ]]);
  using other = new Folder();
  const wiped = await score(other, ONE_TEST, [line({ tool: "wipe" })]);
  assertEquals(wiped.code, 1, wiped.all);
  assert(wiped.trials[0]!.events.some((event) => event.kind === "assertion" && event.never));
  using last = new Folder();
  const { messages } = line();
  const open = await score(last, ONE_TEST, [{ model: "gpt-5", messages: messages.slice(0, 3) }]);
  assertEquals([open.code, open.trials[0]!.outcome], [1, "agent_error"], open.all);
});

Deno.test("score traces: a trace of no test or of two ends with 2, a test without one with 3", async () => {
  using place = new Folder();
  const strange = await score(place, ONE_TEST, [line(), line({ prompt: "Oslo?" })]);
  assertEquals(strange.code, 2, strange.all);
  assertStringIncludes(strange.stderr, "1 trace of 2 not judged");
  using double = new Folder();
  // Nothing has been said of either: the model that they name is not asked in its place.
  const two = `${ONE_TEST}\ntoolTest("same", { model: "gpt-5", tools, prompt: "Rome?", assert });`;
  const shared = await score(double, two, [line()]);
  assertEquals([shared.code, shared.trials.map(({ outcome }) => outcome)], [2, [
    "invalid",
    "invalid",
  ]]);
  assertStringIncludes(shared.trials[0]!.reason!, "has no trace of it");
  using named = new Folder();
  const both = ["weather", "same"].map((name) => line({ more: { case: name } }));
  const right = await score(named, two, both);
  assertEquals(right.code, 0, right.all);
  using missing = new Folder();
  const one = await score(missing, two, both.slice(0, 1));
  assertEquals(one.code, 3, one.all);
  assertEquals(one.trials.map(({ outcome }) => outcome).sort(), ["invalid", "solved"]);
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
  for (
    const option of [
      'perturbation: "RD"',
      'strategy: "restate"',
      "gate: { successRate: 0.9, sequential: true }",
      'variants: { a: { system: "x" } }',
    ]
  ) {
    using place = new Folder();
    const tests = ONE_TEST.replace('model: "gpt-5"', `model: "gpt-5", ${option}`);
    const ended = await score(place, tests, [line()]);
    assertEquals([ended.code, ended.trials], [2, []], option);
  }
});

Deno.test("score traces: state and tools are made, disposed of, and never used", async () => {
  using place = new Folder();
  const log = `${place.path}/log.txt`;
  const made = `${TOOLS}
const note = (text) => Deno.writeTextFileSync(${JSON.stringify(log)}, text, { append: true });
toolTest("weather", {
  model: "gpt-5",
  state: () => ({ count: 0, [Symbol.dispose]: () => note("gone ") }),
  tools: (state) => { note("made "); return tools; },
  prompt: "Rome?",
  assert: (run) => { if (run.state.count !== 0) throw new Error("used"); },
});`;
  const ended = await score(place, made, [line()]);
  assertEquals(ended.code, 0, ended.all);
  assertEquals(Deno.readTextFileSync(log), "made gone ");
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
  const child = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--no-prompt", code, "--", `--out=${journal}`],
    ...{ cwd: ROOT, stdout: "null", stderr: "null" },
  }).output();
  assert(child.success);
  const live = Deno.readTextFileSync(journal).trim().split("\n").map((one) => JSON.parse(one))
    .filter(({ kind }) => kind === "trial") as Trial[];
  using again = new Folder();
  const tests = again.write(
    "live.ts",
    `// @ts-nocheck no types here\n${script.replaceAll('returns: "21"', "execute: ran")}`,
  );
  const out = `${again.path}/again.jsonl`;
  const ended = await command("score", "traces", journal, "--with", tests, "--out", out);
  assertEquals(ended.code, 0, ended.all);
  const anew = Deno.readTextFileSync(out).trim().split("\n").map((one) => JSON.parse(one))
    .filter(({ kind }) => kind === "trial") as Trial[];
  const shape = (
    { outcome, solved, calls, failures, behaviours, usage, events, model, needed, oracle }: Trial,
  ) => ({
    ...{ outcome, solved, calls, failures, behaviours, usage, model, needed, oracle },
    events: events.map((event) => ({ ...event, durationMs: 0, parsed: undefined })),
  });
  assertEquals(anew.map(shape), live.map(shape));
});

Deno.test("score traces: a journal is neither judged in place of traces nor continued with a live model", async () => {
  using place = new Folder();
  const { code, all, journals: [journal] } = await score(place, ONE_TEST, [line()]);
  assertEquals(code, 0, all);
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

Deno.test("score traces: a trace that is there twice is refused, and its id is in its draw", async () => {
  for (
    const [one, other, isTwice] of [
      [{ more: { id: "a" } }, { more: { id: "a" } }, true],
      [{ more: { id: 7 } }, { city: "Paris", more: { id: 7, case: "weather" } }, true],
      [{ more: { id: "a" } }, { more: { id: "b" } }, false],
      [{ more: { id: "a" } }, { more: { id: "a", model: "other" } }, false],
    ] as const
  ) {
    using place = new Folder();
    const ended = await score(place, ONE_TEST, [line(one), line(other)]);
    assertEquals(ended.code, isTwice ? 2 : 0, ended.all);
    if (isTwice) assertStringIncludes(ended.stderr, "line 2 as each trace is a trial of its own");
    else assertEquals(new Set(ended.trials.map(({ draw }) => draw)).size, 2);
  }
  // Of servers with few ids of responses, the time tells them apart.
  const logged = ([id, created]: [string, number]) => {
    const { messages, model } = line();
    const request = { model, messages: messages.slice(0, 3) };
    const message = messages[3];
    return { request, response: { id, created, choices: [{ message, finish_reason: "stop" }] } };
  };
  using same = new Folder();
  assertEquals((await score(same, ONE_TEST, [["r", 1], ["r", 1]].map(logged as never))).code, 2);
  using later = new Folder();
  const both = await score(later, ONE_TEST, [["r", 1], ["r", 2]].map(logged as never));
  assertEquals(both.code, 0, both.all);
});

Deno.test("score traces: a trial of several turns that broke off in the first is invalid, and others are judged", async () => {
  using place = new Folder();
  const attributes = {
    ...{ "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5" },
    "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: "Rome?" }] }],
    "error.type": "timeout",
  };
  const { messages } = line();
  const whole = [...messages, { role: "user", content: "Thanks" }, messages[3]];
  const ended = await score(
    place,
    ONE_TEST.replace("expected:", 'turns: ["Thanks"], expected:'),
    [{ ...line(), messages: whole }, { name: "chat", spanId: "s", traceId: "t", attributes }],
  );
  assertEquals(
    [ended.code, ended.trials.map(({ outcome }) => outcome)],
    [3, ["solved", "invalid"]],
    ended.all,
  );
});

Deno.test("score traces: a trace of no test is told from one of a test with another system text", async () => {
  using place = new Folder();
  const { messages } = line();
  const system = { role: "system", content: "Be brief." };
  const steps = [{ content: [{ type: "text", text: "21" }], finishReason: "stop" }];
  const traces = [{ messages: [system, ...messages] }, { steps }, line({ prompt: "Oslo?" })];
  const { code, all } = await run(place, ONE_TEST, traces);
  assertEquals(code, 2, all);
  for (
    const part of [
      'line 1: question "Rome?" is that of tool test weather, whose system text is another',
      "line 2: it has neither a question nor a case",
      'line 3: question "Oslo?" is of no test',
    ]
  ) assertStringIncludes(all, part);
});

Deno.test("score traces: a wrong call that had a result is told by what is wrong with it", async () => {
  using place = new Folder();
  const { code, all } = await run(place, ONE_TEST, [line({ tool: "look_up" })]);
  assertEquals(code, 1, all);
  assertStringIncludes(all, 'look_up(city="Rome") -> refused: There is no function look_up');
});

Deno.test("score traces: the model beside steps is theirs, and --with needs tool tests", async () => {
  using place = new Folder();
  const steps = [{
    content: [{ type: "text", text: "21" }],
    finishReason: "stop",
    response: { modelId: "gpt-5-2025" },
  }];
  const answered = TOOLS +
    'toolTest("weather", { model: "m", tools, prompt: "Rome?", assert() {} });\n';
  const { trials } = await score(place, answered, [{ model: "gpt-5", prompt: "Rome?", steps }]);
  assertEquals(trials.map(({ model }) => model.requested), ["gpt-5"]);
  using none = new Folder();
  const { code, stderr } = await score(none, 'Deno.test("plain", () => {});\n', [line()]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "--with names a file of tool tests");
});

Deno.test("score traces: a program without a name is one all the same, and simulated is true or false", async () => {
  using place = new Folder();
  const { messages } = line();
  const program = await score(place, ONE_TEST, [{ messages, simulated: true }]);
  assertEquals(program.trials.map(({ model }) => [model.requested, model.simulated]), [
    ["unnamed", true],
  ]);
  using other = new Folder();
  const text = await score(other, ONE_TEST, [line({ more: { simulated: "true" } })]);
  assertEquals([text.code, text.trials], [2, []]);
  assertStringIncludes(text.stderr, "at simulated: must be true or false");
});

Deno.test("score traces: what is left out of traces is said beside their test, once", async () => {
  using place = new Folder();
  const open = { ...line(), messages: line().messages.filter(({ role }) => role !== "tool") };
  const { all } = await run(place, ONE_TEST, [open, open]);
  const told = all.split("\n").filter((one) => one.includes("without a result"));
  assertEquals(told.length, 1, all);
  assertStringIncludes(told[0]!, "tool test weather: 1 call without a result");
  assertStringIncludes(told[0]!, "line 1, ");
});

Deno.test("score traces: a trace of tests of two suites ends with 2, and both are named", async () => {
  using place = new Folder();
  const suite = (name: string) =>
    `toolSuite("${name}", { model: "gpt-5", tools })("weather", { prompt: "Rome?", assert });\n`;
  const ended = await run(place, TOOLS + suite("first") + suite("second"), [line(), line()]);
  assertEquals(ended.code, 2, ended.all);
  assertStringIncludes(ended.stderr, "2 traces of 2 judged twice");
  assertStringIncludes(ended.all, "is of tool test weather of first, tool test weather of second");
});

Deno.test("score traces: without a gate models need no equal numbers of traces", async () => {
  using place = new Folder();
  const traces = ["a", "a", "b"].map((model) => line({ more: { model } }));
  const { code, all, trials, journals } = await score(place, ONE_TEST, traces);
  assertEquals(
    [code, trials.map(({ model }) => model.requested).sort()],
    [0, ["a", "a", "b"]],
    all,
  );
  const report = await toolgate(["report", ...journals]);
  assertEquals(report.code, 0, report.all);
});

Deno.test("score traces: no secret of a trace is printed", async () => {
  using place = new Folder();
  const key = "sk-live-4f9a8b7c6d5e4f3a2b1c";
  const ended = await run(place, ONE_TEST, [
    line({ prompt: `Is ${key} mine?` }),
    line({ more: { case: key } }),
  ]);
  assertEquals(ended.code, 2, ended.all);
  assertStringIncludes(ended.all, 'question "Is [redacted] mine?" is of no test');
  assert(!ended.all.includes(key), ended.all);
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
});
