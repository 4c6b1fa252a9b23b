// A release may be compared with an accepted one that ran on other graphs of the same cells: cell by cell, without pairs.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { decideUpgrade } from "../support/deciding.ts";
import { type DecidedVariant, decideTrials } from "../../lib/gate/decide_trials.ts";
import { describeVerdict, verdictNumbers } from "../../lib/gate/gate_report.ts";
import type { FreshEvidence } from "../../lib/gate/evidence.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { readBaseline } from "../../lib/runs/baseline.ts";
import { comparableBaseline } from "../../lib/runs/compared_baseline.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { stratifiedDifference } from "../../lib/statistics/two_samples.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import { Folder } from "../support/folders.ts";
import { accept, writeJournal } from "../support/journals.ts";
import { asJson, failureOf, finish, type TrialTraits } from "../support/records.ts";

/** Two cells, which differ in `core`. */
const SUITE: Suite = {
  name: "s",
  seed: 1,
  graphs: 40,
  tasks: [{ core: [3, 5], depth: 1 }],
  models: ["new"],
};
const OLD: Suite = { ...SUITE, seed: 2, models: ["old"] };
const POLICY: GatePolicy = { baseline: "old", margin: 0.05 };

/** What becomes of a trial, by its cell and its number among those of the cell. */
type Play = (core: number, place: number) => TrialTraits;

const SOLVED: Play = () => ({});
const WRONG: TrialTraits = { outcome: "wrong_answer" };
const INVALID: TrialTraits = { outcome: "invalid", reason: "500" };

/** The first trials of each cell end so, and the others are solved. */
const first =
  (counts: Readonly<Record<number, number>>, traits: TrialTraits): Play => (core, place) =>
    place < (counts[core] ?? 0) ? traits : {};

function play(plan: Plan, ends: Play): Trial[] {
  const places = new Map<number, number>();
  return plan.trials.map((planned) => {
    const { core } = planned.task as { core: number };
    const place = places.get(core) ?? 0;
    places.set(core, place + 1);
    return finish(planned, ends(core, place));
  });
}

interface Sides {
  readonly suite?: Suite;
  readonly old?: Suite;
  readonly policy?: GatePolicy;
  readonly stopped?: string;
  /** The trials that are there. */
  readonly keep?: (trial: PlannedTrial) => boolean;
  readonly keepOld?: (trial: PlannedTrial) => boolean;
}

/** Decides over one run against another one on other graphs. */
function decideFresh(
  own: Play,
  other: Play,
  { suite = SUITE, old = OLD, policy = POLICY, stopped, keep, keepOld }: Sides = {},
): DecidedVariant {
  const [plan, there] = [planSuite(suite), planSuite(old)];
  const kept = (trials: Trial[], keeps: Sides["keep"] = () => true) =>
    trials.filter((_, place) =>
      keeps(trials === mine ? plan.trials[place]! : there.trials[place]!)
    );
  const mine = play(plan, own);
  const [decided] = decideTrials(kept(mine, keep), plan.trials, completePolicy(policy), {
    ...(stopped === undefined ? {} : { stopped }),
    baseline: {
      file: "b.json",
      trials: kept(play(there, other), keepOld),
      fresh: there.trials,
    },
  });
  return decided!;
}

function evidenceOf({ verdict }: DecidedVariant): FreshEvidence {
  assert(verdict.evidence !== undefined && "fresh" in verdict.evidence);
  return verdict.evidence;
}

Deno.test("decideTrials() compares different graphs by cell, with Miettinen and Nurminen's bounds", () => {
  const decided = decideFresh(first({ 3: 6, 5: 10 }, WRONG), first({ 3: 4, 5: 20 }, WRONG), {
    old: { ...OLD, graphs: 60 },
  });
  const { lower, upper, difference } = stratifiedDifference([
    { one: [34, 40], other: [56, 60] },
    { one: [30, 40], other: [40, 60] },
  ], 0.95);
  const { candidate, baseline, ...evidence } = evidenceOf(decided);
  assertEquals(asJson(evidence), {
    ...{ of: "difference", fresh: true, graphs: 80, baselineGraphs: 120, cells: 2 },
    ...{ difference, valid: 200, unknown: 0, lower, upper, method: "miettinen-nurminen" },
  });
  assertAlmostEquals(candidate, 0.8, 1e-12);
  assertAlmostEquals(baseline, 0.8, 1e-12);
  assertEquals(decided.baseline, "old (b.json)");
});

Deno.test("decideTrials() passes and fails on different graphs, and says that they are", () => {
  const policy = { ...POLICY, margin: 0.1 };
  const passed = decideFresh(SOLVED, SOLVED, { policy });
  assertEquals(passed.verdict.kind, "pass");
  assertStringIncludes(
    describeVerdict(passed.verdict, policy),
    "PASS: on different graphs of the same kinds, the true success rate is at most 10 points below that of",
  );
  assertStringIncludes(describeVerdict(passed.verdict, policy), "would pass in about 5.0% of runs");
  const numbers = verdictNumbers(passed.verdict, policy);
  assertEquals(numbers.slice(0, 2), [
    "solved: candidate 100.0%, baseline 100.0%, on 80 and 80 different graphs of 2 cells, which weigh the same",
    "difference: 0 points",
  ]);
  assertStringIncludes(numbers[2]!, "(Miettinen and Nurminen's score, cell by cell)");
  const failed = decideFresh(first({ 3: 20, 5: 20 }, WRONG), SOLVED, { policy });
  assertEquals(failed.verdict.kind, "fail");
  assertStringIncludes(
    describeVerdict(failed.verdict, policy),
    "FAIL: on different graphs of the same kinds, the true success rate is below that of",
  );
});

Deno.test("decideTrials() takes unknown trials of either side for the worst on different graphs", () => {
  const policy = { ...POLICY, coverage: 0.5 };
  const own = decideFresh(first({ 3: 5 }, INVALID), first({ 5: 8 }, INVALID), { policy });
  const evidence = evidenceOf(own);
  const [worst, best] = [
    [{ one: [35, 40], other: [40, 40] }, { one: [40, 40], other: [40, 40] }],
    [{ one: [40, 40], other: [40, 40] }, { one: [40, 40], other: [32, 40] }],
  ] as const;
  assertEquals(evidence.lower, stratifiedDifference(worst, 0.95).lower);
  assertEquals(evidence.upper, stratifiedDifference(best, 0.95).upper);
  assertEquals([evidence.valid, evidence.unknown], [147, 13]);
});

Deno.test("decideTrials() is invalid on different graphs if trials of either side are not", () => {
  for (
    const [own, other] of [[first({ 3: 10 }, INVALID), SOLVED], [SOLVED, first({ 3: 10 }, INVALID)]]
  ) {
    const { verdict } = decideFresh(own!, other!);
    assert(verdict.kind === "invalid");
    assertStringIncludes(verdict.reason, "150 of 160 planned trials are valid, fewer than");
    assertStringIncludes(verdict.reason, "most often (10 of 10) as 500");
  }
  const none = decideFresh(first({ 3: 40, 5: 40 }, INVALID), SOLVED).verdict;
  assertEquals(
    none.kind === "invalid" && none.reason.startsWith("no cell has a valid trial of both"),
    true,
  );
});

Deno.test("decideTrials() bets on pairs of different graphs where they are repeated, as many of each side", () => {
  const repeated = decideFresh(first({ 3: 4 }, WRONG), first({ 5: 4 }, WRONG), {
    suite: { ...SUITE, repetitions: 2 },
    old: { ...OLD, graphs: 60 },
  });
  const [solved, failed] = [2, 0].map((solved) => ({ solved, valid: 2, trials: 2 }));
  const [right, wrong] = [1, 0].map((solved) => ({ solved, valid: 1, trials: 1 }));
  const pairs = [
    ...Array.from(
      { length: 40 },
      (_, n) => ({ candidate: n < 2 ? failed! : solved!, baseline: right! }),
    ),
    ...Array.from(
      { length: 40 },
      (_, n) => ({ candidate: solved!, baseline: n < 4 ? wrong! : right! }),
    ),
  ];
  const paired = decideUpgrade(pairs, { baseline: "old", margin: 0.05 }).evidence!;
  const { lower, upper, method, graphs, baselineGraphs, valid } = evidenceOf(repeated);
  assertEquals([lower, upper], [paired.lower, paired.upper]);
  assertEquals([method, graphs, baselineGraphs, valid], ["betting", 80, 120, 280]);
  assertMatch(verdictNumbers(repeated.verdict, POLICY).join(), /\(by bets on pairs of graphs\)/);
});

Deno.test("decideTrials() bets on different graphs where one side was stopped early", () => {
  const blocks = (most: number) => ({ block }: PlannedTrial) => block < most;
  const cut = decideFresh(SOLVED, SOLVED, { stopped: "the budget is spent", keep: blocks(30) });
  assertEquals([evidenceOf(cut).method, evidenceOf(cut).graphs], ["betting", 60]);
  assertEquals(cut.verdict.kind === "undecided" && cut.verdict.stopped, "the budget is spent");
  const early = decideFresh(SOLVED, SOLVED, { keepOld: blocks(25) });
  const { method, graphs, baselineGraphs, unknown } = evidenceOf(early);
  assertEquals([method, graphs, baselineGraphs, unknown], ["betting", 80, 50, 0]);
  assertEquals(
    early.verdict.kind === "undecided" && early.verdict.stopped,
    "the baseline ends after 50 graphs",
  );
  const none = decideFresh(SOLVED, SOLVED, { keepOld: ({ index }) => index === 0 }).verdict;
  assertMatch(
    none.kind === "invalid" ? none.reason : "",
    /not even one graph of each cell was complete: the baseline ends after 0 graphs/,
  );
});

Deno.test("decideTrials() takes core graphs of several cells as one result on different graphs as well", () => {
  const paired = {
    pair: "distractors",
    tasks: [{ core: [3, 5], depth: 1, connected: [0, 4] }],
  } as const;
  const decided = decideFresh(SOLVED, SOLVED, {
    suite: { ...SUITE, ...paired },
    old: { ...OLD, ...paired },
  });
  const { graphs, baselineGraphs, cells, method, valid } = evidenceOf(decided);
  assertEquals([graphs, baselineGraphs, cells, valid], [80, 80, 2, 320]);
  assertEquals(method, "betting");
});

Deno.test("decideTrials() is invalid where a cell has graphs of one side alone", () => {
  const { verdict } = decideFresh(SOLVED, SOLVED, {
    old: { ...OLD, tasks: [{ core: [3, 4], depth: 1 }] },
  });
  assertEquals(verdict, {
    kind: "invalid",
    reason: "2 of 3 cells have graphs of one of the two runs alone",
  });
});

Deno.test("decideTrials() advises further trials of the candidate, if the baseline has enough", () => {
  const few = first({ 3: 4, 5: 4 }, WRONG);
  const old = { ...OLD, graphs: 400 };
  const scaled: Play = (_, place) => place % 10 === 0 ? WRONG : {};
  const { verdict } = decideFresh(few, scaled, { old });
  assert(verdict.kind === "undecided" && verdict.moreTrials !== null);
  assertStringIncludes(
    describeVerdict(verdict, POLICY),
    // A sequential gate cannot compare different graphs.
    `about ${verdict.moreTrials} further trials of the candidate would decide. Trials that are added to this run ` +
      "would make errors more likely: decide by a new run of fresh graphs, with that many more; it counts as the next run.",
  );
  // That many do.
  const graphs = Math.ceil((80 + verdict.moreTrials) / 2);
  const more = decideFresh((_, place) => place % 10 === 0 ? WRONG : {}, scaled, {
    suite: { ...SUITE, graphs: graphs + 10 - graphs % 10 },
    old,
  });
  assertEquals(more.verdict.kind, "pass");
  // Also by bets, where trials are repeated.
  const twice = decideFresh(few, scaled, { suite: { ...SUITE, repetitions: 2 }, old }).verdict;
  assert(twice.kind === "undecided" && twice.moreTrials !== null);
  // No number of trials of the candidate makes up for a baseline that has too few.
  const never = decideFresh(few, few, { policy: { ...POLICY, margin: 0.01 } }).verdict;
  assertEquals(never.kind === "undecided" && never.moreTrials, null);
  assertStringIncludes(
    describeVerdict(never, { ...POLICY, margin: 0.01 }),
    "If it went on like this, not even a million trials of the candidate would decide; " +
      "a baseline of more than 80 graphs might.",
  );
});

Deno.test("decideTrials() checks shifts of failures and forbidden calls on different graphs", () => {
  const wrong: TrialTraits = {
    outcome: "wrong_answer",
    failures: [failureOf("incorrect_value")],
  };
  const policy: GatePolicy = {
    ...{ baseline: "old", margin: 0.5 },
    atMost: { failureShifts: { incorrect_value: 0.05 } },
  };
  const { verdict } = decideFresh(first({ 3: 16 }, wrong), SOLVED, { policy });
  assert(verdict.kind === "fail" && !("never" in verdict) && verdict.ceilings !== undefined);
  const [check] = verdict.ceilings;
  const { lower } = stratifiedDifference([
    { one: [16, 40], other: [0, 40] },
    { one: [0, 40], other: [0, 40] },
  ], 0.95);
  assertEquals([check!.seen, check!.lower, check!.exceeded], [0.2, lower, true]);
  assertEquals(verdict.otherwise, "pass");
  const kept = decideFresh(first({ 3: 16 }, wrong), first({ 3: 16 }, wrong), { policy }).verdict;
  assertEquals(kept.kind, "pass");
  const called = first({ 3: 1 }, {
    events: [{ kind: "assertion", message: "refund was called", never: true }],
  });
  const never = decideFresh(called, SOLVED, { policy }).verdict;
  assert("never" in never);
  assertEquals([never.kind, never.never.length], ["fail", 1]);
});

Deno.test("decideTrials() does not take for kept what an agent of the baseline on other graphs hid", () => {
  const policy: GatePolicy = {
    ...POLICY,
    atMost: { failureShifts: { function_not_found: 0.05 } },
  };
  const { verdict } = decideFresh(SOLVED, () => ({ agent: "unwatched" }), { policy });
  assertStringIncludes(
    verdict.kind === "invalid" ? verdict.reason : "",
    "in 80 of 80 trials of the baseline the agent was not seen",
  );
});

Deno.test("decideTrials() refuses a sequential gate on different graphs", () => {
  const policy = completePolicy({ ...POLICY, sequential: true });
  const plan = planSuite(SUITE);
  assertThrows(
    () =>
      decideTrials([], plan.trials, policy, {
        rule: sequentialRule(policy, 2),
        baseline: { file: "b.json", trials: play(planSuite(OLD), SOLVED), fresh: [] },
      }),
    InputError,
    "Cannot compare with b.json as a sequential gate compares on the same graphs: it is of different graphs",
  );
});

Deno.test("comparableBaseline() takes other graphs of the same cells where it may", () => {
  using folder = new Folder();
  const [plan, old] = [planSuite(SUITE), planSuite({ ...OLD, graphs: 50, repetitions: 2 })];
  const journal = writeJournal(folder, old);
  for (const path of [journal, accept(folder, journal)]) {
    const baseline = readBaseline(path);
    const options = { fresh: true };
    const fresh = comparableBaseline(baseline, plan, plan.trials, options);
    assertEquals(fresh.fresh?.length, 200);
    const [decided] = decideTrials(play(plan, SOLVED), plan.trials, completePolicy(POLICY), {
      baseline: fresh,
    });
    const { graphs, baselineGraphs, method } = evidenceOf(decided!);
    assertEquals([graphs, baselineGraphs, method], [80, 100, "betting"]);
    // Without the option nothing has changed.
    assertThrows(
      () => comparableBaseline(baseline, plan, plan.trials),
      InputError,
      "they differ in seed (2 there, 1 here), graphs (50 there, 40 here), repetitions (2 there, 1 here)",
    );
    const same = planSuite({ ...OLD, graphs: 50, repetitions: 2, models: ["newer"] });
    assertEquals(comparableBaseline(baseline, same, same.trials, options).fresh, undefined);
    const apart: [Partial<Suite>, string][] = [
      [{ seed: 2, graphs: 60 }, "they share 100 of 120: run with another seed"],
      [{ seed: 2, graphs: 50 }, "they share 100 of 100: run with another seed"],
      [{ limits: { calls: 3 } }, "limits"],
      [{ tasks: [{ core: [3, 4], depth: 1 }] }, "cells"],
    ];
    for (const [change, words] of apart) {
      const other = planSuite({ ...SUITE, ...change });
      const { message } = assertThrows(
        () => comparableBaseline(baseline, other, other.trials, options),
        InputError,
      );
      assertStringIncludes(message, words);
    }
  }
});
