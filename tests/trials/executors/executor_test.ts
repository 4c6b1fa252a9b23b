// What recorders do with the calls of one reply: run them at the same time, and in the order of their
// references.

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { z } from "zod";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/base/json.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { REFERENCE_PATTERN } from "../../../lib/tools/references/schema.ts";
import type { PreparedCall, Tool, ToolCall } from "../../../lib/tools/tool.ts";
import { Toolbox, type ToolboxOptions } from "../../../lib/trials/executors/toolbox.ts";
import { callsOf, failuresOf } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";
import { call, OTH, SRC, TASK } from "../../support/handmade.ts";

/** Passes turns of the event loop, so that work overlaps without a clock. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

/** Waits for everything that is ready to run. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A tool without a schema to speak of. */
function plain(
  name: string,
  execute: (input: JsonObject) => unknown,
  properties: JsonObject = {},
): Tool {
  return tool({
    name,
    description: name,
    parameters: { type: "object", properties },
    execute,
  });
}

const ECHO = plain("echo", (input) => input);
const THROW = plain("throw", () => {
  throw new Error("out of order");
});

/** A call with an id of its own. */
function own(id: string, name: string, written: JsonObject): ToolCall {
  return { ...call(name, written), id };
}

function toolboxOf(tools: readonly Tool[], options: ToolboxOptions = {}): Toolbox {
  return new Toolbox(tools, { references: true, ...options });
}

/** What goes back for calls, read as JSON. */
async function answers(toolbox: Toolbox, ...calls: PreparedCall[]): Promise<JsonValue[]> {
  return (await toolbox.execute(calls)).map(({ content }) => JSON.parse(content));
}

/** The error that goes back for the last of several calls. */
async function lastError(toolbox: Toolbox, ...calls: ToolCall[]): Promise<string> {
  const last = (await answers(toolbox, ...calls)).at(-1);
  assert(isJsonObject(last) && typeof last["error"] === "string", JSON.stringify(last));
  return last["error"];
}

// Checks

Deno.test("an executor checks a call once, whoever asks before it is carried out", async () => {
  const injectFault = () => ({ kind: "slow" as const });
  const counts = { written: 0, zod: 0, check: 0 };
  const parameters = z.object({ x: z.string().transform(Number) }).refine(() => ++counts.zod > 0);
  const returns = "done";
  const zodTool = tool({ name: "zod", description: "", parameters, returns });
  const checked: Tool = {
    ...plain("checked", (input) => input),
    check: () => void counts.check++,
  };
  class CountingToolbox extends Toolbox {
    protected override check(name: string, written: string) {
      counts.written++;
      return super.check(name, written);
    }
  }
  using toolbox = new CountingToolbox([zodTool, checked], { injectFault });
  const calls = ["zod", "checked", "zod"].map((name) => own(name, name, { x: "1" }));
  for (const one of [...calls, ...calls]) assertEquals(toolbox.refuse(one), undefined);
  await toolbox.execute(calls);
  assertEquals(counts, { written: 3, zod: 2, check: 1 });
  // Arguments that a model has changed are those of another call.
  assertEquals(toolbox.refuse({ ...calls[0]!, arguments: "{}" })?.fault.missing, ["x"]);
});

// At the same time

Deno.test("Executor.execute() runs calls at the same time, at most 10, and records them in order (Pipeline, Advanced Call Patterns)", async () => {
  for (const [parallel, most] of [[undefined, 10], [1, 1], [3, 3], [100, 25]] as const) {
    let [underWay, highest] = [0, 0];
    const begun: JsonValue[] = [];
    const slow = plain("slow", async ({ place }) => {
      begun.push(place!);
      highest = Math.max(highest, ++underWay);
      await turns(40 - Number(place) % 7 * 5);
      underWay--;
      return place;
    });
    using toolbox = new Toolbox([slow], parallel === undefined ? {} : { parallel });
    const places = [...new Array(25).keys()];
    const calls = places.map((place) => own(`id ${place}`, "slow", { place }));
    const results = await toolbox.execute(calls);
    assertEquals(
      results,
      places.map((place) => ({
        ...{ callId: `id ${place}`, name: "slow", content: String(place) },
      })),
    );
    assertEquals(begun, places);
    assertEquals(highest, most);
    assertEquals(
      toolbox.events.map((event) =>
        event.kind === "call" && [event.call, event.step, event.arguments]
      ),
      places.map((place) => [place + 1, 1, `{"place":${place}}`]),
    );
  }
});

Deno.test("Executor.execute() records what is answered at once within the turn", () => {
  using executor = createExecutor(TASK);
  const answering = executor.execute([SRC, OTH]);
  assertEquals(callsOf(executor.events).map(({ call }) => call), [1, 2]);
  return answering.then((results) => assertEquals(results.length, 2));
});

Deno.test("Executor.execute() begins nothing more once the trial is over, and records nothing of it", async () => {
  const ends: (() => void)[] = [];
  const slow = plain("slow", () => new Promise<void>((resolve) => ends.push(resolve)));
  const toolbox = toolboxOf([slow], { parallel: 2 });
  const calls = [1, 2, 3, 4].map((place) => own(`c${place}`, "slow", {}));
  const answering = toolbox.execute([...calls, own("last", "slow", { x: "$c1.any" })]);
  await settled();
  assertEquals(ends.length, 2);
  toolbox[Symbol.dispose]();
  for (const end of ends) end();
  const over = '{"error":"The trial is over"}';
  assertEquals((await answering).map(({ content }) => content), new Array(5).fill(over));
  assertEquals([ends.length, toolbox.events.length], [2, 0]);
});

Deno.test("Executor.execute() runs no tool that a fault holds up once the trial is over", async () => {
  let runs = 0;
  const counted = plain("counted", () => ++runs);
  const toolbox = toolboxOf([counted], { injectFault: () => ({ kind: "slow", delay: 1 }) });
  const answering = toolbox.execute([own("c1", "counted", {})]);
  toolbox[Symbol.dispose]();
  assertEquals((await answering).map(({ content }) => content), ['{"error":"The trial is over"}']);
  assertEquals(runs, 0);
});

Deno.test("Executor.execute() awaits what has begun before it throws what a tool's own check does", async () => {
  const ended: string[] = [];
  const slow = plain("slow", async () => {
    await turns(30);
    ended.push("slow");
  });
  const broken = tool({
    name: "broken",
    description: "Cannot be checked",
    parameters: z.object({
      x: z.string().refine(async (text) => await Promise.resolve(text !== "")),
    }),
    execute: () => ended.push("broken"),
  });
  using toolbox = new Toolbox([slow, broken]);
  const calls = [call("slow", {}), call("broken", { x: "a" }), call("broken", { x: "b" })];
  await assertRejects(() => toolbox.execute(calls), InputError, "must check them at once");
  assertEquals(ended, ["slow"]);
});

Deno.test("Executor refuses limits that are none", () => {
  for (const parallel of [0, -1, 1.5, NaN, Infinity]) {
    assertThrows(
      () => new Toolbox([], { parallel }),
      RangeError,
      "Cannot limit calls at the same time",
    );
  }
  assertThrows(() => new Toolbox([], { depth: 0 }), RangeError, "Cannot limit chains of calls");
});

// In the order of references

/** A reply whose calls refer to each other: what each adds to which others, in a random order. */
const replies = fc.integer({ min: 1, max: 14 }).chain((count) =>
  fc.record({
    // What each call needs stands before it here, and anywhere in the reply.
    needs: fc.tuple(
      ...new Array(count).fill(0).map((_, place) =>
        place === 0 ? fc.constant([]) : fc.uniqueArray(fc.nat({ max: place - 1 }), { maxLength: 3 })
      ),
    ) as fc.Arbitrary<number[][]>,
    order: fc.shuffledSubarray([...new Array(count).keys()], { minLength: count }),
    slowness: fc.array(fc.nat({ max: 15 }), { minLength: count, maxLength: count }),
    parallel: fc.integer({ min: 1, max: 5 }),
    byId: fc.boolean(),
  })
);

Deno.test("Executor.execute() agrees with direct evaluation, whatever the order and the delays (Pipeline, Advanced Call Patterns)", async () => {
  await fc.assert(fc.asyncProperty(replies, async ({ needs, order, slowness, parallel, byId }) => {
    /** What a call gives: a number of its own, and all that it needs. */
    const evaluated: number[] = [];
    for (const [own, needed] of needs.entries()) {
      evaluated.push(
        needed.reduce((sum, need) => sum + 2 * evaluated[need]!, 10 ** (own % 5) + own),
      );
    }
    const runs = new Map<number, number>();
    const ended = new Set<number>();
    let [underWay, highest] = [0, 0];
    const add = plain("add", async ({ own, terms, told }) => {
      const place = own as number;
      runs.set(place, (runs.get(place) ?? 0) + 1);
      highest = Math.max(highest, ++underWay);
      for (const need of needs[place]!) assert(ended.has(need), "what is referred to ends first");
      assertEquals(terms, needs[place]!.map((need) => evaluated[need]!));
      assertEquals(told, `sum of ${needs[place]!.map((need) => evaluated[need]!)}`);
      await turns(slowness[place]!);
      underWay--;
      ended.add(place);
      const sum = (terms as number[]).reduce(
        (sum, term) => sum + 2 * term,
        10 ** (place % 5) + place,
      );
      return { result: { sum }, list: [{ sum }] };
    });
    const nameOf = (place: number) => byId ? `call-${place}` : String(order.indexOf(place) + 1);
    const calls = order.map((place) =>
      own(`call-${place}`, "add", {
        own: place,
        terms: needs[place]!.map((need, at) =>
          `$${nameOf(need)}${at % 2 === 0 ? ".result.sum" : ".list[0].sum"}`
        ),
        told: `sum of ${needs[place]!.map((need) => `$${nameOf(need)}.list.0.sum`)}`,
      })
    );
    using toolbox = toolboxOf([add], { parallel, depth: 20 });
    const results = await toolbox.execute(calls);
    assertEquals(results.map(({ callId }) => callId), calls.map(({ id }) => id));
    assertEquals(
      results.map(({ content }) => JSON.parse(content).result.sum),
      order.map((place) => evaluated[place]!),
    );
    assertEquals(callsOf(toolbox.events), toolbox.events);
    assertEquals(
      callsOf(toolbox.events).map(({ call, step, resolved, arguments: written }) => [
        ...[call, step, JSON.parse(resolved ?? written).terms],
      ]),
      order.map((place, at) => [at + 1, 1, needs[place]!.map((need) => evaluated[need]!)]),
    );
    assertEquals(failuresOf(toolbox.events), []);
    assert([...order].every((place) => runs.get(place) === 1));
    assert(highest <= parallel);
  }));
});

Deno.test("Executor.execute() takes references for texts unless it is told otherwise", async () => {
  const calls = [own("a", "echo", { x: "$2.y $$2.y" }), own("b", "echo", { y: 1 })];
  using toolbox = new Toolbox([ECHO]);
  assertEquals(await answers(toolbox, ...calls), [{ x: "$2.y $$2.y" }, { y: 1 }]);
  assertEquals(callsOf(toolbox.events).some((event) => "resolved" in event), false);
  assertEquals(toolbox.tools[0]!.parameters, { type: "object", properties: {} });
});

Deno.test("Executor.execute() leaves calls without references as they were written", async () => {
  using toolbox = toolboxOf([ECHO]);
  const written = ' { "x" : "$5.00" , "y" : 1.0 } ';
  await toolbox.execute([{ ...call("echo", ""), arguments: written }]);
  assertEquals("resolved" in callsOf(toolbox.events)[0]!, false);
});

Deno.test("Executor.execute() goes on with others where a call cannot be made", async () => {
  const tools = [ECHO, THROW, plain("count", () => 1, { n: { type: "integer" } })];
  using toolbox = toolboxOf(tools);
  const results = await answers(
    toolbox,
    own("fine", "echo", { x: "$ok.y" }),
    own("ok", "echo", { y: 1 }),
    own("bad", "throw", {}),
    own("after", "echo", { a: { b: ["$bad.x"] } }),
    own("further", "echo", { x: "$after.x" }),
    own("none", "nobody", {}),
    own("behind", "echo", { x: "$none.x" }),
    own("refused", "count", { n: "$ok.z" }),
    own("wrong", "count", { n: "$text.y" }),
    own("text", "echo", { y: "one" }),
    own("circle", "echo", { x: "$round.x" }),
    own("round", "echo", { x: "$circle.x" }),
    own("self", "echo", { x: "$13.x" }),
    own("lost", "echo", { x: "$99.x" }),
    own("JSON", "echo", {}),
  );
  const noResult = (name: string, at = "x") =>
    `${name} has no result, as in ${at}: what is referred to was refused or has failed`;
  const circle = (name: string) =>
    `${name} leads in a circle, as in x: of calls that refer to each other in a circle none can be the first`;
  assertEquals(results, [
    { x: 1 },
    { y: 1 },
    { error: "out of order" },
    { error: noResult("$bad", "a") },
    { error: noResult("$after") },
    { error: "There is no function nobody" },
    { error: noResult("$none") },
    { error: "There is no $ok.z: $ok has the fields y" },
    { error: "The arguments do not conform to the schema: /n must be integer" },
    { y: "one" },
    { error: circle("$round") },
    { error: circle("$circle") },
    { error: "$13 is the call itself, as in x: no call can wait for what it returns itself" },
    {
      error: "$99 is no call of this reply, as in x: its calls are $1 to $15. " +
        "Where the text itself is meant, write $$99",
    },
    {},
  ]);
  assertEquals(toolbox.calls, 15);
  // What only waited for a call that failed is no first mistake.
  assertEquals(
    failuresOf(toolbox.events).map(({ call, type, root }) => [call, type, root]),
    [
      [4, "wrong_number_of_inputs", false],
      [5, "wrong_number_of_inputs", false],
      [6, "function_not_found", true],
      [7, "wrong_number_of_inputs", false],
      ...[8, 9, 11, 12, 13, 14].map((call) => [call, "wrong_number_of_inputs", true]),
    ],
  );
  const [after] = failuresOf(toolbox.events);
  assertEquals(after!.detail, { missing: [], unexpected: [], wrongType: ["a"], malformed: false });
});

Deno.test("Executor.execute() tells of all that is wrong with a call, whose own mistake it then is", async () => {
  using toolbox = toolboxOf([ECHO, THROW]);
  const error = await lastError(
    toolbox,
    own("a", "throw", {}),
    own("b", "echo", { y: 1 }),
    own("c", "echo", { x: "$a.x", z: "$b.z" }),
  );
  assertStringIncludes(error, "$a has no result");
  assertStringIncludes(error, "There is no $b.z");
  const { root, detail } = failuresOf(toolbox.events)[0]!;
  assertEquals([root, detail], [true, {
    ...{ missing: [], unexpected: [], wrongType: ["x", "z"], malformed: false },
  }]);
});

Deno.test("Executor.execute() has no results of calls past the limit, and none of earlier replies", async () => {
  using toolbox = toolboxOf([ECHO], { callLimit: 3 });
  await toolbox.execute([own("old", "echo", { y: 1 })]);
  const results = await answers(
    toolbox,
    own("a", "echo", { x: "$c.y" }),
    own("b", "echo", { x: "$old.y" }),
    own("c", "echo", { y: 1 }),
  );
  const errors = results.map((result) => String((result as JsonObject)["error"]));
  assertStringIncludes(errors[0]!, "$c has no result");
  assertStringIncludes(errors[1]!, "$old is no call of this reply");
  assertStringIncludes(errors[2]!, "No more than 3 calls are allowed");
  assert(toolbox.exhausted);
});

Deno.test("Executor.execute() bounds how long all calls of a reply can grow together", async () => {
  const long = plain("long", () => "x".repeat(4_000_000));
  const size = plain("size", ({ x }) => String(x).length);
  using toolbox = toolboxOf([long, size]);
  const calls = [1, 2, 3].map((place) => own(`c${place}`, "size", { x: "$a.text" }));
  const [, ...sizes] = await toolbox.execute([own("a", "long", {}), ...calls]);
  assertEquals(sizes.slice(0, 2).map(({ content }) => content), ["4000000", "4000000"]);
  assertStringIncludes(sizes[2]!.content, "characters that are left of 10000000 for its reply");
  // The next reply begins anew.
  const [, next] = await toolbox.execute([own("a", "long", {}), calls[0]!]);
  assertEquals(next!.content, "4000000");
});

Deno.test("Executor.execute() reads nothing into what a tool returned", async () => {
  using toolbox = toolboxOf([ECHO]);
  assertEquals(
    await answers(
      toolbox,
      own("a", "echo", { y: "$$2.y $$$$1.y" }),
      own("b", "echo", { y: "$a.y" }),
      own("c", "echo", { y: "$b.y" }),
    ),
    new Array(3).fill({ y: "$2.y $$1.y" }),
  );
});

Deno.test("Executor.execute() resolves what goes back, perturbed and whole", async () => {
  using toolbox = toolboxOf([ECHO], {
    perturbReturn: (text) => text.replaceAll('"y"', '"Y"'),
    longestResult: 5,
  });
  const calls = [own("a", "echo", { y: "a long text" }), own("b", "echo", { x: "$a.Y" })];
  const results = await toolbox.execute(calls);
  assertEquals(results.map(({ content }) => content), ['{"Y":', '{"x":']);
  assertEquals(callsOf(toolbox.events)[1]!.resolved, '{"x":"a long text"}');
});

Deno.test("Executor.execute() leaves calls to whatever around it has found out what they mean", async () => {
  const numbers = plain("numbers", (input) => input, { n: { type: "integer" } });
  using toolbox = toolboxOf([ECHO, numbers]);
  const meant = { ...own("a", "echo", { x: "@it" }), resolved: '{"x":"$9.y $b.y"}' };
  const refusal = {
    error: "no",
    fault: { missing: [], unexpected: [], wrongType: [], malformed: false },
  };
  const odd = { x: "$9.y" };
  assertEquals(
    await answers(
      toolbox,
      meant,
      own("b", "echo", { y: "$a.x" }),
      { ...own("c", "echo", odd), refusal },
      { ...own("d", "echo", odd), answer: '"as it is"' },
    ),
    [{ x: "$9.y $b.y" }, { y: "$9.y $b.y" }, { error: "no" }, "as it is"],
  );
  const wrong = { ...own("e", "numbers", { n: "$1.n" }), resolved: '{"n":"x"}' };
  assertEquals(toolbox.refuse(wrong)?.fault.wrongType, ["n"]);
});

Deno.test("Executor.tools refer to no other call, as each is made by itself", async () => {
  using toolbox = toolboxOf([ECHO]);
  const results = await Promise.all([
    toolbox.tools[0]!.execute({ y: 1 }),
    toolbox.tools[0]!.execute({ x: "$1.y" }),
  ]);
  assertEquals(results[0], '{"y":1}');
  assertStringIncludes(results[1]!, "$1 is the call itself");
});

Deno.test("Executor.tools take references in every position, and stay strict", () => {
  const parameters: JsonObject = {
    type: "object",
    properties: {
      text: { type: "string", description: "Any text" },
      list: { type: "array", items: { type: "integer" } },
      either: { anyOf: [{ type: "integer" }, { type: "null" }] },
    },
    required: ["text", "list", "either"],
    additionalProperties: false,
  };
  const strict: Tool = { ...ECHO, strict: true, parameters };
  using toolbox = toolboxOf([strict]);
  const [offered] = toolbox.tools;
  assertEquals([offered!.name, offered!.description, offered!.strict], ["echo", "echo", true]);
  const { text, list, either } = offered!.parameters["properties"] as Record<string, JsonObject>;
  const isReference = (schema: unknown) =>
    isJsonObject(schema) && schema["type"] === "string" &&
    schema["pattern"] === REFERENCE_PATTERN &&
    String(schema["description"]).startsWith("In place of the value: $1.field is");
  for (const position of [text!, list!, either!]) {
    const { anyOf, ...others } = position;
    assertEquals(others, {});
    assert(Array.isArray(anyOf) && isReference(anyOf.at(-1)), JSON.stringify(position));
  }
  assertEquals((text!["anyOf"] as JsonValue[])[0], { type: "string", description: "Any text" });
  const [own] = list!["anyOf"] as [JsonObject];
  assert(isReference((own["items"] as { anyOf: JsonValue[] }).anyOf[1]));
  assertEquals((either!["anyOf"] as JsonValue[]).length, 3);
  const { properties: _, ...rest } = offered!.parameters;
  assertEquals(rest, {
    type: "object",
    required: ["text", "list", "either"],
    additionalProperties: false,
  });
  assertEquals(strict.parameters, parameters);
});

Deno.test("Executor.refuse() takes references to fit, and finds what is wrong beside them", () => {
  const order = tool({
    name: "order",
    description: "Orders",
    parameters: z.object({ n: z.int().max(5), name: z.string().max(3), kind: z.enum(["a", "b"]) }),
    execute: () => 1,
  });
  using toolbox = toolboxOf([order]);
  const refused = (written: JsonObject) => toolbox.refuse(call("order", written))?.fault.wrongType;
  const right = { n: 1, name: "abc", kind: "a" };
  assertEquals(refused(right), undefined);
  assertEquals(refused({ n: "$1.n", name: "to $1.name", kind: "$x.kind" }), undefined);
  assertEquals(refused({ ...right, n: "1$1.n" }), ["n"]);
  assertEquals(refused({ n: "$1.n", name: "long", kind: "c" }), ["name", "kind"]);
  assertEquals(toolbox.refuse(call("order", { n: "$1.n" }))?.fault.missing, ["name", "kind"]);
  assertEquals(refused({ ...right, name: "$5" }), undefined);
  const brief = toolboxOf([plain("brief", () => 1, { x: { type: "string", maxLength: 5 } })]);
  assertEquals(brief.refuse(call("brief", { x: "$$1.ab" })), undefined, "it means one letter less");
  using without = new Toolbox([order]);
  assertEquals(without.refuse(call("order", { ...right, n: "$1.n" }))?.fault.wrongType, ["n"]);

  using executor = createExecutor(TASK, { references: true });
  const wrong = (written: JsonObject) =>
    executor.refuse(call("func_tgt", written))?.fault.wrongType;
  assertEquals(wrong({ one: "$1.alpha", two: "222" }), undefined);
  assertEquals(wrong({ one: "2$1.alpha", two: "$2.beta" }), ["one"]);
  assertEquals(wrong({ one: "$1.alpha", two: "no number" }), ["two"]);
});

// What is known when a call runs

Deno.test("an executor judges what is known when a call runs", async () => {
  const [src, oth] = [{ ...SRC, id: "src" }, { ...OTH, id: "oth" }];
  using executor = createExecutor(TASK, { references: true, callLimit: 50 });
  const [target] = await executor.execute([
    call("func_tgt", { one: "$src.alpha", two: "$3.beta" }),
    src,
    oth,
  ]);
  assertEquals(target!.content, '{"omega":444}');
  assertEquals(callsOf(executor.events).map(({ failure, guessed }) => [failure, guessed]), [
    ...new Array(3).fill([undefined, undefined]),
  ]);
  assertEquals(callsOf(executor.events)[0]!.resolved, '{"one":111,"two":222}');

  // The same values, written down before they could be known.
  using guessing = createExecutor(TASK, { references: true });
  await guessing.execute([call("func_tgt", { one: 111, two: 222 }), src, oth]);
  assertEquals(callsOf(guessing.events).map(({ guessed }) => guessed), [
    true,
    undefined,
    undefined,
  ]);

  // With one reference the call runs last, and sees both.
  using half = createExecutor(TASK, { references: true });
  await half.execute([call("func_tgt", { one: "$src.alpha", two: 222 }), src, oth]);
  assertEquals(callsOf(half.events).map(({ guessed }) => guessed), new Array(3).fill(undefined));
});

Deno.test("an executor tells failures apart by what is meant", async () => {
  const wrongSource = { ...call("func_src", { given: 1 }), id: "src" };
  using executor = createExecutor(TASK, { references: true, callLimit: 50 });
  await executor.execute([
    call("func_tgt", { one: "$src.alpha", two: "$oth.beta" }),
    wrongSource,
    { ...OTH, id: "oth" },
    call("func_con", { con: "$oth.beta" }),
    call("func_con", { con: "$src.beta" }),
    call("func_con", { con: "$oth.beta", more: 1 }),
  ]);
  const failures = failuresOf(executor.events);
  assertEquals(failures.map(({ call, type, root }) => [call, type, root]), [
    [1, "incorrect_value", false],
    [2, "incorrect_value", true],
    [4, "incorrect_value", true],
    [5, "wrong_number_of_inputs", true],
    [6, "wrong_number_of_inputs", true],
  ]);
  const [first] = failures as unknown as [{ detail: { arguments: JsonObject[] } }];
  assertEquals(
    first.detail.arguments.map(({ parameter, origin, originCall }) => ({
      ...{ parameter, origin, originCall },
    })),
    [{ parameter: "one", origin: "wrong_return", originCall: 2 }],
  );
});
