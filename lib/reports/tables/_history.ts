/**
 * The table of a stream of a history: a row for each record.
 * @module
 */

import { dollars, grouped, percent } from "../../base/numbers.ts";
import type { HistoryPoint, HistoryStream } from "../history.ts";
import type { Table } from "../_view.ts";
import { timeText } from "./_headline.ts";
import { type Column, nameOf, nameText, NOTHING, rateColumns, tableOf } from "./table.ts";

/** Failure types that a row names, at most. */
const MAX_TYPES = 2;
/** Longer names of served models and releases are shortened. */
const MAX_NAME = 40;

/** Returns the table of a stream, the newest record last. */
export function historyTable(stream: HistoryStream, id: string): Table[] {
  const { points } = stream;
  const columns: readonly (Column<HistoryPoint> | readonly Column<HistoryPoint>[])[] = [
    { head: "run (UTC)", cell: ({ startedAt }) => startedAt.slice(0, 16).replace("T", " ") },
    { head: "release", cell: releaseText, text: true, shown: "filled" },
    { head: "served model", cell: servedText, text: true },
    { head: "valid trials", cell: ({ valid, planned }) => `${valid} of ${planned}` },
    rateColumns("success", ({ success }) => success),
    { head: "commonest failures", cell: failuresText, text: true, shown: "filled" },
    { head: "tokens a trial", cell: tokensText, shown: "filled" },
    { head: "cost a trial", cell: ({ usd }) => usdText(usd), shown: "filled" },
    {
      head: "median",
      group: "time",
      cell: ({ duration }) => timeText(duration?.median ?? null),
      shown: "filled",
    },
    {
      head: "95th percentile",
      group: "time",
      cell: ({ duration }) => timeText(duration?.p95 ?? null),
      shown: "filled",
    },
    { head: "ended early", cell: ({ stopped }) => stopped ?? NOTHING, text: true, shown: "filled" },
  ];
  return tableOf(points, {
    ...{ id, section: "success", columns, title: nameOf(stream) },
    ...(points.some(({ estimated }) => estimated)
      ? { note: "~: tokens were estimated, as a server reported none" }
      : {}),
  });
}

/** Says what was served, and marks a change; without a valid trial nobody knows. */
function servedText({ served, servedBefore, valid }: HistoryPoint): string {
  if (valid === 0) return NOTHING;
  return nameText(served, MAX_NAME) + (servedBefore === undefined ? "" : " (changed)");
}

function releaseText({ release }: HistoryPoint): string {
  if (release === undefined) return NOTHING;
  return `${nameText(release.name, MAX_NAME)}${releaseMarks(release)}`;
}

/** Says of a release whether it is the anchor, or the last one. */
export function releaseMarks({ isAnchor, isLast }: NonNullable<HistoryPoint["release"]>): string {
  const marks = [...(isAnchor ? ["anchor"] : []), ...(isLast ? ["last"] : [])];
  return marks.length === 0 ? "" : ` (${marks.join(", ")})`;
}

function failuresText({ failures }: HistoryPoint): string {
  const some = failures.filter(({ rate }) => rate !== null && rate > 0)
    .toSorted((one, other) => other.rate! - one.rate!).slice(0, MAX_TYPES);
  if (some.length === 0) return NOTHING;
  return some.map(({ type, rate }) => `${type.replaceAll("_", " ")} ${percent(rate!)}`).join(", ");
}

function tokensText({ tokens, estimated }: HistoryPoint): string {
  if (tokens === null) return NOTHING;
  return `${estimated ? "~" : ""}${grouped(Math.round(tokens.input + tokens.output))}`;
}

/** Formats what a trial costs, which is mostly less than a cent. */
function usdText(usd: number | null): string {
  if (usd === null) return NOTHING;
  return usd > 0 && usd < 0.1 ? `$${Number(usd.toPrecision(2))}` : dollars(usd);
}
