// Journals derived again by the commands that judge them; tests/e2e/changed_journals_test.ts has `deno test`.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { APIS } from "../../lib/models/formats/registry.ts";
import type { PlanLine } from "../../lib/runs/journal/plan_line.ts";
import { readAndDerive } from "../../lib/runs/derived.ts";
import { type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { changeTrial as change, declaring, linesOf } from "../support/journals.ts";

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

Deno.test("a run of every API, of probes and of a judged call set is gated without a word", async () => {
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
  for (const journal of journals) {
    const { code, stdout, all } = await toolgate(["gate", journal]);
    assert(code === 0 || code === 1 || code === 3, all);
    assertEquals(/as recorded|disagrees/.test(stdout), false, all);
  }
});

Deno.test("a line that was changed stops gate, accept and a resumed run, and spoils a report's verdict", async () => {
  await using place = await folder();
  const journal = await journalOf(place, {});
  const line = change(journal, ({ solved }) => !solved, () => SOLVED);
  const message = new RegExp(
    `Cannot judge \\S+a\\.jsonl, line ${line}: trial core=.* disagrees with its own events: ` +
      'outcome is "solved", and its events give "wrong_answer"',
  );
  for (
    const command of [
      ["gate", journal],
      ["accept", journal, "--out", place.file("baseline.json")],
      ["run", place.file("a.jsonc"), "--out", journal, "--resume"],
    ]
  ) {
    const { code, stderr, all } = await toolgate(command);
    assertEquals(code, 2, all);
    assertMatch(stderr, message);
  }
  const report = await toolgate(["report", journal]);
  assertMatch(report.stdout, message);
  assertMatch(report.stdout, /INVALID/);
  const candidate = await journalOf(place, {}, "candidate");
  const against = await toolgate(["gate", candidate, "--baseline", journal, "--margin", "0.1"]);
  assertEquals(against.code, 2, against.all);
  assertMatch(against.stderr, message);
});

Deno.test("of a run that cannot be decided yet a gate says why, whatever a line that was changed gives", async () => {
  await using place = await folder();
  await journalOf(place, {});
  const journal = place.file("one.jsonl");
  const ran = await toolgate(["run", place.file("a.jsonc"), "--out", journal, "--shard", "1/2"]);
  assertEquals(ran.code, 0, ran.all);
  change(journal, ({ solved }) => !solved, () => SOLVED);
  const { code, stdout, all } = await toolgate(["gate", journal]);
  assertEquals(code, 3, all);
  assertStringIncludes(stdout, "INVALID: shards are missing: 2/2");
});

Deno.test("every shard is derived with the plan that the verdict is on, whatever its own first line says", async () => {
  await using place = await folder();
  await journalOf(place, {
    graphs: undefined,
    tasks: [{ set: `${ROOT}/fixtures/call_sets/city` }],
    models: ["sim:truth?value=0.3&seed=1"],
  });
  const journals = ["1", "2"].map((index) => place.file(`${index}.jsonl`));
  for (const [at, journal] of journals.entries()) {
    const out = ["--out", journal, "--shard", `${at + 1}/2`];
    const ran = await toolgate(["run", place.file("a.jsonc"), ...out]);
    assertEquals(ran.code, 0, ran.all);
  }
  const files = await readAndDerive(journals);
  assertEquals(files.map(({ derived }) => derived?.size), [0, 0]);
  // By itself the line is right: only the call set says otherwise.
  const scores = { syntaxValid: true, structural: true, exact: true, routingExact: true };
  const line = change(journals[1]!, ({ solved }) => !solved, ({ events }) => ({
    ...SOLVED,
    events: events.map((event) =>
      event.kind === "scored"
        ? { ...event, truth: JSON.parse(event.output), scores, errors: [] }
        : event
    ),
  }));
  const [first, ...trials] = readLines(journals[1]!);
  const { resolved } = first as unknown as PlanLine;
  for (const more of [{}, { resolved: { ...resolved, generator: 9 } }, { places: { city: "/" } }]) {
    Deno.writeTextFileSync(journals[1]!, linesOf([declaring({ ...first, ...more }), ...trials]));
    const { code, stderr, all } = await toolgate(["gate", ...journals]);
    assertEquals(code, 2, all);
    assertMatch(stderr, new RegExp(`2\\.jsonl, line ${line}: trial .* disagrees with its own`));
  }
});

Deno.test("a trial that is not planned is not derived, as its task may be of any size", async () => {
  await using place = await folder();
  const [own, other] = [
    await journalOf(place, {}),
    await journalOf(place, { seed: 2 }, "other"),
  ];
  assert((await readAndDerive([own]))[0]!.derived !== undefined);
  const [, foreign] = readLines(other);
  const lines = readLines(own);
  for (const one of [foreign, { ...lines[1], task: foreign!["task"] }]) {
    Deno.writeTextFileSync(own, linesOf([...lines, one]));
    assertEquals((await readAndDerive([own]))[0]!.derived, undefined);
  }
});

Deno.test("trials without events stand as recorded, and the verdict counts them", async () => {
  await using place = await folder();
  const journal = await journalOf(place, {});
  change(journal, () => true, () => ({ events: [] }));
  const { code, stdout, all } = await toolgate(["gate", journal]);
  assert(code !== 2, all);
  assertStringIncludes(
    stdout,
    "taken as recorded, not derived again: 1 trial without events",
  );
});

Deno.test("answers to questions are scored again where the call set is gone", async () => {
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
  Deno.removeSync(set);
  const gone = await toolgate(["gate", journal]);
  assertMatch(
    gone.stdout,
    /taken as recorded, not derived again: 7 trials of a call set that cannot be read/,
  );
  change(journal, ({ solved }) => !solved, () => SOLVED);
  const changed = await toolgate(["gate", journal]);
  assertEquals(changed.code, 2, changed.all);
  assertMatch(changed.stderr, /outcome is "solved", and its events give "wrong_answer"/);
});
