/**
 * Tool errors: why a tool gave no result, in categories that determine the reaction (Pipeline, "Robust Tool
 * Execution").
 * @module
 */

import { type ReadableHeaders, retryAfterOf } from "../base/attempts.ts";
import { attempt, cannot, isErrorOf } from "../base/errors.ts";
import { isJsonObject, isObject, parseJson } from "../base/json.ts";
import { TOOL_ERRORS, type ToolErrorCategory } from "./error_category.ts";
import { errorOfResult } from "./references/symbol_table.ts";

/** Options of a {@linkcode ToolError}. */
export interface ToolErrorOptions extends ErrorOptions {
  /** Milliseconds to wait before a retry. */
  readonly retryAfter?: number;
}

/**
 * The error to throw in a tool to say why it has no result. Other errors are classified by their properties:
 * see {@linkcode toToolError}.
 *
 * @example Usage
 * ```ts
 * import { ToolError } from "@toolgate/toolgate/toolkit";
 * import { assertEquals } from "@std/assert";
 *
 * const error = new ToolError("rate_limit", "Twice a minute is enough", { retryAfter: 30_000 });
 * assertEquals([error.category, error.retryAfter], ["rate_limit", 30_000]);
 * ```
 */
export class ToolError extends Error {
  /** The name of the class. */
  override name = "ToolError";
  /** The category. */
  readonly category: ToolErrorCategory;
  /** Milliseconds to wait before a retry, if known. */
  readonly retryAfter: number | undefined;

  /**
   * Makes the error. A `retryAfter` that is not a number of at least 0 is ignored.
   *
   * @throws {InputError} If the category is unknown.
   */
  constructor(category: ToolErrorCategory, message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    if (!isCategory(category)) {
      throw cannot(
        "make a tool error",
        `its category must be ${TOOL_ERRORS.join(", ")}`,
        `it is ${category}`,
      );
    }
    const { retryAfter } = options;
    this.category = category;
    this.retryAfter = isWait(retryAfter) ? retryAfter : undefined;
  }
}

function isCategory(value: unknown): value is ToolErrorCategory {
  return (TOOL_ERRORS as readonly unknown[]).includes(value);
}

function isWait(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}

/**
 * Converts anything that a tool threw to an error with a category. The first of these that applies decides,
 * each checked in the error and then in its causes:
 *
 * 1. Being a {@linkcode ToolError}.
 * 2. An HTTP status, as `status`, `statusCode`, `code` or `response.status`: 429 `rate_limit`, 401 and 403
 *    `permission`, 404 and 410 `not_found`, 408 and 504 `timeout`, 400 and 422 `validation`. A 403 whose
 *    message mentions a rate limit is `rate_limit`.
 * 3. Its name: `AbortError`, `TimeoutError`, and those of Deno's errors.
 * 4. The system's code, such as `ENOENT` or `ETIMEDOUT`.
 * 5. As a last resort the words of its message, ignoring case, in this order: those of rate limits,
 *    permissions, missing things, invalid arguments, timeouts. Timeouts come last as they are retried, and
 *    an unclear error should not be.
 *
 * All others are `execution`. The time to wait comes from the headers `retry-after-ms` and `retry-after` of the
 * error or its response, or from words such as `retry after 2 seconds`.
 *
 * @param now Milliseconds since 1970, from which the wait until a date is counted. Default: the system's time.
 */
export function toToolError(thrown: unknown, now: number = Date.now()): ToolError {
  const chain = errorChain(thrown);
  const message = thrownMessage(thrown);
  const words = isErrorOf(thrown, Error) ? message : thrownText(thrown);
  const waits = [...chain.flatMap((error) => waitsIn(error, now)), waitInWords(words)];
  const retryAfter = waits.find(isWait);
  return new ToolError(categoryIn(chain, words), message, { cause: thrown, retryAfter });
}

/**
 * The error in a tool's result, as {@linkcode toToolError} classifies it: that of a JSON object with the
 * single key `error`. Returns `undefined` for any other result.
 */
export function errorInResult(content: string, now?: number): ToolError | undefined {
  const errorText = errorOfResult(content);
  if (errorText === undefined) return undefined;
  const value = parseJson(errorText);
  return toToolError(isJsonObject(value) ? value : errorText, now);
}

/** A limit, as causes of errors may be circular. */
const MAX_CAUSES = 8;

/** An error and its causes, the outermost first. */
function errorChain(thrown: unknown): object[] {
  const chain: object[] = [];
  for (let error = thrown; isObject(error) && chain.length < MAX_CAUSES;) {
    chain.push(error);
    error = property(error, "cause");
  }
  return chain;
}

/** A property of a thrown value; `undefined` if reading it throws. */
function property(value: unknown, key: string, isWanted = true): unknown {
  return attempt(() => isWanted && isObject(value) ? Reflect.get(value, key) : undefined);
}

/** Whether an error is a `ToolError`, even of another copy of this module. */
function isToolError(error: object): boolean {
  return property(error, "name") === "ToolError" && isCategory(property(error, "category"));
}

const STATUSES: ReadonlyMap<unknown, ToolErrorCategory> = new Map<unknown, ToolErrorCategory>([
  [400, "validation"],
  [401, "permission"],
  [403, "permission"],
  [404, "not_found"],
  [408, "timeout"],
  [410, "not_found"],
  [422, "validation"],
  [429, "rate_limit"],
  [504, "timeout"],
]);

const NAMES: ReadonlyMap<unknown, ToolErrorCategory> = new Map<unknown, ToolErrorCategory>([
  ["AbortError", "cancelled"],
  ["TimeoutError", "timeout"],
  ["NotFoundError", "not_found"],
  ["TimedOut", "timeout"],
  ["NotFound", "not_found"],
  ["PermissionDenied", "permission"],
  ["NotCapable", "permission"],
]);

const CODES: ReadonlyMap<unknown, ToolErrorCategory> = new Map<unknown, ToolErrorCategory>([
  ["ENOENT", "not_found"],
  ["EACCES", "permission"],
  ["EPERM", "permission"],
  ["ETIMEDOUT", "timeout"],
]);

/** Words of messages by category. The first match decides, so that an invalid API key means `permission`. */
const WORDS: readonly (readonly [ToolErrorCategory, readonly string[]])[] = [
  ["rate_limit", [
    "rate limit",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "throttl",
    "quota",
  ]],
  ["permission", [
    "permission",
    "forbidden",
    "unauthori",
    "not authori",
    "not permitted",
    "access denied",
    "authentication",
    "credential",
    "api key",
  ]],
  ["not_found", [
    "not found",
    "not_found",
    "notfound",
    "no such",
    "does not exist",
    "doesn't exist",
  ]],
  ["validation", [
    "invalid",
    "validation",
    "not valid",
    "not conform",
    "must be",
    "is required",
    "missing required",
    "bad request",
  ]],
  ["timeout", ["timed out", "timeout", "time-out", "deadline exceeded"]],
];

function categoryIn(chain: readonly object[], words: string): ToolErrorCategory {
  const wordCategory = categoryOfWords(words);
  const detectors: ((error: object) => ToolErrorCategory | undefined)[] = [
    (error) => isToolError(error) ? property(error, "category") as ToolErrorCategory : undefined,
    (error) => {
      const status = statusesOf(error).find((one) => STATUSES.has(one));
      return status === 403 && wordCategory === "rate_limit" ? wordCategory : STATUSES.get(status);
    },
    (error) => NAMES.get(property(error, "name")),
    (error) => CODES.get(property(error, "code")),
  ];
  for (const detect of detectors) {
    for (const error of chain) {
      const category = detect(error);
      if (category !== undefined) return category;
    }
  }
  return wordCategory ?? "execution";
}

function statusesOf(error: object): unknown[] {
  const flat = ["status", "statusCode", "code"].map((key) => property(error, key));
  return [...flat, property(property(error, "response"), "status")];
}

/** Only so much of a message is searched. */
const MAX_READ_LENGTH = 2_000;

function categoryOfWords(text: string): ToolErrorCategory | undefined {
  const low = text.slice(0, MAX_READ_LENGTH).toLowerCase();
  return WORDS.find(([, words]) => words.some((word) => low.includes(word)))?.[0];
}

/** The waits in milliseconds that an error, its headers or those of its response ask for. */
function waitsIn(error: object, now: number): unknown[] {
  const waits = isToolError(error) ? [property(error, "retryAfter")] : [];
  const headers = [property(error, "headers"), property(property(error, "response"), "headers")];
  return [...waits, ...headers.filter(isObject).map((one) => retryAfterOf(readable(one), now))];
}

/** Reads headers from a map such as `Headers`, or from a plain object with names in any case. */
function readable(headers: object): ReadableHeaders {
  const get = (name: string): unknown => {
    if (typeof property(headers, "get") === "function") {
      return (headers as { get(name: string): unknown }).get(name);
    }
    const key = Object.keys(headers).find((one) => one.toLowerCase() === name);
    return key === undefined ? undefined : property(headers, key);
  };
  return {
    get(name) {
      const value = attempt(() => get(name));
      return ["string", "number"].includes(typeof value) ? String(value) : undefined;
    },
  };
}

// Every repetition is bounded, as the text comes from a server.
const WAIT_WORDS = new RegExp(
  "(?:retry|again)[ _-]?(?:after|in)[\"']?[ :=]{1,3}" +
    "(\\d{1,9}(?:\\.\\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)?(?! ?[a-z\\d])",
  "i",
);

/** The wait in milliseconds that a message asks for; numbers without a unit are seconds. */
function waitInWords(text: string): number | undefined {
  const [, amount, unit = "s"] = WAIT_WORDS.exec(text.slice(0, MAX_READ_LENGTH)) ?? [];
  if (amount === undefined) return undefined;
  const low = unit.toLowerCase();
  const factor = low === "ms" || low.startsWith("milli") ? 1 : low.startsWith("m") ? 60_000 : 1000;
  return Number(amount) * factor;
}

/** The message of errors without one. */
const NO_REASON = "It failed, and did not say why";

function thrownMessage(thrown: unknown): string {
  const message = isObject(thrown) ? property(thrown, "message") : undefined;
  const text = typeof message === "string" ? message : thrownText(thrown);
  return text.trim() === "" ? NO_REASON : text;
}

/** The text of a thrown value that is not an error. */
function thrownText(thrown: unknown): string {
  try {
    if (!isObject(thrown)) return thrown === undefined ? "" : String(thrown);
    if (isErrorOf(thrown, Error)) return "";
    return JSON.stringify(thrown) ?? "";
  } catch {
    return "";
  }
}
