/**
 * JSON laid out for people: what fits on a line stands on one, so that files can be read and compared.
 * @module
 */

import type { JsonObject, JsonValue } from "./json.ts";

/** What is longer is taken apart. */
const LONGEST_LINE = 100;

/**
 * The JSON text of `value`, whose further lines begin with `indent`.
 *
 * @example Usage
 * ```ts
 * import { layJson } from "./json_format.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = layJson({ usage: { read: 1 }, said: ["x".repeat(80), "y".repeat(80)] });
 * assertEquals(text.split("\n")[1], '  "usage": { "read": 1 },');
 * assertEquals(text.split("\n").length, 7);
 * ```
 */
export function layJson(value: JsonValue, indent = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const line = onOneLine(value, LONGEST_LINE - indent.length);
  if (line !== undefined) return line;
  const [opening, closing] = Array.isArray(value) ? "[]" : "{}";
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((item) => layJson(item, inner))
    : fieldsOf(value).map(([name, part]) => `${JSON.stringify(name)}: ${layJson(part, inner)}`);
  return `${opening}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${closing}`;
}

/** The text on one line, if there is room for it: what has none is not read to its end. */
function onOneLine(value: JsonValue, room: number): string | undefined {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "string" && value.length > room) return undefined;
    const text = JSON.stringify(value);
    return text.length > room ? undefined : text;
  }
  const isList = Array.isArray(value);
  const fields: [string, JsonValue][] = isList
    ? value.map((item) => ["", item])
    : fieldsOf(value).map(([name, part]) => [`${JSON.stringify(name)}: `, part]);
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

function fieldsOf(value: JsonObject): [string, JsonValue][] {
  return Object.entries(value).filter(([, part]) => part !== undefined);
}
