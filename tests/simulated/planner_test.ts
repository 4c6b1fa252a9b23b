// sim:planner: the model that solves every task with the fewest calls, and ends where none is left.

import { assert, assertEquals, assertNotMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { Connections } from "../../lib/models/connect.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/wire.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import fc from "../support/fast_check.ts";
import { BIG_SPECS, specs } from "../support/generated.ts";
import { assertLinear } from "../support/growth.ts";
import { inProcess } from "../support/in_process.ts";
import {
  calling,
  execute,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  returning,
  talk,
  type World,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");

/** The example of FuncBenchGen, appendix B.2, with a distractor. */
const TOOLS = [
  makeTool(
    "func_ayj",
    "Processes variable riivq (type_beo with subtype_dej), variable unomo (type_uxe with " +
      "subtype_muw) to produce variable sjyav (type_wdc with subtype_uqq)",
    ["riivq", "unomo"],
  ),
  makeTool(
    "func_yep",
    "Processes variable mfmjsy (type_uxe with subtype_muw) to produce variable aargww (type_beo " +
      "with subtype_dej)",
    ["mfmjsy"],
  ),
  makeTool(
    "func_wug",
    "Processes variable goril (type_beo with subtype_dej) to produce variable tipor (type_beo " +
      "with subtype_xop)",
    ["goril"],
  ),
];
const PROMPT = makePrompt("sjyav", new Map([["mfmjsy", 731], ["unomo", -4]]));

/** A conversation in which `func_yep` was called once and `result` came back. */
function answered(result: string): ChatMessage[] {
  return [
    { role: "user", content: PROMPT },
    calling(["c1", "func_yep", '{"mfmjsy":731}']),
    returning("c1", result),
  ];
}

function callsOf(said: string | readonly ChatMessage[], tools: readonly ChatTool[] = TOOLS) {
  return replyTo(planner, said, tools).calls as unknown;
}

function assertSolved(world: World, text: string): void {
  assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
}

Deno.test("sim:planner plans the paper's example", () => {
  const { message, finish, text } = replyTo(planner, PROMPT, TOOLS);
  assertEquals(finish, "tool_calls");
  const call = { name: "func_yep", arguments: '{"mfmjsy":731}' };
  assertEquals(message.tool_calls, [{ id: "call_1_1", type: "function", function: call }]);
  assert(text.length > 10, "calls go with a sentence");
  assertEquals(callsOf(answered('{"aargww":55}')), [["func_ayj", { riivq: 55, unomo: -4 }]]);
});

Deno.test("simulated models estimate tokens as characters by four", () => {
  const body = { model: "m", messages: [{ role: "user", content: PROMPT }], tools: TOOLS } as const;
  const { usage, choices: [{ message }] } = planner.reply(body);
  const { name, arguments: given } = message.tool_calls![0]!.function;
  const written = message.content + name + given;
  const prompt = Math.ceil(JSON.stringify([body.messages, TOOLS]).length / 4);
  const completion = Math.ceil(written.length / 4);
  const total = prompt + completion;
  assertEquals(usage, {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
  });
});

for (const linking of ["types", "names"] as const) {
  Deno.test(`sim:planner solves random tasks linked by ${linking}`, () => {
    for (let seed = 0; seed < 50; seed++) {
      const core = 1 + seed % 25;
      const world = makeWorld({ core, connected: seed % 7, disconnected: seed % 4, linking, seed });
      for (const restate of [false, true]) {
        const { calls, steps, text } = talk(planner, world, { restate });
        assertSolved(world, text);
        assertEquals(calls.length, core, "no call too many");
        assertEquals(steps.length, world.depth + 1, "all that can be called is called in parallel");
      }
    }
  });
}

Deno.test("sim:planner solves every generated task with the fewest calls and no failure", async () => {
  await using connections = new Connections();
  const overHttp = connections.model({ model: "sim:planner" });
  const check = async (spec: Parameters<typeof runTrial>[0], model = inProcess("sim:planner")) => {
    const { outcome, grounded, calls, minimumCalls, failures } = await runTrial(spec, model);
    assertEquals([outcome, grounded, calls, failures], ["solved", true, minimumCalls, []]);
  };
  await fc.assert(fc.asyncProperty(specs(40), (spec) => check(spec)), { numRuns: 60 });
  for (const seed of [1, 2, 3]) {
    await check({ core: 10, depth: 6, connected: 5, disconnected: 5, seed }, overHttp);
  }
  await check(BIG_SPECS[1]!);
});

Deno.test("sim:planner copes with 1,200 functions", () => {
  for (const [shape, core] of [["path", 60], ["random", 350]] as const) {
    const world = makeWorld({ core, shape, connected: 1100 - core, disconnected: 100, seed: 1 });
    const { calls, text } = talk(planner, world);
    assertSolved(world, text);
    assertEquals(calls.length, core);
  }
  const deep = makeWorld({ core: 1200, shape: "path", seed: 2 });
  assertEquals(replyTo(planner, deep.prompt, deep.tools).calls.length, 1);
});

Deno.test("sim:planner calls one function a reply where it must", () => {
  const { prompt, tools } = makeWorld({ core: 12, seed: 3 });
  assert(replyTo(planner, prompt, tools).calls.length > 1);
  assertEquals(replyTo(planner, prompt, tools, { parallel_tool_calls: false }).calls.length, 1);
});

Deno.test("sim:planner says that a value cannot be determined", () => {
  const [ayj, yep] = TOOLS as [ChatTool, ChatTool];
  const circle = makeTool("func_lop", "Processes variable sjyav to produce variable sjyav", [
    "sjyav",
  ]);
  const hopeless: [state: string, tools: ChatTool[], prompt?: string, choice?: string][] = [
    ["no tools", []],
    ["no producer of the target", [yep]],
    ["no producer of a parameter", [ayj]],
    ["a missing input", TOOLS, makePrompt("sjyav", new Map())],
    ["a circle", [circle]],
    ["no target", TOOLS, "Hello."],
    ["calls forbidden", TOOLS, PROMPT, "none"],
  ];
  for (const [state, tools, prompt = PROMPT, tool_choice = "auto"] of hopeless) {
    const { calls, text, finish } = replyTo(planner, prompt, tools, { tool_choice });
    assertEquals([calls, finish], [[], "stop"], state);
    assert(text.startsWith("I cannot determine the value of "), state);
    assertNotMatch(text, /\d/, state);
  }
});

Deno.test("sim:planner retries a refused call twice, then gives up", () => {
  const world = makeWorld({ core: 5, shape: "path", seed: 4 });
  const second = [...world.functions.keys()][1]!;
  const { calls, text } = talk(planner, world, { broken: (name) => name === second });
  assertEquals(calls.map((call) => call.name).slice(1), [second, second, second]);
  assert(text.startsWith("I cannot determine"));
});

Deno.test("sim:planner reads results tolerantly", () => {
  const results = {
    func_ayj: [
      '{"aargww": 55}',
      '{"aargww": 55, "known": {"mfmjsy": 731}}',
      '{"aargww": 55}\n\nAll variables known so far:\nmfmjsy = 731\naargww = 55',
      "mfmjsy = 731\naargww = 55.",
      "mfmjsy: 731, aargww: 55",
      '{"aargww": 55...',
      '{"result": {"aargww": 55}}',
    ],
    // It calls again what said nothing of its value.
    func_yep: [
      "",
      "null",
      '{"error": "no"}',
      '{"error": "aargww = 55 is not allowed"}',
      '{"aargww": "x"}',
      '{"aargww": 5.5}',
      "xaargww = 55",
      "aargww = 5.5",
      "aargww = 55kg",
      "mfmjsy = 731",
      '{"__proto__": {"aargww": 1}, "error": null}',
    ],
  };
  const expected = { func_ayj: { riivq: 55, unomo: -4 }, func_yep: { mfmjsy: 731 } };
  for (const name of ["func_ayj", "func_yep"] as const) {
    for (const result of results[name]) {
      assertEquals(callsOf(answered(result)), [[name, expected[name]]], result);
    }
  }
});

Deno.test("sim:planner keeps what an earlier turn has found out", () => {
  const later: ChatMessage[] = [
    ...answered('{"aargww":55}'),
    { role: "assistant", content: "aargww = 55" },
    { role: "user", content: [{ text: "Now give me the value of variable tipor." }] },
  ];
  assertEquals(callsOf(later), [["func_wug", { goril: 55 }]]);
});

Deno.test("readConversation() takes time that is linear in hostile texts", () => {
  const hostile = [
    ...[["", "a"], ["", "a "], ["a", " "], ["a = ", "9"], ["", "variable "], ["variable a (", "b"]],
    ...[["", "value of "], ["Variable ", "a"], ["", "a=1"], ["", " to produce "], ["", "@"]],
    ...[["Variable a = @", "a"], ['a = "@', "a"]],
    ["has invalid arguments\n", "Tool: \nArguments: \nErrors: "],
  ] as const;
  const read = (text: string) => {
    const tools = [makeTool("func_yep", `Processes ${text} to produce variable aargww`, ["a"])];
    const messages = [{ role: "user", content: text } as const, ...answered(text)];
    return readConversation({ model: "sim:planner", messages, tools });
  };
  for (const [before, repeated] of hostile) assertLinear(read, before, repeated, 10_000);
});

Deno.test("sim:planner keeps names of Object.prototype apart", () => {
  const tools = [
    makeTool("toString", "Processes variable constructor to produce variable valueOf", [
      "constructor",
    ]),
    makeTool("func_a", "Processes variable valueOf to produce variable __proto__", ["valueOf"]),
  ];
  const prompt = makePrompt("__proto__", new Map([["constructor", 7]]));
  assertEquals(callsOf(prompt, tools), [["toString", { constructor: 7 }]]);
});

Deno.test("parseSimulatedModel() refuses what it does not know", () => {
  const table: [name: string, rule: string][] = [
    ["sim:oracle", "it must be sim:planner?reads=, sim:noisy?early="],
    ["", "sim:planner"],
    ["gpt-5", "sim:planner"],
    ["sim:planner?early=1", "the options of sim:planner are reads"],
    ["sim:planner?reads=minds", "reads must be one of descriptions, types, names, and occur once"],
    ["sim:planner?reads=types&reads=types", "occur once"],
    ["sim:noisy?reads=types", "the options of sim:noisy are"],
    [
      "sim:noisy?late=1",
      "early, stale, distract, hallucinate, arity, quit, copy, averse, ignore, resist, dots, brute, inject, giveup, invent, breakFormat, hopeless, memory, seed",
    ],
    ...["1.01", "-0.1", "", "0x1", "NaN"].map((rate): [string, string] => [
      `sim:noisy?early=${rate}`,
      "early must be a number from 0 to 1",
    ]),
    ["sim:noisy?early=0.1&early=0.2", "once"],
    ["sim:noisy?seed=1.5", "seed must be a whole number"],
    ...["0", "1.5", "", "1e999"].map((memory): [string, string] => [
      `sim:noisy?memory=${memory}`,
      "memory must be a whole number from 1 on",
    ]),
    ["sim:noisy?giveup=.5&invent=.6", "giveup and invent must be at most 1 together"],
    ["sim:noisy?__proto__=1", "the options of sim:noisy are"],
  ];
  for (const [name, rule] of table) {
    const error = assertThrows(() => parseSimulatedModel(name), InputError, rule);
    assert(!error.message.includes("\n"), "one line");
    assert(error.message.endsWith(`it is ${name}`), error.message);
  }
  assertThrows(() => parseSimulatedModel("sim:\u001b[31m\n"), InputError, "\\u001b[31m\\n");
  for (
    const name of [
      ...["sim:noisy", "sim:noisy?", "sim:planner", "sim:noisy?early=.5&memory=8&seed=-3"],
      ...["sim:noisy?giveup=.4&invent=.6", "sim:planner?reads=types"],
    ]
  ) {
    assertEquals(parseSimulatedModel(name).name, name);
  }
});

// Models that must call: they never end by themselves (Indirection, "Inflexible").

const named = (name: string) => ({ type: "function", function: { name } });

/** The calls of so many replies, each of which must call. */
function callsIn(model: SimulatedModel, world: World, choice: unknown, replies: number) {
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  return Array.from({ length: replies }, () => {
    const reply = replyTo(model, messages, world.tools, { tool_choice: choice });
    assertEquals(reply.finish, "tool_calls");
    assertNotMatch(reply.text, /=/, "no answer");
    messages.push(reply.message);
    return reply.message.tool_calls!.map(({ id, function: called }) => {
      const call = execute(world, called.name, called.arguments);
      const content = call.result === undefined
        ? '{"error":"This call is not possible"}'
        : JSON.stringify({ [call.function!.output]: call.result });
      messages.push(returning(id, content));
      return { id, ...call };
    });
  });
}

Deno.test("sim:planner that must call solves a task, and goes on with its last call", () => {
  for (let seed = 0; seed < 15; seed++) {
    const world = makeWorld({ core: 5, seed });
    const steps = callsIn(planner, world, "required", world.depth + 6);
    const calls = steps.slice(0, world.depth + 1).flat();
    assertEquals(new Set(calls.map(({ name }) => name)).size, 5, "it solves it first");
    const last = [calls.at(-1)!.name, world.values.get(world.target)];
    for (const step of steps.slice(world.depth + 1)) {
      assertEquals(step.map(({ name, result }) => [name, result]), [last]);
    }
    const ids = steps.flat().map(({ id }) => id);
    assertEquals(new Set(ids).size, ids.length);
  }
});

Deno.test("sim:planner that must call one function calls it and nothing else", () => {
  const world = makeWorld({ core: 6, shape: "path", connected: 1, seed: 1 });
  for (const { name, parameters } of world.functions.values()) {
    const known = new Map(world.inputs);
    for (const [call, ...others] of callsIn(planner, world, named(name), 4)) {
      assertEquals([call!.name, others], [name, []]);
      for (const [own, variable] of parameters) {
        // What is not known is anything that is.
        const given = call!.arguments.get(own)!;
        if (known.has(variable)) assertEquals(given, known.get(variable));
        else assert([...known.values()].includes(given));
      }
      known.set(call!.function!.output, call!.result!);
    }
  }
});

Deno.test("sim:planner that must call does so where nothing is known", () => {
  const tools = [
    makeTool("func_a", "Processes variable e to produce variable a", ["e"]),
    makeTool("func_b", "Processes variable a to produce variable b", ["a"]),
  ];
  const first = (prompt: string, tool_choice: unknown, own: readonly ChatTool[] = tools) =>
    replyTo(planner, prompt, own, { tool_choice }).calls as unknown;
  const none = new Map<string, number>();
  for (const prompt of ["Hello.", makePrompt("b", none), makePrompt("nix", none)]) {
    assertEquals(first(prompt, "required"), [["func_a", { e: 0 }]], prompt);
    assertEquals(first(prompt, named("func_b")), [["func_b", { a: 0 }]], prompt);
    for (const free of ["auto", "none", undefined, null, {}, named("func_c"), "func_b", 1]) {
      assertEquals(first(prompt, free), [], `${prompt} ${free}`);
    }
  }
  assertEquals(first("Hello.", "required", []), [], "there is nothing to call");
  const given = makePrompt("a", new Map([["a", 4]]));
  assertEquals(first(given, "required"), [["func_a", { e: 4 }]]);
  assertEquals(first(given, "auto"), []);
});

Deno.test("sim:noisy that must call never quits", () => {
  const world = makeWorld({ core: 4, connected: 2, seed: 2 });
  const rates = "quit=1&arity=.5&hallucinate=.3&stale=.5&early=.5&distract=.5&copy=.5&memory=2";
  const target = [...world.functions.values()].find(({ output }) => output === world.target)!;
  for (const choice of ["required", named(target.name)]) {
    const steps = callsIn(parseSimulatedModel(`sim:noisy?${rates}`), world, choice, 20);
    const isRight = (count: number) => choice === "required" ? count > 0 : count === 1;
    assert(steps.every(({ length }) => isRight(length)));
  }
});
