// Simulated models where names stand for values: they give and pass on names, and answer with one.

import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import {
  execute,
  makePrompt,
  makeTool,
  makeWorld,
  type World,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");
const NAME = {
  type: "string",
  description: "Descriptive unique variable @name for the result of evaluating the function.",
};
const DEREFERENCE: ChatTool = {
  type: "function",
  function: {
    name: "dereference",
    description: "Gives the value behind a name.",
    parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};

/** A question whose values are hidden behind names. */
function hide(prompt: string, parameter = "result"): string {
  const question = prompt.replaceAll(/^Variable (\w+) = .*$/gm, "Variable $1 = @$1");
  const parameters = `the parameter ${parameter}`;
  return fillPrompt(PROMPTS.indirection.use, { question, parameters });
}

/** A function that takes names, and a name for its result. */
function symbolic({ type, function: made }: ChatTool, parameter = "result"): ChatTool {
  const { properties, required, ...others } = made.parameters as {
    properties: JsonObject;
    required: string[];
  };
  const integerOrName = { anyOf: [{ type: "integer" }, { type: "string", pattern: "^@\\w+$" }] };
  const parameters = {
    ...others,
    properties: {
      ...Object.fromEntries(Object.keys(properties).map((own) => [own, integerOrName])),
      [parameter]: NAME,
    },
    required: [...required, parameter],
  };
  return { type, function: { ...made, parameters } };
}

interface Options {
  readonly restate?: boolean;
  readonly parameter?: string;
  /** Refuses the n-th call, from 1. */
  readonly refused?: (count: number) => boolean;
}

/** Plays the strategy, with an environment of names, until the model answers. */
function talkInNames(model: SimulatedModel, world: World, options: Options = {}) {
  const { parameter = "result", refused = () => false } = options;
  const environment = new Map(Array.from(world.inputs, ([name, value]) => [`@${name}`, value]));
  const known = new Map(Array.from(world.inputs.keys(), (name) => [name, `@${name}`]));
  const messages: ChatMessage[] = [{ role: "user", content: hide(world.prompt, parameter) }];
  const tools = [...world.tools.map((tool) => symbolic(tool, parameter)), DEREFERENCE];
  const calls: { name: string; given: Map<string, unknown> }[] = [];
  for (let left = 4 * world.functions.size + 4; left > 0; left--) {
    const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
    messages.push(message);
    if (message.tool_calls === undefined) return { text: message.content, calls, environment };
    // Names of the same reply are not bound yet.
    const bound = new Map(environment);
    const results = message.tool_calls.map(({ id, function: { name, arguments: written } }) => {
      const given = new Map<string, unknown>(Object.entries(JSON.parse(written)));
      calls.push({ name, given: new Map(given) });
      const result = given.get(parameter);
      given.delete(parameter);
      const resolved = Array.from(given, ([own, value]) => [own, bound.get(`${value}`) ?? value]);
      assert(resolved.every(([, value]) => typeof value === "number"), `${written} is bound`);
      const made = execute(world, name, JSON.stringify(Object.fromEntries(resolved)));
      const fits = typeof result === "string" && !environment.has(result);
      if (refused(calls.length) || !fits || made.result === undefined) {
        return { id, text: JSON.stringify({ error: `The call of ${result} is not possible` }) };
      }
      environment.set(result, made.result);
      known.set(made.function!.output, result);
      return { id, text: result };
    });
    for (const { id, text } of results) {
      const list = JSON.stringify({ known_variables: Object.fromEntries(known) });
      const content = options.restate ? `${text}\n${list}` : text;
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
  throw new Error("The conversation did not come to an end");
}

/** Tasks of many shapes. */
function* worlds(count: number, connected = 2): Generator<World> {
  for (let seed = 0; seed < count; seed++) {
    const linking = seed % 2 === 0 ? "types" : "names";
    yield makeWorld({ core: 1 + seed % 12, connected, disconnected: 1, linking, seed });
  }
}

Deno.test("sim:planner solves every task in names, each call with a name of its own", () => {
  for (const restate of [false, true]) {
    for (const parameter of ["result", "result_name"]) {
      for (const world of worlds(60)) {
        const { text, calls, environment } = talkInNames(planner, world, { restate, parameter });
        assertEquals(text, `${world.target} = @${world.target}`);
        assertEquals(environment.get(`@${world.target}`), world.values.get(world.target));
        assertEquals(calls.length, [...world.functions.values()].filter(isCore).length);
        for (const { name, given } of calls) {
          const { output, parameters } = world.functions.get(name)!;
          const expected = Array.from(parameters, ([own, variable]) => [own, `@${variable}`]);
          assertEquals([...given], [...expected, [parameter, `@${output}`]]);
        }
      }
    }
  }
});

function isCore({ role }: { role: string }): boolean {
  return role === "core";
}

Deno.test("sim:planner gives a refused call another name", () => {
  const world = makeWorld({ core: 3, shape: "path", seed: 1 });
  const { text, calls } = talkInNames(planner, world, { refused: (count) => count <= 2 });
  const [first] = calls;
  const { output } = world.functions.get(first!.name)!;
  assertEquals(calls.slice(0, 3).map(({ given }) => given.get("result")), [
    `@${output}`,
    `@${output}_2`,
    `@${output}_3`,
  ]);
  assertEquals(calls[3]!.given.values().toArray()[0], `@${output}_3`, "the name it was given");
  assertEquals(text, `${world.target} = @${world.target}`);
});

Deno.test("readConversation() reads names where values are hidden", () => {
  const tools = [symbolic(makeTool("func_a", "Processes variable a to produce variable b", ["a"]))];
  const ask = (result: string) =>
    readConversation({
      model: "sim:planner",
      messages: [
        { role: "user", content: hide(makePrompt("b", new Map([["a", 731]]))) },
        {
          role: "assistant",
          content: "",
          tool_calls: [{
            id: "1",
            type: "function",
            function: { name: "func_a", arguments: '{"a":"@a","result":"@first"}' },
          }],
        },
        { role: "tool", tool_call_id: "1", content: result },
      ],
      tools,
    });
  const { target, inputs, functions, symbols } = ask("@first");
  assertEquals([target, [...inputs]], ["b", [["a", "@a"]]]);
  const { parameters, result } = functions.get("func_a")!;
  assertEquals([parameters.map(({ name }) => name), result], [["a"], "result"]);
  assert(["@a", "@first"].every((name) => symbols.has(name)));

  const read = (result: string): [unknown, unknown] => {
    const { calls: [call], restated } = ask(result);
    return [call!.value, Object.fromEntries(restated)];
  };
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
  for (const [text, value, restated] of table) assertEquals(read(text), [value, restated], text);
});

Deno.test("sim:noisy confuses names as it confuses values, and believes what it gets", () => {
  const table: [options: string, restate: boolean, least: number, most: number][] = [
    ["stale=1", false, 0, 0.2],
    ["memory=2", false, 0, 0.5],
    ["memory=2", true, 1, 1],
    ["hallucinate=.1&arity=.1", false, 0.7, 1],
    ["distract=1", false, 1, 1],
    ["early=1", false, 0, 0.5],
    // A name has no digits.
    ["copy=1", false, 1, 1],
  ];
  for (const [options, restate, least, most] of table) {
    const model = parseSimulatedModel(`sim:noisy?${options}`);
    let solved = 0;
    let count = 0;
    for (const world of worlds(60, 4)) {
      if (world.depth < 3) continue;
      const { text, environment, calls } = talkInNames(model, world, { restate });
      const names = calls.flatMap(({ given }) => [...given.values()]);
      assert(names.every((name) => /^@\w+$/.test(`${name}`)), `${names}`);
      const answer = /= (@\w+)$/.exec(text)?.[1];
      count++;
      if (environment.get(answer ?? "") === world.values.get(world.target)) solved++;
    }
    assert(count > 20);
    assert(solved / count >= least && solved / count <= most, `${options}: ${solved} of ${count}`);
  }
});

Deno.test("sim:noisy?arity= leaves out the name of the result too", () => {
  const model = parseSimulatedModel("sim:noisy?arity=.5");
  let unnamed = 0;
  for (const world of worlds(60)) {
    const { calls } = talkInNames(model, world);
    unnamed += calls.filter(({ given }) => !given.has("result")).length;
  }
  assert(unnamed > 20, `${unnamed}`);
});

Deno.test("sim:noisy names two results of one reply differently", () => {
  const one = "Processes variable a to produce variable b";
  const tools = ["func_a", "func_b"].map((name) => symbolic(makeTool(name, one, ["a"])));
  const content = hide(makePrompt("b", new Map([["a", 1]])));
  const model = parseSimulatedModel("sim:noisy?distract=1");
  const { message } = model.reply({
    model: model.name,
    messages: [{ role: "user", content }],
    tools,
  }).choices[0];
  assertEquals(
    message.tool_calls!.map(({ function: called }) => JSON.parse(called.arguments).result),
    ["@b", "@b_2"],
  );
});

Deno.test("sim:planner answers in values where it is given values", () => {
  const world = makeWorld({ core: 4, seed: 1 });
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  const { message } =
    planner.reply({ model: planner.name, messages, tools: world.tools }).choices[0];
  assertMatch(message.tool_calls![0]!.function.arguments, /\d/);
  assertNotMatch(JSON.stringify(message), /@/);
});
