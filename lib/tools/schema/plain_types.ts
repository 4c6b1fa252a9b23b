/**
 * Type words: converts function documents that give types as plain words, such as `{"amount": "number"}`, to
 * JSON Schema and back (CallNavi, appendix A).
 * @module
 */

import { isJsonObject, type JsonObject, jsonText, type JsonValue } from "../../base/json.ts";
import { typeOf } from "./position.ts";

/** The words for each type of JSON Schema, as programmers of many languages write them. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["string", "string"],
  ["str", "string"],
  ["number", "number"],
  ["float", "number"],
  ["integer", "integer"],
  ["int", "integer"],
  ["boolean", "boolean"],
  ["bool", "boolean"],
  ["object", "object"],
  ["dict", "object"],
  ["array", "array"],
  ["list", "array"],
]);

/** Whether a word is the name of a type. */
export function isTypeWord(word: string): boolean {
  return TYPES.has(word);
}

/**
 * Converts type words to a schema: a type name, words by key for an object, or anything else, such as
 * `"VISA/MASTER"` or an example value, which becomes the description: of a string if it is a string, else
 * of a value of its own type.
 */
export function schemaOfWords(words: JsonValue): JsonObject {
  if (typeof words === "string") {
    const type = TYPES.get(words);
    if (type !== undefined) return { type };
    return words === "" ? { type: "string" } : { type: "string", description: words };
  }
  if (!isJsonObject(words)) return { type: typeOf(words), description: jsonText(words) };
  const properties = Object.entries(words).map(([key, inner]) => [key, schemaOfWords(inner)]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

/**
 * Converts a schema to type words: the inverse of {@linkcode schemaOfWords} as far as possible. Of several
 * types only the first is kept, listed values are all kept, and a description follows a type other than string.
 */
export function wordsOfSchema(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return "any";
  const { properties, description, enum: members } = schema;
  const type = typeNamed(schema);
  if (isJsonObject(properties) && (type === "object" || type === undefined)) {
    return wordsByName(properties);
  }
  if (Array.isArray(members)) {
    return members.map((member) => typeof member === "string" ? member : jsonText(member))
      .join("/");
  }
  if (typeof description !== "string" || description === "") return type ?? "any";
  const isText = type === undefined || (type === "string" && !isTypeWord(description));
  return isText ? description : `${type} (${description})`;
}

/** Converts each of several schemas to type words. */
export function wordsByName(schemas: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, inner]) => [name, wordsOfSchema(inner)]),
  );
}

/** The first type that a schema names. */
function typeNamed({ type }: JsonObject): string | undefined {
  const [first] = [type ?? []].flat();
  return typeof first === "string" ? first : undefined;
}

/**
 * Returns the schema, extended to accept a string in place of every other value, so that a placeholder can be
 * given for an unknown value. The original types come first.
 */
export function acceptText(schema: JsonObject): JsonObject {
  const next = acceptTypeOf(schema, "");
  const { properties } = next;
  if (!isJsonObject(properties)) return next;
  return { ...next, properties: mapSchemas(properties, (inner) => acceptText(inner)) };
}

/** Returns the schema, extended to accept the type of `value`, and within an object those of its values. */
export function acceptTypeOf(schema: JsonObject, value: JsonValue): JsonObject {
  const { type, properties } = schema;
  const types = [type ?? []].flat();
  const isAccepted = types.length === 0 || types.includes(typeOf(value)) ||
    types.includes("integer") && (Number.isInteger(value) || typeof value === "bigint");
  const next = isAccepted ? schema : { ...schema, type: [...types, typeOf(value)] };
  if (!isJsonObject(properties) || !isJsonObject(value)) return next;
  return {
    ...next,
    properties: mapSchemas(
      properties,
      (inner, name) => Object.hasOwn(value, name) ? acceptTypeOf(inner, value[name]!) : inner,
    ),
  };
}

/** Returns the schemas by name, each changed. */
function mapSchemas(
  schemas: JsonObject,
  change: (schema: JsonObject, name: string) => JsonObject,
): JsonObject {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      isJsonObject(schema) ? change(schema, name) : schema,
    ]),
  );
}
