/**
 * Assertion texts: what a trial keeps of an error that the user's assertions threw.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { attempt, InputError, isErrorOf, reasonOf } from "../base/errors.ts";
import { printableLines } from "../base/json.ts";
import { redact } from "../base/redact.ts";
import { atPlace, thrownText } from "../base/user_code.ts";
import { MAX_KEPT_LENGTH } from "./trace.ts";

/** A failed assertion of this library. */
export class FailedAssertion extends AssertionError {
  /** The whole message: its own may be cut for a terminal. */
  readonly whole: string;
  /** Whether it is of a call that must not happen in any trial: a gate fails by it at any success rate. */
  readonly never: boolean;

  /** Makes the error. */
  constructor(message: string, { whole, never }: Pick<FailedAssertion, "whole" | "never">) {
    super(message);
    this.whole = whole;
    this.never = never;
  }
}

/** Errors within errors that are looked at, at most. */
const MAX_CAUSES = 100;

/**
 * Whether a thrown value is an error of a call that must not happen in any trial, or was made from one: as its
 * `cause`, or as one of the `errors` of an `AggregateError`.
 */
export function isNeverError(error: unknown): boolean {
  const waiting = [error];
  for (let looked = 0; waiting.length > 0 && looked < MAX_CAUSES; looked++) {
    const next = waiting.shift();
    if (isErrorOf(next, FailedAssertion) && next.never) return true;
    try {
      const { cause, errors } = Object(next) as { cause?: unknown; errors?: unknown };
      waiting.push(cause, ...(Array.isArray(errors) ? errors.slice(0, MAX_CAUSES) : []));
    } catch {
      // Nothing can be asked of a hostile value.
    }
  }
  return false;
}

/**
 * The text of an error thrown by the user's assert. Assertions may come from any library, even from several
 * copies of one. Any other error counts as one too: it usually means that an expected value is missing, and
 * were such a trial `invalid`, running it again until it passes would make a bad model look good.
 */
export function assertionText(error: unknown): string {
  const message = isNamed(error, "AssertionError")
    ? (isErrorOf(error, FailedAssertion) ? error.whole : reasonOf(error)).replace(COLOURS, "")
    : `assert itself ${thrownText(error)} ` +
      "(no AssertionError: look at the test first)";
  return keptText(message);
}

/** The message of an assertion as a trial keeps it. */
export function keptText(message: string): string {
  // Model output must not act as a command in a CI log.
  const text = redact(message).replace(/^(\s*)::/gm, "$1\\::").replaceAll("##[", "#\\#[");
  return printableLines(text, MAX_KEPT_LENGTH);
}

/** An assertion that was used wrongly: its own message says how. */
export class MisusedAssertion extends InputError {
  /** Makes the error from the one that the assertion threw. */
  constructor(error: InputError) {
    const lines = error.message.split("\n").map((line) => line.trim());
    super(`Cannot judge the run${atPlace(error)}: ${lines.join(" ")}`);
  }
}

/** Whether an error, or its class, has a name; of a hostile one nothing can be asked. */
export function isNamed(error: unknown, name: string): boolean {
  return attempt(() =>
    error instanceof Error && (error.name === name || error.constructor.name === name)
  ) ?? false;
}

/** Terminal colour codes. */
// deno-lint-ignore no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;
