// Traces as clients and exporters write them that were once misread: a call or a result was dropped, or went to another.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { readTraces } from "../../lib/integrations/traces.ts";
import { fileTrace, tracesIn } from "../../lib/integrations/traces/read.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const TOOLS = ["weather", "wipe"].map((name) => ({ name, description: name, parameters: {} }));

/** What is compared of a trace: calls with their results, the answer, and what its notes say. */
interface Wanted {
  readonly trace: Json;
  /** Names of calls and their results; `null` for a call that was not carried out. */
  readonly calls: readonly (readonly [string, string | null])[];
  readonly answer: string | null;
  readonly notes?: readonly string[];
  readonly failures?: readonly string[];
  /** Errors of calls. */
  readonly errors?: readonly string[];
  readonly tools?: readonly object[];
  readonly model?: string;
  readonly system?: string;
}

async function assertRead(
  { trace, calls, answer, notes = [], failures = [], errors, tools, model, system }: Wanted,
): Promise<void> {
  const text = typeof trace === "string" ? trace : JSON.stringify(trace);
  const [run, other] = await readTraces(text, tools === undefined ? {} : { tools });
  assertEquals(other, undefined);
  assertEquals(
    run!.calls.map((one) => [one.tool, one.agentDid === undefined ? one.result : null]),
    calls as Json,
  );
  assertEquals([run!.answer, run!.notes], [answer, notes]);
  assertEquals(run!.turns.at(-1)!.answer, answer ?? "");
  assertEquals(run!.failures.map(({ type }) => type as string), failures);
  if (errors !== undefined) {
    assertEquals(run!.calls.flatMap(({ error = [] }) => error), errors as string[]);
  }
  if (model !== undefined) assertEquals(run!.model, model);
  if (system !== undefined) assertEquals(run!.system, system);
}

// Spans.

const says = (role: string, ...parts: Json[]) => ({ role, parts });
const text = (content: string) => ({ type: "text", content });
const called = (id: string, name: string) => ({ type: "tool_call", id, name, arguments: {} });
const told = (id: string, response: string) =>
  says("tool", { type: "tool_call_response", id, response });
const ask = says("user", text("Rome?"));
const weather = says("assistant", called("1", "weather"));
const wipe = says("assistant", called("2", "wipe"));
const reply = says("assistant", text("21 degrees"));

function span(id: string, start: number, attributes: Record<string, Json>, more: object = {}) {
  const at = (time: number) => `${1_700_000_000_000_000_000n + BigInt(time)}`;
  return {
    ...{ name: id, spanId: id, traceId: "t" },
    ...{ startTimeUnixNano: at(start), endTimeUnixNano: at(start + 5) },
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === "string" ? { stringValue: value } : value,
    })),
    ...more,
  };
}

function chat(start: number, input: Json[], output: Json[], more: object = {}, extra = {}) {
  return span(`chat ${start}`, start, {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-5",
    "gen_ai.input.messages": JSON.stringify(input),
    "gen_ai.output.messages": JSON.stringify(output),
    ...extra,
  }, more);
}

function ran(start: number, name: string, result: string, more: Record<string, Json> = {}) {
  return span(`run ${start}`, start, {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.result": result,
    ...more,
  });
}

const otlp = (...spans: Json[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const history = [ask, weather, told("1", "21")];
const one = () => [chat(0, [ask], [weather]), chat(20, history, [reply])] as const;
const failed = { status: { code: 2 } };
const plain = { calls: [["weather", "21"]], answer: "21 degrees" } as const;
const both = says("assistant", called("1", "wipe"), called("2", "weather"));
const nobody = "1 call without a result, taken as not carried out";

const SPANS: Readonly<Record<string, Wanted>> = {
  "a request without a span": {
    trace: otlp(
      chat(0, [ask], [weather]),
      chat(40, [...history, wipe, told("2", "gone")], [reply]),
    ),
    calls: [["weather", "21"], ["wipe", "gone"]],
    answer: "21 degrees",
    notes: ["1 request without a span read from a later one"],
  },
  "a request without a span behind a history that was cut": {
    trace: otlp(
      chat(0, history, [wipe]),
      chat(20, [ask, wipe, told("2", "gone")], [weather]),
      chat(40, [ask, wipe, told("2", "gone"), weather, told("1", "21"), wipe, told("2", "gone")], [
        reply,
      ]),
    ),
    calls: [["weather", "21"], ["wipe", "gone"], ["weather", "21"], ["wipe", "gone"]],
    answer: "21 degrees",
    notes: ["1 request without a span read from a later one"],
  },
  "a request without a span behind a history of the last messages": {
    trace: otlp(
      chat(0, [ask], [weather]),
      chat(40, [wipe, told("2", "gone")], [reply]),
    ),
    calls: [["weather", null], ["wipe", "gone"]],
    answer: "21 degrees",
    notes: ["1 request without a span read from a later one", nobody],
  },
  "a history of the last messages": {
    trace: otlp(
      chat(0, history, [wipe]),
      chat(20, [wipe, told("2", "gone")], [weather]),
      chat(40, [weather, told("1", "21")], [reply]),
    ),
    calls: [["weather", "21"], ["wipe", "gone"], ["weather", "21"]],
    answer: "21 degrees",
  },
  "a history with each call of a reply apart": {
    trace: otlp(
      chat(0, [ask], [says("assistant", called("1", "weather"), called("2", "wipe"))]),
      chat(20, [ask, weather, wipe, told("1", "21"), told("2", "gone")], [reply]),
    ),
    calls: [["weather", "21"], ["wipe", "gone"]],
    answer: "21 degrees",
  },
  "runs of tools without ids, in another order": {
    trace: otlp(
      chat(0, [ask], [both]),
      ran(10, "weather", "21"),
      ran(11, "wipe", "gone"),
      chat(20, [ask, both], [reply]),
    ),
    calls: [["wipe", "gone"], ["weather", "21"]],
    answer: "21 degrees",
  },
  "a run of one of two tools, without an id": {
    trace: otlp(
      chat(0, [ask], [both]),
      ran(10, "weather", "21"),
      chat(20, [ask, both], [reply]),
    ),
    calls: [["wipe", null], ["weather", "21"]],
    answer: "21 degrees",
    notes: [nobody],
  },
  "a run of a tool that nothing calls": {
    trace: otlp(
      chat(0, [ask], [weather]),
      ran(10, "wipe", "gone"),
      chat(20, [ask, weather], [reply]),
    ),
    calls: [["weather", null]],
    answer: "21 degrees",
    notes: ["1 run of tools that no reply calls left out", nobody],
  },
  "a model of embeddings": {
    trace: otlp(
      span("e", -9, { "gen_ai.operation.name": "embeddings", "gen_ai.request.model": "embed" }),
      ...one(),
    ),
    ...plain,
    model: "gpt-5",
  },
  "lines of one trace": {
    trace: one().map((each) => JSON.stringify(otlp(each))).join("\n"),
    ...plain,
  },
  "a list of exports": { trace: one().map((each) => otlp(each)), ...plain },
  "an agent within the agent": {
    trace: otlp(
      span("agent", -9, { "gen_ai.operation.name": "invoke_agent" }),
      ...one().map((each) => ({ ...each, parentSpanId: "agent" })),
      span("inner", 6, { "gen_ai.operation.name": "invoke_agent" }, { parentSpanId: "agent" }),
      chat(7, [ask], [wipe], { parentSpanId: "inner" }),
      { ...ran(8, "wipe", "gone"), parentSpanId: "inner" },
    ),
    ...plain,
    notes: [
      "1 request of agents or tools within the agent left out",
      "1 run of tools of agents within the agent (wipe) left out",
    ],
  },
  "spans, one a line": { trace: one().map((each) => JSON.stringify(each)).join("\n"), ...plain },
  "spans that stand twice": {
    trace: otlp(...one(), ...one()),
    ...plain,
    notes: ["2 spans that stand twice left out"],
  },
  "requests within requests": {
    trace: otlp(
      ...one(),
      chat(1, [ask], [weather], { parentSpanId: "chat 0" }),
      chat(21, history, [reply], { parentSpanId: "chat 20" }),
    ),
    ...plain,
    notes: ["2 requests that others are within, or hold, left out"],
  },
  "a request that holds the whole loop": {
    trace: otlp(
      chat(-5, [ask], [reply]),
      chat(1, [ask], [weather], { parentSpanId: "chat -5" }),
      chat(21, history, [reply], { parentSpanId: "chat -5" }),
    ),
    ...plain,
    notes: ["1 request that others are within, or hold, left out"],
  },
  "spans that are in a circle": {
    trace: otlp(
      span("a", -9, {}, { parentSpanId: "b" }),
      span("b", -9, {}, { parentSpanId: "a" }),
      chat(0, [ask], [weather], { parentSpanId: "a" }),
      chat(20, history, [reply]),
    ),
    ...plain,
  },
  "a request of a tool": {
    trace: otlp(
      chat(0, [ask], [weather]),
      ran(10, "weather", "21"),
      chat(11, [says("user", text("Sum up."))], [says("assistant", text("Sun"))], {
        parentSpanId: "run 10",
      }),
      chat(20, history, [reply]),
    ),
    ...plain,
    notes: ["1 request of agents or tools within the agent left out"],
  },
  "a tool that was tried again": {
    trace: otlp(
      chat(0, [ask], [weather]),
      ran(10, "weather", "", { "gen_ai.tool.call.id": "1", "error.type": "timeout" }),
      ran(15, "weather", "21", { "gen_ai.tool.call.id": "1" }),
      chat(20, history, [reply]),
    ),
    ...plain,
    errors: [],
  },
  "a tool that failed, whose span has no id": {
    trace: otlp(
      chat(0, [ask], [weather]),
      ran(10, "weather", "21", { "error.type": "timeout" }),
      chat(20, history, [reply]),
    ),
    ...plain,
    errors: ["21"],
  },
  "a last request that failed": {
    trace: otlp(chat(0, [ask], [weather]), chat(20, history, [], failed)),
    calls: [["weather", "21"]],
    answer: null,
    notes: ["1 request that failed left out"],
  },
  "a request that failed in mid-reply": {
    trace: otlp(chat(0, [ask], [reply], failed)),
    ...{ calls: [], answer: null },
  },
  ...Object.fromEntries(
    ["error", "MAX_TOKENS"].map((reason) => [`a reply of spans that ended with ${reason}`, {
      trace: otlp(chat(0, [ask], [{ ...reply, finish_reason: reason }])),
      ...{ calls: [], answer: null },
    }]),
  ),
  "a reply that was cut off as an attribute says": {
    trace: otlp(chat(0, [ask], [reply], {}, {
      "gen_ai.response.finish_reasons": { arrayValue: { values: [{ stringValue: "length" }] } },
    })),
    ...{ calls: [], answer: null },
  },
  "a request that failed": {
    trace: otlp(span("f", -9, { "gen_ai.operation.name": "chat" }, failed), ...one()),
    ...plain,
    notes: ["1 request that failed left out"],
  },
};

// Messages.

const asked = { role: "user", content: "Rome?" };
const made = (id: string, name: Json = "weather") => ({
  ...{ id, type: "function", function: { name, arguments: "{}" } },
});
const calling = (...calls: Json[]) => ({ role: "assistant", content: null, tool_calls: calls });
const result = (id: string, content: Json) => ({ role: "tool", tool_call_id: id, content });
const done = { role: "assistant", content: "21" };
const image = { type: "image_url", image_url: { url: "data:," } };
const output = {
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text: "21" }],
};
const sdkCall = (toolCallId: string, toolName: string) => ({
  ...{ type: "tool-call", toolCallId, toolName, input: {} },
});
const sdkMessages = [
  { role: "assistant", content: [sdkCall("1", "weather")] },
  {
    role: "tool",
    content: [{
      ...{ type: "tool-result", toolCallId: "1", toolName: "weather" },
      output: { type: "text", value: "21" },
    }],
  },
];
const custom = [
  { type: "custom_tool_call", call_id: "1", name: "wipe", input: "all" },
  { type: "custom_tool_call_output", call_id: "1", output: "gone" },
];
const imageNote = "1 part of results left out, which are no text";

const MESSAGES: Readonly<Record<string, Wanted>> = {
  "custom calls of responses": {
    trace: { input: [asked, ...custom, output], tools: [{ type: "custom", name: "wipe" }] },
    calls: [["wipe", "gone"]],
    answer: "21",
  },
  "custom calls of chat completions": {
    trace: {
      messages: [
        asked,
        calling({ id: "1", type: "custom", custom: { name: "wipe", input: "all" } }),
        result("1", "gone"),
        done,
      ],
      tools: [{ type: "custom", custom: { name: "wipe", format: { type: "text" } } }],
    },
    calls: [["wipe", "gone"]],
    answer: "21",
  },
  "steps whose messages are those of all steps so far": {
    trace: {
      prompt: "Rome?",
      steps: [
        {
          content: [sdkCall("1", "weather")],
          finishReason: "tool-calls",
          response: { messages: sdkMessages },
        },
        {
          content: [sdkCall("2", "wipe")],
          finishReason: "tool-calls",
          response: {
            messages: [...sdkMessages, { role: "assistant", content: [sdkCall("2", "wipe")] }],
          },
        },
      ],
    },
    calls: [["weather", "21"], ["wipe", null]],
    answer: null,
    notes: [nobody],
  },
  "calls of the provider in messages of a page": {
    trace: [
      { id: "1", role: "user", parts: [{ type: "text", text: "Rome?" }] },
      {
        ...{ id: "2", role: "assistant" },
        parts: [{
          ...{ type: "tool-search", toolCallId: "1", state: "output-available" },
          ...{ input: {}, output: [], providerExecuted: true },
        }, { type: "text", text: "21" }],
      },
    ],
    calls: [],
    answer: "21",
    tools: TOOLS,
  },
  "results of the provider beside calls": {
    trace: [asked, {
      role: "assistant",
      content: [
        sdkCall("1", "wipe"),
        { ...sdkCall("2", "search"), providerExecuted: true },
        { ...sdkCall("2", "search"), type: "tool-result", output: { type: "text", value: "21" } },
      ],
    }],
    calls: [["wipe", null]],
    answer: null,
    notes: [nobody],
  },
  "what MCP lists and asks": {
    trace: {
      input: "Rome?",
      output: [
        { type: "mcp_list_tools", server_label: "s", tools: [] },
        { type: "mcp_approval_request", name: "wipe", arguments: "{}" },
        { type: "mcp_approval_response", approve: true },
        output,
      ],
    },
    calls: [],
    answer: "21",
  },
  "a call without a name": {
    trace: [asked, calling(made("1", "")), result("1", "none"), done],
    calls: [["", "none"]],
    answer: "21",
    failures: ["function_not_found"],
  },
  "functions in a namespace": {
    trace: {
      input: [
        asked,
        { type: "function_call", call_id: "1", namespace: "n", name: "weather", arguments: "{}" },
        { type: "function_call_output", call_id: "1", output: "21" },
        output,
      ],
      tools: [{ type: "namespace", name: "n", tools: [{ type: "function", name: "weather" }] }],
    },
    calls: [["weather", "21"]],
    answer: "21",
  },
  "a response beside messages": {
    trace: {
      messages: [asked, done, asked],
      response: { choices: [{ message: calling(made("1", "wipe")) }] },
    },
    calls: [["wipe", null]],
    ...{ answer: null, notes: [nobody] },
  },
  ...Object.fromEntries(
    [{ error: { message: "busy" }, choices: [{ message: done }] }, {
      choices: [{ message: done, error: { message: "busy" } }],
    }].map((response) => [`an error of ${Object.keys(response)}`, {
      trace: { request: { messages: [asked] }, response },
      ...{ calls: [], answer: null },
    }]),
  ),
  "a message that was cut off": {
    trace: [asked, { ...done, stop_reason: "max_tokens" }],
    ...{ calls: [], answer: null },
  },
  "an item that is incomplete": {
    trace: { input: [asked, { ...output, status: "incomplete" }] },
    ...{ calls: [], answer: null },
  },
  "a text of a page that broke off": {
    trace: [
      { role: "user", parts: [{ type: "text", text: "Rome?" }] },
      { role: "assistant", parts: [{ type: "text", text: "21", state: "streaming" }] },
    ],
    ...{ calls: [], answer: null },
  },
  "a step that failed": {
    trace: {
      prompt: "Rome?",
      steps: [{ content: [{ type: "text", text: "21" }], finishReason: "error" }],
    },
    ...{ calls: [], answer: null },
  },
  ...Object.fromEntries(
    [
      { tool_calls: [made("1", "wipe")] },
      { function_call: { name: "wipe", arguments: "{}" } },
    ].map((kept) => [`old messages of LangChain with ${Object.keys(kept)} beside`, {
      trace: [
        { type: "human", data: { content: "Rome?" } },
        { type: "ai", data: { content: "21", additional_kwargs: kept } },
      ],
      calls: [["wipe", null]] as const,
      ...{ answer: null, notes: [nobody] },
    }]),
  ),
  ...Object.fromEntries(
    [{ stop_reason: "max_tokens" }, { finishReason: "MAX_TOKENS" }, { status: "incomplete" }].map((
      told,
    ) => [`a message of LangChain that was cut off, with ${Object.keys(told)}`, {
      trace: [
        { type: "human", data: { content: "Rome?" } },
        { type: "ai", data: { content: "21", response_metadata: told } },
      ],
      ...{ calls: [], answer: null },
    }]),
  ),
  ...Object.fromEntries(
    [asked, { role: "user", parts: [{ type: "text", text: "Rome?" }] }].map((question) => [
      `instructions beside messages with ${Object.keys(question)}`,
      {
        trace: {
          system: "Be brief.",
          messages: [question, { ...done, parts: [{ type: "text", text: "21" }] }],
        },
        ...{ calls: [], answer: "21", system: "Be brief." },
      },
    ]),
  ),
  "an image in a result of chat completions": {
    trace: [asked, calling(made("1")), result("1", [{ type: "text", text: "21" }, image]), done],
    calls: [["weather", "21"]],
    answer: "21",
    notes: [imageNote],
  },
  "an image in a result of responses": {
    trace: [
      { type: "message", ...asked },
      { type: "function_call", call_id: "1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "1", output: [{ type: "input_image" }] },
      output,
    ],
    calls: [["weather", ""]],
    answer: "21",
    notes: [imageNote],
  },
  "an image in a result of LangChain": {
    trace: [
      { type: "human", data: { content: "Rome?" } },
      {
        type: "ai",
        data: {
          content: [{ type: "tool_use", id: "1", name: "weather", input: {} }],
          tool_calls: [{ id: "1", name: "weather", args: {} }],
        },
      },
      { type: "tool", data: { content: [image], tool_call_id: "1" } },
      { type: "ai", data: { content: "21" } },
    ],
    calls: [["weather", ""]],
    answer: "21",
    notes: [imageNote],
  },
  ...Object.fromEntries(
    ([["failed", null], ["incomplete", null], ["completed", "21"]] as const).map((
      [status, answer],
    ) => [`a response that is ${status}`, {
      trace: { input: "Rome?", status, output: [output] },
      ...{ calls: [], answer },
    }]),
  ),
};

for (const [name, wanted] of Object.entries({ ...SPANS, ...MESSAGES })) {
  Deno.test(`readTraces() reads ${name}`, () => assertRead(wanted));
}

const toolUse = { type: "tool_use", id: "1", name: "wipe", input: {} };
const part = (at: string, type: string) =>
  `at ${at}.type: must be the type of a part that is known: it is "${type}"`;
const ids = (id: Json) => ({ "gen_ai.conversation.id": id });
const deep = `${"[".repeat(2000)}${"]".repeat(2000)}`;

const WRONG: Readonly<Record<string, readonly [Json, string]>> = {
  "calls of Anthropic": [
    [asked, { role: "assistant", content: [toolUse] }, done],
    part("[1].content[0]", "tool_use"),
  ],
  "results of Anthropic": [
    [asked, { role: "user", content: [{ type: "tool_result", tool_use_id: "1" }] }, done],
    part("[1].content[0]", "tool_result"),
  ],
  ...Object.fromEntries(
    ["toolCalls", "toolInvocations"].map((name) => [`messages with ${name}`, [
      [asked, { ...done, [name]: [made("1", "wipe")] }],
      `at [1].${name}: calls cannot stand here`,
    ]]),
  ),
  "items of a response beside messages": [
    { messages: [asked, done], output: [output] },
    "at output: it cannot stand beside messages",
  ],
  "calls of chat completions among items of responses": [
    { input: [asked], output: [calling(made("1", "wipe"))] },
    "at output[0].tool_calls: calls cannot stand here",
  ],
  "requests of two conversations of one trace": [
    otlp(
      chat(0, [ask], [weather]),
      chat(10, [says("user", text("Oslo?"))], [says("assistant", text("5"))]),
      chat(20, history, [reply]),
    ),
    "conversations of one trace need ids of their own: it has the reply of an earlier one",
  ],
  "a result of a tool that is a text": [
    otlp(chat(0, [ask], [weather]), chat(20, [ask, weather, says("tool", text("21"))], [reply])),
    "must have a part with a result",
  ],
  "a part without a type that is no text": [
    [asked, { role: "assistant", content: [{ functionCall: { name: "wipe" } }] }, done],
    "at [1].content[0].text: it is missing",
  ],
  "calls of LangChain that stand in the content alone": [
    [{ type: "human", content: "Rome?" }, { type: "ai", content: [toolUse] }],
    part("[1].content[0]", "tool_use"),
  ],
  "a result of a call of an earlier reply": [
    [asked, calling(made("a")), asked, calling(made("b", "wipe")), result("a", "21"), done],
    "at [4]: a result must follow the reply whose call it answers: its id is that of a call of an earlier reply",
  ],
  "more than one choice": [
    {
      request: { messages: [asked] },
      response: { choices: [{ message: done }, { message: done }] },
    },
    "at response.choices: must be one choice: there are 2",
  ],
  "a request alone": [
    { request: { messages: [asked, done] } },
    "at response: it is missing",
  ],
  "a request of responses alone": [{ request: { input: "Rome?" } }, "at response: it is missing"],
  "a response that goes on with another": [
    { input: "And Oslo?", output: [output], previous_response_id: "r" },
    "at previous_response_id: must stand beside an input with the items of the earlier responses",
  ],
  "a response of a stored conversation": [
    { input: "And Oslo?", output: [output], conversation: { id: "c" } },
    "at conversation: must stand beside an input with the items of the earlier responses",
  ],
  "a name that is a number": [
    [asked, calling(made("1", 5)), done],
    "at [1].tool_calls[0].function.name: must be a text: it is 5",
  ],
  "a model that is a number": [
    otlp(chat(0, [ask], [reply], {}, { "gen_ai.response.model": { intValue: "5" } })),
    "at resourceSpans[0].scopeSpans[0].spans[0].attributes[4].value: the attribute gen_ai.response.model must be a text",
  ],
  "a conversation that is a number": [
    otlp(chat(0, [ask], [reply], {}, ids({ intValue: "5" }))),
    "the attribute gen_ai.conversation.id must be a text",
  ],
  "a text that says whether a model is simulated": [
    otlp(chat(0, [ask], [reply], {}, { "toolgate.simulated": "true" })),
    'must be true or false: it is "true"',
  ],
  "several choices of a request": [
    otlp(chat(0, [ask], ["stop", "stop"].map((reason) => ({ ...reply, finish_reason: reason })))),
    "gen_ai.output.messages must be one choice: there are 2",
  ],
  "content of spans that nests too deep": [
    otlp(span("d", 0, {
      "gen_ai.operation.name": "chat",
      "gen_ai.output.messages": `[{"role":"assistant","parts":${deep}}]`,
    })),
    "must nest at most 500 levels deep",
  ],
  "requests that all failed": [
    otlp(span("f", 0, { "gen_ai.operation.name": "chat" }, failed)),
    "no request got a reply",
  ],
};

for (const [name, [trace, message]] of Object.entries(WRONG)) {
  Deno.test(`readTraces() refuses ${name}`, async () => {
    const error = await assertRejects(() => readTraces(JSON.stringify(trace)), InputError);
    assert(error.message.includes(message), error.message);
  });
}

Deno.test("readTraces() tells conversations of one trace apart by their ids, or those that spans are within", async () => {
  const agent = span("agent", 30, { "gen_ai.operation.name": "invoke_agent", ...ids("b") });
  const within = { parentSpanId: "agent" };
  const runs = await readTraces(JSON.stringify(otlp(
    chat(0, [ask], [weather], {}, ids("a")),
    agent,
    chat(31, [ask], [wipe], within),
    chat(35, [ask, wipe, told("2", "gone")], [reply], within),
    chat(20, history, [reply], {}, ids("a")),
  )));
  assertEquals(runs.map(({ calls }) => calls.map((each) => each.tool)), [["weather"], ["wipe"]]);
});

/** Judges the traces of a text as tests do. */
async function judged(lines: string) {
  const outcomes: (string | undefined)[] = [];
  for (const found of tracesIn(lines, "f.jsonl")) {
    const { run } = fileTrace(found);
    const open = caseOpener(() => ({
      name: "weather",
      prompt: "Rome?",
      tools: [],
      assert: () => {},
    }));
    const { outcome, reason } = await runTrial({ case: "weather", seed: 0 }, {
      ...{ name: "gpt-5", simulated: false },
      reply: () => Promise.reject(new Error("asked")),
    }, { open, recorded: run });
    outcomes.push(reason === undefined ? outcome : `${outcome}: ${reason}`);
  }
  return outcomes;
}

Deno.test("A trace that broke off is invalid, and those beside it are judged", async () => {
  const { trial } = await liveTrial();
  for (const events of [[], trial.events.filter(({ kind }: Json) => kind !== "answer")]) {
    const broken = {
      ...trial,
      ...{ id: "broken", outcome: "invalid", solved: false, reason: "no network", events },
    };
    const lines = [broken, trial].map((line) => JSON.stringify(line)).join("\n");
    const [first, second] = await judged(lines);
    assert(first?.startsWith("invalid: no network"), first);
    assertEquals(second, "solved");
  }
  const spans = otlp(
    span("f", 0, { "gen_ai.operation.name": "chat" }, { ...failed, traceId: "other" }),
    chat(0, [ask], [reply]),
  );
  const outcomes = await judged(JSON.stringify(spans));
  assertEquals(outcomes[1], "solved");
  assert(outcomes[0]?.startsWith("invalid: no request got a reply"), outcomes[0]);
  const lost = otlp(chat(0, [ask], [weather]), chat(20, history, [], failed));
  const [unsent] = await judged(JSON.stringify(lost));
  assert(unsent?.startsWith("invalid: its last request failed"), unsent);
  const [cut] = await judged(
    JSON.stringify({ input: "Rome?", status: "failed", output: [output] }),
  );
  assert(cut?.startsWith("invalid: its last reply failed"), cut);
});

Deno.test("a trial of a journal whose last text was no answer has none when it is judged anew", async () => {
  const { trial } = await liveTrial({ finish: "length" });
  assertEquals(trial.outcome, "token_limit");
  const lines = [trial, { ...trial, id: "late", outcome: "time_limit" }];
  const outcomes = await judged(lines.map((line) => JSON.stringify(line)).join("\n"));
  assertEquals(outcomes.map((outcome) => outcome?.replace(/:.*/, "")), [
    "token_limit",
    "agent_error",
  ]);
});

Deno.test("Spans have the id of their conversation, else of their trace", () => {
  const idsOf = (...spans: Json[]) =>
    tracesIn(JSON.stringify(otlp(...spans)), "f").map(({ id }) => id);
  assertEquals(idsOf(...one()), ["t"]);
  assertEquals(idsOf(...one().map((each) => ({ ...each, traceId: "" }))), [undefined]);
  assertEquals(
    idsOf(chat(0, [ask], [reply], {}, ids("a")), chat(20, [ask], [reply], { traceId: "u" })),
    ["a", "u"],
  );
});

Deno.test("Trials share the values of lines that were superseded", async () => {
  const { trial } = await liveTrial();
  const { id: promptId } = trial.transcript.prompt;
  const again = {
    ...trial,
    transcript: { ...trial.transcript, prompt: { id: promptId } },
  };
  const lines = [trial, again].map((line) => JSON.stringify(line)).join("\n");
  const [run, other] = await readTraces(lines);
  assertEquals([run!.turns[0]!.prompt, other], ["Rome?", undefined]);
});

/** A trial as journals have it. */
async function liveTrial(told: object = {}): Promise<{ readonly trial: Json }> {
  const trial = await runTrial({ case: "weather", seed: 0 }, {
    ...{ name: "gpt-5", simulated: false },
    reply: () =>
      Promise.resolve({
        ...{ text: "21", calls: [], repairs: [], finish: "stop", served: "", duration: 0 },
        usage: { inputTokens: 1, outputTokens: 1 },
        ...told,
      } as Json),
  }, {
    open: caseOpener(() => ({ name: "weather", prompt: "Rome?", tools: [], assert: () => {} })),
  });
  return { trial: JSON.parse(JSON.stringify(trial)) };
}
