/**
 * Runs again: the one trial that `--only` selects, and the command that selects it.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { cannot } from "../base/errors.ts";
import { listText, printable } from "../base/json.ts";
import { isCase, type TaskSpec } from "../tasks/task_kind.ts";
import { isPlain, keptArguments } from "./_flags.ts";
import { modelName } from "../models/entry.ts";
import type { Model } from "../models/model.ts";
import type { Plan } from "../runs/plan.ts";
import { allChoices } from "../runs/resolved_suite.ts";
import { stageEntries, strategyName } from "../trials/strategies/entry.ts";
import { parseTrialId, type PlannedTrial } from "../trials/trial_id.ts";
import { pathForUser } from "../base/command_line.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { shownFile } from "../base/user_code.ts";
import type { Trial } from "../trials/trial.ts";
import process from "node:process";
import { isGranted } from "#runtime";
import { perFile, runner } from "./_runners.ts";

/** The trial of `--only`: from the plan or, after a fresh seed, from the id alone. */
export function onlyTrials(plan: Plan, id: string): readonly PlannedTrial[] {
  const planned = plan.trials.filter((trial) => trial.id === id);
  if (planned.length > 0) return planned;
  const key = parseTrialId(id);
  if (key === undefined) {
    throw cannot(`run --only=${id}`, "that is no trial id");
  }
  // The file may have several benchmarks; the id belongs to those that match all but its task.
  const isKnown = plan.trials.some((trial) =>
    trial.model === key.model && trial.strategy === key.strategy &&
    trial.perturbation === key.perturbation && trial.variant === key.variant &&
    isOfKind(key.task, trial.task)
  );
  return isKnown ? [{ ...key, id, index: 0, block: 0 }] : [];
}

/** Whether a benchmark with one task could have the other: of cases only those of the same name. */
function isOfKind(one: TaskSpec, other: TaskSpec): boolean {
  if (isCase(one)) return isCase(other) && one.case === other.case;
  return !isCase(other);
}

/** Whether a benchmark of this file has the trial of `--only`, and whether a test checks that. */
const reruns = perFile(() => ({ found: false, watched: false, models: new Set<string>() }));

/** Returns a test that fails unless some benchmark of the file has the trial; `undefined` where none is needed. */
export function rerunTest(found: boolean, id: string, plan: Plan): (() => void) | undefined {
  const rerun = reruns();
  rerun.found ||= found;
  const key = parseTrialId(id)!;
  for (const { task, model } of found ? [] : plan.trials) {
    if (isOfKind(key.task, task) && model !== key.model) rerun.models.add(model);
  }
  if (found || rerun.watched) return undefined;
  rerun.watched = true;
  return () => {
    if (rerun.found) return;
    // A line of a report does not have the variables by which a file chooses its model.
    const models = [...rerun.models].map((name) => printable(name, 100));
    throw new AssertionError(
      `Cannot run --only=${id} as nothing in this file has its task, model, strategy and perturbation` +
        (models.length === 0
          ? ""
          : `; it has such a task for ${listText(models, 3)}, not for ${
            printable(key.model, 100)
          }`),
    );
  };
}

/**
 * The command that runs a trial of the test file again: with the environment variables and the arguments by
 * which the file may have chosen its model.
 *
 * @param own The user's own models, by name.
 */
export function rerunLine(
  { id, model, strategy }: Pick<Trial, "id" | "model" | "strategy">,
  plan: Pick<Plan, "resolved" | "baseURL">,
  own: ReadonlyMap<string, Model>,
): string {
  const texts = modelTexts(model.requested, strategy, plan, own);
  const variables = variablesOf(texts);
  return [
    ...variables.map(([name, value]) => `${name}=${shellQuote(value)}`),
    runner().command(
      pathForUser(shownFile(runner().file().url)),
      [`--only=${id}`, ...keptArguments(runner().flags(), texts)],
    ),
  ].join(" ");
}

/** The names and servers of the models that a trial asks: its own, those of its strategy, and the judge. */
function modelTexts(
  name: string,
  strategy: string,
  { resolved, baseURL }: Pick<Plan, "resolved" | "baseURL">,
  ownModels: ReadonlyMap<string, Model>,
): Set<string> {
  const { models, strategies } = allChoices(resolved);
  const own = strategies.find((entry) => strategyName(entry) === strategy);
  const entries = [
    ...models.filter((entry) => modelName(entry) === name),
    ...(own === undefined ? [] : stageEntries(own).values()),
    ...(resolved.judge === undefined ? [] : [resolved.judge]),
  ];
  const texts = entries.flatMap((entry) => {
    const { model, name, baseURL: server } = entry;
    const origin = ownModels.get(model)?.server;
    return [model, name, server ?? baseURL, origin?.model, origin?.baseURL];
  });
  return new Set(texts.filter((text): text is string => text !== undefined && text !== ""));
}

/** Usual names of variables that choose a model, read where not all may be. */
const USUAL_VARIABLES = [
  ...["MODEL", "MODEL_NAME", "LLM_MODEL", "OPENAI_MODEL", "TEST_MODEL", "TOOLGATE_MODEL"],
  ...["BASE_URL", "MODEL_URL", "MODEL_BASE_URL", "LLM_BASE_URL", "OPENAI_BASE_URL"],
  ...["OPENAI_API_BASE", "TOOLGATE_SERVER"],
];
/** More variables than this that have the same value by chance are not shown, but for the usual ones. */
const MAX_VARIABLES = 5;

/** The environment variables with one of these values, as far as they may be read without asking and be shown. */
function variablesOf(values: ReadonlySet<string>): [name: string, value: string][] {
  const mayRead = (variable?: string) => isGranted({ name: "env", variable });
  const all = mayRead()
    ? Object.entries(process.env)
    : USUAL_VARIABLES.filter(mayRead).map((name) => [name, process.env[name]] as const);
  const found = all.map(([name, value = ""]): [string, string] => [name, value]).filter((
    [name, value],
  ) => values.has(value) && /^[A-Za-z_]\w*$/.test(name) && isPlain(`${name}=${value}`)).sort();
  return found.length <= MAX_VARIABLES
    ? found
    : found.filter(([name]) => USUAL_VARIABLES.includes(name));
}
