// Benchmarks as users run them: `deno test` on the files of fixtures/benchmarks, in child processes. A process
// takes longer to start than most benchmarks take, so that those that need no flags share one.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { benchmark } from "../../lib/testing/benchmark.ts";
import type { StageUse } from "../../lib/models/model.ts";
import {
  type CountingServer,
  countingServer,
  deno,
  type Finished,
  folder,
  readLines,
  ROOT,
  shell,
  unwrapped,
} from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { junit } from "../support/xml.ts";

/** So weak that no gate of the fixtures lets it pass, but not without a success. */
const WEAK = "sim:noisy?quit=0.5";
/** Trials of fixtures/benchmarks/own_server.ts. */
const TRIALS = 12;
const GATE = "own server > gate";
/** The project as files outside of it import it, and how such a file is run. */
const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const ELSEWHERE = [
  ...["test", "--no-check", "--no-prompt", "--config=deno.json", "--allow-net=127.0.0.1"],
];

const place = await folder();
/** The server of the usual run of a weak model. */
const weakServer = countingServer(WEAK);
Deno.test.afterAll(async () => {
  await weakServer[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});
const FILES = [`--allow-read=${place.path}`, `--allow-write=${place.path}`];

interface RunOptions {
  readonly server?: CountingServer;
  /** Flags of `deno test`. */
  readonly flags?: readonly string[];
  /** Flags behind `--`. */
  readonly own?: readonly string[];
}

/** Runs benchmark files, those of fixtures/benchmarks by name. */
function run(names: string | readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { server, flags = [], own = [] } = options;
  return deno([
    ...ELSEWHERE,
    ...["--allow-env=TOOLGATE_SERVER", ...FILES, ...flags],
    ...[names].flat().map((name) => name.startsWith("/") ? name : `fixtures/benchmarks/${name}.ts`),
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], server === undefined ? {} : { env: { TOOLGATE_SERVER: server.url } });
}

/** The lines that say what the gate decided. */
function verdictsOf(text: string): string[] {
  const lines = unwrapped(text).split("\n")
    .map((line) => line.replace(/^error: AssertionError: /, ""));
  const verdict = /: (PASS|FAIL|UNDECIDED|INVALID): /;
  return [...new Set(lines.filter((line) => verdict.test(line)))];
}

/** What a test printed. */
function outputOf({ stdout, all }: Finished, test: string): string {
  const begin = `\n${test} ...\n------- output -------\n`;
  assertStringIncludes(stdout, begin, all);
  return stdout.split(begin)[1]!.split("----- output end -----")[0]!;
}

/** The names of failed tests, as the summary lists them. */
function failedIn({ stdout }: Finished): string[] {
  const list = stdout.split("\n FAILURES \n")[1] ?? "";
  return [...list.matchAll(/^(.+) => /gm)].map(([, name]) => name!);
}

/** The rerun line of each failed case, by the case's name; and the story in front of it. */
function storiesIn({ stdout }: Finished): { story: string; rerun: string }[] {
  const errors = stdout.split("\n ERRORS \n")[1] ?? "";
  return [
    ...errors.matchAll(
      /^error: AssertionError: (The task is not solved\..*?)\nrerun: ([^\n]*)$/gms,
    ),
  ]
    .map(([, story, rerun]) => ({ story: story!, rerun: rerun! }));
}

/** Work whose result several tests look at: it is done when the first of them asks. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => result ??= work();
}

/** Many benchmarks in one file. */
const many = once(async () => {
  const fixtures = ["weak", "two_models", "own_agent"];
  const file = place.write(
    "many.ts",
    `// @ts-nocheck: a user may write no types.
${fixtures.map((name) => `import "file://${ROOT}/fixtures/benchmarks/${name}.ts";`).join("\n")}
import { benchmark, scripted } from ${MOD};
benchmark("reminders", {
  model: "sim:noisy?memory=10",
  tasks: { core: 10, depth: 6 },
  strategies: ["plain", "restate"],
  seed: 1,
  graphs: 10,
  gate: { baseline: { strategy: "plain" }, margin: 0.1 },
  journal: ${JSON.stringify(place.file("reminders.jsonl"))},
});
// Always does what the tool says.
const follower = scripted("follower", ({ messages, tools, context }) => {
  if (context.stage === "plan") return { text: "I ask the tool." };
  const result = messages.findLast(({ role }) => role === "tool");
  const [parameter] = Object.keys(tools[0].parameters.properties);
  const name = messages[0].content.includes("option = number") ? "option" : "result";
  return result === undefined
    ? { text: "Now.", calls: [{ name: tools[0].name, arguments: { [parameter]: "6 * 7" } }] }
    : { text: name + " = " + result.content };
});
benchmark("probes", {
  model: follower,
  tasks: [{ case: ["lying_calculator", "oracle"] }, { case: "mental_arithmetic" }],
  seed: 1,
  graphs: 1,
  strategies: ["plain", { strategy: "plan_then_call", name: "planned" }],
});
benchmark("stages", {
  model: "sim:planner",
  tasks: { core: 3, depth: 1 },
  seed: 1,
  graphs: 2,
  strategies: [{
    strategy: "plan_then_call",
    models: { plan: scripted("my planner", () => ({ text: "1. Call all of them." })) },
  }],
  journal: ${JSON.stringify(place.file("stages.jsonl"))},
});
`,
  );
  const report = place.file("many.xml");
  const finished = await run(file, { flags: [`--junit-path=${report}`] });
  assertEquals(finished.code, 1, finished.all);
  const { cases, failed } = junit(report);
  assertEquals(new Set(cases).size, cases.length, "names of cases must differ");
  assertEquals(failedIn(finished), failed);
  /** The cases of a benchmark, and those that failed. */
  const of = (name: string) =>
    [cases, failed].map((names) =>
      names.filter((one) => one.startsWith(`${name} > `)).map((one) =>
        one.slice(name.length + " > ".length)
      )
    ) as [cases: string[], failed: string[]];
  return { finished, of };
});

Deno.test("benchmark() fails through its gate alone when the model is too weak", async () => {
  const { finished, of } = await many();
  const [cases, failed] = of("weak");
  assertEquals([cases.length, failed], [17, ["gate"]]);
  assertMatch(outputOf(finished, "weak > gate"), /FAIL: the true success rate is below/);
  // What is not solved is reported in its case, on one line.
  assertMatch(
    finished.stdout,
    /^ {2}not solved: no_answer after \d calls?, said "I stop here, .*" \.\.\. ignored /m,
  );
  assertStringIncludes(finished.stdout, "(simulated: a program, no language model)");
});

Deno.test("benchmark() judges each model, and the worst verdict counts", async () => {
  const { finished, of } = await many();
  assertEquals(of("two models")[1], ["gate"]);
  const verdicts = verdictsOf(outputOf(finished, "two models > gate"));
  assertEquals(verdicts.map((line) => /: ([A-Z]+): /.exec(line)![1]), ["PASS", "FAIL"]);
});

Deno.test("benchmark() runs each strategy on the same graphs, and its gate compares them", async () => {
  const { finished, of } = await many();
  const [cases, failed] = of("reminders");
  assertEquals([cases.length, failed], [21, []]);
  const output = outputOf(finished, "reminders > gate");
  assertMatch(verdictsOf(output).join("\n"), /sim:noisy\?memory=10 \+ restate.*: PASS: [^\n]*$/);
  // Beneath the verdict.
  assertMatch(
    output,
    /: PASS: [^]*\nPairs compared\n\(each [^)]*\)\n[^]*?\nsim:noisy\?memory=10 \+ restate \(simulated\) +plain +10 /m,
  );
  const trials = readLines(place.file("reminders.jsonl")).slice(1);
  const ofStrategy = (strategy: string) => trials.filter((trial) => trial.strategy === strategy);
  assertEquals([trials.length, ofStrategy("plain").length, ofStrategy("restate").length], [
    20,
    10,
    10,
  ]);
  for (const { id, strategy } of trials) assertStringIncludes(id, ` strategy=${strategy} `);
  const seeds = (strategy: string) => new Set(ofStrategy(strategy).map(({ task }) => task.seed));
  assertEquals(seeds("restate"), seeds("plain"));
});

Deno.test("benchmark() runs an agent of the user's own", async () => {
  const { finished, of } = await many();
  assertEquals(of("own agent")[1], []);
  const output = outputOf(finished, "own agent > gate");
  assertMatch(verdictsOf(output).join("\n"), /^methodical: PASS: /);
  assertStringIncludes(output, "\n  solved: 10 of 10 valid trials");
});

Deno.test("benchmark() runs probes and strategies with options as cases, and runs them again", async () => {
  const { finished, of } = await many();
  // The sum of the numbers is not 42.
  const [cases, failed] = of("probes");
  const models = ["follower", "follower + planned"];
  assertEquals(
    cases,
    ["lying_calculator", "oracle", "mental_arithmetic"].flatMap((probe) =>
      models.map((model) => `case ${probe}, graph 1, ${model}`)
    ),
  );
  assertEquals(failed, models.map((model) => `case mental_arithmetic, graph 1, ${model}`));
  const stories = storiesIn(finished);
  assertEquals(stories.length, 2);
  for (const name of ["follower (simulated)", "follower + planned (simulated)"]) {
    assert(stories.some(({ story }) => story.includes(`${name}: wrong_answer`)), name);
  }
  const planned = stories.find(({ story }) => story.includes("stage plan"))!;
  assertStringIncludes(planned.rerun, "strategy=planned");
  const again = await shell(planned.rerun);
  assertEquals([again.code, storiesIn(again)], [1, [planned]], again.all);
});

Deno.test("benchmark() takes models of one's own for stages", async () => {
  const { of } = await many();
  assertEquals(of("stages")[1], []);
  const trials: { stages: StageUse[] }[] = readLines(place.file("stages.jsonl")).slice(1);
  assertEquals(
    trials.map(({ stages }) => stages.map(({ stage, model }) => [stage, model.requested])),
    [[["plan", "my planner"]], [["plan", "my planner"]]],
  );
});

/** The usual run of a model that passes, and of one that does not. */
const usual = {
  planner: once(async () => {
    const report = place.file("planner.xml");
    await using server = countingServer();
    const finished = await run("own_server", { server, flags: [`--junit-path=${report}`] });
    return { finished, ...junit(report), trials: server.trials };
  }),
  weak: once(async () => {
    return { finished: await run("own_server", { server: weakServer }) };
  }),
};

Deno.test("benchmark() passes with a good model", async () => {
  const { finished, cases, failed, trials } = await usual.planner();
  assertEquals(finished.code, 0, finished.all);
  assertEquals(cases.length, TRIALS + 1);
  assertEquals(new Set(cases).size, cases.length, "names of cases must differ");
  assertEquals([failed, failedIn(finished)], [[], []]);
  assertMatch(verdictsOf(finished.stdout).join("\n"), /^my-model: PASS: /);
  assertEquals(trials, TRIALS);
});

Deno.test("benchmark() runs the same trials to the same verdict in every order", async () => {
  const { finished: whole } = await usual.weak();
  await using server = countingServer(WEAK, 2);
  const finished = await run("own_server", {
    server,
    // Only what fails is tried again, and only there does an order show.
    flags: ["--shuffle=4", "--retry=3", "--repeats=2"],
    own: ["--concurrency=2"],
  });
  assertEquals(finished.code, 1, finished.all);
  assertEquals(failedIn(finished), [GATE], finished.all);
  const verdicts = verdictsOf(finished.stdout);
  assertEquals([verdicts.length, verdicts], [1, verdictsOf(whole.stdout)], finished.all);
  assertEquals([server.begun.size, server.trials], [TRIALS, TRIALS], "a trial was run twice");
  assertEquals(server.mostAtOnce, 2);
});

Deno.test("benchmark() without a gate fails each unsolved case with its story, and tells a fresh seed, which repeats all of it (FuncBenchGen 3.2)", async () => {
  // A fresh seed may be lucky; three of that luck are next to impossible.
  let finished = await run("strict");
  for (let more = 0; more < 2 && finished.code === 0; more++) finished = await run("strict");
  assertEquals(finished.code, 1, finished.all);
  assertEquals(finished.stdout.includes("> gate"), false, "there is a gate");
  const stories = storiesIn(finished);
  assertEquals(stories.length, failedIn(finished).length, finished.all);
  for (const { story, rerun } of stories) {
    assertMatch(story, /\(simulated\): \w+ after \d+ calls \(fewest 5\); /);
    assertMatch(story, /\nfirst root failure: call \d+ \(step \d+\) func_\w+: \w+: /);
    assertMatch(story, /\n {2}1\. step 1 func_\w+\(.*\) -> /);
    assertMatch(story, /\n {2}said "/);
    assertMatch(rerun, /^deno test .*fixtures\/benchmarks\/strict\.ts -- --only='core=5 /);
  }
  // One of them, pasted as it is printed.
  const { story, rerun } = stories.at(-1)!;
  const again = await shell(rerun);
  assertEquals(again.code, 1, again.all);
  assertStringIncludes(again.stdout, "running 1 test from");
  assertEquals(failedIn(again).length, 1, again.all);
  assertEquals(storiesIn(again), [{ story, rerun }]);
  const [, seed] = /strict: fresh seed (\d+); add {2}-- --seed=\1 /.exec(finished.stdout) ?? [];
  assert(seed !== undefined, finished.all);
  const flags = ["--retry=3", "--repeats=2"];
  const whole = await run("strict", { flags, own: [`--seed=${seed}`] });
  assertEquals(whole.code, 1, whole.all);
  assertMatch(whole.stdout, /^all +6 /m, "a case was counted twice");
  assertEquals(storiesIn(whole), stories, `seed ${seed}`);
});

Deno.test("benchmark() reruns one trial of a gated file with its story, and leaves the gate out", async () => {
  const { finished } = await usual.weak();
  const rerun = /^ {4}rerun: (.*)$/m.exec(finished.stdout)![1]!;
  await using fresh = countingServer(WEAK);
  // The line has the variable that the file reads its server from.
  const line = rerun.replace(weakServer.url, fresh.url);
  assertStringIncludes(line, `TOOLGATE_SERVER=${fresh.url} deno test `);
  const again = await shell(line);
  // Anyone who reruns wants the story, so here the case itself fails.
  assertEquals(again.code, 1, again.all);
  assertMatch(again.stdout, /0 passed \| 1 failed \| 1 ignored/);
  assertEquals(storiesIn(again).map((one) => one.rerun), [line]);
  assertEquals(fresh.trials, 1);
});

const good = `model: "sim:planner", tasks: { core: 3, depth: 2 }, seed: 1`;

Deno.test("benchmark() fails where a gate is required and --filter leaves it out", async () => {
  const gated = (name: string, more = "") =>
    `benchmark("${name}", { ${good}, gate: { successRate: 0.1, margin: 0.05 }${more} });\n`;
  const head = `import { benchmark } from ${MOD};\n`;
  const asked = place.write(
    "asked.ts",
    `${head}benchmark("open", { ${good} });\n${gated("one")}${gated("two")}`,
  );
  const coded = place.write("coded.ts", head + gated("three", ", requireGate: true"));
  const left = await run([asked, coded], {
    flags: ["--filter", "open > core"],
    own: ["--require-gate"],
  });
  assertEquals(left.code, 1, left.all);
  for (const name of ["one", "two", "three"]) {
    assertStringIncludes(left.all, `${name}: the gate did not run: nothing was decided`);
  }
  assertMatch(left.all, /AssertionError: The gates of these benchmarks did not run: two, one/);
  // Files that run side by side are kept apart.
  const decided = await run([asked, coded], { flags: ["--parallel"], own: ["--require-gate"] });
  assertEquals(decided.all.includes("the gate did not run"), false, decided.all);
  const gates = [...decided.stdout.matchAll(/(\w+) > gate \.\.\. ok/g)].map(([, name]) => name);
  assertEquals(gates.sort(), ["one", "three", "two"], decided.all);
});

Deno.test("benchmark() runs eight trials at a time, and never more", async () => {
  await using server = countingServer("sim:planner", 10);
  const { code, all } = await CollectedTests.of(() =>
    benchmark("many", {
      model: { model: "slow-model", baseURL: server.url },
      ...{ tasks: { core: 1, depth: 0 }, graphs: 50, seed: 1, concurrency: 8 },
      gate: { successRate: 0.7, margin: 0.2 },
    })
  ).run();
  assertEquals([code, server.trials, server.mostAtOnce], [0, 50, 8], all);
});

Deno.test("benchmark() says once why its model cannot be asked any more, and nothing passes that did not run", async () => {
  for (
    const [filter, gate] of [
      [() => true, {}],
      [(name: string) => /graph ([1-6]|3\d),/.test(name), {}],
      [() => true, { gate: { successRate: 0.8, margin: 0.2 } }],
    ] as const
  ) {
    await using server = countingServer(undefined, 0, {
      ...{ status: 401, message: "revoked", after: 25 },
    });
    const { code, tests, all } = await CollectedTests.of(() =>
      benchmark("revoked", {
        model: { model: "m", baseURL: server.url },
        ...{ tasks: { core: 3, depth: 2 }, graphs: 40, seed: 1, concurrency: 2 },
        ...gate,
      })
    ).run({ filter });
    assertEquals(code, 1, all);
    const told = tests.filter(({ error }) =>
      /Cannot get a reply of m .*refuses the key/.test(error)
    );
    assert(told.length > 0 && told.length < 12, all);
    // No case that did not run may look as if it had passed: each of the others fails with one line.
    const notRun = tests.filter(({ error }) => error === `not run: see ${told[0]!.name}`);
    const ran = tests.filter(({ ended, steps }) => ended === "ok" && !/^not run/.test(`${steps}`));
    assertEquals(ran.length + told.length + notRun.length, tests.length, all);
    assert(ran.length < 12, all);
  }
});

Deno.test("benchmark() keeps its connections from one test to the next", async () => {
  await using server = countingServer("sim:planner", 5);
  const file = place.write(
    "connections.ts",
    `import { benchmark, grid } from ${MOD};
benchmark("connections", {
  model: { model: "my-model", baseURL: "${server.url}" },
  tasks: grid({ core: 3, depth: 2 }),
  seed: 1,
  graphs: 60,
  concurrency: 4,
  gate: { successRate: 0.5, margin: 0.2 },
});
`,
  );
  const { code, all } = await run(file);
  assertEquals([code, server.trials], [0, 60], all);
  assert(server.requests > 180);
  // The runner drops the connections of its own client between tests.
  assert(server.connections <= 2 * server.mostAtOnce, `${server.connections} connections`);
});
