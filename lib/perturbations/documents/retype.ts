/**
 * Retyping: a schema with another type than the one it has.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { typeOf } from "../../tools/schema/position.ts";
import { HOLDERS } from "../../tools/schema/subschemas.ts";

/** The types that values have; all numbers count as one, by the name of the type that comes for others. */
export type Kind = "null" | "boolean" | "integer" | "string" | "array" | "object";

/** What a schema can be changed to with nothing else to say. */
export const SCALARS = ["boolean", "integer", "string"] as const;
const TARGETS = [...SCALARS, "array", "object"] as const;

/** A type that a schema can be changed to. */
type Target = typeof TARGETS[number];

/** The types that are none of the kinds; and no text for a number, which is often written as one. */
export function targetsBeside(kinds: readonly Kind[]): Target[] {
  return TARGETS.filter((target) =>
    !kinds.includes(target) && !(target === "string" && kinds.includes("integer"))
  );
}

const KINDS: ReadonlyMap<JsonValue, readonly Kind[]> = new Map<JsonValue, readonly Kind[]>([
  ...(["null", "boolean", "integer", "string", "array", "object"] as const)
    .map((kind) => [kind, [kind]] as const),
  ["number", ["integer"]],
]);

/** The kinds that a schema itself names, be it by its members; none where it names none. */
export function kindsOf(schema: JsonObject): Kind[] {
  const { type, enum: members } = schema;
  const values = [
    ...(Array.isArray(members) ? members : []),
    ...(Object.hasOwn(schema, "const") ? [schema["const"]!] : []),
  ];
  const types = [type ?? []].flat();
  const named = [...types, ...values.map(typeOf)];
  return [...new Set(named.flatMap((kind) => KINDS.get(kind) ?? []))];
}

/** Keywords that check values and hold no schemas. */
const PLAIN_CHECKS = new Set([
  ...["type", "nullable", "enum", "const", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["minProperties", "maxProperties", "required", "dependentRequired"],
  ...["contentEncoding", "contentMediaType", "contentSchema"],
]);
/** They show values of the old type. */
const VALUES = new Set(["default", "examples", "example"]);

/** Whether a keyword checks values and holds no schemas that could be referred to. */
export function isPlainCheck(keyword: string): boolean {
  return PLAIN_CHECKS.has(keyword) ||
    ["items", "properties", "additionalProperties"].includes(keyword);
}

/** Whether a keyword checks values, by itself or by schemas that it holds. */
export function isCheck(keyword: string): boolean {
  const holder = HOLDERS.get(keyword);
  return PLAIN_CHECKS.has(keyword) || (holder !== undefined && holder.role !== "definition");
}

/** The schema with another type, and in place of its checks what the type needs. */
export function retyped(
  schema: JsonObject,
  target: Target,
  goes: (keyword: string) => boolean,
): JsonObject {
  const old = Object.fromEntries(Object.entries(schema).filter(([keyword]) => goes(keyword)));
  const rest = Object.entries(schema).filter(([keyword]) => !VALUES.has(keyword));
  const next = new Map<string, JsonValue>([["type", target], ...NEEDS[target]?.(old) ?? []]);
  const kept = rest.flatMap(([keyword, held]): [string, JsonValue][] => {
    const other = next.get(keyword);
    next.delete(keyword);
    return other !== undefined ? [[keyword, other]] : goes(keyword) ? [] : [[keyword, held]];
  });
  return Object.fromEntries([...kept, ...next]);
}

/** What a type needs, so that providers take it, and its parts are what was there before. */
const NEEDS: Readonly<Partial<Record<Target, (old: JsonObject) => [string, JsonValue][]>>> = {
  array: (old) => [["items", old]],
  object: (old) => [
    ["properties", { value: old }],
    ["required", ["value"]],
    ["additionalProperties", false],
  ],
};

/** The schema with another type in place of those that are no containers; itself where there is none. */
export function retypedBeside(
  schema: JsonObject,
  containers: ReadonlySet<Kind>,
  scalar: Target,
): JsonObject {
  const { type, nullable, enum: members } = schema;
  const types = [type ?? []].flat();
  const others = types.filter((other) => !(containers as ReadonlySet<JsonValue>).has(other));
  const isListed = members !== undefined || Object.hasOwn(schema, "const");
  if (isListed || types.length === 0 || (others.length === 0 && nullable !== true)) return schema;
  const next = [...types.filter((own) => !others.includes(own)), scalar];
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, held]): [string, JsonValue][] => {
      if (VALUES.has(keyword) || keyword === "nullable") return [];
      return [[keyword, keyword === "type" ? next : held]];
    }),
  );
}
