/**
 * Decides over trials: one verdict for each model, strategy and perturbation.
 * @module
 */

import { checkCeilings } from "./ceilings.ts";
import {
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
  goOf,
  isCounted,
  type ScoredTrial,
  type Variant,
  variantName,
} from "./variant.ts";
import {
  decide,
  type DecideOptions,
  decideUpgrade,
  isCovered,
  type Verdict,
  VERDICT_KINDS,
  withCeilings,
} from "./decide.ts";
import { defined, printable } from "../base/json.ts";
import { sum } from "../base/numbers.ts";
import { commonKinds } from "../base/text_kind.ts";
import { isRemoving } from "../perturbations/ids.ts";
import type { ParameterFailureType } from "../calls/failure_types.ts";
import { type CompletePolicy, isUpgrade } from "./policy.ts";
import type { Prices } from "../models/prices.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { isQuestion } from "../trials/executors/task_kind.ts";
import type { SequentialRule } from "./sequential.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import { asSummary, type TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "./unit_names.ts";

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
  /** The name of the baseline; omitted in an absolute gate. */
  readonly baseline?: string;
  readonly verdict: Verdict;
  /** The names of units in messages; default graphs. */
  readonly unit?: UnitNames;
}

/** Results of another run to compare with. */
export interface BaselineTrials {
  /** The file they were read from. */
  readonly file: string;
  readonly trials: readonly ScoredTrial[];
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
}

/**
 * Decides over `trials` against the `planned` ones, variant by variant. A variant whose served model changed
 * during the run is invalid.
 *
 * @throws {InputError} If a price for a ceiling on cost is missing.
 */
export function decideTrials(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
  policy: CompletePolicy,
  options: DecideTrialsOptions = {},
): DecidedVariant[] {
  const scores = new FinishedTrials(comparesWithin(policy, options.baseline), options.baseline);
  for (const trial of trials) scores.add(asSummary(trial));
  const unit = unitNames(planned.map(({ task }) => task));
  return plannedDecisions(planned, policy, options.baseline).map((decision): DecidedVariant => {
    const { subject, baseline } = decision;
    const own = scores.of(decision.graphs.flatMap(({ candidate }) => candidate));
    const other = scores.of(decision.graphs.flatMap((graph) => graph.baseline));
    const both = [...own, ...other];
    const simulated = both.length === 0
      ? subject.model.startsWith("sim:")
      : both.some(({ model }) => model.simulated);
    const { file } = options.baseline ?? {};
    const compared = baseline === undefined
      ? {}
      : { baseline: variantName(baseline) + (file === undefined ? "" : ` (${file})`) };
    const reason = own.length === 0
      ? "there are no trials"
      : baseline !== undefined && other.length === 0
      ? `there are no trials of the baseline ${printable(compared.baseline!)}`
      : mixedWays(own) ?? unsolvable([subject, baseline]) ?? withoutAnswer(both) ??
        servedModelChange(own, "the served model") ??
        servedModelChange(other, "the served model of the baseline");
    const verdict: Verdict = reason === undefined
      ? decideVariant(decision, scores, policy, { ...options, unit })
      : { kind: "invalid", reason };
    const excused = excusedBy(policy.infrastructure ?? [], both);
    return {
      ...{ ...subject, simulated, ...replaysOf(own, other), ...compared, verdict, unit },
      ...(excused.length === 0 ? {} : { excused }),
    };
  });
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

/** Questions asked in different ways have different rates, and a mean of them shows nothing. */
function mixedWays(trials: readonly ScoredTrial[]): string | undefined {
  const ways = new Set(trials.flatMap(({ task }) => isQuestion(task) ? [scoringKey(task)] : []));
  return ways.size <= 1
    ? undefined
    : `questions are asked in ${ways.size} ways, but a gate decides on one: run each way separately`;
}

/** Under some perturbations the right answer is to solve nothing, which no gate can require. */
function unsolvable(subjects: readonly (Variant | undefined)[]): string | undefined {
  const removing = subjects.find((one) => one !== undefined && isRemoving(one.perturbation));
  return removing &&
    `under ${
      printable(removing.perturbation)
    } no task can be solved: the right answer is to abstain`;
}

/** A gate cannot require what documents have made impossible. */
function withoutAnswer(trials: readonly ScoredTrial[]): string | undefined {
  const found = trials.filter((trial) => trial.unsolvable !== undefined);
  return found.length === 0
    ? undefined
    : `${found.length} of ${trials.length} trials are on tasks without an answer: under ${
      printable(found[0]!.perturbation)
    } ${
      found[0]!.unsolvable === "misleading"
        ? "documents mislead"
        : "nothing links their parameters any more"
    } (with cues: "names", names tell what belongs together)`;
}

/** Adds the commonest kinds of reasons to a verdict that too few trials are valid. */
function withCommonestReasons(
  verdict: Extract<Verdict, { kind: "invalid" }>,
  policy: CompletePolicy,
  trials: readonly ScoredTrial[],
): Verdict {
  if (verdict.evidence !== undefined && isCovered(verdict.evidence, policy)) return verdict;
  const spoiled = trials.flatMap((trial) => {
    if (trial.outcome === "invalid") return [trial.reason ?? "unknown"];
    if (goOf(trial, policy.infrastructure) !== "resampled") return [];
    return trial.unclear!.slice(0, 1).map(({ message }) => message);
  });
  const kinds = commonKinds(spoiled);
  if (kinds.length === 0) return verdict;
  const texts = kinds.map(({ text, count }, place) =>
    `${place === 0 ? "most often" : "then"} (${count} of ${spoiled.length}) as ${text}`
  );
  return { ...verdict, reason: [verdict.reason, ...texts].join("; ") };
}

function decideVariant(
  decision: GateDecision,
  scores: FinishedTrials,
  policy: CompletePolicy,
  { rule, stopped, prices, baseline: file, unit }: DecideTrialsOptions & {
    readonly unit: UnitNames;
  },
): Verdict {
  const inOrder = rule !== undefined || stopped !== undefined;
  const { graphs: all, ended } = inOrder
    ? completeGraphs(decision, scores, unit)
    : { graphs: decision.graphs };
  // Unchanged tasks show nothing about the perturbation. Whether a task changes depends on the task alone,
  // so leaving it out favours no model.
  const graphs = all.map((graph) => changedPart(graph, scores))
    .filter(({ candidate }) => candidate.length > 0);
  const [before, left] = [all, graphs].map(countTasks) as [number, number];
  if (left < before && (left === 0 || rule !== undefined)) {
    const { perturbation } = decision.subject;
    const which = `${before - left} of ${before} tasks`;
    const reason = `${printable(perturbation)} found nothing to change in ${which}`;
    return { kind: "invalid", reason };
  }
  // An interrupted run can be continued; a baseline from a file cannot. A reason that ended the run after
  // the last planned trial left nothing out.
  const why = all.length === decision.graphs.length
    ? undefined
    : stopped ?? (file === undefined ? undefined : ended);
  if (graphs.length === 0) {
    const reason = `not even one ${unit.one} of each cell was complete${why ? `: ${why}` : ""}`;
    return { kind: "invalid", reason };
  }
  if (new Set(graphs.map(({ tasks }) => new Set(tasks).size)).size > 1) {
    // Core graphs weigh the same, so that the mean over them would not be that over trials.
    const reason = `the ${unit.many} are in different numbers of cells`;
    return { kind: "invalid", reason };
  }
  const decideOptions: DecideOptions = {
    unit,
    ...defined({ rule, stopped: why }),
  };
  const unitFor = (names: readonly string[]) =>
    scores.unit(names, undefined, policy.infrastructure);
  const verdict = isUpgrade(policy)
    ? decideUpgrade(
      graphs.map(({ candidate, baseline }) => ({
        candidate: unitFor(candidate),
        baseline: unitFor(baseline),
      })),
      policy,
      decideOptions,
    )
    : decide(graphs.map(({ candidate }) => unitFor(candidate)), policy, decideOptions);
  const used = graphs.slice(0, verdict.evidence?.graphs);
  if (verdict.kind === "invalid") {
    return withCommonestReasons(verdict, policy, scores.of(used.flatMap(trialNames)));
  }
  const unknown = missingViews(used, scores, policy) ?? missingPairs(used, scores);
  if (unknown !== undefined) return { kind: "invalid", reason: unknown };
  return withCeilings(
    verdict,
    checkCeilings(used, scores, policy, {
      anytime: rule !== undefined || why !== undefined,
      ...defined({ prices }),
    }),
  );
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

/** Why flips cannot be counted, if the policy limits them. */
function missingPairs(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
): string | undefined {
  const compared = graphs.filter(({ unperturbed }) => unperturbed.length > 0);
  if (compared.length === 0) return undefined;
  const isKnown = compared.some((graph) =>
    scores.flips(graph.candidate, graph.unperturbed).valid > 0
  );
  return isKnown
    ? undefined
    : "no trial has a valid counterpart without the check, so that no flip can be observed";
}

/**
 * Why parameter failures, or missed calls, cannot be counted, if the policy limits them; unknown ones count as
 * missing.
 */
function missingViews(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  { atMost: { parameterFailures = {}, missedCalls } }: CompletePolicy,
): string | undefined {
  const limited = Object.keys(parameterFailures) as ParameterFailureType[];
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(isCounted);
  const lacking = (ceiling: string, isUnknown: (trial: TrialSummary) => boolean) => {
    const unknown = trials.filter(isUnknown).length;
    return unknown === 0
      ? undefined
      : `${unknown} of ${trials.length} trials lack the comparison of their calls with the right ones, so ` +
        `that atMost.${ceiling} cannot be checked`;
  };
  return (limited.length === 0
    ? undefined
    : lacking("parameterFailures", ({ parameters }) =>
      parameters === undefined ||
      limited.some((type) =>
        parameters.undecided.includes(type) &&
        !parameters.calls.some((types) => types.includes(type))
      ))) ??
    (missedCalls === undefined
      ? undefined
      : lacking("missedCalls", ({ missed }) => missed === undefined));
}

/**
 * Returns the first graphs in plan order whose trials have all ended, in whole blocks, and the reason if the
 * trials of a baseline from a file end first.
 */
function completeGraphs({ graphs }: GateDecision, scores: FinishedTrials, { many }: UnitNames) {
  const finished = (names: readonly string[]) => names.every((name) => scores.has(name));
  const open = graphs.find((graph) => !finished(trialNames(graph)));
  if (open === undefined) return { graphs };
  const complete = graphs.filter(({ block }) => block < open.block);
  const ended = finished(open.baseline)
    ? undefined
    : `the baseline ends after ${complete.length} ${many}`;
  return { graphs: complete as readonly DecisionGraph[], ended };
}

/** Returns why trials served by several models cannot be decided on together; `undefined` if one. */
export function servedModelChange(
  trials: readonly ScoredTrial[],
  what: string,
): string | undefined {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  const names = valid.flatMap(({ model }) => model.served.split(SERVED_SEPARATOR));
  const stages = Map.groupBy(
    valid.flatMap((trial) => trial.stages ?? []),
    ({ stage, model }) => `, ${printable(model.requested)} at stage ${printable(stage)},`,
  );
  const served = [
    ["", names] as const,
    ...[...stages].map(([where, own]) =>
      [where, own.flatMap(({ model }) => model.served)] as const
    ),
  ];
  for (const [where, own] of served) {
    const distinct = [...new Set(own)].filter((name) => name !== "").sort();
    if (distinct.length < 2) continue;
    return `${what}${where} changed during the run: ${
      distinct.map((name) => printable(name)).join(", ")
    }`;
  }
  return undefined;
}

/** Returns the worst kind among `verdicts`; `invalid` if there are none. */
export function worstKind(verdicts: readonly Verdict[]): Verdict["kind"] {
  return VERDICT_KINDS.find((kind) => verdicts.some((verdict) => verdict.kind === kind)) ??
    "invalid";
}

/** Returns the exit code of commands: 0 pass, 1 fail, 3 undecided or invalid. */
export function exitCodeOf(kind: Verdict["kind"]): 0 | 1 | 3 {
  return kind === "pass" ? 0 : kind === "fail" ? 1 : 3;
}
