/**
 * Leaves: the texts and numbers of a record that a question may ask for, by the schema of a result.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { targetOf, typesOf } from "../tools/schema/position.ts";
import { wordsOf } from "./_questions.ts";

/** A text or a number of a record. */
export interface Leaf {
  /** The way to it within the record. */
  readonly path: readonly string[];
  /** Whether questions may ask for it: whether it is not one of few values, an id, an address or about pages. */
  readonly isAsked: boolean;
  /** Whether it is a name or a title, by which a question may choose an item of a list. */
  readonly isLabel: boolean;
}

/** Levels of objects within a record, at most. */
const MAX_LEVELS = 2;
/** Schemas that one value may have, at most: references may go round. */
const MAX_PARTS = 50;

/** Words at the end of names of what nobody asks for: ids, addresses, what a program needs, one of few values. */
const NEVER = new Set(
  ("id ids gid uuid guid key keys sha hash digest etag fingerprint signature token secret password cursor next previous page pages " +
    "offset limit url urls uri href link links image icon avatar thumbnail picture logo photo html markdown type kind status " +
    "state object resource self version revision format encoding mode class locale lang").split(
      " ",
    ),
);

/** Returns the texts and numbers of the record at a way in a result, without those of the records within it. */
export function leavesOf(
  result: JsonObject,
  way: readonly string[],
  inner: readonly (readonly string[])[],
): Leaf[] {
  let schemas: readonly JsonValue[] = [result];
  for (const key of way) schemas = within(result, partsOf(result, schemas), key);
  const nested = new Set(inner.map((path) => path.slice(way.length).join("\0")));
  const found: Leaf[] = [];
  const visit = (parts: readonly JsonObject[], path: readonly string[]) => {
    for (const key of new Set(parts.flatMap((part) => Object.keys(Object(part["properties"]))))) {
      const at = [...path, key];
      if (nested.has(at.join("\0")) || key.includes("*")) continue;
      const own = partsOf(result, within(result, parts, key));
      const types = new Set(own.flatMap((part) => typesOf(part) ?? []));
      types.delete("null");
      if (types.size !== 1) continue;
      const [type] = types;
      if (type === "object" && at.length <= MAX_LEVELS) visit(own, at);
      const isText = type === "string";
      if (!isText && type !== "number" && type !== "integer") continue;
      const words = at.map(wordsOf);
      const last = words.at(-1)!.split(" ").at(-1)!;
      const isListed = own.some((part) =>
        part["enum"] !== undefined || part["const"] !== undefined || part["writeOnly"] === true ||
        /^(ur[il]|iri|binary|byte|password|html)/.test(String(part["format"])) ||
        Number(part["maxLength"] ?? 9) < 4
      );
      const isAsked = !isListed && words.every((text) => !NEVER.has(text.split(" ").at(-1)!));
      const isLabel = isText && isAsked && at.length === 1 &&
        /^(name|title|subject|label|summary)$/.test(last);
      found.push({ path: at, isAsked, isLabel });
    }
  };
  visit(partsOf(result, schemas), []);
  return found;
}

/** Returns the schemas of a property, or of the items of a list. */
function within(root: JsonObject, parts: readonly JsonObject[], key: string): JsonValue[] {
  return parts.flatMap(({ properties, items }) => {
    const found = key === "*"
      ? items
      : Object.hasOwn(Object(properties), key)
      ? Object(properties)[key]
      : undefined;
    return found === undefined ? [] : partsOf(root, [found]);
  });
}

/** Returns the schemas that all apply to one value: nothing of a union but what may also be null. */
function partsOf(root: JsonObject, schemas: readonly JsonValue[]): JsonObject[] {
  const parts = new Set<JsonObject>();
  const waiting = [...schemas];
  for (const schema of waiting) {
    if (!isJsonObject(schema) || parts.has(schema) || parts.size > MAX_PARTS) continue;
    parts.add(schema);
    const { allOf, anyOf, oneOf, $ref } = schema;
    waiting.push(...(targetOf(root, $ref) === undefined ? [] : [targetOf(root, $ref)!]));
    if (Array.isArray(allOf)) waiting.push(...allOf);
    for (const union of [anyOf, oneOf]) {
      const branches = Array.isArray(union)
        ? union.filter((one) => !isJsonObject(one) || one["type"] !== "null")
        : [];
      if (branches.length === 1) waiting.push(branches[0]!);
    }
  }
  return [...parts];
}
