/**
 * What the tasks of chains lost that need a tool: by a change of tools, or by documents that are worse.
 * @module
 */

import { type ComparedPair, compareSuccess } from "../../gate/comparison.ts";
import { unitKey, variantKey } from "../../gate/variant.ts";
import { isOn } from "../../perturbations/methods.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { type Metric, metric } from "../_metric.ts";
import { pairColumns } from "./_comparisons.ts";
import { differenceColumns } from "./_differences.ts";

/** Rows in a table, at most. */
const MAX_ROWS = 30;

/** Whether two variants may differ in their tools, or in what documents say of them. */
function isOfTools({ of, subject, against }: ComparedPair): boolean {
  return of === "variant" || of === "perturbation" && against.perturbation === "none" &&
      subject.perturbation.split("+").some((id) => isOn(id, "document"));
}

function byTask(trials: readonly TrialSummary[]): ReadonlyMap<string, TrialSummary> {
  return new Map(trials.map((trial) => [unitKey(trial.task), trial]));
}

/** Tools by the difference of success on the tasks that need them: a change of a tool shows in these alone. */
export const LOST_TOOLS: Metric = metric(
  (report) =>
    report.comparisons.filter(isOfTools).flatMap((pair) => {
      const [own = [], others = []] = [pair.subject, pair.against].map((one) =>
        report.subjects.find(({ subject }) => variantKey(subject) === variantKey(one))?.trials
          .filter(({ changed }) => changed !== false)
      );
      const tools = new Set(others.flatMap(({ chained = [] }) => chained));
      return Array.from(tools, (tool) => {
        const needing = others.filter(({ chained }) => chained?.includes(tool));
        const tasks = byTask(needing);
        const changed = own.filter(({ task }) => tasks.has(unitKey(task)));
        const otherWays = byTask(changed).entries().filter(([key, { minimumCalls }]) =>
          minimumCalls !== null && minimumCalls !== tasks.get(key)!.minimumCalls
        ).toArray().length;
        const compared = compareSuccess(changed, needing);
        // Of these tasks alone, not of all.
        return { ...pair, ...compared, tool, otherWays, gained: undefined, lost: undefined };
      }).sort((one, other) => changeOf(one) - changeOf(other));
    }),
  {
    id: "lost-tools",
    section: "comparisons",
    title: "Tools by what tasks that need them lost",
    note:
      "difference: of the shares solved of the tasks whose right calls have the tool, in percentage points, the largest " +
      "loss first; left out: no valid trial of one of both, as where no calls lead to the answer; not corrected for the " +
      "number of tools",
    listed: (rows) => rows.slice(0, MAX_ROWS),
    columns: (_, report) => [
      { id: "tool", unit: "name", value: ({ tool }) => tool },
      pairColumns(report),
      differenceColumns("tasks", ["before", "after"]),
      {
        ...{ id: "other_ways", head: "other length", unit: "count", value: (row) => row.otherWays },
        about: "tasks whose right calls are more or fewer than before",
        shown: "filled",
      },
    ],
  },
);

/** The difference of success; the worst where nothing can be compared any more. */
function changeOf({ success }: Pick<ComparedPair, "success">): number {
  return success?.difference ?? -Infinity;
}
