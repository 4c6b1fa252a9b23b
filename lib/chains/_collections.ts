/**
 * Collections: the entities that tools return one of by its id.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { ROUTE, type Tool } from "../tools/tool.ts";
import { idTypeOf, type Place, placesOf, type View, viewOf } from "./_places.ts";
import {
  ENVELOPES,
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
  /** The path of an operation, with what it is found by; empty for other tools. */
  readonly path: Path;
}

/** An entity whose records a tool returns by an id. */
export interface Collection {
  /** `ENTITY.KEY`. */
  readonly name: string;
  readonly entity: string;
  /** The word of its path, or the noun of its tools, in the singular and plain. */
  readonly word: string;
  readonly key: string;
  readonly type: "string" | "integer";
  /** The words of its first path, or its noun, in the singular. */
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

/** Returns what is known of a tool. */
export function knownTool(tool: Tool, reads: boolean, result: JsonObject | undefined): KnownTool {
  const { parameters, [ROUTE]: route } = tool;
  const needed = new Set([parameters["required"]].flat());
  return {
    ...{ tool, reads, result, places: result ? placesOf(result) : [] },
    parameters: [...viewOf(parameters, parameters).properties].map(([name, schema]) => ({
      ...viewOf(parameters, schema),
      ...{ name, required: needed.has(name) },
    })),
    path: (route?.path.split("/") ?? []).flatMap((part): Path[number][] => {
      const [, name] = /^\{([^{}]+)\}(?:\.\w+)?(?:[#?].*)?$/.exec(part) ?? [];
      if (name !== undefined) return [[route!.parameters[name] ?? name] as const];
      const word = part.toLowerCase().replace(/\.(json|xml)$/, "");
      // Versions, and what is done with a record, say nothing of what it is.
      return /^(|v\d[\d.]*|api|rest|get|show|by-?id|find|details|info|lookup|view)$/.test(word)
        ? []
        : [word];
    }),
  };
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

/** Returns the collections of some tools, each with a name of its own. */
export function collectionsOf(tools: readonly KnownTool[]): readonly Collection[] {
  const found = new Map<string, Collection>();
  for (const known of tools) {
    const { path, tool } = known;
    const isPath = path.some((part) => !isWord(part));
    const [last, word] = [path.at(-1), path.at(-2)];
    if (!known.reads || isPath && (isWord(last) || !isWord(word))) continue;
    const noun = isPath ? singularWords(String(word)).join(" ") : nounOf(tool.name);
    const fits = known.parameters.flatMap((parameter) => {
      const isAsked = isPath ? parameter.name === last![0] : parameter.required;
      const one = isAsked && noun !== "" ? recordOf(known, parameter, plainName(noun)) : undefined;
      return one === undefined ? [] : [{ ...one, parameter }];
    });
    const [one] = fits;
    if (one === undefined || fits.length > 1) continue;
    const { key, type, record } = one;
    const template = isPath ? templateOf(path) : `tools of ${noun}`;
    const collection = found.getOrInsertComputed(`${template} ${key} ${type}`, () => ({
      ...{ name: "", entity: noun, word: plainName(noun), key, type, ones: new Map() },
      ...{ templates: new Set([template]), definitions: new Set(record.definitions.keys()) },
      area: areaOf(path.slice(0, -1)),
      words: isPath ? wordsIn(path) : [noun],
    }));
    collection.ones.set(known, one);
  }
  const templates = tools.flatMap(({ path }) =>
    path.map((_, end) => templateOf(path.slice(0, end + 1)))
  );
  const uses = (one: Collection) => templates.filter((own) => one.templates.has(own)).length;
  const kept: Collection[] = [];
  // Of two keys of the same records the one that more paths take stays.
  for (const one of [...found.values()].sort((one, other) => uses(other) - uses(one))) {
    const same = kept.find(({ entity, area, definitions }) =>
      entity === one.entity && area === one.area && !definitions.isDisjointFrom(one.definitions)
    );
    if (same === undefined) kept.push(one);
    else if (same.key === one.key && same.type === one.type) {
      for (const template of one.templates) same.templates.add(template);
      for (const [known, place] of one.ones) same.ones.set(known, place);
    }
  }
  // Others of one name have the word before it, too, and else a number.
  const names = new Map<string, number>();
  return kept.map((one) => {
    const isAlone = kept.filter(({ word }) => word === one.word).length === 1;
    const longer = isAlone ? one.entity : one.words.slice(-2).join(" ");
    const count = (names.get(longer) ?? 0) + 1;
    names.set(longer, count);
    const entity = count === 1 ? longer : `${longer} ${count}`;
    return { ...one, entity, name: `${entity}.${one.key}` };
  });
}

/** Returns the record that a parameter asks for, and which property of it is the parameter's value. */
function recordOf({ result, places }: KnownTool, parameter: Parameter, entity: string) {
  const type = idTypeOf(parameter);
  // One that is named as the entity is the record, and what stands around it is not.
  const named = places.filter(({ name }) => plainName(name) === entity);
  for (const record of type === undefined ? [] : [...named, ...places]) {
    if (record.type !== "object" || !isMain(record.path, entity)) continue;
    for (const wanted of keysFor(parameter, entity)) {
      const [key, schema] = [...record.properties].find(([name]) => plainName(name) === wanted) ??
        [];
      if (key !== undefined && idTypeOf(viewOf(result!, schema!)) === type) {
        return { record, key, type: type! };
      }
    }
  }
}

/** Whether a way leads to what is returned: by names that say nothing, or that of the entity. */
export function isMain(path: readonly string[], entity: string): boolean {
  return path.length <= 3 &&
    path.every((name) => ENVELOPES.has(plainName(name)) || singularWords(name).join("") === entity);
}

/** Returns the properties that may hold the value of a parameter, the best first. */
function keysFor({ name, description }: Parameter, entity: string): string[] {
  const plain = plainName(name);
  const last = wordsOf(name).at(-1) ?? "";
  const said = wordsOf(description);
  const isName = said.includes("name") && !said.some((word) => IDS.has(word));
  const rest = plain.replace(entity, "");
  return [
    ...(NO_KEYS.has(last) ? [] : [plain]),
    ...(KEYS.has(rest) ? [rest, entity + rest] : []),
    ...(rest !== "" ? [] : isName ? ["login", "slug", "key"] : ["id", "login", "slug", "key"]),
    ...(plain === "username" ? ["login"] : []),
    ...(IDS.has(last) ? [last] : []),
  ];
}
