/**
 * Decides over trials: one verdict for each model, strategy and perturbation.
 * @module
 */

import { checkCeilings } from "./ceilings.ts";
import {
  idlePerturbation,
  misjudged,
  missingCases,
  missingInjections,
  missingPairs,
  missingViews,
  mixedWays,
  type Reached,
  reachedOf,
  servedModelChange,
  unaskedModel,
  unequalCases,
  unsolvable,
  unwatchedAgents,
  withCommonestReasons,
  withoutAnswer,
} from "./undecidable.ts";
import { changedCases } from "./changed_cases.ts";
import { sumUnits } from "./evidence.ts";
import { cellDraws, unmatchedCells } from "./_fresh_draws.ts";
import {
  type ComparedCases,
  differingSettings,
  isLeftOut,
  type PartsOfVariant,
  tooFewCases,
} from "./compared_cases.ts";
import {
  byCase,
  caseOf,
  type ComparedFile,
  comparesWithin,
  type DecisionGraph,
  FinishedTrials,
  type GateDecision,
  plannedDecisions,
  trialNames,
} from "./decisions.ts";
import {
  type Excused,
  excusedBy,
  isUnwatched,
  modelsBeside,
  type ScoredTrial,
  type Variant,
  variantName,
  variantOf,
} from "./variant.ts";
import {
  type ContinueVerdict,
  decideFreshDraws,
  type DecideOptions,
  decideSoFar,
  decideUpgradeSoFar,
  type ForbiddenCall,
  type TrialsVerdict,
  type Verdict,
  VERDICT_KINDS,
  withCases,
  withCeilings,
  withForbidden,
} from "./decide.ts";
import { cannot } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { type CompletePolicy, isUpgrade } from "./policy.ts";
import type { Prices } from "../models/prices.ts";
import { isCase } from "../trials/executors/task_kind.ts";
import type { SequentialRule } from "./sequential.ts";
import { asSummary, type TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "./unit_names.ts";
import { type WaveEnd, waveEnd, type WavesSoFar } from "./waves.ts";

/** The verdict on one variant. */
export interface DecidedVariant extends Variant {
  /** Whether the model, or the one it is compared with, is a simulated one. */
  readonly simulated: boolean;
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
export interface BaselineTrials {
  /** The file they were read from. */
  readonly file: string;
  readonly trials: readonly ScoredTrial[];
  /** Which cases both have in common; omitted if they have the same ones, and for other tasks. */
  readonly cases?: ComparedCases;
  /**
   * Set if its trials are of other draws of the same distribution: different graphs of the same cells. Both are then
   * compared cell by cell.
   */
  readonly fresh?: true;
  /** Of fresh draws all trials of its plan, to tell which of them are missing. Default: those that are there. */
  readonly planned?: NonNullable<ComparedFile["planned"]>;
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
    const isSimulated = ({ model }: ScoredTrial) => model.simulated;
    const simulated = both.length === 0
      // All of its cases may be left out.
      ? subject.model.startsWith("sim:") ||
        trials.some((trial) => trial.model.requested === subject.model && isSimulated(trial))
      : both.some(isSimulated);
    const { file } = options.baseline ?? {};
    const against = baseline === undefined
      ? {}
      : { baseline: variantName(baseline) + (file === undefined ? "" : ` (${file})`) };
    const { cases } = options.baseline ?? {};
    const few = cases && tooFewCases(cases, policy.coverage);
    const reason = few !== undefined
      ? few
      : own.length === 0
      ? lackingPart(decision) ?? "there are no trials"
      : baseline !== undefined && other.length === 0
      ? lackingPart(decision) ??
        `there are no trials of the baseline ${printable(against.baseline!)}`
      : unequalCases(decision.graphs) ?? mixedWays(own) ?? unsolvable([subject, baseline]) ??
        withoutAnswer(both) ?? misjudged(own) ?? idlePerturbation(own) ??
        // A file tells no calls.
        (file === undefined ? idlePerturbation(other) : undefined) ??
        unaskedModel(own) ?? unaskedModel(other, " of the baseline") ??
        servedModelChange(own, "the served model") ??
        servedModelChange(other, "the served model of the baseline");
    const verdict = withForbidden(
      reason === undefined
        ? decideVariant(decision, scores, policy, { ...options, unit, planned })
        : { kind: "invalid", reason },
      // Also those outside of what is decided on, such as those of cases that are not compared: one is too many.
      forbiddenCalls(summaries.filter((trial) => isOf(trial, subject))),
    );
    const beside = modelsBeside(own);
    const unwatched = own.filter(isUnwatched).length;
    const reached = reachedOf(own);
    const excused = excusedBy(policy.infrastructure ?? [], both);
    return {
      ...{ ...subject, simulated, ...replaysOf(own, other), ...against, verdict, unit },
      ...(excused.length === 0 ? {} : { excused }),
      ...(beside.length === 0 ? {} : { beside }),
      ...(unwatched === 0 ? {} : { unwatched }),
      ...(reached.length === 0 ? {} : { reached }),
      ...differsFrom(decision, planned, options),
      ...(baseline === undefined || cases === undefined ? {} : { leftOut: toldCases(cases) }),
    };
  });
}

/** Whether a trial is of a variant. */
function isOf(trial: ScoredTrial, subject: Variant): boolean {
  const { model, strategy, perturbation, variant } = variantOf(trial);
  return model === subject.model && strategy === subject.strategy &&
    perturbation === subject.perturbation && variant === subject.variant;
}

/** What of all that is under test with cases differs from the baseline. */
function differsFrom(
  { subject, baseline }: GateDecision,
  planned: readonly PlannedTrial[],
  { baseline: file, parts }: DecideTrialsOptions,
): Pick<DecidedVariant, "differs"> {
  if (baseline === undefined) return {};
  const compared = planned.filter(({ task }) => isCase(task) && !isLeftOut(task, file?.cases));
  const names = [...new Set(compared.flatMap(({ task }) => isCase(task) ? [task.case] : []))];
  if (names.length === 0) return {};
  const differs = differingSettings(subject, baseline, names, parts);
  return differs.length === 0 ? {} : { differs };
}

function toldCases(
  { changed, added, removed }: ComparedCases,
): NonNullable<DecidedVariant["leftOut"]> {
  return { changed, added, removed };
}

/** Counts the trials of both sides that came from recordings, and those that a model was asked for beside them. */
function replaysOf(
  ...sides: (readonly ScoredTrial[])[]
): Pick<DecidedVariant, "replayed" | "partlyReplayed" | "asked"> {
  const counts = { replayed: 0, partlyReplayed: 0, asked: 0 };
  for (const trials of sides) {
    const replayed = trials.filter((trial) => trial.replayed).length;
    const partly = trials.filter((trial) => trial.partlyReplayed).length;
    counts.replayed += replayed;
    counts.partlyReplayed += partly;
    // Where no trial of a side came from recordings, nothing is mixed.
    if (replayed + partly > 0) counts.asked += trials.length - replayed - partly;
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

/** The calls of trials that must not happen in any. */
function forbiddenCalls(trials: readonly TrialSummary[]): ForbiddenCall[] {
  return trials.filter(({ never }) => never).map(({ id, task, repetition }) => ({
    id,
    ...defined({ case: caseOf(task) }),
    trial: repetition,
  }));
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
  const [before, left] = [all, graphs].map(countTasks) as [number, number];
  if (left < before && (left === 0 || rule !== undefined)) {
    const { perturbation } = decision.subject;
    const which = `${before - left} of ${before} tasks`;
    const reason = `${printable(perturbation)} found nothing to change in ${which}`;
    return { kind: "invalid", reason };
  }
  // An interrupted run can be continued; a baseline from a file cannot. A reason that ended the run after
  // the last planned trial left nothing out.
  // Of a baseline on other graphs nothing but the first ones may be there, and then no more will be.
  const cut = other?.open && `the baseline ends after ${other.graphs.length} ${unit.many}`;
  const early = open.length === 0 ? cut : stopped ?? (file === undefined ? undefined : ended);
  const end = waves === undefined || open.length === 0 || early !== undefined
    ? {}
    : waveEnd(waves, open, planned, scores);
  const why = early ?? end.stopped;
  if (graphs.length === 0 || fresh?.length === 0) {
    if (end.lacking !== undefined) return { kind: "invalid", reason: end.lacking };
    const reason = `not even one ${unit.one} of each cell was complete${why ? `: ${why}` : ""}`;
    return { kind: "invalid", reason };
  }
  const unmatched = fresh && unmatchedCells(graphs, fresh);
  if (unmatched !== undefined) return { kind: "invalid", reason: unmatched };
  const sizes = [...graphs, ...fresh ?? []].map(({ tasks }) => new Set(tasks).size);
  if (new Set(sizes).size > 1) {
    // Core graphs weigh the same, so that the mean over them would not be that over trials.
    const reason = `the ${unit.many} are in different numbers of cells`;
    return { kind: "invalid", reason };
  }
  const decideOptions: DecideOptions & WaveEnd = {
    unit,
    ...defined({ rule, stopped: why, next: end.next, lacking: end.lacking }),
  };
  const unitFor = (names: readonly string[]) =>
    scores.unit(names, undefined, policy.infrastructure);
  const verdict = fresh !== undefined
    ? decideFreshDraws(cellDraws(graphs, fresh, unitFor), policy, decideOptions)
    : isUpgrade(policy)
    ? decideUpgradeSoFar(
      graphs.map(({ candidate, baseline }) => ({
        candidate: unitFor(candidate),
        baseline: unitFor(baseline),
      })),
      policy,
      decideOptions,
    )
    : decideSoFar(graphs.map(({ candidate }) => unitFor(candidate)), policy, decideOptions);
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
  const alone = changedOf((decision.leftOut ?? []).filter(({ block }) => rounds.has(block)));
  const unknown = unwatchedAgents(used, scores, policy, fresh) ??
    missingViews(used, scores, policy) ?? missingPairs(used, scores) ??
    missingInjections(used, scores, policy) ?? missingCases(cases, used, policy);
  if (unknown !== undefined) return { kind: "invalid", reason: unknown };
  const anytime = rule !== undefined || why !== undefined;
  const checked = withCeilings(
    withCases(verdict, [...cases, ...casesOf(alone)], policy, anytime),
    checkCeilings(used, scores, policy, { anytime, ...defined({ prices, fresh }) }),
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

function countTasks(graphs: readonly DecisionGraph[]): number {
  return sum(graphs, ({ tasks }) => new Set(tasks).size);
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
