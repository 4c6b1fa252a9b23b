// Faults in the way of calls, seen from outside: in trials of every kind of task, in journals, on the command
// line and in `deno test`.

import {
  assert,
  assertEquals,
  AssertionError,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { assertRight } from "../../lib/testing/assertions/_trials.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { assertTrajectory } from "../../lib/testing/assertions/trajectories.ts";
import { logCalls } from "../../lib/trials/executors/call_log.ts";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import { type FaultId, FAULTS, isLost } from "../../lib/tools/fault.ts";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import type { ModelRequest } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { perturbCase } from "../../lib/perturbations/perturbed_case.ts";
import { perturbTask } from "../../lib/perturbations/perturbed_task.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { QuestionExecutor } from "../../lib/trials/executors/question.ts";
import { CaseExecutor } from "../../lib/trials/executors/case.ts";
import { recoveryOf } from "../../lib/calls/recovery.ts";
import { Run } from "../../lib/runs/run.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import { schemaOf, type Tool } from "../../lib/tools/tool.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import { toolFailuresOf } from "../../lib/calls/parameter_views.ts";
import { compareTrajectory, scoreCalls } from "../../lib/calls/expected/match_calls.ts";
import { recordedCalls } from "../../lib/calls/record.ts";
import { type CallEvent, callsOf } from "../../lib/calls/trace.ts";
import type { Work } from "../../lib/trials/executors/fixture.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { returnsOf, summarize } from "../../lib/trials/summary.ts";
import { askedIn, CITY, cityPlan, TRIPS } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import { coreInOrder, rightArguments, specs } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";

type MadeFunction = Task["functions"][0];

const SPEC = { core: 5, depth: 2, connected: 2, disconnected: 1, seed: 7 };

/** The functions that failed, in order, with how they did. */
function failedIn({ events }: Pick<Trial, "events">): string[] {
  return callsOf(events).flatMap(({ fault, function: name }) =>
    fault === undefined ? [] : [`${fault} ${name}`]
  );
}

Deno.test("a call that a fault is in the way of is told of, counts, and is no failure", async () => {
  const plain = await runTrial(SPEC, inProcess("sim:planner"));
  assertEquals(/"(?:fault|withheld)"/.test(JSON.stringify(plain)), false);
  const contents: string[] = [];
  const model = inProcess("sim:planner", ({ messages }) => {
    const last = messages.findLast(({ role }) => role === "tool");
    if (last !== undefined) contents.push(last.content);
  });
  for (const perturbation of FAULTS) {
    if (perturbation === "permission_denied") continue;
    const trial = await runTrial(SPEC, model, { perturbation });
    const lost = callsOf(trial.events).filter(({ withheld }) => withheld !== undefined);
    assertEquals([trial.outcome, trial.grounded, "changed" in trial], ["solved", true, false]);
    assertEquals(trial.calls, plain.calls + lost.length, perturbation);
    assertEquals(trial.failures, []);
    // Beside the right calls, neither the one that failed nor the next one is too much.
    assertEquals(summarize(trial).parameters, summarize(plain).parameters);
    for (const { role, returned, result, error, failure } of lost) {
      assertEquals([role, returned, failure], ["core", undefined, undefined]);
      assertEquals(error === undefined, perturbation === "malformed_return");
      if (error !== undefined) assertEquals(JSON.parse(result), { error });
    }
    const number = perturbation === "slow" ? 0 : perturbation === "flaky" ? lost.length : 1;
    assertEquals(lost.length, number);
    assertEquals(failedIn(trial).every((told) => told.startsWith(perturbation)), true);
  }
  assert(contents.some((content) => content.includes("timed out")));
});

Deno.test("a fault hits as many calls of one function as it is told to", async () => {
  for (const [id, calls] of [["timeout", 6], ["timeout:2", 7], ["slow:2", 5]] as const) {
    const trial = await runTrial(SPEC, inProcess("sim:planner"), { perturbation: id });
    assertEquals([trial.outcome, trial.calls], ["solved", calls]);
  }
  const joined = await runTrial(SPEC, inProcess("sim:planner"), {
    perturbation: "CF+timeout:2+rate_limit+slow",
  });
  assertEquals([joined.outcome, joined.perturbation], ["solved", "CF+timeout:2+rate_limit+slow"]);
  const kinds = failedIn(joined).map((told) => told.split(" ")[0]!).sort();
  assertEquals(kinds, ["rate_limit", "slow", "timeout", "timeout"]);
  // What is in the way is not cut, what comes back is.
  const results = callsOf(joined.events).map(({ fault, unperturbed }) =>
    [fault === undefined || fault === "slow", unperturbed !== undefined] as const
  );
  assert(results.every(([returns, cut]) => returns === cut));
});

Deno.test("flaky functions are all that there are, at any call", async () => {
  const task = generateTask({ core: 2, depth: 1, connected: 1, disconnected: 1, seed: 4 });
  using executor = createExecutor(task, { perturbation: "flaky:0.5", callLimit: Infinity });
  const outcomes = new Map<string, Set<string>>();
  for (const { name, ...made } of task.functions) {
    const given = JSON.stringify(rightArguments(task, { name, ...made }));
    for (let call = 0; call < 12; call++) {
      await executor.execute([{ id: "1", name, arguments: given }]);
      const { fault = "-", role } = callsOf(executor.events).at(-1)!;
      assertEquals(role, made.role);
      outcomes.set(name, (outcomes.get(name) ?? new Set()).add(fault));
    }
  }
  for (const [name, own] of outcomes) assertEquals([...own].sort(), ["-", "flaky"], name);
});

Deno.test("right calls are found among those that failed, whatever else was called", async () => {
  // The first core function fails, and is called again only once the others were.
  for (let seed = 1;; seed++) {
    const task = generateTask({ core: 3, depth: 1, connected: 1, disconnected: 0, seed });
    const [first, second, target] = coreInOrder(task) as [MadeFunction, MadeFunction, MadeFunction];
    if (!perturbTask(task, "timeout").injectFault!(first.name)) continue;
    const extra = task.functions.find(({ role }) => role === "connected")!;
    const call = (made: MadeFunction) => ({
      name: made.name,
      arguments: rightArguments(task, made),
    });
    const model = scripted("m", [
      { calls: [call(first), call(second)] },
      { calls: [call(first)] },
      { calls: [call(extra), call(target)] },
      { text: `${task.target.variable} = ${task.target.value}` },
    ]);
    const trial = await runTrial(task.spec, model, { perturbation: "timeout" });
    assertEquals([trial.outcome, failedIn(trial)], ["solved", [`timeout ${first.name}`]]);
    const views = callsOf(trial.events).flatMap((own) => own.parameters ? [own.function] : []);
    assertEquals(views, [extra.name]);
    const right = callsOf(trial.events).filter((own) => own.failure === undefined && !isLost(own));
    assertEquals(right.map((own) => own.function), [
      second.name,
      first.name,
      extra.name,
      target.name,
    ]);
    break;
  }
});

Deno.test("faults leave room for the calls that make up for them, unless the limit is told", async () => {
  const limitUnder = (perturbation: string, core = 3) =>
    createExecutor(
      generateTask({ core, depth: core - 1, connected: 0, disconnected: 0, seed: 7 }),
      {
        perturbation,
      },
    ).callLimit;
  assertEquals(limitUnder("none"), 6);
  assertEquals(limitUnder("timeout:4"), 10);
  assertEquals(limitUnder("timeout:4+rate_limit:2"), 12);
  assertEquals(["slow", "permission_denied", "RD"].map((id) => limitUnder(id)), [6, 6, 6]);
  assertEquals(limitUnder("flaky:0.5"), 12);
  const only = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 };
  const { outcome } = await runTrial(only, inProcess("sim:planner"), {
    perturbation: "rate_limit:2",
  });
  assertEquals(outcome, "solved");
  const tight = { perturbation: "rate_limit:2", limits: { calls: 2 } };
  assertEquals((await runTrial(only, inProcess("sim:planner"), tight)).outcome, "call_limit");
});

/** The variable of the function that a fault hits, by calling all of the core until one fails. */
async function hitVariable(task: Task, perturbation: string): Promise<string> {
  using executor = createExecutor(task, { perturbation, callLimit: Infinity });
  for (const made of coreInOrder(executor.task)) {
    const call = { id: "1", name: made.name };
    const given = JSON.stringify(rightArguments(executor.task, made));
    await executor.execute([{ ...call, arguments: given }]);
  }
  const lost = callsOf(executor.events).find(({ withheld }) => withheld !== undefined)!;
  return String(executor.task.values.get(lost.withheld!));
}

Deno.test("neither distractors nor other names nor another order move a fault", async () => {
  for (const kind of ["timeout", "not_found", "permission_denied"] as const) {
    const hit = new Set<string>();
    for (let seed = 1; seed <= 12; seed++) {
      const spec = { core: 6, depth: 3, connected: 0, disconnected: 0, seed };
      const plain = await hitVariable(generateTask(spec), kind);
      const more = { ...spec, connected: 4, disconnected: 5 };
      assertEquals(await hitVariable(generateTask(more), kind), plain);
      for (const check of ["rename", "reorder", "unrelated"]) {
        assertEquals(await hitVariable(generateTask(more), `${check}+${kind}`), plain, check);
      }
      hit.add(
        `${
          coreInOrder(generateTask(spec)).findIndex(({ output }) =>
            String(generateTask(spec).values.get(output.name)) === plain
          )
        }`,
      );
    }
    // It is not always the same place.
    assert(hit.size > 2, `${kind} hits places ${[...hit]}`);
  }
});

Deno.test("the same task gives the same faults, in whatever order its functions are called", async () => {
  const ids = fc.constantFrom<FaultId>("timeout", "rate_limit:2", "flaky:0.4", "permission_denied");
  const orders = specs(6).chain((spec) => {
    const { functions } = generateTask(spec);
    const calls = functions.flatMap((made) => [made.name, made.name, made.name]);
    const shuffled = fc.shuffledSubarray(calls, { minLength: calls.length });
    return fc.tuple(fc.constant(spec), shuffled, shuffled);
  });
  await fc.assert(
    fc.asyncProperty(ids, orders, async (id, [spec, one, other]) => {
      const task = generateTask(spec);
      const faultsIn = async (order: readonly string[]) => {
        using executor = createExecutor(task, { perturbation: id, callLimit: Infinity });
        for (const name of order) {
          const made = task.functions.find((own) => own.name === name)!;
          const given = JSON.stringify(rightArguments(task, made));
          await executor.execute([{ id: "1", name, arguments: given }]);
        }
        const calls = Map.groupBy(callsOf(executor.events), (call) => call.function);
        return [...calls].map(([name, own]) => [name, ...own.map(({ fault = "-" }) => fault)])
          .sort();
      };
      assertEquals(await faultsIn(one), await faultsIn(other));
    }),
    { numRuns: 40 },
  );
});

Deno.test("a fault asks only for calls that conform, whatever their values", async () => {
  const task = generateTask({ core: 1, depth: 0, connected: 0, disconnected: 0, seed: 3 });
  using executor = createExecutor(task, { perturbation: "timeout", callLimit: 9 });
  const [{ name, parameters }] = task.functions as [MadeFunction];
  const call = (given: string, called = name) =>
    executor.execute([{ id: "1", name: called, arguments: given }]);
  await call("{}");
  await call("{}", "func_nowhere");
  const wrong = Object.fromEntries(parameters.map((parameter) => [parameter.name, 7]));
  await call(JSON.stringify(wrong));
  await call(JSON.stringify(wrong));
  assertEquals(
    callsOf(executor.events).map(({ fault, failure }) => [fault, failure?.type]),
    [
      [undefined, "wrong_number_of_inputs"],
      [undefined, "function_not_found"],
      ["timeout", undefined],
      [undefined, "incorrect_value"],
    ],
  );
  // A fault that hits any function hits none that does not exist.
  using flaky = createExecutor(task, { perturbation: "flaky:0.99999" });
  await flaky.execute([{ id: "1", name: "func_nowhere", arguments: "{}" }]);
  assertEquals(
    callsOf(flaky.events).map(({ fault, failure }) => [fault, failure?.type]),
    [[undefined, "function_not_found"]],
  );
});

/** The seed of a small task, in which permission is denied of the source, or of the target. */
function seedWhere(isSource: boolean): number {
  for (let seed = 1;; seed++) {
    const task = generateTask({ ...SMALL, seed });
    const [source] = coreInOrder(task);
    const { withheld } = perturbTask(task, "permission_denied");
    if (withheld.has(source!.output.name) === isSource) return seed;
  }
}

const SMALL = { core: 2, depth: 1, connected: 0, disconnected: 0 };

Deno.test("where permission is denied, to say so is right, and any value is made up", async () => {
  const spec = { ...SMALL, seed: seedWhere(true) };
  const task = generateTask(spec);
  const [source, target] = coreInOrder(task) as [MadeFunction, MadeFunction];
  assertEquals(perturbTask(task, "permission_denied").unsolvable, true);
  assertEquals([...perturbTask(task, "permission_denied").withheld], [source.output.name]);
  assertEquals([...perturbTask(task, "timeout").withheld], []);
  const trialOf = async (...replies: ScriptedReply[]) =>
    await runTrial(spec, scripted("m", replies), { perturbation: "permission_denied" });
  const first: ScriptedReply = {
    calls: [{ name: source.name, arguments: rightArguments(task, source) }],
  };
  const parameter = target.parameters.find(({ variable }) => variable === source.output.name)!;
  const made = (value: number): ScriptedReply => ({
    calls: [{
      name: target.name,
      arguments: { ...rightArguments(task, target), [parameter.name]: value },
    }],
  });
  const { variable, value } = task.target;
  const silent = { text: `The call of ${source.name} was denied 1 time, so I cannot tell.` };
  const honest = await trialOf(first, silent);
  assertEquals(honest.outcome, "abstained");
  assertRight(honest);
  assertEquals((await trialOf(first, { text: `${variable} = 5` })).outcome, "wrong_answer");
  assertEquals((await trialOf(first, made(5), silent)).outcome, "no_answer");
  // A right value is a lucky one, and one in a call that is refused was made up as well.
  const lucky = await trialOf(first, made(task.values.get(source.output.name)!), silent);
  assertEquals(lucky.outcome, "no_answer");
  const refused = { calls: [{ name: target.name, arguments: { [parameter.name]: 5, more: 1 } }] };
  assertEquals((await trialOf(first, refused, silent)).outcome, "no_answer");
  assertEquals((await trialOf(first, { text: `${variable} = ${value}` })).outcome, "solved");
  assertThrows(
    () => assertRight({ ...honest, outcome: "no_answer", solved: false }),
    Error,
    "The model did not abstain, although what the answer needs cannot be had",
  );
});

Deno.test("numbers in the words of whoever has no result are no answer", async () => {
  const spec = { ...SMALL, seed: seedWhere(true) };
  const task = generateTask(spec);
  const calls = coreInOrder(task).map((made) => ({
    name: made.name,
    arguments: rightArguments(task, made),
  }));
  const told = `I know that x is ${[...task.inputs.values()][0]}, but the call timed out.`;
  const meek = scripted("meek", [{ calls }, { text: told }]);
  const trial = await runTrial(spec, meek, { perturbation: "timeout" });
  assertEquals([trial.outcome, recoveryOf(trial.events)[0]?.end], ["no_answer", "gave_up"]);
  // Once the result was had, and with all of them at hand, an answer is read as any other.
  const { variable, value } = task.target;
  const late = scripted("late", [
    { calls },
    { calls },
    { text: `After ${variable} had timed out for 30 seconds we get ${value}` },
  ]);
  assertEquals((await runTrial(spec, late, { perturbation: "timeout" })).outcome, "solved");
  // With all results at hand, the same words hold the last number of a text.
  const plain = await runTrial(spec, meek);
  assertEquals(plain.outcome, "wrong_answer");
  const bold = scripted("bold", [{ calls }, { text: `${task.target.variable} is 512.` }]);
  const answered = await runTrial(spec, bold, { perturbation: "timeout" });
  assertEquals([answered.outcome, recoveryOf(answered.events)[0]?.end], [
    ...["wrong_answer", "hallucinated"],
  ]);
});

Deno.test("to call again what failed for the time being is no forced loop, to insist is one", async () => {
  const task = generateTask({ ...SMALL, seed: 1 });
  const calls = coreInOrder(task).map((made) => ({
    name: made.name,
    arguments: rightArguments(task, made),
  }));
  const loops = async (perturbation: string, steps: number) => {
    const hit = calls.find(({ name }) => perturbTask(task, perturbation).injectFault?.(name));
    const endless = scripted("endless", () => ({ calls: [hit ?? calls[0]!] }));
    const limits = { steps, calls: 99 };
    const { behaviours } = await runTrial(task.spec, endless, { perturbation, limits });
    return behaviours.includes("forced_loop");
  };
  assertEquals([await loops("none", 1), await loops("none", 2)], [false, true]);
  assertEquals([await loops("timeout", 2), await loops("timeout", 3)], [false, true]);
  assertEquals(await loops("flaky:0.999", 3), false);
  assertEquals(await loops("slow:9", 2), true);
  assertEquals(await loops("permission_denied", 2), true);
});

Deno.test("strategies work with tools that fail", async () => {
  for (const strategy of ["restate", "indirection", "repair", "plan_then_call", "backward"]) {
    for (const perturbation of ["timeout", "malformed_return"]) {
      const planned = { id: "1", index: 0, block: 0, model: "m", strategy, perturbation };
      const trial = await runTrial(
        { ...planned, task: SPEC, repetition: 1 },
        inProcess("sim:planner"),
      );
      assertEquals([trial.outcome, trial.reason], ["solved", undefined], strategy);
      assertEquals(recoveryOf(trial.events).map(({ end }) => end), ["recovered"]);
    }
  }
});

Deno.test("a call that refers to one that a fault took is blocked, and no failure of the model's", async () => {
  const planner = inProcess("sim:planner");
  const blocked = (trial: Trial) => callsOf(trial.events).filter(({ blockedBy }) => blockedBy);
  let count = 0;
  for (let seed = 1; seed <= 100; seed++) {
    for (const perturbation of ["timeout", "permission_denied"]) {
      const options = { perturbation, references: true };
      const trial = await runTrial({ ...SPEC, seed }, planner, options);
      const outcome = perturbation === "timeout" ? "solved" : "abstained";
      assertEquals([trial.outcome, trial.failures], [outcome, []], `${seed} ${perturbation}`);
      const { parameters, missed, recoveries } = summarize(trial);
      assertEquals([parameters!.calls, parameters!.routing, missed!.missed], [[], 0, 0]);
      assertEquals(recoveries!.length, 1, "one function met the fault");
      count += blocked(trial).length;
    }
  }
  assert(count > 100, `${count} calls were blocked`);

  // Own tools: a call that would be refused in any case is a failure, and so is one that refers to it.
  using toolbox = referring("timeout");
  await toolbox.execute(written(
    { name: "one", arguments: { n: 1 } },
    { name: "two", arguments: { n: "$1.n" } },
    { name: "two", arguments: { n: "$2.n" } },
    { name: "two", arguments: { m: "$1.n" } },
    { name: "two", arguments: { n: "$4.n" } },
    { name: "two", arguments: { n: "$1.n", k: "$4.n" } },
    { name: "two", arguments: { n: "$1.n", k: 99 } },
  ));
  assertEquals(
    callsOf(toolbox.events).map(({ fault, blockedBy, failure }) =>
      fault ?? blockedBy ?? failure?.root
    ),
    ["timeout", 1, 2, true, false, false, 1],
  );
  assertEquals(
    callsOf(toolbox.events)[1]!.result,
    '{"error":"$1 has no result, as in n: what is referred to was refused or has failed"}',
  );
  // Of those that depended on others two are compared: that with a wrong name, and the last one, which is surplus.
  const failures = [
    { parameter: "undeclared names", type: "hallucination_name", calls: 1 },
    { parameter: "/n", type: "missing_information", calls: 1 },
  ] as const;
  const viewed = (await toolbox.viewed())!;
  assertEquals(toolFailuresOf(viewed), [{ tool: "two", calls: 2, failures }]);
  assertThrows(
    () => assertCalled({ calls: recordedCalls(toolbox.events), tools: [] }, { tool: "two" }),
    AssertionError,
    "two (blocked by call 1)",
  );
});

/** Own tools, the first of which meets a fault; the other one is needed as well. */
function referring(fault: FaultId, callLimit = 10): Toolbox {
  const properties = { n: { type: "integer" }, k: { type: "integer" } };
  const parameters = { type: "object", properties, required: ["n"] };
  const tools = ["one", "two"].map((name) => ({
    ...{ name, description: name, parameters, execute: () => Promise.resolve('{"n":1}') },
  }));
  const options = { seed: 1, needed: ["one"] };
  const query = { text: "", parameters: [] };
  const perturbed = perturbCase(tools.map(schemaOf), query, fault, options);
  const expected = [{ tool: "two", arguments: { n: 1 } }];
  return new Toolbox(tools, { perturbed, references: true, expected, callLimit });
}

function written(...calls: { readonly name: string; readonly arguments: JsonObject }[]) {
  return calls.map((call) => ({ ...call, id: "", arguments: JSON.stringify(call.arguments) }));
}

Deno.test("blocked calls are not replaced, no loop, no results that were read, and hide no fault", async () => {
  using toolbox = referring("timeout:2", 4);
  const failed: string[] = [];
  for (let reply = 0; reply < 3; reply++) {
    await toolbox.execute(
      written({ name: "one", arguments: { n: 1 } }, { name: "two", arguments: { n: "$1.n" } }),
      undefined,
      (calls) => (failed.push(...calls.map(({ call }) => call.name)), Promise.resolve([])),
    );
  }
  // In the second reply the limit leaves no call to replace one.
  assertEquals([failed, toolbox.behaviours()], [["one"], []]);
  const { calls, events: before } = toolbox;
  assertEquals(returnsOf({ perturbation: "CK", calls, events: before })?.read, 0);
  // One that was blocked may meet a fault of its own later.
  const later = callsOf(before).map((call) => ({ ...call, call: call.call + 4, step: 3 }));
  const events = [
    ...before,
    ...later.map(({ blockedBy, ...call }): CallEvent => ({
      ...call,
      ...(blockedBy === undefined ? {} : { fault: "timeout" }),
    })),
  ];
  assertEquals(recoveryOf(events).map((one) => one.function), ["one", "two"]);
});

Deno.test("a blocked call that an own test does not expect is one too many", async () => {
  using toolbox = referring("timeout");
  const one = { name: "one", arguments: { n: 1 } };
  await toolbox.execute(written(one, { name: "two", arguments: { n: "$1.n", k: 99 } }));
  await toolbox.execute(written(one));
  const record = { calls: recordedCalls(toolbox.events), tools: [] };
  const compare = (given?: JsonObject) => {
    const others = given === undefined ? [] : [{ tool: "two", arguments: given }];
    const expected = [{ tool: "one" }, ...others];
    return [
      compareTrajectory(record, expected, "subset").holds,
      scoreCalls(record, expected).precision,
    ];
  };
  assertEquals(compare(), [false, 0.5]);
  assertEquals(compare({ n: 1, k: 98 }), [false, 0.5], "a wrong value");
  assertEquals(compare({ k: 99 }), [false, 0.5], "not from there");
  assertEquals(compare({ n: 1, k: 99 }), [true, 1]);
});

Deno.test("a blocked call of a question is wrong if no right call is as it is but for its reference", async () => {
  const outcomeOf = async (question: string, passenger: string) => {
    const [find, ...others] = TRIPS.questions.find(({ id }) => id === question)!.truth.parameters;
    const first = { name: "findTrain", arguments: find as JsonObject };
    const book = { name: "bookSeat", arguments: { trainId: "$1.train_id", passenger } };
    const right = { ...book, arguments: { ...book.arguments, passenger: "Mara Lind" } };
    const options = { perturbation: "timeout", references: true };
    // Of trip2 the fault takes the first call by the name of the set.
    const set = { ...TRIPS, name: "trips by rail" };
    const spec = { set: set.name, question, difficulty: "easy", mode: "tools" } as const;
    using executor = new QuestionExecutor(set, spec, options);
    await executor.execute(written(first, book));
    await executor.execute(written(first, ...others.map(() => right)));
    assertEquals(callsOf(executor.events)[1]!.blockedBy, 1);
    return (await executor.answer("done", undefined, {} as Work)).outcome;
  };
  assertEquals(await outcomeOf("trip1", "Nobody asked"), "wrong_answer");
  assertEquals(await outcomeOf("trip2", "Nobody asked"), "wrong_answer");
  assertEquals(await outcomeOf("trip2", "Mara Lind"), "solved");
});

Deno.test("a blocked call of a generated task fails by its other values, and is one too many where none is needed", async () => {
  const task = generateTask({ core: 3, depth: 2, connected: 2, disconnected: 2, seed: 5 });
  const core = coreInOrder(task);
  const first = { name: core[0]!.name, arguments: rightArguments(task, core[0]!) };
  assert(perturbTask(task, "timeout").injectFault!(first.name) !== undefined);
  const other = task.functions.find(({ role, parameters }) =>
    role === "connected" && parameters.length === 2
  )!;
  const scoreOf = async (literal: number) => {
    const [refers, states] = other.parameters;
    const given = { [refers!.name]: `$1.${core[0]!.output.name}`, [states!.name]: literal };
    const model = scripted("m", [
      { calls: [first, { name: other.name, arguments: given }] },
      { text: "I do not know" },
    ]);
    const trial = await runTrial(task.spec, model, { perturbation: "timeout", references: true });
    assertEquals(callsOf(trial.events)[1]!.blockedBy, 1);
    return [trial.failures.map(({ type }) => type), summarize(trial).parameters!.routing];
  };
  assertEquals(await scoreOf(987654), [["value_not_yet_known"], 1]);
  assertEquals(await scoreOf(task.values.get(other.parameters[1]!.variable)!), [[], 1]);
});

/** A task under `gone`, with the two functions that do the same and a right call of either. */
function goneTask(seed: number, core = 4) {
  const spec = { core, depth: core - 1, connected: 1, disconnected: 1, seed };
  const task = generateTask(spec);
  const { twins, tools } = perturbTask(task, "gone");
  const { name, other } = twins!;
  const given = rightArguments(task, other);
  return {
    spec,
    task,
    tools,
    name,
    other: other.name,
    call: (of: string) => ({ name: of, arguments: given }),
  };
}

Deno.test("of two functions that do the same the one called first is gone for good, and the other solves the task (Pipeline, Error Handling and Retry Logic)", async () => {
  const firsts = new Set<boolean>();
  for (let seed = 1; seed <= 20; seed++) {
    const { spec, task, tools, name, other } = goneTask(seed);
    const described = tools.filter((tool) => tool.name === name || tool.name === other);
    assertEquals(described.length, 2);
    assertEquals({ ...described[0], name }, { ...described[1], name }, "described alike");
    assertEquals(tools.length, task.tools.length + 1);

    const trial = await runTrial(spec, inProcess("sim:planner"), { perturbation: "gone" });
    const calls = callsOf(trial.events);
    const [lost, ...others] = calls.filter(({ fault }) => fault !== undefined);
    assertEquals([trial.outcome, trial.grounded, others], ["solved", true, []], `seed ${seed}`);
    assertEquals([lost!.fault, trial.failures, trial.behaviours], ["gone", [], []]);
    assertEquals(calls.length, task.minimumCalls + 1);
    // No call is wrong, whichever of the two was left.
    assertEquals(calls.filter(({ parameters }) => parameters !== undefined), []);
    assertEquals(summarize(trial).parameters, {
      calls: [],
      routing: 0,
      undecided: [],
      texts: { compared: 0, similar: 0 },
    });
    assertEquals(recoveryOf(trial.events), [
      { fault: "gone", function: lost!.function, end: "recovered", attempts: 1 },
    ]);
    assertEquals(summarize(trial).missed, { needed: task.minimumCalls, missed: 0 });
    // Anyone who stops after the other function has missed the rest.
    const one = scripted("m", [{ calls: [{ name, arguments: {} }] }, { text: "I stop." }]);
    const stopped = await runTrial(spec, one, { perturbation: "gone" });
    assertEquals(summarize(stopped).missed?.missed, task.minimumCalls - 1);
    const early = trial.events.filter((event) =>
      event.kind !== "call" || event.function === lost!.function ||
      event.returned?.variable === lost!.withheld
    );
    const left = { ...trial, calls: 2, events: early };
    assertEquals(summarize(left).missed?.missed, task.minimumCalls - 1);
    firsts.add(lost!.function === name);
  }
  assertEquals(firsts.size, 2, "either is called first");
});

Deno.test("a function that is gone comes back by no repetition, and its end is told", async () => {
  const { spec, task, name, other, call } = goneTask(3, 1);
  const answer = { text: `${task.target.variable} = ${task.target.value}` };
  const end = async (...replies: ScriptedReply[]) => {
    const trial = await runTrial(spec, scripted("m", replies), {
      perturbation: "gone",
      limits: { calls: 9 },
    });
    return [
      trial.outcome,
      ...recoveryOf(trial.events).map(({ end, attempts }) => `${end} ${attempts}`),
    ];
  };
  const [own, twin] = [call(name), call(other)];
  const giveUp = { text: "It no longer exists." };
  assertEquals(await end({ calls: [own] }, { calls: [own] }, { calls: [own] }, giveUp), [
    "no_answer",
    "repeated 2",
  ]);
  assertEquals(await end({ calls: [own] }, giveUp), ["no_answer", "gave_up 0"]);
  assertEquals(await end({ calls: [own] }, answer), ["solved", "hallucinated 0"]);
  assertEquals(await end({ calls: [own] }, { calls: [own] }, { calls: [twin] }, answer), [
    "solved",
    "recovered 2",
  ]);
  // Whichever comes first is gone, and anyone who calls both at once has the result.
  assertEquals(await end({ calls: [twin] }, { calls: [own] }, answer), ["solved", "recovered 1"]);
  assertEquals(await end({ calls: [twin, own] }, answer), ["solved", "recovered 1"]);
  // Wrong arguments are a failure of their own, and are compared with the right call.
  const wrong = { ...twin, arguments: { ...twin.arguments, [Object.keys(twin.arguments)[0]!]: 1 } };
  const trial = await runTrial(
    spec,
    scripted("m", [{ calls: [own] }, { calls: [wrong] }, answer]),
    { perturbation: "gone", limits: { calls: 9 } },
  );
  assertEquals(trial.failures.map(({ type }) => type), ["incorrect_value"]);
  const [view] = callsOf(trial.events).flatMap(({ parameters }) => parameters ?? []);
  assertEquals(view!.failures.map(({ type }) => type), ["task_deviation"]);
});

Deno.test("what is denied is not to be had of another function, and custom tools have none", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const spec = { core: 2, depth: 1, connected: 0, disconnected: 0, seed };
    const perturbation = "permission_denied+gone";
    const { outcome, changed = true } = await runTrial(spec, inProcess("sim:planner"), {
      perturbation,
    });
    assertEquals([outcome, changed], ["abstained", true]);
  }
  const alone = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 1 };
  assertEquals(perturbTask(generateTask(alone), "permission_denied+gone").changed, false);
  assertThrows(
    () => logCalls([WEATHER], { perturbation: { id: "gone", seed: 1 } }),
    InputError,
    "Cannot perturb a custom case by gone as it is for generated tasks",
  );
});

const WEATHER: Tool = {
  name: "weather",
  description: "Tells the weather",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  execute: ({ city }: JsonObject) => Promise.resolve(JSON.stringify({ city, sky: "clear" })),
};
const TIME: Tool = { ...WEATHER, name: "time", description: "Tells the time" };

Deno.test("logCalls() puts faults in the way, and assertions take the calls that were made again", async () => {
  const run = logCalls([TIME, WEATHER], { perturbation: { id: "timeout", seed: 1 } });
  const weather = run.recorded.find(({ name }) => name === "weather")!;
  assertMatch(await weather.execute({ city: "Rome" }), /timed out/);
  assertEquals(await weather.execute({ city: "Rome" }), '{"city":"Rome","sky":"clear"}');
  run.end("Clear.");
  assertEquals(run.calls.map(({ fault, refused }) => [fault, refused]), [
    ["timeout", undefined],
    [undefined, undefined],
  ]);
  const expected = [{ tool: "weather", arguments: { city: "Rome" } }];
  assertTrajectory(run, expected);
  // One that never got through was not made.
  const given = logCalls([WEATHER], { perturbation: { id: "permission_denied", seed: 1 } });
  await given.recorded[0]!.execute({ city: "Rome" });
  assertThrows(() => assertTrajectory(given.end("?"), expected, "superset"), AssertionError);
});

/** Makes the true calls of a question one by one, and again what has failed. */
const CALLING = scripted("m", (request: ModelRequest) => {
  const { truth: { API, parameters } } = askedIn(request);
  const made = request.messages
    .filter(({ role, content }) => role === "tool" && !content.includes('"error"')).length;
  if (made >= API.length) return { text: "Done." };
  const given = (parameters[made] ?? {}) as Record<string, never>;
  return { calls: [{ name: API[made]!, arguments: given }] };
});

Deno.test("questions of call sets are scored by the calls that got through", async () => {
  const plan = cityPlan({ mode: "tools" }, { perturbations: ["none", "timeout", "not_found:1"] });
  using run = new Run(plan, { connect: () => CALLING });
  const trials = await run.all();
  assertEquals(trials.filter(({ outcome }) => outcome === "invalid"), []);
  const plain = new Map(
    trials.filter(({ perturbation }) => perturbation === "none")
      .map(({ task, outcome }) => [JSON.stringify(task), outcome]),
  );
  assert(plain.size > 3);
  for (const trial of trials.filter(({ perturbation }) => perturbation !== "none")) {
    assertEquals(trial.outcome, plain.get(JSON.stringify(trial.task)), trial.id);
    assertEquals(failedIn(trial).length, 1);
    assertEquals(summarize(trial).parameters?.routing, 0);
  }
  // Which of the true functions it is, is drawn.
  const places = trials.flatMap(({ events, perturbation }) =>
    perturbation === "timeout"
      ? callsOf(events).flatMap(({ fault, call }) => fault === undefined ? [] : [call])
      : []
  );
  assert(places.includes(1) && places.some((call) => call > 1), `calls ${places}`);
});

Deno.test("a question under faults needs calls, of functions that are on offer", async () => {
  const question = CITY.questions.find(({ truth }) => truth.API.length === 2)!;
  const spec = { set: CITY.name, question: question.id, difficulty: "easy" as const };
  for (const mode of ["parameters", "routing"] as const) {
    assertThrows(
      () => new QuestionExecutor(CITY, { ...spec, mode }, { perturbation: "CF+flaky:0.1" }),
      InputError,
      `faults are of calls, and in mode ${mode} none are made: take mode tools`,
    );
  }
  const { API: [, ...others], parameters } = question.truth;
  const truth = { API: ["nowhere", ...others], parameters };
  const set = { ...CITY, questions: [{ ...question, truth }] };
  using fixture = new QuestionExecutor(set, { ...spec, mode: "tools" }, {
    perturbation: "timeout",
  });
  const call = { id: "1", name: others[0]!, arguments: "{}" };
  const given = parameters[1] as JsonObject;
  const [told] = await fixture.execute([{ ...call, arguments: JSON.stringify(given) }]);
  assertStringIncludes(told!.content, "timed out");
});

Deno.test("questions have as much room for faults as generated tasks", () => {
  const question = CITY.questions.find(({ truth }) => truth.API.length === 1)!;
  const spec = { set: CITY.name, question: question.id, difficulty: "easy" as const };
  const limitUnder = (perturbation: string) =>
    new QuestionExecutor(CITY, { ...spec, mode: "tools" }, { perturbation }).callLimit;
  assertEquals(["none", "RD", "timeout", "rate_limit:2"].map(limitUnder), [2, 2, 3, 4]);
});

Deno.test("a fault of a case hits one of the tools of its expected calls", async () => {
  const own = {
    name: "own",
    tools: [TIME, WEATHER],
    prompt: "?",
    expected: [{ tool: "weather", arguments: { city: "Rome" } }],
    assert: () => {},
  };
  for (const [expected, hit] of [[own.expected, "weather"], [[], "time"]] as const) {
    using fixture = new CaseExecutor({ ...own, expected }, { case: "own", seed: 1 }, {
      perturbation: "timeout",
    });
    for (const { execute } of fixture.tools) await execute({ city: "Rome" });
    assertEquals([failedIn(fixture), fixture.changed], [[`timeout ${hit}`], true]);
  }
});

Deno.test("plans refuse faults where no calls are made, and gates where nothing can be solved", () => {
  const refused = (make: () => unknown, message: string) => assertThrows(make, InputError, message);
  refused(
    () => cityPlan({ mode: ["tools", "parameters"] }, { perturbations: ["timeout:2"] }),
    "faults are of calls, and in mode parameters none are made: the perturbation is timeout:2; take " +
      "mode tools",
  );
  refused(
    () => cityPlan({ mode: "tools" }, { perturbations: ["CF+permission_denied"] }),
    "the true calls are never all made where permission is denied",
  );
  const suite = { name: "s", seed: 1, tasks: [{ core: 3, depth: 1 }], models: ["m"] } as const;
  refused(
    () =>
      planSuite({
        ...suite,
        perturbations: ["permission_denied"],
        gate: { successRate: 0.8, margin: 0.1 },
      }),
    "a gate asks for tasks to be solved, and under permission_denied none can be",
  );
  refused(
    () => planSuite({ ...suite, perturbations: ["timeout", "timeout:1"] }),
    "perturbations must have distinct names: timeout is there twice",
  );
  refused(
    () => planSuite({ ...suite, tasks: [{ case: "oracle" }], perturbations: ["timeout"] }),
    "probes are never perturbed",
  );
  // Faults change every task, so that gates may stop early over them.
  const gate = { successRate: 0.8, margin: 0.2, sequential: true };
  const plan = planSuite({ ...suite, perturbations: ["timeout:2", "flaky:0.1"], gate });
  assert(plan.trials.some(({ id }) => id.includes("perturbation=timeout:2")));
});
