/**
 * Stories of questions: what an answer to a question of a call set has other than the truth, in words.
 * @module
 */

import { readPrediction } from "../tasks/questions/scoring.ts";
import { isJsonObject, type JsonValue, parseJson, printable } from "../base/json.ts";
import { trueArguments } from "../trials/executors/question.ts";
import type { QuestionSpec } from "../trials/executors/task_kind.ts";
import type { ScoredEvent } from "../calls/trace.ts";
import { valueDifferences } from "../calls/values/differences.ts";

/** So many differences are told, and so much of each part. */
const MOST_TOLD = 8;
const LONGEST_TOLD = 200;

/**
 * The question, the calls that are true and, where the answer is wrong, in what.
 *
 * @example Usage
 * ```ts
 * import { describeQuestion } from "./question_story.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const scores = { syntaxValid: true, structural: true, exact: false, routingExact: true };
 * const truth = { API: ["forecast"], parameters: [{ city: "Oslo" }] };
 * const output = '{"API": ["forecast"], "parameters": [{"city": "Rome"}]}';
 * const question = "Will it rain in Oslo?";
 * const event = { kind: "scored", question, output, truth, scores, errors: [] } as const;
 * const task = { set: "s", question: "q1", difficulty: "easy", mode: "parameters" } as const;
 * assertEquals(describeQuestion(event, task), [
 *   '  question "Will it rain in Oslo?"',
 *   '  true is forecast({"city":"Oslo"})',
 *   '  call 1 forecast: arguments.city is different: expected "Oslo", but it is "Rome"',
 * ]);
 * ```
 */
export function describeQuestion(
  { question, output, truth, scores }: ScoredEvent,
  task: QuestionSpec,
): string[] {
  const calls = truth.API.map((name, place) =>
    task.mode === "routing" ? name : `${name}(${JSON.stringify(truth.parameters[place] ?? {})})`
  );
  const told = [
    `question ${printable(JSON.stringify(question), LONGEST_TOLD)}`,
    `true is ${printable(calls.join(", then "), 3 * LONGEST_TOLD) || "no call"}`,
  ];
  const isRight = task.mode === "routing" ? scores.routingExact : scores.exact === true;
  const wrong = isRight || task.mode === "routing" ? [] : faultsIn(output, truth, task);
  return [
    ...told,
    ...wrong.slice(0, MOST_TOLD),
    ...(wrong.length > MOST_TOLD ? [`... ${wrong.length - MOST_TOLD} more`] : []),
  ].map((line) => `  ${line}`);
}

/** What is wrong with calls that are written down, or were made. */
function faultsIn(
  output: string,
  { API, parameters }: ScoredEvent["truth"],
  task: QuestionSpec,
): string[] {
  const { mode, rule = "published", output: format = "json" } = task;
  const value = mode === "tools" ? parseJson(output) : readPrediction(output, { rule, format });
  if (value === undefined) return [`the answer is no ${format.toUpperCase()} that can be read`];
  const names = fieldOf(value, "API");
  const given = fieldOf(value, "parameters");
  if (!Array.isArray(names) || !Array.isArray(given)) {
    return ['the answer must have two lists, "API" and "parameters"'];
  }
  if (names.length !== API.length) {
    return [`calls: expected ${API.length}, but there are ${names.length}: ${shown(names)}`];
  }
  return API.flatMap((name, place) => {
    if (names[place] !== name) {
      return [`call ${place + 1}: expected ${printable(name)}, but it is ${shown(names[place])}`];
    }
    const expected = parameters[place];
    const differences = valueDifferences(
      given[place] ?? {},
      isJsonObject(expected) ? trueArguments(expected) : {},
      { name: "arguments", partial: rule === "published" },
    );
    return differences.map((one) =>
      `call ${place + 1} ${printable(name)}: ` + printable(differenceText(one), 2 * LONGEST_TOLD)
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

function fieldOf(value: JsonValue, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function shown(value: JsonValue | undefined): string {
  return printable(JSON.stringify(value) ?? "nothing", LONGEST_TOLD);
}
