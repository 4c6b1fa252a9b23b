/**
 * Wire formats: how a conversation is put to OpenAI's servers, and to those that speak as they do, and
 * how their replies are read. There are two, one beside this file each.
 * @module
 */

import type { EndpointOptions } from "../http/endpoint.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, printable } from "../../base/json.ts";
import type { InfrastructureError, ModelReply, ModelRequest } from "../model.ts";
import type { RetryPolicy } from "../http/retry.ts";
import type { ToolChoice } from "../../tools/tool.ts";

/** The formats that have calls of their own. */
export type WireApi = "chat" | "responses";

/** Which model to ask, where, and how. */
export interface OpenAIOptions extends EndpointOptions, RetryPolicy {
  /** Whether it is asked through chat completions or through responses; default `chat`. */
  api?: WireApi;
  /** The sampling temperature, 0 to 2. */
  temperature?: number;
  /** The probability mass to sample from, 0 to 1. */
  topP?: number;
  /** Tokens that one reply may take, hidden reasoning included. */
  maxCompletionTokens?: number;
  /**
   * How much to reason before answering. With `responses`, any but `none` also keeps the conversation
   * out of the server's store: what the model reasoned comes encrypted, and goes back with the next
   * request.
   */
  reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /** Asks the server to sample reproducibly; few do, and `responses` knows no such field. */
  seed?: number;
  /** Whether one reply may hold several calls; sent only along with tools. */
  parallelToolCalls?: boolean;
  /**
   * Whether a reply calls functions: as the model likes, never, always, or always this one; sent only
   * along with tools. Where it must call, no conversation ends by itself (Indirection, "Inflexible").
   */
  toolChoice?: ToolChoice;
  /** Further fields of the request body; they win over those that the other options make. */
  body?: JsonObject;
  /** The name under which the model appears in results; default `model`. */
  name?: string;
  /** Whether the server is a program that stands in for a model; default false. */
  simulated?: boolean;
  /**
   * Further fields of one request's body; they win over all others. The wiring of simulated models
   * needs them, to tell the loopback server which request of which trial it answers.
   */
  requestFields?: (request: ModelRequest) => JsonObject;
}

/** A request, and what decides how it is written. */
export interface WireRequest {
  /** What the model is asked. */
  readonly request: ModelRequest;
  /** How it is asked. */
  readonly options: OpenAIOptions;
  /** Whether the reply may, must or must not call, by the request or else by the options. */
  readonly choice: ToolChoice | undefined;
  /** The model and its host: what it wants back goes nowhere else. */
  readonly who: string;
}

/** Whoever answered, to those who read the answer. */
export interface Answerer {
  /** The model and its host. */
  readonly who: string;
  /** A text as it was said, but for the endpoint's own secrets. */
  readonly hide: (text: string) => string;
  /** The fault of an answer that cannot be used, by what is wrong with it in words. */
  readonly unusable: (state: string) => InfrastructureError;
  /** Whether an earlier call of the conversation has an id; left out where there is no conversation. */
  readonly isTaken?: (id: string) => boolean;
}

/** How a conversation is written to a server, and how its replies are read. */
export interface WireFormat {
  /** Where requests go, below the base URL. */
  readonly path: string;
  /** What a reply is called. */
  readonly replyName: string;
  /** Options that it has no field for. */
  readonly unknown: readonly (keyof OpenAIOptions)[];
  /** The body of a request, but for the fields that the options add as they are. */
  write(asked: WireRequest): object;
  /**
   * What a server answered.
   *
   * @throws {InfrastructureError} If it cannot be used.
   */
  read(answer: unknown, answerer: Answerer): Omit<ModelReply, "duration">;
}

/**
 * The choice, checked: it may come from a file that nothing has checked.
 *
 * @throws {InputError} If there is no such choice.
 */
export function checkedChoice(model: string, choice: unknown): ToolChoice | undefined {
  if (
    choice === undefined || choice === "auto" || choice === "none" || choice === "required"
  ) return choice;
  const name = isJsonObject(choice) && Object.keys(choice).length === 1 ? choice["function"] : "";
  if (typeof name === "string" && name !== "") return { function: name };
  throw new InputError(
    `Cannot ask ${model} as toolChoice must be auto, none, required or {"function": NAME}: it is ${
      printable(JSON.stringify(choice) ?? String(choice))
    }`,
  );
}
