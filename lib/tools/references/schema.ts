/**
 * Tool schemas whose arguments may be references: to named values (Indirection, "Adding a Level of
 * Indirection"), or to results of other calls of the same reply (Pipeline, "Parallel and Nested Tool
 * Calls").
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import { MAX_NAME_LENGTH } from "./syntax.ts";
import { schemasFor, targetOf, typesOf } from "../schema/position.ts";
import { inheritTrust } from "../schema/_patterns.ts";
import { HOLDERS, mapSchemas } from "../schema/subschemas.ts";
import { schemaOf, type ToolSchema } from "../tool.ts";

const NAME_PATTERN = "^@[A-Za-z_][A-Za-z0-9_]*$";

const RESULT: JsonObject = {
  type: "string",
  description: "Descriptive unique variable @name for the result of evaluating the function.",
  pattern: NAME_PATTERN,
};
const EXPLANATION: JsonObject = {
  type: "string",
  description: "Why this call is made and what its result is for, in your own words.",
};
const NAME: JsonObject = {
  type: "string",
  description:
    "The @name of a known value, in place of the value itself; @name.field for a field of it.",
  // Keys are checked once the value is known; providers support few kinds of patterns.
  pattern: String.raw`^@[A-Za-z_][A-Za-z0-9_]*(\.[^.@\s]+)*$`,
};
/**
 * The pattern of a reference to the result of another call: `$1.field` or `$call_id.field`, or a part of it
 * as in `$1.items.0.name`, `$1.items[0].name` and `$1[0].name`.
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

/** Keywords for people, which do not affect validation. */
const ANNOTATIONS = new Set(["title", "description", "default", "examples", "deprecated"]);
/** Keywords that are kept only at the root when the root is copied elsewhere. */
const OF_THE_ROOT = new Set(["$schema", "$id", "$defs", "definitions"]);
/** Deeper parts of a schema stay unchanged. */
const MAX_DEPTH = 100;

/**
 * Returns the parameter in which a call of `tool` names its result: `result`, or another free name if the
 * tool has a parameter `result` itself.
 */
export function resultParameter(tool: ToolSchema): string {
  return freeParameter(tool, "result", "result_name");
}

/** Returns the parameter in which a call of `tool` is explained, likewise. */
export function explanationParameter(tool: ToolSchema): string {
  return freeParameter(tool, "explanation", "explanation_text");
}

/** Returns `wanted` if the tool has no such parameter, else `other`, with a number if that is taken. */
function freeParameter({ parameters }: ToolSchema, wanted: string, other: string): string {
  const { parts } = schemasFor(parameters, [parameters]);
  const isTaken = (name: string) =>
    parts.some(({ properties, required }) =>
      (isJsonObject(properties) && Object.hasOwn(properties, name)) ||
      (Array.isArray(required) && required.includes(name))
    );
  if (!isTaken(wanted)) return wanted;
  let name = other;
  for (let next = 2; isTaken(name); next++) name = `${other}_${next}`;
  return name;
}

/**
 * Returns the tool for a model that works with names: each call must name its result, and may give the
 * `@name` of a value, or `@name.field` for a part of it, wherever a value is expected.
 */
export function offerNames(tool: ToolSchema): ToolSchema {
  const parameters = new Offer(tool.parameters, NAME).with(resultParameter(tool), RESULT);
  return { ...schemaOf(tool), parameters };
}

/** Returns the tool for a model whose calls must each be explained, before their other arguments. */
export function offerExplanation(tool: ToolSchema): ToolSchema {
  const parameters = new Offer(tool.parameters, undefined)
    .with(explanationParameter(tool), EXPLANATION, { first: true });
  return { ...schemaOf(tool), parameters };
}

/**
 * Returns the tool for a model whose calls may refer to results of other calls in the same reply: wherever a
 * value is expected, strings included, `$1.field` is a field of the result of call 1.
 */
export function offerReferences(tool: ToolSchema): ToolSchema {
  // No prompt explains references, so the schema must, even where any string is accepted.
  const parameters = new Offer(tool.parameters, REFERENCE, { everywhere: true }).bare();
  return { ...schemaOf(tool), parameters };
}

/** A parameter to be added. */
interface AddedParameter {
  readonly name: string;
  readonly schema: JsonObject;
  /** Whether it comes before the others. */
  readonly first: boolean;
}

/** Rewrites the schema of one tool; the original is not changed. */
class Offer {
  readonly #root: JsonObject;
  /** Targets of references that are not definitions, with the names of the definitions they become. */
  readonly #moved = new Map<JsonObject, string>();

  /** The schema of a reference; `undefined` if none is accepted. */
  readonly #name: JsonObject | undefined;
  /** Whether to add it even where any string is accepted. */
  readonly #everywhere: boolean;

  constructor(root: JsonObject, name: JsonObject | undefined, { everywhere = false } = {}) {
    this.#root = root;
    this.#name = name;
    this.#everywhere = everywhere;
  }

  /** Returns the schema of all arguments. */
  bare(): JsonObject {
    return this.#whole(this.#inside(this.#root, 0));
  }

  /** Returns the schema of all arguments, and one more, of its own schema, as the last or the first. */
  with(name: string, schema: JsonObject, { first = false } = {}): JsonObject {
    const own = this.#with({ name, schema, first }, this.#root, 0);
    const required = Array.isArray(own["required"]) ? own["required"] : [];
    return this.#whole({
      ...own,
      type: own["type"] ?? "object",
      required: first ? [name, ...required] : [...required, name],
    });
  }

  /** Returns a schema with the definitions that it refers to. */
  #whole(schema: JsonObject): JsonObject {
    const definitions: JsonObject = {};
    // The list grows during the loop, as moved schemas may refer to more.
    for (const [target, name] of this.#moved) {
      const rest = Object.entries(target).filter(([keyword]) => !OF_THE_ROOT.has(keyword));
      definitions[name] = this.#inside(Object.fromEntries(rest), 1);
    }
    const { $defs } = schema;
    const whole = this.#moved.size === 0
      ? schema
      : { ...schema, $defs: { ...(isJsonObject($defs) ? $defs : {}), ...definitions } };
    inheritTrust(whole, this.#root);
    return whole;
  }

  /** Returns the schema of all arguments, with a parameter added. */
  #with(added: AddedParameter, schema: JsonObject, depth: number): JsonObject {
    const { $ref, ...rest } = schema;
    const target = depth < MAX_DEPTH ? targetOf(this.#root, $ref) : undefined;
    // The target may also be the schema of an inner value, which has no result, so it is copied.
    const own = target === undefined || target === schema ? schema : { ...target, ...rest };
    if (own !== schema && own["$ref"] !== undefined) {
      return this.#with(added, own, depth + 1);
    }
    const changed = this.#inside(own, 0);
    const { properties, maxProperties, minProperties } = changed;
    for (const keyword of ["anyOf", "oneOf", "allOf"]) {
      // The branches are made from the original ones, as references point to these.
      const given = keyword === "anyOf" && own["anyOf"] === undefined && this.#name !== undefined
        ? own["oneOf"]
        : own[keyword];
      if (changed[keyword] === undefined || !Array.isArray(given) || depth >= MAX_DEPTH) continue;
      changed[keyword] = given.map((branch) =>
        isJsonObject(branch) ? this.#with(added, branch, depth + 1) : branch
      );
    }
    const others = isJsonObject(properties) ? properties : {};
    const parameter = { [added.name]: added.schema };
    return {
      ...changed,
      properties: added.first ? { ...parameter, ...others } : { ...others, ...parameter },
      ...(typeof maxProperties === "number" ? { maxProperties: maxProperties + 1 } : {}),
      ...(typeof minProperties === "number" ? { minProperties: minProperties + 1 } : {}),
    };
  }

  /** Returns a schema that accepts a reference too. */
  #position(schema: JsonValue, depth: number): JsonValue {
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return schema;
    const result = this.#inside(schema, depth);
    if (this.#name === undefined) return result;
    if (!this.#everywhere && takesEveryName(this.#root, schema)) return result;
    const { anyOf } = result;
    const plain = Object.keys(result).every((key) => key === "anyOf" || ANNOTATIONS.has(key));
    return Array.isArray(anyOf) && plain
      ? { ...result, anyOf: [...anyOf, this.#name] }
      : { anyOf: [result, this.#name] };
  }

  /** Returns the schema with references accepted in its inner positions. */
  #inside(schema: JsonObject, depth: number): JsonObject {
    return Object.fromEntries(
      Object.entries(schema).flatMap(([keyword, value]): [string, JsonValue][] => {
        if (keyword === "$ref") return [[keyword, this.#reference(value)]];
        // An OpenAPI hint for reading oneOf, which does not hold if its tag is a reference.
        if (
          this.#name !== undefined && keyword === "discriminator" && Object.hasOwn(schema, "oneOf")
        ) return [];
        const role = HOLDERS.get(keyword)?.role;
        if (role === undefined || role === "condition") return [[keyword, value]];
        const isBranch = role === "branch" || role === "definition";
        const changed = mapSchemas(keyword, value, (inner) => {
          if (!isBranch) return this.#position(inner, depth + 1);
          return isJsonObject(inner) && depth < MAX_DEPTH ? this.#inside(inner, depth + 1) : inner;
        });
        // With references a value may fit several branches; only one fits once it is known.
        const relaxed = this.#name !== undefined && keyword === "oneOf" &&
          !Object.hasOwn(schema, "anyOf");
        return [[relaxed ? "anyOf" : keyword, changed]];
      }),
    );
  }

  /**
   * Returns a reference to the same schema. All targets but definitions have moved or changed: the root has
   * a result parameter, and positions lie deeper.
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

/** Whether every `@name` is already a valid value. */
function takesEveryName(
  root: JsonObject,
  schema: JsonValue,
  visited = new Set<JsonValue>(),
): boolean {
  if (!isJsonObject(schema)) return schema === true;
  if (visited.has(schema)) return false;
  visited.add(schema);
  const { $ref, minLength, maxLength, anyOf, oneOf, allOf } = schema;
  const takes = (inner: JsonValue) => takesEveryName(root, inner, visited);
  const types = typesOf(schema);
  if (types !== undefined && !types.includes("string")) return false;
  if (
    ["enum", "const", "pattern", "format", "not", "if"].some((key) => Object.hasOwn(schema, key))
  ) {
    return false;
  }
  if (typeof minLength === "number" && minLength > 2) return false;
  if (typeof maxLength === "number" && maxLength <= MAX_NAME_LENGTH) return false;
  if ($ref !== undefined && !takes(targetOf(root, $ref) ?? false)) return false;
  if (Array.isArray(allOf) && !allOf.every(takes)) return false;
  return [anyOf, oneOf].every((branches) => !Array.isArray(branches) || branches.some(takes));
}

/** Returns a tool that shows one value to the model, under a name that none of `tools` has. */
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
