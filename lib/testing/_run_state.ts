/**
 * What the tests of one benchmark share while it runs.
 * @module
 */

import type { FailedTrials } from "../reports/failures.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Trial } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";

/** Retries would turn pass@1 into pass@k; sanitizers mistake trials that run ahead for leaks. */
export const ONCE_AND_AHEAD = {
  ...{ retry: 0, repeats: 0, sanitizeOps: false, sanitizeResources: false },
  // An interruption exits during a test; `noticeExit` reports all other exits.
  sanitizeExit: false,
};

/** The progress of a run. */
export interface RunState {
  /** Call before a trial is run. */
  readonly begin: () => void;
  /** The number of trials whose tests were run. */
  asked: number;
  /** The summaries, in order of request; all of them once the gate has decided. */
  scores: TrialSummary[];
  /** The whole trials, in the same order; empty unless a report shows them. */
  trials: Trial[];
  /** The trials whose cases were not right. */
  readonly failures: FailedTrials;
  /** Whether a report shows the whole trials. */
  readonly whole: boolean;
  /** The decision of the gate. */
  decision?: GateReport;
  /** Whether its gate must decide and has not done so yet. */
  isOwed: boolean;
}
