/**
 * Distractors: the effect of irrelevant functions on success, where cells share their core graphs (FuncBenchGen,
 * section 4.3 and Fig. 4).
 * @module
 */

import { compareSuccess, type SuccessCompared } from "../../gate/comparison.ts";
import { CORES, unitNames } from "../../gate/unit_names.ts";
import { type GeneratedSummary, isSized } from "../cells.ts";
import type { Column } from "../columns.ts";
import { metric } from "../_metric.ts";
import type { Report } from "../report.ts";
import { type Subject, subjectColumns } from "../_subjects.ts";
import { CONNECTION_NAMES, connectionName } from "./_breakdowns.ts";
import { differenceColumns } from "./_differences.ts";

/** Some of the cells: those with irrelevant functions of a kind, of a number, or both. */
interface DistractorSetting {
  /** The kind of the irrelevant functions; `null` for any kind. */
  readonly kind: typeof CONNECTION_NAMES[number] | null;
  /** Their number; `null` for any number. */
  readonly number: number | null;
}

/** The success of a model under some irrelevant functions, compared with others on the same core graphs. */
interface DistractorEffect extends SuccessCompared, Subject {
  /** The candidate. */
  readonly irrelevant: DistractorSetting;
  /** The baseline: by kind and number the mildest there is, mostly none. */
  readonly against: DistractorSetting;
}

/** The kinds from the mildest to the worst, as the paper found them. */
const MILDEST_FIRST = [
  "no extra",
  "disconnected",
  "half and half",
  "mixed",
  "connected",
] as const satisfies readonly typeof CONNECTION_NAMES[number][];

/**
 * Returns the effects of irrelevant functions for each model, strategy and perturbation: of each kind against each
 * milder one, of each number against the smallest, and of each kind and number against the mildest cell. Only
 * trials on core graphs that several cells share count; without such there are none.
 */
function measureDistractors({ trials, subjects }: Report): DistractorEffect[] {
  const isMeant = (trial: GeneratedSummary) =>
    trial.changed !== false && trial.unsolvable === undefined;
  const generated = trials.filter(isSized).filter(isMeant);
  if (unitNames(generated.map(({ task }) => task)) !== CORES) return [];
  return subjects.flatMap(({ subject, simulated, trials }) => {
    const own = trials.filter(isSized).filter(isMeant);
    return pairsOf(own).flatMap(([irrelevant, against]): DistractorEffect[] => {
      const compared = compareSuccess(...sides(own, irrelevant, against));
      return compared.success === null
        ? []
        : [{ subject, simulated, irrelevant, against, ...compared }];
    });
  });
}

const numberOf = ({ task }: GeneratedSummary): number => task.connected + task.disconnected;

/** Returns the settings to compare: by kind, by number, then by both. */
function pairsOf(
  trials: readonly GeneratedSummary[],
): (readonly [DistractorSetting, DistractorSetting])[] {
  const present = new Set(trials.map(({ task }) => connectionName(task)));
  const kinds = MILDEST_FIRST.filter((kind) => present.has(kind));
  const numbers = [...new Set(trials.map(numberOf))].sort((one, other) => one - other);
  const [least = 0, ...more] = numbers;
  const cells = kinds.flatMap((kind) =>
    numbers.filter((number) => pick(trials, { kind, number }).length > 0)
      .map((number): DistractorSetting => ({ kind, number }))
  ).sort((one, other) => one.number! - other.number!);
  const [mildest, ...others] = cells;
  const byPlace = (one: DistractorSetting, other: DistractorSetting) =>
    CONNECTION_NAMES.indexOf(one.kind!) - CONNECTION_NAMES.indexOf(other.kind!);
  return [
    ...kinds.flatMap((against, place) =>
      kinds.slice(place + 1).map((kind) =>
        [{ kind, number: null }, { kind: against, number: null }] as const
      )
    ),
    ...more.map((number) => [{ kind: null, number }, { kind: null, number: least }] as const),
    ...others.sort(byPlace).map((cell) => [cell, mildest!] as const),
  ];
}

function pick(
  trials: readonly GeneratedSummary[],
  { kind, number }: DistractorSetting,
): GeneratedSummary[] {
  return trials.filter((trial) =>
    (kind === null || connectionName(trial.task) === kind) &&
    (number === null || numberOf(trial) === number)
  );
}

/** Returns the trials of two settings. Of two kinds only numbers that both have show a difference of kind. */
function sides(
  trials: readonly GeneratedSummary[],
  irrelevant: DistractorSetting,
  against: DistractorSetting,
): [own: GeneratedSummary[], others: GeneratedSummary[]] {
  const [own, others] = [pick(trials, irrelevant), pick(trials, against)];
  if (irrelevant.number !== null || against.kind === "no extra") return [own, others];
  const [here, there] = [own, others].map((side) => new Set(side.map(numberOf))) as [
    Set<number>,
    Set<number>,
  ];
  return [
    own.filter((trial) => there.has(numberOf(trial))),
    others.filter((trial) => here.has(numberOf(trial))),
  ];
}

/** Returns a setting in words, such as `10 connected` or `no extra`. */
function settingText({ kind, number }: DistractorSetting): string {
  if (kind === "no extra" || number === 0) return "no extra";
  return kind === null ? `${number} of any kind` : number === null ? kind : `${number} ${kind}`;
}

/** The effects of irrelevant functions on the same core graphs. */
export const DISTRACTORS = metric(measureDistractors, {
  id: "distractors",
  section: "figures",
  title: "Effect of irrelevant functions on the same core graphs",
  source: "Fig. 4",
  note:
    "success with these irrelevant functions less that on the same core graphs with the others, in percentage points; " +
    "two kinds are compared at the numbers that both have; not corrected for the number of comparisons",
  from: "terminal",
  columns: (_, report) => [
    subjectColumns(report),
    {
      id: "irrelevant",
      head: "irrelevant functions",
      unit: "name",
      value: (row) => settingText(row.irrelevant),
    },
    { id: "against", unit: "name", value: ({ against }) => settingText(against) },
    differenceColumns<DistractorEffect>("core graphs", ["before", "with them"]),
    {
      ...{ id: "p", head: "McNemar p", unit: "probability" },
      value: ({ success }) => success?.mcNemar?.exact,
    } satisfies Column<DistractorEffect>,
  ],
});
