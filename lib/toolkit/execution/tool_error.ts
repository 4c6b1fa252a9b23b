/**
 * Tool errors: why a tool gave no result, as one of a few categories that say what can be done about it
 * (Pipeline, "Robust Tool Execution").
 * @module
 */

import { type ReadableHeaders, retryAfterOf } from "../../base/backoff.ts";
import { InputError } from "../../base/errors.ts";
import { isJsonObject, parseJson, printable } from "../../base/json.ts";
import { errorOfResult } from "../../tools/references/symbol_table.ts";

/**
 * Every category of error.
 *
 * - `validation`: the arguments do not fit; the tool did nothing.
 * - `unknown_tool`: there is no tool of that name.
 * - `not_found`: what was asked for does not exist.
 * - `permission`: it is there, and not for this caller.
 * - `rate_limit`: too many calls; later it may work.
 * - `timeout`: no result in time; nobody knows whether it had an effect.
 * - `cancelled`: nobody wants the result any more.
 * - `execution`: anything else that went wrong while it ran.
 */
export const TOOL_ERRORS = [
  "validation",
  "unknown_tool",
  "not_found",
  "permission",
  "rate_limit",
  "timeout",
  "cancelled",
  "execution",
] as const;

/** A category of error. */
export type ToolErrorCategory = typeof TOOL_ERRORS[number];

/** What else is known of a {@linkcode ToolError}. */
export interface ToolErrorOptions extends ErrorOptions {
  /** Milliseconds to wait before it may work. */
  readonly retryAfter?: number;
}

/**
 * What a tool throws to say why it has no result. Anything else that it throws is classified by what
 * can be seen of it: see {@linkcode toToolError}.
 *
 * @example Usage
 * ```ts
 * import { ToolError } from "./tool_error.ts";
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
  /** Milliseconds to wait before it may work, where that is known. */
  readonly retryAfter: number | undefined;

  /**
   * Makes the error. A `retryAfter` that is no number from 0 on says nothing.
   *
   * @throws {InputError} If there is no such category.
   */
  constructor(category: ToolErrorCategory, message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    if (!isCategory(category)) {
      throw new InputError(
        `Cannot make a tool error as its category must be ${TOOL_ERRORS.join(", ")}: it is ` +
          printable(String(category), 100),
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
 * Whatever a tool threw, as an error with a category. The first of these that says something decides,
 * each of them looked for in the error and then in its causes:
 *
 * 1. It is a {@linkcode ToolError}.
 * 2. An HTTP status, as `status`, `statusCode`, `code` or `response.status`: 429 `rate_limit`, 401 and 403
 *    `permission`, 404 and 410 `not_found`, 408 and 504 `timeout`, 400 and 422 `validation`. A 403 that
 *    speaks of a rate limit is one.
 * 3. Its name: `AbortError`, `TimeoutError`, and those of Deno's errors.
 * 4. The system's code, such as `ENOENT` or `ETIMEDOUT`.
 * 5. As the last resort the words of its message, without regard to case, in this order: those of rate
 *    limits, of permissions, of things that do not exist, of invalid arguments, of timeouts. Timeouts
 *    come last as they are retried: a doubtful error is not.
 *
 * All else is `execution`. How long to wait is taken from the headers `retry-after-ms` and `retry-after`
 * of the error or its response, else from words such as `retry after 2 seconds`.
 *
 * @param now Milliseconds since 1970, from which a date is waited for; default the system's time.
 *
 * @example Usage
 * ```ts
 * import { toToolError } from "./tool_error.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const busy = Object.assign(new Error("Try later"), {
 *   status: 429,
 *   headers: new Headers({ "retry-after": "2" }),
 * });
 * const { category, retryAfter } = toToolError(busy);
 * assertEquals([category, retryAfter], ["rate_limit", 2000]);
 * assertEquals(toToolError(new Error("No such file")).category, "not_found");
 * assertEquals(toToolError(new Error("Out of paper")).category, "execution");
 * ```
 */
export function toToolError(thrown: unknown, now: number = Date.now()): ToolError {
  const chain = chainOf(thrown);
  const message = messageOf(thrown);
  const words = isError(thrown) ? message : wordsOf(thrown);
  const waits = [...chain.flatMap((error) => waitsIn(error, now)), waitInWords(words)];
  const retryAfter = waits.find(isWait);
  return new ToolError(categoryIn(chain, words), message, {
    cause: thrown,
    ...(retryAfter === undefined ? {} : { retryAfter }),
  });
}

/**
 * What a tool's result says went wrong, as {@linkcode toToolError} reads it: a result that is a JSON
 * object with the single key `error` is none.
 *
 * @example Usage
 * ```ts
 * import { errorInResult } from "./tool_error.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(errorInResult('{"error":"Too many requests"}')?.category, "rate_limit");
 * assertEquals(errorInResult('{"error":{"status":404}}')?.category, "not_found");
 * assertEquals(errorInResult('{"degrees":21}'), undefined);
 * ```
 */
export function errorInResult(content: string, now?: number): ToolError | undefined {
  const said = errorOfResult(content);
  if (said === undefined) return undefined;
  const value = parseJson(said);
  return toToolError(isJsonObject(value) ? value : said, now);
}

/** Errors have causes, which could go round in a circle. */
const MOST_CAUSES = 8;

/** An error and its causes, the outermost first. */
function chainOf(thrown: unknown): object[] {
  const chain: object[] = [];
  for (let error = thrown; isObject(error) && chain.length < MOST_CAUSES;) {
    chain.push(error);
    error = property(error, "cause");
  }
  return chain;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A property of whatever was thrown: even looking at it may throw. */
function property(value: unknown, key: string, wanted = true): unknown {
  try {
    return wanted && isObject(value) ? Reflect.get(value, key) : undefined;
  } catch {
    return undefined;
  }
}

/** Also one of another copy of this module. */
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

/** What words say: the first that are found decide, so that an invalid API key is one of permission. */
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
  const said = categoryOfWords(words);
  const ways: ((error: object) => ToolErrorCategory | undefined)[] = [
    (error) => isToolError(error) ? property(error, "category") as ToolErrorCategory : undefined,
    (error) => {
      const status = statusesOf(error).find((one) => STATUSES.has(one));
      return status === 403 && said === "rate_limit" ? said : STATUSES.get(status);
    },
    (error) => NAMES.get(property(error, "name")),
    (error) => CODES.get(property(error, "code")),
  ];
  for (const way of ways) {
    for (const error of chain) {
      const category = way(error);
      if (category !== undefined) return category;
    }
  }
  return said ?? "execution";
}

function statusesOf(error: object): unknown[] {
  const own = ["status", "statusCode", "code"].map((key) => property(error, key));
  return [...own, property(property(error, "response"), "status")];
}

/** So much of a message is looked at. */
const LONGEST_READ = 2_000;

function categoryOfWords(text: string): ToolErrorCategory | undefined {
  const low = text.slice(0, LONGEST_READ).toLowerCase();
  return WORDS.find(([, words]) => words.some((word) => low.includes(word)))?.[0];
}

/** Milliseconds that an error, its headers or those of its response ask to wait. */
function waitsIn(error: object, now: number): unknown[] {
  const own = isToolError(error) ? [property(error, "retryAfter")] : [];
  const held = [property(error, "headers"), property(property(error, "response"), "headers")];
  return [...own, ...held.filter(isObject).map((one) => retryAfterOf(readable(one), now))];
}

/** Headers as a map such as `Headers`, or as a plain object, whose names are in any case. */
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
      try {
        const value = get(name);
        return ["string", "number"].includes(typeof value) ? String(value) : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

// Every repetition is bounded: the text is whatever a server sent.
const WAIT_WORDS = new RegExp(
  "(?:retry|again)[ _-]?(?:after|in)[\"']?[ :=]{1,3}" +
    "(\\d{1,9}(?:\\.\\d{1,9})?) ?(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?)?(?! ?[a-z\\d])",
  "i",
);

/** Milliseconds that a message asks to wait; seconds where it does not say what it counts in. */
function waitInWords(text: string): number | undefined {
  const [, amount, unit = "s"] = WAIT_WORDS.exec(text.slice(0, LONGEST_READ)) ?? [];
  if (amount === undefined) return undefined;
  const low = unit.toLowerCase();
  const factor = low === "ms" || low.startsWith("milli") ? 1 : low.startsWith("m") ? 60_000 : 1000;
  return Number(amount) * factor;
}

function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** What stands where an error says nothing of itself. */
const WORDLESS = "It failed, and did not say why";

function messageOf(thrown: unknown): string {
  const message = isObject(thrown) ? property(thrown, "message") : undefined;
  const text = typeof message === "string" ? message : wordsOf(thrown);
  return text.trim() === "" ? WORDLESS : text;
}

/** All that a thrown value which is no error says. */
function wordsOf(thrown: unknown): string {
  try {
    if (!isObject(thrown)) return thrown === undefined ? "" : String(thrown);
    if (isError(thrown)) return "";
    return JSON.stringify(thrown) ?? "";
  } catch {
    return "";
  }
}
