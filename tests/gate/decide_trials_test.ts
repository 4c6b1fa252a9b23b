import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { FailedAttempt } from "../../lib/calls/trace.ts";
import type { CeilingCheck, TrialsVerdict, Verdict } from "../../lib/gate/decide.ts";
import { decide, decideUpgrade } from "../support/deciding.ts";
import { decideTrials, exitCodeOf, worstKind } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import {
  completePolicy,
  type GateOptions,
  type InfrastructureFailure,
} from "../../lib/gate/policy.ts";
import { variantName } from "../../lib/gate/variant.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import {
  failureOf,
  finish,
  HOSTILE,
  manyRecords,
  once,
  pairsOf,
  planOf,
  record,
  records,
  STEERING,
  traced,
  type TrialTraits,
} from "../support/records.ts";

const POLICY = completePolicy({ successRate: 0.8 });

Deno.test("decideTrials() gives one verdict a model, strategy and perturbation, in plan order", () => {
  const good = { model: "good" };
  const trials = [
    ...manyRecords(100, 100, good),
    ...manyRecords(10, 100, { model: "bad" }),
    ...manyRecords(90, 100, { ...good, strategy: "restate" }),
    ...manyRecords(10, 100, { ...good, perturbation: "RD" }),
  ];
  const judged = decideTrials(trials, planOf(trials), POLICY);
  assertEquals(
    judged.map((one) => [variantName(one), one.verdict.kind]),
    [
      ["good", "pass"],
      ["bad", "fail"],
      ["good + restate", "pass"],
      ["good + RD", "fail"],
    ],
  );
});

Deno.test("decideTrials() decides as decide() does over the graphs of a subject", () => {
  const trials = manyRecords(70, 90);
  const [judged] = decideTrials(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict, decide(once(70, 20), POLICY));
});

Deno.test("decideTrials() does not depend on the order of the trials", () => {
  const trials = [...manyRecords(70, 90), ...manyRecords(3, 90, { model: "other" })];
  const planned = planOf(trials);
  assertEquals(
    decideTrials(trials.toReversed(), planned, POLICY),
    decideTrials(trials, planned, POLICY),
  );
});

Deno.test("decideTrials() takes the repetitions of a graph as one unit", () => {
  const trials = [1, 2, 3].flatMap((repetition) => manyRecords(40, 50, { repetition }));
  const [judged] = decideTrials(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict.evidence?.method, "betting");
  const units = [
    ...new Array(40).fill({ solved: 3, valid: 3, trials: 3 }),
    ...new Array(10).fill({ solved: 0, valid: 3, trials: 3 }),
  ];
  assertEquals(judged!.verdict, decide(units, POLICY));
});

Deno.test("decideTrials() counts invalid and missing trials alike, as the worst case of each bound", () => {
  const invalid = [200, 201, 202].map((seed) => record({ seed, outcome: "invalid" }));
  const planned = planOf([...manyRecords(97, 97), ...invalid]);
  const expected = decide(once(97, 0, 3), POLICY);
  for (const shown of [invalid, invalid.slice(1), []]) {
    const [judged] = decideTrials([...manyRecords(97, 97), ...shown], planned, POLICY);
    assertEquals(judged!.verdict, expected);
  }
  const { evidence } = expected;
  assert(evidence?.of === "rate");
  assertEquals([evidence.rate, evidence.unknown], [1, 3]);
});

Deno.test("decideTrials() finds a planned subject without any trial invalid", () => {
  const planned = planOf([...manyRecords(90, 100), ...manyRecords(0, 100, { model: "absent" })]);
  const judged = decideTrials(manyRecords(90, 100), planned, POLICY);
  assertEquals(judged.map(({ model, verdict }) => [model, verdict.kind]), [
    ["m", "pass"],
    ["absent", "invalid"],
  ]);
});

Deno.test("decideTrials() leaves out trials of subjects that were not planned", () => {
  const stranger = manyRecords(0, 100, { model: "stranger" });
  const planned = planOf(manyRecords(90, 100));
  const judged = decideTrials([...manyRecords(90, 100), ...stranger], planned, POLICY);
  assertEquals(judged.map(({ model, verdict }) => [model, verdict.kind]), [["m", "pass"]]);
});

Deno.test("decideTrials() finds a subject invalid whose served model changed during the run", () => {
  const trials = [
    ...manyRecords(50, 50, { served: "m-2026-01" }),
    ...manyRecords(50, 50, { served: "m-2026-02", repetition: 2 }),
  ];
  const [judged] = decideTrials(trials, planOf(trials), POLICY);
  assertEquals(judged!.verdict, {
    kind: "invalid",
    reason: "the served model changed during the run: m-2026-01, m-2026-02",
  });
});

Deno.test("decideTrials() lets an invalid trial have any served model, as nothing may have answered", () => {
  const trials = [
    ...manyRecords(99, 99, { served: "m-2026-01" }),
    record({ seed: 500, outcome: "invalid", served: "m" }),
  ];
  assertEquals(decideTrials(trials, planOf(trials), POLICY)[0]!.verdict.kind, "pass");
});

Deno.test("decideTrials() of no plan gives no verdict, and the worst of none is invalid", () => {
  assertEquals(decideTrials([], [], POLICY), []);
  assertEquals(worstKind([]), "invalid");
});

const UPGRADE = completePolicy({ baseline: "old" });

/** A candidate that solved `solved` of a hundred graphs, and a baseline. */
function upgrade(solved: number, before: number, traits: TrialTraits = {}): Trial[] {
  return [
    ...manyRecords(solved, 100, { model: "new" }),
    ...manyRecords(before, 100, { model: "old", ...traits }),
  ];
}

Deno.test("decideTrials() decides each candidate against the baseline, which is not decided itself", () => {
  const trials = [...upgrade(95, 90), ...manyRecords(50, 100, { model: "worse" })];
  const judged = decideTrials(trials, planOf(trials), UPGRADE);
  assertEquals(judged.map(({ model, baseline, verdict }) => [model, baseline, verdict.kind]), [
    ["new", "old", "pass"],
    ["worse", "old", "fail"],
  ]);
  assertEquals(
    judged[0]!.verdict,
    decideUpgrade(pairsOf({ both: 90, gained: 5, neither: 5 }), UPGRADE),
  );
  // An absolute gate compares with nothing.
  assertEquals(decideTrials(trials, planOf(trials), POLICY)[0]!.baseline, undefined);
});

Deno.test("decideTrials() counts invalid and missing trials of the baseline as the worst case too", () => {
  const trials = upgrade(95, 90);
  const planned = planOf(trials);
  const policy = completePolicy({ ...UPGRADE, coverage: 0.9 });
  const [cut] = decideTrials(trials.slice(0, -8), planned, policy);
  const invalid = trials.slice(-8).map((trial): Trial => ({
    ...trial,
    outcome: "invalid",
    solved: false,
  }));
  assertEquals(decideTrials([...trials.slice(0, -8), ...invalid], planned, policy), [cut!]);
  const { evidence } = cut!.verdict;
  assertEquals(evidence?.unknown, 8);
  assertLess(evidence!.lower, decideTrials(trials, planned, policy)[0]!.verdict.evidence!.lower);
});

Deno.test("decideTrials() compares with results from a file, and says which", () => {
  const trials = manyRecords(95, 100, { model: "new" });
  const baseline = { file: "b.json", trials: manyRecords(90, 100, { model: "old" }) };
  const gate = { baseline: { file: "b.json" } };
  const [judged] = decideTrials(trials, planOf(trials), completePolicy(gate), { baseline });
  assertEquals(judged!.baseline, "old (b.json)");
  assertEquals(
    judged!.verdict,
    decideUpgrade(pairsOf({ both: 90, gained: 5, neither: 5 }), UPGRADE),
  );
  // A model may be compared with itself, as it was.
  const before = { file: "b.json", trials: manyRecords(50, 100, { model: "new" }) };
  const [itself] = decideTrials(trials, planOf(trials), completePolicy(gate), { baseline: before });
  assertEquals([itself!.baseline, itself!.verdict.kind], ["new (b.json)", "pass"]);
});

Deno.test("decideTrials() finds a candidate invalid whose baseline has no trials, or was changed during the run", () => {
  const reasonOf = (trials: readonly Trial[], planned = upgrade(95, 90)) => {
    const { verdict } = decideTrials(trials, planOf(planned), UPGRADE)[0]!;
    assert(verdict.kind === "invalid");
    return verdict.reason;
  };
  assertEquals(reasonOf(upgrade(95, 90).slice(0, 100)), "there are no trials of the baseline old");
  assertEquals(reasonOf(upgrade(95, 90).slice(100)), "there are no trials");
  const served = upgrade(95, 90).map((trial, place): Trial => ({
    ...trial,
    model: { ...trial.model, served: place > 150 ? "other" : trial.model.requested },
  }));
  assertEquals(
    reasonOf(served),
    "the served model of the baseline changed during the run: old, other",
  );
  const gate = { baseline: { file: "b.json", model: HOSTILE } };
  const own = manyRecords(9, 10);
  const { verdict } = decideTrials(own, planOf(own), completePolicy(gate), {
    baseline: { file: "b.json", trials: own },
  })[0]!;
  assert(verdict.kind === "invalid");
  assertNotMatch(verdict.reason, STEERING);
});

Deno.test("decideTrials() takes a verdict for simulated when either side is, or a judge", () => {
  const simulated = { simulated: true };
  const model = { requested: "j", served: [], simulated: true };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const judging = { model: { ...model, simulated: false }, usage, others: [{ model, usage }] };
  const of = (trials: readonly Trial[]) =>
    decideTrials(trials, planOf(trials), UPGRADE)[0]!.simulated;
  assertEquals(of(upgrade(90, 90)), false);
  assertEquals(of(upgrade(90, 90, { judging })), "judge");
  const user = { model, usage, messages: 1 };
  assertEquals(of(upgrade(90, 90, { user })), "user");
  assertEquals(of(upgrade(90, 90, { judging, user })), "judge and user");
  assertEquals(of(upgrade(90, 90, { judging, ...simulated })), true);
  const own = manyRecords(9, 10, { model: "new", ...simulated });
  assertEquals(of([...own, ...manyRecords(9, 10, { model: "old" })]), true);
});

/** A plan of blocks of two cells, for gates that look at graphs in their order. */
function planned(gate: Suite["gate"], traits: Partial<Suite> = {}): Plan {
  return planSuite({
    name: "s",
    seed: 1,
    tasks: [{ core: [2, 3], depth: 1 }],
    models: ["new", "old"],
    ...(gate === undefined ? {} : { gate }),
    ...traits,
  });
}

/** The verdict over the first model of a plan, when these trials of it have ended. */
function verdictOf(plan: Plan, trials: readonly Trial[], stopped?: string): TrialsVerdict {
  return decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule, stopped })[0]!.verdict;
}

const SEQUENTIAL = { successRate: 0.9, margin: 0.3, sequential: true };
const STOPPED = "the budget of 9 tokens was reached";

Deno.test("decideTrials() by a rule decides over the graphs that come first in plan order, in whole blocks", () => {
  const plan = planned(SEQUENTIAL, { models: ["new"] });
  const all = plan.trials.map((trial) => finish(trial));
  const { evidence } = verdictOf(plan, all);
  assert(evidence !== undefined && evidence.graphs < plan.trials.length);
  const needed = all.slice(0, evidence.graphs);
  assertEquals(verdictOf(plan, needed), verdictOf(plan, all));
  assertEquals(verdictOf(plan, needed.toReversed()), verdictOf(plan, all));
  // Trials in flight at the stop are outside the verdict, whatever they came to.
  const late = plan.trials.slice(evidence.graphs, evidence.graphs + 5)
    .map((trial) => finish(trial, { outcome: "wrong_answer" }));
  assertEquals(verdictOf(plan, [...needed, ...late]), verdictOf(plan, all));
  // Without one of the first graphs, those behind it do not count: looks are never out of order.
  const gap = verdictOf(plan, all.toSpliced(4, 1));
  assert(gap.kind === "invalid");
  assertStringIncludes(gap.reason, `the run was interrupted: 4 of ${plan.trials.length} graphs`);
  const late4 = verdictOf(plan, all.toSpliced(5, 1));
  assertEquals(late4.evidence?.graphs, 4);
});

Deno.test("decideTrials() by a rule finds an interrupted run invalid, whichever model was cut short", () => {
  const gate = { margin: 0.3, discordance: 0.4, sequential: true };
  const plan = planned({ ...gate, baseline: "old" });
  const swapped = planned({ ...gate, baseline: "new" });
  for (const one of [plan, swapped]) {
    for (const count of [8, 9, 10, 11]) {
      const verdict = verdictOf(one, one.trials.slice(0, count).map((trial) => finish(trial)));
      assert(verdict.kind === "invalid", `${count}: ${JSON.stringify(verdict)}`);
      assertStringIncludes(verdict.reason, "the run was interrupted: 4 of");
    }
  }
});

Deno.test("decideTrials() of a run that a budget stopped decides over the blocks that were complete", () => {
  const plan = planned({ successRate: 0.8 }, { models: ["new"], graphs: 60 });
  const all = plan.trials.map((trial, place) =>
    finish(trial, { outcome: place % 9 === 0 ? "wrong_answer" : "solved" })
  );
  const verdict = verdictOf(plan, all.slice(0, 41), STOPPED);
  const units = all.slice(0, 40).map(({ solved }) => once(solved ? 1 : 0, solved ? 0 : 1)[0]!);
  assertEquals(verdict, decide(units, POLICY, { stopped: STOPPED }));
  assertEquals(verdict.evidence?.method, "betting");
});

Deno.test("decideTrials() does not say that a run was stopped which has all its trials", () => {
  // The budget was reached by the last trial: nothing was left out.
  const plan = planned({ successRate: 0.8 }, { models: ["new"], graphs: 60 });
  const all = plan.trials.map((trial) => finish(trial));
  assertEquals(verdictOf(plan, all, STOPPED), verdictOf(plan, all));
  const sequential = planned(SEQUENTIAL, { models: ["new"] });
  const open = sequential.trials.map((trial, place) =>
    finish(trial, { outcome: place % 4 === 3 ? "wrong_answer" : "solved" })
  );
  const verdict = verdictOf(sequential, open, STOPPED);
  assert(verdict.kind === "undecided");
  assertEquals(verdict.stopped, undefined);
});

Deno.test("decideTrials() is invalid where no block was complete, and says why", () => {
  const plan = planned({ successRate: 0.8 }, { models: ["new"], graphs: 60 });
  const [first] = plan.trials.map((trial) => finish(trial));
  assertEquals(verdictOf(plan, [first!], STOPPED), {
    kind: "invalid",
    reason: `not even one graph of each cell was complete: ${STOPPED}`,
  });
  const sequential = planned(SEQUENTIAL, { models: ["new"] });
  assertEquals(verdictOf(sequential, [finish(sequential.trials[0]!)]), {
    kind: "invalid",
    reason: "not even one graph of each cell was complete",
  });
});

Deno.test("decideTrials() fails a subject for a ceiling that it proves to exceed, and that one alone", () => {
  const wrong = { failures: [failureOf("incorrect_value")] };
  const trials = [
    ...manyRecords(100, 100, { model: "careless", ...wrong }),
    ...manyRecords(100, 100, { model: "careful" }),
  ];
  const gate = { ...POLICY, atMost: { failures: { incorrect_value: 0.1 } } };
  const [careless, careful] = decideTrials(trials, planOf(trials), gate);
  const { verdict } = careless!;
  assert(verdict.kind === "fail");
  assertEquals(verdict.ceilings?.map(({ ceiling, seen, exceeded }) => [ceiling, seen, exceeded]), [
    ["failures.incorrect_value", 1, true],
  ]);
  assertEquals(verdict.otherwise, "pass");
  const { verdict: kept } = careful!;
  assertEquals([kept.kind, kept.kind === "pass" && kept.ceilings?.[0]?.exceeded], ["pass", false]);
  assertEquals(kept.evidence, decide(once(100, 0), gate).evidence);
});

Deno.test("decideTrials() weighs ceilings on the graphs of the verdict alone, by bounds that hold at any look", () => {
  const gate = completePolicy({ ...SEQUENTIAL, atMost: { failures: { incorrect_value: 0.5 } } });
  const plan = planned(gate, { models: ["new"] });
  const wrong = { failures: [failureOf("incorrect_value")] };
  const graphs = verdictOf(plan, plan.trials.map((trial) => finish(trial))).evidence!.graphs;
  const of = (from: number, to: number) =>
    verdictOf(
      plan,
      plan.trials.map((trial, place) => finish(trial, place >= from && place < to ? wrong : {})),
    );
  // What comes after the decision exceeds nothing, however much it is.
  assertEquals(of(graphs, Infinity).kind, "pass");
  const failed = of(0, graphs);
  assert(failed.kind === "fail" && failed.ceilings !== undefined);
  const [{ lower }] = failed.ceilings as [CeilingCheck];
  assertGreater(lower!, 0.5);
  // An exact bound of a fixed size would claim more.
  assertLess(lower!, decide(once(graphs, 0), POLICY).evidence!.lower);
});

Deno.test("decideTrials() of trials that are all invalid is invalid, whatever the ceilings", () => {
  const trials = manyRecords(0, 10, { outcome: "invalid" });
  const gate = completePolicy({
    ...POLICY,
    atMost: { failures: { incorrect_value: 0 }, behaviours: { silent: 0 }, tokens: 1 },
  });
  assertEquals(decideTrials(trials, planOf(trials), gate)[0]!.verdict, {
    kind: "invalid",
    reason: "none of 10 planned trials is valid; most often (10 of 10) as unknown",
  });
});

Deno.test("decideTrials() says what spoiled trials where too few are valid, of the verdict's graphs alone", () => {
  const spoiled = (reason: string, count: number, seed: number) =>
    Array.from(
      { length: count },
      (_, place) => record({ seed: seed + place, outcome: "invalid", reason }),
    );
  const trials = [
    ...manyRecords(90, 90),
    ...spoiled("429", 3, 200),
    ...spoiled(`502 ${HOSTILE}`, 7, 300),
  ];
  const { verdict } = decideTrials(trials, planOf(trials), POLICY)[0]!;
  assert(verdict.kind === "invalid");
  assertStringIncludes(
    verdict.reason,
    "90 of 100 planned trials are valid, fewer than the coverage of 95% requires; most often (7 of " +
      "10) as 502 evil",
  );
  assertNotMatch(verdict.reason, STEERING);
  // A run that was cut short is invalid for another reason.
  const plan = planned(SEQUENTIAL, { models: ["new"] });
  const cut = plan.trials.slice(0, 24).map((trial, place) =>
    finish(
      trial,
      place === 0
        ? { outcome: "invalid", reason: "502" }
        : { outcome: place % 4 === 3 ? "wrong_answer" : "solved" },
    )
  );
  const interrupted = verdictOf(plan, cut);
  assert(interrupted.kind === "invalid");
  assertStringIncludes(interrupted.reason, "the run was interrupted");
  assert(!interrupted.reason.includes("502"), interrupted.reason);
});

Deno.test("decideTrials() needs prices for a ceiling of cost", () => {
  const trials = manyRecords(100, 100);
  const gate = completePolicy({ ...POLICY, atMost: { usd: 0.01 } });
  assertThrows(() => decideTrials(trials, planOf(trials), gate), InputError, "the cost of model m");
  const prices = { m: { input: 1_000, output: 10_000 } };
  const { verdict } = decideTrials(trials, planOf(trials), gate, { prices })[0]!;
  assertEquals(verdict.kind === "fail" && verdict.ceilings?.[0]?.ceiling, "usd");
});

Deno.test("worstKind() puts fail before invalid before undecided before pass", () => {
  const evidence = {
    of: "rate",
    graphs: 1,
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

Deno.test("exitCodeOf() is 0 for pass, 1 for fail, 3 for undecided and invalid", () => {
  assertEquals((["pass", "fail", "undecided", "invalid"] as const).map(exitCodeOf), [0, 1, 3, 3]);
});

Deno.test("decideTrials() finds a change of the model that a stage was asked of", () => {
  const served = (nameOf: (place: number) => string) =>
    manyRecords(90, 100).map((trial, place): Trial => ({
      ...trial,
      stages: [{
        stage: "plan",
        model: { requested: "p", served: [nameOf(place)], simulated: false },
        usage: { inputTokens: 1, outputTokens: 1 },
      }],
    }));
  const same = served(() => "p-1");
  assertEquals(decideTrials(same, planOf(same), POLICY)[0]!.verdict.kind, "pass");
  const other = served((place) => place < 50 ? "p-1" : "p-2");
  assertEquals(decideTrials(other, planOf(other), POLICY)[0]!.verdict, {
    kind: "invalid",
    reason: "the served model, p at stage plan, changed during the run: p-1, p-2",
  });
});

// The floor under a gate's evidence: trials that were valid at the first go. Anyone who may ask again until a reply is
// right can pass any gate.

const RATE = { successRate: 0.8 };

/** A trial whose first reply came after these failures. */
function resampled(seed: number, failed: readonly FailedAttempt[], traits = {}): TrialSummary {
  const numbers = { request: 1, calls: 0, inputTokens: 9, outputTokens: 9, durationMs: 9 };
  const solved = { outcome: "solved" as const, seed, ...traits };
  const trial = traced([{ kind: "reply", text: "x = 1", ...numbers, failed }], solved);
  return summarize(trial);
}

/** One verdict over these trials. */
function verdictOver(trials: readonly (Trial | TrialSummary)[], more: GateOptions = {}) {
  const policy = completePolicy({ ...RATE, ...more });
  const all = trials as readonly TrialSummary[];
  const variants = decideTrials(all, planOf(trials as readonly Trial[]), policy);
  const [verdict] = reportVerdicts("s", variants, policy).verdicts;
  return verdict!;
}

/** So many solved trials, of which the last `count` are made by `make`. */
function solvedWith(count: number, make: (seed: number) => Trial | TrialSummary) {
  return Array.from(
    { length: 100 },
    (_, place) => place < 100 - count ? record({ seed: place + 1 }) : make(place + 1),
  );
}

const OVERLOADED = {
  cause: "unclear",
  status: 500,
  message: "Cannot get a reply: 500 Upstream overloaded, request a1b2c3d4 (1 attempt)",
} as const;

Deno.test("a model whose replies were drawn again for unclear causes does not pass, unless they are declared", () => {
  const trials = solvedWith(30, (seed) => resampled(seed, [OVERLOADED]));
  const { kind, text, numbers } = verdictOver(trials);
  assertEquals(kind, "invalid");
  assertStringIncludes(
    text,
    "70 of 100 planned trials were valid at the first go, fewer than the coverage of 95% requires: 30 " +
      "trials with a reply asked for again after a failure of unclear cause; most often (30 of 30) as",
  );
  assert(numbers.some((line) => line.startsWith("valid, but not at the first go: 30 trials")));
  const declarations: readonly (readonly [InfrastructureFailure, excuses: boolean])[] = [
    [{ status: 500 }, true],
    [{ message: "upstream OVERLOADED" }, true],
    [{ status: 500, message: "overloaded" }, true],
    [{ status: 503 }, false],
    [{ status: 503, message: "overloaded" }, false],
    [{ message: "timeout" }, false],
    // A text, not a pattern.
    [{ message: ".*" }, false],
  ];
  for (const [declared, excuses] of declarations) {
    const verdict = verdictOver(trials, { infrastructure: [{ status: 418 }, declared] });
    assertEquals(verdict.kind, excuses ? "pass" : "invalid", JSON.stringify(declared));
    const told = verdict.numbers.filter((line) => line.startsWith("declared as infrastructure"));
    assertEquals(told.length, excuses ? 1 : 0);
    if (!excuses) continue;
    assertEquals(verdict.excused, [{ ...declared, trials: 30 }]);
    assertStringIncludes(told[0]!, "leaves 30 trials valid at the first go");
  }
  // One failure that is not declared is enough.
  const mixed = solvedWith(
    30,
    (seed) => resampled(seed, [OVERLOADED, { cause: "unclear", message: "the reply broke off" }]),
  );
  assertEquals(verdictOver(mixed, { infrastructure: [{ status: 500 }] }).kind, "invalid");
  // What is infrastructure's for certain needs no declaration.
  const limited = solvedWith(
    30,
    (seed) => resampled(seed, [{ cause: "infrastructure", status: 429, message: "too many" }]),
  );
  assertEquals(verdictOver(limited).kind, "pass");
});

Deno.test("trials that were run again in place of invalid ones do not count towards coverage, and stay in rates", () => {
  const usage = { inputTokens: 1, outputTokens: 1 };
  const trials = solvedWith(10, (seed) => ({ ...summarize(record({ seed })), replaced: usage }));
  const short = verdictOver(trials);
  assertEquals(short.kind, "invalid");
  assertStringIncludes(
    short.text,
    "90 of 100 planned trials were valid at the first go, fewer than the coverage of 95% requires: 10 " +
      "trials run again in place of invalid ones.",
  );
  assert(short.evidence?.of === "rate");
  const { solved, valid, unknown, replaced, resampled } = short.evidence;
  assertEquals({ solved, valid, unknown, replaced, resampled }, {
    ...{ solved: 100, valid: 100, unknown: 0, replaced: 10, resampled: undefined },
  });
  const enough = verdictOver(trials, { coverage: 0.9 });
  assertEquals(enough.kind, "pass");
  assert(
    enough.numbers.includes(
      "valid, but not at the first go: 10 trials run again in place of invalid ones",
    ),
  );
  // Nothing that is declared makes a trial of a second run one of the first.
  const declared = { infrastructure: [{ message: "e" }] };
  assertEquals(verdictOver(trials, declared).kind, "invalid");
});

Deno.test("a failing model stays one that fails where enough trials were valid at the first go", () => {
  const trials = [
    ...records(new Array(97).fill("wrong_answer")),
    ...[101, 102, 103].map((seed) => resampled(seed, [OVERLOADED])),
  ];
  assertEquals(verdictOver(trials).kind, "fail");
});

Deno.test("sequential gates have the same floor", () => {
  const plan = planSuite({
    ...{ name: "s", seed: 1, tasks: [{ core: [2, 3], depth: 1 }], models: ["new"] },
    gate: { successRate: 0.9, margin: 0.3, sequential: true },
  });
  const finished = (share: number) =>
    plan.trials.map((trial, place) => ({
      ...summarize(finish(trial)),
      ...(place % 10 < 10 * share ? { unclear: [OVERLOADED] } : {}),
    }));
  const verdictOf = (trials: readonly TrialSummary[]) =>
    decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule })[0]!.verdict;
  assertEquals(verdictOf(finished(0)).kind, "pass");
  const verdict = verdictOf(finished(0.3));
  assert(verdict.kind === "invalid");
  assertStringIncludes(verdict.reason, "coverage");
  assertEquals(verdict.evidence?.method, "sequential");
});

Deno.test("upgrade gates have the same floor for both models", () => {
  const policy = completePolicy({ baseline: "old" });
  for (const laundered of ["old", "new", undefined]) {
    const trials = ["old", "new"].flatMap((model) =>
      Array.from(
        { length: 200 },
        (_, place) =>
          model === laundered && place % 3 === 0
            ? resampled(place + 1, [OVERLOADED], { model })
            : summarize(record({ model, seed: place + 1 })),
      )
    );
    const [one] = decideTrials(trials, planOf(trials as unknown as Trial[]), policy);
    assertEquals(one!.verdict.kind, laundered === undefined ? "pass" : "invalid", laundered);
    assertEquals(one!.verdict.evidence?.resampled, laundered === undefined ? undefined : 67);
  }
});

Deno.test("an invalid verdict groups reasons that differ in numbers, ids and quoted texts", () => {
  const reasons = [
    (place: number) =>
      `Cannot get a reply of m at 127.0.0.1:${
        40_000 + place
      }: 500 Failed on "gpu${place} b", request req_${place}ab (3 attempts)`,
    (place: number) => `Cannot get a reply of m at h: 503 Busy for ${place} s`,
    () => `the line is dead ${HOSTILE}`,
    () => "a fourth kind",
  ];
  const invalid = [20, 10, 6, 4].flatMap((count, kind) =>
    Array.from(
      { length: count },
      (_, place) =>
        record({
          seed: 1_000 * kind + place + 1,
          outcome: "invalid",
          reason: reasons[kind]!(place),
        }),
    )
  );
  const { kind, text } = verdictOver([...invalid, record({ seed: 9_999 })]);
  assertEquals(kind, "invalid");
  assertStringIncludes(
    text,
    '; most often (20 of 40) as Cannot get a reply of m at N.N.N.N:N: 500 Failed on "...", request ID ' +
      "(N attempts); then (10 of 40) as Cannot get a reply of m at h: 503 Busy for N s; then (6 of 40) as " +
      "the line is dead evil",
  );
  assertEquals(STEERING.test(text), false);
});
