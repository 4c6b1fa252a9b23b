import {
  assert,
  assertEquals,
  AssertionError,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { parseWith } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { assertSolved } from "../../lib/testing/assertions/_trials.ts";
import { InfrastructureError, type Model, type ModelRequest } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { briefSpec, generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import { GeneratedTaskExecutor } from "../../lib/trials/executors/generated.ts";
import type { Agent, AgentTask } from "../../lib/trials/own_agent.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { summarize } from "../../lib/trials/summary.ts";
import {
  parseTrialId,
  type PlannedTrial,
  trialId,
  type TrialKey,
} from "../../lib/trials/trial_id.ts";
import fc from "../support/fast_check.ts";
import { coreInOrder, rightArguments, specs } from "../support/generated.ts";
import { forever } from "../support/strategy_runs.ts";

const SPEC: GraphSpec = { core: 4, depth: 2, connected: 2, disconnected: 2, seed: 11 };
const TASK = generateTask(SPEC);

/** A reply for each core function in order, and the answer. */
function perfect(task: Task = TASK, answer = task.target.value): ScriptedReply[] {
  const calls = coreInOrder(task).map((made) => ({
    text: `Now ${made.name}.`,
    calls: [{ name: made.name, arguments: rightArguments(task, made) }],
  }));
  return [...calls, { text: `${task.target.variable} = ${answer}` }];
}

function run(script: readonly ScriptedReply[], options: TrialOptions = {}): Promise<Trial> {
  return runTrial(SPEC, scripted("parrot", forever(...script)), options);
}

/** A scripted model that fails at a request. */
function failing(error: unknown, at = 1): Model {
  const model = scripted("broken", perfect());
  return {
    ...model,
    reply: (request) => request.context.request < at ? model.reply(request) : Promise.reject(error),
  };
}

/** The record as a journal gives it back. */
function journalled(trial: unknown): unknown {
  return JSON.parse(JSON.stringify(trial));
}

// What comes of a trial

Deno.test("runTrial() records a trial that is solved", async () => {
  const usage = { inputTokens: 5, outputTokens: 2 };
  const trial = await run(perfect().map((reply) => ({ ...reply, usage })), { suite: "a suite" });
  const { startedAt, durationMs, events, ...rest } = trial;
  assertEquals<unknown>(rest, {
    v: 1,
    kind: "trial",
    id: trialId({
      model: "parrot",
      strategy: "plain",
      perturbation: "none",
      task: SPEC,
      repetition: 1,
    }),
    index: 0,
    block: 0,
    suite: "a suite",
    model: { requested: "parrot", served: "parrot", simulated: true },
    strategy: "plain",
    perturbation: "none",
    task: SPEC,
    repetition: 1,
    outcome: "solved",
    solved: true,
    grounded: true,
    calls: 4,
    minimumCalls: 4,
    oracle: "truth",
    impossible: ["redundant_information"],
    failures: [],
    behaviours: [],
    usage: { inputTokens: 25, outputTokens: 10 },
  });
  assertEquals(new Date(startedAt).toISOString(), startedAt);
  assert(Number.isInteger(durationMs) && durationMs >= 0);
  assertEquals(events.map(({ kind }) => kind), [
    "reply",
    "call",
    "reply",
    "call",
    "reply",
    "call",
    "reply",
    "call",
    "reply",
    "answer",
  ]);
});

Deno.test("runTrial() tells right, wrong and missing answers apart (FuncBenchGen 3.1)", async () => {
  const table: [string, string, boolean, boolean][] = [
    [`${TASK.target.variable} = ${TASK.target.value}`, "solved", true, true],
    [`${TASK.target.variable} = ${TASK.target.value + 1}`, "wrong_answer", false, false],
    ["I cannot tell.", "no_answer", false, false],
    ["", "no_answer", false, false],
  ];
  for (const [text, outcome, solved, grounded] of table) {
    const trial = await run([...perfect().slice(0, -1), { text }]);
    assertEquals<unknown>(
      [trial.outcome, trial.solved, trial.grounded],
      [outcome, solved, grounded],
    );
    assertEquals(trial.reason, undefined);
  }
});

Deno.test("runTrial() counts a right answer out of the blue as solved, not grounded", async () => {
  const trial = await run(perfect().slice(-1));
  assertEquals([trial.outcome, trial.grounded, trial.calls], ["solved", false, 0]);
  assertEquals(trial.behaviours, ["aversion"]);
});

Deno.test("runTrial() makes a trial invalid when no usable reply could be had", async () => {
  const trial = await runTrial(SPEC, failing(new InfrastructureError("no network\u001b[31m"), 3));
  assertEquals([trial.outcome, trial.solved, trial.grounded], ["invalid", false, false]);
  assertEquals(trial.reason, "no network\\u001b[31m");
  assertEquals(trial.failures, []);
  assertEquals(trial.calls, 2);
  const last = trial.events.at(-1)!;
  assertEquals<unknown>(last, { kind: "stop", reason: "invalid", message: trial.reason });
});

Deno.test("runTrial() makes a trial invalid when its model throws anything else", async () => {
  for (const error of [new TypeError("a slip"), "a slip", undefined, null]) {
    const trial = await runTrial(SPEC, failing(error));
    assertEquals(trial.outcome, "invalid");
    assertStringIncludes(trial.reason!, error == null ? "threw" : "a slip");
  }
});

Deno.test("runTrial() keeps the reason of an invalid trial short", async () => {
  const trial = await runTrial(SPEC, failing(new InfrastructureError("x".repeat(1_000_000))));
  assert(trial.reason!.length <= 500);
});

Deno.test("runTrial() tells no served name where nobody has answered", async () => {
  const trial = await runTrial(SPEC, failing(new InfrastructureError("no network")));
  assertEquals(trial.model, { requested: "broken", served: "", simulated: true });
});

Deno.test("runTrial() tells the served name that the last reply told", async () => {
  const model = scripted("parrot", perfect());
  const served: Model = {
    ...model,
    simulated: false,
    reply: async (request) => ({ ...await model.reply(request), served: "parrot-2025" }),
  };
  const trial = await runTrial(SPEC, served);
  assertEquals(trial.model, { requested: "parrot", served: "parrot-2025", simulated: false });
});

Deno.test("runTrial() rejects with the reason, though neither model nor agent takes notice", async () => {
  const aborting = () => {
    const controller = new AbortController();
    controller.abort(new RangeError("enough"));
    return controller.signal;
  };
  await assertRejects(() => run(perfect(), { signal: aborting() }), RangeError, "enough");
  const agent: Agent = () => Promise.resolve("42");
  await assertRejects(() => run([{}], { signal: aborting(), agent }), RangeError, "enough");
});

Deno.test("runTrial() runs a planned trial in its place", async () => {
  const key: TrialKey = {
    model: "parrot",
    strategy: "plain",
    perturbation: "none",
    task: SPEC,
    repetition: 3,
  };
  const planned = { ...key, id: trialId(key), index: 17, block: 4 };
  let context: unknown;
  const model = scripted("parrot", (request) => {
    context = request.context;
    return {};
  });
  const trial = await runTrial(planned, model);
  assertEquals(context, { trial: planned.id, repetition: 3, request: 1 });
  assertEquals(
    [trial.id, trial.index, trial.block, trial.repetition],
    [planned.id, 17, 4, 3],
  );
});

// Agents of the user

Deno.test("runTrial() counts what an agent throws as its failure, and tells where", async () => {
  const throwing = (error: unknown): Agent => () => Promise.reject(error);
  const down = new InfrastructureError("502");
  const slip = new TypeError("a slip");
  const at = /\/?(\S*trial_test\.ts:\d+:\d+)/.exec(slip.stack!)![1]!;
  const trial = await run([{}], { agent: throwing(slip) });
  const reason = `the agent threw TypeError at ${
    at.slice(at.lastIndexOf("tests/trials/"))
  }: a slip`;
  assertEquals([trial.outcome, trial.solved, trial.reason], ["agent_error", false, reason]);
  assertEquals([trial.failures, trial.behaviours], [[], []]);
  assertEquals<unknown>(trial.events.at(-1), {
    ...{ kind: "stop", reason: "agent_error", message: reason },
    at: at.slice(at.lastIndexOf("tests/trials/")),
  });
  const { message } = assertThrows(() => assertSolved(trial), AssertionError);
  assertStringIncludes(message, reason.replace("the", "The"));
  // Anyone who wraps an error of infrastructure, or throws one of this library's, has thrown it themselves.
  for (const error of [new Error("it", { cause: down }), new AggregateError([down]), "it", null]) {
    assertEquals((await run([{}], { agent: throwing(error) })).outcome, "agent_error");
  }
  const misused = await run([{}], { agent: throwing(new InputError("no such tool")) });
  assertEquals(misused.outcome, "agent_error");
  const spoiled = await run([{}], { agent: throwing(down) });
  assertEquals([spoiled.outcome, spoiled.reason], ["invalid", "502"]);
});

Deno.test("runTrial() says what an agent must return, where that is no text", async () => {
  const { signal } = new AbortController();
  for (
    const [returned, kind] of [
      [{ text: "7" }, "an object"],
      [["7"], "a list"],
      [undefined, "undefined"],
      [7, "a number"],
    ] as const
  ) {
    const agent = (() => Promise.resolve(returned)) as unknown as Agent;
    const trial = await run([{}], { agent, signal });
    const reason = `the agent must return a text: it returned ${kind}`;
    assertEquals([trial.outcome, trial.reason], ["agent_error", reason]);
    // It is the agent that must be mended: no line of the caller's is named.
    assertEquals<unknown>(trial.events, [{ kind: "stop", reason: "agent_error", message: reason }]);
  }
  const overdone = async (task: AgentTask) => {
    for (let calls = 0; calls < 9; calls++) await task.tools[0]!.execute({});
  };
  const past = await run([{}], { agent: overdone as unknown as Agent });
  assertEquals(past.outcome, "call_limit");
  // Without types an agent need not be async.
  const prompt = (() => `${TASK.target.variable} = 0`) as unknown as Agent;
  assertEquals((await run([{}], { agent: prompt, signal })).outcome, "wrong_answer");
});

/** Everything that can be read from a value: of its own, of its prototypes, and of what these lead to. */
function reachable(value: unknown, seen: Set<unknown> = new Set()): Set<unknown> {
  if (seen.has(value)) return seen;
  seen.add(value);
  if (value instanceof Map || value instanceof Set) {
    for (const item of [...value].flat()) reachable(item, seen);
  }
  if (typeof value !== "object" && typeof value !== "function" || value === null) return seen;
  reachable(Object.getPrototypeOf(value), seen);
  for (const key of Reflect.ownKeys(value)) {
    try {
      reachable((value as Record<PropertyKey, unknown>)[key], seen);
    } catch {
      // A getter of a prototype has nothing to read from.
    }
  }
  return seen;
}

Deno.test("runTrial() gives an agent nothing from which the answer could be read", async () => {
  const outputs = TASK.functions.map(({ output }) => TASK.values.get(output.name)!);
  let found: Set<unknown> | undefined;
  const agent: Agent = async (given) => {
    await given.tools[0]!.execute({});
    given.step();
    assertEquals([given.callLimit, given.calls, given.left, given.exhausted], [8, 1, 7, false]);
    found = reachable(given);
    return "I give up";
  };
  assertEquals((await run([{}], { agent })).outcome, "no_answer");
  const texts = [...found!].filter((value) => typeof value === "string");
  assertEquals(texts.filter((text) => outputs.some((value) => text.includes(`${value}`))), []);
  assertEquals(outputs.filter((value) => found!.has(value)), []);
  // What a method could be asked for.
  const names = [...found!].filter((value) => typeof value === "function").map(({ name }) => name);
  for (const name of ["answer", "viewed", "execute"]) {
    assertEquals(names.includes(name), name === "execute", name);
  }
  assertEquals([...found!].some((value) => value instanceof GeneratedTaskExecutor), false);
});

Deno.test("runTrial() counts a trial past the limit as call_limit, though its agent then throws", async () => {
  const agent: Agent = async (executor) => {
    for (;;) {
      const result = JSON.parse(await executor.tools[0]!.execute({}));
      if (executor.exhausted) throw new Error(result.error);
    }
  };
  assertEquals((await run([{}], { agent })).outcome, "call_limit");
});

// Ids

const NAMES = fc.oneof(
  fc.constantFrom(
    "gpt-5",
    "Qwen/Qwen3-235B A22B",
    "sim:noisy?early=0.1&seed=3",
    "a=b c%20d%",
    "a+b#c;d,e@f$g[h]'i\"j",
    "名前 模型",
    "🦜",
    "e\u0301 \u202e \u2028\u00a0",
    " x ",
    "core=3",
    "%2F %25",
    "..",
    "",
  ),
  fc.string(),
  fc.string({ unit: "grapheme" }),
);

const KEYS: fc.Arbitrary<TrialKey> = fc.record({
  model: NAMES,
  strategy: NAMES.map((name) => `s${name}`),
  perturbation: NAMES.map((name) => `p${name}`),
  task: fc.oneof(
    specs().map(briefSpec),
    fc.record({ case: fc.constantFrom(...PROBES), seed: fc.maxSafeNat() }),
  ),
  repetition: fc.integer({ min: 1, max: 1000 }),
});

Deno.test("parseTrialId() gives back what trialId() was given", () => {
  fc.assert(fc.property(KEYS, (key) => {
    const id = trialId(key);
    assertEquals(parseTrialId(id), key);
    assert(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(id), id);
  }));
});

Deno.test("trialId() is the same for a spec with and without its defaults, and short", () => {
  const key: TrialKey = {
    model: "sim:planner",
    strategy: "plain",
    perturbation: "none",
    task: { ...SPEC, types: 2, inputs: [1, 2], extraEdges: 8, linking: "types" },
    repetition: 1,
  };
  const id = "core=4 depth=2 connected=2 disconnected=2 seed=11 model=sim:planner " +
    "strategy=plain perturbation=none repetition=1";
  assertEquals(trialId(key), id);
  assertEquals(trialId({ ...key, task: SPEC }), id);
  const task = { case: "oracle", seed: 11 } as const;
  assertEquals(trialId({ ...key, task, repetition: 2 }), PROBE_ID);
});

Deno.test("trialId() copes with half a character in a name", () => {
  const key = { model: "x\ud800", strategy: "plain", perturbation: "none", repetition: 1 };
  const id = trialId({ ...key, task: SPEC });
  assert(parseTrialId(id) !== undefined);
});

const ID = trialId({
  model: "gpt-5",
  strategy: "plain",
  perturbation: "none",
  task: { ...SPEC, inputs: [1, 3] },
  repetition: 1,
});

const PROBE_ID =
  "case=oracle seed=11 model=sim:planner strategy=plain perturbation=none repetition=2";

Deno.test("parseTrialId() takes space around and between the words for nothing", () => {
  assertEquals(parseTrialId(`  ${ID.replaceAll(" ", " \t ")}\n`), parseTrialId(ID));
});

Deno.test("parseTrialId() gives undefined for what is no id", () => {
  for (
    const text of [
      "",
      "nonsense",
      ID.replace("core=4", ""),
      ID.replace("core=4", "core="),
      ID.replace("core=4", "core=four"),
      ID.replace("core=4", "core=-4"),
      ID.replace("core=4", "core=4.5"),
      ID.replace("depth=2", "depth=4"),
      ID.replace("seed=11", "seed=9007199254740992"),
      ID.replace("inputs=1..3", "inputs=3..1"),
      ID.replace("inputs=1..3", "inputs=1"),
      ID.replace("inputs=1..3", "inputs=x..y"),
      ID.replace("model=gpt-5", ""),
      ID.replace("model=gpt-5", "model=%"),
      ID.replace("repetition=1", ""),
      ID.replace("strategy=plain", ""),
      ID + " linking=other",
      ID + " types=0",
      // A word too many, or twice.
      ID + " extraedges=3",
      ID + " core=5",
      ID + " more",
      ID.replace("inputs=1..3", "inputs=1..3..5"),
      ID.replace("inputs=1..3", "inputs=1..0x3"),
      ID.replace("repetition=1", "repetition=0"),
      ...["", "seed=-1", "seed=1.5"].map((seed) => PROBE_ID.replace("seed=11", seed)),
      PROBE_ID.replace("case=oracle", ""),
      `${PROBE_ID} core=3`,
      `${PROBE_ID} linking=types`,
      `${PROBE_ID} case=oracle`,
    ]
  ) assertEquals(parseTrialId(text), undefined, text);
});

Deno.test("parseTrialId() takes any text without an error", () => {
  fc.assert(fc.property(fc.string(), (text) => {
    parseTrialId(text);
    parseTrialId(`${ID} ${text}`);
  }));
});

// Records

Deno.test("TRIAL_LINE rejects records that contradict themselves or are none", async () => {
  const good = journalled(await run(perfect())) as Record<string, unknown>;
  assert(TRIAL_LINE.safeParse(good).success);
  const changes: Record<string, unknown>[] = [
    { solved: false },
    { outcome: "wrong_answer" },
    { outcome: "lost", solved: false },
    { v: 2 },
    { kind: "plan" },
    { id: "" },
    { id: undefined },
    { calls: -1 },
    { calls: 1.5 },
    { repetition: 0 },
    { minimumCalls: "4" },
    { model: "parrot" },
    { model: { requested: "parrot" } },
    { task: 4 },
    { failures: [{ type: "function_not_found" }] },
    { failures: [{ root: true }] },
    { usage: { inputTokens: 1 } },
    { stages: "plan" },
    { stages: [{ stage: "plan", model: good["model"] }] },
  ];
  for (const change of changes) {
    const { success } = TRIAL_LINE.safeParse({ ...good, ...change });
    assert(!success, JSON.stringify(change));
  }
  for (const value of [null, [], "trial", 4, undefined]) {
    assert(!TRIAL_LINE.safeParse(value).success);
  }
});

Deno.test("TRIAL_LINE checks every failure fully, and names the path of what is wrong", async () => {
  const good = journalled(await run(perfect())) as Record<string, unknown>;
  const base = { call: 1, step: 1, function: "func_abc", root: true };
  const fault = { missing: [], unexpected: [], wrongType: [], malformed: true };
  const wrong = { parameter: "a", variable: "b", given: 7, origin: "fabricated" };
  const notFound = { ...base, type: "function_not_found", detail: { nearest: null } };
  const inputs = { ...base, type: "wrong_number_of_inputs", detail: fault };
  const value = { ...base, type: "incorrect_value", detail: { arguments: [wrong] } };
  const early = { ...value, type: "value_not_yet_known" };
  const sound = [notFound, inputs, value, early];
  const { failures } = parseWith(TRIAL_LINE, { ...good, failures: sound }, "the line");
  assertEquals<unknown>(failures, sound);

  const faults: [Record<string, unknown>, string][] = [
    [{ ...notFound, type: "theirs" }, "type"],
    ...sound.map((one): [Record<string, unknown>, string] => [{ ...one, detail: {} }, "detail."]),
    [{ ...notFound, detail: undefined }, "detail"],
    [{ ...notFound, call: 0 }, "call"],
    [{ ...notFound, step: 0 }, "step"],
    [{ ...notFound, function: 7 }, "function"],
    [{ ...notFound, root: undefined }, "root"],
    [{ ...inputs, detail: { ...fault, missing: [7] } }, "detail.missing[0]"],
    [{ ...inputs, detail: { ...fault, malformed: "no" } }, "detail.malformed"],
    [{ ...value, detail: { arguments: [{ ...wrong, given: [7] }] } }, "detail.arguments[0].given"],
    [{ ...early, detail: { arguments: [wrong, { ...wrong, origin: "luck" }] } }, "[1].origin"],
  ];
  for (const [failure, path] of faults) {
    const { message } = assertThrows(
      () => parseWith(TRIAL_LINE, { ...good, failures: [notFound, failure] }, "the line"),
      InputError,
    );
    assertStringIncludes(message, "at failures[1].", JSON.stringify(failure));
    assertStringIncludes(message, path, JSON.stringify(failure));
  }
});

Deno.test("TRIAL_LINE drops the events of other tools, all of them, and keeps the rest", async () => {
  const good = journalled(await run(perfect())) as Record<string, unknown>;
  const own = good["events"] as unknown[];
  for (const events of [[{}], [{ kind: "theirs" }], [...own, { kind: "call" }], "none", null, 7]) {
    assertEquals<unknown>(TRIAL_LINE.parse({ ...good, events }), { ...good, events: [] });
  }
});

Deno.test("TRIAL_LINE keeps a call that must not happen, also among the events of other tools", async () => {
  const good = journalled(await run([{ text: "" }])) as Record<string, unknown>;
  const forbidden = { kind: "assertion", message: "It was called.", never: true };
  const other = { kind: "of another tool" };
  const trial = TRIAL_LINE.parse({ ...good, events: [other, forbidden, other] });
  assertEquals<unknown>(trial.events, [forbidden]);
  assertEquals(summarize(trial).never, true);
});

Deno.test("TRIAL_LINE fills in what other tools leave out", () => {
  const least = {
    v: 1,
    kind: "trial",
    id: "1",
    suite: "",
    model: { requested: "sim:planner", served: "sim:planner" },
    task: {},
    outcome: "solved",
    solved: true,
    calls: 0,
  };
  const trial = TRIAL_LINE.parse(least);
  assertEquals<unknown>(trial, {
    ...least,
    index: 0,
    block: 0,
    model: { ...least.model, simulated: true },
    strategy: "plain",
    perturbation: "none",
    repetition: 1,
    grounded: false,
    minimumCalls: null,
    failures: [],
    behaviours: [],
    usage: { inputTokens: 0, outputTokens: 0 },
    startedAt: "",
    durationMs: 0,
    events: [],
  });
  assertEquals(TRIAL_LINE.parse({ ...least, perturbation: null }).perturbation, "none");
  assertEquals(
    TRIAL_LINE.parse({ ...least, model: { requested: "gpt-5", served: "x" } }).model.simulated,
    false,
  );
});

Deno.test("TRIAL_LINE keeps fields that it does not know", () => {
  const line = { v: 1, kind: "trial", id: "1", suite: "", task: { set: "x" }, outcome: "invalid" };
  const model = { requested: "a", served: "b", region: "c" };
  const trial = TRIAL_LINE.parse({ ...line, model, solved: false, calls: 0, reason: "r", more: 1 });
  assertEquals<unknown>(trial, { ...trial, reason: "r", more: 1 });
  assertEquals<unknown>(trial.task, { set: "x" });
  assertEquals<unknown>(trial.model, { ...model, simulated: false });
});

Deno.test("runTrial() keeps no key of an agent's error", async () => {
  const spec = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
  const agent = () => Promise.reject(new Error("401 for Bearer sk-live-abcdefghijklmnop"));
  const trial = await runTrial(spec, scripted("mine", [{}]), { agent });
  assertEquals(trial.outcome, "agent_error");
  assert(!JSON.stringify(trial).includes("abcdefghijklmnop"));
});

// Strategies

/** A trial of a strategy by some name. */
function ofStrategy(strategy: string): PlannedTrial {
  const key = { model: "parrot", strategy, perturbation: "none", task: SPEC, repetition: 1 };
  return { ...key, id: trialId(key), index: 0, block: 0 };
}

/** A model that solves the task, and says `plan` wherever it is offered no functions. */
function planning(name: string, plan: string, requests: ModelRequest[] = []): Model {
  const usage = { inputTokens: 3, outputTokens: 2 };
  return scripted(name, (request) => {
    requests.push(request);
    if (request.tools.length === 0) return { text: plan, usage };
    const done = request.messages.filter(({ role }) => role === "tool").length;
    return { ...perfect()[done]!, usage };
  });
}

Deno.test("runTrial() works by the strategy that its name is the id of, unless told which", async () => {
  const plain = await runTrial(ofStrategy("plan_then_call"), planning("parrot", "PLAN"));
  const named = await runTrial(ofStrategy("my own"), planning("parrot", "PLAN"), {
    strategy: { strategy: "plan_then_call" },
  });
  for (const { outcome, events, usage } of [plain, named]) {
    assertEquals(outcome, "solved");
    const [first, ...others] = events.filter((event) => event.kind === "reply");
    assertEquals([first!.stage, first!.text], ["plan", "PLAN"]);
    assertEquals(others.map(({ stage }) => stage), new Array(5).fill(undefined));
    assertEquals(usage, { inputTokens: 18, outputTokens: 12 });
  }
  assertEquals([plain.strategy, named.strategy], ["plan_then_call", "my own"]);
});
