/**
 * Executions: the results of tool calls through a tool executor, with all attempts.
 * @module
 */

import type { JsonValue } from "../../base/json.ts";
import { printable } from "../../base/json.ts";
import type { Usage } from "../../tools/message.ts";
import { redact } from "../../base/redact.ts";
import type { ToolErrorCategory } from "../../tools/error_category.ts";

/** One attempt to carry out a call. */
export interface ToolAttempt {
  /** Whether it succeeded. */
  readonly ok: boolean;
  /** The tool that was called. */
  readonly tool: string;
  /** The arguments as text, at most 10,000 UTF-16 code units. */
  readonly arguments: string;
  /**
   * What made it: a retry of the same call, a model that gave other arguments, or an alternative tool. Omitted for
   * the first one.
   */
  readonly by?: "retry" | "repair" | "alternative";
  /** When it began, in ISO 8601. */
  readonly startedAt: string;
  /** Its duration in milliseconds. */
  readonly durationMs: number;
  /** Whether the tool ran: it does not run with arguments that do not conform to its schema. */
  readonly ran: boolean;
  /** The category of its error; omitted if it succeeded. */
  readonly category?: ToolErrorCategory;
  /** The error message, with likely secrets removed; omitted if it succeeded. */
  readonly message?: string;
  /** Why nothing was done about it, where that failed itself: a function threw, or a model gave no reply. */
  readonly gaveUp?: string;
}

/** The result of a call through an executor. */
export type Execution =
  & {
    /** The tool called last: the one requested, or an alternative. */
    readonly tool: string;
    /** The text for the model: the result, or a JSON object with the single key `error`. */
    readonly content: string;
    /** All attempts, in order; empty if the call was cancelled before the first. */
    readonly attempts: readonly ToolAttempt[];
    /** Tokens used by repairs of arguments. */
    readonly usage: Usage;
  }
  & ({
    /** It succeeded. */
    readonly ok: true;
    /** The result parsed as JSON, or its text if it is not JSON. */
    readonly value: JsonValue;
  } | {
    /** It failed. */
    readonly ok: false;
    /** The last error: its category, and its message with likely secrets removed. */
    readonly error: { readonly category: ToolErrorCategory; readonly message: string };
  });

/** The longest error message, in UTF-16 code units. */
const MAX_MESSAGE_LENGTH = 1000;

/** An error message fit for models and people: one line of bounded length, with likely secrets removed. */
export function safeErrorMessage(message: string): string {
  return printable(redact(message), MAX_MESSAGE_LENGTH);
}
