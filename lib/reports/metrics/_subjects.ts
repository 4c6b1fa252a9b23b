/**
 * Subjects: the models, strategies and perturbations whose trials are measured together.
 * @module
 */

import { byVariant, type Variant, variantOf } from "../../gate/variant.ts";
import type { TrialSummary } from "../../trials/summary.ts";

/** What trials are measured of. */
export interface Subject {
  /** The model, strategy and perturbation; the last is `none` where trials under all of them are measured together. */
  readonly subject: Variant;
  /** Whether the model, or one that took part, is a program that stands in for a model. */
  readonly simulated: boolean;
}

/** Returns what `measure` finds of the trials of each subject, in the order in which they first occur. */
export function measureEach<Found extends object, Of extends TrialSummary>(
  trials: readonly Of[],
  measure: (own: readonly Of[], subject: Variant) => readonly Found[],
  subjectOf: (trial: Of) => Variant = variantOf,
): (Subject & Found)[] {
  return byVariant(trials, subjectOf).flatMap(({ subject, items }) => {
    const simulated = items.some(({ model }) => model.simulated);
    return measure(items, subject).map((found) => ({ subject, simulated, ...found }));
  });
}

/** Takes trials under all perturbations together. */
export function unperturbed(trial: TrialSummary): Variant {
  return { ...variantOf(trial), perturbation: "none" };
}
