/**
 * Links: which parameters take the ids of a collection, and where a result has them.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import {
  areaOf,
  type Collection,
  isMain,
  type KnownTool,
  type Parameter,
  templateOf,
  wordsIn,
} from "./_collections.ts";
import { idTypeOf, type Place, type View, viewOf } from "./_places.ts";
import {
  ENVELOPES,
  FORMS,
  IDS,
  KEYS,
  nounOf,
  plainName,
  singularWords,
  wordsOf,
} from "./_words.ts";

/** The rule by which a link is strict, or that a person named it. */
export type LinkRule = "own key" | "named id" | "path word" | "given";

/** A link that was found. */
export interface Found {
  readonly collection: Collection;
  readonly rule: LinkRule;
  /** Why it is not strict; omitted if it is. */
  readonly doubt?: string | undefined;
}

/** A place of a record, or of its id. */
export interface FoundPlace extends Found {
  readonly place: Place;
  /** The record around it. */
  readonly around: FoundPlace | undefined;
  /** The way from there. */
  readonly below: readonly string[];
}

/** Records around one that is linked, at most. */
const MAX_AROUND = 3;

/** Finds links to some collections. */
export class Links {
  readonly #templates = new Map<string, Collection>();
  readonly #words = new Map<string, Set<Collection>>();
  readonly #names = new Map<string, Set<Collection>>();
  /** The areas in which paths have a word, by it. */
  readonly #areas = new Map<string, Set<string>>();
  readonly #definitions = new Map<JsonObject, Collection | undefined>();
  readonly #lists = new Map<KnownTool, readonly [Place, Collection]>();

  constructor(readonly collections: readonly Collection[], tools: readonly KnownTool[]) {
    const add = <Value>(map: Map<string, Set<Value>>, key: string, value: Value) =>
      map.getOrInsertComputed(key, () => new Set()).add(value);
    for (const one of collections) {
      for (const template of one.templates) this.#templates.set(template, one);
      add(this.#words, one.word, one);
      for (const name of namesOf(one)) add(this.#names, name, one);
      this.#define(one.definitions, one);
    }
    for (const { path } of tools) {
      for (const [place, part] of path.entries()) {
        if (typeof part !== "string" || typeof path[place + 1] === "string") continue;
        add(this.#areas, singularWords(part).join(""), areaOf(path.slice(0, place + 1)));
      }
    }
    const known = new Set(this.#definitions.keys());
    for (const tool of tools) {
      const list = this.#listOf(tool);
      if (list === undefined) continue;
      this.#lists.set(tool, list);
      // A list tells of its items what no record of its own has told.
      this.#define([...list[0].definitions.keys()].filter((one) => !known.has(one)), list[1]);
    }
  }

  #define(definitions: Iterable<JsonObject>, collection: Collection): void {
    for (const one of definitions) {
      const isOther = this.#definitions.has(one) && this.#definitions.get(one) !== collection;
      this.#definitions.set(one, isOther ? undefined : collection);
    }
  }

  /** The collection at the end of a path, or the only one of its word there. */
  #at(path: KnownTool["path"], template: string): Collection | undefined {
    const words = this.#words.get(singularWords(String(path.at(-1))).join("")) ?? [];
    const [only, other] = words;
    const within = new Set(wordsIn(path));
    const isSame = only !== undefined && other === undefined && only.area === areaOf(path) &&
      only.words.every((word) => within.has(word));
    return this.#templates.get(template) ?? (isSame ? only : undefined);
  }

  /** The place of the items of the list that a tool returns, where they are records of a collection. */
  #listOf(known: KnownTool): readonly [Place, Collection] | undefined {
    const { path, tool, reads, places } = known;
    if (!reads || Array.isArray(path.at(-1))) return undefined;
    const collection = this.#at(
      path.length > 0 ? path : [nounOf(tool.name)],
      `${templateOf(path)}/{}`,
    );
    const items = places.filter(({ path, type }) =>
      type === "object" && path.at(-1) === "*" && path.indexOf("*") === path.length - 1
    );
    const main = items.filter(({ path }) => isMain(path.slice(0, -1), collection?.word ?? ""));
    const [item] = main.length > 0 ? main : items.length === 1 ? items : [];
    return item && collection && isOf(known, item, collection) ? [item, collection] : undefined;
  }

  /** Returns which ids a parameter takes. */
  ofParameter(known: KnownTool, parameter: Parameter): Found | undefined {
    const type = idTypeOf(parameter);
    if (type === undefined) return undefined;
    const plain = plainName(parameter.name);
    const own = this.collections.find(({ ones }) => ones.get(known)?.parameter === parameter);
    if (own !== undefined) return { collection: own, rule: "own key" };
    const isSame = (one: Collection) =>
      [...one.ones.values()].some(({ parameter: { name } }) => plainName(name) === plain);
    const end = known.path.findIndex((part) => Array.isArray(part) && part[0] === parameter.name);
    if (end > 0) {
      const template = templateOf(known.path.slice(0, end + 1));
      const collection = this.#at(known.path.slice(0, end), template);
      if (collection?.type === type) {
        if (namesOf(collection).includes(plain)) return { collection, rule: "named id" };
        const isKey = plain === plainName(collection.key) ||
          plain === "id" && IDS.has(plainName(collection.key)) ||
          collection.templates.has(template) && isSame(collection);
        const doubt = isKey ? undefined : `it stands after "${known.path[end - 1]}" in the path`;
        return { collection, rule: "path word", doubt };
      }
    }
    return this.#byName(parameter.name, type, parameter, isSame);
  }

  /** Returns which ids a name stands for: those of the only collection of that name. */
  #byName(
    name: string,
    type: "string" | "integer" | undefined,
    view: View,
    isSame: (one: Collection) => boolean = () => false,
  ): Found | undefined {
    const words = wordsOf(name);
    for (const start of words.keys()) {
      const plain = words.slice(start).join("");
      const exact = [...this.#names.get(plain) ?? []];
      const collection = exact.find((one) => type === undefined || one.type === type);
      if (collection === undefined) continue;
      const { word, key } = collection;
      const count = Math.max(
        ...[exact.length, this.#words.get(word)!.size, this.#areas.get(word)?.size ?? 0],
      );
      const isAlone = type !== undefined && plain === word && !isSame(collection) &&
        !isSaid(collection, view);
      const doubt = start > 0
        ? "its name ends like that"
        : count > 1
        ? `${count} collections have this name`
        : isAlone
        ? `it has the name of the entity, and may be something else than its ${key}`
        : undefined;
      return { collection, rule: "named id", doubt };
    }
  }

  /** Returns which record stands at a place, or its id. */
  #ofPlace(known: KnownTool, place: Place, around: Collection | undefined): Found | undefined {
    const type = idTypeOf(place);
    const isItem = place.path.at(-1) === "*";
    const one = singularWords(place.name).join("_");
    // The items of a list that is named in the singular are parts of such a record.
    const name = !isItem ? place.name : one === wordsOf(place.name).join("_") ? "" : one;
    if (place.type !== "object") {
      const found = type && this.#byName(name, type, place);
      return found && found.collection === around
        ? { ...found, doubt: "it stands in a record of the same entity" }
        : found;
    }
    const list = this.#lists.get(known);
    const isList = list?.[0] === place;
    const isItsOwn = isList && list[1].templates.has(`${templateOf(known.path)}/{}`);
    const own = this.collections.find(({ ones }) => ones.get(known)?.record === place) ??
      (isItsOwn ? list[1] : undefined) ??
      [...place.definitions.keys()].map((one) => this.#definitions.get(one)).find(Boolean) ??
      (isList ? list[1] : undefined);
    if (own && isOf(known, place, own)) return { collection: own, rule: "own key" };
    const found = this.#byName(name, undefined, place);
    if (found === undefined || !isOf(known, place, found.collection)) return undefined;
    const [definition] = place.definitions.values();
    return isNamedAs(definition, found.collection)
      ? found
      : { ...found, doubt: `its schema is named ${definition}` };
  }

  /**
   * Returns where records and ids stand in a tool's result.
   *
   * @param decide Returns what a person has decided of a way within a type's records or the result; `null`: none.
   */
  ofResult(
    known: KnownTool,
    decide: (way: string, around: string) => Collection | null | undefined,
  ): readonly FoundPlace[] {
    const records = new Map<Place, FoundPlace>();
    return known.places.flatMap((place) => {
      let outer = place.outer;
      while (outer !== undefined && !records.has(outer)) outer = outer.outer;
      const around = outer && records.get(outer);
      const below = place.path.slice(outer?.path.length ?? 0);
      if (depthOf(around) >= MAX_AROUND || below.join(".") === around?.collection.key) return [];
      const given = decide(
        place.path.join("."),
        around ? `${around.collection.name} ${below.join(".")}` : "",
      );
      const found = given && isOf(known, place, given)
        ? { collection: given, rule: "given" as const }
        : given === null
        ? undefined
        : this.#ofPlace(known, place, around?.collection);
      if (found === undefined) return [];
      const one: FoundPlace = { ...found, place, around, below };
      if (one.doubt === undefined) records.set(place, one);
      return [one];
    });
  }
}

function depthOf(found: FoundPlace | undefined): number {
  return found === undefined ? 0 : 1 + depthOf(found.around);
}

/** Whether a value may be an id of a collection, or an object with its key. */
export function isOf({ result }: KnownTool, view: View, { key, type }: Collection): boolean {
  if (view.type !== "object") return idTypeOf(view) === type;
  const schema = view.properties.get(key);
  return schema !== undefined && idTypeOf(viewOf(result!, schema)) === type;
}

/** Returns the plain names by which others refer to a collection's ids. */
function namesOf({ entity, word, key }: Collection): string[] {
  const own = plainName(key).replace(word, "");
  return [word, plainName(entity)].flatMap((name) => [
    ...[name, name + own],
    ...(IDS.has(own) ? [`${name}id`] : []),
  ]);
}

/** Whether a value that has the name of an entity alone is said to be its id: a name or an address may be called so. */
function isSaid({ key, entity }: Collection, { plain, description }: View): boolean {
  if (!IDS.has(plainName(key))) return false;
  const words = wordsOf(description);
  return plain["type"] === "integer" || plain["format"] === "uuid" ||
    words.some((word, place) =>
      (IDS.has(word) || word === "ids" || word === "identifier") &&
      (/^(of|for)$/.test(words[place + 1] ?? "") ||
        wordsOf(entity).includes(words[place - 1] ?? ""))
    );
}

/** Whether a definition is named as an entity is, so that its objects are not of another one, as of `ReservedRoom`. */
function isNamedAs(definition: string | undefined, { entity }: Collection): boolean {
  if (definition === undefined) return true;
  const words = wordsOf(definition).filter((word) => !FORMS.has(word) && !/^v?\d+$/.test(word));
  return singularWords(words.join(" ")).join("") === plainName(entity);
}

/** Returns how a record or an id is related to what is around it, by the names on the way. */
export function relationOf({ place, below, around, collection }: FoundPlace): string {
  const names = below.filter((name) => name !== "*" && !ENVELOPES.has(plainName(name)));
  const relation = names.map((name, at) => {
    const isItem = place.path.at(-1) === "*" && at === names.length - 1;
    const words = isItem ? singularWords(name) : wordsOf(name);
    const isKey = words.length > 1 && (KEYS.has(words.at(-1)!) || words.at(-1) === "ids");
    return (isKey ? words.slice(0, -1) : words).join("_");
  }).join(".");
  return relation || around && place.name || collection.entity.replaceAll(" ", "_");
}
