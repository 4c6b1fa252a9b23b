/**
 * Tools of the OpenAI Agents SDK (`npm:@openai/agents`): ours in its agents, and its own as ours.
 * @module
 */

import { jsonText } from "../base/json.ts";
import type { JsonObject } from "../base/json.ts";
import { frameworkTool } from "./_framework_tool.ts";
import { describeTool, optionsOf, type StoppableTool, type Tool } from "../tools/tool.ts";

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
    const { name, parameters } = tool;
    const description = describeTool(tool);
    const execute = (
      input: JsonObject,
      _context: unknown,
      details?: { readonly toolCall?: { readonly callId?: unknown } },
    ) => tool.execute(input, optionsOf(details, details?.toolCall?.callId));
    const made = make({ name, description, parameters, strict: false, execute } as never);
    // It writes "_" for every other character of a name, also for "-", which providers accept.
    return { ...made, name };
  });
}

/** The text of the SDK in place of an error, unless a tool has an `errorFunction` of its own. */
const DEFAULT_ERROR = "An error occurred while running the tool";

/**
 * Returns function tools of the OpenAI Agents SDK as toolgate's: for `toolTest()`, perturbations and faults. They
 * offer what the SDK sends, and refuse what their JSON Schemas refuse; the SDK makes all other checks. Its text for an
 * error that a tool threw counts as an error; that of an `errorFunction` of your own is a result like others.
 *
 * @param options The context that tools get: a `RunContext` of the SDK.
 * @throws {InputError} If one is no function tool.
 *
 * @example Usage
 * ```ts
 * import { fromOpenAIAgentsTools } from "@toolgate/toolgate/integrations/openai_agents";
 * import { assertEquals } from "@std/assert";
 * import { RunContext, tool } from "npm:@openai/agents@^0.20.0";
 * import { z } from "zod";
 *
 * const weather = tool({
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: z.object({ city: z.string() }),
 *   execute: ({ city }) => `21 degrees in ${city}`,
 * });
 * const [ours] = fromOpenAIAgentsTools([weather], { runContext: new RunContext() });
 * assertEquals(await ours!.execute({ city: "Rome" }), "21 degrees in Rome");
 * ```
 */
export function fromOpenAIAgentsTools(
  tools: readonly object[],
  { runContext }: { readonly runContext: object },
): StoppableTool[] {
  return tools.map((tool) => {
    const { invoke: run, ...given } = tool as { readonly [key: string]: unknown };
    const { name, description, strict, parameters } = given;
    const by = "fromOpenAIAgentsTools()";
    return frameworkTool(
      { by, name, description, strict, parameters, run },
      async (input, signal) => {
        const invoke = run as (context: object, text: string, details: object) => unknown;
        const output = await invoke(runContext, jsonText(input), signal);
        if (typeof output === "string" && output.startsWith(DEFAULT_ERROR)) throw new Error(output);
        return output === undefined ? "undefined" : output;
      },
    );
  });
}
