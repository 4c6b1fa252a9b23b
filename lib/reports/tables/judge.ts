/**
 * The table of what a judge says of answers to call sets.
 * @module
 */

import type { CallSetJudging, CallSetMetrics, JudgeNames } from "../metrics/question_sets.ts";
import type { Usage } from "../../tools/message.ts";
import { probability } from "../../base/numbers.ts";
import {
  askedOf,
  type Column,
  laidOut,
  NOTHING,
  scoreText,
  shareOf,
  UNAVAILABLE,
} from "./columns.ts";
import { grouped, nameOf, type Table } from "./table.ts";

/** What a judge makes of the answers in a row, or, without any, of all rows above. */
interface JudgedRow {
  readonly name: string;
  readonly asked: CallSetMetrics;
  readonly judging?: CallSetJudging;
  readonly correlation: CallSetMetrics["correlation"];
}

/** What a judge says beside what is exact (CallNavi, section 6.4), where one was asked. */
export function judgeTable(callSets: readonly CallSetMetrics[]): Table[] {
  const judged = callSets.filter(({ rows }) => rows.some(({ judging }) => judging !== null));
  if (judged.length === 0) return [];
  const { title, columns } = askedOf(judged);
  const rows = judged.flatMap(judgedRows);
  const mixed = mixedJudges(rows);
  const judgeNames = ({ judges }: CallSetJudging) =>
    judges.map((judge) => judgeName(judge, mixed)).join(", ");
  const cell = (head: string, text: (judging: CallSetJudging) => string): Column<JudgedRow> => ({
    head,
    cell: ({ judging }) => judging === undefined ? NOTHING : text(judging),
  });
  const tokens = (head: string, of: keyof Usage): Column<JudgedRow> => ({
    ...cell(head, ({ judges, usage }) => judges.length === 0 ? NOTHING : grouped(usage[of])),
    group: "tokens",
  });
  return [{
    id: "call-set-judge",
    section: "call sets",
    title: `The judge beside exact calls${title}`,
    paper: "CallNavi",
    source: "section 6.4",
    note: judgeNote(judged, mixed.size > 0),
    rows: laidOut(rows, [
      { head: "model", cell: ({ name }) => name },
      ...columns,
      cell("judged by", (judging) => judgeNames(judging) || NOTHING),
      cell("judge", ({ mean }) => scoreText(mean)),
      cell("judged", ({ judged }) => String(judged)),
      cell("unusable", ({ unusable }) => String(unusable)),
      cell("unavailable", ({ unavailable }) => String(unavailable)),
      cell("unfit", ({ unfit }) => unfit === 0 ? NOTHING : String(unfit)),
      cell("exact", ({ right }) => shareOf(right)),
      { head: "correlation", cell: ({ correlation: own }) => own?.r.toFixed(3) ?? UNAVAILABLE },
      { head: "p", cell: ({ correlation: own }) => own ? probability(own.p) : UNAVAILABLE },
      tokens("read", "inputTokens"),
      tokens("written", "outputTokens"),
    ]),
  }];
}

/** The rows of answers to the questions of one set and, where there are enough of them, one over these. */
function judgedRows(asked: CallSetMetrics): JudgedRow[] {
  const own = asked.rows.flatMap(({ judging, ...row }) =>
    judging === null
      ? []
      : [{ name: nameOf(row), asked, judging, correlation: judging.correlation }]
  );
  const compared = own.filter(({ judging }) => judging.mean !== null).length;
  if (compared < 3) return own;
  return [...own, {
    name: `over the ${compared} rows above`,
    asked,
    correlation: asked.correlation,
  }];
}

/** The judges that answered under several names, in one row or another. */
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

function judgeNote(judged: readonly CallSetMetrics[], isMixed: boolean): string {
  const rows = judged.flatMap((own) => own.rows);
  const isUnfit = rows.some(({ judging }) => judging !== null && judging.unfit > 0);
  const isRouted = judged.some(({ mode }) => mode === "routing");
  const isRepeated = rows.some(({ judging, stability }) => judging !== null && stability !== null);
  return [
    "judge: the mean of its scores",
    "unusable: its replies without a score",
    "unavailable: it could not be asked",
    ...(isUnfit ? ["unfit: answers that are too long or nest too deep for any judge"] : []),
    ...(isMixed ? ["a judge answered under several names, whose scores need not be alike"] : []),
    `exact: the share of these answers that ${
      isRouted ? "are exact or, in mode routing, have the right functions" : "are exact"
    }`,
    "correlation: Pearson's, of its score with whether an answer is exact, over trials with a score; over rows of " +
    "its mean with the share that is exact, as in the paper",
    "p: how often chance alone would make it so strong" +
    (isRepeated ? ", were trials independent, as repetitions of one question are not" : ""),
  ].join("; ");
}
