/**
 * Type words: how documents of functions tell types in plain words, such as `{"amount": "number"}`, and the
 * JSON Schema that is meant (CallNavi, appendix A).
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { typeOf } from "./position.ts";

/** The words that name a type of JSON Schema, as they are written by programmers of many languages. */
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

/** Whether a word names a type. */
export function isTypeWord(word: string): boolean {
  return TYPES.has(word);
}

/**
 * The schema that type words mean: a word that names a type, words by key for an object, or anything else,
 * such as `"VISA/MASTER"` or an example, which then is the description: of a text where it is a text, and
 * else of a value of its own type.
 *
 * @example Usage
 * ```ts
 * import { schemaOfWords } from "./plain_types.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(schemaOfWords({ amount: "number", card: "VISA/MASTER" }), {
 *   type: "object",
 *   properties: {
 *     amount: { type: "number" },
 *     card: { type: "string", description: "VISA/MASTER" },
 *   },
 * });
 * ```
 */
export function schemaOfWords(words: JsonValue): JsonObject {
  if (typeof words === "string") {
    const type = TYPES.get(words);
    if (type !== undefined) return { type };
    return words === "" ? { type: "string" } : { type: "string", description: words };
  }
  if (!isJsonObject(words)) return { type: typeOf(words), description: JSON.stringify(words) };
  const properties = Object.entries(words).map(([key, inner]) => [key, schemaOfWords(inner)]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

/**
 * The type words for a schema: the inverse of {@linkcode schemaOfWords} as far as there is one. Of several
 * types the first is told, of listed values all, and a description stands behind a type that is no text's.
 *
 * @example Usage
 * ```ts
 * import { wordsOfSchema } from "./plain_types.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(wordsOfSchema({ type: "string", description: "VISA/MASTER" }), "VISA/MASTER");
 * assertEquals(wordsOfSchema({ type: "string", enum: ["M", "F"] }), "M/F");
 * assertEquals(wordsOfSchema({ type: "integer", description: "in days" }), "integer (in days)");
 * ```
 */
export function wordsOfSchema(schema: JsonValue): JsonValue {
  if (!isJsonObject(schema)) return "any";
  const { properties, description, enum: members } = schema;
  const type = typeNamed(schema);
  if (isJsonObject(properties) && (type === "object" || type === undefined)) {
    return wordsByName(properties);
  }
  if (Array.isArray(members)) {
    return members.map((member) => typeof member === "string" ? member : JSON.stringify(member))
      .join("/");
  }
  if (typeof description !== "string" || description === "") return type ?? "any";
  const isText = type === undefined || (type === "string" && !isTypeWord(description));
  return isText ? description : `${type} (${description})`;
}

/** The type words for each of several schemas. */
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
 * The schema, taking a text in the place of any value that is none: who does not know a value gives a
 * placeholder for it. The types that there were stand first.
 */
export function takingText(schema: JsonObject): JsonObject {
  const next = taking(schema, "");
  const { properties } = next;
  if (!isJsonObject(properties)) return next;
  return { ...next, properties: mapped(properties, (inner) => takingText(inner)) };
}

/** The schema, taking also the type of `value`, and within an object those of its values. */
export function taking(schema: JsonObject, value: JsonValue): JsonObject {
  const { type, properties } = schema;
  const types = [type ?? []].flat();
  const isTaken = types.length === 0 || types.includes(typeOf(value)) ||
    (types.includes("integer") && Number.isInteger(value));
  const next = isTaken ? schema : { ...schema, type: [...types, typeOf(value)] };
  if (!isJsonObject(properties) || !isJsonObject(value)) return next;
  return {
    ...next,
    properties: mapped(
      properties,
      (inner, name) => Object.hasOwn(value, name) ? taking(inner, value[name]!) : inner,
    ),
  };
}

/** The schemas by name, each changed. */
function mapped(
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
