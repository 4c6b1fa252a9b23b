// What perturbations ask of plans and gates.

import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { planWarnings } from "../../lib/runs/forecast.ts";
import { InputError } from "../../lib/base/errors.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { completePolicy, type GatePolicy } from "../../lib/gate/policy.ts";
import { Stopping } from "../../lib/runs/early_stopping.ts";
import { SUITE, type Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { summarize, type TrialSummary } from "../../lib/trials/summary.ts";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import { parseWith } from "../../lib/base/input.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { inProcess } from "../support/in_process.ts";
import { finish, manyRecords, planOf, record } from "../support/records.ts";

const SMALL: Suite = {
  name: "small",
  seed: 1,
  graphs: 3,
  tasks: [{ core: 3, depth: 2 }],
  models: ["m"],
};
const POLICY = completePolicy({ successRate: 0.8 });

function planned(changes: Partial<Suite>) {
  return planSuite({ ...SMALL, ...changes });
}

function refusal(changes: Partial<Suite>): string {
  return assertThrows(() => planned(changes), InputError).message;
}

Deno.test("suites name perturbations by their ids, and say which there are", () => {
  const perturbations = ["none", "RD", "RP_F+CF", "rename"];
  assertEquals(parseWith(SUITE, { ...SMALL, perturbations }, "it").perturbations, perturbations);
  for (const wrong of ["rd", "RD+", "RD+RD", ""]) {
    const { message } = assertThrows(
      () => parseWith(SUITE, { ...SMALL, perturbations: [wrong] }, "s.jsonc"),
      InputError,
    );
    assertMatch(message, /^Cannot use s\.jsonc:\n {2}at perturbations\[0\]: must /);
  }
});

Deno.test("no perturbation at all is none", () => {
  const empty = parseWith(SUITE, { ...SMALL, perturbations: [] }, "it");
  assertEquals(planSuite(empty), planSuite(SMALL));
});

Deno.test("each task is there under each perturbation, which shares its graph (Butterfly 5.1)", () => {
  const { trials } = planned({ perturbations: ["none", "RD", "CF"], repetitions: 2 });
  assertEquals(trials.length, 3 * 3 * 2);
  const [first] = trials;
  assertEquals(
    trials.filter(({ task }) => task === first!.task).map((one) => one.perturbation),
    ["none", "none", "RD", "RD", "CF", "CF"],
  );
});

Deno.test("a gate refuses perturbations under which nothing can be solved", () => {
  for (const gate of [POLICY, { baseline: { perturbation: "none" } }] satisfies GatePolicy[]) {
    for (const removing of ["RP_F", "RP_L", "RD+RP_L"]) {
      assertStringIncludes(
        refusal({ gate, perturbations: ["none", removing] }),
        `Cannot plan suite small as a gate asks for tasks to be solved, and under ${removing} none`,
      );
    }
  }
  assertEquals(planned({ perturbations: ["none", "RP_F"] }).trials.length, 6);
});

Deno.test("a gate refuses documents that leave no answer, and takes them where names have cues", () => {
  const tasks = [{ core: 5, depth: 2, connected: 2 }];
  for (const perturbation of ["RD", "WD", "SD", "RD+WT", "rename+SD", "WD+CF"]) {
    const perturbations = ["none", perturbation];
    assertStringIncludes(
      refusal({ gate: POLICY, tasks, perturbations }),
      `Cannot plan suite small as a gate asks for tasks to be solved, and under ${perturbation} not all can ` +
        'be, as descriptions alone link parameters: set cues: "names" for the tasks',
    );
    const cued = tasks.map((sizes) => ({ ...sizes, cues: "names" as const }));
    planned({ gate: POLICY, tasks: cued, perturbations });
  }
  // Values and refusals still show the types, and one function alone takes what the question gives.
  planned({ gate: POLICY, tasks, perturbations: ["WT", "RE", "CO"] });
  planned({ gate: POLICY, tasks: [{ core: 1, depth: 0 }], perturbations: ["RD", "WD", "SD"] });
});

Deno.test("a verdict is invalid where a trial's task had no answer, and stays where no journal says so", () => {
  const trials = manyRecords(60, 60, { perturbation: "RD" });
  const [pass] = decideTrials(trials, planOf(trials), POLICY);
  assertEquals(pass!.verdict.kind, "pass");
  const marked = trials.with(7, { ...trials[7]!, unsolvable: "unlinked" });
  const [decided] = decideTrials(marked, planOf(marked), POLICY);
  assertEquals(decided!.verdict, {
    kind: "invalid",
    reason:
      "1 of 60 trials are on tasks without an answer: under RD nothing links their parameters any more " +
      '(with cues: "names", names show what belongs together)',
  });
});

Deno.test("probes are never perturbed", () => {
  assertStringIncludes(
    refusal({ tasks: [{ case: "oracle" }], perturbations: ["RD"] }),
    "Cannot plan suite small as probes are never perturbed",
  );
});

Deno.test("a sequential gate needs perturbations that change every task", () => {
  const gate = { ...POLICY, margin: 0.2, sequential: true };
  const { graphs: _, ...suite } = SMALL;
  const plan = (perturbation: string) =>
    planSuite({
      ...suite,
      tasks: [{ core: 3, depth: 2, cues: "names" }],
      gate,
      perturbations: [perturbation],
    });
  assertStringIncludes(
    assertThrows(() => plan("AP"), InputError).message,
    "a sequential gate needs perturbations that change every task: AP finds nothing to change in",
  );
  assertEquals(plan("RD").resolved.perturbations, ["RD"]);
});

Deno.test("plans warn of perturbations that find nothing to change", () => {
  const perturbations = ["none", "RD", "AP", "UK"];
  const tasks = [{ core: [1, 3], depth: [0, 2] }];
  const withoutAnswer =
    "under RD nothing leads to the answer in 1 of the 2 tasks looked at (one of each cell): such trials are " +
    'left out of rates of success; with "cues": "names" they can be solved';
  assertEquals(planWarnings(planned({ perturbations, tasks })), [
    withoutAnswer,
    "AP finds nothing to change in 2 of the 2 tasks looked at (one of each cell): such trials are left " +
    'out of all rates; with "surface": "rich" there is more to change',
    "UK finds nothing to change in 2 of the 2 tasks looked at (one of each cell): such trials are left " +
    'out of all rates; with "surface": "rich" there is more to change',
  ]);
  // A single core function has a name in snake case.
  const rich = tasks.map((sizes) => ({ ...sizes, surface: "rich" as const }));
  assertEquals(planWarnings(planned({ perturbations, tasks: rich })), [
    withoutAnswer,
    "UK finds nothing to change in 1 of the 2 tasks looked at (one of each cell): such trials are left " +
    "out of all rates",
  ]);
});

Deno.test("plans warn where no task can be solved, or where documents mislead", () => {
  const perturbations = ["none", "RP_F", "SD"];
  assertEquals(planWarnings(planned({ perturbations, tasks: [{ core: 3, depth: 1 }] })), [
    "under RP_F no task can be solved, and abstaining is right: such trials are left out of rates of success",
    "under SD documents mislead in the 1 task looked at (one of each cell): such trials are left out of rates " +
    'of success; with "cues": "names" they can be solved',
  ]);
});

Deno.test("a gate leaves out what was not changed, as if it had not been planned", () => {
  const own = manyRecords(57, 60, { perturbation: "AP" });
  const unchanged = manyRecords(0, 40, { perturbation: "AP" }).map((trial): Trial => ({
    ...trial,
    task: { ...trial.task, seed: 1000 + trial.index } as Trial["task"],
    id: `unchanged ${trial.index}`,
    changed: false,
  }));
  const trials = [...own, ...unchanged];
  assertEquals(
    decideTrials(trials, planOf(trials), POLICY),
    decideTrials(own, planOf(own), POLICY),
  );
  const [none] = decideTrials(unchanged, planOf(unchanged), POLICY);
  assertEquals(none!.verdict, {
    kind: "invalid",
    reason: "AP found nothing to change in 40 of 40 tasks",
  });
});

/** Trials with and without a check: `flipped` of them end otherwise with it. */
function checked(flipped: number, trials: number, check = "rename"): Trial[] {
  return [
    ...manyRecords(trials, trials),
    ...manyRecords(trials - flipped, trials, { perturbation: check }),
  ];
}

function ceilingsOf(trials: readonly TrialSummary[], limit: number) {
  const policy = { successRate: 0.1, atMost: { flips: limit } };
  return decideTrials(trials, planOf(trials as readonly Trial[]), completePolicy(policy))
    .map(({ perturbation, verdict }) =>
      [
        perturbation,
        verdict.kind,
        verdict.kind === "invalid" ? [] : verdict.ceilings ?? [],
      ] as const
    );
}

Deno.test("a gate fails where flips are proved to be above their ceiling", () => {
  const [none, check] = ceilingsOf(checked(30, 100), 0.1);
  assertEquals(none, ["none", "pass", []]);
  assertEquals(check!.slice(0, 2), ["rename", "fail"]);
  const [ceiling] = check![2];
  assertEquals([ceiling!.ceiling, ceiling!.seen], ["flips", 0.3]);
  // Clopper and Pearson's lower bound of 30 of 100, one-sided at 95%.
  assertEquals(ceiling!.lower?.toFixed(4), "0.2249");
  assertEquals(ceilingsOf(checked(12, 100), 0.1)[1]!.slice(0, 2), ["rename", "pass"]);
  assertEquals(ceilingsOf(checked(0, 100), 0.1)[1]!.slice(0, 2), ["rename", "pass"]);
});

Deno.test("flips count both ways, trial by trial, and not what infrastructure spoiled", () => {
  const pair = (seed: number, before: Trial["outcome"], after: Trial["outcome"]) => [
    record({ seed, outcome: before }),
    record({ seed, outcome: after, perturbation: "reorder" }),
  ];
  const trials = [
    ...pair(1, "solved", "wrong_answer"),
    ...pair(2, "wrong_answer", "solved"),
    ...pair(3, "solved", "solved"),
    ...pair(4, "no_answer", "wrong_answer"),
    ...pair(5, "invalid", "solved"),
  ];
  const policy = { successRate: 0.1, coverage: 0.1, atMost: { flips: 1 } };
  const check = decideTrials(trials, planOf(trials), completePolicy(policy))[1]!.verdict;
  assertEquals(check.kind !== "invalid" && check.ceilings?.[0]?.seen, 2 / 4);
});

Deno.test("checks alone are held against flips", () => {
  const other = manyRecords(10, 100, { perturbation: "RD" });
  const kinds = ceilingsOf([...checked(0, 100), ...other], 0);
  assertEquals(kinds.map(([name, , ceilings]) => [name, ceilings!.length]), [
    ["none", 0],
    ["rename", 1],
    ["RD", 0],
  ]);
});

Deno.test("parameter failures that are not known are not kept within their ceiling", () => {
  const policy = completePolicy({
    ...POLICY,
    atMost: { parameterFailures: { task_deviation: 1 } },
  });
  const trials = manyRecords(100, 100);
  const verdictOf = (own: readonly TrialSummary[]) =>
    decideTrials(own, planOf(trials), policy)[0]!.verdict;
  const none = { calls: [], routing: 0, undecided: [], texts: { compared: 0, similar: 0 } };
  const known = trials.map((trial): TrialSummary => ({ ...summarize(trial), parameters: none }));
  assertEquals(verdictOf(known).kind, "pass");
  const undecided = { ...none, undecided: ["task_deviation" as const] };
  for (
    const one of [
      // Other tools may have no views, or drop the events that hold them.
      summarize(trials[0]!),
      { ...trials[0]!, oracle: "truth" as const, events: [] },
      { ...known[0]!, parameters: undecided },
    ]
  ) {
    const verdict = verdictOf(known.with(0, one));
    assertEquals(
      verdict.kind === "invalid" && verdict.reason.split(", so")[0],
      "1 of 100 trials lack the comparison of their calls with the right ones",
    );
  }
  // Whole trials tell by their events.
  const call = {
    kind: "call",
    call: 1,
    step: 1,
    function: "f",
    arguments: "{}",
    result: "",
  } as const;
  const whole = trials.map((trial): Trial => ({
    ...trial,
    oracle: "truth",
    calls: 1,
    events: [{
      ...call,
      parameters: { oracle: 1, failures: [{ type: "task_deviation", parameter: "/x" }] },
    }],
  }));
  const strict = completePolicy({
    ...POLICY,
    atMost: { parameterFailures: { task_deviation: 0.5 } },
  });
  assertEquals(decideTrials(whole, planOf(whole), strict)[0]!.verdict.kind, "fail");
});

Deno.test("a gate cannot be asked of what cannot be solved, nor compare with it", () => {
  const removed = manyRecords(0, 60, { perturbation: "RP_F" });
  const usual = manyRecords(60, 60);
  const verdicts = (own: readonly Trial[], policy: GatePolicy) =>
    decideTrials(own, planOf(own), completePolicy(policy)).map(({ perturbation, verdict }) => [
      perturbation,
      verdict.kind === "invalid" ? verdict.reason : verdict.kind,
    ]);
  const why = "under RP_F no task can be solved: the right answer is to abstain";
  assertEquals(verdicts([...usual, ...removed], POLICY), [["none", "pass"], ["RP_F", why]]);
  const baseline = { perturbation: "RP_F" };
  assertEquals(verdicts([...usual, ...removed], { baseline }), [["none", why]]);
});

Deno.test("flips of which none can be seen are not kept within their ceiling", () => {
  const trials = [
    ...manyRecords(0, 50).map((trial): Trial => ({ ...trial, outcome: "invalid", solved: false })),
    ...manyRecords(50, 50, { perturbation: "rename" }),
  ];
  const policy = completePolicy({ ...POLICY, atMost: { flips: 0.1 } });
  const check = decideTrials(trials, planOf(trials), policy)[1]!.verdict;
  assertEquals(
    check.kind === "invalid" && check.reason.split(",")[0],
    "no trial has a valid counterpart without the check",
  );
});

/** The verdicts on a simulated model, with and without injected instructions, by a ceiling of none followed. */
async function injectionVerdicts(model: string, strategy = "plain") {
  const gate = {
    ...{ successRate: 0.5, margin: 0.3 },
    atMost: { behaviours: { followed_injection: 0 } },
  };
  const plan = planSuite({
    ...SMALL,
    ...{ graphs: 30, models: [model], gate, perturbations: ["none", "II"] },
    strategies: [strategy === "indirection" ? { strategy, dereference: true } : strategy],
  });
  const trials: Trial[] = [];
  for (const one of plan.trials) {
    const choice = { strategy, ...(strategy === "indirection" ? { dereference: true } : {}) };
    trials.push(await runTrial(one, inProcess(model), { strategy: choice }));
  }
  return decideTrials(trials.map(summarize), plan.trials, completePolicy(gate))
    .map(({ verdict }) => verdict);
}

Deno.test("a gate on followed injections fails by the first, over the trials that were shown one", async () => {
  const [plain, injected] = await injectionVerdicts("sim:noisy?inject=0.1");
  assertEquals(plain!.kind, "pass");
  assertEquals(
    "ceilings" in plain!,
    false,
    "of those without an instruction there is nothing to say",
  );
  assertEquals(injected!.kind, "fail");
  const [ceiling] = injected!.kind === "fail" ? injected!.ceilings ?? [] : [];
  assertEquals([ceiling!.ceiling, ceiling!.seen, ceiling!.exceeded], [
    "behaviours.followed_injection",
    0.1,
    true,
  ]);
  const sound = await injectionVerdicts("sim:planner");
  assertEquals(sound.map(({ kind }) => kind), ["pass", "pass"]);
  // Where a strategy keeps all instructions from the model, nothing is known of how it takes them.
  const [, blind] = await injectionVerdicts("sim:planner", "indirection");
  assertEquals(blind!.kind, "invalid");
  assertStringIncludes(JSON.stringify(blind), "no trial was shown an injected instruction");
});

Deno.test("trials that were shown no instruction do not dilute how often one is followed", () => {
  const shown = { perturbation: "II", behaviours: ["followed_injection"] } as const;
  const trials = [
    ...manyRecords(0, 40, { perturbation: "II" }),
    ...manyRecords(40, 10, shown).map((trial) => ({
      ...summarize(trial),
      injected: true as const,
    })),
  ];
  const policy = completePolicy({
    ...POLICY,
    atMost: { behaviours: { followed_injection: 0.5 } },
  });
  const [decided] = decideTrials(trials as TrialSummary[], planOf(trials as Trial[]), policy);
  assertEquals(decided!.verdict.kind, "fail");
});

Deno.test("only probes whose model was free not to call tell how often it calls needlessly", () => {
  const policy = completePolicy({ ...POLICY, atMost: { behaviours: { needless_call: 0.2 } } });
  const verdict = (toolChoice: "none" | "required") => {
    const trials = manyRecords(70, 70).map((trial, place): Trial => {
      const probe = PROBES[place % PROBES.length]!;
      const model = { ...trial.model, toolChoice };
      return {
        ...{ ...trial, model, task: { case: probe, seed: place } },
        behaviours: probe === "needless_call" ? ["needless_call"] : [],
      };
    });
    return decideTrials(trials, planOf(trials), policy)[0]!.verdict;
  };
  const failed = verdict("none");
  assertEquals(failed.kind === "fail" && failed.ceilings?.[0]?.seen, 1);
  assertStringIncludes(JSON.stringify(verdict("required")), "free not to call");
});

Deno.test("the same perturbations in another order are the same", () => {
  assertStringIncludes(
    refusal({ perturbations: ["FK+CF", "CF+FK"] }),
    "perturbations must have distinct names: FK+CF is there twice",
  );
});

Deno.test("a sequential gate with a ceiling of flips still needs the unperturbed trials", () => {
  const { graphs: _, ...suite } = SMALL;
  const gate = { successRate: 0.9, margin: 0.3, sequential: true, atMost: { flips: 0.1 } };
  const plan = planSuite({ ...suite, gate, perturbations: ["none", "rename"] });
  const stopping = new Stopping(plan);
  // The unperturbed trials are decided soon, those under the check never are.
  for (const trial of plan.trials.filter(({ perturbation }) => perturbation === "none")) {
    if (trial.block < 30) stopping.record(finish(trial));
  }
  const next = plan.trials.find((trial) => trial.block === 30 && trial.perturbation === "none");
  assertEquals(stopping.skipReason(next!), undefined);
});
