/**
 * Positions: where a value is in a structure, and what the root schema requires there.
 * @module
 */

import {
  decodeUri,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKey,
} from "../../base/json.ts";
import { compilePattern, trustOf } from "./_patterns.ts";

/** Returns the schema in `root` that a local reference points to; `undefined` for other references. */
export function targetOf(
  root: JsonObject,
  reference: JsonValue | undefined,
): JsonObject | undefined {
  if (typeof reference !== "string" || !/^#(?:$|\/)/.test(reference)) return undefined;
  let target: JsonValue | undefined = root;
  for (const part of reference.split("/").slice(1)) {
    if (typeof target !== "object" || target === null) return undefined;
    const key = pointerKey(decodeUri(part));
    target = Object.hasOwn(target, key) ? (target as JsonObject)[key] : undefined;
  }
  return isJsonObject(target) ? target : undefined;
}

/** Returns the types that a schema itself names, or those of its listed values; `undefined` if none. */
export function typesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  if (Array.isArray(schema["enum"])) return schema["enum"].map(typeOf);
  if (Object.hasOwn(schema, "const")) return [typeOf(schema["const"]!)];
  const { type } = schema;
  return Array.isArray(type) ? type : typeof type === "string" ? [type] : undefined;
}

/** Whether a schema is that of null alone. */
export function isOfNull(schema: JsonValue): boolean {
  return isJsonObject(schema) && typesOf(schema)?.every((type) => type === "null") === true;
}

/** Returns the JSON Schema type of a value; integers count as numbers. */
export function typeOf(value: JsonValue): string {
  if (typeof value === "bigint") return "number";
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** The schemas that apply to one value. */
export interface ApplicableSchemas {
  /** All schemas for the value. */
  readonly parts: readonly JsonObject[];
  /** Whether one of the alternatives accepts anything. */
  readonly open: boolean;
}

/** Returns all schemas that may apply to a value in the position of `schemas`, following branches. */
export function schemasFor(
  root: JsonObject,
  schemas: readonly JsonValue[],
  fits: (branch: JsonObject) => boolean = () => true,
): ApplicableSchemas {
  const parts = new Set<JsonObject>();
  let open = schemas.length === 0;
  const waiting = schemas.map((schema) => ({ schema, alternative: true }));
  for (const { schema, alternative } of waiting) {
    if (!isJsonObject(schema)) open ||= alternative && schema === true;
    if (!isJsonObject(schema) || parts.has(schema)) continue;
    parts.add(schema);
    const before = waiting.length;
    const target = targetOf(root, schema["$ref"]);
    if (target !== undefined) waiting.push({ schema: target, alternative });
    for (const keyword of ["anyOf", "oneOf"]) {
      const branches = listOf(schema[keyword]);
      const fitting = branches.filter((branch) => !isJsonObject(branch) || fits(branch));
      for (const branch of fitting.length > 0 ? fitting : branches) {
        waiting.push({ schema: branch, alternative: true });
      }
    }
    for (const branch of [...listOf(schema["allOf"]), schema["then"], schema["else"]]) {
      if (branch !== undefined) waiting.push({ schema: branch, alternative: false });
    }
    const silent = waiting.length === before && typesOf(schema) === undefined;
    open ||= alternative && silent;
  }
  return { parts: [...parts], open };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

const STRING_OR_NULL: ReadonlySet<JsonValue> = new Set(["string", "null"]);

/** Keywords for keys that a schema does not list. */
const OTHERS = ["additionalProperties", "unevaluatedProperties"];

/** The position of a value among the arguments, and what its schema says about references there. */
export class Position {
  readonly #root: JsonObject;
  readonly #schemas: readonly JsonValue[];
  #found: ApplicableSchemas & { readonly types: ReadonlySet<JsonValue> } | undefined;

  /** Makes the position of all arguments, or another one under the same `root`. */
  constructor(root: JsonObject, schemas: readonly JsonValue[] = [root]) {
    this.#root = root;
    this.#schemas = schemas;
  }

  /** Computed once: thousands of values may share one position, as the items of a list do. */
  get #own(): ApplicableSchemas & { readonly types: ReadonlySet<JsonValue> } {
    if (this.#found !== undefined) return this.#found;
    const own = schemasFor(this.#root, this.#schemas);
    const types = own.open ? [] : own.parts.flatMap((part) => typesOf(part) ?? []);
    return this.#found = { ...own, types: new Set(types) };
  }

  /** What is expected here: `text` is a string or null, `value` is never a string. */
  get takes(): "text" | "value" | "anything" {
    const { types } = this.#own;
    if (types.size === 0) return "anything";
    if (!types.has("string")) return "value";
    return types.isSubsetOf(STRING_OR_NULL) ? "text" : "anything";
  }

  /** Whether `null` is accepted here. */
  get takesNull(): boolean {
    const { types, parts } = this.#own;
    return types.size === 0 || types.has("null") || parts.some((part) => part["nullable"] === true);
  }

  /** Whether `text` itself is a listed value. */
  lists(text: string): boolean {
    return this.#own.parts.some((part) =>
      part["const"] === text || listOf(part["enum"]).includes(text)
    );
  }

  /** Returns the positions inside `value`, which is at this position, by key or index. */
  within(value: JsonObject | JsonValue[]): (place: string | number) => Position {
    const { parts } = schemasFor(
      this.#root,
      this.#schemas,
      (part) => this.#fits(part, value),
    );
    const others = parts.flatMap((part) =>
      Array.isArray(value) ? [part["items"], part["additionalItems"], part["unevaluatedItems"]] : [
        ...Object.values(isJsonObject(part["patternProperties"]) ? part["patternProperties"] : {}),
        part["additionalProperties"],
        part["unevaluatedProperties"],
      ]
    ).filter((schema) => isJsonObject(schema));
    const other = new Position(this.#root, others);
    return (place) => {
      const own = parts.flatMap((part) => {
        const listed = typeof place === "string"
          ? [part["properties"]]
          : [part["prefixItems"], part["items"]].filter(Array.isArray);
        return listed.flatMap((schemas) => {
          const found = Object(schemas);
          return Object.hasOwn(found, place) ? [found[place] as JsonValue] : [];
        });
      });
      return own.length === 0 ? other : new Position(this.#root, own);
    };
  }

  /** The defaults for this position, if any. */
  get defaults(): readonly JsonValue[] {
    return this.#own.parts.flatMap((part) =>
      Object.hasOwn(part, "default") ? [part["default"]!] : []
    );
  }

  /** The descriptions of values at this position. */
  get descriptions(): readonly string[] {
    return this.#own.parts.flatMap(({ description }) =>
      typeof description === "string" ? [description] : []
    );
  }

  /**
   * Returns whether a key of `value`, which is at this position, is declared. All keys count as declared if no
   * keys are listed, or if the schema has a reference that cannot be resolved.
   */
  declares(value: JsonObject): (key: string) => boolean {
    const { parts } = schemasFor(
      this.#root,
      this.#schemas,
      (part) => this.#fits(part, value),
    );
    const lists = parts.some((part) => isJsonObject(part["properties"]));
    const takesAny = parts.some((part) =>
      OTHERS.some((keyword) => part[keyword] === true || isJsonObject(part[keyword])) ||
      (part["$ref"] !== undefined && targetOf(this.#root, part["$ref"]) === undefined)
    );
    if (!lists || takesAny) return () => true;
    const keysOf = (keyword: string) =>
      parts.flatMap((part) => isJsonObject(part[keyword]) ? Object.keys(part[keyword]) : []);
    const trust = trustOf(this.#root);
    const patterns = keysOf("patternProperties").map((key) => compilePattern(key, trust));
    const declared = new Set<JsonValue>([
      ...keysOf("properties"),
      ...parts.flatMap((part) => listOf(part["required"])),
    ]);
    return (key) => declared.has(key) || patterns.some((pattern) => pattern.test(key));
  }

  /** Whether a branch may apply to `value`; values of references are not known and fit anything. */
  #fits(branch: JsonObject, value: JsonObject | JsonValue[]): boolean {
    const { type, required, properties } = targetOf(this.#root, branch["$ref"]) ?? branch;
    if (type !== undefined && ![type].flat().includes(typeOf(value))) return false;
    if (Array.isArray(value)) return true;
    const has = (key: JsonValue) => Object.hasOwn(value, String(key));
    if (!listOf(required).every(has)) return false;
    return Object.entries(isJsonObject(properties) ? properties : {}).every(([key, schema]) => {
      const inner = has(key) ? value[key]! : undefined;
      if (!isJsonObject(schema) || inner === undefined) return true;
      if (typeof inner === "string" && inner.startsWith("@")) return true;
      if (Object.hasOwn(schema, "const")) return schema["const"] === inner;
      return !Array.isArray(schema["enum"]) || schema["enum"].includes(inner);
    });
  }
}
