import { assert, assertEquals, assertNotEquals, assertNotMatch } from "@std/assert";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { assertRate, isFaithful, makeWorld, talk, type World } from "../support/simulated_world.ts";

/** Tasks of many shapes; seeds make every count in this file the same on every machine. */
function* worlds(count: number): Generator<World> {
  for (let seed = 0; seed < count; seed++) {
    const linking = seed % 2 === 0 ? "types" : "names";
    yield makeWorld({ core: 10, connected: 4, disconnected: 2, linking, seed });
  }
}

Deno.test("parseSimulatedModel() gives the planner where all rates are 0", () => {
  const planner = parseSimulatedModel("sim:planner");
  const noisy = parseSimulatedModel("sim:noisy?early=0&seed=9");
  for (const world of worlds(40)) {
    const choices = (model: typeof planner) =>
      talk(model, world).answers.map((answer) => answer.choices);
    assertEquals(choices(noisy), choices(planner));
  }
});

Deno.test("parseSimulatedModel() invents names at the rate of hallucinate", () => {
  const model = parseSimulatedModel("sim:noisy?hallucinate=0.2");
  let invented = 0;
  let opportunities = 0;
  for (const world of worlds(100)) {
    const { steps, calls, text } = talk(model, world);
    opportunities += calls.length;
    invented += calls.filter((call) => call.function === undefined).length;
    for (const { known, calls } of steps) {
      for (const call of calls.filter((call) => call.function !== undefined)) {
        assert(isFaithful(call, known), "nothing else goes wrong");
      }
    }
    const right = `${world.target} = ${world.values.get(world.target)}`;
    assert(text === right || text.startsWith("I cannot determine"), text);
  }
  assertRate(invented, opportunities, 0.2);
});

Deno.test("parseSimulatedModel() drops arguments at the rate of arity", () => {
  const model = parseSimulatedModel("sim:noisy?arity=0.3");
  let dropped = 0;
  let opportunities = 0;
  for (const world of worlds(100)) {
    for (const { known, calls } of talk(model, world).steps) {
      for (const call of calls) {
        opportunities++;
        if (isFaithful(call, known)) continue;
        dropped++;
        assertEquals(call.arguments.size, call.function!.parameters.size - 1);
        for (const [own, value] of call.arguments) {
          assertEquals(value, known.get(call.function!.parameters.get(own)!));
        }
      }
    }
  }
  assertRate(dropped, opportunities, 0.3);
});

Deno.test("parseSimulatedModel() mistakes values at the rate of stale", () => {
  const model = parseSimulatedModel("sim:noisy?stale=0.4");
  let stale = 0;
  let opportunities = 0;
  for (const world of worlds(150)) {
    const { steps, calls, text } = talk(model, world);
    for (const { known, calls } of steps) {
      for (const call of calls) {
        const values = new Set(known.values());
        if (values.size > 1) opportunities++;
        if (isFaithful(call, known)) continue;
        stale++;
        const bad = [...call.arguments].filter(([own, value]) =>
          value !== known.get(call.function!.parameters.get(own)!)
        );
        assertEquals(bad.length, 1, "one argument only");
        assert(values.has(bad[0]![1]), "a value that it has seen");
      }
    }
    assertEquals(calls.length, 10, "nothing is called twice");
    assertEquals(text, `${world.target} = ${calls.at(-1)!.result}`, "it believes what it gets");
  }
  assertRate(stale, opportunities, 0.4);
});

Deno.test("parseSimulatedModel() is at a quarter of stale for a restated value", () => {
  const model = parseSimulatedModel("sim:noisy?stale=0.8");
  let stale = 0;
  let opportunities = 0;
  for (let seed = 0; seed < 500; seed++) {
    const world = makeWorld({ core: 12, seed });
    const { steps } = talk(model, world, { restate: true });
    // Before the first reply no result can restate anything.
    for (const { known, calls } of steps.slice(1)) {
      for (const call of calls) {
        opportunities++;
        if (!isFaithful(call, known)) stale++;
      }
    }
  }
  assertRate(stale, opportunities, 0.2);
});

Deno.test("parseSimulatedModel() calls consumers early at the rate of early", () => {
  const model = parseSimulatedModel("sim:noisy?early=0.3");
  let early = 0;
  let opportunities = 0;
  for (let seed = 0; seed < 150; seed++) {
    // On a path every function but the target's has one consumer, and no other is in question.
    const world = makeWorld({ core: 10, shape: "path", seed });
    const { steps, calls, text } = talk(model, world);
    for (const { known, calls } of steps) {
      const [intended, guessed, ...others] = calls;
      assert(isFaithful(intended!, known), "the intended call stays right");
      assertEquals(others, []);
      if (intended!.function!.output !== world.target) opportunities++;
      if (guessed === undefined) continue;
      early++;
      const wanted = [...guessed.function!.parameters.values()];
      assertEquals(wanted, [intended!.function!.output]);
      assert([...known.values()].includes([...guessed.arguments.values()][0]!));
    }
    assertEquals(new Set(calls.map((call) => call.name)).size, calls.length, "nothing twice");
    const last = calls.findLast((call) => call.function!.output === world.target);
    assertEquals(text, `${world.target} = ${last!.result}`, "it believes what was returned");
  }
  assertRate(early, opportunities, 0.3);
});

Deno.test("parseSimulatedModel() calls early what has unknown inputs", () => {
  const model = parseSimulatedModel("sim:noisy?early=1");
  for (const world of worlds(40)) {
    const { steps, calls } = talk(model, world);
    assertEquals(new Set(calls.map((call) => call.name)).size, calls.length, "nothing twice");
    for (const { known, calls } of steps) {
      for (const call of calls) {
        assertEquals(call.arguments.size, call.function!.parameters.size, "all are filled in");
        for (const [own, variable] of call.function!.parameters) {
          const value = call.arguments.get(own)!;
          if (known.has(variable)) assertEquals(value, known.get(variable));
          else assert([...known.values()].includes(value));
        }
      }
    }
  }
});

Deno.test("parseSimulatedModel() calls distractors at the rate of distract", () => {
  const model = parseSimulatedModel("sim:noisy?distract=0.25");
  let distracted = 0;
  let opportunities = 0;
  for (const world of worlds(150)) {
    const { steps, calls, text } = talk(model, world);
    const called = new Set<string>();
    for (const { known, calls } of steps) {
      const possible = [...world.functions.values()].filter(({ role, name, parameters }) =>
        role !== "core" && !called.has(name) &&
        [...parameters.values()].every((variable) => known.has(variable))
      );
      if (possible.length > 0) opportunities++;
      const extra = calls.filter((call) => call.function!.role !== "core");
      assert(extra.length <= 1);
      for (const call of extra) {
        distracted++;
        assert(isFaithful(call, known), "with right values");
        assertEquals(call.function!.role, "connected");
        called.add(call.name);
      }
    }
    assertEquals(new Set(calls.map((call) => call.name)).size, calls.length, "at most once");
    assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
  }
  assertRate(distracted, opportunities, 0.25);
});

Deno.test("parseSimulatedModel() ends early at the rate of quit", () => {
  const model = parseSimulatedModel("sim:noisy?quit=0.1");
  let quit = 0;
  let opportunities = 0;
  for (let seed = 0; seed < 200; seed++) {
    const world = makeWorld({ core: 6, shape: "path", seed });
    const { steps, text } = talk(model, world);
    opportunities += steps.length;
    if (text === `${world.target} = ${world.values.get(world.target)}`) continue;
    quit++;
    opportunities++;
    assertNotMatch(text, /\d/);
  }
  assertRate(quit, opportunities, 0.1);
});

Deno.test("parseSimulatedModel() spoils a call in one of three ways at most", () => {
  const model = parseSimulatedModel("sim:noisy?hallucinate=0.3&arity=0.3&stale=0.3");
  let spoiled = { invented: 0, dropped: 0, stale: 0 };
  let opportunities = 0;
  for (const world of worlds(150)) {
    for (const { known, calls } of talk(model, world).steps) {
      for (const call of calls) {
        opportunities++;
        const { invented, dropped, stale } = spoiled;
        if (call.function === undefined) {
          spoiled = { invented: invented + 1, dropped, stale };
          assert(
            [...call.arguments.values()].every((value) => [...known.values()].includes(value)),
          );
        } else if (call.arguments.size < call.function.parameters.size) {
          spoiled = { invented, dropped: dropped + 1, stale };
        } else if (!isFaithful(call, known)) {
          spoiled = { invented, dropped, stale: stale + 1 };
        }
      }
    }
  }
  assertRate(spoiled.invented, opportunities, 0.3);
  assertRate(spoiled.dropped, opportunities, 0.3 * 0.7);
  assertRate(spoiled.stale, opportunities, 0.3 * 0.7 * 0.7);
});

Deno.test("parseSimulatedModel() always ends", () => {
  const rates = ["hallucinate=1", "arity=1", "stale=1", "early=1", "distract=1", "quit=1"];
  for (const world of worlds(10)) {
    for (const rate of rates) talk(parseSimulatedModel(`sim:noisy?${rate}`), world);
    const all = "hallucinate=.4&arity=.4&stale=.5&early=.6&distract=.7";
    for (let seed = 0; seed < 20; seed++) {
      talk(parseSimulatedModel(`sim:noisy?${all}&seed=${seed}`), world, {
        restate: seed % 2 === 0,
      });
    }
  }
  const path = makeWorld({ core: 4, shape: "path", seed: 0 });
  for (const rate of ["hallucinate=1", "arity=1"]) {
    const { calls, text } = talk(parseSimulatedModel(`sim:noisy?${rate}`), path);
    assertEquals(calls.length, 3, "a refused call is made twice more");
    assert(text.startsWith("I cannot determine"));
  }
});

Deno.test("parseSimulatedModel() keeps no state between replies", () => {
  const name = "sim:noisy?hallucinate=.2&arity=.2&stale=.2&early=.2&distract=.2&memory=4&seed=5";
  const model = parseSimulatedModel(name);
  const talks = Array.from(worlds(20), (world) => talk(model, world));
  for (const { requests, answers } of talks.reverse()) {
    for (const [index, request] of [...requests.entries()].reverse()) {
      const copy = JSON.parse(JSON.stringify(request));
      assertEquals(parseSimulatedModel(name).reply(copy), answers[index]);
    }
  }
});

Deno.test("parseSimulatedModel() draws anew for another seed", () => {
  const names = (model: string, seed?: number) =>
    Array.from(worlds(20), (world) => {
      const options = seed === undefined ? {} : { seed };
      return talk(parseSimulatedModel(model), world, options).calls.map((call) => call.name);
    });
  const plain = names("sim:noisy?hallucinate=.5");
  assertEquals(names("sim:noisy?hallucinate=.5&seed=0", 0), plain);
  assertNotEquals(names("sim:noisy?hallucinate=.5&seed=1"), plain);
  assertNotEquals(names("sim:noisy?hallucinate=.5", 1), plain);
});

Deno.test("parseSimulatedModel() shares its noise between strategies and tasks", () => {
  const model = parseSimulatedModel("sim:noisy?hallucinate=.3&arity=.3&early=.3&distract=.5");
  const calls = (world: World, restate: boolean) =>
    talk(model, world, { restate }).calls.map(({ name, arguments: given }) => [name, ...given]);
  for (const world of worlds(20)) {
    assertEquals(calls(world, true), calls(world, false));
    const reordered = { ...world, tools: world.tools.toReversed() };
    assertEquals(calls(reordered, false), calls(world, false));
  }
});
