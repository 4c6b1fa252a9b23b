import { assert, assertEquals, assertNotMatch, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { type JsonObject, jsonText, type JsonValue } from "../../../lib/base/json.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import {
  Definition,
  type DefinitionParts,
  parseDefinition,
} from "../../../lib/toolkit/definitions/definition.ts";
import { defineFrom, type Said } from "../../../lib/toolkit/definitions/from_trace.ts";
import {
  definitionPrompt,
  definitionTool,
  getDefinitionPrompt,
  runDefinition,
} from "../../../lib/toolkit/definitions/run.ts";
import { indirect } from "../../../lib/toolkit/wrap_tools.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { ARITHMETIC, EVAL } from "../../support/arithmetic_tools.ts";
import { echoTool, MEAN, OPTIONS } from "../../support/definitions.ts";
import fc from "../../support/fast_check.ts";
import { HOSTILE, STEERING } from "../../support/records.ts";

/** A definition of one call whose output is what the tool returns. */
function echoing(type: JsonValue, inputs: JsonObject = {}): Definition {
  return parseDefinition({
    v: 1,
    kind: "definition",
    name: "echoing",
    inputs: Object.entries(inputs).map(([name, type]) => ({ name, type })),
    output: { name: "Out", type },
    calls: [{
      tool: "echo",
      arguments: Object.fromEntries(Object.keys(inputs).map((name) => [name, `@${name}`])),
      result: "Out",
    }],
  });
}

Deno.test("runDefinition() takes each input of its type, and nothing else", async () => {
  const values = {
    number: 1.5,
    integer: 3,
    string: "",
    boolean: false,
    object: {},
    array: [],
    null: null,
  };
  for (const type of Object.keys(values)) {
    for (const [of, value] of Object.entries<JsonValue>(values)) {
      const run = runDefinition(echoing("object", { X: type }), [echoTool()], { X: value });
      if (of === type || (type === "number" && of === "integer")) {
        assertEquals(await run, { X: value });
      } else {
        await assertRejects(
          () => run,
          InputError,
          `Cannot run echoing as it takes @X: ${type}: @X is`,
        );
      }
    }
  }
  const one = echoing("object", { X: "number" });
  for (
    const [inputs, words] of [
      [{}, "@X is missing"],
      [{ X: 1, Y: 2 }, "Y is not one of these"],
      [{ "@X": 1 }, "@X is not one of these"],
      [{ X: NaN }, "@X is null"],
      [{ X: undefined }, "@X is missing"],
      [[], "the inputs are no object"],
    ] as [JsonObject, string][]
  ) {
    const { message } = await assertRejects(() => runDefinition(one, [echoTool()], inputs), Error);
    assert(message.includes(words) || Number.isNaN(inputs["X"]), message);
  }
  await assertRejects(() => runDefinition(one, [EVAL], { X: 1 }), InputError, "echo is not");
  await assertRejects(
    () => runDefinition(echoing("object"), [], { X: 1 }),
    InputError,
    "nothing: X",
  );
});

Deno.test("runDefinition() tells which call failed, of which arguments, and why", async () => {
  const mean = defineFrom(MEAN, OPTIONS);
  const failing = (text: string): Tool => ({
    ...EVAL,
    execute: async (input) => input["expression"] === "11/2" ? text : await EVAL.execute(input),
  });
  const start = 'Cannot run mean as call 2, eval({"expression":"11/2"}), failed: ';
  for (
    const [tool, reason] of [
      [failing('{"error":"busy"}'), "busy"],
      [failing('{"error":{"code":7}}'), '{"code":7}'],

      [{
        ...EVAL,
        execute: (input: JsonObject) =>
          input["expression"] === "11/2" ? Promise.reject("it is down") : EVAL.execute(input),
      }, "it is down"],
    ] as [Tool, string][]
  ) {
    const error = await assertRejects(
      () => runDefinition(mean, [tool], { X: 3, Y: 8 }),
      Error,
    );
    assertEquals(error.message, start + reason);
  }
  const { message } = await assertRejects(
    () => runDefinition(mean, [failing(JSON.stringify({ error: HOSTILE }))], { X: 3, Y: 8 }),
    Error,
  );
  assertNotMatch(message, STEERING);
});

Deno.test("runDefinition() checks the output's type, and reads results as valueOfResult() or `read` does", async () => {
  for (
    const [text, type, value] of [
      ["3", "integer", 3],
      ["Paris", "string", "Paris"],
      ['"3"', "string", "3"],
      ['{"error":"no","a":1}', "object", { error: "no", a: 1 }],
      ["12345678901234567890", "integer", 12345678901234567890n],
      ["null", "null", null],
    ] as [string, string, JsonValue][]
  ) {
    assertEquals(await runDefinition(echoing(type), [echoTool(() => text)], {}), value);
    const other = type === "boolean" ? "array" : "boolean";
    await assertRejects(
      () => runDefinition(echoing(other), [echoTool(() => text)], {}),
      Error,
      `Cannot run echoing as its output @Out must be of type boolean: it is ${jsonText(value)}`,
    );
  }
  const read = (text: string, { name }: Tool) => `${name}: ${text}`;
  const own = runDefinition(echoing("string"), [echoTool(() => "3")], {}, { read });
  assertEquals(await own, "echo: 3");
});

Deno.test("runDefinition() gives tools what they may change", async () => {
  const changing = echoTool((input) => {
    const [list] = input["list"] as [JsonValue[]];
    list.push("changed");
    return JSON.stringify(list);
  });
  const call = { tool: "echo", arguments: { list: ["@X"] } };
  const definition = new Definition({
    name: "twice",
    inputs: [{ name: "X", type: "array" }],
    output: { name: "B", type: "array" },
    calls: [{ ...call, result: "A" }, { ...call, result: "B" }],
  });
  const inputs = { X: [1] };
  const expected = [1, "changed"];
  assertEquals(await runDefinition(definition, [changing], inputs), expected);
  assertEquals(await runDefinition(definition, [changing], inputs), expected);
  assertEquals(inputs, { X: [1] });
});

Deno.test("runDefinition() refuses to let texts grow beyond measure", async () => {
  const calls = Array.from({ length: 40 }, (_, index) => ({
    tool: "echo",
    arguments: { text: `@T${index}@ @T${index}` },
    result: `T${index + 1}`,
  }));
  const definition = new Definition({
    name: "grow",
    inputs: [{ name: "T0", type: "string" }],
    output: { name: "T40", type: "string" },
    calls,
  });
  const echo = echoTool((input) => String(input["text"]));
  const error = await assertRejects(
    () => runDefinition(definition, [echo], { T0: "text" }),
    Error,
    "longer than",
  );
  assert(error.message.length < 1_000);
});

Deno.test("definitionTool() makes a tool, which other definitions can call (Indirection, Adding a Level of Indirection)", async () => {
  const mean = definitionTool(defineFrom(MEAN, OPTIONS), [EVAL]);
  assertEquals({ ...mean, execute: undefined }, {
    name: "mean",
    description: "Gives Mean, of type number",
    parameters: {
      type: "object",
      properties: { X: { type: "number" }, Y: { type: "number" } },
      required: ["X", "Y"],
      additionalProperties: false,
    },
    execute: undefined,
  });
  assertEquals(await mean.execute({ X: 1, Y: 4 }), "2.5");
  await assertRejects(() => mean.execute({ X: 1 }), InputError, "@Y is missing");
  const outer = defineFrom([
    { tool: "mean", arguments: { X: "@P", Y: "@Q" }, result: "PQ" },
    { tool: "mean", arguments: { X: "@PQ", Y: 0 }, result: "Out" },
  ], {
    name: "outer",
    inputs: { P: "integer", Q: "integer" },
    output: { name: "Out", type: "number" },
  });
  assertEquals(await runDefinition(outer, [mean], { P: 10, Q: 20 }), 7.5);
  const text = definitionTool(echoing("string"), [echoTool(() => '"3"')]);
  assertEquals(await text.execute({}), '"3"');
});

/** A step of a program: a tool, and what it works on: an input, an earlier result or a number. */
interface Line {
  readonly tool: "add" | "subtract" | "multiply" | "divide" | "eval";
  readonly operands: readonly [Operand, Operand];
}
type Operand = { readonly literal: number } | { readonly earlier: number };

const INPUTS = ["X", "Y", "Z"];

const operand: fc.Arbitrary<Operand> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.integer({ min: -9, max: 9 }).map((literal) => ({ literal: literal + 0 })),
  },
  { weight: 4, arbitrary: fc.nat().map((earlier) => ({ earlier })) },
);
const program = fc.array(
  fc.record({
    tool: fc.constantFrom("add", "subtract", "multiply", "divide", "divide", "eval"),
    operands: fc.tuple(operand, operand),
  }),
  { minLength: 1, maxLength: 12 },
);
const numbers = fc.tuple(...INPUTS.map(() => fc.integer({ min: -2, max: 2 }).map((n) => n + 0)));

/** What a line computes, worked out beside the tools; `undefined` where it fails. */
function directly(
  tool: Line["tool"],
  [left, right]: readonly (number | undefined)[],
): number | undefined {
  if (left === undefined || right === undefined) return undefined;
  const results = {
    add: left + right,
    subtract: left - right,
    multiply: left * right,
    divide: left / right,
    eval: (left + right) * 2,
  };
  const result = results[tool];
  return Number.isFinite(result) ? result : undefined;
}

Deno.test("definitions of random programs agree with direct evaluation, on new inputs (Indirection, Adding a Level of Indirection)", async () => {
  let ran = 0;
  let failed = 0;
  await fc.assertAll(
    fc.asyncProperty(program, numbers, fc.array(numbers, { minLength: 1, maxLength: 4 }), async (
      lines,
      first,
      others,
    ) => {
      // A model would do it once, with names; calls that fail leave no trace.
      const given = Object.fromEntries(INPUTS.map((name, index) => [name, first[index]!]));
      const session = indirect(ARITHMETIC, { given });
      const names = [...INPUTS];
      const kept: { line: Line; uses: string[]; result: string }[] = [];
      for (const [index, line] of lines.entries()) {
        const used = line.operands.map((one) =>
          "literal" in one ? undefined : names[one.earlier % names.length]!
        );
        const written = line.operands.map((one, place) =>
          "literal" in one ? one.literal : `@${used[place]}`
        );
        const [left, right] = written;
        const result = `R${index}`;
        const tool = session.tools.find(({ name }) => name === line.tool)!;
        const input: JsonObject = line.tool === "eval"
          ? { expression: `((${left})+(${right}))*2` }
          : { left: left!, right: right! };
        try {
          assertEquals(await tool.execute({ ...input, result: `@${result}` }), `@${result}`);
        } catch (error) {
          assertEquals((error as Error).message, "The result is not finite");
          continue;
        }
        kept.push({ line, uses: used.map((name) => name ?? ""), result });
        names.push(result);
      }
      if (kept.length === 0) return;
      const output = { name: kept.at(-1)!.result, type: "number" } as const;
      const inputs = Object.fromEntries(INPUTS.map((name) => [name, "number" as const]));
      const lifted = defineFrom(session.trace, { inputs, output });
      const definition = parseDefinition(JSON.stringify(lifted));
      assertEquals(definition, lifted);

      for (const values of [first, ...others]) {
        const known = new Map<string, number | undefined>(
          INPUTS.map((name, index) => [name, values[index]!]),
        );
        for (const { line, uses, result } of kept) {
          const operands = line.operands.map((one, place) =>
            "literal" in one ? one.literal : known.get(uses[place]!)
          );
          known.set(result, directly(line.tool, operands));
        }
        const expected = known.get(output.name);
        const fresh = Object.fromEntries(INPUTS.map((name, index) => [name, values[index]!]));
        if (expected === undefined) {
          failed++;
          await assertRejects(
            () => runDefinition(definition, ARITHMETIC, fresh),
            Error,
            "failed: The result is not finite",
          );
        } else {
          ran++;
          // JSON has no negative zero.
          assertEquals(await runDefinition(definition, ARITHMETIC, fresh), expected + 0);
        }
      }
    }),
    { numRuns: 300 },
  );
  assert(ran > 300 && failed > 30, `${ran} ran, ${failed} failed`);
});

Deno.test("a definition shares nothing with what it was made from", () => {
  const parts = structuredClone({ ...defineFrom(MEAN, OPTIONS) }) as DefinitionParts;
  const definition = new Definition(parts);
  const before = JSON.stringify(definition);
  parts.calls[0]!.arguments["expression"] = "1";
  definition.toJSON().calls[0]!.arguments["expression"] = "1";
  assertEquals(JSON.stringify(definition), before);
});

Deno.test("parseDefinition() reads what was written, and its text", () => {
  const mean = defineFrom(MEAN, { ...OPTIONS, description: "The mean" });
  const json = {
    v: 1,
    kind: "definition",
    name: "mean",
    description: "The mean",
    inputs: [{ name: "X", type: "number" }, { name: "Y", type: "number" }],
    output: { name: "Mean", type: "number" },
    calls: MEAN,
  };
  assertEquals(JSON.parse(JSON.stringify(mean)), json);
  assertEquals(parseDefinition(json), mean);
  assertEquals(parseDefinition(JSON.stringify(mean)), mean);
});

Deno.test("parseDefinition() refuses whatever is not right, in words", () => {
  const json = JSON.parse(JSON.stringify(defineFrom(MEAN, OPTIONS)));
  let deep: JsonValue = {};
  for (let depth = 0; depth < 10_000; depth++) deep = { deep };
  const [sum, half] = json.calls;
  const proto = (text: string) => JSON.parse(`{"__proto__":1,${text.slice(1)}`);
  for (
    const wrong of [
      null,
      undefined,
      [],
      "no JSON",
      "{}",
      { ...json, v: 2 },
      { ...json, more: 1 },
      proto(JSON.stringify(json)),
      { ...json, name: "a b" },
      { ...json, name: HOSTILE },
      { ...json, inputs: [...json.inputs, { name: "Z", type: "date" }] },
      { ...json, inputs: [...json.inputs, { name: "X", type: "number" }] },
      { ...json, inputs: [json.inputs[0], { name: "Y", type: "number", more: 1 }] },
      { ...json, output: { name: HOSTILE, type: "number" } },
      { ...json, calls: [] },
      { ...json, calls: [half] },
      { ...json, calls: [half, sum] },
      { ...json, calls: [sum, half, { ...half }] },
      { ...json, calls: [sum, { ...half, result: "@Mean" }] },
      { ...json, calls: [sum, { ...half, more: 1 }] },
      { ...json, calls: [sum, { ...half, arguments: [] }] },
      { ...json, calls: [sum, { ...half, arguments: deep }] },
      { ...json, calls: [{ ...sum, arguments: { n: NaN } }, half] },
      { ...json, calls: [{ ...sum, arguments: { e: `@${HOSTILE} @Mean` } }, half] },
    ]
  ) {
    const { message } = assertThrows(() => parseDefinition(wrong), InputError);
    assertNotMatch(message.replaceAll("\n", ""), STEERING);
    assert(message.startsWith("Cannot "), message);
  }
});

Deno.test("a definition keeps names of Object.prototype", async () => {
  const echo = echoTool();
  const hostile = '{"__proto__":"@__proto__","constructor":{"toString":"@constructor"}}';
  const definition = parseDefinition(
    `{"v":1,"kind":"definition","name":"__proto__","inputs":[{"name":"__proto__","type":"number"},` +
      `{"name":"constructor","type":"string"}],"output":{"name":"toString","type":"object"},` +
      `"calls":[{"tool":"echo","arguments":${hostile},"result":"toString"}]}`,
  );
  assertEquals(JSON.stringify(definition.calls[0]?.arguments), hostile);
  assertEquals(parseDefinition(JSON.stringify(definition)), definition);
  const inputs = JSON.parse('{"__proto__":1,"constructor":"c"}');
  const text = JSON.stringify(await runDefinition(definition, [echo], inputs));
  assertEquals(text, '{"__proto__":1,"constructor":{"toString":"c"}}');
  const tool = definitionTool(definition, [echo]);
  assertEquals(Object.keys(tool.parameters["properties"] as JsonObject), [
    "__proto__",
    "constructor",
  ]);
  await assertRejects(
    () => runDefinition(definition, [echo], {}),
    InputError,
    "__proto__ is missing",
  );
  const lifted = defineFrom([...definition.calls], {
    inputs: JSON.parse('{"__proto__":"number","constructor":"string"}'),
    output: { name: "toString", type: "object" },
  });
  assertEquals(lifted.inputs, definition.inputs);
});

// The messages of definitions, and what becomes of them: the article's definition, and prompts of MCP.

const [SUM, HALF] = MEAN as [typeof MEAN[number], typeof MEAN[number]];
const said = (role: Said["role"], content: string): Said => ({ role, content });

/** The article's definition, with its messages. */
const TRACE = [
  said("user", "What is the mean of `@X` and `@Y`?"),
  said("assistant", "To compute the mean, we first compute the sum of `@X` and `@Y`"),
  SUM,
  { tool: "eval", arguments: { expression: "@X*@Y" }, result: "Product" },
  said("assistant", "Then we divide the sum `@SumXY` by 2 to find the mean"),
  HALF,
  said("assistant", "The mean of `@X` and `@Y` is `@Mean`."),
];
const MEAN_SAID = defineFrom(TRACE, { ...OPTIONS, description: "Compute the mean." });

Deno.test("a definition keeps the messages between its calls (Indirection, Adding a Level of Indirection)", () => {
  assertEquals(MEAN_SAID.description, "Compute the mean.");
  assertEquals(
    MEAN_SAID.messages?.map(({ role, content }) => said(role, content)),
    TRACE.filter((step) => "role" in step),
  );
  assertEquals(MEAN_SAID.messages?.map(({ after }) => after), [0, 0, 1, 2]);
  const json = JSON.parse(JSON.stringify(MEAN_SAID));
  assertEquals(parseDefinition(json), MEAN_SAID);
});

Deno.test("runDefinition() and definitionTool() tell the messages with the values of names (Indirection, Adding a Level of Indirection)", async () => {
  for (const run of ["run", "tool"] as const) {
    const heard: string[] = [];
    const options = { said: ({ role, content }: Said) => heard.push(`${role}> ${content}`) };
    const given = { X: 10, Y: 20 };
    assertEquals(
      run === "run"
        ? await runDefinition(MEAN_SAID, [EVAL], given, options)
        : JSON.parse(await definitionTool(MEAN_SAID, [EVAL], options).execute(given)),
      15,
    );
    assertEquals(heard, [
      "user> What is the mean of `@X=10` and `@Y=20`?",
      "assistant> To compute the mean, we first compute the sum of `@X=10` and `@Y=20`",
      "assistant> Then we divide the sum `@SumXY=30` by 2 to find the mean",
      "assistant> The mean of `@X=10` and `@Y=20` is `@Mean=15`.",
    ]);
  }
});

Deno.test("a definition is a prompt of MCP without its calls (Indirection, Adding a Level of Indirection)", () => {
  // As the specification's prompts/list and prompts/get have them.
  assertEquals(definitionPrompt(MEAN_SAID), {
    name: "mean",
    description: "Compute the mean.",
    arguments: [
      { name: "X", description: "of type number, as JSON", required: true },
      { name: "Y", description: "of type number, as JSON", required: true },
    ],
  });
  const { description, messages } = getDefinitionPrompt(MEAN_SAID, { X: "10", Y: "20" });
  assertEquals(description, "Compute the mean.");
  assertEquals(messages.slice(0, 2), [
    { role: "user", content: { type: "text", text: "What is the mean of `10` and `20`?" } },
    {
      role: "assistant",
      content: {
        type: "text",
        text: "To compute the mean, we first compute the sum of `10` and `20`",
      },
    },
  ]);
  assertEquals(messages[3]!.content.text, "The mean of `10` and `20` is `@Mean`.");
  const wrong: [Record<string, string>, string][] = [
    [{ X: "10" }, "@Y is missing"],
    [{ X: "10", Y: "many" }, '@Y is "many"'],
    [{ X: "10", Y: "20", Z: "1" }, "Z is not one of these"],
  ];
  for (const [given, rule] of wrong) {
    assertThrows(() => getDefinitionPrompt(MEAN_SAID, given), InputError, rule);
  }
  const silent = defineFrom(MEAN, OPTIONS);
  for (const make of [definitionPrompt, (one: typeof silent) => getDefinitionPrompt(one, {})]) {
    assertThrows(() => make(silent), InputError, "a prompt has messages");
  }
  // Texts are no JSON.
  const name = parseDefinition({
    ...JSON.parse(JSON.stringify(MEAN_SAID)),
    inputs: [{ name: "X", type: "string" }, { name: "Y", type: "number" }],
  });
  const [first] = getDefinitionPrompt(name, { X: "12", Y: "1" }).messages;
  assertEquals(first!.content.text, "What is the mean of `12` and `1`?");
});

Deno.test("defineFrom() keeps what was said in a trial where it is asked to", async () => {
  const { events } = await runTrial(
    { case: "mental_arithmetic", seed: 0 },
    scripted("m", [
      {
        text: "I add.",
        calls: [{ name: "eval", arguments: { expression: "45 + 7", result: "@S" } }],
      },
      { text: "It is @S." },
    ]),
    { strategy: { strategy: "indirection" } },
  );
  const options = { inputs: {}, output: { name: "S", type: "number" } } as const;
  const question = said("user", "What is 45 + 7?");
  const kept = defineFrom([question, ...events], { ...options, messages: true });
  assertEquals(kept.messages, [
    { ...question, after: 0 },
    { ...said("assistant", "I add."), after: 0 },
    { ...said("assistant", "It is @S."), after: 1 },
  ]);
  assertEquals(defineFrom(events, options).messages, undefined);
});

Deno.test("parseDefinition() refuses messages that are out of order or too long", () => {
  const json = JSON.parse(JSON.stringify(MEAN_SAID));
  const [first, second, third, last] = json.messages;
  for (
    const wrong of [
      { ...json, messages: [last, first] },
      { ...json, messages: [{ ...last, after: 3 }] },
      { ...json, messages: [{ ...second, role: "system" }] },
      { ...json, messages: [{ ...third, content: "x".repeat(100_001) }] },
    ]
  ) assertThrows(() => parseDefinition(wrong), InputError);
});
