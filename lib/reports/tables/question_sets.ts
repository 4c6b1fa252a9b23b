/**
 * Tables of call sets: what answers are worth, the errors in them, what a judge says, and how stable they are.
 * @module
 */

import type {
  CallScoreAverages,
  CallSetMetrics,
  CallSetRow,
  ScoreAverages,
  StabilityScores,
} from "../metrics/question_sets.ts";
import { DIFFICULTIES } from "../../tasks/questions/question_set.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { askedOf, type Column, laidOut, NOTHING, scoreText, shareOf } from "./columns.ts";
import { judgeTable } from "./judge.ts";
import { nameOf, type Table } from "./table.ts";

/**
 * All tables of call sets, none where no question was asked. Where columns are dear, `brief` has two tables in
 * place of a broad one.
 */
export function callSetTables({ callSets }: Pick<Report, "callSets">, brief = false): Table[] {
  return [
    ...callSets.flatMap((own, place) => scoreTables(own, place, brief)),
    ...formatTables(callSets),
    ...errorTable(callSets),
    ...judgeTable(callSets),
    ...stabilityTable(callSets),
  ];
}

const MODEL: Column<CallSetRow> = { head: "model", cell: nameOf };

/** What answers are worth (CallNavi, Table 4), and what they were before a model repaired some of them. */
function scoreTables(metrics: CallSetMetrics, place: number, brief: boolean): Table[] {
  const { name, rows } = metrics;
  const id = `call-set-${place + 1}`;
  const repaired = rows.filter(({ unrepaired }) => unrepaired !== null);
  const count: Column<CallSetRow> = {
    head: "repaired",
    cell: ({ unrepaired }) => String(unrepaired?.repaired),
  };
  const tablesOf = (id: string, when: string, scores: ScoreRows) =>
    scoreParts(metrics, scores, brief).map(({ suffix, what, notes, columns }): Table => ({
      id: `${id}${suffix}`,
      section: "call sets",
      title: `${what}${when}: ${name}`,
      ...sourceOf(metrics),
      note: notes.join("; "),
      rows: laidOut(scores.rows, columns),
    }));
  return [
    ...tablesOf(id, "", { rows, scoresOf: ({ scores }) => scores, aside: ASIDE, judge: JUDGE }),
    ...(repaired.length === 0 ? [] : tablesOf(`${id}-unrepaired`, " before repair", {
      rows: repaired,
      scoresOf: ({ unrepaired }) => unrepaired!,
      aside: [count],
      judge: [],
    })),
  ];
}

/** What is shown of scores. */
interface ScoreRows {
  readonly rows: readonly CallSetRow[];
  readonly scoresOf: (row: CallSetRow) => CallScoreAverages;
  /** What is told of the trials beside their scores. */
  readonly aside: readonly Column<CallSetRow>[];
  /** What a judge says; none where it has not seen these answers. */
  readonly judge: readonly Column<CallSetRow>[];
}

/** A table, as far as it does not hang on whether answers were repaired. */
interface ScorePart {
  readonly suffix: string;
  readonly what: string;
  readonly notes: readonly string[];
  readonly columns: readonly [Column<CallSetRow>, ...Column<CallSetRow>[]];
}

/** One broad table or, where that is too broad, two. */
function scoreParts(
  metrics: CallSetMetrics,
  { scoresOf, aside, judge }: ScoreRows,
  brief: boolean,
): ScorePart[] {
  const { mode } = metrics;
  const of = (score: keyof CallScoreAverages) => (row: CallSetRow) => scoresOf(row)[score];
  const trials: Column<CallSetRow> = {
    head: "trials",
    cell: (row) => countsText(of("routing")(row)),
  };
  // What was called is no text that might not parse.
  const forms = mode === "tools" ? ["structure"] as const : ["syntax", "structure"] as const;
  const functions = [
    ...groupOf("routing", of("routing"), brief),
    ...forms.map((head): Column<CallSetRow> => ({
      head,
      cell: (row) => shareOf(of(head)(row).all),
    })),
  ];
  const calls: Column<CallSetRow>[] = [
    ...groupOf("exact", of("exact"), brief),
    { group: "exact", head: "macro", cell: (row) => shareOf(of("exact")(row).macro) },
    ...judge,
  ];
  const [shared, ofFunctions, ofCalls] = notesOf(metrics, judge.length > 0);
  const what = mode === "routing" ? "Right functions" : "Right calls";
  if (!brief || mode === "routing") {
    const notes = [...shared, ...ofFunctions, ...ofCalls];
    return [{
      suffix: "",
      what,
      notes,
      columns: [MODEL, trials, ...functions, ...calls, ...aside],
    }];
  }
  return [
    {
      suffix: "-functions",
      what: "Right functions",
      notes: [...shared, ...ofFunctions],
      columns: [MODEL, trials, ...functions, ...aside],
    },
    { suffix: "", what, notes: ofCalls, columns: [MODEL, trials, ...calls] },
  ];
}

/** A score by difficulty. */
function groupOf(
  group: string,
  scoreOf: (row: CallSetRow) => ScoreAverages,
  brief: boolean,
): Column<CallSetRow>[] {
  return [
    ...DIFFICULTIES.map((head) => ({
      head,
      cell: (row: CallSetRow) => shareOf(scoreOf(row)[head]),
    })),
    {
      head: "all",
      cell: (row: CallSetRow) => brief ? shareOf(scoreOf(row).all) : shareText(scoreOf(row)),
    },
    ...(brief
      ? [{ head: "95% interval", cell: (row: CallSetRow) => intervalText(scoreOf(row)) ?? NOTHING }]
      : []),
  ].map((column) => ({ ...column, group }));
}

/** How many trials of each difficulty there are. */
function countsText({ counts }: ScoreAverages): string {
  return DIFFICULTIES.map((difficulty) => counts[difficulty]).join("+");
}

/** A share with its interval. */
function shareText(score: ScoreAverages): string {
  const interval = intervalText(score);
  return shareOf(score.all) + (interval === undefined ? "" : ` (${interval})`);
}

function intervalText({ interval }: ScoreAverages): string | undefined {
  return interval === null ? undefined : `${percent(interval.lower)} to ${percent(interval.upper)}`;
}

const JUDGE: readonly Column<CallSetRow>[] = [{
  head: "judge",
  cell: ({ judging }) => scoreText(judging?.mean ?? null),
}];

/** What not every report has. */
const ASIDE: readonly Column<CallSetRow>[] =
  (["invalid", "unchanged", "limited", "unscored"] as const)
    .map((head) => ({ head, cell: (row) => row[head] === 0 ? NOTHING : String(row[head]) }));

/** Where the paper has the same; it never had calls made. */
function sourceOf({ mode, input, output, rows }: CallSetMetrics): Pick<Table, "paper" | "source"> {
  if (mode === "tools") return {};
  if (input !== "json" || output !== "json") return { paper: "CallNavi", source: "Table 8" };
  const routed = rows.some(({ subject }) =>
    subject.strategy.split("+").includes("route_then_fill")
  );
  return { paper: "CallNavi", source: routed ? "Tables 4 and 5" : "Table 4" };
}

const RULE_NOTES: Readonly<Record<CallSetMetrics["rule"], string>> = {
  published: "scored as the authors' code does",
  strict: "scored as the paper says, by which nothing may differ",
};

/** What a reader should know of all columns, of those about functions, and of those about whole calls. */
function notesOf(
  { mode, rule, rows }: CallSetMetrics,
  judged: boolean,
): [string[], string[], string[]] {
  const some = (count: (row: CallSetRow) => number, note: string) =>
    rows.some((row) => count(row) > 0) ? [note] : [];
  const shared = [
    "share of trials, and 95% interval of all; trials: easy + medium + hard",
    RULE_NOTES[rule],
    ...some(
      ({ limited }) => limited,
      "limited: reached a limit without an answer, which is wrong by every score",
    ),
    ...some(({ unscored }) => unscored, "unscored: not known what they are worth, and in no share"),
  ];
  const judge = judged
    ? some(isJudged, "judge: the mean score that a model gives, from 0 to 1")
    : [];
  if (mode === "routing") return [shared, ["routing: the right functions, in order"], judge];
  const functions = [
    mode === "tools"
      ? "routing: the right functions, in order, were called"
      : "routing: the right functions, in order, which the paper asks for without parameters: mode routing",
    ...(mode === "tools" ? [] : ["syntax: answers that parse"]),
    "structure: and arguments with the right names",
  ];
  const calls = [
    "exact: the right functions, and arguments with the right names and values",
    "macro: the mean of the three",
    ...judge,
  ];
  return [shared, functions, calls];
}

function isJudged({ judging }: CallSetRow): number {
  return judging?.judged ?? 0;
}

/** A row, and how its questions were asked. */
interface AskedRow extends CallSetRow {
  readonly asked: CallSetMetrics;
}

function askedRows(callSets: readonly CallSetMetrics[]): AskedRow[] {
  return callSets.flatMap((asked) => asked.rows.map((row) => ({ ...row, asked })));
}

/** What JSON and YAML make of it (CallNavi, Table 8), where several of them were tried. */
function formatTables(callSets: readonly CallSetMetrics[]): Table[] {
  const groups = Map.groupBy(callSets, ({ set, mode, rule }) => JSON.stringify([set, mode, rule]));
  return [...groups.values()].filter(({ length }) => length > 1).map((ways, place): Table => {
    const { set, mode, rule } = ways[0]!;
    const score = mode === "routing" ? "routing" : "exact";
    const share = (head: "syntax" | "structure"): Column<AskedRow> => ({
      head,
      cell: ({ scores }) => shareOf(scores[head].all),
    });
    return {
      id: `call-set-formats-${place + 1}`,
      section: "call sets",
      title: `JSON and YAML: ${set} ${mode}${rule === "published" ? "" : `, ${rule}`}`,
      paper: "CallNavi",
      source: "Table 8",
      note: "what functions are told in, and what the answer is to be in",
      rows: laidOut(askedRows(ways), [
        {
          head: "formats",
          cell: (row) => `${row.asked.input} to ${row.asked.output}: ${nameOf(row)}`,
        },
        { head: "trials", cell: ({ scores }) => countsText(scores.routing) },
        share("syntax"),
        share("structure"),
        ...groupOf(score, ({ scores }) => scores[score], true),
        ...JUDGE,
      ]),
    };
  });
}

/** What is wrong with answers (CallNavi, appendix F), where anything is. */
function errorTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = askedRows(callSets);
  if (rows.every(({ errors }) => errors.every(({ trials }) => trials === 0))) return [];
  const { title, columns } = askedOf(callSets);
  return [{
    id: "call-set-errors",
    section: "failures",
    title: `Errors in answers${title}`,
    paper: "CallNavi",
    source: "appendix F",
    note:
      "answers with such an error, and their share; an answer may have several; hallucination: calls a " +
      "function that is not on offer; unexpected formatting: not written as asked; logical error: steps or " +
      "arguments are wrong; trials that reached a limit have no answer",
    rows: laidOut(rows, [
      MODEL,
      ...columns,
      { head: "answers", cell: ({ answers }) => String(answers) },
      ...rows[0]!.errors.map(({ type }, place): Column<AskedRow> => ({
        head: type.replaceAll("_", " "),
        cell: ({ errors, answers }) => {
          const { trials } = errors[place]!;
          return answers === 0 ? NOTHING : `${trials} (${percent(trials / answers)})`;
        },
      })),
    ]),
  }];
}

/** How alike answers to one question are (CallNavi, Table 7), where any was repeated. */
function stabilityTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = askedRows(callSets).flatMap(({ stability, ...row }) =>
    stability === null ? [] : [{ ...row, stability }]
  );
  if (rows.length === 0) return [];
  const { title, columns } = askedOf(callSets);
  type Row = typeof rows[number];
  const scores = (group: string, of: (row: Row) => StabilityScores | null): Column<Row>[] => [
    { group, head: "election", cell: (row) => scoreText(of(row)?.election ?? null) },
    { group, head: "Levenshtein", cell: (row) => scoreText(of(row)?.levenshtein ?? null) },
  ];
  const aside = (head: string, of: (row: Row) => number): Column<Row> => ({
    head,
    cell: (row) => of(row) === 0 ? NOTHING : String(of(row)),
  });
  return [{
    id: "call-set-stability",
    section: "call sets",
    title: `Stability of answers${title}`,
    paper: "CallNavi",
    source: "Table 7",
    note:
      "means over questions with two answers or more; election: (F1 - F2) / (N - F2), where F1 of N answers " +
      "are the most frequent one and F2 the next; Levenshtein: how alike the later answers are to the first; " +
      "normalized: without quotes, brackets, spaces, line breaks, backticks and backslashes, in lower case, as in the " +
      "paper" +
      (rows.some(({ stability }) => stability.leftOut > 0)
        ? "; left out: questions with fewer valid answers than two"
        : "") +
      (rows.some(({ stability }) => stability.cut > 0)
        ? "; cut: answers of which only the first 10,000 characters are compared"
        : ""),
    rows: laidOut(rows, [
      MODEL,
      ...columns,
      { head: "questions", cell: ({ stability }) => String(stability.questions) },
      { head: "repetitions", cell: ({ stability }) => rangeText(stability.repetitions) },
      ...scores("text", ({ stability }) => stability.text),
      ...scores("normalized", ({ stability }) => stability.normalized),
      aside("left out", ({ stability }) => stability.leftOut),
      aside("cut", ({ stability }) => stability.cut),
    ]),
  }];
}

function rangeText(range: { readonly least: number; readonly most: number } | null): string {
  if (range === null) return NOTHING;
  const { least, most } = range;
  return least === most ? `${least}` : `${least} to ${most}`;
}
