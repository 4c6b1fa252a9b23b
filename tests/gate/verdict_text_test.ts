import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { percent, points } from "../../lib/base/numbers.ts";
import { type CeilingCheck, type Verdict, withCeilings } from "../../lib/gate/decide.ts";
import { decide, decideUpgrade } from "../support/deciding.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import type { Evidence } from "../../lib/gate/evidence.ts";
import { describeVerdict, reportVerdicts, verdictNumbers } from "../../lib/gate/gate_report.ts";
import {
  completePolicy,
  type GatePolicy,
  type RatePolicy,
  type UpgradePolicy,
} from "../../lib/gate/policy.ts";
import { sequentialRule } from "../../lib/gate/sequential.ts";
import { unitNames } from "../../lib/gate/unit_names.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import { forecast, planWarnings } from "../../lib/runs/forecast.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { CallMode } from "../../lib/tasks/questions/scoring.ts";
import type { TaskSpec } from "../../lib/tasks/task_kind.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { once, pairsOf, planOf, record } from "../support/records.ts";

const RATE = { successRate: 0.9 };
const UPGRADE = { baseline: "old" };
const BUDGET = "the budget of 9 tokens was reached (10 were spent)";

/** The words and the numbers of an absolute gate over graphs that were run once. */
function told(
  units: readonly [solved: number, failed: number, unknown?: number],
  policy: RatePolicy = RATE,
) {
  return wordsOf(decide(once(...units), policy), policy);
}

/** The words and the numbers of an upgrade gate over graphs that were run once. */
function compared(counts: Parameters<typeof pairsOf>[0], policy: UpgradePolicy = UPGRADE) {
  return wordsOf(decideUpgrade(pairsOf(counts), policy), policy);
}

function wordsOf(verdict: Verdict, policy: RatePolicy | UpgradePolicy) {
  return {
    text: describeVerdict(verdict, policy),
    numbers: verdictNumbers(verdict, policy),
  };
}

/** An absolute gate with the stakes and sizes of its plan. */
function sequential(traits: Partial<RatePolicy> = {}) {
  const policy = completePolicy({ ...RATE, sequential: true, ...traits });
  return { policy, rule: sequentialRule(policy, 1) };
}

const EVIDENCE: Evidence = {
  of: "rate",
  graphs: 200,
  solved: 190,
  valid: 200,
  unknown: 0,
  rate: 0.95,
  lower: 0.91,
  upper: 0.98,
  method: "clopper-pearson",
};

/** A ceiling that is exceeded. */
function check(ceiling: string, limit: number, seen: number, lower: number | null): CeilingCheck {
  return { ceiling, limit, seen, lower, exceeded: true };
}

const TOKENS = check("tokens", 10, 12, null);

Deno.test("describeVerdict() of a pass says what is proved, and how often that is wrong", () => {
  assertEquals(
    told([190, 10]).text,
    "PASS: the true success rate is at least 85.0%, which is 90.0% less a margin of 5 points. " +
      "If that were not so, the gate would pass in at most 5.0% of runs.",
  );
});

Deno.test("describeVerdict() of a fail says so, and leaves out a margin of 0", () => {
  const policy = completePolicy({ successRate: 0.9, margin: 0, confidence: 0.99 });
  assertEquals(
    told([80, 20], policy).text,
    "FAIL: the true success rate is below 90.0%. " +
      "If that were not so, the gate would fail in at most 1.0% of runs.",
  );
  assertStringIncludes(
    told([99, 1], policy).text,
    "PASS: the true success rate is at least 90.0%. If",
  );
});

Deno.test("describeVerdict() of an undecided gate says where no number of trials would probably decide", () => {
  assertStringIncludes(
    told([45, 5], { ...RATE, margin: 0 }).text,
    "If it went on like this, not even a million trials would decide.",
  );
});

Deno.test("describeVerdict() of an invalid gate gives the reason alone", () => {
  assertEquals(
    told([0, 0, 5]).text,
    "INVALID: none of 5 planned trials is valid.",
  );
  assertEquals(
    told([81, 9, 10]).text,
    "INVALID: 90 of 100 planned trials are valid, fewer than the " +
      "coverage of 95% requires.",
  );
});

Deno.test("describeVerdict() of an upgrade gate compares with the baseline by its name", () => {
  const alike = decideUpgrade(pairsOf({ both: 700, gained: 40, lost: 40, neither: 100 }), UPGRADE);
  assertEquals(
    describeVerdict(alike, UPGRADE, { baseline: "old + restate" }),
    "PASS: on the same graphs, the true success rate is at most 5 points below that of " +
      "old + restate. If that were not so, the gate would pass in about 5.0% of runs.",
  );
  assertEquals(
    compared({ both: 100, lost: 60 }).text,
    "FAIL: on the same graphs, the true success rate is below that of the baseline. " +
      "If that were not so, the gate would fail in about 5.0% of runs.",
  );
  const { text } = compared({ both: 100, gained: 5, lost: 6 }, { ...UPGRADE, margin: 0 });
  assertMatch(
    text,
    /^UNDECIDED: these trials cannot tell whether the true success rate is no lower than that of the baseline\. If it went on like this, about \d+ further trials of each model would decide\. Trials that are added /,
  );
});

Deno.test("describeVerdict() of a sequential gate tells its own error of failing", () => {
  const { policy, rule } = sequential({ power: 0.8 });
  const passed = describeVerdict(decide(once(400, 0), policy, { rule }), policy);
  assertStringIncludes(passed, "would pass in at most 5.0% of runs.");
  const failed = describeVerdict(decide(once(0, 400), policy, { rule }), policy);
  assertStringIncludes(failed, "would fail in at most 20.0% of runs.");
});

Deno.test("describeVerdict() of shards of a sequential gate tells the error of the bounds that decided", () => {
  // Without the rule it is the confidence that holds, on either side.
  const { policy } = sequential({ power: 0.99 });
  const failed = decide(once(0, 400), policy);
  assertStringIncludes(describeVerdict(failed, policy), "would fail in at most 5.0% of runs.");
  const open = decide(once(45, 5), policy);
  assert(open.kind === "undecided");
  const advice = describeVerdict(open, policy);
  assert(advice.endsWith(`about ${open.moreTrials} further trials would decide.`), advice);
});

Deno.test("describeVerdict() of a sequential gate that ends undecided tells why it goes no further", () => {
  const { policy, rule } = sequential();
  const middle = Array.from(
    { length: rule.largestSize },
    (_, place) => once(1, 1)[place % 8 === 0 ? 1 : 0]!,
  );
  const ended = decide(middle, policy, { rule });
  assertEquals(ended.kind, "undecided");
  assertStringIncludes(
    describeVerdict(ended, policy),
    "A sequential gate ends at 1.5 times the size of a fixed one: the model is too close to " +
      "the limit to decide.",
  );
  const stopped = decide(once(10, 2), policy, { rule, stopped: BUDGET });
  assertStringIncludes(
    describeVerdict(stopped, policy),
    `Further trials might have decided it. Not all of the plan was run: ${BUDGET}.`,
  );
});

Deno.test("describeVerdict() tells why not all was run, whatever the verdict", () => {
  const ending = ` Not all of the plan was run: ${BUDGET}.`;
  for (
    const [solved, failed, kind] of [[200, 0, "PASS"], [0, 50, "FAIL"], [
      9,
      1,
      "UNDECIDED",
    ]] as const
  ) {
    const text = describeVerdict(decide(once(solved, failed), RATE, { stopped: BUDGET }), RATE);
    assert(text.startsWith(kind) && text.endsWith(ending), text);
  }
  const verdict = withCeilings(decide(once(200, 0), RATE, { stopped: BUDGET }), [TOKENS]);
  assert(describeVerdict(verdict, RATE).endsWith(ending));
});

Deno.test("describeVerdict() of a pass and of a fail says when the other is proved too, or nearly so", () => {
  const less =
    "It is also proved that the true success rate is below 94.0%, but by less than the margin.";
  assert(told([4_600, 400], { successRate: 0.94 }).text.endsWith(less));
  assert(!told([190, 10]).text.includes("also"));
  // 86% were solved: that is within the margin, but the lower bound is not.
  const within = "The observed value is within the margin, but this is not proved.";
  assert(told([602, 98]).text.endsWith(within));
  assert(!told([50, 50]).text.includes(within));
  const upgrade = compared({ both: 900, lost: 40 }).text;
  assert(upgrade.endsWith(within), upgrade);
});

Deno.test("describeVerdict() names every ceiling that is exceeded, in its own unit", () => {
  const ceilings = [
    check("failures.incorrect_value", 0.1, 0.2, 0.15),
    check("failureShifts.function_not_found", 0, 0.02, 0.01),
    check("behaviours.ungrounded", 0.001, 0.5, 0.25),
    check("tokens", 12_000, 23_500, null),
    check("usd", 0.01, 0.0235, null),
    { ...check("behaviours.silent", 0.6, 0.5, 0.4), exceeded: false },
  ];
  assertEquals(
    describeVerdict({ kind: "fail", evidence: EVIDENCE, ceilings, otherwise: "pass" }, RATE),
    "FAIL: the share of trials with a call of type incorrect_value is above its ceiling of 10.0%: " +
      "it was 20.0%, and the true value is at least 15.0%; " +
      "the rise over the baseline of trials with a call of type function_not_found is above its " +
      "ceiling of 0 points: it was 2 points, and the true value is at least 1 point; " +
      "the share of trials that show ungrounded is above its ceiling of 0.1%: it was 50.0%, and the " +
      "true value is at least 25.0%; " +
      "the mean of a trial's tokens is above its ceiling of 12000: it was 23500; " +
      "the mean of a trial's US dollars is above its ceiling of 0.01: it was 0.0235. " +
      "Without that it would pass.",
  );
});

Deno.test("describeVerdict() of an exceeded ceiling says what the gate alone would have come to", () => {
  const ends = [
    ["pass", "Without that it would pass."],
    ["undecided", "Without that it would be undecided."],
    ["fail", "Also, the true success rate is below 90.0%."],
  ] as const;
  for (const [otherwise, end] of ends) {
    const verdict = { kind: "fail", evidence: EVIDENCE, ceilings: [TOKENS], otherwise } as const;
    const text = describeVerdict(verdict, RATE);
    assert(text.endsWith(end), text);
  }
});

Deno.test("describeVerdict() and verdictNumbers() claim no more of a ceiling than is proved", () => {
  const ceilings = [
    check("failures.incorrect_value", 0.1, 0.2, 0.1499),
    check("failureShifts.incorrect_value", 0.1, 0.2, 0.1499),
    check("behaviours.silent", 0, 0.02, 0.00046),
  ];
  const verdict: Verdict = { kind: "fail", evidence: EVIDENCE, ceilings, otherwise: "pass" };
  assertEquals(
    [...describeVerdict(verdict, RATE).matchAll(/the true value is at least (.*?)(?:;|\. )/g)]
      .map(([, bound]) => bound),
    ["14.9%", "14.9 points", "0.04%"],
  );
  const open = ceilings.map((one) => ({ ...one, limit: 0.15, exceeded: false }));
  const numbers = verdictNumbers({ kind: "pass", evidence: EVIDENCE, ceilings: open }, RATE);
  assertEquals(
    [...numbers.join("\n").matchAll(/the true value is at least (.*)/g)].map(([, bound]) => bound),
    ["14.9%", "14.9 points"],
  );
});

Deno.test("describeVerdict() never rounds a confidence or a wanted rate up to 100%", () => {
  const policy = completePolicy({ successRate: 0.9996, margin: 0, confidence: 0.9999 });
  for (const counts of [[90, 10], [100_000, 0]] as const) {
    const { text } = told([...counts], policy);
    assertMatch(text, /99\.96%\. If .* in at most 0\.01% of runs/);
  }
});

Deno.test("verdictNumbers() of an upgrade gate: both rates, the difference and the bounds", () => {
  assertEquals(compared({ both: 700, gained: 60, lost: 40, neither: 75 }).numbers, [
    "solved: candidate 86.9%, baseline 84.6%, 875 graphs",
    "difference: 2.3 points; better on 60 graphs, worse on 40",
    "true difference: at least 0.41 points, at most 4.2 points, each with 95.0% confidence " +
    "(Tango's score for pairs)",
  ]);
});

Deno.test("verdictNumbers() tells of unknown trials, also under an invalid verdict", () => {
  const line = "invalid or missing trials, which count as the worst case of each bound: 10";
  const { text, numbers } = told([81, 9, 10]);
  assertMatch(text, /^INVALID/);
  assertEquals([numbers[0], numbers[2]], [
    "solved: 81 of 90 valid trials (90.0%), 100 graphs",
    line,
  ]);
  assertEquals(told([190, 10]).numbers.length, 2);
});

Deno.test("verdictNumbers() tell of every ceiling whether it was kept", () => {
  const ceilings = [
    { ...check("failures.incorrect_value", 0.1, 0.05, 0.01), exceeded: false },
    { ...check("failures.function_not_found", 0.1, 0.12, 0.05), exceeded: false },
    check("failureShifts.incorrect_value", 0.01, 0.2, 0.1),
    { ...check("tokens", 12, 12, null), exceeded: false },
    check("usd", 0.01, 0.02, null),
  ];
  const verdict = withCeilings(decide(once(190, 10), RATE), ceilings);
  assertEquals(verdictNumbers(verdict, RATE).slice(2), [
    "the share of trials with a call of type incorrect_value: 5.0%, ceiling 10.0%: kept",
    "the share of trials with a call of type function_not_found: 12.0%, ceiling 10.0%: " +
    "not proved to be exceeded: the true value is at least 5.0%",
    "the rise over the baseline of trials with a call of type incorrect_value: 20 points, " +
    "ceiling 1 point: exceeded",
    "the mean of a trial's tokens: 12, ceiling 12: kept",
    "the mean of a trial's US dollars: 0.02, ceiling 0.01: exceeded",
  ]);
});

Deno.test("verdictNumbers() warn of few graphs, where Tango's bounds are but approximate", () => {
  const warning = "with so few graphs Tango's bounds may err up to twice as often as stated";
  assertEquals(compared({ both: 49 }).numbers.includes(warning), true);
  assertEquals(compared({ both: 50 }).numbers.includes(warning), false);
  assertEquals(told([20, 0]).numbers.includes(warning), false);
});

Deno.test("verdictNumbers() of a verdict without evidence are none", () => {
  assertEquals(told([0, 0, 5]).numbers, []);
  assertEquals(verdictNumbers({ kind: "invalid", reason: "it is" }, UPGRADE), []);
});

Deno.test("verdictNumbers() of a sequential gate tell both confidences, and when it had decided", () => {
  const { policy, rule } = sequential({ power: 0.8 });
  const decided = decide(once(400, 0), policy, { rule });
  const [solved, bounds, after] = verdictNumbers(decided, policy);
  const { graphs } = decided.evidence!;
  assert(solved!.endsWith(`, the first ${graphs} graphs of the plan`), solved);
  assertStringIncludes(
    bounds!,
    "with 95.0% and 80.0% confidence (by the gate's bets, valid at every look)",
  );
  assertEquals(
    after,
    `the gate decided after ${graphs} graphs, and needs no further ones`,
  );
  const open = decide(once(10, 2), policy, { rule, stopped: BUDGET });
  assertEquals(verdictNumbers(open, policy).length, 2);
  const even = sequential();
  assertStringIncludes(
    verdictNumbers(
      decide(once(400, 0), even.policy, { rule: even.rule }),
      completePolicy(even.policy),
    )[1]!,
    "each with 95.0% confidence",
  );
});

Deno.test("verdictNumbers() do not say that a sequential gate had decided which a ceiling ended", () => {
  const { policy, rule } = sequential();
  const open = decide(once(10, 2), policy, { rule, stopped: BUDGET });
  const failed = withCeilings(open, [TOKENS]);
  assertEquals(failed.kind, "fail");
  assertNotMatch(verdictNumbers(failed, policy).join("\n"), /gate decided/);
});

Deno.test("verdictNumbers() round bounds outward, so that none looks better than it is", () => {
  const shown = (lower: number, upper: number, of: "rate" | "difference") => {
    const evidence = (of === "rate" ? { ...EVIDENCE, lower, upper } : {
      ...decideUpgrade(pairsOf({ both: 10 }), UPGRADE).evidence!,
      lower,
      upper,
    }) as Evidence;
    const lines = verdictNumbers(
      { kind: "undecided", evidence, moreTrials: null },
      completePolicy(of === "rate" ? RATE : UPGRADE),
    );
    return /at least (.*?), at most (.*?), /.exec(lines.find((line) => line.startsWith("true"))!)!
      .slice(1);
  };
  assertEquals(shown(0.72289, 0.86331, "rate"), ["72.2%", "86.4%"]);
  assertEquals(shown(0.85, 0.9, "rate"), ["85.0%", "90.0%"]);
  // A bound that is a thousandth but for the last bit is that.
  assertEquals(shown(0.85 - 1e-14, 0.9 + 1e-14, "rate"), ["85.0%", "90.0%"]);
  assertEquals(shown(0.9996, 0.9999, "rate"), ["99.9%", "100.0%"]);
  assertEquals(shown(0.00999, 0.00991, "rate"), ["0.9%", "1.0%"]);
  assertEquals(shown(0.00046, 0.00041, "rate"), ["0.04%", "0.1%"]);
  assertEquals(shown(0, 1, "rate"), ["0.0%", "100.0%"]);
  assertEquals(shown(1e-30, 0.5, "rate"), ["0.0%", "50.0%"]);
  assertEquals(shown(-0.0501, -0.0499, "difference"), ["-5.1 points", "-4.9 points"]);
  // What decides lies close to 0, and is shown more finely.
  assertEquals(shown(-0.000461, 0.000413, "difference"), ["-0.047 points", "0.042 points"]);
  assertEquals(shown(-0.0099, -0.00001, "difference"), ["-0.99 points", "-0.001 points"]);
});

Deno.test("percent() has as many decimals as it takes not to look like all or none", () => {
  assertEquals(
    [0, 1, 0.5, 0.9994, 0.9996, 0.99999, 0.0004, 0.00004].map(percent),
    ["0.0%", "100.0%", "50.0%", "99.9%", "99.96%", "99.999%", "0.04%", "0.004%"],
  );
});

Deno.test("points() has no sign at zero, no plural at one, and more decimals below one", () => {
  assertEquals(
    [0, -0, -0.000001, -0.0012, 0.01, -0.01, 0.05, 0.123, -0.123].map(points),
    [
      "0 points",
      "0 points",
      "0 points",
      "-0.12 points",
      "1 point",
      "-1 point",
      "5 points",
      "12.3 points",
      "-12.3 points",
    ],
  );
});

const GRAPH = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
const QUESTION: TaskSpec = { set: "s", question: "q", difficulty: "easy", mode: "tools" };
const PROBE: TaskSpec = { case: "oracle", seed: 1 };

Deno.test("unitNames() names what all tasks are, else tasks", () => {
  const words = (...tasks: object[]) => {
    const { one, whole, same, option } = unitNames(tasks);
    return [one, whole, same, option];
  };
  const graphs = ["graph", "graphs", "graphs", "graphs"];
  assertEquals(words(), graphs);
  assertEquals(words(GRAPH, GRAPH), graphs);
  assertEquals(words({ of: "another tool" }), graphs);
  assertEquals(words(QUESTION), ["question", "questions", "questions", null]);
  assertEquals(words(PROBE), ["question", "questions", "questions", "graphs"]);
  assertEquals(words(QUESTION, PROBE).slice(0, 2), ["question", "questions"]);
  const [one, other] = [{ case: "refund", seed: 1 }, { case: "refund", seed: 2 }];
  assertEquals(words(one, other), ["trial", "trials of one case", "case", "trials"]);
  assertEquals(words(one, { case: "b", seed: 1 }), [
    "trial",
    "trials of 2 cases",
    "cases",
    "trials",
  ]);
  for (const mixed of [[GRAPH, QUESTION], [one, GRAPH], [one, { case: "b", seed: 1 }, PROBE]]) {
    assertEquals(words(...mixed), ["task", "tasks", "tasks", "graphs"]);
  }
});

/** Trials of a case, as many as there are outcomes. */
function trialsOfCase(solved: number, all: number) {
  return Array.from({ length: all }, (_, index) =>
    record({
      task: { case: "refund", seed: index },
      outcome: index < solved ? "solved" : "wrong_answer",
      index,
      block: index,
    }));
}

Deno.test("verdicts over a case speak of its trials, and those over questions of questions", () => {
  const told = (trials: ReturnType<typeof trialsOfCase>, policy: GatePolicy) => {
    const [verdict] = reportVerdicts(
      "s",
      decideTrials(trials, planOf(trials), completePolicy(policy)),
      completePolicy(policy),
    ).verdicts;
    assertEquals("unit" in verdict!, false, "words are no part of the report");
    return [verdict!.text, ...verdict!.numbers].join("\n");
  };
  const policy = completePolicy({ successRate: 0.7, margin: 0.3 });
  const ofCase = told(trialsOfCase(19, 20), policy);
  assertStringIncludes(ofCase, "solved: 19 of 20 valid trials (95.0%), 20 trials of one case");
  const asked = trialsOfCase(9, 20).map((trial, index) => ({
    ...trial,
    task: { ...QUESTION, question: `q${index % 10}` } as TaskSpec,
    id: `${index}`,
  }));
  const ofQuestions = told(asked, policy);
  assertStringIncludes(ofQuestions, "(45.0%), 10 questions");
  assertStringIncludes(ofQuestions, "(by bets on questions)");
  const close = told(trialsOfCase(11, 20), policy);
  assertStringIncludes(close, "by a new run of fresh trials, with sequential: true");
  // A call set has no more questions, and stops at none of them.
  const few = told(asked.slice(3, 13), policy);
  assertMatch(few, /^UNDECIDED: .* further trials would decide\.$/m);
});

Deno.test("verdicts over two models name what these share", () => {
  const pairs = once(80, 20).map((candidate) => ({ candidate, baseline: candidate }));
  const policy = completePolicy({ baseline: "b", margin: 0.1 });
  const unit = unitNames([PROBE]);
  const verdict = decideUpgrade(pairs, policy);
  assertStringIncludes(
    describeVerdict(verdict, policy, { unit: unitNames([{ case: "refund", seed: 1 }]) }),
    "on the same case, the true success rate",
  );
  const numbers = verdictNumbers(decideUpgrade(pairs.slice(60), policy), policy, unit);
  assertStringIncludes(numbers.join("\n"), "better on 0 questions, worse on 0");
  assertStringIncludes(numbers.join("\n"), "with so few questions Tango's bounds");
});

Deno.test("decide() speaks of its units in reasons, too", () => {
  const unit = unitNames([PROBE]);
  const solved = { solved: 1, valid: 1, trials: 1 };
  const missing = { solved: 0, valid: 0, trials: 1 };
  const torn = decideUpgrade(
    [{ candidate: solved, baseline: missing }, { candidate: missing, baseline: solved }],
    { baseline: "b" },
    { unit },
  );
  assertEquals(torn, { kind: "invalid", reason: "none of 2 questions has a valid trial of both" });
  assertEquals(decide([], { successRate: 0.5 }, { unit }).kind, "invalid");
});

const CASE_SOURCE = { cells: () => [{ case: "refund" }], open: openTask };

function caseSuite(more: Partial<Suite>): Suite {
  return { name: "s", seed: 1, tasks: [], models: ["m"], ...more };
}

Deno.test("forecast() speaks of trials of one case, and names the option that sets how many", () => {
  const plan = planSuite(
    caseSuite({ graphs: 20, gate: { successRate: 0.8, margin: 0.05 } }),
    { tasks: CASE_SOURCE },
  );
  const { lines, warnings } = forecast(plan)!;
  assertMatch(lines[0]!, /^20 trials of one case tell a success rate of 80\.0% from one that is /);
  assertMatch(warnings[0]!, /It takes trials: 756, or a larger margin, or sequential: true/);
  const sequential = planSuite(
    caseSuite({ gate: { successRate: 0.8, margin: 0.1, sequential: true } }),
    { tasks: CASE_SOURCE },
  );
  assertMatch(
    forecast(sequential)!.lines[0]!,
    /^a sequential gate, of at most \d+ trials of one case:/,
  );
  const stopping = new Stopping(sequential);
  for (const planned of sequential.trials) {
    const needless = stopping.skipReason(planned);
    if (needless === undefined) {
      stopping.record(record({ ...planned }));
      continue;
    }
    assertMatch(needless.reason, /^the gate of m had decided after \d+ trials$/);
    return;
  }
  throw new Error("the gate did not decide");
});

function questionPlan(more: Partial<Suite>, mode: readonly CallMode[] = ["parameters", "routing"]) {
  const tasks = [{ set: "fixtures/call_sets/city.jsonc", mode }];
  const suite: Suite = { ...caseSuite(more), tasks };
  return planSuite(suite, { tasks: questionSource(suite.tasks, (path) => path)! });
}

Deno.test("forecast() speaks of the questions of a call set, of which there are no more", () => {
  const { lines, warnings } = forecast(
    questionPlan({ gate: { successRate: 0.8, margin: 0.01 } }, ["parameters"]),
  )!;
  assertMatch(lines[0]!, /^8 questions tell a success rate of 80\.0% from /);
  assertMatch(
    warnings[0]!,
    /^the gate cannot pass: not even if all 8 questions were solved\. It takes \d+ questions, or a larger margin$/,
  );
});

Deno.test("planWarnings() tells of perturbations that change no question", () => {
  const warnings = planWarnings(questionPlan({ perturbations: ["none", "RD", "reorder"] }));
  assertEquals(warnings, [
    "RD finds nothing to change in 16 of the 16 tasks looked at (one of each cell): such trials are left out of all rates",
  ]);
});
