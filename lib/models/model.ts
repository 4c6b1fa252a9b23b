/**
 * Model interface: a model is one function from a conversation and tools to one reply. Nothing here uses
 * the network.
 * @module
 */

import type { Carried, Message, Usage } from "../tools/message.ts";
import { hideOwnFrames } from "../base/errors.ts";
import { defined, isObject, type JsonObject } from "../base/json.ts";
import { redact } from "../base/redact.ts";
import type { ToolCall, ToolChoice, ToolSchema } from "../tools/tool.ts";
import type { FailedAttempt, Parse } from "../calls/trace.ts";
import type { Medium } from "../tools/media.ts";
import type { Api } from "./formats/registry.ts";

/** The use of another model than the trial's. */
export interface StageUse {
  /** The stage, such as `plan`. */
  readonly stage: string;
  /** The requested model, the models that served it, and whether it is simulated. */
  readonly model: {
    readonly requested: string;
    readonly served: readonly string[];
    readonly simulated: boolean;
  };
  /** Its tokens, which are included in the trial's. */
  readonly usage: Usage;
}

/** The trial and the number of a request. */
export interface RequestContext {
  /** The trial's id. */
  readonly trial: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /** The request within the trial, from 1. */
  readonly request: number;
  /** The stage of the strategy that it belongs to; omitted in the agent loop. */
  readonly stage?: string;
  /** What the other side of the conversation is asked with, in requests of its user; otherwise omitted. */
  readonly of?: string;
}

/** A request to a model. */
export interface ModelRequest {
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** The available functions. */
  readonly tools: readonly ToolSchema[];
  /** Whether the reply may, must or must not call. Default: the model's option. */
  readonly toolChoice?: ToolChoice;
  /** Texts at which the reply ends, where the model's options name none. */
  readonly stop?: readonly string[];
  /** The sampling seed in place of that of the model's options, where these have one; default: theirs. */
  readonly seed?: number;
  /** The trial and the number of this request. */
  readonly context: RequestContext;
  /** Milliseconds that the trial has left; retries and failed attempts do not count. */
  readonly timeLimit?: number;
  /** Aborts the request, also while it waits for a retry. */
  readonly signal?: AbortSignal;
}

/** Why a model stopped writing. `length` means that it ran out of tokens. */
export type FinishReason = "stop" | "calls" | "length" | "filter" | "other";

/** A reply of a model. */
export interface ModelReply {
  /** The text; empty if it only calls. */
  readonly text: string;
  /** Its calls, in order; their ids are unique within the reply. */
  readonly calls: readonly ToolCall[];
  /** Why it stopped. */
  readonly finish: FinishReason;
  /** Why it stopped in the server's words, where these are not known; otherwise omitted. */
  readonly unknownFinish?: string;
  /** The tokens it took. */
  readonly usage: Usage;
  /** The name of the model that answered, according to the server. */
  readonly served: string;
  /** Duration of the successful attempt, in milliseconds. */
  readonly duration: number;
  /** The attempts that failed before, in order; omitted if the first one got the reply. */
  readonly failed?: readonly FailedAttempt[];
  /** Descriptions of the repairs made to the reply. */
  readonly repairs: readonly string[];
  /** How its calls could be parsed, the worst of them; omitted if it attempts none. */
  readonly parsed?: Parse;
  /** The reply as it was written, if its calls were repaired or unreadable, or thinking left out; otherwise omitted. */
  readonly written?: string;
  /** Items to send back to the provider with the next request; omitted if there are none. */
  readonly carried?: Carried;
}

/** A model. */
export interface Model {
  /** The name by which it is requested. */
  readonly name: string;
  /** Whether it is a program that simulates a model. */
  readonly simulated: boolean;
  /** Its API; omitted for chat, and where it is unknown, as for scripted models. */
  readonly api?: Api;
  /** Whether it may, must or must not call where a request does not say; omitted if it is free. */
  readonly toolChoice?: ToolChoice | undefined;
  /** What it takes beside text in the results of tools; omitted if that is nothing. */
  readonly takes?: readonly Medium[] | undefined;
  /**
   * Replies once.
   *
   * @throws {InfrastructureError} If there is no usable reply; the trial is then `invalid`.
   * @throws {TimeLimitError} If `timeLimit` ran out.
   */
  reply(request: ModelRequest): Promise<ModelReply>;
  /** Its server, to which the requests of an agent can be sent; omitted for models without one. */
  readonly server?: ModelServer;
  /** Its options as text, if its requests go through a recording already. */
  readonly recorded?: string;
}

/** A request of an agent to the server of a model. */
export interface ForwardedRequest extends Pick<ModelRequest, "context" | "timeLimit" | "signal"> {
  /** The path below the base URL, such as `/chat/completions`. */
  readonly path: string;
  /** The body as the agent wrote it. */
  readonly body: JsonObject;
}

/** The server of a model. */
export interface ModelServer {
  /** The name of the model there. */
  readonly model: string;
  /** The model and its host, for messages. */
  readonly who: string;
  /** Its address as it was given; omitted for the default one. */
  readonly baseURL?: string;
  /** Where it is, such as `https://api.openai.com`; omitted for servers in this process. */
  readonly origin?: string;
  /** Returns a text without known secrets, otherwise unchanged. */
  readonly hide: (text: string) => string;
  /** Returns a server's text without secrets, on one line, cut. */
  readonly quote: (text: string) => string;
  /**
   * Sends a request with the model's key and options, after retries where these may help. Resolves once the server
   * begins to answer.
   *
   * @throws {InfrastructureError} If it refuses, or cannot be reached.
   * @throws {TimeLimitError} If `timeLimit` ran out before.
   */
  forward(
    request: ForwardedRequest,
  ): Promise<
    { readonly response: Response } & Pick<ModelReply, "duration" | "failed">
  >;
}

/** Whether a choice of a model is one already; callers without types may give anything. */
export function isModel(choice: unknown): choice is Model {
  return isObject(choice) && "reply" in choice;
}

/**
 * What must change before any request to a model can succeed: the key, the model's name, the address, a
 * permission of Deno, the account's credit, its rate limit, an option that it refuses, the program that is the
 * agent, or that nothing answers at the address.
 */
export type Permanent =
  | "key"
  | "model"
  | "address"
  | "permission"
  | "credit"
  | "limit"
  | "option"
  | "command"
  | "refused";

/** All that may have to change. */
export const PERMANENT: readonly Permanent[] = [
  ...["key", "model", "address", "permission", "credit"] as const,
  ...["limit", "option", "command", "refused"] as const,
];

/** Options of an {@linkcode InfrastructureError}. */
export interface InfrastructureErrorOptions extends ErrorOptions {
  /** Whether the same request may succeed when sent again. Default: `false`. */
  readonly retryable?: boolean;
  /** Milliseconds that the server asks to wait before the next attempt. */
  readonly retryAfter?: number;
  /** Whether the server refused it because of a rate limit. Default: `false`. */
  readonly rateLimited?: boolean;
  /** The HTTP status of the server's answer, if there was one. */
  readonly status?: number;
  /**
   * Whether only network, server or account can have caused it, or also what the model wrote. Default:
   * `infrastructure`.
   */
  readonly fault?: FailedAttempt["cause"];
  /** Set if every request will fail alike until someone changes something: what that is. */
  readonly permanent?: Permanent;
  /** The attempts that failed, in order, this one last. Default: this one alone. */
  readonly failed?: readonly FailedAttempt[];
}

/**
 * The error of a request without a usable reply: a fault of network, server or account, never of the model.
 *
 * @example Usage
 * ```ts
 * import { InfrastructureError, scripted } from "@toolgate/toolgate";
 * import { runTools } from "@toolgate/toolgate/toolkit";
 * import { assertRejects } from "@std/assert";
 *
 * const model = scripted("down", () => {
 *   throw new InfrastructureError("The server is down");
 * });
 * await assertRejects(() => runTools(model, [], { messages: "Hello?" }), InfrastructureError);
 * ```
 */
export class InfrastructureError extends Error {
  /** The name of the class. */
  override name = "InfrastructureError";
  /** Whether the same request may succeed when sent again. */
  readonly retryable: boolean;
  /** Milliseconds that the server asks to wait, if it does. */
  readonly retryAfter: number | undefined;
  /** Whether the server refused it because of a rate limit. */
  readonly rateLimited: boolean;
  /** The HTTP status of the server's answer, if there was one. */
  readonly status: number | undefined;
  /** Whether only network, server or account can have caused it, or also what the model wrote. */
  readonly fault: FailedAttempt["cause"];
  /** Set if every request will fail alike until someone changes something: what that is. */
  readonly permanent: Permanent | undefined;
  /** The attempts that failed, in order, this one last. */
  readonly failed: readonly FailedAttempt[];

  /** Creates the error; anything that looks like a secret is removed from its message. */
  constructor(message: string, options: InfrastructureErrorOptions = {}) {
    super(redact(message), options.cause === undefined ? {} : { cause: options.cause });
    this.retryable = options.retryable ?? false;
    this.retryAfter = options.retryAfter;
    this.rateLimited = options.rateLimited ?? false;
    this.status = options.status;
    this.fault = options.fault ?? "infrastructure";
    this.permanent = options.permanent;
    const { fault: cause, status } = this;
    this.failed = options.failed ??
      [{ cause, ...defined({ status }), message: this.message }];
    hideOwnFrames(this);
  }
}

/**
 * The error of a trial whose time ran out while the model was replying.
 */
export class TimeLimitError extends Error {
  /** The name of the class. */
  override name = "TimeLimitError";
  /** Whether the time of one request was up, and not that of the trial. */
  readonly ofRequest: boolean;

  /** Creates the error. */
  constructor(message: string, options: { readonly ofRequest?: boolean } = {}) {
    super(message);
    this.ofRequest = options.ofRequest ?? false;
  }
}
