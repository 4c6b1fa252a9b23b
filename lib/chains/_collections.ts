/**
 * Collections: the entities that tools return one of by its id.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { ROUTE, type Tool } from "../tools/tool.ts";
import { idTypeOf, type Place, placesOf, type View, viewOf } from "./_places.ts";
import {
  isEnvelope,
  isId,
  isOne,
  KEYS,
  plainName,
  singular,
  singularWords,
  verbAndNoun,
  wordsOf,
} from "./_words.ts";

/** A parameter of a tool. */
export interface Parameter extends View {
  readonly name: string;
  readonly required: boolean;
}

/** A tool with what is known of it. */
export interface KnownTool {
  readonly tool: Tool;
  readonly reads: boolean;
  readonly parameters: readonly Parameter[];
  readonly result?: JsonObject;
  readonly places: readonly Place[];
  /** The parts of the path of an operation: words, and names of parameters in lists. */
  readonly path: readonly (string | readonly [parameter: string])[];
}

/** An entity whose records a tool returns by an id. */
export interface Collection {
  entity: string;
  /** The last word of its path, or the noun of its tools, in the singular and without separators. */
  readonly word: string;
  readonly key: string;
  readonly type: "string" | "integer";
  /** What its paths begin with, as `areaOf()` has it; empty for others. */
  readonly area: string;
  /** The paths of one record, with `{}` for each parameter. */
  readonly templates: Set<string>;
  /** The definitions that its records have. */
  readonly definitions: Set<JsonObject>;
  /** By the names of the tools that return one record: the parameter that takes its id, and where the record stands. */
  readonly ones: Map<string, { readonly parameter: string; readonly record: Place }>;
}

/** Returns what is known of a tool, whose result may be told. */
export function knownTool(tool: Tool, reads: boolean, result: JsonObject | undefined): KnownTool {
  const { properties } = viewOf(tool.parameters, tool.parameters);
  const { required } = tool.parameters;
  const route = tool[ROUTE];
  const parts = route?.path.split("/").filter((part) => part !== "") ?? [];
  return {
    ...{ tool, reads },
    parameters: [...properties].map(([name, schema]) => ({
      ...viewOf(tool.parameters, schema),
      ...{ name, required: Array.isArray(required) && required.includes(name) },
    })),
    ...(result && { result }),
    places: result === undefined ? [] : placesOf(result),
    path: parts.map((part) => {
      const [, name] = /^\{([^{}]+)\}(?:\.\w+)?(?:[#?].*)?$/.exec(part) ?? [];
      return name === undefined ? part.toLowerCase().replace(/\.(json|xml)$/, "") : [
        route!.parameters[name] ?? name,
      ];
    }),
  };
}

/** Returns the first parts of a path, with `{}` for each parameter. */
export function templateOf(path: KnownTool["path"]): string {
  return path.map((part) => typeof part === "string" ? part : "{}").join("/");
}

/** Words of a path that say what is done, not with what. */
const VERBS = new Set("get show id byid find details info lookup view fetch read".split(" "));

/** Returns the words of a path before one of its parts, the nearest first. */
export function wordsBefore(path: KnownTool["path"], end: number): string[] {
  return path.slice(0, end).filter((part) => typeof part === "string").reverse()
    .filter((part) => !VERBS.has(plainName(part)) && !/^(v\d+(\.\d+)*|api|rest)$/.test(part));
}

/**
 * Returns the words of a path that no parameter follows, before its last one: `phone/devices` is another collection
 * than `h323/devices`, and `users/{}/devices` is most likely the same as `devices`.
 */
export function areaOf(path: KnownTool["path"], end: number): string {
  const [own] = wordsBefore(path, end);
  const at = path.slice(0, end).lastIndexOf(own ?? "");
  const alone = path.slice(0, at).filter((_, place) => typeof path[place + 1] === "string");
  return wordsBefore(alone, alone.length).filter((word) => !/^(me|my|self|search)$/.test(word))
    .join("/");
}

/** Whether an operation is known by its path: others are known by the words of their names, as all tools. */
export const hasPath = ({ path }: KnownTool): boolean => path.some((part) => Array.isArray(part));

/** Returns the collections of some tools, each with an entity of its own. */
export function collectionsOf(tools: readonly KnownTool[]): readonly Collection[] {
  const found = new Map<string, Collection & { readonly words: readonly string[] }>();
  for (const known of tools) {
    if (!known.reads || known.result === undefined) continue;
    const { name } = known.tool;
    const last = known.path.at(-1);
    const { verb, noun } = verbAndNoun(name);
    const isPath = hasPath(known);
    if (isPath ? typeof last === "string" : !isOne(verb) || noun.length === 0) continue;
    const words = isPath ? wordsBefore(known.path, known.path.length) : [noun.join(" ")];
    const between = known.path.at(-2);
    if (words[0] === undefined || isPath && typeof between !== "string") continue;
    const entity = singularWords(words[0]);
    const fits = known.parameters.flatMap((parameter) => {
      const isAsked = isPath ? parameter.name === last![0] : parameter.required;
      const one = isAsked ? recordOf(known, parameter, entity) : undefined;
      return one === undefined ? [] : [{ ...one, parameter: parameter.name }];
    });
    const [one] = fits;
    if (one === undefined || fits.length > 1) continue;
    const template = isPath ? templateOf(known.path) : `named ${entity.join(" ")}`;
    const collection = found.getOrInsertComputed(`${template} ${one.key} ${one.type}`, () => ({
      ...{ entity: entity.join(" "), word: entity.join(""), key: one.key, type: one.type, words },
      area: isPath ? areaOf(known.path, known.path.length) : "",
      ...{ templates: new Set([template]), definitions: new Set(), ones: new Map() },
    }));
    for (const definition of one.record.definitions) collection.definitions.add(definition);
    collection.ones.set(name, one);
  }
  const uses = (collection: Collection) =>
    tools.filter(({ path }) =>
      path.some((_, end) => collection.templates.has(templateOf(path.slice(0, end + 1))))
    ).length;
  const byUse = [...found.values()].map((one) => ({ one, uses: uses(one) }))
    .sort((one, other) => other.uses - one.uses).map(({ one }) => one);
  return apart(byUse);
}

/** Puts collections of the same records together, and gives different ones of one name the words before it. */
function apart(all: readonly (Collection & { readonly words: readonly string[] })[]) {
  const kept: typeof all[number][] = [];
  for (const one of all) {
    const same = kept.find((other) =>
      other.entity === one.entity && !other.definitions.isDisjointFrom(one.definitions)
    );
    if (same === undefined) kept.push(one);
    // Of two keys of the same records the one that more tools take stays.
    else if (same.key === one.key && same.type === one.type) {
      for (const template of one.templates) same.templates.add(template);
      for (const [name, place] of one.ones) same.ones.set(name, place);
    }
  }
  const entities = new Map(kept.map((one) => [one, one.entity]));
  for (const one of kept) {
    const others = kept.filter((other) => other !== one && other.word === one.word);
    for (let more = 1; more < one.words.length; more++) {
      const longer = (words: readonly string[]) =>
        words.slice(0, more + 1).toReversed().flatMap(singularWords).join(" ");
      if (others.length === 0) break;
      entities.set(one, longer(one.words));
      if (others.every((other) => longer(other.words) !== longer(one.words))) break;
    }
  }
  for (const [one, entity] of entities) one.entity = entity;
  const names = new Set<string>();
  return kept.filter(({ entity, key }) => {
    const isNew = !names.has(`${entity}.${key}`);
    names.add(`${entity}.${key}`);
    return isNew;
  });
}

/** Names that people are shown, or that say something else than which record it is. */
const NO_KEY = new Set(
  "name title label type status date email description url path ref file filename format".split(
    " ",
  ),
);

/** Returns the record that a parameter asks for, and which property of it is the parameter's value. */
function recordOf(
  { result, places }: KnownTool,
  parameter: Parameter,
  entity: readonly string[],
):
  | { readonly record: Place; readonly key: string; readonly type: "string" | "integer" }
  | undefined {
  const type = idTypeOf(parameter);
  if (type === undefined) return undefined;
  const wanted = keysFor(parameter, entity.join(""));
  for (const record of places) {
    if (record.type !== "object" || !isMain(record.path, entity.join(""))) continue;
    const own = new Map(
      [...record.properties].map(([name, value]) => [plainName(name), { name, value }]),
    );
    for (const key of wanted) {
      const property = own.get(key);
      if (property !== undefined && idTypeOf(viewOf(result!, property.value)) === type) {
        return { record, key: property.name, type };
      }
    }
  }
}

/** Whether a way leads to what is returned: by names that say nothing, or that of the entity. */
export function isMain(path: readonly string[], word: string): boolean {
  return path.length <= 3 &&
    path.every((name) => isEnvelope(name) || plainName(singular(name.toLowerCase())) === word);
}

/** Returns the properties that may hold the value of a parameter, without case and separators, the best first. */
function keysFor({ name, description = "" }: Parameter, entity: string): string[] {
  const plain = plainName(name);
  const last = wordsOf(name).at(-1) ?? "";
  const said = wordsOf(description);
  const isName = said.includes("name") && !said.some(isId);
  const rest = plain.startsWith(entity)
    ? plain.slice(entity.length)
    : plain.endsWith(entity)
    ? plain.slice(0, -entity.length)
    : plain;
  return [
    ...(NO_KEY.has(last) ? [] : [plain]),
    ...(KEYS.includes(rest) ? [rest, entity + rest] : []),
    ...(rest === "" ? ["id", "login", "slug", "key"].slice(isName ? 1 : 0) : []),
    ...(plain === "username" ? ["login"] : []),
    ...(isId(last) ? [last] : []),
  ];
}
