/**
 * Judging trials: one verdict for each model, strategy and perturbation.
 * @module
 */

import { decide, type RatePolicy, type Unit, type Verdict, VERDICT_KINDS } from "./gate.ts";
import { canonicalJson, printable } from "./json.ts";
import { type PlannedTrial, SERVED_SEPARATOR, type Trial } from "./trial.ts";

/** What is judged as one. */
export interface Subject {
  /** The model, by the name it was asked for. */
  readonly model: string;
  readonly strategy: string;
  readonly perturbation: string;
}

/** The verdict over one subject. */
export interface Judged extends Subject {
  /** Whether the model is a program that stands in for a model. */
  readonly simulated: boolean;
  readonly verdict: Verdict;
}

/** A subject as one line: the model, and strategy and perturbation where they are not the usual. */
export function subjectName({ model, strategy, perturbation }: Subject): string {
  return [
    model,
    ...(strategy === "baseline" ? [] : [strategy]),
    ...(perturbation === "none" ? [] : [perturbation]),
  ].join(" + ");
}

function keyOf({ model, strategy, perturbation }: Subject): string {
  return canonicalJson([model, strategy, perturbation]);
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
    const group = groups.get(keyOf(subject)) ?? { subject, items: [] };
    groups.set(keyOf(subject), group);
    group.items.push(item);
  }
  return [...groups.values()];
}

/** The subject of a finished trial. */
export function subjectOf({ model, strategy, perturbation }: Trial): Subject {
  return { model: model.requested, strategy, perturbation };
}

/**
 * The partition that every statistic uses: the trials of each graph. Graphs are independent, the
 * trials of one graph are not.
 */
export function byGraph<T extends Pick<Trial, "task">>(trials: readonly T[]): T[][] {
  return [...Map.groupBy(trials, ({ task }) => canonicalJson(task)).values()];
}

/**
 * Judges `trials` against what was `planned`, subject by subject. A subject whose served model
 * changed on the way is invalid.
 */
export function judge(
  trials: readonly Trial[],
  planned: readonly PlannedTrial[],
  policy: RatePolicy,
): Judged[] {
  const finished = new Map(trials.map((trial) => [trial.id, trial]));
  return bySubject(planned, (trial) => trial).map(({ subject, items }) => {
    const own = items.flatMap(({ id }) => finished.get(id) ?? []);
    if (own.length === 0) {
      const verdict = { kind: "invalid", reason: "there are no trials" } as const;
      return { ...subject, simulated: subject.model.startsWith("sim:"), verdict };
    }
    const simulated = own.some(({ model }) => model.simulated);
    const served = servedModels(own);
    if (served.length > 1) {
      const names = served.map((name) => printable(name)).join(", ");
      const reason = `the served model changed on the way: ${names}`;
      return { ...subject, simulated, verdict: { kind: "invalid", reason } };
    }
    const units = byGraph(items).map((graph): Unit => {
      const ended = graph.flatMap(({ id }) => finished.get(id) ?? []);
      return {
        solved: ended.filter(({ solved }) => solved).length,
        valid: ended.filter(({ outcome }) => outcome !== "invalid").length,
        trials: graph.length,
      };
    });
    return { ...subject, simulated, verdict: decide(units, policy) };
  });
}

/** The models that answered, by their own names. */
function servedModels(trials: readonly Trial[]): string[] {
  const valid = trials.filter(({ outcome }) => outcome !== "invalid");
  const names = valid.flatMap(({ model }) => model.served.split(SERVED_SEPARATOR));
  return [...new Set(names)].filter((name) => name !== "").sort();
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
