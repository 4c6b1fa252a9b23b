/**
 * The attempts of one tool call: retries, repairs and alternatives.
 * @module
 */

import { Attempts, type GiveUp } from "../../base/attempts.ts";
import type { Clock } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import { defined, isJsonObject, type JsonObject, parseJson, printable } from "../../base/json.ts";
import { callSignature } from "../../calls/behaviour.ts";
import { repairArguments } from "../../trials/strategies/argument_repair.ts";
import { type Message, sumUsage, type Usage } from "../../tools/message.ts";
import { type ModelReply, TimeLimitError } from "../../models/model.ts";
import { PROMPTS } from "../../models/prompts.ts";
import { fork } from "../../base/random.ts";
import { isLimited, type Limited } from "../../trials/agent/session.ts";
import { valueOfResult } from "../../tools/references/symbol_table.ts";
import {
  type PreparedCall,
  type Refusal,
  runTool,
  schemaOf,
  type StoppableTool,
  type Tool,
} from "../../tools/tool.ts";
import { MAX_ALTERNATIVES, REMEDIES, type ToolErrorCategory } from "../../tools/error_category.ts";
import { returnCheck } from "../../tools/schema/returns.ts";
import { errorInResult, ToolError, toToolError } from "../../tools/tool_error.ts";
import {
  type AttemptAction,
  type AttemptRecord,
  type Execution,
  safeErrorMessage,
  type ToolAttempt,
} from "./result.ts";
import type { AlternativeTools, ArgumentRepair, ToolExecutorOptions } from "./options.ts";
import { MAX_KEPT_LENGTH } from "../../calls/trace.ts";

/** Options for one execution. */
export interface ExecuteOptions {
  /** Cancels the execution at once, even during a pause. */
  readonly signal?: AbortSignal;
  /** The conversation before the call, for the model that repairs its arguments. */
  readonly messages?: readonly Message[];
}

/** How often a model is asked for arguments by default, as in the strategy `repair`. */
const REPAIRS = 2;

/** Why nothing is done about an error. */
const NO_REMEDY: Readonly<Partial<Record<ToolErrorCategory, string>>> = {
  permission: "Asking again gives no permission",
  cancelled: "It was cancelled",
  execution: "It may have had an effect, which another call could repeat",
};

/** The tools of an executor. */
export interface AttemptTools {
  /** The settings of the executor. */
  readonly settings: AttemptSettings;
  /** A tool by its name. */
  tool(name: string): StoppableTool | undefined;
  /** Returns the arguments of a call, or why they are refused; `undefined` if there is no such tool. */
  checked(call: PreparedCall): { readonly input: JsonObject } | Refusal | undefined;
  /** As `checked`, for the one time that the call is carried out. */
  take(call: PreparedCall): { readonly input: JsonObject } | Refusal | undefined;
  /** Returns the number of the next request to the model that repairs arguments. */
  nextRequest(): number;
}

/** The settings of an executor, defaults included. */
export interface AttemptSettings extends
  Required<
    Omit<ToolExecutorOptions, "repair" | "alternatives" | "parallel" | "references" | "depth">
  > {
  /** How arguments are repaired. */
  readonly repair: ArgumentRepair | undefined;
  /** The calls to make in place of others. */
  readonly alternatives: AlternativeTools | undefined;
}

/** The outcome of an attempt. */
type Outcome =
  | { readonly record: AttemptRecord; readonly content: string }
  | { readonly record: AttemptRecord; readonly error: ToolError };

/** The reaction to an error: the next call, or the final error. */
type Step =
  | { readonly action: AttemptAction; readonly next: PreparedCall }
  | { readonly action: AttemptAction; readonly error: ToolError };

/** Carries out one call, with as many attempts as it needs. */
export class CallAttempts {
  readonly #tools: AttemptTools;
  readonly #settings: AttemptSettings;
  readonly #clock: Clock;
  readonly #first: PreparedCall;
  readonly #signal: AbortSignal | undefined;
  readonly #messages: readonly Message[];
  readonly #retried: Attempts;
  readonly #deadline: number;
  readonly #attempts: ToolAttempt[] = [];
  /** The keys of the calls made so far. */
  readonly #called = new Set<string>();
  /** Why arguments were refused, by the key of the call. */
  readonly #refused = new Map<string, string>();
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #requests = 0;
  #alternatives = 0;

  /** Prepares a call. The jitter of its pauses depends on `number`, that of the execution. */
  constructor(
    tools: AttemptTools,
    first: PreparedCall,
    { signal, messages = [] }: ExecuteOptions,
    number: number,
  ) {
    this.#tools = tools;
    this.#settings = tools.settings;
    this.#clock = tools.settings.clock;
    this.#first = first;
    this.#signal = signal;
    this.#messages = messages;
    this.#retried = new Attempts(tools.settings, fork(tools.settings.seed, "pause", number).prng);
    this.#deadline = this.#clock.now() + tools.settings.timeLimit;
  }

  /** Makes attempts until one succeeds or nothing more can be done. */
  async run(id: string | undefined): Promise<Execution> {
    let call = this.#first;
    if (this.#signal?.aborted) return this.#failed(id, call, this.#cancelled());
    while (true) {
      if (this.#settings.alternatives !== undefined) this.#called.add(keyOf(call));
      const outcome = await this.#attempt(call);
      if ("content" in outcome) {
        const { record, content } = outcome;
        this.#attempts.push({ ...record, ok: true });
        return { ok: true, ...this.#ended(id, call, content), value: valueOfResult(content) };
      }
      const { record, error } = outcome;
      const step = await this.#handle(call, error);
      this.#attempts.push({
        ...record,
        ok: false,
        category: error.category,
        message: safeErrorMessage(error.message),
        action: step.action,
      });
      if ("error" in step) return this.#failed(id, call, step.error);
      call = step.next;
    }
  }

  #ended(id: string | undefined, { name }: PreparedCall, content: string) {
    const [attempts, usage] = [this.#attempts, this.#usage];
    const tool = name.slice(0, MAX_KEPT_LENGTH);
    return { ...defined({ id }), tool, content, attempts, usage };
  }

  #failed(id: string | undefined, call: PreparedCall, error: ToolError): Execution {
    const { name } = this.#first;
    const place = call.name === name || error.category === "cancelled"
      ? ""
      : `${printable(call.name, 100)}, called in place of ${printable(name, 100)}: `;
    const count = this.#attempts.length;
    const suffix = count > 1 ? ` (${count} attempts)` : "";
    const message = `${place}${safeErrorMessage(error.message)}${suffix}`;
    const content = JSON.stringify({ error: message });
    const { category } = error;
    return { ok: false, ...this.#ended(id, call, content), error: { category, message } };
  }

  /** Milliseconds left for the whole execution. */
  get #left(): number {
    return this.#deadline - this.#clock.now();
  }

  #cancelled(): ToolError {
    const { message } = toToolError(this.#signal?.reason);
    return new ToolError("cancelled", `The call was cancelled: ${message}`);
  }

  async #attempt(call: PreparedCall): Promise<Outcome> {
    const { name, arguments: written } = call;
    const started = this.#clock.now();
    const kept = {
      tool: name.slice(0, MAX_KEPT_LENGTH),
      arguments: written.slice(0, MAX_KEPT_LENGTH),
    };
    const recordOf = (ran: boolean): AttemptRecord => ({
      ...kept,
      startedAt: new Date(started).toISOString(),
      durationMs: Math.max(0, Math.round(this.#clock.now() - started)),
      ran,
    });
    let ran = false;
    try {
      const { tool, input } = this.#admit(call);
      const content = await this.#within(async (signal) => {
        ran = true;
        // Untyped callers may return anything, but the model needs a text.
        const result: unknown = await runTool(tool, input, { signal });
        return typeof result === "string" ? result : JSON.stringify(result) ?? "null";
      });
      const failed = errorInResult(content, this.#clock.now());
      const fault = failed === undefined ? returnCheck(tool)?.(content) : undefined;
      const error = fault === undefined ? failed : new ToolError("malformed_return", fault);
      return error === undefined
        ? { record: recordOf(ran), content }
        : { record: recordOf(ran), error };
    } catch (thrown) {
      const error = this.#signal?.aborted
        ? this.#cancelled()
        : toToolError(thrown, this.#clock.now());
      return { record: recordOf(ran), error };
    }
  }

  /** Returns the tool of a call and its arguments, or throws if the call must not run. */
  #admit(call: PreparedCall): { readonly tool: StoppableTool; readonly input: JsonObject } {
    const tool = this.#tools.tool(call.name);
    const checked = this.#tools.take(call);
    if (checked !== undefined && "error" in checked) {
      throw new ToolError("validation", checked.error);
    }
    if (tool === undefined || checked === undefined) {
      throw new ToolError("unknown_tool", `There is no function ${printable(call.name, 100)}`);
    }
    return { tool, input: checked.input };
  }

  /** Runs a tool within the time limits of the attempt and of the whole execution. */
  #within(work: (signal: AbortSignal) => Promise<string>): Promise<string> {
    const { timeout, timeLimit } = this.#settings;
    const left = this.#left;
    const outOfTime = () =>
      new ToolError(
        "timeout",
        left < timeout
          ? `No result came in the ${timeLimit} ms that there are for the whole call`
          : `No result came within ${timeout} ms`,
      );
    if (left <= 0) throw outOfTime();
    const deadline = { timeout: Math.min(timeout, left), outOfTime, signal: this.#signal };
    return inTime(work, { ...deadline, clock: this.#clock });
  }

  /** Reacts to an error. */
  async #handle(call: PreparedCall, error: ToolError): Promise<Step> {
    const remedy = await this.#remedy(call, error);
    if (this.#signal?.aborted) {
      const cancelled = error.category === "cancelled" ? error : this.#cancelled();
      return {
        action: { kind: "gave_up", reason: safeErrorMessage(cancelled.message) },
        error: cancelled,
      };
    }
    if (typeof remedy !== "string") return remedy;
    return { action: { kind: "gave_up", reason: safeErrorMessage(remedy) }, error };
  }

  /** Returns the next step after an error, or why there is none. */
  async #remedy(call: PreparedCall, error: ToolError): Promise<Step | string> {
    try {
      switch (REMEDIES[error.category]) {
        case "retry":
          return await this.#retry(call, error);
        case "repair":
          return await this.#repair(call, error);
        case "replace":
          return await this.#replace(call, error);
        default:
          return NO_REMEDY[error.category] ?? "Nothing helps";
      }
    } catch (thrown) {
      // Functions of the user may throw, and the clock throws when the signal aborts.
      return toToolError(thrown).message;
    }
  }

  async #retry(call: PreparedCall, { retryAfter = 0 }: ToolError): Promise<Step | string> {
    const next = this.#retried.next({ retryAfter }, this.#left);
    if ("giveUp" in next) return this.#whyNoRetry(next.giveUp, retryAfter);
    const after = Math.ceil(next.wait);
    await this.#clock.pause(after, this.#signal);
    // Another call, as the tool may have changed the arguments that it got.
    return { action: { kind: "retried", after }, next: { ...call } };
  }

  #whyNoRetry(why: GiveUp, retryAfter: number): string {
    const { retries, longestPause, timeLimit } = this.#settings;
    if (why === "time") return `The ${timeLimit} ms for the whole call leave no time to wait`;
    if (why !== "pause") return `It was retried ${retries} times`;
    return `It asks to wait ${retryAfter} ms, and the longest pause is ${longestPause} ms`;
  }

  async #repair(call: PreparedCall, error: ToolError): Promise<Step | string> {
    const { repair } = this.#settings;
    const tool = this.#tools.tool(call.name);
    if (call.refusal !== undefined) return "A call it refers to has no result";
    if (repair === undefined || tool === undefined) return "No model repairs arguments";
    const left = (repair.attempts ?? REPAIRS) - this.#requests;
    if (left <= 0) return `The model was asked ${this.#requests} times`;
    const reason = safeErrorMessage(error.message);
    this.#refused.set(keyOf(call), reason);
    let next = call;
    const repaired = await repairArguments({
      name: call.name,
      arguments: call.arguments,
      schema: tool.parameters,
      error: reason,
      messages: this.#messages,
      prompt: repair.prompt ?? PROMPTS.repair.fix,
      attempts: left,
      ask: (messages) => this.#ask(messages, tool),
      refuse: (written) => {
        next = { ...call, arguments: written };
        const checked = this.#tools.checked(next);
        if (checked !== undefined && "error" in checked) return checked.error;
        // The tool itself refused these before, and would do so again.
        return this.#refused.get(keyOf(next));
      },
    });
    if (isLimited(repaired)) return repaired.message;
    const { attempts: requests } = repaired;
    if (repaired.arguments === undefined) {
      return `The model gave no right arguments in ${requests} attempts`;
    }
    return { action: { kind: "repaired", requests }, next };
  }

  /** Asks the model that repairs arguments, within the time left. */
  async #ask(messages: readonly Message[], tool: Tool): Promise<ModelReply | Limited> {
    const { repair, timeLimit } = this.#settings;
    const left = this.#left;
    const message = `The ${timeLimit} ms for the whole call leave no time to repair it`;
    const outOfTime = () => new TimeLimitError(message);
    this.#requests++;
    const request = {
      messages: [...messages],
      tools: [schemaOf(tool)],
      context: { trial: "", repetition: 1, request: this.#tools.nextRequest(), stage: "repair" },
      ...(left === Infinity ? {} : { timeLimit: Math.max(1, left) }),
    };
    try {
      const reply = await inTime((signal) => repair!.model.reply({ ...request, signal }), {
        timeout: Math.max(1, left),
        outOfTime,
        signal: this.#signal,
        clock: this.#clock,
      });
      this.#usage = sumUsage([this.#usage, reply.usage]);
      return reply;
    } catch (error) {
      if (error instanceof TimeLimitError) return { kind: "time_limit", message };
      throw error;
    }
  }

  async #replace(call: PreparedCall, error: ToolError): Promise<Step | string> {
    const { alternatives } = this.#settings;
    if (this.#alternatives >= MAX_ALTERNATIVES) {
      return `${MAX_ALTERNATIVES} calls were made in its place`;
    }
    const next = await this.#alternativeTo(call, error, alternatives);
    if (next === undefined) return "There is no alternative";
    if (this.#called.has(keyOf(next))) return `${printable(next.name, 100)} was already called so`;
    this.#alternatives++;
    return { action: { kind: "alternative", tool: next.name.slice(0, MAX_KEPT_LENGTH) }, next };
  }

  async #alternativeTo(
    call: PreparedCall,
    error: ToolError,
    alternatives: AlternativeTools | undefined,
  ): Promise<PreparedCall | undefined> {
    const { name, arguments: written } = call;
    if (typeof alternatives === "function") {
      const input = parseJson(written);
      const given = { name, arguments: isJsonObject(input) ? input : written };
      const alternative = await inTime(async () => await alternatives(given, error), {
        timeout: Math.max(1, this.#left),
        outOfTime: () => new TimeLimitError("No alternative was named in time"),
        signal: this.#signal,
        clock: this.#clock,
      });
      // Untyped callers may return anything.
      if (!isJsonObject(alternative)) return undefined;
      return {
        ...call,
        name: argumentText(alternative.name),
        arguments: argumentText(alternative.arguments),
      };
    }
    if (alternatives === undefined || !Object.hasOwn(alternatives, name)) return undefined;
    return { ...call, name: alternatives[name]! };
  }
}

/** A key that is the same for calls of a tool with equal arguments. */
function keyOf({ name, arguments: written }: PreparedCall): string {
  return callSignature({ function: name, arguments: written });
}

/** The arguments as text; empty if JSON cannot represent them. */
export function argumentText(given: unknown): string {
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given) ?? "";
  } catch {
    return "";
  }
}
