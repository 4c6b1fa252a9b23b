// The mistakes of sim:noisy in random tasks: each at its rate, and nothing else that goes wrong.

import { assert, assertEquals, assertGreater, assertNotEquals, assertNotMatch } from "@std/assert";
import type { FailureType } from "../../lib/calls/failure_types.ts";
import { hash64 } from "../../lib/base/random.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { inProcess } from "../support/in_process.ts";
import {
  assertRate,
  type Call,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  type Step,
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

type Kind = "right" | "invented" | "dropped" | "stale" | "early" | "irrelevant";

/** What a call is; fails where it is wrong in more than one way. */
function kindOf(call: Call, { known }: Step): Kind {
  const values = new Set<unknown>(known.values());
  const given = [...call.arguments];
  if (call.function === undefined) {
    assert(given.every(([, value]) => values.has(value)), "an invented name, for right values");
    return "invented";
  }
  const { parameters, role } = call.function;
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
    ...{ invented: intended.length, dropped: intended.length },
    stale: new Set(known.values()).size > 1 ? intended.length : 0,
    ...{ early: consumed, irrelevant: isIdle ? 1 : 0 },
  };
}

/** Options, how often each kind of call then comes of an opportunity, and the tasks. */
const TABLE: readonly (readonly [string, Partial<Record<Kind, number>>, Spec?])[] = [
  ["hallucinate=.2", { invented: 0.2 }],
  ["arity=.3", { dropped: 0.3 }],
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
    for (const world of worlds(100, spec)) {
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
        ("invented" in rates || "dropped" in rates);
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
    worlds(60, { core: 12 }),
    // Before the first reply no result can restate anything.
    (world) => talk(model("stale=.8"), world, { restate: true }).steps.slice(1),
  ).flat().flatMap((step) => step.calls.map((call) => kindOf(call, step)));
  assertRate(calls.filter((kind) => kind === "stale").length, calls.length, 0.2);
});

Deno.test("sim:noisy?early=1 calls everything early, and nothing twice", () => {
  for (const world of worlds(20)) {
    const { steps, calls } = talk(model("early=1"), world);
    assertEquals(new Set(calls.map(({ name }) => name)).size, calls.length);
    for (const step of steps) {
      for (const call of step.calls) {
        assert(["right", "early", "stale"].includes(kindOf(call, step)));
      }
    }
  }
});

Deno.test("sim:noisy?quit= ends early, with a text without a number, at its rate", () => {
  let [quit, opportunities] = [0, 0];
  for (const world of worlds(100, { core: 6, shape: "path" })) {
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
    Array.from(worlds(40), (world) => talk(model(options), world).steps).flat()
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
  for (const world of worlds(20)) {
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
  assertGreater(differ, 15);
});

Deno.test("sim:noisy's mistakes come out as failures of their types, or as none", async () => {
  const trialsOf = (options: string) =>
    Promise.all(Array.from({ length: 20 }, (_, seed) => {
      const spec = { core: 6, depth: 3, connected: 3, disconnected: 1, seed };
      return runTrial(spec, inProcess(`sim:noisy?${options}&seed=5`));
    }));
  const types: Readonly<Record<string, FailureType>> = {
    hallucinate: "function_not_found",
    arity: "wrong_number_of_inputs",
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

Deno.test("sim:noisy gives the planner where all rates are 0", () => {
  const choicesOf = (name: string, world: World) =>
    talk(parseSimulatedModel(name), world).answers.map((answer) => answer.choices);
  for (const world of worlds(20)) {
    assertEquals(choicesOf("sim:noisy?early=0&seed=9", world), choicesOf("sim:planner", world));
  }
});

Deno.test("sim:noisy always ends", () => {
  for (const world of worlds(5)) {
    for (const mistake of ["hallucinate", "arity", "stale", "early", "distract", "quit"]) {
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
  for (const world of worlds(10)) {
    assertEquals(calls(world, true), calls(world, false));
    assertEquals(calls({ ...world, tools: world.tools.toReversed() }, false), calls(world, false));
  }
});

/** Every answer of a model to some tasks, as a hash: journals and recordings rest on them. */
const PINNED: readonly (readonly [name: string, hash: string])[] = [
  ["sim:planner", "879e77f56d952df6"],
  [
    "sim:noisy?hallucinate=.2&arity=.2&stale=.2&early=.2&distract=.3&quit=.03&memory=6&seed=5",
    "d5d9298a1bafc31b",
  ],
  ["sim:noisy?stale=.4&seed=-1", "daf46895e7796e5d"],
  ["sim:noisy?memory=2", "40e11dd0c6d418a2"],
  ["sim:noisy?early=1&distract=1", "5b495c48357bdc27"],
];

Deno.test("simulated models give the answers that they have always given", () => {
  for (const [name, hash] of PINNED) {
    const answers = Array.from({ length: 40 }, (_, seed) => {
      const linking = seed % 2 === 1 ? "names" : "types";
      const [connected, disconnected] = [seed % 5, seed % 3];
      const world = makeWorld({ core: 1 + seed % 14, connected, disconnected, linking, seed });
      return [false, true].map((restate) =>
        talk(parseSimulatedModel(name), world, { restate, seed: seed % 4 }).answers
      );
    });
    assertEquals(hash64(JSON.stringify(answers.flat())).toString(16), hash, name);
  }
});
