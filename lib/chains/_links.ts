/**
 * Links: which parameters take the ids of a collection, and where a result has them.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { isNamedAs, listedIn, placeIn, templateOf, wordsIn } from "./_collections.ts";
import type { Collection, KnownTool, Parameter, Path } from "./_collections.ts";
import { idTypeOf, type Place, type View, viewOf } from "./_places.ts";
import { ENVELOPES, IDS, KEYS, plainName, singularWords, wordsOf } from "./_words.ts";
import { getOrInsert, getOrInsertComputed } from "../base/get_or_insert.ts";

/** The rule by which a link is strict, or that a person named it. */
export type LinkRule = "own key" | "named id" | "path word" | "given";

/** A link that was found. */
export interface Found {
  readonly collection: Collection;
  readonly rule: LinkRule;
  /** Why it is not strict; omitted if it is. */
  readonly doubt?: string | undefined;
  /** The parameter, or the way in the result. */
  readonly at: string;
  /** What is the same wherever records of a type have it. */
  readonly way: string;
  /** What its schema says of the id. */
  readonly id: View;
}

/** What a rule says of a parameter or a place. */
type Ruled = Pick<Found, "collection" | "rule" | "doubt">;

/** A place of a record, or of its id. */
export interface FoundPlace extends Found {
  readonly place: Place;
  /** The record around it. */
  readonly around: FoundPlace | undefined;
  /** The way from there. */
  readonly below: readonly string[];
}

/** What a person decided of places by `TOOL.PARAMETER` and `TOOL:WAY`; `null`: there is no link. */
export type Decisions = ReadonlyMap<string, Collection | null>;

/** The links of some tools. */
export class Links {
  /** What parameters take. */
  readonly parameters: ReadonlyMap<Parameter, Found>;
  /** What stands in results. */
  readonly places: ReadonlyMap<KnownTool, readonly FoundPlace[]>;
  readonly #names = new Map<string, Set<Collection>>();
  readonly #definitions = new Map<JsonObject, Collection | undefined>();
  readonly #lists = new Map<KnownTool, readonly [Place, Collection]>();

  constructor(
    readonly collections: readonly Collection[],
    tools: readonly KnownTool[],
    decided: Decisions,
  ) {
    for (const one of collections) {
      for (const name of namesOf(one)) {
        getOrInsertComputed(
          this.#names,
          name,
          () => new Set(),
        ).add(one);
      }
      for (const definition of one.definitions) {
        const isOther = this.#definitions.has(definition);
        this.#definitions.set(definition, isOther ? undefined : one);
      }
    }
    // Such as `pull_number` of a pull request, where nothing else is called so.
    for (const one of collections) {
      const name = plainName(one.entity.split(" ")[0]! + one.key);
      const isAsked = one.ones.values().some(({ parameter }) => plainName(parameter.name) === name);
      if (isAsked) getOrInsertComputed(this.#names, name, () => new Set([one]));
    }
    for (const tool of tools) {
      const list = this.#listOf(tool);
      if (list === undefined) continue;
      this.#lists.set(tool, list);
      // A list tells of its items what no record of its own has told.
      for (const one of list[0].definitions.keys()) getOrInsert(this.#definitions, one, list[1]);
    }
    this.parameters = new Map(
      tools.flatMap((tool) =>
        tool.parameters.flatMap((parameter): [Parameter, Found][] => {
          const { name: at } = parameter;
          const way = `${tool.tool.name}.${at}`;
          const given = decided.get(way);
          const found = given === undefined ? this.#ofParameter(tool, parameter) : givenBy(given);
          return found ? [[parameter, { ...found, at, way, id: parameter }]] : [];
        })
      ),
    );
    // What is decided of a way in a record holds wherever one of its type stands.
    const ways = new Map(decided);
    for (const tool of tools) this.#ofResult(tool, ways);
    this.places = new Map(tools.map((tool) => [tool, this.#ofResult(tool, ways)]));
  }

  /** The collection at the end of a path, or the only one of its word, if nothing else before it tells it apart. */
  #at(path: Path, template: string): Collection | undefined {
    const word = singularWords(String(path.at(-1))).join("");
    const [only, other] = this.collections.filter((one) => one.word === word);
    const apart = path.filter((part, at) =>
      typeof part === "string" && typeof path[at + 1] === "string" &&
      !/^(me|my|self|search)$/.test(part)
    );
    const isSame = only !== undefined && other === undefined &&
      only.words.isSubsetOf(new Set(wordsIn(path))) &&
      wordsIn(apart).every((one) => only.words.has(one));
    return this.collections.find(({ templates }) => templates.has(template)) ??
      (isSame ? only : undefined);
  }

  /** The place of the items of the list that a tool returns, where they are records of a collection. */
  #listOf(known: KnownTool): readonly [Place, Collection] | undefined {
    const { path, reads } = known;
    if (!reads || typeof path.at(-1) !== "string") return undefined;
    const collection = this.#at(path, `${templateOf(path)}/{}`);
    const item = collection && listedIn(known, collection.entity);
    return item && idIn(known, item, collection) ? [item, collection] : undefined;
  }

  /** Returns which ids a parameter takes. */
  #ofParameter({ path }: KnownTool, parameter: Parameter): Ruled | undefined {
    const type = idTypeOf(parameter);
    if (type === undefined) return undefined;
    const plain = plainName(parameter.name);
    const own = this.collections.find(({ ones }) =>
      ones.values().some((one) => one.parameter === parameter)
    );
    if (own !== undefined) return { collection: own, rule: "own key" };
    const end = placeIn(path, parameter);
    const word = path[end - 1];
    const template = templateOf(path.slice(0, end + 1));
    const collection = typeof word === "string" && this.#at(path.slice(0, end), template);
    if (!collection || collection.type !== type) {
      return this.#byName(parameter.name, type, parameter);
    }
    const { key, templates } = collection;
    const isKey = templates.has(template) || plain === "id" && IDS.has(plainName(key)) ||
      [plainName(key), ...namesOf(collection)].includes(plain);
    const doubt = isKey ? undefined : `it stands after "${word}" in the path`;
    return { collection, rule: "path word", doubt };
  }

  /** Returns which ids a name stands for: those of the only collection of that name. */
  #byName(name: string, type: "string" | "integer" | undefined, view: View): Ruled | undefined {
    const words = wordsOf(name);
    for (const start of words.keys()) {
      const plain = words.slice(start).join("");
      const all = [...this.#names.get(plain) ?? []];
      const collection = all.find((one) => type === undefined || one.type === type);
      if (collection === undefined) continue;
      const isAlone = type !== undefined && plain === collection.word && !isSaid(collection, view);
      const doubt = start > 0
        ? "its name ends like that"
        : all.length > 1
        ? `${all.length} collections have this name`
        : isAlone
        ? `it has the name of the entity, and may be something else than its ${collection.key}`
        : undefined;
      return { collection, rule: "named id", doubt };
    }
  }

  /** Returns which record stands at a place, or its id. */
  #ofPlace(known: KnownTool, place: Place): Ruled | undefined {
    const type = idTypeOf(place);
    const name = place.path.at(-1) === "*" ? singularWords(place.name).join("_") : place.name;
    if (place.type !== "object") return type && this.#byName(name, type, place);
    const [item, listed] = this.#lists.get(known) ?? [];
    const asked = this.collections.find(({ ones }) => ones.get(known)?.record === place);
    if (asked) return { collection: asked, rule: "own key" };
    const own = [...place.definitions.keys()].map((one) => this.#definitions.get(one))
      .find(Boolean) ?? (item === place ? listed : undefined);
    if (own && idIn(known, place, own)) return { collection: own, rule: "own key" };
    const found = this.#byName(name, undefined, place);
    if (found === undefined || isNamedAs(place, found.collection.entity)) return found;
    return { ...found, doubt: `its schema is named ${[...place.definitions.values()][0]}` };
  }

  /** Returns where records and ids stand in a tool's result; notes in `ways` what is decided of records of a type. */
  #ofResult(known: KnownTool, ways: Map<string, Collection | null>): readonly FoundPlace[] {
    const records = new Map<Place, FoundPlace>();
    return known.places.flatMap((place) => {
      let outer = place.outer;
      while (outer !== undefined && !records.has(outer)) outer = outer.outer;
      const around = outer && records.get(outer);
      const below = place.path.slice(outer?.path.length ?? 0);
      if (below.join(".") === around?.collection.key) return [];
      const at = place.path.join(".");
      const own = `${known.tool.name}:${at}`;
      const way = around ? `${around.collection.name} ${below.join(".")}` : own;
      const given = ways.get(ways.has(own) ? own : way);
      if (ways.has(own)) ways.set(way, ways.get(own)!);
      const found = given === undefined ? this.#ofPlace(known, place) : givenBy(given);
      // One that is asked for by its id may be shown without it.
      const { record, parameter } = found?.collection.ones.get(known) ?? {};
      const shown = found && idIn(known, place, found.collection);
      const id = shown ?? (record === place ? parameter : undefined);
      if (id === undefined) return [];
      const one: FoundPlace = { ...found!, at, way, id, place, around, below };
      if (!one.doubt) records.set(place, one);
      return [one];
    });
  }
}

const givenBy = (collection: Collection | null): Ruled | undefined =>
  collection === null ? undefined : { collection, rule: "given" };

/** Returns what a schema says of an id of a collection, which stands there or is the key of an object there. */
export function idIn({ result }: KnownTool, view: View, { key, type }: Collection) {
  const schema = view.type === "object" ? view.properties.get(key) : undefined;
  const id = schema === undefined ? view : viewOf(result!, schema);
  return idTypeOf(id) === type ? id : undefined;
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
function isSaid({ key }: Collection, { plain, description }: View): boolean {
  return IDS.has(plainName(key)) && (plain["type"] === "integer" || plain["format"] === "uuid" ||
    wordsOf(description).some((word) => IDS.has(word) || word === "identifier"));
}

/** Returns how a record or an id is related to what is around it, by the names on the way. */
export function relationOf({ place, below, collection }: FoundPlace): string {
  const names = below.filter((name) => name !== "*" && !ENVELOPES.has(plainName(name)));
  const relation = names.map((name, at) => {
    const isItem = place.path.at(-1) === "*" && at === names.length - 1;
    const words = isItem ? singularWords(name) : wordsOf(name);
    const isKey = words.length > 1 && (KEYS.has(words.at(-1)!) || words.at(-1) === "ids");
    return (isKey ? words.slice(0, -1) : words).join("_");
  }).join(".");
  return relation || collection.entity.replaceAll(" ", "_");
}
