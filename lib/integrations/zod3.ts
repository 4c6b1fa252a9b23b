/**
 * Schemas of zod 3, as `tool()` takes them; those of zod 4 need nothing of this.
 * @module
 */

import type { StandardSchema } from "../tools/own_schema.ts";
import { standardResult, standardSchema } from "./_framework_tool.ts";

/** A schema of zod 3. */
export interface Zod3Schema<Output> {
  /** zod's internal type of what it returns. */
  readonly _output: Output;
  /** Parses a value, or says why it does not conform. */
  safeParse(value: unknown): { readonly success: boolean };
}

/**
 * Returns a schema for `tool({ parameters })`: models see the JSON Schema, and `execute` gets what the schema returns.
 *
 * @param toJsonSchema Converts a schema to JSON Schema, such as `zodToJsonSchema` of `npm:zod-to-json-schema`.
 *
 * @example Usage
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { fromZod3 } from "@toolgate/toolgate/integrations/zod3";
 * import { assertEquals } from "@std/assert";
 * import { z } from "npm:zod@^3.25.0";
 * import { zodToJsonSchema } from "npm:zod-to-json-schema@^3";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: fromZod3(z.object({ city: z.string() }), zodToJsonSchema),
 *   execute: ({ city }) => `21 degrees in ${city}`,
 * });
 * assertEquals(await weather.execute({ city: "Rome" }), "21 degrees in Rome");
 * ```
 */
export function fromZod3<Schema extends Zod3Schema<unknown>>(
  schema: Schema,
  toJsonSchema: (schema: never) => object,
): StandardSchema<Schema["_output"]> {
  const validate = (value: unknown) => standardResult(schema.safeParse(value));
  return standardSchema("zod 3", toJsonSchema(schema as never), validate as never);
}
