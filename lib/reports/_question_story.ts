/**
 * Question stories: how the answer to a question of a call set differs from the right calls, in words.
 * @module
 */

import { readPrediction } from "../tasks/questions/scoring.ts";
import {
  fieldOf,
  isJsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../base/json.ts";
import { isWholeQuestion } from "./cells.ts";
import type { ShowText, StoryLine } from "./story_lines.ts";
import { trueArguments } from "../trials/executors/question.ts";
import { isQuestion, type QuestionSpec } from "../tasks/task_kind.ts";
import type { ScoredEvent } from "../calls/trace.ts";
import type { Trial } from "../trials/trial.ts";
import { valueDifferences } from "../calls/values/differences.ts";

/** Characters of a part that a brief story shows. */
const MAX_PART_LENGTH = 200;

/** Returns the right calls, of which a question about routing asks for the names alone. */
export function rightCalls({ truth }: ScoredEvent, task: Trial["task"]): string[] {
  const isRouting = isQuestion(task) && task.mode === "routing";
  return truth.API.map((name, index) =>
    isRouting ? name : `${name}(${jsonText(truth.parameters[index] ?? {})})`
  );
}

/** Says in one line what is wrong with the answer to a question; empty for other trials. */
export function wrongAnswerText({ events, solved, task }: Trial): string {
  const scored = events.find((event) => event.kind === "scored");
  if (solved || scored === undefined || !isWholeQuestion(task)) return "";
  const [first] = answerDifferences(scored, task, printable);
  const errors = scored.errors.map((error) => error.replaceAll("_", " ")).join(", ");
  const told = first ?? `expected ${rightCalls(scored, task).join(", then ") || "no call"}`;
  return printable([errors, told].filter((part) => part !== "").join(": "), MAX_PART_LENGTH);
}

/** Describes the question, the right calls and, for a wrong answer, the differences. */
export function questionLines(
  event: ScoredEvent,
  task: QuestionSpec,
  show: ShowText,
): StoryLine[] {
  const calls = rightCalls(event, task);
  const differences = answerDifferences(event, task, show);
  // What is true and the first difference say more than the question.
  const line = (text: string, distance: number): StoryLine => (
    { kind: "detail", text: `  ${text}`, distance }
  );
  return [
    line(`question ${show(JSON.stringify(event.question), MAX_PART_LENGTH)}`, 2),
    line(`true is ${show(calls.join(", then "), 3 * MAX_PART_LENGTH) || "no call"}`, 0),
    ...differences.map((difference, place) => line(difference, place === 0 ? 1 : place + 2)),
  ];
}

/** Returns how the calls of an answer differ from the right ones; nothing where only names are asked for. */
function answerDifferences(
  { output, truth: { API, parameters }, scores }: ScoredEvent,
  task: QuestionSpec,
  show: ShowText,
): string[] {
  if (task.mode === "routing" || scores.exact === true) return [];
  const shownText = (value: JsonValue | undefined) =>
    show(jsonText(value) ?? "nothing", MAX_PART_LENGTH);
  const { mode, rule = "published", output: format = "json" } = task;
  const value = mode === "tools" ? parseJson(output) : readPrediction(output, { rule, format });
  if (value === undefined) return [`the answer cannot be read as ${format.toUpperCase()}`];
  const names = fieldOf(value, "API");
  const argumentLists = fieldOf(value, "parameters");
  if (!Array.isArray(names) || !Array.isArray(argumentLists)) {
    return ['the answer must have two lists, "API" and "parameters"'];
  }
  if (names.length !== API.length) {
    return [`calls: expected ${API.length}, but there are ${names.length}: ${shownText(names)}`];
  }
  return API.flatMap((name, index) => {
    if (names[index] !== name) {
      return [
        `call ${index + 1}: expected ${show(name)}, but it is ${shownText(names[index])}`,
      ];
    }
    const expected = parameters[index];
    const differences = valueDifferences(
      argumentLists[index] ?? {},
      isJsonObject(expected) ? trueArguments(expected) : {},
      { name: "arguments", partial: rule === "published" },
    );
    return differences.map((difference) =>
      `call ${index + 1} ${show(name)}: ` +
      show(differenceText(difference), 2 * MAX_PART_LENGTH)
    );
  });
}

function differenceText(
  { path, kind, expected, actual }: ReturnType<typeof valueDifferences>[number],
): string {
  if (kind === "missing") return `${path} is missing: expected ${expected}`;
  if (kind === "unexpected") return `${path} is unexpected: it is ${actual}`;
  return `${path} is different: expected ${expected}, but it is ${actual}`;
}
