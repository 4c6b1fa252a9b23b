/**
 * Tasks as the page of a report shows them: made anew from what a journal keeps of them.
 * @module
 */

import { toDot } from "../drawing.ts";
import type { GraphSpec } from "../graph.ts";
import type { JsonObject } from "../json.ts";
import { isProbe, ProbeFixture, type ProbeSpec } from "../probes.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../task.ts";
import { toOpenAITool } from "../tool.ts";
import type { Trial } from "../trial.ts";
import { PROBE_WORDS } from "./words.ts";

/** The task of a trial, where it can be made anew. */
export type KnownTask =
  | { readonly kind: "generated"; readonly task: Task }
  | { readonly kind: "probe"; readonly spec: ProbeSpec; readonly probe: ProbeFixture };

/** What trials of one task share. */
export interface TaskView {
  /** The graph in Graphviz's language; left out of probes, which have none. */
  readonly dot?: string;
  /** What is probed; left out of other tasks. */
  readonly probed?: string;
  readonly prompt: string;
  readonly tools: readonly JsonObject[];
}

/** The task of a trial, where it can be made anew: other tools have tasks of their own. */
export function taskOf({ task }: Pick<Trial, "task">, generator: number): KnownTask | undefined {
  if (generator !== GENERATOR_VERSION) return undefined;
  try {
    if (!isProbe(task)) return { kind: "generated", task: generateTask(task as GraphSpec) };
    const probe = new ProbeFixture(task);
    probe[Symbol.dispose]();
    return { kind: "probe", spec: task, probe };
  } catch {
    return undefined;
  }
}

/** The view of a task. */
export function viewTask(known: KnownTask): TaskView {
  const { prompt, tools } = known.kind === "probe" ? known.probe : known.task;
  return {
    ...(known.kind === "probe"
      ? { probed: `${known.spec.case}: ${PROBE_WORDS[known.spec.case]}.` }
      : { dot: toDot(known.task) }),
    prompt,
    tools: tools.map((tool) => JSON.parse(JSON.stringify(toOpenAITool(tool)))),
  };
}

/** The right answer, in words. */
export function rightAnswer(known: KnownTask): string {
  if (known.kind === "probe") return known.probe.rightAnswer;
  const { variable, value } = known.task.target;
  return `${variable} = ${value}`;
}
