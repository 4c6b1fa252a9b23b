/**
 * Reports: all results of a run as data. The terminal, Markdown, JSON and HTML reports are views of it.
 * @module
 */

import { defined, listText } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { type Breakdown, breakDown, isGenerated } from "./metrics/_breakdown.ts";
import { type Brittleness, measureBrittleness } from "./metrics/_brittleness.ts";
import { type CallSetMetrics, measureCallSets } from "./metrics/_question_sets.ts";
import { type ComparedPair, comparePairs, type PairOptions } from "../gate/comparison.ts";
import { isUpgrade } from "../gate/policy.ts";
import {
  isCounted,
  isUnwatched,
  modelNames,
  modelsBeside,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
} from "../gate/variant.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { type DimensionMetrics, measureDimensions } from "./metrics/_dimensions.ts";
import { type DistractorEffect, measureDistractors } from "./metrics/_distractors.ts";
import { type ErrorHandling, measureErrorHandling } from "./metrics/_error_handling.ts";
import { type FormatMetrics, measureFormats } from "./metrics/_formats.ts";
import { type LatencyMetrics, measureLatency } from "./metrics/_latency.ts";
import { type Matrix, measureMatrix } from "./metrics/_matrix.ts";
import { measure, type VariantMetrics } from "./metrics/metrics.ts";
import { measureMissedCalls, type MissedCallMetrics } from "./metrics/_missed_calls.ts";
import type { Prices } from "../models/prices.ts";
import { isProbe, isQuestion } from "../tasks/task_kind.ts";
import { measureRecovery, type RecoveryMetrics } from "./metrics/_recovery.ts";
import type { ModelEntry } from "../models/entry.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import { asSummary, type TrialSummary } from "../trials/summary.ts";
import { unitNames } from "../gate/unit_names.ts";

/** All results of a run. */
export interface Report {
  /** The version of this format. */
  readonly v: 1;
  /** The kind of file. */
  readonly kind: "report";
  /** The name of the suite. */
  readonly suite: string;
  /** The seed of all tasks; `null` without a plan. */
  readonly seed: number | null;
  /** Set where arguments could refer to results of other calls in the same reply. */
  readonly references?: true;
  /** Number of trials planned; `null` without a plan. */
  readonly planned: number | null;
  /** Number of finished trials, invalid ones included. */
  readonly trials: number;
  /** Number of trials replayed from recordings; omitted without any. */
  readonly replayed?: number;
  /** Number of trials replayed in part; omitted without any. */
  readonly partlyReplayed?: number;
  /** The independent unit that a trial's task belongs to: `graph`, `core graph`, `question`, `trial` of a case, or `task` where they differ. */
  readonly unit: string;
  /** When the first and the last trial began, in ISO 8601; `null` without any. */
  readonly began: readonly [first: string, last: string] | null;
  /** Notes that a reader needs before all figures. */
  readonly notes: readonly string[];
  /** The verdicts of each plan that declares a gate. */
  readonly gates: readonly GateReport[];
  /** Metrics of each model, strategy and perturbation. */
  readonly subjects: readonly VariantMetrics[];
  /** The success of each variant on each cell, and why other trials were not solved. */
  readonly matrix: Matrix;
  /** Needed calls that were never made, for each model, strategy and perturbation. */
  readonly missedCalls: readonly MissedCallMetrics[];
  /** All pairs of variants that differ in one thing, on the same graphs; those with a reference first. */
  readonly comparisons: readonly ComparedPair[];
  /** Effects of perturbations on the calls of each model with each strategy. */
  readonly brittleness: readonly Brittleness[];
  /** Scores of answers to questions of call sets, for each way of asking them. */
  readonly callSets: readonly CallSetMetrics[];
  /** How well replies could be parsed, for each format. */
  readonly formats: readonly FormatMetrics[];
  /** How trials recovered from injected faults. */
  readonly recovery: readonly RecoveryMetrics[];
  /** The five dimensions of tool use, for each model and strategy. */
  readonly dimensions: readonly DimensionMetrics[];
  /** Success of strategies under faults, where several strategies met them. */
  readonly errorHandling: readonly ErrorHandling[];
  /** For how long tools ran, where that is known. */
  readonly latency: readonly LatencyMetrics[];
  /** Success by the sizes of the tasks. */
  readonly breakdowns: readonly Breakdown[];
  /** Effects of irrelevant functions on the same core graphs; omitted where no cells share these. */
  readonly distractors?: readonly DistractorEffect[];
}

/** Options of {@linkcode makeReport}. */
export interface ReportOptions {
  readonly suite: string;
  readonly seed?: number | undefined;
  /** Set where arguments could refer to results of other calls in the same reply. */
  readonly references?: true | undefined;
  /** Number of trials planned. */
  readonly planned?: number | undefined;
  /** The models with their options, to find names that are one model at several thinking budgets. */
  readonly models?: readonly ModelEntry[] | undefined;
  /** Prices of models. */
  readonly prices?: Prices | undefined;
  /** Notes in addition to those that follow from the trials. */
  readonly notes?: readonly string[];
  /** The verdicts. */
  readonly gates?: readonly GateReport[];
  /** In which order, with what else and without what variants are compared: see {@linkcode PairOptions}. */
  readonly compared?: Pick<PairOptions, "order" | "accepted" | "isLeftOut">;
}

/** Returns the report of `trials`, which must be in plan order. */
export function makeReport(all: readonly TrialSummary[], options: ReportOptions): Report {
  const trials = all.map(asSummary);
  const { suite, seed, references, planned, models, prices, notes = [], gates = [] } = options;
  const baselines = gates.flatMap(({ gate }) => gate && isUpgrade(gate) ? gate.baseline : []);
  const starts = trials.flatMap(({ startedAt }) => startedAt === "" ? [] : [startedAt]).sort();
  const replayed = trials.filter((trial) => trial.replayed).length;
  const partly = trials.filter((trial) => trial.partlyReplayed).length;
  const distractors = measureDistractors(trials);
  return {
    v: 1,
    kind: "report",
    suite,
    seed: seed ?? null,
    ...defined({ references }),
    planned: planned ?? null,
    trials: trials.length,
    ...(replayed === 0 ? {} : { replayed }),
    ...(partly === 0 ? {} : { partlyReplayed: partly }),
    unit: unitNames(trials.map(({ task }) => task)).one,
    began: starts.length === 0 ? null : [starts[0]!, starts.at(-1)!],
    notes: [...trialNotes(trials), ...notes],
    gates,
    subjects: measure(trials, prices),
    matrix: measureMatrix(trials),
    missedCalls: measureMissedCalls(trials),
    comparisons: comparePairs(trials, {
      prices,
      references: baselines,
      ...options.compared,
    }),
    brittleness: measureBrittleness(trials),
    callSets: measureCallSets(trials),
    formats: measureFormats(trials),
    recovery: measureRecovery(trials),
    dimensions: measureDimensions(trials),
    errorHandling: measureErrorHandling(trials),
    latency: measureLatency(trials),
    breakdowns: breakDown(trials, models),
    ...(distractors.length === 0 ? {} : { distractors }),
  };
}

function trialNotes(trials: readonly TrialSummary[]): string[] {
  if (trials.length === 0) return ["No trial has ended yet: there is nothing to report."];
  const isUnsolvable = (trial: TrialSummary) => isCounted(trial) && trial.unsolvable !== undefined;
  const unsolvable = trials.filter(isUnsolvable);
  const hasSizes = trials.some(isGenerated);
  const misled = unsolvable.filter((trial) => trial.unsolvable === "misleading").length;
  const without = listText([...new Set(unsolvable.map(({ perturbation }) => perturbation))], 10);
  const noteIf = (isTold: boolean, note: string) => isTold ? [note] : [];
  const noteOf = (isMeant: (trial: TrialSummary) => boolean, note: string) => {
    const meant = trials.filter(isMeant).length;
    return noteIf(meant > 0, `${meant} of ${trials.length} trials ${note}`);
  };
  return [
    ...noteIf(
      trials.some(({ model }) => model.simulated),
      "Simulated models are programs that make errors at set rates: their figures show that the tool works and say " +
        "nothing about any language model.",
    ),
    ...noteOf(
      ({ replayed }) => replayed === true,
      "were replayed from recordings: no model was asked for these, and their figures are those of the recording.",
    ),
    ...noteOf(
      ({ partlyReplayed }) => partlyReplayed === true,
      "were replayed from recordings in part: a model was asked for the rest of them.",
    ),
    ...noteIf(
      trials.some(({ task, askedStages = [] }) =>
        isQuestion(task) && askedStages.includes("examples")
      ),
      "Solved examples (few_shot) of a question are other questions of its set, of the same domain first: they are " +
        "measured as well, each with examples of its own.",
    ),
    ...noteOf(
      (trial) => trial.changed !== false && !isCounted(trial),
      "are invalid: infrastructure failed. They count neither as failures of the model nor as successes, and rates " +
        "leave them out.",
    ),
    ...noteOf(
      ({ replaced }) => replaced !== undefined,
      "were run again, as they had been invalid: figures are of their last runs, and the journal has the others too.",
    ),
    ...noteOf(
      ({ changed }) => changed === false,
      "are unchanged: their perturbation found nothing to change in the task, so they say nothing about it, and " +
        "rates leave them out.",
    ),
    ...noteOf(
      isUnsolvable,
      `are unsolvable: ${without} left nothing that leads to the answer, so that rates of success leave them out, ` +
        "and a model that abstained was right" +
        (misled === 0
          ? "."
          : `. In ${misled} of them documents mislead, which no model can see: there neither a wrong answer nor ` +
            "abstaining tells anything of a model."),
    ),
    ...noteOf(
      ({ untold }) => untold === true,
      "have no transcript, which the option transcripts can leave out: neither what the model was shown nor what " +
        "changed in the state can be seen.",
    ),
    ...noteOf(
      isUnwatched,
      `were not watched: ${
        unwatchedText(false)
      }, ${UNKNOWN_IF_UNWATCHED}, without any reply tokens neither: figures of ` +
        "these are too low.",
    ),
    ...servedNotes(trials),
    ...besideNotes(trials),
    ...noteOf(
      // No reader expects probes in breakdowns by size, nor any task where no task has sizes.
      (trial) => !isGenerated(trial) && !isProbe(trial.task) && hasSizes,
      "are on tasks that were not generated: breakdowns by size leave them out.",
    ),
  ];
}

/** Warns of names that several models served, as their figures mix these. */
function servedNotes(trials: readonly TrialSummary[]): string[] {
  const served = new Map<string, Set<string>>();
  for (const trial of trials) {
    const { model } = trial;
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

/** Says which models agents asked beside those under test, as figures are of all of them. */
function besideNotes(trials: readonly TrialSummary[]): string[] {
  return [...Map.groupBy(trials.filter(isCounted), ({ model }) => model.requested)].flatMap(
    ([requested, own]) => {
      const beside = modelsBeside(own);
      const unasked = own.filter((trial) => trial.unasked).length;
      return beside.length === 0 ? [] : [
        `The agent of ${requested} also asked ${modelNames(beside)}` +
        (unasked === 0 ? "" : `, in ${unasked} of ${own.length} trials these alone`) +
        ": its figures are of all of them.",
      ];
    },
  );
}

/** Options of {@linkcode missingTrialsNote}. */
export interface MissingTrials {
  /** Number of planned trials that are missing. */
  readonly lacking: number;
  readonly planned: number;
  /** Where they should be, such as the names of journals; omitted where that is clear. */
  readonly where?: string;
  /** The decision of a sequential gate. */
  readonly decision?: GateReport | undefined;
  /** Why the run ended, unless the gate ended it. */
  readonly stopped?: string | undefined;
  /** Which shards are missing. */
  readonly missing?: string | undefined;
}

/** Returns a sentence on why trials are missing; `undefined` when none is. */
export function missingTrialsNote(
  { lacking, planned, where, decision, stopped, missing }: MissingTrials,
): string | undefined {
  if (lacking === 0) return undefined;
  const which = `${lacking} of ${planned} planned trials${
    where === undefined ? "" : ` of ${where}`
  }`;
  if (stopped !== undefined) {
    return `${which} were not run: ${stopped}. All figures are of the other trials.`;
  }
  const decided = decision !== undefined && decision.verdicts.length > 0 &&
    decision.verdicts.every(({ kind }) => kind === "pass" || kind === "fail");
  if (decided) {
    return `${which} were not needed: the gate had decided. Tables and figures include the trials ` +
      "in flight at that time, and their intervals do not account for the early stop: the verdict does.";
  }
  if (decision?.verdict === "continue") {
    return `${which} are not run yet, or were not needed: the run goes on with its next wave. ` +
      "All figures are of the other trials.";
  }
  return `${which} have no result${missing === undefined ? "" : `: ${missing}`}. ` +
    "All figures are of the other trials.";
}

/** Returns the number, seed and dates of the trials, in one line. */
export function provenance({ trials, planned, seed, references, began }: Report): string {
  return [
    planned === null ? countText(trials, "trial") : `${trials} of ${planned} planned trials`,
    ...(seed === null ? [] : [`seed ${seed}`]),
    ...(references ? ["nested references"] : []),
    ...(began === null ? [] : [spanText(...began)]),
  ].join(", ");
}

function spanText(first: string, last: string): string {
  const [from, to] = [timeText(first), timeText(last)];
  return from === to ? `started at ${from}` : `started from ${from} to ${to}`;
}

/** Returns an ISO time to the second, in words; any other text unchanged. */
function timeText(time: string): string {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?Z$/.exec(time);
  return match === null ? time : `${match[1]} ${match[2]} UTC`;
}
