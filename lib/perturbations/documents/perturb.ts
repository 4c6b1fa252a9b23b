/**
 * Perturbations of tool documents (Butterfly, section 4.1 and appendix A.3.1, table 2).
 * @module
 */

import { sample, shuffle } from "@std/random";
import { cannot } from "../../base/errors.ts";
import { defined, type JsonObject, type JsonValue } from "../../base/json.ts";
import { type DocumentMethod, type Perturbed, perturbed } from "../methods.ts";
import { fork, type Stream } from "../../base/random.ts";
import { HOLDERS, MAX_DEPTH, type Subschema, subschemas } from "../../tools/schema/subschemas.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { applyEdits, differences, type Edit, objectAt, removal, textAt } from "./_schema_edits.ts";
import { withoutExamples } from "./_examples.ts";
import { References, refers } from "./_schema_references.ts";
import { typeOf } from "../../tools/schema/position.ts";

/**
 * Returns the edits that give parameters other types. All schemas of one value, such as alternatives and the
 * schemas they refer to, get the same one. Objects and lists whose parts have schemas keep their type, and
 * so do schemas that accept values of any type.
 *
 * @param parameters The schema of all arguments, and every schema within it.
 */
function retypings(parameters: readonly Subschema[], stream: Stream): Edit[] {
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

/**
 * Perturbs the documents of tools. Paths of changes start at the list. Each tool's random draws depend on
 * `seed`, the method and its name alone; a tool's properties other than its schema are kept.
 *
 * | method | change |
 * | --- | --- |
 * | `RD` | descriptions of required parameters removed, at every level |
 * | `RE` | usage examples removed from the tool, from schemas and from descriptions |
 * | `WD` | descriptions of parameters replaced by those of unrelated tools |
 * | `WT` | types of parameters changed so that no right value fits; containers stay, types within them change; `strict` goes, which would force them on a model |
 * | `SD` | descriptions of a pair of parameters swapped |
 * | `CO` | the parameters of each object put into another order |
 *
 * @throws {InputError} If schemas nest more than 1,000 deep.
 */
export function perturbTools<T extends ToolSchema>(
  method: DocumentMethod,
  tools: readonly T[],
  seed: number,
): Perturbed<readonly T[]> {
  const edits = tools.flatMap((tool, place) => {
    const path = `/${place}`;
    const parameters = [...schemasOf(tool, tool.parameters, `${path}/parameters`)];
    return METHODS[method]({ tool, path, parameters }, fork(seed, method, tool.name));
  });
  return perturbed(tools, edits.length === 0 ? tools : applyEdits(tools, edits), edits);
}

/** All schemas within one schema of a tool, itself included. */
function* schemasOf(tool: ToolSchema, schema: JsonObject, path: string): Generator<Subschema> {
  for (const inner of subschemas(schema, path)) {
    if (inner.depth > MAX_DEPTH) {
      throw cannot(
        `perturb tool ${tool.name}`,
        `its schemas must nest at most ${MAX_DEPTH} deep`,
        "they nest deeper",
      );
    }
    yield inner;
  }
}

/** A tool, and the schemas of its parameters. */
interface Document {
  readonly tool: ToolSchema;
  /** The tool's path, as a JSON pointer from the list. */
  readonly path: string;
  /** The schema of all arguments, and every schema within it. */
  readonly parameters: readonly Subschema[];
}

const METHODS: Readonly<
  Record<DocumentMethod, (document: Document, stream: Stream) => readonly Edit[]>
> = {
  RD: ({ parameters }) => {
    const required = requiredParameters(parameters);
    return parameters.flatMap((inner) => {
      const before = textAt(inner.schema, "description");
      return before === undefined || !required.has(inner)
        ? []
        : [removal(`${inner.path}/description`, before)];
    });
  },
  RE: ({ tool, path, parameters }) => {
    const { description, examples, returns } = tool;
    const schemas = returns === undefined
      ? parameters
      : [...parameters, ...schemasOf(tool, returns, `${path}/returns`)];
    const after = withoutExamples(description);
    return [
      ...(after === description ? [] : [replaced(`${path}/description`, description, after)]),
      ...schemas.flatMap(exampleRemovals),
      ...(examples === undefined
        ? []
        : [removal(`${path}/examples`, examples as unknown as JsonValue)]),
    ];
  },
  WD: ({ tool, parameters }, stream) => {
    const described = parameters.flatMap(({ schema, path, role }) => {
      const before = textAt(schema, "description") || undefined;
      return before === undefined ? [] : [{ path, before, role }];
    });
    const ownTexts = new Set([tool.description, ...described.map(({ before }) => before)]);
    const others = shuffle(UNRELATED_DESCRIPTIONS.filter((text) => !ownTexts.has(text)), stream);
    if (others.length === 0) return [];
    return described.filter(({ role }) => role !== "root").map(({ path, before }, place) =>
      replaced(`${path}/description`, before, others[place % others.length]!)
    );
  },
  WT: ({ tool, path, parameters }, stream) => {
    const edits = retypings(parameters, stream);
    // Decoding held to the schema could not but give wrong types.
    return edits.length === 0 || tool.strict !== true
      ? edits
      : [...edits, removal(`${path}/strict`, true)];
  },
  SD: ({ parameters }, stream) => {
    const named = parameters.filter(({ role }) => role === "property");
    const texts = named.map(({ schema }) => textAt(schema, "description"));
    const pair = choosePair(texts.map((text) => text || undefined), stream);
    if (pair === undefined) return [];
    const [one, other] = pair;
    const at = (place: number) => `${named[place]!.path}/description`;
    return [
      replaced(at(one), texts[one], texts[other]),
      replaced(at(other), texts[other], texts[one]),
    ];
  },
  CO: ({ parameters }, stream) =>
    parameters.flatMap(({ schema, path }): Edit[] => {
      const keys = Object.keys(objectAt(schema, "properties") ?? {});
      const movable = keys.filter((key) => !isIndex(key));
      const order = newOrder(movable.length, stream);
      if (order === undefined) return [];
      const after = [...keys.filter(isIndex), ...order.map((place) => movable[place]!)];
      return [{ kind: "order", path: `${path}/properties`, before: keys, after }];
    }),
};

/**
 * The required parameters: properties that the schema around them requires, their alternatives, and
 * definitions that only required parameters refer to.
 */
function requiredParameters(parameters: readonly Subschema[]): ReadonlySet<Subschema> {
  const required = new Set<Subschema>();
  for (const inner of parameters) {
    const { role, name, around } = inner;
    if (role === "property" ? requires(around!.schema, name) : isInRequired(inner, required)) {
      required.add(inner);
    }
  }
  const references = new References(parameters);
  const referring = Map.groupBy(
    parameters.flatMap((inner) =>
      references.targetsOf(inner).map((target) => ({ target, isRequired: required.has(inner) }))
    ),
    ({ target }) => target,
  );
  for (const [target, from] of referring) {
    if (target.role === "definition" && from.every(({ isRequired }) => isRequired)) {
      required.add(target);
    }
  }
  return required;
}

function requires(schema: JsonObject, name: string): boolean {
  const required = Object.hasOwn(schema, "required") ? schema["required"] : undefined;
  return Array.isArray(required) && required.includes(name);
}

function isInRequired({ role, around }: Subschema, required: ReadonlySet<Subschema>): boolean {
  return role === "branch" && required.has(around!);
}

/** The edits that remove the examples of a schema. */
function exampleRemovals({ schema, path }: Subschema): Edit[] {
  return Object.entries(schema).flatMap(([keyword, held]): Edit[] => {
    if (keyword === "examples" || keyword === "example") {
      return [removal(`${path}/${keyword}`, held)];
    }
    if (keyword !== "description" || typeof held !== "string") return [];
    const after = withoutExamples(held);
    return after === held ? [] : [replaced(`${path}/${keyword}`, held, after || undefined)];
  });
}

/** The edit that replaces a text; without `before` it is added, without `after` removed. */
function replaced(path: string, before: string | undefined, after: string | undefined): Edit {
  return { kind: "value", path, ...defined({ before, after }) };
}

/** Whether a key is an array index: JavaScript always puts these first, in numeric order. */
function isIndex(key: string): boolean {
  return /^(?:0|[1-9][0-9]{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;
}

/**
 * Draws two places whose descriptions differ, in ascending order: among pairs that both have a description,
 * else among those where one has. Returns `undefined` if there is no such pair.
 */
export function choosePair(
  descriptions: readonly (string | undefined)[],
  stream: Stream,
): readonly [number, number] | undefined {
  const places = descriptions.map((_, place) => place);
  const bare = places.filter((place) => descriptions[place] === undefined);
  const described = places.filter((place) => descriptions[place] !== undefined);
  if (described.length === 0) return undefined;
  const one = sample(described, stream)!;
  if (new Set(described.map((place) => descriptions[place])).size === 1) {
    const other = sample(bare, stream);
    return other === undefined ? undefined : [Math.min(one, other), Math.max(one, other)];
  }
  return differingPair(descriptions, described, stream);
}

/** Draws two places with different descriptions, every such pair with the same probability. */
function differingPair(
  descriptions: readonly (string | undefined)[],
  described: readonly number[],
  stream: Stream,
): readonly [number, number] {
  for (;;) {
    const [one, other] = [sample(described, stream)!, sample(described, stream)!];
    if (descriptions[one] !== descriptions[other]) {
      return [Math.min(one, other), Math.max(one, other)];
    }
  }
}

/**
 * Draws a new order of `count` items, as a list of their old places. Never the old order; returns `undefined`
 * if there is no other.
 */
export function newOrder(count: number, stream: Stream): readonly number[] | undefined {
  if (count < 2) return undefined;
  const places = Array.from({ length: count }, (_, place) => place);
  for (;;) {
    const order = shuffle(places, stream);
    if (order.some((from, place) => from !== place)) return order;
  }
}

/** Descriptions of parameters from fields that have little to do with each other. */
export const UNRELATED_DESCRIPTIONS: readonly string[] = [
  "Depth of the snow cover at the station, in centimetres.",
  "Identifier of the telescope that took the exposure.",
  "Thread count of the fabric per square inch.",
  "Number of beats per minute at which the metronome ticks.",
  "Whether the beehive has been treated against mites this season.",
  "The pigment used for the outermost layer of glaze.",
  "Angle of the ski binding in degrees, measured from the tip.",
  "Name of the reef section in which the coral was sampled.",
  "Moisture content of the timber before it enters the kiln.",
  "The gauge of the model railway on which the wagon runs.",
  "Opening hand of the chess player who moves second.",
  "Rate at which the greenhouse lamps are dimmed after sunset.",
  "The breed of the sheep whose wool was spun.",
  "Pressure in the espresso boiler during extraction, in bar.",
  "Number of strings on the instrument, drones not counted.",
  "Proof stage of the sourdough at which it is folded again.",
  "The blade profile of the wind turbine.",
  "Tide table that the ferry follows on public holidays.",
  "Magnitude below which seismic events are not plotted.",
  "Whether the manuscript page has marginal notes.",
  "The knot by which the climbing rope is tied to the harness.",
  "Dilution of the developer bath used for the negative.",
  "Shelf life of the vaccine batch at room temperature, in hours.",
  "Row of the vineyard in which the grapes were picked.",
  "The stitch that finishes the hem.",
  "Length of the runway's displaced threshold, in metres.",
  "Grain size of the sandpaper for the final pass.",
  "The dialect in which the folk song was recorded.",
  "Interval between two feedings of the aquarium, in hours.",
  "Octane rating of the fuel in the generator's tank.",
  "The constellation nearest to the comet at perihelion.",
  "Number of rings counted in the core of the oak.",
  "Whether the lighthouse lamp rotates clockwise.",
  "The font in which footnotes of the printed edition are set.",
  "Salinity of the brine in which the cheese ripens, in percent.",
  "Torque at which the wheel nuts of the tractor are tightened.",
  "The altitude up to which the balloon is tethered.",
  "Name of the judge who scored the figure skating routine.",
  "Half-life of the tracer that was injected, in minutes.",
  "The burial layer in which the potsherd was found.",
  "Width of the expansion joint between two bridge spans.",
  "Number of turns that the dancers take before they change partners.",
];
