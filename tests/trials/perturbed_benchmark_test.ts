// Perturbations in benchmark files and on the command line, as users run them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Suite } from "../../lib/runs/suite.ts";
import { deno, type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

/** A benchmark file over two small graphs. */
function benchmarkFile(options: string): string {
  return `import { benchmark } from ${MOD};
benchmark("brittle", {
  tasks: { core: 3, depth: 2, surface: "rich" },
  seed: 5,
  graphs: 2,
  ${options},
});`;
}

/** Writes a suite of the planner on tiny tasks, unless told otherwise. */
function suiteFile(place: Folder, name: string, changes: Partial<Suite>): string {
  const usual = { seed: 3, graphs: 40, tasks: [{ core: 2, depth: 1 }], models: ["sim:planner"] };
  return place.write(`${name}.jsonc`, JSON.stringify({ name, ...usual, ...changes }));
}

function run(file: string, ...own: readonly string[]) {
  return deno([
    ...["test", "--no-check", "--no-prompt", "--config=deno.json", "--allow-net=127.0.0.1"],
    ...[`--allow-read=${file.slice(0, file.lastIndexOf("/"))}`],
    ...[`--allow-write=${file.slice(0, file.lastIndexOf("/"))}`, file, "--", ...own],
  ]);
}

Deno.test("benchmark() without a gate: each case ends as its perturbation asks", async () => {
  await using temporary = await folder();
  const file = temporary.write(
    "brittle_test.ts",
    benchmarkFile('model: "sim:planner", perturbations: ["none", "RP_F", "CO", "WT", "rename"]'),
  );
  const journal = temporary.file("trials.jsonl");
  const finished = await run(file, `--out=${journal}`);
  // Only what declares wrong types breaks a planner that reads what is declared.
  assertEquals(finished.code, 1, finished.all);
  assertMatch(finished.stdout, /8 passed \| 2 failed/);
  const outcomes = new Map(
    readLines(journal).slice(1).map(
      ({ perturbation, outcome }) => [perturbation, outcome],
    ),
  );
  assertEquals(Object.fromEntries(outcomes), {
    none: "solved",
    RP_F: "abstained",
    CO: "solved",
    WT: "no_answer",
    rename: "solved",
  });

  // The line that is printed runs the same trial again, perturbed as it was.
  const replay = /^replay: deno test -A \S+ -- --only='([^']*perturbation=WT[^']*)'$/m
    .exec(finished.stdout)![1]!;
  const again = await run(file, `--only=${replay}`);
  assertEquals(again.code, 1, again.all);
  assertMatch(again.stdout, /0 passed \| 1 failed/);
  assertStringIncludes(again.stdout, "wrong_number_of_inputs");
});

Deno.test("benchmark() without a gate: who makes something up has not abstained", async () => {
  await using temporary = await folder();
  const file = temporary.write(
    "brittle_test.ts",
    `import { scripted } from ${MOD};
const model = scripted("bold", () => ({ text: "It is 999999." }));
` + benchmarkFile('model, perturbations: ["RP_L"]'),
  );
  const finished = await run(file);
  assertEquals(finished.code, 1, finished.all);
  assertStringIncludes(finished.stdout, "The model did not abstain");
});

Deno.test("a gate holds models to flips, over journals as well", async () => {
  await using temporary = await folder();
  const suite = suiteFile(temporary, "flips", {
    tasks: [{ core: 3, depth: 2, connected: 2 }],
    models: [{ model: "sim:noisy?stale=0.15&seed=1", name: "drawing" }, "sim:planner"],
    perturbations: ["none", "rename"],
    gate: { successRate: 0.2, margin: 0.1, atMost: { flips: 0.05 } },
  });
  const journal = temporary.file("flips.jsonl");
  const ran = await toolgate(["run", suite, "--out", journal]);
  assertEquals(ran.code, 0, ran.all);
  assertMatch(ran.stdout, /^Checks that should change nothing/m);
  const gated = await toolgate(["gate", journal]);
  // Its noise is drawn by the prompt, which names other variables.
  assertEquals(gated.code, 1, gated.all);
  assertMatch(gated.stdout, /drawing \+ rename.*FAIL/);
  assertMatch(gated.stdout, /the share of trials whose outcome changes under the check: /);
  assertMatch(gated.stdout, /sim:planner \+ rename.*PASS/);
});

Deno.test("run --perturbation takes the place of the suite's, and bad ones are told", async () => {
  const ran = await toolgate(["run", "--perturbation", "RD", "--perturbation", "none"]);
  assertEquals(ran.code, 0, ran.all);
  assertStringIncludes(ran.stdout, "sim:planner + RD (simulated)");
  const wrong = await toolgate(["run", "--perturbation", "RX"]);
  assertEquals(wrong.code, 2, wrong.all);
  assertMatch(wrong.stderr, /perturbations\[0\]: must be none, or some of unrelated, .*: RX/);
});

Deno.test("a model sees no more of a result than the observation limit lets it", async () => {
  await using temporary = await folder();
  for (const [limit, solved] of [[5, 0], [1024, 3]] as const) {
    const journal = temporary.file(`${limit}.jsonl`);
    const suite = suiteFile(temporary, `limit_${limit}`, {
      graphs: 3,
      limits: { observation: limit },
    });
    const ran = await toolgate(["run", suite, "--out", journal]);
    assertEquals(ran.code, 0, ran.all);
    const trials = readLines(journal).slice(1);
    assertEquals(trials.filter((trial) => trial.solved).length, solved);
    const results = trials.flatMap((trial) => trial.events)
      .flatMap((event) => event.kind === "call" ? [event.result] : []);
    assert(results.length > 0 && results.every((text) => text.length <= limit));
  }
});

Deno.test("benchmark() and gate agree on parameter failures, reports beside it or not", async () => {
  await using temporary = await folder();
  const gate = 'gate: { successRate: 0.8, margin: 0.79, undecided: "pass", ' +
    "atMost: { parameterFailures: { task_deviation: 0.05 } } }";
  const file = temporary.write(
    "brittle_test.ts",
    benchmarkFile(`model: "sim:planner", perturbations: ["none", "SD"], ${gate}`)
      .replace("graphs: 2", "graphs: 30"),
  );
  const journal = temporary.file("trials.jsonl");
  const exceeded = /task_deviation of a parameter: [\d.]+%, ceiling 5\.0%: exceeded/;
  const finished = await run(file, `--out=${journal}`);
  assertEquals(finished.code, 1, finished.all);
  assertMatch(finished.stdout, exceeded);
  const gated = await toolgate(["gate", journal]);
  assertEquals(gated.code, 1, gated.all);
  assertMatch(gated.stdout, exceeded);
  const html = temporary.file("report.html");
  const reported = await run(file, `--report=${html}`);
  assertMatch(reported.stdout, exceeded);
  assertStringIncludes(Deno.readTextFileSync(html), "Failure rates under perturbations");
});

Deno.test("what was not changed stays out of self-checks, and out of accepted baselines", async () => {
  await using temporary = await folder();
  const perturbations = ["none", "SD"];
  const suite = suiteFile(temporary, "idle", { perturbations });
  const journal = temporary.file("idle.jsonl");
  const ran = await toolgate(["run", suite, "--out", journal]);
  assertEquals(ran.code, 0, ran.all);
  const changed = readLines(journal).slice(1)
    .filter((trial) => trial.perturbation === "SD" && trial.changed !== false).length;
  assert(changed > 0 && changed < 40, `${changed} of 40 were changed`);

  const accepted = temporary.file("idle.json");
  const accept = await toolgate(["accept", journal, "--out", accepted]);
  assertEquals(accept.code, 0, accept.all);
  assertStringIncludes(accept.stderr, "Accepted 80 trials of 1 model");
  const again = temporary.file("again.jsonl");
  const more = await toolgate([
    ...["run", suite, "--model", "sim:noisy?seed=1", "--out", again],
  ]);
  assertEquals(more.code, 0, more.all);
  const gates = await Promise.all(
    [journal, accepted].map((baseline) =>
      toolgate(["gate", again, "--baseline", baseline, "--json"])
    ),
  );
  // Held against the accepted perturbed trials, the unperturbed ones meet those that were changed.
  const upgrade = suiteFile(temporary, "upgrade", {
    perturbations,
    gate: { baseline: { file: accepted, perturbation: "SD" } },
  });
  const against = await toolgate([
    ...["run", upgrade, "--model", "sim:noisy?seed=2", "--perturbation", "none"],
    ...["--perturbation", "SD", "--out", temporary.file("upgrade.jsonl")],
  ]);
  assertEquals(against.code, 0, against.all);
  const upgraded = await toolgate(["gate", temporary.file("upgrade.jsonl"), "--json"]);
  const compared = JSON.parse(upgraded.stdout).verdicts.map((
    { evidence }: { evidence?: { graphs: number } },
  ) => evidence?.graphs);
  assertEquals(compared, [changed, changed]);

  const [one, other] = gates.map(({ stdout }) =>
    JSON.parse(stdout).verdicts.map((
      { perturbation, evidence }: { perturbation: string; evidence?: { graphs: number } },
    ) => [perturbation, evidence?.graphs])
  );
  assertEquals(one, other);
  assertEquals(new Map(one).get("SD"), changed);
});

Deno.test("selfcheck leaves out what no gate can be asked of, and says so", async () => {
  await using temporary = await folder();
  const suite = suiteFile(temporary, "idle", {
    graphs: 5,
    perturbations: ["none", "AP", "RP_F"],
  });
  const journal = temporary.file("idle.jsonl");
  assertEquals((await toolgate(["run", suite, "--out", journal])).code, 0);
  const checked = await toolgate(["selfcheck", journal, "--gate", "rate", "--gates", "20"]);
  assertEquals(checked.code, 0, checked.all);
  assertStringIncludes(
    checked.stderr,
    "sim:planner + AP is left out: its perturbation found nothing to change\n" +
      "sim:planner + RP_F is left out: under its perturbation no task can be solved\n",
  );
  assertEquals(checked.stdout.match(/^sim:planner.*$/gm), ["sim:planner (simulated)"]);
});
