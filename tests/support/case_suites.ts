/**
 * Plans of suites of own tests, of which only the names of cases matter, and their trials.
 */

import type { GatePolicy } from "../../lib/gate/policy.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { isCase } from "../../lib/tasks/task_kind.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { finish, type TrialTraits } from "./records.ts";

/** The plan of a suite of this many cases, or of cases of these names, with the models `old` and `new`. */
export function casePlan(
  gate: GatePolicy,
  cases: number | readonly string[],
  trials?: number,
  more: Record<string, unknown> = {},
): Plan {
  const names = typeof cases === "number"
    ? Array.from({ length: cases }, (_, place) => `case ${place + 1}`)
    : cases;
  return planSuite(
    {
      ...{ name: "support", seed: 1, tasks: [], models: ["old", "new"], gate },
      ...(trials === undefined ? {} : { graphs: trials }),
      ...more,
    },
    { tasks: { cells: () => names.map((name) => ({ case: name })), open: openTask, cases: {} } },
  );
}

/** What a trial of a case is like, by its model, and its number from 1. */
export type CaseTraits = (name: string, trial: number, model: string) => TrialTraits;

/** The trials of a plan, solved by default. */
export function caseTrials({ suite, trials }: Plan, traits: CaseTraits = () => ({})): Trial[] {
  return trials.map((planned) => {
    const { task, repetition, model } = planned;
    const own = isCase(task) ? traits(task.case, repetition, model) : {};
    return finish(planned, { suite, ...own });
  });
}

export const WRONG: TrialTraits = { outcome: "wrong_answer" };

/** A trial with a call that must not happen in any. */
export const FORBIDDEN: TrialTraits = {
  ...WRONG,
  events: [{ kind: "assertion", message: "refund was called", never: true }],
};
