/**
 * Registration of a run: one test for each of its trials, and one for its gate.
 * @module
 */

import * as paths from "node:path";
import { onInterruption } from "./_interruption.ts";
import type { Declared } from "./options.ts";
import { printable } from "../base/json.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";
import { type Flags, parseFlags } from "./_flags.ts";
import { commandLine } from "../base/command_line.ts";
import { countText } from "../base/numbers.ts";
import { cannot, InputError, isErrorOf } from "../base/errors.ts";
import { type CompletePolicy, isUpgrade } from "../gate/policy.ts";
import type { Plan } from "../runs/plan.ts";
import { notWhole, remarksOf } from "../runs/remarks.ts";
import { registerCases } from "./_register_cases.ts";
import { RATE_LIMITERS, type Registration, TestedRun } from "./_tested_run.ts";
import { annotateRest } from "./_register.ts";
import { isTesting, perFile, runner } from "./_runners.ts";
import { onlyTrials, rerunTest } from "./_only.ts";
import { claimFile, shareFile, withFileNames } from "./_claimed_files.ts";
import { besideTestFile, sourcesOfCallers, testFile } from "./_sources.ts";
import { assertCreatable, assertReplaceable, writeOutput } from "../base/output_file.ts";
import { shownFile } from "../base/user_code.ts";
import {
  gateOfFolder,
  type PlannedRun,
  planRun,
  type Printer,
  printForecast,
  type Settings,
  settingsOf,
  suiteSettings,
} from "../runs/session.ts";
import { listOf, type Suite } from "../runs/suite.ts";
import type { TaskSpec } from "../tasks/task_kind.ts";
import type { ModelEntry } from "../models/entry.ts";
import { type Connections, identityOf } from "../models/connect.ts";
import { InfrastructureError, type Model } from "../models/model.ts";
import type { Recordings } from "../models/recordings/recordings.ts";
import { recordSourcesBy } from "../models/recordings/sources.ts";
import { runsSummary } from "../models/recordings/summary.ts";
import { AssertionError } from "@std/assert/assertion-error";
import { passes } from "./assertions/_trials.ts";
import type { Baseline } from "../runs/baseline.ts";
import { comparedParts } from "../runs/compared_baseline.ts";
import { assertOtherRun } from "../runs/trial_keys.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { isFailed } from "../reports/failures.ts";
import { recordBaseline } from "../runs/record.ts";
import { planLine } from "../runs/journal/plan_line.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { testWidth } from "../base/terminal_width.ts";

// Tools of servers may be made before any test is declared. The arguments of other programs are none of toolgate's.
recordSourcesBy(() => {
  if (!isTesting()) return undefined;
  const flags = parseFlags(runner().flags(), "tools of servers");
  return settingsOf({}, flags, () => besideTestFile("recordings")).recordings;
});

/**
 * Registers a benchmark: one test case per trial and, with a gate, one test that decides.
 *
 * @throws {InputError} If an option or flag cannot be used; the message has its path and the rule.
 */
export function registerBenchmark(declared: Declared, registration: Registration): void {
  const { subject, name } = registration;
  const flags = parseFlags(runner().flags(), subject);
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
  { requireGate, verdict, report, shard, wave, only, traces, journal: out, serve }: Flags,
  { gate, journal, ...settings }: Settings,
  { recorded }: Registration,
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
      only !== undefined && serve,
      "--only goes without --serve: it runs one trial, whose test tells it",
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
  { name, subject, source, callers, shared, variantAgents }: Registration,
): PlannedRun {
  const isAgent = (agent ?? suite.agent ?? variantAgents) !== undefined;
  const ownCode = isAgent || source !== undefined || own.size > 0;
  const isWatched = ownCode && settings.journal !== undefined;
  return planRun({
    subject,
    suite: besideFile(
      { ...suite, ...suiteSettings(settings), name },
      callers[0]?.url ?? runner().file().url,
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
    ...runner().flagHint,
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
      ...identityOf(entry),
      reply: fail,
      server: { model, who, hide: (text) => text, quote: (text) => text, forward: fail },
    };
  }
}

function registerPlan(
  planned: PlannedRun,
  { own, agent, suite }: Declared,
  registration: Registration,
): void {
  const { register, recorded, leaves, variantAgents } = registration;
  const { plan, settings } = planned;
  const only = settings.only === undefined ? undefined : onlyTrials(plan, settings.only);
  if (only !== undefined) {
    const test = rerunTest(only.length > 0, settings.only!, plan);
    if (test !== undefined) register({ name: "rerun", fn: test });
  }
  // One file of a suite must not make a baseline of its tests alone.
  const isShared = settings.folder !== undefined || registration.shared === true;
  const records = isShared ? undefined : plan.records;
  const reports = only === undefined ? listOf(settings.report) : [];
  claimFiles(planned, registration, { reports, records, isOne: only !== undefined });
  const ownOf = (task: TaskSpec) => registration.ownOf?.(task) ?? own;
  const isAgent = (agent ?? suite.agent ?? variantAgents) !== undefined;
  const tested = new TestedRun(
    { planned, registration, only, reports, ownOf },
    ({ connections }) => ({
      recorded,
      leaves,
      variantAgents,
      agent: agent ?? planned.agent,
      connect: (entry, task) =>
        ownOf(task).get(entry.model) ?? connectEntry(entry, connections, isAgent),
      identify: (entry, task) => ownOf(task).get(entry.model) ?? identityOf(entry),
    }),
  );
  registerCases(tested);
  if (plan.gate !== undefined) registerGate(tested, plan.gate, records);
  endWell(tested);
}

/** Claims the files that a run writes, before anything is paid for. */
function claimFiles(
  { baseline, settings: { journal, verdict } }: PlannedRun,
  registration: Registration,
  { reports, records, isOne }: {
    readonly reports: readonly string[];
    /** The baseline that it may write. */
    readonly records: string | undefined;
    /** Whether it is one trial alone, of which nothing is kept. */
    readonly isOne: boolean;
  },
): void {
  // A baseline is only read; several benchmarks may share it.
  if (baseline !== undefined) shareFile(baseline.file, "the baseline of a gate");
  if (journal !== undefined && !isOne) claimFile(registration, journal, "trials");
  if (records !== undefined && !isOne) {
    claimFile(registration, records, "baseline");
    assertCreatable(records, "the baseline");
  }
  if (verdict !== undefined) {
    claimFile(registration, verdict, "verdicts");
    assertReplaceable(verdict, "the verdicts to", {
      kind: "a file of verdicts",
      isOwn: (value) => "verdict" in value,
    });
    // An old verdict is overwritten.
    const name = printable(registration.name, Infinity);
    writeVerdicts(verdict, reportProblem(name, "the run has not come to its end"));
  }
  for (const report of reports) claimFile(registration, report, "report");
}

/** Registers the test of a gate, which is left out where a part of the trials is run. */
function registerGate(
  tested: TestedRun,
  policy: CompletePolicy,
  records: string | undefined,
): void {
  const { name, plan, planned, isPart, only, registration } = tested;
  const isWhole = !isPart && only === undefined;
  if (isWhole) printForecast(plan, printerOf(name));
  else tellPartial(name, policy, planned);
  tested.isOwed = isWhole;
  const scope = scopeNotes(plan, planned.settings, registration);
  registration.register({
    name: `${name} > gate`,
    ignore: !isWhole,
    fn: gateTest(tested, policy, { scope, records }),
  });
}

/** Writes and says what is left to once a run is over or interrupted. */
function endWell(tested: TestedRun): void {
  const { name, run, strict, isPart, only, recordings, planned: { settings } } = tested;
  // What could not be begun is never over.
  const auto = recordings?.mode === "auto" ? autoRuns(recordings) : undefined;
  const stopListening = onInterruption(async () => {
    tested.interruption.abort(new Error("the run was interrupted"));
    const hasBegun = run.inFlight > 0;
    const { trials, count, isWhole } = await tested.finishedTrials();
    run[Symbol.dispose]();
    if (!hasBegun && count === 0) return;
    // Of several benchmarks in a file, those already over were not interrupted.
    const isOver = isWhole && (strict || isPart || tested.decision !== undefined);
    if (isOver) return await tested.writeReports(trials, run.stopped);
    const advice = only !== undefined || settings.journal === undefined
      ? "nothing is kept, as it has no journal"
      : `to continue, the same command with --resume`;
    console.error(`${name}: interrupted: ${count} of ${run.trials.length} trials; ${advice}`);
    await tested.writeReports(trials, "the run was interrupted");
  });
  runner().afterAll(async () => {
    await tested.writeReports(tested.trials, run.stopped);
    annotateRest();
    RATE_LIMITERS.tellWaiting();
    // The summary of a replay was printed at the start, and one line at the end is for all that share a folder.
    const lines = recordings?.mode === "record" ? recordings.summary : recordings?.doubts;
    for (const line of lines ?? []) console.error(`${name}: ${line}`);
    if (auto !== undefined && --auto.open === 0) {
      for (const line of runsSummary(auto.runs, "file")) console.error(line);
    }
    const ahead = run.begun - tested.asked;
    if (ahead > 0 && tested.asked > 0 && tested.decision === undefined) {
      const what = countText(ahead, "trial");
      console.error(`${name}: ${what} had begun ahead of tests that were then not run`);
    }
    // Trials that were begun ahead may have servers and databases of their own.
    await run[Symbol.asyncDispose]();
    stopListening();
    if (!tested.isOwed) return;
    console.error(`${name}: the gate did not run: nothing was decided`);
    if (settings.requireGate) owe(name);
  });
}

/** Says that a gate has seen the tests of one file, where its folder may have the journals of other files. */
function scopeNotes(
  { resolved: { cells } }: Plan,
  { folder }: Settings,
  { file }: Registration,
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

/** Benchmarks that share a folder in mode `auto`. */
interface AutoRuns {
  readonly runs: Recordings[];
  /** How many of them are not over. */
  open: number;
}

const autoFolders = perFile(() => new Map<string, AutoRuns>());

/** Adds a benchmark to those that share its folder. */
function autoRuns(recordings: Recordings): AutoRuns {
  const auto = autoFolders().getOrInsertComputed(recordings.folder, () => ({ runs: [], open: 0 }));
  auto.runs.push(recordings);
  auto.open++;
  return auto;
}

/**
 * Returns what the test of a gate does: it runs what is left of the plan, decides, and fails unless that passes.
 *
 * @param scope What else the verdict must say of the trials that it is about.
 * @param records The baseline that is written if it passes; `undefined` for none.
 */
function gateTest(
  tested: TestedRun,
  policy: CompletePolicy,
  { scope, records }: { readonly scope: readonly string[]; readonly records: string | undefined },
): () => Promise<void> {
  const { name, plan, run, planned: { baseline, missing, settings: { verdict: file } } } = tested;
  return async () => {
    await tested.begin();
    const trials = await tested.finished(run.scores());
    tested.scores = trials;
    const whole = await run.all();
    if (tested.whole) tested.trials = whole;
    // Cases that were not selected have not added theirs.
    for (const trial of whole) {
      if (isFailed(trial)) tested.failures.add(trial, tested.rerun(trial));
    }
    // Loaded when a gate is about to decide, as most are large.
    const [{ summarizeJob }, { gateToMarkdown }, { reportOfRun }, { renderGate, renderVerdicts }] =
      await Promise.all([
        import("../reports/job_summary.ts"),
        import("../reports/markdown.ts"),
        import("../reports/run_report.ts"),
        import("../reports/terminal.ts"),
      ]);
    const publish = (decision: GateReport) => {
      const failures = tested.failures.lines(decision.exitCode === 0, tested.where);
      const { report } = reportOfRun(tested.planned, trials, { decision });
      const parts = [name, failures.join("\n"), renderGate(report, testWidth())];
      console.log(`\n${parts.filter((part) => part !== "").join("\n\n")}\n`);
      summarizeJob((limit) => gateToMarkdown(decision, { limit }));
      if (file !== undefined) writeVerdicts(file, decision);
      tested.decision = decision;
    };
    // Nothing waits between the decision and its text: an interruption finds both or neither.
    tested.isOwed = false;
    const made = { plan, trials, resumed: run.resumes };
    const remarks = remarksOf(made);
    const undecidable = missing ?? run.fault?.reason ?? sameRunReason(baseline, trials) ??
      notWhole(policy, made);
    if (undecidable !== undefined) {
      const problem = reportProblem(name, undecidable, remarks);
      publish(problem);
      throw new AssertionError(renderVerdicts(problem));
    }
    const { rule, prices } = plan;
    const rerun = (id: string) => tested.rerun(trials.find((trial) => trial.id === id)!);
    const variants = decideTrials(trials, plan.trials, policy, {
      rule,
      prices,
      baseline,
      stopped: run.stopped,
      parts: comparedParts(plan, baseline),
    });
    publish(reportVerdicts(name, variants, policy, {
      notes: scope,
      remarks,
      rerun,
    }));
    if (records !== undefined && tested.decision?.verdict === "pass") {
      const results = { plan: planLine(plan), trials, planned: plan.trials, gate: policy, rule };
      const line = recordBaseline(
        { ...results, problem: undefined, stopped: run.stopped },
        records,
      );
      console.log(`${name}: ${line}`);
    }
    const failed = variants.filter(({ verdict }) => !passes(verdict, policy));
    if (failed.length > 0) {
      const report = reportVerdicts(name, failed, policy, { notes: scope, remarks, rerun });
      throw new AssertionError(renderVerdicts(report));
    }
    if (variants.length === 0) throw new AssertionError("INVALID: there is nothing to decide");
  };
}

/** Why trials cannot be compared with a baseline, if they are replays of it. */
function sameRunReason(
  baseline: Baseline | undefined,
  trials: readonly TrialSummary[],
): string | undefined {
  try {
    if (baseline !== undefined) assertOtherRun(baseline, trials);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message;
  }
}

/**
 * Writes the verdicts of a gate.
 *
 * @throws {InputError} If the file cannot be written.
 */
function writeVerdicts(file: string, verdicts: GateReport): void {
  writeOutput(file, `${JSON.stringify(verdicts, null, 2)}\n`, "the verdicts to");
}

/** Benchmarks whose gate had to decide and did not. */
const owed = perFile((): string[] => []);

/** Fails the file once all else is done: an error of one hook would keep those behind it from running. */
function owe(name: string): void {
  const owing = owed();
  if (owing.push(name) > 1) return;
  runner().atEnd(() => {
    const error = new AssertionError(
      `The gates of these benchmarks did not run: ${owing.join(", ")}`,
    );
    // Its frames would lead into this library.
    error.stack = error.name;
    throw error;
  });
}
