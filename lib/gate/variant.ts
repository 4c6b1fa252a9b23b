/**
 * Variants: a model with a strategy under a perturbation, and the trials of each, graph by graph.
 * @module
 */

import type { FailureType } from "../calls/failure_types.ts";
import { canonicalJson, listText, printable } from "../base/json.ts";
import { coreOf, isCase, isGenerated, isQuestion } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import type { StageUse } from "../models/model.ts";
import type { TrialUser } from "../trials/users/user.ts";
import type { TrialKey } from "../trials/trial_id.ts";
import type { InfrastructureFailure } from "./policy.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** The unit of a gate's decision: the keys of its trials, but for task and repetition. */
export interface Variant
  extends Pick<TrialKey, "model" | "strategy" | "perturbation" | "variant"> {}

/**
 * Names a variant on one line: the model, with strategy and perturbation unless they are the defaults, and after the
 * name of its settings if it has one.
 */
export function variantName({ model, strategy, perturbation, variant }: Variant): string {
  return (variant === undefined ? "" : `${variant}: `) + [
    model,
    ...(strategy === "plain" ? [] : [strategy]),
    ...(perturbation === "none" ? [] : [perturbation]),
  ].join(" + ");
}

/** Whether programs stand in for models in trials: `true` for the model under test, else which others they stand in for. */
export type Simulated = boolean | "judge" | "user" | "judge and user";

/** Returns what is simulated in trials. */
export function simulatedIn(trials: readonly ScoredTrial[]): Simulated {
  if (trials.some(({ model }) => model.simulated)) return true;
  const isJudge = judgesOf(trials).some(({ model }) => model.simulated);
  if (!usersOf(trials).some(({ model }) => model.simulated)) return isJudge && "judge";
  return isJudge ? "judge and user" : "user";
}

/** The simulated users of trials. */
export function usersOf(trials: readonly Pick<ScoredTrial, "user">[]): TrialUser[] {
  return trials.flatMap(({ user }) => user ?? []);
}

/** The judges of trials: of a call set, or those that assertions asked. */
export function judgesOf(
  trials: readonly Pick<ScoredTrial, "judging">[],
): Omit<StageUse, "stage">[] {
  return trials.flatMap(({ judging }) =>
    judging === undefined ? [] : [judging, ...judging.others ?? []]
  );
}

/** Names a variant on one line, and marks it if simulated. */
export function variantLabel(subject: Variant, simulated: Simulated): string {
  return marked(variantName(subject), simulated);
}

/** Marks the name of what is simulated: a model, or what one took part in. */
export function marked(name: string, simulated: Simulated): string {
  if (!simulated) return name;
  return `${name} (${simulated === true ? "simulated" : `with a simulated ${simulated}`})`;
}

/** What distinguishes variants. */
export function variantKey({ model, strategy, perturbation, variant }: Variant): string {
  return JSON.stringify([model, strategy, perturbation, variant]);
}

/** Groups items by variant, in order of first occurrence. */
export function byVariant<T>(
  items: readonly T[],
  subjectOf: (item: T) => Variant,
): { subject: Variant; items: T[] }[] {
  const groups = new Map<string, { subject: Variant; items: T[] }>();
  for (const item of items) {
    const own = subjectOf(item);
    getOrInsertComputed(groups, variantKey(own), () => {
      const { model, strategy, perturbation, variant } = own;
      return { subject: { model, strategy, perturbation, variant }, items: [] };
    }).items.push(item);
  }
  return [...groups.values()];
}

/** What is known of any trial, also of one in a baseline. */
type Known = "model" | "strategy" | "perturbation" | "task" | "repetition" | "outcome" | "solved";

/** A trial of which nothing but what a baseline keeps may be known, enough to compare with. */
export interface ScoredTrial
  extends Pick<TrialSummary, Known>, Partial<Omit<TrialSummary, Known | "failures">> {
  readonly failures: readonly { readonly type: FailureType }[];
}

/** The name of the case of own tests that a task is a trial of; `undefined` for other tasks. */
export function caseOf(task: object): string | undefined {
  return isCase(task) ? task.case : undefined;
}

/** A trial, of whose missed calls something may be known. */
type MaybeMissed = Partial<Pick<TrialSummary, "missed">>;

/** Whether a trial needed any call, as far as that is known. */
export function needsCalls({ missed }: MaybeMissed): boolean {
  return missed !== undefined && missed.needed > 0;
}

/** Whether a needed call was never made. */
export function missesCall({ missed }: MaybeMissed): boolean {
  return missed !== undefined && missed.missed > 0;
}

/** How a valid trial came to be: `replaced` and `resampled` ones were not valid at the first go. */
export type Attempt = "first" | "replaced" | "resampled";

/** Returns how a valid trial came to be, given the failures that are declared to be infrastructure's. */
export function attemptOf(
  { replaced, replacedIdle, unclear = [] }: Pick<
    ScoredTrial,
    "replaced" | "replacedIdle" | "unclear"
  >,
  declared: readonly InfrastructureFailure[] = [],
): Attempt {
  if (replaced !== undefined && !replacedIdle) return "replaced";
  const isOurs = (failed: FailedReply) => !declared.some((one) => isDeclared(failed, one));
  return unclear.some(isOurs) ? "resampled" : "first";
}

/** A failed attempt of unclear cause. */
type FailedReply = NonNullable<ScoredTrial["unclear"]>[number];

/** Whether a failed attempt is one of those that are declared to be infrastructure's. */
function isDeclared(failed: FailedReply, { status, message }: InfrastructureFailure): boolean {
  return (status === undefined || status === failed.status) &&
    (message === undefined || failed.message.toLowerCase().includes(message.toLowerCase()));
}

/** A declaration that was used, and how many trials it made valid at the first go. */
export interface Excused extends InfrastructureFailure {
  /** The number of trials that are valid at the first go because of it. */
  readonly trials: number;
}

/** Returns the declarations that were used; of a trial with several kinds of failures each counts. */
export function excusedBy(
  declared: readonly InfrastructureFailure[],
  trials: readonly ScoredTrial[],
): Excused[] {
  const excused = trials.filter((trial) =>
    trial.outcome !== "invalid" && attemptOf(trial) === "resampled" &&
    attemptOf(trial, declared) === "first"
  );
  return declared.flatMap((one) => {
    const own = excused.filter(({ unclear = [] }) => unclear.some((it) => isDeclared(it, one)));
    return own.length === 0 ? [] : [{ ...one, trials: own.length }];
  });
}

/** Returns the variant of a finished trial. */
export function variantOf({ model, strategy, perturbation, variant }: ScoredTrial): Variant {
  return { model: model.requested, strategy, perturbation, variant };
}

/**
 * Whether a trial counts in rates: it was not spoiled by infrastructure, and its perturbation, if any,
 * changed something.
 */
export function isCounted({ outcome, changed }: Pick<Trial, "outcome" | "changed">): boolean {
  return outcome !== "invalid" && changed !== false;
}

/**
 * Whether a trial that counts is of an agent whose requests were not seen: of what its model said nothing is known but
 * the calls that the agent carried out.
 */
export function isUnwatched(trial: Pick<Trial, "outcome" | "changed" | "agent">): boolean {
  return trial.agent === "unwatched" && isCounted(trial);
}

/** Whether an agent failed before it asked its model: one that has called functions has asked one somewhere. */
export function hasFailedFirst(
  { outcome, calls }: Partial<Pick<Trial, "outcome" | "calls">>,
): boolean {
  return outcome === "agent_error" && !calls;
}

/** Says how the agent of a trial that was not watched escaped. */
export function unwatchedText(hasFailedFirst: boolean): string {
  return hasFailedFirst
    ? "the agent failed before it was seen to ask a model"
    : "the agent was not seen to ask a model, or called what no reply had called";
}

/** What nobody knows of a trial that was not watched. */
export const UNKNOWN_IF_UNWATCHED =
  "so that neither unknown names nor unreadable arguments are known";

/** Returns the names of the models that agents asked beside the one under test, sorted, each once. */
export function modelsBeside(trials: readonly Pick<ScoredTrial, "agent" | "stages">[]): string[] {
  const names = trials.flatMap(({ agent, stages = [] }) =>
    agent === undefined ? [] : stages.map(({ model }) => model.requested)
  );
  return [...new Set(names)].sort();
}

/** Models that are named, at most. */
const MAX_MODELS = 5;

/** Returns the first names of models, and how many more there are. */
export function modelNames(names: readonly string[]): string {
  return listText(names.map((name) => printable(name, 100)), MAX_MODELS);
}

/** Whether a trial counts in rates of success: one on a task that a perturbation left without an answer does not. */
export function countsAsSuccess(
  trial: Pick<ScoredTrial, "outcome" | "changed" | "unsolvable">,
): boolean {
  return isCounted(trial) && trial.unsolvable === undefined;
}

/**
 * Groups trials by graph, the partition that every statistic uses: graphs are independent, trials of the
 * same graph are not, nor are tasks that share a core graph.
 */
export function byGraph<T extends Pick<Trial, "task">>(trials: readonly T[]): T[][] {
  return [...Map.groupBy(trials, ({ task }) => unitKey(task)).values()];
}

/** Cached, as many statistics need the keys of the same tasks. */
function cached(keyOf: (task: Trial["task"]) => string): (task: Trial["task"]) => string {
  const keys = new WeakMap<Trial["task"], string>();
  return (task) => getOrInsertComputed(keys, task, keyOf);
}

/**
 * Returns the key of an independent unit. A question is one unit, even if asked in several ways; generated tasks
 * that differ only in their irrelevant functions are one.
 */
export const unitKey = cached((task) => canonicalJson(unitPart(task)));

function unitPart(task: Trial["task"]): unknown {
  if (isQuestion(task)) return [task.set, task.question];
  // Without a seed nothing shows that two tasks have a core in common.
  return isGenerated(task) && Number.isInteger(task.seed) ? coreOf(task) : task;
}

/** Returns a map key for a task: equal tasks have equal keys. */
export const graphKey = cached(canonicalJson);

/** Counts the independent tasks of a plan. */
export function countGraphs(planned: readonly Pick<Trial, "task">[]): number {
  return new Set(planned.map(({ task }) => unitKey(task))).size;
}
