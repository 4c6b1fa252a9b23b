/**
 * Cases under `deno test`: one test for each trial of a run.
 * @module
 */

import { printable } from "../base/json.ts";
import { AssertionError } from "@std/assert/assertion-error";
import { assertRight } from "./assertions/trials.ts";
import { InputError } from "../base/errors.ts";
import type { Plan } from "../runs/plan.ts";
import { storyAsked } from "./_flags.ts";
import { ONCE_AND_AHEAD, toldAt } from "./_register.ts";
import type { DerivedAgain } from "./_gate_test.ts";
import { testWidth } from "../base/terminal_width.ts";
import { FailedTrials, stepName } from "../reports/failures.ts";
import { hasJobSummary, summarizeJob } from "../reports/job_summary.ts";
import type { GateReport } from "../gate/gate_report.ts";
import { shownFile } from "../base/user_code.ts";
import { describeTrial } from "../reports/story.ts";
import type { Run } from "../runs/run.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import { isCase } from "../trials/executors/task_kind.ts";
import { summarize, type TrialSummary } from "../trials/summary.ts";
import { idlePerturbation } from "../gate/undecidable.ts";
import type { Trial } from "../trials/trial.ts";
import type { PlannedTrial } from "../trials/trial_id.ts";

/** The progress of a run. */
export interface RunState {
  /** Call before a trial is run. */
  readonly begin: () => void;
  /** The number of trials whose tests were run. */
  asked: number;
  /** The summaries, in order of request; all of them once the gate has decided. */
  scores: TrialSummary[];
  /** The whole trials, in the same order; empty unless a report shows them. */
  trials: Trial[];
  /** The trials whose cases were not right. */
  readonly failures: FailedTrials;
  /** Whether a report shows the whole trials. */
  readonly whole: boolean;
  /** The decision of the gate. */
  decision?: GateReport;
  /** Whether its gate must decide and has not done so yet. */
  isOwed: boolean;
}

/** The names and the places of the tests of trials. */
export interface CaseRegistration {
  /** The name of the benchmark or suite. */
  readonly name: string;
  /** Registers a test where the user calls for it; that of a trial where its case stands, if that is elsewhere. */
  readonly register: (test: Deno.TestDefinition, planned?: PlannedTrial) => void;
  /** Returns the test name of a trial. */
  readonly titleOf: (planned: PlannedTrial) => string;
}

/** What the cases of a run have in common. */
interface CaseOptions {
  readonly plan: Plan;
  /** Whether a case fails if its trial did not end correctly. */
  readonly strict: boolean;
  /** The command that runs a trial again. */
  readonly rerun: (trial: Trial) => string;
  /** Derives trials that this process did not run, once. */
  readonly derive: () => Promise<DerivedAgain>;
  /** Awaits the work of a test, unless the run is interrupted. */
  readonly finished: <T>(work: Promise<T>) => Promise<T>;
  /** The one trial that is run again; omitted for a whole run. */
  readonly only: readonly PlannedTrial[] | undefined;
}

/** Registers a test for each trial of a run. */
export function registerCases(
  { name: given, titleOf, register }: CaseRegistration,
  run: Run,
  { plan, strict, rerun, derive, finished, only }: CaseOptions,
  state: RunState,
): void {
  const name = printable(given, Infinity);
  const said = new Set<string>();
  /** The names of the cases that say why others are not run, by what they say. */
  const told = new Map<string, string>();
  let derived: Promise<DerivedAgain> | undefined;
  const judge = async (place: number, context: Deno.TestContext) => {
    state.begin();
    state.asked++;
    const { disagreement } = await (derived ??= finished(derive()));
    // Without a gate, or in a shard, nothing else would fail.
    if (disagreement !== undefined) {
      const reason: SkippedTrial = { kind: "needless", by: "fault", reason: disagreement };
      return await skip(reason, true, told, context);
    }
    const trial = await finished(run.trial(place)).catch((error) => {
      // What is wrong for all trials, such as a journal that cannot be written, is said once.
      if (error instanceof InputError) failIfTold(error.message, told, context);
      throw error;
    });
    if (trial.kind === "needless") return await skip(trial, strict, told, context);
    state.scores.push(run.score(place)!);
    if (state.whole) state.trials.push(trial);
    // Thousands of whole trials would fill the memory.
    else run.forget(place);
    const isUnchanged = strict && foundNothing(trial);
    const isRight = trial.solved ||
      trial.outcome === "abstained" && !(strict && trial.unsolvable === "misleading");
    const isGood = isRight && !isUnchanged;
    const { cleanUp } = trial;
    // What it did may matter although it is right, as to a ceiling.
    if (isGood && only !== undefined) console.log(describeTrial(trial, { story: storyAsked() }));
    if (isGood && cleanUp === undefined) return;
    if (!isGood) state.failures.add(trial, rerun(trial));
    // With a gate as well: of a run that goes no further, nothing is a pass.
    const endsRun = trial.permanent !== undefined && run.fault !== undefined;
    if (strict || endsRun) {
      if (trial.permanent !== undefined) told.getOrInsert(trial.reason!, context.name);
      try {
        assertRight(trial);
        assertPerturbed(trial);
        assertCleanedUp(trial);
      } catch (error) {
        const failed = error as AssertionError;
        throw toldAt(failed, `${failed.message}\nrerun: ${rerun(trial)}`);
      }
    }
    // With a gate, the case passes; one line says how it ended, as hundreds of stories would bury the verdict.
    const lines = isGood ? [] : [stepName(trial, testWidth())];
    // A fault that all trials have alike is printed once.
    if (cleanUp !== undefined && !said.has(cleanUp)) {
      said.add(cleanUp);
      lines.push(cleanUp);
    }
    for (const name of lines) {
      await context.step({ name, ignore: true, fn() {} });
    }
  };
  for (const [place, planned] of run.trials.entries()) {
    const fn = (context: Deno.TestContext) => judge(place, context);
    register({ ...ONCE_AND_AHEAD, name: titleOf(planned), fn }, planned);
  }
  if (!strict) return;
  const summarize = only === undefined ? successSummary(name, plan) : () => {};
  Deno.test.afterAll(async () => {
    const { scores } = state;
    await summarize(state);
    if (!needTables(scores)) return;
    const { renderTables } = await import("../reports/terminal.ts");
    const tables = renderTables(scores, { prices: plan.prices, width: testWidth() });
    console.log(`\n${name}\n\n${tables}\n`);
  });
}

/** Whether tables say more than the tests themselves: not where each case has one trial. */
function needTables(scores: readonly TrialSummary[]): boolean {
  const cases = scores.flatMap(({ task }) => isCase(task) ? [task.case] : []);
  return scores.length > 1 && (cases.length === 0 || new Set(cases).size < scores.length);
}

/** Whether a perturbation found nothing to change in a trial of a tool test. */
function foundNothing(trial: Trial): boolean {
  return isCase(trial.task) &&
    (trial.changed === false || idlePerturbation([summarize(trial)]) !== undefined);
}

/** Fails a tool test whose perturbation changed nothing, as it would falsely show robustness. */
function assertPerturbed(trial: Trial): void {
  if (!foundNothing(trial)) return;
  throw new AssertionError(
    `The perturbation ${trial.perturbation} found nothing to change, so that the test says nothing about it. ` +
      "Values in the question are found by the arguments of expected, or given by parameters; results are what " +
      "functions return",
  );
}

/** Fails a case whose clean-up failed, as Deno does where `await using` throws: what is left may spoil others. */
function assertCleanedUp({ cleanUp }: Trial): void {
  if (cleanUp !== undefined) throw new AssertionError(`The model passed, but ${cleanUp}`);
}

/**
 * Fails a case that is not run for a reason that an earlier one has told, with one line: no case that did not run
 * may count as passed, and a test that has begun cannot become ignored.
 */
function failIfTold(
  reason: string,
  told: Map<string, string>,
  { name }: Deno.TestContext,
): void {
  const teller = told.getOrInsert(reason, name);
  // The runner shows frames of every error, and a text as it is.
  // deno-lint-ignore no-throw-literal
  if (teller !== name) throw `not run: see ${printable(teller)}`;
}

/** Ends a skipped case: with a note where a gate decides without it; else it fails. */
async function skip(
  { by, reason }: SkippedTrial,
  strict: boolean,
  told: Map<string, string>,
  context: Deno.TestContext,
): Promise<void> {
  if (by === "fault") failIfTold(reason, told, context);
  if (strict || by === "fault") {
    throw new AssertionError(`The trial was not run${by === "fault" ? ":" : " as"} ${reason}`);
  }
  const name = `${by === "gate" ? "not needed" : "not run"}: ${reason}`;
  await context.step({ name, ignore: true, fn() {} });
}

/** What ran of a benchmark. */
interface Successes {
  readonly scores: readonly TrialSummary[];
  readonly failures: FailedTrials;
}

/** The tests of the file that have one trial each: a table for each of them would say nothing. */
const single = {
  open: 0,
  scores: [] as TrialSummary[],
  failures: new FailedTrials(),
};

/**
 * Returns what to call when a benchmark without a gate is over: it writes its successes and failures. Those of tests
 * with one trial each are written together, once the last of them is over.
 */
function successSummary(name: string, plan: Plan): (run: Successes) => Promise<void> {
  if (plan.trials.length > 1) {
    return (run) => write(name, run, { seed: plan.resolved.seed, planned: plan.trials.length });
  }
  single.open++;
  return async ({ scores, failures }) => {
    single.scores.push(...scores);
    single.failures.takeOver(failures);
    if (--single.open === 0) await write(shownFile(Deno.mainModule), single, {});
  };
}

async function write(
  suite: string,
  { scores, failures }: Successes,
  numbers: { readonly seed?: number; readonly planned?: number },
): Promise<void> {
  // Nothing may have been selected.
  if (scores.length === 0 || !hasJobSummary()) return;
  const { makeReport } = await import("../reports/report.ts");
  const { successToMarkdown } = await import("../reports/markdown.ts");
  const report = makeReport(scores, { suite, ...numbers });
  summarizeJob((limit) => successToMarkdown(report, failures, { limit }));
}
