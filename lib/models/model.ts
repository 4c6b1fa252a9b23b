/**
 * What a model is to toolgate: one function from a conversation and tools to one reply. Nothing here
 * touches a network.
 * @module
 */

import type { Carried, Message, Usage } from "../tools/message.ts";
import { redact } from "../base/redact.ts";
import type { ToolCall, ToolChoice, ToolSchema } from "../tools/tool.ts";
import type { Parse } from "../calls/trace.ts";

/**
 * How a model is spoken to: by OpenAI's chat completions or responses, or in texts over plain chat, for
 * models that have no calls of their own (Pipeline, "Structured Output for Tool Invocation").
 */
export const APIS = ["chat", "responses", "react", "xml", "hermes"] as const;

/** How a model is spoken to. */
export type Api = typeof APIS[number];

/** What another model than the trial's own was asked for. */
export interface StageUse {
  /** The stage, such as `plan`. */
  readonly stage: string;
  /** The model by the name it was asked for, those that say to have answered, and whether it is a program. */
  readonly model: {
    readonly requested: string;
    readonly served: readonly string[];
    readonly simulated: boolean;
  };
  /** Its tokens, which the trial's have too. */
  readonly usage: Usage;
}

/** Which request of which trial this is. */
export interface RequestContext {
  /** The trial's id. */
  readonly trial: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** The request within the trial, from 1. */
  readonly request: number;
  /** The stage of the strategy that it belongs to; left out where there are none. */
  readonly stage?: string;
}

/** What a model is asked. */
export interface ModelRequest {
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
  /** Whether the reply may, must or must not call; default what the model's options say. */
  readonly toolChoice?: ToolChoice;
  /** Which request of which trial this is. */
  readonly context: RequestContext;
  /** Milliseconds that the trial has left; retries and failed attempts do not count. */
  readonly timeLimit?: number;
  /** Aborts the request, also while it waits for a retry. */
  readonly signal?: AbortSignal;
}

/** Why a model stopped writing. `length` means that it ran out of tokens. */
export type FinishReason = "stop" | "calls" | "length" | "filter" | "other";

/** What a model answers. */
export interface ModelReply {
  /** What it said; empty when it only calls. */
  readonly text: string;
  /** Its calls, in order; their ids are unique within the reply. */
  readonly calls: readonly ToolCall[];
  /** Why it stopped. */
  readonly finish: FinishReason;
  /** The tokens it took. */
  readonly usage: Usage;
  /** The name of the model that the server says has answered. */
  readonly served: string;
  /** Milliseconds that the successful attempt took. */
  readonly duration: number;
  /** What had to be repaired in the reply, in words. */
  readonly repairs: readonly string[];
  /** How its calls could be read, the worst of them; left out where it attempts none. */
  readonly parsed?: Parse;
  /** The reply as it was written, where calls in it had to be repaired or cannot be read; left out else. */
  readonly written?: string;
  /** What the provider wants back with the next request; left out where that is nothing. */
  readonly carried?: Carried;
}

/** A model. */
export interface Model {
  /** The name by which it was asked for. */
  readonly name: string;
  /** Whether it is a program that stands in for a model. */
  readonly simulated: boolean;
  /** How it is spoken to; left out of chat, the usual way, and where nobody knows, as of scripted ones. */
  readonly api?: Api;
  /**
   * Replies once.
   *
   * @throws {InfrastructureError} If no usable reply could be had; the trial is then `invalid`.
   * @throws {TimeLimitError} If `timeLimit` ran out.
   */
  reply(request: ModelRequest): Promise<ModelReply>;
}

/** How an {@linkcode InfrastructureError} may be met. */
export interface InfrastructureErrorOptions extends ErrorOptions {
  /** Whether the same request may succeed when sent again; default false. */
  readonly retryable?: boolean;
  /** Milliseconds that the server asks to wait before the next attempt. */
  readonly retryAfter?: number;
  /** Whether the server refused it as too much was asked of it at a time; default false. */
  readonly rateLimited?: boolean;
}

/** No usable reply could be had: a fault of network, server or account, never of the model. */
export class InfrastructureError extends Error {
  /** The name of the class. */
  override name = "InfrastructureError";
  /** Whether the same request may succeed when sent again. */
  readonly retryable: boolean;
  /** Milliseconds that the server asks to wait, if it does. */
  readonly retryAfter: number | undefined;
  /** Whether the server refused it as too much was asked of it at a time. */
  readonly rateLimited: boolean;

  /** Makes the error; its message is for a person, and loses whatever looks like a secret. */
  constructor(message: string, options: InfrastructureErrorOptions = {}) {
    super(redact(message), options.cause === undefined ? {} : { cause: options.cause });
    this.retryable = options.retryable ?? false;
    this.retryAfter = options.retryAfter;
    this.rateLimited = options.rateLimited ?? false;
  }
}

/** The trial's time ran out while the model was replying. */
export class TimeLimitError extends Error {
  /** The name of the class. */
  override name = "TimeLimitError";
}
