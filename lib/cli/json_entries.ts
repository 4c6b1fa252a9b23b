/**
 * Entries added to the JSON files with comments that people keep: what is there stays as it is, to the byte.
 * @module
 */

import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";
import type { JsonObject, JsonValue } from "../base/json.ts";

/**
 * Returns `text` with entries added to the object at `path`, behind those that it has. An object that is not
 * there is made. A list takes the values alone. The caller has checked that `text` is JSON with comments, and
 * that none of the entries is there.
 */
export function addEntries(
  text: string,
  path: readonly string[],
  entries: JsonObject,
): string {
  if (Object.keys(entries).length === 0) return text;
  const root = parseTree(text, [], { allowTrailingComma: true })!;
  const place = findNodeAtLocation(root, [...path]);
  if (place === undefined) return addEntries(text, path.slice(0, -1), { [path.at(-1)!]: entries });
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const write = (indent: string) =>
    Object.entries(entries).map(([key, value]) =>
      place.type === "array" ? valueText(value, indent, unit) : entryText(key, value, indent, unit)
    ).map((item) => item.replaceAll("\n", eol));
  const last = place.children?.at(-1);
  if (last === undefined) return fill(text, place, eol, unit, write);
  const first = place.children![0]!;
  if (!text.slice(place.offset, first.offset).includes("\n")) {
    const { after, hasComma } = endOf(text, last, false);
    const added = `${hasComma ? "" : ","} ${write(indentAt(text, place.offset)).join(", ")}`;
    return text.slice(0, after) + added + text.slice(after);
  }
  const { after, hasComma } = endOf(text, last, true);
  const indent = indentAt(text, first.offset);
  const end = last.offset + last.length;
  return [
    ...[text.slice(0, end), hasComma ? "" : ",", text.slice(end, after)],
    ...[eol, indent, write(indent).join(`,${eol}${indent}`), hasComma ? "," : ""],
    text.slice(after),
  ].join("");
}

/** Fills an object or a list that has nothing in it, but perhaps comments. */
function fill(
  text: string,
  { offset, length }: Node,
  eol: string,
  unit: string,
  write: (indent: string) => string[],
): string {
  const outer = indentAt(text, offset);
  const indent = outer + unit;
  const end = offset + length - 1;
  return [
    ...[text.slice(0, end).trimEnd(), eol, indent, write(indent).join(`,${eol}${indent}`)],
    ...[eol, outer, text.slice(end)],
  ].join("");
}

/** Where what belongs to the last entry ends: its comma and, if they are asked for, comments behind it. */
function endOf(
  text: string,
  { offset, length }: Node,
  withComments: boolean,
): { after: number; hasComma: boolean } {
  const next = /(\s*)(,|\/\/.*|\/\*[^]*?\*\/)/y;
  next.lastIndex = offset + length;
  let after = next.lastIndex;
  let hasComma = false;
  let isSameLine = true;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [, space, token] = found;
    if (space!.includes("\n")) isSameLine = false;
    if (token === ",") hasComma = true;
    if (token === "," || isSameLine && withComments) after = next.lastIndex;
  }
  return { after, hasComma };
}

/** The white space at the start of a line. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

function entryText(key: string, value: JsonValue, indent: string, unit: string): string {
  return `${JSON.stringify(key)}: ${valueText(value, indent, unit)}`;
}

/** Writes a value as `deno fmt` leaves it: objects on lines of their own, lists on one. */
function valueText(value: JsonValue, indent: string, unit: string): string {
  if (Array.isArray(value)) {
    return `[${value.map((one) => valueText(one, indent, unit)).join(", ")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = indent + unit;
  const entries = Object.entries(value).map(([key, one]) =>
    `${inner}${entryText(key, one!, inner, unit)}`
  );
  return `{\n${entries.join(",\n")}\n${indent}}`;
}
