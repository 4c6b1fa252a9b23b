/**
 * Decides whether a run may follow the releases of a history.
 * @module
 */

import { commandLine } from "../../base/command_line.ts";
import { cannot } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { exitCodeOf, worstKind } from "../../gate/decide_trials.ts";
import type { GateReport } from "../../gate/gate_report.ts";
import type { CompletePolicy } from "../../gate/policy.ts";
import { baselineOf } from "../baseline.ts";
import { decideResults, type DecisionOptions } from "../decide_results.ts";
import type { Results } from "../journal/results.ts";
import { type History, lastRelease, releasesOf } from "./history.ts";

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
