/**
 * The decisions a gate has to make: each variant, its baseline, and the graphs both ran on.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { type ComparedCases, isLeftOut } from "./compared_cases.ts";
import { type Unit, unitOf } from "./evidence.ts";
import { isCase } from "../tasks/task_kind.ts";
import { isCheck } from "../perturbations/ids.ts";
import {
  type BaselineChoice,
  type GatePolicy,
  type InfrastructureFailure,
  isUpgrade,
} from "./policy.ts";
import type { PlannedTrial, TrialKey } from "../trials/trial_id.ts";
import {
  attemptOf,
  byGraph,
  byVariant,
  caseOf,
  graphKey,
  type ScoredTrial,
  type Variant,
  variantKey,
  variantOf,
} from "./variant.ts";

/** One graph of a decision, or one core graph in all of its cells: the trials of candidate and baseline on it. */
export interface DecisionGraph {
  /** The balanced block of the plan. */
  readonly block: number;
  /** Keys of the tasks of the candidate's trials: one, or those that share a core graph. */
  readonly tasks: readonly string[];
  /** Ids of the candidate's planned trials. */
  readonly candidate: readonly string[];
  /** Keys of the baseline's trials; empty in an absolute gate. */
  readonly baseline: readonly string[];
  /** Keys of its unperturbed trials, one for each of its own; empty if flips are not counted. */
  readonly unperturbed: readonly string[];
  /** The case of your own tests that it is a trial of; omitted if it is of none. */
  readonly case?: string;
  /** The cells of its tasks, as a key; only where both sides ran on different graphs. */
  readonly cell?: string;
}

/** Returns all trials on a graph. */
export function trialNames({ candidate, baseline, unperturbed }: DecisionGraph): string[] {
  return [...candidate, ...baseline, ...unperturbed];
}

/** One decision of a gate: a variant, and its baseline. */
export interface GateDecision {
  readonly subject: Variant;
  /** The baseline of an upgrade gate. */
  readonly baseline?: Variant;
  /** In plan order. */
  readonly graphs: readonly DecisionGraph[];
  /** Those of cases that are not compared with the baseline. */
  readonly leftOut: readonly DecisionGraph[];
  /**
   * The baseline's graphs, if they are different ones of the same cells; what is the candidate's in others is the
   * baseline's here.
   */
  readonly fresh?: readonly DecisionGraph[];
}

/** Results of another run, as far as decisions depend on them. */
export interface ComparedFile {
  readonly trials: readonly ScoredTrial[];
  /** Which cases both have in common; omitted if they have the same ones, and for other tasks. */
  readonly cases?: ComparedCases;
  /**
   * All trials of its plan, where they are of other draws of the same distribution: different graphs of the same cells.
   * Both are then compared cell by cell.
   */
  readonly fresh?: readonly PlannedKey[];
}

/** A planned trial, by what it is, and the block of its plan. */
type PlannedKey = TrialKey & { readonly block: number };

/** Returns the decisions that a gate has to make over a plan; the baseline itself is not decided on. */
export function plannedDecisions(
  planned: readonly PlannedTrial[],
  policy: GatePolicy,
  file?: ComparedFile,
): GateDecision[] {
  const variants = byVariant(planned, (trial) => trial);
  const there = file === undefined
    ? variants.map(({ subject }) => subject)
    : byVariant(file.trials, variantOf).map(({ subject }) => subject);
  return variants.flatMap(({ subject, items: all }) => {
    const isOwn = all.some(({ task }) => isCase(task));
    const baseline = isUpgrade(policy)
      ? baselineVariant(subject, policy.baseline, there, isOwn)
      : undefined;
    const cases = baseline === undefined ? undefined : file?.cases;
    const items = all.filter(({ task }) => !isLeftOut(task, cases));
    if (
      baseline !== undefined && file === undefined &&
      canonicalJson(subject) === canonicalJson(baseline)
    ) return [];
    const checked = countsFlips(policy) && isCheck(subject.perturbation);
    const toGraph = (graph: readonly PlannedTrial[]): DecisionGraph => ({
      ...graphOf(graph, ({ id }) => id),
      cell: file?.fresh && cellOf(graph),
      baseline: baseline === undefined || file?.fresh
        ? []
        : graph.map((trial) => comparedName({ ...trial, ...baseline }, file !== undefined)),
      unperturbed: checked
        ? graph.map((trial) => comparedName({ ...trial, perturbation: "none" }, false))
        : [],
    });
    return [{
      subject,
      baseline,
      graphs: byGraph(items).map(toGraph),
      leftOut: byGraph(all.filter(({ task }) => isLeftOut(task, cases))).map(toGraph),
      fresh: file?.fresh && baseline && freshGraphs(file.fresh, baseline),
    }];
  });
}

/** A graph of its trials, compared with nothing. */
function graphOf<T extends PlannedKey>(
  trials: readonly T[],
  nameOf: (trial: T) => string,
): DecisionGraph {
  const [{ block, task: first }] = trials as [T];
  return {
    block,
    tasks: trials.map(({ task }) => graphKey(task)),
    candidate: trials.map(nameOf),
    baseline: [],
    unperturbed: [],
    case: caseOf(first),
  };
}

/** The graphs of a baseline that ran on different ones, in the order of its plan. */
function freshGraphs(planned: readonly PlannedKey[], baseline: Variant): DecisionGraph[] {
  const own = planned.filter((trial) => variantKey(trial) === variantKey(baseline));
  return byGraph(own).map((graph) => ({
    ...graphOf(graph, (trial) => comparedName(trial, true)),
    cell: cellOf(graph),
  }));
}

/** The key of the cells of a graph: its tasks without their seeds. */
function cellOf(graph: readonly { readonly task: object }[]): string {
  const cells = graph.map(({ task }) => canonicalJson({ ...task, seed: null }));
  return [...new Set(cells)].sort().join();
}

/** Groups graphs by the case of own tests that they are trials of, in plan order; others are left out. */
export function byCase(graphs: readonly DecisionGraph[]): Map<string, DecisionGraph[]> {
  return Map.groupBy(graphs.filter((graph) => graph.case !== undefined), (graph) => graph.case!);
}

/** Whether a gate compares trials of the same run with each other. */
export function comparesWithin(policy: GatePolicy, file: object | undefined): boolean {
  return isUpgrade(policy) && file === undefined || countsFlips(policy);
}

/** Whether a policy limits flips: how often checks, which should change nothing, change the outcome. */
function countsFlips({ atMost }: GatePolicy): boolean {
  return atMost?.flips !== undefined;
}

/** What of a variant is under test, so that it may be another one in a baseline. */
const UNDER_TEST = ["variant", "model", "strategy"] as const;

/**
 * The variant that is the baseline of another one. What the choice leaves out is as in the candidate, or the one that
 * the baseline has: of a strategy only where the tasks are the user's own cases.
 */
function baselineVariant(
  subject: Variant,
  baseline: string | BaselineChoice,
  there: readonly Variant[],
  isOwn: boolean,
): Variant {
  const { file: _, missing: __, ...choice } = typeof baseline === "string"
    ? { model: baseline }
    : baseline;
  const chosen: Record<string, string | undefined> = { ...subject, ...choice };
  // What is chosen may be of one variant alone, and then so is the rest.
  let left = there.filter((one) =>
    UNDER_TEST.every((field) => choice[field] === undefined || one[field] === choice[field])
  );
  for (const field of UNDER_TEST) {
    const names = new Set(left.map((one) => one[field]));
    const isFree = choice[field] === undefined && (isOwn || field !== "strategy");
    if (isFree && names.size === 1) chosen[field] = [...names][0];
    left = left.filter((one) => one[field] === chosen[field]);
  }
  return chosen as unknown as Variant;
}

/** Returns a key for a trial whose id is not known; keys of trials from a file are distinct. */
function comparedName(
  { model, strategy, perturbation, variant, task, repetition }: TrialKey,
  ofFile: boolean,
): string {
  return canonicalJson([ofFile, model, strategy, perturbation, variant ?? null, task, repetition]);
}

/** Finished trials, by the ids and keys that decisions hold. */
export class FinishedTrials {
  readonly #trials = new Map<string, ScoredTrial>();

  /** `keyed`: whether trials of the same run are compared with each other. */
  constructor(private readonly keyed: boolean, file?: Pick<ComparedFile, "trials">) {
    for (const trial of file?.trials ?? []) {
      this.#trials.set(comparedName({ ...trial, model: trial.model.requested }, true), trial);
    }
  }

  /** Adds a finished trial. */
  add(trial: ScoredTrial & { readonly id: string }): void {
    for (const name of this.namesOf({ ...trial, model: trial.model.requested })) {
      this.#trials.set(name, trial);
    }
  }

  /** Returns the id and keys under which an added trial can be found. */
  namesOf(trial: TrialKey & { readonly id: string }): readonly string[] {
    return this.keyed ? [trial.id, comparedName(trial, false)] : [trial.id];
  }

  /** Whether a trial is finished. */
  has(name: string): boolean {
    return this.#trials.has(name);
  }

  /** Returns the named trials that are finished. */
  of(names: readonly string[]): ScoredTrial[] {
    return names.flatMap((name) => this.#trials.get(name) ?? []);
  }

  /**
   * Returns the results on one graph; `counts` decides which trials count as solved, and `declared` are failures
   * that are infrastructure's.
   */
  unit(
    names: readonly string[],
    counts?: (trial: ScoredTrial) => boolean,
    declared?: readonly InfrastructureFailure[],
  ): Unit {
    return unitOf(this.of(names), names.length, counts, (trial) => attemptOf(trial, declared));
  }
}
