// Models of the AI SDK, with the real packages of providers against servers of their native formats.

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { type JsonObject, jsonText } from "../../lib/base/json.ts";
import { aiSdkModel, type AiSdkModelOptions } from "../../lib/integrations/ai_sdk.ts";
import type { ProviderName } from "../../lib/models/providers.ts";
import { Connections } from "../../lib/models/connect.ts";
import type { ModelEntry } from "../../lib/models/entry.ts";
import { InfrastructureError, type Model, type ModelReply } from "../../lib/models/model.ts";
import { mediaPart } from "../../lib/tools/media.ts";
import type { Message } from "../../lib/tools/message.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { AgentForm } from "../support/agents/agent.ts";
import { aiSdkAgent } from "../support/agents/ai_sdk.ts";
import {
  importPackage,
  type Native,
  NATIVES,
  SIGNATURE,
  simulatedNative,
} from "../support/native_servers.ts";
import {
  ADD,
  answering,
  asked,
  breaking,
  type Faulty,
  serving,
  status,
} from "../support/wire_servers.ts";

const connections = new Connections({ retries: 0, importPackage });
const [ANTHROPIC, GOOGLE] = NATIVES as [Native, Native];

/** A model of a provider at a server made by hand. */
const modelAt = (
  { host }: Faulty,
  { provider }: Native,
  entry: Partial<ModelEntry> = {},
  by = connections,
) => by.model({ model: "parrot", provider, baseURL: `http://${host}/v1`, ...entry });

for (const native of NATIVES) {
  const { provider } = native;
  const specs = Array.from({ length: 20 }, (_, seed) => ({
    ...{ core: 5, depth: 3, connected: 2, disconnected: 2, seed },
  }));

  for (
    const [name, what] of [["sim:planner", "solved"], [
      "sim:noisy?stale=.2&arity=.1&hallucinate=.1",
      "failed as said",
    ]]
  ) {
    Deno.test(`${provider}: 20 generated tasks are ${what}, with signatures that go back`, async () => {
      await using server = simulatedNative(native);
      const model = connections.model({ model: name!, provider, baseURL: server.url });
      const usual = connections.model({ model: name! });
      const ends = (one: typeof model) =>
        Promise.all(specs.map(async (spec) => {
          const { outcome, calls, failures, reason } = await runTrial(spec, one);
          return { outcome, calls, failures, reason };
        }));
      const all = await ends(model);
      assertEquals(all, await ends(usual));
      const solved = all.filter(({ outcome }) => outcome === "solved").length;
      assert(what === "solved" ? solved === 20 : solved < 20, `${solved} of 20 were solved`);
    });
  }

  Deno.test(`${provider}: signatures go back to the model that they came from, and to no other`, async () => {
    const call = { id: "c", name: "add", arguments: '{"left":1}' };
    await using server = serving(answering(native.reply("I add", [call])));
    const own = modelAt(server, native);
    const { text: content, calls, carried } = await own.reply(asked({ tools: [ADD] }));
    const messages: Message[] = [
      { role: "user", content: "Add" },
      { role: "assistant", content, calls, carried: carried! },
      { role: "tool", callId: "c", name: "add", content: "1" },
    ];
    for (const model of [own, modelAt(server, native, { model: "another" })]) {
      await model.reply(asked({ messages, tools: [ADD] }));
    }
    const bodies = server.received.slice(1).map(({ body }) => JSON.stringify(body));
    assertEquals(bodies.map((body) => body.includes(SIGNATURE)), [true, false]);
    assert(bodies.every((body) => body.includes("I add")));
  });

  Deno.test(`${provider}: long integers keep their digits in calls and when these go back`, async () => {
    const written =
      '{"left":7300000000000000123,"right":["-7300000000000000123",-7300000000000000123,0.5]}';
    const calls = [{ id: "c", name: "add", arguments: written }];
    const reply = {
      created: 7300000000000000123n,
      ...native.reply('"7300000000000000123"', calls),
    };
    await using server = serving(() => new Response(jsonText(reply)));
    const own = modelAt(server, native);
    const parameters = { type: "object", properties: { left: { const: 7300000000000000123n } } };
    const tools = [{ ...ADD, parameters }];
    const { text: content, calls: made, carried } = await own.reply(asked({ tools }));
    assertEquals(made, calls);
    const messages: Message[] = [
      { role: "user", content: "Add" },
      { role: "assistant", content, calls: made, carried: carried! },
      { role: "tool", callId: "c", name: "add", content: "1" },
    ];
    await own.reply(asked({ messages, tools }));
    assertStringIncludes(jsonText(server.received[1]!.body), written);
  });

  Deno.test(`${provider}: agents of OpenAI's formats solve tasks with it`, async () => {
    await using server = simulatedNative(native);
    const model = connections.model({ model: "sim:planner", provider, baseURL: server.url });
    for (const form of [{ api: "chat" }, { api: "responses" }, { api: "chat", streamed: true }]) {
      const agent = aiSdkAgent(form as AgentForm);
      const { outcome, reason } = await runTrial(specs[0]!, model, { agent });
      assertEquals([outcome, reason], ["solved", undefined]);
    }
  });

  Deno.test(`${provider}: text formats work over it`, async () => {
    await using server = simulatedNative(native);
    for (const api of ["react", "xml", "hermes"] as const) {
      const model = connections.model({ model: "sim:planner", provider, api, baseURL: server.url });
      assertEquals((await runTrial(specs[0]!, model)).outcome, "solved");
      assertEquals(model.api, api);
    }
    const [first] = server.received;
    assertStringIncludes(
      JSON.stringify(first),
      provider === "google" ? "stopSequences" : "stop_sequences",
    );
  });

  Deno.test(`${provider}: errors are those of any other server`, async () => {
    const error = native.error("too bad");
    const rows: readonly [() => Response, Partial<InfrastructureError>][] = [
      [status(401, error), { permanent: "key", status: 401 }],
      [status(429, error, { "retry-after": "2" }), {
        rateLimited: true,
        retryable: true,
        retryAfter: 2000,
        fault: "infrastructure",
      }],
      [status(529, error), { retryable: true, fault: "infrastructure" }],
      [status(500, error), { retryable: true, fault: "unclear" }],
      [status(400, error), { retryable: false, fault: "unclear" }],
      [() => new Response("<html>"), { retryable: true, fault: "unclear" }],
      [answering({ odd: [] }), { retryable: true, fault: "unclear" }],
      [() => new Response("[".repeat(1e5)), { retryable: true, fault: "unclear" }],
    ];
    for (const [answer, expected] of rows) {
      await using server = serving(answer);
      const thrown = await refusedBy(modelAt(server, native));
      assertEquals(
        {
          ...expected,
          ...Object.fromEntries(
            Object.keys(expected).map((key) => [key, Reflect.get(thrown, key)]),
          ),
        },
        expected,
        thrown.message,
      );
    }
    await using broken = breaking({ bytes: "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{" });
    const thrown = await refusedBy(modelAt(broken, native));
    assertEquals([thrown.retryable, thrown.fault], [true, "infrastructure"]);
    for (
      const [alive, says] of [[false, "its server is silent"], [true, "never replied"]] as const
    ) {
      await using silent = breaking({ bytes: "", stall: true, alive });
      const quick = new Connections({ retries: 0, requestTimeout: 200, importPackage });
      assertStringIncludes((await refusedBy(modelAt(silent, native, {}, quick))).message, says);
    }
    await using gone = serving(answering({}));
    await gone[Symbol.asyncDispose]();
    assertEquals((await refusedBy(modelAt(gone, native))).permanent, "refused");
  });
}

/** A language model of the AI SDK that is made by hand. */
const handmade = (result: JsonObject, more: object = {}) => ({
  ...{ specificationVersion: "v3", provider: "other.chat", modelId: "m", ...more },
  doGenerate: (_: never) => Promise.resolve(result),
});

const refusedBy = (model: Model) =>
  assertRejects(() => model.reply(asked({ tools: [ADD] })), InfrastructureError);

const OPTIONS: readonly [
  ProviderName,
  Partial<ModelEntry>,
  sent: string | undefined,
  refused?: string,
][] = [
  ["anthropic", { maxCompletionTokens: 99, temperature: 0.5 }, '"max_tokens":99,"temperature":0.5'],
  ["anthropic", { parallelToolCalls: false }, '"disable_parallel_tool_use":true'],
  ["anthropic", { body: { metadata: { userId: "u" } } }, '"user_id":"u"'],
  ["anthropic", { toolChoice: { function: "add" } }, '"tool_choice":{"type":"tool","name":"add"'],
  ["anthropic", { seed: 1 }, undefined, "does not take seed: leave it out"],
  [
    "anthropic",
    { model: "claude-sonnet-4-5", temperature: 0, topP: 1 },
    undefined,
    "topP: null leaves it out",
  ],
  ["anthropic", { body: { metadta: {} } }, undefined, "anthropic.metadta"],
  [
    "google",
    { seed: 7, topP: 0.5, maxCompletionTokens: 9 },
    '"maxOutputTokens":9,"topP":0.5,"seed":7',
  ],
  ["google", { model: "gemini-3-pro", reasoningEffort: "low" }, '"thinkingLevel":"low"'],
  [
    "google",
    { model: "gemini-3-pro", reasoningEffort: "max" },
    undefined,
    "does not take reasoningEffort",
  ],
  ["google", { toolChoice: "required" }, '"mode":"ANY"'],
];

for (const [provider, entry, sent, refused] of OPTIONS) {
  Deno.test(`${provider}: ${JSON.stringify(entry)} ${sent ? "is sent" : "is refused once"}`, async () => {
    const native = provider === "google" ? GOOGLE : ANTHROPIC;
    await using server = serving(answering(native.reply("hello")));
    const model = modelAt(server, native, entry);
    if (sent !== undefined) {
      await model.reply(asked({ tools: [ADD] }));
      return assertStringIncludes(JSON.stringify(server.received[0]!.body), sent);
    }
    const { message, permanent } = await refusedBy(model);
    assertStringIncludes(message, refused!);
    assertEquals([permanent, server.received.length], ["option", 1]);
  });
}

Deno.test("an entry with a provider is refused where it cannot be asked", () => {
  const rows: readonly [Partial<ModelEntry>, string][] = [
    [{ provider: "google", parallelToolCalls: false }, "google has no option parallelToolCalls"],
    [{ provider: "mistral" }, "run: deno add npm:@ai-sdk/mistral"],
    [{ provider: "cohere", apiKeyVariable: "NO_SUCH_KEY_1" }, "NO_SUCH_KEY_1 is not set"],
  ];
  for (const [entry, message] of rows) {
    const own = entry.provider === "mistral" ? new Connections() : connections;
    assertThrows(
      () => own.model({ model: "m", baseURL: "http://127.0.0.1:9/v1", ...entry }),
      InputError,
      message,
    );
  }
});

Deno.test("aiSdkModel() takes language models of versions 3 and 4, and options that it can send", async () => {
  for (const given of ["claude", {}, handmade({}, { specificationVersion: "v2" })]) {
    assertThrows(() => aiSdkModel(given as never), InputError, "the model of aiSdkModel()");
  }
  const options = { body: {} } as AiSdkModelOptions;
  assertThrows(() => aiSdkModel(handmade({}), options), InputError, "body");
  assertThrows(
    () => aiSdkModel(handmade({}), { parallelToolCalls: true }),
    InputError,
    "other has no",
  );
  const effort = aiSdkModel(handmade({}), { reasoningEffort: "low", retries: 0 });
  assertEquals((await refusedBy(effort)).permanent, "option");
  assertEquals(aiSdkModel(handmade({}), { name: "mine" }).name, "mine");
});

const CALL = { type: "tool-call", toolCallId: "c", toolName: "add", input: '{"left":' };
const REPLIES: readonly [what: string, JsonObject, Partial<ModelReply>][] = [
  ["a call that is no JSON is the model's", {
    content: [CALL],
    finishReason: { unified: "tool-calls", raw: "x" },
  }, {
    ...{
      calls: [{ id: "c", name: "add", arguments: '{"left":' }],
      finish: "calls",
      parsed: "unreadable",
    },
  }],
  ["the provider's own calls are none of the task's", {
    content: [{ ...CALL, providerExecuted: true }, { type: "text", text: "3" }],
    finishReason: "stop",
  }, { text: "3", calls: [], finish: "stop" }],
  ["calls that Gemini could not read are the model's", {
    ...{ content: [], finishReason: { unified: "error", raw: "MALFORMED_FUNCTION_CALL" } },
  }, { finish: "calls", parsed: "unreadable" }],
  ["a filter is none of the server's faults", { content: [], finishReason: "content-filter" }, {
    finish: "filter",
  }],
  ["usage of version 2 and 3 is read alike", {
    ...{
      content: [],
      finishReason: "length",
      usage: { inputTokens: 5, outputTokens: { total: 6 } },
    },
  }, { finish: "length", usage: { inputTokens: 5, outputTokens: 6 } }],
];

Deno.test("replies of language models are read as those of any server", async () => {
  for (const [what, result, expected] of REPLIES) {
    const reply = await aiSdkModel(handmade(result)).reply(asked({ tools: [ADD] }));
    assertEquals({ ...reply, ...expected }, reply, what);
  }
  const failing = aiSdkModel(handmade({ content: [], finishReason: "error" }), { retries: 0 });
  assertEquals((await refusedBy(failing)).failed.map(({ cause }) => cause), ["unclear"]);
});

Deno.test("images of results follow in a message of the user", async () => {
  const note = "[image, image/png, 3 bytes]";
  const messages: Message[] = [
    { role: "user", content: "Add" },
    { role: "assistant", content: "", calls: [{ id: "c", name: "add", arguments: "{}" }] },
    {
      role: "tool",
      callId: "c",
      name: "add",
      content: note,
      media: [mediaPart("image/png", note, "AAAA")!],
    },
  ];
  for (const native of NATIVES) {
    await using server = serving(answering(native.reply("hello")));
    await modelAt(server, native, { takes: ["image"] }).reply(asked({ messages, tools: [ADD] }));
    assertStringIncludes(
      JSON.stringify(server.received[0]!.body),
      `${note} of the result of add, call c:`,
    );
    assertStringIncludes(JSON.stringify(server.received[0]!.body), '"AAAA"');
  }
});

Deno.test("keys of providers are hidden in what servers say", async () => {
  Deno.env.set("AI_SDK_TEST_1", "hidden-hidden-1");
  await using server = serving(status(400, ANTHROPIC.error("no hidden-hidden-1 here")));
  const { message } = await refusedBy(
    modelAt(server, ANTHROPIC, { apiKeyVariable: "AI_SDK_TEST_1" }),
  );
  assertEquals(server.received[0]!.headers.get("x-api-key"), "hidden-hidden-1");
  assertStringIncludes(message, "no [redacted] here");
});
