import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { decide, decideUpgrade } from "../../lib/gate/decide.ts";
import { forecast, planWarnings } from "../../lib/runs/forecast.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportVerdicts } from "../../lib/gate/gate_report.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import type { TaskSpec } from "../../lib/trials/executors/task_kind.ts";
import { unitNames } from "../../lib/gate/unit_names.ts";
import { describeVerdict, verdictNumbers } from "../../lib/gate/verdict_text.ts";
import type { CallMode } from "../../lib/tasks/questions/scoring.ts";
import { once, planOf, record } from "../support/records.ts";

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
  assertStringIncludes(close, "plan that many more trials and run again, or set sequential: true");
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
