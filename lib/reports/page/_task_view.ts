/**
 * Task views: what models were given, as the page of a report shows it: tasks, which are generated again from their
 * specification, and what journals kept of cases.
 * @module
 */

import { toDot } from "../figures/graph_drawing.ts";
import type { GraphSpec } from "../../tasks/graphs/graph.ts";
import { InputError } from "../../base/errors.ts";
import {
  canonicalJson,
  jsonText,
  type JsonValue,
  printable,
  printableLines,
} from "../../base/json.ts";
import { type Change, isOn } from "../../perturbations/methods.ts";
import { type PerturbedTask, perturbTask } from "../../perturbations/perturbed_task.ts";
import { ProbeExecutor } from "../../trials/executors/probes.ts";
import { isCase, isProbe, type ProbeSpec } from "../../tasks/task_kind.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../../tasks/graphs/task.ts";
import { toOpenAITool } from "../../tools/tool.ts";
import type { Trial } from "../../trials/trial.ts";
import { perturbationWords, PROBE_WORDS } from "../_glossary.ts";
import { rightCalls } from "../_question_story.ts";
import { OBSTACLE_WORDS } from "../story.ts";
import { folded, type Tree } from "./_tree.ts";

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

/** What trials share: their task under one perturbation, what the model of a case was shown, or a question. */
export interface TaskView {
  /** The graph in Graphviz's language; omitted where there is none. */
  readonly dot?: string;
  /** What stands beside the events where there is no graph. */
  readonly side?: Tree;
  /** Changes, prompt and tools, which are folded; omitted where they stand beside the events. */
  readonly offer?: Tree;
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
  const offered: Tree = [
    ["pre", prompt],
    ["pre", { json: tools.map(toOpenAITool) }],
  ];
  if (known.kind === "generated") {
    const { task, perturbed } = known;
    return { dot: toDot(task), offer: [perturbed !== undefined && changesOf(perturbed), offered] };
  }
  const { spec: { case: probe } } = known;
  return {
    side: [
      ["h3", "What is probed"],
      ["p", `${probe}: ${PROBE_WORDS[probe]}.`],
      ["h3", "The question"],
      ["pre", prompt],
      ["p.faint", "A probe has no graph."],
    ],
    offer: offered,
  };
}

/**
 * Returns the view of what the model of a case was shown, and what the journal lacks of it, or of the question that
 * was scored; `undefined` for trials that have neither.
 */
export function viewShown({ task, transcript, events }: Trial): TaskView | undefined {
  const scored = events.find((event) => event.kind === "scored");
  if (scored !== undefined) {
    const calls = rightCalls(scored, task).join("\n") || "none";
    return {
      side: [
        ...[["h3", "The question"], ["pre", printableLines(scored.question)]],
        ...[["h3", "The right calls"], ["pre", printableLines(calls)]],
      ],
    };
  }
  if (!isCase(task) || transcript === undefined) return undefined;
  const { system, history, prompt, tools } = transcript;
  const lacking = [
    ...(history !== undefined && history.value === undefined ? ["what was said before"] : []),
    ...(system !== undefined && system.value === undefined ? ["the system text"] : []),
    ...(prompt.value === undefined ? ["the prompt"] : []),
    ...(tools.value === undefined ? ["the tools"] : []),
  ];
  const offered = tools.value ?? [];
  return {
    side: [
      lacking.length > 0 &&
      ["p.why", `The journal lacks ${lacking.join(" and ")}: a line of it was lost.`],
      ...Object.entries({ system, prompt }).map(([name, text]): Tree =>
        text?.value !== undefined && [["h4", name], ["pre", printableLines(text.value)]]
      ),
      ["h4", offered.length === 0 ? "no tools" : `tools: ${offered.length}`],
      ...offered.map(({ name, description, parameters, strict }): Tree => [
        "div.tool",
        ["strong", printable(name, 200) + (strict ? " (strict)" : "")],
        ["div.value", printableLines(description)],
        // A schema that was too long was not kept.
        parameters !== undefined && folded("parameters", [
          "pre",
          printableLines(jsonText(parameters, 2), 60_000),
        ]),
      ]),
    ],
  };
}

/** The names of what trials of a case or a question share, which tell views apart. */
export function shownKey({ task, transcript, events }: Trial): string | undefined {
  const scored = events.find((event) => event.kind === "scored");
  if (scored !== undefined) return canonicalJson([task, scored.question, scored.truth]);
  if (!isCase(task) || transcript === undefined) return undefined;
  const { system, history, prompt, tools } = transcript;
  const parts = [system, history, prompt, tools].map((part) =>
    part === undefined ? "" : `${part.id}${part.value === undefined ? "?" : ""}`
  );
  return JSON.stringify(parts);
}

/** At most this many changes of one perturbation are shown. */
const MAX_CHANGES = 100;

/** Returns each perturbation, whether it found anything to change, and its changes. */
function changesOf({ steps, tools }: PerturbedTask): Tree {
  return steps.map(({ id, changed, changes }) => {
    // Checks come first, and methods on documents keep the order of functions.
    const names = isOn(id, "document") ? tools.map(({ name }) => name) : [];
    const more = changes.length - MAX_CHANGES;
    const lines = [
      ...changes.slice(0, MAX_CHANGES)
        .map((change) => printable(functionOf(change, names) + describeChange(change), 2000)),
      ...(more > 0 ? [`and ${more} more`] : []),
    ];
    return [
      ["p.change", `${id}, a perturbation ${perturbationWords(id)}: ${changedText(changed)}`],
      ["ul", ...lines.map((line) => ["li.value", line])],
    ];
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
