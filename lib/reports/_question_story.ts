/**
 * Question stories: how the answer to a question of a call set differs from the right calls, in words.
 * @module
 */

import { readPrediction } from "../tasks/questions/scoring.ts";
import { fieldOf, isJsonObject, type JsonValue, parseJson, printable } from "../base/json.ts";
import { trueArguments } from "../trials/executors/question.ts";
import type { QuestionSpec } from "../trials/executors/task_kind.ts";
import type { ScoredEvent } from "../calls/trace.ts";
import { valueDifferences } from "../calls/values/differences.ts";

/** At most this many differences are shown. */
const MAX_DIFFERENCES = 8;
/** Characters of a part that are shown. */
const MAX_PART_LENGTH = 200;

/** Describes the question, the right calls and, for a wrong answer, the differences. */
export function describeQuestion(
  { question, output, truth, scores }: ScoredEvent,
  task: QuestionSpec,
): string[] {
  const calls = truth.API.map((name, index) =>
    task.mode === "routing" ? name : `${name}(${JSON.stringify(truth.parameters[index] ?? {})})`
  );
  const lines = [
    `question ${printable(JSON.stringify(question), MAX_PART_LENGTH)}`,
    `true is ${printable(calls.join(", then "), 3 * MAX_PART_LENGTH) || "no call"}`,
  ];
  const isRight = task.mode === "routing" ? scores.routingExact : scores.exact === true;
  const differences = isRight || task.mode === "routing"
    ? []
    : answerDifferences(output, truth, task);
  return [
    ...lines,
    ...differences.slice(0, MAX_DIFFERENCES),
    ...(differences.length > MAX_DIFFERENCES
      ? [`... ${differences.length - MAX_DIFFERENCES} more`]
      : []),
  ].map((line) => `  ${line}`);
}

/** Returns how the calls of an answer differ from the right ones. */
function answerDifferences(
  output: string,
  { API, parameters }: ScoredEvent["truth"],
  task: QuestionSpec,
): string[] {
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
        `call ${index + 1}: expected ${printable(name)}, but it is ${jsonText(names[index])}`,
      ];
    }
    const expected = parameters[index];
    const differences = valueDifferences(
      argumentLists[index] ?? {},
      isJsonObject(expected) ? trueArguments(expected) : {},
      { name: "arguments", partial: rule === "published" },
    );
    return differences.map((difference) =>
      `call ${index + 1} ${printable(name)}: ` +
      printable(differenceText(difference), 2 * MAX_PART_LENGTH)
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

function jsonText(value: JsonValue | undefined): string {
  return printable(JSON.stringify(value) ?? "nothing", MAX_PART_LENGTH);
}
