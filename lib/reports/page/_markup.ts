/**
 * HTML templates that escape values.
 * @module
 */

import { printable } from "../../base/json.ts";

/** HTML that is inserted into other markup without escaping. */
export class Markup {
  constructor(readonly text: string) {}
}

type Part = string | number | Markup | readonly Markup[];

/** Template tag for HTML: escapes values, except markup. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const text = strings.map((string, index) => string + markupOf(parts[index] ?? "")).join("");
  return new Markup(text);
}

function markupOf(part: Part): string {
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("\n");
  return printable(String(part), 5000).replace(
    /[&<>"']/g,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
