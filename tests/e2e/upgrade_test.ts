// Upgrade gates and sequential gates in benchmarks, and the commands around them, against a server that counts. Each
// candidate runs once as usual, and several tests look at what came of it.

import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { shuffle } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { grid } from "../../lib/runs/suite.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { countingServer, type Finished, folder, readLines, unwrapped } from "../support/child.ts";
import { type CollectedRun, CollectedTests, type Selection } from "../support/collected.ts";
import { toolgate, toolgates } from "../support/command_line.ts";

/** Candidates, one for each verdict. */
const GOOD = "sim:noisy?quit=0.02&seed=2";
const BAD = "sim:noisy?quit=0.1&seed=2";
/** Graphs that the coarser gate plans at most. */
const LARGEST = 126;
const CONCURRENCY = 8;
const place = await folder();
/** It answers all runs, as a journal goes on with the server that it began with. */
const server = countingServer(null);
Deno.test.afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

interface RunOptions extends Selection {
  /** Flags behind `--`. */
  readonly own?: readonly string[];
}

/** What benchmarks came to, and how many trials they asked the server for. */
interface Ran extends CollectedRun {
  readonly trials: number;
}

/** Runs benchmarks, whose options are source text, by their names. */
async function run(
  benchmarks: Readonly<Record<string, string>>,
  { own = [], ...selection }: RunOptions = {},
): Promise<Ran> {
  const before = server.trials;
  const calls = Object.entries(benchmarks)
    .map(([name, options]) => `benchmark(${JSON.stringify(name)}, { ${options} });`);
  const body = new Function("benchmark", "grid", calls.join("\n"));
  const finished = await CollectedTests.of(() => body(benchmark, grid), own).run(selection);
  return { ...finished, trials: server.trials - before };
}

/** Runs a benchmark like fixtures/benchmarks/upgrade.ts, with a coarser gate, for a candidate. */
function upgrade(candidate: string, options: RunOptions = {}): Promise<Ran> {
  const baseline = "sim:noisy?quit=0.03&seed=1";
  const models = [baseline, candidate].map((model) => ({ model, baseURL: server.url }));
  return run({
    upgrade: `model: ${JSON.stringify(models)}, tasks: grid({ core: [3, 5], depth: 2 }), seed: 1,
      gate: { baseline: "${baseline}", margin: 0.2, discordance: 0.3, sequential: true }`,
  }, options);
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

function usual(candidate: string): Promise<Ran> {
  const ran = begun.get(candidate) ?? upgrade(candidate, {
    own: candidate === GOOD ? [] : [`--out=${JOURNAL}`],
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
    const steps = finished.tests.flatMap(({ steps }) => steps);
    const spared = steps.filter((step) =>
      /^not needed: the gate of .* had decided after/.test(step)
    );
    assertEquals(spared.length + finished.trials, 2 * LARGEST);
    assertEquals(finished.tests.filter(({ ended }) => ended === "FAILED").length, code);
    assertMatch(finished.stdout, /upgrade: a sequential gate, of at most 126 graphs of a model/);
  });
}

Deno.test("an upgrade gate decides the same when cases are shuffled, and spares as much", async () => {
  const ordered = await usual(GOOD);
  const finished = await upgrade(GOOD, {
    order: (tests) => shuffle(tests, fork(3, "order")),
  });
  assertEquals(verdictIn(finished), verdictIn(ordered), finished.all);
  assertEquals(decidedAfter(finished), decidedAfter(ordered));
  // A case or two ask for trials far ahead before the shuffling is seen.
  assertLessOrEqual(finished.trials, 2 * decidedAfter(ordered) + 4 * CONCURRENCY);
});

Deno.test("an upgrade gate comes to its end when only some cases are selected", async () => {
  const finished = await upgrade(GOOD, { filter: (name) => /graph 30,|gate/.test(name) });
  const verdict = verdictIn(await usual(GOOD));
  assertEquals([finished.code, verdictIn(finished)], [0, verdict], finished.all);
  // Without the gate's own test nothing is decided, and that is said.
  const cases = await upgrade(GOOD, { filter: (name) => name.includes("graph 2,") });
  assertEquals(cases.code, 0, cases.all);
  assertStringIncludes(cases.all, "upgrade: the gate did not run: nothing was decided");
});

Deno.test("gate applies the rule of the plan line, whatever the journal has beyond it", async () => {
  const ran = await usual(BAD);
  const [plan, ...trials] = readLines(JOURNAL);
  assertEquals(Object.keys(plan.rule), [
    "lambda",
    "alpha",
    "beta",
    "blockSize",
    "fixedSize",
    "largestSize",
  ]);
  assertEquals(plan.rule.largestSize, LARGEST);
  const graphs = decidedAfter(ran);
  assert(trials.length >= 2 * graphs);
  const lines = Deno.readTextFileSync(JOURNAL).split("\n");
  const part = place.write("part.jsonl", lines.slice(0, graphs).join("\n") + "\n");
  const [gate, changed, interrupted, asJson] = await toolgates([
    ["gate", JOURNAL],
    ["gate", JOURNAL, "--margin", "0.2"],
    ["gate", part],
    ["gate", JOURNAL, "--json"],
  ]);
  assertEquals(gate!.code, 1, gate!.all);
  assertEquals(verdictIn(gate!), verdictIn(ran));
  assertEquals(decidedAfter(gate!), graphs);
  // The rule is not to be changed afterwards, and a part of the trials is no run.
  assertEquals(changed!.code, 2, changed!.all);
  assertStringIncludes(changed!.stderr, "the plan's gate is sequential");
  assertEquals(interrupted!.code, 3, interrupted!.all);
  assertMatch(interrupted!.stdout, /INVALID: .*the run was interrupted.*continue it with --resume/);
  const resumed = await upgrade(BAD, { own: [`--out=${part}`, "--resume"] });
  assertEquals(verdictIn(resumed)?.replace(/ The run was resumed .*/, ""), verdictIn(ran));
  const json = JSON.parse(asJson!.stdout);
  assertEquals([json.verdict, json.exitCode, json.verdicts.length], ["fail", 1, 1]);
  assertEquals(json.verdicts[0].evidence.graphs, graphs);
});

Deno.test("a pull request gates against an accepted baseline, without the old journal", async () => {
  const baseline = place.file("baseline.json");
  const options = (model: string, more = "") =>
    `model: ${JSON.stringify(model)}, tasks: grid({ core: [3, 4], depth: 2 }), seed: "fresh", ` +
    `gate: { baseline: { file: ${JSON.stringify(baseline)} }, margin: 0.2, discordance: 0.3, ` +
    `sequential: true } ${more}`;
  const old = options("sim:noisy?quit=0.02&seed=1");
  // Before there is a baseline, nothing can pass, and the message says how to make one.
  // A gate errs in some runs by its own design; with one seed it always ends in the same way.
  const journal = place.file("old.jsonl");
  const first = await run({ mine: old }, {
    own: [`--out=${journal}`, "--seed=4"],
  });
  assertEquals(first.code, 1, first.all);
  assertMatch(first.stdout, /INVALID: .*there is no baseline .*toolgate accept old/);
  const accepted = await toolgate(["accept", journal, "--out", baseline]);
  assertEquals(accepted.code, 0, accepted.all);
  const size = Deno.statSync(baseline).size;
  assertLess(size, Deno.statSync(journal).size / 20, "a baseline is small");
  await Deno.remove(journal);

  const other = options("sim:planner", ", repetitions: 2");
  const finished = await run({
    good: options("sim:noisy?quit=0.02&seed=2"),
    bad: options("sim:noisy?quit=0.3&seed=2"),
    other,
  });
  assertEquals(finished.code, 1, finished.all);
  const verdict = (name: string) => verdictIn({ ...finished, stdout: outputOf(finished, name) })!;
  assertStringIncludes(finished.stdout, "good: seed 4 of the baseline");
  assertMatch(verdict("good > gate"), /: PASS: /);
  assertStringIncludes(verdict("good > gate"), `quit=0.02&seed=1 (simulated) (${baseline})`);
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
  const finished = await run({
    gated: `${model}, graphs: 60, gate: { successRate: 0.7, margin: 0.1 }`,
    strict: `${model}, graphs: 60`,
  }, { own: [`--out=${place.path}/`, "--max-tokens=30000"] });
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
