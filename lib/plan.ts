/**
 * Plans: what a suite comes to, trial by trial, and which part of it a machine runs.
 * @module
 */

import { InputError, reasonOf } from "./input.ts";
import { canonicalJson, sha256 } from "./json.ts";
import { isCheck, isRemoving, METAMORPHIC_CHECKS, perturbationsIn } from "./perturbations.ts";
import { type BaselineChoice, type CompletePolicy, completePolicy, isUpgrade } from "./policy.ts";
import { assertPriced, type Budget, type Prices } from "./prices.ts";
import { forkSeed, freshSeed } from "./random.ts";
import { type SequentialRule, sequentialRule } from "./sequential.ts";
import type { Limits } from "./session.ts";
import { type Cell, grid, type Suite } from "./suite.ts";
import { type ModelEntry, modelName } from "./model_entry.ts";
import { stageEntries, type StrategyEntry, strategyName } from "./strategy_entry.ts";
import { GENERATOR_VERSION } from "./task.ts";
import { assertUnperturbed, briefTask, changesTask } from "./tasks.ts";
import { type PlannedTrial, trialId } from "./trial_id.ts";

/** Which part of a plan a machine runs. */
export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly of: number;
}

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
  { source = `suite ${suite.name}`, sharded = false }: PlanOptions = {},
): Plan & { readonly skipped: number } {
  const grids = suite.tasks.map((sizes, index) => {
    try {
      return grid(sizes);
    } catch (error) {
      throw new InputError(
        `Cannot plan ${source}: at tasks[${index}]: ${reasonOf(error)}`,
      );
    }
  });
  const all = grids.flatMap(({ cells }) => cells);
  const cells = [...new Map(all.map((cell) => [canonicalJson(cell), cell])).values()];
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
  const seed = suite.seed === "fresh" ? freshSeed() : suite.seed;
  const names = models.map(modelName);
  const gate = suite.gate === undefined ? undefined : completePolicy(suite.gate);
  assertGate(source, gate, names, { ...suite, strategies, perturbations });
  assertUnperturbed(`plan ${source}`, cells, perturbations);
  const rule = gate?.sequential ? ruleOf(source, gate, cells.length) : undefined;
  const units = sharded ? rule?.fixedSize : rule?.largestSize;
  const resolved: ResolvedSuite = {
    generator: GENERATOR_VERSION,
    seed,
    graphs: units === undefined ? suite.graphs ?? 5 : Math.ceil(units / cells.length),
    cells,
    models,
    strategies,
    perturbations,
    repetitions: suite.repetitions ?? 1,
    limits: suite.limits ?? {},
  };
  const count = countTrials(resolved);
  if (count > MOST_TRIALS) {
    throw new InputError(
      `Cannot plan ${source} as it must have at most ${MOST_TRIALS} trials: it has ${count}`,
    );
  }
  if (rule !== undefined) assertChanging(source, resolved);
  return {
    suite: suite.name,
    resolved,
    trials: listTrials(resolved),
    skipped: grids.reduce((sum, { skipped }) => sum + skipped, 0),
    ...(gate === undefined ? {} : { gate }),
    ...(rule === undefined || sharded ? {} : { rule }),
    ...(suite.budget === undefined ? {} : { budget: suite.budget }),
    ...(suite.prices === undefined ? {} : { prices: suite.prices }),
  };
}

function ruleOf(source: string, gate: CompletePolicy, blockSize: number): SequentialRule {
  try {
    return sequentialRule(gate, blockSize);
  } catch (error) {
    throw new InputError(`Cannot plan ${source}: at gate: ${reasonOf(error)}`);
  }
}

/** What policies and suites ask of each other. */
function assertGate(
  source: string,
  gate: CompletePolicy | undefined,
  models: readonly string[],
  { graphs, budget, prices = {}, strategies = ["baseline"], perturbations = ["none"] }: Suite,
): void {
  if (gate?.sequential && graphs !== undefined) {
    throw new InputError(
      `Cannot plan ${source} as a sequential gate sets the number of graphs itself: ` +
        `graphs is ${graphs}; leave it out`,
    );
  }
  if (gate !== undefined) assertPerturbations(source, gate, perturbations);
  if (gate !== undefined && isUpgrade(gate)) {
    assertBaseline(source, gate.baseline, {
      model: models,
      strategy: strategies.map(strategyName),
      perturbation: perturbations,
    });
  }
  if (budget?.usd === undefined && gate?.atMost.usd === undefined) return;
  const others = strategies.flatMap((entry) => [...stageEntries(entry).values()].map(modelName));
  assertPriced([...models, ...others], prices);
}

/** What is right without what the answer needs is to give none, which no success gate can ask for. */
function assertPerturbations(
  source: string,
  { atMost }: CompletePolicy,
  perturbations: readonly string[],
): void {
  const removing = perturbations.find(isRemoving);
  if (removing !== undefined) {
    throw new InputError(
      `Cannot plan ${source} as a gate asks for tasks to be solved, and under ${removing} none can ` +
        "be: leave out the gate or the perturbation",
    );
  }
  if (atMost.flips === undefined) return;
  if (perturbations.includes("none") && perturbations.some(isCheck)) return;
  throw new InputError(
    `Cannot plan ${source} as gate.atMost.flips compares checks (${
      METAMORPHIC_CHECKS.join(", ")
    }) with none: ` +
      `perturbations are ${perturbations.join(", ")}`,
  );
}

/** A sequential gate looks at whole blocks, of which nothing can be left out. */
function assertChanging(source: string, resolved: ResolvedSuite): void {
  if (resolved.perturbations.every((id) => id === "none")) return;
  for (const { task, perturbation } of listTrials({ ...resolved, ...ONE_OF_EACH })) {
    if (changesTask(task, perturbation)) continue;
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

/** What was asked in different ways under one name would look like one model. */
function assertStageModels(
  source: string,
  models: readonly ModelEntry[],
  strategies: readonly (string | StrategyEntry)[],
): void {
  const seen = new Map(models.map((entry) => [modelName(entry), canonicalJson(entry)]));
  for (const entry of strategies.flatMap((one) => [...stageEntries(one).values()])) {
    const [name, options] = [modelName(entry), canonicalJson(entry)];
    if ((seen.get(name) ?? options) !== options) {
      throw new InputError(
        `Cannot plan ${source} as a name must stand for one model: the options of ${name} differ ` +
          "between models and the stages of strategies",
      );
    }
    seen.set(name, options);
  }
}

/**
 * A baseline of the same run must be run, and leave something else that is: a gate that compares nothing
 * would pass.
 */
function assertBaseline(
  source: string,
  { file, ...choice }: BaselineChoice,
  planned: Readonly<Record<keyof typeof choice, readonly string[]>>,
): void {
  if (file !== undefined) return;
  const chosen = Object.entries(choice) as [keyof typeof choice, string][];
  const absent = chosen.find(([field, name]) => !planned[field].includes(name));
  if (absent !== undefined) {
    const [field, name] = absent;
    const names = field === "strategy" ? "strategies" : `${field}s`;
    throw new InputError(
      `Cannot plan ${source} as gate.baseline must be one of its ${names}, or name a file: ` +
        `it is ${name}, and the ${names} are ${planned[field].join(", ")}`,
    );
  }
  if (chosen.some(([field]) => planned[field].length > 1)) return;
  throw new InputError(
    `Cannot plan ${source} as gate.baseline must leave something to compare with it: ` +
      "all trials are the baseline's",
  );
}

function assertDistinct(source: string, what: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return;
  throw new InputError(
    `Cannot plan ${source} as ${what} must have distinct names: ${twice} is there twice` +
      (what === "perturbations" ? "" : "; an entry may have a name of its own"),
  );
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
      const task = briefTask({ ...cell, seed: forkSeed(seed, canonicalJson(cell), block) });
      for (const entry of models) {
        for (const strategy of names) {
          for (const perturbation of perturbations) {
            for (let repetition = 1; repetition <= repetitions; repetition++) {
              const key = { model: modelName(entry), strategy, perturbation, task, repetition };
              trials.push({ ...key, id: trialId(key), index: trials.length, block });
            }
          }
        }
      }
    }
  }
  return trials;
}

/**
 * Reads a shard such as `2/5`.
 *
 * @throws {InputError} If it is none.
 */
export function parseShard(text: string): Shard {
  const [index, of] = (/^(\d{1,6})\/(\d{1,6})$/.exec(text)?.slice(1) ?? []).map(Number);
  if (index !== undefined && of !== undefined && index >= 1 && index <= of) return { index, of };
  throw new InputError(`Cannot use shard ${text} as it must be I/N with 1 <= I <= N, such as 2/5`);
}

/**
 * The trials of one shard. They are dealt out place by place of the blocks, so that each shard has
 * its share of every cell and of every model.
 */
export function shardOf({ trials, resolved }: Plan, { index, of }: Shard): readonly PlannedTrial[] {
  const { graphs } = resolved;
  const blockSize = trials.length / graphs;
  return trials.filter((trial) => {
    const place = trial.index % blockSize;
    return (place * graphs + trial.block) % of === index - 1;
  });
}

/** A hash of everything that decides which trials there are; shards of one plan share it. */
export function planHash({ suite, resolved }: Pick<Plan, "suite" | "resolved">): string {
  return sha256(canonicalJson({ suite, ...resolved }));
}

/** A hash of everything but models and strategies: what plans share whose results may be compared. */
export function comparisonHash({ resolved }: Pick<Plan, "resolved">): string {
  const { models: _, strategies: __, ...rest } = resolved;
  return sha256(canonicalJson(rest));
}
