import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  ADD,
  answering,
  asked,
  call,
  completion,
  CONVERSATION,
  EVERY_OPTION,
  type Received,
  refusedBy,
  serving,
} from "../../support/wire_servers.ts";
import { assertRequests, hasSchemas } from "../../support/openai_schemas.ts";

const sound = () => Response.json(completion());

// Requests.

Deno.test("openai() by chat sends the conversation and nothing that was not asked for", async () => {
  await using server = serving(sound);
  await server.model().reply(asked());
  const [{ path, body }] = server.received as [Received];
  assertEquals(path, "/v1/chat/completions");
  assertEquals(body, { model: "parrot", messages: [{ role: "user", content: "Hello" }] });
});

Deno.test("openai() by chat writes every kind of message as OpenAI takes it", async () => {
  await using server = serving(sound);
  await server.model().reply(asked({ messages: CONVERSATION }));
  const written = (id: string, text: string) => ({
    id,
    type: "function",
    function: { name: "add", arguments: text },
  });
  assertEquals(server.received[0]?.body["messages"], [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Add" },
    {
      role: "assistant",
      content: null,
      tool_calls: [written("a", '{"left":1}'), written("b", "no JSON")],
    },
    { role: "tool", tool_call_id: "a", content: '{"sum":1}' },
    { role: "tool", tool_call_id: "b", content: "error" },
    { role: "assistant", content: "Once more", tool_calls: [written("c", "{}")] },
    { role: "tool", tool_call_id: "c", content: "2" },
    { role: "assistant", content: "2" },
    { role: "user", content: "Sure?" },
  ]);
});

Deno.test("openai() by chat sends every option, zeros and false included", async () => {
  await using server = serving(sound);
  await server.model({ ...EVERY_OPTION, seed: 0 }).reply(asked({ tools: [ADD] }));
  const [{ body, headers }] = server.received as [Received];
  assertEquals(headers.get("x-team"), "gate");
  assertEquals(body, {
    model: "parrot",
    messages: [{ role: "user", content: "Hello" }],
    tools: [{ type: "function", function: { ...ADD } }],
    parallel_tool_calls: false,
    tool_choice: "required",
    temperature: 0,
    top_p: 0.5,
    max_completion_tokens: 100,
    reasoning_effort: "low",
    seed: 0,
  });
});

Deno.test("openai() by chat writes every tool choice as OpenAI takes it", async () => {
  await using server = serving(sound);
  for (const toolChoice of ["auto", "none", "required", { function: "add" }] as const) {
    await server.model({ toolChoice }).reply(asked({ tools: [ADD] }));
  }
  await server.model().reply(asked({ tools: [ADD] }));
  assertEquals(server.received.map(({ body }) => body["tool_choice"]), [
    "auto",
    "none",
    "required",
    { type: "function", function: { name: "add" } },
    undefined,
  ]);
});

Deno.test("openai() by chat builds bodies that OpenAI's request schema accepts", {
  ignore: !hasSchemas,
}, async () => {
  await using server = serving(sound);
  await server.model().reply(asked());
  await server.model({ ...EVERY_OPTION, seed: 0 }).reply(
    asked({ messages: CONVERSATION, tools: [ADD] }),
  );
  const { strict: _strict, ...lenient } = ADD;
  await server.model().reply(asked({ messages: CONVERSATION, tools: [lenient] }));
  const bodies = server.received.map(({ body }) => body);
  await assertRequests("CreateChatCompletionRequest", bodies, { model: "parrot", messages: [] });
});

// Replies.

Deno.test("openai() by chat reads a reply", async () => {
  await using server = serving(sound);
  const { duration, ...reply } = await server.model().reply(asked());
  assert(duration >= 0);
  assertEquals(reply, {
    text: "hello",
    calls: [],
    finish: "stop",
    usage: { inputTokens: 11, outputTokens: 7 },
    served: "parrot-2",
    repairs: [],
  });
});

Deno.test("openai() by chat maps the reasons to stop", async () => {
  const expected = {
    stop: "stop",
    length: "length",
    content_filter: "filter",
    eos: "other",
    constructor: "other",
  };
  for (const [reason, finish] of [...Object.entries(expected), [null, "other"] as const]) {
    const choices = [{ finish_reason: reason, message: { content: "x" } }];
    await using server = serving(answering(completion({}, { choices })));
    assertEquals((await server.model().reply(asked())).finish, finish);
  }
});

for (
  const [what, fields, choice] of [
    ["an error beside choices", { error: { message: "upstream died" } }, {}],
    ["an error in a choice", {}, { error: { message: "upstream died" } }],
    ["the finish reason error", {}, { finish_reason: "error" }],
    ["calls that are announced and absent", {}, { finish_reason: "tool_calls" }],
  ] as const
) {
  Deno.test(`openai() by chat retries a reply with ${what}`, async () => {
    const choices = [{ finish_reason: "stop", message: { content: "x" }, ...choice }];
    await using server = serving(answering(completion({}, { choices, ...fields })), sound);
    assertEquals((await server.model().reply(asked())).text, "hello");
    assertEquals(server.received.length, 2);
  });
}

Deno.test("openai() by chat takes a refusal's text for the text", async () => {
  await using server = serving(answering(completion({ content: null, refusal: "I will not" })));
  assertEquals((await server.model().reply(asked())).text, "I will not");
});

Deno.test("openai() by chat bears a reply without usage, model, content and finish reason", async () => {
  await using server = serving(answering({ choices: [{ message: {} }], stray: [1] }));
  const { duration: _duration, ...reply } = await server.model({ name: "mine" }).reply(asked());
  assertEquals(reply, {
    text: "",
    calls: [],
    finish: "other",
    usage: { inputTokens: 0, outputTokens: 0 },
    served: "",
    repairs: [],
  });
});

Deno.test("openai() by chat takes the id of a call, and none within its function", async () => {
  await using server = serving(answering(completion({
    tool_calls: [call({ id: "a" }, { id: "inner" }), call({ id: null }, { id: "inner" })],
  })));
  const { calls } = await server.model().reply(asked());
  assertEquals(calls, [
    { id: "a", name: "add", arguments: "{}" },
    { id: "call_2", name: "add", arguments: "{}" },
  ]);
});

// Replies that cannot be used.

const choice = (message: unknown) => ({ choices: [{ finish_reason: "stop", message }] });

for (
  const [what, answer, reason] of [
    ["no choices", answering({ model: "parrot" }), /choices: /],
    ["empty choices", answering({ choices: [] }), /choices: .*at least one/],
    ["choices that are no array", answering({ choices: {} }), /choices: /],
    ["a choice without a message", answering({ choices: [{}] }), /choices\[0\]\.message: /],
    ["a message of null", answering(choice(null)), /choices\[0\]\.message: /],
    ["content that is no text", answering(choice({ content: 4 })), /message\.content: /],
    ["calls that are no array", answering(choice({ tool_calls: {} })), /message\.tool_calls: /],
    ["a call without a function", answering(choice({ tool_calls: [{ id: "x" }] })), /function: /],
    [
      "a name that is no text",
      answering(choice({ tool_calls: [call({}, { name: 7 })] })),
      /function\.name: /,
    ],
    [
      "an id that is no text",
      answering(choice({ tool_calls: [call({ id: 7 })] })),
      /tool_calls\[0\]\.id: /,
    ],
    [
      "arguments that are an array",
      answering(choice({ tool_calls: [call({}, { arguments: [] })] })),
      /function\.arguments: .*string or object/,
    ],
    [
      "arguments that are a number",
      answering(choice({ tool_calls: [call({}, { arguments: 7 })] })),
      /function\.arguments: /,
    ],
    [
      "usage that is no number",
      answering(completion({}, { usage: { prompt_tokens: "3" } })),
      /usage\.prompt_tokens: /,
    ],
  ] as const
) {
  Deno.test(`openai() by chat says what is wrong with ${what}`, async () => {
    await using server = serving(answer);
    assertMatch((await refusedBy(server, { retries: 0 })).message, reason);
  });
}
