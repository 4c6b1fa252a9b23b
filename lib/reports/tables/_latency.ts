/**
 * Latency table: for how long tools ran.
 * @module
 */

import type { Report } from "../report.ts";
import { grouped, layOut, MODEL } from "./table.ts";
import type { Table } from "../_view.ts";

/** Returns for how long each tool ran, a row for each tool of each model; no table where none was timed. */
export function latencyTables({ latency }: Pick<Report, "latency">): Table[] {
  const rows = latency.flatMap(({ tools, ...one }) => tools.map((own) => ({ ...one, ...own })));
  if (rows.length === 0) return [];
  const time = (head: string, of: (row: typeof rows[number]) => number) => ({
    head,
    cell: (row: typeof rows[number]) => `${grouped(of(row))} ms`,
  });
  return [{
    id: "latency",
    section: "tool use",
    title: "Latency of tools",
    paper: "Pipeline",
    source: "Function Calling Architecture",
    note:
      "for how long a tool itself ran in a call of a valid trial, without the model; median and 95th percentile: " +
      "the least time that half, or 95%, of the calls did not exceed",
    rows: layOut(rows, [
      MODEL,
      { head: "tool", cell: ({ tool }) => tool },
      { head: "calls", cell: ({ calls }) => grouped(calls) },
      time("median", ({ median }) => median),
      time("95th percentile", ({ p95 }) => p95),
      time("longest", ({ longest }) => longest),
    ]),
  }];
}
