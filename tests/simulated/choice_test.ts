// Simulated models that must call: they never end by themselves (Indirection, "Inflexible").

import { assert, assertEquals, assertNotMatch } from "@std/assert";
import type { ChatMessage, ChatTool, SimulatedModel } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { startSimulatedServer } from "../../lib/simulated/server.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import {
  execute,
  makePrompt,
  makeTool,
  makeWorld,
  type World,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");
const named = (name: string) => ({ type: "function", function: { name } });

/** The calls of so many replies, each of which must call. */
function callsIn(model: SimulatedModel, world: World, choice: unknown, replies: number) {
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  return Array.from({ length: replies }, () => {
    const request = { model: model.name, messages, tools: world.tools, tool_choice: choice };
    const { message, finish_reason: finish } = model.reply(request).choices[0];
    assertEquals(finish, "tool_calls");
    assertNotMatch(message.content, /=/, "no answer");
    messages.push(message);
    return message.tool_calls!.map(({ id, function: called }) => {
      const call = execute(world, called.name, called.arguments);
      const content = call.result === undefined
        ? '{"error":"This call is not possible"}'
        : JSON.stringify({ [call.function!.output]: call.result });
      messages.push({ role: "tool", tool_call_id: id, content });
      return { id, ...call };
    });
  });
}

Deno.test("sim:planner that must call solves a task, and goes on with its last call", () => {
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 5, seed });
    const steps = callsIn(planner, world, "required", world.depth + 6);
    const calls = steps.slice(0, world.depth + 1).flat();
    assertEquals(new Set(calls.map(({ name }) => name)).size, 5, "it solves it first");
    for (const step of steps.slice(world.depth + 1)) {
      assertEquals(step.map(({ name, result }) => [name, result]), [
        [calls.at(-1)!.name, world.values.get(world.target)],
      ]);
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

/** What the planner calls first. */
function firstCall(prompt: string, tools: readonly ChatTool[], choice: unknown) {
  const messages: ChatMessage[] = [{ role: "user", content: prompt }];
  const request = { model: planner.name, messages, tools, tool_choice: choice };
  const { message } = planner.reply(request).choices[0];
  return message.tool_calls?.map(({ function: called }) => `${called.name}${called.arguments}`);
}

Deno.test("sim:planner that must call does so where nothing is known", () => {
  const tools = [
    makeTool("func_a", "Processes variable e to produce variable a", ["e"]),
    makeTool("func_b", "Processes variable a to produce variable b", ["a"]),
  ];
  const none = new Map<string, number>();
  for (const prompt of ["Hello.", makePrompt("b", none), makePrompt("nix", none)]) {
    assertEquals(firstCall(prompt, tools, "required"), ['func_a{"e":0}'], prompt);
    assertEquals(firstCall(prompt, tools, named("func_b")), ['func_b{"a":0}'], prompt);
    for (const free of ["auto", "none", undefined, null, {}, named("func_c"), "func_b", 1]) {
      assertEquals(firstCall(prompt, tools, free), undefined, `${prompt} ${free}`);
    }
  }
  assertEquals(firstCall("Hello.", [], "required"), undefined, "there is nothing to call");
  const given = makePrompt("a", new Map([["a", 4]]));
  assertEquals(firstCall(given, tools, "required"), ['func_a{"e":4}']);
  assertEquals(firstCall(given, tools, "auto"), undefined);
});

Deno.test("sim:noisy that must call never quits", () => {
  const world = makeWorld({ core: 4, connected: 2, seed: 2 });
  const rates = "quit=1&arity=.5&hallucinate=.3&stale=.5&early=.5&distract=.5&copy=.5&memory=2";
  const target = [...world.functions.values()].find(({ output }) => output === world.target)!;
  for (const choice of ["required", named(target.name)]) {
    const model = parseSimulatedModel(`sim:noisy?${rates}`);
    const steps = callsIn(model, world, choice, 20);
    assert(steps.every((calls) => calls.length > 0));
    if (choice !== "required") assert(steps.every((calls) => calls.length === 1));
  }
});

Deno.test("openai() makes simulated models call, and is told of a function that is not on offer", async () => {
  await using server = startSimulatedServer();
  const world = makeWorld({ core: 3, shape: "path", seed: 4 });
  const tools = world.tools.map(({ function: { name, description = "", parameters = {} } }) => ({
    name,
    description,
    parameters,
  }));
  const last = [...world.functions.keys()].at(-1)!;
  const ask = async (toolChoice: "required" | "none" | { function: string }) => {
    const options = { model: "sim:planner", baseURL: server.url, apiKey: "any", toolChoice };
    const { calls } = await openai(options).reply({
      messages: [{ role: "user", content: world.prompt }],
      tools,
      context: { trial: "t", repetition: 1, request: 1 },
    });
    return calls.map(({ name }) => name);
  };
  assertEquals((await ask("required")).length, 1);
  assertEquals(await ask("none"), []);
  assertEquals(await ask({ function: last }), [last]);
  const error = await ask({ function: "func_nix" }).catch((error) => error);
  assert(error instanceof InfrastructureError);
  assert(error.message.includes("There is no tool func_nix to choose"), error.message);
});
