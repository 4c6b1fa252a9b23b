/**
 * Tool executors: the calls of an agent, of any framework or none, carried out with care (Pipeline,
 * "Robust Tool Execution").
 * @module
 */

import { SYSTEM_CLOCK } from "../../base/clock.ts";
import { MOST_DEPTH } from "../../tools/references/call_order.ts";
import { mapConcurrent } from "../../base/concurrent.ts";
import { NestedReply } from "../../tools/references/reply.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { freshSeed } from "../../base/random.ts";
import { MOST_PARALLEL } from "../../trials/executors/executor.ts";
import { offerReferences } from "../../tools/references/schema.ts";
import {
  FRESH,
  freshTool,
  isIsolated,
  schemaOf,
  SHARED,
  signalIn,
  type StoppableTool,
  type ToolSchema,
} from "../../tools/tool.ts";
import {
  type AttemptSettings,
  type AttemptTools,
  CallAttempts,
  type ExecuteOptions,
  textOf,
  type WrittenCall,
} from "./attempts.ts";
import type { ExecutableCall, Execution } from "./result.ts";
import { checkExecutorOptions, type ToolExecutorOptions } from "./options.ts";
import { Toolbox } from "../../trials/executors/toolbox.ts";

/** Carries out calls with care. */
export interface ToolExecutor {
  /** What a model is to be offered: the schemas of the tools, in which references have their place. */
  readonly offered: readonly ToolSchema[];
  /**
   * The same tools, each of which is carried out with care by whoever calls it. What fails gives a
   * JSON object with the single key `error` and does not throw. Called one by one, they know of no
   * references.
   */
  readonly tools: readonly StoppableTool[];
  /** What comes of a call. It never throws. */
  execute(call: ExecutableCall, options?: ExecuteOptions): Promise<Execution>;
  /**
   * What comes of the calls of one reply, in their order; up to `parallel` run at a time. With
   * `references`, those that refer to others run after them.
   */
  executeAll(
    calls: readonly ExecutableCall[],
    options?: ExecuteOptions,
  ): Promise<readonly Execution[]>;
}

/**
 * Makes an executor of tools for an agent of one's own.
 *
 * Arguments are checked first, by the schema and by the tool's own check: no tool runs on wrong ones. What
 * happens then depends on the category of the error ({@linkcode toToolError} says which errors have which):
 *
 * | category | what is done |
 * | --- | --- |
 * | `rate_limit`, `timeout` | it is called again, after a pause that doubles, with jitter, or as long as the tool asks |
 * | `validation` | with `repair`, a model gives other arguments |
 * | `not_found`, `unknown_tool` | with `alternatives`, another tool is called, whose arguments are checked too |
 * | `permission`, `execution`, `cancelled` | nothing: asking again does not help, or could have an effect twice |
 *
 * A tool that runs out of time may have had its effect, too, and is called again all the same: give one
 * that must not be called twice an executor of its own, with `retries: 0`.
 *
 * @throws {InputError} If there is no such option or its value cannot be used, or tools are none.
 *
 * @example Usage
 * ```ts
 * import { createToolExecutor } from "./executor.ts";
 * import { ToolError } from "./tool_error.ts";
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
  return new CarefulExecutor(tools, options);
}

/** How many retries an execution has by default (Pipeline, `max_retries`). */
const RETRIES = 3;

class CarefulExecutor implements ToolExecutor, AttemptTools {
  readonly offered: readonly ToolSchema[];
  readonly tools: readonly StoppableTool[];
  readonly settings: AttemptSettings;
  readonly #own: ReadonlyMap<string, StoppableTool>;
  readonly #toolbox: Toolbox;
  readonly #parallel: number;
  readonly #references: boolean;
  readonly #depth: number;
  #executions = 0;
  #requests = 0;

  constructor(tools: readonly StoppableTool[], options: ToolExecutorOptions) {
    this.settings = completed(options);
    const { parallel = MOST_PARALLEL, references = false, depth = MOST_DEPTH } = options;
    [this.#parallel, this.#references, this.#depth] = [parallel, references, depth];
    this.offered = tools.map((tool) => schemaOf(references ? offerReferences(tool) : tool));
    this.#toolbox = new Toolbox(tools);
    this.#own = new Map(tools.map((tool) => [tool.name, tool]));
    const begunAnew = tools.some((tool) => tool[FRESH] !== undefined);
    // Any of them may be called in place of another.
    const shared = !tools.every(isIsolated);
    this.tools = tools.map((tool, place) => {
      const careful = this.#careful(tool);
      if (!begunAnew) return careful;
      const fresh = () => new CarefulExecutor(tools.map(freshTool), options).tools[place]!;
      Object.defineProperty(careful, FRESH, { value: fresh, enumerable: false });
      if (shared) Object.defineProperty(careful, SHARED, { value: true, enumerable: false });
      return careful;
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
    // Numbered before any of them begins, so that timing does not change what is drawn for them.
    const own = calls.map((call) => ({ ...readCall(call), number: ++this.#executions }));
    const nested = this.#references
      ? new NestedReply(
        own.map(({ id, name, written }) => ({ id: id ?? "", name, arguments: written })),
        this.#depth,
      )
      : undefined;
    const executions: Execution[] = [];
    const carryOut = async (place: number) => {
      const { id, number, ...first } = own[place]!;
      const call = nested === undefined ? first : this.#resolved(nested, place, first);
      const execution = await new CallAttempts(this, call, options, number).run(id);
      executions[place] = execution;
      if (execution.ok) nested?.keep(place, execution.value);
    };
    for (const level of nested?.levels ?? [[...own.keys()]]) {
      await mapConcurrent(level.length, (at) => carryOut(level[at]!), { most: this.#parallel });
    }
    return executions;
  }

  /** A call with what is meant by its references, all of which have ended. */
  #resolved(nested: NestedReply, place: number, { name, written }: WrittenCall): WrittenCall {
    const { resolved, refusal } = nested.prepare(place, this.tool(name)?.parameters);
    if (refusal !== undefined) return { name, written, refusal: refusal.error };
    return { name, written: resolved ?? written };
  }

  tool(name: string): StoppableTool | undefined {
    return this.#own.get(name);
  }

  refuse(name: string, written: string): string | undefined {
    return this.#toolbox.refuse({ id: "", name, arguments: written })?.error;
  }

  nextRequest(): number {
    return ++this.#requests;
  }

  #careful(tool: StoppableTool): StoppableTool {
    return {
      ...schemaOf(tool),
      ...(tool.check === undefined ? {} : { check: (input) => tool.check?.(input) }),
      execute: async (input, options) => {
        const call = { name: tool.name, written: textOf(input) };
        const course = new CallAttempts(this, call, signalIn(options), ++this.#executions);
        const done = await course.run(undefined);
        return done.content;
      },
    };
  }
}

/** A call as far as it is one: it comes from a model, by way of code that may not have looked at it. */
function readCall(call: ExecutableCall): WrittenCall & { readonly id?: string } {
  const { id, name, arguments: given }: Partial<ExecutableCall> = Object(call);
  const written = { name: textOf(name), written: textOf(given) };
  return typeof id === "string" ? { ...written, id } : written;
}

function completed(options: ToolExecutorOptions): AttemptSettings {
  const { retries = RETRIES, timeout = 60_000, timeLimit = 300_000, backoff = 500 } = options;
  const { longestPause = 60_000, seed = freshSeed(), clock = SYSTEM_CLOCK } = options;
  const { repair, alternatives } = options;
  const numbers = { retries, timeout, timeLimit, backoff, longestPause, seed };
  return { ...numbers, clock, repair, alternatives };
}
