/**
 * What the worlds of a graph share: its entities, how records refer to each other, and what tools show of them.
 * @module
 */

import {
  exactJson,
  fieldOf,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
} from "../base/json.ts";
import { Checks } from "../tools/schema/mock.ts";
import { schemasFor } from "../tools/schema/position.ts";
import { recordAround } from "./_plan.ts";
import { plainName } from "./_words.ts";
import type { IdType, RecordPlace, ToolGraph, ToolNode } from "./graph.ts";
import { getOrInsert, getOrInsertComputed } from "../base/get_or_insert.ts";

/** A type of things, whose records may have several ids. */
export interface Entity {
  readonly name: string;
  /** The names of the types of its ids, by the property that holds each. */
  readonly keys: ReadonlyMap<string, string>;
  readonly relations: Map<string, Relation>;
  readonly top: Part;
  /** All that tools say of its records. */
  readonly schema: { readonly allOf: JsonValue[] };
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

/** A record, or its id alone, within a result or the record around it. */
export interface Spot {
  readonly place: RecordPlace;
  readonly entity: Entity;
  /** The record around it, and how that refers to this one. */
  readonly around?: Spot;
  readonly relation?: Relation;
  /** What the tool says of the list around it, at the top of a result. */
  readonly list?: JsonObject;
}

/** A part of a record or of a result that leads to other records. */
export interface Part {
  readonly parts: Map<string, Part>;
  /** The record here, or its id, or either in the results of different tools. */
  readonly spots: Spot[];
  /** Of the items of a list, the records in them. */
  listed?: Spot[];
}

/** Returns a part that leads nowhere yet. */
function newPart(): Part {
  return { parts: new Map(), spots: [] };
}

/** Returns a way of names of properties, and `*` for items, as a text. */
export function wayText(way: readonly string[]): string {
  return way.join("\u0000");
}

/** What schemas show of a value. */
export class Shown {
  readonly #within = new Map<string, Shown | undefined>();
  readonly #root: JsonObject;
  #parts: readonly JsonObject[] | undefined;

  constructor(
    root: JsonObject,
    readonly schemas: readonly JsonValue[],
    readonly isOptional = false,
  ) {
    this.#root = root;
  }

  get parts(): readonly JsonObject[] {
    return this.#parts ??= schemasFor(this.#root, this.schemas).parts;
  }

  get isObject(): boolean {
    return this.parts.some(({ properties, type }) =>
      isJsonObject(properties) || [type].flat().includes("object")
    );
  }

  /** Returns what is shown of a property, or of items by `*`; `undefined` if it is not. */
  at(part: string): Shown | undefined {
    return getOrInsertComputed(this.#within, part, (key) => {
      const schemas = this.parts.flatMap((own) =>
        key === "*" ? itemsOf(own) : propertiesOf(own, key)
      );
      const isOptional = key !== "*" &&
        !this.parts.some(({ required }) => Array.isArray(required) && required.includes(key));
      return schemas.length === 0 ? undefined : new Shown(this.#root, schemas, isOptional);
    });
  }
}

function itemsOf({ items, prefixItems }: JsonObject): JsonValue[] {
  return [items ?? prefixItems].flat().filter((own) => own !== undefined);
}

function propertiesOf(schema: JsonObject, name: string): JsonValue[] {
  const own = fieldOf(schema["properties"], name);
  if (own !== undefined) return [own];
  const { required, additionalProperties, patternProperties } = schema;
  const others = [...Object.values(Object(patternProperties) as JsonObject), additionalProperties];
  const named = others.filter(isJsonObject);
  if (named.length > 0) return named;
  return Array.isArray(required) && required.includes(name) ? [true] : [];
}

/** What a world needs to know of a tool. */
export interface ToolShape {
  readonly node: ToolNode;
  /** The schema of its results, among the definitions of all tools. */
  readonly schema: JsonValue;
  readonly shown: Shown;
  /** What leads to the first records in a result. */
  readonly top: Part;
  /** All records in a result by the ways there, each after the one around it; and what is on these ways. */
  readonly spots: ReadonlyMap<string, Spot>;
  readonly ways: ReadonlySet<string>;
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
  readonly #described = new Set<string>();

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
      const entity = {
        ...{ name, keys, relations: new Map() },
        top: newPart(),
        schema: { allOf: [] },
      };
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
  }

  /** The relation by which records of an entity belong to one of another: that of a name, or the only one. */
  relationTo(entity: Entity, parent: Entity, word = parent.name): Relation | undefined {
    const own = [...entity.relations.values()].filter(({ target }) => target === parent);
    const single = own.filter(({ isList }) => !isList);
    return [word, parent.name].map((name) =>
      own.find((one) => plainName(one.name) === plainName(name))
    )
      .find((one) => one !== undefined) ?? (single.length === 1 ? single[0] : undefined);
  }

  /** The relation of listed records that decides on a list of them; `undefined` if the list itself does. */
  backOf({ entity, target }: Relation): Relation | undefined {
    const back = target === entity ? undefined : this.relationTo(target, entity);
    return back?.isList && target.name > entity.name ? undefined : back;
  }

  #toolShape(node: ToolNode, version: number): ToolShape {
    const schema = node.result && this.#shared(node.result, `${version} ${node.tool.name}`);
    const shown = new Shown(this.checks.root, [schema ?? true]);
    const top = newPart();
    const spots = new Map<string, Spot>();
    const shownAt = (path: readonly string[]) =>
      path.reduce<Shown | undefined>((own, part) => own?.at(part), shown);
    for (const place of node.records) {
      const { path, key, of } = place;
      const entity = this.entityOf.get(place.type)!;
      const outer = recordAround(node.records, place);
      const around = outer && spots.get(wayText(outer.path));
      const list = shownAt(path.slice(0, path.lastIndexOf("*")))?.parts[0];
      const own: Spot = { place, entity, ...(list && { list }) };
      // A record within another one is always of a relation.
      if (around === undefined || !("relation" in of)) {
        spots.set(wayText(path), addSpot(top, own, path));
      } else {
        const { relations } = around.entity;
        const way = path.slice(around.place.path.length);
        const [name, isList] = [of.relation, way.includes("*")];
        const relation = getOrInsert(relations, wayText([name, entity.name, `${isList}`]), {
          ...{ entity: around.entity, name, type: place.type, target: entity, isList },
        });
        const spot = addSpot(around.entity.top, { ...own, relation }, way);
        spots.set(wayText(path), { ...spot, place, around });
      }
      for (const one of key === undefined ? [] : shownAt(path)?.schemas ?? []) {
        const text = `${entity.name} ${jsonText(one)}`;
        if (!this.#described.has(text)) entity.schema.allOf.push(one);
        this.#described.add(text);
      }
    }
    const ways = new Set(
      node.records.flatMap(({ path }) => path.map((_, at) => wayText(path.slice(0, at + 1)))),
    );
    return { ...{ node, shown, top, spots, ways }, schema: schema ?? true };
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

/** Returns a schema whose references lead to where it was moved: within a text these quotes are written in another way. */
function moved(schema: JsonObject, to: string): JsonObject {
  return exactJson(jsonText(schema).replaceAll('"$ref":"#', `"$ref":"${to}`)) as JsonObject;
}

/** Adds a place, and returns it; of the same form at the end of the same way the first one counts. */
function addSpot(top: Part, own: Spot, way: readonly string[]): Spot {
  let [end, items]: [Part, Part | undefined] = [top, undefined];
  for (const name of way) {
    end = getOrInsertComputed(end.parts, name, newPart);
    if (name === "*") items = end;
  }
  const first = end.spots.find(({ place }) =>
    (place.key === undefined) === (own.place.key === undefined)
  );
  if (first !== undefined) return first;
  end.spots.push(own);
  if (items !== undefined) (items.listed ??= []).push(own);
  return own;
}

/** Returns the word for what a name of an id refers to: `owner` of `owner_id`. */
export function wordOf(name: string, type: string): string {
  const key = type.slice(type.lastIndexOf(".") + 1);
  const word = name.toLowerCase().endsWith(key.toLowerCase()) ? name.slice(0, -key.length) : name;
  return word.replace(/[_-]$/, "") || name;
}

const SHAPES = new WeakMap<ToolGraph, Map<readonly ToolGraph[] | undefined, Shapes>>();

/** Returns what worlds of a graph share; it is made once for a list of versions. */
export function shapesOf(graph: ToolGraph, versions: readonly ToolGraph[] | undefined): Shapes {
  const known = getOrInsertComputed(SHAPES, graph, () => new Map());
  return getOrInsertComputed(known, versions, () => new Shapes(graph, versions ?? [graph]));
}
