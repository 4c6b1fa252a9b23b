// Suites whose cells share core graphs, as users run them: with a gate that stops, resumed, in shards, against a
// baseline, from recordings, one trial alone, and in deno test.

import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { planOfJournal } from "../../lib/runs/rerun.ts";
import { type Grid, grid } from "../../lib/runs/suite.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { countingServer, folder, readLines, unwrapped } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";

/** Four cells of each of two cores. */
const TASKS: Grid = {
  core: [2, 3],
  depth: 1,
  irrelevant: [0, 3],
  connection: ["connected", "disconnected", "half"],
};
const CELLS = 4;

const suiteOf = (more: object) =>
  JSON.stringify({
    ...{ name: "cores", seed: 1, pair: "distractors", tasks: [TASKS], models: ["m"] },
    ...more,
  });

const SEQUENTIAL = { gate: { successRate: 0.7, margin: 0.2, sequential: true } };

/** A model that gives up in one of ten replies. */
const WEAK = "sim:noisy?quit=0.05&seed=2";

/** How many trials a journal has on each core graph, in the order of the plan. */
function trialsByCore(journal: string): number[] {
  const [, ...trials] = readLines(journal);
  const ordered = trials.toSorted((one, other) => one.index - other.index);
  const cores = Map.groupBy(ordered, ({ task: { core, seed } }) => `${core} ${seed}`);
  return [...cores.values()].map(({ length }) => length);
}

const verdictIn = (stdout: string) => /^\S.*: (?:PASS|FAIL|UNDECIDED): .*$/m.exec(stdout)?.[0];

Deno.test("a sequential gate over shared core graphs counts these, and resumes to the same verdict", async () => {
  await using place = await folder();
  await using server = countingServer(WEAK);
  const suite = place.write("suite.jsonc", suiteOf(SEQUENTIAL));
  const run = (journal: string) => [
    ...["run", suite, "--base-url", server.url, "--out", journal, "--concurrency", "4"],
  ];
  const planned = await toolgate(["plan", suite]);
  assertMatch(planned.stdout, /trials \(cells 8, graphs of each \d+, core graphs \d+, models 1/);
  assertMatch(planned.stdout, /a sequential gate, of at most \d+ core graphs of a model/);
  const apart = await toolgate(["plan", suite, "--pair", "none"]);
  assertMatch(apart.stdout, /a sequential gate, of at most \d+ graphs of a model/);
  const whole = place.file("whole.jsonl");
  const first = await toolgate(run(whole));
  assertEquals(first.code, 0, first.all);
  const gate = await toolgate(["gate", whole]);
  assertEquals(gate.code, 0, gate.all);
  const decided = Number(/decided after (\d+) core graphs/.exec(gate.stdout)?.[1]);
  const [plan] = readLines(whole);
  assertEquals([plan.resolved.pair, plan.rule.blockSize], ["distractors", 2]);
  assertEquals(planOfJournal(whole).trials.length, CELLS * plan.rule.largestSize);
  assertLess(decided, plan.rule.largestSize);
  // Each core graph that was decided on has its trial in every cell.
  const counts = trialsByCore(whole);
  assert(counts.slice(0, decided).every((count) => count === CELLS), counts.join());
  assertStringIncludes(gate.stdout, `of ${CELLS * decided} valid trials`);

  const lines = Deno.readTextFileSync(whole).split("\n").slice(0, 12);
  const journal = place.write("cut.jsonl", `${lines.join("\n")}\n`);
  const last = await toolgate([...run(journal), "--resume"]);
  assertEquals(last.code, 0, last.all);
  const resumed = verdictIn((await toolgate(["gate", journal])).stdout);
  assertEquals(resumed?.replace(/ The run was resumed .*/, ""), verdictIn(gate.stdout));
});

Deno.test("baselines, reports and --only take shared core graphs", async () => {
  await using place = await folder();
  const models = [WEAK];
  const suite = place.write(
    "suite.jsonc",
    suiteOf({ models, graphs: 8, gate: { successRate: 0.6, margin: 0.3 } }),
  );
  const ok = async (...line: string[]) => {
    const ended = await toolgate(line);
    assertEquals(ended.code, 0, ended.all);
    return ended;
  };
  const whole = place.file("whole.jsonl");
  await ok("run", suite, "--out", whole);
  const alone = await ok("gate", "--json", whole);
  const { evidence } = JSON.parse(alone.stdout).verdicts[0];
  assertEquals([evidence.graphs, evidence.valid, evidence.method], [16, 16 * CELLS, "betting"]);

  const baseline = place.file("baseline.json");
  await ok("accept", whole, "--out", baseline);
  const gated = { baseline: { file: baseline }, margin: 0.2, discordance: 0.3 };
  const own = suiteOf({ models: ["sim:planner"], graphs: 8, gate: gated });
  const upgrade = place.write("upgrade.jsonc", own);
  const newer = place.file("new.jsonl");
  await ok("run", upgrade, "--out", newer);
  const compared = await ok("gate", newer);
  assertMatch(compared.stdout, /PASS: on the same core graphs/);
  // Without the pairing its tasks are others.
  const refused = await toolgate(["run", upgrade, "--pair", "none"]);
  assertEquals(refused.code, 2, refused.all);
  assertMatch(refused.stderr, /same graphs: they differ in pair/);

  const { id } = readLines(whole).at(-1);
  const only = await toolgate(["run", whole, "--only", id]);
  assertEquals(only.code, 0, only.all);
  assertStringIncludes(only.stdout, "sim:noisy?quit=0.05&seed=2 (simulated)");

  const [json, markdown] = [place.file("o.json"), place.file("o.md")];
  await ok("report", whole, "--json", json, "--markdown", markdown);
  const report = await ok("report", whole);
  for (const text of [report.stdout, Deno.readTextFileSync(markdown)]) {
    assertStringIncludes(text, "Effect of irrelevant functions on the same core graphs");
  }
  const { distractors: [first] } = JSON.parse(Deno.readTextFileSync(json)).metrics;
  assertEquals([first.against, first.units], ["no extra", 16]);

  const check = ["selfcheck", suite, "--gate", "upgrade", "--gates", "20"];
  // The margin of the suite is wider than any discordance: that is said before anything is run.
  const early = await toolgate(check);
  assertEquals([early.code, /trials/.test(early.stderr)], [2, false], early.all);
  const checked = await toolgate([...check, "--margin", "0.1"]);
  assertEquals(checked.code, 0, checked.all);
  assertMatch(checked.stderr, /Each graph is run 2 times/);
});

Deno.test("benchmark() with --pair stops by core graphs, and comes to what the command comes to", async () => {
  await using place = await folder();
  const journal = place.file("cores.jsonl");
  const tested = await CollectedTests.of(() =>
    benchmark("cores", {
      ...{ model: WEAK, tasks: grid(TASKS), seed: 1 },
      ...SEQUENTIAL,
    }), [`--out=${journal}`, "--pair=distractors"]).run();
  assertEquals(tested.code, 0, tested.all);
  const decided = Number(/decided after (\d+) core graphs/.exec(tested.stdout)?.[1]);
  assert(trialsByCore(journal).slice(0, decided).every((count) => count === CELLS));
  const suite = place.write(
    "suite.jsonc",
    suiteOf({ ...SEQUENTIAL, models: [WEAK] }),
  );
  const out = place.file("suite.jsonl");
  const commanded = await toolgate(["run", suite, "--out", out]);
  assertEquals(commanded.code, 0, commanded.all);
  const gate = await toolgate(["gate", out]);
  assertEquals(verdictIn(unwrapped(tested.stdout)), verdictIn(gate.stdout));
  assertEquals(Number(/decided after (\d+) core graphs/.exec(gate.stdout)?.[1]), decided);
});
