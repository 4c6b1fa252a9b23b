/**
 * Links: which parameters take the ids of a collection, and where a result has them.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import {
  areaOf,
  type Collection,
  hasPath,
  isMain,
  type KnownTool,
  type Parameter,
  templateOf,
  wordsBefore,
} from "./_collections.ts";
import { idTypeOf, type Place, type View, viewOf } from "./_places.ts";
import {
  isEnvelope,
  isId,
  KEYS,
  plainName,
  singular,
  singularWords,
  verbAndNoun,
  wordsOf,
} from "./_words.ts";

/** The rule by which a link is strict, or that a person named it. */
export type LinkRule = "own key" | "named id" | "path word" | "given";

/** A link that was found, or only supposed: then with why it is not strict. */
export interface Found {
  readonly collection: Collection;
  readonly rule: LinkRule;
  readonly doubt?: string;
  /** Whether the doubt is that its name is that of the entity alone. */
  readonly isAlone?: boolean;
}

/** Records around one that is linked, at most. */
const MAX_AROUND = 3;

/** Returns the name of the type of a collection's ids. */
export const typeName = ({ entity, key }: Collection): string => `${entity}.${key}`;

/** Finds links among some collections. */
export class Links {
  readonly #templates = new Map<string, Collection>();
  readonly #words = new Map<string, Collection[]>();
  readonly #names = new Map<string, Set<Collection>>();
  /** The areas in which paths have a word, by it. */
  readonly #areas = new Map<string, Set<string>>();
  readonly #definitions = new Map<JsonObject, Collection | undefined>();

  constructor(readonly collections: readonly Collection[], tools: readonly KnownTool[]) {
    for (const collection of collections) {
      for (const template of collection.templates) this.#templates.set(template, collection);
      this.#words.getOrInsert(collection.word, []).push(collection);
      for (const name of namesOf(collection)) {
        this.#names.getOrInsertComputed(name, () => new Set()).add(collection);
      }
    }
    for (const { path } of tools) {
      for (const [place, part] of path.entries()) {
        const isEnd = place === path.length - 1 || Array.isArray(path[place + 1]);
        if (typeof part !== "string" || !isEnd) continue;
        const word = singularWords(part).join("");
        this.#areas.getOrInsertComputed(word, () => new Set()).add(areaOf(path, place + 1));
      }
    }
    for (const collection of collections) this.#define(collection.definitions, collection);
    // A list tells of its items what no get-one has told.
    const listed = tools.flatMap((known) => {
      const item = this.listOf(known);
      return item === undefined ? [] : [item];
    });
    const before = new Set(this.#definitions.keys());
    for (const { place, collection } of listed) {
      this.#define(place.definitions.filter((one) => !before.has(one)), collection);
    }
  }

  #define(definitions: Iterable<JsonObject>, collection: Collection): void {
    for (const one of definitions) {
      const is = this.#definitions.has(one) && this.#definitions.get(one) !== collection;
      this.#definitions.set(one, is ? undefined : collection);
    }
  }

  /** Returns the place of the items of the list that a tool returns, where they are records of a collection. */
  listOf(known: KnownTool): { readonly place: Place; readonly collection: Collection } | undefined {
    const last = known.path.at(-1);
    if (!known.reads || known.result === undefined) return undefined;
    const isPath = hasPath(known) || typeof last === "string";
    if (isPath && typeof last !== "string") return undefined;
    const { noun } = verbAndNoun(known.tool.name);
    const word = isPath
      ? singularWords(last as string).join("")
      : singularWords(noun.join(" ")).join("");
    const words = this.#words.get(word) ?? [];
    const area = areaOf(known.path, known.path.length);
    const collection = this.#templates.get(`${templateOf(known.path)}/{}`) ??
      (words.length === 1 && words[0]!.area === area ? words[0] : undefined);
    if (collection === undefined) return undefined;
    const items = known.places.filter(({ path, type }) =>
      type === "object" && path.at(-1) === "*" && path.indexOf("*") === path.length - 1
    );
    const main = items.filter(({ path }) => isMain(path.slice(0, -1), collection.word));
    const [place] = main.length > 0 ? main : items.length === 1 ? items : [];
    if (place === undefined || !this.hasKey(known, place, collection)) return undefined;
    return { place, collection };
  }

  /** Whether an object has the key of a collection. */
  hasKey({ result }: KnownTool, place: Place, { key, type }: Collection): boolean {
    const schema = place.properties.get(key);
    return schema !== undefined && idTypeOf(viewOf(result!, schema)) === type;
  }

  /** Returns which ids a parameter takes. */
  ofParameter(known: KnownTool, parameter: Parameter): Found | undefined {
    const type = idTypeOf(parameter);
    if (type === undefined) return undefined;
    const plain = plainName(parameter.name);
    const own = this.collections.find(({ ones }) =>
      ones.get(known.tool.name)?.parameter === parameter.name
    );
    if (own !== undefined) return { collection: own, rule: "own key" };
    const at = known.path.findIndex((part) => Array.isArray(part) && part[0] === parameter.name);
    if (at >= 0) {
      const [word = ""] = wordsBefore(known.path, at);
      const words = this.#words.get(singularWords(word).join("")) ?? [];
      const same = this.#templates.get(templateOf(known.path.slice(0, at + 1)));
      const area = areaOf(known.path, at);
      const collection = same ??
        (words.length === 1 && words[0]!.area === area ? words[0]! : undefined);
      if (collection?.type === type) {
        const names = namesOf(collection);
        if (names.includes(plain)) return { collection, rule: "named id" };
        const isKey = plain === plainName(collection.key) ||
          plain === "id" && isId(collection.key) ||
          same !== undefined &&
            [...same.ones.values()].some((one) => plainName(one.parameter) === plain);
        if (isKey) return { collection, rule: "path word" };
        return { collection, rule: "path word", doubt: `it stands after "${word}" in the path` };
      }
    }
    const named = this.#byName(parameter.name, type, parameter);
    // The same name as where it is known makes up for a name that says little.
    const isSame = named?.isAlone === true &&
      [...named.collection.ones.values()].some((one) => plainName(one.parameter) === plain);
    return isSame ? { collection: named.collection, rule: named.rule } : named;
  }

  /** Returns which ids a name stands for: those of the only collection of that name. */
  #byName(
    name: string,
    type: "string" | "integer" | undefined,
    { plain: bounds, description = "" }: Pick<View, "plain" | "description">,
  ): Found | undefined {
    const fits = (one: Collection) => type === undefined || one.type === type;
    const plain = plainName(name);
    const exact = [...this.#names.get(plain) ?? []];
    const [collection] = exact.filter(fits);
    if (collection !== undefined) {
      const all = Math.max(
        exact.length,
        (this.#words.get(collection.word) ?? []).length,
        this.#areas.get(collection.word)?.size ?? 0,
      );
      const own = { collection, rule: "named id" } as const;
      if (all > 1) return { ...own, doubt: `${all} collections have this name` };
      const isAlone = type !== undefined && plain === collection.word &&
        !isSaid(collection, bounds, description);
      const doubt =
        `it has the name of the entity, and may be something else than its ${collection.key}`;
      return isAlone ? { ...own, doubt, isAlone } : own;
    }
    const words = wordsOf(name);
    for (let start = 1; start < words.length; start++) {
      const [end] = [...this.#names.get(words.slice(start).join("")) ?? []].filter(fits);
      const isWhole = end !== undefined && words.slice(start).join("") !== plainName(end.key);
      if (isWhole) return { collection: end, rule: "named id", doubt: "its name ends like that" };
    }
  }

  /** Returns which record stands at a place, or its id, apart from what decisions of a person say. */
  ofPlace(known: KnownTool, place: Place, around: Collection | undefined): Found | undefined {
    const one = this.collections.find(({ ones }) => ones.get(known.tool.name)?.record === place);
    if (one !== undefined) return { collection: one, rule: "own key" };
    const isItem = place.path.at(-1) === "*";
    const name = isItem ? singularWords(place.name).join("_") : place.name;
    if (place.type === "object") {
      const defined = place.definitions.map((one) => this.#definitions.get(one))
        .find((one) => one !== undefined);
      if (defined && this.hasKey(known, place, defined)) {
        return { collection: defined, rule: "own key" };
      }
      const list = this.listOf(known);
      if (list?.place === place) return { collection: list.collection, rule: "own key" };
      const named = this.#byName(name, undefined, place);
      if (named === undefined || !this.hasKey(known, place, named.collection)) return undefined;
      return isDefinedAs(place, named.collection)
        ? named
        : { ...named, doubt: `its schema is named ${place.definedAs}` };
    }
    const type = idTypeOf(place);
    if (type === undefined) return undefined;
    const found = this.#byName(isItem ? singularName(place.name) : name, type, place);
    return found?.collection === around && found !== undefined
      ? { ...found, doubt: "it stands in a record of the same entity" }
      : found;
  }
}

/** Returns the names by which others refer to a collection's ids, without case and separators. */
function namesOf({ entity, word, key }: Collection): string[] {
  const plain = plainName(key);
  const own = plain.startsWith(word) ? plain.slice(word.length) : plain;
  return [...new Set([word, plainName(entity)])].flatMap((name) => [
    name,
    name + own,
    ...(isId(own) ? [`${name}id`] : []),
  ]);
}

/** Whether a value that has the name of an entity alone is said to be its id: a name or an address may be called so. */
function isSaid({ key, entity }: Collection, { type, format }: JsonObject, description: string) {
  if (!isId(plainName(key))) return false;
  if (type === "integer" || format === "uuid") return true;
  const words = wordsOf(description);
  return words.some((word, place) =>
    (isId(singular(word)) || word === "identifier") &&
    (["of", "for"].includes(words[place + 1]!) || wordsOf(entity).includes(words[place - 1]!))
  );
}

/** Words of definitions' names that do not tell one entity from another. */
const FORMS = new Set(
  ("simple simplified nested compact mini minimal ref reference summary base basic object response " +
    "model dto schema read view detail details detailed full public private info data item " +
    "nullable resource entity record short light lite partial embedded related expanded extended " +
    "api output result serializer json").split(" "),
);

/** Whether a definition is named as an entity is, so that its objects are not of another one, such as `reserved room`. */
function isDefinedAs({ definedAs }: Place, { entity }: Collection): boolean {
  if (definedAs === undefined) return true;
  const words = wordsOf(definedAs).filter((word) => !FORMS.has(word) && !/^v?\d+$/.test(word));
  return singular(words.join("")) === plainName(entity);
}

function singularName(name: string): string {
  const words = wordsOf(name);
  return words.map((word, place) => place === words.length - 1 ? singular(word) : word).join("_");
}

/** Returns how a record or an id is related to the record around it, by the names on the way between them. */
function relationOf(path: readonly string[]): string {
  const names = path.filter((name) => name !== "*");
  return names.filter((name) => !isEnvelope(name)).map((name, place, kept) => {
    const isItem = path.at(-1) === "*" && place === kept.length - 1;
    const words = wordsOf(isItem ? singularName(name) : name);
    const isKey = words.length > 1 && KEYS.includes(words.at(-1)!);
    return (isKey ? words.slice(0, -1) : words).join("_");
  }).join(".");
}

/** A place of records with what stands around it, before what a person has decided. */
export interface Candidate extends Found {
  readonly place: Place;
  /** The candidate of the record around it. */
  readonly around?: Candidate;
  /** How it is related to that. */
  readonly relation: string;
  /** The type of that and the way from there: the same in all results; empty where nothing is around it. */
  readonly within: string;
}

/**
 * Returns where records and ids stand in a tool's result.
 *
 * @param decide Returns what a person has decided of a place within a record or the result; `null`: none stands there.
 */
export function candidatesOf(
  links: Links,
  known: KnownTool,
  decide: (place: Place, within: string) => Collection | null | undefined,
): readonly Candidate[] {
  const found = new Map<Place, Candidate>();
  const all: Candidate[] = [];
  for (const place of known.places) {
    let outer = place.around;
    while (outer !== undefined && !found.has(outer)) outer = outer.around;
    const around = outer && found.get(outer);
    if (depthOf(around) >= MAX_AROUND) continue;
    const isOwnKey = around !== undefined && place.around === outer &&
      place.name === around.collection.key;
    const below = place.path.slice(outer?.path.length ?? 0);
    const within = around ? `${typeName(around.collection)} ${below.join(".")}` : "";
    const given = decide(place, within);
    const own: Found | undefined = isOwnKey || given === null
      ? undefined
      : given
      ? { collection: given, rule: "given" }
      : links.ofPlace(known, place, around?.collection);
    if (own === undefined) continue;
    const one = {
      ...own,
      place,
      ...(around && { around }),
      relation: relationOf(below) || (around ? place.name : ""),
      within,
    };
    all.push(one);
    if (own.doubt === undefined) found.set(place, one);
  }
  return all;
}

function depthOf(candidate: Candidate | undefined): number {
  return candidate === undefined ? 0 : 1 + depthOf(candidate.around);
}
