/**
 * What can be read from a request that asks for no calls but for a plan or a list of functions: the
 * stages that strategies put before the calls.
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import { type FunctionReading, readListedFunctions } from "./functions.ts";
import { inOrder, type Known, link, type Links, producersFor } from "./linking.ts";
import { readInputs, readTarget } from "./reading.ts";
import { type ChatRequest, textOf } from "./wire.ts";
import { writeValue } from "./arguments.ts";

/**
 * | stage | what is asked for |
 * | --- | --- |
 * | `plan` | numbered steps |
 * | `route` | the names of the functions that are needed |
 * | `final` | the call that gives the answer |
 * | `missing` | the list of the last answer, with what is missing in it |
 */
export type StageKind = "plan" | "route" | "final" | "missing";

/** A function on a list, with the arguments that stand beside it. */
export interface Listed {
  readonly name: string;
  readonly parameters: JsonObject;
}

/** A request of a stage. */
export interface StageReading extends Known {
  /** What is asked for. */
  readonly kind: StageKind;
  /** The text of the question. */
  readonly question: string;
  /** The variable asked for. */
  readonly target: string | undefined;
  /** How many answers there were before. */
  readonly round: number;
  /** The list of the last answer; empty where there is none. */
  readonly list: readonly Listed[];
}

/** By these words a stage is known. */
const WORDS: readonly (readonly [StageKind, string])[] = [
  ["missing", "fill in the missing information"],
  ["plan", "write a plan"],
  ["route", "the correct API names to call"],
  ["final", "a correct last one task API name"],
];

/** Reads the request of a stage; `undefined` if it is none: then calls are asked for. */
export function readStage({ messages, tools }: ChatRequest): StageReading | undefined {
  const last = messages.at(-1);
  if ((tools ?? []).length > 0 || last?.role !== "user") return undefined;
  const text = textOf(last.content);
  const kind = WORDS.find(([, words]) => text.includes(words))?.[0];
  if (kind === undefined) return undefined;
  const said = messages.filter((message) => message.role === "user");
  const question = said.map((message) => readQuestion(textOf(message.content)))
    .findLast((read) => read !== undefined);
  if (question === undefined) return undefined;
  const answers = messages.filter((message) => message.role === "assistant");
  return {
    ...question,
    kind,
    target: readTarget(question.question),
    inputs: new Map(readInputs(question.question)),
    round: answers.length,
    list: readList(textOf(answers.at(-1)?.content)),
  };
}

/** In a plan's prompt the question comes before the functions, in others behind them. */
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

/** The JSON list behind `mark`, with the places where the mark begins and the list ends. */
function findList(text: string, mark: string) {
  const start = text.indexOf(mark);
  const list = start === -1 ? undefined : findJson(text, text.indexOf("[", start));
  return list === undefined ? undefined : { ...list, start };
}

/** The JSON that begins at `start`, and the place where it ends. */
function findJson(text: string, start: number) {
  if (start === -1) return undefined;
  let depth = 0;
  let quoted = false;
  for (let place = start; place < text.length; place++) {
    const character = text[place]!;
    if (character === '"') quoted = !quoted;
    else if (quoted && character === "\\") place++;
    else if (!quoted && "[{".includes(character)) depth++;
    else if (!quoted && "]}".includes(character) && --depth === 0) {
      return { value: parseJson(text.slice(start, place + 1)), end: place + 1 };
    }
  }
  return undefined;
}

/** The functions of an answer like `{"API": ["name"], "parameters": [{"parameter": "value"}]}`. */
function readList(text: string): readonly Listed[] {
  const written = findJson(text, text.indexOf("{"))?.value;
  if (!isJsonObject(written)) return [];
  const { API: names, parameters } = written;
  return (Array.isArray(names) ? names : []).flatMap((name, place): Listed[] => {
    if (typeof name !== "string") return [];
    const given = Array.isArray(parameters) ? parameters[place] : undefined;
    return [{ name, parameters: isJsonObject(given) ? given : {} }];
  });
}

/** How a list goes wrong. */
export interface StageMistakes {
  /** The name that is written for a function. */
  readonly write: (name: string) => string;
  /** The function that a name on a list stands for. */
  readonly mean: (name: string) => string;
  /** A function that is picked without need, given those that are needed. */
  readonly pick: (needed: ReadonlySet<FunctionReading>) => FunctionReading | undefined;
}

const NONE: StageMistakes = {
  write: (name) => name,
  mean: (name) => name,
  pick: () => undefined,
};

/** Stands on a list for what is not known yet. */
const UNKNOWN = "$$$";

/** Stands behind a list that is complete. */
const STOP = "<!stop>";

/** What to say where it is not known which functions are needed. */
export const DO_NOT_KNOW = "I do not know which functions are needed.";

/** The answer to a stage, which `mistakes` may spoil. */
export function writeStage(stage: StageReading, mistakes: StageMistakes = NONE): string {
  const { kind, target, inputs } = stage;
  const links = link(stage);
  const needed = inOrder(target, links, inputs);
  const given = target !== undefined && inputs.has(target);
  if (needed.length === 0 && !given) return DO_NOT_KNOW;
  switch (kind) {
    case "plan":
      return writePlan(stage, links, needed);
    case "route": {
      const picked = mistakes.pick(new Set(needed));
      const functions = picked === undefined ? needed : [...needed, picked];
      return `[${functions.map(({ name }) => `'${mistakes.write(name)}'`).join(", ")}]`;
    }
    case "final":
      return writeList(needed.slice(-1).map((one) => enter(one, stage, links, mistakes)));
    case "missing":
      return complete(stage, links, needed, mistakes);
  }
}

/** One numbered step a call, with the values that are given and the steps that return the others. */
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
    return step === undefined ? "a value that is not known" : `the result of step ${step}`;
  };
  const lines = needed.map(({ name, parameters }, place) => {
    const given = parameters.map((parameter) =>
      `${parameter.name} = ${sourceOf(variableOf(parameter))}`
    );
    return `${place + 1}. ${name}(${given.join(", ")})`;
  });
  return [...lines, `The answer, variable ${target}, is ${sourceOf(target)}.`].join("\n");
}

/** A function's place on a list: what is given stands there, what others return does not. */
function enter(
  listed: FunctionReading,
  { inputs }: StageReading,
  { variableOf }: Links,
  { write }: StageMistakes,
): Listed {
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
 * The list of the last answer and, in an order in which all can be called, what its functions wait for
 * directly. One that lacks nothing is complete.
 */
function complete(
  stage: StageReading,
  links: Links,
  needed: readonly FunctionReading[],
  mistakes: StageMistakes,
): string {
  const { functions, inputs, list } = stage;
  // Where there is no list yet, it begins with the final call.
  const entries = new Map(
    list.length > 0
      ? list.map((entry) => [mistakes.mean(entry.name), entry])
      : needed.slice(-1).map((one) => [one.name, enter(one, stage, links, mistakes)]),
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
    ...Array.from(missing, (one) => [one.name, enter(one, stage, links, mistakes)] as const),
    ...entries,
  ].sort(([one], [other]) => rank(one) - rank(other));
  return writeList(ordered.map(([, entry]) => entry)) + (isComplete ? ` ${STOP}` : "");
}

function writeList(list: readonly Listed[]): string {
  return JSON.stringify({
    API: list.map(({ name }) => name),
    parameters: list.map(({ parameters }) => parameters),
  });
}
