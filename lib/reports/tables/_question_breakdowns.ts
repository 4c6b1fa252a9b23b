/**
 * Breakdowns of call sets: by domain, and by the strategies of the paper that ask before the answer.
 * @module
 */

import type { CallSetDomain, CallSetMetrics, CallSetRow } from "../metrics/question_sets.ts";
import { callSetNames } from "./_judge.ts";
import {
  countsText,
  groupOf,
  rowsWithSet,
  shareColumn,
  shareWithInterval,
} from "./_question_columns.ts";
import { type Column, layOut, MODEL, nameOf, NOTHING, shareText } from "./table.ts";
import type { Table } from "../_view.ts";

/** Returns the scores by domain (the domains of CallNavi, Table 2), where there are several. */
export function domainTables(callSets: readonly CallSetMetrics[]): Table[] {
  return callSets.flatMap((metrics, index): Table[] => {
    const { mode, name, rows } = metrics;
    const own = rows.flatMap((row) => row.domains.map((domain) => ({ ...row, ...domain })));
    const known = new Set(own.flatMap(({ domain }) => domain ?? []));
    if (known.size < 2) return [];
    const order = [...known, null];
    own.sort((one, other) => order.indexOf(one.domain) - order.indexOf(other.domain));
    type Row = CallSetRow & CallSetDomain;
    const share = (head: string, of: "structure" | "exact"): Column<Row> => ({
      head,
      cell: ({ scores }) =>
        of === "exact" ? shareWithInterval(scores[of]) : shareText(scores[of].all),
      shown: "filled",
    });
    return [{
      id: `call-set-${index + 1}-domains`,
      section: "call sets",
      title: `${mode === "routing" ? "Right functions" : "Right calls"} by domain: ${name}`,
      note:
        "the domains of CallNavi, Table 2; questions: different ones; trials: easy + medium + hard; shares of trials as in the table of " +
        "all domains",
      names: 2,
      rows: layOut<Row>(own, [
        { head: "domain", cell: ({ domain }) => domain ?? "not recorded" },
        { head: "model", cell: nameOf },
        { head: "questions", cell: ({ questions }) => questions },
        { head: "trials", cell: ({ scores }) => countsText(scores.routing) },
        mode === "routing"
          ? { head: "routing", cell: ({ scores }) => shareWithInterval(scores.routing) }
          : shareColumn("routing", ({ scores }) => scores.routing.all),
        share("structure", "structure"),
        share("exact", "exact"),
      ]),
    }];
  });
}

/** Returns the exact calls of models that were given picked functions only (CallNavi, Table 5). */
export function routedTables(callSets: readonly CallSetMetrics[]): Table[] {
  return callSets.flatMap(({ mode, name, rows }, index): Table[] => {
    const own = rows.filter(({ router }) => router !== null);
    if (own.length === 0 || mode === "routing") return [];
    return [{
      id: `call-set-${index + 1}-routed`,
      section: "call sets",
      title: `Right calls where functions are picked first: ${name}`,
      paper: "CallNavi",
      source: "Table 5",
      note:
        "share of trials, and 95% interval of all; picked by: the model that was asked for the " +
        "functions first; baseline: all, of the same model without that",
      rows: layOut(own, [
        MODEL,
        {
          head: "picked by",
          cell: ({ router, subject }) => router === subject.model ? "itself" : router!,
        },
        { head: "trials", cell: ({ scores }) => countsText(scores.exact) },
        ...groupOf("exact", ({ scores }: CallSetRow) => scores.exact, false),
        {
          head: "baseline",
          cell: (row) => shareText(baselineOf(row, rows)?.scores.exact.all ?? null),
          shown: "filled",
        },
      ]),
    }];
  });
}

/** Returns the row of the same model without a strategy. */
function baselineOf({ subject }: CallSetRow, rows: readonly CallSetRow[]): CallSetRow | undefined {
  return rows.find((row) =>
    row.subject.model === subject.model && row.subject.strategy === "baseline" &&
    row.subject.perturbation === subject.perturbation
  );
}

/** Names a set and how it is asked, but not for what. */
function setName({ set, rule, input, output }: CallSetMetrics): string {
  return [
    set + (input === "json" && output === "json" ? "" : ` ${input} to ${output}`),
    ...(rule === "published" ? [] : [rule]),
  ].join(", ");
}

/** What backward inference came to on the hard questions of a set. */
interface InferredRow extends Pick<CallSetRow, "subject" | "simulated"> {
  readonly callSet: CallSetMetrics;
  /** The rows with it and without it, of names alone and of calls. */
  readonly routing: readonly [original: CallSetRow | undefined, backward: CallSetRow | undefined];
  readonly calls: readonly [original: CallSetRow | undefined, backward: CallSetRow | undefined];
}

/** Compares backward inference with the plain questions, on hard ones (CallNavi, Table 6). */
export function inferredTable(callSets: readonly CallSetMetrics[]): Table[] {
  const written = callSets.filter(({ mode }) => mode !== "tools");
  const ways = Map.groupBy(
    written,
    ({ set, rule, input, output }) => JSON.stringify([set, rule, input, output]),
  );
  const rows = [...ways.values()].flatMap((own): InferredRow[] => {
    const inferred = new Map(
      rowsWithSet(own).filter(({ inferred, scores }) => inferred && scores.routing.counts.hard > 0)
        .map((row) => [JSON.stringify(row.subject), row]),
    );
    const pair = (mode: CallSetMetrics["mode"], subject: CallSetRow["subject"]) => {
      const { rows = [] } = own.find((way) => way.mode === mode) ?? {};
      const row = rows.find((row) => JSON.stringify(row.subject) === JSON.stringify(subject));
      return [row && baselineOf(row, rows), row] as const;
    };
    return [...inferred.values()].map(({ subject, simulated, callSet }) => ({
      ...{ subject, simulated },
      callSet: { ...callSet, name: setName(callSet) },
      routing: pair("routing", subject),
      calls: pair("parameters", subject),
    }));
  });
  if (rows.length === 0) return [];
  // Names and calls of one set are in one row.
  const { title, column } = callSetNames(
    [...new Map(rows.map(({ callSet }) => [callSet.name, callSet])).values()],
  );
  const columns = (
    group: string,
    of: "routing" | "calls",
    score: "routing" | "exact",
  ): Column<InferredRow>[] =>
    (["original", "backward"] as const).map((head, place) => ({
      ...{ group, head, shown: "filled" },
      cell: (row) => {
        const scores = row[of][place]?.scores[score];
        return scores === undefined ? NOTHING : shareText(scores.hard);
      },
    }));
  return [{
    id: "call-set-inferred",
    section: "call sets",
    title: `Backward inference on hard questions${title}`,
    paper: "CallNavi",
    source: "Table 6",
    note:
      "share of trials on hard questions; original: the baseline of the same model; routing: the right " +
      "functions, in order, where only these are asked for (mode routing); exact: the right calls (mode " +
      "parameters); backward is scored by the last list that it gives, as nothing is asked after it",
    rows: layOut(rows, [
      MODEL,
      column,
      {
        head: "hard trials",
        cell: ({ routing, calls }) =>
          [routing, calls].flatMap(([, row]) => row?.scores.routing.counts.hard ?? []).join("+"),
      },
      columns("routing", "routing", "routing"),
      columns("exact", "calls", "exact"),
    ]),
  }];
}
