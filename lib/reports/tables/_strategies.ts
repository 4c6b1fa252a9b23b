/**
 * The table of what strategies did for their success.
 * @module
 */

import type { VariantMetrics } from "../metrics/metrics.ts";
import { grouped, percent } from "../../base/numbers.ts";
import { boundsText, type Column, layOut, nameOf, NOTHING } from "./table.ts";
import type { Table } from "../_view.ts";

/** Returns the work of strategies outside the agent loop; no table where there is none. */
export function workTable(subjects: readonly VariantMetrics[]): Table[] {
  const rows = subjects.flatMap(({ work, ...one }) => work === null ? [] : [{ ...one, work }]);
  if (rows.length === 0) return [];
  // Only some strategies have these.
  const also = (head: string, part: "retried" | "replaced"): Column<typeof rows[number]> => ({
    head,
    cell: ({ work }) => work[part] === undefined ? NOTHING : grouped(work[part]),
    shown: "filled",
  });
  return [{
    id: "strategy-work",
    section: "success",
    title: "Work of strategies",
    note:
      "in valid trials; asked: replies outside the agent loop, for a plan, a choice of functions, a list of " +
      "calls or a repair; without use: stages without a usable result, so that the model had only the " +
      "question; sent back: calls that did not fit their schema; mended: those that then did, and their share " +
      "with its 95% interval; made again: calls after an error that may pass; replaced: by calls of another " +
      "function",
    rows: layOut(rows, [
      { head: "strategy", cell: nameOf },
      { head: "valid trials", cell: ({ total }) => total.valid },
      { head: "asked", cell: ({ work }) => grouped(work.asked) },
      { head: "without use", cell: ({ work }) => grouped(work.unusable) },
      { head: "sent back", cell: ({ work }) => grouped(work.sentBack) },
      { head: "mended", cell: ({ work }) => grouped(work.mended) },
      {
        head: "share mended",
        cell: ({ mending }) =>
          mending === null
            ? NOTHING
            : `${percent(mending.mean!)} (${boundsText(mending.interval)})`,
        shown: "filled",
      },
      also("made again", "retried"),
      also("replaced", "replaced"),
    ]),
  }];
}
