/**
 * Registrations: the trials of a plan as tests of `deno test`, and one test for its gate.
 * @module
 */

import { AssertionError } from "@std/assert";
import { assertRight, passes } from "./assertions/trials.ts";
import {
  assertComparable,
  type Baseline,
  baselineOfGate,
  missingBaseline,
} from "../runs/baseline.ts";
import {
  assertFlags,
  type BenchmarkOptions,
  connectChoice,
  identityOfChoice,
  modelChoices,
  planBenchmark,
  type PlanInputs,
  recordingsOf,
} from "./options.ts";
import { compareStrategies } from "../gate/comparison.ts";
import { Connections } from "../models/connect.ts";
import { onInterruption, underWay } from "./interruption.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";
import { type Flags, parseFlags } from "./flags.ts";
import { estimateUsage, forecast, forecastCost, planWarnings } from "../runs/forecast.ts";
import { parseWith } from "../base/input.ts";
import { InputError } from "../base/errors.ts";
import { type DecidedVariant, decideTrials } from "../gate/decide_trials.ts";
import { writeOutput } from "../base/output_file.ts";
import type { Plan } from "../runs/plan.ts";
import { type CompletePolicy, GATE_POLICY } from "../gate/policy.ts";
import { claimFile, inFolders, shareFile } from "./claimed_files.ts";
import { openReport, writeReport } from "./write_report.ts";
import { Recordings } from "../models/recordings/recordings.ts";
import { Run } from "../runs/run.ts";
import { quoted } from "../base/shell_quote.ts";
import type { Needless } from "../runs/early_stopping.ts";
import { isCase, type TaskSpec } from "../trials/executors/task_kind.ts";
import type { Trial } from "../trials/trial.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { parseTrialId, type PlannedTrial } from "../trials/trial_id.ts";

/** How a benchmark is registered, beside its options. */
export interface RegisteredPlan extends Pick<PlanInputs, "name" | "subject" | "source"> {
  /** What the case of a trial is called. */
  readonly titleOf: (planned: PlannedTrial) => string;
}

/** Lets bad input be told in the user's own words. */
export function inOwnWords(register: () => void): void {
  try {
    register();
  } catch (error) {
    return withoutFrames(error);
  }
}

/** Throws bad input without its stack, which would lead into files of ours. */
function withoutFrames(error: unknown): never {
  if (error instanceof InputError) error.stack = `${error.name}: ${error.message}`;
  throw error;
}

/**
 * Registers what a benchmark comes to: one test case for each trial and, with a gate, one test that
 * decides.
 *
 * @throws {InputError} If an option or flag is not usable; the message gives path and rule.
 */
export function registerBenchmark(options: BenchmarkOptions, registration: RegisteredPlan): void {
  const { name, subject } = registration;
  const flags = inFolders(parseFlags(Deno.args), name);
  const journal = flags.out ?? options.journal;
  assertFlags(subject, flags, journal, options.gate !== undefined);
  const gate = options.gate === undefined
    ? undefined
    : parseWith(GATE_POLICY, options.gate, `the gate of ${subject}`);
  const baseline = baselineOfGate(gate);
  for (const notice of baseline?.notices ?? []) console.error(`${name}: ${notice}`);
  const missing = missingBaseline(gate, baseline);
  if (missing !== undefined && journal === undefined) {
    throw new InputError(`Cannot run ${subject} as ${missing}`);
  }
  const plan = planBenchmark(options, { ...registration, flags, journal, baseline });
  registerPlan(plan, options, { ...registration, flags, journal, baseline });
}

/** A run as it is registered. */
interface Registered extends RegisteredPlan {
  readonly flags: Flags;
  /** The file to which finished trials are appended. */
  readonly journal: string | undefined;
  /** What the gate compares with. */
  readonly baseline: Baseline | undefined;
}

function registerPlan(plan: Plan, options: BenchmarkOptions, registered: Registered): void {
  const { name, subject, flags, baseline, journal, titleOf } = registered;
  const { agent } = options;
  const missing = missingBaseline(plan.gate, baseline);
  const choices = modelChoices(options);
  const concurrency = flags.concurrency ?? options.concurrency;
  const connections = connectionsOf(options, plan, flags);
  if (baseline !== undefined) assertComparable(baseline, plan, plan.trials);
  const only = flags.only === undefined ? undefined : onlyTrials(plan, flags.only);
  if (only !== undefined) claimReplay(only.length > 0, flags.only!);
  // What a gate compares with is read only; several benchmarks may share it.
  if (baseline !== undefined) shareFile(baseline.file, "the baseline of a gate");
  if (journal !== undefined && only === undefined) claimFile(registered, journal, "trials");
  if (flags.verdict !== undefined) {
    claimFile(registered, flags.verdict, "verdicts");
    // A file that cannot be written is told before anything is paid for, and an old verdict goes.
    writeVerdicts(flags.verdict, reportProblem(name, "the run has not come to its end"));
  }
  const report = only === undefined ? flags.report ?? options.report : undefined;
  if (report !== undefined) claimFile(registered, report, "report");
  const begin = report === undefined ? () => {} : openReport(report);
  const interruption = new AbortController();
  const recordings = openRecordings(options, registered);
  const run = new Run(plan, {
    signal: interruption.signal,
    connect: (entry) => connectChoice(entry, choices, connections, agent),
    identify: (entry) => identityOfChoice(entry, choices),
    ...(recordings === undefined ? {} : { recordings }),
    slowStart: true,
    resume: flags.resume,
    retryInvalid: flags.retryInvalid,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(flags.shard === undefined ? {} : { shard: flags.shard }),
    ...(only === undefined ? {} : { only }),
    ...(baseline === undefined ? {} : { baseline }),
    // A replay looks at one trial; it is no part of any run.
    ...(journal === undefined || only !== undefined ? {} : { journal }),
    ...(agent === undefined ? {} : { agent }),
  });
  recordings?.claim(run.trials, subject);
  run.connect();
  for (const notice of run.notices) console.error(notice);
  // A replay is there to look at one trial, so it fails as the trial did.
  const ended: Ended = { begin, scores: [], trials: [], whole: report !== undefined, origin: "" };
  const strict = plan.gate === undefined || only !== undefined;
  const { signal } = interruption;
  registerCases(name, run, { strict, prices: plan.prices, titleOf, signal }, ended);
  if (plan.gate !== undefined) {
    const partial = flags.shard !== undefined || only !== undefined;
    if (!partial) tellForecast(name, plan);
    const file = flags.verdict;
    const gate = { plan, policy: plan.gate, run, baseline, missing, partial, file, ended, signal };
    registerGate(name, { ...gate, sharded: flags.shard !== undefined });
  }
  const writeTrials = async (trials: readonly Trial[], stopped: string | undefined) => {
    if (report === undefined || trials.length === 0) return;
    const { decision, origin } = ended;
    const replay = (trial: Trial) => replayLine(origin, trial);
    const { shard } = flags;
    await writeReport(report, plan, { trials, shard, decision, stopped, replay });
    console.log(`${name}: to look at it, open ${report}`);
  };
  const over = onInterruption(async () => {
    interruption.abort(new Error("the run was interrupted"));
    const hasBegun = run.inFlight > 0;
    const { trials, count, isWhole } = await endedTrials(run, ended);
    run[Symbol.dispose]();
    if (!hasBegun && count === 0) return;
    // Of several benchmarks in a file those that were over are not what was interrupted.
    const isOver = isWhole && (strict || flags.shard !== undefined || ended.decision !== undefined);
    if (isOver) return await writeTrials(trials, run.stopped);
    const all = run.trials.length;
    const kept = only !== undefined || journal === undefined
      ? "nothing is kept, as it has no journal"
      : `to continue, the same command with --resume`;
    console.error(`${name}: interrupted: ${count} of ${all} trials; ${kept}`);
    await writeTrials(trials, "the run was interrupted");
  });
  Deno.test.afterAll(async () => {
    await writeTrials(ended.trials, run.stopped);
    THROTTLES.tellWaiting();
    // What was replayed was told at the start.
    const lines = recordings?.mode === "replay" ? recordings.doubts : recordings?.summary;
    for (const line of lines ?? []) console.error(`${name}: ${line}`);
    run[Symbol.dispose]();
    await connections[Symbol.asyncDispose]();
    over();
  });
}

/**
 * Whatever has ended, once what is in flight is given up: how many trials, and all of each where a report
 * shows them; and whether no needed one is missing.
 */
async function endedTrials(run: Run, { whole }: Pick<Ended, "whole">) {
  const settled = await Promise.allSettled(
    run.trials.map(async (_, place) => {
      // Of what no report shows its score is left, and nothing more.
      if (!whole && run.score(place) !== undefined) return undefined;
      return await run.trial(place);
    }),
  );
  const trials = settled.flatMap((one) =>
    one.status === "fulfilled" && one.value?.kind === "trial" ? [one.value] : []
  );
  return {
    trials: whole ? trials : [],
    count: run.trials.filter((_, place) => run.score(place) !== undefined).length,
    isWhole: settled.every(({ status }) => status === "fulfilled"),
  };
}

/** Shared by all benchmarks of a file: the limits of a server are the same for all of them. */
const THROTTLES = new RateLimiters((line) => console.error(line));

/** What was told of recordings once: a file of tests has many. */
const told = new Set<string>();

function openRecordings(
  options: BenchmarkOptions,
  { flags, subject }: Registered,
): Recordings | undefined {
  const wanted = recordingsOf(options, flags, subject);
  if (wanted === undefined) return undefined;
  const recordings = new Recordings(wanted);
  if (!told.has(recordings.notice)) console.error(recordings.notice);
  told.add(recordings.notice);
  return recordings;
}

function connectionsOf(
  options: BenchmarkOptions,
  { callSets = [] }: Plan,
  { rates }: Flags,
): Connections {
  const { baseURL, retries, requestTimeout, requestsPerMinute, tokensPerMinute } = options;
  return new Connections({
    sets: callSets,
    limiters: THROTTLES,
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
    ...rates,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(retries === undefined ? {} : { retries }),
    ...(requestTimeout === undefined ? {} : { requestTimeout }),
  });
}

/** So many replay lines a benchmark with a gate prints. */
const MOST_REPLAYS = 5;

/** Retries would turn pass@1 into pass@k; sanitizers take trials that run ahead for leaks. */
const ONCE_AND_AHEAD = {
  ...{ retry: 0, repeats: 0, sanitizeOps: false, sanitizeResources: false },
  // An interruption ends the process in the midst of a test; `underWay` sees to all other exits.
  sanitizeExit: false,
};

/** What a run has come to so far. */
interface Ended {
  /** To be called before a trial is run. */
  readonly begin: () => void;
  /** In the order in which they were asked for; all of them once the gate has decided. */
  scores: TrialSummary[];
  /** The same with all that happened; empty unless a report shows them. */
  trials: Trial[];
  /** Whether a report shows them. */
  readonly whole: boolean;
  /** What the gate decided. */
  decision?: GateReport;
  /** The file of the tests, as a URL. */
  origin: string;
}

interface CaseOptions extends Pick<RegisteredPlan, "titleOf"> {
  /** Whether a case fails when its trial is not as it should be. */
  readonly strict: boolean;
  readonly prices: Plan["prices"];
  /** Aborts when the run is interrupted. */
  readonly signal: AbortSignal;
}

function registerCases(
  name: string,
  run: Run,
  { strict, prices, titleOf, signal }: CaseOptions,
  ended: Ended,
): void {
  const cases = run.trials.map((planned, place) => ({ title: titleOf(planned), place }));
  let replays = 0;
  Deno.test.each(cases)("$title", ONCE_AND_AHEAD, async ({ place }, context) => {
    ended.begin();
    const trial = await underWay(run.trial(place), signal).catch(withoutFrames);
    if (trial.kind === "needless") return await skip(trial, strict, context);
    ended.origin = context.origin;
    ended.scores.push(run.score(place)!);
    if (ended.whole) ended.trials.push(trial);
    // Thousands of trials with all that happened in them would fill the memory.
    else run.forget(place);
    const isIdle = strict && trial.changed === false && isCase(trial.task);
    if ((trial.solved || trial.outcome === "abstained") && !isIdle) return;
    const replay = `replay: ${replayLine(context.origin, trial)}`;
    if (strict) {
      try {
        assertRight(trial);
        assertPerturbed(trial);
      } catch (error) {
        throw withLine(error as AssertionError, replay);
      }
    }
    const { describeOutcome } = await import("../reports/story.ts");
    // Hundreds of replay lines would bury the verdict.
    console.log(
      replays++ < MOST_REPLAYS ? `${describeOutcome(trial)}\n${replay}` : describeOutcome(trial),
    );
  });
  if (!strict) return;
  Deno.test.afterAll(async () => {
    const { scores } = ended;
    if (scores.length <= 1) return;
    const { renderTables } = await import("../reports/terminal.ts");
    console.log(`\n${name}\n\n${renderTables(scores, prices)}\n`);
  });
}

/** A test of one's own tools that changes nothing would say that they are robust. */
function assertPerturbed({ changed, perturbation, task }: Trial): void {
  if (changed !== false || !isCase(task)) return;
  throw new AssertionError(
    `The perturbation ${perturbation} found nothing to change, so that the test says nothing of it. What ` +
      "the question tells is found by the arguments of oracle, or told by parameters",
  );
}

/** An error with one more line; its stack leads to where it came about in the user's file, if anywhere. */
function withLine({ message, stack = "" }: AssertionError, line: string): AssertionError {
  const error = new AssertionError(`${message}\n${line}`);
  const place = /\n {4}at ([^\s()]+:\d+:\d+)$/.exec(stack)?.[1];
  const url = place === undefined ? undefined : new URL(place, `file://${Deno.cwd()}/`).href;
  // What stands before the frames is shown again, unless it is one line.
  error.stack = "AssertionError" + (url === undefined ? "" : `\n    at ${url}`);
  return error;
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
  // An estimate opens tasks, which runs code of the user's own.
  const cost = plan.prices === undefined ? [] : forecastCost(plan, estimateUsage(plan), told);
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
  /** Aborts when the run is interrupted. */
  readonly signal: AbortSignal;
}

function registerGate(name: string, test: GateTest): void {
  const { plan, policy, run, baseline, missing, partial, sharded, file, ended, signal } = test;
  if (partial) {
    console.error(
      `${name}: the gate needs all trials; this is a part of them, so it is ignored` +
        (policy.sequential ? ", and nothing is stopped early" : "") +
        (sharded ? ". Over the journals of all shards decides: deno task toolgate gate" : ""),
    );
  }
  let decided = false;
  const tell = async (trials: readonly TrialSummary[], decision: GateReport) => {
    const { gateToMarkdown, renderGate, summarizeJob } = await reportTexts();
    console.log(`\n${name}\n\n${renderGate(trials, decision)}\n`);
    summarizeJob(gateToMarkdown(decision));
    if (file !== undefined) writeVerdicts(file, decision);
    ended.decision = decision;
  };
  Deno.test(`${name} > gate`, { ...ONCE_AND_AHEAD, ignore: partial }, async ({ origin }) => {
    ended.begin();
    const trials = await underWay(run.scores(), signal).catch(withoutFrames);
    ended.scores = trials;
    if (ended.whole) ended.trials = await run.all();
    ended.origin = origin;
    const { rule, prices } = plan;
    decided = true;
    if (missing !== undefined) {
      const problem = reportProblem(name, missing);
      await tell(trials, problem);
      throw await verdictError(problem);
    }
    const judged: readonly DecidedVariant[] = decideTrials(trials, plan.trials, policy, {
      rule,
      prices,
      baseline,
      stopped: run.stopped,
    });
    await tell(trials, reportVerdicts(name, judged, policy, compareStrategies(trials, prices)));
    const failed = judged.filter(({ verdict }) => !passes(verdict, policy));
    if (failed.length > 0) {
      throw await verdictError(reportVerdicts(name, failed, policy));
    }
    if (judged.length === 0) throw new AssertionError("INVALID: there is nothing to decide");
  });
  if (partial) return;
  Deno.test.afterAll(() => {
    if (!decided) console.error(`${name}: the gate did not run: nothing was decided`);
  });
}

/** The texts of reports: loaded when a gate has decided, as most of them are large. */
async function reportTexts() {
  const [{ summarizeJob }, { gateToMarkdown }, { renderGate }, { renderVerdicts }] = await Promise
    .all([
      import("../reports/job_summary.ts"),
      import("../reports/markdown.ts"),
      import("../reports/terminal.ts"),
      import("../reports/verdicts.ts"),
    ]);
  return { gateToMarkdown, renderGate, renderVerdicts, summarizeJob };
}

/** What the gate decided, as an error; a stack would lead into files of ours. */
async function verdictError(decision: GateReport): Promise<AssertionError> {
  const { renderVerdicts } = await reportTexts();
  const error = new AssertionError(renderVerdicts(decision));
  error.stack = "AssertionError";
  return error;
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
    trial.perturbation === key.perturbation && isOfKind(key.task, trial.task)
  );
  return known ? [{ ...key, id, index: 0, block: 0 }] : [];
}

/** Whether a benchmark that has one task could have the other: cases of one's own are one each. */
function isOfKind(one: TaskSpec, other: TaskSpec): boolean {
  if (isCase(one)) return isCase(other) && one.case === other.case;
  return !isCase(other);
}

/** Whether any benchmark of this file has the trial of `--only`, and whether that is looked at. */
const replay = { found: false, watched: false };

/** A file none of whose benchmarks has the trial fails. */
function claimReplay(found: boolean, id: string): void {
  replay.found ||= found;
  if (found || replay.watched) return;
  replay.watched = true;
  Deno.test("replay", ONCE_AND_AHEAD, () => {
    if (replay.found) return;
    throw new AssertionError(
      `Cannot run --only=${id} as nothing in this file has its task, model, strategy and perturbation`,
    );
  });
}

function replayLine(origin: string, { id }: Trial): string {
  const file = decodeURIComponent(new URL(origin).pathname);
  const here = `${Deno.cwd()}/`;
  const path = file.startsWith(here) ? file.slice(here.length) : file;
  return `deno test -A ${quoted(path)} -- --only=${quoted(id)}`;
}
