/**
 * Value parts: the visible parts of any value, for comparison.
 * @module
 */

import { integerOf, isObject } from "../../base/json.ts";

/** The visible parts of an object. */
export interface Parts {
  /** Values by the key of an object or of a map. */
  readonly named: ReadonlyMap<unknown, unknown>;
  /** Unordered: the members of a set, and the entries of a map whose keys are objects. */
  readonly members: readonly unknown[];
  /** Whether it is a class instance without visible parts. */
  readonly isBlank: boolean;
}

/**
 * Returns the visible parts of an object: its own properties, the content of a map or a set, and the getters
 * of a class instance, which alone show its private fields.
 */
export function visibleParts(value: object): Parts {
  const named = new Map<unknown, unknown>(
    visibleKeys(value).map((key) => [key, (value as Record<PropertyKey, unknown>)[key]]),
  );
  if (value instanceof Set) return { named, members: [...value], isBlank: false };
  if (!(value instanceof Map)) {
    return { named, members: [], isBlank: named.size === 0 && !isPlain(value) };
  }
  const { members = [], entries = [] } = Object.groupBy(
    [...value],
    ([key]) => isObject(key) ? "members" : "entries",
  );
  for (const [key, own] of entries) named.set(key, own);
  return { named, members, isBlank: false };
}

/** Returns the keys of an object; of a class instance also those that are not enumerable, and its getters. */
function visibleKeys(value: object): readonly PropertyKey[] {
  const own = Reflect.ownKeys(value);
  if (isPlain(value)) {
    return own.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  }
  if (value instanceof Set || value instanceof Map) return own;
  const getters = prototypesOf(value).flatMap((prototype) =>
    Reflect.ownKeys(prototype).filter((key) =>
      Object.getOwnPropertyDescriptor(prototype, key)?.get !== undefined
    )
  );
  // Equal errors may have been created in different places.
  return [...new Set([...own, ...getters])]
    .filter((key) => !(value instanceof Error && key === "stack"));
}

/** Returns the prototypes of an object without `Object.prototype`. */
function prototypesOf(value: object): readonly object[] {
  const prototypes: object[] = [];
  for (let at = prototypeOf(value); at !== Object.prototype; at = prototypeOf(at)) {
    prototypes.push(at);
  }
  return prototypes;
}

/** Returns the prototype of an object; an object without one counts as plain. */
export function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/** Returns whether an object is an instance of no class. */
export function isPlain(value: object): boolean {
  return prototypeOf(value) === Object.prototype;
}

/** Returns whether two values are identical; a bigint is the number that shows its digits. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other || Object.is(one, other)) return true;
  if (typeof one === "number") return typeof other === "bigint" && isSame(other, one);
  return typeof one === "bigint" && typeof other === "number" && integerOf(one) === other;
}

/** Classes whose instances have no visible parts: they are compared by identity. */
export const OPAQUE = [Promise, WeakMap, WeakSet, WeakRef];

/** Returns the text of an object that is compared by its text alone; `undefined` for all others. */
export function comparableText(value: object): string | undefined {
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  }
  const isText = [RegExp, URL, URLSearchParams].some((kind) => value instanceof kind);
  return isText ? String(value) : undefined;
}

/** Returns the items of a list, or the numbers of binary data; `undefined` for all others. */
export function itemsOf(value: object): readonly unknown[] | Uint8Array | undefined {
  if (Array.isArray(value)) return value;
  if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) {
    return new Uint8Array(value);
  }
  if (value instanceof DataView) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  return ArrayBuffer.isView(value) ? value as Uint8Array : undefined;
}

/** Returns whether an object is compared by its fields. */
export function hasFields(value: object): boolean {
  return comparableText(value) === undefined && itemsOf(value) === undefined &&
    ![Map, Set, ...OPAQUE].some((kind) => value instanceof kind);
}

/** Returns the class name of an object. */
export function className(value: object): string {
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === "string" && name !== "" ? name : "Object";
}
