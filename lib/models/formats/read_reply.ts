/**
 * What reading replies takes in every text format: what was thought is told from what was said, made-up
 * results are left out, and JSON is read as a call.
 * @module
 */

import type { FormatReading } from "./format.ts";
import { bareCalls, type ReadCall, unreadable } from "./json_calls.ts";

/** A place of a reply at which something may begin or end. */
export interface Mark {
  /**
   * What: thinking (`think`, `unthink`), a call, a result that the model has made up, the answer, a word that
   * belongs to the form and not to the text (`label`), or something that only its format knows (`other`).
   */
  readonly kind: "think" | "unthink" | "call" | "result" | "answer" | "label" | "other";
  /** Where it begins. */
  readonly start: number;
  /** Where the text goes on behind it. */
  readonly end: number;
}

/** The calls that stand at a mark. */
export interface Attempt {
  /** The calls, in order. */
  readonly calls: readonly ReadCall[];
  /** Where the text goes on behind them. */
  readonly end: number;
}

/** A reply and the marks in it. */
export interface Marked {
  /** The reply. */
  readonly text: string;
  /** The marks, in order. */
  readonly marks: readonly Mark[];
  /**
   * Reads the calls at a mark, up to `to`; `undefined` where the mark is only mentioned. It reads nothing
   * twice: what it goes through lies before its end, or it goes through next to nothing.
   */
  attempt(index: number, to: number): Attempt | undefined;
}

/** Words that tags around thinking have. */
export const THINKING: readonly string[] = ["think", "thinking", "scratch_pad"];

/** A part of a reply, and the first mark that may be in it. */
interface Region {
  readonly from: number;
  readonly to: number;
  readonly index: number;
}

/** What stands in a region. */
interface Walked {
  readonly calls: ReadCall[];
  /** What was said, in pieces; or the answer. */
  readonly said: string[];
  /** Whether it has an answer that is marked as such. */
  readonly answered: boolean;
  /** What was only thought. */
  readonly thought: Region[];
  readonly repairs: string[];
}

/**
 * Reads a reply by its marks: what stands outside of the thinking counts, and what stands within it only
 * where there is nothing else. A call that was only thought of must not stand in for the answer.
 *
 * @param names The names of the functions on offer.
 */
export function readMarked(marked: Marked, names: readonly string[]): FormatReading {
  const all = { from: 0, to: marked.text.length, index: 0 };
  const outside = walk(marked, all, new Ahead(marked.marks));
  if (outside.calls.length > 0 || outside.answered) return told(outside);
  const bare = bareCalls(outside.said.join("\n"), names);
  if (bare.length > 0) return told({ ...outside, calls: bare, said: [] });
  if (outside.said.some((piece) => piece.trim() !== "")) return told(outside);
  const inside = outside.thought.map((region) => walk(marked, region, undefined));
  const calls = inside.flatMap((walked) => walked.calls);
  if (calls.length > 0) {
    return told({ ...outside, calls, repairs: ["the calls stood within the thinking"] });
  }
  const answer = inside.find(({ answered }) => answered);
  if (answer === undefined) return told(outside);
  return told({ ...answer, repairs: ["the answer stood within the thinking"] });
}

/** Which marks of thinking come behind each mark. */
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

  /** The next mark that ends thinking; -1 where there is none. */
  closing(index: number): number {
    return this.#closing[index]!;
  }

  /** Whether thinking ends next that nothing has begun: then this mark is within it. */
  isThought(index: number): boolean {
    return this.#any[index] !== -1 && this.#any[index] === this.#closing[index];
  }
}

/** Goes through a region, within which there is no thinking if `ahead` is left out. */
function walk(marked: Marked, region: Region, ahead: Ahead | undefined): Walked {
  const { text, marks } = marked;
  const { to } = region;
  const [calls, said, thought, repairs]: [ReadCall[], string[], Region[], string[]] = [
    [],
    [],
    [],
    [],
  ];
  let place = region.from;
  /** Where thinking begins that ends without having begun, and what there was by then. */
  let block = { from: place, index: region.index, calls: 0, said: 0 };
  const goOn = (end: number, from: number) => {
    said.push(text.slice(place, end));
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
      return { calls, said: [text.slice(end, to)], answered: true, thought, repairs };
    }
    if ((kind === "result" || kind === "answer") && calls.length > 0 && !ahead?.isThought(index)) {
      goOn(start, to);
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
  return { calls, said, answered: false, thought, repairs };
}

/** Whether nothing but spaces stands before it on its line. */
function beginsLine(text: string, at: number): boolean {
  let before = at - 1;
  while (text[before] === " " || text[before] === "\t") before--;
  return before < 0 || text[before] === "\n";
}

/** The reading of what stands in a region. */
function told({ calls, said, repairs }: Walked): FormatReading {
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

/** A piece between calls without the code fence that opens or closes around them. */
function withoutFence(piece: string): string {
  if (piece.split("```").length % 2 === 1) return piece;
  const last = piece.lastIndexOf("```");
  if (/^```\w{0,20}$/.test(piece.slice(last))) return piece.slice(0, last).trim();
  return piece.startsWith("```") ? piece.slice(3).trim() : piece;
}
