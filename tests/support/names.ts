/**
 * What the tests of names for values share.
 */

import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import type { ToolSchema } from "../../lib/tools/tool.ts";
import fc from "./fast_check.ts";

/** A tool that takes what `properties` says, and needs all of it. */
export function toolOf(properties: JsonObject, others: JsonObject = {}): ToolSchema {
  const parameters = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
    ...others,
  };
  return { name: "tool", description: "A tool", parameters };
}

/** The article's example. */
export const EVALUATE: ToolSchema = {
  name: "eval",
  description: "Evaluates a given mathematical expression represented as a string",
  strict: true,
  parameters: {
    type: "object",
    properties: {
      expression: {
        type: "string",
        description: "A mathematical expression represented as a string.",
      },
    },
    required: ["expression"],
    additionalProperties: false,
  },
};

/** The text that stands for itself where names are replaced. */
export function escaped(text: string): string {
  return text.replace(/(?<![\w\p{Lu}\p{Ll}@])@+(?=[A-Za-z_])/gu, (signs) => `@${signs}`);
}

/** Values of any type, as they come out of JSON. */
export const plain = fc.jsonValue({ maxDepth: 3 }).map((value) =>
  JSON.parse(JSON.stringify(value)) as JsonValue
);
