/**
 * Text of reports: aligned columns, and escaped Markdown.
 * @module
 */

import defer * as width from "string-width";
import { printable } from "../base/json.ts";

/** Returns rows as aligned columns: the first to the left, the others to the right. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) =>
    row.map((text, column) => column === 0 ? nameText(text) : printable(text, 80))
  );
  const widths = cells[0]!.map((_, column) =>
    Math.max(...cells.map((row) => width.default(row[column]!)))
  );
  return cells.map((row) =>
    row.map((text, column) => {
      const space = " ".repeat(widths[column]! - width.default(text));
      return column === 0 ? text + space : space + text;
    }).join("  ").trimEnd()
  ).join("\n");
}

/** Longer names are shortened. */
const LONGEST_NAME = 100;

/** Shortens long names in the middle, as they may differ at either end. */
function nameText(text: string): string {
  const name = printable(text, Infinity);
  if (name.length <= LONGEST_NAME) return name;
  const half = LONGEST_NAME / 2;
  const [start, end] = [name.slice(0, half), name.slice(-half + 1)];
  return `${start.replace(/\p{Cs}$/u, "")}…${end.replace(/^\p{Cs}/u, "")}`;
}

/** Escapes Markdown, HTML and the text that GitHub turns into links. */
export function markdownText(text: string): string {
  return text.replace(
    /[\\`*_{}[\]()<>#+!|&~$@:]|(?<=www)\./gi,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
