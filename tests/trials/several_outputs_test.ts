// Functions with several outputs, from the call to the journal: answers, failures, strategies and faults.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { callsOf, returnedBy, type TraceEvent } from "../../lib/calls/trace.ts";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import { deriveAgain } from "../../lib/trials/derive.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import { perturbTask } from "../../lib/perturbations/perturbed_task.ts";
import { recoveryOf } from "../../lib/calls/recovery.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import { taskOf } from "../../lib/reports/page/_task_view.ts";
import { viewTrial } from "../../lib/reports/page/_trial_view.ts";
import { generateTask, GENERATOR_VERSION, type Task } from "../../lib/tasks/graphs/task.ts";
import { outputsOf, type TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";

const SPEC = {
  ...{ core: 5, depth: 3, connected: 3, disconnected: 2, seed: 1 },
  outputs: [2, 3] as const,
};
const TASK = generateTask(SPEC);

const QUICKLY: Pick<TrialOptions, "open"> = {
  open: (spec, options) => openTask(spec, { ...options, waits: false }),
};

/** What a function gives to a call of which nothing is wrong. */
function trueOutputs(fn: TaskFunction, task: Task = TASK): Record<string, number> {
  return Object.fromEntries(
    outputsOf(fn).map(({ name }) => [name, task.values.get(name)!]),
  );
}

/** The core functions in order; the first one needs nothing but given values. */
const [SOURCE, ...OTHERS] = coreInOrder(TASK);

/** A core function that takes an output of the source, and the parameter that does. */
const CONSUMER = OTHERS.find(({ dependsOn }) => dependsOn.includes(SOURCE!.name))!;
const LINK = CONSUMER.parameters.find(({ variable }) =>
  outputsOf(SOURCE!).some(({ name }) => name === variable)
)!;

Deno.test("a right call returns all outputs of its function, each under its own name (FuncBenchGen 3.4)", async () => {
  for (const seed of [1, 2]) {
    const task = generateTask({ ...SPEC, seed });
    using executor = createExecutor(task);
    for (const fn of coreInOrder(task)) {
      const tool = executor.tools.find(({ name }) => name === fn.name)!;
      const text = await tool.execute(rightArguments(task, fn));
      assertEquals(text, JSON.stringify(trueOutputs(fn, task)));
    }
    const returned = callsOf(executor.events).flatMap(returnedBy);
    assertEquals(returned.length, coreInOrder(task).flatMap(outputsOf).length);
    const { outcome, grounded } = executor.answer(
      `${task.target.variable} = ${task.target.value}`,
    );
    assertEquals([outcome, grounded], ["solved", true]);
    assertEquals(executor.behaviours(), []);
  }
});

Deno.test("a wrong call makes all outputs of its function wrong, and calls that use one of them cascade (FuncBenchGen 3.4)", async () => {
  using executor = createExecutor(TASK);
  const call = async (fn: TaskFunction, change: Record<string, number> = {}) => {
    const tool = executor.tools.find(({ name }) => name === fn.name)!;
    return JSON.parse(await tool.execute({ ...rightArguments(TASK, fn), ...change }));
  };
  const wrong = await call(SOURCE!, { [SOURCE!.parameters[0]!.name]: 7 });
  const truth = trueOutputs(SOURCE!);
  assertEquals(Object.keys(wrong), Object.keys(truth));
  for (const [name, value] of Object.entries(truth)) assertNotEquals(wrong[name], value, name);
  assertEquals(new Set(Object.values(wrong)).size, Object.keys(wrong).length);
  const trueValues = new Set(
    TASK.functions.flatMap((fn) => fn.role === "core" ? Object.values(trueOutputs(fn)) : []),
  );
  for (const value of Object.values(wrong)) assert(!trueValues.has(value as number));

  executor.step();
  await call(CONSUMER, { [LINK.name]: wrong[LINK.variable] });
  const { failure } = callsOf(executor.events).at(-1)!;
  assert(failure !== undefined && "arguments" in failure.detail);
  const [argument] = failure.detail.arguments.filter(({ parameter }) => parameter === LINK.name);
  assertEquals(argument, {
    ...{ parameter: LINK.name, variable: LINK.variable, given: wrong[LINK.variable] },
    ...{ origin: "wrong_return", originCall: 1 },
  });
  assertEquals(failure.root, false);
});

Deno.test("the value of another output of the same function is that of another variable", async () => {
  using executor = createExecutor(TASK);
  const call = async (fn: TaskFunction, change: Record<string, number> = {}) => {
    const tool = executor.tools.find(({ name }) => name === fn.name)!;
    return JSON.parse(await tool.execute({ ...rightArguments(TASK, fn), ...change }));
  };
  const early = await call(CONSUMER, { [LINK.name]: 5 });
  assertEquals(Object.keys(early), outputsOf(CONSUMER).map(({ name }) => name));
  const [first] = callsOf(executor.events);
  assertEquals(first!.failure?.type, "value_not_yet_known");
  for (const fn of coreInOrder(TASK).filter(({ name }) => CONSUMER.dependsOn.includes(name))) {
    executor.step();
    await call(fn);
  }
  const other = outputsOf(SOURCE!).find(({ name }) => name !== LINK.variable)!.name;
  executor.step();
  await call(CONSUMER, { [LINK.name]: TASK.values.get(other)! });
  const { failure } = callsOf(executor.events).at(-1)!;
  assertEquals(failure?.type, "incorrect_value");
  assert(failure !== undefined && "arguments" in failure.detail);
  assertEquals(failure.detail.arguments[0]?.origin, "other_variable");
  assertEquals(failure.detail.arguments[0]?.originVariable, other);
});

Deno.test("sim:planner solves tasks of several outputs with every strategy, reference and link, in the fewest calls", async () => {
  for (const id of [...STRATEGIES, "restate+plan_then_call", "indirection+restate"]) {
    const isAlone = id.includes("indirection") || id === "explanation";
    for (const references of isAlone ? [false] : [false, true]) {
      for (const spec of [SPEC, { ...SPEC, linking: "names" as const }]) {
        const trial = await runTrial({ ...spec, seed: 1 }, inProcess("sim:planner"), {
          ...{ strategy: { strategy: id }, references },
        });
        const shown = JSON.stringify([id, references, spec]);
        assertEquals([trial.outcome, trial.grounded, trial.calls], ["solved", true, 5], shown);
        assertEquals(trial.failures, [], shown);
      }
    }
  }
});

Deno.test("restating lists each output as a variable of its own, hidden or not", async () => {
  for (
    const [id, shows] of [
      ["restate", (value: number) => value],
      ["indirection+restate", (_: number, path: string) => path],
    ] as const
  ) {
    const trial = await runTrial(SPEC, inProcess("sim:planner"), { strategy: { strategy: id } });
    const last = callsOf(trial.events).at(-1)!.result;
    const { known_variables: known } = JSON.parse(last.replace(/^@\w+\n/, ""));
    for (const [name, value] of Object.entries(trueOutputs(SOURCE!))) {
      assertEquals(known[name], shows(value, `@${SOURCE!.name}.${name}`), id);
    }
  }
});

Deno.test("a line with one value of a return changed does not agree, whichever output it is", async () => {
  const trial = await runTrial(SPEC, inProcess("sim:planner"));
  const options = {
    ...{ limits: {}, references: false, strategy: { strategy: "plain" } },
    open: openTask,
  };
  const change = (event: TraceEvent): TraceEvent => {
    if (event.kind !== "call" || event.returned?.others === undefined) return event;
    const [other, ...rest] = event.returned.others;
    return {
      ...event,
      returned: { ...event.returned, others: [{ ...other!, value: 1 }, ...rest] },
    };
  };
  const faulted = await runTrial(SPEC, inProcess("sim:planner"), { perturbation: "timeout" });
  const forget = (event: TraceEvent): TraceEvent =>
    event.kind === "call" && event.alsoWithheld !== undefined
      ? { ...event, alsoWithheld: event.alsoWithheld.slice(1) }
      : event;
  for (const [ran, changed] of [[trial, change], [faulted, forget]] as const) {
    const line = TRIAL_LINE.parse(JSON.parse(JSON.stringify(ran)));
    assertEquals((await deriveAgain(line, options)).kind, "agrees");
    const { kind } = await deriveAgain({ ...ran, events: ran.events.map(changed) }, options);
    assertEquals(kind, "differs");
  }
});

Deno.test("perturbations of documents and returns reach every output, and check changes keep the solution", async () => {
  const rich = generateTask({ ...SPEC, surface: "rich", seed: 4 });
  const source = coreInOrder(rich).find((fn) => outputsOf(fn).length === 3)!;
  const text = JSON.stringify(trueOutputs(source, rich));
  const values = Object.values(trueOutputs(source, rich));
  const [one, two, three] = values;
  assertEquals(
    perturbTask(rich, "FK").perturbReturn(text),
    `{"Object_1":${one},"Object_2":${two},"Object_3":${three}}`,
  );
  assertEquals(perturbTask(rich, "CF").perturbReturn(text), `${text.slice(0, -1)}...`);
  for (const id of ["RD", "WD", "SD", "CO"]) {
    const perturbed = perturbTask(rich, id);
    for (const fn of rich.functions) {
      const { description } = perturbed.tools.find(({ name }) => name === fn.name)!;
      const produced = outputsOf(fn)
        .map(({ name, type, subtype }) => `variable ${name} (${type} with ${subtype})`).join(", ");
      assert(description.endsWith(` to produce ${produced}`), `${id}: ${description}`);
    }
  }
  for (const id of ["rename", "unrelated", "reorder"]) {
    const trial = await runTrial(SPEC, inProcess("sim:planner"), { perturbation: id });
    assertEquals([trial.outcome, trial.calls], ["solved", 5], id);
  }
  const added = perturbTask(rich, "unrelated").task;
  assertEquals(
    added.values.size,
    rich.values.size + added.functions.flatMap(outputsOf).length -
      rich.functions.flatMap(outputsOf).length,
  );
});

Deno.test("a fault withholds all outputs of its function, and making up any of them is no recovery", async () => {
  const { functions } = TASK;
  const denied = await runTrial(SPEC, inProcess("sim:planner"), {
    perturbation: "permission_denied",
  });
  assertEquals(denied.outcome, "abstained");
  const call = callsOf(denied.events).find(({ fault }) => fault !== undefined)!;
  const hit = functions.find(({ name }) => name === call.function)!;
  assertEquals(
    [call.withheld, ...call.alsoWithheld!],
    outputsOf(hit).map(({ name }) => name),
  );
  const withheld = perturbTask(TASK, "permission_denied").withheld;
  assertEquals([...withheld], outputsOf(hit).map(({ name }) => name));

  const retried = await runTrial(SPEC, inProcess("sim:planner"), {
    perturbation: "timeout",
    ...QUICKLY,
  });
  assertEquals(retried.outcome, "solved");
  assertEquals(recoveryOf(retried.events).map(({ end }) => end), ["recovered"]);

  // A value made up for any of the outputs, in the place of a consumer's argument.
  for (const output of [call.withheld!, ...call.alsoWithheld!]) {
    const made = { parameter: "p", variable: output, given: 5, origin: "fabricated" } as const;
    const detail = { arguments: [made] };
    const later: TraceEvent = {
      ...{ kind: "call", call: 9, step: call.step + 1, function: "other", role: "core" },
      ...{ arguments: '{"p":5}', result: "{}" },
      failure: { type: "value_not_yet_known", detail, root: true },
    };
    assertEquals(recoveryOf([call, later]).map(({ end }) => end), ["hallucinated"], output);
  }
  assertEquals(recoveryOf([call]).map(({ end }) => end), ["gave_up"]);
});

Deno.test("the story and the page of a trial name every output that a call returned", async () => {
  for (const id of ["plain", "indirection"]) {
    const trial: Trial = await runTrial(SPEC, inProcess("sim:planner"), {
      strategy: { strategy: id },
    });
    const [first] = callsOf(trial.events);
    const words = returnedBy(first!).map(({ variable, value }) => `${variable} = ${value}`);
    assert(words.length > 1);
    const known = taskOf(trial, GENERATOR_VERSION);
    const view = viewTrial(trial, undefined, known).events.find((event) => "call" in event)!;
    const names = returnedBy(first!).map(({ variable }) => variable);
    assert(names.every((name) => view.returned?.includes(name)), view.returned);
    assert(describeTrial(trial).includes(words[0]!));
  }
});
