/**
 * Decides the gate of a run over the results of its journals.
 * @module
 */

import { assertComparable, assertOtherRun, type Baseline } from "./baseline.ts";
import { compareStrategies } from "../gate/comparison.ts";
import { printable } from "../base/json.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { pricesFor } from "./plan.ts";
import type { GatePolicy } from "../gate/policy.ts";
import type { Prices } from "../models/prices.ts";
import type { Results } from "./journal/results.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";

/** What results are decided with, beside the policy. */
export interface DecisionOptions {
  /** What the policy's baseline file holds. */
  readonly baseline?: Baseline | undefined;
  /** What models cost; default what the plan says. */
  readonly prices?: Prices | undefined;
}

/** Why nothing can be decided over results; `undefined` when something can. */
export function undecidableReason({ problem, trials }: Results): string | undefined {
  if (problem !== undefined) return printable(problem, 1000);
  return trials.length === 0 ? "there are no trials" : undefined;
}

/**
 * Decides over the results of a run.
 *
 * @throws {InputError} If the baseline is not of the same graphs or is these very trials, or a ceiling
 * of cost lacks a price.
 */
export function decideResults(
  results: Results,
  policy: GatePolicy,
  { baseline, prices }: DecisionOptions = {},
): GateReport {
  const { suite, trials, planned, plan, rule, stopped } = results;
  const fault = undecidableReason(results);
  if (fault !== undefined) return reportProblem(suite, fault);
  if (baseline !== undefined) {
    assertComparable(baseline, plan, planned);
    assertOtherRun(baseline, trials);
  }
  const known = prices === undefined || plan === undefined
    ? prices ?? results.prices
    : pricesFor(prices, plan.resolved);
  const judged = decideTrials(trials, planned, policy, { rule, baseline, prices: known, stopped });
  return reportVerdicts(suite, judged, policy, compareStrategies(trials, known));
}
