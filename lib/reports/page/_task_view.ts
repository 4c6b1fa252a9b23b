/**
 * Task views: tasks as the page of a report shows them, generated again from their specification.
 * @module
 */

import { toDot } from "../figures/graph_drawing.ts";
import type { GraphSpec } from "../../tasks/generated/graph.ts";
import { InputError } from "../../base/errors.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { type Change, isOn } from "../../perturbations/methods.ts";
import { type PerturbedTask, perturbTask } from "../../perturbations/perturbed_task.ts";
import { ProbeExecutor } from "../../trials/executors/probes.ts";
import { isProbe, type ProbeSpec } from "../../trials/executors/task_kind.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../../tasks/generated/task.ts";
import { toOpenAITool } from "../../tools/tool.ts";
import type { Trial } from "../../trials/trial.ts";
import { perturbationWords, PROBE_WORDS } from "../_glossary.ts";
import { OBSTACLE_WORDS } from "../story.ts";

/** The task of a trial, where it can be generated again. */
export type KnownTask =
  | {
    readonly kind: "generated";
    /** The task by which calls and answers are scored. */
    readonly task: Task;
    /** The task that the model got; omitted without a perturbation, or where it is unknown. */
    readonly perturbed?: PerturbedTask;
  }
  | { readonly kind: "probe"; readonly spec: ProbeSpec; readonly probe: ProbeExecutor };

/** The view of a task, which its trials under one perturbation share. */
export interface TaskView {
  /** The graph in Graphviz's language; omitted for probes, which have none. */
  readonly dot?: string;
  /** The purpose of a probe; omitted for other tasks. */
  readonly probed?: string;
  readonly prompt: string;
  readonly tools: readonly JsonObject[];
  /** The changes of each perturbation; omitted without perturbations. */
  readonly changes?: readonly ChangeView[];
}

/** The changes of one perturbation to a task. */
export interface ChangeView {
  /** The perturbation, and whether it found anything to change. */
  readonly title: string;
  /** Its changes. */
  readonly lines: readonly string[];
}

/** Returns the task of a trial; `undefined` where it cannot be generated again, as with tasks of other tools. */
export function taskOf(
  { task, perturbation = "none" }: Pick<Trial, "task"> & Partial<Pick<Trial, "perturbation">>,
  generator: number,
): KnownTask | undefined {
  if (generator !== GENERATOR_VERSION) return undefined;
  try {
    if (!isProbe(task)) return perturbedTask(generateTask(task as GraphSpec), perturbation);
    const probe = new ProbeExecutor(task);
    probe[Symbol.dispose]();
    return { kind: "probe", spec: task, probe };
  } catch {
    return undefined;
  }
}

/** Perturbs a task; a perturbation of another tool is unknown, and the task is shown without it. */
function perturbedTask(task: Task, perturbation: string): KnownTask {
  if (perturbation === "none") return { kind: "generated", task };
  try {
    const perturbed = perturbTask(task, perturbation);
    return { kind: "generated", task: perturbed.task, perturbed };
  } catch (error) {
    if (error instanceof InputError) return { kind: "generated", task };
    throw error;
  }
}

/** Returns the view of a task, perturbed as the model got it. */
export function viewTask(known: KnownTask): TaskView {
  const { prompt, tools } = known.kind === "probe" ? known.probe : known.perturbed ?? known.task;
  return {
    ...(known.kind === "probe"
      ? { probed: `${known.spec.case}: ${PROBE_WORDS[known.spec.case]}.` }
      : { dot: toDot(known.task) }),
    prompt,
    tools: tools.map((tool) => JSON.parse(JSON.stringify(toOpenAITool(tool)))),
    ...(known.kind === "probe" || known.perturbed === undefined
      ? {}
      : { changes: viewSteps(known.perturbed) }),
  };
}

/** At most this many changes of one perturbation are shown. */
const MAX_CHANGES = 100;

function viewSteps({ steps, tools }: PerturbedTask): ChangeView[] {
  return steps.map(({ id, changed, changes }) => {
    // Checks come first, and methods on documents keep the order of functions.
    const names = isOn(id, "document") ? tools.map(({ name }) => name) : [];
    const more = changes.length - MAX_CHANGES;
    return {
      title: `${id}, a perturbation ${perturbationWords(id)}: ${changedText(changed)}`,
      lines: [
        ...changes.slice(0, MAX_CHANGES)
          .map((change) => printable(functionOf(change, names) + describeChange(change), 2000)),
        ...(more > 0 ? [`and ${more} more`] : []),
      ],
    };
  });
}

/** Returns the name of the function that a change is made to, as a prefix: its path has only an index. */
function functionOf(change: Change, names: readonly string[]): string {
  const [, place] = "path" in change ? /^\/(\d+)(?:\/|$)/.exec(change.path) ?? [] : [];
  const name = names[Number(place)];
  return name === undefined ? "" : `${name}, `;
}

/** Whether a perturbation found anything to change, in words. */
export function changedText(changed: boolean): string {
  return changed ? "changed" : "found nothing to change";
}

function describeChange(change: Change): string {
  const changeText = (before: string, after: string) => `${before} \u2192 ${after}`;
  const valueText = (value: JsonValue | undefined) =>
    value === undefined ? "nothing" : JSON.stringify(value);
  const where = "path" in change ? `${change.path || "all of it"}: ` : "";
  switch (change.kind) {
    case "value":
    case "text":
      return where + changeText(valueText(change.before), valueText(change.after));
    case "key":
      return `${where}the key ${changeText(valueText(change.before), valueText(change.after))}`;
    case "order":
      return `${where}the order ${changeText(change.before.join(", "), change.after.join(", "))}`;
  }
}

/** Returns the right answer, in words. */
export function rightAnswer(known: KnownTask): string {
  if (known.kind === "probe") return known.probe.rightAnswer;
  const { variable, value } = known.task.target;
  const { obstacle } = known.perturbed ?? {};
  if (obstacle === "misleading") return `${variable} = ${value}, but ${OBSTACLE_WORDS[obstacle]}`;
  return obstacle === undefined ? `${variable} = ${value}` : `none: ${OBSTACLE_WORDS[obstacle]}`;
}
