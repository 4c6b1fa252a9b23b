// Cells that differ in irrelevant functions may share core graphs. A model may then fail in all cells of a core or
// in none: its trials are one result, and gates that counted each would err far too often.
// Runs without counters of lines.

import { assertEquals, assertGreater, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import type { Prng } from "@std/random";
import type { TrialsVerdict } from "../../lib/gate/decide.ts";
import { decideUpgrade } from "../support/deciding.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { type CompletePolicy, completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { selfCheck } from "../../lib/gate/self_check.ts";
import { fork } from "../../lib/base/random.ts";
import { forecast } from "../../lib/runs/forecast.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import { drawsOf, noiseOf } from "../support/error_rates.ts";
import { finish, pairsOf } from "../support/records.ts";

/** Four cells of each of two cores. */
const SUITE: Suite = {
  name: "s",
  seed: 1,
  pair: "distractors",
  tasks: [{ core: [3, 5], depth: 1, connected: [0, 4], disconnected: [0, 4] }],
  models: ["old", "new"],
};
const CELLS = 4;

const GATES = drawsOf(800);

/** The most errors that gates with an error of 5% come to. */
const MOST = 0.05 + noiseOf(0.05, GATES);

interface Ending {
  readonly model: string;
  readonly core: number;
  readonly solved: TrialSummary;
  readonly wrong: TrialSummary;
}

/** How each trial of a plan may end. Gates over the same plan are drawn from them again and again. */
const endings = new WeakMap<Plan, Ending[]>();

function endingsOf(plan: Plan): Ending[] {
  const cores = new Map<number, number>();
  return plan.trials.map((planned) => {
    const { seed } = planned.task as { seed: number };
    const [solved, wrong] = (["solved", "wrong_answer"] as const).map((outcome) =>
      summarize(finish(planned, { outcome }))
    );
    const core = cores.getOrInsert(seed, cores.size);
    return { model: planned.model, core, solved: solved!, wrong: wrong! };
  });
}

/** Summaries of a plan's trials; those of a model on one core graph all end alike. */
function play(
  plan: Plan,
  solves: (model: string, core: number) => boolean,
): TrialSummary[] {
  return endings.getOrInsertComputed(plan, endingsOf)
    .map(({ model, core, solved, wrong }) => solves(model, core) ? solved : wrong);
}

/** The share of gates over newly drawn outcomes that end so. */
function share(kind: TrialsVerdict["kind"], draw: (prng: Prng) => TrialsVerdict): number {
  const { prng } = fork(1, "gates", kind);
  let count = 0;
  for (let gate = 0; gate < GATES; gate++) if (draw(prng).kind === kind) count++;
  return count / GATES;
}

/** The verdict on the model `new`. */
function verdictOf(
  plan: Plan,
  policy: CompletePolicy,
  trials: readonly TrialSummary[],
): TrialsVerdict {
  const planned = plan.trials;
  const decided = decideTrials(trials, planned, policy, { rule: plan.rule });
  return decided.find(({ model }) => model === "new")!.verdict;
}

function planFor(gate: GatePolicy, graphs?: number): { plan: Plan; policy: CompletePolicy } {
  const plan = planSuite({ ...SUITE, gate, ...(graphs === undefined ? {} : { graphs }) });
  return { plan, policy: completePolicy(gate) };
}

Deno.test("an upgrade gate keeps its error where the cells of a core end alike, which single trials do not", () => {
  const gate = { baseline: "old", margin: 0.15, discordance: 0.35 };
  const { plan, policy } = planFor(gate, 25);
  // The new model loses exactly the margin.
  const drawn = (prng: Prng) =>
    Array.from({ length: 50 }, () => {
      const place = prng();
      return place < 0.1 ? "gained" : place < 0.35 ? "lost" : place < 0.7 ? "both" : "neither";
    });
  const passed = share("pass", (prng) => {
    const cores = drawn(prng);
    const winners: Record<string, readonly string[]> = {
      new: ["gained", "both"],
      old: ["lost", "both"],
    };
    return verdictOf(
      plan,
      policy,
      play(plan, (model, core) => winners[model]!.includes(cores[core]!)),
    );
  });
  assertLessOrEqual(passed, MOST);
  const counted = share("pass", (prng) => {
    const cores = drawn(prng);
    const count = (kind: string) => CELLS * cores.filter((core) => core === kind).length;
    const [both, gained, lost, neither] = ["both", "gained", "lost", "neither"].map(count);
    return decideUpgrade(
      pairsOf({ both: both!, gained: gained!, lost: lost!, neither: neither! }),
      gate,
      { advise: false },
    );
  });
  assertGreater(counted, MOST);
});

Deno.test("verdicts, ceilings and forecasts over shared core graphs count these", () => {
  const { plan, policy } = planFor(
    { successRate: 0.7, margin: 0.2, atMost: { failures: { incorrect_value: 0.5 } } },
    25,
  );
  const trials = play(plan, (_, core) => core % 5 > 0);
  const decided = decideTrials(trials, plan.trials, policy);
  const { verdict, unit } = decided[0]!;
  assertEquals(unit!.many, "core graphs");
  assertEquals(verdict.kind, "pass");
  const evidence = verdict.kind === "pass" ? verdict.evidence : undefined;
  // 40 of 50 core graphs, whose trials are 160 of 200.
  assertEquals(
    [evidence!.graphs, evidence!.of === "rate" && evidence!.solved, evidence!.valid],
    [50, 160, 200],
  );
  assertEquals(evidence!.method, "betting");
  const [line] = forecast(plan)!.lines;
  assertStringIncludes(line!, "50 core graphs of a model tell a success rate of 70.0%");
  assertStringIncludes(line!, "at least if their cells differ");
  // A wrong call in every cell of half of the cores proves no more than half of the cores do.
  const wrong = trials.map((trial, index) => ({
    ...trial,
    failures: plan.trials[index]!.block % 2 === 0
      ? [{ type: "incorrect_value" as const, root: true }]
      : [],
  }));
  const ceiling = (some: readonly TrialSummary[]) => {
    const [{ verdict }] = decideTrials(some, plan.trials, policy) as [typeof decided[number]];
    return "ceilings" in verdict ? verdict.ceilings![0]! : undefined;
  };
  const { seen, lower } = ceiling(wrong)!;
  assertEquals(seen, 26 / 50);
  // Exact bounds of 104 of 200 independent trials begin at 46%.
  assertLessOrEqual(lower!, 0.41);
});

Deno.test("a gate without a plan for it refuses cores that are in different numbers of cells", () => {
  const plan = planSuite({
    ...SUITE,
    graphs: 5,
    tasks: [{ core: 3, depth: 1, connected: [0, 4] }, { core: 5, depth: 1 }],
  });
  const policy = completePolicy({ successRate: 0.5 });
  assertEquals(verdictOf(plan, policy, play(plan, () => true)), {
    kind: "invalid",
    reason: "the core graphs are in different numbers of cells",
  });
});

Deno.test("selfCheck() draws a core graph with all of its cells, and halves of each in either arm", () => {
  // Each core is solved in all trials of one cell, and in none of the other: the arms never differ.
  const cores = Array.from({ length: 60 }, () => [[true, true], [false, false]]);
  const [alike] = selfCheck([cores], { baseline: "itself", margin: 0.1 }, { gates: 50 });
  assertEquals([alike!.rate, alike!.gates.pass], [0, 50]);
  // Cells that end alike: a rate of a half is not proved by the trials of so few cores.
  const halves = Array.from({ length: 40 }, (_, place) => {
    const solved = place % 2 === 0;
    return new Array(10).fill([solved]);
  });
  const lower = selfCheck([halves], { successRate: 1, margin: 0.1 }, { gates: GATES })
    .find(({ error }) => error === "pass")!;
  assertLessOrEqual(lower.rate, MOST);
});
