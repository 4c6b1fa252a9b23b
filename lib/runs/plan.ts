/**
 * Plans: what a suite comes to, trial by trial.
 * @module
 */

import type { CallSet } from "../tasks/questions/question_set.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { canonicalJson } from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { type ModelEntry, modelName, withApiPrices } from "../models/entry.ts";
import { perturbationsIn } from "../perturbations/ids.ts";
import {
  assertDistinct,
  assertGate,
  assertQuestions,
  assertReferences,
  assertStageModels,
  judgeEntry,
} from "./plan_rules.ts";
import { type CompletePolicy, completePolicy } from "../gate/policy.ts";
import type { Budget, Prices } from "../models/prices.ts";
import { isCase, isQuestion } from "../trials/executors/task_kind.ts";
import { forkSeed, freshSeed } from "../base/random.ts";
import { type SequentialRule, sequentialRule } from "../gate/sequential.ts";
import type { Limits } from "../trials/agent/session.ts";
import { stageEntries, type StrategyEntry, strategyName } from "../trials/strategies/entry.ts";
import { type Cell, grid, type JudgeEntry, type Suite } from "./suite.ts";
import { GENERATOR_VERSION } from "../tasks/generated/task.ts";
import {
  assertUnperturbed,
  briefTask,
  changesTask,
  type TaskOpener,
} from "../trials/executors/tasks.ts";
import { type PlannedTrial, trialId } from "../trials/trial_id.ts";

/** Everything that decides which trials there are. */
export interface ResolvedSuite {
  readonly generator: number;
  readonly seed: number;
  readonly graphs: number;
  readonly cells: readonly Cell[];
  readonly models: readonly ModelEntry[];
  readonly strategies: readonly (string | StrategyEntry)[];
  readonly perturbations: readonly string[];
  readonly repetitions: number;
  readonly limits: Limits;
  /** Set where arguments may refer to what other calls of the same reply return. */
  readonly references?: true;
  /** The content of each call set, as a hash; left out without any. */
  readonly sets?: Readonly<Record<string, string>>;
  /** Who judges answers; left out where nobody does. */
  readonly judge?: JudgeEntry;
  /** What each case of the user's own asks and asserts, as a hash; left out without any. */
  readonly cases?: Readonly<Record<string, string>>;
}

/** A suite with every choice made: which trials there are, in which order. */
export interface Plan {
  /** The suite's name. */
  readonly suite: string;
  /** What decides the trials. */
  readonly resolved: ResolvedSuite;
  /** The trials, block by block: each block has one graph of every cell. */
  readonly trials: readonly PlannedTrial[];
  /** The gate, if there is one. */
  readonly gate?: CompletePolicy;
  /** The rule by which a sequential gate stops. */
  readonly rule?: SequentialRule;
  /** What may be spent. */
  readonly budget?: Budget;
  /** What models cost. */
  readonly prices?: Prices;
  /** The server of models that name none; left out for OpenAI's. It decides no trial. */
  readonly baseURL?: string;
  /** Set where a model, its server or the agent is in the benchmark's own file, and no name finds it. */
  readonly ownCode?: true;
  /** Where its call sets lie, by name. It decides no trial. */
  readonly places?: Readonly<Record<string, string>>;
  /** The call sets that its questions are of; left out without any. */
  readonly callSets?: readonly CallSet[];
  /** Opens its tasks; left out where all of them can be made from what they are. */
  readonly open?: TaskOpener;
}

/** Where tasks come from that cannot be made from what they are alone. */
export interface TaskSource {
  /** The cells that entries of a suite's tasks come to; the seed draws what is to be drawn. */
  readonly cells: (seed: number) => readonly Cell[];
  /** Opens them, and all others. */
  readonly open: TaskOpener;
  /** What each case asks and asserts, as a hash. */
  readonly cases?: Readonly<Record<string, string>>;
  /** The call sets, by name, and where each lies. */
  readonly sets?: ReadonlyMap<string, { readonly set: CallSet; readonly path: string }>;
}

/** Options of {@linkcode planSuite}. */
export interface PlanOptions {
  /** What errors call the suite. */
  readonly source?: string;
  /**
   * Whether it is run in shards, none of which sees enough to stop: a sequential gate then plans the
   * fixed size and decides by its rule.
   */
  readonly sharded?: boolean;
  /** Where tasks come from that cannot be made from what they are alone; default there are none. */
  readonly tasks?: TaskSource;
}

/** The most trials of a plan. */
export const MOST_TRIALS = 1_000_000;

/**
 * Makes every choice that `suite` leaves open and lists its trials. Each graph of each cell gets a
 * seed of its own, so that graphs are independent, as gates assume; models, strategies and perturbations share graphs. How many
 * impossible crossings were `skipped` is told beside the plan.
 *
 * @throws {InputError} If the suite is not usable; the message names `source`, path and rule.
 */
export function planSuite(
  suite: Suite,
  { source = `suite ${suite.name}`, sharded = false, tasks }: PlanOptions = {},
): Plan & { readonly skipped: number } {
  const seed = seedOf(suite);
  const grids = suite.tasks.map((sizes, index) => {
    // Whoever loads call sets tells what they come to.
    if ("set" in sizes) return { cells: [], skipped: 0 };
    try {
      return grid(sizes);
    } catch (error) {
      throw new InputError(
        `Cannot plan ${source}: at tasks[${index}]: ${reasonOf(error)}`,
      );
    }
  });
  const all = [...grids.flatMap(({ cells }) => cells), ...tasks?.cells(seed) ?? []];
  const cells = [...new Map(all.map((cell) => [canonicalJson(cell), cell])).values()];
  assertQuestions(source, suite, cells);
  const models = suite.models.map((entry) => typeof entry === "string" ? { model: entry } : entry);
  assertDistinct(source, "models", models.map(modelName));
  const strategies = (suite.strategies ?? ["baseline"]).map(brief);
  assertDistinct(source, "strategies", strategies.map(strategyName));
  assertStageModels(source, models, strategies);
  const perturbations = suite.perturbations?.length ? suite.perturbations : ["none"];
  assertDistinct(
    source,
    "perturbations",
    perturbations.map((id) => perturbationsIn(id).join("+") || id),
  );
  const names = models.map(modelName);
  const gate = suite.gate === undefined ? undefined : completePolicy(suite.gate);
  const judge = suite.judge === undefined ? {} : { judge: judgeEntry(suite.judge) };
  const prices = suite.prices === undefined
    ? {}
    : { prices: pricesFor(suite.prices, { models, strategies, ...judge }) };
  assertGate(source, gate, names, { ...suite, ...prices, strategies, perturbations });
  if (suite.references) assertReferences(`plan ${source}`, strategies, cells);
  assertUnperturbed(`plan ${source}`, cells, perturbations);
  const rule = gate?.sequential ? ruleOf(source, gate, cells.length) : undefined;
  const units = sharded ? rule?.fixedSize : rule?.largestSize;
  const resolved: ResolvedSuite = {
    generator: GENERATOR_VERSION,
    seed,
    graphs: units === undefined
      ? suite.graphs ?? (cells.some(isQuestion) ? 1 : 5)
      : Math.ceil(units / cells.length),
    cells,
    models,
    strategies,
    perturbations,
    repetitions: suite.repetitions ?? 1,
    limits: suite.limits ?? {},
    ...(suite.references ? { references: true as const } : {}),
    ...(tasks?.sets === undefined ? {} : { sets: fromSets(tasks.sets, ({ set }) => set.hash) }),
    ...judge,
    ...(tasks?.cases === undefined ? {} : { cases: tasks.cases }),
  };
  const count = countTrials(resolved);
  if (count > MOST_TRIALS) {
    throw new InputError(
      `Cannot plan ${source} as it must have at most ${MOST_TRIALS} trials: it has ${count}`,
    );
  }
  if (rule !== undefined) assertChanging(source, resolved, tasks?.open);
  return {
    suite: suite.name,
    resolved,
    trials: listTrials(resolved),
    skipped: grids.reduce((sum, { skipped }) => sum + skipped, 0),
    ...(gate === undefined ? {} : { gate }),
    ...(rule === undefined || sharded ? {} : { rule }),
    ...(suite.budget === undefined ? {} : { budget: suite.budget }),
    ...prices,
    ...(tasks === undefined ? {} : { open: tasks.open }),
    ...(tasks?.sets === undefined ? {} : {
      places: fromSets(tasks.sets, ({ path }) => path),
      callSets: [...tasks.sets.values()].map(({ set }) => set),
    }),
  };
}

/** The seed that draws whatever is drawn: questions stand as they are, unless only some of them are asked. */
function seedOf({ seed, tasks }: Suite): number {
  if (seed !== "fresh") return seed;
  const drawsNothing = tasks.length > 0 &&
    tasks.every((entry) => "set" in entry && entry.sample === undefined);
  return drawsNothing ? 0 : freshSeed();
}

/** The models that a strategy asks at stages. */
function stagesOf(entry: string | StrategyEntry): ModelEntry[] {
  return [...stageEntries(entry).values()];
}

/** The prices, for all models that a suite asks; a model costs the same however it is spoken to. */
export function pricesFor(
  prices: Prices,
  { models, strategies, judge }: Pick<ResolvedSuite, "models" | "strategies" | "judge">,
): Prices {
  const judges = judge === undefined ? [] : [judge];
  return withApiPrices(prices, [...models, ...strategies.flatMap(stagesOf), ...judges]);
}

function fromSets(
  sets: NonNullable<TaskSource["sets"]>,
  fieldOf: (set: { readonly set: CallSet; readonly path: string }) => string,
): Record<string, string> {
  return Object.fromEntries([...sets].map(([name, set]) => [name, fieldOf(set)]));
}

function ruleOf(source: string, gate: CompletePolicy, blockSize: number): SequentialRule {
  try {
    return sequentialRule(gate, blockSize);
  } catch (error) {
    throw new InputError(`Cannot plan ${source}: at gate: ${reasonOf(error)}`);
  }
}

/** A sequential gate looks at whole blocks, of which nothing can be left out. */
function assertChanging(source: string, resolved: ResolvedSuite, open?: TaskOpener): void {
  if (resolved.perturbations.every((id) => id === "none")) return;
  for (const { task, perturbation } of listTrials({ ...resolved, ...ONE_OF_EACH })) {
    if (changesTask(task, perturbation, open)) continue;
    throw new InputError(
      `Cannot plan ${source} as a sequential gate needs perturbations that change every task: ` +
        `${perturbation} finds nothing to change in ${JSON.stringify(task)}`,
    );
  }
}

/** What a task is, and whether a perturbation changes it, hangs on none of these. */
const ONE_OF_EACH = { models: [{ model: "" }], strategies: ["baseline"], repetitions: 1 };

/** A strategy of which nothing is set is its name. */
function brief(entry: string | StrategyEntry): string | StrategyEntry {
  if (typeof entry === "string") return entry;
  return Object.keys(entry).length === 1 ? entry.strategy : entry;
}

/** How many trials a resolved suite comes to. */
export function countTrials(resolved: ResolvedSuite): number {
  const { cells, graphs, models, strategies, perturbations, repetitions } = resolved;
  const lists = [cells, models, strategies, perturbations];
  return lists.reduce((product, { length }) => product * length, graphs * repetitions);
}

/** The trials that a resolved suite comes to, in plan order. */
export function listTrials(resolved: ResolvedSuite): PlannedTrial[] {
  const { seed, graphs, cells, models, strategies, perturbations, repetitions } = resolved;
  const names = strategies.map(strategyName);
  const trials: PlannedTrial[] = [];
  for (let block = 0; block < graphs; block++) {
    for (const cell of cells) {
      const task = isQuestion(cell)
        ? briefTask(cell)
        : briefTask({ ...cell, seed: forkSeed(seed, canonicalJson(cell), block) });
      for (const entry of models) {
        for (const strategy of names) {
          for (const perturbation of perturbations) {
            for (let repetition = 1; repetition <= repetitions; repetition++) {
              // A case of one's own is the same in each block: its trials are told apart by number.
              const number = isCase(task) ? block + repetition : repetition;
              const key = {
                ...{ model: modelName(entry), strategy, perturbation, task },
                repetition: number,
              };
              trials.push({ ...key, id: trialId(key), index: trials.length, block });
            }
          }
        }
      }
    }
  }
  return trials;
}

/** A hash of everything that decides which trials there are; shards of one plan share it. */
export function planHash({ suite, resolved }: Pick<Plan, "suite" | "resolved">): string {
  return sha256(canonicalJson({ suite, ...resolved }));
}

/** A hash of everything but models and strategies: what plans share whose results may be compared. */
export function comparisonHash({ resolved }: Pick<Plan, "resolved">): string {
  const { models: _, strategies: __, judge: ___, ...rest } = resolved;
  return sha256(canonicalJson(rest));
}
