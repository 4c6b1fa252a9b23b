/**
 * Subschemas: the schemas within a JSON Schema, where they stand, and what each of them speaks of.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";

/**
 * What a subschema speaks of: a `property` of the value around it, which has a name; another `part` of
 * it, such as an item; a `branch` speaks of the value itself; a `definition` of what refers to it; and
 * a `condition` demands nothing of the value that it speaks of.
 */
export type Role = "property" | "part" | "branch" | "definition" | "condition";

/** How schemas stand behind a keyword: `one`, a `list` of them, one or a list (`any`), or by name. */
export type Shape = "one" | "list" | "any" | "named";

/** What stands behind the keywords of JSON Schema that hold schemas. */
export const HOLDERS: ReadonlyMap<string, { readonly shape: Shape; readonly role: Role }> = new Map(
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

/** How many schemas may be around another one, where all of them are read. */
export const MOST_DEPTH = 1_000;

/** A schema in a schema, or the whole of it. */
export interface Subschema {
  /** Where it stands, as a JSON pointer. */
  readonly path: string;
  /** The schema itself. */
  readonly schema: JsonObject;
  /** What it speaks of; of the whole schema there is nothing around. */
  readonly role: Role | "root";
  /** The keyword that it stands behind; empty for the whole. */
  readonly keyword: string;
  /** Its name or its place behind the keyword; empty where the keyword holds one schema. */
  readonly name: string;
  /** The schema around it. */
  readonly around: Subschema | undefined;
  /** How many schemas are around it. */
  readonly depth: number;
}

/**
 * All schemas in `root` that are objects, `root` first and every other behind the one around it, in the
 * order of the text. What is called like a keyword, but is the name of a property, is none; references
 * are not followed.
 *
 * @param path Where `root` stands, as a JSON pointer.
 *
 * @example Usage
 * ```ts
 * import { subschemas } from "./subschemas.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const city = { type: "string" };
 * const found = [...subschemas({ properties: { city, items: { items: city } } })];
 * assertEquals(found.map(({ path }) => path), [
 *   "",
 *   "/properties/city",
 *   "/properties/items",
 *   "/properties/items/items",
 * ]);
 * ```
 */
export function* subschemas(root: JsonObject, path = ""): Generator<Subschema> {
  const whole = { schema: root, path, role: "root", keyword: "", name: "" } as const;
  const waiting: Subschema[] = [{ ...whole, around: undefined, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    waiting.push(...within(next).reverse());
  }
}

/** The schemas directly in another one. */
function within(around: Subschema): Subschema[] {
  const { schema, path, depth } = around;
  return Object.entries(schema).flatMap(([keyword, held]) => {
    const { role } = HOLDERS.get(keyword) ?? {};
    if (role === undefined) return [];
    return heldBy(keyword, held).flatMap(([name, inner]): Subschema[] => {
      if (!isJsonObject(inner)) return [];
      const place = name === "" && inner === held ? "" : `/${pointerPart(name)}`;
      const at = `${path}/${pointerPart(keyword)}${place}`;
      return [{ schema: inner, path: at, role, keyword, name, around, depth: depth + 1 }];
    });
  });
}

/** What stands behind a keyword, each with its name or its place. */
function heldBy(keyword: string, held: JsonValue): [name: string, schema: JsonValue][] {
  const { shape } = HOLDERS.get(keyword)!;
  if (shape === "named") return isJsonObject(held) ? Object.entries(held) : [];
  if (!Array.isArray(held)) return shape === "list" ? [] : [["", held]];
  return shape === "one" ? [] : held.map((schema, place) => [String(place), schema]);
}

/** A key as a part of a JSON pointer (RFC 6901). */
export function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** The keys that a JSON pointer leads through. */
export function keysOf(pointer: string): string[] {
  return pointer.split("/").slice(1).map((part) =>
    part.replaceAll("~1", "/").replaceAll("~0", "~")
  );
}
