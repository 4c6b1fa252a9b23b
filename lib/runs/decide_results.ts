/**
 * Decides the gate of a run from its journals.
 * @module
 */

import { type Baseline, baselineOf, howToAccept } from "./baseline.ts";
import { comparableBaseline, comparedParts } from "./compared_baseline.ts";
import { assertOtherRun } from "./trial_keys.ts";
import { printable } from "../base/json.ts";
import { decideTrials, exitCodeOf, worstKind } from "../gate/decide_trials.ts";
import { pricesFor } from "./plan.ts";
import type { CompletePolicy } from "../gate/policy.ts";
import { notWhole, remarksOf } from "./remarks.ts";
import { rerunLine } from "./rerun.ts";
import type { Prices } from "../models/prices.ts";
import type { Wave } from "../gate/waves.ts";
import type { Shard } from "./shard_text.ts";
import type { Results } from "./journal/results.ts";
import { type GateReport, reportProblem, reportVerdicts } from "../gate/gate_report.ts";
import { commandLine } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { type History, lastRelease, releasesOf } from "./history/history.ts";

/** Options of {@linkcode decideResults}. */
export interface DecisionOptions extends Pick<GateReport, "remarks"> {
  /** The results of the policy's baseline file. */
  readonly baseline?: Baseline | undefined;
  /** Whether the baseline may be of other draws of the same tasks; default `false`. */
  readonly fresh?: boolean;
  /** How to accept these results anew; default: as the file of the policy's baseline. */
  readonly accept?: string | undefined;
  /** The prices of models; default: those of the plan. */
  readonly prices?: Prices | undefined;
  /** A journal of these results as the user named it, for commands that run a trial again; default the first one. */
  readonly journal?: string;
  /** The journal or folder that the user gave, for the command that accepts them; default those of the results. */
  readonly given?: string;
}

/** Returns why no decision is possible; `undefined` if one is. */
export function undecidableReason({ paths, problem, trials }: Results): string | undefined {
  if (problem !== undefined) return printable(problem, 1000);
  return trials.length === 0
    ? `there are no trials in ${printable(paths.join(", "), 1000)}`
    : undefined;
}

/**
 * Decides the gate over the results of a run.
 *
 * @throws {InputError} If the baseline has other graphs or is these very trials, or a cost limit lacks a price.
 */
export function decideResults(
  results: Results,
  policy: CompletePolicy,
  options: DecisionOptions = {},
): GateReport {
  const { baseline: known, fresh = false, prices } = options;
  const { journal = results.paths[0]!, given } = options;
  const { suite, trials, planned, plan, rule, stopped, waves } = results;
  const remarks = [...remarksOf(results), ...options.remarks ?? []];
  const fault = undecidableReason(results) ?? notWhole(policy, results);
  if (fault !== undefined) return reportProblem(suite, fault, remarks);
  const baseline = known && comparableBaseline(known, plan, planned, {
    ...{ sequential: rule !== undefined, gate: policy, all: true, fresh },
    accept: options.accept ??
      howToAccept(policy, { journals: given === undefined ? results.paths : [given] }),
  });
  if (baseline !== undefined) assertOtherRun(baseline, trials);
  const costs = prices === undefined ? results.prices : pricesFor(prices, plan.resolved);
  const variants = decideTrials(trials, planned, policy, {
    rule,
    baseline,
    prices: costs,
    stopped,
    waves,
    parts: comparedParts(plan, baseline),
  });
  return reportVerdicts(suite, variants, policy, {
    remarks,
    next: waves && howToContinue(waves.last, plan.shard),
    rerun: (id) => rerunLine(plan, journal, id),
  });
}

/** Returns how to run the wave after one: what follows its number in a sentence. */
function howToContinue({ index, of }: Wave, { of: shards }: Shard): string {
  const where = shards === 1 ? "" : ` on each of the ${shards} shards`;
  return `by the same command${where} with --wave=${
    index + 1
  }/${of} and a new --out in the same folder`;
}

/**
 * Decides the gate over the results of a run against the anchor of its suite and the last release: it passes against
 * both or not at all. Runs on the same graphs are compared graph by graph, others cell by cell.
 *
 * @throws {InputError} If there is no release, they cannot be compared with, or as {@linkcode decideResults}.
 */
export async function decideByHistory(
  results: Results,
  policy: CompletePolicy,
  history: History,
  options: Omit<DecisionOptions, "baseline"> = {},
): Promise<GateReport> {
  const suite = printable(results.suite, 100);
  const action = `compare the suite ${suite} with the history ${history.folders.join(", ")}`;
  const releases = releasesOf(history, results.suite);
  const last = lastRelease(releases, action);
  const anchor = releases.anchor!;
  if (results.rule !== undefined) {
    throw cannot(
      action,
      "a run has a fixed size",
      "its plan declares a sequential gate, by whose rule it stopped",
    );
  }
  const [journals, folder] = [results.paths.map(shellQuote).join(" "), history.folders[0]!];
  const accept = commandLine(`accept ${journals} --to ${shellQuote(folder)} --name NAME`);
  const reports: GateReport[] = [];
  for (const record of anchor === last ? [anchor] : [anchor, last]) {
    const { name } = record.release;
    const isAnchor = record === anchor;
    const file = `the ${isAnchor ? "anchor" : "release"} ${printable(name, 100)}`;
    const report = await decideResults(results, policy, {
      ...options,
      ...{ baseline: baselineOf(record, file), fresh: true, accept },
    });
    const verdicts = report.verdicts.map((one) => ({ ...one, release: { name, isAnchor } }));
    reports.push({ ...report, verdicts });
  }
  const verdicts = reports.flatMap((report) => report.verdicts);
  const verdict = worstKind(verdicts);
  const undecided = reports.find(({ text }) => text !== undefined);
  return undecided ?? { ...reports[0]!, verdicts, verdict, exitCode: exitCodeOf(verdict) };
}
