// Upgrade gates and sequential gates as users run them: `deno test` on fixtures/benchmarks/upgrade.ts and
// the commands around it, in child processes, against a server that counts.

import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { countingServer, deno, type Finished, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { refusalsOf } from "../support/refusals.ts";

/** Candidates against the fixture's baseline, one for each verdict. */
const GOOD = "sim:noisy?quit=0.02&seed=2";
const BAD = "sim:noisy?quit=0.1&seed=2";
const CLOSE = "sim:noisy?quit=0.05&seed=5";
/** Graphs that the fixture's gate plans at most. */
const LARGEST = 262;
const CONCURRENCY = 8;
const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

/** Runs the fixture with a candidate. */
function upgrade(
  candidate: string,
  server: string,
  { flags = [], own = [], env = {}, permissions = [] }: {
    flags?: readonly string[];
    own?: readonly string[];
    env?: Record<string, string>;
    permissions?: readonly string[];
  } = {},
): Promise<Finished> {
  return deno([
    ...["test", "--no-check", "--no-prompt", "--allow-net=127.0.0.1", "--allow-env"],
    ...permissions,
    ...flags,
    "fixtures/benchmarks/upgrade.ts",
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], { env: { CANDIDATE: candidate, TOOLGATE_SERVER: server, ...env } });
}

/** A benchmark file of a user's own. */
function fileOf(options: string, name = "mine"): string {
  return `import { benchmark, grid } from ${MOD};\nvoid grid;\n` +
    `benchmark(${JSON.stringify(name)}, { ${options} });\n`;
}

function runFile(path: string, own: readonly string[] = [], permissions: readonly string[] = []) {
  return deno([
    ...["test", "--no-check", "--no-prompt", "--config=deno.json", "--allow-net=127.0.0.1"],
    ...permissions,
    path,
    ...(own.length === 0 ? [] : ["--", ...own]),
  ]);
}

/** The verdict's first line, as the gate's test prints it. */
function verdictIn({ stdout }: Finished): string | undefined {
  return stdout.split("\n").find((line) => /^[^ ].*: (PASS|FAIL|UNDECIDED|INVALID): /.test(line));
}

function decidedAfter({ stdout }: Finished): number {
  return Number(/the gate decided after (\d+) graphs/.exec(stdout)?.[1]);
}

for (const [candidate, code, kind] of [[GOOD, 0, "PASS"], [BAD, 1, "FAIL"]] as const) {
  Deno.test(`an upgrade gate stops as soon as it knows: ${kind}`, async () => {
    await using temporary = await folder();
    await using server = countingServer(null);
    const report = temporary.file("junit.xml");
    const finished = await upgrade(candidate, server.url, { flags: [`--junit-path=${report}`] });
    assertEquals(finished.code, code, finished.all);
    assertStringIncludes(verdictIn(finished)!, `(simulated): ${kind}: on the same graphs, `);
    const graphs = decidedAfter(finished);
    // Both models worked on each graph; what was in flight at the decision came to its end.
    assertGreater(graphs, 0, finished.all);
    assert(server.trials >= 2 * graphs, finished.all);
    assertLessOrEqual(server.trials, 2 * graphs + 2 * CONCURRENCY);
    assertLess(server.trials, 2 * LARGEST / 3, "early stopping must spare requests");
    const cases = Deno.readTextFileSync(report);
    const spared = [...cases.matchAll(/not needed: the gate of .* had decided after/g)].length;
    assertEquals(spared + server.trials, 2 * LARGEST);
    assertEquals([...cases.matchAll(/<failure/g)].length, code);
    assertStringIncludes(
      finished.stdout,
      "any difference at all (decides nothing): exact McNemar p = ",
    );
    assertMatch(finished.stdout, /upgrade: a sequential gate, of at most 262 graphs of a model/);
  });
}

Deno.test("an upgrade gate that cannot tell is undecided, and fails its test", async () => {
  await using server = countingServer(null);
  const finished = await upgrade(CLOSE, server.url);
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(verdictIn(finished)!, ": UNDECIDED: these trials cannot tell");
  assertEquals(server.trials, 2 * LARGEST);
});

Deno.test("an upgrade gate decides the same when cases are shuffled, and spares as much", async () => {
  await using server = countingServer(null);
  const usual = await upgrade(GOOD, server.url);
  for (const seed of [1, 3]) {
    const before = server.trials;
    const finished = await upgrade(GOOD, server.url, { flags: [`--shuffle=${seed}`] });
    assertEquals(verdictIn(finished), verdictIn(usual), finished.all);
    assertEquals(decidedAfter(finished), decidedAfter(usual));
    // A case or two ask for trials far ahead before the shuffling is seen.
    assertLessOrEqual(server.trials - before, 2 * decidedAfter(usual) + 4 * CONCURRENCY);
  }
});

Deno.test("an upgrade gate comes to its end when only some cases are selected", async () => {
  await using server = countingServer(null);
  const usual = await upgrade(GOOD, server.url);
  for (const filter of ["/graph 30,|gate/", "gate"]) {
    const finished = await upgrade(GOOD, server.url, { flags: [`--filter=${filter}`] });
    assertEquals([finished.code, verdictIn(finished)], [0, verdictIn(usual)], finished.all);
  }
  // Without the gate's own test nothing is decided, and that is said.
  const cases = await upgrade(GOOD, server.url, { flags: ["--filter=graph 2,"] });
  assertStringIncludes(cases.all, "upgrade: the gate did not run: nothing was decided");
});

Deno.test("gate replays the rule of the plan line, whatever the journal has beyond it", async () => {
  await using temporary = await folder();
  await using server = countingServer(null);
  const journal = temporary.file("trials.jsonl");
  const permissions = ["--allow-read", `--allow-write=${temporary.path}`];
  const run = await upgrade(BAD, server.url, { own: [`--out=${journal}`], permissions });
  assertEquals(run.code, 1, run.all);
  const [plan, ...trials] = readLines(journal);
  assertEquals(Object.keys(plan.gate).filter((name) => /^(lambda|alpha|beta|.*Size)$/.test(name)), [
    "lambda",
    "alpha",
    "beta",
    "blockSize",
    "fixedSize",
    "largestSize",
  ]);
  assertEquals(plan.gate.largestSize, LARGEST);
  const graphs = decidedAfter(run);
  assert(trials.length >= 2 * graphs);
  const lines = Deno.readTextFileSync(journal).split("\n").slice(0, graphs);
  const part = temporary.write("part.jsonl", lines.join("\n") + "\n");
  const fields = [{ lambda: { pass: 1e9, fail: -0.1 } }, { blockSize: 1 }, { alpha: 0.4 }];
  const [gate, changed, interrupted, asJson, ...tampered] = await toolgates([
    ["gate", journal],
    ["gate", journal, "--margin", "0.2"],
    ["gate", part],
    ["gate", journal, "--json"],
    ...fields.map((one, at) => {
      const text = [
        JSON.stringify({ ...plan, gate: { ...plan.gate, ...one } }),
        ...Deno.readTextFileSync(journal).split("\n").slice(1),
      ].join("\n");
      return ["gate", temporary.write(`tampered-${at}.jsonl`, text)];
    }),
  ]);
  assertEquals(gate!.code, 1, gate!.all);
  assertEquals(verdictIn(gate!), verdictIn(run));
  assertEquals(decidedAfter(gate!), graphs);
  // The rule is not to be changed afterwards, and a part of the trials is no run.
  assertEquals(changed!.code, 2, changed!.all);
  assertStringIncludes(changed!.stderr, "the plan's gate is sequential");
  assertEquals(interrupted!.code, 3, interrupted!.all);
  assertMatch(interrupted!.stdout, /INVALID: .*the run was interrupted.*continue it with --resume/);
  // A rule that was not planned decides nothing.
  assertEquals(tampered.length, 3);
  for (const { code, stdout, all } of tampered) {
    assertEquals(code, 3, all);
    assertStringIncludes(stdout, "does not fit its policy: it was changed");
  }
  const resumed = await upgrade(BAD, server.url, {
    own: [`--out=${part}`, "--resume"],
    permissions,
  });
  assertEquals(verdictIn(resumed), verdictIn(run));
  const json = JSON.parse(asJson!.stdout);
  assertEquals([json.verdict, json.exitCode, json.verdicts.length], ["fail", 1, 1]);
  assertEquals(json.verdicts[0].evidence.graphs, graphs);
});

Deno.test("shards of a sequential gate run the fixed size, and gate decides over all of them", async () => {
  await using temporary = await folder();
  await using server = countingServer(null);
  const permissions = ["--allow-read", `--allow-write=${temporary.path}`];
  const journals = [1, 2].map((index) => temporary.file(`${index}.jsonl`));
  for (const [place, journal] of journals.entries()) {
    const own = [`--out=${journal}`, `--shard=${place + 1}/2`];
    const finished = await upgrade(BAD, server.url, { own, permissions });
    assertEquals(finished.code, 0, finished.all);
    assertStringIncludes(finished.all, "the gate needs all trials");
  }
  const [plan] = readLines(journals[0]!);
  assertEquals([plan.gate.sequential, plan.gate.lambda], [true, undefined]);
  // The fixed size, in whole blocks of two cells; 262 is 1.5 times that.
  assertEquals(plan.trials, 2 * 174);
  assertEquals(server.trials, 2 * 174);
  const gate = await toolgate(["gate", ...journals]);
  assertEquals(gate.code, 1, gate.all);
  assertStringIncludes(gate.stdout, "Tango's score for pairs");
  assertEquals((await toolgate(["gate", journals[0]!])).code, 3);
});

Deno.test("a pull request gates against an accepted baseline, without the old journal", async () => {
  await using temporary = await folder();
  const all = [
    "--allow-read",
    `--allow-write=${temporary.path}`,
    "--allow-env=GITHUB_STEP_SUMMARY",
  ];
  const baseline = temporary.file("baseline.json");
  const options = (model: string, more = "") =>
    `model: ${JSON.stringify(model)}, tasks: grid({ core: [3, 4], depth: 2 }), seed: "fresh", ` +
    `gate: { baseline: { file: ${JSON.stringify(baseline)} }, margin: 0.2, discordance: 0.3, ` +
    `sequential: true } ${more}`;
  const old = temporary.write("old.ts", fileOf(options("sim:noisy?quit=0.02&seed=1")));
  const journal = temporary.file("old.jsonl");
  // Before there is a baseline, nothing can pass, and the message says how to make one.
  const none = await runFile(old, [], all);
  assertMatch(none.all, /Cannot run benchmark mine as there is no baseline .* yet/);
  // A gate errs in some runs by its own design; with one seed it always ends in the same way.
  const first = await runFile(old, [`--out=${journal}`, "--seed=4"], all);
  assertEquals(first.code, 1, first.all);
  assertMatch(first.stdout, /INVALID: .*there is no baseline .* yet: .*toolgate accept/);
  const accepted = await toolgate(["accept", journal, "--out", baseline]);
  assertEquals(accepted.code, 0, accepted.all);
  const size = Deno.statSync(baseline).size;
  assertLess(size, Deno.statSync(journal).size / 20, "a baseline is small");
  await Deno.remove(journal);

  const good = temporary.write("good.ts", fileOf(options("sim:noisy?quit=0.02&seed=2")));
  const passed = await runFile(good, [], all);
  assertEquals(passed.code, 0, passed.all);
  assertStringIncludes(passed.stdout, "mine: seed 4 of the baseline");
  assertStringIncludes(verdictIn(passed)!, `quit=0.02&seed=1 (${baseline})`);
  assertStringIncludes(passed.stdout, "not needed: the gate of");
  const bad = temporary.write("bad.ts", fileOf(options("sim:noisy?quit=0.3&seed=2")));
  const failed = await runFile(bad, [], all);
  assertEquals(failed.code, 1, failed.all);
  assertMatch(verdictIn(failed)!, /: FAIL: /);

  // Other graphs cannot be compared.
  const other = temporary.write("other.ts", fileOf(options("sim:planner", ", repetitions: 2")));
  const refused = await runFile(other, [], all);
  assertEquals(refused.code, 1, refused.all);
  assertMatch(refused.stdout, /both must be of the same graphs: they differ in repetitions/);
});

Deno.test("a budget ends a run with an honest partial verdict", async () => {
  await using temporary = await folder();
  const model = `model: "sim:noisy?quit=0.1", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
  const gated = temporary.write(
    "gated.ts",
    fileOf(`${model}, graphs: 60, gate: { successRate: 0.7, margin: 0.1 }`),
  );
  const permissions = ["--allow-read", `--allow-write=${temporary.path}`];
  const journal = temporary.file("trials.jsonl");
  const finished = await runFile(gated, [`--out=${journal}`, "--max-tokens=30000"], permissions);
  assertEquals(finished.code, 1, finished.all);
  assertMatch(
    verdictIn(finished)!,
    /: UNDECIDED: .* Not all of the plan was run: the budget of 30000 tokens was reached\.$/,
  );
  assertStringIncludes(finished.stdout, "not run: the budget of 30000 tokens was reached");
  const gate = await toolgate(["gate", journal]);
  assertEquals(gate.code, 3, gate.all);
  assertEquals(verdictIn(gate), verdictIn(finished));
  // Without a gate nothing vouches for what was not run.
  const strict = temporary.write("strict.ts", fileOf(`${model}, graphs: 60`));
  const failed = await runFile(strict, ["--max-tokens=30000"]);
  assertEquals(failed.code, 1, failed.all);
  assertStringIncludes(
    failed.stdout,
    "The trial was not run as the budget of 30000 tokens was reached",
  );
  const unpriced = await runFile(gated, ["--max-usd=1"]);
  assertEquals(unpriced.code, 1, unpriced.all);
  assertMatch(
    unpriced.stdout,
    /Cannot compute the cost of model sim:noisy\?quit=0\.1 as the price table/,
  );
});

Deno.test("a verdict goes to a file as JSON and to the summary of the job", async () => {
  await using temporary = await folder();
  const [verdict, summary] = [
    temporary.file("verdict.json"),
    temporary.write("summary.md", "# A\n"),
  ];
  await using server = countingServer(null);
  const finished = await upgrade(GOOD, server.url, {
    own: [`--verdict=${verdict}`],
    env: { GITHUB_STEP_SUMMARY: summary },
    permissions: [`--allow-write=${temporary.path}`],
  });
  assertEquals(finished.code, 0, finished.all);
  const [{ kind, model, baseline, text, evidence }] =
    JSON.parse(Deno.readTextFileSync(verdict)).verdicts;
  assertEquals([kind, model, baseline], ["pass", GOOD, "sim:noisy?quit=0.03&seed=1"]);
  assertStringIncludes(verdictIn(finished)!, text);
  assertEquals(evidence.graphs, decidedAfter(finished));
  const markdown = Deno.readTextFileSync(summary);
  assertMatch(markdown, /^# A\n### upgrade: pass\n\n#### sim.*\(simulated|&#40;simulated/);
  assertStringIncludes(markdown, "**PASS**: on the same graphs");
});

Deno.test("a verdict file never says more than the last run", async () => {
  await using temporary = await folder();
  const verdict = temporary.write("verdict.json", '{"verdict":"pass"}');
  const write = `--allow-write=${temporary.path}`;
  const model = `model: "sim:planner", tasks: grid({ core: 3, depth: 2 }), seed: 1, graphs: 60`;
  const gate = `gate: { successRate: 0.7, margin: 0.2 }`;
  const file = temporary.write("one.ts", fileOf(`${model}, ${gate}`));
  const strict = temporary.write("strict.ts", fileOf(model));
  const twoText = fileOf(`${model}, ${gate}`) + `benchmark("other", { ${model}, ${gate} });\n`;
  const two = temporary.write("two.ts", twoText);
  const runs: [string, string[], RegExp][] = [
    [
      file,
      ["--shard=1/2", `--out=${temporary.file("a.jsonl")}`],
      /--verdict needs a gate that decides/,
    ],
    [strict, [], /--verdict needs a gate that decides/],
    [two, [], /Cannot keep the verdicts of benchmark other .* as a file belongs to one benchmark/],
  ];
  for (const [path, own, message] of runs) {
    const finished = await runFile(path, [`--verdict=${verdict}`, ...own], [write]);
    assertEquals(finished.code, 1, finished.all);
    assertMatch(finished.all, message);
  }
  assertEquals(JSON.parse(Deno.readTextFileSync(verdict)).verdict, "invalid");
  const unwritable = await runFile(file, [`--verdict=${temporary.file("one.ts/v.json")}`], [write]);
  assertMatch(unwritable.all, /Cannot write the verdicts to .*one\.ts\/v\.json/);
  assertEquals(/ \.\.\. ok/.test(unwritable.all), false, "a case was run");
  const passed = await runFile(file, [`--verdict=${verdict}`], [write]);
  assertEquals(passed.code, 0, passed.all);
  assertEquals(JSON.parse(Deno.readTextFileSync(verdict)).verdict, "pass");
});

Deno.test("a gate that cannot decide says so before anything is run", async () => {
  await using temporary = await folder();
  const model = `model: "sim:planner", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
  const small = temporary.write(
    "small.ts",
    fileOf(`${model}, graphs: 5, gate: { successRate: 0.8 }`, "small"),
  );
  const finished = await runFile(small);
  assertEquals(finished.code, 1, finished.all);
  assertMatch(
    finished.all,
    /small: warning: the gate cannot pass: not even if all 5 graphs were solved/,
  );
  const coarse = temporary.write(
    "coarse.ts",
    fileOf(`${model}, graphs: 100, gate: { successRate: 0.8 }`, "coarse"),
  );
  const warned = await runFile(coarse);
  assertEquals(warned.code, 0, warned.all);
  assertMatch(warned.all, /coarse: 100 graphs .* from one that is 15\.\d points lower/);
  assertMatch(
    warned.all,
    /warning: the gate is too small for its margin of 5 points: .*graphs: 756/,
  );
  const enough = temporary.write(
    "enough.ts",
    fileOf(`${model}, graphs: 248, gate: { successRate: 0.7, margin: 0.1 }`, "enough"),
  );
  const quiet = await runFile(enough);
  assertEquals(quiet.code, 0, quiet.all);
  assertEquals(quiet.all.includes("warning:"), false, quiet.all);
});

Deno.test("benchmark() refuses gates that contradict themselves", async (context) => {
  const model = `model: "sim:planner", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
  const wrong: [string, RegExp][] = [
    [
      `${model}, graphs: 5, gate: { successRate: 0.8, sequential: true }`,
      /graphs is 5; leave it out/,
    ],
    [`${model}, gate: { successRate: 0.8, margin: 0, sequential: true }`, /needs a margin above 0/],
    [`${model}, gate: { successRate: 0.8, baseline: "a" }`, /give either successRate or baseline/],
    [`${model}, gate: { baseline: "gpt-5" }`, /gate\.baseline must be one of its models/],
    [`${model}, gate: { baseline: "sim:planner" }`, /must leave something to compare with it/],
    [`${model}, gate: { baseline: { perturbation: "none" } }`, /must leave something to compare/],
    [
      `${model}, gate: { baseline: "a", margin: 0.2 }`,
      /discordance \(default 0\.2\) must be above/,
    ],
    [`${model}, gate: { successRate: 0.8, atMost: { usd: 1 } }`, /price table must have it/],
    [`${model}, gate: { successRate: 0.8, atMost: { failures: { typo: 0.1 } } }`, /typo/],
  ];
  const told = await refusalsOf(wrong.map(([options]) => `benchmark("bad", { ${options} })`));
  for (const [index, [options, message]] of wrong.entries()) {
    await context.step(options, () => {
      assertMatch(told[index]!, /^InputError: /);
      assertMatch(told[index]!, message);
    });
  }
});
