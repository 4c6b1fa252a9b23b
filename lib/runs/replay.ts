/**
 * Replays: runs one trial of a plan by itself.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../base/input.ts";
import { cannot } from "../base/errors.ts";
import type { Plan } from "./plan.ts";
import { planOfLine, readPlanLine } from "./journal/journal.ts";
import { modelName } from "../models/entry.ts";
import { withCallSets } from "./question_tasks.ts";
import { STRATEGY, STRATEGY_ID, strategyName } from "../trials/strategies/entry.ts";
import { GENERATOR_VERSION } from "../tasks/generated/task.ts";
import { parseTrialId, type PlannedTrial, trialId } from "../trials/trial_id.ts";

/**
 * Returns the trial of `plan` with the given id. If the plan has other tasks, such as those of another seed,
 * the task is taken from the id, unless the replay is `strict`; model, strategy and perturbation must be the
 * plan's.
 *
 * @throws {InputError} If it is no trial id, or not one of this plan.
 */
export function trialToReplay(plan: Plan, id: string, { strict = false } = {}): PlannedTrial {
  const key = parseTrialId(id);
  if (key === undefined) {
    throw cannot(
      "replay a trial",
      "its id must be one that journals have, from core= to repetition=",
      `it is ${id}`,
    );
  }
  const { models, strategies, perturbations } = plan.resolved;
  const allowed = {
    model: models.map(modelName),
    strategy: strategies.map(strategyName),
    perturbation: perturbations,
  };
  for (const [field, names] of Object.entries(allowed) as [keyof typeof allowed, string[]][]) {
    if (names.includes(key[field])) continue;
    throw cannot(
      "replay a trial",
      `its ${field} must be one of ${plan.suite}`,
      `it is ${key[field]}, and there are ${names.join(", ")}`,
    );
  }
  const canonicalId = trialId(key);
  const planned = plan.trials.find((trial) => trial.id === canonicalId);
  if (planned === undefined && strict) {
    throw cannot("replay a trial", "it must be one of the journal's plan", `it is ${id}`);
  }
  return planned ?? { ...key, id: canonicalId, index: 0, block: 0 };
}

/** The schema of strategies that must be runnable, not only readable. */
const STRATEGIES = z.array(z.union([STRATEGY_ID, STRATEGY]));

/**
 * Reads the plan of a journal from its first line, with all that determines a trial, and loads its call sets.
 *
 * @throws {InputError} If the journal cannot be read, its plan is invalid or was changed, or a call set was
 * moved or changed.
 */
export function planOfJournal(path: string): Plan {
  const line = readPlanLine(path);
  if (line === undefined) {
    throw cannot(`replay a trial of ${path}`, "its first line must be a plan");
  }
  const { generator } = line.resolved;
  if (generator !== GENERATOR_VERSION) {
    throw cannot(
      `replay a trial of ${path}`,
      `its tasks must be of generator ${GENERATOR_VERSION}`,
      `they are of generator ${generator}`,
    );
  }
  if (line.ownCode) {
    throw cannot(
      `replay a trial of ${path}`,
      "only the file of its benchmark has its model or agent",
      "run  deno test FILE -- --only=ID",
    );
  }
  parseWith(STRATEGIES, line.resolved.strategies, `the strategies in the plan of ${path}`);
  const plan = planOfLine(line);
  if (plan !== undefined) return withCallSets(plan);
  throw cannot(
    `replay a trial of ${path}`,
    "its plan must agree with its own hash",
    "it was changed, or made by another version",
  );
}
