// What holds for every strategy, alone and with others: it runs the one loop on the one executor, so that
// a model which does the same is judged the same, and everything that it takes is charged.
// Runs without counters of lines.

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { runLoop } from "../../../lib/trials/agent/loop.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import type { GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import { parseWith } from "../../../lib/base/input.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { canonicalJson, isJsonObject, parseJson } from "../../../lib/base/json.ts";
import { type Message, sumUsage } from "../../../lib/tools/message.ts";
import { InfrastructureError, type Model, type ModelRequest } from "../../../lib/models/model.ts";
import { openai } from "../../../lib/models/openai/openai.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import type { ChatAnswer } from "../../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../../lib/simulated/_names.ts";
import { startSimulatedServer } from "../../../lib/simulated/server.ts";
import { PROBES } from "../../../lib/tasks/task_kind.ts";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import { Session } from "../../../lib/trials/agent/session.ts";
import {
  optionFault,
  stagesOf,
  STRATEGIES,
  strategiesIn,
  type StrategyOptions,
  withStrategy,
} from "../../../lib/trials/strategies/registry.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { callsOf, type TraceEvent } from "../../../lib/calls/trace.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import { type Outcome, type Trial, TRIAL_LINE } from "../../../lib/trials/trial.ts";
import { parseTrialId } from "../../../lib/trials/trial_id.ts";
import fc from "../../support/fast_check.ts";
import { coreInOrder, rightArguments, specs } from "../../support/generated.ts";
import { inProcess } from "../../support/in_process.ts";
import {
  adapting,
  COMPOSITES,
  eventsOf,
  EVERY,
  forever,
  listened,
  type Manner,
  planned,
  resultOf,
  work,
} from "../../support/strategy_runs.ts";

const SPEC: GraphSpec = { core: 4, depth: 2, connected: 2, disconnected: 2, seed: 11 };
const TASK = generateTask(SPEC);

// Ids

/** Strategies that ask a model before the loop begins. */
const ASKING: readonly string[] = ["plan_then_call", "route_then_fill", "backward"];

Deno.test("strategiesIn() knows every strategy and every order of several, the outermost first", () => {
  for (const id of STRATEGIES) assertEquals(strategiesIn(id), [id]);
  for (const id of EVERY) assertEquals(strategiesIn(id).join("+"), id);
  const others = STRATEGIES.filter((id) => id !== "plain");
  fc.assert(
    fc.property(fc.shuffledSubarray(others, { minLength: 1 }), (ids) => {
      const asking = ids.findIndex((id) => ASKING.includes(id));
      if (asking !== -1 && asking < ids.indexOf("indirection")) {
        const rule =
          "must have indirection before strategies that ask first, which would see the values";
        assertThrows(() => strategiesIn(ids.join("+")), InputError, rule);
      } else {
        assertEquals(strategiesIn(ids.join("+")), ids);
      }
    }),
    { seed: 1 },
  );
});

Deno.test("strategiesIn() refuses what is none, and says what there is", () => {
  const unknown = "must be one of plain, restate, indirection, plan_then_call, ";
  const table: [string, string][] = [
    ["wishful", unknown],
    ["", unknown],
    ["toString", unknown],
    ["__proto__", unknown],
    ["Restate", unknown],
    ["restate ", unknown],
    ["restate+", unknown],
    ["+restate", unknown],
    ["restate++repair", unknown],
    ["repair+restate+repair", "must name none of them twice"],
    ["plain+plain", "must name none of them twice"],
    ["plain+restate", "must not join plain, which is the loop as it is, to others"],
    ["restate+plain", "must not join plain"],
  ];
  for (const [id, rule] of table) {
    const error = assertThrows(() => strategiesIn(id), InputError, rule, id);
    assert(error.message.endsWith(`: it is ${id}`), error.message);
    assertThrows(() => withStrategy(id, runLoop), InputError, rule, id);
  }
});

Deno.test("stagesOf() lists the stages of several strategies once", () => {
  assertEquals(stagesOf(["plain", "restate", "indirection"]), []);
  assertEquals(stagesOf(["plan_then_call"]), ["plan", "call"]);
  assertEquals(stagesOf(["route_then_fill"]), ["route", "fill"]);
  assertEquals(stagesOf(["repair", "backward", "plan_then_call"]), [
    "repair",
    "infer",
    "plan",
    "call",
  ]);
  // The innermost strategy names the loop: there is no other model to ask for it.
  assertEquals(stagesOf(["plan_then_call", "route_then_fill"]), ["plan", "route", "fill"]);
});

Deno.test("withStrategy() refuses what cannot be set, with path and rule", () => {
  const table: [string, StrategyOptions, path: string, rule: string][] = [
    ["restate", { attempts: 1 }, "attempts", "needs the strategy repair"],
    ["repair", { rounds: 1 }, "rounds", "needs the strategy backward"],
    ["repair+restate", { dereference: false }, "dereference", "needs the strategy indirection"],
    [
      "plain",
      { prompts: { plain: { plan: "{question}" } } },
      "prompts.plain.plan",
      "there is no such text: there are none",
    ],
    [
      "plan_then_call",
      { prompts: { plan_then_call: { think: "{question}" } } },
      "prompts.plan_then_call.think",
      "there is no such text: there are plan_then_call.plan, plan_then_call.call",
    ],
    [
      "plan_then_call+repair",
      { prompts: { backward: { call: "Call." } } },
      "prompts.backward",
      "texts can be given of plan_then_call, repair only",
    ],
    [
      "repair",
      { prompts: { ["__proto__"]: { x: "y" } } },
      "prompts.__proto__",
      "texts can be given of repair only",
    ],
    [
      "repair",
      { prompts: { repair: { toString: "{arguments}" } } },
      "prompts.repair.toString",
      "there is no such text",
    ],
  ];
  for (const [id, options, path, rule] of table) {
    const fault = optionFault(strategiesIn(id), options);
    assertEquals([fault?.path.join("."), fault?.message.includes(rule)], [path, true], path);
    assertThrows(
      () => withStrategy(id, runLoop, options),
      InputError,
      `Cannot use the strategy ${id}: at ${path}: ${fault!.message}`,
    );
  }
});

Deno.test("withStrategy() holds each text of a strategy to the words that fill it in", () => {
  for (const [id, texts] of Object.entries(PROMPTS)) {
    for (const [name, usual] of Object.entries<string>(texts)) {
      const ids = strategiesIn(id);
      const faultOf = (text: string) =>
        optionFault(ids, { prompts: { [id]: { [name]: text } } })?.message;
      assertEquals(faultOf(usual), undefined, `${id}.${name}`);
      assertEquals(faultOf(`${usual}\n{"as": [{"JSON": {}}]} {Question} { tools }`), undefined);
      assert(faultOf(`${usual} {verdict}`)?.startsWith("nothing fills in {verdict}: there is "));
      for (const word of ["{question}", "{tools}", "{arguments}", "{answer}"]) {
        const expected = usual.includes(word) ? `the text must hold ${word}` : undefined;
        assertEquals(faultOf(usual.replaceAll(word, "")), expected, `${id}.${name} ${word}`);
      }
    }
  }
});

// The same is judged the same

const [SOURCE, ...OTHERS] = coreInOrder(TASK);
const LAST = OTHERS.at(-1)!;
const RIGHT = { name: SOURCE!.name, arguments: rightArguments(TASK, SOURCE!) };
const SOLUTION = `${TASK.target.variable} = ${TASK.target.value}`;
const perfect: ScriptedReply[] = [
  ...[SOURCE!, ...OTHERS].map((made) => ({
    calls: [{ name: made.name, arguments: rightArguments(TASK, made) }],
  })),
  { text: SOLUTION },
];
const withOnes = (called: { name: string; arguments: Record<string, number> }) => ({
  name: called.name,
  arguments: Object.fromEntries(Object.keys(called.arguments).map((name) => [name, 1])),
});
/** Every failure there is, two of them in one reply with a right call between. */
const clumsy: ScriptedReply[] = [
  { calls: [{ name: "func_nix", arguments: "{}" }, RIGHT, { ...RIGHT, arguments: "{" }] },
  { calls: [withOnes({ name: LAST.name, arguments: rightArguments(TASK, LAST) })] },
  { calls: [{ name: LAST.name, arguments: rightArguments(TASK, LAST) }] },
  { text: "Hm.", calls: [{ name: RIGHT.name, arguments: {} }] },
  { calls: [{ name: RIGHT.name, arguments: { ...RIGHT.arguments, more: 1 } }] },
  { calls: [withOnes(RIGHT)] },
  { text: "It is 7." },
];
const endless: ScriptedReply[] = [{ text: "Again.", calls: [RIGHT, RIGHT, RIGHT] }];

const CASES: readonly [string, ScriptedReply[], TrialOptions, Outcome][] = [
  ["solves", perfect, {}, "solved"],
  ["fails in many ways", clumsy, {}, "wrong_answer"],
  ["runs into the limit of calls", endless, {}, "call_limit"],
  ["runs into a limit of calls that is set", endless, { limits: { calls: 4 } }, "call_limit"],
  ["may not call at all", perfect, { limits: { calls: 0 } }, "call_limit"],
  ["guesses", [{ text: SOLUTION }], {}, "solved"],
  ["says nothing", [{}], {}, "no_answer"],
];

/** A trial without what strategies may change: names, forms of arguments, results, and what it took. */
function judged({ outcome, solved, grounded, reason, ...trial }: Trial) {
  const { calls, minimumCalls, failures, behaviours } = trial;
  const events = trial.events.filter((event) =>
    event.kind !== "repair" && event.kind !== "stage" &&
    !(event.kind === "reply" && event.stage !== undefined)
  ).map(withoutForm);
  const counts = { calls, minimumCalls, failures, behaviours };
  return { outcome, solved, grounded, reason, ...counts, events };
}

function withoutForm(event: TraceEvent): Record<string, unknown> {
  if (event.kind === "call") {
    const { arguments: written, resolved = written, result: _, ...rest } = event;
    return { ...rest, arguments: sorted(resolved) };
  }
  if (event.kind === "reply") return { kind: event.kind, calls: event.calls };
  if (event.kind !== "answer") return { ...event };
  const { rendered: _, ...rest } = event;
  return rest;
}

/** Arguments, but for the name that a call gives to its result. */
function sorted(written: string): string {
  const given = parseJson(written);
  if (!isJsonObject(given)) return written;
  const { result: _, ...rest } = given;
  return canonicalJson(rest);
}

for (const [what, script, options, outcome] of CASES) {
  Deno.test(`every strategy judges a model that ${what} as plain does`, async () => {
    const model = adapting("script", TASK, script);
    const usual = judged(await runTrial(planned("plain", "script", SPEC), model, options));
    for (const strategy of EVERY) {
      const trial = await runTrial(planned(strategy, "script", SPEC), model, options);
      assertEquals(trial.outcome, outcome);
      assertEquals(judged(trial), usual, strategy);
      assertEquals([trial.strategy, trial.index, trial.block], [strategy, 3, 1]);
      assertEquals(parseTrialId(trial.id)?.strategy, strategy);
      assertJournalled(trial);
    }
  });
}

Deno.test("every strategy sees every kind of failure where plain does", async () => {
  const types = new Set<string>();
  const model = adapting("script", TASK, clumsy);
  const { failures, events } = await runTrial(planned("plain", "script", SPEC), model);
  for (const { type } of failures) types.add(type);
  assertEquals(types.size, 4, [...types].join());
  assert(callsOf(events).some(({ guessed }) => guessed), "one call is a lucky guess");
});

/** What a journal gives back is what was written into it. */
function assertJournalled(trial: Trial): void {
  const line = parseJson(JSON.stringify(trial));
  assertEquals<unknown>(parseWith(TRIAL_LINE, line, "a line"), line);
  assertEquals<unknown>(line, { ...trial });
}

// Strategies that change nothing but what a model knows do not touch what a noisy one does.
const TRANSPARENT = ["plan_then_call", "backward", "plan_then_call+backward"];
const WITH_RESULTS = ["restate", "restate+plan_then_call", "backward+restate"];

Deno.test("strategies judge random trials as plain does, where the model does the same", async () => {
  let failures = 0;
  const compare = async (ids: readonly string[], name: string, task: GraphSpec) => {
    const model = inProcess(name);
    const usual = judged(await runTrial(planned("plain", name, task), model));
    failures += usual.failures.length;
    for (const id of ids) {
      const trial = await runTrial(planned(id, name, task), model);
      assertEquals(judged(trial), usual, id);
    }
  };
  await fc.assertAll(
    fc.asyncProperty(specs(12), fc.nat(), async (task, seed) => {
      const mistakes = "hallucinate=.1&arity=.1&early=.2&distract=.4";
      await compare([...TRANSPARENT, ...WITH_RESULTS], "sim:planner", task);
      await compare(WITH_RESULTS, `sim:noisy?${mistakes}&seed=${seed}`, task);
      await compare(TRANSPARENT, `sim:noisy?${mistakes}&stale=.2&quit=.1&seed=${seed}`, task);
    }),
    { numRuns: 5 },
  );
  assert(failures > 15, `only ${failures} failures were compared`);
});

Deno.test("sim:planner solves every task under every strategy, with as many calls as it takes", async () => {
  const model = inProcess("sim:planner");
  await fc.assert(
    fc.asyncProperty(specs(10), async (task) => {
      for (const strategy of EVERY) {
        const trial = await runTrial(planned(strategy, model.name, task), model);
        assertEquals(
          [trial.outcome, trial.grounded, trial.calls, trial.failures, trial.behaviours],
          ["solved", true, task.core, [], []],
          strategy,
        );
      }
    }),
    { numRuns: 5 },
  );
});

// Everything is counted and charged once

const claims: NonNullable<Manner["claims"]> = (request) => ({
  usage: { inputTokens: 1000 * request + 7, outputTokens: request },
  duration: 10 * request,
});

for (const strategy of EVERY) {
  const slips = strategy.includes("repair");

  Deno.test(`${strategy} charges every request, and counts every call once`, async () => {
    for (const script of [perfect, clumsy, endless]) {
      const model = adapting("script", TASK, script, { slips, claims });
      const { requests, executed, events, calls, session } = await work(strategy, model, {
        task: TASK,
        limits: { calls: 8 },
      });
      const replies = eventsOf({ events }, "reply");
      const numbers = requests.map((_, place) => place + 1);
      assertEquals(requests.map(({ context }) => context.request), numbers);
      assertEquals(replies.map(({ request }) => request), numbers);
      const claimed = numbers.map((number) => claims(number));
      assertEquals(session.usage, sumUsage(claimed.map(({ usage }) => usage!)));
      assertEquals(sumUsage(replies), session.usage);
      assertEquals(session.duration, claimed.reduce((sum, { duration }) => sum + duration!, 0));
      assertEquals(session.stages, [], "no other model took part");
      assertEquals(session.served, ["script"]);

      const loops = replies.filter(({ stage }) => stage === undefined);
      assertEquals(loops.reduce((sum, reply) => sum + reply.calls, 0), executed);
      assertEquals(calls.length, Math.min(8, executed));
      assertEquals(calls.map(({ call }) => call), calls.map((_, place) => place + 1));
      assertEquals(eventsOf({ events }, "over_limit").length, executed > 8 ? 1 : 0);
      assertEquals(
        requests.map(({ context: { trial, repetition } }) => [trial, repetition]),
        requests.map(() => ["a trial", 1]),
      );
      for (const { context, tools } of requests) {
        const aside = replies[context.request - 1]!.stage;
        if (aside !== undefined) assertEquals(context.stage, aside);
        assertEquals(tools.length === 0, ["plan", "route", "infer"].includes(aside ?? ""));
      }
    }
  });

  Deno.test(`${strategy} charges what a server has really been asked and has answered`, async () => {
    const answers: ChatAnswer[] = [];
    await using server = await startSimulatedServer({
      onRequest: (body) => answers.push(parseSimulatedModel(body.model).reply(body)),
    });
    const name = "sim:noisy?arity=.3&seed=4";
    const model = openai({ model: name, baseURL: server.url, apiKey: "none", simulated: true });
    const trial = await runTrial(planned(strategy, name, SPEC), model);
    assertEquals(trial.outcome, "solved");
    assertEquals(eventsOf(trial, "reply").length, server.requests);
    assertEquals(
      trial.usage,
      sumUsage(answers.map(({ usage }) => ({
        inputTokens: usage.prompt_tokens,
        outputTokens: usage.completion_tokens,
      }))),
    );
    const loops = eventsOf(trial, "reply").filter(({ stage }) => stage === undefined);
    assertEquals(loops.reduce((sum, { calls }) => sum + calls, 0), trial.calls);
    assertEquals(callsOf(trial.events).length, trial.calls);
    assertJournalled(trial);
  });

  // What models are shown

  Deno.test(`${strategy} shows sound conversations, without what is its own business`, async () => {
    for (const script of [perfect, clumsy, endless]) {
      const model = adapting("script", TASK, script, { slips });
      const { requests } = await work(strategy, model, { task: TASK });
      for (const request of requests) assertSound(request);
      const loops = requests.filter(({ context: { stage } }) =>
        stage === undefined || stage === "call" || stage === "fill"
      );
      for (const { messages, tools } of loops) {
        const said = messages.filter(({ role }) => role === "user" || role === "assistant");
        const text = said.map(({ content }) => content).join("\n");
        for (const business of ["has invalid arguments", "API list", "write a plan"]) {
          assert(!text.includes(business), `${business} is in the loop's conversation`);
        }
        assertEquals(tools.some((tool) => "execute" in tool), false);
        const names = strategy.includes("indirection");
        assertEquals(tools.every((tool) => (resultOf(tool) !== undefined) === names), true);
      }
      // One conversation that only grows.
      for (const [place, { messages }] of loops.entries()) {
        const before = loops[place - 1]?.messages ?? [];
        assertEquals(messages.slice(0, before.length), before);
      }
    }
  });

  Deno.test(`${strategy} leaves everything that it is given as it was`, async () => {
    const { name, description, parameters, strict } = TASK.tools[0]!;
    assert([name, description, parameters, strict].every((part) => part !== undefined));
    using inner = createExecutor(TASK, { callLimit: 20 });
    const environment = frozen({
      tools: frozen(structuredClone(TASK.tools)),
      given: new Map(inner.given),
      exhausted: false,
      left: inner.left,
      refuse: inner.refuse.bind(inner),
      execute: inner.execute.bind(inner),
    });
    const messages: readonly Message[] = frozen([
      { role: "system", content: "Be brief." },
      { role: "user", content: TASK.prompt },
    ]);
    const sound = adapting("script", TASK, clumsy, { slips });
    // What a model gets and gives is not for others to change either.
    const model: Model = {
      ...sound,
      reply: async (request) => frozen(await sound.reply(frozen(request))),
    };
    const session = new Session({
      model,
      context: { trial: "a trial", repetition: 1 },
      record: (event) => inner.record(frozen(event)),
    });
    const ending = await withStrategy(strategy, runLoop, frozen({ prompts: {} }))(
      frozen({ session, environment, messages, task: { examples: inner.examples } }),
    );
    assertEquals(ending.kind === "answer" && ending.text, "It is 7.");
    assertEquals([...environment.given], [...TASK.inputs]);
  });

  Deno.test(`${strategy} survives whatever a model says`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(garbage(), { minLength: 1, maxLength: 8 }), async (replies) => {
        const requests: ModelRequest[] = [];
        const model = listened(scripted("garbage", forever(...replies)), requests);
        const trial = await runTrial(planned(strategy, "garbage", SPEC), model, {
          limits: { steps: 40 },
        });
        assert(trial.outcome !== "invalid", trial.reason);
        for (const request of requests) assertSound(request);
        assertEquals(eventsOf(trial, "reply").length, requests.length);
        assertEquals(callsOf(trial.events).length, trial.calls);
        assertJournalled(trial);
      }),
      { numRuns: 8 },
    );
  });

  Deno.test(`${strategy} leaves probes what they make of the freedom to call`, async () => {
    for (const probe of PROBES) {
      const requests: ModelRequest[] = [];
      const [tool, argument] = probe.startsWith("oracle")
        ? ["oracle", "conundrum"]
        : ["eval", "expression"];
      const model = listened(
        scripted("script", ({ tools, messages }) => {
          const result = resultOf(tools[0]);
          if (tools.length === 0 || messages.at(-1)?.role === "tool") return { text: "1. " + tool };
          const name = result === undefined ? {} : { [result]: "@sum" };
          return { calls: [{ name: tool!, arguments: { [argument!]: "1 + 1", ...name } }] };
        }),
        requests,
      );
      const task = { case: probe, seed: 5 };
      // Probes have no examples of their own.
      const examples = strategiesIn(strategy).includes("few_shot")
        ? { examples: [{ question: "How are you?", answer: "Fine." }] }
        : {};
      const trial = await runTrial(planned(strategy, "script", task), model, {
        strategy: { strategy, ...examples },
      });
      assert(trial.outcome === "wrong_answer" || trial.outcome === "no_answer", trial.outcome);
      assertEquals([trial.calls, trial.failures], [1, []]);
      for (const { tools, toolChoice } of requests) {
        const choices = { forced_choice: "required", forced_function: { function: "eval" } };
        const choice = choices[probe as keyof typeof choices];
        assertEquals<unknown>(toolChoice, tools.length > 0 ? choice : undefined);
      }
    }
  });

  // Limits: those that are joined have all that asks.

  if (!COMPOSITES.includes(strategy)) continue;

  /** A solution in whose first reply a call is to be mended, where the strategy does so. */
  const run = async (options: TrialOptions = {}, more: Manner = {}) => {
    const requests: ModelRequest[] = [];
    const model = listened(adapting("script", TASK, perfect, { slips, ...more }), requests);
    const trial = await runTrial(planned(strategy, "script", SPEC), model, options);
    assertJournalled(trial);
    return { ...trial, requests };
  };

  Deno.test(`${strategy} keeps the limits of steps, tokens and time, whatever is asked`, async () => {
    const all = (await run()).requests.length;
    assert(all >= 5);
    // So long that what the test itself takes does not matter.
    const claims = () => ({ usage: { inputTokens: 7, outputTokens: 3 }, duration: 1_000_000 });
    for (let most = 1; most <= all; most++) {
      const stepped = await run({ limits: { steps: most } });
      assertEquals(stepped.requests.length, most);
      assertEquals(stepped.outcome, most === all ? "solved" : "step_limit");

      const read = await run({ limits: { tokens: 10 * most - 1 } }, { claims });
      assertEquals([read.outcome, read.requests.length], ["token_limit", most]);
      assertEquals(read.usage, { inputTokens: 7 * most, outputTokens: 3 * most });
      assertEquals(eventsOf(read, "stop").length, 1);

      const late = await run({ limits: { seconds: 1000 * most - 500 } }, { claims });
      assertEquals([late.outcome, late.requests.length], ["time_limit", most]);
      const left = late.requests.map(({ timeLimit }) => Math.round(timeLimit! / 100_000));
      assertEquals(left, late.requests.map((_, place) => 10 * (most - place) - 5));
      assertEquals(late.durationMs, 1_000_000 * most);

      // A script's own finish stands for replies of the loop that call.
      const cut = await run({}, {
        claims: (request) => request === most ? { finish: "length" } : {},
      });
      assertEquals([cut.outcome, cut.requests.length], ["token_limit", most]);
    }
    assertEquals((await run({ limits: { tokens: 10 * all } }, { claims })).outcome, "solved");
  });

  Deno.test(`${strategy} keeps the limit of calls`, async () => {
    for (let calls = 0; calls <= 4; calls++) {
      const trial = await run({ limits: { calls } });
      assertEquals([trial.calls, callsOf(trial.events).length], [calls, calls]);
      assertEquals(trial.outcome, calls === 4 ? "solved" : "call_limit");
    }
  });

  // Infrastructure

  Deno.test(`${strategy} makes a trial invalid in which any request fails`, async () => {
    const all = (await run()).requests.length;
    for (let at = 1; at <= all; at++) {
      const sound = adapting("script", TASK, perfect, { slips, claims });
      const model: Model = {
        ...sound,
        reply: (request) =>
          request.context.request === at
            ? Promise.reject(new InfrastructureError("no network"))
            : sound.reply(request),
      };
      const trial = await runTrial(planned(strategy, "script", SPEC), model);
      assertEquals([trial.outcome, trial.reason, trial.solved], ["invalid", "no network", false]);
      assertEquals(eventsOf(trial, "reply").length, at - 1);
      const paid = Array.from({ length: at - 1 }, (_, place) => claims(place + 1).usage!);
      assertEquals(trial.usage, sumUsage(paid), "what was paid for is charged");
      assertJournalled(trial);
    }
  });

  Deno.test(`${strategy} stops at any request when it is aborted`, async () => {
    const all = (await run()).requests.length;
    for (let at = 1; at <= all; at++) {
      const stop = new AbortController();
      const sound = adapting("script", TASK, perfect, { slips });
      let asked = 0;
      const model: Model = {
        ...sound,
        reply(request) {
          assertEquals(request.signal, stop.signal);
          if (++asked === at) stop.abort(new Error("enough"));
          return sound.reply(request);
        },
      };
      const running = runTrial(planned(strategy, "script", SPEC), model, { signal: stop.signal });
      await assertRejects(() => running, Error, "enough");
      assertEquals(asked, at);
    }
  });
}

/** Freezes values through and through, but for classes and functions. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && !Array.isArray(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/** A conversation as providers take it: user and assistant in turns, and a result for each call. */
function assertSound({ messages }: ModelRequest): void {
  const turns = messages.filter(({ role }) => role !== "system");
  assert(messages.slice(0, messages.length - turns.length).every(({ role }) => role === "system"));
  assertEquals(turns[0]?.role, "user");
  let waiting: string[] = [];
  for (const [place, message] of turns.entries()) {
    const before = turns[place - 1]?.role;
    assertEquals(typeof message.content, "string");
    if (message.role === "tool") {
      assertEquals(message.callId, waiting.shift(), "results stand in the order of their calls");
      continue;
    }
    assertEquals(waiting, [], "every call is answered before anything else is said");
    assert(before !== message.role, `${message.role} follows ${before}`);
    assert(message.role === "assistant" || before !== "tool", `${message.role} follows ${before}`);
    if (message.role !== "assistant") continue;
    waiting = message.calls.map(({ id }) => id);
    assert(waiting.length > 0 || message.content.trim() !== "", "an assistant says nothing");
  }
  assertEquals(waiting, []);
  assert(turns.at(-1)?.role !== "assistant");
}

/** Replies with something in them that strategies look at. */
function garbage(): fc.Arbitrary<ScriptedReply> {
  const [variable] = TASK.inputs.keys();
  const words = fc.constantFrom(
    ...TASK.tools.map(({ name }) => name),
    ...["<!stop>", "{tools}", "{question}", "$&", "@", `@${variable}`, "@result", "@_", "func_nix"],
    ...["731", "$$$", "{", "}", '{"API":[', "\n", " ", "```json\n", "\u0000", "\ud800", "'", '"'],
  );
  const text = fc.array(fc.oneof(words, fc.string({ maxLength: 5 })), { maxLength: 6 })
    .map((parts) => parts.join(""));
  const value = fc.oneof(
    fc.integer(),
    text,
    fc.constantFrom(null, "@result", `@${variable}`, [`@${variable}`], { a: "@b" }, 2 ** 60),
  );
  const parameters = fc.constantFrom(
    ...Object.keys(RIGHT.arguments),
    "result",
    "name",
    "__proto__",
  );
  const given = fc.array(fc.tuple(parameters, value), { maxLength: 3 })
    .map((entries) => JSON.stringify(Object.fromEntries(entries)));
  const name = fc.constantFrom(RIGHT.name, RIGHT.name, LAST.name, "dereference", "func_nix", "");
  const call = fc.record({ name, arguments: fc.oneof(given, text) });
  return fc.record({ text, calls: fc.array(call, { maxLength: 3 }) });
}
