// The contract of all adapters, with the real packages: tools of ours in agents of each framework, and its tools as
// ours. What a framework sends and shows to a model is compared on the wire.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { ToolMessage } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { RunContext, tool as agentsTool } from "@openai/agents";
import { asSchema, jsonSchema, tool as aiTool } from "ai";
import { z } from "zod";
import type { JsonObject } from "../../lib/base/json.ts";
import { fromAiSdkTools, toAiSdkTools } from "../../lib/integrations/ai_sdk.ts";
import { fromLangChainTools, toLangChainTools } from "../../lib/integrations/langchain.ts";
import {
  fromOpenAIAgentsTools,
  toOpenAIAgentsTools,
} from "../../lib/integrations/openai_agents.ts";
import { Connections } from "../../lib/models/connect.ts";
import { type StoppableTool, type Tool, toOpenAITool } from "../../lib/tools/tool.ts";
import { logCalls } from "../../lib/trials/executors/call_log.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { agentOptions } from "../support/agent_options.ts";
import { aiSdkAgent } from "../support/agents/ai_sdk.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import type { AgentForm } from "../support/agents/agent.ts";
import { langchainAgent } from "../support/agents/langchain.ts";
import { openaiAgentsAgent } from "../support/agents/openai_agents.ts";
import { runToolsAgent } from "../support/agents/run_tools.ts";

/** A tool as users write it: everything but the framework's own function. */
interface Declared {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodObject;
  readonly execute: (input: never, signal: AbortSignal | undefined) => unknown;
}

interface Adapter {
  /** An agent with the task's tools, or with tools of the framework. */
  agent(form: AgentForm, own?: readonly Declared[]): Agent;
  /** Tools of the framework as ours. */
  from(own: readonly Declared[]): StoppableTool[] | Promise<StoppableTool[]>;
  /** Tools of the framework, as they are. */
  given(own: readonly Declared[]): readonly object[];
  /** Our tools through the framework and back. */
  back(tools: readonly Tool[]): StoppableTool[] | Promise<StoppableTool[]>;
  /** Whether it can say before a call what its own library refuses; else the call fails. */
  readonly refusesAtOnce: boolean;
  /** What the model is shown of an error `no weather` that a tool throws. */
  readonly thrown: string;
  /** What it is shown of the arguments `{"city":5}` to a tool of ours that checks nothing itself. */
  readonly wrong: RegExp;
}

const aiTools = (own: readonly Declared[]) =>
  Object.fromEntries(own.map(({ name, description, schema, execute }) => [
    name,
    aiTool({
      ...{ description, inputSchema: schema },
      execute: (input, { abortSignal }) => execute(input as never, abortSignal),
    }),
  ]));

const agentsTools = (own: readonly Declared[]) =>
  own.map(({ name, description, schema, execute }) =>
    agentsTool({
      ...{ name, description, parameters: schema },
      execute: (input, _context, details) => execute(input as never, details?.signal) as string,
    })
  );

const langchainTools = (own: readonly Declared[]) =>
  own.map(({ execute, ...fields }) =>
    langchainTool((input, { signal }) => execute(input as never, signal), fields)
  );

const runContext = new RunContext();

const ADAPTERS: Readonly<Record<string, Adapter>> = {
  "AI SDK": {
    agent: (form, own) => aiSdkAgent(form, own && aiTools(own)),
    given: (own) =>
      Object.entries(aiTools(own)).map(([name, { description, ...tool }]) => ({
        ...{ name, description: String(description) },
        ...tool,
      })),
    from: (own) => fromAiSdkTools(aiTools(own), { asSchema }),
    back: (tools) => fromAiSdkTools(toAiSdkTools(tools, { jsonSchema }), { asSchema }),
    refusesAtOnce: true,
    thrown: '{"error":"Error: no weather"}',
    wrong: /^weather: \{"city":5\}$/,
  },
  "OpenAI Agents": {
    agent: (form, own) => openaiAgentsAgent(form, own && agentsTools(own)),
    given: agentsTools,
    from: (own) => fromOpenAIAgentsTools(agentsTools(own), { runContext }),
    back: (tools) =>
      fromOpenAIAgentsTools(toOpenAIAgentsTools(tools, { tool: agentsTool }), { runContext }),
    refusesAtOnce: false,
    thrown: "An error occurred while running the tool. Please try again.",
    wrong: /^weather: \{"city":5\}$/,
  },
  LangChain: {
    agent: (form, own) => langchainAgent(form, own && langchainTools(own)),
    given: langchainTools,
    from: (own) => fromLangChainTools(langchainTools(own), { toJsonSchema }),
    back: (tools) =>
      fromLangChainTools(toLangChainTools(tools, { tool: langchainTool }), { toJsonSchema }),
    refusesAtOnce: true,
    thrown: "Error: no weather\n Please fix your mistakes.",
    wrong: /Received tool input did not match expected schema/,
  },
};

const named = ({ streamed, api, stored }: AgentForm) =>
  `${streamed ? "streamed" : "whole"}, by ${api}${stored ? " and references to items" : ""}`;

const FORMS: readonly AgentForm[] = [
  { streamed: false, api: "chat" },
  { streamed: false, api: "responses" },
  { streamed: true, api: "chat" },
  { streamed: true, api: "responses" },
];

const UNLIMITED = { callLimit: 9, calls: 0, left: 9, exhausted: false, step: () => {} };

/** What a server gets in a request. */
interface Body {
  readonly tools: readonly JsonObject[];
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

/** A server that calls a tool once, and then says that it is done; the requests it got. */
function callingServer(name: string, text: string): { fetch: typeof fetch; bodies: Body[] } {
  const bodies: Body[] = [];
  const call = { id: "call_1", type: "function", function: { name, arguments: text } };
  return {
    bodies,
    fetch: (_, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      const message = bodies.length === 1
        ? { role: "assistant", content: null, tool_calls: [call] }
        : { role: "assistant", content: "done" };
      const finish_reason = bodies.length === 1 ? "tool_calls" : "stop";
      return Promise.resolve(Response.json({
        ...{
          id: `chatcmpl-${bodies.length}`,
          object: "chat.completion",
          created: 1,
          model: "gpt-5",
        },
        choices: [{ index: 0, message, finish_reason }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }));
    },
  };
}

/** Runs an agent to whose model a server answers; returns the requests, and what the model was shown of its call. */
async function shown(
  agent: Agent,
  tools: readonly Tool[],
  { name = "weather", text = '{"city":"Rome"}' } = {},
): Promise<{ result: string; bodies: readonly Body[] }> {
  const { fetch, bodies } = callingServer(name, text);
  const options = { fetch, baseURL: "http://127.0.0.1:9/v1", apiKey: "none", model: "gpt-5" };
  const said = await agent(
    { ...{ prompt: "What is the weather?", tools, history: [] }, ...UNLIMITED },
    agentOptions(options),
  );
  assertEquals(said, "done");
  const result = bodies[1]!.messages.find(({ role }) => role === "tool")!.content;
  return { result: String(result), bodies };
}

const callsOf = ({ events }: Toolbox) => events.filter((event) => event.kind === "call");

const CHAT = { streamed: false, api: "chat" } as const;

/** A tool with a schema that has a default and a check that JSON Schema cannot express. */
function weather(execute: Declared["execute"] = () => "sunny"): Declared {
  const schema = z.object({
    city: z.string().describe("Where").refine(
      (city) => city !== "Atlantis",
      "There is no Atlantis",
    ),
    days: z.int().min(1).nullable(),
  });
  return { name: "weather", description: "Returns the weather", schema, execute };
}
const ROME = { city: "Rome", days: 2 };

/** Our tools with everything that may get lost on the way. */
const OURS: readonly Tool[] = ["weather", "get-weather", "__proto__", "constructor"].map((
  name,
) => ({
  name,
  description: `What ${name} does`,
  parameters: {
    type: "object",
    properties: { city: { $ref: "#/$defs/city" }, days: { type: "integer", minimum: 1 } },
    required: ["city"],
    additionalProperties: false,
    $defs: { city: { type: "string", description: "Where" } },
  },
  examples: [{ city: "Rome" }],
  returns: { type: "string" },
  execute: (input) => Promise.resolve(`${name}: ${JSON.stringify(input)}`),
}));

const AGENTS: Readonly<Record<string, (form: AgentForm) => Agent>> = {
  ...Object.fromEntries(Object.entries(ADAPTERS).map(([name, { agent }]) => [name, agent])),
  runTools: runToolsAgent,
};

for (const [name, make] of Object.entries(AGENTS)) {
  const forms: readonly AgentForm[] = name === "AI SDK"
    ? [...FORMS, { streamed: true, api: "responses", stored: true }]
    : FORMS;
  for (const form of forms) {
    // It has chat completions alone.
    if (name === "runTools" && form.api === "responses") continue;
    Deno.test(`${name}: an agent with our tools solves generated tasks, ${named(form)}`, async () => {
      const connections = new Connections();
      const model = connections.model({ model: "sim:planner" });
      for (let seed = 1; seed <= 2; seed++) {
        const spec = { core: 3, depth: 2, connected: 1, disconnected: 0, seed };
        const { outcome, agent } = await runTrial(spec, model, { agent: make(form) });
        assertEquals([outcome, agent], ["solved", "watched"], `seed ${seed}`);
      }
    });
  }
}

for (const [name, adapter] of Object.entries(ADAPTERS)) {
  Deno.test(`${name}: its tools are no tools of ours before they are converted`, () => {
    const [given] = adapter.given([weather()]);
    const { message } = assertThrows(() => logCalls([given as Tool]), Error);
    assertMatch(message, /is one of a framework: convert it by an entry of .*integrations$/);
  });

  Deno.test(`${name}: its tools offer as ours what it sends itself`, async () => {
    const own = [weather()];
    const { bodies } = await shown(adapter.agent(CHAT, own), [], { text: JSON.stringify(ROME) });
    const [ours] = await adapter.from(own);
    const sent = bodies[0]!.tools[0]!["function"] as JsonObject;
    const { function: offered } = toOpenAITool(ours!);
    assertEquals({ ...offered }, sent as unknown as typeof offered);
  });

  Deno.test(`${name}: its tools run as ours on good arguments, and on no others`, async () => {
    const ran: unknown[] = [];
    const tools = await adapter.from([weather((input) => void ran.push(input))]);
    using toolbox = new Toolbox(tools);
    const asked = async (...inputs: readonly unknown[]) =>
      await toolbox.execute(inputs.map((input, place) => ({
        ...{ id: `${place}`, name: "weather" },
        arguments: typeof input === "string" ? input : JSON.stringify(input),
      })));
    await asked(ROME);
    assertEquals(ran, [ROME]);
    const refused = await asked(
      ...[{ city: 5, days: 1 }, { city: "Rome", days: 0 }, { days: 1 }, { ...ROME, sky: 1 }],
      ...["{", "[]", { city: "Atlantis", days: 1 }],
    );
    assertEquals(ran, [ROME]);
    for (const { content } of refused) assertMatch(content, /^\{"error":/);
    const types = callsOf(toolbox).map(({ failure }) => failure?.type);
    const refusal = "wrong_number_of_inputs";
    assertEquals(types, [
      undefined,
      ...Array<typeof refusal>(6).fill(refusal),
      adapter.refusesAtOnce ? refusal : undefined,
    ]);
  });

  for (
    const [what, value] of Object.entries({
      "a text": "sunny",
      "an object": { degrees: 21, sky: "blue" },
      "a list": [1, { a: null }],
      "a number": 21,
      "null": null,
      "undefined": undefined,
      "an empty text": "",
    })
  ) {
    Deno.test(`${name}: ${what} that its tool returns reads as ours as it does there`, async () => {
      const own = [weather(() => value)];
      const text = JSON.stringify(ROME);
      const { result } = await shown(adapter.agent(CHAT, own), [], { text });
      const [ours] = await adapter.from(own);
      assertEquals(await ours!.execute(ROME), result);
    });
  }

  Deno.test(`${name}: what its tool throws is the error of ours`, async () => {
    const failing = weather(() => {
      throw new Error("no weather");
    });
    using toolbox = new Toolbox(await adapter.from([failing]));
    const call = { id: "1", name: "weather", arguments: JSON.stringify(ROME) };
    const [answer] = await toolbox.execute([call]);
    assertMatch(answer!.content, /^\{"error":"(no weather|An error occurred [^"]*)"\}$/);
    assert(callsOf(toolbox)[0]!.error !== undefined);
  });

  Deno.test(`${name}: its tool gets our signal, and ours gets its`, async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const controller = new AbortController();
    const [ours] = await adapter.from([weather((_, signal) => void signals.push(signal))]);
    await ours!.execute(ROME, { signal: controller.signal });
    const tool: StoppableTool = {
      ...OURS[0]!,
      execute: (_, options) => Promise.resolve(`${signals.push(options?.signal)}`),
    };
    const [back] = await adapter.back([tool]);
    await back!.execute({ city: "Rome" }, { signal: controller.signal });
    controller.abort();
    assertEquals(signals.map((signal) => signal?.aborted), [true, true]);
  });

  Deno.test(`${name}: our tools come back as they went`, async () => {
    const back = await adapter.back(OURS);
    const offered = (tools: readonly Tool[]) =>
      tools.map(toOpenAITool).map(({ function: { strict: _, ...one } }) => one);
    assertEquals(offered(back), offered(OURS));
    assertEquals(back.filter(({ strict }) => strict === true), []);
    for (const [place, tool] of back.entries()) {
      const input = { city: "Rome", days: 2 };
      assertEquals(await tool.execute(input), await OURS[place]!.execute(input));
      await assertRejects(() => tool.execute({ city: 5 }), Error, "/city");
    }
  });

  for (const { name: tool } of OURS.slice(1, 3)) {
    Deno.test(`${name}: its agent calls our tool ${tool}, and sends its schema`, async () => {
      const { result, bodies } = await shown(adapter.agent(CHAT), OURS, { name: tool });
      assertEquals(result, `${tool}: {"city":"Rome"}`);
      const sent = bodies[0]!.tools.map((one) => one["function"] as JsonObject);
      assertEquals(
        sent.map(({ strict: _, ...offered }) => offered) as unknown[],
        OURS.map((one) => toOpenAITool(one).function),
      );
      assertEquals(sent.filter(({ strict }) => strict === true), []);
    });
  }

  Deno.test(`${name}: its agent tells the model of an error as it does for its own tools`, async () => {
    const execute = () => Promise.reject(new Error("no weather"));
    const { result } = await shown(adapter.agent(CHAT), [{ ...OURS[0]!, execute }]);
    assertEquals(result, adapter.thrown);
    const own = [weather(execute)];
    const text = JSON.stringify(ROME);
    assertEquals((await shown(adapter.agent(CHAT, own), [], { text })).result, adapter.thrown);
  });

  Deno.test(`${name}: its agent handles arguments that do not conform in its own way`, async () => {
    const text = '{"city":5}';
    assertMatch((await shown(adapter.agent(CHAT), OURS, { text })).result, adapter.wrong);
  });
}

const ROME_ONLY = jsonSchema<{ city: string }>(
  Promise.resolve({ type: "object", properties: { city: { enum: ["Rome"] } } }),
);

Deno.test("AI SDK: a result in parts is its last one, and a model's view of it is what ours returns", async () => {
  const fields = { description: "", inputSchema: ROME_ONLY };
  const shownAs = (output: { type: "text" | "error-text" | "error-json"; value: string }) =>
    aiTool({ ...fields, execute: () => 1, toModelOutput: () => output });
  const tools = await fromAiSdkTools({
    parts: aiTool({
      ...fields,
      async *execute() {
        yield "cloudy";
        yield await Promise.resolve("sunny");
      },
    }),
    text: shownAs({ type: "text", value: "sunny" }),
    thrown: shownAs({ type: "error-text", value: "no weather" }),
    error: shownAs({ type: "error-json", value: "no weather" }),
  }, { asSchema });
  const [parts, text, thrown, error] = tools;
  assertEquals(await parts!.execute({ city: "Rome" }), "sunny");
  assertEquals(await text!.execute({ city: "Rome" }), "sunny");
  await assertRejects(() => thrown!.execute({ city: "Rome" }), Error, "no weather");
  assertEquals(await error!.execute({ city: "Rome" }), '{"error":"no weather"}');
  await assertRejects(() => text!.execute({ city: "Oslo" }), Error, "/city");
});

Deno.test("LangChain: parts of a message are joined, and a message of an error is one", async () => {
  const fields = { name: "weather", description: "", schema: z.object({}) };
  const [parts, failing] = fromLangChainTools([
    langchainTool(() => [{ type: "text", text: "sunny" }], fields),
    langchainTool(
      () => new ToolMessage({ content: "no weather", tool_call_id: "1", status: "error" }),
      fields,
    ),
  ], { toJsonSchema });
  assertEquals(await parts!.execute({}), "sunny");
  await assertRejects(() => failing!.execute({}), Error, "no weather");
});

Deno.test("tools that run elsewhere, and what is no tool, are refused by name", async () => {
  const elsewhere = aiTool({ description: "", inputSchema: ROME_ONLY });
  const message = /^Cannot convert tool weather as from\w+\(\) needs a function that runs it: /;
  assertMatch(
    (await assertRejects(() => fromAiSdkTools({ weather: elsewhere }, { asSchema }), Error))
      .message,
    message,
  );
  const hosted = [{ type: "hosted_tool", name: "weather" }];
  for (
    const convert of [
      () => fromOpenAIAgentsTools(hosted, { runContext }),
      () => fromLangChainTools(hosted, { toJsonSchema: () => ({}) }),
    ]
  ) assertMatch(assertThrows(convert, Error).message, message);
});
