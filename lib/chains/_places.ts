/**
 * The places of a schema: what may stand where in a value.
 * @module
 */

import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { targetOf } from "../tools/schema/position.ts";

/** What a schema says of a value, with all that it refers to. */
export interface View {
  /** The definitions whose values stand here: one, and those that it only passes on. */
  readonly definitions: readonly JsonObject[];
  /** The name of the first of them; omitted where there is none. */
  readonly definedAs?: string;
  /** Its only type beside null; omitted where there are several, or where any of several schemas may apply. */
  readonly type?: string;
  readonly properties: ReadonlyMap<string, JsonValue>;
  readonly items?: JsonValue;
  readonly description?: string;
  /** The keywords that bound a text or a number. */
  readonly plain: JsonObject;
}

/** A place in a value. */
export interface Place extends View {
  /** The way there: names of properties, and `*` for each item of a list. */
  readonly path: readonly string[];
  /** The last name of the way; empty for the whole. */
  readonly name: string;
  /** The object or list that it stands in. */
  readonly around?: Place;
}

const PLAIN = (
  "format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum " +
  "multipleOf enum const"
).split(" ");

/** Returns what a schema says of a value. Of several that may apply (`anyOf`) nothing is known, unless one is null. */
export function viewOf(root: JsonObject, schema: JsonValue): View {
  const definitions: JsonObject[] = [];
  let definedAs: string | undefined;
  const parts = new Set<JsonObject>();
  let isOpen = false;
  const collect = (one: JsonValue | undefined, isWhole: boolean): void => {
    if (!isJsonObject(one) || parts.has(one)) return;
    parts.add(one);
    const target = targetOf(root, one["$ref"]);
    if (target !== undefined && isWhole) {
      definitions.push(target);
      definedAs ??= String(one["$ref"]).split("/").at(-1)!;
    }
    collect(target, isWhole);
    const all = listOf(one["allOf"]);
    const named = all.filter((part) => isJsonObject(part) && Object.hasOwn(part, "$ref"));
    const isOther = (part: JsonValue) => isJsonObject(part) && Object.hasOwn(part, "properties");
    const isWrapped = isWhole && named.length === 1 && ![one, ...all].some(isOther);
    for (const part of all) collect(part, isWrapped && part === named[0]);
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = listOf(one[keyword]).filter((branch) => !isNull(branch));
      if (branches.length === 1) collect(branches[0], isWhole);
      isOpen ||= branches.length > 1;
    }
  };
  collect(schema, true);
  const all = [...parts];
  const types = new Set(all.flatMap(typesIn).filter((type) => type !== "null"));
  const properties = new Map<string, JsonValue>();
  for (const part of all) {
    const own = part["properties"];
    for (const [name, inner] of Object.entries(isJsonObject(own) ? own : {})) {
      if (!properties.has(name)) properties.set(name, inner);
    }
  }
  const items = all.find((part) => isJsonObject(part["items"]))?.["items"];
  const guessed = properties.size > 0 ? "object" : items !== undefined ? "array" : undefined;
  const type = types.size === 0 ? guessed : types.size === 1 ? String([...types][0]) : undefined;
  const isPlain = type !== "object" && type !== "array";
  const description = all.find((part) => typeof part["description"] === "string")?.["description"];
  return {
    ...{ definitions, properties },
    ...(definedAs === undefined ? {} : { definedAs }),
    ...(type === undefined || isPlain && isOpen ? {} : { type }),
    ...(items === undefined ? {} : { items }),
    ...(typeof description === "string" ? { description } : {}),
    plain: Object.fromEntries([
      ...(type === undefined ? [] : [["type", type] as const]),
      ...PLAIN.flatMap((keyword) => {
        const value = all.find((part) => Object.hasOwn(part, keyword))?.[keyword];
        return value === undefined ? [] : [[keyword, value] as const];
      }),
    ]),
  };
}

/** The type of an id's schema; `undefined` where it is none of ids. */
export function idTypeOf({ type, plain }: View): "string" | "integer" | undefined {
  if (["enum", "const"].some((keyword) => Object.hasOwn(plain, keyword))) return undefined;
  if (type === "number" && plain["format"] === undefined) return "integer";
  if (type === "string" && /^(date|time|uri|url|email|byte|binary)/.test(`${plain["format"]}`)) {
    return undefined;
  }
  return type === "string" || type === "integer" ? type : undefined;
}

function typesIn(schema: JsonObject): JsonValue[] {
  const { type } = schema;
  if (type !== undefined) return [type].flat();
  const listed = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  return [...new Set(listed.map((one) => one === null ? "null" : typeof one))];
}

function isNull(schema: JsonValue): boolean {
  return isJsonObject(schema) &&
    (schema["type"] === "null" || schema["const"] === null ||
      canonicalJson(schema["enum"] ?? 0) === "[null]");
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Names and items on a way, at most, and places in a value: schemas may refer to themselves. */
const MAX_LENGTH = 9;
const MAX_PLACES = 4_000;

/** Returns the places of a value, each after the one around it; a definition within itself is not entered again. */
export function placesOf(root: JsonObject): readonly Place[] {
  const places: Place[] = [];
  const visit = (
    schema: JsonValue,
    path: readonly string[],
    name: string,
    around: Place | undefined,
    entered: readonly JsonObject[],
  ): void => {
    if (places.length >= MAX_PLACES) return;
    const view = viewOf(root, schema);
    const place: Place = { ...view, path, name, ...(around && { around }) };
    places.push(place);
    const isWithin = view.definitions.some((one) => entered.includes(one));
    if (isWithin || path.length >= MAX_LENGTH) return;
    const inner = [...entered, ...view.definitions];
    if (view.type === "array" && view.items !== undefined) {
      visit(view.items, [...path, "*"], name, place, inner);
    }
    if (view.type !== "object") return;
    for (const [key, value] of view.properties) visit(value, [...path, key], key, place, inner);
  };
  visit(root, [], "", undefined, []);
  return places;
}

/** Returns the schema of a value as an example shows it: what is there is required, and nothing more is known. */
export function schemaOfExample(examples: readonly unknown[]): JsonObject {
  const shown = examples.filter((one) => one !== null && one !== undefined);
  const kinds = new Set(shown.map((one) => Array.isArray(one) ? "array" : typeof one));
  const [kind] = kinds;
  if (kinds.size !== 1 || kind === undefined) return {};
  const nullable = (type: string) => shown.length < examples.length ? [type, "null"] : type;
  if (kind === "array") {
    return { type: nullable(kind), items: schemaOfExample((shown as unknown[][]).flat()) };
  }
  if (kind === "object") {
    const objects = shown as Record<string, unknown>[];
    const names = [...new Set(objects.flatMap((one) => Object.keys(one)))];
    const having = (name: string) => objects.filter((one) => Object.hasOwn(one, name));
    return {
      type: nullable(kind),
      properties: Object.fromEntries(
        names.map((name) => [name, schemaOfExample(having(name).map((one) => one[name]))]),
      ),
      required: names.filter((name) => having(name).length === objects.length),
    };
  }
  const isWhole = kind === "number" && shown.every(Number.isInteger);
  return { type: nullable(isWhole ? "integer" : kind === "bigint" ? "integer" : kind) };
}
