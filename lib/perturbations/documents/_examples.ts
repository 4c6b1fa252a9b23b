/**
 * Examples within texts: finds and removes sentences, phrases and parentheses that give an example.
 * @module
 */

import { spansToRemove } from "../_removal.ts";

const [LABEL, SENTENCE, PHRASE] = [
  "(?:usage )?examples?(?: (?:values?|usages?|inputs?|calls?))? ?[:：]",
  "(?:an )?examples? (?:is|are|include)(?![\\p{L}\\p{N}])",
  "(?:for (?:example|instance)|e\\. ?g\\.?|eg\\.)(?![\\p{L}\\p{N}])",
].map((words) => {
  const anyCase = words.replaceAll(/(?<!\\)[a-z]/g, (one) => `[${one}${one.toUpperCase()}]`);
  return `(?<![\\p{L}\\p{N}.])${anyCase}`;
});
const ANY = `(?:${LABEL}|${SENTENCE}|${PHRASE})`;

const QUOTE =
  "`[^`\\n]*`|“[^“”\\n]*”|(?<![\\p{L}\\p{N}])(?:\"[^\"\\n]*\"|'[^'\\n]*')(?![\\p{L}\\p{N}])";
/** Brackets, with one level of others in them. */
const BRACKETS = ["()", "[]", "{}"].map((pair) => {
  const [open, close] = [...pair].map((bracket) => `\\${bracket}`);
  const other = `[^${open}${close}]*`;
  return `${open}${other}(?:${open}${other}${close}${other})*${close}`;
}).join("|");
/** What follows up to the end of a sentence: a point within a word, or before a small letter, is none. */
const REST =
  `(?:[\\s,:]*)(?:${QUOTE}|${BRACKETS}|[^.!?。！？…;\\n)\\]}]|[.!?…](?=[^\\s)\\]}"'”’\`])|` +
  "[.…](?= ?\\p{Ll})|\\n(?=[^\\S\\n]*\\p{Ll}))*";

/** Where a sentence, a line or an item of a list begins. */
const BEGINS = "(?<=(?:^|[.!?。！？…\\n•*]|(?:^|\\n)[ \\t]*-)[\\p{Zs}\\t]*)";

/** Quotes, which are passed over, and examples: in brackets, as a block, as a sentence, in a sentence. */
const EXAMPLE = new RegExp(
  [
    `(?<quote>${QUOTE})`,
    `(?=[([{]\\s*${ANY})(?:${BRACKETS})`,
    `${BEGINS}${LABEL}[^\\S\\n]*\\n(?:(?!\\n[^\\S\\n]*\\n)[^])*`,
    `${BEGINS}${ANY}${REST}[.!?。！？…]*`,
    `(?:[([{:–—-][\\p{Zs}\\t]*)?${PHRASE}${REST}`,
    `(?<=[,;:–—-][\\p{Zs}\\t]?)${LABEL}${REST}`,
  ].join("|"),
  "gu",
);

// A removal can form a new example; text that people write needs far fewer rounds than this limit.
const MAX_ROUNDS = 10;

/**
 * Returns a text without its examples: sentences such as `Example: 7.` and `For example, use 7.`, parentheses
 * such as `(e.g. 7)`, and the rest of a sentence from `e.g.` on. Spaces and punctuation around them are tidied.
 */
export function withoutExamples(text: string): string {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const examples = text.matchAll(EXAMPLE).filter(({ groups }) => groups!["quote"] === undefined)
      .map(({ 0: { length }, index }) => ({ start: index, end: index + length }));
    const spans = spansToRemove(text, [...examples]);
    if (spans.length === 0) break;
    const from = [0, ...spans.map(({ end }) => end)];
    text = from.map((start, place) => text.slice(start, spans[place]?.start)).join("");
  }
  return text;
}
