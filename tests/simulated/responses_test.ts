// The loopback server's responses: the same models as in chat completions, and OpenAI's own rules.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import type { JsonObject } from "../../lib/base/json.ts";
import { wholeBody } from "../../lib/models/openai/_event_stream.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { completionChunks, responseEvents } from "../../lib/simulated/_streaming.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { type SimulatedServer, startSimulatedServer } from "../../lib/simulated/server.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";

const SPEC = { core: 6, depth: 3, connected: 3, disconnected: 2, seed: 5 };

/** A request of which the planner calls one function, and then answers. */
const GOOD = {
  model: "sim:planner",
  input: [{
    role: "user",
    content: "The value of variable abcd, please.\nVariable efgh = 4",
  }],
  tools: [{
    type: "function",
    name: "func_xyz",
    description: "Processes variable efgh (type_a with subtype_b) to produce variable abcd " +
      "(type_c with subtype_d)",
    strict: true,
    parameters: {
      type: "object",
      properties: { efgh: { type: "integer" } },
      required: ["efgh"],
      additionalProperties: false,
    },
  }],
} satisfies JsonObject;

function post(server: SimulatedServer, body: unknown): Promise<Response> {
  return fetch(`${server.url}/responses`, { method: "POST", body: JSON.stringify(body) });
}

async function answered(server: SimulatedServer, body: unknown): Promise<JsonObject> {
  const response = await post(server, body);
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return answer;
}

async function refused(server: SimulatedServer, body: unknown, status = 400): Promise<string> {
  const response = await post(server, body);
  const { error } = await response.json();
  assertEquals([response.status, typeof error?.message], [status, "string"], JSON.stringify(body));
  assertEquals(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  return error.message;
}

type Items = JsonObject[];

/** What the planner reasons and calls at the good request, without its words. */
async function called(server: SimulatedServer, more: JsonObject = {}): Promise<Items> {
  const { output } = await answered(server, { ...GOOD, ...more });
  return (output as Items).filter(({ type }) => type !== "message");
}

function result(call: JsonObject, output = '{"abcd": 7}'): JsonObject {
  return { type: "function_call_output", call_id: call["call_id"]!, output };
}

Deno.test("startSimulatedServer() answers responses with items", async () => {
  const seen: ChatRequest[] = [];
  await using server = await startSimulatedServer({ onRequest: (request) => seen.push(request) });
  const first = await answered(server, { ...GOOD, instructions: "Be brief", seed: 3 });
  const output = first["output"] as Items;
  assertEquals(output.map(({ type }) => type), ["reasoning", "message", "function_call"]);
  const [, words, call] = output;
  assertEquals([call?.["name"], call?.["arguments"]], ["func_xyz", '{"efgh":4}']);
  assertEquals([first["object"], first["status"], first["model"]], [
    "response",
    "completed",
    "sim:planner",
  ]);
  const { input_tokens, output_tokens, total_tokens } = first["usage"] as Record<string, number>;
  assert(input_tokens! > 0 && output_tokens! > 0);
  assertEquals(total_tokens, input_tokens! + output_tokens!);

  const input = [...GOOD.input, ...output, result(call!)];
  const last = await answered(server, { ...GOOD, input });
  const [, message] = last["output"] as Items;
  assertEquals([message?.["type"], message?.["role"]], ["message", "assistant"]);
  assertEquals(message?.["content"], [{ type: "output_text", text: "abcd = 7", annotations: [] }]);

  assertEquals(server.requests, 2);
  assertEquals(seen[0]?.seed, 3);
  assertEquals(seen.map(({ messages }) => messages.map(({ role }) => role)), [
    ["system", "user"],
    ["user", "assistant", "tool"],
  ]);
  const [part] = words?.["content"] as Items;
  assertEquals(seen[1]?.messages[1], {
    role: "assistant",
    content: part?.["text"] as string,
    tool_calls: [{
      id: call!["call_id"] as string,
      type: "function",
      function: { name: "func_xyz", arguments: '{"efgh":4}' },
    }],
  });
});

Deno.test("startSimulatedServer() takes a text for what the user says", async () => {
  await using server = await startSimulatedServer();
  const input = "The value of variable a, please.\nVariable a = 4";
  const { output } = await answered(server, { model: "sim:planner", input });
  assertStringIncludes(JSON.stringify(output), '"a = 4"');
});

Deno.test("startSimulatedServer() answers both ways alike, step for step", async () => {
  const noisy = "sim:noisy?early=.2&stale=.2&arity=.2&hallucinate=.1&seed=4";
  for (const name of ["sim:planner", noisy]) {
    const requests: Record<string, ChatRequest[]> = { chat: [], responses: [] };
    const trials = await Promise.all((["chat", "responses"] as const).map(async (api) => {
      await using server = await startSimulatedServer({
        onRequest: (request) => requests[api]!.push(request),
      });
      const model = openai({ model: name, api, baseURL: server.url, apiKey: "any", retries: 0 });
      const { outcome, failures, events, usage } = await runTrial(SPEC, model);
      assert(server.requests > 1);
      const told = events.map((event) =>
        event.kind === "reply" ? { ...event, durationMs: 0 } : event
      );
      return { outcome, failures, told, usage };
    }));
    assertEquals(trials[0], trials[1]);
    assertEquals(requests["chat"], requests["responses"]);
  }
});

Deno.test("startSimulatedServer() reads items as messages are written", async () => {
  const seen: ChatRequest[] = [];
  await using server = await startSimulatedServer({ onRequest: (request) => seen.push(request) });
  const call = { type: "function_call", call_id: "a", name: "func_xyz", arguments: "{" };
  const parts = [{ type: "output_text", text: "I " }, { type: "output_text", text: "call" }];
  const said = { role: "assistant", content: parts };
  const input = [
    ...[...GOOD.input, call, { ...call, call_id: "b" }, result(call), result({ call_id: "b" }, "")],
    ...[said, { ...call, call_id: "c" }, result({ call_id: "c" }), said, said],
  ];
  const [tool] = GOOD.tools;
  const { type: _, ...func } = tool!;
  const { strict: __, ...unsaid } = tool!;
  const { name, parameters } = func;
  await answered(server, {
    ...{ ...GOOD, input, tools: [tool, unsaid, { ...tool, strict: false, description: null }] },
    ...{ tool_choice: { type: "function", name }, parallel_tool_calls: false, seed: null },
  });
  const written = (id: string) => ({ id, type: "function", function: { name, arguments: "{" } });
  assertEquals(
    seen as unknown,
    [{
      model: "sim:planner",
      messages: [
        GOOD.input[0],
        { role: "assistant", content: null, tool_calls: [written("a"), written("b")] },
        { role: "tool", tool_call_id: "a", content: '{"abcd": 7}' },
        { role: "tool", tool_call_id: "b", content: "" },
        { role: "assistant", content: "I call", tool_calls: [written("c")] },
        { role: "tool", tool_call_id: "c", content: '{"abcd": 7}' },
        { role: "assistant", content: "I call" },
        { role: "assistant", content: "I call" },
      ],
      tools: [
        { type: "function", function: func },
        // Functions are strict unless something else is said.
        { type: "function", function: func },
        { type: "function", function: { name, parameters } },
      ],
      tool_choice: { type: "function", function: { name } },
      parallel_tool_calls: false,
      seed: null,
    }],
  );
});

Deno.test(
  "startSimulatedServer() tells what was reasoned encrypted, if asked to",
  async () => {
    await using server = await startSimulatedServer();
    const include = ["reasoning.encrypted_content"];
    const [bare] = await called(server);
    assertEquals(bare?.["encrypted_content"], undefined);
    const [sealed] = await called(server, { include, store: false });
    assertEquals(typeof sealed?.["encrypted_content"], "string");
    const kinds = (await called(server, { reasoning: { effort: "none" } })).map(({ type }) => type);
    assertEquals(kinds, ["function_call"]);
    assertStringIncludes(
      await refused(server, { ...GOOD, include, reasoning: { effort: "none" } }),
      "Encrypted content is not supported with this model",
    );
  },
);

Deno.test(
  "startSimulatedServer() wants back what it reasoned, where it was",
  async () => {
    await using server = await startSimulatedServer();
    const include = ["reasoning.encrypted_content"];
    const [reasoned, call] = await called(server) as [JsonObject, JsonObject];
    const [sealed] = await called(server, { include }) as [JsonObject];
    const [free] = await called(server, { reasoning: { effort: "none" } }) as [JsonObject];
    const { id: _, ...foreign } = call;
    const user = GOOD.input[0]!;
    const said = { role: "assistant", content: "I call" };
    const done = result(call);

    const accepted: Items[] = [
      [user, reasoned, call, done],
      [user, sealed, call, done],
      [user, reasoned, said, call, done],
      // What another model has called asks for nothing.
      [user, foreign, done],
      [user, free, result(free)],
      [user, { role: "assistant", content: "A plan" }, user, reasoned, call, done],
    ];
    for (const input of accepted) await answered(server, { ...GOOD, input });
    await answered(server, { ...GOOD, store: false, input: [user, sealed, call, done] });

    const refusals: [input: Items, rule: string][] = [
      [
        [user, call, done],
        "'function_call' was provided without its required 'reasoning' item: 'rs_",
      ],
      [[user, call, reasoned, done], "without its required 'reasoning' item"],
      [[reasoned, user, call, done], "without its required following item"],
      [[user, reasoned, done, call], "without its required following item"],
      [[user, foreign, done, reasoned], "without its required following item"],
      [[user, reasoned, reasoned, call, done], "without its required following item"],
      [[user, reasoned, said, user, call, done], "without its required 'reasoning' item"],
      [[user, done], "No tool call found for function call output with call_id call_1_1"],
      [[user, done, reasoned, call], "No tool call found"],
      [[user, reasoned, call], "No tool output found for function call call_1_1"],
      [[user, reasoned, call, call, done], "Duplicate function call"],
      [[user, { ...sealed, encrypted_content: "x" }, call, done], "could not be verified"],
    ];
    for (const [input, rule] of refusals) {
      assertStringIncludes(await refused(server, { ...GOOD, input }), rule);
    }
    const lost: [body: JsonObject, id: string][] = [
      [{ store: false, input: [user, reasoned, call, done] }, reasoned["id"] as string],
      [{ input: [user, { ...reasoned, id: "rs_mine" }, call, done] }, "rs_mine"],
      [{ input: [user, { type: "item_reference", id: "msg_mine" }] }, "msg_mine"],
    ];
    for (const [more, id] of lost) {
      assertStringIncludes(await refused(server, { ...GOOD, ...more }, 404), `'${id}' not found`);
    }
    const other = { ...GOOD, model: "sim:noisy", input: [user, sealed, call, done] };
    assertStringIncludes(await refused(server, other), "could not be verified");
  },
);

Deno.test(
  "startSimulatedServer() wants back what it reasoned before an answer",
  async () => {
    await using server = await startSimulatedServer();
    const user = { role: "user", content: "The value of variable a, please.\nVariable a = 4" };
    const { output } = await answered(server, { model: "sim:planner", input: [user] });
    const [reasoned, message] = output as [JsonObject, JsonObject];
    await answered(server, { model: "sim:planner", input: [user, reasoned, message, user] });
    const alone = { model: "sim:planner", input: [user, message, user] };
    assertStringIncludes(
      await refused(server, alone),
      "'message' was provided without its required",
    );
  },
);

Deno.test("startSimulatedServer() refuses malformed requests for responses", async () => {
  await using server = await startSimulatedServer();
  const [tool] = GOOD.tools;
  const { strict: _, ...unsaid } = tool!;
  const open = { type: "object", properties: { efgh: { type: "integer" } } };
  const malformed: [body: unknown, rule: string][] = [
    ["x", "expected object"],
    [{}, "model"],
    [{ model: "sim:planner" }, "input"],
    [{ ...GOOD, input: [] }, "input"],
    [{ ...GOOD, input: [7] }, "input[0]"],
    [{ ...GOOD, input: [{ role: "tool", content: "x" }] }, "input[0].role"],
    [{ ...GOOD, input: [{ role: "user", content: null }] }, "input[0].content"],
    [{ ...GOOD, input: [{ type: "function_call", name: "x" }] }, "input[0].call_id"],
    [{ ...GOOD, input: [{ type: "magic" }] }, "input[0].type"],
    [{ ...GOOD, messages: [] }, "Unsupported parameter: 'messages'"],
    [{ ...GOOD, stop: ["x"] }, "Unsupported parameter: 'stop'"],
    [{ ...GOOD, reasoning_effort: "low" }, "Unsupported parameter: 'reasoning_effort'"],
    [{ ...GOOD, max_completion_tokens: 9 }, "Unsupported parameter: 'max_completion_tokens'"],
    [{ ...GOOD, previous_response_id: "r" }, "Unsupported parameter: 'previous_response_id'"],
    [{ ...GOOD, max_output_tokens: 15 }, "max_output_tokens"],
    [{ ...GOOD, stream: "yes" }, "stream"],
    [{ ...GOOD, tools: [{ type: "function", function: tool }] }, "tools[0].name"],
    [{ ...GOOD, tools: [{ ...tool, parameters: open }] }, "'additionalProperties' is required"],
    [{ ...GOOD, tools: [{ ...unsaid, parameters: open }] }, "'additionalProperties' is required"],
    [
      { ...GOOD, tools: [{ ...unsaid, parameters: { ...open, additionalProperties: false } }] },
      "'required' is required",
    ],
    [{ ...GOOD, tool_choice: "any" }, "tool_choice"],
    [
      { ...GOOD, tool_choice: { type: "function", function: { name: "func_xyz" } } },
      "tool_choice",
    ],
    [{ ...GOOD, tool_choice: { type: "function", name: "none" } }, "There is no tool none"],
  ];
  for (const [body, rule] of malformed) {
    assertStringIncludes(await refused(server, body), rule);
  }
  assertEquals(server.requests, malformed.length);
  await answered(server, { ...GOOD, tools: [{ ...tool, strict: false, parameters: open }] });
  assertStringIncludes(await refused(server, { ...GOOD, model: "gpt-5" }, 404), "must be sim:");
});

// Simulated models stream as OpenAI does: its own client reads the same as from whole answers.

/** Models that make no mistakes, and each kind that shows in a reply. */
const MODELS = [
  "sim:planner",
  "sim:noisy?early=.3&stale=.3&distract=.3&hallucinate=.3&arity=.3&seed=2",

  "sim:noisy?breakFormat=.6&seed=5",
  "sim:noisy?breakFormat=.6&hopeless=1&seed=4",
];

const STREAMED = { core: 8, depth: 4, connected: 2, disconnected: 1, seed: 5 };

/** All requests of a trial of a model, without strict tools: of these the client parses the arguments itself. */
async function requestsOf(model: string): Promise<ChatRequest[]> {
  const requests: ChatRequest[] = [];
  await using server = await startSimulatedServer({
    onRequest: (request) => requests.push(request),
  });
  await runTrial(STREAMED, openai({ model, baseURL: server.url, apiKey: "none" }));
  return requests.map((request) => ({
    ...request,
    tools: (request.tools ?? []).map(({ type, function: tool }) => ({
      type,
      function: { ...tool, strict: false },
    })),
  }));
}

/** The same request in the format of responses. */
function asResponses({ model, messages, tools }: ChatRequest): JsonObject {
  const input = messages.flatMap((message): JsonObject[] => {
    if (message.role === "tool") {
      const { tool_call_id: id, content } = message;
      return [{ type: "function_call_output", call_id: id || "none", output: content as string }];
    }
    const { role, content } = message;
    const said = content ? [{ role, content: content as string }] : [];
    const calls = message.role === "assistant" ? message.tool_calls ?? [] : [];
    return [
      ...said,
      ...calls.map(({ id, function: called }) => ({
        ...{ type: "function_call", call_id: id || "none" },
        ...called,
      })),
    ];
  });
  return {
    ...{ model, input, reasoning: { effort: "none" } },
    tools: (tools ?? []).map(({ type, function: tool }): JsonObject => ({ type, ...tool })),
  };
}

function clientOf({ url }: SimulatedServer): OpenAI {
  return new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
}

async function postTo(server: SimulatedServer, path: string, body: unknown): Promise<Response> {
  return await fetch(`${server.url}/${path}`, { method: "POST", body: JSON.stringify(body) });
}

/** The events in the text of a stream, as they came. */
function eventsIn(text: string): JsonObject[] {
  return text.trimEnd().split("\n\n").map((event) => {
    const data = event.slice(event.indexOf("data: ") + "data: ".length);
    return data === "[DONE]" ? { type: data } : JSON.parse(data);
  });
}

const CHAT_REQUEST = {
  model: "sim:planner",
  messages: [{ role: "user", content: "The value of variable abc, please.\nVariable abc = 421" }],
} satisfies ChatRequest;

Deno.test("startSimulatedServer() streams chat completions that OpenAI's client reads as whole ones", async () => {
  await using server = await startSimulatedServer();
  const client = clientOf(server);
  let [calls, unreadable] = [0, 0];
  for (const model of MODELS) {
    for (const request of await requestsOf(model)) {
      // The types of the project and of the client differ in what may be left out.
      const body = request as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
      const whole = await client.chat.completions.create(body);
      const { message, finish_reason: finish } = whole.choices[0]!;
      const counted = { ...body, stream: true, stream_options: { include_usage: true } } as const;

      const final = await client.chat.completions.stream(counted).finalChatCompletion();
      const [choice] = final.choices;
      assertEquals([choice?.message.content, choice?.finish_reason], [message.content, finish]);
      assertEquals([final.id, final.model, final.usage], [whole.id, whole.model, whole.usage]);

      const made = (message.tool_calls ?? []).flatMap((call) =>
        call.type === "function" ? [call.function] : []
      );
      calls += made.length;
      unreadable += made.filter(({ arguments: given }) =>
        typeof given === "string" && !given.endsWith("}")
      ).length;

      const raw = await (await postTo(server, "chat/completions", counted)).text();
      // What is null in an answer is not there.
      const { logprobs: _, message: { refusal: __, ...said }, ...chosen } = whole.choices[0]!;
      assertEquals(wholeBody("chat", raw), {
        ...whole as unknown as JsonObject,
        choices: [{ ...chosen, message: { ...said, refusal: null } }],
      });
    }
  }
  assert(calls > 20 && unreadable > 3, `${calls} calls, ${unreadable} unreadable`);
});

Deno.test("startSimulatedServer() streams responses that OpenAI's client reads as whole ones", async () => {
  await using server = await startSimulatedServer();
  const client = clientOf(server);
  let calls = 0;
  for (const model of MODELS) {
    for (const request of await requestsOf(model)) {
      const body = asResponses(
        request,
      ) as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const whole = await client.responses.create(body);
      const final = await client.responses.stream({ ...body, stream: true }).finalResponse();
      // Its parser adds fields of its own.
      const plain = final.output.map((item) => {
        const { parsed_arguments: _, ...rest } = item as typeof item & JsonObject;
        return rest.type !== "message" ? rest : {
          ...rest,
          content: rest.content.map((part) => {
            const { parsed: _, ...others } = part as typeof part & JsonObject;
            return others;
          }),
        };
      });
      assertEquals(plain as unknown, whole.output);
      assertEquals([final.id, final.status, final.usage, final.output_text], [
        whole.id,
        whole.status,
        whole.usage,
        whole.output_text,
      ]);

      calls += whole.output.filter(({ type }) => type === "function_call").length;
      const raw = await (await postTo(server, "responses", { ...body, stream: true })).text();
      const { output_text: _, ...sent } = whole;
      assertEquals(wholeBody("responses", raw), sent as unknown as JsonObject);
    }
  }
  assert(calls > 20, `${calls} calls`);
});

Deno.test("startSimulatedServer() streams a text in pieces, and usage to who asks for it", async () => {
  await using server = await startSimulatedServer();
  const [request] = await requestsOf("sim:planner");
  const response = await postTo(server, "chat/completions", { ...request, stream: true });
  assertStringIncludes(response.headers.get("content-type")!, "text/event-stream");
  const events = eventsIn(await response.text());
  assertEquals(events.pop(), { type: "[DONE]" });
  assert(events.every((event) => !Object.hasOwn(event, "usage")));
  const choices = (events as unknown as OpenAI.ChatCompletionChunk[])
    .map((chunk) => chunk.choices[0]!);
  assert(choices.slice(0, -1).every((choice) => choice.finish_reason === null));
  assert(choices.filter(({ delta }) => delta.content).length > 2, "the text comes in pieces");
});

Deno.test("completionChunks() and responseEvents() cut no character in two", () => {
  const text = "a" + "\u{1F600}".repeat(50);
  const chat = parseSimulatedModel("sim:planner").reply(CHAT_REQUEST);
  const [choice] = chat.choices;
  const message = { ...choice.message, content: text };
  const item = { id: "m", type: "message", content: [{ type: "output_text", text }] };
  const events = [
    ...completionChunks({ ...chat, choices: [{ ...choice, message }] }, {}),
    ...responseEvents({ output: [item] }),
  ];
  assert(events.length > 15);
  for (const event of events) assert(!JSON.stringify(event).includes("\\ud83d"));
});

Deno.test("startSimulatedServer() refuses what it refuses of whole answers, and options of a stream without one", async () => {
  await using server = await startSimulatedServer();
  const bad: readonly [JsonObject, number, string][] = [
    [{ stream: "yes" }, 400, "stream"],
    [{ stream_options: { include_usage: true } }, 400, "stream_options"],
    [{ stream: true, stream_options: { include_usage: 1 } }, 400, "stream_options.include_usage"],
    [{ stream: true, model: "sim:no" }, 404, "model"],
  ];
  for (const [more, status, param] of bad) {
    const response = await postTo(server, "chat/completions", { ...CHAT_REQUEST, ...more });
    const { error } = await response.json();
    assertEquals([response.status, error.param], [status, param]);
  }
});

Deno.test("startSimulatedServer() goes on serving when a client leaves a stream", async () => {
  await using server = await startSimulatedServer();
  const request = (await requestsOf("sim:planner")).at(-1)!;
  for (let left = 20; left > 0; left--) {
    const response = await postTo(server, "chat/completions", { ...request, stream: true });
    await response.body?.cancel();
  }
  const response = await postTo(server, "chat/completions", CHAT_REQUEST);
  assertEquals((await response.json()).choices[0].message.content, "abc = 421");
});
