/**
 * Retyping of parameters: each gets a type that rules out every value its schema accepted before.
 * @module
 */

import { sample } from "@std/random";
import type { JsonObject, JsonValue } from "../../base/json.ts";
import type { Stream } from "../../base/random.ts";
import { HOLDERS, type Subschema } from "../../tools/schema/subschemas.ts";
import { differences, type Edit } from "./_schema_edits.ts";
import { References, refers } from "./_schema_references.ts";
import { typeOf } from "../../tools/schema/position.ts";

/**
 * Returns the edits that give parameters other types. All schemas of one value, such as alternatives and the
 * schemas they refer to, get the same one. Objects and lists whose parts have schemas keep their type, and
 * so do schemas that accept values of any type.
 *
 * @param parameters The schema of all arguments, and every schema within it.
 */
export function retypings(parameters: readonly Subschema[], stream: Stream): Edit[] {
  const demands = demandsAmong(parameters);
  const references = new References(parameters);
  const children = Map.groupBy(demands, ({ around }) => around);
  const demanded = new Set(demands);
  const allTargets = new Map(demands.map((inner) => [
    inner,
    references.targetsOf(inner).filter((target) => demanded.has(target)),
  ]));
  const bounded = boundedAmong(allTargets);
  return groupsOf(allTargets).flatMap((group): Edit[] => {
    const targets = targetsExcept(kindsIn(group));
    const isOpen = group.some((inner) => inner.role !== "branch" && !bounded.has(inner));
    if (isOpen || targets.length === 0) return [];
    const target = sample(targets, stream)!;
    const scalar = sample(SCALARS.filter((other) => targets.includes(other)), stream);
    const containers = new Set(group.flatMap((inner) => containersIn(inner, children)));
    const stays = (inner: SchemaGroup) => kindsIn(inner).some((kind) => containers.has(kind));
    const gone = new Set<Subschema>();
    return group.flatMap((inner): Edit[] => {
      const { schema, path, role, around } = inner;
      if (role === "root") return [];
      if (role === "branch" && gone.has(around!)) {
        gone.add(inner);
        return [];
      }
      const branches = branchesIn(inner, children, references);
      if (branches !== undefined && !stays(branches) && kindsIn(branches).length > 0) {
        gone.add(inner);
        return differences(path, schema, retyped(schema, target, isCheckKeyword));
      }
      if (containersIn(inner, children).length > 0 || stays([inner])) {
        return scalar === undefined
          ? []
          : differences(path, schema, retypedExcept(schema, containers, scalar));
      }
      if (kindsOf(schema).length === 0 || references.leadInto(path, isPlainCheckKeyword)) {
        return [];
      }
      return differences(path, schema, retyped(schema, target, isPlainCheckKeyword));
    });
  });
}

/** Schemas of the same value, in document order. */
type SchemaGroup = readonly Subschema[];

/** The schemas directly within each one. */
type Children = ReadonlyMap<Subschema | undefined, readonly Subschema[]>;

/** The kinds of container whose parts a schema describes; the root, all arguments, is an object. */
function containersIn(inner: Subschema, children: Children): Kind[] {
  const parts = (children.get(inner) ?? []).flatMap(({ role, keyword }): Kind[] => {
    if (role === "property") return ["object"];
    if (role !== "part") return [];
    return [/properties$/i.test(keyword) ? "object" : "array"];
  });
  return inner.role === "root" ? ["object", ...parts] : parts;
}

/**
 * A schema with all its nested branches, if they can be replaced as one. `undefined` if they describe parts,
 * refer to another schema, or are referred to.
 */
function branchesIn(
  top: Subschema,
  children: Children,
  references: References,
): SchemaGroup | undefined {
  if (references.isNamedWithin(top)) return undefined;
  if (references.leadInto(top.path, isCheckKeyword)) return undefined;
  const found = [top];
  for (const inner of found) {
    if (refers(inner)) return undefined;
    for (const child of children.get(inner) ?? []) {
      if (child.role === "branch") found.push(child);
      else if (child.role !== "definition" || inner !== top) return undefined;
    }
  }
  return found;
}

function kindsIn(group: SchemaGroup): Kind[] {
  return [...new Set(group.flatMap(({ schema }) => kindsOf(schema)))];
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

/** The schemas that each schema refers to. */
type Targets = ReadonlyMap<Subschema, readonly Subschema[]>;

/** The schemas grouped by the value that they describe. */
function groupsOf(targets: Targets): SchemaGroup[] {
  const linked = new Map<Subschema, Subschema[]>(
    Array.from(targets.keys(), (inner) => [inner, []]),
  );
  const link = (one: Subschema, other: Subschema) => {
    linked.get(one)!.push(other);
    linked.get(other)!.push(one);
  };
  for (const [inner, referred] of targets) {
    if (inner.role === "branch") link(inner, inner.around!);
    for (const target of referred) link(inner, target);
  }
  const numbers = new Map<Subschema, number>();
  for (const first of linked.keys()) {
    if (numbers.has(first)) continue;
    const number = numbers.size;
    const group = new Set([first]);
    for (const inner of group) {
      numbers.set(inner, number);
      for (const other of linked.get(inner)!) group.add(other);
    }
  }
  return [...Map.groupBy(targets.keys(), (inner) => numbers.get(inner)!).values()];
}

/** The schemas that accept certain types only, by themselves or through other schemas of the same value. */
function boundedAmong(targets: Targets): Set<Subschema> {
  const bounded = new Set<Subschema>();
  const referring = new Map<Subschema, Subschema[]>();
  const counts = new Map<Subschema, Map<string, number>>();
  for (const [inner, referred] of targets) {
    counts.set(inner, new Map());
    for (const target of referred) referring.getOrInsertComputed(target, () => []).push(inner);
  }
  const waiting = [...targets.keys()].filter(({ schema }) => kindsOf(schema).length > 0);
  for (const inner of waiting) {
    if (bounded.has(inner)) continue;
    bounded.add(inner);
    waiting.push(...referring.get(inner) ?? []);
    const { role, keyword, around } = inner;
    if (role !== "branch") continue;
    const count = counts.get(around!)!;
    count.set(keyword, (count.get(keyword) ?? 0) + 1);
    if (isBoundedBy(around!.schema, count)) waiting.push(around!);
  }
  return bounded;
}

/** Whether the bounded branches of a schema, counted by keyword, leave no way for other types. */
function isBoundedBy(schema: JsonObject, bounded: ReadonlyMap<string, number>): boolean {
  const all = (keyword: string) => {
    const held = schema[keyword];
    return Array.isArray(held) && held.length === bounded.get(keyword);
  };
  return bounded.has("allOf") || all("anyOf") || all("oneOf") ||
    (Object.hasOwn(schema, "if") && bounded.has("then") && bounded.has("else"));
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
const PLAIN_CHECKS = new Set([
  ...["type", "nullable", "enum", "const", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minItems", "maxItems", "uniqueItems", "minContains", "maxContains"],
  ...["minProperties", "maxProperties", "required", "dependentRequired"],
  ...["contentEncoding", "contentMediaType", "contentSchema"],
]);
/** Keywords that hold values of the old type. */
const VALUES = new Set(["default", "examples", "example"]);

/** Whether retyping a schema without its branches removes a keyword. */
function isPlainCheckKeyword(keyword: string): boolean {
  return PLAIN_CHECKS.has(keyword) ||
    ["items", "properties", "additionalProperties"].includes(keyword);
}

/** Whether retyping a schema together with its branches removes a keyword. */
function isCheckKeyword(keyword: string): boolean {
  const holder = HOLDERS.get(keyword);
  return PLAIN_CHECKS.has(keyword) || (holder !== undefined && holder.role !== "definition");
}

/** The schema with another type; keywords for which `goes` holds are replaced by those that the type needs. */
function retyped(
  schema: JsonObject,
  target: Target,
  goes: (keyword: string) => boolean,
): JsonObject {
  const old = Object.fromEntries(Object.entries(schema).filter(([keyword]) => goes(keyword)));
  const rest = Object.entries(schema).filter(([keyword]) => !VALUES.has(keyword));
  const next = new Map<string, JsonValue>([["type", target], ...NEEDS[target]?.(old) ?? []]);
  const entries = rest.flatMap(([keyword, held]): [string, JsonValue][] => {
    const other = next.get(keyword);
    next.delete(keyword);
    return other !== undefined ? [[keyword, other]] : goes(keyword) ? [] : [[keyword, held]];
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
