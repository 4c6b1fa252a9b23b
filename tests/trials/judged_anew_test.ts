// Trials judged anew from their journal lines and the task as `generate` prints it, by few lines that share nothing
// with the executor: section 4.6 of the FuncBenchGen paper as a reader would program it.

import { assert, assertEquals } from "@std/assert";
import type { FailureType } from "../../lib/calls/failure_types.ts";
import { generateTask, taskToJson } from "../../lib/tasks/graphs/task.ts";
import { tally } from "../../lib/reports/metrics/_tally.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { inProcess } from "../support/in_process.ts";
import { recordsOf } from "../support/reports.ts";
import { planned } from "../support/strategy_runs.ts";

const MODEL =
  "sim:noisy?early=.15&stale=.1&distract=.4&hallucinate=.05&arity=.05&copy=.05&quit=.03&seed=7";

/** Trials as a journal has them. */
async function journal(): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (let seed = 0; seed < 60; seed++) {
    const core = 3 + seed % 8;
    const task = { core, depth: 1 + seed % (core - 1), connected: 4, disconnected: 3, seed };
    const model = inProcess(MODEL);
    trials.push(
      JSON.parse(JSON.stringify(await runTrial(planned("plain", MODEL, task), model))),
    );
  }
  return trials;
}

const TRIALS = await journal();

/** The types of all failures of a trial, by the predicates in their order, and how it ended. */
function judge({ task, events }: Trial) {
  const { functions, inputs, values, target } = taskToJson(generateTask(task as never));
  const failures: [call: number, type: FailureType][] = [];
  const known = new Map<string, Set<number>>(
    Object.entries(inputs).map(([name, value]) => [name, new Set([value])]),
  );
  const kinds = new Map(
    functions.map(({ output }) => [`${output.type} ${output.subtype}`, output]),
  );
  let step = 0;
  let returned: [string, number][] = [];
  for (const event of events) {
    if (event.kind !== "call") continue;
    if (event.step !== step) {
      // What the calls of a reply return is known from the next one on.
      for (const [name, value] of returned) {
        known.set(name, (known.get(name) ?? new Set()).add(value));
      }
      [step, returned] = [event.step, []];
    }
    const called = functions.find(({ name }) => name === event.function);
    if (called === undefined) {
      failures.push([event.call, "function_not_found"]);
      continue;
    }
    const given: Record<string, number> = JSON.parse(event.arguments);
    const names = called.parameters.map(({ name }) => name);
    if (Object.keys(given).sort().join() !== names.sort().join()) {
      failures.push([event.call, "wrong_number_of_inputs"]);
      continue;
    }
    const result = Object.entries(JSON.parse(event.result) as Record<string, number>);
    returned.push(...result);
    const expected = called.parameters.map(({ name, type, subtype }) => ({
      value: given[name]!,
      variable: kinds.get(`${type} ${subtype}`)?.name ?? name,
    }));
    // A right value that is guessed is no failure: docs/fidelity.md says so.
    if (expected.every(({ variable, value }) => values[variable] === value)) {
      assertEquals(result, [[called.output.name, values[called.output.name]!]]);
      continue;
    }
    const unknown = expected.some(({ variable }) => !known.has(variable));
    failures.push([event.call, unknown ? "value_not_yet_known" : "incorrect_value"]);
    assert(
      result[0]![1] !== values[called.output.name],
      "a wrong call never returns what is right",
    );
  }
  const [said] = events.flatMap((event) => event.kind === "answer" ? [event.text] : []);
  return { failures, solved: said?.includes(`${target.variable} = ${target.value}`) ?? false };
}

Deno.test("failures that are read anew from a journal by section 4.6 are those that it records (FuncBenchGen 4.6)", () => {
  const types = new Set<FailureType>();
  for (const trial of TRIALS) {
    const { failures } = judge(trial);
    assertEquals(
      trial.failures.map(({ call, type }): [number, FailureType] => [call, type]),
      failures,
      trial.id,
    );
    failures.forEach(([, type]) => types.add(type));
  }
  assertEquals(types.size, 4);
});

Deno.test("success, calls of solved and of failed trials, and failures of each type are those counted anew from a journal (FuncBenchGen 4.1, 4.2, 4.6)", () => {
  const judged = TRIALS.map((trial) => ({
    ...judge(trial),
    calls: trial.events.filter(({ kind }) => kind === "call").length,
  }));
  const counted = tally(TRIALS.map((trial) => summarize(trial)));
  const solved = judged.filter((one) => one.solved);
  const failed = judged.filter((one) => !one.solved);
  assert(solved.length > 5 && failed.length > 5);
  const mean = (of: readonly { calls: number }[]) =>
    of.reduce((sum, { calls }) => sum + calls, 0) / of.length;
  assertEquals(counted.success.count, solved.length);
  assertEquals(counted.success.value, solved.length / TRIALS.length);
  assertEquals([counted.callsSolved, counted.callsFailed], [mean(solved), mean(failed)]);
  const all = judged.flatMap(({ failures }) => failures);
  const [failures] = recordsOf("failures", TRIALS);
  assertEquals(failures!["wrong_calls"], all.length);
  for (const [type, own] of Map.groupBy(all, ([, type]) => type)) {
    assertEquals(failures![type], own.length, type);
  }
});
