// Simulated models that are asked to correct a call which does not fit its schema.

import { assert, assertEquals, assertGreater, assertLess, assertNotEquals } from "@std/assert";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { assertRate, makePrompt, makeTool, makeWorld } from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");
const TOOLS = [
  makeTool("func_a", "Processes variable e, variable f to produce variable a", ["e", "f"]),
  makeTool("func_b", "Processes variable a, variable e to produce variable b", ["a", "e"]),
  makeTool("func_x", "Processes variable e to produce variable x", ["e"]),
];
const PROMPT = makePrompt("b", new Map([["e", 731], ["f", 45]]));

/** What goes back with a call that does not fit. */
function fix(name: string, written: string, errors = "f is missing"): ChatMessage {
  const words = { name, arguments: written, errors, schema: '{"type":"object"}' };
  return { role: "user", content: fillPrompt(PROMPTS.repair.fix, words) };
}

function assistant(content: string, ...calls: [id: string, name: string, text: string][]) {
  const tool_calls = calls.map(([id, name, text]) => ({
    id,
    type: "function" as const,
    function: { name, arguments: text },
  }));
  return { role: "assistant" as const, content, ...(calls.length === 0 ? {} : { tool_calls }) };
}

/** What a model calls next. */
function callsOf(
  model: SimulatedModel,
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[] = TOOLS,
): [string, unknown][] {
  const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
  return (message.tool_calls ?? []).map(({ function: called }) => [
    called.name,
    JSON.parse(called.arguments),
  ]);
}

const QUESTION: ChatMessage = { role: "user", content: PROMPT };
const RIGHT: [string, unknown][] = [["func_a", { e: 731, f: 45 }]];

Deno.test("sim:planner makes the one call that it is asked to correct, rightly", () => {
  const wrong = fix("func_a", '{"e":731}');
  for (
    const [state, messages] of Object.entries({
      "first reply": [wrong],
      "told as text": [assistant('func_a({"e":731})'), wrong],
      "told as a call": [assistant("", ["1", "func_a", '{"e":731}']), wrong],
      "among other calls": [
        assistant("", ["1", "func_a", '{"e":731}'], ["2", "func_x", '{"e":731}']),
        wrong,
      ],
      "again": [wrong, assistant('{"e":1}'), fix("func_a", '{"e":1}')],
      "again, after a call": [
        wrong,
        assistant("", ["1", "func_a", "{}"]),
        { role: "tool", tool_call_id: "1", content: '{"error":"e, f are missing"}' },
        fix("func_a", "{}"),
      ],
      "malformed": [fix("func_a", '{"e":', "The arguments are no JSON:\n\nSchema: none")],
      "no arguments": [fix("func_a", "null")],
      "with the question's words in it": [fix("func_a", '{"e":"value of variable x"}')],
      "after a plan": [
        assistant("1. func_a"),
        { role: "user", content: PROMPTS.plan_then_call.call },
        wrong,
      ],
    } as Record<string, readonly ChatMessage[]>)
  ) assertEquals(callsOf(planner, [QUESTION, ...messages]), RIGHT, state);
});

Deno.test("sim:planner corrects a call that is not needed, or is too early, as well as it can", () => {
  assertEquals(callsOf(planner, [QUESTION, fix("func_x", "{}")]), [["func_x", { e: 731 }]]);
  // What is not known stays as it was written, or is anything that is known.
  assertEquals(
    callsOf(planner, [QUESTION, fix("func_b", '{"a":99,"e":"731"}')]),
    [["func_b", { a: 99, e: 731 }]],
  );
  assertEquals(
    callsOf(planner, [QUESTION, fix("func_b", "{}")]),
    [["func_b", { a: 731, e: 731 }]],
  );
  // Where there is none such, it is one call that is needed.
  const world = makeWorld({ core: 12, seed: 3 });
  const question: ChatMessage = { role: "user", content: world.prompt };
  const [first, ...others] = callsOf(planner, [question], world.tools);
  assertGreater(others.length, 0);
  assertEquals(callsOf(planner, [question, fix("func_nix", "{}")], world.tools), [first!]);
});

Deno.test("sim:planner goes on as before when the correction is made", () => {
  const messages = [
    QUESTION,
    fix("func_a", "{}"),
    assistant("", ["1", "func_a", '{"e":731,"f":45}']),
    { role: "tool", tool_call_id: "1", content: '{"a":55}' },
  ] as const;
  assertEquals(callsOf(planner, messages), [["func_b", { a: 55, e: 731 }]]);
  const { repair, target, inputs } = readConversation({ model: "m", messages });
  assertEquals([repair, target, inputs.size], [undefined, "b", 2]);
});

Deno.test("sim:planner finds a name for the result that is not taken", () => {
  const description =
    "Descriptive unique variable @name for the result of evaluating the function.";
  const [tool] = TOOLS as [ChatTool];
  const parameters = {
    ...tool.function.parameters,
    properties: { e: {}, f: {}, name: { type: "string", description } },
  };
  const tools = [{ ...tool, function: { ...tool.function, parameters } }];
  const question = makePrompt("a", new Map()).replace(
    "\n\n",
    "\n\nVariable e = @e\nVariable f = @f",
  );
  const ask = (...messages: ChatMessage[]) =>
    callsOf(planner, [{ role: "user", content: question }, ...messages], tools);
  const call = (name: string): [string, unknown][] => [["func_a", { e: "@e", f: "@f", name }]];
  assertEquals(ask(), call("@a"));
  assertEquals(ask(fix("func_a", '{"e":"@e","f":"@f"}', "name is missing")), call("@a"));
  assertEquals(
    ask(fix("func_a", '{"e":"@e","f":"@f","name":"@a"}', "the name is taken")),
    call("@a_2"),
  );
  assertEquals(ask(fix("func_a", "{}", "the names @a and @a_2 are taken")), call("@a_3"));
  assertEquals(
    ask(
      assistant("", ["1", "func_a", '{"name":"@a"}']),
      { role: "tool", tool_call_id: "1", content: '{"error":"no"}' },
      fix("func_a", '{"name":"@a_2"}', "e is missing"),
    ),
    call("@a_3"),
  );
});

/** Plays the strategy on the first call of each world that does not fit: the attempts that it took. */
function repairs(options: string, worlds: number, most: number): (number | undefined)[] {
  const model = parseSimulatedModel(`sim:noisy?${options}`);
  const taken: (number | undefined)[] = [];
  for (let seed = 0; seed < worlds; seed++) {
    const world = makeWorld({ core: 8, seed });
    const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
    const fits = ([name, given]: [string, unknown]) => {
      const { parameters } = world.functions.get(name)!;
      return Object.keys(given as object).length === parameters.size;
    };
    const wrong = callsOf(model, messages, world.tools).find((call) => !fits(call));
    if (wrong === undefined) continue;
    let call = wrong;
    for (let attempt = 1; attempt <= most && !fits(call); attempt++) {
      const written = JSON.stringify(call[1]);
      messages.push(assistant(`${call[0]}(${written})`), fix(call[0], written));
      const answers = callsOf(model, messages, world.tools);
      assertEquals(answers.map(([name]) => name), [wrong[0]], "one call of that function");
      call = answers[0]!;
      if (fits(call)) taken.push(attempt);
    }
    if (!fits(call)) taken.push(undefined);
  }
  return taken;
}

Deno.test("sim:noisy draws anew in each attempt to correct a call", () => {
  const always = repairs("arity=1&early=1&distract=1", 20, 5);
  assertEquals(always, Array(20).fill(undefined), "what always fails never gets better");
  const often = repairs("arity=.5", 1000, 1);
  assertRate(often.filter((attempts) => attempts === 1).length, often.length, 0.5);
  const seldom = repairs("arity=.3", 300, 3);
  const failed = seldom.filter((attempts) => attempts === undefined).length;
  assertGreater(seldom.length, 100);
  assertLess(failed / seldom.length, 0.1);
  assert(seldom.includes(2) && seldom.includes(1));
});

Deno.test("sim:noisy makes any of its mistakes when it corrects a call", () => {
  const seen = { quit: 0, invented: 0, right: 0, wrong: 0 };
  for (let seed = 0; seed < 200; seed++) {
    const options = `hallucinate=.2&stale=.2&copy=.2&quit=.2&early=1&distract=1&seed=${seed}`;
    const model = parseSimulatedModel(`sim:noisy?${options}`);
    const [call, ...others] = callsOf(model, [QUESTION, fix("func_a", "{}")]);
    assertEquals(others, []);
    if (call === undefined) seen.quit++;
    else if (call[0] !== "func_a") seen.invented++;
    else if (JSON.stringify(call) === JSON.stringify(RIGHT[0])) seen.right++;
    else seen.wrong++;
  }
  for (const [what, count] of Object.entries(seen)) assertGreater(count, 15, what);
});

Deno.test("sim:noisy corrects the function that it meant by a name it has invented", () => {
  const [[invented]] = callsOf(parseSimulatedModel("sim:noisy?hallucinate=1"), [
    QUESTION,
    fix("func_x", "{}"),
  ]) as [[string, unknown]];
  assertNotEquals(invented, "func_x");
  const messages = [QUESTION, fix(invented, "{}", "There is no such function")];
  assertEquals(callsOf(parseSimulatedModel("sim:noisy"), messages), [["func_x", { e: 731 }]]);
});
