/**
 * Results that are made up: values that fit a JSON Schema, drawn from a seed.
 * @module
 */

import {
  canonicalJson,
  defined,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  withNumbers,
} from "../../base/json.ts";
import { attempt } from "../../base/errors.ts";
import { fork, type Stream } from "../../base/random.ts";
import { errorOfResult } from "../references/symbol_table.ts";
import { assertEnding } from "./_ending.ts";
import { targetOf, typeOf } from "./position.ts";
import { formattedText, MAX_TEXT, patternText, word, words } from "./_mock_text.ts";
import { randomIntegerBetween, sample } from "@std/random";
import { type ValueCheck, valueCheck } from "./validate.ts";

/** Attempts to find a value that fits; from the middle on, with nothing that may be left out. */
const ATTEMPTS = 20;
/** Levels and values up to which optional parts are drawn. */
const FULL_DEPTH = 4;
const FULL_VALUES = 150;
/** Levels and values, at most: a schema that needs more is not finite, or its value would be of no use. */
const MAX_DEPTH = 60;
const MAX_VALUES = 5_000;
/** Characters of all texts, constants and names, at most: as many as a response of a service may have. */
const MAX_CHARACTERS = 2 ** 20;
/** Items of a list beyond the least, at most. */
const MAX_MORE = 3;

/**
 * Makes up a value that fits a schema: the same for the same arguments and words of `purpose`, and most likely another
 * for others. Its properties of the names of arguments have their values where these fit, as those of a real service
 * would: who asks for order 7 gets order 7. `undefined` if none was found.
 *
 * @throws {Error} If none was found, and the schema cannot be checked.
 */
export type MakeMock = (
  seed: number,
  input: JsonObject,
  ...purpose: readonly string[]
) => { readonly value: JsonValue } | undefined;

/**
 * Returns what makes up values that fit one schema. `unsafePatterns` is the option of tools.
 *
 * @throws {RangeError} If the schema has no end.
 */
export function mocksOf(schema: JsonObject, unsafePatterns = false): MakeMock {
  assertEnding(schema);
  const checks = new Checks(schema, unsafePatterns);
  let check: ValueCheck | undefined;
  return (seed, input, ...purpose) => {
    let found: { readonly value: JsonValue } | undefined;
    let fault: unknown;
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      const stream = fork(seed, "openapi", ...purpose, canonicalJson(input), tries);
      const maker = new Maker(checks, stream, input, tries);
      try {
        const value = maker.make(schema);
        // Where the whole schema cannot be checked, its parts have been.
        check ??= attempt(() => valueCheck(schema, unsafePatterns)) ?? (() => undefined);
        if (check(value) !== undefined) continue;
        found ??= { value };
        // A success is not to be taken for a failure, if another value will do.
        if (errorOfResult(jsonText(value)) === undefined) return { value };
      } catch (error) {
        if (!(error instanceof Unfit)) throw error;
        fault ??= error.cause;
      }
    }
    if (found === undefined && fault !== undefined) throw fault;
    return found;
  };
}

class Maker {
  #values = 0;
  #characters = 0;

  constructor(
    readonly checks: Checks,
    readonly stream: Stream,
    readonly input: JsonObject,
    readonly attempt: number,
  ) {}

  make(schema: JsonValue, depth = 0): JsonValue {
    for (let tries = 1;; tries++) {
      if (++this.#values > MAX_VALUES || depth > MAX_DEPTH) throw new Unfit();
      if (schema === false) throw new Unfit();
      if (!isJsonObject(schema)) return words(this.stream, 0, MAX_TEXT);
      const whole = this.#whole(schema, depth);
      const value = this.#fitting(whole, depth);
      // A value of one branch may fit another. Asking takes long, and the first attempt does without.
      const isChosen = Object.hasOwn(whole, "oneOf") && this.attempt > 0 && tries < ATTEMPTS;
      if (!isChosen || this.checks.fits(schema, value)) return value;
    }
  }

  #fitting(whole: JsonObject, depth: number): JsonValue {
    if (Object.hasOwn(whole, "const")) return this.#counted(whole["const"]!);
    const types = typesOf(whole);
    if (Array.isArray(whole["enum"])) return this.#counted(this.#listed(whole, types));
    return this.#typed(whole, this.#type(types, depth), depth);
  }

  /** Counts the characters of a value that is not made of others: a schema may ask for very many long ones. */
  #counted<Value extends JsonValue>(value: Value): Value {
    this.#characters += jsonText(value).length;
    if (this.#characters > MAX_CHARACTERS) throw new Unfit();
    return value;
  }

  /** Whether optional parts are drawn at a depth. */
  #isRich(depth: number): boolean {
    return this.attempt < ATTEMPTS / 2 && depth < FULL_DEPTH && this.#values < FULL_VALUES;
  }

  #chance(share: number): boolean {
    return this.stream.prng() < share;
  }

  #between(least: number, most: number): number {
    return randomIntegerBetween(least, most, this.stream);
  }

  /** Returns all that applies to one value, with one branch of each choice. */
  #whole(schema: JsonObject, depth: number): JsonObject {
    let whole: JsonObject = {};
    // One that is reached in several ways applies once.
    const waiting = new Set<JsonValue>([schema]);
    for (const next of waiting) {
      if (next === false || waiting.size > MAX_VALUES) throw new Unfit();
      if (!isJsonObject(next)) continue;
      const { $ref, allOf, anyOf, oneOf, $defs: _, ...own } = next;
      whole = merged(whole, own as JsonObject);
      if (typeof $ref === "string") {
        waiting.add(targetOf(this.checks.root, $ref) ?? true);
      }
      if (Array.isArray(allOf)) { for (const one of allOf) waiting.add(one); }
      if (Array.isArray(oneOf)) whole = { ...whole, oneOf };
      for (const branches of [anyOf, oneOf]) {
        if (Array.isArray(branches) && branches.length > 0) {
          waiting.add(this.#branch(branches, depth));
        }
      }
    }
    // A branch that was chosen by itself may not go with the types beside it.
    if (Array.isArray(whole["type"]) && whole["type"].length === 0) throw new Unfit();
    return whole;
  }

  /** Chooses a branch: any, and deep within a value a small one. */
  #branch(branches: readonly JsonValue[], depth: number): JsonValue {
    const small = this.#isRich(depth) ? [] : branches.filter((branch) => this.#isSmall(branch));
    return sample(small.length > 0 ? small : branches, this.stream)!;
  }

  /** Whether a schema is that of a value without parts. */
  #isSmall(schema: JsonValue): boolean {
    let found = schema;
    for (let hops = 0; isJsonObject(found) && typeof found["$ref"] === "string"; hops++) {
      if (hops > MAX_DEPTH) return false;
      found = targetOf(this.checks.root, found["$ref"]) ?? true;
    }
    if (!isJsonObject(found)) return found === true;
    return typesOf(found)?.some((type) => type !== "object" && type !== "array") ??
      (Object.hasOwn(found, "enum") || Object.hasOwn(found, "const"));
  }

  #listed(schema: JsonObject, types: readonly JsonValue[] | undefined): JsonValue {
    const values = (schema["enum"] as JsonValue[]).filter((value) =>
      (types === undefined || types.includes(typeOf(value)) ||
        types.includes("integer") && Number.isInteger(withNumbers(value))) &&
      (typeof value === "object" && value !== null || this.checks.fitsPlain(schema, value))
    );
    const value = sample(values, this.stream);
    if (value === undefined) throw new Unfit();
    return value;
  }

  /** Chooses a type: seldom null, and deep within a value one without parts. */
  #type(types: readonly JsonValue[] | undefined, depth: number): JsonValue {
    if (types === undefined) return "string";
    if (
      types.length > 1 && types.includes("null") && (!this.#isRich(depth) || this.#chance(0.15))
    ) {
      return "null";
    }
    const others = types.filter((type) => type !== "null");
    const small = this.#isRich(depth)
      ? []
      : others.filter((type) => type !== "object" && type !== "array");
    return sample(small.length > 0 ? small : others.length > 0 ? others : types, this.stream)!;
  }

  #typed(schema: JsonObject, type: JsonValue, depth: number): JsonValue {
    switch (type) {
      case "null":
        return null;
      case "boolean":
        return this.#chance(0.5);
      case "integer":
      case "number":
        return this.#number(schema, type === "integer");
      case "array":
        return this.#list(schema, depth);
      case "object":
        return this.#object(schema, depth);
      case "string":
        return this.#counted(this.#text(schema));
    }
    throw new Unfit();
  }

  #text(schema: JsonObject): string {
    const { format, pattern, contentEncoding } = schema;
    const least = sizeOf(schema, "minLength", 0);
    const most = sizeOf(schema, "maxLength", Infinity);
    if (least > MAX_TEXT || most < least) throw new Unfit();
    const kind = contentEncoding === "base64" ? "byte" : format;
    if (typeof pattern !== "string") {
      const text = formattedText(kind, this.stream);
      if (text === undefined) return words(this.stream, least, most);
      if (text.length >= least && text.length <= most) return text;
      throw new Unfit();
    }
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      // A format with a pattern is often one that this pattern has been written for.
      const text = (tries % 4 === 3 ? formattedText(kind, this.stream) : undefined) ??
        patternText(pattern, this.stream, least);
      if (text === undefined && tries >= 2) throw new Unfit();
      if (text !== undefined && this.checks.fitsPlain(schema, text)) return text;
    }
    throw new Unfit();
  }

  #number(schema: JsonObject, isWhole: boolean): number {
    const bound = (keyword: string) =>
      typeof schema[keyword] === "number" ? schema[keyword] : undefined;
    const [above, below] = [bound("exclusiveMinimum"), bound("exclusiveMaximum")];
    const step = bound("multipleOf");
    const low = Math.max(bound("minimum") ?? -Infinity, above ?? -Infinity);
    const high = Math.min(bound("maximum") ?? Infinity, below ?? Infinity);
    // Numbers of things and of money are small and positive.
    const isTime = /time/.test(String(schema["format"]));
    const usual = isTime ? 1_700_000_000 : 1;
    const span = isTime ? 100_000_000 : 1_000;
    // A bound that no number is exact at, as of 64 bits, leaves the usual ones.
    const from = low >= Number.MIN_SAFE_INTEGER
      ? low
      : high < Infinity
      ? Math.min(usual, high - span)
      : usual;
    const to = high < Infinity ? high : from + span;
    if (step !== undefined && step > 0) {
      // Fractions are not exact: the check decides.
      const [first, last] = [
        Math.ceil(from / step),
        Math.floor(Math.min(to, from + span * step) / step),
      ];
      if (first > last) throw new Unfit();
      const value = Number((this.#between(first, last) * step).toPrecision(15));
      if (this.checks.fitsPlain(isWhole ? { ...schema, type: "integer" } : schema, value)) {
        return value;
      }
      throw new Unfit();
    }
    if (isWhole) {
      const first = above !== undefined && above >= from ? Math.floor(above) + 1 : Math.ceil(from);
      const last = below !== undefined && below <= high ? Math.ceil(below) - 1 : Math.floor(to);
      if (first > last || !Number.isSafeInteger(first)) throw new Unfit();
      return this.#between(first, Math.min(last, first + span));
    }
    if (from > to) throw new Unfit();
    const drawn = from + this.stream.prng() * (Math.min(to, from + span) - from);
    const rounded = Math.round(drawn * 100) / 100;
    const fits = (value: number) =>
      value >= low && value <= high && value !== above && value !== below;
    if (fits(rounded)) return rounded;
    if (fits(drawn)) return drawn;
    throw new Unfit();
  }

  #list(schema: JsonObject, depth: number): JsonValue[] {
    const { items = true, prefixItems, contains, uniqueItems } = schema;
    // In older drafts a list of items says what prefixItems says.
    const first = [prefixItems, items].find(Array.isArray) ?? [];
    const needed = contains === undefined ? 0 : sizeOf(schema, "minContains", 1);
    const least = Math.max(sizeOf(schema, "minItems", 0), needed);
    const most = items === false
      ? Math.min(first.length, sizeOf(schema, "maxItems", Infinity))
      : sizeOf(schema, "maxItems", Infinity);
    if (most < least || least > MAX_VALUES) throw new Unfit();
    const more = this.#isRich(depth) ? Math.max(least, this.#between(1, MAX_MORE)) : least;
    const count = Math.min(most, Math.max(more, this.#isRich(depth) ? first.length : 0));
    const list: JsonValue[] = [];
    const seen = new Set<string>();
    for (let tries = 0; list.length < count && tries < count + ATTEMPTS; tries++) {
      const place = list.length;
      const own = place < first.length
        ? first[place]!
        : place < first.length + needed && contains !== undefined
        ? contains
        : Array.isArray(items)
        ? true
        : items;
      const value = this.make(own, depth + 1);
      const text = uniqueItems === true ? canonicalJson(value) : String(place);
      if (!seen.has(text)) list.push(value);
      seen.add(text);
    }
    if (list.length < least) throw new Unfit();
    return list;
  }

  /** The value of the argument of a name, if it fits a property of the result itself. */
  #given(name: string, schema: JsonValue, depth: number): JsonValue | undefined {
    const value = depth === 0 && Object.hasOwn(this.input, name) ? this.input[name] : undefined;
    const isPlain = ["string", "number", "bigint"].includes(typeof value);
    if (value === undefined || !isPlain || !isJsonObject(schema) || this.attempt > 0) {
      return undefined;
    }
    return this.checks.fits(schema, value) ? value : undefined;
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const { properties, required, additionalProperties = true, patternProperties } = schema;
    const { propertyNames } = schema;
    const known = isJsonObject(properties) ? properties : {};
    const needed = new Set(Array.isArray(required) ? required.map(String) : []);
    const least = sizeOf(schema, "minProperties", 0);
    const most = sizeOf(schema, "maxProperties", Infinity);
    const entries = new Map<string, JsonValue>();
    for (const name of needed) {
      const own = Object.hasOwn(known, name) ? known[name]! : additionalProperties;
      entries.set(name, this.#given(name, own, depth) ?? this.make(own, depth + 1));
    }
    const optional = Object.keys(known).filter((name) => !needed.has(name));
    for (const name of optional) {
      const given = this.#given(name, known[name]!, depth);
      const isWanted = given !== undefined || entries.size < least ||
        this.#isRich(depth) && this.#chance(0.7);
      if (!isWanted || entries.size >= most || known[name] === false) continue;
      try {
        entries.set(name, given ?? this.make(known[name]!, depth + 1));
      } catch (error) {
        // It is left out where nothing is found for it.
        if (!(error instanceof Unfit)) throw error;
      }
    }
    const isMap = optional.length === 0 && needed.size === 0 && isJsonObject(additionalProperties);
    const wanted = isMap && this.#isRich(depth) ? this.#between(1, 2) : 0;
    for (let tries = 0; tries < Math.max(wanted, least) + ATTEMPTS; tries++) {
      if (entries.size >= Math.min(most, Math.max(wanted, least))) break;
      const [pattern, own] = Object.entries(Object(patternProperties) as JsonObject)[0] ??
        [undefined, additionalProperties];
      const name = pattern !== undefined
        ? patternText(pattern, this.stream)
        : isJsonObject(propertyNames)
        ? String(this.make({ type: "string", ...propertyNames }, depth + 1))
        : word(this.stream);
      if (name === undefined) throw new Unfit();
      if (!entries.has(name)) entries.set(name, this.make(own, depth + 1));
    }
    if (entries.size < least || entries.size > most) throw new Unfit();
    // In the order of the schema, however they were drawn.
    const order = [...Object.keys(known), ...entries.keys()].filter((name) => entries.has(name));
    return Object.fromEntries(
      [...new Set(order)].map((name) => [this.#counted(name), entries.get(name)!]),
    );
  }
}

/** Returns the types that a schema takes, named or implied by its keywords; `undefined` for any. */
function typesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  const { type } = schema;
  if (type !== undefined) return Array.isArray(type) ? type : [type];
  const has = (...keywords: readonly string[]) =>
    keywords.some((keyword) => Object.hasOwn(schema, keyword));
  if (has("properties", "required", "additionalProperties", "patternProperties", "minProperties")) {
    return ["object"];
  }
  if (has("items", "prefixItems", "minItems", "contains")) return ["array"];
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) {
    return ["number"];
  }
}

function sizeOf(schema: JsonObject, keyword: string, otherwise: number): number {
  const size = schema[keyword];
  return typeof size === "number" ? size : otherwise;
}

/** What a schema says of a value without parts; it is checked by itself, as compiling a whole schema takes long. */
const OF_PLAIN_VALUES = [
  ...["type", "enum", "format", "pattern", "minLength", "maxLength", "multipleOf"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
];

/** Thrown where no value fits what was chosen before; its cause says why a schema cannot be checked. */
class Unfit extends Error {}

/** Checks of values by a schema and its parts. */
class Checks {
  readonly #checks = new Map<JsonObject, ValueCheck>();
  readonly #plain = new Map<string, JsonObject>();

  constructor(readonly root: JsonObject, readonly unsafePatterns: boolean) {}

  /** Whether a value fits a schema, which may refer to the definitions of the root. */
  fits(schema: JsonObject, value: JsonValue): boolean {
    const check = this.#checks.getOrInsertComputed(schema, (own) => this.#checkOf(own));
    return check(value) === undefined;
  }

  /** Whether a value without parts fits what a schema says of it. */
  fitsPlain(schema: JsonObject, value: JsonValue): boolean {
    const rules = defined(
      Object.fromEntries(OF_PLAIN_VALUES.map((keyword) => [keyword, schema[keyword]])),
    ) as JsonObject;
    const key = jsonText(rules);
    return this.fits(this.#plain.getOrInsert(key, rules), value);
  }

  #checkOf(schema: JsonObject): ValueCheck {
    const { $defs } = this.root;
    const whole = { ...schema, ...defined({ $defs }) } as JsonObject;
    try {
      return valueCheck(whole, this.unsafePatterns);
    } catch (cause) {
      return () => {
        throw new Unfit("The schema cannot be checked", { cause });
      };
    }
  }
}

/** Keywords of numbers whose larger or smaller value decides, such as `minLength` and `exclusiveMaximum`. */
const LARGER = /^(?:exclusiveM|m)in/;
const SMALLER = /^(?:exclusiveM|m)ax/;
/** Keywords of which only the last counts, as they say nothing about a value. */
const SILENT = new Set(["title", "description", "default", "examples", "example", "deprecated"]);

/** Returns what two schemas say of one value, as far as one schema can: the value is checked by itself. */
function merged(one: JsonObject, other: JsonObject): JsonObject {
  const schema = new Map(Object.entries(one));
  for (const [keyword, value] of Object.entries(other)) {
    const known = schema.get(keyword);
    if (known === undefined || SILENT.has(keyword)) schema.set(keyword, value);
    else if (LARGER.test(keyword)) schema.set(keyword, Math.max(Number(known), Number(value)));
    else if (SMALLER.test(keyword)) schema.set(keyword, Math.min(Number(known), Number(value)));
    else if (keyword === "type") schema.set(keyword, commonTypes(known, value));
    else if (keyword === "required") schema.set(keyword, union(known, value));
    else if (keyword === "enum") schema.set(keyword, common(known, value));
    else if (keyword === "properties" && isJsonObject(known) && isJsonObject(value)) {
      schema.set(keyword, commonProperties(known, value));
    } else if (keyword === "items" || keyword === "additionalProperties") {
      schema.set(keyword, both(known, value));
    }
  }
  return Object.fromEntries(schema);
}

function asList(value: JsonValue): JsonValue[] {
  return Array.isArray(value) ? value : [value];
}

function union(one: JsonValue, other: JsonValue): JsonValue[] {
  return [...new Set([...asList(one), ...asList(other)])];
}

function common(one: JsonValue, other: JsonValue): JsonValue[] {
  const known = new Set(asList(other).map((value) => jsonText(value)));
  return asList(one).filter((value) => known.has(jsonText(value)));
}

function commonTypes(one: JsonValue, other: JsonValue): JsonValue[] {
  const [left, right] = [new Set(asList(one)), new Set(asList(other))];
  // An integer is a number.
  const types = [...left].filter((type) =>
    right.has(type) || type === "integer" && right.has("number")
  );
  return right.has("integer") && left.has("number") ? union(types, "integer") : types;
}

function commonProperties(one: JsonObject, other: JsonObject): JsonObject {
  const properties = new Map(Object.entries(one));
  for (const [name, schema] of Object.entries(other)) {
    const known = properties.get(name);
    properties.set(name, known === undefined ? schema : both(known, schema));
  }
  return Object.fromEntries(properties);
}

function both(one: JsonValue, other: JsonValue): JsonValue {
  if (one === true || one === false && other === false) return other;
  if (other === true || one === false) return one;
  return other === false ? other : { allOf: [one, other] };
}
