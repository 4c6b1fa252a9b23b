/**
 * Retyping of parameters: each gets a type that rules out every value its schema accepted before.
 * @module
 */

import { sample } from "@std/random";
import {
  decodeUri,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKeys,
  pointerPart,
} from "../../base/json.ts";
import type { Stream } from "../../base/random.ts";
import { schemasFor, targetOf, typeOf } from "../../tools/schema/position.ts";
import { HOLDERS, schemasBehind, type Subschema } from "../../tools/schema/subschemas.ts";
import { differences, type Edit, textAt } from "./_schema_edits.ts";

/**
 * Returns the edits that give parameters other types. A schema and its alternatives get the same one, and no longer
 * refer to others. Objects and lists whose parts have schemas keep their type, and so do schemas that accept values
 * of any type.
 *
 * @param parameters The schema of all arguments, and every schema within it.
 */
export function retypings(parameters: readonly Subschema[], stream: Stream): Edit[] {
  const changes = new TypeChanges(parameters);
  return demandsAmong(parameters).flatMap((inner) =>
    ["property", "part", "definition"].includes(inner.role) ? changes.edits(inner, stream) : []
  );
}

/** All schemas except those of conditions, which require nothing, and those within them. */
function demandsAmong(parameters: readonly Subschema[]): Subschema[] {
  const demands = new Set<Subschema>();
  for (const inner of parameters) {
    const { role, around } = inner;
    if (role === "root" || (role !== "condition" && demands.has(around!))) demands.add(inner);
  }
  return [...demands];
}

/** Finds the type changes for the parameters of one tool. */
class TypeChanges {
  readonly #root: JsonObject;
  readonly #branches: ReadonlyMap<Subschema | undefined, readonly Subschema[]>;
  /** The paths of schemas within which something has a name, or a reference leads to. */
  readonly #fixed: ReadonlySet<string>;
  /** Whether each schema accepts values of certain types only. */
  readonly #bounded = new Map<JsonObject, boolean>();

  constructor(parameters: readonly Subschema[]) {
    this.#root = parameters[0]!.schema;
    const branches = parameters.filter(({ role }) => role === "branch");
    this.#branches = Map.groupBy(branches, ({ around }) => around);
    this.#fixed = fixedAmong(parameters);
  }

  /** The edits that give a schema another type: as a whole or, if it has parts, beside these. */
  edits(inner: Subschema, stream: Stream): Edit[] {
    const { path, schema } = inner;
    const kinds = this.#kindsOf(schema);
    const targets = targetsExcept(kinds);
    if (!this.#isBounded(schema) || targets.length === 0) return [];
    const target = sample(targets, stream)!;
    const scalar = sample(SCALARS.filter((other) => targets.includes(other)), stream);
    const { parts } = schemasFor(this.#root, [schema]);
    const containers = new Set(parts.flatMap(containersIn));
    if (containers.size === 0) return this.#whole(path, schema, target);
    return scalar === undefined ? [] : this.#beside(inner, containers, scalar);
  }

  /** The edits that replace a schema, unless others need what is within it. */
  #whole(path: string, schema: JsonObject, target: Target): Edit[] {
    if (this.#fixed.has(path)) return [];
    return differences(path, schema, retyped(schema, target));
  }

  /** The edits that replace what a schema accepts beside containers, in it and in its branches. */
  #beside(inner: Subschema, containers: ReadonlySet<Kind>, scalar: Target): Edit[] {
    const { path, schema } = inner;
    return [
      ...differences(path, schema, retypedExcept(schema, containers, scalar)),
      ...(this.#branches.get(inner) ?? []).flatMap((branch) => {
        const kinds = this.#kindsOf(branch.schema);
        const isOther = kinds.length > 0 && !kinds.some((kind) => containers.has(kind));
        return isOther
          ? this.#whole(branch.path, branch.schema, scalar)
          : this.#beside(branch, containers, scalar);
      }),
    ];
  }

  /** The kinds that a schema names, itself or through others of the same value. */
  #kindsOf(schema: JsonObject): Kind[] {
    return [...new Set(schemasFor(this.#root, [schema]).parts.flatMap(kindsOf))];
  }

  /** Whether a schema accepts certain types only; of circles nobody can say what they accept. */
  #isBounded(schema: JsonValue | undefined): boolean {
    if (!isJsonObject(schema)) return schema === false;
    const known = this.#bounded.get(schema);
    if (known !== undefined) return known;
    this.#bounded.set(schema, false);
    const { $ref, allOf, anyOf, oneOf, if: condition, then, else: otherwise } = schema;
    const isBounded = (one: JsonValue | undefined) => this.#isBounded(one);
    const bounded = kindsOf(schema).length > 0 || isBounded(targetOf(this.#root, $ref)) ||
      Array.isArray(allOf) && allOf.some(isBounded) ||
      [anyOf, oneOf].some((all) => Array.isArray(all) && all.length > 0 && all.every(isBounded)) ||
      condition !== undefined && isBounded(then) && isBounded(otherwise);
    this.#bounded.set(schema, bounded);
    return bounded;
  }
}

/** The paths of schemas that must stay whole: with a name, with one within them, or with the end of a reference. */
function fixedAmong(parameters: readonly Subschema[]): Set<string> {
  const fixed = new Set<string>();
  const fix = (path: string) => {
    for (let at = path; at !== "" && !fixed.has(at); at = at.slice(0, at.lastIndexOf("/"))) {
      fixed.add(at);
    }
  };
  const top = parameters[0]!.path;
  for (const { schema, path } of parameters) {
    if (NAMING.some((keyword) => Object.hasOwn(schema, keyword))) fix(path);
    const [, pointer] = /^#(\/.*)$/.exec(textAt(schema, "$ref") ?? "") ?? [];
    if (pointer === undefined) continue;
    const keys = pointerKeys(decodeUri(pointer)).map((key) => `/${pointerPart(key)}`);
    // The schema itself may have another type, and is there all the same.
    fix(top + keys.slice(0, -1).join(""));
  }
  return fixed;
}

const NAMING = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];

/** The kinds of container whose parts a schema describes. */
function containersIn(schema: JsonObject): Kind[] {
  return Object.entries(schema).flatMap(([keyword, held]): Kind[] => {
    const role = HOLDERS.get(keyword)?.role;
    const hasParts = (role === "property" || role === "part") &&
      schemasBehind(keyword, held).some(([, part]) => isJsonObject(part));
    return hasParts ? [/properties$/i.test(keyword) ? "object" : "array"] : [];
  });
}

/** The types that values have; `integer` stands for all numbers. */
type Kind = "null" | "boolean" | "integer" | "string" | "array" | "object";

/** Types that a schema can be changed to without further keywords. */
const SCALARS = ["boolean", "integer", "string"] as const;
const TARGETS = [...SCALARS, "array", "object"] as const;

/** A type that a schema can be changed to. */
type Target = typeof TARGETS[number];

/** The types other than `kinds`; and not `string` for numbers, as these are often written as strings. */
function targetsExcept(kinds: readonly Kind[]): Target[] {
  return TARGETS.filter((target) =>
    !kinds.includes(target) && !(target === "string" && kinds.includes("integer"))
  );
}

const KINDS: ReadonlyMap<JsonValue, readonly Kind[]> = new Map<JsonValue, readonly Kind[]>([
  ...(["null", "boolean", "integer", "string", "array", "object"] as const)
    .map((kind) => [kind, [kind]] as const),
  ["number", ["integer"]],
]);

/** The kinds that a schema itself names, by its type, enum or const; empty if it names none. */
function kindsOf(schema: JsonObject): Kind[] {
  const { type, enum: members } = schema;
  const values = [
    ...(Array.isArray(members) ? members : []),
    ...(Object.hasOwn(schema, "const") ? [schema["const"]!] : []),
  ];
  const types = [type ?? []].flat();
  const named = [...types, ...values.map(typeOf)];
  return [...new Set(named.flatMap((kind) => KINDS.get(kind) ?? []))];
}

/** Keywords that check values and hold no schemas. */
const CHECKS = new Set([
  ...["$ref", "$dynamicRef", "$recursiveRef"],
  ...["type", "nullable", "enum", "const", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["minProperties", "maxProperties", "required", "dependentRequired"],
  ...["contentEncoding", "contentMediaType", "contentSchema"],
]);
/** Keywords that hold values of the old type. */
const VALUES = new Set(["default", "examples", "example"]);

/** Whether a keyword says what values a schema accepts. */
function isCheckKeyword(keyword: string): boolean {
  const holder = HOLDERS.get(keyword);
  return CHECKS.has(keyword) || (holder !== undefined && holder.role !== "definition");
}

/** The schema with another type; what it says of values is replaced by what the type needs. */
function retyped(schema: JsonObject, target: Target): JsonObject {
  const old = Object.fromEntries(Object.entries(schema).filter(([key]) => isCheckKeyword(key)));
  const next = new Map<string, JsonValue>([["type", target], ...NEEDS[target]?.(old) ?? []]);
  const entries = Object.entries(schema).flatMap(([keyword, held]): [string, JsonValue][] => {
    const other = next.get(keyword);
    next.delete(keyword);
    if (other !== undefined) return [[keyword, other]];
    return isCheckKeyword(keyword) || VALUES.has(keyword) ? [] : [[keyword, held]];
  });
  return Object.fromEntries([...entries, ...next]);
}

/** Further keywords that providers require with a type; the old checks become those of its parts. */
const NEEDS: Readonly<Partial<Record<Target, (old: JsonObject) => [string, JsonValue][]>>> = {
  array: (old) => [["items", old]],
  object: (old) => [
    ["properties", { value: old }],
    ["required", ["value"]],
    ["additionalProperties", false],
  ],
};

/** The schema with `scalar` in place of its types other than `containers`; unchanged if it has none. */
function retypedExcept(
  schema: JsonObject,
  containers: ReadonlySet<Kind>,
  scalar: Target,
): JsonObject {
  const { type, nullable, enum: members } = schema;
  const types = [type ?? []].flat();
  const others = types.filter((other) => !(containers as ReadonlySet<JsonValue>).has(other));
  const isListed = members !== undefined || Object.hasOwn(schema, "const");
  if (isListed || types.length === 0 || (others.length === 0 && nullable !== true)) return schema;
  const next = [...types.filter((own) => !others.includes(own)), scalar];
  return Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, held]): [string, JsonValue][] => {
      if (VALUES.has(keyword) || keyword === "nullable") return [];
      return [[keyword, keyword === "type" ? next : held]];
    }),
  );
}
