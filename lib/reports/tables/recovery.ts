/**
 * Tables of recovery: what models make of tools that fail.
 * @module
 */

import type { FaultRecovery, RecoveryMetrics, RecoveryTally } from "../metrics/recovery.ts";
import { RECOVERY_ENDS } from "../../calls/recovery.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./table.ts";

/** How faults ended, a row for each of them; no table where there were none. */
export function recoveryTables({ recovery }: Pick<Report, "recovery">): Table[] {
  if (recovery.length === 0) return [];
  return [{
    id: "recovery",
    section: "tool use",
    title: "Recovery from faults",
    paper: "Pipeline",
    source: "Error Handling and Retry Logic",
    note:
      "episodes: functions that a fault was in the way of, each once in its trial; recovered: called " +
      "again, and it returned; hallucinated: the missing result was made up; repeated: the same call " +
      "again, and it never returned; right: recovered, or given up where permission is denied, with its " +
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
  // Over all of them it would be a mixture of what the suite happens to have.
  return one.faults.map((own) => [
    nameOf(one),
    faultName(own),
    grouped(own.trials),
    ...columnsOf(own),
  ]);
}

/** The perturbation tells how often a fault struck; of several it does not tell which this is. */
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
