import { assertEquals } from "@std/assert";
import {
  byGraph,
  byVariant,
  type Variant,
  variantLabel,
  variantName,
} from "../../lib/gate/variant.ts";
import { FinishedTrials, plannedDecisions } from "../../lib/gate/decisions.ts";
import { variantOf } from "../../lib/gate/variant.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import type { GatePolicy } from "../../lib/gate/policy.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import { asJson, failureOf, finish, planOf, record, records } from "../support/records.ts";

const SUITE: Suite = {
  name: "small",
  seed: 1,
  graphs: 2,
  tasks: [{ core: [2, 3], depth: 1 }],
  models: ["a", "b", "c"],
  repetitions: 2,
};
const PLAN = planSuite(SUITE);
const RATE: GatePolicy = { successRate: 0.5 };

function subject(model: string, traits: Partial<Variant> = {}): Variant {
  return { model, strategy: "plain", perturbation: "none", variant: undefined, ...traits };
}

/** The trials of PLAN with another strategy beside them. */
function withStrategy(strategy: string): PlannedTrial[] {
  return PLAN.trials.flatMap((trial) => [
    trial,
    { ...trial, strategy, id: `${trial.id} ${strategy}` },
  ]);
}

/** Who is compared with whom. */
function matchesOf(planned: readonly PlannedTrial[], policy: GatePolicy, file?: PlannedTrial[]) {
  const scored = file?.map((trial) => finish(trial));
  const contests = scored === undefined
    ? plannedDecisions(planned, policy)
    : plannedDecisions(planned, policy, { trials: scored });
  return contests.map((contest) =>
    [contest.subject, contest.baseline].map((one) => one && variantName(one))
  );
}

Deno.test("variantName() tells strategy and perturbation where they are not the usual", () => {
  assertEquals(variantName(subject("m")), "m");
  assertEquals(
    variantName(subject("m", { strategy: "restate", perturbation: "RD" })),
    "m + restate + RD",
  );
});

Deno.test("variantOf() is the model by the name it was asked for", () => {
  const trial = record({ model: "m", served: "m-2026-01", strategy: "s" });
  assertEquals(variantOf(trial), subject("m", { strategy: "s" }));
});

Deno.test("byVariant() keeps models apart whose names look like another's strategy", () => {
  const one = record({ model: "a", strategy: "b" });
  const other = record({ model: 'a","b', strategy: "plain" });
  assertEquals(byVariant([one, other, one], variantOf).map(({ items }) => items.length), [2, 1]);
});

Deno.test("byVariant() gives subjects in the order in which they first occur, and only themselves", () => {
  const trials = ["b", "a", "b"].map((model) => record({ model }));
  assertEquals(byVariant(trials, variantOf).map((group) => group.subject), [
    subject("b"),
    subject("a"),
  ]);
});

Deno.test("byGraph() puts the trials of one graph together, whatever the order of its spec", () => {
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

Deno.test("plannedDecisions() an absolute gate is one for each subject, its graphs in plan order", () => {
  const contests = plannedDecisions(PLAN.trials, RATE);
  assertEquals(contests.map((contest) => contest.subject), ["a", "b", "c"].map((m) => subject(m)));
  for (const { subject: { model }, baseline, graphs } of contests) {
    const own = PLAN.trials.filter((trial) => trial.model === model);
    assertEquals(graphs.flatMap(({ candidate }) => candidate), own.map(({ id }) => id));
    assertEquals(graphs.map(({ candidate }) => candidate.length), [2, 2, 2, 2]);
    assertEquals(graphs.map(({ block }) => block), [0, 0, 1, 1]);
    assertEquals([baseline, graphs.flatMap((graph) => graph.baseline)], [undefined, []]);
  }
});

Deno.test("plannedDecisions() an upgrade gate does not decide the baseline itself", () => {
  const expected = [["a", "b"], ["c", "b"]];
  assertEquals(matchesOf(PLAN.trials, { baseline: "b" }), expected);
  assertEquals(matchesOf(PLAN.trials, { baseline: { model: "b" } }), expected);
});

Deno.test("plannedDecisions() an upgrade gate takes what the baseline leaves out from the candidate", () => {
  const planned = withStrategy("restate");
  assertEquals(matchesOf(planned, { baseline: "b" }), [
    ["a", "b"],
    ["a + restate", "b + restate"],
    ["c", "b"],
    ["c + restate", "b + restate"],
  ]);
  assertEquals(matchesOf(planned, { baseline: { strategy: "plain" } }), [
    ["a + restate", "a"],
    ["b + restate", "b"],
    ["c + restate", "c"],
  ]);
  assertEquals(matchesOf(planned, { baseline: { model: "b", strategy: "plain" } }), [
    ["a", "b"],
    ["a + restate", "b"],
    ["b + restate", "b"],
    ["c", "b"],
    ["c + restate", "b"],
  ]);
});

Deno.test("plannedDecisions() decides a model also against its own results from a file", () => {
  const own = PLAN.trials.filter(({ model }) => model === "a");
  const file = { file: "b.json" };
  // A file with one model needs no name.
  assertEquals(matchesOf(own, { baseline: file }, own), [["a", "a"]]);
  assertEquals(matchesOf(own, { baseline: file }, PLAN.trials.filter((t) => t.model === "c")), [
    ["a", "c"],
  ]);
  // With several it is the one of the same name, unless another is given.
  const all = [...PLAN.trials];
  assertEquals(matchesOf(own, { baseline: file }, all), [["a", "a"]]);
  assertEquals(matchesOf(own, { baseline: { ...file, model: "b" } }, all), [["a", "b"]]);
  // Settings that only the run names are compared with the ones that the file has.
  const named = own.map((trial) => ({ ...trial, variant: "new" }));
  assertEquals(matchesOf(named, { baseline: file }, own), [["new: a", "a"]]);
  const trials = own.map((trial) => finish(trial));
  const [decision] = plannedDecisions(named, { baseline: file }, { trials });
  const scores = new FinishedTrials(true, { trials });
  assertEquals(scores.of(decision!.graphs.flatMap(({ baseline }) => baseline)).length, own.length);
});

Deno.test("FinishedTrials finds the baseline's trials of the same run, graph by graph", () => {
  const [contest] = plannedDecisions(PLAN.trials, { baseline: "b" });
  const scores = new FinishedTrials(true);
  for (const planned of PLAN.trials) scores.add(finish(planned));
  for (const { candidate, baseline } of contest!.graphs) {
    const [own, other] = [scores.of(candidate), scores.of(baseline)];
    assertEquals(own.map(({ model }) => model.requested), ["a", "a"]);
    assertEquals(other.map(({ model }) => model.requested), ["b", "b"]);
    assertEquals(other.map(({ task }) => task), own.map(({ task }) => task));
    assertEquals(other.map(({ repetition }) => repetition), [1, 2]);
  }
});

Deno.test("FinishedTrials keeps results of a file apart from those of the run, even of the same model", () => {
  const own = PLAN.trials.filter(({ model }) => model === "a");
  const file = { trials: own.map((planned) => finish(planned, { outcome: "wrong_answer" })) };
  const [contest] = plannedDecisions(own, { baseline: { file: "b.json" } }, file);
  const scores = new FinishedTrials(true, file);
  for (const planned of own) scores.add(finish(planned));
  for (const { candidate, baseline } of contest!.graphs) {
    assertEquals(asJson(scores.unit(candidate)), { solved: 2, valid: 2, trials: 2 });
    assertEquals(asJson(scores.unit(baseline)), { solved: 0, valid: 2, trials: 2 });
  }
});

Deno.test("FinishedTrials.unit() counts missing trials as planned, and invalid ones as not valid", () => {
  const trials = records(["solved", "wrong_answer", "invalid"]);
  const scores = new FinishedTrials(false);
  for (const trial of trials) scores.add(trial);
  const names = [...trials.map(({ id }) => id), "missing"];
  assertEquals(asJson(scores.unit(names)), { solved: 1, valid: 2, trials: 4 });
  assertEquals(asJson(scores.unit([])), { solved: 0, valid: 0, trials: 0 });
  assertEquals(names.map((name) => scores.has(name)), [true, true, true, false]);
});

Deno.test("FinishedTrials.unit() counts what it is told to, of valid trials alone", () => {
  const failures = [failureOf("incorrect_value")];
  const trials = [
    record({ seed: 1, failures }),
    record({ seed: 2, failures, outcome: "invalid" }),
    record({ seed: 3 }),
  ];
  const scores = new FinishedTrials(false);
  for (const trial of trials) scores.add(trial);
  const unit = scores.unit(
    planOf(trials).map(({ id }) => id),
    (trial) => trial.failures.length > 0,
  );
  assertEquals(asJson(unit), { solved: 1, valid: 2, trials: 3 });
});

Deno.test("FinishedTrials.namesOf() are the names under which a planned trial will be found", () => {
  for (const keyed of [true, false]) {
    const scores = new FinishedTrials(keyed);
    for (const planned of PLAN.trials) {
      const names = scores.namesOf(planned);
      assertEquals(names.map((name) => scores.has(name)), names.map(() => false));
      scores.add(finish(planned));
      assertEquals(names.map((name) => scores.of([name])[0]), names.map(() => finish(planned)));
    }
  }
});

Deno.test("variantLabel() is the model, what is not usual about it, and what is simulated", () => {
  const usual = { model: "m", strategy: "plain", perturbation: "none" };
  assertEquals(variantLabel(usual, false), "m");
  assertEquals(variantLabel({ ...usual, strategy: "restate" }, true), "m + restate (simulated)");
  assertEquals(variantLabel(usual, "judge"), "m (with a simulated judge)");
});
