/**
 * Trial views: trials as the page of a report shows them, as plain data with printable texts and every
 * judgement in words, so that the page has nothing to decide.
 * @module
 */

import { signsOf } from "../../gate/ceilings.ts";
import { cellName } from "../metrics/metrics.ts";
import { callMarks } from "../figures/graph_drawing.ts";
import type { Failure } from "../../calls/failure.ts";
import type { FailureType } from "../../calls/failure_types.ts";
import { isLost } from "../../tools/fault.ts";
import { defined, isJsonObject, parseJson, printable, printableLines } from "../../base/json.ts";
import {
  describeArgument,
  describeCause,
  describeFailure,
  describeOutcome,
  firstFailure,
} from "../story.ts";
import { parsesOf } from "../../calls/parse_counts.ts";
import { type Recovery, recoveryOf } from "../../calls/recovery.ts";
import type { Task } from "../../tasks/generated/task.ts";
import {
  type AnswerEvent,
  type CallEvent,
  type JudgedEvent,
  PARSES,
  returnedBy,
  type ScoredEvent,
  type TraceEvent,
} from "../../calls/trace.ts";
import { isTextFormat } from "../../models/formats/registry.ts";
import { isCase, isGenerated, isProbe } from "../../trials/executors/task_kind.ts";
import type { StateChange } from "../../trials/state_difference.ts";
import { isUneventful } from "../../trials/transcript.ts";
import type { Trial } from "../../trials/trial.ts";
import { countText } from "../../base/numbers.ts";
import { estimateNote } from "../tables/table.ts";
import type { ShowText } from "../story_lines.ts";
import {
  changeCount,
  isAnswerText,
  judgedTitle,
  judgedTokens,
  stateLines,
} from "../transcript_text.ts";
import { jsonText, parameterLines } from "./_parameter_lines.ts";
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

/** One event as the page shows it. */
export type EventView =
  | {
    readonly kind: "said" | "stage" | "answer" | "stop" | "judged";
    readonly title: string;
    readonly text: string;
    /** Longer texts, each behind its name. */
    readonly more?: readonly (readonly [name: string, text: string])[];
  }
  | { readonly kind: "state"; readonly title: string; readonly changes: readonly ChangedState[] }
  | CallView;

/** A line about the state as the page shows it. */
export interface ChangedState {
  readonly sign: "added" | "removed" | "changed" | "";
  readonly text: string;
}

/** One call as the page shows it. */
export interface CallView {
  readonly kind: "call";
  readonly title: string;
  readonly function: string;
  /** The role of the function in the task; omitted where it has none. */
  readonly role?: string;
  /** The result of the call, which decides its colour. */
  readonly state: "right" | "wrong" | "irrelevant" | "guessed" | "faulted";
  /** The injected fault; omitted where there is none. */
  readonly fault?: string;
  /** The inputs, each with its error. */
  readonly inputs: readonly { name: string; value: string; wrong?: string }[];
  /** The arguments as the model wrote them; omitted where they are a plain object. */
  readonly written?: string;
  readonly returned: string;
  /** The result of the function itself; omitted unless a perturbation changed it. */
  readonly unperturbed?: string;
  /** The failure, whether it is a root, and its cause. */
  readonly failure?: { readonly type: string; readonly root: boolean; readonly cause: string };
  /** Its parameters compared with the right call or their schema; omitted where unknown, or all are right. */
  readonly parameters?: readonly string[];
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

/** Returns what changed in the state of a case, as the last thing that happened. */
function viewState({ transcript }: Trial): EventView[] {
  const state = transcript?.state;
  if (state === undefined) return [];
  const show: ShowText = (text) => printable(text, 1000);
  const signOf = ({ before, after }: StateChange) =>
    before === undefined ? "added" : after === undefined ? "removed" : "changed";
  return [{
    kind: "state",
    title: `the state after it: ${changeCount(state)}`,
    changes: stateLines(state, show).slice(state.changes.length === 0 ? 1 : 0).map((
      text,
      place,
    ) => ({
      sign: place < state.changes.length ? signOf(state.changes[place]!) : "",
      text,
    })),
  }];
}

/** Returns a question to a judge, and what it said. */
function viewJudged(event: JudgedEvent): EventView {
  const show: ShowText = (text, length = 1000) => printable(text, length);
  return {
    kind: "judged",
    title: `${judgedTitle(event, show)} (${judgedTokens(event)})`,
    text: printableLines(event.reason ?? ""),
    more: [
      ...(event.question === "" ? [] : [["question", printableLines(event.question)] as const]),
      ...(event.reply === "" ? [] : [["reply", printableLines(event.reply)] as const]),
    ],
  };
}

function viewEvent(event: TraceEvent, { isAnswer, task, isRead }: EventContext): EventView[] {
  switch (event.kind) {
    case "reply": {
      const repairs = event.repairs ?? [];
      const notes = [
        ...(event.failed ?? []).map(({ cause, message }) =>
          `(an attempt failed before, ${
            cause === "unclear" ? "of unclear cause" : "by infrastructure"
          }: ${message})`
        ),
        ...repairs.map((repair) => `(repaired: ${repair})`),
        ...(event.parsed === "unreadable" ? ["(a call in it could not be parsed)"] : []),
        ...(event.written === undefined ? [] : [`original text:\n${event.written}`]),
      ];
      const text = [event.text, ...notes].filter((part) => part !== "").join("\n");
      // The answer shows the text of a final reply.
      if (text === "" || (isAnswer && notes.length === 0)) return [];
      const stage = event.stage === undefined ? "" : `, ${printable(event.stage, 100)}`;
      const by = event.model === undefined ? "" : ` by ${printable(event.model, 200)}`;
      return [{
        kind: "said",
        title: `reply ${event.request}${stage}${by}`,
        text: printableLines(text),
      }];
    }
    case "call":
      return [viewCall(event, task)];
    case "over_limit":
      return [{
        kind: "stop",
        title: "over the limit",
        text: `${printable(event.function)} was called after all ${event.limit} calls were made`,
      }];
    case "repair": {
      const { function: name, arguments: argumentsText, error, attempts, repaired } = event;
      const lines = [
        `arguments: ${argumentsText}`,
        `error: ${error}`,
        repaired === undefined ? "not repaired" : `repaired: ${repaired}`,
      ];
      return [{
        kind: "stage",
        title: `repair of ${printable(name, 200)}, ${countText(attempts, "attempt")}`,
        text: printableLines(lines.join("\n")),
      }];
    }
    case "stage":
      return [{
        kind: "stage",
        title: `stage ${printable(event.stage, 100)}`,
        text: printableLines(event.message),
      }];
    case "turn":
      return [{ kind: "said", title: "next user message", text: printableLines(event.text) }];
    case "assertion":
      return [{
        kind: "stop",
        title: `an assertion failed${
          event.at === undefined ? "" : ` at ${printable(event.at, 300)}`
        }`,
        text: printableLines(event.message),
      }];
    case "judged":
      return [viewJudged(event)];
    case "scored":
      return [viewScored(event)];
    case "answer":
      return [{
        kind: "answer",
        title: answerTitle(event, isRead),
        text: printableLines(event.rendered ?? event.text),
      }];
    case "stop":
      return [{
        kind: "stop",
        title: `stopped: ${printable(event.reason)}`,
        text: printableLines(event.message),
      }];
  }
}

/** Returns the scores of the answer to a question, and the right calls. */
function viewScored(event: ScoredEvent): EventView {
  const { question, truth, scores, unrepaired, errors, judged } = event;
  const judgeLines = judged === undefined
    ? []
    : [`judge: ${judged.score ?? `no score (${judged.why ?? "unknown reason"})`}`];
  const lines = [
    `question: ${question}`,
    `truth: ${JSON.stringify(truth)}`,
    `scores: ${scoreWords(scores)}`,
    ...(unrepaired === undefined ? [] : [`before repair: ${scoreWords(unrepaired)}`]),
    ...(errors.length === 0 ? [] : [`errors: ${errors.join(", ")}`]),
    ...judgeLines,
  ];
  return { kind: "stage", title: "scored", text: printableLines(lines.join("\n")) };
}

function scoreWords(scores: ScoredEvent["scores"]): string {
  const results = Object.entries({
    "routing": scores.routingExact,
    "syntax": scores.syntaxValid,
    "structure": scores.structural,
    "exact": scores.exact,
  });
  return results.flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${value ? "right" : "wrong"}`]
  ).join(", ");
}

function answerTitle({ value }: AnswerEvent, isRead: boolean): string {
  if (value !== null) return `answer: ${value}`;
  return isRead ? "answer: none found" : "answer";
}

/** Properties of the trial that an event belongs to. */
interface EventContext {
  /** Whether the event is a reply whose text is the answer. */
  readonly isAnswer: boolean;
  readonly task: Task | undefined;
  /** Whether the answer is searched for a number. */
  readonly isRead: boolean;
}

/** Causes of failures whose wrong arguments are shown at the inputs. */
const SHORT_CAUSES: Readonly<Partial<Record<FailureType, string>>> = {
  value_not_yet_known: "before this step no call had returned the values it needs",
  incorrect_value: "the right value is known, but another was given",
};

function viewCall(event: CallEvent, task: Task | undefined): CallView {
  const { call, step, function: name, role, failure, guessed } = event;
  const parsed = parseJson(event.arguments);
  const plain = isJsonObject(parsed) &&
    Object.values(parsed).every((value) => typeof value !== "object");
  const wrong = failure === undefined ? new Map<string, string>() : wrongInputs(failure, task);
  const isShownAtInputs = plain && [...wrong.keys()].every((name) => Object.hasOwn(parsed, name));
  return {
    kind: "call",
    title: `call ${call}, step ${step}${event.by === undefined ? "" : `, made by ${event.by}`}`,
    function: printable(name, 200),
    ...defined({ role }),
    state: failure !== undefined
      ? "wrong"
      : isLost(event)
      ? "faulted"
      : role === "core" || role === undefined
      ? guessed ? "guessed" : "right"
      : "irrelevant",
    ...(event.fault === undefined ? {} : { fault: `fault: ${event.fault}` }),
    inputs: plain
      ? Object.entries(parsed).map(([parameter, value]) => {
        const reason = wrong.get(parameter);
        const input = {
          name: printable(parameter, 200),
          value: printableLines(JSON.stringify(value) + resolvedText(event, parameter, value)),
        };
        return reason === undefined ? input : { ...input, wrong: reason };
      })
      : [],
    ...(plain ? {} : {
      written: printableLines(
        event.arguments + (event.resolved === undefined ? "" : `\nstands for ${event.resolved}`),
      ),
    }),
    returned: returnedText(event),
    ...(event.unperturbed === undefined ? {} : { unperturbed: printableLines(event.unperturbed) }),
    ...(failure === undefined ? {} : {
      failure: {
        type: failure.type,
        root: failure.root,
        cause: printable(
          isShownAtInputs && SHORT_CAUSES[failure.type] || describeCause({ ...event, ...failure }),
          1000,
        ),
      },
    }),
    ...(event.parameters === undefined ? {} : { parameters: parameterLines(event.parameters) }),
  };
}

/** Returns the value that a reference in an argument resolved to; empty for other arguments. */
function resolvedText({ resolved }: CallEvent, parameter: string, argument: unknown): string {
  if (resolved === undefined) return "";
  const values = parseJson(resolved);
  if (!isJsonObject(values) || !Object.hasOwn(values, parameter)) return "";
  const value = values[parameter];
  return value === argument ? "" : ` = ${jsonText(value)}`;
}

/** Returns the result that the model got, with the name of its value. */
function returnedText(event: CallEvent): string {
  const { result, unperturbed } = event;
  const returned = returnedBy(event);
  const [only] = returned;
  if (only === undefined || unperturbed !== undefined) return printableLines(result);
  const values = returned.map(({ variable, value }) => `${printable(variable)} = ${value}`);
  const [, name, rest = ""] = /^(@[A-Za-z_]\w*)(\n[^]*)?$/.exec(result) ?? [];
  if (name !== undefined) {
    const known = returned.length === 1
      ? `${name} = ${only.value}`
      : values.map((one) => `${name}.${one}`).join(", ");
    return printableLines(known + rest);
  }
  // The result may have more than the values returned, such as values that are restated.
  const parsed = parseJson(result);
  const isAll = parsed === only.value ||
    isJsonObject(parsed) && Object.keys(parsed).length === returned.length;
  return isAll ? values.join(", ") : printableLines(result);
}

/** Returns the error of each wrong parameter. */
function wrongInputs(
  failure: Pick<Failure, "type" | "detail">,
  task: Task | undefined,
): Map<string, string> {
  const { detail } = failure;
  if ("arguments" in detail) {
    return new Map(detail.arguments.map((wrong) => {
      const right = task?.values.get(wrong.variable);
      const rightText = right === undefined ? "" : `; expected ${right}`;
      return [wrong.parameter, printable(describeArgument(wrong) + rightText, 1000)];
    }));
  }
  if ("unexpected" in detail) {
    return new Map([
      ...detail.unexpected.map((name): [string, string] => [name, "there is no such parameter"]),
      ...detail.wrongType.map((name): [string, string] => [name, "it must be a whole number"]),
    ]);
  }
  return new Map();
}
