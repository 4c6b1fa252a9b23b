/**
 * Judging trials: one verdict for each model, strategy and perturbation.
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
import { isCounted, type ScoredTrial, type Variant, variantName } from "./variant.ts";
import {
  decide,
  type DecideOptions,
  decideUpgrade,
  type Verdict,
  VERDICT_KINDS,
  withCeilings,
} from "./decide.ts";
import { printable } from "../base/json.ts";
import { isRemoving } from "../perturbations/ids.ts";
import type { ParameterFailureType } from "../calls/failure_types.ts";
import { type CompletePolicy, completePolicy, type GatePolicy, isUpgrade } from "./policy.ts";
import type { Prices } from "../models/prices.ts";
import { scoringKey } from "../trials/executors/question.ts";
import { isQuestion } from "../trials/executors/task_kind.ts";
import type { SequentialRule } from "./sequential.ts";
import { SERVED_SEPARATOR } from "../trials/trial.ts";
import { asSummary, type TrialSummary } from "../trials/summary.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import { type UnitNames, unitNames } from "./unit_names.ts";

/** The verdict over one subject. */
export interface DecidedVariant extends Variant {
  /** Whether the model, or the one it is compared with, is a program that stands in for a model. */
  readonly simulated: boolean;
  /**
   * How many of its trials, and of those it is compared with, came from recordings, so that no model was
   * asked for them; left out where none did.
   */
  readonly replayed?: number;
  /** What it was compared with, in words; left out in an absolute gate. */
  readonly baseline?: string;
  readonly verdict: Verdict;
  /** What the units of the verdict are called; default graphs. */
  readonly unit?: UnitNames;
}

/** Results to compare with, that were not made in the same run. */
export interface BaselineTrials {
  /** Where they come from. */
  readonly file: string;
  readonly trials: readonly ScoredTrial[];
}

/** Options of {@linkcode decideTrials}. */
export interface DecideTrialsOptions {
  /** The rule of a sequential gate. */
  readonly rule?: SequentialRule | undefined;
  /** What the policy's baseline file holds. */
  readonly baseline?: BaselineTrials | undefined;
  /** For ceilings of cost. */
  readonly prices?: Prices | undefined;
  /** Why something else than the gate ended the run, such as a budget. */
  readonly stopped?: string | undefined;
}

/**
 * Judges `trials` against what was `planned`, subject by subject. A subject whose served model
 * changed on the way is invalid.
 *
 * @throws {InputError} If a ceiling of cost lacks a price.
 */
export function decideTrials(
  trials: readonly TrialSummary[],
  planned: readonly PlannedTrial[],
  gate: GatePolicy,
  options: DecideTrialsOptions = {},
): DecidedVariant[] {
  const policy = completePolicy(gate);
  const scores = new FinishedTrials(comparesWithin(policy, options.baseline), options.baseline);
  for (const trial of trials) scores.add(asSummary(trial));
  const unit = unitNames(planned.map(({ task }) => task));
  return plannedDecisions(planned, policy, options.baseline).map((contest): DecidedVariant => {
    const { subject, baseline } = contest;
    const own = scores.of(contest.graphs.flatMap(({ candidate }) => candidate));
    const other = scores.of(contest.graphs.flatMap((graph) => graph.baseline));
    const shown = [...own, ...other];
    const simulated = shown.length === 0
      ? subject.model.startsWith("sim:")
      : shown.some(({ model }) => model.simulated);
    const { file } = options.baseline ?? {};
    const compared = baseline === undefined
      ? {}
      : { baseline: variantName(baseline) + (file === undefined ? "" : ` (${file})`) };
    const reason = own.length === 0
      ? "there are no trials"
      : baseline !== undefined && other.length === 0
      ? `there are no trials of the baseline ${printable(compared.baseline!)}`
      : severalWays(own) ?? unsolvable([subject, baseline]) ?? changed(own, "the served model") ??
        changed(other, "the served model of the baseline");
    const verdict: Verdict = reason === undefined
      ? settle(contest, scores, policy, { ...options, unit })
      : { kind: "invalid", reason };
    const replayed = shown.filter((trial) => trial.replayed).length;
    const recorded = replayed === 0 ? {} : { replayed };
    return { ...subject, simulated, ...recorded, ...compared, verdict, unit };
  });
}

/** Answers that are right in one way of asking are not in another: one rate of both tells nothing. */
function severalWays(trials: readonly ScoredTrial[]): string | undefined {
  const ways = new Set(trials.flatMap(({ task }) => isQuestion(task) ? [scoringKey(task)] : []));
  return ways.size <= 1
    ? undefined
    : `questions are asked in ${ways.size} ways, and a gate decides over one: run each by itself`;
}

/** What is right under some perturbations is to solve nothing, which no gate can ask for. */
function unsolvable(subjects: readonly (Variant | undefined)[]): string | undefined {
  const removing = subjects.find((one) => one !== undefined && isRemoving(one.perturbation));
  return removing &&
    `under ${printable(removing.perturbation)} no task can be solved, and to abstain is right`;
}

/** Whoever reads that too few of the trials are valid needs to know what spoiled the others. */
function blamed(
  verdict: Extract<Verdict, { kind: "invalid" }>,
  { coverage }: CompletePolicy,
  trials: readonly ScoredTrial[],
): Verdict {
  const { valid = 0, unknown = 1 } = verdict.evidence ?? {};
  if (valid >= coverage * (valid + unknown) - 1e-9) return verdict;
  const spoiled = trials.filter(({ outcome }) => outcome === "invalid");
  const reasons = Map.groupBy(spoiled, ({ reason }) => reason ?? "unknown");
  const [commonest] = [...reasons].sort(([, one], [, other]) => other.length - one.length);
  if (commonest === undefined) return verdict;
  const [reason, own] = commonest;
  const told = `${verdict.reason}; most often (${own.length} of ${spoiled.length}) as ` +
    printable(reason, 300);
  return { ...verdict, reason: told };
}

function settle(
  contest: GateDecision,
  scores: FinishedTrials,
  policy: CompletePolicy,
  { rule, stopped, prices, baseline: file, unit }: DecideTrialsOptions & {
    readonly unit: UnitNames;
  },
): Verdict {
  const inOrder = rule !== undefined || stopped !== undefined;
  const { graphs: all, ended } = inOrder
    ? completeGraphs(contest, scores, unit)
    : { graphs: contest.graphs };
  // What was not changed says nothing of the change. That hangs on the task alone, so that leaving it
  // out favours no model.
  const graphs = all.filter((graph) =>
    scores.of([...graph.candidate, ...graph.baseline]).every(({ changed }) => changed !== false)
  );
  if (graphs.length < all.length && (graphs.length === 0 || rule !== undefined)) {
    const { perturbation } = contest.subject;
    const which = `${all.length - graphs.length} of ${all.length} tasks`;
    const reason = `${printable(perturbation)} found nothing to change in ${which}`;
    return { kind: "invalid", reason };
  }
  // A run that was cut short is to be continued; results from elsewhere are what they are. What ended
  // the run after the last trial of the plan has left nothing out.
  const why = all.length === contest.graphs.length
    ? undefined
    : stopped ?? (file === undefined ? undefined : ended);
  if (graphs.length === 0) {
    const reason = `not even one ${unit.one} of each cell was complete${why ? `: ${why}` : ""}`;
    return { kind: "invalid", reason };
  }
  const decideOptions: DecideOptions = {
    unit,
    ...(rule === undefined ? {} : { rule }),
    ...(why === undefined ? {} : { stopped: why }),
  };
  const verdict = isUpgrade(policy)
    ? decideUpgrade(
      graphs.map(({ candidate, baseline }) => ({
        candidate: scores.unit(candidate),
        baseline: scores.unit(baseline),
      })),
      policy,
      decideOptions,
    )
    : decide(graphs.map(({ candidate }) => scores.unit(candidate)), policy, decideOptions);
  const used = graphs.slice(0, verdict.evidence?.graphs);
  if (verdict.kind === "invalid") {
    return blamed(verdict, policy, scores.of(used.flatMap(trialNames)));
  }
  const unknown = lackingViews(used, scores, policy) ?? lackingPairs(used, scores);
  if (unknown !== undefined) return { kind: "invalid", reason: unknown };
  return withCeilings(
    verdict,
    checkCeilings(used, scores, policy, {
      anytime: rule !== undefined || why !== undefined,
      ...(prices === undefined ? {} : { prices }),
    }),
  );
}

/** Why nothing can be said of flips, if that is asked for. */
function lackingPairs(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
): string | undefined {
  const compared = graphs.filter(({ unperturbed }) => unperturbed.length > 0);
  if (compared.length === 0) return undefined;
  const known = compared.some((graph) =>
    scores.flips(graph.candidate, graph.unperturbed).valid > 0
  );
  return known
    ? undefined
    : "no trial has a valid one without the check beside it, so that no flip can be seen";
}

/** Why nothing can be said of parameter failures, if that is asked for: what is not known is not kept. */
function lackingViews(
  graphs: readonly DecisionGraph[],
  scores: FinishedTrials,
  { atMost: { parameterFailures = {} } }: CompletePolicy,
): string | undefined {
  if (Object.keys(parameterFailures).length === 0) return undefined;
  const trials = graphs.flatMap(({ candidate }) => scores.of(candidate) as TrialSummary[])
    .filter(isCounted);
  const limited = Object.keys(parameterFailures) as ParameterFailureType[];
  const unknown = trials.filter(({ parameters }) =>
    parameters === undefined ||
    limited.some((type) =>
      parameters.undecided.includes(type) && !parameters.calls.some((types) => types.includes(type))
    )
  ).length;
  if (unknown === 0) return undefined;
  return `${unknown} of ${trials.length} trials do not tell what their calls are beside the right ones, so ` +
    "that nothing can be said of atMost.parameterFailures";
}

/**
 * The graphs that come first in plan order and whose trials have all ended, in whole blocks. If it is
 * a baseline from elsewhere that ends, that is told.
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

/** Why models that answered under several names cannot be judged as one. */
export function changed(trials: readonly ScoredTrial[], what: string): string | undefined {
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
    return `${what}${where} changed on the way: ${
      distinct.map((name) => printable(name)).join(", ")
    }`;
  }
  return undefined;
}

/** The worst kind among `verdicts`; without any it is `invalid`. */
export function worstKind(verdicts: readonly Verdict[]): Verdict["kind"] {
  return VERDICT_KINDS.find((kind) => verdicts.some((verdict) => verdict.kind === kind)) ??
    "invalid";
}

/** The exit code of commands: 0 pass, 1 fail, 3 undecided or invalid. */
export function exitCodeOf(kind: Verdict["kind"]): 0 | 1 | 3 {
  return kind === "pass" ? 0 : kind === "fail" ? 1 : 3;
}
