/**
 * Schemas that apply to one value endlessly, or too often, so that no check of the value would come to an end.
 * @module
 */

import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { targetOf } from "./position.ts";
import { HOLDERS, schemasBehind, subschemas } from "./subschemas.ts";

/** Schemas that apply to one value, at most. One counts as often as it is reached. */
const MAX_APPLIED = 100_000;

/**
 * Checks that following references without going into a value comes to an end, and soon.
 *
 * @throws {RangeError} If it does not.
 */
export function assertEnding(root: JsonObject): void {
  /** How many schemas apply where one does. */
  const counts = new Map<JsonObject, number>();
  for (const { schema: first, path } of subschemas(root)) {
    const place = path === "" ? "it" : path;
    const open = new Set<JsonObject>();
    // Without recursion, as chains of references may be long.
    const waiting = [first];
    for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
      const next = counts.has(last) ? [] : ofSameValue(root, last);
      if (counts.has(last)) waiting.pop();
      else if (open.delete(last)) {
        const count = next.reduce((sum, one) => sum + counts.get(one)!, 1);
        if (count > MAX_APPLIED) {
          throw new RangeError(`${place} applies more than ${MAX_APPLIED} schemas to one value`);
        }
        counts.set(last, count);
      } else {
        open.add(last);
        if (next.some((one) => open.has(one))) {
          throw new RangeError(
            `${place} has a schema that refers to itself, and not for a part of it`,
          );
        }
        for (const one of next) waiting.push(one);
      }
    }
  }
}

/** The schemas that a schema applies to the same value. */
function ofSameValue(root: JsonObject, schema: JsonObject): JsonObject[] {
  const own = Object.entries(schema).flatMap(([keyword, value]) =>
    HOLDERS.get(keyword)?.role === "branch" || keyword === "if" || keyword === "not"
      ? schemasBehind(keyword, value).map(([, inner]) => inner)
      : []
  );
  return [targetOf(root, schema["$ref"]), ...own].filter(isJsonObject);
}
