/**
 * Values as arguments of calls, written as the schemas of the parameters want them.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { schemasFor, typesOf } from "../tools/schema/position.ts";
import type { FunctionReading } from "./functions.ts";
import type { OutgoingCall, Value } from "./wire.ts";

/** So many lists and objects are put around one value; the schema may ask for ever more. */
const MOST_DEPTH = 50;

/**
 * A call of `called`, perhaps by another name, with each value as the schema of its parameter says.
 *
 * | declared type | what is written |
 * | --- | --- |
 * | a number, or none | the value |
 * | a text | the number as a text |
 * | a list | a list of the value, as its items are to be |
 * | an object | its first required property, or its first one, with the value as that is to be |
 * | a boolean | whether the value is other than 0 |
 *
 * Of several types the value's own comes first, then the one that stands first. A name for a value is a
 * text; where none is taken, it stands in the value's place.
 *
 * @example Usage
 * ```ts
 * import { writeCall } from "./arguments.ts";
 * import { readFunctions } from "./functions.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const items = { type: "string" };
 * const parameters = { type: "object", properties: { mfmjsy: { type: "array", items } } };
 * const called = readFunctions([{ name: "func_yep", parameters }]).get("func_yep")!;
 * const { arguments: given } = writeCall(called, new Map([["mfmjsy", 731]]));
 * assertEquals([...given], [["mfmjsy", ["731"]]]);
 * ```
 */
export function writeCall(
  called: FunctionReading,
  values: ReadonlyMap<string, Value>,
  name: string = called.name,
): OutgoingCall {
  const written = Array.from(
    values,
    ([parameter, value]) => [parameter, writeValue(called, parameter, value)] as const,
  );
  return { name, arguments: new Map(written) };
}

/** The value of one parameter as the schema says. */
export function writeValue(
  { schema }: FunctionReading,
  parameter: string,
  value: Value,
): JsonValue {
  return new Writer(schema, parameter, value).write(propertiesIn([schema], parameter));
}

/** What schemas say of one property. */
function propertiesIn(parts: readonly JsonObject[], name: string): JsonValue[] {
  return parts.flatMap(({ properties }) =>
    isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name]!] : []
  );
}

/** Writes one value. */
class Writer {
  readonly #root: JsonObject;
  readonly #parameter: string;
  readonly #value: Value;

  constructor(root: JsonObject, parameter: string, value: Value) {
    this.#root = root;
    this.#parameter = parameter;
    this.#value = value;
  }

  /** The value as all of `schemas` want it. */
  write(schemas: readonly JsonValue[], depth = 0): JsonValue {
    const { parts, open } = schemasFor(this.#root, schemas);
    const types = open ? [] : parts.flatMap((part) => typesOf(part) ?? []);
    const isName = typeof this.#value === "string";
    const own = isName ? ["string"] : ["integer", "number"];
    if (types.length === 0 || own.some((type) => types.includes(type))) return this.#value;
    for (const type of depth < MOST_DEPTH ? types : []) {
      if (type === "array") return [this.write(itemsIn(parts), depth + 1)];
      if (type === "object") return this.#object(parts, depth);
      if (type === "boolean" && !isName) return this.#value !== 0;
      if (type === "string") return String(this.#value);
    }
    return this.#value;
  }

  #object(parts: readonly JsonObject[], depth: number): JsonObject {
    const required = parts.flatMap((part) =>
      Array.isArray(part["required"]) ? part["required"] : []
    );
    const listed = parts.flatMap(({ properties }) => Object.keys(Object(properties)));
    // An open object names no property: then the parameter's name is the only one at hand.
    const name = String(required[0] ?? listed[0] ?? this.#parameter);
    return { [name]: this.write(propertiesIn(parts, name), depth + 1) };
  }
}

/** What schemas say of the first item of a list. */
function itemsIn(parts: readonly JsonObject[]): JsonValue[] {
  return parts.flatMap(({ prefixItems, items }) => {
    const [first] = [prefixItems ?? items ?? []].flat();
    return first === undefined ? [] : [first];
  });
}
