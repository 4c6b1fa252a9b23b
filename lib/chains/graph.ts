/**
 * The graph of a set of tools: which ids they take and return, and which of them lead to each other.
 * @module
 */

import { z } from "zod";
import { attempt, cannot } from "../base/errors.ts";
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
import { mocksOf } from "../tools/schema/mock.ts";
import { resultCheck } from "../tools/schema/returns.ts";
import { RESULT, ROUTE, type Tool } from "../tools/tool.ts";
import { type Collection, collectionsOf, type KnownTool, knownTool } from "./_collections.ts";
import { oneOf, type Parameter, placeIn } from "./_collections.ts";
import {
  type Decisions,
  type FoundPlace,
  idIn,
  type LinkRule,
  Links,
  relationOf,
} from "./_links.ts";
import { idTypeOf, schemaOfExamples, type View } from "./_places.ts";
import { CREDENTIALS, isReadingName, KEYS, nounOf, ownWordsOf, plainName } from "./_words.ts";
import { getOrInsert, getOrInsertComputed } from "../base/get_or_insert.ts";

export { type LinkRule, schemaOfExamples };

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
    Record<string, { readonly schema?: JsonObject | undefined; readonly example?: unknown }>
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

/** What checks {@linkcode ToolGraphOptions}. */
export const TOOL_GRAPH_OPTIONS = z.strictObject(
  {
    returns: z.record(
      z.string(),
      z.strictObject({
        schema: z.custom<JsonObject>(isJsonObject, "must be a JSON Schema").optional(),
        example: z.custom<JsonValue>(
          (value) => isWithin(value, { levels: 50, values: 100_000 }),
          "must be a JSON value of at most 50 levels",
        ).optional(),
      }).refine(
        ({ schema, example }) => (schema === undefined) !== (example === undefined),
        "must have a schema or an example",
      ),
    ).default({}),
    links: z.record(z.string(), z.string().nullable()).default({}),
    ...{ scope: NAMES, fixed: NAMES, reads: NAMES },
    words: z.strictObject({ entities: WORDS, relations: WORDS, fields: WORDS }).default({}),
  } satisfies Record<keyof ToolGraphOptions, z.ZodType>,
);

/**
 * Returns the graph of a set of tools: which ids they take and return, and which of them lead to each other.
 *
 * A type of ids is there where a tool takes one, and the record that it returns, or those of a list of them, have it as
 * a property. Links are strict: a parameter or a place in a result has such ids by the same definition, by the name of
 * the only entity that is meant, or by the word before it in a path. All else that looks like one is a suggestion, which
 * `links` may name. Tools that are no operations have the path that their names give: that of `get_issue(issue_number)`
 * is `issue/{issue_number}`.
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
  const given = parseWith(TOOL_GRAPH_OPTIONS, options, "the options of toolGraph");
  const known = knownTools(tools, given);
  const collections = collectionsOf(known);
  const isFixed = ({ name }: Parameter) =>
    given.fixed.includes(name) || CREDENTIALS.has(plainName(name));
  const links = new Links(collections, known, decisions(given, known, collections, isFixed));
  const found = [...links.parameters.values(), ...links.places.values().toArray().flat()];
  const types = collections.map(({ name, entity, key, type }): IdType => {
    const own = found.filter(({ collection, doubt }) => !doubt && collection.name === name);
    return { name, entity, key, type, schemas: schemasOf(own.map(({ id }) => id)) };
  });
  const shared = sharedBy(known, links, given.scope);
  const unfit = shared.entries().filter(([, own]) => !isFitting(schemasOf(own))).toArray();
  for (const [name] of unfit) shared.delete(name);
  const nodes = known.map((one) => nodeOf(one, links, shared, isFixed));
  const { words } = given;
  assertWords(words, links);
  const hashes = new Map<JsonValue, string>();
  const reviewed = nodes.map(({ tool: { name }, reads, takes, records, result }) => ({
    ...{ name, reads, records, result: briefSchema(result, hashes) },
    takes: takes.map((take) => ({ ...take, schema: briefSchema(take.schema, hashes) })),
  }));
  return {
    nodes: new Map(nodes.map((node) => [node.tool.name, node])),
    types: new Map(types.map((type) => [type.name, type])),
    scopes: new Map(shared.entries().map(([name, own]) => [name, schemasOf(own)])),
    suggestions: suggestionsOf(known, links),
    gaps: [
      ...unfit.map(([name, own]) => ({
        tool: known.find(({ parameters }) => parameters.includes(own[0]!))!.tool.name,
        reason: `no value of ${name} fits the schemas of all tools that take it`,
      })),
      ...gapsOf(known),
    ],
    words,
    digest: sha256(canonicalJson({ types: types.map(({ name }) => name), tools: reviewed, words })),
  };
}

/** Returns a schema with hashes of its definitions, which most results of a service share. */
function briefSchema(
  schema: JsonObject | undefined,
  hashes: Map<JsonValue, string>,
): JsonObject | undefined {
  const definitions = schema?.["$defs"];
  if (!isJsonObject(definitions)) return schema;
  const brief = Object.entries(definitions).map(([name, one]) =>
    [name, getOrInsertComputed(hashes, one, (own) => sha256(canonicalJson(own)))] as const
  );
  return { ...schema, $defs: Object.fromEntries(brief) };
}

const ACTION = "make a graph of tools";

/** Throws if an option names what there is not. */
function assertKnown(
  option: string,
  kind: string,
  given: Iterable<string>,
  known: readonly string[],
): void {
  const name = Iterator.from(given).find((name) => !known.includes(name));
  if (name === undefined) return;
  const state = `${jsonText(name)} is none${nearestOrAll(name, [...new Set(known)])}`;
  throw cannot(ACTION, `${option} must name ${kind} that there is`, state);
}

/** Returns what is known of tools, with what options say of them. */
function knownTools(
  tools: readonly Tool[],
  { returns, reads, scope, fixed }: z.infer<typeof TOOL_GRAPH_OPTIONS>,
): readonly KnownTool[] {
  assertTools(tools);
  const names = tools.map(({ name }) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice) throw cannot(ACTION, "each must have a name of its own", `two are ${twice}`);
  assertKnown("returns", "a tool", Object.keys(returns), names);
  assertKnown("reads", "a tool", reads, names);
  const nouns = ownWordsOf(names).map(nounOf);
  const known = tools.map((tool, place) => {
    const { name, annotations, [ROUTE]: route } = tool;
    const isReading = route === undefined
      ? annotations?.readOnlyHint ?? isReadingName(name)
      : ["get", "head"].includes(route.method);
    const own = { reads: isReading || reads.includes(name), result: resultOf(tool, returns[name]) };
    return knownTool(tool, nouns[place]!, nouns, own);
  });
  const parameters = known.flatMap((one) => one.parameters.map(({ name }) => name));
  assertKnown("scope", "a parameter", scope, parameters);
  assertKnown("fixed", "a parameter", fixed, parameters);
  return known;
}

/** Returns the schema of a tool's result, as options give it, else as the tool does. */
function resultOf(
  tool: Tool,
  { schema, example }: z.infer<typeof TOOL_GRAPH_OPTIONS>["returns"][string] = {},
): JsonObject | undefined {
  if (schema !== undefined) resultCheck(`tool ${tool.name}`, schema, tool.unsafePatterns);
  const shown = example === undefined ? undefined : schemaOfExamples([example]);
  return schema ?? shown ?? tool[RESULT]?.() ?? tool.returns;
}

/** Returns what is decided of parameters and places by their names there. */
function decisions(
  { links, scope }: z.infer<typeof TOOL_GRAPH_OPTIONS>,
  tools: readonly KnownTool[],
  collections: readonly Collection[],
  isFixed: (parameter: Parameter) => boolean,
): Decisions {
  const decided = new Map<string, Collection | null>();
  for (const { tool, parameters } of tools) {
    for (const one of parameters) {
      if (isFixed(one) || scope.includes(one.name)) decided.set(`${tool.name}.${one.name}`, null);
    }
  }
  const known = new Map<string, { readonly one: KnownTool; readonly view: View }>(
    tools.flatMap((one) => [
      ...one.parameters.map((view) => [`${one.tool.name}.${view.name}`, { one, view }] as const),
      ...one.places.map((view) =>
        [`${one.tool.name}:${view.path.join(".")}`, { one, view }] as const
      ),
    ]),
  );
  const types = collections.map(({ name }) => name);
  assertKnown("links", "TOOL.PARAMETER or TOOL:WAY.IN.RESULT", Object.keys(links), [
    ...known.keys(),
  ]);
  for (const [at, name] of Object.entries(links)) {
    assertKnown(`links of ${at}`, "a type of ids", name === null ? [] : [name], types);
    const collection = collections.find((one) => one.name === name) ?? null;
    const { one, view } = known.get(at)!;
    if (collection !== null && idIn(one, view, collection) === undefined) {
      const state = `${name} is of type ${collection.type}, ${at} is not`;
      throw cannot(ACTION, "links must join ids of one JSON type", state);
    }
    decided.set(at, collection);
  }
  return decided;
}

/** Returns the parameters of each scope: what stands before an id in a path, and takes no ids anywhere. */
function sharedBy(
  known: readonly KnownTool[],
  { parameters }: Links,
  given: readonly string[],
): Map<string, Parameter[]> {
  const taking = new Set(
    parameters.entries().filter(([, { doubt }]) => !doubt).map(([{ name }]) => name),
  );
  const before = new Set(known.filter(oneOf).flatMap(({ path }) => path.slice(0, -1).flat()));
  const shared = known.flatMap(({ path, ...one }) =>
    one.parameters.filter((parameter) =>
      given.includes(parameter.name) ||
      parameter.required && placeIn(path, parameter) >= 0 && before.has(parameter.name) &&
        !taking.has(parameter.name) && idTypeOf(parameter) !== undefined
    ).map((parameter) => ({ parameter, word: path[placeIn(path, parameter) - 1] }))
  );
  const types = Map.groupBy(shared, ({ parameter: { name } }) => name);
  const named = Map.groupBy(shared, ({ parameter: { name }, word }) => {
    const isOne = new Set(types.get(name)!.map(({ parameter: { type } }) => type)).size === 1;
    const isClear = isOne && !KEYS.has(plainName(name)) || typeof word !== "string";
    return isClear ? name : `${word} ${name}`;
  });
  return new Map(named.entries().map(([name, all]) => [name, all.map((one) => one.parameter)]));
}

/** Returns what several schemas say of a text or a number, each once. */
function schemasOf(views: readonly View[]): readonly JsonObject[] {
  return [...new Map(views.map(({ plain }) => [canonicalJson(plain), plain])).values()];
}

/** Whether a value fits several schemas. */
function isFitting(schemas: readonly JsonObject[]): boolean {
  return attempt(() => mocksOf({ allOf: [...schemas] })(0, {})) !== undefined;
}

/** Returns a tool in the graph. */
function nodeOf(
  known: KnownTool,
  links: Links,
  scopes: ReadonlyMap<string, readonly Parameter[]>,
  isFixed: (parameter: Parameter) => boolean,
): ToolNode {
  const { tool, reads, result } = known;
  const takes = known.parameters.map((parameter): Take => {
    const { name, required } = parameter;
    const own = { parameter: name, required, schema: schemaOf(tool, name) };
    const { collection, rule, doubt } = links.parameters.get(parameter) ?? {};
    if (collection && !doubt) return { ...own, role: "id", type: collection.name, rule: rule! };
    const [scope] = scopes.entries().find(([, own]) => own.includes(parameter)) ?? [];
    if (scope !== undefined) return { ...own, role: "scope", type: scope };
    return { ...own, role: isFixed(parameter) ? "fixed" : "free" };
  });
  const records = links.places.get(known)!.filter(({ doubt }) => !doubt).map((link) => {
    const { place: { path, type }, around, collection, rule } = link;
    const isListed = path.includes("*");
    const argument = around || isListed ? undefined : repeated(link, known, takes);
    const of = argument !== undefined
      ? { argument }
      : around === undefined && isListed
      ? { list: true as const }
      : { relation: relationOf(link) };
    return {
      path,
      type: collection.name,
      ...(type === "object" && { key: collection.key }),
      of,
      rule,
    };
  });
  const offered = without(tool, takes.filter(({ role }) => role === "fixed"));
  return defined({ tool: offered, reads, takes, result, records });
}

/** Returns the parameter whose value a record or an id in the result only repeats. */
function repeated(
  { place, collection }: FoundPlace,
  tool: KnownTool,
  takes: readonly Take[],
): string | undefined {
  const one = collection.ones.get(tool);
  if (one?.record === place) return one.parameter.name;
  // An operation on a part of a record, such as one of its versions, returns that record.
  const isPart = place.type === "object" && Array.isArray(tool.path.at(-1));
  return takes.find(({ type, parameter }) =>
    type === collection.name && (isPart || plainName(parameter) === plainName(place.name))
  )?.parameter;
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

/** Returns the links in doubt: one for each way in records of a type. */
function suggestionsOf(known: readonly KnownTool[], { parameters, places }: Links): Suggestion[] {
  const found = new Map<string, Suggestion>();
  for (const one of known.filter(({ reads }) => reads)) {
    const taken = one.parameters.flatMap((parameter) => parameters.get(parameter) ?? []);
    for (const { at, way, collection, doubt } of [...taken, ...places.get(one)!]) {
      const suggestion = { tool: one.tool.name, at, type: collection.name, reason: doubt! };
      if (doubt) getOrInsert(found, `${way} ${collection.name}`, suggestion);
    }
  }
  return [...found.values()];
}

/** Returns what keeps tools from being of use: results that are not known. */
function gapsOf(known: readonly KnownTool[]): Gap[] {
  return known.filter(({ reads, result }) => reads && result === undefined)
    .map(({ tool: { name } }) => ({
      tool: name,
      reason: `its result is not known: give returns.${name}, a schema or an example`,
    }));
}

/** Checks that words are of entities and relations that there are. */
function assertWords({ entities = {}, relations = {} }: ChainWords, links: Links): void {
  const related = links.places.values().toArray().flat()
    .filter(({ around, doubt }) => around && !doubt)
    .map((link) => `${link.around!.collection.entity}.${relationOf(link)}`);
  const names = links.collections.map(({ entity }) => entity);
  assertKnown("words.entities", "an entity", Object.keys(entities), names);
  assertKnown("words.relations", "a relation", Object.keys(relations), related);
}
