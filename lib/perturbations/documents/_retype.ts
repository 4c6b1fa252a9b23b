/**
 * Retyping: gives a schema another type than the one it has.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { typeOf } from "../../tools/schema/position.ts";
import { HOLDERS } from "../../tools/schema/subschemas.ts";

/** The types that values have; `integer` stands for all numbers. */
export type Kind = "null" | "boolean" | "integer" | "string" | "array" | "object";

/** Types that a schema can be changed to without further keywords. */
export const SCALARS = ["boolean", "integer", "string"] as const;
const TARGETS = [...SCALARS, "array", "object"] as const;

/** A type that a schema can be changed to. */
type Target = typeof TARGETS[number];

/** The types other than `kinds`; and not `string` for numbers, as these are often written as strings. */
export function targetsExcept(kinds: readonly Kind[]): Target[] {
  return TARGETS.filter((target) =>
    !kinds.includes(target) && !(target === "string" && kinds.includes("integer"))
  );
}

const KINDS: ReadonlyMap<JsonValue, readonly Kind[]> = new Map<JsonValue, readonly Kind[]>([
  ...(["null", "boolean", "integer", "string", "array", "object"] as const)
    .map((kind) => [kind, [kind]] as const),
  ["number", ["integer"]],
]);

/** The kinds that a schema itself names, by its type, enum or const; empty if it names none. */
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
/** Keywords that hold values of the old type. */
const VALUES = new Set(["default", "examples", "example"]);

/** Whether retyping a schema without its branches removes a keyword. */
export function isPlainCheckKeyword(keyword: string): boolean {
  return PLAIN_CHECKS.has(keyword) ||
    ["items", "properties", "additionalProperties"].includes(keyword);
}

/** Whether retyping a schema together with its branches removes a keyword. */
export function isCheckKeyword(keyword: string): boolean {
  const holder = HOLDERS.get(keyword);
  return PLAIN_CHECKS.has(keyword) || (holder !== undefined && holder.role !== "definition");
}

/** The schema with another type; keywords for which `goes` holds are replaced by those that the type needs. */
export function retyped(
  schema: JsonObject,
  target: Target,
  goes: (keyword: string) => boolean,
): JsonObject {
  const old = Object.fromEntries(Object.entries(schema).filter(([keyword]) => goes(keyword)));
  const rest = Object.entries(schema).filter(([keyword]) => !VALUES.has(keyword));
  const next = new Map<string, JsonValue>([["type", target], ...NEEDS[target]?.(old) ?? []]);
  const entries = rest.flatMap(([keyword, held]): [string, JsonValue][] => {
    const other = next.get(keyword);
    next.delete(keyword);
    return other !== undefined ? [[keyword, other]] : goes(keyword) ? [] : [[keyword, held]];
  });
  return Object.fromEntries([...entries, ...next]);
}

/** Further keywords that providers require with a type; the old checks become those of its parts. */
const NEEDS: Readonly<Partial<Record<Target, (old: JsonObject) => [string, JsonValue][]>>> = {
  array: (old) => [["items", old]],
  object: (old) => [
    ["properties", { value: old }],
    ["required", ["value"]],
    ["additionalProperties", false],
  ],
};

/** The schema with `scalar` in place of its types other than `containers`; unchanged if it has none. */
export function retypedExcept(
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
