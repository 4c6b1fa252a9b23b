/**
 * Successes of tests without a gate, in the summary of a job.
 * @module
 */

import { FailedTrials } from "../reports/failures.ts";
import { hasJobSummary, summarizeJob } from "../reports/job_summary.ts";
import type { Plan } from "../runs/plan.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { shownFile } from "../base/user_code.ts";

/** What ran of a benchmark. */
interface Successes {
  readonly scores: readonly TrialSummary[];
  readonly failures: FailedTrials;
}

/** The tests of the file that have one trial each: a table for each of them would say nothing. */
const single = {
  open: 0,
  scores: [] as TrialSummary[],
  failures: new FailedTrials(),
};

/**
 * Returns what to call when a benchmark without a gate is over: it writes its successes and failures. Those of tests
 * with one trial each are written together, once the last of them is over.
 */
export function successSummary(name: string, plan: Plan): (run: Successes) => Promise<void> {
  if (plan.trials.length > 1) {
    return (run) => write(name, run, { seed: plan.resolved.seed, planned: plan.trials.length });
  }
  single.open++;
  return async ({ scores, failures }) => {
    single.scores.push(...scores);
    single.failures.takeOver(failures);
    if (--single.open === 0) await write(shownFile(Deno.mainModule), single, {});
  };
}

async function write(
  suite: string,
  { scores, failures }: Successes,
  numbers: { readonly seed?: number; readonly planned?: number },
): Promise<void> {
  // Nothing may have been selected.
  if (scores.length === 0 || !hasJobSummary()) return;
  const { makeReport } = await import("../reports/report.ts");
  const { successToMarkdown } = await import("../reports/markdown.ts");
  const report = makeReport(scores, { suite, ...numbers });
  summarizeJob((limit) => successToMarkdown(report, failures, { limit }));
}
