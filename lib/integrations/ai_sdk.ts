/**
 * Tools and models of the AI SDK (`npm:ai`): our tools in its agents, its tools as ours, and its models as ours.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import {
  type AiSdkModelOptions,
  type LanguageModel,
  languageModel,
  sourceOf,
} from "./ai_sdk/_language_model.ts";
import type { Model } from "../models/model.ts";
import { frameworkTool, standardResult, validateOf } from "./_framework_tool.ts";
import { describeTool, optionsOf, type StoppableTool, type Tool } from "../tools/tool.ts";

export type { AiSdkModelOptions, LanguageModel } from "./ai_sdk/_language_model.ts";

/**
 * Returns a language model of the AI SDK as a model for `benchmark()`, `toolTest()` and all else, so that a provider is
 * asked in its own format. What it wants back with the next request, such as signatures of reasoning, goes back to it
 * alone. Failed requests are sent again, and count, as those of `openai()`.
 *
 * Its `reply` throws an {@linkcode InfrastructureError} for every fault of network, server, account or reply; and if
 * the provider says that it does not take an option.
 *
 * @param model A language model of version 3 or 4 of its interface.
 * @throws {InputError} If it is none, or an option is invalid or cannot be sent.
 *
 * @example Usage
 * ```ts
 * import { aiSdkModel } from "@toolgate/toolgate/integrations/ai_sdk";
 * import { assertEquals } from "@std/assert";
 * import { createAnthropic } from "npm:@ai-sdk/anthropic@^4";
 *
 * const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () =>
 *   Response.json({
 *     ...{ type: "message", id: "msg_1", role: "assistant", model: "parrot-2" },
 *     content: [{ type: "text", text: "hello" }],
 *     ...{ stop_reason: "end_turn", usage: { input_tokens: 9, output_tokens: 1 } },
 *   }));
 *
 * const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
 * const parrot = aiSdkModel(createAnthropic({ baseURL, apiKey: "any" })("parrot"));
 * const { text, served } = await parrot.reply({
 *   messages: [{ role: "user", content: "Say hello" }],
 *   tools: [],
 *   context: { trial: "example", repetition: 1, request: 1 },
 * });
 * assertEquals([text, served], ["hello", "parrot-2"]);
 * await server.shutdown();
 * ```
 */
export function aiSdkModel(model: LanguageModel, options: AiSdkModelOptions = {}): Model {
  return languageModel(sourceOf(model), options);
}

/** A tool as `generateText()`, `streamText()` and `ToolLoopAgent` of the AI SDK take it. */
export interface AiSdkTool<Schema> {
  /** What the tool does. */
  readonly description: string;
  /** The schema of its arguments. */
  readonly inputSchema: Schema;
  /** Whether the provider should hold the model to the schema. */
  readonly strict?: boolean;
  /** Runs the tool on arguments. */
  execute(
    input: JsonObject,
    options?: { readonly abortSignal?: AbortSignal; readonly toolCallId?: string },
  ): Promise<string>;
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
      description: describeTool(tool),
      inputSchema: jsonSchema(tool.parameters as never),
      strict: tool.strict,
      execute: (input, options) =>
        tool.execute(input, optionsOf({ signal: options?.abortSignal }, options?.toolCallId)),
    } satisfies AiSdkTool<Schema>,
  ]));
}

/**
 * Returns tools of the AI SDK as toolgate's: for `toolTest()`, perturbations and faults. They offer what the AI SDK
 * sends, refuse what their schemas refuse, and return the text that it shows the model.
 *
 * @param tools Tools by name, as `generateText({ tools })` takes them.
 * @throws {InputError} If a tool has no `execute`, such as those that providers run.
 *
 * @example Usage
 * ```ts
 * import { fromAiSdkTools } from "@toolgate/toolgate/integrations/ai_sdk";
 * import { assertEquals } from "@std/assert";
 * import { asSchema, tool } from "npm:ai@^7";
 * import { z } from "zod";
 *
 * const weather = tool({
 *   description: "Returns the weather of a city",
 *   inputSchema: z.object({ city: z.string() }),
 *   execute: ({ city }) => ({ city, degrees: 21 }),
 * });
 * const [ours] = await fromAiSdkTools({ weather }, { asSchema });
 * assertEquals(await ours!.execute({ city: "Rome" }), '{"city":"Rome","degrees":21}');
 * ```
 */
export async function fromAiSdkTools(
  tools: Readonly<Record<string, object>>,
  { asSchema }: { readonly asSchema: (schema: never) => object },
): Promise<StoppableTool[]> {
  const by = "fromAiSdkTools()";
  return await Promise.all(
    Object.entries(tools).map(async ([name, tool]) => {
      const { description, strict, inputSchema, execute: run, toModelOutput } = tool as Given;
      const { jsonSchema, validate } = asSchema(inputSchema as never) as Given;
      const parameters = await jsonSchema;
      const all = async (value: unknown) => standardResult(await validate!(value));
      // The AI SDK waits for every schema; most libraries can say at once that arguments are refused.
      const check = validateOf(inputSchema) ?? (validate && all);
      const given = { by, name, description, strict, parameters, validate: check, run };
      let calls = 0;
      return frameworkTool(given, async (input, { signal }) => {
        const call = {
          toolCallId: `call_${++calls}`,
          messages: [],
          abortSignal: signal,
        };
        let output = await run!(input, call);
        // Of parts that come one by one, the last is the result.
        if (Symbol.asyncIterator in Object(output)) {
          for await (const part of output as AsyncIterable<unknown>) output = part;
        }
        if (toModelOutput === undefined) return output;
        const { type, value, reason }: Given = Object(
          await toModelOutput({ ...call, input, output }),
        );
        if (type === "error-text" || type === "execution-denied") {
          throw new Error(`${value ?? reason}`);
        }
        return type === "error-json" ? { error: value } : value;
      });
    }),
  );
}

/** What is read of tools and their parts, by name. */
interface Given {
  readonly [key: string]: unknown;
  readonly execute?: (...given: unknown[]) => unknown;
  readonly toModelOutput?: (...given: unknown[]) => unknown;
  readonly validate?: (value: unknown) => unknown;
}
