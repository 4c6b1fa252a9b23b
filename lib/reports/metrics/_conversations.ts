/**
 * Conversations with simulated users: how they ended, and what was wrong with the users.
 * @module
 */

import { END_REASONS, USER_FAULTS } from "../../calls/user_reply.ts";
import { mean, sum } from "../../base/numbers.ts";
import { usersOf } from "../../gate/variant.ts";
import { costOfAll } from "../../models/prices.ts";
import { sumUsage } from "../../tools/message.ts";
import { asideColumn, type Column } from "../columns.ts";
import { type Metric, metric } from "../_metric.ts";
import { JUDGES, markedAsked, subjectColumns } from "../_subjects.ts";
import { shareOf, tokenColumns } from "./_tally.ts";

/** How conversations ended, each end with the trials that were solved, and the faults of users. */
export const CONVERSATIONS: Metric = metric(
  ({ subjects, options: { prices = {} } }) =>
    subjects.flatMap(({ trials, counted, ...one }) => {
      const users = usersOf(trials);
      const talks = counted.flatMap((trial) => {
        const { user, outcome } = trial;
        const end = user?.end ?? (outcome === "turn_limit" ? outcome : "other_end");
        return user === undefined ? [] : [{ ...trial, messages: user.messages, end }];
      });
      const redraws = sum(users, (user) => user.redraws ?? 0);
      return users.length === 0 ? [] : [{ ...one, users, judges: users, talks, redraws, prices }];
    }),
  {
    id: "conversations",
    section: "success",
    title: (rows) => markedAsked("Conversations", rows.flatMap(({ users }) => users)),
    note: "ends: of valid conversations; faults: trials that the user made invalid",
    columns: (rows, report) => [
      subjectColumns(report),
      { ...JUDGES, id: "users", head: "user", shown: "filled" },
      { id: "conversations", unit: "count", value: ({ users }) => users.length },
      {
        ...{ id: "user_messages", head: "his messages", unit: "mean" },
        about: "the mean of a valid one",
        value: ({ talks }) => mean(talks.map(({ messages }) => messages)),
      },
      [...END_REASONS, "turn_limit", "other_end"].map((id): Column<typeof rows[number]> => ({
        ...{ id, unit: "share", inline: true, shown: "filled" },
        group: `${report.words.solved} by end`,
        value: ({ talks }) => {
          const own = talks.filter(({ end }) => end === id);
          return own.length === 0 ? null : shareOf(own, ({ solved }) => solved);
        },
      })),
      USER_FAULTS.map((id): Column<typeof rows[number]> => ({
        ...{ id, unit: "count", group: "faults", shown: "filled" },
        value: ({ users }) => users.filter(({ fault }) => fault === id).length,
      })),
      asideColumn("redraws", "his replies that were thrown away and drawn again"),
      tokenColumns(({ users }) => sumUsage(users.map(({ usage }) => usage))),
      {
        ...{ id: "cost", unit: "cost", shown: "filled", from: "terminal" },
        value: ({ users, prices }) => costOfAll(users, prices),
      },
    ],
  },
);
