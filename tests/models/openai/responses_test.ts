import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { openai } from "../../../lib/models/openai/openai.ts";
import {
  ADD,
  answering,
  asked,
  callItem,
  CONVERSATION,
  EVERY_OPTION,
  KEY,
  type Received,
  refusedBy,
  response,
  said,
  serversOf,
} from "../../support/wire_servers.ts";
import { assertRequests, hasSchemas } from "../../support/openai_schemas.ts";

const { serving } = serversOf("responses");
const sound = () => Response.json(response());

// Requests.

Deno.test("openai() by responses sends the conversation and nothing that was not asked for", async () => {
  await using server = serving(sound);
  await server.model().reply(asked());
  const [{ path, body }] = server.received as [Received];
  assertEquals(path, "/v1/responses");
  assertEquals(body, { model: "parrot", input: [{ role: "user", content: "Hello" }] });
});

Deno.test("openai() by responses writes every kind of message as OpenAI takes it", async () => {
  await using server = serving(sound);
  await server.model().reply(asked({ messages: CONVERSATION }));
  const written = (id: string, text: string) => ({
    type: "function_call",
    call_id: id,
    name: "add",
    arguments: text,
  });
  const answered = (id: string, text: string) => ({
    type: "function_call_output",
    call_id: id,
    output: text,
  });
  assertEquals(server.received[0]?.body["input"], [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Add" },
    written("a", '{"left":1}'),
    written("b", '{"unreadable":"no JSON"}'),
    answered("a", '{"sum":1}'),
    answered("b", "error"),
    { role: "assistant", content: "Once more" },
    written("c", "{}"),
    answered("c", "2"),
    { role: "assistant", content: "2" },
    { role: "user", content: "Sure?" },
  ]);
});

Deno.test("openai() by responses sends every option, zeros and false included", async () => {
  await using server = serving(sound);
  await server.model(EVERY_OPTION).reply(asked({ tools: [ADD] }));
  const [{ body, headers }] = server.received as [Received];
  assertEquals(headers.get("x-team"), "gate");
  assertEquals(body, {
    model: "parrot",
    input: [{ role: "user", content: "Hello" }],
    tools: [{ type: "function", ...ADD }],
    parallel_tool_calls: false,
    tool_choice: "required",
    temperature: 0,
    top_p: 0.5,
    max_output_tokens: 100,
    reasoning: { effort: "low" },
    store: false,
    include: ["reasoning.encrypted_content"],
  });
});

Deno.test("openai() by responses asks for what was reasoned where something is", async () => {
  await using server = serving(sound);
  await server.model().reply(asked());
  await server.model({ reasoningEffort: "none" }).reply(asked());
  await server.model({ reasoningEffort: "minimal", body: { store: true } }).reply(asked());
  const sent = server.received.map(({ body: { reasoning, store, include } }) => [
    reasoning,
    store,
    include,
  ]);
  assertEquals(sent, [
    [undefined, undefined, undefined],
    [{ effort: "none" }, undefined, undefined],
    [{ effort: "minimal" }, true, ["reasoning.encrypted_content"]],
  ]);
});

Deno.test("openai() by responses says of every tool whether it is strict", async () => {
  await using server = serving(sound);
  const { strict: _, ...lenient } = ADD;
  const told = { ...lenient, strict: false, examples: [{ left: 1 }] };
  await server.model().reply(asked({ tools: [ADD, lenient, told] }));
  const tools = server.received[0]!.body["tools"] as JsonObject[];
  assertEquals(tools.map(({ strict }) => strict), [true, false, false]);
  assertEquals(tools.map(({ description }) => description), [
    "Adds",
    "Adds",
    'Adds\nExample: {"left":1}',
  ]);
});

Deno.test("openai() by responses writes every tool choice as OpenAI takes it", async () => {
  await using server = serving(sound);
  for (const toolChoice of ["auto", "none", "required", { function: "add" }] as const) {
    await server.model({ toolChoice }).reply(asked({ tools: [ADD] }));
  }
  await server.model().reply(asked({ tools: [ADD] }));
  assertEquals(server.received.map(({ body }) => body["tool_choice"]), [
    "auto",
    "none",
    "required",
    { type: "function", name: "add" },
    undefined,
  ]);
});

Deno.test("openai() by responses refuses a seed, which responses do not have", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  assertEquals(
    assertThrows(() => openai({ ...options, api: "responses", seed: 0 }), InputError).message,
    "Cannot use the options of openai():\n  at seed: responses take no seed: leave it out",
  );
  openai({ ...options, api: "chat", seed: 0 });
});

Deno.test(
  "openai() by responses builds bodies that OpenAI's request schema accepts (Pipeline, Structured Output for Tool Invocation)",
  {
    ignore: !hasSchemas,
  },
  async () => {
    await using server = serving(sound);
    await server.model().reply(asked());
    await server.model(EVERY_OPTION).reply(asked({ messages: CONVERSATION, tools: [ADD] }));
    const { strict: _strict, ...lenient } = ADD;
    await server.model().reply(asked({ messages: CONVERSATION, tools: [lenient] }));
    await server.model().reply(asked({ messages: [USER, await replied(REASONED), ...DONE] }));
    const bodies = server.received.map(({ body }) => body);
    await assertRequests("CreateResponse", bodies, { model: "parrot", input: [{ role: 7 }] });
  },
);

// Replies.

Deno.test("openai() by responses says why a reply ended", async () => {
  const call = [callItem()];
  const table: [more: JsonObject, output: JsonObject[] | undefined, finish: string][] = [
    [{}, undefined, "stop"],
    [{}, call, "calls"],
    [{}, [], "stop"],
    [incomplete("max_output_tokens"), undefined, "length"],
    [incomplete("max_output_tokens"), call, "length"],
    [incomplete("content_filter"), undefined, "filter"],
    [incomplete("constructor"), undefined, "other"],
    [incomplete(null), undefined, "other"],
    [{ status: "incomplete", incomplete_details: null }, undefined, "other"],
    [{ status: null }, undefined, "other"],
    [{ status: "eos" }, call, "other"],
  ];
  for (const [more, output, finish] of table) {
    await using server = serving(answering(response(output, more)));
    const reply = await server.model().reply(asked());
    assertEquals(reply.finish, finish, JSON.stringify(more));
    assertEquals(reply.calls.length, output === call ? 1 : 0);
  }
});

function incomplete(reason: string | null): JsonObject {
  return { status: "incomplete", incomplete_details: { reason } };
}

for (
  const [what, more, reason] of [
    ["that failed", { status: "failed", error: { code: "x", message: "No GPU" } }, /No GPU/],
    ["that failed without a word", { status: "failed" }, /no more is said/],
    ["with an error", { error: { message: "died" } }, /died/],
    ["that is queued", { status: "queued" }, /its status is queued/],
    ["that goes on", { status: "in_progress" }, /its status is in_progress/],
    ["that was cancelled", { status: "cancelled" }, /its status is cancelled/],
    ["without output", { output: null }, /at output: /],
    ["with output that is text", { output: "hello" }, /at output: /],
    ["with an item that is text", { output: [said("x"), "hello"] }, /at output\[1\]: /],
    ["with an item of null", { output: [null] }, /at output\[0\]: /],
    [
      "with content that is a number",
      { output: [said("", { content: 4 })] },
      /output\[0\]\.content: /,
    ],
    [
      "with content of numbers",
      { output: [said("", { content: [4] })] },
      /output\[0\]\.content: .*array of texts/,
    ],
    ["with a text that is none", { output: [said("", { content: [part(4)] })] }, /content: /],
    [
      "with a call whose name is none",
      { output: [said("x"), callItem({ name: 7 })] },
      /output\[1\]\.name: /,
    ],
    ["with a status that is no text", { status: 7 }, /at status: /],
  ] as [string, JsonObject, RegExp][]
) {
  Deno.test(`openai() by responses says why it cannot use a reply ${what}`, async () => {
    await using server = serving(answering(response(undefined, more)));
    assertMatch((await refusedBy(server, { retries: 0 })).message, reason);
  });
}

function part(text: JsonObject[string]): JsonObject {
  return { type: "output_text", text };
}

Deno.test("openai() by responses reads what is said in all messages, and in their parts", async () => {
  const refusal = { type: "refusal", refusal: "I will not" };
  const table: [output: JsonObject[], text: string][] = [
    [[], ""],
    [[said("a"), said("b")], "ab"],
    [[said("", { content: [part("a"), refusal, { type: "sound", text: "x" }, part("b")] })], "ab"],
    [[said("", { content: [refusal] })], "I will not"],
    [[said("", { content: [] }), said("", { content: null })], ""],
    [[said("", { content: "as text" })], "as text"],
    [[{ type: "reasoning", id: "r", summary: [{ type: "summary_text", text: "x" }] }], ""],
  ];
  for (const [output, text] of table) {
    await using server = serving(answering(response(output)));
    assertEquals((await server.model().reply(asked())).text, text);
  }
});

Deno.test("openai() by responses bears items that it does not know, and absent fields", async () => {
  const odd = [
    { type: "web_search_call", name: 7, call_id: 7, content: 7 },
    {},
    { type: null, name: "add" },
    { type: "custom_tool_call", call_id: "y", name: "x", input: "1" },
  ] as JsonObject[];
  await using server = serving(answering({ output: [...odd, said("x")], stray: [1] }));
  const { duration: _, carried, ...reply } = await server.model().reply(asked());
  assertEquals(reply, {
    text: "x",
    calls: [],
    finish: "other",
    usage: {
      inputTokens: 15,
      // What is carried holds the text, and is longer.
      outputTokens: Math.ceil(JSON.stringify([...odd, said("x")]).length / 4),
      estimated: true,
    },
    served: "",
    repairs: [],
  });
  assertEquals(carried?.items, [...odd, said("x")]);
});

Deno.test("openai() by responses carries nothing of an empty reply", async () => {
  await using server = serving(answering(response([])));
  assertEquals("carried" in await server.model().reply(asked()), false);
});

Deno.test("openai() by responses refuses to carry what nests without end", async () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 200; level++) deep = { "0": deep };
  await using server = serving(answering(response([{ type: "reasoning", deep }])));
  assertMatch((await refusedBy(server, { retries: 0 })).message, /its items nest too deep/);
});

// What goes back.

const USER: Message = { role: "user", content: "Add" };

function reasoning(id: string): JsonObject {
  return { id, type: "reasoning", summary: [], encrypted_content: `secret of ${id}` };
}

const ONE = callItem({ id: "fc_1", call_id: "one", arguments: '{"left":1}' });
const TWO = callItem({ id: "fc_2", call_id: "two", arguments: '{"left":2}' });
const TEXT = said("I add", { phase: "commentary" });
const REASONED = [reasoning("rs_1"), TEXT, ONE, TWO];

const DONE: Message[] = [
  { role: "tool", callId: "one", name: "add", content: "1" },
  { role: "tool", callId: "two", name: "add", content: "2" },
];

type Said = Extract<Message, { role: "assistant" }>;

/** The message that such a reply becomes. */
async function replied(output: readonly JsonObject[], model = "parrot"): Promise<Said> {
  await using server = serving(answering(response(output)));
  const { text, calls, carried } = await server.model({ model }).reply(asked());
  assert(carried !== undefined);
  // As if the same server had answered all the time.
  return {
    role: "assistant",
    content: text,
    calls,
    carried: { ...carried, by: `${model} at HOST` },
  };
}

/** The items of the assistant that a request sends when a conversation holds the message. */
async function sentBack(message: Said, model = "parrot"): Promise<unknown[]> {
  await using server = serving(sound);
  const by = message.carried?.by.replace("HOST", server.host) ?? "";
  const { carried, ...rest } = message;
  const own = carried === undefined ? {} : { carried: { ...carried, by } };
  const messages: Message[] = [USER, { ...rest, ...own }, USER];
  await server.model({ model }).reply(asked({ messages }));
  const input = server.received[0]!.body["input"] as unknown[];
  assertEquals([input[0], input.at(-1)], [USER, USER]);
  return input.slice(1, -1);
}

function plain(item: JsonObject, more: JsonObject = {}): JsonObject {
  const { type, call_id, name, arguments: written } = item;
  return { type: type!, call_id: call_id!, name: name!, arguments: written!, ...more };
}

Deno.test("openai() by responses carries the items of a reply as they came", async () => {
  const { carried } = await replied(REASONED);
  assertEquals(carried?.items, REASONED);
  assertEquals(await sentBack(await replied(REASONED)), REASONED);
});

Deno.test("openai() by responses carries items that it does not know", async () => {
  const search = { id: "ws_1", type: "web_search_call", status: "completed" };
  const output = [reasoning("rs_1"), search, reasoning("rs_2"), ONE];
  assertEquals(await sentBack(await replied(output)), output);
});

Deno.test("openai() by responses knows its own by model and host", async () => {
  await using server = serving(answering(response(REASONED)));
  const { carried } = await server.model().reply(asked());
  assertEquals(carried?.by, `parrot at ${server.host}`);
});

Deno.test("openai() by responses carries nothing to another model or host", async () => {
  const message = await replied(REASONED);
  const expected = [{ role: "assistant", content: "I add" }, plain(ONE), plain(TWO)];
  assertEquals(await sentBack(message, "other"), expected);
  const { items } = message.carried!;
  const elsewhere = { ...message, carried: { by: "parrot at elsewhere", items } };
  assertEquals(await sentBack(elsewhere), expected);
  const { carried: _, ...bare } = message;
  assertEquals(await sentBack(bare), expected);
});

Deno.test("openai() by responses takes back what a recording has of its model, which knows no host", async () => {
  const message = await replied(REASONED);
  const { items } = message.carried!;
  assertEquals(await sentBack({ ...message, carried: { by: "parrot", items } }), REASONED);
  const other = await sentBack({ ...message, carried: { by: "parrot", items } }, "other");
  assertEquals(other, [{ role: "assistant", content: "I add" }, plain(ONE), plain(TWO)]);
});

Deno.test("openai() by responses writes a call anew that was mended, without the id of the item", async () => {
  const message = await replied(REASONED);
  const [one, two] = message.calls;
  const mended = { ...message, calls: [one!, { ...two!, arguments: '{"left":3}' }] };
  assertEquals(await sentBack(mended), [
    reasoning("rs_1"),
    TEXT,
    ONE,
    plain(TWO, { arguments: '{"left":3}' }),
  ]);
  const renamed = { ...message, calls: [{ ...one!, name: "sum" }, two!] };
  assertEquals(await sentBack(renamed), [
    reasoning("rs_1"),
    TEXT,
    plain(ONE, { name: "sum" }),
    TWO,
  ]);
});

Deno.test("openai() by responses leaves out calls that were dropped, and what led to them alone", async () => {
  const [rs1, rs2] = [reasoning("rs_1"), reasoning("rs_2")];
  const table: [output: JsonObject[], kept: string[], back: JsonObject[]][] = [
    [[rs1, ONE, TWO], ["two"], [rs1, TWO]],
    [[rs1, ONE, TWO], ["one"], [rs1, ONE]],
    [[rs1, ONE, TWO], [], []],
    [[rs1, ONE, rs2, TWO], ["two"], [rs2, TWO]],
    [[rs1, ONE, rs2, TWO], ["one"], [rs1, ONE]],
    [[rs1, rs2, ONE], ["one"], [rs1, rs2, ONE]],
    [[reasoning("rs_0"), ONE, rs1, rs2, TWO], ["two"], [rs1, rs2, TWO]],
    [[rs1, TEXT, ONE, rs2, TWO], [], [rs1, TEXT]],
    [[ONE, rs1], ["one"], [ONE]],
  ];
  for (const [output, kept, back] of table) {
    const message = await replied(output);
    const calls = message.calls.filter(({ id }) => kept.includes(id));
    assertEquals(await sentBack({ ...message, calls }), back);
  }
});

Deno.test("openai() by responses adds calls that the reply did not make, at its end", async () => {
  const message = await replied([reasoning("rs_1"), ONE]);
  const added = { id: "own", name: "add", arguments: "{}" };
  assertEquals(await sentBack({ ...message, calls: [added, ...message.calls] }), [
    reasoning("rs_1"),
    ONE,
    { type: "function_call", call_id: "own", name: "add", arguments: "{}" },
  ]);
});

Deno.test("openai() by responses says what a message says now", async () => {
  const message = await replied(REASONED);
  assertEquals(await sentBack({ ...message, content: "I multiply" }), [
    { role: "assistant", content: "I multiply" },
    reasoning("rs_1"),
    ONE,
    TWO,
  ]);
  assertEquals(await sentBack({ ...message, content: "" }), [reasoning("rs_1"), ONE, TWO]);
});

Deno.test("openai() by responses writes arguments back as text", async () => {
  const message = await replied([callItem({ call_id: "one", arguments: { left: 1 } })]);
  assertEquals(await sentBack(message), [
    plain(callItem({ call_id: "one", arguments: '{"left":1}' })),
  ]);
});
