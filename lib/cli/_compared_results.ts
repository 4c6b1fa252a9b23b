/**
 * What the runs of a report are decided and compared by: their gates, and files of accepted results.
 * @module
 */

import { readText } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
import { resolvePath } from "../base/output_file.ts";
import type { AcceptedResults } from "../gate/comparison.ts";
import { plannedDecisions } from "../gate/decisions.ts";
import { type GateReport, reportProblem } from "../gate/gate_report.ts";
import { type GatePolicy, isUpgrade } from "../gate/policy.ts";
import type { Prices } from "../models/prices.ts";
import { type Baseline, baselineOfGate, missingBaseline } from "../runs/baseline.ts";
import { comparableBaseline } from "../runs/compared_baseline.ts";
import { decideResults, undecidableReason } from "../runs/decide_results.ts";
import { labelled } from "../runs/journal/collection.ts";
import type { Results } from "../runs/journal/results.ts";
import { isRecord } from "../runs/record.ts";
import { assertOtherRun } from "../runs/trial_keys.ts";
import { type Arguments, userPath } from "./arguments.ts";

/**
 * Names files of accepted results, with as many of their folders as tell them apart.
 *
 * @throws {InputError} If one is named twice: it would be compared with twice.
 */
export function baselineNames(options: Arguments, files: readonly string[]): Map<string, string> {
  const parts = files.map((file) => resolvePath(userPath(file)).split(/[/\\]/));
  const twice = parts.findIndex((own, place) =>
    parts.findIndex((other) => other.join() === own.join()) < place
  );
  if (twice >= 0) {
    throw options.error(`a file can be compared with only once: ${files[twice]} is named twice`);
  }
  const namesOf = (taken: number) => parts.map((own) => own.slice(-taken).join("/"));
  let taken = 1;
  while (new Set(namesOf(taken)).size < files.length) taken++;
  const names = namesOf(taken);
  return new Map(files.map((file, place) => [file, names[place]!]));
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
  { plan, planned, trials }: Results,
  given: Baseline,
  { name, label, gate }: {
    readonly name: string;
    readonly label: string | undefined;
    readonly gate: GatePolicy | undefined;
  },
): AcceptedResults[] {
  const baseline = comparableBaseline(given, plan, planned);
  assertOtherRun(baseline, trials);
  const ofFile = gate !== undefined && isUpgrade(gate) && typeof gate.baseline === "object" &&
    gate.baseline.file !== undefined;
  const policy = ofFile ? gate : { baseline: {} };
  const decisions = plannedDecisions(planned, policy, baseline).map((decision) => ({
    ...decision,
    subject: label === undefined ? decision.subject : labelled(decision.subject, label),
  }));
  return [{ ...defined({ cases: baseline.cases }), name, trials: baseline.trials, decisions }];
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
        ...(baseline === undefined || policy?.file !== undefined
          ? {}
          : { baseline: `${label}${variant === undefined ? ":" : ""} ${baseline}` }),
      };
    }),
  };
}

/** Returns the verdict of the plan's gate, and the baseline file that it compared with; nothing without a gate. */
export async function decide(
  results: Results,
  { prices, journal, isItself }: {
    readonly prices: Prices | undefined;
    /** One of them, by which its trials can be run again. */
    readonly journal: string;
    /** Whether a baseline is of these results, so that there is nothing to decide. */
    readonly isItself: (baseline: Baseline) => boolean;
  },
): Promise<{ readonly decision?: GateReport; readonly baseline?: Baseline | undefined }> {
  const { gate, suite } = results;
  if (gate === undefined) return {};
  try {
    const baseline = baselineOfGate(gate, userPath);
    if (baseline !== undefined && isItself(baseline)) return { baseline };
    const missing = missingBaseline(gate, baseline, userPath);
    const problem = undecidableReason(results) ?? missing;
    if (problem !== undefined) return { decision: reportProblem(suite, printable(problem, 1000)) };
    const decision = await decideResults(results, gate, { baseline, prices, journal });
    return { decision, baseline };
  } catch (error) {
    // Results without a verdict can still be shown.
    if (!(error instanceof InputError)) throw error;
    return { decision: reportProblem(suite, printable(error.message, 1000)) };
  }
}
