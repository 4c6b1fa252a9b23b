/**
 * Reports: everything that is told about the trials of a run, as data. Terminal, Markdown, JSON and
 * HTML are views of it.
 * @module
 */

import { type Breakdown, breakDown, isGenerated } from "./metrics/breakdown.ts";
import { type Brittleness, measureBrittleness } from "./metrics/brittleness.ts";
import { type CallSetMetrics, measureCallSets } from "./metrics/question_sets.ts";
import { comparePerturbations, compareStrategies, type Comparison } from "../gate/comparison.ts";
import { isCounted } from "../gate/variant.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { type DimensionMetrics, measureDimensions } from "./metrics/dimensions.ts";
import { type FormatMetrics, measureFormats } from "./metrics/formats.ts";
import { measure, type VariantMetrics } from "./metrics/metrics.ts";
import type { Prices } from "../models/prices.ts";
import { isProbe } from "../trials/executors/task_kind.ts";
import { measureRecovery, type RecoveryMetrics } from "./metrics/recovery.ts";
import type { ModelEntry } from "../models/entry.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { unitNames } from "../gate/unit_names.ts";

/** What is told about the trials of a run. */
export interface Report {
  /** The version of this format. */
  readonly v: 1;
  /** What kind of file it is. */
  readonly kind: "report";
  /** The name of the suite. */
  readonly suite: string;
  /** The seed of all tasks; `null` where no plan tells it. */
  readonly seed: number | null;
  /** Set where arguments could refer to what other calls of the same reply return. */
  readonly references?: true;
  /** How many trials were planned; `null` where no plan tells it. */
  readonly planned: number | null;
  /** Trials that are there, invalid ones too. */
  readonly trials: number;
  /** Trials that were replayed from recordings; left out where none was. */
  readonly replayed?: number;
  /** What the task of a trial is called: `graph`, `question`, `trial` of a case, or `task` where they differ. */
  readonly unit: string;
  /** When the first and the last of them began, in ISO 8601; `null` without any. */
  readonly began: readonly [first: string, last: string] | null;
  /** What a reader must know before all figures. */
  readonly notes: readonly string[];
  /** The verdicts of each plan that declares a gate. */
  readonly gates: readonly GateReport[];
  /** Tables of each model, strategy and perturbation. */
  readonly subjects: readonly VariantMetrics[];
  /** Each strategy against the baseline of the same model, on the same graphs. */
  readonly comparisons: readonly Comparison[];
  /** Each perturbation against `none` of the same model and strategy, on the same graphs. */
  readonly perturbations: readonly Comparison[];
  /** What perturbations do to the calls of each model with each strategy. */
  readonly brittleness: readonly Brittleness[];
  /** What answers to the questions of call sets are worth, for each way in which these were asked. */
  readonly callSets: readonly CallSetMetrics[];
  /** How well what models wrote could be read, for each format. */
  readonly formats: readonly FormatMetrics[];
  /** What became of faults that were put in the way of calls. */
  readonly recovery: readonly RecoveryMetrics[];
  /** The five dimensions of tool use, for each model and strategy. */
  readonly dimensions: readonly DimensionMetrics[];
  /** Success along the sizes of the tasks. */
  readonly breakdowns: readonly Breakdown[];
}

/** What a report is made of, beside the trials. */
export interface ReportOptions {
  readonly suite: string;
  readonly seed?: number | undefined;
  /** Set where arguments could refer to what other calls of the same reply return. */
  readonly references?: true | undefined;
  /** How many trials were planned. */
  readonly planned?: number | undefined;
  /** The models with their options: they tell which names are one model at several thinking budgets. */
  readonly models?: readonly ModelEntry[] | undefined;
  /** What models cost. */
  readonly prices?: Prices | undefined;
  /** What a reader must know beside what the trials themselves tell. */
  readonly notes?: readonly string[];
  /** The verdicts. */
  readonly gates?: readonly GateReport[];
}

/**
 * The report of `trials`, which are in plan order.
 *
 * @example Usage
 * ```ts
 * import { makeReport } from "./report.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const report = makeReport([], { suite: "none yet" });
 * assertEquals(report.notes, ["No trial has ended yet: there is nothing to tell."]);
 * ```
 */
export function makeReport(trials: readonly TrialSummary[], options: ReportOptions): Report {
  const { suite, seed, references, planned, models, prices, notes = [], gates = [] } = options;
  const starts = trials.flatMap(({ startedAt }) => startedAt === "" ? [] : [startedAt]).sort();
  const replayed = trials.filter((trial) => trial.replayed).length;
  return {
    v: 1,
    kind: "report",
    suite,
    seed: seed ?? null,
    ...(references === undefined ? {} : { references }),
    planned: planned ?? null,
    trials: trials.length,
    ...(replayed === 0 ? {} : { replayed }),
    unit: unitNames(trials.map(({ task }) => task)).one,
    began: starts.length === 0 ? null : [starts[0]!, starts.at(-1)!],
    notes: [...ownNotes(trials), ...notes],
    gates,
    subjects: measure(trials, prices),
    comparisons: compareStrategies(trials, prices),
    perturbations: comparePerturbations(trials, prices),
    brittleness: measureBrittleness(trials),
    callSets: measureCallSets(trials),
    formats: measureFormats(trials),
    recovery: measureRecovery(trials),
    dimensions: measureDimensions(trials),
    breakdowns: breakDown(trials, models),
  };
}

function ownNotes(trials: readonly TrialSummary[]): string[] {
  if (trials.length === 0) return ["No trial has ended yet: there is nothing to tell."];
  const simulated = trials.some(({ model }) => model.simulated);
  const replayed = trials.filter((trial) => trial.replayed).length;
  const unchanged = trials.filter(({ changed }) => changed === false).length;
  const invalid = trials.length - unchanged - trials.filter(isCounted).length;
  // Nobody looks for a probe among sizes, which it has none of; nor for anything where nothing has any.
  const other = trials.filter((trial) => !isGenerated(trial) && !isProbe(trial.task)).length;
  return [
    ...(simulated
      ? [
        "Simulated models are programs that err at stated rates: their figures show that the tool " +
        "works, and say nothing about any language model.",
      ]
      : []),
    ...(replayed === 0 ? [] : [
      `${replayed} of ${trials.length} trials were replayed from recordings: no model was asked for ` +
      "these, and their figures tell what it did when it was recorded.",
    ]),
    ...(invalid === 0 ? [] : [
      `${invalid} of ${trials.length} trials are invalid: infrastructure spoiled them. They count ` +
      "neither as failures of the model nor as successes, and rates leave them out.",
    ]),
    ...(unchanged === 0 ? [] : [
      `${unchanged} of ${trials.length} trials are unchanged: their perturbation found nothing to change ` +
      "in the task, so that they tell nothing of it, and rates leave them out.",
    ]),
    ...servedNotes(trials),
    ...(other === 0 || !trials.some(isGenerated) ? [] : [
      `${other} of ${trials.length} trials are on tasks that were not generated: breakdowns by size ` +
      "leave them out.",
    ]),
  ];
}

/** Figures of one name that stand for several models must not pass for those of one. */
function servedNotes(trials: readonly TrialSummary[]): string[] {
  const served = new Map<string, Set<string>>();
  for (const { model, ...trial } of trials) {
    if (!isCounted(trial) || model.served === "") continue;
    const names = served.get(model.requested) ?? new Set();
    served.set(model.requested, names);
    for (const name of model.served.split(SERVED_SEPARATOR)) names.add(name);
  }
  return [...served].flatMap(([requested, names]) =>
    names.size < 2
      ? []
      : [`${requested} was served as ${[...names].join(" and as ")}: its figures mix them.`]
  );
}

/** What is known of trials that are not there. */
export interface Lack {
  /** How many of the planned trials are not there. */
  readonly lacking: number;
  readonly planned: number;
  /** Where they should be, such as the names of journals; left out where that is plain. */
  readonly where?: string;
  /** What a sequential gate decided. */
  readonly decision?: GateReport | undefined;
  /** Why something else than the gate ended the run. */
  readonly stopped?: string | undefined;
  /** Which shards are not there. */
  readonly missing?: string | undefined;
}

/** Why trials are not there, in a sentence; `undefined` when none is lacking. */
export function lackNote(
  { lacking, planned, where, decision, stopped, missing }: Lack,
): string | undefined {
  if (lacking === 0) return undefined;
  const which = `${lacking} of ${planned} planned trials${
    where === undefined ? "" : ` of ${where}`
  }`;
  if (stopped !== undefined) return `${which} were not run: ${stopped}. All figures are of a part.`;
  const decided = decision !== undefined && decision.verdicts.length > 0 &&
    decision.verdicts.every(({ kind }) => kind === "pass" || kind === "fail");
  if (decided) {
    return `${which} were not needed: the gate had decided. Tables and figures also have the trials ` +
      "that were in flight then, and their intervals do not allow for the early stop: the verdict does.";
  }
  return `${which} are not there${missing === undefined ? "" : `: ${missing}`}. ` +
    "All figures are of a part.";
}

/** Where the trials come from, in one line. */
export function provenance({ trials, planned, seed, references, began }: Report): string {
  return [
    planned === null
      ? `${trials} ${trials === 1 ? "trial" : "trials"}`
      : `${trials} of ${planned} planned trials`,
    ...(seed === null ? [] : [`seed ${seed}`]),
    ...(references ? ["nested references"] : []),
    ...(began === null ? [] : [spanText(...began)]),
  ].join(", ");
}

function spanText(first: string, last: string): string {
  const [from, to] = [timeText(first), timeText(last)];
  return from === to ? `begun at ${from}` : `begun from ${from} to ${to}`;
}

/** An ISO time to the second, in words; any other text as it is. */
function timeText(time: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(time);
  return match === null ? time : `${match[1]} ${match[2]} UTC`;
}
