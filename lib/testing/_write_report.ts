/**
 * Report files: written by a benchmark when its run is over.
 * @module
 */

import { assertWritable, writeOutput } from "../base/output_file.ts";
import type { Plan } from "../runs/plan.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Shard } from "../runs/shard_text.ts";
import type { Trial } from "../trials/trial.ts";

/** A finished run. */
export interface FinishedRun {
  readonly trials: readonly Trial[];
  /** The part of the plan that was run; omitted for all of it. */
  readonly shard?: Shard | undefined;
  /** The decision of the gate; omitted if there is none. */
  readonly decision?: GateReport | undefined;
  /** Why the run ended early, unless the gate ended it. */
  readonly stopped?: string | undefined;
  /** The command that runs a trial again. */
  readonly rerun: (trial: Trial) => string;
}

/**
 * Checks that a report can be written, before anything is paid for. The file's content is kept until the
 * returned function is called at the start of the run: a test file may be loaded without running any of its
 * trials.
 *
 * @throws {InputError} If it cannot be written.
 */
export function openReport(path: string): () => void {
  const what = "the report to";
  assertWritable(path, what);
  let isOpen = false;
  return () => {
    if (isOpen) return;
    isOpen = true;
    writeOutput(path, "<!DOCTYPE html><p>The run has not come to its end.</p>\n", what);
  };
}

/**
 * Writes the report of a run.
 *
 * @throws {InputError} If it cannot be written.
 */
export async function writeReport(
  path: string,
  { suite, resolved, prices, rule, trials: all }: Plan,
  { trials: finished, shard, decision, stopped, rerun }: FinishedRun,
): Promise<void> {
  const { makeReport, missingTrialsNote } = await import("../reports/report.ts");
  const { writeHtml } = await import("../reports/html.ts");
  // Tests may be shuffled.
  const trials = finished.toSorted((one, other) => one.index - other.index);
  const planned = all.length;
  const note = missingTrialsNote({
    lacking: planned - trials.length,
    planned,
    missing: shard === undefined ? undefined : `this is shard ${shard.index}/${shard.of}`,
    decision: rule === undefined ? undefined : decision,
    stopped,
  });
  const report = makeReport(trials, {
    suite,
    seed: resolved.seed,
    references: resolved.references,
    planned,
    models: resolved.models,
    prices,
    notes: note === undefined ? [] : [note],
    gates: decision === undefined ? [] : [decision],
  });
  await writeHtml(path, report, trials, { rerun });
}
