/**
 * Tool executors: carry out the tool calls of any agent with validation, retries, repairs and alternatives
 * (Pipeline, "Robust Tool Execution").
 * @module
 */

import { mapConcurrent } from "../../base/concurrent.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { NestedReply } from "../../tools/references/reply.ts";
import { offerReferences } from "../../tools/references/schema.ts";
import {
  type ExecutableCall,
  FRESH,
  freshTool,
  isIsolated,
  type PreparedCall,
  schemaOf,
  SHARED,
  signalIn,
  type StoppableTool,
  type ToolCall,
  type ToolSchema,
} from "../../tools/tool.ts";
import { Toolbox } from "../../trials/executors/toolbox.ts";
import { CallToolbox, type ExecutorParts, readCall } from "./_call_toolbox.ts";
import {
  type ExecuteOptions,
  type ToolExecutorOptions,
  type ToolExecutorSettings,
  toolExecutorSettings,
} from "./options.ts";
import type { Execution } from "./result.ts";

/** Carries out calls with validation, retries, repairs and alternatives. */
export interface ToolExecutor {
  /** The schemas of the tools to offer to a model; with `references`, they allow these. */
  readonly offered: readonly ToolSchema[];
  /**
   * The same tools, wrapped so that calling one directly goes through the executor. A failure is returned as a
   * JSON object with the single key `error`, not thrown. Called this way, they do not resolve references.
   */
  readonly tools: readonly StoppableTool[];
  /** Carries out a call. Never throws. */
  execute(call: ExecutableCall, options?: ExecuteOptions): Promise<Execution>;
  /**
   * Carries out the calls of one reply, up to `parallel` at a time, and returns the executions in their order.
   * With `references`, calls that refer to others run after them.
   */
  executeAll(
    calls: readonly ExecutableCall[],
    options?: ExecuteOptions,
  ): Promise<readonly Execution[]>;
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
  return new AttemptingExecutor(tools, toolExecutorSettings(options, tools));
}

class AttemptingExecutor implements ToolExecutor {
  readonly offered: readonly ToolSchema[];
  readonly tools: readonly StoppableTool[];
  readonly #parts: ExecutorParts;
  #executions = 0;

  constructor(tools: readonly StoppableTool[], settings: ToolExecutorSettings) {
    this.offered = tools.map((tool) =>
      schemaOf(settings.references ? offerReferences(tool) : tool)
    );
    this.#parts = {
      settings,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      lasting: tools.map((tool) => like(tool, (input) => tool.execute(input))),
      requests: 0,
    };
    const hasFresh = tools.some((tool) => tool[FRESH] !== undefined);
    // Any of them may be called as an alternative to another.
    const shared = !tools.every(isIsolated);
    this.tools = tools.map((tool, place) => {
      const wrapped = like(tool, async (input, options) => {
        const call = readCall({ name: tool.name, arguments: input });
        return (await this.#perform(call, signalIn(options), ++this.#executions)).content;
      });
      if (!hasFresh) return wrapped;
      const fresh = () => new AttemptingExecutor(tools.map(freshTool), settings).tools[place]!;
      Object.defineProperty(wrapped, FRESH, { value: fresh, enumerable: false });
      if (shared) Object.defineProperty(wrapped, SHARED, { value: true, enumerable: false });
      return wrapped;
    });
  }

  async execute(call: ExecutableCall, options: ExecuteOptions = {}): Promise<Execution> {
    const [execution] = await this.executeAll([call], options);
    return execution!;
  }

  async executeAll(
    calls: readonly ExecutableCall[],
    options: ExecuteOptions = {},
  ): Promise<readonly Execution[]> {
    const { references, depth, parallel } = this.#parts.settings;
    // Numbered before any begins, so that timing does not change their jitter.
    const first = this.#executions + 1;
    this.#executions += calls.length;
    const read = calls.map(readCall);
    const nested = references ? new NestedReply(read, depth) : undefined;
    const executions: Execution[] = [];
    const run = async (place: number) => {
      const call = nested === undefined
        ? read[place]!
        : this.#resolved(nested, place, read[place]!);
      const execution = await this.#perform(call, options, first + place);
      executions[place] = execution;
      if (execution.ok) nested?.keep(place, execution.value);
    };
    for (const level of nested?.levels ?? [[...read.keys()]]) {
      await mapConcurrent(level.length, (at) => run(level[at]!), { most: parallel });
    }
    return executions;
  }

  /** A call with its references resolved; the calls that it refers to have ended. */
  #resolved(nested: NestedReply, place: number, call: ToolCall): PreparedCall {
    const { tools } = this.#parts;
    const { resolved, refusal } = nested.prepare(place, tools.get(call.name)?.parameters);
    if (refusal !== undefined) return { ...call, refusal };
    return resolved === undefined ? call : { ...call, arguments: resolved };
  }

  async #perform(call: PreparedCall, options: ExecuteOptions, number: number): Promise<Execution> {
    using toolbox = new CallToolbox(this.#parts, options, number);
    return await toolbox.perform(call);
  }
}

/** A tool with the schema and the check of another one. */
function like(tool: StoppableTool, execute: StoppableTool["execute"]): StoppableTool {
  return {
    ...schemaOf(tool),
    ...(tool.check && { check: (input) => tool.check?.(input) }),
    ...(tool.unsafePatterns && { unsafePatterns: true }),
    execute,
  };
}
