/**
 * Trials as the page of a report shows them: plain data, with every text made visible and every
 * judgement in words, so that the page has nothing to decide.
 * @module
 */

import { signsOf } from "../../gate/ceilings.ts";
import { cellName } from "../metrics/metrics.ts";
import { callMarks } from "../figures/graph_drawing.ts";
import type { Failure } from "../../calls/failure.ts";
import type { FailureType } from "../../calls/failure_types.ts";
import { isLost } from "../../tools/fault.ts";
import { isJsonObject, parseJson, printable, printableLines } from "../../base/json.ts";
import { describeArgument, describeCause, describeFailure, describeOutcome } from "../story.ts";
import { parsesOf } from "../../calls/parse_counts.ts";
import { type Recovery, recoveryOf } from "../../calls/recovery.ts";
import type { Task } from "../../tasks/generated/task.ts";
import {
  type AnswerEvent,
  type CallEvent,
  PARSES,
  type ScoredEvent,
  type TraceEvent,
} from "../../calls/trace.ts";
import { isTextFormat } from "../../models/formats/registry.ts";
import { isGenerated, isProbe } from "../../trials/executors/task_kind.ts";
import type { Trial } from "../../trials/trial.ts";
import { jsonText, parameterLines } from "./parameter_lines.ts";
import { changedText, type KnownTask, rightAnswer } from "./task_view.ts";

/** A trial as the page shows it. */
export interface TrialView {
  /** How it ended, in one line. */
  readonly summary: string;
  /** The first root failure, which is the mistake to look at; left out without any failure. */
  readonly mistake?: string;
  /** What else is known of it: names and values. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The line that runs it again in a POSIX shell or in fish; left out where there is none. */
  readonly replay?: string;
  /** What its task's prompt and tools are to what the model got. */
  readonly offer: string;
  /** What happened, in order. */
  readonly events: readonly EventView[];
  /** What is drawn into the graph: statements of Graphviz. */
  readonly dotMarks: string;
}

/** One event as the page shows it. */
export type EventView =
  | {
    readonly kind: "said" | "stage" | "answer" | "stop";
    readonly title: string;
    readonly text: string;
  }
  | CallView;

/** One call as the page shows it. */
export interface CallView {
  readonly kind: "call";
  readonly title: string;
  readonly function: string;
  /** What the function is to the task; left out where it is nothing to it. */
  readonly role?: string;
  /** What becomes of the call, and how it is coloured. */
  readonly state: "right" | "wrong" | "irrelevant" | "guessed" | "faulted";
  /** The fault that was put in its way; left out where none was. */
  readonly fault?: string;
  /** The inputs, each with what is wrong with it. */
  readonly inputs: readonly { name: string; value: string; wrong?: string }[];
  /** The arguments as they were written, where they are no plain object. */
  readonly written?: string;
  readonly returned: string;
  /** What the function itself returned, where a perturbation changed it on its way. */
  readonly unperturbed?: string;
  /** The failure, whether it is a root, and why. */
  readonly failure?: { readonly type: string; readonly root: boolean; readonly cause: string };
  /** What its parameters are beside the right call or their schema; left out where that is not known, or all is right. */
  readonly parameters?: readonly string[];
}

/** The view of a trial; `known` is its task, where that can be made anew. */
export function viewTrial(
  trial: Trial,
  replay: string | undefined,
  known: KnownTask | undefined,
): TrialView {
  const task = known?.kind === "generated" ? known.task : undefined;
  const { model, strategy, repetition, usage, durationMs, startedAt } = trial;
  const { inputTokens, outputTokens } = usage;
  const calls = trial.events.filter((event) => event.kind === "call");
  const answered = trial.events.some((event) => event.kind === "answer");
  const root = trial.failures.find((failure) => failure.root) ?? trial.failures[0];
  const facts: [string, string][] = [
    ...(known === undefined ? [] : [["right answer", rightAnswer(known)] as [string, string]]),
    ["behaviours", signsOf(trial).join(", ") || "none"],
    ["model", model.requested + (model.simulated ? " (simulated)" : "")],
    ["served as", model.served || "-"],
    ...(trial.replayed
      ? [["replayed", "from a recording: no model was asked"] as [string, string]]
      : []),
    ["strategy", strategy],
    ["perturbation", perturbationText(trial, known)],
    ...recoveryOf(trial.events).map((recovery) =>
      ["fault", recoveryText(recovery)] as [string, string]
    ),
    ["task", cellName(trial)],
    ["seed", "seed" in trial.task ? JSON.stringify(trial.task.seed) : "-"],
    ["repetition", String(repetition)],
    ...formatFacts(trial),
    ["tokens", `${inputTokens} read, ${outputTokens} written`],
    ["time", `${durationMs} ms`],
    ["began", startedAt || "-"],
  ];
  return {
    summary: describeOutcome(trial),
    ...(root === undefined
      ? {}
      : { mistake: printable(`first root failure: ${describeFailure(root)}`, 2000) }),
    facts: facts.map(([name, value]) => [name, printable(value, 1000)]),
    ...(replay === undefined ? {} : shownReplay(replay)),
    offer: offerOf(trial, known),
    events: trial.events.flatMap((event) =>
      viewEvent(event, { answered, task, isRead: isGenerated(trial.task) || isProbe(trial.task) })
    ),
    dotMarks: task === undefined ? "" : callMarks(task, calls),
  };
}

/** How the model was spoken to, and how its replies could be read, as far as that is known. */
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

/** A line that is shown with escapes would run something else: better none. */
function shownReplay(replay: string): { replay?: string } {
  return printable(replay, 5000) === replay ? { replay } : {};
}

/** The perturbations, each with whether it found anything to change, as far as that is known. */
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

/** What became of a function that failed. */
function recoveryText({ fault, function: name, end, attempts }: Recovery): string {
  const calls = attempts === 0 ? "" : ` after ${attempts} further call${attempts === 1 ? "" : "s"}`;
  return `${fault} of ${name}, ${end.replaceAll("_", " ")}${calls}`;
}

/** Pages make a task's prompt and tools anew; what the model got may be something else. */
function offerOf({ model, strategy, perturbation }: Trial, known: KnownTask | undefined): string {
  const shown = perturbation === "none" ||
    known?.kind === "generated" && known.perturbed !== undefined;
  const changes = [
    ...(isTextFormat(model.api ?? "chat") ? [`the format ${model.api}`] : []),
    ...(strategy === "baseline" ? [] : [`the strategy ${strategy}`]),
    ...(shown ? [] : [`the perturbation ${perturbation}`]),
  ];
  if (changes.length === 0) return "prompt and tools, as the model got them";
  const words = `${changes.join(" and ")} ${changes.length === 1 ? "changes" : "change"}`;
  const which = perturbation === "none" || !shown ? "of the task" : "of the perturbed task";
  return printable(`prompt and tools ${which}; ${words} what the model sees`, 1000);
}

function viewEvent(event: TraceEvent, { answered, task, isRead }: EventContext): EventView[] {
  switch (event.kind) {
    case "reply": {
      const repairs = event.repairs ?? [];
      const notes = [
        ...repairs.map((repair) => `(repaired: ${repair})`),
        ...(event.parsed === "unreadable" ? ["(a call in it could not be read)"] : []),
        ...(event.written === undefined ? [] : [`as it was written:\n${event.written}`]),
      ];
      const text = [event.text, ...notes].filter((part) => part !== "").join("\n");
      // A final reply is told by the answer.
      const final = answered && event.calls === 0 && event.stage === undefined;
      if (text === "" || (final && notes.length === 0)) return [];
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
        title: "past the limit",
        text: `${printable(event.function)} was called after all ${event.limit} calls were made`,
      }];
    case "repair": {
      const { function: name, arguments: written, error, attempts, repaired } = event;
      const lines = [
        `written: ${written}`,
        `wrong: ${error}`,
        repaired === undefined ? "no arguments were found that conform" : `mended: ${repaired}`,
      ];
      return [{
        kind: "stage",
        title: `repair of ${printable(name, 200)}, ${attempts} asked`,
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
      return [{ kind: "said", title: "the user goes on", text: printableLines(event.text) }];
    case "assertion":
      return [{
        kind: "stop",
        title: "an assertion failed",
        text: printableLines(event.message),
      }];
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

/** What the answer to a question is worth, beside the truth. */
function viewScored(event: ScoredEvent): EventView {
  const { question, truth, scores, unrepaired, errors, judged } = event;
  const told = judged === undefined
    ? []
    : [`judge: ${judged.score ?? `no score (${judged.why ?? "unknown why"})`}`];
  const lines = [
    `question: ${question}`,
    `truth: ${JSON.stringify(truth)}`,
    `scores: ${scoreWords(scores)}`,
    ...(unrepaired === undefined ? [] : [`before it was repaired: ${scoreWords(unrepaired)}`]),
    ...(errors.length === 0 ? [] : [`errors: ${errors.join(", ")}`]),
    ...told,
  ];
  return { kind: "stage", title: "scored", text: printableLines(lines.join("\n")) };
}

function scoreWords(scores: ScoredEvent["scores"]): string {
  const named = Object.entries({
    "routing": scores.routingExact,
    "syntax": scores.syntaxValid,
    "structure": scores.structural,
    "exact": scores.exact,
  });
  return named.flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${value ? "right" : "wrong"}`]
  ).join(", ");
}

function answerTitle({ value }: AnswerEvent, isRead: boolean): string {
  if (value !== null) return `answer: ${value}`;
  return isRead ? "answer: none found" : "answer";
}

/** What is known of the trial of an event. */
interface EventContext {
  /** Whether it has an answer. */
  readonly answered: boolean;
  readonly task: Task | undefined;
  /** Whether a number is looked for in the answer. */
  readonly isRead: boolean;
}

/** What is left to say of a failure when its wrong arguments are told at the inputs. */
const REST_OF_CAUSE: Readonly<Partial<Record<FailureType, string>>> = {
  value_not_yet_known: "before this step no call had returned the values it needs",
  incorrect_value: "a value is known, and another was given",
};

function viewCall(event: CallEvent, task: Task | undefined): CallView {
  const { call, step, function: name, role, failure, guessed } = event;
  const parsed = parseJson(event.arguments);
  const plain = isJsonObject(parsed) &&
    Object.values(parsed).every((value) => typeof value !== "object");
  const wrong = failure === undefined ? new Map<string, string>() : wrongInputs(failure, task);
  const told = plain && [...wrong.keys()].every((name) => Object.hasOwn(parsed, name));
  return {
    kind: "call",
    title: `call ${call}, step ${step}`,
    function: printable(name, 200),
    ...(role === undefined ? {} : { role }),
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
        const why = wrong.get(parameter);
        const shown = {
          name: printable(parameter, 200),
          value: printableLines(JSON.stringify(value) + stoodFor(event, parameter, value)),
        };
        return why === undefined ? shown : { ...shown, wrong: why };
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
          told && REST_OF_CAUSE[failure.type] || describeCause({ ...event, ...failure }),
          1000,
        ),
      },
    }),
    ...(event.parameters === undefined ? {} : { parameters: parameterLines(event.parameters) }),
  };
}

/** The value that an argument stood for, such as a name; nothing where it stood for itself. */
function stoodFor({ resolved }: CallEvent, parameter: string, written: unknown): string {
  if (resolved === undefined) return "";
  const values = parseJson(resolved);
  if (!isJsonObject(values) || !Object.hasOwn(values, parameter)) return "";
  const value = values[parameter];
  return value === written ? "" : ` = ${jsonText(value)}`;
}

/** What went back to the model, and what it stands for. */
function returnedText({ returned, result, unperturbed }: CallEvent): string {
  if (returned === undefined || unperturbed !== undefined) return printableLines(result);
  const { variable, value } = returned;
  const [, name, rest = ""] = /^(@[A-Za-z_]\w*)(\n[^]*)?$/.exec(result) ?? [];
  if (name !== undefined) return printableLines(`${name} = ${value}${rest}`);
  // It may say more than what was returned, such as values that are restated.
  const said = parseJson(result);
  const alone = said === value || isJsonObject(said) && Object.keys(said).length === 1;
  return alone ? `${printable(variable)} = ${value}` : printableLines(result);
}

/** What is wrong with which parameter. */
function wrongInputs(
  failure: Pick<Failure, "type" | "detail">,
  task: Task | undefined,
): Map<string, string> {
  const { detail } = failure;
  if ("arguments" in detail) {
    return new Map(detail.arguments.map((wrong) => {
      const right = task?.values.get(wrong.variable);
      const told = right === undefined ? "" : `; right would be ${right}`;
      return [wrong.parameter, printable(describeArgument(wrong) + told, 1000)];
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
