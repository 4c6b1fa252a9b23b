/**
 * Error handling table: success by strategy and fault.
 * @module
 */

import type { SolvedShare } from "../metrics/error_handling.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { boundsText, layOut, MODEL_AND_STRATEGY, NOTHING } from "./table.ts";
import type { Table } from "../_view.ts";

/**
 * Returns success by strategy and fault, a row for each model and strategy; no table where it is not measured.
 * `brief`, for narrow views, leaves the intervals out.
 */
export function errorHandlingTables(
  { errorHandling }: Pick<Report, "errorHandling">,
  brief = false,
): Table[] {
  const [first] = errorHandling;
  if (first === undefined) return [];
  const shareCell = ({ rate, interval, valid }: Pick<SolvedShare, "rate" | "interval" | "valid">) =>
    rate === null
      ? NOTHING
      : `${percent(rate)}${brief ? "" : ` (${boundsText(interval)})`}, n ${valid}`;
  return [{
    id: "error-handling",
    section: "success",
    title: "Success by error-handling strategy",
    paper: "Pipeline",
    source: "Tool Call Success Rate by Error Handling Strategy",
    note:
      `share solved${
        brief ? "" : " and 95% interval"
      }, of n valid trials; no fault: all arguments that are right are taken; ` +
      "arguments mended: the share of calls sent back for their arguments that then fitted, of n calls; " +
      "overall: of all trials in the row, so that it depends on which faults there are",
    names: MODEL_AND_STRATEGY.length,
    rows: layOut(errorHandling, [
      MODEL_AND_STRATEGY,
      first.faults.map(({ perturbation }, place) => ({
        head: perturbation === "none" ? "no fault" : perturbation,
        cell: ({ faults }) => shareCell(faults[place]!),
      })),
      {
        head: "arguments mended",
        cell: ({ mending }) =>
          mending === null
            ? NOTHING
            : shareCell({ rate: mending.mean, interval: mending.interval, valid: mending.count }),
        shown: "filled",
      },
      { head: "overall", cell: ({ overall }) => shareCell(overall) },
    ]),
  }];
}
