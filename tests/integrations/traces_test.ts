// Traces of real clients, beside what toolgate recorded of the same conversations itself: each client works as an agent
// of the user's own, with a model that makes mistakes, and its own record is read as a trace.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createOpenAI } from "@ai-sdk/openai";
import { type BaseMessage, mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { tool as langchainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, isStepCount, jsonSchema, type ModelMessage } from "ai";
import { createAgent } from "langchain";
import OpenAI from "openai";
import fc from "../support/fast_check.ts";
import { AssertionError } from "@std/assert/assertion-error";
import { InputError } from "../../lib/base/errors.ts";
import { parseJson } from "../../lib/base/json.ts";
import { callsOf as callEvents, type TraceEvent } from "../../lib/calls/trace.ts";
import { toAiSdkTools } from "../../lib/integrations/ai_sdk.ts";
import { toLangChainTools } from "../../lib/integrations/langchain.ts";
import { readTrace, readTraces, type RecordedTrace } from "../../lib/integrations/traces.ts";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { assertCalled, assertNotCalled } from "../../lib/testing/assertions/calls.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { toOpenAITool } from "../../lib/tools/tool.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { ToolTestRun } from "../../lib/trials/executors/tool_case.ts";
import type { Agent, AgentTask } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { saidIn } from "../support/agents/agent.ts";
import { assertLinearWait, FACTOR } from "../support/growth.ts";
import { type Saying, sayingServer } from "../support/saying_server.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const NOTHING = { type: "object", properties: {} };

const TOOLS: readonly Tool[] = [
  tool({
    name: "weather",
    description: "Returns the weather of a city",
    parameters: CITY,
    execute: ({ city }) => ({ city, degrees: 21 }),
  }),
  tool({
    name: "boom",
    description: "Fails",
    parameters: NOTHING,
    execute: () => Promise.reject(new Error("boom")),
  }),
  tool({ name: "wipe", description: "Deletes all", parameters: NOTHING, returns: "gone" }),
];

/** A model that invents a function, forgets an argument, writes none that can be read, and calls what it must not. */
const MISTAKES: readonly Saying[] = [
  {
    text: "Let me see.",
    calls: [
      { name: "weather", arguments: '{"city": "Rome"}' },
      { name: "weather", arguments: '{"town":"Rome"}' },
      // A call that an agent cannot carry out is recorded behind those that it can, wherever it was written.
      { name: "look_up", arguments: '{"of":1}' },
    ],
  },
  { calls: [{ name: "boom", arguments: "{}" }, { name: "wipe", arguments: "{}" }] },
  { text: "It is 21 degrees." },
];

/** Further turns: two calls of the same words, and a text alone. */
const TURNS: readonly Saying[] = [
  {
    calls: [
      { name: "weather", arguments: '{"city":"Oslo"}' },
      { name: "weather", arguments: '{"city":"Oslo"}' },
    ],
  },
  { text: "Also 21." },
  { text: "Bye." },
];

const UNREADABLE: readonly Saying[] = [
  {
    calls: [
      { name: "weather", arguments: '{"city":"Rome"}' },
      { name: "weather", arguments: '{"city": "Ro' },
    ],
  },
  { text: "It is 21 degrees." },
];

interface Recorded {
  readonly run: ToolTestRun;
  readonly trial: Trial;
}

/** Runs an agent on a conversation, and returns what toolgate recorded. */
async function recorded(
  agent: Agent | undefined,
  script: readonly Saying[],
  { turns = [], api = "chat" }: {
    readonly turns?: readonly string[];
    readonly api?: "chat" | "responses";
  } = {},
): Promise<Recorded> {
  await using server = sayingServer(script);
  let run: ToolTestRun | undefined;
  const toolCase = {
    ...{ name: "weather", tools: TOOLS, system: "Be brief.", prompt: "How warm is Rome?", turns },
    assert: (one: ToolTestRun) => void (run = one),
  };
  const trial = await runTrial({ case: "weather", seed: 1 }, server.model({ api }), {
    open: caseOpener(() => toolCase),
    ...(agent === undefined ? {} : { agent }),
  });
  assert(run !== undefined, `${trial.outcome}: ${trial.reason}`);
  return asOfModel({ run, trial });
}

/**
 * Steps of an agent are numbers of replies; those of a model count the replies that make calls, as those of a trace do. No
 * trace has what a provider wants to get back.
 */
function asOfModel({ run, trial }: Recorded): Recorded {
  const steps = [...new Set(run.calls.map(({ step }) => step))].sort((one, other) => one - other);
  const replaced = JSON.parse(
    JSON.stringify({ run, trial }),
    (key, value) =>
      key === "step" ? steps.indexOf(value) + 1 : key === "carried" ? undefined : value,
  );
  // Results stand in the order in which calls ended.
  const { messages } = replaced.run;
  const results: Json[] = messages.filter(({ role }: Json) => role === "tool");
  const sorted = results.toSorted((one, other) => one.callId < other.callId ? -1 : 1).values();
  replaced.run.messages = messages.map((one: Json) =>
    one.role === "tool" ? sorted.next().value : one
  );
  return replaced;
}

/** Without what a client does not tell: how long things took, which call ended first, and what toolgate knows alone. */
function told(events: readonly TraceEvent[]): unknown[] {
  const calls = callEvents(events).values();
  return events.filter(({ kind }) => kind !== "answer").map((event) => {
    const { durationMs: _, omits: __, ...rest } =
      (event.kind === "call" ? calls.next().value : event) as Json;
    return rest;
  });
}

/** What is compared with a trial's own record, field by field. */
function shapeOf(
  run: Pick<ToolTestRun, "calls" | "tools" | "answer" | "replies" | "usage" | "turns" | "texts">,
) {
  const { calls, tools, answer, replies, usage, texts } = run;
  return {
    ...{ calls, tools, answer, replies, usage, texts },
    turns: run.turns.map(({ durationMs: _, ...turn }) => turn),
  };
}

/** As JSON has it: what is undefined is not there. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function assertSame(trace: RecordedTrace, { run, trial }: Recorded): void {
  assertEquals(plain(shapeOf(trace)), plain(shapeOf(run)));
  assertEquals(trace.failures, trial.failures);
  assertEquals(told(trace.events), told(run.events));
  assertEquals(trace.messages, run.messages);
  assertEquals(trace.system, "Be brief.");
  // What assertions say of one, they say of the other.
  for (
    const assertion of [
      (one: Json) => assertCalled(one, { tool: "weather", arguments: { city: "Rome" } }),
      (one: Json) => assertCalled(one, { tool: "weather", arguments: { city: "Paris" } }),
      (one: Json) => assertNotCalled(one, "wipe"),
      (one: Json) => assertAnswer(one, /21/),
      (one: Json) => assertCalled(one.turns[0], "boom"),
    ]
  ) assertEquals(saidBy(() => assertion(trace)), saidBy(() => assertion(run)));
}

function saidBy(assertion: () => void): string | undefined {
  try {
    assertion();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
}

const TOOL_DOCUMENTS = TOOLS.map(toOpenAITool);

/** Runs a call as clients of OpenAI do that pass the error of a tool on. */
async function carryOut({ tools }: AgentTask, name: string, written: string): Promise<string> {
  const input = parseJson(written);
  const found = tools.find((one) => one.name === name);
  if (found === undefined) return JSON.stringify({ error: `There is no function ${name}` });
  return await found.execute(input as Json);
}

/** An agent of OpenAI's client, and the messages that it was left with. */
function chatAgent(messages: Json[]): Agent {
  return async (task, { baseURL, fetch, apiKey, model }) => {
    const client = new OpenAI({ baseURL, fetch, apiKey });
    if (messages.length === 0) messages.push({ role: "system", content: task.system });
    messages.push({ role: "user", content: task.prompt });
    while (true) {
      const { choices: [choice] } = await client.chat.completions.create({
        ...{ model, messages, tools: TOOL_DOCUMENTS as Json },
      });
      const { message } = choice!;
      messages.push(message);
      if (message.tool_calls === undefined) return message.content ?? "";
      for (const call of message.tool_calls as Json[]) {
        const content = await carryOut(task, call.function.name, call.function.arguments);
        messages.push({ role: "tool", tool_call_id: call.id, content });
      }
    }
  };
}

/** The same by responses. */
function responsesAgent(input: Json[]): Agent {
  return async (task, { baseURL, fetch, apiKey, model }) => {
    const client = new OpenAI({ baseURL, fetch, apiKey });
    input.push({ role: "user", content: task.prompt });
    const tools = TOOL_DOCUMENTS.map((one) => ({
      type: "function",
      strict: false,
      ...one.function,
    }));
    while (true) {
      const response = await client.responses.create({
        ...{ model, input, tools: tools as Json, instructions: task.system! },
      });
      input.push(...response.output);
      const calls = response.output.filter(({ type }) => type === "function_call") as Json[];
      if (calls.length === 0) return response.output_text;
      for (const { call_id, name, arguments: written } of calls) {
        input.push({
          ...{ type: "function_call_output", call_id, output: await carryOut(task, name, written) },
        });
      }
    }
  };
}

/** The tokens are in no list of messages: a trace of these has none. */
function withoutUsage({ run, trial }: Recorded): Recorded {
  const none = { inputTokens: 0, outputTokens: 0 };
  return {
    trial,
    run: {
      ...run,
      usage: none,
      turns: run.turns.map((turn) => ({ ...turn, usage: none })),
      events: run.events.map((event) => event.kind === "reply" ? { ...event, ...none } : event),
    },
  };
}

for (
  const [name, script, turns] of [
    ["mistakes", MISTAKES, []],
    ["several turns", [...MISTAKES, ...TURNS], ["And in Oslo?", "Thanks"]],
  ] as const
) {
  Deno.test(`readTrace() reads chat completions as the trial was recorded: ${name}`, async () => {
    const messages: Json[] = [];
    const record = await recorded(chatAgent(messages), script, { turns });
    const trace = await readTrace(messages, { tools: TOOLS });
    assertEquals([trace.form, trace.checked], ["chat", true]);
    assertSame(trace, withoutUsage(record));
    const body = { model: "parrot", messages, tools: TOOL_DOCUMENTS };
    const [own] = await readTraces(JSON.stringify(body));
    assertEquals([own!.model, own!.failures], ["parrot", trace.failures]);
  });

  Deno.test(`readTrace() reads responses as the trial was recorded: ${name}`, async () => {
    const input: Json[] = [];
    const record = await recorded(responsesAgent(input), script, { turns, api: "responses" });
    const trace = await readTrace({ instructions: "Be brief.", input }, { tools: TOOLS });
    assertEquals(trace.form, "responses");
    assertSame(trace, withoutUsage(record));
  });
}

Deno.test("readTrace() reads arguments that cannot be read as they were written", async () => {
  const messages: Json[] = [];
  const record = await recorded(undefined, UNREADABLE);
  const written = UNREADABLE[0]!.calls!.map((call, place) => ({
    ...{ id: `call_1_${place + 1}`, type: "function", function: call },
  }));
  messages.push(
    { role: "system", content: "Be brief." },
    { role: "user", content: "How warm is Rome?" },
    { role: "assistant", content: null, tool_calls: written },
    ...record.run.calls.map(({ result }, place) => ({
      ...{ role: "tool", tool_call_id: written[place]!.id, content: result },
    })),
    { role: "assistant", content: "It is 21 degrees." },
  );
  assertSame(await readTrace(messages, { tools: TOOLS }), withoutUsage(record));
});

for (const script of [MISTAKES, UNREADABLE]) {
  const what = script === MISTAKES ? "mistakes" : "unreadable arguments";
  Deno.test(`readTrace() reads steps and messages of the AI SDK: ${what}`, async () => {
    let steps: Json;
    const said: ModelMessage[] = [];
    const agent: Agent = async (task, { baseURL, fetch, apiKey, model }) => {
      const openai = createOpenAI({ baseURL, fetch, apiKey });
      const result = await generateText({
        model: openai.chat(model),
        instructions: task.system!,
        messages: saidIn(task),
        tools: toAiSdkTools(task.tools, { jsonSchema }),
        stopWhen: isStepCount(20),
      });
      steps = result.steps;
      said.push(...saidIn(task), ...result.steps.flatMap(({ response }) => response.messages));
      return result.text;
    };
    const record = await recorded(agent, script);
    const asked = { system: "Be brief.", prompt: "How warm is Rome?" };
    const written = JSON.parse(JSON.stringify({ ...asked, steps }));
    for (const value of [{ ...asked, steps }, written]) {
      const trace = await readTrace(value, { tools: TOOLS });
      assertEquals(trace.form, "ai_sdk_steps");
      assertSame(trace, withWritten(record));
    }
    if (script === UNREADABLE) return;
    const messages = [{ role: "system", content: "Be brief." }, ...said];
    const trace = await readTrace(messages, { tools: TOOLS });
    assertEquals(trace.form, "ai_sdk");
    assertSame(trace, withWritten(withoutUsage(record)));
  });

  Deno.test(`readTrace() reads messages of LangChain, live and in both of its ways: ${what}`, async () => {
    let messages: BaseMessage[] = [];
    const agent: Agent = async (task, { baseURL, fetch, apiKey, model }) => {
      const chat = new ChatOpenAI({ model, apiKey, configuration: { baseURL, fetch } });
      const made = createAgent({
        model: chat,
        tools: toLangChainTools(task.tools, { tool: langchainTool }),
        systemPrompt: task.system!,
      });
      ({ messages } = await made.invoke({ messages: saidIn(task) }));
      return messages.at(-1)!.text;
    };
    const record = await recorded(agent, script);
    const stored = mapChatMessagesToStoredMessages(messages);
    const live = await readTrace(messages, { tools: TOOLS });
    assertEquals(live.form, "langchain");
    // The system text is an option of the agent, and none of its messages.
    assertSame({ ...live, system: "Be brief.", messages: record.run.messages }, record);
    for (const value of [JSON.parse(JSON.stringify(messages)), stored, { messages: stored }]) {
      assertEquals(await readTrace(value, { tools: TOOLS }), live);
    }
  });
}

/**
 * The AI SDK keeps parsed arguments, so that spaces between them are lost, and on the wire it wraps errors of its own, which
 * its messages have as they are.
 */
function withWritten(record: Recorded): Recorded {
  return JSON.parse(JSON.stringify(record), (_, value) => {
    if (typeof value !== "string") return value;
    return value.startsWith('{"error":"AI_')
      ? JSON.parse(value).error
      : value.replaceAll('{"city": "Rome"}', '{"city":"Rome"}');
  });
}

/** A conversation of random replies, whose results are known by their texts, with ids that repeat. */
const conversation = fc.record({
  turns: fc.array(
    fc.record({
      prompt: fc.string({ minLength: 1 }),
      replies: fc.array(
        fc.array(
          fc.record({
            id: fc.constantFrom("a", "b", "c"),
            name: fc.constantFrom("weather", "wipe", "look_up", "__proto__"),
            arguments: fc.constantFrom('{"city":"Rome"}', "{}", '{"__proto__":1}'),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        { maxLength: 3 },
      ),
      answer: fc.string({ minLength: 1 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

type Said = typeof conversation extends fc.Arbitrary<infer Value> ? Value : never;

/** Every call of the conversation with the result at its place. */
function callsOf({ turns }: Said) {
  let count = 0;
  return turns.map((turn) => ({
    ...turn,
    replies: turn.replies.map((calls) =>
      calls.map((call) => ({ ...call, result: `result ${++count}` }))
    ),
  }));
}

const parsed = (text: string): Json => JSON.parse(text);

/** Writes a conversation in each form. */
const WRITERS: Readonly<Record<string, (said: Said) => Json>> = {
  chat: (said) =>
    callsOf(said).flatMap(({ prompt, replies, answer }) => [
      { role: "user", content: prompt },
      ...replies.flatMap((calls) => [
        {
          ...{ role: "assistant", content: null },
          tool_calls: calls.map(({ id, name, arguments: written }) => ({
            ...{ id, type: "function", function: { name, arguments: written } },
          })),
        },
        ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
      ]),
      { role: "assistant", content: answer },
    ]),
  responses: (said) => ({
    input: callsOf(said).flatMap(({ prompt, replies, answer }) => [
      { role: "user", content: prompt },
      ...replies.flatMap((calls) => [
        ...calls.map(({ id, name, arguments: written }) => ({
          ...{ type: "function_call", call_id: id, name, arguments: written },
        })),
        ...calls.map(({ id, result }) => ({
          ...{ type: "function_call_output", call_id: id, output: result },
        })),
      ]),
      { type: "message", role: "assistant", content: [{ type: "output_text", text: answer }] },
    ]),
  }),
  ai_sdk: (said) =>
    callsOf(said).flatMap(({ prompt, replies, answer }) => [
      { role: "user", content: prompt },
      ...replies.flatMap((calls) => [
        {
          role: "assistant",
          content: calls.map(({ id, name, arguments: written }) => ({
            ...{ type: "tool-call", toolCallId: id, toolName: name, input: parsed(written) },
          })),
        },
        {
          role: "tool",
          content: calls.map(({ id, name, result }) => ({
            ...{ type: "tool-result", toolCallId: id, toolName: name },
            output: { type: "text", value: result },
          })),
        },
      ]),
      { role: "assistant", content: [{ type: "text", text: answer }] },
    ]),
  ai_sdk_ui: (said) =>
    callsOf(said).flatMap(({ prompt, replies, answer }) => [
      { id: "1", role: "user", parts: [{ type: "text", text: prompt }] },
      {
        ...{ id: "2", role: "assistant" },
        parts: [
          ...replies.flatMap((calls) => [
            { type: "step-start" },
            ...calls.map(({ id, name, arguments: written, result }) => ({
              ...{ type: "dynamic-tool", toolName: name, toolCallId: id },
              ...{ state: "output-available", input: parsed(written), output: result },
            })),
          ]),
          { type: "step-start" },
          { type: "text", text: answer },
        ],
      },
    ]),
  langchain: (said) =>
    callsOf(said).flatMap(({ prompt, replies, answer }) => [
      { type: "human", data: { content: prompt } },
      ...replies.flatMap((calls) => [
        {
          type: "ai",
          data: {
            content: "",
            tool_calls: calls.map(({ id, name, arguments: written }) => ({
              ...{ id, name, args: parsed(written), type: "tool_call" },
            })),
          },
        },
        ...calls.map(({ id, name, result }) => ({
          ...{ type: "tool", data: { content: result, tool_call_id: id, name } },
        })),
      ]),
      { type: "ai", data: { content: answer } },
    ]),
  otel: (said) => otlp(said),
};

/** Spans of requests, each with the whole conversation so far, as OTLP has them in JSON. */
function otlp(said: Said): Json {
  const history: Json[] = [];
  const spans: Json[] = [];
  const attribute = (key: string, value: Json) => ({
    ...{ key, value: { stringValue: typeof value === "string" ? value : JSON.stringify(value) } },
  });
  const chat = (reply: Json) => {
    const start = 1_700_000_000_000_000_000n + BigInt(spans.length) * 1_000_000n;
    spans.push({
      ...{ traceId: "t", spanId: `${spans.length}`, name: "chat gpt-5", kind: 3 },
      ...{ startTimeUnixNano: `${start}`, endTimeUnixNano: `${start + 500_000n}` },
      attributes: [
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.request.model", "gpt-5"),
        attribute("gen_ai.input.messages", history),
        attribute("gen_ai.output.messages", [reply]),
      ],
    });
    history.push(reply);
  };
  for (const { prompt, replies, answer } of callsOf(said)) {
    history.push({ role: "user", parts: [{ type: "text", content: prompt }] });
    for (const calls of replies) {
      chat({
        role: "assistant",
        parts: calls.map(({ id, name, arguments: written }) => ({
          ...{ type: "tool_call", id, name, arguments: parsed(written) },
        })),
      });
      history.push({
        role: "tool",
        parts: calls.map(({ id, result }) => ({
          type: "tool_call_response",
          id,
          response: result,
        })),
      });
    }
    chat({ role: "assistant", parts: [{ type: "text", content: answer }], finish_reason: "stop" });
  }
  // Exporters keep no order.
  return { resourceSpans: [{ scopeSpans: [{ spans: spans.toReversed() }] }] };
}

for (const [form, write] of Object.entries(WRITERS)) {
  Deno.test(`readTrace() reads back what was written, whatever the ids of calls: ${form}`, async () => {
    await fc.assert(fc.asyncProperty(conversation, async (said) => {
      const trace = await readTrace(JSON.parse(JSON.stringify(write(said))), {
        tools: TOOLS,
        form: form as RecordedTrace["form"],
      });
      const wanted = callsOf(said);
      assertEquals(
        trace.turns.map(({ prompt, calls, answer }) => ({
          ...{ prompt, answer },
          calls: calls.map(({ tool, written, result }) => [tool, written, result]),
        })),
        wanted.map(({ prompt, replies, answer }) => ({
          ...{ prompt, answer },
          calls: replies.flat().map((
            { name, arguments: written, result },
          ) => [name, written, result]),
        })),
      );
      assertEquals(
        trace.failures.map(({ call, type }) => [call, type]),
        wanted.flatMap(({ replies }) => replies.flat()).flatMap((call, place) => {
          const isUnknown = !TOOLS.some(({ name }) => name === call.name);
          const isWrong = call.name === "weather" && call.arguments !== '{"city":"Rome"}';
          return isUnknown
            ? [[place + 1, "function_not_found"]]
            : isWrong
            ? [[place + 1, "wrong_number_of_inputs"]]
            : [];
        }),
      );
      const ids = trace.messages.flatMap((one) => one.role === "assistant" ? one.calls : [])
        .map(({ id }) => id);
      assertEquals(new Set(ids).size, ids.length);
    }));
  });
}

const call = (id: string, name = "weather") => ({
  ...{ id, type: "function", function: { name, arguments: '{"city":"Rome"}' } },
});
const user = { role: "user", content: "Hi" };
const result = (id: string | undefined, content: string) => ({
  role: "tool",
  tool_call_id: id,
  content,
});
const answer = { role: "assistant", content: "Done." };

Deno.test("readTrace() pairs by place, and by ids only where each stands for one call", async () => {
  const resultsFor = async (calls: readonly string[], results: readonly (string | undefined)[]) => {
    const { calls: read } = await readTrace([
      user,
      { role: "assistant", tool_calls: calls.map((id) => call(id)) },
      ...results.map((id, place) => result(id, `${place + 1}`)),
      answer,
    ], { tools: TOOLS });
    return read.map((one) => one.agentDid ?? one.result);
  };
  assertEquals(await resultsFor(["a", "b"], ["b", "a"]), ["2", "1"]);
  assertEquals(await resultsFor(["a", "a"], ["a", "a"]), ["1", "2"]);
  assertEquals(await resultsFor(["a", "a", "b"], ["b", "a", "a"]), ["2", "3", "1"]);
  assertEquals(await resultsFor(["a", "b"], ["x", "y"]), ["1", "2"]);
  assertEquals(await resultsFor(["a", "b"], ["b", "x"]), ["2", "1"]);
  assertEquals(await resultsFor(["a", "b"], [undefined, undefined]), ["1", "2"]);
  assertEquals(await resultsFor(["a", "b"], ["b"]), ["not_run", "1"]);
});

Deno.test("readTrace() takes a call without a result for one that was not carried out, and says so", async () => {
  const trace = await readTrace([user, { role: "assistant", tool_calls: [call("a")] }], {
    tools: TOOLS,
  });
  assertEquals([trace.answer, trace.calls[0]?.refused], [null, true]);
  assertEquals(trace.notes, ["1 call without a result, taken as not carried out"]);
  assertThrows(() => assertCalled(trace, "weather"), AssertionError);
});

Deno.test("readTrace() reads errors that results say they are", async () => {
  const trace = await readTrace([
    user,
    { role: "assistant", tool_calls: [call("a")] },
    { ...result("a", "Timed out"), is_error: true },
    answer,
  ]);
  assertEquals(trace.calls[0]?.error, "Timed out");
  assertEquals(trace.checked, false);
});

Deno.test("readTrace() tells what is wrong with a trace, where, and nothing else", async () => {
  const deep = JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`);
  const wrong: [unknown, string][] = [
    [5, "Cannot use the trace:\n  at the top: must be a trace of a known form"],
    [{ v: 2, kind: "trial" }, "it is of version 2 of the format"],
    [{ foo: 1 }, "it has foo"],
    [deep, "must nest at most 500 levels deep"],
    [
      [user, result("a", "x"), answer],
      "at [1]: a result must follow the reply whose call it answers",
    ],
    [
      [user, answer, result("a", "x")],
      "at [2]: a result must follow the reply whose call it answers",
    ],
    [[user, { role: "robot\u001b[2J", content: "x" }], "at [1].role: must be one of system"],
    [[user], "must have a reply of a model"],
    [
      { messages: [user, { role: "assistant", tool_calls: [{ id: "1" }] }] },
      "at messages[1].tool_calls[0].function: it is missing",
    ],
    [
      { messages: [user, answer], tools: [{ type: "function", function: { name: 1 } }] },
      "tools:\n  at [0].function.name",
    ],
    [
      { steps: [{ content: [{ type: "hologram" }] }] },
      'at steps[0].content[0].type: must be the type of a part that is known: it is "hologram"',
    ],
    [{ resourceSpans: [] }, "must have spans with gen_ai.operation.name chat or invoke_agent"],
    [
      [{ type: "human", data: { content: 5 } }],
      "at [0].data.content: must be a text or a list of parts",
    ],
  ];
  for (const [value, message] of wrong) {
    const error = await assertRejects(() => readTrace(value), InputError);
    assert(error.message.includes(message), error.message);
    assert(!error.message.includes("\u001b"), error.message);
  }
});

Deno.test("readTrace() refuses a form that there is not", async () => {
  await assertRejects(
    () => readTrace([user, answer], { form: "foo" as "chat" }),
    InputError,
    "must be a trace of a known form",
  );
});

Deno.test("readTraces() reads texts that begin with a byte order mark, also lines of several files", async () => {
  const line = JSON.stringify({ messages: [{ role: "assistant", content: "Hello!" }] });
  for (const [text, count] of [[line, 1], [`${line}\n\ufeff${line}\n`, 2]] as const) {
    const runs = await readTraces(`\ufeff${text}`);
    assertEquals(runs.map(({ answer }) => answer), Array(count).fill("Hello!"));
  }
});

Deno.test("readTraces() names the line of what it cannot read", async () => {
  const line = JSON.stringify({ messages: [user, answer] });
  assertEquals((await readTraces(`${line}\n\n${line}`)).length, 2);
  assertEquals((await readTraces(`[${line},${line}]`)).length, 2);
  for (
    const [text, message] of [
      [`${line}\n{"messages": [`, "Cannot use f.jsonl, line 2 as it must be JSON"],
      [`${line}\n{"messages": []}`, "Cannot use f.jsonl, line 2:"],
      ["", "Cannot use f.jsonl as it must have traces"],
      [`${line}\n{"__proto__": {"messages": []}}`, "Cannot use f.jsonl, line 2:"],
    ] as const
  ) {
    const error = await assertRejects(() => readTraces(text, { source: "f.jsonl" }), InputError);
    assert(error.message.includes(message), error.message);
  }
});

Deno.test("readTrace() takes a trial of a journal as it was recorded, but for what it claims", async () => {
  const { run, trial } = await recorded(undefined, [...MISTAKES, ...TURNS], {
    turns: ["And in Oslo?", "Thanks"],
  });
  const trace = await readTrace(JSON.parse(JSON.stringify(trial)));
  assertEquals([trace.form, trace.case, trace.checked], ["journal", "weather", true]);
  assertEquals(plain(shapeOf({ ...trace, usage: run.usage })), plain(shapeOf(run)));
  assertEquals(plain(trace.failures), trial.failures);
  assertEquals("outcome" in trace, false);
});

Deno.test("readTrace() takes time in proportion to the messages, whatever they are", async () => {
  const user = { role: "user", content: "How warm is it?" };
  const said = { role: "assistant", content: "21" };
  const calls = (length: number) =>
    Array.from({ length: length / 2 }, (_, place) => ({ call_id: `${place}`, name: "weather" }))
      .map((call) => ({ ...call, type: "function_call", arguments: "{}" }));
  const output = ({ call_id }: { readonly call_id: string }) => ({
    ...{ type: "function_call_output", call_id, output: "21" },
  });
  const forms: Record<string, (length: number) => object[]> = {
    turns: (length) => calls(length).flatMap(() => [user, said]),
    calls: (length) => calls(length).flatMap((call) => [call, output(call)]),
    parallel: (length) => [...calls(length), ...calls(length).map(output)],
  };
  for (const [name, items] of Object.entries(forms)) {
    const read = (length: number) => () =>
      readTrace({ model: "m", input: [user, ...items(length)] });
    await assertLinearWait(read(2_000), read(FACTOR * 2_000), name);
  }
});
