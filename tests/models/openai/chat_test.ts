import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  defined,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../../../lib/base/json.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import type { OpenAIOptions } from "../../../lib/models/openai/openai.ts";
import { unreadableReply } from "../../../lib/models/openai/reading.ts";
import type { Message } from "../../../lib/tools/message.ts";
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
  response,
  serving,
  status,
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

Deno.test("openai() by chat writes every kind of message as OpenAI takes it (Indirection, How Function Calls Work)", async () => {
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
      tool_calls: [written("a", '{"left":1}'), written("b", '{"unreadable":"no JSON"}')],
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
  // That of a simulated user, where servers are known to take one.
  await server.model({ seed: 0 }).reply({ ...asked(), seed: 7 });
  await server.model().reply({ ...asked(), seed: 7 });
  assertEquals(server.received.slice(1).map((one) => one.body["seed"]), [7, undefined]);
});

Deno.test("openai() by chat writes every tool choice as OpenAI takes it (Indirection, Inflexible)", async () => {
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

Deno.test(
  "openai() by chat builds bodies that OpenAI's request schema accepts (Pipeline, Structured Output for Tool Invocation)",
  {
    ignore: !hasSchemas,
  },
  async () => {
    await using server = serving(sound);
    await server.model().reply(asked());
    await server.model({ ...EVERY_OPTION, seed: 0 }).reply(
      asked({ messages: CONVERSATION, tools: [ADD] }),
    );
    const { strict: _strict, ...lenient } = ADD;
    await server.model().reply(asked({ messages: CONVERSATION, tools: [lenient] }));
    const bodies = server.received.map(({ body }) => body);
    await assertRequests("CreateChatCompletionRequest", bodies, { model: "parrot", messages: [] });
  },
);

// Replies.

Deno.test("openai() by chat maps the reasons to stop", async () => {
  const expected = {
    stop: "stop",
    length: "length",
    content_filter: "filter",
    eos: "stop",
    constructor: "other",
  };
  for (const [reason, finish] of [...Object.entries(expected), [null, "other"] as const]) {
    const choices = [{ finish_reason: reason, message: { content: "x" } }];
    await using server = serving(answering(completion({}, { choices })));
    assertEquals((await server.model().reply(asked())).finish, finish);
  }
});

for (
  const [what, fault, choice] of [
    ["an error in a choice", "unclear", { error: { message: "upstream died" } }],
    ["the finish reason error", "unclear", { finish_reason: "error" }],
    [
      "a server that ran out of resources",
      "infrastructure",
      { finish_reason: "insufficient_system_resource" },
    ],
    ["a server that gave up", "unclear", { finish_reason: "abort" }],
  ] as const
) {
  Deno.test(`openai() by chat may ask again after ${what}, and knows the cause`, async () => {
    const choices = [{ finish_reason: "stop", message: { content: "x" }, ...choice }];
    await using server = serving(answering(completion({}, { choices })));
    const refused = await refusedBy(server, { retries: 0 });
    assertEquals([refused.fault, refused.retryable], [fault, true]);
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
    // {"messages":[{"role":"user","content":"Hello"}],"tools":[]} and ["",[]].
    usage: { inputTokens: 15, outputTokens: 2, estimated: true },
    served: "",
    repairs: [],
  });
});

Deno.test("openai() by chat estimates tokens that a server does not count", async () => {
  const text = "é".repeat(1_000);
  const usages = [undefined, null, {}, { prompt_tokens: 5 }, {
    prompt_tokens: 0,
    completion_tokens: 0,
  }];
  for (const usage of usages) {
    await using server = serving(
      answering(completion({ content: text }, { usage: usage as never })),
    );
    const messages = [{ role: "user" as const, content: "x".repeat(4_000) }];
    const reply = await server.model().reply(asked({ messages, tools: [ADD] }));
    const { inputTokens, outputTokens, estimated } = reply.usage;
    assertEquals(estimated, true);
    assert(inputTokens > 1_000 + JSON.stringify(ADD).length / 4 && inputTokens < 1_200);
    assertEquals(outputTokens, Math.ceil((2_000 + '["",[]]'.length) / 4));
  }
  await using server = serving(answering(completion()));
  assertEquals((await server.model().reply(asked())).usage, { inputTokens: 11, outputTokens: 7 });
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

Deno.test("openai() by chat reads a content of parts: what is said, and none of the thinking", async () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "One and one." }] };
  const table: [content: JsonValue[], text: string][] = [
    [[thinking, { type: "text", text: "2" }], "2"],
    [
      [{ type: "text", text: "It is " }, { type: "image_url", image_url: { url: "x" } }, "2"],
      "It is 2",
    ],
    [[{ text: "2" }, { type: "reference", reference_ids: [1] }, null, 7], "2"],
    [[{ type: "refusal", refusal: "I will not" }], "I will not"],
    [[{ type: "reasoning", text: "One and one." }, { type: "text", text: "2" }], "2"],
    [[thinking], ""],
    [[], ""],
  ];
  for (const [content, text] of table) {
    await using server = serving(answering(completion({ content })));
    assertEquals((await server.model({ retries: 0 }).reply(asked())).text, text);
  }
});

Deno.test("openai() by chat reads the one call of OpenAI's first API, and none that is empty", async () => {
  const legacy = { name: "add", arguments: '{"left":1}' };
  const one = [{ id: "call_1", name: "add", arguments: '{"left":1}' }];
  const table: [function_call: JsonValue, finish_reason: string, calls: unknown[], text: string][] =
    [
      [legacy, "function_call", one, ""],
      [legacy, "stop", one, ""],
      [{ name: "", arguments: "" }, "stop", [], "hello"],
      [{}, "stop", [], "hello"],
      [null, "stop", [], "hello"],
    ];
  for (const [function_call, finish_reason, calls, content] of table) {
    const choices = [{ finish_reason, message: { content, function_call } }];
    await using server = serving(answering(completion({}, { choices })));
    const reply = await server.model({ retries: 0 }).reply(asked({ tools: [ADD] }));
    // It has no id by its form: to be without one is no slip.
    assertEquals([reply.calls, reply.text, reply.repairs], [calls, content, []]);
    assertEquals(reply.parsed, calls.length === 0 ? undefined : "strict");
  }
  // Some servers send it beside the others.
  const both = { content: null, tool_calls: [call({ id: "a" })], function_call: legacy };
  await using server = serving(answering(completion(both)));
  assertEquals((await server.model().reply(asked())).calls.map(({ id }) => id), ["a"]);
});

// Calls that the server could not read: replies of the model, which are not asked for again.

const GEMINI = "Malformed function call: print(default_api.add(left='one'))";

for (
  const [what, fields, expected] of [
    [
      "Gemini's finish reason",
      { finish_reason: "function_call_filter: MALFORMED_FUNCTION_CALL", message: { content: "" } },
      { name: "", arguments: "" },
    ],
    [
      "Gemini's finish reason, and what was written",
      {
        finish_reason: "MALFORMED_FUNCTION_CALL",
        finish_message: GEMINI,
        message: { role: "assistant" },
      },
      { name: "add", arguments: GEMINI, written: GEMINI },
    ],
    [
      "Gemini's finish reason behind OpenRouter",
      {
        finish_reason: "error",
        native_finish_reason: "MALFORMED_FUNCTION_CALL",
        error: { code: 502, message: "Provider returned error" },
        message: { content: "" },
      },
      { name: "", arguments: "" },
    ],
    [
      "calls that are announced and absent",
      { finish_reason: "tool_calls", message: { content: null } },
      { name: "", arguments: "" },
    ],
    [
      "calls that are announced and stand in the text",
      {
        finish_reason: "tool_calls",
        message: { content: '<function=add>{"left": 1}</function>', tool_calls: [] },
      },
      {
        text: '<function=add>{"left": 1}</function>',
        name: "add",
        arguments: '<function=add>{"left": 1}</function>',
        written: '<function=add>{"left": 1}</function>',
      },
    ],
  ] as [
    what: string,
    fields: JsonObject,
    expected: { text?: string; name: string; arguments: string; written?: string },
  ][]
) {
  Deno.test(`openai() by chat takes ${what} for an unreadable call, and asks no second time`, async () => {
    const { text = "", written, ...one } = expected;
    await using server = serving(answering(completion({}, { choices: [fields] })), sound);
    const { duration: _, ...reply } = await server.model().reply(asked({ tools: [ADD] }));
    assertEquals(reply, {
      text,
      calls: [{ id: "call_1", ...one }],
      finish: "calls",
      usage: { inputTokens: 11, outputTokens: 7 },
      served: "parrot-2",
      repairs: [],
      parsed: "unreadable",
      ...(written === undefined ? {} : { written }),
    });
    assertEquals(server.received.length, 1);
  });
}

Deno.test("openai() by chat takes what is announced to a model without functions for the text", async () => {
  const choices = [{ finish_reason: "tool_calls", message: { content: "Action: add" } }];
  await using server = serving(answering(completion({}, { choices })));
  const { text, calls } = await server.model({ retries: 0 }).reply(asked());
  assertEquals([text, calls], ["Action: add", []]);
});

Deno.test("unreadableReply() finds the function in what was generated", () => {
  const tools = ["add", "get_weather", "get"].map((name) => ({ ...ADD, name }));
  const source = { tools, hide: (text: string) => text };
  const table: [generated: string, name: string, written: string][] = [
    // Groq's failed_generation, in Llama's form and as JSON.
    [
      '<function=get_weather{"city": "Bern"}</function>',
      "get_weather",
      '<function=get_weather{"city": "Bern"}</function>',
    ],
    ["<function=get_weather>{city: Bern}</function>", "get_weather", "{city: Bern}"],
    ['<function(add){"left": }', "add", '{"left": }'],
    ['[{"name": "add", "parameters": {"left": one}}]', "add", '{"left": one}}]'],
    // Ollama's raw text.
    ['{"name": "add", "arguments": {"left": 1}}', "add", JSON.stringify('{"left": 1}')],
    ['{"name": "invented", "arguments": {"a": ', "invented", '{"a":'],
    [
      "print(default_api.get_weather(city='Bern'))",
      "get_weather",
      "print(default_api.get_weather(city='Bern'))",
    ],
    ["I forget it.", "", "I forget it."],
    ["", "", ""],
  ];
  for (const [generated, name, written] of table) {
    const { calls, written: kept, parsed } = unreadableReply(generated, source);
    assertEquals(calls, [{ id: "call_1", name, arguments: written }]);
    assertEquals([kept ?? "", parsed], [generated, "unreadable"]);
    assert(!isJsonObject(parseJson(calls[0]!.arguments)), "it must not be carried out");
  }
  const second = unreadableReply("", { ...source, isTaken: (id) => id === "call_1" });
  assertEquals(second.calls[0]?.id, "call_1_2");
});

// What servers add to messages, and expect back.

const THOUGHT = { type: "thinking", thinking: [{ type: "text", text: "I add" }] };
const SIGNED = { google: { thought_signature: "sig" } };
const DETAILS: JsonObject[] = [
  { type: "reasoning.text", text: "I add", signature: "s", id: null, index: 0 },
  { type: "reasoning.encrypted", data: "xx", id: "one", index: 1 },
  { type: "reasoning.encrypted", data: "yy", id: "two", index: 2 },
];
const TWO_CALLS = [
  { ...call({ id: "one" }), extra_content: SIGNED, index: 0 },
  call({ id: "two" }),
];

type Said = Extract<Message, { role: "assistant" }>;

/** What becomes of a server's message when it is sent back, after `change`. */
async function sentBack(
  message: JsonObject,
  change: (said: Said, host: string) => Said = (said) => said,
  options: Partial<OpenAIOptions> = {},
): Promise<JsonObject> {
  await using server = serving(answering(completion(message)), sound);
  const { text: content, calls, carried } = await server.model().reply(asked());
  const said = { role: "assistant" as const, content, calls, ...defined({ carried }) };
  const messages = [{ role: "user" as const, content: "Add" }, change(said, server.host)];
  await server.model(options).reply(asked({ messages }));
  return (server.received[1]!.body["messages"] as JsonObject[])[1]!;
}

Deno.test("openai() by chat sends back what its server has added to a message", async () => {
  const { index: _, ...first } = TWO_CALLS[0]!;
  const tool_calls = [first, TWO_CALLS[1]!];
  const table: [message: JsonObject, sent: JsonObject][] = [
    [{ content: "2", reasoning_content: "I add" }, { content: "2", reasoning_content: "I add" }],
    // A server may ask for one that it left empty.
    [{ content: "2", reasoning_content: "" }, { content: "2", reasoning_content: "" }],
    [
      { content: null, reasoning_content: "I add", tool_calls: TWO_CALLS },
      { content: null, reasoning_content: "I add", tool_calls },
    ],
    [
      { content: "", reasoning: "I add", reasoning_details: DETAILS, tool_calls: TWO_CALLS },
      { content: null, reasoning: "I add", reasoning_details: DETAILS, tool_calls },
    ],
    [{ content: "2", extra_content: SIGNED }, { content: "2", extra_content: SIGNED }],
    [{ content: [THOUGHT, part("2")] }, { content: [THOUGHT, part("2")] }],
    [
      { content: [THOUGHT], tool_calls: [TWO_CALLS[1]!] },
      { content: [THOUGHT], tool_calls: [TWO_CALLS[1]!] },
    ],
    // Nothing else goes back.
    [{ content: [part("2")], reasoning: null, annotations: [], refusal: null }, { content: "2" }],
    [{ content: "2", extra_content: {}, reasoning_details: [] }, { content: "2" }],
  ];
  for (const [message, sent] of table) {
    assertEquals(await sentBack(message), { role: "assistant", ...sent });
  }
});

const part = (text: string) => ({ type: "text", text });

const EVERYTHING = {
  content: [THOUGHT, part("I add")],
  reasoning_content: "I add",
  reasoning_details: DETAILS,
  extra_content: SIGNED,
  tool_calls: TWO_CALLS,
};

Deno.test("openai() by chat sends to no other model or host what one has added", async () => {
  const bare = {
    role: "assistant",
    content: "I add",
    tool_calls: [call({ id: "one" }), call({ id: "two" })],
  };
  assertEquals(await sentBack(EVERYTHING, undefined, { model: "other" }), bare);
  const as = (by: string) => (said: Said) => ({ ...said, carried: { ...said.carried!, by } });
  assertEquals(await sentBack(EVERYTHING, as("parrot at elsewhere")), bare);
  assertEquals(await sentBack(EVERYTHING, as("other")), bare);
  // Recordings name the model alone.
  assertEquals((await sentBack(EVERYTHING, as("parrot")))["extra_content"], SIGNED);
});

Deno.test("openai() sends nothing from one API back by the other", async () => {
  const said = { content: "2", reasoning_content: "I add" };
  await using server = serving(answering(completion(said)), answering(response()), sound);
  const messages: Message[] = [{ role: "user", content: "Add" }];
  for (const api of ["chat", "responses", "chat"] as const) {
    const { text: content, carried } = await server.model({ api }).reply(asked({ messages }));
    messages.push({ role: "assistant", content, calls: [], ...defined({ carried }) });
  }
  const [, second, third] = server.received.map(({ body }) => body);
  assertEquals((second!["input"] as JsonObject[]).slice(1), [{ role: "assistant", content: "2" }]);
  assertEquals((third!["messages"] as JsonObject[]).slice(1), [
    { role: "assistant", ...said },
    { role: "assistant", content: "hello" },
  ]);
});

Deno.test("openai() by chat sends back nothing of dropped calls, and says what a message says now", async () => {
  const without = (...ids: string[]) => (said: Said) => ({
    ...said,
    calls: said.calls.filter(({ id }) => !ids.includes(id)),
  });
  const one = await sentBack(EVERYTHING, without("two"));
  assertEquals([one["tool_calls"] as JsonObject[], one["reasoning_details"]], [
    [{ ...call({ id: "one" }), extra_content: SIGNED }],
    DETAILS.slice(0, 2),
  ]);
  assertEquals(await sentBack(EVERYTHING, without("one", "two")), {
    role: "assistant",
    content: "I add",
  });
  const mended = await sentBack(EVERYTHING, (said) => ({
    ...said,
    content: "I multiply",
    calls: [{ ...said.calls[0]!, arguments: '{"left":2}' }, said.calls[1]!],
  }));
  assertEquals(mended["content"], [THOUGHT, part("I multiply")]);
  assertEquals((mended["tool_calls"] as JsonObject[])[0], {
    ...call({ id: "one" }, { arguments: '{"left":2}' }),
    extra_content: SIGNED,
  });
});

Deno.test("openai() by chat keeps reasoning with the call that it belongs to, under its new id", async () => {
  await using server = serving(answering(completion({
    content: null,
    reasoning_details: [DETAILS[1]!],
    tool_calls: [call({ id: "one" })],
  })));
  const earlier: Message = {
    role: "assistant",
    content: "",
    calls: [{ id: "one", name: "add", arguments: "{}" }],
  };
  const { calls, carried } = await server.model().reply(asked({ messages: [earlier] }));
  assertEquals(calls[0]?.id, "call_1");
  assertEquals(carried?.items[0]?.["reasoning_details"], [{ ...DETAILS[1]!, id: "call_1" }]);
});

for (
  const [whose, code, message] of [
    [
      "Groq",
      400,
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported, did you mean 'role'?)]",
    ],
    [
      "Mistral",
      422,
      '[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning"],"msg":"Extra inputs are not permitted"}]',
    ],
  ] as const
) {
  Deno.test(`openai() by chat takes no field back to a server that refuses it as ${whose} does`, async () => {
    const refusing = status(code, { error: { message } });
    const said = { content: "2", reasoning: "I add", reasoning_content: "I add" };
    await using server = serving(answering(completion(said)), refusing, sound);
    const model = server.model({ retries: 0 });
    const { text: content, carried } = await model.reply(asked());
    const messages: Message[] = [{
      role: "assistant",
      content,
      calls: [],
      ...defined({ carried }),
    }];
    assertEquals((await model.reply(asked({ messages }))).text, "hello");
    await model.reply(asked({ messages }));
    const sent = server.received.slice(1).map(({ body }) => body["messages"]);
    const { reasoning: _, ...accepted } = said;
    assertEquals(sent, [said, accepted, accepted].map((one) => [{ role: "assistant", ...one }]));
  });
}

Deno.test("openai() by chat does not ask again when a server misses a field, or refuses another", async () => {
  for (
    const message of [
      "The reasoning_content in the thinking mode must be passed back to the API.",
      "property 'temperature' is unsupported",
      "property 'extra_content' is unsupported",
    ]
  ) {
    const said = { content: "2", reasoning_content: "I add" };
    await using server = serving(answering(completion(said)), status(400, { error: { message } }));
    const { text: content, carried } = await server.model().reply(asked());
    const messages: Message[] = [{
      role: "assistant",
      content,
      calls: [],
      ...defined({ carried }),
    }];
    await assertRejects(() => server.model().reply(asked({ messages })), InfrastructureError);
    assertEquals(server.received.length, 2);
  }
});

Deno.test("openai() by chat refuses to carry what nests without end", async () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 200; level++) deep = { "0": deep };
  await using server = serving(answering(completion({ content: "2", extra_content: deep })));
  assertMatch((await refusedBy(server, { retries: 0 })).message, /its fields nest too deep/);
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
      "an id that is neither text nor number",
      answering(choice({ tool_calls: [call({ id: {} })] })),
      /tool_calls\[0\]\.id: /,
    ],
  ] as const
) {
  Deno.test(`openai() by chat says what is wrong with ${what}`, async () => {
    await using server = serving(answer);
    assertMatch((await refusedBy(server, { retries: 0 })).message, reason);
  });
}
