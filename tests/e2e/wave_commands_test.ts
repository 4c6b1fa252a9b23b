// Waves as users run them: processes that are killed and go on, files of tests, and messages for wrong input.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { shuffle } from "@std/random";
import { fork } from "../../lib/base/random.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { planOfJournal } from "../../lib/runs/rerun.ts";
import { grid } from "../../lib/runs/suite.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { beginToolgate, countingServer, folder, readLines } from "../support/child.ts";
import { CollectedTests, type Selection } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";

const SEED = 20261124;

/** A model near the edge, of which no wave but the last decides. */
const OPEN = {
  name: "open",
  seed: 2,
  tasks: [{ core: [1, 2], depth: [0, 1] }],
  models: ["sim:noisy?quit=0.1"],
  gate: { successRate: 0.9, margin: 0.2, sequential: true },
};

Deno.test("waves that are killed at any moment go on, and have each trial once", async () => {
  await using place = await folder();
  await using server = countingServer("sim:noisy?quit=0.13", 15);
  const suite = place.write("suite.jsonc", JSON.stringify({ ...OPEN, models: ["m"] }));
  const { prng } = fork(SEED, "kills");
  const line = (wave: number, shard: number) => [
    ...["run", suite, "--base-url", server.url, "--concurrency", "2", "--resume"],
    ...["--wave", `${wave}/2`, "--shard", `${shard}/2`],
    ...["--out", place.file(`results/${wave}-${shard}.jsonl`)],
  ];
  let kills = 0;
  for (const wave of [1, 2]) {
    // Both shards are killed; then they go on to their end.
    const before = server.requests;
    const children = [1, 2].map((shard) => beginToolgate(line(wave, shard)));
    await Promise.race([
      server.reached(before + 2 + Math.floor(10 * prng())),
      ...children.map(({ finished }) => finished),
    ]);
    for (const { process, finished } of children) {
      try {
        process.kill("SIGKILL");
      } catch { /* It has ended. */ }
      if ((await finished).code === 137) kills++;
    }
    for (const shard of [1, 2]) {
      const ended = await toolgate(line(wave, shard));
      assertEquals(ended.code, 0, ended.all);
    }
  }
  assert(kills >= 2, `${kills} kills`);
  const names = [...Deno.readDirSync(place.file("results"))].map(({ name }) => name).sort();
  assertEquals(names.slice(0, 2), ["1-1.jsonl", "1-2.jsonl"]);
  for (const name of names) {
    const path = place.file(`results/${name}`);
    const [line, ...trials] = readLines(path);
    assertEquals(`${line.wave.index}-${line.shard.index}.jsonl`, name);
    const planned = shardOf(planOfJournal(path), line.shard, line.wave);
    assertEquals(trials.map(({ id }) => id).sort(), planned.map(({ id }) => id).sort());
  }
  const gate = await toolgate(["gate", place.file("results")]);
  assertMatch(gate.stdout, /^m: (PASS|FAIL|UNDECIDED): /m, gate.all);
});

/** A benchmark and a suite of own tests, whose gates need more than a wave. */
function register(): void {
  benchmark("open", {
    model: "sim:noisy?quit=0.1",
    tasks: grid({ core: [1, 2], depth: [0, 1] }),
    seed: 2,
    gate: { successRate: 0.9, margin: 0.2, sequential: true },
  });
  const weather = tool({
    name: "weather",
    description: "Tells the weather of a city",
    parameters: { type: "object", properties: { city: { type: "string" } } },
    returns: { sky: "clear" },
  });
  toolTest("own", {
    model: "sim:noisy?quit=0.1",
    tools: [weather],
    prompt: "How is the weather in Rome?",
    seed: 1,
    gate: { successRate: 0.5, margin: 0.2, sequential: true },
    assert: (run) => assertCalled(run, "weather"),
  });
}

const testing = (own: readonly string[], selection: Selection = {}) =>
  CollectedTests.of(register, own).run(selection);

Deno.test("deno test -- --wave comes to what one run comes to, however its tests are run", async () => {
  await using place = await folder();
  const alone = await testing([`--verdict=${place.path}/verdicts/`, "--concurrency=1"]);
  const own = (wave: number, shard: number) => [
    ...[`--wave=${wave}/3`, `--shard=${shard}/2`, `--out=${place.path}/results/`],
  ];
  for (const wave of [1, 2, 3]) {
    for (const shard of [1, 2]) {
      const order = (tests: Deno.TestDefinition[]) =>
        shuffle(tests, fork(2 * wave + shard, "order"));
      const ended = await testing(own(wave, shard), { order });
      assertEquals(ended.code, 0, ended.all);
      if (wave === 1) {
        assertStringIncludes(ended.all, "Over the journals of all shards and waves decides: ");
      }
    }
  }
  const { stdout } = await toolgate(["gate", "--json", place.file("results")]);
  const decided = stdout.split(/^(?=\{)/m).map((one) => JSON.parse(one));
  for (const name of ["open", "own"]) {
    const told = JSON.parse(Deno.readTextFileSync(place.file(`verdicts/${name}.json`)));
    const own = decided.find(({ suite }) => suite === name)!;
    assertEquals([own.verdict, own.verdicts], [told.verdict, told.verdicts], alone.all);
  }

  // A part of the tests is a short shard: the gate says so until the rest is run, too.
  const journal = place.file("filtered/open.wave1.jsonl");
  const filtered = await testing(
    ["--wave=1/3", `--out=${place.path}/filtered/`],
    { filter: (name) => /^open > .*core 1/.test(name) },
  );
  assertEquals(filtered.code, 0, filtered.all);
  const before = await toolgate(["gate", journal]);
  assertEquals(before.code, 3, before.all);
  assertMatch(
    before.stdout,
    /INVALID: wave 1\/3 \(\S+open\.wave1\.jsonl\) lacks \d+ of its \d+ trials/,
  );
  // The same cells.
  const tasks = [{ core: 1, depth: 0 }, { core: 2, depth: 1 }];
  const options = { ...OPEN, tasks };
  const resume = ["--wave", "1/3", "--out", journal, "--resume"];
  const rest = await toolgate(["run", place.write("s.jsonc", JSON.stringify(options)), ...resume]);
  assertEquals(rest.code, 0, rest.all);
  const after = await toolgate(["gate", journal]);
  assertEquals(after.code, 4, after.all);
});

Deno.test("toolgate run and gate tell how waves go on", async (context) => {
  await using place = await folder();
  const suite = place.write("suite.jsonc", JSON.stringify(OPEN));
  const out = place.file("results/1.jsonl");
  const first = await toolgate(["run", suite, "--wave", "1/3", "--out", out]);
  assertEquals(first.code, 0, first.all);
  assertMatch(first.stderr, /^Wave 1\/3: 20 trials, of blocks 1 to 10 of 31$/m);
  assertMatch(
    first.stderr,
    /^To decide: .*gate, with the folder of the journals of all shards and waves so far$/m,
  );
  const results = place.file("results");
  const told = "by the same command with --wave=2/3";

  await context.step("in the terminal and in the job's summary", async () => {
    const summary = place.file("summary.md");
    const env = { GITHUB_STEP_SUMMARY: summary, GITHUB_ACTIONS: "true" };
    const gate = await toolgate(["gate", results], { env });
    assertEquals(gate.code, 4, gate.all);
    assertStringIncludes(
      gate.stdout.replaceAll(/\s+/g, " "),
      `Run wave 2 of 3 next, ${told} and a new --out in the same folder.`,
    );
    assertMatch(
      Deno.readTextFileSync(summary),
      /### open: continue[^]*\*\*CONTINUE\*\*: .*wave 2 of 3/,
    );
    assertEquals(gate.stderr.includes("::error"), false, gate.all);
  });
  await context.step("as JSON", async () => {
    const { verdict, exitCode, verdicts: [one] } = JSON.parse(
      (await toolgate(["gate", results, "--json"])).stdout,
    );
    assertEquals([verdict, exitCode, one.kind], ["continue", 4, "continue"]);
    assertEquals(one.next, { index: 2, of: 3 });
  });
  await context.step("in reports", async () => {
    const markdown = place.file("r.md");
    const report = await toolgate(["report", results, "--markdown", markdown]);
    assertEquals(report.code, 0, report.all);
    const text = Deno.readTextFileSync(markdown);
    assertStringIncludes(text, "CONTINUE");
    assertMatch(text, /wave 2 of 3 next, by the same command with -(-|&#45;)wave/);
    assertStringIncludes(text, "the run goes on with its next wave");
  });
  await context.step("of several suites, also where another one has failed", async () => {
    const weak = {
      ...OPEN,
      name: "weak",
      models: ["sim:noisy?quit=0.9"],
      tasks: [{ core: 2, depth: 1 }],
    };
    const other = place.write("weak.jsonc", JSON.stringify(weak));
    const failed = place.file("both/failed.jsonl");
    await toolgate(["run", other, "--out", failed]);
    assertEquals((await toolgate(["gate", failed])).code, 1);
    Deno.copyFileSync(out, place.file("both/open.jsonl"));
    assertEquals((await toolgate(["gate", place.file("both")])).code, 4);
  });
  await context.step("with a spent budget", async () => {
    const spent = place.file("spent");
    for (const wave of [1, 2, 3]) {
      const ended = await toolgate([
        ...["run", suite, "--wave", `${wave}/3`, "--max-tokens", "1"],
        ...["--out", `${spent}/${wave}.jsonl`],
      ]);
      assertEquals(ended.code, 3, ended.all);
      assertMatch(
        ended.stderr,
        wave === 1 ? /trials were not run: the budget of 1 tokens was reached/ : new RegExp(
          `^Nothing is left to run in wave ${wave}/3: the budget of 1 tokens was`,
          "m",
        ),
      );
    }
    assertEquals([...Deno.readDirSync(spent)].map(({ name }) => name), ["1.jsonl"]);
  });
});
