/**
 * Gate reports: the verdicts of a run as numbers and text.
 * @module
 */

import { leftOutLines } from "./compared_cases.ts";
import {
  type Excused,
  modelNames,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
  variantName,
} from "./variant.ts";
import type { TrialsVerdict } from "./decide.ts";
import { countText } from "../base/numbers.ts";
import { printable } from "../base/json.ts";
import { type DecidedVariant, exitCodeOf, worstKind } from "./decide_trials.ts";
import type { CompletePolicy } from "./policy.ts";
import { describeVerdict, verdictNumbers, verdictSentences } from "./_verdict_text.ts";

/** The report of a gate, as `gate --json` prints it. */
export interface GateReport {
  /** The version of this format. */
  readonly v: 1;
  /** The name of the suite. */
  readonly suite: string;
  /** The worst verdict, or `continue` while a run in waves goes on. */
  readonly verdict: TrialsVerdict["kind"];
  /** The exit code for it. */
  readonly exitCode: number;
  /** The policy with its defaults filled in; `null` if no decision was possible. */
  readonly gate: CompletePolicy | null;
  /** One for each model, strategy and perturbation. */
  readonly verdicts: readonly ReportedVerdict[];
  /** Why no decision was possible; omitted if it was. */
  readonly text?: string;
}

/** One verdict with its variant, as numbers and text. */
export type ReportedVerdict = Omit<DecidedVariant, "verdict" | "unit"> & TrialsVerdict & {
  /** What it says, in one sentence. */
  readonly claim: string;
  /** The verdict as a paragraph: its kind, this sentence, and how sure it is. */
  readonly text: string;
  /** Its numbers, one per line. */
  readonly numbers: readonly string[];
  /** The release of a history that it compares with; omitted for others. */
  readonly release?: { readonly name: string; readonly isAnchor: boolean };
};

/** What is reported beside verdicts. */
export interface GateReportOptions {
  /** What else matters of the trials that were judged, one line each; default nothing. */
  readonly notes?: readonly string[];
  /** How to run the next wave, as what follows its number. */
  readonly next?: string | undefined;
  /** Returns the command that runs a trial again, by its id; default none, and then its id is told. */
  readonly rerun?: (id: string) => string | undefined;
}

/** Reports the verdicts of a gate. */
export function reportVerdicts(
  suite: string,
  variants: readonly DecidedVariant[],
  policy: CompletePolicy,
  { notes = [], next, rerun }: GateReportOptions = {},
): GateReport {
  const trialText = (id: string) => {
    const line = rerun?.(id);
    // A copy of a command that needs escapes to be shown would run something else.
    return line !== undefined && printable(line, 5000) === line
      ? `rerun: ${line}`
      : printable(id, 500);
  };
  const kind = worstKind(variants.map(({ verdict }) => verdict));
  return {
    v: 1,
    suite,
    verdict: kind,
    exitCode: exitCodeOf(kind),
    gate: policy,
    verdicts: variants.map(({ verdict, unit, ...subject }) => {
      const { baseline, replayed, differs, leftOut, excused = [], beside, unwatched } = subject;
      const mixture = mixtureText(subject);
      const names = { unit, next, baseline: baseline && printable(baseline) };
      const { claim } = verdictSentences(verdict, policy, names);
      return {
        ...subject,
        ...verdict,
        claim,
        text: describeVerdict(verdict, policy, names) + mixture,
        numbers: [
          verdictNumbers(verdict, policy, unit, trialText),
          (subject.reached ?? []).map(({ id, words, trials, of }) =>
            `${words} in ${trials} of ${countText(of, "trial")} (${printable(id)})`
          ),
          replayed === undefined || mixture !== "" ? [] : replayedNote(replayed),
          differs === undefined ? [] : `differs from the baseline in: ${differs.join(", ")}`,
          leftOut === undefined ? [] : leftOutLines(leftOut),
          excused.map(excusedNote),
          beside === undefined ? [] : `the agent also asked ${modelNames(beside)}`,
          unwatched === undefined
            ? []
            : `${countText(unwatched, "trial")} not watched: ${
              unwatchedText(false)
            }, ${UNKNOWN_IF_UNWATCHED}`,
          notes,
        ].flat(),
      };
    }),
  };
}

/** A sentence on trials of which only a part came from recordings; empty if there is no such mixture. */
function mixtureText(
  { replayed = 0, partlyReplayed = 0, asked = 0 }: Partial<DecidedVariant>,
): string {
  if (partlyReplayed + asked === 0) return "";
  const parts = [
    replayed === 0 ? [] : `${replayed} from recordings`,
    partlyReplayed === 0 ? [] : `${partlyReplayed} from recordings in part`,
    asked === 0 ? [] : `${asked} asked for anew`,
  ].flat();
  const all = countText(replayed + partlyReplayed + asked, "trial");
  return ` Replies of different times are mixed: of ${all} ${parts.join(", ")}.`;
}

function replayedNote(replayed: number): string {
  return replayed === 1
    ? "1 trial was replayed from a recording: no model was asked for it"
    : `${replayed} trials were replayed from recordings: no model was asked for these`;
}

function excusedNote({ status, message, trials }: Excused): string {
  const which = [
    status === undefined ? [] : `status ${status}`,
    message === undefined ? [] : `message "${printable(message)}"`,
  ].flat().join(" and ");
  return `declared as infrastructure: failures with ${which}, which leaves ${
    countText(trials, "trial")
  } valid at the first go`;
}

/** Reports results on which no decision is possible. */
export function reportProblem(suite: string, problem: string): GateReport {
  const decided = { verdict: "invalid", exitCode: exitCodeOf("invalid"), gate: null } as const;
  return { v: 1, suite, ...decided, verdicts: [], text: `INVALID: ${problem}.` };
}

/** Returns the name of a verdict's variant, made printable as it comes from suites and servers. */
export function verdictName(verdict: ReportedVerdict): string {
  return printable(variantName(verdict)) + (verdict.simulated ? " (simulated)" : "");
}
