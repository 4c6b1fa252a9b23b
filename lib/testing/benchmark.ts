/**
 * Benchmarks as tests: one `Deno.test` case for each trial, and one test for the gate.
 * @module
 */

import { assertOptions, type BenchmarkOptions } from "./options.ts";
import { variantName } from "../gate/variant.ts";
import { inOwnWords, registerBenchmark } from "./register_plan.ts";
import { isQuestion, type TaskSpec } from "../trials/executors/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/**
 * Registers a benchmark: one test case for each trial and, with a gate, one test that decides.
 *
 * Cases run one after another, as all tests of a file do, but their trials run ahead of them. A case
 * is never retried or repeated, whatever the flags of `deno test`: that would turn pass@1 into
 * pass@k. With a gate, a case that is not solved prints its story and passes; the gate's test runs
 * what no case has run, waits for all trials and fails unless the gate passes. Without a gate a case
 * fails when its task is not solved, with the story of the trial and the line that replays it.
 *
 * Behind `--` a run takes `--only=ID` (just this trial), `--shard=1/4`, `--seed=7`, `--out=FILE`,
 * `--resume`, `--retry-invalid`, `--concurrency=8`, `--max-tokens=100000`, `--max-usd=5`,
 * `--verdict=FILE` (the verdicts as JSON) and `--report=FILE` (the report as HTML).
 * `--record=FOLDER` keeps what models say, `--replay=FOLDER` lets recordings answer in their place, without
 * a key or a network, and `--auto=FOLDER` does either, as is needed.
 *
 * @throws {InputError} If an option or flag is not usable; the message gives path and rule.
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
  inOwnWords(() => register(name, options));
}

function register(name: string, options: BenchmarkOptions): void {
  const subject = `benchmark ${name}`;
  assertOptions(subject, options);
  registerBenchmark(options, { name, subject, titleOf: (planned) => titleOf(name, planned) });
}

function titleOf(name: string, planned: PlannedTrial): string {
  const { task, repetition, block } = planned;
  const repeated = repetition === 1 ? "" : `, repetition ${repetition}`;
  const graph = isQuestion(task) ? "" : `, graph ${block + 1}`;
  return `${name} > ${taskWords(task)}${graph}, ${variantName(planned)}${repeated}`;
}

function taskWords(task: TaskSpec): string {
  const { seed: _, ...sizes }: Partial<Record<string, unknown>> = { ...task };
  return Object.entries(sizes).map(([size, value]) => `${size} ${value}`).join(", ");
}
