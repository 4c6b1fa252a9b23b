/**
 * The graph of a set of tools: which ids they take and return, and which of them lead to each other.
 * @module
 */

import { z } from "zod";
import { cannot } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { parseWith } from "../base/input.ts";
import {
  canonicalJson,
  defined,
  fieldOf,
  isJsonObject,
  isWithin,
  type JsonObject,
  jsonText,
  type JsonValue,
} from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { assertTools } from "../tools/define_tool.ts";
import { resultCheck } from "../tools/schema/returns.ts";
import { RESULT, ROUTE, type Tool } from "../tools/tool.ts";
import {
  type Collection,
  collectionsOf,
  type KnownTool,
  knownTool,
  type Parameter,
} from "./_collections.ts";
import { type Found, type FoundPlace, isOf, type LinkRule, Links, relationOf } from "./_links.ts";
import { idTypeOf, schemaOfExamples, type View, viewOf } from "./_places.ts";
import { CREDENTIALS, IDS, isReadingName, KEYS, plainName, wordsOf } from "./_words.ts";

export type { LinkRule };
export { schemaOfExamples };

/** A type of ids: the key of an entity. */
export interface IdType {
  /** `ENTITY.KEY`, such as `project.gid`, by which options name it. */
  readonly name: string;
  /** The entity, in the singular, in lower case and words apart, such as `work order`. */
  readonly entity: string;
  /** The property of its records that holds the id, such as `gid`. */
  readonly key: string;
  /** The JSON type of its ids. */
  readonly type: "string" | "integer";
  /** The schemas of the id, of all places where it is taken or returned, without references. */
  readonly schemas: readonly JsonObject[];
}

/**
 * What a parameter is for: `id` takes an id of a type; `scope` a value that the question gives and that all calls of a
 * task share, such as an account; `fixed` a value that no model is asked for, such as a credential; `free` anything else.
 */
export type TakeRole = "id" | "scope" | "fixed" | "free";

/** A parameter of a tool. */
export interface Take {
  /** Its name. */
  readonly parameter: string;
  /** What it is for. */
  readonly role: TakeRole;
  /** The name of its type of ids; of a `scope` the name of the scope. Omitted for others. */
  readonly type?: string;
  /** Whether each call must have it. */
  readonly required: boolean;
  /** Its schema, which is whole in itself. */
  readonly schema: JsonObject;
  /** The rule by which it takes ids; omitted for other roles. */
  readonly rule?: LinkRule;
}

/** A place in the result of a tool where a record of an entity stands, or its id alone. */
export interface RecordPlace {
  /** The way there from the whole result: names of properties, and `*` for each item of a list. */
  readonly path: readonly string[];
  /** The name of the type of its id. */
  readonly type: string;
  /** The property of the record that holds the id; omitted where the id itself stands there. */
  readonly key?: string;
  /**
   * Which record it is: the one that an argument names; one of a list of what the arguments name; or the one that is
   * related to the record around it.
   */
  readonly of: { readonly argument: string } | { readonly list: true } | {
    /**
     * How it is related: `owner` of `owner_id`, `owner.id` or `owner`; `label` for each item of a list `labels`. Where
     * no record is around it, it is the one that the tool returns for its arguments.
     */
    readonly relation: string;
  };
  /** The rule by which it stands there. */
  readonly rule: LinkRule;
}

/** A tool in a graph. */
export interface ToolNode {
  /** The tool as a model is offered it: without its fixed parameters. */
  readonly tool: Tool;
  /** Whether it changes nothing, so that chains may call it. */
  readonly reads: boolean;
  /** Its parameters. */
  readonly takes: readonly Take[];
  /** The JSON Schema of its result; omitted where it is not known. */
  readonly result?: JsonObject;
  /** The records in its result, each after the one that it stands in. */
  readonly records: readonly RecordPlace[];
}

/** A link that no strict rule shows, for a person to decide on. */
export interface Suggestion {
  /** The name of the tool. */
  readonly tool: string;
  /** A parameter of the tool, or a way in its result, such as `data.*.owner`. */
  readonly at: string;
  /** The name of the type of ids that it may be. */
  readonly type: string;
  /** Why. */
  readonly reason: string;
}

/** What keeps a tool from being of use in chains. */
export interface Gap {
  /** The name of the tool. */
  readonly tool: string;
  /** What is missing, and what to write, on one line. */
  readonly reason: string;
}

/** The graph of a set of tools. */
export interface ToolGraph {
  /** The tools by name, in their order. */
  readonly nodes: ReadonlyMap<string, ToolNode>;
  /** The types of ids by name. */
  readonly types: ReadonlyMap<string, IdType>;
  /** The schemas of each scope, by its name. */
  readonly scopes: ReadonlyMap<string, readonly JsonObject[]>;
  /** Links in doubt: one for each way in records of a type. */
  readonly suggestions: readonly Suggestion[];
  /** What is missing. */
  readonly gaps: readonly Gap[];
  /** The words of questions in place of those that names give. */
  readonly words: ChainWords;
  /** A hash of what a person reviews: types, links, scopes and words. */
  readonly digest: string;
}

/** Words of questions. */
export interface ChainWords {
  /** Of an entity by its name, such as `{ "work order": "job" }`. */
  readonly entities?: Readonly<Record<string, string>>;
  /** Of a relation by `ENTITY.RELATION`, such as `{ "task.assignee": "person in charge" }`. */
  readonly relations?: Readonly<Record<string, string>>;
  /** Of a field that is asked for by `ENTITY.PATH`, such as `{ "pet.weight": "weight in grams" }`. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Options of {@linkcode toolGraph}: what a person decides. It may be read from a JSON file. */
export interface ToolGraphOptions {
  /** The result of tools that declare none, by name: a JSON Schema, or an example of it. */
  readonly returns?: Readonly<
    Record<string, { readonly schema: JsonObject } | { readonly example: unknown }>
  >;
  /**
   * Links by `TOOL.PARAMETER` or `TOOL:WAY.IN.RESULT`: the name of a type of ids, or `null` where there is none. One in
   * a record holds wherever such a record stands.
   */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Names of parameters whose values the question gives, and which all calls of a task share. */
  readonly scope?: readonly string[];
  /** Names of parameters that no model is asked for, beside those of credentials. */
  readonly fixed?: readonly string[];
  /** Names of tools that change nothing, beside those that say so. */
  readonly reads?: readonly string[];
  /** Words of questions in place of those that names give. */
  readonly words?: ChainWords;
}

const WORDS = z.record(z.string(), z.string().min(1)).optional();
const NAMES = z.array(z.string()).default([]);

/** The schema of {@linkcode ToolGraphOptions}. */
export const TOOL_GRAPH_OPTIONS = z.strictObject(
  {
    returns: z.record(
      z.string(),
      z.union([
        z.strictObject({ schema: z.custom<JsonObject>(isJsonObject, "must be a JSON Schema") }),
        z.strictObject({
          example: z.custom<JsonValue>(
            (value) => value !== undefined && isWithin(value, { levels: 50, values: 100_000 }),
            "must be a JSON value of at most 50 levels",
          ),
        }),
      ]),
    ).default({}),
    links: z.record(z.string(), z.string().nullable()).default({}),
    ...{ scope: NAMES, fixed: NAMES, reads: NAMES },
    words: z.strictObject({ entities: WORDS, relations: WORDS, fields: WORDS }).default({}),
  } satisfies Record<keyof ToolGraphOptions, z.ZodType>,
);

/**
 * Returns the graph of a set of tools: which ids they take and return, and which of them lead to each other.
 *
 * A type of ids is there where a tool returns one record by an id that the record has as a property. Links are strict:
 * a parameter or a place in a result has such ids by the same definition, by the name of the only entity that is meant,
 * or by the word before it in a path. All else that looks like one is a suggestion, which `links` may name.
 *
 * @throws {InputError} If tools or options are not valid, or name what there is not.
 *
 * @example Usage
 * ```ts
 * import { toolGraph } from "@toolgate/toolgate/chains";
 * import { tool } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const order = tool({
 *   name: "get_order",
 *   description: "Returns an order",
 *   parameters: z.object({ order_id: z.string() }),
 *   output: z.object({ id: z.string(), customer_id: z.string() }),
 *   returns: { id: "A1", customer_id: "C7" },
 * });
 * const customer = tool({
 *   name: "get_customer",
 *   description: "Returns a customer",
 *   parameters: z.object({ customer_id: z.string() }),
 *   output: z.object({ id: z.string(), city: z.string() }),
 *   returns: { id: "C7", city: "Oslo" },
 * });
 * const graph = toolGraph([order, customer]);
 * assertEquals([...graph.types.keys()], ["order.id", "customer.id"]);
 * assertEquals(graph.nodes.get("get_order")!.records[1], {
 *   path: ["customer_id"],
 *   type: "customer.id",
 *   of: { relation: "customer" },
 *   rule: "named id",
 * });
 * ```
 */
export function toolGraph(tools: readonly Tool[], options: ToolGraphOptions = {}): ToolGraph {
  const { returns, links, scope, fixed, reads, words } = parseWith(
    TOOL_GRAPH_OPTIONS,
    options,
    "the options of toolGraph",
  );
  assertTools(tools);
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice) throw cannot(ACTION, "each must have a name of its own", `two are ${twice}`);
  for (const name of Object.keys(returns)) assertKnown("returns", "a tool", name, names);
  for (const name of reads) assertKnown("reads", "a tool", name, names);
  const known = tools.map((one) =>
    knownTool(one, isReading(one, reads), resultOf(one, returns[one.name]))
  );
  const parameters = known.flatMap((one) => one.parameters.map(({ name }) => name));
  for (const name of scope) assertKnown("scope", "a parameter", name, parameters);
  for (const name of fixed) assertKnown("fixed", "a parameter", name, parameters);
  const isFixed = ({ name }: Parameter) => fixed.includes(name) || CREDENTIALS.has(plainName(name));
  const found = new Links(collectionsOf(known), known);
  const decided = decisions(links, known, found.collections);
  const types = new Map(found.collections.map(({ name, entity, key, type }) => [
    name,
    { ...{ name, entity, key, type }, schemas: [] as JsonObject[] },
  ]));
  const scopes = new Map<string, JsonObject[]>();
  const suggestions = new Map<string, Suggestion>();
  const gaps = new Map<string, Gap>();
  const relations = new Set<string>();
  /** Notes the schema of an id, or suggests what is in doubt; returns whether it is strict. */
  const note = (one: KnownTool, at: string, key: string, link: Found, { plain }: View): boolean => {
    const { collection: { name: type }, doubt: reason } = link;
    const { name: tool } = one.tool;
    if (reason === undefined) addSchema(types.get(type)!.schemas, plain);
    else if (one.reads) suggestions.getOrInsert(`${key} ${type}`, { tool, at, type, reason });
    return reason === undefined;
  };
  const linked = new Map(
    known.flatMap((one) =>
      one.parameters.map((parameter): [Parameter, Found | undefined] => {
        const collection = decided.get(`${one.tool.name}.${parameter.name}`);
        const isNamed = collection === null || isFixed(parameter) || scope.includes(parameter.name);
        if (collection) return [parameter, { collection, rule: "given" }];
        return [parameter, isNamed ? undefined : found.ofParameter(one, parameter)];
      })
    ),
  );
  const taking = new Set(
    [...linked].flatMap(([{ name }, link]) => link && link.doubt === undefined ? [name] : []),
  );
  /** Whether a parameter is before other parts of several paths. One that takes ids elsewhere is no scope. */
  const isScope = ({ name, required, ...view }: Parameter, { path }: KnownTool): boolean => {
    const isIn = (parts: KnownTool["path"]) => parts.some((part) => part[0] === name);
    return scope.includes(name) ||
      required && idTypeOf(view) !== undefined && !KEYS.has(plainName(name)) &&
        !taking.has(name) && isIn(path) &&
        known.filter(({ path }) => isIn(path.slice(0, -1))).length > 1;
  };
  const takesOf = (one: KnownTool): Take[] =>
    one.parameters.map((parameter) => {
      const { name, required } = parameter;
      const link = linked.get(parameter);
      const own = { parameter: name, required, schema: schemaOf(one.tool, name) };
      if (link && note(one, name, `${one.tool.name}.${name}`, link, parameter)) {
        return { ...own, role: "id", type: link.collection.name, rule: link.rule };
      }
      if (isFixed(parameter)) return { ...own, role: "fixed" };
      if (!isScope(parameter, one)) return { ...own, role: "free" };
      addSchema(scopes.getOrInsert(name, []), parameter.plain);
      return { ...own, role: "scope", type: name };
    });
  const placesOf = (one: KnownTool) =>
    found.ofResult(one, (way, around) => {
      const own = decided.get(`${one.tool.name}:${way}`);
      // What is decided of a record holds wherever one of its type stands.
      if (own !== undefined && around !== "") decided.set(around, own);
      return own === undefined ? decided.get(around) : own;
    });
  for (const one of known) {
    if (Object.keys(links).some((at) => at.startsWith(`${one.tool.name}:`))) placesOf(one);
  }
  const recordsOf = (one: KnownTool, takes: readonly Take[]): RecordPlace[] => {
    const { name } = one.tool;
    const places = placesOf(one);
    if (one.reads) addGaps(gaps, one, places);
    return places.filter((link) => {
      const { place, around, below, collection } = link;
      const at = place.path.join(".");
      const key = around ? `${around.collection.name} ${below.join(".")}` : `${name}:${at}`;
      const isRecord = place.type === "object";
      const id = isRecord ? viewOf(one.result!, place.properties.get(collection.key)!) : place;
      return note(one, at, key, link, id);
    }).map((link): RecordPlace => {
      const { place: { path, type }, around, collection, rule } = link;
      if (around) relations.add(`${around.collection.entity}.${relationOf(link)}`);
      const argument = echoed(link, one, takes);
      return {
        ...{ path, type: collection.name },
        ...(type === "object" ? { key: collection.key } : {}),
        of: argument !== undefined
          ? { argument }
          : around === undefined && path.includes("*")
          ? { list: true }
          : { relation: relationOf(link) },
        rule,
      };
    });
  };
  const nodes = known.map((one): ToolNode => {
    const takes = takesOf(one);
    return defined({
      tool: without(one.tool, takes.filter(({ role }) => role === "fixed")),
      ...{ reads: one.reads, takes, result: one.result, records: recordsOf(one, takes) },
    });
  });
  const entities = found.collections.map(({ entity }) => entity);
  for (const name of Object.keys(words.entities ?? {})) {
    assertKnown("words.entities", "an entity", name, entities);
  }
  for (const name of Object.keys(words.relations ?? {})) {
    assertKnown("words.relations", "a relation", name, [...relations]);
  }
  const reviewed = nodes.map(({ tool: { name }, reads, takes, records }) => ({
    ...{ name, reads, records },
    takes: takes.map(({ schema: _, ...take }) => take),
  }));
  return {
    nodes: new Map(nodes.map((node) => [node.tool.name, node])),
    ...{ types, scopes, suggestions: [...suggestions.values()], gaps: [...gaps.values()], words },
    digest: sha256(canonicalJson({ types: [...types.keys()], tools: reviewed, words })),
  };
}

const ACTION = "make a graph of tools";

function assertKnown(option: string, kind: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const all = [...new Set(known)];
  const state = `${jsonText(name)} is none${nearestOrAll(name, all)}`;
  throw cannot(ACTION, `${option} must name ${kind} that there is`, state);
}

function isReading({ name, annotations, ...tool }: Tool, reads: readonly string[]): boolean {
  const method = tool[ROUTE]?.method;
  return reads.includes(name) ||
    (method === undefined
      ? annotations?.readOnlyHint ?? isReadingName(name)
      : method === "get" || method === "head");
}

/** Returns the schema of a tool's result, as options give it, else as the tool does. */
function resultOf(
  tool: Tool,
  given: { readonly schema: JsonObject } | { readonly example: JsonValue } | undefined,
): JsonObject | undefined {
  if (given === undefined) return tool[RESULT]?.() ?? tool.returns;
  if ("example" in given) return schemaOfExamples([given.example]);
  resultCheck(`tool ${tool.name}`, given.schema, tool.unsafePatterns);
  return given.schema;
}

/** Returns what `links` says of parameters and places by their names there, and of ways within records of a type. */
function decisions(
  links: Readonly<Record<string, string | null>>,
  tools: readonly KnownTool[],
  collections: readonly Collection[],
): Map<string, Collection | null> {
  const decided = new Map<string, Collection | null>();
  for (const [at, name] of Object.entries(links)) {
    const known = tools.find(({ tool }) =>
      [".", ":"].some((end) => at.startsWith(tool.name + end))
    );
    if (known === undefined) {
      const names = tools.map(({ tool }) => tool.name);
      const state = `${jsonText(at)} names none${nearestOrAll(/^[^.:]*/.exec(at)![0], names)}`;
      throw cannot(ACTION, "links must be of TOOL.PARAMETER or TOOL:WAY of tools", state);
    }
    const views = new Map<string, View>([
      ...known.parameters.map((one) => [`${known.tool.name}.${one.name}`, one] as const),
      ...known.places.map((one) => [`${known.tool.name}:${one.path.join(".")}`, one] as const),
    ]);
    assertKnown("links", "a parameter of a tool, or a way in its result,", at, [...views.keys()]);
    const collection = collections.find((one) => one.name === name) ?? null;
    if (name !== null) {
      assertKnown(`links of ${at}`, "a type of ids", name, collections.map(({ name }) => name));
    }
    if (collection !== null && !isOf(known, views.get(at)!, collection)) {
      const state = `${name} is of type ${collection.type}, ${at} is not`;
      throw cannot(ACTION, "links must join ids of one JSON type", state);
    }
    decided.set(at, collection);
  }
  return decided;
}

/** Returns the schema of a parameter, with the definitions that it refers to. */
function schemaOf({ parameters }: Tool, name: string): JsonObject {
  const own = fieldOf(parameters["properties"], name);
  const schema = isJsonObject(own) ? own : {};
  const { $defs } = parameters;
  return $defs && jsonText(schema).includes('"$ref"') ? { ...schema, $defs } : schema;
}

/** Returns a tool without some of its parameters. */
function without(tool: Tool, left: readonly Take[]): Tool {
  if (left.length === 0) return tool;
  const isKept = (name: JsonValue) => !left.some(({ parameter }) => parameter === name);
  const { properties, required, ...others } = tool.parameters;
  const kept = Object.entries(properties as JsonObject).filter(([name]) => isKept(name));
  const needed = Array.isArray(required) ? required.filter(isKept) : [];
  const parameters = { ...others, properties: Object.fromEntries(kept), required: needed };
  return { ...tool, parameters };
}

/** Returns the parameter whose value a record or an id in the result only repeats. */
function echoed(
  { place, collection, around }: FoundPlace,
  tool: KnownTool,
  takes: readonly Take[],
): string | undefined {
  if (around !== undefined || place.path.includes("*")) return undefined;
  const one = collection.ones.get(tool);
  if (one?.record === place) return one.parameter.name;
  // An operation on a part of a record, such as one of its versions, returns that record.
  const isPart = place.type === "object" && Array.isArray(tool.path.at(-1));
  return takes.find(({ type, parameter }) =>
    type === collection.name && (isPart || plainName(parameter) === plainName(place.name))
  )?.parameter;
}

/** Adds a schema to a list that does not have it. */
function addSchema(schemas: JsonObject[], schema: JsonObject): void {
  const text = canonicalJson(schema);
  if (!schemas.some((one) => canonicalJson(one) === text)) schemas.push(schema);
}

/** Adds what keeps a tool from being of use: a result that is not known, and ids that nothing takes. */
function addGaps(
  gaps: Map<string, Gap>,
  { tool: { name: tool }, result, places }: KnownTool,
  found: readonly FoundPlace[],
): void {
  if (result === undefined) {
    const reason = `its result is not known: give returns.${tool}, a schema or an example`;
    gaps.set(`returns ${tool}`, { tool, reason });
  }
  for (const place of places) {
    const words = wordsOf(place.name);
    const isId = words.length > 1 && IDS.has(words.at(-1)!) && idTypeOf(place) !== undefined;
    if (!isId || found.some((one) => one.place === place || one.below.at(-1) === place.name)) {
      continue;
    }
    const at = jsonText(`${tool}:${place.path.join(".")}`);
    const reason =
      `no tool is known to take ${place.name}: if one does, give links: { ${at}: TYPE }`;
    gaps.getOrInsert(place.name, { tool, reason });
  }
}
