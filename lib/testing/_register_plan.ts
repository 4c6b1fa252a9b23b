/**
 * Registration of a run: one test for each of its trials, and one for its gate.
 * @module
 */

import defer * as paths from "node:path";
import { onInterruption, untilInterrupted } from "./_interruption.ts";
import type { Declared } from "./options.ts";
import { printable } from "../base/json.ts";
import { reportProblem } from "../gate/gate_report.ts";
import { type Flags, parseFlags } from "./_flags.ts";
import { commandLine } from "../base/command_line.ts";
import { countText } from "../base/numbers.ts";
import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { type CompletePolicy, isUpgrade } from "../gate/policy.ts";
import type { Plan, TaskSource } from "../runs/plan.ts";
import { type CaseRegistration, registerCases, type RunState } from "./_register_cases.ts";
import { annotateRest, ONCE_AND_AHEAD } from "./_register.ts";
import { onlyTrials, rerunLine, rerunTest } from "./_only.ts";
import { type DerivedAgain, derivedAgain, gateTest, owe, writeVerdicts } from "./_gate_test.ts";
import { claimFile, type FileOwner, shareFile, withFileNames } from "./_claimed_files.ts";
import { besideTestFile, sourcesOfCallers, testFile } from "./_sources.ts";
import { howToSee, openReports, writeReports } from "./_write_report.ts";
import { ProgressLines } from "./_progress_lines.ts";
import { assertCreatable, assertReplaceable } from "../base/output_file.ts";
import { type Place, shownFile } from "../base/user_code.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import type { Run, RunOptions } from "../runs/run.ts";
import { partText } from "../runs/shard_text.ts";
import {
  gateOfFolder,
  type PlannedRun,
  planRun,
  type Printer,
  printForecast,
  RunSession,
  type Settings,
  settingsOf,
  suiteSettings,
} from "../runs/session.ts";
import type { Suite } from "../runs/suite.ts";
import type { TaskSpec } from "../trials/executors/task_kind.ts";
import type { Trial } from "../trials/trial.ts";
import type { ModelEntry } from "../models/entry.ts";
import { type Connections, identityOf } from "../models/connect.ts";
import { InfrastructureError, type Model } from "../models/model.ts";
import type { Recordings } from "../models/recordings/recordings.ts";
import { autoSummary } from "../models/recordings/summary.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";

/** The registration of a benchmark or a suite of tool tests, with the place and the names of its tests. */
export interface RegisteredPlan
  extends FileOwner, CaseRegistration, Pick<RunOptions, "recorded" | "leaves" | "variantAgents"> {
  /** How errors refer to it. */
  readonly subject: string;
  /** The source of tasks that no option names. */
  readonly source?: TaskSource;
  /** The places in the user's files that lead to it, innermost first. */
  readonly callers: readonly Place[];
  /** Whether other test files may have tests of it, as they share the module that makes it; default false. */
  readonly shared?: boolean;
  /** Returns the user's own models for trials of a task, by name; default: those of the options. */
  readonly ownOf?: (task: TaskSpec) => ReadonlyMap<string, Model> | undefined;
}

/**
 * Registers a benchmark: one test case per trial and, with a gate, one test that decides.
 *
 * @throws {InputError} If an option or flag cannot be used; the message has its path and the rule.
 */
export function registerBenchmark(declared: Declared, registration: RegisteredPlan): void {
  const { subject, name } = registration;
  const flags = parseFlags(Deno.args, subject);
  const settings = withFileNames(
    settingsOf(declared.settings, flags, () => besideTestFile("recordings")),
    registration,
  );
  assertFlags(subject, flags, settings, registration);
  const planned = planDeclared(declared, settings, registration);
  if (planned.missing !== undefined) {
    if (settings.journal === undefined) throw cannot(`run ${subject}`, planned.missing);
    // Before anything is paid for.
    printerOf(name).warn(`the gate cannot decide: ${planned.missing}`);
  }
  const { stopped, wave } = planned.wave ?? {};
  if (stopped !== undefined) {
    throw cannot(
      `run ${subject}`,
      `nothing is left to run in wave ${wave!.index}/${wave!.of}`,
      stopped,
    );
  }
  registerPlan(planned, declared, registration);
}

/** Refuses flags that would have no effect on tests, or lose paid results. */
function assertFlags(
  subject: string,
  { requireGate, verdict, report, shard, wave, only, traces, journal: out }: Flags,
  { gate, journal, ...settings }: Settings,
  { recorded }: RegisteredPlan,
): void {
  const part = shard !== undefined ? "shard" : wave !== undefined ? "wave" : undefined;
  const isPart = part !== undefined || only !== undefined;
  const kept = out !== undefined ? "--out" : report !== undefined ? "--report" : undefined;
  const table: [when: boolean | undefined, rule: string][] = [
    [requireGate && isPart, "--require-gate needs all trials, over which the gate decides"],
    // A flag is for all benchmarks of its files, of which some may have no gate.
    [
      settings.requireGate && !requireGate && gate === undefined,
      "requireGate needs a gate",
    ],
    [
      verdict !== undefined && (gate === undefined || isPart),
      "--verdict needs a gate that decides, over all trials",
    ],
    [
      only !== undefined && kept !== undefined,
      `--only goes without ${kept}: it runs one trial and does not keep it`,
    ],
    [
      part !== undefined && gate !== undefined && journal === undefined,
      `--${part} needs --out=FILE, as its gate is decided over the journals of all ${part}s`,
    ],
    [
      traces !== undefined && recorded === undefined,
      `--traces=${traces} needs tool tests, of which traces are: it has other tasks`,
    ],
  ];
  const rule = table.find(([when]) => when)?.[1];
  if (rule !== undefined) throw new InputError(`Cannot run ${subject}: ${rule}`);
}

/** Plans a benchmark; prints its seed and the number of skipped crossings. */
function planDeclared(
  { suite, own, agent, skipped }: Declared,
  settings: Settings,
  { name, subject, source, callers, shared, variantAgents }: RegisteredPlan,
): PlannedRun {
  const isAgent = (agent ?? suite.agent ?? variantAgents) !== undefined;
  const ownCode = isAgent || source !== undefined || own.size > 0;
  const isWatched = ownCode && settings.journal !== undefined;
  return planRun({
    subject,
    suite: besideFile(
      { ...suite, ...suiteSettings(settings), name },
      callers[0]?.url ?? Deno.mainModule,
    ),
    settings,
    source,
    agent: isAgent,
    ownCode,
    sources: isWatched ? sourcesOfCallers(callers) : undefined,
    file: isWatched ? testFile() : undefined,
    skipped,
    printer: printerOf(name),
    shared,
  });
}

/** Returns a suite whose baseline has its path from the working folder: in a test file it is from there, as imports are. */
function besideFile(suite: Suite, url: string): Suite {
  const { gate } = suite;
  if (gate === undefined || !isUpgrade(gate) || typeof gate.baseline === "string") return suite;
  const { file } = gate.baseline;
  if (file === undefined || paths.isAbsolute(file)) return suite;
  const baseline = { ...gate.baseline, file: paths.join(paths.dirname(shownFile(url)), file) };
  return { ...suite, gate: { ...gate, baseline } };
}

/** Returns where a benchmark says what matters about its run. */
function printerOf(benchmark: string): Printer {
  const name = printable(benchmark, Infinity);
  return {
    note: (line) => console.log(`${name}: ${line}`),
    // By the same stream as notes: of two, the runner shows lines in any order.
    warn: (line) => console.log(`${name}: warning: ${line}`),
    flagPrefix: "-- ",
    flagHint: "  (without -- Deno takes it)",
  };
}

/** The model of an entry at its server; an agent (`isAgent`) need not ask it, and may name others. */
function connectEntry(entry: ModelEntry, connections: Connections, isAgent: boolean): Model {
  try {
    return connections.model(entry);
  } catch (error) {
    if (!isAgent || !isErrorOf(error, InputError) || entry.model.startsWith("sim:")) throw error;
    const { model } = entry;
    const who = printable(model);
    const { message } = error;
    const fail = () => Promise.reject(new InfrastructureError(message, { permanent: "key" }));
    return {
      ...{ ...identityOf(entry), reply: fail },
      server: { model, who, hide: (text) => text, quote: (text) => text, forward: fail },
    };
  }
}

function registerPlan(
  planned: PlannedRun,
  { own, agent, suite }: Declared,
  registration: RegisteredPlan,
): void {
  const { register, recorded, leaves, variantAgents } = registration;
  const name = printable(registration.name, Infinity);
  const { plan, settings, baseline, missing, wave } = planned;
  const { journal, verdict, shard } = settings;
  const isPart = shard !== undefined || wave !== undefined;
  const isAgent = (agent ?? suite.agent ?? variantAgents) !== undefined;
  const ownOf = (task: TaskSpec) => registration.ownOf?.(task) ?? own;
  const only = settings.only === undefined ? undefined : onlyTrials(plan, settings.only);
  if (only !== undefined) {
    const test = rerunTest(only.length > 0, settings.only!, plan);
    if (test !== undefined) register({ ...ONCE_AND_AHEAD, name: "rerun", fn: test });
  }
  // A baseline is only read; several benchmarks may share it.
  if (baseline !== undefined) shareFile(baseline.file, "the baseline of a gate");
  if (journal !== undefined && only === undefined) claimFile(registration, journal, "trials");
  // One file of a suite must not make a baseline of its tests alone.
  const isShared = settings.folder !== undefined || registration.shared === true;
  const records = isShared ? undefined : plan.records;
  if (records !== undefined && only === undefined) {
    claimFile(registration, records, "baseline");
    assertCreatable(records, "the baseline");
  }
  if (verdict !== undefined) {
    claimFile(registration, verdict, "verdicts");
    assertReplaceable(verdict, "the verdicts to", {
      kind: "a file of verdicts",
      isOwn: (value) => "verdict" in value,
    });
    // An unwritable file must fail before anything is paid for; an old verdict is overwritten.
    writeVerdicts(verdict, reportProblem(name, "the run has not come to its end"));
  }
  const reports = only === undefined ? [settings.report ?? []].flat() : [];
  for (const report of reports) claimFile(registration, report, "report");
  const begin = openReports(reports);
  const progress = new ProgressLines(name, plan);
  const interruption = new AbortController();
  const session = new RunSession(planned, RATE_LIMITERS);
  const { recordings } = session;
  if (recordings !== undefined) printOnce(recordings.notice);
  const run = session.begin({
    signal: interruption.signal,
    connect: (entry, task) =>
      ownOf(task).get(entry.model) ?? connectEntry(entry, session.connections, isAgent),
    identify: (entry, task) => ownOf(task).get(entry.model) ?? identityOf(entry),
    slowStart: true,
    onTrial(trial, resumed) {
      const note = progress.count(trial, resumed);
      if (note !== undefined) console.error(`${name}: ${note}`);
    },
    ...{ only, recorded, leaves, variantAgents },
    agent: agent ?? planned.agent,
  });
  // What could not be begun is never over.
  const auto = recordings?.mode === "auto" ? autoRuns(recordings) : undefined;
  // A trial run again fails whenever its trial does, even with a gate.
  const state: RunState = {
    begin() {
      begin();
      progress.begin(run);
    },
    asked: 0,
    scores: [],
    trials: [],
    failures: new FailedTrials(),
    whole: reports.length > 0,
    isOwed: false,
  };
  const strict = plan.gate === undefined || only !== undefined;
  const { signal } = interruption;
  let derived: Promise<DerivedAgain> | undefined;
  const derive = () => derived ??= derivedAgain({ run, journal, baseline, earlier: wave?.earlier });
  const where = howToSee(reports, journal);
  const rerun = (trial: Pick<Trial, "id" | "model" | "strategy" | "task">) =>
    rerunLine(trial, { plan, own: ownOf(trial.task) });
  const finished = <T>(work: Promise<T>) => progress.during(untilInterrupted(work, signal));
  registerCases(registration, run, { plan, strict, rerun, derive, finished, only }, state);
  if (plan.gate !== undefined) {
    const partial = isPart || only !== undefined;
    if (!partial) printForecast(plan, printerOf(name));
    else tellPartial(name, plan.gate, planned);
    state.isOwed = !partial;
    const { gate: policy } = plan;
    const fn = gateTest(name, {
      ...{ plan, policy, run, baseline, missing, file: verdict, derive, state, finished, where },
      rerun,
      scope: scopeNotes(plan, settings, registration),
      records,
    });
    register({ ...ONCE_AND_AHEAD, name: `${name} > gate`, ignore: partial, fn });
  }
  const writeTrials = async (trials: readonly Trial[], stopped: string | undefined) => {
    if (reports.length === 0 || trials.length === 0) return;
    const { decision, failures } = state;
    // Of an interrupted run some may have ended without their case.
    for (const trial of trials) if (isFailed(trial)) failures.add(trial, rerun(trial));
    await writeReports(reports, plan, {
      ...{ trials, failures, decision, stopped, rerun, where },
      part: isPart ? partText(shard ?? { index: 1, of: 1 }, wave?.wave) : undefined,
    });
    console.log(`${name}: report: ${reports.join(", ")}`);
  };
  const stopListening = onInterruption(async () => {
    interruption.abort(new Error("the run was interrupted"));
    const hasBegun = run.inFlight > 0;
    const { trials, count, isWhole } = await finishedTrials(run, state);
    run[Symbol.dispose]();
    if (!hasBegun && count === 0) return;
    // Of several benchmarks in a file, those already over were not interrupted.
    const isOver = isWhole && (strict || isPart || state.decision !== undefined);
    if (isOver) return await writeTrials(trials, run.stopped);
    const planned = run.trials.length;
    const advice = only !== undefined || journal === undefined
      ? "nothing is kept, as it has no journal"
      : `to continue, the same command with --resume`;
    console.error(`${name}: interrupted: ${count} of ${planned} trials; ${advice}`);
    await writeTrials(trials, "the run was interrupted");
  });
  Deno.test.afterAll(async () => {
    await writeTrials(state.trials, run.stopped);
    annotateRest();
    RATE_LIMITERS.tellWaiting();
    // The summary of a replay was printed at the start, and one line at the end is for all that share a folder.
    const lines = recordings?.mode === "record" ? recordings.summary : recordings?.doubts;
    for (const line of lines ?? []) console.error(`${name}: ${line}`);
    if (auto !== undefined && --auto.open === 0) {
      for (const line of autoSummary(auto.runs, "file")) console.error(line);
    }
    const ahead = run.begun - state.asked;
    if (ahead > 0 && state.asked > 0 && state.decision === undefined) {
      console.error(`${name}: ${aheadText(ahead)}`);
    }
    // Trials that were begun ahead may have servers and databases of their own.
    await run[Symbol.asyncDispose]();
    stopListening();
    if (!state.isOwed) return;
    console.error(`${name}: the gate did not run: nothing was decided`);
    if (settings.requireGate) owe(name);
  });
}

/** Says that trials of tests which were not selected were paid for. */
function aheadText(count: number): string {
  return `${count} ${
    count === 1 ? "trial" : "trials"
  } had begun ahead of tests that were then not run`;
}

/** Says that a gate has seen the tests of one file, where its folder may have the journals of other files. */
function scopeNotes(
  { resolved: { cells } }: Plan,
  { folder }: Settings,
  { file }: RegisteredPlan,
): string[] {
  if (folder === undefined || file === undefined) return [];
  const tests = `${countText(cells.length, "test")} of ${printable(file, 200)}`;
  return [
    `speaks for ${tests} alone; over all files of the suite decides: ${gateOfFolder(folder)}`,
  ];
}

/** Says why the gate of a part of a plan is ignored. */
function tellPartial(
  name: string,
  { sequential }: CompletePolicy,
  { wave, settings: { shard } }: PlannedRun,
): void {
  const parts = wave !== undefined
    ? "shards and waves"
    : shard !== undefined
    ? "shards"
    : undefined;
  console.error(
    `${name}: the gate needs all trials; this is a part of them, so it is ignored` +
      (sequential && wave === undefined ? ", and nothing is stopped early" : "") +
      (parts === undefined
        ? ""
        : `. Over the journals of all ${parts} decides: ${commandLine("gate")}`),
  );
}

/**
 * The finished trials once those in flight are abandoned: their number, the whole trials if a report shows
 * them, and whether no needed one is missing.
 */
async function finishedTrials(run: Run, { whole }: Pick<RunState, "whole">) {
  const settled = await Promise.allSettled(
    run.trials.map(async (_, place) => {
      // Only the summary of a forgotten trial is left.
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

/** Shared by all benchmarks of a file, as a server's limits apply to all of them. */
const RATE_LIMITERS = new RateLimiters((line) => console.error(line));

/** Benchmarks that share a folder in mode `auto`. */
interface AutoRuns {
  readonly runs: Recordings[];
  /** How many of them are not over. */
  open: number;
}

const autoFolders = new Map<string, AutoRuns>();

/** Adds a benchmark to those that share its folder. */
function autoRuns(recordings: Recordings): AutoRuns {
  const auto = autoFolders.getOrInsertComputed(recordings.folder, () => ({ runs: [], open: 0 }));
  auto.runs.push(recordings);
  auto.open++;
  return auto;
}

/** Notices that were printed already. */
const printedNotices = new Set<string>();

/** Prints a notice once for all benchmarks of a file. */
function printOnce(notice: string): void {
  if (!printedNotices.has(notice)) console.error(notice);
  printedNotices.add(notice);
}
