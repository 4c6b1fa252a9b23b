/**
 * What tools of all frameworks become.
 * @module
 */

import { cannot, reasonOf } from "../base/errors.ts";
import { isJsonObject, type JsonObject, printable } from "../base/json.ts";
import { tool } from "../tools/define_tool.ts";
import type { StandardResult, StandardSchema } from "../tools/own_schema.ts";
import type { StoppableTool } from "../tools/tool.ts";

/** Checks values, at once or later. */
export type Validate = (
  value: unknown,
) => StandardResult<unknown> | Promise<StandardResult<unknown>>;

/** A tool of a framework; what is unknown is checked here. */
export interface FrameworkTool {
  /** The function that converts it, for messages. */
  readonly by: string;
  readonly name: unknown;
  readonly description: unknown;
  readonly strict?: unknown;
  /** The JSON Schema of its arguments, as the framework sends it. */
  readonly parameters: unknown;
  /** Checks that the framework makes beyond the JSON Schema; omitted if there are none. */
  readonly validate?: Validate | undefined;
  /** Runs the tool on what `validate` returned, else on the arguments; not a function if it runs elsewhere. */
  readonly run: unknown;
}

/** Returns a tool that offers what a tool of a framework offers. */
export function frameworkTool(
  { by, name, description = "", strict, parameters, validate, run }: FrameworkTool,
  execute: (input: JsonObject, signal: { readonly signal?: AbortSignal }) => unknown,
): StoppableTool {
  const action = `convert tool ${printable(String(name), 80)}`;
  if (typeof run !== "function") {
    throw cannot(action, `${by} needs a function that runs it`, "its calls are answered elsewhere");
  }
  if (!isJsonObject(parameters)) {
    throw cannot(action, `${by} needs the JSON Schema of its arguments`, "it has none");
  }
  return tool<StandardSchema<JsonObject> | JsonObject>({
    name: name as string,
    description: description as string,
    ...(typeof strict === "boolean" ? { strict } : {}),
    // Without a library that runs its patterns, those of a JSON Schema are checked as any.
    parameters: validate === undefined ? parameters : standardSchema(
      by,
      parameters,
      validate as StandardSchema<JsonObject>["~standard"]["validate"],
    ),
    execute,
  });
}

/** Returns a schema of its two parts. */
export function standardSchema<Output>(
  vendor: string,
  jsonSchema: object,
  validate: StandardSchema<Output>["~standard"]["validate"],
): StandardSchema<Output> {
  const input = () => ({ ...jsonSchema });
  return { "~standard": { version: 1, vendor, validate, jsonSchema: { input } } };
}

/** Returns the check of a schema with Standard Schema; `undefined` for any other. */
export function validateOf(schema: unknown): Validate | undefined {
  const { validate }: { validate?: unknown } = Object(Object(schema)["~standard"]);
  return typeof validate === "function" ? validate as Validate : undefined;
}

/** Returns the result of `{ success, data or value, error }`, as zod 3 and the AI SDK write it. */
export function standardResult(result: unknown): StandardResult<unknown> {
  const { success, data, value = data, error }: Partial<Record<string, unknown>> = Object(result);
  if (success === true) return { value };
  const { issues }: { issues?: unknown } = Object(error);
  return { issues: Array.isArray(issues) ? issues : [{ message: reasonOf(error) }] };
}
