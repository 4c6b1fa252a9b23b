/**
 * Recovery table: how models handle tools that fail.
 * @module
 */

import type { FaultRecovery } from "../metrics/recovery.ts";
import { RECOVERY_ENDS } from "../../calls/recovery.ts";
import type { Report } from "../report.ts";
import { grouped, layOut, MODEL, NOTHING, rateColumns } from "./table.ts";
import type { Table } from "../_view.ts";

/** Returns how faults ended, a row for each of them; no table where there were none. */
export function recoveryTables({ recovery }: Pick<Report, "recovery">): Table[] {
  if (recovery.length === 0) return [];
  // There is no row over all faults, as it would depend on the mix of faults in the suite.
  const rows = recovery.flatMap(({ faults, ...one }) => faults.map((own) => ({ ...one, ...own })));
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
    rows: layOut(rows, [
      MODEL,
      { head: "fault", cell: faultName },
      { head: "trials", cell: ({ trials }) => grouped(trials) },
      { head: "episodes", cell: ({ episodes }) => grouped(episodes) },
      RECOVERY_ENDS.map((end) => ({
        head: end.replaceAll("_", " "),
        cell: ({ ends }) => grouped(ends[end]),
      })),
      rateColumns("right", (row) => row),
      {
        head: "tries",
        cell: ({ attempts }) => attempts === null ? NOTHING : attempts.toFixed(1),
      },
    ]),
  }];
}

/** Names a fault by its perturbation, which has its parameters; joined perturbations need its kind as well. */
function faultName({ fault, perturbation }: FaultRecovery): string {
  return perturbation.includes("+") ? `${fault} (${perturbation})` : perturbation;
}
