/**
 * Decides over trials: one verdict for each model, strategy, perturbation and variant.
 * @module
 */

import { checkCeilings, uncheckedCeiling, unwatchedAgents } from "./_ceiling_checks.ts";
import {
  missingCases,
  type Reached,
  reachedOf,
  undecidable,
  withCommonestReasons,
} from "./undecidable.ts";
import {
  changedCases,
  conclude,
  type ContinueVerdict,
  type ForbiddenCall,
  type TrialsVerdict,
  type Verdict,
  VERDICT_KINDS,
  withCases,
  withCeilings,
  withForbidden,
} from "./decide.ts";
import { DIFFERENCES, RATES, sumUnits } from "./evidence.ts";
import { cellDraws, FRESH_DRAWS, unmatchedCells } from "./_fresh_draws.ts";
import {
  type ComparedCases,
  differingSettings,
  isLeftOut,
  type PartsOfVariant,
  tooFewCases,
} from "./compared_cases.ts";
import {
  byCase,
  type ComparedFile,
  comparesWithin,
  type DecisionGraph,
  FinishedTrials,
  type GateDecision,
  plannedDecisions,
  trialNames,
} from "./decisions.ts";
import {
  caseOf,
  type Excused,
  excusedBy,
  isUnwatched,
  modelsBeside,
  type ScoredTrial,
  type Simulated,
  simulatedIn,
  type Variant,
  variantKey,
  variantLabel,
  variantOf,
} from "./variant.ts";
import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { type CompletePolicy, isUpgrade } from "./policy.ts";
import type { Prices } from "../models/prices.ts";
import { runsOf } from "../models/recordings/origin.ts";
import type { SequentialRule } from "./sequential.ts";
import { asSummary, type TrialSummary, unlessEmpty } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "./unit_names.ts";
import { type WaveEnd, waveEnd, type WavesSoFar } from "./waves.ts";

/** The verdict on one variant. */
export interface DecidedVariant extends Variant {
  /** What is simulated in its trials and in those it is compared with. */
  readonly simulated: Simulated;
  /**
   * How many of its trials, and of those it is compared with, were replayed from recordings without calling
   * a model; omitted if none.
   */
  readonly replayed?: number;
  /** How many of them were answered by recordings in part; omitted if none. */
  readonly partlyReplayed?: number;
  /**
   * How many of them a model was asked for, if other trials of the same variant were replayed: some of what it
   * says is from another time; else omitted.
   */
  readonly asked?: number;
  /** In how many runs their replies were drawn, if those of several are replayed or mixed; else omitted. */
  readonly runs?: number;
  /** How many results of tools in them are from recordings; omitted if none. */
  readonly replayedResults?: number;
  /**
   * The failures that the policy declares to be infrastructure's, as far as its trials, and those it is compared
   * with, had them; omitted if none.
   */
  readonly excused?: readonly Excused[];
  /** The models that its agent asked beside the one under test; omitted without any. */
  readonly beside?: readonly string[];
  /** How many of its trials that count have an agent that was not watched; omitted if none. */
  readonly unwatched?: number;
  /** What of its perturbation reached the model, which depends on its calls; omitted where nothing does. */
  readonly reached?: readonly Reached[];
  /** The name of the baseline; omitted in an absolute gate. */
  readonly baseline?: string;
  /**
   * What differs from the baseline of all that is under test with cases: `model`, `strategy`, `system`, `tools`,
   * or `tools of 3 tests`; omitted if nothing does, and for other tasks.
   */
  readonly differs?: readonly string[];
  /** The cases that are not compared, or only in the baseline; omitted if there are none. */
  readonly leftOut?: Pick<ComparedCases, "changed" | "added" | "removed">;
  readonly verdict: TrialsVerdict;
  /** The names of units in messages; default graphs. */
  readonly unit?: UnitNames;
}

/** Results of another run to compare with. */
export interface BaselineTrials extends ComparedFile {
  /** The file they were read from. */
  readonly file: string;
}

/** Options of {@linkcode decideTrials}. */
export interface DecideTrialsOptions {
  /** The rule of a sequential gate. */
  readonly rule?: SequentialRule | undefined;
  /** The trials in the policy's baseline file. */
  readonly baseline?: BaselineTrials | undefined;
  /** Prices of models; required for ceilings on cost. */
  readonly prices?: Prices | undefined;
  /** Why the run ended early, unless the gate ended it, such as a budget. */
  readonly stopped?: string | undefined;
  /** Of a sequential gate: how far the waves of the run have come; omitted where it is not run in waves. */
  readonly waves?: WavesSoFar | undefined;
  /** The parts of the cases of both sides, to tell what differs between them. */
  readonly parts?: { readonly own: PartsOfVariant; readonly baseline: PartsOfVariant } | undefined;
}

/**
 * Decides over `trials` against the `planned` ones, variant by variant. A variant whose served model changed
 * during the run is invalid.
 *
 * @throws {InputError} If a price for a ceiling on cost is missing, or a sequential gate is to compare fresh draws.
 */
export function decideTrials(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
  policy: CompletePolicy,
  options: DecideTrialsOptions = {},
): DecidedVariant[] {
  if (options.baseline?.fresh && options.rule !== undefined) {
    throw cannot(
      `compare with ${options.baseline.file}`,
      "a sequential gate compares on the same graphs",
      "it is of different graphs: leave out sequential",
    );
  }
  const scores = new FinishedTrials(comparesWithin(policy, options.baseline), options.baseline);
  const summaries = trials.map(asSummary);
  for (const trial of summaries) scores.add(trial);
  const compared = planned.filter(({ task }) => !isLeftOut(task, options.baseline?.cases));
  const unit = unitNames((compared.length === 0 ? planned : compared).map(({ task }) => task));
  /** Which part of a run in waves a decision lacks. */
  const lackingPart = (decision: GateDecision) => {
    const { open = [] } = completeGraphs(decision, scores, unit);
    return options.waves && open.length > 0
      ? waveEnd(options.waves, open, planned, scores).lacking
      : undefined;
  };
  return plannedDecisions(planned, policy, options.baseline).map((decision): DecidedVariant => {
    const { subject, baseline } = decision;
    const own = scores.of(decision.graphs.flatMap(({ candidate }) => candidate));
    const other = scores.of([
      ...decision.graphs.flatMap((graph) => graph.baseline),
      ...(decision.fresh ?? []).flatMap(({ candidate }) => candidate),
    ]);
    const both = [...own, ...other];
    const simulated = both.length === 0
      // All of its cases may be left out.
      ? subject.model.startsWith("sim:") ||
        simulatedIn(summaries.filter(({ model }) => model.requested === subject.model))
      : simulatedIn(both);
    const { file, cases } = options.baseline ?? {};
    const against = baseline &&
      variantLabel(baseline, simulatedIn(other) === true) +
        (file === undefined ? "" : ` (${file})`);
    const few = cases && tooFewCases(cases, policy.coverage);
    const reason = few !== undefined
      ? few
      : own.length === 0
      ? lackingPart(decision) ?? "there are no trials"
      : against !== undefined && other.length === 0
      ? lackingPart(decision) ?? `there are no trials of the baseline ${printable(against)}`
      : undecidable(decision, own, other, file !== undefined);
    const verdict = withForbidden(
      reason === undefined
        ? decideVariant(decision, scores, policy, { ...options, unit, planned })
        : { kind: "invalid", reason },
      // Also those outside of what is decided on, such as those of cases that are not compared: one is too many.
      forbiddenCalls(summaries, subject),
    );
    return {
      ...subject,
      simulated,
      ...replaysOf(own, other),
      baseline: against,
      verdict,
      unit,
      excused: unlessEmpty(excusedBy(policy.infrastructure ?? [], both)),
      beside: unlessEmpty(modelsBeside(own)),
      unwatched: own.filter(isUnwatched).length || undefined,
      reached: unlessEmpty(reachedOf(own)),
      differs: baseline && unlessEmpty(differsFrom(subject, baseline, compared, options.parts)),
      leftOut: baseline && cases &&
        { changed: cases.changed, added: cases.added, removed: cases.removed },
    };
  });
}

/** What differs from the baseline of all that is under test with the compared cases. */
function differsFrom(
  subject: Variant,
  baseline: Variant,
  compared: readonly PlannedTrial[],
  parts: DecideTrialsOptions["parts"],
): string[] {
  const names = [...new Set(compared.flatMap(({ task }) => caseOf(task) ?? []))];
  return names.length === 0 ? [] : differingSettings(subject, baseline, names, parts);
}

/** Counts the trials of both sides that came from recordings, and those that a model was asked for beside them. */
function replaysOf(
  ...sides: (readonly ScoredTrial[])[]
): Pick<DecidedVariant, "replayed" | "partlyReplayed" | "asked" | "runs" | "replayedResults"> {
  const replayed = sum(sides, (trials) => trials.filter((trial) => trial.replayed).length);
  const partly = sum(sides, (trials) => trials.filter((trial) => trial.partlyReplayed).length);
  // Where no trial of a side came from recordings, nothing is mixed.
  const mixed = sides.filter((trials) => trials.some((one) => one.replayed || one.partlyReplayed));
  // A baseline is of another run anyway.
  const runs = Math.max(0, ...mixed.map((trials) => runsOf(trials).length));
  const asked = sum(mixed, ({ length }) => length) - replayed - partly;
  return {
    replayed: replayed || undefined,
    partlyReplayed: partly || undefined,
    asked: asked || undefined,
    runs: runs > 1 ? runs : undefined,
    replayedResults: sum(sides.flat(), (trial) => trial.replayedResults ?? 0) || undefined,
  };
}

/** The calls of a variant's trials that must not happen in any. */
function forbiddenCalls(trials: readonly TrialSummary[], subject: Variant): ForbiddenCall[] {
  const key = variantKey(subject);
  return trials.filter((trial) => trial.never && variantKey(variantOf(trial)) === key)
    .map(({ id, task, repetition }) => ({ id, case: caseOf(task), trial: repetition }));
}

function decideVariant(
  decision: GateDecision,
  scores: FinishedTrials,
  policy: CompletePolicy,
  { rule, stopped, waves, prices, baseline: file, unit, planned }: DecideTrialsOptions & {
    readonly unit: UnitNames;
    readonly planned: readonly PlannedTrial[];
  },
): Verdict | ContinueVerdict {
  const { perturbation } = decision.subject;
  const inOrder = rule !== undefined || stopped !== undefined;
  const { graphs: all, open = [], ended }: CompleteGraphs = inOrder
    ? completeGraphs(decision, scores, unit)
    : { graphs: decision.graphs };
  const other = decision.fresh && completeGraphs({ graphs: decision.fresh }, scores, unit);
  // Unchanged tasks show nothing about the perturbation. Whether a task changes depends on the task alone,
  // so leaving it out favours no model.
  const changedOf = (graphs: readonly DecisionGraph[]) =>
    graphs.map((graph) => changedPart(graph, scores))
      .filter(({ candidate }) => candidate.length > 0);
  const graphs = changedOf(all);
  const fresh = other && changedOf(other.graphs);
  // An interrupted run can be continued; a baseline from a file cannot. A reason that ended the run after
  // the last planned trial left nothing out.
  // A baseline on other graphs may have only its first graphs, and never gets more.
  const cut = other?.open && `the baseline ends after ${other.graphs.length} ${unit.many}`;
  const early = open.length === 0 ? cut : stopped ?? (file === undefined ? undefined : ended);
  const end: WaveEnd = waves === undefined || open.length === 0 || early !== undefined
    ? {}
    : waveEnd(waves, open, planned, scores);
  const why = early ?? end.stopped;
  const [before, left] = [all, graphs].map((some) =>
    sum(some, ({ tasks }) => new Set(tasks).size)
  ) as [number, number];
  const sizes = [...graphs, ...fresh ?? []].map(({ tasks }) => new Set(tasks).size);
  const fault = left < before && (left === 0 || rule !== undefined)
    ? `${printable(perturbation)} found nothing to change in ${before - left} of ${before} tasks`
    : graphs.length === 0 || fresh?.length === 0
    ? end.lacking ??
      `not even one ${unit.one} of each cell was complete${why ? `: ${why}` : ""}`
    : (fresh && unmatchedCells(graphs, fresh)) ??
      // Core graphs weigh the same, so that the mean over them would not be that over trials.
      (new Set(sizes).size > 1 ? `the ${unit.many} are in different numbers of cells` : undefined);
  if (fault !== undefined) return { kind: "invalid", reason: fault };
  const unitFor = (names: readonly string[]) =>
    scores.unit(names, undefined, policy.infrastructure);
  const options = { rule, stopped: why, next: end.next, lacking: end.lacking, unit };
  const verdict = fresh !== undefined
    ? conclude(cellDraws(graphs, fresh, unitFor), FRESH_DRAWS, policy, options)
    : isUpgrade(policy)
    ? conclude(
      graphs.map(({ candidate, baseline }) => ({
        candidate: unitFor(candidate),
        baseline: unitFor(baseline),
      })),
      DIFFERENCES,
      policy,
      options,
    )
    : conclude(graphs.map(({ candidate }) => unitFor(candidate)), RATES, policy, options);
  if (verdict.kind === "continue") return verdict;
  const used = graphs.slice(0, verdict.evidence?.graphs);
  if (verdict.kind === "invalid") {
    const names = [...used, ...fresh ?? []].flatMap(trialNames);
    return withCommonestReasons(verdict, policy, scores.of(names));
  }
  const casesOf = (graphs: readonly DecisionGraph[]) =>
    [...byCase(graphs)].map(([name, own]) => ({
      case: name,
      units: own.map(({ candidate }) => unitFor(candidate)),
      baseline: own.map((graph) => unitFor(graph.baseline)),
    }));
  const cases = casesOf(used);
  // A floor for each case needs no baseline: it is also for those that are not compared, of the same rounds.
  const rounds = new Set(used.map(({ block }) => block));
  const alone = changedOf(decision.leftOut.filter(({ block }) => rounds.has(block)));
  const over = { graphs: used, scores, policy, perturbation, fresh };
  const unknown = unwatchedAgents(over) ?? uncheckedCeiling(over) ??
    missingCases(cases, used, policy);
  if (unknown !== undefined) return { kind: "invalid", reason: unknown };
  const anytime = rule !== undefined || why !== undefined;
  const checked = withCeilings(
    withCases(verdict, [...cases, ...casesOf(alone)], policy, anytime),
    checkCeilings(over, anytime, prices),
  );
  // Of a single case the verdict itself says whether it changed.
  if (!isUpgrade(policy) || cases.length < 2 || checked.kind === "invalid") return checked;
  const compared = cases.map(({ case: name, units, baseline }) => ({
    case: name,
    candidate: sumUnits(units),
    baseline: sumUnits(baseline),
  }));
  return { ...checked, changed: changedCases(compared, policy.confidence, anytime) };
}

/** Returns a graph without the tasks in which a perturbation found nothing to change. */
function changedPart(graph: DecisionGraph, scores: FinishedTrials): DecisionGraph {
  const isChanged = (_: string, place: number) =>
    scores.of([graph.candidate[place]!, graph.baseline[place] ?? ""])
      .every(({ changed }) => changed !== false);
  if (graph.candidate.every(isChanged)) return graph;
  const [tasks, candidate, baseline, unperturbed] = [
    graph.tasks,
    graph.candidate,
    graph.baseline,
    graph.unperturbed,
  ]
    .map((names) => names.filter(isChanged)) as [string[], string[], string[], string[]];
  return { ...graph, tasks, candidate, baseline, unperturbed };
}

/** The first graphs of a decision whose trials have all ended, in whole blocks. */
interface CompleteGraphs {
  readonly graphs: readonly DecisionGraph[];
  /** Those of the block after them; omitted if there is none. */
  readonly open?: readonly DecisionGraph[];
  /** The reason if the trials of a baseline from a file end first. */
  readonly ended?: string | undefined;
}

function completeGraphs(
  { graphs }: Pick<GateDecision, "graphs">,
  scores: FinishedTrials,
  { many }: UnitNames,
): CompleteGraphs {
  const finished = (names: readonly string[]) => names.every((name) => scores.has(name));
  const open = graphs.find((graph) => !finished(trialNames(graph)));
  if (open === undefined) return { graphs };
  const complete = graphs.filter(({ block }) => block < open.block);
  const ended = finished(open.baseline)
    ? undefined
    : `the baseline ends after ${complete.length} ${many}`;
  return { graphs: complete, open: graphs.filter(({ block }) => block === open.block), ended };
}

/**
 * Returns the kind of all verdicts together: the worst, or `invalid` if there are none. A run in waves goes on while
 * any of them needs it and none is invalid, also if another one has failed, as on one machine.
 */
export function worstKind(verdicts: readonly Pick<TrialsVerdict, "kind">[]): TrialsVerdict["kind"] {
  const kinds = new Set(verdicts.map(({ kind }) => kind));
  if (kinds.has("continue") && !kinds.has("invalid")) return "continue";
  return VERDICT_KINDS.find((kind) => kinds.has(kind)) ?? "invalid";
}

const EXIT_CODES = { pass: 0, fail: 1, undecided: 3, invalid: 3, continue: 4 } as const;

/** Returns the exit code of commands: 0 pass, 1 fail, 3 undecided or invalid, 4 continue. */
export function exitCodeOf(kind: TrialsVerdict["kind"]): 0 | 1 | 3 | 4 {
  return EXIT_CODES[kind];
}
