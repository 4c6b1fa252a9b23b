import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { parsesOf, sumRepairs } from "../../lib/calls/work.ts";
import { recordedCalls } from "../../lib/calls/record.ts";
import type { CallEvent, ReplyEvent, TraceEvent } from "../../lib/calls/trace.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { CallReplacer, Tool } from "../../lib/tools/tool.ts";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { call } from "../support/handmade.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

const ADD: Tool = {
  name: "add",
  description: "Adds",
  parameters: {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x", "y"],
    additionalProperties: false,
  },
  execute: ({ x, y }: JsonObject) => {
    if (x === 13) throw new Error("13 brings\u0007 ill luck");
    if (x === 14) return Promise.resolve('{"error":"14 as well"}');
    return Promise.resolve(JSON.stringify({ sum: Number(x) + Number(y) }));
  },
};

Deno.test("recordedCalls() tells calls that went well and calls that failed, by step", async () => {
  using toolbox = new Toolbox([ADD]);
  await toolbox.execute([call("add", { x: 1, y: 2 }), call("add", { x: 13, y: 2 })]);
  await toolbox.execute([
    call("ad", { x: 1 }),
    call("add", { x: 1 }),
    call("add", "{x"),
    call("add", { x: 14, y: 0 }),
  ]);
  const told = recordedCalls(toolbox.events);
  assertEquals(
    told.map((
      { call, step, tool, arguments: given, refused },
    ) => [call, step, tool, given, refused]),
    [
      [1, 1, "add", { x: 1, y: 2 }, undefined],
      [2, 1, "add", { x: 13, y: 2 }, undefined],
      [3, 2, "ad", { x: 1 }, true],
      [4, 2, "add", { x: 1 }, true],
      [5, 2, "add", undefined, true],
      [6, 2, "add", { x: 14, y: 0 }, undefined],
    ],
  );
  assertEquals([told[0]!.result, told[0]!.error, told[4]!.written], ['{"sum":3}', undefined, "{x"]);
  for (const { error, result } of told.slice(1)) assertEquals(JSON.parse(result), { error });
  assertEquals([told[1]!.error, told[5]!.error], ["13 brings\\u0007 ill luck", "14 as well"]);
});

const EVENT: CallEvent = {
  kind: "call",
  call: 1,
  step: 1,
  function: "f",
  arguments: '{"x":"@a"}',
  result: "fine",
};
const failure = { type: "function_not_found", detail: { nearest: null }, root: true } as const;

Deno.test("recordedCalls() takes arguments as they are meant, and errors as the function told them", () => {
  const table: [event: Partial<CallEvent>, expected: JsonObject][] = [
    [{}, { arguments: { x: "@a" }, written: '{"x":"@a"}', result: "fine" }],
    [{ resolved: '{"x":731}' }, { arguments: { x: 731 }, written: '{"x":731}', result: "fine" }],
    [{ arguments: '{"__proto__":1}' }, {
      arguments: JSON.parse('{"__proto__":1}'),
      written: '{"__proto__":1}',
      result: "fine",
    }],
    // What a perturbation made of the result is not what the function said.
    [{ failure, result: "zzz", unperturbed: '{"error":"no f"}' }, {
      arguments: { x: "@a" },
      written: '{"x":"@a"}',
      result: "zzz",
      error: "no f",
    }],
    [{ failure, result: '{"error":{"code":7}}' }, {
      arguments: { x: "@a" },
      written: '{"x":"@a"}',
      result: '{"error":{"code":7}}',
      error: '{"code":7}',
    }],
    [{ failure, result: "refused" }, {
      arguments: { x: "@a" },
      written: '{"x":"@a"}',
      result: "refused",
      error: "refused",
    }],
    [{ error: "told", failure, result: "refused" }, {
      arguments: { x: "@a" },
      written: '{"x":"@a"}',
      result: "refused",
      error: "told",
    }],
  ];
  for (const [event, expected] of table) {
    const [recorded, ...others] = recordedCalls([{ ...EVENT, ...event }]);
    const refused = event.failure === undefined ? {} : { refused: true };
    assertEquals<object>({ ...recorded }, {
      ...{ call: 1, step: 1, tool: "f", ...expected, ...refused },
    });
    assertEquals(others, []);
  }
});

Deno.test("recordedCalls() has the whole of texts that a trace has cut", async () => {
  const write: Tool = {
    name: "write",
    description: "Writes",
    parameters: { type: "object", properties: { text: { type: "string" } } },
    execute: ({ text }: JsonObject) => Promise.resolve(String(text).toUpperCase()),
  };
  using toolbox = new Toolbox([write]);
  const text = "x".repeat(12_000);
  await toolbox.execute([call("write", { text }), call("write", { text: "y" })]);
  const [long, short] = recordedCalls(toolbox.events, toolbox.uncut);
  assertEquals(long?.arguments, { text });
  assertEquals(long?.result, text.toUpperCase());
  assertEquals(short?.result, "Y");
  assertEquals(recordedCalls(toolbox.events)[0]?.arguments, undefined);
});

Deno.test("recordedCalls() takes a wrong value that a generated function returned for no error", async () => {
  const task = generateTask({ core: 2, depth: 1, connected: 0, disconnected: 0, seed: 7 });
  using executor = createExecutor(task);
  const source = task.functions.find(({ parameters }) =>
    parameters.every(({ name }) => task.inputs.has(name))
  )!;
  const wrong = Object.fromEntries(source.parameters.map(({ name }) => [name, 1]));
  await executor.execute([call(source.name, wrong)]);
  const [event] = executor.events as readonly CallEvent[];
  assertEquals(event?.failure?.type, "incorrect_value");
  assertEquals(recordedCalls(executor.events)[0]?.error, undefined);
});

Deno.test("recordedCalls() has one call where a strategy made it again, with its last result", async () => {
  let tries = 0;
  const pay: Tool = {
    ...ADD,
    name: "pay",
    execute: () => {
      if (++tries < 3) throw new Error("The request timed out");
      return Promise.resolve('{"paid":true}');
    },
  };
  using toolbox = new Toolbox([pay]);
  const again: CallReplacer = (failed) =>
    Promise.resolve(failed.map(({ call }) => ({ call, by: "retry" as const })));
  // Both of the same calls fail, and are made again.
  await toolbox.execute(
    [call("pay", { x: 3, y: 4 }), call("pay", { x: 3, y: 4 })],
    undefined,
    again,
  );
  assertEquals(tries, 4);
  assertEquals(
    recordedCalls(toolbox.events).map(({ call, result, error }) => [call, result, error]),
    [[1, '{"paid":true}', undefined], [2, '{"paid":true}', undefined]],
  );
});

function reply(traits: Partial<ReplyEvent> = {}): ReplyEvent {
  const numbers = { request: 1, calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };
  return { kind: "reply", text: "", ...numbers, ...traits };
}

Deno.test("parsesOf() counts replies of the loop that attempt calls, by how they could be read", () => {
  const events: TraceEvent[] = [
    reply({ parsed: "strict" }),
    reply({ parsed: "strict" }),
    reply({ parsed: "repaired", repairs: ["single quotes"] }),
    reply({ parsed: "unreadable" }),
    // No calls were attempted, or not by the loop.
    reply({ calls: 0, repairs: ["single quotes"] }),
    reply({ parsed: "unreadable", stage: "plan" }),
    { kind: "answer", text: "", value: null },
  ];
  assertEquals(parsesOf(events), {
    strict: 2,
    repaired: 1,
    unreadable: 1,
    repairs: [{ repair: "single quotes", replies: 1 }],
  });
});

Deno.test("parsesOf() is nothing where no reply tells", () => {
  assertEquals(parsesOf([]), undefined);
  assertEquals(parsesOf([reply(), reply({ repairs: ["call 1 had no id"] })]), undefined);
});

Deno.test("parsesOf() counts a kind of repair once a reply, whichever calls had it", () => {
  const repairs = ["call 1 had no id", "call 2 had no id", "call 12 had no end"];
  assertEquals(
    parsesOf([
      reply({ parsed: "repaired", repairs }),
      reply({ parsed: "repaired", repairs: repairs.slice(0, 1) }),
    ])!.repairs,
    [
      { repair: "call N had no id", replies: 2 },
      { repair: "call N had no end", replies: 1 },
    ],
  );
});

Deno.test("parsesOf() takes an id that was taken already for the same kind of repair", () => {
  const given = (id: string) => reply({ parsed: "repaired", repairs: [`call 1 was given ${id}`] });
  assertEquals(
    parsesOf([given("call_1"), given("call_1_2"), given("call_1_12_3"), given("call_1_")])!.repairs,
    [
      { repair: "call N was given call_N", replies: 3 },
      { repair: "call N was given call_N_", replies: 1 },
    ],
  );
});

Deno.test("parsesOf() keeps repairs short and few, with nothing in them that steers a terminal", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const repairs = [...letters].flatMap((one) => [...letters].map((other) => one + other));
  const many = parsesOf([reply({ parsed: "repaired", repairs })])!;
  assertEquals(many.repairs.length, 20);
  const [long, hostile] = ["x".repeat(1e6), HOSTILE];
  const odd = parsesOf([reply({ parsed: "repaired", repairs: [long, hostile, "__proto__"] })])!;
  assertEquals(odd.repairs.length, 3);
  for (const { repair } of odd.repairs) {
    assert(repair.length <= 100);
    assert(!STEERING.test(repair));
  }
});

Deno.test("sumRepairs() puts the commonest first, and equals in the order of their letters", () => {
  assertEquals(
    sumRepairs([
      { repair: "b", replies: 1 },
      { repair: "c", replies: 2 },
      { repair: "a", replies: 1 },
      { repair: "b", replies: 1 },
    ]),
    [{ repair: "b", replies: 2 }, { repair: "c", replies: 2 }, { repair: "a", replies: 1 }],
  );
});
