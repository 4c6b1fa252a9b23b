import { assert, assertEquals, assertNotMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { readConversation } from "../../lib/simulated/_reading.ts";
import { makePrompt, makeTool, makeWorld, talk } from "../support/simulated_world.ts";

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

function request(messages: readonly ChatMessage[], tools: readonly ChatTool[] = TOOLS) {
  return { model: "sim:planner", messages, tools } satisfies ChatRequest;
}

/** A conversation in which `func_yep` was called once and `result` came back. */
function answered(result: string): ChatRequest {
  const call = {
    id: "c1",
    type: "function",
    function: { name: "func_yep", arguments: '{"mfmjsy":731}' },
  } as const;
  return request([
    { role: "user", content: PROMPT },
    { role: "assistant", content: "", tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: result },
  ]);
}

function callsOf(body: ChatRequest): [string, unknown][] {
  return (planner.reply(body).choices[0].message.tool_calls ?? [])
    .map(({ function: called }) => [called.name, JSON.parse(called.arguments)]);
}

function textOf(body: ChatRequest): string {
  return planner.reply(body).choices[0].message.content;
}

Deno.test("parseSimulatedModel() plans the paper's example", () => {
  const first = planner.reply(request([{ role: "user", content: PROMPT }]));
  const choice = first.choices[0];
  assertEquals(choice.finish_reason, "tool_calls");
  assertEquals(choice.message.tool_calls, [{
    id: "call_1_1",
    type: "function",
    function: { name: "func_yep", arguments: '{"mfmjsy":731}' },
  }]);
  assert(choice.message.content.length > 10, "calls go with a sentence");
  assertEquals(callsOf(answered('{"aargww":55}')), [["func_ayj", { riivq: 55, unomo: -4 }]]);
});

Deno.test("parseSimulatedModel() estimates tokens as characters by four", () => {
  const body = request([{ role: "user", content: PROMPT }]);
  const { usage, choices } = planner.reply(body);
  const [call] = choices[0].message.tool_calls!;
  const written = choices[0].message.content + call!.function.name + call!.function.arguments;
  assertEquals(usage.completion_tokens, Math.ceil(written.length / 4));
  assertEquals(
    usage.prompt_tokens,
    Math.ceil(JSON.stringify([body.messages, body.tools]).length / 4),
  );
  assertEquals(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

for (const linking of ["types", "names"] as const) {
  Deno.test(`parseSimulatedModel() solves random tasks linked by ${linking}`, () => {
    for (let seed = 0; seed < 100; seed++) {
      const core = 1 + seed % 25;
      const world = makeWorld({ core, connected: seed % 7, disconnected: seed % 4, linking, seed });
      const { calls, steps, text } = talk(planner, world);
      assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
      assertEquals(calls.length, core, "no call too many");
      assertEquals(steps.length, world.depth + 1, "all that can be called is called in parallel");
    }
  });
}

Deno.test("parseSimulatedModel() copes with 1,200 functions", () => {
  for (const shape of ["random", "path"] as const) {
    const core = shape === "path" ? 120 : 700;
    const world = makeWorld({ core, shape, connected: 1100 - core, disconnected: 100, seed: 1 });
    const { calls, text } = talk(planner, world);
    assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
    assertEquals(calls.length, core);
  }
  const deep = makeWorld({ core: 1200, shape: "path", seed: 2 });
  assertEquals(callsOf(request([{ role: "user", content: deep.prompt }], deep.tools)).length, 1);
});

Deno.test("parseSimulatedModel() calls one function a reply where it must", () => {
  const world = makeWorld({ core: 12, seed: 3 });
  const body = request([{ role: "user", content: world.prompt }], world.tools);
  assert(callsOf(body).length > 1);
  assertEquals(callsOf({ ...body, parallel_tool_calls: false }).length, 1);
});

Deno.test("parseSimulatedModel() says that a value cannot be determined", () => {
  const [ayj, yep] = TOOLS as [ChatTool, ChatTool];
  const loop = makeTool("func_lop", "Processes variable sjyav to produce variable sjyav", [
    "sjyav",
  ]);
  const ask = (tools: readonly ChatTool[], prompt = PROMPT) =>
    request([{ role: "user", content: prompt }], tools);
  const hopeless = {
    "no tools": ask([]),
    "no producer of the target": ask([yep]),
    "no producer of a parameter": ask([ayj]),
    "a missing input": ask(TOOLS, makePrompt("sjyav", new Map())),
    "a circle": ask([loop]),
    "no target": ask(TOOLS, "Hello."),
    "calls forbidden": { ...ask(TOOLS), tool_choice: "none" },
  };
  for (const [state, body] of Object.entries(hopeless)) {
    assertEquals(callsOf(body), [], state);
    assert(textOf(body).startsWith("I cannot determine the value of "), state);
    assertNotMatch(textOf(body), /\d/, state);
    assertEquals(planner.reply(body).choices[0].finish_reason, "stop");
  }
});

Deno.test("parseSimulatedModel() retries a refused call twice, then gives up", () => {
  const world = makeWorld({ core: 5, shape: "path", seed: 4 });
  const second = [...world.functions.keys()][1]!;
  const { calls, text } = talk(planner, world, { broken: (name) => name === second });
  assertEquals(calls.map((call) => call.name).slice(1), [second, second, second]);
  assert(text.startsWith("I cannot determine"));
});

Deno.test("parseSimulatedModel() reads results tolerantly", () => {
  const right = [["func_ayj", { riivq: 55, unomo: -4 }]] as [string, unknown][];
  for (
    const result of [
      '{"aargww": 55}',
      '{"aargww": 55, "known": {"mfmjsy": 731}}',
      '{"aargww": 55}\n\nAll variables known so far:\nmfmjsy = 731\naargww = 55',
      "mfmjsy = 731\naargww = 55.",
      "mfmjsy: 731, aargww: 55",
      '{"aargww": 55...',
      '{"result": {"aargww": 55}}',
    ]
  ) assertEquals(callsOf(answered(result)), right, result);

  const again = [["func_yep", { mfmjsy: 731 }]] as [string, unknown][];
  for (
    const result of [
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
    ]
  ) assertEquals(callsOf(answered(result)), again, result);
});

Deno.test("parseSimulatedModel() solves with values restated", () => {
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 8, connected: 2, seed });
    const { calls, text } = talk(planner, world, { restate: true });
    assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
    assertEquals(calls.length, 8);
  }
});

Deno.test("parseSimulatedModel() keeps what an earlier turn has found out", () => {
  const { messages } = answered('{"aargww":55}');
  const later = request([
    ...messages,
    { role: "assistant", content: "aargww = 55" },
    { role: "user", content: [{ text: "Now give me the value of variable tipor." }] },
  ]);
  assertEquals(callsOf(later), [["func_wug", { goril: 55 }]]);
});

Deno.test("readConversation() takes linear time for hostile texts", () => {
  const hostile = [
    "a".repeat(1e6),
    "a ".repeat(5e5),
    `a${" ".repeat(1e6)}`,
    `a = ${"9".repeat(1e6)}`,
    "variable ".repeat(1e5),
    `variable a (${"b".repeat(1e6)}`,
    "value of ".repeat(1e5),
    `Variable ${"a".repeat(1e6)}`,
    "a=1".repeat(3e5),
    " to produce ".repeat(1e5),
    "@".repeat(1e6),
    `Variable a = @${"a".repeat(1e6)}`,
    `a = "@${"a".repeat(1e6)}`,
    `has invalid arguments\n${"Tool: \nArguments: \nErrors: ".repeat(5e4)}`,
  ];
  const start = performance.now();
  for (const text of hostile) {
    const { messages } = answered(text);
    const tools = [makeTool("func_yep", `Processes ${text} to produce variable aargww`, ["a"])];
    readConversation({
      model: "sim:planner",
      messages: [{ role: "user", content: text }, ...messages],
      tools,
    });
  }
  // About half a second; quadratic time would take minutes.
  assert(performance.now() - start < 20_000);
});

Deno.test("readConversation() keeps names of Object.prototype apart", () => {
  const tools = [
    makeTool("toString", "Processes variable constructor to produce variable valueOf", [
      "constructor",
    ]),
    makeTool("func_a", "Processes variable valueOf to produce variable __proto__", ["valueOf"]),
  ];
  const prompt = makePrompt("__proto__", new Map([["constructor", 7]]));
  const body = request([{ role: "user", content: prompt }], tools);
  assertEquals(callsOf(body), [["toString", { constructor: 7 }]]);
});

Deno.test("parseSimulatedModel() refuses what it does not know", () => {
  for (
    const [name, rule] of [
      ["sim:oracle", "it must be sim:planner, sim:noisy?early="],
      ["", "sim:planner"],
      ["gpt-5", "sim:planner"],
      ["sim:planner?early=1", "takes no options"],
      [
        "sim:noisy?late=1",
        "early, stale, distract, hallucinate, arity, quit, copy, averse, ignore, giveup, invent, breakFormat, hopeless, memory, seed",
      ],
      ["sim:noisy?early=1.01", "early must be a number from 0 to 1"],
      ["sim:noisy?early=-0.1", "from 0 to 1"],
      ["sim:noisy?early=", "from 0 to 1"],
      ["sim:noisy?early=0x1", "from 0 to 1"],
      ["sim:noisy?early=NaN", "from 0 to 1"],
      ["sim:noisy?early=0.1&early=0.2", "once"],
      ["sim:noisy?seed=1.5", "seed must be a whole number"],
      ["sim:noisy?memory=0", "memory must be a whole number from 1 on"],
      ["sim:noisy?memory=1.5", "memory must be a whole number from 1 on"],
      ["sim:noisy?memory=", "memory must be a whole number from 1 on"],
      ["sim:noisy?memory=1e999", "memory must be a whole number from 1 on"],
      ["sim:noisy?__proto__=1", "the options of sim:noisy are"],
    ] as const
  ) {
    const error = assertThrows(() => parseSimulatedModel(name), InputError, rule);
    assert(!error.message.includes("\n"), "one line");
    assert(error.message.endsWith(`it is ${name}`), error.message);
  }
  assertThrows(() => parseSimulatedModel("sim:\u001b[31m\n"), InputError, "\\u001b[31m\\n");
  for (
    const name of ["sim:noisy", "sim:noisy?", "sim:noisy?early=.5&memory=8&seed=-3", "sim:planner"]
  ) {
    assertEquals(parseSimulatedModel(name).name, name);
  }
});
