/**
 * Text of reports: aligned columns, and words in which no markup is left.
 * @module
 */

import defer * as width from "string-width";
import { printable } from "../base/json.ts";

/** Rows as aligned columns: the first to the left, the others to the right. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) =>
    row.map((text, column) => column === 0 ? nameText(text) : printable(text, 80))
  );
  const widths = shown[0]!.map((_, column) =>
    Math.max(...shown.map((row) => width.default(row[column]!)))
  );
  return shown.map((row) =>
    row.map((text, column) => {
      const space = " ".repeat(widths[column]! - width.default(text));
      return column === 0 ? text + space : space + text;
    }).join("  ").trimEnd()
  ).join("\n");
}

/** The longest name that is shown whole. */
const LONGEST_NAME = 100;

/** Long names differ at their ends as well as at their beginnings. */
function nameText(text: string): string {
  const shown = printable(text, Infinity);
  if (shown.length <= LONGEST_NAME) return shown;
  const half = LONGEST_NAME / 2;
  const [start, end] = [shown.slice(0, half), shown.slice(-half + 1)];
  return `${start.replace(/\p{Cs}$/u, "")}…${end.replace(/^\p{Cs}/u, "")}`;
}

/** Text in which nothing is Markdown or HTML, nor what GitHub makes a link of. */
export function markdownText(text: string): string {
  return text.replace(
    /[\\`*_{}[\]()<>#+!|&~$@:]|(?<=www)\./gi,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
