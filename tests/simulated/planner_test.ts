// sim:planner: the model that solves every task with the fewest calls, and ends where none is left.
// Runs without counters of lines.

import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotEquals,
  assertNotMatch,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/_wire.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
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
import { assertPerfect, attempt, type Work } from "../support/strategy_runs.ts";

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

Deno.test("sim:planner copes with 1,200 functions", () => {
  const world = makeWorld({ core: 20, shape: "path", connected: 1080, disconnected: 100, seed: 1 });
  const { calls, text } = talk(planner, world);
  assertSolved(world, text);
  assertEquals(calls.length, 20);
  const deep = makeWorld({ core: 1200, shape: "path", seed: 2 });
  assertEquals(replyTo(planner, deep.prompt, deep.tools).calls.length, 1);
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
      "early, stale, distract, hallucinate, arity, key, quit, copy, averse, ignore, resist, dots, brute, needless, inject, giveup, invent, breakFormat, hopeless, memory, seed",
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

/** The calls of this many replies, each of which must call. */
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
  for (let seed = 0; seed < 6; seed++) {
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

// Simulated models where names stand for values: they give and pass on names, and answer with one.

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
    for (const task of tasks(10)) {
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
  const a: JsonObject = { anyOf: [{ type: "integer" }, { type: "string", pattern: "^@\\w+$" }] };
  const parameters = { type: "object", properties: { a, result: NAME }, required: ["a", "result"] };
  return { type, function: { ...made, parameters } };
}

const QUESTION = fillPrompt(PROMPTS.indirection.use, {
  question: makePrompt("b", new Map([["a", 731]])).replace("= 731", "= @a"),
  parameters: "the parameter result",
});

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
  const deep = tasks(20, 4).filter(({ spec }) => spec.depth >= 3);
  assert(deep.length > 5);
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

// sim:noisy?memory=k: values that stand more than k messages back are misread, unless restated.

const VALUES = { given: 101, alpha: 202, beta: 303, gamma: 404 };
const LINKED_TOOLS = [["given", "alpha"], ["given", "beta"], ["beta", "gamma"], [
  "given",
  "alpha",
  "beta",
  "gamma",
  "omega",
]].map((names, place) => {
  const [inputs, output] = [names.slice(0, -1), names.at(-1)];
  const clauses = inputs.map((name) => `variable ${name}`).join(", ");
  return makeTool(
    `func_${"abcd"[place]}`,
    `Processes ${clauses} to produce variable ${output}`,
    inputs,
  );
});

/** A user message, two replies with their calls, and two results, then one. */
const MESSAGES: readonly ChatMessage[] = [
  { role: "user", content: makePrompt("omega", new Map([["given", 101]])) },
  calling(["a", "func_a"], ["b", "func_b"]),
  returning("a", '{"alpha":202}'),
  returning("b", '{"beta":303}'),
  calling(["c", "func_c"]),
  returning("c", '{"gamma":404}'),
];

/** The arguments of the next call, the target's; what is misread must be another's value. */
function nextArguments(options: string, messages = MESSAGES): Record<string, unknown> {
  const { calls } = replyTo(parseSimulatedModel(`sim:noisy?${options}`), messages, LINKED_TOOLS);
  const [[name, given], ...others] = calls as [typeof calls[number]];
  assertEquals([name, others.length], ["func_d", 0]);
  for (const value of Object.values(given)) assert(Object.values<unknown>(VALUES).includes(value));
  return given;
}

/** The variables whose argument is not their value. */
function misread(options: string, messages = MESSAGES): string {
  const given = nextArguments(options, messages);
  return Object.entries(VALUES).filter(([name, value]) => given[name] !== value)
    .map(([name]) => name).join(" ");
}

Deno.test("memory=k misreads what more than k messages came after, and nothing else", () => {
  const old = ["given alpha beta", "given alpha", "given", "given", ""];
  for (let seed = 2; seed < 8; seed++) {
    assertEquals(old.map((_, place) => misread(`memory=${place + 1}&seed=${seed}`)), old);
    assertEquals(misread(`seed=${seed}`), "");
  }
  const guesses = Array.from({ length: 30 }, (_, seed) => nextArguments(`memory=1&seed=${seed}`));
  assertEquals(new Set(guesses.map(({ given }) => given)), new Set<unknown>([202, 303, 404]));
});

Deno.test("memory=k reads what the last result restates, and only that", () => {
  const known = '"known_variables":{"given":101,"beta":303';
  const table: [content: string, old: string][] = [
    [`{"gamma":404,${known},"alpha":202,"gamma":404}}`, ""],
    [`{"gamma":404,${known}}}`, "alpha"],
    // Another value than its own is no reminder.
    [`{"gamma":404,${known},"alpha":999}}`, "alpha"],
    ['{"gamma":404}\nKnown: alpha = 202', "given beta"],
  ];
  for (const [content, old] of table) {
    assertEquals(misread("memory=1", MESSAGES.with(-1, returning("c", content))), old, content);
  }
  const earlier = MESSAGES.with(3, returning("b", `{"beta":303,${known},"alpha":202}}`));
  assertEquals(misread("memory=1", earlier), "given alpha beta", "it reminds of nothing later on");
});

/** Depths of the tasks below, and the kinds of their ten irrelevant functions. */
const DEPTHS = [1, 5, 9];
const KINDS = ["connected", "disconnected"] as const;

Deno.test("memory=k fails with depth and with connected functions that are called; restate mends it", async () => {
  const model = inProcess("sim:noisy?memory=12&distract=1");
  const { trials: plan } = planSuite({
    name: "memory",
    seed: 1,
    graphs: 6,
    tasks: [{ core: 10, depth: DEPTHS, irrelevant: 10, connection: KINDS }],
    models: [model.name],
    strategies: ["plain", "restate"],
  });
  const trials: Trial[] = [];
  for (const planned of plan) trials.push(await runTrial(planned, model));
  const rate = (strategy: string, has: (spec: GraphSpec) => boolean = () => true) => {
    const own = trials.filter((one) => one.strategy === strategy && has(one.task as GraphSpec));
    return own.filter(({ solved }) => solved).length / own.length;
  };
  const [shallow, middle, deep] = DEPTHS.map((depth) =>
    rate("plain", (spec) => spec.depth === depth)
  );
  assertLess(middle!, shallow! - 0.2);
  assertLess(deep!, middle! - 0.1);
  const [connected, disconnected] = KINDS.map((kind) => rate("plain", (spec) => spec[kind] === 10));
  assertLess(connected!, disconnected! - 0.15);
  assertEquals(rate("restate"), 1);
  // What goes wrong was said in time, and lost.
  const failures = trials.flatMap((trial) => trial.failures);
  assertEquals(new Set(failures.map(({ type }) => type)), new Set(["incorrect_value"] as const));
});

// Simulated models that are asked to correct a call which does not fit its schema.

const MENDED_TOOLS = [
  makeTool("func_a", "Processes variable e, variable f to produce variable a", ["e", "f"]),
  makeTool("func_b", "Processes variable a, variable e to produce variable b", ["a", "e"]),
  makeTool("func_x", "Processes variable e to produce variable x", ["e"]),
];
const REPEATED_QUESTION = user(makePrompt("b", new Map([["e", 731], ["f", 45]])));

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
function repairedCalls(
  model: SimulatedModel,
  messages: readonly ChatMessage[],
  tools: readonly ChatTool[] = MENDED_TOOLS,
): [string, Record<string, unknown>][] {
  return replyTo(model, messages, tools).calls.map(([name, given]) => [name, given]);
}

/** What the planner calls next in answer to the question. */
function corrects(...messages: readonly ChatMessage[]): unknown {
  return repairedCalls(planner, [REPEATED_QUESTION, ...messages]);
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
  const [first, ...others] = repairedCalls(planner, [user(prompt)], tools);
  assertGreater(others.length, 0);
  assertEquals(repairedCalls(planner, [user(prompt), fix("func_nix", "{}")], tools), [first!]);
});

Deno.test("sim:planner goes on as before when the correction is made", () => {
  const messages = [
    REPEATED_QUESTION,
    fix("func_a", "{}"),
    calling(["1", "func_a", '{"e":731,"f":45}']),
    returning("1", '{"a":55}'),
  ];
  assertEquals(repairedCalls(planner, messages), [["func_b", { a: 55, e: 731 }]]);
  const { repair, target, inputs } = readConversation({ model: "m", messages });
  assertEquals([repair, target, inputs.size], [undefined, "b", 2]);
});

Deno.test("sim:planner finds a name for the result that is not taken", () => {
  const description =
    "Descriptive unique variable @name for the result of evaluating the function.";
  const tool = makeTool("func_a", MENDED_TOOLS[0]!.function.description!, ["e", "f"]);
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
    const calls: unknown = repairedCalls(planner, [user(question), ...messages], tools);
    assertEquals(calls, [["func_a", { e: "@e", f: "@f", name }]]);
  }
});

Deno.test("sim:noisy corrects the function that it meant by a name it has invented", () => {
  const [call] = repairedCalls(parseSimulatedModel("sim:noisy?hallucinate=1"), [
    REPEATED_QUESTION,
    fix("func_x", "{}"),
  ]);
  const [invented] = call!;
  assertNotEquals(invented, "func_x");
  const messages = [REPEATED_QUESTION, fix(invented, "{}", "There is no such function")];
  assertEquals(repairedCalls(parseSimulatedModel("sim:noisy"), messages), [["func_x", { e: 731 }]]);
});
