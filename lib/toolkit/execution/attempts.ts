/**
 * Courses: the way of one call through an executor of tools, from attempt to attempt.
 * @module
 */

import { backoffAfter } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { inTime } from "../../base/deadline.ts";
import { canonicalJson, isJsonObject, parseJson, printable } from "../../base/json.ts";
import { repairArguments } from "../../trials/strategies/argument_repair.ts";
import { type Message, sumUsage, type Usage } from "../../tools/message.ts";
import { type ModelReply, TimeLimitError } from "../../models/model.ts";
import { PROMPTS } from "../../models/prompts.ts";
import { fork, type Stream } from "../../base/random.ts";
import { isLimited, type Limited } from "../../trials/agent/session.ts";
import { valueOfResult } from "../../tools/references/symbol_table.ts";
import { schemaOf, type StoppableTool, type Tool } from "../../tools/tool.ts";
import { errorInResult, ToolError, toToolError } from "./tool_error.ts";
import {
  type AttemptAction,
  type AttemptRecord,
  errorToTell,
  type Execution,
  type ToolAttempt,
} from "./result.ts";
import type { AlternativeTools, ArgumentRepair, ToolExecutorOptions } from "./options.ts";
import { LONGEST_KEPT } from "../../calls/trace.ts";

/** What a call may be carried out with. */
export interface ExecuteOptions {
  /** Cancels it at once, in a pause too. */
  readonly signal?: AbortSignal;
  /** The conversation before the call: for the model that repairs its arguments. */
  readonly messages?: readonly Message[];
}

/** How often a model is asked for arguments by default: as by the strategy `repair`. */
const REPAIRS = 2;
/** So many calls are made in place of one. */
const MOST_ALTERNATIVES = 5;

/** A call on its way. */
export interface WrittenCall {
  /** The name of the tool. */
  readonly name: string;
  /** The arguments as text. */
  readonly written: string;
  /** Why it is not to be carried out, whatever its arguments are; left out where it is. */
  readonly refusal?: string;
}

/** The tools of an executor. */
export interface AttemptTools {
  /** What is set of the executor. */
  readonly settings: AttemptSettings;
  /** A tool by its name. */
  tool(name: string): StoppableTool | undefined;
  /** Why arguments are refused; `undefined` when they may reach the tool. */
  refuse(name: string, written: string): string | undefined;
  /** The number of a request to the model that repairs. */
  nextRequest(): number;
}

/** What is set of an executor, with what is usual where nothing is. */
export interface AttemptSettings extends
  Required<
    Omit<ToolExecutorOptions, "repair" | "alternatives" | "parallel" | "references" | "depth">
  > {
  /** How arguments are repaired. */
  readonly repair: ArgumentRepair | undefined;
  /** What is called in place of a tool. */
  readonly alternatives: AlternativeTools | undefined;
}

/** What an attempt came to. */
type Outcome =
  | { readonly record: AttemptRecord; readonly content: string }
  | { readonly record: AttemptRecord; readonly error: ToolError };

/** What is done about an error: the next call, or the error that it ends with. */
type Step =
  | { readonly action: AttemptAction; readonly next: WrittenCall }
  | { readonly action: AttemptAction; readonly error: ToolError };

/** One call on its course from attempt to attempt. */
export class CallAttempts {
  readonly #tools: AttemptTools;
  readonly #settings: AttemptSettings;
  readonly #clock: Clock;
  readonly #first: WrittenCall;
  readonly #signal: AbortSignal | undefined;
  readonly #messages: readonly Message[];
  readonly #stream: Stream;
  readonly #deadline: number;
  readonly #attempts: ToolAttempt[] = [];
  /** The calls that were made. */
  readonly #made = new Set<string>();
  /** Those whose arguments were refused, and why. */
  readonly #refused = new Map<string, string>();
  #usage: Usage = { inputTokens: 0, outputTokens: 0 };
  #retries = 0;
  #requests = 0;
  #alternatives = 0;

  /** Nothing is called yet. The number is that of the execution, for which its jitter is drawn. */
  constructor(
    tools: AttemptTools,
    first: WrittenCall,
    { signal, messages = [] }: ExecuteOptions,
    number: number,
  ) {
    this.#tools = tools;
    this.#settings = tools.settings;
    this.#clock = tools.settings.clock;
    this.#first = first;
    this.#signal = signal;
    this.#messages = messages;
    this.#stream = fork(tools.settings.seed, "pause", number);
    this.#deadline = this.#clock.now() + tools.settings.timeLimit;
  }

  /** Goes from attempt to attempt until a result comes, or nothing more can be done. */
  async run(id: string | undefined): Promise<Execution> {
    let call = this.#first;
    if (this.#signal?.aborted) return this.#failed(id, call, this.#cancelled());
    while (true) {
      this.#made.add(keyOf(call));
      const outcome = await this.#attempt(call);
      if ("content" in outcome) {
        const { record, content } = outcome;
        this.#attempts.push({ ...record, ok: true });
        return { ok: true, ...this.#ended(id, call, content), value: valueOfResult(content) };
      }
      const { record, error } = outcome;
      const step = await this.#meet(call, error);
      this.#attempts.push({
        ...record,
        ok: false,
        category: error.category,
        message: errorToTell(error.message),
        action: step.action,
      });
      if ("error" in step) return this.#failed(id, call, step.error);
      call = step.next;
    }
  }

  #ended(id: string | undefined, { name }: WrittenCall, content: string) {
    const [attempts, usage] = [this.#attempts, this.#usage];
    const tool = name.slice(0, LONGEST_KEPT);
    return { ...(id === undefined ? {} : { id }), tool, content, attempts, usage };
  }

  #failed(id: string | undefined, call: WrittenCall, error: ToolError): Execution {
    const { name } = this.#first;
    const place = call.name === name || error.category === "cancelled"
      ? ""
      : `${printable(call.name, 100)}, called in place of ${printable(name, 100)}: `;
    const made = this.#attempts.length;
    const count = made > 1 ? ` (${made} attempts)` : "";
    const message = `${place}${errorToTell(error.message)}${count}`;
    const content = JSON.stringify({ error: message });
    const { category } = error;
    return { ok: false, ...this.#ended(id, call, content), error: { category, message } };
  }

  /** Milliseconds that are left for everything. */
  get #left(): number {
    return this.#deadline - this.#clock.now();
  }

  #cancelled(): ToolError {
    const { message } = toToolError(this.#signal?.reason);
    return new ToolError("cancelled", `The call was cancelled: ${message}`);
  }

  async #attempt(call: WrittenCall): Promise<Outcome> {
    const { name, written } = call;
    const started = this.#clock.now();
    const kept = { tool: name.slice(0, LONGEST_KEPT), arguments: written.slice(0, LONGEST_KEPT) };
    const recorded = (ran: boolean): AttemptRecord => ({
      ...kept,
      startedAt: new Date(started).toISOString(),
      durationMs: Math.max(0, Math.round(this.#clock.now() - started)),
      ran,
    });
    let ran = false;
    try {
      const tool = this.#admit(call);
      const content = await this.#within(async (signal) => {
        ran = true;
        const input = parseJson(written);
        // Types are not everywhere: whatever a tool gives must go back as a text.
        const returned: unknown = await tool.execute(isJsonObject(input) ? input : {}, { signal });
        return typeof returned === "string" ? returned : JSON.stringify(returned) ?? "null";
      });
      const error = errorInResult(content, this.#clock.now());
      return error === undefined
        ? { record: recorded(ran), content }
        : { record: recorded(ran), error };
    } catch (thrown) {
      const error = this.#signal?.aborted
        ? this.#cancelled()
        : toToolError(thrown, this.#clock.now());
      return { record: recorded(ran), error };
    }
  }

  /** The tool of a call that may run. */
  #admit({ name, written, refusal }: WrittenCall): StoppableTool {
    if (refusal !== undefined) throw new ToolError("validation", refusal);
    const tool = this.#tools.tool(name);
    if (tool === undefined) {
      throw new ToolError("unknown_tool", `There is no function ${printable(name, 100)}`);
    }
    const refused = this.#tools.refuse(name, written);
    if (refused !== undefined) throw new ToolError("validation", refused);
    return tool;
  }

  /** Waits for a tool no longer than an attempt may take, and than is left. */
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

  /** Does about an error what can be done. */
  async #meet(call: WrittenCall, error: ToolError): Promise<Step> {
    const done = await this.#remedy(call, error);
    if (this.#signal?.aborted) {
      const cancelled = error.category === "cancelled" ? error : this.#cancelled();
      return {
        action: { kind: "gave_up", reason: errorToTell(cancelled.message) },
        error: cancelled,
      };
    }
    if (typeof done !== "string") return done;
    return { action: { kind: "gave_up", reason: errorToTell(done) }, error };
  }

  /** What is done about an error, or why nothing is. */
  async #remedy(call: WrittenCall, error: ToolError): Promise<Step | string> {
    try {
      switch (error.category) {
        case "rate_limit":
        case "timeout":
          return await this.#retry(call, error);
        case "validation":
          return await this.#repair(call, error);
        case "not_found":
        case "unknown_tool":
          return await this.#replace(call, error);
        case "permission":
          return "Asking again gives no permission";
        case "cancelled":
          return "It was cancelled";
        case "execution":
          return "It may have had an effect, and could have it twice";
      }
    } catch (thrown) {
      // What users hand in may throw, and the clock does where the signal aborts.
      return toToolError(thrown).message;
    }
  }

  async #retry(call: WrittenCall, { retryAfter = 0 }: ToolError): Promise<Step | string> {
    const { retries, backoff, longestPause, timeLimit } = this.#settings;
    if (this.#retries >= retries) return `It was retried ${retries} times`;
    if (retryAfter > longestPause) {
      return `It asks to wait ${retryAfter} ms, and the longest pause is ${longestPause} ms`;
    }
    const step = backoffAfter(++this.#retries, backoff, this.#stream.prng());
    const after = Math.ceil(Math.max(retryAfter, Math.min(step, longestPause)));
    if (after >= this.#left) return `The ${timeLimit} ms for the whole call leave no time to wait`;
    await this.#clock.pause(after, this.#signal);
    return { action: { kind: "retried", after }, next: call };
  }

  async #repair(call: WrittenCall, error: ToolError): Promise<Step | string> {
    const { repair } = this.#settings;
    const tool = this.#tools.tool(call.name);
    if (call.refusal !== undefined) return "What it refers to has no result";
    if (repair === undefined || tool === undefined) return "No model repairs arguments";
    const left = (repair.attempts ?? REPAIRS) - this.#requests;
    if (left <= 0) return `The model was asked ${this.#requests} times`;
    const told = errorToTell(error.message);
    this.#refused.set(keyOf(call), told);
    const mended = await repairArguments({
      name: call.name,
      arguments: call.written,
      schema: tool.parameters,
      error: told,
      messages: this.#messages,
      prompt: repair.prompt ?? PROMPTS.repair.fix,
      attempts: left,
      ask: (messages) => this.#ask(messages, tool),
      refuse: (written) =>
        this.#tools.refuse(call.name, written) ??
          // The tool said no to these: they would be refused again.
          this.#refused.get(keyOf({ name: call.name, written })),
    });
    if (isLimited(mended)) return mended.message;
    const { attempts: requests, arguments: written } = mended;
    if (written === undefined) return `The model gave no right arguments in ${requests} attempts`;
    return { action: { kind: "repaired", requests }, next: { name: call.name, written } };
  }

  /** Asks the model that repairs, in the time that is left. */
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

  async #replace(call: WrittenCall, error: ToolError): Promise<Step | string> {
    const { alternatives } = this.#settings;
    if (this.#alternatives >= MOST_ALTERNATIVES) {
      return `${MOST_ALTERNATIVES} calls were made in its place`;
    }
    const next = await this.#alternativeTo(call, error, alternatives);
    if (next === undefined) return "There is no alternative";
    if (this.#made.has(keyOf(next))) return `${printable(next.name, 100)} was called so already`;
    this.#alternatives++;
    return { action: { kind: "alternative", tool: next.name.slice(0, LONGEST_KEPT) }, next };
  }

  async #alternativeTo(
    { name, written }: WrittenCall,
    error: ToolError,
    alternatives: AlternativeTools | undefined,
  ): Promise<WrittenCall | undefined> {
    if (typeof alternatives === "function") {
      const input = parseJson(written);
      const given = { name, arguments: isJsonObject(input) ? input : written };
      const other = await inTime(async () => await alternatives(given, error), {
        timeout: Math.max(1, this.#left),
        outOfTime: () => new TimeLimitError("No alternative was named in time"),
        signal: this.#signal,
        clock: this.#clock,
      });
      // Types are not everywhere.
      if (!isJsonObject(other)) return undefined;
      return { name: textOf(other.name), written: textOf(other.arguments) };
    }
    if (alternatives === undefined || !Object.hasOwn(alternatives, name)) return undefined;
    return { name: alternatives[name]!, written };
  }
}

/** Calls of one tool with equal arguments have one key. */
function keyOf({ name, written }: WrittenCall): string {
  const input = parseJson(written);
  try {
    return JSON.stringify([name, input === undefined ? written : canonicalJson(input)]);
  } catch {
    // It nests too deep to be put in order.
    return JSON.stringify([name, written]);
  }
}

/** Whatever stands for a text; what JSON cannot carry stands for none. */
export function textOf(given: unknown): string {
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given) ?? "";
  } catch {
    return "";
  }
}
