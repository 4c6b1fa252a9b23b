/**
 * Value parts: what can be seen of values of any kind, so that they can be compared.
 * @module
 */

/** What can be seen of an object. */
export interface Parts {
  /** By the key of an object or of a map. */
  readonly named: ReadonlyMap<unknown, unknown>;
  /** In no order: the members of a set, and what a map holds by keys that are objects. */
  readonly members: readonly unknown[];
  /** Whether it is an instance of which nothing can be seen. */
  readonly isBlank: boolean;
}

/**
 * What can be seen of an object: its own properties, what a map or a set holds, and of an instance of a
 * class its getters as well. What private fields hold can be seen by these alone.
 *
 * @example Usage
 * ```ts
 * import { partsOf } from "./parts.ts";
 * import { assertEquals } from "@std/assert";
 *
 * class Cart {
 *   #items = ["pen"];
 *   get items() {
 *     return this.#items;
 *   }
 * }
 * assertEquals([...partsOf(new Cart()).named], [["items", ["pen"]]]);
 * ```
 */
export function partsOf(value: object): Parts {
  const named = new Map<unknown, unknown>(
    visibleKeys(value).map((key) => [key, (value as Record<PropertyKey, unknown>)[key]]),
  );
  if (value instanceof Set) return { named, members: [...value], isBlank: false };
  if (!(value instanceof Map)) {
    return { named, members: [], isBlank: named.size === 0 && !isPlain(value) };
  }
  const [members, entries] = partition([...value], ([key]) => isObject(key));
  for (const [key, own] of entries) named.set(key, own);
  return { named, members, isBlank: false };
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [first: T[], other: T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

/** The keys of an object; of an instance those that are not enumerable, too, and its getters. */
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
  // Where an error was made is of no account.
  return [...new Set([...own, ...getters])]
    .filter((key) => !(value instanceof Error && key === "stack"));
}

/** The prototypes of an object, but for the one that every object has. */
function prototypesOf(value: object): readonly object[] {
  const prototypes: object[] = [];
  for (let at = prototypeOf(value); at !== Object.prototype; at = prototypeOf(at)) {
    prototypes.push(at);
  }
  return prototypes;
}

/** The prototype of an object; one that has none counts as a plain object. */
export function prototypeOf(value: object): object {
  return Object.getPrototypeOf(value) ?? Object.prototype;
}

/** Whether an object is of no class. */
export function isPlain(value: object): boolean {
  return prototypeOf(value) === Object.prototype;
}

/** Whether a value is an object of any kind. */
export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether two values are one, numbers by value. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || Object.is(one, other);
}

/** Objects of which nothing can be seen: they are as expected if they are the expected ones. */
export const OPAQUE = [Promise, WeakMap, WeakSet, WeakRef];

/** What an object says that is compared by that alone; `undefined` for all others. */
export function textOf(value: object): string | undefined {
  if (value instanceof Date) return textOfDate(value);
  const isText = [RegExp, URL, URLSearchParams].some((kind) => value instanceof kind);
  return isText ? String(value) : undefined;
}

/** The items of a list, or the numbers of binary data; `undefined` for all others. */
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

/** Whether an object is compared by its fields. */
export function hasFields(value: object): boolean {
  return textOf(value) === undefined && itemsOf(value) === undefined &&
    ![Map, Set, ...OPAQUE].some((kind) => value instanceof kind);
}

/** A point in time as ISO 8601 writes it, or that it is none. */
function textOfDate(value: Date): string {
  return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
}

/** The name of what an object is an instance of. */
export function className(value: object): string {
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return typeof name === "string" && name !== "" ? name : "Object";
}
