/**
 * HTML in which values are text, whatever they hold.
 * @module
 */

import { printable } from "../../base/json.ts";

/** Markup: what stands in it as a value is text and is escaped, unless it is markup itself. */
export class Markup {
  constructor(readonly text: string) {}
}

type Part = string | number | Markup | readonly Markup[];

/** Markup with values in it. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const text = strings.map((string, place) => string + markupOf(parts[place] ?? "")).join("");
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
