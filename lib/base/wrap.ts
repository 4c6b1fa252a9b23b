/**
 * Line breaks: breaks text into lines that fit a width.
 * @module
 */

import defer * as wide from "string-width";
import { withoutLineCommand } from "./json.ts";

/** Returns how many columns of a terminal a text takes. */
export function columnsOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : wide.default(text);
}

/**
 * Breaks a text at its spaces into lines of at most `width` columns, and a longer word within itself. What comes to
 * begin a line is no command to the runner of a CI job; such a line may be longer.
 */
export function breakLines(text: string, width: number): string[] {
  return piecesOf(text, width).map((line, place) => place === 0 ? line : withoutLineCommand(line));
}

function piecesOf(text: string, width: number): string[] {
  if (columnsOf(text) <= width) return [text];
  const lines = [""];
  for (const [place, word] of text.trim().split(/ +/).entries()) {
    const line = place === 0 ? word : `${lines.at(-1)} ${word}`;
    if (columnsOf(line) <= width) lines[lines.length - 1] = line;
    else {
      const pieces = breakWord(word, width);
      if (place === 0) lines.pop();
      lines.push(...pieces);
    }
  }
  return lines;
}

/** Breaks a word, where possible behind a character that joins its parts. */
function breakWord(word: string, width: number): string[] {
  if (columnsOf(word) <= width) return [word];
  const parts = word.split(/(?<=[_/:,=&?+-])/).flatMap((part) =>
    columnsOf(part) <= width ? [part] : breakAnywhere(part, width)
  );
  return joined(parts, width);
}

function breakAnywhere(text: string, width: number): string[] {
  const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
  return joined(Array.from(segmenter.segment(text), ({ segment }) => segment), width);
}

/** Joins parts to lines that fit. */
function joined(parts: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const line = `${lines.at(-1) ?? ""}${part}`;
    if (lines.length > 0 && columnsOf(line) <= width) lines[lines.length - 1] = line;
    else lines.push(part);
  }
  return lines;
}

/** Where a command begins that a reader may copy, which goes on to the end of its line. */
const COMMAND = /(?<=\S )deno (?:task|run|test) /;

/**
 * Breaks every line of a text that is too long; what goes on is indented, so that it shows what it belongs to. A
 * command stays whole, on a line of its own.
 */
export function wrapText(text: string, width: number): string {
  if (width === Infinity) return text;
  return text.split("\n").flatMap((line) => {
    if (columnsOf(line) <= width) return [line];
    const [lead] = /^ */.exec(line)!;
    // Deeper than lines that stand below by themselves.
    const hang = line.startsWith("(") ? 1 : line.startsWith("* ") ? 2 : 4;
    const indent = " ".repeat(lead.length + hang);
    const at = line.search(COMMAND);
    const words = (at < 0 ? line : line.slice(0, at)).slice(lead.length);
    const [first, ...rest] = breakLines(words.trimEnd(), width - indent.length);
    const command = at < 0 ? [] : [line.slice(at)];
    return [lead + first, ...[...rest, ...command].map((part) => indent + part)];
  }).join("\n");
}
