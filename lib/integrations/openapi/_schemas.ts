/**
 * Schemas of a parsed document as JSON Schemas of their own: what each refers to stands in its `$defs`.
 * @module
 */

import { fieldOf, isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { HOLDERS } from "../../tools/schema/subschemas.ts";

/** What a schema describes: a request leaves out what is read-only, a result what is write-only. */
export type Direction = "request" | "result";

const PREFIX = "#/components/schemas/";

interface Converted {
  readonly schema: JsonValue;
  /** The names of the definitions it refers to. */
  readonly names: ReadonlySet<string>;
}

/** The schemas of a parsed document in one direction; each is converted once. */
export class Schemas {
  readonly #components: JsonObject;
  readonly #left: "readOnly" | "writeOnly";
  readonly #converted = new Map<string, Converted>();

  constructor(document: JsonObject, direction: Direction) {
    const schemas = fieldOf(fieldOf(document, "components"), "schemas");
    this.#components = isJsonObject(schemas) ? schemas : {};
    this.#left = direction === "request" ? "readOnly" : "writeOnly";
  }

  /** Returns a schema whose references lead to `#/$defs/`. */
  convert(schema: JsonValue): JsonValue {
    return this.#convert(schema, new Set());
  }

  /** Returns the schemas that converted ones refer to, and those that these refer to, by name. */
  definitions(schemas: readonly JsonValue[]): JsonObject {
    const names = new Set<string>();
    for (const schema of schemas) collect(schema, names);
    // Iterating goes on through the names that are added.
    for (const name of names) for (const next of this.#named(name).names) names.add(next);
    return Object.fromEntries([...names].map((name) => [name, this.#named(name).schema]));
  }

  /** Returns what a converted schema stands for: itself, or what its reference leads to. */
  target(schema: JsonValue): JsonValue {
    // A parsed document has no endless references.
    let found = schema;
    while (isJsonObject(found) && typeof found["$ref"] === "string") {
      found = this.#named(found["$ref"].slice("#/$defs/".length)).schema;
    }
    return found;
  }

  #named(name: string): Converted {
    const known = this.#converted.get(name);
    if (known !== undefined) return known;
    const names = new Set<string>();
    const converted = { schema: this.#convert(this.#components[name] ?? true, names), names };
    this.#converted.set(name, converted);
    return converted;
  }

  #convert(schema: JsonValue, names: Set<string>): JsonValue {
    if (!isJsonObject(schema)) return schema;
    const left = this.#leftOut(schema);
    const copies = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
      if (keyword === "$ref") {
        const name = String(value).slice(PREFIX.length);
        names.add(name);
        return [keyword, `#/$defs/${name}`];
      }
      if (keyword === "required" && left.size > 0 && Array.isArray(value)) {
        return [keyword, value.filter((name) => !left.has(String(name)))];
      }
      const shape = HOLDERS.get(keyword)?.shape;
      if (shape === undefined) return [keyword, value];
      if (Array.isArray(value)) return [keyword, value.map((one) => this.#convert(one, names))];
      if (shape !== "named" || !isJsonObject(value)) return [keyword, this.#convert(value, names)];
      const named = Object.entries(value)
        .filter(([name]) => keyword !== "properties" || !left.has(name))
        .map(([name, one]) => [name, this.#convert(one, names)] as const);
      return [keyword, Object.fromEntries(named)];
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

/** Adds the names that a converted schema refers to. */
function collect(schema: JsonValue, names: Set<string>): void {
  if (!isJsonObject(schema)) return;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "$ref") names.add(String(value).slice("#/$defs/".length));
    const shape = HOLDERS.get(keyword)?.shape;
    if (shape === undefined) continue;
    const inner = Array.isArray(value)
      ? value
      : shape === "named" && isJsonObject(value)
      ? Object.values(value)
      : [value];
    for (const one of inner) collect(one, names);
  }
}
