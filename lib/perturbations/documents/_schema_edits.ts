/**
 * Edits: applies changes to JSON values, and lists those between two objects.
 * @module
 */

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKeys,
  pointerPart,
} from "../../base/json.ts";
import type { Change } from "../methods.ts";

/** A change of a value, or of the order of an object's keys. */
export type Edit = Extract<Change, { kind: "value" | "order" }>;

/**
 * Returns the list with the edits applied. Only containers on the path of an edit are copied, and copies keep
 * all properties of the originals, functions too.
 */
export function applyEdits<T>(list: readonly T[], edits: readonly Edit[]): readonly T[] {
  const copies = new Copies();
  // Only the values that edits point at are read as JSON.
  const top: JsonObject = { "": list as unknown as JsonValue };
  for (const edit of edits) {
    const keys = ["", ...pointerKeys(edit.path)];
    const last = keys.pop()!;
    const holder = copies.along(top, keys);
    if (edit.kind === "order") copies.put(holder, last, copies.ordered(holder, last, edit.after));
    else if (Object.hasOwn(edit, "after")) define(holder, last, edit.after!);
    else delete holder[last];
  }
  return top[""] as unknown as readonly T[];
}

/** The containers copied so far: each is copied once, then changed in place. */
class Copies {
  readonly #copies = new WeakSet<JsonValue[] | JsonObject>();

  /** Returns the container at a path of keys, and copies every container on the way. */
  along(top: JsonObject, keys: readonly string[]): JsonObject {
    let holder = top;
    for (const key of keys) {
      // Lists are indexed by position as objects are by key.
      const held = holder[key] as JsonObject;
      holder = this.#copies.has(held)
        ? held
        : this.put(holder, key, (Array.isArray(held) ? [...held] : { ...held }) as JsonObject);
    }
    return holder;
  }

  /** Puts a fresh copy of a container in its place. */
  put(holder: JsonObject, key: string, copy: JsonObject): JsonObject {
    this.#copies.add(copy);
    define(holder, key, copy);
    return copy;
  }

  /** Returns an object with its keys in another order. */
  ordered(holder: JsonObject, key: string, keys: readonly string[]): JsonObject {
    const held = holder[key] as JsonObject;
    return Object.fromEntries(keys.map((inner) => [inner, held[inner]!]));
  }
}

/** Sets a key, even `__proto__`. */
function define(holder: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** The edits that turn one object into another, one for each key that differs. */
export function differences(path: string, before: JsonObject, after: JsonObject): Edit[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key): Edit[] => {
    const at = `${path}/${pointerPart(key)}`;
    if (!Object.hasOwn(after, key)) return [removal(at, before[key]!)];
    if (!Object.hasOwn(before, key)) return [{ kind: "value", path: at, after: after[key]! }];
    if (before[key] === after[key]) return [];
    return [{ kind: "value", path: at, before: before[key]!, after: after[key]! }];
  });
}

/** The edit that removes a value. */
export function removal(path: string, before: JsonValue): Edit {
  return { kind: "value", path, before };
}

/** The string at a key; `undefined` if it has none. */
export function textAt(object: JsonObject, key: string): string | undefined {
  const text = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** The object at a key; `undefined` if it has none. */
export function objectAt(object: JsonObject, key: string): JsonObject | undefined {
  const inner = Object.hasOwn(object, key) ? object[key] : undefined;
  return isJsonObject(inner) ? inner : undefined;
}
