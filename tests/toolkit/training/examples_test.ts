// Conversations of journals: which are taken, in which order, and what is said of where they come from.

import { assert, assertEquals } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { planLine } from "../../../lib/runs/journal/plan_line.ts";
import type { Model } from "../../../lib/models/model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { type Plan, planSuite } from "../../../lib/runs/plan.ts";
import { planHash } from "../../../lib/runs/resolved_suite.ts";
import { questionSource } from "../../../lib/runs/question_tasks.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import { generateTask, GENERATOR_VERSION } from "../../../lib/tasks/graphs/task.ts";
import {
  metadataOf,
  originOf,
  SKIPPED,
  trainingExample,
  type TrainingOptions,
  type TrainingTally,
  writeTrainingData,
} from "../../../lib/toolkit/training/examples.ts";
import { trainingFormat } from "../../../lib/toolkit/training/registry.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { calling, CITY, CITY_PATH, cityPlan } from "../../support/call_sets.ts";
import { Folder } from "../../support/folders.ts";
import { inProcess } from "../../support/in_process.ts";
import { writeJournal } from "../../support/journals.ts";
import { record } from "../../support/records.ts";

const TASK = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };

/** The trials of a plan, run by simulated models. */
async function runAll(plan: Plan, model?: Model): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const trial of plan.trials) {
    trials.push(
      await runTrial(trial, model ?? inProcess(trial.model), {
        suite: plan.suite,
        limits: plan.resolved.limits,
        ...(plan.open === undefined ? {} : { open: plan.open }),
      }),
    );
  }
  return trials;
}

function planFor(others: Partial<Suite> = {}): Plan {
  return planSuite({
    ...{ name: "s", seed: 3, graphs: 3, tasks: [{ core: 3, depth: 1 }], models: ["sim:planner"] },
    ...others,
  });
}

const ORIGIN = originOf(planLine(planFor()));

interface Written {
  readonly lines: Record<string, unknown>[];
  readonly metadata: Readonly<Record<string, string>>[];
  readonly tally: TrainingTally;
}

async function write(
  journals: readonly string[],
  options: Partial<TrainingOptions> = {},
): Promise<Written> {
  const lines: Written["lines"] = [];
  const metadata: Written["metadata"] = [];
  const tally = await writeTrainingData(
    journals,
    { format: trainingFormat("openai-chat"), ...options },
    (line, own) => {
      lines.push(line);
      metadata.push(own);
    },
  );
  return { lines, metadata, tally };
}

// Where a conversation comes from

Deno.test("metadataOf() says where a conversation comes from, in texts", async () => {
  const trial = await runTrial(TASK, inProcess("sim:planner"), { suite: "mine" });
  assertEquals(metadataOf(trial, { ...ORIGIN, hash: "abc" }), {
    trial: "core=3 depth=2 connected=0 disconnected=0 seed=7 model=sim:planner strategy=plain " +
      "perturbation=none repetition=1",
    suite: "mine",
    plan: "abc",
    generator: "1",
    task: JSON.stringify(TASK),
    model: "sim:planner",
    served: "sim:planner",
    simulated: "true",
    strategy: "plain",
    perturbation: "none",
    outcome: "solved",
    grounded: "true",
  });
});

Deno.test("metadataOf() leaves out what is not known, and tells how a model was spoken to", () => {
  const trial = record({ suite: "" });
  const { suite, recovery, api, generator, simulated } = metadataOf(trial, ORIGIN);
  assertEquals([suite, recovery, api], [undefined, undefined, undefined]);
  assertEquals([generator, simulated], [String(GENERATOR_VERSION), "false"]);
  const spoken = { ...trial, model: { ...trial.model, api: "react" as const } };
  assertEquals(metadataOf(spoken, ORIGIN)["api"], "react");
});

Deno.test("metadataOf() keeps to what is taken as metadata, whatever a line holds", () => {
  const trial = record({
    ...{ id: "x".repeat(600), model: "\ud800", strategy: "__proto__", perturbation: "\u0000" },
    task: { core: 1, note: "y".repeat(600) } as never,
  });
  const metadata = metadataOf(trial, ORIGIN);
  assert(Object.keys(metadata).length <= 16);
  for (const value of Object.values(metadata)) assert(value.length <= 512 && value.isWellFormed());
  assertEquals(metadata["strategy"], "__proto__");
});

Deno.test("metadataOf() marks what went wrong on the way to a right answer", async () => {
  const { functions, inputs, target, values } = generateTask(TASK);
  const right = functions.filter(({ role }) => role === "core").map(({ name, parameters }) => ({
    name,
    arguments: Object.fromEntries(
      parameters.map((one) => [one.name, (inputs.get(one.variable) ?? values.get(one.variable))!]),
    ),
  }));
  const [first] = right as [typeof right[number]];
  const answer = { text: `${target.variable} = ${target.value}` };
  const solve = async (wrong: readonly object[], perturbation = "none") => {
    const replies = [...wrong, ...right].map((call) => ({ calls: [call as typeof first] }));
    const model = scripted("m", [...replies, answer]);
    const trial = await runTrial(TASK, model, { perturbation, limits: { calls: 20 } });
    assertEquals(trial.outcome, "solved");
    return metadataOf(trial, ORIGIN)["recovery"];
  };
  assertEquals(await solve([]), undefined);
  assertEquals(await solve([{ name: "func_none", arguments: {} }]), "function_not_found");
  assertEquals(
    await solve([{ ...first, arguments: {} }, { name: "func_none", arguments: {} }]),
    "function_not_found,wrong_number_of_inputs",
  );
  const faulty = await solve(right, "timeout");
  assertEquals(faulty?.split(",")[0], "timeout");
});

Deno.test("trainingExample() marks the replies that nobody should learn, and no others", async () => {
  const { functions: [only], inputs, target } = generateTask({ ...TASK, core: 1, depth: 0 });
  const right = { name: only!.name, arguments: Object.fromEntries(inputs) };
  const model = scripted("m", [
    { calls: [{ name: "func_none", arguments: {} }] },
    { calls: [right] },
    { calls: [right, { ...right, arguments: {} }] },
    { calls: [right] },
    { text: `${target.variable} = ${target.value}` },
  ]);
  const options = { perturbation: "timeout", limits: { calls: 20 } };
  const trial = await runTrial({ ...TASK, core: 1, depth: 0 }, model, options);
  const example = await trainingExample(trial, { plan: ORIGIN });
  assert("messages" in example);
  const line = trainingFormat("openai-chat").write(example);
  const weights = (line["messages"] as { role: string; weight?: number }[])
    .flatMap(({ role, weight }) => role === "assistant" ? [weight] : []);
  // A right call that met a fault is one to learn.
  assertEquals(weights, [0, undefined, 0, undefined, undefined]);
});

Deno.test("metadataOf() marks no trial that was not solved", () => {
  const failure = { type: "function_not_found", detail: { nearest: "f" }, root: true } as const;
  const call = { kind: "call", call: 1, step: 1, arguments: "{}", result: "" } as const;
  const events = [{ ...call, function: "g", failure }];
  assertEquals(metadataOf(record({ events }), ORIGIN)["recovery"], "function_not_found");
  assertEquals(
    metadataOf(record({ events, outcome: "wrong_answer" }), ORIGIN)["recovery"],
    undefined,
  );
});

Deno.test("metadataOf() takes no fault for got over that was not", () => {
  const call = { kind: "call", call: 1, step: 1, arguments: "{}", result: "{}" } as const;
  const events = [
    { ...call, function: "f", fault: "timeout", error: "late" },
    { kind: "answer", text: "x = 1", value: 1 },
  ] as const;
  assertEquals(metadataOf(record({ events }), ORIGIN)["recovery"], undefined);
  const again = [events[0], { ...call, call: 2, step: 2, function: "f" }, events[1]];
  assertEquals(metadataOf(record({ events: again }), ORIGIN)["recovery"], "timeout");
  // What a tool itself says is no fault that was put in its way.
  const own = [{ ...call, function: "f", error: "out of paper" }, events[1]];
  assertEquals(metadataOf(record({ events: own }), ORIGIN)["recovery"], "error");
});

// One conversation

Deno.test("trainingExample() takes from the plan what is set of strategies, limits and models", async () => {
  const strategies = [{
    ...{ strategy: "plan_then_call", name: "brief" },
    prompts: { plan_then_call: { call: "Go on." } },
  }];
  const models = [{ model: "sim:planner", parallelToolCalls: false }];
  const plan = planFor({ graphs: 1, strategies, models, limits: { observation: 11 } });
  const [planned] = plan.trials;
  const trial = await runTrial(planned!, inProcess("sim:planner"), {
    strategy: { strategy: "plan_then_call", prompts: { plan_then_call: { call: "Go on." } } },
    limits: plan.resolved.limits,
  });
  const example = await trainingExample(trial, { plan: originOf(planLine(plan)) });
  assert("messages" in example, JSON.stringify(example));
  assert(example.messages.some(({ content }) => content === "Go on."));
  assertEquals(example.parallel, false);
  assertEquals([example.metadata["plan"], example.metadata["strategy"]], [planHash(plan), "brief"]);
  // By another plan nobody knows what the name stands for.
  assertEquals(await trainingExample(trial, { plan: ORIGIN }), { skipped: "unknown_strategy" });
});

Deno.test("trainingExample() knows from the plan that calls may refer to others", async () => {
  const plan = planFor({ graphs: 1, references: true });
  const trial = await runTrial(plan.trials[0]!, scripted("sim:planner", [{ text: "No." }]), {
    references: true,
  });
  const example = await trainingExample(trial, { plan: originOf(planLine(plan)) });
  assert("messages" in example);
  const plain = await trainingExample(trial, { plan: ORIGIN });
  assert("messages" in plain);
  // Parameters then take references, too.
  assert(JSON.stringify(example.tools) !== JSON.stringify(plain.tools));
});

Deno.test("trainingExample() makes no task anew that another generator has made", async () => {
  const plan = planFor();
  const [trial] = await runAll(plan);
  const { hash, resolved } = originOf(planLine(plan));
  const origin = { hash, resolved: { ...resolved, generator: GENERATOR_VERSION + 1 } };
  assertEquals(await trainingExample(trial!, { plan: origin }), { skipped: "unknown_task" });
});

Deno.test("trainingExample() takes questions of a call set that is what it was", async () => {
  const plan = cityPlan({ mode: "tools", sample: 1 });
  const [trial] = await runAll(plan, calling());
  const sets = questionSource([{ set: CITY_PATH }], (path) => path)!;
  assert("messages" in await trainingExample(trial!, { plan: originOf(planLine(plan)), sets }));
  assertEquals(await trainingExample(trial!, { plan: originOf(planLine(plan)) }), {
    skipped: "no_set",
  });
  const { resolved } = plan;
  const changed = {
    ...planLine(plan),
    resolved: { ...resolved, sets: { [CITY.name]: "another hash" } },
  };
  assertEquals(await trainingExample(trial!, { plan: originOf(changed), sets }), {
    skipped: "changed_set",
  });
});

// Journals

Deno.test("writeTrainingData() takes the trials in the order of the plan, however they ended", async () => {
  using folder = new Folder();
  const plan = planFor();
  const trials = await runAll(plan);
  const journal = writeJournal(folder, plan, trials.toReversed());
  const { metadata, tally } = await write([journal]);
  assertEquals(metadata.map(({ trial }) => trial), plan.trials.map(({ id }) => id));
  assertEquals([tally.trials, tally.written, tally.same], [3, 3, 0]);
  assertEquals(
    await write([writeJournal(folder, plan, trials, "b.jsonl")]),
    await write([journal]),
  );
});

Deno.test("writeTrainingData() takes each conversation once", async () => {
  using folder = new Folder();
  // Without anything to restate, both say the same.
  const plan = planFor({ strategies: ["plain", "repair"], repetitions: 2 });
  const journal = writeJournal(folder, plan, await runAll(plan));
  const { lines, tally } = await write([journal, journal]);
  assertEquals([tally.trials, tally.written, tally.same], [24, 3, 21]);
  assertEquals(new Set(lines.map((line) => JSON.stringify(line))).size, 3);
});

Deno.test("writeTrainingData() takes conversations that differ in functions or in messages", async () => {
  using folder = new Folder();
  // Perturbed documents change the functions alone, another answer the messages alone.
  const plan = planFor({ graphs: 1, perturbations: ["none", "RD"], repetitions: 2 });
  const trials: Trial[] = [];
  for (const trial of plan.trials) {
    const model = scripted("sim:planner", [{ text: trial.repetition === 1 ? "No." : "None." }]);
    trials.push(await runTrial(trial, model, { suite: "s" }));
  }
  const { lines, tally } = await write([writeJournal(folder, plan, trials)]);
  assertEquals([tally.trials, tally.written], [4, 4]);
  const distinct = (key: string) => new Set(lines.map((line) => JSON.stringify(line[key]))).size;
  assertEquals([distinct("messages"), distinct("tools")], [2, 2]);
});

Deno.test("writeTrainingData() takes solved trials only where it is told to, and grounded ones (Pipeline, Constructing Tool Call Datasets)", async () => {
  using folder = new Folder();
  const plan = planFor({ graphs: 4 });
  const [one, two, three] = await runAll(plan);
  const [, , , planned] = plan.trials;
  const { target } = generateTask(planned!.task as never);
  const guess = scripted("sim:planner", [{ text: `${target.variable} = ${target.value}` }]);
  const guessed = await runTrial(planned!, guess, { suite: "s" });
  assertEquals([guessed.outcome, guessed.grounded], ["solved", false]);
  const shrug = await runTrial(plan.trials[2]!, scripted("sim:planner", [{ text: "No." }]), {
    suite: "s",
  });
  assert(three!.solved);
  const journal = writeJournal(folder, plan, [one!, two!, shrug, guessed]);
  const all = await write([journal]);
  assertEquals(all.metadata.map(({ outcome, grounded }) => [outcome, grounded]), [
    ["solved", "true"],
    ["solved", "true"],
    ["no_answer", "false"],
    ["solved", "false"],
  ]);
  const { metadata, tally } = await write([journal], { onlySolved: true });
  assertEquals(metadata.length, 2);
  assertEquals([...tally.skipped], [[SKIPPED.unsolved, 2]]);
});

Deno.test("writeTrainingData() counts what it leaves out by the reason, the most frequent first", async () => {
  using folder = new Folder();
  const plan = planFor({ graphs: 5 });
  const [one, two, three, four, five] = await runAll(plan);
  const invalid = { ...two!, outcome: "invalid" as const, solved: false };
  const limited = { outcome: "call_limit" as const, solved: false };
  const named = {
    ...five!,
    events: five!.events.map((event) => event.kind === "call" ? { ...event, result: "{}" } : event),
  };
  const journal = writeJournal(folder, plan, [
    one!,
    invalid,
    { ...three!, ...limited },
    { ...four!, ...limited },
    named,
  ]);
  const { tally } = await write([journal]);
  assertEquals([tally.trials, tally.written], [5, 1]);
  assertEquals([...tally.skipped], [
    [SKIPPED.limit, 2],
    [SKIPPED.invalid, 1],
    [SKIPPED.differs, 1],
  ]);
});

Deno.test("writeTrainingData() counts what a format does not take", async () => {
  using folder = new Folder();
  const plan = planFor({ graphs: 1 });
  const model = scripted("sim:planner", [
    { calls: [{ name: "no such function", arguments: {} }] },
    { text: "I give up: none" },
  ]);
  const journal = writeJournal(folder, plan, await runAll(plan, model));
  const { tally } = await write([journal]);
  assertEquals([...tally.skipped], [["a function has a name that OpenAI does not accept", 1]]);
  const hermes = await write([journal], { format: trainingFormat("hermes") });
  assertEquals(hermes.tally.written, 1);
});

Deno.test("writeTrainingData() counts those that are marked as recovered (Pipeline, Key Takeaways)", async () => {
  using folder = new Folder();
  const plan = planFor({ models: ["sim:noisy?hallucinate=0.5&seed=1"], graphs: 6 });
  const journal = writeJournal(folder, plan, await runAll(plan));
  const { metadata, tally } = await write([journal]);
  const marked = metadata.filter(({ recovery }) => recovery !== undefined);
  assert(marked.length > 0);
  assertEquals(tally.recovered, marked.length);
});

Deno.test("writeTrainingData() lets the last line of a trial that was run again count", async () => {
  using folder = new Folder();
  const plan = planFor({ graphs: 1 });
  const [trial] = await runAll(plan);
  const invalid = { ...trial!, outcome: "invalid" as const, solved: false, events: [] };
  const { tally } = await write([writeJournal(folder, plan, [invalid, trial!])]);
  assertEquals([tally.trials, tally.written], [1, 1]);
});

Deno.test("writeTrainingData() tells of torn lines", async () => {
  using folder = new Folder();
  const plan = planFor();
  const journal = writeJournal(folder, plan, await runAll(plan));
  Deno.writeTextFileSync(journal, '{"v":1,"ki', { append: true });
  const { tally } = await write([journal]);
  assertEquals(tally.written, 3);
  assertEquals(tally.notices, [`Dropped a torn last line of ${journal} (10 bytes)`]);
});

Deno.test("writeTrainingData() names the line that is malformed", async () => {
  using folder = new Folder();
  const journal = folder.write("a.jsonl", '{"v":1,"kind":"trial"}\n');
  const error = await write([journal]).then(() => undefined, (error) => error);
  assert(error instanceof InputError && error.message.includes(`${journal}, line 1`));
});
