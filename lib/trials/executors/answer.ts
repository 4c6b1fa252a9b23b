/**
 * Final answers: finds the value in a model's final text (FuncBenchGen, section 3.1).
 * @module
 */

import { parseFirstAnswer } from "./_answer_before.ts";

/**
 * The version of the rules by which trials are judged: how answers are read, and how behaviours and failures of
 * parameters are defined. Trials of an earlier version stand as they were judged.
 */
export const JUDGING_RULES = 2;

/** A version of the rules. */
export type JudgingRules = 1 | typeof JUDGING_RULES;

/** Returns what reads answers by the rules of a version. */
export function answerReader(rules: JudgingRules = JUDGING_RULES): typeof parseAnswer {
  return rules === 1 ? parseFirstAnswer : parseAnswer;
}

/**
 * Returns the value that `text` gives for `variable`: its last statement (`x = 512`, `x is 512`, `x → 512`,
 * also with emphasis or in a table); else the last integer in the text; else `null`. List numbers, decimals
 * and integers that a double cannot hold exactly do not count.
 *
 * @example Usage
 * ```ts
 * import { parseAnswer } from "@toolgate/toolgate/trials";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseAnswer("So **bujxe** is `512`, from 731.", "bujxe"), 512);
 * assertEquals(parseAnswer("From 731 we get 512.", "bujxe"), 512);
 * assertEquals(parseAnswer("I do not know.", "bujxe"), null);
 * ```
 */
export function parseAnswer(text: string, variable: string): number | null {
  const integers = integersIn(text);
  const found = statementIn(integers, variable) ?? integers.at(-1);
  return found === undefined ? null : valueOf(found);
}

/** Returns the value that `text` states for `variable`, like {@linkcode parseAnswer}; else `null`. */
export function statedAnswer(text: string, variable: string): number | null {
  const found = statementIn(integersIn(text), variable);
  return found === undefined ? null : valueOf(found);
}

function integersIn(text: string): RegExpExecArray[] {
  return [...text.slice(-MAX_READ_LENGTH).matchAll(INTEGER)]
    .filter((match) => isWhole(match) && !isListNumber(match));
}

/** The last of `integers` that is stated as the value of `variable`. */
function statementIn(integers: readonly RegExpExecArray[], variable: string) {
  return integers.findLast((match) => statesValueOf(variable, match.input, match.index));
}

// Digits that no letter or digit touches, with thousands separators where they are regular. One or
// two underscores may touch them, as emphasis does, if nothing else touches those.
const INTEGER =
  /(?<![\p{L}\p{N}.]|[\p{L}\p{N}]_{1,2}|\d,)[-\u2212]?(?:\d{1,3}(?:[,_]\d{3}){1,5}|\d{1,16})(?!_{0,2}[\p{L}\p{N}])/gu;
/** Only the end of a long text is searched, as answers come last. */
const MAX_READ_LENGTH = 100_000;
/** The most characters between a variable and its value: enough for these words. */
const REACH = 60;
const WORDS =
  "value now then therefore thus equals equal to is was be as of has the a should must " +
  "comes out found boxed text s";
const LINK = new RegExp(
  `^(?:\\b(?:${WORDS.replaceAll(" ", "|")})\\b|[\\s*\`_"'()[\\]{}:=|>→⇒≈—–’$\\\\-])*$`,
  "i",
);

function valueOf(match: RegExpExecArray): number {
  return Number(match[0].replaceAll(/[,_]/g, "").replace("\u2212", "-")) + 0;
}

/** Whether the text before `index` ends with the variable and words that link it to a value. */
function statesValueOf(variable: string, text: string, index: number): boolean {
  const start = Math.max(0, index - REACH - variable.length);
  const before = text.slice(start, index);
  const place = before.toLowerCase().lastIndexOf(variable.toLowerCase());
  // Where the text is cut, the name may be part of a longer one.
  if (place === -1 || (place === 0 && start > 0)) return false;
  const link = before.slice(place + variable.length);
  const alone = !/[\p{L}\p{N}]_*$/u.test(before.slice(0, place)) && !/^_*[\p{L}\p{N}]/u.test(link);
  return alone && link.trim() !== "" && LINK.test(link);
}

/** Whether the match is an integer: no decimals except zeros, and no lost digits. */
function isWhole(match: RegExpExecArray): boolean {
  const after = match.input.slice(
    match.index + match[0].length,
    match.index + match[0].length + 20,
  );
  const fraction = /^[.,]\d/.test(after) && !/^\.0+(?!\d)/.test(after);
  return !fraction && Number.isSafeInteger(valueOf(match));
}

/** Whether the match is a list number at the beginning of a line: `1.` or `2)`. */
function isListNumber({ input, index, 0: digits }: RegExpExecArray): boolean {
  const after = input.slice(index + digits.length, index + digits.length + 2);
  return /(?:^|\n)[ \t]*$/.test(input.slice(Math.max(0, index - 10), index)) &&
    /^[.)]\s/.test(after);
}
