import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import { InfrastructureError, type Model, type ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { ToolError } from "../../../lib/tools/tool_error.ts";
import type { Execution, ToolExecutorOptions } from "../../../lib/toolkit/execution/options.ts";
import { createToolExecutor, type ToolExecutor } from "../../../lib/toolkit/execution/executor.ts";
import { listened } from "../../support/strategy_runs.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** What a tool does when it is called: gives a text, or throws. */
type Part = string | Error | ((input: JsonObject, signal: AbortSignal) => Promise<string>);

interface Double extends Tool {
  /** What it was called with. */
  readonly inputs: JsonObject[];
}

/** A tool that takes `{ city: string }`, and plays its parts in turn, the last again and again. */
function double(name: string, ...parts: readonly Part[]): Double {
  const inputs: JsonObject[] = [];
  const execute = async (input: JsonObject, options?: { signal?: AbortSignal }) => {
    inputs.push(structuredClone(input));
    const part = parts[Math.min(inputs.length, parts.length) - 1]!;
    if (part instanceof Error) throw part;
    return typeof part === "string" ? part : await part(input, options!.signal!);
  };
  const parameters = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  return { name, description: `Does ${name}`, parameters, execute, inputs };
}

/** A list that holds itself, which JSON cannot write. */
const CYCLE: unknown[] = [];
CYCLE.push(CYCLE);
const ROME = { name: "search", arguments: { city: "Rome" } };
const BUSY = new ToolError("rate_limit", "Slower");
const SLOW = new ToolError("timeout", "Too late");
const LOST = new ToolError("not_found", "No such city");

/** A model that says something, and what it was asked. */
function listening(...script: ScriptedReply[]): { model: Model; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return { model: listened(scripted("mender", script), requests), requests };
}

/** Attempts in short: what made them, the tool, and how it went. */
function course({ attempts }: Execution): string[] {
  return attempts.map(({ by, tool, category = "ok", gaveUp }) =>
    `${by === undefined ? "" : `${by}: `}${tool} ${category}` +
    (gaveUp === undefined ? "" : `: ${gaveUp}`)
  );
}

/** The pauses between attempts. */
function pausesOf({ attempts }: Execution): number[] {
  return attempts.slice(1).map(({ startedAt }, place) => {
    const before = attempts[place]!;
    return Date.parse(startedAt) - Date.parse(before.startedAt) - before.durationMs;
  });
}

/** An executor of which no time passes but the clock's. */
function executorOf(
  tools: readonly Tool[],
  options: ToolExecutorOptions = {},
): { executor: ToolExecutor; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { executor: createToolExecutor(tools, { clock, seed: 1, ...options }), clock };
}

/** What came of a call of a tool. */
async function executed(
  tools: readonly Tool[],
  options: ToolExecutorOptions = {},
  call: { name: string; arguments: JsonObject | string } = ROME,
): Promise<Execution> {
  const { executor, clock } = executorOf(tools, options);
  using _ = clock;
  return await executor.execute(call);
}

// What comes back

Deno.test("createToolExecutor() gives what a tool returns, and how it went", async () => {
  const search = double("search", async () => {
    await clock.pause(120);
    return '{"found":[1,2]}';
  });
  const { executor, clock } = executorOf([search]);
  const execution = await executor.execute(ROME);
  assertEquals(JSON.parse(JSON.stringify(execution)), {
    ok: true,
    tool: "search",
    content: '{"found":[1,2]}',
    value: { found: [1, 2] },
    attempts: [{
      ok: true,
      tool: "search",
      arguments: '{"city":"Rome"}',
      startedAt: "1970-01-01T00:00:00.000Z",
      durationMs: 120,
      ran: true,
    }],
    usage: { inputTokens: 0, outputTokens: 0 },
  });
  assertEquals(clock.waiting, 0, "no timer is left behind");
});

Deno.test("createToolExecutor() takes arguments as text, and results that are no text", async () => {
  const search = double("search", "Rain");
  const execution = await executed([search], {}, { name: "search", arguments: '{"city":"Oslo"}' });
  assert(execution.ok);
  assertEquals([execution.content, execution.value], ["Rain", "Rain"]);
  assertEquals(search.inputs, [{ city: "Oslo" }]);
  for (const [returned, content] of [[{ a: 1 }, '{"a":1}'], [undefined, "null"], [7, "7"]]) {
    const odd = double("search", () => Promise.resolve(returned as string));
    assertEquals((await executed([odd])).content, content);
  }
  const impossible = double("search", () => Promise.resolve(CYCLE as unknown as string));
  const failed = await executed([impossible]);
  assert(!failed.ok && failed.error.category === "execution");
});

Deno.test("createToolExecutor() tells an error as JSON with one key, in one line, short, without secrets", async () => {
  const wordy = new Error(
    `Line 1\nAuthorization: Bearer abc.def.ghi \u001b[31m ${"x".repeat(5000)}`,
  );
  for (const part of [wordy, JSON.stringify({ error: wordy.message })]) {
    const execution = await executed([double("search", part)]);
    assert(!execution.ok);
    const { error, content, attempts } = execution;
    assertEquals(JSON.parse(content), { error: error.message });
    assertStringIncludes(
      error.message,
      "Line 1\\nAuthorization: Bearer [redacted] \\u001b[31m xxx",
    );
    assertEquals(error.message.length, 1000);
    assert(!JSON.stringify(execution).includes("abc.def"));
    assertEquals(attempts.map(({ message }) => message), [error.message]);
  }
});

// Validation

Deno.test("createToolExecutor() never runs a tool on wrong arguments (Butterfly 6.1)", async () => {
  const table: [unknown, RegExp][] = [
    [{}, /city/],
    [{ city: 7 }, /city must be string/],
    [{ city: "Rome", more: 1 }, /more/],
    ["no JSON", /must be a JSON object/],
    ["[]", /must be a JSON object/],
    ["", /must be a JSON object/],
    [undefined, /must be a JSON object/],
    [{ city: CYCLE }, /must be a JSON object/],
    [{ city: 5n }, /city must be string/],
    ['{"__proto__":{"city":"Rome"}}', /city/],
    ["[".repeat(10_000) + "]".repeat(10_000), /must be a JSON object/],
    ['{"city":' + "[".repeat(10_000) + "]".repeat(10_000) + "}", /city|nest/],
  ];
  for (const [written, rule] of table) {
    const search = double("search", "ok");
    const call = { name: "search", arguments: written as string };
    const execution = await executed([search], { alternatives: { search: "search" } }, call);
    assert(!execution.ok);
    assertMatch(execution.error.message, rule);
    assertEquals([execution.error.category, search.inputs], ["validation", []]);
    assertEquals(execution.attempts.map(({ ran }) => ran), [false]);
    assertEquals(course(execution), ["search validation"]);
  }
});

Deno.test("createToolExecutor() asks the tool's own check too", async () => {
  const fault = { missing: [], unexpected: [], wrongType: [], malformed: false };
  const check = ({ city }: JsonObject) =>
    city === "Atlantis" ? { error: "It has sunk", fault } : undefined;
  const search = { ...double("search", "ok"), check };
  const sunk = await executed([search], {}, { name: "search", arguments: { city: "Atlantis" } });
  assertEquals([sunk.content, search.inputs], ['{"error":"It has sunk"}', []]);
  assertEquals((await executed([search])).content, "ok");
});

Deno.test("createToolExecutor() hands each attempt arguments of its own", async () => {
  const search = double("search", (input) => {
    input["city"] = "Oslo";
    return Promise.reject(BUSY);
  }, "ok");
  const given = { city: "Rome" };
  await executed([search], {}, { name: "search", arguments: given });
  assertEquals([given, search.inputs], [{ city: "Rome" }, [{ city: "Rome" }, { city: "Rome" }]]);
});

Deno.test("createToolExecutor() survives calls that are none", async () => {
  for (const call of [null, 7, "search", {}, { name: {} }, { name: 5n, arguments: 5n }]) {
    const execution = await executed([double("search", "ok")], {}, call as unknown as typeof ROME);
    assertEquals(execution.ok || execution.error.category, "unknown_tool");
  }
});

// Retries

Deno.test("createToolExecutor() retries rate limits and timeouts, and nothing else (Pipeline, Robust Tool Execution)", async () => {
  const table: [Part, number][] = [
    [BUSY, 2],
    [SLOW, 2],
    ['{"error":"Too many requests"}', 2],
    [Object.assign(new Error("x"), { status: 429 }), 2],
    [new DOMException("", "TimeoutError"), 2],
    [new Error("Out of paper"), 1],
    [new ToolError("execution", "timeout"), 1],
    [new ToolError("permission", "rate limit"), 1],
    [new ToolError("cancelled", "rate limit"), 1],
    [new ToolError("unknown_tool", "rate limit"), 1],
    [new ToolError("validation", "rate limit"), 1],
    [LOST, 1],
  ];
  for (const [part, runs] of table) {
    const search = double("search", part, "ok");
    const execution = await executed([search]);
    assertEquals([search.inputs.length, execution.ok], [runs, runs === 2], String(part));
  }
});

Deno.test("createToolExecutor() pauses longer each time, with jitter that follows from the seed (Pipeline, Robust Tool Execution)", async () => {
  const run = (seed: number) => executed([double("search", BUSY)], { backoff: 1000, seed });
  const execution = await run(7);
  const pauses = pausesOf(execution);
  assertEquals(pauses.length, 3);
  for (const [place, pause] of pauses.entries()) {
    const whole = 1000 * 2 ** place;
    assert(pause >= whole / 2 && pause <= whole, `${pause} of ${whole}`);
  }
  assertEquals(pausesOf(await run(7)), pauses);
  assertNotEquals(pausesOf(await run(8)), pauses);
});

Deno.test("createToolExecutor() draws anew for each execution", async () => {
  const { executor, clock } = executorOf([double("search", BUSY)], { retries: 1 });
  const executions = await Promise.all(Array.from({ length: 4 }, () => executor.execute(ROME)));
  assertEquals(new Set(executions.map((one) => pausesOf(one)[0])).size > 1, true);
  assertEquals(clock.waiting, 0);
});

Deno.test("createToolExecutor() waits as long as a tool asks, within its bounds", async () => {
  const asking = (retryAfter: number) =>
    double("search", new ToolError("rate_limit", "Slower", { retryAfter }), "ok");
  const waited = await executed([asking(30_000)]);
  assertEquals(course(waited), ["search rate_limit", "retry: search ok"]);
  assertEquals(pausesOf(waited), [30_000]);
  assertEquals(course(await executed([asking(60_000)])).length, 2);
  assertEquals(course(await executed([asking(60_001)])), ["search rate_limit"]);
  assertEquals(course(await executed([asking(Infinity)])).length, 1);
  assertEquals(course(await executed([asking(90_000)], { longestPause: 90_000 })).length, 2);
  assertEquals(course(await executed([asking(5000)], { timeLimit: 5000 })), ["search rate_limit"]);
  // The longest pause bounds the backoff as well, and a longer backoff is not cut by a shorter wish.
  const short = await executed([double("search", BUSY, "ok")], { longestPause: 3 });
  assertEquals(pausesOf(short), [3]);
  const [first] = pausesOf(await executed([asking(1)], { backoff: 4000 }));
  assert(first! >= 2000);
});

Deno.test("createToolExecutor() ends an attempt that takes too long, and leaves it behind", async () => {
  const signals: AbortSignal[] = [];
  const hang: Part = (_, signal) => {
    signals.push(signal);
    return clock.pause(200_000).then(() => Promise.reject(new Error("much too late")));
  };
  const search = double("search", hang, "ok");
  const { executor, clock } = executorOf([search], { timeout: 1000, backoff: 0 });
  const execution = await executor.execute(ROME);
  assertEquals(course(execution), ["search timeout", "retry: search ok"]);
  assertEquals(execution.attempts.map(({ durationMs, ran }) => [durationMs, ran]), [
    [1000, true],
    [0, true],
  ]);
  const [attempt] = execution.attempts;
  assertEquals(attempt!.message, "No result came within 1000 ms");
  assertEquals(signals.map(({ aborted }) => aborted), [true]);
  // What comes of it in the end is of no account.
  await clock.pause(300_000);
});

Deno.test("createToolExecutor() ends with its time limit, whatever it is doing", async () => {
  const hang: Part = () => new Promise(() => {});
  using clock = new VirtualClock();
  const limited = (parts: Part[], options: ToolExecutorOptions) =>
    createToolExecutor([double("search", ...parts)], { clock, seed: 1, backoff: 0, ...options })
      .execute(ROME);
  const started = clock.now();
  assertEquals(course(await limited([hang], { timeout: 1000, timeLimit: 2500 })), [
    "search timeout",
    "retry: search timeout",
    "retry: search timeout",
  ]);
  assertEquals(clock.now() - started, 2500);
  const never = scripted("never", () => new Promise(() => {}));
  const refused = '{"error":"Invalid city"}';
  const mending = await limited([refused], { timeLimit: 700, repair: { model: never } });
  assertEquals(course(mending), [
    "search validation: The 700 ms for the whole call are over",
  ]);
  const naming = await limited([LOST], {
    timeLimit: 700,
    alternatives: () => new Promise(() => {}),
  });
  assertEquals(course(naming), ["search not_found: The 700 ms for the whole call are over"]);
  assertEquals(clock.now() - started, 2500 + 700 + 700);
});

Deno.test("createToolExecutor() has patience by default, but not for ever", async () => {
  const hang: Part = () => new Promise(() => {});
  const { executor, clock } = executorOf([double("search", hang)]);
  const execution = await executor.execute(ROME);
  assertEquals(execution.attempts.map(({ durationMs }) => durationMs), Array(4).fill(60_000));
  const [first] = pausesOf(execution);
  assert(first! >= 500 && first! <= 1000);
  const started = clock.now();
  const { executor: stubborn } = executorOf([double("search", hang)], { retries: 99, clock });
  const last = (await stubborn.execute(ROME)).attempts.at(-1)!;
  assertEquals(clock.now() - started, 300_000);
  assertEquals(last.message, "No result came in the 300000 ms that there are for the whole call");
});

Deno.test("createToolExecutor() runs no tool when its time is over", async () => {
  let now = 0;
  const clock = {
    now: () => now,
    pause: () => new Promise<never>(() => {}),
    after: () => () => {},
  };
  // A program that does not let time pass by turns: no timer could have ended it.
  const model = scripted("busy", () => {
    now += 1000;
    return MENDED;
  });
  const search = double("search", "ok");
  const { executor } = executorOf([search], { clock, timeLimit: 900, repair: { model } });
  const execution = await executor.execute({ name: "search", arguments: {} });
  assertEquals(course(execution), [
    "search validation",
    "repair: search timeout",
  ]);
  assertEquals([search.inputs, execution.attempts.map(({ ran }) => ran)], [[], [false, false]]);
});

// Repair

const MENDED: ScriptedReply = { text: '{"city":"Oslo"}' };
const USAGE = { inputTokens: 5, outputTokens: 3 };

Deno.test("createToolExecutor() lets a model give other arguments where these do not conform (Butterfly 6.1; Pipeline, Robust Tool Execution)", async () => {
  const { model, requests } = listening({ ...MENDED, usage: USAGE });
  const search = double("search", "ok");
  const { executor, clock } = executorOf([search, double("other", "no")], { repair: { model } });
  const messages = [{ role: "user", content: "How is Oslo?" }] as const;
  const call = { name: "search", arguments: '{"town":"Oslo"}', id: "1" };
  const execution = await executor.execute(call, { messages });
  assertEquals(clock.waiting, 0);
  assertEquals(course(execution), ["search validation", "repair: search ok"]);
  assertEquals(execution.attempts.map((one) => [one.arguments, one.ran]), [
    ['{"town":"Oslo"}', false],
    ['{"city":"Oslo"}', true],
  ]);
  assertEquals([search.inputs, execution.usage], [[{ city: "Oslo" }], USAGE]);
  const [request, ...others] = requests;
  assertEquals(others, []);
  assertEquals(request!.messages.map(({ role }) => role), ["user", "assistant", "user"]);
  assertEquals(request!.messages[1]!.content, 'search({"town":"Oslo"})');
  assertStringIncludes(request!.messages[2]!.content, PROMPTS.repair.fix.slice(0, 40));
  assertStringIncludes(
    request!.messages[2]!.content,
    "Schema: " + JSON.stringify(search.parameters),
  );
  assertEquals(request!.tools.map(({ name }) => name), ["search"]);
  assertEquals(request!.context, { trial: "", repetition: 1, request: 1, stage: "repair" });
});

Deno.test("createToolExecutor() lets a model mend what the tool itself refuses, if it changes something (Pipeline, Robust Tool Execution)", async () => {
  const refused = new ToolError("validation", "There are several Romes");
  const { model, requests } = listening({ text: '{ "city": "Rome" }' }, MENDED);
  const search = double("search", refused, "ok");
  const execution = await executed([search], { repair: { model } });
  assertEquals(course(execution), ["search validation", "repair: search ok"]);
  assertEquals(search.inputs, [{ city: "Rome" }, { city: "Oslo" }]);
  for (const { messages } of requests) {
    assertStringIncludes(messages.at(-1)!.content, "Errors: There are several Romes\n");
  }
});

Deno.test("createToolExecutor() takes arguments in another order for the same", async () => {
  const model = scripted("mender", [{ text: '{"b":2,"a":1}' }, { text: '{"a":1,"b":3}' }]);
  const search = {
    ...double("search", new ToolError("validation", "No"), "ok"),
    parameters: { type: "object" },
  };
  const call = { name: "search", arguments: { a: 1, b: 2 } };
  const execution = await executed([search], { repair: { model } }, call);
  assertEquals(course(execution), ["search validation", "repair: search ok"]);
});

Deno.test("createToolExecutor() tells a model no secrets", async () => {
  const { model, requests } = listening(MENDED);
  const refused = new ToolError("validation", "No: Bearer abc.def.ghi");
  await executed([double("search", refused)], { repair: { model } });
  assert(requests.length > 0 && !JSON.stringify(requests).includes("abc.def"));
});

Deno.test("createToolExecutor() says so when the model that repairs fails", async () => {
  const fail = (error: unknown): Model => ({
    ...scripted("x", [{}]),
    reply: () => Promise.reject(error),
  });
  const call = { name: "search", arguments: "{}" };
  const broken = fail(new InfrastructureError("Cannot reach it with Bearer abc.def"));
  const execution = await executed([double("search", "ok")], { repair: { model: broken } }, call);
  assertEquals(course(execution), [
    "search validation: Cannot reach it with Bearer [redacted]",
  ]);
  assertEquals(execution.ok || execution.error.category, "validation");
  const odd: Model = { ...scripted("x", [{}]), reply: () => Promise.resolve({} as never) };
  assert(!(await executed([double("search", "ok")], { repair: { model: odd } }, call)).ok);
});

Deno.test("createToolExecutor() numbers its requests to the model across executions", async () => {
  const { model, requests } = listening(MENDED);
  const { executor } = executorOf([double("search", "ok")], { repair: { model } });
  for (let call = 0; call < 3; call++) await executor.execute({ name: "search", arguments: {} });
  assertEquals(requests.map(({ context }) => context.request), [1, 2, 3]);
});

// Alternatives

Deno.test("createToolExecutor() calls another tool where one finds nothing or is none (Pipeline, Robust Tool Execution)", async () => {
  const alternatives = { search: "search_v2", find: "search_v2" };
  const search = double("search", LOST);
  const other = double("search_v2", "ok");
  const lost = await executed([search, other], { alternatives });
  assertEquals(course(lost), ["search not_found", "alternative: search_v2 ok"]);
  assertEquals([lost.tool, lost.content, other.inputs], ["search_v2", "ok", [{ city: "Rome" }]]);
  const unknown = await executed([search, other], { alternatives }, { ...ROME, name: "find" });
  assertEquals(course(unknown), ["find unknown_tool", "alternative: search_v2 ok"]);
  assertEquals(unknown.attempts.map(({ ran }) => ran), [false, true]);
  for (const name of ["nix", "__proto__", "constructor", "toString"]) {
    const none = await executed([search, other], { alternatives }, { ...ROME, name });
    assertEquals(course(none), [`${name} unknown_tool`]);
    assertEquals(none.content, JSON.stringify({ error: `There is no function ${name}` }));
  }
});

Deno.test("createToolExecutor() checks the arguments of an alternative, and names it in its errors", async () => {
  const strict = { ...double("strict", "ok"), parameters: { type: "object", required: ["id"] } };
  const execution = await executed([double("search", LOST), strict], {
    alternatives: { search: "strict" },
  });
  assert(!execution.ok);
  assertEquals(strict.inputs, []);
  assertEquals(execution.error, {
    category: "validation",
    message:
      "Failed after 2 attempts. Last error: strict, called in place of search: The arguments do not " +
      "conform to the schema: the arguments must have required property 'id'",
  });
  const { model } = listening({ text: '{"id":7}' });
  const mended = await executed([double("search", LOST), strict], {
    alternatives: { search: "strict" },
    repair: { model },
  });
  assertEquals(course(mended).slice(1), ["alternative: strict validation", "repair: strict ok"]);
});

Deno.test("createToolExecutor() ends chains of alternatives", async () => {
  const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
  const tools = names.map((name) => double(name, LOST));
  const circle = { a: "b", b: "c", c: "a" };
  const round = await executed(tools, { alternatives: circle }, { ...ROME, name: "a" });
  assertEquals(course(round), [
    "a not_found",
    "alternative: b not_found",
    "alternative: c not_found",
  ]);
  const itself = await executed(tools, { alternatives: { a: "a" } }, { ...ROME, name: "a" });
  assertEquals(course(itself), ["a not_found"]);
  const line = Object.fromEntries(names.slice(1).map((name, place) => [names[place]!, name]));
  const long = await executed(tools, { alternatives: line }, { ...ROME, name: "a" });
  assertEquals(long.attempts.map(({ tool }) => tool), ["a", "b", "c", "d", "e", "f"]);
  let city = 0;
  const endless = await executed(tools, {
    alternatives: ({ name }) => ({ name, arguments: { city: `${++city}` } }),
  }, { ...ROME, name: "a" });
  assertEquals(endless.attempts.length, 6);
});

Deno.test("createToolExecutor() takes an alternative from a function, which is told everything", async () => {
  const heard: unknown[] = [];
  const options: ToolExecutorOptions = {
    alternatives: (call, error) => {
      heard.push(call, error.category, error.message);
      if (call.name === "search") return { name: "other", arguments: '{"city":"Oslo"}' };
      return undefined;
    },
  };
  const other = double("other", '{"error":"Not found"}');
  const execution = await executed([double("search", LOST), other], options);
  assertEquals(course(execution), [
    "search not_found",
    "alternative: other not_found",
  ]);
  assertEquals(heard, [
    ...[ROME, "not_found", "No such city"],
    ...[{ name: "other", arguments: { city: "Oslo" } }, "not_found", "Not found"],
  ]);
  assertEquals(
    execution.content,
    '{"error":"Failed after 2 attempts. Last error: other, called in place of search: Not found"}',
  );
  heard.length = 0;
  await executed([other], options, { name: "nix", arguments: "no JSON" });
  assertEquals(heard[0], { name: "nix", arguments: "no JSON" });
});

Deno.test("createToolExecutor() survives an alternative that throws or is none", async () => {
  const table: [ToolExecutorOptions["alternatives"], string][] = [
    [() => {
      throw new Error("Oops");
    }, "search not_found: Oops"],
    [() => Promise.reject("Oops"), "search not_found: Oops"],
    [() => null as never, "search not_found"],
    [() => ({ name: "nix", arguments: {} }), "alternative: nix unknown_tool"],
    [() => ({}) as never, "alternative: undefined unknown_tool"],
  ];
  for (const [alternatives, expected] of table) {
    const execution = await executed([double("search", LOST)], { alternatives: alternatives! });
    assertEquals(course(execution).at(-1), expected);
    assert(!execution.ok);
  }
});

// Cancelling

Deno.test("createToolExecutor() does nothing when it is cancelled before it begins", async () => {
  const search = double("search", "ok");
  const { executor } = executorOf([search]);
  const signal = AbortSignal.abort(new RangeError("Never mind"));
  const execution = await executor.execute(ROME, { signal });
  assertEquals(execution, {
    ok: false,
    tool: "search",
    content: '{"error":"The call was cancelled: Never mind"}',
    error: { category: "cancelled", message: "The call was cancelled: Never mind" },
    attempts: [],
    usage: { inputTokens: 0, outputTokens: 0 },
  });
  assertEquals(search.inputs, []);
});

Deno.test("createToolExecutor() tells a cancelled call from a tool that stops by itself", async () => {
  const stopped: Part = () => Promise.reject(new DOMException("I stop", "AbortError"));
  const execution = await executed([double("search", stopped)]);
  assertEquals(course(execution), ["search cancelled"]);
  assertEquals(execution.content, '{"error":"I stop"}');
});

// What is handed in

Deno.test("createToolExecutor() refuses tools and options that cannot be used", () => {
  const search = double("search", "ok");
  const model = scripted("x", [{}]);
  const table: [unknown, string][] = [
    [{ retires: 3 }, 'at the top: Unrecognized key: "retires"; did you mean retries?'],
    [
      { constructor: 3 },
      'Unrecognized key: "constructor"; there are retries, timeout, timeLimit, backoff, longestPause, repair, alternatives, seed, clock',
    ],
    [{ retries: -1 }, "at retries: must be a whole number from 0 on: it is -1"],
    [{ retries: 1.5 }, "at retries: must be a whole number from 0 on: it is 1.5"],
    [{ retries: "3" }, 'at retries: must be a whole number from 0 on: it is "3"'],
    [{ timeout: 0 }, "at timeout: must be a number above 0: it is 0"],
    [{ timeLimit: NaN }, "at timeLimit: must be a number above 0: it is NaN"],
    [{ backoff: -1 }, "at backoff: must be a number from 0 on: it is -1"],
    [{ longestPause: null }, "at longestPause: must be a number from 0 on: it is null"],
    [{ seed: 0.5 }, "at seed: must be a whole number from 0 on"],
    [
      { clock: { now: Date.now } },
      "at clock: must be an object with the functions now, pause and after: it is {}",
    ],
    [{ repair: "model" }, "at repair: expected object, received string"],
    [{ repair: {} }, "at repair.model: it is missing: it must be a model"],
    [{ repair: { model, attempts: 21 } }, "at repair.attempts: must be at most 20: it is 21"],
    [
      { repair: { model, tries: 7 } },
      'at repair: Unrecognized key: "tries"; there are model, attempts',
    ],
    [{ alternatives: [] }, "at alternatives: expected function or record, received array"],
    [{ alternatives: { a: "nix" } }, "the alternative to a must be one of the tools: it is nix"],
    [
      { alternatives: { a: { name: "search" } } },
      "at alternatives.a: expected string, received object",
    ],
  ];
  for (const [options, expected] of table) {
    const { message } = assertThrows(
      () => createToolExecutor([search], options as ToolExecutorOptions),
      InputError,
      "a tool executor",
    );
    assertStringIncludes(message, expected);
  }
  createToolExecutor(
    [search],
    { timeout: Infinity, timeLimit: Infinity, retries: undefined } as never,
  );
  createToolExecutor([]);
  assertThrows(() => createToolExecutor([search, search]), InputError, "search is there twice");
  assertThrows(() => createToolExecutor([{ name: "x" } as Tool]), InputError, "description");
  const schemaless = { ...search, parameters: { type: "nix" } };
  assertThrows(() => createToolExecutor([schemaless]), InputError, "must be a JSON Schema");
});

Deno.test("createToolExecutor() waits by the system's clock unless told otherwise", async () => {
  const hang: Part = () => new Promise(() => {});
  const executor = createToolExecutor([double("search", BUSY, hang, "ok")], {
    backoff: 1,
    timeout: 20,
  });
  const before = Date.now();
  const execution = await executor.execute(ROME);
  assertEquals([execution.ok, execution.attempts.length], [true, 3]);
  const started = Date.parse(execution.attempts[0]!.startedAt);
  assert(Math.abs(started - before) < 60_000);
});
