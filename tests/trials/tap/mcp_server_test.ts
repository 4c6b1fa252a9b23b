// The MCP server of a trial, as raw clients meet it: what it lists, what reaches its functions, and what it refuses.

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { type McpTask, TrialMcpServer } from "../../../lib/trials/tap/_mcp_server.ts";
import type { ToolSchema } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";

const ADDRESS = "http://127.0.0.1:9/a-token";

/** A server with what is given, that answers calls with their arguments. */
async function serve(task: Partial<McpTask> = {}): Promise<TrialMcpServer> {
  const server = new TrialMcpServer({
    tools: [],
    execute: (_, written) => Promise.resolve(written),
    submit: () => {},
    ...task,
  });
  assertEquals(await server.start(ADDRESS), `${ADDRESS}/mcp`);
  return server;
}

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

async function post(server: TrialMcpServer, body: string, headers: HeadersInit = HEADERS) {
  const request = new Request(`${ADDRESS}/mcp`, { method: "POST", headers, body });
  const response = await server.answer(request);
  const text = await response!.text();
  const messages = /event-stream/.test(response!.headers.get("content-type") ?? "")
    ? text.split("\n").filter((line) => line.startsWith("data:"))
      .map((line) => JSON.parse(line.slice(5)))
    : text === ""
    ? []
    : [JSON.parse(text)];
  return { status: response!.status, messages };
}

/** Asks one request; returns its result, or its error. */
async function ask(server: TrialMcpServer, method: string, params: JsonObject = {}) {
  const { messages: [answer] } = await post(
    server,
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  );
  return answer.result ?? answer.error;
}

const call = (server: TrialMcpServer, name: string, args?: JsonValue) =>
  ask(server, "tools/call", { name, ...(args === undefined ? {} : { arguments: args }) });

const textResult = (text: string, isError = false) => ({
  content: [{ type: "text", text }],
  ...(isError ? { isError } : {}),
});

const weather: ToolSchema = {
  name: "weather",
  description: "Returns the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  examples: [{ city: "Rome" }],
};

Deno.test("TrialMcpServer offers the functions under their names, and submit_answer", async () => {
  await using server = await serve({
    tools: [weather, { name: "a.b", description: "", parameters: { required: ["c"] } }],
  });
  const begun = await ask(server, "initialize", {
    ...{ protocolVersion: "2025-06-18", capabilities: {} },
    clientInfo: { name: "raw", version: "1" },
  });
  assertEquals(begun.protocolVersion, "2025-06-18");
  assertEquals(begun.serverInfo.name, "toolgate");
  assertEquals(begun.capabilities, { tools: {} });
  const { tools } = await ask(server, "tools/list");
  assertEquals(tools.slice(0, 2), [
    {
      name: "weather",
      description: 'Returns the weather.\nExample: {"city":"Rome"}',
      inputSchema: { type: "object", properties: { city: { type: "string" } } },
    },
    // The protocol demands that a schema says so.
    { name: "a.b", description: "", inputSchema: { type: "object", required: ["c"] } },
  ]);
  assertEquals([tools.length, tools[2].name], [3, "submit_answer"]);
  assertEquals(await ask(server, "ping"), {});
  const note = { jsonrpc: "2.0", method: "notifications/initialized" };
  assertEquals(await post(server, JSON.stringify(note)), { status: 202, messages: [] });
});

Deno.test("TrialMcpServer hands on any name, and any arguments as they were sent", async () => {
  const made: [string, string][] = [];
  await using server = await serve({
    tools: [weather],
    execute: (name, written) => {
      made.push([name, written]);
      return Promise.resolve("fine");
    },
  });
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "binary" }).filter((name) => name !== "submit_answer"),
      fc.oneof(fc.jsonValue(), fc.constantFrom("{}", { __proto__: null, constructor: 1 })),
      async (name, args) => {
        const sent = JSON.parse(JSON.stringify({ name, args }));
        assertEquals(await call(server, name, args as JsonValue), textResult("fine"));
        assertEquals(made.pop(), [sent.name, JSON.stringify(sent.args)]);
      },
    ),
    { numRuns: 40 },
  );
  const own = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather",' +
    '"arguments":{"__proto__":{"a":1},"b":[]}}}';
  await post(server, own);
  assertEquals(made.pop(), ["weather", '{"__proto__":{"a":1},"b":[]}']);
  await call(server, "weather");
  assertEquals(made.pop(), ["weather", "{}"]);
  // Nothing of it is recursive on the way in.
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  await post(server, own.replace(/\{"__proto__.*\}\}\}/, `${deep}}}`));
  assertEquals(made.pop()![1].length, 200_000);
});

Deno.test("TrialMcpServer marks results that are errors, those of tools and its own", async () => {
  const texts = ['{"error":"no such city"}', '{"error":1,"more":2}', "error", "", '{"a":1}'];
  await using server = await serve({ execute: (_, written) => Promise.resolve(texts[+written]!) });
  for (const [place, text] of texts.entries()) {
    assertEquals(await call(server, "weather", place), textResult(text, place === 0));
  }
  await using failing = await serve({
    execute: () => Promise.reject(new Error("no more: sk-abcdefghijklmnop123456")),
  });
  assertEquals(
    await call(failing, "weather", {}),
    textResult('{"error":"no more: [redacted]"}', true),
  );
});

Deno.test("submit_answer takes a text and nothing else, and tells why it does not", async () => {
  const taken: string[] = [];
  await using server = await serve({
    execute: () => Promise.reject(new Error("is not called")),
    submit: (answer) => {
      if (taken.length > 0) throw new Error("once");
      taken.push(answer);
    },
  });
  const wrong: (JsonValue | undefined)[] = [
    ...[undefined, null, [], "x", {}, { answer: 4 }, { answer: null }, { text: "x" }],
    { answer: "x", more: 1 },
  ];
  for (const args of wrong) {
    assertEquals(
      await call(server, "submit_answer", args),
      textResult('{"error":"submit_answer takes one argument, the text \\"answer\\""}', true),
    );
  }
  const { isError, content: [{ text }] } = await call(server, "submit_answer", {
    answer: "é".repeat(2 ** 19 + 1),
  });
  assertEquals([isError, text], [true, '{"error":"The answer must not exceed 1048576 bytes"}']);
  const answer = "é".repeat(2 ** 19);
  assertEquals(
    await call(server, "submit_answer", { answer }),
    textResult("The answer is submitted"),
  );
  assertEquals(
    await call(server, "submit_answer", { answer: "other" }),
    textResult('{"error":"once"}', true),
  );
  assertEquals(taken, [answer]);
});

Deno.test("TrialMcpServer refuses with one error what is no message, and calls nothing", async () => {
  let calls = 0;
  await using server = await serve({ execute: () => Promise.resolve(`${++calls}`) });
  const made = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } };
  const table: Readonly<Record<string, [status: number, body: string, headers?: HeadersInit]>> = {
    nothing: [400, ""],
    "no JSON": [400, "{"],
    null: [400, "null"],
    "a number": [400, "7"],
    "an empty object": [400, "{}"],
    "an empty batch": [400, "[]"],
    "a batch of batches": [400, JSON.stringify([[made]])],
    "101 messages at once": [400, JSON.stringify(Array(101).fill(made))],
    "no version": [400, JSON.stringify({ ...made, jsonrpc: undefined })],
    "17 MiB": [413, JSON.stringify({ ...made, params: { name: "x".repeat(17 * 2 ** 20) } })],
    "another type": [415, JSON.stringify(made), { ...HEADERS, "content-type": "text/plain" }],
    "no streams": [406, JSON.stringify(made), { ...HEADERS, accept: "application/json" }],
  };
  for (const [what, [expected, body, headers]] of Object.entries(table)) {
    const { status, messages: [answer] } = await post(server, body, headers);
    assertEquals(status, expected, what);
    assertEquals([answer.jsonrpc, typeof answer.error.message], ["2.0", "string"], what);
  }
  for (const params of [null, [], { name: 4 }, { arguments: {} }] as JsonValue[]) {
    const answer = await ask(server, "tools/call", params as JsonObject);
    assert(answer.code < 0, JSON.stringify(params));
  }
  assertEquals((await ask(server, "resources/list")).code, -32601);
  assertEquals(calls, 0);
  for (const method of ["GET", "DELETE", "PUT"]) {
    const response = await server.answer(new Request(ADDRESS, { method, headers: HEADERS }));
    assertEquals([response!.status, response!.headers.get("allow")], [405, "POST"], method);
    await response!.body?.cancel();
  }
});

Deno.test("TrialMcpServer answers a batch of older clients, call by call", async () => {
  await using server = await serve();
  const calls = [1, 2].map((id) => ({
    ...{ jsonrpc: "2.0", id, method: "tools/call" },
    params: { name: "a", arguments: [id] },
  }));
  const { status, messages } = await post(server, JSON.stringify(calls));
  assertEquals(status, 200);
  assertEquals(
    messages.flat().toSorted((one, other) => one.id - other.id)
      .map(({ result }) => result.content[0].text),
    ["[1]", "[2]"],
  );
});

Deno.test("TrialMcpServer says why it cannot start, and answers nothing before", async () => {
  const execute = () => Promise.resolve("");
  const submit = () => {};
  const taken = new TrialMcpServer({
    tools: [{ ...weather, name: "submit_answer" }],
    ...{ execute, submit },
  });
  const clash = await assertRejects(() => taken.start(ADDRESS), InfrastructureError);
  assertStringIncludes(clash.message, "has a function of the name submit_answer itself");
  assertEquals(clash.permanent, "command");
  await using server = new TrialMcpServer({ tools: [], execute, submit });
  const nowhere = await assertRejects(
    () => server.start("http://toolgate.invalid/a"),
    InfrastructureError,
  );
  assertStringIncludes(nowhere.message, "add --allow-net=127.0.0.1");
  assertEquals(nowhere.permanent, "permission");
  const request = new Request(ADDRESS, { method: "POST", body: "{}" });
  assertEquals(await server.answer(request), undefined);
});
