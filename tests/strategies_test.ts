// What holds for every strategy: it runs the one loop on the one executor, so that a model which does
// the same is judged the same.

import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import type { GraphSpec } from "../lib/graph.ts";
import { InputError } from "../lib/input.ts";
import { InfrastructureError, type Message, type Model, type ModelRequest } from "../lib/model.ts";
import { scripted, type ScriptedReply } from "../lib/models/scripted.ts";
import { STRATEGIES, strategyOf } from "../lib/strategies.ts";
import { generateTask } from "../lib/task.ts";
import type { TraceEvent } from "../lib/trace.ts";
import {
  type PlannedTrial,
  runTrial,
  type Trial,
  trialId,
  type TrialOptions,
} from "../lib/trial.ts";
import { coreInOrder, rightArguments, specs, test } from "./support/generated.ts";
import { inProcess } from "./support/in_process.ts";

const SPEC: GraphSpec = { core: 4, depth: 2, connected: 2, disconnected: 2, seed: 11 };
const TASK = generateTask(SPEC);

test("strategyOf() knows every strategy, and refuses others by naming them", () => {
  assertEquals(STRATEGIES, ["baseline", "restate"]);
  for (const id of STRATEGIES) assertEquals(typeof strategyOf(id), "function");
  for (const id of ["wishful", "", "toString", "__proto__"]) {
    assertThrows(() => strategyOf(id), InputError, "must be one of baseline, restate: it is");
  }
});

function planned(strategy: string, model: string, task: GraphSpec = SPEC): PlannedTrial {
  const key = { model, strategy, perturbation: "none", task, repetition: 1 };
  return { ...key, id: trialId(key), index: 3, block: 1 };
}

/** A trial without what strategies may change: its name, the texts of results, and what it took. */
function judged(
  { events, id: _, strategy: __, startedAt: ___, durationMs, usage, ...rest }: Trial,
) {
  void durationMs, usage;
  return { ...rest, events: events.map(withoutTexts) };
}

function withoutTexts(event: TraceEvent): Record<string, unknown> {
  if (event.kind === "call") return { ...event, result: "" };
  if (event.kind !== "reply") return { ...event };
  return { ...event, durationMs: 0, inputTokens: 0, outputTokens: 0 };
}

const [SOURCE, ...OTHERS] = coreInOrder(TASK);
const RIGHT = { name: SOURCE!.name, arguments: rightArguments(TASK, SOURCE!) };
const perfect: ScriptedReply[] = [
  ...[SOURCE!, ...OTHERS].map((made) => ({
    calls: [{ name: made.name, arguments: rightArguments(TASK, made) }],
  })),
  { text: `${TASK.target.variable} = ${TASK.target.value}` },
];
/** Every failure there is, two of them in one reply with a right call between. */
const clumsy: ScriptedReply[] = [
  { calls: [{ name: "func_nix", arguments: {} }, RIGHT, { ...RIGHT, arguments: "{" }] },
  { calls: [{ name: OTHERS.at(-1)!.name, arguments: rightArguments(TASK, OTHERS.at(-1)!) }] },
  {
    calls: [{
      name: RIGHT.name,
      arguments: Object.fromEntries(Object.keys(RIGHT.arguments).map((name) => [name, 1])),
    }],
  },
  { text: "It is 7." },
];
const endless: ScriptedReply[] = [{ text: "Again.", calls: [RIGHT, RIGHT, RIGHT] }];

const CASES: readonly [string, ScriptedReply[], TrialOptions][] = [
  ["solves", perfect, {}],
  ["fails in many ways", clumsy, {}],
  ["runs into the limit of calls", endless, {}],
  ["runs into a limit of calls that is set", endless, { limits: { calls: 4 } }],
  ["runs into the limit of steps", endless, { limits: { steps: 2 } }],
  ["says nothing", [{}], {}],
];

for (const strategy of STRATEGIES) {
  for (const [what, script, options] of CASES) {
    test(`${strategy} judges a model that ${what} as the baseline does`, async () => {
      const model = scripted("script", script);
      const trial = await runTrial(planned(strategy, "script"), model, options);
      const usual = await runTrial(planned("baseline", "script"), model, options);
      assertEquals(judged(trial), judged(usual));
      assertEquals([trial.strategy, trial.index, trial.block], [strategy, 3, 1]);
      assert(trial.id.includes(` strategy=${strategy} `), trial.id);
    });
  }

  test(`${strategy} keeps a trial invalid that has no usable reply`, async () => {
    const broken: Model = {
      ...scripted("script", [{}]),
      reply: () => Promise.reject(new InfrastructureError("no network")),
    };
    const trial = await runTrial(planned(strategy, "script"), broken);
    assertEquals([trial.outcome, trial.reason], ["invalid", "no network"]);
  });
}

test("restate changes nothing that a model sees but the contents of results", async () => {
  const asked = async (strategy: string) => {
    const requests: ModelRequest[] = [];
    const model = scripted("script", (request) => {
      requests.push(request);
      return clumsy[request.context.request - 1]!;
    });
    await runTrial(planned(strategy, "script"), model);
    return requests.map(({ messages, tools, context: { request } }) => ({
      messages: messages.map(withoutResult),
      tools,
      request,
    }));
  };
  assertEquals(await asked("restate"), await asked("baseline"));
});

function withoutResult(message: Message): Message {
  return message.role === "tool" ? { ...message, content: "" } : message;
}

test("restate judges random trials as the baseline does, where the model does the same", async () => {
  const mistakes = "hallucinate=.1&arity=.1&early=.2&distract=.4";
  let failures = 0;
  await fc.assert(
    fc.asyncProperty(specs(12), fc.nat(), async (task, seed) => {
      for (const name of ["sim:planner", `sim:noisy?${mistakes}&seed=${seed}`]) {
        const model = inProcess(name);
        const [usual, restated] = await Promise.all(
          ["baseline", "restate"].map((strategy) => runTrial(planned(strategy, name, task), model)),
        );
        assertEquals(judged(restated!), judged(usual!));
        failures += usual!.failures.length;
      }
    }),
    { numRuns: 100, seed: 1 },
  );
  assert(failures > 100, `only ${failures} failures were compared`);
});
