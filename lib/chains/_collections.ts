/**
 * Collections: the entities that tools return one of by its id.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { ROUTE, type Tool } from "../tools/tool.ts";
import { idTypeOf, type Place, placesOf, type View, viewOf } from "./_places.ts";
import {
  ENVELOPES,
  FORMS,
  IDS,
  KEYS,
  NO_KEYS,
  plainName,
  singularWords,
  wordsOf,
} from "./_words.ts";

/** A parameter of a tool. */
export interface Parameter extends View {
  readonly name: string;
  readonly required: boolean;
}

/** The parts of a path: words, and names of parameters in lists. */
export type Path = readonly (string | readonly [parameter: string])[];

/** A tool with what is known of it. */
export interface KnownTool {
  readonly tool: Tool;
  readonly reads: boolean;
  readonly parameters: readonly Parameter[];
  readonly result: JsonObject | undefined;
  readonly places: readonly Place[];
  /** The path of an operation, with what it is found by; of another tool the one that its names would give. */
  readonly path: Path;
}

/** An entity whose records have ids that tools take. */
export interface Collection {
  /** `ENTITY.KEY`. */
  readonly name: string;
  readonly entity: string;
  /** The word of its path, in the singular and plain. */
  readonly word: string;
  readonly key: string;
  readonly type: "string" | "integer";
  /** The words of its first path, in the singular. */
  readonly words: ReadonlySet<string>;
  /** The paths of one record, with `{}` for each parameter. */
  readonly templates: Set<string>;
  /** The definitions that its records have. */
  readonly definitions: Set<JsonObject>;
  /** By the tools that return one record: the parameter that takes its id, and where the record stands. */
  readonly ones: Map<KnownTool, { readonly parameter: Parameter; readonly record: Place }>;
}

/**
 * Returns what is known of a tool.
 *
 * @param noun The noun of its name.
 * @param nouns Those of all tools.
 */
export function knownTool(
  tool: Tool,
  noun: string,
  nouns: readonly string[],
  own: Pick<KnownTool, "reads" | "result">,
): KnownTool {
  const { parameters: schema, [ROUTE]: route } = tool;
  const needed = new Set([schema["required"]].flat());
  const parameters = [...viewOf(schema, schema).properties].map(([name, one]) => ({
    ...viewOf(schema, one),
    ...{ name, required: needed.has(name) },
  }));
  const places = own.result ? placesOf(own.result) : [];
  const known = { ...own, tool, parameters, places, path: [] };
  if (route === undefined) return { ...known, path: pathOfNoun(known, noun, nouns) };
  const path = route.path.split("/").flatMap((part): Path[number][] => {
    const [, name] = /^\{([^{}]+)\}(?:\.\w+)?(?:[#?].*)?$/.exec(part) ?? [];
    if (name !== undefined) return [[route.parameters[name] ?? name]];
    const word = part.toLowerCase().replace(/\.(json|xml)$/, "");
    // Versions, and what is done with a record, say nothing of what it is.
    return /^(|v\d[\d.]*|api|rest|get|show|by-?id|find|details|info|lookup|view)$/.test(word)
      ? []
      : [word];
  });
  return { ...known, path };
}

/** Returns the path that a tool would have as an operation: `[["owner"], "issue", ["issue_number"]]` of `get_issue`. */
function pathOfNoun(known: KnownTool, noun: string, nouns: readonly string[]): Path {
  const before = ({ name }: Parameter) => {
    const words = wordsOf(name);
    const entity = words.slice(0, -1).join(" ");
    return KEYS.has(words.at(-1)!) && nouns.includes(entity) ? [entity] : [];
  };
  const needed = known.parameters.filter(({ required }) => required);
  const mine = needed.filter((one) => !before(one).some((word) => word !== noun));
  const own = mine.filter((one) => recordOf(known, one, noun) !== undefined);
  const named = mine.findLast((one) => isKey(restOf(one, noun)));
  const key = own.length === 1 ? own[0] : listedIn(known, noun) ? undefined : named;
  const others = needed.filter((one) => one !== key)
    .flatMap((one): Path => [...before(one), [one.name]]);
  // What a record is asked for by its own id are not such records.
  const isAsked = noun === "" || others.includes(noun);
  return [...others, ...(isAsked ? [] : [noun]), ...(key ? [[key.name] as const] : [])];
}

/** Returns a path with `{}` for each parameter. */
export function templateOf(path: Path): string {
  return path.map((part) => typeof part === "string" ? part : "{}").join("/");
}

/** Returns the words of a path, in the singular. */
export function wordsIn(path: Path): string[] {
  return path.filter((part) => typeof part === "string")
    .map((part) => singularWords(part).join(" "));
}

/** Returns where a path has a parameter; -1 if it does not. */
export function placeIn(path: Path, { name }: Parameter): number {
  return path.findIndex((part) => Array.isArray(part) && part[0] === name);
}

/** A parameter for the id of one of what the word before it in a path names. */
interface Asked {
  readonly known: KnownTool;
  readonly parameter: Parameter;
  /** The path to it. */
  readonly path: Path;
  readonly noun: string;
}

/** Returns what the parameters in a tool's path ask for; the last one, if `isOne`, for what the tool returns. */
function askedBy(known: KnownTool): Asked[] {
  return known.parameters.flatMap((parameter) => {
    const path = known.path.slice(0, placeIn(known.path, parameter) + 1);
    const noun = wordsIn(path.slice(-2, -1)).join();
    return known.reads && noun !== "" ? [{ known, parameter, path, noun }] : [];
  });
}

/** Whether a parameter asks for the record that its tool returns. */
const isOne = ({ known, path }: Asked) => path.length === known.path.length;

/** Returns the parameter that asks for the record that a tool returns. */
export function oneOf(known: KnownTool): Asked | undefined {
  return askedBy(known).find(isOne);
}

/** Returns the place of the items of the list that a tool returns. */
export function listedIn({ places }: KnownTool, noun: string): Place | undefined {
  const items = places.filter(({ path, type }) =>
    type === "object" && path.at(-1) === "*" && path.indexOf("*") === path.length - 1
  );
  return items.find(({ path }) => isMain(path.slice(0, -1), noun)) ??
    (items.length === 1 ? items[0] : undefined);
}

/** Returns the collections of some tools, each with a name of its own. */
export function collectionsOf(tools: readonly KnownTool[]): readonly Collection[] {
  const lists = new Map(
    tools.filter(({ reads }) => reads).map((one) => [`${templateOf(one.path)}/{}`, one]),
  );
  const kept: Collection[] = [];
  // What tools return by an id tells more than what they list.
  const [ones, others] = [true, false].map((first) =>
    tools.flatMap(askedBy).filter((one) => isOne(one) === first)
  );
  for (const asked of [...ones!, ...others!]) {
    const { known, parameter, path, noun } = asked;
    const template = templateOf(path);
    const main = isOne(asked) ? recordOf(known, parameter, noun) : undefined;
    const own = main ?? listedBy(lists.get(template), parameter, noun);
    if (own === undefined) continue;
    const { key, type } = own;
    const definitions = new Set(own.record.definitions.keys());
    const same = kept.find((one) =>
      one.templates.has(template) ||
      one.entity === noun && !one.definitions.isDisjointFrom(definitions)
    );
    const one = same ?? {
      ...{
        name: "",
        entity: noun,
        word: plainName(noun),
        words: new Set(wordsIn(path)),
        key,
        type,
      },
      ...{ templates: new Set(), definitions, ones: new Map() },
    };
    if (same === undefined) kept.push(one);
    if (one.key !== key || one.type !== type) continue;
    one.templates.add(template);
    const record = main?.record ?? mainsOf(known, noun)[0];
    if (isOne(asked) && record) one.ones.set(known, { parameter, record });
  }
  return kept.map((one, place) => {
    // Others of one word have the word before it, too, and else a number.
    const isAlone = kept.filter(({ word }) => word === one.word).length === 1;
    const longer = isAlone ? one.entity : [...one.words].slice(-2).join(" ");
    const isSame = ({ words }: Collection) => [...words].slice(-2).join(" ") === longer;
    const count = isAlone ? 0 : kept.slice(0, place).filter(isSame).length;
    const entity = count === 0 ? longer : `${longer} ${count + 1}`;
    return { ...one, entity, name: `${entity}.${one.key}` };
  });
}

/** Returns the record of a list with the property that is the value of a parameter. */
function listedBy(list: KnownTool | undefined, parameter: Parameter, noun: string) {
  const item = list && listedIn(list, noun);
  return item && isNamedAs(item, noun) ? keyedIn(list!, item, parameter, noun) : undefined;
}

/** Whether a way leads to what is returned: by names that say nothing, or that of the entity. */
function isMain(path: readonly string[], noun: string): boolean {
  return path.length <= 3 &&
    path.every((name) =>
      ENVELOPES.has(plainName(name)) || singularWords(name).join("") === plainName(noun)
    );
}

/** Returns the objects that a tool may return as one record: one that is named as it is comes first. */
function mainsOf({ places }: KnownTool, noun: string): Place[] {
  const mains = places.filter(({ path, type }) => type === "object" && isMain(path, noun));
  const named = mains.filter(({ name }) => plainName(name) === plainName(noun));
  return [...named, ...mains];
}

/** Returns the record that a parameter asks for, and which property of it is the parameter's value. */
function recordOf(known: KnownTool, parameter: Parameter, noun: string) {
  return mainsOf(known, noun).map((record) => keyedIn(known, record, parameter, noun)).find(
    Boolean,
  );
}

/** Returns a record with the property that is the value of a parameter. */
function keyedIn({ result }: KnownTool, record: Place, parameter: Parameter, noun: string) {
  const type = idTypeOf(parameter);
  const key = type && keysOf(record, parameter, noun)
    .find((name) => idTypeOf(viewOf(result!, record.properties.get(name)!)) === type);
  return key === undefined ? undefined : { record, key, type: type! };
}

/** Returns what a parameter's name says beside the noun: `number` of `pull_number` of a pull request. */
function restOf({ name }: Parameter, noun: string): string {
  const words = noun.split(" ");
  return wordsOf(name).filter((word) => !words.includes(word)).join("")
    .replace(plainName(noun), "");
}

/** Whether the definition of a record is named as an entity is, and not as another one, as `ReservedRoom` is. */
export function isNamedAs({ definitions }: View, noun: string): boolean {
  const [definition = noun] = definitions.values();
  const words = wordsOf(definition).filter((word) => !FORMS.has(word) && !/^v?\d+$/.test(word));
  return singularWords(words.join(" ")).join("") === plainName(noun);
}

const isKey = (rest: string) => rest === "" || KEYS.has(rest);

/** Returns the properties of a record that may hold the value of a parameter, the best first. */
function keysOf({ properties }: Place, parameter: Parameter, noun: string): string[] {
  const plain = plainName(parameter.name);
  const rest = restOf(parameter, noun);
  const wanted = [
    ...(NO_KEYS.has(wordsOf(parameter.name).at(-1) ?? "") ? [] : [plain]),
    ...(rest === "" ? ["id", "login", "slug", "key"] : []),
    ...(KEYS.has(rest) ? [rest, plainName(noun) + rest] : []),
    ...(plain === "username" ? ["login"] : []),
    ...wordsOf(parameter.name).slice(-1).filter((word) => IDS.has(word)),
  ];
  return wanted.flatMap((name) => properties.keys().find((key) => plainName(key) === name) ?? []);
}
