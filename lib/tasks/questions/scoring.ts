/**
 * Scores of predicted calls against the right ones (CallNavi, sections 5.1 and 6.3, appendix F).
 * @module
 */

import defer * as yaml from "@std/yaml";
import { type CallTruth, PLACEHOLDER } from "./question_set.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import { isWithin } from "../../base/json_depth.ts";
import { normalizeOutput } from "./stability.ts";

/**
 * What is predicted: calls with their `parameters`, as a text; the names of functions only, which is
 * `routing`; or calls that were made natively, as `{API, parameters}`, which is `tools`.
 */
export const CALL_MODES = ["parameters", "routing", "tools"] as const;

/** What is predicted. */
export type CallMode = typeof CALL_MODES[number];

/** How calls are written (CallNavi, appendix E.4). */
export const CALL_FORMATS = ["json", "yaml"] as const;

/** How calls are written. */
export type CallFormat = typeof CALL_FORMATS[number];

/**
 * What counts as right: `published` is what the authors' code does, `strict` what their paper says.
 *
 * | | `published` | `strict` |
 * | --- | --- | --- |
 * | text | quotes ' become " in JSON, fences go, then it is parsed | must parse as it is |
 * | YAML | must be a mapping or a list | is the same |
 * | keys beside those of the truth | are ignored | are wrong |
 * | `"$$$"` in the truth | matches anything where it is a whole argument | matches anything, within arguments too |
 * | `{}` in the truth | matches anything where it is a whole argument | matches itself |
 * | no arguments as `[]` or `[{}]` | is what the truth has | is the same |
 * | names without parameters | case, quotes, brackets and spaces are ignored | a list of quoted names in brackets |
 */
export const SCORING_RULES = ["published", "strict"] as const;

/** What counts as right. */
export type ScoringRule = typeof SCORING_RULES[number];

/** How a prediction is scored. */
export interface ScoringOptions {
  /** What counts as right; default: `published`. */
  readonly rule?: ScoringRule;
  /** What is predicted; default: `parameters`. */
  readonly mode?: CallMode;
  /** How it is written; default: `json`. */
  readonly format?: CallFormat;
}

/** The scores of a prediction; those that a mode does not give are `null`. */
export interface QuestionScores {
  /** Whether the text can be read. */
  readonly syntaxValid: boolean | null;
  /** Whether it has the right calls, in order, and their arguments the right names. */
  readonly structural: boolean | null;
  /** Whether the arguments have the right values, too ("AST exact match"). */
  readonly exact: boolean | null;
  /** Whether the functions are the right ones, in order ("API calling routing"). */
  readonly routingExact: boolean;
}

/**
 * Scores a prediction. Whatever it is, it is no error: what cannot be read scores `false`.
 *
 * @param prediction The text of a model; anything else stands for its JSON text.
 *
 * @example Usage
 * ```ts
 * import { scorePrediction } from "./scoring.ts";
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
    const text = textOf(prediction);
    const routingExact = text !== undefined && rule.routes(text, truth.API);
    return { syntaxValid: null, structural: null, exact: null, routingExact };
  }
  const value = valueOf(prediction, options);
  if (value === undefined) {
    return { syntaxValid: false, structural: false, exact: false, routingExact: false };
  }
  return { syntaxValid: true, ...rule.judge(value, truth) };
}

/**
 * Reads the text of a prediction; `undefined` when it does not parse. So does not what nests deeper than
 * 500 levels, nor YAML that is longer than 100,000 characters or holds what JSON cannot carry, such as dates
 * or values without end; both are far beyond any answer. YAML must be a mapping or a list, too: by its grammar
 * almost every sentence is a text, and would be an answer in good form.
 *
 * @example Usage
 * ```ts
 * import { readPrediction } from "./scoring.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readPrediction("{'API': []}"), { API: [] });
 * assertEquals(readPrediction("{'API': []}", { rule: "strict" }), undefined);
 * assertEquals(readPrediction("API: []", { format: "yaml" }), { API: [] });
 * assertEquals(readPrediction("I am sorry.", { format: "yaml" }), undefined);
 * ```
 */
export function readPrediction(
  text: string,
  { rule = "published", format = "json" }: Pick<ScoringOptions, "rule" | "format"> = {},
): JsonValue | undefined {
  const washed = rule === "published" ? WASH[format](text) : text;
  return format === "json" ? readJson(washed) : readYaml(washed);
}

/** What the authors' code does to a text before it is parsed; quotes mean something else in YAML. */
const WASH: Readonly<Record<CallFormat, (text: string) => string>> = {
  json: (text) => text.replaceAll("'", '"').replaceAll("```json", "").replaceAll("```", ""),
  yaml: (text) => text.replaceAll(/```(?:ya?ml)?/gi, ""),
};

/** Deeper values could overflow the stack of whoever goes through them; no answer comes near. */
const MOST_LEVELS = 500;

function readJson(text: string): JsonValue | undefined {
  const value = parseJson(text);
  return isWithin(value, { levels: MOST_LEVELS }) ? value : undefined;
}

/** The parser's time may grow with the square of the length. */
const LONGEST_YAML = 100_000;
/** Texts that may repeat parts of themselves by aliases grow when they are read. */
const LONGEST_ALIASED = 10_000;

function readYaml(text: string): JsonValue | undefined {
  const isAliased = text.includes("&") && text.includes("*");
  if (text.trim() === "" || text.length > (isAliased ? LONGEST_ALIASED : LONGEST_YAML)) {
    return undefined;
  }
  try {
    const value = yaml.parse(text, { schema: "core" });
    // Without aliases no text has more values than characters.
    return typeof value === "object" && value !== null &&
        isWithin(value, { levels: MOST_LEVELS, values: text.length }) && isJson(value)
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Whether JSON can carry a value. */
function isJson(value: unknown): value is JsonValue {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return value !== undefined;
  return (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) &&
    Object.values(value).every(isJson);
}

/** The text of a prediction; `undefined` for what nests too deep to have one. */
function textOf(prediction: JsonValue): string | undefined {
  if (typeof prediction === "string") return prediction;
  return isWithin(prediction, { levels: MOST_LEVELS }) ? JSON.stringify(prediction) : undefined;
}

/** What is predicted, other than names alone; `undefined` when it cannot be read. */
function valueOf(prediction: JsonValue, options: ScoringOptions): JsonValue | undefined {
  const text = textOf(prediction);
  if (text === undefined) return undefined;
  return options.mode === "tools" ? readJson(text) : readPrediction(text, options);
}

/** What a rule makes of what was read. */
interface Rule {
  /** Whether a text names the right functions. */
  routes(text: string, API: readonly string[]): boolean;
  /** The scores of a value. */
  judge(value: JsonValue, truth: CallTruth): Omit<QuestionScores, "syntaxValid">;
  /** The arguments of so many calls, or of as many as are given; `undefined` where there is no list. */
  arguments(parameters: JsonValue | undefined, calls: number): readonly JsonValue[] | undefined;
  /** Whether the arguments of a call are the right ones. */
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
  // An empty object has as many as an empty list.
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

function fieldOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

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

/** Whether two values are the same; `anything`, where it is expected, is the same as any value. */
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

/** Names as a text in which brackets and quotes do not count; `undefined` where there is anything else. */
function namesText(names: JsonValue | undefined): string | undefined {
  if (typeof names === "string") return names;
  if (!Array.isArray(names)) return undefined;
  const texts = names.map(namesText);
  return texts.includes(undefined) ? undefined : texts.join(",");
}

/** The names of a list of quoted names in brackets; `undefined` when a text is anything else. */
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
 * What can be wrong with an answer (CallNavi, appendix F):
 *
 * - `hallucination`: It calls a function that is not on offer.
 * - `unexpected_formatting`: It is not written as the prompt asks, but with fences, notes, other fields, or
 *   in no form that can be read.
 * - `logical_error`: It omits or adds a step, takes them in another order, or has wrong arguments.
 */
export const ERROR_CLASSES = ["hallucination", "unexpected_formatting", "logical_error"] as const;

/** What can be wrong with an answer. */
export type ErrorClass = typeof ERROR_CLASSES[number];

/**
 * What is wrong with a prediction: none where it is right, by {@linkcode scorePrediction}, and else one or
 * several. What is badly written is read all the same, where that can be done, to tell what else is wrong.
 *
 * @param functionNames The names of the functions on offer; those of the truth count as such.
 *
 * @example Usage
 * ```ts
 * import { errorClassesOf } from "./scoring.ts";
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
    ? namedIn(textOf(prediction) ?? "")
    : callsIn(prediction, options);
  const wrong: Readonly<Record<ErrorClass, boolean>> = {
    hallucination: answer.names?.some((name) => !known.has(name)) ?? false,
    unexpected_formatting: !answer.isAsAsked,
    logical_error: answer.names !== undefined && isIllogical(answer, truth, known, options),
  };
  const found = ERROR_CLASSES.filter((one) => wrong[one]);
  if (found.length > 0) return found;
  // It is only the published rule's way of reading that cannot be made sense of.
  return [scores.syntaxValid === false ? "unexpected_formatting" : "logical_error"];
}

/** An answer as far as it can be read. */
interface Answer {
  /** Whether it is written as the prompt asks. */
  readonly isAsAsked: boolean;
  /** The functions that it calls; left out when none can be made out. */
  readonly names?: readonly string[];
  /** The arguments of its calls; left out in answers that have names alone. */
  readonly parameters?: JsonValue;
}

/** Names in a text: those of a list, or with less of quotes, brackets and fences around them. */
function namedIn(text: string): Answer {
  const listed = listedNames(text);
  if (listed !== undefined) return { isAsAsked: true, names: listed };
  const bare = text.replaceAll(/```\w*|[`'"[\]\\]/g, "").split(/[,\n]/)
    .map((part) => part.trim()).filter((part) => part !== "");
  // What has spaces in it is a sentence.
  if (bare.length === 0 || bare.some((part) => /\s/.test(part))) return { isAsAsked: false };
  return { isAsAsked: false, names: bare };
}

/** The calls of an answer, for which one that is badly written is washed. */
function callsIn(prediction: JsonValue, options: ScoringOptions): Answer {
  const asIs = valueOf(prediction, { ...options, rule: "strict" });
  const value = asIs ?? valueOf(prediction, { ...options, rule: "published" });
  const given = fieldOf(value, "API");
  const parameters = fieldOf(value, "parameters");
  const names = typeof given === "string" ? [given] : given;
  if (!isTexts(names)) return { isAsAsked: false };
  // The prompt itself shows names in the quotes of Python.
  const isPlain = asIs !== undefined ||
    (options.rule !== "strict" && !textOf(prediction)!.includes("```"));
  return {
    isAsAsked: isPlain && names === given && Object.keys(value!).length === 2 &&
      Array.isArray(parameters) && parameters.every(isJsonObject),
    names,
    // One call may bear its arguments without a list around them (CallNavi, appendix F.2).
    parameters: isJsonObject(parameters) && !isEmpty(parameters) ? [parameters] : parameters ?? [],
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

/** Whether the calls are wrong where no invented function stands in the place of the right one. */
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
