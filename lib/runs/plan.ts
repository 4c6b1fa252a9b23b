/**
 * Plans: all trials of a suite, in order.
 * @module
 */

import type { CallSet } from "../tasks/questions/question_set.ts";
import { cannot, InputError, reasonOf } from "../base/errors.ts";
import { canonicalJson, defined } from "../base/json.ts";
import {
  type ModelEntry,
  modelName,
  type Sampling,
  withApiPrices,
  withSampling,
} from "../models/entry.ts";
import { perturbationsIn } from "../perturbations/ids.ts";
import { isOn } from "../perturbations/methods.ts";
import {
  assertReferences,
  ceilingTasksFault,
  distinctFault,
  everyFault,
  gateFault,
  pairFault,
  type PlanFault,
  questionsFault,
  shotsFault,
  stageModelsFault,
} from "./_plan_rules.ts";
import { type CompletePolicy, completePolicy } from "../gate/policy.ts";
import type { Model } from "../models/model.ts";
import type { Budget, Prices } from "../models/prices.ts";
import { isGenerated, isQuestion, type TaskSpec } from "../tasks/task_kind.ts";
import { freshSeed } from "../base/random.ts";
import { type SequentialRule, sequentialRule } from "../gate/sequential.ts";
import {
  stageEntries,
  strategyChoice,
  type StrategyEntry,
  strategyName,
} from "../trials/strategies/entry.ts";
import { assertExamples } from "../trials/strategies/registry.ts";
import {
  allChoices,
  countTrials,
  listTrials,
  type ResolvedSuite,
  unitsPerBlock,
} from "./resolved_suite.ts";
import { type Cell, grid, judgeEntry, type Suite } from "./suite.ts";
import { GENERATOR_VERSION } from "../tasks/graphs/task.ts";
import {
  assertUnperturbed,
  changesTask,
  obstacleOf,
  type TaskOpener,
} from "../trials/executors/tasks.ts";
import { withoutSecrets } from "../trials/tap/command.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/** A suite with every choice made, as data: what the first line of a journal has. */
export interface PlanData {
  /** The suite's name. */
  readonly suite: string;
  /** The gate, if there is one. */
  readonly gate?: CompletePolicy | undefined;
  /**
   * The stopping rule of a sequential gate: the stakes of its bets (`lambda`), the errors of passing (`alpha`) and of
   * failing (`beta`), and the graphs between two looks, of a fixed gate, and at most.
   */
  readonly rule?: SequentialRule | undefined;
  /** The budget. */
  readonly budget?: Budget | undefined;
  /** The prices of models. */
  readonly prices?: Prices | undefined;
  /** The server of models that name none; omitted for OpenAI's. It does not affect the trials. */
  readonly baseURL?: string | undefined;
  /** The paths of its call sets, by name. They do not affect the trials. */
  readonly places?: Readonly<Record<string, string>> | undefined;
  /** Set if only the test's own file can run a trial again, as it has the model, server or agent. */
  readonly ownCode?: true | undefined;
  /**
   * By path from the test file, a hash of the text of each file of the test, which resuming compares; omitted where
   * these cannot be read.
   */
  readonly sources?: Readonly<Record<string, string>> | undefined;
  /** The path of the test file, from the folder of the run; omitted where that is not above it. */
  readonly file?: string | undefined;
  /** The baseline file that is written once the gate passes, as there was none when the run began. */
  readonly records?: string | undefined;
  /** Set if recorded conversations replace models (`--traces`): nothing can resume the run. */
  readonly traces?: true | undefined;
  /** The tests of the suite that are not in the plan; omitted if there are none. */
  readonly leftOut?: LeftOut | undefined;
  /** All that determines the trials. */
  readonly resolved: ResolvedSuite;
}

/** A plan with its trials, and what opens their tasks. */
export interface Plan extends PlanData {
  /** The trials, block by block: each block has one graph of every cell, or one core graph in all of its cells. */
  readonly trials: readonly PlannedTrial[];
  /** The call sets of its questions; omitted without any. */
  readonly callSets?: readonly CallSet[];
  /** Opens its tasks; omitted if their specs suffice. */
  readonly open?: TaskOpener;
  /** See {@linkcode TaskSource.isAlone}. */
  readonly isAlone?: TaskSource["isAlone"];
  /** See {@linkcode TaskSource.userOf}. */
  readonly userOf?: TaskSource["userOf"];
  /** Impossible crossings that were left out. */
  readonly skipped?: number;
}

/** The names of tests of a suite that are not in its plan. */
export interface LeftOut {
  /** The names of skipped tests. */
  readonly skipped?: readonly string[];
  /** The names of tests that cannot be used: without them nothing is decided. */
  readonly refused?: readonly string[];
}

/** A source of tasks that cannot be made from their specs alone. */
export interface TaskSource
  extends Pick<ResolvedSuite, "cases" | "tests" | "parts" | "variants">, Pick<PlanData, "leftOut"> {
  /** The cells of the suite's entries; random choices are drawn from the seed. */
  readonly cells: (seed: number) => readonly Cell[];
  /** Opens these and all other tasks. */
  readonly open: TaskOpener;
  /** Whether a trial of a case must not run beside others for which this holds; default: none. */
  readonly isAlone?: (task: TaskSpec) => boolean;
  /** Whether a case follows from the seed of its trial, as chains and simulated users do; default false. */
  readonly isDrawn?: boolean;
  /** The names of the models that play users; default none. */
  readonly users?: readonly string[];
  /** Returns what plays the user of a case under a variant; omitted or `undefined` where no model does. */
  readonly userOf?: (
    task: TaskSpec,
    variant: string | undefined,
  ) => string | ModelEntry | Model | undefined;
  /** The call sets and their paths, by name. */
  readonly sets?: ReadonlyMap<string, { readonly set: CallSet; readonly path: string }>;
}

/** Options of {@linkcode planSuite}. */
export interface PlanOptions {
  /** The name of the suite in errors. */
  readonly source?: string;
  /**
   * Whether the suite runs in shards without waves, none of which sees enough to stop: a sequential gate then plans
   * the fixed size and decides by the fixed rule.
   */
  readonly sharded?: boolean;
  /** The source of tasks that cannot be made from their specs alone; default none. */
  readonly tasks?: TaskSource;
}

/** Trials of a journal or a baseline, at most. */
export const MAX_TRIALS = 1_000_000;
/** Trials of a new plan, at most: listing more would take a minute before the first begins, and gigabytes. */
export const MAX_PLANNED = 300_000;

/**
 * Makes every choice that `suite` leaves open and lists its trials. Each graph of each cell gets its own
 * seed, so that graphs are independent, as gates assume; models, strategies and perturbations share graphs.
 * With `pair`, cells that differ only in their irrelevant functions have the seeds of the cell without any, and
 * hence share core graphs, which are then the independent units. `skipped` counts the impossible crossings.
 *
 * @throws {InputError} If the suite is not usable; the message names `source`, path and rule.
 */
export function planSuite(
  suite: Suite,
  { source = `suite ${suite.name}`, sharded = false, tasks }: PlanOptions = {},
): Plan {
  // It is 0 where it decides nothing.
  const drawn = () => usesSeed(suite, tasks) ? freshSeed() : 0;
  const seed = suite.seed === "fresh" ? drawn() : suite.seed;
  const grids = suite.tasks.map((sizes, index) => {
    // The source of tasks adds the cells of call sets.
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
  const refuse = (fault: PlanFault | undefined) => {
    if (fault !== undefined) throw cannot(`plan ${source}`, ...fault);
  };
  refuse(questionsFault(suite, cells));
  const { sampling } = suite;
  const models = suite.models.map((entry) =>
    withSampling(typeof entry === "string" ? { model: entry } : entry, sampling)
  );
  refuse(distinctFault("models", models.map(modelName)));
  const strategies = (suite.strategies ?? ["plain"])
    .map((entry) => sampledStrategy(briefStrategy(entry), sampling));
  refuse(distinctFault("strategies", strategies.map(strategyName)));
  refuse(stageModelsFault(models, strategies));
  if (!cells.every((cell) => isGenerated(cell) || isQuestion(cell))) {
    for (const entry of strategies) assertExamples(`plan ${source}`, strategyChoice(entry));
  }
  refuse(shotsFault(strategies, cells.filter(isQuestion), tasks?.sets));
  const perturbations = suite.perturbations?.length ? suite.perturbations : ["none"];
  const canonical = perturbations.map((id) => perturbationsIn(id).join("+") || id);
  refuse(distinctFault("perturbations", canonical));
  const names = models.map(modelName);
  const gate = suite.gate === undefined ? undefined : completePolicy(suite.gate);
  const judge = suite.judge === undefined ? undefined : judgeEntry(suite.judge);
  const choices = allChoices({ models, strategies, tests: tasks?.tests });
  const prices = suite.prices && pricesFor(suite.prices, { ...choices, judge });
  const variants = Object.keys(tasks?.variants ?? {});
  refuse(gateFault(gate, names, {
    ...{ ...suite, prices, strategies, perturbations, variants },
    users: tasks?.users,
  }));
  const pair = suite.pair === "none" ? undefined : suite.pair;
  if (pair !== undefined) refuse(pairFault(cells, gate));
  if (suite.references) assertReferences(`plan ${source}`, strategies, cells);
  assertUnperturbed(`plan ${source}`, cells, perturbations);
  const blockSize = unitsPerBlock({ pair, cells });
  const rule = gate?.sequential ? planRule(source, gate, blockSize) : undefined;
  const units = sharded ? rule?.fixedSize : rule?.largestSize;
  const resolved: ResolvedSuite = defined({
    generator: GENERATOR_VERSION,
    seed,
    graphs: units === undefined
      ? suite.graphs ?? (cells.some(isQuestion) ? 1 : 5)
      : Math.ceil(units / blockSize),
    cells,
    pair,
    models,
    agent: suite.agent && withoutSecrets(suite.agent),
    strategies,
    perturbations,
    repetitions: suite.repetitions ?? 1,
    limits: suite.limits ?? {},
    references: suite.references ? true as const : undefined,
    sets: tasks?.sets && fromSets(tasks.sets, ({ set }) => set.hash),
    judge,
    cases: tasks?.cases,
    tests: tasks?.tests,
    parts: tasks?.parts,
    variants: tasks?.variants,
  });
  refuse(everyFault(gate, resolved));
  refuse(ceilingTasksFault(gate, resolved));
  const count = countTrials(resolved);
  if (count > MAX_PLANNED) {
    refuse([`it must have at most ${MAX_PLANNED} trials`, `it has ${count}`]);
  }
  if (rule !== undefined) refuse(idleFault(resolved, tasks?.open));
  if (gate !== undefined) refuse(obstacleFault(resolved, tasks?.open));
  return defined({
    suite: suite.name,
    resolved,
    trials: listTrials(resolved),
    skipped: grids.reduce((sum, { skipped }) => sum + skipped, 0),
    gate,
    rule: sharded ? undefined : rule,
    budget: suite.budget,
    prices,
    open: tasks?.open,
    isAlone: tasks?.isAlone,
    userOf: tasks?.userOf,
    leftOut: tasks?.leftOut,
    places: tasks?.sets && fromSets(tasks.sets, ({ path }) => path),
    callSets: tasks?.sets && Array.from(tasks.sets.values(), ({ set }) => set),
  });
}

/**
 * Whether the seed decides anything: unsampled questions need no random choices, nor do cases of the user's own without
 * perturbations, chains and simulated users.
 */
export function usesSeed({ tasks, perturbations = [] }: Suite, source?: TaskSource): boolean {
  return tasks.length === 0
    ? source?.isDrawn === true || perturbations.some((id) => id !== "none")
    : tasks.some((entry) => !("set" in entry) || entry.sample !== undefined);
}

/** The prices of all models in a suite; a model costs the same through each API. */
export function pricesFor(
  prices: Prices,
  { models, strategies, judge }: Pick<ResolvedSuite, "models" | "strategies" | "judge">,
): Prices {
  const stages = strategies.flatMap((entry) => [...stageEntries(entry).values()]);
  return withApiPrices(prices, [...models, ...stages, ...judge === undefined ? [] : [judge]]);
}

function fromSets(
  sets: NonNullable<TaskSource["sets"]>,
  fieldOf: (set: { readonly set: CallSet; readonly path: string }) => string,
): Record<string, string> {
  return Object.fromEntries([...sets].map(([name, set]) => [name, fieldOf(set)]));
}

function planRule(source: string, gate: CompletePolicy, blockSize: number): SequentialRule {
  try {
    return sequentialRule(gate, blockSize);
  } catch (error) {
    throw new InputError(`Cannot plan ${source}: at gate: ${reasonOf(error)}`);
  }
}

/** A sequential gate looks at whole blocks, from which no trial may be missing. */
function idleFault(resolved: ResolvedSuite, open?: TaskOpener): PlanFault | undefined {
  if (resolved.perturbations.every((id) => id === "none")) return undefined;
  for (const { task, perturbation, variant } of listTrials({ ...resolved, ...ONE_OF_EACH })) {
    if (changesTask(task, perturbation, open, variant)) continue;
    return [
      "a sequential gate needs perturbations that change every task",
      `${perturbation} finds nothing to change in ${JSON.stringify(task)}`,
    ];
  }
}

/** Tasks that a plan looks at, at most: its verdict finds what no plan did. */
const MAX_LOOKED_AT = 500;

/** A gate asks for tasks to be solved, so that perturbations of documents must leave them an answer. */
function obstacleFault(resolved: ResolvedSuite, open?: TaskOpener): PlanFault | undefined {
  const cells = resolved.cells.filter((cell) => isGenerated(cell));
  const perturbations = resolved.perturbations.filter((id) =>
    perturbationsIn(id).some((part) => isOn(part, "document"))
  );
  const few = { ...resolved, ...ONE_OF_EACH, cells, perturbations };
  if (countTrials(few) === 0) return undefined;
  const graphs = Math.ceil(MAX_LOOKED_AT / (cells.length * perturbations.length));
  const trials = listTrials({ ...few, graphs: Math.min(few.graphs, graphs) });
  const found = trials.slice(0, MAX_LOOKED_AT)
    .find(({ task, perturbation }) => obstacleOf(task, perturbation, open) !== undefined);
  return found && [
    `a gate asks for tasks to be solved, and under ${found.perturbation} not all can be, as descriptions ` +
    "alone link parameters",
    'set cues: "names" for the tasks, or leave out the gate or the perturbation',
  ];
}

/** Neither a task nor its perturbation depends on these. */
const ONE_OF_EACH = { models: [{ model: "" }], strategies: ["plain"], repetitions: 1 };

/** A strategy without options is shortened to its name. */
function briefStrategy(entry: string | StrategyEntry): string | StrategyEntry {
  if (typeof entry === "string") return entry;
  return Object.keys(defined(entry)).length === 1 ? entry.strategy : entry;
}

/** A strategy whose stages sample as the suite says. */
function sampledStrategy(
  entry: string | StrategyEntry,
  sampling: Sampling | undefined,
): string | StrategyEntry {
  if (typeof entry === "string" || sampling === undefined) return entry;
  const stages = [...stageEntries(entry)].map(([stage, model]) =>
    [stage, withSampling(model, sampling)] as const
  );
  return stages.length === 0 ? entry : { ...entry, models: Object.fromEntries(stages) };
}
