/**
 * Question stories: how the answer to a question of a call set differs from the right calls, in words.
 * @module
 */

import { readPrediction } from "../tasks/questions/scoring.ts";
import { fieldOf, isJsonObject, type JsonValue, parseJson } from "../base/json.ts";
import type { ShowText, StoryLine } from "./story_lines.ts";
import { trueArguments } from "../trials/executors/question.ts";
import type { QuestionSpec } from "../trials/executors/task_kind.ts";
import type { ScoredEvent } from "../calls/trace.ts";
import { valueDifferences } from "../calls/values/differences.ts";

/** Characters of a part that a brief story shows. */
const MAX_PART_LENGTH = 200;

/** Describes the question, the right calls and, for a wrong answer, the differences. */
export function questionLines(
  { question, output, truth, scores }: ScoredEvent,
  task: QuestionSpec,
  show: ShowText,
): StoryLine[] {
  const calls = truth.API.map((name, index) =>
    task.mode === "routing" ? name : `${name}(${JSON.stringify(truth.parameters[index] ?? {})})`
  );
  const isRight = task.mode === "routing" ? scores.routingExact : scores.exact === true;
  const differences = isRight || task.mode === "routing"
    ? []
    : answerDifferences(output, truth, task, show);
  // What is true and the first difference say more than the question.
  const line = (text: string, distance: number): StoryLine => (
    { kind: "detail", text: `  ${text}`, distance }
  );
  return [
    line(`question ${show(JSON.stringify(question), MAX_PART_LENGTH)}`, 2),
    line(`true is ${show(calls.join(", then "), 3 * MAX_PART_LENGTH) || "no call"}`, 0),
    ...differences.map((difference, place) => line(difference, place === 0 ? 1 : place + 2)),
  ];
}

/** Returns how the calls of an answer differ from the right ones. */
function answerDifferences(
  output: string,
  { API, parameters }: ScoredEvent["truth"],
  task: QuestionSpec,
  show: ShowText,
): string[] {
  const jsonText = (value: JsonValue | undefined) =>
    show(JSON.stringify(value) ?? "nothing", MAX_PART_LENGTH);
  const { mode, rule = "published", output: format = "json" } = task;
  const value = mode === "tools" ? parseJson(output) : readPrediction(output, { rule, format });
  if (value === undefined) return [`the answer cannot be read as ${format.toUpperCase()}`];
  const names = fieldOf(value, "API");
  const argumentLists = fieldOf(value, "parameters");
  if (!Array.isArray(names) || !Array.isArray(argumentLists)) {
    return ['the answer must have two lists, "API" and "parameters"'];
  }
  if (names.length !== API.length) {
    return [`calls: expected ${API.length}, but there are ${names.length}: ${jsonText(names)}`];
  }
  return API.flatMap((name, index) => {
    if (names[index] !== name) {
      return [
        `call ${index + 1}: expected ${show(name)}, but it is ${jsonText(names[index])}`,
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
