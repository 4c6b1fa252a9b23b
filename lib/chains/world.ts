/**
 * Worlds: what the tools of a graph answer, drawn from a seed, so that all of them agree.
 * @module
 */

import { attempt, cannot, type InputError } from "../base/errors.ts";
import {
  canonicalJson,
  fieldOf,
  type JsonObject,
  jsonText,
  type JsonValue,
  listText,
} from "../base/json.ts";
import { fork } from "../base/random.ts";
import { errorOfResult } from "../tools/references/symbol_table.ts";
import { word } from "../tools/schema/mock_text.ts";
import { Maker, type MakerOptions, type Place, Unfit } from "../tools/schema/mock.ts";
import {
  type Entity,
  formOf,
  NOWHERE,
  type Relation,
  type Shapes,
  shapesOf,
  type Standing,
  type ToolShape,
  type View,
  viewOfWay,
  type Way,
  wordOf,
} from "./_shapes.ts";
import type { RecordPlace, ToolGraph } from "./graph.ts";
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
  /** All versions of the tools, the graph among them: values fit the schemas of all, and are the same in all. */
  readonly versions?: readonly ToolGraph[];
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
 *
 * @example Usage
 * ```ts
 * import { toolGraph, World } from "@toolgate/toolgate/chains";
 * import { tool } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const order = tool({
 *   name: "get_order",
 *   description: "Returns an order",
 *   parameters: z.object({ order_id: z.string() }),
 *   output: z.object({ id: z.string(), city: z.string() }),
 *   returns: { id: "A1", city: "Oslo" },
 * });
 * const world = new World(toolGraph([order]), 1);
 * const [id] = world.ids("order.id");
 * assertEquals(world.call("get_order", { order_id: id! }), {
 *   value: { id: id!, city: world.field("order.id", id!, ["city"])! },
 * });
 * assertEquals(world.call("get_order", { order_id: "none" }), {
 *   unknown: { parameter: "order_id", type: "order.id", value: "none" },
 * });
 * ```
 */
export class World {
  readonly #shapes: Shapes;
  readonly #seed: number;
  readonly #options: WorldOptions;
  readonly #takesUnknown: boolean;
  readonly #pools = new Map<Entity, readonly WorldRecord[]>();
  readonly #scopes = new Map<string, JsonValue>();
  readonly #orders = new Map<Relation, ReadonlyMap<WorldRecord, WorldRecord>>();

  /** Makes a world; `seed` is an integer. */
  constructor(graph: ToolGraph, seed: number, options: WorldOptions = {}) {
    this.#shapes = shapesOf(graph, options.versions);
    this.#seed = seed;
    this.#options = options;
    this.#takesUnknown = options.unknown === "values";
  }

  /** Returns the same world with the tools of another one of its versions. */
  inVersion(graph: ToolGraph): World {
    return new World(graph, this.#seed, this.#options);
  }

  /**
   * Returns the ids of a type that there are: a few, all of them different, and of the same records as those of other
   * types of the same entity, in the same order.
   *
   * @throws {InputError} If no value is an id of the type.
   */
  ids(type: string): JsonValue[] {
    const entity = this.#shapes.entityOf.get(type);
    if (entity === undefined) {
      throw cannot(`draw ids of ${type}`, "it must be a type of the graph", "there is none");
    }
    return this.#pool(entity).map(({ ids }) => ids.get(type)!);
  }

  /**
   * Returns the value of a scope, such as an account.
   *
   * @throws {InputError} If no value fits its schemas.
   */
  scope(name: string): JsonValue {
    return this.#scopes.getOrInsertComputed(name, () => {
      const value = this.#id(this.#shapes.scopes.get(name) ?? {}, `scope\u0000${name}`);
      if (value === undefined) throw this.#unfit(`the scope ${name}`, [name]);
      return value;
    });
  }

  /**
   * Returns the result of a call, which fits the schema of the tool's results; `null` of a tool without one.
   *
   * @throws {InputError} If no value is found that fits, or the graph has no such tool.
   */
  call(tool: string, args: JsonObject): WorldResult {
    const shape = this.#shape(tool);
    for (const { parameter, role, type = "" } of this.#takesUnknown ? [] : shape.node.takes) {
      const value = fieldOf(args, parameter);
      if (value === undefined || role !== "id" && role !== "scope") continue;
      // Where there are none, no value is known.
      const known = attempt(() => role === "id" ? this.ids(type) : [this.scope(type)]) ?? [];
      if (!known.some((one) => isSame(one, value))) return { unknown: { parameter, type, value } };
    }
    const { result } = shape.node;
    if (result === undefined) return { value: null };
    let found: { readonly value: JsonValue } | undefined;
    let fault: string | undefined;
    // Where the whole does not fit, it may with other branches, or without what may be left out.
    for (const options of [{}, { attempt: 1 }, { attempt: 1, isLean: true }]) {
      const value = this.#make(shape.result!, this.#top(shape, args), options);
      const wrong = value === undefined ? undefined : this.#shapes.faultOf(result, value);
      fault ??= wrong;
      if (value === undefined || wrong !== undefined) continue;
      found ??= { value };
      // A success is not to be taken for a failure, if another value will do.
      if (errorOfResult(jsonText(value)) === undefined) return { value };
    }
    if (found !== undefined) return found;
    const state = fault ?? "no value was found that does";
    throw cannot(`make up a result of ${tool}`, "it must fit its schema", state);
  }

  /**
   * Returns the value at a way within a record, such as `["address", "city"]`; `*` is the first item of a list.
   * `undefined` if there is none. It is the value in the result of each tool that shows it.
   */
  field(type: string, id: JsonValue, path: readonly string[]): JsonValue | undefined {
    const place = this.#recordPlace(this.#record(type, id), viewOfWay(path), undefined);
    return path.reduce<JsonValue | undefined>(
      (value, part) => part === "*" && Array.isArray(value) ? value[0] : fieldOf(value, part),
      this.#make(true, place),
    );
  }

  /**
   * Returns the id that a record refers to, or the first of a list of them; `undefined` if no record of the type has
   * such a relation.
   */
  related(type: string, id: JsonValue, relation: string): JsonValue | undefined {
    const record = this.#record(type, id);
    const own = record.entity.relations.values().find(({ name }) => name === relation);
    const [first] = own === undefined ? [] : this.#targets(record, own);
    return first && this.#idOf(first, own!.type);
  }

  /** Returns the ids in the list of a tool's result; none if it has no list. */
  list(tool: string, args: JsonObject): JsonValue[] {
    const list = this.#shape(tool).places.find(({ place }) => "list" in place.of);
    return this.records(tool, args).filter(({ place }) => place === list?.place).map(({ id }) =>
      id
    );
  }

  /** Returns the records in the result of a call, each after the one that it stands in, without drawing the result. */
  records(tool: string, args: JsonObject): ShownRecord[] {
    const shape = this.#shape(tool);
    const shown: ShownRecord[] = [];
    for (const at of shape.places) {
      const { place } = at;
      const outer = shown.filter((one) => one.place === at.around?.place);
      for (const around of at.around === undefined ? [undefined] : outer) {
        const base = around ? this.#base(around.type, around.id) : this.#topBase(shape, args);
        for (const record of this.#at(base, at)) {
          const id = this.#idOf(record, place.type);
          shown.push({ place, type: place.type, id, ...(around && { around }) });
        }
      }
    }
    return shown;
  }

  /** The error of values that several tools share, and that fit none of what they say. */
  #unfit(what: string, types: readonly string[]): InputError {
    const isOne = ({ type }: { readonly type?: string }) => types.includes(type ?? "");
    const tools = this.#shapes.tools.values().filter(({ node: { takes, records } }) =>
      takes.some(isOne) || records.some(isOne)
    ).map(({ node }) => node.tool.name).toArray();
    const rule = "a value must fit the schemas of all tools that have it";
    return cannot(`draw ${what}`, rule, `none fits those of ${listText(tools, 5)}`);
  }

  #shape(tool: string): ToolShape {
    const shape = this.#shapes.tools.get(tool);
    if (shape !== undefined) return shape;
    throw cannot(`call ${tool}`, "it must be a tool of the graph", "there is none");
  }

  #pool(entity: Entity): readonly WorldRecord[] {
    if (this.#pools.size === 0) this.#drawPools();
    const pool = this.#pools.get(entity)!;
    if (pool.length > 0) return pool;
    throw this.#unfit(`ids of ${entity.name}`, [...entity.keys.values()]);
  }

  /** All pools at once, in one order: no id is of two types. */
  #drawPools(): void {
    const taken = new Set<string>();
    for (const entity of new Set(this.#shapes.entityOf.values())) {
      const ids = [...entity.keys.values()].map((type) => {
        const own = new Map<string, JsonValue>();
        for (let tries = 0; tries < POOL + ATTEMPTS && own.size < POOL; tries++) {
          const id = this.#id(this.#shapes.ids.get(type)!, `id\u0000${type}\u0000${tries}`);
          const text = canonicalJson(id);
          if (id !== undefined && (!taken.has(text) || tries >= ATTEMPTS)) own.set(text, id);
          taken.add(text);
        }
        return [type, [...own.values()]] as const;
      });
      const size = Math.min(...ids.map(([, own]) => own.length));
      this.#pools.set(
        entity,
        Array.from({ length: size }, (_, at) => ({
          entity,
          key: `record\u0000${entity.name}\u0000${at}`,
          ids: new Map(ids.map(([type, own]) => [type, own[at]!])),
        })),
      );
    }
  }

  /** A value that stands out, if it fits, such as `gilo-4821`. */
  #id(schema: JsonObject, key: string): JsonValue | undefined {
    const stream = fork(this.#seed, key);
    const token = `${word(stream)}-${randomIntegerBetween(1000, 9999, stream)}`;
    const isPlain = !/"(?:format|pattern|enum)":/.test(jsonText(schema));
    if (isPlain && this.#shapes.faultOf(schema, token) === undefined) return token;
    const value = this.#make(schema, { key, depth: 0, isWanted: true, within: nothing });
    return value === undefined || this.#shapes.faultOf(schema, value) ? undefined : value;
  }

  /** Makes a value; `undefined` if none is found. */
  #make(schema: JsonValue, place: Place, options?: MakerOptions): JsonValue | undefined {
    try {
      const all = { ...options, fullValues: Infinity };
      return new Maker(this.#shapes.checks, this.#seed, all).part(schema, place, 0, true);
    } catch (error) {
      if (error instanceof Unfit) return undefined;
      throw error;
    }
  }

  #record(type: string, id: JsonValue): WorldRecord {
    const place = this.ids(type).findIndex((one) => isSame(one, id));
    const entity = this.#shapes.entityOf.get(type)!;
    const key = `record\u0000${type}\u0000${canonicalJson(id)}`;
    return this.#pool(entity)[place] ?? { entity, key, ids: new Map([[type, id]]) };
  }

  #idOf({ ids, key }: WorldRecord, type: string): JsonValue {
    const id = ids.get(type) ?? this.#id(this.#shapes.ids.get(type)!, `${key}\u0000id ${type}`);
    return id ?? null;
  }

  /** The records that a record refers to. */
  #targets(record: WorldRecord, relation: Relation): readonly WorldRecord[] {
    const { target, name, isList } = relation;
    const key = `${record.key}\u0000related\u0000${name}`;
    if (!isList) return [this.#order(relation).get(record) ?? this.#some(target, key, 1, 1)[0]!];
    const back = this.#shapes.backOf(relation);
    return back ? this.#referring(record, back) : this.#some(target, key, 1, 3);
  }

  /** Which record each of a pool refers to: two to the same, so that lists of them are neither empty nor long. */
  #order(relation: Relation): ReadonlyMap<WorldRecord, WorldRecord> {
    return this.#orders.getOrInsertComputed(relation, ({ entity, name, target }) => {
      const key = `related\u0000${entity.name}\u0000${name}`;
      const targets = this.#some(target, key, POOL, POOL);
      const at = (place: number) => targets[place % targets.length]!;
      return new Map(
        this.#some(entity, `${key}\u0000own`, POOL, POOL).map((own, place) => {
          const found = at(place >> 1);
          return [own, found === own ? at((place >> 1) + 1) : found];
        }),
      );
    });
  }

  /** The records of the pool that refer to a record. */
  #referring(record: WorldRecord, relation: Relation): WorldRecord[] {
    return this.#pool(relation.entity).filter((one) =>
      this.#targets(one, relation).includes(record)
    );
  }

  /** Some records of a pool. */
  #some(entity: Entity, key: string, least: number, most: number): WorldRecord[] {
    const stream = fork(this.#seed, key);
    const size = randomIntegerBetween(least, most, stream);
    return shuffle(this.#pool(entity), stream).slice(0, size);
  }

  /** The records at a place: one, or those of a list, as many as at the first place in its items. */
  #at(base: Base, at: Standing): readonly WorldRecord[] {
    const own = this.#own(base, at);
    if (at.leader === undefined || own.length === 0) return own;
    return this.#at(base, at.leader).map((_, index) => own[index % own.length]!);
  }

  #own({ record, shape, args, key }: Base, at: Standing): readonly WorldRecord[] {
    const { place: { of, type, path }, entity } = at;
    if (record !== undefined) return this.#targets(record, at.relation!);
    const given = "argument" in of ? fieldOf(args, of.argument) : undefined;
    if (given !== undefined) return [this.#record(type, given)];
    if ("list" in of) return this.#listed(at, shape!, args!);
    const [least, most] = path.includes("*") ? [2, 4] : [1, 1];
    return this.#some(entity, `${key}\u0000${path.join(".")}`, least, most);
  }

  /** The records of a list of what the arguments name. */
  #listed({ entity, list }: Standing, { node, words }: ToolShape, args: JsonObject): WorldRecord[] {
    let listed: WorldRecord[] | undefined;
    const named: string[] = [];
    for (const { parameter, role, type = "" } of node.takes) {
      const value = fieldOf(args, parameter);
      if (role !== "id" || value === undefined) continue;
      const parent = this.#record(type, value);
      named.push(parent.key);
      const name = words.get(parameter) ?? wordOf(parameter, type);
      const relation = this.#shapes.relationTo(entity, parent.entity, name);
      const own = parent.entity.relations.values()
        .find(({ isList, target }) => isList && target === entity);
      if (relation === undefined && own === undefined) continue;
      const members = relation ? this.#referring(parent, relation) : this.#targets(parent, own!);
      listed = listed?.filter((one) => members.includes(one)) ?? [...members];
    }
    const { minItems: least = 0, maxItems: most = POOL } = list ?? {};
    const found = listed ?? this.#some(entity, `list ${[entity.name, ...named].join()}`, 2, 4);
    const others = this.#pool(entity).filter((one) => !found.includes(one));
    return [...found, ...others.slice(0, Math.max(0, Number(least) - found.length))]
      .slice(0, Number(most));
  }

  #base(type: string, id: JsonValue): Base {
    const record = this.#record(type, id);
    return { key: record.key, record };
  }

  #topBase(shape: ToolShape, args: JsonObject): Base {
    const ids = shape.node.takes.filter(({ role }) => role === "id")
      .map(({ parameter }) => [parameter, fieldOf(args, parameter) ?? null]);
    const key = `call\u0000${shape.node.tool.name}\u0000${canonicalJson(ids)}`;
    return { key, shape, args };
  }

  #top(shape: ToolShape, args: JsonObject): Place {
    const { way, view } = shape;
    const base = this.#topBase(shape, args);
    const [record] = way.record ? this.#at(base, way.record) : [];
    if (record !== undefined) return this.#recordPlace(record, view, way);
    return this.#place({ base, path: [], view, way, listed: way });
  }

  /** The place of a record; `listed` has the places in the result of a tool, all of them where there is none. */
  #recordPlace(record: WorldRecord, view: View, listed: Way | undefined): Place {
    const { key, entity: { way, schema } } = record;
    return { ...this.#place({ base: { key, record }, path: [], view, way, listed }), schema };
  }

  #place(spot: Spot, isWanted?: boolean): Place {
    const { base, path, view, way, listed } = spot;
    const item = way?.parts.get("*");
    // A list of lists of records has one of them; one that the graph does not list has none.
    const all = item?.leader ? this.#at(base, item.leader).length : 1;
    return {
      key: [base.key, ...path].join("\u0000"),
      depth: path.length,
      isWanted,
      isOptional: view.isOptional,
      otherwise: view.only,
      count: item && (listed === NOWHERE ? 0 : all),
      within: (part) => this.#within(spot, part),
    };
  }

  #within(spot: Spot, part: string | number): Place | undefined {
    const { base, path } = spot;
    const view = spot.view.at(part);
    if (view === undefined) return undefined;
    const name = typeof part === "number" ? "*" : part;
    const key = path.length === 0 ? base.record?.entity.keys.get(name) : undefined;
    if (key !== undefined) return known(this.#idOf(base.record!, key));
    const way = spot.way?.parts.get(name);
    const listed = spot.listed && (spot.listed.parts.get(name) ?? NOWHERE);
    const index = typeof part === "number" ? part : spot.index;
    const at = way && formOf(way, listed, view);
    if (at === undefined) {
      const here = { base, path: [...path, String(part)], view, way, listed, index };
      return this.#place(here, way && !(listed === NOWHERE && way.parts.has("*")));
    }
    const records = this.#at(base, at);
    const record = records[(index ?? 0) % records.length];
    if (record === undefined) return undefined;
    if (at.place.key === undefined) return known(this.#idOf(record, at.place.type));
    // One that the graph does not list, as records nest without end, is left out where it may be.
    const isWanted = listed === undefined || listed.record !== undefined;
    return { ...this.#recordPlace(record, view, listed), isWanted };
  }
}

/** A record of a world. */
interface WorldRecord {
  readonly entity: Entity;
  readonly key: string;
  /** Its ids by their types. */
  readonly ids: ReadonlyMap<string, JsonValue>;
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

/** Whether two ids are the same. */
function isSame(one: JsonValue, other: JsonValue): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

function nothing(): undefined {}

/** The place of a value that is known. */
function known(value: JsonValue): Place {
  return { key: "", depth: 0, value, isWanted: true, within: nothing };
}
