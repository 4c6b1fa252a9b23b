/**
 * Removal of parts of a text, together with the spaces and punctuation that would be left over.
 * @module
 */

import { isWithinWord, type Span } from "./queries/literals.ts";

const BLANK = /[\p{Zs}\t]/u;
const BREAK = /[\n\r]/;
/** The closing character of each opening bracket and quote. */
const CLOSERS = new Map(
  ["()", "[]", "{}", '""', "''", "``", "“”", "‘’", "«»", "„“", "‚‘", "「」", "『』", "（）", "【】"]
    .map((pair) => [pair[0]!, pair[1]!]),
);
const OPENING = /[(\[{“‘«„‚「『（【¿¡]/;
const CLOSING = /[)\]}”’»」』）】]/;
/** Quotes that open and close alike: the side with a space decides. */
const STRAIGHT = /["'`]/;
const POINT = /[,;:.!?…、，；：。！？]/;
const WIDE_POINT = /[、，；：。！？]/;
const SEPARATOR = /[,;、，；]/;
const TERMINATOR = /[.!?…。！？]/;
const BULLET = /[-*•–]/;

/** A character that can begin a word or number; also half of a surrogate pair. */
const WORD = /[\p{L}\p{M}\p{N}\p{Cs}_\uffff]/u;

/** Placeholder for a character that must not change. */
const FIXED = "\uffff";

/**
 * Returns the parts of a text to delete in order to remove `spans` cleanly: the spans, and around them double
 * spaces, spaces before punctuation, stray separators, empty brackets or quotes, and empty lines. Text that
 * `fixed` covers is kept. The parts are in order and do not touch.
 */
export function spansToRemove(
  text: string,
  spans: readonly Span[],
  fixed: readonly Span[] = [],
): Span[] {
  const regions = joined(spans);
  const rest = new KeptText(text, fixed);
  let place = 0;
  regions.forEach(({ start, end }, number) => {
    rest.keep(place, start);
    place = rest.tidy(Math.max(place, end), regions[number + 1]?.start ?? text.length);
  });
  rest.keep(place, text.length);
  return rest.missing();
}

/** The spans in order; those that overlap or touch are merged. */
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

/** The part of a text that is kept so far. */
class KeptText {
  readonly #text: string;
  readonly #fixed: Uint8Array;
  /** The offsets kept, and for each how many spaces in a row end there. */
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
    for (const end of [...this.#kept, this.#text.length]) {
      if (end > place) parts.push({ start: place, end });
      place = end + 1;
    }
    return parts;
  }

  /** Tidies the text around a removal that ends at `from`; returns the offset to continue from. */
  tidy(from: number, limit: number): number {
    for (;;) {
      const next = this.#next(from, limit);
      const then = this.#pair(next) ?? this.#points(next, limit) ?? this.#separator(next);
      if (then === undefined) break;
      from = then;
    }
    return this.#line(this.#next(from, limit), limit) ?? this.#spaces(this.#next(from, limit));
  }

  /** Describes the character after the spaces at `from`. */
  #next(from: number, limit: number): Following {
    let place = from;
    while (place < limit && BLANK.test(this.#at(place))) place++;
    const character = place === this.#text.length ? "" : place === limit ? FIXED : this.#at(place);
    const adjacent = place === from;
    const isEnd = character === "" || BREAK.test(character);
    // At `limit` the next removed part begins, so its characters do not count.
    const isPoint = place < limit && this.#isPoint(place);
    // An apostrophe as in `Paris's` is not a closing quote.
    const closes = CLOSING.test(character) ||
      (adjacent && STRAIGHT.test(character) && !WORD.test(this.#at(place + 1)));
    return { from, place, character, adjacent, isEnd, isPoint, closes };
  }

  /** Drops an empty pair of brackets or quotes. */
  #pair({ place, character, adjacent }: Following): number | undefined {
    const spaces = this.#spacesBefore;
    const opening = this.#before(spaces);
    if (character === "" || CLOSERS.get(opening) !== character) return undefined;
    if (STRAIGHT.test(opening) && !(spaces === 0 && adjacent)) return undefined;
    const outer = this.#before(spaces + 1) + this.#at(place + 1);
    if (outer.length === 2 && isWithinWord(outer, 1)) return undefined;
    this.#drop(spaces + 1);
    return place + 1;
  }

  /** Drops punctuation with no text before it. */
  #points({ place, isPoint }: Following, limit: number): number | undefined {
    if (!isPoint || !(this.#begins || TERMINATOR.test(this.#before(this.#spacesBefore)))) {
      return undefined;
    }
    while (place < limit && (BLANK.test(this.#at(place)) || this.#isPoint(place))) place++;
    // The last space stays, as text may follow.
    return BLANK.test(this.#at(place - 1)) ? place - 1 : place;
  }

  /** Drops a separator with no text after it. */
  #separator({ place, isEnd, isPoint, closes }: Following): number | undefined {
    const spaces = this.#spacesBefore;
    if (!SEPARATOR.test(this.#before(spaces)) || !(isEnd || isPoint || closes)) return undefined;
    this.#drop(spaces + 1);
    return place;
  }

  /** Drops a line that is empty or has only a list bullet. */
  #line({ place, isEnd }: Following, limit: number): number | undefined {
    const start = this.#lineStart();
    if (!isEnd || start === undefined) return undefined;
    this.#drop(this.#kept.length - start);
    if (place === this.#text.length) {
      while (BREAK.test(this.#before(0))) this.#drop(1);
      return place;
    }
    do place += this.#at(place) === "\r" && this.#at(place + 1) === "\n" ? 2 : 1; while (
      place < limit && BREAK.test(this.#at(place)) && this.#isAfterEmptyLine()
    );
    return place;
  }

  #spaces({ from, place, isEnd, isPoint, closes }: Following): number {
    const spaces = this.#spacesBefore;
    if (isEnd || isPoint || closes) {
      this.#drop(spaces);
      return place;
    }
    return spaces > 0 || this.#begins ? place : from;
  }

  /** Where the last line begins, if it has at most a list bullet; `undefined` if it has more. */
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

  /** Whether no text comes before on the line or in the innermost brackets or quotes. */
  get #begins(): boolean {
    const spaces = this.#spacesBefore;
    const before = this.#before(spaces);
    return before === "" || BREAK.test(before) || OPENING.test(before) ||
      (spaces === 0 && STRAIGHT.test(before));
  }

  /** Whether the character is punctuation, unlike the points of `.5` and `.com`. */
  #isPoint(place: number): boolean {
    const character = this.#at(place);
    return WIDE_POINT.test(character) || POINT.test(character) && !WORD.test(this.#at(place + 1));
  }

  get #spacesBefore(): number {
    return this.#blanks.at(-1) ?? 0;
  }

  /** The kept character `places` before the last one; empty if there are fewer. */
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

/** The character that follows a removed part, and its role. */
interface Following {
  /** The offset where the spaces before it begin. */
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
