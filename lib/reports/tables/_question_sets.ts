/**
 * Call set tables: scores of answers, their errors, a judge's ratings, and how stable answers are.
 * @module
 */

import type {
  CallScoreAverages,
  CallSetMetrics,
  CallSetRow,
  StabilityScores,
} from "../metrics/question_sets.ts";
import type { Report } from "../report.ts";
import { percent } from "../../base/numbers.ts";
import { callSetNames, judgeTable, scoreText } from "./_judge.ts";
import { domainTables, inferredTable, routedTables } from "./_question_breakdowns.ts";
import {
  countsText,
  groupOf,
  rowsWithSet,
  type RowWithSet,
  shareColumn,
} from "./_question_columns.ts";
import { type Column, layOut, MODEL, nameOf, NOTHING } from "./table.ts";
import type { Table } from "../_view.ts";

/**
 * Returns all call set tables, none where no question was asked. `brief`, for narrow views, has two tables in
 * place of a wide one.
 */
export function callSetTables({ callSets }: Pick<Report, "callSets">, brief = false): Table[] {
  return [
    ...callSets.flatMap((own, index) => scoreTables(own, index, brief)),
    ...routedTables(callSets),
    ...inferredTable(callSets),
    ...formatTables(callSets),
    ...domainTables(callSets),
    ...errorTable(callSets),
    ...judgeTable(callSets),
    ...stabilityTable(callSets),
  ];
}

/** Returns scores of answers (CallNavi, Table 4), and those before a model repaired some of them. */
function scoreTables(metrics: CallSetMetrics, place: number, brief: boolean): Table[] {
  const { name, rows } = metrics;
  const id = `call-set-${place + 1}`;
  const repaired = rows.filter(({ unrepaired }) => unrepaired !== null);
  const count: Column<CallSetRow> = {
    head: "repaired",
    cell: ({ unrepaired }) => unrepaired!.repaired,
  };
  const tablesOf = (id: string, when: string, scores: ScoreRows) =>
    scoreParts(metrics, scores, brief).map(({ suffix, what, notes, columns }): Table => ({
      id: `${id}${suffix}`,
      section: "call sets",
      title: `${what}${when}: ${name}`,
      ...sourceOf(metrics),
      note: notes.join("; "),
      rows: layOut(scores.rows, columns),
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

/** The rows and columns of a table of scores. */
interface ScoreRows {
  readonly rows: readonly CallSetRow[];
  readonly scoresOf: (row: CallSetRow) => CallScoreAverages;
  /** Columns in addition to the scores. */
  readonly aside: readonly Column<CallSetRow>[];
  /** A judge's ratings; empty where it has not rated these answers. */
  readonly judge: readonly Column<CallSetRow>[];
}

/** The parts of a table that are the same before and after repair. */
interface ScorePart {
  readonly suffix: string;
  readonly what: string;
  readonly notes: readonly string[];
  readonly columns: readonly Column<CallSetRow>[];
}

/** Returns one wide table or, for `brief`, two narrow ones. */
function scoreParts(
  metrics: CallSetMetrics,
  { scoresOf, aside, judge }: ScoreRows,
  brief: boolean,
): ScorePart[] {
  const { mode } = metrics;
  const of = (score: keyof CallScoreAverages) => (row: CallSetRow) => scoresOf(row)[score];
  const allOf = (score: keyof CallScoreAverages) => (row: CallSetRow) => scoresOf(row)[score].all;
  const trials: Column<CallSetRow> = {
    head: "trials",
    cell: (row) => countsText(of("routing")(row)),
  };
  const functions = [
    ...groupOf("routing", of("routing"), brief),
    // Calls that were made are no text to parse.
    ...(mode === "tools" ? [] : [shareColumn("syntax", allOf("syntax"))]),
    shareColumn("structure", allOf("structure")),
  ];
  const calls: Column<CallSetRow>[] = [
    ...groupOf("exact", of("exact"), brief),
    shareColumn("macro", (row) => of("exact")(row).macro, "exact"),
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

const JUDGE: readonly Column<CallSetRow>[] = [{
  head: "judge",
  cell: ({ judging }) => scoreText(judging?.mean ?? null),
  shown: "filled",
}];

/** Counts that are 0 in most reports. */
const ASIDE: readonly Column<CallSetRow>[] =
  (["invalid", "unchanged", "limited", "unscored"] as const)
    .map((head) => ({ head, cell: (row) => row[head] || NOTHING, shown: "filled" }));

/** Returns where the paper has the same table; it has none of mode `tools`. */
function sourceOf({ mode, input, output }: CallSetMetrics): Pick<Table, "paper" | "source"> {
  if (mode === "tools") return {};
  const isJson = input === "json" && output === "json";
  return { paper: "CallNavi", source: isJson ? "Table 4" : "Table 8" };
}

const RULE_NOTES: Readonly<Record<CallSetMetrics["rule"], string>> = {
  published: "scored as the authors' code does",
  strict: "scored as the paper says, which allows no difference",
};

/** Returns notes on all columns, on those about functions, and on those about whole calls. */
function notesOf(
  { mode, rule, rows }: CallSetMetrics,
  hasJudge: boolean,
): [string[], string[], string[]] {
  const noteIfAny = (count: (row: CallSetRow) => number, note: string) =>
    rows.some((row) => count(row) > 0) ? [note] : [];
  const shared = [
    "share of trials, and 95% interval of all; trials: easy + medium + hard",
    RULE_NOTES[rule],
    ...noteIfAny(
      ({ limited }) => limited,
      "limited: reached a limit without an answer, which is wrong by every score",
    ),
    ...noteIfAny(({ unscored }) => unscored, "unscored: without scores, and in no share"),
  ];
  const judge = hasJudge
    ? noteIfAny(judgedCount, "judge: the mean score that a judge gives, from 0 to 1")
    : [];
  if (mode === "routing") return [shared, ["routing: the right functions, in order"], judge];
  const functions = [
    mode === "tools"
      ? "routing: the right functions, in order, were called"
      : "routing: the right functions, in order, which the paper asks for without parameters: mode routing",
    ...(mode === "tools" ? [] : ["syntax: answers that parse"]),
    "structure: the right functions, and arguments with the right names",
  ];
  const calls = [
    "exact: the right functions, and arguments with the right names and values",
    "macro: the mean of the three",
    ...judge,
  ];
  return [shared, functions, calls];
}

function judgedCount({ judging }: CallSetRow): number {
  return judging?.judged ?? 0;
}

/** Compares JSON and YAML (CallNavi, Table 8), where several formats were tried. */
function formatTables(callSets: readonly CallSetMetrics[]): Table[] {
  const groups = Map.groupBy(callSets, ({ set, mode, rule }) => JSON.stringify([set, mode, rule]));
  return [...groups.values()].filter(({ length }) => length > 1).map((ways, index): Table => {
    const { set, mode, rule } = ways[0]!;
    const score = mode === "routing" ? "routing" : "exact";
    return {
      id: `call-set-formats-${index + 1}`,
      section: "call sets",
      title: `JSON and YAML: ${set} ${mode}${rule === "published" ? "" : `, ${rule}`}`,
      paper: "CallNavi",
      source: "Table 8",
      note: "the format of the functions listed, and the format that answers must have",
      rows: layOut(rowsWithSet(ways), [
        {
          head: "formats",
          cell: (row) => `${row.callSet.input} to ${row.callSet.output}: ${nameOf(row)}`,
        },
        { head: "trials", cell: ({ scores }) => countsText(scores.routing) },
        shareColumn("syntax", ({ scores }) => scores.syntax.all),
        shareColumn("structure", ({ scores }) => scores.structure.all),
        ...groupOf(score, ({ scores }: RowWithSet) => scores[score], true),
        ...JUDGE,
      ]),
    };
  });
}

/** Returns the errors in answers (CallNavi, appendix F), where there are any. */
function errorTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = rowsWithSet(callSets);
  if (rows.every(({ errors }) => errors.every(({ trials }) => trials === 0))) return [];
  const { title, column } = callSetNames(callSets);
  return [{
    id: "call-set-errors",
    section: "failures",
    title: `Errors in answers${title}`,
    paper: "CallNavi",
    source: "appendix F",
    note:
      "answers with such an error, and their share; an answer may have several; hallucination: calls a " +
      "function that does not exist; unexpected formatting: has another form than asked for; logical error: " +
      "wrong steps or arguments; trials that reached a limit have no answer",
    rows: layOut(rows, [
      MODEL,
      column,
      { head: "answers", cell: ({ answers }) => answers },
      ...rows[0]!.errors.map(({ type }, index): Column<RowWithSet> => ({
        head: type.replaceAll("_", " "),
        cell: ({ errors, answers }) => {
          const { trials } = errors[index]!;
          return answers === 0 ? NOTHING : `${trials} (${percent(trials / answers)})`;
        },
        shown: "filled",
      })),
    ]),
  }];
}

/** Returns how similar answers to one question are (CallNavi, Table 7), where any was repeated. */
function stabilityTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = rowsWithSet(callSets).flatMap(({ stability, ...row }) =>
    stability === null ? [] : [{ ...row, stability }]
  );
  if (rows.length === 0) return [];
  const { title, column } = callSetNames(callSets);
  type Row = typeof rows[number];
  const scores = (group: string, of: (row: Row) => StabilityScores | null): Column<Row>[] => [
    {
      ...{ group, head: "election", shown: "filled" },
      cell: (row) => scoreText(of(row)?.election ?? null),
    },
    {
      ...{ group, head: "Levenshtein", shown: "filled" },
      cell: (row) => scoreText(of(row)?.levenshtein ?? null),
    },
  ];
  return [{
    id: "call-set-stability",
    section: "call sets",
    title: `Stability of answers${title}`,
    paper: "CallNavi",
    source: "Table 7",
    note:
      "means over questions with two answers or more; election: (F1 - F2) / (N - F2), where F1 of N answers " +
      "are the most frequent one and F2 the next; Levenshtein: how similar the later answers are to the first; " +
      "normalized: without quotes, brackets, spaces, line breaks, backticks and backslashes, in lower case, as in the " +
      "paper" +
      (rows.some(({ stability }) => stability.leftOut > 0)
        ? "; left out: questions with fewer than two valid answers"
        : "") +
      (rows.some(({ stability }) => stability.cut > 0)
        ? "; cut: answers of which only the first 10,000 characters are compared"
        : ""),
    rows: layOut(rows, [
      MODEL,
      column,
      { head: "questions", cell: ({ stability }) => stability.questions },
      {
        head: "repetitions",
        cell: ({ stability }) => rangeText(stability.repetitions),
        shown: "filled",
      },
      scores("text", ({ stability }) => stability.text),
      scores("normalized", ({ stability }) => stability.normalized),
      { head: "left out", cell: ({ stability }) => stability.leftOut || NOTHING, shown: "filled" },
      { head: "cut", cell: ({ stability }) => stability.cut || NOTHING, shown: "filled" },
    ]),
  }];
}

function rangeText(range: { readonly least: number; readonly most: number } | null): string {
  if (range === null) return NOTHING;
  const { least, most } = range;
  return least === most ? `${least}` : `${least} to ${most}`;
}
