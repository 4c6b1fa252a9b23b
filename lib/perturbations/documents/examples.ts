/**
 * Examples in words: the sentences, parts of sentences and parentheses of a text that give some.
 * @module
 */

import type { Span } from "../queries/literals.ts";
import { removedWith } from "../removal.ts";

/**
 * A text without its examples: sentences such as `Example: 7.` and `For example, use 7.`, parentheses such
 * as `(e.g. 7)`, and the rest of a sentence from `e.g.` on. Spaces and points around what goes are tidied.
 *
 * @example Usage
 * ```ts
 * import { withoutExamples } from "./examples.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(withoutExamples("A city, e.g. Paris. Example: Rome. Required."), "A city. Required.");
 * assertEquals(withoutExamples("The day (e.g. Monday)."), "The day.");
 * ```
 */
export function withoutExamples(text: string): string {
  // What is left may read as an example anew; so often it is no text that people write.
  for (let times = 0; times < MOST_TIMES; times++) {
    const rest = removed(text);
    if (rest === text) break;
    text = rest;
  }
  return text;
}

const MOST_TIMES = 10;

function removed(text: string): string {
  const gone = removedWith(text, examplesIn(text));
  const from = [0, ...gone.map(({ end }) => end)];
  return from.map((start, place) => text.slice(start, gone[place]?.start)).join("");
}

/** What opens, parts or ends something, quotes as a whole, and what examples begin with. */
const TOKEN = new RegExp(
  [
    /(?<quote>`[^`\n]*`|“[^“”\n]*”|(?<![\p{L}\p{N}])(?:"[^"\n]*"|'[^'\n]*')(?![\p{L}\p{N}]))/u,
    /(?<bracket>[()[\]{}])/u,
    /(?<end>[.!?。！？…]+|\n|;)/u,
    /(?<![\p{L}\p{N}])(?<label>(?:usage )?examples?(?: (?:values?|usages?|inputs?|calls?))? ?[:：])/u,
    /(?<![\p{L}\p{N}])(?<sentence>(?:an )?examples? (?:is|are|include)(?![\p{L}\p{N}]))/u,
    /(?<![\p{L}\p{N}.])(?<phrase>(?:for (?:example|instance)|e\. ?g\.?|eg\.)(?![\p{L}\p{N}]))/u,
  ].map(({ source }) => source).join("|"),
  "giu",
);

interface Token extends Span {
  readonly kind: "quote" | "bracket" | "end" | "label" | "sentence" | "phrase";
  readonly text: string;
}

function tokensOf(text: string): Token[] {
  return Array.from(text.matchAll(TOKEN), ({ groups, index, 0: own }) => {
    const [kind] = Object.entries(groups!).find(([, part]) => part !== undefined)!;
    return { kind: kind as Token["kind"], text: own, start: index, end: index + own.length };
  });
}

const OPENING = new Map([[")", "("], ["]", "["], ["}", "{"]]);

/** The brackets of a text. */
interface Brackets {
  /** The token that closes, by the one that opens. */
  readonly closing: ReadonlyMap<number, number>;
  /** The token that opens the brackets around each token, where there are any. */
  readonly around: readonly (number | undefined)[];
}

function bracketsOf(tokens: readonly Token[]): Brackets {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (const [place, { kind, text }] of tokens.entries()) {
    if (kind !== "bracket") continue;
    const opens = OPENING.get(text);
    if (opens === undefined) open.push(place);
    else if (open.length > 0 && tokens[open.at(-1)!]!.text === opens) {
      closing.set(open.pop()!, place);
    }
  }
  const inside: number[] = [];
  const around = tokens.map((_, place) => {
    if (inside.length > 0 && closing.get(inside.at(-1)!) === place) inside.pop();
    const own = inside.at(-1);
    if (closing.has(place)) inside.push(place);
    return own;
  });
  return { closing, around };
}

/** The parts of a text that are examples, in order and apart. */
function examplesIn(text: string): Span[] {
  const tokens = tokensOf(text);
  const brackets = bracketsOf(tokens);
  const found: Span[] = [];
  let from = 0;
  let kept = -1;
  for (const [place, { kind, start }] of tokens.entries()) {
    if (start < from || !(kind === "label" || kind === "sentence" || kind === "phrase")) continue;
    const last = lastBefore(text, start);
    // What stands directly behind another example stands behind what is before that one.
    const before = last < from ? kept : last;
    const opening = tokens[brackets.around[place]!];
    const close = tokens[brackets.closing.get(brackets.around[place]!)!];
    if (opening !== undefined && close !== undefined && before === opening.start) {
      found.push({ start: opening.start, end: close.end });
      kept = opening.start === 0 ? -1 : lastBefore(text, opening.start);
    } else {
      const begins = isBeginning(text, before);
      const follows = kind === "phrase" || (kind === "label" && /[,;:–—-]/.test(text[before]!));
      if (!begins && !follows) continue;
      const limit = close?.start ?? text.length;
      const end = endOf(text, tokens, place, { closing: brackets.closing, limit, begins });
      found.push(...spansOf(text, { start, before, begins, from, end }));
      kept = before;
    }
    from = found.at(-1)!.end;
  }
  return found;
}

/** The place of the last character before another one that is no space. */
function lastBefore(text: string, place: number): number {
  let last = place - 1;
  while (last >= 0 && /[\p{Zs}\t]/u.test(text[last]!)) last--;
  return last;
}

/** Whether a sentence begins behind a place. */
function isBeginning(text: string, before: number): boolean {
  if (before === -1 || /[.!?。！？…\n•*]/.test(text[before]!)) return true;
  // The mark of a list is alone on its line so far.
  return text[before] === "-" &&
    /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, before - DEEPEST_LIST), before));
}

const DEEPEST_LIST = 40;

/** The point that an example ends with, which is empty where it has none. */
interface End extends Span {
  /** Where all of it ends, a quote around the point included. */
  readonly all: number;
}

interface Example {
  readonly start: number;
  readonly before: number;
  readonly begins: boolean;
  readonly from: number;
  readonly end: End;
}

/** What goes: a sentence with its point; of a part of one the point stays, and a dash before it goes too. */
function spansOf(text: string, { start, before, begins, from, end }: Example): Span[] {
  if (begins) return [{ start, end: end.all }];
  // A dash between two examples, with no word before it, goes or stays with the first.
  const isOwn = before >= from && /[([{:–—-]/.test(text[before]!) &&
    /[\p{L}\p{N}]/u.test(text.slice(from, before));
  const own = isOwn ? before : start;
  return [
    { start: own, end: end.start },
    ...(end.end < end.all ? [{ start: end.end, end: end.all }] : []),
  ];
}

interface Reach {
  readonly closing: ReadonlyMap<number, number>;
  /** Where the brackets around the example close. */
  readonly limit: number;
  /** Whether it is a sentence of its own. */
  readonly begins: boolean;
}

/** The end of the example that begins with a token; brackets in it are passed over. */
function endOf(text: string, tokens: readonly Token[], first: number, reach: Reach): End {
  const from = tokens[first]!.end;
  const isBlock = tokens[first]!.kind === "label" &&
    tokens[first + 1]?.text === "\n" && isBlank(text.slice(from, tokens[first + 1]!.start));
  for (let place = first + 1; place < tokens.length; place++) {
    const token = tokens[place]!;
    if (token.start >= reach.limit) break;
    const passed = reach.closing.get(place);
    const end = isBlock ? endOfBlock(text, token) : endAt(text, from, token, reach.begins);
    if (passed !== undefined) place = passed;
    else if (end !== undefined) return end;
  }
  return { start: reach.limit, end: reach.limit, all: reach.limit };
}

/** A block below its label ends where a line is empty. */
function endOfBlock(text: string, { text: own, start, end }: Token): End | undefined {
  const isEnd = own === "\n" && /^[^\S\n]*\n/.test(text.slice(end, end + LONGEST_EMPTY_LINE));
  return isEnd ? { start, end: start, all: start } : undefined;
}

const LONGEST_EMPTY_LINE = 80;

function endAt(
  text: string,
  from: number,
  { kind, text: own, start, end }: Token,
  begins: boolean,
): End | undefined {
  if (own === "\n" || own === ";") {
    const isEnd = own === ";" ? !begins : !goesOn(text, from, start);
    return isEnd ? { start, end: start, all: start } : undefined;
  }
  if (kind === "end" && endsSentence(text, start, end)) return { start, end, all: end };
  if (kind === "quote" && /[.!?]/.test(own.at(-2)!) && endsSentence(text, end - 2, end)) {
    return { start: end - 2, end: end - 1, all: end };
  }
}

/** Whether the sentence goes on in the next line: it has hardly begun, or there is no capital. */
function goesOn(text: string, from: number, lineBreak: number): boolean {
  const next = /^[^\S\n]*\p{Ll}/u.test(text.slice(lineBreak + 1, lineBreak + 1 + DEEPEST_LIST));
  return next || /^[\s,:]*$/.test(text.slice(from, lineBreak));
}

const ABBREVIATION = /(?:^|[^\p{L}])(?:mr|mrs|ms|dr|prof|st|vs|approx|cf|i\.e|e\.g)\.$/iu;

/** Whether a point ends a sentence: it ends no abbreviation, and the sentence does not go on. */
function endsSentence(text: string, start: number, end: number): boolean {
  if (/[。！？]/.test(text[start]!)) return true;
  if (!/^(?:$|[\s)\]}"”'’`])/.test(text.slice(end, end + 1))) return false;
  const last = text.slice(Math.max(0, end - 8), end);
  const isPause = /(?:…|\.\.|\betc\.|\.\p{L}\.)$/iu.test(last);
  if (isPause && /^\s?\p{Ll}/u.test(text.slice(end, end + 2))) return false;
  return !ABBREVIATION.test(last);
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
