/**
 * Trial views: trials as the page of a report shows them, as plain data with printable texts and every
 * judgement in words, so that the page has nothing to decide.
 * @module
 */

import { signsOf } from "../../gate/ceilings.ts";
import { isUnwatched, marked } from "../../gate/variant.ts";
import { cellName, isWholeQuestion } from "../cells.ts";
import { printable, printableLines } from "../../base/json.ts";
import { describeOutcome, firstFailure } from "../story.ts";
import { describeFailure } from "../../calls/failure_types.ts";
import { parsesOf } from "../../calls/work.ts";
import { type Recovery, recoveryOf } from "../../calls/recovery.ts";
import { CHAIN, PARSES } from "../../calls/trace.ts";
import { isTextFormat } from "../../models/formats/registry.ts";
import { isCase, isGenerated, isProbe, isQuestion } from "../../tasks/task_kind.ts";
import { isUneventful } from "../../trials/transcript.ts";
import type { Trial } from "../../trials/trial.ts";
import { countText, isDuration } from "../../base/numbers.ts";
import { timeText } from "../columns.ts";
import { wrongAnswerText } from "../_question_story.ts";
import { inTalkOrder, isAnswerText, tokensText, userText } from "../_transcript_text.ts";
import { trialWords } from "../_words.ts";
import { type EventView, viewEvent, viewOpening, viewState } from "./_event_view.ts";
import { changedText, type KnownTask, rightAnswer, shownKey } from "./_task_view.ts";
import type { Tree } from "./_tree.ts";

/** A trial as the page shows it. */
export interface TrialView {
  /** How it ended, in one line. */
  readonly summary: string;
  /** The mistake to look at: what is wrong with an answer to a question, else the first root failure; omitted without any. */
  readonly mistake?: string;
  /** Other properties of the trial that are not the usual ones: names and values, the important ones first. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The command that runs it again in a POSIX shell or in fish; omitted where there is none. */
  readonly rerun?: string;
  /** Says how prompt and tools, which are folded, differ from those that the model got; omitted for cases. */
  readonly offer?: string;
  /** What stands beside the events before what its task has to show, or instead of it. */
  readonly side: Tree;
  /** The events, in order. */
  readonly events: readonly EventView[];
}

/** Returns the view of a trial; `known` is its task, where that can be generated again. */
export function viewTrial(
  trial: Trial,
  rerun: string | undefined,
  known: KnownTask | undefined,
): TrialView {
  const task = known?.kind === "generated" ? known.task : undefined;
  const { model, strategy, perturbation, repetition, usage, durationMs, startedAt, outcome, user } =
    trial;
  const { outcomes, hidden } = trialWords(trial);
  const events = inTalkOrder(trial.events);
  const root = firstFailure(trial.failures);
  const replayed = trial.replayed
    ? "from a recording: no model was asked"
    : trial.partlyReplayed
    ? "from a recording in part: a model was asked for the rest"
    : undefined;
  // What is usual is not said.
  const facts: [string, string | undefined | false][] = [
    ["right answer", known && rightAnswer(known)],
    ["model", marked(model.requested, model.simulated)],
    [
      "task",
      cellName(trial) + (isWholeQuestion(trial.task) ? `, question ${trial.task.question}` : ""),
    ],
    ["behaviours", signsOf(trial).filter((sign) => !hidden.includes(sign)).join(", ")],
    ...recoveryOf(trial.events).map((one): [string, string] => ["fault", recoveryText(one)]),
    ["perturbation", perturbation !== "none" && perturbationText(trial, known)],
    ["user", user && userText(user)],
    ["user tokens", user && user.usage.inputTokens > 0 && tokensText(user)],
    ["strategy", strategy !== "plain" && strategy],
    ["variant", trial.variant],
    ["format", model.api !== "chat" && model.api],
    ["replies with calls", parsesText(trial)],
    ["agent", isUnwatched(trial) && NOT_WATCHED],
    ["served as", model.served !== model.requested && model.served],
    ["replayed", replayed],
    ["seed", "seed" in trial.task && JSON.stringify(trial.task.seed)],
    ["repetition", repetition > 1 && String(repetition)],
    [
      "tokens",
      usage.inputTokens + usage.outputTokens > 0 &&
      `${usage.inputTokens} read, ${usage.outputTokens} written${
        usage.estimated ? " (estimated, at least in part: a server reported none)" : ""
      }`,
    ],
    ["time", isDuration(durationMs) && durationMs > 0 && timeText(durationMs)],
    ["began", startedAt],
  ];
  const isShown = isCase(trial.task) && trial.transcript !== undefined;
  const chain = trial.events.find((event) => event.kind === "stage" && event.stage === CHAIN);
  const steps = chain?.kind === "stage" ? chain.message.replaceAll(" -> ", "\n-> ") : "";
  return {
    summary: (outcomes[outcome] ?? outcome) + describeOutcome(trial).slice(outcome.length),
    mistake: wrongAnswerText(trial) ||
      root && printable(`first root failure: ${describeFailure(root)}`, 2000),
    // A copy of a command that needs escapes to be shown would run something else.
    rerun: rerun !== undefined && printable(rerun, 5000) === rerun ? rerun : undefined,
    offer: isShown ? undefined : offerText(trial, known),
    facts: facts.flatMap(([name, value]) => value ? [[name, printable(value, 1000)]] : []),
    side: [
      steps !== "" && [["h3", "The chain"], ["pre", printableLines(steps, 5000)]],
      isShown
        ? [["h3", "What the model was shown"], ["p.faint", shownText(trial)]]
        : known === undefined && shownKey(trial) === undefined && ["p.faint", aloneText(trial)],
    ],
    events: [
      ...viewOpening(trial),
      ...events.flatMap((event, place) =>
        viewEvent(event, {
          isAnswer: isAnswerText(events, place),
          task,
          isRead: isGenerated(trial.task) || isProbe(trial.task),
        })
      ),
      ...viewState(trial),
    ],
  };
}

const NOT_WATCHED = "not watched: neither unknown names nor unreadable arguments are known";

/** Returns how replies could be parsed, as far as that is known, unless all were as they should be. */
function parsesText({ events }: Trial): string | undefined {
  const parses = parsesOf(events);
  if (!parses?.repaired && !parses?.unreadable) return undefined;
  return PARSES.flatMap((parse) => parses[parse] ? [`${parses[parse]} ${parse}`] : []).join(", ");
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

/** Describes how prompt and tools of a transcript, which has what was made of them, differ from those the model got. */
function shownText({ model: { api = "chat" } }: Trial): string {
  return isTextFormat(api)
    ? `as it was before the format ${api} wrote the tools into the text`
    : "as the model got it with its first request";
}

/** Describes how prompt and tools, which are generated again, differ from those the model got. */
function offerText(
  { model: { api = "chat" }, strategy, perturbation }: Trial,
  known: KnownTask | undefined,
): string {
  const isShown = perturbation === "none" ||
    known?.kind === "generated" && known.perturbed !== undefined;
  const changes = [
    ...(isTextFormat(api) ? [`the format ${api}`] : []),
    ...(strategy === "plain" ? [] : [`the strategy ${strategy}`]),
    ...(isShown ? [] : [`the perturbation ${perturbation}`]),
  ];
  if (changes.length === 0) return "prompt and tools, as the model got them";
  const words = `${changes.join(" and ")} ${changes.length === 1 ? "changes" : "change"}`;
  const which = perturbation === "none" || !isShown ? "of the task" : "of the perturbed task";
  return printable(`prompt and tools ${which}; ${words} what the model sees`, 1000);
}

/** Says why a page has neither a graph of a trial nor what its model was shown. */
function aloneText(trial: Trial): string {
  if (isQuestion(trial.task)) return "The trial ended before an answer was scored.";
  if (!isCase(trial.task)) {
    return "There is no graph to show: the task was not generated, or not by this version.";
  }
  return isUneventful(trial)
    ? "The trial ended before its model replied."
    : "No transcript of this trial was kept: neither system text, prompt and tools nor the changes of the state " +
      "can be shown.";
}
