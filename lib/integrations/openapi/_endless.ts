/**
 * Schemas that refer to themselves for the same value, so that no check of a value would end.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../../base/json.ts";
import { HOLDERS, schemasBehind } from "../../tools/schema/subschemas.ts";

const PREFIX = "#/components/schemas/";

/**
 * Checks that following references without going into a value comes to an end.
 *
 * @param schemas The schemas by name, all of whose references lead to one of them.
 * @throws {InputError} If it does not; names `source`.
 */
export function assertEnding(schemas: JsonObject, source: string): void {
  const done = new Set<string>();
  for (const first of Object.keys(schemas)) {
    // Without recursion, as chains of references may be long.
    const path: { readonly name: string; readonly next: Iterator<string> }[] = [];
    const open = new Set<string>();
    const enter = (name: string) => {
      path.push({ name, next: sameValue(schemas[name]).values() });
      open.add(name);
    };
    if (!done.has(first)) enter(first);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const { value: name, done: isOver } = last.next.next();
      if (isOver === true) {
        open.delete(last.name);
        done.add(last.name);
        path.pop();
      } else if (open.has(name)) {
        throw cannot(
          `use ${source}`,
          "a schema must not be defined by itself",
          `${printable(name, 100)} refers to itself, and not for a part of the value`,
        );
      } else if (!done.has(name)) enter(name);
    }
  }
}

/** The names of the schemas that a schema applies to the same value. */
function sameValue(schema: JsonValue | undefined): Set<string> {
  const names = new Set<string>();
  const waiting = [schema];
  for (const next of waiting) {
    if (!isJsonObject(next)) continue;
    const { $ref } = next;
    if (typeof $ref === "string") names.add($ref.slice(PREFIX.length));
    for (const [keyword, value] of Object.entries(next)) {
      const isSame = HOLDERS.get(keyword)?.role === "branch" || ["if", "not"].includes(keyword);
      if (isSame) waiting.push(...schemasBehind(keyword, value).map(([, one]) => one));
    }
  }
  return names;
}
