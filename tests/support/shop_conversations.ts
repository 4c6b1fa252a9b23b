/**
 * The conversations of fixtures/conversations/, run in this process: clerks and customers are programs.
 */

import { clerk } from "../../fixtures/conversations/clerks.ts";
import { mixed } from "../../fixtures/conversations/customers.ts";
import { openShop, POLICY, shopTools } from "../../fixtures/conversations/shop.ts";
import { TASKS } from "../../fixtures/conversations/tasks.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { completePolicy } from "../../lib/gate/policy.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { TaskOpener } from "../../lib/trials/executors/tasks.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { UserFunction } from "../../mod.ts";
import { casePlan } from "./case_suites.ts";

/** Opens the tasks of the shop with a customer. */
export function openTasks(customer: UserFunction): TaskOpener {
  const cases = new Map(TASKS.map(({ id, scenario, facts, calls, communicate }) => [id, {
    ...{ name: id, system: POLICY, state: openShop, tools: shopTools, communicate },
    user: { model: customer, scenario, facts, limits: { turns: 12 } },
    reference: { calls },
  }]));
  return caseOpener((name) => cases.get(name)!);
}

/** The usual gate, and one that decides however many trials are invalid. */
const GATES = [{}, { coverage: 0 }].map((own) =>
  completePolicy({ successRate: 0.9, margin: 0.1, ...own })
);

/**
 * The verdicts on two clerks whose customers are bad in 3 of 10 trials: a careful one, and one who slips in 4 of 10. Each
 * run draws customers and slips by its seed, and is decided by both gates.
 */
export async function verdictsOf(seeds: readonly number[], trials: number) {
  const open = openTasks(mixed(0.3));
  const verdicts = { careful: [[], []] as string[][], careless: [[], []] as string[][] };
  const names = TASKS.map(({ id }) => id);
  for (const seed of seeds) {
    for (const [name, kinds] of Object.entries(verdicts)) {
      const model = clerk(name);
      const plan = casePlan(GATES[0]!, names, trials, { seed, models: [name] });
      const done = await Array.fromAsync(plan.trials, (one) => runTrial(one, model, { open }));
      for (const [place, gate] of GATES.entries()) {
        const [decided] = decideTrials(done.map((one) => summarize(one)), plan.trials, gate);
        kinds[place]!.push(decided!.verdict.kind);
      }
    }
  }
  return verdicts;
}
