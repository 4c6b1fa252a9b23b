/**
 * Benchmarks as tests: one `Deno.test` case for each trial, and one test for the gate.
 * @module
 */

import { AssertionError } from "@std/assert";
import type { Limits } from "./agent.ts";
import { assertSolved, passes } from "./assertions.ts";
import { Connections } from "./connect.ts";
import { type Flags, parseFlags } from "./flags.ts";
import { RATE_POLICY, type RatePolicy } from "./gate.ts";
import { InputError, parseWith } from "./input.ts";
import { judge } from "./judge.ts";
import type { Model } from "./model.ts";
import { renderTables, renderVerdicts, summarize } from "./report.ts";
import { Run, seedToResume } from "./run.ts";
import { type Plan, planSuite } from "./plan.ts";
import { type Cells, type Grid, type ModelEntry, SUITE } from "./suite.ts";
import { type Agent, parseTrialId, type PlannedTrial, type Trial } from "./trial.ts";

/** Options of {@linkcode benchmark}. */
export interface BenchmarkOptions {
  /** The model or models: a name such as `sim:planner` or `gpt-5`, an entry with options, a model. */
  readonly model: ModelChoice | readonly ModelChoice[];
  /** The sizes of the tasks. */
  readonly tasks: Grid | Cells | readonly (Grid | Cells)[];
  /** Seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** Graphs a cell; default 5. */
  readonly graphs?: number;
  /** Trials of each graph; default 1. */
  readonly repetitions?: number;
  /** What a trial may take. */
  readonly limits?: Limits;
  /**
   * The gate. With it only the gate's own test can fail; without it each unsolved case fails.
   */
  readonly gate?: RatePolicy;
  /** Trials that run at the same time; default 8. */
  readonly concurrency?: number;
  /** Further attempts of a failed request; default 3. */
  readonly retries?: number;
  /** Milliseconds that one attempt of a request may take; default 600,000. */
  readonly requestTimeout?: number;
  /** The server of models that name none; default OpenAI's. */
  readonly baseURL?: string;
  /** A file to which finished trials are appended. */
  readonly journal?: string;
  /** Works on the tasks instead of the agent loop; `model` then only names it. */
  readonly agent?: Agent;
}

/** A model, or how to get one. */
export type ModelChoice = string | ModelEntry | Model;

/**
 * Registers a benchmark: one test case for each trial and, with a gate, one test that decides.
 *
 * Cases run one after another, as all tests of a file do, but their trials run ahead of them. A case
 * is never retried or repeated, whatever the flags of `deno test`: that would turn pass@1 into
 * pass@k. With a gate, a case that is not solved prints its story and passes; the gate's test runs
 * what no case has run, waits for all trials and fails unless the gate passes. Without a gate a case
 * fails when its task is not solved, with the story of the trial and the line that replays it.
 *
 * Behind `--` a run takes `--only=ID` (just this trial), `--shard=1/4`, `--seed=7`, `--out=FILE`,
 * `--resume`, `--retry-invalid` and `--concurrency=8`.
 *
 * @throws {InputError} If an option or flag is not usable; the message gives path and rule.
 *
 * @example In a test file
 * ```ts ignore
 * import { benchmark, grid } from "@toolgate/toolgate";
 *
 * benchmark("tool calling", {
 *   model: "sim:planner",
 *   tasks: grid({ core: [3, 5], depth: 2, connected: [0, 2] }),
 *   seed: 1,
 *   graphs: 5,
 *   gate: { successRate: 0.8 },
 * });
 * ```
 */
export function benchmark(name: string, options: BenchmarkOptions): void {
  try {
    register(name, options);
  } catch (error) {
    // The message says what is wrong with the user's own words; a stack would lead into this file.
    if (error instanceof InputError) error.stack = `${error.name}: ${error.message}`;
    throw error;
  }
}

function register(name: string, options: BenchmarkOptions): void {
  assertOptions(name, options);
  const flags = parseFlags(Deno.args);
  const choices = [options.model].flat() as readonly ModelChoice[];
  const journal = flags.out ?? options.journal;
  assertFlags(name, flags, journal, options.gate !== undefined);
  const plan = planBenchmark(name, options, flags, choices, journal);
  const only = flags.only === undefined ? undefined : onlyTrials(plan, flags.only);
  if (only !== undefined) claimReplay(name, only.length > 0, flags.only!);
  if (journal !== undefined && only === undefined) claimJournal(name, journal);
  const { baseURL, retries, requestTimeout } = options;
  const connections = new Connections({
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(retries === undefined ? {} : { retries }),
    ...(requestTimeout === undefined ? {} : { requestTimeout }),
  });
  const concurrency = flags.concurrency ?? options.concurrency;
  const run = new Run(plan, {
    connect: (entry) => connect(entry, choices, connections, options.agent),
    slowStart: true,
    resume: flags.resume,
    retryInvalid: flags.retryInvalid,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    ...(only === undefined ? {} : { only }),
    // A replay looks at one trial; it is no part of any run.
    ...(journal === undefined || only !== undefined ? {} : { journal }),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
  });
  run.connect();
  for (const notice of run.notices) console.error(notice);
  // A replay is there to look at one trial, so it fails as the trial did.
  registerCases(name, run, plan.gate === undefined || only !== undefined);
  if (plan.gate !== undefined) {
    registerGate(name, plan, plan.gate, run, flags.shard !== undefined || only !== undefined);
  }
  Deno.test.afterAll(async () => {
    run[Symbol.dispose]();
    await connections[Symbol.asyncDispose]();
  });
}

/** So many replay lines a benchmark with a gate prints. */
const MOST_REPLAYS = 5;

/** Retries would turn pass@1 into pass@k; sanitizers take trials that run ahead for leaks. */
const ONCE_AND_AHEAD = { retry: 0, repeats: 0, sanitizeOps: false, sanitizeResources: false };

function registerCases(name: string, run: Run, strict: boolean): void {
  const cases = run.trials.map((planned, place) => ({ title: titleOf(name, planned), place }));
  const finished: Trial[] = [];
  let replays = 0;
  Deno.test.each(cases)("$title", ONCE_AND_AHEAD, async ({ place }, context) => {
    const trial = await run.trial(place);
    finished.push({ ...trial, events: [] });
    if (trial.solved) return;
    const replay = `replay: ${replayLine(context.origin, trial)}`;
    if (strict) {
      try {
        assertSolved(trial);
      } catch (error) {
        throw new AssertionError(`${(error as Error).message}\n${replay}`);
      }
    }
    // Hundreds of replay lines would bury the verdict.
    console.log(replays++ < MOST_REPLAYS ? `${summarize(trial)}\n${replay}` : summarize(trial));
  });
  if (!strict) return;
  Deno.test.afterAll(() => {
    if (finished.length > 1) console.log(`\n${name}\n\n${renderTables(finished)}\n`);
  });
}

function registerGate(
  name: string,
  plan: Plan,
  policy: RatePolicy,
  run: Run,
  partial: boolean,
): void {
  if (partial) {
    console.error(`${name}: the gate needs all trials; this is a part of them, so it is ignored`);
  }
  Deno.test(`${name} > gate`, { ...ONCE_AND_AHEAD, ignore: partial }, async () => {
    const trials = await run.all();
    const judged = judge(trials, plan.trials, policy);
    const verdicts = renderVerdicts(judged, policy);
    console.log(`\n${name}\n\n${renderTables(trials)}\n\n${verdicts}\n`);
    const failed = judged.filter(({ verdict }) => !passes(verdict, policy));
    if (failed.length > 0) throw new AssertionError(renderVerdicts(failed, policy));
  });
}

function planBenchmark(
  name: string,
  options: BenchmarkOptions,
  flags: Flags,
  choices: readonly ModelChoice[],
  journal: string | undefined,
): Plan {
  const { graphs, repetitions, limits, gate } = options;
  if (options.agent !== undefined && Object.keys(limits ?? {}).some((name) => name !== "calls")) {
    throw new InputError(
      `Cannot limit benchmark ${name} as an agent of your own can only be limited by calls: ` +
        `limits are ${JSON.stringify(limits)}`,
    );
  }
  const resumed = flags.resume && journal !== undefined ? seedToResume(journal) : undefined;
  if (options.seed === "fresh" && flags.shard !== undefined && flags.seed === undefined) {
    throw new InputError(
      `Cannot shard benchmark ${name} as all shards need the same seed and it is "fresh": ` +
        "add --seed=NUMBER",
    );
  }
  const seed = flags.seed ?? (options.seed === "fresh" ? resumed ?? "fresh" : options.seed);
  const tasks = [options.tasks].flat() as readonly (Grid | Cells)[];
  const grids = tasks.flatMap((one): readonly Grid[] => "cells" in one ? one.cells : [one]);
  const suite = parseWith(SUITE, {
    name,
    seed,
    tasks: grids,
    models: choices.map((choice) =>
      typeof choice === "object" && "reply" in choice ? choice.name : choice
    ),
    ...(graphs === undefined ? {} : { graphs }),
    ...(repetitions === undefined ? {} : { repetitions }),
    ...(limits === undefined ? {} : { limits }),
    ...(gate === undefined
      ? {}
      : { gate: parseWith(RATE_POLICY, gate, `the gate of benchmark ${name}`) }),
  }, `benchmark ${name}`);
  const plan = planSuite(suite);
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
  return plan;
}

/** The one trial of `--only`: from the plan or, after a fresh seed, from the id alone. */
function onlyTrials(plan: Plan, id: string): readonly PlannedTrial[] {
  const planned = plan.trials.filter((trial) => trial.id === id);
  if (planned.length > 0) return planned;
  const key = parseTrialId(id);
  if (key === undefined) {
    throw new InputError(`Cannot run --only=${id} as that is no trial id`);
  }
  // The file may have several benchmarks; the id belongs to those that have all but its task.
  const known = plan.trials.some((trial) =>
    trial.model === key.model && trial.strategy === key.strategy &&
    trial.perturbation === key.perturbation
  );
  return known ? [{ ...key, id, index: 0, block: 0 }] : [];
}

/** Whether any benchmark of this file has the trial of `--only`. */
let replayFound = false;

/** A benchmark that lacks the trial fails unless another of its file has it. */
function claimReplay(name: string, found: boolean, id: string): void {
  replayFound ||= found;
  if (found) return;
  Deno.test(`${name} > replay`, ONCE_AND_AHEAD, () => {
    if (replayFound) return;
    throw new AssertionError(
      `Cannot run --only=${id} as no benchmark of this file has its model, strategy and perturbation`,
    );
  });
}

/** The journals of this file's benchmarks: each is of one plan. */
const journals = new Map<string, string>();

function claimJournal(name: string, journal: string): void {
  const other = journals.get(journal);
  if (other !== undefined) {
    throw new InputError(
      `Cannot keep the trials of benchmark ${name} in ${journal} as a journal is of one benchmark: ` +
        `${other} has it. Run one file at a time, or give each benchmark a journal of its own`,
    );
  }
  journals.set(journal, name);
}

const OPTION_NAMES: readonly (keyof BenchmarkOptions)[] = [
  "model",
  "tasks",
  "seed",
  "graphs",
  "repetitions",
  "limits",
  "gate",
  "concurrency",
  "retries",
  "requestTimeout",
  "baseURL",
  "journal",
  "agent",
];

/** Flags that would do nothing, or lose what was paid for, are errors. */
function assertFlags(
  name: string,
  flags: Flags,
  journal: string | undefined,
  gated: boolean,
): void {
  const fault = flags.resume && journal === undefined
    ? "--resume needs --out=FILE"
    : flags.retryInvalid && !flags.resume
    ? "--retry-invalid needs --resume"
    : flags.shard !== undefined && gated && journal === undefined
    ? "--shard needs --out=FILE, as its gate is decided over the journals of all shards"
    : undefined;
  if (fault !== undefined) throw new InputError(`Cannot run benchmark ${name}: ${fault}`);
}

/** What the rules of suites do not say. */
function assertOptions(name: string, { concurrency, ...others }: BenchmarkOptions): void {
  const unknown = Object.keys(others)
    .find((option) => !(OPTION_NAMES as readonly string[]).includes(option));
  if (unknown !== undefined) {
    throw new InputError(
      `Cannot use benchmark ${name} as there is no option ${unknown}: ` +
        `there are ${OPTION_NAMES.join(", ")}`,
    );
  }
  if (concurrency !== undefined && (!Number.isSafeInteger(concurrency) || concurrency < 1)) {
    throw new InputError(
      `Cannot use benchmark ${name} as concurrency must be a whole number from 1 on: ` +
        `it is ${concurrency}`,
    );
  }
}

function connect(
  entry: ModelEntry,
  choices: readonly ModelChoice[],
  connections: Connections,
  agent: Agent | undefined,
): Model {
  const own = choices.find((choice): choice is Model =>
    typeof choice === "object" && "reply" in choice && choice.name === entry.model
  );
  if (own !== undefined) return own;
  if (agent === undefined) return connections.model(entry);
  return {
    name: entry.model,
    simulated: false,
    reply: () => Promise.reject(new Error("this name stands for an agent of the user's own")),
  };
}

function titleOf(name: string, { task, model, repetition, block }: PlannedTrial): string {
  const { seed: _, ...sizes } = task;
  const words = Object.entries(sizes).map(([size, value]) => `${size} ${value}`);
  const repeated = repetition === 1 ? "" : `, repetition ${repetition}`;
  return `${name} > ${words.join(", ")}, graph ${block + 1}, ${model}${repeated}`;
}

function replayLine(origin: string, { id }: Trial): string {
  const file = decodeURIComponent(new URL(origin).pathname);
  const here = `${Deno.cwd()}/`;
  const path = file.startsWith(here) ? file.slice(here.length) : file;
  return `deno test -A ${quoted(path)} -- --only=${quoted(id)}`;
}

/** A word for a shell, where nothing within single quotes has a meaning but their end. */
function quoted(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
