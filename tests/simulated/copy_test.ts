// sim:noisy?copy=: digits that are copied wrong, and nothing else that changes.

import { assert, assertEquals, assertGreater } from "@std/assert";
import type { ChatMessage } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { hash64 } from "../../lib/base/random.ts";
import { assertRate, makePrompt, makeTool, makeWorld, talk } from "../support/simulated_world.ts";

/** A world of a seed, with distractors. */
function worldOf(seed: number) {
  const linking = seed % 2 === 0 ? "types" : "names";
  return makeWorld({ core: 10, connected: 4, disconnected: 2, linking, seed });
}

Deno.test("copy= changes one digit of an argument, at its rate", () => {
  const model = parseSimulatedModel("sim:noisy?copy=0.15&distract=.5");
  let wrong = 0;
  let opportunities = 0;
  for (let seed = 0; seed < 100; seed++) {
    for (const { known, calls } of talk(model, worldOf(seed)).steps) {
      for (const call of calls) {
        for (const [own, variable] of call.function!.parameters) {
          const [right, given] = [known.get(variable)!, call.arguments.get(own)!];
          opportunities++;
          if (right === given) continue;
          wrong++;
          const [digits, others] = [`${right}`, `${given}`];
          assertEquals(others.length, digits.length);
          assertEquals([...digits].filter((digit, place) => others[place] !== digit).length, 1);
        }
      }
    }
  }
  assertRate(wrong, opportunities, 0.15);
});

/** What `copy=1` makes of a value, over many seeds. */
function copiesOf(value: number): Set<number> {
  const tools = [makeTool("func_a", "Processes variable a to produce variable b", ["a"])];
  const messages: ChatMessage[] = [
    { role: "user", content: makePrompt("b", new Map([["a", value]])) },
  ];
  return new Set(Array.from({ length: 400 }, (_, seed) => {
    const model = parseSimulatedModel(`sim:noisy?copy=1&seed=${seed}`);
    const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
    return JSON.parse(message.tool_calls![0]!.function.arguments).a;
  }));
}

Deno.test("copy= keeps sign and length, and begins no number with a zero", () => {
  const every = (value: number) => {
    const digits = `${Math.abs(value)}`;
    const copies = [...digits].flatMap((digit, place) =>
      Array.from(
        { length: 10 },
        (_, other) => digits.slice(0, place) + other + digits.slice(place + 1),
      )
        .filter((copy) => copy[place] !== digit && copy[0] !== "0")
    );
    return new Set(copies.map((copy) => Number(copy) * (value < 0 ? -1 : 1)));
  };
  for (const value of [731, -42, 5, 0, 100, 123456]) assertEquals(copiesOf(value), every(value));
});

Deno.test("copy= leaves the other mistakes of a model as they were drawn", () => {
  const mistakes = "hallucinate=.2&arity=.2&distract=.4&early=.2&quit=.05&seed=3";
  let differ = 0;
  for (let seed = 0; seed < 40; seed++) {
    const calls = (options: string) =>
      talk(parseSimulatedModel(`sim:noisy?${mistakes}${options}`), worldOf(seed)).calls;
    const [plain, copied] = [calls(""), calls("&copy=.5")];
    const shapes = (made: typeof plain) =>
      made.map(({ name, arguments: given }) => [name, ...given.keys()]);
    assertEquals(shapes(copied), shapes(plain));
    assertEquals(shapes(calls("&copy=0")), shapes(plain));
    if (JSON.stringify(copied.map(valuesOf)) !== JSON.stringify(plain.map(valuesOf))) differ++;
  }
  assertGreater(differ, 30);
});

function valuesOf({ arguments: given }: { arguments: ReadonlyMap<string, number> }): number[] {
  return [...given.values()];
}

Deno.test("copy= spoils no call that another mistake has spoiled", () => {
  const model = parseSimulatedModel("sim:noisy?copy=1&stale=.5");
  const seen = { stale: 0, copied: 0 };
  for (let seed = 0; seed < 60; seed++) {
    for (const { known, calls } of talk(model, worldOf(seed)).steps) {
      for (const { arguments: given, function: called } of calls) {
        const wrong = [...called!.parameters].filter(([own, variable]) =>
          given.get(own) !== known.get(variable)
        );
        if (given.size === 1) continue;
        if (wrong.length === given.size) seen.copied++;
        else if (wrong.length === 1) seen.stale++;
        else throw new Error(`${wrong.length} of ${given.size} are wrong`);
      }
    }
  }
  assertGreater(seen.stale, 50);
  assertGreater(seen.copied, 50);
});

Deno.test("copy= changes what is given to functions that are not needed, and nothing misread", () => {
  const tools = [
    makeTool("func_a", "Processes variable e to produce variable a", ["e"]),
    makeTool("func_b", "Processes variable a, variable e to produce variable b", ["a", "e"]),
    makeTool("func_x", "Processes variable a to produce variable x", ["a"]),
  ];
  const call = { name: "func_a", arguments: '{"e":111}' };
  const messages: ChatMessage[] = [
    { role: "user", content: makePrompt("b", new Map([["e", 111], ["f", 555]])) },
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "1", type: "function", function: call }],
    },
    { role: "tool", tool_call_id: "1", content: '{"a":333}' },
  ];
  for (let seed = 0; seed < 30; seed++) {
    const model = parseSimulatedModel(`sim:noisy?copy=1&memory=1&distract=1&seed=${seed}`);
    const { message } = model.reply({ model: model.name, messages, tools }).choices[0];
    const [needed, other] = message.tool_calls!.map((made) => JSON.parse(made.function.arguments));
    assert([333, 555].includes(needed.e), "it is too old, and another in its place");
    for (const { a } of [needed, other]) {
      assertEquals([...`${a}`].filter((digit) => digit !== "3").length, 1, `${a}`);
    }
  }
});

/** Every answer of a model to some tasks, as a hash; taken down when there was no `copy` yet. */
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

Deno.test("parseSimulatedModel() gives the answers that it has always given", () => {
  for (const [name, hash] of PINNED) {
    const model = parseSimulatedModel(name);
    const answers = Array.from({ length: 40 }, (_, seed) => {
      const linking = seed % 2 === 1 ? "names" : "types";
      const [connected, disconnected] = [seed % 5, seed % 3];
      const world = makeWorld({ core: 1 + seed % 14, connected, disconnected, linking, seed });
      return [false, true].map((restate) =>
        talk(model, world, { restate, seed: seed % 4 }).answers
      );
    });
    assertEquals(hash64(JSON.stringify(answers.flat())).toString(16), hash, name);
  }
});
