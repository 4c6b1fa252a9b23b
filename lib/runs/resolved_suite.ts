/**
 * Resolved suites: all that determines the trials of a plan, and which trials these are.
 * @module
 */

import { coreOf, isCase, isQuestion } from "../tasks/task_kind.ts";
import type { CaseParts } from "../trials/executors/tool_case.ts";
import type { Limits } from "../trials/agent/session.ts";
import { briefTask, type PlannedTrial, trialId } from "../trials/trial_id.ts";
import { type StrategyEntry, strategyName } from "../trials/strategies/entry.ts";
import type { CommandAgent } from "../trials/tap/command.ts";
import type { Variant } from "../gate/variant.ts";
import type { Cell, JudgeEntry } from "./suite.ts";
import { forkSeed } from "../base/random.ts";
import { sha256 } from "../base/hash.ts";
import { sum } from "../base/numbers.ts";
import { canonicalJson, defined } from "../base/json.ts";
import { type ModelEntry, modelName } from "../models/entry.ts";

/** All that determines the trials. */
export interface ResolvedSuite {
  /** The version of the generator of tasks. */
  readonly generator: number;
  /** The seed from which the seeds of all trials follow. */
  readonly seed: number;
  /** The number of tasks of each cell. */
  readonly graphs: number;
  /** The kinds of tasks, without seeds. */
  readonly cells: readonly Cell[];
  /** Set if cells that differ only in their irrelevant functions share their core graphs. */
  readonly pair?: "distractors";
  /** The models of the suite. */
  readonly models: readonly ModelEntry[];
  /** The program that works on the tasks, without the keys in its environment; omitted without one. */
  readonly agent?: CommandAgent;
  /** The strategies of the suite; one without options is its id. */
  readonly strategies: readonly (string | StrategyEntry)[];
  /** The ids of perturbations; `none` for none. */
  readonly perturbations: readonly string[];
  /** The number of trials of each task. */
  readonly repetitions: number;
  /** The limits of each trial. */
  readonly limits: Limits;
  /** Set if arguments may refer to results of other calls of the same reply. */
  readonly references?: true;
  /** A hash of each call set's content; omitted without any. */
  readonly sets?: Readonly<Record<string, string>>;
  /** The judge of answers; omitted without one. */
  readonly judge?: JudgeEntry;
  /** A hash of each custom case's question and assertions; omitted without any. */
  readonly cases?: Readonly<Record<string, string>>;
  /** By case, the settings that replace those of the suite; omitted without any. */
  readonly tests?: Readonly<Record<string, TestSettings>>;
  /**
   * The hashes of each custom case and of what is under test with it, by which results are compared case by case.
   * They follow from `cases`: no hash covers them.
   */
  readonly parts?: Readonly<Record<string, CaseParts>>;
  /** Settings that run side by side on the same cases, by name; omitted without any. */
  readonly variants?: Readonly<Record<string, PlannedVariant>>;
}

/** Settings that run beside others on the same cases. */
export interface PlannedVariant {
  /** The names of its models; omitted for all. */
  readonly models?: readonly string[];
  /** The names of its strategies; omitted for all. */
  readonly strategies?: readonly string[];
  /** The program that works on its trials, as in the suite; omitted without one of its own. */
  readonly agent?: CommandAgent;
  /** The hashes of what is offered with each case; omitted where that is as without variants. */
  readonly parts?: Readonly<Record<string, Omit<CaseParts, "case">>>;
}

/** What may differ between the cases of a suite without a gate; what is omitted is as in the suite. */
export interface TestSettings extends
  Partial<
    Pick<ResolvedSuite, "seed" | "graphs" | "models" | "strategies" | "perturbations" | "limits">
  > {
  /** Whether arguments may refer to results. */
  readonly references?: boolean;
}

/** The cell that the seeds of a cell are drawn for: cells that have it in common share their core graphs. */
function seededCell(cell: Cell, pair: ResolvedSuite["pair"]): Cell {
  return pair === undefined ? cell : coreOf(cell);
}

/** The number of independent units in a block: of the cells that share core graphs only one counts. */
export function unitsPerBlock({ cells, pair }: Pick<ResolvedSuite, "cells" | "pair">): number {
  return new Set(cells.map((cell) => canonicalJson(seededCell(cell, pair)))).size;
}

/** Returns the settings of a cell's trials. */
export function settingsOfCell(
  resolved: ResolvedSuite,
  cell: object,
): Omit<ResolvedSuite, "references"> & { readonly references?: boolean } {
  const { tests = {} } = resolved;
  return isCase(cell) && Object.hasOwn(tests, cell.case)
    ? { ...resolved, ...tests[cell.case] }
    : resolved;
}

/** The models and strategies of all cells, those of single cases last. */
export function allChoices(
  { models, strategies, tests = {} }: Pick<ResolvedSuite, "models" | "strategies" | "tests">,
): Pick<ResolvedSuite, "models" | "strategies"> {
  const own = Object.values(tests);
  return {
    models: distinct([...models, ...own.flatMap((test) => test.models ?? [])]),
    strategies: distinct([...strategies, ...own.flatMap((test) => test.strategies ?? [])]),
  };
}

function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}

/** The number of trials in a resolved suite. */
export function countTrials(resolved: ResolvedSuite): number {
  const count = (cells: number, own: Omit<ResolvedSuite, "references">) => {
    const { graphs, models, strategies, perturbations, repetitions } = own;
    const settings = Object.values(resolved.variants ?? { all: {} }).map((one: PlannedVariant) =>
      (one.models ?? models).length * (one.strategies ?? strategies).length
    );
    const subjects = sum(settings, (each) => each) * perturbations.length;
    return cells * graphs * repetitions * subjects;
  };
  const { cells, tests } = resolved;
  if (tests === undefined) return count(cells.length, resolved);
  return sum(cells, (cell) => count(1, settingsOfCell(resolved, cell)));
}

/** The model, strategy, perturbation and variant of the trials of each task, in plan order. */
export function subjectsOf(
  resolved: Pick<ResolvedSuite, "models" | "strategies" | "perturbations" | "variants">,
): Variant[] {
  const { models, strategies, perturbations, variants } = resolved;
  const settings: [string | undefined, PlannedVariant][] = variants === undefined
    ? [[undefined, {}]]
    : Object.entries(variants);
  return settings.flatMap(([variant, own]) =>
    (own.models ?? models.map(modelName)).flatMap((model) =>
      (own.strategies ?? strategies.map(strategyName)).flatMap((strategy) =>
        perturbations.map((perturbation) => defined({ model, strategy, perturbation, variant }))
      )
    )
  );
}

/** The trials of a resolved suite, in plan order. */
export function listTrials(resolved: ResolvedSuite): PlannedTrial[] {
  const { cells, pair, repetitions } = resolved;
  const settings = cells.map((cell) => {
    const own = settingsOfCell(resolved, cell);
    const purpose = canonicalJson(seededCell(cell, pair));
    return { ...own, cell, purpose, subjects: subjectsOf(own) };
  });
  const graphs = settings.reduce((most, own) => Math.max(most, own.graphs), 0);
  const trials: PlannedTrial[] = [];
  for (let block = 0; block < graphs; block++) {
    for (const { cell, purpose, seed, subjects, ...own } of settings) {
      if (block >= own.graphs) continue;
      const task = isQuestion(cell)
        ? briefTask(cell)
        : briefTask({ ...cell, seed: forkSeed(seed, purpose, block) });
      for (const subject of subjects) {
        for (let repetition = 1; repetition <= repetitions; repetition++) {
          // A case is the same in each block: its trials differ by number.
          const number = isCase(task) ? block + repetition : repetition;
          const key = { ...subject, task, repetition: number };
          trials.push({ ...key, id: trialId(key), index: trials.length, block });
        }
      }
    }
  }
  return trials;
}

/** A plan, as far as it determines the trials. */
interface SuitePlan {
  readonly suite: string;
  readonly resolved: ResolvedSuite;
}

/** A hash of all that determines the trials; shards of one plan share it. */
export function planHash({ suite, resolved }: SuitePlan): string {
  const { parts: _, ...rest } = resolved;
  return sha256(canonicalJson({ suite, ...rest }));
}

/** The hashes by which the results of a plan are cited. */
export interface PlanHashes {
  /** The {@linkcode planHash}. */
  readonly plan: string;
  /** The {@linkcode comparisonHash}: of its tasks, whatever models are asked. */
  readonly tasks: string;
}

/** Returns the hashes by which the results of a plan are cited. */
export function planHashes(plan: SuitePlan): PlanHashes {
  return { plan: planHash(plan), tasks: comparisonHash(plan) };
}

/** A hash of the {@linkcode comparedFields}; plans that share it have comparable results. */
export function comparisonHash(
  { resolved }: { readonly resolved: Partial<ResolvedSuite> },
): string {
  return sha256(canonicalJson(comparedFields(resolved)));
}

/**
 * What plans with comparable results have in common: all but models, agents, strategies and what follows from cases.
 */
export function comparedFields(
  { models: _, strategies: __, judge: ___, parts: ____, variants: _____, agent: ______, ...others }:
    Partial<ResolvedSuite>,
) {
  const { tests, ...rest } = others;
  return { ...rest, tests: comparedSettings(tests) };
}

/** What single cases have of their own, without models and strategies. */
function comparedSettings(tests: ResolvedSuite["tests"]): ResolvedSuite["tests"] {
  const own = Object.entries(tests ?? {}).map(([name, { models: _, strategies: __, ...rest }]) =>
    [name, rest] as const
  ).filter(([, rest]) => Object.keys(rest).length > 0);
  return own.length === 0 ? undefined : Object.fromEntries(own);
}
