/**
 * Contests: what is judged as one, against what, and on which graphs.
 * @module
 */

import type { FailureType } from "../calls/failure.ts";
import { canonicalJson } from "../base/json.ts";
import type { Unit } from "./evidence.ts";
import { isCheck } from "../perturbations/ids.ts";
import { type BaselineChoice, type GatePolicy, isUpgrade } from "./policy.ts";
import { isQuestion } from "../trials/executors/question.ts";
import type { Trial } from "../trials/trial.ts";
import type { PlannedTrial, TrialKey } from "../trials/trial_id.ts";

/** What is judged as one. */
export interface Subject {
  /** The model, by the name it was asked for. */
  readonly model: string;
  /** The strategy's id. */
  readonly strategy: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation: string;
}

/** A subject as one line: the model, and strategy and perturbation where they are not the usual. */
export function subjectName({ model, strategy, perturbation }: Subject): string {
  return [
    model,
    ...(strategy === "baseline" ? [] : [strategy]),
    ...(perturbation === "none" ? [] : [perturbation]),
  ].join(" + ");
}

/** A model, strategy and perturbation in one line, and that it is simulated where it is. */
export function labelOf(subject: Subject, simulated: boolean): string {
  return subjectName(subject) + (simulated ? " (simulated)" : "");
}

/** The trials of each subject, in the order in which subjects first occur. */
export function bySubject<T>(
  items: readonly T[],
  subjectOf: (item: T) => Subject,
): { subject: Subject; items: T[] }[] {
  const groups = new Map<string, { subject: Subject; items: T[] }>();
  for (const item of items) {
    const { model, strategy, perturbation } = subjectOf(item);
    const subject = { model, strategy, perturbation };
    const key = canonicalJson(subject);
    const group = groups.get(key) ?? { subject, items: [] };
    groups.set(key, group);
    group.items.push(item);
  }
  return [...groups.values()];
}

/** What a baseline keeps of a trial: enough to compare with, whatever else a journal has. */
export interface Scored extends Pick<Trial, "strategy" | "perturbation" | "task" | "repetition"> {
  readonly model: Trial["model"];
  readonly outcome: Trial["outcome"];
  readonly solved: boolean;
  readonly changed?: false;
  readonly reason?: string;
  readonly stages?: Trial["stages"];
  readonly failures: readonly { readonly type: FailureType }[];
  readonly replayed?: true;
}

/** The subject of a finished trial. */
export function subjectOf({ model, strategy, perturbation }: Scored): Subject {
  return { model: model.requested, strategy, perturbation };
}

/**
 * Whether a trial counts in rates: infrastructure did not spoil it, and its perturbation, if any, found
 * something to change.
 */
export function isCounted({ outcome, changed }: Pick<Trial, "outcome" | "changed">): boolean {
  return outcome !== "invalid" && changed !== false;
}

/**
 * The partition that every statistic uses: the trials of each graph. Graphs are independent, the
 * trials of one graph are not.
 */
export function byGraph<T extends Pick<Trial, "task">>(trials: readonly T[]): T[][] {
  return [...Map.groupBy(trials, ({ task }) => unitKey(task)).values()];
}

/** A question is one, in however many ways it is asked. */
function unitKey(task: Trial["task"]): string {
  return isQuestion(task) ? canonicalJson([task.set, task.question]) : graphKey(task);
}

/** How many independent tasks a plan has. */
export function countGraphs(planned: readonly Pick<Trial, "task">[]): number {
  return new Set(planned.map(({ task }) => unitKey(task))).size;
}

/** Statistics of many kinds ask for the same tasks again and again. */
const graphKeys = new WeakMap<Trial["task"], string>();

/** A task as a key of maps: the same for tasks that are equal. */
export function graphKey(task: Trial["task"]): string {
  const known = graphKeys.get(task);
  if (known !== undefined) return known;
  const key = canonicalJson(task);
  graphKeys.set(task, key);
  return key;
}

/**
 * How the trials of one graph went, of which so many were planned; `counts` tells which count as solved.
 */
export function unitOf<T extends Pick<Scored, "outcome" | "solved">>(
  trials: readonly T[],
  planned: number = trials.length,
  counts: (trial: T) => boolean = ({ solved }) => solved,
): Unit {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  return { solved: valid.filter(counts).length, valid: valid.length, trials: planned };
}

/** One graph of a contest: which trials of the candidate and of the baseline belong to it. */
export interface ContestGraph {
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
export function namesIn({ candidate, baseline, unperturbed }: ContestGraph): string[] {
  return [...candidate, ...baseline, ...unperturbed];
}

/** One decision of a gate: a subject, and what it is compared with. */
export interface Contest {
  readonly subject: Subject;
  /** The baseline of an upgrade gate. */
  readonly baseline?: Subject;
  /** In plan order. */
  readonly graphs: readonly ContestGraph[];
}

/** The decisions that a gate has to make over a plan; the baseline itself is not decided. */
export function contestsOf(
  planned: readonly PlannedTrial[],
  policy: GatePolicy,
  file?: { readonly trials: readonly Scored[] },
): Contest[] {
  const upgrade = isUpgrade(policy) ? choiceOf(policy.baseline, file) : undefined;
  return bySubject(planned, (trial) => trial).flatMap(({ subject, items }) => {
    const baseline = upgrade === undefined ? undefined : baselineOf(subject, upgrade);
    if (
      baseline !== undefined && file === undefined &&
      canonicalJson(subject) === canonicalJson(baseline)
    ) return [];
    const checked = countsFlips(policy) && isCheck(subject.perturbation);
    const graphs = byGraph(items).map((graph): ContestGraph => ({
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
  file: { readonly trials: readonly Scored[] } | undefined,
): BaselineChoice {
  const choice = typeof baseline === "string" ? { model: baseline } : baseline;
  const models = new Set(file?.trials.map(({ model }) => model.requested));
  return models.size === 1 ? { model: [...models][0]!, ...choice } : choice;
}

function baselineOf(subject: Subject, { file: _, ...choice }: BaselineChoice): Subject {
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
export class Scores {
  readonly #trials = new Map<string, Scored>();
  readonly #keyed: boolean;

  /** `keyed` where trials of the same run are compared with each other. */
  constructor(keyed: boolean, file?: { readonly trials: readonly Scored[] }) {
    this.#keyed = keyed;
    for (const trial of file?.trials ?? []) {
      this.#trials.set(scoreKey({ ...trial, model: trial.model.requested }, true), trial);
    }
  }

  /** Adds a finished trial. */
  add(trial: Scored & { readonly id: string }): void {
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
  of(names: readonly string[]): Scored[] {
    return names.flatMap((name) => this.#trials.get(name) ?? []);
  }

  /** In how many of the pairs of trials, one name with one other, exactly one is solved. */
  flips(names: readonly string[], others: readonly string[]): Unit {
    const pairs = names.flatMap((name, place): [Scored, Scored][] => {
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
  unit(names: readonly string[], counts?: (trial: Scored) => boolean): Unit {
    return unitOf(this.of(names), names.length, counts);
  }
}
