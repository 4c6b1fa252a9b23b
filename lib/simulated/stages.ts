/**
 * What can be read from a request that asks for no calls but for a plan or a list of functions: the
 * stages that strategies put before the calls.
 * @module
 */

import { isJsonObject, type JsonObject, parseJson } from "../base/json.ts";
import { readListedFunctions } from "./functions.ts";
import type { Known } from "./linking.ts";
import { readInputs, readTarget } from "./reading.ts";
import { type ChatRequest, textOf } from "./wire.ts";

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
