/**
 * Benchmarks as tests: one `Deno.test` case per trial, and one test for the gate.
 * @module
 */

import { assertModel, assertOptions, type BenchmarkOptions } from "./options.ts";
import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { valueText } from "../calls/values/text.ts";
import { variantName } from "../gate/variant.ts";
import { registerFrom } from "./_register.ts";
import { registerBenchmark } from "./_register_plan.ts";
import { isQuestion, type TaskSpec } from "../trials/executors/task_kind.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

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
  registerFrom(benchmark, name, (register, { callers }) => {
    const subject = `benchmark ${printable(String(name), 100)}`;
    assertName(name);
    assertOptions(subject, options);
    assertModel(subject, options);
    const titleOf = (planned: PlannedTrial) => caseTitle(name, planned);
    registerBenchmark(options, { name, subject, register, callers, titleOf });
  });
}

/**
 * Checks the name of a benchmark.
 *
 * @throws {InputError} If it is no text, or empty.
 */
function assertName(name: unknown): void {
  if (typeof name === "string" && name.trim() !== "") return;
  throw cannot(
    "use a benchmark",
    "its name must be a text that is not empty",
    `it is ${valueText(name)}`,
  );
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
