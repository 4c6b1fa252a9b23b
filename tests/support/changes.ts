// Rebuilds what a perturbation made, from what it was made of and the changes that are reported: an oracle
// that reads changes as their documentation says, whatever made them.

import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import type { Change } from "../../lib/perturbations/methods.ts";

/** A text with its changes made. */
export function applyTextChanges(before: string, changes: readonly Change[]): string {
  const parts = changes.map((change) => {
    if (change.kind !== "text") throw new Error(`This is no change of a text: ${change.kind}`);
    return change;
  }).toSorted((one, other) => one.start - other.start || one.end - other.end);
  let text = "";
  let from = 0;
  for (const { start, end, before: gone, after } of parts) {
    if (start < from || before.slice(start, end) !== gone) {
      throw new Error(`At ${start} there is ${before.slice(start, end)}, and not ${gone}`);
    }
    text += before.slice(from, start) + after;
    from = end;
  }
  return text + before.slice(from);
}

/** A value with its changes made, whose places are those from before. */
export function applyChanges(before: JsonValue, changes: readonly Change[]): JsonValue {
  return rebuild(before, "", changes);
}

function rebuild(value: JsonValue, path: string, changes: readonly Change[]): JsonValue {
  const own = changes.find((change) => change.kind === "value" && change.path === path);
  if (own?.kind === "value") {
    same(own.before, value, path);
    return own.after!;
  }
  if (typeof value !== "object" || value === null) return value;
  const order = changes.find((change) => change.kind === "order" && change.path === path);
  if (Array.isArray(value)) {
    return value.map((item, place) => rebuild(item, `${path}/${place}`, changes));
  }
  const renamed = new Map(
    changes.flatMap((change) =>
      change.kind === "key" && change.path === path ? [[change.before, change.after] as const] : []
    ),
  );
  for (const key of renamed.keys()) {
    if (!Object.hasOwn(value, key)) throw new Error(`There is no key ${key} at ${path}`);
  }
  if (order?.kind === "order") same([...order.before], Object.keys(value), path);
  const keys = order?.kind === "order" ? order.after : Object.keys(value);
  const entries = keys.flatMap((key): [string, JsonValue][] => {
    const inner = `${path}/${pointerPart(key)}`;
    const gone = changes.some((change) =>
      change.kind === "value" && change.path === inner && !("after" in change)
    );
    if (gone) return [];
    return [[renamed.get(key) ?? key, rebuild(value[key]!, inner, changes)]];
  });
  const added = changes.flatMap((change): [string, JsonValue][] => {
    if (change.kind !== "value" || "before" in change || change.after === undefined) return [];
    const at = change.path.lastIndexOf("/");
    if (change.path.slice(0, at) !== path) return [];
    const key = change.path.slice(at + 1).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Object.hasOwn(value, key)) throw new Error(`There is a key ${key} at ${path} already`);
    return [[key, change.after]];
  });
  const result: JsonObject = {};
  for (const [key, inner] of [...entries, ...added]) {
    Object.defineProperty(result, key, {
      value: inner,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
}

function same(told: JsonValue | undefined, real: JsonValue, path: string): void {
  if (JSON.stringify(told) === JSON.stringify(real)) return;
  throw new Error(`At ${path} there is ${JSON.stringify(real)}, and not ${JSON.stringify(told)}`);
}

/** A key as a part of a JSON pointer. */
export function pointerPart(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
