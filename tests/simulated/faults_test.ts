// Simulated models whose tools fail: they try again, give up or invent, at stated rates.

import { assert, assertEquals, assertNotMatch, assertThrows } from "@std/assert";
import type { ChatMessage, SimulatedModel } from "../../lib/simulated/wire.ts";
import { drawReaction, type Reaction } from "../../lib/simulated/_reactions.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import fc from "../support/fast_check.ts";
import {
  assertRate,
  execute,
  isFaithful,
  makeWorld,
  type World,
} from "../support/simulated_world.ts";

const planner = parseSimulatedModel("sim:planner");

/** What tools say when they fail, but for good. */
const FAULTS = [
  '{"error":"Timeout: the call timed out after thirty seconds"}',
  '{"error":"Rate limit exceeded: too many requests. Retry after 2 seconds","retry_after":2}',
  '{"error":"Not found: the requested record does not exist"}',
  '{"error":"Invalid argument: the service could not validate the request just now. Try again"}',
  '{"error":"Service temporarily unavailable"}',
  '{"error":{"code":408,"message":"timed out"}}',
  '{"error":"Timeout"}',
  "<!DOCTYPE html>\n<html><head><title>Bad Gateway</title></head><body width=731><center>Bad Gatew",
  "",
  "null",
  "731",
];
const DENIED = '{"error":"Permission denied: access is forbidden. Do not retry"}';

/** What a call gets in place of its result: of this function, for the nth time from 1. */
type Injector = (name: string, time: number) => string | undefined;

interface Made {
  readonly name: string;
  readonly failed: boolean;
  readonly call: ReturnType<typeof execute>;
  /** What was given or returned before the reply. */
  readonly known: ReadonlyMap<string, number>;
}

/** Lets a model work where tools fail, to its last text. */
function work(
  model: SimulatedModel,
  world: World,
  inject: Injector,
  { seed = 0, restate = false } = {},
) {
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  const made: Made[] = [];
  const known = new Map(world.inputs);
  for (let left = 20 * world.functions.size; left > 0; left--) {
    const { message } = model.reply({ model: model.name, messages, tools: world.tools, seed })
      .choices[0];
    messages.push(message);
    if (message.tool_calls === undefined) return { made, text: message.content };
    const before = new Map(known);
    for (const { id, function: { name, arguments: given } } of message.tool_calls) {
      const time = made.filter((call) => call.name === name).length + 1;
      const call = execute(world, name, given);
      const fault = call.result === undefined ? undefined : inject(name, time);
      if (fault === undefined && call.result !== undefined) {
        known.set(call.function!.output, call.result);
      }
      const own = fault ??
        (call.result === undefined
          ? '{"error":"The arguments do not conform to the schema: must have required property"}'
          : JSON.stringify({ [call.function!.output]: call.result }));
      const list = JSON.stringify({ known_variables: Object.fromEntries(known) });
      messages.push({ role: "tool", tool_call_id: id, content: restate ? `${own}\n${list}` : own });
      made.push({ name, failed: fault !== undefined, call, known: before });
    }
  }
  throw new Error("The conversation did not come to an end");
}

/** The core functions of a world, the target's last. */
function coreOf(world: World): string[] {
  return [...world.functions.values()].flatMap(({ role, name }) => role === "core" ? [name] : []);
}

Deno.test("sim:planner calls what fails at most twice more", () => {
  for (const [place, fault] of FAULTS.entries()) {
    for (const restate of [false, true]) {
      for (let seed = 0; seed < 6; seed++) {
        const world = makeWorld({ core: 5, connected: 2, seed });
        const hit = coreOf(world)[(seed + place) % 5]!;
        for (const times of [1, 2, 3]) {
          const inject: Injector = (name, time) =>
            name === hit && time <= times ? fault : undefined;
          const { made, text } = work(planner, world, inject, { restate });
          const attempts = made.filter(({ name }) => name === hit);
          assertEquals(attempts.length, Math.min(times + 1, 3), fault);
          assert(made.every(({ call, known }) => isFaithful(call, known)), "with right values");
          if (times < 3) {
            assertEquals(text, `${world.target} = ${world.values.get(world.target)}`, fault);
            assertEquals(made.length, 5 + times, "nothing else is called again");
          } else {
            assert(text.startsWith("I cannot determine the value of variable"), text);
            assertNotMatch(text, /\d/);
          }
        }
      }
    }
  }
});

Deno.test("sim:planner does not call again what it may not use", () => {
  for (const model of [planner, parseSimulatedModel("sim:noisy?giveup=.5&invent=0&seed=3")]) {
    for (let seed = 0; seed < 20; seed++) {
      const world = makeWorld({ core: 5, seed });
      const hit = coreOf(world)[seed % 5]!;
      const { made, text } = work(model, world, (name) => name === hit ? DENIED : undefined);
      assertEquals(made.filter(({ name }) => name === hit).length, 1);
      assert(text.startsWith("I cannot determine the value of variable"), text);
      assertNotMatch(text, /\d/);
    }
  }
});

/** Which reaction a finished piece of work shows to the failure of one function. */
function shown(world: World, hit: string, { made, text }: ReturnType<typeof work>): Reaction {
  const attempts = made.filter(({ name }) => name === hit).length;
  if (attempts > 1) return "retry";
  if (text.startsWith("I cannot determine")) return "giveup";
  const { output } = world.functions.get(hit)!;
  const used = made.flatMap(({ call }) =>
    [...call.function!.parameters].filter(([, variable]) => variable === output)
      .map(([own]) => call.arguments.get(own)!)
  );
  const answered = output === world.target ? [Number(/= (\d+)$/.exec(text)![1])] : [];
  const invented = new Set([...used, ...answered]);
  assertEquals(invented.size, 1, "one number, wherever it is used");
  assert([...invented].every((number) => number >= 100 && number <= 999));
  return "invent";
}

Deno.test("sim:noisy gives up and invents as drawReaction() tells, at its rates", () => {
  const rates = { giveup: 0.3, invent: 0.2 };
  const model = parseSimulatedModel("sim:noisy?giveup=0.3&invent=0.2&seed=11");
  const seen = { retry: 0, giveup: 0, invent: 0 };
  const answers: number[] = [];
  const count = 600;
  for (let seed = 0; seed < count; seed++) {
    const world = makeWorld({ core: 4, connected: 1, seed });
    const hit = coreOf(world)[seed % 4]!;
    const fault = FAULTS[seed % FAULTS.length]!;
    const repetition = seed % 3;
    const done = work(
      model,
      world,
      (name, time) => name === hit && time === 1 ? fault : undefined,
      { seed: repetition },
    );
    const reaction = shown(world, hit, done);
    assertEquals(
      reaction,
      drawReaction(world.prompt, hit, { rates, seed: 11, repetition }),
      `${seed} ${fault}`,
    );
    if (reaction === "retry") {
      assertEquals(done.text, `${world.target} = ${world.values.get(world.target)}`);
    }
    if (reaction === "invent" && world.functions.get(hit)!.output === world.target) {
      answers.push(Number(done.text.split(" = ")[1]));
    }
    seen[reaction]++;
  }
  assertRate(seen.giveup, count, 0.3);
  assertRate(seen.invent, count, 0.2);
  const spread = answers.filter((number) => number < 300 || number > 700).length;
  assert(spread > answers.length / 3, `any number can be invented: ${answers.join(" ")}`);
});

Deno.test("sim:noisy invents what is denied as well, and believes it", () => {
  const model = parseSimulatedModel("sim:noisy?invent=1");
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 4, shape: "path", seed });
    const [first, ...others] = coreOf(world);
    const done = work(model, world, (name) => name === first ? DENIED : undefined);
    assertEquals(done.made.map(({ name }) => name), [first, ...others], "each is called once");
    assertEquals(shown(world, first!, done), "invent");
    assert(/^\w+ = \d+$/.test(done.text), "it answers");
    assert(done.text !== `${world.target} = ${world.values.get(world.target)}`, "wrongly");
  }
});

Deno.test("sim:noisy does not take the refusal of a wrong call for a tool that fails", () => {
  for (const mistakes of ["arity=.4", "hallucinate=.4", "stale=.3&early=.3&distract=.3"]) {
    for (let seed = 0; seed < 40; seed++) {
      const world = makeWorld({ core: 5, connected: 2, seed });
      const plain = work(parseSimulatedModel(`sim:noisy?${mistakes}`), world, () => undefined);
      for (const reaction of ["giveup=1", "invent=1"]) {
        const name = `sim:noisy?${mistakes}&${reaction}`;
        assertEquals(work(parseSimulatedModel(name), world, () => undefined), plain);
      }
    }
  }
});

Deno.test("sim:noisy that must call does not give up", () => {
  const world = makeWorld({ core: 3, shape: "path", seed: 1 });
  const model = parseSimulatedModel("sim:noisy?giveup=1");
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  const request = { model: model.name, messages, tools: world.tools, tool_choice: "required" };
  const { message } = model.reply(request).choices[0];
  messages.push(message);
  for (const { id } of message.tool_calls!) {
    messages.push({ role: "tool", tool_call_id: id, content: FAULTS[0]! });
  }
  const { tool_choice: _, ...free } = request;
  assertEquals(model.reply(free).choices[0].finish_reason, "stop");
  assertEquals(model.reply(request).choices[0].finish_reason, "tool_calls");
});

Deno.test("sim:noisy does not give up what it has had", () => {
  const world = makeWorld({ core: 1, seed: 1 });
  const model = parseSimulatedModel("sim:noisy?giveup=1");
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  const request = { model: model.name, messages, tools: world.tools };
  const value = world.values.get(world.target)!;
  for (const content of [JSON.stringify({ [world.target]: value }), FAULTS[0]!]) {
    const { message } = model.reply({ ...request, tool_choice: "required" }).choices[0];
    messages.push(message);
    messages.push({ role: "tool", tool_call_id: message.tool_calls![0]!.id, content });
  }
  assertEquals(model.reply(request).choices[0].message.content, `${world.target} = ${value}`);
});

const QUESTION = "What is 12 * 34?\nState it as: product = number";
const tools = [{
  type: "function" as const,
  function: {
    name: "calculator",
    description: "Calculates",
    parameters: { type: "object", properties: { expression: { type: "string" } } },
  },
}];

Deno.test("sim:noisy reacts to a tool that answers questions", () => {
  const say = (options: string) => {
    const model = parseSimulatedModel(`sim:noisy?${options}`);
    const messages: ChatMessage[] = [{ role: "user", content: QUESTION }];
    const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
    const id = message.tool_calls![0]!.id;
    messages.push(message, { role: "tool", tool_call_id: id, content: FAULTS[0]! });
    return model.reply({ model: model.name, messages, tools }).choices[0].message;
  };
  assert(/^product = [1-9]\d\d$/.test(say("invent=1").content));
  assert(say("giveup=1").content.startsWith("I cannot determine"));
  assertEquals(say("seed=1").tool_calls?.length, 1);
});

Deno.test("sim:planner asks a tool that answers questions again where it fails", () => {
  for (
    const [fault, asked] of [
      [FAULTS[0]!, 3],
      [FAULTS[6]!, 3],
      [DENIED, 1],
      ['{"error":"I do not like it"}', 1],
    ] as const
  ) {
    for (const times of [1, 9]) {
      const messages: ChatMessage[] = [{ role: "user", content: QUESTION }];
      let calls = 0;
      while (true) {
        const { message } = planner.reply({ model: "sim:planner", messages, tools }).choices[0];
        messages.push(message);
        const [call] = message.tool_calls ?? [];
        if (call === undefined) break;
        calls++;
        const content = calls <= times ? fault : "408";
        messages.push({ role: "tool", tool_call_id: call.id, content });
      }
      assertEquals(calls, Math.min(asked, times + 1));
      const { content } = messages.at(-1)!;
      assertEquals(content, asked > times ? "product = 408" : "I cannot tell.");
    }
  }
});

Deno.test("drawReaction() draws for each seed, repetition, question and function by itself", () => {
  fc.assert(fc.property(
    fc.string(),
    fc.string(),
    fc.nat(),
    fc.nat(),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (prompt, name, seed, repetition, giveup) => {
      const draw = (rates: Parameters<typeof drawReaction>[2]["rates"]) =>
        drawReaction(prompt, name, { rates, seed, repetition });
      assertEquals(draw({}), "retry");
      assertEquals(draw({ giveup: 1 }), "giveup");
      assertEquals(draw({ invent: 1 }), "invent");
      assertEquals(draw({ giveup }), draw({ giveup }));
      // Whoever gives up at a rate gives up at a higher one.
      if (draw({ giveup }) === "giveup") assertEquals(draw({ giveup: 1, invent: 0 }), "giveup");
      if (draw({ giveup }) === "retry") {
        assertEquals(draw({ giveup, invent: 1 - giveup }), "invent");
      }
    },
  ));
  const rates = { giveup: 0.5 };
  const some = (of: (n: number) => Reaction) =>
    new Set(Array.from({ length: 40 }, (_, n) => of(n))).size;
  assertEquals(some((seed) => drawReaction("p", "f", { rates, seed, repetition: 1 })), 2);
  assertEquals(some((repetition) => drawReaction("p", "f", { rates, seed: 1, repetition })), 2);
  assertEquals(some((n) => drawReaction(`p${n}`, "f", { rates, seed: 1, repetition: 1 })), 2);
  assertEquals(some((n) => drawReaction("p", `f${n}`, { rates, seed: 1, repetition: 1 })), 2);
});

Deno.test("parseSimulatedModel() takes giveup and invent up to 1 together", () => {
  parseSimulatedModel("sim:noisy?giveup=.4&invent=.6");
  assertThrows(
    () => parseSimulatedModel("sim:noisy?giveup=.5&invent=.6"),
    Error,
    "giveup and invent must be at most 1 together",
  );
  assertThrows(() => parseSimulatedModel("sim:planner?giveup=.5"), Error, "takes no options");
});
