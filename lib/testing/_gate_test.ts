/**
 * Gates under `deno test`: the test that decides over the trials of a benchmark.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { passes } from "./assertions/_trials.ts";
import type { Baseline } from "../runs/baseline.ts";
import { comparedParts } from "../runs/compared_baseline.ts";
import { assertOtherRun } from "../runs/trial_keys.ts";
import { decideTrials } from "../gate/decide_trials.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";
import { InputError } from "../base/errors.ts";
import { isFailed } from "../reports/failures.ts";
import type { CompletePolicy } from "../gate/policy.ts";
import { skippedNote } from "../runs/plan.ts";
import { recordBaseline } from "../runs/accept.ts";
import { planLine } from "../runs/journal/plan_line.ts";
import type { TrialSummary } from "../trials/summary.ts";
import type { TestedRun } from "./_tested_run.ts";
import { testWidth } from "../base/terminal_width.ts";
import { writeOutput } from "../base/output_file.ts";

/**
 * Returns what the test of a gate does: it runs what is left of the plan, decides, and fails unless that passes.
 *
 * @param scope What else the verdict must say of the trials that it is about.
 * @param records The baseline that is written if it passes; `undefined` for none.
 */
export function gateTest(
  tested: TestedRun,
  policy: CompletePolicy,
  { scope, records }: { readonly scope: readonly string[]; readonly records: string | undefined },
): () => Promise<void> {
  const { name, plan, run, planned: { baseline, missing, settings: { verdict: file } } } = tested;
  return async () => {
    tested.begin();
    const trials = await tested.finished(run.scores());
    tested.scores = trials;
    const whole = await run.all();
    if (tested.whole) tested.trials = whole;
    // Cases that were not selected have not added theirs.
    for (const trial of whole) {
      if (isFailed(trial)) tested.failures.add(trial, tested.rerun(trial));
    }
    // Loaded when a gate is about to decide, as most are large.
    const [{ summarizeJob }, { gateToMarkdown }, { renderGate, renderVerdicts }] = await Promise
      .all([
        import("../reports/job_summary.ts"),
        import("../reports/markdown.ts"),
        import("../reports/terminal.ts"),
      ]);
    const publish = (decision: GateReport) => {
      const failures = tested.failures.lines(decision.exitCode === 0, tested.where);
      const parts = [name, failures.join("\n"), renderGate(trials, decision, testWidth())];
      console.log(`\n${parts.filter((part) => part !== "").join("\n\n")}\n`);
      summarizeJob((limit) => gateToMarkdown(decision, { limit }));
      if (file !== undefined) writeVerdicts(file, decision);
      tested.decision = decision;
    };
    // Nothing waits between the decision and its text: an interruption finds both or neither.
    tested.isOwed = false;
    const undecidable = missing ?? run.fault?.reason ?? sameRunReason(baseline, trials);
    if (undecidable !== undefined) {
      const problem = reportProblem(name, undecidable);
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
      notes: [...skippedNote(plan), ...scope],
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
      const report = reportVerdicts(name, failed, policy, { notes: scope, rerun });
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
