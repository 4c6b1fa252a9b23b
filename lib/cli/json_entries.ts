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
    ).map((item) => item.replaceAll("\n", eol)).join(`,${eol}${indent}`);
  const first = place.children?.[0];
  const last = place.children?.at(-1);
  const close = place.offset + place.length - 1;
  const isOneLine = first === undefined || !text.slice(place.offset, first.offset).includes("\n");
  const outer = indentAt(text, place.offset);
  const indent = isOneLine ? outer + unit : indentAt(text, first.offset);
  const end = last === undefined ? place.offset + 1 : last.offset + last.length;
  const { after, hasComma } = endOf(text, end);
  const rest = text.slice(after, close);
  return [
    ...[text.slice(0, end), last === undefined || hasComma ? "" : ",", text.slice(end, after)],
    ...isOneLine && rest.trim() !== "" ? [rest.trimEnd()] : [],
    ...[eol, indent, write(indent), hasComma && !isOneLine ? "," : ""],
    ...isOneLine ? [eol, outer, text.slice(close)] : [text.slice(after)],
  ].join("");
}

/** Returns a key that an object, or one that is right in it, has twice: readers differ in which one they take. */
export function findTwice(text: string): string | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const keysOf = (node: Node | undefined) =>
    node?.type === "object" ? node.children!.map(({ children }) => children![0]!.value) : [];
  const all = [root, ...root?.children?.map(({ children }) => children?.[1]) ?? []].map(keysOf);
  return all.flatMap((keys) => keys.filter((key, at) => keys.indexOf(key) !== at))[0];
}

/** Where what belongs to an entry that ends at `end` is over: its comma, and comments on its line. */
function endOf(text: string, end: number): { after: number; hasComma: boolean } {
  const next = /(\s*)(,|\/\/.*|\/\*[^]*?\*\/)/y;
  next.lastIndex = end;
  let after = next.lastIndex;
  let hasComma = false;
  let isSameLine = true;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [, space, token] = found;
    if (space!.includes("\n")) isSameLine = false;
    if (token === ",") hasComma = true;
    if (token === "," || isSameLine) after = next.lastIndex;
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
