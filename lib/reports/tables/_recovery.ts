/**
 * Recovery table: how models handle tools that fail.
 * @module
 */

import type { FaultRecovery, RecoveryMetrics, RecoveryTally } from "../metrics/recovery.ts";
import { RECOVERY_ENDS } from "../../calls/recovery.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./_table.ts";

/** Returns how faults ended, a row for each of them; no table where there were none. */
export function recoveryTables({ recovery }: Pick<Report, "recovery">): Table[] {
  if (recovery.length === 0) return [];
  return [{
    id: "recovery",
    section: "tool use",
    title: "Recovery from faults",
    paper: "Pipeline",
    source: "Error Handling and Retry Logic",
    note:
      "episodes: functions that a fault made fail, each once in its trial; recovered: a later call " +
      "succeeded; hallucinated: the missing result was made up; repeated: the same call was made again " +
      "and never succeeded; right: recovered, or gave up where permission is denied, with its " +
      "95% interval; tries: mean calls after the first one that failed",
    rows: [
      [
        ...["model", "fault", "trials", "episodes"],
        ...RECOVERY_ENDS.map((end) => end.replaceAll("_", " ")),
        ...["right", "95% interval", "tries"],
      ],
      ...recovery.flatMap(rowsOf),
    ],
  }];
}

function rowsOf(one: RecoveryMetrics): string[][] {
  // There is no row over all faults, as it would depend on the mix of faults in the suite.
  return one.faults.map((own) => [
    nameOf(one),
    faultName(own),
    grouped(own.trials),
    ...columnsOf(own),
  ]);
}

/** Names a fault by its perturbation, which has its parameters; joined perturbations need its kind as well. */
function faultName({ fault, perturbation }: FaultRecovery): string {
  return perturbation.includes("+") ? `${fault} (${perturbation})` : perturbation;
}

function columnsOf({ episodes, ends, rate, interval, attempts }: RecoveryTally): string[] {
  return [
    grouped(episodes),
    ...RECOVERY_ENDS.map((end) => grouped(ends[end])),
    rate === null ? "-" : percent(rate),
    interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`,
    attempts === null ? "-" : attempts.toFixed(1),
  ];
}
