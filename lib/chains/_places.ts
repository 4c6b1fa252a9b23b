/**
 * The places of a schema: what may stand where in a value.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../base/json.ts";
import { isOfNull, targetOf, typesOf } from "../tools/schema/position.ts";

/** What a schema says of a value, with all that it refers to. */
export interface View {
  /** The definitions whose values stand here, with their names: one, and those that it only passes on. */
  readonly definitions: ReadonlyMap<JsonObject, string>;
  /** Its only type beside null; omitted where there are several, or where any of several schemas may apply. */
  readonly type?: JsonValue | undefined;
  readonly properties: ReadonlyMap<string, JsonValue>;
  readonly items?: JsonValue | undefined;
  /** Empty where there is none. */
  readonly description: string;
  /** The type and what bounds a text or a number. */
  readonly plain: JsonObject;
}

/** A place in a value. */
export interface Place extends View {
  /** The way there: names of properties, and `*` for each item of a list. */
  readonly path: readonly string[];
  /** The last name of the way; empty for the whole. */
  readonly name: string;
  /** The object or list that it stands in. */
  readonly outer?: Place | undefined;
}

const PLAIN = ("type format pattern minLength maxLength minimum maximum exclusiveMinimum " +
  "exclusiveMaximum multipleOf enum const").split(" ");

/** Schemas that apply to one value and are read, at most. */
const MAX_PARTS = 1_000;

/** Returns what a schema says of a value. Of several that may apply (`anyOf`) nothing is known, unless one is null. */
export function viewOf(root: JsonObject, schema: JsonValue): View {
  const definitions = new Map<JsonObject, string>();
  const parts = new Set<JsonObject>();
  let isOpen = false;
  const collect = (one: JsonValue | undefined, isWhole: boolean): void => {
    if (!isJsonObject(one) || parts.has(one) || parts.size > MAX_PARTS) return;
    parts.add(one);
    const target = targetOf(root, one["$ref"]);
    if (target && isWhole) definitions.set(target, String(one["$ref"]).split("/").at(-1)!);
    collect(target, isWhole);
    const all = listOf(one["allOf"]);
    const named = all.filter((part) => isJsonObject(part) && Object.hasOwn(part, "$ref"));
    const isOther = (part: JsonValue) => isJsonObject(part) && Object.hasOwn(part, "properties");
    const isPassedOn = isWhole && named.length === 1 && ![one, ...all].some(isOther);
    for (const part of all) collect(part, isPassedOn && part === named[0]);
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = listOf(one[keyword]).filter((branch) => !isOfNull(branch));
      if (branches.length === 1) collect(branches[0], isWhole);
      isOpen ||= branches.length > 1;
    }
  };
  collect(schema, true);
  const all = [...parts];
  const first = (keyword: string) =>
    all.find((part) => Object.hasOwn(part, keyword) && part[keyword] !== null)?.[keyword];
  const properties = new Map(
    all.toReversed().flatMap(({ properties: own }) => isJsonObject(own) ? Object.entries(own) : []),
  );
  const types = new Set(
    all.flatMap((part) => part["type"] ?? typesOf(part) ?? []).filter((type) => type !== "null"),
  );
  const items = first("items");
  if (types.size === 0 && properties.size > 0) types.add("object");
  if (types.size === 0 && items !== undefined) types.add("array");
  const [type] = types.size === 1 ? types : [];
  const isPlain = type !== "object" && type !== "array";
  return {
    ...{ definitions, properties, items, type: isPlain && isOpen ? undefined : type },
    description: String(first("description") ?? ""),
    plain: Object.fromEntries(
      PLAIN.map((keyword) => [keyword, keyword === "type" ? type : first(keyword)])
        .filter(([, value]) => value !== undefined),
    ),
  };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The type of the ids that a schema allows; `undefined` where it is that of no ids. */
export function idTypeOf({ type, plain }: View): "string" | "integer" | undefined {
  const isListed = Object.hasOwn(plain, "enum") || Object.hasOwn(plain, "const");
  const isOdd = /^(date|time|ur|email|byte|binary|float|double)/.test(`${plain["format"]}`);
  if (isListed || isOdd) return undefined;
  return type === "number" ? "integer" : type === "string" || type === "integer" ? type : undefined;
}

/** Names and items on a way, at most, and places in a value: schemas may refer to themselves. */
const MAX_LENGTH = 9;
const MAX_PLACES = 4_000;

/** Returns the places of a value, each after the one around it; a definition within itself is not entered again. */
export function placesOf(root: JsonObject): readonly Place[] {
  const places: Place[] = [];
  const visit = (
    schema: JsonValue,
    at: Pick<Place, "path" | "name" | "outer">,
    entered: readonly JsonObject[],
  ): void => {
    if (places.length >= MAX_PLACES) return;
    const outer: Place = { ...viewOf(root, schema), ...at };
    places.push(outer);
    const { definitions, path, name, type, items, properties } = outer;
    const isWithin = entered.some((one) => definitions.has(one));
    if (isWithin || path.length >= MAX_LENGTH) return;
    const inner = [...entered, ...definitions.keys()];
    if (type === "array" && items) visit(items, { path: [...path, "*"], name, outer }, inner);
    if (type !== "object") return;
    for (const [key, value] of properties) {
      visit(value, { path: [...path, key], name: key, outer }, inner);
    }
  };
  visit(root, { path: [], name: "" }, []);
  return places;
}

/** Returns the schema of a value as examples show it: what is in all of them is required. */
export function schemaOfExamples(examples: readonly JsonValue[]): JsonObject {
  const shown = examples.filter((one) => one !== null);
  const types = new Set(shown.map((one) => typesOf({ const: one })![0]!));
  const [kind] = types;
  if (types.size !== 1 || kind === undefined) return {};
  const isWhole = kind === "number" && shown.every((one) => Number.isInteger(Number(one)));
  const own = isWhole ? "integer" : kind;
  const type = shown.length < examples.length ? [own, "null"] : own;
  if (kind === "array") return { type, items: schemaOfExamples((shown as JsonValue[][]).flat()) };
  if (kind !== "object") return { type };
  const objects = shown.map((one) => new Map(Object.entries(one as JsonObject)));
  const names = [...new Set(objects.flatMap((one) => [...one.keys()]))];
  const having = (name: string) => objects.filter((one) => one.has(name));
  return {
    type,
    properties: Object.fromEntries(
      names.map((name) => [name, schemaOfExamples(having(name).map((one) => one.get(name)!))]),
    ),
    required: names.filter((name) => having(name).length === objects.length),
  };
}
