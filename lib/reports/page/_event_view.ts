/**
 * Event views: what happened in a trial, as the page of a report shows it.
 * @module
 */

import type { Failure } from "../../calls/failure.ts";
import type { FailureType } from "../../calls/failure_types.ts";
import { isLost } from "../../tools/fault.ts";
import { defined, isJsonObject, parseJson, printable, printableLines } from "../../base/json.ts";
import { describeArgument, describeCause } from "../story.ts";
import type { Task } from "../../tasks/generated/task.ts";
import {
  type AnswerEvent,
  type CallEvent,
  type JudgedEvent,
  returnedBy,
  type ScoredEvent,
  type TraceEvent,
} from "../../calls/trace.ts";
import type { StateChange } from "../../trials/state_difference.ts";
import type { Trial } from "../../trials/trial.ts";
import { countText } from "../../base/numbers.ts";
import type { ShowText } from "../story_lines.ts";
import { changeCount, judgedTitle, judgedTokens, stateLines } from "../_transcript_text.ts";
import { jsonText, parameterLines } from "./_parameter_lines.ts";

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
  /** The reply that made it, from 1: calls of one step have no order. */
  readonly step: number;
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

/** Properties of the trial that an event belongs to. */
interface EventContext {
  /** Whether the event is a reply whose text is the answer. */
  readonly isAnswer: boolean;
  readonly task: Task | undefined;
  /** Whether the answer is searched for a number. */
  readonly isRead: boolean;
}

/** Returns the views of an event; none for a reply that shows nothing by itself. */
export function viewEvent(
  event: TraceEvent,
  { isAnswer, task, isRead }: EventContext,
): EventView[] {
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
    step,
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

/** Returns what changed in the state of a case, as the last thing that happened. */
export function viewState({ transcript }: Trial): EventView[] {
  const state = transcript?.state;
  if (state === undefined) return [];
  const show: ShowText = (text) => printable(text, 1000);
  const signOf = ({ before, after }: StateChange) =>
    before === undefined ? "added" : after === undefined ? "removed" : "changed";
  // That nothing changed stands in the title already.
  const lines = stateLines(state, show).slice(state.changes.length === 0 ? 1 : 0);
  return [{
    kind: "state",
    title: `the state after it: ${changeCount(state)}`,
    changes: lines.map((text, place) => {
      const change = state.changes[place];
      return { sign: change === undefined ? "" : signOf(change), text };
    }),
  }];
}
