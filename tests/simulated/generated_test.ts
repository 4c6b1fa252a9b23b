// Simulated models on real generated tasks, over HTTP and through the client that real ones use.

import { assert, assertEquals, assertGreater } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import type { FailureType } from "../../lib/calls/failure_types.ts";
import { runTrial, type Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { BIG_SPECS, specs } from "../support/generated.ts";

function assertPerfect({ outcome, grounded, calls, minimumCalls, failures }: Trial): void {
  assertEquals({ outcome, grounded, calls, failures }, {
    outcome: "solved",
    grounded: true,
    calls: minimumCalls!,
    failures: [],
  });
}

Deno.test("sim:planner solves every generated task with the fewest calls and no failure", async () => {
  await using connections = new Connections();
  const model = connections.model({ model: "sim:planner" });
  await fc.assert(
    fc.asyncProperty(specs(40), async (spec) => assertPerfect(await runTrial(spec, model))),
    { numRuns: 100 },
  );
});

Deno.test("sim:planner solves the largest tasks", async () => {
  await using connections = new Connections();
  const model = connections.model({ model: "sim:planner" });
  for (const spec of BIG_SPECS) assertPerfect(await runTrial(spec, model));
});

/** Trials of tasks of 6 core functions at depth 3, with distractors. */
async function trialsOf(name: string, count: number): Promise<Trial[]> {
  await using connections = new Connections();
  const model = connections.model({ model: name });
  const trials: Trial[] = [];
  for (let seed = 0; seed < count; seed++) {
    const spec = { core: 6, depth: 3, connected: 3, disconnected: 1, seed };
    trials.push(await runTrial(spec, model));
  }
  return trials;
}

const TYPES: Readonly<Record<string, FailureType>> = {
  hallucinate: "function_not_found",
  arity: "wrong_number_of_inputs",
  early: "value_not_yet_known",
  stale: "incorrect_value",
};

for (const [mistake, type] of Object.entries(TYPES)) {
  Deno.test(`sim:noisy?${mistake}= comes out as ${type}, at its rate`, async () => {
    const [rate, count] = [0.1, 150];
    const trials = await trialsOf(`sim:noisy?${mistake}=${rate}&seed=5`, count);
    const roots = trials.flatMap(({ failures }) => failures.filter(({ root }) => root));
    assert(roots.length > 0);
    assertEquals(new Set(roots.map((failure) => failure.type)), new Set([type]));
    // An opportunity is an intended right call; for early, one whose function has consumers, so the
    // target's call is none. A mistake that is retried makes an opportunity more.
    const perTrial = mistake === "early" ? 5 : 6;
    const mistaken = roots.length;
    const opportunities = count * perTrial +
      (mistake === "hallucinate" || mistake === "arity" ? mistaken : 0);
    const error = Math.sqrt(rate * (1 - rate) / opportunities);
    const seen = mistaken / opportunities;
    assert(Math.abs(seen - rate) < 4 * error + 0.02, `${mistaken} of ${opportunities}: ${seen}`);
  });
}

Deno.test("sim:noisy?distract= shows as calls and never as failures", async () => {
  const trials = await trialsOf("sim:noisy?distract=0.3&seed=5", 60);
  for (const { solved, failures } of trials) assertEquals([solved, failures], [true, []]);
  const extra = trials.reduce((sum, { calls, minimumCalls }) => sum + calls - minimumCalls!, 0);
  assertGreater(extra, 10);
});

Deno.test("sim:noisy?quit= shows as no answer", async () => {
  const trials = await trialsOf("sim:noisy?quit=0.1&seed=5", 60);
  const outcomes = new Set(trials.map(({ outcome }) => outcome));
  assertEquals(outcomes, new Set(["solved", "no_answer"] as const));
});
