import { assert, assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { TOOL_ERRORS, type ToolErrorCategory } from "../../lib/tools/error_category.ts";
import { errorInResult, ToolError, toToolError } from "../../lib/tools/tool_error.ts";
import fc from "../support/fast_check.ts";

function categoryOf(thrown: unknown): ToolErrorCategory {
  return toToolError(thrown).category;
}

function error(message: string, more: object = {}): Error {
  return Object.assign(new Error(message), more);
}

function named(name: string, message = ""): Error {
  return error(message, { name });
}

Deno.test("ToolError says its category, and how long to wait if that is a time", () => {
  for (const category of TOOL_ERRORS) {
    const made = new ToolError(category, "Why", { cause: 1, retryAfter: 5 });
    assertInstanceOf(made, Error);
    assertEquals(
      [made.name, made.category, made.message, made.cause, made.retryAfter],
      ["ToolError", category, "Why", 1, 5],
    );
  }
  const waits = [undefined, -1, NaN, Infinity, 0].map((retryAfter) =>
    new ToolError("rate_limit", "", { ...(retryAfter === undefined ? {} : { retryAfter }) })
      .retryAfter
  );
  assertEquals(waits, [undefined, undefined, undefined, Infinity, 0]);
  assertThrows(
    () => new ToolError("busy" as ToolErrorCategory, ""),
    InputError,
    "Cannot make a tool error as its category must be validation, unknown_tool, not_found, permission, " +
      "rate_limit, timeout, cancelled, malformed_return, execution: it is busy",
  );
});

Deno.test("toToolError() takes a tool's own word, also from within and from another copy of the class", () => {
  for (const category of TOOL_ERRORS) {
    // Everything else about it says something different.
    const own = Object.assign(new ToolError(category, "Not found", { retryAfter: 7 }), {
      status: 429,
    });
    for (
      const thrown of [
        own,
        error("permission denied", { status: 401, cause: own }),
        error("x", { cause: error("y", { cause: own }) }),
        error("", { name: "ToolError", category, retryAfter: 7 }),
        { name: "ToolError", category, retryAfter: 7 },
      ]
    ) {
      const { category: found, retryAfter } = toToolError(thrown);
      assertEquals([found, retryAfter], [category, 7]);
    }
  }
  assertEquals(categoryOf(error("", { name: "ToolError", category: "busy" })), "execution");
});

Deno.test("toToolError() reads an HTTP status wherever libraries keep it", () => {
  const table: [number, ToolErrorCategory][] = [
    [400, "validation"],
    [401, "permission"],
    [403, "permission"],
    [404, "not_found"],
    [408, "timeout"],
    [410, "not_found"],
    [422, "validation"],
    [429, "rate_limit"],
    [504, "timeout"],
    [200, "execution"],
    [409, "execution"],
    [500, "execution"],
    [503, "execution"],
  ];
  for (const [status, category] of table) {
    for (
      const thrown of [
        error("x", { status }),
        error("x", { statusCode: status }),
        error("x", { code: status }),
        error("x", { response: { status } }),
        error("x", { status: 500, response: { status } }),
        error("x", { cause: { status } }),
        { status },
      ]
    ) assertEquals(categoryOf(thrown), category, `${status}`);
    assertEquals(categoryOf(error("x", { status: String(status) })), "execution");
  }
  // A status counts for more than name and words.
  assertEquals(categoryOf(error("timeout", { status: 404, name: "AbortError" })), "not_found");
  // Some servers say "forbidden" to anyone who comes too often.
  assertEquals(categoryOf(error("API rate limit exceeded", { status: 403 })), "rate_limit");
  assertEquals(categoryOf(error("API rate limit exceeded", { status: 404 })), "not_found");
});

Deno.test("toToolError() knows names and codes of errors", () => {
  const table: [unknown, ToolErrorCategory][] = [
    [new DOMException("invalid", "AbortError"), "cancelled"],
    [AbortSignal.abort().reason, "cancelled"],
    [new DOMException("", "TimeoutError"), "timeout"],
    [new DOMException("", "NotFoundError"), "not_found"],
    [new Deno.errors.NotFound("timeout"), "not_found"],
    [new Deno.errors.PermissionDenied("not found"), "permission"],
    [new Deno.errors.NotCapable("Requires net access"), "permission"],
    [new Deno.errors.TimedOut("permission"), "timeout"],
    [new Deno.errors.ConnectionRefused("os error 111"), "execution"],
    [named("TimeoutError", "not found"), "timeout"],
    [error("x", { code: "ENOENT" }), "not_found"],
    [error("x", { code: "EACCES" }), "permission"],
    [error("x", { code: "EPERM" }), "permission"],
    [error("x", { code: "ETIMEDOUT" }), "timeout"],
    [error("fetch failed", { cause: error("", { code: "ETIMEDOUT" }) }), "timeout"],
    [error("x", { code: "ECONNRESET" }), "execution"],
    // A name counts for more than a code, and both for more than words.
    [error("rate limit", { name: "TimeoutError", code: "ENOENT" }), "timeout"],
    [error("rate limit", { code: "ENOENT" }), "not_found"],
  ];
  for (const [thrown, category] of table) assertEquals(categoryOf(thrown), category, `${thrown}`);
});

Deno.test("toToolError() reads words as the last resort, in the order that is stated (Pipeline, Robust Tool Execution)", () => {
  const table: [string, ToolErrorCategory][] = [
    ["Rate limit exceeded", "rate_limit"],
    ["RATE_LIMIT_EXCEEDED", "rate_limit"],
    ["Too Many Requests", "rate_limit"],
    ["ThrottlingException: slow down", "rate_limit"],
    ["You exceeded your current quota", "rate_limit"],
    ["Permission denied", "permission"],
    ["403 Forbidden", "permission"],
    ["Unauthorised", "permission"],
    ["You are not authorized", "permission"],
    ["Access denied", "permission"],
    ["Invalid API key", "permission"],
    ["invalid credentials: not found", "permission"],
    ["Order 7 not found", "not_found"],
    ["There is no such order", "not_found"],
    ["It does not exist", "not_found"],
    ["Invalid date", "validation"],
    ["The arguments do not conform: x", "validation"],
    ["count must be positive", "validation"],
    ["city is required", "validation"],
    ["Request timed out.", "timeout"],
    ["Gateway Timeout", "timeout"],
    ["deadline exceeded", "timeout"],
    // Several at once.
    ["Too many requests: forbidden, not found, invalid, timeout", "rate_limit"],
    ["forbidden, not found, invalid, timeout", "permission"],
    ["not found, invalid, timeout", "not_found"],
    ["timeout must be a number", "validation"],
    // None of them.
    ["Out of paper", "execution"],
    ["unknown error", "execution"],
    ["", "execution"],
  ];
  for (const [words, category] of table) {
    assertEquals(categoryOf(new Error(words)), category, words);
    assertEquals(categoryOf(words), category, words);
    assertEquals(errorInResult(JSON.stringify({ error: words }))?.category, category, words);
  }
  assertEquals(categoryOf(new Error("x".repeat(2000) + "not found")), "execution");
});

Deno.test("toToolError() finds how long to wait in headers and words", () => {
  const now = Date.UTC(2026, 0, 1);
  const table: [unknown, number | undefined][] = [
    [error("x", { headers: new Headers({ "retry-after": "2" }) }), 2000],
    [error("x", { headers: new Map([["retry-after", "2"]]) }), 2000],
    [error("x", { headers: { "Retry-After": "2" } }), 2000],
    [error("x", { headers: { "retry-after": 2 } }), 2000],
    [error("x", { response: { headers: { "retry-after-ms": "15" } } }), 15],
    [error("x", { cause: { headers: { "retry-after": "4" } } }), 4000],
    [error("x", { headers: { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" } }), 30_000],
    [error("Retry after 9 seconds", { headers: { "retry-after": "4" } }), 4000],
    [error("x", { headers: null }), undefined],
    [error("x", { headers: "retry-after: 5" }), undefined],
    [error("x", { retryAfter: 5 }), undefined],
    ["Retry after 2 seconds.", 2000],
    ["retry after 1.5s", 1500],
    ["Please try again in 20s", 20_000],
    ["try again in 300ms.", 300],
    ["Try again in 2 minutes", 120_000],
    ["Retry-After: 7", 7000],
    ["Retry in 3", 3000],
    [{ retry_after: 5 }, 5000],
    [{ retryAfter: 5 }, 5000],
    ["Retry after two seconds", undefined],
    ["try again in 5 days", undefined],
    ["try again in 6m0s", undefined],
    ["again 5", undefined],
    ["", undefined],
  ];
  for (const [thrown, expected] of table) {
    assertEquals(toToolError(thrown, now).retryAfter, expected, JSON.stringify(thrown));
  }
});

Deno.test("toToolError() keeps the message, and what was thrown", () => {
  const WORDLESS = "It failed, and did not say why";
  const table: [unknown, string][] = [
    [new Error("Why"), "Why"],
    ["Why", "Why"],
    [{ message: "Why", code: 5 }, "Why"],
    [{ reason: "Why" }, '{"reason":"Why"}'],
    [7, "7"],
    [null, "null"],
    [Symbol("why"), "Symbol(why)"],
    [new Error(""), WORDLESS],
    [error("x", { message: 7 }), WORDLESS],
    ["  ", WORDLESS],
    [undefined, WORDLESS],
    [Object.create(null), "{}"],
  ];
  for (const [thrown, expected] of table) {
    const { message, cause } = toToolError(thrown);
    assertEquals(message, expected);
    assert(Object.is(cause, thrown));
  }
});

Deno.test("toToolError() survives whatever is thrown", () => {
  const circle: { cause?: unknown } = {};
  circle.cause = circle;
  const trap = () => {
    throw new Error("trap");
  };
  const trapped = new Proxy(new Error("x"), { get: trap, has: trap, getPrototypeOf: () => null });
  const sealed = new Proxy(new Error("x"), { get: trap, has: trap, getPrototypeOf: trap });
  const headers = { get: trap };
  let deep: unknown = [];
  for (let level = 0; level < 10_000; level++) deep = [deep];
  for (
    const thrown of [circle, trapped, sealed, 5n, () => {}, deep, error("x", { headers }), {
      big: 5n,
    }]
  ) {
    assertEquals(categoryOf(thrown), "execution");
  }
  fc.assert(fc.property(fc.anything({ withNullPrototype: true }), (thrown) => {
    assert(TOOL_ERRORS.includes(categoryOf(thrown)));
  }));
});

Deno.test("errorInResult() finds errors only where the convention has them", () => {
  const table: [string, ToolErrorCategory | undefined][] = [
    ['{"error":"Not found"}', "not_found"],
    ['{"error":{"status":429,"message":"Wait"}}', "rate_limit"],
    ['{"error":{"code":404}}', "not_found"],
    ['{"error":{"type":"rate_limit_exceeded","message":"Slower"}}', "rate_limit"],
    ['{"error":{"name":"ToolError","category":"permission"}}', "permission"],
    ['{"error":null}', "execution"],
    ['{"error":"Not found","status":404}', undefined],
    ['{"errors":"Not found"}', undefined],
    ['["error"]', undefined],
    ["Not found", undefined],
    ["", undefined],
    ["{}", undefined],
    ['{"__proto__":{"error":"Not found"}}', undefined],
  ];
  for (const [content, category] of table) {
    assertEquals(errorInResult(content)?.category, category, content);
  }
  assertEquals(errorInResult('{"error":{"status":429,"message":"Wait"}}')?.message, "Wait");
});

Deno.test("toToolError() takes time by the length of what is said, and no more", () => {
  const hostile = "retry after " + "9".repeat(500_000) + "again in ".repeat(50_000);
  assertEquals(toToolError(hostile).retryAfter, undefined);
  assertEquals(categoryOf(new Error("rate ".repeat(200_000))), "execution");
});
