/**
 * Event views: what happened in a trial, as the page of a report shows it.
 * @module
 */

import {
  describeArgument,
  describeCause,
  type Failure,
  FAILURES,
  sourceCall,
} from "../../calls/failure_types.ts";
import { isLost, lossText } from "../../tools/fault.ts";
import { errorOfResult } from "../../tools/references/symbol_table.ts";
import { demandText } from "../../tools/injection.ts";
import { isJsonObject, jsonText, parseJson, printable, printableLines } from "../../base/json.ts";
import { agentNotes, callNotes, plainArguments } from "../story.ts";
import { marked } from "../../gate/variant.ts";
import type { Task } from "../../tasks/graphs/task.ts";
import {
  type CallEvent,
  type JudgedEvent,
  type ParameterFailure,
  type ParameterView,
  returnedBy,
  type ScoredEvent,
  type TraceEvent,
} from "../../calls/trace.ts";
import type { UserEvent } from "../../calls/user_reply.ts";
import type { Trial } from "../../trials/trial.ts";
import { countText } from "../../base/numbers.ts";
import { changeCount, judgedTitle, stateLines, tokensText } from "../_transcript_text.ts";
import { folded, type Tree } from "./_tree.ts";

/** One event as the page shows it, whose script makes the elements. What an event does not have is `undefined`. */
export type EventView = CallView | TextView;

/** A call. */
export type CallView = ReturnType<typeof viewCall>;

/** An event that is a text below a title; `told` is what answers of two trials are compared by. */
type TextView = ReturnType<typeof viewText> & { readonly told?: string };

function viewText(kind: string, title: string, text: string, more?: Tree) {
  return { kind, title, text: printableLines(text), more };
}

/** Returns what a simulated user did beside the message that the model got, which is a turn. */
function viewUser({ text, reasoning, calls = [], end, fault }: UserEvent): EventView[] {
  const beside = [
    ...(reasoning === undefined ? [] : [reasoning.trim()]),
    ...calls.map((call) => `${call.function} ${call.arguments}\n-> ${call.result}`),
  ].join("\n\n");
  const names = [...new Set(calls.map((call) => printable(call.function, 60)))];
  const summary = [reasoning && "thoughts", names.length > 0 && `calls: ${names.join(", ")}`]
    .filter((part) => part).join(", ");
  const more = beside !== "" && folded(summary, ["div.value", printableLines(beside)]);
  const title = fault !== undefined
    ? `the user's reply was thrown away: ${typeWords(fault)}`
    : end !== undefined
    ? `the user ended the conversation: ${typeWords(end)}`
    : "the user, before his message";
  if (fault !== undefined) return [viewText("stop", title, text, more)];
  return end !== undefined || more ? [viewText("stage", title, "", more)] : [];
}

/** Returns what was said before the model first replied in a conversation. */
export function viewOpening({ user, transcript }: Trial): EventView[] {
  if (user === undefined || transcript === undefined) return [];
  const { history, scenario, prompt: { value: first = "" } } = transcript;
  return [
    ...(scenario?.value === undefined
      ? []
      : [viewText("stage", "who the user is, which the model was not told", scenario.value)]),
    ...(history?.value ?? []).map(({ role, text }) =>
      viewText(role === "user" ? "turn" : "said", `before, ${printable(role, 100)}`, text)
    ),
    ...(first === "" ? [] : [viewText("turn", "first user message", first)]),
  ];
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
        ...agentNotes(event, (text) => printable(text, 200)).map((note) => `(${note})`),
        ...(event.written === undefined ? [] : [`original text:\n${event.written}`]),
      ];
      const text = [event.text, ...notes].filter((part) => part !== "").join("\n");
      // The answer shows the text of a final reply.
      if (text === "" || (isAnswer && notes.length === 0)) return [];
      const stage = event.stage === undefined ? "" : `, ${printable(event.stage, 100)}`;
      const by = event.model === undefined ? "" : ` by ${printable(event.model, 200)}`;
      return [viewText("said", `reply ${event.request}${stage}${by}`, text)];
    }
    case "call":
      return [viewCall(event, task)];
    case "over_limit":
      return [viewText(
        "stop",
        "over the limit",
        `${printable(event.function)} was called after all ${event.limit} calls were made`,
      )];
    case "repair": {
      const { function: name, arguments: argumentsText, error, attempts, repaired } = event;
      const lines = [
        `arguments: ${argumentsText}`,
        `error: ${error}`,
        repaired === undefined ? "not repaired" : `repaired: ${repaired}`,
      ];
      const title = `repair of ${printable(name, 200)}, ${countText(attempts, "attempt")}`;
      return [viewText("stage", title, lines.join("\n"))];
    }
    case "stage":
      return [viewText("stage", `stage ${printable(event.stage, 100)}`, event.message)];
    case "turn":
      return [viewText("turn", `next ${event.by ?? "user"} message`, event.text)];
    case "user":
      return viewUser(event);
    case "assertion": {
      const at = event.at === undefined ? "" : ` at ${printable(event.at, 300)}`;
      return [viewText("stop", `an assertion failed${at}`, event.message)];
    }
    case "judged":
      return [viewJudged(event)];
    case "scored":
      return [viewScored(event)];
    case "answer": {
      const text = event.rendered ?? event.text;
      const found = event.value ?? (isRead ? "none found" : undefined);
      const title = found === undefined ? "answer" : `answer: ${found}`;
      return [{
        ...viewText("answer", title, text),
        told: String(found ?? printableLines(text)),
      }];
    }
    case "stop":
      return [viewText("stop", `stopped: ${printable(event.reason)}`, event.message)];
  }
}

/** Returns a question to a judge, and what it said. */
function viewJudged(event: JudgedEvent): EventView {
  const { question, reply, reason = "" } = event;
  const title = judgedTitle(event, (text, length = 1000) => printable(text, length));
  const more = Object.entries({ question, reply }).map(([name, text]) =>
    text !== "" && folded(name, ["div.value", printableLines(text)])
  );
  return viewText("judged", `${title} (${tokensText(event)})`, reason, more);
}

/** Returns the scores of the answer to a question, which stands beside the events with the right calls. */
function viewScored(event: ScoredEvent): EventView {
  const { scores, unrepaired, errors, judged } = event;
  const judgeLines = judged === undefined ? [] : [
    `${marked("judge", judged.simulated === true)}: ${
      judged.score ?? `no score (${judged.why ?? "unknown reason"})`
    }`,
  ];
  const lines = [
    `scores: ${scoreWords(scores)}`,
    ...(unrepaired === undefined ? [] : [`before repair: ${scoreWords(unrepaired)}`]),
    ...(errors.length === 0 ? [] : [`errors: ${errors.join(", ")}`]),
    ...judgeLines,
  ];
  return viewText("stage", "scored", lines.join("\n"));
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

/** Returns the cause of a failure whose wrong arguments are shown at the inputs, if it has a short one. */
function shortCause(failure: Pick<Failure, "root" | "type" | "detail">): string | undefined {
  const { root, type, detail } = failure;
  if (root || !("arguments" in detail)) return FAILURES[type].brief;
  const sources = new Set(detail.arguments.map(sourceCall));
  return `passes on the wrong result of ${[...sources].join(" and ")}`;
}

function viewCall(event: CallEvent, task: Task | undefined) {
  const { call, step, role, fault, failure, unperturbed, injected, parameters } = event;
  const plain = plainArguments(event);
  const wrong = failure && wrongInputs(failure, task);
  const isShownAtInputs = plain !== undefined &&
    wrong?.keys().every((name) => Object.hasOwn(plain, name));
  const { state, note } = stateOf(event);
  const cause = failure !== undefined && printable(
    isShownAtInputs && shortCause(failure) || describeCause({ ...event, ...failure }),
    1000,
  );
  const root = failure?.root ? "root" : "cascade";
  return {
    call,
    // Calls of one step have no order.
    step,
    did: callNotes(event).join(", ") || undefined,
    name: printable(event.function, 200),
    role,
    state,
    note: [note, fault && `fault: ${fault}`].filter(Boolean).join(", ") || undefined,
    inputs: plain && Object.entries(plain).map(([parameter, given]) => {
      const value = printableLines(jsonText(given) + resolvedText(event, parameter, given));
      const why = wrong?.get(parameter);
      const input = [printable(parameter, 200), value];
      return why === undefined ? input : [...input, why];
    }),
    written: plain === undefined
      ? printableLines(
        event.arguments + (event.resolved === undefined ? "" : `\nstands for ${event.resolved}`),
      )
      : undefined,
    returned: returnedText(event),
    // How its number is marked in the graph.
    mark: failure !== undefined ? root : isLost(event) ? "lost" : undefined,
    unperturbed: unperturbed && printableLines(unperturbed),
    injected: injected && printableLines(demandText(injected)),
    why: failure && `${failure.type.replaceAll("_", " ")} (${root}): ${cause}`,
    parameters: parameters && parameterTree(parameters),
  };
}

/** Returns the result of a call, which decides its colour, and a note on it. */
function stateOf(event: CallEvent): { state: string; note?: string | undefined } {
  const { role, failure, guessed, error, result } = event;
  if (failure !== undefined) return { state: "wrong" };
  if (error !== undefined || isLost(event) || errorOfResult(result) !== undefined) {
    const { fault, blockedBy } = event;
    const note = blockedBy !== undefined
      ? lossText(event)
      : fault === undefined
      ? "the tool failed"
      : undefined;
    return { state: "error", note };
  }
  if (role === "connected" || role === "disconnected") {
    return { state: "irrelevant", note: "not needed" };
  }
  return guessed ? { state: "guessed", note: "right, but guessed" } : { state: "right" };
}

const ROUTING_ERROR = "routing error: it is not one of the right calls, or repeats one of them";

/** Compares the parameters of a call with the right call, or with their schema where there is none. */
function parameterTree({ oracle, failures, undecided = [] }: ParameterView): Tree {
  const reference = oracle === null ? "its schema" : `right call ${oracle}`;
  const lines = [
    ...failures.map(describeParameter),
    ...undecided.map(({ types, parameter }) =>
      `${parameter || "arguments"}: ${
        types.map(typeWords).join(" or ")
      }, undecided without a schema`
    ),
  ];
  return [
    oracle === null && ["p.parameter", ROUTING_ERROR],
    // Those of generated tasks stand beside the arguments already.
    lines.length > 0 && folded(
      `compared with ${reference}`,
      ...lines.map((line) => ["p.parameter", printable(line, 2000)]),
    ),
  ];
}

function describeParameter({ parameter, type, similarity, ...failure }: ParameterFailure): string {
  const { given, expected } = failure;
  const similarityText = similarity === undefined ? "" : ` (Rouge-L ${similarity.toFixed(2)})`;
  return [
    `${parameter || "arguments"}: ${typeWords(type)}`,
    ...(given === undefined ? [] : [`given ${shortText(given)}`]),
    ...(expected === undefined ? [] : [`expected ${shortText(expected)}`]),
  ].join(", ") + similarityText;
}

function typeWords(type: string): string {
  return type.replaceAll("_", " ");
}

/** Returns enough of a value to recognise it: a line has two. */
function shortText(value: unknown): string {
  const text = safeText(value);
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
}

/** Returns a value as JSON, or a note where its nesting exceeds the stack. */
function safeText(value: unknown): string {
  try {
    return jsonText(value);
  } catch {
    return "a value that is nested too deeply";
  }
}

/** Returns the value that a reference in an argument resolved to; empty for other arguments. */
function resolvedText({ resolved }: CallEvent, parameter: string, argument: unknown): string {
  if (resolved === undefined) return "";
  const values = parseJson(resolved);
  if (!isJsonObject(values) || !Object.hasOwn(values, parameter)) return "";
  const value = values[parameter];
  return value === argument ? "" : ` = ${safeText(value)}`;
}

/** Returns the result that the model got, and what it stands for where it is a name. */
function returnedText(event: CallEvent): string {
  const values = returnedBy(event).map(({ variable, value }) => `${variable} = ${value}`);
  const isName = event.result.startsWith("@") && values.length > 0;
  return printableLines(event.result + (isName ? `\nstands for ${values.join(", ")}` : ""));
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
  // That nothing changed stands in the title already.
  const lines = stateLines(state, (text) => printable(text, 1000))
    .slice(state.changes.length === 0 ? 1 : 0);
  return [viewText("state", `the state after it: ${changeCount(state)}`, lines.join("\n"))];
}
