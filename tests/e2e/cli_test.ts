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
  folder,
  LAUNCH,
  readLines,
  ROOT,
  shell,
} from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { sayingServer } from "../support/saying_server.ts";

const QUICK = `${ROOT}/fixtures/suites/quick.jsonc`;

/** A suite of `graphs` graphs in each of two cells. */
function suiteOf(models: unknown, graphs: number, more: Record<string, unknown> = {}): string {
  const tasks = [{ core: [3, 4], depth: 2, connected: 1 }];
  return JSON.stringify({ name: "small", seed: 1, graphs, tasks, models, ...more }, null, 2);
}

/** A server that answers with an error, after this many requests. */
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

Deno.test("toolgate generate gives the same bytes for the same seed alone", async () => {
  const beginnings = {
    json: /^\{/,
    tools: /^\[/,
    dot: /^digraph /,
    svg: /^(<\?xml|<svg)/,
  };
  const formats = Object.keys(beginnings);
  const [ones, agains, others] = await Promise.all(
    ["5", "5", "6"].map((seed) =>
      toolgates(
        formats.map((format) => ["generate", ...SPEC, "--seed", seed, "--format", format]),
      )
    ),
  );
  for (const [place, format] of formats.entries()) {
    assertEquals(ones![place]!.code, 0, ones![place]!.all);
    assertMatch(ones![place]!.stdout, Object.values(beginnings)[place]!);
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
        { case: "all" },
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
  const graph: string = ids.find((id) => id.startsWith("core="));
  const ofCase = (name: string) => graph.replace(/core=.* model/, `case=${name} seed=1 model`);
  for (
    const [line, message] of [
      [[graph, "--core", "4"], /--trial cannot be used with --core/],
      [[ofCase("mine")], /of a test of your own: it is c/],
      [
        [ofCase("oracle"), "--format", "dot"],
        /--format must be json or tools for a task without a/,
      ],
    ] as const
  ) {
    const refused = await toolgate(["generate", "--trial", ...line]);
    assertEquals(refused.code, 2, refused.all);
    assertMatch(refused.stderr, message);
  }
});

Deno.test("toolgate generate ends quietly when nobody reads on", async () => {
  const command = ["deno", ...LAUNCH, "generate", "--core", "50", "--depth", "9"].join(" ");
  assertNoStack(await shell(`${command} | true`));
});

// Bad input

// run and gate

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
  await using server = sayingServer([{ text: "I cannot tell." }]);
  await using temporary = await folder();
  const prices = { m: { input: 1, output: 1 } };
  const suite = temporary.write("suite.jsonc", suiteOf(["m"], 1, { prices }));
  const out = temporary.file("out.jsonl");
  const run = (...more: string[]) => toolgate(["run", suite, "--base-url", server.url, ...more]);
  const asked = () => server.asked.map(({ body }) => [body["model"], body["reasoning_effort"]]);
  const one = await run("--reasoning-effort", "low");
  assertEquals(one.code, 0, one.all);
  assertEquals(asked(), [["m", "low"], ["m", "low"]]);
  assertMatch(one.stdout, /^Success by cell: m$/m);
  const efforts = ["--reasoning-effort", "minimal", "--reasoning-effort", "high"];
  const two = await run(...efforts, "--max-usd", "1", "--out", out);
  assertEquals(two.code, 0, two.all);
  assertEquals(asked().slice(2).map(([, effort]) => effort).sort(), [
    ...["high", "high", "minimal", "minimal"],
  ]);
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
    [402, "pay", 3, /has no credit left/],
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
