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
  // Each container is copied once, then changed in place.
  const copies = new WeakSet<JsonObject>();
  const put = (holder: JsonObject, key: string, copy: JsonObject) => {
    copies.add(copy);
    define(holder, key, copy);
    return copy;
  };
  // Only the values that edits point at are read as JSON.
  const top: JsonObject = { "": list as unknown as JsonValue };
  for (const edit of edits) {
    const keys = ["", ...pointerKeys(edit.path)];
    const last = keys.pop()!;
    let holder = top;
    for (const key of keys) {
      // Lists are indexed by position as objects are by key.
      const held = holder[key] as JsonObject;
      holder = copies.has(held)
        ? held
        : put(holder, key, (Array.isArray(held) ? [...held] : { ...held }) as JsonObject);
    }
    if (edit.kind === "order") {
      const held = holder[last] as JsonObject;
      put(holder, last, Object.fromEntries(edit.after.map((key) => [key, held[key]!])));
    } else if (Object.hasOwn(edit, "after")) define(holder, last, edit.after!);
    else delete holder[last];
  }
  return top[""] as unknown as readonly T[];
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
