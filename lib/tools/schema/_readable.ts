/**
 * Rewrites the schemas of real tools to what Ajv reads: OpenAPI's dialect, older drafts and small mistakes whose
 * meaning is clear. The schema that a model sees is not changed.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { mapSchemas } from "./subschemas.ts";

/** What a schema has that decides how it is compiled. */
export interface Readable {
  /** The schema, rewritten. */
  readonly rules: JsonObject;
  /** Whether a list of `items` describes a tuple, as in drafts before 2020-12. */
  readonly hasTuples: boolean;
  /** Whether a format is to be checked. */
  readonly hasFormats: boolean;
}

/**
 * Keywords for people and programs, which constrain nothing. OpenAPI and others write them in their own ways,
 * such as one object as `examples`.
 */
const ANNOTATIONS = new Set([
  ...["title", "description", "$comment", "default", "example", "examples", "deprecated"],
  ...["readOnly", "writeOnly", "xml", "externalDocs", "discriminator"],
  ...["$schema", "$async", "$vocabulary", "id", "$recursiveAnchor"],
]);

/** What constrains a value itself: `null` is accepted instead where a schema is `nullable`. */
const OF_VALUES = new Set([
  ...[
    "enum",
    "const",
    "not",
    "$ref",
    "$dynamicRef",
    "anyOf",
    "oneOf",
    "allOf",
    "if",
    "then",
    "else",
  ],
]);

/** Lists of which each entry counts once, and those that say nothing when they are empty. */
const SETS = new Set(["type", "required", "enum"]);
const NEVER_EMPTY = new Set(["enum", "anyOf", "oneOf", "allOf", "prefixItems"]);

const BOUNDS = { exclusiveMinimum: "minimum", exclusiveMaximum: "maximum" } as const;

/** Rewrites a schema; `formats` says whether its formats are to be checked. */
export function readableSchema(schema: JsonObject, formats: boolean): Readable {
  const reader = new Reader(formats);
  const rules = reader.rewrite(schema);
  const { components } = schema;
  // Operations of OpenAPI keep the place that their references point to.
  const schemas = isJsonObject(components) ? components["schemas"] : undefined;
  const moved: JsonObject = isJsonObject(schemas)
    ? { components: { schemas: mapSchemas("$defs", schemas, (inner) => reader.schema(inner)) } }
    : {};
  const { hasTuples, hasFormats } = reader;
  return { rules: { ...rules, ...moved }, hasTuples, hasFormats };
}

class Reader {
  hasTuples = false;
  hasFormats = false;
  readonly #formats: boolean;

  constructor(formats: boolean) {
    this.#formats = formats;
  }

  rewrite(schema: JsonObject): JsonObject {
    const rules: JsonObject = {};
    for (const [keyword, value] of Object.entries(schema)) {
      // Serializers write null for what is not set.
      if (ANNOTATIONS.has(keyword) || (value === null && keyword !== "const")) continue;
      if (NEVER_EMPTY.has(keyword) && Array.isArray(value) && value.length === 0) continue;
      rules[keyword] = SETS.has(keyword) && Array.isArray(value)
        ? once(value)
        : mapSchemas(keyword, value, (inner) => this.schema(inner));
    }
    this.#readItems(rules);
    this.#readFormat(rules);
    readBounds(rules);
    readRequired(schema, rules);
    readRecursion(rules);
    return readNullable(rules);
  }

  schema(value: JsonValue): JsonValue {
    return isJsonObject(value) ? this.rewrite(value) : value;
  }

  #readItems(rules: JsonObject): void {
    const { items } = rules;
    if (!Array.isArray(items)) return;
    if (items.length === 0) delete rules["items"];
    else this.hasTuples = true;
  }

  #readFormat(rules: JsonObject): void {
    const { format, pattern } = rules;
    if (format === undefined) return;
    // Libraries write `time` for times without an offset, too, with the pattern that says so.
    const isOther = typeof pattern === "string" && (format === "time" || format === "date-time");
    if (!this.#formats || isOther || typeof format !== "string") delete rules["format"];
    else this.hasFormats = true;
  }
}

function once(values: readonly JsonValue[]): JsonValue[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}

/** Draft 4: `exclusiveMinimum: true` is about `minimum`. */
function readBounds(rules: JsonObject): void {
  for (const [exclusive, inclusive] of Object.entries(BOUNDS)) {
    const isExclusive = rules[exclusive];
    if (typeof isExclusive !== "boolean") continue;
    delete rules[exclusive];
    const bound = rules[inclusive];
    if (!isExclusive || bound === undefined) continue;
    delete rules[inclusive];
    rules[exclusive] = bound;
  }
}

/** Draft 3, and many since: a property says that it is `required` itself. */
function readRequired(schema: JsonObject, rules: JsonObject): void {
  if (typeof rules["required"] === "boolean") delete rules["required"];
  const { properties } = schema;
  if (!isJsonObject(properties)) return;
  const own = Object.keys(properties).filter((name) => {
    const inner = properties[name];
    return isJsonObject(inner) && inner["required"] === true;
  });
  if (own.length === 0) return;
  const { required } = rules;
  rules["required"] = [...new Set([...(Array.isArray(required) ? required : []), ...own])];
}

/** Draft 2019-09: in a schema without others in it, `$recursiveRef` is a reference to the root. */
function readRecursion(rules: JsonObject): void {
  const { $recursiveRef, $ref } = rules;
  if (typeof $recursiveRef !== "string" || $ref !== undefined) return;
  delete rules["$recursiveRef"];
  rules["$ref"] = $recursiveRef;
}

/** OpenAPI 3.0: `nullable: true` accepts null, with or without a type. */
function readNullable(rules: JsonObject): JsonObject {
  const { nullable, ...others } = rules;
  if (nullable !== true) return others;
  const entries = Object.entries(others);
  const ofValues = entries.filter(([keyword]) => OF_VALUES.has(keyword));
  const rest = Object.fromEntries(entries.filter(([keyword]) => !OF_VALUES.has(keyword)));
  return {
    ...rest,
    // Ajv takes it beside a type only.
    ...(rest["type"] === undefined ? {} : { nullable }),
    ...(ofValues.length === 0 ? {} : { if: { type: "null" }, else: Object.fromEntries(ofValues) }),
  };
}
