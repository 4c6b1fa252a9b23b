/**
 * Violations: how the arguments of a call deviate from the schema, parameter by parameter.
 * @module
 */

import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  pointerPart,
} from "../../base/json.ts";
import { type SchemaError, type SchemaErrors, schemaErrors } from "./validate.ts";
import { trustOf } from "./_patterns.ts";
import { Position, targetOf } from "./position.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A part of the arguments that does not conform to their schema. */
export interface Violation {
  /**
   * A key that the schema does not declare, a required key that is absent, or a value that the schema does
   * not accept.
   */
  readonly kind: "undeclared" | "missing" | "mismatch";
  /** The location, as a JSON pointer (RFC 6901). */
  readonly path: string;
  /** The value there; omitted if there is none. */
  readonly given?: JsonValue;
}

/** Extends a JSON pointer by a key or an index. */
export function pointer(path: string, place: string | number): string {
  return `${path}/${pointerPart(String(place))}`;
}

/**
 * Returns how arguments violate the schema of a tool's parameters. Keys count as undeclared wherever the schema
 * lists keys, whether or not it forbids others; values are never converted. If a value
 * fits none of several alternatives, the violations of the likeliest are returned.
 *
 * @throws {InputError} If the schema is not valid.
 */
export function violationsOf(schema: JsonObject, given: JsonObject): readonly Violation[] {
  const found = new Map<string, Violation>();
  const add = (violation: Violation) => {
    // The first violation wins: an undeclared key has no schema that could be violated too.
    if (!found.has(violation.path)) found.set(violation.path, violation);
  };
  const violations = valueViolations(schema, given);
  if (violations === undefined) return [{ kind: "mismatch", path: "", given }];
  findUndeclared(given, new Position(schema), "", add);
  for (const violation of violations) if (violation.kind === "undeclared") add(violation);
  for (const violation of violations) add(violation);
  return [...found.values()];
}

/** Returns violations other than undeclared keys that are allowed; `undefined` for endless schemas. */
function valueViolations(schema: JsonObject, given: JsonObject): Violation[] | undefined {
  try {
    const flat = flatten(schema);
    return flat === undefined ? schemaViolations(schema, given) : flatViolations(flat, given);
  } catch (error) {
    // The schema refers to itself endlessly.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function schemaViolations(schema: JsonObject, given: JsonValue, path = ""): Violation[] {
  const violations = likeliestErrors(schemaErrors(schema, given)).flatMap(toViolations);
  return violations.map((violation) => ({ ...violation, path: path + violation.path }));
}

/** The schemas of a function's parameters, separately. */
interface Flat {
  readonly required: readonly string[];
  readonly properties: ReadonlyMap<string, JsonObject>;
}

/** The schema of most parameters, for which nothing need be compiled. */
const INTEGER: JsonObject = { type: "integer" };
/** Shared schemas of parameters, by their JSON text. */
const SHARED = new Map([[jsonText(INTEGER), INTEGER]]);
/** Keywords that do not affect validation. */
const ANNOTATIONS = ["title", "description", "examples", "default"];

/**
 * Splits the schema of a function by parameter. Compiling a schema takes a millisecond and memory for good,
 * too much for every function of every generated task; but their parameters are all alike. `undefined` if it cannot be split.
 */
function flatten(schema: JsonObject): Flat | undefined {
  const { type, properties, required = [], additionalProperties = true, ...others } = schema;
  const isFlat = type === "object" && isJsonObject(properties) &&
    Object.values(properties).every(isJsonObject) && Array.isArray(required) &&
    required.every((name) => typeof name === "string") &&
    typeof additionalProperties === "boolean" &&
    Object.keys(others).every((keyword) => ANNOTATIONS.includes(keyword)) &&
    !/"\$|"required":true/.test(jsonText(properties)) && trustOf(schema) === "linear";
  if (!isFlat) return undefined;
  const entries = Object.entries(properties as Record<string, JsonObject>);
  return {
    required: required as string[],
    properties: new Map(entries.map(([name, own]) => [name, sharedSchema(own)])),
  };
}

function sharedSchema(schema: JsonObject): JsonObject {
  const rules = Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !ANNOTATIONS.includes(keyword)),
  );
  return getOrInsertComputed(SHARED, jsonText(rules), () => {
    // Reject an invalid schema at once, not only when there is a value for it.
    schemaErrors(rules, null);
    return rules;
  });
}

function flatViolations({ required, properties }: Flat, given: JsonObject): Violation[] {
  const missing = required.filter((name) => !Object.hasOwn(given, name))
    .map((name) => ({ kind: "missing" as const, path: pointer("", name) }));
  const others = properties.entries().flatMap(([name, schema]) => {
    if (!Object.hasOwn(given, name)) return [];
    const value = given[name]!;
    return schema === INTEGER && Number.isInteger(value)
      ? []
      : schemaViolations(schema, value, pointer("", name));
  });
  return [...missing, ...others];
}

function findUndeclared(
  value: JsonValue,
  position: Position,
  path: string,
  add: (violation: Violation) => void,
): void {
  if (typeof value !== "object" || value === null) return;
  const within = position.within(value);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      findUndeclared(item, within(index), pointer(path, index), add);
    }
    return;
  }
  const declares = position.declares(value);
  for (const [key, inner] of Object.entries(value)) {
    const place = pointer(path, key);
    if (declares(key)) findUndeclared(inner, within(key), place, add);
    else add({ kind: "undeclared", path: place, given: inner });
  }
}

function toViolations(
  { keyword, instancePath, params, data, propertyName }: SchemaError,
): Violation[] {
  // The branch taken, and the rule for names, report more specific errors.
  if (keyword === "if" || propertyName !== undefined) return [];
  const missing: unknown = params["missingProperty"];
  if (typeof missing === "string") {
    return [{ kind: "missing", path: pointer(instancePath, missing) }];
  }
  const key: unknown = params["additionalProperty"] ?? params["unevaluatedProperty"] ??
    params["propertyName"];
  if (typeof key === "string" && isJsonObject(data)) {
    return [{ kind: "undeclared", path: pointer(instancePath, key), given: data[key]! }];
  }
  return [{ kind: "mismatch", path: instancePath, given: data }];
}

/** Returns the errors without those of unlikely alternatives. */
function likeliestErrors({ root, errors }: SchemaErrors): readonly SchemaError[] {
  const dropped = new Set<SchemaError>();
  const schemasIn = schemasWithin(root);
  // An error that contains others comes after them.
  for (const [place, error] of [...errors.entries()].reverse()) {
    const alternatives = alternativesOf(error);
    if (alternatives === undefined || dropped.has(error)) continue;
    const inside = errorsBefore(errors, place);
    const groups = alternatives.map((schema) =>
      inside.filter(({ parentSchema }) => schemasIn(schema).has(parentSchema))
    );
    const likeliest = new Set(fitsSeveral(error) ? [] : likeliestGroup(groups, error.instancePath));
    for (const other of groups.flat()) if (!likeliest.has(other)) dropped.add(other);
    if (likeliest.size > 0) dropped.add(error);
  }
  return errors.filter((error) => !dropped.has(error));
}

/** Returns the schemas of which none, or more than one, fits the value; `undefined` for other errors. */
function alternativesOf({ keyword, schema }: SchemaError): readonly JsonValue[] | undefined {
  if (keyword === "contains") return [schema];
  return ["anyOf", "oneOf"].includes(keyword) && Array.isArray(schema) ? schema : undefined;
}

/** Whether the errors inside are irrelevant: the value fits, or need not fit. */
function fitsSeveral({ keyword, params }: SchemaError): boolean {
  return keyword === "contains" || Array.isArray(params["passingSchemas"]);
}

/** Returns the errors right before one that concern the same value or parts of it. */
function errorsBefore(errors: readonly SchemaError[], place: number): readonly SchemaError[] {
  const { instancePath } = errors[place]!;
  let first = place;
  while (first > 0 && isWithin(errors[first - 1]!.instancePath, instancePath)) first--;
  return errors.slice(first, place);
}

/** Whether a path equals another one, or extends it. */
function isWithin(path: string, outer: string): boolean {
  return path.startsWith(outer) && (path.length === outer.length || path[outer.length] === "/");
}

/** Returns a function that finds all schemas a schema refers to or contains, including itself. */
function schemasWithin(root: JsonObject): (schema: JsonValue) => ReadonlySet<unknown> {
  const cache = new Map<JsonValue, ReadonlySet<unknown>>();
  return (schema) => {
    return getOrInsertComputed(cache, schema, () => reachableFrom(root, schema));
  };
}

function reachableFrom(root: JsonObject, schema: JsonValue): Set<unknown> {
  const found = new Set<unknown>([schema]);
  for (const one of found) {
    if (typeof one !== "object" || one === null) continue;
    for (const inner of Object.values(one)) found.add(inner);
    const target = isJsonObject(one) ? targetOf(root, one["$ref"]) : undefined;
    if (target !== undefined) found.add(target);
  }
  return found;
}

/**
 * Returns the errors of the alternative that was most likely intended: one for values of this type, whose
 * constants such as `kind` match, with the fewest missing keys and the fewest errors; the first of equals.
 */
function likeliestGroup(
  groups: readonly (readonly SchemaError[])[],
  path: string,
): readonly SchemaError[] {
  const ranked = groups.filter((group) => group.length > 0).map((group) => {
    const count = (counts: (error: SchemaError) => boolean) => group.filter(counts).length;
    const rank = [
      Math.min(
        1,
        count(({ keyword, instancePath }) => keyword === "type" && instancePath === path),
      ),
      count(isAboutConstant),
      count(({ params }) => "missingProperty" in params),
      group.length,
    ];
    return { group, rank };
  });
  const [best] = ranked.sort((one, other) => compareRanks(one.rank, other.rank));
  return best?.group ?? [];
}

function isAboutConstant({ keyword, schema }: SchemaError): boolean {
  return keyword === "const" ||
    (keyword === "enum" && Array.isArray(schema) && schema.length === 1);
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const place = one.findIndex((value, index) => value !== other[index]);
  return place < 0 ? 0 : one[place]! - other[place]!;
}
