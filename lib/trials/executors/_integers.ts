/**
 * The integers of a final answer, and the words by which they are stated for a variable.
 * @module
 */

/** The integers in the end of a text that may be values: no list numbers and no decimals. */
export function integersIn(text: string): RegExpExecArray[] {
  return [...text.slice(-MAX_READ_LENGTH).matchAll(INTEGER)]
    .filter((match) => isWhole(match) && !isListNumber(match));
}

/** The last of `integers` that is stated as the value of `variable`, with words that `link` takes between. */
export function statementIn(
  integers: readonly RegExpExecArray[],
  variable: string,
  link: RegExp,
): RegExpExecArray | undefined {
  return integers.findLast(({ input, index }) => statesValueOf(variable, input, index, link));
}

/** The number that a match stands for. */
export function valueOf(match: RegExpExecArray): number {
  return Number(match[0].replaceAll(/[,_]/g, "").replace("\u2212", "-")) + 0;
}

/** Returns the expression for what may stand between a variable and its value: some words, and signs. */
export function linkOf(words: string, signs = "", end = "$"): RegExp {
  return new RegExp(
    `^(?:\\b(?:${
      words.replaceAll(" ", "|")
    })\\b|[\\s*\`_"'()[\\]{}:=|>→⇒≈—–’$\\\\${signs}-])*${end}`,
    "i",
  );
}

// Digits that no letter or digit touches, with thousands separators where they are regular. One or
// two underscores may touch them, as emphasis does, if nothing else touches those.
const INTEGER =
  /(?<![\p{L}\p{N}.]|[\p{L}\p{N}]_{1,2}|\d,)[-\u2212]?(?:\d{1,3}(?:[,_]\d{3}){1,5}|\d{1,16})(?!_{0,2}[\p{L}\p{N}])/gu;
/** Only the end of a long text is searched, as answers come last. */
export const MAX_READ_LENGTH = 100_000;
/** The most characters between a variable and its value: enough for these words. */
export const REACH = 60;
/** The words of English that link a variable to its value. */
export const LINK_WORDS =
  "value now then therefore thus equals equal to is was be as of has the a " +
  "should must comes out found boxed text s";
/** Whether the text before `index` ends with the variable and words that link it to a value. */
function statesValueOf(variable: string, text: string, index: number, links: RegExp): boolean {
  const start = Math.max(0, index - REACH - variable.length);
  const before = text.slice(start, index);
  const place = before.toLowerCase().lastIndexOf(variable.toLowerCase());
  // Where the text is cut, the name may be part of a longer one.
  if (place === -1 || (place === 0 && start > 0)) return false;
  const link = before.slice(place + variable.length);
  return isAlone(before.slice(0, place), link) && link.trim() !== "" && links.test(link);
}

/** Whether no letter or digit touches what stands between two texts. */
export function isAlone(before: string, after: string): boolean {
  return !/[\p{L}\p{N}]_*$/u.test(before) && !/^_*[\p{L}\p{N}]/u.test(after);
}

/** Whether the match is an integer: no decimals except zeros, and no lost digits. */
function isWhole(match: RegExpExecArray): boolean {
  const following = after(match, 20);
  const fraction = /^[.,]\d/.test(following) && !/^\.0+(?!\d)/.test(following);
  return !fraction && Number.isSafeInteger(valueOf(match));
}

/** Whether the match is a list number at the beginning of a line: `1.` or `2)`. */
function isListNumber(match: RegExpExecArray): boolean {
  return /(?:^|\n)[ \t]*$/.test(before(match.input, match.index, 10)) &&
    /^[.)]\s/.test(after(match, 2));
}

/** The text before `index`. */
export function before(text: string, index: number, reach = REACH): string {
  return text.slice(Math.max(0, index - reach), index);
}

/** The text after an integer. */
export function after({ input, index, 0: digits }: RegExpExecArray, reach = REACH): string {
  const end = index + digits.length;
  return input.slice(end, end + reach);
}
