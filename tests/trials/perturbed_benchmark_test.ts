// Perturbations in benchmark files and on the command line, as users run them.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { scripted } from "../../lib/models/scripted.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { type Folder, folder, readLines } from "../support/child.ts";
import { type CollectedEnd, type CollectedRun, CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";

/** Writes a suite of the planner on tiny tasks, by default. */
function suiteFile(place: Folder, name: string, changes: Partial<Suite>): string {
  const usual = { seed: 3, graphs: 20, tasks: [{ core: 2, depth: 1 }], models: ["sim:planner"] };
  return place.write(`${name}.jsonc`, JSON.stringify({ name, ...usual, ...changes }));
}

const place = await folder();
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

const FILES = ["brittle", "gated"].map((name) => place.file(`${name}.jsonl`));

/** Registers benchmarks over small graphs, of which these keep their trials. */
function register([brittle, gated]: readonly string[] = []) {
  const tasks = { core: 3, depth: 2, surface: "rich", extraEdges: 20 } as const;
  const common = { tasks: { ...tasks, cues: "none" }, seed: 5, graphs: 2 } as const;
  const bold = scripted("bold", () => ({ text: "It is 999999." }));
  benchmark("brittle", {
    ...common,
    model: "sim:planner?reads=types",
    perturbations: ["none", "RP_F", "CO", "WT", "rename"],
    ...(brittle === undefined ? {} : { journal: brittle }),
  });
  benchmark("bold", { ...common, model: bold, perturbations: ["RP_L"] });
  benchmark("gated", {
    ...{ seed: 5, graphs: 30, tasks: { ...tasks, cues: "names" } },
    model: "sim:planner?reads=descriptions",
    perturbations: ["none", "SD"],
    gate: {
      ...{ successRate: 0.8, margin: 0.79, undecided: "pass" },
      atMost: { parameterFailures: { task_deviation: 0.05 } },
    },
    ...(gated === undefined ? {} : { journal: gated }),
  });
  benchmark("misled", { ...common, model: bold, perturbations: ["SD"] });
}

let finished: CollectedRun;
Deno.test.beforeAll(async () => {
  finished = await CollectedTests.of(() => register(FILES)).run();
});

/** How the cases of a benchmark ended, and their errors. */
function casesOf({ tests }: CollectedRun, name: string): CollectedEnd[] {
  return tests.filter((one) => one.name.startsWith(`${name} > `));
}

const endedIn = (run: CollectedRun, name: string) => casesOf(run, name).map(({ ended }) => ended);

Deno.test("benchmark() without a gate: each case ends as its perturbation asks", async () => {
  // Only what declares wrong types breaks a planner that reads what is declared.
  const ended = endedIn(finished, "brittle");
  assertEquals([ended.length, ended.filter((one) => one === "ok").length], [10, 8]);
  const outcomes = new Map(
    readLines(place.file("brittle.jsonl")).slice(1).map(
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
  const failed = casesOf(finished, "brittle").find(({ ended }) => ended === "FAILED")!;
  const [, id] = /^rerun: deno test -A --no-check \S+ -- --only='([^']*perturbation=WT[^']*)'$/m
    .exec(failed.error)!;
  const again = await CollectedTests.of(() => register(), [`--only=${id}`]).run();
  assertEquals(endedIn(again, "brittle"), ["FAILED"]);
  assertStringIncludes(casesOf(again, "brittle")[0]!.error, "wrong_number_of_inputs");
});

Deno.test("benchmark() without a gate: who makes something up has not abstained", () => {
  for (const { error } of casesOf(finished, "bold")) {
    assertMatch(error, /^AssertionError: The model did not abstain/);
  }
  // Documents that mislead are no fault of a model.
  const told = casesOf(finished, "misled").map(({ error }) => error).join("\n");
  assertMatch(told, /^AssertionError: The trial says nothing about the model: SD misleads/m);
});

Deno.test("run --perturbation takes the place of the suite's, and bad ones are told", async () => {
  await using temporary = await folder();
  const suite = suiteFile(temporary, "checks", { graphs: 2, perturbations: ["rename"] });
  const ran = await toolgate(["run", suite, "--perturbation", "RD", "--perturbation", "none"]);
  assertEquals(ran.code, 0, ran.all);
  assertStringIncludes(ran.stdout, "sim:planner + RD (simulated)");
  assert(!ran.stdout.includes("rename"), ran.all);
  const wrong = await toolgate(["run", "--perturbation", "RX"]);
  assertEquals(wrong.code, 2, wrong.all);
  assertMatch(wrong.stderr, /perturbations\[0\]: must be none, or some of unrelated, .*: RX/);
});

Deno.test("a model sees no more of a result than the observation limit lets it (Butterfly 5.2)", async () => {
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
  const exceeded = /task_deviation of a parameter: [\d.]+%, ceiling 5\.0%: exceeded/;
  assertMatch(casesOf(finished, "gated").at(-1)!.error, exceeded);
  const gated = await toolgate(["gate", place.file("gated.jsonl")]);
  assertEquals(gated.code, 1, gated.all);
  assertMatch(gated.stdout, exceeded);
  const page = place.file("gated.html");
  const reported = await CollectedTests.of(() => register(), [`--report=${place.path}/`]).run({
    filter: (name) => name.startsWith("gated >"),
  });
  assertMatch(casesOf(reported, "gated").at(-1)!.error, exceeded);
  assertStringIncludes(Deno.readTextFileSync(page), "Failure rates under perturbations");
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
  assert(changed > 0 && changed < 20, `${changed} of 20 were changed`);

  const accepted = temporary.file("idle.json");
  const accept = await toolgate(["accept", journal, "--out", accepted]);
  assertEquals(accept.code, 0, accept.all);
  assertStringIncludes(accept.stderr, "Accepted 40 trials of 1 model");
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
