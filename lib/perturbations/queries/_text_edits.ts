/**
 * Edits of a text, and the positions of its parts afterwards.
 * @module
 */

import type { Span } from "./literals.ts";

/** The replacement of a part of a text. */
export interface TextEdit extends Span {
  /** The new text. */
  readonly after: string;
}

/** The text after edits, which must be in order and not overlap. */
export function editedText(text: string, edits: readonly TextEdit[]): string {
  const parts: string[] = [];
  let place = 0;
  for (const { start, end, after } of edits) {
    parts.push(text.slice(place, start), after);
    place = end;
  }
  return parts.join("") + text.slice(place);
}

/** Maps positions of a text to those after edits, which must be in order and not overlap. */
export class Move {
  readonly #edits: readonly TextEdit[];
  /** How far a position moves, by the number of edits before it. */
  readonly #shifts = [0];

  /** Computes how far each edit moves the text after it. */
  constructor(edits: readonly TextEdit[]) {
    this.#edits = edits;
    for (const { start, end, after } of edits) {
      this.#shifts.push(this.#shifts.at(-1)! + after.length - (end - start));
    }
  }

  /** The new position of a span; empty if a part of it was changed, unless all of it was replaced. */
  whole(span: Span): Span[] {
    const next = this.#edits[this.#endedBy(span.start)];
    if (next === undefined || next.start >= span.end) return this.rest(span);
    const isReplaced = next.start === span.start && next.end === span.end;
    return isReplaced && next.after !== "" ? this.rest(span) : [];
  }

  /** The new position of the remaining part of a span; empty if nothing remains. */
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
    // Text inserted at the end of a span is not part of it.
    if (this.#edits[before - 1]?.start === place) return place + this.#shifts[before - 1]!;
    const next = this.#edits[before];
    if (next === undefined || next.start >= place) return place + this.#shifts[before]!;
    return next.start + this.#shifts[before]! + next.after.length;
  }

  /** The number of edits that end at or before a place. */
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
