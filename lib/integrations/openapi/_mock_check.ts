/**
 * Checks whether a value that was made up fits its schema, where that cannot be told without compiling it.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { type ArgumentCheck, argumentCheck } from "../../tools/schema/validate.ts";

/** What a schema says of a value without parts; it is checked by itself, as compiling a whole schema takes long. */
export const OF_PLAIN_VALUES = [
  ...["type", "enum", "format", "pattern", "minLength", "maxLength", "multipleOf"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
];

/** Returns whether a value fits a schema, which is compiled when that is first asked. */
export function checkOf(
  schema: JsonObject,
  unsafePatterns: boolean,
): (value: JsonValue) => boolean {
  const { $defs, ...value } = schema;
  const parameters: JsonObject = {
    ...{ type: "object", properties: { value } },
    ...($defs === undefined ? {} : { $defs }),
  };
  let check: ArgumentCheck | undefined;
  return (value) => {
    check ??= argumentCheck({ name: "result", description: "", parameters, unsafePatterns });
    return check({ value }) === undefined;
  };
}

/** Returns whether a value without parts fits what a schema says of it. */
export function plainCheck(
  unsafePatterns: boolean,
): (schema: JsonObject, value: JsonValue) => boolean {
  const checks = new Map<string, (value: JsonValue) => boolean>();
  return (schema, value) => {
    const rules = Object.fromEntries(
      OF_PLAIN_VALUES.flatMap((keyword) => {
        const rule = schema[keyword];
        return rule === undefined ? [] : [[keyword, rule]];
      }),
    );
    const key = JSON.stringify(rules);
    const check = checks.get(key) ?? checkOf(rules, unsafePatterns);
    checks.set(key, check);
    return check(value);
  };
}
