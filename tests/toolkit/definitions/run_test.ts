import { assert, assertEquals, assertNotMatch, assertRejects, assertThrows } from "@std/assert";
import { Definition, parseDefinition } from "../../../lib/toolkit/definitions/definition.ts";
import {
  DefinitionError,
  definitionTool,
  runDefinition,
} from "../../../lib/toolkit/definitions/run.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { defineFrom } from "../../../lib/toolkit/definitions/from_trace.ts";
import { generateTask } from "../../../lib/tasks/generated/task.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { indirect } from "../../../lib/toolkit/wrap_tools.ts";
import { ARITHMETIC, calculate, EVAL } from "../../support/arithmetic_tools.ts";
import { echoTool, MEAN, OPTIONS } from "../../support/definitions.ts";
import fc from "../../support/fast_check.ts";
import { coreInOrder } from "../../support/generated.ts";
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
      [{ ...EVAL, execute: (input: JsonObject) => calculateOrThrow(input) }, "it is down"],
      [{
        ...EVAL,
        execute: (input: JsonObject) =>
          input["expression"] === "11/2" ? Promise.reject("it is down") : EVAL.execute(input),
      }, "it is down"],
    ] as [Tool, string][]
  ) {
    const error = await assertRejects(
      () => runDefinition(mean, [tool], { X: 3, Y: 8 }),
      DefinitionError,
    );
    assertEquals(error.message, start + reason);
    assertEquals([error.call, error.name], [2, "DefinitionError"]);
  }
  const { message } = await assertRejects(
    () => runDefinition(mean, [failing(JSON.stringify({ error: HOSTILE }))], { X: 3, Y: 8 }),
    DefinitionError,
  );
  assertNotMatch(message, STEERING);
});

async function calculateOrThrow(input: JsonObject): Promise<string> {
  if (input["expression"] === "11/2") throw new Error("it is down");
  return await EVAL.execute(input);
}

Deno.test("runDefinition() checks the output's type, and reads results as valueOfResult() does", async () => {
  for (
    const [text, type, value] of [
      ["3", "integer", 3],
      ["Paris", "string", "Paris"],
      ['"3"', "string", "3"],
      ['{"error":"no","a":1}', "object", { error: "no", a: 1 }],
      ["12345678901234567890", "string", "12345678901234567890"],
      ["null", "null", null],
    ] as [string, string, JsonValue][]
  ) {
    assertEquals(await runDefinition(echoing(type), [echoTool(() => text)], {}), value);
    const other = type === "boolean" ? "array" : "boolean";
    const error = await assertRejects(
      () => runDefinition(echoing(other), [echoTool(() => text)], {}),
      DefinitionError,
      `Cannot run echoing as its output @Out must be of type boolean: it is ${
        JSON.stringify(value)
      }`,
    );
    assertEquals(error.call, undefined);
  }
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
    DefinitionError,
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

Deno.test("a generated task, done with names, becomes a definition that does it again (Indirection, Adding a Level of Indirection)", async () => {
  const task = generateTask({ core: 8, depth: 4, connected: 2, disconnected: 2, seed: 5 });
  const read = (text: string) => Object.values(JSON.parse(text))[0] as JsonValue;
  using executor = createExecutor(task);
  const given = Object.fromEntries(task.inputs);
  const { tools, trace, resolve } = indirect(executor.tools, { given, read });
  const order = coreInOrder(task);
  for (const { name, parameters, output } of order) {
    const written = Object.fromEntries(
      parameters.map((parameter) => [parameter.name, `@${parameter.variable}`]),
    );
    const tool = tools.find((tool) => tool.name === name)!;
    assertEquals(await tool.execute({ ...written, result: `@${output.name}` }), `@${output.name}`);
  }
  assertEquals(resolve(`@${task.target.variable}`), String(task.target.value));
  assertEquals(executor.answer(resolve(`@${task.target.variable}`)).outcome, "solved");
  const definition = defineFrom(trace, {
    name: "solve",
    inputs: Object.fromEntries(Object.keys(given).map((name) => [name, "integer"])),
    output: { name: task.target.variable, type: "integer" },
  });
  assertEquals(definition.calls.length, task.minimumCalls);
  using again = createExecutor(task);
  const value = await runDefinition(definition, again.tools, given, { read });
  assertEquals(value, task.target.value);
  // A generated task's functions know one input only: on others they are wrong.
  using other = createExecutor(task);
  const changed = Object.fromEntries(Object.keys(given).map((name) => [name, 1]));
  const wrong = await runDefinition(definition, other.tools, changed, { read });
  assert(wrong !== task.target.value);
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
  await fc.assert(
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
      const all = defineFrom(session.trace, { inputs, output, calls: "all" });
      assertEquals(all.calls.length, kept.length);

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
            DefinitionError,
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

Deno.test("the calculator of these tests calculates", () => {
  for (
    const [expression, value] of [
      ["1+2*3", 7],
      ["(1+2)*3", 9],
      ["8/4/2", 1],
      ["2-3-4", -5],
      ["((-3)+(-0.5))*2", -7],
      ["1e-7+1.5e+21", 1.5e21],
      ["--2", 2],
    ] as const
  ) assertEquals(calculate(expression), value);
  for (const expression of ["", "1+", "(1", "1 2", "x", "1)"]) {
    assertThrows(() => calculate(expression), Error, "Cannot read");
  }
  assertEquals(calculate("1/(2-2)"), Infinity);
});
