/**
 * Trial views: trials as the page of a report shows them, as plain data with printable texts and every
 * judgement in words, so that the page has nothing to decide.
 * @module
 */

import { signsOf } from "../../gate/ceilings.ts";
import { cellName } from "../metrics/metrics.ts";
import { callMarks } from "../figures/graph_drawing.ts";
import { defined, printable } from "../../base/json.ts";
import { describeFailure, describeOutcome, firstFailure } from "../story.ts";
import { parsesOf } from "../../calls/parse_counts.ts";
import { type Recovery, recoveryOf } from "../../calls/recovery.ts";
import { PARSES } from "../../calls/trace.ts";
import { isTextFormat } from "../../models/formats/registry.ts";
import { isCase, isGenerated, isProbe } from "../../trials/executors/task_kind.ts";
import { isUneventful } from "../../trials/transcript.ts";
import type { Trial } from "../../trials/trial.ts";
import { countText } from "../../base/numbers.ts";
import { estimateNote } from "../tables/table.ts";
import { isAnswerText } from "../_transcript_text.ts";
import { type EventView, viewEvent, viewState } from "./_event_view.ts";
import { changedText, type KnownTask, rightAnswer } from "./_task_view.ts";

/** A trial as the page shows it. */
export interface TrialView {
  /** How it ended, in one line. */
  readonly summary: string;
  /** The first root failure, which is the mistake to look at; omitted without failures. */
  readonly mistake?: string;
  /** Other properties of the trial: names and values. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The command that runs it again in a POSIX shell or in fish; omitted where there is none. */
  readonly rerun?: string;
  /** Says how the prompt and tools shown differ from those that the model got. */
  readonly offer: string;
  /** The events, in order. */
  readonly events: readonly EventView[];
  /** Why there is nothing beside the events; omitted where there is. */
  readonly alone?: string;
  /** Statements of Graphviz that mark the calls in the graph. */
  readonly dotMarks: string;
}

/** Returns the view of a trial; `known` is its task, where that can be generated again. */
export function viewTrial(
  trial: Trial,
  rerun: string | undefined,
  known: KnownTask | undefined,
): TrialView {
  const task = known?.kind === "generated" ? known.task : undefined;
  const { model, strategy, repetition, usage, durationMs, startedAt } = trial;
  const calls = trial.events.filter((event) => event.kind === "call");
  const root = firstFailure(trial.failures);
  const replayed = trial.replayed
    ? "from a recording: no model was asked"
    : trial.partlyReplayed
    ? "from a recording in part: a model was asked for the rest"
    : undefined;
  const facts: [string, string][] = [
    ...(known === undefined ? [] : [["right answer", rightAnswer(known)] as [string, string]]),
    ["behaviours", signsOf(trial).join(", ") || "none"],
    ["model", model.requested + (model.simulated ? " (simulated)" : "")],
    ["served as", model.served || "-"],
    ...(replayed === undefined ? [] : [["replayed", replayed] as [string, string]]),
    ["strategy", strategy],
    ["perturbation", perturbationText(trial, known)],
    ...(trial.variant === undefined ? [] : [["variant", trial.variant] as [string, string]]),
    ...recoveryOf(trial.events).map((recovery) =>
      ["fault", recoveryText(recovery)] as [string, string]
    ),
    ["task", cellName(trial)],
    ["seed", "seed" in trial.task ? JSON.stringify(trial.task.seed) : "-"],
    ["repetition", String(repetition)],
    ...formatFacts(trial),
    ["tokens", `${usage.inputTokens} read, ${usage.outputTokens} written${estimateNote(usage)}`],
    ["time", `${durationMs} ms`],
    ["began", startedAt || "-"],
  ];
  return {
    summary: describeOutcome(trial),
    ...(root === undefined
      ? {}
      : { mistake: printable(`first root failure: ${describeFailure(root)}`, 2000) }),
    facts: facts.map(([name, value]) => [name, printable(value, 1000)]),
    ...(rerun === undefined ? {} : printableRerun(rerun)),
    offer: offerText(trial, known),
    events: [
      ...trial.events.flatMap((event, place) =>
        viewEvent(event, {
          isAnswer: isAnswerText(trial.events, place),
          task,
          isRead: isGenerated(trial.task) || isProbe(trial.task),
        })
      ),
      ...viewState(trial),
    ],
    ...defined({ alone: aloneText(trial, known) }),
    dotMarks: task === undefined ? "" : callMarks(task, calls),
  };
}

/** Returns the format, and how replies could be parsed, as far as these are known. */
function formatFacts({ model, events }: Trial): [string, string][] {
  const parses = parsesOf(events);
  const counts = PARSES.flatMap((parse) => {
    const count = parses?.[parse] ?? 0;
    return count === 0 ? [] : [`${count} ${parse}`];
  });
  return [
    ...(model.api === undefined ? [] : [["format", model.api] as [string, string]]),
    ...(counts.length === 0 ? [] : [["replies with calls", counts.join(", ")] as [string, string]]),
  ];
}

/** Omits a command that would need escapes to be shown, as a copy of it would run something else. */
function printableRerun(rerun: string): { rerun?: string } {
  return printable(rerun, 5000) === rerun ? { rerun } : {};
}

/** Returns the perturbations, each with whether it found anything to change, as far as that is known. */
function perturbationText(
  { perturbation, changed }: Trial,
  known: KnownTask | undefined,
): string {
  const steps = known?.kind === "generated" ? known.perturbed?.steps : undefined;
  if (steps !== undefined) {
    return steps.map((step) => `${step.id} (${changedText(step.changed)})`).join(", ");
  }
  return changed === false ? `${perturbation} (${changedText(changed)})` : perturbation;
}

/** Describes how a fault ended. */
function recoveryText({ fault, function: name, end, attempts }: Recovery): string {
  const calls = attempts === 0 ? "" : ` after ${countText(attempts, "further call")}`;
  return `${fault} of ${name}, ${end.replaceAll("_", " ")}${calls}`;
}

/** Describes how the prompt and tools shown, which are generated again, differ from those the model got. */
function offerText(
  { model, strategy, perturbation, task, transcript }: Trial,
  known: KnownTask | undefined,
): string {
  if (isCase(task) && transcript !== undefined) {
    // Transcripts have what strategies and perturbations made of it.
    return isTextFormat(model.api ?? "chat")
      ? `as it was before the format ${model.api} wrote the tools into the text`
      : "as the model got it with its first request";
  }
  const isShown = perturbation === "none" ||
    known?.kind === "generated" && known.perturbed !== undefined;
  const changes = [
    ...(isTextFormat(model.api ?? "chat") ? [`the format ${model.api}`] : []),
    ...(strategy === "baseline" ? [] : [`the strategy ${strategy}`]),
    ...(isShown ? [] : [`the perturbation ${perturbation}`]),
  ];
  if (changes.length === 0) return "prompt and tools, as the model got them";
  const words = `${changes.join(" and ")} ${changes.length === 1 ? "changes" : "change"}`;
  const which = perturbation === "none" || !isShown ? "of the task" : "of the perturbed task";
  return printable(`prompt and tools ${which}; ${words} what the model sees`, 1000);
}

/** Says why a page has neither a graph of a trial nor what its model was shown. */
function aloneText(
  trial: Trial,
  known: KnownTask | undefined,
): string | undefined {
  const { task, transcript } = trial;
  if (known !== undefined || transcript !== undefined && isCase(task)) return undefined;
  if (isCase(task) && isUneventful(trial)) return "The trial ended before its model replied.";
  return isCase(task)
    ? "No transcript of this trial was kept: neither system text, prompt and tools nor the changes of the state " +
      "can be shown."
    : "There is no graph to show: the task was not generated, or not by this version.";
}
