/**
 * Tools of LangChain (`npm:@langchain/core`): ours in its agents, and its own as ours.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { signalIn, type StoppableTool, type Tool } from "../tools/tool.ts";

/**
 * Returns tools for `createAgent({ tools })` and `bindTools()` of LangChain.
 *
 * @example Usage
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { toLangChainTools } from "@toolgate/toolgate/integrations/langchain";
 * import { assertEquals } from "@std/assert";
 * import { tool as langchainTool } from "npm:@langchain/core@^1/tools";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   returns: { degrees: 21 },
 * });
 * const tools = toLangChainTools([weather], { tool: langchainTool });
 * // createAgent({ model, tools });
 * assertEquals(tools.map(({ name }) => name), ["weather"]);
 * ```
 */
export function toLangChainTools<Made>(
  tools: readonly Tool[],
  { tool: make }: { readonly tool: (run: never, fields: never) => Made },
): Made[] {
  return tools.map((tool: StoppableTool) => {
    const { name, description, parameters } = tool;
    const run = (input: JsonObject, config?: unknown) => tool.execute(input, signalIn(config));
    return make(run as never, { name, description, schema: parameters } as never);
  });
}
