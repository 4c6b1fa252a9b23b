// Upgrade gates and sequential gates as users run them: `deno test` on fixtures/benchmarks/upgrade.ts, on a
// file like it with a coarser gate, and the commands around it, in child processes, against a server that
// counts. Each candidate runs once as usual, and several tests look at what came of it.

import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import {
  countingServer,
  deno,
  type Finished,
  folder,
  readLines,
  ROOT,
  unwrapped,
} from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { refusalsOf, type Refused } from "../support/refusals.ts";

/** Candidates against the fixture's baseline, one for each verdict. */
const GOOD = "sim:noisy?quit=0.02&seed=2";
const BAD = "sim:noisy?quit=0.1&seed=2";
const CLOSE = "sim:noisy?quit=0.05&seed=5";
/** Graphs that the coarser gate plans at most. */
const LARGEST = 126;
const CONCURRENCY = 8;
const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

const place = await folder();
/** It answers all runs, as a journal goes on with the server that it began with. */
const server = countingServer(null);
Deno.test.afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});
const FILES = ["--allow-read", `--allow-write=${place.path}`];

interface RunOptions {
  readonly flags?: readonly string[];
  readonly own?: readonly string[];
  readonly env?: Record<string, string>;
}

/** A run of `deno test`, and how many trials it asked the server for. */
interface Ran extends Finished {
  readonly trials: number;
}

async function run(
  path: string,
  { flags = [], own = [], env = {} }: RunOptions = {},
): Promise<Ran> {
  const before = server.trials;
  const finished = await deno([
    ...["test", "--no-check", "--no-prompt", "--config=deno.json", "--allow-net=127.0.0.1"],
    ...["--allow-env", ...FILES, ...flags, path],
    ...(own.length === 0 ? [] : ["--", ...own]),
  ], { env });
  return { ...finished, trials: server.trials - before };
}

const FIXTURE = "fixtures/benchmarks/upgrade.ts";
const COARSER = place.write(
  "upgrade.ts",
  Deno.readTextFileSync(`${ROOT}/${FIXTURE}`)
    .replace('"@toolgate/toolgate"', MOD)
    .replace("margin: 0.1, discordance: 0.15", "margin: 0.2, discordance: 0.3"),
);

/** Runs such a file with a candidate. */
function upgrade(
  candidate: string,
  { env = {}, ...options }: RunOptions = {},
  file = COARSER,
): Promise<Ran> {
  const variables = { CANDIDATE: candidate, TOOLGATE_SERVER: server.url, ...env };
  return run(file, { ...options, env: variables });
}

/** A file of benchmarks of a user's own, by their names. */
function write(file: string, benchmarks: Readonly<Record<string, string>>, more = ""): string {
  const lines = Object.entries(benchmarks)
    .map(([name, options]) => `benchmark(${JSON.stringify(name)}, { ${options} });\n`);
  return place.write(
    file,
    `import { benchmark, grid } from ${MOD};\nvoid grid;\n${lines.join("")}${more}`,
  );
}

/** The verdict's first line, as the gate's test prints it. */
function verdictIn({ stdout }: Finished): string | undefined {
  return unwrapped(stdout).split("\n").find((line) =>
    /^[^ ].*: (PASS|FAIL|UNDECIDED|INVALID): /.test(line)
  );
}

function decidedAfter({ stdout }: Finished): number {
  return Number(/the gate decided after (\d+) graphs/.exec(stdout)?.[1]);
}

/** The usual runs: each is done when a test first asks for it. */
const begun = new Map<string, Promise<Ran>>();
const JOURNAL = place.file("bad.jsonl");
const VERDICT = place.write("verdict.json", '{"verdict":"invalid"}');
const SUMMARY = place.write("summary.md", "# A\n");

function usual(candidate: string): Promise<Ran> {
  const isGood = candidate === GOOD;
  const ran = begun.get(candidate) ?? upgrade(candidate, {
    flags: [`--junit-path=${place.file(`${isGood}.xml`)}`],
    own: isGood ? [`--verdict=${VERDICT}`] : [`--out=${JOURNAL}`],
    env: isGood ? { GITHUB_STEP_SUMMARY: SUMMARY } : {},
  });
  begun.set(candidate, ran);
  return ran;
}

for (const [candidate, code, kind] of [[GOOD, 0, "PASS"], [BAD, 1, "FAIL"]] as const) {
  Deno.test(`an upgrade gate stops as soon as it knows: ${kind}`, async () => {
    const finished = await usual(candidate);
    assertEquals(finished.code, code, finished.all);
    assertStringIncludes(verdictIn(finished)!, `(simulated): ${kind}: on the same graphs, `);
    const graphs = decidedAfter(finished);
    // Both models worked on each graph; what was in flight at the decision came to its end.
    assertGreater(graphs, 0, finished.all);
    assert(finished.trials >= 2 * graphs, finished.all);
    assertLessOrEqual(finished.trials, 2 * graphs + 2 * CONCURRENCY);
    assertLess(finished.trials, LARGEST, "early stopping must spare requests");
    const cases = Deno.readTextFileSync(place.file(`${candidate === GOOD}.xml`));
    const spared = [...cases.matchAll(/not needed: the gate of .* had decided after/g)].length;
    assertEquals(spared + finished.trials, 2 * LARGEST);
    assertEquals([...cases.matchAll(/<failure/g)].length, code);
    assertStringIncludes(
      finished.stdout,
      "any difference at all (decides nothing): exact McNemar p = ",
    );
    assertMatch(finished.stdout, /upgrade: a sequential gate, of at most 126 graphs of a model/);
  });
}

Deno.test("an upgrade gate that cannot tell is undecided, and fails its test", async () => {
  const finished = await upgrade(CLOSE, {}, FIXTURE);
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(verdictIn(finished)!, ": UNDECIDED: these trials cannot tell");
  assertMatch(finished.stdout, /upgrade: a sequential gate, of at most 262 graphs of a model/);
  assertEquals(finished.trials, 2 * 262);
});

Deno.test("an upgrade gate decides the same when cases are shuffled, and spares as much", async () => {
  const ordered = await usual(GOOD);
  const finished = await upgrade(GOOD, { flags: ["--shuffle=3"] });
  assertEquals(verdictIn(finished), verdictIn(ordered), finished.all);
  assertEquals(decidedAfter(finished), decidedAfter(ordered));
  // A case or two ask for trials far ahead before the shuffling is seen.
  assertLessOrEqual(finished.trials, 2 * decidedAfter(ordered) + 4 * CONCURRENCY);
});

Deno.test("an upgrade gate comes to its end when only some cases are selected", async () => {
  const finished = await upgrade(GOOD, { flags: ["--filter=/graph 30,|gate/"] });
  const verdict = verdictIn(await usual(GOOD));
  assertEquals([finished.code, verdictIn(finished)], [0, verdict], finished.all);
  // Without the gate's own test nothing is decided, and that is said.
  const cases = await upgrade(GOOD, { flags: ["--filter=graph 2,"] });
  assertStringIncludes(cases.all, "upgrade: the gate did not run: nothing was decided");
});

Deno.test("gate applies the rule of the plan line, whatever the journal has beyond it", async () => {
  const ran = await usual(BAD);
  const [plan, ...trials] = readLines(JOURNAL);
  assertEquals(Object.keys(plan.gate).filter((name) => /^(lambda|alpha|beta|.*Size)$/.test(name)), [
    "lambda",
    "alpha",
    "beta",
    "blockSize",
    "fixedSize",
    "largestSize",
  ]);
  assertEquals(plan.gate.largestSize, LARGEST);
  const graphs = decidedAfter(ran);
  assert(trials.length >= 2 * graphs);
  const lines = Deno.readTextFileSync(JOURNAL).split("\n");
  const part = place.write("part.jsonl", lines.slice(0, graphs).join("\n") + "\n");
  const fields = [{ lambda: { pass: 1e9, fail: -0.1 } }, { blockSize: 1 }, { alpha: 0.4 }];
  const [gate, changed, interrupted, asJson, ...tampered] = await toolgates([
    ["gate", JOURNAL],
    ["gate", JOURNAL, "--margin", "0.2"],
    ["gate", part],
    ["gate", JOURNAL, "--json"],
    ...fields.map((one, at) => {
      const first = JSON.stringify({ ...plan, gate: { ...plan.gate, ...one } });
      return ["gate", place.write(`tampered-${at}.jsonl`, lines.with(0, first).join("\n"))];
    }),
  ]);
  assertEquals(gate!.code, 1, gate!.all);
  assertEquals(verdictIn(gate!), verdictIn(ran));
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
  const resumed = await upgrade(BAD, { own: [`--out=${part}`, "--resume"] });
  assertEquals(verdictIn(resumed), verdictIn(ran));
  const json = JSON.parse(asJson!.stdout);
  assertEquals([json.verdict, json.exitCode, json.verdicts.length], ["fail", 1, 1]);
  assertEquals(json.verdicts[0].evidence.graphs, graphs);
});

Deno.test("shards of a sequential gate run the fixed size, and gate decides over all of them", async () => {
  const [baseline, weak] = ["sim:noisy?quit=0.03&seed=1", "sim:noisy?quit=0.3&seed=2"];
  const file = write("sharded.ts", {
    sharded:
      `model: ${JSON.stringify([baseline, weak])}, tasks: grid({ core: [3, 5], depth: 2 }), ` +
      `seed: 1, gate: { baseline: "${baseline}", margin: 0.2, discordance: 0.25, sequential: true }`,
  });
  const journals = [1, 2].map((index) => place.file(`${index}.jsonl`));
  for (const [at, journal] of journals.entries()) {
    const finished = await run(file, { own: [`--out=${journal}`, `--shard=${at + 1}/2`] });
    assertEquals(finished.code, 0, finished.all);
    assertStringIncludes(finished.all, "the gate needs all trials");
  }
  const [plan] = readLines(journals[0]!);
  assertEquals([plan.gate.sequential, plan.gate.lambda], [true, undefined]);
  // The fixed size, in whole blocks of two cells.
  assertEquals(plan.trials, 2 * 72);
  const ids = journals.flatMap((path) => readLines(path).slice(1).map(({ id }) => id));
  assertEquals([ids.length, new Set(ids).size], [plan.trials, plan.trials]);
  const gate = await toolgate(["gate", ...journals]);
  assertEquals(gate.code, 1, gate.all);
  assertStringIncludes(gate.stdout, "Tango's score for pairs");
  assertEquals((await toolgate(["gate", journals[0]!])).code, 3);
});

Deno.test("a pull request gates against an accepted baseline, without the old journal", async () => {
  const baseline = place.file("baseline.json");
  const options = (model: string, more = "") =>
    `model: ${JSON.stringify(model)}, tasks: grid({ core: [3, 4], depth: 2 }), seed: "fresh", ` +
    `gate: { baseline: { file: ${JSON.stringify(baseline)} }, margin: 0.2, discordance: 0.3, ` +
    `sequential: true } ${more}`;
  const old = options("sim:noisy?quit=0.02&seed=1");
  // Before there is a baseline, nothing can pass, and the message says how to make one.
  const [none] = await refusalsOf([`benchmark("mine", { ${old} })`], FILES);
  assertMatch(none!, /Cannot run benchmark mine as there is no baseline .* yet/);
  // A gate errs in some runs by its own design; with one seed it always ends in the same way.
  const journal = place.file("old.jsonl");
  const first = await run(write("old.ts", { mine: old }), {
    own: [`--out=${journal}`, "--seed=4"],
  });
  assertEquals(first.code, 1, first.all);
  assertMatch(first.stdout, /INVALID: .*there is no baseline .* yet: .*toolgate accept/);
  const accepted = await toolgate(["accept", journal, "--out", baseline]);
  assertEquals(accepted.code, 0, accepted.all);
  const size = Deno.statSync(baseline).size;
  assertLess(size, Deno.statSync(journal).size / 20, "a baseline is small");
  await Deno.remove(journal);

  const other = options("sim:planner", ", repetitions: 2");
  const file = write("pulls.ts", {
    good: options("sim:noisy?quit=0.02&seed=2"),
    bad: options("sim:noisy?quit=0.3&seed=2"),
  }, `try { benchmark("other", { ${other} }); } catch (error) { console.log(error.message); }\n`);
  const finished = await run(file);
  assertEquals(finished.code, 1, finished.all);
  const verdict = (name: string) => verdictIn({ ...finished, stdout: outputOf(finished, name) })!;
  assertStringIncludes(finished.stdout, "good: seed 4 of the baseline");
  assertMatch(verdict("good > gate"), /: PASS: /);
  assertStringIncludes(verdict("good > gate"), `quit=0.02&seed=1 (${baseline})`);
  assertStringIncludes(finished.stdout, "not needed: the gate of");
  assertMatch(verdict("bad > gate"), /: FAIL: /);
  // Other graphs cannot be compared.
  assertMatch(finished.stdout, /both must be of the same graphs: they differ in repetitions/);
});

/** What a test printed. */
function outputOf({ stdout, all }: Finished, test: string): string {
  const begin = `\n${test} ...\n------- output -------\n`;
  assertStringIncludes(stdout, begin, all);
  return stdout.split(begin)[1]!.split("----- output end -----")[0]!;
}

Deno.test("a budget ends a run with an honest partial verdict", async () => {
  const model = `model: "sim:noisy?quit=0.1", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
  const file = write("budget.ts", {
    gated: `${model}, graphs: 60, gate: { successRate: 0.7, margin: 0.1 }`,
    strict: `${model}, graphs: 60`,
  });
  const finished = await run(file, { own: [`--out=${place.path}/`, "--max-tokens=30000"] });
  assertEquals(finished.code, 1, finished.all);
  assertMatch(
    verdictIn(finished)!,
    /: UNDECIDED: .* Not all of the plan was run: the budget of 30000 tokens was reached\.$/,
  );
  assertStringIncludes(finished.stdout, "not run: the budget of 30000 tokens was reached");
  const gate = await toolgate(["gate", place.file("gated.jsonl")]);
  assertEquals(gate.code, 3, gate.all);
  assertEquals(verdictIn(gate), verdictIn(finished));
  // Without a gate nothing vouches for what was not run.
  assertMatch(
    finished.stdout,
    /^strict > .*\nerror: AssertionError: The trial was not run as the budget of 30000 tokens was reached/m,
  );
});

Deno.test("a verdict goes to a file as JSON and to the summary of the job", async () => {
  const finished = await usual(GOOD);
  assertEquals(finished.code, 0, finished.all);
  const { verdict, verdicts: [{ kind, model, baseline, text, evidence }] } = JSON.parse(
    Deno.readTextFileSync(VERDICT),
  );
  assertEquals(verdict, "pass");
  assertEquals([kind, model, baseline], ["pass", GOOD, "sim:noisy?quit=0.03&seed=1"]);
  assertStringIncludes(verdictIn(finished)!, text);
  assertEquals(evidence.graphs, decidedAfter(finished));
  const markdown = Deno.readTextFileSync(SUMMARY);
  assertMatch(markdown, /^# A\n### upgrade: pass\n\n#### sim.*\(simulated/);
  assertStringIncludes(markdown, "**PASS**: on the same graphs");
});

Deno.test("a gate that cannot decide says so before anything is run", async () => {
  const model = `model: "sim:planner", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
  const file = write("sizes.ts", {
    small: `${model}, graphs: 5, gate: { successRate: 0.8 }`,
    coarse: `${model}, graphs: 100, gate: { successRate: 0.8 }`,
    enough: `${model}, graphs: 248, gate: { successRate: 0.7, margin: 0.1 }`,
  });
  const finished = await run(file, { flags: ["--filter=small"] });
  assertEquals(finished.code, 1, finished.all);
  assertMatch(
    finished.all,
    /small: warning: the gate cannot pass: not even if all 5 graphs were solved/,
  );
  assertMatch(finished.all, /coarse: 100 graphs .* from one that is 15\.\d points lower/);
  assertMatch(
    finished.all,
    /coarse: warning: the gate is too small for its margin of 5 points: .*graphs: 756/,
  );
  assertStringIncludes(finished.all, "enough: 248 graphs");
  assertEquals(finished.all.includes("enough: warning:"), false, finished.all);
});

const MODEL = `model: "sim:planner", tasks: grid({ core: 3, depth: 2 }), seed: 1`;
const RATE = "gate: { successRate: 0.7, margin: 0.2 }";

/** Gates that contradict themselves, and flags that a benchmark cannot keep to. */
const WRONG: readonly (readonly [options: string, message: RegExp, ...flags: string[]])[] = [
  [
    `${MODEL}, graphs: 5, gate: { successRate: 0.8, sequential: true }`,
    /graphs is 5; leave it out/,
  ],
  [`${MODEL}, gate: { successRate: 0.8, margin: 0, sequential: true }`, /needs a margin above 0/],
  [`${MODEL}, gate: { successRate: 0.8, baseline: "a" }`, /give either successRate or baseline/],
  [`${MODEL}, gate: { baseline: "gpt-5" }`, /gate\.baseline must be one of its models/],
  [`${MODEL}, gate: { baseline: "sim:planner" }`, /must leave something to compare with it/],
  [`${MODEL}, gate: { baseline: { perturbation: "none" } }`, /must leave something to compare/],
  [
    `${MODEL}, gate: { baseline: "a", margin: 0.2 }`,
    /discordance \(default 0\.2\) must be above/,
  ],
  [`${MODEL}, gate: { successRate: 0.8, atMost: { usd: 1 } }`, /price table must have it/],
  [`${MODEL}, gate: { successRate: 0.8, atMost: { failures: { typo: 0.1 } } }`, /typo/],
  [
    `${MODEL}, graphs: 60, ${RATE}`,
    /--verdict needs a gate that decides/,
    ...["--shard=1/2", `--out=${place.file("a.jsonl")}`, `--verdict=${place.file("v.json")}`],
  ],
  [
    `${MODEL}, graphs: 60`,
    /--verdict needs a gate that decides/,
    `--verdict=${place.file("v.json")}`,
  ],
  [
    `${MODEL}, graphs: 60, ${RATE}`,
    /Cannot write the verdicts to .*verdict\.json\/v\.json/,
    `--verdict=${VERDICT}/v.json`,
  ],
  [
    `${MODEL}, graphs: 60, gate: { successRate: 0.7 }`,
    /Cannot compute the cost of model sim:planner as the price table/,
    "--max-usd=1",
  ],
  // The first one may have the file, of which nothing may say more than the last run.
  [`${MODEL}, graphs: 60, ${RATE}`, /^$/, `--verdict=${place.file("two.json")}`],
  [
    `${MODEL}, graphs: 61, ${RATE}`,
    /Cannot keep the verdicts of benchmark bad .* as a file belongs to one suite or benchmark/,
    `--verdict=${place.file("two.json")}`,
  ],
];

Deno.test("benchmark() refuses gates that contradict themselves, and flags for no gate", async (context) => {
  place.write("two.json", '{"verdict":"pass"}');
  const calls = WRONG.map(([options, , ...flags]): Refused => ({
    call: `benchmark("bad", { ${options} })`,
    flags,
  }));
  const told = await refusalsOf(calls, FILES);
  for (const [index, [options, message, ...flags]] of WRONG.entries()) {
    await context.step(`${options} ${flags}`, () => {
      assertMatch(told[index]!, message);
      if (told[index] !== "") assertMatch(told[index]!, /^InputError: /);
    });
  }
  assertEquals(JSON.parse(Deno.readTextFileSync(place.file("two.json"))).verdict, "invalid");
});
