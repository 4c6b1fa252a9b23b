import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { runDefinition } from "../../lib/toolkit/definitions/run.ts";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { defineFrom } from "../../lib/toolkit/definitions/from_trace.ts";
import type { Model } from "../../lib/models/model.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { runTools } from "../../lib/toolkit/run_tools.ts";
import { withKnownVariables } from "../../lib/trials/strategies/restate.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { indirect, restate } from "../../lib/toolkit/wrap_tools.ts";
import { ARITHMETIC, EVAL } from "../support/arithmetic_tools.ts";

/** A tool that answers as its arguments say. */
function tool(
  name: string,
  answer: (input: JsonObject) => string | Promise<string>,
  properties: JsonObject = {},
): Tool {
  return {
    name,
    description: `The tool ${name}`,
    parameters: { type: "object", properties },
    execute: async (input) => await answer(input),
  };
}

function named(tools: readonly Tool[], name: string): Tool {
  return tools.find((tool) => tool.name === name)!;
}

const ANY = { value: {} };
/** Gives back what it gets, as JSON. */
const ECHO = tool("echo", ({ value }) => JSON.stringify(value), ANY);

Deno.test("restate() lists what was given and returned, keys of objects and others by number of call (FuncBenchGen 4.6.1)", async () => {
  const tools = restate([
    tool("weather", () => '{"degrees":21,"sky":"blue"}'),
    tool("say", ({ value }) => String(value)),
  ], { given: { city: "Paris" } });
  const said = await named(tools, "say").execute({ value: "fine" });
  assertEquals(said, 'fine\n{"known_variables":{"city":"Paris","say#1":"fine"}}');
  const weather = { degrees: 21, sky: "blue" };
  const known = {
    city: "Paris",
    "say#1": "fine",
    "weather.degrees": 21,
    "weather.sky": "blue",
  };
  assertEquals(JSON.parse(await named(tools, "weather").execute({})), {
    ...weather,
    known_variables: known,
  });
  assertEquals(
    await named(tools, "say").execute({ value: 7 }),
    `7\n${JSON.stringify({ known_variables: { ...known, "say#3": 7 } })}`,
  );
});

Deno.test("restate() lets the last return win, and counts calls that brought nothing", async () => {
  let count = 0;
  const tools = restate([tool("next", () => {
    count++;
    if (count === 2) throw new Error("it is down");
    if (count === 3) return '{"error":"busy"}';
    return count === 5 ? "five" : JSON.stringify({ count });
  })], { given: { "next.count": 0 } });
  const next = named(tools, "next");
  const known = async () =>
    JSON.parse((await next.execute({})).split("\n").at(-1)!).known_variables;
  assertEquals(await known(), { "next.count": 1 });
  await assertRejects(() => next.execute({}), Error, "it is down");
  assertEquals(JSON.parse(await next.execute({})), {
    error: "busy",
    known_variables: { "next.count": 1 },
  });
  assertEquals(await known(), { "next.count": 4 });
  assertEquals(await known(), { "next.count": 4, "next#5": "five" });
});

Deno.test("restate() lists results of calls that are made together in each of them", async () => {
  const [echo] = restate([ECHO]) as [Tool];
  const texts = await Promise.all([1, 2, 3].map((value) => echo.execute({ value })));
  const known = { "echo#1": 1, "echo#2": 2, "echo#3": 3 };
  assertEquals(
    texts,
    [1, 2, 3].map((value) => `${value}\n${JSON.stringify({ known_variables: known })}`),
  );
});

Deno.test("restate() numbers calls as they were made, whichever returns first", async () => {
  const wait = Promise.withResolvers<string>();
  const [slow] = restate([tool("slow", ({ value }) => value === 1 ? wait.promise : "b")]) as [Tool];
  const first = slow.execute({ value: 1 });
  assertEquals(await slow.execute({ value: 2 }), 'b\n{"known_variables":{"slow#2":"b"}}');
  wait.resolve("a");
  assertEquals(await first, 'a\n{"known_variables":{"slow#2":"b","slow#1":"a"}}');
});

Deno.test("restate() leaves tools as they are, and keeps hostile names", async () => {
  const strict = { ...ECHO, strict: true };
  const [echo, plain] = restate([strict, ECHO], {
    given: JSON.parse('{"__proto__":1,"constructor":2}'),
  }) as [Tool, Tool];
  assertEquals([echo.strict, "strict" in plain, echo.parameters], [true, false, ECHO.parameters]);
  assertEquals(
    await echo.execute({ value: { ["__proto__"]: 3 } }),
    '{"__proto__":3,"known_variables":{"__proto__":1,"constructor":2,"echo.__proto__":3}}',
  );
});

Deno.test("restate() counts as a Toolbox does, so that a model reads the same in production (FuncBenchGen 4.6.1)", async () => {
  const tools = [tool("a", () => "1"), tool("fails", () => '{"error":"no"}')];
  const order = ["a", "fails", "a", "a"];
  const restating = restate(tools, { given: { x: 0 } });
  let said = "";
  for (const name of order) said = await named(restating, name).execute({});
  using toolbox = new Toolbox(tools, { given: { x: 0 } });
  const calls = order.map((name) => ({ id: "", name, arguments: "{}" }));
  const seen = await toolbox.execute(
    calls,
    (answered, known) => answered.map(({ content }) => withKnownVariables(content, known)),
  );
  assertEquals(said, seen.at(-1)!.content);
  assertEquals(said, '1\n{"known_variables":{"x":0,"a#1":1,"a#3":1,"a#4":1}}');
});

Deno.test("restate() and indirect() refuse what is given as anything but a JSON object", () => {
  for (
    const [given, words] of [
      [new Map([["x", 1]]), "it is of type Map"],
      [null, "it is of type Null"],
      [{ x: undefined }, "x is not JSON"],
      [{ a: 1, "x\u001b": [new Date()] }, "x\\u001b is not JSON"],
      [{ x: NaN }, "x is not JSON"],
    ] as [JsonObject, string][]
  ) {
    const message = `Cannot use what is given as it must be a plain JSON object: ${words}`;
    assertThrows(() => restate([ECHO], { given }), InputError, message);
    assertThrows(() => indirect([ECHO], { given }), InputError, message);
    assertThrows(() => new Toolbox([ECHO], { given }), InputError, message);
  }
});

Deno.test("indirect() holds the article's conversation (Indirection, Adding a Level of Indirection)", async () => {
  const { tools, symbols, resolve, render, trace } = indirect([EVAL]);
  const [evaluate] = tools as [Tool];
  assertEquals(await evaluate.execute({ expression: "1+2", result: "@Sum" }), "@Sum");
  assertEquals(render("The sum of 1 + 2 is `@Sum`."), "The sum of 1 + 2 is `@Sum=3`.");
  assertEquals(
    await evaluate.execute({ expression: "2*@Sum", result: "@DoubleSum" }),
    "@DoubleSum",
  );
  assertEquals(
    render("The result of multiplying 2 by `@Sum` is `@DoubleSum`."),
    "The result of multiplying 2 by `@Sum=3` is `@DoubleSum=6`.",
  );
  assertEquals(resolve("@DoubleSum"), "6");
  assertEquals(symbols.names(), ["Sum", "DoubleSum"]);
  assertEquals(trace, [
    { tool: "eval", arguments: { expression: "1+2" }, result: "Sum" },
    { tool: "eval", arguments: { expression: "2*@Sum" }, result: "DoubleSum" },
  ]);
});

Deno.test("indirect() offers tools as Symbols does, and does not run what it cannot read", async () => {
  let calls = 0;
  const counted = tool("count", () => String(++calls), { by: { type: "integer" } });
  const { tools, symbols, trace } = indirect([{ ...counted, strict: true }], { given: { X: 1 } });
  const [count] = tools as [Tool];
  const { execute: _, ...schema } = count;
  assertEquals(schema, symbols.offer({ ...counted, strict: true }));
  const cyclic: JsonObject = { result: "@A" };
  cyclic["by"] = cyclic;
  for (
    const input of [
      {},
      { by: 1 },
      { by: 1, result: "A" },
      { by: 1, result: "@X" },
      { by: "@Y", result: "@A" },
      cyclic,
      undefined as unknown as JsonObject,
      null as unknown as JsonObject,
      [] as unknown as JsonObject,
    ]
  ) {
    const text = await count.execute(input);
    assertEquals(Object.keys(JSON.parse(text)), ["error"]);
  }
  assertEquals([calls, trace.length, symbols.names()], [0, 0, ["X"]]);
  assertEquals(await count.execute({ by: "@X", result: "@A" }), "@A");
});

Deno.test("indirect() neither knows nor frees the name of a call that still runs", async () => {
  const wait = Promise.withResolvers<string>();
  const { tools, symbols, trace } = indirect([tool("slow", () => wait.promise), ECHO]);
  const slow = named(tools, "slow").execute({ result: "@A" });
  const echo = named(tools, "echo");
  const [known, taken] = await Promise.all([
    echo.execute({ value: "@A", result: "@B" }),
    echo.execute({ value: 1, result: "@A" }),
  ]);
  assert(known.includes("no value named @A"), known);
  assert(taken.includes("such as @A_2"), taken);
  assertEquals(await echo.execute({ value: 2, result: "@B" }), "@B");
  wait.resolve("3");
  assertEquals(await slow, "@A");
  assertEquals(await echo.execute({ value: "@A", result: "@C" }), "@C");
  assertEquals(symbols.get("C"), 3);
  // Listed as they began, though the first returned last.
  assertEquals(trace.map((step) => "result" in step && step.result), ["A", "B", "C"]);
});

Deno.test("indirect() lets go of a name whose call failed: errors of tools are theirs", async () => {
  let count = 0;
  const flaky = tool("flaky", () => {
    count++;
    if (count === 1) throw new TypeError("it is down");
    return count === 2 ? '{"error":"busy"}' : "up";
  });
  const { tools: [it], symbols, trace } = indirect([flaky]);
  await assertRejects(() => it!.execute({ result: "@A" }), TypeError, "it is down");
  assertEquals(await it!.execute({ result: "@A" }), '{"error":"busy"}');
  assertEquals([symbols.names(), trace.length], [[], 0]);
  assertEquals(await it!.execute({ result: "@A" }), "@A");
  assertEquals([symbols.get("A"), trace.length], ["up", 1]);
});

const ORDER = { id: 7, total: 30, customer: { name: "Ann" }, lines: [{ sku: "pen" }] };

Deno.test("indirect() takes parts of what a tool returned, which it does not show", async () => {
  const paid: JsonObject[] = [];
  const tools = indirect([
    tool("find", () => JSON.stringify(ORDER)),
    tool("pay", (input) => {
      paid.push(input);
      return "done";
    }, { amount: { type: "number" }, note: { type: "string" }, lines: { type: "array" } }),
  ], { dereference: true });
  const call = (name: string, input: JsonObject) => named(tools.tools, name).execute(input);
  assertEquals(await call("find", { result: "@Order" }), "@Order");
  const asked = {
    amount: "@Order.total",
    note: "For @Order.customer.name.",
    lines: "@Order.lines",
  };
  assertEquals(await call("pay", { ...asked, result: "@Paid" }), "@Paid");
  assertEquals(paid, [{ amount: 30, note: "For Ann.", lines: ORDER.lines }]);
  const wrong = await call("pay", { amount: "@Order.sum", result: "@Again" });
  assertEquals(JSON.parse(wrong), {
    error: "There is no @Order.sum: @Order has the fields id, total, customer, lines",
  });
  assertEquals(tools.render("@Order.total and @Paid."), "@Order.total=30 and @Paid=done.");
  assertEquals(tools.resolve("@Order.lines.0.sku"), "pen");
  assertEquals(await call("dereference", { name: "@Order.customer" }), '{"name":"Ann"}');
  assertEquals(tools.trace.slice(1), [
    { tool: "pay", arguments: asked, result: "Paid" },
    { dereferenced: "Order.customer", value: { name: "Ann" } },
  ]);
});

Deno.test("indirect() calls no tool with what does not conform to its schema", async () => {
  let calls = 0;
  const strict: Tool = {
    ...tool("strict", () => String(++calls)),
    parameters: {
      type: "object",
      properties: { days: { type: "integer", minimum: 1 }, units: { enum: ["metric"] } },
      required: ["days"],
      additionalProperties: false,
    },
  };
  const given = { Text: "7", Zero: 0, Days: 3, Units: "imperial", Deep: { secret: "s3cr3t" } };
  const { tools: [it], symbols, trace } = indirect([strict], { given });
  for (
    const [input, words] of [
      [{ days: "@Text" }, "/days must be integer"],
      [{ days: "@Zero" }, "/days must be >= 1"],
      [{ days: "@Deep" }, "/days must be integer"],
      [{ days: "@Days", units: "@Units" }, "/units must be equal to one of the allowed values"],
      [{ units: "metric" }, "must have required property 'days'"],
      [{ days: 1, year: "@Days" }, "must NOT have additional properties (year)"],
    ] as [JsonObject, string][]
  ) {
    const { error, ...others } = JSON.parse(await it!.execute({ ...input, result: "@R" }));
    assertStringIncludes(error, `The arguments do not conform to the schema: `);
    assertStringIncludes(error, words);
    assertStringIncludes(error, ". Each may be given by an @name, and result must name the result");
    assert(!/s3cr3t|imperial/.test(error), "no value is shown");
    assertEquals(others, {});
  }
  assertEquals([calls, trace.length, symbols.has("R")], [0, 0, false]);
  assertEquals(await it!.execute({ days: "@Days", units: "metric", result: "@R" }), "@R");
  assertEquals(calls, 1);
});

Deno.test("indirect() refuses a tool whose schema is none when it is wrapped", () => {
  const broken = { ...ECHO, parameters: { type: "objekt" } };
  assertThrows(
    () => indirect([ECHO, broken]),
    InputError,
    "Cannot offer tool echo as its parameters must be a JSON Schema: ",
  );
});

Deno.test("indirect() says to a model what the strategy says", async () => {
  const own = tool("own", () => "1", { result: {} });
  for (const tools of [[], [ECHO], [ECHO, own]]) {
    const given = { x: 3, Text: "a", __proto: 1 };
    const question = "What is {x} if x = 3, y = 3, Text = a, x = 31 and __proto = 1? $&";
    const { prompt } = indirect(tools, { given });
    const asked: string[] = [];
    const inner = scripted("script", [{ text: "Nothing." }]);
    const model: Model = {
      ...inner,
      reply: (request) => {
        asked.push(request.messages.at(-1)!.content);
        return inner.reply(request);
      },
    };
    await runTools(model, tools, { messages: question, given, strategy: "indirection" });
    assertEquals([prompt(question)], asked);
    assertStringIncludes(
      asked[0]!,
      "What is {x} if x = @x, y = 3, Text = @Text, x = 31 and __proto = @",
    );
  }
  assertStringIncludes(indirect([ECHO, own]).prompt(""), "in the parameter result or result_name.");
  const { prompt } = indirect([]);
  assertEquals(
    prompt("Q"),
    fillPrompt(PROMPTS.indirection.use, {
      question: "Q",
      parameters: "the parameter result",
    }),
  );
});

Deno.test("indirect() binds what `read` makes of a result", async () => {
  const { tools: [it], symbols } = indirect([tool("task", () => '{"var":512}')], {
    read: (text, { name }) => [name, JSON.parse(text).var],
  });
  await it!.execute({ result: "@A" });
  assertEquals(symbols.get("A"), ["task", 512]);
});

Deno.test("indirect() shows a value by dereference() when allowed, and records that (Indirection, Adding a Level of Indirection)", async () => {
  assertEquals(indirect([EVAL]).tools.length, 1);
  const { tools, trace } = indirect([EVAL], { given: { X: [1, "a"] }, dereference: true });
  const look = named(tools, "dereference");
  assertEquals(await look.execute({ name: "@X" }), '[1,"a"]');
  await named(tools, "eval").execute({ expression: "1", result: "@S" });
  assertEquals(await look.execute({ name: "S" }), "1");
  for (const input of [{ name: "@Y" }, { name: 7 }, {}, { name: "@@X" }, { name: "toString" }]) {
    assertEquals(Object.keys(JSON.parse(await look.execute(input as JsonObject))), ["error"]);
  }
  assertEquals(trace, [
    { dereferenced: "X", value: [1, "a"] },
    { tool: "eval", arguments: { expression: "1" }, result: "S" },
    { dereferenced: "S", value: 1 },
  ]);
  const twice = indirect([tool("dereference", () => "")], { dereference: true }).tools;
  assertEquals(twice.map(({ name }) => name), ["dereference", "dereference_2"]);
});

Deno.test("indirect() refuses what is given under no name", () => {
  assertThrows(() => indirect([], { given: { "first name": 1 } }), InputError, "first name");
  const { symbols } = indirect([], { given: JSON.parse('{"__proto__":1,"toString":2}') });
  assertEquals(symbols.names(), ["__proto__", "toString"]);
});

Deno.test("what was done with parts of values runs again on other values", async () => {
  const find = tool("find", ({ id }) => JSON.stringify({ ...ORDER, total: Number(id) * 10 }), {
    id: { type: "integer" },
  });
  const tools = [find, ...ARITHMETIC];
  const { tools: wrapped, trace } = indirect(tools, { given: { Id: 3 }, dereference: true });
  const call = (name: string, input: JsonObject) => named(wrapped, name).execute(input);
  await call("find", { id: "@Id", result: "@Order" });
  await call("eval", { expression: "@Order.total+@Order.id*2-0.5", result: "@Price" });
  await call("dereference", { name: "@Order.total" });
  await call("eval", { expression: "30+@Order.id", result: "@Copied" });
  const options = (name: string) => ({
    inputs: { Id: "number" } as const,
    output: { name, type: "number" } as const,
  });
  const price = defineFrom(trace, options("Price"));
  assertEquals(price.calls.map(({ result }) => result), ["Order", "Price"]);
  assertEquals(await runDefinition(price, tools, { Id: 3 }), 43.5);
  assertEquals(await runDefinition(price, tools, { Id: 5 }), 63.5);
  assertThrows(
    () => defineFrom(trace, options("Copied")),
    InputError,
    "hold the value of @Order.total, which was dereferenced before",
  );
  const poor = { ...find, execute: () => Promise.resolve('{"id":1}') };
  await assertRejects(
    () => runDefinition(price, [poor, ...ARITHMETIC], { Id: 3 }),
    Error,
    "There is no @Order.total: @Order has the fields id",
  );
});

Deno.test("restate() and indirect() stand on each other", async () => {
  const { tools: [it] } = indirect([EVAL], { given: { X: 3 } });
  const [listed] = restate([it!]) as [Tool];
  assertEquals(
    await listed.execute({ expression: "@X*2", result: "@A" }),
    '@A\n{"known_variables":{"eval#1":"@A"}}',
  );
});
