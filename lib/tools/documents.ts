/**
 * Tool documents: descriptions of tools as users and providers write them.
 * @module
 */

import { z } from "zod";
import { parseWith, WITH_INPUT } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, printable } from "../base/json.ts";
import { HOLDERS, keysOf, MOST_DEPTH, type Subschema, subschemas } from "./schema/subschemas.ts";
import type { ToolSchema } from "./tool.ts";

/**
 * Reads a tool document, or a list of them. Each is in toolgate's own form, or in OpenAI's: that of chat
 * completions, where all stands under `function`, or that of responses, where it stands beside `type`.
 * A missing description is an empty one; OpenAI's forms may leave out parameters.
 *
 * @param source What the documents are called in messages, such as the name of a file.
 * @throws {InputError} If there is anything else, such as a schema that is none; or two tools have one name.
 *
 * @example Usage
 * ```ts
 * import { parseToolDocuments } from "./documents.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const parameters = { type: "object", properties: { city: { type: "string" } } };
 * const document = { type: "function", function: { name: "weather", parameters } };
 * assertEquals(parseToolDocuments(document, "tool.json"), [
 *   { name: "weather", description: "", parameters },
 * ]);
 * ```
 */
export function parseToolDocuments(value: unknown, source: string): readonly ToolSchema[] {
  const tools = Array.isArray(value)
    ? parseWith(z.array(DOCUMENT), value, source)
    : [parseWith(DOCUMENT, value, source)];
  const names = new Set<string>();
  for (const [place, { name }] of tools.entries()) {
    if (names.has(name)) {
      const at = formOf((value as unknown[])[place]) === CHAT ? "function.name" : "name";
      throw new InputError(
        `Cannot use ${source}:\n  at [${place}].${at}: must be another than those before: it is ` +
          printable(JSON.stringify(name)),
      );
    }
    names.add(name);
  }
  return tools;
}

const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object");

const SCHEMA = OBJECT.superRefine((schema, context) => {
  const fault = firstFault(schema);
  if (fault !== undefined) context.addIssue({ code: "custom", ...fault });
});

const PARTS = {
  name: z.string().min(1),
  description: z.string().default(""),
  examples: z.array(OBJECT).optional(),
  returns: SCHEMA.optional(),
};

const OWN = z.strictObject({ ...PARTS, parameters: SCHEMA, strict: z.boolean().optional() });

/** Its descriptions of functions say `null` for what is left to the provider. */
const OPENAI = {
  ...PARTS,
  description: PARTS.description.nullable(),
  parameters: SCHEMA.nullish(),
  strict: z.boolean().nullish(),
};
const KIND = { type: z.literal("function") };
const RESPONSES = z.object({ ...KIND, ...OPENAI });
const FUNCTION = z.object(OPENAI);
const CHAT = z.object({ ...KIND, function: FUNCTION });

const DOCUMENT = z.unknown().transform((value, context): ToolSchema => {
  const { data, error } = formOf(value).safeParse(value, WITH_INPUT);
  if (data !== undefined) return toolOf("function" in data ? data.function : data);
  for (const issue of error.issues) context.issues.push(issue as z.core.$ZodRawIssue);
  return z.NEVER;
});

function formOf(value: unknown): typeof OWN | typeof RESPONSES | typeof CHAT {
  const has = (key: string) => isJsonObject(value) && Object.hasOwn(value, key);
  return has("function") ? CHAT : has("type") ? RESPONSES : OWN;
}

function toolOf(
  { name, description, parameters, strict, examples, returns }:
    | z.infer<typeof OWN>
    | z.infer<typeof FUNCTION>,
): ToolSchema {
  return {
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
    ...(typeof strict === "boolean" ? { strict } : {}),
    ...(examples === undefined ? {} : { examples }),
    ...(returns === undefined ? {} : { returns }),
  };
}

/** What is wrong with a schema, and where. */
interface Fault {
  readonly path: PropertyKey[];
  readonly message: string;
}

/** The first thing that is wrong with a schema, or with one in it. */
function firstFault(schema: JsonObject): Fault | undefined {
  for (const inner of subschemas(schema)) {
    if (inner.depth > MOST_DEPTH) {
      return { path: [], message: `must nest at most ${MOST_DEPTH} schemas deep: it nests deeper` };
    }
    for (const [keyword, held] of Object.entries(inner.schema)) {
      const fault = faultBehind(keyword, held);
      if (fault === undefined) continue;
      return { path: [...placeOf(inner), keyword, ...fault.path], message: fault.message };
    }
  }
}

/** The keys and places by which a schema is found. */
function placeOf({ path, around }: Subschema): PropertyKey[] {
  const keys: PropertyKey[] = keysOf(path);
  for (let inner = around; inner !== undefined; inner = inner.around) {
    const place = keysOf(inner.path).length + 1;
    if (!Array.isArray(inner.schema[String(keys[place - 1])])) continue;
    keys[place] = Number(keys[place]);
  }
  return keys;
}

function faultBehind(keyword: string, held: JsonValue): Fault | undefined {
  const rule = RULES.get(keyword);
  if (rule !== undefined) return rule(held);
  const shape = HOLDERS.get(keyword)?.shape;
  if (shape === undefined) return undefined;
  if (shape === "named") {
    if (!isJsonObject(held)) return faultOf(held, "must be an object of schemas");
    return faultAmong(
      Object.entries(held).filter(([, inner]) =>
        // Up to draft 7 there may be names of what depends on the key.
        keyword !== "dependencies" || !Array.isArray(inner)
      ),
    );
  }
  if (Array.isArray(held) && shape !== "one") return faultAmong([...held.entries()]);
  if (shape === "list") return faultOf(held, "must be a list of schemas");
  return isSchema(held) ? undefined : faultOf(held, A_SCHEMA);
}

const A_SCHEMA = "must be a schema, an object (or true, or false)";

function isSchema(value: JsonValue): boolean {
  return isJsonObject(value) || typeof value === "boolean";
}

function faultAmong(schemas: readonly (readonly [PropertyKey, JsonValue])[]): Fault | undefined {
  const wrong = schemas.find(([, schema]) => !isSchema(schema));
  return wrong === undefined ? undefined : faultOf(wrong[1], A_SCHEMA, [wrong[0]]);
}

const TYPES: ReadonlySet<JsonValue> = new Set([
  "null",
  "boolean",
  "integer",
  "number",
  "string",
  "array",
  "object",
]);

/** What stands behind keywords that hold no schemas, as far as perturbations read them. */
const RULES: ReadonlyMap<string, (held: JsonValue) => Fault | undefined> = new Map([
  ["description", (held) => typeof held === "string" ? undefined : faultOf(held, "must be a text")],
  ["required", (held) => {
    if (!Array.isArray(held)) return faultOf(held, "must be a list of texts");
    const place = held.findIndex((name) => typeof name !== "string");
    return place === -1 ? undefined : faultOf(held[place]!, "must be a text", [place]);
  }],
  ["enum", (held) => Array.isArray(held) ? undefined : faultOf(held, "must be a list")],
  ["type", (held) => {
    const known = `must be one of ${[...TYPES].join(", ")}`;
    if (!Array.isArray(held)) {
      return TYPES.has(held) ? undefined : faultOf(held, `${known}, or a list of them`);
    }
    const place = held.findIndex((type) => !TYPES.has(type));
    return place === -1 ? undefined : faultOf(held[place]!, known, [place]);
  }],
]);

/** The fault of a value, with its kind or, where it is short, with itself. */
function faultOf(value: JsonValue, rule: string, path: PropertyKey[] = []): Fault {
  const state = Array.isArray(value)
    ? "a list"
    : isJsonObject(value)
    ? "an object"
    : printable(JSON.stringify(value));
  return { path, message: `${rule}: it is ${state}` };
}
