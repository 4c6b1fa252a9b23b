/**
 * Tools of the OpenAI Agents SDK (`npm:@openai/agents`): ours in its agents, and its own as ours.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { signalIn, type StoppableTool, type Tool } from "../tools/tool.ts";

/**
 * Returns tools for `new Agent({ tools })` of the OpenAI Agents SDK.
 *
 * @example Usage
 * ```ts
 * import { tool } from "@toolgate/toolgate";
 * import { toOpenAIAgentsTools } from "@toolgate/toolgate/integrations/openai_agents";
 * import { assertEquals } from "@std/assert";
 * import { Agent, tool as agentsTool } from "npm:@openai/agents@^0.20.0";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } } },
 *   returns: { degrees: 21 },
 * });
 * const tools = toOpenAIAgentsTools([weather], { tool: agentsTool });
 * const agent = new Agent({ name: "assistant", tools });
 * assertEquals(agent.tools.map(({ name }) => name), ["weather"]);
 * ```
 */
export function toOpenAIAgentsTools<Made extends object>(
  tools: readonly Tool[],
  { tool: make }: { readonly tool: (options: never) => Made },
): Made[] {
  return tools.map((tool: StoppableTool) => {
    const { name, description, parameters } = tool;
    const execute = (input: JsonObject, _context: unknown, details?: unknown) =>
      tool.execute(input, signalIn(details));
    const made = make({ name, description, parameters, strict: false, execute } as never);
    // It writes "_" for every other character of a name, also for "-", which providers accept.
    return { ...made, name };
  });
}
