// Gates over the cases of a suite of own tests: every case against a floor, cases that changed, and calls that must
// not happen, from the plan to the text of the verdict.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  changedCases,
  checkCases,
  fewestClean,
  mostFailed,
  trialsToProve,
  type TrialsVerdict,
} from "../../lib/gate/decide.ts";
import { Report } from "../../lib/reports/report.ts";
import { noteText } from "../../lib/reports/_view.ts";
import { type DecidedVariant, decideTrials } from "../../lib/gate/decide_trials.ts";
import type { Unit } from "../../lib/gate/evidence.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { completePolicy, type GatePolicy, readPolicy } from "../../lib/gate/policy.ts";
import { InputError } from "../../lib/base/errors.ts";
import { plannedDecisions } from "../../lib/gate/decisions.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { forecast, planWarnings } from "../../lib/runs/forecast.ts";
import { renderVerdicts } from "../../lib/reports/terminal.ts";
import { verdictsToMarkdown } from "../../lib/reports/markdown.ts";
import { clopperPearson, fisherExact, holm } from "../../lib/statistics/proportions.ts";
import { summarize } from "../../lib/trials/summary.ts";
import fc from "../support/fast_check.ts";
import { casePlan, type CaseTraits, caseTrials, FORBIDDEN, WRONG } from "../support/case_suites.ts";
import { tablesIn, textsOf } from "../support/reports.ts";
import { finish, HOSTILE, STEERING, type TrialTraits } from "../support/records.ts";

const INVALID: TrialTraits = { outcome: "invalid", reason: "no answer" };

/** Decides over all planned trials. */
function judged(plan: Plan, traits: CaseTraits): DecidedVariant[] {
  const { rule } = plan;
  return decideTrials(caseTrials(plan, traits), plan.trials, plan.gate!, { rule });
}

/** The verdict on the new model. */
function newest(variants: readonly DecidedVariant[]): TrialsVerdict {
  return variants.find(({ model }) => model === "new")!.verdict;
}

function textOf(plan: Plan, variants: readonly DecidedVariant[]): string {
  const own = variants.filter(({ model }) => model === "new");
  return renderVerdicts(reportVerdicts("support", own, plan.gate!));
}

Deno.test("a gate with every passes, fails and stays open by each case alone, and says which it was", () => {
  const plan = casePlan({ every: 0.9 }, 4, 40);
  const { successRate, margin, every } = completePolicy({ every: 0.9 });
  assertEquals([successRate, margin, every], [0.9, 0, 0.9]);
  const passed = judged(plan, () => ({}));
  assertEquals(newest(passed).kind, "pass");
  assertStringIncludes(
    textOf(plan, passed),
    "PASS: each of the 4 cases has a true success rate of at least 90.0%. If that were not so, " +
      "the gate would pass in at most 5.0% of runs.",
  );
  // The mean of the others hides neither.
  const failed = judged(plan, (name, trial) => name === "case 2" && trial <= 12 ? WRONG : {});
  const verdict = newest(failed);
  assert(verdict.kind === "fail" && verdict.evidence !== undefined);
  assertEquals(verdict.cases!.map(({ kind }) => kind), ["pass", "fail", "pass", "pass"]);
  assertEquals(verdict.cases![1], {
    ...{ case: "case 2", kind: "fail", solved: 28, valid: 40, trials: 40 },
    lower: clopperPearson(28, 40, 0.95).lower,
    upper: clopperPearson(28, 40, 1 - (1 - 0.95) / 4).upper,
  });
  assertStringIncludes(
    textOf(plan, failed),
    'FAIL: the case "case 2" has a true success rate below',
  );
  const open = judged(plan, (name, trial) => name === "case 3" && trial <= 3 ? WRONG : {});
  assertEquals(newest(open).kind, "undecided");
  const text = textOf(plan, open);
  assertStringIncludes(text, "UNDECIDED: these trials cannot tell whether each of the 4 cases has");
  assertStringIncludes(
    text,
    "each case at least 90.0%: 3 of 4 proved, 0 proved to be below, 1 open",
  );
  assertStringIncludes(text, '"case 3": solved 37 of 40 valid trials, true rate at least 81.7%');
  assertMatch(
    text,
    /about \d+ further trials would decide\. .* new run of fresh trials, with that many more; it counts/,
  );
});

Deno.test("a gate with a rate and every needs both to pass, and fails by either", () => {
  const plan = casePlan({ successRate: 0.9, every: 0.5 }, 4, 60);
  const kinds = [
    judged(plan, () => ({})),
    judged(plan, (name) => name === "case 1" ? WRONG : {}),
    judged(plan, (_, trial) => trial % 4 === 0 ? WRONG : {}),
  ].map((variants) => [newest(variants).kind, textOf(plan, variants)] as const);
  assertEquals(kinds.map(([kind]) => kind), ["pass", "fail", "fail"]);
  assertStringIncludes(
    kinds[0]![1],
    "5 points; each of the 4 cases has a true success rate of at least 50.0%",
  );
  assertStringIncludes(
    kinds[1]![1],
    'FAIL: the true success rate is below 90.0%; the case "case 1" has a true success rate below 50.0%',
  );
  assertStringIncludes(kinds[2]![1], "FAIL: the true success rate is below 90.0%. If");
});

Deno.test("a gate with a baseline and every checks also the cases that are not compared, and advises by the floor", () => {
  const plan = casePlan({ baseline: "old", margin: 0.15, every: 0.8, coverage: 0.7 }, 4, 40);
  const own = plan.trials.filter(({ model }) => model === "new");
  const file = {
    file: "b.json",
    trials: caseTrials({ ...plan, trials: plan.trials.filter(({ model }) => model === "old") }),
    cases: { planned: 4, changed: [], added: ["case 2"], removed: [] },
  };
  const decided = (traits: CaseTraits) =>
    decideTrials(caseTrials({ ...plan, trials: own }, traits), own, plan.gate!, { baseline: file });
  assertEquals(newest(decided(() => ({}))).kind, "pass");
  const failed = decided((name) => name === "case 2" ? WRONG : {});
  const verdict = newest(failed);
  assert(verdict.kind === "fail" && verdict.evidence !== undefined);
  assertEquals(verdict.cases!.map((one) => [one.case, one.kind]), [
    ["case 1", "pass"],
    ["case 3", "pass"],
    ["case 4", "pass"],
    ["case 2", "fail"],
  ]);
  assertEquals(verdict.evidence.graphs, 120);
  assertStringIncludes(
    textOf(plan, failed),
    'FAIL: the case "case 2" has a true success rate below',
  );
  // As many more trials as without a baseline.
  const open: CaseTraits = (name, trial) => name === "case 3" && trial <= 5 ? WRONG : {};
  const alone = casePlan({ every: 0.8 }, 4, 40);
  const more = [newest(decided(open)), newest(judged(alone, open))].map((one) =>
    one.kind === "undecided" ? one.moreTrials : one.kind
  );
  assertEquals(more[0], more[1]);
});

Deno.test("checkCases() takes invalid trials for failed where it passes, and for solved where it fails", () => {
  const plan = casePlan({ every: 0.9, coverage: 0.5 }, 2, 29);
  const one = (traits: TrialTraits) =>
    newest(judged(plan, (name, trial) => name === "case 1" && trial === 1 ? traits : {}));
  assertEquals(one({}).kind, "pass");
  assertEquals(one(INVALID).kind, "undecided");
  const most = (traits: TrialTraits) =>
    newest(judged(plan, (name, trial) => name === "case 1" && trial <= 16 ? traits : {}));
  assertEquals(most(WRONG).kind, "fail");
  assertEquals(most(INVALID).kind, "undecided");
});

/** Counts of a case of 30 trials. */
const UNIT: fc.Arbitrary<Unit> = fc.tuple(fc.nat(30), fc.nat(3)).map(([failed, unknown]) => {
  const valid = 30 - unknown;
  return { solved: Math.max(0, valid - failed), valid, trials: 30 };
});

Deno.test("checkCases() agrees with Holm's adjustment of exact tests, and with each case alone", () => {
  fc.assert(fc.property(
    fc.array(UNIT, { minLength: 1, maxLength: 8 }),
    fc.constantFrom(0.5, 0.8, 0.9),
    (sums, floor) => {
      const cases = sums.map(({ solved, valid, trials }, place) => ({
        case: `${place}`,
        units: Array.from({ length: trials }, (_, trial): Unit => ({
          ...{ solved: trial < solved ? 1 : 0, valid: trial < valid ? 1 : 0, trials: 1 },
        })),
      }));
      const checks = checkCases(cases, floor, completePolicy({ every: floor }), false);
      // The chance of so few solved trials at the floor: where it is at most 5%, the upper bound is at most that.
      const values = holm(
        sums.map(({ solved, valid, trials }) =>
          chanceBelow(solved + trials - valid, trials, floor)
        ),
      );
      for (const [place, { kind, lower }] of checks.entries()) {
        const { solved, trials } = sums[place]!;
        const reaches = clopperPearson(solved, trials, 0.95).lower >= floor;
        const expected = values[place]! < 0.05 ? "fail" : reaches ? "pass" : "undecided";
        assertEquals(kind, expected, `${JSON.stringify(sums)} at ${floor}`);
        assertEquals(lower, clopperPearson(solved, trials, 0.95).lower);
      }
    },
  ));
});

/** The chance of at most `most` successes, summed in logarithms. */
function chanceBelow(most: number, trials: number, rate: number): number {
  let sum = 0;
  let log = trials * Math.log(1 - rate);
  for (let count = 0; count <= most; count++) {
    sum += Math.exp(log);
    log += Math.log((trials - count) / (count + 1) * rate / (1 - rate));
  }
  return sum;
}

Deno.test("planSuite() refuses a floor that no outcome can reach, and takes the first that one can", () => {
  for (
    const [every, needed] of [[0.5, 5], [0.8, 14], [0.9, 29], [0.95, 59], [0.99, 299]] as const
  ) {
    assertEquals(fewestClean(every, 0.95), needed);
    assertEquals([mostFailed(needed - 1, every, 0.95), mostFailed(needed, every, 0.95)], [-1, 0]);
  }
  const error = assertThrows(() => casePlan({ every: 0.9 }, 3, 28), InputError);
  assertEquals(
    error.message,
    "Cannot plan suite support as gate.every 0.9 takes at least 29 trials of each case, all of them " +
      "solved, to be proved with 95.0% confidence: there are 28",
  );
  assertEquals(newest(judged(casePlan({ every: 0.9 }, 3, 29), () => ({}))).kind, "pass");
  const graphs = { tasks: [{ core: 3, depth: 1 }], graphs: 40 };
  assertThrows(
    () => casePlan({ every: 0.9 }, [], 40, graphs),
    InputError,
    "gate.every needs cases of your own tests: there is",
  );
  assertThrows(
    () => casePlan({ every: 0.9 }, 2, 40, { repetitions: 2 }),
    InputError,
    "gate.every needs independent trials",
  );
});

Deno.test("readPolicy() refuses every beside what it contradicts", () => {
  const wrong: [object, RegExp][] = [
    [{ every: 1 }, /every/],
    [{ every: 0 }, /every/],
    [{ every: 0.9, margin: 0.05 }, /margin: margin is of a success rate or a baseline/],
    [
      { every: 0.9, sequential: true },
      /sequential: a sequential gate decides on the mean of cases/,
    ],
    [{ successRate: 0.9, every: 0.9, sequential: true }, /a sequential gate decides on the mean/],
    [{ successRate: 0.9, baseline: "old", every: 0.9 }, /give either successRate or baseline/],
  ];
  for (const [policy, message] of wrong) {
    const error = assertThrows(() => readPolicy(policy, "it"), InputError);
    assertMatch(error.message, message);
  }
  // What a plan line keeps is read as it was meant.
  const complete = readPolicy({ every: 0.9 }, "it");
  assertEquals(readPolicy(complete, "it"), complete);
});

Deno.test("decideTrials() refuses cases with different numbers of trials", () => {
  const { trials } = casePlan({ successRate: 0.5 }, 2, 10);
  const fewer = trials.filter(({ task, block }) =>
    (task as { case: string }).case === "case 1" || block < 7
  );
  const policy = completePolicy({ successRate: 0.5 });
  const [{ verdict }] = decideTrials(fewer.map((one) => finish(one)), fewer, policy) as [
    DecidedVariant,
  ];
  assertEquals(verdict, {
    kind: "invalid",
    reason: 'cases must have the same number of trials: "case 2" has 7, "case 1" has 10',
  });
});

Deno.test("a gate against a model that one variant alone has compares with this variant", () => {
  const gate = { baseline: "old", margin: 0.2 };
  const { trials } = planSuite({ name: "vs", seed: 1, tasks: [], models: ["old", "new"], gate }, {
    tasks: {
      cells: () => [{ case: "a" }],
      open: openTask,
      cases: {},
      variants: { before: { models: ["old"] }, after: { models: ["new"] } },
    },
  });
  const decided = plannedDecisions(trials, completePolicy(gate));
  assertEquals(decided.map(({ subject, baseline }) => [subject.variant, baseline?.variant]), [
    ["after", "before"],
  ]);
});

Deno.test("an upgrade gate lists the cases that changed, the largest first, and marks the proved ones", () => {
  const plan = casePlan({ baseline: "old", margin: 0.1 }, 13, 20);
  // Case 1 changes from 95% to 20%, the others by a trial at most.
  const variants = judged(plan, (name, trial, model) => {
    if (name === "case 13") return {};
    if (model === "old") return trial === 1 ? WRONG : {};
    return name === "case 5" ? trial > 4 ? WRONG : {} : trial <= 2 ? WRONG : {};
  });
  const verdict = newest(variants);
  assert(verdict.kind !== "invalid");
  const { cases, changed, unproved } = verdict.changed!;
  assertEquals([cases, changed.length, unproved], [13, 12, undefined]);
  assertEquals(changed.map(({ proved }) => proved), [true, ...new Array(11).fill(false)]);
  const [first] = changed;
  assertEquals([first!.case, first!.candidate, first!.baseline], ["case 5", 0.2, 0.95]);
  assertEquals(first!.p, 13 * fisherExact([4, 20], [19, 20]));
  const text = textOf(plan, variants);
  assertStringIncludes(
    text,
    "cases that changed against the baseline: 12 of 13; proved: 1, all together with 95.0% confidence\n" +
      '  "case 5": from 95.0% to 20.0%, -75 points (-87.6 to -46.5), proved\n' +
      '  "case 1": from 95.0% to 90.0%, -5 points (',
  );
  assertStringIncludes(text, "\n  and 2 more cases");
  const markdown = verdictsToMarkdown(reportVerdicts("support", variants, plan.gate!));
  assertStringIncludes(markdown, "from 95.0% to 20.0%");
});

Deno.test("changedCases() says where too few trials could prove no change at all, and what it takes", () => {
  const plan = casePlan({ baseline: "old" }, 6, 4);
  const variants = judged(
    plan,
    (name, _, model) => name === "case 1" && model === "new" ? WRONG : {},
  );
  const verdict = newest(variants);
  assert(verdict.kind !== "invalid");
  const { unproved, needed, changed } = verdict.changed!;
  assertEquals([unproved, needed, changed[0]!.proved], ["few", 5, false]);
  assertStringIncludes(
    textOf(plan, variants),
    "1 of 6; with so few trials not even a complete change can be proved: that takes 5 of each case",
  );
  // With that many, a case that changed completely is marked, and one trial less is not.
  for (const cases of [1, 6, 50, 1000]) {
    const enough = trialsToProve(cases, 0.95);
    const marks = [enough - 1, enough].map((trials) =>
      changedCases(
        Array.from({ length: cases }, (_, place) => ({
          case: `${place}`,
          candidate: { solved: place === 0 ? 0 : trials, valid: trials, trials },
          baseline: { solved: trials, valid: trials, trials },
        })),
        0.95,
        false,
      )
    );
    assertEquals(marks.map(({ unproved }) => unproved), ["few", undefined]);
    assertEquals(marks.map(({ changed }) => changed[0]!.proved), [false, true]);
  }
});

Deno.test("changedCases() counts invalid trials against a mark, and marks nothing in a run that could end early", () => {
  const of = (invalid: number, anytime = false) =>
    changedCases(
      [{
        case: "a",
        candidate: { solved: 0, valid: 10 - invalid, trials: 10 },
        baseline: { solved: 9, valid: 10, trials: 10 },
      }],
      0.95,
      anytime,
    );
  assertEquals(of(0).changed[0]!.p, fisherExact([0, 10], [9, 10]));
  assertEquals(of(4).changed[0]!.p, fisherExact([4, 10], [9, 10]));
  assertEquals([of(0), of(4), of(9)].map(({ changed }) => changed[0]!.proved), [
    true,
    false,
    false,
  ]);
  // So many unknown trials that it might as well be better.
  assertEquals(of(9).changed[0]!.p, 1);
  const { unproved, changed } = of(0, true);
  assertEquals([unproved, changed[0]!.p, changed[0]!.proved], ["stopped", null, false]);
});

Deno.test("changedCases() adjusts for cases without a valid trial too, as trials may be invalid by their results", () => {
  const one = (name: string, valid: number) => ({
    case: name,
    candidate: { solved: 0, valid, trials: 4 },
    baseline: { solved: 4, valid: 4, trials: 4 },
  });
  const { cases, changed, unproved, needed } = changedCases(
    [one("a", 4), one("b", 0)],
    0.95,
    false,
  );
  assertEquals([cases, changed.length], [1, 1]);
  assertEquals(changed[0]!.p, 2 * fisherExact([0, 4], [4, 4]));
  assertEquals([changed[0]!.proved, unproved, needed], [false, "few", 5]);
});

Deno.test("comparePairs() lists the cases that a strategy changed, in a table of its own", () => {
  const plan = casePlan({ successRate: 0.5 }, 12, 10, {
    strategies: ["plain", "restate"],
    models: ["new"],
  });
  const trials = caseTrials(plan).map((trial) =>
    trial.strategy === "restate" && "case" in trial.task &&
      (trial.task.case === "case 4" || trial.repetition === 1)
      ? { ...trial, outcome: "wrong_answer" as const, solved: false }
      : trial
  );
  const report = new Report(trials, { suite: "s" });
  const { changed } = report.comparisons[0]!;
  assertEquals(changed!.changed.length, 12);
  assertEquals(changed!.changed.filter(({ proved }) => proved).map((one) => one.case), ["case 4"]);
  const [pairs, tests] = ["comparisons", "changed-tasks"].map((id) => tablesIn(report, id)[0]!);
  assertEquals(tests!.title, "Tests gained and lost");
  assertEquals(textsOf(pairs).map((row) => row.slice(0, 5)), [
    ["candidate", "against", "trials", "tests gained", "tests lost"],
    ["new + restate", "plain", "120", "0", "12"],
  ]);
  assertMatch(
    noteText(pairs!),
    /^each pair .* has the tests of both; .* gained and lost: tests that the candidate passed more and less often; .* divided by the trials passed,/,
  );
  const [heads, first, ...others] = textsOf(tests);
  assertEquals(heads!.slice(3, 6), ["change", "against passed", "candidate passed"]);
  assertEquals(first, [
    ...["case 4", "new + restate", "plain", "lost", "10 of 10", "0 of 10", "-100.0"],
    ...["-100.0 to -60.8", "yes"],
  ]);
  assertEquals(others.length, 11);
});

Deno.test("a call that must not happen makes the gate fail, whatever its rates, and is named", () => {
  const gate = { successRate: 0.5 };
  const plan = casePlan(gate, ["buy", "cancel"], 20);
  const bad: CaseTraits = (name, trial) => name === "cancel" && trial === 7 ? FORBIDDEN : {};
  const one = judged(plan, bad);
  const verdict = newest(one);
  assertEquals([verdict.kind, verdict.kind === "fail" && verdict.otherwise], ["fail", "pass"]);
  assert("never" in verdict);
  assertEquals(verdict.never.map((call) => [call.case, call.trial]), [["cancel", 7]]);
  assertStringIncludes(
    textOf(plan, one),
    'FAIL: a call that must not happen in any trial was made in trial 7 of the case "cancel". ' +
      "Without that it would pass.",
  );
  // Summaries, which is what is left of forgotten trials and of journals, tell as much.
  const summaries = caseTrials(plan, bad).map(summarize);
  assertEquals(newest(decideTrials(summaries, plan.trials, plan.gate!)).kind, "fail");
  // It is the model's own trials that count, not those of the baseline.
  const upgrade = casePlan({ baseline: "old", margin: 0.15 }, 2, 60);
  const ofOld = judged(
    upgrade,
    (_, trial, model) => model === "old" && trial === 1 ? FORBIDDEN : {},
  );
  assertEquals(newest(ofOld).kind, "pass");
});

Deno.test("a call that must not happen fails runs that ended early, also behind what they decide on", () => {
  const gate = { successRate: 0.8, margin: 0.2, sequential: true };
  const plan = casePlan(gate, 4);
  const last = Math.max(...plan.trials.map(({ block }) => block)) + 1;
  const late = judged(plan, (name, trial) => name === "case 1" && trial === last ? FORBIDDEN : {});
  assertEquals([newest(late).kind, newest(late).evidence!.graphs < 4 * last], ["fail", true]);
  // A run that a budget ended within its first round has nothing else to decide on.
  const fixed = casePlan({ successRate: 0.8 }, 4, 10);
  const begun = fixed.trials.filter(({ index, model }) => index < 4 && model === "new");
  const [first] = decideTrials(
    begun.map((planned) => finish(planned, FORBIDDEN)),
    fixed.trials.filter(({ model }) => model === "new"),
    fixed.gate!,
    { stopped: "the budget was spent" },
  );
  assert(first!.verdict.kind === "fail");
  assertEquals(first!.verdict.otherwise, "invalid");
  assertEquals(first!.verdict.evidence, undefined);
  const text = renderVerdicts(reportVerdicts("support", [first!], fixed.gate!));
  assertStringIncludes(text, "Without that it would be invalid: not even one trial of each cell");
  assertGreater(text.split("\n").length, 1);
});

Deno.test("names of cases are made printable wherever a verdict has them", () => {
  const plan = casePlan({ baseline: "old", every: 0.5 }, [HOSTILE, `b${HOSTILE}`], 20);
  const variants = judged(
    plan,
    (_, trial, model) => model === "new" && trial < 15 ? FORBIDDEN : {},
  );
  const text = textOf(plan, variants);
  for (const line of text.split("\n")) assertNotMatch(line, STEERING);
});

Deno.test("forecast() sizes a suite of cases: its mean, every case, and changes of one", () => {
  const of = (gate: GatePolicy, trials?: number) => {
    const plan = casePlan(gate, 12, trials);
    const known = forecast(plan)!;
    return { lines: known.lines, warnings: planWarnings(plan, known) };
  };
  const every = of({ every: 0.9 }, 30);
  assertEquals(every.lines, [
    "each of 12 cases is proved to reach 90.0% if none of its 30 trials fails: 12 cases at 99.0% would " +
    "pass with 2.7%",
  ]);
  const [warning] = every.warnings;
  assertMatch(warning!, /^the gate is too small for every: .* It takes trials: 89$/);
  assertEquals(of({ every: 0.9 }, 89).warnings, []);
  assertEquals(of({ every: 0.9 }, 88).warnings.length, 1);
  const rate = of({ successRate: 0.8 }, 20);
  assertStringIncludes(rate.lines[0]!, "240 trials of 12 cases tell a success rate of 80.0%");
  assertStringIncludes(rate.warnings[0]!, "It takes trials: 63 (756 over 12 cases)");
  const few = of({ baseline: "old" }, 5);
  assertEquals(
    few.lines[1],
    "a complete change of one of 12 cases can be proved with 6 trials of each: there are 5, so that " +
      "none can be",
  );
  assertStringIncludes(of({ baseline: "old" }, 6).lines[1]!, "with 6 trials of each or more");
  const { lines } = of({ successRate: 0.9, margin: 0.1, sequential: true });
  assertStringIncludes(lines[0]!, "of at most 204 trials of 12 cases, 17 of each: about");
});
