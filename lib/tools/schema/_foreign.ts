/**
 * Schemas of validation libraries, which are no JSON Schemas though some look like one.
 * @module
 */

import { isObject, printable } from "../../base/json.ts";

const ENTRIES = "@toolgate/toolgate/integrations";

/** Whether a value belongs to JSON rather than to a class, whichever realm it comes from. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Array.isArray(value) || Object.getPrototypeOf(prototype) === null;
}

/** Whether `value[first][second]...` is a function. In JSON none is, whatever names it has. */
function hasFunction(value: unknown, ...path: readonly string[]): boolean {
  return typeof path.reduce((inner, key) => Object(inner)[key], value) === "function";
}

/** Whether a schema has a JSON Schema of its own (Standard JSON Schema, standardschema.dev). */
export function hasJsonSchema(value: unknown): boolean {
  return hasFunction(value, "~standard", "jsonSchema", "input");
}

/** Returns what a value is and how to use it, if it is no JSON but of a library; else `undefined`. */
function foreignKind(value: unknown): string | undefined {
  if (!isObject(value) && typeof value !== "function") return undefined;
  if (hasFunction(value, "_zod", "run")) return "of zod 4: define the tool with tool()";
  const { vendor: given }: { vendor?: unknown } = Object(Object(value)["~standard"]);
  const vendor = typeof given === "string" ? printable(given, 40) : "a library";
  if (hasJsonSchema(value)) return `of ${vendor}: define the tool with tool()`;
  const isStandard = hasFunction(value, "~standard", "validate");
  if (isStandard ? vendor === "zod" : "_def" in value && hasFunction(value, "safeParse")) {
    return `of zod 3: convert it by fromZod3() of ${ENTRIES}/zod3`;
  }
  if (isStandard) {
    return `of ${vendor}: convert it by withJsonSchema() of ${ENTRIES}/standard_schema`;
  }
  if (Symbol.for("vercel.ai.schema") in value) {
    return `of the AI SDK: convert its tools by fromAiSdkTools() of ${ENTRIES}/ai_sdk`;
  }
  if (typeof value === "function") return "a function: convert it to a JSON Schema";
  if (isPlain(value) || "toJSON" in value) return undefined;
  const name: unknown = Object(value).constructor?.name;
  const title = typeof name === "string" && name !== "" ? ` of ${printable(name, 40)}` : "";
  return `an instance${title}: convert it to a JSON Schema`;
}

/** Schemas in which nothing foreign was found: tools are checked again for every trial. */
const PLAIN = new WeakSet<object>();

/**
 * Returns why a value cannot be a JSON Schema, as it is a schema of a validation library or holds one, and what to
 * use in its place; `undefined` if there is none. A schema object taken for a JSON Schema would accept anything.
 */
export function foreignSchema(schema: unknown): string | undefined {
  const whole = foreignKind(schema);
  if (whole !== undefined) return `they are ${whole}`;
  if (!isObject(schema) || PLAIN.has(schema)) return undefined;
  const visited = new Set<object>([schema]);
  for (const holder of visited) {
    for (const [key, value] of Object.entries(holder)) {
      const kind = foreignKind(value);
      if (holder === schema && !("type" in schema) && hasFunction(value, "_zod", "run")) {
        return "they are single schemas; put z.object({ ... }) around them";
      }
      if (kind !== undefined) return `${printable(key, 80)} is ${kind}`;
      if (isObject(value)) visited.add(value);
    }
  }
  PLAIN.add(schema);
  return undefined;
}
