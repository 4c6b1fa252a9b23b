// Journals that were edited: what is refused at once, what gates play again by chance, and what `check` plays.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { APIS } from "../../lib/models/formats/registry.ts";
import { type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { changeTrial as change, linesOf } from "../support/journals.ts";

/** Runs a suite and gives its journal. */
async function journalOf(place: Folder, suite: object, name = "a"): Promise<string> {
  const file = place.write(
    `${name}.jsonc`,
    JSON.stringify({
      ...{ name: "small", seed: 1, graphs: 3, tasks: [{ core: [3, 4], depth: 2 }] },
      ...{ models: ["sim:noisy?stale=0.5&seed=1"], gate: { successRate: 0.5, margin: 0.2 } },
      ...suite,
    }),
  );
  const journal = place.file(`${name}.jsonl`);
  const ran = await toolgate(["run", file, "--out", journal]);
  assertEquals(ran.code, 0, ran.all);
  return journal;
}

const SOLVED = { outcome: "solved", solved: true };

Deno.test("check agrees with a run of every API, of probes and of a judged call set, and gate plays all of a short one", async () => {
  await using place = await folder();
  const broken = { model: "sim:noisy?stale=0.2&breakFormat=0.5&seed=1" };
  const journals = [
    await journalOf(place, {
      graphs: 1,
      models: APIS.map((api) => ({ ...broken, api, name: api })),
      strategies: ["plain", "repair"],
      perturbations: ["none", "flaky"],
    }, "apis"),
    await journalOf(place, { tasks: [{ case: "oracle" }, { case: "lying_calculator" }] }, "probes"),
    await journalOf(place, {
      graphs: undefined,
      tasks: [{ set: `${ROOT}/fixtures/call_sets/city`, sample: 2 }],
      models: ["sim:truth?value=0.3&seed=1"],
      judge: "sim:truth",
    }, "city"),
  ];
  const trials = journals.map((journal) => readLines(journal).length - 1);
  const all = trials.reduce((sum, count) => sum + count);
  const checked = await toolgate(["check", place.path, place.path]);
  assertEquals([checked.code, checked.stderr], [0, ""], checked.all);
  assertEquals(
    checked.stdout.trim(),
    `${all} of ${all} trials in 3 journals played again: all agree`,
  );
  for (const [at, journal] of journals.entries()) {
    const { code, stderr, all } = await toolgate(["gate", journal]);
    assert(code !== 2, all);
    const count = trials[at];
    assertEquals(stderr.trim(), `${count} of ${count} trials played again: all agree`, all);
  }
});

Deno.test("check says that a run was cut short, and nothing of shards in other files", async () => {
  await using place = await folder();
  const whole = await journalOf(place, {}, "whole");
  const lines = readLines(whole);
  const [plan, ...trials] = lines.slice(0, -1);
  const cut = place.write("cut.jsonl", linesOf([plan, ...trials.slice(1)]));
  const shard = place.file("shard.jsonl");
  await toolgate(["run", place.file("whole.jsonc"), "--shard", "1/2", "--out", shard]);
  for (
    const [journal, told] of [[whole, ""], [shard, ""], [cut, "its run was cut short"]] as const
  ) {
    const { code, stderr, all } = await toolgate(["check", journal]);
    assertEquals([code, stderr === ""], [0, told === ""], all);
    assertStringIncludes(stderr, told);
  }
});

Deno.test("gate plays 200 of many trials again, by a seed that it tells", async () => {
  await using place = await folder();
  const journal = await journalOf(place, { graphs: 110, models: ["sim:planner"] });
  const seeds = await Promise.all([1, 2].map(async () => {
    const { code, stderr, all } = await toolgate(["gate", journal]);
    assertEquals(code, 0, all);
    const told = /^200 of 220 trials played again \(seed (\d+)\): all agree\n$/.exec(stderr);
    assert(told !== null, all);
    return told[1];
  }));
  assert(seeds[0] !== seeds[1]);
});

Deno.test("an edited journal is refused at once, wherever it is used, and makes a gate invalid", async () => {
  await using place = await folder();
  const journal = await journalOf(place, {});
  const candidate = await journalOf(place, {}, "candidate");
  const text = Deno.readTextFileSync(journal);
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes('"solved":false'));
  lines[at] = lines[at]!.replace(
    '"outcome":"wrong_answer","solved":false',
    '"outcome":"solved","solved":true',
  );
  Deno.writeTextFileSync(journal, lines.join("\n"));
  assert(lines.join("\n") !== text);
  const history = place.file("history");
  for (
    const command of [
      ["gate", candidate, "--baseline", journal, "--margin", "0.1"],
      ["check", journal],
      ["report", journal],
      ["accept", journal, "--out", place.file("baseline.json")],
      ["history", "add", journal, "--to", history],
      ["export", journal, "--format", "hermes"],
      ["run", place.file("a.jsonc"), "--out", journal, "--resume"],
    ]
  ) {
    const { code, stdout, stderr, all } = await toolgate(command);
    assertEquals([code, stdout], [2, ""], all);
    assertStringIncludes(stderr, `Cannot use ${journal}, line ${at + 1} as the checksum of a line`);
  }
  assertEquals(place.names().includes("baseline.json"), false);
  const planned = place.write("plan.jsonl", text.replace('"successRate":0.5', '"successRate":0.4'));
  const broken = place.write("broken.jsonl", lines.with(at, "{").join("\n"));
  for (
    const [file, state] of [
      [journal, `, line ${at + 1} as the checksum of a line must follow`],
      [planned, ", line 1 as the checksum of a line must follow"],
      [broken, `: line ${at + 1} is not JSON`],
    ] as const
  ) {
    const { code, stdout, all } = await toolgate(["gate", file, "--json"]);
    const { verdict, suite, text } = JSON.parse(stdout);
    assertEquals([code, verdict], [3, "invalid"], all);
    assertEquals(suite, file === planned ? planned : "small");
    assertStringIncludes(text, `INVALID: Cannot use ${file}${state}`);
  }
});

Deno.test("a trial that was edited with its checksums is found by gate and accept, and listed by check", async () => {
  await using place = await folder();
  const journal = await journalOf(place, {});
  const line = change(journal, ({ solved }) => !solved, () => SOLVED);
  const message = `line ${line}: trial core=\\d.* disagrees with its own events: ` +
    'outcome is "solved", and its events give "wrong_answer"';
  for (
    const command of [
      ["gate", journal],
      ["accept", journal, "--out", place.file("baseline.json")],
    ]
  ) {
    const { code, stderr, all } = await toolgate(command);
    assertEquals(code, 2, all);
    assertMatch(stderr, new RegExp(`^Cannot judge \\S+a\\.jsonl, ${message}$`, "m"));
  }
  const { code, stdout, all } = await toolgate(["check", journal]);
  assertEquals(code, 2, all);
  assertMatch(stdout, new RegExp(`^\\S+a\\.jsonl, ${message}$`, "m"));
  assertMatch(stdout, /^6 of 6 trials in 1 journal played again: 1 do not agree/m);
});

Deno.test("check lists 20 disagreements, and says how many more there are", async () => {
  await using place = await folder();
  const journal = await journalOf(place, { graphs: 12, models: ["sim:planner"] });
  const [plan, ...trials] = readLines(journal);
  const wrong = trials.map((trial) => ({ ...trial, calls: trial.calls + 1 }));
  Deno.writeTextFileSync(journal, linesOf([plan, ...wrong]));
  const { code, stdout, all } = await toolgate(["check", journal]);
  assertEquals(code, 2, all);
  assertEquals(stdout.match(/disagrees with its own/g)?.length, 20);
  assertMatch(stdout, /^and 4 more$/m);
});

Deno.test("check does not play a trial that is not planned, as its task may be of any size", async () => {
  await using place = await folder();
  const own = await journalOf(place, {});
  const [, foreign] = readLines(await journalOf(place, { seed: 2 }, "other"));
  Deno.writeTextFileSync(own, linesOf([...readLines(own), foreign]));
  const { code, stderr, all } = await toolgate(["check", own]);
  assertEquals(code, 2, all);
  assertStringIncludes(stderr, "has a trial that its plan does not have");
});

Deno.test("trials that cannot be played again stand as recorded, and check counts them", async () => {
  await using place = await folder();
  const set = place.write(
    "city.jsonc",
    Deno.readTextFileSync(`${ROOT}/fixtures/call_sets/city.jsonc`),
  );
  const journal = await journalOf(place, {
    graphs: undefined,
    tasks: [{ set: "city.jsonc", sample: 3 }],
    models: ["sim:truth?value=1&seed=1"],
  });
  change(journal, () => true, () => ({ events: [] }));
  const told = "taken as recorded, not derived again: ";
  const without = await toolgate(["check", journal]);
  assertEquals(without.code, 0, without.all);
  assertStringIncludes(without.stdout, `${told}1 trial without events`);
  Deno.removeSync(set);
  const gone = await toolgate(["gate", journal]);
  assertStringIncludes(gone.stderr, `${told}7 trials of a call set that cannot be read`);
});

Deno.test("a journal without checksums is taken with --unchecked, and verdict and report tell", async () => {
  await using place = await folder();
  const journal = await journalOf(place, {});
  const bare = readLines(journal).map((line) => JSON.stringify(line)).join("\n");
  Deno.writeTextFileSync(journal, `${bare}\n`);
  const told = "without checksums, so that lines may have been changed or left out: ";
  for (const command of ["gate", "report", "check"]) {
    const refused = await toolgate([command, journal]);
    assertEquals([refused.code, refused.stdout], [2, ""], refused.all);
    assertStringIncludes(refused.stderr, "line 1 as each line of a journal must have a checksum");
    const { code, stdout, stderr, all } = await toolgate([command, journal, "--unchecked"]);
    assert(code !== 2, all);
    assertStringIncludes(command === "check" ? stderr : stdout.replace(/\s+/g, " "), told);
  }
});
