/**
 * Subschemas: the schemas within a JSON Schema, their paths, and the value each applies to.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue, pointerPart } from "../../base/json.ts";

/**
 * What a subschema applies to: a named `property` of the value around it; another `part` of it, such as an
 * item; a `branch` applies to the value itself; a `definition` to each value that refers to it; and a
 * `condition` only tests the value and does not constrain it.
 */
export type SchemaRole = "property" | "part" | "branch" | "definition" | "condition";

/** How a keyword holds schemas: `one`, a `list`, one or a list (`any`), or by name. */
export type Shape = "one" | "list" | "any" | "named";

/** The keywords of JSON Schema that hold schemas. */
export const HOLDERS: ReadonlyMap<string, { readonly shape: Shape; readonly role: SchemaRole }> =
  new Map(
    ([
      ["property", "named", ["properties"]],
      ["part", "named", ["patternProperties"]],
      ["part", "one", ["additionalProperties", "unevaluatedProperties", "contains"]],
      ["part", "one", ["additionalItems", "unevaluatedItems"]],
      ["part", "any", ["items"]],
      ["part", "list", ["prefixItems"]],
      ["branch", "list", ["anyOf", "oneOf", "allOf"]],
      ["branch", "one", ["then", "else"]],
      ["branch", "named", ["dependentSchemas", "dependencies"]],
      ["definition", "named", ["$defs", "definitions"]],
      ["condition", "one", ["if", "not", "propertyNames"]],
    ] as const).flatMap(([role, shape, keywords]) =>
      keywords.map((keyword) => [keyword, { shape, role }] as const)
    ),
  );

/** Returns the value of a keyword, in which `change` has replaced the schemas that it holds, if it holds any. */
export function mapSchemas(
  keyword: string,
  value: JsonValue,
  change: (schema: JsonValue) => JsonValue,
): JsonValue {
  const shape = HOLDERS.get(keyword)?.shape;
  if (shape === undefined) return value;
  if (Array.isArray(value)) return value.map(change);
  if (shape !== "named" || !isJsonObject(value)) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]));
}

/** The largest supported nesting depth of schemas. */
export const MAX_DEPTH = 1_000;

/** A schema within a schema, or the root. */
export interface Subschema {
  /** Its location, as a JSON pointer. */
  readonly path: string;
  /** The schema itself. */
  readonly schema: JsonObject;
  /** What it applies to; "root" for the whole schema. */
  readonly role: SchemaRole | "root";
  /** The keyword that holds it; empty for the root. */
  readonly keyword: string;
  /** Its name or index under the keyword; empty if the keyword holds one schema. */
  readonly name: string;
  /** The schema that contains it. */
  readonly around: Subschema | undefined;
  /** The number of schemas around it. */
  readonly depth: number;
}

/**
 * Yields all schemas in `root` that are objects, `root` first and each after the one that contains it, in
 * document order. A property named like a keyword does not count as one; references are not followed.
 *
 * @param path The location of `root`, as a JSON pointer.
 */
export function* subschemas(root: JsonObject, path = ""): Generator<Subschema> {
  const whole = { schema: root, path, role: "root", keyword: "", name: "" } as const;
  const waiting: Subschema[] = [{ ...whole, around: undefined, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    waiting.push(...directSubschemas(next).reverse());
  }
}

/** Returns the schemas directly within another one. */
function directSubschemas(around: Subschema): Subschema[] {
  const { schema, path, depth } = around;
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const { role } = HOLDERS.get(keyword) ?? {};
    if (role === undefined) return [];
    return schemasBehind(keyword, value).flatMap(([name, inner]): Subschema[] => {
      if (!isJsonObject(inner)) return [];
      const place = name === "" && inner === value ? "" : `/${pointerPart(name)}`;
      const at = `${path}/${pointerPart(keyword)}${place}`;
      return [{ schema: inner, path: at, role, keyword, name, around, depth: depth + 1 }];
    });
  });
}

/** Returns the schemas under a keyword, each with its name or index. */
export function schemasBehind(
  keyword: string,
  value: JsonValue,
): [name: string, schema: JsonValue][] {
  const { shape } = HOLDERS.get(keyword)!;
  if (shape === "named") return isJsonObject(value) ? Object.entries(value) : [];
  if (!Array.isArray(value)) return shape === "list" ? [] : [["", value]];
  return shape === "one" ? [] : value.map((schema, place) => [String(place), schema]);
}
