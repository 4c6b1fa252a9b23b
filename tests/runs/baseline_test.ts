import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { acceptResults, type RunRecord } from "../../lib/runs/record.ts";
import { baselineOfGate, missingBaseline, readBaseline } from "../../lib/runs/baseline.ts";
import { comparableBaseline } from "../../lib/runs/compared_baseline.ts";
import { assertOtherRun } from "../../lib/runs/trial_keys.ts";
import { InputError } from "../../lib/base/errors.ts";
import { canonicalJson } from "../../lib/base/json.ts";
import { sha256 } from "../../lib/base/hash.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { Folder } from "../support/folders.ts";
import { REPEATED as SUITE } from "../support/suites.ts";
import { accept, linesOf, writeJournal } from "../support/journals.ts";
import { finish } from "../support/records.ts";

const PLAN = planSuite(SUITE);

/** Writes a baseline of PLAN that was changed by hand, by someone who knows how to sum it up. */
function writeChanged(folder: Folder, change: (file: RunRecord) => object): string {
  const file = acceptResults(readResults([writeJournal(folder, PLAN)]), "a");
  const { checksum: _, ...content } = change(file) as RunRecord;
  const checksum = sha256(canonicalJson(content));
  return folder.write("changed.json", JSON.stringify({ ...content, checksum }));
}

Deno.test("readBaseline() takes no journal whose end is torn: trials may have been cut off", () => {
  using folder = new Folder();
  const journal = writeJournal(folder, PLAN);
  const bytes = Deno.readFileSync(journal);
  const torn = folder.write("torn.jsonl", bytes.subarray(0, bytes.length - 20));
  const { trials, notices } = readBaseline(journal);
  assertEquals([trials.length, notices], [24, []]);
  for (const use of [() => readBaseline(torn), () => accept(folder, torn)]) {
    assertThrows(use, InputError, "torn.jsonl lacks 1 of its 24 trials: its run was cut short");
  }
});

Deno.test("readBaseline() refuses what no verdict can rest on, and names the file", () => {
  using folder = new Folder();
  const refused = (path: string, words: string) => {
    const { message } = assertThrows(() => readBaseline(path), InputError);
    assertStringIncludes(message, path);
    assertStringIncludes(message, words);
  };
  refused(folder.file("none.json"), "Cannot read");
  refused(
    folder.write("notes.json", '{"kind":"note"}'),
    "the first line of a journal must be its plan",
  );
  refused(
    folder.write("plan.jsonl", linesOf([planLine(PLAN)])),
    "it must have trials: there are none",
  );
  refused(folder.write("empty.jsonl", ""), "its run died before it");
  const shard = { index: 1, of: 2 };
  refused(folder.write("1.jsonl", linesOf([planLine(PLAN, shard)])), "shards are missing: 2/2");
});

Deno.test("readBaseline() refuses a record that was changed, and takes any layout of it", () => {
  using folder = new Folder();
  const text = Deno.readTextFileSync(accept(folder, writeJournal(folder, PLAN)));
  const path = folder.write(
    "slip.json",
    text.replace('"outcome":"solved"', '"outcome":"no_answer"'),
  );
  assertThrows(() => readBaseline(path), InputError, `Cannot use ${path} as its checksum must be`);
  const layout = folder.write("layout.json", JSON.stringify(JSON.parse(text)));
  assertEquals(readBaseline(layout).trials.length, 24);
});

Deno.test("readBaseline() names the path and the rule of what is wrong in a baseline", () => {
  const first = (file: RunRecord, change: object) => {
    const [subject, ...others] = file.subjects;
    return { ...file, subjects: [{ ...subject, ...change }, ...others] };
  };
  const faults: [change: (file: RunRecord) => object, path: string, rule: string][] = [
    [(file) => first(file, { strategy: undefined }), "subjects[0].strategy", "expected string"],
    [(file) => ({ ...file, subjects: [] }), "subjects", "must not be empty"],
    [(file) => ({ ...file, more: 1 }), "the top", '"more"'],
    [(file) => first(file, { model: { requested: "a" } }), "subjects[0].model.served", "string"],
    [
      (file) => first(file, { trials: [{ ...file.subjects[0]!.trials[0], outcome: "won" }] }),
      "subjects[0].trials[0].outcome",
      '"solved"',
    ],
    [
      (file) => first(file, { trials: [{ ...file.subjects[0]!.trials[0], failures: ["typo"] }] }),
      "subjects[0].trials[0].failures[0]",
      '"incorrect_value"',
    ],
  ];
  for (const [change, path, rule] of faults) {
    using folder = new Folder();
    const file = writeChanged(folder, change);
    const { message } = assertThrows(() => readBaseline(file), InputError);
    assertStringIncludes(message, `Cannot use ${file}:\n`);
    assertStringIncludes(message, `  at ${path}: `);
    assertStringIncludes(message, rule);
  }
});

Deno.test("comparableBaseline() lets models, strategies and the name differ, and nothing else", () => {
  using folder = new Folder();
  const journal = writeJournal(folder, PLAN);
  const changes: [Partial<Suite>, fields: string | undefined][] = [
    [{}, undefined],
    [{ name: "other", models: ["c"], gate: { successRate: 0.9 } }, undefined],
    [{ seed: 2 }, "seed (1 there, 2 here)"],
    [{ graphs: 4, models: ["c"] }, "graphs (3 there, 4 here)"],
    [
      { repetitions: 1, limits: { calls: 3 } },
      'repetitions (2 there, 1 here), limits ({} there, {"calls":3} here)',
    ],
  ];
  for (const path of [journal, accept(folder, journal)]) {
    const baseline = readBaseline(path);
    for (const [change, fields] of changes) {
      const plan = planSuite({ ...SUITE, ...change });
      if (fields === undefined) {
        comparableBaseline(baseline, plan, plan.trials);
        continue;
      }
      const { message } = assertThrows(
        () => comparableBaseline(baseline, plan, plan.trials),
        InputError,
      );
      assertEquals(
        message,
        `Cannot compare with ${path} as both must be of the same graphs: they differ in ${fields}`,
      );
    }
  }
});

Deno.test("comparableBaseline() refuses a baseline of another version of the generator", () => {
  using folder = new Folder();
  const older = { ...PLAN, resolved: { ...PLAN.resolved, generator: 0 } };
  const journal = writeJournal(folder, older);
  for (const path of [journal, accept(folder, journal)]) {
    assertThrows(
      () => comparableBaseline(readBaseline(path), PLAN, PLAN.trials),
      InputError,
      "they differ in generator (0 there, 1 here)",
    );
  }
});

Deno.test("assertOtherRun() refuses to compare trials with themselves: anything would pass", () => {
  using folder = new Folder();
  const trials = PLAN.trials.map((planned) => finish(planned));
  const journal = writeJournal(folder, PLAN, trials);
  const again = trials.map((trial) => ({ ...trial, startedAt: "2026-02-02T00:00:00.000Z" }));
  const other = trials.with(3, { ...trials[3]!, outcome: "no_answer", solved: false });
  for (const path of [journal, accept(folder, journal)]) {
    const baseline = readBaseline(path);
    for (const same of [trials, trials.toReversed(), trials.filter(({ index }) => index % 4 < 2)]) {
      assertThrows(
        () => assertOtherRun(baseline, same),
        InputError,
        `Cannot compare with ${path} as the candidate must be another run: these are the trials ` +
          "of the baseline itself",
      );
    }
    assertOtherRun(baseline, again);
    // Continued by another model for one trial of it, or for all but one.
    for (const [continued, shared] of [[other, 24], [again.with(3, trials[3]!), 1]] as const) {
      const { message } = assertThrows(() => assertOtherRun(baseline, continued), InputError);
      const told = shared === 24
        ? "these are the trials of the baseline itself"
        : `1 of its 24 trials are the baseline's own, such as ${trials[3]!.id}`;
      assertStringIncludes(message, `the candidate must be another run: ${told}`);
    }
  }
});

Deno.test("baselineOfGate() reads the file that a gate names, where there is one", () => {
  using folder = new Folder();
  accept(folder, writeJournal(folder, PLAN));
  const inFolder = (file: string) => folder.file(file);
  const of = (baseline: string | object) => baselineOfGate({ baseline }, inFolder);
  assertEquals(of({ file: "b.json", model: "a" })?.trials.length, 24);
  assertEquals(of({ file: "none.json" }), undefined);
  assertEquals([of("a"), of({ model: "a" })], [undefined, undefined]);
  assertEquals(baselineOfGate({ successRate: 0.9 }, inFolder), undefined);
  assertEquals(baselineOfGate(undefined, inFolder), undefined);
  folder.write("broken.json", "{");
  assertThrows(() => of({ file: "broken.json" }), InputError);
  assertThrows(() => of({ file: "." }), InputError, "Cannot read");
});

Deno.test("missingBaseline() says how to make the baseline that is not there", () => {
  using folder = new Folder();
  const gate = { baseline: { file: "b.json" } };
  assertEquals(
    missingBaseline(gate, undefined, (file) => `/there/${file}`, (file) => `../${file}`),
    "there is no baseline /there/b.json: keep a run of what is in use now with --out=old.jsonl, and make it the " +
      "baseline with deno task toolgate accept old.jsonl --out ../b.json",
  );
  assertEquals(missingBaseline(gate, readBaseline(writeJournal(folder, PLAN))), undefined);
  for (const other of [undefined, { successRate: 0.9 }, { baseline: "a" }]) {
    assertEquals(missingBaseline(other, undefined), undefined);
  }
});
