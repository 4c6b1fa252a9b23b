/**
 * Removal of parts of a text, together with the spaces and punctuation that would be left over.
 * @module
 */

import { isWithinWord, type Span } from "./queries/literals.ts";

/** The closing character of each opening bracket and quote. */
const CLOSERS = new Map(
  ["()", "[]", "{}", '""', "''", "``", "“”", "‘’", "«»", "„“", "‚‘", "「」", "『』", "（）", "【】"]
    .map((pair) => [pair[0]!, pair[1]!]),
);
/** Quotes that open and close alike: the side with a space decides. */
const STRAIGHT = /["'`]/;

/** Placeholders for a character that must not change, and for one of the next part that is removed. */
const FIXED = "\uffff";
const GONE = "\ufffe";
/** A character that can begin a word or number; also half of a surrogate pair. */
const WORD = `[\\p{L}\\p{M}\\p{N}\\p{Cs}_${FIXED}]`;
const BEGINS_WORD = new RegExp(`^${WORD}`, "u");
const BLANKS = "[\\p{Zs}\\t]*";
/** Punctuation, unlike the points of `.5` and `.com`. */
const POINT = `(?:[、，；：。！？]|[,;:.!?…](?!${WORD}))`;
const CLOSING = "[)\\]}”’»」』）】]";

/** What stands before a part that is removed. */
const BEFORE = {
  blanks: new RegExp(`${BLANKS}$`, "u"),
  /** No text on the line, or in the innermost brackets or quotes. */
  begins: new RegExp(`(?:^|[\\n\\r(\\[{“‘«„‚「『（【¿¡])${BLANKS}$|["'\`]$`, "u"),
  terminator: new RegExp(`[.!?…。！？]${BLANKS}$`, "u"),
  separator: new RegExp(`[,;、，；]${BLANKS}$`, "u"),
  /** A line that is empty or has only a list bullet. */
  line: new RegExp(`(?<=^|[\\n\\r])${BLANKS}[-*•–]?${BLANKS}$`, "u"),
  emptyLine: /^$|(?<=^|[\n\r])(?:\r\n|(?<!\r)\n|\r)$/,
};

/** What stands behind it. */
const BEHIND = {
  blanks: new RegExp(`^${BLANKS}`, "u"),
  points: new RegExp(`^(?:${BLANKS}${POINT})+${BLANKS}`, "u"),
  /** The end of a line, punctuation, or what closes brackets or quotes; an apostrophe as in `Paris's` does not. */
  end: new RegExp(`^${BLANKS}(?:$|[\\n\\r])`, "u"),
  close: new RegExp(`^${BLANKS}(?:$|[\\n\\r]|${POINT}|${CLOSING})|^["'\`](?!${WORD})`, "u"),
};

/** Characters on either side that are looked at, at most. */
const REACH = 200;

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
  const masked = maskedText(text, fixed);
  const regions = joined(spans);
  const kept: { start: number; end: number }[] = [];
  let place = 0;
  regions.forEach(({ start, end }, number) => {
    if (start > place) kept.push({ start: place, end: start });
    const limit = regions[number + 1]?.start ?? text.length;
    place = Math.max(place, end);
    for (;;) {
      const isCut = place + REACH < limit || BEGINS_WORD.test(masked.slice(limit, limit + 2));
      const behind = masked.slice(place, Math.min(limit, place + REACH)) +
        (isCut ? FIXED : limit < text.length ? GONE : "");
      const { before, after, isLast } = excess(textBefore(masked, kept), behind);
      drop(kept, before);
      place += after;
      if (isLast) break;
    }
  });
  return complement([...kept, { start: place, end: text.length }], text.length);
}

/** How many characters before and behind a gap go; `isLast` if nothing is left to tidy there. */
function excess(
  before: string,
  behind: string,
): { readonly before: number; readonly after: number; readonly isLast?: boolean } {
  const length = (pattern: RegExp, from: string) => pattern.exec(from)?.[0].length ?? 0;
  const [left, right] = [length(BEFORE.blanks, before), length(BEHIND.blanks, behind)];
  const [opening, closing] = [before.at(-1 - left) ?? "", behind[right] ?? ""];
  const outer = (before.at(-2 - left) ?? "") + (behind[right + 1] ?? "");
  const isPair = closing !== "" && CLOSERS.get(opening) === closing &&
    !(STRAIGHT.test(opening) && left + right > 0) &&
    !(outer.length === 2 && isWithinWord(outer, 1));
  if (isPair) return { before: left + 1, after: right + 1 };
  const points = length(BEHIND.points, behind);
  if (points > 0 && (BEFORE.begins.test(before) || BEFORE.terminator.test(before))) {
    // The last space stays, as text may follow.
    return {
      before: 0,
      after: BEFORE.blanks.exec(behind.slice(0, points))![0] === "" ? points : points - 1,
    };
  }
  const closes = BEHIND.close.test(behind);
  const separator = length(BEFORE.separator, before);
  if (separator > 0 && closes) return { before: separator, after: right };
  const line = BEFORE.line.exec(before);
  if (line !== null && BEHIND.end.test(behind)) {
    const rest = before.slice(0, line.index);
    if (closing === "") {
      return {
        before: before.length - rest.replace(/[\n\r]+$/, "").length,
        after: right,
        isLast: true,
      };
    }
    const [lineBreaks] = (BEFORE.emptyLine.test(rest) ? /^(?:\r\n|\r|\n)+/ : /^(?:\r\n|\r|\n)/)
      .exec(behind.slice(right))!;
    return { before: line[0].length, after: right + lineBreaks.length, isLast: true };
  }
  if (closes) return { before: left, after: right, isLast: true };
  return {
    before: 0,
    after: left > 0 || BEFORE.begins.test(before) ? right : 0,
    isLast: true,
  };
}

/** The text, with a placeholder for each character that must stay. */
function maskedText(text: string, fixed: readonly Span[]): string {
  const regions = joined(fixed);
  const free = complement(regions, text.length);
  const parts = [
    ...regions.map(({ start, end }) => ({ start, part: FIXED.repeat(end - start) })),
    ...free.map(({ start, end }) => ({ start, part: text.slice(start, end) })),
  ];
  return parts.sort((one, other) => one.start - other.start).map(({ part }) => part).join("");
}

/** The end of the text that is kept so far. */
function textBefore(text: string, kept: readonly Span[]): string {
  let before = "";
  for (let number = kept.length - 1; number >= 0 && before.length < REACH; number--) {
    before = text.slice(kept[number]!.start, kept[number]!.end) + before;
  }
  return before.length < REACH ? before : FIXED + before.slice(-REACH);
}

/** Takes characters away from the end of what is kept. */
function drop(kept: { start: number; end: number }[], count: number): void {
  for (let left = count; left > 0;) {
    const last = kept.at(-1)!;
    const taken = Math.min(left, last.end - last.start);
    last.end -= taken;
    left -= taken;
    if (last.end === last.start) kept.pop();
  }
}

/** The parts of a text between others, which are in order. */
function complement(parts: readonly Span[], length: number): Span[] {
  const between: Span[] = [];
  let place = 0;
  for (const { start, end } of [...parts, { start: length, end: length }]) {
    if (start > place) between.push({ start: place, end: start });
    place = end;
  }
  return between;
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
