/**
 * The report that a benchmark writes when its run is over.
 * @module
 */

import { assertWritable, writeOutput } from "../base/output_file.ts";
import type { Plan } from "../runs/plan.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Shard } from "../runs/shards.ts";
import type { Trial } from "../trials/trial.ts";

/** How a run ended. */
export interface EndedRun {
  readonly trials: readonly Trial[];
  /** Which part of the plan was to be run; left out for all of it. */
  readonly shard?: Shard | undefined;
  /** What the gate decided; left out when it did not, or when there is none. */
  readonly decision?: GateReport | undefined;
  /** Why something else than the gate ended the run. */
  readonly stopped?: string | undefined;
  /** The line that runs a trial again. */
  readonly replay: (trial: Trial) => string;
}

/**
 * Makes sure, before anything is paid for, that a report can be written. What the file holds stays
 * until the function that this gives is called, when the run begins: a file of tests may be loaded
 * and none of its trials run.
 *
 * @throws {InputError} If it cannot be written.
 */
export function openReport(path: string): () => void {
  const what = "the report to";
  assertWritable(path, what);
  let begun = false;
  return () => {
    if (begun) return;
    begun = true;
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
  { trials: ended, shard, decision, stopped, replay }: EndedRun,
): Promise<void> {
  const { makeReport, missingTrialsNote } = await import("../reports/report.ts");
  const { writeHtml } = await import("../reports/html.ts");
  // Tests may be shuffled.
  const trials = ended.toSorted((one, other) => one.index - other.index);
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
  await writeHtml(path, report, trials, { replay });
}
