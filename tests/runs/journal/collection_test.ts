import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { variantsOfRun } from "../../../lib/runs/journal/collection.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { type Plan, planSuite } from "../../../lib/runs/plan.ts";
import { shardOf } from "../../../lib/runs/_assign_shards.ts";
import type { Shard } from "../../../lib/runs/shard_text.ts";
import { Report } from "../../../lib/reports/report.ts";
import { openTask } from "../../../lib/trials/executors/tasks.ts";
import { planLine } from "../../../lib/runs/journal/plan_line.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { Folder } from "../../support/folders.ts";
import { collect, linesOf, writeJournal } from "../../support/journals.ts";
import { finish, HOSTILE, STEERING } from "../../support/records.ts";
import { recordsOf } from "../../support/reports.ts";
import { SMALL } from "../../support/suites.ts";

const PLAN = planSuite(SMALL);

/** All trials of a plan, solved. */
function trialsOf(plan: Plan, planned = plan.trials): Trial[] {
  return planned.map((one) => finish(one, { suite: plan.suite }));
}

/** The journal of a shard, all solved. */
function writeShard(folder: Folder, plan: Plan, shard: Shard, name: string): string {
  const trials = trialsOf(plan, shardOf(plan, shard));
  return folder.write(name, linesOf([planLine(plan, shard), ...trials]));
}

/** The journal of a whole plan, all solved. */
function write(folder: Folder, plan: Plan, name = "a.jsonl"): string {
  return writeJournal(folder, plan, trialsOf(plan), name);
}

/** The journal of a suite like `SMALL`. */
function writeSuite(folder: Folder, name: string, changed: Partial<Suite>): string {
  return write(folder, planSuite({ ...SMALL, ...changed }), name);
}

function faultOf(...paths: (string | readonly string[])[]): string {
  const { message } = assertThrows(() => collect(paths), InputError);
  assertEquals(message.includes("\n"), false, "one message");
  return message;
}

Deno.test("readCollection() puts models of several runs on the same tasks side by side", () => {
  using folder = new Folder();
  const { runs, trials, planned, suite } = collect([
    writeSuite(folder, "a.jsonl", { models: ["a"] }),
    writeSuite(folder, "b.jsonl", { models: ["b", { model: "c", temperature: 0 }] }),
    writeSuite(folder, "d.jsonl", { models: ["a"], strategies: ["restate"], name: "other" }),
  ]);
  assertEquals([runs.length, planned, suite], [3, 24, "small, other"]);
  assertEquals(
    new Report(trials, { suite }).subjects.map((own) => [own.subject.model, own.trials.length]),
    [["a", 6], ["b", 6], ["a", 6], ["c", 6]],
  );
  const series = Map.groupBy(
    recordsOf("breakdowns", trials).filter((own, _, [first]) =>
      own["breakdown"] === first!["breakdown"]
    ),
    (own) => own["series"],
  );
  assertEquals(
    [...series].map(([name, own]) => [name, ...own.map(({ trials }) => trials)]),
    ["a", "b", "a + restate", "c"].map((name) => [name, 3, 3]),
  );
});

Deno.test("readCollection() pairs strategies of several runs by their graphs", () => {
  using folder = new Folder();
  const plan = planSuite({ ...SMALL, models: ["a"], strategies: ["restate"] });
  const restated = trialsOf(plan).map((trial, place) =>
    place === 0 ? { ...trial, outcome: "no_answer" as const, solved: false } : trial
  );
  const { trials, suite } = collect([
    writeSuite(folder, "a.jsonl", { models: ["b", "a"] }),
    writeJournal(folder, plan, restated, "b.jsonl"),
  ]);
  const { comparisons } = new Report(trials, { suite });
  assertEquals(
    comparisons.map(({ subject, against, graphs, leftOut }) => [
      ...[subject.model, subject.strategy, against.model, against.strategy, graphs, leftOut],
    ]),
    [
      ["a", "restate", "a", "plain", 6, 0],
      ["a", "plain", "b", "plain", 6, 0],
    ],
  );
  assertEquals([comparisons[0]!.success!.gained, comparisons[0]!.success!.lost], [0, 1]);
});

Deno.test("readCollection() refuses tasks that are not the same, and says in what they differ", () => {
  using folder = new Folder();
  const first = writeSuite(folder, "a.jsonl", { models: ["a"] });
  const cases: [Partial<Suite>, string][] = [
    [{ seed: 2 }, "seed; run them with the same --seed, or "],
    [{ tasks: [{ core: [3, 6], depth: 2 }] }, "cells; "],
    [{ graphs: 4 }, "graphs; "],
    [{ repetitions: 2 }, "repetitions; "],
    [{ limits: { steps: 3 } }, "limits; "],
    [{ seed: 2, graphs: 4 }, "seed, graphs; run them with the same --seed, or "],
  ];
  for (const [changed, fields] of cases) {
    const other = writeSuite(folder, "b.jsonl", { models: ["b"], name: "b", ...changed });
    assertEquals(
      faultOf(first, other),
      `Cannot report on ${first} and ${other} together as their tasks must be the same: ` +
        `they differ in ${fields}report on them with --different-tasks`,
    );
  }
});

Deno.test("readCollection() refuses a trial that two journals have", () => {
  using folder = new Folder();
  const one = writeSuite(folder, "a.jsonl", { models: ["a", "b"] });
  const other = writeSuite(folder, "b.jsonl", { models: ["b", "c"] });
  const message = faultOf(one, other);
  assertStringIncludes(message, `Cannot report on ${one} and ${other} together`);
  assertStringIncludes(message, "both have core=3 depth=2");
  assertStringIncludes(message, "model=b");
});

Deno.test("readCollection() refuses one journal twice, however it is named", () => {
  using folder = new Folder();
  const path = write(folder, PLAN);
  const copy = write(folder, PLAN, "copy.jsonl");
  for (const again of [path, `${folder.path}/./a.jsonl`, copy]) {
    assertStringIncludes(
      faultOf(path, again),
      `Cannot report on ${path} and ${again} together as a trial must be in one of them only: `,
    );
  }
});

Deno.test("readCollection() refuses one name for models that are asked in different ways", () => {
  using folder = new Folder();
  const one = writeSuite(folder, "a.jsonl", { models: [{ model: "m", temperature: 0 }] });
  const other = writeSuite(folder, "b.jsonl", {
    models: [{ model: "m", temperature: 1 }],
    strategies: ["restate"],
  });
  assertEquals(
    faultOf(one, other),
    `Cannot report on ${one} and ${other} together as a name must stand for one model: ` +
      "the options of m differ",
  );
});

Deno.test("readCollection() refuses one name for strategies that work in different ways", () => {
  using folder = new Folder();
  const entry = (name: string, attempts: number) => ({ strategy: "repair", name, attempts });
  const one = writeSuite(folder, "a.jsonl", { models: ["a"], strategies: [entry("mend", 1)] });
  const others: Suite["strategies"][] = [
    [entry("mend", 2)],
    ["plain", { strategy: "restate", name: "mend" }],
    [{ strategy: "repair", name: "mend" }],
    [{ ...entry("mend", 1), models: { repair: "c" } }],
    [{ ...entry("mend", 1), prompts: { repair: { fix: "Mend {arguments}" } } }],
  ];
  for (const [place, strategies] of others.entries()) {
    const other = writeSuite(folder, `${place}.jsonl`, { models: ["b"], strategies: strategies! });
    assertEquals(
      faultOf(one, other),
      `Cannot report on ${one} and ${other} together as a name must stand for one strategy: ` +
        "the options of mend differ",
    );
  }
  const named = writeSuite(folder, "named.jsonl", {
    models: ["b"],
    strategies: ["plain", entry("mend", 1), entry("mend twice", 2), { strategy: "restate" }],
  });
  assertEquals(collect([one, named]).runs.length, 2);
  const plain = writeSuite(folder, "plain.jsonl", { models: ["c"], strategies: ["restate"] });
  assertEquals(collect([one, named, plain]).runs.length, 3, "nothing is set of restate");
});

Deno.test("readCollection() may have a model and a strategy of one name", () => {
  using folder = new Folder();
  const one = writeSuite(folder, "a.jsonl", { models: ["a"], strategies: ["restate"] });
  const other = writeSuite(folder, "b.jsonl", { models: [{ model: "m", name: "restate" }] });
  assertEquals(collect([one, other]).runs.length, 2);
});

Deno.test("readCollection() lets nothing hostile of a journal into its messages", () => {
  using folder = new Folder();
  const plans = [1, 2].map((seed) =>
    planSuite({ ...SMALL, name: HOSTILE, models: [HOSTILE], seed })
  );
  const [one, other] = plans.map((plan, place) => write(folder, plan, `${place}.jsonl`));
  for (const paths of [[one!, other!], [one!, one!]]) {
    const message = faultOf(...paths);
    assert(!STEERING.test(message), message);
  }
});

Deno.test("readCollection() takes different tasks where it may, if all models worked on all of them", () => {
  using folder = new Folder();
  const one = writeSuite(folder, "a.jsonl", { models: ["a"] });
  const two = writeSuite(folder, "b.jsonl", { models: ["b"] });
  const other = writeSuite(folder, "c.jsonl", { models: ["b", "a"], seed: 2, name: "other" });
  const different = { differentTasks: true };
  const { suite, trials, planned, runs } = collect([one, other, two], different);
  assertEquals([suite, runs.length], ["small, other", 3]);
  const { length } = planSuite({ ...SMALL, models: ["a"] }).trials;
  assertEquals([trials.length, planned], [4 * length, 4 * length]);
  // The trials on the same tasks stand together.
  const seeds = trials.map(({ suite }) => suite);
  assertEquals(seeds.filter((name, place) => name !== seeds[place - 1]), ["small", "other"]);
  // The same tasks are taken as without it.
  assertEquals(collect([one, two], different), collect([one, two]));
});

Deno.test("readCollection() refuses different tasks of which a model or a strategy lacks some", () => {
  using folder = new Folder();
  const one = writeSuite(folder, "a.jsonl", { models: ["a", "b"] });
  const cases: [Partial<Suite>, string, "one" | "other"][] = [
    [{ models: ["a"] }, "b with plain", "one"],
    [{ models: ["a", "b", "c"] }, "c with plain", "other"],
    [{ models: ["a", "b"], strategies: ["restate"] }, "a with restate", "other"],
  ];
  for (const [changed, subject, where] of cases) {
    const other = writeSuite(folder, "b.jsonl", { seed: 2, ...changed });
    const { message } = assertThrows(
      () => collect([one, other], { differentTasks: true }),
      InputError,
    );
    assertStringIncludes(message, "all models and strategies must be on all tasks");
    const [here, there] = where === "one" ? [other, one] : [one, other];
    assertStringIncludes(
      message,
      `${subject} is in ${there} only; run it on the tasks of ${here} too, or report on each by itself`,
    );
  }
  // A name must stand for one model wherever it is.
  const named = (seed: number) => ({
    seed,
    models: [{ model: "a", name: "n", temperature: seed }],
  });
  const paths = [writeSuite(folder, "c.jsonl", named(1)), writeSuite(folder, "d.jsonl", named(2))];
  assertStringIncludes(
    assertThrows(() => collect(paths, { differentTasks: true }), InputError).message,
    "a name must stand for one model",
  );
});

const LATER = "2026-02-02T00:00:00.000Z";

/** Another run of a plan, a day later, in which the first trials failed. */
function writeAgain(folder: Folder, name: string, plan: Plan, { shard, failed = 2 }: {
  readonly shard?: Shard;
  readonly failed?: number;
} = {}): string {
  const trials = trialsOf(plan, shard === undefined ? plan.trials : shardOf(plan, shard))
    .map((trial) => ({ ...trial, startedAt: LATER }))
    .map((trial) =>
      trial.index < failed ? { ...trial, outcome: "no_answer" as const, solved: false } : trial
    );
  return folder.write(name, linesOf([planLine(plan, shard), ...trials]));
}

Deno.test("readCollection() labels two runs of one model after their journals, so that they are compared", () => {
  using folder = new Folder();
  const plan = planSuite({ ...SMALL, models: ["a"] });
  const [old, next] = [write(folder, plan, "old.jsonl"), writeAgain(folder, "new.jsonl", plan)];
  const { runs, trials, planned, suite } = collect([old, next]);
  assertEquals(runs.map(({ paths, label }) => [paths, label]), [[[old], "old"], [[next], "new"]]);
  assertEquals([planned, trials.length], [12, 12]);
  assertEquals(new Set(trials.map(({ id }) => id)).size, 12, "ids are distinct");
  assert(trials.every(({ id, variant }) => id.includes(` variant=${variant} `)));
  // What a gate decides over is as it was written.
  assertEquals(runs[1]!.results.trials.map(({ id }) => id), plan.trials.map(({ id }) => id));
  const { comparisons } = new Report(trials, { suite });
  assertEquals(
    comparisons.map(({ of, subject, against, lost }) => [
      ...[of, subject.variant, against.variant, lost.length],
    ]),
    [["variant", "new", "old", 2]],
  );
  // Either order; names that are alike have the folders that tell them apart.
  const [first] = new Report(collect([next, old]).trials, { suite }).comparisons;
  assertEquals([first!.subject.variant, first!.gained.length], ["old", 2]);
  for (const name of ["main", "pr"]) Deno.mkdirSync(folder.file(name));
  const apart = collect([
    folder.write("main/run.jsonl", folder.read("old.jsonl")),
    folder.write("pr/run.jsonl", folder.read("new.jsonl")),
  ]);
  assertEquals(apart.runs.map(({ label }) => label), ["main/run", "pr/run"]);
});

Deno.test("readCollection() labels runs in shards, and of several models, as a whole", () => {
  using folder = new Folder();
  const plan = planSuite({ ...SMALL, models: ["a"] });
  for (const name of ["old", "new"]) Deno.mkdirSync(folder.file(name));
  const shards = [1, 2].map((index) => ({ index, of: 2 }));
  const paths = [
    ...shards.map((shard) => writeShard(folder, plan, shard, `old/${shard.index}.jsonl`)),
    ...shards.map((shard) => writeAgain(folder, `new/${shard.index}.jsonl`, plan, { shard })),
  ];
  const { runs } = collect([paths.slice(0, 2), paths.slice(2)]);
  assertEquals(runs.map(({ paths, label }) => [paths, label]), [
    [paths.slice(0, 2), "old"],
    [paths.slice(2), "new"],
  ]);
  const both = collect([
    writeSuite(folder, "x.jsonl", { models: ["a", "b"] }),
    writeAgain(folder, "y.jsonl", planSuite({ ...SMALL, models: ["b", "c"] })),
    writeSuite(folder, "z.jsonl", { models: ["d"] }),
  ]);
  assertEquals(both.runs.map(({ label }) => label), ["x", "y", undefined]);
  // Trials stand in the order of their plans: there the first of the model b is of the second run.
  assertEquals(both.trials.find(({ model }) => model.requested === "b")!.variant, "y");
  const compared = { order: both.runs.flatMap(variantsOfRun) };
  const pairs = new Report(both.trials, { suite: "s", compared }).comparisons;
  assertEquals(
    pairs.map(({ subject, against }) => [subject, against].map((one) => [one.variant, one.model])),
    [
      [["x", "b"], ["x", "a"]],
      [["y", "c"], ["y", "b"]],
      [["y", "b"], ["x", "b"]],
    ],
  );
});

Deno.test("readCollection() makes nothing hostile of the names of journals", () => {
  using folder = new Folder();
  const plan = planSuite({ ...SMALL, models: ["a"] });
  const paths = [
    write(folder, plan, "old.jsonl"),
    writeAgain(folder, `${"n".repeat(90)}\u001b[31m.jsonl`, plan),
  ];
  for (const { label } of collect(paths).runs) {
    assert(!STEERING.test(label!));
    assert(label!.length <= 61);
  }
});

Deno.test("readCollection() refuses shards that are given one by one", () => {
  using folder = new Folder();
  const [one, two] = [1, 2].map((index) =>
    writeShard(folder, PLAN, { index, of: 2 }, `${index}.jsonl`)
  ) as [string, string];
  assertEquals(
    faultOf(one, two),
    `Cannot report on ${one} and ${two} together as a run is one file, or one folder with all of ` +
      "its journals: they are shards of one run: put them into a folder, and name that",
  );
});

Deno.test("readCollection() never takes the variant of one run for the label of another", () => {
  using folder = new Folder();
  const planOf = (variants?: Record<string, Record<string, never>>) =>
    planSuite({ name: "s", tasks: [], seed: 1, models: ["a"], graphs: 1 }, {
      tasks: {
        cells: () => [{ case: "one" }, { case: "two" }],
        open: openTask,
        cases: { one: "1", two: "2" },
        ...(variants === undefined ? {} : { variants }),
      },
    });
  const [plain, both] = [planOf(), planOf({ b: {} })];
  const { runs, trials } = collect([
    write(folder, both, "old.jsonl"),
    writeAgain(folder, "new.jsonl", both),
    write(folder, plain, "old b.jsonl"),
    writeAgain(folder, "new b.jsonl", plain),
  ]);
  assertEquals(new Set(runs.map(({ label }) => label)).size, 4);
  assertEquals(
    new Set(runs.flatMap(variantsOfRun).map(({ variant }) => variant)).size,
    4,
    "each a variant of its own",
  );
  assertEquals(new Set(trials.map(({ id }) => id)).size, trials.length);
});
