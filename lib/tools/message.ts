/**
 * Messages: what is said in a conversation, and what it takes.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { ToolCall } from "./tool.ts";

/** What a provider wants back with the next request, such as its reasoning: nobody else reads it. */
export interface Carried {
  /** Who it is of: it goes back there, and nowhere else. */
  readonly by: string;
  /** The provider's own items, as they came, in order. */
  readonly items: readonly JsonObject[];
}

/** One message of a conversation. */
export type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | {
    readonly role: "assistant";
    readonly content: string;
    readonly calls: readonly ToolCall[];
    /** What the provider wants back; left out where that is nothing. */
    readonly carried?: Carried;
  }
  | {
    readonly role: "tool";
    readonly callId: string;
    readonly name: string;
    readonly content: string;
  };

/** Tokens that a reply took, as the provider counts them; 0 where it does not say. */
export interface Usage {
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written, hidden reasoning included. */
  readonly outputTokens: number;
}

/** All tokens together. */
export function sumUsage(usages: readonly Usage[]): Usage {
  return {
    inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
    outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  };
}

/** Above what any reply takes, and low enough for sums to stay exact. */
const MOST = 1e9;

/** A whole number from 0 on, whatever was claimed. */
export function claimedCount(claimed: number): number {
  return claimed >= 0 && claimed <= MOST ? Math.round(claimed) : 0;
}
