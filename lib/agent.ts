/**
 * The agent loop: send prompt and tools, carry out the calls of the reply, append their results, and
 * so on until a reply has no calls (FuncBenchGen, section 3.4).
 * @module
 */

import { abortable } from "@std/async/abortable";
import { type Message, type Model, type RequestContext, TimeLimitError } from "./model.ts";
import type { Environment, ResultWriter, Tool, ToolSchema } from "./tool.ts";
import { LONGEST_KEPT, type TraceEvent } from "./trace.ts";

/** What a trial may take. */
export interface Limits {
  /** Calls that may be made; default twice the fewest that solve the task. */
  readonly calls?: number;
  /** Model replies; default unlimited, as every reply but the last makes calls. */
  readonly steps?: number;
  /** Seconds, without waiting, retries and failed attempts; default unlimited. */
  readonly seconds?: number;
  /** Tokens read and written; default unlimited. */
  readonly tokens?: number;
}

/** How the loop ended: with an answer, or by a limit. */
export type Ending =
  | { readonly kind: "answer"; readonly text: string }
  | {
    readonly kind: "call_limit" | "step_limit" | "time_limit" | "token_limit";
    readonly message: string;
  };

/** What the loop takes. */
export interface LoopOptions {
  /** The model that is asked. */
  readonly model: Model;
  /** Where its calls go. */
  readonly environment: Environment;
  /** The messages that open the conversation. */
  readonly messages: readonly Message[];
  /** Which trial this is. */
  readonly context: Omit<RequestContext, "request">;
  /** What it may take; calls are counted by the environment. */
  readonly limits?: Omit<Limits, "calls">;
  /** Writes the texts that go back for calls; default as the functions return them. */
  readonly write?: ResultWriter;
  /** Gets every reply as an event. */
  readonly record: (event: TraceEvent) => void;
  /** Told of every reply's served model name. */
  readonly served?: (name: string) => void;
  /** Aborts the trial. */
  readonly signal?: AbortSignal;
}

/**
 * Runs the loop until the model answers or a limit is reached.
 *
 * @throws {InfrastructureError} If no usable reply could be had.
 */
export async function runLoop(options: LoopOptions): Promise<Ending> {
  const { model, environment, context, limits = {}, record, signal } = options;
  const messages = [...options.messages];
  let milliseconds = 0;
  let tokens = 0;
  // A model sees what tools are; only its reply can call them.
  const tools = environment.tools.map((tool): ToolSchema => {
    const { execute: _, ...schema } = tool as Tool;
    return schema;
  });
  for (let request = 1;; request++) {
    signal?.throwIfAborted();
    const timeLimit = limits.seconds === undefined
      ? undefined
      : Math.max(1, limits.seconds * 1000 - milliseconds);
    let reply;
    try {
      const replying = model.reply({
        messages: [...messages],
        tools,
        context: { ...context, request },
        ...(timeLimit === undefined ? {} : { timeLimit }),
        ...(signal === undefined ? {} : { signal }),
      });
      reply = await (signal === undefined ? replying : abortable(replying, signal));
    } catch (error) {
      if (error instanceof TimeLimitError) return overTime(limits.seconds);
      throw error;
    }
    // Servers and models of the user's own claim what they like; a journal must stay readable.
    const duration = count(reply.duration);
    const inputTokens = count(reply.usage.inputTokens);
    const outputTokens = count(reply.usage.outputTokens);
    milliseconds += duration;
    tokens += inputTokens + outputTokens;
    if (reply.served !== "") options.served?.(reply.served.slice(0, LONGEST_NAME));
    record({
      kind: "reply",
      request,
      text: reply.text.slice(0, LONGEST_KEPT),
      calls: reply.calls.length,
      inputTokens,
      outputTokens,
      durationMs: duration,
      ...(reply.repairs.length === 0 ? {} : { repairs: reply.repairs.slice(0, MOST_REPAIRS) }),
    });

    if (reply.finish === "length") {
      return { kind: "token_limit", message: "the model ran out of tokens in mid-reply" };
    }
    if (limits.tokens !== undefined && tokens > limits.tokens) {
      return { kind: "token_limit", message: `${tokens} tokens, ${limits.tokens} are allowed` };
    }
    if (limits.seconds !== undefined && milliseconds > limits.seconds * 1000) {
      return overTime(limits.seconds);
    }
    if (reply.calls.length === 0) return { kind: "answer", text: reply.text };

    messages.push({ role: "assistant", content: reply.text, calls: reply.calls });
    const started = performance.now();
    for (const result of await environment.execute(reply.calls, options.write)) {
      messages.push({ role: "tool", ...result });
    }
    milliseconds += performance.now() - started;
    if (environment.exhausted) {
      return { kind: "call_limit", message: "a call past the limit was made" };
    }
    if (limits.steps !== undefined && request >= limits.steps) {
      return { kind: "step_limit", message: `${limits.steps} replies, and no answer among them` };
    }
  }
}

/** No name of a model is kept longer than this. */
const LONGEST_NAME = 200;
/** So many repairs of one reply are told. */
const MOST_REPAIRS = 20;
/** Above what any reply takes, and low enough for sums to stay exact. */
const MOST = 1e12;

/** A whole number from 0 on, whatever was claimed. */
function count(claimed: number): number {
  return claimed >= 0 && claimed <= MOST ? Math.round(claimed) : 0;
}

function overTime(seconds: number | undefined): Ending {
  const message = seconds === undefined
    ? "the model's time is over"
    : `${seconds} seconds are over`;
  return { kind: "time_limit", message };
}
