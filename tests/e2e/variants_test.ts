// What is under test with cases, as users have it: settings side by side in one command, the first baseline of a gate,
// and what its verdict says of system texts and tools that changed since. The project is outside of the clone.

import { type CollectedRun, CollectedTests } from "../support/collected.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { scripted } from "../../lib/models/scripted.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import type { ToolTestOptions } from "../../lib/testing/tool_test_options.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { ToolTestRun } from "../../lib/trials/executors/tool_case.ts";
import {
  deno,
  type Finished,
  type Folder,
  folder,
  readLines,
  ROOT,
  unwrapped,
} from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { withVariable } from "../support/surroundings.ts";

const parameters = { type: "object", properties: { order: { type: "string" } } };
const refund = (description = "Refunds an order") =>
  tool({ name: "refund", description, parameters, returns: { done: true } });

/** A model that calls as its system text says, a lazy one leaves out one call in three; and that may write a file. */
const modelOf = (write?: () => string) =>
  scripted("mine", ({ messages: [first], context }) => {
    if (write !== undefined) Deno.writeTextFileSync(write(), "of somebody else");
    const usage = { inputTokens: 100, outputTokens: 10 };
    if (context.request > 1) return { text: "Done.", usage };
    const isLazy = first!.role === "system" && first!.content.includes("lazy") &&
      context.repetition % 3 === 0;
    const calls = [{ name: "refund", arguments: { order: "A1" } }];
    return { usage, ...isLazy ? { text: "No." } : { calls } };
  });
const shared = {
  prompt: "Refund order A1",
  trials: 60,
  assert: (run: ToolTestRun) => assertCalled(run, "refund"),
};

/** Runs a test of such a model; files are identified by their names in a folder. */
async function run(
  { path }: Folder,
  options: Partial<ToolTestOptions>,
  own: readonly string[] = [],
): Promise<CollectedRun> {
  const flags = own.map((flag) => flag.replace(/(\w+\.(jsonl|json|md))$/, `${path}/$1`));
  const finished = await CollectedTests.of(
    () => toolTest("refunds", { ...shared, model: modelOf(), ...options } as ToolTestOptions),
    flags,
  )
    .run();
  const plain = (text: string) => text.replaceAll(`${path}/`, "");
  return { ...finished, stdout: plain(finished.stdout), all: plain(finished.all) };
}

/** The verdict of a run on one line. */
function verdictIn({ stdout }: Finished): string {
  return /^.*\(simulated\): [A-Z]+: .*$/m.exec(unwrapped(stdout))?.[0] ?? "";
}

const RECORDS = { successRate: 0.9, margin: 0.15, discordance: 0.5 };

Deno.test("the first run that meets its success rate is the baseline of later ones, which never change it", async () => {
  await using place = await folder();
  let runs = 0;
  let file = "";
  const kept = () => Deno.readTextFileSync(file);
  // A process gives a file to one test: each run has a baseline of another name, with what the one before has kept.
  const runNext = async (
    changes: Partial<ToolTestOptions> = {},
    own: readonly string[] = [],
    content?: string,
  ) => {
    file = place.file(`${++runs}.json`);
    if (content !== undefined) Deno.writeTextFileSync(file, content);
    const gate = { ...RECORDS, baseline: { file, missing: "record" } } as const;
    const options = { system: "Be careful.", tools: [refund()], gate, ...changes };
    const ran = await run(place, options, own);
    const stdout = ran.stdout.replaceAll(`${runs}.json`, "baseline.json");
    return { ...ran, stdout, isKept: place.names().includes(`${runs}.json`) };
  };
  // Neither a run that fails, nor a part of one, nor one that a budget ended is a baseline.
  const failed = await runNext({ system: "Be lazy." });
  assertMatch(verdictIn(failed), /FAIL/);
  const id = "case=refunds seed=1 model=mine strategy=plain perturbation=none repetition=1";
  const parts = [
    await runNext({}, [`--only=${id}`]),
    await runNext({}, ["--out=shard.jsonl", "--shard=1/2"]),
    await runNext({}, ["--max-tokens=9000"]),
  ];
  for (const { code, isKept, all } of parts) assertEquals([code, isKept], [0, false], all);
  assertEquals(failed.isKept, false);
  assertMatch(verdictIn(parts[2]!), /PASS/);
  assertMatch(
    parts[2]!.stdout,
    /the baseline baseline.json is not written: \d+ of 60 trials were not run/,
  );
  // What somebody else wrote meanwhile is not touched.
  const late = await runNext({ model: modelOf(() => file) });
  assertEquals([late.code, kept()], [0, "of somebody else"], late.all);
  assertStringIncludes(late.stdout, "is not written: there is one already");

  const first = await runNext({}, ["--out=first.jsonl"]);
  assertEquals(first.code, 0, first.all);
  assertStringIncludes(
    first.stdout,
    "there is no baseline baseline.json: successRate decides, and a run that passes is written there",
  );
  assertMatch(verdictIn(first), /^mine \(simulated\): PASS: the true success rate is at least 75/);
  assertStringIncludes(first.stdout, "these 60 trials are the baseline now: baseline.json");
  const text = kept();
  const [line] = readLines(place.file("first.jsonl"));
  assertEquals([line.gate.successRate, line.records], [0.9, file]);

  const second = await runNext({}, [], text);
  assertEquals(second.code, 0, second.all);
  assertMatch(verdictIn(second), /PASS: on the same case, .* mine \(simulated\) \(baseline.json\)/);
  assert(!second.stdout.includes("differs from the baseline"), second.all);
  const changes = { system: "Be lazy.", tools: [refund("Pays an order back")] };
  const summary = withVariable("GITHUB_STEP_SUMMARY", place.file("summary.md"));
  const worse = await runNext(changes, ["--verdict=verdict.json"], text);
  summary[Symbol.dispose]();
  assertMatch(verdictIn(worse), /FAIL/);
  assertStringIncludes(worse.stdout, "  differs from the baseline in: system, tools\n");
  const [verdict] = JSON.parse(Deno.readTextFileSync(place.file("verdict.json"))).verdicts;
  assertEquals(verdict.differs, ["system", "tools"]);
  assertStringIncludes(
    Deno.readTextFileSync(place.file("summary.md")),
    "- differs from the baseline in: system, tools",
  );
  assertEquals(kept(), text);

  // Another case is not compared, and the message says how to accept it.
  const other = { prompt: "Cancel A1" };
  const changed = await runNext(other, ["--out=changed.jsonl"], text);
  assertEquals(changed.code, 1, changed.all);
  assertMatch(
    verdictIn(changed),
    /INVALID: 0 of 1 case can be compared with the baseline, .*changed since then: refunds/,
  );
  const [, command] = /to accept anew: .*?(accept .*?)\.?$/m.exec(unwrapped(changed.all)) ?? [];
  const accepted = await toolgate(command!.split(" "), { cwd: place.path });
  assertEquals(accepted.code, 0, accepted.all);
  assertEquals((await runNext(other, [], kept())).code, 0);
});

Deno.test("variants run side by side on the same cases, and a gate compares them in one command", async () => {
  await using place = await folder();
  const variants = {
    old: { system: "Be careful." },
    new: { system: "Be lazy." },
    same: { strategy: "restate", system: "Be very careful.", tools: () => [refund("Pays back")] },
  } as const;
  const gate = { margin: 0.15, discordance: 0.5 };
  const given = {
    ...{ tools: [refund()], variants, gate: { ...gate, baseline: { variant: "old" } } },
  };
  const ran = await run(place, given, ["--out=both.jsonl", "--report=both.md"]);
  assertEquals(ran.code, 1, ran.all);
  const [plan, ...trials] = readLines(place.file("both.jsonl"));
  assertEquals(Object.keys(plan.resolved.variants), ["old", "new", "same"]);
  // The cases and their draws are the same for all.
  const drawn = (variant: string) =>
    trials.filter((trial) => trial.variant === variant)
      .map(({ task, repetition }) => JSON.stringify([task, repetition])).toSorted();
  assertEquals(drawn("old").length, 60);
  for (const other of ["new", "same"]) assertEquals(drawn(other), drawn("old"));
  assertStringIncludes(ran.stdout, "refunds > trial 3 > new: mine");
  const shown = unwrapped(ran.stdout);
  assertMatch(
    shown,
    /new: mine \(simulated\): FAIL: on the same case, .* is below that of old: mine \(simulated\)\./,
  );
  assertStringIncludes(shown, "differs from the baseline in: system\n");
  assertMatch(shown, /same: mine \+ restate \(simulated\): PASS: /);
  assertStringIncludes(shown, "differs from the baseline in: strategy, system, tools\n");
  assert(!shown.includes("old: mine (simulated): "), ran.all);
  assertStringIncludes(Deno.readTextFileSync(place.file("both.md")), "same: mine + restate");
  // One trial of a variant runs again with its settings.
  const [, id] = /--only='([^']*)'/.exec(ran.stdout) ?? [];
  assertStringIncludes(id!, " variant=new repetition=");
  const only = await run(place, given, [`--only=${id}`]);
  assertEquals(only.code, 1, only.all);
  assertStringIncludes(only.stdout, "new: mine (simulated): wrong_answer");
  // The journal alone decides the same, and can be accepted; a baseline then names one of its variants.
  const [gated, accept] = await toolgates([
    ["gate", "both.jsonl", "--json"],
    ["accept", "both.jsonl", "--out", "b.json"],
  ], { cwd: place.path });
  assertEquals(
    JSON.parse(gated!.stdout).verdicts.map((
      { variant, kind }: Record<string, string>,
    ) => [variant, kind]),
    [["new", "fail"], ["same", "pass"]],
  );
  assertStringIncludes(accept!.stderr, "same: mine + restate (simulated): 60 of 60");
  const single = (variant: string) =>
    run(place, {
      ...{ system: "Be careful.", tools: [refund()] },
      gate: { ...gate, baseline: { file: place.file("b.json"), variant } },
    });
  const later = await single("new");
  assertEquals(later.code, 0, later.all);
  assertMatch(verdictIn(later), /PASS: .* new: mine \(simulated\) \(b.json\)/);
  assertStringIncludes(later.stdout, "differs from the baseline in: system\n");
  const wrong = await single("neww");
  assertEquals(wrong.code, 1, wrong.all);
  assertStringIncludes(wrong.all, "it is neww, and there are old, new, same; did you mean new?");
});

Deno.test("a first baseline that could not be written is refused before anything is asked", async () => {
  await using place = await folder();
  Deno.symlinkSync("gone.json", place.file("b.json"));
  const baseline = { file: place.file("b.json"), missing: "record" } as const;
  const gate = { successRate: 0.9, margin: 0.1, baseline };
  const nowhere = await run(place, { tools: [refund()], gate }, ["--out=paid.jsonl"]);
  assertEquals(nowhere.code, 1, nowhere.all);
  assertStringIncludes(
    nowhere.all,
    "Cannot write the baseline b.json as it must be a file: it is a link to nowhere",
  );
  assert(!nowhere.all.includes("trial 1"), nowhere.all);
  assertEquals(place.names(), ["b.json"]);
});

Deno.test("what of a suite a baseline lacks is left out, which is said before anything is asked", async () => {
  await using place = await folder();
  const gate = { successRate: 0.5 };
  await run(place, { tools: [refund()], gate }, ["--out=one.jsonl"]);
  await toolgate(["accept", place.file("one.jsonl"), "--out", place.file("b.json")]);
  place.write(
    "own_test.ts",
    `import { assertCalled, scripted, tool, toolSuite } from "file://${ROOT}/mod.ts";
     const parameters = { type: "object", properties: { order: { type: "string" } } };
     const test = toolSuite("shop", {
       model: scripted("mine", [{ calls: [{ name: "refund", arguments: {} }] }, { text: "Done." }]),
       tools: [tool({ name: "refund", description: "Refunds", parameters, returns: 1 })],
       trials: 60, gate: { baseline: { file: "b.json" }, margin: 0.2, discordance: 0.6, coverage: 0.5 },
     });
     for (const name of ["refunds", "new"]) {
       test(name, { prompt: "Refund order A1", assert: (run) => assertCalled(run, "refund") });
     }`,
  );
  const config = `--config=${ROOT}/deno.json`;
  const ran = await deno(["test", "--no-check", "-A", config, "own_test.ts"], { cwd: place.path });
  assertMatch(verdictIn(ran), /PASS: on the same case, /, ran.all);
  const told = "left out, as the baseline does not have them: new\n";
  assertStringIncludes(ran.stdout.split("running")[0]!, `shop: ${told}`, ran.all);
  assertStringIncludes(ran.stdout, `  ${told}`);
});

Deno.test("toolgate gate writes the first baseline of a suite, and none where a journal alone wants it", async () => {
  await using place = await folder();
  const suite = {
    ...{ name: "first", seed: 1, graphs: 40, models: ["sim:planner"] },
    tasks: [{ core: 2, depth: 1, connected: 0, disconnected: 0 }],
    gate: { successRate: 0.8, margin: 0.1, baseline: { file: "b.json", missing: "record" } },
  };
  place.write("suite.json", JSON.stringify(suite));
  const options = { cwd: place.path };
  const [run, gate] = await toolgates([
    ["run", "suite.json", "--out", "first.jsonl"],
    ["gate", "first.jsonl"],
  ], options);
  assertEquals([run!.code, gate!.code], [0, 0], run!.all + gate!.all);
  assertStringIncludes(gate!.stderr, "These 40 trials are the baseline now: b.json");
  const resume = ["run", "suite.json", "--out", "first.jsonl", "--resume"];
  const [again, resumed] = await toolgates([["gate", "first.jsonl"], resume], options);
  assertEquals(resumed!.code, 2, resumed!.all);
  assertStringIncludes(
    resumed!.stderr,
    "it began while there was no baseline b.json; begin another",
  );
  assertStringIncludes(again!.stderr, "is not written: there is one already");
  const [next, later] = await toolgates([
    ["run", "suite.json", "--out", "next.jsonl", "--model", "sim:noisy?quit=0.5"],
    ["gate", "next.jsonl"],
  ], options);
  assertEquals([next!.code, later!.code], [0, 1], later!.all);
  assertMatch(
    unwrapped(later!.stdout),
    /FAIL: on the same graphs, .* sim:planner \(simulated\) \(\S*b.json\)/,
  );
  // Anyone may have written the journal.
  Deno.removeSync(place.file("b.json"));
  const [first, ...lines] = readLines(place.file("first.jsonl"));
  for (
    const file of ["../b.json", "/tmp/b.json", "deno.jsonc", "a/../../b.json", "::error::.json"]
  ) {
    place.write("hostile.jsonl", linesOf([{ ...first, records: file }, ...lines]));
    const before = place.names();
    const hostile = await toolgate(["gate", "hostile.jsonl"], options);
    assertStringIncludes(hostile.stderr, "a journal may only name one in this folder", hostile.all);
    assertEquals(place.names(), before);
  }
});
