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
  nounOf,
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
  readonly words: readonly string[];
  /** What its paths begin with, as `areaOf()` has it. */
  readonly area: string;
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

const isWord = (part: Path[number] | undefined) => typeof part === "string";

/**
 * Returns the words of a path that no parameter follows, but for the last: `phone/devices` is another collection than
 * `h323/devices`, and `users/{}/devices` is most likely the same as `devices`.
 */
export function areaOf(path: Path): string {
  return path.slice(0, -1).filter((part, place) =>
    isWord(part) && isWord(path[place + 1]) && !/^(me|my|self|search)$/.test(String(part))
  ).join("/");
}

/** Returns the words of a path, in the singular. */
export function wordsIn(path: Path): string[] {
  return path.filter(isWord).map((part) => singularWords(String(part)).join(" "));
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
  const asked = tools.flatMap(askedBy);
  // Records that tools return by their ids come first.
  for (const one of [...asked.filter(isOne), ...asked.filter((one) => !isOne(one))]) {
    const { known, parameter, path, noun } = one;
    const template = templateOf(path);
    const list = lists.get(template);
    const main = isOne(one) ? recordOf(known, parameter, noun) : undefined;
    const listed = list && listedIn(list, noun);
    const item = listed && isNamedAs(listed, noun) ? listed : undefined;
    const own = main ?? (item && keyedIn(list!, item, parameter, noun));
    if (own === undefined) continue;
    const { key, type, record: { definitions } } = own;
    const area = areaOf(path.slice(0, -1));
    let same = kept.find(({ entity, ...other }) =>
      other.templates.has(template) ||
      entity === noun && other.area === area &&
        !other.definitions.isDisjointFrom(new Set(definitions.keys()))
    );
    if (same === undefined) {
      same = {
        ...{ name: "", entity: noun, word: plainName(noun), key, type, ones: new Map(), area },
        ...{ templates: new Set(), definitions: new Set(definitions.keys()), words: wordsIn(path) },
      };
      kept.push(same);
    }
    if (same.key !== key || same.type !== type) continue;
    same.templates.add(template);
    const record = main?.record ?? mainOf(known, noun);
    if (isOne(one) && record) same.ones.set(known, { parameter, record });
  }
  // Others of one name have the word before it, too, and else a number.
  const names: string[] = [];
  return kept.map((one) => {
    const isAlone = kept.filter(({ word }) => word === one.word).length === 1;
    const longer = isAlone ? one.entity : one.words.slice(-2).join(" ");
    const count = names.push(longer) && names.filter((name) => name === longer).length;
    const entity = count === 1 ? longer : `${longer} ${count}`;
    return { ...one, entity, name: `${entity}.${one.key}` };
  });
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

const mainOf = (known: KnownTool, noun: string) => mainsOf(known, noun).find(Boolean);

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

/** Returns why the record that a tool returns by an id makes no type; `undefined` if that is not known. */
export function whyNone(known: KnownTool): string | undefined {
  const { parameter, noun } = oneOf(known) ?? {};
  const record = parameter && mainOf(known, noun!);
  if (record?.isOpen) return "its result may be one of several records";
  const [key] = record ? keysOf(record, parameter!, noun!) : [];
  if (key === undefined) return undefined;
  const { type } = viewOf(known.result!, record!.properties.get(key)!);
  return `its ${parameter!.name} is of type ${
    parameter!.type
  }, and ${key} of its record of ${type}`;
}
