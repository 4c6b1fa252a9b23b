/**
 * Scoring: compares predicted calls with the right ones (CallNavi, sections 5.1 and 6.3, appendix F).
 * @module
 */

import defer * as yaml from "@std/yaml";
import {
  fieldOf,
  isJsonObject,
  isWithin,
  type JsonObject,
  jsonText,
  type JsonValue,
  LONG_DIGITS,
  parseJson,
  withDigitsOf,
  writtenJson,
} from "../../base/json.ts";
import { attempt } from "../../base/errors.ts";
import { argumentFault, type CallFault } from "./_comparison.ts";
import { type ApiFunction, type CallSet, type CallTruth, PLACEHOLDER } from "./question_set.ts";
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
  /** How its set compares calls. Default: as the rule says. */
  readonly comparison?: CallSet["comparison"] | undefined;
  /** The available functions, by whose schemas the comparison judges types. Default: none. */
  readonly functions?: readonly ApiFunction[];
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
 */
export function scorePrediction(
  prediction: JsonValue,
  truth: CallTruth,
  options: ScoringOptions = {},
): QuestionScores {
  const { rule = "published" } = options;
  if (options.mode === "routing") {
    const text = predictionText(prediction);
    const listed = (rule === "strict" ? listedNames(text ?? "") : text?.match(/[^\s,'"[\]]+/g)) ??
      [];
    const names = options.comparison?.order === undefined
      ? text
      : fieldOf(inTruthOrder({ API: listed }, truth, options), "API");
    const routingExact = routes(rule, names, truth.API);
    return { syntaxValid: null, structural: null, exact: null, routingExact };
  }
  const value = predictionValue(prediction, options);
  if (value === undefined) {
    return { syntaxValid: false, structural: false, exact: false, routingExact: false };
  }
  const { why: _, ...scores } = judge(value, truth, options);
  return { syntaxValid: true, ...scores };
}

/** Returns the scores of a value, and what is wrong first with its calls. */
export function judge(value: JsonValue, truth: CallTruth, options: ScoringOptions) {
  const { API, parameters } = truth;
  const { rule = "published" } = options;
  const ordered = inTruthOrder(value, truth, options);
  const names = fieldOf(ordered, "API");
  if (API[0] === PLACEHOLDER && Array.isArray(names) && names.length > 0) {
    return { structural: true, exact: true, routingExact: true, why: undefined };
  }
  const [given, expected] = [fieldOf(ordered, "parameters"), [...parameters]]
    .map((one) => listedArguments(one, API.length, rule));
  const faults = expected!.map((one, at) => callFault(given?.[at], one, API[at] ?? "", options));
  const structural = isSameList(names, API) && given?.length === expected!.length &&
    faults.every((fault) => fault?.[0] !== "missing_argument");
  const exact = structural && (rule === "published" || Object.keys(Object(value)).length === 2) &&
    faults.every((fault) => fault === undefined);
  const fault = API.map((name, at) =>
    Object(names)[at] === name ? faults[at] : ["wrong_function", name]
  ).find((one) => one !== undefined);
  const why = !Array.isArray(names) || given === undefined
    ? "unreadable"
    : names.length === API.length
    ? fault?.join(": ")
    : "wrong_count";
  return { structural, exact, routingExact: routes(rule, names, API), why };
}

/** Returns the first fault in the arguments of a call of a function; `undefined` if they are right. */
export function callFault(
  given: JsonValue | undefined,
  expected: JsonValue,
  name: string,
  { rule = "published", comparison, functions }: ScoringOptions,
): CallFault | undefined {
  const schema = functions?.find((one) => one.name === name)?.tool.parameters;
  return argumentFault(given, expected, { ...comparison, schema, isStrict: rule === "strict" });
}

/**
 * Returns calls in the order of the right ones, where their own does not count: each right call takes the first call
 * left that fits, or else one of its name. Anything else is returned as it is.
 */
export function inTruthOrder(
  value: JsonValue,
  { API, parameters }: CallTruth,
  options: ScoringOptions,
): JsonValue {
  const names = fieldOf(value, "API");
  const given = fieldOf(value, "parameters");
  if (options.comparison?.order === undefined || !Array.isArray(names)) return value;
  const calls = names.map((name, at) => ({ name, given: Array.isArray(given) ? given[at] : {} }));
  const take = (isRight: (call: typeof calls[number]) => boolean) => {
    const at = calls.findIndex(isRight);
    return at === -1 ? undefined : calls.splice(at, 1)[0];
  };
  const ordered = API.map((name, at) =>
    take((one) =>
      one.name === name &&
      callFault(one.given, parameters[at] ?? {}, name, options) === undefined
    )
  ).map((one, at) => one ?? take(({ name }) => name === API[at])).map((one) => one ?? calls.shift())
    .filter((one) => one !== undefined).concat(calls);
  return {
    ...value as JsonObject,
    API: ordered.map(({ name }) => name),
    ...(Array.isArray(given) && given.length === names.length
      ? { parameters: ordered.map((one) => one.given!) }
      : {}),
  };
}

/**
 * Parses the text of a prediction; `undefined` if that is not possible. Values that nest deeper than 500
 * levels, and YAML of more than 100,000 characters or with values that JSON does not have, such as dates or
 * circular values, are not parsed; all are far beyond any answer. YAML must be a mapping or a list: by its
 * grammar almost every sentence is a string, and would be a valid answer.
 */
export function readPrediction(
  text: string,
  { rule = "published", format = "json", comparison }: ScoringOptions = {},
): JsonValue | undefined {
  const cleaned = rule === "published" ? CLEAN[format](text) : text;
  return format === "json" ? readJson(cleaned, comparison) : readYaml(cleaned);
}

/** Cleans a text before parsing, as the authors' code does; quotes have another meaning in YAML. */
const CLEAN: Readonly<Record<CallFormat, (text: string) => string>> = {
  json: (text) => text.replaceAll("'", '"').replaceAll("```json", "").replaceAll("```", ""),
  yaml: (text) => text.replaceAll(/```(?:ya?ml)?/gi, ""),
};

/** Levels of nesting, at most: deeper values could overflow the stack, and no answer needs them. */
const MAX_LEVELS = 500;

function readJson(text: string, comparison?: ScoringOptions["comparison"]): JsonValue | undefined {
  const value = comparison?.numbers ? writtenJson(text) : parseJson(text);
  return isWithin(value, { levels: MAX_LEVELS }) ? value : undefined;
}

/** Characters of YAML, at most: the parser's time may grow with the square of the length. */
const MAX_YAML_LENGTH = 100_000;
/** Characters of YAML with aliases, at most: aliases repeat parts of the text. */
const MAX_ALIASED_LENGTH = 10_000;

/** Parses YAML; `undefined` if that is not possible, or it is no mapping or list. */
export function readYaml(text: string): JsonValue | undefined {
  const isAliased = text.includes("&") && text.includes("*");
  if (text.trim() === "" || text.length > (isAliased ? MAX_ALIASED_LENGTH : MAX_YAML_LENGTH)) {
    return undefined;
  }
  const value = attempt(() => yaml.parse(text, { schema: "core" }));
  // Without aliases, a text has no more values than characters.
  const isUsable = typeof value === "object" && value !== null &&
    isWithin(value, { levels: MAX_LEVELS, values: text.length }) && isJson(value);
  if (!isUsable || !LONG_DIGITS.test(text)) return isUsable ? value : undefined;
  return withDigitsOf(yaml.parse(text, { schema: "failsafe" }), value);
}

/** Returns whether a value is JSON. */
function isJson(value: unknown): value is JsonValue {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return value !== undefined;
  return (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
    Object.values(value).every(isJson);
}

/** Returns the text of a prediction; `undefined` if it nests too deep. */
export function predictionText(prediction: JsonValue): string | undefined {
  if (typeof prediction === "string") return prediction;
  return isWithin(prediction, { levels: MAX_LEVELS }) ? jsonText(prediction) : undefined;
}

/** Returns the value of a prediction with arguments; `undefined` if it cannot be parsed. */
export function predictionValue(
  prediction: JsonValue,
  options: ScoringOptions,
): JsonValue | undefined {
  const text = predictionText(prediction);
  if (text === undefined) return undefined;
  return options.mode === "tools"
    ? readJson(text, options.comparison)
    : readPrediction(text, options);
}

/** Returns whether names, of a text or of calls, are those of the right functions. */
function routes(rule: ScoringRule, names: JsonValue | undefined, API: readonly string[]): boolean {
  if (rule === "strict") {
    return isSameList(typeof names === "string" ? listedNames(names) : names, API);
  }
  const text = namesText(names);
  return text !== undefined && normalizeOutput(text) === normalizeOutput(API.join(","));
}

/** Returns the arguments of each call; `undefined` if there is no list. */
export function listedArguments(
  parameters: JsonValue | undefined,
  calls: number,
  rule: ScoringRule = "published",
): readonly JsonValue[] | undefined {
  const isNone = isJsonObject(parameters) && isEmpty(parameters);
  // By the published rule an empty object counts as an empty list, which by the strict one has an object for each call.
  const listed = isNone && rule === "published" ? [] : parameters;
  if (!Array.isArray(listed)) return undefined;
  if (rule === "published" || listed.length > 0) return listed;
  return Array.from({ length: calls }, () => ({}));
}

/** Returns whether an object has no keys. */
export function isEmpty(object: JsonObject): boolean {
  return Object.keys(object).length === 0;
}

function isSameList(given: unknown, names: readonly string[]): boolean {
  return Array.isArray(given) && given.length === names.length &&
    names.every((name, place) => given[place] === name);
}

/** Returns names as one text, for a comparison without brackets and quotes; `undefined` for anything else. */
function namesText(names: JsonValue | undefined): string | undefined {
  if (typeof names === "string") return names;
  if (!Array.isArray(names)) return undefined;
  const texts = names.map(namesText);
  return texts.includes(undefined) ? undefined : texts.join(",");
}

/** Parses a list of quoted names in brackets; `undefined` if a text is anything else. */
export function listedNames(text: string): string[] | undefined {
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
