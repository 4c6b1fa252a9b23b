import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { attempt, InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { openai } from "../../../lib/models/openai/openai.ts";
import {
  ADD,
  asked,
  breaking,
  call,
  completion,
  CONVERSATION,
  KEY,
  rawHead,
  serversOf,
  serving,
  status,
  WIRES,
} from "../../support/wire_servers.ts";

const sound = () => Response.json(completion());

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

// First, as only the first request could leave something behind.
Deno.test("openai() leaves nothing that a test which is checked for leaks would be blamed for", {
  sanitizeOps: true,
  sanitizeResources: true,
}, async () => {
  await using server = serving(sound);
  assertEquals((await server.model().reply(asked())).text, "hello");
});

// Construction.

Deno.test("openai() names itself after the model unless told otherwise", () => {
  const options = { model: "parrot", baseURL: "http://127.0.0.1:1", apiKey: KEY };
  const { name, simulated } = openai(options);
  assertEquals([name, simulated], ["parrot", false]);
  const other = openai({ ...options, name: "sim:parrot", simulated: true });
  assertEquals([other.name, other.simulated], ["sim:parrot", true]);
});

Deno.test("openai() needs a key for OpenAI's own servers and says how to set it", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    for (
      const baseURL of [undefined, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"]
    ) {
      const error = assertThrows(
        () => openai({ model: "gpt-x", ...(baseURL === undefined ? {} : { baseURL }) }),
        InputError,
      );
      assertMatch(
        error.message,
        /gpt-x.*OPENAI_API_KEY is not set; set it, or in code pass apiKey$/,
      );
      assertNotMatch(error.message, /\n/);
    }
  });
});

Deno.test("openai() says which permission the key needs when it may not be read", {
  permissions: { env: false },
}, () => {
  assertThrows(() => openai({ model: "gpt-x" }), InputError, "--allow-env=OPENAI_API_KEY");
});

Deno.test("openai() needs no permission when it is given a key", { permissions: "none" }, () => {
  assertEquals(openai({ model: "gpt-x", apiKey: KEY }).name, "gpt-x");
});

Deno.test("openai() takes a key from the headers", async () => {
  await withEnvironment({ OPENAI_API_KEY: undefined }, () => {
    openai({ model: "gpt-x", headers: { Authorization: `Bearer ${KEY}` } });
  });
});

Deno.test("openai() sends the environment's key, and before it the option", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: " from-environment \n" }, async () => {
    const options = { model: "parrot", baseURL: `http://${server.host}/v1` };
    await openai(options).reply(asked());
    await openai({ ...options, apiKey: KEY }).reply(asked());
  });
  const sent = server.received.map(({ headers }) => headers.get("authorization"));
  assertEquals(sent, ["Bearer from-environment", `Bearer ${KEY}`]);
});

Deno.test("openai() sends a placeholder to other servers when there is no key", async () => {
  await using server = serving(sound);
  await withEnvironment({ OPENAI_API_KEY: undefined }, async () => {
    await openai({ model: "parrot", baseURL: `http://${server.host}/v1` }).reply(asked());
  });
  assertEquals(server.received[0]?.headers.get("authorization"), "Bearer none");
});

Deno.test("openai() is not redirected or changed by the environment", async () => {
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

Deno.test("openai() asks OpenAI by default, whatever OPENAI_BASE_URL says", {
  permissions: { env: true, net: ["127.0.0.1"] },
}, async () => {
  await withEnvironment({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }, async () => {
    const error = await assertRejects(
      () => openai({ model: "gpt-x", apiKey: KEY }).reply(asked()),
      InfrastructureError,
    );
    assertStringIncludes(error.message, "--allow-net=api.openai.com (1 attempt)");
  });
});

Deno.test("openai() refuses a base URL that is no http or https address", () => {
  for (const baseURL of ["", "localhost:8080/v1", "ftp://host/v1", "/v1", "http://"]) {
    const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
    assertStringIncludes(error.message, `must start with http:// or https://: it is "${baseURL}"`);
  }
});

Deno.test("openai() does not show the password of a base URL it refuses", () => {
  const baseURL = "ftp://me:s3cr3t@host/v1";
  const error = assertThrows(() => openai({ model: "p", baseURL, apiKey: KEY }), InputError);
  assertNotMatch(error.message, /s3cr3t/);
});

Deno.test("openai() refuses a key or a header that cannot be sent, without showing it", () => {
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

Deno.test("openai() refuses to stream and policies that make no sense", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  for (const field of ["stream", "background"]) {
    assertThrows(
      () => openai({ ...options, body: { [field]: true } }),
      InputError,
      `body.${field}`,
    );
  }
  assertThrows(() => openai({ ...options, retries: -1 }), InputError, "retries");
});

// What both wire formats share.

Deno.test("openai() refuses a tool choice that there is not", () => {
  const table = ["", "any", null, {}, { function: "" }, { function: "add", type: "function" }];
  for (const choice of table) {
    const toolChoice = choice as "auto";
    const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY, toolChoice };
    const error = assertThrows(() => openai(options), InputError);
    assertMatch(
      error.message,
      /^Cannot use the options of openai\(\):\n {2}at toolChoice(\.function)?: /,
    );
  }
});

Deno.test("openai() refuses an api that there is not", () => {
  for (const api of ["", "react", "smoke", "__proto__", "constructor", null, 7]) {
    const options = {
      model: "p",
      baseURL: "http://127.0.0.1:1/v1",
      apiKey: KEY,
      api: api as "chat",
    };
    const error = assertThrows(() => openai(options), InputError);
    assertMatch(
      error.message,
      /^Cannot use the options of openai\(\):\n {2}at api: expected .*"responses"/,
    );
  }
});

Deno.test("openai() says how a model is spoken to where that is not the usual way", () => {
  const options = { model: "p", baseURL: "http://127.0.0.1:1/v1", apiKey: KEY };
  assertEquals([openai(options).api, openai({ ...options, api: "chat" }).api], [
    undefined,
    undefined,
  ]);
  assertEquals(openai({ ...options, api: "responses" }).api, "responses");
});

for (const { api, path, hello } of WIRES) {
  const { serving } = serversOf(api);
  const sound = () => Response.json(hello());

  Deno.test(`openai() by ${api} keeps path and query of the base URL`, async () => {
    await using server = serving(sound);
    await server.model({ baseURL: `http://${server.host}/deep/v2/?api-version=3` }).reply(asked());
    await server.model().reply(asked());
    const below = path.slice("/v1".length);
    assertEquals(server.received.map(({ path }) => path), [
      `/deep/v2${below}?api-version=3`,
      `/v1${below}`,
    ]);
  });

  Deno.test(`openai() by ${api} refuses a base URL that has the path of requests`, () => {
    const baseURL = `http://127.0.0.1:1${path}`;
    const error = assertThrows(() => openai({ model: "m", baseURL, apiKey: "none" }), InputError);
    assertEquals(
      error.message,
      `Cannot ask m as a base URL must end before ${path.slice(3)}: leave that out`,
    );
  });

  Deno.test(`openai() by ${api} merges body, and over it requestFields`, async () => {
    await using server = serving(sound);
    await server.model({
      temperature: 1,
      body: { temperature: 0.5, top_k: 4, user: "me" },
      requestFields: ({ context }) => ({ user: context.trial, request: context.request }),
    }).reply(asked());
    const { temperature, top_k, user, request } = server.received[0]!.body;
    assertEquals([temperature, top_k, user, request], [0.5, 4, "t", 1]);
  });

  Deno.test(`openai() by ${api} leaves out what is about tools when there are none`, async () => {
    await using server = serving(sound);
    await server.model({ parallelToolCalls: true, toolChoice: "required" }).reply(asked());
    const told = api === "chat" ? "messages" : "input";
    assertEquals(Object.keys(server.received[0]!.body), ["model", told]);
  });

  Deno.test(`openai() by ${api} lets a request choose over the options`, async () => {
    await using server = serving(sound);
    const request = asked({ tools: [ADD], toolChoice: "none" });
    await server.model({ toolChoice: "required" }).reply(request);
    assertEquals(server.received[0]!.body["tool_choice"], "none");
    const odd = asked({ tools: [ADD], toolChoice: "any" as "auto" });
    await assertRejects(
      () => server.model().reply(odd),
      InputError,
      "must be auto, none, required",
    );
  });
}

// What a server refuses is left out from then on.

const NULL_REFUSALS = [
  "messages[2]: unsupported content: got nil, want text",
  "The field 'content' has to be a string or a list of parts",
  '[{"type":"string_type","loc":["body","messages",2,"content"],"msg":"Input should be valid"}]',
  "messages.2.content: Input should be a valid string",
  "messages[2]: missing field `content` at line 1 column 90",
  "content is required",
  "none is not an allowed value (type=type_error.none.not_allowed)",
  "Invalid type: null, expected a sequence",
  'can only concatenate str (not "NoneType") to str',
];

Deno.test("openai() by chat sends an empty content in place of a null that its server refuses", async () => {
  for (const [place, message] of NULL_REFUSALS.entries()) {
    const refusing = status([400, 422, 500][place % 3]!, { error: { message } });
    await using server = serving(refusing, sound);
    const model = server.model({ retries: 0 });
    const { failed, text } = await model.reply(asked({ messages: CONVERSATION }));
    await model.reply(asked({ messages: CONVERSATION }));
    assertEquals([failed?.map(({ cause }) => cause), text], [["unclear"], "hello"], message);
    const sent = server.received.map(({ body }) => (body["messages"] as JsonObject[])[2]!);
    assertEquals(sent.map(({ content }) => content), [null, "", ""]);
  }
  // Nor where no null was sent, or it says something else.
  const messages = CONVERSATION.slice(0, 2);
  for (
    const [error, request] of [
      [NULL_REFUSALS[0]!, asked({ messages })],
      ["Unsupported message role", asked({ messages: CONVERSATION })],
      ["The content cannot be served", asked({ messages: CONVERSATION })],
    ] as const
  ) {
    await using server = serving(status(400, { error: { message: error } }));
    await assertRejects(() => server.model().reply(request), InfrastructureError);
    assertEquals(server.received.length, 1);
  }
});

const events = (...chunks: unknown[]) => () =>
  new Response(
    [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`).join(""),
  );

const STREAMED = events(
  { choices: [{ index: 0, delta: { content: "hel" } }] },
  { choices: [{ index: 0, delta: { content: "lo" }, finish_reason: "stop" }] },
  { choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } },
);

Deno.test("openai() streams where its server demands that, and stays with it", async () => {
  for (
    const message of [
      "The model only supports streaming calls, please set stream.",
      "enable_thinking must be false for non-streaming requests",
      "Stream must be set to true",
      "'stream=true' is required for this model",
    ]
  ) {
    const noUsage = status(400, { error: { message: "Unknown parameter: 'stream_options'" } });
    await using server = serving(status(400, { error: { message } }), noUsage, STREAMED);
    const model = server.model({ retries: 0 });
    const { text, usage, failed } = await model.reply(asked());
    assertEquals([text, usage], ["hello", { inputTokens: 11, outputTokens: 7 }], message);
    assertEquals(failed?.map(({ cause }) => cause), ["unclear", "unclear"]);
    assertEquals((await model.reply(asked())).failed, undefined);
    assertEquals(
      server.received.map(({ body }) => [body["stream"], body["stream_options"]]),
      [[undefined, undefined], [true, { include_usage: true }], [true, undefined], [
        true,
        undefined,
      ]],
    );
  }
  // What comes after a whole reply may be the words of a model.
  await using server = serving(sound, status(400, { error: { message: "only streaming works" } }));
  const model = server.model({ retries: 0 });
  await model.reply(asked());
  await assertRejects(() => model.reply(asked()), InfrastructureError);
  assertEquals(server.received.length, 2);
});

Deno.test("openai() streams by its option, and takes a stream that breaks off for a fault of the server", async () => {
  await using server = serving(STREAMED);
  const model = server.model({ stream: true, body: { stream_options: { include_usage: false } } });
  assertEquals((await model.reply(asked())).text, "hello");
  assertEquals(server.received[0]!.body["stream_options"], { include_usage: false });
  const begun = 'data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}\n\n';
  await using broken = breaking({ bytes: rawHead(1_000, "text/event-stream") + begun });
  const { fault, retryable } = await assertRejects(
    () => broken.model({ stream: true, retries: 1 }).reply(asked()),
    InfrastructureError,
  );
  assertEquals([fault, retryable, broken.received.length], ["infrastructure", true, 2]);
});

Deno.test("openai() reads a body by what it is, whatever it is marked as", async () => {
  const whole = JSON.stringify(completion());
  const bodies = [whole, `: wait\n\n${whole}\n\ndata: [DONE]\n\n`, await STREAMED().text()];
  const types = ["text/event-stream", "text/plain", "text/html", "application/octet-stream", ""];
  for (const body of bodies) {
    for (const type of types) {
      const bytes = new TextEncoder().encode(body);
      await using server = serving(() =>
        new Response(bytes, { headers: type === "" ? {} : { "content-type": type } })
      );
      assertEquals(
        (await server.model({ retries: 0 }).reply(asked())).text,
        "hello",
        `${type} ${body}`,
      );
    }
  }
});

Deno.test("openai() passes a stream to an agent as it comes, also without its type", async () => {
  const over = Promise.withResolvers<void>();
  await using server = serving(() => {
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
    const writer = writable.getWriter();
    writer.write(new TextEncoder().encode("data: 1\n\n"));
    over.promise.then(() => writer.close());
    return new Response(readable);
  });
  const { response } = await server.model({ requestTimeout: 5_000 }).server!.forward({
    path: "/chat/completions",
    body: { model: "parrot", messages: [], stream: true },
    context: { trial: "t", repetition: 1, request: 1 },
  });
  const reader = response.body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value), "data: 1\n\n");
  over.resolve();
  assertEquals((await reader.read()).done, true);
});

Deno.test("openai() by chat reads a custom call with its text, which need be no JSON", async () => {
  const custom = (input: string, more: JsonObject = {}) => ({
    ...{ id: "c", type: "custom", custom: { name: "note", input } },
    ...more,
  });
  await using server = serving(() =>
    Response.json(completion({ content: null, tool_calls: [custom("warm?"), call()] }))
  );
  const { calls, parsed, repairs } = await server.model({ retries: 0 }).reply(asked());
  assertEquals([calls, parsed, repairs], [
    [{ id: "c", name: "note", arguments: "warm?" }, { id: "x", name: "add", arguments: "{}" }],
    "strict",
    [],
  ]);
});

// Sending.

/** Answers the first request of a connection, and closes it once it has read the second one. */
function closingServer() {
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const body = JSON.stringify(completion());
  const head =
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  const state = { connections: 0, requests: 0 };
  const over = new AbortController();
  const connected = async (connection: Deno.Conn) => {
    const close = () => void attempt(() => connection.close());
    using _ = { [Symbol.dispose]: close };
    // What a client keeps open must not keep the test.
    over.signal.addEventListener("abort", close);
    const buffer = new Uint8Array(65_536);
    for (let answered = 0; answered < 2; answered++) {
      let text = "";
      // Bodies end with an object, whole or in chunks.
      while (!/\}(?:\r\n0\r\n\r\n)?$/.test(text)) {
        const count = await connection.read(buffer).catch(() => null);
        if (count === null) return;
        text += new TextDecoder().decode(buffer.subarray(0, count));
      }
      state.requests++;
      if (answered === 0) {
        await connection.write(new TextEncoder().encode(`${head}\r\n\r\n${body}`));
      }
    }
  };
  const served = (async () => {
    const open: Promise<void>[] = [];
    for await (const connection of listener) {
      state.connections++;
      open.push(connected(connection));
    }
    await Promise.all(open);
  })();
  return {
    state,
    baseURL: `http://127.0.0.1:${listener.addr.port}/v1`,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      over.abort();
      await served;
    },
  };
}

for (const stream of [false, true]) {
  const how = stream ? "a streamed request" : "a request";
  Deno.test(`openai() sends ${how} once, also where a kept connection closes in the middle`, async () => {
    await using server = closingServer();
    const { baseURL, state } = server;
    const model = openai({ model: "parrot", baseURL, apiKey: KEY, retries: 0, stream });
    assertEquals((await model.reply(asked())).text, "hello");
    const { retryable } = await assertRejects(() => model.reply(asked()), InfrastructureError);
    assertEquals([retryable, state], [true, { connections: 1, requests: 2 }]);
  });
}

Deno.test("openai() sends a tool that was changed in place as it is now", async () => {
  await using server = serving(sound);
  const tool = { ...ADD, description: "one" };
  const model = server.model();
  await model.reply({ ...asked(), tools: [tool] });
  tool.description = "two";
  await model.reply({ ...asked(), tools: [tool] });
  const told = server.received.map(({ body }) => JSON.stringify(body["tools"]).includes("two"));
  assertEquals(told, [false, true]);
});
