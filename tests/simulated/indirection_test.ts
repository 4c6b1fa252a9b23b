// Simulated models where names stand for values: they give and pass on names, and answer with one.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import type { ChatMessage, ChatTool } from "../../lib/simulated/wire.ts";
import { generateTask, type Task } from "../../lib/tasks/generated/task.ts";
import { calling, makePrompt, makeTool, replyTo, returning } from "../support/simulated_world.ts";
import { assertPerfect, attempt, type Work } from "../support/strategy_runs.ts";

function tasks(count: number, connected = 2): Task[] {
  return Array.from({ length: count }, (_, seed) => {
    const core = 1 + seed % 10;
    const linking = seed % 2 === 0 ? "types" : "names";
    const depth = Math.min(core - 1, 1 + seed % 4);
    return generateTask({ core, depth, connected, disconnected: 1, linking, seed });
  });
}

/** The arguments of each call as they were written, and the parameter that names the result. */
function writtenIn({ calls }: Work): { name: string; given: JsonObject; result: unknown }[] {
  return calls.map(({ function: name, arguments: written }) => {
    const { result, ...given } = JSON.parse(written);
    return { name, given, result };
  });
}

Deno.test("sim:planner solves every task in names, each call with a name of its own", async () => {
  for (const strategy of ["indirection", "indirection+restate"]) {
    for (const task of tasks(20)) {
      // It never sees a value: only by its name can it give the right one.
      const done = await attempt(task, { strategy });
      assertPerfect(task, done);
      for (const { name, given, result } of writtenIn(done)) {
        const { output, parameters } = task.functions.find((one) => one.name === name)!;
        const names = parameters.map(({ name, variable }) => [name, `@${variable}`]);
        assertEquals([given, result], [Object.fromEntries(names), `@${output.name}`]);
      }
    }
  }
});

const NAME = {
  type: "string",
  description: "Descriptive unique variable @name for the result of evaluating the function.",
};

/** A function of `a` that takes names, and a name for its result. */
function symbolic(name: string): ChatTool {
  const { type, function: made } = makeTool(name, "Processes variable a to produce variable b", [
    "a",
  ]);
  const a = { anyOf: [{ type: "integer" }, { type: "string", pattern: "^@\\w+$" }] };
  const parameters = { type: "object", properties: { a, result: NAME }, required: ["a", "result"] };
  return { type, function: { ...made, parameters } };
}

const QUESTION = fillPrompt(PROMPTS.indirection.use, {
  question: makePrompt("b", new Map([["a", 731]])).replace("= 731", "= @a"),
  parameters: "the parameter result",
});
const CALLED: ChatMessage[] = [
  { role: "user", content: QUESTION },
  calling(["1", "func_a", '{"a":"@a","result":"@first"}']),
];

Deno.test("simulated models give a refused call another name, and two calls of a reply two names", () => {
  const tools = [symbolic("func_a")];
  const messages: ChatMessage[] = [{ role: "user", content: QUESTION }];
  const planner = parseSimulatedModel("sim:planner");
  for (const name of ["@b", "@b_2", "@b_3"]) {
    const { message, calls } = replyTo(planner, messages, tools);
    assertEquals(calls as unknown, [["func_a", { a: "@a", result: name }]]);
    const refusal = `{"error":"The call of ${name} is not possible"}`;
    const result = name === "@b_3" ? name : refusal;
    messages.push(message, returning(message.tool_calls![0]!.id, result));
  }
  assertEquals(replyTo(planner, messages, tools).text, "b = @b_3");

  const distracted = parseSimulatedModel("sim:noisy?distract=1");
  const { calls } = replyTo(distracted, QUESTION, [symbolic("func_a"), symbolic("func_b")]);
  assertEquals(calls.map(([, { result }]) => result), ["@b", "@b_2"]);
});

Deno.test("readConversation() reads names where values are hidden", () => {
  const ask = (result: string) =>
    readConversation({
      model: "sim:planner",
      messages: [...CALLED, returning("1", result)],
      tools: [symbolic("func_a")],
    });
  const { target, inputs, functions, symbols } = ask("@first");
  assertEquals([target, [...inputs]], ["b", [["a", "@a"]]]);
  const { parameters, result } = functions.get("func_a")!;
  assertEquals([parameters.map(({ name }) => name), result], [["a"], "result"]);
  assert(["@a", "@first"].every((name) => symbols.has(name)));
  const table: [text: string, value: unknown, restated: Record<string, string>][] = [
    ["@first", "@first", {}],
    [" @first \n", "@first", {}],
    ['"@first"', "@first", {}],
    ['@first\n{"known_variables":{"a":"@a","b":"@first"}}', "@first", { a: "@a", b: "@first" }],
    ['{"error":"taken"}', undefined, {}],
    ['{"error":"taken","known_variables":{"a":"@a"}}', undefined, { a: "@a" }],
    ['{"b":55}', 55, {}],
    ["The name is @first", undefined, {}],
    ["", undefined, {}],
  ];
  for (const [text, value, restated] of table) {
    const { calls: [call], restated: read } = ask(text);
    assertEquals(
      [call!.values.get("b"), Object.fromEntries(read)] as unknown[],
      [value, restated],
      text,
    );
  }
});

Deno.test("sim:noisy confuses names as it confuses values, and believes what it gets", async () => {
  const table: [options: string, strategy: string, least: number, most: number][] = [
    ["stale=1", "indirection", 0, 0.2],
    ["memory=2", "indirection", 0, 0.5],
    ["memory=2", "indirection+restate", 1, 1],
    ["hallucinate=.1&arity=.1", "indirection", 0.7, 1],
    ["distract=1", "indirection", 1, 1],
    ["early=1", "indirection", 0, 0.5],
    // A name has no digits.
    ["copy=1", "indirection", 1, 1],
  ];
  const deep = tasks(60, 4).filter(({ spec }) => spec.depth >= 3);
  assert(deep.length > 20);
  for (const [options, strategy, least, most] of table) {
    const model = `sim:noisy?${options}`;
    let solved = 0;
    for (const task of deep) {
      const done = await attempt(task, { model, strategy });
      for (const { given, result } of writtenIn(done)) {
        const isNamed = options.includes("arity") && result === undefined;
        const names = [...Object.values(given), ...(isNamed ? [] : [result])];
        assert(names.every((name) => /^@\w+$/.test(`${name}`)), `${names}`);
      }
      if (done.judgement?.outcome === "solved") solved++;
    }
    const rate = solved / deep.length;
    assert(rate >= least && rate <= most, `${options}: ${solved} of ${deep.length}`);
  }
});

Deno.test("sim:noisy?arity= leaves out the name of the result too", async () => {
  const some = await Promise.all(
    tasks(20).map((task) =>
      attempt(task, { model: "sim:noisy?arity=.5", strategy: "indirection" })
    ),
  );
  const unnamed = some.flatMap(writtenIn).filter(({ result }) => result === undefined);
  assert(unnamed.length > 10, `${unnamed.length}`);
});

Deno.test("sim:planner answers in values where it is given values", () => {
  const tools = [makeTool("func_a", "Processes variable a to produce variable b", ["a"])];
  const prompt = makePrompt("b", new Map([["a", 731]]));
  const { message } = replyTo(parseSimulatedModel("sim:planner"), prompt, tools);
  assertMatch(message.tool_calls![0]!.function.arguments as string, /\d/);
  assertNotMatch(JSON.stringify(message), /@/);
});
