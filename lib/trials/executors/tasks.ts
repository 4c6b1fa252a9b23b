/**
 * The kinds of tasks that trials may be on: generated ones, probes, cases of one's own and questions of call sets.
 * @module
 */

import { createExecutor, type GeneratedTaskExecutorOptions } from "./generated.ts";
import type { Fixture } from "./fixture.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { briefProbe, ProbeExecutor } from "./probes.ts";
import { isGenerated, isProbe, isQuestion, type TaskSpec } from "./task_kind.ts";
import { briefSpec, generateTask } from "../../tasks/generated/task.ts";
import { briefQuestion } from "./question.ts";

/** Opens a task for one trial. */
export type TaskOpener = (spec: TaskSpec, options?: GeneratedTaskExecutorOptions) => Fixture;

/**
 * A task, ready for one trial. How many calls may be made, each kind of task has its own default for.
 *
 * @throws {RangeError} If a value of `spec` is out of its range.
 * @throws {InputError} If there is no such perturbation, it is one of a probe, or the task is the user's own.
 */
export function openTask(spec: TaskSpec, options: GeneratedTaskExecutorOptions = {}): Fixture {
  if (isGenerated(spec)) return createExecutor(generateTask(spec), options);
  if (!isProbe(spec)) {
    const [what, name] = isQuestion(spec) ? ["set", spec.set] : ["case", spec.case];
    throw new InputError(
      `Cannot open a task of the ${what} ${printable(name, 100)} as it is not at hand`,
    );
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
): boolean {
  if (perturbation === "none") return true;
  using fixture = open(spec, { perturbation });
  return fixture.changed;
}

/**
 * Refuses perturbations of probes: their questions hang on single words, and their tools have one parameter.
 *
 * @throws {InputError} If there are both.
 */
export function assertUnperturbed(
  action: string,
  tasks: readonly object[],
  perturbations: readonly string[],
): void {
  const probe = tasks.find((task) => "case" in task && isProbe({ seed: 0, ...task }));
  const perturbation = perturbations.find((id) => id !== "none");
  if (probe === undefined || perturbation === undefined) return;
  throw new InputError(
    `Cannot ${action} as probes are never perturbed: there is ${JSON.stringify(probe)}, and the ` +
      `perturbation ${printable(perturbation, 100)}`,
  );
}

/** The spec without what is default anyway: what a journal keeps of a task. */
export function briefTask(spec: TaskSpec): TaskSpec {
  if (isGenerated(spec)) return briefSpec(spec);
  if (isQuestion(spec)) return briefQuestion(spec);
  return isProbe(spec) ? briefProbe(spec) : { case: spec.case, seed: spec.seed };
}
