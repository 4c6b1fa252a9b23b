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
  type JsonValue,
} from "../base/json.ts";
import { fork } from "../base/random.ts";
import { word } from "../tools/schema/mock_text.ts";
import { Draws, HOLE, type Known, Maker, Unfit } from "../tools/schema/mock.ts";
import {
  type Entity,
  type Part,
  type Relation,
  type Shapes,
  shapesOf,
  type Shown,
  type Spot,
  type ToolShape,
  wayText,
  wordOf,
} from "./_shapes.ts";
import type { RecordPlace, Take, ToolGraph } from "./graph.ts";
import { randomIntegerBetween, shuffle } from "@std/random";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** Ids of each type, and how many of them what takes no id may show. */
const POOL = 12;
const FRONT = 4;
/** Attempts to find an id that no other type has. */
const ATTEMPTS = 50;
/** Levels of a result, at most: a schema that needs more is not finite. */
const MAX_LEVELS = 60;

/** Options of a {@linkcode World}. */
export interface WorldOptions {
  /**
   * What a call gets whose id or scope the world does not have: that it is unknown (`error`, the default), or the
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
  /** Where it stands in the result. */
  readonly place: RecordPlace;
  /** The name of the type of its id. */
  readonly type: string;
  /** Its id. */
  readonly id: JsonValue;
  /** The record that it stands in, within the same list. */
  readonly around?: ShownRecord;
}

/**
 * What the tools of a graph answer in one task. It is drawn where it is asked for, and is the same for a seed whatever
 * was asked before. All tools agree on it: a value is drawn by the record and the way to it within the record, so that
 * it fits all schemas that describe it; so is whether an optional part is there. Lists under a record hold those that
 * refer to it, where they have such a relation. A world has two parts, whose records never refer to each other: who
 * begins with lists sees one of them alone.
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
  readonly #pools = new Map<Entity, readonly WorldRecord[]>();
  readonly #scopes = new Map<string, JsonValue>();
  readonly #values = new Map<string, JsonValue | undefined>();
  readonly #results = new Map<string, JsonValue | undefined>();
  readonly #records = new Map<string, readonly ShownRecord[]>();

  /** Makes a world; `seed` is an integer. */
  constructor(graph: ToolGraph, seed: number, options: WorldOptions = {}) {
    this.#shapes = shapesOf(graph, options.versions);
    this.#seed = seed;
    this.#options = options;
  }

  /** Returns the same world with the tools of another one of its versions. */
  inVersion(graph: ToolGraph): World {
    return new World(graph, this.#seed, this.#options);
  }

  /**
   * Returns the ids of a type that there are: a few, all of them different, and of the same records as those of other
   * types of the same entity, in the same order. With `isFront`, those of records that lists of all may show, or those
   * of the other part.
   *
   * @throws {InputError} If no value is an id of the type.
   */
  ids(type: string, isFront?: boolean): JsonValue[] {
    return this.#poolOf(type).filter((one) => isFront === undefined || one.isFront === isFront)
      .map(({ ids }) => ids.get(type)!);
  }

  /**
   * Returns the value of a scope, such as an account.
   *
   * @throws {InputError} If no value fits its schemas.
   */
  scope(name: string): JsonValue {
    return getOrInsertComputed(this.#scopes, name, () => {
      const value = this.#id(this.#shapes.scopes.get(name) ?? {}, `scope\u0000${name}`);
      if (value === undefined) throw unfit(`the scope ${name}`);
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
    const unknown = this.#unknown(shape, args);
    if (unknown !== undefined) return { unknown };
    if (shape.node.result === undefined) return { value: null };
    const own = this.#callOf(shape, args);
    const value = getOrInsertComputed(this.#results, own.key, () =>
      attempt(() => {
        const value = this.#shown(own, shape.shown, shape, []);
        return value !== undefined && this.#shapes.checks.fits(shape.schema, value)
          ? value
          : undefined;
      }, Unfit));
    if (value !== undefined) return { value };
    throw cannot(
      `make up a result of ${tool}`,
      "it must fit its schema",
      "no value was found that does",
    );
  }

  /**
   * Returns the value at a way within a record, such as `["address", "city"]`; `*` is the first item of a list.
   * `undefined` if there is none, or if it is of another record. It is the value in the result of each tool that shows it.
   */
  field(type: string, id: JsonValue, path: readonly string[]): JsonValue | undefined {
    const value = path.reduce<JsonValue | undefined>(
      (inner, name) => name === "*" && Array.isArray(inner) ? inner[0] : fieldOf(inner, name),
      this.#value(this.#record(type, id), path[0]),
    );
    return value === HOLE ? undefined : value;
  }

  /**
   * Returns the id that a record refers to, or the first of a list of them; `undefined` if no record of the type has
   * such a relation.
   */
  related(type: string, id: JsonValue, relation: string): JsonValue | undefined {
    const record = this.#record(type, id);
    const own = record.of.relations.values().find(({ name }) => name === relation);
    const [first] = own === undefined ? [] : this.#targets(record, own);
    return first && this.#idOf(first, own!.type);
  }

  /** Returns the records in the result of a call, each after the one that it stands in, without drawing the result. */
  records(tool: string, args: JsonObject): readonly ShownRecord[] {
    const shape = this.#shape(tool);
    if (this.#unknown(shape, args) !== undefined) return [];
    const top = this.#callOf(shape, args);
    return getOrInsertComputed(this.#records, top.key, () => {
      const shown: ShownRecord[] = [];
      for (const spot of shape.spots.values()) {
        const { place, place: { type }, around: outer } = spot;
        const arounds = outer && shown.filter((one) => one.place === outer.place);
        for (const around of arounds ?? [undefined]) {
          const base = around ? this.#record(around.type, around.id) : top;
          for (const record of this.#at(base, spot)) {
            shown.push({ place, type, id: this.#idOf(record, type), ...(around && { around }) });
          }
        }
      }
      return shown;
    });
  }

  #shape(tool: string): ToolShape {
    const shape = this.#shapes.tools.get(tool);
    if (shape !== undefined) return shape;
    throw cannot(`call ${tool}`, "it must be a tool of the graph", "there is none");
  }

  /** The argument of a call that names nothing, or nothing of what those before it name. */
  #unknown({ node, spots }: ToolShape, args: JsonObject): Unknown | undefined {
    if (this.#options.unknown === "values") return undefined;
    const parents: [Take, WorldRecord][] = [];
    for (const take of node.takes) {
      const { parameter, role, type = "" } = take;
      const value = fieldOf(args, parameter);
      if (value === undefined || role !== "id" && role !== "scope") continue;
      const unknown = { parameter, type, value };
      // Where there are none, no value is known.
      if (role === "scope" && attempt(() => this.scope(type)) !== value) return unknown;
      if (role === "scope") continue;
      const record = attempt(() => this.#poolOf(type))?.find(({ ids }) => ids.get(type) === value);
      if (record === undefined) return unknown;
      const isReturned = spots.values().some(({ place: { of, key } }) =>
        key !== undefined && "argument" in of && of.argument === parameter
      );
      const isBelow = !isReturned ||
        parents.every(([parent, one]) =>
          this.#members(record.of, one, parent)?.includes(record) !== false
        );
      if (!isBelow) return unknown;
      parents.push([take, record]);
    }
  }

  /** The records that there are of a type. */
  #poolOf(type: string): readonly WorldRecord[] {
    const entity = this.#shapes.entityOf.get(type);
    if (entity !== undefined) return this.#pool(entity);
    throw cannot(`draw ids of ${type}`, "it must be a type of the graph", "there is none");
  }

  #pool(entity: Entity): readonly WorldRecord[] {
    if (this.#pools.size === 0) this.#drawPools();
    const pool = this.#pools.get(entity)!;
    if (pool.length > 0) return pool;
    throw unfit(`ids of ${entity.name}`);
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
          ...{ of: entity, isFront: at * POOL < FRONT * size },
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
    const { checks } = this.#shapes;
    const isPlain = !/"(?:format|pattern|enum)":/.test(jsonText(schema));
    return attempt(() => {
      if (isPlain && checks.fits(schema, token)) return token;
      const value = new Maker(checks).make(schema, new Draws(this.#seed, key, {}));
      return checks.fits(schema, value) ? value : undefined;
    }, Unfit);
  }

  #record(type: string, id: JsonValue): WorldRecord {
    const known = this.#poolOf(type).find(({ ids }) => ids.get(type) === id);
    if (known !== undefined) return known;
    const key = `record\u0000${type}\u0000${canonicalJson(id)}`;
    const of = this.#shapes.entityOf.get(type)!;
    return { of, key, isFront: false, ids: new Map([[type, id]]) };
  }

  #idOf({ ids, key }: WorldRecord, type: string): JsonValue {
    const id = ids.get(type) ?? this.#id(this.#shapes.ids.get(type)!, `${key}\u0000id ${type}`);
    return id ?? null;
  }

  /** The records that a record refers to. */
  #targets(record: WorldRecord, relation: Relation): readonly WorldRecord[] {
    const { target, name, isList } = relation;
    const some = (most: number) =>
      this.#some(target, `${record.key}\u0000related\u0000${name}`, 1, most, record.isFront);
    if (!isList) return [some(2).find((one) => one !== record) ?? record];
    const back = this.#shapes.backOf(relation);
    return back ? this.#referring(record, back) : some(3);
  }

  /** The records of the pool that refer to a record. */
  #referring(record: WorldRecord, relation: Relation): WorldRecord[] {
    return this.#pool(relation.entity).filter((one) =>
      this.#targets(one, relation).includes(record)
    );
  }

  /** Some records of a part of a pool; a pool of one record has a single part. */
  #some(entity: Entity, key: string, least: number, most: number, isFront: boolean) {
    const stream = fork(this.#seed, key);
    const size = randomIntegerBetween(least, most, stream);
    const pool = this.#pool(entity);
    const own = pool.filter((one) => one.isFront === isFront);
    return shuffle(own.length > 0 ? own : pool, stream).slice(0, size);
  }

  /** The records at a place: one, or those of a list. */
  #at(base: Base, spot: Spot): readonly WorldRecord[] {
    if (!("args" in base)) return this.#targets(base, spot.relation!);
    const { place: { of, type, path }, entity } = spot;
    const given = "argument" in of ? fieldOf(base.args, of.argument) : undefined;
    if (given !== undefined) return [this.#record(type, given)];
    if ("list" in of) return this.#listed(spot, base);
    const [least, most] = path.includes("*") ? [2, 4] : [1, 1];
    return this.#some(entity, `${base.key}\u0000${wayText(path)}`, least, most, base.isFront);
  }

  /** The records of a list of what the arguments name. */
  #listed({ entity, list }: Spot, { named, isFront }: Call): WorldRecord[] {
    const members = named.map(([take, parent]) => this.#members(entity, parent, take))
      .filter((own) => own !== undefined);
    const key = `list ${[entity.name, ...named.map(([, { key }]) => key)].join()}`;
    const [first, ...others] = members.length > 0
      ? members
      : [this.#some(entity, key, 2, 4, isFront)];
    return first!.filter((one) => others.every((own) => own.includes(one)))
      .slice(0, Number(list?.["maxItems"] ?? POOL));
  }

  /** The records of an entity that belong to one that an argument names; `undefined` if that says nothing of them. */
  #members(
    entity: Entity,
    parent: WorldRecord,
    { parameter, type }: Take,
  ): readonly WorldRecord[] | undefined {
    const relation = this.#shapes.relationTo(entity, parent.of, wordOf(parameter, type!));
    if (relation !== undefined) return this.#referring(parent, relation);
    const own = parent.of.relations.values()
      .find(({ isList, target }) => isList && target === entity);
    return own && this.#targets(parent, own);
  }

  #callOf(shape: ToolShape, args: JsonObject): Call {
    const named = shape.node.takes.flatMap((take): [Take, WorldRecord][] => {
      const value = take.role === "id" ? fieldOf(args, take.parameter) : undefined;
      return value === undefined ? [] : [[take, this.#record(take.type!, value)]];
    });
    const names = named.flatMap(([{ parameter }, record]) => [parameter, record.key]);
    const key = wayText(["call", shape.node.tool.name, ...names]);
    return { ...{ of: shape, key, args, named }, isFront: named[0]?.[1].isFront ?? true };
  }

  /**
   * The value of a record, or of a result, with holes for other records; `undefined` if there is none. With `only`, with
   * holes for all of its properties but one.
   */
  #value(base: Base, only?: string): JsonValue | undefined {
    return getOrInsertComputed(this.#values, wayText([base.key, only ?? ""]), () => {
      const known = this.#known(base, base.of.top);
      const within = (name: string | number): Known | undefined => {
        const type = "ids" in base ? base.of.keys.get(`${name}`) : undefined;
        if (type !== undefined) return { value: this.#idOf(base as WorldRecord, type) };
        return only === undefined || only === name ? known.within!(name, true) : { value: HOLE };
      };
      const top = { ...known, within };
      const maker = new Maker(this.#shapes.checks, true);
      return attempt(() => maker.make(base.of.schema, new Draws(this.#seed, base.key, top)), Unfit);
    });
  }

  /** What is known of a part that leads to other records. */
  #known(base: Base, { spots, parts }: Part): Known {
    const items = parts.get("*");
    return {
      ...(spots.length > 0 && { value: HOLE }),
      // A list of lists of records has one of them, and one of several records an item is as long as those last.
      count: items &&
        Math.max(0, ...items.listed?.map((spot) => this.#at(base, spot).length) ?? [1]),
      within: (name) => {
        const part = parts.get(typeof name === "number" ? "*" : name);
        return part && this.#known(base, part);
      },
    };
  }

  /** What a tool shows of a record, or of the result itself; `path` is the way there from the whole result. */
  #shown(base: Base, top: Shown, shape: ToolShape, path: readonly string[]): JsonValue | undefined {
    const show = (
      value: JsonValue | undefined,
      shown: Shown,
      part: Part | undefined,
      way: readonly string[],
      place: number,
    ): JsonValue | undefined => {
      if (way.length > MAX_LEVELS) throw new Unfit();
      const [spot] = part?.spots ?? [];
      if (spot !== undefined) {
        const listed = shape.spots.get(wayText(way));
        if (listed === undefined && shown.isOptional) return undefined;
        const records = this.#at(base, listed ?? spot);
        const record = records[place % records.length];
        if (record === undefined) return undefined;
        return (listed ? listed.place.key !== undefined : shown.isObject)
          ? this.#shown(record, shown, shape, way)
          : this.#idOf(record, (listed ?? spot).place.type);
      }
      if (value === undefined || value === HOLE) {
        // What schemas exclude in each other is drawn by the one that is shown, where it must be there.
        if (shown.isOptional) return undefined;
        const key = wayText([base.key, ...way.slice(path.length), `${place}`]);
        const maker = new Maker(this.#shapes.checks);
        return attempt(() => maker.make(shown.schemas[0]!, new Draws(this.#seed, key)), Unfit);
      }
      const inner = (one: JsonValue, name: string, at = place) => {
        const view = shown.at(name);
        return view && show(one, view, part?.parts.get(name), [...way, name], at);
      };
      if (Array.isArray(value)) {
        // A list of records that the graph does not list, as records nest without end.
        const isUnlisted = part?.parts.has("*") && !shape.ways.has(wayText([...way, "*"]));
        if (isUnlisted) return shown.isOptional ? undefined : [];
        return value.map((one, at) => inner(one, "*", at)).filter((one) => one !== undefined);
      }
      if (!isJsonObject(value)) return value;
      return Object.fromEntries(
        Object.entries(value).flatMap(([name, one]) => {
          const own = inner(one, name);
          return own === undefined ? [] : [[name, own]];
        }),
      );
    };
    return show(this.#value(base), top, base.of.top, path, 0);
  }
}

/** What a call gets whose argument names nothing. */
type Unknown = Extract<WorldResult, { unknown: unknown }>["unknown"];

/** What has a value with parts: a record, or the result of a call. */
type Base = WorldRecord | Call;

/** A record of a world. */
interface WorldRecord {
  readonly of: Entity;
  readonly key: string;
  /** Whether lists of all may show it. */
  readonly isFront: boolean;
  /** Its ids by their types. */
  readonly ids: ReadonlyMap<string, JsonValue>;
}

/** A call, and the records that its arguments name. */
interface Call extends Pick<WorldRecord, "key" | "isFront"> {
  readonly of: ToolShape;
  readonly args: JsonObject;
  readonly named: readonly (readonly [Take, WorldRecord])[];
}

function unfit(what: string): InputError {
  return cannot(
    `draw ${what}`,
    "a value must fit the schemas of all tools that have it",
    "none does",
  );
}
