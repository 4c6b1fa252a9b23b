/**
 * Examples within texts: finds and removes sentences, phrases and parentheses that give an example.
 * @module
 */

import type { Span } from "../queries/literals.ts";
import { spansToRemove } from "../_removal.ts";

/**
 * Returns a text without its examples: sentences such as `Example: 7.` and `For example, use 7.`, parentheses
 * such as `(e.g. 7)`, and the rest of a sentence from `e.g.` on. Spaces and punctuation around them are tidied.
 */
export function withoutExamples(text: string): string {
  // A removal can form a new example; text that people write needs far fewer rounds than this limit.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const rest = withoutExamplesOnce(text);
    if (rest === text) break;
    text = rest;
  }
  return text;
}

const MAX_ROUNDS = 10;

function withoutExamplesOnce(text: string): string {
  const spans = spansToRemove(text, examplesIn(text));
  const from = [0, ...spans.map(({ end }) => end)];
  return from.map((start, place) => text.slice(start, spans[place]?.start)).join("");
}

const BLANKS = "[\\p{Zs}\\t]*";
const LETTER = "[\\p{L}\\p{N}]";
/** Quotes and brackets are at most so long, as each that does not close is looked for. */
const MOST = "{0,500}";

/** The words that introduce examples. */
const LABEL = `(?<!${LETTER})(?:usage )?examples?(?: (?:values?|usages?|inputs?|calls?))? ?[:：]`;
const SENTENCE = `(?<!${LETTER})(?:an )?examples? (?:is|are|include)(?!${LETTER})`;
const PHRASE = `(?<![\\p{L}\\p{N}.])(?:for (?:example|instance)|e\\. ?g\\.?|eg\\.)(?!${LETTER})`;
const ANY = `(?:${LABEL}|${SENTENCE}|${PHRASE})`;

const QUOTE =
  `(?:\`[^\`\\n]${MOST}\`|“[^“”\\n]${MOST}”|(?<!${LETTER})(?:"[^"\\n]${MOST}"|'[^'\\n]${MOST}')(?!${LETTER}))`;
const PLAIN = "[^()[\\]{}]";
const GROUP =
  `[([{](?:${PLAIN}|[([{](?:${PLAIN}|[([{]${PLAIN}${MOST}[)\\]}])${MOST}[)\\]}])${MOST}[)\\]}]`;

/** The mark that ends a sentence: it is not part of an abbreviation, and no lower-case word follows a pause. */
const END = "(?:[。！？]+|[.!?…]+(?=[\"”'’`]?(?:$|[\\s)\\]}]))" +
  "(?<!(?:^|[^\\p{L}])(?:mr|mrs|ms|dr|prof|st|vs|approx|cf|i\\.e|e\\.g)\\.)" +
  "(?!(?<=…|\\.\\.|\\betc\\.|\\.\\p{L}\\.)\\s?(?-i:\\p{Ll})))";
/** A line break, unless the sentence goes on in the next line. */
const BREAK = "\\n(?!\\s*(?-i:\\p{Ll}))";
/** What belongs to an example, up to what ends it. */
const bodyTo = (ends: string) =>
  `[\\s,:]*(?:${GROUP}|(?!${QUOTE}(?<=[.!?].)(?:\\s|$))${QUOTE}|(?!${END}|[)\\]}]|${BREAK}${ends})[^])*`;

/** Where a sentence begins, or an item of a list. */
const BEGIN = `(?<=(?:^|[.!?。！？…\\n•*]|(?:^|\\n)[ \\t]*-)${BLANKS})`;

/** Quotes, which are no examples, and examples: with what they end, of whole sentences, or only up to it. */
const EXAMPLE = new RegExp(
  [
    QUOTE,
    `(?<whole>[([{]${BLANKS}${ANY}(?:${GROUP}|${PLAIN})*[)\\]}])`,
    `(?<block>${BEGIN}${LABEL}[^\\S\\n]*\\n(?:(?!\\n[^\\S\\n]*(?:\\n|$))[^])*)`,
    `(?<sentence>${BEGIN}${ANY}${bodyTo("")}(?:${END}["”'’\`]?)?)`,
    `(?<part>(?:[([{:–—-]${BLANKS})?(?:${PHRASE}|(?<=[,;:–—-]${BLANKS})${LABEL})${bodyTo("|;")})` +
    `(?:${END}(?<quote>["”'’\`]))?`,
  ].join("|"),
  "giu",
);

/** The examples in a text, in order and without overlaps. */
function examplesIn(text: string): Span[] {
  return withoutLoneClosers(text).matchAll(EXAMPLE).flatMap(({ 0: all, index, groups = {} }) => {
    const { whole, block, sentence, part, quote } = groups;
    const found = whole ?? block ?? sentence ?? part;
    if (found === undefined) return [];
    const span = { start: index, end: index + found.length };
    const end = index + all.length;
    return quote === undefined ? [span] : [span, { start: end - 1, end }];
  }).toArray();
}

const OPENERS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** The text with a letter in place of each bracket that closes nothing, as in `1) Paris`. */
function withoutLoneClosers(text: string): string {
  const open: string[] = [];
  return text.replace(/[()[\]{}]/g, (bracket) => {
    const opener = OPENERS[bracket];
    if (opener === undefined) open.push(bracket);
    else if (open.at(-1) === opener) open.pop();
    else return "x";
    return bracket;
  });
}
