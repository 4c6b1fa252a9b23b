/**
 * Reports for the terminal: tables of trials, and of a gate's own errors.
 * @module
 */

import { subjectName } from "../contest.ts";
import { printable } from "../json.ts";
import {
  type FailureTally,
  measure,
  type Repetition,
  type SubjectMetrics,
  type Tally,
} from "../metrics.ts";
import type { Check } from "../selfcheck.ts";
import type { TrialScore } from "../trial.ts";
import { percent } from "../verdict.ts";
import { fixed, table } from "./text.ts";

/** The tables of all trials: success by cell, failures by type, behaviours. */
export function renderTables(trials: readonly TrialScore[]): string {
  return measure(trials).map(renderSubject).join("\n\n");
}

function renderSubject(metrics: SubjectMetrics): string {
  const { subject, simulated, cells, total, repetition, failures, behaviours, calls, usage } =
    metrics;
  const rows = cells.map(({ name, tally }) => [name, ...tallyColumns(tally)]);
  const parts = [
    printable(subjectName(subject)) +
    (simulated ? "  (simulated: a program, no language model)" : ""),
    table([
      [
        "cell",
        "trials",
        "solved",
        "95% interval",
        "calls if solved",
        "if not",
        "fewest calls",
        "invalid",
      ],
      ...rows,
      ...(cells.length > 1 ? [["all", ...tallyColumns(total)]] : []),
    ]),
    ...(repetition === null ? [] : [renderRepetition(repetition)]),
    renderFailures(failures, calls),
    `spent: ${usage.inputTokens} tokens read, ${usage.outputTokens} written`,
  ];
  const shown = Object.entries(behaviours).map(([name, count]) => `${name} ${count}`);
  if (shown.length > 0) parts.push(`behaviours (trials): ${printable(shown.join(", "))}`);
  return parts.join("\n\n");
}

function tallyColumns(tally: Tally): string[] {
  const { trials, valid, rate, interval, callsSolved, callsFailed, minimumCalls } = tally;
  return [
    String(trials),
    rate === null ? "-" : percent(rate),
    interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`,
    fixed(callsSolved),
    fixed(callsFailed),
    fixed(minimumCalls),
    String(trials - valid),
  ];
}

function renderRepetition({ k, graphs, unavailable, ...rates }: Repetition): string {
  const show = (rate: number | null) => rate === null ? "not available" : percent(rate);
  const missing = unavailable === 0
    ? ""
    : `, not available for ${unavailable} with fewer than ${k} valid trials`;
  return `of ${k} trials of a graph at least one solved (pass@${k}): ${show(rates.passAtK)}, ` +
    `all solved (pass^${k}): ${show(rates.passHatK)}; ${graphs} graphs${missing}`;
}

function renderFailures(failures: readonly FailureTally[], calls: number): string {
  const count = failures.reduce((sum, { roots, cascades }) => sum + roots + cascades, 0);
  if (count === 0) return calls === 0 ? "no call was made" : "no call was wrong";
  return table([
    ["failure type", "calls", "share", "roots", "cascades"],
    ...failures.map(({ type, roots, cascades }) => [
      type,
      String(roots + cascades),
      percent((roots + cascades) / count),
      String(roots),
      String(cascades),
    ]),
  ]);
}

/** How gates decided where the truth was known, as a table. */
export function renderChecks(checks: readonly Check[]): string {
  return table([
    ["truth", "error", "allowed", "seen", "95% interval", "pass", "fail", "undecided", "invalid"],
    ...checks.map(({ truth, error, allowed, rate, interval, gates }) => [
      truth,
      error,
      percent(allowed),
      percent(rate),
      `${percent(interval.lower)} to ${percent(interval.upper)}`,
      ...[gates.pass, gates.fail, gates.undecided, gates.invalid].map(String),
    ]),
  ]);
}
