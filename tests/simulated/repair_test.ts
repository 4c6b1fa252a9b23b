// Simulated models that are asked to correct a call which does not fit its schema.

import { assert, assertEquals, assertGreater, assertLess, assertNotEquals } from "@std/assert";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/wire.ts";
import {
  assertRate,
  calling,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  returning,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");
const TOOLS = [
  makeTool("func_a", "Processes variable e, variable f to produce variable a", ["e", "f"]),
  makeTool("func_b", "Processes variable a, variable e to produce variable b", ["a", "e"]),
  makeTool("func_x", "Processes variable e to produce variable x", ["e"]),
];
const QUESTION = user(makePrompt("b", new Map([["e", 731], ["f", 45]])));

function user(content: string): ChatMessage {
  return { role: "user", content };
}

function saying(content: string): ChatMessage {
  return { role: "assistant", content };
}

/** What goes back with a call that does not fit. */
function fix(name: string, written: string, errors = "f is missing"): ChatMessage {
  const words = { name, arguments: written, errors, schema: '{"type":"object"}' };
  return user(fillPrompt(PROMPTS.repair.fix, words));
}

/** What a model calls next. */
function callsOf(
  model: SimulatedModel,
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[] = TOOLS,
): [string, Record<string, unknown>][] {
  return replyTo(model, messages, tools).calls.map(([name, given]) => [name, given]);
}

/** What the planner calls next in answer to the question. */
function corrects(...messages: readonly ChatMessage[]): unknown {
  return callsOf(planner, [QUESTION, ...messages]);
}

const RIGHT = ["func_a", { e: 731, f: 45 }];

Deno.test("sim:planner makes the one call that it is asked to correct, rightly", () => {
  const wrong = fix("func_a", '{"e":731}');
  const states: Record<string, ChatMessage[]> = {
    "first reply": [wrong],
    "told as text": [saying('func_a({"e":731})'), wrong],
    "told as a call": [calling(["1", "func_a", '{"e":731}']), wrong],
    "among other calls": [
      calling(["1", "func_a", '{"e":731}'], ["2", "func_x", '{"e":731}']),
      wrong,
    ],
    "again": [wrong, saying('{"e":1}'), fix("func_a", '{"e":1}')],
    "again, after a call": [
      wrong,
      calling(["1", "func_a"]),
      returning("1", '{"error":"e, f are missing"}'),
      fix("func_a", "{}"),
    ],
    "malformed": [fix("func_a", '{"e":', "The arguments are no JSON:\n\nSchema: none")],
    "no arguments": [fix("func_a", "null")],
    "with the question's words in it": [fix("func_a", '{"e":"value of variable x"}')],
    "after a plan": [saying("1. func_a"), user(PROMPTS.plan_then_call.call), wrong],
  };
  for (const [state, messages] of Object.entries(states)) {
    assertEquals(corrects(...messages), [RIGHT], state);
  }
});

Deno.test("sim:planner corrects a call that is not needed, or is too early, as well as it can", () => {
  assertEquals(corrects(fix("func_x", "{}")), [["func_x", { e: 731 }]]);
  // What is not known stays as it was written, or is anything that is known.
  const kept = [["func_b", { a: 99, e: 731 }]];
  assertEquals(corrects(fix("func_b", '{"a":99,"e":"731"}')), kept);
  assertEquals(corrects(fix("func_b", "{}")), [["func_b", { a: 731, e: 731 }]]);
  // Where there is none such, it is one call that is needed.
  const { prompt, tools } = makeWorld({ core: 12, seed: 3 });
  const [first, ...others] = callsOf(planner, [user(prompt)], tools);
  assertGreater(others.length, 0);
  assertEquals(callsOf(planner, [user(prompt), fix("func_nix", "{}")], tools), [first!]);
});

Deno.test("sim:planner goes on as before when the correction is made", () => {
  const messages = [
    QUESTION,
    fix("func_a", "{}"),
    calling(["1", "func_a", '{"e":731,"f":45}']),
    returning("1", '{"a":55}'),
  ];
  assertEquals(callsOf(planner, messages), [["func_b", { a: 55, e: 731 }]]);
  const { repair, target, inputs } = readConversation({ model: "m", messages });
  assertEquals([repair, target, inputs.size], [undefined, "b", 2]);
});

Deno.test("sim:planner finds a name for the result that is not taken", () => {
  const description =
    "Descriptive unique variable @name for the result of evaluating the function.";
  const tool = makeTool("func_a", TOOLS[0]!.function.description!, ["e", "f"]);
  const parameters = {
    ...tool.function.parameters,
    properties: { e: {}, f: {}, name: { type: "string", description } },
  };
  const tools = [{ ...tool, function: { ...tool.function, parameters } }];
  const question = makePrompt("a", new Map())
    .replace("\n\n", "\n\nVariable e = @e\nVariable f = @f");
  const given = '{"e":"@e","f":"@f"}';
  const table: [name: string, ...messages: ChatMessage[]][] = [
    ["@a"],
    ["@a", fix("func_a", given, "name is missing")],
    ["@a_2", fix("func_a", given.replace("}", ',"name":"@a"}'), "the name is taken")],
    ["@a_3", fix("func_a", "{}", "the names @a and @a_2 are taken")],
    [
      "@a_3",
      calling(["1", "func_a", '{"name":"@a"}']),
      returning("1", '{"error":"no"}'),
      fix("func_a", '{"name":"@a_2"}', "e is missing"),
    ],
  ];
  for (const [name, ...messages] of table) {
    const calls: unknown = callsOf(planner, [user(question), ...messages], tools);
    assertEquals(calls, [["func_a", { e: "@e", f: "@f", name }]]);
  }
});

/** Plays the strategy on the first call of each world that does not fit: the attempts that it took. */
function repairs(options: string, worlds: number, most: number): (number | undefined)[] {
  const model = parseSimulatedModel(`sim:noisy?${options}`);
  return Array.from({ length: worlds }, (_, seed) => makeWorld({ core: 8, seed })).flatMap(
    ({ prompt, tools, functions }) => {
      const messages = [user(prompt)];
      const fits = ([name, given]: [string, object]) =>
        Object.keys(given).length === functions.get(name)!.parameters.size;
      let call = callsOf(model, messages, tools).find((one) => !fits(one));
      if (call === undefined) return [];
      for (let attempt = 1; attempt <= most; attempt++) {
        const written = JSON.stringify(call[1]);
        messages.push(saying(`${call[0]}(${written})`), fix(call[0], written));
        const answers = callsOf(model, messages, tools);
        assertEquals(answers.map(([name]) => name), [call[0]], "one call of that function");
        call = answers[0]!;
        if (fits(call)) return [attempt];
      }
      return [undefined];
    },
  );
}

Deno.test("sim:noisy draws anew in each attempt to correct a call", () => {
  const always = repairs("arity=1&early=1&distract=1", 20, 5);
  assertEquals(always, Array(20).fill(undefined), "what always fails never gets better");
  const often = repairs("arity=.5", 700, 1);
  assertRate(often.filter((attempts) => attempts === 1).length, often.length, 0.5);
  const seldom = repairs("arity=.3", 200, 3);
  const failed = seldom.filter((attempts) => attempts === undefined).length;
  assertGreater(seldom.length, 80);
  assertLess(failed / seldom.length, 0.1);
  assert(seldom.includes(2) && seldom.includes(1));
});

Deno.test("sim:noisy makes any of its mistakes when it corrects a call", () => {
  const seen = { quit: 0, invented: 0, right: 0, wrong: 0 };
  for (let seed = 0; seed < 200; seed++) {
    const options = `hallucinate=.2&stale=.2&copy=.2&quit=.2&early=1&distract=1&seed=${seed}`;
    const messages = [QUESTION, fix("func_a", "{}")];
    const [call, ...others] = callsOf(parseSimulatedModel(`sim:noisy?${options}`), messages);
    assertEquals(others, []);
    if (call === undefined) seen.quit++;
    else if (call[0] !== "func_a") seen.invented++;
    else seen[JSON.stringify(call) === JSON.stringify(RIGHT) ? "right" : "wrong"]++;
  }
  assertGreater(Math.min(...Object.values(seen)), 15, JSON.stringify(seen));
});

Deno.test("sim:noisy corrects the function that it meant by a name it has invented", () => {
  const [call] = callsOf(parseSimulatedModel("sim:noisy?hallucinate=1"), [
    QUESTION,
    fix("func_x", "{}"),
  ]);
  const [invented] = call!;
  assertNotEquals(invented, "func_x");
  const messages = [QUESTION, fix(invented, "{}", "There is no such function")];
  assertEquals(callsOf(parseSimulatedModel("sim:noisy"), messages), [["func_x", { e: 731 }]]);
});
