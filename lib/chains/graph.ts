/**
 * The graph of a set of tools: which ids they take and return, and which of them lead to each other.
 * @module
 */

import { z } from "zod";
import { firstClash } from "../base/clash.ts";
import { cannot, reasonOf } from "../base/errors.ts";
import { sha256 } from "../base/hash.ts";
import { parseWith } from "../base/input.ts";
import { canonicalJson, isJsonObject, isWithin, type JsonObject } from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { assertTools } from "../tools/define_tool.ts";
import { resultCheck } from "../tools/schema/returns.ts";
import { RESULT, ROUTE, type Tool } from "../tools/tool.ts";
import {
  type Collection,
  collectionsOf,
  hasPath,
  isMain,
  type KnownTool,
  knownTool,
  type Parameter,
  templateOf,
} from "./_collections.ts";
import {
  type Candidate,
  candidatesOf,
  type Found,
  type LinkRule,
  Links,
  typeName,
} from "./_links.ts";
import { idTypeOf, schemaOfExample, viewOf } from "./_places.ts";
import { KEYS, plainName, singularWords, verbAndNoun, wordsOf } from "./_words.ts";

export type { LinkRule };

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
  readonly role: TakeRole;
  /** The name of its type of ids; of a `scope` the name of the scope. Omitted for others. */
  readonly type?: string;
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
  readonly rule: LinkRule;
}

/** A tool in a graph. */
export interface ToolNode {
  /** The tool as a model is offered it: without its fixed parameters. */
  readonly tool: Tool;
  /** Whether it changes nothing, so that chains may call it. */
  readonly reads: boolean;
  readonly takes: readonly Take[];
  /** The JSON Schema of its result; omitted where it is not known. */
  readonly result?: JsonObject;
  /** The records in its result, each after the one that it stands in. */
  readonly records: readonly RecordPlace[];
}

/** A link that no strict rule shows, for a person to decide on. */
export interface Suggestion {
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
  readonly suggestions: readonly Suggestion[];
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
  readonly words?: ChainWords;
}

const WORDS = z.record(z.string(), z.string().min(1)).optional();
const NAMES = z.array(z.string()).default([]);
const SCHEMA = z.custom<JsonObject>(isJsonObject, { error: "must be a JSON Schema, an object" });

const OPTIONS = z.strictObject(
  {
    returns: z.record(
      z.string(),
      z.union([
        z.strictObject({ schema: SCHEMA }),
        z.strictObject({
          example: z.unknown().refine(
            (value) => value !== undefined && isWithin(value, { levels: 50, values: 100_000 }),
            { error: "must be a JSON value of at most 50 levels" },
          ),
        }),
      ]),
    ).default({}),
    links: z.record(z.string(), z.string().nullable()).default({}),
    scope: NAMES,
    fixed: NAMES,
    reads: NAMES,
    words: z.strictObject({ entities: WORDS, relations: WORDS, fields: WORDS }).default({}),
  } satisfies Record<keyof ToolGraphOptions, z.ZodType>,
);

/** Names of parameters that are credentials, without case and separators. */
const CREDENTIALS = new Set(
  ("apikey xapikey accesstoken apitoken authtoken xauthtoken oauthtoken sessiontoken bearertoken " +
    "authorization credentials clientsecret password").split(" "),
);
/** Names of parameters that hold what calls share, where no path tells. */
const SHARED = new Set(
  "owner repo org organization account tenant workspace namespace".split(" "),
);
/** Verbs of tools that change nothing, where they do not say so themselves. */
const READING = new Set(
  "get list read search find fetch show describe lookup count retrieve view query".split(" "),
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
  const given = parseWith(OPTIONS, options, "the options of toolGraph");
  assertTools(tools);
  const [, twice] = firstClash(tools, ({ name }) => name) ?? [];
  if (twice !== undefined) {
    throw cannot(
      "make a graph of tools",
      "each must have a name of its own",
      `two are named ${twice.name}`,
    );
  }
  return new Maker(tools, given).graph();
}

class Maker {
  readonly #tools: readonly KnownTool[];
  readonly #collections: readonly Collection[];

  constructor(tools: readonly Tool[], readonly options: z.output<typeof OPTIONS>) {
    const { returns, reads, scope, fixed } = options;
    const names = tools.map(({ name }) => name);
    for (const name of Object.keys(returns)) assertKnown("returns", "tool", name, names);
    for (const name of reads) assertKnown("reads", "tool", name, names);
    this.#tools = tools.map((one) =>
      knownTool(one, isReading(one, reads), resultOf(one, returns[one.name]))
    );
    const parameters = [
      ...new Set(this.#tools.flatMap((known) => known.parameters.map(({ name }) => name))),
    ];
    for (const name of scope) assertKnown("scope", "parameter", name, parameters);
    for (const name of fixed) assertKnown("fixed", "parameter", name, parameters);
    this.#collections = collectionsOf(this.#tools);
  }

  graph(): ToolGraph {
    const all = this.#linked(this.#collections);
    // An id that no result gives and that other paths begin with is what all calls of a task share.
    const ids = this.#collections.filter((one) => !this.#isShared(one, all));
    const { links, takes, records } = ids.length === this.#collections.length
      ? all
      : this.#linked(ids);
    const suggestions = new Map<string, Suggestion>();
    const suggest = (known: KnownTool, at: string, found: Found, key: string) => {
      if (found.doubt === undefined || !known.reads) return;
      const suggestion = suggestionOf(known.tool.name, at, found);
      suggestions.getOrInsert(`${key} ${suggestion.type}`, suggestion);
    };
    const nodes = this.#tools.map((known): ToolNode => {
      const { name } = known.tool;
      const own = takes.get(known)!;
      for (const { parameter, found } of own) {
        if (found) suggest(known, parameter.name, found, `${name}.${parameter.name}`);
      }
      const strict = records.get(known)!.filter((one) => {
        const { doubt, place, within } = one;
        const at = place.path.join(".");
        suggest(known, at, one, within || `${name}:${at}`);
        return doubt === undefined;
      });
      return {
        tool: without(known.tool, own.filter(({ role }) => role === "fixed")),
        reads: known.reads,
        takes: own.map(({ parameter, role, found }) => takeOf(known, parameter, role, found)),
        ...(known.result && { result: known.result }),
        records: strict.map((one) => recordPlaceOf(one, known, echoed(one, known, own))),
      };
    });
    const types = new Map(
      links.collections.map((one) => [typeName(one), this.#typeOf(one, takes, records)]),
    );
    const scopes = new Map<string, JsonObject[]>();
    for (const own of takes.values()) {
      for (const { parameter, role } of own) {
        if (role === "scope") addSchema(scopes.getOrInsert(parameter.name, []), parameter.plain);
      }
    }
    const { words } = this.options;
    return {
      nodes: new Map(nodes.map((node) => [node.tool.name, node])),
      ...{ types, scopes, words },
      suggestions: [...suggestions.values()],
      gaps: this.#gaps(nodes, types),
      digest: digestOf(nodes, types, words),
    };
  }

  #linked(collections: readonly Collection[]): Linked {
    const links = new Links(collections, this.#tools);
    const decided = this.#decisions(collections);
    const takes = new Map<KnownTool, ParameterRole[]>();
    for (const known of this.#tools) {
      takes.set(
        known,
        known.parameters.map((parameter) => {
          const given = decided.parameters.get(`${known.tool.name}.${parameter.name}`);
          if (given) return { parameter, role: "id", found: { collection: given, rule: "given" } };
          const { name } = parameter;
          const { fixed, scope } = this.options;
          if (fixed.includes(name) || CREDENTIALS.has(plainName(name))) {
            return { parameter, role: "fixed" };
          }
          if (scope.includes(name)) return { parameter, role: "scope" };
          const found = given === null ? undefined : links.ofParameter(known, parameter);
          if (found && found.doubt === undefined) return { parameter, role: "id", found };
          const role = this.#isScope(known, parameter, links) ? "scope" : "free";
          return { parameter, role, ...(found && { found }) };
        }),
      );
    }
    return { links, takes, records: this.#records(links, decided.places) };
  }

  #records(links: Links, decided: ReadonlyMap<string, Collection | null>): Linked["records"] {
    const find = (decisions: typeof decided) =>
      new Map(this.#tools.map((known) => [
        known,
        candidatesOf(links, known, (place, within) => {
          const own = decisions.get(`${known.tool.name}:${place.path.join(".")}`);
          return own === undefined ? decisions.get(within) : own;
        }),
      ]));
    const first = find(decided);
    const everywhere = new Map(decided);
    const relations = new Map<string, Set<Collection>>();
    const strict = (own: readonly Candidate[]) =>
      own.filter(({ around, doubt }) => around !== undefined && doubt === undefined);
    const relationIn = ({ around, relation }: Candidate) =>
      `${typeName(around!.collection)} ${relation}`;
    for (const [known, own] of first) {
      for (const one of strict(own)) {
        const at = decided.get(`${known.tool.name}:${one.place.path.join(".")}`);
        if (at) everywhere.set(one.within, at);
        relations.getOrInsertComputed(relationIn(one), () => new Set()).add(one.collection);
      }
    }
    // What is two things in two results is neither, unless a person says so.
    for (const one of [...first.values()].flatMap(strict)) {
      const isOne = relations.get(relationIn(one))!.size === 1;
      if (!isOne && one.rule !== "given") everywhere.getOrInsert(one.within, null);
    }
    return find(everywhere);
  }

  /**
   * Whether a parameter that takes no id is what several tools share: its value stands before other parts of their
   * paths. One that takes ids elsewhere, or whose name says nothing, is none.
   */
  #isScope(known: KnownTool, { name, required, ...view }: Parameter, links: Links): boolean {
    if (!required || idTypeOf(view) === undefined || KEYS.includes(plainName(name))) return false;
    const at = ({ path }: KnownTool) =>
      path.findIndex((part) => Array.isArray(part) && part[0] === name);
    const others = this.#tools.flatMap((other) => {
      const parameter = other.parameters.find((one) => one.name === name);
      return parameter === undefined ? [] : [{ other, parameter }];
    });
    const takesIds = others.some(({ other, parameter }) => {
      const found = links.ofParameter(other, parameter);
      return found !== undefined && found.doubt === undefined;
    });
    const sharing = others.filter(({ other, parameter }) =>
      at(known) < 0 ? parameter.required : at(other) >= 0 && at(other) < other.path.length - 1
    );
    const isNamed = !hasPath(known) && SHARED.has(plainName(name));
    return !takesIds && (at(known) >= 0 || isNamed) && sharing.length > 1;
  }

  #isShared(collection: Collection, { takes, records }: Linked): boolean {
    const isGiven = [...records].some(([known, own]) =>
      known.reads &&
      own.some((one) =>
        one.collection === collection && one.doubt === undefined &&
        echoed(one, known, takes.get(known)!) === undefined
      )
    );
    const before = this.#tools.filter(({ path }) =>
      path.slice(0, -1).some((_, end) =>
        collection.templates.has(templateOf(path.slice(0, end + 1)))
      )
    );
    return !isGiven && before.length > 1;
  }

  #typeOf(collection: Collection, takes: Linked["takes"], records: Linked["records"]): IdType {
    const schemas: JsonObject[] = [];
    for (const { parameter, role, found } of [...takes.values()].flat()) {
      if (role === "id" && found!.collection === collection) addSchema(schemas, parameter.plain);
    }
    for (const [known, own] of records) {
      for (const one of own) {
        if (one.collection !== collection || one.doubt !== undefined) continue;
        const key = one.place.properties.get(collection.key);
        const isId = one.place.type !== "object";
        addSchema(schemas, isId ? one.place.plain : viewOf(known.result!, key!).plain);
      }
    }
    const { entity, key, type } = collection;
    return { ...{ name: typeName(collection), entity, key, type, schemas } };
  }

  /** What keeps tools from being of use. */
  #gaps(nodes: readonly ToolNode[], types: ReadonlyMap<string, IdType>): Gap[] {
    const gaps = nodes.flatMap(({ tool: { name }, reads, result }) =>
      reads && result === undefined
        ? [{
          tool: name,
          reason: `its result is not known: give returns.${name}, a schema or an example`,
        }]
        : []
    );
    const named = new Set<string>();
    for (const [place, { tool, reads }] of nodes.entries()) {
      const linked = new Set(nodes[place]!.records.map(({ path }) => path.join(".")));
      for (const { name, path, ...view } of reads ? this.#tools[place]!.places : []) {
        const words = wordsOf(name);
        const isId = words.length > 1 && KEYS.slice(0, 6).includes(words.at(-1)!) &&
          idTypeOf(view) !== undefined && !linked.has(path.join("."));
        if (!isId || named.has(name)) continue;
        named.add(name);
        const [type] = types.keys();
        gaps.push({
          tool: tool.name,
          reason: `no tool takes ${name} of its result, as far as names tell` +
            (type === undefined
              ? ""
              : `: if one does, give links: { ${
                JSON.stringify(`${tool.name}:${path.join(".")}`)
              }: TYPE }`),
        });
      }
    }
    return gaps;
  }

  /** What a person has decided: the collection, or `null` for none. */
  #decisions(collections: readonly Collection[]) {
    const parameters = new Map<string, Collection | null>();
    const places = new Map<string, Collection | null>();
    for (const [at, type] of Object.entries(this.options.links)) {
      const known = this.#tools.filter(({ tool: { name } }) =>
        at.startsWith(`${name}.`) || at.startsWith(`${name}:`)
      ).toSorted((one, other) =>
        other.tool.name.length - one.tool.name.length
      )[0];
      if (known === undefined) {
        const names = this.#tools.map(({ tool }) => tool.name);
        throw unknown("links", "tool", /^[^.:]*/.exec(at)![0], names);
      }
      const names = this.#collections.map(typeName);
      if (type !== null) assertKnown(`links of ${at}`, "type of ids", type, names);
      const collection = type === null
        ? null
        : collections.find((one) => typeName(one) === type) ?? null;
      const { name } = known.tool;
      const rest = at.slice(name.length + 1);
      if (at[name.length] === ".") {
        const parameter = known.parameters.find((one) => one.name === rest);
        if (parameter === undefined) {
          throw unknown(
            "links",
            `parameter of ${name}`,
            rest,
            known.parameters.map(({ name }) => name),
          );
        }
        if (collection) assertType(at, idTypeOf(parameter), collection);
        parameters.set(at, collection);
      } else {
        const place = known.places.find(({ path }) => path.join(".") === rest);
        if (place === undefined) {
          throw unknown(
            "links",
            `way in the result of ${name}`,
            rest,
            known.places.map(({ path }) => path.join(".")),
          );
        }
        if (collection) {
          const key = place.properties.get(collection.key);
          const view = place.type !== "object"
            ? place
            : key === undefined
            ? undefined
            : viewOf(known.result!, key);
          assertType(at, view && idTypeOf(view), collection);
        }
        places.set(at, collection);
      }
    }
    return { parameters, places };
  }
}

/** A parameter with what it is for. */
interface ParameterRole {
  readonly parameter: Parameter;
  readonly role: TakeRole;
  /** The ids that it takes, or may take. */
  readonly found?: Found;
}

interface Linked {
  readonly links: Links;
  readonly takes: ReadonlyMap<KnownTool, readonly ParameterRole[]>;
  readonly records: ReadonlyMap<KnownTool, readonly Candidate[]>;
}

const ACTION = "make a graph of tools";

function unknown(option: string, kind: string, name: string, known: readonly string[]) {
  return cannot(
    ACTION,
    `${option} must name a ${kind} that there is`,
    `${JSON.stringify(name)} is none${nearestOrAll(name, known)}`,
  );
}

function assertKnown(option: string, kind: string, name: string, known: readonly string[]): void {
  if (!known.includes(name)) throw unknown(option, kind, name, known);
}

function assertType(at: string, type: string | undefined, collection: Collection): void {
  if (type === collection.type) return;
  throw cannot(
    ACTION,
    `links must join ids of one JSON type`,
    `${typeName(collection)} is of type ${collection.type}, and ${at} ${
      type === undefined ? "holds no id of it" : `of type ${type}`
    }`,
  );
}

function isReading({ name, annotations, ...tool }: Tool, reads: readonly string[]): boolean {
  const method = tool[ROUTE]?.method;
  if (reads.includes(name)) return true;
  if (method !== undefined) return method === "get" || method === "head";
  return annotations?.readOnlyHint ?? wordsOf(name).some((word) => READING.has(word));
}

/** Returns the schema of a tool's result, as options give it, else as the tool does. */
function resultOf(
  tool: Tool,
  given: { readonly schema: JsonObject } | { readonly example: unknown } | undefined,
): JsonObject | undefined {
  if (given === undefined) return tool[RESULT]?.() ?? tool.returns;
  if ("example" in given) return schemaOfExample([given.example]);
  try {
    resultCheck(tool.name, given.schema, tool.unsafePatterns);
  } catch (error) {
    throw cannot(ACTION, `returns.${tool.name}.schema must be a JSON Schema`, reasonOf(error));
  }
  return given.schema;
}

/** Returns a tool without some of its parameters. */
function without(tool: Tool, left: readonly ParameterRole[]): Tool {
  if (left.length === 0) return tool;
  const names = new Set(left.map(({ parameter }) => parameter.name));
  const { properties, required, ...others } = tool.parameters;
  const kept = Object.entries(isJsonObject(properties) ? properties : {})
    .filter(([name]) => !names.has(name));
  const needed = Array.isArray(required) ? required.filter((name) => !names.has(`${name}`)) : [];
  return {
    ...tool,
    parameters: { ...others, properties: Object.fromEntries(kept), required: needed },
  };
}

function takeOf(
  { tool }: KnownTool,
  { name, required, definitions: [definition] }: Parameter,
  role: TakeRole,
  found: Found | undefined,
): Take {
  const { properties, $defs } = tool.parameters;
  const own = (properties as JsonObject)[name];
  const schema = definition ?? (isJsonObject(own) ? own : {});
  const refers = $defs !== undefined && JSON.stringify(schema).includes('"$ref"');
  return {
    ...{ parameter: name, role, required },
    ...(role === "id" ? { type: typeName(found!.collection), rule: found!.rule } : {}),
    ...(role === "scope" ? { type: name } : {}),
    schema: refers ? { ...schema, $defs } : schema,
  };
}

/** Returns the parameter whose value a record or an id in the result only repeats. */
function echoed(
  { place, collection, around }: Candidate,
  { tool, path }: KnownTool,
  takes: readonly ParameterRole[],
): string | undefined {
  if (around !== undefined || place.path.includes("*")) return undefined;
  const one = collection.ones.get(tool.name);
  if (one?.record === place) return one.parameter;
  const names = takes.filter(({ role, found }) => role === "id" && found!.collection === collection)
    .map(({ parameter }) => parameter.name);
  if (place.type !== "object") {
    return names.find((name) => plainName(name) === plainName(place.name));
  }
  const isOne = path.length > 0
    ? Array.isArray(path.at(-1))
    : singularWords(verbAndNoun(tool.name).noun.join(" ")).join("") === collection.word;
  return isOne && isMain(place.path, collection.word)
    ? names.find((name) => path.length === 0 || path.at(-1)![0] === name)
    : undefined;
}

/** Returns the place of a record in a result. */
function recordPlaceOf(
  { place, collection, rule, around, relation }: Candidate,
  known: KnownTool,
  echoed: string | undefined,
): RecordPlace {
  const isAlone = around === undefined;
  return {
    path: place.path,
    type: typeName(collection),
    ...(place.type === "object" ? { key: collection.key } : {}),
    of: isAlone && echoed !== undefined
      ? { argument: echoed }
      : isAlone && place.path.includes("*")
      ? { list: true }
      : { relation: relation !== "" ? relation : relationOfTool(known, collection) },
    rule,
  };
}

function relationOfTool({ path, tool }: KnownTool, { entity }: Collection): string {
  const last = path.at(-1);
  const words = typeof last === "string" ? singularWords(last) : verbAndNoun(tool.name).noun;
  return words.join("_") || entity.replaceAll(" ", "_");
}

/** Returns a link in doubt as a suggestion. */
function suggestionOf(tool: string, at: string, found: Found): Suggestion {
  return { ...{ tool, at }, type: typeName(found.collection), reason: found.doubt! };
}

/** Adds a schema to a list that does not have it. */
function addSchema(schemas: JsonObject[], schema: JsonObject): void {
  const text = canonicalJson(schema);
  if (!schemas.some((one) => canonicalJson(one) === text)) schemas.push(schema);
}

function digestOf(
  nodes: readonly ToolNode[],
  types: ReadonlyMap<string, IdType>,
  words: ChainWords,
): string {
  const tools = nodes.map(({ tool: { name }, reads, takes, records }) => ({
    ...{ name, reads, records },
    takes: takes.map(({ schema: _, ...take }) => take),
  }));
  return sha256(canonicalJson({ types: [...types.keys()], tools, words }));
}
