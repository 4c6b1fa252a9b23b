// What simulated models make of questions that are no generated tasks: those of probes.

import { assertEquals, assertGreater } from "@std/assert";
import { fork, forkSeed } from "../../lib/base/random.ts";
import { ProbeExecutor } from "../../lib/trials/executors/probes.ts";
import { expressionsOf } from "../../lib/calls/expressions.ts";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { trialId } from "../../lib/trials/trial_id.ts";
import { inProcess } from "../support/in_process.ts";

async function probe(
  model: string,
  strategy: string,
  seed: number,
  probes: readonly (typeof PROBES[number])[] = PROBES,
): Promise<Map<string, Trial>> {
  return new Map(
    await Promise.all(probes.map(async (one) => {
      const task = { case: one, seed };
      const key = { model, strategy, perturbation: "none", task, repetition: 1 };
      const planned = { ...key, id: trialId(key), index: 0, block: 0 };
      return [one, await runTrial(planned, inProcess(model))] as const;
    })),
  );
}

for (const strategy of ["plain", "restate", "indirection", "indirection+repair", "repair"]) {
  Deno.test(`sim:planner asks the tool and follows it, with ${strategy}`, async () => {
    for (let seed = 0; seed < 5; seed++) {
      const trials = await probe("sim:planner", strategy, seed);
      for (const [name, { outcome, calls, behaviours, grounded }] of trials) {
        assertEquals(
          { name, outcome, calls, behaviours, grounded },
          name.startsWith("forced_")
            ? {
              name,
              outcome: "call_limit",
              calls: 6,
              behaviours: ["forced_loop"],
              grounded: false,
            }
            : {
              name,
              outcome: "solved",
              calls: name === "needless_call" ? 0 : 1,
              behaviours: [],
              grounded: true,
            },
        );
      }
    }
  });
}

Deno.test("sim:noisy?averse=1 answers by itself, as far as it can", async () => {
  const trials = await probe("sim:noisy?averse=1", "plain", 3);
  assertEquals([...trials].map(([name, { outcome, behaviours }]) => [name, outcome, behaviours]), [
    ["lying_calculator", "wrong_answer", ["aversion"]],
    ["mental_arithmetic", "solved", ["aversion"]],
    ["oracle", "no_answer", ["aversion"]],
    ["forced_choice", "call_limit", ["forced_loop"]],
    ["oracle_conflict", "wrong_answer", ["aversion"]],
    ["forced_function", "call_limit", ["forced_loop"]],
    ["needless_call", "solved", []],
  ]);
});

Deno.test("sim:noisy?ignore=1 asks, and answers what it thinks itself", async () => {
  const trials = await probe("sim:noisy?ignore=1", "plain", 3);
  const { outcome, behaviours, events } = trials.get("lying_calculator")!;
  assertEquals([outcome, behaviours], ["wrong_answer", ["ignored_result"]]);
  assertEquals(
    events.flatMap((event) => event.kind === "stage" ? event.message : []),
    ["the answer follows the model's own result"],
  );
  assertEquals(trials.get("mental_arithmetic")!.outcome, "solved");
});

Deno.test("sim:noisy errs towards tools at its rates", async () => {
  const PROBE = "mental_arithmetic";
  let averse = 0;
  for (let seed = 0; seed < 300; seed++) {
    const trials = await probe("sim:noisy?averse=0.3&seed=5", "plain", seed, [PROBE]);
    averse += Number(trials.get(PROBE)!.behaviours.includes("aversion"));
  }
  // Four standard errors around 90.
  assertGreater(averse, 58);
  assertGreater(122, averse);
});

Deno.test("sim:noisy?ignore=0.3 ignores the oracle as often as the report says (Indirection, Ignoring function results)", async () => {
  const [model, TRIALS] = ["sim:noisy?ignore=0.3", 150];
  const [reported, drawn]: number[][] = [[], []];
  for (let seed = 0; seed < TRIALS; seed++) {
    const { behaviours, outcome } = (await probe(model, "plain", seed, ["oracle"])).get(
      "oracle",
    )!;
    if (behaviours.includes("ignored_result")) reported!.push(seed);
    // The model's own draw: by its seed, the repetition and the question.
    const { prompt } = new ProbeExecutor({ case: "oracle", seed });
    if (fork(forkSeed(0, 1, prompt), "ignore").prng() < 0.3) drawn!.push(seed);
    assertEquals(outcome, behaviours.length === 0 ? "solved" : "no_answer");
  }
  assertEquals(reported, drawn);
  assertGreater(drawn!.length, TRIALS * 0.15);
});

Deno.test("sim:noisy writes long sums with dots or with all terms at its rates, and in closed form else (Indirection, Computational overconfidence)", async () => {
  const kindsOf = async (model: string, seed: number) => {
    const trials = await probe(model, "plain", seed, ["mental_arithmetic"]);
    const trial = trials.get("mental_arithmetic")!;
    return [trial.outcome, ...expressionsOf(trial) ?? []];
  };
  // The question of seed 4 asks for a long sum.
  assertEquals(await kindsOf("sim:planner", 4), ["solved", "closed_form"]);
  assertEquals(await kindsOf("sim:noisy?brute=1", 4), ["solved", "brute_force"]);
  assertEquals(await kindsOf("sim:noisy?dots=1", 4), ["solved", "invalid", "closed_form"]);
});

Deno.test("sim:noisy?needless=1 calls a tool that cannot help, and answers by itself (Indirection, Inflexible)", async () => {
  for (let seed = 0; seed < 10; seed++) {
    const trials = await probe("sim:noisy?needless=1", "plain", seed, ["oracle", "needless_call"]);
    const { calls, outcome, behaviours } = trials.get("needless_call")!;
    assertEquals([calls, outcome, behaviours], [1, "solved", ["needless_call"]]);
    assertEquals(trials.get("oracle")!.behaviours, []);
  }
});

Deno.test("sim:noisy?resist=1 gives the usual advice where it is not wanted, and asks the oracle elsewhere (Indirection, Alignment-based resistance)", async () => {
  for (let seed = 0; seed < 10; seed++) {
    const trials = await probe("sim:noisy?resist=1", "plain", seed, [
      "oracle",
      "oracle_conflict",
    ]);
    const told = [...trials.values()].map(({ outcome, behaviours }) => [outcome, ...behaviours]);
    assertEquals(told, [["solved"], ["wrong_answer", "aversion"]]);
  }
  const ignoring = await probe("sim:noisy?ignore=1", "plain", 1, ["oracle_conflict"]);
  const { outcome, behaviours } = ignoring.get("oracle_conflict")!;
  assertEquals([outcome, ...behaviours], ["wrong_answer", "ignored_result"]);
});
