/**
 * Executions: what came of a tool call that was carried out with care, and every attempt at it.
 * @module
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { printable } from "../../base/json.ts";
import type { Usage } from "../../tools/message.ts";
import { redact } from "../../base/redact.ts";
import type { ToolErrorCategory } from "./tool_error.ts";

/** A call to be carried out: nothing in it is checked. */
export interface ExecutableCall {
  /** The name of the tool, possibly invented. */
  readonly name: string;
  /** The arguments: a JSON object, or the text that should be one. */
  readonly arguments: JsonObject | string;
  /** Pairs the call with its execution. */
  readonly id?: string;
}

/**
 * What was done about an attempt that failed.
 *
 * - `retried`: The same call was made again after a pause of so many milliseconds.
 * - `repaired`: A model gave other arguments, after so many requests.
 * - `alternative`: Another call was made in its place.
 * - `gave_up`: Nothing more, for this reason.
 */
export type AttemptAction =
  | { readonly kind: "retried"; readonly after: number }
  | { readonly kind: "repaired"; readonly requests: number }
  | { readonly kind: "alternative"; readonly tool: string }
  | { readonly kind: "gave_up"; readonly reason: string };

/** What every attempt has. */
export interface AttemptRecord {
  /** The tool that was called. */
  readonly tool: string;
  /** The arguments as text, at most 10,000 UTF-16 code units of it. */
  readonly arguments: string;
  /** When it began, in ISO 8601. */
  readonly startedAt: string;
  /** Milliseconds that it took. */
  readonly durationMs: number;
  /** Whether the tool was run: what does not conform to its schema never reaches it. */
  readonly ran: boolean;
}

/** An attempt that gave a result. */
export interface SuccessfulAttempt extends AttemptRecord {
  /** It succeeded. */
  readonly ok: true;
}

/** An attempt that gave none. */
export interface FailedAttempt extends AttemptRecord {
  /** It failed. */
  readonly ok: false;
  /** The category of its error. */
  readonly category: ToolErrorCategory;
  /** What went wrong, in words, without what looks like a secret. */
  readonly message: string;
  /** What was done about it. */
  readonly action: AttemptAction;
}

/** One attempt to carry out a call. */
export type ToolAttempt = SuccessfulAttempt | FailedAttempt;

/** What every execution has. */
export interface ExecutionRecord {
  /** The `id` of the call; left out where it had none. */
  readonly id?: string;
  /** The tool that was called last: another one than was asked for where that was the alternative. */
  readonly tool: string;
  /** The text that goes back to the model: the result, or a JSON object with the single key `error`. */
  readonly content: string;
  /** All attempts, in order; empty where it was cancelled before the first. */
  readonly attempts: readonly ToolAttempt[];
  /** Tokens that the repair of arguments took. */
  readonly usage: Usage;
}

/** An execution that gave a result. */
export interface SuccessfulExecution extends ExecutionRecord {
  /** It succeeded. */
  readonly ok: true;
  /** What the result says as JSON, else its text. */
  readonly value: JsonValue;
}

/** An execution that gave none. */
export interface FailedExecution extends ExecutionRecord {
  /** It failed. */
  readonly ok: false;
  /** The last error: its category, and in words, without what looks like a secret. */
  readonly error: { readonly category: ToolErrorCategory; readonly message: string };
}

/** What came of a call. */
export type Execution = SuccessfulExecution | FailedExecution;

/** So much of an error is told. */
const LONGEST_MESSAGE = 1000;

/** What is told of an error, to models and to people: one line, of bounded length, without secrets. */
export function errorToTell(message: string): string {
  return printable(redact(message), LONGEST_MESSAGE);
}
