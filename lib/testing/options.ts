/**
 * Benchmark options: what users hand to `benchmark()`, checked, and the plan that comes of it.
 * @module
 */

import type { Baseline } from "../runs/baseline.ts";
import { type Connections, identityOf } from "../models/connect.ts";
import type { Flags } from "./flags.ts";
import { parseWith } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import type { Model } from "../models/model.ts";
import { type Plan, planSuite, type TaskSource } from "../runs/plan.ts";
import type { GatePolicy } from "../gate/policy.ts";
import type { Budget, Prices } from "../models/prices.ts";
import {
  assertRecordable,
  type RecordingOptions,
  recordingOptions,
} from "../models/recordings/recordings.ts";
import { seedToResume } from "../runs/run.ts";
import type { Limits } from "../trials/agent/session.ts";
import {
  CASE_SUITE,
  type Cells,
  type Grid,
  type JudgeEntry,
  type ProbeSet,
  type QuestionSet,
  SUITE,
  type Suite,
} from "../runs/suite.ts";
import { questionSource } from "../runs/question_tasks.ts";
import { MODEL, type ModelEntry } from "../models/entry.ts";
import { type StrategyEntry, strategyId } from "../trials/strategies/entry.ts";
import {
  type Agent,
  assertAgentCalls,
  assertAgentStrategies,
  assertAgentTasks,
} from "../trials/trial.ts";
import { valueText } from "../calls/values/text.ts";

/** Options of `benchmark()`. */
export interface BenchmarkOptions {
  /** The model or models: a name such as `sim:planner` or `gpt-5`, an entry with options, a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The sizes of the tasks, which probes they are, or of which call sets. */
  readonly tasks: TaskChoice | readonly TaskChoice[];
  /** Seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** Graphs a cell; default 5. A sequential gate sets it itself. */
  readonly graphs?: number;
  /** The strategies that each model works with, by id or with what is set of them; default `baseline`. */
  readonly strategies?: readonly (string | BenchmarkStrategy)[];
  /** What is done to what each model gets to see, such as `RD` or `RP_F+CF`; default `none`. */
  readonly perturbations?: readonly string[];
  /** Trials of each graph; default 1. */
  readonly repetitions?: number;
  /** What a trial may take. */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to what other calls of the same reply return, such as `$1.field` for call 1
   * or `$call_id.field`; default `false`. Calls are then carried out in the order of their references.
   */
  readonly references?: boolean;
  /**
   * The gate: against a success rate, or against a baseline on the very same graphs. With it only the
   * gate's own test can fail; without it each unsolved case fails.
   */
  readonly gate?: GatePolicy;
  /** A model that is asked how alike answers and truth are, of call sets. */
  readonly judge?: ModelChoice | JudgeEntry;
  /** What the run may spend: when it is reached, nothing more is begun. */
  readonly budget?: Budget;
  /** What models cost, in US dollars a million tokens; needed for budgets and ceilings in dollars. */
  readonly prices?: Prices;
  /** Trials that run at the same time; default 8. */
  readonly concurrency?: number;
  /** Further attempts of a failed request; default 3. */
  readonly retries?: number;
  /** Milliseconds that one attempt of a request may take; default 600,000. */
  readonly requestTimeout?: number;
  /** Requests to each model that may begin within any 60 seconds; default unlimited. */
  readonly requestsPerMinute?: number;
  /** Tokens that each model may read and write within any 60 seconds; default unlimited. */
  readonly tokensPerMinute?: number;
  /** The server of models that name none; default OpenAI's. */
  readonly baseURL?: string;
  /** A file to which finished trials are appended. */
  readonly journal?: string;
  /** Where what models say is recorded, or replayed from: then no key and no network is needed. */
  readonly recordings?: RecordingOptions;
  /** An HTML file to which the report is written when the run is over; its folder is made if needed. */
  readonly report?: string;
  /**
   * Works on the tasks instead of the agent loop, with the strategy `baseline` alone; `model` then
   * only names it.
   */
  readonly agent?: Agent;
}

/** The sizes of tasks, probes, or questions of a call set. */
export type TaskChoice = Grid | Cells | ProbeSet | QuestionSet;

/** A strategy with what is set of it; its stages may ask models of one's own. */
export interface BenchmarkStrategy extends Omit<StrategyEntry, "models"> {
  /** Models that are asked in place of the trial's, by stage. */
  readonly models?: Readonly<Record<string, ModelChoice>>;
}

/** A model, or how to get one. */
export type ModelChoice = string | ModelEntry | Model;

/** A model of one's own goes by its name wherever a suite is concerned. */
function named(choice: ModelChoice): string | ModelEntry {
  return typeof choice === "object" && "reply" in choice ? choice.name : choice;
}

/** All models of a benchmark, those of stages too. */
export function modelChoices({ model, judge, strategies = [] }: BenchmarkOptions): ModelChoice[] {
  const stages = strategies.flatMap((entry) =>
    typeof entry === "string" ? [] : Object.values(entry.models ?? {})
  );
  const judges = judge === undefined ? [] : [judge];
  return [...[model].flat() as readonly ModelChoice[], ...stages, ...judges];
}

/** Who judges answers, as a suite has it. */
function judgeName(judge: ModelChoice | JudgeEntry): string | JudgeEntry {
  return typeof judge === "object" && "reply" in judge ? judge.name : judge;
}

const OPTION_NAMES: readonly (keyof BenchmarkOptions)[] = [
  "model",
  "tasks",
  "seed",
  "graphs",
  "strategies",
  "perturbations",
  "repetitions",
  "limits",
  "references",
  "judge",
  "gate",
  "budget",
  "prices",
  "concurrency",
  "retries",
  "requestTimeout",
  "requestsPerMinute",
  "tokensPerMinute",
  "baseURL",
  "journal",
  "recordings",
  "report",
  "agent",
];

/**
 * Flags that would do nothing, or lose what was paid for, are errors; `subject` is what errors call what
 * is run.
 */
export function assertFlags(
  subject: string,
  flags: Flags,
  journal: string | undefined,
  gated: boolean,
): void {
  const fault = flags.resume && journal === undefined
    ? "--resume needs --out=FILE"
    : flags.retryInvalid && !flags.resume
    ? "--retry-invalid needs --resume"
    : flags.verdict !== undefined &&
        (!gated || flags.shard !== undefined || flags.only !== undefined)
    ? "--verdict needs a gate that decides, over all trials"
    : flags.report !== undefined && flags.only !== undefined
    ? "--report needs more than the one trial of --only"
    : flags.shard !== undefined && gated && journal === undefined
    ? "--shard needs --out=FILE, as its gate is decided over the journals of all shards"
    : undefined;
  if (fault !== undefined) throw new InputError(`Cannot run ${subject}: ${fault}`);
}

/** What options there are, and what they are called elsewhere. */
export interface OptionWords {
  /** The names of the options. */
  readonly names: readonly string[];
  /** By the names elsewhere, what they are called here. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

const OPTION_WORDS: OptionWords = {
  names: OPTION_NAMES,
  elsewhere: new Map([
    ["models", "model, which takes one or a list"],
    ["strategy", "strategies, which takes a list"],
    ["perturbation", "perturbations, which takes a list"],
  ]),
};

/** What the rules of suites do not say. */
export function assertOptions(
  subject: string,
  options: { readonly concurrency?: number },
  words: OptionWords = OPTION_WORDS,
): void {
  const { concurrency, ...others } = options;
  const unknown = Object.keys(others).find((option) => !words.names.includes(option));
  if (unknown !== undefined) {
    throw new InputError(
      `Cannot use ${subject} as there is no option ${printable(unknown, 100)}: ` +
        adviceOn(unknown, options, words),
    );
  }
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw new InputError(
      `Cannot use ${subject} as concurrency must be a whole number from 1 on: ` +
        `it is ${concurrency}`,
    );
  }
}

/** What to do in place of an option that there is not. */
function adviceOn(
  unknown: string,
  options: Readonly<Partial<Record<string, unknown>>>,
  { names, elsewhere }: OptionWords,
): string {
  const here = elsewhere.get(unknown);
  if (here !== undefined) return `here it is called ${here}`;
  // A name may be meant for what is run.
  if (unknown === "name" || !Object.hasOwn(MODEL.shape, unknown)) {
    return `there are ${names.join(", ")}`;
  }
  const { model } = options;
  const shown = typeof model === "string" ? valueText(model, 100) : "...";
  const value = valueText(options[unknown], 100);
  return `it belongs to the model, as in model: { model: ${shown}, ${unknown}: ${value} }`;
}

/** What a plan is made of beside the options. */
export interface PlanInputs {
  /** The name of the benchmark, and what errors call it. */
  readonly name: string;
  readonly subject: string;
  readonly flags: Flags;
  /** The file that is continued, if it is to be. */
  readonly journal: string | undefined;
  /** What a gate compares with. */
  readonly baseline: Baseline | undefined;
  /** Where tasks come from that no option names. */
  readonly source?: TaskSource;
}

/** The plan of a benchmark; a fresh seed and what is left out are told. */
export function planBenchmark(
  options: BenchmarkOptions,
  { name, subject, flags, journal, baseline, source }: PlanInputs,
): Plan {
  const { graphs, strategies, perturbations, repetitions, limits, judge, gate, prices } = options;
  const { references } = options;
  const budget = { ...options.budget, ...flags.budget };
  if (options.agent !== undefined && Object.keys(limits ?? {}).some((name) => name !== "calls")) {
    throw new InputError(
      `Cannot limit ${subject} as an agent of your own can only be limited by calls: ` +
        `limits are ${JSON.stringify(limits)}`,
    );
  }
  if (options.agent !== undefined) {
    assertAgentStrategies(subject, (strategies ?? []).map(strategyId));
    assertAgentCalls(subject, references === true);
  }
  const resumed = flags.resume && journal !== undefined ? seedToResume(journal) : undefined;
  if (options.seed === "fresh" && flags.shard !== undefined && flags.seed === undefined) {
    throw new InputError(
      `Cannot shard ${subject} as all shards need the same seed and it is "fresh": ` +
        "add --seed=NUMBER",
    );
  }
  // Only the same graphs can be compared, or continued.
  const known = resumed ?? baseline?.plan?.seed;
  if (
    flags.seed === undefined && options.seed === "fresh" && resumed === undefined && baseline?.plan
  ) {
    console.log(`${name}: seed ${known} of the baseline, as only the same graphs can be compared`);
  }
  const seed = flags.seed ?? (options.seed === "fresh" ? known ?? "fresh" : options.seed);
  const recordings = recordingsOf(options, flags, subject);
  if (recordings !== undefined) {
    const agent = options.agent !== undefined;
    assertRecordable(subject, recordings, {
      agent,
      fresh: seed === "fresh" && flags.only === undefined,
    });
  }
  const tasks = [options.tasks].flat() as readonly TaskChoice[];
  const grids = tasks.flatMap((one): Suite["tasks"] => "cells" in one ? one.cells : [one]);
  const suite = parseWith(source === undefined ? SUITE : CASE_SUITE, {
    name,
    seed,
    tasks: grids,
    models: ([options.model].flat() as readonly ModelChoice[]).map(named),
    ...(graphs === undefined ? {} : { graphs }),
    ...(strategies === undefined ? {} : { strategies: strategies.map(withNames) }),
    ...(perturbations === undefined ? {} : { perturbations }),
    ...(repetitions === undefined ? {} : { repetitions }),
    ...(limits === undefined ? {} : { limits }),
    ...(references === undefined ? {} : { references }),
    ...(judge === undefined ? {} : { judge: judgeName(judge) }),
    ...(gate === undefined ? {} : { gate }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(prices === undefined ? {} : { prices }),
  }, subject);
  const questions = source === undefined ? questionSource(suite.tasks, (path) => path) : undefined;
  const given = source ?? questions;
  for (const warning of questions?.warnings ?? []) {
    console.error(`${name}: warning: ${printable(warning, 2_000)}`);
  }
  const plan = planSuite(suite, {
    source: subject,
    sharded: flags.shard !== undefined,
    ...(given === undefined ? {} : { tasks: given }),
  });
  if (options.agent !== undefined) assertAgentTasks(subject, plan.resolved.cells);
  if (seed === "fresh" && flags.only === undefined) {
    const drawn = plan.resolved.seed;
    console.log(`${name}: fresh seed ${drawn}; add  -- --seed=${drawn}  to repeat this run`);
  }
  const skipped = tasks.reduce(
    (sum, one) => sum + ("cells" in one ? one.skipped : 0),
    plan.skipped,
  );
  if (skipped > 0) {
    console.log(`${name}: skipped ${skipped} impossible crossings (depth must be below core)`);
  }
  const { baseURL } = options;
  // Journals keep plans, and no secret may reach a journal.
  const kept = baseURL === undefined || /[?#@]/.test(baseURL) ? {} : { baseURL };
  const lost = baseURL !== undefined && !("baseURL" in kept);
  const ownCode = options.agent !== undefined || source !== undefined || lost ||
    modelChoices(options).some((choice) => typeof choice === "object" && "reply" in choice);
  return { ...plan, ...kept, ...(ownCode ? { ownCode } : {}) };
}

/** The strategy as a suite has it. */
function withNames(entry: string | BenchmarkStrategy): string | StrategyEntry {
  if (typeof entry === "string") return entry;
  const { models, ...others } = entry;
  if (models === undefined) return others;
  const entries = Object.entries(models).map(([stage, choice]) => [stage, named(choice)] as const);
  return { ...others, models: Object.fromEntries(entries) };
}

/**
 * Where a benchmark is recorded or replayed from; `undefined` if it is not.
 *
 * @throws {InputError} If the option is not usable.
 */
export function recordingsOf(
  { recordings }: BenchmarkOptions,
  flags: Flags,
  subject: string,
): RecordingOptions | undefined {
  const own = recordingOptions(recordings, subject);
  return flags.recordings ?? own;
}

/** What the model of an entry is called, before it is connected. */
export function identityOfChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
): Omit<Model, "reply"> {
  const own = ownModel(entry, choices);
  if (own === undefined) return identityOf(entry);
  const { name, simulated, api } = own;
  return { name, simulated, ...(api === undefined ? {} : { api }) };
}

/** A model of the user's own goes by its name. */
function ownModel(entry: ModelEntry, choices: readonly ModelChoice[]): Model | undefined {
  return choices.find((choice): choice is Model =>
    typeof choice === "object" && "reply" in choice && choice.name === entry.model
  );
}

/** The model of an entry: the user's own, one of a server, or a name for an agent. */
export function connectChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
  connections: Connections,
  agent: Agent | undefined,
): Model {
  const own = ownModel(entry, choices);
  if (own !== undefined) return own;
  if (agent === undefined) return connections.model(entry);
  return {
    name: entry.model,
    simulated: false,
    reply: () => Promise.reject(new Error("this name stands for an agent of the user's own")),
  };
}
