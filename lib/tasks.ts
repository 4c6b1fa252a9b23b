/**
 * The kinds of tasks that trials may be on: generated ones, and probes.
 * @module
 */

import { createExecutor, type ExecutorOptions } from "./executor.ts";
import type { Fixture } from "./fixture.ts";
import type { GraphSpec } from "./graph.ts";
import { InputError } from "./input.ts";
import { printable } from "./json.ts";
import { briefProbe, isProbe, ProbeFixture, type ProbeSpec } from "./probes.ts";
import { briefSpec, generateTask } from "./task.ts";

/** What a task is made from. */
export type TaskSpec = GraphSpec | ProbeSpec;

/**
 * A task, ready for one trial. How many calls may be made, each kind of task has its own default for.
 *
 * @throws {RangeError} If a value of `spec` is out of its range.
 * @throws {InputError} If there is no such perturbation, or it is one of a probe.
 */
export function openTask(spec: TaskSpec, options: ExecutorOptions = {}): Fixture {
  if (!isProbe(spec)) return createExecutor(generateTask(spec), options);
  const { perturbation = "none", ...others } = options;
  assertUnperturbed("run the trial", [spec], [perturbation]);
  return new ProbeFixture(spec, others);
}

/** Whether a perturbation finds something to change in a task. */
export function changesTask(spec: TaskSpec, perturbation: string): boolean {
  if (perturbation === "none") return true;
  using fixture = openTask(spec, { perturbation });
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
  const probe = tasks.find((task) => "case" in task);
  const perturbation = perturbations.find((id) => id !== "none");
  if (probe === undefined || perturbation === undefined) return;
  throw new InputError(
    `Cannot ${action} as probes are never perturbed: there is ${JSON.stringify(probe)}, and the ` +
      `perturbation ${printable(perturbation, 100)}`,
  );
}

/** The spec without what is default anyway: what a journal keeps of a task. */
export function briefTask<T extends TaskSpec>(spec: T): TaskSpec {
  return isProbe(spec) ? briefProbe(spec) : briefSpec(spec);
}
