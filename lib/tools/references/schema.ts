/**
 * Schemas of tools whose arguments may be names for values: of those that calls have named (Indirection,
 * "Adding a Level of Indirection"), or of what other calls of the same reply return (Pipeline, "Parallel
 * and Nested Tool Calls").
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { LONGEST_NAME } from "./syntax.ts";
import { partsOf, targetOf, typesOf } from "../schema/position.ts";
import { schemaOf, type ToolSchema } from "../tool.ts";

const NAME_PATTERN = "^@[A-Za-z_][A-Za-z0-9_]*$";

const RESULT: JsonObject = {
  type: "string",
  description: "Descriptive unique variable @name for the result of evaluating the function.",
  pattern: NAME_PATTERN,
};
const NAME: JsonObject = {
  type: "string",
  description:
    "The @name of a known value, in place of the value itself; @name.field for a field of it.",
  // What may be a key is checked where the value is known; providers know few kinds of patterns.
  pattern: String.raw`^@[A-Za-z_][A-Za-z0-9_]*(\.[^.@\s]+)*$`,
};
/**
 * What a reference to the result of another call must match to stand in the place of a value: `$1.field`
 * or `$call_id.field`, or a part of it as in `$1.items.0.name`, `$1.items[0].name` and `$1[0].name`.
 */
export const REFERENCE_PATTERN = String
  .raw`^\$[A-Za-z0-9_][A-Za-z0-9_-]*(\.[^.$\[\]\s]+|\[[0-9]+\])+$`;

const REFERENCE: JsonObject = {
  type: "string",
  description:
    "In place of the value: $1.field is the field of what call 1 of the same reply returns, " +
    "$1.items.0.name a part of it; texts may hold them anywhere. What is referred to is called first.",
  pattern: REFERENCE_PATTERN,
};

/** What stands behind each keyword: values of their own, or other views of the same value. */
const KEYWORDS: ReadonlyMap<string, "position" | "branch"> = new Map([
  ...[
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
  ].map((keyword) => [keyword, "position"] as const),
  ...["anyOf", "oneOf", "allOf", "then", "else", "$defs", "definitions", "dependentSchemas"]
    .map((keyword) => [keyword, "branch"] as const),
]);
/** Behind these stand schemas by name, not one schema or a list. */
const BY_NAME = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** They say something about the value for people, and nothing that checks it. */
const ANNOTATIONS = new Set(["title", "description", "default", "examples", "deprecated"]);
/** They stand once in a schema, whatever else of its root stands elsewhere too. */
const OF_THE_ROOT = new Set(["$schema", "$id", "$defs", "definitions"]);
/** What lies deeper in a schema stays as it is. */
const MOST_DEPTH = 100;

/**
 * The parameter in which a call of `tool` names its result: `result`, or another name that is free
 * where the tool has a parameter of that name itself.
 */
export function resultParameter({ parameters }: ToolSchema): string {
  const { parts } = partsOf(parameters, [parameters]);
  const isTaken = (name: string) =>
    parts.some(({ properties, required }) =>
      (isJsonObject(properties) && Object.hasOwn(properties, name)) ||
      (Array.isArray(required) && required.includes(name))
    );
  if (!isTaken("result")) return "result";
  let name = "result_name";
  for (let next = 2; isTaken(name); next++) name = `result_name_${next}`;
  return name;
}

/**
 * The tool as a model sees it that works with names: it must name the result, and may give the
 * `@name` of a value, or `@name.field` for a part of it, wherever a value is expected.
 *
 * @example Usage
 * ```ts
 * import { offerNames } from "./schema.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { parameters } = offerNames({
 *   name: "eval",
 *   description: "Evaluates an expression",
 *   parameters: { type: "object", properties: { expression: { type: "string" } } },
 * });
 * assertEquals(parameters["required"], ["result"]);
 * ```
 */
export function offerNames(tool: ToolSchema): ToolSchema {
  const parameters = new Offer(tool.parameters, NAME).withResult(resultParameter(tool));
  return { ...schemaOf(tool), parameters };
}

/**
 * The tool as a model sees it that may refer to results of calls it makes in the same reply: wherever a
 * value is expected, texts included, `$1.field` may stand for a field of what call 1 returns.
 *
 * @example Usage
 * ```ts
 * import { offerReferences } from "./schema.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { parameters } = offerReferences({
 *   name: "double",
 *   description: "Doubles a number",
 *   parameters: { type: "object", properties: { x: { type: "number" } } },
 * });
 * const { x } = parameters["properties"] as Record<string, { anyOf: { type: string }[] }>;
 * assertEquals(x?.anyOf.map(({ type }) => type), ["number", "string"]);
 * ```
 */
export function offerReferences(tool: ToolSchema): ToolSchema {
  // No message tells of references: even where any text is taken, the schema must.
  const parameters = new Offer(tool.parameters, REFERENCE, { everywhere: true }).bare();
  return { ...schemaOf(tool), parameters };
}

/** Rewrites the schema of one tool; what it was made from stays untouched. */
class Offer {
  readonly #root: JsonObject;
  /** Targets of references that are no definitions, by the name of the definition they become. */
  readonly #moved = new Map<JsonObject, string>();

  /** What else is taken wherever a value is. */
  readonly #name: JsonObject;
  /** Whether it is told even where it would be taken anyway. */
  readonly #everywhere: boolean;

  constructor(root: JsonObject, name: JsonObject, { everywhere = false } = {}) {
    this.#root = root;
    this.#name = name;
    this.#everywhere = everywhere;
  }

  /** A schema of all arguments. */
  bare(): JsonObject {
    return this.#whole(this.#inside(this.#root, 0));
  }

  /** A schema of all arguments, and of one more that names the result. */
  withResult(result: string): JsonObject {
    const made = this.#withResult(this.#root, result, 0);
    const { required } = made;
    return this.#whole({
      ...made,
      type: made["type"] ?? "object",
      required: [...(Array.isArray(required) ? required : []), result],
    });
  }

  /** A schema with all that it refers to. */
  #whole(made: JsonObject): JsonObject {
    const definitions: JsonObject = {};
    // The list grows while it is gone through, as what is moved may refer to more.
    for (const [target, name] of this.#moved) {
      const rest = Object.entries(target).filter(([keyword]) => !OF_THE_ROOT.has(keyword));
      definitions[name] = this.#inside(Object.fromEntries(rest), 1);
    }
    if (this.#moved.size === 0) return made;
    const { $defs } = made;
    return { ...made, $defs: { ...(isJsonObject($defs) ? $defs : {}), ...definitions } };
  }

  /** A schema of all arguments, which knows the result's parameter too. */
  #withResult(schema: JsonObject, result: string, depth: number): JsonObject {
    const { $ref, ...rest } = schema;
    const target = depth < MOST_DEPTH ? targetOf(this.#root, $ref) : undefined;
    // What is referred to may be the schema of a value elsewhere, which has no result: it is copied.
    const own = target === undefined || target === schema ? schema : { ...target, ...rest };
    if (own !== schema && own["$ref"] !== undefined) {
      return this.#withResult(own, result, depth + 1);
    }
    const made = this.#inside(own, 0);
    const { properties, maxProperties, minProperties } = made;
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      // The branches are made from those that were given, as these are what references mean.
      const given = keyword === "anyOf" && own["anyOf"] === undefined ? own["oneOf"] : own[keyword];
      if (made[keyword] === undefined || !Array.isArray(given) || depth >= MOST_DEPTH) continue;
      made[keyword] = given.map((branch) =>
        isJsonObject(branch) ? this.#withResult(branch, result, depth + 1) : branch
      );
    }
    return {
      ...made,
      properties: { ...(isJsonObject(properties) ? properties : {}), [result]: RESULT },
      ...(typeof maxProperties === "number" ? { maxProperties: maxProperties + 1 } : {}),
      ...(typeof minProperties === "number" ? { minProperties: minProperties + 1 } : {}),
    };
  }

  /** A schema that takes a name too. */
  #position(schema: JsonValue, depth: number): JsonValue {
    if (!isJsonObject(schema) || depth > MOST_DEPTH) return schema;
    const made = this.#inside(schema, depth);
    if (!this.#everywhere && takesEveryName(this.#root, schema)) return made;
    const { anyOf } = made;
    const plain = Object.keys(made).every((key) => key === "anyOf" || ANNOTATIONS.has(key));
    return Array.isArray(anyOf) && plain
      ? { ...made, anyOf: [...anyOf, this.#name] }
      : { anyOf: [made, this.#name] };
  }

  /** The same schema, in whose inner positions names are taken. */
  #inside(schema: JsonObject, depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
        if (keyword === "$ref") return [[keyword, this.#reference(value)]];
        // An OpenAPI hint for reading oneOf, which a name in the place of its tag would belie.
        if (keyword === "discriminator" && Object.hasOwn(schema, "oneOf")) return [];
        const kind = KEYWORDS.get(keyword);
        if (kind === undefined) return [[keyword, value]];
        const change = (inner: JsonValue): JsonValue => {
          if (kind === "position") return this.#position(inner, depth + 1);
          return isJsonObject(inner) && depth < MOST_DEPTH ? this.#inside(inner, depth + 1) : inner;
        };
        const changed = Array.isArray(value)
          ? value.map(change)
          : BY_NAME.has(keyword) && isJsonObject(value)
          ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]))
          : change(value);
        // With names in it a value may fit several branches, one of which is right once it is known.
        const relaxed = keyword === "oneOf" && !Object.hasOwn(schema, "anyOf");
        return [[relaxed ? "anyOf" : keyword, changed]];
      }),
    );
  }

  /**
   * A reference to the same schema. All but definitions have another place or another meaning by
   * now: the root has got a result, and positions lie deeper.
   */
  #reference(reference: JsonValue): JsonValue {
    const target = targetOf(this.#root, reference);
    if (target === undefined || /^#\/(?:\$defs|definitions)\/[^/]*$/.test(String(reference))) {
      return reference;
    }
    const { $defs } = this.#root;
    const taken = new Set([...Object.keys(Object($defs)), ...this.#moved.values()]);
    let name = this.#moved.get(target);
    for (let next = 1; name === undefined; next++) {
      if (!taken.has(`moved_${next}`)) this.#moved.set(target, name = `moved_${next}`);
    }
    return `#/$defs/${name}`;
  }
}

/** Whether every `@name` is a valid value already. */
function takesEveryName(root: JsonObject, schema: JsonValue, seen = new Set<JsonValue>()): boolean {
  if (!isJsonObject(schema)) return schema === true;
  if (seen.has(schema)) return false;
  seen.add(schema);
  const { $ref, minLength, maxLength, anyOf, oneOf, allOf } = schema;
  const takes = (inner: JsonValue) => takesEveryName(root, inner, seen);
  const types = typesOf(schema);
  if (types !== undefined && !types.includes("string")) return false;
  if (
    ["enum", "const", "pattern", "format", "not", "if"].some((key) => Object.hasOwn(schema, key))
  ) {
    return false;
  }
  if (typeof minLength === "number" && minLength > 2) return false;
  if (typeof maxLength === "number" && maxLength <= LONGEST_NAME) return false;
  if ($ref !== undefined && !takes(targetOf(root, $ref) ?? false)) return false;
  if (Array.isArray(allOf) && !allOf.every(takes)) return false;
  return [anyOf, oneOf].every((branches) => !Array.isArray(branches) || branches.some(takes));
}

/** The tool by which a model may look at one value, under a name that none of `tools` has. */
export function dereferenceTool(tools: readonly ToolSchema[]): ToolSchema {
  const base = "dereference";
  let name = base;
  for (let next = 2; tools.some((tool) => tool.name === name); next++) name = `${base}_${next}`;
  return {
    name,
    description: "Reveals the value of one variable. Use it only where its name is not enough.",
    strict: true,
    parameters: {
      type: "object",
      properties: {
        name: { type: "string", description: "The @name of the variable, or @name.field." },
      },
      required: ["name"],
      additionalProperties: false,
    },
  };
}
