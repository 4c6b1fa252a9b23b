/**
 * Gates under `deno test`: the test that decides over the trials of a benchmark.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { passes } from "./assertions/trials.ts";
import type { Baseline } from "../runs/baseline.ts";
import { comparedParts } from "../runs/compared_baseline.ts";
import { assertOtherRun } from "../runs/trial_keys.ts";
import { type DecidedVariant, decideTrials } from "../gate/decide_trials.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";
import { InputError } from "../base/errors.ts";
import { isFailed } from "../reports/failures.ts";
import type { RunState } from "./_register_cases.ts";
import type { CompletePolicy } from "../gate/policy.ts";
import type { JournalsOfPlan } from "../runs/derived.ts";
import { type Plan, skippedNote } from "../runs/plan.ts";
import { recordBaseline } from "../runs/accept.ts";
import { readPlanLine } from "../runs/journal/journal.ts";
import { planLine } from "../runs/journal/plan_line.ts";
import type { Run } from "../runs/run.ts";
import type { Trial } from "../trials/trial.ts";
import type { TrialSummary } from "../trials/summary.ts";
import { testWidth } from "../base/terminal_width.ts";
import { writeOutput } from "../base/output_file.ts";

/** A gate, and the run over which it decides. */
interface GateTest {
  readonly plan: Plan;
  readonly policy: CompletePolicy;
  readonly run: Run;
  readonly baseline: Baseline | undefined;
  /** Why the baseline is missing, if it is. */
  readonly missing: string | undefined;
  /** The file of the verdicts. */
  readonly file: string | undefined;
  /** Derives trials that this process did not run, once. */
  readonly derive: () => Promise<DerivedAgain>;
  readonly state: RunState;
  /** Awaits the work of a test, unless the run is interrupted. */
  readonly finished: <T>(work: Promise<T>) => Promise<T>;
  /** How to see all trials. */
  readonly where: string;
  /** The command that runs a trial again. */
  readonly rerun: (trial: Pick<Trial, "id" | "model" | "strategy" | "task">) => string;
  /** What else the verdict must say of the trials that it is about. */
  readonly scope: readonly string[];
  /** The baseline that is written if it passes; omitted for none. */
  readonly records?: string;
}

/** Returns what the test of a gate does: it runs what is left of the plan, decides, and fails unless that passes. */
export function gateTest(
  name: string,
  gate: GateTest,
): () => Promise<void> {
  const { plan, policy, run, baseline, missing, file, derive, state } = gate;
  const { finished, where, rerun, scope, records } = gate;
  const publish = (
    { gateToMarkdown, renderGate, summarizeJob }: Awaited<ReturnType<typeof loadTexts>>,
    trials: readonly TrialSummary[],
    decision: GateReport,
  ) => {
    const failures = state.failures.lines(decision.exitCode === 0, where);
    const parts = [name, failures.join("\n"), renderGate(trials, decision, testWidth())];
    console.log(`\n${parts.filter((part) => part !== "").join("\n\n")}\n`);
    summarizeJob((limit) => gateToMarkdown(decision, { limit }));
    if (file !== undefined) writeVerdicts(file, decision);
    state.decision = decision;
  };
  return async () => {
    state.begin();
    const { notes, disagreement } = await finished(derive());
    // Nothing is run, and paid for, beside trials that nobody can judge.
    const trials = disagreement === undefined ? await finished(run.scores()) : [];
    state.scores = trials;
    if (disagreement === undefined) {
      const whole = await run.all();
      if (state.whole) state.trials = whole;
      // Cases that were not selected have not added theirs.
      for (const trial of whole) {
        if (isFailed(trial)) state.failures.add(trial, rerun(trial));
      }
    }
    const { rule, prices } = plan;
    const texts = await loadTexts();
    // Nothing waits between the decision and its text: an interruption finds both or neither.
    state.isOwed = false;
    const undecidable = missing ?? run.fault?.reason ?? disagreement ??
      sameRunReason(baseline, trials);
    if (undecidable !== undefined) {
      const problem = reportProblem(name, undecidable);
      publish(texts, trials, problem);
      throw new AssertionError(texts.renderVerdicts(problem));
    }
    const rerunById = (id: string) => rerun(trials.find((trial) => trial.id === id)!);
    const variants: readonly DecidedVariant[] = decideTrials(trials, plan.trials, policy, {
      rule,
      prices,
      baseline,
      stopped: run.stopped,
      parts: comparedParts(plan, baseline),
    });
    publish(
      texts,
      trials,
      reportVerdicts(name, variants, policy, {
        notes: [...skippedNote(plan), ...notes, ...scope],
        rerun: rerunById,
      }),
    );
    if (records !== undefined && state.decision?.verdict === "pass") {
      const results = { plan: planLine(plan), trials, planned: plan.trials, gate: policy, rule };
      const line = recordBaseline(
        { ...results, problem: undefined, stopped: run.stopped },
        records,
      );
      console.log(`${name}: ${line}`);
    }
    const failed = variants.filter(({ verdict }) => !passes(verdict, policy));
    if (failed.length > 0) {
      const report = reportVerdicts(name, failed, policy, { notes: scope, rerun: rerunById });
      throw new AssertionError(texts.renderVerdicts(report));
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

/** What deriving trials again came to. */
export interface DerivedAgain {
  readonly notes: readonly string[];
  /** Why nothing can be decided over them; omitted if it can be. */
  readonly disagreement?: string;
}

/** Derives trials that this process did not run: those of a resumed journal, and of a baseline. */
export async function derivedAgain(
  { run, journal, baseline, earlier }: Pick<GateTest, "run" | "baseline"> & {
    readonly journal: string | undefined;
    /** The journals of earlier waves. */
    readonly earlier: JournalsOfPlan | undefined;
  },
): Promise<DerivedAgain> {
  const resumed = run.resumed === 0 ? undefined : journal;
  if (resumed === undefined && baseline === undefined && earlier === undefined) {
    return { notes: [] };
  }
  const { deriveBaseline, deriveJournals } = await import("../runs/derived.ts");
  try {
    const own = resumed === undefined
      ? []
      : await deriveJournals({ paths: [resumed], plan: readPlanLine(resumed) });
    const before = earlier === undefined ? [] : await deriveJournals(earlier);
    return {
      notes: [...before, ...own, ...(baseline === undefined ? [] : await deriveBaseline(baseline))],
    };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { notes: [], disagreement: error.message };
  }
}

/** The modules that render reports: loaded when a gate is about to decide, as most are large. */
async function loadTexts() {
  const [{ summarizeJob }, { gateToMarkdown }, { renderGate, renderVerdicts }] = await Promise.all([
    import("../reports/job_summary.ts"),
    import("../reports/markdown.ts"),
    import("../reports/terminal.ts"),
  ]);
  return { gateToMarkdown, renderGate, renderVerdicts, summarizeJob };
}

/**
 * Writes the verdicts of a gate.
 *
 * @throws {InputError} If the file cannot be written.
 */
export function writeVerdicts(file: string, verdicts: GateReport): void {
  writeOutput(file, `${JSON.stringify(verdicts, null, 2)}\n`, "the verdicts to");
}

/** Benchmarks whose gate had to decide and did not. */
const owing: string[] = [];

/** Fails the file once all else is done: an error of one hook would keep those behind it from running. */
export function owe(name: string): void {
  if (owing.push(name) > 1) return;
  globalThis.addEventListener("unload", () => {
    const error = new AssertionError(
      `The gates of these benchmarks did not run: ${owing.join(", ")}`,
    );
    // Its frames would lead into this library.
    error.stack = error.name;
    throw error;
  });
}
