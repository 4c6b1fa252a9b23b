// Simulated models whose tools fail: they try again, give up or invent, at stated rates.

import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { drawReaction, type Reaction } from "../../lib/simulated/_reactions.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import type { ChatMessage, SimulatedModel } from "../../lib/simulated/wire.ts";
import fc from "../support/fast_check.ts";
import {
  assertRate,
  isFaithful,
  makeWorld,
  replyTo,
  returning,
  type Talk,
  talk,
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
const NONCONFORMING =
  '{"error":"The arguments do not conform to the schema: must have required property"}';

/** The core functions of a world, the target's last. */
function coreOf(world: World): string[] {
  return [...world.functions.values()].flatMap(({ role, name }) => role === "core" ? [name] : []);
}

function rightAnswer({ target, values }: World): string {
  return `${target} = ${values.get(target)}`;
}

function assertGivesUp({ text }: Talk): void {
  assert(text.startsWith("I cannot determine the value of variable"), text);
  assertNotMatch(text, /\d/);
}

function countOf({ calls }: Talk, hit: string): number {
  return calls.filter(({ name }) => name === hit).length;
}

/** A function that fails so many times, and then no more. */
function failing(hit: string, fault: string, times: number) {
  return (name: string, time: number) => name === hit && time <= times ? fault : undefined;
}

Deno.test("sim:planner calls what fails at most twice more", () => {
  for (const [place, fault] of FAULTS.entries()) {
    for (let seed = 0; seed < 6; seed++) {
      const world = makeWorld({ core: 5, connected: 2, seed });
      const hit = coreOf(world)[(seed + place) % 5]!;
      for (const times of [1, 2, 3]) {
        const inject = failing(hit, fault, times);
        const done = talk(planner, world, { restate: seed % 2 === 0, inject });
        assertEquals(countOf(done, hit), Math.min(times + 1, 3), fault);
        for (const { known, calls } of done.steps) {
          assert(calls.every((call) => isFaithful(call, known)), "with right values");
        }
        if (times === 3) assertGivesUp(done);
        else assertEquals([done.text, done.calls.length], [rightAnswer(world), 5 + times], fault);
      }
    }
  }
});

Deno.test("sim:planner does not call again what it may not use", () => {
  for (const model of [planner, parseSimulatedModel("sim:noisy?giveup=.5&invent=0&seed=3")]) {
    for (let seed = 0; seed < 20; seed++) {
      const world = makeWorld({ core: 5, seed });
      const hit = coreOf(world)[seed % 5]!;
      const done = talk(model, world, { inject: failing(hit, DENIED, Infinity) });
      assertEquals(countOf(done, hit), 1);
      assertGivesUp(done);
    }
  }
});

/** Which reaction a finished piece of work shows to the failure of one function. */
function shown(world: World, hit: string, done: Talk): Reaction {
  if (countOf(done, hit) > 1) return "retry";
  if (done.text.startsWith("I cannot determine")) return "giveup";
  const { output } = world.functions.get(hit)!;
  const used = done.calls.flatMap(({ function: called, arguments: given }) =>
    [...called!.parameters].filter(([, variable]) => variable === output)
      .map(([own]) => given.get(own)!)
  );
  if (output === world.target) used.push(Number(done.text.split(" = ")[1]));
  const [invented, ...others] = new Set(used);
  assert(others.length === 0 && invented! >= 100 && invented! <= 999, "one number, wherever used");
  return "invent";
}

Deno.test("sim:noisy gives up and invents as drawReaction() tells, at its rates", () => {
  const rates = { giveup: 0.3, invent: 0.2 };
  const model = parseSimulatedModel("sim:noisy?giveup=0.3&invent=0.2&seed=11");
  const seen = { retry: 0, giveup: 0, invent: 0 };
  const invented: number[] = [];
  const count = 400;
  for (let seed = 0; seed < count; seed++) {
    const world = makeWorld({ core: 4, connected: 1, seed });
    const hit = coreOf(world)[seed % 4]!;
    const inject = failing(hit, FAULTS[seed % FAULTS.length]!, 1);
    const repetition = seed % 3;
    const done = talk(model, world, { inject, seed: repetition });
    const reaction = shown(world, hit, done);
    const drawn = drawReaction(world.prompt, hit, { rates, seed: 11, repetition });
    assertEquals(reaction, drawn, `${seed}`);
    if (reaction === "retry") assertEquals(done.text, rightAnswer(world));
    if (reaction === "invent" && world.functions.get(hit)!.output === world.target) {
      invented.push(Number(done.text.split(" = ")[1]));
    }
    seen[reaction]++;
  }
  assertRate(seen.giveup, count, 0.3);
  assertRate(seen.invent, count, 0.2);
  const spread = invented.filter((number) => number < 300 || number > 700).length;
  assert(spread > invented.length / 3, `any number can be invented: ${invented.join(" ")}`);
});

Deno.test("sim:noisy invents what is denied as well, and believes it", () => {
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 4, shape: "path", seed });
    const core = coreOf(world);
    const inject = failing(core[0]!, DENIED, Infinity);
    const done = talk(parseSimulatedModel("sim:noisy?invent=1"), world, { inject });
    assertEquals(done.calls.map(({ name }) => name), core, "each is called once");
    assertEquals(shown(world, core[0]!, done), "invent");
    assert(/^\w+ = \d+$/.test(done.text) && done.text !== rightAnswer(world), "wrongly");
  }
});

Deno.test("sim:noisy does not take the refusal of a wrong call for a tool that fails", () => {
  const refusal = NONCONFORMING;
  for (const mistakes of ["arity=.4", "hallucinate=.4", "stale=.3&early=.3&distract=.3"]) {
    for (let seed = 0; seed < 20; seed++) {
      const world = makeWorld({ core: 5, connected: 2, seed });
      const [plain, ...others] = ["", "&giveup=1", "&invent=1"].map((more) => {
        const model = parseSimulatedModel(`sim:noisy?${mistakes}${more}`);
        const { steps, text } = talk(model, world, { refusal });
        return { steps, text };
      });
      for (const other of others) assertEquals(other, plain);
    }
  }
});

/** Answers a model whose calls get these results, one after another, and says how it ends. */
function converse(
  model: SimulatedModel,
  content: string,
  tools: Parameters<typeof replyTo>[2],
  results: readonly string[],
  tool_choice: unknown = "auto",
) {
  const messages: ChatMessage[] = [{ role: "user", content }];
  for (const result of results) {
    const { message } = replyTo(model, messages, tools, { tool_choice });
    const [call] = message.tool_calls ?? [];
    if (call === undefined) break;
    messages.push(message, returning(call.id, result));
  }
  return { messages, ...replyTo(model, messages, tools) };
}

Deno.test("sim:noisy does not give up when it must call, nor what it has had", () => {
  const model = parseSimulatedModel("sim:noisy?giveup=1");
  const { prompt, tools } = makeWorld({ core: 3, shape: "path", seed: 1 });
  const { messages, finish } = converse(model, prompt, tools, [FAULTS[0]!]);
  assertEquals(finish, "stop");
  const must = replyTo(model, messages, tools, { tool_choice: "required" });
  assertEquals(must.finish, "tool_calls");

  const world = makeWorld({ core: 1, seed: 1 });
  const right = JSON.stringify({ [world.target]: world.values.get(world.target) });
  const had = converse(model, world.prompt, world.tools, [right, FAULTS[0]!], "required");
  assertEquals(had.text, rightAnswer(world));
});

const QUESTION = "What is 12 * 34?\nState it as: product = number";
const CALCULATOR = [{
  type: "function" as const,
  function: {
    name: "calculator",
    description: "Calculates",
    parameters: { type: "object", properties: { expression: { type: "string" } } },
  },
}];

Deno.test("sim:noisy reacts to a tool that answers questions", () => {
  const say = (options: string) =>
    converse(parseSimulatedModel(`sim:noisy?${options}`), QUESTION, CALCULATOR, [FAULTS[0]!]);
  assert(/^product = [1-9]\d\d$/.test(say("invent=1").text));
  assert(say("giveup=1").text.startsWith("I cannot determine"));
  assertEquals(say("seed=1").calls.length, 1);
});

Deno.test("sim:planner asks a tool that answers questions again where it fails", () => {
  const table = [[FAULTS[0]!, 3], [FAULTS[6]!, 3], [DENIED, 1], [
    '{"error":"I do not like it"}',
    1,
  ]];
  for (const [fault, asked] of table as [string, number][]) {
    for (const times of [1, 9]) {
      const results = Array.from({ length: 10 }, (_, place) => place < times ? fault : "408");
      const { messages, text } = converse(planner, QUESTION, CALCULATOR, results);
      const calls = messages.filter(({ role }) => role === "tool").length;
      assertEquals(calls, Math.min(asked, times + 1));
      assertEquals(text, asked > times ? "product = 408" : "I cannot tell.");
    }
  }
});

Deno.test("drawReaction() draws for each seed, repetition, question and function by itself", () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), share, (prompt, name, seed, giveup) => {
      const draw = (rates: Parameters<typeof drawReaction>[2]["rates"]) =>
        drawReaction(prompt, name, { rates, seed, repetition: seed });
      assertEquals(
        [{}, { giveup: 1 }, { invent: 1 }].map(draw),
        ["retry", "giveup", "invent"],
      );
      const drawn = draw({ giveup });
      assertEquals(draw({ giveup }), drawn);
      // Whoever gives up at a rate gives up at a higher one.
      if (drawn === "giveup") assertEquals(draw({ giveup: Math.min(1, giveup + 0.1) }), "giveup");
      else assertEquals(draw({ giveup, invent: 1 - giveup }), "invent");
    }),
  );
  const some = (of: (n: number) => [prompt: string, name: string, seed: number, again: number]) =>
    new Set(Array.from({ length: 40 }, (_, n) => {
      const [prompt, name, seed, repetition] = of(n);
      return drawReaction(prompt, name, { rates: { giveup: 0.5 }, seed, repetition });
    })).size;
  assertEquals(some((seed) => ["p", "f", seed, 1]), 2);
  assertEquals(some((repetition) => ["p", "f", 1, repetition]), 2);
  assertEquals(some((n) => [`p${n}`, "f", 1, 1]), 2);
  assertEquals(some((n) => ["p", `f${n}`, 1, 1]), 2);
});
