/**
 * Perturbations of tool documents (Butterfly, section 4.1 and appendix A.3.1, table 2).
 * @module
 */

import { sample, shuffle } from "@std/random";
import { cannot } from "../../base/errors.ts";
import { defined, type JsonObject, type JsonValue } from "../../base/json.ts";
import { type DocumentMethod, type Perturbed, perturbed } from "../methods.ts";
import { fork, type Stream } from "../../base/random.ts";
import { MAX_DEPTH, type Subschema, subschemas } from "../../tools/schema/subschemas.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { applyEdits, differences, type Edit, objectAt, removal, textAt } from "./_schema_edits.ts";
import { withoutExamples } from "./_examples.ts";
import { schemasFor, targetOf, typesOf } from "../../tools/schema/position.ts";

/**
 * Returns the edits that give parameters other types. Alternatives of one value get one type in their place.
 * Objects and lists whose parts have schemas keep their type, and so do schemas that accept values of any
 * type; beside such an object or list, alternatives get a type each.
 *
 * @param parameters The schema of all arguments, and every schema within it.
 */
function retypings(parameters: readonly Subschema[], stream: Stream): Edit[] {
  const [root] = parameters as [Subschema];
  const holders = new Set(
    parameters.flatMap(({ role, around }) =>
      role === "property" || role === "part" ? [around!.schema] : []
    ),
  );
  const references = parameters.flatMap(({ schema }) => textAt(schema, "$ref") ?? []);
  const isReferredWithin = (path: string) =>
    references.some((reference) => reference.startsWith(`#${path.slice(root.path.length)}/`));
  /** Conditions, which require nothing, and schemas that have another type, with all within them. */
  const done = new Set<Subschema>();
  return parameters.flatMap((inner): Edit[] => {
    const { schema, path, role, around } = inner;
    if (role === "condition" || done.has(around!)) done.add(inner);
    const top = topOf(inner);
    const { parts, open } = schemasFor(root.schema, [top.schema]);
    const [kinds, containers] = [kindsOf(parts), parts.filter((part) => holders.has(part))];
    if (done.has(inner) || open || kinds.size === 0 || isReferredWithin(path)) return [];
    const isMixed = containers.length > 0;
    const own = schemasFor(root.schema, [schema]).parts;
    const stays = isMixed
      ? inner === top || own.some((part) => holders.has(part)) || kindsOf(own).size === 0 ||
        !kindsOf(own).isDisjointFrom(kindsOf(containers))
      : inner !== top || role === "definition";
    const target = sample(
      (isMixed ? SCALARS : TARGETS).filter((one) =>
        // Numbers are often written as texts.
        !kinds.has(one) && !(one === "string" && kinds.has("integer"))
      ),
      stream,
    );
    if (stays || top.role === "root" || target === undefined) return [];
    done.add(inner);
    return differences(path, schema, retyped(schema, target));
  });
}

/** The schema of the value that a branch is an alternative for. */
function topOf(inner: Subschema): Subschema {
  let top = inner;
  while (top.role === "branch") top = top.around!;
  return top;
}

/** The types that schemas name; `integer` stands for all numbers. */
function kindsOf(parts: readonly JsonObject[]): Set<JsonValue> {
  const types = parts.flatMap((part) => typesOf(part) ?? []);
  return new Set(types.map((type) => type === "number" ? "integer" : type));
}

/** Types that a schema can be changed to without further keywords. */
const SCALARS = ["boolean", "integer", "string"] as const;
const TARGETS = [...SCALARS, "array", "object"] as const;

/** Keywords that say nothing of the type. */
const KEPT = ["title", "description", "deprecated", "$id", "$anchor", "$defs", "definitions"];
/** Keywords that hold values of the old type. */
const VALUES = ["default", "examples", "example"];

/** The schema with another type, and what providers require with it: the old checks become those of its parts. */
function retyped(schema: JsonObject, type: typeof TARGETS[number]): JsonObject {
  const entries = Object.entries(schema);
  const kept = entries.filter(([keyword]) => KEPT.includes(keyword));
  const old = Object.fromEntries(
    entries.filter(([keyword]) => !KEPT.includes(keyword) && !VALUES.includes(keyword)),
  );
  return {
    ...Object.fromEntries(kept),
    type,
    ...(type === "array" ? { items: old } : {}),
    ...(type === "object"
      ? { properties: { value: old }, required: ["value"], additionalProperties: false }
      : {}),
  };
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
  const referring = Map.groupBy(
    parameters,
    ({ schema }) => targetOf(parameters[0]!.schema, schema["$ref"]),
  );
  for (const inner of parameters) {
    const from = inner.role === "definition" ? referring.get(inner.schema) : undefined;
    if (from?.every((one) => required.has(one))) required.add(inner);
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
];
