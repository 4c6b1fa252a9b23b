/**
 * Removal: parts taken out of a text, and with them the spaces and points that would dangle.
 * @module
 */

import { isWithinWord, type Span } from "./queries/literals.ts";

const BLANK = /[\p{Zs}\t]/u;
const BREAK = /[\n\r]/;
/** Brackets and quotes by those that open them. */
const CLOSERS = new Map(
  ["()", "[]", "{}", '""', "''", "``", "“”", "‘’", "«»", "„“", "‚‘", "「」", "『』", "（）", "【】"]
    .map((pair) => [pair[0]!, pair[1]!]),
);
const OPENING = /[(\[{“‘«„‚「『（【¿¡]/;
const CLOSING = /[)\]}”’»」』）】]/;
/** Both open and close: by the side where there is no space. */
const STRAIGHT = /["'`]/;
const POINT = /[,;:.!?…、，；：。！？]/;
const WIDE_POINT = /[、，；：。！？]/;
const SEPARATOR = /[,;、，；]/;
const TERMINATOR = /[.!?…。！？]/;
const BULLET = /[-*•–]/;

/** What words and numbers begin with; of a character of two units, half of it. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cs}_\uffff]/u;

/** Stands for a character that nothing may be done to. */
const FIXED = "\uffff";

/**
 * What goes with `spans` when they are removed: they themselves, spaces that would be double or stand
 * before a point, separators between nothing, empty pairs of brackets or quotes, and empty lines. What
 * `fixed` covers stays as it is. The parts come in order and do not touch.
 */
export function removedWith(
  text: string,
  spans: readonly Span[],
  fixed: readonly Span[] = [],
): Span[] {
  const regions = joined(spans);
  const rest = new Rest(text, fixed);
  let place = 0;
  regions.forEach(({ start, end }, number) => {
    rest.keep(place, start);
    place = rest.tidy(Math.max(place, end), regions[number + 1]?.start ?? text.length);
  });
  rest.keep(place, text.length);
  return rest.missing();
}

/** The spans in order; those that overlap or touch as one. */
function joined(spans: readonly Span[]): Span[] {
  const regions: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    const last = regions.at(-1);
    if (last !== undefined && start <= last.end) {
      last.end = Math.max(last.end, end);
    } else regions.push({ start, end });
  }
  return regions;
}

/** What is left of a text, from its beginning to where it was worked on. */
class Rest {
  readonly #text: string;
  readonly #fixed: Uint8Array;
  /** The places that are kept, and how many spaces end at each of them. */
  readonly #kept: number[] = [];
  readonly #blanks: number[] = [];

  constructor(text: string, fixed: readonly Span[]) {
    this.#text = text;
    this.#fixed = new Uint8Array(text.length);
    for (const { start, end } of fixed) this.#fixed.fill(1, start, end);
  }

  keep(start: number, end: number): void {
    for (let place = start; place < end; place++) {
      this.#blanks.push(BLANK.test(this.#at(place)) ? (this.#blanks.at(-1) ?? 0) + 1 : 0);
      this.#kept.push(place);
    }
  }

  /** The parts of the text that are not kept. */
  missing(): Span[] {
    const parts: Span[] = [];
    let place = 0;
    for (const kept of [...this.#kept, this.#text.length]) {
      if (kept > place) parts.push({ start: place, end: kept });
      place = kept + 1;
    }
    return parts;
  }

  /** Removes what dangles where something up to `from` is gone; gives the place from where to go on. */
  tidy(from: number, limit: number): number {
    for (;;) {
      const next = this.#next(from, limit);
      const then = this.#pair(next) ?? this.#points(next, limit) ?? this.#separator(next);
      if (then === undefined) break;
      from = then;
    }
    return this.#line(this.#next(from, limit), limit) ?? this.#spaces(this.#next(from, limit));
  }

  /** What follows the spaces at `from`. */
  #next(from: number, limit: number): Next {
    let place = from;
    while (place < limit && BLANK.test(this.#at(place))) place++;
    const character = place === this.#text.length ? "" : place === limit ? FIXED : this.#at(place);
    const adjacent = place === from;
    const isEnd = character === "" || BREAK.test(character);
    // Where the next part begins that is removed, there is nothing to look at.
    const isPoint = place < limit && this.#isPoint(place);
    // An apostrophe closes nothing: `Paris's`.
    const closes = CLOSING.test(character) ||
      (adjacent && STRAIGHT.test(character) && !WORD.test(this.#at(place + 1)));
    return { from, place, character, adjacent, isEnd, isPoint, closes };
  }

  /** An empty pair of brackets or quotes. */
  #pair({ place, character, adjacent }: Next): number | undefined {
    const spaces = this.#spacesBefore;
    const opening = this.#before(spaces);
    if (character === "" || CLOSERS.get(opening) !== character) return undefined;
    if (STRAIGHT.test(opening) && !(spaces === 0 && adjacent)) return undefined;
    const outer = this.#before(spaces + 1) + this.#at(place + 1);
    if (outer.length === 2 && isWithinWord(outer, 1)) return undefined;
    this.#drop(spaces + 1);
    return place + 1;
  }

  /** Points that nothing stands before. */
  #points({ place, isPoint }: Next, limit: number): number | undefined {
    if (!isPoint || !(this.#begins || TERMINATOR.test(this.#before(this.#spacesBefore)))) {
      return undefined;
    }
    while (place < limit && (BLANK.test(this.#at(place)) || this.#isPoint(place))) place++;
    // The last space stays: something may follow.
    return BLANK.test(this.#at(place - 1)) ? place - 1 : place;
  }

  /** A separator that nothing stands behind. */
  #separator({ place, isEnd, isPoint, closes }: Next): number | undefined {
    const spaces = this.#spacesBefore;
    if (!SEPARATOR.test(this.#before(spaces)) || !(isEnd || isPoint || closes)) return undefined;
    this.#drop(spaces + 1);
    return place;
  }

  /** A line with nothing on it, or nothing but the mark of a list. */
  #line({ place, isEnd }: Next, limit: number): number | undefined {
    const start = this.#lineStart();
    if (!isEnd || start === undefined) return undefined;
    this.#drop(this.#kept.length - start);
    if (place === this.#text.length) {
      while (BREAK.test(this.#before(0))) this.#drop(1);
      return place;
    }
    do place += this.#breakAt(place); while (
      place < limit && BREAK.test(this.#at(place)) && this.#isAfterEmptyLine()
    );
    return place;
  }

  #spaces({ from, place, isEnd, isPoint, closes }: Next): number {
    const spaces = this.#spacesBefore;
    if (isEnd || isPoint || closes) {
      this.#drop(spaces);
      return place;
    }
    return spaces > 0 || this.#begins ? place : from;
  }

  /** Where the line begins that has at most a mark on it; `undefined` if it has more. */
  #lineStart(): number | undefined {
    let length = this.#kept.length - this.#spacesBefore;
    if (BULLET.test(this.#before(this.#kept.length - length))) {
      length -= 1;
      length -= this.#blanks[length - 1] ?? 0;
    }
    const before = this.#before(this.#kept.length - length);
    return before === "" || BREAK.test(before) ? length : undefined;
  }

  #isAfterEmptyLine(): boolean {
    const last = this.#before(0);
    if (last === "") return true;
    const length = last === "\n" && this.#before(1) === "\r" ? 2 : 1;
    return BREAK.test(this.#before(length)) || this.#before(length) === "";
  }

  #breakAt(place: number): number {
    return this.#at(place) === "\r" && this.#at(place + 1) === "\n" ? 2 : 1;
  }

  /** Whether nothing stands before on the line, in the brackets or in the quotes. */
  get #begins(): boolean {
    const spaces = this.#spacesBefore;
    const before = this.#before(spaces);
    return before === "" || BREAK.test(before) || OPENING.test(before) ||
      (spaces === 0 && STRAIGHT.test(before));
  }

  /** Whether it is a point of the sentence, and not of `.5` or `.com`. */
  #isPoint(place: number): boolean {
    const character = this.#at(place);
    return WIDE_POINT.test(character) || POINT.test(character) && !WORD.test(this.#at(place + 1));
  }

  get #spacesBefore(): number {
    return this.#blanks.at(-1) ?? 0;
  }

  /** The character so many places before the end of what is kept; empty before its beginning. */
  #before(places: number): string {
    const place = this.#kept[this.#kept.length - 1 - places];
    return place === undefined ? "" : this.#at(place);
  }

  #drop(count: number): void {
    this.#kept.length -= count;
    this.#blanks.length -= count;
  }

  #at(place: number): string {
    return this.#fixed[place] === 1 ? FIXED : this.#text[place] ?? "";
  }
}

/** What follows, and what it is. */
interface Next {
  /** Where the spaces before it begin. */
  readonly from: number;
  readonly place: number;
  /** Empty at the end of the text. */
  readonly character: string;
  /** Whether there are no spaces before it. */
  readonly adjacent: boolean;
  readonly isEnd: boolean;
  readonly isPoint: boolean;
  readonly closes: boolean;
}
