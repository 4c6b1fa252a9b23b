// The commands around the gate as users run them, in child processes: run, gate, accept, plan, selfcheck.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertGreater,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { linesOf } from "../support/journals.ts";
import { finish } from "../support/records.ts";
import { type Finished, type Folder, folder, readLines } from "../support/child.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate, toolgates } from "../support/command_line.ts";

/** A plan of 40 graphs with a gate. */
const GATED = planSuite({
  ...{ name: "s", seed: 1, graphs: 40, tasks: [{ core: 3, depth: 2 }], models: ["m"] },
  gate: { successRate: 0.9 },
});

/** A suite of two cells; `more` overrides. */
function suiteOf(more: Record<string, unknown>): string {
  return JSON.stringify({
    name: "small",
    seed: 1,
    tasks: [{ core: [3, 4], depth: 2 }],
    models: ["sim:noisy?quit=0.03&seed=1"],
    ...more,
  });
}

/** Runs suites and gives their journals, by their names. */
async function journalsOf<Name extends string>(
  place: Folder,
  suites: Readonly<Record<Name, Record<string, unknown>>>,
): Promise<Record<Name, string>> {
  const names = Object.keys(suites) as Name[];
  const journals = names.map((name) => [name, place.file(`${name}.jsonl`)] as const);
  const finished = await toolgates(
    journals.map(([name, journal]) => {
      const suite = place.write(`${name}.jsonc`, suiteOf(suites[name]));
      return ["run", suite, "--out", journal];
    }),
  );
  for (const one of finished) assertEquals(one.code, 0, one.all);
  return Object.fromEntries(journals) as Record<Name, string>;
}

/** Runs a suite and gives its journal. */
async function journalOf(
  place: Folder,
  name: string,
  more: Record<string, unknown>,
): Promise<string> {
  return (await journalsOf(place, { [name]: more }))[name]!;
}

function verdictIn({ stdout }: Finished): string {
  return stdout.split("\n").find((line) => /: (PASS|FAIL|UNDECIDED|INVALID): /.test(line)) ?? "";
}

Deno.test("toolgate run ends at a budget with 3, and a price table is needed for dollars", async () => {
  await using place = await folder();
  const suite = place.write("suite.jsonc", suiteOf({ graphs: 40 }));
  const journal = place.file("trials.jsonl");
  const prices = place.write(
    "prices.jsonc",
    `{ "sim:noisy?quit=0.03&seed=1": { "input": 1, "output": 4 } } // dollars`,
  );
  const unpriced = await toolgate(["run", suite, "--max-usd", "0.05"]);
  assertEquals(unpriced.code, 2, unpriced.all);
  assertMatch(
    unpriced.stderr,
    /^Cannot compute the cost of model sim:noisy.* the price table must have it/,
  );
  const options = ["--out", journal, "--max-usd", "0.05", "--prices", prices];
  const run = await toolgate(["run", suite, ...options]);
  assertEquals(run.code, 3, run.all);
  assertMatch(run.stderr, /^\d+ trials were not run: the budget of \$0\.05 was reached$/m);
  assertMatch(run.stderr, /^sim:noisy.*: about \$0\.\d+ for 80 trials$/m);
  const trials = readLines(journal).slice(1);
  const spent = trials.reduce(
    (sum, { usage }) => sum + (usage.inputTokens + 4 * usage.outputTokens) / 1e6,
    0,
  );
  assertGreater(spent, 0.05);
  // Only what was in flight came on top.
  assertLess(spent, 0.05 + 8 * spent / trials.length + 1e-9);
  const gate = await toolgate(["gate", journal, "--success-rate", "0.8"]);
  assertMatch(verdictIn(gate), /Not all of the plan was run: the budget of \$0\.05 was reached/);
  assertStringIncludes(gate.stdout, "by bets on graphs");
  // A larger budget goes on where this one ended.
  const more = await toolgate(["run", suite, "--out", journal, "--resume", "--prices", prices]);
  assertEquals(more.code, 0, more.all);
  // Of that run no budget says why the last trials should be missing.
  const lines = Deno.readTextFileSync(journal).split("\n").slice(0, 76).join("\n");
  const [cut, full] = await toolgates(
    [place.write("cut.jsonl", `${lines}\n`), journal]
      .map((path) => ["gate", path, "--success-rate", "0.8"]),
  );
  assertMatch(
    cut!.stdout,
    /^INVALID: \S+cut\.jsonl lacks \d+ of its 80 trials: its run was cut short/,
  );
  assertStringIncludes(full!.stdout, "exact, Clopper-Pearson");
});

Deno.test("toolgate accept makes a baseline that gates like the journal it comes from", async () => {
  await using place = await folder();
  const { old, next } = await journalsOf(place, {
    old: { graphs: 30 },
    next: { graphs: 30, models: ["sim:noisy?quit=0.02&stale=0.05&seed=2"] },
  });
  const accepted = await toolgate(["accept", old]);
  assertEquals(accepted.code, 0, accepted.all);
  const baseline = place.file("old.baseline.json");
  assertStringIncludes(accepted.stderr, `Accepted 60 trials of 1 model in ${baseline}`);
  const file = JSON.parse(Deno.readTextFileSync(baseline));
  assertEquals([file.kind, file.subjects.length, file.subjects[0].trials.length], [
    "record",
    1,
    60,
  ]);
  const disguised = old.replace(/([^/]+)$/, "./$1");
  const [both, over, again, ...verdicts] = await toolgates([
    // Two gates at once are none, and a baseline is not compared with itself as a candidate's journal.
    ["gate", next, "--baseline", old, "--success-rate", "0.8"],
    ["accept", old, "--out", old],
    ["accept", old, "--out", disguised],
    ...[old, baseline].map((given) => ["gate", next, "--baseline", given, "--json"]),
  ]);
  const [byJournal, byFile] = verdicts.map(({ stdout }) => JSON.parse(stdout).verdicts[0]);
  assertEquals(byFile.evidence, byJournal.evidence);
  assertEquals(byFile.kind, byJournal.kind);
  for (const refused of [both!, over!, again!]) assertEquals(refused.code, 2, refused.all);
  assertEquals(readLines(old).length, 61, "the journal was written over");
  // What says nothing does not take the place of what does.
  const part = place.write(
    "part.jsonl",
    Deno.readTextFileSync(old).split("\n").slice(0, 40).join("\n") + "\n",
  );
  const short = await toolgate(["accept", part, "--out", baseline]);
  assertEquals(short.code, 2, short.all);
  assertStringIncludes(short.stderr, "its run was cut short, or goes on");
  assertEquals(JSON.parse(Deno.readTextFileSync(baseline)), file);
});

Deno.test("toolgate accept tells the rate that it accepts, and writes where nobody has put a link", async () => {
  await using place = await folder();
  const trials = GATED.trials.map((planned, index) =>
    finish(planned, index < 6 ? { outcome: index < 2 ? "invalid" : "no_answer" } : {})
  );
  const journal = place.write("a.jsonl", linesOf([planLine(GATED), ...trials]));
  const file = place.file("a.baseline.json");
  // Anyone who may write to the folder could guess these.
  const secret = place.write("secret", "mine");
  for (const name of [`${file}.new`, `${file}.part`, `${file}.tmp`]) Deno.symlinkSync(secret, name);
  const accepted = await toolgate(["accept", journal]);
  assertEquals(accepted.code, 0, accepted.all);
  // By Clopper and Pearson, with both invalid trials as the worst case of each bound.
  assertStringIncludes(
    accepted.stderr,
    "  m: 34 of 38 valid trials solved (89.5%); the true rate is at least 72.5%, at most 96.6%, " +
      "each with 95.0% confidence\n",
  );
  assertEquals(Deno.readTextFileSync(secret), "mine");
  assertEquals(Deno.lstatSync(file).isSymlink, false);
  const text = Deno.readTextFileSync(file);
  // A link may lead to a baseline that must stay, or come to lead elsewhere.
  const real = place.write("real.json", text.replace('"suite": "s"', '"suite": "t"'));
  const link = place.file("link.json");
  Deno.symlinkSync(real, link);
  const refused = await toolgate(["accept", journal, "--out", link]);
  assertEquals(refused.code, 2, refused.all);
  assertStringIncludes(
    refused.stderr,
    `Cannot write the baseline ${link} as it must be a file of its own: it is a link`,
  );
  assertStringIncludes(Deno.readTextFileSync(real), '"suite": "t"');
});

Deno.test("toolgate gate tells what the plan declares where an option replaces it", async () => {
  await using place = await folder();
  const trials = GATED.trials.map((planned, index) =>
    finish(planned, index < 12 ? { outcome: "no_answer" } : {})
  );
  const journal = place.write("a.jsonl", linesOf([planLine(GATED), ...trials]));
  const [declared, same, lower] = await toolgates([
    ["gate", journal],
    ["gate", journal, "--success-rate", "0.9", "--coverage", "0.95"],
    ["gate", journal, "--success-rate", "0.5", "--margin", "0.1", "--json"],
  ]);
  assertEquals([declared!.code, same!.code, lower!.code], [1, 1, 0]);
  assertEquals(declared!.stdout.includes("plan declares"), false);
  assertEquals(same!.stdout, declared!.stdout);
  assertMatch(
    JSON.parse(lower!.stdout).verdicts[0].text,
    /^PASS: .* The plan declares margin 0\.05, successRate 0\.9, which the options of this command replace\.$/,
  );
});

Deno.test("a gate refuses a candidate that replays its baseline, and takes another recorded run", async () => {
  await using place = await folder();
  // A deterministic model: only the time of their draw distinguishes the replies of two runs.
  const test = (out: string, own: string) =>
    CollectedTests.of(() =>
      benchmark("own", {
        ...{ tasks: { core: 3, depth: 2 }, graphs: 40, seed: 1 },
        model: "sim:noisy?quit=0.1&seed=1",
        gate: { baseline: { file: place.file("base.json") }, margin: 0.3, discordance: 0.4 },
      }), [`--out=${place.file(out)}`, own.replace("=", `=${place.path}/`)]).run();
  const first = await test("first.jsonl", "--record=old");
  assertMatch(first.all, /there is no baseline \/\S+base\.json: keep a run/);
  const accept = ["accept", "first.jsonl", "--out", "base.json"];
  assertEquals((await toolgate(accept, { cwd: place.path })).code, 0);
  const gates = async (journal: string) => {
    const given = ["first.jsonl", "base.json"].map((file) => ["gate", journal, "--baseline", file]);
    return await toolgates(given, { cwd: place.path });
  };
  const auto = await test("auto.jsonl", "--auto=old");
  const rule =
    "as the candidate must be another run: 40 of its 40 trials have recorded replies of the baseline";
  assertEquals(auto.code, 1, auto.all);
  assertStringIncludes(auto.all, rule);
  for (const { code, stderr, all } of await gates("auto.jsonl")) {
    assertEquals(code, 2, all);
    assertStringIncludes(stderr, rule);
  }
  const other = await test("other.jsonl", "--record=new");
  assertEquals(other.code, 0, other.all);
  const replayed = await test("replayed.jsonl", "--replay=new");
  assertEquals(replayed.code, 0, replayed.all);
  for (const { code, all } of await gates("replayed.jsonl")) assertEquals(code, 0, all);
});

Deno.test("toolgate gate --baseline keeps what the plan says of its baseline", async () => {
  await using place = await folder();
  const weak = "sim:noisy?quit=0.3";
  const old = await journalOf(place, "old", { graphs: 20, models: ["sim:planner", weak] });
  const file = place.file("base.json");
  assertEquals((await toolgate(["accept", old, "--out", file])).code, 0);
  const gate = { baseline: { file, model: "sim:planner" }, margin: 0.1 };
  const next = await journalOf(place, "next", { graphs: 20, models: [weak], gate });
  const given = [[], ["--baseline", file]];
  for (const finished of await toolgates(given.map((one) => ["gate", next, ...one]))) {
    assertEquals(finished.code, 1, finished.all);
    assertStringIncludes(verdictIn(finished), "below that of sim:planner (");
  }
});

Deno.test("toolgate plan tells what a suite's gate can decide, and what it costs", async () => {
  await using place = await folder();
  const model = "sim:noisy?quit=0.03&seed=1";
  const prices = { [model]: { input: 2, output: 8 } };
  const gate = { successRate: 0.8 };
  const journal = await journalOf(place, "past", { graphs: 20 });
  const suite = place.write("suite.jsonc", suiteOf({ graphs: 20, gate, prices }));
  const finished = await toolgate(["plan", suite, "--results", journal, "--json"]);
  assertEquals(finished.code, 0, finished.all);
  const { cost, usagePerTrial, trials, warnings, detectable } = JSON.parse(finished.stdout);
  const used = readLines(journal).slice(1).reduce(
    (sum, { usage }) => sum + 2 * usage.inputTokens + 8 * usage.outputTokens,
    0,
  );
  assertEquals(trials, 40);
  assertAlmostEquals(cost[model] * 1e6, used, 0.01 * used);
  assertGreater(usagePerTrial.inputTokens, 0);
  assertGreater(detectable, 0.2);
  assertEquals(warnings.length, 1);
  const [shown, ...refused] = await toolgates([
    ["plan", suite],
    ["plan", suite, "--rate", "0.7"],
    ["plan", "--rate", "0.04"],
    ["plan", "--rate", "1.2"],
  ]);
  assertMatch(shown!.stdout, /about \$\d+\.\d+ for 40 trials/);
  assertEquals(refused.map(({ code }) => code), [2, 2, 2]);
});

Deno.test("toolgate selfcheck finds the stated errors on A/A runs", async () => {
  await using place = await folder();
  const suite = place.write(
    "suite.jsonc",
    suiteOf({ graphs: 30, models: ["sim:noisy?quit=0.05"] }),
  );
  const journal = place.file("twice.jsonl");
  const options = ["--gates", "300", "--json"];
  const live = await toolgate(["selfcheck", suite, "--out", journal, ...options]);
  assertEquals(live.code, 0, live.all);
  const [{ simulated, checks }] = JSON.parse(live.stdout);
  assertEquals([simulated, checks.length], [true, 2]);
  for (const { rate, gates } of checks) {
    assertLessOrEqual(rate, 0.05 + 3 * Math.sqrt(0.05 * 0.95 / 300));
    assertEquals(gates.pass + gates.fail + gates.undecided + gates.invalid, 300);
    assertEquals(gates.invalid, 0);
  }
  // Every graph was run twice, and a re-draw from the journal gives the same.
  assertEquals(readLines(journal)[0].resolved.repetitions, 2);
  const redrawn = await toolgate(["selfcheck", journal, ...options]);
  assertEquals(redrawn.stdout, live.stdout);
  const other = await toolgate(["selfcheck", journal, ...options, "--draw-seed", "2"]);
  assert(other.stdout !== live.stdout);
  const rate = await toolgate(["selfcheck", journal, "--gate", "rate", "--gates", "300"]);
  assertEquals(rate.code, 0, rate.all);
  assertStringIncludes(rate.stdout, "the success rate is lower by the margin");
  const once = await journalOf(place, "once", { graphs: 10 });
  const refused = await toolgate(["selfcheck", once]);
  assertEquals(refused.code, 2, refused.all);
  assertStringIncludes(refused.stderr, "two valid trials");
});
