/**
 * Format tables: how well replies could be parsed, and which repairs they needed.
 * @module
 */

import type { FormatMetrics } from "../metrics/formats.ts";
import type { Report } from "../report.ts";
import type { MeanEstimate } from "../../statistics/clustered_mean.ts";
import { type Column, grouped, layOut, MODEL, rateColumns } from "./table.ts";
import type { Table } from "../_view.ts";

/** At most this many kinds of repairs are shown for each model and format. */
const MAX_REPAIRS = 3;

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
    rows: layOut(formats, [
      MODEL,
      FORMAT,
      { head: "replies", cell: ({ attempts }) => grouped(attempts) },
      rateColumns("strict", ({ strictRate }) => rateOf(strictRate)),
      rateColumns("usable", ({ usableRate }) => rateOf(usableRate)),
      { head: "repaired", cell: ({ repaired }) => grouped(repaired) },
      { head: "unreadable", cell: ({ unreadable }) => grouped(unreadable) },
    ]),
  };
}

const FORMAT: Column<Pick<FormatMetrics, "api">> = { head: "format", cell: ({ api }) => api };

function rateOf({ mean, interval }: MeanEstimate) {
  return { rate: mean, interval };
}

function repairsTable(formats: readonly FormatMetrics[]): Table[] {
  const rows = formats.flatMap(({ repairs, ...one }) =>
    repairs.slice(0, MAX_REPAIRS).map((own) => ({ ...one, ...own }))
  );
  if (rows.length === 0) return [];
  return [{
    id: "repairs",
    section: "tool use",
    title: "Commonest repairs",
    note: "the most frequent repairs of replies, for each model and format; N stands for a number",
    rows: layOut(rows, [
      { head: "repair", cell: ({ repair }) => repair },
      MODEL,
      FORMAT,
      { head: "replies", cell: ({ replies }) => grouped(replies) },
    ]),
  }];
}
