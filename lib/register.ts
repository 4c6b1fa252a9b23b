/**
 * Benchmarks as tests: one `Deno.test` case for each trial, and one test for the gate.
 * @module
 */

import { AssertionError } from "@std/assert";
import { assertRight, passes } from "./assertions.ts";
import { assertComparable, type Baseline, baselineOfGate, missingBaseline } from "./baseline.ts";
import {
  assertFlags,
  assertOptions,
  type BenchmarkOptions,
  connectChoice,
  modelChoices,
  planBenchmark,
} from "./benchmark.ts";
import { compareStrategies } from "./comparison.ts";
import { Connections } from "./connect.ts";
import { subjectName } from "./contest.ts";
import { parseFlags } from "./flags.ts";
import { estimateUsage, forecast, forecastCost, planWarnings } from "./forecast.ts";
import { InputError, parseWith } from "./input.ts";
import { judge, type Judged } from "./judge.ts";
import { placeOf, writeOutput } from "./output.ts";
import type { Plan } from "./plan.ts";
import { type CompletePolicy, GATE_POLICY } from "./policy.ts";
import { gateToMarkdown } from "./reports/markdown.ts";
import { renderGate, renderTables } from "./reports/terminal.ts";
import { type GateReport, reportProblem, reportVerdicts } from "./decision.ts";
import { renderVerdicts } from "./reports/verdicts.ts";
import { summarize } from "./story.ts";
import { openReport, writeReport } from "./report_file.ts";
import { Run } from "./run.ts";
import { quoted } from "./shell.ts";
import type { Needless } from "./stopping.ts";
import { summarizeJob } from "./summary.ts";
import { scoreOf, type Trial, type TrialScore } from "./trial.ts";
import { parseTrialId, type PlannedTrial } from "./trial_id.ts";

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
 * `--resume`, `--retry-invalid`, `--concurrency=8`, `--max-tokens=100000`, `--max-usd=5`,
 * `--verdict=FILE` (the verdicts as JSON) and `--report=FILE` (the report as HTML).
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
  const choices = modelChoices(options);
  const journal = flags.out ?? options.journal;
  assertFlags(name, flags, journal, options.gate !== undefined);
  const gate = options.gate === undefined
    ? undefined
    : parseWith(GATE_POLICY, options.gate, `the gate of benchmark ${name}`);
  const baseline = baselineOfGate(gate);
  for (const notice of baseline?.notices ?? []) console.error(`${name}: ${notice}`);
  const missing = missingBaseline(gate, baseline);
  if (missing !== undefined && journal === undefined) {
    throw new InputError(`Cannot run benchmark ${name} as ${missing}`);
  }
  const plan = planBenchmark(name, options, flags, choices, journal, baseline);
  if (baseline !== undefined) assertComparable(baseline, plan, plan.trials);
  const only = flags.only === undefined ? undefined : onlyTrials(plan, flags.only);
  if (only !== undefined) claimReplay(name, only.length > 0, flags.only!);
  // What a gate compares with is read only; several benchmarks may share it.
  if (baseline !== undefined) files.set(placeOf(baseline.file), "the baseline of a gate");
  if (journal !== undefined && only === undefined) claimFile(name, journal, "trials");
  if (flags.verdict !== undefined) {
    claimFile(name, flags.verdict, "verdicts");
    // A file that cannot be written is told before anything is paid for, and an old verdict goes.
    writeVerdicts(flags.verdict, reportProblem(name, "the run has not come to its end"));
  }
  const report = only === undefined ? flags.report ?? options.report : undefined;
  if (report !== undefined) claimFile(name, report, "report");
  const begin = report === undefined ? () => {} : openReport(report);
  const { baseURL, retries, requestTimeout } = options;
  const connections = new Connections({
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(retries === undefined ? {} : { retries }),
    ...(requestTimeout === undefined ? {} : { requestTimeout }),
  });
  const concurrency = flags.concurrency ?? options.concurrency;
  const run = new Run(plan, {
    connect: (entry) => connectChoice(entry, choices, connections, options.agent),
    slowStart: true,
    resume: flags.resume,
    retryInvalid: flags.retryInvalid,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    ...(only === undefined ? {} : { only }),
    ...(baseline === undefined ? {} : { baseline }),
    // A replay looks at one trial; it is no part of any run.
    ...(journal === undefined || only !== undefined ? {} : { journal }),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
  });
  run.connect();
  for (const notice of run.notices) console.error(notice);
  // A replay is there to look at one trial, so it fails as the trial did.
  const ended: Ended = { begin, scores: [], trials: [], whole: report !== undefined, origin: "" };
  const strict = plan.gate === undefined || only !== undefined;
  registerCases(name, run, { strict, prices: plan.prices }, ended);
  if (plan.gate !== undefined) {
    const partial = flags.shard !== undefined || only !== undefined;
    if (!partial) tellForecast(name, plan);
    const file = flags.verdict;
    const gate = { plan, policy: plan.gate, run, baseline, missing, partial, file, ended };
    registerGate(name, { ...gate, sharded: flags.shard !== undefined });
  }
  Deno.test.afterAll(async () => {
    const { trials, decision, origin } = ended;
    if (report !== undefined && trials.length > 0) {
      const replay = (trial: Trial) => replayLine(origin, trial);
      const { stopped } = run;
      const { shard } = flags;
      await writeReport(report, plan, { trials, shard, decision, stopped, replay });
      console.log(`${name}: to look at it, open ${report}`);
    }
    run[Symbol.dispose]();
    await connections[Symbol.asyncDispose]();
  });
}

/** So many replay lines a benchmark with a gate prints. */
const MOST_REPLAYS = 5;

/** Retries would turn pass@1 into pass@k; sanitizers take trials that run ahead for leaks. */
const ONCE_AND_AHEAD = { retry: 0, repeats: 0, sanitizeOps: false, sanitizeResources: false };

/** What a run has come to so far. */
interface Ended {
  /** To be called before a trial is run. */
  readonly begin: () => void;
  /** In the order in which they were asked for; all of them once the gate has decided. */
  scores: TrialScore[];
  /** The same with all that happened; empty unless a report shows them. */
  trials: Trial[];
  /** Whether a report shows them. */
  readonly whole: boolean;
  /** What the gate decided. */
  decision?: GateReport;
  /** The file of the tests, as a URL. */
  origin: string;
}

function registerCases(
  name: string,
  run: Run,
  { strict, prices }: { readonly strict: boolean; readonly prices: Plan["prices"] },
  ended: Ended,
): void {
  const cases = run.trials.map((planned, place) => ({ title: titleOf(name, planned), place }));
  let replays = 0;
  Deno.test.each(cases)("$title", ONCE_AND_AHEAD, async ({ place }, context) => {
    ended.begin();
    const trial = await run.trial(place);
    if (trial.kind === "needless") return await skip(trial, strict, context);
    ended.origin = context.origin;
    ended.scores.push(scoreOf(trial));
    if (ended.whole) ended.trials.push(trial);
    if (trial.solved || trial.outcome === "abstained") return;
    const replay = `replay: ${replayLine(context.origin, trial)}`;
    if (strict) {
      try {
        assertRight(trial);
      } catch (error) {
        throw new AssertionError(`${(error as Error).message}\n${replay}`);
      }
    }
    // Hundreds of replay lines would bury the verdict.
    console.log(replays++ < MOST_REPLAYS ? `${summarize(trial)}\n${replay}` : summarize(trial));
  });
  if (!strict) return;
  Deno.test.afterAll(() => {
    const { scores } = ended;
    if (scores.length > 1) console.log(`\n${name}\n\n${renderTables(scores, prices)}\n`);
  });
}

/** A case that was not needed ends at once and says so; without a gate nothing vouches for it. */
async function skip(
  { by, reason }: Needless,
  strict: boolean,
  context: Deno.TestContext,
): Promise<void> {
  if (strict) throw new AssertionError(`The trial was not run as ${reason}`);
  const name = `${by === "gate" ? "not needed" : "not run"}: ${reason}`;
  await context.step({ name, ignore: true, fn() {} });
}

/** What the gate can tell and, with prices, what it may cost: before anything is spent. */
function tellForecast(name: string, plan: Plan): void {
  const told = forecast(plan)!;
  const cost = forecastCost(plan, estimateUsage(plan), told);
  for (const line of [...told.lines, ...cost]) console.log(`${name}: ${line}`);
  for (const warning of planWarnings(plan, told)) console.error(`${name}: warning: ${warning}`);
}

interface GateTest {
  readonly plan: Plan;
  readonly policy: CompletePolicy;
  readonly run: Run;
  readonly baseline: Baseline | undefined;
  /** Why there is nothing to compare with, if that is so. */
  readonly missing: string | undefined;
  /** Whether only a part of the plan is run. */
  readonly partial: boolean;
  /** Whether that is because of shards, and not for a replay. */
  readonly sharded: boolean;
  /** Where the verdicts go as JSON. */
  readonly file: string | undefined;
  readonly ended: Ended;
}

function registerGate(name: string, test: GateTest): void {
  const { plan, policy, run, baseline, missing, partial, sharded, file, ended } = test;
  if (partial) {
    console.error(
      `${name}: the gate needs all trials; this is a part of them, so it is ignored` +
        (policy.sequential ? ", and nothing is stopped early" : "") +
        (sharded ? ". Over the journals of all shards decides: deno task toolgate gate" : ""),
    );
  }
  let decided = false;
  const tell = (trials: readonly TrialScore[], decision: GateReport) => {
    console.log(`\n${name}\n\n${renderGate(trials, decision)}\n`);
    summarizeJob(gateToMarkdown(decision));
    if (file !== undefined) writeVerdicts(file, decision);
    ended.decision = decision;
  };
  Deno.test(`${name} > gate`, { ...ONCE_AND_AHEAD, ignore: partial }, async ({ origin }) => {
    ended.begin();
    const all = await run.all();
    const trials = all.map(scoreOf);
    ended.scores = trials;
    if (ended.whole) ended.trials = all;
    ended.origin = origin;
    const { rule, prices } = plan;
    decided = true;
    if (missing !== undefined) {
      const problem = reportProblem(name, missing);
      tell(trials, problem);
      throw new AssertionError(renderVerdicts(problem));
    }
    const judged: readonly Judged[] = judge(trials, plan.trials, policy, {
      rule,
      prices,
      baseline,
      stopped: run.stopped,
    });
    tell(trials, reportVerdicts(name, judged, policy, compareStrategies(trials, prices)));
    const failed = judged.filter(({ verdict }) => !passes(verdict, policy));
    if (failed.length > 0) {
      throw new AssertionError(renderVerdicts(reportVerdicts(name, failed, policy)));
    }
    if (judged.length === 0) throw new AssertionError("INVALID: there is nothing to decide");
  });
  if (partial) return;
  Deno.test.afterAll(() => {
    if (!decided) console.error(`${name}: the gate did not run: nothing was decided`);
  });
}

/** @throws {InputError} If the file cannot be written. */
function writeVerdicts(file: string, verdicts: GateReport): void {
  writeOutput(file, `${JSON.stringify(verdicts, null, 2)}\n`, "the verdicts to");
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

/** The files that this file's benchmarks write: each is of one benchmark. */
const files = new Map<string, string>();

function claimFile(name: string, file: string, what: string): void {
  if (what !== "trials" && file.endsWith(".jsonl")) {
    throw new InputError(
      `Cannot write the ${what} of benchmark ${name} to ${file} as that is a name for journals: ` +
        "what was paid for must not be written over",
    );
  }
  const place = placeOf(file);
  const other = files.get(place);
  if (other !== undefined) {
    throw new InputError(
      `Cannot keep the ${what} of benchmark ${name} in ${file} as a file is of one benchmark: ` +
        `${other} has it. Run one file at a time, or give each benchmark a file of its own`,
    );
  }
  files.set(place, name);
}

function titleOf(name: string, planned: PlannedTrial): string {
  const { task, repetition, block } = planned;
  const { seed: _, ...sizes } = task;
  const words = Object.entries(sizes).map(([size, value]) => `${size} ${value}`);
  const repeated = repetition === 1 ? "" : `, repetition ${repetition}`;
  return `${name} > ${words.join(", ")}, graph ${block + 1}, ${subjectName(planned)}${repeated}`;
}

function replayLine(origin: string, { id }: Trial): string {
  const file = decodeURIComponent(new URL(origin).pathname);
  const here = `${Deno.cwd()}/`;
  const path = file.startsWith(here) ? file.slice(here.length) : file;
  return `deno test -A ${quoted(path)} -- --only=${quoted(id)}`;
}
