/**
 * What success took: calls, tokens, and the work of strategies outside the agent loop.
 * @module
 */

import { sum } from "../../base/numbers.ts";
import type { StrategyWork } from "../../calls/work.ts";
import { isUnwatched, judgesOf, usersOf } from "../../gate/variant.ts";
import { spentUsage } from "../../models/prices.ts";
import { isCase } from "../../tasks/task_kind.ts";
import { sumUsage } from "../../tools/message.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { asideColumn } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import { JUDGES, markedAsked, subjectColumns } from "../_subjects.ts";
import { noteOf } from "../_view.ts";
import { callColumns, ESTIMATED, ratioOf, tally, tokenColumns } from "./_tally.ts";

/** Tokens of all trials, including invalid, unchanged and repeated ones, and calls of valid ones. */
const EFFORT = metric(
  ({ subjects }) =>
    subjects.map(({ trials, counted, ...one }) => ({
      ...one,
      tally: tally(trials),
      calls: sum(counted, ({ calls }) => calls),
      usage: sumUsage(trials.map(spentUsage)),
      judges: judgesOf(trials.filter(({ task }) => isCase(task))),
      users: usersOf(trials),
      unwatched: counted.some(isUnwatched),
    })),
  {
    id: "effort",
    line: true,
    section: "success",
    title: "Effort",
    note: (rows) =>
      noteOf(
        rows.some(({ usage }) => usage.estimated) && ESTIMATED,
        rows.some(({ unwatched }) => unwatched) &&
          "tokens of trials that were not watched are known in part, if at all",
      ) || undefined,
    columns: (rows, report) => [
      subjectColumns(report),
      // The matrix of a single variant has its calls.
      rows.length > 1 ? callColumns(rows, report.words).map(({ id: _, ...column }) => column) : [],
      { id: "calls", unit: "count", value: ({ calls }) => calls, shown: false },
      tokenColumns(({ usage }) => usage),
      // Those of call sets stand in a table of their own.
      (["judges", "users"] as const).map((id) => ({
        ...{ id: `${id.slice(0, -1)}_tokens`, unit: "count" as const, shown: "filled" as const },
        head: markedAsked(`by ${id}`, rows.flatMap((row) => row[id])),
        value: ({ [id]: asked }: typeof rows[number]) => {
          const { inputTokens, outputTokens } = sumUsage(asked.map(({ usage }) => usage));
          return asked.length === 0 ? undefined : inputTokens + outputTokens;
        },
      })),
      JUDGES,
    ],
  },
);

/** The work of strategies outside the agent loop. */
const WORK = metric(
  ({ subjects }) =>
    subjects.flatMap((one) => {
      const works = one.counted.flatMap(({ work }) => work ?? []);
      const total = (key: keyof StrategyWork) => sum(works, (work) => work[key] ?? 0);
      return works.length === 0 ? [] : [{
        ...{ ...one, asked: total("asked"), unusable: total("unusable") },
        ...{ sent_back: total("sentBack"), mended: total("mended") },
        ...{ retried: total("retried"), replaced: total("replaced") },
      }];
    }),
  {
    id: "strategy-work",
    section: "success",
    title: "Work of strategies",
    note: "in valid trials",
    columns: (_, report) => [
      subjectColumns(report, "strategy"),
      asideColumn(
        "asked",
        "replies outside the agent loop, for a plan, a choice of functions, a list of calls or a repair",
      ),
      asideColumn(
        "unusable",
        "stages without a usable result, so that the model had only the question",
        "without use",
      ),
      asideColumn("sent_back", "calls that did not fit their schema"),
      asideColumn("mended", "those that then did"),
      {
        ...{ id: "mended_share", head: "share mended", unit: "share", shown: "filled" },
        value: ({ counted }) => mendingOf(counted),
      },
      asideColumn("retried", "calls after an error that may pass", "made again"),
      asideColumn("replaced", "by calls of another function"),
    ],
  },
);

/** Returns the share of the calls sent back for their arguments that were mended, with its interval over graphs. */
export function mendingOf(trials: readonly TrialSummary[]) {
  return ratioOf(trials, ({ work }) => ({ sum: work?.mended ?? 0, count: work?.sentBack ?? 0 }));
}

/** The metrics of what success took. */
export const SPENT: readonly Metric[] = [EFFORT, WORK];
