/**
 * Messages of a conversation, and their token usage.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import type { WithMedia } from "./media.ts";
import type { ToolCall } from "./tool.ts";

/** Data that a provider expects back with the next request, such as its reasoning; opaque to all others. */
export interface Carried {
  /** The provider it came from, and the only one it is sent to. */
  readonly by: string;
  /** The provider's items, unchanged and in order; of a chat completion one, with fields of its message. */
  readonly items: readonly JsonObject[];
}

/** One message of a conversation. */
export type Message =
  | ({ readonly role: "system" | "user"; readonly content: string } & WithMedia)
  | {
    readonly role: "assistant";
    readonly content: string;
    readonly calls: readonly ToolCall[];
    /** Data that the provider expects back; omitted if there is none. */
    readonly carried?: Carried;
  }
  | ({
    readonly role: "tool";
    readonly callId: string;
    readonly name: string;
    readonly content: string;
  } & WithMedia);

/** Converts a message to the form of OpenAI's chat completions; a reply that only calls has no content. */
export function toOpenAIMessage(message: Message): JsonObject {
  if (message.role === "tool") {
    return { role: "tool", tool_call_id: message.callId, content: message.content };
  }
  const { role, content } = message;
  if (message.role !== "assistant" || message.calls.length === 0) return { role, content };
  return {
    role,
    ...(content === "" ? {} : { content }),
    tool_calls: message.calls.map(({ id, name, arguments: given }) => ({
      id,
      type: "function",
      function: { name, arguments: given },
    })),
  };
}

/** Tokens of a reply, as counted by the provider, or estimated where it does not count them. */
export interface Usage {
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written, hidden reasoning included. */
  readonly outputTokens: number;
  /**
   * Set if they were estimated, all or in part: a token for every four bytes of JSON. Omitted if the provider
   * counted them.
   */
  readonly estimated?: true;
}

/** Sums token counts. */
export function sumUsage(usages: readonly Usage[]): Usage {
  return {
    inputTokens: sum(usages, ({ inputTokens }) => inputTokens),
    outputTokens: sum(usages, ({ outputTokens }) => outputTokens),
    ...(usages.some(({ estimated }) => estimated) ? { estimated: true } : {}),
  };
}

/** Returns the mean of token counts, of which there must be some, as whole numbers. */
export function meanUsage(usages: readonly Usage[]): Usage {
  const { inputTokens, outputTokens, ...others } = sumUsage(usages);
  return {
    ...others,
    inputTokens: Math.round(inputTokens / usages.length),
    outputTokens: Math.round(outputTokens / usages.length),
  };
}

/** More than any reply uses, and low enough for sums to stay exact. */
const MAX_TOKENS = 1e9;

/** Returns a reported count as a whole number, or 0 if it is not plausible. */
export function claimedCount(claimed: number): number {
  return claimed >= 0 && claimed <= MAX_TOKENS ? Math.round(claimed) : 0;
}

/** Returns reported tokens with plausible counts: servers and custom models may report anything. */
export function claimedUsage({ inputTokens, outputTokens, estimated }: Usage): Usage {
  return {
    inputTokens: claimedCount(inputTokens),
    outputTokens: claimedCount(outputTokens),
    ...(estimated ? { estimated: true } : {}),
  };
}
