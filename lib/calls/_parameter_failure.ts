/**
 * Parameter failures: differences between the arguments of a call and those of the right call (Butterfly,
 * sections 3 and 5.2).
 * @module
 */

import { pointer, violationsOf } from "../tools/schema/violations.ts";
import {
  cutText,
  defined,
  exactJson,
  hasBigint,
  isJsonObject,
  isWithin,
  type JsonObject,
  jsonText,
  type JsonValue,
  pointerKeys,
  writesDigits,
} from "../base/json.ts";
import {
  alignCalls,
  type Leniency,
  leniencyOf,
  leniencyWithin,
  meetsLeniently,
} from "./expected/alignment.ts";
import { isJson, isList, isMatcher, mayBeAbsent, meets } from "./expected/matchers.ts";
import type { ExpectedCall, ExpectedValue } from "../tools/expected_call.ts";
import { Position } from "../tools/schema/position.ts";
import { rougeL } from "./values/_rouge.ts";
import {
  PARAMETER_FAILURE_TYPES,
  PARAMETER_FAILURES,
  parameterFailures,
  type ParameterFailureType,
} from "./failure_types.ts";
import type { RecordedCall } from "./record.ts";
import type { ParameterFailure, ParameterView, Undecided } from "./trace.ts";

/** Levels of nested arguments, at most: deeper ones could overflow a reader's stack. */
const MAX_NESTING = 500;
/** Failures of one call, at most. */
const MAX_FAILURES = 50;
/** Characters of a name, at most. */
const MAX_NAME_LENGTH = 100;
/** Characters of the path to a parameter, at most. */
const MAX_PATH_LENGTH = 500;
/** Characters of a value that are searched for another one, at most. */
const MAX_SEARCHED_LENGTH = 2_000;
/** Characters of a value as JSON, at most. */
const MAX_VALUE_LENGTH = 200;

/**
 * Compares each call of a trial with the expected calls.
 *
 * Calls are aligned with the expected ones by name, in order ({@linkcode alignCalls}). Each parameter of an
 * aligned call has at most one failure:
 *
 * - `hallucination_name`: the schema lists keys and this is none of them.
 * - `missing_information`: the key is expected, or the schema requires it, and it is absent.
 * - `specification_mismatch`: the value violates the schema; `"731"` is not an integer. So does a value that
 *   is not right and breaks a rule that only the description of the parameter states, as far as common wordings
 *   are read: `"Australia"` is no two-letter code. Arguments that are not a JSON object, or nest deeper than 500
 *   levels, are one mismatch as a whole.
 * - `redundant_information`: the schema declares the key, and it is neither expected nor ignored, nor may
 *   there be further ones; the schema's default value is accepted.
 * - `task_deviation`: the value conforms, but is not the expected one. It is reported at the deepest key that
 *   differs; lists are reported as a whole. So is a key that would be redundant, but whose value holds that of
 *   an expected key which is absent from the same object: what the task says stands in the wrong place, as where
 *   `id_list: "0,1,2,3"` is given for the first 3 results (Butterfly, Fig. 9).
 *
 * Without a schema it is undecided whether a key that is not expected is hallucinated or redundant, and
 * whether another value than the expected one is a mismatch or a deviation. A call that corresponds to no
 * expected one only has failures that the schema alone decides.
 *
 * @param schemaOf Returns the schema of a tool's parameters before any perturbation.
 * @throws {InputError} If a schema is invalid, or an expected call sets `defaults`.
 */
export function viewCalls(
  calls: readonly Pick<RecordedCall, "tool" | "arguments" | "written">[],
  expected: readonly ExpectedCall[],
  schemaOf: (tool: string) => JsonObject | undefined,
): readonly ParameterView[] {
  const comparable = calls.map(({ tool, arguments: given, written }) => {
    const isComparable = isJsonObject(given) && isWithin(given, { levels: MAX_NESTING });
    return { tool, arguments: isComparable ? given : undefined, written };
  });
  return alignCalls(comparable, expected).map((place, index) => {
    const { tool, arguments: given, written } = comparable[index]!;
    const view = new FailureView(schemaOf(tool), place === null ? undefined : expected[place]);
    if (given === undefined) view.refuse(written);
    else view.compare(given);
    const undecided = view.undecided();
    return {
      oracle: place === null ? null : place + 1,
      failures: view.failures(),
      ...(undecided.length === 0 ? {} : { undecided }),
    };
  });
}

/** The types between which nothing but a schema decides. */
const SURPLUS = parameterFailures(({ of }) => of === "surplus");
const WRONG_VALUE = parameterFailures(({ of }) => of === "value");

interface Keyed {
  readonly [key: string]: ExpectedValue;
}

/** A value and the right one. */
interface ValuePair {
  readonly path: string;
  readonly given: JsonValue;
  readonly expected: ExpectedValue;
  readonly leniency: Leniency;
}

/** Compares one call with the expected call and with the schema, as far as there are any. */
class FailureView {
  readonly #schema: JsonObject | undefined;
  readonly #expected: ExpectedCall | undefined;
  /** By path, uncut. */
  readonly #failures = new Map<string, ParameterFailure>();
  readonly #undecided = new Map<string, Undecided>();

  constructor(schema: JsonObject | undefined, expected: ExpectedCall | undefined) {
    this.#schema = schema;
    this.#expected = expected;
  }

  /** Records arguments that are not a JSON object, or nest too deep. */
  refuse(text: string): void {
    if (this.#schema === undefined && this.#expected === undefined) return;
    this.#add("specification_mismatch", "", { given: text });
  }

  compare(given: JsonObject): void {
    const schema = this.#schema;
    if (schema !== undefined) {
      for (const { kind, path, given: part } of violationsOf(schema, given)) {
        const [type] = parameterFailures(({ violation }) => violation === kind);
        const expected = expectedAt(this.#expected?.arguments, path);
        this.#add(type!, path, { given: part, expected });
      }
    }
    if (this.#expected === undefined) return;
    const position = schema === undefined ? undefined : new Position(schema);
    const whole = { path: "", leniency: leniencyOf(this.#expected) };
    this.#compareKeys(given, this.#expected.arguments ?? {}, whole, position);
  }

  /** Returns the failures by type, those of a type in the order found. */
  failures(): readonly ParameterFailure[] {
    const all = [...this.#failures.values()];
    const byType = PARAMETER_FAILURE_TYPES.map((type) => all.filter((one) => one.type === type));
    const first = byType.flatMap((some) => some.slice(0, 1));
    const others = byType.flatMap((some) => some.slice(1));
    const kept = new Set([...first, ...others.slice(0, MAX_FAILURES - first.length)]);
    return byType.flat().filter((failure) => kept.has(failure));
  }

  undecided(): readonly Undecided[] {
    return [...this.#undecided.values()].slice(0, MAX_FAILURES);
  }

  /** Compares objects; a difference within a list is reported of the `list` as a whole. */
  #compareKeys(
    given: JsonObject,
    expected: Keyed,
    { path, leniency }: Pick<ValuePair, "path" | "leniency">,
    position: Position | undefined,
    list?: ValuePair,
  ): void {
    const within = position?.within(given);
    const absent: ExpectedValue[] = [];
    for (const [key, value] of Object.entries(expected)) {
      const inner = leniencyWithin(leniency, key);
      if (inner === undefined) continue;
      const place = pointer(path, key);
      if (Object.hasOwn(given, key)) {
        const pair = { path: place, given: given[key]!, expected: value, leniency: inner };
        this.#compare(pair, within?.(key), list);
      } else if (!mayBeAbsent(value)) {
        absent.push(value);
        this.#add("missing_information", place, { expected: value });
      }
    }
    if (leniency.partial) return;
    for (const [key, value] of Object.entries(given)) {
      if (Object.hasOwn(expected, key) || leniencyWithin(leniency, key) === undefined) continue;
      this.#addUnexpected(pointer(path, key), value, within?.(key), absent);
    }
  }

  #compare(pair: ValuePair, position: Position | undefined, list?: ValuePair): void {
    const { path, given, expected, leniency } = pair;
    // The parts of a value that is wrong as a whole are not compared.
    if (this.#failures.has(path)) return;
    if (isJsonObject(given) && isKeyed(expected)) {
      return this.#compareKeys(given, expected, pair, position, list);
    }
    if (Array.isArray(given) && isList(expected) && given.length === expected.length) {
      const within = position?.within(given);
      for (const [index, value] of expected.entries()) {
        const inner = leniencyWithin(leniency, index);
        if (inner === undefined) continue;
        const own = { given: given[index]!, expected: value, leniency: inner };
        this.#compare({ path: pointer(path, index), ...own }, within?.(index), list ?? pair);
      }
    } else if (!meetsLeniently(given, expected, leniency)) {
      this.#addDifference(pair, position, list ?? pair);
    }
  }

  /** Records a key that is not expected; `absent` are the right values of missing keys of its object. */
  #addUnexpected(
    path: string,
    given: JsonValue,
    position: Position | undefined,
    absent: readonly ExpectedValue[],
  ): void {
    if (position === undefined) return this.#addUndecided(path, SURPLUS);
    if (position.defaults.some((value) => meets(given, value))) return;
    const type = breaksStatedRule(given, position.descriptions, [])
      ? "specification_mismatch"
      : absent.flatMap(rightValues).some((value) => holdsWords(given, value))
      ? "task_deviation"
      : "redundant_information";
    this.#add(type, path, { given });
  }

  /** Records a value that is not the right one, as a failure of `whole`: itself or the list around it. */
  #addDifference(
    { path, given, expected }: ValuePair,
    position: Position | undefined,
    whole: ValuePair,
  ): void {
    if (position === undefined) return this.#addUndecided(whole.path, WRONG_VALUE);
    // A matcher does not say which part of a value is wrong: it may be the one already reported.
    const isReported = isMatcher(expected) &&
      this.#failures.keys().some((one) => one.startsWith(`${path}/`));
    if (isReported) return;
    const type = breaksStatedRule(given, position.descriptions, rightValues(expected))
      ? "specification_mismatch"
      : "task_deviation";
    this.#add(type, whole.path, whole);
  }

  /** Records a failure, unless the parameter has one. */
  #add(
    type: ParameterFailureType,
    path: string,
    { given, expected }: { readonly given?: JsonValue; readonly expected?: ExpectedValue },
  ): void {
    if (this.#failures.has(path)) return;
    const similarity = PARAMETER_FAILURES[type].of === "value"
      ? similarityOf(given, expected)
      : undefined;
    const failure = defined({
      type,
      parameter: cutPath(path),
      given: given && cutValue(given),
      expected: expected && cutValue(expected),
      similarity,
    });
    if (hasBigint(failure)) writesDigits(failure);
    this.#failures.set(path, failure);
  }

  #addUndecided(path: string, types: readonly ParameterFailureType[]): void {
    this.#undecided.set(path, { types, parameter: cutPath(path) });
  }
}

function isKeyed(expected: ExpectedValue): expected is Keyed {
  return isJsonObject(expected) && !isMatcher(expected);
}

/** Returns the right value at a path; `undefined` if unknown. */
function expectedAt(expected: ExpectedValue | undefined, path: string): ExpectedValue | undefined {
  let found = path === "" ? undefined : expected;
  for (const key of pointerKeys(path)) {
    if (typeof found !== "object" || found === null || isMatcher(found)) return undefined;
    found = Object.hasOwn(found, key) ? (found as Keyed)[key] : undefined;
  }
  return found;
}

/** Returns the similarity of a text to the right one; of several right ones, to the most similar. */
function similarityOf(
  given: JsonValue | undefined,
  expected: ExpectedValue | undefined,
): number | undefined {
  if (typeof given !== "string" || expected === undefined) return undefined;
  const texts = rightValues(expected).filter((value) => typeof value === "string");
  return texts.length === 0 ? undefined : Math.max(...texts.map((text) => rougeL(given, text)));
}

/** Returns the right values that can be listed. */
function rightValues(expected: ExpectedValue): readonly JsonValue[] {
  const values: readonly ExpectedValue[] = isMatcher(expected) ? expected.values ?? [] : [expected];
  return values.filter((value) => isJson(value));
}

/** Whether a value holds the words of a right one, a text or a number, in their order. */
function holdsWords(given: JsonValue, right: JsonValue): boolean {
  if (!["string", "number", "bigint"].includes(typeof right)) return false;
  const words = wordsOf(right);
  return words !== " " && wordsOf(given).includes(words);
}

/** Returns the words and numbers of a value in lower case, with a space before and behind each. */
function wordsOf(value: JsonValue): string {
  const text = typeof value === "string" ? value : jsonText(value);
  const words = text.slice(0, MAX_SEARCHED_LENGTH).toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return ` ${words.join(" ")} `.replace(/^ {2}$/, " ");
}

function cutPath(path: string): string {
  const names = path.split("/").map((name) => cutText(name, MAX_NAME_LENGTH));
  return cutText(names.join("/"), MAX_PATH_LENGTH);
}

/** Cuts a value to the length that is kept; matchers become their description. */
function cutValue(value: ExpectedValue): JsonValue {
  if (isMatcher(value)) return value.description;
  if (!isWithin(value, { levels: MAX_NESTING })) return "…";
  const text = jsonText(value);
  if (text.length <= MAX_VALUE_LENGTH) return exactJson(text) as JsonValue;
  return `${cutText(typeof value === "string" ? value : text, MAX_VALUE_LENGTH - 1)}…`;
}

/** Characters of a description that are read, at most. */
const MAX_READ_LENGTH = 2_000;

/** Returns whether a value keeps a rule; values that it says nothing about do. */
type ValueRule = (value: JsonValue) => boolean;

/**
 * Whether a value breaks a rule that one of the descriptions states. A rule that a right value breaks as well is
 * none: it was misread.
 */
function breaksStatedRule(
  value: JsonValue,
  descriptions: readonly string[],
  right: readonly JsonValue[],
): boolean {
  return descriptions.some((text) =>
    rulesIn(text.slice(0, MAX_READ_LENGTH)).some((keeps) => !keeps(value) && right.every(keeps))
  );
}

function rulesIn(text: string): ValueRule[] {
  // A point ends a sentence unless it may belong to an abbreviation such as e.g.
  return text.split(/(?<=\w{2}[.;])\s|\n/).flatMap((whole) => {
    if (VAGUE.test(whole)) return [];
    const sentence = whole.replace(EXAMPLES, "");
    const listed = listedValues(sentence);
    if (listed !== undefined) return [isOneOf(listed)];
    const rules = [...rangesIn(sentence), ...dateRules(sentence)];
    // A second format that is not known would be broken as well.
    return / or /i.test(sentence) ? rules : [...rules, ...formatsIn(sentence)];
  });
}

const VAGUE =
  /\b(?:usually|typically|often|recommended|prefer\w*|need not|optionally|etc)\b|\.\.\.|…/i;

const EXAMPLES = /\b(?:such as|for example|for instance|e\.g\.).*$/i;

const LISTING =
  /\b(?:one of|either|(?:possible|allowed|supported|valid|accepted|permitted|available) (?:values|options|choices)(?: are)?|options are|choices are|can be|must be)\b\s*:?\s*/i;

/** Returns the only values that a sentence allows, such as "one of: asc, desc". */
function listedValues(sentence: string): readonly string[] | undefined {
  const found = LISTING.exec(sentence);
  if (found === null) return undefined;
  const list = sentence.slice(found.index + found[0].length).replace(/[.;)]\s*$/, "");
  const quoted = [...list.matchAll(/"([^"]*)"|'([^']*)'|`([^`]*)`/g)]
    .map(([_, one, other, third]) => one ?? other ?? third!);
  const rest = list.replaceAll(/"[^"]*"|'[^']*'|`[^`]*`/g, "");
  if (quoted.length > 1) return /^(?:[\s,|/]|\bor\b|\band\b)*$/.test(rest) ? quoted : undefined;
  // "must be positive or zero" lists no values.
  if (/ be\b/.test(found[0])) return undefined;
  const words = list.split(/\s*(?:,?\s+or\s+|,?\s+and\s+|[,|/])\s*/);
  return words.length > 1 && words.every((word) => /^[\w.+-]+$/.test(word)) ? words : undefined;
}

function isOneOf(values: readonly string[]): ValueRule {
  return (value) =>
    typeof value !== "string" && typeof value !== "number" || values.includes(String(value));
}

const NUMBER = String.raw`(-?\d[\d,]{0,15}(?:\.\d{1,9})?)`;
const LEAST =
  `at least|no less than|greater than or equal to|minimum(?: value)?(?: of| is|:)?|min\\.?:?|>=|≥`;
const MOST =
  `at most|up to|no more than|not exceed|less than or equal to|maximum(?: value)?(?: of| is|:)?|max\\.?:?|<=|≤`;
const UNIT = "(?:\\s+(characters|letters|digits))?";
const RANGES = new RegExp(
  `(?:\\bbetween|\\bfrom|\\brange:?|\\()\\s*${NUMBER}\\s*(?:and|to|-|–|\\.\\.)\\s*${NUMBER}${UNIT}`,
  "gi",
);
const LIMITS = new RegExp(`(?:(${LEAST})|(?:${MOST}))\\s*${NUMBER}${UNIT}`, "gi");

/** Reads ranges and limits: of numbers, or of the length of texts. */
function rangesIn(sentence: string): ValueRule[] {
  const within = (least: number, most: number, unit: string | undefined): ValueRule => (value) => {
    const size = unit === undefined ? value : typeof value === "string" ? value.length : undefined;
    return typeof size !== "number" || size >= least && size <= most;
  };
  const numberIn = (text: string) => Number(text.replaceAll(",", ""));
  return [
    ...[...sentence.matchAll(RANGES)].map(([_, least, most, unit]) =>
      within(numberIn(least!), numberIn(most!), unit)
    ),
    ...[...sentence.matchAll(LIMITS)].map(([_, isLeast, limit, unit]) =>
      isLeast === undefined
        ? within(-Infinity, numberIn(limit!), unit)
        : within(numberIn(limit!), Infinity, unit)
    ),
    ...(/\bpositive (?:integer|number|whole)/i.test(sentence)
      ? [within(Number.MIN_VALUE, Infinity, undefined)]
      : []),
    ...(/\bnon-?negative\b/i.test(sentence) ? [within(0, Infinity, undefined)] : []),
  ];
}

const DATE_PATTERN =
  /(?<![a-z])(?:yyyy|yy|mm|dd|hh|ss)(?:[-/.: t]?(?:yyyy|yy|mm|dd|hh|ss))+z?(?![a-z])/gi;

/** Reads date patterns such as YYYY-MM-DD; of several, any may be kept. */
function dateRules(sentence: string): ValueRule[] {
  const patterns = [...sentence.matchAll(DATE_PATTERN)].map(([pattern]) =>
    new RegExp(`^${pattern.replaceAll(/[-/.]/g, "\\$&").replaceAll(/[ymdhs]/gi, "\\d")}$`, "i")
  );
  if (patterns.length === 0 || patterns.length === 1 && / or /i.test(sentence)) return [];
  return [ofText((text) => patterns.some((pattern) => pattern.test(text)))];
}

function ofText(keeps: (text: string) => boolean): ValueRule {
  return (value) => typeof value !== "string" || keeps(value);
}

const COUNTS: Readonly<Record<string, number>> = { two: 2, three: 3, four: 4, five: 5, six: 6 };
const SIGNS: Readonly<Record<string, string>> = {
  letter: "\\p{L}",
  digit: "\\d",
  character: "[^]",
};

/** Formats, with what a text must look like; whether a code is in upper case is left open. */
const FORMATS: readonly (readonly [words: RegExp, format: RegExp])[] = [
  [/\balpha-?3\b|\bISO[- ]?4217\b/i, /^[a-z]{3}$/i],
  [/\balpha-?2\b|\bISO[- ]?3166(?:-1)?(?!-|\d|.{0,9}alpha-?3)|\bISO[- ]?639-1\b/i, /^[a-z]{2}$/i],
  [/\bISO[- ]?3166-2\b/i, /^[a-z]{2}-[a-z\d]{1,3}$/i],
  [/\bIATA\b/i, /^[a-z\d]{2,3}$/i],
  [/\babbreviat(?:ed|ion)\b/i, /^[\p{L}\d.-]{1,5}$/u],
  [
    /\bISO[- ]?8601\b(?!.{0,20}duration)/i,
    /^\d{4}-?\d\d(?:-?\d\d)?(?:[T ][\d:.,]+(?:Z|[+-][\d:]+)?)?$/,
  ],
  [/\be-?mail address\b/i, /^[^\s@]+@[^\s@]+$/],
  [/\b(?:valid|full|absolute|complete) URL\b/i, /^[a-z][a-z\d+.-]*:\S+$/i],
];

function formatsIn(sentence: string): ValueRule[] {
  const named = FORMATS.filter(([words]) => words.test(sentence)).map(([_, format]) => format);
  const counted = [
    ...sentence.matchAll(
      /\b(two|three|four|five|six|[1-9]\d?)[- ](letter|digit|character)\b|\bexactly (two|three|four|five|six|[1-9]\d?) (letter|digit|character)s\b/gi,
    ),
  ].map(([_, one, sign, other, others]) => {
    const count = (one ?? other)!.toLowerCase();
    const kind = SIGNS[(sign ?? others)!.toLowerCase()]!;
    return new RegExp(`^${kind}{${COUNTS[count] ?? count}}$`, "u");
  });
  return [...named, ...counted].map((format) => ofText((text) => format.test(text)));
}
