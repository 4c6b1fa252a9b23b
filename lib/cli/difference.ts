/**
 * Differences between two texts, for the terminal.
 * @module
 */

import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";
import { printable } from "../base/json.ts";

/** The search gives up at more differing lines than this, as it would take too long. */
const MAX_LINES = 4_000;

/** A difference as text, and whether a line in it is a part of a longer one. */
export interface Difference {
  readonly text: string;
  readonly isBroken: boolean;
}

/** Returns the difference between two texts of a file, in lines that fit a screen and cannot steer a terminal. */
export function differenceOf(
  path: string,
  [before, after]: readonly [string, string],
): Difference {
  const [beforeLines, afterLines] = [displayLines(before), displayLines(after)];
  const patch = structuredPatch(
    `before ${path}`,
    `after ${path}`,
    linesText(beforeLines),
    linesText(afterLines),
    undefined,
    undefined,
    { context: 3, maxEditLength: MAX_LINES },
  );
  if (patch === undefined) {
    return { text: "The difference is too large to show: use --json", isBroken: false };
  }
  const isBroken = patch.hunks.some(({ oldStart, oldLines, newStart, newLines }) =>
    hasBroken(beforeLines, oldStart, oldLines) || hasBroken(afterLines, newStart, newLines)
  );
  return { text: formatPatch(patch, FILE_HEADERS_ONLY).trimEnd(), isBroken };
}

/** A line as it is shown. */
interface DisplayLine {
  readonly text: string;
  /** Whether it is a part of a longer one. */
  readonly isBroken: boolean;
}

function hasBroken(lines: readonly DisplayLine[], start: number, count: number): boolean {
  return lines.slice(Math.max(0, start - 1), start - 1 + count).some(({ isBroken }) => isBroken);
}

function linesText(lines: readonly DisplayLine[]): string {
  return `${lines.map(({ text }) => text).join("\n")}\n`;
}

/** Splits a text into lines that fit a screen and cannot steer a terminal. */
function displayLines(text: string): DisplayLine[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const parts = wrapLine(printable(line, Infinity));
    return parts.map((text) => ({ text, isBroken: parts.length > 1 }));
  });
}

const WIDTH = 98;

/** Wraps a long line at each sentence too, so that text after a change is broken in the same places. */
function wrapLine(line: string): string[] {
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
