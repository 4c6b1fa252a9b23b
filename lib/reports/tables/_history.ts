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

/** Returns the table of a stream, the newest record last; `isPage` has it first, and columns that terminals lack. */
export function historyTable(stream: HistoryStream, id: string, isPage = false): Table[] {
  const { points } = stream;
  const days = points.map(({ startedAt }) => startedAt.slice(0, 10));
  // Records of one day are told apart by their times.
  const digits = new Set(days).size < days.length ? 16 : 10;
  // The first row tells what is served, whichever end of time it is.
  const isTold = (place: number) => place === 0 || isPage && place === points.length - 1;
  const changes = points.map(({ served, servedBefore }, place) =>
    isTold(place) || servedBefore !== undefined
      ? servedText(served, servedBefore)
      : points[place]!.valid === 0
      ? NOTHING
      : "the same"
  );
  const rows = points.map((point, place) => ({ ...point, change: changes[place]! }));
  const estimated = points.some((point) => point.estimated);
  const columns: readonly (Column<typeof rows[number]> | readonly Column<typeof rows[number]>[])[] =
    [
      {
        head: "run (UTC)",
        cell: ({ startedAt }) => startedAt.slice(0, digits).replace("T", " "),
      },
      { head: "release", cell: releaseText, text: true, shown: "filled" },
      { head: "served model", cell: ({ change }) => change, text: true },
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
      ...(isPage
        ? [
          {
            head: "commit",
            cell: ({ commit }: HistoryPoint) => commit?.slice(0, 10) ?? NOTHING,
            text: true,
            shown: "filled",
          },
          {
            head: "toolgate",
            cell: ({ toolgate }: HistoryPoint) => toolgate,
            text: true,
            shown: new Set(points.map(({ toolgate }) => toolgate)).size > 1,
          },
          {
            head: "ended early",
            cell: ({ stopped }: HistoryPoint) => stopped ?? NOTHING,
            text: true,
            shown: "filled",
          },
        ] as const
        : []),
    ];
  return tableOf(isPage ? rows.toReversed() : rows, {
    ...{ id, section: "success", columns },
    title: isPage ? "Runs, the newest first" : nameOf(stream),
    ...(estimated ? { note: "~: tokens were estimated, as a server reported none" } : {}),
  });
}

/** Says what was served, and marks a change. */
function servedText(served: string, before: string | undefined): string {
  return nameText(served, MAX_NAME) + (before === undefined ? "" : " (changed)");
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
export function usdText(usd: number | null): string {
  if (usd === null) return NOTHING;
  return usd > 0 && usd < 0.1 ? `$${Number(usd.toPrecision(2))}` : dollars(usd);
}
