/**
 * Wire formats: write conversations for OpenAI's and compatible servers, and read their replies. The two
 * formats are in `_chat.ts` and `_responses.ts`.
 * @module
 */

import type { ModelEntry } from "../entry.ts";
import type { EndpointOptions } from "../http/endpoint.ts";
import type { JsonObject } from "../../base/json.ts";
import type {
  InfrastructureError,
  InfrastructureErrorOptions,
  ModelReply,
  ModelRequest,
} from "../model.ts";
import type { RetryPolicy } from "../http/retry.ts";
import type { Usage } from "../../tools/message.ts";
import type { ToolChoice, ToolSchema } from "../../tools/tool.ts";

/** The APIs with native tool calls. */
export type WireApi = "chat" | "responses";

/** Options of {@linkcode openai}. */
export interface OpenAIOptions extends EndpointOptions, RetryPolicy, Pick<ModelEntry, "takes"> {
  /** Chat completions or responses. Default: `chat`. */
  api?: WireApi;
  /** The sampling temperature, 0 to 2. */
  temperature?: number;
  /** The probability mass to sample from, 0 to 1. */
  topP?: number;
  /** Tokens that one reply may take, hidden reasoning included. */
  maxCompletionTokens?: number;
  /**
   * How much to reason before answering. With `responses`, any value but `none` also keeps the conversation
   * out of the server's store: reasoning is received encrypted, and sent back with the next request.
   */
  reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Asks the server to sample reproducibly; few do, and `responses` has no such field. */
  seed?: number;
  /** Whether one reply may contain several calls; sent only along with tools. */
  parallelToolCalls?: boolean;
  /**
   * Whether a reply calls functions: as the model chooses, never, always, or always this one; sent only
   * along with tools. If it must call, no conversation ends by itself (Indirection, "Inflexible").
   */
  toolChoice?: ToolChoice;
  /**
   * Whether replies come as event streams, for models that answer in no other way. Default: once a server demands it.
   */
  stream?: boolean;
  /** Further fields of the request body; they override those of the other options. */
  body?: JsonObject;
  /** The name of the model in results. Default: `model`. */
  name?: string;
  /** Whether the server is a program that simulates a model. Default: `false`. */
  simulated?: boolean;
  /**
   * Returns further fields of one request's body; they override all others. Used to pass the repetition to
   * the loopback server of simulated models.
   */
  requestFields?: (request: ModelRequest) => JsonObject;
}

/** A request, and everything else that its body depends on. */
export interface WireRequest {
  /** The request. */
  readonly request: ModelRequest;
  /** Options of the model. */
  readonly options: OpenAIOptions;
  /** Whether the reply may, must or must not call, from the request or else from the options. */
  readonly choice: ToolChoice | undefined;
  /** The model and its host: items carried from its replies are sent to no other. */
  readonly who: string;
  /** What the server has refused so far, such as fields of earlier replies. */
  readonly withheld: ReadonlySet<string>;
}

/** The source of an answer, with helpers to read it. */
export interface ReplySource {
  /** The model and its host. */
  readonly who: string;
  /** Returns a text without known secrets, otherwise unchanged. */
  readonly hide: (text: string) => string;
  /** Returns a server's text without secrets, on one line, cut. */
  readonly quote: (text: string) => string;
  /** Its address; omitted where an agent has asked. */
  readonly url?: URL;
  /** What the request contained. */
  readonly told: unknown;
  /** Creates the error of an unusable answer, from a description of what is wrong; default: of unclear cause. */
  readonly unusable: (
    state: string,
    options?: Pick<InfrastructureErrorOptions, "fault" | "permanent">,
  ) => InfrastructureError;
  /** Returns whether an earlier call of the conversation has an id; omitted without a conversation. */
  readonly isTaken?: (id: string) => boolean;
  /** The functions on offer. */
  readonly tools: readonly ToolSchema[];
}

/** A reply as it was read; the usage is `undefined` if the server does not say it. */
export type WireReply = Omit<ModelReply, "duration" | "usage"> & {
  readonly usage: Usage | undefined;
};

/** Writes requests to a server, and reads its replies. */
export interface WireFormat {
  /** Path of requests, below the base URL. */
  readonly path: string;
  /** Name of a reply, for messages. */
  readonly replyName: string;
  /** Returns the body of a request, without the fields that options add unchanged. */
  write(request: WireRequest): object;
  /**
   * Reads a server's answer.
   *
   * @throws {InfrastructureError} If it is unusable.
   */
  read(answer: unknown, answerer: ReplySource): WireReply;
}
