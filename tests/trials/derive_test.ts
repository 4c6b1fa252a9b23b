// Trials derived again from their own events: whatever ran agrees with its line, and a line that was changed does
// not.
// Runs without counters of lines.

import { assert, assertEquals } from "@std/assert";
import type { Behaviour } from "../../lib/calls/failure_types.ts";
import { type Derivation, deriveAgain } from "../../lib/trials/derive.ts";
import { callsOf, MAX_KEPT_LENGTH, type TraceEvent } from "../../lib/calls/trace.ts";
import { InfrastructureError, type Model } from "../../lib/models/model.ts";
import type { Limits } from "../../lib/trials/agent/session.ts";
import { openTask, type TaskOpener } from "../../lib/trials/executors/tasks.ts";
import { PERTURBATIONS } from "../../lib/perturbations/ids.ts";
import { type ProbeId, PROBES } from "../../lib/tasks/task_kind.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import { calling, CITY_PATH, cityPlan, citySuite, writing } from "../support/call_sets.ts";
import { toOpenAITool } from "../../lib/tools/tool.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import fc from "../support/fast_check.ts";
import { inProcess } from "../support/in_process.ts";
import { forever } from "../support/strategy_runs.ts";

const SPEC = { core: 4, depth: 2, connected: 2, disconnected: 1, seed: 7 };
/** Makes mistakes of every kind, but none that only the wire has. */
const NOISY =
  "sim:noisy?early=0.2&stale=0.2&distract=0.2&copy=0.1&arity=0.2&hallucinate=0.1&invent=0.3&inject=0.7&seed=1";

const quickly = (open: TaskOpener): TaskOpener => (spec, options) =>
  open(spec, { ...options, waits: false });

/** The trial as a journal gives it back. */
function line(trial: Trial): Trial {
  return TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
}

/** Derives a trial again that ran with these options. */
function derive(trial: Trial, options: TrialOptions = {}): Promise<Derivation> {
  const { limits = {}, references = false, open = openTask } = options;
  const { strategy = { strategy: trial.strategy } } = options;
  return deriveAgain(line(trial), { limits, references, strategy, open: quickly(open) });
}

/** Runs a trial, and derives it again; gives the trial. */
async function assertAgrees(
  spec: Parameters<typeof runTrial>[0],
  model: Model,
  options: TrialOptions = {},
): Promise<Trial> {
  const trial = await runTrial(spec, model, {
    ...options,
    open: quickly(options.open ?? openTask),
  });
  const found = await derive(trial, options);
  // Of calls that a strategy made in place of others the results depend on when it made them.
  const isReplaced = found.kind === "recorded" &&
    callsOf(trial.events).some(({ by }) => by === "retry" || by === "alternative");
  assertEquals(
    isReplaced ? found.why : found,
    isReplaced ? "with calls that a strategy made in place of others" : { kind: "agrees" },
    JSON.stringify({ spec, model: model.name, ...options }),
  );
  return trial;
}

Deno.test("a model that may call nothing, or must, agrees with its own line, which says so", async () => {
  const found = async (
    probe: ProbeId,
    toolChoice: Model["toolChoice"],
    ...replies: ScriptedReply[]
  ) => {
    const model = { ...scripted("shy", [...replies, { text: "result = 7" }]), toolChoice };
    const trial = await assertAgrees({ case: probe, seed: 1 }, model);
    const { toolChoice: other, ...own } = trial.model;
    const edited = other === undefined ? { ...own, toolChoice: "none" as const } : own;
    const { kind } = await derive({ ...trial, model: edited });
    return [trial.model.toolChoice, trial.behaviours, kind];
  };
  const calls = [{ name: "eval", arguments: { expression: "7" } }];
  assertEquals(await found("mental_arithmetic", "auto"), [undefined, ["aversion"], "differs"]);
  assertEquals(await found("mental_arithmetic", "none"), ["none", [], "differs"]);
  const forced = await found("needless_call", { function: "eval" }, { calls });
  assertEquals(forced, ["required", ["silent"], "differs"]);
});

Deno.test("every strategy under every perturbation agrees with its own line", async () => {
  const joined = [
    ...["restate+plan_then_call", "indirection+repair", "repair+indirection"],
    ...["repair+retry+alternative", "indirection+alternative"],
  ];
  const outcomes = new Set<string>();
  let [seed, pairs] = [0, 0];
  for (const perturbation of ["none", ...PERTURBATIONS]) {
    for (const id of [...STRATEGIES, ...joined]) {
      // A third of the pairs, but for the soak.
      if (pairs++ % 3 !== 0 && !fc.IS_SOAK) continue;
      const names = id.includes("indirection");
      // Neither goes with references, which every second one of the others has.
      const references = !names && id !== "explanation" && ++seed % 2 === 0;
      const strategy = { strategy: id, ...(names ? { dereference: true } : {}) };
      const { outcome } = await assertAgrees(
        { ...SPEC, seed },
        inProcess(NOISY),
        { perturbation, strategy, references },
      );
      outcomes.add(outcome);
    }
  }
  for (const outcome of ["solved", "wrong_answer", "no_answer", "abstained", "call_limit"]) {
    assert(outcomes.has(outcome), outcome);
  }
});

Deno.test("every probe, and every limit, agrees with its own line", async () => {
  for (const id of STRATEGIES) {
    // Probes have no examples of their own.
    const strategy = {
      strategy: id,
      ...(id === "few_shot" ? { examples: [{ question: "Tea?", answer: "Yes." }] } : {}),
    };
    for (const probe of PROBES) {
      await assertAgrees({ case: probe, seed: id.length % 3 }, inProcess(NOISY), { strategy });
    }
    const limited = [
      ...[{ calls: 2 }, { steps: 2 }, { observation: 5 }, { tokens: 900 }, { parallel: 1 }],
      ...[{ depth: 1 }, { seconds: 1e-6 }],
    ];
    for (const limits of limited) {
      await assertAgrees(SPEC, inProcess(NOISY), { strategy, limits, perturbation: "flaky" });
    }
  }
});

Deno.test("calls that a strategy made in place of others agree, wherever a limit ended the trial", async () => {
  const outcomes = new Set<string>();
  const made = new Set<string | undefined>();
  const limits: Limits[] = [{}, { calls: 5 }, ...[2, 4, 6].map((steps) => ({ steps }))];
  for (const tokens of [300, 1_200, 2_000]) limits.push({ tokens });
  for (const strategy of ["retry", "alternative", "repair+retry+alternative"]) {
    for (const perturbation of ["gone", "timeout:4", "rate_limit+gone"]) {
      for (const references of [false, true]) {
        for (const [place, limit] of limits.entries()) {
          const trial = await assertAgrees(
            { ...SPEC, seed: place },
            inProcess("sim:noisy?giveup=0.5&arity=0.2&hallucinate=0.2&seed=1"),
            { perturbation, references, limits: limit, strategy: { strategy } },
          );
          outcomes.add(trial.outcome);
          for (const { by } of callsOf(trial.events)) made.add(by);
        }
      }
    }
  }
  for (const outcome of ["solved", "no_answer", "call_limit", "step_limit", "token_limit"]) {
    assert(outcomes.has(outcome), outcome);
  }
  assertEquals(made, new Set([undefined, "retry", "alternative"]));
});

Deno.test("trials that were spoiled agree, wherever that was", async () => {
  for (const id of ["plain", "repair", "plan_then_call"]) {
    for (let last = 1; last <= 4; last++) {
      const whole = inProcess(NOISY);
      const failing: Model = {
        ...whole,
        reply: (request) =>
          request.context.request < last
            ? whole.reply(request)
            : Promise.reject(new InfrastructureError("the line is dead")),
      };
      await assertAgrees(SPEC, failing, { strategy: { strategy: id } });
    }
  }
});

Deno.test("replies that a limit or a filter ended agree, whatever they had shown before", async () => {
  const call = { calls: [{ name: "no_such", arguments: "{}" }] };
  const usage = { inputTokens: 10, outputTokens: 5 };
  const scripts:
    readonly (readonly [replies: readonly ScriptedReply[], behaviours: Behaviour[]])[] = [
      [[{ ...call, finish: "length" }], ["silent"]],
      [[{ ...call, text: "I call it.", finish: "length" }], []],
      [[{ ...call, usage }], ["silent", "forced_loop"]],
      [[{ ...call, text: "I call it." }, call, { finish: "filter" }], []],
    ];
  for (const [replies, behaviours] of scripts) {
    const model = scripted("script", forever(...replies));
    const trial = await assertAgrees(SPEC, model, { limits: { tokens: 40 } });
    assert(["token_limit", "filtered"].includes(trial.outcome), trial.outcome);
    assertEquals(trial.behaviours, behaviours);
  }
});

Deno.test("agents of the user's own agree with their own lines", async () => {
  const spec = { core: 1, depth: 0, connected: 1, disconnected: 0, seed: 3 };
  const task = generateTask(spec);
  const right: NonNullable<TrialOptions["agent"]> = async (executor) => {
    const [tool] = executor.tools;
    const given = Object.fromEntries(task.inputs);
    await Promise.all([tool!.execute(given), tool!.execute({})]);
    executor.step();
    executor.step();
    await tool!.execute(given);
    return `${task.target.variable} = ${task.target.value}`;
  };
  const endless: NonNullable<TrialOptions["agent"]> = async (executor) => {
    for (;;) await executor.tools[0]!.execute({});
  };
  const guessing = () => Promise.resolve(`${task.target.variable} = 1`);
  const broken = () => Promise.reject(new Error("there is no key"));
  const holding: NonNullable<TrialOptions["agent"]> = async ({ prompt, tools }, given) => {
    const messages = [{ role: "user", content: prompt }];
    const body = { model: given.model, messages, tools: tools.map(toOpenAITool) };
    const asked = { method: "POST", body: JSON.stringify(body) };
    await (await given.fetch(`${given.baseURL}/chat/completions`, asked)).text();
    return `${task.target.variable} = ${task.target.value}`;
  };
  for (const agent of [right, endless, guessing, broken, holding]) {
    for (const perturbation of ["none", "timeout"]) {
      const trial = await assertAgrees(spec, inProcess("sim:planner"), { agent, perturbation });
      const held = callsOf(trial.events).filter(({ agentDid }) => agentDid === "held").length;
      assertEquals(held, agent === holding ? 1 : 0);
    }
  }
});

Deno.test("questions of call sets agree in every mode, right and wrong, called and written", async () => {
  const { open } = questionSource(citySuite().tasks, () => CITY_PATH)!;
  const wrong = writing((truth) => truth.replace(/"\w/, '"x'));
  for (const mode of ["parameters", "routing", "tools"] as const) {
    for (const rule of ["published", "strict"] as const) {
      const plan = cityPlan({ mode, rule });
      for (const trial of plan.trials) {
        for (const model of [mode === "tools" ? calling() : writing((truth) => truth), wrong]) {
          for (const id of ["plain", "repair", "backward"]) {
            const planned = { ...trial, strategy: id };
            await assertAgrees(planned, model, { open });
          }
        }
      }
    }
  }
});

/** A copy of a trial with one event changed. */
function withEvent(
  trial: Trial,
  kind: TraceEvent["kind"],
  change: (event: never) => object | undefined,
): Trial {
  const place = trial.events.findIndex((event) => event.kind === kind);
  const changed = change(trial.events[place] as never);
  const events = changed === undefined
    ? trial.events.toSpliced(place, 1)
    : trial.events.with(place, { ...trial.events[place]!, ...changed } as TraceEvent);
  return { ...trial, events };
}

Deno.test("a line that was changed by hand disagrees, and the field is named", async () => {
  const wrong = await runTrial(SPEC, inProcess("sim:noisy?stale=1&seed=1"));
  const right = await runTrial(SPEC, inProcess("sim:planner"));
  assertEquals([wrong.outcome, right.outcome], ["wrong_answer", "solved"]);
  assert(wrong.failures.length > 0);
  const failing = callsOf(wrong.events).findIndex(({ failure }) => failure !== undefined);
  const viewed = callsOf(wrong.events).findIndex(({ parameters }) => parameters !== undefined);
  const whitewashed = wrong.events.map((event) => {
    if (event.kind !== "call") return event;
    const { failure: _, parameters: __, ...rest } = event;
    return rest;
  });
  const value = /-?\d+/;
  const unlinked = await runTrial(SPEC, inProcess("sim:planner"), { perturbation: "RD" });
  const followed = await runTrial(SPEC, inProcess("sim:noisy?inject=1"), { perturbation: "II" });
  assertEquals(followed.behaviours, ["followed_injection"]);
  const carrier = callsOf(followed.events).find(({ injected }) => injected !== undefined)!.call;
  const disarmed = followed.events.map((event) => {
    if (event.kind !== "call") return event;
    const { injected: _, ...rest } = event;
    return rest;
  });
  const changes: readonly (readonly [field: string, Trial])[] = [
    ["outcome", { ...wrong, outcome: "solved", solved: true }],
    ["outcome", { ...right, outcome: "invalid", solved: false }],
    ["failures", { ...wrong, failures: wrong.failures.slice(1) }],
    [`failure of call ${failing + 1}`, { ...wrong, failures: [], events: whitewashed }],
    ["outcome", withEvent(right, "answer", () => undefined)],
    [
      "value of answer",
      withEvent(right, "answer", ({ value }: { value: number }) => ({ value: value + 1 })),
    ],
    ["outcome", withEvent(right, "answer", () => ({ text: "I cannot tell." }))],
    ["grounded", { ...right, grounded: false }],
    [
      "result of call 1",
      withEvent(
        right,
        "call",
        ({ result }: { result: string }) => ({ result: result.replace(value, "1") }),
      ),
    ],
    [
      "returned of call 1",
      withEvent(
        right,
        "call",
        ({ returned }: { returned: object }) => ({ returned: { ...returned, value: 1 } }),
      ),
    ],
    ["guessed of call 3", withEvent(right, "call", () => undefined)],
    ["calls", { ...right, calls: right.calls + 1 }],
    ["minimumCalls", { ...right, minimumCalls: 1 }],
    ["changed", { ...right, changed: false }],
    ["unsolvable", { ...wrong, unsolvable: "misleading" }],
    ["behaviours", { ...right, behaviours: ["aversion"] }],
    ["behaviours", { ...followed, behaviours: [] }],
    [`injected of call ${carrier}`, { ...followed, behaviours: [], events: disarmed }],
    ["impossible", { ...right, impossible: ["redundant_information", "task_deviation"] }],
    [`parameters of call ${viewed + 1}`, {
      ...wrong,
      events: wrong.events.map((event) => {
        if (event.kind !== "call") return event;
        const { parameters: _, ...rest } = event;
        return rest;
      }),
    }],
    ["unsolvable", { ...unlinked, unsolvable: undefined as never }],
    ["outcome", {
      ...withEvent(wrong, "reply", () => ({ text: "The key is [redacted]." })),
      ...{ outcome: "solved", solved: true },
    }],
  ];
  for (const [field, trial] of changes) {
    const found = await derive(trial);
    assert(found.kind === "differs", `${field}: ${JSON.stringify(found)}`);
    assertEquals(found.field, field);
  }
});

Deno.test("scores and outcomes of questions that were changed by hand disagree", async () => {
  const { open } = questionSource(citySuite().tasks, () => CITY_PATH)!;
  const [planned] = cityPlan({ mode: "parameters" }).trials;
  const trial = await runTrial(planned!, writing(() => "{}"), { open });
  const scores = { syntaxValid: true, structural: true, exact: true, routingExact: true };
  const changes: Record<string, Trial> = {
    outcome: { ...trial, outcome: "solved", solved: true },
    "scores of scored": withEvent(trial, "scored", () => ({ scores })),
    "truth of scored": withEvent(trial, "scored", () => ({ truth: { API: [], parameters: [] } })),
    "output of scored": withEvent(trial, "scored", () => ({ output: "[]" })),
  };
  for (const [field, changed] of Object.entries(changes)) {
    const found = await derive(changed, { open });
    assert(found.kind === "differs", `${field}: ${JSON.stringify(found)}`);
    assertEquals(found.field, field);
  }
});

Deno.test("trials whose events lack what decides them stand as recorded, and it is said why", async () => {
  const trial = await runTrial(SPEC, inProcess("sim:planner"));
  const variable = JSON.stringify(trial.events).match(/"variable":"(\w+)"/)![1]!;
  const long = await runTrial(
    SPEC,
    scripted("long", [{ text: `${variable} = 1`.padStart(MAX_KEPT_LENGTH + 1) }]),
  );
  const hidden = withEvent({ ...trial, outcome: "wrong_answer", solved: false }, "answer", () => ({
    text: "it is [redacted]",
  }));
  const whys = [];
  for (const one of [{ ...trial, events: [] }, long, hidden]) {
    const found = await derive(one);
    whys.push(found.kind === "recorded" ? found.why : found);
  }
  assertEquals(whys, [
    "without events",
    "with a text that was cut",
    "with a text from which a secret was removed",
  ]);
});
