/**
 * Tools of the AI SDK (`npm:ai`): ours in its agents, and its own as ours.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { signalIn, type StoppableTool, type Tool } from "../tools/tool.ts";

/** A tool as `generateText()`, `streamText()` and `ToolLoopAgent` of the AI SDK take it. */
export interface AiSdkTool<Schema> {
  /** What the tool does. */
  readonly description: string;
  /** The schema of its arguments. */
  readonly inputSchema: Schema;
  /** Whether the provider should hold the model to the schema. */
  readonly strict?: boolean;
  /** Runs the tool on arguments. */
  execute(input: JsonObject, options?: { readonly abortSignal?: AbortSignal }): Promise<string>;
}

/**
 * Returns tools for `generateText({ tools })` of the AI SDK, by their names.
 *
 * @example Usage
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { toAiSdkTools } from "@toolgate/toolgate/integrations/ai_sdk";
 * import { assertEquals } from "@std/assert";
 * import { jsonSchema } from "npm:ai@^7";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   returns: { degrees: 21 },
 * });
 * const tools = toAiSdkTools([weather], { jsonSchema });
 * // generateText({ model, tools, prompt, stopWhen: isStepCount(20) });
 * assertEquals(await tools["weather"]!.execute({ city: "Rome" }), '{"degrees":21}');
 * ```
 */
export function toAiSdkTools<Schema>(
  tools: readonly Tool[],
  { jsonSchema }: { readonly jsonSchema: (schema: never) => Schema },
): Record<string, AiSdkTool<Schema>> {
  return Object.fromEntries(tools.map((tool: StoppableTool) => [
    tool.name,
    {
      description: tool.description,
      inputSchema: jsonSchema(tool.parameters as never),
      execute: (input, options) => tool.execute(input, signalIn({ signal: options?.abortSignal })),
    } satisfies AiSdkTool<Schema>,
  ]));
}
