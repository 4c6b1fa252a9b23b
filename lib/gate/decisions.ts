/**
 * Contests: what is judged as one, against what, and on which graphs.
 * @module
 */

import { canonicalJson } from "../base/json.ts";
import { type Unit, unitOf } from "./evidence.ts";
import { isCheck } from "../perturbations/ids.ts";
import { type BaselineChoice, type GatePolicy, isUpgrade } from "./policy.ts";
import type { PlannedTrial, TrialKey } from "../trials/trial_id.ts";
import { byGraph, byVariant, type ScoredTrial, type Variant } from "./variant.ts";

/** One graph of a contest: which trials of the candidate and of the baseline belong to it. */
export interface DecisionGraph {
  /** The balanced block of the plan. */
  readonly block: number;
  /** Ids of the candidate's planned trials. */
  readonly candidate: readonly string[];
  /** Keys of the baseline's trials; empty in an absolute gate. */
  readonly baseline: readonly string[];
  /** Keys of its unperturbed trials, one for each of its own; empty where flips are of no account. */
  readonly unperturbed: readonly string[];
}

/** All trials that belong to a graph. */
export function trialNames({ candidate, baseline, unperturbed }: DecisionGraph): string[] {
  return [...candidate, ...baseline, ...unperturbed];
}

/** One decision of a gate: a subject, and what it is compared with. */
export interface GateDecision {
  readonly subject: Variant;
  /** The baseline of an upgrade gate. */
  readonly baseline?: Variant;
  /** In plan order. */
  readonly graphs: readonly DecisionGraph[];
}

/** The decisions that a gate has to make over a plan; the baseline itself is not decided. */
export function plannedDecisions(
  planned: readonly PlannedTrial[],
  policy: GatePolicy,
  file?: { readonly trials: readonly ScoredTrial[] },
): GateDecision[] {
  const upgrade = isUpgrade(policy) ? choiceOf(policy.baseline, file) : undefined;
  return byVariant(planned, (trial) => trial).flatMap(({ subject, items }) => {
    const baseline = upgrade === undefined ? undefined : baselineOf(subject, upgrade);
    if (
      baseline !== undefined && file === undefined &&
      canonicalJson(subject) === canonicalJson(baseline)
    ) return [];
    const checked = countsFlips(policy) && isCheck(subject.perturbation);
    const graphs = byGraph(items).map((graph): DecisionGraph => ({
      block: graph[0]!.block,
      candidate: graph.map(({ id }) => id),
      baseline: baseline === undefined
        ? []
        : graph.map((trial) => scoreKey({ ...trial, ...baseline }, file !== undefined)),
      unperturbed: checked
        ? graph.map((trial) => scoreKey({ ...trial, perturbation: "none" }, false))
        : [],
    }));
    return [{ subject, graphs, ...(baseline === undefined ? {} : { baseline }) }];
  });
}

/** Whether a gate compares trials of the same run with each other. */
export function comparesWithin(policy: GatePolicy, file: object | undefined): boolean {
  return isUpgrade(policy) && file === undefined || countsFlips(policy);
}

/** Whether a policy asks how often checks, which should change nothing, change how a trial ends. */
function countsFlips({ atMost }: GatePolicy): boolean {
  return atMost?.flips !== undefined;
}

/** A file with one model only need not be told which. */
function choiceOf(
  baseline: string | BaselineChoice,
  file: { readonly trials: readonly ScoredTrial[] } | undefined,
): BaselineChoice {
  const choice = typeof baseline === "string" ? { model: baseline } : baseline;
  const models = new Set(file?.trials.map(({ model }) => model.requested));
  return models.size === 1 ? { model: [...models][0]!, ...choice } : choice;
}

function baselineOf(subject: Variant, { file: _, ...choice }: BaselineChoice): Variant {
  return { ...subject, ...choice };
}

/** A trial as a key of maps, for whoever does not know its id; those of a file are told apart. */
function scoreKey(
  { model, strategy, perturbation, task, repetition }: TrialKey,
  ofFile: boolean,
): string {
  return canonicalJson([ofFile, model, strategy, perturbation, task, repetition]);
}

/** Finished trials, to be looked up by what contests name. */
export class FinishedTrials {
  readonly #trials = new Map<string, ScoredTrial>();
  readonly #keyed: boolean;

  /** `keyed` where trials of the same run are compared with each other. */
  constructor(keyed: boolean, file?: { readonly trials: readonly ScoredTrial[] }) {
    this.#keyed = keyed;
    for (const trial of file?.trials ?? []) {
      this.#trials.set(scoreKey({ ...trial, model: trial.model.requested }, true), trial);
    }
  }

  /** Adds a finished trial. */
  add(trial: ScoredTrial & { readonly id: string }): void {
    for (const name of this.namesOf({ ...trial, model: trial.model.requested })) {
      this.#trials.set(name, trial);
    }
  }

  /** The names under which a trial is known once it is added. */
  namesOf(trial: TrialKey & { readonly id: string }): readonly string[] {
    return this.#keyed ? [trial.id, scoreKey(trial, false)] : [trial.id];
  }

  /** Whether a trial is finished. */
  has(name: string): boolean {
    return this.#trials.has(name);
  }

  /** Those of the named trials that are finished. */
  of(names: readonly string[]): ScoredTrial[] {
    return names.flatMap((name) => this.#trials.get(name) ?? []);
  }

  /** In how many of the pairs of trials, one name with one other, exactly one is solved. */
  flips(names: readonly string[], others: readonly string[]): Unit {
    const pairs = names.flatMap((name, place): [ScoredTrial, ScoredTrial][] => {
      const [own, other] = [this.#trials.get(name), this.#trials.get(others[place] ?? "")];
      const valid = [own, other].every((trial) =>
        trial !== undefined && trial.outcome !== "invalid"
      );
      return valid ? [[own!, other!]] : [];
    });
    const solved = pairs.filter(([own, other]) => own.solved !== other.solved).length;
    return { solved, valid: pairs.length, trials: names.length };
  }

  /** How one graph went; `counts` tells which trials count as solved. */
  unit(names: readonly string[], counts?: (trial: ScoredTrial) => boolean): Unit {
    return unitOf(this.of(names), names.length, counts);
  }
}
