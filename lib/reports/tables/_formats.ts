/**
 * Format tables: how well replies could be parsed, and which repairs they needed.
 * @module
 */

import type { FormatMetrics } from "../metrics/formats.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./_table.ts";

/** At most this many kinds of repairs are shown for each model and format. */
const MOST_REPAIRS = 3;

/**
 * Returns all format tables; none where there is a single format and every reply was strict, as that needs no
 * table.
 */
export function formatTables({ formats }: Pick<Report, "formats">): Table[] {
  const apis = new Set(formats.map(({ api }) => api));
  if (apis.size < 2 && formats.every(({ attempts, strict }) => strict === attempts)) return [];
  return [ratesTable(formats), ...repairsTable(formats)];
}

function ratesTable(formats: readonly FormatMetrics[]): Table {
  return {
    id: "formats",
    section: "tool use",
    title: "Formats",
    paper: "Pipeline",
    source: "Key Takeaways",
    note:
      "replies of valid trials that attempt a call; strict: as the format requires; usable: strict or " +
      "repaired; unreadable: a call could not be parsed and was refused as invalid JSON; 95% intervals " +
      "account for dependent replies on one task",
    rows: [
      [
        ...["model", "format", "replies", "strict", "95% interval", "usable", "95% interval"],
        ...["repaired", "unreadable"],
      ],
      ...formats.map((one) => [
        nameOf(one),
        one.api,
        grouped(one.attempts),
        ...rateColumns(one.strictRate),
        ...rateColumns(one.usableRate),
        grouped(one.repaired),
        grouped(one.unreadable),
      ]),
    ],
  };
}

function rateColumns({ mean, interval }: FormatMetrics["strictRate"]): [string, string] {
  return [
    mean === null ? "-" : percent(mean),
    interval === null ? "-" : `${percent(interval.lower)} to ${percent(interval.upper)}`,
  ];
}

function repairsTable(formats: readonly FormatMetrics[]): Table[] {
  const rows = formats.flatMap((one) =>
    one.repairs.slice(0, MOST_REPAIRS).map(({ repair, replies }) => [
      repair,
      nameOf(one),
      one.api,
      grouped(replies),
    ])
  );
  if (rows.length === 0) return [];
  return [{
    id: "repairs",
    section: "tool use",
    title: "Commonest repairs",
    note: "the most frequent repairs of replies, for each model and format; N stands for a number",
    rows: [["repair", "model", "format", "replies"], ...rows],
  }];
}
