/**
 * Tool documents: descriptions of tools in the formats of users and providers.
 * @module
 */

import { z } from "zod";
import { parseWith, WITH_INPUT } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import {
  defined,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  pointerKeys,
  printable,
} from "../base/json.ts";
import { HOLDERS, MAX_DEPTH, type Subschema, subschemas } from "./schema/subschemas.ts";
import type { ToolSchema } from "./tool.ts";

/**
 * Reads a tool document, or a list of them. Each is in toolgate's format, in OpenAI's for chat completions
 * (all fields under `function`) or for responses (all fields next to `type`), or in MCP's (`inputSchema`,
 * `outputSchema`, annotations), also as the result of `tools/list`: `{ tools: [...] }`. A missing description is
 * read as empty, in MCP's form as the title; OpenAI's formats may leave out parameters.
 *
 * @param source The name of the documents in messages, such as a file name.
 * @throws {InputError} If a document or the schema in it is not valid, or two tools share a name.
 *
 * @example Usage
 * ```ts
 * import { parseToolDocuments } from "@toolgate/toolgate/perturbations";
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
  const { tools: listed } = isJsonObject(value) ? value : {};
  const documents = Array.isArray(listed) ? listed : value;
  const tools = Array.isArray(documents)
    ? parseWith(z.array(DOCUMENT), documents, source)
    : [parseWith(DOCUMENT, documents, source)];
  const names = new Set<string>();
  for (const [place, { name }] of tools.entries()) {
    if (names.has(name)) {
      const at = documentForm((documents as unknown[])[place]) === CHAT ? "function.name" : "name";
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

/** OpenAI writes `null` for fields that are left to the provider. */
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
/** MCP's own form, whose further fields are for hosts. */
const MCP = z.object({
  ...PARTS,
  title: z.string().exactOptional(),
  description: z.string().exactOptional(),
  inputSchema: SCHEMA,
  outputSchema: SCHEMA.exactOptional(),
}).transform(({ name, title = "", description = title, inputSchema, outputSchema }) => ({
  ...{ name, description, parameters: inputSchema },
  ...defined({ returns: outputSchema }),
}));

const DOCUMENT = z.unknown().transform((value, context): ToolSchema => {
  const { data, error } = documentForm(value).safeParse(value, WITH_INPUT);
  if (data !== undefined) return toToolSchema("function" in data ? data.function : data);
  for (const issue of error.issues) context.issues.push(issue as z.core.$ZodRawIssue);
  return z.NEVER;
});

function documentForm(
  value: unknown,
): typeof OWN | typeof RESPONSES | typeof CHAT | typeof MCP {
  const has = (key: string) => isJsonObject(value) && Object.hasOwn(value, key);
  return has("inputSchema") ? MCP : has("function") ? CHAT : has("type") ? RESPONSES : OWN;
}

function toToolSchema(
  { name, description, parameters, strict, examples, returns }:
    & Pick<z.infer<typeof FUNCTION>, "name" | "description" | "parameters">
    & Partial<z.infer<typeof FUNCTION>>,
): ToolSchema {
  return {
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
    ...(typeof strict === "boolean" ? { strict } : {}),
    ...defined({ examples, returns }),
  };
}

/** A fault in a schema, and where it is. */
interface Fault {
  readonly path: PropertyKey[];
  readonly message: string;
}

/** Returns the first fault in a schema or its subschemas. */
function firstFault(schema: JsonObject): Fault | undefined {
  for (const inner of subschemas(schema)) {
    if (inner.depth > MAX_DEPTH) {
      return { path: [], message: `must nest at most ${MAX_DEPTH} schemas deep: it nests deeper` };
    }
    for (const [keyword, value] of Object.entries(inner.schema)) {
      const fault = keywordFault(keyword, value);
      if (fault === undefined) continue;
      return { path: [...schemaPath(inner), keyword, ...fault.path], message: fault.message };
    }
  }
}

/** Returns the path of a schema, with list indices as numbers. */
function schemaPath({ path, around }: Subschema): PropertyKey[] {
  const keys: PropertyKey[] = pointerKeys(path);
  for (let inner = around; inner !== undefined; inner = inner.around) {
    const place = pointerKeys(inner.path).length + 1;
    if (!Array.isArray(inner.schema[String(keys[place - 1])])) continue;
    keys[place] = Number(keys[place]);
  }
  return keys;
}

function keywordFault(keyword: string, value: JsonValue): Fault | undefined {
  const rule = RULES.get(keyword);
  if (rule !== undefined) return rule(value);
  const shape = HOLDERS.get(keyword)?.shape;
  if (shape === undefined) return undefined;
  if (shape === "named") {
    if (!isJsonObject(value)) return faultAt(value, "must be an object of schemas");
    return schemasFault(
      Object.entries(value).filter(([, inner]) =>
        // Up to draft 7 this may also be a list of required keys.
        keyword !== "dependencies" || !Array.isArray(inner)
      ),
    );
  }
  if (Array.isArray(value) && shape !== "one") return schemasFault([...value.entries()]);
  if (shape === "list") return faultAt(value, "must be a list of schemas");
  return isSchema(value) ? undefined : faultAt(value, A_SCHEMA);
}

const A_SCHEMA = "must be a schema, an object (or true, or false)";

function isSchema(value: JsonValue): boolean {
  return isJsonObject(value) || typeof value === "boolean";
}

function schemasFault(schemas: readonly (readonly [PropertyKey, JsonValue])[]): Fault | undefined {
  const wrong = schemas.find(([, schema]) => !isSchema(schema));
  return wrong === undefined ? undefined : faultAt(wrong[1], A_SCHEMA, [wrong[0]]);
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

/** Checks of keywords that hold no schemas, as far as perturbations read them. */
const RULES: ReadonlyMap<string, (value: JsonValue) => Fault | undefined> = new Map([
  [
    "description",
    (value) => typeof value === "string" ? undefined : faultAt(value, "must be a text"),
  ],
  ["required", (value) => {
    if (!Array.isArray(value)) return faultAt(value, "must be a list of texts");
    const place = value.findIndex((name) => typeof name !== "string");
    return place === -1 ? undefined : faultAt(value[place]!, "must be a text", [place]);
  }],
  ["enum", (value) => Array.isArray(value) ? undefined : faultAt(value, "must be a list")],
  ["type", (value) => {
    const rule = `must be one of ${[...TYPES].join(", ")}`;
    if (!Array.isArray(value)) {
      return TYPES.has(value) ? undefined : faultAt(value, `${rule}, or a list of them`);
    }
    const place = value.findIndex((type) => !TYPES.has(type));
    return place === -1 ? undefined : faultAt(value[place]!, rule, [place]);
  }],
]);

/** Makes the fault of a value; the message has its kind or, if it is short, the value itself. */
function faultAt(value: JsonValue, rule: string, path: PropertyKey[] = []): Fault {
  const state = Array.isArray(value)
    ? "a list"
    : isJsonObject(value)
    ? "an object"
    : printable(JSON.stringify(value));
  return { path, message: `${rule}: it is ${state}` };
}
