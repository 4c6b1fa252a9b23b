/**
 * Reply reader: the part common to all text formats. Separates thinking from text, drops made-up results,
 * and reads JSON as calls.
 * @module
 */

import type { FormatReading } from "./format.ts";
import { bareCalls, type ReadCall, unreadable } from "./_json_calls.ts";

/** A tag or label in a reply, at which something may begin or end. */
export interface Mark {
  /**
   * Begin or end of thinking (`think`, `unthink`), a call, a made-up result, the answer, a word of the format
   * that is not part of the text (`label`), or something that only its format knows (`other`).
   */
  readonly kind: "think" | "unthink" | "call" | "result" | "answer" | "label" | "other";
  /** Index at which it begins. */
  readonly start: number;
  /** Index after its end. */
  readonly end: number;
}

/** The calls at a mark. */
export interface ReadAttempt {
  /** The calls, in order. */
  readonly calls: readonly ReadCall[];
  /** Index after their end. */
  readonly end: number;
}

/** A reply and the marks in it. */
export interface Marked {
  /** The reply. */
  readonly text: string;
  /** The marks, in order. */
  readonly marks: readonly Mark[];
  /**
   * Reads the calls at a mark, up to `to`; `undefined` if the mark is only mentioned. To keep reading linear,
   * it scans only text before its end, or very little.
   */
  attempt(index: number, to: number): ReadAttempt | undefined;
}

/** Names of tags around thinking. */
export const THINKING: readonly string[] = ["think", "thinking", "seed:think", "scratch_pad"];
/** The tags around thinking, of all kinds. */
export const TAGS = new RegExp(`</?(?:${THINKING.join("|")})>|\\[/?THINK\\]`, "gi");

/** A part of a reply, and the index of the first mark that may be in it. */
interface ReplyPart {
  readonly from: number;
  readonly to: number;
  readonly index: number;
}

/** The content of a region. */
interface Walked {
  readonly calls: ReadCall[];
  /** The text outside of calls, in pieces; or the answer. */
  readonly said: string[];
  /** Whether it has an answer that is marked as such. */
  readonly answered: boolean;
  /** The parts that are thinking. */
  readonly thought: ReplyPart[];
  readonly repairs: string[];
}

/** The repair of a reply whose calls are those with which its thinking ends. */
export const WITHIN_THINKING = "the calls stood within the thinking";

/**
 * Reads a reply by its marks. Text and calls within thinking count only if there is nothing outside of it: a
 * call that the model only thought of must not replace the answer. Calls that have words behind them are drafts.
 *
 * @param names Names of the available functions.
 */
export function readMarked(marked: Marked, names: readonly string[]): FormatReading {
  const all = { from: 0, to: marked.text.length, index: 0 };
  const outside = walk(marked, all, new Ahead(marked.marks));
  if (outside.calls.length > 0 || outside.answered) return readingOf(outside);
  const bare = bareCalls(outside.said.join("\n"), names);
  if (bare.length > 0) return readingOf({ ...outside, calls: bare, said: [] });
  if (outside.said.some((piece) => piece.trim() !== "")) return readingOf(outside);
  const calls: ReadCall[] = [];
  const inside = outside.thought.map((region) => walk(marked, region, undefined, calls));
  if (calls.length > 0) return readingOf({ ...outside, calls, repairs: [WITHIN_THINKING] });
  const answer = inside.find(({ answered }) => answered);
  if (answer === undefined) return readingOf(outside);
  return readingOf({ ...answer, repairs: ["the answer stood within the thinking"] });
}

/** Returns what a text says outside of its thinking, and its thinking without the tags. */
export function thinkingOf(text: string): { readonly said: string; readonly thought: string } {
  if (!/[<[]/.test(text)) return { said: text, thought: "" };
  const marks = [...text.matchAll(TAGS)].map(({ 0: tag, index: start }): Mark => (
    { kind: tag[1] === "/" ? "unthink" : "think", start, end: start + tag.length }
  ));
  const all = { from: 0, to: text.length, index: 0 };
  const walked = walk({ text, marks, attempt: () => undefined }, all, new Ahead(marks));
  const thoughts = walked.thought.map(({ from, to }) => text.slice(from, to).replace(TAGS, "\n"));
  return { said: walked.said.join("\n"), thought: thoughts.join("\n").trim() };
}

/** Looks up the marks of thinking that follow each mark. */
class Ahead {
  readonly #any: Int32Array;
  readonly #closing: Int32Array;

  constructor(marks: readonly Mark[]) {
    this.#any = new Int32Array(marks.length);
    this.#closing = new Int32Array(marks.length);
    let any = -1;
    let closing = -1;
    for (let index = marks.length - 1; index >= 0; index--) {
      this.#any[index] = any;
      this.#closing[index] = closing;
      const { kind } = marks[index]!;
      if (kind === "unthink") closing = index;
      if (kind === "think" || kind === "unthink") any = index;
    }
  }

  /** Returns the index of the next mark that ends thinking; -1 if there is none. */
  closing(index: number): number {
    return this.#closing[index]!;
  }

  /** Returns whether the next mark of thinking is an end without a begin: then this mark is within thinking. */
  isThought(index: number): boolean {
    return this.#any[index] !== -1 && this.#any[index] === this.#closing[index];
  }
}

/** Tags and fences, beside which nothing is said. */
const FRAME = /<[^<>\s]{1,40}>|(?:```|~~~)\w{0,20}/g;

/** Reads a region; without `ahead`, it is thinking, and words remove the `calls` before them. */
function walk(
  marked: Marked,
  region: ReplyPart,
  ahead: Ahead | undefined,
  calls: ReadCall[] = [],
): Walked {
  const { text, marks } = marked;
  const { to } = region;
  const walked: Walked = { calls, said: [], answered: false, thought: [], repairs: [] };
  const { said, thought, repairs } = walked;
  let place = region.from;
  /** Where thinking would begin if it ends without a begin, and the calls and texts found by then. */
  let block = { from: place, index: region.index, calls: 0, said: 0 };
  const goOn = (end: number, from: number) => {
    const piece = text.slice(place, end);
    if (ahead === undefined && piece.replace(FRAME, "").trim() !== "") calls.length = 0;
    said.push(piece);
    place = from;
  };
  for (let index = region.index; index < marks.length; index++) {
    const { kind, start, end } = marks[index]!;
    if (start < place) continue;
    if (end > to) break;
    if (kind === "label") goOn(start, end);
    if (kind === "call") {
      const attempt = marked.attempt(index, to);
      if (attempt === undefined) continue;
      goOn(start, attempt.end);
      for (const call of attempt.calls) calls.push(call);
    }
    if (kind === "answer" && calls.length === 0 && !ahead?.isThought(index)) {
      return { ...walked, said: [text.slice(end, to)], answered: true };
    }
    if ((kind === "result" || kind === "answer") && calls.length > 0 && !ahead?.isThought(index)) {
      goOn(start, ahead === undefined ? end : to);
      const what = kind === "result" ? "a made-up result" : "an answer before the results";
      repairs.push(`${what} was left out, and all that stood behind it`);
      break;
    }
    if (ahead === undefined) continue;
    if (kind === "think") {
      const closing = ahead.closing(index);
      if (closing === -1 && !beginsLine(text, start)) continue;
      const closed = marks[closing] ?? { start: to, end: to };
      thought.push({ from: end, to: closed.start, index: index + 1 });
      goOn(start, closed.end);
      if (closing === -1) break;
      index = closing;
    } else if (kind === "unthink") {
      thought.push({ from: block.from, to: start, index: block.index });
      calls.length = block.calls;
      said.length = block.said;
      place = end;
    } else continue;
    block = { from: place, index: index + 1, calls: calls.length, said: said.length };
  }
  goOn(to, to);
  return walked;
}

/** Returns whether an index is at the start of a line, apart from spaces. */
function beginsLine(text: string, at: number): boolean {
  let before = at - 1;
  while (text[before] === " " || text[before] === "\t") before--;
  return before < 0 || text[before] === "\n";
}

/** Converts the content of a region to a reading. */
function readingOf({ calls, said, repairs }: Walked): FormatReading {
  const pieces = said.map((piece) =>
    calls.length === 0 ? piece.trim() : withoutFence(piece.trim())
  );
  const hadFence = pieces.some((piece, index) => piece !== said[index]!.trim());
  const all = [
    ...calls.flatMap((call, index) =>
      call.repairs.map((repair) => `call ${index + 1} had ${repair}`)
    ),
    ...(hadFence ? ["a code fence around calls was left out"] : []),
    ...repairs,
  ];
  return {
    text: pieces.filter((piece) => piece !== "").join("\n"),
    calls: calls.map(({ name, arguments: given, isReadable }) => ({
      name,
      arguments: isReadable ? given : unreadable(given),
    })),
    ...(calls.length === 0 ? {} : {
      parsed: calls.some(({ isReadable }) => !isReadable)
        ? "unreadable"
        : all.length > 0
        ? "repaired"
        : "strict",
    }),
    repairs: all,
  };
}

/** Removes from a piece between calls the code fence that opens or closes around them. */
function withoutFence(piece: string): string {
  if (piece.split("```").length % 2 === 1) return piece;
  const last = piece.lastIndexOf("```");
  if (/^```\w{0,20}$/.test(piece.slice(last))) return piece.slice(0, last).trim();
  return piece.startsWith("```") ? piece.slice(3).trim() : piece;
}
