// Benchmarks as users run them: `deno test` on the files of fixtures/benchmarks, in child processes.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { StageUse } from "../../lib/models/model.ts";
import {
  type CountingServer,
  countingServer,
  deno,
  type Finished,
  folder,
  readLines,
  ROOT,
  start,
} from "../support/child.ts";
import { refusalsOf } from "../support/refusals.ts";

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

interface RunOptions {
  readonly server?: CountingServer;
  /** Flags of `deno test`. */
  readonly flags?: readonly string[];
  /** Flags behind `--`. */
  readonly own?: readonly string[];
  readonly permissions?: readonly string[];
}

/** Runs benchmark files of fixtures/benchmarks, by name. */
function run(names: string | readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { server, flags = [], own = [], permissions = [] } = options;
  return deno([
    "test",
    "--no-check",
    "--no-prompt",
    "--allow-net=127.0.0.1",
    "--allow-env=TOOLGATE_SERVER",
    ...permissions,
    ...flags,
    ...[names].flat().map((name) => `fixtures/benchmarks/${name}.ts`),
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], server === undefined ? {} : { env: { TOOLGATE_SERVER: server.url } });
}

/** The lines that say what the gate decided. */
function verdictsOf({ stdout }: Finished): string[] {
  const lines = stdout.split("\n").map((line) => line.replace(/^error: AssertionError: /, ""));
  const verdict = /: (PASS|FAIL|UNDECIDED|INVALID): /;
  return [...new Set(lines.filter((line) => verdict.test(line)))];
}

/** The names of failed tests, as the summary lists them. */
function failedIn({ stdout }: Finished): string[] {
  const list = stdout.split("\n FAILURES \n")[1] ?? "";
  return [...list.matchAll(/^(.+) => /gm)].map(([, name]) => name!);
}

/** Cases and failures of a JUnit report. */
function junit(path: string): { cases: string[]; failed: string[]; seconds: number } {
  const text = Deno.readTextFileSync(path);
  const plain = (name: string) =>
    name.replaceAll("&gt;", ">").replaceAll("&lt;", "<").replaceAll("&amp;", "&");
  const cases = [...text.matchAll(/<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs)];
  return {
    seconds: Number(/<testsuites [^>]*time="([\d.]+)"/.exec(text)?.[1]),
    cases: cases.map(([, name]) => plain(name!)),
    failed: cases.filter(([, , body]) => body?.includes("<failure")).map(([, name]) =>
      plain(name!)
    ),
  };
}

/** The replay line of each failed case, by the case's name; and the story in front of it. */
function storiesIn({ stdout }: Finished): { story: string; replay: string }[] {
  const errors = stdout.split("\n ERRORS \n")[1] ?? "";
  return [
    ...errors.matchAll(
      /^error: AssertionError: (The task is not solved\..*?)\nreplay: ([^\n]*)$/gms,
    ),
  ]
    .map(([, story, replay]) => ({ story: story!, replay: replay! }));
}

/**
 * Runs a line as a user would paste it into a shell, where `deno` is the one that runs the tests; but for the
 * check of types, which takes seconds.
 */
function paste(line: string, server?: CountingServer): Promise<Finished> {
  const here = Deno.execPath().replace(/\/[^/]*$/, "");
  return start("sh", ["-c", line.replace(/^deno test /, "deno test --no-check ")], {
    env: {
      PATH: `${here}:${Deno.env.get("PATH")}`,
      ...(server === undefined ? {} : { TOOLGATE_SERVER: server.url }),
    },
  }).finished;
}

Deno.test("benchmark() fails through its gate alone when the model is too weak", async () => {
  await using temporary = await folder();
  const report = temporary.file("junit.xml");
  const finished = await run("weak", { flags: [`--junit-path=${report}`] });
  assertEquals(finished.code, 1, finished.all);
  const { cases, failed } = junit(report);
  assertEquals(cases.length, 17);
  assertEquals(failed, ["weak > gate"]);
  assertEquals(failedIn(finished), ["weak > gate"]);
  assertMatch(finished.stdout, /FAIL: the true success rate is below/);
  // What is not solved is told in its case, with a line that replays it.
  assertMatch(finished.stdout, /\nno_answer after \d calls? \(fewest 3\)\nreplay: deno test /);
  assertStringIncludes(finished.stdout, "(simulated: a program, no language model)");
});

Deno.test("benchmark() passes with a good model", async () => {
  await using temporary = await folder();
  const report = temporary.file("junit.xml");
  await using server = countingServer();
  const finished = await run("own_server", { server, flags: [`--junit-path=${report}`] });
  assertEquals(finished.code, 0, finished.all);
  const { cases, failed } = junit(report);
  assertEquals(cases.length, TRIALS + 1);
  assertEquals(new Set(cases).size, cases.length, "names of cases must differ");
  assertEquals(failed, []);
  assertMatch(verdictsOf(finished).join("\n"), /^my-model: PASS: /);
  assertEquals(server.trials, TRIALS);
});

Deno.test("benchmark() judges each model, and the worst verdict counts", async () => {
  const finished = await run("two_models");
  assertEquals(finished.code, 1, finished.all);
  assertEquals(failedIn(finished), ["two models > gate"]);
  const verdicts = verdictsOf(finished);
  assertEquals(verdicts.map((line) => /: ([A-Z]+): /.exec(line)![1]), ["PASS", "FAIL"]);
});

Deno.test("benchmark() runs each strategy on the same graphs, and its gate compares them", async () => {
  await using temporary = await folder();
  const journal = temporary.file("out.jsonl");
  const report = temporary.file("junit.xml");
  const file = temporary.write(
    "strategies.ts",
    `import { benchmark } from ${MOD};
benchmark("reminders", {
  model: "sim:noisy?memory=10",
  tasks: { core: 10, depth: 6 },
  strategies: ["baseline", "restate"],
  seed: 1,
  graphs: 10,
  gate: { baseline: { strategy: "baseline" }, margin: 0.1 },
});
`,
  );
  const permissions = [`--allow-read=${temporary.path}`, `--allow-write=${temporary.path}`];
  const finished = await deno([
    ...ELSEWHERE,
    ...permissions,
    ...[`--junit-path=${report}`, file, "--", `--out=${journal}`],
  ]);
  assertEquals(finished.code, 0, finished.all);
  assertMatch(
    verdictsOf(finished).join("\n"),
    /sim:noisy\?memory=10 \+ restate.*: PASS: [^\n]*$/,
  );
  // Beneath the verdict.
  assertMatch(
    finished.stdout,
    /: PASS: [^]*\nStrategies against the baseline\n[^\n]*\n[^\n]*\nsim:noisy\?memory=10 \+ restate \(simulated\) +10 /,
  );
  const trials = readLines(journal).slice(1);
  const of = (strategy: string) => trials.filter((trial) => trial.strategy === strategy);
  assertEquals([trials.length, of("baseline").length, of("restate").length], [20, 10, 10]);
  for (const { id, strategy } of trials) assertStringIncludes(id, ` strategy=${strategy} `);
  const seeds = (strategy: string) => new Set(of(strategy).map(({ task }) => task.seed));
  assertEquals(seeds("restate"), seeds("baseline"));
  const { cases } = junit(report);
  assertEquals(new Set(cases).size, 21, "names of cases must differ");
});

Deno.test("benchmark() runs an agent of the user's own", async () => {
  const finished = await run("own_agent");
  assertEquals(finished.code, 0, finished.all);
  assertMatch(verdictsOf(finished).join("\n"), /^methodical: PASS: /);
  assertStringIncludes(finished.stdout, "\n  solved: 10 of 10 valid trials");
});

Deno.test("benchmark() runs the same trials to the same verdict in every order", async (context) => {
  const ways: readonly (readonly string[])[] = [
    [],
    ["--shuffle=4", "--retry=3", "--repeats=2"],
    [`--filter=${GATE}`],
    ["--parallel"],
  ];
  // Only what fails is run again, and only there does an order show.
  const more = [["--shuffle=1"], ["--shuffle=30"], ["--retry=3"], ["--repeats=2"]];
  for (const [model, code] of [["sim:planner", 0], [WEAK, 1]] as const) {
    let usual: string[] | undefined;
    for (const flags of code === 0 ? ways : [...ways, ...more]) {
      await context.step(`${model} ${flags.join(" ")}`, async () => {
        await using server = countingServer(model);
        const finished = await run("own_server", { server, flags });
        assertEquals(finished.code, code, finished.all);
        assertEquals(failedIn(finished), code === 0 ? [] : [GATE], finished.all);
        usual ??= verdictsOf(finished);
        assertEquals(usual.length, 1, finished.all);
        assertEquals(verdictsOf(finished), usual);
        assertEquals(server.begun.size, TRIALS);
        assertEquals(server.trials, TRIALS, "a trial was run twice");
      });
    }
  }
});

Deno.test("benchmark() keeps files apart under --parallel", async () => {
  await using server = countingServer();
  const finished = await run(["own_server", "many"], { server, flags: ["--parallel"] });
  assertEquals(finished.code, 0, finished.all);
  assertEquals(verdictsOf(finished).map((line) => line.split(":")[0]).sort(), [
    "my-model",
    "slow-model",
  ]);
  assertEquals(server.trials, TRIALS + 200);
  assertEquals(server.begun.size, TRIALS + 200);
});

Deno.test("benchmark() without a gate fails each unsolved case with its story and a replay", async () => {
  const seed = 3;
  const finished = await run("strict", { own: [`--seed=${seed}`] });
  assertEquals(finished.code, 1, finished.all);
  const failed = failedIn(finished);
  assert(failed.length > 0 && failed.length < 6, `seed ${seed} must give both: ${finished.all}`);
  assertEquals(finished.stdout.includes("> gate"), false, "there is a gate");
  const stories = storiesIn(finished);
  assertEquals(stories.length, failed.length, finished.all);
  for (const { story, replay } of stories) {
    assertMatch(story, /\(simulated\): \w+ after \d+ calls \(fewest 5\); /);
    assertMatch(story, /\nfirst root failure: call \d+ \(step \d+\) func_\w+: \w+: /);
    assertMatch(story, /\n {2}1\. step 1 func_\w+\(.*\) -> /);
    assertMatch(story, /\n {2}said "/);
    assertMatch(replay, /^deno test .*fixtures\/benchmarks\/strict\.ts -- --only='core=5 /);
  }
  // One of them, pasted as it is printed.
  const { story, replay } = stories.at(-1)!;
  const again = await paste(replay);
  assertEquals(again.code, 1, again.all);
  assertStringIncludes(again.stdout, "running 1 test from");
  assertEquals(failedIn(again).length, 1, again.all);
  assertEquals(storiesIn(again), [{ story, replay }]);
});

Deno.test("benchmark() without a gate never runs a case again", async () => {
  const usual = await run("strict", { own: ["--seed=3"] });
  const flags = ["--retry=3", "--repeats=2"];
  const again = await run("strict", { flags, own: ["--seed=3"] });
  assertEquals(again.code, 1, again.all);
  assertMatch(again.stdout, /^all +6 /m, "a case was counted twice");
  assertEquals(storiesIn(again), storiesIn(usual));
});

Deno.test("benchmark() replays a trial of a fresh seed", async () => {
  // A fresh seed may be lucky; three of that luck are next to impossible.
  let finished = await run("strict");
  for (let more = 0; more < 2 && finished.code === 0; more++) finished = await run("strict");
  const [, seed] = /strict: fresh seed (\d+); add {2}-- --seed=\1 /.exec(finished.stdout) ?? [];
  assert(seed !== undefined, finished.all);
  const [first] = storiesIn(finished);
  assert(first !== undefined, finished.all);
  const again = await paste(first.replay);
  assertEquals(again.code, 1, again.all);
  assertEquals(storiesIn(again), [first], `seed ${seed}`);
  // The seed that was told repeats all of it.
  const whole = await run("strict", { own: [`--seed=${seed}`] });
  assertEquals(storiesIn(whole), storiesIn(finished), `seed ${seed}`);
});

Deno.test("benchmark() replays one trial of a gated file with its story, and leaves the gate out", async () => {
  await using server = countingServer(WEAK);
  const finished = await run("own_server", { server });
  const replay = /^replay: (.*)$/m.exec(finished.stdout)![1]!;
  await using fresh = countingServer(WEAK);
  const again = await paste(replay, fresh);
  // Whoever replays wants the story, so here the case itself fails.
  assertEquals(again.code, 1, again.all);
  assertMatch(again.stdout, /0 passed \| 1 failed \| 1 ignored/);
  assertEquals(storiesIn(again).map((one) => one.replay), [replay]);
  assertEquals(fresh.trials, 1);
});

Deno.test("benchmark() refuses an --only that is no id", async () => {
  const finished = await run("strict", { own: ["--only=nonsense"] });
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(finished.all, "Cannot run --only=nonsense as that is no trial id");
});

Deno.test("benchmark() refuses an --only that no benchmark of the file has", async () => {
  const id = "core=3 depth=2 connected=0 disconnected=0 seed=1 model=another-model " +
    "strategy=baseline perturbation=none repetition=1";
  const finished = await run("two_models", { own: [`--only=${id}`] });
  assert(finished.code !== 0, `nothing was run, and that passed:\n${finished.all}`);
});

Deno.test("benchmark() refuses an --only of a strategy that there is not", async () => {
  const id = "core=5 depth=2 connected=2 disconnected=0 seed=1 " +
    "model=sim:noisy?stale=0.2&early=0.1 strategy=wishful perturbation=none repetition=1";
  const finished = await run("strict", { own: [`--only=${id}`] });
  assertMatch(finished.all, /Cannot run --only/, "it was run as if it were the baseline");
});

Deno.test("benchmark() shards its trials, and toolgate gate decides over the journals", async () => {
  await using temporary = await folder();
  await using server = countingServer(WEAK);
  const journals = [1, 2, 3].map((index) => temporary.file(`${index}.jsonl`));
  const write = [`--allow-read=${temporary.path}`, `--allow-write=${temporary.path}`];
  for (const [place, journal] of journals.entries()) {
    const finished = await run("own_server", {
      server,
      permissions: write,
      own: [`--shard=${place + 1}/3`, `--out=${journal}`],
    });
    assertEquals(finished.code, 0, finished.all);
    assertMatch(finished.all, /own server: the gate needs all trials.* so it is ignored/);
    assertMatch(finished.stdout, /own server > gate \.\.\. ignored/);
    assertMatch(finished.stdout, /4 passed \| 0 failed \| 1 ignored/);
  }
  assertEquals(server.trials, TRIALS);
  assertEquals(server.begun.size, TRIALS);

  const gate = (...files: string[]) =>
    deno(["run", "--no-check", "--no-prompt", "--allow-read", "lib/cli/main.ts", "gate", ...files]);
  const decided = await gate(...journals);
  assertEquals(decided.code, 1, decided.all);
  const whole = await run("own_server", { server });
  assertEquals(verdictsOf(decided), verdictsOf(whole));
  const missing = await gate(journals[0]!, journals[2]!);
  assertEquals(missing.code, 3, missing.all);
  assertStringIncludes(missing.stdout, "shards are missing: 2/3");
});

Deno.test("benchmark() refuses shards of a fresh seed, and takes --seed for them", async () => {
  const refused = await run("strict", { own: ["--shard=1/2"] });
  assertEquals(refused.code, 1, refused.all);
  assertStringIncludes(refused.all, "add --seed=");
  const [first, second] = await Promise.all(
    ["1/2", "2/2"].map((shard) => run("strict", { own: [`--shard=${shard}`, "--seed=5"] })),
  );
  for (const shard of [first!, second!]) assertMatch(shard.stdout, /running 3 tests/, shard.all);
  assertEquals(storiesIn(first!).filter((one) => storiesIn(second!).includes(one)), []);
});

Deno.test("benchmark() refuses flags that would do nothing, or lose what was paid for", async () => {
  for (
    const [own, message] of [
      [["--resume"], "--resume needs --out=FILE"],
      [["--retry-invalid"], "--retry-invalid needs --resume"],
      [["--shard=1/2"], "--shard needs --out=FILE"],
    ] as const
  ) {
    const finished = await run("weak", { own: [...own] });
    assertEquals(finished.code, 1, finished.all);
    assertStringIncludes(finished.all, message);
    assertEquals(/ \.\.\. ok/.test(finished.all), false, "a case was run");
  }
});

Deno.test("benchmark() resumes a journal, and runs only what is missing", async () => {
  await using temporary = await folder();
  const journal = temporary.file("out.jsonl");
  const permissions = [`--allow-read=${temporary.path}`, `--allow-write=${temporary.path}`];
  const options = { permissions, own: [`--out=${journal}`] };
  await using server = countingServer(WEAK);
  const whole = await run("own_server", { server, ...options });
  assertEquals(whole.code, 1, whole.all);
  const lines = Deno.readTextFileSync(journal).trimEnd().split("\n");
  assertEquals(lines.length, TRIALS + 1);

  const refused = await run("own_server", { server, ...options });
  assertEquals(refused.code, 1, refused.all);
  assertMatch(refused.all, /Cannot begin the journal .* continue it with --resume/);
  assertEquals(Deno.readTextFileSync(journal).trimEnd().split("\n"), lines);

  Deno.writeTextFileSync(journal, lines.slice(0, 6).join("\n") + "\n" + lines[6]!.slice(0, 40));
  const before = server.trials;
  const resumed = await run("own_server", {
    server,
    permissions,
    own: [`--out=${journal}`, "--resume"],
  });
  assertEquals(resumed.code, 1, resumed.all);
  // deno test shows what a file says while it loads among the output of tests.
  assertMatch(resumed.stdout, /Dropped a torn last line of .*out\.jsonl \(40 bytes\)/);
  assertEquals(server.trials - before, TRIALS - 5);
  assertEquals(verdictsOf(resumed), verdictsOf(whole));
  const ids = readLines(journal).slice(1).map(({ id }) => id);
  assertEquals(new Set(ids).size, TRIALS);
  assertEquals(ids.length, TRIALS);
});

Deno.test("benchmark() lets two benchmarks of a file share one --out, or says why not", async () => {
  await using temporary = await folder();
  const journal = temporary.file("out.jsonl");
  const file = temporary.write(
    "two.ts",
    `import { benchmark } from ${MOD};
const tasks = { core: 3, depth: 2 };
benchmark("one", { model: "sim:planner", tasks, seed: 1, graphs: 2 });
benchmark("two", { model: "sim:planner", tasks, seed: 2, graphs: 2 });
`,
  );
  const finished = await deno([
    ...ELSEWHERE,
    ...[`--allow-read=${temporary.path}`, `--allow-write=${temporary.path}`, file],
    ...["--", `--out=${journal}`],
  ]);
  // The second one must not blame a file that the user did not have a moment ago.
  assertEquals(finished.all.includes("there is such a file already"), false, finished.all);
});

Deno.test("benchmark() starts one trial when --filter selects one case", async () => {
  for (const name of ["graph 1, ", "graph 2, ", "graph 3, "]) {
    await using server = countingServer();
    const filter = `--filter=own server > core 4, depth 2, connected 1, disconnected 0, ${name}`;
    const finished = await run("own_server", { server, flags: [filter] });
    assertEquals(finished.code, 0, finished.all);
    assertMatch(finished.stdout, /1 passed \| 0 failed/);
    assertEquals(server.trials, 1, finished.all);
  }
});

for (const flags of [[], ["--shuffle=11"]]) {
  const order = flags.length === 0 ? "" : "shuffled ";
  Deno.test(`benchmark() ${order}runs eight trials at a time, and never more`, async () => {
    await using temporary = await folder();
    const report = temporary.file("junit.xml");
    // Two replies a case, so 100 ms a case.
    await using server = countingServer("sim:planner", 50);
    const finished = await run("many", { server, flags: [...flags, `--junit-path=${report}`] });
    assertEquals(finished.code, 0, finished.all);
    assertEquals(server.trials, 200);
    assertEquals(server.mostAtOnce, 8);
    console.log(`200 cases of 100 ms, eight at a time: ${junit(report).seconds} s`);
  });
}

Deno.test("benchmark() takes --concurrency", async () => {
  await using server = countingServer("sim:planner", 5);
  const finished = await run("own_server", { server, own: ["--concurrency=2"] });
  assertEquals(finished.code, 0, finished.all);
  assertEquals(server.mostAtOnce, 2);
});

Deno.test("benchmark() is invalid, and no failure of the model, when the server is gone", async () => {
  await using temporary = await folder();
  const server = countingServer();
  await server[Symbol.asyncDispose]();
  const file = temporary.write(
    "gone.ts",
    `import { benchmark, openai } from ${MOD};
benchmark("gone", {
  model: openai({ model: "m", baseURL: "${server.url}", retries: 0 }),
  tasks: { core: 3, depth: 2 },
  seed: 1,
  gate: { successRate: 0.5 },
});
`,
  );
  const finished = await deno([...ELSEWHERE, file]);
  assertEquals(finished.code, 1, finished.all);
  assertEquals(failedIn(finished), ["gone > gate"]);
  assertMatch(finished.stdout, /^invalid after 0 calls \(fewest 3\); infrastructure: /m);
  assertMatch(verdictsOf(finished).join("\n"), /^m: INVALID: none of 5 planned trials is valid/);
});

const good = `model: "sim:planner", tasks: { core: 3, depth: 2 }, seed: 1`;
const WRONG: readonly { options: string; message: RegExp }[] = [
  {
    options: `model: "sim:planner", tasks: grid({ core: [3, 2], depth: 3 }), seed: 1`,
    message: /Cannot make a grid as core .*depth .*: core is \[3,2\], depth is 3/,
  },
  {
    options: `model: "sim:planner", tasks: { core: 3, depth: 3 }, seed: 1`,
    message: /bad.*tasks\[0\].*depth .*: core is 3, depth is 3/,
  },
  {
    options: `model: "sim:planner", tasks: { core: 3, depth: 2, conected: 1 }, seed: 1`,
    message: /Cannot use benchmark bad:\n {2}at tasks\[0\]: Unrecognized key: "conected"/,
  },
  {
    options: `${good}, gate: { successRate: 0.5, margin: 0.5 }`,
    message: /the gate of benchmark bad:\n {2}at margin: .* must be below successRate/,
  },
  {
    options: `${good}, gate: { successRate: 1.5 }`,
    message: /the gate of benchmark bad:\n {2}at successRate: /,
  },
  {
    options: `${good}, gate: { succesRate: 0.5 }`,
    message: /the gate of benchmark bad:\n.*Unrecognized key: "succesRate"\n.*at successRate: give/,
  },
  {
    options: `model: "gpt-5", tasks: { core: 3, depth: 2 }, seed: 1`,
    message: /Cannot ask gpt-5 as OpenAI requires a key: .*OPENAI_API_KEY/,
  },
  {
    options:
      `model: { model: "m", apiKeyVariable: "MY_KEY" }, tasks: { core: 3, depth: 2 }, seed: 1`,
    message: /Cannot use model m as Deno may not read MY_KEY: add --allow-env=MY_KEY/,
  },
  {
    options: `model: "sim:oracle", tasks: { core: 3, depth: 2 }, seed: 1`,
    message:
      /Cannot use the simulated model as it must be sim:planner, sim:noisy.* or sim:truth.*sim:oracle/,
  },
  {
    options: `model: "m", baseURL: "nope", tasks: { core: 3, depth: 2 }, seed: 1`,
    message: /Cannot ask m as a base URL must start with http:\/\/ or https:\/\/: it is "nope"/,
  },
  {
    options: `model: [], tasks: { core: 3, depth: 2 }, seed: 1`,
    message: /Cannot use benchmark bad:\n {2}at model/,
  },
  {
    options: `model: "sim:planner", tasks: { core: 3, depth: 2 }, seed: -1`,
    message: /Cannot use benchmark bad:\n {2}at seed: /,
  },
  {
    options: `${good}, strategies: ["reinstate"]`,
    message:
      /Cannot use benchmark bad:\n {2}at strategies\[0\]: must be one of baseline, restate, .*: it is reinstate/,
  },
  {
    options: `${good}, strategies: ["restate"], agent: () => Promise.resolve("")`,
    message:
      /Cannot run benchmark bad as an agent of your own has no loop .*: the strategy is restate/,
  },
  {
    options: `${good}, strategies: [{ strategy: "restate", name: "baseline" }], ` +
      `agent: () => Promise.resolve("")`,
    message:
      /Cannot run benchmark bad as an agent of your own has no loop .*: the strategy is restate/,
  },
  {
    options: `model: "sim:planner", tasks: { case: "oracle" }, seed: 1, ` +
      `agent: () => Promise.resolve("")`,
    message: /an agent of your own works on generated tasks only: there is {"case":"oracle"}/,
  },
  {
    options: `${good}, strategies: [{ strategy: "repair", rounds: 2 }]`,
    message: /Cannot use benchmark bad:\n {2}at strategies\[0\]\.rounds: goes with backward only/,
  },
  {
    options: `model: "sim:planner", tasks: { case: "orakel" }, seed: 1`,
    message: /Cannot use benchmark bad:\n {2}at tasks\[0\]\.case: must be all, one of lying_calc/,
  },
  { options: `${good}, concurrency: 0`, message: /concurrency must be .*: it is 0/ },
];

Deno.test("benchmark() tells a wrong option before anything is run", async (context) => {
  const calls = WRONG.map(({ options }) => `benchmark("bad", { ${options} })`);
  const told = await refusalsOf(calls);
  for (const [index, { options, message }] of WRONG.entries()) {
    await context.step(options, () => {
      assertMatch(told[index]!, /^InputError: /);
      assertMatch(told[index]!, message);
    });
  }
  // Where nobody catches it, the file fails.
  await using temporary = await folder();
  const text = `import { benchmark, grid } from ${MOD};\n${calls[0]!};\n`;
  const { code, all } = await deno([...ELSEWHERE, temporary.write("bad.ts", text)]);
  assertEquals(code, 1, all);
  assertMatch(all, WRONG[0]!.message);
  assertEquals(/ \.\.\. ok/.test(all), false, "a case was run");
});

Deno.test("benchmark() runs probes and strategies with options as cases, and replays them", async () => {
  await using temporary = await folder();
  const file = temporary.write(
    "bench.ts",
    `// @ts-nocheck: a user may write no types.
    import { benchmark, scripted } from ${MOD};
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
      strategies: ["baseline", { strategy: "plan_then_call", name: "planned" }],
    });\n`,
  );
  const finished = await deno([...ELSEWHERE, file]);
  // The sum of the numbers is not 42.
  assertEquals(finished.code, 1, finished.all);
  const cases = [...finished.stdout.matchAll(/^probes > case (.*) \.\.\. (ok|FAILED)/gm)];
  assertEquals(
    cases.map(([, name, ended]) => [name, ended]),
    ["lying_calculator", "oracle", "mental_arithmetic"].flatMap((probe) =>
      ["follower", "follower + planned"].map((model) => [
        `${probe}, graph 1, ${model}`,
        probe === "mental_arithmetic" ? "FAILED" : "ok",
      ])
    ),
  );
  const told = storiesIn(finished);
  assertEquals(told.length, 2);
  for (const name of ["follower (simulated)", "follower + planned (simulated)"]) {
    assert(told.some(({ story }) => story.includes(`${name}: wrong_answer`)), name);
  }
  const planned = told.find(({ story }) => story.includes("stage plan"))!;
  assertStringIncludes(planned.replay, "strategy=planned");
  const replayed = await paste(planned.replay);
  assertEquals([replayed.code, storiesIn(replayed)], [1, [planned]], replayed.all);
});

Deno.test("benchmark() takes models of one's own for stages", async () => {
  await using place = await folder();
  const file = `${place.path}/stages.ts`;
  const journal = `${place.path}/trials.jsonl`;
  await Deno.writeTextFile(
    file,
    `import { benchmark, scripted } from ${MOD};
    const planner = scripted("my planner", () => ({ text: "1. Call all of them." }));
    benchmark("stages", {
      model: "sim:planner",
      tasks: { core: 3, depth: 1 },
      seed: 1,
      graphs: 2,
      strategies: [{ strategy: "plan_then_call", models: { plan: planner } }],
      journal: ${JSON.stringify(journal)},
    });\n`,
  );
  const finished = await deno([...ELSEWHERE, "--allow-read", "--allow-write", file]);
  assertEquals(finished.code, 0, finished.all);
  const [, ...trials] = (await readLines(journal)) as { stages: StageUse[] }[];
  assertEquals(
    trials.map(({ stages }) => stages.map(({ stage, model }) => [stage, model.requested])),
    [[["plan", "my planner"]], [["plan", "my planner"]]],
  );
});
