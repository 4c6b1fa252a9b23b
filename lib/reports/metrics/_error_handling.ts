/**
 * Error handling: success of each strategy under each fault (Pipeline, "Tool Call Success Rate by Error Handling
 * Strategy").
 * @module
 */

import { countsAsSuccess, isCounted } from "../../gate/variant.ts";
import { isFault } from "../../tools/fault.ts";
import { measureEach, type Subject, unperturbed } from "./_subjects.ts";
import { mendingOf } from "./metrics.ts";
import { type Share, shareOf } from "./_shares.ts";
import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { asSummary, type TrialSummary } from "../../trials/summary.ts";

/** Success of a model with one strategy under each fault. */
export interface ErrorHandling extends Subject {
  /** One for each perturbation: `none`, and those that are faults alone. All rows have the same, in order. */
  readonly faults: readonly (Share & {
    /** The perturbation's id. */
    readonly perturbation: string;
  })[];
  /** Over all of these trials; it depends on which faults there are. */
  readonly overall: Share;
  /** The share of calls sent back for their arguments that were mended; `null` if none was. */
  readonly mending: MeanEstimate | null;
}

/**
 * Measures the success of each model and strategy under faults; empty unless there are faults, and several
 * strategies that met them.
 */
export function measureErrorHandling(trials: readonly TrialSummary[]): ErrorHandling[] {
  const measured = trials.map(asSummary).filter(isOfFaults);
  const faulty = measured.filter(({ perturbation }) => perturbation !== "none");
  if (new Set(faulty.map(({ strategy }) => strategy)).size < 2) return [];
  const perturbations = [...new Set(measured.map(({ perturbation }) => perturbation))];
  return measureEach(measured, (items) => [{
    faults: perturbations.map((perturbation) => ({
      perturbation,
      ...solvedShare(items.filter((trial) => trial.perturbation === perturbation)),
    })),
    overall: solvedShare(items),
    mending: mendingOf(items.filter(isCounted)),
  }], unperturbed);
}

function isOfFaults({ perturbation }: TrialSummary): boolean {
  return perturbation === "none" || perturbation.split("+").every(isFault);
}

function solvedShare(trials: readonly TrialSummary[]): Share {
  return shareOf(trials.filter(countsAsSuccess), ({ solved }) => solved);
}
