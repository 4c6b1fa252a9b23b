/**
 * Call set tables: scores of answers, in all and by what was asked, their errors, and how stable answers are.
 * @module
 */

import { percent } from "../../base/numbers.ts";
import { DIFFICULTIES } from "../../tasks/questions/question_set.ts";
import type {
  CallScoreAverages,
  CallSetMetrics,
  CallSetRow,
  ScoreAverages,
  StabilityScores,
} from "../metrics/_question_sets.ts";
import type { Report } from "../report.ts";
import type { Table } from "../_view.ts";
import { callSetNames, judgeTable, scoreText } from "./_judge.ts";
import {
  boundsText,
  type Column,
  MODEL,
  nameOf,
  NOTHING,
  rateColumns,
  shareText,
  tableOf,
} from "./table.ts";

/** Returns all call set tables, none where no question was asked. */
export function callSetTables({ callSets }: Pick<Report, "callSets">): Table[] {
  return [
    ...callSets.flatMap(scoreTables),
    ...callSets.flatMap(routedTable),
    ...inferredTable(callSets),
    ...formatTables(callSets),
    ...callSets.flatMap(domainTable),
    ...errorTable(callSets),
    ...judgeTable(callSets),
    ...stabilityTable(callSets),
  ];
}

/** A row with its call set. */
type RowWithSet = CallSetRow & { readonly callSet: CallSetMetrics };

function rowsWithSet(callSets: readonly CallSetMetrics[]): RowWithSet[] {
  return callSets.flatMap((callSet) => callSet.rows.map((row) => ({ ...row, callSet })));
}

/** The score that counts in a mode. */
const scoreOf = ({ mode }: Pick<CallSetMetrics, "mode">) =>
  mode === "routing" ? "routing" : "exact";

/** Returns a column with a share. */
function shareColumn<Row>(
  head: string,
  of: (row: Row) => number | null,
  group?: string,
): Column<Row> {
  return { head, cell: (row) => shareText(of(row)), shown: "filled", group };
}

/** Returns the columns of a score by difficulty. */
function scoreColumns<Row>(group: string, of: (row: Row) => ScoreAverages): Column<Row>[] {
  return [
    ...[...DIFFICULTIES, "all" as const].map((head) =>
      shareColumn(head, (row: Row) => of(row)[head], group)
    ),
    { group, head: "95% interval", shown: "filled", cell: (row) => boundsText(of(row).interval) },
  ];
}

/** Returns a column with the number of trials of each difficulty. */
function trialsColumn<Row>(of: (row: Row) => ScoreAverages): Column<Row> {
  return {
    head: "trials",
    cell: (row) => DIFFICULTIES.map((difficulty) => of(row).counts[difficulty]).join("+"),
  };
}

const JUDGE: Column<CallSetRow> = {
  head: "judge",
  cell: ({ judging }) => scoreText(judging?.mean ?? null),
  shown: "filled",
};

/** Counts that are 0 in most reports. */
const ASIDE: readonly Column<CallSetRow>[] =
  (["invalid", "unchanged", "limited", "unscored"] as const)
    .map((head) => ({ head, cell: (row) => row[head] || NOTHING, shown: "filled" }));

/**
 * Returns scores of answers (CallNavi, Table 4), and those before a model repaired some of them: a table of functions
 * and one of whole calls, as one for both would be too wide.
 */
function scoreTables(metrics: CallSetMetrics, place: number): Table[] {
  const { mode, name, rows } = metrics;
  const shared = [
    "trials: easy + medium + hard",
    metrics.rule === "strict" ? "scored as the paper says" : "scored as the authors' code does",
    ...(rows.some(({ limited }) => limited > 0)
      ? ["limited: reached a limit without an answer, which is wrong by every score"]
      : []),
    ...(rows.some(({ unscored }) => unscored > 0)
      ? ["unscored: without scores, and in no share"]
      : []),
  ];
  const judge = rows.some(({ judging }) => (judging?.judged ?? 0) > 0)
    ? ["judge: the mean score that a judge gives, from 0 to 1"]
    : [];
  const tablesOf = (
    when: { readonly id: string; readonly title: string },
    own: readonly CallSetRow[],
    scores: (row: CallSetRow) => CallScoreAverages,
    aside: readonly Column<CallSetRow>[],
  ) => {
    const part = (
      [suffix, what]: readonly [suffix: string, what: string],
      notes: readonly string[],
      columns: readonly Column<CallSetRow>[],
    ) =>
      tableOf(own, {
        id: `call-set-${place + 1}${when.id}${suffix}`,
        section: "call sets",
        title: `Right ${what}${when.title}: ${name}`,
        ...sourceOf(metrics),
        note: notes.join("; "),
        columns: [MODEL, trialsColumn((row) => scores(row).routing), ...columns],
      });
    const of = (score: keyof CallScoreAverages) => (row: CallSetRow) => scores(row)[score];
    const allOf = (score: keyof CallScoreAverages) =>
      shareColumn(score, (row: CallSetRow) => scores(row)[score].all);
    const routing = scoreColumns("routing", of("routing"));
    const judged = aside === ASIDE ? [JUDGE] : [];
    if (mode === "routing") {
      return part(["", "functions"], [
        ...shared,
        "routing: the right functions, in order",
        ...judge,
      ], [
        ...[...routing, ...judged, ...aside],
      ]);
    }
    return [
      ...part(["-functions", "functions"], [
        ...shared,
        "routing: the right functions, in order",
        "structure: with arguments of the right names",
      ], [
        ...routing,
        // Calls that were made are no text to parse.
        ...(mode === "tools" ? [] : [allOf("syntax")]),
        ...[allOf("structure"), ...aside],
      ]),
      ...part(["", "calls"], [
        "exact: the right functions, and arguments with the right names and values",
        "macro: the mean of the three",
        ...judge,
      ], [
        ...scoreColumns("exact", of("exact")),
        shareColumn("macro", (row) => scores(row).exact.macro, "exact"),
        ...judged,
      ]),
    ];
  };
  return [
    ...tablesOf({ id: "", title: "" }, rows, ({ scores }) => scores, ASIDE),
    ...tablesOf(
      { id: "-unrepaired", title: " before repair" },
      rows.filter(({ unrepaired }) => unrepaired !== null),
      ({ unrepaired }) => unrepaired!,
      [{ head: "repaired", cell: ({ unrepaired }) => unrepaired!.repaired }],
    ),
  ];
}

/** Returns where the paper has the same table; it has none of mode `tools`. */
function sourceOf({ mode, input, output }: CallSetMetrics): Pick<Table, "paper" | "source"> {
  if (mode === "tools") return {};
  const isJson = input === "json" && output === "json";
  return { paper: "CallNavi", source: isJson ? "Table 4" : "Table 8" };
}

/** Returns the exact calls of models that were given picked functions only (CallNavi, Table 5). */
function routedTable({ mode, name, rows }: CallSetMetrics, place: number): Table[] {
  return tableOf(rows.filter(({ router }) => router !== null && mode !== "routing"), {
    id: `call-set-${place + 1}-routed`,
    section: "call sets",
    title: `Right calls where functions are picked first: ${name}`,
    paper: "CallNavi",
    source: "Table 5",
    note:
      "share of trials; picked by: the model that was asked for the functions first; plain: all, of the same " +
      "model without that",
    columns: [
      MODEL,
      {
        head: "picked by",
        cell: ({ router, subject }) => router === subject.model ? "itself" : router!,
      },
      trialsColumn(({ scores }) => scores.exact),
      scoreColumns("exact", ({ scores }) => scores.exact),
      shareColumn("plain", (row) => plainOf(row, rows)?.scores.exact.all ?? null),
    ],
  });
}

/** Returns the row of the same model without a strategy. */
function plainOf({ subject }: CallSetRow, rows: readonly CallSetRow[]): CallSetRow | undefined {
  return rows.find((row) =>
    row.subject.model === subject.model && row.subject.strategy === "plain" &&
    row.subject.perturbation === subject.perturbation
  );
}

/** Compares backward inference with the plain questions, on hard ones (CallNavi, Table 6). */
function inferredTable(callSets: readonly CallSetMetrics[]): Table[] {
  const inferred = rowsWithSet(callSets).filter(({ callSet, inferred, scores }) =>
    callSet.mode !== "tools" && inferred && scores.routing.counts.hard > 0
  );
  // Names and calls of one set are in one row.
  const pairs = Map.groupBy(
    inferred,
    ({ subject, callSet: { set, rule, input, output } }) =>
      JSON.stringify([subject, set, rule, input, output]),
  );
  const rows = [...pairs.values()].map((own) => {
    const { subject, simulated, callSet } = own[0]!;
    return {
      ...{ subject, simulated, callSet: { ...callSet, name: wayName(callSet) } },
      routing: own.find((row) => row.callSet.mode === "routing"),
      exact: own.find((row) => row.callSet.mode === "parameters"),
    };
  });
  const { title, column } = callSetNames(rows.map(({ callSet }) => callSet));
  const columns = (group: "routing" | "exact"): Column<typeof rows[number]>[] => [
    shareColumn(
      "original",
      ({ [group]: row }) => (row && plainOf(row, row.callSet.rows))?.scores[group].hard ?? null,
      group,
    ),
    shareColumn("backward", ({ [group]: row }) => row?.scores[group].hard ?? null, group),
  ];
  return tableOf(rows, {
    id: "call-set-inferred",
    section: "call sets",
    title: `Backward inference on hard questions${title}`,
    paper: "CallNavi",
    source: "Table 6",
    note:
      "share of trials on hard questions; original: plain of the same model; routing: in mode routing; " +
      "exact: in mode parameters; backward is scored by the last list that it gives",
    columns: [
      MODEL,
      column,
      {
        head: "hard trials",
        cell: ({ routing, exact }) =>
          [routing, exact].flatMap((row) => row?.scores.routing.counts.hard ?? []).join("+"),
      },
      columns("routing"),
      columns("exact"),
    ],
  });
}

/** Names a set and how it is asked, but not for what. */
function wayName({ set, rule, input, output }: CallSetMetrics): string {
  return [
    set + (input === "json" && output === "json" ? "" : ` ${input} to ${output}`),
    ...(rule === "published" ? [] : [rule]),
  ].join(", ");
}

/** Compares JSON and YAML (CallNavi, Table 8), where several formats were tried. */
function formatTables(callSets: readonly CallSetMetrics[]): Table[] {
  const groups = Map.groupBy(callSets, ({ set, mode, rule }) => JSON.stringify([set, mode, rule]));
  return [...groups.values()].filter(({ length }) => length > 1).flatMap((ways, index) => {
    const { set, mode, rule } = ways[0]!;
    const score = scoreOf({ mode });
    return tableOf(rowsWithSet(ways), {
      id: `call-set-formats-${index + 1}`,
      section: "call sets",
      title: `JSON and YAML: ${set} ${mode}${rule === "published" ? "" : `, ${rule}`}`,
      paper: "CallNavi",
      source: "Table 8",
      note: "the format of the functions listed, and the format that answers must have",
      columns: [
        {
          head: "formats",
          cell: (row) => `${row.callSet.input} to ${row.callSet.output}: ${nameOf(row)}`,
        },
        trialsColumn(({ scores }) => scores.routing),
        shareColumn("syntax", ({ scores }) => scores.syntax.all),
        shareColumn("structure", ({ scores }) => scores.structure.all),
        scoreColumns(score, ({ scores }) => scores[score]),
        JUDGE,
      ],
    });
  });
}

/** Returns the scores by domain (the domains of CallNavi, Table 2), where there are several. */
function domainTable({ mode, name, rows }: CallSetMetrics, place: number): Table[] {
  const own = rows.flatMap((row) => row.domains.map((domain) => ({ ...row, ...domain })));
  const known = new Set(own.flatMap(({ domain }) => domain ?? []));
  if (known.size < 2) return [];
  const order = [...known, null];
  own.sort((one, other) => order.indexOf(one.domain) - order.indexOf(other.domain));
  const score = scoreOf({ mode });
  return tableOf(own, {
    id: `call-set-${place + 1}-domains`,
    section: "call sets",
    title: `Right ${mode === "routing" ? "functions" : "calls"} by domain: ${name}`,
    note:
      "the domains of CallNavi, Table 2; questions: different ones; trials: easy + medium + hard; shares of trials " +
      "as in the table of all domains",
    names: 2,
    columns: [
      { head: "domain", cell: ({ domain }) => domain ?? "not recorded" },
      MODEL,
      { head: "questions", cell: ({ questions }) => questions },
      trialsColumn(({ scores }) => scores.routing),
      mode === "routing"
        ? []
        : (["routing", "structure"] as const).map((head) =>
          shareColumn(head, ({ scores }: typeof own[number]) => scores[head].all)
        ),
      rateColumns(score, ({ scores: { [score]: { all, interval } } }) => ({ rate: all, interval })),
    ],
  });
}

/** Returns the errors in answers (CallNavi, appendix F), where there are any. */
function errorTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = rowsWithSet(callSets);
  if (rows.every(({ errors }) => errors.every(({ trials }) => trials === 0))) return [];
  const { title, column } = callSetNames(callSets);
  return tableOf(rows, {
    id: "call-set-errors",
    section: "failures",
    title: `Errors in answers${title}`,
    paper: "CallNavi",
    source: "appendix F",
    note: "answers with such an error, and their share; an answer may have several",
    columns: [
      MODEL,
      column,
      { head: "answers", cell: ({ answers }) => answers },
      rows[0]!.errors.map(({ type }, index): Column<RowWithSet> => ({
        head: type.replaceAll("_", " "),
        cell: ({ errors, answers }) => {
          const { trials } = errors[index]!;
          return answers === 0 ? NOTHING : `${trials} (${percent(trials / answers)})`;
        },
        shown: "filled",
      })),
    ],
  });
}

/** Returns how similar answers to one question are (CallNavi, Table 7), where any was repeated. */
function stabilityTable(callSets: readonly CallSetMetrics[]): Table[] {
  const rows = rowsWithSet(callSets).flatMap(({ stability, ...row }) =>
    stability === null ? [] : [{ ...row, ...stability }]
  );
  const { title, column } = callSetNames(callSets);
  const score = (group: "text" | "normalized", key: keyof StabilityScores, head: string) => ({
    ...{ group, head, shown: "filled" as const },
    cell: ({ [group]: scores }: typeof rows[number]) => scoreText(scores?.[key] ?? null),
  });
  return tableOf(rows, {
    id: "call-set-stability",
    section: "call sets",
    title: `Stability of answers${title}`,
    paper: "CallNavi",
    source: "Table 7",
    note:
      "means over questions with two answers or more; normalized: without punctuation of formats, in lower " +
      "case" +
      (rows.some(({ leftOut }) => leftOut > 0)
        ? "; left out: questions with fewer than two valid answers"
        : "") +
      (rows.some(({ cut }) => cut > 0)
        ? "; cut: answers of which only the first 10,000 characters are compared"
        : ""),
    columns: [
      MODEL,
      column,
      { head: "questions", cell: ({ questions }) => questions },
      {
        head: "repetitions",
        cell: ({ repetitions }) =>
          repetitions === null
            ? NOTHING
            : [...new Set([repetitions.least, repetitions.most])].join(" to "),
        shown: "filled",
      },
      (["text", "normalized"] as const).flatMap((group) => [
        score(group, "election", "election"),
        score(group, "levenshtein", "Levenshtein"),
      ]),
      { head: "left out", cell: ({ leftOut }) => leftOut || NOTHING, shown: "filled" },
      { head: "cut", cell: ({ cut }) => cut || NOTHING, shown: "filled" },
    ],
  });
}
