/**
 * Decisions: what the gates of a run say, in numbers and in words, for whoever reports them.
 * @module
 */

import type { Comparison } from "./comparison.ts";
import { variantName } from "./variant.ts";
import type { Verdict } from "./decide.ts";
import { printable } from "../base/json.ts";
import { type DecidedVariant, exitCodeOf, worstKind } from "./decide_trials.ts";
import { type CompletePolicy, completePolicy, type GatePolicy } from "./policy.ts";
import { describeVerdict, verdictNumbers } from "./verdict_text.ts";

/** What a gate decided, as `gate --json` prints it. */
export interface GateReport {
  /** The version of this format. */
  readonly v: 1;
  /** The name of the suite. */
  readonly suite: string;
  /** The worst of all verdicts. */
  readonly verdict: Verdict["kind"];
  /** The exit code that goes with it. */
  readonly exitCode: number;
  /** The gate with its defaults filled in; `null` when nothing could be judged. */
  readonly gate: CompletePolicy | null;
  /** One for each model, strategy and perturbation. */
  readonly verdicts: readonly ReportedVerdict[];
  /**
   * Each strategy against the baseline of the same model, on the same graphs: for reading, they decide
   * nothing and allow for no early stop.
   */
  readonly comparisons: readonly Comparison[];
  /** Why nothing could be judged; left out when it could. */
  readonly text?: string;
}

/** One verdict, its subject beside it, in numbers and in words. */
export type ReportedVerdict = Omit<DecidedVariant, "verdict" | "unit"> & Verdict & {
  /** The verdict as a paragraph. */
  readonly text: string;
  /** Its numbers, one a line. */
  readonly numbers: readonly string[];
};

/** The verdicts of a gate, and how strategies compare. */
export function reportVerdicts(
  suite: string,
  judged: readonly DecidedVariant[],
  policy: GatePolicy,
  comparisons: readonly Comparison[] = [],
): GateReport {
  const kind = worstKind(judged.map(({ verdict }) => verdict));
  return {
    v: 1,
    suite,
    verdict: kind,
    exitCode: exitCodeOf(kind),
    gate: completePolicy(policy),
    verdicts: judged.map(({ verdict, unit, ...subject }) => ({
      ...subject,
      ...verdict,
      text: describeVerdict(
        verdict,
        policy,
        {
          unit,
          ...(subject.baseline === undefined ? {} : { baseline: printable(subject.baseline) }),
        },
      ),
      numbers: [
        ...verdictNumbers(verdict, policy, unit),
        ...(subject.replayed === undefined ? [] : [replayedNote(subject.replayed)]),
      ],
    })),
    comparisons,
  };
}

function replayedNote(replayed: number): string {
  return replayed === 1
    ? "1 trial was replayed from a recording: no model was asked for it"
    : `${replayed} trials were replayed from recordings: no model was asked for these`;
}

/** The one verdict over results that cannot be judged at all. */
export function reportProblem(suite: string, problem: string): GateReport {
  const text = `INVALID: nothing can be said, as ${problem}.`;
  const nothing = { gate: null, verdicts: [], comparisons: [] };
  return { v: 1, suite, verdict: "invalid", exitCode: 3, ...nothing, text };
}

/** A verdict's subject as reports call it. Names come from suites, servers and journals. */
export function verdictName(verdict: ReportedVerdict): string {
  return printable(variantName(verdict)) + (verdict.simulated ? " (simulated)" : "");
}
