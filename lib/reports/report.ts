/**
 * Reports: all results of a run as data. The terminal, Markdown, JSON and HTML reports are views of it.
 * @module
 */

import type { Release } from "../base/clone.ts";
import { listText, printable } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { type ComparedPair, comparePairs, type PairOptions } from "../gate/comparison.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { isUpgrade } from "../gate/policy.ts";
import { unitNames } from "../gate/unit_names.ts";
import {
  isCounted,
  isUnwatched,
  modelNames,
  modelsBeside,
  simulatedIn,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
  variantLabel,
} from "../gate/variant.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";
import type { Prices } from "../models/prices.ts";
import { FORCED_PROBES, isProbe } from "../tasks/task_kind.ts";
import type { PlanHashes } from "../runs/resolved_suite.ts";
import { asSummary, type TrialSummary } from "../trials/summary.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import type { ShortNames } from "./_short_names.ts";
import { type Subject, subjectsOf, type SubjectTrials } from "./_subjects.ts";
import { type ReportWords, reportWords } from "./_words.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** What results come from. */
export interface Origin extends Release, PlanHashes {}

/** A model under test, as results are cited. */
export interface ReportedModel
  extends Pick<ModelEntry, "temperature" | "topP" | "reasoningEffort"> {
  readonly name: string;
  /** What its servers called it. */
  readonly served: readonly string[];
}

/** Options of {@linkcode Report}. */
export interface ReportOptions {
  /** The name of the suite. */
  readonly suite: string;
  /** The seed of all tasks; omitted if there are several. */
  readonly seed?: number | undefined;
  /** What ran each plan, and the plan's hash, by which results are cited; default: none is known. */
  readonly origins?: readonly Origin[];
  /** Set where arguments could refer to results of other calls in the same reply. */
  readonly references?: true | undefined;
  /** Number of trials planned; omitted where it is not known. */
  readonly planned?: number | undefined;
  /** The models with their options, to find names that are one model at several thinking budgets. */
  readonly models?: readonly ModelEntry[] | undefined;
  /** Prices of models. */
  readonly prices?: Prices | undefined;
  /** Notes in addition to those that follow from the trials. */
  readonly notes?: readonly string[];
  /** The verdicts of each plan that declares a gate. */
  readonly gates?: readonly GateReport[];
  /** In which order, with what else and without what variants are compared: see {@linkcode PairOptions}. */
  readonly compared?: Pick<PairOptions, "order" | "accepted" | "isLeftOut" | "anytime">;
  /** Shortens a name of a model. Default: names are whole. */
  readonly shorten?: (model: string) => string;
}

/** All results of a run. Metrics are measured when they are first asked for. */
export class Report {
  readonly suite: string;
  /** Finished trials in plan order, invalid ones included. */
  readonly trials: readonly TrialSummary[];
  readonly gates: readonly GateReport[];
  /** Notes that a reader needs before all figures. */
  readonly notes: readonly string[];
  /**
   * The independent unit that a trial's task belongs to: `graph`, `core graph`, `question`, `trial` of a case, or `task`
   * where they differ.
   */
  readonly unit: string;
  /** What tasks, success and failure are called. */
  readonly words: ReportWords;
  readonly #measured: Map<object, unknown>;

  /** `trials` must be in plan order. */
  constructor(
    trials: readonly TrialSummary[],
    readonly options: ReportOptions,
    measured = new Map<object, unknown>(),
  ) {
    const { suite, gates = [], notes = [] } = options;
    this.trials = trials.map(asSummary);
    this.suite = suite;
    this.gates = gates;
    // Notices of journals without checksums are among the notes.
    const remarks = gates.flatMap(({ remarks = [] }) => remarks)
      .filter(({ about }) => about !== "unchecked").map(({ text }) => text);
    this.notes = [...new Set([...trialNotes(this.trials), ...notes, ...remarks])];
    this.unit = unitNames(this.trials.map(({ task }) => task)).one;
    this.words = reportWords(this);
    this.#measured = measured;
  }

  /** Returns what `measure` returned for `key` when it was first asked. */
  once<Found>(key: object, measure: () => Found): Found {
    if (!this.#measured.has(key)) this.#measured.set(key, measure());
    return this.#measured.get(key) as Found;
  }

  /** The trials of each model, strategy, perturbation and variant. */
  get subjects(): readonly SubjectTrials[] {
    return this.once(subjectsOf, () => subjectsOf(this.trials));
  }

  /** All pairs of variants that differ in one thing, on the same graphs; those with a reference first. */
  get comparisons(): readonly ComparedPair[] {
    const { prices, compared } = this.options;
    const references = this.gates.flatMap(({ gate }) =>
      gate && isUpgrade(gate) ? gate.baseline : []
    );
    return this.once(
      comparePairs,
      () => comparePairs(this.trials, { prices, references, ...compared }),
    );
  }

  /** The models under test, with all names that their servers gave and what their entries say of sampling. */
  get models(): readonly ReportedModel[] {
    const entries = this.options.models ?? [];
    return Array.from(servedNames(this.trials), ([name, served]) => {
      const { temperature, topP, reasoningEffort } = entries.find((entry) =>
        modelName(entry) === name
      ) ?? {};
      return { name, served: [...served], temperature, topP, reasoningEffort };
    });
  }

  /** When the first and the last trial began, in ISO 8601; `null` without any. */
  get began(): readonly [first: string, last: string] | null {
    const starts = this.trials.flatMap(({ startedAt }) => startedAt === "" ? [] : [startedAt])
      .sort();
    return starts.length === 0 ? null : [starts[0]!, starts.at(-1)!];
  }

  /** Which of its models are programs that stand in for one, in words; `undefined` if none is. */
  get simulated(): string | undefined {
    const { length } = this.subjects.filter(({ simulated }) => simulated);
    if (length > 0) return length === this.subjects.length ? "simulated" : "in part simulated";
    const part = simulatedIn(this.trials);
    return part ? `with a simulated ${part}` : undefined;
  }

  /** Names a model, strategy and perturbation. */
  readonly nameOf = ({ subject, simulated }: Subject): string => {
    const { shorten = (model) => model } = this.options;
    return variantLabel({ ...subject, model: shorten(subject.model) }, simulated);
  };

  /** Returns the same report with short names of models. */
  withNames({ forms, shorten }: ShortNames): Report {
    if (forms.size === 0) return this;
    // Rows of metrics may have names: they are measured anew.
    const measured = new Map<object, unknown>([
      [subjectsOf, this.subjects],
      [comparePairs, this.comparisons],
    ]);
    return new Report(this.trials, { ...this.options, shorten }, measured);
  }
}

function trialNotes(trials: readonly TrialSummary[]): string[] {
  if (trials.length === 0) return ["No trial has ended yet: there is nothing to report."];
  const isUnsolvable = (trial: TrialSummary) => isCounted(trial) && trial.unsolvable !== undefined;
  const unsolvable = trials.filter(isUnsolvable);
  const misled = unsolvable.filter((trial) => trial.unsolvable === "misleading").length;
  const without = listText([...new Set(unsolvable.map(({ perturbation }) => perturbation))], 10);
  const noteIf = (isTold: boolean, note: string) => isTold ? [note] : [];
  const noteOf = (isMeant: (trial: TrialSummary) => boolean, note: string) => {
    const meant = trials.filter(isMeant).length;
    return noteIf(meant > 0, `${meant} of ${trials.length} trials ${note}`);
  };
  return [
    ...noteIf(
      simulatedIn(trials) !== false,
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
          : `. In ${misled} of them documents mislead, which no model can see: there a wrong answer or ` +
            "abstaining says nothing about a model."),
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
    ...noteOf(
      (trial) =>
        isCounted(trial) && !trial.solved &&
        FORCED_PROBES.some((probe) => isProbe(trial.task) && trial.task.case === probe),
      `are of probes that force calls that cannot help (${FORCED_PROBES.join(", ")}): ` +
        "no model can solve these where calls are really forced, and rates of success count them as not solved.",
    ),
    ...servedNotes(trials),
    ...besideNotes(trials),
  ];
}

/** The names that servers gave each model of counted trials. */
function servedNames(trials: readonly TrialSummary[]): Map<string, Set<string>> {
  const served = new Map<string, Set<string>>();
  for (const trial of trials) {
    const { model } = trial;
    if (!isCounted(trial) || model.served === "") continue;
    const names = getOrInsertComputed(served, model.requested, () => new Set());
    for (const name of model.served.split(SERVED_SEPARATOR)) names.add(name);
  }
  return served;
}

/** Warns of names that several models served, as their figures mix these. */
function servedNotes(trials: readonly TrialSummary[]): string[] {
  return [...servedNames(trials)].flatMap(([requested, names]) =>
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
  /** Whether the gate ended the run; default: as its decision says. */
  readonly decided?: boolean | undefined;
  /** Why the run ended, unless the gate ended it. */
  readonly stopped?: string | undefined;
  /** Which shards are missing. */
  readonly missing?: string | undefined;
}

/** Returns a sentence on why trials are missing; `undefined` when none is. */
export function missingTrialsNote(
  { lacking, planned, where, decision, decided, stopped, missing }: MissingTrials,
): string | undefined {
  if (lacking === 0) return undefined;
  const which = `${lacking} of ${planned} planned trials${
    where === undefined ? "" : ` of ${where}`
  }`;
  if (stopped !== undefined) {
    return `${which} were not run: ${stopped}. All figures are of the other trials.`;
  }
  const isDecided = decision !== undefined && decision.verdicts.length > 0 &&
    decision.verdicts.every(({ kind }) => kind === "pass" || kind === "fail");
  if (decided ?? isDecided) {
    return `${which} were not needed: the gate had decided. Tables and figures include the trials ` +
      "in flight at that time, and their two-sided intervals do not account for the early stop: the verdict does.";
  }
  if (decision?.verdict === "continue") {
    return `${which} are not run yet, or were not needed: the run goes on with its next wave. ` +
      "All figures are of the other trials.";
  }
  return `${which} have no result${missing === undefined ? "" : `: ${missing}`}. ` +
    "All figures are of the other trials.";
}

/** Returns the number and the seed of the trials, and with dates when they began, in one line. */
export function provenance(report: Report, isDated = true): string {
  const { trials: { length }, options } = report;
  const began = isDated ? report.began : null;
  const { planned, seed, references, origins = [] } = options;
  return [
    planned === undefined ? countText(length, "trial") : `${length} of ${planned} planned trials`,
    ...(seed === undefined ? [] : [`seed ${seed}`]),
    ...(references ? ["nested references"] : []),
    ...(began === null ? [] : [spanText(...began)]),
    ...(report.simulated === undefined ? [] : ["with simulated models"]),
    ...(isDated ? [...report.models.flatMap(servedText), ...origins.map(originText)] : []),
  ].join(", ");
}

/** Says how a model was served and sampled, as far as that is known. */
function servedText({ name, served, temperature, topP, reasoningEffort }: ReportedModel): string[] {
  const others = served.filter((one) => one !== name);
  const facts = [
    ...others.length === 0 ? [] : [`served as ${listText(others, 5)}`],
    ...typeof temperature === "number" ? [`temperature ${temperature}`] : [],
    ...typeof topP === "number" ? [`top-p ${topP}`] : [],
    ...reasoningEffort === undefined ? [] : [`reasoning effort ${reasoningEffort}`],
  ];
  return facts.length === 0 ? [] : [`${name} (${facts.join(", ")})`];
}

/** The first characters of a hash tell it from others, as people cite it. */
const brief = (hash: string) => hash.slice(0, 12);

function originText({ version, commit, plan, tasks }: Origin): string {
  const at = commit === undefined ? "" : ` (commit ${brief(commit)})`;
  return `plan ${brief(plan)} (tasks ${brief(tasks)}) run by toolgate ${
    printable(version, 20)
  }${at}`;
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
