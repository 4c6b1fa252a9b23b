// The loopback server's responses: the same models as in chat completions, and OpenAI's own rules.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import type { ChatRequest } from "../../lib/simulated/wire.ts";
import { type SimulatedServer, startSimulatedServer } from "../../lib/simulated/server.ts";
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
  await using server = startSimulatedServer({ onRequest: (request) => seen.push(request) });
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
  await using server = startSimulatedServer();
  const input = "The value of variable a, please.\nVariable a = 4";
  const { output } = await answered(server, { model: "sim:planner", input });
  assertStringIncludes(JSON.stringify(output), '"a = 4"');
});

Deno.test("startSimulatedServer() answers both ways alike, step for step", async () => {
  const noisy = "sim:noisy?early=.2&stale=.2&arity=.2&hallucinate=.1&seed=4";
  for (const name of ["sim:planner", noisy]) {
    const requests: Record<string, ChatRequest[]> = { chat: [], responses: [] };
    const trials = await Promise.all((["chat", "responses"] as const).map(async (api) => {
      await using server = startSimulatedServer({
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
  await using server = startSimulatedServer({ onRequest: (request) => seen.push(request) });
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
    await using server = startSimulatedServer();
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
    await using server = startSimulatedServer();
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
    await using server = startSimulatedServer();
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
  await using server = startSimulatedServer();
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
  assertStringIncludes(await refused(server, { ...GOOD, model: "gpt-5" }, 404), "simulated model");
  const response = await fetch(`${server.url}/responses`);
  await response.body?.cancel();
  assertEquals(response.status, 405);
});

Deno.test("startSimulatedServer() takes every tool choice of responses", async () => {
  await using server = startSimulatedServer();
  const callsOf = async (tool_choice: JsonObject[string]) =>
    (await called(server, { tool_choice })).filter(({ type }) => type === "function_call").length;
  assertEquals(await callsOf("auto"), 1);
  assertEquals(await callsOf("none"), 0);
  assertEquals(await callsOf("required"), 1);
  assertEquals(await callsOf({ type: "function", name: "func_xyz" }), 1);
});
