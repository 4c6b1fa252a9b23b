/**
 * Schemas of libraries with Standard Schema (standardschema.dev), such as Valibot, Yup and Effect, as `tool()` takes
 * them. ArkType, Joi and zod 4 have a JSON Schema of their own, and need nothing of this.
 * @module
 */

import type { StandardSchema } from "../tools/own_schema.ts";
import { standardSchema } from "./_framework_tool.ts";

/** A schema that can check values, and has no JSON Schema. */
export interface CheckingSchema<Output> {
  /** What Standard Schema defines. */
  readonly "~standard": Pick<StandardSchema<Output>["~standard"], "validate" | "vendor">;
}

/**
 * Returns a schema for `tool({ parameters })`: models see the JSON Schema, and `execute` gets what the schema returns.
 *
 * @param toJsonSchema Converts a schema to JSON Schema, such as `toJsonSchema` of `npm:@valibot/to-json-schema`.
 *
 * @example Usage
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { withJsonSchema } from "@toolgate/toolgate/integrations/standard_schema";
 * import { assertEquals } from "@std/assert";
 * import { toJsonSchema } from "npm:@valibot/to-json-schema@^1.8.0";
 * import * as v from "npm:valibot@^1.5.0";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: withJsonSchema(v.object({ city: v.string() }), toJsonSchema),
 *   execute: ({ city }) => `21 degrees in ${city}`,
 * });
 * assertEquals(await weather.execute({ city: "Rome" }), "21 degrees in Rome");
 * ```
 */
export function withJsonSchema<Schema extends CheckingSchema<unknown>>(
  schema: Schema,
  toJsonSchema: (schema: never) => object,
): StandardSchema<Schema extends CheckingSchema<infer Output> ? Output : never> {
  const { vendor, validate } = schema["~standard"];
  return standardSchema(vendor, toJsonSchema(schema as never), validate as never);
}
