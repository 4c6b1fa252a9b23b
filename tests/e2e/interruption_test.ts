// Runs against servers that limit how much they are asked, and runs that are asked to end: in child
// processes, as users have them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { finish, Progress } from "../../lib/cli/running.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { Run } from "../../lib/runs/run.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import {
  beginToolgate,
  deno,
  type Finished,
  type Folder,
  folder,
  readLines,
  ROOT,
  start,
} from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { type LimitingServer, limitingServer } from "../support/limiting_server.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const TRIALS = 40;

function suiteOf(graphs: number): string {
  const tasks = [{ core: 4, depth: 2 }];
  return JSON.stringify({ name: "limited", seed: 1, graphs, tasks, models: ["m"] });
}

/** A file of tests with a benchmark of this many trials, and what stands before it. */
function benchmarkOf(server: LimitingServer, graphs: number, before = "", more = {}): string {
  return `import { benchmark } from ${MOD};
${before}
benchmark("limited", {
  model: "m",
  baseURL: ${JSON.stringify(server.url)},
  tasks: { core: 4, depth: 2 },
  seed: 1,
  graphs: ${graphs},
  gate: { successRate: 0.5, margin: 0.2 },
  concurrency: 32,
  ...${JSON.stringify(more)},
});`;
}

/** The arguments of `deno test` for a file of a folder. */
function testing(temporary: Folder, file: string): string[] {
  return [
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, "--allow-read"],
    ...["--allow-net=127.0.0.1", "--allow-env", `--allow-write=${temporary.path}`],
    file,
  ];
}

/** The trials of a whole journal, whose plan is its first line. */
// deno-lint-ignore no-explicit-any
function trialsIn(path: string): any[] {
  assert(Deno.readTextFileSync(path).endsWith("\n"), "the journal is torn");
  const [plan, ...trials] = readLines(path);
  assertEquals(plan.kind, "plan");
  assertEquals(new Set(trials.map(({ id }) => id)).size, trials.length);
  assertEquals(trials.map(({ outcome }) => outcome), trials.map(() => "solved"));
  return trials;
}

/** Waits until a server has begun to refuse all requests, and its client knows it. */
async function allWait(server: LimitingServer): Promise<void> {
  await server.until(() => server.refused > 0 && server.replied === server.limits.replies);
  await new Promise((resolve) => setTimeout(resolve, 150));
}

/** How many trials the tables of a run have. */
function totalIn({ stdout }: Finished): number {
  return [...stdout.matchAll(/^core 4, .*? {2,}(\d+) {2}/gm)].reduce(
    (sum, one) => sum + +one[1]!,
    0,
  );
}

/** A resumed run has all trials, and runs none again that had ended. */
async function assertCompletes(
  kept: readonly { readonly task: Parameters<typeof generateTask>[0] }[],
  server: LimitingServer,
  resume: () => Promise<Finished>,
  path: string,
): Promise<Finished> {
  server.limits.replies = Infinity;
  const before = new Map(server.begun);
  const finished = await resume();
  assertEquals(finished.code, 0, finished.all);
  assertEquals(trialsIn(path).length, TRIALS);
  for (const { task } of kept) {
    const { prompt } = generateTask(task);
    assertEquals(server.begun.get(prompt), before.get(prompt), "a trial was run twice");
  }
  assertEquals(server.begun.size, TRIALS);
  return finished;
}

Deno.test("finish() keeps all that has ended when a run is interrupted, in whatever order", async () => {
  const tasks = [{ core: 2, depth: 1 }];
  const plan = planSuite({ name: "s", seed: 1, graphs: 6, tasks, models: ["shrug"] });
  const interruption = new AbortController();
  using run = new Run(plan, {
    signal: interruption.signal,
    concurrency: 3,
    connect: ({ model }) =>
      scripted(model, async ({ context }) => {
        const place = plan.trials.findIndex(({ id }) => id === context.trial);
        // The second one never ends, and the last one is the last thing that happens.
        if (place === 1) await new Promise(() => {});
        if (place === 5) interruption.abort(new Error("the run was interrupted"));
        return { text: "I cannot tell." };
      }),
  });
  const progress = new Progress(plan, { isTerminal: false, width: () => 80, write() {} });
  const { finished } = await finish(run, progress, interruption.signal);
  const ended = [0, 2, 3, 4].map((place) => plan.trials[place]!.id);
  assertEquals(finished.map(({ id }) => id), ended);
});

Deno.test("toolgate run slows down to what a server allows, and no trial is invalid", async () => {
  await using temporary = await folder();
  await using server = limitingServer({
    ...{ atOnce: 3, latency: 1 },
    headers: { "retry-after-ms": "10" },
  });
  const suite = temporary.write("suite.jsonc", suiteOf(TRIALS));
  const out = temporary.file("out.jsonl");
  const finished = await toolgate([
    ...["run", suite, "--base-url", server.url, "--out", out, "--concurrency", "32"],
    ...["--retries", "1"],
  ]);
  assertEquals(finished.code, 0, finished.all);
  assertEquals(trialsIn(out).length, TRIALS);
  assertEquals([server.mostAtOnce, server.replied >= 4 * TRIALS], [3, true]);
  // The run says once that it slows down, and once how much.
  const told = finished.stderr.split("\n").filter((line) => line.startsWith("m at 127.0.0.1"));
  assertEquals(told.length, 2, finished.all);
  assertMatch(told[0]!, /\(429\), and asks to wait 0.1 seconds: slowing down$/);
  assertMatch(
    told[1]!,
    new RegExp(`refused ${server.refused} requests; requests waited [\\d.]+ s`),
  );
});

Deno.test("toolgate run, told by SIGINT to end while all requests wait, ends cleanly", async () => {
  await using temporary = await folder();
  await using server = limitingServer({
    replies: 100,
    headers: { "retry-after": "90" },
    latency: 5,
  });
  const suite = temporary.write("suite.jsonc", suiteOf(TRIALS));
  const out = temporary.file("out.jsonl");
  const arguments_ = [
    ...["run", suite, "--base-url", server.url, "--out", out, "--concurrency", "32"],
  ];
  const child = beginToolgate(arguments_);
  await allWait(server);
  child.process.kill("SIGINT");
  const finished = await child.finished;
  assertEquals(finished.code, 3, finished.all);
  const kept = trialsIn(out);
  assert(kept.length > 0 && kept.length < TRIALS, finished.all);
  assertStringIncludes(
    finished.stdout,
    `Interrupted: figures are of ${kept.length} of ${TRIALS} trials\n`,
  );
  assertEquals(totalIn(finished), kept.length, finished.all);
  assertMatch(finished.stderr, new RegExp(`^${TRIALS - kept.length} trials were not run$`, "m"));
  assertStringIncludes(finished.stderr, "continue with the same command and --resume");
  assertStringIncludes(finished.stderr, "asks to wait 90 seconds: slowing down");
  const resume = () => toolgate([...arguments_, "--resume"]);
  assertEquals(totalIn(await assertCompletes(kept, server, resume, out)), TRIALS);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`deno test, told by ${signal} to end while all requests wait, keeps what has ended`, async () => {
    await using temporary = await folder();
    await using server = limitingServer({
      replies: 100,
      headers: { "retry-after": "90" },
      latency: 5,
    });
    const [out, over, report] = ["out.jsonl", "over.md", "report.md"].map(temporary.file) as [
      ...[string, string, string],
    ];
    const before = `benchmark("over", {
  ...{ model: "sim:planner", tasks: { core: 2, depth: 1 }, seed: 1, report: ${
      JSON.stringify(over)
    } },
  gate: { successRate: 0.7, margin: 0.4, sequential: true },
});`;
    const text = benchmarkOf(server, TRIALS, before, { journal: out, report });
    const file = temporary.write("limited_test.ts", text);
    const child = start(Deno.execPath(), testing(temporary, file));
    await allWait(server);
    child.process.kill(signal);
    const { code, stdout, all } = await child.finished;
    const kept = trialsIn(out);
    assert(kept.length > 0 && kept.length < TRIALS, all);
    // To SIGINT the runner of tests ends at once, before any listener is called.
    assertEquals(code, signal === "SIGTERM" ? 3 : 130, all);
    if (signal === "SIGINT") return;
    assert(!stdout.includes("FAILED"), all);
    assertStringIncludes(
      all,
      `limited: interrupted: ${kept.length} of ${TRIALS} trials; ` +
        "to continue, the same command with --resume",
    );
    // Of a benchmark that was over nothing of the kind is said.
    assertEquals(all.match(/^\w+: interrupted/gm), ["limited: interrupted"], all);
    assertMatch(
      Deno.readTextFileSync(over),
      /\d+ planned trials were not needed: the gate had decided/,
    );
    assertStringIncludes(
      Deno.readTextFileSync(report),
      `${TRIALS - kept.length} of ${TRIALS} planned trials were not run: the run was interrupted`,
    );
  });
}

Deno.test("limits by the minute hold for all requests of a run, and it ends while it waits", async () => {
  await using temporary = await folder();
  const suite = temporary.write("suite.jsonc", suiteOf(TRIALS));
  await using server = limitingServer({});
  const run = beginToolgate(["run", suite, "--base-url", server.url, "--requests-per-minute=7"]);
  await server.until(() => server.replied >= 7);
  // Eight of them wait at the same time.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  run.process.kill("SIGTERM");
  const ran = await run.finished;
  assertEquals([ran.code, server.replied], [3, 7], ran.all);
  assertMatch(ran.stderr, /were delayed by the given rate limits; requests waited/);
  assertStringIncludes(ran.stderr, "nothing is kept, as it ran without --out");
  // Tokens of replies count once these are there, and a test holds the limit as a command does.
  await using other = limitingServer({});
  const file = temporary.write("limited_test.ts", benchmarkOf(other, TRIALS));
  const own = ["--", "--tokens-per-minute=1"];
  const test = start(Deno.execPath(), [...testing(temporary, file), ...own]);
  await other.until(() => other.replied >= 1);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  test.process.kill("SIGTERM");
  const tested = await test.finished;
  assertEquals([tested.code, other.replied], [3, 1], tested.all);
});

Deno.test("deno test, told to end during a test of the user's own, ends when that has", async () => {
  await using temporary = await folder();
  await using server = limitingServer({});
  // Sanitizers are off by default, and on in the project's own settings.
  const own = `const bare = { sanitizeOps: false, sanitizeResources: false };
Deno.test("own", bare, async () => {
  await fetch(${JSON.stringify(server.url)}, { method: "POST", body: '{"messages":[{},{}]}' })
    .then((response) => response.body?.cancel());
  await new Promise((resolve) => setTimeout(resolve, 400));
});`;
  const file = temporary.write("limited_test.ts", benchmarkOf(server, 3, own));
  const child = start(Deno.execPath(), testing(temporary, file));
  await server.until(() => server.replied > 0);
  child.process.kill("SIGTERM");
  const { code, stdout, all } = await child.finished;
  assertEquals(code, 3, all);
  assertMatch(stdout, /^own \.\.\. ok/m);
});

Deno.test("deno test, told to end before its first test is over, reports what has ended", async () => {
  await using temporary = await folder();
  const report = temporary.file("r.md");
  const file = temporary.write(
    "own_test.js",
    `import { benchmark } from ${MOD};
const usage = { inputTokens: 1, outputTokens: 1 };
const end = { text: "No.", calls: [], finish: "stop", usage, served: "m", duration: 1, repairs: [] };
let first;
const reply = ({ context: { trial } }) => {
  first ??= trial;
  if (trial === first) return Promise.resolve(end);
  Deno.kill(Deno.pid, "SIGTERM");
  return new Promise(() => {});
};
benchmark("own", {
  ...{ model: { name: "m", simulated: false, reply }, tasks: { core: 3, depth: 2 }, seed: 1, graphs: 3 },
  ...{ gate: { successRate: 0.5, margin: 0.45 }, report: ${JSON.stringify(report)} },
});`,
  );
  const { code, all } = await deno([
    ...["test", "-A", "--no-check", `--config=${ROOT}/deno.json`, "--filter=> gate", file],
  ]);
  assertEquals(code, 3, all);
  assertMatch(all, /^own: interrupted: 1 of 3 trials; nothing is kept, as it has no journal/m);
  const text = Deno.readTextFileSync(report);
  assertMatch(text, /2 of 3 planned trials were not run/);
  assertMatch(text, /<code>rerun: .*own_test/);
});

Deno.test("deno test fails where code under test ends the process", async () => {
  await using temporary = await folder();
  const file = temporary.write(
    "leaving_test.ts",
    `import { scripted, toolTest } from ${MOD};
toolTest("leaves", {
  model: scripted("script", () => ({ calls: [{ name: "leave", arguments: {} }] })),
  prompt: "Leave",
  tools: [{
    name: "leave",
    description: "Leaves",
    parameters: { type: "object", properties: {} },
    execute: () => Deno.exit(0),
  }],
  assert() {},
});`,
  );
  const { code, all } = await deno(testing(temporary, file));
  assertEquals(code, 1, all);
  assertStringIncludes(all, "The process was ended while trials were under way");
});
