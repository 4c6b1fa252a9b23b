/**
 * Formats JSON for people: values that fit on a line get one line, so that files are easy to read and diff.
 * @module
 */

import type { JsonObject, JsonValue } from "./json.ts";

/** Longer values are spread over several lines. */
const MAX_LINE_LENGTH = 100;

/** Returns the JSON text of `value`; all lines but the first begin with `indent`. */
export function formatJson(value: JsonValue, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const line = onOneLine(value, MAX_LINE_LENGTH - indent.length);
  if (line !== undefined) return line;
  const [opening, closing] = Array.isArray(value) ? "[]" : "{}";
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => formatJson(item, inner))
    : definedEntries(value).map(([name, part]) =>
      `${JSON.stringify(name)}: ${formatJson(part, inner)}`
    );
  return `${opening}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${closing}`;
}

/** Returns the text on one line, or `undefined` if it does not fit; stops as soon as that is clear. */
function onOneLine(value: JsonValue, room: number): string | undefined {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "string" && value.length > room) return undefined;
    const text = JSON.stringify(value);
    return text.length > room ? undefined : text;
  }
  const isList = Array.isArray(value);
  const fields: [string, JsonValue][] = isList
    ? value.map((item) => ["", item])
    : definedEntries(value).map(([name, part]) => [`${JSON.stringify(name)}: `, part]);
  if (fields.length === 0) return isList ? "[]" : "{}";
  let text = isList ? "[" : "{ ";
  for (const [index, [name, part]] of fields.entries()) {
    text += (index === 0 ? "" : ", ") + name;
    const inner = onOneLine(part, room - text.length - 1);
    if (inner === undefined) return undefined;
    text += inner;
  }
  text += isList ? "]" : " }";
  return text.length > room ? undefined : text;
}

function definedEntries(value: JsonObject): [string, JsonValue][] {
  return Object.entries(value).filter(([, part]) => part !== undefined);
}
