/**
 * Error classes: what is wrong with an answer to a question of a call set (CallNavi, appendix F).
 * @module
 */

import { defined, fieldOf, isJsonObject, type JsonValue } from "../../base/json.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import type { CallTruth } from "./question_set.ts";
import {
  callFault,
  type CallFormat,
  inTruthOrder,
  isEmpty,
  listedArguments,
  listedNames,
  predictionText,
  predictionValue,
  readYaml,
  scorePrediction,
  type ScoringOptions,
} from "./scoring.ts";

/**
 * The classes of errors in an answer (CallNavi, appendix F):
 *
 * - `hallucination`: It calls a function that is not available.
 * - `unexpected_formatting`: It is not written as the prompt asks, but with fences, notes, other fields, or
 *   cannot be parsed.
 * - `logical_error`: It omits or adds a step, takes them in another order, or has wrong arguments.
 */
export const ERROR_CLASSES = ["hallucination", "unexpected_formatting", "logical_error"] as const;

/** The class of an error in an answer. */
export type ErrorClass = typeof ERROR_CLASSES[number];

/**
 * Returns the error classes of a prediction: none if it is right by {@linkcode scorePrediction}, otherwise
 * one or several. A badly formatted prediction is parsed as far as possible, to find its other errors: what
 * stands around its calls, such as a note, is left out, and broken brackets hide neither names nor arguments
 * (appendix C.2).
 *
 * @param functionNames Names of the available functions; those of the truth are always available.
 */
export function errorClassesOf(
  prediction: JsonValue,
  truth: CallTruth,
  functionNames: Iterable<string>,
  options: ScoringOptions = {},
): ErrorClass[] {
  const scores = scorePrediction(prediction, truth, options);
  if (scores.exact ?? scores.routingExact) return [];
  const known = new Set([...functionNames, ...truth.API]);
  const answer = options.mode === "routing"
    ? namesIn(predictionText(prediction) ?? "")
    : callsIn(prediction, options);
  const wrong: Readonly<Record<ErrorClass, boolean>> = {
    hallucination: answer.names?.some((name) => !known.has(name)) ?? false,
    unexpected_formatting: !answer.isAsAsked,
    logical_error: answer.names !== undefined && isIllogical(answer, truth, known, options),
  };
  const found = ERROR_CLASSES.filter((one) => wrong[one]);
  if (found.length > 0) return found;
  // No class applies: the prediction is wrong only by the published rule's way of parsing.
  return [scores.syntaxValid === false ? "unexpected_formatting" : "logical_error"];
}

/** An answer, parsed as far as possible. */
interface ParsedAnswer {
  /** Whether it is written as the prompt asks. */
  readonly isAsAsked: boolean;
  /** The functions that it calls; omitted if none can be recognized. */
  readonly names?: readonly string[];
  /** The arguments of its calls; omitted in answers with names only. */
  readonly parameters?: JsonValue;
}

/** Returns the names in a text: those of a list, or those left without quotes, brackets and fences. */
function namesIn(text: string): ParsedAnswer {
  const listed = listedNames(text);
  if (listed !== undefined) return { isAsAsked: true, names: listed };
  const bare = text.replaceAll(/```\w*|[`'"[\]\\]/g, "").split(/[,\n]/)
    .map((part) => part.trim()).filter((part) => part !== "");
  // Parts with spaces are sentences.
  if (bare.length === 0 || bare.some((part) => /\s/.test(part))) return { isAsAsked: false };
  return { isAsAsked: false, names: bare };
}

/** Returns the calls of an answer; a badly formatted one is cleaned first. */
function callsIn(prediction: JsonValue, options: ScoringOptions): ParsedAnswer {
  const asIs = predictionValue(prediction, { ...options, rule: "strict" });
  const read = asIs ?? predictionValue(prediction, { ...options, rule: "published" });
  const value = read ?? salvage[options.format ?? "json"](predictionText(prediction) ?? "");
  const given = fieldOf(value, "API");
  const parameters = fieldOf(value, "parameters");
  const names = typeof given === "string" ? [given] : given;
  if (!isTexts(names) || read === undefined && names.length === 0) return { isAsAsked: false };
  // The prompt itself shows names in single quotes, as in Python.
  const isPlain = asIs !== undefined ||
    (options.rule !== "strict" && !predictionText(prediction)!.includes("```"));
  // Where only a part was found, arguments that are missing may have been lost.
  const none = read === undefined ? {} : { parameters: [] };
  return {
    isAsAsked: read !== undefined && isPlain && names === given &&
      Object.keys(value!).length === 2 && Array.isArray(parameters) &&
      parameters.every(isJsonObject),
    names: read === undefined ? names.map((name) => name.trim()) : names,
    // A single call may have its arguments without a list around them (CallNavi, appendix F.2).
    ...(parameters === undefined ? none : {
      parameters: isJsonObject(parameters) && !isEmpty(parameters) ? [parameters] : parameters,
    }),
  };
}

/** Finds calls in a text that has other text around them, or broken brackets: their names, and what can be read. */
const salvage: Readonly<Record<CallFormat, (text: string) => JsonValue | undefined>> = {
  json(text) {
    const key = /["']API["']\s*:/.exec(text);
    if (key === null || text.length > MAX_SALVAGED_LENGTH) return undefined;
    const open = text.lastIndexOf("{", key.index);
    const whole = open === -1 ? undefined : readTolerantJson(text, open)?.value;
    if (fieldOf(whole, "API") !== undefined) return whole;
    const rest = text.slice(key.index + key[0].length);
    const next = /["']parameters["']\s*:/.exec(rest);
    const names = Array.from(
      rest.slice(0, next?.index).matchAll(/"([^"\n]{1,100})"|'([^'\n]{1,100})'/g),
      ([, double, single]) => double ?? single!,
    );
    const parameters = next === null
      ? undefined
      : readTolerantJson(rest, next.index + next[0].length)?.value;
    return defined({ API: names, parameters });
  },
  yaml(text) {
    const lines = text.split("\n");
    const start = lines.findIndex((line) => /^API\s*:/.test(line));
    if (start === -1) return undefined;
    const end = lines.findIndex((line, place) =>
      place > start && !/^(?:\s|-|parameters\s*:|$)/.test(line)
    );
    return readYaml(lines.slice(start, end === -1 ? undefined : end).join("\n"));
  },
};

/** Characters of a text in which calls are looked for: far more than an answer has. */
const MAX_SALVAGED_LENGTH = 100_000;

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Returns whether any call is wrong, apart from calls of functions that do not exist. */
function isIllogical(
  { names: called = [], parameters }: ParsedAnswer,
  truth: CallTruth,
  known: ReadonlySet<string>,
  options: ScoringOptions,
): boolean {
  const made = inTruthOrder({ API: [...called], parameters: parameters ?? null }, truth, options);
  const names = fieldOf(made, "API") as string[];
  const [given, expected] = [fieldOf(made, "parameters"), [...truth.parameters]].map((one) =>
    listedArguments(one, truth.API.length, options.rule)
  );
  const places = Array.from({ length: Math.max(names.length, truth.API.length) }, (_, at) => at);
  return places.some((at) => {
    const name = names[at];
    if (name !== undefined && !known.has(name)) return false;
    if (name !== truth.API[at]) return true;
    return parameters !== undefined &&
      callFault(given?.[at], expected![at] ?? {}, name!, options) !== undefined;
  });
}
