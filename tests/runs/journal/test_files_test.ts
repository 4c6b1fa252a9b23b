import { assert, assertEquals, assertMatch } from "@std/assert";
import { acceptResults } from "../../../lib/runs/record.ts";
import { decideResults } from "../../../lib/runs/decide_results.ts";
import { type PlanLine, planLine } from "../../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../../lib/runs/journal/results.ts";
import { shardOf } from "../../../lib/runs/_assign_shards.ts";
import { type Plan, planSuite } from "../../../lib/runs/plan.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import { openTask } from "../../../lib/trials/executors/tasks.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { Folder } from "../../support/folders.ts";
import { finish } from "../../support/records.ts";
import { collect, endLine, linesOf } from "../../support/journals.ts";
import fc from "../../support/fast_check.ts";

const SUITE: Suite = {
  name: "support",
  seed: 1,
  graphs: 3,
  tasks: [],
  models: ["a", "b"],
  gate: { successRate: 0.5, confidence: 0.8 },
};

/** The plan of a test file with these tests. */
function planOf(names: readonly string[], more: Partial<Suite> = {}): Plan {
  // Some have limits of their own.
  const limited = names.filter((name) => name.length % 2 === 0);
  const tests = Object.fromEntries(limited.map((name) => [name, { limits: { calls: 5 } }]));
  const cases = Object.fromEntries(names.map((name) => [name, `digest of ${name}`]));
  const partOf = (name: string) => ({ case: name, system: "none", tools: `tools of ${name}` });
  const parts = Object.fromEntries(names.map((name) => [name, partOf(name)]));
  const cells = () => names.map((name) => ({ case: name }));
  return planSuite({ ...SUITE, ...more }, {
    tasks: { cells, open: openTask, cases, parts, ...(limited.length === 0 ? {} : { tests }) },
  });
}

/** Its trials: which of them are solved depends on their ids alone. */
function trialsOf(plan: Plan, { suite }: Plan = plan): Trial[] {
  return plan.trials.map((planned) => {
    const outcome = planned.id.length % 3 === 0 || planned.repetition === 2
      ? "wrong_answer" as const
      : "solved" as const;
    return finish(planned, {
      suite,
      outcome,
      startedAt: `2026-01-01T00:00:0${planned.block}.000Z`,
    });
  });
}

interface Changes {
  readonly line?: (line: PlanLine) => unknown;
  readonly trials?: (trials: readonly Trial[]) => readonly unknown[];
}

function write(
  folder: Folder,
  name: string,
  plan: Plan,
  { line = (line) => line, trials = (all) => all }: Changes = {},
): string {
  return folder.write(name, linesOf([line(planLine(plan)), ...trials(trialsOf(plan))]));
}

/** A plan line without what distinguishes journals of one plan. */
function withoutShard({ shard: _, ...line }: PlanLine): unknown {
  return line;
}

const NAMES = ["asks", "books", "cancels", "dials", "emails", "finds"] as const;

Deno.test("readResults() of the test files of a suite is what one file of all its tests would have", async () => {
  const files = fc.shuffledSubarray([...NAMES], { minLength: 2 }).chain((names) =>
    fc.record({
      // To each test its file, by number.
      files: fc.array(fc.nat(2), { minLength: names.length, maxLength: names.length }),
      names: fc.constant(names),
      shards: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 3, maxLength: 3 }),
      order: fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
    })
  );
  await fc.assert(
    fc.asyncProperty(files, async ({ files, names, shards, order }) => {
      using folder = new Folder();
      const byFile = [...Map.groupBy(names, (_, place) => files[place]!).entries()];
      const paths = byFile.flatMap(([file, own]) => {
        const plan = planOf(own);
        const of = shards[file]!;
        const trials = new Map(trialsOf(plan).map((trial) => [trial.id, trial]));
        return Array.from({ length: of }, (_, index) => {
          const shard = { index: index + 1, of };
          return folder.write(
            `${file}_${index}.jsonl`,
            linesOf([
              planLine(plan, shard),
              ...shardOf(plan, shard).map(({ id }) => trials.get(id)!),
            ]),
          );
        });
      });
      const given = paths
        .map((path, place) => ({ path, rank: order[place % order.length]! }))
        .sort((one, other) => one.rank - other.rank).map(({ path }) => path);
      const all = byFile.map(([, own]) => own).sort(([one], [other]) => one! < other! ? -1 : 1);
      const whole = readResults([write(folder, "whole.jsonl", planOf(all.flat()))]);
      const joined = readResults(given);
      assertEquals(joined.problem, undefined);
      const { paths: _, notices: __, plan: line, ...rest } = joined;
      const { paths: ___, notices: ____, plan: wholeLine, ...expected } = whole;
      assertEquals(rest, expected);
      assertEquals(withoutShard(line!), withoutShard(wholeLine!));
      assertEquals(joined.trials.map(({ index }) => index), whole.trials.map((_, index) => index));
      assertEquals(acceptResults(joined, "it"), acceptResults(whole, "it"));
      assertEquals(
        await decideResults(joined, joined.gate!),
        await decideResults(whole, whole.gate!),
      );
      assertEquals(collect([given]).trials, whole.trials);
    }),
    { numRuns: 10 },
  );
});

Deno.test("readResults() says what keeps test files from being one suite, in whatever order they are given", () => {
  using folder = new Folder();
  const mine = planOf(["asks", "books"]);
  const yours = planOf(["cancels"]);
  const sources = (file: string, hash: string) => (line: PlanLine) => ({
    ...line,
    file,
    sources: { "own_test.ts": file, "../suite.ts": hash },
  });
  const cases: [fault: RegExp, other: Plan, more?: Changes, mine?: Changes][] = [
    [
      /\b(A|B) and (?!\1)[AB] are of different plans: they differ in seed; all shards/,
      planOf(["cancels"], { seed: 2 }),
    ],
    [
      /of different plans: they differ in models; .* gate NEW\.jsonl --baseline OLD\.jsonl --margin 0\.05$/,
      planOf(["cancels"], { models: ["a"] }),
    ],
    [/they differ in trials, limits$/, planOf(["cancels"], { graphs: 2, limits: { calls: 3 } })],
    [/[AB] and [AB] declare different gates$/, planOf(["cancels"], { gate: { successRate: 0.6 } })],
    [
      /[AB] and [AB] declare different prices$/,
      planOf(["cancels"], { prices: { a: { input: 1, output: 1 }, b: { input: 1, output: 1 } } }),
    ],
    [
      /asked different servers: (OpenAI's server and http:\/\/h|http:\/\/h and OpenAI's server)$/,
      { ...yours, baseURL: "http://h" },
    ],
    [
      /^the test books is in [AB] and in [AB], which are of different plans$/,
      planOf(["books", "cancels"]),
    ],
    [
      /^trials of several suites are mixed: .*; put those of each into a folder of its own$/,
      planOf(["cancels"], { name: "sales" }),
    ],
    [
      /^[AB] and [AB] are of different plans: they differ in cells, cases, tests$/,
      planSuite({ ...SUITE, tasks: [{ core: 2, depth: 1 }] }),
    ],
    [
      /^[AB] and [AB] are of different code: suite\.ts$/,
      yours,
      { line: sources("b/own_test.ts", "one") },
      { line: sources("a/own_test.ts", "other") },
    ],
    [/^B has a trial that its plan does not have/, yours, {
      trials: ([first]) => [{ ...first, block: 1 }],
    }],
    [/^shards are missing: 2\/2 beside B$/, yours, {
      line: () => planLine(yours, { index: 1, of: 2 }),
      trials: () => [],
    }],
    [
      /^trials \S.* and \S.* have the same recorded replies$/,
      yours,
      { trials: ([first, ...rest]) => [{ ...first, draw: "d" }, ...rest] },
      { trials: ([first, ...rest]) => [{ ...first, draw: "d" }, ...rest] },
    ],
  ];
  for (const [fault, other, more, own] of cases) {
    const [one, two] = [write(folder, "a.jsonl", mine, own), write(folder, "b.jsonl", other, more)];
    for (const paths of [[one, two], [two, one]]) {
      const { problem } = readResults(paths);
      assert(problem !== undefined, `${fault} of ${paths}`);
      assertMatch(problem.replaceAll(one, "A").replaceAll(two, "B"), fault);
    }
  }
  // Of different code are only files that both have.
  const line = sources("a/own_test.ts", "one");
  const paths = [
    write(folder, "a.jsonl", mine, { line }),
    write(folder, "b.jsonl", yours, { line: sources("b/own_test.ts", "one") }),
  ];
  assertEquals(readResults(paths).problem, undefined);
});

Deno.test("readResults() leaves a sequential gate to each test file, which it ended by its own trials", () => {
  using folder = new Folder();
  const gate = { successRate: 0.5, sequential: true };
  const paths = [["asks"], ["books", "cancels"]].map((names, place) =>
    write(folder, `${place}.jsonl`, planOf(names, { gate, models: ["a"], graphs: undefined! }))
  );
  for (const order of [paths, paths.toReversed()]) {
    assertMatch(
      readResults(order).problem!,
      /are of two test files, .* decide over each file by itself/,
    );
  }
  assertEquals(readResults([paths[0]!]).problem, undefined);
});

Deno.test("readResults() says which test file lacks trials, and why", () => {
  using folder = new Folder();
  const one = write(folder, "a.jsonl", planOf(["asks"]));
  const short = (ends?: string) =>
    write(folder, "b.jsonl", planOf(["books", "cancels"]), {
      trials: (all) => [...all.slice(0, 4), ...ends === undefined ? [] : [endLine(4, ends)]],
    });
  const died = readResults([one, short()]);
  assertEquals([died.trials.length, died.planned.length, died.stopped], [10, 18, undefined]);
  assertMatch(died.notices.join(), /^\S+b\.jsonl lacks 8 of its 12 trials: its run was cut short/);
  const spent = readResults([one, short("the budget is spent")]);
  assertEquals(spent.stopped, "the budget is spent");
  const empty = readResults([one, folder.write("c.jsonl", "")]);
  assertMatch(empty.problem!, /c\.jsonl is empty: its run died/);
});

Deno.test("readCollection() joins the test files of each of several models on the same tests", () => {
  using folder = new Folder();
  const write1 = (
    model: string,
    file: string,
    names: readonly string[],
    more: Partial<Suite> = {},
  ) => write(folder, `${model}_${file}.jsonl`, planOf(names, { models: [model], ...more }));
  const paths = ["old", "new"].flatMap((model) => [
    write1(model, "a", ["asks", "books"]),
    write1(model, "b", ["cancels"]),
  ]);
  const { runs, planned, trials } = collect([paths.slice(0, 2), paths.slice(2)]);
  assertEquals(runs.map(({ paths }) => paths), [paths.slice(0, 2), paths.slice(2)]);
  assertEquals([planned, trials.length], [18, 18]);
  // What is no run of one suite may still be shown beside it.
  const other = write1("old", "c", ["dials"], { gate: { successRate: 0.9 } });
  const apart = collect([paths[0]!, other], { differentTasks: true });
  assertEquals(apart.runs.length, 2);
});
