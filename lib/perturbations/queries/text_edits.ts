/**
 * Edits of a text, and where places of it are afterwards.
 * @module
 */

import type { Span } from "./literals.ts";

/** A text that comes in place of a part of another. */
export interface TextEdit extends Span {
  /** The text. */
  readonly after: string;
}

/** The text after edits, which are in order and apart. */
export function editedText(text: string, edits: readonly TextEdit[]): string {
  const parts: string[] = [];
  let place = 0;
  for (const { start, end, after } of edits) {
    parts.push(text.slice(place, start), after);
    place = end;
  }
  return parts.join("") + text.slice(place);
}

/** Where places of a text are after edits, which are in order and apart. */
export class Move {
  readonly #edits: readonly TextEdit[];
  /** By how much places move that so many edits stand before. */
  readonly #shifts = [0];

  /** Nothing is moved yet. */
  constructor(edits: readonly TextEdit[]) {
    this.#edits = edits;
    for (const { start, end, after } of edits) {
      this.#shifts.push(this.#shifts.at(-1)! + after.length - (end - start));
    }
  }

  /** Where a span is; nowhere if a part of it was changed, unless all of it was replaced. */
  whole(span: Span): Span[] {
    const next = this.#edits[this.#endedBy(span.start)];
    if (next === undefined || next.start >= span.end) return this.rest(span);
    const isReplaced = next.start === span.start && next.end === span.end;
    return isReplaced && next.after !== "" ? this.rest(span) : [];
  }

  /** Where what is left of a span is. */
  rest({ start, end }: Span): Span[] {
    const moved = { start: this.#start(start), end: this.#end(end) };
    return moved.start < moved.end ? [moved] : [];
  }

  #start(place: number): number {
    const before = this.#endedBy(place);
    return Math.min(place, this.#edits[before]?.start ?? place) + this.#shifts[before]!;
  }

  #end(place: number): number {
    const before = this.#endedBy(place);
    // What is inserted behind a span is no part of it.
    if (this.#edits[before - 1]?.start === place) return place + this.#shifts[before - 1]!;
    const next = this.#edits[before];
    if (next === undefined || next.start >= place) return place + this.#shifts[before]!;
    return next.start + this.#shifts[before]! + next.after.length;
  }

  /** How many edits have ended by a place. */
  #endedBy(place: number): number {
    let [low, high] = [0, this.#edits.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#edits[middle]!.end <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
