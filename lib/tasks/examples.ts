/**
 * Solved examples of tasks, which the strategy `few_shot` puts before a task.
 * @module
 */

import { randomIntegerBetween, shuffle } from "@std/random";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
} from "../base/json.ts";
import { fork, forkSeed } from "../base/random.ts";
import type { GraphSpec } from "./graphs/graph.ts";
import { briefSpec, generateTask, type Task } from "./graphs/task.ts";
import { type TaskFunction, writePrompt } from "./graphs/wording.ts";
import { writeAnswerForm } from "./questions/prompt.ts";
import {
  type CallQuestion,
  type CallSet,
  functionsOf,
  PLACEHOLDER,
  plainTruth,
  resolvedTruth,
} from "./questions/question_set.ts";
import type { QuestionSpec } from "./task_kind.ts";

/** A call of an example, and what it returned. */
export interface ExampleCall {
  /** The function. */
  readonly function: string;
  /** Its arguments; default: none. */
  readonly arguments?: JsonObject;
  /** What it returned, any JSON; omitted where that is not shown. */
  readonly result?: JsonValue;
}

/** A function of an example. */
export interface ExampleFunction {
  /** Its name. */
  readonly name: string;
  /** What it does. */
  readonly description: string;
}

/** A solved example of a task. */
export interface SolvedExample {
  /** The message of the user. */
  readonly question: string;
  /** The functions that it uses, where the task itself does not offer them. */
  readonly functions?: readonly ExampleFunction[];
  /** The calls, in order; default: none. */
  readonly calls?: readonly ExampleCall[];
  /** The final answer. */
  readonly answer: string;
}

/** Functions of an example, at most: it is to be read, and the task itself is not smaller by it. */
const MAX_CORE = 3;
/** Seeds that are tried for an example that shares no name with its task. */
const MAX_ATTEMPTS = 100;

/**
 * Returns solved examples of a generated task. They have its settings and other seeds, at most three functions
 * and none that is not needed, and share no name and no value with the task or each other.
 */
export function generatedExamples(task: Task, count: number): SolvedExample[] {
  const names = new Set(namesOf(task));
  const values = new Set(task.values.values());
  return Array.from({ length: count }, (_, place) => {
    const example = unlike(task.spec, place, names);
    for (const name of namesOf(example)) names.add(name);
    return solve(example, values);
  });
}

/** The next task whose names are none of these. */
function unlike(spec: GraphSpec, place: number, names: ReadonlySet<string>): Task {
  const core = Math.min(spec.core, MAX_CORE);
  const size = { core, depth: Math.min(spec.depth, core - 1), connected: 0, disconnected: 0 };
  for (let attempt = 0;; attempt++) {
    const seed = forkSeed(spec.seed, "few_shot", place, attempt);
    // Where its settings leave few names, examples have names of the plain kind.
    const settings = attempt < MAX_ATTEMPTS ? briefSpec(spec) : {};
    const task = generateTask({ ...settings, ...size, seed });
    if (namesOf(task).every((name) => !names.has(name))) return task;
  }
}

/** The names of functions, variables and types that a task shows. */
function namesOf({ functions }: Task): string[] {
  return functions.flatMap(({ name, output, parameters }) => [
    name,
    ...[output, ...parameters].flatMap((one) => [one.name, one.type, one.subtype]),
  ]);
}

/** Solves a task with values that none of `taken` is, and adds these. */
function solve(task: Task, taken: Set<number>): SolvedExample {
  const stream = fork(task.spec.seed, "few_shot", "values");
  const values = new Map<string, number>();
  for (const variable of task.values.keys()) values.set(variable, freeNumber(taken, stream));
  const valueOf = (variable: string) => values.get(variable)!;
  const inputs = [...task.inputs.keys()].map((name) => [name, valueOf(name)] as const);
  const { variable } = task.target;
  return {
    question: writePrompt(variable, inputs, task.spec),
    functions: task.tools.map(({ name, description }) => ({ name, description })),
    calls: inCallOrder(task.functions).map(({ name, parameters, output }) => ({
      function: name,
      arguments: Object.fromEntries(
        parameters.map((parameter) => [parameter.name, valueOf(parameter.variable)]),
      ),
      result: { [output.name]: valueOf(output.name) },
    })),
    answer: `${variable} = ${valueOf(variable)}`,
  };
}

/** Draws a number of three digits, or of more where most of these are taken. */
function freeNumber(taken: Set<number>, stream: ReturnType<typeof fork>): number {
  for (let attempt = 0, least = 100;; attempt++) {
    if (attempt > 0 && attempt % MAX_ATTEMPTS === 0) least *= 10;
    const number = randomIntegerBetween(least, 10 * least - 1, stream);
    if (taken.has(number)) continue;
    taken.add(number);
    return number;
  }
}

/** The functions in an order in which all can be called. */
function inCallOrder(functions: readonly TaskFunction[]): TaskFunction[] {
  const called = new Set<TaskFunction>();
  while (called.size < functions.length) {
    const names = new Set(called.values().map(({ name }) => name));
    for (const one of functions) {
      if (one.dependsOn.every((name) => names.has(name))) called.add(one);
    }
  }
  return [...called];
}

/**
 * Returns other questions of a set with their right calls, drawn for this question: of its own domain first, as
 * they have the same functions, then of others. None has its text or its calls. There may be fewer than
 * `count`.
 */
export function questionExamples(
  set: CallSet,
  { set: name, question: id, mode, output = "json" }: QuestionSpec,
  count: number,
): SolvedExample[] {
  const own = set.questions.find((question) => question.id === id)!;
  const others = set.questions.filter((other) => isExample(other, own));
  const drawn = shuffle(others, fork(0, "few_shot", name, id));
  const isNear = (other: CallQuestion) => functionsOf(set, other) === functionsOf(set, own);
  const near = drawn.filter(isNear);
  const far = drawn.filter((other) => !isNear(other));
  return [...near, ...far].slice(0, count).map((question): SolvedExample => {
    const functions = functionsOf(set, question);
    const byName = new Map(functions.map((one) => [one.name, one]));
    const used = [...new Set(question.truth.API)].flatMap((name) => byName.get(name)?.tool ?? []);
    const { API, parameters } = plainTruth(resolvedTruth(question));
    return {
      question: userText(question),
      ...(isNear(question)
        ? {}
        : { functions: used.map(({ name, description }) => ({ name, description })) }),
      ...(mode === "tools"
        ? {
          calls: API.map((name, place): ExampleCall => {
            const given = parameters[place];
            return {
              function: byName.get(name)?.tool.name ?? name,
              arguments: isJsonObject(given) ? given : {},
              result: question.results?.[place]?.result ?? PLACEHOLDER,
            };
          }),
          answer: "All calls are made.",
        }
        : { answer: writeAnswerForm(plainTruth(question.truth), { mode, output }) }),
    };
  });
}

/** Whether a set has any example for a question. */
export function hasExamples(set: CallSet, id: string): boolean {
  const own = set.questions.find((question) => question.id === id)!;
  return set.questions.some((other) => isExample(other, own));
}

/** Whether a question is another one, with neither the text nor the calls of the one asked. */
function isExample(other: CallQuestion, own: CallQuestion): boolean {
  return other.id !== own.id && userText(other).trim() !== userText(own).trim() &&
    canonicalJson({ ...other.truth }) !== canonicalJson({ ...own.truth });
}

function userText({ messages }: CallQuestion): string {
  return messages.flatMap(({ role, content }) => role === "user" ? [content] : []).join("\n\n");
}

/** Writes an example as a text. */
export function writeExample(
  { question, functions = [], calls = [], answer }: SolvedExample,
  number: number,
): string {
  return [
    `=======Example ${number} start=======`,
    `Question: ${question}`,
    ...(functions.length === 0 ? [] : [
      "Its functions:",
      ...functions.map(({ name, description }) => `- ${name}: ${description}`),
    ]),
    ...calls.flatMap(({ function: name, arguments: given = {}, result }) => [
      `Call: ${name} with ${jsonText(given)}`,
      ...(result === undefined ? [] : [`Result: ${jsonText(result)}`]),
    ]),
    `Answer: ${answer}`,
    `=======Example ${number} end=======`,
  ].join("\n");
}
