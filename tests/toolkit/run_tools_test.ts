import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import type { Message } from "../../lib/tools/message.ts";
import type { Model, ModelRequest } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { runTools, type RunToolsOptions } from "../../lib/toolkit/run_tools.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { callsOf } from "../../lib/calls/trace.ts";

const ORDER = { id: 7, total: 30, customer: { name: "Ann" } };
const DOUBLE: Tool = {
  name: "double",
  description: "Doubles a number",
  parameters: {
    type: "object",
    properties: { x: { type: "number" } },
    required: ["x"],
    additionalProperties: false,
  },
  execute: ({ x }) => Promise.resolve(JSON.stringify(2 * Number(x))),
};
const FIND: Tool = {
  name: "find",
  description: "Finds an order",
  parameters: { type: "object", properties: {} },
  execute: () => Promise.resolve(JSON.stringify(ORDER)),
};
const TOOLS = [DOUBLE, FIND];

/** A scripted model, and what it was asked. */
function listening(...script: ScriptedReply[]): { model: Model; requests: ModelRequest[] } {
  const inner = scripted("script", script);
  const requests: ModelRequest[] = [];
  return {
    requests,
    model: {
      ...inner,
      reply: (request) => {
        requests.push(request);
        return inner.reply(request);
      },
    },
  };
}

const call = (name: string, written: JsonObject) => ({ calls: [{ name, arguments: written }] });

/** Why a run is refused before a model is asked. */
async function faultOf(
  options: Partial<RunToolsOptions> | Record<string, unknown>,
): Promise<string> {
  const { model, requests } = listening({ text: "Hello." });
  const { message } = await assertRejects(
    () => runTools(model, TOOLS, { messages: "Hello", ...options } as RunToolsOptions),
    InputError,
  );
  assertEquals(requests, []);
  return message;
}

Deno.test("runTools() gives the answer and the whole conversation", async () => {
  const { model, requests } = listening(
    { text: "Let me see.", ...call("double", { x: 21 }) },
    { text: "It is 42." },
  );
  const run = await runTools(model, TOOLS, { messages: "What is twice 21?" });
  assertEquals(run.ending, { kind: "answer", text: "It is 42." });
  assertEquals(run.given, {});
  assertEquals(callsOf(run.events).map(({ result }) => result), ["42"]);
  const [user, asking, result, answer, ...others] = run.messages;
  assertEquals(others, []);
  assertEquals(user, { role: "user", content: "What is twice 21?" });
  assertEquals([...run.messages.slice(0, 3)], [...requests[1]!.messages]);
  assert(asking?.role === "assistant" && result?.role === "tool");
  assertEquals([asking.content, result.content], ["Let me see.", "42"]);
  assertEquals(result.callId, asking.calls[0]!.id);
  assertEquals(answer, { role: "assistant", content: "It is 42.", calls: [] });
});

Deno.test("runTools() goes on with a conversation", async () => {
  const first = await runTools(
    scripted("script", [call("double", { x: 21 }), { text: "It is 42." }]),
    TOOLS,
    {
      messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Twice 21?" }],
    },
  );
  const { model, requests } = listening({ text: "It was 42." });
  const messages: Message[] = [...first.messages, { role: "user", content: "Again?" }];
  const second = await runTools(model, TOOLS, { messages });
  assertEquals(requests[0]!.messages, messages);
  assertEquals(second.messages, [
    ...messages,
    { role: "assistant", content: "It was 42.", calls: [] },
  ]);
  assertEquals(second.messages.map(({ role }) => role), [
    ...["system", "user", "assistant", "tool", "assistant", "user", "assistant"],
  ]);
});

Deno.test("runTools() goes on with the names of a conversation", async () => {
  const options = { strategy: "indirection", given: { x: 21 } };
  const one = listening(call("find", { result: "@Order" }), { text: "It is @Order.total." });
  const first = await runTools(one.model, TOOLS, { ...options, messages: "Find it. x = 21" });
  assertEquals<unknown>(first.ending, {
    kind: "answer",
    text: "It is 30.",
    rendered: "It is @Order.total=30.",
  });
  assertEquals(first.given, { x: 21, Order: ORDER });
  assertEquals(first.messages.map(({ content }) => content), [
    ...["Find it. x = 21", "", "@Order", "It is @Order.total."],
  ]);

  const two = listening(
    call("double", { x: "@Order.total", result: "@Order" }),
    call("double", { x: "@Order.total", result: "@Twice" }),
    { text: "It is @Twice, of @Order.customer.name." },
  );
  const second = await runTools(two.model, TOOLS, {
    ...options,
    given: first.given,
    messages: [...first.messages, { role: "user", content: "Twice that?" }],
  });
  assertStringIncludes(callsOf(second.events)[0]!.result, "@Order is taken");
  assertEquals(second.ending.kind === "answer" && second.ending.text, "It is 60, of Ann.");
  assertEquals(second.given, { x: 21, Order: ORDER, Twice: 60 });
  const [seen] = two.requests;
  assertEquals(seen!.messages[0]!.content, "Find it. x = @x");
  assertStringIncludes(seen!.messages.at(-1)!.content, "Twice that?\n\nThe values of variables");
  assert(!/30|60|Ann|21/.test(JSON.stringify(two.requests.map(({ messages }) => messages))));
});

Deno.test("runTools() keeps what a strategy says beside a conversation out of it", async () => {
  const script: ScriptedReply[] = [{ text: "1. double(x = 21)" }, call("double", { x: 21 }), {
    text: "42",
  }];
  const run = await runTools(scripted("script", script), TOOLS, {
    messages: "Twice 21?",
    strategy: "plan_then_call",
  });
  assertEquals(run.messages.map(({ content }) => content), ["Twice 21?", "", "42", "42"]);
  const restated = await runTools(
    scripted("script", [call("double", { x: 1 }), call("find", {}), { text: "2" }]),
    TOOLS,
    { messages: "Twice 1?", strategy: "restate", given: { x: 1 } },
  );
  assertEquals(restated.messages[2]!.content, '2\n{"known_variables":{"x":1,"double#1":2}}');
  assertEquals(restated.given, { x: 1 });
});

Deno.test("runTools() lists names of objects by these names, not by a field", async () => {
  const total: Tool = { ...FIND, execute: () => Promise.resolve('{"total":30}') };
  const run = await runTools(
    scripted("script", [call("find", { result: "@Order" }), { text: "@Order.total" }]),
    [total],
    { messages: "Find it.", strategy: "restate+indirection" },
  );
  assertEquals(run.messages[2]!.content, '@Order\n{"known_variables":{"Order":"@Order"}}');
  assertEquals(run.ending.kind === "answer" && run.ending.text, "30");
});

Deno.test("runTools() gives the conversation up to a limit", async () => {
  const script = [{ calls: new Array(3).fill({ name: "double", arguments: { x: 1 } }) }];
  const run = await runTools(scripted("script", script), TOOLS, {
    messages: "Go on",
    limits: { calls: 2 },
  });
  assertEquals(run.ending.kind, "call_limit");
  assertEquals(run.messages.map(({ role }) => role), ["user", "assistant", "tool", "tool", "tool"]);
});

Deno.test("runTools() asks other models by stage", async () => {
  const plan = listening({ text: "1. double" });
  const { ending, stages } = await runTools(scripted("script", [{ text: "42" }]), TOOLS, {
    messages: "Twice 21?",
    strategy: "plan_then_call",
    models: { plan: plan.model },
  });
  assertEquals([ending.kind, plan.requests.length, stages[0]?.stage], ["answer", 1, "plan"]);
  assertEquals(
    await faultOf({
      strategy: "plan_then_call",
      models: { plan: plan.model, planning: plan.model },
    }),
    "Cannot use the options of runTools:\n  at models.planning: there is no such stage: there are plan, call",
  );
  assertStringIncludes(
    await faultOf({ models: { plan: plan.model } }),
    "at models.plan: plain asks no other model",
  );
});

Deno.test("runTools() refuses options that there are not", async () => {
  assertEquals(
    await faultOf({ stageModels: new Map() }),
    'Cannot use the options of runTools:\n  at the top: Unrecognized key: "stageModels"; there are strategy, models, prompts, ' +
      "attempts, rounds, dereference, shots, examples, messages, references, given, limits, signal",
  );
  for (const name of ["tool_choice", "toString", "Strategy", "a\u001b[31m"]) {
    assertStringIncludes(await faultOf({ [name]: 1 }), "Unrecognized key: ");
  }
  assertStringIncludes(await faultOf({ strategy: "wishful" }), "must be one of plain");
  assertStringIncludes(await faultOf({ attempts: 3 }), "needs the strategy repair");
  assertStringIncludes(await faultOf({ strategy: "repair", attempts: 0 }), "at attempts: must be");
});

Deno.test("runTools() refuses given values and messages that are none", async () => {
  for (const given of [new Map([["x", 1]]), [], null, { x: undefined }, { x: new Date() }]) {
    assertStringIncludes(await faultOf({ given }), "Cannot use what is given as it must be");
  }
  assertStringIncludes(
    await faultOf({ given: { "first name": 1 }, strategy: "indirection" }),
    "Cannot bind @first name",
  );
  const id = "1";
  for (
    const [messages, words] of [
      [undefined, "it is missing"],
      [[], "there must be a message"],
      [[{ role: "robot", content: "" }], "[0].role"],
      [[{ role: "user", content: null }], "[0].content"],
      [[{ role: "assistant", content: "", tool_calls: [] }], "[0].calls"],
      [
        [{ role: "assistant", content: "", calls: [{ id, name: "n", arguments: {} }] }],
        "arguments",
      ],
      [[{ role: "tool", tool_call_id: id, content: "" }], "[0].callId"],
      [[{ role: "assistant", content: "", calls: [], carried: [] }], "[0].carried"],
      [
        [{ role: "assistant", content: "", calls: [], carried: { by: "x", items: [null] } }],
        "[0].carried.items[0]",
      ],
    ] as [JsonValue, string][]
  ) {
    const message = await faultOf({ messages });
    assertStringIncludes(message, "Cannot use the options of runTools:\n  at messages");
    assertStringIncludes(message, words);
  }
});
