import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { byGraph } from "../../lib/gate/variant.ts";
import { type BaselineTrials, decideTrials } from "../../lib/gate/decide_trials.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { fork } from "../../lib/base/random.ts";
import { type SkippedTrial, Stopping } from "../../lib/runs/early_stopping.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { PlannedTrial } from "../../lib/trials/trial_id.ts";
import fc from "../support/fast_check.ts";
import { finish } from "../support/records.ts";

/** A gate that decides after a few graphs: margins are wide. */
const RATE = { successRate: 0.9, margin: 0.3, sequential: true };
const UPGRADE = { baseline: "a", margin: 0.3, discordance: 0.4, sequential: true };
const FILE = { ...UPGRADE, baseline: { file: "b.json", model: "a" } };

function suite(traits: Partial<Suite>): Suite {
  return {
    name: "stop",
    seed: 1,
    tasks: [{ core: [2, 3], depth: 1 }],
    models: ["a", "b", "c"],
    ...traits,
  };
}

/** How every planned trial ends if it is run: each model solves its own share. */
function endings(plan: Plan, rates: Readonly<Record<string, number>>, seed: number): Trial[] {
  return plan.trials.map((planned) => {
    const { prng } = fork(seed, planned.id);
    const [invalid, solved] = [prng() < 0.02, prng() < rates[planned.model]!];
    return finish(planned, { outcome: invalid ? "invalid" : solved ? "solved" : "no_answer" });
  });
}

/** Runs a plan: trials begin in plan order, a few at a time, and end in any order at all. */
function run(
  plan: Plan,
  trials: readonly Trial[],
  { seed = 1, concurrency = 1, baseline }: {
    seed?: number;
    concurrency?: number;
    baseline?: BaselineTrials | undefined;
  } = {},
) {
  const stopping = new Stopping(plan, baseline);
  const { prng } = fork(seed, "completion");
  const [finished, running]: [Trial[], Trial[]] = [[], []];
  const needless = new Map<PlannedTrial, SkippedTrial>();
  const end = () => {
    const [trial] = running.splice(Math.floor(prng() * running.length), 1);
    stopping.record(trial!);
    finished.push(trial!);
  };
  for (const [place, planned] of plan.trials.entries()) {
    while (running.length >= concurrency) end();
    const reason = stopping.skipReason(planned);
    if (reason === undefined) running.push(trials[place]!);
    else needless.set(planned, reason);
  }
  while (running.length > 0) end();
  return { stopping, finished, needless };
}

/** The results of a model that some other run left, up to a block. */
function resultsOf(trials: readonly Trial[], model: string, blocks = Infinity) {
  const own = trials.filter((trial) => trial.model.requested === model && trial.block < blocks);
  return { file: "b.json", trials: own };
}

const SUITES: [name: string, Plan, ofFile: boolean][] = [
  ["an absolute gate", planSuite(suite({ gate: RATE })), false],
  ["repetitions", planSuite(suite({ gate: RATE, repetitions: 2 })), false],
  ["an upgrade gate", planSuite(suite({ gate: UPGRADE })), false],
  ["a baseline from a file", planSuite(suite({ gate: FILE, models: ["b", "c"] })), true],
];

for (const [name, plan, ofFile] of SUITES) {
  Deno.test(`Stopping leaves decideTrials() the verdict of all trials, whatever the order they end in: ${name}`, () => {
    const kinds = new Set<string>();
    let spared = 0;
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 40 }),
        fc.record({
          a: fc.double({ min: 0.5, max: 1, noNaN: true }),
          b: fc.constantFrom(0.2, 0.9, 1),
        }),
        (seed, concurrency, { a, b }) => {
          const trials = endings(plan, { a, b, c: (a + b) / 2 }, seed);
          const old = planSuite(suite({ gate: UPGRADE }));
          const baseline = ofFile
            ? resultsOf(endings(old, { a, b, c: 0 }, seed + 1), "a")
            : undefined;
          const { finished, needless } = run(plan, trials, { seed, concurrency, baseline });
          const options = { rule: plan.rule, baseline };
          const judged = decideTrials(finished, plan.trials, plan.gate!, options);
          assertEquals(judged, decideTrials(trials, plan.trials, plan.gate!, options));
          assertEquals(finished.length + needless.size, plan.trials.length);
          for (const { verdict } of judged) kinds.add(verdict.kind);
          spared += needless.size;
          // Each that was spared says of which gate, and when that had decided.
          for (const [{ block }, { kind, by, reason }] of needless) {
            assertEquals([kind, by], ["needless", "gate"]);
            const decided = judged.find(({ model, verdict: { evidence } }) =>
              reason === `the gate of ${model} had decided after ${evidence?.graphs} graphs`
            );
            assert(decided !== undefined, reason);
            assert(2 * block >= decided.verdict.evidence!.graphs, `block ${block}: ${reason}`);
          }
        },
      ),
      { numRuns: 20 },
    );
    assert(kinds.has("pass") && kinds.has("fail"), [...kinds].join());
    assertGreater(spared, 0);
  });
}

/** The trials of a plan, all with one ending. */
function all(plan: Plan, outcome: Trial["outcome"]): Trial[] {
  return plan.trials.map((planned) => finish(planned, { outcome }));
}

Deno.test("Stopping looks in plan order: a block waits for those before it", () => {
  const plan = planSuite(suite({ gate: RATE, models: ["a"] }));
  const stopping = new Stopping(plan);
  const trials = all(plan, "solved");
  const last = plan.trials.at(-1)!;
  // Failures are slow: all that come later have ended, and were solved.
  for (const trial of trials.slice(1, -1)) stopping.record(trial);
  assertEquals(stopping.skipReason(last), undefined);
  stopping.record({ ...trials[0]!, outcome: "no_answer", solved: false });
  const needless = stopping.skipReason(last);
  const rest = [...trials.slice(1)];
  const first = finish(plan.trials[0]!, { outcome: "no_answer" });
  const { evidence } =
    decideTrials([first, ...rest], plan.trials, plan.gate!, { rule: plan.rule })[0]!.verdict;
  assertEquals(needless, {
    kind: "needless",
    by: "gate",
    reason: `the gate of a had decided after ${evidence!.graphs} graphs`,
  });
});

Deno.test("Stopping looks at whole blocks alone: a cell is not decided before the others", () => {
  const plan = planSuite(suite({ gate: RATE, models: ["a"] }));
  const trials = all(plan, "solved");
  const { evidence } =
    decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule })[0]!.verdict;
  const stopping = new Stopping(plan);
  for (const trial of trials.slice(0, evidence!.graphs - 1)) stopping.record(trial);
  assertEquals(stopping.skipReason(plan.trials.at(-1)!), undefined);
  stopping.record(trials[evidence!.graphs - 1]!);
  assertEquals(stopping.skipReason(plan.trials.at(-1)!)?.by, "gate");
});

Deno.test("Stopping needs all repetitions of a graph", () => {
  const plan = planSuite(suite({ gate: RATE, models: ["a"], repetitions: 2 }));
  const { needless } = run(plan, all(plan, "solved"));
  const graphs = byGraph([...needless.keys()]);
  assertGreater(graphs.length, 0);
  assert(graphs.every(({ length }) => length === 2));
});

Deno.test("Stopping decides each model for itself", () => {
  const plan = planSuite(suite({ gate: RATE }));
  // One is good, one bad; one is so near the edge that its gate goes on.
  const trials = plan.trials.map((planned) =>
    finish(planned, {
      outcome: planned.model === "a" || (planned.model === "c" && planned.block % 4 > 0)
        ? "solved"
        : "no_answer",
    })
  );
  const { finished, needless } = run(plan, trials, { concurrency: 8 });
  const count = (model: string) =>
    finished.filter(({ model: { requested } }) => requested === model).length;
  assertLess(count("a"), count("c"));
  assertLess(count("b"), count("a"));
  for (const [{ model }, { reason }] of needless) {
    assert(reason.startsWith(`the gate of ${model} had decided`), reason);
  }
});

Deno.test("Stopping needs a baseline's trials until all who are compared with it are decided", () => {
  const plan = planSuite(suite({ gate: UPGRADE }));
  // One candidate fails at once, the other differs now and then.
  const trials = plan.trials.map(({ ...planned }) =>
    finish(planned, {
      outcome: planned.model === "b" || (planned.model === "c" && planned.block % 7 === 6)
        ? "no_answer"
        : "solved",
    })
  );
  const { finished, needless } = run(plan, trials);
  const [bad, good] = decideTrials(trials, plan.trials, plan.gate!, { rule: plan.rule });
  const graphsOf = (model: string) =>
    finished.filter((trial) => trial.model.requested === model).length;
  assertEquals([bad!.verdict.kind, good!.verdict.kind], ["fail", "pass"]);
  assertEquals(graphsOf("b"), bad!.verdict.evidence!.graphs);
  assertEquals(graphsOf("c"), good!.verdict.evidence!.graphs);
  assertLess(graphsOf("b"), graphsOf("c"));
  assertEquals(graphsOf("a"), graphsOf("c"));
  assertEquals(
    [...needless].filter(([{ model }]) => model === "a").map(([{ block }]) => block)[0],
    graphsOf("c") / 2,
  );
});

Deno.test("Stopping spares what a baseline from a file cannot be compared with", () => {
  const plan = planSuite(suite({ gate: FILE, models: ["b"] }));
  const old = planSuite(suite({ gate: UPGRADE }));
  const baseline = resultsOf(all(old, "solved"), "a", 3);
  const { finished, needless } = run(plan, all(plan, "solved"), { baseline });
  assertEquals(finished.length, 6);
  for (const one of needless.values()) {
    const reason = "the baseline ends after 6 graphs";
    assertEquals(one, { kind: "needless", by: "baseline", reason });
  }
  const [judged] = decideTrials(finished, plan.trials, plan.gate!, { rule: plan.rule, baseline });
  assert(judged!.verdict.kind === "undecided");
  assertEquals(judged!.verdict.stopped, "the baseline ends after 6 graphs");
});

Deno.test("Stopping spares nothing without a rule: a gate of fixed size needs all trials", () => {
  for (const gate of [undefined, { successRate: 0.9, margin: 0.3 }, { baseline: "a" }]) {
    const plan = planSuite(suite({ graphs: 60, ...(gate === undefined ? {} : { gate }) }));
    const { stopping, needless } = run(plan, all(plan, "no_answer"), { concurrency: 4 });
    assertEquals([needless.size, stopping.stopped], [0, undefined]);
  }
});

Deno.test("Stopping spares nothing that no gate decides on", () => {
  // Trials of a run that was made before, as resume records them, and one that is not planned.
  const plan = planSuite(suite({ gate: RATE, models: ["a"] }));
  const { stopping } = run(plan, all(plan, "solved"));
  const [stranger] = planSuite(suite({ models: ["x"] })).trials;
  assertEquals(stopping.skipReason(stranger!), undefined);
});

Deno.test("Stopping withholds trials once a budget of tokens is reached, and tells which", () => {
  const plan = planSuite(suite({ graphs: 5, models: ["a"], budget: { tokens: 36 } }));
  const { stopping, finished, needless } = run(plan, all(plan, "solved"));
  // Each takes 12 tokens.
  assertEquals([finished.length, needless.size], [3, 7]);
  const reason = "the budget of 36 tokens was reached";
  for (const one of needless.values()) {
    assertEquals(one, { kind: "needless", by: "budget", reason });
  }
  assertEquals(stopping.stopped, reason);
});

Deno.test("Stopping withholds trials once a budget of dollars is reached, invalid ones counted", () => {
  const prices = { a: { input: 1_000, output: 10_000 } };
  const plan = planSuite(suite({ graphs: 5, models: ["a"], budget: { usd: 0.1 }, prices }));
  // Each takes 3 cents.
  for (const outcome of ["solved", "invalid"] as const) {
    const { stopping, finished } = run(plan, all(plan, outcome));
    assertEquals(finished.length, 4);
    assertEquals(stopping.stopped, "the budget of $0.1 was reached");
  }
});

Deno.test("Stopping does not blame a budget that withheld nothing", () => {
  const whole = planSuite(suite({ graphs: 5, models: ["a"], budget: { tokens: 120 } }));
  const ended = run(whole, all(whole, "solved"));
  assertEquals([ended.finished.length, ended.stopping.stopped], [10, undefined]);
  // A gate that has decided needs no more, whatever the budget.
  const plan = planSuite(suite({ gate: RATE, models: ["a"] }));
  const { finished } = run(plan, all(plan, "solved"));
  const budget = { tokens: 12 * finished.length };
  const both = run({ ...plan, budget }, all(plan, "solved"));
  assertEquals([both.finished.length, both.stopping.stopped], [finished.length, undefined]);
  assertEquals(new Set([...both.needless.values()].map(({ by }) => by)), new Set(["gate"]));
  const less = run({ ...plan, budget: { tokens: budget.tokens - 12 } }, all(plan, "solved"));
  assertEquals(less.stopping.stopped, `the budget of ${budget.tokens - 12} tokens was reached`);
});

Deno.test("Stopping.record() counts a trial once, however often it is told of it", () => {
  const plan = planSuite(suite({ gate: RATE, models: ["a"] }));
  const stopping = new Stopping(plan);
  // One cell alone, named twice, is no whole block.
  const half = all(plan, "no_answer").filter((_, place) => place % 2 === 0);
  for (const trial of [...half, ...half]) stopping.record(trial);
  assertEquals(stopping.skipReason(plan.trials.at(-1)!), undefined);
});

Deno.test("Stopping.charge() counts what other runs have cost, and nothing else of their trials", () => {
  const plan = planSuite(suite({ gate: RATE, models: ["a"], budget: { tokens: 24 } }));
  const stopping = new Stopping(plan);
  const [first, second] = all(plan, "invalid");
  stopping.charge(first!);
  assertEquals(stopping.spent, undefined);
  stopping.record(second!);
  const reached = "the budget of 24 tokens was reached";
  assertEquals([stopping.spent, stopping.stopped], [reached, undefined]);
  // The first one is still to be run, and so is withheld.
  assertEquals(stopping.skipReason(plan.trials[0]!)?.by, "budget");
  assertEquals(stopping.stopped, reached);
});
