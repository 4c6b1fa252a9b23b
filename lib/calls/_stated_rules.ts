/**
 * Stated rules: what the description of a parameter says in words about its values, where its schema does not.
 *
 * Only common English wordings are read: lists of values, ranges of numbers, lengths, and formats of dates and
 * codes. All else that a description may say is left aside: what a value means, whether it exists, rules that
 * depend on other parameters, and rules in the description of the tool.
 * @module
 */

import type { JsonValue } from "../base/json.ts";

/** Characters of a description that are read, at most. */
const MAX_READ_LENGTH = 2_000;

/** Returns whether a value keeps a rule; values that it says nothing about do. */
type Rule = (value: JsonValue) => boolean;

/**
 * Whether a value breaks a rule that one of the descriptions states. A rule that a right value breaks as well is
 * none: it was misread.
 */
export function breaksStatedRule(
  value: JsonValue,
  descriptions: readonly string[],
  right: readonly JsonValue[],
): boolean {
  return descriptions.some((text) =>
    rulesIn(text.slice(0, MAX_READ_LENGTH)).some((keeps) => !keeps(value) && right.every(keeps))
  );
}

function rulesIn(text: string): Rule[] {
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

function isOneOf(values: readonly string[]): Rule {
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
function rangesIn(sentence: string): Rule[] {
  const within = (least: number, most: number, unit: string | undefined): Rule => (value) => {
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
function dateRules(sentence: string): Rule[] {
  const patterns = [...sentence.matchAll(DATE_PATTERN)].map(([pattern]) =>
    new RegExp(`^${pattern.replaceAll(/[-/.]/g, "\\$&").replaceAll(/[ymdhs]/gi, "\\d")}$`, "i")
  );
  if (patterns.length === 0 || patterns.length === 1 && / or /i.test(sentence)) return [];
  return [ofText((text) => patterns.some((pattern) => pattern.test(text)))];
}

function ofText(keeps: (text: string) => boolean): Rule {
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

function formatsIn(sentence: string): Rule[] {
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
