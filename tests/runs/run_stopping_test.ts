// Runs that end before all of their plan: by a sequential gate, or by a budget.

import { assert, assertEquals, assertLess } from "@std/assert";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { Run, type RunOptions } from "../../lib/runs/run.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { Folder } from "../support/folders.ts";
import { linesOf } from "../support/journals.ts";
import { finish } from "../support/records.ts";

const SEQUENTIAL = { successRate: 0.9, margin: 0.3, sequential: true };
/** What the model below takes for a trial. */
const USAGE = { inputTokens: 10, outputTokens: 2 };

function planOf(traits: Partial<Suite>): Plan {
  return planSuite({
    name: "s",
    seed: 1,
    tasks: [{ core: [1, 2], depth: [0, 1] }],
    models: ["shrug"],
    ...traits,
  });
}

/** A model that shrugs, and counts what it is asked; trials that are named are invalid. */
function shrugging(invalid: readonly string[] = []) {
  const asked: string[] = [];
  const connect: RunOptions["connect"] = ({ model }) =>
    scripted(model, ({ context }) => {
      asked.push(context.trial);
      if (invalid.includes(context.trial)) throw new InfrastructureError("502");
      return { text: "I cannot tell.", usage: USAGE };
    });
  return { asked, connect };
}

function verdictOf(path: string, plan: Plan) {
  const { trials, problem, rule, stopped } = readResults([path]);
  assertEquals(problem, undefined);
  return decideTrials(trials, plan.trials, plan.gate!, { rule, stopped })[0]!.verdict;
}

const GATED = planOf({ gate: SEQUENTIAL });

Deno.test("Run ends when its sequential gate has decided, and says which trials were needless", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const { asked, connect } = shrugging();
  using run = new Run(GATED, { connect, journal, concurrency: 1 });
  const trials = await run.all();
  const verdict = verdictOf(journal, GATED);
  assertEquals([verdict.kind, verdict.evidence?.graphs], ["fail", trials.length]);
  assertLess(trials.length, GATED.trials.length);
  assertEquals(asked, GATED.trials.slice(0, trials.length).map(({ id }) => id));
  assertEquals(await run.trial(GATED.trials.length - 1), {
    kind: "needless",
    by: "gate",
    reason: `the gate of shrug had decided after ${trials.length} graphs`,
  });
  assertEquals((await run.trial(0)).kind, "trial");
  assertEquals(run.stopped, undefined);
  // The journal has the plan, the trials and the end; what was needless has no line.
  assertEquals(folder.read("a.jsonl").trimEnd().split("\n").length, 2 + trials.length);
});

Deno.test("Run with a sequential gate begins trials in plan order, though they are asked for shuffled", async () => {
  const { asked, connect } = shrugging();
  using run = new Run(GATED, { connect, concurrency: 2, slowStart: true });
  const last = GATED.trials.length - 1;
  const ended = await Promise.all([last, 3, 1, 0].map((place) => run.trial(place)));
  assertEquals(ended.map(({ kind }) => kind), ["trial", "trial", "trial", "trial"]);
  // The first request looks like a filter's; then it is plain that they are shuffled.
  const ids = GATED.trials.map(({ id }) => id);
  assertEquals(asked, [last, ...asked.slice(1).keys()].map((place) => ids[place]));
});

Deno.test("Run with resume of a run that its gate has ended carries out nothing", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  {
    using run = new Run(GATED, { ...shrugging(), journal });
    await run.all();
  }
  const before = folder.read("a.jsonl");
  const { asked, connect } = shrugging();
  using run = new Run(GATED, { connect, journal, resume: true });
  assertEquals((await run.all()).length, run.resumed);
  assertEquals(asked, []);
  assertEquals(folder.read("a.jsonl"), before);
});

Deno.test("Run with resume of an interrupted run goes on to the verdict of a whole one", async () => {
  using folder = new Folder();
  const [whole, cut] = [folder.file("whole.jsonl"), folder.file("cut.jsonl")];
  {
    using run = new Run(GATED, { ...shrugging(), journal: whole, concurrency: 1 });
    await run.all();
  }
  const lines = folder.read("whole.jsonl").split("\n");
  Deno.writeTextFileSync(cut, lines.slice(0, 3).join("\n") + "\n");
  assertEquals(verdictOf(cut, GATED).kind, "invalid");
  using run = new Run(GATED, { ...shrugging(), journal: cut, resume: true });
  await run.all();
  assertEquals(verdictOf(cut, GATED), verdictOf(whole, GATED));
});

Deno.test("Run of a shard, or of chosen trials, does not know what the whole gate needs", async () => {
  const shard = { index: 1, of: 2 };
  const parts: Partial<RunOptions>[] = [{ shard }, { only: GATED.trials.slice(0, 30) }];
  for (const [place, part] of parts.entries()) {
    using run = new Run(GATED, { ...shrugging(), ...part });
    const trials = await run.all();
    assertEquals(trials.length, place === 0 ? shardOf(GATED, shard).length : 30);
  }
});

Deno.test("Run compares with the baseline that it is given", async () => {
  const gate = {
    baseline: { file: "b.json", model: "old" },
    margin: 0.3,
    discordance: 0.4,
    sequential: true,
  };
  const plan = planOf({ gate });
  const old = planOf({ gate, models: ["old"] });
  const trialsOfOld = old.trials.map((planned) => finish(planned));
  const unread = { keys: new Set<string>(), plan: old, notices: [] };
  const baseline = { file: "b.json", trials: trialsOfOld, ...unread };
  using run = new Run(plan, { ...shrugging(), baseline, concurrency: 1 });
  const trials = await run.all();
  const [judged] = decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule, baseline });
  assertEquals([judged!.verdict.kind, judged!.verdict.evidence?.graphs], ["fail", trials.length]);
  assertLess(trials.length, plan.trials.length);
});

const BUDGETED = planOf({ graphs: 5, budget: { tokens: 36 }, gate: { successRate: 0.9 } });
const REACHED = "the budget of 36 tokens was reached";

Deno.test("Run ends when its budget is reached; those in flight end, and the journal says why", async () => {
  for (const concurrency of [1, 4]) {
    using folder = new Folder();
    const journal = folder.file("a.jsonl");
    const { asked, connect } = shrugging();
    using run = new Run(BUDGETED, { connect, journal, concurrency });
    const trials = await run.all();
    const count = trials.length;
    // The third reaches it.
    assert(count >= 3 && count < 3 + concurrency, `${count} trials`);
    assertEquals(asked, BUDGETED.trials.slice(0, count).map(({ id }) => id));
    assertEquals(run.stopped, REACHED);
    assertEquals(await run.trial(9), { kind: "needless", by: "budget", reason: REACHED });
    assertEquals(readResults([journal]).stopped, REACHED);
    const verdict = verdictOf(journal, BUDGETED);
    assert("stopped" in verdict, JSON.stringify(verdict));
    assertEquals([verdict.stopped, verdict.evidence!.graphs], [REACHED, count - count % 2]);
  }
});

Deno.test("Run has one budget for all of its models, those of stages too", async () => {
  const planned = { strategy: "plan_then_call", models: { plan: "planner" } };
  const budget = { tokens: 20 * 12 };
  const plan = planOf({ graphs: 20, models: ["one", "two"], strategies: [planned], budget });
  for (const concurrency of [1, 4]) {
    const { asked, connect } = shrugging();
    using run = new Run(plan, { connect, concurrency });
    const trials = await run.all();
    // A plan and the work of it take twelve tokens each; those in flight end.
    assert(trials.length >= 10 && trials.length < 10 + concurrency, `${trials.length} trials`);
    assertEquals(asked.length, 2 * trials.length);
    assertEquals(run.stopped, "the budget of 240 tokens was reached");
  }
});

Deno.test("Run of a shard has its share of the budget", async () => {
  using run = new Run(BUDGETED, { ...shrugging(), shard: { index: 1, of: 2 }, concurrency: 1 });
  // Each trial takes 12 tokens, and half of the budget is 18.
  assertEquals((await run.all()).length, 2);
  assertEquals(run.stopped, `a shard's share of ${REACHED}`);
});

Deno.test("Run with resume counts what the journal has cost, invalid trials that are run again too", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const trials = BUDGETED.trials.slice(0, 2).map((planned, place) =>
    finish(planned, { served: "shrug", ...(place === 0 ? { outcome: "invalid" } : {}) })
  );
  const text = linesOf([planLine(BUDGETED), ...trials]);
  for (const retryInvalid of [false, true]) {
    Deno.writeTextFileSync(journal, text);
    const { asked, connect } = shrugging();
    using run = new Run(BUDGETED, { connect, journal, resume: true, retryInvalid, concurrency: 1 });
    await run.all();
    // Two were paid for, so that one is left.
    assertEquals(asked, [BUDGETED.trials[retryInvalid ? 0 : 2]!.id]);
    assertEquals(run.stopped, REACHED);
  }
});
