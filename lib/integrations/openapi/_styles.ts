/**
 * The styles of OpenAPI: how lists and objects are written in a path, a query, a header or a form.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { type ArgumentPlace, isJsonType } from "./_operation.ts";

/** A name and its value, neither of which is encoded. */
type Pair = readonly [name: string, value: string];

/** What stands between the parts of a list that is one value; all of them are encoded but this. */
const SEPARATORS: Readonly<Record<string, string>> = {
  form: ",",
  spaceDelimited: "%20",
  pipeDelimited: "|",
};

/** Returns the text of a value that is neither a list nor an object. */
export function plainText(value: JsonValue): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the text of a value in a media type. */
function writtenIn(type: string | undefined, value: JsonValue): string {
  return type !== undefined && isJsonType(type) ? JSON.stringify(value) : plainText(value);
}

/** Encodes a text for any part of a URL. */
export function encodeText(text: string): string {
  // Lone surrogates have no place in a URL.
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Encodes a text for a query, but for reserved characters that end neither a value nor the query. */
function encodeReserved(text: string): string {
  return encodeText(text).replaceAll(
    /%(?:21|24|27|28|29|2A|2C|2F|3A|3B|3F|40|5B|5D)/g,
    (code) => decodeURIComponent(code),
  );
}

/** Returns the parameters of a query or a form, encoded: `name=value`, one for each part of an exploded value. */
export function queryParts(place: ArgumentPlace, value: JsonValue): string[] {
  const { name, style, explode, allowReserved, type } = place;
  const encode = allowReserved ? encodeReserved : encodeText;
  const joined = ([key, text]: Pair) => `${encodeText(key)}=${encode(text)}`;
  if (value === null) return [];
  if (type !== undefined || typeof value !== "object") {
    return [joined([name, writtenIn(type, value)])];
  }
  if (style === "deepObject") return deepPairs(name, value).map(joined);
  if (explode) {
    return Array.isArray(value)
      ? value.filter((item) => item !== null).map((item) => joined([name, plainText(item)]))
      : memberPairs(value).map(joined);
  }
  const parts = Array.isArray(value) ? value.map(plainText) : memberPairs(value).flat();
  if (parts.length === 0) return [];
  return [`${encodeText(name)}=${parts.map(encode).join(SEPARATORS[style] ?? ",")}`];
}

/** Returns the members of an object that have a value. */
function memberPairs(value: JsonObject): Pair[] {
  return Object.entries(value).flatMap(([key, inner]): Pair[] =>
    inner === null ? [] : [[key, plainText(inner)]]
  );
}

/** Returns `name[key][0]=value` for each value within another one. */
function deepPairs(name: string, value: JsonValue): Pair[] {
  if (value === null) return [];
  if (typeof value !== "object") return [[name, plainText(value)]];
  return Object.entries(value).flatMap(([key, inner]) => deepPairs(`${name}[${key}]`, inner));
}

/** Returns what takes the place of `{name}` in a path. */
export function pathText(place: ArgumentPlace, value: JsonValue, encode = encodeText): string {
  const { name, style, explode, type } = place;
  if (type !== undefined) return encode(writtenIn(type, value));
  const isMatrix = style === "matrix";
  const [prefix, separator] = isMatrix
    ? [`;${encode(name)}=`, ";"]
    : style === "label"
    ? [".", "."]
    : ["", ","];
  if (typeof value !== "object" || value === null) return prefix + encode(plainText(value));
  if (Array.isArray(value)) {
    const parts = value.map((item) => encode(plainText(item)));
    if (explode && isMatrix) return parts.map((part) => prefix + part).join("");
    return prefix + parts.join(explode ? separator : ",");
  }
  const pairs = memberPairs(value).map((pair) => pair.map(encode));
  if (!explode) return prefix + pairs.flat().join(",");
  return (isMatrix ? ";" : prefix) + pairs.map((pair) => pair.join("=")).join(separator);
}

/** Returns the value of a header. */
export function headerText(place: ArgumentPlace, value: JsonValue): string {
  return pathText({ ...place, style: "simple" }, value, String);
}
