/**
 * Variants: a model with a strategy under a perturbation, and the trials of each, graph by graph.
 * @module
 */

import type { FailureType } from "../calls/failure_types.ts";
import { canonicalJson } from "../base/json.ts";
import { isQuestion } from "../trials/executors/task_kind.ts";
import type { Trial } from "../trials/trial.ts";

/** What is judged as one. */
export interface Variant {
  /** The model, by the name it was asked for. */
  readonly model: string;
  /** The strategy's id. */
  readonly strategy: string;
  /** The perturbation's id; `none` for none. */
  readonly perturbation: string;
}

/** A subject as one line: the model, and strategy and perturbation where they are not the usual. */
export function variantName({ model, strategy, perturbation }: Variant): string {
  return [
    model,
    ...(strategy === "baseline" ? [] : [strategy]),
    ...(perturbation === "none" ? [] : [perturbation]),
  ].join(" + ");
}

/** A model, strategy and perturbation in one line, and that it is simulated where it is. */
export function variantLabel(subject: Variant, simulated: boolean): string {
  return variantName(subject) + (simulated ? " (simulated)" : "");
}

/** The trials of each subject, in the order in which subjects first occur. */
export function byVariant<T>(
  items: readonly T[],
  subjectOf: (item: T) => Variant,
): { subject: Variant; items: T[] }[] {
  const groups = new Map<string, { subject: Variant; items: T[] }>();
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
export interface ScoredTrial
  extends Pick<Trial, "strategy" | "perturbation" | "task" | "repetition"> {
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
export function variantOf({ model, strategy, perturbation }: ScoredTrial): Variant {
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
