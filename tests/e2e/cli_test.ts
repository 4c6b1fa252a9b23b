// The command line as users run it, in child processes.

import {
  assert,
  assertEquals,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { randomIntegerBetween, randomSeeded } from "@std/random";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import {
  beginToolgate as begin,
  command,
  countingServer,
  deno,
  type Finished,
  type Folder,
  folder,
  LAUNCH,
  readLines,
  ROOT,
  shell,
} from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";

const QUICK = `${ROOT}/fixtures/suites/quick.jsonc`;

/** A suite of `graphs` graphs in each of two cells. */
function suiteOf(models: unknown, graphs: number, more: Record<string, unknown> = {}): string {
  const tasks = [{ core: [3, 4], depth: 2, connected: 1 }];
  return JSON.stringify({ name: "small", seed: 1, graphs, tasks, models, ...more }, null, 2);
}

/** A server that answers with an error, after so many requests. */
function failing(
  status: number,
  message: string,
  more: Omit<NonNullable<Parameters<typeof countingServer>[2]>, "status" | "message"> = {},
) {
  return countingServer(undefined, 0, { status, message, ...more });
}

/** No exception that nobody caught ever reaches the user. */
function assertNoStack({ stderr, all }: Finished): void {
  assertEquals(/^ {4}at |Uncaught/m.test(stderr), false, all);
}

/** The ids of a journal's trials, after a check that it is whole. */
function idsOf(path: string): string[] {
  assertMatch(Deno.readTextFileSync(path), /\}\n$/, "the journal ends in mid-line");
  const [plan, ...trials] = readLines(path);
  assertEquals(plan.kind, "plan");
  return trials.map(({ id }) => id);
}

/** The trials of each model in the row that sums up the cells on stdout. */
function totalsIn({ stdout }: Finished): number[] {
  const [, ofOne, ofSeveral = ""] = /^all +(?:(\d+) |(.* of .*))/m.exec(stdout) ?? [];
  return ofOne !== undefined
    ? [Number(ofOne)]
    : [...ofSeveral.matchAll(/% of (\d+)/g)].map(([, trials]) => Number(trials));
}

// generate

const SPEC = ["--core", "6", "--depth", "3", "--connected", "3", "--disconnected", "2"];

Deno.test("toolgate generate prints a task with exactly the promised keys", async () => {
  const finished = await toolgate(["generate", ...SPEC, "--seed", "11"]);
  assertEquals(finished.code, 0, finished.all);
  assertEquals(finished.stderr, "");
  const task = JSON.parse(finished.stdout);
  assertEquals(Object.keys(task), [
    ...["version", "spec", "prompt", "inputs", "target", "minimumCalls", "values"],
    ...["functions", "tools"],
  ]);
  assertEquals(task.version, 1);
  assertEquals(task.spec.seed, 11);
  assertEquals(Object.keys(task.target), ["variable", "value"]);
  assertEquals(task.values[task.target.variable], task.target.value);
  assertEquals(task.minimumCalls, 6);
  for (const [name, value] of Object.entries(task.inputs)) {
    assertStringIncludes(task.prompt, `Variable ${name} = ${value}`);
    assertEquals(task.values[name], value);
  }
  assertEquals(task.functions.length, 11);
  assertEquals(task.tools.length, 11);
  const roles = Object.groupBy(task.functions, ({ role }: { role: string }) => role);
  assertEquals(Object.entries(roles).map(([role, made]) => [role, made!.length]).sort(), [
    ["connected", 3],
    ["core", 6],
    ["disconnected", 2],
  ]);
  for (const made of task.functions) {
    assertEquals(Object.keys(made), ["name", "role", "parameters", "output", "dependsOn"]);
    for (const variable of [...made.parameters, made.output]) {
      assertEquals(Object.keys(variable), ["name", "type", "subtype"]);
    }
  }
});

Deno.test("toolgate generate --format tools prints OpenAI function tools (FuncBenchGen B.3)", async () => {
  const finished = await toolgate(["generate", ...SPEC, "--seed", "11", "--format", "tools"]);
  assertEquals(finished.code, 0, finished.all);
  const tools = JSON.parse(finished.stdout);
  assertEquals(tools.length, 11);
  for (const tool of tools) {
    assertEquals(Object.keys(tool).sort(), ["function", "type"]);
    assertEquals(tool.type, "function");
    const { name, description, parameters, strict, ...rest } = tool.function;
    assertEquals(rest, {});
    assertMatch(name, /^[a-zA-Z0-9_-]{1,64}$/);
    assertMatch(description, /^Processes .* to produce variable \w+ \(type_\w+ with subtype_\w+\)/);
    assertEquals(strict, true);
    // Strict mode asks for closed objects whose keys are all required.
    assertEquals(parameters.type, "object");
    assertEquals(parameters.additionalProperties, false);
    assertEquals([...parameters.required].sort(), Object.keys(parameters.properties).sort());
    for (const property of Object.values<{ type: string }>(parameters.properties)) {
      assertEquals(property.type, "integer");
    }
  }
});

Deno.test("toolgate generate draws in every format (FuncBenchGen A.2)", async () => {
  const formats = [
    ["dot", /^digraph /],
    ["mermaid", /^(flowchart|graph) /],
    ["svg", /^(<\?xml|<svg)/],
  ] as const;
  const line = ["generate", ...SPEC, "--seed", "11"];
  const [task, ...drawn] = await toolgates([
    line,
    ...formats.map(([format]) => [...line, "--format", format]),
  ]);
  const names = task!.stdout.match(/func_\w+/g)!;
  for (const [place, [format, beginning]] of formats.entries()) {
    const finished = drawn[place]!;
    assertEquals(finished.code, 0, finished.all);
    assertMatch(finished.stdout, beginning);
    for (const name of new Set(names)) assertStringIncludes(finished.stdout, name, format);
  }
});

Deno.test("toolgate generate gives the same bytes for the same seed alone", async () => {
  const formats = ["json", "tools", "dot", "mermaid", "svg"];
  const [ones, agains, others] = await Promise.all(
    ["5", "5", "6"].map((seed) =>
      toolgates(
        formats.map((format) => ["generate", ...SPEC, "--seed", seed, "--format", format]),
      )
    ),
  );
  for (const [place, format] of formats.entries()) {
    assertEquals(ones![place]!.code, 0, ones![place]!.all);
    assertEquals(ones![place]!.stdout, agains![place]!.stdout, format);
    assertNotEquals(ones![place]!.stdout, others![place]!.stdout, format);
  }
  const [one, other] = await Promise.all([1, 2].map(() => toolgate(["generate", ...SPEC])));
  assertNotEquals(one!.stdout, other!.stdout, "without a seed it must be a fresh one");
});

Deno.test("toolgate generate --trial gives the prompt of a journal's trial", async () => {
  await using temporary = await folder();
  await using server = countingServer();
  const suite = temporary.write(
    "suite.jsonc",
    suiteOf(["m"], 2, {
      tasks: [
        { core: 4, depth: 2, linking: "names", inputs: [2, 3], cues: ["none", "names"] },
        { core: 3, depth: 1, outputs: [2, 3], names: ["helpful", "misleading"] },
      ],
    }),
  );
  const out = temporary.file("out.jsonl");
  const run = await toolgate(["run", suite, "--base-url", server.url, "--out", out]);
  assertEquals(run.code, 0, run.all);
  const ids = readLines(out).slice(1).map(({ id }) => id);
  assert(ids.length > 0);
  for (const finished of await toolgates(ids.map((id) => ["generate", "--trial", id]))) {
    assertEquals(finished.code, 0, finished.all);
    const { prompt } = JSON.parse(finished.stdout);
    assert(server.begun.has(prompt), `no trial got this prompt: ${prompt}`);
  }
});

Deno.test("toolgate generate ends quietly when nobody reads on", async () => {
  const command = ["deno", ...LAUNCH, "generate", "--core", "50", "--depth", "9"].join(" ");
  assertNoStack(await shell(`${command} | true`));
});

// Bad input

/** What each command must refuse; `journal` names a file that it must not leave behind. */
function badInput(temporary: Folder): [line: readonly string[], message: RegExp][] {
  const suite = temporary.write("good.jsonc", suiteOf(["sim:planner"], 1));
  const bad = (name: string, text: string) => temporary.write(`${name}.jsonc`, text);
  const out = ["--out", temporary.file("new.jsonl")];
  const id = "core=3 depth=2 connected=0 disconnected=0 seed=1 model=sim:planner " +
    "strategy=plain perturbation=none repetition=1";
  const existing = temporary.write("existing.jsonl", "");
  const plain = temporary.write("plain.jsonl", linesOf([{ kind: "trial" }]));
  const torn = temporary.write("broken.jsonl", `{"v":1,\n{"v":1}\n`);
  return [
    [["frobnicate"], /there is no command frobnicate/],
    [["constructor"], /there is no command constructor/],

    [["generate"], /--core is needed/],
    [["generate", "--core", "3"], /--depth is needed/],
    [
      ["generate", "--core", "3", "--depth", "3"],
      /depth must be below core: depth is 3, core is 3/,
    ],
    [["generate", "--core", "-3", "--depth", "1"], /--core must be a whole number.*: it is -3/],
    [["generate", "--core", "3", "--core", "4", "--depth", "1"], /--core is given twice/],
    [["generate", "--core", "3", "--depth", "--seed", "1"], /--depth needs a value/],
    [["generate", "--trial", id.replace(/core.*0/, "case=mine")], /of a test of your own: it is c/],
    [
      ["generate", "--trial", id.replace(/core.*0/, "case=oracle"), "--format", "dot"],
      /--format must be json or tools for a task without a graph: it is dot/,
    ],
    [["generate", "--cores", "3"], /there is no option --cores; did you mean --core\?/],
    [
      ["generate", "--core", "3", "--depth", "1", "--format", "yaml"],
      /--format must be one of json,/,
    ],
    [
      ["generate", "--core", "3", "--depth", "1", "--inputs", "3"],
      /--inputs must be A\.\.B.*: it is 3/,
    ],
    [["generate", "file", "--core", "3", "--depth", "1"], /it takes no file: file is given/],
    [["generate", "--trial", "a trial"], /--trial must be an id that journals have: it is a trial/],
    [["generate", "--trial", id, "--core", "4"], /--trial goes without --core/],

    [["run", suite, suite], /it takes one suite file: 2 are given/],
    [["run", "no-such.jsonc", ...out], /Cannot read no-such\.jsonc: there is no such file/],
    [["run", temporary.path, ...out], /Cannot read .*: it is a folder/],
    [["run", bad("half", `{ "name": "x", `), ...out], /half\.jsonc: .*JSON/],
    [["run", bad("list", "[]"), ...out], /list\.jsonc:\n {2}at the top: .*object/],
    [
      ["run", bad("key", suiteOf(["m"], 1, { grpahs: 2 })), ...out],
      /key\.jsonc:\n {2}at the top: Unrecognized key: "grpahs"/,
    ],
    [
      ["run", bad("secret", suiteOf([{ model: "m", apiKeyVariable: "NO_SUCH_KEY" }], 1)), ...out],
      /model m .*NO_SUCH_KEY is not set/,
    ],
    [
      ["run", suite, ...out, "--request-timeout", "0"],
      /--request-timeout must be a number above 0: it is 0/,
    ],
    [["run", suite, ...out, "--modle", "m"], /there is no option --modle; did you mean --model\?/],
    [
      ["run", suite, ...out, "--model", "sim:oracle"],
      /must be sim:planner\?reads=, sim:noisy.* or sim:truth.*sim:oracle/,
    ],
    [["run", suite, ...out, "--model", "gpt-5"], /gpt-5.*OPENAI_API_KEY is not set/],
    [
      ["run", suite, ...out, "--model", "m", "--base-url", "nonsense"],
      /--base-url must be .*: it is nonsense/,
    ],
    [["run", suite, ...out, "--api", "telepathy"], /--api.*telepathy|api: .*"chat"/],
    [
      ["run", suite, ...out, "--strategy", "wishful"],
      /strateg.*must be one of plain, .*: it is wishful/,
    ],
    [["run", suite, ...out, "--seed", "old"], /--seed must be a whole number.*: it is old/],
    [["run", suite, ...out, "--concurrency", "0"], /--concurrency must be.*: it is 0/],
    [["run", suite, ...out, "--shard", "4/3"], /Cannot use shard 4\/3 as it must be I\/N/],
    [
      ["run", bad("fresh", suiteOf(["sim:planner"], 1, { seed: "fresh" })), "--shard", "1/2"],
      /add --seed/,
    ],
    [
      ["run", suite, ...out, "--reasoning-effort", "hard"],
      /--reasoning-effort must be one of none, minimal, low, medium, high, xhigh, max: it is hard/,
    ],
    [
      ["run", suite, ...out, "--reasoning-effort", "low", "--reasoning-effort", "low"],
      /models must have distinct names: sim:planner low is there twice/,
    ],
    [["run", suite, "--resume"], /--resume needs --out/],
    [["run", plain], /a journal is run with --only ID, and a suite as a whole/],
    [
      ["run", plain, "--only", id],
      /Cannot run a trial of .*plain\.jsonl as its first line must be a plan/,
    ],
    [
      ["run", existing, "--only", id],
      /Cannot run a trial of .*existing\.jsonl as its first line must be/,
    ],
    [["run", torn, "--only", id], /broken\.jsonl: line 1 is not JSON/],
    [
      ["run", suite, "--only", "the first"],
      /its id must be one that journals have.*: it is the first/,
    ],
    [["run", suite, "--only", id.replace("planner", "x")], /its model must be one of small: it is/],
    [
      ["run", suite, "--only", id.replace("depth=2", "depth=3")],
      /its id must be one that journals have.*: it is core=3 depth=3/,
    ],
    [["run", suite, "--only", id, ...out], /--only goes without --out/],
    [["run", suite, "--only", id, "--resume"], /--only goes without --resume/],
    [["run", suite, "--only", id, "--shard", "1/2"], /--only goes without --shard/],
    [["run", plain, "--only", id, "--model", "m"], /a journal goes without --model/],
    [["run", plain, "--only", id, "--seed", "1"], /a journal goes without --model, --seed /],
    [
      ["run", suite, "--out", temporary.file("retried.jsonl"), "--retry-invalid"],
      /--retry-invalid needs --resume/,
    ],
    [
      ["run", suite, "--out", `${suite}/new.jsonl`],
      /Cannot (use|write) the journal .*good\.jsonc\/new/,
    ],
    [["run", suite, "--out", temporary.path], /the journal .*: it is a folder/],
    [
      ["run", suite, "--out", existing],
      /existing\.jsonl .*continue it with --resume, or name another/,
    ],

    [["gate"], /it takes a journal, or a folder with those of one run: none is given/],
    [["gate", "no-such.jsonl"], /Cannot read no-such\.jsonl: there is no such file/],
    [
      ["gate", `${ROOT}/lib`, "--success-rate", "0.5"],
      /the folder .* has no journals, whose names end/,
    ],
    [
      ["gate", plain, "--success-rate", "0.5"],
      /plain\.jsonl, line 1:\n {2}at v: it is missing: expected 1\n {2}at id: .*; and \d more/,
    ],
    [["gate", torn, "--success-rate", "0.5"], /broken\.jsonl: line 1 is not JSON/],
    [["gate", existing, "--success-rate", "1.5"], /success-?rate: .*1/i],
    [
      ["gate", existing, "--sucess-rate", "0.5"],
      /there is no option --sucess-rate; did you mean --success-rate\?/,
    ],

    [["accept"], /it takes a journal or a folder, or --anchor: none is given/],
    [["accept", existing], /Cannot accept .*existing\.jsonl: the first line of a journal must be a plan/],
    [["accept", torn], /broken\.jsonl: line 1 is not JSON/],

    [["plan", "--rate", "80"], /at successRate: must be at most 1: it is 80/],
    [["plan", "--power", "0.4"], /at power: must be above 0\.5: it is 0\.4/],
    [["plan", "--margin", "0"], /at margin: a sequential gate needs a margin above 0/],
    [["plan", "--margin", "0.0001"], /Cannot run toolgate plan: .* at most 10000000 trials/],
    [
      ["plan", suite, "--graphs", "5"],
      /--graphs goes without a file: the suite file says what its gate is/,
    ],
    [["plan", "--graphs", "0"], /--graphs must be a whole number from 1 on: it is 0/],

    [["selfcheck"], /it takes a suite file, or one journal or more: none is given/],
    [["selfcheck", suite, "--replay", "kept"], /selfcheck: .*--replay/],
    [["selfcheck", suite, "--gate", "foo"], /--gate must be one of rate, upgrade: it is foo/],
    [["selfcheck", suite, "--gates", "0"], /--gates must be a whole number from 1 on: it is 0/],
    [["selfcheck", existing, "--margin", "2"], /at margin: must be below 1: it is 2/],

    [["simulate", "--port", "99999"], /--port must be a whole number from 0 to 65535: it is 99999/],
    [["simulate", "--port", "http"], /--port must be a whole number.*: it is http/],
    [["simulate", "--latency", "99999999999"], /latency/],
    [["simulate", "file"], /it takes no file: file is given/],
  ];
}

Deno.test("toolgate tells bad input in one message on stderr, and ends with 2", async (context) => {
  await using temporary = await folder();
  const cases = badInput(temporary);
  const before = temporary.names();
  const finished: Finished[] = await toolgates(cases.map(([arguments_]) => arguments_));
  // This one may not do all that the test may, and ends a process.
  const denied = ["run", temporary.file("good.jsonc"), "--out", "/new.jsonl"];
  cases.push([denied, /Cannot write the journal \/new\.jsonl: .*permission/]);
  finished.push(await begin(denied).finished);
  for (const [place, [arguments_, message]] of cases.entries()) {
    const shown = arguments_.join(" ").replaceAll(`${temporary.path}/`, "");
    await context.step(`toolgate ${shown}`, () => {
      const { code, stdout, stderr, all } = finished[place]!;
      assertEquals(code, 2, all);
      assertEquals(stdout, "", all);
      assertMatch(stderr, message);
      assertEquals(stderr.match(/Cannot run|Cannot use|Cannot (read|write)/g)?.length ?? 1, 1, all);
      assertNoStack(finished[place]!);
    });
  }
  assertEquals(temporary.names(), before, "something was left behind");
  assertEquals(Deno.readTextFileSync(temporary.file("existing.jsonl")), "");
});

Deno.test("toolgate refuses a port that is taken", async () => {
  await using server = countingServer();
  const finished = await toolgate(["simulate", "--port", new URL(server.url).port]);
  assertEquals(finished.code, 2, finished.all);
  assertMatch(finished.stderr, /Cannot serve on port \d+: /);
  assertNoStack(finished);
});

Deno.test("toolgate --help tells every command, and each tells its options", async () => {
  for (const finished of await toolgates([["--help"], ["-h"], ["help"]])) {
    assertEquals(finished.code, 0, finished.all);
    for (const name of ["generate", "run", "gate", "simulate"]) {
      assertMatch(finished.stdout, new RegExp(`^ +${name} `, "m"));
    }
  }
  const bare = await toolgate([]);
  assertEquals(bare.code, 2);
  const options = [
    ["generate", "--core"],
    ["run", "--retry-invalid"],
    ["gate", "--coverage"],
    ["simulate", "--latency"],
  ] as const;
  const told = await toolgates(options.map(([name]) => [name, "--nonsense", "--help"]));
  for (const [place, [, option]] of options.entries()) {
    const finished = told[place]!;
    assertEquals(finished.code, 0, finished.all);
    assertStringIncludes(finished.stdout, option);
  }
});

// run and gate

Deno.test("toolgate run and gate work on the quick suite", async () => {
  await using temporary = await folder();
  const out = temporary.file("folder/out.jsonl");
  const run = await toolgate(["run", QUICK, "--out", out]);
  assertEquals(run.code, 0, run.all);
  assertEquals(totalsIn(run), [100, 100]);
  assertMatch(run.stderr, /^Skipped 2 impossible crossings/);
  assertMatch(run.stderr, /^200\/200 trials, \d+ solved \(/m);
  assertStringIncludes(run.stderr, `To decide: deno task toolgate gate ${out}`);
  const ids = idsOf(out);
  assertEquals(ids.length, 200);
  assertEquals(new Set(ids).size, 200);

  const gate = await toolgate(["gate", out]);
  assertEquals(gate.code, 1, gate.all);
  assertEquals(gate.stderr, "200 of 200 trials played again: all agree\n");
  // Only a run has whole trials, whose failures it tells before the tables.
  const [, failures, tables] = /^(39 trials not solved\n(?: .*\n)+)\n([^]*)$/.exec(run.stdout)!;
  assertEquals(failures!.trimEnd().split("\n").length, 22);
  // A run compares models also without a baseline; a gate decides on each of them.
  const compared = /^Pairs compared\n\([^]*?\)\n([^]*?)\n\nTasks gained and lost\n[^]*?\n\n/m;
  assertMatch(
    compared.exec(tables!)![1]!,
    /^sim:noisy\S* \(simulated\) +sim:planner +100 +100\.0% +61\.0% +-39\.0 .* 0 +39 +below 0\.0001 /m,
  );
  const below = tables!.slice(tables!.indexOf("\nSuccess by cell\n"));
  assertStringIncludes(gate.stdout, below.trimEnd());
  assertMatch(gate.stdout, /^sim:planner \(simulated\): PASS: /m);
  assertMatch(gate.stdout, /^sim:noisy\?early=0\.05&stale=0\.05 \(simulated\): FAIL: /m);
  const finer = await toolgate(["gate", out, "--success-rate", "0.6", "--margin", "0.01"]);
  assertEquals(finer.code, 3, finer.all);
  assertMatch(finer.stdout, /UNDECIDED: .* about \d+ further trials would decide/);
});

Deno.test("toolgate run without a file runs the quick suite, and says so", async () => {
  const finished = await toolgate(["run", "--shard", "1/20"]);
  assertEquals(finished.code, 0, finished.all);
  assertStringIncludes(finished.stderr, `Suite ${QUICK}\n`);
  // A twentieth of 200 trials, of both models.
  assertEquals(totalsIn(finished), [6, 4]);
});

Deno.test("toolgate takes the models of a suite that names none from --model", async () => {
  await using place = await folder();
  const suite = place.write("suite.jsonc", suiteOf(undefined, 2, { gate: { successRate: 0.5 } }));
  const out = place.file("out.jsonl");
  const models = ["--model", "sim:planner", "--model", "sim:noisy"];
  const [run, plan, check] = await toolgates([
    ["run", suite, ...models, "--out", out],
    ["plan", suite, ...models, "--json"],
    ["selfcheck", suite, "--model", "sim:planner"],
  ]);
  for (const { code, all } of [run!, plan!]) assertEquals(code, 0, all);
  assertEquals(check!.stderr.includes("at models"), false, check!.all);
  const asked = readLines(out).slice(1).map((trial) => trial.model.requested).sort();
  assertEquals([...new Set(asked)], ["sim:noisy", "sim:planner"]);
  assertEquals(JSON.parse(plan!.stdout).trials, 8);
  for (const command of ["run", "plan", "selfcheck"]) {
    const { code, stderr, all } = await toolgate([command, suite]);
    assertEquals(code, 2, all);
    assertStringIncludes(stderr, "at models: must name a model, here or with the flag --model");
  }
});

Deno.test("toolgate run --reasoning-effort asks for it, and crosses several with the models (FuncBenchGen 4.5)", async () => {
  const asked: Record<string, unknown>[] = [];
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      asked.push(await request.json());
      const message = { role: "assistant", content: "I cannot tell." };
      const choices = [{ index: 0, finish_reason: "stop", message }];
      return Response.json({ id: "1", object: "chat.completion", model: "x", choices });
    },
  );
  await using temporary = await folder();
  const prices = { m: { input: 1, output: 1 } };
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 1, { prices }));
  const out = temporary.file("out.jsonl");
  const run = (...more: string[]) =>
    toolgate(["run", suite, "--base-url", `http://127.0.0.1:${server.addr.port}/v1`, ...more]);
  const one = await run("--reasoning-effort", "low");
  assertEquals(one.code, 0, one.all);
  assertEquals(asked.map(({ reasoning_effort: effort }) => effort), ["low", "low"]);
  assertStringIncludes(one.stdout, "Success by cell: m\ncell ");
  const efforts = ["--reasoning-effort", "minimal", "--reasoning-effort", "high"];
  const two = await run(...efforts, "--max-usd", "1", "--out", out);
  assertEquals(two.code, 0, two.all);
  assertEquals(
    asked.slice(2).map(({ model, reasoning_effort: effort }) => [model, effort]).sort(),
    [
      ["m", "high"],
      ["m", "high"],
      ["m", "minimal"],
      ["m", "minimal"],
    ],
  );
  assertEquals(
    new Set(readLines(out).slice(1).map(({ model }) => model.requested)),
    new Set(["m minimal", "m high"]),
  );
});

Deno.test("toolgate run --only runs a trial of a suite or a journal again, and tells its story", async () => {
  await using temporary = await folder();
  await using server = countingServer("sim:noisy?early=0.5&stale=0.5");
  const entry = { model: "m", name: "mine", temperature: 1 };
  const suite = temporary.write("suite.jsonc", suiteOf([entry], 3, { limits: { steps: 4 } }));
  const out = temporary.file("out.jsonl");
  const here = ["--base-url", server.url];
  const run = await toolgate(["run", suite, "--out", out, ...here]);
  assertEquals(run.code, 0, run.all);
  const before = Deno.readTextFileSync(out);
  const { id, outcome, calls } = readLines(out)[2];
  for (const file of [suite, out]) {
    const finished = await toolgate(["run", file, "--only", id, ...here]);
    assertEquals(finished.code, 0, finished.all);
    assertEquals(finished.stderr, "");
    assertMatch(finished.stdout, new RegExp(`^mine: ${outcome} after ${calls} call`));
  }
  assertEquals(Deno.readTextFileSync(out), before, "a rerun is no part of the run");

  // One trial decides nothing: no baseline is read, however it is.
  const gated = temporary.write(
    "gated.jsonc",
    suiteOf([entry], 3, { limits: { steps: 4 }, gate: { baseline: { file: suite } } }),
  );
  const alone = await toolgate(["run", gated, "--only", id, ...here]);
  assertEquals([alone.code, alone.stderr], [0, ""], alone.all);

  // The id says all of the task: one of another seed has its model, limits and options from here.
  const other = id.replace(/seed=\d+/, "seed=4711");
  const fresh = await toolgate(["run", suite, "--only", `  ${other}`, ...here]);
  assertEquals(fresh.code, 0, fresh.all);
  const gone = countingServer();
  await gone[Symbol.asyncDispose]();
  const invalid = await toolgate([
    ...["run", out, "--only", id, "--base-url", gone.url, "--retries", "0"],
  ]);
  assertEquals(invalid.code, 3, invalid.all);
  assertMatch(invalid.stdout, /^mine: invalid after 0 calls .*infrastructure: /);

  const changed = temporary.write("changed.jsonl", before.replace('"steps":4', '"steps":5'));
  const refused = await toolgate(["run", changed, "--only", id, ...here]);
  assertEquals(refused.code, 2, refused.all);
  assertMatch(
    refused.stderr,
    /changed\.jsonl, line 1 as the checksum of a line must follow from it/,
  );
});

Deno.test("toolgate gate ends with 3 when nothing can be said", async (context) => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["sim:planner"], 8));
  const [one, two, other, whole] = ["1", "2", "other", "whole"].map((name) =>
    temporary.file(`${name}.jsonl`)
  ) as [string, string, string, string];
  const runs = await toolgates([
    ["run", suite, "--shard", "1/2", "--out", one],
    ["run", suite, "--shard", "2/2", "--out", two],
    ["run", suite, "--seed", "2", "--shard", "2/2", "--out", other],
    ["run", suite, "--out", whole],
  ]);
  for (const run of runs) assertEquals(run.code, 0, run.all);
  const [plan, ...lines] = readLines(whole);
  const write = (name: string, rows: readonly unknown[]) => temporary.write(name, linesOf(rows));
  const zero = write("zero.jsonl", [plan]);
  const few = write("few.jsonl", [plan, ...lines.slice(4)]);
  const foreign = write("foreign.jsonl", [plan, ...lines, readLines(other).at(-1)]);
  const resolved = { ...plan.resolved, graphs: 7 };
  const changed = write("changed.jsonl", [{ ...plan, resolved }, ...lines]);
  const [first, ...others] = lines;
  const model = { ...first.model, served: "sim:planner-2" };
  const swapped = write("swapped.jsonl", [plan, ...others, { ...first, model }]);
  const rate = ["--success-rate", "0.6"];

  /** A folder with copies of journals. */
  const together = (name: string, ...files: readonly string[]) => {
    for (const [place, file] of files.entries()) {
      temporary.write(`${name}/${place}.jsonl`, Deno.readTextFileSync(file));
    }
    return temporary.file(name);
  };
  const good = await toolgate(["gate", together("good", one, two), ...rate]);
  assertEquals(good.code, 0, good.all);
  assertStringIncludes(good.stdout, "solved: 16 of 16 valid trials");
  const cases = [
    ["zero trials", zero, /INVALID: there are no trials/],
    ["an empty file", write("empty.jsonl", []), /INVALID: there are no trials/],
    [
      "too few trials",
      few,
      /INVALID: .*few\.jsonl lacks 4 of its 16 trials: its run was cut short/,
    ],
    ["a missing shard", one, /INVALID: .*shards are missing: 2\/2/],
    ["the same shard twice", together("twice", one, one), /INVALID: .*shard 1\/2 is there twice/],
    [
      "a foreign shard",
      together("foreign", one, other),
      /INVALID: .*different plans: they differ in seed/,
    ],
    ["a shard and a whole run", together("whole", one, whole), /INVALID: .*not shards of one run/],
    ["a foreign trial", foreign, /INVALID: .*has a trial that its plan does not have: core=/],
    ["a changed plan", changed, /INVALID: .*has a trial that its plan does not have: core=/],
    ["a changed served model", swapped, /INVALID: .*served model changed.*sim:planner-2/],
  ] as const;
  const told = await toolgates(cases.map(([, given]) => ["gate", given, ...rate]));
  for (const [place, [name, , message]] of cases.entries()) {
    await context.step(name, () => {
      const finished = told[place]!;
      assertEquals(finished.code, 3, finished.all);
      assertMatch(finished.stdout, message);
      assertNoStack(finished);
    });
  }
});

Deno.test("toolgate gate reads a torn journal, says so, and leaves it as it is", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["sim:planner"], 2));
  const out = temporary.file("out.jsonl");
  await toolgate(["run", suite, "--out", out]);
  const torn = Deno.readTextFileSync(out) + `{"v":1,"kind":"trial","id":"ü`;
  Deno.writeTextFileSync(out, torn);
  const finished = await toolgate(["gate", out, "--success-rate", "0.1"]);
  assertEquals(finished.code, 0, finished.all);
  assertEquals(
    finished.stderr,
    `Dropped a torn last line of ${out} (30 bytes)\n4 of 4 trials played again: all agree\n`,
  );
  assertEquals(Deno.readTextFileSync(out), torn);
});

Deno.test("toolgate run ends with 3 when trials are invalid, and tries these again when told", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 2));
  const out = temporary.file("out.jsonl");
  await using server = failing(400, "it is out of order", { lasts: 4 });
  const run = (...more: string[]) =>
    toolgate(["run", suite, "--base-url", server.url, "--retries", "0", "--out", out, ...more]);
  const first = await run();
  assertEquals(first.code, 3, first.all);
  assertMatch(first.stderr, /^4 trials are invalid/m);
  assertEquals(totalsIn(first), [4]);
  assertNoStack(first);

  const kept = await run("--resume");
  assertEquals(kept.code, 3, kept.all);
  assertEquals([server.requests, server.ended.size], [4, 0]);
  const again = await run("--resume", "--retry-invalid");
  assertEquals(again.code, 0, again.all);
  assertEquals(server.ended.size, 4);
  // Elsewhere another model may have this name.
  await using other = countingServer();
  const elsewhere = await toolgate([
    ...["run", suite, "--base-url", other.url, "--out", out, "--resume", "--retry-invalid"],
  ]);
  assertEquals([elsewhere.code, other.requests], [2, 0], elsewhere.all);
  assertStringIncludes(
    elsewhere.stderr,
    `it is of ${server.url}, and this run would ask ${other.url}`,
  );
  // A gate that all trials were run again for until they were valid has not seen them fail.
  const gate = await toolgate(["gate", out, "--success-rate", "0.2"]);
  assertEquals(gate.code, 3, gate.all);
  assertStringIncludes(gate.stdout, "solved: 4 of 4 valid trials");
  assertStringIncludes(gate.stdout, "4 trials run again in place of invalid ones");
});

Deno.test("toolgate run ends with one message, and nothing kept, where a model cannot be asked", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 20));
  const out = temporary.file("out.jsonl");
  const gone = countingServer();
  await gone[Symbol.asyncDispose]();
  const kinds = [
    [401, "wrong", 2, /refuses the key.*OPENAI_API_KEY/],
    [404, "The model `m` does not exist", 2, /there is no such model: check its name/],
    [404, "404 page not found", 2, /knows no such address: check http.*\/v1/],
    [402, "pay", 3, /out of credit/],
    [429, "quota", 3, /the server asks to wait 7200 seconds, too long/, { "retry-after": "7200" }],
    [undefined, "", 3, /nothing listens at 127\.0\.0\.1:\d+: start the server/],
  ] as const;
  for (const [status, message, code, advice, headers] of kinds) {
    await using server = status === undefined
      ? gone
      : failing(status, message, { headers: { ...headers } });
    const line = ["run", suite, "--out", out, "--base-url", server.url, "--retries", "0"];
    const finished = await toolgate([...line, "--concurrency", "8"]);
    assertEquals(finished.code, code, finished.all);
    assertMatch(finished.stderr, advice);
    assertEquals(finished.stderr.match(/Cannot get a reply/g)?.length, 1, finished.all);
    if (status !== undefined) assertEquals(server.requests, 1);
    assertThrows(() => Deno.statSync(out), Deno.errors.NotFound);
  }
  await using shallow = failing(404, "404 page not found");
  const lacking = shallow.url.replace("/v1", "");
  const finished = await toolgate(["run", suite, "--base-url", lacking, "--retries", "0"]);
  assertMatch(finished.stderr, /most end with \/v1, which is missing from/);
});

Deno.test("toolgate run ends where its model cannot be asked any more, and says why", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 100));
  const out = temporary.file("out.jsonl");
  await using server = failing(401, "revoked", { after: 40 });
  const line = ["run", suite, "--out", out, "--base-url", server.url, "--retries", "0"];
  const finished = await toolgate([...line, "--concurrency", "4"]);
  assertEquals(finished.code, 3, finished.all);
  assertMatch(finished.stderr, /^\d+ trials were not run: Cannot get a reply .*refuses the key/m);
  const trials = readLines(out).slice(1);
  const invalid = trials.filter(({ outcome }) => outcome === "invalid").length;
  assert(invalid >= 4 + 3 && invalid <= 2 * 4 + 3, `${invalid} of ${trials.length}`);
  assertLess(trials.length, 60);
});

Deno.test("toolgate run holds a budget where a server counts no tokens, and tells that it estimates", async () => {
  await using place = await folder();
  await using server = countingServer("sim:planner", 0, undefined, { usage: undefined });
  const suite = place.write("suite.jsonc", suiteOf(["mine"], 20));
  const [out, markdown] = ["out.jsonl", "out.md"].map((name) => place.file(name));
  const limited = ["--max-tokens", "4000", "--concurrency", "1"];
  const run = await toolgate(["run", suite, "--base-url", server.url, "--out", out!, ...limited]);
  assertEquals(run.code, 3, run.all);
  assertMatch(run.stderr, /trials were not run: the budget of 4000 tokens was reached/);
  assertMatch(run.stdout, /^Effort: tokens read ~[\d,]+, written ~\d+ \(~: tokens estimated /m);
  const trials = readLines(out!).slice(1);
  assert(trials.length > 0 && trials.length < 40, run.all);
  for (const { usage, events } of trials) {
    assert(usage.estimated && usage.inputTokens > 0 && usage.outputTokens > 0);
    assert(
      events.some(({ kind, estimated }: { kind: string; estimated?: true }) =>
        kind === "reply" && estimated
      ),
    );
  }
  const report = await toolgate(["report", out!, "--markdown", markdown!]);
  assertEquals(report.code, 0, report.all);
  assertMatch(
    Deno.readTextFileSync(markdown!),
    /tokens estimated in part.*\| ~[\d,]+ \| ~[\d,]+ \|/s,
  );
});

Deno.test("toolgate run goes on after a key was replaced, and its gate holds that against no model", async () => {
  await using temporary = await folder();
  const gate = { successRate: 0.5, margin: 0.1 };
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 40, { gate }));
  const out = temporary.file("out.jsonl");
  // It refuses the key for as many requests as it takes to end the run.
  await using server = countingServer(undefined, 0, {
    ...{ status: 401, message: "revoked", after: 100, lasts: 7 },
  });
  const line = ["run", suite, "--out", out, "--base-url", server.url, "--concurrency", "4"];
  const first = await toolgate(line);
  assertEquals(first.code, 3, first.all);
  const again = await toolgate([...line, "--resume", "--retry-invalid"]);
  assertEquals(again.code, 0, again.all);
  const decided = await toolgate(["gate", out]);
  assertEquals(decided.code, 0, decided.all);
});

Deno.test("toolgate run keeps the trials of one model where another one cannot be asked", async () => {
  await using temporary = await folder();
  await using server = countingServer();
  await using other = failing(401, "no such key");
  const models = [{ model: "a", baseURL: server.url }, { model: "b", baseURL: other.url }];
  const suite = temporary.write("suite.jsonc", suiteOf(models, 10));
  const out = temporary.file("out.jsonl");
  const finished = await toolgate(["run", suite, "--out", out, "--concurrency", "1"]);
  assertEquals(finished.code, 2, finished.all);
  const kept = readLines(out).slice(1);
  assert(kept.length > 0, finished.all);
  assertEquals([...new Set(kept.map(({ model }) => model.requested))], ["a"]);
  assertMatch(finished.stdout, /^Success by cell: a$/m);
  assertMatch(finished.stderr, /trials were not run: Cannot get a reply of b .*refuses the key/);
});

Deno.test("toolgate run never tells a key", async () => {
  await using temporary = await folder();
  const key = "sk-a-very-secret-key-0123456789";
  const chatty = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ headers }) =>
      Response.json({ error: { message: `Wrong key: ${headers.get("authorization")}` } }, {
        status: 400,
      }),
  );
  const entry = {
    model: "m",
    baseURL: `http://127.0.0.1:${chatty.addr.port}/v1`,
    apiKeyVariable: "MY_KEY",
  };
  const suite = temporary.write("suite.jsonc", suiteOf([entry], 1));
  const out = temporary.file("out.jsonl");
  const finished = await toolgate(["run", suite, "--out", out], { env: { MY_KEY: key } });
  await chatty.shutdown();
  assertEquals(finished.code, 3, finished.all);
  const journal = Deno.readTextFileSync(out);
  assertStringIncludes(journal, "Wrong key");
  assertEquals((journal + finished.all).includes(key), false);
});

Deno.test("toolgate run refuses to resume another plan, and leaves the journal as it is", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(["sim:planner"], 1));
  const out = temporary.file("out.jsonl");
  await toolgate(["run", suite, "--out", out]);
  const before = Deno.readTextFileSync(out);
  const cases = [
    [["--seed", "2"], /must be of the same plan: it differs in seed\n/],
    [["--model", "sim:noisy"], /must be of the same plan: it differs in models\n/],
    [["--shard", "1/2"], /it is of the whole run: this is shard 1\/2/],
  ] as const;
  const told = await toolgates(
    cases.map(([more]) => ["run", suite, "--out", out, "--resume", ...more]),
  );
  for (const [place, [, message]] of cases.entries()) {
    const finished = told[place]!;
    assertEquals(finished.code, 2, finished.all);
    assertMatch(finished.stderr, message);
    assertNoStack(finished);
  }
  assertEquals(Deno.readTextFileSync(out), before);
});

Deno.test("toolgate takes files relative to where the user stands", async () => {
  await using temporary = await folder();
  const gated = { gate: { successRate: 0.1 } };
  temporary.write("suite.jsonc", suiteOf(["sim:planner"], 1, gated));
  const place = { cwd: temporary.path };
  const task = ["task", `--config=${ROOT}/deno.json`, "toolgate"];
  const line = ["run", "suite.jsonc", "--out", "results/out.jsonl"];
  const run = await deno([...task, ...line], place);
  assertEquals(run.code, 0, run.all);
  assertEquals(idsOf(temporary.file("results/out.jsonl")).length, 2);
  // No task of that folder has the name.
  assertMatch(run.stderr, /^To decide: deno run -A \S+\/main\.ts gate results\/out\.jsonl$/m);
  const gate = await toolgate(["gate", "results/out.jsonl"], place);
  assertEquals(gate.code, 0, gate.all);
  const absolute = await toolgate(["gate", temporary.file("results/out.jsonl")]);
  assertEquals(absolute.stdout, gate.stdout);
});

// Runs that do not reach their end

Deno.test("toolgate run loses no trial and repeats none when it is killed, and refuses a journal that another one writes", async () => {
  const seed = 20_260_712n;
  const prng = randomSeeded(seed);
  const message = `seed ${seed}`;
  const concurrency = 4;
  const trials = 48;
  await using temporary = await folder();
  await using server = countingServer("sim:planner", 10);
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], trials / 2));
  const out = temporary.file("out.jsonl");
  const arguments_ = [
    ...["run", suite, "--base-url", server.url, "--out", out],
    ...["--concurrency", String(concurrency)],
  ];
  /** The prompts of the trials that the journal has; a torn last line does not count. */
  const kept = () =>
    new Set(
      Deno.readTextFileSync(out).split("\n").slice(1, -1).map((line) => JSON.parse(line))
        .filter(({ kind }) => kind === "trial").map(({ task }) => generateTask(task).prompt),
    );
  let doneBefore = new Set<string>();
  for (let kill = 0; kill < 2; kill++) {
    const begunBefore = new Map(server.begun);
    const child = begin(kill === 0 ? arguments_ : [...arguments_, "--resume"]);
    await server.reached(server.requests + randomIntegerBetween(5, 45, { prng }));
    const second = await toolgate([...arguments_, "--resume"]);
    assertEquals(second.code, 2, second.all);
    assertMatch(second.stderr, /another run/);
    assertNoStack(second);
    child.process.kill("SIGKILL");
    await child.finished;
    const done = kept();
    assert([...doneBefore].every((prompt) => done.has(prompt)), `a trial is lost: ${message}`);
    assert(done.size < trials, `kill ${kill} came too late: ${message}`);
    for (const prompt of doneBefore) {
      assertEquals(server.begun.get(prompt), begunBefore.get(prompt), `run twice: ${message}`);
    }
    const begunNow = [...server.begun].filter(([prompt, count]) =>
      count > (begunBefore.get(prompt) ?? 0)
    );
    const inFlight = begunNow.filter(([prompt]) => !done.has(prompt));
    assertLessOrEqual(inFlight.length, concurrency, message);
    doneBefore = done;
    // A kill seldom tears a line; this does.
    if (kill === 1) {
      Deno.writeTextFileSync(out, `{"v":1,"kind":"trial","id":"co`, { append: true });
    }
  }
  const begunBefore = new Map(server.begun);
  const last = await toolgate([...arguments_, "--resume"]);
  assertEquals(last.code, 0, `${message}\n${last.all}`);
  assertMatch(last.stderr, /^Dropped a torn last line of .*out\.jsonl \(30 bytes\)$/m);
  assertStringIncludes(last.stderr, `${doneBefore.size} of ${trials} trials are in ${out} already`);
  for (const prompt of doneBefore) {
    assertEquals(server.begun.get(prompt), begunBefore.get(prompt), `run twice: ${message}`);
  }
  assertLessOrEqual(server.trials, trials + 2 * concurrency, message);
  const ids = idsOf(out);
  assertEquals(ids.length, trials, message);
  assertEquals(new Set(ids).size, trials, message);
  assertEquals(server.begun.size, trials, message);
  assertEquals(totalsIn(last), [trials], message);
});

Deno.test("toolgate simulate serves over HTTP until it is told to end", async () => {
  const process = command(Deno.execPath(), [...LAUNCH, "simulate", "--port", "0"]).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /^Simulated models at (http:\/\/127\.0\.0\.1:\d+\/v1): sim:planner/.exec(value)?.[1];
  assert(url !== undefined, value);
  const models = await (await fetch(`${url}/models`)).json();
  assertEquals(models.data[0].id, "sim:planner");
  const answer = await (await fetch(`${url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      model: "sim:planner",
      messages: [{ role: "user", content: "The value of variable a, please.\nVariable a = 4" }],
    }),
  })).json();
  assertEquals(answer.choices[0].message.content, "a = 4");
  process.kill("SIGTERM");
  assertEquals((await process.status).success, false);
  assertEquals(await new Response(process.stderr).text(), "");
  await reader.cancel();
});
