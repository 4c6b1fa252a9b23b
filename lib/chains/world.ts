/**
 * Worlds: what the tools of a graph answer, drawn from a seed, so that all of them agree.
 * @module
 */

import { attempt, cannot, type InputError } from "../base/errors.ts";
import {
  canonicalJson,
  fieldOf,
  isJsonObject,
  type JsonObject,
  jsonText,
  listText,
} from "../base/json.ts";
import type { JsonValue } from "../base/json.ts";
import { fork, forkSeed } from "../base/random.ts";
import { errorOfResult } from "../tools/references/symbol_table.ts";
import { Checks, Maker, type MakerOptions, type Place, Unfit } from "../tools/schema/mock.ts";
import { schemasFor } from "../tools/schema/position.ts";
import { type ValueCheck, valueCheck } from "../tools/schema/validate.ts";
import { word } from "../tools/schema/_mock_text.ts";
import type { IdType, RecordPlace, ToolGraph, ToolNode } from "./graph.ts";
import { randomIntegerBetween, shuffle } from "@std/random";

/** Ids of each type. */
const POOL = 6;
/** Attempts to find an id that no other type has. */
const ATTEMPTS = 50;

/** Options of a {@linkcode World}. */
export interface WorldOptions {
  /**
   * What a call is told whose id or scope the world does not have: that it is unknown (`error`, the default), or the
   * `values` of a record that is made up for it.
   */
  readonly unknown?: "error" | "values";
  /** Another version of the tools: values fit the schemas of both, and those of the same types and fields are the same. */
  readonly also?: ToolGraph;
}

/** The result of a call in a world. */
export type WorldResult = { readonly value: JsonValue } | {
  /** The argument that names nothing in the world. */
  readonly unknown: {
    readonly parameter: string;
    /** The name of its type of ids, or of its scope. */
    readonly type: string;
    readonly value: JsonValue;
  };
};

/** A record in the result of a call. */
export interface ShownRecord {
  readonly place: RecordPlace;
  readonly type: string;
  readonly id: JsonValue;
  /** The record that it stands in, within the same list. */
  readonly around?: ShownRecord;
}

/**
 * What the tools of a graph answer in one task. It is drawn where it is asked for, and is the same for a seed whatever
 * was asked before. All tools agree on it: a value is drawn by the record and the way to it within the record, so that
 * it fits all schemas that describe it; so is whether an optional part is there. Lists under a record hold those that
 * refer to it, where they have such a relation.
 */
export class World {
  readonly #shapes: Shapes;
  readonly #seed: number;
  readonly #takesUnknown: boolean;
  readonly #pools = new Map<string, readonly JsonValue[]>();
  readonly #scopes = new Map<string, JsonValue>();
  readonly #referred = new Map<Relation, readonly number[]>();

  /** Makes a world; `seed` is an integer. */
  constructor(graph: ToolGraph, seed: number, { unknown = "error", also }: WorldOptions = {}) {
    this.#shapes = shapesOf(graph, also);
    this.#seed = seed;
    this.#takesUnknown = unknown === "values";
  }

  /**
   * Returns the ids of a type that there are: a few, all of them different, and of the same records as those of other
   * types of the same entity, in the same order.
   *
   * @throws {InputError} If no value is an id of the type.
   */
  ids(type: string): readonly JsonValue[] {
    if (this.#pools.size === 0) this.#drawPools();
    const pool = this.#pools.get(type);
    if (pool === undefined) {
      throw cannot(`draw ids of ${type}`, "it must be a type of the graph", "there is none");
    }
    if (pool.length > 0) return pool;
    throw this.#unfit(`ids of ${type}`, type);
  }

  /**
   * Returns the value of a scope, such as an account.
   *
   * @throws {InputError} If no value fits its schemas.
   */
  scope(name: string): JsonValue {
    return this.#scopes.getOrInsertComputed(name, () => {
      const schemas = this.#shapes.scopes.get(name) ?? [];
      const value = this.#id(schemas, `scope\u0000${name}`);
      if (value !== undefined) return value;
      throw this.#unfit(`the scope ${name}`, name);
    });
  }

  /**
   * Returns the result of a call, which fits the schema of the tool's results; `null` of a tool without one.
   *
   * @throws {InputError} If no value is found that fits, or the graph has no such tool.
   */
  call(tool: string, args: JsonObject): WorldResult {
    const shape = this.#shape(tool);
    for (const { parameter, role, type = "" } of shape.node.takes) {
      const value = fieldOf(args, parameter);
      if (value === undefined || this.#takesUnknown) continue;
      const known = role === "id"
        ? this.ids(type)
        : role === "scope"
        ? [this.scope(type)]
        : [value];
      if (!known.some((one) => isSame(one, value))) return { unknown: { parameter, type, value } };
    }
    if (shape.result === undefined) return { value: null };
    let found: { readonly value: JsonValue } | undefined;
    let fault: string | undefined;
    // Where the whole does not fit, it may without what may be left out.
    for (const options of [{}, { attempt: 1 }, { attempt: 1, isLean: true }]) {
      const value = this.#make(shape.result, this.#top(shape, args), options);
      const wrong = value === undefined ? undefined : shape.check(value);
      fault ??= wrong;
      if (value === undefined || wrong !== undefined) continue;
      found ??= { value };
      if (errorOfResult(jsonText(value)) === undefined) return { value };
    }
    if (found !== undefined) return found;
    throw cannot(
      `make up a result of ${tool}`,
      "it must fit its schema",
      fault ?? "no value was found that does",
    );
  }

  /**
   * Returns the value at a way within a record, such as `["address", "city"]`; `*` is the first item of a list.
   * `undefined` if there is none. It is the value in the result of each tool that shows it.
   */
  field(type: string, id: JsonValue, path: readonly string[]): JsonValue | undefined {
    const record = this.#record(type, id);
    const place = this.#recordPlace(record, wayOf(path), undefined);
    let value = this.#make(true, place, {});
    for (const part of path) {
      value = part === "*" && Array.isArray(value) ? value[0] : fieldOf(value, part);
    }
    return value;
  }

  /**
   * Returns the id that a record refers to, or the first of a list of them; `undefined` if no record of the type has
   * such a relation.
   */
  related(type: string, id: JsonValue, relation: string): JsonValue | undefined {
    const record = this.#record(type, id);
    const own = record.entity.relations.values().find(({ name }) => name === relation);
    const [first] = own === undefined ? [] : this.#targets(record, own);
    return first === undefined ? undefined : this.#idOf(first, own!.type);
  }

  /** Returns the ids in the list of a tool's result; none if it has no list. */
  list(tool: string, args: JsonObject): JsonValue[] {
    const { node } = this.#shape(tool);
    const place = node.records.find(({ of }) => "list" in of);
    return this.records(tool, args).filter((shown) => shown.place === place).map(({ id }) => id);
  }

  /** Returns the records in the result of a call, each after the one that it stands in, without drawing the result. */
  records(tool: string, args: JsonObject): ShownRecord[] {
    const shape = this.#shape(tool);
    const shown: ShownRecord[] = [];
    for (const place of shape.node.records) {
      const around = shape.around.get(place);
      const own = (record: ShownRecord | undefined) => {
        const base = record === undefined
          ? this.#topBase(shape, args)
          : this.#base(this.#record(record.type, record.id));
        for (const target of this.#at(base, shape.standing.get(place)!)) {
          const id = this.#idOf(target, place.type);
          shown.push({ place, type: place.type, id, ...(record && { around: record }) });
        }
      };
      if (around === undefined) own(undefined);
      else shown.filter((one) => one.place === around).forEach(own);
    }
    return shown;
  }

  /** The error of values that several tools share, and that fit none of what they say. */
  #unfit(what: string, type: string): InputError {
    const tools = this.#shapes.tools.values().filter(({ node: { takes, records } }) =>
      takes.some((one) => one.type === type) || records.some((one) => one.type === type)
    ).map(({ node }) => node.tool.name).toArray();
    return cannot(
      `draw ${what}`,
      "a value must fit the schemas of all tools that have it",
      `none was found that fits those of ${listText(tools, 5)}`,
    );
  }

  #shape(tool: string): ToolShape {
    const shape = this.#shapes.tools.get(tool);
    if (shape !== undefined) return shape;
    throw cannot(`call ${tool}`, "it must be a tool of the graph", "there is none");
  }

  /** All pools at once, in one order: no id is of two types. */
  #drawPools(): void {
    const taken = new Set<string>();
    for (const entity of this.#shapes.entities.values()) {
      const pools = entity.types.map(({ name, schemas }) => {
        const pool = new Map<string, JsonValue>();
        for (let tries = 0; tries < POOL + ATTEMPTS && pool.size < POOL; tries++) {
          const id = this.#id(schemas, `id\u0000${name}\u0000${tries}`);
          const text = canonicalJson(id);
          if (id === undefined || taken.has(text) && tries < ATTEMPTS) continue;
          taken.add(text);
          pool.set(text, id);
        }
        return [...pool.values()];
      });
      const size = Math.min(...pools.map((pool) => pool.length));
      entity.types.forEach(({ name }, at) => this.#pools.set(name, pools[at]!.slice(0, size)));
    }
  }

  /** A value that stands out, if it fits, such as `gilo-4821`. */
  #id(schemas: readonly JsonObject[], key: string): JsonValue | undefined {
    const { whole, check } = this.#shapes.ids(schemas);
    const stream = fork(this.#seed, key);
    const token = `${word(stream)}-${randomIntegerBetween(1000, 9999, stream)}`;
    if (!/"(?:format|pattern|enum)"/.test(jsonText(schemas)) && check(token) === undefined) {
      return token;
    }
    const value = this.#make(whole, { key, depth: 0, isWanted: true, within: nothing }, {});
    return value !== undefined && check(value) === undefined ? value : undefined;
  }

  /** Makes a value; `undefined` if none is found. */
  #make(schema: JsonValue, place: Place, options: MakerOptions): JsonValue | undefined {
    try {
      const maker = new Maker(this.#shapes.checks, this.#seed, {
        fullValues: Infinity,
        ...options,
      });
      return maker.part(schema, place, 0, true);
    } catch (error) {
      if (error instanceof Unfit) return undefined;
      throw error;
    }
  }

  #record(type: string, id: JsonValue): WorldRecord {
    const index = this.ids(type).findIndex((one) => isSame(one, id));
    const entity = this.#shapes.entityOf(type);
    if (index >= 0) return this.#inPool(entity, index);
    return { entity, index, type, id, key: `record\u0000${type}\u0000${canonicalJson(id)}` };
  }

  #inPool(entity: Entity, index: number): WorldRecord {
    const { name: type } = entity.types[0]!;
    const id = this.ids(type)[index]!;
    return { entity, index, type, id, key: `record\u0000${entity.name}\u0000${index}` };
  }

  #idOf(record: WorldRecord, type: string): JsonValue {
    if (record.index >= 0) return this.ids(type)[record.index]!;
    if (record.type === type) return record.id;
    const { schemas } = this.#shapes.types.get(type)!;
    return this.#id(schemas, `${record.key}\u0000id\u0000${type}`) ?? null;
  }

  /** The records that a record refers to. */
  #targets(record: WorldRecord, relation: Relation): readonly WorldRecord[] {
    const entity = this.#shapes.entityOf(relation.type);
    if (relation.isList) {
      const back = this.#shapes.backOf(relation);
      if (back !== undefined) return this.#referring(record, back);
      return this.#some(entity, `${record.key}\u0000related\u0000${relation.name}`, 1, 3);
    }
    const order = this.#orderOf(relation);
    const size = this.ids(relation.type).length;
    const drawn = forkSeed(this.#seed, record.key, "related", relation.name) % size;
    return [this.#inPool(entity, record.index < 0 ? drawn : order[record.index]!)];
  }

  /** Which record each of the pool refers to: two to the same, so that lists of them are neither empty nor long. */
  #orderOf(relation: Relation): readonly number[] {
    return this.#referred.getOrInsertComputed(relation, () => {
      const { entity, name, type } = relation;
      const stream = fork(this.#seed, "related", entity.name, name);
      const places = (type: string) => shuffle([...this.ids(type).keys()], stream);
      const [own, targets] = [places(entity.types[0]!.name), places(type)];
      const isSelf = this.#shapes.entityOf(type) === entity;
      const order = own.map(() => 0);
      own.forEach((index, place) => {
        const target = targets[(place >> 1) % targets.length]!;
        const next = targets[((place >> 1) + 1) % targets.length]!;
        order[index] = isSelf && target === index ? next : target;
      });
      return order;
    });
  }

  /** The records of the pool that refer to a record. */
  #referring(record: WorldRecord, relation: Relation): WorldRecord[] {
    const { entity } = relation;
    return [...this.ids(entity.types[0]!.name).keys()]
      .map((index) => this.#inPool(entity, index))
      .filter((one) => this.#targets(one, relation).some(({ key }) => key === record.key));
  }

  /** Some records of a pool. */
  #some(entity: Entity, key: string, least: number, most: number): WorldRecord[] {
    const stream = fork(this.#seed, key);
    const places = shuffle([...this.ids(entity.types[0]!.name).keys()], stream);
    return places.slice(0, randomIntegerBetween(least, most, stream))
      .map((index) => this.#inPool(entity, index));
  }

  /** The records at a place: one, or those of a list, as many as at the first place in its items. */
  #at(base: Base, at: Standing): readonly WorldRecord[] {
    const own = this.#own(base, at);
    if (at.leader === undefined || own.length === 0) return own;
    return this.#at(base, at.leader).map((_, index) => own[index % own.length]!);
  }

  #own(
    { record, shape, args, key }: Base,
    { place, path, relation }: Standing,
  ): readonly WorldRecord[] {
    if (record !== undefined) return this.#targets(record, record.entity.relations.get(relation)!);
    const entity = this.#shapes.entityOf(place.type);
    const given = "argument" in place.of ? fieldOf(args, place.of.argument) : undefined;
    if (given !== undefined) return [this.#record(place.type, given)];
    if ("list" in place.of) return this.#listed(entity, place, shape!, args!);
    const [least, most] = path.includes("*") ? [2, 4] : [1, 1];
    return this.#some(entity, `${key}\u0000${path.join(".")}`, least, most);
  }

  /** The records of a list of what the arguments name. */
  #listed(
    entity: Entity,
    place: RecordPlace,
    shape: ToolShape,
    args: JsonObject,
  ): readonly WorldRecord[] {
    let listed: readonly WorldRecord[] | undefined;
    const named: string[] = [];
    for (const { parameter, role, type = "" } of shape.node.takes) {
      const value = fieldOf(args, parameter);
      if (role !== "id" || value === undefined) continue;
      const parent = this.#record(type, value);
      named.push(parent.key);
      const relation = this.#shapes.relationTo(
        entity,
        parent.entity,
        shape.wordOf(parameter, type),
      );
      const back = relation ?? this.#shapes.onlyList(parent.entity, entity);
      if (back === undefined) continue;
      const own = relation !== undefined
        ? this.#referring(parent, relation)
        : this.#targets(parent, back);
      const keys = new Set(own.map(({ key }) => key));
      listed = listed === undefined ? own : listed.filter(({ key }) => keys.has(key));
    }
    const found = listed ??
      this.#some(entity, ["list", entity.name, ...named].join("\u0000"), 2, 4);
    const { least, most } = shape.bounds(place);
    if (found.length >= least) return found.slice(0, most);
    const others = this.#some(entity, "others", POOL, POOL);
    const more = others.filter((one) => !found.some(({ key }) => key === one.key));
    return [...found, ...more.slice(0, least - found.length)];
  }

  #base(record: WorldRecord): Base {
    return { key: record.key, record };
  }

  #topBase(shape: ToolShape, args: JsonObject): Base {
    const ids = shape.node.takes.filter(({ role }) => role === "id")
      .map(({ parameter }) => [parameter, fieldOf(args, parameter) ?? null]);
    const key = `call\u0000${shape.node.tool.name}\u0000${canonicalJson(Object.fromEntries(ids))}`;
    return { key, shape, args };
  }

  #top(shape: ToolShape, args: JsonObject): Place {
    const { way, view } = shape;
    const base = this.#topBase(shape, args);
    const [record] = way.record === undefined ? [] : this.#at(base, way.record);
    if (record !== undefined) return this.#recordPlace(record, view, way);
    return this.#placeAt({ base, path: [], view, way, listed: way });
  }

  /** The place of a record; `listed` has the places in the result of a tool, all of them where there is none. */
  #recordPlace(record: WorldRecord, view: View, listed: Way | undefined): Place {
    const { way, schema } = record.entity;
    const spot = { base: this.#base(record), path: [], view, way, listed };
    return { ...this.#placeAt(spot), schema };
  }

  #placeAt(spot: Spot, isWanted?: boolean): Place {
    const { base, path, way } = spot;
    const item = way?.parts.get("*");
    // Lists of lists of records have one list each.
    const count = item && (item.leader === undefined ? 1 : this.#at(base, item.leader).length);
    return {
      ...{ key: [base.key, ...path].join("\u0000"), depth: path.length, isWanted, count },
      otherwise: spot.view.only,
      within: (part) => this.#within(spot, part),
    };
  }

  #within(spot: Spot, part: string | number): Place | undefined {
    const { base, path } = spot;
    const view = spot.view.at(part);
    if (view === undefined) return undefined;
    const name = typeof part === "number" ? "*" : part;
    const keyType = path.length === 0 ? base.record?.entity.keys.get(name) : undefined;
    if (keyType !== undefined) return known(this.#idOf(base.record!, keyType));
    const way = spot.way?.parts.get(name);
    const listed = spot.listed && (spot.listed.parts.get(name) ?? NOWHERE);
    const at = way && formOf(way, listed, view);
    const here = [...path, String(part)];
    const index = typeof part === "number" ? part : spot.index;
    if (at === undefined) {
      return this.#placeAt({ base, path: here, view, way, listed, index }, way && true);
    }
    const records = this.#at(base, at);
    const record = records[(index ?? 0) % records.length];
    if (record === undefined) return undefined;
    if (at.place.key === undefined) return known(this.#idOf(record, at.place.type));
    // One that the graph does not list, as records nest without end, is left out where it may be.
    const isListed = listed === undefined || listed.record !== undefined;
    const inner = this.#recordPlace(record, view, listed);
    return { ...inner, isWanted: isListed };
  }
}

/** Whether two ids are the same. */
function isSame(one: JsonValue, other: JsonValue): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

function nothing(): undefined {}

/** The place of a value that is known. */
function known(value: JsonValue): Place {
  return { key: "", depth: 0, value, isWanted: true, within: nothing };
}

/** A type of things, whose records may have several ids. */
interface Entity {
  readonly name: string;
  readonly types: IdType[];
  /** The types of its ids by the property that holds each. */
  readonly keys: Map<string, string>;
  /** Where other records stand in its own, wherever it is shown. */
  readonly way: Way;
  readonly relations: Map<string, Relation>;
  /** All that tools say of its records. */
  schema: JsonValue;
}

/** How records of an entity refer to others. */
interface Relation {
  readonly entity: Entity;
  readonly name: string;
  /** The name of the type of ids that it leads to. */
  readonly type: string;
  readonly isList: boolean;
}

/** A record of a world. */
interface WorldRecord {
  readonly entity: Entity;
  /** Its place in the pools of its entity; -1 outside of them. */
  readonly index: number;
  readonly type: string;
  readonly id: JsonValue;
  readonly key: string;
}

/** What a value is a part of: a record, or the result of a call. */
interface Base {
  readonly key: string;
  readonly record?: WorldRecord;
  readonly shape?: ToolShape;
  readonly args?: JsonObject;
}

/** Where a value stands within its base. */
interface Spot {
  readonly base: Base;
  readonly path: readonly string[];
  readonly view: View;
  /** The places of records from here on. */
  readonly way: Way | undefined;
  /** Those that the tool lists; `undefined` where none is to be left out. */
  readonly listed: Way | undefined;
  /** The place in the list around it. */
  readonly index?: number | undefined;
}

/** A place of a record within its base. */
interface Standing {
  readonly place: RecordPlace;
  /** The way from its base. */
  readonly path: readonly string[];
  /** The key of the relation of the record around it. */
  readonly relation: string;
  /** The first place in the items of the same list, if that is another one. */
  readonly leader?: Standing;
}

/** Names of properties, and `*` for items, that lead to records. */
interface Way {
  readonly parts: Map<string, Way>;
  /** The record here, or its id alone. */
  record?: Standing;
  scalar?: Standing;
  /** The first place in an item. */
  leader?: Standing;
}

const NOWHERE: Way = { parts: new Map() };

/** Which of the two stands somewhere: as the tool says, or, where it does not, as its schema does. */
function formOf(way: Way, listed: Way | undefined, view: View): Standing | undefined {
  const own = listed?.record ?? listed?.scalar;
  if (own === undefined) {
    if (view.isObject === undefined) return way.record ?? way.scalar;
    return view.isObject ? way.record : way.scalar;
  }
  return own === listed?.record ? way.record : way.scalar;
}

/** Adds a place to the ways from its base. */
function addStanding(
  root: Way,
  place: RecordPlace,
  path: readonly string[],
  relation: string,
): Standing {
  let way = root;
  let items: Way | undefined;
  for (const part of path) {
    way = way.parts.getOrInsertComputed(part, () => ({ parts: new Map() }));
    if (part === "*") items = way;
  }
  const leader = items?.leader;
  const own = { place, path, relation, ...(leader && { leader }) };
  const standing = place.key === undefined ? way.scalar ??= own : way.record ??= own;
  if (items !== undefined) items.leader ??= standing;
  return standing;
}

/** What is shown of a value. */
interface View {
  /** The schema of the tool that shows it, if it is one. */
  readonly only?: JsonValue | undefined;
  /** Whether it is an object; `undefined` if any value will do. */
  readonly isObject?: boolean;
  /** Returns what is shown of a part; `undefined` if it is not. */
  at(part: string | number): View | undefined;
}

const ALL: View = { at: () => ALL };
const LEAF: View = { isObject: false, at: () => ALL };

/** Shows the value at a way alone. */
function wayOf([first, ...rest]: readonly string[]): View {
  if (first === undefined) return LEAF;
  const inner = wayOf(rest);
  return {
    isObject: true,
    at: (part) => part === first || first === "*" && part === 0 ? inner : undefined,
  };
}

/** Shows what schemas describe. */
class SchemaView implements View {
  readonly #within = new Map<string | number, SchemaView | undefined>();
  readonly #root: JsonObject;
  readonly #schemas: readonly JsonValue[];
  #parts: readonly JsonObject[] | undefined;

  constructor(root: JsonObject, schemas: readonly JsonValue[]) {
    this.#root = root;
    this.#schemas = schemas;
  }

  get parts(): readonly JsonObject[] {
    return this.#parts ??= schemasFor(this.#root, this.#schemas).parts;
  }

  get only(): JsonValue | undefined {
    return this.#schemas.length === 1 ? this.#schemas[0] : undefined;
  }

  /** All that applies. */
  get schema(): JsonValue {
    return this.#schemas.length === 1 ? this.#schemas[0]! : { allOf: [...this.#schemas] };
  }

  get isObject(): boolean {
    return this.parts.some(({ properties, type }) =>
      isJsonObject(properties) || [type].flat().includes("object")
    );
  }

  at(part: string | number): SchemaView | undefined {
    return this.#within.getOrInsertComputed(part === "*" ? 0 : part, (key) => {
      const schemas = this.parts.flatMap((own) =>
        typeof key === "number" ? itemsOf(own, key) : propertiesOf(own, key)
      );
      return schemas.length === 0 ? undefined : new SchemaView(this.#root, schemas);
    });
  }
}

function itemsOf({ items, prefixItems, contains }: JsonObject, index: number): JsonValue[] {
  const listed = [prefixItems, items].find(Array.isArray) ?? [];
  const own = listed[index] ?? (Array.isArray(items) ? true : items) ?? contains;
  return own === undefined ? [] : [own];
}

function propertiesOf(schema: JsonObject, name: string): JsonValue[] {
  const own = fieldOf(schema["properties"], name);
  if (own !== undefined) return [own];
  const { required, additionalProperties, patternProperties } = schema;
  const others = [...Object.values(Object(patternProperties) as JsonObject), additionalProperties];
  const named = others.filter(isJsonObject);
  return named.length === 0 && Array.isArray(required) && required.includes(name) ? [true] : named;
}

/** What a world needs to know of a tool. */
interface ToolShape {
  readonly node: ToolNode;
  /** The schema of its results, among the definitions of all tools. */
  readonly result: JsonObject | undefined;
  readonly check: ValueCheck;
  readonly way: Way;
  readonly view: SchemaView;
  /** Each place within the record around it. */
  readonly standing: ReadonlyMap<RecordPlace, Standing>;
  /** The place of the record around each. */
  readonly around: ReadonlyMap<RecordPlace, RecordPlace>;
  /** How many records a list takes. */
  bounds(place: RecordPlace): { readonly least: number; readonly most: number };
  /** The word for what a parameter names. */
  wordOf(parameter: string, type: string): string;
}

/** What worlds of the same graphs share. */
class Shapes {
  readonly checks: Checks;
  readonly types = new Map<string, IdType>();
  readonly scopes = new Map<string, readonly JsonObject[]>();
  readonly entities = new Map<string, Entity>();
  readonly tools = new Map<string, ToolShape>();
  readonly #ids = new WeakMap<object, { readonly whole: JsonObject; readonly check: ValueCheck }>();
  readonly #definitions: JsonObject = {};

  constructor(graphs: readonly ToolGraph[]) {
    const trusts = graphs.some(({ nodes }) =>
      nodes.values().some(({ tool }) => tool.unsafePatterns)
    );
    this.checks = new Checks({ $defs: this.#definitions }, trusts);
    // In one order, whichever of two versions comes first: both have the same world.
    const sorted = graphs.toSorted((one, other) => one.digest < other.digest ? -1 : 1);
    for (const { types, scopes } of sorted) {
      for (const [name, type] of types) {
        const schemas = [...this.types.get(name)?.schemas ?? [], ...type.schemas];
        this.types.set(name, { ...type, schemas });
      }
      for (const [name, schemas] of scopes) {
        this.scopes.set(name, [...this.scopes.get(name) ?? [], ...schemas]);
      }
    }
    for (
      const type of [...this.types.values()].toSorted((one, other) =>
        one.name < other.name ? -1 : 1
      )
    ) {
      const entity = this.entities.getOrInsertComputed(type.entity, (name) => ({
        ...{ name, types: [], keys: new Map(), way: { parts: new Map() }, relations: new Map() },
        schema: true,
      }));
      entity.types.push(type);
      entity.keys.set(type.key, type.name);
    }
    const described = new Map<Entity, Map<string, JsonValue>>();
    const made = sorted.map((graph) =>
      [
        graph,
        [...graph.nodes.values()].map((node) =>
          this.#toolShape(node, sorted.indexOf(graph), described)
        ),
      ] as const
    );
    // Of two tools of one name that of the world's own graph answers.
    for (const graph of graphs.toReversed()) {
      for (const shape of made.find(([own]) => own === graph)![1]) {
        this.tools.set(shape.node.tool.name, shape);
      }
    }
    for (const [entity, schemas] of described) {
      const all = [...schemas.keys()].sort().map((text) => schemas.get(text)!);
      entity.schema = all.length === 1 ? all[0]! : { allOf: all };
    }
  }

  entityOf(type: string): Entity {
    return this.entities.get(this.types.get(type)!.entity)!;
  }

  /** What an id must fit. */
  ids(schemas: readonly JsonObject[]): { readonly whole: JsonObject; readonly check: ValueCheck } {
    const known = this.#ids.get(schemas);
    if (known !== undefined) return known;
    const whole: JsonObject = schemas.length === 0 ? { type: "string" } : { allOf: [...schemas] };
    const own = { whole, check: valueCheck(whole, this.checks.unsafePatterns) };
    this.#ids.set(schemas, own);
    return own;
  }

  /** The relation by which records belong to one of another entity: that of its name, or the only one. */
  relationTo(entity: Entity, parent: Entity, word?: string): Relation | undefined {
    const own = [...entity.relations.values()].filter((one) => this.entityOf(one.type) === parent);
    const named = (name: string | undefined) => own.find((one) => plain(one.name) === plain(name));
    const single = own.filter(({ isList }) => !isList);
    const found = named(word) ?? named(parent.name) ??
      (single.length === 1 ? single[0] : own.length === 1 ? own[0] : undefined);
    // Of two lists of each other one decides.
    return found?.isList && this.backOf(found) !== undefined ? undefined : found;
  }

  /** The only list of records of another entity in those of an entity. */
  onlyList(entity: Entity, listed: Entity): Relation | undefined {
    const own = entity.relations.values().filter(({ isList, type }) =>
      isList && this.entityOf(type) === listed
    ).toArray();
    return own.length === 1 ? own[0] : undefined;
  }

  /** The relation of the listed records that decides on a list of them; `undefined` if the list itself does. */
  backOf(relation: Relation): Relation | undefined {
    const { entity, type } = relation;
    const listed = this.entityOf(type);
    if (listed === entity || this.onlyList(entity, listed) !== relation) return undefined;
    const own = listed.relations.values().filter((one) => this.entityOf(one.type) === entity);
    const back = own.toArray();
    const single = back.filter(({ isList }) => !isList);
    const found = single.find(({ name }) => plain(name) === plain(entity.name)) ??
      (single.length === 1 ? single[0] : undefined);
    if (found !== undefined || single.length > 0) return found;
    return back.length === 1 && listed.name < entity.name ? back[0] : undefined;
  }

  #toolShape(
    node: ToolNode,
    version: number,
    described: Map<Entity, Map<string, JsonValue>>,
  ): ToolShape {
    const { records, tool } = node;
    const result = node.result && this.#shared(node.result, `${version} ${tool.name}`);
    const view = new SchemaView(this.checks.root, [result ?? true]);
    const way: Way = { parts: new Map() };
    const standing = new Map<RecordPlace, Standing>();
    const around = new Map<RecordPlace, RecordPlace>();
    const words = new Map<string, string>();
    const viewAt = (path: readonly string[]) =>
      path.reduce<SchemaView | undefined>((own, part) => own?.at(part), view);
    for (const place of records) {
      const outer = records.filter((one) => one.key !== undefined && isWithin(place.path, one.path))
        .toSorted((one, other) => other.path.length - one.path.length)[0];
      const path = place.path.slice(outer?.path.length ?? 0);
      const entity = this.entityOf(place.type);
      addStanding(way, place, place.path, "");
      if (outer === undefined) standing.set(place, addStanding(way, place, path, ""));
      else {
        around.set(place, outer);
        const source = this.entityOf(outer.type);
        const name = relationOf(place);
        const isList = path.includes("*");
        const key = [name, entity.name, isList].join("\u0000");
        source.relations.getOrInsert(key, { entity: source, name, type: place.type, isList });
        standing.set(place, addStanding(source.way, place, path, key));
        if ("argument" in place.of) words.set(place.of.argument, name);
      }
      const schema = place.key === undefined ? undefined : viewAt(place.path)?.schema;
      if (schema === undefined) continue;
      described.getOrInsertComputed(entity, () => new Map()).set(jsonText(schema), schema);
    }
    let check: ValueCheck | undefined;
    return {
      ...{ node, result, way, view, standing, around },
      // Where the whole schema cannot be checked, its parts have been.
      check: (value) =>
        (check ??= attempt(() => valueCheck(node.result!, tool.unsafePatterns)) ?? nothing)(value),
      bounds: ({ path }) => {
        const lists = viewAt(path.slice(0, path.lastIndexOf("*")))?.parts ?? [];
        const all = (keyword: string) =>
          lists.map((list) => list[keyword]).filter((size) => typeof size === "number");
        return {
          least: Math.max(0, ...all("minItems")),
          most: Math.min(Infinity, ...all("maxItems")),
        };
      },
      wordOf: (parameter, type) => words.get(parameter) ?? wordOf(parameter, type),
    };
  }

  /** Returns a schema whose references lead to the definitions of all tools, to which it adds its own. */
  #shared(schema: JsonObject, name: string): JsonObject {
    const { $defs = {}, ...own } = schema;
    const definitions = isJsonObject($defs) ? $defs : {};
    const added = Object.entries(definitions)
      .filter(([name, one]) => fieldOf(this.#definitions, name) !== one);
    const isPlain = !/"\$ref":"#(?!\/\$defs\/)/.test(jsonText([own, added]));
    const isShared = isPlain && added.every(([name, one]) => {
      const known = fieldOf(this.#definitions, name);
      return known === undefined || jsonText(known) === jsonText(one);
    });
    if (isShared) {
      for (const [name, one] of added) this.#definitions[name] ??= one;
      return own as JsonObject;
    }
    const plainName = name.replaceAll(/[^\w ]/g, "_");
    this.#definitions[plainName] = moved(schema, `#/$defs/${plainName}`) as JsonObject;
    return { $ref: `#/$defs/${plainName}` };
  }
}

/** Returns a schema whose references lead to where it was moved. */
function moved(value: JsonValue, to: string): JsonValue {
  if (Array.isArray(value)) return value.map((inner) => moved(inner, to));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string" && inner.startsWith("#")
        ? to + inner.slice(1)
        : moved(inner, to),
    ]),
  );
}

/** Whether a way leads into another. */
function isWithin(path: readonly string[], outer: readonly string[]): boolean {
  return path.length > outer.length && outer.every((part, place) => part === path[place]);
}

/** The name of the relation of a record to the one around it. */
function relationOf({ of, path, type }: RecordPlace): string {
  if ("relation" in of) return of.relation;
  return wordOf(path.findLast((part) => part !== "*") ?? "", type);
}

/** The word for what a name of an id refers to: `owner` of `owner_id`. */
function wordOf(name: string, type: string): string {
  const key = type.slice(type.lastIndexOf(".") + 1);
  const word = name.toLowerCase().endsWith(key.toLowerCase()) ? name.slice(0, -key.length) : name;
  return word.replace(/[_-]$/, "") || name;
}

function plain(name: string | undefined): string | undefined {
  return name?.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

const SHAPES = new WeakMap<ToolGraph, Map<ToolGraph | undefined, Shapes>>();

function shapesOf(graph: ToolGraph, also: ToolGraph | undefined): Shapes {
  const known = SHAPES.get(graph) ?? new Map<ToolGraph | undefined, Shapes>();
  SHAPES.set(graph, known);
  return known.getOrInsertComputed(
    also,
    () => new Shapes(also === undefined ? [graph] : [graph, also]),
  );
}
