/**
 * Cases under `deno test`: one test for each trial of a run.
 * @module
 */

import { printable } from "../base/json.ts";
import { AssertionError } from "@std/assert/assertion-error";
import { assertRight } from "./assertions/_trials.ts";
import { InputError } from "../base/errors.ts";
import type { Plan } from "../runs/plan.ts";
import { storyAsked } from "./_flags.ts";
import { toldAt } from "./_register.ts";
import { perFile, runner, type TestContext } from "./_runners.ts";
import type { TestedRun } from "./_tested_run.ts";
import { testWidth } from "../base/terminal_width.ts";
import { FailedTrials, stepName } from "../reports/failures.ts";
import { hasJobSummary, summarizeJob } from "../reports/job_summary.ts";
import { shownFile } from "../base/user_code.ts";
import { describeTrial } from "../reports/story.ts";
import type { SkippedTrial } from "../runs/early_stopping.ts";
import { isCase } from "../tasks/task_kind.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { idlePerturbation } from "../gate/undecidable.ts";

/** Registers a test for each trial of a run. */
export function registerCases(tested: TestedRun): void {
  const { name, plan, run, strict, only, registration: { register, titleOf } } = tested;
  const said = new Set<string>();
  /** The names of the cases that say why others are not run, by what they say. */
  const told = new Map<string, string>();
  const judge = async (place: number, context: TestContext) => {
    const trial = await tested.begin().then(() => {
      tested.asked++;
      return tested.finished(run.trial(place));
    }).catch((error) => {
      // What is wrong for all trials, such as a journal that cannot be written, is said once.
      if (error instanceof InputError) failIfTold(error.message, told, context);
      throw error;
    });
    if (trial.kind === "needless") return await skip(trial, strict, told, context);
    const score = run.score(place)!;
    tested.scores.push(score);
    if (tested.whole) tested.trials.push(trial);
    // Thousands of whole trials would fill the memory.
    else run.forget(place);
    const isUnchanged = strict && foundNothing(score);
    const isRight = trial.solved ||
      trial.outcome === "abstained" && !(strict && trial.unsolvable === "misleading");
    const isGood = isRight && !isUnchanged;
    const { cleanUp } = trial;
    // What it did may matter although it is right, as to a ceiling.
    if (isGood && only !== undefined) console.log(describeTrial(trial, { story: storyAsked() }));
    if (isGood && cleanUp === undefined) return;
    if (!isGood) tested.failures.add(trial, tested.rerun(trial));
    // With a gate as well: of a run that goes no further, nothing is a pass.
    const endsRun = trial.permanent !== undefined && run.fault !== undefined;
    if (strict || endsRun) {
      if (trial.permanent !== undefined) told.getOrInsert(trial.reason!, context.name);
      try {
        assertRight(trial);
        assertPerturbed(score);
        // As Deno does where `await using` throws: what is left may spoil others.
        if (cleanUp !== undefined) throw new AssertionError(`The model passed, but ${cleanUp}`);
      } catch (error) {
        const failed = error as AssertionError;
        throw toldAt(failed, `${failed.message}\nrerun: ${tested.rerun(trial)}`);
      }
    }
    // With a gate, the case passes; one line says how it ended, as hundreds of stories would bury the verdict.
    const lines = isGood ? [] : [stepName(trial, testWidth())];
    // A fault that all trials have alike is printed once.
    if (cleanUp !== undefined && !said.has(cleanUp)) {
      said.add(cleanUp);
      lines.push(cleanUp);
    }
    for (const line of lines) await context.note(line);
  };
  for (const [place, planned] of run.trials.entries()) {
    const fn = (context: TestContext) => judge(place, context);
    register({ name: titleOf(planned), fn }, planned);
  }
  if (!strict) return;
  const summarize = only === undefined ? successSummary(name, plan) : () => {};
  runner().afterAll(async () => {
    const { scores } = tested;
    await summarize(tested);
    if (!needTables(scores)) return;
    const [{ reportOfRun }, { renderTables }] = await Promise.all([
      import("../reports/run_report.ts"),
      import("../reports/terminal.ts"),
    ]);
    const tables = renderTables(reportOfRun(tested.planned, scores).report, testWidth());
    console.log(`\n${name}\n\n${tables}\n`);
  });
}

/** Whether tables say more than the tests themselves: not where each case has one trial. */
function needTables(scores: readonly TrialSummary[]): boolean {
  const cases = scores.flatMap(({ task }) => isCase(task) ? [task.case] : []);
  return scores.length > 1 && (cases.length === 0 || new Set(cases).size < scores.length);
}

/** Whether a perturbation found nothing to change in a trial of a tool test. */
function foundNothing(trial: TrialSummary): boolean {
  return isCase(trial.task) &&
    (trial.changed === false || idlePerturbation([trial]) !== undefined);
}

/** Fails a tool test whose perturbation changed nothing, as it would falsely show robustness. */
function assertPerturbed(trial: TrialSummary): void {
  if (!foundNothing(trial)) return;
  throw new AssertionError(
    `The perturbation ${trial.perturbation} found nothing to change, so that the test says nothing about it. ` +
      "Values in the question are found by the arguments of expected, or given by parameters; results are what " +
      "functions return",
  );
}

/**
 * Fails a case that is not run for a reason that an earlier one has given, with one line: no case that did not run
 * may count as passed, and a test that has begun cannot become ignored.
 */
function failIfTold(
  reason: string,
  told: Map<string, string>,
  { name }: TestContext,
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
  context: TestContext,
): Promise<void> {
  if (by === "fault") failIfTold(reason, told, context);
  if (strict || by === "fault") {
    throw new AssertionError(`The trial was not run${by === "fault" ? ":" : " as"} ${reason}`);
  }
  await context.note(`${by === "gate" ? "not needed" : "not run"}: ${reason}`);
}

/** The tests of the file that have one trial each: a table for each of them would say nothing. */
const singles = perFile(() => ({
  open: 0,
  scores: [] as TrialSummary[],
  failures: new FailedTrials(),
}));

/**
 * Returns what to call when a benchmark without a gate is over: it writes its successes and failures. Those of tests
 * with one trial each are written together, once the last of them is over.
 */
function successSummary(
  name: string,
  plan: Plan,
): (run: Pick<TestedRun, "scores" | "failures">) => Promise<void> {
  if (plan.trials.length > 1) {
    return (run) => write(name, run, { seed: plan.resolved.seed, planned: plan.trials.length });
  }
  const single = singles();
  single.open++;
  return async ({ scores, failures }) => {
    single.scores.push(...scores);
    single.failures.takeOver(failures);
    if (--single.open === 0) await write(shownFile(runner().file().url), single, {});
  };
}

async function write(
  suite: string,
  { scores, failures }: Pick<TestedRun, "scores" | "failures">,
  numbers: { readonly seed?: number; readonly planned?: number },
): Promise<void> {
  // Nothing may have been selected.
  if (scores.length === 0 || !hasJobSummary()) return;
  const { Report } = await import("../reports/report.ts");
  const { successToMarkdown } = await import("../reports/markdown.ts");
  const report = new Report(scores, { suite, ...numbers });
  summarizeJob((limit) => successToMarkdown(report, failures, { limit }));
}
