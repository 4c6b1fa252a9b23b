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

/** Quotes, brackets, ends of sentences and lines, and the words that introduce examples. */
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
  /** The closing token of each opening one, by index. */
  readonly closing: ReadonlyMap<number, number>;
  /** The opening token of the innermost brackets around each token, if any. */
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

/** The examples in a text, in order and without overlaps. */
function examplesIn(text: string): Span[] {
  const tokens = tokensOf(text);
  const brackets = bracketsOf(tokens);
  const found: Span[] = [];
  let from = 0;
  let lastKept = -1;
  for (const [place, { kind, start }] of tokens.entries()) {
    if (start < from || !(kind === "label" || kind === "sentence" || kind === "phrase")) continue;
    const last = lastBefore(text, start);
    // An example directly after another counts as following the text before that one.
    const before = last < from ? lastKept : last;
    const opening = tokens[brackets.around[place]!];
    const close = tokens[brackets.closing.get(brackets.around[place]!)!];
    if (opening !== undefined && close !== undefined && before === opening.start) {
      found.push({ start: opening.start, end: close.end });
      lastKept = opening.start === 0 ? -1 : lastBefore(text, opening.start);
    } else {
      const begins = isBeginning(text, before);
      const follows = kind === "phrase" || (kind === "label" && /[,;:–—-]/.test(text[before]!));
      if (!begins && !follows) continue;
      const limit = close?.start ?? text.length;
      const end = endOfExample(text, tokens, place, { closing: brackets.closing, limit, begins });
      found.push(...spansOf(text, { start, before, begins, previousEnd: from, end }));
      lastKept = before;
    }
    from = found.at(-1)!.end;
  }
  return found;
}

/** Returns the index of the last non-space character before `place`, or -1. */
function lastBefore(text: string, place: number): number {
  let last = place - 1;
  while (last >= 0 && /[\p{Zs}\t]/u.test(text[last]!)) last--;
  return last;
}

/** Whether a sentence begins after the character at `before`. */
function isBeginning(text: string, before: number): boolean {
  if (before === -1 || /[.!?。！？…\n•*]/.test(text[before]!)) return true;
  // A list bullet has only spaces before it on its line.
  return text[before] === "-" &&
    /(?:^|\n)[ \t]*$/.test(text.slice(Math.max(0, before - MAX_INDENT), before));
}

const MAX_INDENT = 40;

/** The full stop that an example ends with; an empty span if it has none. */
interface End extends Span {
  /** Where the example ends, including a quote around the full stop. */
  readonly outerEnd: number;
}

interface Example {
  readonly start: number;
  readonly before: number;
  readonly begins: boolean;
  readonly previousEnd: number;
  readonly end: End;
}

/** The spans to remove: a sentence with its full stop, or a part of one with a dash before it, if any. */
function spansOf(text: string, { start, before, begins, previousEnd: from, end }: Example): Span[] {
  if (begins) return [{ start, end: end.outerEnd }];
  // A dash with no word between it and the example before belongs to that one.
  const isOwn = before >= from && /[([{:–—-]/.test(text[before]!) &&
    /[\p{L}\p{N}]/u.test(text.slice(from, before));
  const own = isOwn ? before : start;
  return [
    { start: own, end: end.start },
    ...(end.end < end.outerEnd ? [{ start: end.end, end: end.outerEnd }] : []),
  ];
}

interface Reach {
  readonly closing: ReadonlyMap<number, number>;
  /** Where the brackets around the example close. */
  readonly limit: number;
  /** Whether it begins a sentence. */
  readonly begins: boolean;
}

/** Returns the end of the example that begins with token `first`; brackets within it are skipped. */
function endOfExample(text: string, tokens: readonly Token[], first: number, reach: Reach): End {
  const from = tokens[first]!.end;
  const isBlock = tokens[first]!.kind === "label" &&
    tokens[first + 1]?.text === "\n" && !/\S/.test(text.slice(from, tokens[first + 1]!.start));
  for (let place = first + 1; place < tokens.length; place++) {
    const token = tokens[place]!;
    if (token.start >= reach.limit) break;
    const closing = reach.closing.get(place);
    const end = isBlock ? endOfBlock(text, token) : endAt(text, from, token, reach.begins);
    if (closing !== undefined) place = closing;
    else if (end !== undefined) return end;
  }
  return { start: reach.limit, end: reach.limit, outerEnd: reach.limit };
}

/** A block below its label ends at an empty line. */
function endOfBlock(text: string, { text: own, start, end }: Token): End | undefined {
  const isEnd = own === "\n" && /^[^\S\n]*\n/.test(text.slice(end, end + MAX_EMPTY_LINE_LENGTH));
  return isEnd ? { start, end: start, outerEnd: start } : undefined;
}

const MAX_EMPTY_LINE_LENGTH = 80;

function endAt(
  text: string,
  from: number,
  { kind, text: own, start, end }: Token,
  begins: boolean,
): End | undefined {
  if (own === "\n" || own === ";") {
    const isEnd = own === ";" ? !begins : !continues(text, from, start);
    return isEnd ? { start, end: start, outerEnd: start } : undefined;
  }
  if (kind === "end" && endsSentence(text, start, end)) return { start, end, outerEnd: end };
  if (kind === "quote" && /[.!?]/.test(own.at(-2)!) && endsSentence(text, end - 2, end)) {
    return { start: end - 2, end: end - 1, outerEnd: end };
  }
}

/** Whether the sentence continues on the next line: it has no words yet, or that line begins in lower case. */
function continues(text: string, from: number, lineBreak: number): boolean {
  const next = /^[^\S\n]*\p{Ll}/u.test(text.slice(lineBreak + 1, lineBreak + 1 + MAX_INDENT));
  return next || /^[\s,:]*$/.test(text.slice(from, lineBreak));
}

const ABBREVIATION = /(?:^|[^\p{L}])(?:mr|mrs|ms|dr|prof|st|vs|approx|cf|i\.e|e\.g)\.$/iu;

/** Whether a mark ends a sentence: it is not part of an abbreviation and no lower-case word follows. */
function endsSentence(text: string, start: number, end: number): boolean {
  if (/[。！？]/.test(text[start]!)) return true;
  if (!/^(?:$|[\s)\]}"”'’`])/.test(text.slice(end, end + 1))) return false;
  const last = text.slice(Math.max(0, end - 8), end);
  const isPause = /(?:…|\.\.|\betc\.|\.\p{L}\.)$/iu.test(last);
  if (isPause && /^\s?\p{Ll}/u.test(text.slice(end, end + 2))) return false;
  return !ABBREVIATION.test(last);
}
