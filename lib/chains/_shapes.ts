/**
 * What worlds of the same graphs share: their entities, how records refer to each other, and what tools show of them.
 * @module
 */

import { attempt } from "../base/errors.ts";
import { fieldOf, isJsonObject, type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import { Checks } from "../tools/schema/mock.ts";
import { schemasFor } from "../tools/schema/position.ts";
import { type ValueCheck, valueCheck } from "../tools/schema/validate.ts";
import type { IdType, RecordPlace, ToolGraph, ToolNode } from "./graph.ts";

/** A type of things, whose records may have several ids. */
export interface Entity {
  readonly name: string;
  /** The names of the types of its ids, by the property that holds each. */
  readonly keys: ReadonlyMap<string, string>;
  /** The places of other records within its own, wherever these are shown. */
  readonly way: Way;
  readonly relations: Map<string, Relation>;
  /** All that tools say of its records, by its text; `schema` is made of it. */
  readonly described: Map<string, JsonValue>;
  schema: JsonValue;
}

/** How records of an entity refer to others. */
export interface Relation {
  readonly entity: Entity;
  readonly name: string;
  /** The name of the type of ids that it leads to. */
  readonly type: string;
  readonly target: Entity;
  readonly isList: boolean;
}

/** A place of a record, or of its id alone, within the record or the result around it. */
export interface Standing {
  readonly place: RecordPlace;
  readonly entity: Entity;
  /** The place of the record around it, and how that refers to this one. */
  readonly around?: Standing;
  readonly relation?: Relation;
  /** The first place in the items of the same list, if that is another one. */
  readonly leader?: Standing;
  /** What the tool says of the list around it, at the top of a result. */
  readonly list?: JsonObject;
}

/** Names of properties, and `*` for items, that lead to records. */
export interface Way {
  readonly parts: Map<string, Way>;
  record?: Standing;
  /** The id of a record alone. */
  scalar?: Standing;
  /** The first place in an item. */
  leader?: Standing;
}

/** A way without records. */
export const NOWHERE: Way = { parts: new Map() };

/** What is shown of a value. */
export interface View {
  /** The schema of the tool that shows it, if it is one. */
  readonly only?: JsonValue | undefined;
  /** Whether the tool may leave it out. */
  readonly isOptional?: boolean;
  /** Whether it is an object; `undefined` if any value will do. */
  readonly isObject?: boolean;
  /** Returns what is shown of a part; `undefined` if it is not. */
  at(part: string | number): View | undefined;
}

/** Returns what shows the value at a way alone. */
export function viewOfWay([first, ...rest]: readonly string[]): View {
  const inner = (): View => first === undefined ? { at: inner } : viewOfWay(rest);
  const isNext = (part: string | number) => part === first || first === "*" && part === 0;
  return {
    isObject: first !== undefined,
    at: (part) => first === undefined || isNext(part) ? inner() : undefined,
  };
}

/** Shows what schemas describe. */
export class SchemaView implements View {
  readonly #within = new Map<string | number, SchemaView | undefined>();
  readonly #root: JsonObject;
  #parts: readonly JsonObject[] | undefined;

  constructor(
    root: JsonObject,
    readonly schemas: readonly JsonValue[],
    readonly isOptional: boolean,
  ) {
    this.#root = root;
  }

  get parts(): readonly JsonObject[] {
    return this.#parts ??= schemasFor(this.#root, this.schemas).parts;
  }

  get only(): JsonValue | undefined {
    return this.schemas.length === 1 ? this.schemas[0] : undefined;
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
      const isOptional = typeof key === "string" &&
        !this.parts.some(({ required }) => Array.isArray(required) && required.includes(key));
      return schemas.length === 0 ? undefined : new SchemaView(this.#root, schemas, isOptional);
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
  const { required, additionalProperties, patternProperties, minProperties } = schema;
  const others = [...Object.values(Object(patternProperties) as JsonObject), additionalProperties];
  const named = others.filter(isJsonObject);
  if (named.length > 0) return named;
  const isNeeded = Array.isArray(required) && required.includes(name) ||
    Number(minProperties ?? 0) > 0 && additionalProperties !== false;
  return isNeeded ? [true] : [];
}

/** Which form a record has somewhere: as the tool's places say, or, where they do not, as its schema does. */
export function formOf(way: Way, listed: Way | undefined, view: View): Standing | undefined {
  if (listed?.record !== undefined) return way.record;
  if (listed?.scalar !== undefined) return way.scalar;
  if (view.isObject === undefined) return way.record ?? way.scalar;
  return view.isObject ? way.record : way.scalar;
}

/** What a world needs to know of a tool. */
export interface ToolShape {
  readonly node: ToolNode;
  /** The schema of its results, among the definitions of all tools. */
  readonly result: JsonObject | undefined;
  readonly view: SchemaView;
  /** Its places from the whole result, and one by one. */
  readonly way: Way;
  readonly places: readonly Standing[];
  /** What parameters refer to, as the places that repeat them say. */
  readonly words: ReadonlyMap<string, string>;
}

/** What worlds of the same graphs share. */
export class Shapes {
  readonly checks: Checks;
  /** What the ids of a type must fit, and the values of a scope, by their names. */
  readonly ids = new Map<string, JsonObject>();
  readonly scopes = new Map<string, JsonObject>();
  /** The entity of each type of ids, by its name and in one order. */
  readonly entityOf = new Map<string, Entity>();
  readonly tools = new Map<string, ToolShape>();
  readonly #definitions: JsonObject = {};
  readonly #valueChecks = new Map<object, ValueCheck>();

  /** Of a graph, among all versions of it: these have one order, so that all of them have the same world. */
  constructor(own: ToolGraph, graphs: readonly ToolGraph[]) {
    const nodes = graphs.flatMap((graph) => [...graph.nodes.values()]);
    this.checks = new Checks(
      { $defs: this.#definitions },
      nodes.some(({ tool }) => tool.unsafePatterns),
    );
    const scopes = Map.groupBy(graphs.flatMap(({ scopes }) => [...scopes]), ([name]) => name);
    for (const [name, same] of scopes) {
      this.scopes.set(name, { allOf: same.flatMap(([, schemas]) => schemas) });
    }
    const types = graphs.flatMap((graph) => [...graph.types.values()])
      .toSorted((one, other) => one.name < other.name ? -1 : 1);
    for (const [name, same] of Map.groupBy(types, ({ name }) => name)) {
      const [{ type }] = same as [IdType];
      this.ids.set(name, { allOf: [{ type }, ...same.flatMap(({ schemas }) => schemas)] });
    }
    for (const [name, same] of Map.groupBy(types, ({ entity }) => entity)) {
      const keys = new Map(same.map((type) => [type.key, type.name]));
      const [way, relations, described] = [{ parts: new Map() }, new Map(), new Map()];
      const entity = { ...{ name, keys, way, relations, described }, schema: true };
      for (const type of same) this.entityOf.set(type.name, entity);
    }
    for (const graph of graphs) {
      for (const node of graph.nodes.values()) {
        const shape = this.#toolShape(node, graphs.indexOf(graph));
        // Of two tools of one name that of the world's own graph answers.
        if (graph === own || !this.tools.has(node.tool.name)) {
          this.tools.set(node.tool.name, shape);
        }
      }
    }
    for (const entity of new Set(this.entityOf.values())) {
      const all = [...entity.described.keys()].sort().map((text) => entity.described.get(text)!);
      entity.schema = all.length === 1 ? all[0]! : { allOf: all };
    }
  }

  /**
   * Returns what is wrong with a value by a schema that is whole in itself; `undefined` if nothing is, or it cannot be
   * checked, as its parts have been.
   */
  faultOf(schema: JsonObject, value: JsonValue): string | undefined {
    return this.#valueChecks.getOrInsertComputed(
      schema,
      (own) =>
        attempt(() => valueCheck(own as JsonObject, this.checks.unsafePatterns)) ??
          (() => undefined),
    )(value);
  }

  /** The relation by which records of an entity belong to one of another: that of a name, or the only one. */
  relationTo(entity: Entity, parent: Entity, word = parent.name): Relation | undefined {
    const own = [...entity.relations.values()].filter(({ target }) => target === parent);
    const single = own.filter(({ isList }) => !isList);
    return [word, parent.name].map((name) => own.find((one) => plain(one.name) === plain(name)))
      .find((one) => one !== undefined) ?? (single.length === 1 ? single[0] : undefined);
  }

  /** The relation of listed records that decides on a list of them; `undefined` if the list itself does. */
  backOf({ entity, target }: Relation): Relation | undefined {
    const back = target === entity ? undefined : this.relationTo(target, entity);
    return back?.isList && target.name > entity.name ? undefined : back;
  }

  #toolShape(node: ToolNode, version: number): ToolShape {
    const result = node.result && this.#shared(node.result, `${version} ${node.tool.name}`);
    const view = new SchemaView(this.checks.root, [result ?? true], false);
    const way: Way = { parts: new Map() };
    const places: Standing[] = [];
    const words = new Map<string, string>();
    const viewAt = (path: readonly string[]) =>
      path.reduce<SchemaView | undefined>((own, part) => own?.at(part), view);
    for (const place of node.records) {
      const entity = this.entityOf.get(place.type)!;
      const around = places.findLast(({ place: { key, path } }) =>
        key !== undefined && path.length < place.path.length &&
        path.every((part, at) => part === place.path[at])
      );
      const path = place.path.slice(around?.place.path.length ?? 0);
      const list = viewAt(place.path.slice(0, place.path.lastIndexOf("*")))?.parts[0];
      const own = { place, entity, ...(list && { list }) };
      if (around === undefined) places.push(addStanding(way, own, path));
      else {
        addStanding(way, own, place.path);
        const { relations, way: inner } = around.entity;
        const name = relationOf(place);
        const isList = path.includes("*");
        const relation = relations.getOrInsert([name, entity.name, isList].join("\u0000"), {
          ...{ entity: around.entity, name, type: place.type, target: entity, isList },
        });
        places.push({ ...addStanding(inner, { ...own, relation }, path), place, around });
        if ("argument" in place.of) words.set(place.of.argument, name);
      }
      const schemas = place.key === undefined ? [] : viewAt(place.path)?.schemas ?? [];
      for (const schema of schemas) entity.described.set(jsonText(schema), schema);
    }
    return { node, result, view, way, places, words };
  }

  /** Returns a schema whose references lead to the definitions of all tools, to which it adds its own. */
  #shared(schema: JsonObject, name: string): JsonObject {
    const { $defs, ...own } = schema;
    const added = Object.entries(isJsonObject($defs) ? $defs : {})
      .filter(([name, one]) => fieldOf(this.#definitions, name) !== one);
    const isShared = !/"\$ref":"#(?!\/\$defs\/)/.test(jsonText([own, added])) &&
      added.every(([name, one]) =>
        jsonText(fieldOf(this.#definitions, name) ?? one) === jsonText(one)
      );
    if (isShared) {
      for (const [name, one] of added) this.#definitions[name] ??= one;
      return own as JsonObject;
    }
    const plainName = name.replaceAll(/[^\w ]/g, "_");
    this.#definitions[plainName] = moved(schema, `#/$defs/${plainName}`);
    return { $ref: `#/$defs/${plainName}` };
  }
}

/** Returns a schema whose references lead to where it was moved. */
function moved(value: JsonValue, to: string): JsonValue {
  if (Array.isArray(value)) return value.map((inner) => moved(inner, to));
  if (!isJsonObject(value)) return value;
  const isOwn = (key: string, inner: JsonValue) =>
    key === "$ref" && typeof inner === "string" && inner.startsWith("#");
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isOwn(key, inner) ? to + String(inner).slice(1) : moved(inner, to),
    ]),
  );
}

/** Adds a place to the ways from what is around it; the first one there counts. */
function addStanding(root: Way, own: Standing, path: readonly string[]): Standing {
  let way = root;
  let items: Way | undefined;
  for (const part of path) {
    way = way.parts.getOrInsertComputed(part, () => ({ parts: new Map() }));
    if (part === "*") items = way;
  }
  const leader = items?.leader;
  const standing = { ...own, ...(leader && { leader }) };
  if (items !== undefined) items.leader ??= standing;
  return own.place.key === undefined ? way.scalar ??= standing : way.record ??= standing;
}

/** The name of the relation of a record to the one around it. */
function relationOf({ of, path, type }: RecordPlace): string {
  return "relation" in of ? of.relation : wordOf(path.findLast((part) => part !== "*") ?? "", type);
}

/** Returns the word for what a name of an id refers to: `owner` of `owner_id`. */
export function wordOf(name: string, type: string): string {
  const key = type.slice(type.lastIndexOf(".") + 1);
  const word = name.toLowerCase().endsWith(key.toLowerCase()) ? name.slice(0, -key.length) : name;
  return word.replace(/[_-]$/, "") || name;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

const SHAPES = new WeakMap<ToolGraph, Map<readonly ToolGraph[] | undefined, Shapes>>();

/** Returns what worlds of a graph share; it is made once for a list of versions. */
export function shapesOf(graph: ToolGraph, versions: readonly ToolGraph[] | undefined): Shapes {
  const known = SHAPES.getOrInsertComputed(graph, () => new Map());
  return known.getOrInsertComputed(versions, () => new Shapes(graph, versions ?? [graph]));
}
