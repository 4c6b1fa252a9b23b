/**
 * Schemas of a parsed document as JSON Schemas of their own: what each refers to stands in its `$defs`.
 * @module
 */

import { fieldOf, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { mapSchemas, subschemas } from "../../tools/schema/subschemas.ts";

/** What a schema describes: a request leaves out what is read-only, a result what is write-only. */
export type Direction = "request" | "result";

const PREFIX = "#/components/schemas/";
const DEFINITIONS = "#/$defs/";

/** The schemas of a parsed document in one direction; each is converted once. */
export class Schemas {
  readonly #components: JsonObject;
  readonly #left: "readOnly" | "writeOnly";
  readonly #converted = new Map<string, JsonValue>();

  constructor(document: JsonObject, direction: Direction) {
    const schemas = fieldOf(fieldOf(document, "components"), "schemas");
    this.#components = isJsonObject(schemas) ? schemas : {};
    this.#left = direction === "request" ? "readOnly" : "writeOnly";
  }

  /** Returns `$defs`, if there are any: what converted schemas refer to, and what that refers to, by name. */
  definitions(schemas: readonly JsonValue[]): JsonObject {
    const names = new Set(schemas.flatMap(namesIn));
    // Iterating goes on through the names that are added.
    for (const name of names) for (const next of namesIn(this.#named(name))) names.add(next);
    if (names.size === 0) return {};
    return { $defs: Object.fromEntries([...names].map((name) => [name, this.#named(name)])) };
  }

  /** Returns what a converted schema stands for: itself, or what its reference leads to. */
  target(schema: JsonValue): JsonValue {
    let found = schema;
    // Endless ones are told by the check of arguments.
    const seen = new Set<JsonValue>();
    while (isJsonObject(found) && typeof found["$ref"] === "string" && !seen.has(found)) {
      seen.add(found);
      found = this.#named(found["$ref"].slice(DEFINITIONS.length));
    }
    return found;
  }

  #named(name: string): JsonValue {
    const converted = this.#converted.get(name) ?? this.convert(this.#components[name] ?? true);
    this.#converted.set(name, converted);
    return converted;
  }

  /** Returns a schema whose references lead to `#/$defs/`. */
  convert(schema: JsonValue): JsonValue {
    if (!isJsonObject(schema)) return schema;
    const left = this.#leftOut(schema);
    const copies = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
      if (keyword === "$ref") return [keyword, DEFINITIONS + String(value).slice(PREFIX.length)];
      if (keyword === "required" && Array.isArray(value)) {
        return [keyword, value.filter((name) => !left.has(String(name)))];
      }
      const kept = keyword === "properties" && isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).filter(([name]) => !left.has(name)))
        : value;
      return [keyword, mapSchemas(keyword, kept, (inner) => this.convert(inner))];
    });
    return Object.fromEntries(copies);
  }

  /** The names of the properties that are of the other direction alone. */
  #leftOut(schema: JsonObject): Set<string> {
    const properties = fieldOf(schema, "properties");
    if (!isJsonObject(properties)) return new Set();
    const names = Object.keys(properties).filter((name) => {
      const property = properties[name];
      if (!isJsonObject(property)) return false;
      const { $ref } = property;
      const target = typeof $ref === "string"
        ? fieldOf(this.#components, $ref.slice(PREFIX.length))
        : undefined;
      return property[this.#left] === true || fieldOf(target, this.#left) === true;
    });
    return new Set(names);
  }
}

/** The names of the definitions that a converted schema refers to. */
function namesIn(schema: JsonValue): string[] {
  return isJsonObject(schema)
    ? subschemas(schema).flatMap(({ schema: { $ref } }) =>
      typeof $ref === "string" ? [$ref.slice(DEFINITIONS.length)] : []
    ).toArray()
    : [];
}
