// What strategies do for models that err in one way: simulated ones, so that the size of each effect is
// known. It shows that the mechanisms work, and says nothing about any language model.
// Runs without counters of lines.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import type { FailureType } from "../../../lib/calls/failure_types.ts";
import type { GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import { clopperPearson, mcNemar } from "../../../lib/statistics/proportions.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { inProcess } from "../../support/in_process.ts";
import { eventsOf, planned } from "../../support/strategy_runs.ts";

/** One trial on each of many graphs, the same ones for anyone who works on them. */
async function trialsOf(
  strategy: string,
  model: string,
  options: TrialOptions & { readonly graphs?: number } = {},
): Promise<Trial[]> {
  const { graphs = 40, ...rest } = options;
  const trials: Trial[] = [];
  for (let seed = 1; seed <= graphs; seed++) {
    const task: GraphSpec = { core: 7, depth: 4, connected: 3, disconnected: 3, seed };
    trials.push(await runTrial(planned(strategy, model, task), inProcess(model), rest));
  }
  assert(trials.every(({ outcome }) => outcome !== "invalid"));
  return trials;
}

function solvedOf(trials: readonly Trial[]): number {
  return trials.filter(({ solved }) => solved).length;
}

function failuresIn(trials: readonly Trial[], type?: FailureType): number {
  return trials.flatMap(({ failures }) => failures)
    .filter((failure) => type === undefined || failure.type === type).length;
}

/** Asserts that `better` solves more of the same tasks than `worse`, and not by chance. */
function assertLifted(better: readonly Trial[], worse: readonly Trial[]): void {
  const gained = better.filter(({ solved }, place) => solved && !worse[place]!.solved).length;
  const lost = worse.filter(({ solved }, place) => solved && !better[place]!.solved).length;
  const { exact } = mcNemar(gained, lost);
  assertGreater(gained, lost);
  assertLess(exact, 0.01, `${gained} gained, ${lost} lost`);
}

Deno.test("restate helps a model that forgets (FuncBenchGen 4.6.1)", async () => {
  const model = "sim:noisy?memory=3&seed=1";
  const usual = await trialsOf("plain", model);
  const restated = await trialsOf("restate", model);
  assertLifted(restated, usual);
});

Deno.test("indirection leaves nothing to copy wrongly (Indirection, Concluding Thoughts)", async () => {
  const model = "sim:noisy?copy=.1&seed=1";
  const usual = await trialsOf("plain", model);
  const named = await trialsOf("indirection", model);
  assertGreater(failuresIn(usual, "incorrect_value"), 40);
  assertEquals(failuresIn(named), 0);
  assertEquals(solvedOf(named), named.length);
  assertLifted(named, usual);
});

Deno.test("repair mends each call with the chance of its attempts", async () => {
  const rate = 0.3;
  const counts: Record<number, [mended: number, asked: number]> = {};
  for (const attempts of [1, 2, 3]) {
    const trials = await trialsOf("repair", `sim:noisy?arity=${rate}&seed=9`, {
      strategy: { strategy: "repair", attempts },
    });
    const repairs = trials.flatMap((trial) => eventsOf(trial, "repair"));
    const mended = repairs.filter(({ repaired }) => repaired !== undefined).length;
    counts[attempts] = [mended, repairs.length];
    const { lower, upper } = clopperPearson(mended, repairs.length, 0.9999);
    const expected = 1 - rate ** attempts;
    assert(lower <= expected && expected <= upper, JSON.stringify(counts));
    assertEquals(failuresIn(trials), repairs.length - mended, "what is not mended is refused");
  }
});

Deno.test("route_then_fill keeps distractors from a model that is drawn to them", async () => {
  const wander = "sim:noisy?distract=.5&seed=5";
  const needless = (trials: readonly Trial[]) =>
    trials.flatMap(({ events }) => callsOf(events)).filter(({ role }) => role !== "core").length;
  const usual = needless(await trialsOf("plain", wander));
  const routed = needless(await trialsOf("route_then_fill", wander));
  assertGreater(usual, 40);
  assertLess(routed, 0.7 * usual);
});
