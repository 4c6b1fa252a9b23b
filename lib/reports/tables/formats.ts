/**
 * Tables of formats: how well what models write could be read, and what had to be repaired in it.
 * @module
 */

import type { FormatMetrics } from "../metrics/formats.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { grouped, nameOf, type Table } from "./table.ts";

/** So many kinds of repairs of one model are told. */
const MOST_REPAIRS = 3;

/**
 * All tables of formats. None where every reply of a single format could be read as it stood: nobody needs to
 * be told of that.
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
      "replies of valid trials that attempt a call; strict: as the format wants them; usable: strict, or " +
      "once something was put right; unreadable: a call could not be read, and was refused as no JSON; with " +
      "95% intervals, which allow for replies on one task not being independent",
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
    note:
      "what was put right in replies, the commonest of each model and format; N stands for a number",
    rows: [["repair", "model", "format", "replies"], ...rows],
  }];
}
