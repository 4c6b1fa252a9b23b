/**
 * The report of a run by those who have run it.
 * @module
 */

import { ownRelease } from "../base/clone.ts";
import { allChoices, planHashes } from "../runs/resolved_suite.ts";
import type { PlannedRun } from "../runs/session.ts";
import { partText } from "../runs/shard_text.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { type MissingTrials, missingTrialsNote, Report } from "./report.ts";

/**
 * Returns the report of trials in any order, and the note on those that are missing, if any are.
 */
export function reportOfRun<Of extends TrialSummary>(
  { plan, settings, wave }: PlannedRun,
  finished: readonly Of[],
  { decision, decided, stopped }: Pick<MissingTrials, "decision" | "decided" | "stopped"> = {},
): { readonly report: Report; readonly trials: readonly Of[]; readonly notes: readonly string[] } {
  const { suite, resolved, prices, rule, trials: { length: planned } } = plan;
  const trials = finished.toSorted((one, other) => one.index - other.index);
  const { shard } = settings;
  const isPart = shard !== undefined || wave !== undefined;
  const part = partText(shard ?? { index: 1, of: 1 }, wave?.wave);
  const note = missingTrialsNote({
    lacking: planned - trials.length,
    planned,
    missing: isPart ? `this is ${part}` : undefined,
    decision: rule === undefined ? undefined : decision,
    decided,
    stopped,
  });
  const notes = note === undefined ? [] : [note];
  const report = new Report(trials, {
    ...{ suite, prices, planned, notes },
    seed: resolved.seed,
    // What ran the rest of a resumed journal is in the journal.
    origins: settings.resume ? [] : [{ ...ownRelease(), ...planHashes(plan) }],
    references: resolved.references,
    models: allChoices(resolved).models,
    gates: decision === undefined ? [] : [decision],
    compared: { anytime: rule !== undefined },
  });
  return { report, trials, notes };
}
