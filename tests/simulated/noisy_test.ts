// The mistakes of sim:noisy in random tasks: each at its rate, and nothing else that goes wrong.
// Runs without counters of lines.

import { assert, assertEquals, assertGreater, assertNotEquals, assertNotMatch } from "@std/assert";
import type { FailureType } from "../../lib/calls/failure_types.ts";
import { callsOf, type Parse, type ReplyEvent } from "../../lib/calls/trace.ts";
import { inTextFormat } from "../../lib/models/formats/_adapter.ts";
import { type Api, TEXT_FORMATS } from "../../lib/models/formats/registry.ts";
import type { Model } from "../../lib/models/model.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { type Break, drawBreak, parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { drawReaction, type Reaction } from "../../lib/simulated/_noisy.ts";
import { startSimulatedServer } from "../../lib/simulated/server.ts";
import type { ChatMessage, SimulatedModel } from "../../lib/simulated/_wire.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { inProcess } from "../support/in_process.ts";
import {
  assertRate,
  type Call,
  isFaithful,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  returning,
  type Step,
  type Talk,
  talk,
  type World,
  type WorldSpec,
} from "../support/simulated_world.ts";

type Spec = Omit<WorldSpec, "seed">;

const TASK: Spec = { core: 10, connected: 4, disconnected: 2 };
/** Each function takes what the one before makes. */
const PATH: Spec = { core: 10, shape: "path" };

/** Tasks of a shape; their seeds make every count in this file the same on every machine. */
function* worlds(count: number, spec = TASK): Generator<World> {
  for (let seed = 0; seed < count; seed++) {
    yield makeWorld({ linking: seed % 2 === 0 ? "types" : "names", ...spec, seed });
  }
}

function model(options: string) {
  return parseSimulatedModel(`sim:noisy?${options}`);
}

type Kind = "right" | "invented" | "dropped" | "misnamed" | "stale" | "early" | "irrelevant";

/** What a call is; fails where it is wrong in more than one way. */
function kindOf(call: Call, { known }: Step): Kind {
  const values = new Set<unknown>(known.values());
  const given = [...call.arguments];
  if (call.function === undefined) {
    assert(given.every(([, value]) => values.has(value)), "an invented name, for right values");
    return "invented";
  }
  const { parameters, role } = call.function;
  const misnamed = given.filter(([own]) => !parameters.has(own));
  if (misnamed.length > 0) {
    assertEquals([misnamed.length, given.length], [1, parameters.size], "one has another name");
    return "misnamed";
  }
  const wrong = given.filter(([own, value]) => value !== known.get(parameters.get(own)!));
  if (given.length < parameters.size) {
    assertEquals([given.length, wrong], [parameters.size - 1, []], "one is dropped");
    return "dropped";
  }
  if ([...parameters.values()].some((variable) => !known.has(variable))) {
    assert(wrong.every(([own, value]) => !known.has(parameters.get(own)!) && values.has(value)));
    return "early";
  }
  if (wrong.length === 0) return role === "core" ? "right" : "irrelevant";
  assert(wrong.length === 1 && values.has(wrong[0]![1]), "one value that it has seen");
  return "stale";
}

/** How often each kind was possible in a step. */
function opportunitiesIn({ known, calls, before }: Step, { functions, target }: World) {
  const intended = calls.filter((call) => call.function?.role !== "connected");
  const called = new Set(before.map(({ name }) => name));
  const isIdle = [...functions.values()].some(({ role, name, parameters }) =>
    role !== "core" && !called.has(name) &&
    [...parameters.values()].every((variable) => known.has(variable))
  );
  // On a path every function but the target's has one consumer.
  const consumed = calls[0]?.function?.output === target ? 0 : 1;
  return {
    ...{ invented: intended.length, dropped: intended.length, misnamed: intended.length },
    stale: new Set(known.values()).size > 1 ? intended.length : 0,
    ...{ early: consumed, irrelevant: isIdle ? 1 : 0 },
  };
}

/** Options, how often each kind of call then comes of an opportunity, and the tasks. */
const TABLE: readonly (readonly [string, Partial<Record<Kind, number>>, Spec?])[] = [
  ["hallucinate=.2", { invented: 0.2 }],
  ["arity=.3", { dropped: 0.3 }],
  ["key=.3", { misnamed: 0.3 }],
  ["stale=.4", { stale: 0.4 }],
  ["early=.3", { early: 0.3 }, PATH],
  ["distract=.25", { irrelevant: 0.25 }],
  [
    "hallucinate=.3&arity=.3&stale=.3",
    { invented: 0.3, dropped: 0.3 * 0.7, stale: 0.3 * 0.7 * 0.7 },
  ],
];

for (const [options, rates, spec] of TABLE) {
  Deno.test(`sim:noisy?${options} errs at its rates, and in nothing else`, () => {
    const seen = new Map<Kind, number>();
    const possible = new Map<string, number>();
    for (const world of worlds(50, spec)) {
      const { steps, calls, text } = talk(model(options), world);
      for (const step of steps) {
        for (const kind of step.calls.map((call) => kindOf(call, step))) {
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
        }
        for (const [kind, count] of Object.entries(opportunitiesIn(step, world))) {
          possible.set(kind, (possible.get(kind) ?? 0) + count);
        }
      }
      const done = calls.filter(({ result }) => result !== undefined).map(({ name }) => name);
      assertEquals(new Set(done).size, done.length, "nothing twice that was not refused");
      const last = calls.findLast((call) => call.function?.output === world.target);
      const isLost = text.startsWith("I cannot determine") &&
        ["invented", "dropped", "misnamed"].some((kind) => kind in rates);
      assert(isLost || text === `${world.target} = ${last!.result}`, "it believes what it gets");
    }
    assertEquals(new Set(seen.keys()), new Set(["right", ...Object.keys(rates)]));
    for (const [kind, rate] of Object.entries(rates)) {
      assertRate(seen.get(kind as Kind)!, possible.get(kind)!, rate);
    }
  });
}

Deno.test("sim:noisy?stale= mistakes a restated value a quarter as often", () => {
  const calls = Array.from(
    worlds(30, { core: 12 }),
    // Before the first reply no result can restate anything.
    (world) => talk(model("stale=.8"), world, { restate: true }).steps.slice(1),
  ).flat().flatMap((step) => step.calls.map((call) => kindOf(call, step)));
  assertRate(calls.filter((kind) => kind === "stale").length, calls.length, 0.2);
});

Deno.test("sim:noisy?quit= ends early, with a text without a number, at its rate", () => {
  let [quit, opportunities] = [0, 0];
  for (const world of worlds(50, { core: 6, shape: "path" })) {
    const { steps, text } = talk(model("quit=.1"), world);
    const isQuit = text !== `${world.target} = ${world.values.get(world.target)}`;
    if (isQuit) assertNotMatch(text, /\d/);
    quit += isQuit ? 1 : 0;
    opportunities += steps.length + (isQuit ? 1 : 0);
  }
  assertRate(quit, opportunities, 0.1);
});

Deno.test("sim:noisy?copy= changes one digit: sign and length stay, and no number begins with 0", () => {
  const tools = [makeTool("func_a", "Processes variable a to produce variable b", ["a"])];
  const copiesOf = (value: number) =>
    new Set(Array.from({ length: 400 }, (_, seed) => {
      const [call] = replyTo(
        model(`copy=1&seed=${seed}`),
        makePrompt("b", new Map([["a", value]])),
        tools,
      ).calls;
      return call![1]["a"];
    }));
  const every = (value: number) => {
    const digits = `${Math.abs(value)}`;
    const copies = [...digits].flatMap((digit, place) =>
      [..."0123456789"].map((other) => digits.slice(0, place) + other + digits.slice(place + 1))
        .filter((copy) => copy[place] !== digit && copy[0] !== "0")
    );
    return new Set(copies.map((copy) => Number(copy) * (value < 0 ? -1 : 1)));
  };
  for (const value of [731, -42, 5, 0, 100, 123456]) assertEquals(copiesOf(value), every(value));
});

Deno.test("sim:noisy?copy= copies arguments wrong at its rate, in no call that is spoiled already", () => {
  const wrongIn = (options: string) =>
    Array.from(worlds(25), (world) => talk(model(options), world).steps).flat()
      .flatMap(({ calls, known }) =>
        calls.map(({ arguments: given, function: called }) =>
          [...given].map(([own, value]) => value !== known.get(called!.parameters.get(own)!))
        )
      );
  const args = wrongIn("copy=.15&distract=.5").flat();
  assertRate(args.filter(Boolean).length, args.length, 0.15);
  const seen = { stale: 0, copied: 0 };
  for (const wrong of wrongIn("copy=1&stale=.5").filter(({ length }) => length > 1)) {
    const count = wrong.filter(Boolean).length;
    assert(count === 1 || count === wrong.length, `${count} of ${wrong.length} are wrong`);
    seen[count === 1 ? "stale" : "copied"]++;
  }
  assertGreater(Math.min(seen.stale, seen.copied), 30);
});

Deno.test("sim:noisy leaves its other mistakes as they were drawn when copy, memory or restating come in", () => {
  const mistakes = "hallucinate=.2&arity=.2&distract=.4&early=.2&quit=.05&seed=3";
  let differ = 0;
  for (const world of worlds(8)) {
    const shapes = (more: string, restate = false) =>
      talk(model(`${mistakes}${more}`), world, { restate }).calls
        .map(({ name, arguments: given }) => [name, ...given.keys()]);
    const values = (more: string) =>
      talk(model(`${mistakes}${more}`), world).calls.map((call) => [...call.arguments.values()]);
    const plain = shapes("");
    for (const more of ["&copy=.5", "&copy=0", "&memory=3"]) assertEquals(shapes(more), plain);
    assertEquals(shapes("", true), plain);
    assertEquals(shapes("&memory=3", true), plain);
    if (JSON.stringify(values("&copy=.5")) !== JSON.stringify(values(""))) differ++;
  }
  assertGreater(differ, 5);
});

Deno.test("sim:noisy's mistakes come out as failures of their types, or as none", async () => {
  const trialsOf = (options: string) =>
    Promise.all(Array.from({ length: 8 }, (_, seed) => {
      const spec = { core: 6, depth: 3, connected: 3, disconnected: 1, seed };
      return runTrial(spec, inProcess(`sim:noisy?${options}&seed=5`));
    }));
  const types: Readonly<Record<string, FailureType>> = {
    hallucinate: "function_not_found",
    ...{ arity: "wrong_number_of_inputs", key: "wrong_number_of_inputs" },
    early: "value_not_yet_known",
    stale: "incorrect_value",
  };
  for (const [mistake, type] of Object.entries(types)) {
    const trials = await trialsOf(`${mistake}=.1`);
    const roots = trials.flatMap(({ failures }) => failures.filter(({ root }) => root));
    assertEquals(new Set(roots.map((failure) => failure.type)), new Set([type]));
  }
  const distracted = await trialsOf("distract=.3");
  for (const { solved, failures } of distracted) assertEquals([solved, failures], [true, []]);
  assert(distracted.some(({ calls, minimumCalls }) => calls > minimumCalls!));
  const outcomes = (await trialsOf("quit=.1")).map(({ outcome }) => outcome);
  assertEquals(new Set(outcomes), new Set(["solved", "no_answer"] as const));
});

Deno.test("sim:noisy always ends", () => {
  for (const world of worlds(5)) {
    for (const mistake of ["hallucinate", "arity", "key", "stale", "early", "distract", "quit"]) {
      talk(model(`${mistake}=1`), world);
    }
    for (let seed = 0; seed < 10; seed++) {
      const all = `hallucinate=.4&arity=.4&stale=.5&early=.6&distract=.7&seed=${seed}`;
      talk(model(all), world, { restate: seed % 2 === 0 });
    }
  }
  const path = makeWorld({ core: 4, shape: "path", seed: 0 });
  for (const mistake of ["hallucinate=1", "arity=1"]) {
    const { calls, text } = talk(model(mistake), path);
    assertEquals(calls.length, 3, "a refused call is made twice more");
    assert(text.startsWith("I cannot determine"));
  }
});

Deno.test("sim:noisy keeps no state, and draws anew for another seed, in its name or the request", () => {
  const mistakes = "hallucinate=.2&arity=.2&stale=.2&early=.2&distract=.2&memory=4&seed=5";
  const talks = Array.from(worlds(10), (world) => talk(model(mistakes), world));
  for (const { requests, answers } of talks.reverse()) {
    for (const [index, request] of [...requests.entries()].reverse()) {
      assertEquals(model(mistakes).reply(JSON.parse(JSON.stringify(request))), answers[index]);
    }
  }
  const names = (options: string, more = {}) =>
    Array.from(
      worlds(10),
      (world) => talk(model(options), world, more).calls.map(({ name }) => name),
    );
  const plain = names("hallucinate=.5");
  assertEquals(names("hallucinate=.5&seed=0", { seed: 0 }), plain);
  assertNotEquals(names("hallucinate=.5&seed=1"), plain);
  assertNotEquals(names("hallucinate=.5", { seed: 1 }), plain);
});

Deno.test("sim:noisy shares its noise between strategies, and between orders of the tools", () => {
  const options = "hallucinate=.3&arity=.3&early=.3&distract=.5";
  const calls = (world: World, restate: boolean) =>
    talk(model(options), world, { restate }).calls
      .map(({ name, arguments: given }) => [name, ...given]);
  for (const world of worlds(5)) {
    assertEquals(calls(world, true), calls(world, false));
    assertEquals(calls({ ...world, tools: world.tools.toReversed() }, false), calls(world, false));
  }
});

// Simulated models that break the form of their calls, at stated rates and in ways that are known.

const PARSED: Readonly<Record<Break, Parse>> = { mendable: "repaired", hopeless: "unreadable" };

Deno.test("sim:noisy breaks calls of its own in several ways, whichever of them it is", () => {
  const names = ["b", "c", "d"];
  const tools = names.map((name) =>
    makeTool(`func_${name}`, `Processes variable a to produce variable ${name}`, ["a"])
  );
  const last = makeTool(
    "func_e",
    `Processes ${names.map((name) => `variable ${name}`).join(", ")} to produce variable e`,
    names,
  );
  const places = new Set<number>();
  const ways = (options: string) => {
    const model = parseSimulatedModel(`sim:noisy?breakFormat=1&${options}`);
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const messages = [{ role: "user", content: makePrompt("e", new Map([["a", 731]])) }] as const;
      const answer = model.reply({ model: model.name, messages, tools: [...tools, last], seed });
      const calls: readonly { id: string; function: { arguments: unknown } }[] = answer.choices[0]
        .message.tool_calls!;
      const [broken, ...others] = calls.flatMap(({ id, function: { arguments: given } }, place) =>
        id !== "" && given === '{"a":731}' ? [] : [{ id, given, place }]
      );
      assertEquals(others, []);
      const { id, given, place } = broken!;
      places.add(place);
      seen.add(id === "" ? "no id" : typeof given === "string" ? given : "an object");
      assert(answer.usage.completion_tokens > 0 && answer.usage.total_tokens > 0);
    }
    return [...seen].sort();
  };
  assertEquals(ways("hopeless=0"), ["an object", "no id"]);
  const words = "the values that are known by now";
  assertEquals(ways("hopeless=1"), [words, '{"a', '{"a":'].sort());
  assertEquals([...places].sort(), [0, 1, 2]);
});

const APIS: readonly Api[] = ["chat", "responses", ...TEXT_FORMATS];

/** A simulated model behind HTTP, however it is spoken to. */
function modelAt(baseURL: string, model: string, api: Api): Model {
  const options = {
    ...{ model, baseURL, apiKey: "simulated", simulated: true },
    requestFields: ({ context }: { context: { repetition: number } }) => ({
      seed: context.repetition,
    }),
  };
  if (api === "chat" || api === "responses") return openai({ ...options, api });
  return inTextFormat(openai(options), api);
}

/** The replies of the loop that attempt calls. */
function attemptsIn({ events }: Trial): ReplyEvent[] {
  return events.filter((event): event is ReplyEvent =>
    event.kind === "reply" && event.stage === undefined && event.parsed !== undefined
  );
}

const RATES = { breakFormat: 0.4, hopeless: 0.4 };

for (const api of APIS) {
  Deno.test(`sim:noisy breaks just the replies in ${api} that drawBreak() tells`, async () => {
    await using server = await startSimulatedServer();
    const model = modelAt(server.url, "sim:noisy?breakFormat=.4&hopeless=.4&seed=5", api);
    for (let seed = 0; seed < 5; seed++) {
      const spec = { core: 6, depth: 1 + seed % 5, connected: 1, disconnected: 0, seed };
      const trial = await runTrial(spec, model, { limits: { calls: 300 } });
      const { prompt } = generateTask(spec);
      const attempts = attemptsIn(trial).map(({ parsed }) => parsed!);
      const drawn = attempts.map((_, step): Parse => {
        const kind = drawBreak(prompt, step, { rates: RATES, seed: 5, repetition: 1 });
        return kind === undefined ? "strict" : PARSED[kind];
      });
      assertEquals(attempts, drawn);
      // Nothing else goes wrong, and what could not be read is written again.
      assertEquals(trial.outcome, "solved");
      const hopeless = drawn.filter((parsed) => parsed === "unreadable").length;
      assertEquals(trial.calls, trial.minimumCalls! + hopeless);
      assertEquals(
        trial.failures.map(({ detail }) => "malformed" in detail && detail.malformed),
        new Array(hopeless).fill(true),
      );
    }
  });
}

Deno.test("sim:noisy breaks nothing else at the same seed", async () => {
  await using server = await startSimulatedServer();
  const mistakes = "early=.2&stale=.2&distract=.2&hallucinate=.1&arity=.1";
  for (const api of ["chat", "xml", "hermes"] as const) {
    for (let seed = 0; seed < 5; seed++) {
      const spec = { core: 6, depth: 3, connected: 2, disconnected: 0, seed };
      const [plain, mended] = await Promise.all(
        ["", "&breakFormat=1"].map(async (more) => {
          const model = modelAt(server.url, `sim:noisy?${mistakes}${more}`, api);
          return await runTrial(spec, model);
        }),
      );
      // What can be mended is mended without a loss: but for the form all is the same.
      const calls = (trial: Trial) =>
        callsOf(trial.events).map((call) => [
          call.function,
          JSON.parse(call.arguments),
          call.result,
        ]);
      assertEquals(calls(mended!), calls(plain!));
      assertEquals(mended!.outcome, plain!.outcome);
      assertEquals(attemptsIn(plain!).some(({ parsed }) => parsed !== "strict"), false);
      assertEquals(attemptsIn(mended!).every(({ parsed }) => parsed === "repaired"), true);
    }
  }
});

Deno.test("sim:noisy gives up what it cannot get across, and ends", async () => {
  await using server = await startSimulatedServer();
  for (const api of APIS) {
    const model = modelAt(server.url, "sim:noisy?breakFormat=1&hopeless=1", api);
    const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 3 };
    const trial = await runTrial(spec, model, { limits: { calls: 100 } });
    assertEquals([trial.outcome, trial.calls], ["no_answer", 20], api);
  }
});

// Simulated models whose tools fail: they try again, give up or invent, at stated rates.

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

/** A function that fails this many times, and then no more. */
function failing(hit: string, fault: string, times: number) {
  return (name: string, time: number) => name === hit && time <= times ? fault : undefined;
}

Deno.test("sim:planner calls what fails at most twice more", () => {
  for (const [place, fault] of FAULTS.entries()) {
    for (let seed = 0; seed < 2; seed++) {
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
    for (let seed = 0; seed < 8; seed++) {
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
  const count = 200;
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
  for (let seed = 0; seed < 10; seed++) {
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
    for (let seed = 0; seed < 8; seed++) {
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
