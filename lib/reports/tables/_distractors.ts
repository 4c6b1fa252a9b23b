/**
 * The table of the effects of irrelevant functions.
 * @module
 */

import { type DistractorEffect, settingText } from "../metrics/_distractors.ts";
import { comparisonColumns, MISSED_CALLS } from "./_comparisons.ts";
import { layOut, MODEL, NOTHING } from "./table.ts";
import { probability } from "../../base/numbers.ts";
import type { Table } from "../_view.ts";

/**
 * Compares cells with other irrelevant functions on the same core graphs; no table where none are shared. `brief`,
 * for narrow views, leaves single cells out.
 */
export function distractorTable(
  effects: readonly DistractorEffect[],
  brief = false,
): Table[] {
  const isWhole = ({ irrelevant: { kind, number } }: DistractorEffect) =>
    kind === null || number === null;
  const rows = brief ? effects.filter(isWhole) : effects;
  if (rows.length === 0) return [];
  return [{
    id: "distractors",
    section: "figures",
    title: "Effect of irrelevant functions on the same core graphs",
    source: "Fig. 4",
    note:
      "success with these irrelevant functions, compared with those they are held against on the same core " +
      "graphs, each of which counts once, with the mean of its trials; difference in percentage points, with its " +
      "95% interval; two kinds are compared at the numbers that both have; comparisons are not corrected for " +
      "their number",
    rows: layOut(rows, [
      MODEL,
      { head: "irrelevant functions", cell: ({ irrelevant }) => settingText(irrelevant) },
      { head: "against", cell: ({ against }) => settingText(against) },
      comparisonColumns("core graphs", ["before", "with them"]),
      {
        head: "McNemar p",
        cell: ({ success }) => success?.mcNemar ? probability(success.mcNemar.exact) : NOTHING,
      },
      MISSED_CALLS,
    ]),
  }];
}
