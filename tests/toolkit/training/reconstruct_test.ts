// Trials that are rebuilt from their lines, compared with what models were really sent when they were run.

import { assert, assertEquals } from "@std/assert";
import { formatOf, TEXT_FORMATS } from "../../../lib/models/formats/registry.ts";
import type { GraphSpec } from "../../../lib/tasks/graphs/graph.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { Model, ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { inTextFormat } from "../../../lib/models/formats/_adapter.ts";
import { PERTURBATIONS } from "../../../lib/perturbations/ids.ts";
import { PROBES } from "../../../lib/tasks/task_kind.ts";
import { questionSource } from "../../../lib/runs/question_tasks.ts";
import {
  type Reconstruction,
  RECONSTRUCTION_FAILURES,
  type ReconstructionFailure,
  reconstructTrial,
} from "../../../lib/toolkit/training/examples.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { MAX_KEPT_LENGTH, type TraceEvent } from "../../../lib/calls/trace.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { calling, CITY, CITY_PATH, writing } from "../../support/call_sets.ts";
import fc from "../../support/fast_check.ts";
import { severalSpecs, specs } from "../../support/generated.ts";
import { inProcess } from "../../support/in_process.ts";
import { EVERY, forever, listened, planned } from "../../support/strategy_runs.ts";

const SPEC: GraphSpec = { core: 4, depth: 2, connected: 2, disconnected: 1, seed: 11 };

/** A line of a journal, as it is read again. */
const journalled = (trial: Trial): Trial => JSON.parse(JSON.stringify(trial));

async function run(model: Model, strategy: string, options: TrialOptions = {}, task = SPEC) {
  const trial = planned(strategy, model.name, task);
  const { perturbation = "none" } = options;
  return journalled(await runTrial({ ...trial, perturbation }, model, options));
}

function told(
  retold: Reconstruction | { readonly failure: ReconstructionFailure },
): Reconstruction {
  assert("messages" in retold, JSON.stringify(retold));
  return retold;
}

/** Messages whose calls are numbered through: journals do not keep their ids. */
function numbered(messages: readonly Message[]): Message[] {
  const ids: string[] = [];
  return messages.map((message): Message => {
    if (message.role === "tool") {
      // Ids are unique within a reply only: the last call of an id is meant.
      return { ...message, callId: `call_${ids.lastIndexOf(message.callId) + 1}` };
    }
    if (message.role !== "assistant") return message;
    const calls = message.calls.map((call) => ({ ...call, id: `call_${ids.push(call.id)}` }));
    return { role: "assistant", content: message.content, calls };
  });
}

/** Whether the last that a model was asked was asked beside the loop: there is then no answer to the loop. */
const endsBeside = ({ events }: Trial) =>
  events.findLast((event) => event.kind === "reply")?.stage !== undefined;

Deno.test("reconstructTrial() tells of any simulated trial what the model was really sent, and said (Pipeline, Constructing Tool Call Datasets)", async () => {
  const models = [
    "sim:planner",
    "sim:noisy?early=0.3&stale=0.2&seed=1",
    "sim:noisy?distract=0.4&hallucinate=0.2&seed=2",
    "sim:noisy?arity=0.4&seed=3",
    "sim:noisy?quit=0.3&seed=4",
  ];
  const perturbations = ["none", ...PERTURBATIONS, "RD+FK", "timeout+CF"];
  const reasons = new Map<string, number>();
  await fc.assertAll(
    fc.asyncProperty(
      fc.oneof(specs(6), severalSpecs(6)),
      fc.constantFrom(...models),
      fc.constantFrom(...EVERY),
      fc.constantFrom(...perturbations),
      async (task, name, strategy, perturbation) => {
        const requests: ModelRequest[] = [];
        const model = listened(inProcess(name), requests);
        const trial = await run(model, strategy, { perturbation }, task);
        const retold = await reconstructTrial(trial);
        if ("failure" in retold) {
          reasons.set(retold.failure, (reasons.get(retold.failure) ?? 0) + 1);
          if (trial.outcome.endsWith("_limit")) return assertEquals(retold.failure, "limit");
          // Others that cannot be rebuilt asked for something beside the loop that had calls, or a strategy called.
          assert(
            trial.events.some((event) =>
              event.kind === "repair" || event.kind === "call" && event.by !== undefined
            ),
            `${strategy}: ${retold.failure}`,
          );
          return;
        }
        reasons.set("told", (reasons.get("told") ?? 0) + 1);
        const { messages, tools } = requests.at(-1)!;
        assertEquals(retold.messages.slice(0, -1), numbered(messages));
        assertEquals(retold.tools, tools);
        const said = trial.events.findLast((event) => event.kind === "reply")!;
        assertEquals(retold.messages.at(-1), { role: "assistant", content: said.text, calls: [] });
      },
    ),
    { numRuns: 60 },
  );
  assert(reasons.get("told")! > 40, JSON.stringify([...reasons]));
});

for (const id of TEXT_FORMATS) {
  Deno.test(`reconstructTrial() tells what was said in the text format ${id} as calls and results`, async () => {
    const spoken = await run(inProcess("sim:planner"), "plain");
    const native = told(await reconstructTrial(spoken));
    const requests: ModelRequest[] = [];
    // The same replies, written as texts.
    const format = formatOf(id);
    const assistant = native.messages.filter((message) => message.role === "assistant");
    const texts = assistant.flatMap(({ content, calls }) =>
      (format.parallel ? [calls] : calls.map((call) => [call])).map((own) => ({
        text: format.writeCalls(content, own),
      }))
    );
    const answer = { text: format.writeCalls(assistant.at(-1)!.content, []) };
    const script: ScriptedReply[] = [...texts, answer];
    const model = listened(scripted("m", script), requests);
    const trial = await run(inTextFormat(model, id), "plain");
    assertEquals(trial.outcome, "solved");
    const { messages, tools } = told(await reconstructTrial(trial));
    assertEquals(requests.at(-1)!.messages, format.present(messages.slice(0, -1), tools));
    assertEquals(
      messages.at(-1)!.content,
      spoken.events.findLast((event) => event.kind === "reply")!.text,
    );
  });
}

Deno.test("reconstructTrial() tells of probes", async () => {
  for (const probe of PROBES) {
    const task = { case: probe, seed: 3 };
    const trial = journalled(await runTrial(task, inProcess("sim:planner")));
    const retold = await reconstructTrial(trial);
    if (trial.outcome.endsWith("_limit")) assertEquals(retold, { failure: "limit" });
    else assertEquals(told(retold).messages[0]!.role, "user");
  }
});

const SETS = questionSource([{ set: CITY_PATH }], (path) => path)!;

Deno.test("reconstructTrial() tells of questions of call sets that are at hand", async () => {
  const { open } = SETS;
  for (const { id: question, difficulty } of CITY.questions.slice(0, 4)) {
    const task = { set: CITY.name, question, difficulty, mode: "tools" as const };
    const trial = journalled(await runTrial(task, calling(), { open }));
    const { messages, tools } = told(await reconstructTrial(trial, { open }));
    assertEquals(messages.at(-1), { role: "assistant", content: "Done.", calls: [] });
    assert(tools.length > 0);
    assertEquals(await reconstructTrial(trial), { failure: "no_set" });
  }
});

Deno.test("reconstructTrial() leaves out what was asked in words only", async () => {
  const { open } = SETS;
  const [{ id: question, difficulty }] = CITY.questions as [typeof CITY.questions[number]];
  for (const mode of ["parameters", "routing"] as const) {
    const task = { set: CITY.name, question, difficulty, mode };
    const trial = journalled(await runTrial(task, writing((truth) => truth), { open }));
    assertEquals(await reconstructTrial(trial, { open }), { failure: "no_tools" }, mode);
  }
});

Deno.test("reconstructTrial() tells results whole that a journal has cut", async () => {
  const task = { core: 5, depth: 1, connected: 0, disconnected: 0, seed: 7, inputs: [300, 300] };
  const requests: ModelRequest[] = [];
  const model = listened(inProcess("sim:planner"), requests);
  const trial = await run(model, "restate", {}, task as unknown as GraphSpec);
  assert(
    trial.events.some((event) => event.kind === "call" && event.result.length === MAX_KEPT_LENGTH),
  );
  const { messages } = told(await reconstructTrial(trial));
  assert(messages.some(({ role, content }) => role === "tool" && content.length > MAX_KEPT_LENGTH));
  assertEquals(messages.slice(0, -1), numbered(requests.at(-1)!.messages));
});

Deno.test("reconstructTrial() lets the model see as much of a result as it did", async () => {
  const trial = await run(inProcess("sim:planner"), "plain", { limits: { observation: 9 } });
  assertEquals(await reconstructTrial(trial), { failure: "differs" });
  const { messages } = told(await reconstructTrial(trial, { limits: { observation: 9 } }));
  assert(messages.every(({ role, content }) => role !== "tool" || content.length <= 9));
});

Deno.test("reconstructTrial() tells of calls that refer to others of their reply", async () => {
  const requests: ModelRequest[] = [];
  const { functions, tools } = generateTask({ ...SPEC, core: 2, depth: 1, connected: 0 });
  const [source, target] = functions.toSorted((one, other) =>
    one.dependsOn.length - other.dependsOn.length
  );
  const { inputs, target: wanted } = generateTask({ ...SPEC, core: 2, depth: 1, connected: 0 });
  const given = (names: readonly { name: string; variable: string }[], other?: string) =>
    Object.fromEntries(
      names.map(({ name, variable }) => [name, inputs.get(variable) ?? `$1.${other}`]),
    );
  const script: ScriptedReply[] = [
    {
      calls: [
        { name: source!.name, arguments: given(source!.parameters) },
        { name: target!.name, arguments: given(target!.parameters, source!.output.name) },
      ],
    },
    { text: `${wanted.variable} = ${wanted.value}` },
  ];
  const model = listened(scripted("m", script), requests);
  const task = { ...SPEC, core: 2, depth: 1, connected: 0 };
  const trial = await run(model, "plain", { references: true }, task);
  assertEquals([trial.outcome, tools.length], ["solved", 3]);
  const { messages, tools: shown } = told(await reconstructTrial(trial, { references: true }));
  assertEquals(messages.slice(0, -1), numbered(requests.at(-1)!.messages));
  assertEquals(shown, requests.at(-1)!.tools);
  assertEquals(await reconstructTrial(trial), { failure: "differs" });
});

Deno.test("reconstructTrial() takes what is set of a strategy", async () => {
  const prompts = { plan_then_call: { call: "Go on." } };
  const strategy = { strategy: "plan_then_call", prompts };
  const trial = await run(inProcess("sim:planner"), "plan_then_call", { strategy });
  const { messages } = told(await reconstructTrial(trial, { strategy }));
  assertEquals(messages.filter(({ content }) => content === "Go on.").length, 1);
  assertEquals(await reconstructTrial(trial, { strategy: { strategy: "nap" } }), {
    failure: "unknown_strategy",
  });
});

// Trials that cannot be rebuilt.

/** A trial of a model that calls the first function, and then answers. */
async function tried(replies: readonly ScriptedReply[], options: TrialOptions = {}) {
  return await run(scripted("m", forever(...replies)), "plain", options);
}

Deno.test("reconstructTrial() says why a trial cannot be told", async () => {
  const [name] = generateTask(SPEC).tools.map((tool) => tool.name);
  const call = { name: name!, arguments: "{}" };
  const answer = { text: "x = 1" };
  const cases: Partial<Record<ReconstructionFailure, Trial>> = {
    invalid: await run(
      scripted("m", () => {
        throw new Error("no");
      }),
      "plain",
    ),
    limit: await tried([{ calls: [call] }], { limits: { calls: 2 } }),
    no_answer: await tried([{ text: " \n" }]),
    own_task: { ...await tried([answer]), task: { case: "mine", seed: 1 } as never },
    unknown_task: { ...await tried([answer]), task: { ...SPEC, core: 0 } },
    unknown_strategy: { ...await tried([answer]), strategy: "naps" },
    no_replies: await run(scripted("m", [answer]), "plain", {
      agent: async (executor) => {
        await executor.tools[0]!.execute({});
        return "x = 1";
      },
    }),
    cut: await tried([{ text: "a".repeat(MAX_KEPT_LENGTH) }]),
    malformed: await tried([{ calls: [{ name: name!, arguments: "{" }] }, answer]),
    differs: { ...await tried([answer]), outcome: "solved", solved: true },
  };
  for (const [reason, trial] of Object.entries(cases)) {
    assertEquals(await reconstructTrial(journalled(trial)), {
      failure: reason as ReconstructionFailure,
    }, reason);
    assert(RECONSTRUCTION_FAILURES[reason as ReconstructionFailure].length > 10);
  }
});

Deno.test("reconstructTrial() takes arguments that are cut for cut", async () => {
  const [name] = generateTask(SPEC).tools.map((tool) => tool.name);
  const long = JSON.stringify({ a: "a".repeat(MAX_KEPT_LENGTH) });
  const trial = await tried([{ calls: [{ name: name!, arguments: long }] }, { text: "x = 1" }]);
  assertEquals(await reconstructTrial(trial), { failure: "cut" });
});

Deno.test("reconstructTrial() believes nothing of a line that does not come out", async () => {
  const trial = await run(inProcess("sim:planner"), "plain");
  told(await reconstructTrial(trial));
  const changed = (change: (event: TraceEvent) => TraceEvent): Trial => ({
    ...trial,
    events: trial.events.map(change),
  });
  const last = trial.events.findLastIndex((event) => event.kind === "reply");
  const forged: Record<string, Trial> = {
    "a result": changed((event) => event.kind === "call" ? { ...event, result: '{"x":1}' } : event),
    "a name": changed((event) =>
      event.kind === "call" && event.call === 1 ? { ...event, function: "func_none" } : event
    ),
    "arguments": changed((event) =>
      event.kind === "call" && event.call === 1 ? { ...event, arguments: '{"x":1}' } : event
    ),
    "a step": changed((event) =>
      event.kind === "call" ? { ...event, step: event.step + 1 } : event
    ),
    "an answer": changed((event) => event.kind === "answer" ? { ...event, text: "no" } : event),
    "what was found in it": changed((event) =>
      event.kind === "answer" ? { ...event, value: 1 } : event
    ),
    "what was said": {
      ...trial,
      events: trial.events.map((event, place) =>
        event.kind === "reply" && place === last ? { ...event, text: "I know." } : event
      ),
    },
    "the outcome": { ...trial, outcome: "wrong_answer", solved: false },
    "what it rests on": { ...trial, grounded: false },
    "the task": { ...trial, task: { ...SPEC, seed: 12 } },
    "the perturbation": { ...trial, perturbation: "FK" },
    "the strategy": { ...trial, strategy: "restate" },
    "a further reply": {
      ...trial,
      events: [...trial.events.slice(0, -1), trial.events[last]!, trial.events.at(-1)!],
    },
  };
  for (const [what, other] of Object.entries(forged)) {
    const retold = await reconstructTrial(other);
    assertEquals("failure" in retold && retold.failure, "differs", what);
  }
  // A reply fewer, and a call that no reply has made.
  const fewer = trial.events.filter((_, place) => place !== last);
  assertEquals(await reconstructTrial({ ...trial, events: fewer }), { failure: "differs" });
  const [call] = trial.events.filter((event) => event.kind === "call");
  const more = [...trial.events, call!];
  assertEquals(await reconstructTrial({ ...trial, events: more }), { failure: "unkept" });
});

Deno.test("reconstructTrial() tells of calls that a model was asked to mend and did not", async () => {
  const [name] = generateTask(SPEC).tools.map((tool) => tool.name);
  const requests: ModelRequest[] = [];
  const model = scripted("m", ({ context, messages }) => {
    if (context.stage === "repair") return { text: "I cannot." };
    const isAnswered = messages.some(({ role }) => role === "tool");
    return isAnswered ? { text: "x = 1" } : { calls: [{ name: name!, arguments: {} }] };
  });
  const trial = await run(listened(model, requests), "repair");
  assertEquals(trial.events.filter((event) => event.kind === "repair").length, 1);
  const { messages } = told(await reconstructTrial(trial));
  assertEquals(messages.slice(0, -1), numbered(requests.at(-1)!.messages));
});

Deno.test("reconstructTrial() tells of trials that were allowed more calls than is usual", async () => {
  const call = { calls: [{ name: "func_none", arguments: {} }] };
  const replies = [...Array.from({ length: 12 }, () => call), { text: "x = 1" }];
  const trial = await tried(replies, { limits: { calls: 20 } });
  assertEquals(trial.calls, 12);
  assertEquals(told(await reconstructTrial(trial)).messages.length, 26);
});

Deno.test("reconstructTrial() leaves out trials whose last word was asked for beside the loop", async () => {
  const { open } = SETS;
  const [{ id: question, difficulty }] = CITY.questions as [typeof CITY.questions[number]];
  const task = { set: CITY.name, question, difficulty, mode: "parameters" as const };
  const model = writing((truth, { context }) => context.stage === "repair" ? truth : "Hm.");
  const strategy = { strategy: "repair" };
  const key = planned("repair", "m", task);
  const trial = journalled(await runTrial(key, model, { open, strategy }));
  assert(endsBeside(trial));
  assertEquals(await reconstructTrial(trial, { open }), { failure: "unkept" });
});
