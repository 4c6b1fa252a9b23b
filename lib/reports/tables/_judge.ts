/**
 * Judge table: a judge's ratings of answers to call sets.
 * @module
 */

import type { CallSetJudging, CallSetMetrics, JudgeNames } from "../metrics/_question_sets.ts";
import { probability } from "../../base/numbers.ts";
import {
  type Column,
  nameOf,
  NOTHING,
  shareText,
  tableOf,
  tokensText,
  UNAVAILABLE,
} from "./table.ts";
import type { Table } from "../_view.ts";

/** Formats a score from 0 to 1 as the paper does. */
export function scoreText(score: number | null): string {
  return score === null ? NOTHING : score.toFixed(3);
}

/** Names call sets: several in a column, a single one in the title. */
export function callSetNames(callSets: readonly CallSetMetrics[]) {
  const several = new Set(callSets.map(({ name }) => name)).size > 1;
  const column: Column<{ readonly callSet: CallSetMetrics }> = {
    head: "questions of",
    cell: ({ callSet }) => callSet.name,
    shown: several,
  };
  return { title: several ? "" : `: ${callSets[0]?.name}`, column };
}

/** Ratings of the answers in a row; without `judging` a row is over all rows above. */
interface JudgedRow {
  readonly name: string;
  readonly callSet: CallSetMetrics;
  readonly judging?: CallSetJudging;
  readonly correlation: CallSetMetrics["correlation"];
}

/** Returns a table that compares a judge with exact scores (CallNavi, section 6.4); none without a judge. */
export function judgeTable(callSets: readonly CallSetMetrics[]): Table[] {
  const judgedSets = callSets.filter(({ rows }) => rows.some(({ judging }) => judging !== null));
  if (judgedSets.length === 0) return [];
  const { title, column: callSet } = callSetNames(judgedSets);
  const rows = judgedSets.flatMap(judgedRows);
  const mixed = mixedJudges(rows);
  const judgeNames = ({ judges }: CallSetJudging) =>
    judges.map((judge) => judgeName(judge, mixed)).join(", ");
  const column = (
    head: string,
    cell: Column<CallSetJudging>["cell"],
    others: Partial<Column<JudgedRow>> = {},
  ): Column<JudgedRow> => ({
    head,
    cell: ({ judging }) => judging === undefined ? NOTHING : cell(judging),
    shown: "filled",
    ...others,
  });
  const tokens = (head: string, of: Parameters<typeof tokensText>[1]) =>
    column(
      head,
      ({ judges, usage }) => judges.length === 0 ? NOTHING : tokensText(usage, of),
      { group: "tokens" },
    );
  return tableOf(rows, {
    id: "call-set-judge",
    section: "call sets",
    title: `The judge and exact calls${title}`,
    paper: "CallNavi",
    source: "section 6.4",
    note: judgeNote(judgedSets, mixed.size > 0),
    columns: [
      { head: "model", cell: ({ name }) => name },
      callSet,
      column("judged by", (judging) => judgeNames(judging) || NOTHING),
      column("judge", ({ mean }) => scoreText(mean)),
      column("judged", ({ judged }) => judged, { shown: true }),
      column("unusable", ({ unusable }) => unusable, { shown: true }),
      column("unavailable", ({ unavailable }) => unavailable, { shown: true }),
      column("unfit", ({ unfit }) => unfit || NOTHING),
      column("exact", ({ right }) => shareText(right)),
      { head: "correlation", cell: ({ correlation: own }) => own?.r.toFixed(3) ?? UNAVAILABLE },
      { head: "p", cell: ({ correlation: own }) => own ? probability(own.p) : UNAVAILABLE },
      tokens("read", "inputTokens"),
      tokens("written", "outputTokens"),
    ],
  });
}

/** Returns the rows of one call set and, where at least three have a score, a row over these. */
function judgedRows(callSet: CallSetMetrics): JudgedRow[] {
  const rows = callSet.rows.flatMap(({ judging, ...row }) =>
    judging === null
      ? []
      : [{ name: nameOf(row), callSet, judging, correlation: judging.correlation }]
  );
  const rated = rows.filter(({ judging }) => judging.mean !== null).length;
  if (rated < 3) return rows;
  return [...rows, {
    name: `over the ${rated} rows above`,
    callSet,
    correlation: callSet.correlation,
  }];
}

/** Returns the judges that several models served, over all rows. */
function mixedJudges(rows: readonly JudgedRow[]): ReadonlySet<string> {
  const judges = Map.groupBy(
    rows.flatMap(({ judging }) => judging?.judges ?? []),
    ({ requested }) => requested,
  );
  const mixed = [...judges].filter(([, own]) =>
    new Set(own.flatMap(({ served }) => served)).size > 1
  );
  return new Set(mixed.map(([requested]) => requested));
}

function judgeName(
  { requested, served, simulated }: JudgeNames,
  mixed: ReadonlySet<string>,
): string {
  const names = mixed.has(requested) ? served.map((name) => ` as ${name}`).join(" and") : "";
  return `${requested}${names}${simulated ? " (simulated)" : ""}`;
}

function judgeNote(callSets: readonly CallSetMetrics[], isMixed: boolean): string {
  const isRouted = callSets.some(({ mode }) => mode === "routing");
  const isRepeated = callSets.some(({ rows }) =>
    rows.some(({ judging, stability }) => judging !== null && stability !== null)
  );
  return [
    ...(isMixed ? ["a judge was served as several models, whose scores may differ"] : []),
    `exact: the share of these answers that are exact${
      isRouted ? " or, in mode routing, have the right functions" : ""
    }`,
    "correlation: of score and exactness over trials, or of their means over rows",
    ...(isRepeated
      ? ["p assumes independent trials, which repetitions of one question are not"]
      : []),
  ].join("; ");
}
