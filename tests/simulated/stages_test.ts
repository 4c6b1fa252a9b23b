// Stages without calls: plans, picked functions, and lists that grow backward from the final call.

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { readStage } from "../../lib/simulated/_stages.ts";
import { fillPrompt, PROMPTS } from "../../lib/models/prompts.ts";
import { assertLinear } from "../support/growth.ts";
import {
  assertRate,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  talk,
  type World,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");

/** A diamond with a function beside it: `d` needs `b` and `c`, which need `a`; `c` needs `b` too. */
const TOOLS = [
  makeTool("func_d", "Processes variable b, variable c to produce variable d", ["b", "c"]),
  makeTool("func_x", "Processes variable a to produce variable x", ["a"]),
  makeTool("func_b", "Processes variable a, variable e to produce variable b", ["a", "e"]),
  makeTool("func_c", "Processes variable b, variable a to produce variable c", ["b", "a"]),
  makeTool("func_a", "Processes variable e to produce variable a", ["e"]),
];
const QUESTION = makePrompt("d", new Map([["e", 731]]));

/** How strategies write functions into a prompt. */
function listed(tools: readonly ChatTool[], space?: number): string {
  return JSON.stringify(
    tools.map(({ function: { name, description, parameters } }) => ({
      name,
      description,
      parameters,
    })),
    null,
    space,
  );
}

interface Question {
  readonly prompt: string;
  readonly tools: readonly ChatTool[];
}

/** What a model says to a stage's text, and whatever stands behind it in the conversation. */
function say(
  model: SimulatedModel,
  text: string,
  { prompt: question, tools }: Question,
  ...more: readonly string[]
): string {
  const first = fillPrompt(text, { question, tools: listed(tools, 1) });
  const messages = [first, ...more].map((content, place): ChatMessage => ({
    role: place % 2 === 0 ? "user" : "assistant",
    content,
  }));
  const { calls, finish, text: answer } = replyTo(model, messages);
  assertEquals([calls, finish], [[], "stop"]);
  return answer;
}

/** Asks for what is missing until the list is complete: every answer, the last one too. */
function askBackward(model: SimulatedModel, question: Question, most = 40): string[] {
  const said = [say(model, PROMPTS.backward.final, question)];
  while (!said.at(-1)!.includes("<!stop>") && said.length < most) {
    const more = said.flatMap((list) => [list, PROMPTS.backward.missing]);
    said.push(say(model, PROMPTS.backward.final, question, ...more));
  }
  return said;
}

Deno.test("sim:planner writes a plan with a step for each call", () => {
  assertEquals(
    say(planner, PROMPTS.plan_then_call.plan, { prompt: QUESTION, tools: TOOLS }),
    [
      "1. func_a(e = 731)",
      "2. func_b(a = the result of step 1, e = 731)",
      "3. func_c(b = the result of step 2, a = the result of step 1)",
      "4. func_d(b = the result of step 2, c = the result of step 3)",
      "The answer, variable d, is the result of step 4.",
    ].join("\n"),
  );
});

Deno.test("sim:planner picks the functions that are needed", () => {
  const picked = say(planner, PROMPTS.route_then_fill.route, { prompt: QUESTION, tools: TOOLS });
  assertEquals(picked, "['func_a', 'func_b', 'func_c', 'func_d']");
});

Deno.test("sim:planner lists the final call, and before it what is missing, until nothing is", () => {
  const [d, c, b, a] = [
    { b: "$$$", c: "$$$" },
    { b: "$$$", a: "$$$" },
    { a: "$$$", e: 731 },
    { e: 731 },
  ];
  const list = (names: string[], parameters: unknown[]) =>
    JSON.stringify({ API: names, parameters });
  const all = list(["func_a", "func_b", "func_c", "func_d"], [a, b, c, d]);
  assertEquals(askBackward(planner, { prompt: QUESTION, tools: TOOLS }), [
    list(["func_d"], [d]),
    list(["func_b", "func_c", "func_d"], [b, c, d]),
    all,
    `${all} <!stop>`,
  ]);
  // What is given need not be produced.
  const given = makePrompt("d", new Map([["e", 731], ["a", 45]]));
  const last = askBackward(planner, { prompt: given, tools: TOOLS }).at(-1);
  const full = list(["func_b", "func_c", "func_d"], [{ a: 45, e: 731 }, { b: "$$$", a: 45 }, d]);
  assertEquals(last, `${full} <!stop>`);
});

Deno.test("sim:planner takes over what stands on the list, and starts one where there is none", () => {
  const ask = (list: string) =>
    say(
      planner,
      PROMPTS.backward.final,
      { prompt: QUESTION, tools: TOOLS },
      list,
      PROMPTS.backward.missing,
    );
  const named = (text: string) => JSON.parse(text.replace(" <!stop>", ""));
  for (const nonsense of ["", "I do not know.", "{", '{"API": 5}', '{"API": [7]}', "null"]) {
    assertEquals(named(ask(nonsense)).API, ["func_b", "func_c", "func_d"], nonsense);
  }
  const kept = named(
    ask('```json\n{"API": ["func_nix", "func_d"], "parameters": [{"q": 1}]}\n```'),
  );
  assertEquals(kept, {
    API: ["func_nix", "func_b", "func_c", "func_d"],
    parameters: [{ q: 1 }, { a: "$$$", e: 731 }, { b: "$$$", a: "$$$" }, {}],
  });
});

Deno.test("sim:planner says what it cannot plan", () => {
  const ask = (text: string, prompt: string) => say(planner, text, { prompt, tools: TOOLS });
  const { plan_then_call: { plan }, route_then_fill: { route }, backward: { final } } = PROMPTS;
  for (const text of [plan, route, final]) {
    assertMatch(ask(text, "Hello."), /^I do not know/);
    assertMatch(ask(text, makePrompt("nix", new Map())), /^I do not know/);
  }
  const without = makePrompt("d", new Map());
  assertMatch(ask(plan, without), /^1\. func_a\(e = a value that is not known\)$/m);
  const lists = askBackward(planner, { prompt: without, tools: TOOLS }, 9);
  assertEquals(lists.length, 9, "a list that lacks something is not complete");
  assertEquals(new Set(lists.slice(2)).size, 1, "and does not grow for ever");
  const given = makePrompt("d", new Map([["d", 5]]));
  assertEquals(ask(plan, given), "The answer, variable d, is 5.");
  assertEquals(ask(route, given), "[]");
  assertEquals(askBackward(planner, { prompt: given, tools: TOOLS }).length, 2);
});

/** The names of functions that a world needs, each behind all that it needs itself. */
function assertInOrder(names: readonly string[], world: World): void {
  const core = [...world.functions.values()].filter(({ role }) => role === "core");
  assertEquals(names.toSorted(), core.map(({ name }) => name).sort());
  const outputs = new Set(world.inputs.keys());
  for (const name of names) {
    const { parameters, output } = world.functions.get(name)!;
    assert([...parameters.values()].every((variable) => outputs.has(variable)), name);
    outputs.add(output);
  }
}

Deno.test("sim:planner plans, picks and lists random tasks in an order that can be called", () => {
  for (let seed = 0; seed < 30; seed++) {
    const linking = seed % 2 === 0 ? "types" : "names";
    const world = makeWorld({ core: 1 + seed % 20, connected: 3, disconnected: 2, linking, seed });
    const plan = say(planner, PROMPTS.plan_then_call.plan, world);
    assertInOrder([...plan.matchAll(/^\d+\. (\w+)\(/gm)].map(([, name]) => name!), world);
    const picked = say(planner, PROMPTS.route_then_fill.route, world);
    assertInOrder([...picked.matchAll(/'(\w+)'/g)].map(([, name]) => name!), world);
    const lists = askBackward(planner, world);
    const { API, parameters } = JSON.parse(lists.at(-1)!.replace(" <!stop>", ""));
    assertInOrder(API, world);
    assertEquals(parameters.length, API.length);
    assertLess(lists.length, world.depth + 3, "a layer in each answer");
  }
});

Deno.test("sim:planner copes with circles, names of Object.prototype and texts about stages", () => {
  const circle = [
    makeTool("func_a", "Processes variable b to produce variable a", ["b"]),
    makeTool("func_b", "Processes variable a to produce variable b", ["a"]),
  ];
  const prompt = makePrompt("a", new Map());
  for (const text of [PROMPTS.plan_then_call.plan, PROMPTS.route_then_fill.route]) {
    assertMatch(say(planner, text, { prompt, tools: circle }), /func_b.*func_a|func_a[^]*func_b/s);
  }
  assertEquals(askBackward(planner, { prompt, tools: circle }, 9).length, 3);

  const odd = [
    makeTool("toString", 'Says "]}" and \\", processes variable __proto__ to produce variable t', [
      "__proto__",
    ]),
  ];
  const [list] = askBackward(planner, { prompt: makePrompt("t", new Map()), tools: odd });
  assertEquals(list, '{"API":["toString"],"parameters":[{"__proto__":"$$$"}]}');

  // Where functions are on offer, or none are listed, calls are asked for.
  const plan = fillPrompt(PROMPTS.plan_then_call.plan, {
    question: QUESTION,
    tools: listed(TOOLS),
  });
  const asked = (content: string, tools: readonly ChatTool[] = []) =>
    readStage({ model: "sim:planner", messages: [{ role: "user", content }], tools });
  assertEquals(asked(plan)?.kind, "plan");
  assertEquals(asked(plan, TOOLS), undefined);
  assertEquals(asked("Please write a plan"), undefined);
  assertEquals(asked(QUESTION), undefined);
});

Deno.test("readStage() takes time that is linear in hostile texts", () => {
  const read = (text: string) => {
    const content = fillPrompt(PROMPTS.backward.final, { question: text, tools: `[${text}]` });
    const messages: ChatMessage[] = [
      { role: "user", content },
      { role: "assistant", content: text },
      { role: "user", content: PROMPTS.backward.missing },
    ];
    return readStage({ model: "sim:planner", messages });
  };
  for (const repeated of ["[", '"', "[]", "\\", "{"]) assertLinear(read, "", repeated);
});

Deno.test("sim:planner carries out a plan or a list as it solves the question alone", () => {
  const { plan_then_call: { call }, backward } = PROMPTS;
  for (const then of [call, backward.call]) {
    const { calls, message } = replyTo(planner, [
      { role: "user", content: QUESTION },
      { role: "assistant", content: "1. func_a(e = 731)" },
      { role: "user", content: then },
    ], TOOLS);
    assertEquals(calls.map(([name]) => name), ["func_a"]);
    assertEquals(message.tool_calls![0]!.id, "call_1_1");
  }
});

Deno.test("sim:noisy shares its noise between a question alone and one with a plan behind it", () => {
  const model = parseSimulatedModel("sim:noisy?hallucinate=.3&arity=.3&stale=.3&early=.3&copy=.2");
  for (let seed = 0; seed < 20; seed++) {
    const world = makeWorld({ core: 8, connected: 2, seed });
    const { requests, answers } = talk(model, world);
    for (const [place, request] of requests.entries()) {
      const messages = [
        request.messages[0]!,
        { role: "assistant", content: "A plan" },
        { role: "user", content: PROMPTS.plan_then_call.call },
        ...request.messages.slice(1),
      ] as const;
      const { choices } = model.reply({ ...request, messages });
      assertEquals(choices, answers[place]!.choices);
    }
  }
});

Deno.test("sim:noisy picks functions with mistakes, each at its rate", () => {
  const seen = { needed: 0, misnamed: 0, lists: 0, irrelevant: 0, asked: 0, quit: 0 };
  const model = parseSimulatedModel("sim:noisy?hallucinate=.1&distract=.3&quit=.2");
  for (let seed = 0; seed < 260; seed++) {
    const world = makeWorld({ core: 6, connected: 3, disconnected: 1, seed });
    const picked = say(model, PROMPTS.route_then_fill.route, world);
    seen.asked++;
    if (!picked.startsWith("[")) {
      seen.quit++;
      assertMatch(picked, /^I do not know/);
      continue;
    }
    const names = [...picked.matchAll(/'(\w+)'/g)].map(([, name]) => name!);
    seen.lists++;
    seen.needed += names.length;
    seen.misnamed += names.filter((name) => !world.functions.has(name)).length;
    if (names.length > 6) seen.irrelevant++;
    assert(names.length === 6 || names.length === 7);
    const reordered = { ...world, tools: world.tools.toReversed() };
    const again = say(model, PROMPTS.route_then_fill.route, reordered);
    assertEquals(again.match(/\w+/g)?.sort(), picked.match(/\w+/g)?.sort());
  }
  assertRate(seen.quit, seen.asked, 0.2);
  assertRate(seen.irrelevant, seen.lists, 0.3);
  assertRate(seen.misnamed, seen.needed, 0.1);
});

Deno.test("sim:noisy misnames functions of a list, and still knows what they need", () => {
  const model = parseSimulatedModel("sim:noisy?hallucinate=.5");
  const names = Array.from({ length: 80 }, (_, seed) => makeWorld({ core: 5, seed }))
    .flatMap((world) => {
      const lists = askBackward(model, world);
      const { API } = JSON.parse(lists.at(-1)!.replace(" <!stop>", "")) as { API: string[] };
      assertEquals(API.length, 5);
      return API.map((name) => world.functions.has(name));
    });
  assertRate(names.filter((isReal) => !isReal).length, names.length, 0.5);
});

Deno.test("sim:noisy gives up on a stage at the rate of quit, anew in each answer", () => {
  const model = parseSimulatedModel("sim:noisy?quit=.5");
  const world = makeWorld({ core: 4, shape: "path", seed: 3 });
  const answers = Array.from({ length: 40 }, (_, round) => {
    const more = Array.from({ length: round }, () => ["{}", PROMPTS.backward.missing]).flat();
    return say(model, PROMPTS.backward.final, world, ...more).startsWith("I do not know");
  });
  const given = answers.filter(Boolean).length;
  assert(given > 8 && given < 32, `${given} of 40`);
});
