/**
 * Collections: the results of one or several runs that belong together, such as those of several models on
 * the same tasks.
 * @module
 */

import { firstClash } from "../../base/clash.ts";
import defer * as fileNames from "node:path";
import { type ComparedCases, leftOutLines } from "../../gate/compared_cases.ts";
import { byVariant, type Variant, variantOf } from "../../gate/variant.ts";
import { comparedPlans } from "../compared_baseline.ts";
import { attemptKey, drawKey } from "../trial_keys.ts";
import { cannot, InputError } from "../../base/errors.ts";
import { canonicalJson, printable } from "../../base/json.ts";
import { comparisonHash, planHash } from "../resolved_suite.ts";
import { sum } from "../../base/numbers.ts";
import type { JournalFile } from "./journal.ts";
import { differences } from "./_plan_differences.ts";
import { faultOf, readResults, type Results } from "./results.ts";
import { modelName } from "../../models/entry.ts";
import { stageEntries, strategyName } from "../../trials/strategies/entry.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { parseTrialId, trialId } from "../../trials/trial_id.ts";
import { getOrInsert } from "../../base/get_or_insert.ts";

/** Results that are reported together. */
export interface Collection {
  /** The results of each plan, with the journals of its shards. */
  readonly runs: readonly CollectedRun[];
  /** The distinct names of the suites. */
  readonly suite: string;
  /** All trials, in plan order; those of a run with a label have it: see {@linkcode labelledTrial}. */
  readonly trials: readonly TrialSummary[];
  /** The number of planned trials. */
  readonly planned: number;
  /** Which of the user's own cases differ between runs, one line each. */
  readonly notes: readonly string[];
  /** These cases, which are others in each run: no trials of them are compared. */
  readonly leftOut: readonly ComparedCases[];
}

/** One run of a collection. */
interface CollectedRun {
  readonly paths: readonly string[];
  /** The journals at these paths. */
  readonly files: readonly JournalFile[];
  readonly results: Results;
  /**
   * The name of its settings in tables, after its journal: set if another run has the same model with the same strategy
   * and perturbation on the same tasks.
   */
  readonly label?: string;
}

/**
 * Puts runs together that belong together: plans of different models or strategies on the same tasks, or two runs of
 * the same model, such as before and after a change; labels distinguish these. Of the user's own cases those may
 * differ that are not compared. With `differentTasks`, also plans of different tasks, such as generated ones and cases,
 * if all models and strategies are in each of them, so that overall rates stay comparable. Missing shards and trials
 * are no error; callers must report them.
 *
 * @param given The journals of each run.
 * @throws {InputError} If a run is not the whole, untouched run of one plan, or they do not belong together; the message
 * names two journals and the difference.
 */
export function readCollection(
  given: readonly (readonly JournalFile[])[],
  { differentTasks = false }: { readonly differentTasks?: boolean | undefined } = {},
): Collection {
  const read = given.map((files): CollectedRun => {
    const paths = files.map(({ path }) => path);
    return { paths, files, results: readResults(paths, files) };
  });
  for (const { paths, results } of read) {
    const fault = faultOf(results);
    if (fault === undefined) continue;
    throw new InputError(`Cannot report on ${paths.join(" and ")}: ${printable(fault, 1000)}`);
  }
  assertWhole(read);
  const onSameTasks = (differentTasks ? byTasks(read) : [read]).map(withLabels);
  const runs = read.map(({ results }) =>
    onSameTasks.flat().find((run) => run.results === results)!
  );
  const leftOut = onSameTasks.flatMap(([first, ...others]) =>
    others.flatMap((other) => {
      const cases = assertSameTasks(first!, other);
      return cases === undefined ? [] : [{ cases, first: first!, other }];
    })
  );
  assertSameSubjects(onSameTasks);
  assertSameNames(runs);
  assertDistinct(runs);
  return {
    runs,
    suite: [...new Set(runs.map(({ results }) => results.suite))].join(", "),
    trials: onSameTasks.flatMap((group) =>
      group.flatMap(({ results, label }) =>
        label === undefined
          ? results.trials
          : results.trials.map((one) => labelledTrial(one, label))
      )
        .toSorted((one, other) => one.index - other.index)
    ),
    planned: sum(runs, ({ results }) => results.planned.length),
    notes: leftOut.flatMap(({ cases, first, other }) =>
      leftOutLines(cases, fileNames.basename(first.paths[0]!))
        .map((line) => `${fileNames.basename(other.paths[0]!)}: ${line}`)
    ),
    leftOut: leftOut.map(({ cases }) => cases),
  };
}

/** Returns the variants of a run, as its trials in the collection have them. */
export function variantsOfRun({ results, label }: Collection["runs"][number]): Variant[] {
  return byVariant(results.trials, variantOf)
    .map(({ subject }) => label === undefined ? subject : labelled(subject, label));
}

/** Returns what is of a variant as of one with this label before the name of its settings. */
export function labelled<T extends { readonly variant?: string }>(one: T, label: string): T {
  return { ...one, variant: [label, ...one.variant ?? []].join(" ") };
}

/** Returns a trial of a run with a label, which its id has as well. */
export function labelledTrial<T extends Pick<TrialSummary, "id" | "variant">>(
  trial: T,
  label: string,
): T {
  const one = labelled(trial, label);
  const key = parseTrialId(trial.id);
  return {
    ...one,
    id: key === undefined ? `${label}: ${trial.id}` : trialId(labelled(key, label)),
  };
}

/** Labels runs of which another one has a variant, too; trials in two journals get none, and are refused. */
function withLabels(runs: readonly CollectedRun[]): CollectedRun[] {
  const variants = runs.map(({ results }) =>
    byVariant(results.trials, variantOf).map(({ subject }) => subject)
  );
  const known = variants.map((own) => new Set(own.map((one) => canonicalJson(one))));
  const alike = runs.filter((_, place) =>
    known.some((others, other) => other !== place && !others.isDisjointFrom(known[place]!))
  );
  const labelIn = (labels: readonly string[], run: CollectedRun) => labels[alike.indexOf(run)];
  // A label and the name of settings together may be a name of other settings.
  const areApart = (labels: readonly string[]) => {
    const all = runs.flatMap((run, place) => {
      const label = labelIn(labels, run);
      return variants[place]!.map((one) =>
        canonicalJson(label === undefined ? one : labelled(one, label))
      );
    });
    return new Set(all).size === all.length;
  };
  const labels = labelsOf(alike.map(({ paths }) => paths), areApart);
  return runs.map((run) => ({ ...run, label: labelIn(labels, run) }));
}

/**
 * Names runs after their journals, or the folders of these, with as many folders as tell them and their variants
 * apart; by numbers where none do.
 */
function labelsOf(
  runs: readonly (readonly string[])[],
  areApart: (labels: readonly string[]) => boolean,
): string[] {
  const parts = runs.map((paths) => {
    const [path] = paths;
    const whole = paths.length > 1 ? fileNames.dirname(path!) : path!.replace(/\.jsonl$/, "");
    return fileNames.resolve(whole).split(/[/\\]/).filter(Boolean);
  });
  const most = Math.max(0, ...parts.map(({ length }) => length));
  for (let taken = 1; taken <= most; taken++) {
    const labels = parts.map((own) => printable(own.slice(-taken).join("/"), 60));
    if (new Set(labels).size === labels.length && areApart(labels)) return labels;
  }
  for (let first = 1;; first++) {
    const labels = runs.map((_, place) => `run ${first + place}`);
    if (areApart(labels)) return labels;
  }
}

/** Shards of one run beside each other would look like several runs of it. */
function assertWhole(runs: readonly CollectedRun[]): void {
  const seen = new Map<string, string>();
  for (const { paths: [path], results: { plan, missing } } of runs) {
    if (missing === undefined) continue;
    const before = getOrInsert(seen, planHash(plan), path!);
    if (before === path) continue;
    throw cannot(
      `report on ${before} and ${path} together`,
      "a run is one file, or one folder with all of its journals",
      "they are shards of one run: put them into a folder, and name that",
    );
  }
}

/** The runs on each set of tasks. */
function byTasks(runs: readonly CollectedRun[]): CollectedRun[][] {
  return [...Map.groupBy(runs, ({ results }) => comparisonHash(results.plan)).values()];
}

/** Models and strategies must be on all tasks, or their overall rates would not be comparable. */
function assertSameSubjects(groups: readonly (readonly CollectedRun[])[]): void {
  if (groups.length < 2) return;
  const subjects = groups.map((runs) =>
    new Set(runs.flatMap(({ results: { plan } }) => {
      const { models, strategies } = plan.resolved;
      return models.flatMap((model) =>
        strategies.map((strategy) =>
          `${printable(modelName(model))} with ${printable(strategyName(strategy))}`
        )
      );
    }))
  );
  for (const [place, present] of subjects.entries()) {
    for (const [other, others] of subjects.entries()) {
      const lacking = [...others].find((subject) => !present.has(subject));
      if (lacking === undefined) continue;
      const [here, there] = [groups[place]![0]!, groups[other]![0]!];
      throw cannot(
        `report on ${here.paths[0]} and ${there.paths[0]} together`,
        "all models and strategies must be on all tasks",
        `${lacking} is in ${there.paths[0]} only; run it on the tasks of ${
          here.paths[0]
        } too, or report on each by itself`,
      );
    }
  }
}

/** Rates of different tasks side by side would look comparable. Returns the cases that differ, if any may. */
function assertSameTasks(one: CollectedRun, other: CollectedRun): ComparedCases | undefined {
  const [names, otherNames] = [one, other].map(({ paths }) => paths[0]!);
  const [plan, otherPlan] = [one.results.plan, other.results.plan];
  if (comparisonHash(plan) === comparisonHash(otherPlan)) return undefined;
  const { cases, fields: settings } = comparedPlans(otherPlan, plan);
  if (cases !== undefined && settings.length === 0 && cases.added.length < cases.planned) {
    return cases;
  }
  const fields = differences(
    { resolved: { ...plan.resolved, models: [], strategies: [] } },
    { resolved: { ...otherPlan.resolved, models: [], strategies: [] } },
  );
  const advice = fields.includes("seed") ? "run them with the same --seed, or " : "";
  throw cannot(
    `report on ${names} and ${otherNames} together`,
    "their tasks must be the same",
    `they differ in ${
      fields.join(", ") || "their hashes"
    }; ${advice}report on them with --different-tasks`,
  );
}

/** Entries with different options under one name would look like one model or strategy. */
function assertSameNames(runs: readonly CollectedRun[]): void {
  const entries = runs.flatMap(({ paths: [path], results: { plan } }) => {
    const { models, strategies } = plan.resolved;
    const stages = strategies.flatMap((entry) => [...stageEntries(entry).values()]);
    return [
      ...[...models, ...stages].map((entry) => ({
        path,
        entry,
        kind: "model",
        name: modelName(entry),
      })),
      ...strategies.map((entry) => ({ path, entry, kind: "strategy", name: strategyName(entry) })),
    ];
  });
  const clash = firstClash(
    entries,
    ({ kind, name }) => `${kind} ${name}`,
    ({ entry }) => canonicalJson(entry),
  );
  if (clash === undefined) return;
  const [{ path, kind, name }, other] = clash;
  throw cannot(
    `report on ${path} and ${other.path} together`,
    `a name must stand for one ${kind}`,
    `the options of ${name} differ`,
  );
}

/** A trial that is in two runs would count twice. */
function assertDistinct(runs: readonly CollectedRun[]): void {
  const trials = runs.flatMap((run) =>
    run.results.trials.flatMap((trial) =>
      // Another run of a trial has its label, and began at another time.
      (run.label === undefined ? [trial.id] : [attemptKey(trial), drawKey(trial)].filter(Boolean))
        .map((key) => ({ key, id: trial.id, run }))
    )
  );
  const [one, other] = firstClash(trials, ({ key }) => key, ({ run }) => run) ?? [];
  if (one === undefined) return;
  throw cannot(
    `report on ${one.run.paths[0]} and ${other!.run.paths[0]} together`,
    "a trial must be in one of them only",
    `both have ${other!.id}`,
  );
}
