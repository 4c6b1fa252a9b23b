/**
 * Results that are made up: values that fit a JSON Schema, drawn from a seed.
 * @module
 */

import {
  canonicalJson,
  defined,
  fieldOf,
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
} from "../../base/json.ts";
import { fork, forkSeed, type Stream } from "../../base/random.ts";
import { errorOfResult } from "../references/symbol_table.ts";
import { assertEnding } from "./_ending.ts";
import { isOfNull, targetOf } from "./position.ts";
import { formattedText, MAX_TEXT, patternText, word, words } from "./mock_text.ts";
import { randomIntegerBetween, sample } from "@std/random";
import { type ValueCheck, valueCheck } from "./validate.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

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
  return (seed, input, ...purpose) => {
    let found: { readonly value: JsonValue } | undefined;
    let fault: unknown;
    const given: Known = {
      within(name, part) {
        const value = fieldOf(input, String(name));
        const isPlain = ["string", "number", "bigint"].includes(typeof value);
        return isPlain && isJsonObject(part) && checks.fits(part, value!) ? { value } : undefined;
      },
    };
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      const key = ["openapi", ...purpose, canonicalJson(input), tries].join("\u0000");
      const at = new Draws(seed, key, tries === 0 ? given : undefined);
      try {
        const value = new Maker(checks, false, tries >= ATTEMPTS / 2).make(schema, at);
        if (!checks.fits(schema, value)) continue;
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

/** What is known of a part of a value: that it is there, and is not null where it may be something else. */
export interface Known {
  readonly value?: JsonValue | undefined;
  /** How many items it has. */
  readonly count?: number | undefined;
  /** Returns what is known of a part of it; `undefined` if chance decides whether it is there. */
  within?(part: string | number, schema: JsonValue): Known | undefined;
}

/** Stands for a value that is put in later, and fits any schema. */
export const HOLE: JsonValue = Object.freeze({});

/** What is drawn for a part: it follows from its key, not from what was drawn before. */
export class Draws {
  /** `depth` counts the levels of lists and objects around the part. */
  constructor(
    readonly seed: number,
    readonly key: string,
    readonly known?: Known,
    readonly depth = 0,
  ) {}

  /** Returns those for a part of the part. */
  within(part: string | number, schema: JsonValue): Draws {
    const known = this.known?.within?.(part, schema);
    return new Draws(this.seed, `${this.key}\u0000${part}`, known, this.depth + 1);
  }

  /** Returns those of another attempt. */
  again(tries: number): Draws {
    return new Draws(this.seed, `${this.key}\u0000try ${tries}`, this.known, this.depth);
  }

  stream(purpose: string): Stream {
    return fork(this.seed, this.key, purpose);
  }

  /** Returns a number in `[0, 1)`. */
  number(purpose: string): number {
    return forkSeed(this.seed, this.key, purpose) / 2 ** 48;
  }
}

/**
 * Makes one value; where `isPartial`, it may be large, and has holes for required parts for which nothing is found; where
 * `isLeast`, it has nothing that may be left out.
 */
export class Maker {
  #values = 0;
  #characters = 0;

  constructor(readonly checks: Checks, readonly isPartial = false, readonly isLeast = false) {}

  /**
   * Returns a value for the whole, or for a part.
   *
   * @throws {Unfit} If nothing is found that fits what was chosen before.
   */
  make(schema: JsonValue, first: Draws): JsonValue {
    if (first.known?.value !== undefined) return this.#counted(first.known.value);
    for (let tries = 1;; tries++) {
      if (++this.#values > MAX_VALUES || first.depth > MAX_DEPTH) throw new Unfit();
      if (schema === false) throw new Unfit();
      const at = tries === 1 ? first : first.again(tries);
      if (!isJsonObject(schema)) return words(at.stream("text"), 0, MAX_TEXT);
      const whole = this.#whole(schema, at);
      const value = this.#fitting(whole, at);
      // A value of one branch may fit another.
      const isChosen = Object.hasOwn(whole, "oneOf") && tries < ATTEMPTS;
      if (!isChosen || this.checks.fits(schema, value)) return value;
    }
  }

  #fitting(whole: JsonObject, at: Draws): JsonValue {
    if (Object.hasOwn(whole, "const")) return this.#counted(whole["const"]!);
    if (Array.isArray(whole["enum"])) return this.#counted(this.#listed(whole, at));
    return this.#typed(whole, this.#type(typesOf(whole), at), at);
  }

  /** Counts the characters of a value that is not made of others: a schema may ask for very many long ones. */
  #counted<Value extends JsonValue>(value: Value): Value {
    this.#characters += jsonText(value).length;
    if (this.#characters > MAX_CHARACTERS) throw new Unfit();
    return value;
  }

  /** Whether a part is so deep within the whole that a small one has to do, without optional parts. */
  #isDeep({ depth }: Draws): boolean {
    return this.isLeast || depth >= FULL_DEPTH || !this.isPartial && this.#values >= FULL_VALUES;
  }

  /** Returns all that applies to one value, with one branch of each choice. */
  #whole(schema: JsonObject, at: Draws): JsonObject {
    const known = this.checks.wholes.get(schema);
    if (known !== undefined) return known;
    let [whole, isChosen]: [JsonObject, boolean] = [{}, false];
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
        if (!Array.isArray(branches) || branches.length === 0) continue;
        isChosen = true;
        waiting.add(this.#branch(branches, at));
      }
    }
    // A branch that was chosen by itself may not go with the types beside it.
    if (Array.isArray(whole["type"]) && whole["type"].length === 0) throw new Unfit();
    if (!isChosen) this.checks.wholes.set(schema, whole);
    return whole;
  }

  /** Chooses a branch: any, and deep within a value a small one. Of the same branches among others the same is chosen. */
  #branch(branches: readonly JsonValue[], at: Draws): JsonValue {
    const fitting = branches.filter((branch) =>
      at.known ? !isOfNull(branch) : this.#isDeep(at) && this.#isSmall(branch)
    );
    const chosen = fitting.length > 0 ? fitting : branches;
    const ranks = chosen.map((branch) => at.number(`branch ${jsonText(branch)}`));
    return chosen[ranks.indexOf(Math.min(...ranks))]!;
  }

  /** Whether a schema is that of a value without parts. */
  #isSmall(schema: JsonValue): boolean {
    if (!isJsonObject(schema)) return schema === true;
    const found = targetOf(this.checks.root, schema["$ref"]) ?? schema;
    return typesOf(found)?.some((type) => type !== "object" && type !== "array") ??
      (Object.hasOwn(found, "enum") || Object.hasOwn(found, "const"));
  }

  #listed(schema: JsonObject, at: Draws): JsonValue {
    const values = (schema["enum"] as JsonValue[])
      .filter((value) => this.checks.fitsPlain(schema, value));
    const others = at.known ? values.filter((value) => value !== null) : values;
    const value = sample(others.length > 0 ? others : values, at.stream("listed"));
    if (value === undefined) throw new Unfit();
    return value;
  }

  /** Chooses a type: seldom null, and deep within a value one without parts. */
  #type(types: readonly JsonValue[] | undefined, at: Draws): JsonValue {
    if (types === undefined) return "string";
    const isDeep = this.#isDeep(at);
    const isNull = types.includes("null") && !at.known && (isDeep || at.number("null") < 0.15);
    const others = types.filter((type) => type !== "null");
    if (isNull || others.length === 0) return "null";
    const small = others.filter((type) => !isDeep || type !== "object" && type !== "array");
    return sample(small.length > 0 ? small : others, at.stream("type"))!;
  }

  #typed(schema: JsonObject, type: JsonValue, at: Draws): JsonValue {
    switch (type) {
      case "null":
        return null;
      case "boolean":
        return at.number("boolean") < 0.5;
      case "integer":
      case "number":
        return this.#number(schema, type === "integer", at);
      case "array":
        return this.#list(schema, at);
      case "object":
        return this.#object(schema, at);
      case "string":
        return this.#counted(this.#text(schema, at.stream("text")));
    }
    throw new Unfit();
  }

  #text(schema: JsonObject, stream: Stream): string {
    const { format, pattern, contentEncoding } = schema;
    const least = sizeOf(schema, "minLength", 0);
    const most = sizeOf(schema, "maxLength", Infinity);
    if (least > MAX_TEXT || most < least) throw new Unfit();
    const kind = contentEncoding === "base64" ? "byte" : format;
    if (typeof pattern !== "string") {
      const text = formattedText(kind, stream);
      if (text === undefined) return words(stream, least, most);
      if (text.length >= least && text.length <= most) return text;
      throw new Unfit();
    }
    for (let tries = 0; tries < ATTEMPTS; tries++) {
      // A format with a pattern is often one that this pattern has been written for.
      const drawn = (tries % 4 === 3 ? formattedText(kind, stream) : undefined) ??
        patternText(pattern, stream, least);
      // A pattern without ends is often one of a single character.
      const text = drawn?.padEnd(least, drawn);
      if (text === undefined && tries >= 2) throw new Unfit();
      if (text !== undefined && this.checks.fitsPlain(schema, text)) return text;
    }
    throw new Unfit();
  }

  #number(schema: JsonObject, isWhole: boolean, at: Draws): number {
    const stream = at.stream("number");
    const bounds = (...keywords: readonly string[]) =>
      keywords.map((keyword) => schema[keyword]).filter((bound) => typeof bound === "number");
    const low = Math.max(...bounds("minimum", "exclusiveMinimum"));
    const high = Math.min(...bounds("maximum", "exclusiveMaximum"));
    // Positive, and so many that two are seldom the same.
    const isTime = /time/.test(String(schema["format"]));
    const [usual, span] = isTime ? [1_700_000_000, 100_000_000] : [1_000, 98_999];
    const [step = isWhole ? 1 : 0.01] = bounds("multipleOf");
    // A bound that no number is exact at, as of 64 bits, leaves the usual ones.
    const from = Math.max(low, Math.min(usual, high - span));
    const to = Math.min(high, from + Math.max(span, step));
    // Fractions are not exact: the check decides.
    const exact = (count: number) =>
      Number.isInteger(step) ? count * step : Number((count * step).toPrecision(15));
    const [least, most] = [Math.ceil(from / step), Math.floor(to / step)];
    const first = exact(least) === schema["exclusiveMinimum"] ? least + 1 : least;
    const last = exact(most) === schema["exclusiveMaximum"] ? most - 1 : most;
    const between = from + stream.prng() * (to - from);
    const drawn = first <= last ? exact(randomIntegerBetween(first, last, stream)) : between;
    const value = [drawn, between].find((value) =>
      (!isWhole || Number.isSafeInteger(value)) && this.checks.fitsPlain(schema, value)
    );
    if (value === undefined) throw new Unfit();
    return value;
  }

  #list(schema: JsonObject, at: Draws): JsonValue[] {
    const { items = true, prefixItems, uniqueItems } = schema;
    // In older drafts a list of items says what prefixItems says.
    const first = [prefixItems, items].find(Array.isArray) ?? [];
    const least = sizeOf(schema, "minItems", 0);
    const most = items === false
      ? Math.min(first.length, sizeOf(schema, "maxItems", Infinity))
      : sizeOf(schema, "maxItems", Infinity);
    if (most < least || least > MAX_VALUES) throw new Unfit();
    const count = Math.min(most, Math.max(least, at.known?.count ?? this.#count(first.length, at)));
    const list: JsonValue[] = [];
    const seen = new Set<string>();
    for (let tries = 0; list.length < count && tries < count + ATTEMPTS; tries++) {
      const place = list.length;
      const own = first[place] ?? (Array.isArray(items) ? true : items);
      const value = this.make(own, at.within(tries, own));
      const text = uniqueItems === true && value !== HOLE ? canonicalJson(value) : String(place);
      if (!seen.has(text)) list.push(value);
      seen.add(text);
    }
    if (list.length < least) throw new Unfit();
    return list;
  }

  /** How many items a list has, or more. */
  #count(listed: number, at: Draws): number {
    if (this.#isDeep(at)) return 0;
    return Math.max(listed, randomIntegerBetween(1, MAX_MORE, at.stream("count")));
  }

  #object(schema: JsonObject, at: Draws): JsonObject {
    const { properties, required, additionalProperties = true, patternProperties } = schema;
    const { propertyNames } = schema;
    const known = isJsonObject(properties) ? properties : {};
    const needed = new Set(Array.isArray(required) ? required.map(String) : []);
    const least = sizeOf(schema, "minProperties", 0);
    const most = sizeOf(schema, "maxProperties", Infinity);
    const entries = new Map<string, JsonValue>();
    const add = (name: string, own: JsonValue, isNeeded: boolean) => {
      const inner = at.within(name, own);
      const isThere = isNeeded || inner.known !== undefined || entries.size < least ||
        !this.#isDeep(at) && at.number(`there ${name}`) < 0.7;
      if (!isThere) return;
      try {
        entries.set(name, this.make(own, inner));
      } catch (error) {
        // It is left out where nothing is found for it.
        if (!(error instanceof Unfit) || isNeeded && !this.isPartial) throw error;
        if (isNeeded) entries.set(name, HOLE);
      }
    };
    for (const name of needed) {
      add(name, Object.hasOwn(known, name) ? known[name]! : additionalProperties, true);
    }
    const optional = Object.keys(known).filter((name) => !needed.has(name));
    for (const name of optional) {
      if (entries.size < most && known[name] !== false) add(name, known[name]!, false);
    }
    const isMap = optional.length === 0 && needed.size === 0 && isJsonObject(additionalProperties);
    const wanted = isMap && !this.#isDeep(at) ? randomIntegerBetween(1, 2, at.stream("names")) : 0;
    const stream = at.stream("name");
    for (let tries = 0; tries < Math.max(wanted, least) + ATTEMPTS; tries++) {
      if (entries.size >= Math.min(most, Math.max(wanted, least))) break;
      const [pattern, own] = Object.entries(Object(patternProperties) as JsonObject)[0] ??
        [undefined, additionalProperties];
      const name = pattern !== undefined
        ? patternText(pattern, stream)
        : isJsonObject(propertyNames)
        ? String(
          this.make(
            { type: "string", ...propertyNames },
            at.within(`name ${tries}`, propertyNames),
          ),
        )
        : word(stream);
      if (name === undefined) throw new Unfit();
      if (!entries.has(name)) add(name, own, true);
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
  if (has("items", "prefixItems", "minItems")) return ["array"];
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) {
    return ["number"];
  }
}

function sizeOf(schema: JsonObject, keyword: string, otherwise: number): number {
  const size = schema[keyword];
  return typeof size === "number" ? size : otherwise;
}

/** Keywords that say nothing about a value; of several only the last counts. */
const SILENT = new Set(["title", "description", "default", "examples", "example", "deprecated"]);

/** Keywords that are checked part by part, and those that ask what others have checked. */
const CHECKED = new Set(["$ref", "$defs", "allOf", "anyOf", "oneOf"]);
const ASKING = ["patternProperties", "unevaluatedItems", "unevaluatedProperties"];

/** Thrown where no value fits what was chosen before; its cause says why a schema cannot be checked. */
export class Unfit extends Error {}

/** Checks of values by a schema and its parts. */
export class Checks {
  readonly #own = new WeakMap<JsonObject, ValueCheck>();
  readonly #checks = new Map<string, ValueCheck>();
  /** All that applies where a schema does, of schemas without a choice. */
  readonly wholes = new Map<JsonObject, JsonObject>();

  constructor(readonly root: JsonObject, readonly unsafePatterns: boolean) {}

  /**
   * Whether a value fits a schema, which may refer to the definitions of the root. What schemas say is checked part by
   * part, where the value has it, as compiling all of a document takes long.
   */
  fits(schema: JsonValue | undefined, value: JsonValue): boolean {
    if (value === HOLE || !isJsonObject(schema)) return schema !== false;
    if (!this.fitsPlain(schema, value)) return false;
    const { $ref, allOf, anyOf, oneOf, properties, items, additionalProperties } = schema;
    const fitsOne = (one: JsonValue | undefined) => this.fits(one, value);
    const isRefused = $ref !== undefined && !fitsOne(targetOf(this.root, $ref)) ||
      Array.isArray(allOf) && !allOf.every(fitsOne) ||
      Array.isArray(anyOf) && !anyOf.some(fitsOne) ||
      Array.isArray(oneOf) && oneOf.filter(fitsOne).length !== 1;
    if (isRefused) return false;
    if (Array.isArray(value)) {
      return !isJsonObject(items) || value.every((one) => this.fits(items, one));
    }
    const others = schema["patternProperties"] === undefined ? additionalProperties : true;
    return !isJsonObject(value) ||
      Object.entries(value).every(([name, one]) =>
        this.fits(fieldOf(properties, name) ?? others, one)
      );
  }

  /** Whether a value fits what a schema says of it without its parts. */
  fitsPlain(schema: JsonObject, value: JsonValue): boolean {
    return getOrInsertComputed(this.#own, schema, () => {
      const own = withoutParts(schema);
      const text = jsonText(own);
      return getOrInsertComputed(this.#checks, text, () => {
        // The definitions may be very many.
        const { $defs } = /"\$(?:ref|dynamicRef)":/.test(text) ? this.root : {};
        try {
          return valueCheck({ ...own, ...defined({ $defs }) } as JsonObject, this.unsafePatterns);
        } catch (cause) {
          return () => {
            throw new Unfit("The schema cannot be checked", { cause });
          };
        }
      });
    })(value) === undefined;
  }
}

/** Returns what a schema says of a value itself: all, where keywords ask what others have checked. */
function withoutParts(schema: JsonObject): JsonObject {
  if (ASKING.some((keyword) => Object.hasOwn(schema, keyword))) return schema;
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => !SILENT.has(keyword) && !CHECKED.has(keyword)).map(
      ([keyword, value]) => {
        const isInner = keyword === "items" || keyword === "additionalProperties";
        if (isInner && isJsonObject(value)) return [keyword, true];
        if (keyword !== "properties" || !isJsonObject(value)) return [keyword, value];
        return [keyword, Object.fromEntries(Object.keys(value).map((name) => [name, true]))];
      },
    ),
  );
}

/** Keywords of numbers whose larger or smaller value decides, such as `minLength` and `exclusiveMaximum`. */
const LARGER = /^(?:exclusiveM|m)in/;
const SMALLER = /^(?:exclusiveM|m)ax/;

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
      const shared = Object.entries(value).map((
        [name, one],
      ) => [name, both(fieldOf(known, name) ?? true, one)]);
      schema.set(keyword, { ...known, ...Object.fromEntries(shared) });
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

function both(one: JsonValue, other: JsonValue): JsonValue {
  if (one === true || one === false && other === false) return other;
  if (other === true || one === false) return one;
  return other === false ? other : { allOf: [one, other] };
}
