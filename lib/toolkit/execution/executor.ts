/**
 * Tool executors: carry out the tool calls of any agent with validation, retries, repairs and alternatives
 * (Pipeline, "Robust Tool Execution").
 * @module
 */

import { TOOL_ATTEMPTS } from "../../base/attempts.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";
import { MAX_DEPTH } from "../../tools/references/call_order.ts";
import { mapConcurrent } from "../../base/concurrent.ts";
import { NestedReply } from "../../tools/references/reply.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { freshSeed } from "../../base/random.ts";
import { MAX_PARALLEL } from "../../trials/executors/executor_options.ts";
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
import {
  argumentText,
  type AttemptSettings,
  type AttemptTools,
  CallAttempts,
  type ExecuteOptions,
} from "./attempts.ts";
import type { Execution } from "./result.ts";
import { checkExecutorOptions, type ToolExecutorOptions } from "./options.ts";
import { Toolbox } from "../../trials/executors/toolbox.ts";

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
  checkExecutorOptions(options, tools);
  return new RetryingExecutor(tools, options);
}

class RetryingExecutor implements ToolExecutor, AttemptTools {
  readonly offered: readonly ToolSchema[];
  readonly tools: readonly StoppableTool[];
  readonly settings: AttemptSettings;
  readonly #byName: ReadonlyMap<string, StoppableTool>;
  readonly #toolbox: Toolbox;
  readonly #parallel: number;
  readonly #references: boolean;
  readonly #depth: number;
  #executions = 0;
  #requests = 0;

  constructor(tools: readonly StoppableTool[], options: ToolExecutorOptions) {
    this.settings = withDefaults(options);
    const { parallel = MAX_PARALLEL, references = false, depth = MAX_DEPTH } = options;
    [this.#parallel, this.#references, this.#depth] = [parallel, references, depth];
    this.offered = tools.map((tool) => schemaOf(references ? offerReferences(tool) : tool));
    this.#toolbox = new Toolbox(tools);
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    const hasFresh = tools.some((tool) => tool[FRESH] !== undefined);
    // Any of them may be called as an alternative to another.
    const shared = !tools.every(isIsolated);
    this.tools = tools.map((tool, place) => {
      const wrapped = this.#wrap(tool);
      if (!hasFresh) return wrapped;
      const fresh = () => new RetryingExecutor(tools.map(freshTool), options).tools[place]!;
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
    // Numbered before any begins, so that timing does not change their jitter.
    const first = this.#executions + 1;
    this.#executions += calls.length;
    const read = calls.map(readCall);
    const nested = this.#references ? new NestedReply(read, this.#depth) : undefined;
    const executions: Execution[] = [];
    const run = async (place: number) => {
      const call = nested === undefined
        ? read[place]!
        : this.#resolved(nested, place, read[place]!);
      const { id }: Partial<ExecutableCall> = Object(calls[place]);
      const execution = await new CallAttempts(this, call, options, first + place)
        .run(typeof id === "string" ? id : undefined);
      executions[place] = execution;
      if (execution.ok) nested?.keep(place, execution.value);
    };
    for (const level of nested?.levels ?? [[...read.keys()]]) {
      await mapConcurrent(level.length, (at) => run(level[at]!), { most: this.#parallel });
    }
    return executions;
  }

  /** A call with its references resolved; the calls that it refers to have ended. */
  #resolved(nested: NestedReply, place: number, call: ToolCall): PreparedCall {
    const { resolved, refusal } = nested.prepare(place, this.tool(call.name)?.parameters);
    if (refusal !== undefined) return { ...call, refusal };
    return resolved === undefined ? call : { ...call, arguments: resolved };
  }

  tool(name: string): StoppableTool | undefined {
    return this.#byName.get(name);
  }

  checked(call: PreparedCall): ReturnType<Toolbox["checked"]> {
    return this.#toolbox.checked(call);
  }

  take(call: PreparedCall): ReturnType<Toolbox["take"]> {
    return this.#toolbox.take(call);
  }

  nextRequest(): number {
    return ++this.#requests;
  }

  #wrap(tool: StoppableTool): StoppableTool {
    return {
      ...schemaOf(tool),
      ...(tool.check === undefined ? {} : { check: (input) => tool.check?.(input) }),
      execute: async (input, options) => {
        const call = { id: "", name: tool.name, arguments: argumentText(input) };
        const attempts = new CallAttempts(this, call, signalIn(options), ++this.#executions);
        const execution = await attempts.run(undefined);
        return execution.content;
      },
    };
  }
}

/** Reads a call defensively: it comes from a model through code that may not have checked it. */
function readCall(call: ExecutableCall): ToolCall {
  const { id, name, arguments: given }: Partial<ExecutableCall> = Object(call);
  return {
    id: typeof id === "string" ? id : "",
    name: argumentText(name),
    arguments: argumentText(given),
  };
}

function withDefaults(options: ToolExecutorOptions): AttemptSettings {
  const { retries = TOOL_ATTEMPTS.retries, backoff = TOOL_ATTEMPTS.backoff } = options;
  const { timeout = 60_000, timeLimit = 300_000 } = options;
  const { longestPause = TOOL_ATTEMPTS.longestPause } = options;
  const { seed = freshSeed(), clock = SYSTEM_CLOCK, repair, alternatives } = options;
  const numbers = { retries, timeout, timeLimit, backoff, longestPause, seed };
  return { ...numbers, clock, repair, alternatives };
}
