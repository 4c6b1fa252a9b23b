/**
 * What the runs of a report are decided and compared by: their gates, and files of accepted results.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { readText } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { resolvePath } from "../base/output_file.ts";
import type { AcceptedResults } from "../gate/comparison.ts";
import { plannedDecisions } from "../gate/decisions.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import { isUpgrade } from "../gate/policy.ts";
import type { Prices } from "../models/prices.ts";
import { type Baseline, baselineOfGate, missingBaseline } from "../runs/baseline.ts";
import { comparableBaseline } from "../runs/compared_baseline.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import { labelled } from "../runs/journal/collection.ts";
import type { Results } from "../runs/journal/results.ts";
import { isRecord } from "../runs/record.ts";
import { assertOtherRun } from "../runs/trial_keys.ts";

/** Names files of accepted results, by path, with as many of their folders as tell them apart. */
export function baselineNames(files: readonly string[]): ReadonlyMap<string, string> {
  const paths = [...new Set(files.map((file) => resolvePath(userPath(file))))];
  const namesOf = (taken: number) =>
    paths.map((path) => path.split(/[/\\]/).slice(-taken).join("/"));
  let taken = 1;
  while (new Set(namesOf(taken)).size < paths.length) taken++;
  const names = namesOf(taken);
  return new Map(paths.map((path, place) => [path, names[place]!]));
}

/** Whether an operand is a file of accepted results, and no journal. */
export function isBaseline(operand: string): boolean {
  if (!/\.jsonc?$/.test(operand)) return false;
  try {
    return isRecord(readText(userPath(operand)));
  } catch {
    // Reading it as a journal gives the error.
    return false;
  }
}

/**
 * Returns what of a run is compared with accepted results: as its gate does, where that names a file, else whatever
 * these have of the same model, or their only one.
 *
 * @throws {InputError} If they are the trials of the run itself, or of other tasks.
 */
export function acceptedFor(
  { plan, planned, trials, gate }: Results,
  given: Baseline,
  { name, label }: { readonly name: string; readonly label: string | undefined },
): AcceptedResults {
  const baseline = comparableBaseline(given, plan, planned);
  assertOtherRun(baseline, trials);
  const ofFile = gate !== undefined && isUpgrade(gate) && gate.baseline.file !== undefined;
  const policy = ofFile ? gate : { baseline: {} };
  const decisions = plannedDecisions(planned, policy, baseline).map((decision) => ({
    ...decision,
    subject: label === undefined ? decision.subject : labelled(decision.subject, label),
  }));
  return { cases: baseline.cases, name, trials: baseline.trials, decisions };
}

/** Names the run of a verdict, if there are several of its model. */
export function withVariant(decision: GateReport, label: string | undefined): GateReport {
  if (label === undefined) return decision;
  const { gate } = decision;
  const policy = gate !== null && isUpgrade(gate) ? gate.baseline : undefined;
  return {
    ...decision,
    verdicts: decision.verdicts.map((one) => {
      const { baseline, variant = policy?.variant } = one;
      // A baseline of the same run has its label, too; one in a file has none.
      return {
        ...labelled(one, label),
        baseline: baseline === undefined || policy?.file !== undefined
          ? baseline
          : `${label}${variant === undefined ? ":" : ""} ${baseline}`,
      };
    }),
  };
}

/** Returns the verdict of the plan's gate, and the baseline file that it compared with; nothing without a gate. */
export function decide(
  results: Results,
  { prices, journal, isItself }: {
    readonly prices: Prices | undefined;
    /** One of them, by which its trials can be run again. */
    readonly journal: string;
    /** Whether a baseline is of these results, so that there is nothing to decide. */
    readonly isItself: (baseline: Baseline) => boolean;
  },
): { readonly decision?: GateReport; readonly baseline?: Baseline } {
  const { gate, suite } = results;
  if (gate === undefined) return {};
  try {
    const baseline = baselineOfGate(gate, userPath);
    if (baseline !== undefined && isItself(baseline)) return { baseline };
    const missing = missingBaseline(gate, baseline, userPath);
    const problem = undecidableReason(results) ?? missing;
    if (problem !== undefined) return { decision: reportProblem(suite, printable(problem, 1000)) };
    const decision = decideResults(results, gate, { baseline, prices, journal });
    return { decision, baseline };
  } catch (error) {
    // Results without a verdict can still be shown.
    if (!(error instanceof InputError)) throw error;
    return { decision: reportProblem(suite, printable(error.message, 1000)) };
  }
}
