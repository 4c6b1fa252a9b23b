/**
 * Differences between two texts, as a terminal shows them.
 * @module
 */

import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";
import { printable } from "../base/json.ts";

/** More differing lines than these are not looked for: it would take too long. */
const MOST_LINES = 4_000;

/** A difference as it is shown, and whether a line in it is a part of a longer one. */
export interface Difference {
  readonly text: string;
  readonly isBroken: boolean;
}

/** What makes one text of a file another, in lines that fit a screen and cannot steer a terminal. */
export function differenceOf(
  path: string,
  [before, after]: readonly [string, string],
): Difference {
  const [old, own] = [readable(before), readable(after)];
  const patch = structuredPatch(
    `before ${path}`,
    `after ${path}`,
    textOf(old),
    textOf(own),
    undefined,
    undefined,
    { context: 3, maxEditLength: MOST_LINES },
  );
  if (patch === undefined) {
    return { text: "Too much differs to be shown: --json has all of it", isBroken: false };
  }
  const isBroken = patch.hunks.some(({ oldStart, oldLines, newStart, newLines }) =>
    hasBroken(old, oldStart, oldLines) || hasBroken(own, newStart, newLines)
  );
  return { text: formatPatch(patch, FILE_HEADERS_ONLY).trimEnd(), isBroken };
}

/** A line as it is shown. */
interface ShownLine {
  readonly text: string;
  /** Whether it is a part of a longer one. */
  readonly isBroken: boolean;
}

function hasBroken(lines: readonly ShownLine[], start: number, count: number): boolean {
  return lines.slice(Math.max(0, start - 1), start - 1 + count).some(({ isBroken }) => isBroken);
}

function textOf(lines: readonly ShownLine[]): string {
  return `${lines.map(({ text }) => text).join("\n")}\n`;
}

/** A text in lines that fit a screen and cannot steer a terminal. */
function readable(text: string): ShownLine[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const parts = wrapped(printable(line, Infinity));
    return parts.map((text) => ({ text, isBroken: parts.length > 1 }));
  });
}

const WIDTH = 98;

/** A long line anew at each sentence, so that what follows a change is broken as it was before. */
function wrapped(line: string): string[] {
  if (line.length <= WIDTH) return [line];
  const indent = /^ {0,40}/.exec(line)![0];
  return line.slice(indent.length).split(/(?<=[.!?]) /).flatMap((sentence) => {
    const lines = [indent];
    for (const word of sentence.split(" ").flatMap((word) => chunks(word, WIDTH - indent.length))) {
      const last = lines.at(-1)!;
      if (last === indent) lines[lines.length - 1] = last + word;
      else if (last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
      else lines.push(indent + word);
    }
    return lines;
  });
}

function chunks(word: string, width: number): string[] {
  if (word.length <= width) return [word];
  return word.match(new RegExp(`.{1,${width}}`, "gsu"))!;
}
