/**
 * Text of reports: aligned columns, and words in which no markup is left.
 * @module
 */

import stringWidth from "string-width";
import { printable } from "../json.ts";

/** Rows as aligned columns: the first to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map((text) => printable(text, 80)));
  const widths = shown[0]!.map((_, column) =>
    Math.max(...shown.map((row) => stringWidth(row[column]!)))
  );
  return shown.map((row) =>
    row.map((text, column) => {
      const space = " ".repeat(widths[column]! - stringWidth(text));
      return column === 0 ? text + space : space + text;
    }).join("  ").trimEnd()
  ).join("\n");
}

/** Text in which nothing is Markdown or HTML, nor what GitHub makes a link of. */
export function markdownText(text: string): string {
  return text.replace(
    /[\\`*_{}[\]()<>#+!|&~$@:]|(?<=www)\./gi,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}

/** A mean with one digit after the point; a dash where there is none. */
export function fixed(value: number | null): string {
  return value === null ? "-" : value.toFixed(1);
}
