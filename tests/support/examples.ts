/**
 * Values that conform to a schema, made from it: the least there is, or with everything that may be given.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/base/json.ts";
import { targetOf } from "../../lib/tools/schema/position.ts";

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "123e4567-e89b-12d3-a456-426614174000",
  uri: "https://example.org/",
  email: "ann@example.org",
  date: "2024-02-29",
  "date-time": "2024-02-29T12:00:00Z",
};

/** How deep optional parts are given. */
const MAX_DEPTH = 3;

/** Returns a value that conforms to a schema; with `every`, all properties are given. */
export function exampleOf(
  schema: JsonObject,
  { every = false }: { readonly every?: boolean } = {},
): JsonValue {
  return new Maker(schema, every).make(schema, 0);
}

class Maker {
  readonly #root: JsonObject;
  readonly #every: boolean;

  constructor(root: JsonObject, every: boolean) {
    this.#root = root;
    this.#every = every;
  }

  make(schema: JsonValue | undefined, depth: number): JsonValue {
    if (!isJsonObject(schema)) return "any";
    const { $ref, anyOf, oneOf, allOf, type, enum: listed, properties } = schema;
    if (Object.hasOwn(schema, "const")) return schema["const"]!;
    if (Array.isArray(listed)) return listed[0]!;
    const target = targetOf(this.#root, $ref);
    if (target !== undefined) return this.make(target, depth);
    const branches = [anyOf, oneOf].find(Array.isArray);
    if (branches !== undefined) return this.make(branches[0], depth);
    if (Array.isArray(allOf)) return this.make(Object.assign({}, ...allOf), depth);
    const kind = [type ?? (isJsonObject(properties) ? "object" : "string")].flat()[0];
    if (kind === "object") return this.#object(schema, depth);
    if (kind === "array") return this.#array(schema, depth);
    if (kind === "string") return textOf(schema);
    if (kind === "boolean") return true;
    return kind === "null" ? null : numberOf(schema);
  }

  #object({ properties, required = [] }: JsonObject, depth: number): JsonObject {
    const needed = new Set(required as JsonValue[]);
    const given = Object.entries((properties ?? {}) as JsonObject).filter(([name]) =>
      needed.has(name) || (this.#every && depth < MAX_DEPTH)
    );
    return Object.fromEntries(given.map(([name, inner]) => [name, this.make(inner, depth + 1)]));
  }

  #array({ items, minItems = 0 }: JsonObject, depth: number): JsonValue[] {
    const length = Math.max(Number(minItems), this.#every && depth < MAX_DEPTH ? 1 : 0);
    return Array.from({ length }, () => this.make(items, depth + 1));
  }
}

function textOf({ format, minLength = 0 }: JsonObject): string {
  return FORMATS[String(format)] ?? "some text".padEnd(Number(minLength), "x");
}

function numberOf({ minimum, exclusiveMinimum, maximum }: JsonObject): number {
  const least = typeof exclusiveMinimum === "number" ? exclusiveMinimum + 1 : Number(minimum ?? 1);
  return Math.min(least, Number(maximum ?? Infinity));
}
