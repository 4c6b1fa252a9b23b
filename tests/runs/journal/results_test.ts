import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import {
  journalTrials,
  readJournalFile,
  readPlanLine,
  wholeTrial,
} from "../../../lib/runs/journal/journal.ts";
import { type PlanLine, planLine } from "../../../lib/runs/journal/plan_line.ts";
import { differences } from "../../../lib/runs/journal/_plan_differences.ts";
import { readResults } from "../../../lib/runs/journal/results.ts";
import { completePolicy } from "../../../lib/gate/policy.ts";
import { type Plan, planSuite } from "../../../lib/runs/plan.ts";
import { shardOf } from "../../../lib/runs/_assign_shards.ts";
import type { Shard } from "../../../lib/runs/shard_text.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import type { PlannedTrial } from "../../../lib/trials/trial_id.ts";
import { Folder } from "../../support/folders.ts";
import { readLines, ROOT } from "../../support/child.ts";
import { commitOf, ownRelease } from "../../../lib/base/clone.ts";
import { planHashes } from "../../../lib/runs/resolved_suite.ts";
import { endLine, linesOf } from "../../support/journals.ts";
import { callEvent, failureOf, record, type TrialTraits } from "../../support/records.ts";

const SUITE: Suite = {
  name: "small",
  seed: 1,
  graphs: 3,
  tasks: [{ core: [3, 4], depth: 2 }],
  models: ["a", "b"],
  gate: { successRate: 0.5 },
};
const PLAN = planSuite(SUITE);
const { gate: _, ...UNGATED } = SUITE;

/** The record of a planned trial that is finished. */
function finish(planned: PlannedTrial, traits: TrialTraits = {}, suite = SUITE.name): Trial {
  return record({ ...planned, suite, ...traits });
}

/** Writes the journal of a shard of a plan with all its trials. */
function writeShard(folder: Folder, name: string, shard: Shard, plan: Plan = PLAN): string {
  const trials = shardOf(plan, shard).map((planned) => finish(planned, {}, plan.suite));
  return folder.write(name, linesOf([planLine(plan, shard), ...trials]));
}

/** Writes a whole journal of PLAN, its plan line and trials changed by hand. */
function writeJournal(
  folder: Folder,
  line: (line: PlanLine) => unknown = (line) => line,
  trials: readonly unknown[] = PLAN.trials.map((planned) => finish(planned)),
  name = "a.jsonl",
): string {
  return folder.write(name, linesOf([line(planLine(PLAN)), ...trials]));
}

Deno.test("planLine() has what the design says, and the gate with its defaults", () => {
  const whole = planLine(PLAN, { index: 2, of: 3 });
  const { resolved, toolgate, ...line } = whole;
  assertEquals(JSON.parse(JSON.stringify(line)), {
    v: 1,
    kind: "plan",
    suite: "small",
    shard: { index: 2, of: 3 },
    gate: completePolicy({ successRate: 0.5 }),
  });
  assertEquals(resolved, PLAN.resolved);
  // Results are cited with the version and, where a clone has one, the commit.
  const { version } = JSON.parse(Deno.readTextFileSync(`${ROOT}/deno.json`));
  assertEquals(toolgate, { version, commit: commitOf(ROOT) });
  assertEquals(planLine(PLAN).shard, { index: 1, of: 1 });
  assertEquals(planLine(planSuite(UNGATED)).gate, undefined);
});

Deno.test("readJournalFile() refuses lines that nest deeper than others could follow, and names them", () => {
  using folder = new Folder();
  const deep = JSON.parse('{"a":'.repeat(5_000) + "1" + "}".repeat(5_000));
  const trials = PLAN.trials.map((planned) => finish(planned));
  const inPlan = writeJournal(folder, (line) => ({
    ...line,
    resolved: { ...line.resolved, limits: deep },
  }));
  const inTrial = writeJournal(
    folder,
    undefined,
    [{ ...trials[0], task: { ...trials[0]!.task, deep } }, ...trials.slice(1)],
    "b.jsonl",
  );
  for (const [path, line] of [[inPlan, 1], [inTrial, 2]] as const) {
    const rule = `Cannot use ${path}, line ${line}: it must nest at most 500 levels deep`;
    assertThrows(() => readJournalFile(path), InputError, rule);
  }
  assertThrows(() => readPlanLine(inPlan), InputError, "line 1: it must nest");
});

Deno.test("readResults() gives trials in plan order, however they were finished", () => {
  using folder = new Folder();
  const trials = PLAN.trials.map((planned) => finish(planned)).reverse();
  const results = readResults([writeJournal(folder, undefined, trials)]);
  const { suite, problem, notices, gate } = results;
  assertEquals([suite, problem, notices, gate], ["small", undefined, [], PLAN.gate]);
  assertEquals(results.planned, PLAN.trials);
  assertEquals(results.trials.map(({ index }) => index), PLAN.trials.map(({ index }) => index));
});

Deno.test("a journal that another version continued names both, and plans of the same tasks share a hash", () => {
  using folder = new Folder();
  const [first, ...others] = PLAN.trials.map((planned) => finish(planned));
  const time = "2026-01-01T00:00:00.000Z";
  const toolgate = { version: "9.9.9" };
  const resume = { v: 1, kind: "resume", time, trials: 1, toolgate };
  const path = writeJournal(folder, undefined, [first, resume, ...others]);
  const results = readResults([path]);
  assertEquals(results.releases.map(({ version }) => version), [ownRelease().version, "9.9.9"]);
  const again = planSuite({ ...SUITE, name: "other", models: ["c"] });
  const [one, other] = [PLAN, again].map(planHashes);
  assertEquals([one!.plan === other!.plan, one!.tasks === other!.tasks], [false, true]);
});

Deno.test("readResults() tells of a torn last line, and keeps all others", () => {
  using folder = new Folder();
  const whole = writeJournal(folder);
  const bytes = Deno.readFileSync(whole);
  const path = folder.write("torn.jsonl", bytes.subarray(0, bytes.length - 10));
  const results = readResults([path]);
  assertEquals(results.trials.length, 11);
  assertEquals(results.notices.length, 1);
  assertMatch(results.notices[0]!, /^Dropped a torn last line of .*torn\.jsonl \(\d+ bytes\)$/);
});

Deno.test("readResults() merges shards, in whatever order they are named", () => {
  using folder = new Folder();
  const paths = [1, 2, 3].map((index) => writeShard(folder, `${index}.jsonl`, { index, of: 3 }));
  for (const order of [paths, paths.toReversed(), [paths[1]!, paths[0]!, paths[2]!]]) {
    const results = readResults(order);
    assertEquals(results.problem, undefined);
    assertEquals(results.trials.map(({ id }) => id), PLAN.trials.map(({ id }) => id));
    assertEquals(results.planned, PLAN.trials);
  }
});

Deno.test("readResults() names some of very many missing shards", () => {
  using folder = new Folder();
  const path = writeShard(folder, "1.jsonl", { index: 1, of: 999_999 });
  assertMatch(
    readResults([path]).problem!,
    /^shards are missing: 2\/999999, 3\/999999(, \d+\/999999){18} and 999978 more$/,
  );
});

Deno.test("readResults() finds a trial that another shard was to run", () => {
  using folder = new Folder();
  const shards = [1, 2, 3].map((index) => shardOf(PLAN, { index, of: 3 }));
  // All trials are there, once each: only their places are wrong.
  const moved = [shards[0]!, [...shards[1]!, shards[2]![0]!], shards[2]!.slice(1)];
  const paths = moved.map((trials, place) => {
    const line = planLine(PLAN, { index: place + 1, of: 3 });
    return folder.write(`${place + 1}.jsonl`, linesOf([line, ...trials.map((one) => finish(one))]));
  });
  assertEquals(
    readResults(paths).problem,
    `${paths[1]} is shard 2/3 and has a trial of shard 3/3: ${shards[2]![0]!.id}`,
  );
});

Deno.test("readResults() takes an empty journal for that of a shard that is missing", () => {
  using folder = new Folder();
  const one = writeShard(folder, "1.jsonl", { index: 1, of: 2 });
  for (const text of ["", '{"v":1,"kind":"pl']) {
    const two = folder.write("2.jsonl", text);
    for (const paths of [[one, two], [two, one]]) {
      const { problem, missing, notices } = readResults(paths);
      assertEquals([problem, missing], Array(2).fill("shards are missing: 2/2"));
      assertEquals(notices.at(-1), `${two} is empty: its run died before its first line`);
    }
  }
});

Deno.test("readResults() lets nothing be decided where an empty journal is beside a whole one", () => {
  using folder = new Folder();
  const empty = folder.write("empty.jsonl", "");
  assertEquals(
    readResults([writeJournal(folder), empty]).problem,
    `${empty} is empty: its run died before its first line`,
  );
});

Deno.test("readResults() names a shard that is there twice", () => {
  using folder = new Folder();
  const one = writeShard(folder, "1.jsonl", { index: 1, of: 2 });
  const again = writeShard(folder, "again.jsonl", { index: 1, of: 2 });
  const two = writeShard(folder, "2.jsonl", { index: 2, of: 2 });
  assertEquals(
    readResults([one, two, again]).problem,
    `shard 1/2 is there twice: in ${one} and in ${again}, and a folder has one run`,
  );
  assertEquals(
    readResults([one, one, two]).problem,
    `shard 1/2 is there twice: ${one} is given twice`,
  );
});

Deno.test("readResults() finds a shard of another run or plan, and names the fields that differ", () => {
  using folder = new Folder();
  const one = writeShard(folder, "1.jsonl", { index: 1, of: 2 });
  assertEquals(readResults([one]).problem, "shards are missing: 2/2");
  const third = writeShard(folder, "3.jsonl", { index: 2, of: 3 });
  assertEquals(
    readResults([one, third]).problem,
    `the journals are not shards of one run: ${one} is shard 1/2, ${third} is shard 2/3`,
  );
  const plan = planSuite({ ...SUITE, seed: 2, repetitions: 2 });
  const other = writeShard(folder, "2.jsonl", { index: 2, of: 2 }, plan);
  assertEquals(
    readResults([one, other]).problem,
    `${one} and ${other} are of different plans: they differ in seed, repetitions; ` +
      "all shards of a run take the same --seed",
  );
});

Deno.test("readResults() finds shards that asked different servers", () => {
  using folder = new Folder();
  const asked = { ...PLAN, baseURL: "http://a.example/v1/" };
  const one = writeShard(folder, "1.jsonl", { index: 1, of: 2 }, asked);
  const others = [
    [{ baseURL: "http://a.example/v1" }, undefined],
    [
      { baseURL: "http://b.example/v1" },
      "asked different servers: http://a.example/v1 and http://b.example/v1",
    ],
  ] as const;
  for (const [change, told] of others) {
    const other = writeShard(folder, "2.jsonl", { index: 2, of: 2 }, { ...asked, ...change });
    const { problem } = readResults([one, other]);
    assertEquals(problem, told && `${one} and ${other} ${told}`);
  }
});

Deno.test("readResults() finds a trial that the plan does not have", () => {
  using folder = new Folder();
  const foreign = record({ model: "a", seed: 123, suite: SUITE.name });
  const path = writeJournal(folder, undefined, [finish(PLAN.trials[0]!), foreign]);
  assertEquals(
    readResults([path]).problem,
    `${path} has a trial that its plan does not have: ${foreign.id}`,
  );
});

Deno.test("readResults() finds a trial that is in two shards", () => {
  using folder = new Folder();
  const one = writeShard(folder, "1.jsonl", { index: 1, of: 2 });
  const shared = shardOf(PLAN, { index: 1, of: 2 })[0]!;
  const both = [...shardOf(PLAN, { index: 2, of: 2 }), shared];
  const two = folder.write(
    "2.jsonl",
    linesOf([planLine(PLAN, { index: 2, of: 2 }), ...both.map((planned) => finish(planned))]),
  );
  assertEquals(
    readResults([one, two]).problem,
    `trial ${shared.id} is both in ${one} and in ${two}`,
  );
});

Deno.test("readResults() finds recorded replies that two shards replayed for different trials", () => {
  using folder = new Folder();
  const [one, two] = [1, 2].map((index) => {
    const shard = { index, of: 2 };
    const trials = shardOf(PLAN, shard).map((planned, place) => ({
      ...finish(planned),
      draw: place === 0 ? "shared" : planned.id,
    }));
    return {
      first: trials[0]!.id,
      path: folder.write(`${index}.jsonl`, linesOf([planLine(PLAN, shard), ...trials])),
    };
  });
  assertEquals(
    readResults([one!.path, two!.path]).problem,
    `trials ${one!.first} and ${two!.first} have the same recorded replies`,
  );
});

Deno.test("readResults() keeps what earlier tries of a trial took", () => {
  using folder = new Folder();
  const tries = [3, 4, 5].map((inputTokens, place) =>
    finish(PLAN.trials[0]!, {
      outcome: place === 2 ? "solved" : "invalid",
      usage: { inputTokens, outputTokens: place },
    })
  );
  const { trials } = readResults([writeJournal(folder, undefined, tries)]);
  const [{ usage, replaced }] = trials as [TrialSummary];
  assertEquals([usage, replaced], [
    { inputTokens: 5, outputTokens: 2 },
    { inputTokens: 7, outputTokens: 1 },
  ]);
});

Deno.test("readResults() does not mix suites", () => {
  using folder = new Folder();
  const mixed = "trials of several suites are mixed: ";
  const [planned, ...others] = PLAN.trials.map((one) => finish(one));
  const path = writeJournal(folder, undefined, [{ ...planned, suite: "other" }, ...others]);
  assertEquals(readResults([path]).problem, `${mixed}small in ${path}, other in ${path}`);
  const renamed = writeJournal(folder, (line) => ({ ...line, suite: "other" }));
  assertEquals(
    readResults([renamed]).problem,
    `${mixed}other in ${renamed}, small in ${renamed}`,
  );
  const paths = ["one", "two"].map((name) =>
    writeShard(folder, `${name}.jsonl`, { index: 1, of: 1 }, planSuite({ ...SUITE, name }))
  );
  assertEquals(
    readResults(paths).problem,
    `${mixed}one in ${paths[0]}, two in ${paths[1]}; put those of each into a folder of its own`,
  );
});

Deno.test("readResults() refuses journals that have no plan, also where the run was killed at once", () => {
  using folder = new Folder();
  const rule = "as the first line of a journal must be its plan";
  const none = { empty: "", torn: linesOf([planLine(PLAN)]).slice(0, 50) };
  for (const [name, text] of Object.entries(none)) {
    const path = folder.write(`${name}.jsonl`, text);
    const told = `Cannot use ${path} ${rule}: there is none, as its run died before it`;
    assertThrows(() => readResults([path]), InputError, told);
  }
  const path = folder.write("a.jsonl", linesOf([finish(PLAN.trials[0]!)]));
  assertThrows(
    () => readResults([path]),
    InputError,
    `Cannot use ${path}, line 1 ${rule}: it is none`,
  );
});

Deno.test("readJournalFile() lets the last line of an id count", () => {
  using folder = new Folder();
  const path = writeJournal(folder, undefined, [
    finish(PLAN.trials[0]!, { outcome: "invalid" }),
    finish(PLAN.trials[1]!),
    finish(PLAN.trials[0]!, { outcome: "solved" }),
  ]);
  const { trials } = readJournalFile(path);
  assertEquals(trials.map(({ outcome }) => outcome), ["solved", "solved"]);
});

Deno.test("readResults() decides nothing over a journal that lacks trials and its end", () => {
  using folder = new Folder();
  const trials = PLAN.trials.slice(1).map((planned) => finish(planned));
  const { length } = trials;
  const [cut, ended] = [trials, [...trials, endLine(length, "the budget of 9 tokens was reached")]]
    .map((lines, place) => writeJournal(folder, undefined, lines, `${place}.jsonl`));
  assertEquals(
    readResults([cut!]).problem,
    `${cut} lacks 1 of its 12 trials: its run was cut short, or goes on; it can be continued with --resume`,
  );
  const { problem, stopped } = readResults([ended!]);
  assertEquals([problem, stopped], [undefined, "the budget of 9 tokens was reached"]);
});

/** A journal whose first trial was invalid and ran again, and whose second one has events. */
function retriedJournal(folder: Folder): { path: string; whole: Trial[] } {
  const [one, two, three] = PLAN.trials as [PlannedTrial, PlannedTrial, PlannedTrial];
  const events = [callEvent(1, { result: '{"a":1}' }), {
    kind: "stop",
    reason: "step_limit",
    message: "enough",
  }] as const;
  const failures = [failureOf("incorrect_value"), failureOf("function_not_found")];
  const whole = [
    finish(two, { outcome: "step_limit", events, failures }),
    finish(one, { outcome: "solved" }),
    finish(three, { outcome: "invalid" }),
  ];
  const path = writeJournal(folder, undefined, [
    finish(one, { outcome: "invalid" }),
    whole[0],
    finish(three, { outcome: "invalid", reason: "once" }),
    ...whole.slice(1),
  ]);
  return { path, whole };
}

Deno.test("readJournalFile() keeps no events, and of failures what they were", () => {
  using folder = new Folder();
  const { path } = retriedJournal(folder);
  const { trials, doubled } = readJournalFile(path);
  assertEquals(doubled, undefined);
  assertEquals(trials.map(({ outcome }) => outcome), ["solved", "step_limit", "invalid"]);
  assert(trials.every((trial) => !("events" in trial)));
  assertEquals(trials[1]!.failures, [
    { type: "incorrect_value", root: true },
    { type: "function_not_found", root: true },
  ]);
});

Deno.test("journalTrials() gives each whole trial that counts, in the order of the lines", () => {
  using folder = new Folder();
  const { path, whole } = retriedJournal(folder);
  assertEquals([...journalTrials(readJournalFile(path))], whole);
});

Deno.test("journalTrials() passes over what was written since, and tells a line that was changed", () => {
  using folder = new Folder();
  const { path, whole } = retriedJournal(folder);
  const file = readJournalFile(path);
  const later = { ...whole[0], id: "later" };
  folder.write("a.jsonl", linesOf([...readLines(path), later]) + '{"v":1,"ki');
  assertEquals([...journalTrials(file)], whole);
  writeJournal(folder, undefined, [whole[0], { ...whole[1], calls: -1 }]);
  const rule = `Cannot use ${path}, line 3:\n  at calls: `;
  assertThrows(() => [...journalTrials(file)], InputError, rule);
  writeJournal(folder, undefined, [whole[0], { ...whole[1], id: "another" }]);
  assertThrows(() => [...journalTrials(file)], InputError, "it was changed while it was in use");
});

Deno.test("wholeTrial() gives the trial that counts, with its events", () => {
  using folder = new Folder();
  const { path, whole } = retriedJournal(folder);
  const { places } = readJournalFile(path);
  assertEquals(whole.map(({ id }) => wholeTrial(path, places.get(id)!)), whole);
});

Deno.test("readResults() finds a failed trial that was written over by a solved one", () => {
  using folder = new Folder();
  const path = writeJournal(folder, undefined, [
    finish(PLAN.trials[0]!, { outcome: "wrong_answer" }),
    finish(PLAN.trials[1]!),
    finish(PLAN.trials[0]!, { outcome: "solved" }),
  ]);
  assertStringIncludes(
    readResults([path]).problem!,
    `trial ${PLAN.trials[0]!.id} is in ${path} twice`,
  );
});

Deno.test("readJournalFile() takes a plan as first line only", () => {
  using folder = new Folder();
  const path = folder.write(
    "a.jsonl",
    linesOf([planLine(PLAN), finish(PLAN.trials[0]!), planLine(PLAN)]),
  );
  const error = assertThrows(() => readJournalFile(path), InputError);
  assertEquals(error.message, `Cannot use ${path}, line 3: only the first line can be a plan`);
});

Deno.test("readJournalFile() names file, line, path and rule of a malformed trial", () => {
  const good = finish(PLAN.trials[0]!);
  const noLine = 'it is no line of a journal, such as one whose kind is "trial"';
  const faults: [unknown, string][] = [
    [
      { ...good, v: 2 },
      "it is of version 2 of the format, and this toolgate reads 1",
    ],
    [{ ...good, kind: "trail" }, noLine],
    [{ ...good, model: "m" }, "at model: "],
    [
      { ...good, outcome: "no_answer" },
      "at solved: solved must be true exactly when outcome is solved",
    ],
    [{ ...good, failures: [{ type: "x" }] }, "at failures[0].type: "],
    [{ ...good, failures: [{ type: "function_not_found" }] }, "at failures[0].call: "],
    [null, noLine],
  ];
  for (const [value, fault] of faults) {
    using folder = new Folder();
    const path = folder.write("a.jsonl", linesOf([planLine(PLAN), good, value]));
    const error = assertThrows(() => readJournalFile(path), InputError);
    assertStringIncludes(error.message, `Cannot use ${path}, line 3:`);
    assertStringIncludes(error.message, fault, JSON.stringify(value));
  }
});

Deno.test("readJournalFile() names file, line, path and rule of a malformed plan", () => {
  const line = planLine(PLAN);
  const faults: [unknown, string][] = [
    [
      { ...line, v: 2 },
      "it is of version 2 of the format, and this toolgate reads 1",
    ],
    [{ ...line, suite: 7 }, "at suite: "],
    [{ ...line, shard: { index: 0, of: 1 } }, "at shard.index: "],
    [{ ...line, shard: { index: 2, of: 1 } }, "at shard.index: must not be above of"],
    [{ ...line, shard: { index: 1, of: 1e15 } }, "at shard.of: "],
    [{ ...line, gate: { successRate: 7 } }, "at gate.successRate: "],
    [{ ...line, resolved: { ...line.resolved, graphs: "3" } }, "at resolved.graphs: "],
    [{ ...line, resolved: undefined }, "at resolved: "],
  ];
  for (const [value, fault] of faults) {
    using folder = new Folder();
    const path = folder.write("a.jsonl", linesOf([value]));
    const error = assertThrows(() => readJournalFile(path), InputError);
    assertStringIncludes(error.message, `Cannot use ${path}, line 1:`);
    assertStringIncludes(error.message, fault);
  }
});

Deno.test("differences() names the fields that differ, and only them", () => {
  const other = planSuite({ ...SUITE, name: "other", graphs: 4, models: ["a", "c"] });
  assertEquals(differences(planLine(PLAN), planLine(PLAN)), []);
  assertEquals(
    differences(planLine(PLAN), planLine(other)).toSorted(),
    ["graphs", "models", "suite"],
  );
  const limited = planSuite({ ...SUITE, limits: { calls: 3 } });
  assertEquals(differences(planLine(PLAN), planLine(limited)), ["limits"]);
  const [one, two] = [{ calls: 3, steps: 4 }, { steps: 4, calls: 3 }]
    .map((limits) => planLine(planSuite({ ...SUITE, limits })));
  assertEquals(differences(one!, two!), [], "the order of keys is none of them");
});
