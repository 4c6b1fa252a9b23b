/**
 * Benchmark options: checks the options of `benchmark()` and makes the plan.
 * @module
 */

import type { Baseline } from "../runs/baseline.ts";
import { type Connections, identityOf } from "../models/connect.ts";
import type { Flags } from "./_flags.ts";
import { parseWith } from "../base/input.ts";
import { cannot, InputError } from "../base/errors.ts";
import { defined, printable } from "../base/json.ts";
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
  /** One or several models: a name such as `sim:planner` or `gpt-5`, an entry with options, or a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The sizes of generated tasks, probes, or call sets. */
  readonly tasks: TaskChoice | readonly TaskChoice[];
  /** The seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** Graphs per cell; default 5. A sequential gate sets it itself. */
  readonly graphs?: number;
  /** The strategies of each model, by id or with options; default `baseline`. */
  readonly strategies?: readonly (string | BenchmarkStrategy)[];
  /** Perturbations of what each model sees, such as `RD` or `RP_F+CF`; default `none`. */
  readonly perturbations?: readonly string[];
  /** Trials of each graph; default 1. */
  readonly repetitions?: number;
  /** The limits of each trial. */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to results of other calls of the same reply, such as `$1.field` for call 1 or
   * `$call_id.field`; default `false`. Calls are then carried out in the order of their references.
   */
  readonly references?: boolean;
  /**
   * The gate: against a success rate, or against a baseline on the same graphs. With a gate only its own test
   * can fail; without one each unsolved case fails.
   */
  readonly gate?: GatePolicy;
  /** A model that judges how similar answers and truth are, for call sets. */
  readonly judge?: ModelChoice | JudgeEntry;
  /** The budget of the run: once it is spent, nothing more is started. */
  readonly budget?: Budget;
  /** The prices of models in US dollars per million tokens; required for budgets and limits in dollars. */
  readonly prices?: Prices;
  /** Trials that run at the same time; default 8. */
  readonly concurrency?: number;
  /** Further attempts of a failed request; default 3. */
  readonly retries?: number;
  /** Milliseconds that one attempt of a request may take; default 600,000. */
  readonly requestTimeout?: number;
  /** Requests to each model that may begin within any 60 seconds; default unlimited. */
  readonly requestsPerMinute?: number;
  /** Input and output tokens of each model within any 60 seconds; default unlimited. */
  readonly tokensPerMinute?: number;
  /** The server of models that name none; default OpenAI's. */
  readonly baseURL?: string;
  /** A file to which finished trials are appended. */
  readonly journal?: string;
  /** Where replies are recorded, or replayed from without a key or a network. */
  readonly recordings?: RecordingOptions;
  /** An HTML file for the report at the end of the run; its folder is created if needed. */
  readonly report?: string;
  /**
   * Works on the tasks instead of the agent loop, with the strategy `baseline` only; `model` then is only its
   * name.
   */
  readonly agent?: Agent;
}

/** The sizes of tasks, probes, or questions of a call set. */
export type TaskChoice = Grid | Cells | ProbeSet | QuestionSet;

/** A strategy with its options; its stages may use custom models. */
export interface BenchmarkStrategy extends Omit<StrategyEntry, "models"> {
  /** Models asked in place of the trial's, by stage. */
  readonly models?: Readonly<Record<string, ModelChoice>>;
}

/** A model, or how to connect one. */
export type ModelChoice = string | ModelEntry | Model;

/** The model of a suite: custom models are referred to by name. */
function suiteModel(choice: ModelChoice): string | ModelEntry {
  return typeof choice === "object" && "reply" in choice ? choice.name : choice;
}

/** All models of a benchmark, including those of stages and judges. */
export function modelChoices({ model, judge, strategies = [] }: BenchmarkOptions): ModelChoice[] {
  const stages = strategies.flatMap((entry) =>
    typeof entry === "string" ? [] : Object.values(entry.models ?? {})
  );
  const judges = judge === undefined ? [] : [judge];
  return [...[model].flat() as readonly ModelChoice[], ...stages, ...judges];
}

/** The judge of a suite. */
function suiteJudge(judge: ModelChoice | JudgeEntry): string | JudgeEntry {
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

/** Refuses flags that would have no effect or lose paid results. Errors refer to the run as `subject`. */
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

/** The names of options. */
export interface OptionWords {
  /** The names in use here. */
  readonly names: readonly string[];
  /** The names used elsewhere, with the name here. */
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

/** Checks option names and concurrency, which the schema of suites does not cover. */
export function assertOptions(
  subject: string,
  options: { readonly concurrency?: number },
  words: OptionWords = OPTION_WORDS,
): void {
  const { concurrency, ...others } = options;
  const unknown = Object.keys(others).find((option) => !words.names.includes(option));
  if (unknown !== undefined) {
    throw cannot(
      `use ${subject}`,
      `there is no option ${printable(unknown, 100)}`,
      adviceOn(unknown, options, words),
    );
  }
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw cannot(
      `use ${subject}`,
      "concurrency must be a whole number from 1 on",
      `it is ${concurrency}`,
    );
  }
}

/** What to use in place of an unknown option. */
function adviceOn(
  unknown: string,
  options: Readonly<Partial<Record<string, unknown>>>,
  { names, elsewhere }: OptionWords,
): string {
  const name = elsewhere.get(unknown);
  if (name !== undefined) return `here it is called ${name}`;
  // A `name` is more likely meant for the test than for the model.
  if (unknown === "name" || !Object.hasOwn(MODEL.shape, unknown)) {
    return `there are ${names.join(", ")}`;
  }
  const { model } = options;
  const modelText = typeof model === "string" ? valueText(model, 100) : "...";
  const value = valueText(options[unknown], 100);
  return `it belongs to the model, as in model: { model: ${modelText}, ${unknown}: ${value} }`;
}

/** The inputs of a plan besides the options. */
export interface PlanInputs {
  /** The benchmark's name, and how errors refer to it. */
  readonly name: string;
  readonly subject: string;
  readonly flags: Flags;
  /** The journal to continue, if any. */
  readonly journal: string | undefined;
  /** The baseline of a gate. */
  readonly baseline: Baseline | undefined;
  /** The source of tasks that no option names. */
  readonly source?: TaskSource;
}

/** Makes the plan of a benchmark; prints a fresh seed and the number of skipped crossings. */
export function planBenchmark(
  options: BenchmarkOptions,
  { name, subject, flags, journal, baseline, source }: PlanInputs,
): Plan {
  const { graphs, strategies, perturbations, repetitions, limits, judge, gate, prices } = options;
  const { references } = options;
  const budget = { ...options.budget, ...flags.budget };
  if (options.agent !== undefined && Object.keys(limits ?? {}).some((name) => name !== "calls")) {
    throw cannot(
      `limit ${subject}`,
      "an agent of your own can only be limited by calls",
      `limits are ${JSON.stringify(limits)}`,
    );
  }
  if (options.agent !== undefined) {
    assertAgentStrategies(subject, (strategies ?? []).map(strategyId));
    assertAgentCalls(subject, references === true);
  }
  const resumed = flags.resume && journal !== undefined ? seedToResume(journal) : undefined;
  if (options.seed === "fresh" && flags.shard !== undefined && flags.seed === undefined) {
    throw cannot(
      `shard ${subject}`,
      'all shards need the same seed and it is "fresh"',
      "add --seed=NUMBER",
    );
  }
  // Only the same graphs can be compared or continued.
  const knownSeed = resumed ?? baseline?.plan?.seed;
  if (
    flags.seed === undefined && options.seed === "fresh" && resumed === undefined && baseline?.plan
  ) {
    console.log(
      `${name}: seed ${knownSeed} of the baseline, as only the same graphs can be compared`,
    );
  }
  const seed = flags.seed ?? (options.seed === "fresh" ? knownSeed ?? "fresh" : options.seed);
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
    models: ([options.model].flat() as readonly ModelChoice[]).map(suiteModel),
    ...defined({ graphs }),
    ...(strategies === undefined ? {} : { strategies: strategies.map(suiteStrategy) }),
    ...defined({ perturbations, repetitions, limits, references }),
    ...(judge === undefined ? {} : { judge: suiteJudge(judge) }),
    ...defined({ gate }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...defined({ prices }),
  }, subject);
  const questions = source === undefined ? questionSource(suite.tasks, (path) => path) : undefined;
  const taskSource = source ?? questions;
  for (const warning of questions?.warnings ?? []) {
    console.error(`${name}: warning: ${printable(warning, 2_000)}`);
  }
  const plan = planSuite(suite, {
    source: subject,
    sharded: flags.shard !== undefined,
    ...defined({ tasks: taskSource }),
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
  // Journals store plans, and no secret may reach a journal.
  const stored = baseURL === undefined || /[?#@]/.test(baseURL) ? {} : { baseURL };
  const isDropped = baseURL !== undefined && !("baseURL" in stored);
  const ownCode = options.agent !== undefined || source !== undefined || isDropped ||
    modelChoices(options).some((choice) => typeof choice === "object" && "reply" in choice);
  return { ...plan, ...stored, ...(ownCode ? { ownCode } : {}) };
}

/** The strategy of a suite, with models by name. */
function suiteStrategy(entry: string | BenchmarkStrategy): string | StrategyEntry {
  if (typeof entry === "string") return entry;
  const { models, ...others } = entry;
  if (models === undefined) return others;
  const entries = Object.entries(models).map(([stage, choice]) =>
    [stage, suiteModel(choice)] as const
  );
  return { ...others, models: Object.fromEntries(entries) };
}

/**
 * The recordings of a benchmark; `undefined` without any.
 *
 * @throws {InputError} If the option cannot be used.
 */
export function recordingsOf(
  { recordings }: BenchmarkOptions,
  flags: Flags,
  subject: string,
): RecordingOptions | undefined {
  const own = recordingOptions(recordings, subject);
  return flags.recordings ?? own;
}

/** The identity of an entry's model before it is connected. */
export function identityOfChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
): Omit<Model, "reply"> {
  const model = customModel(entry, choices);
  if (model === undefined) return identityOf(entry);
  const { name, simulated, api } = model;
  return { name, simulated, ...defined({ api }) };
}

/** A custom model is found by its name. */
function customModel(entry: ModelEntry, choices: readonly ModelChoice[]): Model | undefined {
  return choices.find((choice): choice is Model =>
    typeof choice === "object" && "reply" in choice && choice.name === entry.model
  );
}

/** The model of an entry: a custom one, one of a server, or a name for an agent. */
export function connectChoice(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
  connections: Connections,
  agent: Agent | undefined,
): Model {
  const model = customModel(entry, choices);
  if (model !== undefined) return model;
  if (agent === undefined) return connections.model(entry);
  return {
    name: entry.model,
    simulated: false,
    reply: () => Promise.reject(new Error("this name stands for an agent of the user's own")),
  };
}
