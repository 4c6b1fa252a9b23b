/**
 * Stages: parses and answers requests for a plan or a list of functions, which strategies make before the calls.
 * @module
 */

import { isJsonObject, type JsonObject, jsonText, parseJson } from "../base/json.ts";
import { readTolerantJson } from "../base/json_repair.ts";
import { type FunctionReading, leanOnNames, readListedFunctions } from "./_functions.ts";
import { inOrder, type KnownValues, link, type Links, producersFor } from "./_linking.ts";
import type { Reading } from "../models/simulated_name.ts";
import { readInputs, readTarget, sayNamesTell } from "./_reading.ts";
import { type ChatRequest, contentText } from "./_wire.ts";
import { writeValue } from "./_arguments.ts";

/**
 * | stage | requested answer |
 * | --- | --- |
 * | `plan` | numbered steps |
 * | `route` | the names of the functions that are needed |
 * | `final` | the call that gives the answer |
 * | `missing` | the list of the last answer, with missing functions added |
 */
export type StageKind = "plan" | "route" | "final" | "missing";

/** A function on a list, with its arguments. */
export interface ListedFunction {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** A parsed request of a stage. */
export interface StageReading extends KnownValues {
  /** The requested answer. */
  readonly kind: StageKind;
  /** The text of the question. */
  readonly question: string;
  /** The requested variable. */
  readonly target: string | undefined;
  /** The number of earlier answers. */
  readonly round: number;
  /** The list of the last answer; empty if there is none. */
  readonly list: readonly ListedFunction[];
}

/** The words that identify a stage. */
const WORDS: readonly (readonly [StageKind, string])[] = [
  ["missing", "fill in the missing information"],
  ["plan", "write a plan"],
  ["route", "the correct API names to call"],
  ["final", "a correct last one task API name"],
];

/**
 * Parses the request of a stage, for a model that leans on `reads` alone if given; `undefined` if it requests
 * calls instead.
 */
export function readStage(
  { messages, tools }: ChatRequest,
  reads?: Reading,
): StageReading | undefined {
  const last = messages.at(-1);
  if ((tools ?? []).length > 0 || last?.role !== "user") return undefined;
  const text = contentText(last.content);
  const kind = WORDS.find(([, words]) => text.includes(words))?.[0];
  if (kind === undefined) return undefined;
  const userMessages = messages.filter((message) => message.role === "user");
  const question = userMessages.map((message) => readQuestion(contentText(message.content)))
    .findLast((reading) => reading !== undefined);
  if (question === undefined) return undefined;
  const answers = messages.filter((message) => message.role === "assistant");
  return {
    ...question,
    kind,
    target: readTarget(question.question),
    inputs: new Map(readInputs(question.question)),
    ...(reads === "names" ? { functions: leanOnNames(question.functions) } : {}),
    namesTell: sayNamesTell(question.question, reads),
    round: answers.length,
    list: readList(contentText(answers.at(-1)?.content)),
  };
}

/** Reads question and functions: in the prompt of a plan the question comes first, in others the functions. */
function readQuestion(text: string): Pick<StageReading, "question" | "functions"> | undefined {
  const list = findList(text, "=======API list start=======") ??
    findList(text, "These functions are on offer, as a JSON list:");
  if (list === undefined) return undefined;
  const functions = readListedFunctions(list.value);
  const mark = "=======Question start=======";
  const start = text.indexOf(mark, list.end);
  if (start === -1) return { question: text.slice(0, list.start).trim(), functions };
  const end = text.lastIndexOf("=======Question end=======");
  return { question: text.slice(start + mark.length, Math.max(start, end)).trim(), functions };
}

/** The JSON list after `mark`, with the offsets of the start of the mark and the end of the list. */
function findList(text: string, mark: string) {
  const start = text.indexOf(mark);
  const list = start === -1 ? undefined : findJson(text, text.indexOf("[", start));
  return list === undefined ? undefined : { ...list, start };
}

/** The JSON value that begins at `start`, and the offset of its end. */
function findJson(text: string, start: number) {
  const read = start === -1 ? undefined : readTolerantJson(text, start);
  return read && { value: parseJson(read.json), end: read.end };
}

/** The functions of an answer like `{"API": ["name"], "parameters": [{"parameter": "value"}]}`. */
function readList(text: string): readonly ListedFunction[] {
  const parsed = findJson(text, text.indexOf("{"))?.value;
  if (!isJsonObject(parsed)) return [];
  const { API: names, parameters } = parsed;
  return (Array.isArray(names) ? names : []).flatMap((name, place): ListedFunction[] => {
    if (typeof name !== "string") return [];
    const args = Array.isArray(parameters) ? parameters[place] : undefined;
    return [{ name, parameters: isJsonObject(args) ? args : {} }];
  });
}

/** Mistakes in a list of functions. */
export interface StageMistakes {
  /** Returns the name to write for a function. */
  readonly write: (name: string) => string;
  /** Returns the function meant by a name on a list. */
  readonly mean: (name: string) => string;
  /** Returns an unneeded function to add, if any. */
  readonly pick: (needed: ReadonlySet<FunctionReading>) => FunctionReading | undefined;
}

const NONE: StageMistakes = {
  write: (name) => name,
  mean: (name) => name,
  pick: () => undefined,
};

/** The placeholder of unknown values on a list. */
const UNKNOWN = "$$$";

/** The mark after a complete list. */
const STOP = "<!stop>";

/** The answer if the needed functions are unknown. */
export const DO_NOT_KNOW = "I do not know which functions are needed.";

/** Writes the answer to a stage, with `mistakes` if given. */
export function writeStage(stage: StageReading, mistakes: StageMistakes = NONE): string {
  const { kind, target, inputs } = stage;
  const links = link(stage);
  const needed = inOrder(target, links, inputs);
  const stated = target !== undefined && inputs.has(target);
  if (needed.length === 0 && !stated) return DO_NOT_KNOW;
  switch (kind) {
    case "plan":
      return writePlan(stage, links, needed);
    case "route": {
      const picked = mistakes.pick(new Set(needed));
      const functions = picked === undefined ? needed : [...needed, picked];
      return `[${functions.map(({ name }) => `'${mistakes.write(name)}'`).join(", ")}]`;
    }
    case "final":
      return writeList(needed.slice(-1).map((one) => listEntry(one, stage, links, mistakes)));
    case "missing":
      return complete(stage, links, needed, mistakes);
  }
}

/** A numbered step for each call, with given values and references to the steps that return others. */
function writePlan(
  { target, inputs }: StageReading,
  { producers, variableOf }: Links,
  needed: readonly FunctionReading[],
): string {
  const steps = new Map(needed.map((one, place) => [one, place + 1]));
  const sourceOf = (variable: string | undefined) => {
    if (variable === undefined) return "a value that is not known";
    if (inputs.has(variable)) return inputs.get(variable);
    const producer = producers.get(variable);
    const step = producer === undefined ? undefined : steps.get(producer);
    if (producer === undefined || step === undefined) return "a value that is not known";
    const part = producer.outputs.length === 1 ? "" : `variable ${variable} in `;
    return `${part}the result of step ${step}`;
  };
  const lines = needed.map(({ name, parameters }, place) => {
    const args = parameters.map((parameter) =>
      `${parameter.name} = ${sourceOf(variableOf(parameter))}`
    );
    return `${place + 1}. ${name}(${args.join(", ")})`;
  });
  return [...lines, `The answer, variable ${target}, is ${sourceOf(target)}.`].join("\n");
}

/** The entry of a function on a list, with given values and placeholders for those that others return. */
function listEntry(
  listed: FunctionReading,
  { inputs }: StageReading,
  { variableOf }: Links,
  { write }: StageMistakes,
): ListedFunction {
  const { name, parameters } = listed;
  const values = parameters.map((parameter) => {
    const variable = variableOf(parameter);
    const value = variable === undefined ? undefined : inputs.get(variable);
    const own = parameter.name;
    return [own, value === undefined ? UNKNOWN : writeValue(listed, own, value)] as const;
  });
  return { name: write(name), parameters: Object.fromEntries(values) };
}

/**
 * Adds the functions that those on the last list directly depend on, in an order in which all can be called.
 * A list that lacks none is marked as complete.
 */
function complete(
  stage: StageReading,
  links: Links,
  needed: readonly FunctionReading[],
  mistakes: StageMistakes,
): string {
  const { functions, inputs, list } = stage;
  // The first list begins with the final call.
  const entries = new Map(
    list.length > 0
      ? list.map((entry) => [mistakes.mean(entry.name), entry])
      : needed.slice(-1).map((one) => [one.name, listEntry(one, stage, links, mistakes)]),
  );
  const listed = Array.from(entries.keys(), (name) => functions.get(name))
    .filter((one) => one !== undefined);
  const missing = new Set(
    listed.flatMap((one) => [...producersFor(one, links, inputs)])
      .filter(({ name }) => !entries.has(name)),
  );
  const isComplete = missing.size === 0 &&
    listed.every(({ parameters }) =>
      parameters.every((parameter) => {
        const variable = links.variableOf(parameter);
        return variable !== undefined && (inputs.has(variable) || links.producers.has(variable));
      })
    );
  const ranks = new Map(needed.map(({ name }, rank) => [name, rank]));
  const rank = (name: string) => ranks.get(name) ?? -1;
  const ordered = [
    ...Array.from(missing, (one) => [one.name, listEntry(one, stage, links, mistakes)] as const),
    ...entries,
  ].sort(([one], [other]) => rank(one) - rank(other));
  return writeList(ordered.map(([, entry]) => entry)) + (isComplete ? ` ${STOP}` : "");
}

function writeList(list: readonly ListedFunction[]): string {
  return jsonText({
    API: list.map(({ name }) => name),
    parameters: list.map(({ parameters }) => parameters),
  });
}
