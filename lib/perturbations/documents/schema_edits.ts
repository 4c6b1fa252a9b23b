/**
 * Edits: changes of JSON values, made as they are told.
 * @module
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json.ts";
import type { Change } from "../methods.ts";
import { pointerKeys, pointerPart } from "../../tools/schema/subschemas.ts";

/** A change of a value, or of the order of its keys. */
export type Edit = Extract<Change, { kind: "value" | "order" }>;

/**
 * What the edits make of a list. Only what lies on the way to a change is copied, and copies keep all
 * that the originals have, functions too.
 */
export function edited<T>(list: readonly T[], edits: readonly Edit[]): readonly T[] {
  const copies = new Copies();
  // Only what changes point at is read as JSON.
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

/** Copies made so far: each is changed in place from then on. */
class Copies {
  readonly #made = new WeakSet<JsonValue[] | JsonObject>();

  /** The container that keys lead to, everything on the way being a copy. */
  along(top: JsonObject, keys: readonly string[]): JsonObject {
    let holder = top;
    for (const key of keys) {
      // Lists are read and written by their places, as objects by their keys.
      const held = holder[key] as JsonObject;
      holder = this.#made.has(held) ? held : this.put(holder, key, copyOf(held));
    }
    return holder;
  }

  /** Puts a container that is no one else's in its place. */
  put(holder: JsonObject, key: string, copy: JsonObject): JsonObject {
    this.#made.add(copy);
    define(holder, key, copy);
    return copy;
  }

  /** An object with its keys in another order. */
  ordered(holder: JsonObject, key: string, keys: readonly string[]): JsonObject {
    const held = holder[key] as JsonObject;
    return Object.fromEntries(keys.map((inner) => [inner, held[inner]!]));
  }
}

function copyOf(value: JsonObject): JsonObject {
  return (Array.isArray(value) ? [...value] : { ...value }) as JsonObject;
}

/** Sets a key, whatever it is called. */
function define(holder: JsonObject, key: string, value: JsonValue): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

/** The edits that make one object another, one for each key that differs. */
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

/** The edit by which something goes. */
export function removal(path: string, before: JsonValue): Edit {
  return { kind: "value", path, before };
}

/** The text of a key that has one. */
export function textOf(object: JsonObject, key: string): string | undefined {
  const text = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof text === "string" ? text : undefined;
}

/** The object behind a key that has one. */
export function objectOf(object: JsonObject, key: string): JsonObject | undefined {
  const inner = Object.hasOwn(object, key) ? object[key] : undefined;
  return isJsonObject(inner) ? inner : undefined;
}
