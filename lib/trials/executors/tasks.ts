/**
 * Tasks: opens, shortens and checks the specs of all kinds of tasks.
 * @module
 */

import { createExecutor, type GeneratedTaskExecutorOptions } from "./generated.ts";
import type { Fixture } from "./fixture.ts";
import { cannot } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import type { Obstacle } from "../../perturbations/methods.ts";
import { ProbeExecutor } from "./probes.ts";
import { isGenerated, isProbe, isQuestion, type TaskSpec } from "../../tasks/task_kind.ts";
import { generateTask } from "../../tasks/graphs/task.ts";
import type { RecordedRun } from "../recorded_run.ts";
import type { PlannedTrial } from "../trial_id.ts";

/** Options of a {@linkcode TaskOpener}. */
export interface TaskOptions extends GeneratedTaskExecutorOptions {
  /** The name of the settings of the trial, which an opener of cases gives them; others have none. */
  readonly variant?: string;
  /** What was said before in place of what a model says now, for an opener of cases; others have none. */
  readonly recorded?: RecordedRun;
}

/** How long what a trial needs may take to be made, and each part of it to go again. */
export interface SetUpOptions {
  /** Seconds, if less than 60. */
  readonly seconds?: number;
  /** Ends the set-up with its reason. */
  readonly signal?: AbortSignal;
}

/** Opens a task to look at it, and for a trial unless there is {@linkcode TaskOpener.begin}. */
export interface TaskOpener {
  /** Opens a task. */
  (spec: TaskSpec, options?: TaskOptions): Fixture;
  /**
   * Opens a task for a trial that is run, once all that the user's functions make for it is made. If that cannot be
   * made, the fixture says why. Omitted if nothing has to be made.
   */
  readonly begin?: (
    spec: TaskSpec,
    options: TaskOptions,
    setUp: SetUpOptions,
  ) => Promise<Fixture>;
  /**
   * Carries out what trials need once a run, before the first of them. What fails fails its own trials as well; returns
   * the first error. Omitted if there is nothing.
   */
  readonly prepare?: (
    trials: readonly Pick<PlannedTrial, "task" | "variant">[],
  ) => Promise<unknown>;
}

/**
 * Opens a task for one trial. Each kind of task has its own default call limit.
 *
 * @throws {RangeError} If a value of `spec` is out of its range.
 * @throws {InputError} If the perturbation is unknown or of a probe, or the task is a case or of a call set.
 */
export function openTask(
  spec: TaskSpec,
  { variant: _, recorded: __, ...options }: TaskOptions = {},
): Fixture {
  if (isGenerated(spec)) return createExecutor(generateTask(spec), options);
  if (!isProbe(spec)) {
    const [kind, name] = isQuestion(spec) ? ["set", spec.set] : ["case", spec.case];
    throw cannot(`open a task of the ${kind} ${printable(name, 100)}`, "it is not available");
  }
  const { perturbation = "none", ...others } = options;
  assertUnperturbed("run the trial", [spec], [perturbation]);
  return new ProbeExecutor(spec, others);
}

/** Whether a perturbation finds something to change in a task. */
export function changesTask(
  spec: TaskSpec,
  perturbation: string,
  open: TaskOpener = openTask,
  variant?: string,
): boolean {
  if (perturbation === "none") return true;
  using fixture = open(spec, { perturbation, variant });
  return fixture.changed;
}

/** Why a perturbation leaves a task no answer that a model can find; `undefined` if it leaves one. */
export function obstacleOf(
  spec: TaskSpec,
  perturbation: string,
  open: TaskOpener = openTask,
): Obstacle | undefined {
  using fixture = open(spec, { perturbation });
  return fixture.unsolvable;
}

/**
 * Refuses perturbations of probes: their questions depend on single words, their tools have one parameter.
 *
 * @throws {InputError} If there are both a probe and a perturbation.
 */
export function assertUnperturbed(
  action: string,
  tasks: readonly object[],
  perturbations: readonly string[],
): void {
  const probe = tasks.find((task) => "case" in task && isProbe({ seed: 0, ...task }));
  const perturbation = perturbations.find((id) => id !== "none");
  if (probe === undefined || perturbation === undefined) return;
  throw cannot(
    action,
    "probes are never perturbed",
    `there is ${JSON.stringify(probe)}, and the perturbation ${printable(perturbation, 100)}`,
  );
}
