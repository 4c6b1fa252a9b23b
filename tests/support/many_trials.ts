/**
 * Journals of very many trials: a few real ones, whose events all others borrow.
 */

import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { generatedFrom } from "./generated.ts";
import { inProcess } from "./in_process.ts";
import { finish } from "./records.ts";

const MODELS = ["sim:noisy?early=0.05&stale=0.05&distract=0.1&seed=1", "sim:planner"];

function manyPlan(graphs: number, strategies?: readonly string[]): Plan {
  return planSuite({
    name: "many",
    seed: 1,
    graphs,
    tasks: [{ core: [5, 10], depth: 4, connected: [0, 5] }],
    models: MODELS,
    ...(strategies === undefined ? { gate: { successRate: 0.2, margin: 0.1 } } : { strategies }),
  }, { source: "many" });
}

/** A plan as that of {@linkcode manyTrials}, with a gate, and trials that are all run, one after the other. */
export function realTrials(graphs: number): { plan: Plan; trials: AsyncIterable<Trial> } {
  const plan = manyPlan(graphs);
  const models = new Map(MODELS.map((name) => [name, inProcess(name)]));
  async function* run() {
    for (const planned of plan.trials) {
      yield await runTrial(planned, models.get(planned.model)!, { suite: "many" });
    }
  }
  return { plan, trials: run() };
}

/** So many trials of each cell are real. */
const REAL = 12;

/**
 * A plan of four cells and two models with `graphs` graphs a cell, and trials for all of it. Most have
 * the events of another trial of their model, strategy and cell: enough for anyone who looks at amounts.
 */
export async function manyTrials(
  graphs: number,
  strategies: readonly string[] = ["plain"],
): Promise<{ plan: Plan; trials: Trial[] }> {
  const plan = manyPlan(graphs, strategies);
  const real = new Map<string, Trial[]>();
  const trials: Trial[] = [];
  for (const planned of plan.trials) {
    const { task, model, strategy, index } = planned;
    const { core, connected } = generatedFrom(task);
    const key = JSON.stringify([core, connected, model, strategy]);
    const own = real.get(key) ?? [];
    real.set(key, own);
    if (own.length < REAL) {
      own.push(await runTrial(planned, inProcess(model), { suite: "many" }));
      trials.push(own.at(-1)!);
      continue;
    }
    const { outcome, calls, failures, behaviours, usage, events, durationMs } = own[index % REAL]!;
    trials.push(finish(planned, {
      ...{ outcome, calls, failures, behaviours, usage, events, durationMs },
      ...{ suite: "many", simulated: true, minimumCalls: core },
    }));
  }
  return { plan, trials };
}
