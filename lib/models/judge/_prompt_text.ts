/**
 * Texts of values in the prompts of judges.
 * @module
 */

import { InputError, reasonOf } from "../../base/errors.ts";
import type { JsonValue } from "../../base/json.ts";

/** Characters of a value to judge, at most: longer ones cost too much. */
const MAX_TEXT_LENGTH = 200_000;

// The delimiters of the prompts; ordinary sentences do not contain them.
const DELIMITER = /={4,}/g;

/** The error of a value that no judge can be asked about. */
export class UnfitError extends RangeError {}

/** Returns the text of a value for a prompt. */
export function promptText(value: JsonValue, what: string): string {
  const text: unknown = typeof value === "string" ? value : jsonText(value, what);
  if (typeof text !== "string") throw new TypeError(`the ${what} must be a JSON value`);
  if (text.length > MAX_TEXT_LENGTH) {
    throw new UnfitError(`the ${what} is longer than ${MAX_TEXT_LENGTH} characters`);
  }
  return text.replace(DELIMITER, (run) => [...run].join(" ")).toWellFormed();
}

function jsonText(value: JsonValue, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) throw new UnfitError(`the ${what} nests too deep`);
    throw error;
  }
}

/** Reads a value of the user, and turns its errors into input errors. */
export function asInputError(read: () => string): string {
  try {
    return read();
  } catch (error) {
    throw new InputError(`Cannot ask a judge: ${reasonOf(error)}`);
  }
}
