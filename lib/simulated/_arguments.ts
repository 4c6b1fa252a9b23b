/**
 * Arguments of calls: converts values to the types that the schemas of parameters declare.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { schemasFor, typesOf } from "../tools/schema/position.ts";
import type { FunctionReading } from "./_functions.ts";
import type { OutgoingCall, Value } from "./_wire.ts";

/** How deep a value may be nested in lists and objects, as a schema may be recursive. */
const MAX_DEPTH = 50;

/**
 * Writes a call of `called`, by another name if given, with each value in the type that the schema declares.
 *
 * | declared type | argument |
 * | --- | --- |
 * | a number, or none | the value |
 * | a string | the number as a string |
 * | a list | a list of the value, converted to the type of its items |
 * | an object | its first required property, or its first one, with the converted value |
 * | a boolean | whether the value is not 0 |
 *
 * Of several types, the value's own is preferred, then the first one. A name for a value is a string; if none is
 * allowed, it is still written in place of the value. Functions known to take numbers get these as they are.
 */
export function writeCall(
  called: FunctionReading,
  values: ReadonlyMap<string, Value>,
  name: string = called.name,
): OutgoingCall {
  const args = Array.from(
    values,
    ([parameter, value]) => [parameter, writeValue(called, parameter, value)] as const,
  );
  const { explanation, outputs: [output] } = called;
  const words = `I call it for ${output === undefined ? "its result" : output.name}.`;
  return {
    name,
    arguments: new Map<string, JsonValue>([
      ...(explanation === undefined ? [] : [[explanation, words] as const]),
      ...args,
    ]),
  };
}

/** Converts the value of one parameter to the type that the schema declares. */
export function writeValue(
  { schema, takesNumbers = false }: Pick<FunctionReading, "schema" | "takesNumbers">,
  parameter: string,
  value: Value,
): JsonValue {
  if (takesNumbers && typeof value === "number") return value;
  const isName = typeof value === "string";
  const ownTypes = isName ? ["string"] : ["integer", "number"];
  /** The value in a type that all of `schemas` allow. */
  const write = (schemas: readonly JsonValue[], depth = 0): JsonValue => {
    const { parts, open } = schemasFor(schema, schemas);
    const types = open ? [] : parts.flatMap((part) => typesOf(part) ?? []);
    if (types.length === 0 || ownTypes.some((type) => types.includes(type))) return value;
    for (const type of depth < MAX_DEPTH ? types : []) {
      if (type === "array") return [write(itemsIn(parts), depth + 1)];
      if (type === "object") {
        const name = propertyFor(parts) ?? parameter;
        return { [name]: write(propertiesIn(parts, name), depth + 1) };
      }
      if (type === "boolean" && !isName) return value !== 0;
      if (type === "string") return String(value);
    }
    return value;
  };
  return write(propertiesIn([schema], parameter));
}

/** The schemas of one property. */
function propertiesIn(parts: readonly JsonObject[], name: string): JsonValue[] {
  return parts.flatMap(({ properties }) =>
    isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name]!] : []
  );
}

/** The property of an object that gets the value; `undefined` if none is named, as in an open object. */
function propertyFor(parts: readonly JsonObject[]): string | undefined {
  const required = parts.flatMap((part) => Array.isArray(part["required"]) ? part["required"] : []);
  const listed = parts.flatMap(({ properties }) => Object.keys(Object(properties)));
  const name = required[0] ?? listed[0];
  return name === undefined ? undefined : String(name);
}

/** The schemas of the first item of a list. */
function itemsIn(parts: readonly JsonObject[]): JsonValue[] {
  return parts.flatMap(({ prefixItems, items }) => {
    const [first] = [prefixItems ?? items ?? []].flat();
    return first === undefined ? [] : [first];
  });
}
