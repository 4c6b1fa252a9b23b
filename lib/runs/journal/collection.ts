/**
 * Collections: the results of one or several runs that belong together, such as those of several models on
 * the same tasks.
 * @module
 */

import { cannot, InputError } from "../../base/errors.ts";
import { canonicalJson, printable } from "../../base/json.ts";
import { comparisonHash } from "../resolved_suite.ts";
import { sum } from "../../base/numbers.ts";
import { journalLines } from "./jsonl.ts";
import { readPlanLine, splitGate } from "./journal.ts";
import { suiteKey } from "./_test_files.ts";
import { differences } from "./_plan_differences.ts";
import { readResults, type Results } from "./results.ts";
import { modelName } from "../../models/entry.ts";
import { stageEntries, strategyName } from "../../trials/strategies/entry.ts";
import type { TrialSummary } from "../../trials/summary.ts";

/** Results that are reported together. */
export interface Collection {
  /** The results of each plan, with the journals of its shards. */
  readonly runs: readonly { readonly paths: readonly string[]; readonly results: Results }[];
  /** The distinct names of the suites. */
  readonly suite: string;
  /** All trials, in plan order. */
  readonly trials: readonly TrialSummary[];
  /** The number of planned trials; `undefined` if a journal does not have it. */
  readonly planned: number | undefined;
}

/** Options of {@linkcode readCollection}. */
export interface CollectionOptions {
  /** Whether tasks may differ if all models and strategies worked on all of them; default `false`. */
  readonly differentTasks?: boolean;
}

/**
 * Reads journals that belong together: shards of one plan, or plans of different models or strategies on the
 * same tasks. With `differentTasks`, also plans of different tasks, such as generated ones and cases, if all
 * models and strategies are in each of them, so that overall rates stay comparable. Missing shards and trials
 * are no error; callers must report them.
 *
 * @throws {InputError} If a file cannot be read, a line is malformed, or the journals do not belong together;
 * the message names two of them and the difference.
 */
export function readCollection(
  paths: readonly string[],
  { differentTasks = false }: CollectionOptions = {},
): Collection {
  const runs = joinTestFiles([...groupByPlan(paths).values()]).flatMap((plans): Run[] => {
    const paths = plans.flat();
    const results = readResults(paths);
    // Test files that are no run of one suite may be different tasks.
    const areApart = differentTasks && plans.length > 1 && isFaulty(results);
    return areApart
      ? plans.map((paths) => ({ paths, results: readResults(paths) }))
      : [{ paths, results }];
  });
  for (const { paths, results } of runs) {
    if (!isFaulty(results)) continue;
    const problem = printable(results.problem!, 1000);
    throw new InputError(`Cannot report on ${paths.join(" and ")}: ${problem}`);
  }
  const onSameTasks = differentTasks ? byTasks(runs) : [runs];
  for (const [first, ...others] of onSameTasks) {
    for (const other of others) assertSameTasks(first!, other);
  }
  assertSameSubjects(onSameTasks);
  assertSameNames(runs);
  assertDistinct(runs);
  return {
    runs,
    suite: [...new Set(runs.map(({ results }) => results.suite))].join(", "),
    trials: onSameTasks.flatMap((group) =>
      group.flatMap(({ results }) => results.trials)
        .toSorted((one, other) => one.index - other.index)
    ),
    planned: runs.every(({ results }) => results.plan !== undefined)
      ? sum(runs, ({ results }) => results.planned.length)
      : undefined,
  };
}

type Run = Collection["runs"][number];

/** Whether results cannot even be shown, as they may when shards are missing. */
function isFaulty({ problem, missing }: Results): boolean {
  return problem !== undefined && problem !== missing;
}

/** Puts the plans of the test files of one suite together, unless each file decided for itself when to stop. */
function joinTestFiles(plans: readonly string[][]): string[][][] {
  return [
    ...Map.groupBy(plans, ([path]) => {
      const line = readPlanLine(path!);
      return line === undefined || splitGate(line.gate).rule !== undefined
        ? path
        : suiteKey(line) ?? path;
    }).values(),
  ];
}

/** The journals of each plan; empty journals, which may be of any, count as the first plan's. */
function groupByPlan(paths: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  const empty: string[] = [];
  for (const path of paths) {
    using lines = journalLines(path);
    if (lines.next().done) {
      empty.push(path);
      continue;
    }
    const hash = readPlanLine(path)?.planHash ?? "";
    groups.getOrInsertComputed(hash, () => []).push(path);
  }
  const [first = ""] = groups.keys();
  if (empty.length > 0) groups.getOrInsertComputed(first, () => []).push(...empty);
  return groups;
}

/** The runs on each set of tasks; runs without a plan may belong to any. */
function byTasks(runs: readonly Run[]): Run[][] {
  if (runs.some(({ results }) => results.plan === undefined)) return [[...runs]];
  return [...Map.groupBy(runs, ({ results }) => comparisonHash(results.plan!)).values()];
}

/** Models and strategies must be on all tasks, or their overall rates would not be comparable. */
function assertSameSubjects(groups: readonly (readonly Run[])[]): void {
  if (groups.length < 2) return;
  const subjects = groups.map((runs) =>
    new Set(runs.flatMap(({ results: { plan } }) => {
      const { models, strategies } = plan!.resolved;
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

/** Rates of different tasks side by side would look comparable. */
function assertSameTasks(one: Run, other: Run): void {
  const [names, otherNames] = [one, other].map(({ paths }) => paths[0]!);
  const [plan, otherPlan] = [one, other].map(({ results }) => results.plan);
  if (plan === undefined || otherPlan === undefined) {
    throw new InputError(
      `Cannot report on ${names} and ${otherNames} together: only one of them has a plan`,
    );
  }
  if (comparisonHash(plan) === comparisonHash(otherPlan)) return;
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
function assertSameNames(runs: readonly Run[]): void {
  const seen = new Map<string, { readonly path: string; readonly options: string }>();
  for (const { paths, results: { plan } } of runs) {
    const { models = [], strategies = [] } = plan?.resolved ?? {};
    const entries = [
      ...[...models, ...strategies.flatMap((entry) => [...stageEntries(entry).values()])]
        .map((entry) => ["model", modelName(entry), entry] as const),
      ...strategies.map((entry) => ["strategy", strategyName(entry), entry] as const),
    ];
    for (const [kind, name, entry] of entries) {
      const [key, options, path] = [`${kind} ${name}`, canonicalJson(entry), paths[0]!];
      const before = seen.get(key) ?? { path, options };
      if (before.options !== options) {
        throw cannot(
          `report on ${before.path} and ${path} together`,
          `a name must stand for one ${kind}`,
          `the options of ${printable(name)} differ`,
        );
      }
      seen.set(key, before);
    }
  }
}

function assertDistinct(runs: readonly Run[]): void {
  const seen = new Map<string, string>();
  for (const { paths, results } of runs) {
    const ids = new Set(results.trials.map(({ id }) => id));
    for (const id of ids) {
      const before = seen.get(id);
      if (before !== undefined) {
        throw cannot(
          `report on ${before} and ${paths[0]} together`,
          "a trial must be in one of them only",
          `both have ${printable(id)}`,
        );
      }
      seen.set(id, paths[0]!);
    }
  }
}
