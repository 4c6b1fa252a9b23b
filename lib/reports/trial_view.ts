/**
 * Trials as the page of a report shows them: plain data, with every text made visible and every
 * judgement in words, so that the page has nothing to decide.
 * @module
 */

import { cellName } from "../metrics.ts";
import { callMarks, toDot } from "../drawing.ts";
import type { Failure, FailureType } from "../failure.ts";
import type { GraphSpec } from "../graph.ts";
import { isJsonObject, type JsonObject, parseJson, printable, printableLines } from "../json.ts";
import { describeArgument, describeCause, describeFailure, summarize } from "../story.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../task.ts";
import { toOpenAITool } from "../tool.ts";
import type { CallEvent, TraceEvent } from "../trace.ts";
import type { Trial } from "../trial.ts";

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
  /** What happened, in order. */
  readonly events: readonly EventView[];
  /** What is drawn into the graph: statements of Graphviz. */
  readonly dotMarks: string;
}

/** One event as the page shows it. */
export type EventView =
  | { readonly kind: "said" | "answer" | "stop"; readonly title: string; readonly text: string }
  | CallView;

/** One call as the page shows it. */
export interface CallView {
  readonly kind: "call";
  readonly title: string;
  readonly function: string;
  /** What the function is to the task; `unknown` when there is no such function. */
  readonly role: string;
  /** What becomes of the call, and how it is coloured. */
  readonly state: "right" | "wrong" | "irrelevant" | "guessed";
  /** The inputs, each with what is wrong with it. */
  readonly inputs: readonly { name: string; value: string; wrong?: string }[];
  /** The arguments as they were written, where they are no plain object. */
  readonly written?: string;
  readonly returned: string;
  /** The failure, whether it is a root, and why. */
  readonly failure?: { readonly type: string; readonly root: boolean; readonly cause: string };
}

/** What trials of one task share. */
export interface TaskView {
  /** The graph in Graphviz's language. */
  readonly dot: string;
  readonly prompt: string;
  readonly tools: readonly JsonObject[];
}

/** The view of a trial; `task` is its task, where that can be generated. */
export function viewTrial(
  trial: Trial,
  replay: string | undefined,
  task: Task | undefined,
): TrialView {
  const { model, strategy, perturbation, repetition, usage, durationMs, startedAt } = trial;
  const { inputTokens, outputTokens } = usage;
  const calls = trial.events.filter((event) => event.kind === "call");
  const answered = trial.events.some((event) => event.kind === "answer");
  const root = trial.failures.find((failure) => failure.root) ?? trial.failures[0];
  const facts: [string, string][] = [
    ...(task === undefined
      ? []
      : [["right answer", `${task.target.variable} = ${task.target.value}`] as [string, string]]),
    ["model", model.requested + (model.simulated ? " (simulated)" : "")],
    ["served as", model.served || "-"],
    ["strategy", strategy],
    ["perturbation", perturbation],
    ["task", cellName(trial)],
    ["seed", JSON.stringify(trial.task.seed) ?? "-"],
    ["repetition", String(repetition)],
    ["tokens", `${inputTokens} read, ${outputTokens} written`],
    ["time", `${durationMs} ms`],
    ["began", startedAt || "-"],
  ];
  return {
    summary: summarize(trial),
    ...(root === undefined
      ? {}
      : { mistake: printable(`first root failure: ${describeFailure(root)}`, 2000) }),
    facts: facts.map(([name, value]) => [name, printable(value, 1000)]),
    ...(replay === undefined ? {} : shownReplay(replay)),
    events: trial.events.flatMap((event) => viewEvent(event, answered, task)),
    dotMarks: task === undefined ? "" : callMarks(task, calls),
  };
}

/** A line that is shown with escapes would run something else: better none. */
function shownReplay(replay: string): { replay?: string } {
  return printable(replay, 5000) === replay ? { replay } : {};
}

/** The task of a trial, where it can be generated: other tools have tasks of their own. */
export function taskOf({ task }: Pick<Trial, "task">, generator: number): Task | undefined {
  if (generator !== GENERATOR_VERSION) return undefined;
  try {
    return generateTask(task as GraphSpec);
  } catch {
    return undefined;
  }
}

/** The view of a task. */
export function viewTask(task: Task): TaskView {
  return {
    dot: toDot(task),
    prompt: task.prompt,
    tools: task.tools.map((tool) => JSON.parse(JSON.stringify(toOpenAITool(tool)))),
  };
}

function viewEvent(event: TraceEvent, answered: boolean, task: Task | undefined): EventView[] {
  switch (event.kind) {
    case "reply": {
      const repairs = event.repairs ?? [];
      const text = [event.text, ...repairs.map((repair) => `(repaired: ${repair})`)]
        .filter((part) => part !== "").join("\n");
      // A final reply is told by the answer.
      if (text === "" || (answered && event.calls === 0 && repairs.length === 0)) return [];
      return [{ kind: "said", title: `reply ${event.request}`, text: printableLines(text) }];
    }
    case "call":
      return [viewCall(event, task)];
    case "over_limit":
      return [{
        kind: "stop",
        title: "past the limit",
        text: `${printable(event.function)} was called after all ${event.limit} calls were made`,
      }];
    case "answer":
      return [{
        kind: "answer",
        title: event.value === null ? "answer: none found" : `answer: ${event.value}`,
        text: printableLines(event.text),
      }];
    case "stop":
      return [{
        kind: "stop",
        title: `stopped: ${printable(event.reason)}`,
        text: printableLines(event.message),
      }];
  }
}

/** What is left to say of a failure when its wrong arguments are told at the inputs. */
const REST_OF_CAUSE: Readonly<Partial<Record<FailureType, string>>> = {
  value_not_yet_known: "before this step nothing had returned what it takes",
  incorrect_value: "a value is known, and another was given",
};

function viewCall(event: CallEvent, task: Task | undefined): CallView {
  const { call, step, function: name, role, failure, guessed, returned, result } = event;
  const parsed = parseJson(event.arguments);
  const plain = isJsonObject(parsed) &&
    Object.values(parsed).every((value) => typeof value !== "object");
  const wrong = failure === undefined ? new Map<string, string>() : wrongInputs(failure, task);
  const told = plain && [...wrong.keys()].every((name) => Object.hasOwn(parsed, name));
  return {
    kind: "call",
    title: `call ${call}, step ${step}`,
    function: printable(name, 200),
    role: role ?? "unknown",
    state: failure !== undefined
      ? "wrong"
      : role === "core" || role === undefined
      ? guessed ? "guessed" : "right"
      : "irrelevant",
    inputs: plain
      ? Object.entries(parsed).map(([parameter, value]) => {
        const why = wrong.get(parameter);
        const shown = {
          name: printable(parameter, 200),
          value: printableLines(JSON.stringify(value)),
        };
        return why === undefined ? shown : { ...shown, wrong: why };
      })
      : [],
    ...(plain ? {} : { written: printableLines(event.arguments) }),
    // What went back may say more than what was returned, such as values that are restated.
    returned: returned !== undefined && result.length <= 80
      ? `${printable(returned.variable)} = ${returned.value}`
      : printableLines(result),
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
  };
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
