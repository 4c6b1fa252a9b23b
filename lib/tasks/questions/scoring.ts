/**
 * Scoring: compares predicted calls with the right ones (CallNavi, sections 5.1 and 6.3, appendix F).
 * @module
 */

import defer * as yaml from "@std/yaml";
import {
  fieldOf,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../base/json.ts";
import { type CallTruth, PLACEHOLDER } from "./question_set.ts";
import { isWithin } from "../../base/json_depth.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import { normalizeOutput } from "./stability.ts";

/**
 * The kinds of predictions: `parameters` are calls with their arguments, as text; `routing` is the names of
 * functions only; `tools` are native tool calls, as `{API, parameters}`.
 */
export const CALL_MODES = ["parameters", "routing", "tools"] as const;

/** The kind of a prediction. */
export type CallMode = typeof CALL_MODES[number];

/** The formats of calls in text (CallNavi, appendix E.4). */
export const CALL_FORMATS = ["json", "yaml"] as const;

/** The format of calls in text. */
export type CallFormat = typeof CALL_FORMATS[number];

/**
 * The rules of what counts as right: `published` as in the authors' code, `strict` as in their paper.
 *
 * | | `published` | `strict` |
 * | --- | --- | --- |
 * | text | quotes ' become " in JSON, fences are removed, then it is parsed | must parse as it is |
 * | YAML | must be a mapping or a list | is the same |
 * | keys that the truth does not have | are ignored | are wrong |
 * | `"$$$"` in the truth | matches anything if it is a whole argument | matches anything, within arguments too |
 * | `{}` in the truth | matches anything if it is a whole argument | matches itself |
 * | no arguments as `[]` or `[{}]` | must be as in the truth | are the same |
 * | names without parameters | case, quotes, brackets and spaces are ignored | a list of quoted names in brackets |
 */
export const SCORING_RULES = ["published", "strict"] as const;

/** The rule of what counts as right. */
export type ScoringRule = typeof SCORING_RULES[number];

/** Options of {@linkcode scorePrediction}. */
export interface ScoringOptions {
  /** The rule of what counts as right. Default: `published`. */
  readonly rule?: ScoringRule;
  /** The kind of the prediction. Default: `parameters`. */
  readonly mode?: CallMode;
  /** Its format. Default: `json`. */
  readonly format?: CallFormat;
}

/** The scores of a prediction; those that a mode does not give are `null`. */
export interface QuestionScores {
  /** Whether the text can be parsed. */
  readonly syntaxValid: boolean | null;
  /** Whether it has the right calls, in order, and their arguments the right names. */
  readonly structural: boolean | null;
  /** Whether the arguments have the right values, too ("AST exact match"). */
  readonly exact: boolean | null;
  /** Whether the functions are the right ones, in order ("API calling routing"). */
  readonly routingExact: boolean;
}

/**
 * Scores a prediction. Never throws: a prediction that cannot be parsed scores `false`.
 *
 * @param prediction The text of a model; any other value is scored by its JSON text.
 *
 * @example Usage
 * ```ts
 * import { scorePrediction } from "@toolgate/toolgate/tasks";
 * import { assertEquals } from "@std/assert";
 *
 * const truth = { API: ["getBalance"], parameters: [{ accountID: "987654" }] };
 * const text = "{'API': ['getBalance'], 'parameters': [{'accountID': '1'}]}";
 * assertEquals(scorePrediction(text, truth), {
 *   syntaxValid: true,
 *   structural: true,
 *   exact: false,
 *   routingExact: true,
 * });
 * assertEquals(scorePrediction(text, truth, { rule: "strict" }).syntaxValid, false);
 * ```
 */
export function scorePrediction(
  prediction: JsonValue,
  truth: CallTruth,
  options: ScoringOptions = {},
): QuestionScores {
  const rule = RULES[options.rule ?? "published"];
  if (options.mode === "routing") {
    const text = predictionText(prediction);
    const routingExact = text !== undefined && rule.routes(text, truth.API);
    return { syntaxValid: null, structural: null, exact: null, routingExact };
  }
  const value = predictionValue(prediction, options);
  if (value === undefined) {
    return { syntaxValid: false, structural: false, exact: false, routingExact: false };
  }
  return { syntaxValid: true, ...rule.judge(value, truth) };
}

/**
 * Parses the text of a prediction; `undefined` if that is not possible. Values that nest deeper than 500
 * levels, and YAML of more than 100,000 characters or with values that JSON does not have, such as dates or
 * circular values, are not parsed; all are far beyond any answer. YAML must be a mapping or a list: by its
 * grammar almost every sentence is a string, and would be a valid answer.
 */
export function readPrediction(
  text: string,
  { rule = "published", format = "json" }: Pick<ScoringOptions, "rule" | "format"> = {},
): JsonValue | undefined {
  const cleaned = rule === "published" ? CLEAN[format](text) : text;
  return format === "json" ? readJson(cleaned) : readYaml(cleaned);
}

/** Cleans a text before parsing, as the authors' code does; quotes have another meaning in YAML. */
const CLEAN: Readonly<Record<CallFormat, (text: string) => string>> = {
  json: (text) => text.replaceAll("'", '"').replaceAll("```json", "").replaceAll("```", ""),
  yaml: (text) => text.replaceAll(/```(?:ya?ml)?/gi, ""),
};

/** Levels of nesting, at most: deeper values could overflow the stack, and no answer needs them. */
const MAX_LEVELS = 500;

function readJson(text: string): JsonValue | undefined {
  const value = parseJson(text);
  return isWithin(value, { levels: MAX_LEVELS }) ? value : undefined;
}

/** Characters of YAML, at most: the parser's time may grow with the square of the length. */
const MAX_YAML_LENGTH = 100_000;
/** Characters of YAML with aliases, at most: aliases repeat parts of the text. */
const MAX_ALIASED_LENGTH = 10_000;

function readYaml(text: string): JsonValue | undefined {
  const isAliased = text.includes("&") && text.includes("*");
  if (text.trim() === "" || text.length > (isAliased ? MAX_ALIASED_LENGTH : MAX_YAML_LENGTH)) {
    return undefined;
  }
  try {
    const value = yaml.parse(text, { schema: "core" });
    // Without aliases, a text has no more values than characters.
    return typeof value === "object" && value !== null &&
        isWithin(value, { levels: MAX_LEVELS, values: text.length }) && isJson(value)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a value is JSON. */
function isJson(value: unknown): value is JsonValue {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return value !== undefined;
  return (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
    Object.values(value).every(isJson);
}

/** Returns the text of a prediction; `undefined` if it nests too deep. */
function predictionText(prediction: JsonValue): string | undefined {
  if (typeof prediction === "string") return prediction;
  return isWithin(prediction, { levels: MAX_LEVELS }) ? JSON.stringify(prediction) : undefined;
}

/** Returns the value of a prediction with arguments; `undefined` if it cannot be parsed. */
function predictionValue(prediction: JsonValue, options: ScoringOptions): JsonValue | undefined {
  const text = predictionText(prediction);
  if (text === undefined) return undefined;
  return options.mode === "tools" ? readJson(text) : readPrediction(text, options);
}

/** A rule of what counts as right. */
interface Rule {
  /** Returns whether a text names the right functions. */
  routes(text: string, API: readonly string[]): boolean;
  /** Returns the scores of a value. */
  judge(value: JsonValue, truth: CallTruth): Omit<QuestionScores, "syntaxValid">;
  /** Returns the arguments of each call, `calls` empty ones for an empty list; `undefined` if there is no list. */
  arguments(parameters: JsonValue | undefined, calls: number): readonly JsonValue[] | undefined;
  /** Returns whether the arguments of a call are right. */
  agrees(given: JsonValue | undefined, expected: JsonValue): boolean;
}

const PUBLISHED: Rule = {
  routes: (text, API) => normalizeOutput(text) === normalizeOutput(API.join(",")),
  judge(value, { API, parameters }) {
    const names = fieldOf(value, "API");
    const text = namesText(names);
    const given = this.arguments(fieldOf(value, "parameters"), API.length);
    const structural = isSameList(names, API) && given?.length === parameters.length &&
      parameters.every((expected, place) => hasKeysOf(given[place], expected));
    return {
      structural,
      exact: structural &&
        parameters.every((expected, place) => this.agrees(given![place], expected)),
      routingExact: text !== undefined && this.routes(text, API),
    };
  },
  // An empty object counts as an empty list.
  arguments(parameters) {
    if (Array.isArray(parameters)) return parameters;
    return isJsonObject(parameters) && isEmpty(parameters) ? [] : undefined;
  },
  agrees: (given, expected) =>
    hasKeysOf(given, expected) &&
    entriesOf(expected).every(([key, value]) =>
      value === PLACEHOLDER || (isJsonObject(value) && isEmpty(value)) ||
      isSame((given as JsonObject)[key]!, value)
    ),
};

const STRICT: Rule = {
  routes: (text, API) => isSameList(listedNames(text), API),
  judge(value, { API, parameters }) {
    const names = fieldOf(value, "API");
    const routingExact = isSameList(names, API);
    const given = this.arguments(fieldOf(value, "parameters"), API.length);
    const expected = this.arguments([...parameters], API.length)!;
    const structural = routingExact && given?.length === expected.length &&
      expected.every((one, place) => isJsonObject(given[place]) && hasKeysOf(given[place], one));
    return {
      structural,
      exact: structural && Object.keys(value as JsonObject).length === 2 &&
        expected.every((one, place) => this.agrees(given![place], one)),
      routingExact,
    };
  },
  arguments(parameters, calls) {
    if (!Array.isArray(parameters)) return undefined;
    return parameters.length > 0 ? parameters : Array.from({ length: calls }, () => ({}));
  },
  agrees: (given, expected) => given !== undefined && isSame(given, expected, PLACEHOLDER),
};

const RULES: Readonly<Record<ScoringRule, Rule>> = { published: PUBLISHED, strict: STRICT };

function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

function entriesOf(value: JsonValue): [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

function isSameList(given: unknown, names: readonly string[]): boolean {
  return Array.isArray(given) && given.length === names.length &&
    names.every((name, place) => given[place] === name);
}

function hasKeysOf(given: JsonValue | undefined, expected: JsonValue): boolean {
  return entriesOf(expected).every(([key]) => fieldOf(given, key) !== undefined);
}

/** Returns whether two values are the same; an expected `anything` is the same as any value. */
function isSame(given: JsonValue, expected: JsonValue, anything?: string): boolean {
  if (anything !== undefined && expected === anything) return true;
  if (Array.isArray(expected)) {
    return Array.isArray(given) && given.length === expected.length &&
      expected.every((value, place) => isSame(given[place]!, value, anything));
  }
  if (!isJsonObject(expected)) return given === expected;
  return isJsonObject(given) && Object.keys(given).length === Object.keys(expected).length &&
    Object.entries(expected).every(([key, value]) =>
      Object.hasOwn(given, key) && isSame(given[key]!, value, anything)
    );
}

/** Returns names as one text, for a comparison without brackets and quotes; `undefined` for anything else. */
function namesText(names: JsonValue | undefined): string | undefined {
  if (typeof names === "string") return names;
  if (!Array.isArray(names)) return undefined;
  const texts = names.map(namesText);
  return texts.includes(undefined) ? undefined : texts.join(",");
}

/** Parses a list of quoted names in brackets; `undefined` if a text is anything else. */
function listedNames(text: string): string[] | undefined {
  const whole = text.trim();
  if (whole.length < 2 || !whole.startsWith("[") || !whole.endsWith("]")) return undefined;
  const inner = whole.slice(1, -1).trim();
  const names: string[] = [];
  const item = /(?:'([^'\\]*)'|"([^"\\]*)")\s*(?:,\s*(?=['"])|$)/y;
  while (item.lastIndex < inner.length) {
    const found = item.exec(inner);
    if (found === null) return undefined;
    names.push((found[1] ?? found[2])!);
  }
  return names;
}

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
 *
 * @example Usage
 * ```ts
 * import { errorClassesOf } from "@toolgate/toolgate/tasks";
 * import { assertEquals } from "@std/assert";
 *
 * const truth = { API: ["getBaggageStatus"], parameters: [{ baggageId: "BAG123" }] };
 * const wrong = "{'API': ['getLostBaggage'], 'parameters': [{}]}";
 * const names = ["getBaggageStatus", "getFlight"];
 * assertEquals(errorClassesOf(wrong, truth, names, { rule: "strict" }), [
 *   "hallucination",
 *   "unexpected_formatting",
 * ]);
 * ```
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
interface Answer {
  /** Whether it is written as the prompt asks. */
  readonly isAsAsked: boolean;
  /** The functions that it calls; omitted if none can be recognized. */
  readonly names?: readonly string[];
  /** The arguments of its calls; omitted in answers with names only. */
  readonly parameters?: JsonValue;
}

/** Returns the names in a text: those of a list, or those left without quotes, brackets and fences. */
function namesIn(text: string): Answer {
  const listed = listedNames(text);
  if (listed !== undefined) return { isAsAsked: true, names: listed };
  const bare = text.replaceAll(/```\w*|[`'"[\]\\]/g, "").split(/[,\n]/)
    .map((part) => part.trim()).filter((part) => part !== "");
  // Parts with spaces are sentences.
  if (bare.length === 0 || bare.some((part) => /\s/.test(part))) return { isAsAsked: false };
  return { isAsAsked: false, names: bare };
}

/** Returns the calls of an answer; a badly formatted one is cleaned first. */
function callsIn(prediction: JsonValue, options: ScoringOptions): Answer {
  const asIs = predictionValue(prediction, { ...options, rule: "strict" });
  const value = asIs ?? predictionValue(prediction, { ...options, rule: "published" });
  if (value === undefined && typeof prediction === "string") {
    const { API: names, ...found } = salvage[options.format ?? "json"](prediction);
    return { isAsAsked: false, ...(names === undefined ? {} : { names, ...found }) };
  }
  const given = fieldOf(value, "API");
  const parameters = fieldOf(value, "parameters");
  const names = typeof given === "string" ? [given] : given;
  if (!isTexts(names)) return { isAsAsked: false };
  // The prompt itself shows names in single quotes, as in Python.
  const isPlain = asIs !== undefined ||
    (options.rule !== "strict" && !predictionText(prediction)!.includes("```"));
  return {
    isAsAsked: isPlain && names === given && Object.keys(value!).length === 2 &&
      Array.isArray(parameters) && parameters.every(isJsonObject),
    names,
    // A single call may have its arguments without a list around them (CallNavi, appendix F.2).
    parameters: isJsonObject(parameters) && !isEmpty(parameters) ? [parameters] : parameters ?? [],
  };
}

/** The calls found in a text that cannot be parsed as a whole. */
interface Salvaged {
  /** The names; omitted if there are none. */
  readonly API?: readonly string[];
  /** The arguments, as far as they can be read. */
  readonly parameters?: JsonValue;
}

/** Finds calls in a text that has other text around them, or broken brackets. */
const salvage: Readonly<Record<CallFormat, (text: string) => Salvaged>> = {
  json(text) {
    const key = /["']API["']\s*:/.exec(text);
    if (key === null || text.length > MAX_SALVAGED_LENGTH) return {};
    const open = text.lastIndexOf("{", key.index);
    const whole = open === -1 ? undefined : readTolerantJson(text, open)?.value;
    if (fieldOf(whole, "API") !== undefined) return salvaged(whole);
    const rest = text.slice(key.index + key[0].length);
    const next = /["']parameters["']\s*:/.exec(rest);
    const names = Array.from(
      rest.slice(0, next?.index).matchAll(/"([^"\n]{1,100})"|'([^'\n]{1,100})'/g),
      ([, double, single]) => double ?? single!,
    );
    const parameters = next === null
      ? undefined
      : readTolerantJson(rest, next.index + next[0].length)?.value;
    return salvaged({ API: names, ...(parameters === undefined ? {} : { parameters }) });
  },
  yaml(text) {
    const lines = text.split("\n");
    const start = lines.findIndex((line) => /^API\s*:/.test(line));
    if (start === -1) return {};
    const end = lines.findIndex((line, place) =>
      place > start && !/^(?:\s|-|parameters\s*:|$)/.test(line)
    );
    return salvaged(readYaml(lines.slice(start, end === -1 ? undefined : end).join("\n")));
  },
};

/** Characters of a text in which calls are looked for: far more than an answer has. */
const MAX_SALVAGED_LENGTH = 100_000;

function salvaged(value: JsonValue | undefined): Salvaged {
  const given = fieldOf(value, "API");
  const names = typeof given === "string" ? [given] : given;
  const parameters = fieldOf(value, "parameters");
  if (!isTexts(names) || names.length === 0) return {};
  return {
    API: names.map((name) => name.trim()),
    ...(parameters === undefined
      ? {}
      : { parameters: isJsonObject(parameters) ? [parameters] : parameters }),
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Returns whether any call is wrong, apart from calls of functions that do not exist. */
function isIllogical(
  { names = [], parameters }: Answer,
  truth: CallTruth,
  known: ReadonlySet<string>,
  options: ScoringOptions,
): boolean {
  const rule = RULES[options.rule ?? "published"];
  const [given, expected] = [parameters, [...truth.parameters]].map((one) =>
    rule.arguments(one, truth.API.length)
  );
  const places = Array.from({ length: Math.max(names.length, truth.API.length) }, (_, at) => at);
  return places.some((at) => {
    const name = names[at];
    if (name !== undefined && !known.has(name)) return false;
    if (name !== truth.API[at]) return true;
    return parameters !== undefined && !rule.agrees(given?.[at], expected![at] ?? {});
  });
}
