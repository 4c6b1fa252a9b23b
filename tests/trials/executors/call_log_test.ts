import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { z } from "zod";
import { assertCalled, assertNoFailedCalls } from "../../../lib/testing/assertions/calls.ts";
import { assertCallOrder } from "../../../lib/testing/assertions/trajectories.ts";
import { logCalls } from "../../../lib/trials/executors/call_log.ts";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { assertAnswer, assertBudget } from "../../../lib/testing/assertions/runs.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";

const ADD = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: z.object({
    x: z.number().describe("The first"),
    y: z.number().default(1).describe("The second"),
  }),
  execute: ({ x, y }) => x + y,
});
const STATION = tool({
  name: "station",
  description: "Finds a station",
  parameters: z.object({}),
  returns: { station_id: 7, degrees: 21 },
});

function toolOf(recorded: readonly Tool[], name: string): Tool {
  return recorded.find((one) => one.name === name)!;
}

Deno.test("logCalls() records what an agent calls, and passes on what comes back", async () => {
  const run = logCalls([ADD, STATION]);
  assertEquals([run.calls, run.answer, run.replies], [[], null, 0]);
  assertEquals(await toolOf(run.recorded, "add").execute({ x: 2 }), "3");
  assertEquals(await toolOf(run.recorded, "station").execute({}), '{"station_id":7,"degrees":21}');
  assertEquals(run.calls, [
    { call: 1, step: 1, tool: "add", arguments: { x: 2 }, written: '{"x":2}', result: "3" },
    {
      ...{ call: 2, step: 2, tool: "station", arguments: {}, written: "{}" },
      result: '{"station_id":7,"degrees":21}',
    },
  ]);
  assertEquals(run.events.length, 2);
  assert(run.end("It is 3.") === run);
  assertCallOrder(run, ["add", "station"]);
  // Defaults of the schema are none of the model's business.
  assertCalled(run, { tool: "add", arguments: { x: 2, y: 1 } }, { times: 1 });
  assertAnswer(run, "3");
  assertNoFailedCalls(run);
});

Deno.test("logCalls() takes whatever an agent calls a tool with", async () => {
  const run = logCalls([ADD]);
  const [add] = run.recorded;
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const strange: unknown[] = [undefined, null, "x", 7, 1n, Symbol("s"), cycle, [], () => 1];
  for (const given of strange) {
    assertMatch(await add!.execute(given as JsonObject), /must be a JSON object/);
  }
  assertMatch(
    await add!.execute(JSON.parse('{"x":1,"__proto__":{"y":5}}')),
    /additional properties \(__proto__\)/,
  );
  assertEquals(await add!.execute({ x: 2, y: undefined } as unknown as JsonObject), "3");
  assertEquals(run.calls.length, strange.length + 2);
  assertEquals(run.calls[0]!.arguments, undefined);
});

Deno.test("logCalls() is over with the answer", async () => {
  const run = logCalls([ADD]);
  await run.recorded[0]!.execute({ x: 1 });
  run.end(null);
  const took = run.durationMs;
  await assertRejects(
    () => run.recorded[0]!.execute({ x: 2 }),
    Error,
    "Cannot call add as the recording has ended",
  );
  assertEquals([run.calls.length, run.answer], [1, null]);
  assertBudget(run, { calls: 1, seconds: 60 });
  assertEquals(run.durationMs, took);
});

Deno.test("logCalls() cannot end while calls are under way", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const slow = tool({
    name: "slow",
    description: "Takes long",
    parameters: z.object({}),
    execute: () => promise,
  });
  const run = logCalls([slow]);
  const waiting = [run.recorded[0]!.execute({}), run.recorded[0]!.execute({})];
  assertThrows(() => run.end("I did not wait."), InputError, "2 are still under way; await them");
  resolve("late");
  assertEquals(await Promise.all(waiting), ["late", "late"]);
  assertEquals(run.end("I waited.").calls.map(({ result }) => result), ["late", "late"]);
});

Deno.test("logCalls() perturbs what the agent sees, and checks by what the tools are", async () => {
  const documents = logCalls([ADD], { perturbation: { id: "RD", seed: 7 } });
  assertEquals(JSON.stringify(documents.recorded[0]!.parameters).includes("The first"), false);
  assertEquals(JSON.stringify(documents.tools[0]!.parameters).includes("The first"), true);
  assertEquals(await documents.recorded[0]!.execute({ x: 2 }), "3");

  const types = logCalls([ADD], { perturbation: { id: "WT", seed: 7 } });
  const shown = types.recorded[0]!.parameters["properties"] as Record<string, JsonObject>;
  assert(shown["x"]!["type"] !== "number");
  assertEquals(await types.recorded[0]!.execute({ x: 2 }), "3");
  assertMatch(await types.recorded[0]!.execute({ x: "2" }), /\/x must be number/);

  const returns = logCalls([STATION], { perturbation: { id: "FK", seed: 7 } });
  assertEquals(await returns.recorded[0]!.execute({}), '{"Object_1":7,"Object_2":21}');
  assertEquals(returns.calls[0]!.result, '{"Object_1":7,"Object_2":21}');
});

Deno.test("logCalls() refuses what are no tools, and perturbations that there are not", () => {
  assertThrows(() => logCalls([null as unknown as Tool]), InputError, "number 1 has none");
  assertThrows(() => logCalls([ADD], { perturbation: { id: "XX", seed: 1 } }), InputError, "XX");
  assertThrows(
    () => logCalls([ADD], { perturbation: { id: "rename", seed: 1 } }),
    InputError,
    "rename",
  );
  // A recording knows no question that could be changed.
  for (const id of ["AN", "RP_F", "RD+CP"]) {
    assertThrows(
      () => logCalls([ADD], { perturbation: { id, seed: 1 } }),
      InputError,
      `Cannot record calls under ${id.split("+").at(-1)} as that changes the question`,
    );
  }
});

Deno.test("logCalls() has every call in its order, whichever tools an agent calls at once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer(), { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
      async (replies) => {
        const run = logCalls([ADD]);
        const [add] = run.recorded;
        const results: string[] = [];
        for (const reply of replies) {
          results.push(...await Promise.all(reply.map((x) => add!.execute({ x }))));
        }
        assertEquals(results, replies.flat().map((x) => String(x + 1)));
        assertEquals(
          run.calls.map(({ call, step, arguments: given, result }) => ({
            call,
            step,
            given,
            result,
          })),
          replies.flatMap((reply, place) => reply.map((x) => ({ x, step: place + 1 })))
            .map(({ x, step }, place) => ({
              ...{ call: place + 1, step },
              ...{ given: { x }, result: String(x + 1) },
            })),
        );
      },
    ),
    { numRuns: 25 },
  );
});
