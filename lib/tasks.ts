/**
 * The kinds of tasks that trials may be on: generated ones, and probes.
 * @module
 */

import { createExecutor } from "./executor.ts";
import type { Fixture } from "./fixture.ts";
import type { GraphSpec } from "./graph.ts";
import { briefProbe, isProbe, ProbeFixture, type ProbeSpec } from "./probes.ts";
import { briefSpec, generateTask } from "./task.ts";

/** What a task is made from. */
export type TaskSpec = GraphSpec | ProbeSpec;

/**
 * A task, ready for one trial.
 *
 * @param callLimit How many calls may be made; each kind of task has its own default.
 * @throws {RangeError} If a value of `spec` is out of its range.
 */
export function openTask(spec: TaskSpec, callLimit?: number): Fixture {
  const options = callLimit === undefined ? {} : { callLimit };
  return isProbe(spec)
    ? new ProbeFixture(spec, options)
    : createExecutor(generateTask(spec), options);
}

/** The spec without what is default anyway: what a journal keeps of a task. */
export function briefTask<T extends TaskSpec>(spec: T): TaskSpec {
  return isProbe(spec) ? briefProbe(spec) : briefSpec(spec);
}
