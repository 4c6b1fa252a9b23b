/**
 * Names of tests that are made from a table: the same template as of `Deno.test.each`.
 * @module
 */

import { isObject } from "../base/json.ts";

/** Returns the values that a row gives to a function: those of a list one by one. */
export function valuesOf(row: unknown): readonly unknown[] {
  return Array.isArray(row) ? row : [row];
}

/**
 * Returns the name of a row's test: `%s`, `%d`, `%i`, `%f`, `%j`, `%o` and `%O` take the row's values in order, `%#` is
 * its place from 0, `%%` a percent sign, and `$key` or `$key.nested` a property of an object.
 */
export function rowName(template: string, row: unknown, place: number): string {
  const values = [...valuesOf(row)];
  return template.replace(/%([sdifjoO#%])|\$([A-Za-z_][\w.]*)/g, (token, kind, path) => {
    if (kind === "%") return "%";
    if (kind === "#") return String(place);
    try {
      if (path !== undefined) return propertyText(token, row, path);
      return values.length === 0 ? token : valueText(kind, values.shift());
    } catch {
      // What contains itself is no JSON, and a symbol no number.
      return token;
    }
  });
}

function valueText(kind: string, value: unknown): string {
  if (kind === "d" || kind === "f") return String(Number(value));
  if (kind === "i") return String(Math.trunc(Number(value)));
  if (kind === "j") return JSON.stringify(value) ?? String(value);
  return kind === "s" && !isObject(value) ? String(value) : Deno.inspect(value, { colors: false });
}

function propertyText(token: string, row: unknown, path: string): string {
  // "$price." ends a sentence.
  const [, keys = "", rest = ""] = /^(.*?)(\.*)$/.exec(path) ?? [];
  let value: unknown = row;
  for (const key of keys.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return token;
    value = Reflect.get(value, key);
  }
  return (typeof value === "string" ? value : Deno.inspect(value, { colors: false })) + rest;
}
