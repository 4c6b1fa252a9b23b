/**
 * Tasks as the page of a report shows them: made anew from what a journal keeps of them.
 * @module
 */

import { toDot } from "../figures/graph_drawing.ts";
import type { GraphSpec } from "../../tasks/generated/graph.ts";
import { isFault } from "../../tools/fault.ts";
import { InputError } from "../../base/errors.ts";
import { type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { type Change, isOn } from "../../perturbations/methods.ts";
import { type PerturbedTask, perturbTask } from "../../perturbations/perturbed_task.ts";
import { ProbeExecutor } from "../../trials/executors/probes.ts";
import { isProbe, type ProbeSpec } from "../../trials/executors/task_kind.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../../tasks/generated/task.ts";
import { toOpenAITool } from "../../tools/tool.ts";
import type { Trial } from "../../trials/trial.ts";
import { perturbationWords, PROBE_WORDS } from "../glossary.ts";

/** The task of a trial, where it can be made anew. */
export type KnownTask =
  | {
    readonly kind: "generated";
    /** What calls and answers are judged by. */
    readonly task: Task;
    /** What the model got of it; left out where nothing was perturbed, or in an unknown way. */
    readonly perturbed?: PerturbedTask;
  }
  | { readonly kind: "probe"; readonly spec: ProbeSpec; readonly probe: ProbeExecutor };

/** What trials of one task under one perturbation share. */
export interface TaskView {
  /** The graph in Graphviz's language; left out of probes, which have none. */
  readonly dot?: string;
  /** What is probed; left out of other tasks. */
  readonly probed?: string;
  readonly prompt: string;
  readonly tools: readonly JsonObject[];
  /** What each perturbation did; left out where nothing was perturbed. */
  readonly changes?: readonly ChangeView[];
}

/** What one perturbation did to a task. */
export interface ChangeView {
  /** The perturbation, and whether it found anything to change. */
  readonly title: string;
  /** What it changed. */
  readonly lines: readonly string[];
}

/** The task of a trial, where it can be made anew: other tools have tasks of their own. */
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

/** Other tools may have perturbations of their own: the task can be shown all the same. */
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

/** The view of a task: of a perturbed one, what the model got. */
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

/** So many changes of one perturbation are told. */
const MOST_CHANGES = 100;

function viewSteps({ steps, tools }: PerturbedTask): ChangeView[] {
  return steps.map(({ id, changed, changes }) => {
    // Checks come first: whatever changes a document leaves each function its place.
    const names = isOn(id, "document") ? tools.map(({ name }) => name) : [];
    const more = changes.length - MOST_CHANGES;
    return {
      title: `${id}, a perturbation ${perturbationWords(id)}: ${changedText(changed)}`,
      lines: [
        ...changes.slice(0, MOST_CHANGES)
          .map((change) => printable(functionOf(change, names) + describeChange(change), 2000)),
        ...(more > 0 ? [`and ${more} more`] : []),
      ],
    };
  });
}

/** The function that a change is made to, to stand before it: its path has but a number. */
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
  const became = (before: string, after: string) => `${before} \u2192 ${after}`;
  const shown = (value: JsonValue | undefined) =>
    value === undefined ? "nothing" : JSON.stringify(value);
  const where = "path" in change ? `${change.path || "all of it"}: ` : "";
  switch (change.kind) {
    case "value":
    case "text":
      return where + became(shown(change.before), shown(change.after));
    case "key":
      return `${where}the key ${became(shown(change.before), shown(change.after))}`;
    case "order":
      return `${where}the order ${became(change.before.join(", "), change.after.join(", "))}`;
  }
}

/** The right answer, in words. */
export function rightAnswer(known: KnownTask): string {
  if (known.kind === "probe") return known.probe.rightAnswer;
  if (known.perturbed?.unsolvable) {
    return known.perturbed.steps.some(({ id }) => isFault(id))
      ? "none: a function that it needs is denied"
      : "none: what it needs was taken from the question";
  }
  const { variable, value } = known.task.target;
  return `${variable} = ${value}`;
}
