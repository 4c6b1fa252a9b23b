/**
 * Tested runs: a run whose trials are tests, with what its cases, its gate and its reports have in common.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { assertNoLink, assertWritable, writeOutput } from "../base/output_file.ts";
import { assertServable } from "../base/page_server.ts";
import { terminalColumns, testWidth } from "../base/terminal_width.ts";
import type { CodePlace } from "../base/user_code.ts";
import type { GateReport } from "../gate/gate_report.ts";
import type { Recordings } from "../models/recordings/recordings.ts";
import type { Model } from "../models/model.ts";
import { RateLimiters } from "../models/http/rate_limiter.ts";
import { FailedTrials, isFailed } from "../reports/failures.ts";
import type { LivePage } from "../reports/live.ts";
import type { Plan, TaskSource } from "../runs/plan.ts";
import type { Run, RunOptions } from "../runs/run.ts";
import { type PlannedRun, RunSession } from "../runs/session.ts";
import type { TaskSpec } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { Trial } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";
import type { FileOwner } from "./_claimed_files.ts";
import { untilInterrupted } from "./_interruption.ts";
import { runner, type TestDefinition } from "./_runners.ts";
import { rerunLine } from "./_only.ts";
import { SYSTEM_CLOCK } from "../base/clock.ts";
import {
  describeStatus,
  drawStatus,
  FIRST_PAUSE,
  LINE_PAUSE,
  RunProgress,
} from "../reports/progress.ts";

/** The registration of a benchmark or a suite of tool tests, with the place and the names of its tests. */
export interface Registration
  extends FileOwner, Pick<RunOptions, "recorded" | "leaves" | "variantAgents"> {
  /** How errors refer to it. */
  readonly subject: string;
  /** The source of tasks that no option names. */
  readonly source?: TaskSource;
  /** The places in the user's files that lead to it, innermost first. */
  readonly callers: readonly CodePlace[];
  /** Whether other test files may have tests of it, as they share the module that makes it; default false. */
  readonly shared?: boolean;
  /** Returns the user's own models for trials of a task, by name; default: those of the options. */
  readonly ownOf?: (task: TaskSpec) => ReadonlyMap<string, Model> | undefined;
  /** Registers a test where the user calls for it; that of a trial where its case stands, if that is elsewhere. */
  readonly register: (test: TestDefinition, planned?: PlannedTrial) => void;
  /** Returns the test name of a trial. */
  readonly titleOf: (planned: PlannedTrial) => string;
}

/** Shared by all benchmarks of a file, as a server's limits apply to all of them. */
export const RATE_LIMITERS = new RateLimiters((line) => console.error(line));

/** What a run is made of. */
interface TestedRunOptions {
  readonly planned: PlannedRun;
  readonly registration: Registration;
  /** The one trial that is run again; `undefined` for a whole run. */
  readonly only: readonly PlannedTrial[] | undefined;
  /** The files of its report. */
  readonly reports: readonly string[];
  /** Returns the user's own models for trials of a task, by name. */
  readonly ownOf: (task: TaskSpec) => ReadonlyMap<string, Model>;
}

/** A run whose trials are tests. */
export class TestedRun {
  /** Its name, made printable. */
  readonly name: string;
  readonly planned: PlannedRun;
  readonly plan: Plan;
  readonly registration: Registration;
  readonly run: Run;
  readonly recordings: Recordings | undefined;
  /** The one trial that is run again; `undefined` for a whole run. */
  readonly only: readonly PlannedTrial[] | undefined;
  /** Whether it is a shard or a wave. */
  readonly isPart: boolean;
  /** Whether a case fails if its trial did not end correctly: a trial that is run again does so even with a gate. */
  readonly strict: boolean;
  /** How to see all trials. */
  readonly where: string;
  /** Whether a report shows the whole trials. */
  readonly whole: boolean;
  /** Aborts once the run is interrupted. */
  readonly interruption = new AbortController();
  /** The trials whose cases were not right. */
  readonly failures = new FailedTrials();
  /** The number of trials whose tests were run. */
  asked = 0;
  /** The summaries, in order of request; all of them once the gate has decided. */
  scores: TrialSummary[] = [];
  /** The whole trials, in the same order; empty unless a report shows them. */
  trials: Trial[] = [];
  /** The decision of the gate. */
  decision: GateReport | undefined;
  /** Whether its gate must decide and has not done so yet. */
  isOwed = false;
  readonly #options: TestedRunOptions;
  readonly #progress: ProgressLines;
  readonly #openReports: () => void;
  /** What its trials need once: what went wrong, if anything did. */
  #prepared: Promise<unknown> | undefined;
  /** The page that is served while it goes on. */
  #live: LivePage | undefined;

  /**
   * Begins a run, of which nothing is asked yet.
   *
   * @param agentOptions What works on its tasks, and how its models are connected.
   * @throws {InputError} If it cannot be begun, or a report cannot be written.
   */
  constructor(
    options: TestedRunOptions,
    connect: (session: RunSession) => Partial<RunOptions>,
  ) {
    const { planned, registration, only, reports } = options;
    const { plan, settings: { journal, shard }, wave } = planned;
    this.#options = options;
    this.name = printable(registration.name, Infinity);
    this.planned = planned;
    this.plan = plan;
    this.registration = registration;
    this.only = only;
    this.isPart = shard !== undefined || wave !== undefined;
    this.strict = plan.gate === undefined || only !== undefined;
    this.where = howToSee(reports, journal);
    this.whole = reports.length > 0 || this.#isServed;
    if (this.#isServed) assertServable();
    else if (planned.settings.serve) {
      printOnce("--serve has no page for tests of one trial: put them into a toolSuite()");
    }
    this.#openReports = openReports(reports);
    this.#progress = new ProgressLines(this.name, plan);
    const session = new RunSession(planned, RATE_LIMITERS);
    this.recordings = session.recordings;
    if (this.recordings !== undefined) printOnce(this.recordings.notice);
    this.run = session.begin({
      ...connect(session),
      signal: this.interruption.signal,
      only,
      slowStart: true,
      onResult: (result, summary) => this.#live?.see(result, summary),
      onTrial: (trial, resumed) => {
        const note = this.#progress.count(trial, resumed);
        if (note !== undefined) console.error(`${this.name}: ${note}`);
      },
    });
  }

  /** Whether a page is served: one trial alone is told by its test. */
  get #isServed(): boolean {
    return this.planned.settings.serve === true && this.plan.trials.length > 1;
  }

  /**
   * Call before a trial is run.
   *
   * @throws {InputError} If a gate cannot decide, as the reference of a test fails.
   */
  async begin(): Promise<void> {
    this.#openReports();
    this.#progress.begin(this.run);
    this.#prepared ??= this.plan.open?.prepare?.(this.run.trials);
    const error = await untilInterrupted(
      Promise.resolve(this.#prepared),
      this.interruption.signal,
    );
    // A gate could not decide without the trials that this fails: none of them is paid for.
    if (error !== undefined && this.plan.gate !== undefined) throw error;
    if (!this.#isServed || this.#live !== undefined) return;
    const { LivePage } = await import("../reports/live.ts");
    const { plan: { suite, prices }, run: { trials } } = this;
    this.#live = new LivePage({
      ...{ suite, prices, planned: trials },
      rerun: (trial) => this.rerun(trial),
    });
    console.error(`${this.name}: live report: ${await this.#live.serve()}`);
  }

  /** Awaits the work of a test, unless the run is interrupted. */
  finished<T>(work: Promise<T>): Promise<T> {
    return this.#progress.during(untilInterrupted(work, this.interruption.signal));
  }

  /** The command that runs a trial again. */
  rerun(trial: Pick<Trial, "id" | "model" | "strategy" | "task">): string {
    return rerunLine(trial, this.plan, this.#options.ownOf(trial.task));
  }

  /**
   * The finished trials once those in flight are abandoned: their number, the whole trials if a report shows
   * them, and whether no needed one is missing.
   */
  async finishedTrials(): Promise<
    { readonly trials: readonly Trial[]; readonly count: number; readonly isWhole: boolean }
  > {
    const { run, whole } = this;
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

  /**
   * Writes the reports, if there is anything to tell, and ends the page that is served.
   *
   * @param stopped Why the run ended early, unless the gate ended it.
   * @throws {InputError} If one of them cannot be written.
   */
  async writeReports(finished: readonly Trial[], stopped: string | undefined): Promise<void> {
    const { plan, failures, decision, planned, name } = this;
    const { reports } = this.#options;
    await using live = this.#live;
    if (!this.whole || finished.length === 0) return;
    const rerun = (trial: Trial) => this.rerun(trial);
    // Of an interrupted run some may have ended without their case.
    for (const trial of finished) if (isFailed(trial)) failures.add(trial, rerun(trial));
    const [{ reportOfRun }, { provenance }] = await Promise.all([
      import("../reports/run_report.ts"),
      import("../reports/report.ts"),
    ]);
    // Tests may be shuffled.
    const { report, trials, notes } = reportOfRun(planned, finished, { decision, stopped });
    // Who cuts a run short that is watched has seen its counts: its page gets no rates.
    if (stopped === undefined) live?.end(report, trials);
    for (const path of reports) {
      const format = formatOf(path);
      if (format === "html") {
        const { writeHtml } = await import("../reports/html.ts");
        await writeHtml(path, report, trials, { rerun });
      } else if (format === "md") {
        const { renderMarkdown } = await import("../reports/markdown.ts");
        writeOutput(path, renderMarkdown(report, { failures }), REPORT);
      } else {
        const { renderGate, renderTables } = await import("../reports/terminal.ts");
        const width = testWidth();
        const title = `${printable(plan.suite, 300)}: ${provenance(report, false)}`;
        const told = failures.lines(decision?.exitCode === 0, this.where, true);
        const tables = (decision === undefined ? renderTables : renderGate)(report, width);
        writeOutput(path, `${[title, ...notes, ...told].join("\n")}\n\n${tables}\n`, REPORT);
      }
    }
    if (reports.length > 0) console.log(`${name}: report: ${reports.join(", ")}`);
  }
}

/** Notices that were printed already. */
const printedNotices = new Set<string>();

/** Prints a notice once for all benchmarks of a file. */
function printOnce(notice: string): void {
  if (!printedNotices.has(notice)) console.error(notice);
  printedNotices.add(notice);
}

/** How errors refer to writing reports. */
const REPORT = "the report to";

/** What stands in each file until the run is over. */
const UNFINISHED = "The run has not come to its end.\n";

/** The format of a report, by the ending of its name. */
function formatOf(path: string): "html" | "md" | "txt" {
  const ending = /\.([^./\\]*)$/.exec(path)?.[1]?.toLowerCase().replace(/^htm$/, "html");
  if (ending === "html" || ending === "md" || ending === "txt") return ending;
  throw cannot(
    `write the report to ${path}`,
    "its name must end in .html (a page), .md (Markdown) or .txt (the text of a terminal)",
  );
}

/**
 * Checks that reports can be written, before anything is paid for. The content of the files is kept until the
 * returned function is called at the start of the run: a test file may be loaded without running any of its
 * trials.
 *
 * @throws {InputError} If one of them cannot be written.
 */
function openReports(paths: readonly string[]): () => void {
  for (const path of paths) formatOf(path);
  for (const path of paths) {
    assertNoLink(path, REPORT);
    assertWritable(path, REPORT);
  }
  const open = [...paths];
  return () => {
    for (const path of open.splice(0)) writeOutput(path, UNFINISHED, REPORT);
  };
}

/** Says how to see all trials. */
function howToSee(reports: readonly string[], journal: string | undefined): string {
  const page = reports.find((path) => formatOf(path) === "html");
  if (page !== undefined) return `see ${page}`;
  const { flagPrefix } = runner().flagHint;
  return journal === undefined ? `add ${flagPrefix}--report=F.html to see all` : `in ${journal}`;
}

/**
 * Prints how a run stands from time to time. What is printed belongs to whichever test is running, so that the test
 * prints it that waits for its trial.
 */
class ProgressLines extends RunProgress {
  readonly #name: string;
  #run: Pick<Run, "trials" | "inFlight"> | undefined;
  #began = 0;
  /** When the next line is due. */
  #due = 0;

  /** For a run of `plan`. */
  constructor(name: string, plan: Plan) {
    super(plan);
    this.#name = name;
  }

  /** Begins to count the time of a run, unless it has begun. */
  begin(run: Pick<Run, "trials" | "inFlight">): void {
    if (this.#run !== undefined) return;
    this.#run = run;
    this.#began = performance.now();
    this.#due = SYSTEM_CLOCK.now() + FIRST_PAUSE;
  }

  /** Awaits the work of a test, and prints the lines that come due. */
  async during<T>(work: Promise<T>): Promise<T> {
    let stop = () => {};
    const wait = () => {
      stop = SYSTEM_CLOCK.after(Math.max(0, this.#due - SYSTEM_CLOCK.now()), () => {
        this.#tell();
        wait();
      });
    };
    wait();
    try {
      return await work;
    } finally {
      stop();
      // Trials that are never waited for long leave no time to a timer.
      if (SYSTEM_CLOCK.now() >= this.#due) this.#tell();
    }
  }

  #tell(): void {
    this.#due = SYSTEM_CLOCK.now() + LINE_PAUSE;
    console.log(this.#line());
  }

  #line(): string {
    const status = this.status(this.#run!, this.#began);
    const width = terminalColumns();
    return width === undefined
      ? `${this.#name}: ${describeStatus(status)}`
      : drawStatus(status, width - 1);
  }
}
