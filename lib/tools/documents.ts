/**
 * Tool documents: descriptions of tools in the formats of users and providers.
 * @module
 */

import { z } from "zod";
import { parseWith, WITH_INPUT } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue, pointerKeys } from "../base/json.ts";
import { HOLDERS, MAX_DEPTH, type Shape, subschemas } from "./schema/subschemas.ts";
import { schemaOf, type ToolSchema } from "./tool.ts";

/**
 * Reads a tool document, or a list of them. Each is in toolgate's format, in OpenAI's for chat completions
 * (all fields under `function`) or for responses (all fields next to `type`), or in MCP's (`inputSchema`,
 * `outputSchema`, annotations), also as the result of `tools/list`: `{ tools: [...] }`. A missing description is
 * read as empty, in MCP's form as the title; OpenAI's formats may leave out parameters.
 *
 * @param source The name of the documents in messages, such as a file name.
 * @throws {InputError} If a document or the schema in it is not valid, or two tools share a name.
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
          JSON.stringify(name),
      );
    }
    names.add(name);
  }
  return tools;
}

const OBJECT = z.custom<JsonObject>(isJsonObject, "must be an object");

const TYPE = z.enum(["null", "boolean", "integer", "number", "string", "array", "object"]);

const SUBSCHEMA = z.custom<JsonValue>(
  (value) => isJsonObject(value) || typeof value === "boolean",
  "must be a schema, an object (or true, or false)",
);

const SHAPES: Readonly<Record<Shape, z.ZodType>> = {
  one: SUBSCHEMA,
  list: z.array(SUBSCHEMA),
  any: z.union([SUBSCHEMA, z.array(SUBSCHEMA)]),
  named: z.record(z.string(), SUBSCHEMA),
};

/** The keywords of a schema, as far as perturbations read them. */
const KEYWORDS = z.looseObject({
  ...Object.fromEntries(HOLDERS.entries().map(([keyword, { shape }]) => [keyword, SHAPES[shape]])),
  // Up to draft 7 these may also be lists of required keys.
  dependencies: z.record(z.string(), z.union([SUBSCHEMA, z.array(z.string())])),
  description: z.string(),
  required: z.array(z.string()),
  enum: z.array(z.unknown()),
  type: z.union([TYPE, z.array(TYPE)]),
}).partial();

// An error of its own would take the place of those of its keywords.
const SCHEMA = z.custom<JsonObject>().superRefine((schema, context) => {
  if (!isJsonObject(schema)) return context.addIssue("must be an object");
  for (const inner of subschemas(schema)) {
    if (inner.depth > MAX_DEPTH) {
      context.addIssue(`must nest at most ${MAX_DEPTH} schemas deep: it nests deeper`);
      return;
    }
    const [issue] = KEYWORDS.safeParse(inner.schema, WITH_INPUT).error?.issues ?? [];
    if (issue === undefined) continue;
    const keys = pointerKeys(inner.path).map((key) => /^\d+$/.test(key) ? Number(key) : key);
    context.issues.push({ ...issue, path: [...keys, ...issue.path] } as z.core.$ZodRawIssue);
    return;
  }
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
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: SCHEMA,
  outputSchema: SCHEMA.optional(),
}).transform(({ name, title = "", description = title, inputSchema, outputSchema }) => ({
  ...{ name, description, parameters: inputSchema },
  returns: outputSchema,
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
  return schemaOf({
    name,
    description: description ?? "",
    parameters: parameters ?? { type: "object", properties: {} },
    strict: strict ?? undefined,
    examples,
    returns,
  });
}
