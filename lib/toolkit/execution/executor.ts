/**
 * Tool executors: carry out the tool calls of any agent with validation, retries, repairs and alternatives
 * (Pipeline, "Robust Tool Execution").
 * @module
 */

import { assertTools } from "../../tools/define_tool.ts";
import { type ExecutableCall, schemaOf, type StoppableTool } from "../../tools/tool.ts";
import { Toolbox } from "../../trials/executors/toolbox.ts";
import { CallToolbox, type ExecutorParts, readCall } from "./_call_toolbox.ts";
import { type ExecuteOptions, type ToolExecutorOptions, toolExecutorSettings } from "./options.ts";
import type { Execution } from "./result.ts";

/** Carries out calls with validation, retries, repairs and alternatives. */
export interface ToolExecutor {
  /** Carries out a call. Never throws. */
  execute(call: ExecutableCall, options?: ExecuteOptions): Promise<Execution>;
}

/**
 * Makes a tool executor for a custom agent.
 *
 * Arguments are checked first, by the schema and by the tool's `check`: no tool runs with invalid ones. The
 * reaction to an error depends on its category ({@linkcode toToolError} assigns these):
 *
 * | category | reaction |
 * | --- | --- |
 * | `rate_limit`, `timeout` | a retry, after a pause that doubles, with jitter, or as long as the tool asks |
 * | `validation` | with `repair`, a model gives other arguments |
 * | `not_found`, `unknown_tool` | with `alternatives`, another tool is called, whose arguments are checked too |
 * | `permission`, `execution`, `cancelled` | none: a retry does not help, or could repeat an effect |
 *
 * A tool that times out is retried although it may have had its effect: give tools that must not run twice
 * a separate executor with `retries: 0`.
 *
 * @throws {InputError} If an option is unknown or has an invalid value, or a tool is invalid.
 *
 * @example Usage
 * ```ts
 * import { createToolExecutor, ToolError } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * let busy = true;
 * const weather = {
 *   name: "weather",
 *   description: "Tells the weather",
 *   parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *   execute: async ({ city }: Record<string, unknown>) => {
 *     if (busy) {
 *       busy = false;
 *       throw new ToolError("rate_limit", "One call a millisecond");
 *     }
 *     return await `Rain in ${city}`;
 *   },
 * };
 * const executor = createToolExecutor([weather], { backoff: 1 });
 *
 * const done = await executor.execute({ name: "weather", arguments: { city: "Oslo" } });
 * assertEquals([done.ok, done.content], [true, "Rain in Oslo"]);
 * assertEquals(done.attempts.map((one) => one.ok || one.category), ["rate_limit", true]);
 *
 * const refused = await executor.execute({ name: "weather", arguments: '{"city":7}' });
 * assertEquals(
 *   refused.content,
 *   '{"error":"The arguments do not conform to the schema: /city must be string"}',
 * );
 * ```
 */
export function createToolExecutor(
  tools: readonly StoppableTool[],
  options: ToolExecutorOptions = {},
): ToolExecutor {
  assertTools(tools);
  // Each call gets one of its own: two tools with one name, and schemas that are none, are refused at once.
  new Toolbox(tools);
  const parts: ExecutorParts = {
    settings: toolExecutorSettings(options, tools),
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    lasting: tools.map(lastingTool),
    requests: 0,
  };
  let executions = 0;
  return {
    async execute(call, options = {}) {
      using toolbox = new CallToolbox(parts, options, ++executions);
      return await toolbox.perform(readCall(call));
    },
  };
}

/** A tool that does not start fresh for each call. */
function lastingTool(tool: StoppableTool): StoppableTool {
  return {
    ...schemaOf(tool),
    ...(tool.check && { check: (input) => tool.check?.(input) }),
    ...(tool.unsafePatterns && { unsafePatterns: true }),
    execute: (input) => tool.execute(input),
  };
}
