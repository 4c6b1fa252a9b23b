import {
  assert,
  assertEquals,
  assertLess,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Ajv2020 } from "ajv/2020";
import { InputError } from "../../lib/input.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Message } from "../../lib/message.ts";
import { InfrastructureError, type ModelRequest, TimeLimitError } from "../../lib/model.ts";
import { openai, type OpenAIOptions } from "../../lib/models/openai.ts";
import type { ToolSchema } from "../../lib/tool.ts";

function test(
  name: string,
  fn: () => void | Promise<void>,
  more: { ignore?: boolean; permissions?: Deno.PermissionOptions } = {},
) {
  Deno.test({ name, fn, sanitizeOps: true, sanitizeResources: true, ...more });
}

// What is asked, and what a sound server answers.

const KEY = "hunter22-hunter22";

const ADD = {
  name: "add",
  description: "Adds",
  strict: true,
  parameters: {
    type: "object",
    properties: { left: { type: "integer" } },
    required: ["left"],
    additionalProperties: false,
  },
} satisfies ToolSchema;

const CONVERSATION: readonly Message[] = [
  { role: "system", content: "Be brief" },
  { role: "user", content: "Add" },
  {
    role: "assistant",
    content: "",
    calls: [
      { id: "a", name: "add", arguments: '{"left":1}' },
      { id: "b", name: "add", arguments: "no JSON" },
    ],
  },
  { role: "tool", callId: "a", name: "add", content: '{"sum":1}' },
  { role: "tool", callId: "b", name: "add", content: "error" },
  { role: "assistant", content: "Once more", calls: [{ id: "c", name: "add", arguments: "{}" }] },
  { role: "tool", callId: "c", name: "add", content: "2" },
  { role: "assistant", content: "2", calls: [] },
  { role: "user", content: "Sure?" },
];

function asked(more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: "user", content: "Hello" }],
    tools: [],
    context: { trial: "t", repetition: 1, request: 1 },
    ...more,
  };
}

function completion(message: JsonObject = { content: "hello" }, more: JsonObject = {}): JsonObject {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "parrot-2",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
    usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ...more,
  };
}

function call(more: JsonObject = {}, func: JsonObject = {}): JsonObject {
  return {
    id: "x",
    type: "function",
    function: { name: "add", arguments: "{}", ...func },
    ...more,
  };
}

// Servers, sound and faulty.

interface Received {
  readonly path: string;
  readonly headers: Headers;
  readonly body: JsonObject;
}

interface Faulty extends AsyncDisposable {
  readonly received: Received[];
  readonly host: string;
  /** A model at this server, with quick retries. */
  model(options?: Partial<OpenAIOptions>): ReturnType<typeof openai>;
}

function faulty(host: string, received: Received[], close: () => Promise<void>): Faulty {
  return {
    host,
    received,
    model: (options = {}) =>
      openai({
        model: "parrot",
        baseURL: `http://${host}/v1`,
        apiKey: KEY,
        backoff: 1,
        ...options,
      }),
    [Symbol.asyncDispose]: close,
  };
}

/** Answers the n-th request with the n-th answer, and all further ones with the last. */
function serving(...answers: (() => Response)[]): Faulty {
  const received: Received[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname, search } = new URL(request.url);
    const body = await request.json();
    received.push({ path: pathname + search, headers: request.headers, body });
    return answers[Math.min(received.length, answers.length) - 1]!();
  });
  return faulty(`127.0.0.1:${server.addr.port}`, received, () => server.shutdown());
}

const sound = () => Response.json(completion());

function answering(body: unknown): () => Response {
  return () => Response.json(body);
}

function status(code: number, body: unknown = {}, headers: HeadersInit = {}): () => Response {
  return () => Response.json(body, { status: code, headers });
}

/** A plan for the bytes of each connection in turn: text to send, `stall` to keep it open then. */
interface Raw {
  readonly bytes: string;
  readonly stall?: boolean;
}

function rawHead(length: number, type = "application/json"): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n` +
    "connection: close\r\n\r\n";
}

function whole(text: string, type?: string): Raw {
  return { bytes: rawHead(new TextEncoder().encode(text).length, type) + text };
}

const SOUND = whole(JSON.stringify(completion()));

/** A server that breaks the protocol: the n-th connection gets the n-th plan, then the last one. */
function breaking(...plans: Raw[]): Faulty {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const received: Received[] = [];
  const open = new Set<Deno.TcpConn>();
  const over = Promise.withResolvers<void>();
  const connected = async (connection: Deno.TcpConn) => {
    open.add(connection);
    try {
      received.push(await readRequest(connection));
      const { bytes, stall } = plans[Math.min(received.length, plans.length) - 1]!;
      await connection.write(new TextEncoder().encode(bytes));
      if (stall) await over.promise;
    } catch {
      // The client may leave at any time.
    } finally {
      open.delete(connection);
      try {
        connection.close();
      } catch {
        // It may be closed already.
      }
    }
  };
  const serve = async () => {
    const all: Promise<void>[] = [];
    for await (const connection of listener) all.push(connected(connection));
    await Promise.all(all);
  };
  const served = serve();
  return faulty(`127.0.0.1:${listener.addr.port}`, received, async () => {
    listener.close();
    over.resolve();
    await served;
  });
}

async function readRequest(connection: Deno.TcpConn): Promise<Received> {
  let text = "";
  const buffer = new Uint8Array(65_536);
  while (true) {
    const [head = "", rest] = text.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Infinity);
    if (rest !== undefined && rest.length >= length) {
      return { path: head.split(" ")[1] ?? "", headers: new Headers(), body: JSON.parse(rest) };
    }
    const count = await connection.read(buffer);
    if (count === null) throw new Error("The request ended early");
    text += new TextDecoder().decode(buffer.subarray(0, count));
  }
}

function refusedBy(
  server: Faulty,
  options: Partial<OpenAIOptions> = {},
): Promise<InfrastructureError> {
  return assertRejects(() => server.model(options).reply(asked()), InfrastructureError);
}

/** Runs `body` while the environment's variables have these values, or are absent. */
async function withEnvironment(
  variables: Record<string, string | undefined>,
  body: () => void | Promise<void>,
) {
  const before = new Map(Object.keys(variables).map((name) => [name, Deno.env.get(name)]));
  const set = (name: string, value: string | undefined) =>
    value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  try {
    for (const [name, value] of Object.entries(variables)) set(name, value);
    await body();
  } finally {
    for (const [name, value] of before) set(name, value);
  }
}

// Construction.

test("openai() names itself after the model unless told otherwise", () => {
  const options = { model: "parrot", baseURL: "http://127.0.0.1:1", apiKey: KEY };
  const { name, simulated } = openai(options);
  assertEquals([name, simulated], ["parrot", false]);
  const other = openai({ ...options, name: "sim:parrot", simulated: true });
  assertEquals([other.name, other.simulated], ["sim:parrot", true]);
});

test("openai() needs a key for OpenAI's own servers and says how to set it", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    for (
      const baseURL of [undefined, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"]
    ) {
      const error = assertThrows(
        () => openai({ model: "gpt-x", ...(baseURL === undefined ? {} : { baseURL }) }),
        InputError,
      );
      assertMatch(error.message, /gpt-x.*OPENAI_API_KEY is not set; set it, or pass apiKey$/);
      assertNotMatch(error.message, /\n/);
    }
  });
});

test("openai() says which permission the key needs when it may not be read", () => {
  assertThrows(() => openai({ model: "gpt-x" }), InputError, "--allow-env=OPENAI_API_KEY");
}, { permissions: { env: false } });

test("openai() needs no permission when it is given a key", () => {
  assertEquals(openai({ model: "gpt-x", apiKey: KEY }).name, "gpt-x");
}, { permissions: "none" });

test("openai() takes a key from the headers", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    openai({ model: "gpt-x", headers: { Authorization: `Bearer ${KEY}` } });
  });
});

test("openai() sends the environment's key, and before it the option", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: " from-environment \n" }, async () => {
    const options = { model: "parrot", baseURL: `http://${server.host}/v1` };
    await openai(options).reply(asked());
    await openai({ ...options, apiKey: KEY }).reply(asked());
  });
  const sent = server.received.map(({ headers }) => headers.get("authorization"));
  assertEquals(sent, ["Bearer from-environment", `Bearer ${KEY}`]);
});

test("openai() sends a placeholder to other servers when there is no key", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: undefined }, async () => {
    await openai({ model: "parrot", baseURL: `http://${server.host}/v1` }).reply(asked());
  });
  assertEquals(server.received[0]?.headers.get("authorization"), "Bearer none");
});

test("openai() is not redirected or changed by the environment", async () => {
  await using server = serving(sound);
  await using stranger = serving(sound);
  await withEnvironment({
    OPENAI_BASE_URL: `http://${stranger.host}/v1`,
    OPENAI_ORG_ID: "an-organization",
    OPENAI_PROJECT_ID: "a-project",
    OPENAI_CUSTOM_HEADERS: "x-stray: yes",
    OPENAI_LOG: "debug",
  }, async () => {
    const model = server.model();
    assertEquals(Deno.env.get("OPENAI_ORG_ID"), "an-organization");
    await model.reply(asked());
  });
  assertEquals([server.received.length, stranger.received.length], [1, 0]);
  const { headers } = server.received[0]!;
  for (const name of ["openai-organization", "openai-project", "x-stray"]) {
    assertEquals(headers.get(name), null);
  }
});

test("openai() asks OpenAI by default, whatever OPENAI_BASE_URL says", async () => {
  await withEnvironment({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }, async () => {
    const error = await assertRejects(
      () => openai({ model: "gpt-x", apiKey: KEY }).reply(asked()),
      InfrastructureError,
    );
    assertStringIncludes(error.message, "--allow-net=api.openai.com (1 attempt)");
  });
}, { permissions: { env: true, net: ["127.0.0.1"] } });

test("openai() refuses a base URL that is no http or https address", () => {
  for (const baseURL of ["", "localhost:8080/v1", "ftp://host/v1", "/v1", "http://"]) {
    const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
    assertStringIncludes(error.message, `must start with http:// or https://: it is "${baseURL}"`);
  }
});

test("openai() does not show the password of a base URL it refuses", () => {
  const baseURL = "ftp://me:s3cr3t@host/v1";
  const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
  assertNotMatch(error.message, /s3cr3t/);
});

test("openai() refuses a key or a header that cannot be sent, without showing it", () => {
  const baseURL = "http://127.0.0.1:1/v1";
  const key = assertThrows(
    () => openai({ model: "p", baseURL, apiKey: "s3cr3t\nx" }),
    InputError,
    "the API key",
  );
  const header = assertThrows(
    () => openai({ model: "p", baseURL, apiKey: KEY, headers: { "x-a": "s3cr3t\n" + "\u0000" } }),
    InputError,
    'the header "x-a"',
  );
  for (const { message } of [key, header]) assertNotMatch(message, /s3cr3t/);
});

test("openai() refuses to stream and policies that make no sense", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  assertThrows(() => openai({ ...options, body: { stream: true } }), InputError, "body.stream");
  assertThrows(() => openai({ ...options, retries: -1 }), InputError, "retries");
});

// Requests.

test("openai() sends the conversation and nothing that was not asked for", async () => {
  await using server = serving(sound);
  await server.model().reply(asked());
  const [{ path, body }] = server.received as [Received];
  assertEquals(path, "/v1/chat/completions");
  assertEquals(body, { model: "parrot", messages: [{ role: "user", content: "Hello" }] });
});

test("openai() keeps path and query of the base URL", async () => {
  await using server = serving(sound);
  await server.model({ baseURL: `http://${server.host}/deep/v2/?api-version=3` }).reply(asked());
  assertEquals(server.received[0]?.path, "/deep/v2/chat/completions?api-version=3");
});

test("openai() writes every kind of message as OpenAI takes it", async () => {
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

const EVERY_OPTION: Partial<OpenAIOptions> = {
  temperature: 0,
  topP: 0.5,
  maxCompletionTokens: 100,
  reasoningEffort: "low",
  seed: 0,
  parallelToolCalls: false,
  toolChoice: "required",
  headers: { "x-team": "gate" },
};

test("openai() sends every option, zeros and false included", async () => {
  await using server = serving(sound);
  await server.model(EVERY_OPTION).reply(asked({ tools: [ADD] }));
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

test("openai() leaves out what is about tools when there are none", async () => {
  await using server = serving(sound);
  await server.model({ parallelToolCalls: true, toolChoice: "required" }).reply(asked());
  assertEquals(Object.keys(server.received[0]!.body), ["model", "messages"]);
});

test("openai() writes every tool choice as OpenAI takes it", async () => {
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

test("openai() refuses a tool choice that there is not", () => {
  const table: [choice: unknown, shown: string][] = [
    ["", '""'],
    ["any", '"any"'],
    ["add", '"add"'],
    [null, "null"],
    [true, "true"],
    [["add"], '["add"]'],
    [{}, "{}"],
    [{ function: "" }, '{"function":""}'],
    [{ function: { name: "add" } }, '{"function":{"name":"add"}}'],
    [{ function: "add", type: "function" }, '{"function":"add","type":"function"}'],
    ["\u001b[31m", '"\\u001b[31m"'],
  ];
  for (const [choice, shown] of table) {
    const toolChoice = choice as "auto";
    const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY, toolChoice };
    const error = assertThrows(() => openai(options), InputError);
    assertEquals(
      error.message,
      `Cannot ask p as toolChoice must be auto, none, required or {"function": NAME}: it is ${shown}`,
    );
  }
});

test("openai() merges body, and over it requestFields", async () => {
  await using server = serving(sound);
  await server.model({
    temperature: 1,
    body: { temperature: 0.5, top_k: 4, user: "me" },
    requestFields: ({ context }) => ({ user: context.trial, request: context.request }),
  }).reply(asked());
  const { temperature, top_k, user, request } = server.received[0]!.body;
  assertEquals([temperature, top_k, user, request], [0.5, 4, "t", 1]);
});

const shared = Deno.env.get("TOOLGATE_SHARED") ?? `${import.meta.dirname}/../../../shared`;
const schemaFile = `${shared}/data/openai/request_schemas.json`;

test("openai() builds bodies that OpenAI's request schema accepts", async () => {
  const schemas = JSON.parse(await Deno.readTextFile(schemaFile));
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(schemas, "openai");
  const validate = ajv.compile({ $ref: "openai#/$defs/CreateChatCompletionRequest" });
  assertEquals(validate({ model: "parrot", messages: [] }), false, "the schema must be in force");

  await using server = serving(sound);
  await server.model().reply(asked());
  await server.model(EVERY_OPTION).reply(asked({ messages: CONVERSATION, tools: [ADD] }));
  const { strict: _strict, ...lenient } = ADD;
  await server.model().reply(asked({ messages: CONVERSATION, tools: [lenient] }));
  assertEquals(server.received.length, 3);
  for (const { body } of server.received) {
    assert(validate(body), ajv.errorsText(validate.errors));
  }
}, { ignore: !exists(schemaFile) });

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

// Replies.

test("openai() reads a reply", async () => {
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

test("openai() reads calls as the model wrote them", async () => {
  await using server = serving(answering(completion({
    content: null,
    tool_calls: [call({ id: "a" }, { arguments: "{ not JSON" }), call({ id: "b" })],
  })));
  const { text, calls, repairs } = await server.model().reply(asked());
  assertEquals([text, repairs], ["", []]);
  assertEquals(calls, [
    { id: "a", name: "add", arguments: "{ not JSON" },
    { id: "b", name: "add", arguments: "{}" },
  ]);
});

test("openai() maps the reasons to stop", async () => {
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
  test(`openai() retries a reply with ${what}`, async () => {
    const choices = [{ finish_reason: "stop", message: { content: "x" }, ...choice }];
    await using server = serving(answering(completion({}, { choices, ...fields })), sound);
    assertEquals((await server.model().reply(asked())).text, "hello");
    assertEquals(server.received.length, 2);
  });
}

test("openai() takes a refusal's text for the text", async () => {
  await using server = serving(answering(completion({ content: null, refusal: "I will not" })));
  assertEquals((await server.model().reply(asked())).text, "I will not");
});

test("openai() bears a reply without usage, model, content and finish reason", async () => {
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

test("openai() writes arguments that are an object as text, and notes it", async () => {
  // As text, since an object literal would make `__proto__` a prototype.
  const reply = JSON.stringify(completion({ tool_calls: [call({}, { arguments: 0 })] }))
    .replace('"arguments":0', '"arguments":{"b":[1],"__proto__":2}');
  await using server = breaking(whole(reply));
  const { calls, repairs } = await server.model().reply(asked());
  assertEquals(calls[0]?.arguments, '{"b":[1],"__proto__":2}');
  assertEquals(repairs, ["call 1 had an object for arguments, which was written as text"]);
});

test("openai() gives {} to calls without arguments, and notes it", async () => {
  const absent = call({ id: "b", function: { name: "add" } });
  await using server = serving(answering(completion({
    tool_calls: [call({ id: "a" }, { arguments: null }), absent],
  })));
  const { calls, repairs } = await server.model().reply(asked());
  assertEquals(calls.map((one) => one.arguments), ["{}", "{}"]);
  assertEquals(repairs, [
    "call 1 had no arguments and was given {}",
    "call 2 had no arguments and was given {}",
  ]);
});

test("openai() gives ids by position to calls without one, unlike all others", async () => {
  const { id: _id, ...absent } = call();
  await using server = serving(answering(completion({
    tool_calls: [call({ id: "call_2" }), absent, call({ id: "" }), call({ id: null })],
  })));
  const { calls, repairs } = await server.model().reply(asked());
  assertEquals(calls.map(({ id }) => id), ["call_2", "call_2_2", "call_3", "call_4"]);
  assertEquals(repairs, [
    "call 2 had no id and was given call_2_2",
    "call 3 had no id and was given call_3",
    "call 4 had no id and was given call_4",
  ]);
});

// Replies that cannot be used: each is asked for again, and a sound one then counts.

const choice = (message: unknown) => ({ choices: [{ finish_reason: "stop", message }] });

for (
  const [what, answer, reason] of [
    ["two calls with one id", answering(completion({ tool_calls: [call(), call()] })), /id "x"/],
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
    ["usage that is no object", answering(completion({}, { usage: 3 })), /usage: /],
    [
      "usage that is no number",
      answering(completion({}, { usage: { prompt_tokens: "3" } })),
      /usage\.prompt_tokens: /,
    ],
    ["an array", answering([1]), /at the top: /],
    ["a bare JSON string", answering("busy"), /busy/],
    ["JSON null", answering(null), /it is empty/],
    ["an error with status 200", answering({ error: { message: "No GPU" } }), /No GPU/],
    ["plain text", () => new Response("Bad gateway"), /text that is not marked.*Bad gateway/],
    [
      "HTML",
      () => new Response("<html>Hi", { headers: { "content-type": "text/html" } }),
      /<html>Hi/,
    ],
    [
      "an empty JSON body",
      () => new Response("", { headers: { "content-type": "application/json" } }),
      /it is empty/,
    ],
    ["no content", () => new Response(null, { status: 204 }), /it is empty/],
  ] as const
) {
  test(`openai() retries ${what}`, async () => {
    await using server = serving(answer, sound);
    assertEquals((await server.model().reply(asked())).text, "hello");
    assertEquals(server.received.length, 2);
  });

  test(`openai() says why when it keeps getting ${what}`, async () => {
    await using server = serving(answer);
    const error = await refusedBy(server, { retries: 1 });
    assertEquals([error.retryable, server.received.length], [true, 2]);
    assertMatch(error.message, reason);
    assertMatch(error.message, /^Cannot use the reply of parrot at 127.*\(2 attempts\)$/);
  });
}

// Faults of the server.

for (const code of [408, 409, 429, 500, 502, 503, 504, 529]) {
  test(`openai() retries a ${code}`, async () => {
    await using server = serving(status(code, { error: { message: "Later" } }), sound);
    assertEquals((await server.model().reply(asked())).text, "hello");
    assertEquals(server.received.length, 2);
  });
}

test("openai() reports a 429 after its retries", async () => {
  await using server = serving(status(429, { error: { message: "Slow down" } }));
  const error = await refusedBy(server);
  assertEquals([server.received.length, error.retryable], [4, true]);
  assertStringIncludes(error.message, "429 Slow down (4 attempts)");
});

test("openai() reports an HTML 502 on one line, cut", async () => {
  const page = `<html>\n${"<p>Bad gateway</p>\n".repeat(5_000)}`;
  await using server = serving(() => new Response(page, { status: 502 }));
  const { message } = await refusedBy(server, { retries: 0 });
  assertStringIncludes(message, "502 <html>\\n<p>Bad gateway");
  assertNotMatch(message, /\n/);
  assertLess(message.length, 500);
});

for (const code of [400, 401, 403, 404, 422]) {
  test(`openai() does not retry a ${code}`, async () => {
    await using server = serving(status(code, { error: { message: "Never" } }));
    const error = await refusedBy(server);
    assertEquals([server.received.length, error.retryable], [1, false]);
    assertStringIncludes(error.message, `${code} Never (1 attempt)`);
  });
}

test("openai() finds the reason where other servers put it", async () => {
  await using server = serving(status(422, { detail: "No field left" }));
  assertStringIncludes((await refusedBy(server)).message, "No field left");
});

test("openai() honours x-should-retry", async () => {
  await using never = serving(status(500, {}, { "x-should-retry": "false" }));
  await refusedBy(never);
  assertEquals(never.received.length, 1);
  await using please = serving(status(400, {}, { "x-should-retry": "true" }), sound);
  assertEquals((await please.model().reply(asked())).text, "hello");
});

for (
  const [what, error] of [
    ["code", { message: "Too much", code: "context_length_exceeded" }],
    ["message", { message: "This model's maximum context length is 8192 tokens" }],
  ] as const
) {
  test(`openai() says that the context length was exceeded, by the ${what}`, async () => {
    await using server = serving(status(400, { error }, { "x-should-retry": "true" }));
    const fault = await refusedBy(server);
    assertEquals([server.received.length, fault.retryable], [1, false]);
    assertMatch(fault.message, /exceeds its context length: 400 /);
  });
}

for (const headers of [{ "retry-after-ms": "150" }, { "retry-after": "0.15" }]) {
  test(`openai() waits as long as ${JSON.stringify(headers)} says`, async () => {
    await using server = serving(status(429, {}, headers), sound);
    const startedAt = performance.now();
    await server.model().reply(asked());
    assertLess(140, performance.now() - startedAt);
  });
}

for (
  const headers of [
    { "retry-after": "90" },
    { "retry-after-ms": "90000" },
    { "retry-after": new Date(Date.now() + 300_000).toUTCString() },
    { "retry-after-ms": "90000", "retry-after": "0" },
  ]
) {
  test(`openai() waits longer than a minute for ${Object.keys(headers).join(" and ")}`, async () => {
    await using server = serving(status(503, {}, headers as Record<string, string>), sound);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new RangeError("enough")), 150);
    const request = asked({ signal: controller.signal });
    await assertRejects(() => server.model().reply(request), RangeError, "enough");
    assertEquals(server.received.length, 1);
  });
}

test("openai() reports how long the server asked to wait", async () => {
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  await using server = serving(status(429, {}, { "retry-after": later }));
  const { retryAfter = 0 } = await refusedBy(server, { retries: 0 });
  assert(retryAfter > 3_500_000 && retryAfter <= 3_600_000, `${retryAfter}`);
});

test("openai() does not wait for a date in the past or for nonsense", async () => {
  const past = new Date(0).toUTCString();
  await using server = serving(
    status(429, {}, { "retry-after": past }),
    status(429, {}, { "retry-after": "soon", "retry-after-ms": "x" }),
    sound,
  );
  assertEquals((await server.model().reply(asked())).text, "hello");
});

// Faults of the connection.

const head = rawHead(1_000);

for (
  const [what, plan] of [
    ["a connection that closes before the headers", { bytes: "" }],
    ["a connection that closes within the headers", { bytes: head.slice(0, 20) }],
    ["a connection that closes within the body", { bytes: head + '{"choices":' }],
    ["a server that talks no HTTP", { bytes: "SSH-2.0-OpenSSH_9.2\r\n" }],
    ["malformed JSON", whole('{"choices": [')],
  ] as const
) {
  test(`openai() retries ${what}`, async () => {
    await using server = breaking(plan, SOUND);
    assertEquals((await server.model().reply(asked())).text, "hello");
  });

  test(`openai() gives up on ${what}`, async () => {
    await using server = breaking(plan);
    const error = await refusedBy(server, { retries: 1 });
    assertEquals(error.retryable, true);
    assertMatch(
      error.message,
      /^Cannot get a reply of parrot at 127\.0\.0\.1:\d+: .+ \(2 attempts\)$/,
    );
  });
}

for (
  const [what, plan] of [
    ["hangs", { bytes: "", stall: true }],
    ["stalls after the headers", { bytes: head, stall: true }],
    ["stalls within the body", { bytes: head + '{"choices":', stall: true }],
    ["stalls within the body of an error", {
      bytes: head.replace("200 OK", "500 Oops") + "{",
      stall: true,
    }],
  ] as const
) {
  test(`openai() retries a server that ${what}`, async () => {
    await using server = breaking(plan, SOUND);
    const { text } = await server.model({ requestTimeout: 150 }).reply(asked());
    assertEquals([text, server.received.length], ["hello", 2]);
  });

  test(`openai() gives up on a server that ${what}`, async () => {
    await using server = breaking(plan);
    const error = await refusedBy(server, { requestTimeout: 60, retries: 1 });
    assertEquals(error.retryable, true);
    assertMatch(error.message, /60 ms have passed \(2 attempts\)/);
  });

  test(`openai() keeps to the time limit when a server ${what}`, async () => {
    await using server = breaking(plan);
    await assertRejects(() => server.model().reply(asked({ timeLimit: 60 })), TimeLimitError);
    assertEquals(server.received.length <= 1, true);
  });

  test(`openai() throws the signal's reason at once when a server ${what}`, async () => {
    await using server = breaking(plan);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new RangeError("enough")), 60);
    const request = asked({ signal: controller.signal });
    await assertRejects(() => server.model().reply(request), RangeError, "enough");
  });
}

test("openai() gives up on a server that refuses connections", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const baseURL = `http://127.0.0.1:${listener.addr.port}/v1`;
  listener.close();
  const model = openai({ model: "parrot", baseURL, apiKey: KEY, backoff: 1 });
  const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
  assertEquals(error.retryable, true);
  assertMatch(error.message, /Connection refused.*\(4 attempts\)$/);
});

test("openai() names the missing permission at once", async () => {
  const baseURL = "http://127.0.0.1:4321/v1";
  const model = openai({ model: "parrot", baseURL, apiKey: KEY, backoff: 8_000 });
  const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
  assertEquals(error.retryable, false);
  assertStringIncludes(error.message, "--allow-net=127.0.0.1:4321 (1 attempt)");
}, { permissions: { net: false } });

// Secrets.

test("openai() shows no secret that a server echoes", async () => {
  const headers = { "x-team-key": "s3cr3t-team", Cookie: "session s3cr3t-session" };
  const echo = `${KEY} ${JSON.stringify(headers)} s3cr3t-session s3cr3t-query sk-s3cr3t ` +
    "Bearer s3cr3t";
  await using server = serving(
    status(401, { error: { message: `Wrong: ${echo}` } }),
    status(400, { detail: echo }),
    () => new Response(echo, { status: 403 }),
    () => new Response(echo),
    answering({ error: { message: echo } }),
    answering(completion({ tool_calls: [call({ id: echo }), call({ id: echo })] })),
    () => new Response(echo, { headers: { "content-type": "application/json" } }),
  );
  const baseURL = `http://${server.host}/v1?token=s3cr3t-query`;
  for (let index = 0; index < 7; index++) {
    const error = await refusedBy(server, { headers, baseURL, retries: 0 });
    const shown = Deno.inspect(error, { depth: 9 }) + error.message;
    assertNotMatch(shown, /s3cr3t|hunter22/);
    if (index < 6) assertStringIncludes(shown, "[redacted]");
  }
  assertEquals(server.received.length, 7);
});

test("openai() shows no secret of an address that cannot be reached", async () => {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const baseURL = `http://me:s3cr3t@127.0.0.1:${listener.addr.port}/v1?token=s3cr3t-query`;
  listener.close();
  const model = openai({ model: "parrot", baseURL, apiKey: KEY, retries: 0 });
  const error = await assertRejects(() => model.reply(asked()), InfrastructureError);
  assertNotMatch(Deno.inspect(error, { depth: 9 }), /s3cr3t|hunter22/);
});

test("openai() shows nothing of a server's text that could steer a terminal", async () => {
  await using server = serving(status(400, { error: { message: "red \u001b[31m\r\n\u202e" } }));
  const { message } = await refusedBy(server);
  assertStringIncludes(message, "400 red \\u001b[31m\\r\\n\\u202e");
});
