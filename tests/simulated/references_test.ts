// Simulated models whose calls may refer to results of other calls of the same reply.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import type { ChatMessage, ChatRequest, ChatTool } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { type CallEvent, callsOf } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { specs } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";

const planner = inProcess("sim:planner");

/** How many replies called. */
function stepsOf({ events }: Trial): number {
  return Math.max(0, ...callsOf(events).map(({ step }) => step));
}

/** The references in a call, by parameter. */
function referencesIn({ arguments: written }: CallEvent): [parameter: string, text: string][] {
  return Object.entries(JSON.parse(written) as Record<string, unknown>)
    .filter((entry): entry is [string, string] => typeof entry[1] === "string");
}

Deno.test("sim:planner calls at once what waits for nothing but results of the same reply", async () => {
  await fc.assert(
    fc.asyncProperty(specs(30), async (spec) => {
      const referring = await runTrial(spec, planner, { references: true });
      const { outcome, grounded, calls, minimumCalls, failures } = referring;
      assertEquals({ outcome, grounded, calls, failures }, {
        outcome: "solved",
        grounded: true,
        calls: minimumCalls!,
        failures: [],
      });
      // Levels of the graph, five of which one reply can call.
      assertEquals(stepsOf(referring), Math.ceil((spec.depth + 1) / 5));
      const plain = await runTrial(spec, planner);
      assertEquals(stepsOf(plain), spec.depth + 1);
      assertEquals(callsOf(plain.events).flatMap(referencesIn), []);
      const steps = Map.groupBy(callsOf(referring.events), ({ step }) => step);
      const task = generateTask(spec);
      for (const together of steps.values()) {
        for (const [place, call] of together.entries()) {
          const { parameters } = task.functions.find(({ name }) => name === call.function)!;
          for (const [parameter, text] of referencesIn(call)) {
            const [, number, field] = /^\$(\d+)\.(\w+)$/.exec(text)!;
            assert(Number(number) <= place, "it refers to calls before it");
            const { function: name } = together[Number(number) - 1]!;
            const producer = task.functions.find((made) => made.name === name)!;
            assertEquals(field, producer.output.name);
            assertEquals(parameters.find(({ name }) => name === parameter)!.variable, field);
          }
        }
      }
    }),
    { numRuns: 25 },
  );
});

Deno.test("sim:planner solves tasks whose chains may be shorter than it takes them to be", async () => {
  for (const depth of [1, 2, 4]) {
    for (let seed = 0; seed < 4; seed++) {
      const spec = { core: 8, depth: 7, connected: 1, disconnected: 0, seed };
      const options = { references: true, limits: { depth, calls: 60 } };
      const { outcome, failures } = await runTrial(spec, planner, options);
      assertEquals(outcome, "solved");
      assert(failures.length > 0, "some calls were refused");
    }
  }
});

Deno.test("sim:planner refers to results where a function of the chain fails", async () => {
  for (const times of [1, 2]) {
    for (let seed = 0; seed < 15; seed++) {
      const spec = { core: 7, depth: 6, connected: 1, disconnected: 0, seed };
      const options = {
        references: true,
        perturbation: `timeout:${times}`,
        limits: { calls: 60 },
      };
      const trial = await runTrial(spec, planner, options);
      assertEquals(trial.outcome, "solved");
      const calls = callsOf(trial.events);
      const faulty = calls.find(({ fault }) => fault !== undefined)!.function;
      assertEquals(calls.filter((call) => call.function === faulty).length, times + 1);
      for (const { name } of generateTask(spec).functions) {
        const own = calls.filter((call) => call.function === name);
        assert(own.length <= Math.max(2, name === faulty ? times + 1 : 0), "once in vain at most");
        // What was called in vain waits for the values.
        for (const call of own.slice(1)) assertEquals(referencesIn(call), []);
      }
    }
  }
});

Deno.test("sim:noisy refers to results, and ends whatever it does", async () => {
  let [referring, solved] = [0, 0];
  for (
    const mistakes of [
      "hallucinate=.3",
      "arity=.3",
      "early=.5&distract=.5",
      "breakFormat=.4&hopeless=1",
    ]
  ) {
    const model = inProcess(`sim:noisy?${mistakes}&seed=2`);
    for (let seed = 0; seed < 15; seed++) {
      const spec = { core: 6, depth: 5, connected: 2, disconnected: 0, seed };
      const trial = await runTrial(spec, model, { references: true, limits: { calls: 200 } });
      const believes = mistakes.startsWith("early") && trial.outcome === "wrong_answer";
      assert(believes || ["solved", "no_answer"].includes(trial.outcome), trial.outcome);
      const calls = Map.groupBy(callsOf(trial.events), ({ step }) => step);
      for (const together of calls.values()) {
        const names = together.map((call) => call.function);
        assertEquals(new Set(names).size, names.length, "nothing twice in a reply");
      }
      if (trial.outcome === "solved") solved++;
      for (const { function: name, arguments: written } of callsOf(trial.events)) {
        if (/\$\d/.test(written)) referring++;
        assertMatch(name, /^func_/);
      }
    }
  }
  assert(referring > 100 && solved > 30, `${referring} ${solved}`);
});

const REFERENCE = { type: "string", pattern: String.raw`^\$[0-9]+\.` };
const REFERRING = { anyOf: [{ type: "integer" }, REFERENCE] };

/** A function that makes a variable of others, with the schemas of its parameters. */
function makeFunction(to: string, properties: Readonly<Record<string, JsonObject>>): ChatTool {
  const from = Object.keys(properties).filter((name) => name !== "result");
  return {
    type: "function",
    function: {
      name: `func_${to}`,
      description: `Processes ${from.map((one) => `variable ${one}`).join(", ")} ` +
        `to produce variable ${to}`,
      parameters: { type: "object", properties },
    },
  };
}

const CHAIN = [makeFunction("b", { a: {} }), makeFunction("c", { b: REFERRING })];
const QUESTION: ChatMessage = {
  role: "user",
  content: "Give me the value of variable c.\nVariable a = 4",
};

/** What is called, or said, and the message. */
function ask(messages: readonly ChatMessage[], more: Partial<ChatRequest> = {}) {
  const request = { model: "sim:planner", messages, tools: CHAIN, ...more };
  const { message } = parseSimulatedModel("sim:planner").reply(request).choices[0];
  const calls = message.tool_calls?.map(({ function: called }) => called.name + called.arguments);
  return { message, did: calls ?? message.content };
}

Deno.test("sim:planner makes one call a reply where it is told to, and then refers to nothing", () => {
  assertEquals(ask([QUESTION]).did, ['func_b{"a":4}', 'func_c{"b":"$1.b"}']);
  assertEquals(ask([QUESTION], { parallel_tool_calls: false }).did, ['func_b{"a":4}']);
});

Deno.test("sim:planner refers to results only where a parameter takes references", () => {
  // Another kind of names, or none: references are known by the pattern.
  for (const pattern of ["^@", "x", undefined]) {
    const other = { type: "string", ...(pattern === undefined ? {} : { pattern }) };
    const tools = [CHAIN[0]!, makeFunction("c", { b: { anyOf: [{ type: "integer" }, other] } })];
    assertEquals(ask([QUESTION], { tools }).did, ['func_b{"a":4}']);
  }
  const mixed = [
    CHAIN[0]!,
    makeFunction("d", { a: {} }),
    makeFunction("c", { b: REFERRING, d: { type: "integer" } }),
  ];
  assertEquals(ask([QUESTION], { tools: mixed }).did.length, 2);
  const both = mixed.with(2, makeFunction("c", { b: REFERRING, d: REFERRING }));
  assertEquals(ask([QUESTION], { tools: both }).did.length, 3);
});

Deno.test("sim:planner refers to no result that gets a name", () => {
  const result = {
    type: "string",
    description: "Descriptive unique variable @name for the result of evaluating the function.",
  };
  const tools = [makeFunction("b", { a: {}, result }), CHAIN[1]!];
  assertEquals(ask([QUESTION], { tools }).did, ['func_b{"a":4,"result":"@b"}']);
});

Deno.test("sim:planner does not hold it against a function that what it referred to did not come", () => {
  const messages: ChatMessage[] = [QUESTION];
  const say = (...results: readonly string[]) => {
    const { message, did } = ask(messages);
    messages.push(message);
    for (const [place, content] of results.entries()) {
      messages.push({ role: "tool", tool_call_id: message.tool_calls![place]!.id, content });
    }
    return did;
  };
  const failure = '{"error":"Service temporarily unavailable"}';
  const dangling = '{"error":"$1 has no result, as in b: what is referred to has failed"}';
  assertEquals(say(failure, dangling), ['func_b{"a":4}', 'func_c{"b":"$1.b"}']);
  assertEquals(say('{"b":5}'), ['func_b{"a":4}'], "it waits for the value");
  for (const result of [failure, failure, '{"c":6}']) assertEquals(say(result), ['func_c{"b":5}']);
  assertEquals(say(), "c = 6");
});
