/**
 * Subjects: the models, strategies and perturbations whose trials are measured together.
 * @module
 */

import {
  byVariant,
  isCounted,
  marked,
  type Simulated,
  type Variant,
  variantOf,
} from "../gate/variant.ts";
import type { StageUse } from "../models/model.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { type Column, NOTHING } from "./columns.ts";

/** What trials are measured of. */
export interface Subject {
  /** The model, strategy and perturbation; the last is `none` where trials under all of them are measured together. */
  readonly subject: Variant;
  /** Whether the model is a program that stands in for one; of what was compared or decided, `judge` if a judge is. */
  readonly simulated: Simulated;
}

/** The trials of a subject. */
export interface SubjectTrials extends Subject {
  readonly trials: readonly TrialSummary[];
  /** Those that are neither invalid nor unchanged by their perturbation. */
  readonly counted: readonly TrialSummary[];
}

/** Returns the trials of each subject, in the order in which they first occur. */
export function subjectsOf(
  trials: readonly TrialSummary[],
  subjectOf: (trial: TrialSummary) => Variant = variantOf,
): SubjectTrials[] {
  return byVariant(trials, subjectOf).map(({ subject, items }) => ({
    subject,
    simulated: items.some(({ model }) => model.simulated),
    trials: items,
    counted: items.filter(isCounted),
  }));
}

/** A model that was asked beside the one under test: a judge, or a user. */
type Asked = Pick<StageUse, "model">;

/** Marks the name of what judges or users have given, if any of them is simulated. */
export function markedAsked(name: string, asked: readonly Asked[]): string {
  const isSimulated = ({ model }: Asked) => model.simulated;
  return asked.every(isSimulated) || !asked.some(isSimulated)
    ? marked(name, asked.some(isSimulated))
    : `${name} (in part simulated)`;
}

/** Who has judged a row, with the model that served a judge where that has another name. */
export const JUDGES: Column<{ readonly judges: readonly Asked[] }> = {
  id: "judges",
  head: "judged by",
  unit: "text",
  value: judgeNames,
  text: (row) => judgeNames(row).join(", ") || NOTHING,
  shown: false,
};

function judgeNames({ judges }: { readonly judges: readonly Asked[] }): string[] {
  return [
    ...new Set(judges.map(({ model: { requested, served, simulated } }) => {
      const names = [requested, ...served.filter((name) => name !== requested)];
      return marked(names.join(" as "), simulated);
    })),
  ];
}

/** Takes trials under all perturbations together. */
export function unperturbed(trial: TrialSummary): Variant {
  return { ...variantOf(trial), perturbation: "none" };
}

/** The columns of the parts of a subject, for programs. */
export const SUBJECT_PARTS: readonly Column<Subject>[] = [
  ...(["model", "strategy", "perturbation", "variant"] as const).map((id): Column<Subject> => (
    { id, unit: "name", value: ({ subject }) => subject[id], shown: false }
  )),
  { id: "simulated", unit: "name", value: ({ simulated }) => simulated, shown: false },
];

/** Returns the columns that name the subject of a row: one in tables, and each of its parts for programs. */
export function subjectColumns(
  { nameOf }: { readonly nameOf: (subject: Subject) => string },
  head = "model",
): readonly Column<Subject>[] {
  return [
    { id: "name", head, unit: "name", value: nameOf, variant: ({ subject }) => subject },
    ...SUBJECT_PARTS,
  ];
}
