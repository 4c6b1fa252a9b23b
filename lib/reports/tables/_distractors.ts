/**
 * The table of the effects of irrelevant functions.
 * @module
 */

import { type DistractorEffect, settingText } from "../metrics/_distractors.ts";
import { comparisonColumns, MISSED_CALLS } from "./_comparisons.ts";
import { MODEL, NOTHING, tableOf } from "./table.ts";
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
  return tableOf(rows, {
    id: "distractors",
    section: "figures",
    title: "Effect of irrelevant functions on the same core graphs",
    source: "Fig. 4",
    note:
      "success with these irrelevant functions less that on the same core graphs with the others, in percentage " +
      "points; two kinds are compared at the numbers that both have; not corrected for the number of comparisons",
    columns: [
      MODEL,
      { head: "irrelevant functions", cell: ({ irrelevant }) => settingText(irrelevant) },
      { head: "against", cell: ({ against }) => settingText(against) },
      comparisonColumns("core graphs", ["before", "with them"]),
      {
        head: "McNemar p",
        cell: ({ success }) => success?.mcNemar ? probability(success.mcNemar.exact) : NOTHING,
      },
      MISSED_CALLS,
    ],
  });
}
