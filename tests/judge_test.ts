import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decide, type Verdict } from "../lib/gate.ts";
import {
  byGraph,
  bySubject,
  exitCodeOf,
  judge,
  subjectName,
  subjectOf,
  worstKind,
} from "../lib/judge.ts";
import type { PlannedTrial, Trial } from "../lib/trial.ts";
import { test } from "./support/generated.ts";
import { manyRecords, once, record } from "./support/records.ts";

/** The plan of which `trials` are all. */
function planOf(trials: readonly Trial[]): PlannedTrial[] {
  return trials.map((trial) => ({ ...trial, model: trial.model.requested }));
}

const POLICY = { successRate: 0.8 };

test("judge() gives one verdict a model, strategy and perturbation, in plan order", () => {
  const good = { model: "good" };
  const trials = [
    ...manyRecords(100, 100, good),
    ...manyRecords(10, 100, { model: "bad" }),
    ...manyRecords(90, 100, { ...good, strategy: "restate" }),
    ...manyRecords(10, 100, { ...good, perturbation: "RD" }),
  ];
  const judged = judge(trials, planOf(trials), POLICY);
  assertEquals(
    judged.map((one) => [subjectName(one), one.verdict.kind]),
    [
      ["good", "pass"],
      ["bad", "fail"],
      ["good + restate", "pass"],
      ["good + RD", "fail"],
    ],
  );
});

test("judge() decides as decide() does over the graphs of a subject", () => {
  const trials = manyRecords(70, 90);
  const [judged] = judge(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict, decide(once(70, 20), POLICY));
});

test("judge() does not depend on the order of the trials", () => {
  const trials = [...manyRecords(70, 90), ...manyRecords(3, 90, { model: "other" })];
  const planned = planOf(trials);
  assertEquals(judge(trials.toReversed(), planned, POLICY), judge(trials, planned, POLICY));
});

test("judge() takes the repetitions of a graph as one unit", () => {
  const trials = [1, 2, 3].flatMap((repetition) => manyRecords(40, 50, { repetition }));
  const [judged] = judge(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict.evidence?.method, "betting");
  const units = [
    ...new Array(40).fill({ solved: 3, valid: 3, trials: 3 }),
    ...new Array(10).fill({ solved: 0, valid: 3, trials: 3 }),
  ];
  assertEquals(judged!.verdict, decide(units, POLICY));
});

test("judge() counts invalid and missing trials alike, as the worst case of each bound", () => {
  const invalid = [200, 201, 202].map((seed) => record({ seed, outcome: "invalid" }));
  const planned = planOf([...manyRecords(97, 97), ...invalid]);
  const expected = decide(once(97, 0, 3), POLICY);
  for (const shown of [invalid, invalid.slice(1), []]) {
    const [judged] = judge([...manyRecords(97, 97), ...shown], planned, POLICY);
    assertEquals(judged!.verdict, expected);
  }
  assertEquals([expected.evidence?.rate, expected.evidence?.unknown], [1, 3]);
});

test("judge() counts missing trials against the coverage", () => {
  const planned = planOf(manyRecords(100, 100));
  assertEquals(judge(manyRecords(95, 95), planned, POLICY)[0]!.verdict.kind, "pass");
  const { verdict } = judge(manyRecords(94, 94), planned, POLICY)[0]!;
  assert(verdict.kind === "invalid");
  assertStringIncludes(verdict.reason, "94 of 100 planned trials are valid");
});

test("judge() finds a planned subject without any trial invalid", () => {
  const planned = planOf([...manyRecords(90, 100), ...manyRecords(0, 100, { model: "absent" })]);
  const judged = judge(manyRecords(90, 100), planned, POLICY);
  assertEquals(judged.map(({ model, verdict }) => [model, verdict.kind]), [
    ["m", "pass"],
    ["absent", "invalid"],
  ]);
});

test("judge() leaves out trials of subjects that were not planned", () => {
  const stranger = manyRecords(0, 100, { model: "stranger" });
  const planned = planOf(manyRecords(90, 100));
  const judged = judge([...manyRecords(90, 100), ...stranger], planned, POLICY);
  assertEquals(judged.map(({ model, verdict }) => [model, verdict.kind]), [["m", "pass"]]);
});

test("judge() finds a subject invalid whose served model changed on the way", () => {
  const trials = [
    ...manyRecords(50, 50, { served: "m-2026-01" }),
    ...manyRecords(50, 50, { served: "m-2026-02", repetition: 2 }),
  ];
  const [judged] = judge(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict, {
    kind: "invalid",
    reason: "the served model changed on the way: m-2026-01, m-2026-02",
  });
});

test("judge() lets an invalid trial have any served model, as nothing may have answered", () => {
  const trials = [
    ...manyRecords(99, 99, { served: "m-2026-01" }),
    record({ seed: 500, outcome: "invalid", served: "m" }),
  ];
  assertEquals(judge(trials, planOf(trials), POLICY)[0]!.verdict.kind, "pass");
});

test("judge() lets two subjects be served by different models", () => {
  const trials = [
    ...manyRecords(100, 100, { model: "a", served: "one" }),
    ...manyRecords(100, 100, { model: "b", served: "two" }),
  ];
  assertEquals(
    judge(trials, planOf(trials), POLICY).map(({ verdict }) => verdict.kind),
    ["pass", "pass"],
  );
});

test("judge() of no plan gives no verdict, and the worst of none is invalid", () => {
  assertEquals(judge([], [], POLICY), []);
  assertEquals(worstKind([]), "invalid");
});

test("bySubject() keeps models apart whose names look like another's strategy", () => {
  const one = record({ model: "a", strategy: "b" });
  const other = record({ model: 'a","b', strategy: "baseline" });
  assertEquals(bySubject([one, other, one], subjectOf).map(({ items }) => items.length), [2, 1]);
});

test("byGraph() puts the trials of one graph together, whatever the order of its spec", () => {
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 9 };
  const same = { seed: 9, disconnected: 0, connected: 0, depth: 2, core: 3 };
  const other = { ...task, core: 4 };
  const groups = byGraph([
    record({ task }),
    record({ task: other }),
    record({ task: same, repetition: 2 }),
  ]);
  assertEquals(groups.map(({ length }) => length), [2, 1]);
});

test("subjectName() tells strategy and perturbation where they are not the usual", () => {
  const usual = { model: "m", strategy: "baseline", perturbation: "none" };
  assertEquals(subjectName(usual), "m");
  assertEquals(
    subjectName({ ...usual, strategy: "restate", perturbation: "RD" }),
    "m + restate + RD",
  );
});

test("worstKind() puts fail before invalid before undecided before pass", () => {
  const evidence = {
    solved: 1,
    valid: 1,
    unknown: 0,
    rate: 1,
    lower: 0,
    upper: 1,
    method: "clopper-pearson",
  } as const;
  const verdicts: Record<Verdict["kind"], Verdict> = {
    pass: { kind: "pass", evidence },
    undecided: { kind: "undecided", evidence, moreTrials: null },
    invalid: { kind: "invalid", reason: "it is" },
    fail: { kind: "fail", evidence },
  };
  const kinds = ["pass", "undecided", "invalid", "fail"] as const;
  for (const [one, kind] of kinds.entries()) {
    for (const other of kinds.slice(0, one + 1)) {
      assertEquals(worstKind([verdicts[kind], verdicts[other]]), kind);
      assertEquals(worstKind([verdicts[other], verdicts[kind]]), kind);
    }
  }
});

test("exitCodeOf() is 0 for pass, 1 for fail, 3 for undecided and invalid", () => {
  assertEquals((["pass", "fail", "undecided", "invalid"] as const).map(exitCodeOf), [0, 1, 3, 3]);
});
