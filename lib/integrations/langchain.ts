/**
 * Tools of LangChain (`npm:@langchain/core`): ours in its agents, and its own as ours.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { frameworkTool, validateOf } from "./_framework_tool.ts";
import { describeTool, optionsOf, type StoppableTool, type Tool } from "../tools/tool.ts";

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
    const { name, parameters } = tool;
    const description = describeTool(tool);
    const run = (input: JsonObject, config?: { readonly toolCall?: { readonly id?: unknown } }) =>
      tool.execute(input, optionsOf(config, config?.toolCall?.id));
    return make(run as never, { name, description, schema: parameters } as never);
  });
}

/**
 * Returns tools of LangChain as toolgate's: for `toolTest()`, perturbations and faults. They offer what LangChain
 * sends, refuse what their schemas refuse, and return the text of LangChain's message.
 *
 * @param options `toJsonSchema` of `npm:@langchain/core/utils/json_schema`, which LangChain converts schemas with.
 * @throws {InputError} If one is no tool with `invoke`.
 *
 * @example Usage
 * ```ts
 * import { fromLangChainTools } from "@toolgate/toolgate/integrations/langchain";
 * import { assertEquals } from "@std/assert";
 * import { tool } from "npm:@langchain/core@^1/tools";
 * import { toJsonSchema } from "npm:@langchain/core@^1/utils/json_schema";
 * import { z } from "zod";
 *
 * const weather = tool(({ city }) => `21 degrees in ${city}`, {
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   schema: z.object({ city: z.string() }),
 * });
 * const [ours] = fromLangChainTools([weather], { toJsonSchema });
 * assertEquals(await ours!.execute({ city: "Rome" }), "21 degrees in Rome");
 * ```
 */
export function fromLangChainTools(
  tools: readonly object[],
  { toJsonSchema }: { readonly toJsonSchema: (schema: never) => object },
): StoppableTool[] {
  return tools.map((tool) => {
    const one = tool as {
      readonly [key: string]: unknown;
      readonly invoke?: (call: object, config: object) => unknown;
    };
    const { name, description, schema, invoke: run } = one;
    const parameters = schema && toJsonSchema(schema as never);
    const check = validateOf(schema);
    // LangChain parses arguments itself, so it gets them as they were written.
    const validate = check && ((value: unknown) => {
      const result = check(value);
      const raw = (parsed: Awaited<typeof result>) => parsed.issues ? parsed : { value };
      return result instanceof Promise ? result.then(raw) : raw(result);
    });
    const given = { by: "fromLangChainTools()", name, description, parameters, validate, run };
    let calls = 0;
    return frameworkTool(given, async (args, signal) => {
      const call = { type: "tool_call", id: `call_${++calls}`, name, args };
      const message = await one.invoke!(call, signal);
      const { content = message, status, text }: Partial<Record<string, unknown>> = Object(message);
      const said = typeof content === "string" ? content : text ?? content;
      if (status === "error") throw new Error(String(said));
      return said;
    });
  });
}
