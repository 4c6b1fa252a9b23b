/**
 * Tool executors: carry out the tool calls of any agent with validation, retries, repairs and alternatives
 * (Pipeline, "Robust Tool Execution").
 * @module
 */

import { assertTools } from "../../tools/define_tool.ts";
import {
  type ExecutableCall,
  type FailedCall,
  type PreparedCall,
  schemaOf,
  type StoppableTool,
  type Tool,
  type ToolCall,
} from "../../tools/tool.ts";
import { Toolbox } from "../../trials/executors/toolbox.ts";
import {
  type ExecuteOptions,
  type Execution,
  safeErrorMessage,
  type ToolAttempt,
  type ToolExecutorOptions,
  type ToolExecutorSettings,
  toolExecutorSettings,
} from "./options.ts";
import { inTime } from "../../base/deadline.ts";
import { isJsonObject, type JsonObject, parseJson, printable } from "../../base/json.ts";
import { fork } from "../../base/random.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import { type Model, type ModelReply, TimeLimitError } from "../../models/model.ts";
import { PROMPTS } from "../../models/prompts.ts";
import { type Message, sumUsage, type Usage } from "../../tools/message.ts";
import { errorOfResult, valueOfResult } from "../../tools/references/symbol_table.ts";
import { ToolError, toToolError } from "../../tools/tool_error.ts";
import type { Replacer } from "../../trials/agent/loop.ts";
import { isLimited } from "../../trials/agent/session.ts";
import { argumentsText } from "../../trials/executors/executor.ts";
import type { CallOutcome } from "../../trials/executors/made_call.ts";
import { repairArguments } from "../../trials/strategies/repair.ts";
import {
  alternating,
  inTurn,
  replacer,
  retrying,
  signatureOf,
} from "../../trials/strategies/replacing.ts";

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

/** What the calls of an executor share. */
export interface ExecutorParts {
  readonly settings: ToolExecutorSettings;
  /** The tools, by name. */
  readonly tools: ReadonlyMap<string, StoppableTool>;
  /** The same tools, which do not start fresh for each call. */
  readonly lasting: readonly Tool[];
  /** The number of requests to the model that repairs arguments. */
  requests: number;
}

/** Carries out one call, with as many attempts as it needs. */
export class CallToolbox extends Toolbox {
  readonly #parts: ExecutorParts;
  readonly #signal: AbortSignal | undefined;
  readonly #messages: readonly Message[];
  readonly #replace: Replacer;
  readonly #deadline: number;
  readonly #attempts: { -readonly [Key in keyof ToolAttempt]: ToolAttempt[Key] }[] = [];
  /** Why arguments were refused, by the signature of the call. */
  readonly #refused = new Map<string, string>();
  #content = "";
  #started: number | undefined;
  #requests = 0;
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };

  /** Prepares a call. The jitter of its pauses depends on `number`, that of the execution. */
  constructor(parts: ExecutorParts, { signal, messages = [] }: ExecuteOptions, number: number) {
    const { settings } = parts;
    super(parts.lasting, { clock: settings.clock });
    this.#parts = parts;
    this.#signal = signal;
    this.#messages = messages;
    this.#deadline = settings.clock.now() + settings.timeLimit;
    this.#replace = inTurn(
      retrying({
        rules: settings,
        draw: fork(settings.seed, "pause", number).prng,
        clock: settings.clock,
        left: () => this.#left,
        signal,
      }),
      replacer("repair", "retry", (failed) => this.#repair(failed)),
      alternating(async (failed, _, faultOf) => {
        const other = await this.#alternativeTo(failed);
        return other !== undefined && faultOf(other) === undefined ? other : undefined;
      }),
    );
  }

  /** Makes attempts until one succeeds or nothing more can be done. */
  async perform(call: ToolCall): Promise<Execution> {
    if (!this.#signal?.aborted) {
      await this.execute([call], undefined, async (failed) => {
        try {
          const failing = { failed, messages: this.#messages, environment: this };
          const replacements = await this.#replace(failing);
          return this.#signal?.aborted ? [] : replacements;
        } catch (thrown) {
          // Functions of the user may throw, and the clock throws when the signal aborts.
          this.#attempts.at(-1)!.gaveUp = safeErrorMessage(toToolError(thrown).message);
          return [];
        }
      });
    }
    const last = this.#attempts.at(-1);
    const tool = last?.tool ?? call.name.slice(0, MAX_KEPT_LENGTH);
    const record = { tool, attempts: this.#attempts, usage: this.#usage };
    if (last?.ok) {
      return { ok: true, ...record, content: this.#content, value: valueOfResult(this.#content) };
    }
    const isCancelled = last === undefined || this.#signal?.aborted;
    const error = isCancelled ? this.#cancelled() : last;
    const place = isCancelled || tool === call.name
      ? ""
      : `${printable(tool, 100)}, called in place of ${printable(call.name, 100)}: `;
    const count = this.#attempts.length;
    const first = count > 1 ? `Failed after ${count} attempts. Last error: ` : "";
    const message = `${first}${place}${safeErrorMessage(error.message!)}`;
    const content = JSON.stringify({ error: message });
    return { ok: false, ...record, content, error: { category: error.category!, message } };
  }

  /** Milliseconds left for the whole call. */
  get #left(): number {
    return this.#deadline - this.#parts.settings.clock.now();
  }

  #cancelled(): ToolError {
    const { message } = toToolError(this.#signal?.reason);
    return new ToolError("cancelled", `The call was cancelled: ${message}`);
  }

  /** Runs a tool within the time limits of the attempt and of the whole call. */
  protected override async run({ name }: Tool, input: JsonObject): Promise<unknown> {
    const { timeout, timeLimit, clock } = this.#parts.settings;
    const left = this.#left;
    const outOfTime = () =>
      new ToolError(
        "timeout",
        left < timeout
          ? `No result came in the ${timeLimit} ms that there are for the whole call`
          : `No result came within ${timeout} ms`,
      );
    if (left <= 0) throw outOfTime();
    this.#started = clock.now();
    const tool = this.#parts.tools.get(name)!;
    try {
      return await inTime((signal) => tool.execute(input, { signal }), {
        timeout: Math.min(timeout, left),
        outOfTime,
        signal: this.#signal,
        clock,
      });
    } catch (thrown) {
      throw this.#signal?.aborted ? this.#cancelled() : thrown;
    }
  }

  /** Does nothing: a tool that broke for good fails like any other. */
  protected override breakOff(): void {}

  /** Records an attempt. A call whose arguments are refused has failed, too: a model may give others. */
  protected override failureIn(
    made: Parameters<Toolbox["failureIn"]>[0],
    outcome: CallOutcome,
  ): FailedCall | undefined {
    const { original, call, by } = made;
    const { content, event, failure } = outcome;
    const text = errorOfResult(content) ?? content;
    const failed = super.failureIn(made, outcome) ??
      (failure === undefined
        ? undefined
        : { original, call, category: "validation" as const, message: text, injected: false });
    const isRepaired = by === "retry" && this.#attempts.at(-1)?.category === "validation";
    const started = this.#started ?? this.#parts.settings.clock.now();
    this.#attempts.push({
      ok: failed === undefined,
      tool: call.name.slice(0, MAX_KEPT_LENGTH),
      arguments: call.arguments.slice(0, MAX_KEPT_LENGTH),
      startedAt: new Date(started).toISOString(),
      durationMs: event?.durationMs ?? 0,
      ran: this.#started !== undefined,
      by: isRepaired ? "repair" : by,
      category: failed?.category,
      message: failed &&
        safeErrorMessage(failed.category === "unknown_tool" ? text : failed.message),
    });
    this.#started = undefined;
    this.#content = content;
    return failed && { ...failed, message: this.#attempts.at(-1)!.message! };
  }

  /** Asks a model for other arguments. */
  async #repair({ call, message }: FailedCall): Promise<PreparedCall | undefined> {
    const { settings: { repair }, tools } = this.#parts;
    const tool = tools.get(call.name);
    if (repair === undefined || tool === undefined) return undefined;
    this.#refused.set(signatureOf(call), message);
    const repaired = await repairArguments(call, {
      schema: tool.parameters,
      error: message,
      messages: this.#messages,
      prompt: PROMPTS.repair.fix,
      attempts: repair.attempts - this.#requests,
      ask: (messages) => this.#ask(repair.model, messages, tool),
      // What the tool itself refused before, it would refuse again.
      refuse: (next) => this.refuse(next)?.error ?? this.#refused.get(signatureOf(next)),
    });
    return isLimited(repaired) ? undefined : repaired.call;
  }

  /** Asks a model within the time left. */
  async #ask(model: Model, messages: readonly Message[], tool: Tool): Promise<ModelReply> {
    const left = this.#left;
    this.#requests++;
    const request = {
      messages: [...messages],
      tools: [schemaOf(tool)],
      context: { trial: "", repetition: 1, request: ++this.#parts.requests, stage: "repair" },
      timeLimit: left === Infinity ? undefined : Math.max(1, left),
    };
    const reply = await this.#inTimeLeft((signal) => model.reply({ ...request, signal }));
    this.#usage = sumUsage([this.#usage, reply.usage]);
    return reply;
  }

  async #alternativeTo({ call, ...error }: FailedCall): Promise<PreparedCall | undefined> {
    const { alternatives } = this.#parts.settings;
    const { name, arguments: written } = call;
    if (typeof alternatives !== "function") {
      const named = Object.hasOwn(alternatives ?? {}, name);
      return named ? { ...call, name: alternatives![name]! } : undefined;
    }
    const input = parseJson(written);
    const given = { name, arguments: isJsonObject(input) ? input : written };
    const other = await this.#inTimeLeft(async () =>
      await alternatives(given, new ToolError(error.category, error.message, error))
    );
    // Untyped callers may return anything.
    return isJsonObject(other) ? { ...call, ...readCall({ id: call.id, ...other }) } : undefined;
  }

  #inTimeLeft<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, timeLimit } = this.#parts.settings;
    return inTime(work, {
      timeout: Math.max(1, this.#left),
      outOfTime: () => new TimeLimitError(`The ${timeLimit} ms for the whole call are over`),
      signal: this.#signal,
      clock,
    });
  }
}

/** Reads a call defensively: it comes from a model through code that may not have checked it. */
export function readCall(call: ExecutableCall): ToolCall {
  const { id, name, arguments: given }: Partial<ExecutableCall> = Object(call);
  const text = (value: unknown) => typeof value === "string" ? value : argumentsText(value);
  return { id: typeof id === "string" ? id : "", name: text(name), arguments: text(given) };
}
