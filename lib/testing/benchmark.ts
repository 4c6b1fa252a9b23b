/**
 * Benchmarks as tests: one test per trial, and one test for the gate.
 * @module
 */

import { checkOptions, parseWith } from "../base/input.ts";
import { printable } from "../base/json.ts";
import { variantName } from "../gate/variant.ts";
import { isQuestion, type TaskSpec } from "../tasks/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { CallSite } from "./_register.ts";
import { registerBenchmark } from "./_register_plan.ts";
import type { TestDefinition } from "./_runners.ts";
import { BENCHMARK, type BenchmarkOptions, declare, NAME } from "./options.ts";

/**
 * Registers a benchmark: one test case per trial and, with a gate, one test that decides.
 *
 * Cases run one after another, like all tests of a file, but their trials run ahead of them. A case is never
 * retried or repeated, also not by flags of `deno test`: that would turn pass@1 into pass@k. With a gate, an
 * unsolved case prints a summary and passes; the gate's test runs the remaining trials, waits for all of them
 * and fails unless the gate passes. Without a gate a case fails when its task is not solved, with a
 * description of the trial and the command that runs it again.
 *
 * After `--` a run takes `--only=ID` (only this trial), `--shard=1/4`, `--seed=7`, `--out=FILE`, `--resume`,
 * `--retry-invalid`, `--concurrency=8`, `--max-tokens=100000`, `--max-usd=5`, `--verdict=FILE` (the verdicts
 * as JSON) and `--report=FILE` (the report as HTML). `--record=FOLDER` records replies, `--replay=FOLDER`
 * answers with recordings, without a key or a network, and `--record=auto` asks only for what no recording has.
 *
 * If an option or flag cannot be used, a test of the name `name` fails in place of all others; the message has
 * the option's path and the rule.
 *
 * @example In a test file
 * ```ts ignore
 * import { benchmark, grid } from "@toolgate/toolgate";
 *
 * benchmark("tool calling", {
 *   model: "sim:planner",
 *   tasks: grid({ core: [3, 5], depth: 2, connected: [0, 2] }),
 *   seed: 1,
 *   graphs: 5,
 *   gate: { successRate: 0.8 },
 * });
 * ```
 */
export function benchmark(name: string, options: BenchmarkOptions): void {
  const site = new CallSite(benchmark, name);
  const tests: TestDefinition[] = [];
  const isUsable = site.attempt(() => {
    parseWith(NAME, name, "the name of a benchmark");
    const subject = `benchmark ${printable(name, 100)}`;
    registerBenchmark(declare(subject, checkOptions(BENCHMARK, options, subject)), {
      name,
      subject,
      callers: site.callers,
      register: (test) => void tests.push(test),
      titleOf: (planned) => caseTitle(name, planned),
    });
  });
  // Of what is refused nothing is registered but a test that fails.
  for (const test of isUsable ? tests : []) site.add(test);
}

function caseTitle(name: string, planned: PlannedTrial): string {
  const { task, repetition, block } = planned;
  const repeated = repetition === 1 ? "" : `, repetition ${repetition}`;
  const graph = isQuestion(task) ? "" : `, graph ${block + 1}`;
  return `${name} > ${taskWords(task)}${graph}, ${variantName(planned)}${repeated}`;
}

function taskWords(task: TaskSpec): string {
  const { seed: _, ...sizes }: Partial<Record<string, unknown>> = { ...task };
  return Object.entries(sizes).map(([size, value]) => `${size} ${value}`).join(", ");
}
