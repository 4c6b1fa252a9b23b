/**
 * Schemas whose parts apply to one value, as one schema: what references, `allOf` and a chosen branch say together.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/** Keywords of numbers whose larger or smaller value decides, such as `minLength` and `exclusiveMaximum`. */
const LARGER = /^(?:exclusiveM|m)in/;
const SMALLER = /^(?:exclusiveM|m)ax/;
/** Keywords of which only the last counts, as they say nothing about a value. */
const SILENT = new Set(["title", "description", "default", "examples", "example", "deprecated"]);

/** A schema of several, and whether it says all that they say. */
export interface Merged {
  readonly schema: JsonObject;
  readonly isExact: boolean;
}

/** Returns what two schemas say of one value. */
export function merged(one: JsonObject, other: JsonObject): Merged {
  if (Object.keys(one).length === 0) return { schema: other, isExact: true };
  const schema = new Map(Object.entries(one));
  let isExact = true;
  for (const [keyword, value] of Object.entries(other)) {
    const known = schema.get(keyword);
    if (known === undefined || SILENT.has(keyword)) schema.set(keyword, value);
    else if (LARGER.test(keyword)) schema.set(keyword, Math.max(Number(known), Number(value)));
    else if (SMALLER.test(keyword)) schema.set(keyword, Math.min(Number(known), Number(value)));
    else if (keyword === "type") schema.set(keyword, commonTypes(known, value));
    else if (keyword === "required") schema.set(keyword, union(known, value));
    else if (keyword === "enum") schema.set(keyword, common(known, value));
    else if (keyword === "properties" && isJsonObject(known) && isJsonObject(value)) {
      schema.set(keyword, commonProperties(known, value));
    } else if (keyword === "items" || keyword === "additionalProperties") {
      schema.set(keyword, both(known, value));
    } else if (JSON.stringify(known) !== JSON.stringify(value)) isExact = false;
  }
  const properties = schema.get("properties");
  if (isJsonObject(properties)) {
    const shut = [...closed(one, other), ...closed(other, one)];
    schema.set("properties", { ...properties, ...Object.fromEntries(shut) });
  }
  const hasRules = [one, other].some((side) => isJsonObject(side["additionalProperties"]));
  return { schema: Object.fromEntries(schema), isExact: isExact && !hasRules };
}

/** The properties of one schema that another one does not take, each with the schema that nothing fits. */
function closed(one: JsonObject, other: JsonObject): [string, JsonValue][] {
  const { additionalProperties, properties: known, patternProperties } = other;
  if (additionalProperties !== false || patternProperties !== undefined) return [];
  const names = Object.keys(isJsonObject(one["properties"]) ? one["properties"] : {});
  return names.filter((name) => !Object.hasOwn(Object(known), name)).map((name) => [name, false]);
}

function asList(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : [value];
}

function union(one: JsonValue, other: JsonValue): JsonValue[] {
  return [...new Set([...asList(one), ...asList(other)])];
}

function common(one: JsonValue, other: JsonValue): JsonValue[] {
  const known = new Set(asList(other).map((value) => JSON.stringify(value)));
  return asList(one).filter((value) => known.has(JSON.stringify(value)));
}

function commonTypes(one: JsonValue, other: JsonValue): JsonValue[] {
  const [left, right] = [new Set(asList(one)), new Set(asList(other))];
  // An integer is a number.
  const types = [...left].filter((type) =>
    right.has(type) || type === "integer" && right.has("number")
  );
  return right.has("integer") && left.has("number") ? union(types, "integer") : types;
}

function commonProperties(one: JsonObject, other: JsonObject): JsonObject {
  const properties = new Map(Object.entries(one));
  for (const [name, schema] of Object.entries(other)) {
    const known = properties.get(name);
    properties.set(name, known === undefined ? schema : both(known, schema));
  }
  return Object.fromEntries(properties);
}

function both(one: JsonValue, other: JsonValue): JsonValue {
  if (one === true || one === false && other === false) return other;
  if (other === true || one === false) return one;
  return other === false ? other : { allOf: [one, other] };
}
