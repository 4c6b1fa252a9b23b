import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { readAgentRequest } from "../../lib/models/openai/agent_request.ts";
import { readWatched } from "../../lib/models/openai/watched_reply.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { serverOf } from "../../lib/simulated/model_server.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { type SimulatedServer, startSimulatedServer } from "../../lib/simulated/server.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { makeWorld, talk } from "../support/simulated_world.ts";

const GOOD: ChatRequest = {
  model: "sim:planner",
  messages: [{ role: "user", content: "The value of variable a, please.\nVariable a = 4" }],
};

function post(server: SimulatedServer, body: unknown): Promise<Response> {
  return fetch(`${server.url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Asserts an error in OpenAI's format and gives its message. */
async function refused(response: Response, status: number): Promise<string> {
  assertEquals(response.status, status);
  assertStringIncludes(response.headers.get("content-type")!, "application/json");
  const { error } = await response.json();
  assertEquals(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  assertEquals(error.type, status === 500 ? "server_error" : "invalid_request_error");
  assert(typeof error.message === "string" && error.message !== "");
  return error.message;
}

Deno.test("startSimulatedServer() answers as the model does", async () => {
  await using server = await startSimulatedServer();
  assert(/^http:\/\/127\.0\.0\.1:\d+\/v1$/.test(server.url), server.url);
  const name = "sim:noisy?stale=.3&early=.3&distract=.3&hallucinate=.2&seed=2";
  const { requests, answers } = talk(parseSimulatedModel(name), makeWorld({ core: 8, seed: 1 }));
  for (const [index, request] of requests.entries()) {
    const response = await post(server, { ...request, temperature: 0, max_tokens: 9 });
    assertEquals(response.status, 200);
    assertEquals(await response.json(), answers[index]);
  }
  assertEquals(server.requests, requests.length);
  assertEquals(answers[0]!.model, name);
});

Deno.test("startSimulatedServer() refuses malformed bodies with 400", async () => {
  await using server = await startSimulatedServer();
  const [message] = GOOD.messages;
  const malformed: [unknown, string][] = [
    ["", "JSON"],
    ["{", "JSON"],
    ["[]", "expected object"],
    ["null", "expected object"],
    [{}, "model"],
    [{ ...GOOD, model: 1 }, "model"],
    [{ ...GOOD, messages: [] }, "messages"],
    [{ ...GOOD, messages: "hello" }, "messages"],
    [{ ...GOOD, messages: [{ role: "owner", content: "" }] }, "messages[0].role"],
    [{ ...GOOD, messages: [message, { role: "tool", content: "" }] }, "messages[1].tool_call_id"],
    [{ ...GOOD, messages: [{ role: "user" }] }, "messages[0].content"],
    [{ ...GOOD, tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
    [
      { ...GOOD, tools: [{ type: "function", function: { name: "f", parameters: [] } }] },
      "tools[0].function.parameters",
    ],
    [{ ...GOOD, stream: "yes" }, "stream"],
    [{ ...GOOD, n: 2 }, "one answer"],
  ];
  for (const [body, rule] of malformed) {
    assertStringIncludes(await refused(await post(server, body), 400), rule);
  }
  assertEquals(server.requests, malformed.length);
});

Deno.test("startSimulatedServer() refuses unknown models with 404", async () => {
  await using server = await startSimulatedServer();
  for (const model of ["gpt-5", "sim:oracle", "sim:noisy?late=1", "sim:noisy?early=2", ""]) {
    const response = await post(server, { ...GOOD, model });
    assertStringIncludes(await refused(response, 404), "Cannot use the ");
  }
});

Deno.test("startSimulatedServer() refuses other paths and methods", async () => {
  await using server = await startSimulatedServer();
  await refused(await fetch(`${server.url}/embeddings`, { method: "POST", body: "{}" }), 404);
  await refused(await fetch(server.url.replace("/v1", "/")), 404);
  await refused(await fetch(`${server.url}/chat/completions`), 404);
});

Deno.test("startSimulatedServer() refuses a body above the limit", async () => {
  await using server = await startSimulatedServer();
  // A stream has no content-length, so that the server must count itself.
  const chunk = new Uint8Array(2 ** 20).fill(0x20);
  let left = 65;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(chunk);
      else controller.close();
    },
  });
  const response = await fetch(`${server.url}/chat/completions`, { method: "POST", body });
  await refused(response, 413);
  const large = `${JSON.stringify(GOOD)}${" ".repeat(20 * 2 ** 20)}`;
  assertEquals((await (await post(server, large)).json()).choices.length, 1);
});

Deno.test("startSimulatedServer() answers many requests at once", async () => {
  const seen: string[] = [];
  await using server = await startSimulatedServer({
    onRequest: (body) => seen.push(body.model),
  });
  const answers = await Promise.all(Array.from({ length: 40 }, async (_, index) => {
    const content = `The value of variable a, please.\nVariable a = ${index}`;
    const response = await post(server, { ...GOOD, messages: [{ role: "user", content }] });
    return (await response.json()).choices[0].message.content;
  }));
  assertEquals(answers, answers.map((_, index) => `a = ${index}`));
  assertEquals(server.requests, 40);
  assertEquals(seen, answers.map(() => "sim:planner"));
});

Deno.test("startSimulatedServer() answers what is under way when it closes", async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const server = await startSimulatedServer({ onRequest: () => resolve() });
  const pending = post(server, GOOD);
  await arrived;
  await Promise.all([server.close(), server.close()]);
  const response = await pending;
  assertEquals((await response.json()).choices[0].message.content, "a = 4");
  await server.finished;
  await server.close();
  await assertRejects(() => post(server, GOOD), TypeError);
});

Deno.test("startSimulatedServer() turns a throwing observer into a 500", async () => {
  await using server = await startSimulatedServer({
    onRequest: () => {
      throw new Error("no");
    },
  });
  assertEquals(await refused(await post(server, GOOD), 500), "no");
});

// What a model made in code says reaches an agent as it would be said by a server, in either format and streamed.

interface Form {
  readonly api: "chat" | "responses";
  readonly streamed: boolean;
}

const FORMS: readonly Form[] = [false, true].flatMap((streamed) => [
  { api: "chat", streamed },
  { api: "responses", streamed },
]);

const REPLIES: Readonly<Record<string, ScriptedReply>> = {
  "a text": { text: "It is 21 degrees." },
  "calls beside a text": {
    text: "I look.",
    calls: [{ name: "weather", arguments: { city: "Rome" } }, { name: "nope", arguments: {} }],
  },
  "arguments that are no JSON": { calls: [{ name: "weather", arguments: '{"city": "Ro' }] },
  "no more tokens": { text: "It is", finish: "length" },
  "a content filter": { text: "", finish: "filter" },
};
const usage = { inputTokens: 12, outputTokens: 3 };
const tools = [{ name: "weather", description: "", parameters: { type: "object" } }];
const context = { trial: "1", repetition: 1, request: 1 };

for (const [title, said] of Object.entries(REPLIES)) {
  for (const form of FORMS) {
    Deno.test(`serverOf() says ${title}: ${form.api}, ${form.streamed ? "streamed" : "whole"}`, async () => {
      const model = scripted("script", [{ ...said, usage }]);
      const server = serverOf(model);
      const { path, body } = requestIn(form);
      const { response } = await server.forward({ path, body, context });
      const request = readAgentRequest(form.api, JSON.stringify(body))!;
      const text = await response.text();
      const { reply } = readWatched(request, text, server);
      const { duration: _, ...own } = await model.reply({ messages: [], tools, context });
      assertEquals(
        [reply.text, reply.calls, reply.usage, reply.served, reply.finish],
        [own.text, own.calls, own.usage, own.served, own.finish],
      );
    });
  }
}

function requestIn({ api, streamed }: Form): { path: string; body: JsonObject } {
  const [tool] = tools;
  const function_ = { ...tool!, strict: false };
  const stream: JsonObject = streamed ? { stream: true } : {};
  return api === "chat"
    ? {
      path: "/chat/completions",
      body: {
        ...{ model: "script", messages: [{ role: "user", content: "?" }] },
        tools: [{ type: "function", function: function_ }],
        ...stream,
        ...(streamed ? { stream_options: { include_usage: true } } : {}) as JsonObject,
      },
    }
    : {
      path: "/responses",
      body: { model: "script", input: "?", tools: [{ type: "function", ...function_ }], ...stream },
    };
}
