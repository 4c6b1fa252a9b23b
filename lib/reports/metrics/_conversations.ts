/**
 * Conversations with simulated users: how they ended, and what was wrong with the users.
 * @module
 */

import { END_REASONS, USER_FAULTS } from "../../calls/user_reply.ts";
import { mean } from "../../base/numbers.ts";
import { usersOf } from "../../gate/variant.ts";
import { costOfAll } from "../../models/prices.ts";
import { sumUsage } from "../../tools/message.ts";
import type { TrialSummary } from "../../trials/summary.ts";
import { asideColumn } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import { markedAsked, subjectColumns, USERS } from "../_subjects.ts";
import { shareOf, tokenColumns } from "./_tally.ts";

/** How a valid conversation ended: by its user, by the limit of his messages, or otherwise. */
function endOf({ user, outcome }: TrialSummary): string {
  return user?.end ?? (outcome === "turn_limit" ? outcome : "other_end");
}

/** How conversations ended, each end with the trials that were solved, and the faults of users. */
export const CONVERSATIONS: Metric = metric(
  ({ subjects, options: { prices = {} } }) =>
    subjects.flatMap(({ trials, counted, ...one }) => {
      const users = usersOf(trials);
      if (users.length === 0) return [];
      const talks = counted.filter(({ user }) => user !== undefined);
      const paid = users.filter(({ usage }) => usage.inputTokens + usage.outputTokens > 0);
      return [{
        ...{ ...one, users, talks },
        ...Object.fromEntries(USER_FAULTS.map((kind) => [
          kind,
          users.filter(({ fault }) => fault === kind).length,
        ])) as Record<typeof USER_FAULTS[number], number>,
        redraws: users.reduce((sum, { redraws = 0 }) => sum + redraws, 0),
        usage: sumUsage(users.map(({ usage }) => usage)),
        cost: paid.length === 0 ? null : costOfAll(paid, prices),
      }];
    }),
  {
    id: "conversations",
    section: "success",
    title: (rows) => markedAsked("Conversations", rows.flatMap(({ users }) => users)),
    note: "ends: of valid conversations; faults: trials that the user made invalid",
    columns: (rows, report) => [
      subjectColumns(report),
      { ...USERS, shown: "filled" },
      { id: "conversations", unit: "count", value: ({ users }) => users.length },
      {
        ...{ id: "user_messages", head: "his messages", unit: "mean" },
        about: "the mean of a valid one",
        value: ({ talks }) => mean(talks.map(({ user }) => user!.messages)),
      },
      [...END_REASONS, "turn_limit", "other_end"].map((end) => ({
        ...{ id: end, unit: "share" as const, inline: true as const, shown: "filled" as const },
        group: `${report.words.solved} by end`,
        value: ({ talks }: typeof rows[number]) => {
          const own = talks.filter((trial) => endOf(trial) === end);
          return own.length === 0 ? null : shareOf(own, ({ solved }) => solved);
        },
      })),
      USER_FAULTS.map((kind) => ({ ...asideColumn(kind), group: "faults" })),
      asideColumn("redraws", "his replies that were thrown away and drawn again"),
      tokenColumns(({ usage }) => usage),
      { id: "cost", unit: "cost", value: ({ cost }) => cost, shown: "filled", from: "terminal" },
    ],
  },
);
